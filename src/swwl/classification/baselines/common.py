"""What the baselines share: graphs read and scaled, all pairs of two lists in parallel, the two kinds of factor."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from joblib import Parallel, delayed
from msgspec import Meta
from numpy.typing import NDArray

from swwl.embedding.options import check_exponent, check_options, given_scale
from swwl.embedding.runner import Entry, as_items
from swwl.errors import InputError, MissingPackageError, located
from swwl.kernels.base import CorrelationName, Factor, Item
from swwl.mesh.graph import Graph
from swwl.mesh.io import as_graph
from swwl.parallel import Progress, each_once
from swwl.storage.checks import Shape, Size

# Graphs on each side of a block of pairs: enough to outweigh the sending of both sides to another process.
_BLOCK = 32


def require(module: str, who: str) -> Any:
    """Import an optional dependency, or say which extra brings it.

    Parameters
    ----------
    module : str
    who : str
        What needs it, for the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = "rpw" if module == "torch" else "baselines"
        raise MissingPackageError(
            f"{who} needs {module}, which is not installed: pip install 'swwl[{extra}]'."
        ) from error


def load_graphs(
    values: Any, n_features: int | None = None, fields: Sequence[str] = (), node_weights: str | None = None
) -> list[Graph]:
    """Read a list of graphs, or of anything :func:`swwl.as_graph` takes, and check that their features agree.

    Parameters
    ----------
    values : iterable
        What stands in it several times is read once.
    n_features : int, optional
        Features per node that ``fit`` saw.
    fields : sequence of str
        Node fields to append to the coordinates of meshes.
    node_weights : None, "area" or "uniform"

    Examples
    --------
    >>> load_graphs([Graph([[0.0], [1.0], [2.0]], [(0, 1), (1, 2)])])
    [Graph(3 nodes, 2 edges, 1 feature)]
    """
    distinct, inverse = each_once(as_items(values))
    graphs: list[Graph] = []
    for place, item in enumerate(distinct):
        number = inverse.index(place)
        weights = "area" if node_weights == "area" else None
        graph = Entry(number, item).once(None, partial(as_graph, fields=fields, node_weights=weights))
        wanted = n_features if n_features is not None else graphs[0].n_features if graphs else graph.n_features
        if graph.n_features != wanted:
            title = f"Graph {number}" + (f" ({graph.name})" if graph.name else "")
            saw = "fit saw" if n_features is not None else "graph 0 has"
            error = InputError(f"has {graph.n_features} features per node, but {saw} {wanted}.")
            raise error.of_item(number, title, continues=True)
        graphs.append(graph)
    if not graphs and n_features is None:
        raise InputError("There are no graphs to fit; at least one is needed.")
    return [graphs[place] for place in inverse]


def feature_scale(graphs: Sequence[Graph], scale: Any) -> NDArray[np.float64]:
    """Return what features are divided by, shape (d,).

    Parameters
    ----------
    graphs : sequence of Graph
    scale : bool or array-like of shape (d,)
        True takes the standard deviation of each feature over all nodes; one where it is constant.

    Examples
    --------
    >>> feature_scale([Graph([[0.0, 1.0], [4.0, 1.0]], [])], True)
    array([2., 1.])
    """
    if scale is not True:
        return given_scale(scale, graphs[0].n_features)
    nodes = np.concatenate([graph.features for graph in graphs])
    spread = nodes.std(axis=0)
    return np.where(spread <= 1e-12 * np.abs(nodes).max(axis=0), 1.0, spread)


def masses(graph: Graph, node_weights: str | None = None) -> NDArray[np.float64]:
    """Return the mass of every node, shape (n,), with sum one.

    Equal masses, unless the graph carries weights and ``node_weights`` is not "uniform".
    """
    if graph.node_weights is None or node_weights == "uniform":
        return np.full(graph.n_nodes, 1 / graph.n_nodes)
    return graph.node_weights / graph.node_weights.sum()


def pair_matrix(
    function: Callable[[Any, Any], float],
    first: Sequence[Any],
    second: Sequence[Any] | None = None,
    *,
    diagonal: bool = True,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Evaluate a symmetric function of two things on all pairs, in parallel.

    Parameters
    ----------
    function : callable
        Symmetric up to rounding; it must be a function of a module, for other processes to find it.
    first : sequence of length N
    second : sequence of length M, optional
        By default ``first`` again: then every pair is evaluated once.
    diagonal : bool
        Whether to evaluate things with themselves; otherwise the diagonal is zero. Only without ``second``.
    n_jobs : int, optional
        Processes, by joblib's rules.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of pairs.

    Returns
    -------
    ndarray of shape (N, N), exactly symmetric, or (N, M)

    Examples
    --------
    >>> pair_matrix(max, [1.0, 2.0])
    array([[1., 2.],
           [2., 2.]])
    """
    n, m = len(first), len(first) if second is None else len(second)
    matrix = np.zeros((n, m))
    starts = range(0, n, _BLOCK)
    corners = [(i, j) for i in starts for j in range(0 if second is not None else i, m, _BLOCK)]
    others = first if second is None else second
    tasks = (
        delayed(_block)(function, first[i : i + _BLOCK], others[j : j + _BLOCK], second is None and i == j, diagonal)
        for i, j in corners
    )
    total = n * m if second is not None else n * (n - 1) // 2 + n * diagonal
    done = 0
    blocks = Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)(tasks)
    for (i, j), (block, count) in zip(corners, blocks, strict=True):
        matrix[i : i + block.shape[0], j : j + block.shape[1]] = block
        if second is None:
            matrix[j : j + block.shape[1], i : i + block.shape[0]] = block.T
        done += count
        if progress is not None:
            progress(done, total)
    return matrix


def _block(
    function: Callable[[Any, Any], float], first: Sequence[Any], second: Sequence[Any], same: bool, diagonal: bool
) -> tuple[NDArray[np.float64], int]:
    """Return the values of one block of pairs, and how many there were to evaluate."""
    block = np.zeros((len(first), len(second)))
    count = 0
    for i, one in enumerate(first):
        for j in range(i + (not diagonal) if same else 0, len(second)):
            block[i, j] = function(one, second[j])
            count += 1
            if same:
                block[j, i] = block[i, j]
    return block, count


class Baseline(Factor):
    """A factor that compares graphs pair by pair; subclasses say how.

    They define ``prepare(graph)``, what is kept of a graph, made of arrays, tuples and lists so that model files can
    hold it, and ``distances(first, second)``. All have the parameters ``column``, ``scale``, ``fields`` and
    ``n_jobs`` (processes, where :class:`swwl.SWWL` has threads), and an exponent of the distance, which is called
    ``alpha`` unless ``exponent_name`` says otherwise.

    Attributes
    ----------
    n_node_features_ : int
    scale_ : ndarray of shape (d,)
    """

    takes = "graphs"
    scale: Any
    fields: Sequence[str]
    node_weights: str | None = None
    n_jobs: int | None
    exponent_name = "alpha"
    n_node_features_: Annotated[int, Meta(ge=0), Size("d")]
    scale_: Annotated[NDArray[np.float64], Shape("d")]
    _progress: Progress | None = None

    def fit(self, values: Any, progress: Progress | None = None, *, y: object = None, **options: Any) -> list[Any]:
        """Learn the scale and, where the factor is supervised, from the classes; return what is kept of the graphs.

        Parameters
        ----------
        values : iterable of N graphs
        progress : callable, optional
            Called as ``progress(done, total)``, also by the next call of :meth:`items`, with numbers of pairs.
        y : array-like of shape (N,), optional
            Classes; only supervised factors use them.
        **options
            ``memory`` is taken, but not used: what takes time is pairs of graphs.
        """
        self._check()
        with located(f"Column {self.column!r}"):
            graphs = load_graphs(values, None, self.fields, self.node_weights)
            self.n_node_features_ = graphs[0].n_features
            self.scale_ = feature_scale(graphs, self.scale)
            self._learn(graphs, y, progress)
            return self._prepared(graphs, progress)

    def represent(self, values: Any, progress: Progress | None = None, **options: Any) -> list[Any]:
        """Return what is kept of other graphs."""
        with located(f"Column {self.column!r}"):
            graphs = load_graphs(values, self.n_node_features_, self.fields, self.node_weights)
            return self._prepared(graphs, progress)

    def items(self, first: list[Any], second: list[Any] | None = None) -> list[Item]:
        """Return the distances, (N, M); pairs of graphs that stand in several rows are compared once."""
        own, rows = each_once(first)
        if second is None:
            return [self.distances(own)[np.ix_(rows, rows)] if len(own) < len(first) else self.distances(own)]
        other, columns = each_once(second)
        return [self.distances(own, other)[np.ix_(rows, columns)]]

    def correlations(self) -> list[CorrelationName]:
        r"""Return :math:`e^{-(\beta d)^\alpha}`."""
        exponent = getattr(self, self.exponent_name)
        return ["gaussian" if exponent == 2 else ("power", float(exponent))]

    def prepare(self, graph: Graph) -> Any:
        """Return what is kept of a graph, its features scaled."""
        raise TypeError(f"{type(self).__name__} must define prepare.")

    def distances(self, first: list[Any], second: list[Any] | None = None) -> NDArray[np.float64]:
        """Return the distances between graphs, (N, M)."""
        raise TypeError(f"{type(self).__name__} must define distances.")

    def check_restored(self, rows: Any) -> None:
        """Refuse options that no fit leaves."""
        self._check()
        super().check_restored(rows)

    def _learn(self, graphs: list[Graph], y: object, progress: Progress | None) -> None:
        """Learn more than the scale; most baselines have nothing to learn."""

    def _prepared(self, graphs: list[Graph], progress: Progress | None) -> list[Any]:
        # Pairs take the time, not graphs: progress is told by items, which is called next.
        self._progress = progress
        distinct, inverse = each_once(graphs)
        kept = self._prepare_all([rescaled(graph, self.scale_) for graph in distinct])
        return [kept[place] for place in inverse]

    def _prepare_all(self, graphs: list[Graph]) -> list[Any]:
        return [self.prepare(graph) for graph in graphs]

    def _check(self) -> None:
        check_options(self.get_params(deep=False))
        check_exponent(getattr(self, self.exponent_name), name=self.exponent_name)


def rescaled(graph: Graph, scale: NDArray[np.float64]) -> Graph:
    """Return the graph with its features divided by ``scale``, shape (d,)."""
    if (scale == 1).all():
        return graph
    return Graph(graph.features / scale, graph.edges, graph.weights, graph.node_weights, name=graph.name)


class GramBaseline(Baseline):
    r"""A positive definite kernel of its own, with the distance that it induces.

    .. math:: d(G, G')^2 = k(G, G) + k(G', G') - 2 k(G, G'),

    :math:`2 - 2k` where the kernel is normalized to :math:`k(G, G) = 1`. Subclasses define ``prepare`` and
    ``raw_gram``, and have the parameter ``normalize`` too. :class:`swwl.GraphSVC` uses the Gram matrix itself.
    """

    gives = "gram"
    normalize: bool

    def raw_gram(
        self, first: list[Any], second: list[Any] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the kernel, (N, M), and the self-similarities of both sides, (N,) and (M,)."""
        raise TypeError(f"{type(self).__name__} must define raw_gram.")

    def gram(self, first: list[Any], second: list[Any] | None = None) -> NDArray[np.float64]:
        """Return the kernel matrix, (N, M), with a diagonal of ones if it is to be normalized."""
        return self._gram(first, second)[0]

    def distances(self, first: list[Any], second: list[Any] | None = None) -> NDArray[np.float64]:
        """Return the distances that the kernel induces, (N, M)."""
        matrix, left, right = self._gram(first, second)
        squared = left[:, None] + right - 2 * matrix
        if second is None:
            np.fill_diagonal(squared, 0.0)
        return np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared)

    def _gram(
        self, first: list[Any], second: list[Any] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        matrix, left, right = self.raw_gram(first, second)
        if not self.normalize:
            return matrix, left, right
        for side in (left, right):
            bad = np.flatnonzero(side <= 0)
            if bad.size:
                raise InputError(
                    f"Graph {bad[0]} has a self-similarity of {side[bad[0]]:g} under {type(self).__name__}, so the "
                    f"kernel cannot be normalized; drop that graph, or pass normalize=False."
                )
        # Each side by itself, so that entries do not depend on the rounding of a product of both.
        matrix = matrix / np.sqrt(left)[:, None] / np.sqrt(right)
        if second is None:
            matrix = 0.5 * (matrix + matrix.T)
            np.fill_diagonal(matrix, 1.0)
        return matrix, np.ones(len(left)), np.ones(len(right))


def plain_matrix(
    factor: Baseline, graphs: Any, others: Any, progress: Progress | None, y: object = None
) -> NDArray[np.float64]:
    """Return what a factor gives, Gram matrix or distances, fitted on ``others`` (on ``graphs`` without them)."""
    train = factor.fit(graphs if others is None else others, progress, y=y)
    build = factor.gram if isinstance(factor, GramBaseline) else factor.distances
    return build(train) if others is None else build(factor.represent(graphs, progress), train)


def for_grakel(
    features: NDArray[np.float64], edges: NDArray[np.int32], weights: NDArray[np.float64] | None = None
) -> list[Any]:
    """Return a graph as GraKeL takes it: a dense adjacency and a dictionary of attributes.

    Examples
    --------
    >>> for_grakel(np.array([[1.5], [2.5]]), np.array([[0, 1]]))[0]
    array([[0., 1.],
           [1., 0.]])
    """
    n = len(features)
    adjacency = np.zeros((n, n))
    for u, v in (edges.T, edges.T[::-1]):
        adjacency[u, v] = 1.0 if weights is None else weights
    return [adjacency, dict(enumerate(features))]
