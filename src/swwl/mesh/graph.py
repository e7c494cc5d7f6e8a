"""The one input type: node features, undirected edges and, if wanted, weights. Checked once, then trusted.

``io/`` makes graphs of files and foreign objects; ``wl.py`` takes them from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from swwl.errors import InputError, InputTypeError
from swwl.mesh.cells import cell_edges, check_cells, guess_cell_type, lumped_measures


class Graph:
    r"""An undirected graph with continuous node features; read-only.

    Self loops are dropped. An edge given several times, in either direction, is one edge; if its weights
    differ it gets their mean.

    Parameters
    ----------
    features : array-like of shape (n, d)
        Node features :math:`\mathbf F`; for a mesh, usually the coordinates. Finite.
    edges : array-like of shape (m, 2)
        Pairs of node numbers from 0 to n - 1.
    weights : array-like of shape (m,), optional
        Edge weights :math:`w`; 1 by default.
    node_weights : array-like of shape (n,), optional
        Mass of each node in the graph's measure: non-negative, not all zero, on any scale.
        By default every node weighs the same, as in the paper.
    name : str, optional
        What to call the graph in messages, such as its file name.

    Attributes
    ----------
    features : ndarray of shape (n, d), float64
    adjacency : scipy.sparse.csr_array of shape (n, n)
        Symmetric, 32-bit indices, zero diagonal, sorted columns.
    node_weights : ndarray of shape (n,), float64, or None
    weighted : bool
        Whether edge weights were given.
    name : str or None

    Examples
    --------
    >>> path = Graph([[0.0], [1.0], [3.0]], [(0, 1), (1, 2), (2, 1)])
    >>> path
    Graph(3 nodes, 2 edges, 1 feature)
    >>> path.edges.tolist()
    [[0, 1], [1, 2]]
    """

    __slots__ = ("adjacency", "features", "name", "node_weights", "weighted")

    def __init__(
        self,
        features: ArrayLike,
        edges: ArrayLike,
        weights: ArrayLike | None = None,
        node_weights: ArrayLike | None = None,
        *,
        name: str | None = None,
    ):
        self.features = _check_features(features)
        pairs = _check_edges(edges, self.n_nodes)
        self.weighted = weights is not None
        self.adjacency = _adjacency(pairs, self.n_nodes, _check_weights(weights, len(pairs)))
        self.node_weights = _check_node_weights(node_weights, self.n_nodes)
        self.name = name
        for array in (self.features, self.adjacency.data, self.adjacency.indices, self.adjacency.indptr):
            array.setflags(write=False)

    @classmethod
    def from_cells(
        cls,
        points: ArrayLike,
        cells: ArrayLike | Mapping[str, ArrayLike],
        *,
        fields: Mapping[str, ArrayLike] | None = None,
        node_weights: ArrayLike | str | None = None,
        name: str | None = None,
    ) -> Graph:
        """Make the graph of a mesh: nodes are joined where a cell has an edge.

        Parameters
        ----------
        points : array-like of shape (n, dimension)
            Node coordinates: the features.
        cells : array-like of shape (m, k), or dict of such arrays by type
            Connectivity. A plain array holds one type, told by k: 2 lines, 3 triangles, 4 quadrilaterals
            (points in the plane) or tetrahedra (points in space), 5 pyramids, 6 wedges, 8 hexahedra. A dictionary
            names meshio's types and may mix them, quadratic ones and polygons included: ``{"quad": …, "triangle": …}``.
        fields : dict of array-likes of shape (n,) or (n, k), optional
            Node fields to append to the coordinates, in the order given.
        node_weights : array-like of shape (n,) or "area", optional
            "area" gives each node its share of the lengths, areas or volumes around it, so that the measure
            follows the geometry and not the density of the mesh.
        name : str, optional

        Notes
        -----
        Nodes that no cell uses are kept, as isolated nodes.

        Examples
        --------
        >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
        >>> Graph.from_cells(square, [[0, 1, 2], [0, 2, 3]])
        Graph(4 nodes, 5 edges, 2 features)
        >>> Graph.from_cells(square, [[0, 1, 2, 3]], fields={"T": [20, 20, 30, 30]}, node_weights="area")
        Graph(4 nodes, 4 edges, 3 features, node weights)
        """
        points = _check_features(points, "Point coordinates")
        if not isinstance(cells, Mapping):
            array = np.asarray(cells)
            if array.ndim != 2:
                raise InputError(f"Cells must be an (m, k) array or a dict of them, not of shape {array.shape}.")
            cells = {guess_cell_type(array.shape[1], points.shape[1]): array}
        blocks = [(kind, check_cells(kind, block, len(points))) for kind, block in cells.items() if kind != "vertex"]
        return cls._from_blocks(points, blocks, fields=fields, node_weights=node_weights, name=name)

    @classmethod
    def _from_blocks(cls, points, blocks, *, fields=None, node_weights=None, name=None) -> Graph:
        """Make a graph of checked points and checked (type, cells) blocks; a type may come several times."""
        edges = [cell_edges(kind, block) for kind, block in blocks]
        pairs = np.concatenate(edges) if edges else np.empty((0, 2), np.int32)
        if isinstance(node_weights, str):
            if node_weights != "area":
                raise InputError(f'node_weights must be an array or "area", not {node_weights!r}.')
            node_weights = lumped_measures(points, blocks)
            if not node_weights.any():
                raise InputError('node_weights="area" needs cells of non-zero length, area or volume.')
        columns = [points, *(_check_field(key, field, len(points)) for key, field in (fields or {}).items())]
        return cls(np.column_stack(columns), pairs, node_weights=node_weights, name=name)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, n."""
        return len(self.features)

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return self.adjacency.nnz // 2

    @property
    def n_features(self) -> int:
        """Number of features per node, d."""
        return self.features.shape[1]

    @property
    def edges(self) -> NDArray[np.int32]:
        """The edges as (m, 2) node pairs, smaller number first, sorted."""
        rows, columns = self._positions()
        upper = rows < columns
        return np.column_stack([rows[upper], columns[upper]])

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weight of each of :attr:`edges`, shape (m,), or None."""
        rows, columns = self._positions()
        return self.adjacency.data[rows < columns] if self.weighted else None

    def _positions(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the row and the column of every stored entry; a weight of zero is an edge all the same."""
        neighbours = np.diff(self.adjacency.indptr)
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), neighbours), self.adjacency.indices

    def same_topology(self, other: Graph) -> bool:
        """Whether both graphs join the same node numbers with the same weights."""
        mine, theirs = self.adjacency, other.adjacency
        if mine is theirs:
            return True
        return (
            mine.shape == theirs.shape
            and mine.nnz == theirs.nnz
            and self.weighted == other.weighted
            and np.array_equal(mine.indptr, theirs.indptr)
            and np.array_equal(mine.indices, theirs.indices)
            and (not self.weighted or np.array_equal(mine.data, theirs.data))
        )

    def parts(self) -> list[NDArray | None]:
        """Return all that makes the graph what it is, for :func:`swwl.storage.fingerprint`."""
        return [self.features, self.edges, self.weights, self.node_weights]

    def __repr__(self) -> str:
        d = self.n_features
        parts = [f"{self.n_nodes} nodes", f"{self.n_edges} edges", f"{d} feature{'s' * (d != 1)}"]
        parts += ["edge weights"] * self.weighted + ["node weights"] * (self.node_weights is not None)
        return f"Graph({self.name + ': ' if self.name else ''}{', '.join(parts)})"


def unite(graphs: Sequence[Graph]) -> Graph:
    """Return one graph that holds the nodes of all, one graph after another, with no edge between them.

    Parameters
    ----------
    graphs : sequence of Graph
        With equally many features, and all or none with edge weights. Node weights are left out.

    Examples
    --------
    >>> pair = Graph([[0.0], [1.0]], [(0, 1)])
    >>> unite([pair, pair]).edges.tolist()
    [[0, 1], [2, 3]]
    """
    if len(graphs) == 1:
        return graphs[0]
    parts = [graph.adjacency for graph in graphs]
    nodes = np.cumsum([0, *(graph.n_nodes for graph in graphs)], dtype=np.int32)
    entries = np.cumsum([0, *(part.nnz for part in parts)], dtype=np.int32)
    pointers = [part.indptr[1:] + first for part, first in zip(parts, entries, strict=False)]
    columns = [part.indices + first for part, first in zip(parts, nodes, strict=False)]
    arrays = (
        np.concatenate([part.data for part in parts]),
        np.concatenate(columns),
        np.concatenate([entries[:1], *pointers]),
    )
    whole = Graph.__new__(Graph)  # all of it was checked
    whole.features = np.concatenate([graph.features for graph in graphs])
    whole.adjacency = sparse.csr_array(arrays, shape=(nodes[-1], nodes[-1]))
    whole.weighted, whole.node_weights, whole.name = graphs[0].weighted, None, None
    return whole


def _check_features(features: ArrayLike, what: str = "Features") -> NDArray[np.float64]:
    """Return a fresh (n, d) float64 array, or say what is wrong."""
    try:
        array = np.array(features, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be an (n, d) array of numbers: {error}.") from None
    if array.ndim == 1 and array.size:
        array = array[:, None]
    if array.size == 0 and (array.ndim != 2 or len(array) == 0):
        raise InputError("The graph has no nodes; at least one is needed.")
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"{what} must be an (n, d) array with d >= 1, but have shape {array.shape}.")
    _refuse_non_finite(array, what)
    return array


def _refuse_non_finite(array: NDArray[np.float64], what: str) -> None:
    # The sum is finite far more often than not, and costs a tenth of looking at every entry.
    if not np.isfinite(array.sum()):
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            place = tuple(bad[0])
            column = f", column {place[1]}" if array.ndim == 2 else ""
            raise InputError(f"{what} must be finite, but node {place[0]}{column} holds {array[place]}.")


def _check_field(name: str, field: ArrayLike, n_nodes: int) -> NDArray[np.float64]:
    values = np.asarray(field)
    if values.ndim not in (1, 2) or len(values) != n_nodes:
        raise InputError(f"Field {name!r} must have one row per node ({n_nodes}), but has shape {values.shape}.")
    return _check_features(values, f"Field {name!r}")


def _check_edges(edges: ArrayLike, n_nodes: int) -> NDArray[np.int32]:
    """Return (m, 2) 32-bit integers, or name the edge that is wrong."""
    pairs = np.asarray(edges)
    if pairs.size == 0:
        return np.empty((0, 2), np.int32)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"Edges must be an (m, 2) array of node numbers, but have shape {pairs.shape}.")
    if not np.issubdtype(pairs.dtype, np.integer):
        raise InputTypeError(f"Edges must be integers (node numbers), but are {pairs.dtype}.")
    if pairs.min() < 0 or pairs.max() >= n_nodes:
        bad = np.flatnonzero((pairs < 0).any(1) | (pairs >= n_nodes).any(1))[0]
        raise InputError(f"Edge {bad} joins nodes {pairs[bad].tolist()}, but nodes are numbered 0 to {n_nodes - 1}.")
    return pairs.astype(np.int32)


def _check_weights(weights: ArrayLike | None, n_edges: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    array = np.array(weights, dtype=np.float64)
    if array.shape != (n_edges,):
        raise InputError(f"Edge weights must have shape ({n_edges},), one per edge, but have {array.shape}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(f"Edge weights must be finite, but edge {bad[0]} has {array[bad[0]]}.")
    return array


def _check_node_weights(weights: ArrayLike | None, n_nodes: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    array = np.array(weights, dtype=np.float64)
    if array.shape != (n_nodes,):
        raise InputError(f"Node weights must have shape ({n_nodes},), one per node, but have {array.shape}.")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InputError(f"Node weights must be finite and not negative, but node {bad[0]} has {array[bad[0]]}.")
    if not array.any():
        raise InputError("Node weights are all zero; at least one node needs a positive weight.")
    array.setflags(write=False)
    return array


def _adjacency(pairs: NDArray[np.int32], n_nodes: int, weights: NDArray[np.float64] | None) -> sparse.csr_array:
    """Build the symmetric adjacency; scipy sums what is given twice, so weights are divided by how often."""
    proper = pairs[:, 0] != pairs[:, 1]
    if not proper.all():
        pairs = pairs[proper]
        weights = weights if weights is None else weights[proper]
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T

    def summed(values, dtype):
        both = np.ones(2 * len(pairs), dtype) if values is None else np.concatenate([values, values])
        matrix = sparse.coo_array((both, (rows, columns)), shape=(n_nodes, n_nodes)).tocsr()
        matrix.sum_duplicates()
        return matrix

    # float32 counts are exact here (nobody repeats an edge 2^24 times) and halve the traffic of every product.
    adjacency = summed(None, np.float32)
    if weights is not None:
        counts = adjacency.data
        adjacency = summed(weights, np.float64)
        adjacency.data /= counts
    else:
        adjacency.data[:] = 1
    return adjacency
