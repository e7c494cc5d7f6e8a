"""Characteristic curves: what a model predicts along a sweep of one number, for several values of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from swwl.errors import InputError
from swwl.gp.prediction import Prediction
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor


def predict_curves(
    model: RobustGPRegressor,
    mesh: Any,
    sweep: tuple[str, Sequence[float]],
    each: tuple[str, Sequence[float]] | None = None,
    fix: Mapping[str, Any] | None = None,
    *,
    widen: bool = True,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Prediction]:
    """Return the inputs of all points, curve after curve, and their predictions, arrays of shape (M, k).

    Parameters
    ----------
    model : RobustGPRegressor
    mesh : graph, path, dict or None
        For the graph column of the model; a dict names columns where there are several. It is embedded once.
    sweep : tuple (column, values)
        Along every curve.
    each : tuple (column, values), optional
        One curve for each of the values.
    fix : mapping, optional
        Values of other inputs. Numbers that are not named stand at the median of the training set; columns of rows
        (an integer for :class:`~swwl.kernels.Precomputed`, a vector for :class:`~swwl.kernels.Rows`) must be named.
    widen, progress
        See :meth:`swwl.RobustGPRegressor.predict_distribution`.
    """
    numbers = check_inputs(model, sweep[0], None if each is None else each[0], fix)
    train, given = model.train_inputs_, dict(fix or {})
    along = [float(value) for value in sweep[1]]
    values = [float(value) for value in (each[1] if each else [0.0])]
    n = len(values) * len(along)
    swept = {sweep[0]: np.tile(along, len(values))} | ({each[0]: np.repeat(values, len(along))} if each else {})
    columns: dict[str, Any] = {}
    for name in numbers:
        if name in swept:
            columns[name] = swept[name]
        elif name in given or name in train.columns:
            columns[name] = np.full(n, float(given[name]) if name in given else float(train[name].median()))
        else:
            raise InputError(f"The trend of the model needs a value of {name!r}: fix it.")  # of a file of 0.3.0
    for factor in model.kernel_.factors:
        if factor.takes != "numbers":
            one = _one_mesh(mesh, factor.column) if factor.takes == "graphs" else _one_row(given, factor.column)
            columns[factor.column] = _repeated(one, n)
    table = pd.DataFrame(columns)
    return table, model.predict_distribution(table, widen=widen, progress=progress).columns()


def check_inputs(model: RobustGPRegressor, sweep: str, each: str | None, fix: Mapping[str, Any] | None) -> list[str]:
    """Return the columns of numbers that a model needs; refuse names of curves that are not among them."""
    rows = {factor.column for factor in model.kernel_.factors if factor.takes == "rows"}
    numbers = numeric_inputs(model)
    given = [sweep, *([] if each is None else [each]), *(fix or ())]
    for name in {name for name in given if given.count(name) > 1}:
        raise InputError(f"The input {name!r} is given twice among sweep, each and fix; give it once.")
    for name in (sweep, *(() if each is None else (each,)), *(name for name in fix or () if name not in rows)):
        if name not in numbers:
            raise InputError(f"The model has no numeric input {name!r}; it has: {', '.join(numbers) or 'none'}.")
    return numbers


def numeric_inputs(model: RobustGPRegressor) -> list[str]:
    """Return the columns of numbers that a model needs, those of its trend and its laws last."""
    takes = {factor.column: factor.takes for factor in model.kernel_.factors}
    return [name for name in model.feature_names_in_ if takes.get(name, "numbers") == "numbers"]


def _one_mesh(mesh: Any, column: str) -> Any:
    found = mesh.get(column) if isinstance(mesh, Mapping) else mesh
    if found is None:
        raise InputError(f"The model needs a mesh for column {column!r}, but none was given.")
    return found


def _one_row(given: Mapping[str, Any], column: str) -> Any:
    if column not in given:
        raise InputError(f"The model needs a value of column {column!r}, an integer or a vector: fix it.")
    return given[column]


def _repeated(value: Any, n: int) -> Any:
    """Return a column that holds one value in all its rows, integers as integers."""
    if isinstance(value, Integral):
        return np.full(n, int(value))
    return pd.Series([value] * n, dtype=object)
