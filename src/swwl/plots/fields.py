"""Pictures of fields on meshes: one by itself, or truth, prediction, error and standard deviation side by side.

Plane cells are painted smoothly, surfaces and the skins of solids as seen from one side, contours and beams as colored
lines, nodes that nothing joins as dots. All of it is rasterized, so that files stay small.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, TriMesh
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.mesh import Mesh
from swwl.mesh.boundary import boundary
from swwl.mesh.cells import cell_dimension, cell_edges, cut_into_triangles, top_cells
from swwl.mesh.io import read_mesh
from swwl.plots.meshes import depth_and_light, in_its_plane, seen, turned_away
from swwl.plots.style import SCALE, axes_for, new_figure, style, words

_Floats = NDArray[np.float64]
MeshLike = Mesh | str | os.PathLike[str]
_ERRORS, _UNSURE = "RdBu_r", "YlOrRd"  # zero is white; what is sure is light
_UNKNOWN = "#D0D0D0"
# A few nodes with large errors must not wash out the rest: limits of errors leave out this share of them.
_TAIL = 0.005
_WIDE = 1.35  # of a panel: from this ratio of width to height on, panels stand below each other


def draw_field(
    mesh: MeshLike,
    values: str | ArrayLike,
    ax: Axes | None = None,
    *,
    title: str = "",
    label: str = "",
    limits: tuple[float, float] | None = None,
    scale: str = SCALE,
    bar: bool = True,
) -> Axes:
    """Draw a field on a mesh; return the axis.

    Parameters
    ----------
    mesh : Mesh or path
        In the plane or in space; of a solid the skin is drawn, of a mesh in space the side that faces the viewer.
    values : str, or array-like of shape (n,) or (n, c)
        A field of the mesh by its name, or values at its nodes; of vectors the length is drawn. NaN is gray.
    ax : matplotlib axis, optional
        In the plane, also for a mesh in space. By default that of a new figure.
    title, label : str
        Above the picture, and beside its color bar.
    limits : (float, float), optional
        Values at the ends of the color scale; by default the least and the largest one.
    scale : str
        A color map of matplotlib.
    bar : bool
        Whether to draw a color bar.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> square = Mesh([[0.0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]], {"T": [20.0, 20, 30, 30]})
    >>> draw_field(square, "T", Figure().subplots(), title="a warm square").get_title()
    'a warm square'
    """
    mesh = _as_mesh(mesh)
    mesh, numbers = in_its_plane(mesh, _numbers(mesh, values))
    low, high = limits if limits is not None else _range(numbers)
    with style():
        ax = axes_for(ax)
        if ax.name == "3d":
            raise InputError("draw_field needs a plane axis; meshes in space are drawn as seen from one side.")
        colors = ScalarMappable(Normalize(low, high), matplotlib.colormaps[scale].with_extremes(bad=_UNKNOWN))
        _paint(ax, mesh, numbers, colors)
        ax.set_aspect("equal")
        ax.axis("off")
        if title:
            ax.set_title(title, fontsize=8.5, fontweight="normal", loc="center")
        if bar:
            inside = numbers[np.isfinite(numbers)]
            beyond = bool((inside < low).any()), bool((inside > high).any())
            extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
            drawn = ax.figure.colorbar(colors, ax=ax, shrink=0.8, aspect=18, pad=0.02, extend=extend[beyond])
            drawn.outline.set_visible(False)
            drawn.ax.tick_params(labelsize=7, length=2)
            drawn.locator = matplotlib.ticker.MaxNLocator(4)
            drawn.update_ticks()
            if label:
                drawn.set_label(label, fontsize=8)
    return ax


class Panel(NamedTuple):
    """One picture of several: a field on a mesh, what to call it, and which kind of colors it wants.

    Kinds are "value", "error" (around zero, red above and blue below), "unsure" (light where it is least). Panels of
    one kind with the same ``shared`` have the same limits.
    """

    mesh: Mesh
    values: _Floats
    title: str
    kind: str = "value"
    shared: str = ""


def draw_panels(panels: Sequence[Panel], columns: int = 4, figure: Figure | None = None) -> Figure:
    """Draw several fields side by side, with color bars; return the figure.

    Parameters
    ----------
    panels : sequence of Panel
    columns : int
        Pictures per row.
    figure : matplotlib Figure, optional
        By default a new one that belongs to no window, of a fitting size.
    """
    if not panels:
        raise InputError("There is nothing to draw.")
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    if figure is None:
        width, height = _panel_size(panels[0].mesh)
        figure = new_figure(columns * (width + 0.75), rows * (height + 0.3))
    scales = {"value": SCALE, "error": _ERRORS, "unsure": _UNSURE}
    with style():
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax in axes[len(panels) :]:
            ax.axis("off")
        for ax, panel in zip(axes, panels, strict=False):
            alike = [p.values for p in panels if panel.shared and (p.shared, p.kind) == (panel.shared, panel.kind)]
            limits = _limits(panel.kind, np.concatenate([np.ravel(v) for v in alike] or [np.ravel(panel.values)]))
            draw_field(panel.mesh, panel.values, ax, title=panel.title, limits=limits, scale=scales[panel.kind])
    return figure


def draw_prediction(
    mesh: MeshLike, name: str, truth: str | ArrayLike | None = None, figure: Figure | None = None
) -> Figure:
    """Draw a predicted field beside the truth, its error and its standard deviation; return the figure.

    Parameters
    ----------
    mesh : Mesh or path
        What :meth:`swwl.FieldRegressor.predict_meshes` returns or ``swwl predict`` wrote: it has the fields ``name``
        and ``name_std``.
    name : str
    truth : str or array-like of shape (n,) or (n, c), optional
        A field of the mesh by its name, or values; by default ``name_true``, if the mesh has it. Without a truth,
        prediction and standard deviation are drawn.
    figure : matplotlib Figure, optional
        By default a new one, of a fitting size.

    Notes
    -----
    Truth and prediction have the same colors. Of vectors the lengths are drawn; their error is the length of the
    difference. The limits of the error leave out the largest half percent of nodes.

    Examples
    --------
    >>> square = Mesh([[0.0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]],
    ...               {"T": [20.0, 20, 30, 30], "T_std": [1.0, 1, 2, 2]})
    >>> len(draw_prediction(square, "T", truth=[21.0, 20, 30, 29]).axes)  # four pictures and their color bars
    8
    """
    mesh = _as_mesh(mesh)
    return draw_panels(prediction_panels(mesh, name, truth), figure=figure)


def prediction_panels(mesh: Mesh, name: str, truth: str | ArrayLike | None = None, prefix: str = "") -> list[Panel]:
    """Return the pictures of a prediction: truth, prediction and error where the truth is known, standard deviation."""
    if truth is None and f"{name}_true" in mesh.fields:
        truth = f"{name}_true"
    found = _field(mesh, name)
    label = words(name)
    panels = [Panel(mesh, _length(found), f"{prefix}{label}, predicted", shared=name)]
    if truth is not None:
        true = _field(mesh, truth)
        if true.shape != found.shape:
            raise InputError(f"The truth has shape {true.shape}, but the field {name!r} has {found.shape}.")
        difference = found - true
        error = Panel(mesh, difference, "predicted − true", "error")
        if difference.ndim == 2:
            error = Panel(mesh, np.linalg.norm(difference, axis=1), "length of the error", "unsure")
        panels = [Panel(mesh, _length(true), f"{prefix}{label}, true", shared=name), *panels, error]
        panels[1] = panels[1]._replace(title="predicted")
    if f"{name}_std" in mesh.fields:
        panels.append(Panel(mesh, _length(_field(mesh, f"{name}_std")), "standard deviation", "unsure"))
    return panels


def _as_mesh(mesh: MeshLike) -> Mesh:
    if isinstance(mesh, (str, os.PathLike)):
        return read_mesh(mesh)
    if not isinstance(mesh, Mesh):
        raise InputError(f"A Mesh or a path is expected, not {type(mesh).__name__}.")
    return mesh


def _field(mesh: Mesh, values: str | ArrayLike) -> _Floats:
    """Return a field by its name, or values, as floats (n,) or (n, c)."""
    if isinstance(values, str):
        if values not in mesh.fields:
            found = ", ".join(sorted(mesh.fields)) or "none"
            raise InputError(f"The mesh has no node field {values!r}; its fields are: {found}.")
        values = mesh.fields[values]
    field = np.asarray(values, dtype=np.float64)
    if field.ndim not in (1, 2) or len(field) != mesh.n_nodes:
        raise InputError(f"The values have shape {field.shape}, but the mesh has {mesh.n_nodes} nodes.")
    return field[:, 0] if field.ndim == 2 and field.shape[1] == 1 else field


def _numbers(mesh: Mesh, values: str | ArrayLike) -> _Floats:
    return _length(_field(mesh, values))


def _length(field: _Floats) -> _Floats:
    return np.linalg.norm(field, axis=1) if field.ndim == 2 else field


def _range(values: _Floats) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0))


def _limits(kind: str, values: _Floats) -> tuple[float, float]:
    """Return the ends of a color scale: of errors and standard deviations without the outermost nodes."""
    if kind == "value":
        return _range(values)
    known = np.abs(values[np.isfinite(values)])
    top = float(np.quantile(known, 1 - _TAIL)) if known.size else 0.0
    top = top or float(known.max(initial=0.0)) or 1.0
    return (-top, top) if kind == "error" else _range(np.minimum(values, top))


def _panel_size(mesh: Mesh) -> tuple[float, float]:
    """Return width and height, in inches, of a picture in which a mesh looks neither squeezed nor lost."""
    spans = np.ptp(_flat(in_its_plane(mesh)[0]), axis=0)
    ratio = float(np.clip(spans[0] / (spans[1] or 1.0), 0.4, 3.5)) if spans[0] else 1.0
    height = 1.9 if ratio < _WIDE else max(0.9, 1.9 * _WIDE / ratio)
    return max(1.3, height * ratio), height


def _flat(mesh: Mesh) -> _Floats:
    """Return where nodes are drawn, (n, 2)."""
    if mesh.dimension >= 3:
        return seen(mesh.points[:, :3])
    return mesh.points if mesh.dimension == 2 else np.column_stack([mesh.points[:, 0], np.zeros(mesh.n_nodes)])


def _paint(ax: Axes, mesh: Mesh, values: _Floats, colors: ScalarMappable) -> None:
    """Paint the cells of the highest dimension, or the nodes where there are none."""
    flat = _flat(mesh)
    top = top_cells(mesh.cells)
    order = max(map(cell_dimension, top), default=0)
    if order >= 2:
        solid = order == 3 and mesh.dimension == 3
        triangles = boundary(mesh.points, top) if solid else cut_into_triangles(top)
        _paint_triangles(ax, mesh.points, flat, triangles, values, colors)
    elif order == 1:
        edges = np.concatenate([cell_edges(kind, block).reshape(-1, 2) for kind, block in top.items()])
        middle = colors.to_rgba(np.ma.masked_invalid(values[edges].mean(axis=1)))
        ax.add_collection(LineCollection(flat[edges], colors=middle, linewidths=2.6, capstyle="round", rasterized=True))
    else:
        painted = colors.to_rgba(np.ma.masked_invalid(values))
        ax.scatter(flat[:, 0], flat[:, 1], s=6, c=painted, linewidths=0, rasterized=True)
    low, high = flat.min(axis=0), flat.max(axis=0)
    room = 0.03 * float((high - low).max()) or 0.5
    ax.set_xlim(low[0] - room, high[0] + room)
    ax.set_ylim(low[1] - room, high[1] + room)


def _paint_triangles(
    ax: Axes,
    points: _Floats,
    flat: _Floats,
    triangles: NDArray[np.integer],
    values: _Floats,
    colors: ScalarMappable,
) -> None:
    """Paint triangles smoothly from corner to corner; gray where a corner is unknown.

    In space they are painted from the farthest to the nearest, a little darker where less light falls on them.
    """
    painted = colors.to_rgba(np.ma.masked_invalid(values))
    if points.shape[1] > 2:
        triangles, away = turned_away(points[:, :3], triangles)
        order, light = depth_and_light(points[:, :3], triangles)
        counts = np.bincount(triangles.ravel(), minlength=len(flat))
        share = np.bincount(triangles.ravel(), np.repeat(light, 3), len(flat)) / np.maximum(counts, 1)
        painted[:, :3] *= (0.78 + 0.22 * share)[:, None]
        triangles = triangles[np.concatenate([order[away[order]], order[~away[order]]])]
    unknown = ~np.isfinite(values)[triangles].all(axis=1)
    if unknown.any():  # corners of their own, so that no gray runs into the neighbors
        corners = triangles[unknown].ravel()
        triangles = triangles.copy()
        triangles[unknown] = np.arange(len(corners)).reshape(-1, 3) + len(flat)
        flat = np.concatenate([flat, flat[corners]])
        painted = np.concatenate([painted, np.tile(to_rgba(_UNKNOWN), (len(corners), 1))])
    ax.add_collection(TriMesh(Triangulation(flat[:, 0], flat[:, 1], triangles), facecolors=painted, rasterized=True))
