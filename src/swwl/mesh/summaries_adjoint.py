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
    gradient : ndarray of shape (K,)
        In the summaries.
    found : Skin, optional
        Of the mesh, where it is known.

    Returns
    -------
    ndarray of shape (n, d)
        In the points of a mesh, or the features of a graph.

    Examples
    --------
    >>> rod = Mesh([[0.0], [2.0]], [[0, 1]])
    >>> in_mean = np.eye(1, 12)[0]
    >>> summaries_back(rod, in_mean).tolist()
    [[0.5], [0.5]]
    """
    return _of_mesh(item, gradient, found) if isinstance(item, Mesh) else _of_graph(item, gradient)


def _of_mesh(mesh: Mesh, gradient: _Floats, found: Skin | None) -> _Floats:
    d, points = mesh.dimension, mesh.points
    total = np.zeros(points.shape)
    used = used_nodes(mesh.cells, mesh.n_nodes)
    total[used] = _statistics_back(points[used], gradient[: 4 * d].reshape(4, d))
    in_size, in_cells, in_skin = gradient[4 * d + 3], gradient[4 * d + 4 : 6 * d + 4], gradient[6 * d + 4 :]
    simplices = cut_into_simplices(mesh.cells)
    try:
        found = found or skin(mesh)
    except InputError:  # lines in space have their cells in place of a skin
        in_cells = in_cells + in_skin
    else:
        moved, in_masses = _moments_back(points, found.pieces, found.masses, in_skin.reshape(2, d))
        total += shared_by_place(mesh, moved + skin_back(points, found, in_masses))
    sizes = simplex_sizes(points, simplices)
    moved, in_masses = _moments_back(points, simplices, sizes, in_cells.reshape(2, d))
    return total + moved + simplex_sizes_back(points, simplices, in_masses + in_size / sizes.sum())


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
    """Return the gradients in points (n, d) and masses (m,) of means and deviations of masses that lie on simplices."""
    n, d = points.shape
    k = simplices.shape[1]
    shares = masses / masses.sum()
    total, in_shares = np.zeros((n, d)), np.zeros(len(simplices))
    for axis in range(d):
        in_mean, in_deviation = gradient[:, axis]
        corners = points[simplices, axis]
        centers = corners.mean(axis=1)
        mean = shares @ centers
        corners = corners - mean
        sums = corners.sum(axis=1)
        squares = ((corners**2).sum(axis=1) + sums**2) / (k * (k + 1))
        deviation = np.sqrt(shares @ squares)
        in_variance = in_deviation / (2 * deviation) if deviation > 0 else 0.0
        in_corners = in_mean / k + in_variance * 2 * (corners + sums[:, None]) / (k * (k + 1))
        total[:, axis] = np.bincount(simplices.ravel(), (shares[:, None] * in_corners).ravel(), n)
        in_shares += in_mean * centers + in_variance * squares
    return total, (in_shares - in_shares @ shares) / masses.sum()


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
