"""Points on the cells or the skin of a mesh, each with its share of length, area or volume: the mesh as a measure.

Nodes stand dense where a mesh is fine, so what is made of nodes shows the mesh beside the shape. Points on cells, with
the masses of what they stand for, show the shape alone: the more finely a mesh is cut, the nearer they come to it.
``embedding/`` takes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import counted
from swwl.mesh.boundary import coordinates, cross
from swwl.mesh.cells import cut_into_simplices
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.skin import Skin, extent, skin

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]

# No point stands for more than one part in so many of the whole; large cells get several. Distances between the skins
# of one set (plates, airfoils, blades of 400 to 2000 nodes) are then off by at most 0.005 of their median. Cells
# need more points: those far from an airfoil are large, and the distances between such meshes small.
LEAST = 10_000
LEAST_SIDES, LEAST_TRIANGLES = 2000, 10_000
# A side has so many points in any case: its projection is a line segment, of which one point is a poor picture.
_PER_SIDE = 3


@dataclass(frozen=True)
class Samples:
    """Points that stand for a mesh.

    Parameters
    ----------
    points : ndarray of shape (m, d)
    masses : ndarray of shape (m,)
        What each stands for; sum 1.
    normals : ndarray of shape (m, d) or None
        Of length one; None for points that are not on a skin.
    oriented : bool
        Whether normals are consistently oriented: outward, or at least to the same side.
    reason : str
        Why they are not, if they are not.
    """

    points: _Floats
    masses: _Floats
    normals: _Floats | None = None
    oriented: bool = True
    reason: str = ""


def skin_samples(mesh: Mesh, least: int | None = None, found: Skin | None = None) -> Samples:
    """Sample the skin of a mesh, see :func:`swwl.mesh.shape.skin.skin`: every connected part weighs the same.

    Parameters
    ----------
    mesh : Mesh
    least : int, optional
        No point stands for more than one part in so many of the whole: by default 2000 in the plane, 10 000 in space.
    found : Skin, optional
        Of the mesh, where it is known.

    Returns
    -------
    Samples
        Each point with the normal of its own piece.

    Raises
    ------
    InputError
        Where the mesh has no skin.

    Examples
    --------
    >>> square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    >>> found = skin_samples(square, least=4)
    >>> found.points[:2].round(4).tolist(), found.normals[:2].tolist(), found.masses[:2].round(4).tolist()
    ([[0.1667, 0.0], [1.0, 0.1667]], [[0.0, -1.0], [1.0, -0.0]], [0.0833, 0.0833])
    """
    found = found or skin(mesh)
    points, masses, piece = _sampled(mesh.points, found.pieces, found.masses, least or least_on_skin(mesh))
    normals = coordinates(found.normals, piece).T
    return Samples(points, masses, normals, found.oriented, found.reason)


def least_on_skin(mesh: Mesh) -> int:
    """Return into how many parts a skin is cut at least: sides in the plane, triangles in space."""
    return LEAST_SIDES if mesh.dimension == 2 else LEAST_TRIANGLES


def cell_samples(mesh: Mesh, least: int = LEAST) -> Samples:
    """Sample the cells of the highest dimension by length, area or volume.

    Parameters
    ----------
    mesh : Mesh
        With one to three coordinates.
    least : int
        No point stands for more than one part in so many of the whole.

    Returns
    -------
    Samples
        Without normals.

    Examples
    --------
    >>> rod = Mesh([[0.0], [1.0], [4.0]], [[0, 1], [1, 2]])
    >>> found = cell_samples(rod, least=1)
    >>> found.points.ravel().round(2).tolist(), found.masses.round(3).tolist()
    ([0.17, 1.5, 0.5, 2.5, 0.83, 3.5], [0.083, 0.25, 0.083, 0.25, 0.083, 0.25])
    """
    if mesh.dimension > 3:
        raise InputError(f"Cells on points of {counted(mesh.dimension, 'coordinate')} cannot be measured; up to 3 can.")
    simplices, sizes = proper_simplices(mesh)
    points, masses, _ = _sampled(mesh.points, simplices, sizes / sizes.sum(), least)
    return Samples(points, masses)


def proper_simplices(mesh: Mesh) -> tuple[_Nodes, _Floats]:
    """Return the cells of the highest dimension as simplices (m, k), and their sizes relative to the whole mesh."""
    simplices = cut_into_simplices(mesh.cells)
    sizes = simplex_sizes(mesh.points / extent(mesh.points), simplices)
    if not sizes.any():
        raise InputError("The mesh has no cells with a length, an area or a volume.")
    proper = sizes > 0
    return (simplices, sizes) if proper.all() else (simplices[proper], sizes[proper])


def simplex_sizes(points: _Floats, simplices: _Nodes) -> _Floats:
    """Return lengths of lines (m, 2), areas of triangles (m, 3) or volumes of tetrahedra (m, 4), from their corners.

    Examples
    --------
    >>> corner = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> [simplex_sizes(corner, np.array([range(k)], np.int32)).round(4).item() for k in (2, 3, 4)]
    [1.0, 0.5, 0.1667]
    """
    if simplices.shape[1] > 2 and points.shape[1] < 3:  # cross products want three coordinates
        points = np.column_stack([points, *(np.zeros(len(points)) for _ in range(3 - points.shape[1]))])
    corners = [coordinates(points, node) for node in simplices.T]
    spokes = [corner - corners[0] for corner in corners[1:]]
    if len(spokes) == 1:
        return np.sqrt((spokes[0] ** 2).sum(axis=0))
    normals = cross(spokes[0], spokes[1])
    if len(spokes) == 2:
        return 0.5 * np.sqrt((normals**2).sum(axis=0))
    return np.abs((normals * spokes[2]).sum(axis=0)) / 6


def _sampled(
    points: _Floats, simplices: _Nodes, masses: _Floats, least: int
) -> tuple[_Floats, _Floats, NDArray[np.intp]]:
    """Cut every simplex into equal parts, as many as its mass asks for, and return their centers.

    Returns
    -------
    points : ndarray of shape (m, d), in Fortran order
    masses : ndarray of shape (m,)
    simplex : ndarray of shape (m,)
        In which each lies.
    """
    points = np.asfortranarray(points)
    found, shares, numbers = [], [], []
    for chosen, weights in subdivision(masses, simplices.shape[1] - 1, least):
        corners = np.ascontiguousarray(simplices[chosen].T)  # (corners, m)
        found.append(np.stack([(weights @ row.take(corners)).ravel() for row in points.T]))
        shares.append(np.tile(masses[chosen] / len(weights), len(weights)))
        numbers.append(np.tile(chosen, len(weights)))
    return np.concatenate(found, axis=1).T, np.concatenate(shares), np.concatenate(numbers)


def subdivision(masses: _Floats, dimension: int, least: int) -> Iterator[tuple[NDArray[np.intp], _Floats]]:
    """Yield which simplices are cut alike, and the centers of their parts as weights of their corners.

    Parameters
    ----------
    masses : ndarray of shape (m,)
        Of the simplices, with sum 1.
    dimension : int
        1 for lines, 2 for triangles, 3 for tetrahedra.
    least : int
        No part has more than one part in so many of the whole.

    Yields
    ------
    chosen : ndarray of int
    weights : ndarray of shape (parts, dimension + 1)
        Points come part by part, and within a part in the order of ``chosen``.
    """
    cuts = _cuts(masses * least, dimension)
    for level in np.unique(cuts).tolist():
        yield np.flatnonzero(cuts == level), _centers(dimension, level)


def _cuts(wanted: _Floats, dimension: int) -> NDArray[np.intp]:
    """Return into how many parts each edge of a simplex is cut, for as many points in it as are requested."""
    wanted = wanted * (1 - 1e-9)  # whole numbers must not be missed by rounding
    if dimension == 1:
        return np.maximum(np.ceil(wanted), _PER_SIDE).astype(np.intp)
    # Powers of two: a simplex that is cut at the middles of its edges already has the same points as a whole one.
    return 2 ** np.ceil(np.log2(np.maximum(wanted, 1)) / dimension).astype(np.intp)


@cache
def _centers(dimension: int, cuts: int) -> _Floats:
    """Return the centers of the equal parts of a simplex whose edges are cut: weights of its corners, (parts, corners).

    A line is cut into as many parts, a triangle into the square, a tetrahedron into the cube; both by powers of two.

    Examples
    --------
    >>> _centers(1, 3).round(4).tolist()
    [[0.8333, 0.1667], [0.5, 0.5], [0.1667, 0.8333]]
    >>> _centers(2, 2).round(2).tolist()
    [[0.33, 0.33, 0.33], [0.67, 0.17, 0.17], [0.17, 0.17, 0.67], [0.17, 0.67, 0.17]]
    """
    if dimension == 1:
        along = (np.arange(cuts) + 0.5) / cuts
        return np.column_stack([1 - along, along])
    if dimension == 2:
        pairs = [(i, j) for i in range(cuts) for j in range(cuts - i)]
        upward = [(i + 1 / 3, j + 1 / 3) for i, j in pairs]
        downward = [(i + 2 / 3, j + 2 / 3) for i, j in pairs if i + j < cuts - 1]
        inner = np.array(downward + upward) / cuts
        return np.column_stack([1 - inner.sum(axis=1), inner])
    parts = np.eye(4)[None]
    while cuts > 1:
        parts, cuts = _halved(parts), cuts // 2
    return parts.mean(axis=1)


def _halved(tetrahedra: _Floats) -> _Floats:
    """Cut tetrahedra (m, 4, 4) at the middles of their edges into eight of equal volume each."""
    middle = {(a, b): (tetrahedra[:, a] + tetrahedra[:, b]) / 2 for a in range(4) for b in range(a + 1, 4)}
    corners = [[middle.get((min(a, b), max(a, b)), tetrahedra[:, a]) for b in range(4)] for a in range(4)]
    m01, m02, m03, m12, m13, m23 = (middle[pair] for pair in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)))
    # What the four corners leave is an octahedron; four tetrahedra around its diagonal fill it.
    around = [m01, m12, m23, m03, m01]
    inner = [[m02, m13, around[k], around[k + 1]] for k in range(4)]
    return np.concatenate([np.stack(four, axis=1) for four in (*corners, *inner)])
