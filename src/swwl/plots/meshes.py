"""A picture of a mesh: plane ones as triangles, surfaces and skins of solids from one side, others as edges."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection, TriMesh
from matplotlib.colors import to_rgb
from matplotlib.tri import Triangulation
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh import Graph, Mesh, as_graph
from swwl.mesh.boundary import boundary, piece_normals
from swwl.mesh.cells import cell_dimension, top_cells, triangle_normals
from swwl.mesh.io import read
from swwl.mesh.picture import viewing_directions
from swwl.mesh.remesh.plane import collapsed, thin_layer
from swwl.mesh.shape.skin import skin
from swwl.plots.style import BLUE, SKY, axes_for, style

# Beyond this drawing takes seconds, and nodes show the shape as well.
_MOST_TRIANGLES = 80_000
# A surface is a body if the normals of its triangles cancel up to this share.
_NEARLY_CLOSED = 0.1


def draw_mesh(mesh: Any, ax: Any = None, title: str = "") -> Any:
    """Draw a mesh; return the axis.

    Parameters
    ----------
    mesh : Mesh, Graph, anything that :func:`swwl.as_graph` takes, or a path
        A graph is drawn by its first three features, or in the plane where it has one or two.
    ax : matplotlib axis, optional
        In the plane, also for a mesh in space, which is seen from one side. By default that of a new figure.
    title : str

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> square = Mesh([[0.0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    >>> draw_mesh(square, Figure().subplots(), title="a square").get_title()
    'a square'
    """
    points, triangles, edges = _parts(mesh)
    with style():
        ax = axes_for(ax)
        if ax.name == "3d":
            raise InputError("draw_mesh needs a plane axis; meshes in space are drawn as seen from one side.")
        if points.shape[1] >= 3:
            _draw_surface(ax, points[:, :3], triangles, edges)
        else:
            _draw_plane(ax, points, triangles, edges)
        ax.set_aspect("equal")
        ax.axis("off")
        if title:
            ax.set_title(title, fontsize=8.5, fontweight="normal", loc="center")
    return ax


def _parts(mesh: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return points (n, d), the triangles to draw and, of what has no cells, edges."""
    if isinstance(mesh, (str, os.PathLike)):
        mesh = read(mesh)
    if not isinstance(mesh, (Graph, Mesh)):
        mesh = as_graph(mesh)
    none = np.empty((0, 3), dtype=np.int32)
    if isinstance(mesh, Graph):
        return mesh.features, none, mesh.edges
    mesh, _ = in_its_plane(mesh)
    top = top_cells(mesh.cells)
    solid = mesh.dimension == 3 and any(cell_dimension(kind) == 3 for kind in top)
    return mesh.points, boundary(mesh.points, top) if solid else mesh.triangles(), none[:, :2]


def in_its_plane(mesh: Mesh, values: NDArray[np.float64] | None = None) -> tuple[Mesh, NDArray[np.float64]]:
    """Return what is drawn of a mesh, and of numbers (n,) at its nodes: of one that is one cell thick the plane mesh.

    Examples
    --------
    >>> square = Mesh([[0.0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    >>> in_its_plane(square)[0] is square
    True
    """
    numbers = np.zeros(mesh.n_nodes) if values is None else values
    layer = thin_layer(mesh) if mesh.dimension == 3 else None
    if layer is None:
        return mesh, numbers
    flat = collapsed(Mesh(mesh.points, mesh.cells, {"drawn": numbers}, mesh.name), layer)
    return flat, np.asarray(flat.fields["drawn"], np.float64)


def _draw_plane(ax: Any, points: NDArray[Any], triangles: NDArray[Any], edges: NDArray[Any]) -> None:
    flat = points if points.shape[1] == 2 else np.column_stack([points[:, 0], np.zeros(len(points))])
    if 0 < len(triangles) <= _MOST_TRIANGLES:
        ax.triplot(flat[:, 0], flat[:, 1], triangles, color=BLUE, lw=0.35)
    else:
        _draw_edges(ax, flat, edges)


def _draw_edges(ax: Any, flat: NDArray[Any], edges: NDArray[Any]) -> None:
    """Draw edges, or the nodes alone where there are too many or none."""
    if 0 < len(edges) <= _MOST_TRIANGLES:
        ax.add_collection(LineCollection(flat[edges], colors=BLUE, linewidths=0.5))
        ax.autoscale_view()
    some = flat[:: -(-len(flat) // _MOST_TRIANGLES)]
    ax.plot(some[:, 0], some[:, 1], ".", color=BLUE, ms=1)


def _draw_surface(ax: Any, points: NDArray[Any], triangles: NDArray[Any], edges: NDArray[Any]) -> None:
    """Paint triangles from the farthest to the nearest, each as bright as the light falls on it.

    Of a closed body only those that face the viewer, so that its holes show.
    """
    flat = seen(points)
    if not len(triangles):
        _draw_edges(ax, flat, edges)
        return
    triangles, away = turned_away(points, triangles)
    triangles = triangles[~away]
    order, light = depth_and_light(points, triangles)
    if len(triangles) > _MOST_TRIANGLES:  # smoothly from corner to corner, which is quicker
        counts = np.bincount(triangles.ravel(), minlength=len(flat))
        light = np.bincount(triangles.ravel(), np.repeat(light, 3), len(flat)) / np.maximum(counts, 1)
    colors = np.clip((0.45 + 0.6 * light)[:, None] * np.array(to_rgb(SKY)), 0, 1)
    if len(triangles) > _MOST_TRIANGLES:
        drawn = Triangulation(flat[:, 0], flat[:, 1], triangles[order])
        ax.add_collection(TriMesh(drawn, facecolors=np.column_stack([colors, np.ones(len(colors))]), rasterized=True))
        ax.update_datalim(flat)
    else:
        painted = {"facecolors": colors[order], "edgecolors": colors[order], "lw": 0.2}
        ax.add_collection(PolyCollection(flat[triangles][order], **painted))
    ax.autoscale_view()


def seen(points: NDArray[Any]) -> NDArray[np.float64]:
    """Return points in space (n, 3) as they are seen from one side, (n, 2)."""
    return np.asarray(points @ viewing_directions()[:2].T)


def depth_and_light(points: NDArray[Any], triangles: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the order of triangles from the farthest to the nearest, and how much light falls on each, from 0 to 1."""
    right, up, toward = viewing_directions()
    order = np.argsort((points[triangles] @ toward).sum(axis=1))
    normals = triangle_normals(points, triangles)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0)
    normals *= np.where(normals @ toward < 0, -1.0, 1.0)[:, None]  # triangles may be numbered either way round
    light = toward + 0.5 * up + 0.7 * right  # over the viewer's right shoulder
    return order, np.maximum(normals @ light / np.linalg.norm(light), 0.0)


def turned_away(
    points: NDArray[np.float64], triangles: NDArray[np.integer]
) -> tuple[NDArray[np.integer], NDArray[np.bool_]]:
    """Return triangles, and which of them show the viewer the inside of a body; none of a sheet, which has no inside.

    The normals of a closed surface, as long as its triangles are large, sum to zero. Where they almost do so, a body is
    open at its ends at most, and what looks away from the viewer lies behind what looks toward him: the depths of
    triangles alone do not tell the two sides of a thin blade apart.
    """
    try:
        found = skin(Mesh(points, {"triangle": triangles}))
    except InputError:  # triangles of no area
        return triangles, np.zeros(len(triangles), bool)
    away = np.zeros(len(found.pieces), bool)
    vectors = piece_normals(points, found.pieces)
    total = float(np.linalg.norm(vectors, axis=1).sum())
    if found.oriented and np.linalg.norm(vectors.sum(axis=0)) < _NEARLY_CLOSED * total:
        outward = ((points[found.pieces[:, 0]] - points.mean(axis=0)) * vectors).sum() > 0
        away = (vectors @ viewing_directions()[2] < 0) == outward
    return np.asarray(found.pieces), away
