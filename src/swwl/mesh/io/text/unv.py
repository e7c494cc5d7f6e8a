"""I-deas universal files (``.unv``): nodes, elements, groups and nodal results; lengths are those of the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.io.shared import Groups, Parts, groups_of_cells, joined_blocks, mesh_with_groups, refuse_empty
from swwl.mesh.io.text.abaqus import middle_last
from swwl.mesh.io.text.lines import blocks_of, count_unknown, floats, integers, places, tell_unknown, text_of
from swwl.mesh.mesh import Mesh

_LINES = {2: "line", 3: "line3"}
_SURFACES = {3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8"}
_SOLIDS = {4: "tetra", 5: "pyramid", 6: "wedge", 8: "hexahedron", 10: "tetra10", 13: "pyramid13", 15: "wedge15"}
_SOLIDS |= {20: "hexahedron20"}
_BEAMS = (11, 21, 22, 23, 24)  # have a line on their orientation
_POINTS = (136, 137, 138, 139, 141, 142, 151, 152, 161)  # springs, dampers, gaps and masses, which have no shape
# Nodes run around, corners and middles in turn: bottom, upright edges, top. VTK's order in terms of that.
_ORDER = {
    "triangle6": [0, 2, 4, 1, 3, 5],
    "quad8": [0, 2, 4, 6, 1, 3, 5, 7],
    "tetra10": [0, 2, 4, 9, 1, 3, 5, 6, 7, 8],
    "pyramid13": [0, 2, 4, 6, 12, 1, 3, 5, 7, 8, 9, 10, 11],
    "wedge15": [0, 2, 4, 9, 11, 13, 1, 3, 5, 10, 12, 14, 6, 7, 8],
    "hexahedron20": [0, 2, 4, 6, 12, 14, 16, 18, 1, 3, 5, 7, 13, 15, 17, 19, 8, 9, 10, 11],
}
_PAIRS, _FOURS = (2417, 2429, 2430, 2432), (2435, 2452, 2467, 2477)
_NODES, _ELEMENTS = 7, 8  # what members of groups are
_TENSOR = [0, 2, 5, 1, 4, 3]  # the file lists xx xy yy xz yz zz
_TRANSIENT, _MODES = 4, (2, 3, 5)


@dataclass
class _Content:
    ids: list[int] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    elements: list[tuple[int, str, list[int]]] = field(default_factory=list)
    groups: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    systems: dict[int, bool] = field(default_factory=dict)  # whether a coordinate system is the global one
    used: set[int] = field(default_factory=set)
    rows: dict[float, dict[str, tuple[list[int], list[list[float]]]]] = field(default_factory=dict)


def unv_times(path: Path) -> list[float]:
    """Return the time, frequency or number of every step of the results, in order."""
    return list(_content(path).rows)


def read_unv(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Mesh:
    """Read the mesh, and the nodal results of a step."""
    return mesh_with_groups(read_universal(path, fields, step))


def read_universal(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Parts:
    """Return what :func:`read_unv` makes a mesh of."""
    content = _content(path)
    strange = [number for number in content.used if not content.systems.get(number, True)]
    if strange:
        raise InputError(f"its nodes are in coordinate system {strange[0]}, which is not the global one: not supported")
    if not content.ids or not content.elements:
        raise InputError(f"it has {len(content.ids)} nodes and {len(content.elements)} elements; both are needed")
    ids, points = np.array(content.ids, np.int64), np.array(content.points)
    blocks = blocks_of([(kind, nodes) for _, kind, nodes in content.elements], ids)
    blocks = [(kind, middle_last(points, block) if kind == "line3" else block) for kind, block in blocks]
    blocks = [(kind, block[:, _ORDER[kind]] if kind in _ORDER else block) for kind, block in blocks]
    cells, order = joined_blocks(blocks)
    labels = np.array([label for label, _, _ in content.elements], np.int64)[order]
    results = content.rows[list(content.rows)[step]] if content.rows else {}
    found = {
        name: _field(ids, *rows, f"its result {name!r}")
        for name, rows in results.items()
        if fields is None or name in fields
    }
    tell_unknown(path, {name: _lost(members, ids, labels) for name, members in content.groups.items()})
    return Parts(release(points), cells, found, {}, _groups(content, ids, cells, labels))


def _lost(members: dict[int, list[int]], ids: NDArray[np.int64], labels: AnyArray) -> int:
    return count_unknown(labels, members[_ELEMENTS]) + count_unknown(ids, members[_NODES])


def _groups(content: _Content, ids: NDArray[np.int64], cells: dict[str, AnyArray], labels: AnyArray) -> Groups:
    groups: Groups = {}
    for name, members in content.groups.items():
        if members[_ELEMENTS]:
            inside = np.flatnonzero(np.isin(labels, members[_ELEMENTS]))
            groups[name] = groups_of_cells(cells, inside)
        if members[_NODES]:
            own = f"{name} nodes" if name in groups else name
            groups[own] = np.flatnonzero(np.isin(ids, members[_NODES]))
    return groups


def _field(ids: NDArray[np.int64], nodes: list[int], rows: list[list[float]], what: str) -> AnyArray:
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise InputError(f"{what} has different numbers of components")
    values = np.full((len(ids), *widths), np.nan)
    values[places(ids, np.array(nodes, np.int64))] = rows
    return release(values[:, 0] if values.shape[1] == 1 else values)


def _content(path: Path) -> _Content:
    refuse_empty(path)
    content = _Content()
    for number, lines in _datasets(text_of(path)):
        if number == 2420:
            _systems(lines, content)
        elif number == 15:
            _old_nodes(lines, content)
        elif number in (781, 2411):
            _nodes(lines, content)
        elif number == 2412:
            _elements(lines, content)
        elif number in (*_PAIRS, *_FOURS):
            _group(lines, content, 2 if number in _PAIRS else 4)
        elif number in (55, 2414):
            _result(lines, content, new=number == 2414)
    return content


def _datasets(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and lines of the data sets, which stand between lines of -1."""
    lines = text.splitlines()
    marks = [k for k, line in enumerate(lines) if line[:6].strip() == "-1" and not line[6:].strip()]
    if not marks:
        raise InputError("it is not a universal file: no line holds -1 alone")
    place = 0
    while place < len(marks):
        start = marks[place]
        word = lines[start + 1].split()[:1] if start + 1 < len(lines) else []
        end = marks[place + 1] if place + 1 < len(marks) else len(lines)
        # 2420 and 55 may hold lines of -1 as values, but never alone in their first six columns
        if word and word[0].rstrip("b").isdecimal():
            yield int(word[0].rstrip("b")[:9] or 0), lines[start + 2 : end]
        place += 2


def _line(lines: list[str], place: int, what: str) -> str:
    if place >= len(lines):
        raise InputError(f"it is cut off: {what} is not complete")
    return lines[place]


def _systems(lines: list[str], content: _Content) -> None:
    for place in range(2, len(lines) - 5, 6):
        label, kind = integers(lines[place].split()[:2], "a coordinate system")
        matrix = np.array([floats(line.split()[:3], "a coordinate system") for line in lines[place + 2 : place + 6]])
        plain = matrix.shape == (4, 3) and np.allclose(matrix[:3], np.eye(3)) and not matrix[3].any()
        content.systems[label] = kind == 0 and plain


def _old_nodes(lines: list[str], content: _Content) -> None:
    for line in lines:
        words = line.split()
        if len(words) == 7:
            label, system = integers(words[:2], "a node")
            content.used.add(system)
            content.ids.append(label)
            content.points.append(floats(words[4:], f"its node {label}"))


def _nodes(lines: list[str], content: _Content) -> None:
    for place in range(0, len(lines), 2):
        words = integers(lines[place].split(), "a node")
        point = floats(_line(lines, place + 1, f"its node {words[:1]}").split(), f"its node {words[:1]}")
        if len(words) < 2 or len(point) != 3:
            raise InputError(f"its node {words[:1]} does not have three coordinates")
        content.used.add(words[1])
        content.ids.append(words[0])
        content.points.append(point)


def _elements(lines: list[str], content: _Content) -> None:
    place = 0
    while place < len(lines):
        words = integers(lines[place].split(), "an element")
        if len(words) < 6:
            raise InputError(f"its element {words[:1]} is damaged: six integers are expected")
        label, kind, size = words[0], words[1], words[5]
        place += 2 if kind in _BEAMS else 1
        nodes: list[int] = []
        while len(nodes) < size:
            nodes += integers(_line(lines, place, f"its element {label}").split(), f"its element {label}")
            place += 1
        if kind not in _POINTS:
            content.elements.append((label, _kind(kind, nodes), nodes))


def _kind(number: int, nodes: list[int]) -> str:
    families = [(range(11, 40), _LINES), (range(41, 100), _SURFACES), (range(101, 120), _SOLIDS)]
    families += [(range(121, 123), _LINES), (range(171, 180), _LINES)]
    for numbers, kinds in families:
        if number in numbers and len(nodes) in kinds:
            return kinds[len(nodes)]
    raise InputError(f"it has elements of type {number} with {len(nodes)} nodes, which are not supported")


def _group(lines: list[str], content: _Content, width: int) -> None:
    place = 0
    while place + 1 < len(lines):
        head = integers(lines[place].split(), "a group")
        if not head:
            return
        name = lines[place + 1].strip() or f"group {head[0]}"
        place += 2
        numbers: list[int] = []
        while len(numbers) < width * head[-1] and place < len(lines):
            numbers += integers(lines[place].split(), f"its group {name!r}")
            place += 1
        members = content.groups.setdefault(name, {_NODES: [], _ELEMENTS: []})
        for kind, label in zip(numbers[::width], numbers[1::width], strict=False):
            if kind in members:
                members[kind].append(label)


def _result(lines: list[str], content: _Content, new: bool) -> None:
    """Take in a block of results at nodes; those of elements are left out."""
    if new:
        name, place = _line(lines, 1, "a result").strip(), 8
        if integers(_line(lines, 2, "a result").split()[:1], "a result") != [1]:
            return
        if not name or name.upper() == "NONE":
            name = _line(lines, 3, "a result").strip()
    else:
        name, place = _line(lines, 0, "a result").strip(), 5
    name = name or "result"
    kinds = integers(_line(lines, place, f"its result {name!r}").split(), f"its result {name!r}")
    if len(kinds) < 6:
        raise InputError(f"its result {name!r} is damaged: six integers are expected")
    _, analysis, character, _, data, width = kinds[:6]
    if data in (5, 6):
        width *= 2  # real and imaginary parts
    more = integers(_line(lines, place + 1, f"its result {name!r}").split(), f"its result {name!r}")
    reals, place = (place + 3, place + 5) if new else (place + 2, place + 3)
    numbers = floats(_line(lines, reals, f"its result {name!r}").split(), f"its result {name!r}")
    if not new and more[1:2] and more[1] > 6:
        place += -(-more[1] // 6) - 1
    time = _time(analysis, more, numbers, new)
    nodes: list[int] = []
    rows: list[list[float]] = []
    while place < len(lines):
        nodes += integers(lines[place].split()[:1], f"its result {name!r}")
        place += 1
        row: list[float] = []
        while len(row) < width:
            row += floats(_line(lines, place, f"its result {name!r}").split(), f"its result {name!r}")
            place += 1
        rows.append([row[k] for k in _TENSOR] if character == 4 and width == 6 else row)
    if nodes:
        content.rows.setdefault(time, {})[name] = (nodes, rows)


def _time(analysis: int, integers_: list[int], numbers: list[float], new: bool) -> float:
    """Return a time, a frequency, or the number of a load case."""
    if analysis == _TRANSIENT and numbers:
        return numbers[0]
    if analysis in _MODES and numbers:
        return numbers[1] if new and len(numbers) > 1 else numbers[0]
    case = integers_[4:5] if new else integers_[2:3]
    return float(case[0]) if case else 0.0
