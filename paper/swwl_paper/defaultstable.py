"""Tables, sentences and a figure of the default model beside others: what the rows of ``defaults.py`` show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from swwl.plots.style import BLACK, BLUE, GRAY, GREEN, ORANGE, PURPLE, SKY, VERMILLION, new_figure, style
from swwl_paper.filesets import SETS
from swwl_paper.study import in_words

MODELS = {
    "scalars": "scalars",
    "ridge": "ridge",
    "boosted": "boosted",
    "SWWL": "SWWL",
    "ASWWL": "ASWWL",
    "principal": "principal",
    "auto": "default",
}
_LOOKS = {
    "scalars": (GRAY, "x"),
    "ridge": (ORANGE, "s"),
    "boosted": (SKY, "P"),
    "SWWL": (BLUE, "^"),
    "ASWWL": (GREEN, "v"),
    "principal": (PURPLE, "D"),
    "auto": (VERMILLION, "o"),
}
CASE = ["dataset", "target", "n_train"]
# Intervals of 95 % that hold less than this, with this many training cases, are not to be believed.
LEAST_COVERAGE, ENOUGH = 0.88, 120
_ARROW = " → ".join


def medians(frame: pd.DataFrame, value: str, how: str = "median") -> pd.DataFrame:
    """Return the medians of a column over splits: a row for each set, target and size, a column for each model."""
    order = {name: number for number, name in enumerate(SETS)}
    table = frame.pivot_table(index=CASE, columns="model", values=value, aggfunc=how)
    table = table.reindex(columns=[model for model in MODELS if model in table])
    return table.sort_index(key=lambda level: level.map(order) if level.name == "dataset" else level)


def ratios(errors: pd.DataFrame) -> pd.DataFrame:
    """Return errors of the default over those of the best other model and of principal SWWL.

    Examples
    --------
    >>> ratios(pd.DataFrame({"SWWL": [0.4], "principal": [0.5], "auto": [0.2]})).round(3)
       to best  to principal
    0      0.5           0.4
    """
    auto = errors["auto"] if "auto" in errors else pd.Series(np.nan, errors.index)
    best = errors.drop(columns="auto", errors="ignore").min(axis=1)
    known = errors["principal"] if "principal" in errors else pd.Series(np.nan, errors.index)
    return pd.DataFrame({"to best": auto / best, "to principal": auto / known})


def tables(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield a title, a table of texts and the sentences below it: errors, intervals, and all sets together.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``defaults.csv``.
    """
    errors = medians(frame, "error")
    shown = errors.rename(columns=MODELS)
    if "auto" in errors:
        shown = shown.join(ratios(errors)["to best"])
    yield "Errors: RMSE over the deviation of the tests", _texts(shown.map(_short)), _about(frame)
    pair = [model for model in ("principal", "auto") if model in errors]
    if pair:
        values = {"in 95 %": "coverage", "width": "width", "score": "score", "seconds": "seconds"}
        means = {
            title: medians(frame, value, "mean" if value == "coverage" else "median")[pair]
            for title, value in values.items()
        }
        texts = pd.DataFrame({title: found.map(_short).agg(_ARROW, axis=1) for title, found in means.items()})
        title = f"Intervals and CPU seconds to fit: {_ARROW(MODELS[model] for model in pair)}"
        yield title, _texts(texts), "Coverage is the mean over splits, the rest the median."
    notes = [
        "Geometric means over all lines: of the error over that of the best other model, and of error and interval "
        "score over principal's. Coverage is the mean, seconds the median at the largest sizes."
    ]
    yield "All sets together", summary(frame), "\n".join([*notes, "", *verdicts(frame)])


def _about(frame: pd.DataFrame) -> str:
    tests, splits = sorted(frame["n_test"].unique()), frame["split"].nunique()
    many = f"{tests[0]:.0f} to {tests[-1]:.0f}" if len(tests) > 1 else f"{tests[0]:.0f}"
    text = (
        f"Medians over {splits} random split{'s' * (splits > 1)}, {many} test cases each. Scalars and principal are "
        "Gaussian processes on the scalars alone and with principal SWWL; ridge and boosted are ridge regression and "
        "boosted trees on statistics of the nodes and the scalars."
    )
    if "auto" in set(frame["model"]):
        text += " The last column is the default's error over that of the best other model, known only afterwards."
    return text


def _texts(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of texts behind the set, target and size that its lines belong to."""
    texts = table.copy()
    texts.insert(0, "set", [f"{SETS[name].title}: {in_words(target)}" for name, target, _ in table.index])
    texts.insert(1, "N", [str(n) for *_, n in table.index])
    return texts


def _short(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3g}"


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one line of texts per model: how it does on all sets that it suits, and seconds at their largest sizes."""
    errors, scores, seconds = (medians(frame, value) for value in ("error", "score", "seconds"))
    lines = []
    for model in errors:
        to_best = (errors[model] / errors.drop(columns=model).min(axis=1)).dropna()
        lines.append(
            {
                "model": MODELS[model],
                "to best": geometric_mean(to_best),
                "at most": to_best.max(),
                "to principal": _against(errors, model),
                "score": _against(scores, model),
                "in 95 %": frame.loc[frame["model"] == model, "coverage"].mean(),
                "seconds": seconds[model].groupby(level=[0, 1]).last().median(),
            }
        )
    table = pd.DataFrame(lines).set_index("model")
    return table.map(_short).reset_index()


def _against(values: pd.DataFrame, model: str) -> float:
    return geometric_mean((values[model] / values["principal"]).dropna()) if "principal" in values else np.nan


def geometric_mean(values: Any) -> float:
    """Return the geometric mean of positive numbers, NaN where there are none.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    return float(np.exp(np.mean(np.log(values)))) if len(values) else np.nan


def verdicts(frame: pd.DataFrame) -> list[str]:
    """Return what the rows show of the default model, in sentences; none where it was not run."""
    if "auto" not in set(frame["model"]):
        return []
    sentences = []
    found = ratios(medians(frame, "error"))
    for column, other in (("to best", "the best other model's"), ("to principal", "principal SWWL's")):
        values = found[column].dropna()
        if len(values):
            sentences.append(
                f"- The default's error is {geometric_mean(values):.2f} times {other} (geometric mean over "
                f"{len(values)} rows), {values.min():.2f} to {values.max():.2f} times; the largest on "
                f"{_case(values.idxmax())}. It is larger by more than 5 % on {(values > 1.05).sum()}."
            )
    coverage = frame[frame["model"] == "auto"].groupby(CASE, sort=False)["coverage"].mean()
    sizes = coverage.index.get_level_values("n_train")
    low = coverage[(coverage < LEAST_COVERAGE) & (sizes >= ENOUGH)]
    named = "; ".join(f"{_case(case)} ({100 * value:.0f} %)" for case, value in low.items())
    sentences.append(
        f"- Its 95 % intervals hold {100 * coverage.mean():.1f} % of the tests on average. With {ENOUGH} training "
        f"cases or more they hold less than {100 * LEAST_COVERAGE:.0f} % on {named or 'none of the sets'}."
    )
    return sentences


def _case(case: Any) -> str:
    name, target, n_train = case
    return f"{SETS[name].title}: {in_words(target)}, N = {n_train}"


def draw(frame: pd.DataFrame) -> Any:
    """Draw errors: a panel for few to many training cases, a line for each set and target, a mark for each model.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``defaults.csv``.
    """
    errors = medians(frame, "error")
    pairs = list(dict.fromkeys((name, target) for name, target, _ in errors.index))
    rank = errors.groupby(level=[0, 1]).cumcount()
    count = int(rank.max()) + 1
    figure = new_figure(2.6 + 2.6 * count, 1.4 + 0.24 * len(pairs))
    with style():
        axes = figure.subplots(1, count, squeeze=False, sharex=True, sharey=True)[0]
        for number, ax in enumerate(axes):
            part = errors[rank == number]
            heights = [pairs.index((name, target)) for name, target, _ in part.index]
            for model in part:
                color, marker = _LOOKS[model]
                size = {"ms": 9, "mfc": "none", "mew": 1.5} if model == "auto" else {"ms": 4}
                ax.plot(part[model], heights, marker, color=color, label=MODELS[model], **size)
            sizes = sorted({n for *_, n in part.index})
            ax.set_title(f"N = {sizes[0]}" + (f" to {sizes[-1]}" if len(sizes) > 1 else ""))
            ax.axvline(1, color=BLACK, lw=0.8, ls=":")
            ax.set_xscale("log")
            ax.set_xlabel("RMSE over deviation")
        titles = [f"{SETS[name].title}: {in_words(target)}" for name, target in pairs]
        axes[0].set_yticks(range(len(pairs)), titles)
        axes[0].set_ylim(len(pairs) - 0.5, -0.5)
        figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.98))  # the line of provenance stands below
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=len(errors.columns))
    return figure
