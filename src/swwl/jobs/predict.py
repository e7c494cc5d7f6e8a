"""From a model and a table to predictions: what ``swwl predict`` and ``swwl demo`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.evaluation import scores
from swwl.jobs.fit import open_cache
from swwl.jobs.table import mesh_files, require_numbers
from swwl.kernels.sliced import SWWL
from swwl.models.regression import RobustGPRegressor


def input_columns(model: RobustGPRegressor, frame: pd.DataFrame, path: Path, cache: bool = True) -> pd.DataFrame:
    """Return the columns that a model needs: checked numbers, and mesh files that exist."""
    columns: dict[str, object] = {}
    for factor in model.kernel_.factors:
        if isinstance(factor, SWWL):
            kept = open_cache(path, read_only=True) if cache else None
            files = mesh_files(frame, path, factor.column, kept)
            columns[factor.column] = pd.Series(files, index=frame.index, dtype=object)
        else:
            columns[factor.column] = require_numbers(frame, path, factor.column, "input")
    return pd.DataFrame(columns, index=frame.index)


def prediction_table(model: RobustGPRegressor, frame: pd.DataFrame, prediction: scores.Prediction) -> pd.DataFrame:
    """Return inputs and predictions side by side, rows in order."""
    table = frame[list(model.feature_names_in_)].copy()
    lower, upper = prediction.interval(0.95)
    for k, name in enumerate(model.target_names_):
        table[f"{name}_mean"] = prediction.mean[:, k]
        table[f"{name}_std"] = prediction.std[:, k]
        table[f"{name}_lower95"] = lower[:, k]
        table[f"{name}_upper95"] = upper[:, k]
    return table


def against_table(model: RobustGPRegressor, frame: pd.DataFrame, prediction: scores.Prediction) -> list[dict[str, Any]]:
    """Score predictions against the targets that a table holds already; one row per such target."""
    rows = []
    for k, name in enumerate(model.target_names_):
        truth = pd.to_numeric(frame[name], errors="coerce").to_numpy(float) if name in frame else np.empty(0)
        known = np.flatnonzero(np.isfinite(truth))
        if len(known) > 1:
            one = scores.column_of(prediction, k)
            part = scores.Prediction(one.mean[known], one.std[known], one.scale[known], one.df)
            rows.append({"target": name, "test": "given in table"} | scores.score(truth[known], part)._asdict())
    return rows
