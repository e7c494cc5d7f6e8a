"""Models of fields over time: what ``swwl fit --time all`` fits, and what ``swwl predict`` writes of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from swwl.errors import CaseWarning, InputError
from swwl.fields.scores import MeshScore, pooled
from swwl.fields.transient import TransientRegressor
from swwl.formatting import Record, plain
from swwl.jobs.describe import series_model_facts
from swwl.jobs.fit import FitOptions, Kernel, WrittenModel, fit_to_meshes
from swwl.jobs.plan import FitPlan
from swwl.jobs.predict import (
    FITTED,
    OUTSIDE,
    UNSEEN,
    domain_columns,
    fitted_rows,
    input_columns,
    mesh_names,
    score_mesh,
)
from swwl.mesh.io.formats import times_of
from swwl.mesh.series import MeshSeries
from swwl.parallel import Progress
from swwl.tables.places import case_names, rows_named


def fit_series(
    plan: FitPlan,
    names: Sequence[str],
    model_path: Path,
    kernel: Kernel | None = None,
    options: FitOptions | None = None,
) -> TransientRegressor:
    """Fit a model of fields over time, and predict the held-out cases; see :func:`swwl.jobs.fit.fit_fields`."""
    how = options or FitOptions()
    if how.scaled:
        raise InputError("--scaled does not apply to fields over time.")
    model = TransientRegressor(kernel, n_modes=how.n_modes, random_state=how.seed, n_jobs=how.n_jobs)
    test = plan.split.test

    def scored(table: pd.DataFrame) -> Iterator[dict[str, MeshScore]]:
        called = case_names(plan.frame[plan.meshes[0]].iloc[test].tolist())
        for case, row in enumerate(test):
            with rows_named(plan.frame, plan.path, test[case : case + 1]):
                found = score_series(model, table.iloc[[row]], called[case])
            yield found

    model.metadata_ = plain(fit_to_meshes(model, plan, names, model_path, how, scored, "held-out series"))
    return model


def written_series(
    plan: FitPlan, names: Sequence[str], path: Path, kernel: Kernel | None, options: FitOptions
) -> WrittenModel:
    """Fit a model of fields over time, and save it."""
    model = fit_series(plan, names, path, kernel, options)
    model.save(path)
    return WrittenModel(path, series_model_facts(model))


def score_series(model: TransientRegressor, row: pd.DataFrame, called: str) -> dict[str, MeshScore]:
    """Compare what a model says of one row with the fields of its series, at the times of the grid, by field."""
    column = model.mesh_column_
    item = row[column].iloc[0]
    series = item if isinstance(item, MeshSeries) else MeshSeries.read(item)
    known = {*series.fields, *series.cell_fields}
    if not known >= set(model.field_names_) or len(series.times) < 2:
        return {}
    truth = model.at_grid(series)
    cases = model.fields_.cases(row.assign(**{column: pd.Series([truth], row.index, object)}))
    mesh = cases.predict_meshes()[0].renamed(called)
    found = {}
    for name in model.field_names_:
        score = score_mesh(mesh, name, {**truth.cell_fields, **truth.fields}[name], len(model.times_))
        if score is not None:
            found[name] = score
    return found


def series_names(model: TransientRegressor, frame: pd.DataFrame, path: Path) -> list[str]:
    """Return what files of predicted series are called, one per row."""
    return [Path(name).with_suffix(".pvd").name for name in mesh_names(frame, path, model.mesh_column_)]


def check_series_folder(folder: Path, files: Sequence[Path], force: bool) -> None:
    """Refuse a folder that holds files of these names already."""
    there = next((file for file in files if file.exists() or file.with_suffix("").exists()), None)
    if there is not None and not force:
        raise InputError(f"{there} already exists; choose another folder than {folder}, or --force.")


def times_of_text(text: str) -> list[float]:
    """Return the times that a text names.

    Examples
    --------
    >>> times_of_text("0.1, 0.5")
    [0.1, 0.5]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--times is {text!r}, but numbers with commas between them are expected.") from None


class PredictedSeries(NamedTuple):
    """Of the rows of a table: the table with whether each is like the training cases, that in detail, and scores."""

    table: pd.DataFrame
    domain: pd.DataFrame
    scores: list[Record]


def predict_series(
    model: TransientRegressor,
    frame: pd.DataFrame,
    path: Path,
    model_path: Path,
    write: Callable[[int, MeshSeries], None],
    times: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> PredictedSeries:
    """Predict the rows of a table one after the other, hand each to ``write``, and score those that have fields.

    Parameters
    ----------
    model : TransientRegressor
    frame : DataFrame
    path : path
        Of the table.
    model_path : path
        Of the model, which knows its meshes relative to that.
    write : callable
        Takes the number of a row and its series.
    times : sequence of float, optional
        By default those of the grid.
    progress : callable, optional
    """
    table = input_columns(model, frame, path)
    called = case_names(frame[model.mesh_column_].tolist())
    fitted = fitted_rows(model.fields_, table, model_path)
    domains, scores = [], dict[tuple[str, bool], list[MeshScore]]()
    for row in range(len(table)):
        one = table.iloc[[row]]
        item = one[model.mesh_column_].iloc[0]
        with rows_named(frame, path, [row]), warnings.catch_warnings():
            warnings.simplefilter("ignore", CaseWarning)  # told of all rows together
            write(row, model.predict_series(one, times=times)[0])
            domains.append(model.domain(one))
            if len(times_of(Path(item))) > 1:
                for name, score in score_series(model, one, called[row]).items():
                    scores.setdefault((name, bool(fitted[row])), []).append(score)
        if progress is not None:
            progress(row + 1, len(table))
    rows = [{"field": name, "test": FITTED if seen else UNSEEN if fitted.any() else "table"} | pooled(own)._asdict()
            for (name, seen), own in sorted(scores.items())]  # fmt: skip
    domain = pd.concat(domains)
    told = {OUTSIDE: list(domain["outside"]), **domain_columns(domain)}
    return PredictedSeries(pd.concat([frame, pd.DataFrame(told, index=frame.index)], axis=1), domain, rows)
