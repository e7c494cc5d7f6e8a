"""Nearly the same part with a coarser mesh, by numpy alone: nodes are left out, the others stay where they are.

Quick and rough, for meshes that nobody looks at: ``regression/influence.py`` asks what a model makes of them. For good
meshes see ``coarsen.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import first_at_place
from swwl.mesh.boundary import boundary
from swwl.mesh.cells import cell_dimension, cut_into_simplices, top_cells
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.coarsen import anchors, outline_curves

_Floats = NDArray[np.float64]
_Numbers = NDArray[np.integer]
_Mask = NDArray[np.bool_]

# A node goes to a neighbor that lies off the planes of its pieces of the skin by at most this share of the distance, in
# the mean over their areas: sharp edges and corners stay, rounded ones become coarser.
_OFF = 0.35
# No edge becomes longer than so many times what is requested on average.
_LONGEST = 2.0
# By how much pieces of the skin may turn (cosine), and the share of its size that a cell keeps at least.
_TURN, _LEAST_SIZE = 0.5, 0.05
# Edges are turned between triangles whose normals differ by less (cosine, to their mean).
_FLAT = 0.9
_ROUNDS, _FLIPS = 30, 4


def thinned(mesh: Mesh, share: float) -> Mesh:
    """Leave out nodes of a mesh until a share of them is left, or no more can go.

    Along lines, every second or so goes; in other meshes, nodes are joined with neighbors where cells keep their
    orientation and the skin keeps its sharp edges.

    Parameters
    ----------
    mesh : Mesh
        Lines in the plane, surfaces, plane or solid domains.
    share : float
        Of the nodes that cells use, between 0 and 1.

    Returns
    -------
    Mesh
        Of lines, triangles or tetrahedra, whose nodes are some of those that were given, with their fields.

    Raises
    ------
    InputError
        Where there are no such cells.

    Examples
    --------
    >>> angle = 2 * np.pi * np.arange(64) / 64
    >>> circle = Mesh(np.column_stack([np.cos(angle), np.sin(angle)]), [(k, (k + 1) % 64) for k in range(64)])
    >>> thinned(circle, 0.5).n_nodes
    32
    """
    top = max(map(cell_dimension, top_cells(mesh.cells)), default=0)
    d = mesh.dimension
    if d not in (2, 3) or top < d - 1 or top == 0:
        raise InputError("Only lines in the plane, surfaces, plane and solid domains can be made coarser.")
    cells: _Numbers = cut_into_simplices(mesh.cells).astype(np.intp)
    if top < d:  # nodes of surfaces and contours at one place are one, as they are for the skin
        cells = first_at_place(mesh.points).astype(np.intp)[cells]
    cells = cells[(np.diff(np.sort(cells, axis=1), axis=1) > 0).all(axis=1)]
    found = _thinned_lines(mesh.points, cells, 1 / share) if top == 1 else _collapsed(mesh.points, cells, share)
    used, numbers = np.unique(found, return_inverse=True)
    kind = {2: "line", 3: "triangle", 4: "tetra"}[cells.shape[1]]
    fields = {name: field[used] for name, field in mesh.fields.items()}
    return Mesh(mesh.points[used], {kind: numbers.reshape(found.shape).astype(np.int32)}, fields, mesh.name)


def _thinned_lines(points: _Floats, lines: _Numbers, factor: float) -> _Numbers:
    """Return longer lines between some of the nodes: about one in every ``factor``, and all corners."""
    lengths = np.linalg.norm(np.diff(points[lines], axis=1)[:, 0], axis=1)
    n = len(points)
    total = np.bincount(lines.ravel(), np.repeat(lengths, 2), n)
    sizes = factor * total / np.maximum(np.bincount(lines.ravel(), minlength=n), 1)
    sizes = np.maximum(sizes, 1e-9 * lengths.max())
    found = []
    for curve in outline_curves(lines):
        kept = np.isin(curve, anchors(points, curve, sizes))
        kept[[0, -1]] |= curve[0] != curve[-1]
        nodes = curve[:-1][kept[:-1]] if curve[0] == curve[-1] else curve[kept]
        closed = np.append(nodes, nodes[0]) if curve[0] == curve[-1] else nodes
        found.append(np.column_stack([closed[:-1], closed[1:]]))
    return np.concatenate(found)


def _collapsed(points: _Floats, cells: _Numbers, share: float) -> _Numbers:
    """Join nodes of triangles or tetrahedra (m, k) with neighbors, many at a time, until a share of them is left."""
    rng = np.random.default_rng(0)
    left = len(np.unique(cells))
    wanted = share * left
    longest = _LONGEST * share ** (-1 / (cells.shape[1] - 1)) * _edge_lengths(points, cells)
    for _ in range(_ROUNDS):
        pairs = _round(points, cells, longest, rng)[: int(np.ceil(left - wanted))]
        if len(pairs) < 0.01 * left or left <= wanted:
            break
        target = np.arange(len(points))
        target[pairs[:, 0]] = pairs[:, 1]
        cells = target[cells]
        cells = cells[(np.diff(np.sort(cells, axis=1), axis=1) > 0).all(axis=1)]
        left -= len(pairs)
    for _ in range(_FLIPS):
        cells = _flipped(points, cells)
    return cells


def _flipped(points: _Floats, cells: _Numbers) -> _Numbers:
    """Turn edges between two triangles of a surface where the angles across are larger than 180 degrees together.

    On curved surfaces long thin triangles have normals of their own; this makes them rare.
    """
    if cells.shape[1] != 3 or points.shape[1] != 3:
        return cells
    n, m = len(points), len(cells)
    tails, heads, tips = cells.T.ravel(), np.roll(cells, -1, axis=1).T.ravel(), np.roll(cells, -2, axis=1).T.ravel()
    keys, back = _keys(np.column_stack([tails, heads]), n), _keys(np.column_stack([heads, tails]), n)
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys[order], back), len(order) - 1)
    other = order[place]
    mine = np.flatnonzero((keys[other] == back) & (tails < heads))
    a, b, c, e = tails[mine], heads[mine], tips[mine], tips[other[mine]]
    excess = _angles(points, c, a, b) + _angles(points, e, a, b) - np.pi
    first, second = mine % m, other[mine] % m
    # The two new triangles, and whether they look as the old ones do.
    one, two = np.column_stack([a, e, c]), np.column_stack([e, b, c])
    before = _normals(points, cells[first]) + _normals(points, cells[second])
    long = np.linalg.norm(before, axis=1)
    fits = np.ones(len(mine), bool)
    for new in (one, two):
        own = _normals(points, new)
        fits &= (own * before).sum(axis=1) > _FLAT * long * np.linalg.norm(own, axis=1)
    for old in (first, second):
        own = _normals(points, cells[old])
        fits &= (own * before).sum(axis=1) > _FLAT * long * np.linalg.norm(own, axis=1)
    fits &= ~np.isin(_keys(np.sort(np.column_stack([c, e]), axis=1), n), _keys(_edges(cells)[0], n)) & (c != e)
    gain = np.where(fits & (excess > 1e-6), excess, -1.0)
    best = np.full(m, 0.0)
    np.maximum.at(best, first, gain)
    np.maximum.at(best, second, gain)
    chosen = np.flatnonzero((gain > 0) & (gain == best[first]) & (gain == best[second]))
    # Of two that would make the same edge, one.
    chosen = chosen[np.unique(_keys(np.sort(np.column_stack([c, e])[chosen], axis=1), n), return_index=True)[1]]
    chosen = chosen[np.unique(first[chosen], return_index=True)[1]]
    chosen = chosen[np.unique(second[chosen], return_index=True)[1]]
    chosen = chosen[~np.isin(first[chosen], second[chosen])]
    found = cells.copy()
    found[first[chosen]], found[second[chosen]] = one[chosen], two[chosen]
    return found


def _angles(points: _Floats, tip: _Numbers, a: _Numbers, b: _Numbers) -> _Floats:
    """Return the angles at tips of triangles."""
    u, v = points[a] - points[tip], points[b] - points[tip]
    lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
    return np.arccos(np.clip((u * v).sum(axis=1) / np.maximum(lengths, np.finfo(float).tiny), -1.0, 1.0))


def _edge_lengths(points: _Floats, cells: _Numbers) -> _Floats:
    """Return the mean length (n,) of the edges at every node."""
    edges, n = _edges(cells)[0], len(points)
    lengths = np.repeat(np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1), 2)
    return np.bincount(edges.ravel(), lengths, n) / np.maximum(np.bincount(edges.ravel(), minlength=n), 1)


def _round(points: _Floats, cells: _Numbers, longest: _Floats, rng: np.random.Generator) -> _Numbers:
    """Return pairs (node, neighbor that takes its place) that can go at once, in an order drawn at random."""
    n, d = points.shape
    domain = cells.shape[1] == d + 1
    kind = {3: "triangle", 4: "tetra"}[cells.shape[1]]
    pieces: _Numbers = boundary(points, {kind: cells.astype(np.int32)}) if domain else cells
    edges, counts = _edges(cells)
    # Where a node may go: along the skin of a domain, along the border of a surface; from elsewhere, anywhere.
    rim = _edges(pieces)[0] if domain else edges[counts == 1]
    held = np.zeros(n, bool)
    held[rim.ravel()] = True
    both = np.concatenate([edges, edges[:, ::-1]])
    on_rim = np.isin(_keys(np.sort(both, axis=1), n), _keys(rim, n))
    both = both[on_rim | ~held[both[:, 0]]]
    steps = points[both[:, 1]] - points[both[:, 0]]
    length = np.linalg.norm(steps, axis=1)
    away = _off_planes(points, pieces, both[:, 0], steps)
    if not domain:
        away = np.maximum(away, _off_lines(points, rim, both))
    allowed = (away <= _OFF * length) & (length <= longest[both[:, 0]])
    both, cost = both[allowed], length[allowed] * rng.uniform(1.0, 1.5, int(allowed.sum()))
    order = np.lexsort((cost, both[:, 0]))
    pairs = both[order[np.unique(both[order, 0], return_index=True)[1]]]
    # Of neighbors, one may go at a time.
    rank = np.full(n, -1)
    rank[pairs[:, 0]] = rng.permutation(len(pairs))
    highest = rank.copy()
    np.maximum.at(highest, edges[:, 0], rank[edges[:, 1]])
    np.maximum.at(highest, edges[:, 1], rank[edges[:, 0]])
    pairs = pairs[rank[pairs[:, 0]] == highest[pairs[:, 0]]]
    pairs = pairs[_keeps_cells(points, cells, pieces, longest, pairs)]
    return pairs[np.argsort(rank[pairs[:, 0]])]


def _edges(cells: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Return the distinct edges of simplices, or the lines themselves, sorted (e, 2), and how often each occurs."""
    k = cells.shape[1]
    sides = np.concatenate([cells[:, [a, b]] for a in range(k) for b in range(a + 1, k)])
    sides = np.sort(sides, axis=1).astype(np.int64)
    size = int(cells.max(initial=0)) + 1
    keys, counts = np.unique(_keys(sides, size), return_counts=True)
    return np.column_stack([keys // size, keys % size]), counts


def _keys(edges: _Numbers, n: int) -> NDArray[np.int64]:
    return edges[:, 0].astype(np.int64) * n + edges[:, 1]


def _around(nodes: _Numbers, blocks: _Numbers, n: int) -> tuple[_Numbers, _Numbers]:
    """Return pairs: a place in ``nodes``, and a row of ``blocks`` that has that node."""
    order = np.argsort(blocks.ravel(), kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(blocks.ravel(), minlength=n)))
    counts = starts[nodes + 1] - starts[nodes]
    place = np.repeat(np.arange(len(nodes)), counts)
    within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place, order[starts[nodes][place] + within] // blocks.shape[1]


def _off_planes(points: _Floats, pieces: _Numbers, nodes: _Numbers, steps: _Floats) -> _Floats:
    """Return how far steps (m, d) from nodes (m,) lead off the planes of the skin there: root of the mean square."""
    normals, n = _normals(points, pieces), len(points)
    sizes = np.linalg.norm(normals, axis=1)
    unit = normals / np.maximum(sizes, np.finfo(float).tiny)[:, None]
    total = np.zeros(len(steps))
    k, d = pieces.shape[1], points.shape[1]
    corners, share = pieces.ravel(), np.repeat(sizes, k)
    mass = np.maximum(np.bincount(corners, share, n), np.finfo(float).tiny)
    for i in range(d):
        for j in range(i, d):
            own = np.bincount(corners, share * np.repeat(unit[:, i] * unit[:, j], k), n) / mass
            total += (1 + (i != j)) * own[nodes] * steps[:, i] * steps[:, j]
    return np.sqrt(np.maximum(total, 0.0))


def _off_lines(points: _Floats, lines: _Numbers, pairs: _Numbers) -> _Floats:
    """Return how far the second node of each pair lies off the lines at the first, at most."""
    found = np.zeros(len(pairs))
    if not len(lines):
        return found
    along = points[lines[:, 1]] - points[lines[:, 0]]
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), np.finfo(float).tiny)
    place, line = _around(pairs[:, 0], lines, len(points))
    steps = points[pairs[place, 1]] - points[pairs[place, 0]]
    left = steps - (steps * along[line]).sum(axis=1, keepdims=True) * along[line]
    np.maximum.at(found, place, np.linalg.norm(left, axis=1))
    return found


def _normals(points: _Floats, pieces: _Numbers) -> _Floats:
    """Return the normals of sides in the plane or of triangles in space, as long as these are large."""
    corners = points[pieces]
    if pieces.shape[1] == 2:
        along = corners[:, 1] - corners[:, 0]
        return np.column_stack([along[:, 1], -along[:, 0]])
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def _keeps_cells(points: _Floats, cells: _Numbers, pieces: _Numbers, longest: _Floats, pairs: _Numbers) -> _Mask:
    """Say of pairs whether joining them turns no cell or piece around, makes no long edges, and joins nothing else."""
    n, good = len(points), np.ones(len(pairs), bool)
    around = _around(pairs[:, 0], cells, n)
    surface = cells.shape[1] == points.shape[1]  # whose cells are the pieces of the skin
    for blocks, (place, row) in (
        [(cells, around)] if surface else [(cells, around), (pieces, _around(pairs[:, 0], pieces, n))]
    ):
        stays = ~(blocks[row] == pairs[place, 1][:, None]).any(axis=1)
        place, row = place[stays], row[stays]
        moved = np.where(blocks[row] == pairs[place, 0][:, None], pairs[place, 1][:, None], blocks[row])
        if blocks.shape[1] > points.shape[1]:
            before, after = _signed_sizes(points, blocks[row]), _signed_sizes(points, moved)
            fine = after * np.sign(before) > _LEAST_SIZE * np.abs(before)
        else:
            old, new = _normals(points, blocks[row]), _normals(points, moved)
            fine = (old * new).sum(axis=1) > _TURN * np.linalg.norm(old, axis=1) * np.linalg.norm(new, axis=1)
        for column in moved.T:
            fine &= np.linalg.norm(points[column] - points[pairs[place, 1]], axis=1) <= longest[column]
        good[place[~fine]] = False
    # Nodes that both are joined with must be those of the cells at their edge: otherwise sheets would fall together.
    place, row = around
    there = _around(pairs[:, 1], cells, n)
    both = np.intersect1d(_nodes_of(cells, place, row, n), _nodes_of(cells, *there, n), assume_unique=True)
    at_edge = (cells[row] == pairs[place, 1][:, None]).any(axis=1)
    known = _nodes_of(cells, place[at_edge], row[at_edge], n)
    size = len(pairs)
    return np.asarray(good & (np.bincount(both // n, minlength=size) == np.bincount(known // n, minlength=size)))


def _nodes_of(cells: _Numbers, place: _Numbers, row: _Numbers, n: int) -> _Numbers:
    """Return the distinct nodes of rows of cells at each place, as one number each: place * n + node."""
    return np.unique((place[:, None] * n + cells[row]).ravel())


def _signed_sizes(points: _Floats, cells: _Numbers) -> _Floats:
    corners = points[cells]
    return np.asarray(np.linalg.det(corners[:, 1:] - corners[:, :1]))
