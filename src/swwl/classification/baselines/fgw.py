r"""FGW: fused Gromov-Wasserstein distances, structure and features at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from swwl.classification.baselines.common import Baseline, masses, pair_matrix, plain_matrix, require
from swwl.errors import InputError
from swwl.mesh.graph import Graph
from swwl.parallel import Progress
from swwl.storage.modelfile import storable

# Features (n, d), shortest paths (n, n), masses (n,).
Structured = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

_METRICS = ("sqeuclidean", "euclidean")


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
