"""``swwl predict``: a model and a table -> a table of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from swwl import scores
from swwl.cli.console import Output
from swwl.cli.data import check_output, mesh_files, read_table, require_numbers, write_table
from swwl.cli.fit import show_scores
from swwl.cli.training import open_cache
from swwl.kernels.graphs import SWWL
from swwl.modelfile import load_model
from swwl.regression import RobustGPRegressor


def predict(
    model: Annotated[Path, typer.Argument(help="Model file that swwl fit wrote.")],
    table: Annotated[Path, typer.Argument(help="CSV or Parquet table with the columns that the model uses.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write: .csv or .parquet.")],
    cache: Annotated[bool, typer.Option(help="Use embeddings that swwl fit kept beside the table.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Predict every row of a table.

    For each target the output has TARGET_mean, TARGET_std, TARGET_lower95 and TARGET_upper95, rows in the order of the
    table. Where the table holds a target already, the predictions are scored against it.

    \b
    Example:
      swwl predict m.swwl d/table.csv -o predictions.csv
    """
    out = Output(quiet, as_json)
    fitted = load_model(model)
    frame = read_table(table)
    check_output(output, endings=(".csv", ".parquet", ".pq"))
    inputs = input_columns(fitted, frame, table, cache)
    prediction = scores.predict_all(fitted, inputs, out.progress("predictions"))
    write_table(output, prediction_table(fitted, frame, prediction))
    out.say(f"{len(frame)} rows predicted, written to {output}")
    rows = []
    for k, name in enumerate(fitted.target_names_):
        truth = pd.to_numeric(frame[name], errors="coerce").to_numpy(float) if name in frame else np.empty(0)
        known = np.flatnonzero(np.isfinite(truth))
        if len(known) > 1:
            one = scores.column_of(prediction, k)
            part = scores.Prediction(one.mean[known], one.std[known], one.scale[known], one.df)
            rows.append({"target": name, "test": "given in table"} | scores.score(truth[known], part)._asdict())
    if rows:
        show_scores(out, rows, "against what the table holds (rows that the model was fitted to count too)")
    out.result({"rows": len(frame), "output": output, "scores": rows})


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
