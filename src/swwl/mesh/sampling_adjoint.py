"""How points on cells and skins, their masses and normals change with the nodes: the transpose of ``sampling.py``.

Gradients are those of k functions, along the last axis; arrays are fastest where ``gradient.T`` is in C order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.arrays import first_at_place
from swwl.mesh.boundary import piece_normals
from swwl.mesh.cells import cell_dimension, top_cells
from swwl.mesh.mesh import Mesh
from swwl.mesh.sampling import LEAST, least_on_skin, proper_simplices, subdivision
from swwl.mesh.sizes_adjoint import pieces_back, simplex_sizes_back
from swwl.mesh.skin import Skin, extent, skin

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]
_Part = tuple[NDArray[np.intp], _Floats]


def cell_samples_back(mesh: Mesh, in_points: _Floats, in_masses: _Floats, least: int = LEAST) -> _Floats:
    """Return the gradients in the nodes of what is made of :func:`swwl.mesh.sampling.cell_samples`.

    Into how many parts a cell is cut is taken to stay the same.

    Parameters
    ----------
    mesh : Mesh
    in_points : ndarray of shape (m, d, k)
    in_masses : ndarray of shape (m, k)
        Gradients in the points and masses of the samples.
    least : int
        As for the samples.

    Returns
    -------
    ndarray of shape (n, d, k)
    """
    simplices, sizes = proper_simplices(mesh)
    masses = sizes / sizes.sum()
    parts = list(subdivision(masses, simplices.shape[1] - 1, least))
    total, shares = _centers_back(mesh.points, simplices, parts, in_points, in_masses)
    whole = sizes.sum() * extent(mesh.points) ** (simplices.shape[1] - 1)
    return total + simplex_sizes_back(mesh.points, simplices, (shares - masses @ shares) / whole)


def skin_samples_back(
    mesh: Mesh,
    in_points: _Floats,
    in_masses: _Floats,
    in_normals: _Floats,
    least: int | None = None,
    found: Skin | None = None,
) -> _Floats:
    """Return the gradients in the nodes of what is made of :func:`swwl.mesh.sampling.skin_samples`.

    Where several nodes stand at one place, they have equal shares of its gradient.

    Parameters
    ----------
    mesh : Mesh
    in_points, in_normals : ndarray of shape (m, d, k)
    in_masses : ndarray of shape (m, k)
        Gradients in the points, normals and masses of the samples.
    least : int, optional
        As for the samples.
    found : Skin, optional
        Of the mesh, where it is known.

    Returns
    -------
    ndarray of shape (n, d, k)
    """
    found = found or skin(mesh)
    parts = list(subdivision(found.masses, found.pieces.shape[1] - 1, least or least_on_skin(mesh)))
    total, shares = _centers_back(mesh.points, found.pieces, parts, in_points, in_masses)
    normals = np.empty((*in_normals.T.shape[:2], len(found.pieces)))  # (k, d, pieces)
    start = 0
    for chosen, weights in parts:
        stop = start + len(chosen) * len(weights)
        several = in_normals.T[:, :, start:stop].reshape(*normals.shape[:2], len(weights), len(chosen))
        normals[:, :, chosen] = several.sum(axis=2)
        start = stop
    return shared_by_place(mesh, total + skin_back(mesh.points, found, shares, normals.T))


def skin_back(points: _Floats, found: Skin, in_masses: _Floats, in_normals: _Floats | None = None) -> _Floats:
    """Return the gradients in the points of what is made of masses and normals of a skin's pieces.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    found : Skin
        Of m pieces.
    in_masses : ndarray of shape (m, k)
    in_normals : ndarray of shape (m, d, k), optional

    Returns
    -------
    ndarray of shape (n, d, k)
    """
    sizes = np.sqrt((piece_normals(points, found.pieces).T ** 2).sum(axis=0))
    normals = np.ascontiguousarray(found.normals.T)
    totals = np.bincount(found.parts, sizes)
    weights = 1 / (totals * len(totals))[found.parts]
    in_vectors = np.empty((in_masses.shape[1], *normals.shape))  # (k, d, m)
    for j, masses in enumerate(in_masses.T):
        # Every part has the same mass, and its pieces share it by their sizes.
        means = np.bincount(found.parts, masses * sizes) / totals
        along = (masses - means[found.parts]) * weights
        if in_normals is not None:
            own = in_normals.T[j]
            along -= (normals * own).sum(axis=0) / sizes
            np.divide(own, sizes, out=in_vectors[j])
            in_vectors[j] += normals * along
        else:
            np.multiply(normals, along, out=in_vectors[j])
    return pieces_back(points, found.pieces, in_vectors.T)


def shared_by_place(mesh: Mesh, gradient: _Floats) -> _Floats:
    """Give nodes of a surface or contour at one place, of which the first has it all, equal shares of a gradient."""
    if max(map(cell_dimension, top_cells(mesh.cells)), default=0) == mesh.dimension:
        return gradient
    place = first_at_place(mesh.points)
    counts = np.bincount(place, minlength=len(place))
    return gradient if counts.max() == 1 else gradient[place] / counts[place][:, None, None]


def _centers_back(
    points: _Floats, simplices: _Nodes, parts: Sequence[_Part], in_points: _Floats, in_masses: _Floats
) -> tuple[_Floats, _Floats]:
    """Return the gradients in the points (n, d, k) that centers of parts have, and those in the masses of simplices.

    The latter are (m, k); ``parts`` come from :func:`swwl.mesh.sampling.subdivision`.
    """
    n, d = points.shape
    total, shares = np.zeros((in_masses.shape[1], d, n)), np.zeros((in_masses.shape[1], len(simplices)))
    start = 0
    for chosen, weights in parts:
        count, stop = len(weights), start + len(chosen) * len(weights)
        nodes = simplices[chosen].T.astype(np.intp, order="C").ravel()
        for j, own in enumerate(total):
            shares[j, chosen] = in_masses.T[j, start:stop].reshape(count, -1).mean(axis=0)
            for axis, row in enumerate(own):
                corners = weights.T @ in_points.T[j, axis, start:stop].reshape(count, -1)  # (corners, chosen)
                row += np.bincount(nodes, corners.ravel(), n)
        start = stop
    return total.T, shares.T
