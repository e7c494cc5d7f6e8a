"""The skin of a mesh: the boundary of plane and solid domains, surfaces and contours themselves, with normals.

``sampling.py`` makes points of it, ``summaries.py`` numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from swwl.errors import InputError
from swwl.mesh.arrays import counted, first_at_place
from swwl.mesh.boundary import boundary, coordinates, piece_normals, same_sides
from swwl.mesh.cells import cell_dimension, cut_into_simplices, top_cells
from swwl.mesh.mesh import Mesh

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]
_Numbers = NDArray[np.intp]

# A closed part that encloses less than this, relative to its size, does not tell inside from outside.
_FLAT = 1e-9


@dataclass(frozen=True)
class Skin:
    """Sides in the plane, or triangles in space, that bound a body.

    Parameters
    ----------
    pieces : ndarray of shape (m, d)
        Sides (a, b) of a skin in the plane, triangles (a, b, c) of one in space, by node numbers. The normal of a
        side points to its right, that of a triangle to where its corners run counterclockwise.
    normals : ndarray of shape (m, d)
        Of the pieces, of length one.
    masses : ndarray of shape (m,)
        The share of each piece: in proportion to its length or area, with the same total for every part; sum 1.
    parts : ndarray of shape (m,)
        Which connected part each piece belongs to, from 0.
    oriented : bool
        Whether normals are consistently oriented: outward, or at least to the same side. Otherwise only the line along
        which a normal lies means anything, not its direction.
    reason : str
        Why they are not, if they are not.
    """

    pieces: _Nodes
    normals: _Floats
    masses: _Floats
    parts: NDArray[np.int32]
    oriented: bool = True
    reason: str = ""


def skin(mesh: Mesh) -> Skin:
    """Find the skin of a mesh: what a flow or a load sees of it.

    Surface cells in the plane and solid cells have their boundary; a surface in space and lines in the plane (contours)
    are their own skin. Only the cells of the highest dimension count. Normals of a boundary point away from the cells.
    The pieces of a surface or of a contour are turned so that neighbors agree; normals of closed parts then point away
    from what they enclose, those of open ones to the side that the order of their nodes says. That fails for
    a Möbius strip, where more than two pieces meet, and for an open part whose cells are not all numbered the same way:
    see ``oriented``.

    Parameters
    ----------
    mesh : Mesh

    Returns
    -------
    Skin

    Raises
    ------
    InputError
        Where there is none: lines in space, no cells, cells of no size.

    Notes
    -----
    Nodes of a surface or a contour at exactly the same place count as one, since many programs repeat them along
    seams. Those of a domain do not: there they may be the two sides of a crack.

    Examples
    --------
    >>> square = Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], [[0, 1, 2], [0, 2, 3]])
    >>> found = skin(square)
    >>> found.pieces.tolist(), found.masses.tolist()
    ([[0, 1], [1, 2], [2, 3], [3, 0]], [0.25, 0.25, 0.25, 0.25])
    >>> found.normals[:2].tolist(), found.oriented
    ([[0.0, -1.0], [1.0, -0.0]], True)
    """
    d = mesh.dimension
    top = max(map(cell_dimension, top_cells(mesh.cells)), default=0)
    if top == 0:
        raise InputError("The mesh has no cells, so it has no skin.")
    if d not in (2, 3) or not d - 1 <= top <= d:
        what = {1: "Lines", 2: "Surface cells", 3: "Solid cells"}[top]
        raise InputError(
            f"{what} on points of {counted(d, 'coordinate')} have no skin: that is the boundary of plane or solid "
            f"cells, a surface in space, or lines in the plane."
        )
    # Relative to the size of the mesh, so that squares of tiny or huge lengths stay what they are.
    rows = mesh.points.T.copy()
    points = ((rows - rows.mean(axis=1)[:, None]) / extent(rows.T)).T
    reason, whole = "", False
    if top == d:
        pieces = boundary(points, mesh.cells)
        vectors = piece_normals(points, pieces)
    else:
        pieces = _unfolded(first_at_place(points).take(cut_into_simplices(mesh.cells)))
        vectors = piece_normals(points, pieces)
        back, reason, whole = _to_turn(points, pieces, vectors)
        if back.any():
            vectors[back] *= -1
            pieces[back] = pieces[back, ::-1]
    sizes = _lengths(vectors)
    parts = np.zeros(len(pieces), np.int32) if whole else connected_parts(pieces, len(points))
    proper = sizes > 0
    if not proper.any():
        raise InputError("The mesh has no skin: its cells have no size, or no side that belongs to one cell alone.")
    if not proper.all():
        pieces, vectors, sizes = pieces[proper], vectors[proper], sizes[proper]
        parts = np.unique(parts[proper], return_inverse=True)[1].astype(np.int32)
    totals = np.bincount(parts, sizes)
    normals = (vectors.T / sizes).T
    return Skin(pieces, normals, sizes / (totals * len(totals))[parts], parts, not reason, reason)


def coarseness(mesh: Mesh, found: Skin | None = None) -> float:
    r"""Return the mean size of the pieces of the skin over the size of the whole: small for a fine mesh.

    With shares :math:`m_i` of its length or area, :math:`\sum_i m_i^{3/2}` in space and :math:`\sum_i m_i^2` in the
    plane: that of n equal pieces is :math:`n^{-1/2}` or :math:`n^{-1}`.

    Parameters
    ----------
    mesh : Mesh
    found : Skin, optional
        Of the mesh, where it is known.

    Examples
    --------
    >>> angle = 2 * np.pi * np.arange(50) / 50
    >>> circle = Mesh(np.column_stack([np.cos(angle), np.sin(angle)]), [(k, (k + 1) % 50) for k in range(50)])
    >>> round(coarseness(circle), 4)
    0.02
    """
    masses = (found or skin(mesh)).masses
    return float((masses ** (1 + 1 / (mesh.dimension - 1))).sum())


def extent(points: _Floats) -> float:
    """Return the longest side of the box around points; 1 where that is zero."""
    return float(np.ptp(points, axis=0).max()) or 1.0


def _lengths(vectors: _Floats) -> _Floats:
    return np.sqrt((vectors.T**2).sum(axis=0))


def _unfolded(pieces: _Nodes) -> _Nodes:
    """Leave out pieces that have a node twice."""
    folded = np.zeros(len(pieces), bool)
    for k in range(pieces.shape[1]):
        folded |= pieces[:, k] == pieces[:, k - 1]
    return pieces[~folded] if folded.any() else pieces


def connected_parts(pieces: _Nodes, n_points: int) -> NDArray[np.int32]:
    """Return the connected part of each piece, numbered from 0: pieces that share a node belong together."""
    starts, ends = (np.concatenate([pieces[:, k + shift] for k in range(pieces.shape[1] - 1)]) for shift in (0, 1))
    labels = _components(starts, ends, n_points)[pieces[:, 0]]
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _components(starts: NDArray[np.integer], ends: NDArray[np.integer], n: int) -> NDArray[np.int32]:
    matrix = sparse.coo_array((np.ones(len(starts), np.int8), (starts, ends)), shape=(n, n)).tocsr()
    return np.asarray(connected_components(matrix, directed=False)[1])


class _Meetings(NamedTuple):
    """Where pieces meet: pairs (first, second) of pieces that share an edge, or a node of a contour, alone."""

    first: _Numbers
    second: _Numbers
    agree: NDArray[np.bool_]  # (pairs,), whether both point to the same side
    open: _Numbers  # pieces with an edge that no other has
    branching: bool  # whether anywhere more than two meet


def _meetings(pieces: _Nodes, n_points: int) -> _Meetings:
    if pieces.shape[1] == 2:
        keys = pieces.T.astype(np.int64).ravel()
        forward = np.repeat([False, True], len(pieces))
    else:
        a, b = pieces.T.ravel(), pieces[:, [1, 2, 0]].T.ravel()
        keys = np.minimum(a, b).astype(np.int64) * n_points + np.maximum(a, b)
        forward = a < b
    order, new = same_sides(keys)
    ends = np.flatnonzero(new)
    starts, counts = ends[:-1], np.diff(ends)
    pairs = starts[counts == 2]
    first, second = order[pairs], order[pairs + 1]
    # Neighbors that point to the same side run through what they share in opposite directions.
    agree = forward[first] != forward[second]
    m = len(pieces)
    return _Meetings(first % m, second % m, agree, order[starts[counts == 1]] % m, bool((counts > 2).any()))


def _to_turn(points: _Floats, pieces: _Nodes, vectors: _Floats) -> tuple[NDArray[np.bool_], str, bool]:
    """Find which pieces to turn around so that all point outward or to one side, and what prevents it.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    pieces : ndarray of shape (m, d)
    vectors : ndarray of shape (m, d)
        Normals, as long as the pieces are large.

    Returns
    -------
    back : ndarray of shape (m,), bool
    reason : str
        Empty where it can be done.
    whole : bool
        Whether all pieces hang together by their edges.
    """
    m, d = pieces.shape
    found = _meetings(pieces, len(points))
    labels = _components(found.first, found.second, m)
    count = int(labels.max(initial=-1)) + 1
    mixed = np.zeros(count, bool)
    mixed[labels[found.first[~found.agree]]] = True
    back, twisted = np.zeros(m, bool), False
    if mixed.any():
        back, one_sided = _against_the_first(found, labels, m)
        twisted = bool(one_sided.any())
    closed = np.ones(count, bool)
    closed[labels[found.open]] = False
    # Cones from the center to all pieces fill what a closed part encloses.
    heights = (coordinates(points, pieces[:, 0]) * vectors.T).sum(axis=0)
    inside = np.bincount(labels, np.where(back, -heights, heights), count) / d
    size = np.bincount(labels, _lengths(vectors), count)
    told = closed & (np.abs(inside) > _FLAT * size ** (d / (d - 1)))
    back ^= (told & (inside < 0))[labels]
    edge = "node" if d == 2 else "edge"
    reason = ""
    if found.branching:
        reason = f"more than two of its cells meet at one {edge}"
    elif twisted:
        reason = "it has only one side"
    elif (mixed & ~told).any():
        reason = "it encloses nothing, and its cells are not all numbered the same way around"
    return back, reason, count == 1


def _against_the_first(found: _Meetings, labels: NDArray[np.int32], m: int) -> tuple[NDArray[np.bool_], _Numbers]:
    """Turn every piece to the side of the first one of its component, as far as there are sides.

    Every piece stands twice in a graph, as it is and turned around; neighbors are joined where they agree. What hangs
    together with the first piece as it is looks to its side. A piece that hangs together with itself turned around
    belongs to a surface of one side.

    Returns
    -------
    back : ndarray of shape (m,), bool
    one_sided : ndarray
        Such pieces.
    """
    turned = np.where(found.agree, 0, m)
    starts = np.concatenate([found.first, found.first + m])
    ends = np.concatenate([found.second + turned, found.second + m - turned])
    sides = _components(starts, ends, 2 * m)
    first = np.empty(int(labels.max()) + 1, np.intp)
    first[labels[::-1]] = np.arange(m)[::-1]
    one_sided = np.flatnonzero(sides[:m] == sides[m:])
    back = sides[:m] != sides[first[labels]]
    back[one_sided] = False
    return back, one_sided
