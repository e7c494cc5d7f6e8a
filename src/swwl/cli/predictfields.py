"""``swwl predict`` with a model of fields: one mesh file per row, and a table of numbers derived from the fields."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from swwl.cli.console import Output
from swwl.cli.show import show_field_scores, show_findings
from swwl.errors import LooseNodesWarning
from swwl.words import number


def predict_field_table(
    out: Output, fitted: Any, model: Path, table: Path, output: Path, cache: bool, force: bool
) -> None:
    """Fill a folder with the predicted meshes of a table."""
    from swwl.jobs.check import check_cases
    from swwl.jobs.fieldpredict import FILE, TABLE, check_field_names, mesh_names, predict_fields
    from swwl.jobs.outputs import check_folder, is_predicted_mesh, table_files
    from swwl.jobs.predict import OUTSIDE
    from swwl.jobs.table import memory_beside, read_table, write_table

    column = fitted.mesh_column_
    frame = read_table(table)
    check_field_names(fitted, frame, table)
    inputs = table_files(table, frame, [column])
    names = mesh_names(frame, table, column)
    files = dict.fromkeys(names, is_predicted_mesh) | {TABLE: _is_table_of_fields}
    check_folder(output, files, inputs=[model, *inputs], force=force)
    memory = memory_beside(table, cache)
    findings, apart = check_cases(fitted, [column], frame, table, memory)
    show_findings(out, findings)
    warnings.simplefilter("ignore", LooseNodesWarning)  # the findings name them
    output.mkdir(exist_ok=True)
    found = predict_fields(
        fitted,
        frame,
        table,
        lambda row, mesh: mesh.write(output / names[row]),
        apart=apart,
        memory=memory,
        progress=out.progress("predictions"),
    )
    result = found.table
    result.insert(len(frame.columns), FILE, names)
    write_table(output / TABLE, result, like=frame)
    out.say(f"{len(frame)} rows predicted, written to {output}: a .vtu file each, and {TABLE}")
    outside = int((result[OUTSIDE] != "").sum())
    if outside:
        leave = "leaves" if outside == 1 else "leave"
        out.say(f"{outside} of them {leave} the training range, where nothing has been tested: see column {OUTSIDE}")
    title = "against the fields that the meshes hold (rows that the model was fitted to count too)"
    show_field_scores(out, found.scores, title)
    facts = {"rows": len(frame), "output": output, "files": names, "table": output / TABLE, "outside": outside}
    out.result(facts | {"scores": found.scores, "findings": [finding.facts() for finding in findings]})


def _is_table_of_fields(path: Path) -> bool:
    """Whether a file is a table that this command wrote."""
    from swwl.jobs.fieldpredict import FILE

    with open(path, "rb") as file:
        return FILE.encode() in file.readline(1 << 20)


def predict_field_case(
    out: Output, fitted: Any, model: Path, mesh: list[str], values: list[str], output: Path | None, force: bool
) -> None:
    """Predict the fields of one mesh; print numbers derived from them, and write it where a file is named."""
    from swwl.jobs.check import check_cases
    from swwl.jobs.fieldpredict import DERIVED, predict_fields
    from swwl.jobs.outputs import check_output, is_predicted_mesh
    from swwl.jobs.predict import OUTSIDE, PREDICTED, case_table, meshes_by_column

    column = fitted.mesh_column_
    meshes = meshes_by_column([column], mesh)
    frame = case_table(list(fitted.feature_names_in_), [column], meshes, values)
    if output is not None:
        files = [model, *meshes.values()]
        check_output(output, endings=(".vtu",), inputs=files, ours=is_predicted_mesh, force=force)
    findings, apart = check_cases(fitted, [column], frame, Path("case"))
    show_findings(out, [replace(finding, place="") for finding in findings])
    warnings.simplefilter("ignore", LooseNodesWarning)  # the findings name them
    done: list[Any] = []
    # What the mesh holds may come from other inputs, so it is not compared with.
    row = predict_fields(
        fitted, frame, Path("case"), lambda _, mesh: done.append(mesh), compare=False, apart=apart
    ).table.iloc[0]
    rows = [
        [f"{what} of {name}", *(number(float(row[f"{name}_{what}_{key}"])) for key in PREDICTED)]
        for name in fitted.field_names_
        for what in DERIVED
        if f"{name}_{what}_mean" in row
    ]
    out.table("", ["number", "mean", "std", "95 % between", "and"], rows)
    if row[OUTSIDE]:
        out.say(f"outside the training range, where nothing has been tested: {row[OUTSIDE]}")
    else:
        out.say("all inputs lie inside the training range")
    if output is None:
        out.say("the fields themselves: -o case.vtu")
    else:
        done[0].write(output)
        out.say(f"written to {output}")
    out.result(dict(row) | {"output": output})
