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


def _of_graph(graph: Graph, gradient: _Floats) -> _Floats:
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
