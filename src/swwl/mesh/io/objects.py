"""Graphs and meshes of other libraries, used by their attributes so that none of them has to be installed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.errors import InputError
from swwl.mesh.graph import Graph
from swwl.mesh.mesh import Mesh, in_plane

_FEATURE_NAMES = ("features", "x", "pos")
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
# VTK lists the nodes of pixels (8) and voxels (11), the cells of image grids, row by row and not around.
_RING_ORDER = {8: [0, 1, 3, 2], 11: [0, 1, 3, 2, 4, 5, 7, 6]}


def from_pyvista(mesh: Any) -> Mesh:
    """Make a mesh of any pyvista data set; one in the plane z = 0 gets two coordinates."""
    grid = mesh if hasattr(mesh, "cells_dict") else mesh.cast_to_unstructured_grid()
    cells = []
    for number, block in grid.cells_dict.items():
        if int(number) not in _VTK_TYPES:
            raise InputError(f"The mesh has cells of VTK type {number}, which is not supported.")
        array = np.asarray(block)
        cells.append((_VTK_TYPES[int(number)], array[:, _RING_ORDER.get(int(number), slice(None))]))
    fields = {key: np.asarray(grid.point_data[key]) for key in grid.point_data.keys()}  # noqa: SIM118
    numbers = {key: values for key, values in fields.items() if values.dtype.kind in "biuf" and values.size}
    return in_plane(Mesh(np.asarray(grid.points), cells or {}, numbers))


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


def _numpy(tensor: Any) -> NDArray[Any]:
    return np.asarray(tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor)


def from_sparse(adjacency: Any, features: Any) -> Graph:
    """Make a Graph of a sparse adjacency matrix and node features; entries other than 1 are edge weights."""
    matrix = sparse.coo_array(adjacency)
    n_nodes = np.shape(features)[0] if np.ndim(features) else 0
    if matrix.shape != (n_nodes, n_nodes):
        raise InputError(f"The adjacency is {matrix.shape[0]} x {matrix.shape[1]}, but there are {n_nodes} nodes.")
    weights = None if (matrix.data == 1).all() else matrix.data
    return Graph(features, np.column_stack([matrix.row, matrix.col]), weights)
