"""Recognise what was given, a file or an object of any of the supported libraries, and make a Graph of it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy import sparse

from swwl.errors import InputError, InputTypeError, MissingFileError
from swwl.mesh.graph import Graph
from swwl.mesh.io.meshes import from_mesh, from_pyvista, read_mesh
from swwl.mesh.io.npz import read_npz
from swwl.mesh.io.objects import from_networkx, from_pyg, from_sparse


def read_graph(path: str | os.PathLike, *, fields: Sequence[str] = (), node_weights: str | None = None) -> Graph:
    """Read a graph from a mesh file.

    Parameters
    ----------
    path : str or path
        What meshio reads (VTU, VTK, XDMF, Gmsh, Abaqus, STL, …), CGNS as PLAID writes it, or our own ``.npz``.
        A mesh in the plane z = 0 gets two coordinates.
    fields : sequence of str
        Node fields of the file to append to the coordinates.
    node_weights : None or "area"
        "area" gives each node its share of the lengths, areas or volumes around it.

    Returns
    -------
    Graph
        Its ``name`` is the file's.

    Raises
    ------
    FileNotFoundError, ValueError
        With the path and what is wrong with it.
    """
    path = Path(path)
    if not path.exists():
        raise MissingFileError(f"{path}: no such file.")
    if path.is_dir():
        raise InputError(f"{path}: is a folder, but a mesh file is wanted.")
    try:
        content = read_npz(path) if path.suffix == ".npz" else read_mesh(path)
        if isinstance(content, Graph):
            return _with_options(content, fields, node_weights)
        return from_mesh(content, fields, node_weights, name=path.name)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: {error}") from error


def as_graph(obj: Any, *, fields: Sequence[str] = (), node_weights: str | None = None) -> Graph:
    """Make a Graph of anything that describes one; the input is never changed.

    Parameters
    ----------
    obj : object
        A :class:`Graph`; the path of a file; ``(points, cells)``; a meshio or pyvista mesh; a networkx graph
        (node attribute "features", "x" or "pos"); PyTorch Geometric ``Data``; ``(adjacency, features)`` with a
        scipy sparse adjacency, in either order.
    fields : sequence of str
        Node fields to append to the coordinates (meshes, ``Data``) or to use as features (networkx).
    node_weights : None or "area"
        "area" gives each node of a mesh its share of the lengths, areas or volumes around it.

    Examples
    --------
    >>> as_graph(([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]))
    Graph(3 nodes, 3 edges, 2 features)
    """
    if isinstance(obj, Graph):
        return _with_options(obj, fields, node_weights)
    if isinstance(obj, (str, os.PathLike)):
        return read_graph(obj, fields=fields, node_weights=node_weights)
    if isinstance(obj, tuple) and len(obj) == 2:
        first, second = obj
        if sparse.issparse(first) or sparse.issparse(second):
            adjacency, features = (first, second) if sparse.issparse(first) else (second, first)
            return _with_options(from_sparse(adjacency, features), fields, node_weights)
        if fields:
            raise InputError(f"(points, cells) carries no node fields, but fields={list(fields)} are wanted.")
        return Graph.from_cells(first, second, node_weights=node_weights)
    if hasattr(obj, "edge_index"):
        return _with_options(from_pyg(obj, fields), (), node_weights)
    if hasattr(obj, "nodes") and hasattr(obj, "edges") and hasattr(obj, "adj"):
        return _with_options(from_networkx(obj, fields), (), node_weights)
    if hasattr(obj, "points") and hasattr(obj, "cells_dict") and isinstance(getattr(obj, "cells", None), list):
        return from_mesh(obj, fields, node_weights)
    if hasattr(obj, "points") and hasattr(obj, "cast_to_unstructured_grid"):
        return from_pyvista(obj, fields, node_weights)
    raise InputTypeError(
        f"Cannot make a graph of {type(obj).__name__}; wanted a Graph, a file path, (points, cells), a meshio or "
        f"pyvista mesh, a networkx graph, PyTorch Geometric Data or (sparse adjacency, features)."
    )


def _with_options(graph: Graph, fields: Sequence[str], node_weights: str | None) -> Graph:
    """Refuse options that only a mesh can serve."""
    if fields:
        raise InputError(f"A finished graph carries no named fields, but fields={list(fields)} are wanted.")
    if node_weights not in (None, "area"):
        raise InputError(f'node_weights must be None or "area", not {node_weights!r}.')
    if node_weights == "area" and graph.node_weights is None:
        raise InputError(
            'node_weights="area" is wanted, but the graph has no cells to measure; '
            'make it with Graph.from_cells(..., node_weights="area").'
        )
    return graph
