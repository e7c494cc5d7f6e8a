"""Ways to predict a whole field on new meshes, beside the library's own: each takes cases and returns test fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from swwl.embedding.transformer import SWWLEmbedding
from swwl.fields.estimator import FieldRegressor
from swwl.fields.geometry.descriptors import box
from swwl.gp import RobustGP
from swwl.mesh.mesh import Mesh
from swwl_paper.fieldsets import Cases
from swwl_paper.fieldtransport import Transport

N_MODES, N_OWN, N_SHAPES = 30, 6, 8
N_POSITIONS = 12
ENTROPIES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
MOST_TO_CHOOSE = 60  # training meshes by which an entropy is chosen
_FOLDS = 3
_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of meshes in the distance of the nearest case


@dataclass(frozen=True)
class Predicted:
    """Fields on the test meshes.

    Attributes
    ----------
    fields : list of ndarray of shape (n, c)
    lower, upper : lists of ndarray of shape (n, c), optional
        Of 95 % intervals at the nodes.
    largest : ndarray of shape (n_test, 2), optional
        Bounds of the largest size of the field on each mesh.
    choice : str
        What was chosen on training meshes.
    """

    fields: list[np.ndarray]
    lower: list[np.ndarray] | None = None
    upper: list[np.ndarray] | None = None
    largest: np.ndarray | None = None
    choice: str = ""


@dataclass
class Context:
    """What several methods share of one data set: computed when first asked for."""

    cases: Cases
    n_jobs: int = 1
    _kept: dict[str, Any] = field(default_factory=dict)

    def _keep(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def rows(self) -> np.ndarray:
        """Return sliced Wasserstein embeddings of all meshes by area, one row each."""
        embedding = SWWLEmbedding(node_weights="area", n_quantiles=200, n_jobs=self.n_jobs)

        def embedded() -> np.ndarray:
            graphs = [mesh.graph("area") for mesh in self.cases.meshes]
            return np.asarray(embedding.fit(graphs[: self.cases.n_train]).transform(graphs), float)

        return np.asarray(self._keep("rows", embedded))

    def numbers(self) -> np.ndarray:
        """Return operating conditions, standardized on the training cases, (N, s)."""
        values = self.cases.numbers.to_numpy(float)
        known = values[self.cases.train]
        return np.asarray((values - known.mean(axis=0)) / known.std(axis=0)) if values.shape[1] else values

    def inputs(self) -> np.ndarray:
        """Return principal components of embeddings, of deviation one, beside the numbers, (N, K)."""
        return np.hstack([components(self.rows(), self.cases.n_train, N_SHAPES), self.numbers()])

    def medoid(self) -> Mesh:
        """Return the training mesh that is nearest to all others."""
        distances = cdist(self.rows()[self.cases.train], self.rows()[self.cases.train])
        return self.cases.meshes[int(distances.sum(axis=1).argmin())]


def components(rows: np.ndarray, n_train: int, n: int) -> np.ndarray:
    """Return principal components of rows, each of deviation one on the first n_train."""
    mean = rows[:n_train].mean(axis=0)
    _, sizes, axes = np.linalg.svd(rows[:n_train] - mean, full_matrices=False)
    kept = min(n, int((sizes > 1e-7 * sizes[0]).sum()))
    return np.asarray((rows - mean) @ axes[:kept].T / sizes[:kept] * np.sqrt(n_train))


def by_modes(inputs: np.ndarray, fields: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict vectors: principal components, each by a Gaussian process, ranges of their own for the leading ones.

    Parameters
    ----------
    inputs : ndarray of shape (N, K)
    fields : ndarray of shape (N, w)
    new : ndarray of shape (M, K)

    Returns
    -------
    ndarray of shape (M, w)
    """
    mean = fields.mean(axis=0)
    left, sizes, axes = np.linalg.svd(fields - mean, full_matrices=False)
    kept = min(N_MODES, len(fields) - 2, max(1, int((sizes > 1e-9 * max(sizes[0], 1e-300)).sum())))
    coefficients = left[:, :kept] * sizes[:kept]
    among = [np.abs(column[:, None] - column) for column in inputs.T]
    across = [np.abs(far[:, None] - column) for far, column in zip(new.T, inputs.T, strict=True)]
    groups = [[j] for j in range(min(N_OWN, kept))] + ([list(range(N_OWN, kept))] if kept > N_OWN else [])
    found = np.empty((len(new), kept))
    for group in groups:
        process = RobustGP(["matern52"] * len(among), n_starts=1).fit(among, coefficients[:, group])
        found[:, group] = np.asarray(process.predict(across)).reshape(len(new), -1)
    return np.asarray(mean + found @ axes[:kept])


def mean_field(context: Context) -> Predicted:
    """Take the mean over training meshes of the value at the nearest node, in coordinates of the boxes around them."""
    cases, values = context.cases, context.cases.values
    trees = [cKDTree(box(cases.meshes[k].points)) for k in cases.train]
    found = []
    for k in cases.test:
        places = box(cases.meshes[k].points)
        found.append(np.mean([values[j][tree.query(places)[1]] for j, tree in enumerate(trees)], axis=0))
    return Predicted(found)


def nearest_field(context: Context) -> Predicted:
    """Take the field of the nearest training case, at the nearest node in the box; cases left out weigh the inputs."""
    cases, values = context.cases, context.cases.values
    rows, numbers, n = context.rows(), context.numbers(), cases.n_train
    shape, condition = (
        cdist(part, part[:n]) ** 2 for part in (rows, numbers if numbers.shape[1] else np.zeros((len(rows), 1)))
    )
    shape, condition = (part / max(float(part[:n].mean()), 1e-300) for part in (shape, condition))

    def carried(source: int, target: int) -> np.ndarray:
        places = (box(cases.meshes[k].points) for k in (source, target))
        return values[source][cKDTree(next(places)).query(next(places))[1]]

    def error(weight: float) -> float:
        distance = weight * shape[:n] + (1 - weight) * condition[:n]
        np.fill_diagonal(distance, np.inf)
        return float(
            np.mean([((carried(int(row.argmin()), k) - values[k]) ** 2).mean() for k, row in enumerate(distance)])
        )

    weight = min(_WEIGHTS, key=error) if numbers.shape[1] else 1.0
    distance = weight * shape + (1 - weight) * condition
    return Predicted([carried(int(distance[k].argmin()), k) for k in cases.test], choice=f"weight of meshes {weight:g}")


def exact_transport(context: Context) -> Predicted:
    """Carry fields to the medoid mesh and back by exact plans, and predict them there."""
    return _by_transport(context, 0.0)


def entropic_transport(context: Context) -> Predicted:
    """Carry fields by entropic plans; folds of some training meshes choose the entropy."""
    errors = _fold_errors(context)
    best = ENTROPIES[int(np.argmin(errors))]
    chosen = _by_transport(context, best)
    return Predicted(chosen.fields, choice=f"entropy {best:g} of {ENTROPIES[0]:g} to {ENTROPIES[-1]:g}")


def _transport(context: Context) -> Transport:
    cases = context.cases
    return Transport(context.medoid(), np.concatenate([cases.meshes[k].points for k in cases.train]).std(axis=0))


def _fold_errors(context: Context) -> np.ndarray:
    """Return the mean squared relative error of every entropy, on some training meshes left out of folds."""
    cases, values, inputs = context.cases, context.cases.values, context.inputs()
    some, transport = cases.train[:MOST_TO_CHOOSE], _transport(context)
    plans = [transport.plans(cases.meshes[k], ENTROPIES) for k in some]
    errors = np.zeros(len(ENTROPIES))
    for j in range(len(ENTROPIES)):
        carried = np.array([plan[j].encode(values[k]).ravel() for plan, k in zip(plans, some, strict=True)])
        for fold in range(_FOLDS):
            out = np.arange(fold, len(some), _FOLDS)
            known = np.setdiff1d(np.arange(len(some)), out)
            found = by_modes(inputs[some[known]], carried[known], inputs[some[out]])
            for k, one in zip(out, found, strict=True):
                truth = values[some[k]]
                error = plans[k][j].decode(one.reshape(-1, truth.shape[1])) - truth
                errors[j] += float((error**2).sum(axis=1).mean() / (truth**2).sum(axis=1).max()) / len(some)
    return errors


def _by_transport(context: Context, entropy: float) -> Predicted:
    cases, values, inputs = context.cases, context.cases.values, context.inputs()
    transport = _transport(context)
    (there, back) = (
        (transport.plans(cases.meshes[k], [entropy])[0] for k in which) for which in (cases.train, cases.test)
    )  # one plan at a time: all of them would fill the memory
    carried = np.array([plan.encode(values[k]).ravel() for plan, k in zip(there, cases.train, strict=True)])
    found = by_modes(inputs[cases.train], carried, inputs[cases.test])
    width = values[0].shape[1]
    return Predicted([plan.decode(one.reshape(-1, width)) for plan, one in zip(back, found, strict=True)])


def shared_nodes(context: Context) -> Predicted:
    """Predict principal components of nodal values by those of node positions, for meshes that share their cells."""
    cases, values = context.cases, context.cases.values
    positions = np.array([mesh.points.ravel() for mesh in cases.meshes])
    inputs = np.hstack([components(positions, cases.n_train, N_POSITIONS), context.numbers()])
    fields = np.array([values[k].ravel() for k in cases.train])
    found = by_modes(inputs[cases.train], fields, inputs[cases.test])
    return Predicted(list(found.reshape(len(found), *values[0].shape)))


def ours(context: Context) -> Predicted:
    """Fit the library's field regressor as users do, without options."""
    cases, name = context.cases, context.cases.field
    table = cases.table
    model = FieldRegressor(n_jobs=context.n_jobs).fit(table.iloc[cases.train], name)
    new = table.iloc[cases.test]
    lower, upper = model.predict_interval(new, widen=False)

    def columns(found: list[dict[str, np.ndarray]]) -> list[np.ndarray]:
        return [one[name].reshape(len(one[name]), -1) for one in found]

    largest = model.derived(new, "largest", widen=False)
    chosen = model.choices_[model.choices_["chosen"]].iloc[0]
    choice = f"{chosen['kernel']}; {chosen['descriptors']}; {chosen['warp']}" if len(model.choices_) else ""
    bounds = largest[["lower", "upper"]].to_numpy(float)
    return Predicted(columns(model.predict(new, widen=False)), columns(lower), columns(upper), bounds, choice)


def size_of(values: np.ndarray) -> np.ndarray:
    """Return the sizes |u| of a field (n,) or (n, c) at its nodes, (n,).

    >>> size_of(np.array([[3.0, 4.0]])).tolist()
    [5.0]
    """
    return np.linalg.norm(values.reshape(len(values), -1), axis=1)


METHODS: dict[str, Callable[[Context], Predicted]] = {
    "mean": mean_field,
    "nearest": nearest_field,
    "entropic": entropic_transport,
    "exact": exact_transport,
    "nodes": shared_nodes,
    "ours": ours,
}
TITLES = {
    "mean": "mean field",
    "nearest": "nearest case",
    "entropic": "entropic transport",
    "exact": "exact transport",
    "nodes": "shared nodes",
    "ours": "FieldRegressor",
}
