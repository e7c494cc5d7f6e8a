r"""WWL and FGW: kernels of exact optimal transport between graphs, by POT.

WWL takes Wasserstein distances between Weisfeiler-Lehman embeddings; FGW takes fused Gromov-Wasserstein distances, of
structure and features at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from swwl.classification.baselines.common import Baseline, masses, pair_matrix, plain_matrix, require
from swwl.embedding.wl import neighbor_average, wl_iterations
from swwl.errors import InputError
from swwl.mesh.graph import Graph
from swwl.parallel import Progress
from swwl.storage.modelfile import storable

# Points (n, d) and masses (n,).
WeightedPoints = tuple[NDArray[np.float64], NDArray[np.float64]]
# Features (n, d), shortest paths (n, n), masses (n,).
Structured = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

_METRICS = ("sqeuclidean", "euclidean")


@storable
class WWL(Baseline):
    r"""The Wasserstein Weisfeiler-Lehman kernel :math:`\exp(-(\beta W_1(\mu_G, \mu_{G'}))^\alpha)`.

    .. math:: W_1(\mu, \nu) = \min_{\pi \in \Pi(\mu, \nu)} \sum_{u, v} \pi_{uv} \|E_u - E'_v\|_2

    between the measures of the nodes' embeddings, which are those of :class:`swwl.SWWLEmbedding`. It is not
    positive definite: a Gaussian process with it comes with a warning. Needs POT, of the extra ``baselines``.

    Parameters
    ----------
    column : str
        Name of a column of graphs.
    n_iterations, normalization, tolerance, scale, fields, node_weights
        See :class:`swwl.SWWLEmbedding`.
    step : int or "sqrt"
        "sqrt" is the rounded square root of the mean number of nodes in ``fit``.
    sinkhorn : float, optional
        Entropic regularization, relative to the largest cost of each pair; then the cost of the regularized plan is
        returned, which is not below the exact one. By default the distance is exact.
    alpha : float
        :math:`\alpha` in (0, 2]; the kernel of its paper has 1. :class:`swwl.GraphSVC` has its own.
    n_jobs : int, optional
        Processes, by joblib's rules.

    References
    ----------
    Togninalli, Ghisu, Llinares-López, Rieck and Borgwardt (2019), "Wasserstein Weisfeiler-Lehman graph kernels".

    Examples
    --------
    >>> WWL("mesh", n_iterations=2)
    WWL('mesh', n_iterations=2)
    """

    positive_definite = False
    step_: Annotated[int, Meta(ge=1)]

    def __init__(
        self,
        column: str = "graph",
        *,
        n_iterations: int = 3,
        step: int | str = 1,
        normalization: str = "count",
        tolerance: float = 1e-5,
        sinkhorn: float | None = None,
        alpha: float = 1.0,
        scale: Any = False,
        fields: Sequence[str] = (),
        node_weights: str | None = None,
        n_jobs: int | None = None,
    ):
        self.column = column
        self.n_iterations = n_iterations
        self.step = step
        self.normalization = normalization
        self.tolerance = tolerance
        self.sinkhorn = sinkhorn
        self.alpha = alpha
        self.scale = scale
        self.fields = fields
        self.node_weights = node_weights
        self.n_jobs = n_jobs

    def prepare(self, graph: Graph) -> WeightedPoints:
        """Return the node embeddings (n, (H + 1) d) and their masses (n,)."""
        cloud = wl_cloud(graph, self.n_iterations, self.step_, self.normalization, self.tolerance)
        return cloud, masses(graph, self.node_weights)

    def distances(self, first: list[Any], second: list[Any] | None = None) -> NDArray[np.float64]:
        """Return Wasserstein distances, (N, M)."""
        return cloud_distances(first, second, sinkhorn=self.sinkhorn, n_jobs=self.n_jobs, progress=self._progress)

    def _learn(self, graphs: list[Graph], y: object, progress: Progress | None) -> None:
        nodes = np.mean([graph.n_nodes for graph in graphs])
        self.step_ = max(1, round(float(np.sqrt(nodes)))) if isinstance(self.step, str) else int(self.step)

    def _check(self) -> None:
        super()._check()
        require("ot", "WWL")
        if self.sinkhorn is not None and not self.sinkhorn > 0:
            raise InputError(f"sinkhorn must be a positive number or None, not {self.sinkhorn!r}.")


def wl_cloud(
    graph: Graph, n_iterations: int, step: int = 1, normalization: str = "count", tolerance: float = 0.0
) -> NDArray[np.float64]:
    """Return the Weisfeiler-Lehman node embeddings of a graph, (n, (H + 1) d).

    Examples
    --------
    >>> wl_cloud(Graph([[0.0], [1.0]], [(0, 1)]), 1).tolist()
    [[0.0, 0.5], [1.0, 0.5]]
    """
    matrix = neighbor_average(graph, normalization)
    return np.hstack(wl_iterations(matrix, graph.features, n_iterations, step, tolerance))


def wasserstein(first: WeightedPoints, second: WeightedPoints, sinkhorn: float | None = None) -> float:
    r"""Return :math:`W_1` between two weighted clouds.

    Parameters
    ----------
    first, second : (points (n, s), masses (n,))
    sinkhorn : float, optional
        Entropic regularization relative to the largest cost.
    """
    import ot

    (points, mass), (others, weights) = first, second
    costs = cdist(points, others)
    largest = costs.max()
    if sinkhorn is None or largest == 0:
        return max(0.0, float(ot.emd2(mass, weights, costs, numItermax=10_000_000)))
    plan = ot.sinkhorn(mass, weights, costs, sinkhorn * largest, method="sinkhorn_log", numItermax=10_000)
    return float(np.sum(plan * costs))


def cloud_distances(
    first: list[WeightedPoints],
    second: list[WeightedPoints] | None = None,
    *,
    sinkhorn: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return Wasserstein distances between all pairs of weighted clouds, (N, M)."""
    require("ot", "WWL")
    function = partial(wasserstein, sinkhorn=sinkhorn)
    return pair_matrix(function, first, second, diagonal=False, n_jobs=n_jobs, progress=progress)


def wwl_distances(
    graphs: Any, others: Any = None, *, progress: Progress | None = None, **options: Any
) -> NDArray[np.float64]:
    r"""Return :math:`W_1` between the Weisfeiler-Lehman embeddings of graphs.

    Parameters
    ----------
    graphs : iterable of N graphs, or of anything :func:`swwl.as_graph` takes
    others : iterable of M graphs, optional
        By default ``graphs`` again: the result is then symmetric with a zero diagonal. ``scale=True`` is learned
        from them.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of pairs.
    **options
        Those of :class:`WWL`.

    Returns
    -------
    ndarray of shape (N, N) or (N, M)
    """
    return plain_matrix(WWL(**options), graphs, others, progress)


@storable
class FGW(Baseline):
    r"""The fused Gromov-Wasserstein kernel :math:`\exp(-(\beta\,\mathrm{FGW}(G, G'))^{\text{exponent}})`.

    .. math:: \mathrm{FGW} = \min_{\pi} \sum_{u, v, s, t}
              \bigl[(1 - \alpha)\, m(F_u, F'_v) + \alpha\, (C_{us} - C'_{vt})^2\bigr] \pi_{uv} \pi_{st}

    with C the lengths of shortest paths. As in its paper no root is taken, so with squared costs it is a
    semimetric. The problem is not convex: a local minimum found from the product measure by conditional gradient is
    returned. It is not positive definite: a Gaussian process with it comes with a warning. Needs POT, of the extra
    ``baselines``.

    Parameters
    ----------
    column : str
        Name of a column of graphs.
    alpha : float
        Weight of the structure, in [0, 1]: 0 is the Wasserstein distance between features, 1 the
        Gromov-Wasserstein distance between structures.
    metric : {"sqeuclidean", "euclidean"}
        The cost m between features.
    disconnected : float
        Nodes that no path joins are this many times as far apart as the farthest nodes that one joins (the
        authors' rule; one edge counts where there is no path at all).
    max_iter : int
        Iterations of the conditional gradient.
    exponent : float
        Exponent of the distance in (0, 2]. Other kernels call it ``alpha``, which here is the weight of the structure,
        as in its paper and in POT.
    scale, fields, node_weights, n_jobs
        See :class:`WWL`.

    Notes
    -----
    Edge weights, where graphs have them, are the lengths of the edges.

    References
    ----------
    Vayer, Chapel, Flamary, Tavenard and Courty (2019), "Optimal transport for structured data with application on
    graphs".

    Examples
    --------
    >>> FGW("mesh", alpha=0.25)
    FGW('mesh', alpha=0.25)
    """

    positive_definite = False
    exponent_name = "exponent"

    def __init__(
        self,
        column: str = "graph",
        *,
        alpha: float = 0.5,
        metric: str = "sqeuclidean",
        disconnected: float = 10.0,
        max_iter: int = 500,
        exponent: float = 1.0,
        scale: Any = False,
        fields: Sequence[str] = (),
        node_weights: str | None = None,
        n_jobs: int | None = None,
    ):
        self.column = column
        self.alpha = alpha
        self.metric = metric
        self.disconnected = disconnected
        self.max_iter = max_iter
        self.exponent = exponent
        self.scale = scale
        self.fields = fields
        self.node_weights = node_weights
        self.n_jobs = n_jobs

    def prepare(self, graph: Graph) -> Structured:
        """Return features (n, d), shortest paths (n, n) and masses (n,)."""
        return graph.features, path_lengths(graph, self.disconnected), masses(graph, self.node_weights)

    def distances(self, first: list[Any], second: list[Any] | None = None) -> NDArray[np.float64]:
        """Return fused Gromov-Wasserstein distances, (N, M)."""
        require("ot", "FGW")
        function = partial(fused_distance, alpha=self.alpha, metric=self.metric, max_iter=self.max_iter)
        return pair_matrix(function, first, second, diagonal=False, n_jobs=self.n_jobs, progress=self._progress)

    def _check(self) -> None:
        super()._check()
        require("ot", "FGW")
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha must lie in [0, 1], but is {self.alpha!r}.")
        if self.metric not in _METRICS:
            raise InputError(f"metric must be one of {list(_METRICS)}, not {self.metric!r}.")


def path_lengths(graph: Graph, disconnected: float = 10.0) -> NDArray[np.float64]:
    """Return the lengths of the shortest paths between all nodes, (n, n).

    Examples
    --------
    >>> path_lengths(Graph([[0.0], [1.0], [2.0]], [(0, 1)]))
    array([[ 0.,  1., 10.],
           [ 1.,  0., 10.],
           [10., 10.,  0.]])
    """
    lengths = shortest_path(graph.adjacency.astype(np.float64), directed=False)
    apart = np.isinf(lengths)
    if apart.any():
        lengths[apart] = disconnected * (lengths[~apart].max() or 1.0)
    return lengths


def fused_distance(
    first: Structured, second: Structured, alpha: float, metric: str = "sqeuclidean", max_iter: int = 500
) -> float:
    """Return the fused Gromov-Wasserstein distance of two graphs, each (features, paths, masses)."""
    import ot

    # The solver is not symmetric in its arguments, so a pair is always taken in the same order.
    if _key(second) < _key(first):
        first, second = second, first
    elif _key(second) == _key(first):
        return 0.0
    (features, paths, mass), (others, lengths, weights) = first, second
    costs = cdist(features, others, metric)
    if alpha == 0:
        return max(0.0, float(ot.emd2(mass, weights, costs, numItermax=10_000_000)))
    if alpha == 1:
        costs = np.zeros_like(costs)
    options: dict[str, Any] = {"symmetric": True, "max_iter": max_iter, "alpha": alpha}
    return max(0.0, float(ot.gromov.fused_gromov_wasserstein2(costs, paths, lengths, mass, weights, **options)))


def _key(graph: Structured) -> tuple[Any, ...]:
    """Return what orders graphs by their content, smaller ones first."""
    return len(graph[2]), *(array.tobytes() for array in graph)


def fgw_distances(
    graphs: Any, others: Any = None, *, progress: Progress | None = None, **options: Any
) -> NDArray[np.float64]:
    """Return fused Gromov-Wasserstein distances between graphs, (N, N) or (N, M).

    Parameters
    ----------
    graphs, others, progress
        See :func:`wwl_distances`.
    **options
        Those of :class:`FGW`.
    """
    return plain_matrix(FGW(**options), graphs, others, progress)
