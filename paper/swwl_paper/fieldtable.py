"""Tables and a figure of methods for whole fields: what the rows of ``fields.py`` show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from swwl.plots.style import BLUE, GRAY, GREEN, ORANGE, PURPLE, VERMILLION, new_figure, style
from swwl_paper.fieldmethods import TITLES
from swwl_paper.fieldsets import SETS

_LOOKS = {
    "mean": (GRAY, "x"),
    "nearest": (ORANGE, "s"),
    "entropic": (PURPLE, "D"),
    "exact": (BLUE, "^"),
    "nodes": (GREEN, "v"),
    "ours": (VERMILLION, "o"),
}


def means(frame: pd.DataFrame, value: str, how: str = "mean") -> pd.DataFrame:
    """Return a column's means over seeds: a row for each set, a column for each method."""
    table = frame.pivot_table(index="dataset", columns="model", values=value, aggfunc=how)
    table = table.reindex(columns=[model for model in TITLES if model in table])
    return table.reindex([name for name in SETS if name in table.index])


def tables(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield a title, a table of texts and the sentences below it: errors, and the regressor's own line in full.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``fields.csv``.
    """
    errors = means(frame, "rrmse")
    yield "RRMSE of whole fields on new meshes", _texts(errors, 4), _about(frame)
    yield "Q² over all nodes", _texts(means(frame, "q2"), 4), ""
    yield "Relative error of the largest |u|", _texts(means(frame, "max_error"), 3), ""
    own = frame[frame["model"] == "ours"]
    if own.empty:
        return
    found = own.groupby("dataset")
    table = pd.DataFrame(
        {
            "RRMSE": found["rrmse"].mean().map("{:.4f}".format),
            "seeds": found["rrmse"].agg(lambda values: " ".join(f"{value:.4f}" for value in values)),
            "Q²": found["q2"].mean().map("{:.4f}".format),
            "in 95 %": found["coverage"].mean().map("{:.3f}".format),
            "worst mesh": found["worst_coverage"].min().map("{:.2f}".format),
            "largest in 95 %": found["largest_in"].mean().map("{:.3f}".format).replace("nan", "–"),
            "CPU s": found["seconds"].median().map("{:.0f}".format).replace("nan", "–"),
        }
    )
    table = table.reindex([name for name in SETS if name in table.index])
    table.insert(0, "set", [SETS[name].title for name in table.index])
    notes = (
        "Nodes in 95 % intervals: mean over meshes and seeds, and the mesh with the least; meshes whose largest |u| "
        "lies in its interval."
    )
    yield "FieldRegressor, without options", table, "\n".join([notes, "", *verdicts(frame)])


def verdicts(frame: pd.DataFrame) -> list[str]:
    """Return in sentences how the regressor's errors compare with the best of the others', on seeds that both have."""
    sentences = []
    for name, own in frame.groupby("dataset", sort=False):
        table = own.pivot_table(index="seed", columns="model", values="rrmse")
        if "ours" not in table:
            continue
        shares = {}
        for model in table.columns.drop("ours"):
            both = table[["ours", model]].dropna()
            if len(both):
                shares[model] = float(both["ours"].mean() / both[model].mean()), len(both)
        if shares:
            best = max(shares, key=lambda model: shares[model][0])
            share, seeds = shares[best]
            many = f"{seeds} seed{'s' * (seeds > 1)}"
            sentences.append(f"- {SETS[str(name)].title}: {share:.2f} times the error of {TITLES[best]} ({many}).")
    return sentences


def _texts(table: pd.DataFrame, digits: int) -> pd.DataFrame:
    shown = table.map(lambda value: "–" if np.isnan(value) else f"{value:.{digits}f}").rename(columns=TITLES)
    shown.insert(0, "set", [SETS[name].title for name in table.index])
    return shown


def _about(frame: pd.DataFrame) -> str:
    seeds = frame.groupby(["dataset", "model"])["seed"].nunique()
    many = f"{seeds.min()} to {seeds.max()}" if seeds.min() < seeds.max() else f"{seeds.max()}"
    plural = "s" * (many != "1")
    return (
        f"Means over {many} seed{plural}. The error of a mesh is the root mean square over its nodes over its largest "
        "|u|; the table has the root of the mean of squares over test meshes. All methods choose on training meshes "
        "alone: entropic transport its regularization, the nearest case the weight of meshes against numbers."
    )


def draw(frame: pd.DataFrame) -> Any:
    """Draw errors: a line for each set, a mark for each method.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``fields.csv``.
    """
    errors = means(frame, "rrmse")
    figure = new_figure(6.4, 1.4 + 0.3 * len(errors))
    with style():
        ax = figure.subplots()
        for model in errors:
            color, marker = _LOOKS[str(model)]
            size = {"ms": 9, "mfc": "none", "mew": 1.5} if model == "ours" else {"ms": 5}
            ax.plot(errors[model], range(len(errors)), marker, color=color, label=TITLES[str(model)], **size)
        ax.set_yticks(range(len(errors)), [SETS[name].title for name in errors.index])
        ax.set_ylim(len(errors) - 0.5, -0.5)
        ax.set_xscale("log")
        ax.set_xlabel("RRMSE")
        figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.98))  # the line of provenance stands below
        figure.legend(*ax.get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure
