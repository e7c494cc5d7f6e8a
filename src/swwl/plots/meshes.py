"""A picture of a mesh: plane ones as triangles, surfaces in space from one side, anything else as edges or nodes."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import FigureBase
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh import Graph, Mesh, as_graph
from swwl.mesh.cells import triangle_normals
from swwl.mesh.io import read
from swwl.mesh.skin import skin
from swwl.plots.style import BLUE, SKY, axes_for, style

# Beyond this drawing takes seconds, and nodes show the shape as well.
_MOST_TRIANGLES = 80_000
# A side whose value is less than this share of the largest is not worth a larger picture.
_SEEN = 0.02
_ELEVATION, _AZIMUTH = 15, -70  # degrees: where surfaces in space are seen from


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
    if isinstance(mesh, FigureBase):
        warnings.warn("draw_mesh(figure, path) is now draw_mesh(path, ax).", DeprecationWarning, stacklevel=2)
        mesh, ax = ax, mesh.add_subplot()
    points, triangles, edges = _parts(mesh)
    with style():
        ax = axes_for(ax)
        if ax.name == "3d":
            raise InputError("draw_mesh wants a plane axis; meshes in space are drawn as seen from one side.")
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
    return mesh.points, mesh.triangles(), none[:, :2]


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


def draw_field(mesh: Mesh, values: NDArray[np.float64], ax: Any, limit: float | None = None, label: str = "") -> Any:
    """Color a mesh by signed values at its nodes, blue below zero and red above; return the axis.

    A surface in space is seen from two opposite sides; of a solid, its skin. Of a plane mesh the outline is drawn.

    Parameters
    ----------
    mesh : Mesh
        With a skin.
    values : ndarray of shape (n,)
    ax : matplotlib axis
    limit : float, optional
        Where colors end; by default at the largest value.
    label : str
        Beside the colors.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> square = Mesh([[0.0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    >>> draw_field(square, np.arange(4.0), Figure().subplots(), label="push").axison
    False
    """
    found = skin(mesh)
    pieces = found.pieces
    limit = float(np.abs(values).max()) if limit is None else limit
    colors: Any = {"cmap": "RdBu_r", "norm": Normalize(-(limit or 1.0), limit or 1.0)}
    means = values[pieces].mean(axis=1)
    drawn: Any
    if mesh.dimension == 2:
        drawn = LineCollection(list(mesh.points[pieces]), array=means, linewidths=3, capstyle="round", **colors)
        ax.add_collection(drawn)
        _show_where(ax, mesh.points[pieces[np.abs(means) >= _SEEN * limit]])
    else:
        toward, right, up = _view()
        left = 0.0
        for side in (1.0, -1.0):
            flat = mesh.points @ np.column_stack([side * right, up])
            flat[:, 0] += left - flat[:, 0].min()
            left = flat[:, 0].max() + 0.15 * np.ptp(flat[:, 0])
            # What looks away goes first: of a thin body, depths alone would mix the two sides.
            away = found.normals @ (side * toward) < 0
            order = np.lexsort([(mesh.points[pieces] @ (side * toward)).sum(axis=1), ~away])
            drawn = PolyCollection(list(flat[pieces][order]), array=means[order], edgecolors="face", lw=0.2, **colors)
            ax.add_collection(drawn)
        ax.autoscale_view()
    ax.set_aspect("equal")
    ax.axis("off")
    ax.figure.colorbar(drawn, ax=ax, label=label, shrink=0.8)
    return ax


def _show_where(ax: Any, corners: NDArray[np.float64]) -> None:
    """Show the part of the plane in which some sides (m, 2, 2) lie: an airfoil, say, and not the air far from it."""
    if not len(corners):
        ax.autoscale_view()
        return
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    margin = 0.1 * (high - low).max()
    ax.set_xlim(low[0] - margin, high[0] + margin)
    ax.set_ylim(low[1] - margin, high[1] + margin)


def _view() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the directions toward the viewer, to the right and up."""
    elevation, azimuth = np.radians([_ELEVATION, _AZIMUTH])
    toward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return toward, right, np.cross(toward, right)


def _draw_surface(ax: Any, points: NDArray[Any], triangles: NDArray[Any], edges: NDArray[Any]) -> None:
    """Paint triangles from the farthest to the nearest, each as bright as the light falls on it."""
    toward, right, up = _view()
    flat = points @ np.column_stack([right, up])
    if not 0 < len(triangles) <= _MOST_TRIANGLES:
        _draw_edges(ax, flat, edges)
        return
    corners = points[triangles]
    order = np.argsort((corners @ toward).sum(axis=1))
    normals = triangle_normals(points, triangles)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0)
    normals *= np.where(normals @ toward < 0, -1.0, 1.0)[:, None]  # triangles may be numbered either way round
    light = toward + 0.5 * up + 0.7 * right  # over the viewer's right shoulder
    brightness = 0.45 + 0.6 * np.maximum(normals @ light / np.linalg.norm(light), 0.0)
    colors = np.clip(brightness[:, None] * np.array(to_rgb(SKY)), 0, 1)
    ax.add_collection(
        PolyCollection(flat[triangles][order], facecolors=colors[order], edgecolors=colors[order], lw=0.2)
    )
    ax.autoscale_view()
