"""Meshes: files that meshio reads, and meshio and pyvista objects."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import meshio
import numpy as np

from swwl.errors import InputError
from swwl.mesh.cells import check_cells
from swwl.mesh.graph import Graph, _check_features
from swwl.mesh.io.cgns import read_cgns

_VTK_TYPES = {
    1: "vertex",
    3: "line",
    5: "triangle",
    7: "polygon",
    8: "quad",
    9: "quad",
    10: "tetra",
    11: "hexahedron",
    12: "hexahedron",
    13: "wedge",
    14: "pyramid",
    21: "line3",
    22: "triangle6",
    23: "quad8",
    24: "tetra10",
    25: "hexahedron20",
    26: "wedge15",
    27: "pyramid13",
    28: "quad9",
}


def read_mesh(path: str | os.PathLike) -> meshio.Mesh:
    """Read a mesh file by its ending: CGNS with h5py, all else with meshio.

    Raises
    ------
    ValueError
        If the file cannot be read; the message gives the reason, not the file's name.
    """
    path = Path(path)
    suffixes = ("".join(path.suffixes[-2:]), path.suffix)
    formats = next((meshio.extension_to_filetypes[s] for s in suffixes if s in meshio.extension_to_filetypes), None)
    if formats is None:
        known = " ".join(sorted({*meshio.extension_to_filetypes, ".npz"}))
        raise InputError(f"the ending {path.suffix!r} is not known; known are {known}")
    reasons = []
    for name in formats:
        # meshio.read prints and exits on a bad file; the readers behind it raise.
        reader = read_cgns if name == "cgns" else getattr(meshio, name.removesuffix("-xml")).read
        try:
            with np.errstate(all="ignore"):  # some of meshio's readers overflow on their way to a good result
                return reader(str(path))
        except (Exception, SystemExit) as error:
            reasons.append(f"as {name}: {error or type(error).__name__}")
    raise InputError(f"it is damaged or of another format ({'; '.join(reasons)})")


def from_mesh(mesh: Any, fields: Iterable[str] = (), node_weights: str | None = None, name: str | None = None) -> Graph:
    """Make the graph of a meshio mesh; a mesh in the plane z = 0 gets two coordinates.

    Parameters
    ----------
    mesh : meshio.Mesh
    fields : iterable of str
        Point data to append to the coordinates.
    node_weights : None or "area"
    name : str, optional
    """
    points = _check_features(mesh.points, "Point coordinates")
    if points.shape[1] == 3 and not points[:, 2].any():
        points = points[:, :2]
    blocks = [(b.type, check_cells(b.type, b.data, len(points))) for b in mesh.cells if b.type != "vertex"]
    if not blocks:
        raise InputError(
            "The mesh has no cells, so its nodes are not joined; use Graph(points, edges) for point clouds."
        )
    chosen = {field: _pick(mesh.point_data, field) for field in fields}
    return Graph._from_blocks(points, blocks, fields=chosen, node_weights=node_weights, name=name)


def _pick(data, field: str) -> np.ndarray:
    if field not in data:
        found = ", ".join(sorted(data)) or "none"
        raise InputError(f"The mesh has no node field {field!r}; its fields are: {found}.")
    return np.asarray(data[field])


def from_pyvista(mesh: Any, fields: Iterable[str] = (), node_weights: str | None = None) -> Graph:
    """Make the graph of any pyvista data set (surfaces, grids of all kinds)."""
    grid = mesh if hasattr(mesh, "cells_dict") else mesh.cast_to_unstructured_grid()
    unknown = sorted(set(map(int, grid.cells_dict)) - set(_VTK_TYPES))
    if unknown:
        raise InputError(f"The mesh has cells of VTK type {unknown[0]}, which is not supported.")
    cells = [
        (_VTK_TYPES[int(kind)], _in_ring_order(int(kind), np.asarray(block))) for kind, block in grid.cells_dict.items()
    ]
    data = {key: np.asarray(grid.point_data[key]) for key in grid.point_data.keys()}  # noqa: SIM118
    return from_mesh(meshio.Mesh(np.asarray(grid.points), cells, point_data=data), fields, node_weights)


def _in_ring_order(vtk_type: int, block: np.ndarray) -> np.ndarray:
    """Renumber the pixels (8) and voxels (11) of image grids, which VTK lists row by row, not around."""
    order = {8: [0, 1, 3, 2], 11: [0, 1, 3, 2, 4, 5, 7, 6]}.get(vtk_type)
    return block if order is None else block[:, order]
