"""The GraphHopper and propagation kernels, by GraKeL, of the extra ``baselines``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from swwl.classification.baselines.common import GramBaseline, for_grakel, pair_matrix, plain_matrix, require
from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.graph import Graph
from swwl.parallel import Progress
from swwl.storage.modelfile import storable

_NODE_KERNELS = ("gaussian", "linear")
# Path counts (n, m, m) and features (n, d).
Paths = tuple[NDArray[np.float64], NDArray[np.float64]]


@storable
class GraphHopper(GramBaseline):
    r"""The GraphHopper kernel: pairs of shortest paths of one length, compared node by node.

    .. math:: k(G, G') = \sum_{u, v} \langle M_u, M'_v \rangle \, \kappa(F_u, F'_v),

    with :math:`(M_u)_{ab}` the number of shortest paths of b edges on which u comes after a, and :math:`\kappa`
    linear or :math:`e^{-\mu \|F_u - F'_v\|^2}`. Positive definite. Needs GraKeL, of the extra ``baselines``.

    Parameters
    ----------
    column : str
        Name of a column of graphs.
    node_kernel : {"gaussian", "linear"}
        :math:`\kappa`.
    mu : float
        :math:`\mu`, for the Gaussian one.
    normalize, alpha, scale, fields, n_jobs
        See :class:`Propagation`.

    Notes
    -----
    Edge weights are ignored: a path's length is its number of edges. Shortest paths never leave a connected
    component, so components are handed to GraKeL one by one; it cannot take an isolated node, on which there is just
    the path of no edges.

    References
    ----------
    Feragen, Kasenburg, Petersen, de Bruijne and Borgwardt (2013), "Scalable kernels for graphs with continuous
    attributes". Siglidis et al. (2020), "GraKeL: a graph kernel library in Python".

    Examples
    --------
    >>> GraphHopper("mesh", node_kernel="linear")
    GraphHopper('mesh', node_kernel='linear')
    """

    def __init__(
        self,
        column: str = "graph",
        *,
        node_kernel: str = "gaussian",
        mu: float = 1.0,
        normalize: bool = True,
        alpha: float = 2.0,
        scale: Any = False,
        fields: Sequence[str] = (),
        n_jobs: int | None = None,
    ):
        self.column = column
        self.node_kernel = node_kernel
        self.mu = mu
        self.normalize = normalize
        self.alpha = alpha
        self.scale = scale
        self.fields = fields
        self.n_jobs = n_jobs

    def raw_gram(
        self, first: list[Any], second: list[Any] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the kernel, (N, M), and the self-similarities of both sides."""
        function = partial(hopper, mu=float(self.mu) if self.node_kernel == "gaussian" else None)
        matrix = pair_matrix(function, first, second, n_jobs=self.n_jobs, progress=self._progress)
        if second is None:
            return matrix, matrix.diagonal().copy(), matrix.diagonal().copy()
        left, right = (np.array([function(graph, graph) for graph in side]) for side in (first, second))
        return matrix, left, right

    def _prepare_all(self, graphs: list[Graph]) -> list[Paths]:
        return list(Parallel(n_jobs=self.n_jobs)(delayed(path_counts)(graph) for graph in graphs))

    def _check(self) -> None:
        super()._check()
        require("grakel", "GraphHopper")
        if self.node_kernel not in _NODE_KERNELS:
            raise InputError(f"node_kernel must be one of {list(_NODE_KERNELS)}, not {self.node_kernel!r}.")


def path_counts(graph: Graph) -> Paths:
    """Return how many shortest paths of b edges have each node after a edges, (n, m, m), and the features (n, d).

    m is one more than the longest of the shortest paths has edges.
    """
    grakel = require("grakel", "GraphHopper")
    number, component = connected_components(graph.adjacency, directed=False)
    parts: list[tuple[AnyArray, AnyArray]] = []
    edges = graph.edges
    for k in range(number):
        nodes = np.flatnonzero(component == k)
        if len(nodes) == 1:
            parts.append((nodes, np.ones((1, 1, 1))))
            continue
        own = np.searchsorted(nodes, edges[component[edges[:, 0]] == k])
        kernel = grakel.GraphHopper(kernel_type="linear")
        parts.append((nodes, kernel.fit([for_grakel(graph.features[nodes], own, None)]).X[0][0]))
    longest = max(counts.shape[1] for _, counts in parts)
    result = np.zeros((graph.n_nodes, longest, longest))
    for nodes, counts in parts:
        m = counts.shape[1]
        result[nodes, :m, :m] = counts
    return result, graph.features


def hopper(first: Paths, second: Paths, mu: float | None) -> float:
    """Return GraKeL's kernel of two graphs; ``mu`` is None for the linear one."""
    grakel = require("grakel", "GraphHopper")
    kernel = grakel.GraphHopper(kernel_type="linear" if mu is None else ("gaussian", mu))
    kernel.initialize()
    if mu is None:
        return float(kernel.pairwise_operation(first, second))
    with_norms = [(counts, features, (features**2).sum(axis=1)) for counts, features in (first, second)]
    return float(kernel.pairwise_operation(*with_norms))


def graphhopper_gram(
    graphs: Any, others: Any = None, *, progress: Progress | None = None, **options: Any
) -> NDArray[np.float64]:
    """Return the GraphHopper kernel between graphs, (N, N) or (N, M).

    Parameters
    ----------
    graphs, others, progress
        See :func:`wwl_distances`.
    **options
        Those of :class:`GraphHopper`.
    """
    return plain_matrix(GraphHopper(**options), graphs, others, progress)


_METRICS = ("L1", "L2")


@storable
class Propagation(GramBaseline):
    r"""The propagation kernel: nodes that fall into the same bins while their features diffuse.

    .. math:: k(G, G') = \sum_{t < T} \sum_b n_b(F^{(t)}) \, n_b(F'^{(t)}), \quad F^{(t+1)} = D^{-1} A F^{(t)},

    with :math:`n_b` the number of nodes in bin b, a cell of a randomly scaled and shifted grid of width w drawn
    again for every t. Positive definite. Needs GraKeL, of the extra ``baselines``.

    Parameters
    ----------
    column : str
        Name of a column of graphs.
    t_max : int
        Number of iterations, T.
    w : float
        Width of the bins.
    metric : {"L1", "L2"}
        The norm that the binning preserves: Cauchy or Gaussian scales.
    random_state : int
        Draws the bins.
    normalize : bool
        Whether to divide by the root of both self-similarities.
    alpha : float
        Of the induced distance in a Gaussian process, in (0, 2]; :class:`swwl.GraphSVC` uses the kernel itself.
    scale, fields, n_jobs
        See :class:`WWL`.

    Notes
    -----
    An isolated node's features become zero after one iteration, as GraKeL has it. Edge weights count.

    References
    ----------
    Neumann, Garnett, Bauckhage and Kersting (2016), "Propagation kernels: efficient graph kernels from propagated
    information". Siglidis et al. (2020), "GraKeL: a graph kernel library in Python".

    Examples
    --------
    >>> Propagation("mesh", t_max=3)
    Propagation('mesh', t_max=3)
    """

    def __init__(
        self,
        column: str = "graph",
        *,
        t_max: int = 5,
        w: float = 0.01,
        metric: str = "L1",
        random_state: int = 0,
        normalize: bool = True,
        alpha: float = 2.0,
        scale: Any = False,
        fields: Sequence[str] = (),
        n_jobs: int | None = None,
    ):
        self.column = column
        self.t_max = t_max
        self.w = w
        self.metric = metric
        self.random_state = random_state
        self.normalize = normalize
        self.alpha = alpha
        self.scale = scale
        self.fields = fields
        self.n_jobs = n_jobs

    def prepare(self, graph: Graph) -> tuple[AnyArray, AnyArray, AnyArray | None]:
        """Return features (n, d), edges (m, 2) and edge weights (m,) or None."""
        return graph.features, graph.edges, graph.weights

    def raw_gram(
        self, first: list[Any], second: list[Any] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the kernel, (N, M), and the self-similarities of both sides."""
        graphs = first if second is None else [*first, *second]
        counts = bin_counts(graphs, self.t_max, self.w, self.metric, self.random_state)
        own = np.asarray(counts.multiply(counts).sum(axis=1)).ravel()
        left, right = counts[: len(first)], counts if second is None else counts[len(first) :]
        right_own = own if second is None else own[len(first) :]
        if self._progress is not None:
            self._progress(len(first) * right.shape[0], len(first) * right.shape[0])
        return (left @ right.T).toarray(), own[: len(first)], right_own

    def _check(self) -> None:
        super()._check()
        require("grakel", "Propagation")
        if self.metric not in _METRICS:
            raise InputError(f"metric must be one of {list(_METRICS)}, not {self.metric!r}.")


def bin_counts(graphs: list[Any], t_max: int, w: float, metric: str, random_state: int) -> sparse.csr_array:
    """Return how many nodes of every graph fall into every bin of every iteration, (N, bins).

    Products of rows are GraKeL's kernel values. Bins depend on the seed and on the number of features alone, so graphs
    counted in different calls have the same values.

    Parameters
    ----------
    graphs : list of (features, edges, edge weights or None)
    t_max, w, metric, random_state
        See :class:`Propagation`.
    """
    grakel = require("grakel", "Propagation")
    kernel = grakel.PropagationAttr(t_max=int(t_max), w=float(w), M=metric, random_state=random_state)
    parsed = kernel.fit([for_grakel(*graph) for graph in graphs]).X
    rows, columns, values = [], [], []
    columns_of: dict[tuple[int, int], int] = {}
    for row, counters in enumerate(parsed):
        for t, counter in counters.items():
            for place, count in counter.items():
                rows.append(row)
                columns.append(columns_of.setdefault((t, int(place)), len(columns_of)))
                values.append(count)
    shape = (len(graphs), len(columns_of))
    return sparse.coo_array((np.array(values, float), (rows, columns)), shape=shape).tocsr()


def propagation_gram(
    graphs: Any, others: Any = None, *, progress: Progress | None = None, **options: Any
) -> NDArray[np.float64]:
    """Return the propagation kernel between graphs, (N, N) or (N, M).

    Parameters
    ----------
    graphs, others, progress
        See :func:`wwl_distances`.
    **options
        Those of :class:`Propagation`.
    """
    return plain_matrix(Propagation(**options), graphs, others, progress)
