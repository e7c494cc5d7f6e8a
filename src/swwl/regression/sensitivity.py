"""How a prediction changes when nodes move and when numbers change: exact derivatives, in double precision.

``Predictor.sensitivity`` is a shell around this. Rows come from ``embedding/linear.py``, predictions from
``gp/adjoint.py``; factors of kernels stand between them, and the mixture of a stack is differentiated here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.displacement import Modes, same_cells
from swwl.embedding.linear import Linear, Source, as_movable
from swwl.errors import InputError, located
from swwl.kernels.base import differentiable
from swwl.kernels.shared import distinct_factors
from swwl.mesh.graph import Graph
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.mesh.shape.density import skin_density
from swwl.mesh.shape.skin import extent
from swwl.parallel import one_blas_thread
from swwl.regression.stack import Member, trend_matrix
from swwl.tables.inputs import as_rows, column

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives of one prediction: of its mean and, in :attr:`std`, of its standard deviation.

    Attributes
    ----------
    target : str
    value : float
        What is differentiated: the predicted mean (of :attr:`std`, the standard deviation).
    mesh : Mesh, Graph or None
        Whose nodes move; None for models of numbers alone.
    gradient : ndarray of shape (n, d)
        The derivative in every coordinate of every node; zero at nodes that may not move (``where=``).
    inputs : dict of str to float
        The derivative in every number, per unit of its column.
    along : Series
        The derivative along every displacement that was given, per displacement.
    std : Sensitivity or None
        The same of the standard deviation.
    movable : ndarray of shape (n,), bool
    """

    target: str
    value: float
    mesh: Mesh | Graph | None
    gradient: Array
    inputs: dict[str, float]
    along: pd.Series
    movable: NDArray[np.bool_] = field(repr=False)
    std: Sensitivity | None = None

    def density(self, length: float = 0.0, most: float | None = None) -> Array:
        """Return the gradient per length (in the plane) or area of the skin, (n, d); zero at nodes inside.

        Parameters
        ----------
        length : float
            Over how far to smooth it, in units of the coordinates; 0 does not.
        most : float, optional
            Cut down, before that, the nodes where it exceeds so many times what nine in ten nodes stay below: for
            pictures. A model that looks at the outermost nodes has a spike at each of them.
        """
        return self._density(length, most)[0]

    def normal_density(self, length: float = 0.0, most: float | None = None) -> Array:
        """Return the part of :meth:`density` along the outward normal, (n,): what pushing the skin outward brings.

        Outward is away from the cells: of a flow around a body, into the body.
        """
        density, normals = self._density(length, most)
        return np.asarray((density * normals).sum(axis=1))

    @property
    def normal(self) -> Array:
        """The normal part of the density, not smoothed, (n,)."""
        return self.normal_density()

    def _density(self, length: float, most: float | None = None) -> tuple[Array, Array]:
        if not isinstance(self.mesh, Mesh):
            raise InputError("A density needs the skin of a mesh, but there are no cells.")
        if not (np.isfinite(length) and length >= 0):
            raise InputError(f"length is {length!r}, but a number of at least 0 is wanted.")
        load = self.gradient
        if most is not None:
            size = np.linalg.norm(skin_density(self.mesh, load, 0.0, self.movable)[0], axis=1)
            limit = most * float(np.quantile(size[size > 0], 0.9)) if size.any() else 1.0
            load = load * np.divide(limit, size, out=np.ones_like(size), where=size > limit)[:, None]
        return skin_density(self.mesh, load, float(length), self.movable)


def sensitivities(
    model: Any, X: Any, target: str | None = None, along: Any = None, where: Any = None, std: bool = True
) -> list[Sensitivity]:
    """Return the sensitivities of predictions, as :meth:`swwl.RobustGPRegressor.sensitivity` says."""
    names = list(model._layout.names)
    if target is not None and target not in names:
        raise InputError(f"target is {target!r}, but the model predicts {', '.join(map(repr, names))}.")
    chosen = [names.index(target)] if target is not None else list(range(len(names)))
    for member in model.members_:
        for gp in member.gps:
            gp.check_differentiable(std)
    table = as_rows(X, model.feature_names_in_)
    found = []
    with one_blas_thread():  # many thin products, as in predictions: more threads wait longer than they work
        for number in range(len(table)):
            try:
                found += _of_row(model, table.iloc[[number]], chosen, along, where, std)
            except InputError as error:
                raise error.of_item(number, f"Row {number}") if len(table) > 1 else error from None
    return found


def _of_row(
    model: Any, row: pd.DataFrame, chosen: Sequence[int], along: Any, where: Any, std: bool
) -> list[Sensitivity]:
    graphs = [f.column for member in model.members_ for f in member.kernel.factors if f.takes == "graphs"]
    if len(set(graphs)) > 1:
        raise InputError(
            f"The model has several columns of meshes ({', '.join(sorted(set(graphs)))}); one is supported."
        )
    mesh: Mesh | Graph | None = None
    values = {name: column(row, name).iloc[0] for name in model.feature_names_in_}
    if graphs:
        with located(f"Column {graphs[0]!r}"):
            mesh = as_movable(values[graphs[0]])
        values[graphs[0]] = Source(mesh)  # all factors share what is found of it
    moments, columns = _pulled(model, values, row, chosen, std)
    gradient = columns.pop(graphs[0]) if graphs else np.zeros((0, 0, moments.size))
    movable = movable_nodes(where, mesh)
    moves = displacements(along, mesh)
    results = []
    for j, place in enumerate(chosen):
        pair = []
        for kind in range(1 + std):
            k = 2 * j + kind if std else j
            own = gradient[:, :, k]
            pair.append(
                Sensitivity(
                    model._layout.names[place],
                    float(moments[kind, j]),
                    mesh,
                    np.where(movable[:, None], own, 0.0),
                    {name: float(slopes[k]) for name, slopes in columns.items()},
                    pd.Series({name: float((own * by).sum()) for name, by in moves.items()}, dtype=float),
                    movable,
                )
            )
        mean = pair[0]
        results.append(Sensitivity(**{**vars(mean), "std": pair[1] if std else None}))
    return results


def _pulled(
    model: Any, values: Mapping[str, Any], row: pd.DataFrame, chosen: Sequence[int], std: bool
) -> tuple[Array, dict[str, Array]]:
    """Return mean and std of the chosen targets, (2, t), and per column the gradients of both, target by target.

    Gradients are (n, d, m) of graphs and (m,) of numbers, m = 2 t, or t without those of the std.
    """
    members: list[Member] = model.members_
    factors, places = distinct_factors([member.kernel for member in members])
    # A category cannot change by little.
    linear: list[Linear | None] = [
        None if factor.takes == "categories" else differentiable(factor).linear(values[factor.column])
        for factor in factors
    ]
    trend = trend_matrix(model._trend, row)
    rows, predictions = [], []
    for member, own in zip(members, places, strict=True):
        new = [
            factor.represent([values[factor.column]])
            if (known := linear[place]) is None
            else differentiable(factor).of_row(known.row)
            for factor, place in zip(member.kernel.factors, own, strict=True)
        ]
        cross, _ = member.new_blocks(new)
        rows.append(new)
        predictions.append([gp.linearize(cross, std=std, trend_columns=trend) for gp in member.gps])
    means, stds = (np.array([np.concatenate([getattr(p, name) for p in own]) for own in predictions])
                   for name in ("mean", "std"))  # fmt: skip
    weights, widths = model.weights_.to_numpy(), model.calibration_.to_numpy()
    mean = (weights * means).sum(axis=0)
    variance = (weights * (stds**2 + (means - mean) ** 2)).sum(axis=0)
    total = widths * np.sqrt(variance)
    n_columns = (1 + std) * len(chosen)
    in_rows = [None if known is None else np.zeros((len(known.row), n_columns)) for known in linear]
    in_trend = np.zeros((trend.shape[1] if trend is not None else 0, n_columns))
    for i, (member, own) in enumerate(zip(members, places, strict=True)):
        in_mean, in_std = np.zeros((len(mean), n_columns)), np.zeros((len(mean), n_columns))
        for j, t in enumerate(chosen):
            in_mean[t, (1 + std) * j] = weights[i, t]
            if std:  # of widths * sqrt(variance)
                share = weights[i, t] * widths[t] ** 2 / total[t]
                in_mean[t, 2 * j + 1] = share * (means[i, t] - mean[t])
                in_std[t, 2 * j + 1] = share * stds[i, t]
        start = 0
        for prediction in predictions[i]:
            k = len(prediction.mean)
            parts, slopes = prediction.pull_back(in_mean[start : start + k], in_std[start : start + k])
            start += k
            in_trend += slopes[len(slopes) - len(in_trend) :]  # a constant comes first
            _collect(member, rows[i], parts, [in_rows[place] for place in own])
    columns: dict[str, Any] = {}
    for factor, known, gradient in zip(factors, linear, in_rows, strict=True):
        if known is not None and gradient is not None:
            columns[factor.column] = columns.get(factor.column, 0.0) + known.pull_back(gradient)
    for factor, slope in zip(model._trend, in_trend, strict=True):
        columns[factor.column] = columns.get(factor.column, 0.0) + slope / factor.units()[0]
    return np.stack([mean, total])[:, list(chosen)], columns


def _collect(member: Member, new: Sequence[Any], parts: list[Array], totals: Sequence[Array | None]) -> None:
    """Share the gradients in the parts of the blocks out among the factors, and add theirs in their rows to totals."""
    left = list(parts)
    for factor, own, train, total in zip(member.kernel.factors, new, member.rows, totals, strict=True):
        count = len(factor.correlations())
        mine, left = left[:count], left[count:]
        if total is not None:
            total += differentiable(factor).pull_back(own, train, mine)


def movable_nodes(where: Any, mesh: Mesh | Graph | None) -> NDArray[np.bool_]:
    """Return which nodes may move, (n,), given a mask, node numbers, or nothing for all of them."""
    n = 0 if mesh is None else mesh.n_nodes
    if where is None:
        return np.ones(n, bool)
    given = np.asarray(where)
    if given.dtype == bool:
        if given.shape != (n,):
            raise InputError(f"where has shape {given.shape}, but the mesh has {n} nodes.")
        return given.copy()
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or ((given < 0) | (given >= n)).any():
        raise InputError(f"where must be a mask of {n} nodes, or numbers from 0 to {n - 1}.")
    mask = np.zeros(n, bool)
    mask[given] = True
    return mask


def displacements(along: Any, mesh: Mesh | Graph | None) -> dict[str, Array]:
    """Return the displacements (n, d) along which derivatives are wanted, by name.

    Parameters
    ----------
    along : None, Modes, mapping of name to displacement, sequence of them, or one
        A displacement is an (n, d) array, a mesh of the same cells to which the nodes go, or a pair of such meshes.
    mesh : Mesh, Graph or None
        Whose nodes move.

    Examples
    --------
    >>> rod = Mesh([[0.0], [1.0]], [[0, 1]])
    >>> displacements({"longer": [[0.0], [0.1]], "there": Mesh([[0.0], [3.0]], [[0, 1]])}, rod)["there"].tolist()
    [[0.0], [2.0]]
    """
    if along is None:
        return {}
    if mesh is None:
        raise InputError("along= moves the nodes of a mesh, but the model has no column of meshes.")
    if isinstance(along, str) and along == "modes":
        raise InputError("The model does not hold its training meshes: give along=displacement_modes(train['mesh']).")
    if isinstance(along, Modes):
        along = dict(zip(along.names, along.displacements, strict=True))
    if not isinstance(along, Mapping):
        several = isinstance(along, list) or (isinstance(along, np.ndarray) and along.ndim == 3)
        along = {f"displacement {k + 1}": own for k, own in enumerate(along if several else [along])}
    return {str(name): _displacement(own, mesh, str(name)) for name, own in along.items()}


def _displacement(given: Any, mesh: Mesh | Graph, name: str) -> Array:
    points = mesh.points if isinstance(mesh, Mesh) else mesh.features
    if isinstance(given, tuple) and len(given) == 2:
        first, second = (_of_same_cells(own, mesh, name) for own in given)
        return second.points - first.points
    if isinstance(given, (Mesh, str, os.PathLike)):
        return _of_same_cells(given, mesh, name).points - points
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"Displacement {name!r} must be an array of shape {points.shape}, or meshes.") from None
    if array.shape != points.shape:
        raise InputError(
            f"Displacement {name!r} has shape {array.shape}, but the mesh has points of shape {points.shape}."
        )
    if not np.isfinite(array).all():
        raise InputError(f"Displacement {name!r} holds values that are not finite.")
    return array


def _of_same_cells(given: Any, mesh: Mesh | Graph, name: str) -> Mesh:
    with located(f"Displacement {name!r}"):
        other = as_mesh(given)
    if isinstance(mesh, Graph) or not same_cells(other, mesh):
        raise InputError(f"Displacement {name!r} has a mesh of other cells; those of the mesh that moves are wanted.")
    return other


# Slopes are told from the joint prediction of two cases so far apart: of the training deviation of a number, and of the
# extent of a mesh for the node that moves farthest.
_OF_DEVIATION, _OF_EXTENT = 0.1, 0.01
_95 = 1.959963985
COLUMNS = ["target", "what", "kind", "derivative", "std", "lower95", "upper95", "unit", "of_std"]


def slope_table(model: Any, row: pd.DataFrame, found: Sequence[Sensitivity], along: Any = None) -> pd.DataFrame:
    """Return the derivatives of one case, with the standard deviations of slopes that the model itself states.

    A process knows not only values but also how they go together, so it says how uncertain the slope between two nearby
    cases is. That counts what the training cases leave open, not whether the kernel suits.

    Parameters
    ----------
    model : RobustGPRegressor
    row : DataFrame
        Of one row.
    found : sequence of Sensitivity
        What ``model.sensitivity(row, along=along)`` returned, of some or all targets.
    along : optional
        The same displacements.

    Returns
    -------
    DataFrame
        ``target``, ``what`` (the number or displacement), ``kind`` ("number" or "displacement"), ``derivative`` per
        unit of the number or per displacement, its ``std``, ``lower95`` and ``upper95``, ``unit`` (a deviation of
        the number in training, 1 for displacements: what to multiply by to compare), and ``of_std``, the derivative of
        the predictive standard deviation.
    """
    mesh = found[0].mesh
    moves = displacements(along, mesh)
    column = next((name for name in model.feature_names_in_ if name not in found[0].inputs), None)
    train = model.train_inputs_
    steps: dict[str, tuple[str, float, float]] = {}
    rows = []
    for name in found[0].inputs:
        spread = float(train[name].std(ddof=0)) if name in train and train[name].std(ddof=0) > 0 else 1.0
        steps[name] = "number", _OF_DEVIATION * spread, spread
        rows += [row.assign(**{name: row[name].astype(float) + sign * steps[name][1]}) for sign in (1, -1)]
    for name, by in moves.items():
        size = float(np.linalg.norm(by, axis=1).max())
        steps[name] = "displacement", _OF_EXTENT * extent(_points(mesh)) / size if size > 0 else 1.0, 1.0
        rows += [row.assign(**{str(column): [_moved(mesh, sign * steps[name][1] * by)]}) for sign in (1, -1)]
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    _, covariance = model.predict(pd.concat(rows, ignore_index=True), return_cov=True, include_nugget=False)
    covariance = np.reshape(covariance, (-1, len(rows), len(rows)))
    lines = []
    for own in found:
        joint = covariance[list(model.target_names_).index(own.target)]
        for k, (name, (kind, step, unit)) in enumerate(steps.items()):
            pair = joint[2 * k : 2 * k + 2, 2 * k : 2 * k + 2]
            std = float(np.sqrt(max(pair[0, 0] + pair[1, 1] - 2 * pair[0, 1], 0.0))) / (2 * step)
            slope = own.inputs[name] if kind == "number" else float(own.along[name])
            of_std = None
            if own.std is not None:
                of_std = own.std.inputs[name] if kind == "number" else float(own.std.along[name])
            line = [own.target, name, kind, slope, std, slope - _95 * std, slope + _95 * std, unit, of_std]
            lines.append(dict(zip(COLUMNS, line, strict=True)))
    return pd.DataFrame(lines)


def _points(mesh: Mesh | Graph | None) -> Array:
    assert mesh is not None
    return mesh.points if isinstance(mesh, Mesh) else mesh.features


def _moved(mesh: Mesh | Graph | None, by: Array) -> Mesh | Graph:
    if isinstance(mesh, Mesh):
        return trusted_mesh(mesh.points + by, mesh.cells, mesh.fields, mesh.name)
    assert mesh is not None
    return mesh.with_features(mesh.features + by)
