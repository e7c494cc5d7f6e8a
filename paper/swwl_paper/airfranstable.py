"""Tables, sentences and a figure of AirfRANS: what the rows of ``airfrans.py`` show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from swwl.plots.style import BLUE, GRAY, GREEN, ORANGE, PURPLE, VERMILLION, new_figure, style
from swwl_paper.boards import AIRFRANS, Figure

CONTOURS = {
    "same": "same rule",
    "uniform": "300 uniform points",
    "cosine": "40 cosine points",
    "surfaces": "solver's surfaces",
    "closed": "the same, closed",
}
TARGETS = {"cl": "lift", "cd": "drag"}
_LOOKS = {
    "same": (VERMILLION, "o"),
    "uniform": (BLUE, "^"),
    "cosine": (GREEN, "v"),
    "surfaces": (ORANGE, "s"),
    "closed": (PURPLE, "d"),
}
_SCORES = {
    "error": "error",
    "rrmse": "RRMSE",
    "spearman": "Spearman",
    "coverage": "in 95 %",
    "width": "width",
    "inside": "inside",
    "seconds": "seconds",
}
# A prediction from other points of the same airfoil may have so many times the error.
MOST = 1.15


def tables(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield a title, a table of texts and the sentences below it: beside published figures, by seed, other contours.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``airfrans.csv``.
    """
    same = frame[frame["contours"] == "same"]
    n_test = int(same["n_test"].max())
    notes = (
        f"Means over seeds; {n_test} test cases. Error is the RMSE over the deviation of the tests, RRMSE the root of "
        "the mean of squared errors over squared truths, width that of 95 % intervals over the deviation, as users "
        "get them: doubled where the model is less sure. Inside: how many of the tests the domain check calls like "
        "the training cases."
    )
    yield "AirfRANS, official split", beside(same, AIRFRANS), "\n\n".join([notes, sources(AIRFRANS), *verdicts(same)])
    if same["seed"].nunique() > 1:
        yield "Each draw of training cases", by_seed(same), ""
    notes = (
        "The same test airfoils with other points. The solver's surfaces end with a blunt edge, a thousandth of the "
        "chord before the point where all other contours end; closed, their last sides are continued to it. Flagged: "
        "outside the domain, or with an interval that was doubled; together: users are told that all cases together "
        "differ from the training cases, in so many of the fits. The last column is the ratio of errors on cases that "
        "are not flagged."
    )
    if (frame["contours"] != "same").any():
        yield "Other contours of the same airfoils", other_contours(frame), f"{notes}\n\n{moved(frame)}"


def beside(same: pd.DataFrame, published: tuple[Figure, ...]) -> pd.DataFrame:
    """Return a line of texts for each target and size, and those of others below them."""
    means = same.groupby(["target", "n_train"])[list(_SCORES)].mean()
    lines = []
    for target, title in TARGETS.items():
        for n_train, row in means.loc[target].iterrows():
            lines.append({"model": f"{title}: default", "N": str(n_train)} | _row(row))
        for who in dict.fromkeys(figure.who for figure in published if figure.target == target):
            known = {one.metric: one.value for one in published if (one.who, one.target) == (who, target)}
            lines.append({"model": f"{title}: {who}", "N": "800"} | _row(pd.Series(known, dtype=float)))
    return pd.DataFrame(lines)


def _row(row: pd.Series) -> dict[str, str]:
    return {title: short(float(row.get(key, np.nan)), key) for key, title in _SCORES.items()}


def short(value: float, key: str = "") -> str:
    """Return a number as text; ranks need more digits than errors.

    >>> short(0.99987, "spearman"), short(0.0123456), short(float("nan"))
    ('0.9999', '0.0123', '–')
    """
    if np.isnan(value):
        return "–"
    return f"{value:.4f}" if key == "spearman" else f"{value:.3g}"


def sources(published: tuple[Figure, ...]) -> str:
    """Return one sentence that names where the figures of others come from."""
    found = dict.fromkeys((figure.who, figure.source) for figure in published)
    return "Published: " + "; ".join(f"{who}: {source}" for who, source in found) + "."


def verdicts(same: pd.DataFrame) -> list[str]:
    """Return how many times MMGP's our RRMSE is, and which seeds did worse with more training cases, in sentences."""
    sentences = []
    means = same.groupby(["target", "n_train"])["rrmse"].mean()
    for figure in AIRFRANS:
        if figure.metric == "rrmse" and (figure.target, 800) in means:
            ours = float(means[figure.target, 800])
            sentences.append(
                f"- RRMSE of {TARGETS[figure.target]} from 800 cases: {ours:.2g}, {ours / figure.value:.2f} times "
                f"{figure.who}'s."
            )
    worse = []
    for (target, seed), part in same.groupby(["target", "seed"]):
        errors = part.sort_values("n_train")[["n_train", "error"]].to_numpy()
        worse += [
            f"{TARGETS[str(target)]}, seed {seed}: {fewer:.0f} to {more:.0f} cases"
            for (fewer, before), (more, after) in zip(errors, errors[1:], strict=False)
            if after > before
        ]
    if same["n_train"].nunique() > 1:
        sentences.append(f"- More cases had a larger error on: {'; '.join(worse) or 'none'}.")
    return ["\n".join(sentences)] if sentences else []


def by_seed(same: pd.DataFrame) -> pd.DataFrame:
    """Return one line of texts for each target, size and seed."""
    several = same.groupby("n_train")["seed"].transform("nunique") > 1
    ordered = same[several].sort_values(
        ["target", "n_train", "seed"], key=lambda column: column.map({"cl": 0, "cd": 1}).fillna(column)
    )
    return pd.DataFrame(
        [
            {"target": TARGETS[row["target"]], "N": str(row["n_train"]), "seed": str(row["seed"])} | _row(row)
            for _, row in ordered.iterrows()
        ]
    )


def compared(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds for each kind of contours, target and size, with ratios to the error of the same rule."""
    index = ["contours", "target", "n_train"]
    values = ["error", "coverage", "flagged", "together", "unflagged", "unflagged_same", "n_test"]
    means = frame.groupby(index)[values].mean()
    same = means.loc["same", "error"]
    others = means.drop(index="same")
    others["same"] = [float(same[key[1:]]) for key in others.index]
    others["ratio"] = others["error"] / others["same"]
    others["unflagged_ratio"] = others["unflagged"] / others["unflagged_same"]
    order = {name: number for number, name in enumerate([*CONTOURS, *TARGETS])}
    return others.sort_index(key=lambda level: level.map(order) if level.name != "n_train" else level)


def other_contours(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a line of texts for each kind of contours, target and size."""
    return pd.DataFrame(
        [
            {
                "contours": CONTOURS[kind],
                "target": TARGETS[target],
                "N": str(n_train),
                "error": short(row["error"]),
                "same rule": short(row["same"]),
                "ratio": f"{row['ratio']:.2f}",
                "in 95 %": short(row["coverage"]),
                "flagged": f"{row['flagged']:.3g} of {row['n_test']:.0f}",
                "together": f"{row['together']:.0%}".replace("%", " %"),
                "not flagged": "–" if np.isnan(row["unflagged_ratio"]) else f"{row['unflagged_ratio']:.2f}",
            }
            for (kind, target, n_train), row in compared(frame).iterrows()
        ]
    )


def moved(frame: pd.DataFrame) -> str:
    """Say where other points of the same airfoil make the error larger without a flag, of each case or of all."""
    found = compared(frame)
    large = found["unflagged_ratio"][(found["unflagged_ratio"] > MOST) & (found["together"] < 1)]
    named = "; ".join(f"{CONTOURS[k]}, {TARGETS[t]}, N = {n} ({value:.2f})" for (k, t, n), value in large.items())
    return (
        f"- Errors of cases that are not flagged, alone or together, grow by more than {MOST:g} times on: "
        f"{named or 'none'}."
    )


def draw(frame: pd.DataFrame) -> Any:
    """Draw the relative error against the number of training cases: a panel for each target, a line for each contour.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``airfrans.csv``.
    """
    figure = new_figure(7.2, 3.0)
    with style():
        axes = figure.subplots(1, len(TARGETS))
        for ax, (target, title) in zip(axes, TARGETS.items(), strict=True):
            part = frame[frame["target"] == target]
            for kind in (kind for kind in CONTOURS if kind in set(part["contours"])):
                some, (color, marker) = part[part["contours"] == kind], _LOOKS[kind]
                means = some.groupby("n_train")["rrmse"].mean()
                ax.plot(means.index, means, color=color, marker=marker, ms=4, label=CONTOURS[kind])
                ax.plot(some["n_train"], some["rrmse"], ".", color=color, ms=2)
            for other in AIRFRANS:
                if (other.target, other.metric) == (target, "rrmse"):
                    ax.axhline(other.value, color=GRAY, ls=":", label=f"{other.who}, 800 cases")
            sizes = sorted(part["n_train"].unique())
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_xticks(sizes, [str(n) for n in sizes])
            ax.set_xticks([], minor=True)
            marks = [digit * 10.0**power for power in range(-6, 3) for digit in (1, 2, 5)]
            low, high = ax.get_ylim()
            ax.set_yticks(marks, [f"{mark:g}" for mark in marks])
            ax.set_yticks([], minor=True)
            ax.set_ylim(low, high)
            ax.set_title(title)
            ax.set_xlabel("training cases")
        axes[0].set_ylabel("RRMSE")
        figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.98))  # the line of provenance stands below
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure
