"""What stands on the page about a model of fields over time: held-out cases at a few times, and errors over time."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError, LeftOutWarning
from swwl.fields.transient import TransientRegressor
from swwl.fields.values import cells_to_nodes
from swwl.formatting import number
from swwl.mesh.io.formats import is_mesh
from swwl.mesh.mesh import Mesh
from swwl.mesh.series import MeshSeries
from swwl.plots.fields import Panel, draw_panels
from swwl.plots.style import CYCLE, new_figure, style, words
from swwl.report.fields import FieldFacts, field_sections, gather_fields
from swwl.report.page import Picture, picture
from swwl.report.sections import Section

Array = NDArray[np.float64]

_TIMES = 5  # that are drawn of a case
_MOST_CASES = 30  # whose errors are drawn over time


class HeldOutSeries(NamedTuple):
    """A field of a held-out case: truth, prediction and standard deviation at the times of the grid, (J, n).

    Of a vector they are lengths; ``errors`` (J,) is the root of its mean squared error over the mesh, ``spread`` (J,)
    of its variance.
    """

    mesh: Mesh
    truth: Array
    mean: Array
    std: Array
    errors: Array
    spread: Array


def series_sections(model: TransientRegressor, model_path: Path | None) -> Section:
    """Return all that the template "series" speaks of."""
    facts = gather_fields(model.fields_, None)
    told = field_sections(facts)
    worst: Any = told["worst"]
    compared = {name: _compared(model, facts, name, model_path) for name in model.field_names_}
    return told | {
        # The size of a history is its length over all times: only its ratios are told.
        "worst": [(name, [[label, rrmse, inside] for label, rrmse, _, inside in rows]) for name, rows in worst],
        "model_name": "model.swwl" if model_path is None else model_path.name,
        "n_times": len(model.times_),
        "first": number(float(model.times_[0])),
        "last": number(float(model.times_[-1])),
        "pictures": [one for name, cases in compared.items() for one in _pictures(model, facts, name, cases)],
        "over_time": [_over_time(model, name, list(cases.values())) for name, cases in compared.items() if cases],
    }


def _compared(
    model: TransientRegressor, facts: FieldFacts, name: str, model_path: Path | None
) -> dict[int, HeldOutSeries]:
    """Compare held-out cases whose files are still where the table says, by number, the best predicted first."""
    known = None if facts.data is None else facts.data.held_out
    if facts.data is None or known is None or model_path is None:
        return {}
    folder = (model_path.resolve().parent / facts.data.table).parent
    files = [folder / mesh for mesh in known.meshes.get(model.mesh_column_, [])]
    columns = {model.mesh_column_: files, **known.inputs}
    table = pd.DataFrame({one: columns[one] for one in model.feature_names_in_ if one in columns})
    order = sorted(facts.held_out.get(name, []), key=lambda pair: np.nan_to_num(pair[1].rrmse))
    found = {}
    for case in [order[k][0] for k in _spread_over(len(order), _MOST_CASES)]:
        if case < len(files) and is_mesh(files[case]):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", LeftOutWarning)
                    found[case] = _case(model, name, MeshSeries.read(files[case]), table.iloc[[case]])
            except (InputError, OSError):
                continue  # the file has changed since the fit: the report can do without it
    return found


def _case(model: TransientRegressor, name: str, series: MeshSeries, row: pd.DataFrame) -> HeldOutSeries:
    mesh = model.at_grid(series)
    cases = model.fields_.cases(row.assign(**{model.mesh_column_: pd.Series([mesh], row.index, object)}))
    means, stds, *_ = model.histories(cases)
    on_cells = model.on_cells(name)
    flat = (mesh.cell_fields if on_cells else mesh.fields)[name]
    truth = np.moveaxis(flat.reshape(len(flat), len(model.times_), -1), 0, 1)
    mean, std = (own[0][name].reshape(truth.shape) for own in (means, stds))
    errors, spread = (np.sqrt((part**2).sum(axis=2).mean(axis=1)) for part in (mean - truth, std))

    def drawn(values: Array) -> Array:
        sizes = values[..., 0] if values.shape[2] == 1 else np.linalg.norm(values, axis=2)
        return np.stack([cells_to_nodes(mesh, one[:, None])[:, 0] for one in sizes]) if on_cells else sizes

    return HeldOutSeries(mesh, drawn(truth), drawn(mean), drawn(std), errors, spread)


def _pictures(
    model: TransientRegressor, facts: FieldFacts, name: str, cases: dict[int, HeldOutSeries]
) -> list[Picture]:
    """Draw truth, prediction and standard deviation of the median and of the worst case at a few times."""
    numbers, steps, drawings = list(cases), _spread_over(len(model.times_), _TIMES), []
    labels = facts.data.names()[1] if facts.data else []
    scores = {case: score for case, score in facts.held_out.get(name, [])}
    for place, word in dict.fromkeys([(len(numbers) // 2, "median"), (len(numbers) - 1, "worst")] if numbers else []):
        case, one = numbers[place], cases[numbers[place]]
        rows = [("true", one.truth, "value"), ("predicted", one.mean, "value"), ("std", one.std, "unsure")]
        panels = [
            Panel(one.mesh, values[step], f"{title}, time {number(float(model.times_[step]))}", kind, name)
            for title, values, kind in rows
            for step in steps
        ]
        label = labels[case] if case < len(labels) else f"case {case}"
        caption = f"{name}, {word} of {len(scores)}: {label}, RRMSE {scores[case].rrmse:.4f}"
        drawings.append(
            picture(draw_panels(panels, len(steps)), f"{name} over time on the {word} mesh", caption, "png")
        )
    return drawings


def _over_time(model: TransientRegressor, name: str, cases: Sequence[HeldOutSeries]) -> Picture:
    """Draw the error of every case over time, their median, and what the model expects."""
    figure = new_figure(6.0, 3.5)
    errors, spread = (np.array([getattr(one, key) for one in cases]) for key in ("errors", "spread"))
    with style():
        ax = figure.subplots()
        ax.plot(model.times_, errors.T, color="0.75", lw=0.7)
        ax.plot([], [], color="0.75", lw=0.7, label="each case")
        ax.plot(model.times_, np.median(errors, axis=0), color=CYCLE[0], lw=2, label="median of the errors")
        ax.plot(model.times_, np.median(spread, axis=0), color=CYCLE[1], ls="--", label="standard deviation, median")
        ax.set(xlabel="time", ylabel=f"{words(name)}: RMSE over the mesh", ylim=(0, None))
        ax.legend(loc="best")
    caption = f"{name}: error over time on {len(cases)} held-out cases, beside the error that the model expects"
    return picture(figure, f"error of {name} over time", caption)


def _spread_over(n: int, most: int) -> list[int]:
    """Return at most so many of n places, evenly, with the first and the last.

    >>> _spread_over(20, 5), _spread_over(2, 5), _spread_over(0, 5)
    ([0, 5, 10, 14, 19], [0, 1], [])
    """
    return [int(k) for k in np.unique(np.linspace(0, n - 1, min(n, most)).round())] if n else []
