"""What stands on the page about a model of curves: scores, curves that were held or left out, principal curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from swwl.evaluation.metadata import curve_data_of, curve_score_rows
from swwl.formatting import number, percent, place
from swwl.plots.curves import CurveBandDisplay
from swwl.plots.style import CYCLE, new_figure, style, words
from swwl.regression.curves.estimator import CurveRegressor
from swwl.report.page import Picture, picture
from swwl.report.sections import Section

# So many curves are drawn, and so many principal ones.
_CURVES, _SHAPES = 6, 4


def curve_sections(model: CurveRegressor, model_path: Path | None) -> Section:
    """Return all that the template "curves" speaks of."""
    known, rows = curve_data_of(model), curve_score_rows(model)
    held_out = known is not None and bool(known.shown)
    drawn = _held_out(model) if held_out else _left_out(model)
    test = "held out" if held_out else "left out by cross-validation"
    return {
        "curve": model.curve_,
        "points": len(model.grid_),
        "first": float(model.grid_[0]),
        "last": float(model.grid_[-1]),
        "columns": list(map(str, model.feature_names_in_)),
        "n_train": model.n_train_,
        "best": rows[-1],
        "known": known,
        "splines": model.basis_.smooth,
        "scores": [
            [r["curve"], r["test"], r["n"], number(r["rmse"]), f"{r['q2']:.4f}", percent(r["coverage"])]
            + ["" if r["whole"] is None else percent(r["whole"])]
            for r in rows
        ],
        "told": f"Some curves that were {test}, from the best predicted to the worst, with 90 % bands of whole curves.",
        "pictures": drawn,
        "n_shapes": len(model.basis_.shapes),
        "shapes": [_shapes(model)],
        "model_name": "model.swwl" if model_path is None else model_path.name,
        "output": "predictions.csv" if model.form_ == "wide" else "predicted",
    }


def _held_out(model: CurveRegressor) -> list[Picture]:
    known = curve_data_of(model)
    assert known is not None
    return [
        _picture(
            CurveBandDisplay(
                *map(np.array, (one.places, one.mean, one.lower, one.upper, one.truth)), name=model.curve_
            ),
            place(known.table, one.row),
        )
        for one in known.shown[:_CURVES]
    ]


def _left_out(model: CurveRegressor) -> list[Picture]:
    rows, truth, cases = model.left_out()
    mean, (lower, upper) = cases.predict(), cases.predict_interval(0.9, simultaneous=True)
    order = np.argsort(((mean - truth) ** 2).mean(axis=1), kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, _CURVES).round().astype(int))]
    return [
        _picture(
            CurveBandDisplay(model.grid_, mean[k], lower[k], upper[k], truth[k], name=model.curve_),
            f"training case {rows[k]}",
        )
        for k in chosen
    ]


def _picture(display: CurveBandDisplay, caption: str) -> Picture:
    display.plot(new_figure().subplots())
    return picture(display.figure_, f"predicted and true {display.name}, {caption}", caption)


def _shapes(model: CurveRegressor) -> Picture:
    """Draw the mean, and what the leading principal curves add to it."""
    basis, figure = model.basis_, new_figure(6.0, 3.5)
    with style():
        ax = figure.subplots()
        ax.plot(basis.grid, basis.mean, color="black", label="mean")
        sizes = model.regressor_.train_targets_.std(axis=0)
        for k, shape in enumerate(basis.shapes[:_SHAPES]):
            ax.plot(basis.grid, basis.mean + sizes[k] * shape, color=CYCLE[k], lw=1, label=f"principal curve {k + 1}")
        ax.set(xlabel="abscissa", ylabel=words(model.curve_))
        ax.legend(loc="best")
    return picture(figure, "principal curves", "The mean, and one standard deviation of the leading principal curves.")
