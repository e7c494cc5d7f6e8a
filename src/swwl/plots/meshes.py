"""A picture of a mesh: plane ones as triangles, surfaces in space from one side, anything else as its nodes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from matplotlib.colors import LightSource
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from numpy.typing import NDArray

from swwl.mesh.graph import Graph
from swwl.mesh.io import read
from swwl.plots.style import BLUE, SKY, style

# Beyond this drawing takes seconds, and nodes show the shape as well.
_MOST_TRIANGLES = 80_000
_VIEW = (15, -70)


def draw_mesh(figure: Any, path: str | os.PathLike, title: str = "") -> Any:
    """Draw the mesh of a file into a figure of its own; return the axis.

    Parameters
    ----------
    figure : matplotlib Figure
    path : str or path
    title : str
    """
    points, triangles = _triangles(path)
    with style():
        if points.shape[1] == 3:
            ax = figure.add_subplot(projection="3d")
            _in_space(ax, points, triangles)
        else:
            ax = figure.add_subplot()
            if 0 < len(triangles) <= _MOST_TRIANGLES:
                ax.triplot(points[:, 0], points[:, 1], triangles, color=BLUE, lw=0.35)
            else:
                ax.plot(points[:, 0], points[:, 1] if points.shape[1] > 1 else 0 * points[:, 0], ".", color=BLUE, ms=1)
            ax.set_aspect("equal")
        ax.axis("off")
        if title:
            ax.set_title(title, fontsize=8.5, fontweight="normal", loc="center")
    return ax


def _triangles(path: str | os.PathLike) -> tuple[NDArray, NDArray]:
    """Return points and the triangles to draw, larger cells cut into several; a graph has none."""
    content = read(path)
    if isinstance(content, Graph):
        return content.features, np.empty((0, 3), int)
    return content.points, content.triangles()


def _in_space(ax: Any, points: NDArray, triangles: NDArray) -> None:
    if 0 < len(triangles) <= _MOST_TRIANGLES:
        light = LightSource(azdeg=225, altdeg=30)
        ax.add_collection3d(Poly3DCollection(points[triangles], facecolors=SKY, shade=True, lightsource=light))
    else:
        ax.scatter(*points[:: -(-len(points) // _MOST_TRIANGLES)].T, s=0.5, color=BLUE)
    low, high = points.min(axis=0), points.max(axis=0)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    ax.set_box_aspect(np.maximum(high - low, 1e-3 * (high - low).max()), zoom=1.25)
    ax.view_init(*_VIEW)
