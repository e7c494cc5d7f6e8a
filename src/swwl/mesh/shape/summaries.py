"""Plain numbers about a mesh or a graph, how they are called, and how they change with its nodes or features.

:func:`summaries` of one mesh is a row of ``embedding/summaries.py``; :func:`summaries_back` is its transposed
derivative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.cells import cut_into_simplices, used_nodes
from swwl.mesh.graph import Graph
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.adjoints import shared_by_place, simplex_sizes_back, skin_back
from swwl.mesh.shape.sampling import simplex_sizes
from swwl.mesh.shape.skin import Skin, extent, skin

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


def summaries_back(item: Mesh | Graph, gradient: _Floats, found: Skin | None = None) -> _Floats:
    """Return the gradient in the nodes of what is made of :func:`swwl.mesh.shape.summaries.summaries`.

    Numbers of nodes, cells and edges do not change when nodes move.

    Parameters
    ----------
    item : Mesh or Graph
    gradient : ndarray of shape (K, m)
        In the summaries, of m functions.
    found : Skin, optional
        Of the mesh, where it is known.

    Returns
    -------
    ndarray of shape (n, d, m)
        In the points of a mesh, or the features of a graph.

    Examples
    --------
    >>> rod = Mesh([[0.0], [2.0]], [[0, 1]])
    >>> in_mean = np.eye(12, 1)
    >>> summaries_back(rod, in_mean).tolist()
    [[[0.5]], [[0.5]]]
    """
    if isinstance(item, Mesh):
        return _pulled_to_mesh(item, gradient, found)
    return np.stack([_pulled_to_graph(item, column) for column in gradient.T], axis=2)


def _pulled_to_mesh(mesh: Mesh, gradient: _Floats, found: Skin | None) -> _Floats:
    d, points, m = mesh.dimension, np.asfortranarray(mesh.points), gradient.shape[1]
    used = used_nodes(mesh.cells, mesh.n_nodes)
    in_nodes = gradient[: 4 * d].reshape(4, d, m)
    if used.all():
        total = _statistics_back(points, in_nodes)
    else:
        total = np.zeros((m, d, mesh.n_nodes)).T
        total[used] = _statistics_back(points[used], in_nodes)
    in_size, in_cells, in_skin = gradient[4 * d + 3], gradient[4 * d + 4 : 6 * d + 4], gradient[6 * d + 4 :]
    simplices = cut_into_simplices(mesh.cells)
    try:
        found = found or skin(mesh)
    except InputError:  # lines in space have their cells in place of a skin
        in_cells = in_cells + in_skin
    else:
        moved, in_masses = _moments_back(points, found.pieces, found.masses, in_skin.reshape(2, d, m))
        total += shared_by_place(mesh, moved + skin_back(points, found, in_masses))
    sizes = simplex_sizes(points, simplices)
    moved, in_masses = _moments_back(points, simplices, sizes, in_cells.reshape(2, d, m))
    total += moved
    total += simplex_sizes_back(points, simplices, in_masses + in_size / sizes.sum())
    return total


def _statistics_back(values: _Floats, gradient: _Floats) -> _Floats:
    """Return the gradients (n, d, m) of means, deviations, minima and maxima, given those in them, (4, d, m)."""
    n, d = values.shape
    total = np.empty((gradient.shape[2], d, n))
    for axis, row in enumerate(np.ascontiguousarray(values.T)):
        in_mean, in_deviation, in_low, in_high = gradient[:, axis]
        about = row - row.mean()
        spread = np.sqrt(about @ about / n)
        slope = in_deviation / (n * (spread if spread > 0 else 1.0))
        total[:, axis] = slope[:, None] * about + in_mean[:, None] / n
        total[:, axis, row.argmin()] += in_low
        total[:, axis, row.argmax()] += in_high
    return total.T


def _moments_back(
    points: _Floats, simplices: NDArray[np.int32], masses: _Floats, gradient: _Floats
) -> tuple[_Floats, _Floats]:
    """Return gradients in points (n, d, m) and masses (M, m) of means and deviations of masses that lie on simplices.

    The gradient in these is (2, d, m).
    """
    n, d = points.shape
    k = simplices.shape[1]
    whole = masses.sum()
    shares = masses / whole
    nodes = simplices.T.astype(np.intp, order="C")
    around = np.bincount(nodes.ravel(), np.tile(shares, k), n) / k
    total, in_shares = np.empty((gradient.shape[2], d, n)), np.zeros((gradient.shape[2], len(simplices)))
    for axis in range(d):
        in_mean, in_deviation = gradient[:, axis, :, None]
        corners = points[:, axis].take(nodes)  # (k, M): long rows are fast
        centers = corners.mean(axis=0)
        mean = shares @ centers
        corners -= mean
        sums = k * (centers - mean)
        squares = ((corners**2).sum(axis=0) + sums**2) / (k * (k + 1))
        deviation = np.sqrt(shares @ squares)
        in_variance = in_deviation / (2 * deviation) if deviation > 0 else np.zeros_like(in_deviation)
        corners += sums
        corners *= shares
        moved = np.bincount(nodes.ravel(), corners.ravel(), n) * (2 / (k * (k + 1)))
        total[:, axis] = in_mean * around + in_variance * moved
        in_shares += in_mean * centers
        in_shares += in_variance * squares
    in_shares -= (in_shares @ shares)[:, None]
    in_shares /= whole
    return total.T, in_shares.T


def _pulled_to_graph(graph: Graph, gradient: _Floats) -> _Floats:
    d = graph.n_features
    total = _statistics_back(graph.features, gradient[: 4 * d].reshape(4, d, 1))[:, :, 0]
    in_mean, in_deviation = gradient[4 * d + 3 : 4 * d + 5]
    in_along = gradient[4 * d + 5 :]
    if not graph.n_edges:
        return total
    first, second = graph.edges.T
    apart = graph.features[first] - graph.features[second]
    lengths = np.linalg.norm(apart, axis=1)
    m, spread = len(lengths), lengths.std()
    in_lengths = in_mean / m + (in_deviation * (lengths - lengths.mean()) / (m * spread) if spread > 0 else 0.0)
    pull = apart * (in_lengths / np.where(lengths > 0, lengths, 1.0))[:, None] + np.sign(apart) * in_along / m
    for axis in range(d):
        total[:, axis] += np.bincount(first, pull[:, axis], graph.n_nodes)
        total[:, axis] -= np.bincount(second, pull[:, axis], graph.n_nodes)
    return total
