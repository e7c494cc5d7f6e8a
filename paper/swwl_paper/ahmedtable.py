"""Tables, sentences and a figure of AhmedML: what the rows of ``ahmed.py`` show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from swwl.plots.style import BLUE, GRAY, VERMILLION, new_figure, style
from swwl_paper.airfranstable import short, sources
from swwl_paper.boards import AHMED

MODELS = {"auto": "default", "parameters": "GP, true parameters"}
TARGETS = {"cd": "drag", "cl": "lift"}
_LOOKS = {"auto": (VERMILLION, "o"), "parameters": (BLUE, "s")}
_COLUMNS = {"r2": "R²", "coverage": "in 95 %", "width": "width", "jump_coverage": "30° to 45°", "seconds": "seconds"}


def together(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the scores over all folds: a row for each target, number of training cases and model.

    Every case was left out once, so that R² is that of all of them: one minus the mean squared error over the
    variance.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``ahmed.csv``.
    """
    lines = []
    for (target, training, model), part in frame.groupby(["target", "training", "model"]):
        tests, at_jump = part["n_test"], part[part["n_jump"] > 0]
        jumps = at_jump["n_jump"]
        lines.append(
            {
                "target": target,
                "training": str(training),
                "model": model,
                "n_train": int(part["n_train"].median()),
                "n_test": int(tests.sum()),
                "n_jump": int(jumps.sum()),
                "r2": 1 - float(np.average(part["error"] ** 2, weights=tests)),
                "coverage": float(np.average(part["coverage"], weights=tests)),
                "width": float(np.average(part["width"], weights=tests)),
                "jump_coverage": float(np.average(at_jump["jump_coverage"], weights=jumps)) if len(jumps) else np.nan,
                "seconds": float(part["seconds"].mean()),
            }
        )
    order = {name: number for number, name in enumerate([*TARGETS, *MODELS])}
    found = pd.DataFrame(lines).sort_values(
        ["target", "n_train", "model"], key=lambda column: column.map(order).fillna(column), ascending=True
    )
    return found.reset_index(drop=True)


def tables(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield a title, a table of texts and the sentences below it.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``ahmed.csv``.
    """
    found, folds = together(frame), frame["fold"].nunique()
    lines = []
    for target, title in TARGETS.items():
        for _, row in found[found["target"] == target].iterrows():
            texts = {column: short(float(row[key])) for key, column in _COLUMNS.items()}
            lines.append({"model": f"{title}: {MODELS[row['model']]}", "N": str(row["n_train"])} | texts)
        for figure in (figure for figure in AHMED if figure.target == target):
            texts = dict.fromkeys(_COLUMNS.values(), "–") | {_COLUMNS[figure.metric]: short(figure.value)}
            lines.append({"model": f"{title}: {figure.who}", "N": "449"} | texts)
    notes = (
        f"{folds} folds in a random order of the cases; {found['n_test'].max()} cases left out once each, "
        f"{found['n_jump'].max()} of them with slant angles of 30° to 45°, where two flows coexist. The default sees "
        "the surface mesh alone, the other Gaussian process (Matérn 5/2) six independent parameters. Width is that of "
        "95 % intervals over the deviation of all cases, as users get them: doubled where the model is less sure. "
        "Seconds are CPU seconds of one fit to both targets."
    )
    published = f"{sources(AHMED)} Ten folds there, and all eight columns of parameters."
    yield (
        "AhmedML: drag and lift from the shape alone",
        pd.DataFrame(lines),
        "\n\n".join([notes, published, *verdicts(found)]),
    )


def verdicts(found: pd.DataFrame) -> list[str]:
    """Return what is left unexplained by the default beside the process on the true parameters, in sentences."""
    wide = found.pivot_table(index=["target", "n_train"], columns="model", values="r2")
    if not {"auto", "parameters"} <= set(wide):
        return []
    left = 100 * (1 - wide).dropna()
    order = [(target, n) for target in TARGETS for name, n in left.index if name == target]
    return [
        "\n".join(
            f"- {TARGETS[target].capitalize()}, N = {n}: the default leaves {left.loc[(target, n), 'auto']:.1f} % of "
            f"the variance, the process on the true parameters {left.loc[(target, n), 'parameters']:.1f} %."
            for target, n in order
        )
    ]


def draw(frame: pd.DataFrame) -> Any:
    """Draw R² against the number of training cases: a panel for each target, a line for each model.

    Parameters
    ----------
    frame : DataFrame
        Rows of ``ahmed.csv``.
    """
    found = together(frame)
    figure = new_figure(7.2, 3.0)
    with style():
        axes = figure.subplots(1, len(TARGETS), sharey=True)
        for ax, (target, title) in zip(axes, TARGETS.items(), strict=True):
            for model, label in MODELS.items():
                part = found[(found["target"] == target) & (found["model"] == model)]
                color, marker = _LOOKS[model]
                ax.plot(part["n_train"], part["r2"], color=color, marker=marker, ms=5, label=label)
            for other, dash in zip((one for one in AHMED if one.target == target), (":", "--"), strict=True):
                ax.axhline(other.value, color=GRAY, ls=dash)
                ax.annotate(other.who, (0.02, other.value), xycoords=("axes fraction", "data"), va="bottom", fontsize=7)
            ax.set_title(title)
            ax.set_xlabel("training cases")
        axes[0].set_ylabel("R²")
        figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.98))  # the line of provenance stands below
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure
