"""The page of a report: what it tells of a model and its cases, its pictures, and the templates that show them."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray

import swwl
from swwl.domain.verdict import far_from_others
from swwl.evaluation.metadata import Cases, NumberData, data_of, held_out_of
from swwl.evaluation.scores import JudgedRows, left_out_of
from swwl.formatting import number, percent, place
from swwl.gp.prediction import Prediction
from swwl.mesh.io.formats import is_mesh
from swwl.plots.inputs import design_vectors
from swwl.regression.estimator import RobustGPRegressor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# By which a page of ours is known again.
GENERATOR = '<meta name="generator" content="swwl '


class Picture(NamedTuple):
    """A picture as a page holds it: a data URL, words for those who cannot see it, and what stands below it."""

    source: str
    alternative: str
    caption: str = ""


def render(template: str, title: str, **values: object) -> str:
    """Return a page made of a template of the folder ``templates``."""
    page = _environment().get_template(f"{template}.html.j2")
    return page.render(title=title, version=swwl.__version__, **values)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("swwl.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters |= {"number": number, "percent": percent, "text_columns": text_columns}
    return found


_AMOUNT = re.compile(r"[-+−±]?\s*(\d[\d.]*(e[-+]?\d+)?|inf|nan)?\s*%?", re.IGNORECASE)


def text_columns(rows: Sequence[Sequence[object]], n: int) -> list[bool]:
    """Say which of n columns hold texts, which stand at the left; amounts and empty cells stand at the right.

    Examples
    --------
    >>> text_columns([["plate 1", 3, "0.93", "88 %", ""], ["plate 2", 4, "-1.2e-05", "1 %", "chosen"]], 5)
    [True, False, False, False, True]
    """
    return [any(not _AMOUNT.fullmatch(str(row[k])) for row in rows) for k in range(n)]


def picture(drawing: Figure, alternative: str, caption: str = "", kind: str = "svg") -> Picture:
    """Return a matplotlib figure as a picture: "svg" for plots, "png" for meshes."""
    buffer = io.BytesIO()
    if kind == "svg":
        drawing.savefig(buffer, format="svg", metadata={"Date": None})
    else:
        drawing.savefig(buffer, format="png", dpi=150)
    mime = "image/svg+xml" if kind == "svg" else "image/png"
    return Picture(f"data:{mime};base64,{base64.b64encode(buffer.getvalue()).decode()}", alternative, caption)


@dataclass
class ReportFacts:
    """All that the sections speak of.

    Attributes
    ----------
    model : RobustGPRegressor
    model_name, table_name : str
        As commands on the page name them.
    data : NumberData or None
        What ``swwl fit`` wrote.
    y, left_out : ndarray of shape (N, k) and predictions of the same
        From folds where they are known of all cases; else leave-one-out, by which nothing is judged.
    judged : JudgedRows or None
        What scores of training cases are made of.
    held_out : tuple (y, predictions) or None
    inputs : DataFrame
        Numeric inputs of the training cases.
    labels, held_out_labels : list of str
        Names of cases: the mesh and the line of the table.
    pictures : list of tuple (path, number of the training case)
        Meshes that are still where the table says.
    outliers : ndarray of bool, shape (N,), or None
        Cases far from all others, where the kernel has vectors, and with them a map.
    """

    model: RobustGPRegressor
    model_name: str
    table_name: str
    data: NumberData | None
    y: NDArray[np.float64]
    left_out: Prediction
    judged: JudgedRows | None
    held_out: tuple[NDArray[np.float64], Prediction] | None
    inputs: pd.DataFrame
    labels: list[str]
    held_out_labels: list[str]
    pictures: list[tuple[Path, int]]
    outliers: NDArray[np.bool_] | None


def gather(model: RobustGPRegressor, model_path: Path | None) -> ReportFacts:
    """Collect the facts of a fitted model."""
    data = data_of(model)
    y = model.train_targets_
    judged = left_out_of(model)
    vectors = design_vectors(model.kernel_.factors, model.train_rows_)
    train, test = ([], []) if data is None else data.names()
    return ReportFacts(
        model=model,
        model_name="model.swwl" if model_path is None else model_path.name,
        table_name="table.csv" if data is None else data.table,
        data=data,
        y=y,
        left_out=judged.prediction if judged and len(judged.rows) == len(y) else model.leave_one_out().columns(),
        judged=judged,
        held_out=held_out_of(model),
        inputs=model.train_inputs_,
        labels=[f"row {row}" for row in range(len(y))] if data is None else _labels(data.train, data.table, train),
        held_out_labels=[] if data is None or data.held_out is None else _labels(data.held_out, data.table, test),
        pictures=_pictures(data, y[:, 0], model_path),
        outliers=None if vectors is None else far_from_others(vectors),
    )


def _labels(cases: Cases, table: str, names: list[str]) -> list[str]:
    """Name cases by their mesh, if they have one, and their place in the table."""
    places = [place(table, row) for row in cases.rows]
    return [f"{name} ({place})" for name, place in zip(names, places, strict=True)] if names else places


def _pictures(data: NumberData | None, y: NDArray[np.float64], model_path: Path | None) -> list[tuple[Path, int]]:
    """Choose four cases, from the least to the largest value of the first target, whose meshes can be found."""
    if data is None or model_path is None or not data.train.meshes:
        return []
    meshes = next(iter(data.train.meshes.values()))
    folder = (model_path.resolve().parent / data.table).parent
    order = np.argsort(y, kind="stable")[: int(np.isfinite(y).sum())]  # what is not known comes last
    chosen = order[np.unique(np.linspace(0, len(order) - 1, 4).round().astype(int))]
    return [(folder / meshes[i], int(i)) for i in chosen if is_mesh(folder / meshes[i])]
