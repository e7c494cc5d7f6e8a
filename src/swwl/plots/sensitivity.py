"""Where pushing a surface changes a prediction, and what numbers and deformations bring."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.formatting import number
from swwl.mesh.boundary import piece_normals
from swwl.mesh.mesh import Mesh
from swwl.mesh.picture import viewing_directions
from swwl.mesh.shape.skin import skin
from swwl.plots.style import BLACK, BLUE, GREEN, Display, words
from swwl.regression.sensitivity import Sensitivity
from swwl.tables.laws import bare_name

MOST_BARS = 16
# Spikes at single nodes are cut down to so many times the density that nine in ten nodes stay below.
MOST = 3.0
# Colors end where so much of the skin, by its area, is within them; beyond are mostly sharp edges.
_WITHIN = 0.95
# A side whose value is less than this share of the largest is not worth a larger picture.
_SEEN = 0.02


class SlopesDisplay(Display):
    """Bars of derivatives with 95 % intervals: numbers per standard deviation of training, displacements as given.

    The label of a bar says what it is for: ``force [N]`` of standard deviation 465 is "force + 465 N". Motions of
    groups are per degree, per percent of their size, and per hundredth of the size of the mesh.

    Parameters
    ----------
    table : DataFrame
        From :func:`swwl.regression.sensitivity.slope_table`, of one target.
    name : str
        Of the target.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(self, table: pd.DataFrame, name: str = "target"):
        if not len(table):
            raise InputError("There are no derivatives to draw: the model has no numbers, and along= names nothing.")
        self.table, self.name = table, name

    def _draw(self, ax: Any) -> None:
        size = (self.table["derivative"] * self.table["unit"]).abs()
        shown = self.table.loc[size.sort_values(ascending=False).index[:MOST_BARS]].iloc[::-1]
        places = np.arange(len(shown))
        values = (shown["derivative"] * shown["unit"]).to_numpy()
        half = ((shown["upper95"] - shown["lower95"]) / 2 * shown["unit"]).to_numpy()
        colors = [BLUE if kind == "number" else GREEN for kind in shown["kind"]]
        ax.barh(places, values, color=colors, height=0.62)
        ax.errorbar(values, places, xerr=half, fmt="none", ecolor=BLACK, elinewidth=0.9, capsize=2)
        ax.axvline(0, color=BLACK, lw=0.8)
        ax.set_yticks(places, [_step(str(line.what), line.kind, line.unit) for line in shown.itertuples()])
        ax.set_ylim(-1, len(shown))
        ax.grid(axis="y", visible=False)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.set_xlabel(f"change of {words(self.name)}, with 95 % intervals")
        ax.set_title("effect of changing one input")


def _step(name: str, kind: str, step: float) -> str:
    """Say what a bar is for: a number by so much, in its unit; a motion as its name says, or by this length.

    Examples
    --------
    >>> _step("force [N]", "number", 464.58), _step("wider", "displacement", 1.0), _step("shift x", "motion", 0.02)
    ('force + 464.6 N', 'wider', 'shift x (per 0.02)')
    """
    if re.fullmatch(r"mode \d+", name):  # displacement modes are of this size
        return f"{name} + 1 std"
    if kind != "number":
        return words(name) if step == 1 else f"{words(name)} (per {number(step)})"
    short = bare_name(name)
    return f"{words(short)} + {number(step)} {name[len(short) :].strip()[1:-1]}".rstrip()


class PushDisplay(Display):
    """The normal density of a gradient on the mesh: red where pushing the surface outward raises the prediction.

    It shows what the kernel makes of motions, also of such as no training mesh showed.

    Parameters
    ----------
    sensitivity : Sensitivity
        Of a surface in space or a plane mesh.
    length : float
        Over how far to smooth, in units of the coordinates.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(self, sensitivity: Sensitivity, length: float = 0.0):
        if not isinstance(sensitivity.mesh, Mesh):
            raise InputError("A picture of where to push needs the cells of a mesh.")
        self.sensitivity, self.length = sensitivity, length
        self.density = sensitivity.normal_density(length, most=MOST)

    def _draw(self, ax: Any) -> None:
        mesh = self.sensitivity.mesh
        assert isinstance(mesh, Mesh)
        most = _extent_of_colors(mesh, self.density)
        smoothed = f", smoothed over {self.length:g}" if self.length else ""
        swept = "area" if mesh.dimension == 2 else "volume"
        label = f"change of {words(self.sensitivity.target)}\nper {swept} swept"
        draw_push(mesh, self.density, ax, limit=most, label=label)
        ax.set_title(f"pushing the surface outward{smoothed}")


def _extent_of_colors(mesh: Mesh, values: NDArray[np.float64]) -> float:
    """Return where colors end: the size that values stay below on most of the skin, by its area."""
    found = skin(mesh)
    size, area = (
        np.abs(values[found.pieces].mean(axis=1)),
        np.linalg.norm(piece_normals(mesh.points, found.pieces), axis=1),
    )
    kept = size > 0
    if not kept.any():
        return 1.0
    order = np.argsort(size[kept])
    below = np.cumsum(area[kept][order])
    return float(size[kept][order][np.searchsorted(below, _WITHIN * below[-1])])


def draw_push(mesh: Mesh, values: NDArray[np.float64], ax: Any, limit: float | None = None, label: str = "") -> Any:
    """Color a mesh by signed values at its nodes, blue below zero and red above; return the axis.

    A surface in space is seen from two opposite sides, the front being where y is least; of a solid, its skin. Of a
    plane mesh the outline is drawn.

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
    >>> draw_push(square, np.arange(4.0), Figure().subplots(), label="push").axison
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
        right, up, toward = viewing_directions()
        left = 0.0
        for side, name in ((1.0, "from the front"), (-1.0, "from behind")):
            flat = mesh.points @ np.column_stack([side * right, up])
            flat[:, 0] += left - flat[:, 0].min()
            left = flat[:, 0].max() + 0.15 * np.ptp(flat[:, 0])
            middle = (flat[:, 0].min() + flat[:, 0].max()) / 2
            ax.annotate(
                name,
                (middle, flat[:, 1].min()),
                (0, -6),
                textcoords="offset points",
                fontsize=8,
                color="#555555",
                ha="center",
                va="top",
            )
            # What looks away goes first: of a thin body, depths alone would mix the two sides.
            away = found.normals @ (side * toward) < 0
            order = np.lexsort([(mesh.points[pieces] @ (side * toward)).sum(axis=1), ~away])
            drawn = PolyCollection(list(flat[pieces][order]), array=means[order], edgecolors="face", lw=0.2, **colors)
            ax.add_collection(drawn)
        ax.autoscale_view()
    ax.set_aspect("equal")
    ax.axis("off")
    extend = "both" if np.abs(means).max(initial=0.0) > limit else "neither"
    bar = ax.figure.colorbar(drawn, ax=ax, label=label, shrink=0.8, extend=extend, ticks=MaxNLocator(5))
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
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
