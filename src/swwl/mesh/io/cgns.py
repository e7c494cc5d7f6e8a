"""CGNS as PLAID and the CGNS library write it: a mesh, its fields and the scalars beside it.

The same tree comes in two forms: in a file, an HDF5 group with a ``label`` attribute and its values in a dataset
named " data"; in memory, pyCGNS's list ``[name, values, children, label]``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import release
from swwl.mesh.mesh import Mesh, in_plane

# CGNS/SIDS element numbers of the types that meshio and VTK number alike, corner and midside nodes in one order.
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
    14: ("wedge", 6),
    17: ("hexahedron", 8),
}


class _Node:
    """A node of a CGNS file."""

    def __init__(self, group: Any):
        self._group = group
        self.name = str(group.name).rsplit("/", 1)[-1]
        self.label = _text(group.attrs.get("label", b""))

    def _all(self) -> Iterator[_Node]:
        return (_Node(child) for child in self._group.values() if hasattr(child, "keys"))  # groups, not data sets

    def children(self, label: str) -> list[_Node]:
        """Return the children with a label in the order of their names, whatever the order they are kept in."""
        return sorted((child for child in self._all() if child.label == label), key=lambda child: child.name)

    def child(self, name: str) -> _Node:
        for child in self._all():
            if child.name == name:
                return child
        raise InputError(f"its node {self.name!r} has no {name!r}")

    @property
    def is_text(self) -> bool:
        return _text(self._group.attrs.get("type", b"")) == "C1"

    def values(self) -> NDArray[Any]:
        if " data" not in self._group:
            raise InputError(f"its node {self.name!r} holds no values")
        return np.asarray(self._group[" data"][()])


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

    def values(self) -> NDArray[Any]:
        if self._node[1] is None:
            raise InputError(f"its node {self.name!r} holds no values")
        return np.asarray(self._node[1])


def _text(value: Any) -> str:
    return (value if isinstance(value, bytes) else bytes(str(value), "utf8")).decode().rstrip("\0 ")


def read_cgns(path: str | os.PathLike[str]) -> Mesh:
    """Read the zone of the highest dimension that has coordinates (the first of several), with its node fields."""
    with _opened(path) as file:
        return _mesh(_Node(file))


def read_cgns_scalars(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read the scalars that PLAID keeps in the base ``Global``; arrays and texts in it are left out.

    Returns
    -------
    dict of str to float
        In the order of their names; empty where there are none.
    """
    with _opened(path) as file:
        return _scalars(_Node(file))


def _opened(path: str | os.PathLike[str]) -> Any:
    import h5py  # 40 ms, when the first file is read

    return h5py.File(path, "r")


def mesh_of_tree(tree: list[Any]) -> Mesh:
    """Make a mesh of a CGNS tree in memory, as `read_cgns`; one in the plane z = 0 gets two coordinates."""
    return in_plane(_mesh(_ListNode(tree)))


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


def _mesh(root: _Node) -> Mesh:
    bases = [base for base in root.children("CGNSBase_t") if base.children("Zone_t")]
    # A base of lower dimension holds the boundary, or tags on it, of the one that matters.
    bases.sort(key=lambda base: -int(base.values().ravel()[0]))
    zones = [zone for base in bases for zone in base.children("Zone_t")]
    for zone in zones:
        for grid in zone.children("GridCoordinates_t"):
            axes = [node for node in grid.children("DataArray_t") if node.name.startswith("Coordinate")]
            if axes:
                points = release(np.column_stack([axis.values().ravel() for axis in axes]))
                return Mesh(points, _cells(zone) or {}, _fields(zone, len(points)))
    raise InputError(f"none of its {len(zones)} zones has grid coordinates")


def _cells(zone: _Node) -> list[tuple[str, NDArray[Any]]]:
    blocks = []
    for elements in zone.children("Elements_t"):
        number = int(elements.values().ravel()[0])
        if number not in _ELEMENTS:
            raise InputError(f"its elements {elements.name!r} are of CGNS type {number}, which is not supported")
        kind, size = _ELEMENTS[number]
        blocks.append((kind, release(elements.child("ElementConnectivity").values().reshape(-1, size) - 1)))
    return blocks


def _fields(zone: _Node, n_points: int) -> dict[str, NDArray[Any]]:
    fields = {}
    for solution in zone.children("FlowSolution_t"):
        if _location(solution) == "Vertex":
            for node in solution.children("DataArray_t"):
                values = node.values().ravel()
                if len(values) == n_points and values.dtype.kind in "biuf":
                    fields[node.name] = values
    return fields


def _location(solution: _Node) -> str:
    for node in solution.children("GridLocation_t"):
        values = node.values()
        return (values if values.dtype.kind == "S" else values.astype(np.uint8)).tobytes().decode()
    return "Vertex"
