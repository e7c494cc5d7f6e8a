"""Draw one figure per generated data set: a few meshes with their fields, and targets against inputs.

Run ``python docs/figures/datasets.py [tensile2d airfoil blade]``; the pictures land beside this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import Normalize
from matplotlib.tri import Triangulation
from PIL import Image

from swwl import datasets

HERE = Path(__file__).parent
COLORS = "viridis"  # readable with any kind of color vision, and in gray
N_SHOWN = 4
VIEW = (15, -80)  # elevation and azimuth from which blades are seen, degrees: on the pressure side

plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})


def tensile2d() -> plt.Figure:
    """Plates with their von Mises stress; the largest stress against pressure, yield stress and radius."""
    samples = datasets.make_samples("tensile2d", 160, n_nodes=900, n_jobs=-1)
    figure, top, bottom = layout("Notched plates under tension: von Mises stress", N_SHOWN, 3)
    norm = shared_norm(samples, "von_mises")
    for axes, sample in zip(top, samples, strict=False):
        image = draw_plane(axes, sample, "von_mises", norm, edges=True)
        axes.set_title(f"largest stress {sample.targets['max_von_mises']:.0f} MPa")
    figure.colorbar(image, ax=top, label="von Mises stress, MPa", shrink=0.8)
    color = column(samples, "notch_radius")
    for axes, name in zip(bottom, ("pressure", "yield_stress", "notch_radius"), strict=True):
        points = scatter(axes, samples, name, "max_von_mises", color)
    figure.colorbar(points, ax=bottom, label="notch radius")
    return figure


def airfoil() -> plt.Figure:
    """Airfoils with the pressure coefficient around them; lift and drag against the inputs."""
    samples = datasets.make_samples("airfoil", 160, n_nodes=3000, n_jobs=-1)
    figure, top, bottom = layout("Airfoils in a stream: pressure coefficient", 3, 4, height=5.2)
    norm = Normalize(-1.5, 1)
    shown = [samples[i] for i in (0, 1, 6)]
    for axes, sample in zip(top, shown, strict=True):
        image = draw_plane(axes, sample, "pressure_coefficient", norm, edges=True)
        axes.set_xlim(-0.35, 1.35)
        axes.set_ylim(-0.55, 0.55)
        axes.set_title(
            f"{sample.scalars['incidence']:.1f}°, {sample.scalars['velocity']:.0f} m/s: "
            f"lift {sample.targets['lift']:.2f}, drag {sample.targets['drag']:.4f}"
        )
    figure.colorbar(image, ax=top, label="pressure coefficient", extend="min", shrink=0.9)
    pairs = (("incidence", "lift"), ("camber", "lift"), ("velocity", "drag"), ("thickness", "drag"))
    color = column(samples, "incidence")
    for axes, (name, target) in zip(bottom, pairs, strict=True):
        points = scatter(axes, samples, name, target, color)
    figure.colorbar(points, ax=bottom, label="incidence, °")
    return figure


def blade() -> plt.Figure:
    """Blades with the pressure on their surface; mass flow and efficiency against the inputs."""
    samples = datasets.make_samples("blade", 240, n_nodes=1500, n_jobs=-1)
    varied = datasets.make_samples("blade", N_SHOWN, n_nodes=1500, random_topology=True)
    figure, top, bottom = layout("Rotor blades: surface pressure", N_SHOWN, 4, projection="3d")
    norm = shared_norm(samples, "pressure")
    for axes, sample in zip(top, [*samples[:2], *varied[2:]], strict=True):
        draw_surface(axes, sample, "pressure", norm)
        axes.set_title(f"{len(sample.points)} nodes, efficiency {sample.targets['efficiency']:.3f}")
    figure.colorbar(plt.cm.ScalarMappable(scaled(norm, 1e-3), COLORS), ax=top, label="pressure, kPa", shrink=0.8)
    pairs = (
        ("pressure", "massflow"),
        ("exit_angle_mid", "massflow"),
        ("pressure", "efficiency"),
        ("exit_angle_mid", "efficiency"),
    )
    color = column(samples, "speed")
    for axes, (name, target) in zip(bottom, pairs, strict=True):
        points = scatter(axes, samples, name, target, color)
    figure.colorbar(points, ax=bottom, label="speed, rpm")
    return figure


def layout(title: str, n_top: int, n_bottom: int, height: float = 4.8, projection: str | None = None):
    """Return a figure with a row of pictures above a row of plots."""
    figure = plt.figure(figsize=(10, height), layout="constrained")
    figure.suptitle(title)
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.25, 1])
    top = upper.subplots(1, n_top, subplot_kw={"projection": projection} if projection else None)
    return _Panels(figure, upper, lower), top, lower.subplots(1, n_bottom)


class _Panels:
    """A figure whose color bars go to the row that their axes are in."""

    def __init__(self, figure, upper, lower) -> None:
        self.figure, self._rows = figure, (upper, lower)

    def colorbar(self, mappable, ax, **options) -> None:
        row = next(row for row in self._rows if ax[0] in row.axes)
        row.colorbar(mappable, ax=list(ax), **options)

    def savefig(self, path: Path) -> None:
        self.figure.savefig(path, dpi=110)
        plt.close(self.figure)
        with Image.open(path) as image:
            full = image.convert("RGB")
            full.quantize(palette=full.quantize(256), dither=Image.Dither.FLOYDSTEINBERG).save(path, optimize=True)


def draw_plane(axes, sample, field: str, norm: Normalize, edges: bool):
    """Draw a plane mesh with a field; return what a color bar needs."""
    mesh = Triangulation(*sample.points.T, sample.cells["triangle"])
    image = axes.tripcolor(mesh, sample.fields[field], shading="gouraud", cmap=COLORS, norm=norm)
    if edges:
        axes.triplot(mesh, color="white", lw=0.15, alpha=0.6)
    axes.set_aspect("equal")
    axes.axis("off")
    return image


def draw_surface(axes, sample, field: str, norm: Normalize) -> None:
    """Draw a surface in space, its faces colored by a field."""
    axial, tangential, radial = sample.points.T * 1e3
    triangles = sample.cells["triangle"]
    # The thin trailing edge confuses the drawing order: leave out what looks away from the viewer.
    elevation, azimuth = np.deg2rad(VIEW)
    towards = np.array([np.cos(azimuth), np.sin(azimuth), np.tan(elevation)])
    a, b, c = sample.points[triangles].transpose(1, 0, 2)
    triangles = triangles[np.cross(b - a, c - a) @ towards > 0]
    faces = axes.plot_trisurf(axial, tangential, radial, triangles=triangles, lw=0.12, edgecolor="white")
    faces.set_facecolor(plt.get_cmap(COLORS)(norm(sample.fields[field][triangles].mean(1))))
    axes.set_box_aspect((np.ptp(axial), np.ptp(tangential), np.ptp(radial)), zoom=1.2)
    axes.view_init(*VIEW)
    axes.axis("off")


def scatter(axes, samples, name: str, target: str, color: np.ndarray):
    """Plot a target against an input; return what a color bar needs."""
    values = [sample.targets[target] for sample in samples]
    points = axes.scatter(column(samples, name), values, c=color, s=7, cmap=COLORS, lw=0)
    axes.set_xlabel(name.replace("_", " "))
    axes.set_ylabel(target.replace("_", " "))
    return points


def column(samples, name: str) -> np.ndarray:
    """Values of a scalar or shape parameter over the samples."""
    return np.array([{**sample.scalars, **sample.shape}[name] for sample in samples])


def shared_norm(samples, field: str) -> Normalize:
    """Color range that suits the samples shown."""
    values = np.concatenate([sample.fields[field] for sample in samples[:N_SHOWN]])
    return Normalize(*np.percentile(values, [1, 99.7]))


def scaled(norm: Normalize, factor: float) -> Normalize:
    """Return the same colors for values in another unit."""
    return Normalize(norm.vmin * factor, norm.vmax * factor)


if __name__ == "__main__":
    drawings = {"tensile2d": tensile2d, "airfoil": airfoil, "blade": blade}
    for chosen in sys.argv[1:] or drawings:
        path = HERE / f"{chosen}.png"
        drawings[chosen]().savefig(path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
