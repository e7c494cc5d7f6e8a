"""A Gaussian process over graphs: samples before and after some graphs were observed.

The paper's illustration, on graphs that can be looked at: rotor blades that thicken while their angles and chords come
and go. The horizontal axis is the place on that path, which the model is never told; it sees the meshes alone.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from swwl.datasets.blade import BLADE, simulate
from swwl.datasets.blade.geometry import HEIGHTS, Blade, surface
from swwl.gp import GPWarning
from swwl.kernels import SWWL
from swwl.mesh.graph import Graph
from swwl.plots.style import BLACK, BLUE, GRAY, GREEN, ORANGE, PURPLE, SKY, VERMILLION, limits, new_figure, style
from swwl.regression.estimator import RobustGPRegressor
from swwl_paper.study import Study


class PathSize(NamedTuple):
    """Graphs on the path, nodes of each, and quantiles."""

    n_graphs: int
    nodes: int
    n_quantiles: int


SIZES = {"small": PathSize(81, 900, 200), "medium": PathSize(161, 3000, 500), "full": PathSize(201, 29_773, 500)}
N_SAMPLES = 5
# Places of the blades that the posterior knows.
OBSERVED = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)
_PICTURES = (0.0, 0.25, 0.5, 0.75, 1.0)
_PICTURE_NODES = 500  # at this size a coarse mesh shows the idea better than the one in use
_VIEW = (62.0, -80.0)  # elevation and azimuth in degrees
_COLORS = (VERMILLION, GREEN, PURPLE, ORANGE, GRAY)


def run(study: Study) -> None:
    """Draw the samples, unless an earlier run did, and draw the figure."""
    size = study.pick(SIZES)
    rows = study.rows(["series", "position"])
    if rows.frame().empty:
        rows.add(*sample_path(study, size).to_dict("records"))
    table = rows.frame()
    study.show("Samples of a Gaussian process over meshes of blades", *summary(table, size))
    study.figure(draw(table))


def inputs_at(position: float) -> dict[str, float]:
    """Return the inputs of the blade at a place from 0 to 1 on the path; operating conditions stay in the middle.

    Examples
    --------
    >>> inputs_at(0.0)["thickness_mid"], inputs_at(1.0)["thickness_mid"]
    (0.0385, 0.0715)
    """
    turn = 2 * np.pi * position
    shares = {
        "inlet_angle": 0.5 + 0.5 * np.sin(turn),
        "exit_angle": 0.5 + 0.5 * np.cos(turn),
        "chord": 0.5 + 0.3 * np.cos(1.5 * turn),
        "thickness": position,
    }
    inputs = {name: (low + high) / 2 for name, (low, high) in BLADE.scalars.items()}
    for name, share in shares.items():
        for height in HEIGHTS:
            low, high = BLADE.shape[f"{name}_{height}"]
            inputs[f"{name}_{height}"] = float(low + (high - low) * share)
    return inputs


def sample_path(study: Study, size: PathSize) -> pd.DataFrame:
    """Fit the process to the observed graphs and sample it on all graphs of the path.

    Returns
    -------
    DataFrame
        Columns ``series``, ``position``, ``value``. Series are "simulated", "observed", "prior 1", …, "posterior 1",
        …, "mean", "lower95" and "upper95".
    """
    positions = np.linspace(0, 1, size.n_graphs)
    seen = np.array([int(np.argmin(np.abs(positions - place))) for place in OBSERVED])
    blades = []
    progress = study.progress("blades on the path")
    for position in positions:
        blades.append(simulate(inputs_at(float(position)), size.nodes))
        if progress:
            progress(len(blades), size.n_graphs)
    graphs = [Graph.from_cells(blade.points, blade.cells["triangle"]) for blade in blades]
    truth = np.array([blade.targets["efficiency"] for blade in blades])

    kernel = SWWL("graph", n_quantiles=size.n_quantiles, n_jobs=study.n_jobs, random_state=study.seed)
    model = RobustGPRegressor(kernel, nugget=1e-6, calibrate=False, random_state=study.seed)
    with warnings.catch_warnings():
        # So few graphs hardly tell a process from noise, as the notes say; more would leave little to look at.
        warnings.simplefilter("ignore", GPWarning)
        model.fit([graphs[i] for i in seen], truth[seen])
    study.note(n_graphs=size.n_graphs, nodes=size.nodes, range=float(model.ranges_.iloc[0]))
    factor = model.kernel_.factors[0]
    among = factor.items(factor.represent(graphs))
    lower, upper = model.predict_interval(graphs, include_nugget=False, widen=False)
    curves: dict[str, NDArray[np.float64]] = {"simulated": truth}
    for name, draws in (
        ("prior", model.gps_[0].sample_prior(among, N_SAMPLES, study.seed)),
        ("posterior", model.sample(graphs, N_SAMPLES, study.seed)),
    ):
        curves |= {f"{name} {k + 1}": values for k, values in enumerate(draws)}
    curves |= {"mean": model.predict(graphs), "lower95": lower, "upper95": upper}
    parts = [pd.DataFrame({"series": name, "position": positions, "value": v}) for name, v in curves.items()]
    parts.append(pd.DataFrame({"series": "observed", "position": positions[seen], "value": truth[seen]}))
    return pd.concat(parts, ignore_index=True)


def summary(table: pd.DataFrame, size: PathSize) -> tuple[pd.DataFrame, str]:
    """Return what the figure shows in numbers, and notes."""
    truth, mean, lower, upper = (_series(table, name)[1] for name in ("simulated", "mean", "lower95", "upper95"))
    prior = np.concatenate([_series(table, f"prior {k + 1}")[1] for k in range(N_SAMPLES)])
    facts = {
        "graphs on the path": f"{size.n_graphs}",
        "graphs observed": f"{len(OBSERVED)}",
        "spread of the efficiency along the path": f"{np.std(truth):.4f}",
        "spread of the prior's samples": f"{np.std(prior):.4f}",
        "RMSE of the posterior mean": f"{np.sqrt(np.mean((mean - truth) ** 2)):.4f}",
        "mean width of the 95 % band": f"{np.mean(upper - lower):.4f}",
        "efficiency inside the band": f"{100 * np.mean((lower <= truth) & (truth <= upper)):.0f} % of the path",
    }
    notes = (
        f"Meshes of about {size.nodes} nodes. Observed is the simulated efficiency of {len(OBSERVED)} blades, from "
        f"which range and variance of the SWWL kernel were estimated: few enough to see what the process does between "
        f"them, too few to know its range well, of which the library warns. Samples of the posterior are joint draws "
        f"of a multivariate t."
    )
    return pd.DataFrame({"": facts.keys(), "value": facts.values()}), notes


def draw(table: pd.DataFrame) -> Any:
    """Draw samples of the prior on the left, of the posterior on the right, and blades below both."""
    figure = new_figure(7.6, 4.0)
    with style():
        figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.98), h_pad=0.02)
        axes = figure.subplots(2, 2, sharey="row", height_ratios=(4, 1.3))
        for k in range(N_SAMPLES):
            for axis, name in zip(axes[0], ("prior", "posterior"), strict=True):
                axis.plot(*_series(table, f"{name} {k + 1}"), color=_COLORS[k % len(_COLORS)], lw=1, alpha=0.9)
        left, right = axes[0]
        x, lower = _series(table, "lower95")
        upper = _series(table, "upper95")[1]
        right.fill_between(x, lower, upper, color=SKY, alpha=0.3, lw=0, label="95 % band")
        right.plot(*_series(table, "mean"), color=BLUE, lw=2, label="mean")
        right.plot(*_series(table, "simulated"), color=BLACK, lw=1.2, ls=(0, (2, 2)), label="simulated")
        right.plot(*_series(table, "observed"), "o", color=BLACK, ms=5, label="observed", zorder=5)
        right.legend(loc="upper right", ncols=2)
        left.set_title(f"prior: {N_SAMPLES} samples")
        right.set_title(f"posterior: {len(OBSERVED)} meshes observed")
        left.set_ylabel("efficiency")
        left.set_ylim(*limits(table["value"], margin=0.04))
        for axis in axes[0]:
            axis.set_xlim(-0.02, 1.02)
            axis.set_xticks(_PICTURES, ["0", "¼", "½", "¾", "1"])
        for axis in axes[1]:
            _pictures(axis)
            axis.set_xlabel("place on the path of blades", fontsize=8.5)
    return figure


def _series(table: pd.DataFrame, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    part = table[table["series"] == name]
    return part["position"].to_numpy(float), part["value"].to_numpy(float)


def _pictures(strip: Any) -> None:
    """Draw some blades of the path, each below its place."""
    strip.set(xlim=(-0.02, 1.02), xticks=[], yticks=[])
    for side in strip.spines.values():
        side.set_visible(False)
    width = 0.24
    for position in _PICTURES:
        blade = surface(Blade.from_parameters(inputs_at(position)), _PICTURE_NODES)
        points, facing, shade = _seen(blade.points, blade.triangles)
        axis = strip.inset_axes((position - width / 2, 0, width, 1), transform=strip.get_xaxis_transform())
        light, dark = np.array(to_rgb(SKY)), np.array(to_rgb(BLUE))
        colors = light + (dark - light) * (1 - shade[:, None])
        axis.add_collection(PolyCollection(points[facing], facecolors=colors, edgecolors="white", linewidths=0.15))
        axis.fill(*points[-len(blade.along) :].T, color=BLACK, lw=0)  # the tip
        axis.set_aspect("equal")
        axis.autoscale_view()
        axis.axis("off")


def _seen(
    points: NDArray[np.float64], triangles: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.float64], NDArray[np.integer[Any]], NDArray[np.float64]]:
    """Project a closed surface: points (n, 2), triangles that face the viewer, and how squarely they do, 0 to 1."""
    elevation, azimuth = np.deg2rad(_VIEW)
    towards = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    a, b, c = points[triangles].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    square = normals @ towards / np.linalg.norm(normals, axis=1)
    facing = square > 0
    return points @ np.column_stack([right, np.cross(towards, right)]), triangles[facing], square[facing]
