"""Exodus II (``.e``, ``.exo``, …): netCDF files, classic ones by scipy and those in HDF5 by h5py."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.cells import cell_dimension, side_of
from swwl.mesh.io.shared import NamedSets, Piece, UnsupportedError, join, refuse_empty
from swwl.mesh.io.vtk.cells import UPRIGHT_FIRST
from swwl.mesh.mesh import Mesh

# The first letters of a block's type, and meshio's names by the number of nodes.
_FAMILIES: dict[str, dict[int, str]] = {
    "SPH": {1: "vertex"},
    "CIR": {1: "vertex"},
    "POI": {1: "vertex"},
    "BAR": {2: "line", 3: "line3"},
    "BEA": {2: "line", 3: "line3"},
    "TRU": {2: "line", 3: "line3"},
    "EDG": {2: "line", 3: "line3"},
    "ROD": {2: "line", 3: "line3"},
    "TRI": {3: "triangle", 6: "triangle6", 7: "triangle7"},
    "QUA": {4: "quad", 8: "quad8", 9: "quad9"},
    "SHE": {2: "line", 3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8", 9: "quad9"},
    "TET": {4: "tetra", 10: "tetra10"},
    "PYR": {5: "pyramid", 13: "pyramid13", 14: "pyramid14"},
    "WED": {6: "wedge", 15: "wedge15", 18: "wedge18"},
    "HEX": {8: "hexahedron", 20: "hexahedron20", 27: "hexahedron27"},
}
_ORDER = UPRIGHT_FIRST | {"hexahedron27": [*UPRIGHT_FIRST["hexahedron20"], 23, 24, 25, 26, 21, 22, 20]}


# Corners of the sides of cells, in the order in which side sets count them.
_SIDES: dict[str, list[tuple[int, ...]]] = {
    "tetra": [(0, 1, 3), (1, 2, 3), (0, 3, 2), (0, 2, 1)],
    "pyramid": [(0, 1, 4), (1, 2, 4), (2, 3, 4), (0, 4, 3), (0, 3, 2, 1)],
    "wedge": [(0, 1, 4, 3), (1, 2, 5, 4), (0, 3, 5, 2), (0, 2, 1), (3, 4, 5)],
    "hexahedron": [(0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (0, 4, 7, 3), (0, 3, 2, 1), (4, 5, 6, 7)],
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "quad": [(0, 1), (1, 2), (2, 3), (3, 0)],
}


class _Variables:
    """The variables of a file by name."""

    def __init__(self, variables: Any, attribute: Callable[[Any, str], Any], step: int = -1):
        self._variables, self._attribute, self._step = variables, attribute, step

    def __contains__(self, name: str) -> bool:
        return name in self._variables

    def array(self, name: str) -> AnyArray:
        """Return a whole variable."""
        values = np.array(self._variables[name][...])
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def step(self, name: str, *more: int) -> AnyArray:
        """Return a variable at the time that is read."""
        variable = self._variables[name]
        place = variable.shape[0] - 1 if self._step < 0 else self._step
        values = np.array(variable[(place, *more)])
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable."""
        return tuple(self._variables[name].shape)

    def texts(self, name: str) -> list[str]:
        """Return a variable of names, which are rows of letters."""
        if name not in self:
            return []
        return [_text(row.tobytes()) for row in self.array(name)]

    def kind(self, name: str) -> str:
        """Return the type of a block's elements."""
        return _text(self._attribute(self._variables[name], "elem_type")).upper()


def _text(value: Any) -> str:
    data = value if isinstance(value, bytes) else str(value).encode()
    return data.split(b"\0")[0].decode("utf-8", "replace").strip()


def read_exodus(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Mesh:
    """Read all blocks of elements, and the variables at a time; edges and faces of their own are left out."""
    return _opened(path, step, lambda file: _mesh(file, fields))


def exodus_times(path: Path) -> list[float]:
    """Return the times of a file."""
    times: list[float] = _opened(path, -1, lambda f: f.array("time_whole").tolist() if "time_whole" in f else [])
    return times


def _opened(path: Path, step: int, take: Callable[[_Variables], Any]) -> Any:
    refuse_empty(path)
    with open(path, "rb") as file:
        magic = file.read(8)
    if magic[:4] in (b"CDF\1", b"CDF\2"):
        from scipy.io import netcdf_file

        with closing(netcdf_file(str(path), "r", mmap=False)) as classic:
            return take(_Variables(classic.variables, lambda variable, name: getattr(variable, name, b""), step))
    if magic == b"\x89HDF\r\n\x1a\n":
        import h5py

        with h5py.File(path, "r") as modern:
            return take(_Variables(modern, lambda variable, name: variable.attrs.get(name, b""), step))
    if magic[:4] == b"CDF\5":
        raise UnsupportedError("it is a netCDF file of the 64-bit data format (CDF-5), which is not supported")
    raise InputError("it is not an Exodus file: it is neither netCDF nor HDF5")


def _mesh(file: _Variables, wanted: Collection[str] | None) -> Mesh:
    points = _points(file)
    n_blocks = max(file.shape(name)[0] if name in file else 0 for name in ("eb_prop1", "eb_status"))
    numbers = [k for k in range(1, n_blocks + 1) if f"connect{k}" in file]
    blocks = {k: _block(file, k) for k in numbers}
    if n_blocks and not blocks:
        raise InputError(f"it declares {n_blocks} blocks of elements, but has none of them")
    of_nodes, of_cells = {}, {}
    for number, name in enumerate(file.texts("name_nod_var"), 1):
        if wanted is None or name in wanted:
            values = _at_step(file, "vals_nod_var", number, "")
            if values is not None and len(values) == len(points):
                of_nodes[name] = release(values)
    for number, name in enumerate(file.texts("name_elem_var"), 1):
        if (wanted is None or name in wanted) and blocks:
            parts = [_of_block(file, number, k, len(block)) for k, (_, block) in blocks.items()]
            of_cells[name] = release(np.concatenate(parts))
    sets = _sets(file, blocks, flat=points.shape[1] == 2)
    return join([Piece(points, list(blocks.values()), of_nodes, of_cells, sets)])


def _sets(file: _Variables, blocks: dict[int, tuple[str, AnyArray]], flat: bool) -> NamedSets:
    """Return the blocks of elements, the sets of nodes and the sets of sides, by names or else by numbers."""
    sets = NamedSets()
    starts = np.cumsum([0, *(len(block) for _, block in blocks.values())])
    names = _names(file, "eb", "block")
    for start, (number, (_, block)) in zip(starts, blocks.items(), strict=False):
        sets.add_cells(names[number - 1], np.arange(len(block)) + start)
    for number, name in enumerate(_names(file, "ns", "node set"), 1):
        found = file.array(f"node_ns{number}") if f"node_ns{number}" in file else np.empty(0, np.int64)
        sets.add_nodes(name, found - 1)
    for number, name in enumerate(_names(file, "ss", "side set"), 1):
        if f"elem_ss{number}" not in file or f"side_ss{number}" not in file:
            sets.add_faces(name, "line", np.empty((0, 2), np.int64))
            continue
        elements, sides = file.array(f"elem_ss{number}") - 1, file.array(f"side_ss{number}")
        if elements.shape != sides.shape or elements.min(initial=0) < 0 or elements.max(initial=-1) >= starts[-1]:
            raise InputError(f"its side set {name!r} names elements that it does not have")
        for start, (kind, block) in zip(starts, blocks.values(), strict=False):
            here = (elements >= start) & (elements < start + len(block))
            for side in np.unique(sides[here]):
                places = elements[here & (sides == side)] - start
                face, corners = _side(kind, int(side), flat)
                sets.add_faces(name, face, block[places][:, corners])
    return sets


def _names(file: _Variables, stem: str, word: str) -> list[str]:
    """Return what blocks or sets are called: their names or, where they have none, a word and their number."""
    count = max(file.shape(f"{stem}_{end}")[0] if f"{stem}_{end}" in file else 0 for end in ("prop1", "status"))
    numbers = file.array(f"{stem}_prop1").tolist() if f"{stem}_prop1" in file else []
    given = file.texts(f"{stem}_names")
    found = []
    for k in range(count):
        number = numbers[k] if k < len(numbers) and numbers[k] > 0 else k + 1
        found.append(given[k] if k < len(given) and given[k] else f"{word} {number}")
    return found


def _side(kind: str, side: int, flat: bool) -> tuple[str, list[int]]:
    """Return the type of a side and the places of its nodes; surface cells in space have two faces first."""
    if cell_dimension(kind) < 2:  # the ends of lines
        return "vertex", [min(side, 1 + cell_dimension(kind)) - 1]
    linear = kind.rstrip("0123456789")
    corners = _SIDES[linear]
    if cell_dimension(kind) == 2 and not flat:
        ring = tuple(range(len(corners)))
        corners = [ring, ring, *corners]
    if not 1 <= side <= len(corners):
        raise InputError(f"it has side {side} of an element of type {kind}, which has {len(corners)}")
    return side_of(kind, corners[side - 1])


def _points(file: _Variables) -> AnyArray:
    if "coord" in file:
        return release(np.ascontiguousarray(file.array("coord").T))
    axes = [file.array(f"coord{axis}") for axis in "xyz" if f"coord{axis}" in file]
    if not axes:
        raise InputError("it has no coordinates of nodes; it is not an Exodus file")
    return release(np.column_stack(axes))


def _block(file: _Variables, number: int) -> tuple[str, AnyArray]:
    """Return the type of a block and its nodes, counted from zero and in VTK's order."""
    nodes = file.array(f"connect{number}")
    kind = file.kind(f"connect{number}")
    name = _FAMILIES.get(kind[:3], {}).get(nodes.shape[-1]) if nodes.ndim == 2 else None
    if name is None:
        width = nodes.shape[-1] if nodes.ndim == 2 else "different numbers of"
        raise InputError(f"its block {number} has elements of type {kind[:40]!r} with {width} nodes, not supported")
    nodes = nodes[:, _ORDER[name]] if name in _ORDER else nodes
    return name, release(nodes.astype(np.int64) - 1)


def _at_step(file: _Variables, stem: str, number: int, rest: str) -> AnyArray | None:
    """Return a variable at the time that is read, or None where there is no time or no such variable."""
    name = f"{stem}{number}{rest}"
    if name in file and file.shape(name)[0]:
        return file.step(name)
    if stem in file and not rest and file.shape(stem)[0]:  # older files: all variables in one
        return file.step(stem, number - 1)
    return None


def _of_block(file: _Variables, number: int, block: int, length: int) -> AnyArray:
    values = _at_step(file, "vals_elem_var", number, f"eb{block}")
    return values if values is not None and values.shape == (length,) else np.full(length, np.nan)
