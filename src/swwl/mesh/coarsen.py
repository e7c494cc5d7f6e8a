"""Fewer nodes for a triangle mesh, the same shape: MMG behind one function. Takes the extra ``[mmg]``.

Every triangle grows by the same factor, so that the mesh stays fine where it was; the factor is searched until the
number of nodes fits. ``outline.py`` says what must be kept, ``transfer.py`` carries the fields over, and
``coarsen_set.py`` treats whole data sets.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import meshio
import numpy as np

from swwl.errors import InputError, InputTypeError, MissingFileError, MissingPackageError
from swwl.mesh.cells import cell_dimension, check_cells
from swwl.mesh.io.meshes import read_mesh
from swwl.mesh.outline import anchors, enclosed, outline_curves, outline_edges
from swwl.mesh.transfer import node_normals, transfer

_NODES_WITHIN = 0.1
_GOOD_ENOUGH = 0.02  # relative distance to the wanted number of nodes that ends the search
_PASSES = 12
# Largest distance to the old surface over the size of the mesh. Looser bounds give better triangles and come first.
_HAUSDORFF = (5e-2, 1e-2, 3e-3, 1e-3, 3e-4)


class _Triangles(NamedTuple):
    """Points (n, 2) or (n, 3), triangles (m, 3) and node fields of a mesh in which every node is used."""

    points: np.ndarray
    triangles: np.ndarray
    fields: dict[str, np.ndarray]
    height: float | None = None  # of a mesh in a plane z = height, whose points have two columns here


def coarsen(mesh: Any, nodes: int, *, tolerance: float = 0.02) -> meshio.Mesh:
    """Remesh a plane mesh or a surface with fewer nodes.

    Parameters
    ----------
    mesh : path, meshio.Mesh, or (points, cells)
        Triangles and quadrilaterals (which are split), in the plane or a surface in space. Cells may be an (m, 3)
        array or a dictionary by type. Lines and single nodes, such as marks on the boundary, are dropped.
    nodes : int
        Wanted number of nodes, met within 10 %; a mesh that has hardly more is returned as it is.
    tolerance : float
        Largest relative change of what the mesh encloses: in the plane the area within every loop of the outline,
        holes included; in space the area and the volume.

    Returns
    -------
    meshio.Mesh
        Triangles. Node fields are interpolated linearly; cell fields are dropped.

    Raises
    ------
    ImportError
        Without the extra ``[mmg]``.
    ValueError
        For solids, for more nodes than there are, and where so few nodes cannot hold the shape.

    Notes
    -----
    The same input gives the same mesh. Corners of the outline stay where they are, and so does one old node in
    every new edge's length between them: MMG alone closes thin holes, such as an airfoil in its flow.

    Examples
    --------
    >>> from swwl.datasets.tensile2d.mesh import notched_plate
    >>> coarse = coarsen(notched_plate(0.3, 0.1, 2000), 500)
    >>> abs(len(coarse.points) - 500) <= 50
    True
    """
    given = _triangles(mesh)
    found = len(given.points)
    if not isinstance(nodes, (int, np.integer)) or nodes < 4:
        raise InputError(f"nodes must be a whole number of at least 4, found {nodes!r}.")
    if nodes > found:
        raise InputError(f"The mesh has {found} nodes, fewer than the {nodes} wanted: it can only be made coarser.")
    mmgpy = require_mmgpy()
    if found <= (1 + _GOOD_ENOUGH) * nodes:
        return _mesh(given)
    before = enclosed(given.points, given.triangles)
    worst: list[str] = []
    for hausdorff in _HAUSDORFF:
        points, triangles = _search(mmgpy, given, nodes, hausdorff * float(np.linalg.norm(np.ptp(given.points, 0))))
        if abs(len(points) - nodes) > _NODES_WITHIN * nodes:
            worst.append(f"{len(points)} nodes")
            break  # a closer fit would take even more
        change = _change(before, enclosed(points, triangles))
        if change <= tolerance:
            normals = node_normals(points, triangles) if points.shape[1] == 3 else None
            fields = transfer(given.points, given.triangles, given.fields, points, normals)
            return _mesh(_Triangles(points, triangles, fields, given.height))
        worst.append(f"{len(points)} nodes with areas or volumes {100 * change:.1f} % off")
    raise InputError(
        f"A mesh of {found} nodes cannot be coarsened to {nodes} with areas and volumes within {100 * tolerance:g} %: "
        f"tries gave {', '.join(worst)}. Ask for more nodes, or set tolerance=."
    )


def require_mmgpy() -> Any:
    """Return the module mmgpy, or say how to get it."""
    try:
        import mmgpy
    except ImportError as error:
        raise MissingPackageError(f"Coarsening takes mmgpy ({error}): pip install 'swwl[mmg]'") from None
    return mmgpy


def _triangles(mesh: Any) -> _Triangles:
    if isinstance(mesh, (str, os.PathLike)):
        mesh = _read(Path(mesh))
    if isinstance(mesh, tuple) and len(mesh) == 2:
        points, cells = mesh
        if not isinstance(cells, dict):
            cells = np.asarray(cells)
            cells = {{3: "triangle", 4: "quad"}.get(cells.shape[-1], f"cells of {cells.shape[-1]} nodes"): cells}
        mesh = meshio.Mesh(np.asarray(points, float), list(cells.items()))
    if not hasattr(mesh, "points") or not hasattr(mesh, "cells"):
        raise InputTypeError(f"Cannot coarsen {type(mesh).__name__}; wanted a path, a meshio mesh or (points, cells).")
    points = np.asarray(mesh.points, float)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or not np.isfinite(points).all():
        raise InputError(f"Points must be finite and of shape (n, 2) or (n, 3), found shape {points.shape}.")
    blocks = []
    for block in mesh.cells:
        if block.type in ("triangle", "quad"):
            cells = check_cells(block.type, block.data, len(points))
            blocks.append(cells if cells.shape[1] == 3 else np.vstack([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]]))
        elif block.type not in ("vertex", "line"):
            check_cells(block.type, block.data, len(points))
            what = "a volume mesh" if cell_dimension(block.type) == 3 else "of another kind"
            raise InputError(f"Only triangles and quadrilaterals are coarsened, but the mesh is {what}: {block.type}.")
    if not blocks or not sum(map(len, blocks)):
        raise InputError("The mesh has no triangles or quadrilaterals.")
    triangles = np.vstack(blocks)
    used, renumbered = np.unique(triangles, return_inverse=True)
    triangles, points = renumbered.reshape(triangles.shape).astype(np.int32), points[used]
    fields = {name: np.asarray(field)[used] for name, field in mesh.point_data.items()}
    fields = {name: field for name, field in fields.items() if field.dtype.kind in "biuf"}
    height = None
    if points.shape[1] == 3 and np.ptp(points[:, 2]) == 0:
        height, points = float(points[0, 2]), points[:, :2]
    return _Triangles(np.ascontiguousarray(points), _alike(points, triangles), fields, height)


def _alike(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Turn the triangles of a plane mesh counterclockwise."""
    if points.shape[1] == 2:
        u, v = points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
        clockwise = u[:, 0] * v[:, 1] < u[:, 1] * v[:, 0]
        triangles = triangles.copy()
        triangles[clockwise] = triangles[clockwise][:, ::-1]
    return triangles


def _read(path: Path) -> meshio.Mesh:
    if not path.exists():
        raise MissingFileError(f"{path}: no such file.")
    try:
        if path.suffix != ".npz":
            return read_mesh(path)
        with np.load(path, allow_pickle=False) as archive:  # as the generators write it
            cells = [(key.removeprefix("cells_"), archive[key]) for key in archive if key.startswith("cells_")]
            if "points" not in archive or not cells:
                raise InputError(f"wanted points and cells_triangle, found {', '.join(archive.files)}")
            fields = {key.removeprefix("field_"): archive[key] for key in archive if key.startswith("field_")}
            return meshio.Mesh(archive["points"], cells, point_data=fields)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _mesh(part: _Triangles) -> meshio.Mesh:
    points = part.points
    if part.height is not None:
        points = np.column_stack([points, np.full(len(points), part.height)])
    return meshio.Mesh(points, [("triangle", part.triangles)], point_data=part.fields)


def _search(mmgpy: Any, mesh: _Triangles, nodes: int, hausdorff: float) -> tuple[np.ndarray, np.ndarray]:
    """Search the growth factor that gives the wanted number of nodes: secants in logarithms, kept in brackets."""
    sizes, curves = _sizes(mesh), outline_curves(outline_edges(mesh.triangles))
    low, high = 0.0, np.inf  # logarithms of factors that gave too many and too few nodes
    wanted, x = np.log(nodes), 0.5 * np.log(len(mesh.points) / nodes)
    tried: list[tuple[float, float]] = []
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    for _ in range(_PASSES):
        points, triangles = _remesh(mmgpy, mesh, np.exp(x) * sizes, curves, hausdorff)
        excess = np.log(len(points)) - wanted
        if best is None or abs(excess) < best[0]:
            best = (abs(excess), points, triangles)
        if abs(excess) <= _GOOD_ENOUGH:
            break
        low, high = (x, high) if excess > 0 else (low, x)
        slope = -2.0
        if tried and tried[-1][0] != x:
            slope = np.clip((excess - tried[-1][1]) / (x - tried[-1][0]), -4.0, -0.5)
        tried.append((x, excess))
        x -= excess / slope
        if not low < x < high:
            x = 0.5 * (low + high)
    assert best is not None
    return best[1:]


def _sizes(mesh: _Triangles) -> np.ndarray:
    """Edge of the equilateral triangle with the mean area of those around a node: (n,)."""
    corners = np.zeros((len(mesh.triangles), 3, 3))
    corners[:, :, : mesh.points.shape[1]] = mesh.points[mesh.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.repeat(np.linalg.norm(normals, axis=1) / 2, 3)
    n = len(mesh.points)
    mean = np.bincount(mesh.triangles.ravel(), areas, n) / np.bincount(mesh.triangles.ravel(), minlength=n)
    sizes = np.sqrt(4 / np.sqrt(3) * mean)
    return np.maximum(sizes, 1e-6 * sizes.max())


def _remesh(
    mmgpy: Any, mesh: _Triangles, sizes: np.ndarray, curves: list[np.ndarray], hausdorff: float
) -> tuple[np.ndarray, np.ndarray]:
    make = mmgpy.MmgMesh2D if mesh.points.shape[1] == 2 else mmgpy.MmgMeshS
    remesher = make(mesh.points, mesh.triangles)
    remesher["metric"] = sizes[:, None]
    if curves:
        kept = np.unique(np.concatenate([anchors(mesh.points, curve, sizes) for curve in curves]))
        remesher.set_required_vertices(kept.astype(np.int32))
    try:
        remesher.remesh(hausd=hausdorff, verbose=-1)
    except RuntimeError as error:
        raise InputError(f"MMG cannot remesh it ({error}); is it a clean surface?") from None
    used, triangles = np.unique(remesher.get_triangles(), return_inverse=True)
    return np.asarray(remesher.get_vertices())[used], triangles.reshape(-1, 3).astype(np.int32)


def _change(before: np.ndarray, after: np.ndarray) -> float:
    """Largest relative change; infinite where a loop or a volume appeared or vanished."""
    if len(before) != len(after):
        return np.inf
    return float((np.abs(after - before) / np.maximum(before, np.finfo(float).tiny)).max())
