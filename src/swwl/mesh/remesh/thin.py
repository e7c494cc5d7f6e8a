"""Nearly the same part with a coarser mesh, by numpy alone: nodes are left out, the others stay where they are.

Quick and rough, for meshes that nobody looks at: ``regression/influence.py`` asks what a model makes of them. For good
meshes see ``coarsen.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.errors import InputError
from swwl.mesh.arrays import first_at_place
from swwl.mesh.boundary import boundary
from swwl.mesh.cells import cell_dimension, cut_into_simplices, top_cells
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.coarsen import anchors, outline_curves

_Floats = NDArray[np.float64]
_Numbers = NDArray[np.integer]
_Mask = NDArray[np.bool_]

# A node goes to a neighbor that lies off the planes of its pieces of the skin by at most this share of the distance: so
# sharp edges and corners stay, and rounded ones become coarser.
_OFF = 0.5
# By how much pieces of the skin may turn (cosine), and the share of its size that a cell keeps at least.
_TURN, _LEAST_SIZE = 0.5, 0.05
_ROUNDS = 40


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
    cells = cut_into_simplices(mesh.cells).astype(np.intp)
    if top < d:  # nodes of surfaces and contours at one place are one, as they are for the skin
        cells = first_at_place(mesh.points)[cells]
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
    wanted = share * len(np.unique(cells))
    for _ in range(_ROUNDS):
        left = len(np.unique(cells))
        if left <= wanted:
            break
        pairs = _round(points, cells, rng)[: int(np.ceil(left - wanted))]
        if not len(pairs):
            break
        target = np.arange(len(points))
        target[pairs[:, 0]] = pairs[:, 1]
        cells = target[cells]
        cells = cells[(np.diff(np.sort(cells, axis=1), axis=1) > 0).all(axis=1)]
    return cells


def _round(points: _Floats, cells: _Numbers, rng: np.random.Generator) -> _Numbers:
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
    off = _off_planes(points, pieces, both)
    if not domain:
        off = np.maximum(off, _off_lines(points, rim, both))
    step = np.linalg.norm(points[both[:, 1]] - points[both[:, 0]], axis=1)
    allowed = off <= _OFF * step
    both, step = both[allowed], step[allowed] * rng.uniform(1.0, 2.0, int(allowed.sum()))
    order = np.lexsort((step, both[:, 0]))
    first = order[np.unique(both[order, 0], return_index=True)[1]]
    pairs = both[first]
    # Of neighbors, one may go at a time.
    rank = np.full(n, -1)
    rank[pairs[:, 0]] = rng.permutation(len(pairs))
    highest = rank.copy()
    np.maximum.at(highest, edges[:, 0], rank[edges[:, 1]])
    np.maximum.at(highest, edges[:, 1], rank[edges[:, 0]])
    pairs = pairs[rank[pairs[:, 0]] == highest[pairs[:, 0]]]
    pairs = pairs[_keeps_cells(points, cells, pieces, edges, pairs)]
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
    k = blocks.shape[1]
    incidence = sparse.csr_array(
        (np.ones(blocks.size, np.int8), (blocks.ravel(), np.repeat(np.arange(len(blocks)), k))), (n, len(blocks))
    )
    found = incidence[nodes].tocoo()
    return found.row, found.col


def _off_planes(points: _Floats, pieces: _Numbers, pairs: _Numbers) -> _Floats:
    """Return how far the second node of each pair lies off the planes of the skin at the first, at most."""
    normals = _normals(points, pieces)
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
    place, piece = _around(pairs[:, 0], pieces, len(points))
    steps = points[pairs[place, 1]] - points[pairs[place, 0]]
    found = np.zeros(len(pairs))
    np.maximum.at(found, place, np.abs((steps * normals[piece]).sum(axis=1)))
    return found


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


def _keeps_cells(points: _Floats, cells: _Numbers, pieces: _Numbers, edges: _Numbers, pairs: _Numbers) -> _Mask:
    """Say of pairs whether joining them turns no cell or piece around, and joins nothing else."""
    n, good = len(points), np.ones(len(pairs), bool)
    for blocks, is_cell in ((cells, True), (pieces, False)):
        if is_cell and blocks.shape[1] == points.shape[1]:
            continue  # of a surface, cells are its pieces
        place, row = _around(pairs[:, 0], blocks, n)
        stays = ~(blocks[row] == pairs[place, 1][:, None]).any(axis=1)
        place, row = place[stays], row[stays]
        moved = np.where(blocks[row] == pairs[place, 0][:, None], pairs[place, 1][:, None], blocks[row])
        if is_cell:
            before, after = _signed_sizes(points, blocks[row]), _signed_sizes(points, moved)
            fine = after * np.sign(before) > _LEAST_SIZE * np.abs(before)
        else:
            before, after = _normals(points, blocks[row]), _normals(points, moved)
            lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
            fine = (before * after).sum(axis=1) > _TURN * lengths
        good[place[~fine]] = False
    # Nodes that both are joined with must be those of the cells at their edge: otherwise sheets would fall together.
    adjacency = sparse.csr_array((np.ones(len(edges), np.int32), edges.T), (n, n))
    adjacency = adjacency + adjacency.T
    common = (adjacency[pairs[:, 0]] * adjacency[pairs[:, 1]]).sum(axis=1)
    place, row = _around(pairs[:, 0], cells, n)
    at_edge = (cells[row] == pairs[place, 1][:, None]).any(axis=1)
    place, row = place[at_edge], row[at_edge]
    keys = np.unique((place[:, None] * n + cells[row]).ravel())
    at_cells = np.bincount(keys // n, minlength=len(pairs)) - 2
    return np.asarray(good & (common == at_cells))


def _signed_sizes(points: _Floats, cells: _Numbers) -> _Floats:
    corners = points[cells]
    return np.asarray(np.linalg.det(corners[:, 1:] - corners[:, :1]))
