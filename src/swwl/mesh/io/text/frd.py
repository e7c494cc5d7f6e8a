"""CalculiX results (``.frd``): nodes, elements and the nodal results of one step, as text or binary.

Sets of nodes and elements are not in it: they are taken from the ``.inp`` file of the same name beside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MeshWarning
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.io.shared import Budget, Fields, Groups, Parts, groups_of_cells, mesh_with_groups, refuse_empty
from swwl.mesh.io.text.abaqus import keyword_of, middle_last, surfaces_of
from swwl.mesh.io.text.lines import included, places, text_of
from swwl.mesh.io.vtk.cells import UPRIGHT_FIRST
from swwl.mesh.mesh import Mesh

# Types of elements by number: meshio's name and the number of nodes.
_KINDS = {
    1: ("hexahedron", 8), 2: ("wedge", 6), 3: ("tetra", 4), 4: ("hexahedron20", 20), 5: ("wedge15", 15),
    6: ("tetra10", 10), 7: ("triangle", 3), 8: ("triangle6", 6), 9: ("quad", 4), 10: ("quad8", 8), 11: ("line", 2),
    12: ("line3", 3),
}  # fmt: skip
_BY_NUMBER, _SHORT, _LONG, _FLOAT, _DOUBLE = 6, 0, 1, 2, 3
_WIDTH = {_SHORT: 5, _LONG: 10}  # of node numbers in text
_MODAL = (b"MODAL", b"BUCKLE", b"BUCKLING")  # analyses whose steps are modes


@dataclass
class _Block:
    """A block of results: the name, its components, and where its values are."""

    name: str
    width: int
    count: int
    form: int
    start: int
    end: int


@dataclass
class _Step:
    time: float
    blocks: list[_Block]
    mode: bool = False  # of an eigenvalue problem, whose frequency (or buckling factor) is no time


def frd_times(path: Path) -> list[float]:
    """Return the time of every step that is not a mode, in the order of the file."""
    return [step.time for step in _Results(path).steps if not step.mode]


def frd_modes(path: Path) -> list[float]:
    """Return the frequency in Hz (or the buckling factor) of every mode, in the order of the file."""
    return [step.time for step in _Results(path).steps if step.mode]


def read_frd(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Mesh:
    """Read the mesh and the results of a step; see :func:`read_results`. Modes are left out, with a warning."""
    parts, n_modes = _read_step(path, fields, step, mode=False)
    if n_modes:
        warnings.warn(
            "Results of CalculiX hold eigenmodes beside the other steps; they are left out. Name one to read it, such "
            "as part.frd@mode1.",
            MeshWarning,
            stacklevel=2,
        )
    return mesh_with_groups(parts)


def read_frd_mode(path: Path, fields: Collection[str] | None = None, mode: int = 0) -> Mesh:
    """Read the mesh and one of the modes, counted from 0."""
    return mesh_with_groups(_read_step(path, fields, mode, mode=True)[0])


def read_results(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Parts:
    """Return the mesh and the results of a step.

    Names of results are those of the file (DISP, STRESS, NDTEMP, ...), vectors and tensors have their components as
    columns (STRESS: xx, yy, zz, xy, yz, zx), and nodes without a result hold NaN. Where there is STRESS, the field
    MISES is its von Mises equivalent.

    Parameters
    ----------
    path : Path
    fields : collection of str, optional
        Names of the requested fields; others are not read. All by default.
    step : int
        Which of the steps that are not modes, the last by default; of modes alone the first is read.
    """
    return _read_step(path, fields, step, mode=False)[0]


def _read_step(path: Path, fields: Collection[str] | None, step: int, mode: bool) -> tuple[Parts, int]:
    """Return the mesh and the results of a step, and how many modes there are beside it."""
    file = _Results(path)
    modes = [one for one in file.steps if one.mode]
    others = [one for one in file.steps if not one.mode]
    beside = 0 if mode or not others else len(modes)
    chosen = modes[step] if mode else others[step] if others else modes[0] if modes else None
    number, points = file.nodes()
    cells, labels = file.cells(number)
    found: Fields = {}
    for block in () if chosen is None else chosen.blocks:
        mises = block.name == "STRESS" and block.width == _BY_NUMBER
        if fields is None or block.name in fields or (mises and "MISES" in fields):
            values = file.values(block, number)
            found[block.name] = release(values[:, 0] if block.width == 1 else values)
            if mises:
                found["MISES"] = release(von_mises(values))
    return Parts(release(points), cells, found, {}, _groups(path.with_suffix(".inp"), number, cells, labels)), beside


def von_mises(stress: AnyArray) -> NDArray[np.float64]:
    """Return the equivalent stress (n,) of tensors (n, 6): xx, yy, zz, xy, yz, zx.

    Examples
    --------
    >>> von_mises(np.array([[3.0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]])).round(4).tolist()
    [3.0, 1.7321]
    """
    x, y, z, xy, yz, zx = np.asarray(stress, np.float64).T
    normal = ((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) / 2
    return np.asarray(np.sqrt(normal + 3 * (xy**2 + yz**2 + zx**2)))


class _Results:
    """A file whose blocks have been found, but not read."""

    def __init__(self, path: Path):
        refuse_empty(path)
        self._data = path.read_bytes()
        self._budget = Budget(len(self._data))
        self._nodes: tuple[int, int, int, int] | None = None  # count, form, start, end
        self._elements: tuple[int, int, int, int] | None = None
        self.steps: list[_Step] = []
        self._last = (b"", 0.0)  # number and time of the last step
        self._mode = False  # whether a record says that what follows is a mode
        self._find()
        if self._nodes is None:
            raise InputError("it has no nodes, so it is not a result of CalculiX (.frd)")

    def _find(self) -> None:
        """Go through the lines that say what follows."""
        place, last = 0, None
        while place < len(self._data):
            line, after = self._line(place)
            key = line[:6].strip()
            if key in (b"2C", b"3C"):
                count, form = _integer(line[24:36]), _integer(line[73:75]) if line[73:75].strip() else _LONG
                if key == b"2C":
                    after, span = self._skip(form, after, after + count * (4 + 3 * (8 if form == _DOUBLE else 4)))
                    self._nodes = (count, form, *span)
                else:
                    after, span = self._skip_elements(form, after, count)
                    self._elements = (count, form, *span)
            elif line[:6] == b"  100C":
                last = line
            elif line[:10] == b"    1PSTEP":
                self._mode = False
            elif line[:10] == b"    1PMODE":
                self._mode = True
            elif line[:3] == b" -4" and last is not None:
                after = self._result(line, last, after)
            elif key == b"9999":
                return
            place = after

    def _line(self, place: int) -> tuple[bytes, int]:
        end = self._data.find(b"\n", place)
        end = len(self._data) if end < 0 else end
        return self._data[place:end].rstrip(b"\r"), end + 1

    def _skip(self, form: int, start: int, end: int) -> tuple[int, tuple[int, int]]:
        """Return where the reading goes on after a block, and the block: up to ``end``, or to -3 in text."""
        if form in _WIDTH:
            end = self._data.find(b"\n -3", start - 1)
            if end < 0:
                raise InputError("it is cut off: a block does not end with -3")
            return self._line(end + 1)[1], (start, max(end + 1, start))
        if form not in (_FLOAT, _DOUBLE):
            raise InputError(f"it has a block of format {form}; 0 to 3 are known")
        if end > len(self._data):
            raise InputError("it is cut off inside a binary block")
        return end, (start, end)

    def _skip_elements(self, form: int, start: int, count: int) -> tuple[int, tuple[int, int]]:
        if form in _WIDTH:
            return self._skip(form, start, start)
        place = start
        for _ in range(count):
            if place + 16 > len(self._data):
                raise InputError("it is cut off inside a binary block")
            kind = int.from_bytes(self._data[place + 4 : place + 8], "little")
            place += 16 + 4 * _size(kind)
        return self._skip(form, start, place)

    def _result(self, line: bytes, head: bytes, after: int) -> int:
        """Take note of a block of results; return where the reading goes on."""
        words = line[3:].split()
        if len(words) < 2 or not words[1].isdigit():
            raise InputError(f"it has a block of results {line[:40]!r} without name or components")
        width, of_nodes = 0, len(words) < 3 or words[2] == b"1"
        for _ in range(_integer(words[1])):
            component, following = self._line(after)
            if component[:3] != b" -5":
                break
            width += component[33:38].strip() != b"1"  # otherwise it is computed by the viewer
            after = following
        count, form = _integer(head[24:36]), _integer(head[73:75]) if head[73:75].strip() else _LONG
        after, (start, end) = self._skip(form, after, after + count * (4 + 4 * width * (form - 1)))
        try:
            time = float(head[12:24])
        except ValueError:
            raise InputError(f"it has a step of time {head[12:24]!r}") from None
        number = head[58:63].strip()
        if not self.steps or self._last != (number, time):
            self.steps.append(_Step(time, [], self._mode or head[63:73].strip() in _MODAL))
            self._last = (number, time)
        if of_nodes and width:
            name = words[0].decode("latin-1")
            self.steps[-1].blocks.append(_Block(name, width, count, form, start, end))
        return after

    def nodes(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return numbers (n,) and coordinates (n, 3)."""
        assert self._nodes is not None
        count, form, start, end = self._nodes
        return self._rows(form, start, end, count, 3, "f8" if form == _DOUBLE else "f4", "its nodes")

    def values(self, block: _Block, number: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return results (n, width), NaN at nodes that have none."""
        kind = "f8" if block.form == _DOUBLE else "f4"
        named, rows = self._rows(
            block.form, block.start, block.end, block.count, block.width, kind, f"its result {block.name}"
        )
        if len(named) == len(number) and (named == number).all():
            return rows
        values = np.full((len(number), block.width), np.nan)
        values[places(number, named)] = rows
        return values

    def _rows(
        self, form: int, start: int, end: int, count: int, width: int, kind: str, what: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the numbers and the values of records."""
        self._budget.take(count * 8 * (width + 1))
        if form not in _WIDTH:
            record = np.dtype([("number", "<i4"), ("values", f"<{kind}", (width,))])
            rows = np.frombuffer(self._data, record, count, start)
            return rows["number"].astype(np.int64), rows["values"].astype(np.float64)
        lines = self._data[start:end].splitlines()
        deep = -(-width // 6)  # six numbers to a line
        if len(lines) != count * deep:
            raise InputError(f"{what}: {count} are declared, but {len(lines)} lines are there (is it cut off?)")
        first = 3 + _WIDTH[form]
        number = _fixed(lines[::deep], 3, first, 1, what).astype(np.int64)[:, 0]
        parts = []
        for k in range(deep):
            # lines that go on leave the place of the number blank
            parts.append(_fixed(lines[k::deep], first, first + 12, min(6, width - 6 * k), what))
        return number, np.concatenate(parts, axis=1)

    def cells(self, number: NDArray[np.int64]) -> tuple[dict[str, AnyArray], NDArray[np.int64]]:
        """Return cells by types in VTK's order, and the label of every one of them."""
        if self._elements is None:
            raise InputError("it has nodes, but no elements")
        count, form, start, end = self._elements
        found = (self._text_elements if form in _WIDTH else self._binary_elements)(count, form, start, end)
        cells: dict[str, AnyArray] = {}
        labels = [np.empty(0, np.int64)]
        for kind, rows in sorted(found.items()):
            name, _ = _KINDS[kind]
            table = np.array(rows, np.int64)
            nodes = places(number, table[:, 1:])
            if name == "line3":
                nodes = middle_last(self.nodes()[1], nodes)
            cells[name] = release(nodes[:, UPRIGHT_FIRST[name]] if name in UPRIGHT_FIRST else nodes)
            labels.append(table[:, 0])
        return cells, np.concatenate(labels)

    def _text_elements(self, count: int, form: int, start: int, end: int) -> dict[int, list[list[int]]]:
        found: dict[int, list[list[int]]] = {}
        width = _WIDTH[form]
        row: list[int] = []
        size, seen = 0, 0
        for line in self._data[start:end].splitlines():
            if line[:3] == b" -1":
                if len(row) != size + (size > 0):
                    raise InputError(f"its element {row[0]} does not have {size} nodes")
                kind = _integer(line[3 + width : 8 + width])
                size, seen = _size(kind), seen + 1
                row = [_integer(line[3 : 3 + width])]
                found.setdefault(kind, []).append(row)
            elif line[:3] == b" -2" and row:
                row += [_integer(line[k : k + width]) for k in range(3, len(line.rstrip()), width)]
        if seen != count or len(row) != size + (size > 0):
            raise InputError(f"it declares {count} elements, but has {seen} (is it cut off?)")
        return found

    def _binary_elements(self, count: int, form: int, start: int, end: int) -> dict[int, list[list[int]]]:
        words = np.frombuffer(self._data, "<i4", (end - start) // 4, start).tolist()
        found: dict[int, list[list[int]]] = {}
        place = 0
        for _ in range(count):
            size = _size(words[place + 1])
            found.setdefault(words[place + 1], []).append([words[place], *words[place + 4 : place + 4 + size]])
            place += 4 + size
        return found


def _size(kind: int) -> int:
    if kind not in _KINDS:
        raise InputError(f"it has elements of type {kind}, which is not known")
    return _KINDS[kind][1]


def _integer(word: bytes) -> int:
    try:
        number = int(word)
    except ValueError:
        number = -1
    if number < 0:
        raise InputError(f"it has {word[:20]!r} where a count or a number is expected")
    return number


def _fixed(lines: list[bytes], first: int, end: int, count: int, what: str) -> NDArray[np.float64]:
    """Return numbers of lines, (lines, count), that stand in columns of one width; they may touch."""
    width = end - first
    length = first + width * count
    if not lines or min(map(len, lines)) < length:
        if lines:
            raise InputError(f"{what}: a line is too short: {min(lines, key=len)[:60]!r}")
        return np.empty((0, count))
    letters = np.frombuffer(b"".join([line[first:length] for line in lines]), f"S{width}")
    try:
        return letters.astype(np.float64).reshape(-1, count)
    except ValueError:
        raise InputError(f"{what}: a line holds something other than numbers") from None


def _groups(path: Path, number: NDArray[np.int64], cells: dict[str, AnyArray], labels: NDArray[np.int64]) -> Groups:
    """Return the sets of an input file as far as their nodes and elements are in the results."""
    groups: Groups = {}
    if not path.is_file():
        return groups
    nodes, elements = input_sets(path)
    for name, members in nodes.items():
        chosen = np.flatnonzero(members.hold(number))
        if len(chosen):
            groups[name] = chosen
    for name, members in elements.items():
        inside = np.flatnonzero(members.hold(labels))
        if len(inside):
            groups.setdefault(name, groups_of_cells(cells, inside))
    for name, faces in _surfaces(path).items():
        there = {kind: block[np.isin(block, number).all(axis=1)] for kind, block in faces.items()}
        known = {kind: places(number, block) for kind, block in there.items() if len(block)}
        if known:  # not of shells, which results have as solids with nodes of their own
            groups.setdefault(name, known)
    return groups


def _surfaces(path: Path) -> dict[str, dict[str, NDArray[np.int64]]]:
    """Return the faces of the surfaces of an input file, as numbers of nodes; none of a deck that cannot be read."""
    if "*SURFACE" not in text_of(path).upper():
        return {}
    try:
        return surfaces_of(path)
    except InputError:
        return {}


@dataclass
class Members:
    """What a set of an input file names: numbers, and ranges as (first, last, step)."""

    numbers: list[int] = field(default_factory=list)
    ranges: list[tuple[int, int, int]] = field(default_factory=list)

    def hold(self, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of labels (n,) whether they are in the set.

        Examples
        --------
        >>> Members([7], [(1, 5, 2)]).hold(np.array([1, 2, 3, 7])).tolist()
        [True, False, True, True]
        """
        inside = np.isin(labels, np.array(self.numbers, np.int64))
        for first, last, step in self.ranges:
            inside |= (labels >= first) & (labels <= last) & ((labels - first) % step == 0)
        return inside


Sets = dict[str, Members]


def input_sets(path: Path) -> tuple[Sets, Sets]:
    """Return the sets of nodes and of elements of an input file, and of all that it includes."""
    found: tuple[Sets, Sets] = ({}, {})
    _collect(text_of(path), [path], found)
    return found


def _collect(text: str, chain: list[Path], found: tuple[Sets, Sets]) -> None:
    keyword, options, goes_on = "", dict[str, str](), False
    for line in text.splitlines():
        if line.startswith("**") or not line.strip():
            continue
        if line.startswith("*"):
            keyword, options = keyword_of(line)
            goes_on = False
            if keyword == "INCLUDE" and "INPUT" in options:
                inner, longer = included(chain[-1], options["INPUT"], chain)
                _collect(inner, longer, found)
            continue
        words = [word.strip() for word in line.split(",") if word.strip()]
        if keyword in ("NSET", "ELSET"):
            known = found[keyword == "ELSET"]
            _extend(known.setdefault(options.get(keyword, ""), Members()), words, known, "GENERATE" in options)
        elif keyword in ("NODE", "ELEMENT") and words:
            name = options.get("NSET" if keyword == "NODE" else "ELSET")
            if name and not goes_on and _is_label(words[0]):
                found[keyword == "ELEMENT"].setdefault(name, Members()).numbers.append(int(words[0]))
            goes_on = keyword == "ELEMENT" and line.rstrip().endswith(",")


def _is_label(word: str) -> bool:
    return word.isdecimal() and len(word) < 19


def _extend(members: Members, words: list[str], known: Sets, generate: bool) -> None:
    """Add what a line of a set names: numbers, other sets, or a range."""
    if generate and len(words) in (2, 3) and all(map(_is_label, words)):
        first, last, step = (*map(int, words), 1)[:3]
        members.ranges.append((first, last, max(step, 1)))
        return
    for word in words:
        if _is_label(word):
            members.numbers.append(int(word))
            continue
        other = next((known[name] for name in known if name.upper() == word.upper()), None)
        if other is not None and other is not members:
            members.numbers += other.numbers
            members.ranges += other.ranges
