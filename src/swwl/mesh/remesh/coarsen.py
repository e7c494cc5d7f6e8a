"""Fewer nodes for a triangle mesh, the same shape: MMG behind one function. Takes the extra ``[mmg]``.

Every triangle grows by the same factor, so that the mesh stays fine where it was; the factor is searched until the
number of nodes fits. The outline of a plane mesh is kept: :func:`outline_edges` and :func:`outline_curves` find it, and
:func:`anchors` the nodes of it that must not move. ``transfer.py`` carries the fields over, and ``datasets/`` treats
whole data sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MissingPackageError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.cells import cell_dimension, triangle_normals
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.transfer import transfer

_Floats = NDArray[np.float64]
_NodeNumbers = NDArray[np.integer]

_CORNER = np.cos(np.deg2rad(30.0))  # of the angle from which on an outline has a corner where it turns
_SHEET = 1e-3  # volume over area^(3/2) below which a surface is a sheet: its volume means nothing


def outline_edges(triangles: _NodeNumbers) -> _NodeNumbers:
    """Return the edges that belong to one triangle alone, in its direction: (k, 2).

    Examples
    --------
    >>> outline_edges(np.array([[0, 1, 2], [0, 2, 3]])).tolist()
    [[0, 1], [3, 0], [1, 2], [2, 3]]
    """
    edges = _directed(triangles)
    _, first, count = np.unique(_keys(np.sort(edges, 1)), return_index=True, return_counts=True)
    return np.asarray(edges[first[count == 1]])


def _directed(triangles: _NodeNumbers) -> _NodeNumbers:
    return np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])


def _keys(edges: _NodeNumbers) -> NDArray[np.int64]:
    """One number per pair of nodes: many times quicker to sort than pairs."""
    return edges[:, 0].astype(np.int64) * (int(edges.max()) + 1) + edges[:, 1]


def outline_curves(edges: _NodeNumbers) -> list[_NodeNumbers]:
    """Join edges to curves that pass through no node where they branch or end; a loop repeats its first node.

    Examples
    --------
    >>> [curve.tolist() for curve in outline_curves(np.array([[0, 1], [3, 0], [1, 2], [2, 3]]))]
    [[0, 1, 2, 3, 0]]
    """
    neighbors: dict[int, list[int]] = {}
    for a, b in edges.tolist():
        neighbors.setdefault(a, []).append(b)
        neighbors.setdefault(b, []).append(a)
    unused = {frozenset(edge) for edge in edges.tolist()}

    def walk(a: int, b: int) -> _NodeNumbers:
        curve = [a, b]
        unused.discard(frozenset((a, b)))
        while len(neighbors[curve[-1]]) == 2:
            ahead = [n for n in neighbors[curve[-1]] if frozenset((curve[-1], n)) in unused]
            if not ahead:
                break
            unused.discard(frozenset((curve[-1], ahead[0])))
            curve.append(ahead[0])
        return np.array(curve)

    # Ends and branches first; what is left then are loops.
    starts = [a for a in neighbors if len(neighbors[a]) != 2] + list(neighbors)
    return [walk(a, b) for a in starts for b in neighbors[a] if frozenset((a, b)) in unused]


def anchors(points: _Floats, curve: _NodeNumbers, sizes: _Floats) -> _NodeNumbers:
    """Choose nodes of a curve that keep its shape when the others go: corners, and one in every size between them.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    curve : ndarray of shape (k,)
        Node numbers along the curve, the first repeated at the end of a loop.
    sizes : ndarray of shape (n,)
        Wanted distance of the nodes kept.

    Returns
    -------
    ndarray of node numbers, sorted

    Examples
    --------
    >>> line = np.column_stack([np.linspace(0, 1, 11), np.zeros(11)])
    >>> anchors(line, np.arange(11), np.full(11, 0.5)).tolist()
    [0, 5, 10]
    """
    if curve[0] == curve[-1]:
        turning = _turning(points, np.append(curve, curve[1]))
        corners = np.flatnonzero(turning < _CORNER) + 1
        start = corners[0] if len(corners) else 0  # begin at a corner, if there is one
        curve = np.concatenate([curve[start:-1], curve[: start + 1]])
    breaks = np.flatnonzero(_turning(points, curve) < _CORNER) + 1
    kept = [curve[piece] for piece in _pieces(points, curve, sizes, breaks)]
    return np.unique(np.concatenate(kept))


def _turning(points: _Floats, curve: _NodeNumbers) -> _Floats:
    """Cosine of the angle by which a curve turns at each of its inner nodes."""
    ahead = np.diff(points[curve], axis=0)
    ahead /= np.maximum(np.linalg.norm(ahead, axis=1), np.finfo(float).tiny)[:, None]
    return np.asarray((ahead[1:] * ahead[:-1]).sum(1))


def _pieces(points: _Floats, curve: _NodeNumbers, sizes: _Floats, breaks: _NodeNumbers) -> Iterator[NDArray[np.intp]]:
    """Positions to keep on each piece of a curve between its corners."""
    length = np.linalg.norm(np.diff(points[curve], axis=0), axis=1)
    steps = np.append(0, np.cumsum(2 * length / (sizes[curve[1:]] + sizes[curve[:-1]])))
    ends = np.concatenate([[0], breaks, [len(curve) - 1]])
    fewest = 3 if curve[0] == curve[-1] and len(ends) == 2 else 1
    for a, b in zip(ends[:-1], ends[1:], strict=True):
        wanted = np.linspace(steps[a], steps[b], max(fewest, round(steps[b] - steps[a])) + 1)
        positions = np.searchsorted(steps, wanted - 1e-9 * max(1.0, steps[-1]))
        yield np.clip(positions, a, b)


def enclosed(mesh: Mesh) -> _Floats:
    """Measure what a mesh encloses, to compare it with a coarser one.

    Returns
    -------
    ndarray
        In the plane, the signed areas within every loop of the outline, sorted: one per hole, and the whole. In
        space, the area and, unless the surface is a flat sheet or its triangles disagree on what is outside, the
        volume, holes closed by cones.

    Examples
    --------
    >>> enclosed(Mesh([[0, 0], [2, 0], [2, 3], [0, 3]], {"quad": [[0, 1, 2, 3]]})).tolist()
    [6.0]
    """
    points, triangles = mesh.points, mesh.triangles()
    edges = outline_edges(triangles)
    if points.shape[1] == 2:
        loops = []
        for curve in outline_curves(edges):
            x, y = points[curve].T
            loops.append((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2)
        return np.sort(np.abs(loops))
    corners = points[triangles]
    normals = triangle_normals(points, triangles) / 2
    area = np.linalg.norm(normals, axis=1).sum()
    if len(np.unique(_keys(_directed(triangles)))) < 3 * len(triangles):
        return np.array([area])
    middle = points[np.unique(triangles)].mean(0)
    volume = ((corners.mean(1) - middle) * normals).sum() / 3
    loop_of = {node: k for k, curve in enumerate(outline_curves(edges)) for node in curve.tolist()}
    if loop_of:
        numbers = np.array([loop_of[node] for node in edges[:, 0].tolist()])
        tips = np.array([points[edges[numbers == k, 0]].mean(0) for k in range(numbers.max() + 1)]) - middle
        a, b = points[edges[:, 1]] - middle, points[edges[:, 0]] - middle
        volume += (tips[numbers] * np.cross(a, b)).sum() / 6
    return np.array([area, abs(volume)]) if abs(volume) > _SHEET * area**1.5 else np.array([area])


_NODES_WITHIN = 0.1
_GOOD_ENOUGH = 0.02  # relative distance to the requested number of nodes that ends the search
_PASSES = 12
# Largest distance to the old surface over the size of the mesh. Looser bounds give better triangles and come first.
_HAUSDORFF = (5e-2, 1e-2, 3e-3, 1e-3, 3e-4)

_Nodes = NDArray[np.int32]


def coarsen(mesh: Any, n_nodes: int, *, tolerance: float = 0.02, sharp: float = 45.0) -> Mesh:
    """Remesh a plane mesh or a surface with fewer nodes.

    Parameters
    ----------
    mesh : Mesh, or anything that :func:`swwl.as_mesh` takes: a path, a meshio mesh, (points, cells)
        Triangles and quadrilaterals (which are split), in the plane or a surface in space. Cells may be an (m, 3) or
        (m, 4) array or a dictionary by type. Lines and single nodes, such as marks on the boundary, are dropped.
    n_nodes : int
        Wanted number of nodes, met within 10 %; a mesh that has hardly more is returned as it is.
    tolerance : float
        Largest relative change of what the mesh encloses: in the plane the area within every loop of the outline,
        holes included; in space the area and the volume.
    sharp : float
        Edges of a surface at which it turns by more than so many degrees stay edges; others are rounded. Take less
        where edges are blunt, as where a roof slopes down to a rear window.

    Returns
    -------
    Mesh
        Triangles. Node fields are interpolated linearly.

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
    given, height = _triangles(_as_surface(mesh))
    found = given.n_nodes
    if not isinstance(n_nodes, (int, np.integer)) or n_nodes < 4:
        raise InputError(f"The number of nodes must be a whole number of at least 4, found {n_nodes!r}.")
    if n_nodes > found:
        raise InputError(f"The mesh has {found} nodes, fewer than the {n_nodes} requested: it can only be coarsened.")
    if not 0 < sharp <= 180:
        raise InputError(f"sharp must be an angle of more than 0 and at most 180 degrees, found {sharp!r}.")
    mmgpy = require_mmgpy()
    if found <= (1 + _GOOD_ENOUGH) * n_nodes:
        return _at_height(given, height)
    before = enclosed(given)
    worst: list[str] = []
    for hausdorff in _HAUSDORFF:
        distance = hausdorff * float(np.linalg.norm(np.ptp(given.points, 0)))
        coarse = _search(mmgpy, given, n_nodes, distance, sharp)
        if abs(coarse.n_nodes - n_nodes) > _NODES_WITHIN * n_nodes:
            worst.append(f"{coarse.n_nodes} nodes")
            break  # a closer fit would take even more
        change = _change(before, enclosed(coarse))
        if change <= tolerance:
            return _at_height(transfer(given, coarse), height)
        worst.append(f"{coarse.n_nodes} nodes with areas or volumes {100 * change:.1f} % off")
    raise InputError(
        f"A mesh of {found} nodes cannot be coarsened to {n_nodes} with areas and volumes within "
        f"{100 * tolerance:g} %: attempts gave {', '.join(worst)}. Request more nodes, or set tolerance=."
    )


def require_mmgpy() -> Any:
    """Return the module mmgpy, or say how to get it."""
    try:
        import mmgpy
    except ImportError as error:
        raise MissingPackageError(f"Coarsening needs mmgpy ({error}): pip install 'swwl[mmg]'") from None
    return mmgpy


def _as_surface(mesh: Any) -> Mesh:
    """Make a mesh of what was given; four nodes are a quadrilateral here, in space too."""
    if isinstance(mesh, tuple) and len(mesh) == 2 and isinstance(mesh[1], (np.ndarray, list)) and len(mesh[1]):
        first = mesh[1][0]
        if isinstance(first, (np.ndarray, list, tuple)) and len(first) == 4:
            mesh = (mesh[0], {"quad": mesh[1]})
    return as_mesh(mesh)


def _triangles(mesh: Mesh) -> tuple[Mesh, float | None]:
    """Return the triangles of a mesh with the nodes that they use, and the height of one in a plane z = height.

    The points of the latter have two columns, and its triangles are counterclockwise.
    """
    if mesh.dimension not in (2, 3):
        raise InputError(f"Points must have 2 or 3 coordinates to be coarsened, found {mesh.dimension}.")
    for kind in mesh.cells:
        if kind not in ("triangle", "quad", "vertex", "line"):
            what = "a volume mesh" if cell_dimension(kind) == 3 else "of another kind"
            raise InputError(f"Only triangles and quadrilaterals are coarsened, but the mesh is {what}: {kind}.")
    triangles = mesh.triangles()
    if not len(triangles):
        raise InputError("The mesh has no triangles or quadrilaterals.")
    used, renumbered = np.unique(triangles, return_inverse=True)
    points, height = mesh.points[used], None
    if mesh.dimension == 3 and np.ptp(points[:, 2]) == 0:
        height, points = float(points[0, 2]), points[:, :2]
    fields = {name: field[used] for name, field in mesh.fields.items()}
    turned = _alike(points, renumbered.reshape(triangles.shape).astype(np.int32))
    return Mesh(points, {"triangle": turned}, fields, mesh.name), height


def _at_height(mesh: Mesh, height: float | None) -> Mesh:
    if height is None:
        return mesh
    points = np.column_stack([mesh.points, np.full(mesh.n_nodes, height)])
    return Mesh(points, mesh.cells, mesh.fields, mesh.name)


def _alike(points: _Floats, triangles: _Nodes) -> _Nodes:
    """Turn the triangles of a plane mesh counterclockwise."""
    if points.shape[1] == 2:
        u, v = points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
        clockwise = u[:, 0] * v[:, 1] < u[:, 1] * v[:, 0]
        triangles = triangles.copy()
        triangles[clockwise] = triangles[clockwise][:, ::-1]
    return triangles


def _search(mmgpy: Any, mesh: Mesh, nodes: int, hausdorff: float, sharp: float) -> Mesh:
    """Search the growth factor that gives the requested number of nodes: secants in logarithms, kept in brackets."""
    sizes, curves = _sizes(mesh), outline_curves(outline_edges(mesh.cells["triangle"]))
    low, high = 0.0, np.inf  # logarithms of factors that gave too many and too few nodes
    wanted, x = np.log(nodes), 0.5 * np.log(mesh.n_nodes / nodes)
    tried: list[tuple[float, float]] = []
    best: tuple[float, Mesh] | None = None
    for _ in range(_PASSES):
        found = _remesh(mmgpy, mesh, np.exp(x) * sizes, curves, hausdorff, sharp)
        excess = np.log(found.n_nodes) - wanted
        if best is None or abs(excess) < best[0]:
            best = (abs(excess), found)
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
    return best[1]


def _sizes(mesh: Mesh) -> _Floats:
    """Edge of the equilateral triangle with the mean area of those around a node: (n,)."""
    triangles, n = mesh.cells["triangle"], mesh.n_nodes
    in_space = np.hstack([mesh.points, np.zeros((n, 3 - mesh.dimension))])
    areas = np.repeat(np.linalg.norm(triangle_normals(in_space, triangles), axis=1) / 2, 3)
    mean = np.bincount(triangles.ravel(), areas, n) / np.bincount(triangles.ravel(), minlength=n)
    sizes = np.sqrt(4 / np.sqrt(3) * mean)
    return np.asarray(np.maximum(sizes, 1e-6 * sizes.max()))


def _remesh(mmgpy: Any, mesh: Mesh, sizes: _Floats, curves: list[AnyArray], hausdorff: float, sharp: float) -> Mesh:
    make = mmgpy.MmgMesh2D if mesh.dimension == 2 else mmgpy.MmgMeshS
    remesher = make(mesh.points, mesh.cells["triangle"])
    remesher["metric"] = sizes[:, None]
    if curves:
        kept = np.unique(np.concatenate([anchors(mesh.points, curve, sizes) for curve in curves]))
        remesher.set_required_vertices(kept.astype(np.int32))
    try:
        remesher.remesh(hausd=hausdorff, ar=sharp, verbose=-1)
    except RuntimeError as error:
        raise InputError(f"MMG cannot remesh it ({error}); is it a clean surface?") from None
    used, triangles = np.unique(remesher.get_triangles(), return_inverse=True)
    points = np.asarray(remesher.get_vertices())[used]
    return Mesh(points, {"triangle": triangles.reshape(-1, 3).astype(np.int32)}, name=mesh.name)


def _change(before: _Floats, after: _Floats) -> float:
    """Largest relative change; infinite where a loop or a volume appeared or vanished."""
    if len(before) != len(after):
        return np.inf
    return float((np.abs(after - before) / np.maximum(before, np.finfo(float).tiny)).max())
