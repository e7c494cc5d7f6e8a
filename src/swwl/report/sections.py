"""The sections of a report, each a function of the facts that returns HTML."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from swwl.domain.verdict import FEWEST, LEVEL
from swwl.evaluation import scores
from swwl.formatting import number, percent
from swwl.gp.prediction import Prediction
from swwl.plots import CalibrationDisplay, DesignDisplay, ImportanceDisplay, ParityDisplay, ResidualsDisplay, draw_mesh
from swwl.plots.style import Display, new_figure, style
from swwl.regression.candidates import WORDS
from swwl.report.facts import Facts
from swwl.report.page import cards, commands, figure, figures, paragraph, table

_MOST_DOMAIN_ROWS = 5


def domain(facts: Facts) -> str:
    """Say what a new case is compared with, how often it would be called strange, and who lies at the edge."""
    reference = facts.model.domain_reference()
    n = reference.n_cases
    if n < FEWEST:
        return paragraph(
            f"Whether a new case is like the training cases cannot be told from {n} of them: at least {FEWEST} are "
            f"needed. Look at the ranges above, and at the units and the frame of new meshes."
        )
    scores = reference.left_out_scores()
    sure = ", ".join(
        f"{name} {number(float(value))}" for name, value in zip(facts.model.target_names_, reference.sure, strict=True)
    )
    text = (
        "swwl predict, and model.domain in Python, compare a new case with the training cases: how far its mesh lies "
        "along their variations, off them and from the nearest one, and how unsure the prediction is. Each becomes a "
        f"p-value by training cases that were left out; a case whose mean of them is at most {LEVEL} is outside. "
        f"Where the standard deviation exceeds that of 95 % of left-out training cases ({sure}), swwl predict doubles "
        "the interval and says so."
    )
    if len(scores) != len(facts.labels):
        return paragraph(text)
    text += f" Of the training cases themselves {percent(float(np.mean(scores <= LEVEL)))} would be outside."
    order = np.argsort(scores)[:_MOST_DOMAIN_ROWS]
    rows = [[facts.labels[i], number(float(scores[i]))] for i in order]
    return paragraph(text) + table(["case", "score"], rows, "training cases at the edge: the lowest scores")


_MOST_ROWS = 6
_ODD = ResidualsDisplay.odd
_NO_MAP = (
    "There is no map of the training cases here: the kernel compares them by distances that need not be those of "
    "points in space."
)


def sections(facts: Facts) -> list[tuple[str, str, str]]:
    """Return (anchor, heading, HTML) of all sections; the first is the summary under the title."""
    return [
        ("summary", "", summary(facts)),
        ("data", "What the data is", data(facts)),
        ("accuracy", "How good the model is", accuracy(facts)),
        ("intervals", "Whether its intervals can be believed", intervals(facts)),
        ("inputs", "Which inputs matter", inputs(facts)),
        ("unsure", "Where it is unsure", unsure(facts)),
        ("domain", "How it tells strange cases", domain(facts)),
        ("odd", "Training cases that look odd", odd(facts)),
        ("predict", "How to predict with it", predict(facts)),
        ("model", "What the model is", model(facts)),
    ]


def _tests(facts: Facts) -> list[tuple[str, NDArray[np.float64], Prediction, list[str]]]:
    """Return what predictions can be judged by, the strictest test first."""
    tests = [(facts.model.left_out_by_, facts.y, facts.left_out, facts.labels)]
    if facts.held_out is not None:
        tests.insert(0, ("held-out cases", *facts.held_out, facts.held_out_labels))
    return tests


def _draw(
    make: Callable[..., Display], *args: Any, alternative: str, caption: str = "", height: float = 3.5, **options: Any
) -> str:
    """Return a display as a picture: ``make(*args, ax=…, **options)`` draws it."""
    drawing = new_figure(4.4, height)
    with style():
        make(*args, ax=drawing.subplots(), **options)
        return figure(drawing, alternative, caption)


def summary(facts: Facts) -> str:
    """Say in a sentence and a few numbers what the model is worth."""
    kind, y, prediction, _ = _tests(facts)[0]
    kinds = [factor.takes for factor in facts.model.kernel_.factors]
    n = kinds.count("numbers")
    names = {"graphs": "meshes", "rows": "given vectors or distances", "numbers": f"{n} number{'s' * (n > 1)}"}
    source = [words for kind, words in names.items() if kind in kinds]
    words = {"leave-one-out": "by leaving out one at a time", "cross-validation": "by cross-validation"}
    judged = words.get(kind, f"on {len(y)} {kind}")
    text = (
        f"A Gaussian process that predicts {escape(', '.join(facts.model.target_names_))} from {' and '.join(source)}, "
        f"fitted to {len(facts.y)} cases and judged here {judged}."
    )
    parts = [paragraph(text, "lead")]
    for k, name in enumerate(facts.model.target_names_):
        one = scores.score(y[:, k], prediction.column(k))
        numbers = [
            (f"{one.q2:.3f}", f"Q² of {name}: 1 is perfect, 0 no better than the mean"),
            (number(one.rmse), f"typical error (RMSE) of {name}, which spreads by {number(float(y[:, k].std()))}"),
            (percent(one.coverage), f"of {one.n} cases lie inside their 95 % intervals"),
        ]
        parts.append(cards(numbers))
    return "".join(parts)


def data(facts: Facts) -> str:
    """Describe the table, its columns and a few meshes."""
    known = facts.data
    parts = []
    if known is not None:
        name = escape(facts.table_name)
        text = f"The table <code>{name}</code> has {known.n_rows} rows; {escape(known.split)}."
        nodes = [count for count in known.train.nodes if count]
        if nodes and min(nodes) == max(nodes):
            text += f" The training meshes have {int(nodes[0])} nodes each."
        elif nodes:
            least, middle, most = (int(function(nodes)) for function in (min, np.median, max))
            text += f" The training meshes have {least} to {most} nodes, {middle} in the middle."
        parts.append(paragraph(text))
    rows = [_range_row("target", name, facts.y[:, k]) for k, name in enumerate(facts.model.target_names_)]
    rows += [_range_row("input", name, facts.inputs[name].to_numpy()) for name in facts.inputs.columns]
    parts.append(
        table(["column", "used as", "least", "median", "largest"], rows, "Columns of numbers, over the training cases")
    )
    if known is not None and known.ignored:
        listed = "; ".join(f"{escape(name)} ({escape(reason)})" for name, reason in known.ignored.items())
        parts.append(paragraph(f"Not used: {listed}."))
    pictures = []
    target = facts.model.target_names_[0]
    for path, i in facts.pictures:
        value = f"{target} = {number(facts.y[i, 0])}"
        drawing = new_figure(2.3, 2.3)
        try:
            draw_mesh(path, drawing.subplots())
        except (ValueError, OSError):
            continue  # the file has changed since the fit: the report can do without it
        pictures.append(figure(drawing, f"mesh of {facts.labels[i]}", f"{facts.labels[i]}: {value}", "png"))
    if pictures:
        parts.append(figures(pictures, "meshes"))
    elif known is not None and known.train.meshes:
        parts.append(paragraph("The mesh files are not where the table says, so that none is shown here.", "lead"))
    return "\n".join(parts)


def _range_row(use: str, name: str, values: NDArray[np.float64]) -> list[str]:
    return [name, use, number(values.min()), number(float(np.median(values))), number(values.max())]


def accuracy(facts: Facts) -> str:
    """Show scores and parity plots."""
    rows, drawings = [], []
    for k, name in enumerate(facts.model.target_names_):
        for kind, y, prediction, _ in _tests(facts):
            one = prediction.column(k)
            result = scores.score(y[:, k], one)
            rows.append([name, kind, result.n, number(result.rmse), f"{result.q2:.3f}", number(float(y[:, k].std()))])
            drawings.append(
                _draw(
                    ParityDisplay.from_predictions,
                    *(y[:, k], one),
                    name=name,
                    kind=kind,
                    alternative=f"predicted against simulated {name}, {kind}",
                )
            )
    if len(facts.model.candidates_):
        left_out = (
            "Cross-validation predicts every training case from folds that do not hold it, with ranges and weights of "
            "their own."
        )
    else:
        left_out = (
            "Leave-one-out predicts every training case from all others; its ranges were chosen with that case in "
            "view, so it is a little kind."
        )
    text = (
        f"Held-out cases were not used in any way to make the model. {left_out}"
        if facts.held_out is not None
        else f"No rows were held out. {left_out} Hold rows out for a strict test "
        f"(<code>swwl fit --test-fraction 0.2</code>)."
    )
    columns = ["target", "test", "cases", "RMSE", "Q²", "spread of the target"]
    return paragraph(text) + table(columns, rows) + figures(drawings)


def intervals(facts: Facts) -> str:
    """Compare the coverage of intervals with their level, and say what chance allows."""
    rows, drawings, verdicts = [], [], []
    for k, name in enumerate(facts.model.target_names_):
        for kind, y, prediction, _ in _tests(facts):
            one = prediction.column(k)
            shares = scores.coverages(y[:, k], one, (0.5, 0.8, 0.95))
            width = scores.score(y[:, k], one).width
            rows.append([name, kind, len(y), *map(percent, shares), number(width)])
            drawings.append(
                _draw(
                    CalibrationDisplay.from_predictions,
                    *(y[:, k], one),
                    name=name,
                    kind=kind,
                    alternative=f"share of cases inside intervals of every level, {name}, {kind}",
                )
            )
        kind, y, prediction, _ = _tests(facts)[0]
        verdicts.append(_verdict(name, kind, y[:, k], prediction.column(k)))
    factors = ", ".join(f"{escape(name)} {value:.2f}" for name, value in facts.model.calibration_.items())
    return (
        "".join(map(paragraph, verdicts))
        + table(["target", "test", "cases", "inside 50 %", "inside 80 %", "inside 95 %", "mean width of 95 %"], rows)
        + figures(drawings)
        + paragraph(
            f"Intervals are Student-t, made wider or narrower by what cross-validation, with the ranges estimated "
            f"again in every fold, asked for: {factors} (1 means that nothing was). The shaded band is where chance "
            f"alone puts nineteen of twenty faultless models."
        )
    )


def _verdict(name: str, kind: str, y: NDArray[np.float64], prediction: Prediction) -> str:
    inside = round(float(scores.coverages(y, prediction, (0.95,))[0]) * len(y))
    low, high = stats.binom.ppf([0.025, 0.975], len(y), 0.95)
    cases = kind if kind.startswith("held-out") else "left-out cases"
    found = f"<b>{escape(name)}</b>: {inside} of {len(y)} {cases} lie inside their 95 % intervals"
    faultless = f"faultless intervals hold {low:.0f} to {high:.0f} in nineteen of twenty such tests"
    if inside < low:
        return f"{found}, but {faultless}. The intervals are too narrow: read them with care."
    if inside > high:
        return f"{found}, but {faultless}. The intervals are wider than they need be: on the safe side."
    return f"{found}, and {faultless}. They can be believed, as far as {len(y)} cases can tell."


def inputs(facts: Facts) -> str:
    """Show the importance of inputs."""
    bars = len(facts.model.importance_)
    drawings = [
        _draw(
            ImportanceDisplay.from_estimator,
            facts.model,
            target=name,
            alternative=f"importance of inputs for {name}",
            height=1.1 + 0.24 * min(bars, 13),
        )
        for name in facts.model.target_names_
    ]
    if len(facts.model.candidates_):
        text = (
            "Importance is how much of what sets two cases apart, to the model, comes from an input; one on average, "
            "near zero for an input that hardly matters."
        )
    else:
        text = (
            "An input of short range matters much: the target changes along it within the training set. Importance is "
            "the inverse range in units of the training set's extent, one on average; near zero, an input hardly "
            "matters. Components of meshes are the main ways in which the training meshes differ, the largest first."
        )
    return paragraph(text) + figures(drawings)


def unsure(facts: Facts) -> str:
    """Show where intervals are widest."""
    text = (
        "The model says how unsure it is. It is least sure where training cases are rare and where similar cases gave "
        "different results. Simulations added there teach it most."
    )
    if facts.outliers is None:
        text += f" {_NO_MAP}"
    parts, drawings = [paragraph(text)], []
    for k, name in enumerate(facts.model.target_names_):
        if facts.outliers is not None:
            drawings.append(
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
        for kind, y, prediction, labels in _tests(facts):
            half = np.diff(np.stack(prediction.column(k).interval(0.95)), axis=0)[0] / 2
            for i in np.argsort(-half)[:_MOST_ROWS]:
                rows.append(
                    (half[i], [labels[i], kind, number(y[i, k]), f"{number(prediction.mean[i, k])} ± {half[i]:.2g}"])
                )
        rows = sorted(rows, key=lambda row: -row[0])[:_MOST_ROWS]
        caption = f"{name}: the widest 95 % intervals"
        parts.append(table(["case", "test", "simulated", "predicted"], [row for _, row in rows], caption))
    return parts[0] + figures(drawings) + "".join(parts[1:])


def odd(facts: Facts) -> str:
    """List training cases that the others do not explain, and those far from all others."""
    parts, drawings = [], []
    short_labels = [label.split(" (")[0] for label in facts.labels]
    for k, name in enumerate(facts.model.target_names_):
        one = facts.left_out.column(k)
        residual = (facts.y[:, k] - one.mean) / one.std
        drawings.append(
            _draw(
                ResidualsDisplay.from_predictions,
                *(facts.y[:, k], one),
                name=name,
                kind=facts.model.left_out_by_,
                labels=short_labels,
                alternative=f"residuals of {name} when left out, in standard deviations",
            )
        )
        worst = [i for i in np.argsort(-np.abs(residual)) if abs(residual[i]) > _ODD]
        if worst:
            rows = [
                [facts.labels[i], number(facts.y[i, k]), number(one.mean[i]), f"{residual[i]:+.1f}"]
                for i in worst[:_MOST_ROWS]
            ]
            caption = f"{name}: more than {_ODD:g} standard deviations from what the other cases say ({len(worst)})"
            parts.append(table(["case", "simulated", "predicted from the others", "error / std"], rows, caption))
            parts.append(
                paragraph(
                    "Look at these simulations first: did they converge, and are their inputs what the table says?"
                )
            )
        else:
            parts.append(
                paragraph(
                    f"<b>{escape(name)}</b>: no training case is more than {_ODD:g} standard deviations from what the "
                    f"others say."
                )
            )
    if facts.outliers is None:
        parts.append(paragraph(_NO_MAP))
    else:
        drawings.append(
            _draw(
                DesignDisplay.from_estimator,
                facts.model,
                labels=short_labels,
                alternative=f"map of the training cases, colored by {facts.model.target_names_[0]}",
            )
        )
        far = [escape(facts.labels[i]) for i in np.flatnonzero(facts.outliers)]
        listed = ", ".join(far[:_MOST_ROWS]) + (", …" if len(far) > _MOST_ROWS else "")
        where = " in shape" if "graphs" in {factor.takes for factor in facts.model.kernel_.factors} else ""
        parts.append(
            paragraph(
                f"Far from all others{where}: {listed}. They are not wrong for that, but they stand alone."
                if far
                else f"No training case lies far from all others{where}."
            )
        )
    return figures(drawings) + "\n".join(parts)


def predict(facts: Facts) -> str:
    """Say how to use the model, with commands to copy."""
    needed = ", ".join(f"<code>{escape(str(name))}</code>" for name in facts.model.feature_names_in_)
    name = facts.model_name
    text = f"swwl predict {name} new.csv -o predictions.csv"
    columns = {kind: [f.column for f in facts.model.kernel_.factors if f.takes == kind] for kind in ("graphs", "rows")}
    if len(facts.inputs.columns):
        first = facts.inputs.columns[0]
        low, high = number(facts.inputs[first].min()), number(facts.inputs[first].max())
        mesh = " --mesh MESH.vtu" if columns["graphs"] else ""
        fix = "".join(f" --fix {column}=VALUE" for column in columns["rows"])
        text += f"\nswwl curve {name}{mesh}{fix} --sweep {first}={low}:{high}:20 -o curve.png"
    entries = ["paths of meshes are relative to it"] * bool(columns["graphs"])
    entries += ["vectors are lists such as [0.1, 2]"] * bool(columns["rows"])
    python = f"""import swwl

model = swwl.load_model("{name}")
mean, std = model.predict(new_table, return_std=True)
lower, upper = model.predict_interval(new_table, level=0.95)"""
    return (
        paragraph("; ".join([f"A new table needs the columns {needed}", *entries]) + ".")
        + commands(text)
        + paragraph("Or in Python, with a pandas table:")
        + commands(python)
        + paragraph(
            "Inside the ranges of the training set (see the table of columns above) predictions are as good as this "
            "page says. Outside of them nothing has been tested."
        )
    )


def model(facts: Facts) -> str:
    """Say what was fitted, for the record."""
    fitted = facts.model
    parts = [_candidates(facts)] if len(fitted.candidates_) else [_ranges(facts)]
    for column, tried in fitted.selection_.groupby("column"):
        rows = [
            [row.n_components, f"{row.log_posterior:.1f}", "chosen" if row.chosen else ""] for row in tried.itertuples()
        ]
        caption = f"Numbers of principal components of {column}, compared by log posterior"
        parts.append(table(["components", "log posterior", ""], rows, caption))
    nuggets = ", ".join(f"{gp.nugget_:.2g}" for gp in fitted.gps_)
    parts.append(paragraph(f"Noise variance over process variance (nugget): {nuggets}."))
    return "\n".join(parts)


def _candidates(facts: Facts) -> str:
    """Show what a stack is made of: what every candidate looks at, what it weighs, how good it would be alone."""
    parts = [
        paragraph(
            "The prediction is a mixture of several Gaussian processes, each of which looks at the meshes in its own "
            "way. Their weights are those with which, in cross-validation, the mixture predicted best what was left "
            "out; a way that does not suit the problem gets a weight near zero and does no harm."
        )
    ]
    found = facts.model.candidates_
    for target in facts.model.target_names_:
        rows = [
            [row.candidate, WORDS.get(row.candidate, ""), percent(row.weight), number(row.rmse)]
            for row in found[found["target"] == target].itertuples()
        ]
        columns = ["candidate", "what it looks at", "weight", "RMSE alone, left out"]
        parts.append(table(columns, rows, f"{target}: what the model is made of"))
    return "\n".join(parts)


def _ranges(facts: Facts) -> str:
    ranges = scores.range_table(facts.model)
    return paragraph(f"Kernel: <code>{escape(repr(facts.model.kernel_))}</code>") + table(
        ["part of the kernel", *map(str, ranges.columns)],
        [[name, *(number(value) for value in row)] for name, row in zip(ranges.index, ranges.to_numpy(), strict=True)],
        "Ranges, in the units of the column: cases much farther apart than this tell little about each other",
    )
