"""Characteristic curves of blades that were not trained on, with bands, beside what the simulator says.

The paper draws them for one blade of Rotor37, 4 speeds and 20 pressures that reach beyond the training range, to show
that bands widen there. Here the blades are ours, so that the truth is known at every point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from swwl import datasets
from swwl.datasets.blade import BLADE, DESIGN_SPEED
from swwl.datasets.blade.geometry import Blade
from swwl.datasets.blade.rotor import operate
from swwl.datasets.generator import Unsolvable
from swwl.evaluation.curves import predict_curves
from swwl.kernels import Matern52, PrincipalSWWL
from swwl.plots.style import BLACK, BLUE, GRAY, SKY, VERMILLION, limits, new_figure, style
from swwl.regression.estimator import RobustGPRegressor
from swwl_paper.study import Study, in_words


class CurvesSize(NamedTuple):
    """Training blades, new blades, and the nodes of each."""

    n_train: int
    n_new: int
    nodes: int


SIZES = {"small": CurvesSize(150, 10, 900), "medium": CurvesSize(400, 20, 3000), "full": CurvesSize(1000, 40, 29_773)}
OUTPUTS = BLADE.targets
SPEEDS = tuple(round(share * DESIGN_SPEED, 1) for share in (0.988, 0.996, 1.004, 1.012))
# The training range is 1.36 to 1.46: half its width more on both sides.
PRESSURES = tuple(round(float(p), 4) for p in np.linspace(1.31, 1.51, 20))
_UNITS = {"massflow": "mass flow, kg/s", "pressure_ratio": "pressure ratio", "efficiency": "efficiency"}
_NOTE: Any = {"ha": "center", "va": "top", "fontsize": 7, "color": GRAY}


def run(study: Study) -> None:
    """Predict the curves, unless an earlier run did; draw them and count how often the bands hold."""
    rows = study.rows(["blade", "speed", "pressure", "output"])
    if rows.frame().empty:
        rows.add(*predict(study).to_dict("records"))
    table = rows.frame()
    shown = drawn_blade(table)
    n_train = study.pick(SIZES).n_train
    unsolved = int(table.groupby(["blade", "speed", "pressure"])["truth"].first().isna().sum())
    notes = (
        f"Model trained on {n_train} blades at pressures from {BLADE.scalars['pressure'][0]} to "
        f"{BLADE.scalars['pressure'][1]}; curves reach from {min(PRESSURES)} to {max(PRESSURES)}. In and out: within "
        f"the training pressures and beyond them. Widths are those of 95 % bands, in the output's units. "
        f"Points of one blade are strongly dependent: its coverage says little, that of all blades more."
    )
    if unsolved:
        notes += f" Operating points where the simulator has no solution are left out: {unsolved} of all."
    study.show("Characteristic curves of blades that were not trained on", summary(table, shown), notes)
    study.figure(draw(table[table["blade"] == shown], n_train))


def predict(study: Study) -> pd.DataFrame:
    """Make blades, fit the model to most of them, and predict the curves of the others.

    Returns
    -------
    DataFrame
        One row per blade, output, speed and pressure.
    """
    size = study.pick(SIZES)
    data = blades(study, size)
    train, new = data[: size.n_train], data[size.n_train :]
    model = RobustGPRegressor(
        PrincipalSWWL("mesh", n_jobs=study.n_jobs, random_state=study.seed) * Matern52("speed") * Matern52("pressure"),
        random_state=study.seed,
    )
    model.fit(
        train[["mesh", "speed", "pressure", *OUTPUTS]],
        list(OUTPUTS),
        progress=study.progress("embedding blades"),
        gp_progress=study.progress("fitting"),
        memory=study.work("embeddings"),
    )
    study.note(
        n_train=size.n_train,
        nodes=size.nodes,
        n_components=int(model.selection_.query("chosen")["n_components"].iloc[0]),
        calibration={name: round(float(value), 4) for name, value in model.calibration_.items()},
    )
    low, high = train["pressure"].min(), train["pressure"].max()
    parts = []
    progress = study.progress("new blades")
    for done, (number, row) in enumerate(new.iterrows(), 1):
        points, prediction = predict_curves(model, row["mesh"], ("pressure", PRESSURES), ("speed", SPEEDS), widen=False)
        truth = np.array([simulate(row, s, p) for s, p in zip(points["speed"], points["pressure"], strict=True)])
        for k, output in enumerate(OUTPUTS):
            one = prediction.column(k)
            lower, upper = one.interval(0.95)
            part = pd.DataFrame({"blade": number, "speed": points["speed"], "pressure": points["pressure"]})
            part = part.assign(output=output, mean=one.mean, std=one.std, lower95=lower, upper95=upper)
            inside = (points["pressure"] >= low) & (points["pressure"] <= high)
            parts.append(part.assign(truth=truth[:, k], inside_training_range=inside))
        if progress:
            progress(done, len(new))
    return pd.concat(parts, ignore_index=True)


def blades(study: Study, size: CurvesSize) -> pd.DataFrame:
    """Return the table of all blades with the parameters of their shape, made if need be; the new ones stand last."""
    folder = study.work(f"blade-{size.nodes}-{size.n_train + size.n_new}-seed{study.seed}")
    datasets.write_dataset(
        "blade",
        size.n_train + size.n_new,
        folder,
        n_nodes=size.nodes,
        random_state=study.seed,
        file_format="npz",
        n_jobs=study.n_jobs,
        progress=study.progress("making blades"),
    )
    return datasets.load_dataset(folder, shape=True)


def simulate(shape: Mapping[Any, Any], speed: float, pressure: float) -> tuple[float, float, float]:
    """Run the simulator of the blades; not a number where it has no solution.

    Parameters
    ----------
    shape : mapping
        With the parameters of a blade's shape.
    speed, pressure : float

    Returns
    -------
    massflow, pressure_ratio, efficiency : float
    """
    try:
        point = operate(Blade.from_parameters(shape), speed, pressure)
    except Unsolvable:
        return np.nan, np.nan, np.nan
    return point.massflow, point.pressure_ratio, point.efficiency


def drawn_blade(table: pd.DataFrame) -> Any:
    """Return the first blade whose truth is known at the most points."""
    return table.groupby("blade", sort=False)["truth"].count().idxmax()


def summary(table: pd.DataFrame, shown: Any) -> pd.DataFrame:
    """Return coverage, width and error inside and outside the training range, for one blade and for all, as texts."""
    known = table[table["truth"].notna()]
    n_new = table["blade"].nunique()
    rows = []
    for name, part in ((f"{n_new} new blades", known), ("the one drawn", known[known["blade"] == shown])):
        for output in OUTPUTS:
            one = part[part["output"] == output]
            inside = one["inside_training_range"]
            pair = [one[inside], one[~inside]]
            rows.append(
                {
                    "output": f"{in_words(output)}, {name}",
                    "coverage in / out": "{:.1f} / {:.1f} %".format(*(100 * holds(p).mean() for p in pair)),
                    "width in / out": "{:.4f} / {:.4f}".format(*((p["upper95"] - p["lower95"]).mean() for p in pair)),
                    "RMSE in / out": "{:.4f} / {:.4f}".format(*(rmse(p) for p in pair)),
                }
            )
    return pd.DataFrame(rows)


def rmse(points: pd.DataFrame) -> float:
    """Return the root of the mean squared error."""
    return float(np.sqrt(((points["mean"] - points["truth"]) ** 2).mean()))


def holds(points: pd.DataFrame) -> pd.Series:
    """Whether the truth lies in the band, for each point."""
    return (points["lower95"] <= points["truth"]) & (points["truth"] <= points["upper95"])


def draw(curves: pd.DataFrame, n_train: int) -> Any:
    """Draw the curves of one blade: a row for each output, a column for each speed."""
    figure = new_figure(7.6, 5.6)
    low, high = BLADE.scalars["pressure"]
    with style():
        figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.905), wspace=0.03, hspace=0.03)
        axes = figure.subplots(len(OUTPUTS), len(SPEEDS), sharex=True, sharey="row")
        for line, output in zip(axes, OUTPUTS, strict=True):
            of_output = curves[curves["output"] == output]
            for axis, (speed, curve) in zip(line, of_output.groupby("speed"), strict=True):
                x = curve["pressure"]
                axis.axvspan(low, high, color="#F0F0F0", lw=0, zorder=0)
                axis.fill_between(x, curve["lower95"], curve["upper95"], color=SKY, alpha=0.35, lw=0)
                axis.plot(x, curve["mean"], color=BLUE, lw=1.4)
                held = holds(curve)
                axis.plot(x[held], curve["truth"][held], "o", color=BLACK, ms=2.6, mew=0)
                axis.plot(x[~held], curve["truth"][~held], "X", color=VERMILLION, ms=4.5, mew=0)
                axis.tick_params(labelsize=7.5)
                if axis in axes[0]:
                    share = f"{100 * float(speed) / DESIGN_SPEED:.1f} %"
                    axis.set_title(f"{speed:.0f} rpm ({share})", fontsize=8.5, fontweight="normal", loc="center")
            line[0].set(xlim=(min(PRESSURES) - 0.004, max(PRESSURES) + 0.004))
            line[0].set_ylim(*limits(of_output["lower95"], of_output["upper95"], of_output["truth"], margin=0.06))
            line[0].set_ylabel(_UNITS[output], fontsize=8.5)
        for axis in axes[-1]:
            axis.set_xlabel("back pressure ratio", fontsize=8)
        axes[0, 0].text((low + high) / 2, 0.97, "training range", **_NOTE, transform=axes[0, 0].get_xaxis_transform())
        marks = [
            Line2D([], [], color=BLUE, lw=1.4, label="predicted"),
            Patch(color=SKY, alpha=0.35, lw=0, label="95 % band"),
            Line2D([], [], color=BLACK, marker="o", ls="", ms=3, mew=0, label="simulated, in the band"),
            Line2D([], [], color=VERMILLION, marker="X", ls="", ms=5, mew=0, label="simulated, outside the band"),
        ]
        title = f"Characteristic curves of a blade that was not among the {n_train} trained on"
        figure.text(0.5, 0.99, title, ha="center", va="top", fontsize=10, fontweight="bold")
        legend: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.967), "ncols": 4, "fontsize": 8}
        figure.legend(handles=marks, **legend, handlelength=1.4, columnspacing=2).set_in_layout(False)
    return figure
