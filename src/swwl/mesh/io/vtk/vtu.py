"""VTK's XML files of meshes: unstructured grids (VTU), surfaces (VTP), several as one (PVTU, PVTP); and writing.

The format engineers save from ParaView, and the one that swwl writes. ``data.py`` finds the elements and reads the
numbers, ``cells.py`` sorts the cells.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MissingFileError, located
from swwl.mesh.arrays import AnyArray
from swwl.mesh.io.faces import solid_cells
from swwl.mesh.io.shared import Fields, Piece, join, refuse_empty
from swwl.mesh.io.vtk.cells import NUMBERS, SortedCells, one_type, size_of, sort_cells, surface_cells
from swwl.mesh.io.vtk.data import Decoder, Element, parse
from swwl.mesh.io.vtk.groups import PREFIX, group_arrays, take_groups
from swwl.mesh.mesh import Mesh


def read_vtu(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read a file of any of the kinds above; it says itself which it is.

    Parameters
    ----------
    path : Path
    fields : collection of str, optional
        Names of the requested fields; others are not even unpacked. All by default.
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
            f"it is a VTK file of type {kind[:40]!r}; supported are {', '.join(_READERS)} and their parallel forms"
        )
    if kind not in _READERS:
        if not parallel:
            raise InputError("a piece of a parallel file cannot itself be parallel")
        return [piece for source in _sources(path, body) for piece in _named(source, fields)]
    decoder = Decoder(data, root, appended)
    elements = [element for element in body.all("Piece") if element.integer("NumberOfPoints")]
    others = _others(body, decoder) if len(elements) == 1 else {}
    return [_READERS[kind](element, decoder, fields, root, others) for element in elements]


def _others(body: Element, decoder: Decoder) -> Fields:
    """Return the arrays of the field data that belong to groups."""
    found = {}
    for array in _arrays(body, "FieldData"):
        name = array.attributes.get("Name", "")
        if name.startswith(PREFIX) and decoder.is_numeric(array):
            width, length = array.integer("NumberOfComponents", 1), array.integer("NumberOfTuples")
            found[name] = decoder.array(array, width * length, f"its array {name!r}").reshape(length, width)
    return found


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


def _grid(piece: Element, decoder: Decoder, fields: Collection[str] | None, root: Element, others: Fields) -> Piece:
    """Read a piece of an unstructured grid."""
    points = _points(piece, decoder)
    n_cells = piece.integer("NumberOfCells", 0)
    cells = SortedCells([], None)
    if n_cells:
        arrays = {array.attributes.get("Name", ""): array for array in _arrays(piece, "Cells")}
        types = _integers(arrays, "types", n_cells, decoder)
        if (types == _POLYHEDRON).any():
            return _with_polyhedra(piece, points, types, arrays, decoder, fields, others)
        cells = _one_type(types, arrays, decoder) or sort_cells(
            types, *_lists(arrays, n_cells, decoder), old_hexahedra=_version(root) < (2, 1)
        )
    return _piece(piece, points, cells, n_cells, decoder, fields, others)


def _with_polyhedra(
    piece: Element,
    points: AnyArray,
    types: AnyArray,
    arrays: dict[str, Element],
    decoder: Decoder,
    fields: Collection[str] | None,
    of_groups: Fields,
) -> Piece:
    """Read a piece in which some cells are given by their faces, and cut them from their centers."""
    if not arrays.keys() >= {"faces", "faceoffsets"}:
        raise InputError("it has polyhedra (VTK type 42) without arrays 'faces' and 'faceoffsets', not supported")
    offsets, connectivity = _lists(arrays, len(types), decoder)
    ends = _integers(arrays, "faceoffsets", len(types), decoder).astype(np.int64)
    stream = _integers(arrays, "faces", max(0, int(ends.max())), decoder).astype(np.int64)
    chosen, others = np.flatnonzero(types == _POLYHEDRON), np.flatnonzero(types != _POLYHEDRON)
    solids = solid_cells(points, _faces(stream, ends[chosen], len(points)), len(chosen))
    sizes: NDArray[np.int64] = np.diff(offsets.astype(np.int64), prepend=0).astype(np.int64)
    if (sizes < 0).any() or sizes.sum() != len(connectivity):
        raise InputError("the offsets of its cells do not increase")
    plain = sort_cells(types[others], np.cumsum(sizes[others]), connectivity[np.repeat(types != _POLYHEDRON, sizes)])
    source = np.arange(len(others)) if plain.source is None else plain.source
    cells = SortedCells(
        [*plain.blocks, *solids.blocks], np.concatenate([others[source], chosen[solids.source]]).astype(np.intp)
    )
    found = _piece(piece, points, cells, len(types), decoder, fields, of_groups)
    of_nodes = {name: solids.with_centers(field) for name, field in found.fields.items()}
    return Piece(solids.with_centers(points), found.cells, of_nodes, found.cell_fields, found.sets)


def _faces(stream: AnyArray, ends: AnyArray, n_points: int) -> list[tuple[AnyArray, AnyArray]]:
    """Take the faces of polyhedra out of VTK's list: a count, and for every face its size and its nodes."""
    values, by_size = stream.tolist(), dict[int, tuple[list[list[int]], list[list[int]]]]()
    starts = np.concatenate([[0], np.sort(ends)])
    for cell, end in enumerate(ends.tolist()):
        place = int(starts[np.searchsorted(starts, end) - 1]) if end > 0 else -1
        count = values[place] if 0 <= place < len(values) else 0
        place += 1
        for _ in range(min(count, len(values))):
            size = values[place] if place < end else 0
            if size < 3 or place + size >= end + 1:
                raise InputError("the faces of its polyhedra are damaged")
            nodes, cells = by_size.setdefault(size, ([], []))
            nodes.append(values[place + 1 : place + 1 + size])
            cells.append([cell, -1])
            place += size + 1
        if place != end:
            raise InputError("the faces of its polyhedra are damaged")
    found = [(np.array(nodes, np.int64), np.array(cells, np.int64)) for nodes, cells in by_size.values()]
    if any(nodes.min() < 0 or nodes.max() >= n_points for nodes, _ in found):
        raise InputError(f"the faces of its polyhedra name a point that is not one of its {n_points}")
    return found


_POLYHEDRON = 42


def _one_type(types: AnyArray, arrays: dict[str, Element], decoder: Decoder) -> SortedCells | None:
    """Return cells that are all of one type and size without a look at their offsets, which say nothing more."""
    size = size_of(int(types[0]))
    if not size or "connectivity" not in arrays or not (types == types[0]).all():
        return None
    if decoder.declared(arrays["connectivity"], "the array 'connectivity' of its cells") != len(types) * size:
        return None
    nodes = _integers(arrays, "connectivity", len(types) * size, decoder)
    return one_type(int(types[0]), nodes)


def _surface(piece: Element, decoder: Decoder, fields: Collection[str] | None, root: Element, others: Fields) -> Piece:
    """Read a piece of a PolyData: lists of vertices, lines, strips and polygons."""
    points = _points(piece, decoder)
    lists = {}
    for kind in ("Verts", "Lines", "Strips", "Polys"):
        count = piece.integer(f"NumberOf{kind}", 0)
        if count:
            arrays = {array.attributes.get("Name", ""): array for array in _arrays(piece, kind)}
            lists[kind] = _lists(arrays, count, decoder)
    cells = surface_cells(lists)
    n_cells = sum(len(ends) for ends, _ in lists.values())
    return _piece(piece, points, cells, n_cells, decoder, fields, others)


def _piece(
    piece: Element,
    points: AnyArray,
    cells: SortedCells,
    n_cells: int,
    decoder: Decoder,
    fields: Collection[str] | None,
    others: Fields,
) -> Piece:
    """Add the fields and the groups."""
    of_nodes = _fields(piece, "PointData", decoder, len(points), fields)
    found = _fields(piece, "CellData", decoder, n_cells, fields) if n_cells else {}
    of_cells = {name: cells.of_cells(field) for name, field in found.items()}
    sets = take_groups(of_nodes, of_cells, others)
    return Piece(points, cells.blocks, of_nodes, of_cells, sets)


_READERS: dict[str, Callable[[Element, Decoder, Collection[str] | None, Element, Fields], Piece]] = {
    "UnstructuredGrid": _grid,
    "PolyData": _surface,
}


def _arrays(piece: Element, section: str) -> Iterable[Element]:
    element = piece.first(section)
    return () if element is None else element.all("DataArray")


def _points(piece: Element, decoder: Decoder) -> AnyArray:
    count = piece.integer("NumberOfPoints")
    array = next(iter(_arrays(piece, "Points")), None)
    if array is None:
        raise InputError(f"it declares {count} points, but has none (is it cut off?)")
    if array.integer("NumberOfComponents", 3) != 3:
        raise InputError(f"its points have {array.attributes['NumberOfComponents'][:40]} coordinates instead of 3")
    return decoder.array(array, 3 * count, "the array of its points").reshape(count, 3)


def _integers(arrays: dict[str, Element], name: str, count: int, decoder: Decoder) -> AnyArray:
    if name not in arrays:
        raise InputError(f"it declares cells, but has no array {name!r} of them (is it cut off?)")
    values = decoder.array(arrays[name], count, f"the array {name!r} of its cells", nodes=name == "connectivity")
    if values.dtype.kind not in "iu":
        raise InputError(f"the array {name!r} of its cells holds {values.dtype}, not integers")
    return values


def _lists(arrays: dict[str, Element], n_cells: int, decoder: Decoder) -> tuple[AnyArray, AnyArray]:
    """Return where the nodes of each cell end, and the nodes."""
    offsets = _integers(arrays, "offsets", n_cells, decoder)
    return offsets, _integers(arrays, "connectivity", max(0, int(offsets[-1])), decoder)


def _fields(piece: Element, section: str, decoder: Decoder, count: int, wanted: Collection[str] | None) -> Fields:
    """Return the arrays of numbers with one row per node or cell; texts are left out."""
    found: Fields = {}
    for array in _arrays(piece, section):
        name = array.attributes.get("Name", "")
        step = array.attributes.get("TimeStep", "0").split()
        if wanted is not None and name not in wanted and not name.startswith(PREFIX):
            continue
        if not decoder.is_numeric(array) or step[:1] not in ([], ["0"]):
            continue
        width = array.integer("NumberOfComponents", 1)
        if width:
            values = decoder.array(array, count * width, f"its field {name!r}")
            found[name] = values if width == 1 else values.reshape(count, width)
    return found


# Compressed in pieces of this size: large enough that there are few, small enough that none takes much memory.
_BLOCK = 2**20
_LEVEL = 1  # of zlib: half the time of its default for a few percent of size


def write_vtu(file: IO[bytes], mesh: Mesh, compress: bool = False) -> None:
    """Write a mesh to an open file.

    Parameters
    ----------
    file : binary file
    mesh : Mesh
        Of at most three coordinates.
    compress : bool
        By zlib: smaller, and slower to read.
    """
    if mesh.dimension > 3:
        raise InputError(f"cannot be written: a mesh of {mesh.dimension} coordinates has no place in a .vtu file")
    points = np.zeros((mesh.n_nodes, 3))
    points[:, : mesh.dimension] = mesh.points
    nodes_in, cells_in, faces = group_arrays(mesh)
    sections = {
        "PointData": nodes_in | {name: _plain(field) for name, field in mesh.fields.items()},
        "CellData": cells_in | {name: _plain(field) for name, field in mesh.cell_fields.items()},
        "Points": {"Points": points},
        "Cells": _cells(mesh),
        "FieldData": faces,
    }
    arrays = [array for part in sections.values() for array in part.values()]
    blobs = [_packed(array) if compress else _raw(array) for array in arrays]
    order = _order(arrays, blobs, compress)
    starts = np.cumsum([0, *(len(blobs[k]) for k in order)]).tolist()
    offsets = iter([start for _, start in sorted(zip(order, starts, strict=False))])
    *piece, others = [_section(section, named, offsets) for section, named in sections.items()]
    packer = ' compressor="vtkZLibDataCompressor"' if compress else ""
    head = "\n".join(
        [
            '<?xml version="1.0"?>',
            f'<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64"{packer}>',
            "<UnstructuredGrid>",
            f'<Piece NumberOfPoints="{mesh.n_nodes}" NumberOfCells="{mesh.n_cells}">',
            *(line for lines in piece for line in lines),
            "</Piece>",
            *(others if faces else []),
            "</UnstructuredGrid>",
            "",
        ]
    ).encode()
    start = b'<AppendedData encoding="raw">_'
    file.write(head + b" " * (-(len(head) + len(start)) % 8) + start)
    for k in order:
        file.write(blobs[k])
    file.write(b"\n</AppendedData>\n</VTKFile>\n")


def _section(section: str, arrays: Mapping[str, AnyArray], offsets: Iterator[int]) -> list[str]:
    """Return the element of a section and of its arrays, in lines."""
    lines = [f"<{section}>"]
    for name, array in arrays.items():
        shape = f' NumberOfComponents="{array.shape[1]}"' if array.ndim == 2 else ""
        shape += f' NumberOfTuples="{len(array)}"' if section == "FieldData" else ""
        kind = f'type="{_type(array)}" Name={_quoted(name)}{shape}'
        lines.append(f'<DataArray {kind} format="appended" offset="{next(offsets)}"/>')
    return [*lines, f"</{section}>"]


def _order(arrays: Sequence[AnyArray], blobs: Sequence[bytes], compress: bool) -> list[int]:
    """Return in which order arrays that are named one after another are written, so that all programs read them.

    meshio walks through the data, looks for the first element that names the place where it is, and writes over that
    the place where the array is to stand in its own text of base64. An element that it has been to may so come to name
    the place of another one, which it then misses: arrays are exchanged. That cannot be where every element stands
    before those whose data come first. Only long numbers first, however, are read without a copy (all of them stand at
    multiples of their size then, without gaps, which meshio does not read), so that this order is taken if meshio
    finds its way through it.
    """
    backward = list(range(len(arrays)))[::-1]
    aligned = sorted(backward, key=lambda k: -arrays[k].dtype.itemsize)
    return aligned if not compress and _is_found(aligned, blobs) else backward


def _is_found(order: Sequence[int], blobs: Sequence[bytes]) -> bool:
    """Whether meshio finds the right element for all arrays, where these are not compressed."""
    start = moved = 0
    passed: dict[int, int] = {}  # where the first element stands that names a place since meshio has been to it
    for k in order:
        if passed.get(start, len(blobs)) < k:
            return False
        passed[moved] = min(k, passed.get(moved, k))
        start += len(blobs[k])
        moved += 4 * -(-len(blobs[k]) // 3)
    return True


def _cells(mesh: Mesh) -> dict[str, AnyArray]:
    blocks = {kind: block for kind, block in mesh.cells.items() if len(block)}
    sizes = np.repeat([block.shape[1] for block in blocks.values()], [len(block) for block in blocks.values()])
    numbers = [7 if kind.startswith("polygon") else _number(kind) for kind in blocks]
    ends = np.cumsum(sizes, dtype=np.int64)
    small = not len(ends) or ends[-1] < 2**31
    return {
        "connectivity": np.concatenate([np.empty(0, np.int32), *(block.ravel() for block in blocks.values())]),
        "offsets": ends.astype(np.int32) if small else ends,
        "types": np.repeat(np.array(numbers, np.uint8), [len(block) for block in blocks.values()]),
    }


def _number(kind: str) -> int:
    if kind not in NUMBERS:
        raise InputError(f"cannot be written: cells of type {kind!r} have no place in a .vtu file")
    return NUMBERS[kind]


def _plain(field: AnyArray) -> AnyArray:
    """Give a field a type that VTK knows."""
    if field.dtype.kind == "b":
        return field.astype(np.uint8)
    if field.dtype.kind == "f" and field.dtype.itemsize not in (4, 8):
        return field.astype(np.float64)
    return field


def _type(array: AnyArray) -> str:
    names = {"f": "Float", "i": "Int", "u": "UInt"}
    return f"{names[array.dtype.kind]}{8 * array.dtype.itemsize}"


def _quoted(name: str) -> str:
    if any(ord(letter) < 32 and letter not in "\t\n\r" for letter in name) or "\ufffe" in name or "\uffff" in name:
        raise InputError(f"cannot be written: the name {name!r} of a field has characters that XML does not allow")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"cannot be written: the name {name!r} of a field is not valid Unicode") from None
    return quoteattr(name)


def _little(array: AnyArray) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


def _raw(array: AnyArray) -> bytes:
    data = _little(array)
    return len(data).to_bytes(8, "little") + data


def _packed(array: AnyArray) -> bytes:
    data = _little(array)
    blocks = [zlib.compress(data[k : k + _BLOCK], _LEVEL) for k in range(0, len(data), _BLOCK)]
    header = [len(blocks), _BLOCK, len(data) % _BLOCK, *map(len, blocks)]
    return b"".join(number.to_bytes(8, "little") for number in header) + b"".join(blocks)
