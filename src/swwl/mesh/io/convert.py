"""Recognize what was given, a file or an object of any of the supported libraries, and make a Mesh or a Graph of it.

A :class:`MeshFile` is a path that keeps what was read from it, for several who ask.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from scipy import sparse

from swwl.errors import InputError, InputTypeError, located
from swwl.mesh.arrays import check_features, own
from swwl.mesh.graph import Graph
from swwl.mesh.io.formats import modes_of, read_file, times_of
from swwl.mesh.io.meshio_files import from_meshio
from swwl.mesh.io.objects import (
    from_networkx,
    from_pyg,
    from_pyvista,
    from_skfem,
    from_sparse,
    from_trimesh,
    is_of,
)
from swwl.mesh.io.pyvista_files import from_multiblock
from swwl.mesh.io.series import Time
from swwl.mesh.mesh import Mesh, in_plane
from swwl.mesh.remesh.clean import cleaned


class MeshFile(os.PathLike[str]):
    """The path of a mesh file, which keeps what was read from it until it is released.

    :func:`swwl.as_mesh` and :func:`swwl.as_graph` take it as they take a path.

    Parameters
    ----------
    path : str or path
        Of another one, what it holds is taken over; to release it there does not release it here.
    fields : collection of str, optional
        Names of the requested fields, as :func:`swwl.read_mesh` takes them.
    """

    def __init__(self, path: str | os.PathLike[str], fields: Collection[str] | None = None):
        self._path, self._fields = os.fspath(path), fields
        self._content: Mesh | Graph | None = path.content if isinstance(path, MeshFile) else None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[MeshFile], tuple[str, Collection[str] | None]]:
        return MeshFile, (self._path, self._fields)  # to other processes travels the path alone: a lock cannot

    def __fspath__(self) -> str:
        return self._path

    def __str__(self) -> str:
        return self._path

    def read(self) -> Mesh | Graph:
        """Return the content of the file, read now if it is not at hand."""
        with self._lock:
            if self._content is None:
                self._content = _read_fields(self._path, self._fields)
            return self._content

    @property
    def content(self) -> Mesh | Graph | None:
        """What is held in memory, if anything."""
        return self._content

    @property
    def n_nodes(self) -> int:
        """Nodes that are held in memory."""
        return 0 if self._content is None else self._content.n_nodes

    def release(self) -> None:
        """Let the content go."""
        self._content = None


def read(path: str | os.PathLike[str]) -> Mesh | Graph:
    """Read what a file holds: a mesh, or a graph that :func:`swwl.write_graph` wrote; see :func:`swwl.read_mesh`."""
    with located(str(path)):
        return read_file(path)


def read_mesh(
    path: str | os.PathLike[str],
    fields: Collection[str] | None = None,
    *,
    group: str | None = None,
    time: Time | None = None,
    size: float | None = None,
) -> Mesh:
    """Read a mesh file, or the folder of an OpenFOAM case.

    Parameters
    ----------
    path : str or path
        VTU, VTP, PVTU, VTM, PVD, legacy VTK, CGNS, Exodus, Abaqus, CalculiX (``.frd``), Nastran, LS-DYNA, I-deas
        (``.unv``), Gmsh, AVS UCD; an OpenFOAM case; what meshio reads besides (XDMF, MED, STL, …); our own ``.npz``;
        STEP, IGES and BREP, where gmsh is installed; what pyvista reads, where it is installed; or a format with a
        reader of your own (:func:`swwl.mesh.io.register_reader`). Any path may name a time: ``"flow.pvd@0.5"``.
    fields : collection of str, optional
        Names of the requested fields, which makes reading faster; others may be missing. All by default.
    group : str, optional
        Name or shell pattern of a group, such as ``"body*"``: return the mesh of its cells or faces alone, see
        :meth:`swwl.Mesh.part`.
    time : float, "first" or "last", optional
        Which time of a series; the last by default. :func:`swwl.read_series` reads all.
    size : float, optional
        Of the edges of the mesh that is made of a CAD file; some 5 000 triangles by default.

    Returns
    -------
    Mesh
        With all node and cell fields that hold numbers, tensors as (n, 9), and the groups of the file: sets of nodes
        and elements, surfaces, patches, physical groups. Its ``name`` is the file's. A mesh in the plane z = 0 gets two
        coordinates.

    Raises
    ------
    InputError
        With the path and what is wrong with it; :class:`FileNotFoundError` as well, if there is no such file.
    """
    with located(str(path)):
        mesh = _as_mesh_content(read_file(path, fields, time, size))
        return mesh if group is None else mesh.part(group)


def prepared(mesh: Mesh, merge_nodes: bool = False, group: str | None = None) -> Mesh:
    """Return a part of a mesh, if one is asked for, with nodes at the same place made one, if that is.

    Cells that are degenerate or repeated are left out, see :func:`swwl.mesh.remesh.clean.cleaned`.

    Examples
    --------
    >>> prepared(Mesh([0.0, 1.0, 1.0], {"line": [[0, 1]]}), merge_nodes=True)
    Mesh(2 nodes in 1 dimension; cells: 1 line)
    """
    mesh = cleaned(mesh)
    mesh = mesh if group is None else mesh.part(group)
    return cleaned(mesh.merged()) if merge_nodes else mesh


def read_series(path: str | os.PathLike[str], fields: Collection[str] | None = None) -> list[tuple[float, Mesh]]:
    """Read all times of a series: PVD, ``.vtm.series``, XDMF, Exodus, CalculiX, an OpenFOAM case, ….

    Parameters
    ----------
    path : str or path
        As for :func:`swwl.read_mesh`.
    fields : collection of str, optional
        Names of the requested fields.

    Returns
    -------
    list of (time, Mesh)
        In the order of the file. A file without times gives one mesh, at time 0.
    """
    with located(str(path)):
        times = times_of(Path(path)) if Path(path).exists() else []
        modes = modes_of(Path(path)) if Path(path).exists() else []
        if modes and len(times) < 2:
            beside = " beside one time" if times else ""
            raise InputError(
                f"it holds {len(modes)} eigenmode{'s' * (len(modes) > 1)}{beside}, but modes are no times; name one of "
                f"them, such as {Path(path).name}@mode1 (on the command line --time mode1), to read it as a mesh."
            )
        if not times:
            return [(0.0, _as_mesh_content(read_file(path, fields)))]
        return [(time, _as_mesh_content(read_file(path, fields, step=step))) for step, time in enumerate(times)]


def _read_fields(path: str | os.PathLike[str], fields: Collection[str] | None) -> Mesh | Graph:
    """Read a file with the requested fields; with all of them where one is missing, for messages to name."""
    content = read_file(path, fields)
    missing = isinstance(content, Mesh) and not content.fields.keys() >= {*(fields or ())}
    return read_file(path) if missing else content


def _as_mesh_content(content: Mesh | Graph) -> Mesh:
    if isinstance(content, Graph):
        raise InputError("it holds a graph without cells, but a mesh is expected; read_graph reads it.")
    return content


def read_graph(
    path: str | os.PathLike[str],
    *,
    fields: Sequence[str] = (),
    node_weights: str | None = None,
    merge_nodes: bool = False,
    group: str | None = None,
) -> Graph:
    """Read a graph from a mesh file, or from an ``.npz`` file of :func:`swwl.write_graph`.

    Parameters
    ----------
    path : str or path
        As for :func:`swwl.read_mesh`.
    fields : sequence of str
        Node fields of the file to append to the coordinates.
    node_weights : None or "area"
        "area" gives each node its share of the lengths, areas or volumes around it.
    merge_nodes : bool
        Make nodes at the same place one, see :meth:`swwl.Mesh.merged`.
    group : str, optional
        Name or shell pattern of the groups to make it of, see :meth:`swwl.Mesh.part`.

    Returns
    -------
    Graph
        Its ``name`` is the file's.

    Raises
    ------
    InputError
        With the path and what is wrong with it; :class:`FileNotFoundError` as well, if there is no such file.
    """
    with located(str(path)):
        content = _read_fields(path, fields)
        if isinstance(content, Graph):
            return _with_options(content, fields, node_weights, merge_nodes, group)
        return prepared(content, merge_nodes, group).graph(node_weights, fields)


def as_mesh(obj: object) -> Mesh:
    """Make a Mesh of anything that describes one; the input is never changed.

    Parameters
    ----------
    obj : object
        A :class:`Mesh`; the path of a file; ``(points, cells)``; a meshio, pyvista, trimesh or scikit-fem mesh; a
        pyvista MultiBlock, whose blocks become groups; the module ``gmsh``, for its current model; anything else that
        has ``points``, ``cells`` and ``fields`` as a Mesh has them, such as a generated sample.

    Examples
    --------
    >>> as_mesh(([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]))
    Mesh(3 nodes in 2 dimensions; cells: 1 triangle)
    """
    if isinstance(obj, MeshFile):
        with located(str(obj)):
            return _as_mesh_content(obj.read())
    if isinstance(obj, (str, os.PathLike)):
        return read_mesh(obj)
    if isinstance(obj, tuple) and len(obj) == 2:
        return _mesh_of_arrays(*obj)
    mesh = _mesh_of(obj)
    if mesh is None:
        raise InputTypeError(
            f"Cannot make a mesh of {type(obj).__name__}; expected a Mesh, a file path, (points, cells), a mesh of "
            f"meshio, pyvista, trimesh, scikit-fem or gmsh, or an object with points, cells and fields."
        )
    return mesh


def as_graph(
    obj: object,
    *,
    fields: Sequence[str] = (),
    node_weights: str | None = None,
    merge_nodes: bool = False,
    group: str | None = None,
) -> Graph:
    """Make a Graph of anything that describes one; the input is never changed.

    Parameters
    ----------
    obj : object
        A :class:`Graph`; a :class:`Mesh`, or any other object that :func:`swwl.as_mesh` takes: the path of a file,
        ``(points, cells)``, a mesh of another library, a generated sample; a networkx graph (node attribute
        "features", "x" or "pos"); PyTorch Geometric ``Data``; ``(adjacency, features)`` with a scipy sparse adjacency,
        in either order.
    fields : sequence of str
        Node fields to append to the coordinates (meshes, ``Data``) or to use as features (networkx).
    node_weights : None or "area"
        "area" gives each node of a mesh its share of the lengths, areas or volumes around it.
    merge_nodes : bool
        Make nodes of a mesh at the same place one, see :meth:`swwl.Mesh.merged`.
    group : str, optional
        Name or shell pattern of the groups of a mesh to make it of, see :meth:`swwl.Mesh.part`.

    Examples
    --------
    >>> as_graph(([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]))
    Graph(3 nodes, 3 edges, 2 features)
    """
    if isinstance(obj, Graph):
        return _with_options(obj, fields, node_weights, merge_nodes, group)
    if isinstance(obj, MeshFile):
        with located(str(obj)):
            return as_graph(obj.read(), fields=fields, node_weights=node_weights, merge_nodes=merge_nodes, group=group)
    if isinstance(obj, (str, os.PathLike)):
        return read_graph(obj, fields=fields, node_weights=node_weights, merge_nodes=merge_nodes, group=group)
    if isinstance(obj, tuple) and len(obj) == 2:
        first, second = obj
        if sparse.issparse(first) or sparse.issparse(second):
            adjacency, features = (first, second) if sparse.issparse(first) else (second, first)
            return _with_options(from_sparse(adjacency, features), fields, node_weights, merge_nodes, group)
        if fields:
            raise InputError(f"(points, cells) carries no node fields, but fields={list(fields)} was requested.")
        return prepared(_mesh_of_arrays(first, second), merge_nodes, group).graph(node_weights)
    if hasattr(obj, "edge_index"):
        return _with_options(from_pyg(obj, fields), (), node_weights, merge_nodes, group)
    if hasattr(obj, "nodes") and hasattr(obj, "edges") and hasattr(obj, "adj"):
        return _with_options(from_networkx(obj, fields), (), node_weights, merge_nodes, group)
    found = _mesh_of(obj)
    if found is None:
        raise InputTypeError(
            f"Cannot make a graph of {type(obj).__name__}; expected a Graph, a Mesh, a file path, (points, cells), a "
            f"mesh of meshio, pyvista, trimesh, scikit-fem or gmsh, a networkx graph, PyTorch Geometric Data or "
            f"(sparse adjacency, features)."
        )
    return prepared(found, merge_nodes, group).graph(node_weights, fields)


def from_gmsh(gmsh: Any) -> Mesh:
    """Make a mesh of the current model of the module gmsh, with its physical groups; it has to be meshed."""
    if not gmsh.isInitialized():
        raise InputError("gmsh is not initialized, so that it has no model: gmsh.initialize(), and gmsh.model.mesh.")
    if not len(gmsh.model.mesh.getNodes()[0]):
        raise InputError("The current model of gmsh has no mesh; gmsh.model.mesh.generate() makes one.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.msh"
        gmsh.write(str(file))
        found = read_file(file)
    assert isinstance(found, Mesh)
    return found.renamed(str(gmsh.model.getCurrent()) or "gmsh")


_LIBRARIES = {"trimesh": from_trimesh, "skfem": from_skfem}


def _mesh_of(obj: object) -> Mesh | None:
    """Recognize the objects that hold a mesh; those in the plane z = 0 get two coordinates, whatever they are."""
    if isinstance(obj, Mesh):
        return in_plane(obj)
    for library, convert in _LIBRARIES.items():
        if is_of(obj, library):
            return convert(obj)
    if isinstance(obj, ModuleType) and obj.__name__ == "gmsh":
        return from_gmsh(obj)
    if not hasattr(obj, "points"):
        return from_multiblock(obj) if is_of(obj, "pyvista") and hasattr(obj, "n_blocks") else None
    cells = getattr(obj, "cells", None)
    if isinstance(cells, list) and hasattr(obj, "cells_dict"):
        return from_meshio(obj)
    if hasattr(obj, "cast_to_unstructured_grid"):
        return from_pyvista(obj)
    fields = getattr(obj, "fields", None)
    if isinstance(cells, Mapping) and isinstance(fields, Mapping):
        return in_plane(Mesh(obj.points, cells, fields))
    return None


def _mesh_of_arrays(points: object, cells: object) -> Mesh:
    """Make a mesh of arrays; in the plane z = 0 a plane one, so that four nodes are a quadrilateral."""
    checked = check_features(points, "Point coordinates")  # type: ignore[arg-type]
    flat = checked.shape[1] == 3 and not checked[:, 2].any()
    return Mesh(own(checked[:, :2]) if flat else checked, cells)  # type: ignore[arg-type]


def _with_options(
    graph: Graph, fields: Sequence[str], node_weights: str | None, merge_nodes: bool, group: str | None
) -> Graph:
    """Refuse options that only a mesh can serve."""
    if fields:
        raise InputError(f"A finished graph carries no named fields, but fields={list(fields)} was requested.")
    if merge_nodes:
        raise InputError("merge_nodes needs the cells of a mesh, which a finished graph does not have.")
    if group is not None:
        raise InputError(f"group={group!r} needs a mesh, and a finished graph has no groups.")
    if node_weights not in (None, "area"):
        raise InputError(f'node_weights must be None or "area", not {node_weights!r}.')
    if node_weights == "area" and graph.node_weights is None:
        raise InputError(
            'node_weights="area" was requested, but the graph has no cells to measure; '
            'make it with Graph.from_cells(..., node_weights="area").'
        )
    return graph
