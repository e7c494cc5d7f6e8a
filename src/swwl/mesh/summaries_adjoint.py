"""How the plain numbers of ``summaries.py`` change with the nodes of a mesh or the features of a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.cells import cut_into_simplices, used_nodes
from swwl.mesh.graph import Graph
from swwl.mesh.mesh import Mesh
from swwl.mesh.sampling import simplex_sizes
from swwl.mesh.sampling_adjoint import shared_by_place, skin_back
from swwl.mesh.sizes_adjoint import simplex_sizes_back
from swwl.mesh.skin import Skin, skin

_Floats = NDArray[np.float64]


def summaries_back(item: Mesh | Graph, gradient: _Floats, found: Skin | None = None) -> _Floats:
    """Return the gradient in the nodes of what is made of :func:`swwl.mesh.summaries.summaries`.

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
        return _of_mesh(item, gradient, found)
    return np.stack([_of_graph(item, column) for column in gradient.T], axis=2)


def _of_mesh(mesh: Mesh, gradient: _Floats, found: Skin | None) -> _Floats:
    d, points, m = mesh.dimension, mesh.points, gradient.shape[1]
    total = np.zeros((*points.shape, m))
    used = used_nodes(mesh.cells, mesh.n_nodes)
    values = points[used]
    for j, column in enumerate(gradient[: 4 * d].T):
        total[used, :, j] = _statistics_back(values, column.reshape(4, d))
    in_size, in_cells, in_skin = gradient[4 * d + 3], gradient[4 * d + 4 : 6 * d + 4], gradient[6 * d + 4 :]
    simplices = cut_into_simplices(mesh.cells)
    try:
        found = found or skin(mesh)
    except InputError:  # lines in space have their cells in place of a skin
        in_cells = in_cells + in_skin
    else:
        moved, in_masses = _moments_back(points, found.pieces, found.masses, in_skin.reshape(2, d, m))
        for j in range(m):
            total[:, :, j] += shared_by_place(mesh, moved[:, :, j] + skin_back(points, found, in_masses[:, j]))
    sizes = simplex_sizes(points, simplices)
    moved, in_masses = _moments_back(points, simplices, sizes, in_cells.reshape(2, d, m))
    total += moved
    in_masses += in_size / sizes.sum()
    for j in range(m):
        total[:, :, j] += simplex_sizes_back(points, simplices, in_masses[:, j])
    return total


def _statistics_back(values: _Floats, gradient: _Floats) -> _Floats:
    """Return the gradient (n, d) of means, deviations, minima and maxima, given those in them, (4, d)."""
    n, d = values.shape
    mean, deviation, low, high = gradient
    spread = values.std(axis=0)
    total = mean / n + deviation * (values - values.mean(axis=0)) / (n * np.where(spread > 0, spread, 1.0))
    total[values.argmin(axis=0), np.arange(d)] += low
    total[values.argmax(axis=0), np.arange(d)] += high
    return total


def _moments_back(
    points: _Floats, simplices: NDArray[np.int32], masses: _Floats, gradient: _Floats
) -> tuple[_Floats, _Floats]:
    """Return gradients in points (n, d, m) and masses (M, m) of means and deviations of masses that lie on simplices.

    The gradient in these is (2, d, m).
    """
    n, d = points.shape
    k = simplices.shape[1]
    shares = masses / masses.sum()
    nodes = simplices.T.ravel()
    around = np.bincount(nodes, np.tile(shares, k), n) / k
    total, in_shares = np.empty((n, d, gradient.shape[2])), np.zeros((len(simplices), gradient.shape[2]))
    for axis in range(d):
        in_mean, in_deviation = gradient[:, axis]
        corners = points[:, axis].take(simplices.T)  # (k, M): long rows are fast
        centers = corners.mean(axis=0)
        mean = shares @ centers
        corners -= mean
        sums = k * (centers - mean)
        squares = ((corners**2).sum(axis=0) + sums**2) / (k * (k + 1))
        deviation = np.sqrt(shares @ squares)
        in_variance = in_deviation / (2 * deviation) if deviation > 0 else np.zeros_like(in_deviation)
        corners += sums
        corners *= shares
        moved = np.bincount(nodes, corners.ravel(), n) * (2 / (k * (k + 1)))
        total[:, axis] = np.outer(around, in_mean) + np.outer(moved, in_variance)
        in_shares += np.outer(centers, in_mean) + np.outer(squares, in_variance)
    return total, (in_shares - shares @ in_shares) / masses.sum()


def _of_graph(graph: Graph, gradient: _Floats) -> _Floats:
    d = graph.n_features
    total = _statistics_back(graph.features, gradient[: 4 * d].reshape(4, d))
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
