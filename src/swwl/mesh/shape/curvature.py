r"""Moments of a part and of its boundary: volume, area by where it looks, edges and corners by how they bend.

All are integrals over the outward skin, so that they belong to the part and not to its mesh: cells cut into smaller
ones, or moved within the same faces, leave them as they are. Edges and corners carry the curvature measures of integral
geometry. With the signed dihedral angle :math:`\beta_e` of an edge of length :math:`\ell_e` along the unit vector
:math:`t_e`, and the angles :math:`\theta` of triangles at a corner v,

.. math:: H_k = \sum_e \tfrac12 \ell_e \beta_e\, t_{e,k}^2\, \delta_e, \qquad
          K = \sum_v \Bigl(2\pi - \sum_{T \ni v} \theta_{T,v}\Bigr) \delta_v .

They are signed, and so they converge on smooth skins too (Cohen-Steiner and Morvan 2003, "Restricted Delaunay
triangulations and normal cycle"); the total of K is :math:`4\pi` for every closed part and :math:`-4\pi` for every hole
through it. In the plane K has the angles by which the boundary turns, and there is no H.

:func:`part_moments` sums up; :func:`part_moments_back` is its transposed derivative. ``part.py`` makes numbers of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.boundary import coordinates, cross, same_sides
from swwl.mesh.shape.adjoints import pieces_back
from swwl.mesh.shape.skin import Skin

_Floats = NDArray[np.float64]
_Numbers = NDArray[np.intp]

_TINY = 1e-300


class _Weighted(NamedTuple):
    """Simplices that carry weights, evenly: of one node, two or three."""

    nodes: _Numbers  # (k, m)
    corners: list[_Floats]  # where they are: k of (d, m)
    weights: _Floats  # (measures, m)
    cones: int | None = None  # the measure, if any, for which the center is one more corner


class _Edges(NamedTuple):
    """Edges a b of two triangles a b c and b a d, with the angle by which the skin bends outward there."""

    ends: _Numbers  # (2, m)
    across: _Numbers  # (2, m): c and d
    normals: list[_Floats]  # two of (3, m)
    along: _Floats  # (3, m), b - a
    lengths: _Floats  # (m,)
    angles: _Floats  # (m,)


class _Boundary(NamedTuple):
    """A skin about a center, and what all measures of it are made of."""

    about: _Floats  # (d, n)
    nodes: _Numbers  # (d, m), of its pieces
    corners: list[_Floats]  # where they are: d of (d, m)
    vectors: _Floats  # (d, m), normals as long as the pieces are large
    sizes: _Floats  # (m,)
    oriented: bool
    closed: bool
    edges: _Edges | None  # in space
    rim: NDArray[np.bool_]  # (n,), nodes where a surface ends
    used: _Numbers  # nodes of the skin


def measure_names(dimension: int) -> list[str]:
    """Name the measures of :func:`part_moments`, in their order.

    Examples
    --------
    >>> measure_names(2)
    ['skin', 'inside', 'skin towards +x', 'skin towards -x', 'skin towards +y', 'skin towards -y', 'corners']
    """
    axes = "xyz"[:dimension]
    names = ["skin", "inside"] + [f"skin towards {sign}{axis}" for axis in axes for sign in "+-"]
    return names + [f"edges along {axis}" for axis in axes if dimension == 3] + ["corners"]


def pairs(dimension: int) -> list[tuple[int, int]]:
    """Return the pairs of axes of second moments, in their order."""
    return [(i, j) for i in range(dimension) for j in range(i, dimension)]


def part_moments(points: _Floats, found: Skin, center: _Floats) -> _Floats:
    """Return moments of the measures of a part: totals, first and second moments about a center.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    found : Skin
        Of the mesh. One whose sides cannot be told apart encloses nothing and bends nowhere.
    center : ndarray of shape (d,)

    Returns
    -------
    ndarray of shape (measures, 1 + d + d (d + 1) / 2)
        Measures as :func:`measure_names` says.

    Examples
    --------
    >>> from swwl import Mesh
    >>> from swwl.mesh.shape.skin import skin
    >>> square = Mesh([[0, 0], [2, 0], [2, 2], [0, 2]], [[0, 1, 2], [0, 2, 3]])
    >>> moments = part_moments(square.points, skin(square), np.zeros(2))
    >>> moments[:2, :3].tolist()  # 8 long, an area of 4
    [[8.0, 8.0, 8.0], [4.0, 4.0, 4.0]]
    >>> float(moments[-1, 0] / np.pi)  # once around
    2.0
    """
    seen = _boundary(points, found, center)
    return np.concatenate([_moments(part) for part in _measures(seen)])


def part_moments_back(points: _Floats, found: Skin, center: _Floats, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`part_moments`, its center held.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    found : Skin
    center : ndarray of shape (d,)
    gradient : ndarray of shape (measures, moments, m)
        In the moments, of m functions.

    Returns
    -------
    ndarray of shape (n, d, m)
    """
    seen = _boundary(points, found, center)
    parts = _measures(seen)
    total = np.zeros((gradient.shape[2], *seen.about.shape))
    for back, own in zip(total, np.moveaxis(gradient, 2, 0), strict=True):
        start, in_weights = 0, []
        for part in parts:
            stop = start + len(part.weights)
            in_weights.append(_moments_back(part, own[start:stop], back))
            start = stop
        _weights_back(seen, in_weights, back)
    return total.transpose(2, 1, 0)


def simplex_moments(points: _Floats, pieces: NDArray[np.int32], center: _Floats, closed: bool) -> _Floats:
    """Return moments of some pieces of a skin, and of what they enclose: totals, first and second ones about a center.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    pieces : ndarray of shape (m, d) or (m, 1)
        Single nodes weigh 1 / m each.
    center : ndarray of shape (d,)
    closed : bool
        Whether they enclose anything.

    Returns
    -------
    ndarray of shape (2, 1 + d + d (d + 1) / 2)

    Examples
    --------
    >>> sides = np.array([[0, 1], [1, 2], [2, 0]], np.int32)
    >>> simplex_moments(np.array([[0.0, 0], [3, 0], [0, 4]]), sides, np.zeros(2), True)[:, 0].tolist()
    [12.0, 6.0]
    """
    about = np.ascontiguousarray(points.T) - center[:, None]
    return _moments(_simplices(about, pieces, closed)[0])


def simplex_moments_back(
    points: _Floats, pieces: NDArray[np.int32], center: _Floats, closed: bool, gradient: _Floats
) -> _Floats:
    """Return the gradient (n, d, m) in the points of what is made of :func:`simplex_moments`, its center held.

    Parameters
    ----------
    points, pieces, center, closed
        As there.
    gradient : ndarray of shape (2, moments, m)
    """
    about = np.ascontiguousarray(points.T) - center[:, None]
    part, vectors = _simplices(about, pieces, closed)
    total = np.zeros((gradient.shape[2], *about.shape))
    for back, own in zip(total, np.moveaxis(gradient, 2, 0), strict=True):
        in_sizes, in_inside = _moments_back(part, own, back)
        if pieces.shape[1] == 1:
            continue
        sizes, first = part.weights[0], part.nodes[0]
        worth = in_inside * closed / len(about)
        in_vectors = worth * about[:, first] + vectors * (in_sizes / np.maximum(sizes, _TINY))
        back += pieces_back(about.T, pieces, in_vectors.T).T
        _collect(back, first, worth * vectors)
    return total.transpose(2, 1, 0)


def _simplices(about: _Floats, pieces: NDArray[np.int32], closed: bool) -> tuple[_Weighted, _Floats]:
    """Return pieces weighted by their sizes, and the cones from the center to them by what they enclose; and vectors.

    Vectors, (d, m), are normals as long as the pieces are large.
    """
    nodes = pieces.T.astype(np.intp, order="C")
    corners = [coordinates(about.T, node) for node in nodes]
    if len(nodes) == 1:
        even = np.full(nodes.shape[1], 1 / nodes.shape[1])
        return _Weighted(nodes, corners, np.stack([even, 0 * even]), cones=1), np.zeros_like(about)
    vectors = _vectors(corners)
    inside = (vectors * corners[0]).sum(axis=0) / len(about)
    sizes = np.sqrt((vectors**2).sum(axis=0))
    return _Weighted(nodes, corners, np.stack([sizes, inside * closed]), cones=1), vectors


def _vectors(corners: list[_Floats]) -> _Floats:
    """Return normals as long as the pieces are large, (d, m), from the corners of pieces."""
    spokes = [corner - corners[0] for corner in corners[1:]]
    if len(spokes) == 1:
        ((x, y),) = spokes
        return np.stack([y, -x])
    return 0.5 * cross(*spokes)


def _boundary(points: _Floats, found: Skin, center: _Floats) -> _Boundary:
    about, nodes = np.ascontiguousarray(points.T) - center[:, None], found.pieces.T.astype(np.intp, order="C")
    d, n = about.shape
    corners = [coordinates(about.T, node) for node in nodes]
    vectors = _vectors(corners)
    sizes = np.sqrt((vectors**2).sum(axis=0))
    rim, edges = np.zeros(n, bool), None
    used = np.flatnonzero(np.bincount(nodes.ravel(), minlength=n))
    if d == 3:
        one, other, alone = _sides(nodes, n)
        rim[nodes.ravel()[alone]] = rim[np.roll(nodes, -1, axis=0).ravel()[alone]] = True
        edges = _edges(about, found, nodes, one, other)
    else:
        rim = np.bincount(nodes[0], minlength=n) != np.bincount(nodes[1], minlength=n)
    return _Boundary(about, nodes, corners, vectors, sizes, found.oriented, not rim.any(), edges, rim, used)


def _measures(seen: _Boundary) -> list[_Weighted]:
    """Return the measures, in the order of their names: those on pieces, on edges in space, on nodes."""
    inside = (seen.vectors * seen.corners[0]).sum(axis=0) / len(seen.about)  # cones from the center
    towards = [part**2 / seen.sizes for part, _ in _towards(seen)]
    weights = np.stack([seen.sizes, inside * (seen.oriented and seen.closed), *towards])
    measures = [_Weighted(seen.nodes, seen.corners, weights, cones=1)]
    edges = seen.edges
    if edges is not None:
        ends = [coordinates(seen.about.T, node) for node in edges.ends]
        bends = 0.5 * seen.oriented * edges.angles / edges.lengths * edges.along**2
        measures.append(_Weighted(edges.ends, ends, bends))
    places = coordinates(seen.about.T, seen.used)
    return [*measures, _Weighted(seen.used[None], [places], _turns(seen)[None, seen.used])]


def _towards(seen: _Boundary) -> list[tuple[_Floats, float]]:
    """Return how far pieces look along every axis, forward and backward, and by how much more if their vectors grow."""
    if not seen.oriented:  # half of it forward, half of it backward
        return [(row * np.sqrt(0.5), np.sqrt(0.5)) for row in seen.vectors for _ in range(2)]
    return [(np.maximum(sign * row, 0.0), sign) for row in seen.vectors for sign in (1.0, -1.0)]


def _sides(nodes: _Numbers, n: int) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Return the sides of triangles that are shared by two, one and the other, and those that none shares.

    Sides are counted from corner 0 to 1 of all triangles, then from 1 to 2, then from 2 to 0.
    """
    a, b = nodes.ravel(), np.roll(nodes, -1, axis=0).ravel()
    order, new = same_sides(np.minimum(a, b) * n + np.maximum(a, b))
    starts = np.flatnonzero(new)
    counts, starts = np.diff(starts), starts[:-1]
    one, other = order[starts[counts == 2]], order[starts[counts == 2] + 1]
    opposite = a[one] == b[other]  # neighbors that look to one side run through it in opposite directions
    return one[opposite], other[opposite], order[starts[counts == 1]]


def _edges(about: _Floats, found: Skin, nodes: _Numbers, one: _Numbers, other: _Numbers) -> _Edges:
    m = nodes.shape[1]
    a, b, c = (np.roll(nodes, -k, axis=0).ravel() for k in range(3))
    ends, across = np.stack([a[one], b[one]]), np.stack([c[one], c[other]])
    normals = [coordinates(found.normals, side % m) for side in (one, other)]
    along = coordinates(about.T, ends[1]) - coordinates(about.T, ends[0])
    lengths = np.maximum(np.sqrt((along**2).sum(axis=0)), _TINY)
    sine = (cross(*normals) * along).sum(axis=0) / lengths
    angles = np.arctan2(sine, (normals[0] * normals[1]).sum(axis=0))
    return _Edges(ends, across, normals, along, lengths, angles)


def _turns(seen: _Boundary) -> _Floats:
    """Return by how much the skin bends at every node, (n,): what its angles there lack of a full or a straight one."""
    n, nodes = seen.about.shape[1], seen.nodes
    if seen.edges is None:
        into, out, angles = _passages(seen)
        return np.asarray(np.bincount(nodes[1, into], angles * seen.oriented, n), dtype=np.float64)
    a, b, c = seen.corners
    u, v, w = b - a, c - a, c - b
    doubled = 2 * seen.sizes
    first, second = np.arctan2(doubled, (u * v).sum(axis=0)), np.arctan2(doubled, -(u * w).sum(axis=0))
    angles = np.concatenate([first, second, np.pi - first - second])
    turns = np.where(seen.rim, np.pi, 2 * np.pi)
    return np.asarray(turns - np.bincount(nodes.ravel(), angles, n))


def _passages(seen: _Boundary) -> tuple[_Numbers, _Numbers, _Floats]:
    """Return the sides that end where one other starts, those that start there, and the angles between them."""
    nodes, n = seen.nodes, seen.about.shape[1]
    simple = (np.bincount(nodes[0], minlength=n) == 1) & (np.bincount(nodes[1], minlength=n) == 1)
    leaving = np.full(n, -1)
    leaving[nodes[0]] = np.arange(nodes.shape[1])
    into = np.flatnonzero(simple[nodes[1]])
    out = leaving[nodes[1, into]]
    sides = seen.about[:, nodes[1]] - seen.about[:, nodes[0]]
    (x, y), (u, v) = sides[:, into], sides[:, out]
    return into, out, np.arctan2(x * v - y * u, x * u + y * v)


def _moments(part: _Weighted) -> _Floats:
    """Return totals, first and second moments of weights that lie evenly on simplices, (measures, moments)."""
    return np.asarray(part.weights @ _sums(part.corners).T * _shares(part))


def _sums(corners: list[_Floats]) -> _Floats:
    """Return what moments of simplices are in proportion to, (moments, m), see :func:`_shares`."""
    total = np.sum(corners, axis=0)
    d, m = total.shape
    rows = np.empty((1 + d + d * (d + 1) // 2, m))
    rows[0], rows[1 : 1 + d] = 1, total
    for row, (i, j) in zip(rows[1 + d :], pairs(d), strict=True):
        np.multiply(total[i], total[j], out=row)
        for own in corners:
            row += own[i] * own[j]
    return rows


def _shares(part: _Weighted) -> _Floats:
    """Return the factors of totals, first and second moments, (measures, moments): 1, 1 / k and 1 / (k (k + 1))."""
    d = len(part.corners[0])
    k = np.full((len(part.weights), 1), float(len(part.corners)))
    if part.cones is not None:
        k[part.cones] += 1
    return np.repeat(np.hstack([np.ones_like(k), 1 / k, 1 / (k * (k + 1))]), [1, d, d * (d + 1) // 2], axis=1)


def _moments_back(part: _Weighted, gradient: _Floats, total: _Floats) -> _Floats:
    """Add the gradients in the points to ``total``, (d, n); return those in the weights, (measures, m)."""
    d, n = total.shape
    gradient = gradient * _shares(part)
    pulled = gradient.T @ part.weights  # (moments, m): what a unit of every moment of a simplex is worth
    sums = np.sum(part.corners, axis=0)
    slopes = np.repeat(pulled[1 : 1 + d, None], len(part.corners), axis=1)  # (d, k, m)
    for share, (i, j) in zip(pulled[1 + d :], pairs(d), strict=True):
        for c, own in enumerate(part.corners):
            slopes[i, c] += share * (own[j] + sums[j])
            slopes[j, c] += share * (own[i] + sums[i])
    for row, own in zip(total, slopes, strict=True):
        row += np.bincount(part.nodes.ravel(), own.ravel(), n)
    return np.asarray(gradient @ _sums(part.corners))


def _weights_back(seen: _Boundary, gradients: list[_Floats], total: _Floats) -> None:
    """Add to ``total``, (d, n), what the weights of all measures change with the points."""
    d, n = seen.about.shape
    on_pieces = gradients[0]
    in_sizes, in_inside = on_pieces[0].copy(), on_pieces[1] * (seen.oriented and seen.closed) / d
    in_vectors = in_inside * seen.corners[0]
    for place, ((part, slope), own) in enumerate(zip(_towards(seen), on_pieces[2:], strict=True)):
        in_vectors[place // 2] += 2 * slope * own * part / seen.sizes
        in_sizes -= own * (part / seen.sizes) ** 2
    in_vectors += seen.vectors * (in_sizes / seen.sizes)
    total += pieces_back(seen.about.T, seen.nodes.T.astype(np.int32), in_vectors.T).T
    _collect(total, seen.nodes[0], in_inside * seen.vectors)
    if seen.edges is not None:
        _edges_back(seen.about, seen.edges, gradients[1] * seen.oriented, total)
    by_node = np.zeros(n)
    by_node[seen.used] = gradients[-1][0]
    _turns_back(seen, by_node, total)


def _collect(total: _Floats, nodes: _Numbers, own: _Floats) -> None:
    """Add vectors (d, m) of some nodes to ``total``, (d, n)."""
    for row, part in zip(total, own, strict=True):
        row += np.bincount(nodes, part, len(row))


def _edges_back(about: _Floats, edges: _Edges, gradient: _Floats, total: _Floats) -> None:
    """Add what half the length times the angle times the squares of the direction change with the points."""
    squares = edges.along**2 / edges.lengths
    in_angles = 0.5 * (gradient * squares).sum(axis=0)
    in_along = edges.angles / edges.lengths * edges.along * (gradient - in_angles / edges.lengths)
    start = about[:, edges.ends[0]]
    at_start, at_stop = -in_along, in_along
    for node, normal in zip(edges.across, edges.normals, strict=True):
        spoke = about[:, node] - start
        height = np.sqrt((cross(edges.along, spoke) ** 2).sum(axis=0)) / edges.lengths
        slope = -in_angles * normal / np.maximum(height, _TINY)  # a corner that rises makes the edge flatter
        foot = (spoke * edges.along).sum(axis=0) / edges.lengths**2
        at_start, at_stop = at_start - (1 - foot) * slope, at_stop - foot * slope
        _collect(total, node, slope)
    _collect(total, edges.ends[0], at_start)
    _collect(total, edges.ends[1], at_stop)


def _turns_back(seen: _Boundary, gradient: _Floats, total: _Floats) -> None:
    """Add what the angles at nodes change with the points, given the gradient in them, (n,)."""
    nodes, about = seen.nodes, seen.about
    if seen.edges is None:
        sides = about[:, nodes[1]] - about[:, nodes[0]]
        turning = np.stack([-sides[1], sides[0]]) / np.maximum((sides**2).sum(axis=0), _TINY)
        into, out, _ = _passages(seen)
        worth = gradient[nodes[1, into]] * seen.oriented
        for side, sign in ((into, -1.0), (out, 1.0)):
            _collect(total, nodes[1, side], sign * worth * turning[:, side])
            _collect(total, nodes[0, side], -sign * worth * turning[:, side])
        return
    for k in range(3):
        corner = [nodes[(k + j) % 3] for j in range(3)]
        at, q, r = (about[:, node] for node in corner)
        u, w = q - at, r - at
        normal = cross(u, w)
        normal /= np.maximum(np.sqrt((normal**2).sum(axis=0)), _TINY)
        worth = -gradient[corner[0]]
        first = worth * cross(u, normal) / np.maximum((u**2).sum(axis=0), _TINY)
        second = worth * cross(normal, w) / np.maximum((w**2).sum(axis=0), _TINY)
        for node, own in zip(corner, (-first - second, first, second), strict=True):
            _collect(total, node, own)
