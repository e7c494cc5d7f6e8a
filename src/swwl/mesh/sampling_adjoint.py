"""How points on cells and skins, their masses and normals change with the nodes: the transpose of ``sampling.py``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.arrays import first_at_place
from swwl.mesh.boundary import piece_normals
from swwl.mesh.cells import cell_dimension, top_cells
from swwl.mesh.mesh import Mesh
from swwl.mesh.sampling import LEAST, least_on_skin, proper_simplices, simplex_sizes, subdivision
from swwl.mesh.sizes_adjoint import pieces_back, simplex_sizes_back
from swwl.mesh.skin import Skin, skin

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]


def cell_samples_back(mesh: Mesh, in_points: _Floats, in_masses: _Floats, least: int = LEAST) -> _Floats:
    """Return the gradient in the nodes of what is made of :func:`swwl.mesh.sampling.cell_samples`.

    Into how many parts a cell is cut is taken to stay the same.

    Parameters
    ----------
    mesh : Mesh
    in_points : ndarray of shape (m, d)
    in_masses : ndarray of shape (m,)
        Gradients in the points and masses of the samples.
    least : int
        As for the samples.

    Returns
    -------
    ndarray of shape (n, d)
    """
    simplices, sizes = proper_simplices(mesh)
    masses = sizes / sizes.sum()
    total, shares = _centers_back(mesh.points, simplices, masses, least, in_points, in_masses)
    whole = simplex_sizes(mesh.points, simplices).sum()
    return total + simplex_sizes_back(mesh.points, simplices, (shares - shares @ masses) / whole)


def skin_samples_back(
    mesh: Mesh,
    in_points: _Floats,
    in_masses: _Floats,
    in_normals: _Floats,
    least: int | None = None,
    found: Skin | None = None,
) -> _Floats:
    """Return the gradient in the nodes of what is made of :func:`swwl.mesh.sampling.skin_samples`.

    Where several nodes stand at one place, they have equal shares of its gradient.

    Parameters
    ----------
    mesh : Mesh
    in_points, in_normals : ndarray of shape (m, d)
    in_masses : ndarray of shape (m,)
        Gradients in the points, normals and masses of the samples.
    least : int, optional
        As for the samples.
    found : Skin, optional
        Of the mesh, where it is known.

    Returns
    -------
    ndarray of shape (n, d)
    """
    found = found or skin(mesh)
    least = least or least_on_skin(mesh)
    total, shares = _centers_back(mesh.points, found.pieces, found.masses, least, in_points, in_masses)
    normals = np.zeros(found.normals.shape)
    start = 0
    for chosen, weights in subdivision(found.masses, found.pieces.shape[1] - 1, least):
        stop = start + len(chosen) * len(weights)
        normals[chosen] = in_normals[start:stop].reshape(len(weights), len(chosen), -1).sum(axis=0)
        start = stop
    return shared_by_place(mesh, total + skin_back(mesh.points, found, shares, normals))


def skin_back(points: _Floats, found: Skin, in_masses: _Floats, in_normals: _Floats | None = None) -> _Floats:
    """Return the gradient in the points (n, d) of what is made of masses (m,) and normals (m, d) of a skin's pieces."""
    sizes = np.linalg.norm(piece_normals(points, found.pieces), axis=1)
    totals = np.bincount(found.parts, sizes)
    # Every part has the same mass, and its pieces share it by their sizes.
    means = np.bincount(found.parts, in_masses * sizes) / totals
    in_sizes = (in_masses - means[found.parts]) / (totals * len(totals))[found.parts]
    in_vectors = found.normals * in_sizes[:, None]
    if in_normals is not None:
        along = np.einsum("ij,ij->i", found.normals, in_normals)[:, None]
        in_vectors += (in_normals - along * found.normals) / sizes[:, None]
    return pieces_back(points, found.pieces, in_vectors)


def shared_by_place(mesh: Mesh, gradient: _Floats) -> _Floats:
    """Give nodes of a surface or contour at one place, of which the first has it all, equal shares of a gradient."""
    if max(map(cell_dimension, top_cells(mesh.cells)), default=0) == mesh.dimension:
        return gradient
    place = first_at_place(mesh.points)
    counts = np.bincount(place, minlength=len(place))
    return gradient if counts.max() == 1 else gradient[place] / counts[place][:, None]


def _centers_back(
    points: _Floats, simplices: _Nodes, masses: _Floats, least: int, in_points: _Floats, in_masses: _Floats
) -> tuple[_Floats, _Floats]:
    """Return the gradient in the points (n, d) that centers of parts have, and that in the masses of simplices (m,)."""
    n, d = points.shape
    total, shares = np.zeros((n, d)), np.zeros(len(simplices))
    start = 0
    for chosen, weights in subdivision(masses, simplices.shape[1] - 1, least):
        parts, stop = len(weights), start + len(chosen) * len(weights)
        shares[chosen] = in_masses[start:stop].reshape(parts, -1).mean(axis=0)
        nodes = simplices[chosen].T.ravel()
        for k in range(d):
            corners = weights.T @ in_points[start:stop, k].reshape(parts, -1)  # (corners, chosen)
            total[:, k] += np.bincount(nodes, corners.ravel(), n)
        start = stop
    return total, shares
