"""VTK's XML files of meshes: unstructured grids (VTU), surfaces (VTP), and several of them as one (PVTU, PVTP).

The format engineers save from ParaView, and the one that swwl writes. ``vtk_xml.py`` finds the elements,
``vtk_data.py`` reads the numbers, ``vtk_cells.py`` sorts the cells; ``vtu_write.py`` is the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from swwl.errors import InputError, MissingFileError, located
from swwl.mesh.io.limits import refuse_empty
from swwl.mesh.io.pieces import Fields, Piece, join
from swwl.mesh.io.vtk_cells import Cells, one_type, size_of, sort_cells, surface_cells
from swwl.mesh.io.vtk_data import Decoder
from swwl.mesh.io.vtk_xml import Element, parse
from swwl.mesh.mesh import Mesh


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
    cells = Cells([], None)
    if n_cells:
        arrays = {array.attributes.get("Name", ""): array for array in _arrays(piece, "Cells")}
        types = _integers(arrays, "types", n_cells, decoder)
        cells = _one_type(types, arrays, decoder) or sort_cells(
            types, *_lists(arrays, n_cells, decoder), old_hexahedra=_version(root) < (2, 1)
        )
    return _piece(piece, points, cells, n_cells, decoder, fields)


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
    return _piece(piece, points, cells, n_cells, decoder, fields)


def _piece(
    piece: Element, points: NDArray[Any], cells: Cells, n_cells: int, decoder: Decoder, fields: Collection[str] | None
) -> Piece:
    """Add the fields."""
    of_nodes = _fields(piece, "PointData", decoder, len(points), fields)
    of_cells = _fields(piece, "CellData", decoder, n_cells, fields) if n_cells else {}
    return Piece(points, cells.blocks, of_nodes, {name: cells.of_cells(field) for name, field in of_cells.items()})


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
