"""What kernels take: node features, undirected edges and, if requested, weights. Checked once, then trusted.

``mesh.py`` and ``io/`` make graphs of meshes, files and foreign objects; ``embedding/`` takes them from there.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from swwl.errors import InputError, InputTypeError, LooseNodesWarning
from swwl.mesh.adjacency import cells_adjacency
from swwl.mesh.arrays import (
    AnyArray,
    Frozen,
    check_features,
    check_field,
    check_node_weights,
    counted,
    own_numbers,
    refuse_masked,
    refuse_non_finite,
)
from swwl.mesh.cells import Cells, CellsLike, collect_cells, lumped_measures, used_nodes


class Graph(Frozen):
    r"""An undirected graph with continuous node features; neither it nor its arrays can be changed.

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

    features: NDArray[np.float64]
    adjacency: sparse.csr_array
    node_weights: NDArray[np.float64] | None
    weighted: bool
    name: str | None

    def __init__(
        self,
        features: ArrayLike,
        edges: ArrayLike,
        weights: ArrayLike | None = None,
        node_weights: ArrayLike | None = None,
        *,
        name: str | None = None,
    ):
        checked = check_features(features)
        pairs = _check_edges(edges, len(checked))
        adjacency = _adjacency(pairs, len(checked), _check_weights(weights, len(pairs)))
        masses = check_node_weights(node_weights, len(checked))
        self._fill(checked, adjacency, weights is not None, masses, name)

    def _fill(
        self,
        features: NDArray[np.float64],
        adjacency: sparse.csr_array,
        weighted: bool,
        node_weights: NDArray[np.float64] | None,
        name: str | None,
    ) -> None:
        for array in (features, adjacency.data, adjacency.indices, adjacency.indptr, node_weights):
            if array is not None:
                array.setflags(write=False)
        self._set(features=features, adjacency=adjacency, weighted=weighted, node_weights=node_weights, name=name)

    @classmethod
    def trusted(cls, *parts: Any) -> Graph:
        """Make a graph of parts that have been checked; see :func:`trusted_graph`."""
        graph = cls.__new__(cls)
        cls._fill(graph, *parts)
        return graph

    @classmethod
    def from_cells(
        cls,
        points: ArrayLike,
        cells: CellsLike,
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
        cells : array-like of shape (m, k), dict of such arrays by type, or list of (type, array)
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
        Nodes that no cell uses are left out, with a warning: they do not belong to the shape.

        Examples
        --------
        >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
        >>> Graph.from_cells(square, [[0, 1, 2], [0, 2, 3]])
        Graph(4 nodes, 5 edges, 2 features)
        >>> Graph.from_cells(square, [[0, 1, 2, 3]], fields={"T": [20, 20, 30, 30]}, node_weights="area")
        Graph(4 nodes, 4 edges, 3 features, node weights)
        """
        checked = check_features(points, "Point coordinates")
        chosen = {key: check_field(key, field, len(checked)) for key, field in (fields or {}).items()}
        return graph_of_cells(checked, collect_cells(cells, *checked.shape), chosen, node_weights, name)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, n."""
        return len(self.features)

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.adjacency.nnz) // 2

    @property
    def n_features(self) -> int:
        """Number of features per node, d."""
        return int(self.features.shape[1])

    @property
    def edges(self) -> NDArray[np.int32]:
        """The edges as (m, 2) node pairs, smaller number first, sorted."""
        rows, columns = self._positions()
        upper = rows < columns
        return np.column_stack([rows[upper], columns[upper]])

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weight of each of :attr:`edges`, shape (m,), or None."""
        if not self.weighted:
            return None
        rows, columns = self._positions()
        weights: NDArray[np.float64] = self.adjacency.data[rows < columns]
        return weights

    def _positions(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the row and the column of every stored entry; a weight of zero is an edge all the same."""
        neighbors = np.diff(self.adjacency.indptr)
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), neighbors), self.adjacency.indices

    def same_topology(self, other: Graph) -> bool:
        """Whether both graphs join the same node numbers with the same weights."""
        mine, theirs = self.adjacency, other.adjacency
        if mine is theirs:
            return True
        return bool(
            mine.shape == theirs.shape
            and mine.nnz == theirs.nnz
            and self.weighted == other.weighted
            and np.array_equal(mine.indptr, theirs.indptr)
            and np.array_equal(mine.indices, theirs.indices)
            and (not self.weighted or np.array_equal(mine.data, theirs.data))
        )

    def sharing_topology(self, other: Graph) -> Graph:
        """Return the same graph with the adjacency of another, if it is equal, so that memory holds it once."""
        if not self.same_topology(other):
            return self
        return trusted_graph(self.features, other.adjacency, self.weighted, self.node_weights, self.name)

    def with_features(self, features: ArrayLike) -> Graph:
        """Return a graph with the same edges, weights and name, but other features, (n, d).

        Examples
        --------
        >>> bar = Graph([[0.0], [1.0]], [(0, 1)])
        >>> bar.with_features([[0.0, 1.0], [1.0, 1.0]])
        Graph(2 nodes, 1 edge, 2 features)
        """
        checked = check_features(features)
        if len(checked) != self.n_nodes:
            raise InputError(f"There are features for {len(checked)} nodes, but the graph has {self.n_nodes}.")
        return trusted_graph(checked, self.adjacency, self.weighted, self.node_weights, self.name)

    def parts(self) -> list[AnyArray | None]:
        """Return all that makes the graph what it is, for :func:`swwl.storage.memory.fingerprint`."""
        return [self.features, self.edges, self.weights, self.node_weights]

    def __reduce__(self) -> tuple[Any, ...]:
        return trusted_graph, (self.features, self.adjacency, self.weighted, self.node_weights, self.name)

    def __repr__(self) -> str:
        parts = [counted(self.n_nodes, "node"), counted(self.n_edges, "edge"), counted(self.n_features, "feature")]
        parts += ["edge weights"] * self.weighted + ["node weights"] * (self.node_weights is not None)
        return f"Graph({self.name + ': ' if self.name else ''}{', '.join(parts)})"


def trusted_graph(
    features: NDArray[np.float64],
    adjacency: sparse.csr_array,
    weighted: bool = False,
    node_weights: NDArray[np.float64] | None = None,
    name: str | None = None,
) -> Graph:
    """Make a graph of parts that have been checked, without a look at them and without a copy; they are frozen."""
    return Graph.trusted(features, adjacency, weighted, node_weights, name)


def graph_of_cells(
    points: NDArray[np.float64],
    cells: Cells,
    fields: Mapping[str, AnyArray],
    node_weights: ArrayLike | str | None = None,
    name: str | None = None,
) -> Graph:
    """Make the graph of checked points (n, d), cells and fields; without fields, points are not copied.

    Nodes that no cell uses are left out.
    """
    cells = {kind: block for kind, block in cells.items() if kind != "vertex"}
    adjacency = cells_adjacency(cells, len(points))
    if isinstance(node_weights, str):
        if node_weights != "area":
            raise InputError(f'node_weights must be an array or "area", not {node_weights!r}.')
        node_weights = _areas(points, cells)
    masses = check_node_weights(node_weights, len(points))
    # A node without neighbors shows at once; that no cell uses it takes a closer look.
    alone = not np.diff(adjacency.indptr).all()
    used = used_nodes(cells, len(points)) if alone else None
    if used is not None and not used.all():
        _warn_of_loose_nodes(len(used) - int(used.sum()), name)
        points, adjacency = points[used], adjacency[used][:, used]
        masses = None if masses is None else check_node_weights(masses[used], len(points))
        fields = {key: field[used] for key, field in fields.items()}
    columns = [points]
    for key, field in fields.items():
        column = np.asarray(field, np.float64).reshape(len(points), -1)
        refuse_non_finite(column, f"Field {key!r}")
        columns.append(column)
    features = np.column_stack(columns) if fields else points
    return trusted_graph(features, adjacency, node_weights=masses, name=name)


def _warn_of_loose_nodes(number: int, name: str | None) -> None:
    what = "1 node belongs to no cell and is" if number == 1 else f"{number} nodes belong to no cell and are"
    warnings.warn(f"{name or 'A mesh'}: {what} left out.", LooseNodesWarning, stacklevel=4)


def _areas(points: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
    if points.shape[1] > 3:
        raise InputError(f'node_weights="area" needs points of 1 to 3 coordinates, but they have {points.shape[1]}.')
    areas = lumped_measures(points, cells)
    if not areas.any():
        raise InputError('node_weights="area" needs cells of non-zero length, area or volume.')
    return areas


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
    adjacency = sparse.csr_array(arrays, shape=(nodes[-1], nodes[-1]))
    return trusted_graph(np.concatenate([graph.features for graph in graphs]), adjacency, graphs[0].weighted)


def _check_edges(edges: ArrayLike, n_nodes: int) -> NDArray[np.int32]:
    """Return (m, 2) 32-bit integers, or name the edge that is wrong."""
    refuse_masked(edges, "Edges")
    try:
        pairs = np.asarray(edges)
    except ValueError as error:  # rows of several lengths
        raise InputError(f"Edges must be an (m, 2) array of node numbers: {error}.") from None
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
    array = own_numbers(weights, f"Edge weights must be an array of shape ({n_edges},)")
    if array.shape != (n_edges,):
        raise InputError(f"Edge weights must have shape ({n_edges},), one per edge, but have {array.shape}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(f"Edge weights must be finite, but edge {bad[0]} has {array[bad[0]]}.")
    return array


def _adjacency(pairs: NDArray[np.int32], n_nodes: int, weights: NDArray[np.float64] | None) -> sparse.csr_array:
    """Build the symmetric adjacency; scipy sums what is given twice, so weights are divided by how often."""
    proper = pairs[:, 0] != pairs[:, 1]
    if not proper.all():
        pairs = pairs[proper]
        weights = weights if weights is None else weights[proper]
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T

    def summed(values: AnyArray) -> sparse.csr_array:
        both = np.concatenate([values, values])
        matrix = sparse.coo_array((both, (rows, columns)), shape=(n_nodes, n_nodes)).tocsr()
        matrix.sum_duplicates()
        return matrix

    # float32 counts are exact here (nobody repeats an edge 2^24 times) and halve the traffic of every product.
    adjacency = summed(np.ones(len(pairs), np.float32))
    if weights is not None:
        counts = adjacency.data
        adjacency = summed(weights)
        adjacency.data /= counts
    else:
        adjacency.data[:] = 1
    return adjacency
