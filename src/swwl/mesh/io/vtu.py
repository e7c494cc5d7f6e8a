"""VTK's XML files of meshes: unstructured grids (VTU), surfaces (VTP), and several of them as one (PVTU, PVTP).

The format engineers save from ParaView, and the one that swwl writes. ``vtk_xml.py`` finds the elements,
``vtk_data.py`` reads the numbers, ``vtk_cells.py`` sorts the cells; ``vtu_write.py`` is the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MissingFileError, located
from swwl.mesh.arrays import release
from swwl.mesh.io.limits import refuse_empty
from swwl.mesh.io.vtk_cells import Cells, one_type, size_of, sort_cells, surface_types
from swwl.mesh.io.vtk_data import Decoder
from swwl.mesh.io.vtk_xml import Element, parse
from swwl.mesh.mesh import Mesh

Fields = dict[str, NDArray[Any]]


@dataclass
class Piece:
    """A part of a mesh: points (n, 3), cells by types, numbers of nodes and of cells."""

    points: NDArray[Any]
    cells: list[tuple[str, NDArray[Any]]]
    fields: Fields
    cell_fields: Fields


def read_vtu(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read a file of any of the kinds above; it says itself which it is.

    Parameters
    ----------
    path : Path
    fields : collection of str, optional
        Names of the fields that are wanted; others are not even unpacked. All by default.
    """
    return join(_pieces(path, fields, parallel=True))


def _pieces(path: Path, fields: Collection[str] | None, parallel: bool) -> list[Piece]:
    refuse_empty(path)
    data = path.read_bytes()
    root, appended = parse(data)
    kind = root.attributes.get("type", "")
    if root.tag != "VTKFile" or not kind:
        raise InputError(f"it is XML, but begins with <{root.tag[:40]}> and not with <VTKFile type=...>")
    body = root.first(kind)
    if body is None or kind not in (*_READERS, "PUnstructuredGrid", "PPolyData"):
        raise InputError(
            f"it is a VTK file of type {kind[:40]!r}; read are {', '.join(_READERS)} and parallel ones of them"
        )
    if kind not in _READERS:
        if not parallel:
            raise InputError("it is a piece of a parallel file, but a parallel file itself")
        return [piece for source in _sources(path, body) for piece in _named(source, fields)]
    decoder = Decoder(data, root, appended)
    return [
        _READERS[kind](element, decoder, fields, root)
        for element in body.all("Piece")
        if element.integer("NumberOfPoints")
    ]


def _sources(path: Path, body: Element) -> list[Path]:
    """Return the files of a parallel file's pieces, which it names relative to itself."""
    names = [element.attributes.get("Source", "") for element in body.all("Piece")]
    if not names or not all(names):
        raise InputError("it is a parallel file that does not name its pieces")
    if len(set(names)) < len(names):
        raise InputError("it is a parallel file that names a piece twice")
    return [path.parent / name.replace("\\", "/") for name in names]


def _named(source: Path, fields: Collection[str] | None) -> list[Piece]:
    with located(f"its piece {source.name}"):
        if not source.is_file():
            raise MissingFileError("no such file.")
        return _pieces(source, fields, parallel=False)


def _version(root: Element) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in root.attributes.get("version", "0.1").split("."))
    except ValueError:
        return (0, 1)


def _grid(piece: Element, decoder: Decoder, fields: Collection[str] | None, root: Element) -> Piece:
    """Read a piece of an unstructured grid."""
    points = _points(piece, decoder)
    n_cells = piece.integer("NumberOfCells", 0)
    if not n_cells:
        return Piece(points, [], _fields(piece, "PointData", decoder, len(points), fields), {})
    arrays = {array.attributes.get("Name", ""): array for array in _arrays(piece, "Cells")}
    types = _integers(arrays, "types", n_cells, decoder)
    cells = _one_type(types, arrays, decoder) or sort_cells(
        types, *_lists(arrays, n_cells, decoder), old_hexahedra=_version(root) < (2, 1)
    )
    of_cells = _fields(piece, "CellData", decoder, n_cells, fields)
    return Piece(
        points,
        cells.blocks,
        _fields(piece, "PointData", decoder, len(points), fields),
        {name: cells.of_cells(field) for name, field in of_cells.items()},
    )


def _one_type(types: NDArray[Any], arrays: dict[str, Element], decoder: Decoder) -> Cells | None:
    """Return cells that are all of one type and size without a look at their offsets, which say nothing more."""
    size = size_of(int(types[0]))
    if not size or "connectivity" not in arrays or not (types == types[0]).all():
        return None
    if decoder.declared(arrays["connectivity"], "the array 'connectivity' of its cells") != len(types) * size:
        return None
    nodes = _integers(arrays, "connectivity", len(types) * size, decoder)
    return one_type(int(types[0]), nodes)


def _surface(piece: Element, decoder: Decoder, fields: Collection[str] | None, root: Element) -> Piece:
    """Read a piece of a PolyData: lists of vertices, lines, strips and polygons, whose cell data come in this order."""
    points = _points(piece, decoder)
    types, offsets, connectivity = [], [], []
    start = 0
    for kind in ("Verts", "Lines", "Strips", "Polys"):
        count = piece.integer(f"NumberOf{kind}", 0)
        if count:
            arrays = {array.attributes.get("Name", ""): array for array in _arrays(piece, kind)}
            ends, nodes = _lists(arrays, count, decoder)
            ends = ends.astype(np.int64)
            types.append(surface_types(kind, np.diff(ends, prepend=0)))
            offsets.append(ends + start)
            connectivity.append(nodes)
            start += len(nodes)
    own_fields = _fields(piece, "PointData", decoder, len(points), fields)
    if not types:
        return Piece(points, [], own_fields, {})
    numbers = np.concatenate(types)
    cells = sort_cells(numbers, np.concatenate(offsets), np.concatenate(connectivity))
    of_cells = _fields(piece, "CellData", decoder, len(numbers), fields)
    return Piece(points, cells.blocks, own_fields, {name: cells.of_cells(field) for name, field in of_cells.items()})


_READERS: dict[str, Callable[[Element, Decoder, Collection[str] | None, Element], Piece]] = {
    "UnstructuredGrid": _grid,
    "PolyData": _surface,
}


def _arrays(piece: Element, section: str) -> Iterable[Element]:
    element = piece.first(section)
    return () if element is None else element.all("DataArray")


def _points(piece: Element, decoder: Decoder) -> NDArray[Any]:
    count = piece.integer("NumberOfPoints")
    array = next(iter(_arrays(piece, "Points")), None)
    if array is None:
        raise InputError(f"it declares {count} points, but has none (is it cut off?)")
    if array.integer("NumberOfComponents", 3) != 3:
        raise InputError(f"its points have {array.attributes['NumberOfComponents'][:40]} coordinates instead of 3")
    return decoder.array(array, 3 * count, "the array of its points").reshape(count, 3)


def _integers(arrays: dict[str, Element], name: str, count: int, decoder: Decoder) -> NDArray[Any]:
    if name not in arrays:
        raise InputError(f"it declares cells, but has no array {name!r} of them (is it cut off?)")
    values = decoder.array(arrays[name], count, f"the array {name!r} of its cells", nodes=name == "connectivity")
    if values.dtype.kind not in "iu":
        raise InputError(f"the array {name!r} of its cells holds {values.dtype}, not integers")
    return values


def _lists(arrays: dict[str, Element], n_cells: int, decoder: Decoder) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where the nodes of each cell end, and the nodes."""
    offsets = _integers(arrays, "offsets", n_cells, decoder)
    return offsets, _integers(arrays, "connectivity", max(0, int(offsets[-1])), decoder)


def _fields(piece: Element, section: str, decoder: Decoder, count: int, wanted: Collection[str] | None) -> Fields:
    """Return the arrays of numbers with one row per node or cell; texts are left out."""
    found: Fields = {}
    for array in _arrays(piece, section):
        name = array.attributes.get("Name", "")
        step = array.attributes.get("TimeStep", "0").split()
        if not decoder.is_numeric(array) or (wanted is not None and name not in wanted) or step[:1] not in ([], ["0"]):
            continue
        width = array.integer("NumberOfComponents", 1)
        if width:
            values = decoder.array(array, count * width, f"its field {name!r}")
            found[name] = values if width == 1 else values.reshape(count, width)
    return found


def join(pieces: Sequence[Piece]) -> Mesh:
    """Make one mesh of pieces; their points are not merged."""
    if not pieces:
        raise InputError("There are no nodes; at least one is needed.")
    if len(pieces) == 1:
        (one,) = pieces
        return Mesh(one.points, one.cells or {}, one.fields, cell_fields=one.cell_fields)
    starts = np.cumsum([0, *(len(piece.points) for piece in pieces)])
    cells = [
        (kind, release(block.astype(np.int64) + start))
        for piece, start in zip(pieces, starts, strict=False)
        for kind, block in piece.cells
    ]
    points = release(np.concatenate([piece.points for piece in pieces]))
    fields = _joined([piece.fields for piece in pieces], "point data")
    with_cells = [piece for piece in pieces if piece.cells]
    return Mesh(
        points, cells or {}, fields, cell_fields=_joined([piece.cell_fields for piece in with_cells], "cell data")
    )


def _joined(parts: Sequence[Fields], what: str) -> Fields:
    names = dict.fromkeys(name for part in parts for name in part)
    for number, part in enumerate(parts, 1):
        missing = next((name for name in names if name not in part), None)
        if missing is not None:
            raise InputError(f"its piece {number} has no {what} {missing!r}, which another piece has")
    joined = {}
    for name in names:
        shapes = {part[name].shape[1:] for part in parts}
        if len(shapes) > 1:
            raise InputError(f"its {what} {name!r} have different numbers of components in different pieces")
        joined[name] = release(np.concatenate([part[name] for part in parts]))
    return joined
