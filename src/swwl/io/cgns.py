"""CGNS files as PLAID and the CGNS library write them: HDF5, read with h5py.

A CGNS node is an HDF5 group with a ``label`` attribute and its values in a dataset named " data".
"""

import os
from collections.abc import Iterator

import h5py
import meshio
import numpy as np

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


def _children(group: h5py.Group, label: str) -> Iterator[h5py.Group]:
    for child in group.values():
        if isinstance(child, h5py.Group) and _text(child.attrs.get("label", b"")) == label:
            yield child


def _text(value) -> str:
    return (value if isinstance(value, bytes) else bytes(str(value), "utf8")).decode().rstrip("\0 ")


def _values(node: h5py.Group) -> np.ndarray:
    return node[" data"][()]


def _location(solution: h5py.Group) -> str:
    for node in _children(solution, "GridLocation_t"):
        return bytes(_values(node).astype(np.uint8)).decode()
    return "Vertex"


def read_cgns(path: str | os.PathLike) -> meshio.Mesh:
    """Read the first unstructured zone that has coordinates, with its fields at the nodes.

    Returns
    -------
    meshio.Mesh
        Cells numbered from 0, point data from the zone's vertex solutions.
    """
    with h5py.File(path, "r") as file:
        zones = [zone for base in _children(file, "CGNSBase_t") for zone in _children(base, "Zone_t")]
        for zone in zones:
            for grid in _children(zone, "GridCoordinates_t"):
                names = sorted(node for node in grid if node.startswith("Coordinate"))
                if names:
                    points = np.column_stack([_values(grid[name]).ravel() for name in names])
                    return meshio.Mesh(points, _cells(zone), point_data=_fields(zone, len(points)))
        raise ValueError(f"none of its {len(zones)} zones has grid coordinates")


def _cells(zone: h5py.Group) -> list[tuple[str, np.ndarray]]:
    blocks = []
    for elements in _children(zone, "Elements_t"):
        number = int(_values(elements)[0])
        if number not in _ELEMENTS:
            raise ValueError(f"its elements {elements.name!r} are of CGNS type {number}, which is not supported")
        kind, size = _ELEMENTS[number]
        connectivity = _values(elements["ElementConnectivity"]).reshape(-1, size)
        blocks.append((kind, connectivity - 1))
    return blocks


def _fields(zone: h5py.Group, n_points: int) -> dict[str, np.ndarray]:
    fields = {}
    for solution in _children(zone, "FlowSolution_t"):
        if _location(solution) == "Vertex":
            for node in _children(solution, "DataArray_t"):
                values = _values(node).ravel()
                if len(values) == n_points:
                    fields[node.name.rsplit("/", 1)[-1]] = values
    return fields
