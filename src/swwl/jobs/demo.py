"""The main job: simulate, learn with and without meshes, compare on held-out cases, write all there is to look at."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import numpy as np

from swwl import datasets
from swwl.cli.console import Output, percent
from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.jobs.fit import fit_plan, make_kernel, open_cache, plan_fit
from swwl.jobs.predict import prediction_table
from swwl.jobs.table import write_table
from swwl.models.regression import RobustGPRegressor
from swwl.plots import CurvesDisplay
from swwl.plots.style import new_figure, style
from swwl.report import write_report
from swwl.storage import atomic_write

_TARGET = "max_von_mises"
_MODELS: list[tuple[str, str, dict[str, Any]]] = [
    ("scalars alone", "scalars", {}),
    ("SWWL", "swwl", {}),
    ("principal SWWL", "principal", {}),
    ("principal, nodes by area", "principal", {"node_weights": "area"}),
]


def run(out: Output, folder: Path, n: int, nodes: int, seed: int, jobs: int) -> None:
    """Do it all in a folder; what an earlier run left there is used."""
    start = time.perf_counter()
    out.say(f"{n} notched plates under tension, simulated by finite elements of plane-stress elasto-viscoplasticity")
    table = folder / "data" / "table.csv"
    data = folder / "data"
    datasets.write("tensile2d", n, data, nodes=nodes, seed=seed, jobs=jobs, progress=out.progress("simulations"))

    model_path = folder / "model.swwl"
    cache = open_cache(table)
    rows: list[dict[str, Any]] = []
    for title, kernel, options in _MODELS:
        out.say(f"fitting {title}")
        plan = plan_fit(table, [_TARGET], [], [], kernel=kernel)
        if kernel != "scalars":
            options = options | {"n_jobs": jobs}
        fitted = make_kernel(kernel, plan, **options)
        model, _ = fit_plan(plan, fitted, model_path, cache=cache, progress=out.progress)
        y, prediction = _held_out(model)
        one = scores.score(y[:, 0], scores.column_of(prediction, 0))
        rows.append({"model": title, "components": _components(model), **one._asdict()})
    model.save(model_path)
    out.table(
        f"largest von Mises stress (MPa) of {len(plan.test)} plates held out; {len(plan.train)} were learned from",
        ["model", "components", "RMSE", "Q²", "inside 95 %", "mean width"],
        [
            [
                row["model"],
                row["components"],
                f"{row['rmse']:.2f}",
                f"{row['q2']:.3f}",
                percent(row["coverage"]),
                f"{row['width']:.1f}",
            ]
            for row in rows
        ],
    )
    out.say("principal SWWL chooses by itself how many components get a range of their own; with none it is SWWL.")

    frame = plan.frame.iloc[plan.test]
    predictions = prediction_table(model, frame, _held_out(model)[1]).assign(simulated=frame[_TARGET])
    write_table(folder / "predictions.csv", predictions)
    _draw_curves(model, data / frame["mesh"].iloc[0], folder / "curves.png")

    report = folder / "report.html"
    write_report(report, model, model_path)
    files = {"model": model_path, "predictions": folder / "predictions.csv", "curves": folder / "curves.png"}
    out.say()
    for name, path in files.items():
        out.say(f"{name:<14}{path}")
    out.say(f"{'report':<14}{report}")
    out.say(f"\ndone in {time.perf_counter() - start:.0f} s. Next, open the report, then try")
    out.say(f"  swwl info {model_path}")
    out.say(f"  swwl fit {table} --mesh mesh --target {_TARGET} --node-weights area -o mine.swwl")
    out.say(f"  swwl predict mine.swwl {table} -o mine.csv")
    out.result({"scores": rows, "report": report, "seconds": time.perf_counter() - start} | files)


def _components(model: RobustGPRegressor) -> str:
    """Say how many components were chosen, if there was a choice."""
    chosen = [row["n_components"] for row in model.selection_.to_dict("records") if row["chosen"]]
    return str(chosen[0]) if chosen else "–"


def _held_out(model: RobustGPRegressor) -> tuple[Any, scores.Prediction]:
    found = scores.held_out_of(model)
    if found is None:
        raise InputError("The data in the folder holds no test rows; choose another folder.")
    return found


def _draw_curves(model: RobustGPRegressor, mesh: Path, path: Path) -> None:
    """Draw stress against pressure for three yield stresses of one held-out plate."""
    train = scores.training_inputs(model)
    pressures = np.linspace(train["pressure"].min(), train["pressure"].max(), 25).tolist()
    yields = train["yield_stress"].quantile([0.1, 0.5, 0.9]).round(0).tolist()
    display = CurvesDisplay.from_estimator(model, mesh, ("pressure", pressures), ("yield_stress", yields))
    figure = new_figure(5.2, 3.8)
    with style():
        display.plot(figure.subplots())
        figure.axes[0].set_title(f"a plate that was held out ({mesh.name})")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=160)
    with atomic_write(path) as file:
        file.write(picture.getvalue())
    write_table(path.with_suffix(".csv"), display.table)
