"""Fluent's meshes (``.msh``), and the cells of any mesh that is given by its faces.

Finite-volume programs list faces, each with the cell on either side; kernels and VTK want the nodes of every cell, in
order: :func:`plane_cells` and :func:`solid_cells`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.io.shared import NamedSets, Piece, UnsupportedError, join
from swwl.mesh.mesh import Mesh

Ints = NDArray[np.int64]


def plane_cells(edges: Ints, left: Ints, right: Ints, n_cells: int) -> tuple[list[tuple[str, Ints]], Ints]:
    """Return the cells of a plane mesh.

    Parameters
    ----------
    edges : ndarray of shape (m, 2)
        Nodes.
    left, right : ndarrays of shape (m,)
        The cell that an edge goes around in its direction, and the one that it goes around in the other; -1 for none.
    n_cells : int

    Returns
    -------
    blocks : list of (type, ndarray of shape (k, corners))
    source : ndarray of shape (n_cells,)
        Which cell each one is.

    Examples
    --------
    >>> edges = np.array([[0, 1], [1, 2], [2, 0]])
    >>> plane_cells(edges, np.zeros(3, int), np.full(3, -1), 1)[0][0][1].tolist()
    [[0, 1, 2]]
    """
    owner = np.concatenate([left, right])
    both = np.concatenate([edges, edges[:, ::-1]])[owner >= 0]
    owner = owner[owner >= 0]
    # One number for a cell and the node where one of its edges begins, to find the edge by.
    scale = int(both.max(initial=0)) + 1
    keys = owner * scale + both[:, 0]
    order = np.argsort(keys)
    keys, ends = keys[order], both[order, 1]
    if (keys[1:] == keys[:-1]).any():
        raise InputError("the edges around one of its cells do not go around in one direction")
    sizes = np.bincount(owner, minlength=n_cells)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    blocks, sources = [], []
    for size in np.unique(sizes):
        cells = np.flatnonzero(sizes == size)
        if size < 3:
            raise InputError(f"its cell {cells[0] + 1} has {size} edges; at least three are needed")
        ring = [keys[starts[cells]] % scale]
        for _ in range(int(size)):
            wanted = cells * scale + ring[-1]
            places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            if (keys[places] != wanted).any():
                raise InputError("the edges around one of its cells do not meet")
            ring.append(ends[places])
        if (ring.pop() != ring[0]).any():
            raise InputError("the edges around one of its cells do not close")
        blocks.append(({3: "triangle", 4: "quad"}.get(int(size), "polygon"), np.column_stack(ring)))
        sources.append(cells)
    return blocks, np.concatenate(sources) if sources else np.empty(0, np.int64)


def solid_cells(faces: Sequence[tuple[Ints, Ints]], n_cells: int) -> tuple[list[tuple[str, Ints]], Ints]:
    """Return the tetrahedra, pyramids, wedges and hexahedra that triangles and quadrilaterals enclose.

    Parameters
    ----------
    faces : sequence of (nodes, cells)
        Arrays of shapes (m, 3) or (m, 4), and (m, 2) for the cells on both sides, -1 for none.
    n_cells : int

    Returns
    -------
    blocks, source
        As of :func:`plane_cells`.
    """
    sides = {3: _sides(faces, 3, n_cells), 4: _sides(faces, 4, n_cells)}
    counts = np.stack([sides[3][0], sides[4][0]], axis=1)
    blocks, sources = [], []
    for shape in np.unique(counts, axis=0):
        cells = np.flatnonzero((counts == shape).all(axis=1))
        key = (int(shape[0]), int(shape[1]))
        if key not in _SOLIDS:
            raise InputError(f"it has polyhedra (cells of {key[0]} triangles and {key[1]} other faces), not supported")
        triangles, quads = (_of_cells(sides[width], cells, count) for width, count in zip((3, 4), key, strict=True))
        blocks.append((_SOLIDS[key], _nodes(triangles, quads)))
        sources.append(cells)
    return blocks, np.concatenate(sources) if sources else np.empty(0, np.int64)


_SOLIDS = {(4, 0): "tetra", (4, 1): "pyramid", (2, 3): "wedge", (0, 6): "hexahedron"}


def _sides(faces: Sequence[tuple[Ints, Ints]], width: int, n_cells: int) -> tuple[Ints, Ints, Ints]:
    """Sort faces of one width by cells: how many each has, where they begin, and their nodes."""
    empty = (np.empty((0, width), np.int64), np.empty((0, 2), np.int64))
    chosen = [empty, *(pair for pair in faces if pair[0].shape[1] == width)]
    nodes, cells = (np.concatenate(part) for part in zip(*chosen, strict=True))
    owner = np.concatenate([cells[:, 0], cells[:, 1]])
    inside = np.flatnonzero(owner >= 0)
    inside = inside[np.argsort(owner[inside], kind="stable")]
    counts = np.bincount(owner[inside], minlength=n_cells)
    return counts, np.concatenate([[0], np.cumsum(counts)]), nodes[inside % max(1, len(nodes))]


def _of_cells(sides: tuple[Ints, Ints, Ints], cells: Ints, count: int) -> Ints:
    """Return the faces of cells that have equally many: (cells, count, width)."""
    _, starts, nodes = sides
    return nodes[starts[cells][:, None] + np.arange(count)]


def _nodes(triangles: Ints, quads: Ints) -> Ints:
    """Return the nodes of cells of one kind in VTK's order, from their faces (m, faces, width)."""
    if not quads.shape[1] or quads.shape[1] == 1:  # a base and a top
        base = quads[:, 0] if quads.shape[1] else triangles[:, 0]
        others = triangles.reshape(len(triangles), -1)
        apart = ~(others[:, :, None] == base[:, None, :]).any(axis=2)
        _need(apart.any(axis=1))
        return np.column_stack([base, others[np.arange(len(others)), apart.argmax(axis=1)]])
    base = triangles[:, 0] if triangles.shape[1] else quads[:, 0]
    # Over every node of the base stands the one that an edge joins it to, outside of the base.
    pairs: Any = np.stack([quads, np.roll(quads, -1, axis=2)], axis=-1).reshape(len(quads), -1, 2)
    pairs = np.concatenate([pairs, pairs[:, :, ::-1]], axis=1)
    leaves = ~(pairs[:, :, 1, None] == base[:, None, :]).any(axis=2)
    tops = []
    for corner in base.T:
        upright = leaves & (pairs[:, :, 0] == corner[:, None])
        _need(upright.any(axis=1))
        tops.append(pairs[np.arange(len(pairs)), upright.argmax(axis=1), 1])
    return np.column_stack([base, *tops])


def _need(found: NDArray[np.bool_]) -> None:
    if not found.all():
        raise InputError("the faces of one of its cells do not enclose it")


_SECTION = re.compile(rb"\(\s*+(\d++)\s*+(?:\(([^()]*+)\)\s*+(\()?)?")
_NODES, _CELLS, _FACES = 10, 12, 13
_INTERIOR = 2
_NAME = re.compile(rb"\(\s*(?:39|45)\s*\(\s*(\d+)\s+[^\s()]+\s+([^\s()]+)")
_DIMENSION = re.compile(rb"\(\s*2\s+([23])\s*\)")


def read_fluent(path: Path) -> Mesh:
    """Read a mesh of triangles, quadrilaterals, tetrahedra, pyramids, wedges and hexahedra."""
    data = path.read_bytes()
    found = _DIMENSION.search(data)
    d = int(found[1]) if found else 3
    points: list[tuple[int, NDArray[np.float64]]] = []
    faces: list[tuple[Ints, Ints]] = []
    zones: list[tuple[int, list[tuple[Ints, Ints]]]] = []  # boundary faces
    ranges: list[tuple[int, int, int]] = []  # of cells
    n_nodes = n_cells = 0
    for number, head, body in _sections(data):
        if number in (2010, 3010, 2012, 3012, 2013, 3013):
            raise UnsupportedError("it is a binary Fluent mesh, which is not supported; save it as text")
        if number in (58, 59):
            raise UnsupportedError("it is a Fluent mesh refined by halves (a cell tree), which is not supported")
        if number == _NODES:
            n_nodes = max(n_nodes, head[2])
            if body is not None:
                points.append((head[1], _points(body, head, d)))
        elif number == _CELLS:
            n_cells = max(n_cells, head[2])
            ranges += [(head[0], head[1], head[2])] if head[0] else []
        elif number == _FACES and body is not None:
            some = _faces(body, head)
            faces += some
            zones += [(head[0], some)] if len(head) < 4 or head[3] != _INTERIOR else []
    if not points or not faces or not n_cells:
        raise InputError("it is a mesh of Fluent without nodes, faces or cells (is it cut off?)")
    coordinates = np.full((n_nodes, d), np.nan) if n_nodes <= len(data) else np.empty((0, d))
    for first, block in points:
        coordinates[first - 1 : first - 1 + len(block)] = block
    if not np.isfinite(coordinates.sum()):
        raise InputError(f"it declares {n_nodes} nodes, but not all of them have coordinates (is it cut off?)")
    blocks, source = _blocks(coordinates, faces, n_cells, d)
    return join([Piece(coordinates, list(blocks), {}, {}, _sets(_names(data), zones, ranges, source))])


def _names(data: bytes) -> dict[int, str]:
    """Return the names of zones by their numbers, which the sections of names give in decimal digits."""
    return {int(match[1]): match[2].decode("utf-8", "replace") for match in _NAME.finditer(data)}


def _sets(
    names: dict[int, str],
    zones: list[tuple[int, list[tuple[Ints, Ints]]]],
    ranges: list[tuple[int, int, int]],
    source: Ints,
) -> NamedSets:
    """Return the zones of boundary faces and of cells; ``source`` says which cell of the file each one is."""
    sets = NamedSets()
    for zone, faces in zones:
        for nodes, _ in faces:
            if nodes.shape[1] <= 4:
                kind = {2: "line", 3: "triangle", 4: "quad"}[nodes.shape[1]]
                sets.add_faces(names.get(zone, f"zone {zone}"), kind, nodes)
    for zone, first, last in ranges:
        chosen = np.flatnonzero((source >= first - 1) & (source < last))
        sets.add_cells(names.get(zone, f"zone {zone}"), chosen)
    return sets


def _blocks(
    points: NDArray[np.float64], faces: list[tuple[Ints, Ints]], n_cells: int, d: int
) -> tuple[list[tuple[str, Ints]], Ints]:
    most = max(int(cells.max(initial=0)) for _, cells in faces)
    if most >= n_cells or max(int(nodes.max(initial=0)) for nodes, _ in faces) >= len(points):
        raise InputError(f"its faces name more than the {n_cells} cells and {len(points)} nodes it declares")
    if min(int(nodes.min(initial=0)) for nodes, _ in faces) < 0:
        raise InputError("its faces name node 0, but nodes are counted from 1")
    if d == 2:
        edges, sides = (np.concatenate(part) for part in zip(*faces, strict=True))
        if edges.shape[1] != 2:
            raise InputError("it is a plane mesh of Fluent with faces that are not lines")
        return plane_cells(edges, sides[:, 0], sides[:, 1], n_cells)
    return solid_cells(faces, n_cells)


def _sections(data: bytes) -> list[tuple[int, list[int], bytes | None]]:
    """Return the sections with numbers: index, the integers of its head, and its text if there is any."""
    found: list[tuple[int, list[int], bytes | None]] = []
    position = 0
    while True:
        match = _SECTION.search(data, position)
        if match is None:
            return found
        number, position = int(match[1]), match.end()
        if match[2] is None or number in (0, 1, 2, 39, 45):  # texts
            position = _after(data, match.start())
            continue
        try:
            head = [int(word, 16) for word in match[2].split()]
        except ValueError:
            position = _after(data, match.start())
            continue
        body = None
        if match[3] is not None:
            if number in (2010, 3010, 2012, 3012, 2013, 3013):
                return [*found, (number, head, None)]
            end = data.find(b")", position)
            if end < 0:
                raise InputError(f"it is a mesh of Fluent that is cut off in section {number}")
            body, position = data[position:end], end + 1
        if len(head) >= 3:
            found.append((number, head, body))


def _after(data: bytes, start: int) -> int:
    """Return where the parenthesis that opens here has been closed; parentheses in quotes do not count."""
    depth = 0
    for match in re.compile(rb'"[^"]*+"|[()]').finditer(data, start):
        depth += {b"(": 1, b")": -1}.get(match.group(), 0)
        if depth == 0:
            return match.end()
    return len(data)


def _points(body: bytes, head: list[int], d: int) -> NDArray[np.float64]:
    count = head[2] - head[1] + 1
    words = body.split()
    if count < 0 or head[1] < 1 or len(words) != count * d:
        raise InputError(f"its nodes {head[1]} to {head[2]} have {len(words)} coordinates instead of {count * d}")
    return np.array([float(word) for word in words]).reshape(-1, d)


def _faces(body: bytes, head: list[int]) -> list[tuple[Ints, Ints]]:
    """Return the nodes and the cells of faces, counted from zero, -1 for none; one pair for each number of nodes."""
    count, kind = head[2] - head[1] + 1, head[4] if len(head) > 4 else 0
    try:
        numbers = np.array([int(word, 16) for word in body.split()], np.int64)
    except (ValueError, OverflowError):
        raise InputError("its faces hold something that is not a hexadecimal number") from None
    if kind in (2, 3, 4):
        if len(numbers) != count * (kind + 2):
            raise InputError(f"its faces {head[1]} to {head[2]} have {len(numbers)} numbers, not {count * (kind + 2)}")
        rows = numbers.reshape(-1, kind + 2)
        return [(rows[:, :kind] - 1, rows[:, kind:] - 1)]
    starts, place = [], 0
    while place < len(numbers):  # mixed: every face begins with its number of nodes
        starts.append(place)
        place += int(numbers[place]) + 3 if numbers[place] > 1 else len(numbers) + 1
    if place != len(numbers) or len(starts) != count:
        raise InputError(f"its faces {head[1]} to {head[2]} are not {count} faces")
    first = np.array(starts, np.int64)
    found = []
    for size in np.unique(numbers[first]):
        rows = numbers[first[numbers[first] == size][:, None] + np.arange(1, size + 3)] - 1
        found.append((rows[:, :size], rows[:, size:]))
    return found
