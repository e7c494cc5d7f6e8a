"""A mesh or a graph in a few dozen plain numbers: where its nodes lie, how many there are, how large it is.

What ridge regression on statistics of the nodes would see; models have them beside the embeddings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.cells import cut_into_simplices, used_nodes
from swwl.mesh.graph import Graph
from swwl.mesh.mesh import Mesh
from swwl.mesh.sampling import simplex_sizes
from swwl.mesh.skin import Skin, extent, skin

_Floats = NDArray[np.float64]

_STATISTICS = ("mean", "deviation", "minimum", "maximum")


def summaries(item: Mesh | Graph, found: Skin | None = None) -> _Floats:
    r"""Summarize a mesh or a graph by :math:`8 d + 4` or :math:`5 d + 5` numbers; :func:`summary_names` names them.

    Parameters
    ----------
    item : Mesh or Graph
    found : Skin, optional
        Of the mesh, where it is known.

    Returns
    -------
    ndarray
        Of a mesh in d dimensions: mean, standard deviation, minimum and maximum of the nodes along each axis;
        logarithms of the numbers of nodes, cells and nodes on the skin, and of the length, area or volume; mean and
        deviation along each axis of the cells, by size, and of the skin, by size within each connected part. A mesh
        without a skin, such as lines in space, has its cells in place of it.

        Of a graph with d features: mean, standard deviation, minimum and maximum of each; logarithms of the numbers
        of nodes and edges; edges per node; mean and deviation of the distances, in the space of the features, between
        the ends of the edges; mean absolute difference of each feature along the edges.

    Examples
    --------
    >>> square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    >>> dict(zip(summary_names(square), summaries(square).round(3).tolist(), strict=True))["deviation of skin, axis 0"]
    0.408
    """
    return _of_mesh(item, found) if isinstance(item, Mesh) else _of_graph(item)


def summary_names(item: Mesh | Graph) -> list[str]:
    """Name the numbers of :func:`summaries`, in their order.

    Examples
    --------
    >>> rod = Graph([[0.0], [1.0]], [(0, 1)])
    >>> summary_names(rod)[:5]
    ['mean of feature 0', 'deviation of feature 0', 'minimum of feature 0', 'maximum of feature 0', 'log nodes']
    """
    if isinstance(item, Mesh):
        axes = range(item.dimension)
        names = [f"{statistic} of nodes, axis {k}" for statistic in _STATISTICS for k in axes]
        names += ["log nodes", "log cells", "log skin nodes", "log size"]
        return names + [f"{s} of {what}, axis {k}" for what in ("cells", "skin") for s in _STATISTICS[:2] for k in axes]
    features = range(item.n_features)
    names = [f"{statistic} of feature {k}" for statistic in _STATISTICS for k in features]
    names += ["log nodes", "log edges", "edges per node", "mean of edge lengths", "deviation of edge lengths"]
    return names + [f"mean difference of feature {k} along edges" for k in features]


def _of_mesh(mesh: Mesh, found: Skin | None) -> _Floats:
    used = used_nodes(mesh.cells, mesh.n_nodes)
    points = np.asfortranarray(mesh.points)
    scale = extent(points)
    simplices = cut_into_simplices(mesh.cells)
    sizes = simplex_sizes(points / scale, simplices) if mesh.dimension <= 3 else np.zeros(len(simplices))
    if not sizes.any():
        raise InputError("The mesh has no cells with a length, an area or a volume.")
    log_size = np.log(sizes.sum()) + (simplices.shape[1] - 1) * np.log(scale)
    cells = _moments(points, simplices, sizes)
    try:
        found = found or skin(mesh)
    except InputError:  # lines in space
        pieces, around = simplices, cells
    else:
        pieces, around = found.pieces, _moments(points, found.pieces, found.masses)
    touched = np.zeros(mesh.n_nodes, bool)
    touched[pieces] = True
    counts = np.log([used.sum(), mesh.n_cells, int(touched.sum())])
    nodes = _statistics(points if used.all() else points[used])
    parts = [_settled(nodes, scale), counts, np.array([log_size]), _settled(cells, scale), _settled(around, scale)]
    return np.concatenate(parts)


def _settled(values: _Floats, scale: float) -> _Floats:
    """Return lengths without the rounding of those that are zero, such as the center of a symmetric mesh."""
    return np.where(np.abs(values) < 1e-12 * scale, 0.0, values)


def _of_graph(graph: Graph) -> _Floats:
    along = np.zeros((1, graph.n_features))
    if graph.n_edges:
        first, second = graph.edges.T
        along = np.abs(graph.features[first] - graph.features[second])
    lengths = np.sqrt((along**2).sum(axis=1))
    counts = [np.log(graph.n_nodes), np.log(max(1, graph.n_edges)), graph.n_edges / graph.n_nodes]
    edges = [*counts, lengths.mean(), lengths.std()]
    return np.concatenate([_statistics(graph.features), edges, along.mean(axis=0)])


def _statistics(values: _Floats) -> _Floats:
    return np.concatenate([values.mean(axis=0), values.std(axis=0), values.min(axis=0), values.max(axis=0)])


def _moments(points: _Floats, simplices: NDArray[np.int32], masses: _Floats) -> _Floats:
    """Return mean and standard deviation along each axis of masses that lie evenly on simplices, (2 d,)."""
    nodes = np.ascontiguousarray(simplices.T)
    n = len(nodes)
    shares = masses / masses.sum()
    rows = []
    for row in points.T:
        corners = row.take(nodes)
        mean = shares @ corners.mean(axis=0)
        corners = corners - mean
        # The mean square over a simplex: of the products of all pairs of corners, those with themselves twice.
        squares = ((corners**2).sum(axis=0) + corners.sum(axis=0) ** 2) / (n * (n + 1))
        rows.append((mean, np.sqrt(shares @ squares)))
    return np.array(rows).T.ravel()
