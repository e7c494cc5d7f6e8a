"""Graphs and meshes of other libraries, used by their attributes so that none of them has to be installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.graph import Graph
from swwl.mesh.io.meshio_files import from_meshio
from swwl.mesh.io.shared import Piece, join
from swwl.mesh.io.vtk.cells import SortedCells, one_type, sort_cells
from swwl.mesh.io.vtk.groups import take_groups
from swwl.mesh.mesh import Mesh, in_plane

_FEATURE_NAMES = ("features", "x", "pos")


def from_pyvista(mesh: Any) -> Mesh:
    """Make a mesh of any pyvista data set; one in the plane z = 0 gets two coordinates."""
    return in_plane(join([piece_of_pyvista(mesh)]))


def piece_of_pyvista(mesh: Any) -> Piece:
    """Take points, cells and fields out of any pyvista data set."""
    grid = mesh if hasattr(mesh, "cells_dict") else mesh.cast_to_unstructured_grid()
    if hasattr(grid, "celltypes"):
        offsets = np.asarray(grid.cell_offsets if hasattr(grid, "cell_offsets") else grid.offset)
        cells = sort_cells(np.asarray(grid.celltypes), offsets[1:], np.asarray(grid.cell_connectivity))
    else:
        parts = [one_type(int(number), np.asarray(block).ravel()) for number, block in grid.cells_dict.items()]
        cells = SortedCells([block for part in parts for block in part.blocks], None)
    of_nodes = _numbers(grid.point_data)
    of_cells = {name: cells.of_cells(field) for name, field in _numbers(getattr(grid, "cell_data", {})).items()}
    sets = take_groups(of_nodes, of_cells, _numbers(getattr(grid, "field_data", {})))
    return Piece(np.asarray(grid.points), cells.blocks, of_nodes, of_cells, sets)


def _numbers(data: Any) -> dict[str, AnyArray]:
    """Return the arrays of numbers among pyvista's."""
    arrays = {key: np.asarray(data[key]) for key in data.keys()}  # noqa: SIM118
    return {key: values for key, values in arrays.items() if values.dtype.kind in "biuf" and values.size}


def is_of(obj: object, library: str) -> bool:
    """Whether an object, or a class that it descends from, comes from a library, which need not be installed.

    >>> is_of(np.ones(2), "numpy"), is_of(np.ones(2), "trimesh")
    (True, False)
    """
    return any(kind.__module__.partition(".")[0] == library for kind in type(obj).__mro__)


def from_trimesh(mesh: Any) -> Mesh:
    """Make a mesh of triangles of a ``trimesh.Trimesh`` or of all parts of a ``trimesh.Scene``, with its attributes."""
    if not hasattr(mesh, "vertices") and hasattr(mesh, "to_mesh"):  # a scene
        mesh = mesh.to_mesh()
    if not hasattr(mesh, "faces"):
        raise InputError(f"A {type(mesh).__name__} of trimesh has no faces; expected a Trimesh or a Scene of them.")
    faces = np.asarray(mesh.faces)
    of_nodes = _numbers(getattr(mesh, "vertex_attributes", {}))
    of_faces = _numbers(getattr(mesh, "face_attributes", {}))
    return in_plane(Mesh(np.asarray(mesh.vertices), {"triangle": faces}, of_nodes, cell_fields=of_faces))


def from_skfem(mesh: Any) -> Mesh:
    """Make a mesh of one of scikit-fem, whose subdomains and boundaries become groups."""
    exporter: Any = importlib.import_module("skfem.io.meshio")  # it is there: the mesh comes from it
    found = from_meshio(exporter.to_meshio(mesh, encode_cell_data=False, encode_point_data=False))
    (kind,) = found.cells
    groups: dict[str, Any] = {
        str(name): {kind: np.asarray(cells)} for name, cells in (getattr(mesh, "subdomains", None) or {}).items()
    }
    for name, facets in (getattr(mesh, "boundaries", None) or {}).items():
        groups.setdefault(str(name), np.asarray(mesh.facets)[:, np.asarray(facets)].T)
    return Mesh(found.points, found.cells, groups=groups)


def from_networkx(graph: Any, fields: Iterable[str] = ()) -> Graph:
    """Make a Graph of a networkx graph.

    Features are the node attributes named in ``fields``, side by side, or the first of "features", "x" and
    "pos" that the nodes carry. The edge attribute "weight" is used where every edge has it. Direction is ignored.
    """
    nodes = list(graph.nodes)
    if not nodes:
        raise InputError("There are no nodes; at least one is needed.")
    first = graph.nodes[nodes[0]]
    names = tuple(fields) or tuple(name for name in _FEATURE_NAMES if name in first)[:1]
    if not names:
        found = ", ".join(map(str, first)) or "none"
        raise InputError(
            f'Nodes have no attribute "features", "x" or "pos" (found: {found}); name the ones to use in fields=.'
        )
    for node in nodes:
        for name in names:
            if name not in graph.nodes[node]:
                raise InputError(f"Node {node!r} has no attribute {name!r}.")
    columns = [np.array([np.atleast_1d(graph.nodes[node][name]) for node in nodes], float) for name in names]
    number = {node: k for k, node in enumerate(nodes)}
    edges = np.array([(number[u], number[v]) for u, v in graph.edges()], np.int32).reshape(-1, 2)
    weights = [attributes.get("weight") for _, _, attributes in graph.edges(data=True)]
    weighted = bool(weights) and all(weight is not None for weight in weights)
    return Graph(np.column_stack(columns), edges, np.array(weights, float) if weighted else None)


def from_pyg(data: Any, fields: Iterable[str] = ()) -> Graph:
    """Make a Graph of PyTorch Geometric ``Data``: ``x`` (or else ``pos``), then ``fields``; ``edge_weight`` if any."""
    base = next((name for name in ("x", "pos") if getattr(data, name, None) is not None), None)
    if base is None:
        raise InputError("The Data object has neither x nor pos, so its nodes have no features.")
    columns = []
    for name in (base, *fields):
        if getattr(data, name, None) is None:
            raise InputError(f"The Data object has no attribute {name!r}.")
        columns.append(_numpy(getattr(data, name)))
    weights = getattr(data, "edge_weight", None)
    return Graph(
        np.column_stack(columns),
        _numpy(data.edge_index).T,
        None if weights is None else _numpy(weights).ravel(),
    )


def _numpy(tensor: Any) -> AnyArray:
    return np.asarray(tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor)


def from_sparse(adjacency: Any, features: Any) -> Graph:
    """Make a Graph of a sparse adjacency matrix and node features; entries other than 1 are edge weights."""
    matrix = sparse.coo_array(adjacency)
    n_nodes = np.shape(features)[0] if np.ndim(features) else 0
    if matrix.shape != (n_nodes, n_nodes):
        raise InputError(f"The adjacency is {matrix.shape[0]} x {matrix.shape[1]}, but there are {n_nodes} nodes.")
    weights = None if (matrix.data == 1).all() else matrix.data
    return Graph(features, np.column_stack([matrix.row, matrix.col]), weights)
