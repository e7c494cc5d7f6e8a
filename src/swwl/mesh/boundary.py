"""The boundary of a domain: sides of a plane mesh, faces of a solid one, that a single cell has; and where they look.

For ``shape/skin.py``.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.arrays import AnyArray
from swwl.mesh.cells import Cells, cell_dimension, cell_sides, top_cells

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]

# A number of a node more than there are: the fourth corner of a face that has three.
_NONE = np.iinfo(np.int32).max
# The last bits of a key, by which most of those that occur more than once are told from the others.
_ENDS = 2**16 - 1


def boundary(points: _Floats, cells: Cells) -> _Nodes:
    """Return the pieces of which the boundary of a plane or solid domain is made, with their normals outward.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Two coordinates with surface cells, or three with solid ones.
    cells : mapping of type to ndarray of shape (m, k)
        Quadratic cells count by their corners; cells of lower dimension do not count.

    Returns
    -------
    ndarray of shape (m, d)
        Sides (a, b) of a plane domain, which lies to their left; triangles (a, b, c) of a solid's surface, which run
        counter-clockwise as seen from outside. Quadrilaterals are cut into two triangles.

    Examples
    --------
    >>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    >>> boundary(square, {"triangle": np.array([[0, 1, 2], [0, 3, 2]], np.int32)}).tolist()
    [[0, 1], [3, 0], [1, 2], [2, 3]]
    """
    found = [np.empty((0, points.shape[1]), np.int32)]
    top = top_cells(cells)
    sides, owners, counts = [], [], []
    for kind, block in top.items():
        around = cell_sides(kind, block)
        sides += around
        counts.append(len(around))
        owners += [np.arange(len(block))] * len(around)
    if not sides:
        return found[0]
    alone = np.split(_occur_once(sides, len(points)), np.cumsum([len(side) for side in sides])[:-1])
    first = 0
    for (kind, block), count in zip(top.items(), counts, strict=True):
        for k in range(first, first + count):
            chosen = owners[k][alone[k]]
            pieces = sides[k][alone[k]]
            inward = _signed_sizes(points, kind, block[chosen]) < 0
            pieces[inward] = pieces[inward, ::-1]
            found += _triangles(pieces) if cell_dimension(kind) == 3 else [pieces]
        first += count
    return np.concatenate(found)


def piece_normals(points: _Floats, pieces: _Nodes) -> _Floats:
    """Return normals as long as the pieces are large: of sides (m, 2) in the plane, of triangles (m, 3) in space.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Fastest in Fortran order.
    pieces : ndarray of shape (m, d)

    Returns
    -------
    ndarray of shape (m, d), in Fortran order

    Examples
    --------
    >>> piece_normals(np.array([[0.0, 0], [2, 0]]), np.array([[0, 1]], np.int32)).tolist()
    [[0.0, -2.0]]
    """
    corners = [coordinates(points, node) for node in pieces.T]
    spokes = [corner - corners[0] for corner in corners[1:]]
    if len(spokes) == 1:
        ((x, y),) = spokes
        return np.stack([y, -x]).T
    return 0.5 * cross(*spokes).T


def coordinates(points: _Floats, nodes: NDArray[np.integer]) -> _Floats:
    """Return the coordinates of some nodes as contiguous rows (d, m): NumPy is several times faster over long rows."""
    return np.stack([row.take(nodes) for row in points.T])


def cross(u: _Floats, v: _Floats) -> _Floats:
    """Return the cross products of vectors that stand in columns, (3, m)."""
    (a, b, c), (x, y, z) = u, v
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x])


def same_sides(keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Sort keys; return their order, and for every place in it whether a new key begins there (one place more)."""
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits < 64:
        # Sorting numbers is several times faster than finding their order, so each carries its place along.
        packed = np.sort((keys << bits) | np.arange(len(keys)))
        order, ordered = packed & ((1 << bits) - 1), packed >> bits
    else:
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
    new = np.ones(len(keys) + 1, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:-1])
    return order, new


def _occur_once(sides: list[_Nodes], n_points: int) -> NDArray[np.bool_]:
    """Say for all sides, one block after the other, whether no other has the same corners."""
    if sides[0].shape[1] == 2:
        a, b = np.concatenate(sides).T
        keys = np.minimum(a, b).astype(np.int64) * n_points + np.maximum(a, b)
        alone = _alone(keys)
        alone[a == b] = False
        return alone
    # Most faces of one cell have three corners or four; a face that is folded onto fewer counts by what is left of it.
    corners = _sorted_corners(sides)
    keys = corners[0].astype(np.int64) * (n_points + 1) + corners[1]
    rest = corners[2].astype(np.int64) * (n_points + 1) + np.minimum(corners[3], n_points)
    if (n_points + 1.0) ** 4 < 2.0**63:
        keys = keys * (n_points + 1) ** 2 + rest
    else:
        keys = np.unique(np.column_stack([keys, rest]), axis=0, return_inverse=True)[1].reshape(-1)
    alone = _alone(keys)
    alone[corners[2] == _NONE] = False
    return alone


def _alone(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for every key whether it occurs once: few do, so that their places are sought and not those of all."""
    ordered: AnyArray = np.sort(keys.astype(np.uint32) if keys.max(initial=0) < 2**32 else keys)
    differ = np.ones(len(keys) + 1, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=differ[1:-1])
    once = ordered[differ[1:] & differ[:-1]]
    ends = np.zeros(_ENDS + 1, bool)
    ends[once & _ENDS] = True
    similar = np.flatnonzero(ends[keys & _ENDS])
    alone = np.zeros(len(keys), bool)
    alone[similar] = np.isin(keys[similar], once)
    return alone


def _sorted_corners(faces: list[_Nodes]) -> list[_Nodes]:
    """Return four columns of corners in increasing order; missing and repeated ones come last."""
    columns = [np.concatenate([face[:, k] for face in faces]) for k in range(3)]
    fourth = [face[:, 3] if face.shape[1] == 4 else np.full(len(face), _NONE, np.int32) for face in faces]
    columns.append(np.concatenate(fourth))
    _sort(columns)
    repeated = [(b == a) & (b != _NONE) for a, b in pairwise(columns)]
    if any(rows.any() for rows in repeated):
        for column, rows in zip(columns[1:], repeated, strict=True):
            column[rows] = _NONE
        _sort(columns)
    return columns


def _sort(columns: list[_Nodes]) -> None:
    """Sort four columns row by row, in place: many times faster than NumPy sorts short rows."""
    for i, j in ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2)):
        columns[i], columns[j] = np.minimum(columns[i], columns[j]), np.maximum(columns[i], columns[j])


def _triangles(faces: _Nodes) -> list[_Nodes]:
    """Cut faces into triangles; what is folded onto a line is left out."""
    parts = [faces[:, [0, k, k + 1]] for k in range(1, faces.shape[1] - 1)]
    return [p[(p[:, 0] != p[:, 1]) & (p[:, 1] != p[:, 2]) & (p[:, 2] != p[:, 0])] for p in parts]


def _signed_sizes(points: _Floats, kind: str, cells: _Nodes) -> _Floats:
    """Return areas or volumes, negative where the sides of a cell run clockwise or its faces look inward."""
    origin = coordinates(points, cells[:, 0])
    size = np.zeros(len(cells))
    for side in cell_sides(kind, cells):
        spokes = [coordinates(points, node) - origin for node in side.T]
        if len(spokes) == 2:
            (a, b), (x, y) = spokes
            size += a * y - b * x
        else:
            for u, v in pairwise(spokes[1:]):
                size += (spokes[0] * cross(u, v)).sum(axis=0)
    return size
