"""Fluent's meshes (``.msh``), which list faces with the cells on both sides."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.io.faces import Ints, plane_cells, solid_cells
from swwl.mesh.io.shared import NamedSets, Piece, UnsupportedError, join
from swwl.mesh.mesh import Mesh

_SECTION = re.compile(rb"\(\s*+(\d++)\s*+(?:\(([^()]*+)\)\s*+(\()?)?")
_NODES, _CELLS, _FACES = 10, 12, 13
_INTERIOR = 2
_NAME = re.compile(rb"\(\s*(?:39|45)\s*\(\s*(\d+)\s+[^\s()]+\s+([^\s()]+)")
_DIMENSION = re.compile(rb"\(\s*2\s+([23])\s*\)")


def read_fluent(path: Path) -> Mesh:
    """Read a mesh; polyhedra are cut as :func:`swwl.mesh.io.faces.solid_cells` does."""
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
    whole, blocks, source = _blocks(coordinates, faces, n_cells, d)
    return join([Piece(whole, list(blocks), {}, {}, _sets(_names(data), zones, ranges, source))])


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
) -> tuple[NDArray[np.float64], list[tuple[str, Ints]], Ints]:
    """Return the points, those at the centers of polyhedra last, the cells, and which cell of the file each one is."""
    most = max(int(cells.max(initial=0)) for _, cells in faces)
    if most >= n_cells or max(int(nodes.max(initial=0)) for nodes, _ in faces) >= len(points):
        raise InputError(f"its faces name more than the {n_cells} cells and {len(points)} nodes it declares")
    if min(int(nodes.min(initial=0)) for nodes, _ in faces) < 0:
        raise InputError("its faces name node 0, but nodes are counted from 1")
    if d == 2:
        edges, sides = (np.concatenate(part) for part in zip(*faces, strict=True))
        if edges.shape[1] != 2:
            raise InputError("it is a plane mesh of Fluent with faces that are not lines")
        return points, *plane_cells(edges, sides[:, 0], sides[:, 1], n_cells)
    found = solid_cells(points, faces, n_cells)
    return found.with_centers(points), found.blocks, found.source


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
