"""Legacy VTK files (``.vtk``), text and binary, versions 1.0 to 5.1: grids, surfaces and structured points.

A file is a sequence of sections, each a line of keywords and then numbers, which are text or big-endian bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.io.shared import Budget, Piece, join
from swwl.mesh.io.vtk.cells import SortedCells, grid_cells, sort_cells, surface_cells
from swwl.mesh.io.vtk.groups import PREFIX, take_groups
from swwl.mesh.mesh import Mesh

_MAGIC = re.compile(rb"\s*#\s*vtk\s+DataFile\s+Version\s+(\d+)\.(\d+)", re.IGNORECASE)
_TYPES = {
    "bit": "u1",
    "unsigned_char": "u1",
    "char": "i1",
    "unsigned_short": "u2",
    "short": "i2",
    "unsigned_int": "u4",
    "int": "i4",
    "unsigned_long": "u8",
    "long": "i8",
    "float": "f4",
    "double": "f8",
    "vtkidtype": "i4",  # VTK has 64 bits in memory, but 32 in these files
    "vtktypeint64": "i8",
    "vtktypeuint64": "u8",
    "vtktypeint32": "i4",
    "vtktypeuint32": "u4",
    "vtktypeint16": "i2",
    "vtktypeuint16": "u2",
    "vtktypeint8": "i1",
    "vtktypeuint8": "u1",
}
_SURFACE = {"VERTICES": "Verts", "LINES": "Lines", "TRIANGLE_STRIPS": "Strips", "POLYGONS": "Polys"}
# Numbers per node or cell of the attributes that do not say it themselves.
_WIDTHS = {"VECTORS": 3, "NORMALS": 3, "TENSORS": 9, "TENSORS6": 6, "GLOBAL_IDS": 1, "PEDIGREE_IDS": 1, "EDGE_FLAGS": 1}


class _Tape:
    """The bytes of a file, read from the front: words of lines, and numbers."""

    def __init__(self, data: bytes):
        self._data = data
        self._position = 0
        self._budget = Budget(len(data))
        self.binary = False

    def line(self) -> list[str] | None:
        """Return the words of the next line that has any, or None at the end."""
        while self._position < len(self._data):
            end = self._data.find(b"\n", self._position)
            end = len(self._data) if end < 0 else end
            words = self._data[self._position : end].split()
            self._position = end + 1
            if words:
                return [word.decode("utf-8", "replace") for word in words]
        return None

    def back_to(self, position: int) -> None:
        self._position = position

    @property
    def position(self) -> int:
        return self._position

    def text(self) -> bytes:
        """Return the next line as it is."""
        end = self._data.find(b"\n", self._position)
        end = len(self._data) if end < 0 else end
        start, self._position = self._position, end + 1
        return self._data[start:end]

    def numbers(self, count: int, kind: str, what: str) -> AnyArray:
        """Return the next numbers, of a type of VTK's."""
        if kind.lower() not in _TYPES:
            raise InputError(f"{what} is of type {kind[:40]!r}, not one of numbers")
        dtype = np.dtype(">" + _TYPES[kind.lower()])
        if not self.binary:
            return self._ascii(count, dtype, what)
        bits = kind.lower() == "bit"
        size = -(-count // 8) if bits else count * dtype.itemsize
        left = len(self._data) - self._position
        if size > left:
            raise InputError(f"it is cut off: {what} takes {size} bytes, but {left} are left")
        found = self._data[self._position : self._position + size]
        self._position += size
        if bits:
            return np.unpackbits(np.frombuffer(found, np.uint8), count=count)
        return np.frombuffer(found, dtype).astype(dtype.newbyteorder("="))

    def _ascii(self, count: int, dtype: np.dtype[Any], what: str) -> AnyArray:
        if count > (len(self._data) - self._position) // 2 + 1:  # a digit and a blank each
            raise InputError(f"it is cut off: {what} has {count} numbers, which the file is too short for")
        self._budget.take(count * dtype.itemsize)
        # Count the words first: the numbers themselves do not say where they end.
        words = re.compile(rb"(?:\s*+[^\s]++){%d}+" % count).match(self._data, self._position)
        if words is None:
            raise InputError(f"it is cut off: {what} has {count} numbers, but the file ends before them")
        self._position = words.end()
        text = words.group().translate(None, b"\0")
        strange = re.search(rb"[^0-9eE+\-.\sNAIFnaifty]", text)
        values: AnyArray = np.empty(0) if strange else np.fromstring(text, dtype.newbyteorder("="), sep=" ")
        if len(values) != count:
            raise InputError(f"it is damaged: {what} is not {count} numbers")
        return values


def read_vtk(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read a legacy file of any kind of mesh; see :func:`swwl.read_mesh`."""
    data = path.read_bytes()
    magic = _MAGIC.match(data)
    if magic is None:
        raise InputError("it does not begin with '# vtk DataFile Version'")
    tape = _Tape(data)
    tape.text()
    tape.text()  # its title
    form = tape.line() or [""]
    if form[0].upper() not in ("ASCII", "BINARY"):
        raise InputError(f"its third line is {form[0][:40]!r}, not ASCII or BINARY")
    tape.binary = form[0].upper() == "BINARY"
    return _File(tape, (int(magic[1]), int(magic[2])), fields).mesh()


class _File:
    """What has been read of a file so far."""

    def __init__(self, tape: _Tape, version: tuple[int, int], wanted: Collection[str] | None):
        self._tape, self._version, self._wanted = tape, version, wanted
        self._kind = ""
        self._points: AnyArray | None = None
        self._shape: list[int] = []
        self._axes: dict[str, AnyArray] = {}
        self._origin, self._spacing = [0.0] * 3, [1.0] * 3
        self._lists: dict[str, tuple[AnyArray, AnyArray]] = {}
        self._types: AnyArray | None = None
        self._data: dict[str, dict[str, AnyArray]] = {"POINT_DATA": {}, "CELL_DATA": {}}
        self._section, self._length = "", 0

    def mesh(self) -> Mesh:
        while (words := self._tape.line()) is not None:
            self._read(words[0].upper(), words)
        if not self._kind:
            raise InputError("it has no DATASET")
        points = self._grid_points()
        cells = self._cells(len(points))
        of_cells = {name: cells.of_cells(field) for name, field in self._data["CELL_DATA"].items()}
        sets = take_groups(self._data["POINT_DATA"], of_cells, {})
        return join([Piece(points, cells.blocks, self._data["POINT_DATA"], of_cells, sets)])

    def _read(self, key: str, words: list[str]) -> None:
        """Read one section."""
        if key == "DATASET":
            self._kind = _word(words, 1).upper()
        elif key == "METADATA":
            while self._tape.text().strip():
                pass
        elif key == "FIELD":
            self._read_field(words)
        elif key in ("POINT_DATA", "CELL_DATA"):
            self._section, self._length = key, _count(words, 1)
        elif key in _SURFACE or key == "CELLS":
            self._lists[_SURFACE.get(key, key)] = self._read_lists(key, words)
        elif key == "POINTS":
            count = _count(words, 1)
            self._points = self._tape.numbers(3 * count, _word(words, 2), "the array of its points").reshape(-1, 3)
        elif key == "CELL_TYPES":
            self._types = self._tape.numbers(_count(words, 1), "int", "the array of its cell types")
        elif key == "DIMENSIONS":
            self._shape = [_count(words, k) for k in (1, 2, 3)]
        elif key in ("ORIGIN", "SPACING", "ASPECT_RATIO"):
            values = [float(_word(words, k)) for k in (1, 2, 3)]
            self._origin, self._spacing = (values, self._spacing) if key == "ORIGIN" else (self._origin, values)
        elif key in ("X_COORDINATES", "Y_COORDINATES", "Z_COORDINATES"):
            self._axes[key[0]] = self._tape.numbers(_count(words, 1), _word(words, 2), f"its {key}")
        else:
            self._read_attribute(key, words)

    def _read_lists(self, key: str, words: list[str]) -> tuple[AnyArray, AnyArray]:
        """Read lists of nodes: where each ends, and the nodes."""
        what = f"its list {key}"
        first, second = _count(words, 1), _count(words, 2)
        if self._version < (5, 0):
            return _counted_lists(self._tape.numbers(second, "int", what), first, what)
        found = []
        for name, count in (("OFFSETS", first), ("CONNECTIVITY", second)):
            line = self._tape.line() or [""]
            if line[0].upper() != name:
                raise InputError(f"{what} has {line[0][:40]!r} where {name} is expected")
            found.append(self._tape.numbers(count, _word(line, 1), what))
        offsets, nodes = found
        if not len(offsets) or offsets[0] != 0:
            raise InputError(f"the OFFSETS of {what} do not begin with 0")
        return offsets[1:], nodes

    def _read_attribute(self, key: str, words: list[str]) -> None:
        if key == "LOOKUP_TABLE":  # colors
            self._tape.numbers(4 * _count(words, 2), "unsigned_char" if self._tape.binary else "float", "its colors")
            return
        if key == "COLOR_SCALARS":
            width, kind = _count(words, 2), "unsigned_char" if self._tape.binary else "float"
        elif key == "TEXTURE_COORDINATES":
            width, kind = _count(words, 2), _word(words, 3)
        elif key == "SCALARS":
            width, kind = _count(words, 3) if len(words) > 3 else 1, _word(words, 2)
            before = self._tape.position
            if (self._tape.line() or [""])[0].upper() != "LOOKUP_TABLE":
                self._tape.back_to(before)
        elif key in _WIDTHS:
            width, kind = _WIDTHS[key], _word(words, 2)
        else:
            raise InputError(f"it has {words[0][:40]!r} where a VTK keyword is expected; is it damaged?")
        self._keep(_word(words, 1), self._length, width, kind)

    def _read_field(self, words: list[str]) -> None:
        for _ in range(_count(words, 2)):
            line = self._tape.line() or [""]
            if line[0].upper() == "METADATA":  # of the array before
                self._read("METADATA", line)
                line = self._tape.line() or [""]
            if line[0].upper() == "NULL_ARRAY":
                continue
            width, length, kind = _count(line, 1), _count(line, 2), _word(line, 3)
            if kind.lower() in ("string", "utf8_string", "variant"):
                self._skip_texts(width * length, line[0])
            else:
                self._keep(line[0], length, width, kind)

    def _skip_texts(self, count: int, name: str) -> None:
        if self._tape.binary:
            raise InputError(f"its field {name[:40]!r} holds strings in binary form, which are not supported")
        for _ in range(count):
            if self._tape.text() == b"" and self._tape.line() is None:
                break

    def _keep(self, name: str, length: int, width: int, kind: str) -> None:
        name = unquote(name)
        values = self._tape.numbers(length * width, kind, f"its field {name!r}")
        asked = self._wanted is None or name in self._wanted or name.startswith(PREFIX)
        if self._section and length == self._length and width and asked:
            self._data[self._section][name] = values if width == 1 else values.reshape(length, width)

    def _grid_points(self) -> AnyArray:
        if self._points is not None:
            return self._points
        size = int(np.prod(self._shape, dtype=object)) if self._shape else 0
        if self._kind == "STRUCTURED_POINTS" and size:
            # What is declared in three numbers has no file behind it: more than any mesh is refused.
            Budget(10**8).take(24 * size)
            axes = [o + s * np.arange(n) for o, s, n in zip(self._origin, self._spacing, self._shape, strict=True)]
        elif self._kind == "RECTILINEAR_GRID" and size:
            axes = [self._axes.get(name, np.zeros(0)) for name in "XYZ"]
            if [len(axis) for axis in axes] != self._shape:
                raise InputError(f"its DIMENSIONS are {self._shape}, but its coordinates {[len(a) for a in axes]}")
            Budget(10**8).take(24 * size)
        else:
            raise InputError(f"it is a {self._kind[:40] or 'file'} without points")
        return np.stack([axis.ravel(order="F") for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def _cells(self, n_points: int) -> SortedCells:
        if self._kind in ("STRUCTURED_GRID", "STRUCTURED_POINTS", "RECTILINEAR_GRID"):
            if int(np.prod(self._shape, dtype=object)) != n_points:
                raise InputError(f"its DIMENSIONS are {self._shape}, but it has {n_points} points")
            return SortedCells(list(grid_cells(self._shape)), None)
        if self._kind == "POLYDATA":
            return surface_cells(self._lists)
        if self._kind != "UNSTRUCTURED_GRID":
            raise InputError(f"it holds a {self._kind[:40]}, not a mesh")
        if "CELLS" not in self._lists:
            return SortedCells([], None)
        if self._types is None:
            raise InputError("it has CELLS, but no CELL_TYPES (is it cut off?)")
        return sort_cells(self._types, *self._lists["CELLS"], old_hexahedra=self._version < (5, 1))


def _word(words: list[str], place: int) -> str:
    if len(words) <= place:
        raise InputError(f"its line {' '.join(words)[:60]!r} is too short")
    return words[place]


def _count(words: list[str], place: int) -> int:
    word = _word(words, place)
    if not word.isdecimal():
        raise InputError(f"its line {' '.join(words)[:60]!r} has {word[:40]!r} where a count is expected")
    return int(word)


def _counted_lists(flat: AnyArray, n_lists: int, what: str) -> tuple[AnyArray, AnyArray]:
    """Split lists that are given as length, nodes, length, nodes, ...

    Examples
    --------
    >>> ends, nodes = _counted_lists(np.array([2, 0, 1, 3, 2, 3, 4]), 2, "")
    >>> ends.tolist(), nodes.tolist()
    ([2, 5], [0, 1, 2, 3, 4])
    """
    if not n_lists:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    size = int(flat[0]) if len(flat) else -1
    if size >= 0 and len(flat) == n_lists * (size + 1) and (flat[:: size + 1] == size).all():
        return size * np.arange(1, n_lists + 1), flat.reshape(-1, size + 1)[:, 1:].ravel()
    starts = np.empty(n_lists, np.int64)
    lengths = np.ascontiguousarray(flat, np.int64).data
    place = 0
    for k in range(n_lists):
        if place >= len(flat) or lengths[place] < 0:
            raise InputError(f"it is damaged: {what} does not hold {n_lists} lists")
        starts[k] = place
        place += lengths[place] + 1
    if place != len(flat):
        raise InputError(f"it is damaged: the {n_lists} parts of {what} have {place} numbers instead of {len(flat)}")
    nodes = np.ones(len(flat), bool)
    nodes[starts] = False
    return np.cumsum(flat[starts], dtype=np.int64), flat[nodes]
