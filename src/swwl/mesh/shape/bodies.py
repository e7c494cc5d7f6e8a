r"""Bodies of a mesh: the connected parts of a named group, or of the boundary, each by a few numbers.

A body is described by itself, where it lies, how large and how round it is and how it lies, and by what surrounds it:
moments of the rest of the skin under Gaussian windows of two widths s around its center,

.. math:: \int e^{-|r|^2 / 2 s^2} \Bigl(1, \frac r s, \frac{r r^\top}{s^2}\Bigr)\, dA ,

the last without its trace. Places are relative to the middle of the box around the mesh and lengths to a third of its
diagonal, which bodies inside do not change. Everything else is an integral over the skin, so that a finer mesh of the
same part has the same numbers. :func:`bodies_back` is the transposed derivative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray, first_at_place
from swwl.mesh.boundary import piece_normals
from swwl.mesh.cells import cell_dimension, top_cells
from swwl.mesh.groups import Group, chosen_groups
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.adjoints import pieces_back
from swwl.mesh.shape.curvature import pairs, simplex_moments, simplex_moments_back
from swwl.mesh.shape.skin import Skin, connected_parts, skin

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]

# Of the windows, over the length of the mesh.
WIDTHS = (0.2, 0.5)
# What is added to sizes relative to the skin, to what a body encloses, and to its spread, so that none is zero.
_NOTHING, _HOLLOW, _POINT = 1e-4, 1e-3, 1e-6
# Pieces longer than a width over this are cut into shorter ones before they are summed up.
_PER_WIDTH = 2.0
_STEP = 1e-30
_ROUNDING = 1e-9


class Bodies(NamedTuple):
    """Pieces of the skin by body; of a group of nodes that no piece joins, the nodes."""

    pieces: list[_Nodes]  # (m, d) each, or (m, 1)
    closed: list[bool]
    rest: _Nodes  # pieces of the whole skin, (m, d)
    own: NDArray[np.intp]  # which body a piece of the whole skin belongs to, or -1


def find_bodies(mesh: Mesh, pattern: str | None, found: Skin | None = None) -> Bodies:
    """Find the bodies of a mesh: connected parts of groups or, without a pattern, of the boundary inside the outer one.

    Parameters
    ----------
    mesh : Mesh
        One with a skin, see :func:`swwl.mesh.shape.skin.skin`.
    pattern : str or None
        Name or shell pattern of groups: of faces or nodes, whose bodies are the pieces of the skin with all nodes in
        them; of cells, whose bodies are the connected parts of what they fill.
    found : Skin, optional
        Of the mesh, where it is known.

    Examples
    --------
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> mesh = Mesh(square, [[0, 1, 2], [0, 2, 3]], groups={"held": [0, 3], "tip": [2]})
    >>> [len(own) for own in find_bodies(mesh, "held").pieces], find_bodies(mesh, "tip").pieces[0].tolist()
    ([1], [[2]])
    """
    found = found or skin(mesh)
    pieces = found.pieces
    own = np.full(len(pieces), -1, np.intp)
    if pattern is None:
        inner = found.parts != _outer(mesh.points, found)
        if inner.any():
            own[inner] = np.unique(found.parts[inner], return_inverse=True)[1]
        return _split(pieces, own)
    groups = chosen_groups(mesh.groups, pattern)
    regions = [name for name, group in groups.items() if fills(mesh, group)]
    if regions:
        return _regions(mesh, regions, pieces, own)
    member = np.zeros(mesh.n_nodes, bool)
    for group in groups.values():
        member[group.nodes] = True
    if max(map(cell_dimension, top_cells(mesh.cells))) < mesh.dimension:  # whose nodes at one place count as one
        member[first_at_place(mesh.points)[member]] = True
    inside = member[pieces].all(axis=1)
    if not inside.any():
        nodes = np.flatnonzero(member).astype(np.int32)
        if not len(nodes):
            raise InputError(f"Group {pattern!r} is empty.")
        return Bodies([nodes[:, None]], [False], pieces, own)
    own[inside] = connected_parts(pieces[inside], mesh.n_nodes)
    return _split(pieces, own)


def _outer(points: _Floats, found: Skin) -> int:
    """Return which connected part of a skin has the longest box around it."""
    order = np.argsort(found.parts, kind="stable")
    starts = np.flatnonzero(np.diff(found.parts[order], prepend=-1))
    corners = points[found.pieces[order]]
    low = np.minimum.reduceat(corners.min(axis=1), starts, axis=0)
    high = np.maximum.reduceat(corners.max(axis=1), starts, axis=0)
    return int((high - low).max(axis=1).argmax())


def body_numbers(mesh: Mesh, pattern: str | None, found: Skin | None = None) -> _Floats:
    """Return the numbers of every body, (B, k), in no order that means anything; :func:`body_names` names them.

    Parameters
    ----------
    mesh : Mesh
    pattern : str or None
        As of :func:`find_bodies`.
    found : Skin, optional

    Examples
    --------
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> mesh = Mesh(square, [[0, 1, 2], [0, 2, 3]], groups={"held": [[3, 0]]})
    >>> dict(zip(body_names(2), body_numbers(mesh, "held")[0].round(3).tolist()))["x"]
    -1.061
    """
    found = found or skin(mesh)
    bodies = find_bodies(mesh, pattern, found)
    place = mesh.points.mean(axis=0)
    seen = _itself(_box(mesh.points, bodies.rest) - place, _moments(mesh.points, bodies, place), _alone(bodies))
    d, k = mesh.dimension, n_own_numbers(mesh.dimension)
    if not len(seen):
        return np.empty((0, len(body_names(d))))
    around = _surroundings(mesh.points, bodies, place + seen[:, k : k + d], float(seen[0, k + d]))
    return np.hstack([seen[:, :k], around])


def bodies_back(mesh: Mesh, pattern: str | None, gradient: _Floats, found: Skin | None = None) -> _Floats:
    """Return the gradient in the nodes of what is made of :func:`body_numbers`.

    Parameters
    ----------
    mesh : Mesh
    pattern : str or None
    gradient : ndarray of shape (B, k, m)
        In the numbers, of m functions.
    found : Skin, optional

    Returns
    -------
    ndarray of shape (n, d, m)
    """
    found = found or skin(mesh)
    bodies = find_bodies(mesh, pattern, found)
    place, alone = mesh.points.mean(axis=0), _alone(bodies)
    box, each = _box(mesh.points, bodies.rest) - place, _moments(mesh.points, bodies, place)
    seen = _itself(box, each, alone)
    d, k, m = mesh.dimension, n_own_numbers(mesh.dimension), gradient.shape[2]
    total = np.zeros((*mesh.points.shape, m))
    in_seen = np.zeros((len(seen), seen.shape[1], m))
    in_seen[:, :k] = gradient[:, :k]
    for b, row in enumerate(seen):
        in_center, in_radius = _surroundings_back(
            mesh.points, bodies, b, place + row[k : k + d], row[k + d], gradient[b, k:], total
        )
        in_seen[b, k : k + d] += in_center
        in_seen[b, k + d] += in_radius
    # The numbers of a body are analytic in its own moments and in the box: imaginary steps give all slopes.
    in_box, in_each = np.zeros((*box.shape, m)), np.zeros((*each.shape, m))
    for place_in_box in np.ndindex(*box.shape):
        moved = box.astype(complex)
        moved[place_in_box] += 1j * _STEP
        in_box[place_in_box] = np.einsum("bk,bkm->m", _itself(moved, each, alone).imag / _STEP, in_seen)
    corners = np.unique(bodies.rest)
    for axis, row in enumerate(mesh.points[corners].T):
        for side, end in enumerate((row.min(), row.max())):
            there = corners[np.abs(row - end) <= _ROUNDING * np.ptp(row)]  # all nodes of a flat end have a share
            total[there, axis] += in_box[side, axis] / len(there)
    for part in range(2):
        for number in range(each.shape[2]):
            stepped = each.astype(complex)
            stepped[:, part, number] += 1j * _STEP
            in_each[:, part, number] = np.einsum("bk,bkm->bm", _itself(box, stepped, alone).imag / _STEP, in_seen)
    for own, closed, back in zip(bodies.pieces, bodies.closed, in_each, strict=True):
        total += simplex_moments_back(mesh.points, own, place, closed, back)
    return total


def body_names(dimension: int) -> list[str]:
    """Name the numbers of :func:`body_numbers`.

    Examples
    --------
    >>> body_names(2)[:6], len(body_names(2)), len(body_names(3))
    (['x', 'y', 'log size', 'log fullness', 'xx', 'xy'], 16, 28)
    """
    axes = list("xyz"[:dimension])
    shape = ["xyz"[i] + "xyz"[j] for i, j in pairs(dimension)][:-1]
    around = [f"around, {width}: {name}" for width in ("near", "far") for name in ("skin", *axes, *shape)]
    return [*axes, "log size", "log fullness", *shape, *around]


def n_own_numbers(dimension: int) -> int:
    """Return how many numbers are of a body by itself, without what surrounds it."""
    return dimension + 1 + len(pairs(dimension))


def fills(mesh: Mesh, group: Group) -> bool:
    """Whether a group is of cells that fill space, so that it has a boundary of its own."""
    return group.kind == "cells" and max(map(cell_dimension, group.cells), default=0) == mesh.dimension


def _regions(mesh: Mesh, names: list[str], pieces: _Nodes, own: NDArray[np.intp]) -> Bodies:
    parts, closed = list[_Nodes](), list[bool]()
    place = np.arange(mesh.n_nodes)
    for name in names:
        part = skin(mesh.part(name))
        nodes = mesh.part_group(name).nodes
        one = _split(nodes[part.pieces], part.parts.astype(np.intp))
        parts += one.pieces
        closed += one.closed
    # Pieces of the outer skin that are its own do not surround a body.
    for number, part_pieces in enumerate(parts):
        member = np.zeros(len(place), bool)
        member[part_pieces] = True
        own[member[pieces].all(axis=1)] = number
    return Bodies(parts, closed, pieces, own)


def _split(pieces: _Nodes, own: NDArray[np.intp]) -> Bodies:
    """Return the pieces of every body, and whether it is closed."""
    order = np.argsort(own, kind="stable")
    counts = np.bincount(own[own >= 0]) if (own >= 0).any() else np.empty(0, int)
    parts = np.split(pieces[order[(own < 0).sum() :]], np.cumsum(counts)[:-1]) if len(counts) else []
    return Bodies(parts, [_is_closed(part) for part in parts], pieces, own)


def _is_closed(pieces: _Nodes) -> bool:
    """Whether every side of a triangle, or end of a side, is there once each way."""
    if pieces.shape[1] == 2:
        return bool((np.sort(pieces[:, 0]) == np.sort(pieces[:, 1])).all())
    starts, ends = pieces.ravel().astype(np.int64), np.roll(pieces, -1, axis=1).ravel().astype(np.int64)
    n = int(pieces.max()) + 1
    return bool((np.sort(starts * n + ends) == np.sort(ends * n + starts)).all())


# Moments


def _alone(bodies: Bodies) -> NDArray[np.bool_]:
    """Return which bodies are nodes that no piece joins, (B,)."""
    return np.array([own.shape[1] == 1 for own in bodies.pieces], dtype=bool)


def _box(points: _Floats, pieces: _Nodes) -> _Floats:
    """Return the lowest and the highest coordinates of the skin, (2, d)."""
    corners = points[np.unique(pieces)]
    return np.stack([corners.min(axis=0), corners.max(axis=0)])


def _moments(points: _Floats, bodies: Bodies, center: _Floats) -> _Floats:
    """Return the moments of every body and of what it encloses, (B, 2, moments)."""
    d = points.shape[1]
    pairs_of = zip(bodies.pieces, bodies.closed, strict=True)
    each = [simplex_moments(points, own, center, closed) for own, closed in pairs_of]
    return np.array(each).reshape(len(each), 2, 1 + d + len(pairs(d)))


def _itself(box: AnyArray, each: AnyArray, alone: NDArray[np.bool_]) -> AnyArray:
    """Return of every body its own numbers, its center and the length of the mesh, (B, k + d + 1)."""
    d = box.shape[1]
    middle, radius = box.mean(axis=0), np.sqrt(((box[1] - box[0]) ** 2).sum()) / 3
    mass, center, matrix = _about(each[:, 0], d)
    trace = np.trace(matrix, axis1=1, axis2=2) + _POINT * radius**2
    inside = each[:, 1, 0] * np.where(each[:, 1, 0].real < 0, -1, 1)
    size = np.where(alone, 0, mass) / radius ** (d - 1)
    full = np.where(alone, 0, inside) / mass ** (d / (d - 1))
    rows = [
        (center - middle) / radius,
        np.log(size + _NOTHING)[:, None],
        np.log(full + _HOLLOW)[:, None],
        np.stack([(matrix[:, i, j] - (trace / d if i == j else 0)) / trace for i, j in pairs(d)[:-1]], axis=1),
        center,
        np.full((len(each), 1), radius),
    ]
    return np.concatenate(rows, axis=1)


def _about(moments: AnyArray, d: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return masses (B,), centers (B, d) and covariances (B, d, d), given moments (B, moments)."""
    mass = moments[:, 0]
    center = moments[:, 1 : d + 1] / mass[:, None]
    matrix = np.empty((len(moments), d, d), dtype=moments.dtype)
    for value, (i, j) in zip(moments[:, d + 1 :].T, pairs(d), strict=True):
        matrix[:, i, j] = matrix[:, j, i] = value / mass - center[:, i] * center[:, j]
    return mass, center, matrix


# What surrounds a body


class _Samples(NamedTuple):
    """Points on pieces: which, by what shares of the corners, and with what share of the size of the piece."""

    piece: NDArray[np.intp]  # (s,)
    shares: _Floats  # (s, corners)
    weight: _Floats  # (s,)


def _samples(points: _Floats, pieces: _Nodes, longest: float) -> _Samples:
    """Cut pieces so that none is longer than that, and return points in what comes of it."""
    corners = points[pieces]
    lengths = np.sqrt(((corners - np.roll(corners, 1, axis=1)) ** 2).sum(axis=2)).max(axis=1)
    cuts = 2 ** np.ceil(np.log2(np.maximum(lengths / longest, 1))).astype(int)
    piece, shares, weight = [np.empty(0, np.intp)], [np.empty((0, pieces.shape[1]))], [np.empty(0)]
    for n in np.unique(cuts):
        which = np.flatnonzero(cuts == n)
        middles = _middles(pieces.shape[1], int(n))
        piece.append(np.repeat(which, len(middles)))
        shares.append(np.tile(middles, (len(which), 1)))
        weight.append(np.full(len(which) * len(middles), 1 / len(middles)))
    return _Samples(np.concatenate(piece), np.concatenate(shares), np.concatenate(weight))


def _middles(corners: int, n: int) -> _Floats:
    """Return points of the n parts of a side, or of the n² parts of a triangle, as shares of its corners.

    Two on every part of a side and three in every triangle integrate cubic and quadratic functions without error.
    """
    if corners == 2:
        at = ((np.arange(n)[:, None] + 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3)) / n).ravel()
        return np.column_stack([1 - at, at])
    found = []
    inner = np.array([[1 / 6, 1 / 6], [2 / 3, 1 / 6], [1 / 6, 2 / 3]])
    for i in range(n):
        for j in range(n - i):
            found.append([i, j] + inner)
            if i + j < n - 1:
                found.append([i + 1, j + 1] - inner)
    two = np.concatenate(found) / n
    return np.column_stack([two, 1 - two.sum(axis=1)])


class _Window(NamedTuple):
    """Pieces of the skin as points with weights."""

    nodes: _Nodes  # (s, corners)
    at: _Floats  # (s, d)
    weights: _Floats  # (s,), over the radius
    samples: _Samples


def _window(points: _Floats, pieces: _Nodes, radius: float, width: float) -> _Window:
    samples = _samples(points, pieces, width * radius / _PER_WIDTH)
    sizes = np.sqrt((piece_normals(points, pieces) ** 2).sum(axis=1))
    nodes = pieces[samples.piece]
    at = np.einsum("sc,scd->sd", samples.shares, points[nodes])
    weights = sizes[samples.piece] * samples.weight / radius ** (points.shape[1] - 1)
    return _Window(nodes, at, weights, samples)


def _surroundings(points: _Floats, bodies: Bodies, centers: _Floats, radius: float) -> _Floats:
    """Return the moments of the rest of the skin around every body, (B, moments)."""
    found: list[list[list[float]]] = [[] for _ in centers]
    d = points.shape[1]
    for width in WIDTHS:
        seen = _window(points, bodies.rest, radius, width)
        own = bodies.own[seen.samples.piece]
        for body, center in enumerate(centers):
            r = (seen.at - center) / (radius * width)
            g = np.where(own == body, 0.0, seen.weights) * np.exp(-0.5 * (r**2).sum(axis=1))
            matrix = r.T @ (g[:, None] * r)
            matrix -= np.trace(matrix) / d * np.eye(d)
            found[body].append([g.sum(), *(g @ r), *(matrix[i, j] for i, j in pairs(d)[:-1])])
    return np.array(found).reshape(len(centers), -1)


def _surroundings_back(
    points: _Floats,
    bodies: Bodies,
    body: int,
    center: _Floats,
    radius: float,
    gradient: _Floats,
    total: _Floats,
) -> tuple[_Floats, _Floats]:
    """Add the gradients in the points to ``total``; return those in the center, (d, m), and in the radius, (m,)."""
    d, m = points.shape[1], gradient.shape[1]
    in_center, in_radius = np.zeros((d, m)), np.zeros(m)
    each = 1 + d + len(pairs(d)) - 1
    for number, width in enumerate(WIDTHS):
        pieces = bodies.rest[bodies.own != body]
        if not len(pieces):
            continue
        seen = _window(points, pieces, radius, width)
        away = (seen.at - center) / radius
        r = away / width
        bell = np.exp(-0.5 * (r**2).sum(axis=1))
        own = gradient[number * each : (number + 1) * each]
        for f in range(m):
            zero, first = own[0, f], own[1 : d + 1, f]
            second = np.zeros((d, d))
            for value, (i, j) in zip(own[d + 1 :, f], pairs(d)[:-1], strict=True):
                second[i, j] += value / 2
                second[j, i] += value / 2
            second -= np.trace(second) / d * np.eye(d)
            worth = zero + r @ first + ((r @ second) * r).sum(axis=1)
            g = seen.weights * bell
            in_away = (g[:, None] * (first + 2 * r @ second - worth[:, None] * r)) / width
            in_weights = worth * bell
            for corner in range(points.shape[1]):
                for axis in range(d):
                    total[:, axis, f] += np.bincount(
                        seen.nodes[:, corner], seen.samples.shares[:, corner] * in_away[:, axis] / radius, len(points)
                    )
            in_center[:, f] -= in_away.sum(axis=0) / radius
            in_radius[f] -= ((in_away * away).sum() + (d - 1) * (in_weights * seen.weights).sum()) / radius
            in_sizes = np.bincount(seen.samples.piece, in_weights * seen.samples.weight, len(pieces))
            vectors = piece_normals(points, pieces)
            sizes = np.sqrt((vectors**2).sum(axis=1))
            along = vectors * (in_sizes / sizes / radius ** (d - 1))[:, None]
            total[:, :, f] += pieces_back(points, pieces, along)
    return in_center, in_radius
