"""Tables, sentences and a figure of errors: what the rows of ``table4.py`` show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from swwl.plots.style import BLUE, GREEN, ORANGE, PURPLE, new_figure, style
from swwl_paper.models import MODELS
from swwl_paper.study import in_words

_LOOKS = {"full": (BLUE, "o"), "coarsened": (ORANGE, "s"), "cut down": (PURPLE, "^")}
_PUBLISHED_LOOK = (GREEN, "D")
# Coverages of 95 % intervals that a few hundred test cases cannot tell from 95 %.
BELIEVABLE = (0.90, 0.98)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation over seeds, a row for each data set, target, kind of meshes and model.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``table4.csv``.
    """
    order = {model: number for number, model in enumerate(MODELS)}
    groups = frame.groupby(["dataset", "target", "meshes", "model"], sort=False)
    found = groups.agg(
        nodes=("nodes", "first"),
        n_train=("n_train", "first"),
        n_test=("n_test", "first"),
        rmse=("rmse", "mean"),
        std=("rmse", lambda values: float(np.std(values))),
        relative=("rmse_relative", "mean"),
        relative_std=("rmse_relative", lambda values: float(np.std(values))),
        q2=("q2", "mean"),
        coverage=("coverage95", "mean"),
        width=("width95", "mean"),
        components=("components", "median"),
        runs=("seed", "count"),
    ).reset_index()
    found["order"] = found["model"].map(order)
    places = {key: number for number, key in enumerate(dict.fromkeys(frame["dataset"]))}
    kinds = {key: number for number, key in enumerate(dict.fromkeys(frame["meshes"]))}
    found = found.assign(_set=found["dataset"].map(places), _kind=found["meshes"].map(kinds))
    return found.sort_values(["_set", "target", "_kind", "order"]).drop(columns=["_set", "_kind", "order"])


def tables(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield a title, a table of texts and the sentences below it for each data set and target."""
    for (name, target), part in summary(frame).groupby(["dataset", "target"], sort=False):
        lines = [
            {
                "model": MODELS[row["model"]].title,
                "meshes": row["meshes"],
                "RMSE": plus_minus(row["rmse"], row["std"], row["runs"]),
                "Q²": f"{row['q2']:.3f}",
                "in 95 %": f"{100 * row['coverage']:.0f} %",
                "width": f"{row['width']:.3g}",
                "k": "–" if math.isnan(row["components"]) else f"{row['components']:.0f}",
            }
            for row in part.to_dict("records")
        ]
        notes = [_sizes(part), "", *verdicts(part)]
        yield f"{name}: {in_words(str(target))}", pd.DataFrame(lines), "\n".join(notes)


def _sizes(part: pd.DataFrame) -> str:
    """Say how many nodes, cases and runs stand behind the rows of one table."""
    kinds = []
    for meshes, rows in part.groupby("meshes", sort=False):
        first, runs = rows.iloc[0], sorted(set(rows["runs"]))
        many = f"{runs[0]} to {runs[-1]} runs" if len(runs) > 1 else f"{runs[0]} run{'s' * (runs[0] > 1)}"
        kinds.append(
            f"{meshes}: {first['nodes']:.0f} nodes, {first['n_train']:.0f} training and {first['n_test']:.0f} test "
            f"cases, {many}"
        )
    return "; ".join(kinds) + ". RMSE is the mean ± standard deviation over runs; width is the mean of 95 % intervals."


def plus_minus(mean: float, std: float, runs: int) -> str:
    """Return a mean and its standard deviation with as many decimals as count.

    Examples
    --------
    >>> plus_minus(0.01234, 0.00067, 5), plus_minus(123.4, 0.0, 1)
    ('0.01234 ± 0.00067', '123.4')
    """
    decimals = max(0, 3 - math.floor(math.log10(abs(mean)))) if mean else 3
    return f"{mean:.{decimals}f}" + (f" ± {std:.{decimals}f}" if runs > 1 else "")


def verdicts(part: pd.DataFrame) -> list[str]:
    """Return what one table shows, in sentences.

    Parameters
    ----------
    part : DataFrame
        Rows of :func:`summary` for one data set and target.
    """
    sentences = []
    for meshes, rows in part.groupby("meshes", sort=False):
        free = rows[[MODELS[model].topology_free for model in rows["model"]]]
        if len(free) > 1:
            sentences.append(f"- {str(meshes).capitalize()}{' meshes' * (meshes in _LOOKS)}: {_best(free)}")
    paper = part[part["model"] == "SWWL"].set_index("meshes")["rmse"]
    if {"full", "coarsened"} <= set(paper.index):
        full, coarse = paper["full"], paper["coarsened"]
        word = "lower" if full < coarse else "not lower"
        sentences.append(
            f"- SWWL(1) has a {word} error on full meshes than on coarsened ones ({_ratio(full, coarse)})."
        )
    low, high = BELIEVABLE
    narrow, wide = part[part["coverage"] < low], part[part["coverage"] > high]
    inside = len(part) - len(narrow) - len(wide)
    text = f"- 95 % intervals hold 90 to 98 % of the test cases in {inside} of {len(part)} rows"
    if len(wide):
        text += f", more in {len(wide)}"
    if len(narrow):
        named = [f"{_title(row)} ({100 * row['coverage']:.0f} %)" for row in narrow.to_dict("records")]
        text += f", fewer in {len(narrow)}: {'; '.join(named)}"
    sentences.append(f"{text}.")
    return sentences


def _best(free: pd.DataFrame) -> str:
    """Say which kernel that needs no common topology has the lowest error, and how far the paper's is from it."""
    ranked = free.sort_values("rmse")
    best = ranked.iloc[0]
    text = f"the lowest error of a kernel that needs no common topology is that of {MODELS[best['model']].title}"
    if not str(best["model"]).startswith("principal") and "principal" in set(free["model"]):
        principal = free[free["model"] == "principal"].iloc[0]
        return f"{text}; principal SWWL's is {_times(principal['rmse'], best['rmse'])}."
    plain = free[free["model"] == "SWWL"]
    if plain.empty or best["model"] == "SWWL":
        return f"{text}."
    return f"{text}; SWWL(1)'s is {_times(float(plain.iloc[0]['rmse']), best['rmse'])}."


def _title(row: Any) -> str:
    return f"{MODELS[row['model']].title}, {row['meshes']}"


def _times(larger: float, smaller: float) -> str:
    return f"{larger / smaller:.2f} times as large" if smaller > 0 else "not zero"


def _ratio(full: float, coarse: float) -> str:
    return f"ratio {full / coarse:.2f}" if coarse > 0 else "which is zero"


def draw(frame: pd.DataFrame) -> Any:
    """Draw relative errors: a panel for each data set and target, a line for each model.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``table4.csv``.
    """
    panels = list(summary(frame).groupby(["dataset", "target"], sort=False))
    columns = min(3, len(panels))
    n_rows = -(-len(panels) // columns)
    models = [model for model in MODELS if model in set(frame["model"])]
    figure = new_figure(1.9 + 2.9 * columns, 0.9 + n_rows * (0.9 + 0.2 * len(models)))
    with style():
        axes = figure.subplots(n_rows, columns, squeeze=False, sharey=True)
        handles: dict[str, Any] = {}
        for ax, ((name, target), part) in zip(axes.flat, panels, strict=False):
            kinds = list(dict.fromkeys(part["meshes"]))
            for number, meshes in enumerate(kinds):
                color, marker = _LOOKS.get(str(meshes), _PUBLISHED_LOOK)
                rows = part[part["meshes"] == meshes]
                places = [models.index(model) + 0.22 * (number - (len(kinds) - 1) / 2) for model in rows["model"]]
                bars = ax.errorbar(
                    rows["relative"], places, xerr=rows["relative_std"], fmt=marker, ms=5, color=color, lw=1, capsize=2
                )
                handles.setdefault(str(meshes) if meshes in _LOOKS else "as published", bars)
            ax.axvline(1, color="0.5", lw=0.8, ls=":")
            ax.set_xscale("log")
            lowest = float((part["relative"] - part["relative_std"]).clip(lower=0.5 * part["relative"]).min())
            highest = float((part["relative"] + part["relative_std"]).max())
            _ticks(ax, lowest / 1.2, max(1.2, 1.2 * highest))
            ax.set_title(f"{name}: {in_words(str(target))}")
        for ax in axes.flat[len(panels) :]:
            ax.set_visible(False)
        for ax in axes[:, 0]:
            ax.set_yticks(range(len(models)), [MODELS[model].title for model in models])
            ax.set_ylim(len(models) - 0.5, -0.5)
        figure.supxlabel("RMSE over standard deviation of the test cases", fontsize=9)
        figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.98))  # the line of provenance stands below
        figure.legend(handles.values(), handles.keys(), loc="outside upper right", ncols=len(handles))
    return figure


def _ticks(ax: Any, low: float, high: float) -> None:
    """Mark round numbers, plainly written, between bounds of a logarithmic axis."""
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7)):
        marks = [digit * 10.0**power for power in range(-6, 4) for digit in digits]
        marks = [mark for mark in marks if low <= mark <= high]
        if len(marks) >= 3:
            break
    ax.set_xlim(low, high)
    ax.set_xticks(marks, [f"{mark:g}" for mark in marks])
    ax.set_xticks([], minor=True)
