"""How sizes of cells, points on cells and skins, their masses and normals change with the nodes: all transposed.

Each function stands for one of ``cells.py``, ``skin.py`` and ``sampling.py``. Gradients are those of k functions, along
the last axis; arrays are fastest where ``gradient.T`` is in C order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.arrays import first_at_place
from swwl.mesh.boundary import coordinates, cross, piece_normals
from swwl.mesh.cells import Cells, cell_corners, cell_dimension, cut_into_simplices, top_cells
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.sampling import LEAST, least_on_skin, proper_simplices, subdivision
from swwl.mesh.shape.skin import Skin, extent, skin

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]


def lumped_measures_back(points: _Floats, cells: Cells, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`swwl.mesh.cells.lumped_measures`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    cells : mapping of type to ndarray of shape (m, k)
    gradient : ndarray of shape (n,) or (n, k)
        In the length, area or volume around each node.

    Returns
    -------
    ndarray of shape (n, d) or (n, d, k)

    Examples
    --------
    >>> rod = np.array([[0.0], [1.0], [3.0]])
    >>> lumped_measures_back(rod, {"line": np.array([[0, 1], [1, 2]], np.int32)}, np.array([0.0, 2.0, 0.0])).tolist()
    [[-1.0], [0.0], [1.0]]
    """
    total: _Floats = np.zeros((*points.shape, *gradient.shape[1:]))
    for kind, block in top_cells(cells).items():
        nodes = np.ascontiguousarray(block.T)
        # A cell's size is shared equally among all its nodes.
        share = np.stack([row.take(nodes).mean(axis=0) for row in gradient.reshape(len(gradient), -1).T]).T
        if cell_dimension(kind) == 2:
            back = _polygons_back(points, cell_corners(kind, block), share)
        else:
            simplices = cut_into_simplices({kind: block})
            back = simplex_sizes_back(points, simplices, np.concatenate([share] * (len(simplices) // len(block))))
        total += back.reshape(total.shape)
    return total


def simplex_sizes_back(points: _Floats, simplices: _Nodes, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`swwl.mesh.shape.sampling.simplex_sizes`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    simplices : ndarray of shape (m, 2), (m, 3) or (m, 4)
    gradient : ndarray of shape (m,) or (m, k)
        In lengths, areas or volumes.

    Returns
    -------
    ndarray of shape (n, d) or (n, d, k)
    """
    if simplices.shape[1] == 3:
        return _polygons_back(points, simplices, gradient)
    spokes = _spokes(points, simplices)
    if len(spokes) == 1:
        length = np.sqrt((spokes[0] ** 2).sum(axis=0))
        at = [spokes[0] / np.where(length > 0, length, 1.0)]
    else:
        u, v, w = spokes
        last = cross(u, v)
        sign = np.sign((last * w).sum(axis=0)) / 6
        at = [sign * cross(v, w), sign * cross(w, u), sign * last]
    return _scaled(points, simplices, at, gradient)


def pieces_back(points: _Floats, pieces: _Nodes, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`swwl.mesh.boundary.piece_normals`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    pieces : ndarray of shape (m, d)
        Sides in the plane or triangles in space.
    gradient : ndarray of shape (m, d) or (m, d, k)
        In normals that are as long as the pieces are large.

    Returns
    -------
    ndarray of shape (n, d) or (n, d, k)
    """
    pulls = gradient.reshape(*gradient.shape[:2], -1).T  # (k, d, m)
    nodes = pieces.T.astype(np.intp, order="C")
    total = np.empty((len(pulls), *points.T.shape))
    spokes = _spokes(points, pieces)
    for back, pull in zip(total, pulls, strict=True):
        if len(spokes) == 1:
            at = [np.stack([-pull[1], pull[0]])]
        else:
            at = [cross(spokes[1], 0.5 * pull), cross(0.5 * pull, spokes[0])]
        for axis, row in enumerate(back):
            _collect(nodes, [own[axis] for own in at], row)
    return total.T.reshape(*points.shape, *gradient.shape[2:])


def _polygons_back(points: _Floats, corners: _Nodes, gradient: _Floats) -> _Floats:
    """Return the gradient of areas of polygons (m, k): half the length of their triangles' summed normals."""
    spokes = _spokes(points, corners)
    normals = np.sum([cross(u, v) for u, v in zip(spokes[:-1], spokes[1:], strict=True)], axis=0)
    length = np.sqrt((normals**2).sum(axis=0))
    normals *= 0.5 / np.where(length > 0, length, 1.0)
    at = [np.zeros_like(normals) for _ in spokes]
    for k, (u, v) in enumerate(zip(spokes[:-1], spokes[1:], strict=True)):
        at[k] += cross(v, normals)
        at[k + 1] += cross(normals, u)
    return _scaled(points, corners, at, gradient)


def _spokes(points: _Floats, corners: _Nodes) -> list[_Floats]:
    """Return the vectors (3, m) from the first corner of cells (m, k) to the others, in space."""
    n, d = points.shape
    at = points if d == 3 else np.column_stack([points, np.zeros((n, 3 - d))])
    first, *others = (coordinates(at, node) for node in corners.T)
    return [other - first for other in others]


def _scaled(points: _Floats, cells: _Nodes, at: list[_Floats], gradient: _Floats) -> _Floats:
    """Sum at the nodes the slopes of sizes at all corners but the first, (3, m) each, times gradients in the sizes."""
    nodes, columns = cells.T.astype(np.intp, order="C"), gradient.reshape(len(gradient), -1).T
    total = np.empty((len(columns), *points.T.shape))
    for back, column in zip(total, columns, strict=True):
        for axis, row in enumerate(back):
            _collect(nodes, [own[axis] * column for own in at], row)
    return total.T.reshape(*points.shape, *gradient.shape[1:])


def _collect(nodes: NDArray[np.intp], at: list[_Floats], total: _Floats) -> None:
    """Sum at the nodes, (n,), what all corners (k, m) but the first have, (m,) each; that has the rest."""
    total[:] = np.bincount(nodes[0], -sum(at[1:], at[0]), len(total))
    for node, own in zip(nodes[1:], at, strict=True):  # one by one: fresh memory would cost more than the sums
        total += np.bincount(node, own, len(total))


_Part = tuple[NDArray[np.intp], _Floats]


def cell_samples_back(mesh: Mesh, in_points: _Floats, in_masses: _Floats, least: int = LEAST) -> _Floats:
    """Return the gradients in the nodes of what is made of :func:`swwl.mesh.shape.sampling.cell_samples`.

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
    """Return the gradients in the nodes of what is made of :func:`swwl.mesh.shape.sampling.skin_samples`.

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

    The latter are (m, k); ``parts`` come from :func:`swwl.mesh.shape.sampling.subdivision`.
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
