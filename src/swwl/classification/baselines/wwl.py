r"""WWL: exact Wasserstein distances between the Weisfeiler-Lehman embeddings of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from swwl.classification.baselines.common import Baseline, masses, pair_matrix, plain_matrix, require
from swwl.embedding.wl import neighbor_average, wl_iterations
from swwl.errors import InputError, renamed_arguments
from swwl.mesh.graph import Graph
from swwl.parallel import Progress
from swwl.storage.modelfile import storable

Cloud = tuple[NDArray[np.float64], NDArray[np.float64]]


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

    @renamed_arguments(exponent="alpha")
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

    def prepare(self, graph: Graph) -> Cloud:
        """Return the node embeddings (n, (H + 1) d) and their masses (n,)."""
        step = int(getattr(self, "step_", self.step))  # models of format 1 have no step_
        cloud = wl_cloud(graph, self.n_iterations, step, self.normalization, self.tolerance)
        return cloud, masses(graph, self.node_weights)

    def distances(self, first: list[Any], second: list[Any] | None = None) -> NDArray[np.float64]:
        """Return Wasserstein distances, (N, M)."""
        return cloud_distances(first, second, sinkhorn=self.sinkhorn, n_jobs=self.n_jobs, progress=self._progress)

    def _learn(self, graphs: list[Graph], y: Any, progress: Progress | None) -> None:
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


def wasserstein(first: Cloud, second: Cloud, sinkhorn: float | None = None) -> float:
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
    first: list[Cloud],
    second: list[Cloud] | None = None,
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
