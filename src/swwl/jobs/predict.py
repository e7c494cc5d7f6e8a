"""From a model and a table to predictions: what ``swwl predict`` and ``swwl demo`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.evaluation.curves import trend_columns
from swwl.gp.prediction import Prediction
from swwl.jobs.table import mesh_paths, require_numbers, require_rows, require_texts, rows_named
from swwl.models.modelfile import load_model
from swwl.models.regression import RobustGPRegressor
from swwl.parallel import Progress
from swwl.storage import Memory


def load_regressor(path: Path) -> RobustGPRegressor:
    """Read a model file that can predict numbers; refuse models of other kinds."""
    model = load_model(path)
    if not isinstance(model, RobustGPRegressor):
        raise InputError(f"{path}: holds a {type(model).__name__}, but a RobustGPRegressor is wanted.")
    return model


def graph_columns(model: RobustGPRegressor) -> list[str]:
    """Return the columns of a model that hold meshes."""
    return list(dict.fromkeys(factor.column for factor in model.kernel_.factors if factor.takes == "graphs"))


def input_columns(model: RobustGPRegressor, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the columns that a model needs: checked numbers, vectors, and mesh files that exist."""
    columns: dict[str, Any] = {}
    for factor in model.kernel_.factors:
        if factor.takes == "graphs":
            columns[factor.column] = mesh_paths(frame, path, factor.column)
        elif factor.takes == "categories":
            columns[factor.column] = require_texts(frame, path, factor.column)
        elif factor.takes == "rows":
            columns[factor.column] = require_rows(frame, path, factor.column)
        else:
            columns[factor.column] = require_numbers(frame, path, factor.column, "input")
    for name in trend_columns(model):
        columns[name] = require_numbers(frame, path, name, "the trend")
    return pd.DataFrame(columns, index=frame.index)


def predict_table(
    model: RobustGPRegressor,
    frame: pd.DataFrame,
    path: Path,
    *,
    memory: Memory | None = None,
    progress: Progress | None = None,
) -> Prediction:
    """Predict every row of a table, arrays of shape (M, k); mistakes name the line.

    Parameters
    ----------
    model : RobustGPRegressor
    frame : DataFrame
        What :func:`~swwl.jobs.table.read_table` returned.
    path : path
        Of the table: paths of meshes are relative to it.
    memory : Memory, optional
        Where embeddings are kept.
    progress : callable, optional
        Called as ``progress(done, total)`` while graphs are embedded.
    """
    inputs = input_columns(model, frame, path)
    with rows_named(frame, path, range(len(frame))):
        return model.predict_distribution(inputs, memory=memory, progress=progress).columns()


def prediction_table(model: RobustGPRegressor, frame: pd.DataFrame, prediction: Prediction) -> pd.DataFrame:
    """Return inputs and predictions side by side, rows in order."""
    table = frame[list(model.feature_names_in_)].copy()
    lower, upper = prediction.interval(0.95)
    for k, name in enumerate(model.target_names_):
        table[f"{name}_mean"] = prediction.mean[:, k]
        table[f"{name}_std"] = prediction.std[:, k]
        table[f"{name}_lower95"] = lower[:, k]
        table[f"{name}_upper95"] = upper[:, k]
    return table


def against_table(model: RobustGPRegressor, frame: pd.DataFrame, prediction: Prediction) -> list[dict[str, Any]]:
    """Score predictions against the targets that a table holds already; one row per such target."""
    rows = []
    for k, name in enumerate(model.target_names_):
        truth = pd.to_numeric(frame[name], errors="coerce").to_numpy(float) if name in frame else np.empty(0)
        known = np.flatnonzero(np.isfinite(truth))
        if len(known) > 1:
            found = scores.score(truth[known], prediction.column(k).take(known))
            rows.append({"target": name, "test": "given in table"} | found._asdict())
    return rows
