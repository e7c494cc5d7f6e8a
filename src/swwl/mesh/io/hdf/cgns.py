"""CGNS as PLAID and the CGNS library write it: a mesh, its fields and the scalars beside it.

The same tree comes in two forms: in a file, an HDF5 group with a ``label`` attribute and its values in a dataset
named " data"; in memory, pyCGNS's list ``[name, values, children, label]``.
"""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.cells import cell_dimension
from swwl.mesh.io.shared import Budget, NamedSets, Piece, UnsupportedError, join
from swwl.mesh.io.vtk.cells import UPRIGHT_FIRST, grid_cells
from swwl.mesh.mesh import Mesh, in_plane
from swwl.storage.atomic import atomic_write

# CGNS/SIDS element numbers: meshio's name, nodes.
_ELEMENTS = {
    2: ("vertex", 1),
    3: ("line", 2),
    4: ("line3", 3),
    5: ("triangle", 3),
    6: ("triangle6", 6),
    7: ("quad", 4),
    8: ("quad8", 8),
    9: ("quad9", 9),
    10: ("tetra", 4),
    11: ("tetra10", 10),
    12: ("pyramid", 5),
    13: ("pyramid14", 14),
    14: ("wedge", 6),
    15: ("wedge15", 15),
    16: ("wedge18", 18),
    17: ("hexahedron", 8),
    18: ("hexahedron20", 20),
    19: ("hexahedron27", 27),
    21: ("pyramid13", 13),
}
_MIXED = 20
_REFUSED = {22: "polygons or faces of polyhedra (NGON_n)", 23: "polyhedra (NFACE_n)"}
_ORDER = UPRIGHT_FIRST | {"hexahedron27": [*UPRIGHT_FIRST["hexahedron20"], 24, 22, 21, 23, 20, 25, 26]}
_ADF = b"ADF Database"
_OF_SAMPLE = re.compile(r"mesh_\d+\.cgns")


class _Node:
    """A node of a CGNS file."""

    def __init__(self, group: Any, budget: Budget):
        self._group, self._budget = group, budget
        self.name = str(group.name).rsplit("/", 1)[-1]
        self.label = _text(group.attrs.get("label", b""))

    def _all(self) -> Iterator[_Node]:
        groups = (child for child in self._group.values() if hasattr(child, "keys"))  # and not data sets
        return (_Node(child, self._budget) for child in groups)

    def children(self, label: str) -> list[_Node]:
        """Return the children with a label in the order of their names, whatever the order they are kept in."""
        return sorted((child for child in self._all() if child.label == label), key=lambda child: child.name)

    def child(self, name: str) -> _Node:
        for child in self._all():
            if child.name == name:
                return child
        raise InputError(f"its node {self.name!r} has no {name!r}")

    def has(self, name: str) -> bool:
        """Whether there is a child of a name."""
        return any(child.name == name for child in self._all())

    @property
    def is_text(self) -> bool:
        return _text(self._group.attrs.get("type", b"")) == "C1"

    def values(self) -> AnyArray:
        if " data" not in self._group:
            raise InputError(f"its node {self.name!r} holds no values")
        data = self._group[" data"]
        self._budget.take(data.size * data.dtype.itemsize)
        return np.asarray(data[()])

    def text(self) -> str:
        """Return its values as a text."""
        values = self.values()
        return _text((values if values.dtype.kind == "S" else values.astype(np.uint8)).tobytes())


class _ListNode(_Node):
    """A node of a tree in memory."""

    def __init__(self, node: list[Any]):
        if not (isinstance(node, list) and len(node) == 4 and isinstance(node[2], list)):
            raise InputError("it is not a CGNS tree: a node must be a list of name, values, children and label")
        self._node = node
        self.name, self.label = str(node[0]), str(node[3])

    def _all(self) -> Iterator[_Node]:
        return (_ListNode(child) for child in self._node[2])

    @property
    def is_text(self) -> bool:
        return np.asarray(self._node[1]).dtype.kind in "SU"

    def values(self) -> AnyArray:
        if self._node[1] is None:
            raise InputError(f"its node {self.name!r} holds no values")
        return np.asarray(self._node[1]).T  # as they are in a file, which keeps them in Fortran's order


def _text(value: Any) -> str:
    return (value if isinstance(value, bytes) else bytes(str(value), "utf8")).decode().rstrip("\0 ")


def read_cgns(path: str | os.PathLike[str], fields: Collection[str] | None = None) -> Mesh:
    """Read the zones of the base of highest dimension that has coordinates, with their fields and groups.

    Groups are boundary conditions and their families, sections of boundary elements, families of zones and, where there
    are several, zones.
    """
    with _opened(path) as root:
        return _mesh(root, fields)


def read_cgns_scalars(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read the scalars that PLAID keeps in the base ``Global``; arrays and texts in it are left out.

    Returns
    -------
    dict of str to float
        In the order of their names; empty where there are none.
    """
    with _opened(path) as root:
        return _scalars(root)


def sample_files(path: Path) -> list[Path]:
    """Return the files of all times of a sample of PLAID, ``meshes/mesh_000000000.cgns`` and so on; else the file.

    Examples
    --------
    >>> [file.name for file in sample_files(Path("rotor.cgns"))]
    ['rotor.cgns']
    """
    if path.parent.name != "meshes" or not _OF_SAMPLE.fullmatch(path.name):
        return [path]
    return sorted(other for other in path.parent.iterdir() if _OF_SAMPLE.fullmatch(other.name))


def sample_times(path: Path) -> list[float]:
    """Return the times of a sample of PLAID, that its files are of, or else their numbers; none where there is one."""
    files = sample_files(path)
    return [_time(file, number) for number, file in enumerate(files)] if len(files) > 1 else []


def _time(path: Path, number: int) -> float:
    with located(str(path)), _opened(path) as root:
        for base in root.children("CGNSBase_t"):
            for own in base.children("BaseIterativeData_t"):
                if own.has("TimeValues"):
                    return float(own.child("TimeValues").values().ravel()[0])
    return float(number)


def read_sample(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Mesh:
    """Read a sample of PLAID at one of its times."""
    return read_cgns(sample_files(path)[step], fields)


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[_Node]:
    import h5py  # 40 ms, when the first file is read

    size = os.path.getsize(path)
    with open(path, "rb") as start:
        magic = start.read(32)
    if _ADF in magic:
        raise UnsupportedError(
            "it is a CGNS file in the old ADF container; convert it to HDF5 with the tool adf2hdf, or install "
            "pyvista (pip install 'swwl[vtk]'), which reads ADF"
        )
    if not h5py.is_hdf5(path):
        raise InputError("it is damaged or of another format: it is not an HDF5 file" if size else "the file is empty.")
    with h5py.File(path, "r") as file:
        yield _Node(file, Budget(size))


def mesh_of_tree(tree: list[Any]) -> Mesh:
    """Make a mesh of a CGNS tree in memory, as `read_cgns`; one in the plane z = 0 gets two coordinates."""
    return in_plane(_mesh(_ListNode(tree), None))


def scalars_of_tree(tree: list[Any]) -> dict[str, float]:
    """Return the scalars of a CGNS tree in memory; as `read_cgns_scalars`.

    Examples
    --------
    >>> speed = ["speed", np.array([3.5]), [], "DataArray_t"]
    >>> scalars_of_tree(["CGNSTree", None, [["Global", np.array([1, 1]), [speed], "CGNSBase_t"]], "CGNSTree_t"])
    {'speed': 3.5}
    """
    return _scalars(_ListNode(tree))


def is_tree(obj: Any) -> bool:
    """Whether an object is the root of a CGNS tree in memory."""
    return isinstance(obj, list) and len(obj) == 4 and isinstance(obj[3], str) and obj[3] == "CGNSTree_t"


def _scalars(root: _Node) -> dict[str, float]:
    found = {}
    for base in root.children("CGNSBase_t"):
        if base.name == "Global":
            for node in base.children("DataArray_t"):
                if not node.is_text:
                    values = node.values()
                    if values.size == 1 and values.dtype.kind in "biuf":
                        found[node.name] = float(values.ravel()[0])
    return found


def _mesh(root: _Node, wanted: Collection[str] | None) -> Mesh:
    bases = [base for base in root.children("CGNSBase_t") if base.children("Zone_t")]
    # A base of lower dimension holds the boundary, or tags on it, of the one that matters.
    bases.sort(key=lambda base: -int(base.values().ravel()[0]))
    zones = 0
    for base in bases:
        known = {family.name: _families(family) for family in base.children("Family_t")}
        known = {name: names for name, names in known.items() if names and names != [name]}
        found = [(zone.name, _piece(zone, wanted, known)) for zone in base.children("Zone_t")]
        pieces = [(name, piece) for name, piece in found if piece is not None]
        for name, piece in pieces if len(pieces) > 1 else ():
            piece.sets.add_cells(name, np.flatnonzero(_is_inner(piece.cells)))
        if pieces:
            return join([piece for _, piece in pieces])
        zones += len(base.children("Zone_t"))
    raise InputError(f"none of its {zones} zones has grid coordinates")


def _piece(zone: _Node, wanted: Collection[str] | None, known: Mapping[str, list[str]]) -> Piece | None:
    """Return a zone as a piece of a mesh, or None if it has no coordinates.

    ``known`` are names that families have themselves: those of Gmsh are called L_5, and named after physical groups.
    """
    for grid in zone.children("GridCoordinates_t"):
        axes = [node for node in grid.children("DataArray_t") if node.name.startswith("Coordinate")]
        if axes:
            break
    else:
        return None
    points = release(np.column_stack([axis.values().ravel() for axis in axes]))
    kinds = [node.text() for node in zone.children("ZoneType_t")]
    sets = NamedSets()
    if kinds == ["Structured"]:
        shape = zone.values().reshape(3, -1)[0].tolist()
        if math.prod(shape) != len(points):
            raise InputError(f"its zone {zone.name!r} is a grid of {shape} nodes, but has {len(points)}")
        cells: list[tuple[str, AnyArray]] = list(grid_cells(shape))
        _add_grid_conditions(sets, zone, shape, known)
    else:
        cells, numbers, sections = _cells(zone)
        _add_conditions(sets, zone, len(points), cells, numbers, known)
        named = {name: own for name, own in sections.items() if name.partition("_")[2] not in known}
        _add_sections(sets, cells, named)
    inner = _is_inner(cells)
    for name in _called(_families(zone), known):
        sets.add_cells(name, np.flatnonzero(inner))
    of_cells = {}
    for name, values in _fields(zone, "CellCenter", int(inner.sum()), wanted).items():
        of_cells[name] = values if inner.all() else np.full(len(inner), np.nan)
        if not inner.all():
            of_cells[name][inner] = values
    return Piece(points, cells, _fields(zone, "Vertex", len(points), wanted), of_cells, sets)


def _is_inner(cells: list[tuple[str, AnyArray]]) -> NDArray[np.bool_]:
    """Tell which cells fields at cell centers are of: those of the highest dimension, and none of a boundary."""
    dimensions = [cell_dimension(kind) for kind, _ in cells]
    flags = [np.full(len(block), k == max(dimensions)) for (_, block), k in zip(cells, dimensions, strict=True)]
    return np.concatenate([np.empty(0, bool), *flags])


def _cells(zone: _Node) -> tuple[list[tuple[str, AnyArray]], AnyArray, dict[str, AnyArray]]:
    """Return the cells of a zone, their numbers in the file (m,), and by section which of them it has."""
    blocks: list[tuple[str, AnyArray]] = []
    numbers = [np.empty(0, np.int64)]
    sections = {}
    for elements in sorted(zone.children("Elements_t"), key=_first_number):
        before, start = len(blocks), sum(map(len, numbers))
        number = int(elements.values().ravel()[0])
        nodes = elements.child("ElementConnectivity").values().ravel() if number not in _REFUSED else np.empty(0)
        if number == _MIXED:
            blocks += _mixed(elements, nodes)
        elif number in _ELEMENTS:
            blocks.append(_block(number, nodes))
        else:
            what = _REFUSED.get(number, f"of CGNS type {number}")
            raise UnsupportedError(f"its elements {elements.name!r} are {what}, which is not supported")
        count = sum(len(block) for _, block in blocks[before:])
        numbers.append(np.arange(count) + (_first_number(elements) or start + 1))
        sections[elements.name] = np.arange(count) + start
    return blocks, np.concatenate(numbers), sections


def _families(node: _Node) -> list[str]:
    """Return the families that a zone or a boundary condition belongs to."""
    found = [*node.children("FamilyName_t"), *node.children("AdditionalFamilyName_t")]
    return list(dict.fromkeys(name for name in (child.text().strip() for child in found) if name))


def _called(names: list[str], known: Mapping[str, list[str]]) -> list[str]:
    """Return names with those that are families' replaced by the names that these have.

    Examples
    --------
    >>> _called(["L_6", "wall"], {"L_6": ["walls"]})
    ['walls', 'wall']
    """
    return list(dict.fromkeys(one for name in names for one in known.get(name, [name])))


def _conditions(zone: _Node, known: Mapping[str, list[str]]) -> Iterator[tuple[list[str], str, str, AnyArray]]:
    """Yield the boundary conditions: its name and families, where it is, how that is given, and numbers."""
    for home in zone.children("ZoneBC_t"):
        for condition in home.children("BC_t"):
            names = _called([condition.name, *_families(condition)], known)
            for form in ("PointList", "PointRange", "ElementList", "ElementRange"):
                if condition.has(form):
                    where = "FaceCenter" if form.startswith("Element") else _location(condition)
                    yield names, where, form, condition.child(form).values()
                    break


def _add_conditions(
    sets: NamedSets,
    zone: _Node,
    n_nodes: int,
    cells: list[tuple[str, AnyArray]],
    numbers: AnyArray,
    known_names: Mapping[str, list[str]],
) -> None:
    """Add the boundary conditions of an unstructured zone, which name nodes or elements by their numbers."""
    for names, where, form, values in _conditions(zone, known_names):
        flat = np.asarray(values.ravel(), np.int64)
        known = np.arange(1, n_nodes + 1) if where == "Vertex" else numbers
        if form.endswith("Range") and len(flat) == 2:
            chosen = np.flatnonzero((known >= flat[0]) & (known <= flat[1]))
        else:
            chosen = np.flatnonzero(np.isin(known, flat))
        for name in names:
            if where == "Vertex":
                sets.add_nodes(name, chosen)
            elif cells:
                sets.add_elements(name, cells, chosen)


def _add_sections(sets: NamedSets, cells: list[tuple[str, AnyArray]], sections: dict[str, AnyArray]) -> None:
    """Add sections of boundary elements, unless a boundary condition has their name."""
    inner = _is_inner(cells)
    for name, chosen in sections.items():
        if len(chosen) and not inner[chosen].any() and name not in sets.nodes.keys() | sets.faces.keys():
            sets.add_elements(name, cells, chosen)


def _add_grid_conditions(sets: NamedSets, zone: _Node, shape: list[int], known: Mapping[str, list[str]]) -> None:
    """Add the boundary conditions of a structured zone: faces where they are a side of a box, else nodes."""
    numbers = np.arange(math.prod(shape)).reshape(shape, order="F")
    for names, where, form, values in _conditions(zone, known):
        if form == "PointRange" and values.size == 2 * len(shape):
            low, high = values.reshape(2, -1).astype(np.int64)
            low, high = np.minimum(low, high) - 1, np.maximum(low, high)
            flat = high - low == 1
            if where != "Vertex":
                high += ~flat  # faces end a node later
            box = numbers[tuple(slice(*pair) for pair in zip(low, high, strict=True))]
            if flat.sum() == 1 and box.size and len(shape) > 1:
                ((kind, faces),) = grid_cells(box.shape)
                for name in names:
                    sets.add_faces(name, kind, box.ravel(order="F")[faces])
                continue
            chosen = box.ravel()
        elif where == "Vertex" and values.size % len(shape) == 0:
            places = values.reshape(-1, len(shape)).astype(np.int64) - 1
            inside = ((places >= 0) & (places < shape)).all(axis=1)
            chosen = numbers[tuple(places[inside].T)]
        else:
            continue
        for name in names:
            sets.add_nodes(name, chosen)


def _first_number(elements: _Node) -> int:
    """Return the number of the first element of a section: in this order fields are given."""
    return int(elements.child("ElementRange").values().ravel()[0]) if elements.has("ElementRange") else 0


def _block(number: int, nodes: AnyArray) -> tuple[str, AnyArray]:
    kind, size = _ELEMENTS[number]
    if len(nodes) % size:
        raise InputError(f"its elements of type {kind} have {len(nodes)} nodes in all, which {size} does not divide")
    block = nodes.reshape(-1, size)
    return kind, release((block[:, _ORDER[kind]] if kind in _ORDER else block) - 1)


def _mixed(elements: _Node, flat: AnyArray) -> list[tuple[str, AnyArray]]:
    """Split elements that are given as type, nodes, type, nodes, ... into runs of one type."""
    types, starts = [], []
    place = 0
    numbers = flat.tolist()
    while place < len(numbers):
        number = int(numbers[place])
        if number not in _ELEMENTS:
            raise UnsupportedError(f"its mixed elements {elements.name!r} have CGNS type {number}, not supported")
        types.append(number)
        starts.append(place + 1)
        place += 1 + _ELEMENTS[number][1]
    if place != len(numbers):
        raise InputError(f"the last of its mixed elements {elements.name!r} lacks nodes")
    kinds, first = np.array(types), np.array(starts)
    changes = np.flatnonzero(np.diff(kinds, prepend=-1))
    blocks = []
    for start, stop in zip(changes, [*changes[1:], len(kinds)], strict=True):
        size = _ELEMENTS[int(kinds[start])][1]
        blocks.append(_block(int(kinds[start]), flat[first[start:stop, None] + np.arange(size)].ravel()))
    return blocks


def _fields(zone: _Node, place: str, length: int, wanted: Collection[str] | None) -> dict[str, AnyArray]:
    fields = {}
    for solution in zone.children("FlowSolution_t"):
        if _location(solution) == place:
            for node in solution.children("DataArray_t"):
                if (wanted is None or node.name in wanted) and not node.is_text:
                    values = node.values().ravel()
                    if length and len(values) == length and values.dtype.kind in "biuf":
                        fields[node.name] = values
    return fields


def _location(solution: _Node) -> str:
    for node in solution.children("GridLocation_t"):
        return node.text()
    return "Vertex"


_TYPES = {"f8": "R8", "f4": "R4", "i4": "I4", "i8": "I8"}


def copy_cgns(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    fields: Mapping[str, AnyArray],
    cell_fields: Mapping[str, AnyArray] | None = None,
    scalars: Mapping[str, float] | None = None,
) -> None:
    """Copy a CGNS file (HDF5) with more fields and scalars, or others in place of those of the same name.

    Parameters
    ----------
    source, target : str or path
        The target is written under a temporary name until it is complete.
    fields : mapping of str to ndarray of shape (n,)
        At the nodes, numbered as :func:`swwl.read_mesh` numbers them.
    cell_fields : mapping of str to ndarray of shape (m,), optional
        At the cells of the highest dimension.
    scalars : mapping of str to float, optional
        For the base ``Global``.

    Raises
    ------
    InputError
        If the file has several zones with coordinates, or if a field has another length.
    """
    import h5py

    with located(str(source)):
        content = io.BytesIO(Path(source).read_bytes())
        if not h5py.is_hdf5(source):
            raise InputError("it is not a CGNS file in HDF5, so nothing can be added to it.")
        with h5py.File(content, "r+") as file:
            zone = _zone(file)
            n_nodes = _n_nodes(zone)
            for name, values in fields.items():
                if values.shape != (n_nodes,):
                    raise InputError(f"field {name!r} has shape {values.shape}, but there are {n_nodes} nodes.")
            _put(zone, "Vertex", fields)
            _put(zone, "CellCenter", cell_fields or {})
            if scalars:
                home = (
                    file["Global"] if "Global" in file else _node(file, "Global", "CGNSBase_t", np.array([1, 1], "i4"))
                )
                for name, value in scalars.items():
                    _replace(home, name, np.array([value], dtype=np.float64))
    with atomic_write(target) as out:
        out.write(content.getvalue())


def _label(group: Any) -> str:
    value = group.attrs.get("label", b"")
    return (value if isinstance(value, bytes) else str(value).encode()).decode().rstrip("\0 ")


def _children(group: Any, label: str) -> Iterator[Any]:
    return (child for child in group.values() if hasattr(child, "keys") and _label(child) == label)


def _zone(file: Any) -> Any:
    """Return the zone of the base of the highest dimension that has coordinates."""
    bases = sorted(_children(file, "CGNSBase_t"), key=lambda base: -int(np.ravel(base[" data"][()])[0]))
    for base in bases:
        zones = [zone for zone in _children(base, "Zone_t") if any(_children(zone, "GridCoordinates_t"))]
        if len(zones) > 1:
            raise InputError(f"it has {len(zones)} zones, but fields can be added to only one.")
        if zones:
            return zones[0]
    raise InputError("it has no zone with coordinates.")


def _n_nodes(zone: Any) -> int:
    for grid in _children(zone, "GridCoordinates_t"):
        for axis in _children(grid, "DataArray_t"):
            return int(axis[" data"].size)
    raise InputError("its zone has no coordinates.")


def _put(zone: Any, place: str, fields: Mapping[str, AnyArray]) -> None:
    """Write fields to the first solution at a place, or to a new one."""
    if not fields:
        return
    for solution in _children(zone, "FlowSolution_t"):
        if _location_node(solution) == place:
            break
    else:
        solution = _node(zone, f"{place}Fields", "FlowSolution_t")
        _node(solution, "GridLocation", "GridLocation_t", place)
    for name, values in fields.items():
        _replace(solution, name, np.asarray(values, dtype=np.float64))


def _location_node(solution: Any) -> str:
    for node in _children(solution, "GridLocation_t"):
        return bytes(np.ravel(node[" data"][()]).astype(np.uint8)).decode().rstrip("\0 ")
    return "Vertex"


def _replace(parent: Any, name: str, values: AnyArray) -> None:
    if name in parent:
        del parent[name]
    _node(parent, name, "DataArray_t", values)


def _node(parent: Any, name: str, label: str, data: AnyArray | str | None = None) -> Any:
    """Add a node as the CGNS library writes it: a group with its name, label and type in attributes."""
    if "/" in name or len(name.encode()) > 32:
        raise InputError(f"{name!r} cannot be the name of a CGNS node: at most 32 bytes, and no slash.")
    group = parent.create_group(name, track_order=True)  # pyCGNS reads children in their order
    kind = "MT" if data is None else "C1" if isinstance(data, str) else _TYPES[data.dtype.str[1:]]
    for key, value, size in (("name", name, 33), ("label", label, 33), ("type", kind, 3)):
        group.attrs.create(key, np.array(value.encode(), dtype=f"S{size}"))
    group.attrs.create("flags", np.array([1], dtype=np.int32))
    if data is not None:
        group[" data"] = np.frombuffer(data.encode(), np.int8) if isinstance(data, str) else data
    return group
