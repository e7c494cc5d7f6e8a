"""``swwl predict``: a model and a table -> a table of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import Force, Output
from swwl.cli.show import show_scores


def predict(
    model: Annotated[Path, typer.Argument(help="Model file that swwl fit wrote.")],
    table: Annotated[Path, typer.Argument(help="CSV or Parquet table with the columns that the model uses.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write: .csv or .parquet.")],
    cache: Annotated[bool, typer.Option(help="Keep embeddings beside the table, in .swwl-cache.")] = True,
    force: Force = False,
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
    from swwl.jobs.outputs import check_output, predictions_of, table_files
    from swwl.jobs.predict import against_table, graph_columns, load_regressor, predict_table, prediction_table
    from swwl.jobs.table import memory_beside, read_table, write_table

    out = Output(quiet, as_json)
    fitted = load_regressor(model)
    frame = read_table(table)
    inputs, ours = table_files(table, frame, graph_columns(fitted)), predictions_of(fitted.target_names_)
    check_output(output, endings=(".csv", ".parquet", ".pq"), inputs=[model, *inputs], ours=ours, force=force)
    memory = memory_beside(table, cache)
    prediction = predict_table(fitted, frame, table, memory=memory, progress=out.progress("predictions"))
    write_table(output, prediction_table(fitted, frame, prediction))
    out.say(f"{len(frame)} rows predicted, written to {output}")
    rows = against_table(fitted, frame, prediction)
    if rows:
        show_scores(out, rows, "against what the table holds (rows that the model was fitted to count too)")
    out.result({"rows": len(frame), "output": output, "scores": rows})
