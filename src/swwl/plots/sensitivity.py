"""Where pushing a surface changes a prediction, and what numbers and deformations bring."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from swwl.errors import InputError
from swwl.mesh.mesh import Mesh
from swwl.models.sensitivity import Sensitivity
from swwl.plots.meshes import draw_field
from swwl.plots.style import BLACK, BLUE, GREEN, Display, words

_MOST_BARS = 16
# Spikes at single nodes are cut down to so many times the density that nine in ten nodes stay below.
MOST = 3.0


class SlopesDisplay(Display):
    """Bars of derivatives with 95 % intervals: numbers per standard deviation of training, displacements as given.

    Parameters
    ----------
    table : DataFrame
        From :func:`swwl.models.slopes.slope_table`, of one target.
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
        shown = self.table.loc[size.sort_values(ascending=False).index[:_MOST_BARS]].iloc[::-1]
        places = np.arange(len(shown))
        values = (shown["derivative"] * shown["unit"]).to_numpy()
        half = ((shown["upper95"] - shown["lower95"]) / 2 * shown["unit"]).to_numpy()
        colors = [BLUE if kind == "number" else GREEN for kind in shown["kind"]]
        ax.barh(places, values, color=colors, height=0.62)
        ax.errorbar(values, places, xerr=half, fmt="none", ecolor=BLACK, elinewidth=0.9, capsize=2)
        ax.axvline(0, color=BLACK, lw=0.8)
        labels = [words(str(what)) + (" (per std)" if kind == "number" else "")
                  for what, kind in zip(shown["what"], shown["kind"], strict=True)]  # fmt: skip
        ax.set_yticks(places, labels)
        ax.grid(axis="y", visible=False)
        ax.set_xlabel(f"change of {words(self.name)}")
        ax.set_title("derivatives, 95 % intervals")


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
        size = np.abs(self.density[self.density != 0])
        most = float(np.quantile(size, 0.98)) if len(size) else 1.0  # edges would drown the rest
        smoothed = f", smoothed over {self.length:g}" if self.length else ""
        per = "length" if mesh.dimension == 2 else "area"
        draw_field(mesh, self.density, ax, limit=most, label=f"d {words(self.sensitivity.target)} per push and {per}")
        ax.set_title(f"pushing outward{smoothed}", loc="left", fontsize=9)
