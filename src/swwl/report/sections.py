"""What stands in the sections of the page about a model of numbers: plain rows and pictures for its template."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.domain.verdict import FEWEST, LEVEL
from swwl.evaluation import scores
from swwl.evaluation.metadata import FOLDS, HELD_OUT
from swwl.formatting import number, percent
from swwl.gp.prediction import Prediction
from swwl.plots import CalibrationDisplay, DesignDisplay, ImportanceDisplay, ParityDisplay, ResidualsDisplay, draw_mesh
from swwl.plots.style import Display, new_figure, style
from swwl.regression.candidates import WORDS
from swwl.report.page import Picture, ReportFacts, picture

Section = dict[str, object]

_MOST_ROWS = 6
_MOST_DOMAIN_ROWS = 5
_LEVELS = (0.5, 0.8, 0.95)


class Judgment(NamedTuple):
    """What predictions are judged by: words for it, the truth (N, k), predictions of it, and names of the cases."""

    kind: str
    y: NDArray[np.float64]
    prediction: Prediction
    labels: list[str]


def sections(facts: ReportFacts) -> Section:
    """Return all that the template "numbers" speaks of."""
    return {
        "targets": facts.model.target_names_,
        "model_name": facts.model_name,
        "table_name": facts.table_name,
        "known": facts.data,
        "stacked": len(facts.model.candidates_) > 0,
        "held_out": facts.held_out is not None,
        "has_map": facts.outliers is not None,
        "summary": summary(facts),
        "data": data(facts),
        "accuracy": accuracy(facts),
        "intervals": intervals(facts),
        "inputs": inputs(facts),
        "unsure": unsure(facts),
        "domain": domain(facts),
        "odd": odd(facts),
        "predict": predict(facts),
        "parts": parts(facts),
    }


def _tests(facts: ReportFacts, k: int = 0) -> list[Judgment]:
    """Return what predictions of target k can be judged by, the strictest test first; nothing where none was made.

    Training cases that hardly count are not judged by.
    """
    tests = []
    if facts.held_out is not None:
        tests.append(Judgment(HELD_OUT, *facts.held_out, facts.held_out_labels))
    if facts.judged is not None:
        kind, rows, y, prediction = facts.judged
        own = np.flatnonzero(facts.model.counted(k)[rows])
        tests.append(Judgment(kind, y[own], prediction.take(own), [facts.labels[i] for i in rows[own]]))
    return tests


def _draw(
    make: Callable[..., Display], *args: Any, alternative: str, caption: str = "", height: float = 3.5, **options: Any
) -> Picture:
    """Return a display as a picture: ``make(*args, ax=…, **options)`` draws it."""
    drawing = new_figure(4.4, height)
    with style():
        make(*args, ax=drawing.subplots(), **options)
        return picture(drawing, alternative, caption)


def summary(facts: ReportFacts) -> Section:
    """Say what the model predicts from what, and what it is worth in a few numbers."""
    kinds = [factor.takes for factor in facts.model.kernel_.factors]
    n = kinds.count("numbers")
    names = {"graphs": "meshes", "rows": "given vectors or distances", "numbers": f"{n} number{'s' * (n > 1)}"}
    words = {FOLDS: "by cross-validation", "rows left out": "by rows that were left out"}
    tests = _tests(facts)
    judged = "not judged: no case was left out or held out"
    if tests:
        kind = tests[0].kind
        judged = f"judged here {words.get(kind, f'on {len(tests[0].y)} {kind}')}"
    strictest = [(k, name, *_tests(facts, k)[0]) for k, name in enumerate(facts.model.target_names_)] if tests else []
    return {
        "sources": [words for kind, words in names.items() if kind in kinds],
        "n_train": len(facts.y),
        "judged": judged,
        "scores": [
            (name, scores.score(y[:, k], prediction.column(k)), float(y[:, k].std()))
            for k, name, _, y, prediction, _ in strictest
        ],
    }


def data(facts: ReportFacts) -> Section:
    """Give the sizes of meshes and the ranges of columns, and draw a few meshes."""
    nodes = [count for count in facts.data.train.nodes if count] if facts.data else []
    rows = [_range_row("target", name, facts.y[:, k]) for k, name in enumerate(facts.model.target_names_)]
    rows += [_range_row("input", name, facts.inputs[name].to_numpy()) for name in facts.inputs.columns]
    pictures = []
    for path, i in facts.pictures:
        drawing = new_figure(2.3, 2.3)
        try:
            draw_mesh(path, drawing.subplots())
        except (ValueError, OSError):
            continue  # the file has changed since the fit: the report can do without it
        caption = f"{facts.labels[i]}: {facts.model.target_names_[0]} = {number(facts.y[i, 0])}"
        pictures.append(picture(drawing, f"mesh of {facts.labels[i]}", caption, "png"))
    return {"nodes": extent(nodes), "ranges": rows, "pictures": pictures}


def extent(counts: list[int]) -> tuple[int, int, int] | None:
    """Return the least, the median and the largest of some counts, or None where there are none."""
    return (min(counts), int(np.median(counts)), max(counts)) if counts else None


def _range_row(use: str, name: str, values: NDArray[np.float64]) -> list[str]:
    known = values[np.isfinite(values)]
    return [name, use, number(known.min()), number(float(np.median(known))), number(known.max())]


def accuracy(facts: ReportFacts) -> Section:
    """Show scores and parity plots."""
    rows, pictures = [], []
    for k, name in enumerate(facts.model.target_names_):
        for kind, y, prediction, _ in _tests(facts, k):
            one, true = prediction.column(k), y[:, k]
            result = scores.score(true, one)
            rows.append([name, kind, result.n, number(result.rmse), f"{result.q2:.3f}", number(float(true.std()))])
            words = f"predicted against simulated {name}, {kind}"
            pictures.append(_draw(ParityDisplay.from_predictions, true, one, name=name, kind=kind, alternative=words))
    return {"rows": rows, "pictures": pictures}


def intervals(facts: ReportFacts) -> Section:
    """Compare the coverage of intervals with their level, and what chance allows."""
    rows, pictures, verdicts = [], [], []
    for k, name in enumerate(facts.model.target_names_):
        for kind, y, prediction, _ in _tests(facts, k):
            one, true = prediction.column(k), y[:, k]
            shares = scores.coverages(true, one, _LEVELS)
            rows.append([name, kind, len(y), *map(percent, shares), number(scores.score(true, one).width)])
            words = f"share of cases inside intervals of every level, {name}, {kind}"
            pictures.append(
                _draw(CalibrationDisplay.from_predictions, true, one, name=name, kind=kind, alternative=words)
            )
        if tests := _tests(facts, k):
            # The strictest test that has cases enough to tell, or else the one that has most.
            enough = [test for test in tests if len(test.y) >= scores.FEWEST_CASES]
            kind, y, prediction, _ = enough[0] if enough else max(tests, key=lambda test: len(test.y))
            low, high = scores.faultless_counts(len(y))
            verdicts.append(
                {
                    "name": name,
                    "inside": round(float(scores.coverages(y[:, k], prediction.column(k), (0.95,))[0]) * len(y)),
                    "n": len(y),
                    "cases": kind if kind.startswith("held-out") else "left-out cases",
                    "low": low,
                    "high": high,
                    "fewest": scores.FEWEST_CASES,
                    "verdict": scores.interval_verdict(y[:, k], prediction.column(k)),
                }
            )
    return {
        "rows": rows,
        "pictures": pictures,
        "verdicts": verdicts,
        "factors": facts.model.calibration_,
        "regimes": scores.regime_words(facts.model),
        "laws": [law.words for law in facts.model.laws_],
        "together": [one.words for one in (facts.model.chain_.told if facts.model.chain_ else [])],
        "scales": [(name, own) for name, own in facts.model.target_scales_.items() if not own.is_identity],
    }


def inputs(facts: ReportFacts) -> Section:
    """Draw the importance of inputs."""
    height = 1.1 + 0.24 * min(len(facts.model.importance_), 13)
    draw, fitted = ImportanceDisplay.from_estimator, facts.model
    return {
        "pictures": [
            _draw(draw, fitted, target=name, alternative=f"importance of inputs for {name}", height=height)
            for name in fitted.target_names_
        ]
    }


def unsure(facts: ReportFacts) -> Section:
    """Show where intervals are widest."""
    pictures, widest = [], []
    for k, name in enumerate(facts.model.target_names_):
        if facts.outliers is not None:
            pictures.append(
                _draw(
                    DesignDisplay.from_estimator,
                    facts.model,
                    target=name,
                    color="std",
                    alternative=f"map of the training cases, colored by the uncertainty of {name}",
                    caption=f"Training cases by two principal components; color: standard deviation of {name} when "
                    f"left out.",
                )
            )
        rows = []
        for kind, y, prediction, labels in _tests(facts, k):
            one = prediction.column(k)
            lower, upper = one.interval(0.95)
            start, stop = one.gap(0.95)
            half = (upper - lower) / 2
            for i in np.argsort(-half)[:_MOST_ROWS]:
                lopsided = f", {number(lower[i])} to {number(upper[i])}"
                said = number(one.mean[i]) + (f" ± {half[i]:.2g}" if one.symmetric else lopsided)
                if np.isfinite(start[i]):
                    said = f"{number(lower[i])} to {number(start[i])}, or {number(stop[i])} to {number(upper[i])}"
                rows.append((half[i], [labels[i], kind, number(y[i, k]), said]))
        widest.append((name, [row for _, row in sorted(rows, key=lambda row: -row[0])[:_MOST_ROWS]]))
    return {"pictures": pictures, "widest": widest}


def _fitted_name(facts: ReportFacts, target: str) -> str:
    """Return what is fitted of a target: itself, its ratio to a law, a logarithm."""
    over = {law.target: f" over {law.formula}" for law in facts.model.laws_ if law.used}
    name, scale = target + over.get(target, ""), facts.model.target_scales_[target]
    return name if scale.is_identity else f"{scale.words} of {name}"


def domain(facts: ReportFacts) -> Section:
    """Say what a new case is compared with, how often it would be called strange, and who lies at the edge."""
    reference = facts.model.domain_reference()
    known: Section = {"n": reference.n_cases, "fewest": FEWEST}
    if reference.n_cases < FEWEST:
        return known
    found = reference.left_out_scores()
    order = np.argsort(found)[: _MOST_DOMAIN_ROWS if len(found) == len(facts.labels) else 0]
    return known | {
        "level": LEVEL,
        "sure": [
            (_fitted_name(facts, name), float(sure))
            for name, sure in zip(facts.model.target_names_, reference.sure, strict=True)
        ],
        "share": float(np.mean(found <= LEVEL)),
        "edge": [[facts.labels[i], number(float(found[i]))] for i in order],
    }


def odd(facts: ReportFacts) -> Section:
    """List training cases that the others do not explain, and those far from all others."""
    limit = ResidualsDisplay.odd
    pictures, worst = [], []
    short = [label.split(" (")[0] for label in facts.labels]
    for k, name in enumerate(facts.model.target_names_):
        known = np.flatnonzero(np.isfinite(facts.y[:, k]))
        one, true = facts.left_out.column(k).take(known), facts.y[known, k]
        residual = one.standardized(true)
        pictures.append(
            _draw(
                ResidualsDisplay.from_predictions,
                *(true, one),
                name=name,
                kind=facts.judged.kind if facts.judged is not None else facts.model.left_out_by_,
                labels=[short[i] for i in known],
                alternative=f"residuals of {name} when left out, in standard deviations",
            )
        )
        order = [i for i in np.argsort(-np.abs(residual)) if abs(residual[i]) > limit]
        rows = [
            [facts.labels[known[i]], number(true[i]), number(one.mean[i]), f"{residual[i]:+.1f}"]
            for i in order[:_MOST_ROWS]
        ]
        worst.append((name, len(order), rows))
    far: list[str] = []
    if facts.outliers is not None:
        words = f"map of the training cases, colored by {facts.model.target_names_[0]}"
        pictures.append(_draw(DesignDisplay.from_estimator, facts.model, labels=short, alternative=words))
        far = [facts.labels[i] for i in np.flatnonzero(facts.outliers)]
    in_shape = " in shape" if "graphs" in {factor.takes for factor in facts.model.kernel_.factors} else ""
    return {
        "pictures": pictures,
        "limit": f"{limit:g}",
        "worst": worst,
        "far": far[:_MOST_ROWS] + ["…"] * (len(far) > _MOST_ROWS),
        "in_shape": in_shape,
        "hardly_counted": [
            [facts.labels[row.position], row.target, number(row.value), number(row.expected), percent(row.weight)]
            for row in facts.model.outliers_.itertuples()
        ],
    }


def predict(facts: ReportFacts) -> Section:
    """Name the columns that a new table needs, and a sweep to copy."""
    sweep = ""
    if len(facts.inputs.columns):
        first = facts.inputs.columns[0]
        sweep = f"{first}={number(facts.inputs[first].min())}:{number(facts.inputs[first].max())}:20"
    factors = facts.model.kernel_.factors
    return {
        "columns": list(map(str, facts.model.feature_names_in_)),
        "meshes": any(factor.takes == "graphs" for factor in factors),
        "vectors": [factor.column for factor in factors if factor.takes == "rows"],
        "sweep": sweep,
    }


def parts(facts: ReportFacts) -> Section:
    """Say what was fitted, for the record: the candidates of a stack, or the ranges of a kernel."""
    fitted = facts.model
    candidates, ranges = fitted.candidates_, scores.range_table(fitted)
    return {
        "candidates": [
            (
                target,
                [
                    [row.candidate, WORDS.get(row.candidate, ""), percent(row.weight), number(row.rmse)]
                    for row in candidates[candidates["target"] == target].itertuples()
                ],
            )
            for target in (fitted.target_names_ if len(candidates) else [])
        ],
        "kernel": repr(fitted.kernel_),
        "targets": list(map(str, ranges.columns)),
        "ranges": [[name, *map(number, row)] for name, row in zip(ranges.index, ranges.to_numpy(), strict=True)],
        "components": [
            (
                column,
                [
                    [row.n_components, f"{row.log_posterior:.1f}", "chosen" if row.chosen else ""]
                    for row in tried.itertuples()
                ],
            )
            for column, tried in fitted.selection_.groupby("column")
        ],
        "nuggets": [f"{gp.nugget_:.2g}" for gp in fitted.gps_],
    }
