"""The rows of the table of errors: how each kernel sees graphs, and a Gaussian process with it, scored on test cases.

Graphs are turned into vectors or distances once (:func:`represent`), in this process; fits of all kernels and targets
that share them run side by side in others (:func:`fit_and_score`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import linalg

from swwl.classification.baselines import propagation_gram, wwl_distances
from swwl.embedding.components import principal_components, project
from swwl.embedding.distances import pairwise_distances
from swwl.embedding.transformer import SWWLEmbedding
from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.gp import Coordinates, GPWarning
from swwl.kernels import Factor, IndefiniteKernelWarning, Matern52, Precomputed, PrincipalSWWL, Product, Rows
from swwl.kernels.base import CorrelationName, Item
from swwl.mesh.graph import Graph
from swwl.parallel import Progress, one_blas_thread
from swwl.regression.estimator import RobustGPRegressor

# Widths of the propagation kernel's bins in standard deviations of a feature, exponents of WWL, and numbers of modes of
# coordinates: the marginal posterior picks one, as it picks the number of components of principal SWWL.
WIDTHS = (0.01, 0.1, 1.0)
EXPONENTS = (1.0, 2.0)
MODES = (4, 8, 16, 24)


@dataclass(frozen=True)
class Model:
    """A row of the table.

    Attributes
    ----------
    title : str
    sees : str or None
        How it sees graphs, a key of what :func:`represent` knows; None for not at all.
    random : bool
        Whether seeds change it.
    topology_free : bool
        Whether it is a kernel on graphs that need not share a topology.
    extra : bool
        Whether it is beyond the paper's rows and may have fewer seeds than others.
    """

    title: str
    sees: str | None
    random: bool = True
    topology_free: bool = True
    extra: bool = False


MODELS = {
    "scalars": Model("scalars alone", None, random=False, topology_free=False),
    "SWWL": Model("SWWL(1)", "step 1"),
    "SWWL-sqrt": Model("SWWL(√n)", "step √n"),
    "ASWWL": Model("ASWWL", "by iteration"),
    "SWWL-area": Model("SWWL(1), by area", "by area", extra=True),
    "principal": Model("principal SWWL", "step 1"),
    "principal-sqrt": Model("principal (√n)", "step √n", extra=True),
    "principal-area": Model("principal, by area", "by area", extra=True),
    "auto": Model("the default (auto)", "meshes", extra=True),
    "PCA": Model("PCA of coordinates", "coordinates", random=False, topology_free=False),
    "WWL": Model("WWL (exact)", "WWL", random=False),
    "PK": Model("propagation", "PK"),
}

EMBEDDINGS: dict[str, dict[str, Any]] = {
    "step 1": {"node_weights": "uniform"},
    "step √n": {"node_weights": "uniform", "step": "sqrt"},
    "by iteration": {"node_weights": "uniform", "per_iteration": True},
    "by area": {"node_weights": "area"},
}


def represent(
    sees: str,
    graphs: Sequence[Graph],
    n_train: int,
    *,
    seed: int,
    n_jobs: int = 1,
    options: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Turn graphs into what kernels are made of.

    Parameters
    ----------
    sees : str
        A key of ``EMBEDDINGS``, "coordinates", "WWL" or "PK".
    graphs : sequence of n Graphs
        The first ``n_train`` are the training cases, from which an embedding learns center, scale and step.
    n_train, seed, n_jobs : int
    options : dict
        Of :class:`SWWLEmbedding`; the paper's H = 3, P = 50 and Q = 500 are its defaults.
    progress : callable, optional

    Returns
    -------
    ndarray of shape (n, n), (n, 4 n), (1, n, n) or (3, n, n)
        Vectors with the distances of the embeddings (four blocks of them by iteration), or distances: those of WWL,
        or those of the propagation kernel with each of ``WIDTHS``.
    """
    options = dict(options or {})
    if sees == "coordinates":
        return isometric(coordinates(graphs))
    if sees == "WWL":
        plain = [Graph(graph.features, graph.edges, graph.weights) for graph in graphs]
        return wwl_distances(plain, n_jobs=n_jobs, progress=progress, **options)[None]
    if sees == "PK":
        grams = [propagation_gram(graphs, w=w, scale=True, random_state=seed) for w in WIDTHS]
        return np.sqrt(np.maximum(2 - 2 * np.stack(grams), 0))
    embedding = SWWLEmbedding(**EMBEDDINGS[sees], **options, random_state=seed, n_jobs=n_jobs)
    train = embedding.fit_transform(graphs[:n_train], progress=progress)
    rows = np.concatenate([train, embedding.transform(graphs[n_train:])])
    blocks = embedding.n_iterations + 1 if embedding.per_iteration else 1
    return np.hstack([isometric(block) for block in np.split(rows, blocks, axis=1)])


def coordinates(graphs: Sequence[Graph]) -> NDArray[np.float32]:
    """Return the node coordinates of graphs of one topology as rows (N, n d), less their mean.

    Examples
    --------
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 3.0)]
    >>> coordinates(rods).tolist()
    [[0.0, -1.0], [0.0, 1.0]]
    """
    first = graphs[0]
    for number, graph in enumerate(graphs):
        if not graph.same_topology(first):
            raise InputError(f"Graph {number} has a different topology than graph 0, so their nodes do not correspond.")
    mean = np.zeros_like(first.features)
    for graph in graphs:
        mean += graph.features / len(graphs)
    return np.stack([(graph.features - mean).ravel().astype(np.float32) for graph in graphs])


def isometric(rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return vectors (n, n) with the distances of wide rows (n, K), so that fits need not handle K columns again.

    Examples
    --------
    >>> points = isometric(np.array([[0.0, 0, 0], [3, 0, 4]]))
    >>> points.shape, round(float(np.linalg.norm(points[0] - points[1])), 6)
    ((2, 2), 5.0)
    """
    gram = -0.5 * pairwise_distances(rows, squared=True)
    gram -= gram.mean(axis=0)
    gram -= gram.mean(axis=1, keepdims=True)
    values, vectors = linalg.eigh(gram, driver="evd")
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]


class Principal(PrincipalSWWL):
    """Principal SWWL on a column of embeddings."""

    takes = "rows"  # type: ignore[assignment]  # all other kinds of SWWL take graphs

    def make_embedding(self) -> Any:
        """Return what takes the place of an embedding."""
        return _AsGiven()


class _AsGiven:
    """Takes the place of an embedding where a column holds embeddings already."""

    step_ = 1

    def fit_transform(self, values: Any, progress: Any = None, memory: Any = None) -> NDArray[np.float64]:
        return np.stack(list(values))

    transform = fit_transform


class Modes(Factor):
    """Principal components of node coordinates, one range for each and none for the rest, as in MMGP.

    Casenave, Staber and Roynard (2023), "MMGP: a mesh morphing Gaussian process-based machine learning method for
    regression of physical problems under nonparametrized geometrical variability".

    Parameters
    ----------
    column : str
        Name of a column of vectors, such as :func:`isometric` makes of coordinates.
    n_components : int
        At most ``max(MODES)``; fewer are used where the training rows do not span as many.
    """

    gives = "coordinates"

    def __init__(self, column: str, n_components: int):
        self.column = column
        self.n_components = n_components

    def fit(self, values: Any, progress: Progress | None = None, **options: Any) -> NDArray[np.float64]:
        """Find the components; return the coordinates of the training rows, (N, k)."""
        self.mean_, components, _ = principal_components(np.stack(list(values)), max(MODES))
        self.components_ = components[:, : self.n_components]
        self.n_components_ = self.components_.shape[1]
        return self.represent(values)

    def represent(self, values: Any, progress: Progress | None = None, **options: Any) -> NDArray[np.float64]:
        """Return the coordinates of other rows, (N, k)."""
        return project(np.stack(list(values)), self.mean_, self.components_)

    def items(self, first: NDArray[np.float64], second: NDArray[np.float64] | None = None) -> list[Item]:
        """Return the coordinates."""
        return [Coordinates(first)]

    def correlations(self) -> list[CorrelationName]:
        """Return one Gaussian correlation for all components."""
        return ["gaussian"]

    def range_names(self) -> list[str]:
        """Name the components, first the one that carries most variance."""
        return [f"{self.column} (component {j + 1})" for j in range(self.n_components_)]


class Indefinite(Precomputed):
    """Given distances whose kernel is not positive definite by itself."""

    positive_definite = False


def candidates(model: str, seen: NDArray[np.float64] | None, n_train: int) -> tuple[list[Product], dict[str, Any]]:
    """Return the kernels on graphs to choose from (none for scalars alone), and the columns that they look at."""
    if seen is None or model == "auto":
        return [], {}
    if model in ("WWL", "PK"):
        numbers = {"mesh": np.arange(seen.shape[1])}
        if model == "PK":
            return [Product(Precomputed("mesh", distances)) for distances in seen], numbers
        return [Product(Indefinite("mesh", seen[0], ("power", alpha))) for alpha in EXPONENTS], numbers
    if model == "ASWWL":
        blocks = np.split(seen, seen.shape[1] // len(seen), axis=1)
        columns = {f"mesh (iteration {h})": list(block) for h, block in enumerate(blocks)}
        return [Product(*map(Rows, columns))], columns
    if model == "PCA":
        # Nothing stands for the rest, so there may be more of them than principal SWWL would take.
        known = principal_components(seen[:n_train], max(MODES))[1].shape[1]
        most = min(known, n_train // 3)
        factors: list[Factor] = [Modes("mesh", k) for k in sorted({min(k, most) for k in MODES})]
    else:
        factors = [Principal("mesh") if model.startswith("principal") else Rows("mesh")]
    return [Product(factor) for factor in factors], {"mesh": list(seen)}


def fit_and_score(
    model: str,
    seen: NDArray[np.float64] | None,
    table: pd.DataFrame,
    scalars: Sequence[str],
    target: str,
    n_train: int,
    *,
    seed: int,
    widening: float | None = None,
) -> dict[str, Any]:
    """Fit a Gaussian process to the first cases of a table and score it on the others.

    Parameters
    ----------
    model : str
        A key of ``MODELS``.
    seen : ndarray or None
        What :func:`represent` returned for the cases of the table.
    table : DataFrame
        Scalars and targets and, for the default model, ``mesh``; training cases first.
    scalars : sequence of str
        Each gets a Matérn 5/2 factor.
    target : str
    n_train, seed : int
    widening : float, optional
        How much wider than Student-t's the intervals shall be; found by cross-validation where it is None.

    Returns
    -------
    dict
        ``rmse, rmse_relative, q2, coverage95, width95, components, calibration, warnings, seconds``.
    """
    start = time.perf_counter()
    on_graphs, columns = candidates(model, seen, n_train)
    meshes = ["mesh"] if model == "auto" else []
    cases = table[[*meshes, *scalars, target]].assign(**columns)
    train, test = cases.iloc[:n_train], cases.iloc[n_train:]
    numbers = [Matern52(name) for name in scalars]
    kernels: list[Any] = [Product(kernel, *numbers) for kernel in on_graphs] or [Product(*numbers)]
    kernels = [None] if model == "auto" else kernels  # the default names none, and reads meshes itself
    with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GPWarning)
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        if len(kernels) > 1:
            # Numbers of components are compared as the library does it, from a single start.
            options: dict[str, Any] = {"calibrate": False, "random_state": seed} | (
                {"n_starts": 1} if model == "PCA" else {}
            )
            tried = [RobustGPRegressor(kernel, **options).fit(train, target) for kernel in kernels]
            kernels = [max(zip(tried, kernels, strict=True), key=lambda pair: pair[0].gps_[0].log_posterior_)[1]]
            caught.clear()
        fitted = RobustGPRegressor(kernels[0], calibrate=widening is None, random_state=seed).fit(train, target)
        if widening is not None:
            fitted.calibration_[:] = widening
        prediction = fitted.predict_distribution(test, widen=False)
    truth = test[target].to_numpy(float)
    one = scores.score(truth, prediction)
    return {
        "rmse": one.rmse,
        "rmse_relative": one.rmse / float(truth.std()),
        "q2": one.q2,
        "coverage95": one.coverage,
        "width95": one.width,
        "components": float(getattr(fitted.kernel_.factors[0], "n_components_", float("nan"))),
        "calibration": float(fitted.calibration_.iloc[0]),
        "warnings": len(caught),
        "seconds": time.perf_counter() - start,
    }
