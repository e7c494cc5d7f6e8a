"""``swwl predict``: a model of numbers, fields or curves, and a table or one case -> predictions."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from swwl.cli.console import (
    AsJson,
    AtTime,
    Force,
    KeepEmbeddings,
    ModelFile,
    Output,
    Quiet,
    given_time,
    imports_for_one_answer,
)
from swwl.cli.show import show_curve_scores, show_field_scores, show_findings, show_scores
from swwl.errors import InputError, LeftOutWarning
from swwl.formatting import Record, number

if TYPE_CHECKING:
    from swwl.jobs.predict import Asked
    from swwl.jobs.series import AskedOfCurves

# Rows of a table whose numbers are printed; the file has them all.
_MOST_PRINTED = 10


def predict_field_table(
    out: Output,
    fitted: Any,
    model: Path,
    table: Path,
    output: Path,
    time: float | str | None,
    cache: bool,
    force: bool,
    asked: Asked,
) -> None:
    """Fill a folder with the predicted meshes of a table."""
    from swwl.jobs.check import check_cases
    from swwl.jobs.outputs import check_folder, is_predicted_mesh, table_files
    from swwl.jobs.predict import (
        FILE,
        OUTSIDE,
        TABLE,
        WHOLE,
        check_field_names,
        fitted_rows,
        input_columns,
        mesh_names,
        n_unlike,
        predict_fields,
        table_at_time,
        told_of_cases,
    )
    from swwl.jobs.table import memory_beside, read_table
    from swwl.tables.read import write_table

    column = fitted.mesh_column_
    frame = table_at_time(fitted, read_table(table), table, time)
    check_field_names(fitted, frame, table, asked.numbers)
    inputs = table_files(table, frame, [column])
    names = mesh_names(frame, table, column)
    files = dict.fromkeys(names, is_predicted_mesh) | {TABLE: _is_table_of_fields}
    check_folder(output, files, inputs=[model, *inputs], force=force)
    memory = memory_beside(table, cache)
    findings, apart = check_cases(fitted, [column], frame, table, memory)
    show_findings(out, findings)
    warnings.simplefilter("ignore", LeftOutWarning)  # the findings name them

    def write(row: int, mesh: Any) -> None:
        output.mkdir(exist_ok=True)  # only now: numbers that no mesh has are refused before
        mesh.write(output / names[row])

    seen = fitted_rows(fitted, input_columns(fitted, frame, table), model)
    found = predict_fields(
        fitted,
        frame,
        table,
        write,
        asked=asked,
        compare=seen,
        memory=memory,
        progress=out.progress("predictions"),
    )
    found.note_apart(apart)
    result = found.table
    result.insert(len(frame.columns), FILE, names)
    write_table(output / TABLE, result, like=frame)
    out.say(f"{_rows(len(frame))} predicted, written to {output}: a .vtu file each, and {TABLE}")
    for note in found.notes:
        out.note(note)
    if asked.numbers:
        _show_numbers(out, [[row["case"], row["words"], *_numbers(row)] for row in found.numbers], ["case", "number"])
    outside = int((result[OUTSIDE] != "").sum())
    for line in told_of_cases(fitted, found.domain):
        out.say(line)
    show_field_scores(out, found.scores, "against the fields that the meshes hold")
    _say_what_counts(out, found.scores)
    facts = {"rows": len(frame), "output": output, "files": names, "table": output / TABLE, "outside": outside}
    for name in fitted.field_names_ if asked.whole else ():
        new = [True] * len(result) if all(seen) else [not one for one in seen]
        known = result[f"{name}_{WHOLE}"][new].dropna() if f"{name}_{WHOLE}" in result else []
        if len(known):
            among = "" if all(new) else " that it was not fitted to"
            out.say(f"{name}: the 95 % band holds the whole field on {int(sum(known))} of {len(known)} meshes{among}")
            facts |= {f"{name}_{WHOLE}": float(sum(known)) / len(known)}
    facts |= {"unlike": n_unlike(found.domain)}
    facts |= {"widened": int((found.domain["widened"] != "").sum())}
    facts |= {"numbers": found.numbers} if asked.numbers else {}
    out.result(facts | {"scores": found.scores, "findings": [finding.facts() for finding in findings]})


def _numbers(row: Record) -> list[str]:
    from swwl.jobs.predict import PREDICTED

    return [number(float(row[key])) for key in PREDICTED]


def _show_numbers(out: Output, rows: list[list[str]], before: list[str]) -> None:
    """Print numbers with their intervals; of many the first."""
    out.table("", [*before, "mean", "std", "95 % between", "and"], rows[:_MOST_PRINTED])
    if len(rows) > _MOST_PRINTED:
        out.say(f"… and {len(rows) - _MOST_PRINTED} more, in the file")


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _is_table_of_fields(path: Path) -> bool:
    """Whether a file is a table that this command wrote."""
    from swwl.jobs.predict import FILE

    with open(path, "rb") as file:
        return FILE.encode() in file.readline(1 << 20)


def predict_field_case(
    out: Output,
    fitted: Any,
    model: Path,
    meshes: dict[str, Path],
    values: list[str],
    output: Path | None,
    force: bool,
    asked: Asked,
    line: Any = None,
) -> None:
    """Predict the fields of one mesh; print numbers derived from them, and write it where a file is named.

    With a line, the file is a table of the fields along it.
    """
    from swwl.jobs.check import check_cases
    from swwl.jobs.outputs import check_output, is_predicted_mesh
    from swwl.jobs.predict import (
        DERIVED,
        PREDICTED,
        line_table,
        one_case,
        predict_fields,
    )

    column = fitted.mesh_column_
    frame = one_case(fitted, meshes, values)
    if output is not None:
        files = [model, *meshes.values()]
        if line is None:
            check_output(output, endings=(".vtu",), inputs=files, ours=is_predicted_mesh, force=force)
        else:
            check_output(output, endings=(".csv",), inputs=files, ours=_is_line, force=force)
    findings, apart = check_cases(fitted, [column], frame, Path("case"))
    show_findings(out, [replace(finding, place="") for finding in findings])
    warnings.simplefilter("ignore", LeftOutWarning)  # the findings name them
    done: list[Any] = []
    # What the mesh holds may come from other inputs, so it is not compared with.
    along = None if line is None else line_table(fitted, frame, line)
    found = predict_fields(fitted, frame, Path("case"), lambda _, mesh: done.append(mesh), asked=asked, compare=False)
    found.note_apart(apart)
    row = found.table.iloc[0]
    rows = [
        [f"{what} of {name}", *(number(float(row[f"{name}_{what}_{key}"])) for key in PREDICTED)]
        for name in fitted.field_names_
        for what in DERIVED
        if f"{name}_{what}_mean" in row
    ]
    rows += [[one["words"], *_numbers(one)] for one in found.numbers]
    if rows:  # models of vectors of nodes have none
        out.table("", ["number", "mean", "std", "95 % between", "and"], rows)
    _say_trust(out, row)
    facts = dict(row) | {"output": output} | ({"numbers": found.numbers} if asked.numbers else {})
    if along is not None:
        _show_line(out, along, output)
        out.result(facts | {"line": along.to_dict("records")})
        return
    if output is None:
        out.say("to save the field: -o case.vtu")
    else:
        done[0].write(output)
        out.say(f"written to {output}")
    out.result(facts)


def predict_curves(
    out: Output,
    fitted: Any,
    model: Path,
    frame: Any,
    table: Path | None,
    output: Path | None,
    cache: bool,
    force: bool,
    asked: AskedOfCurves,
) -> None:
    """Predict curves: of a table into a file of wide columns or a folder of CSV files, of one case into a CSV file."""
    from swwl.jobs.check import check_cases
    from swwl.jobs.outputs import check_folder, check_output, curves_of, table_files
    from swwl.jobs.predict import (
        OUTSIDE,
        TABLE,
        fitted_rows,
        graph_columns,
        input_columns,
        n_unlike,
        told_of_cases,
    )
    from swwl.jobs.series import (
        CURVE_FILE,
        check_curve_names,
        curve_cases,
        curve_file_names,
        predict_curve_table,
    )
    from swwl.jobs.table import memory_beside
    from swwl.tables.read import write_table

    one, path = table is None, table or Path("case")
    check_curve_names(fitted, frame, path, asked)
    files = [model, *table_files(path, frame, graph_columns(fitted))] if table else [model]
    ours, names = curves_of(fitted.curve_), curve_file_names(fitted, frame, path)
    wide = fitted.form_ == "wide" and not one
    if output is not None and (one or wide):
        check_output(
            output, endings=(".csv", ".parquet", ".pq")[: 3 if wide else 1], inputs=files, ours=ours, force=force
        )
    elif output is not None:
        check_folder(output, dict.fromkeys([*names, TABLE], ours), inputs=files, force=force)
    memory = memory_beside(path, cache) if table else None
    findings, apart = check_cases(fitted, graph_columns(fitted), frame, path, memory)
    show_findings(out, [replace(finding, place="") for finding in findings] if one else findings)
    warnings.simplefilter("ignore", LeftOutWarning)  # the findings name them
    known = None if one else fitted_rows(fitted, input_columns(fitted, frame, path), model)
    show = None if one else out.progress("predictions")
    cases = curve_cases(fitted, frame, path, memory, show)
    found = predict_curve_table(fitted, frame, path, cases, asked=asked, fitted=known, apart=apart)
    result = found.table
    if output is not None and (one or wide):
        write_table(output, found.curves[0] if one else result, like=frame)
        out.say(f"{len(frame)} curve{'s' * (len(frame) > 1)} predicted, written to {output}")
    elif output is not None:
        output.mkdir(exist_ok=True)
        for name, curve in zip(names, found.curves, strict=True):
            write_table(output / name, curve, like=frame)
        result.insert(len(frame.columns), CURVE_FILE, names)
        write_table(output / TABLE, result, like=frame)
        out.say(f"{len(frame)} curves predicted, written to {output}: a .csv file each, and {TABLE}")
    _show_curve_numbers(out, fitted.curve_, result, asked)
    if one and output is None:
        out.say("to save the curve: -o case.csv")
    for line in told_of_cases(fitted, found.domain):
        out.say(line)
    show_curve_scores(out, found.scores, "against the curves that the table holds")
    _say_what_counts(out, found.scores)
    facts = {
        "rows": len(frame),
        "output": output,
        "outside": int((result[OUTSIDE] != "").sum()),
        "scores": found.scores,
    }
    facts |= {"unlike": n_unlike(found.domain)}
    facts |= {"widened": int((found.domain["widened"] != "").sum())}
    facts |= {"curve": found.curves[0].to_dict("list")} if one else {}
    keys = [name for name in result if name not in frame.columns and name.startswith(f"{fitted.curve_}_")]
    facts |= {"numbers": result[keys].to_dict("records")} if asked.numbers and (one or not wide) else {}
    out.result(facts | {"findings": [finding.facts() for finding in findings]})


def _show_curve_numbers(out: Output, curve: str, result: Any, asked: AskedOfCurves) -> None:
    """Print the numbers that are derived from curves."""
    from swwl.jobs.predict import PREDICTED
    from swwl.regression.curves.numbers import name_of

    rows = [
        [
            str(row),
            name_of(what).replace("_", " "),
            *(number(float(one[f"{curve}_{name_of(what)}_{key}"])) for key in PREDICTED),
        ]
        for row, (_, one) in enumerate(result.iterrows())
        for what in asked.numbers
    ]
    if rows:
        _show_numbers(out, rows, ["row", "number"])


def _show_line(out: Output, along: Any, output: Path | None) -> None:
    """Write the fields along a line to a file, or print them."""
    from swwl.jobs.predict import PREDICTED
    from swwl.tables.read import write_table

    gone = int(along.isna().any(axis=1).sum())
    if gone:
        out.note(f"{gone} of {len(along)} points of the line lie outside of the mesh, and have no values")
    if output is not None:
        write_table(output, along)
        out.say(f"{len(along)} points along the line, written to {output}")
        return
    for name in [name for name in along if "_mean" in name]:
        own = ["distance", *(name.replace("_mean", f"_{key}") for key in PREDICTED)]
        heads = ["distance", "mean", "std", "95 % between", "and"]
        out.table(name.replace("_mean", ""), heads, along[own].to_numpy().tolist())


def _is_line(path: Path) -> bool:
    """Whether a file is a table of fields along a line that this command wrote."""
    with open(path, "rb") as file:
        return file.readline(1 << 20).startswith(b"distance,x,")


def predict(
    model: ModelFile,
    what: Annotated[
        list[str] | None,
        typer.Argument(help="Table with the columns that the model uses; for one case, its inputs as NAME=VALUE."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Table to write: .csv or .parquet; of fields, a folder of meshes. Not needed for one case.",
        ),
    ] = None,
    mesh: Annotated[
        list[str] | None, typer.Option(help="Mesh of one case; COLUMN=FILE where the model has several mesh columns.")
    ] = None,
    probe: Annotated[
        list[str] | None,
        typer.Option(
            help="Of fields: also their values at this place, x,y,z (x,y in the plane, and for meshes one cell thick); "
            "may be repeated."
        ),
    ] = None,
    force_on: Annotated[
        list[str] | None,
        typer.Option(
            help="Of fields: also the force on a group of faces, as 'body*': of a pressure p, minus the integral of p "
            "times the normals away from the body; of a traction, its integral; of a stress, that of its product with "
            "the normals out of the part. 'pressure:body*' takes any scalar for a pressure. May be repeated."
        ),
    ] = None,
    whole_field: Annotated[
        bool,
        typer.Option(
            "--whole-field",
            help="Of fields: also bands that hold whole fields at once, FIELD_lower95_whole and FIELD_upper95_whole.",
        ),
    ] = False,
    whole_curve: Annotated[
        bool,
        typer.Option("--whole-curve", help="Of curves: also bands that hold whole curves at once, …_lower95_whole."),
    ] = False,
    peak: Annotated[
        bool, typer.Option("--peak", help="Of curves: also their largest and lowest values, and where these are.")
    ] = False,
    integral: Annotated[bool, typer.Option("--integral", help="Of curves: also their integrals.")] = False,
    crossing: Annotated[
        list[float] | None, typer.Option(help="Of curves: also where they first cross this value; may be repeated.")
    ] = None,
    line: Annotated[
        str | None,
        typer.Option(
            help="Of fields, for one case: values along a line, x0,y0,z0:x1,y1,z1:N; -o then names a .csv file."
        ),
    ] = None,
    time: AtTime = None,
    times: Annotated[
        str | None,
        typer.Option(metavar="T,T,…", help="Of fields over time: when to predict them [the times of training]."),
    ] = None,
    cache: KeepEmbeddings = True,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Predict every row of a table, or one case.

    The output has all columns of the table, then for each target TARGET_mean, TARGET_std, TARGET_lower95 and
    TARGET_upper95, and the inputs outside the training range. It also says which cases are like the training cases
    (inside_domain, domain), and where intervals are widened because the model is less sure (widened). Where the table
    already holds a target, the predictions are scored against it, separately for rows that the model was fitted to, and
    a test says whether the answers still agree.
    A model of fields fills a folder: one .vtu file per row, for ParaView, with FIELD, FIELD_std, FIELD_lower95,
    FIELD_upper95 and, where the row's mesh has the field, FIELD_true and FIELD_error, but none of its other simulated
    fields; and predictions.csv with the largest value and the mean of every field, and what --probe and --force-on
    request. For one case it writes one file, -o case.vtu.
    A model of fields over time writes a .pvd file per row with its .vtu files, and predictions.csv, which says whether
    rows are like the training cases; for one case a file, -o case.pvd. It always needs -o.
    A model of curves writes them in the form they were learned from: wide columns cp_mean_000, …, cp_std_000, …,
    cp_lower95_000, … in one table; otherwise a folder with a .csv file per row, and predictions.csv beside them.

    \b
    Example:
      swwl predict m.swwl d/table.csv -o predictions.csv
      swwl predict f.swwl d/table.csv -o predicted
      swwl predict f.swwl d/table.csv -o predicted --whole-field
      swwl predict f.swwl d/table.csv -o predicted --probe 0.5,0.2 --probe 1.5,0.2 --force-on "body*"
      swwl predict f.swwl --mesh d/meshes/00100.vtu speed=17188 --line 0,0.5:3,0.5:61 -o line.csv
      swwl predict c.swwl d/table.csv -o predictions.csv --whole-curve --peak --crossing 0.5
      swwl predict m.swwl --mesh d/meshes/00100.vtu speed=17188 pressure=1.41
      swwl predict t.swwl warming.csv -o predicted --times 0.1,0.5,1
    """
    with imports_for_one_answer():
        from swwl.jobs.predict import (
            Asked,
            case_meshes,
            line_of_text,
            load_any,
            numbers_of_texts,
            one_case,
            table_at_time,
        )
        from swwl.jobs.series import asked_of_curves
        from swwl.jobs.table import read_table

    out = Output(quiet, as_json)
    fitted = load_any(model, series=True)
    given = what or []
    fields = fitted.predicts == "fields"
    if fitted.predicts == "series" or times is not None:
        others = bool(probe or force_on or whole_field or line or time)
        _predict_series(out, fitted, model, AskedOfSeries(given, mesh or [], output, times, others), force)
        return
    at = given_time(time)
    asked = Asked(numbers_of_texts(probe or [], force_on or []), whole_field)
    of_curves = asked_of_curves(peak, integral, crossing or [], whole_curve)
    _refuse_others(model, fitted.predicts, bool(asked.numbers or whole_field or line), of_curves)
    way = line_of_text(line) if line is not None else None
    if mesh or (given and "=" in given[0] and not Path(given[0]).exists()):
        meshes = case_meshes(fitted, mesh or [], at)
        if fitted.predicts == "curves":
            frame = one_case(fitted, meshes, given)
            predict_curves(out, fitted, model, frame, None, output, cache, force, of_curves)
        elif fields:
            predict_field_case(out, fitted, model, meshes, given, output, force, asked, way)
        else:
            _one_case(out, fitted, model, meshes, given, output, force)
    elif way is not None:
        raise InputError("--line needs the mesh of one case: --mesh FILE NAME=VALUE ….")
    elif len(given) != 1:
        found = f"{len(given)} were given" if given else "none was given"
        raise InputError(f"One table is expected, but {found}; for one case: --mesh FILE NAME=VALUE ….")
    elif output is None:
        folder = fields or (fitted.predicts == "curves" and fitted.form_ != "wide")
        where = "predicted, a folder" if folder else "predictions.csv"
        raise InputError(f"--output says where the predictions of a table go: -o {where}.")
    else:
        if fitted.predicts == "curves":
            table = Path(given[0])
            frame = table_at_time(fitted, read_table(table), table, at)
            predict_curves(out, fitted, model, frame, table, output, cache, force, of_curves)
        elif fields:
            predict_field_table(out, fitted, model, Path(given[0]), output, at, cache, force, asked)
        else:
            _table(out, fitted, model, Path(given[0]), output, at, cache, force)


class AskedOfSeries(NamedTuple):
    """What is asked of a model of fields over time."""

    given: list[str]
    mesh: list[str]
    output: Path | None
    times: str | None
    others: bool  # whether options that are not for it were given


def _predict_series(out: Output, fitted: Any, model: Path, asked: AskedOfSeries, force: bool) -> None:
    """Write a series of meshes for every row of a table, or for one case."""
    from swwl.jobs.outputs import check_output
    from swwl.jobs.predict import FILE, TABLE, case_meshes, one_case, told_of_cases
    from swwl.jobs.table import read_table
    from swwl.jobs.transient import check_series_folder, predict_series, series_names, times_of_text
    from swwl.tables.read import write_table

    if fitted.predicts != "series":
        raise InputError(f"{model}: --times is for models of fields over time.")
    if asked.others:
        raise InputError(f"{model}: predicts fields over time; of the options for fields only --times applies.")
    given, mesh, output = asked[:3]
    at = None if asked.times is None else times_of_text(asked.times)
    if mesh:
        meshes = case_meshes(fitted, mesh)
        frame, table = one_case(fitted, meshes, given), Path("case")
        if output is None:
            raise InputError("--output says where the predicted series goes: -o case.pvd.")
        check_output(output, endings=(".pvd",), inputs=[model, *meshes.values()], ours=lambda _: False, force=force)
        files = [output]
    else:
        if len(given) != 1 or output is None:
            raise InputError(
                "One table is expected, and a folder for predicted series: swwl predict MODEL TABLE -o DIR."
            )
        table = Path(given[0])
        frame = read_table(table)
        files = [output / name for name in series_names(fitted, frame, table)]
        check_series_folder(output, files, force)
        output.mkdir(parents=True, exist_ok=True)
    found = predict_series(
        fitted, frame, table, model, lambda row, series: series.write(files[row]), at, out.progress("predictions")
    )
    if not mesh:
        result = found.table
        result.insert(len(frame.columns), FILE, [file.name for file in files])
        write_table(output / TABLE, result, like=frame)
    out.say(f"{_rows(len(frame))} predicted, written to {output}: a .pvd file each, and its .vtu files in a folder")
    for line in told_of_cases(fitted, found.domain):
        out.say(line)
    show_field_scores(out, found.scores, "against the fields that the series hold")
    _say_what_counts(out, found.scores)
    out.result({"rows": len(frame), "output": output, "files": [str(file) for file in files], "scores": found.scores})


def _refuse_others(model: Path, predicts: str, of_fields: bool, of_curves: AskedOfCurves) -> None:
    """Refuse options that ask for what a model does not predict."""
    if of_fields and predicts != "fields":
        raise InputError(
            f"{model}: predicts {predicts}, but --probe, --force-on, --line and --whole-field are for fields."
        )
    if (of_curves.numbers or of_curves.whole) and predicts != "curves":
        raise InputError(
            f"{model}: predicts {predicts}, but --whole-curve, --peak, --integral and --crossing are for curves."
        )


def _table(
    out: Output, fitted: Any, model: Path, table: Path, output: Path, time: float | str | None, cache: bool, force: bool
) -> None:
    from swwl.jobs.check import check_cases
    from swwl.jobs.outputs import check_output, predictions_of, table_files
    from swwl.jobs.predict import (
        OUTSIDE,
        against_table,
        answers_agree,
        check_names,
        fitted_rows,
        graph_columns,
        input_columns,
        n_unlike,
        predict_table,
        prediction_table,
        table_at_time,
        told_of_cases,
    )
    from swwl.jobs.table import memory_beside, read_table
    from swwl.tables.read import write_table

    frame = table_at_time(fitted, read_table(table), table, time)
    check_names(fitted, frame, table)
    inputs, ours = table_files(table, frame, graph_columns(fitted)), predictions_of(fitted.target_names_)
    check_output(output, endings=(".csv", ".parquet", ".pq"), inputs=[model, *inputs], ours=ours, force=force)
    memory = memory_beside(table, cache)
    findings, apart = check_cases(fitted, graph_columns(fitted), frame, table, memory)
    show_findings(out, findings)
    warnings.simplefilter("ignore", LeftOutWarning)  # the findings name them
    prediction, domain = predict_table(fitted, frame, table, memory=memory, progress=out.progress("predictions"))
    result = prediction_table(fitted, frame, prediction, apart, domain)
    write_table(output, result, like=frame)
    out.say(f"{_rows(len(frame))} predicted, written to {output}")
    outside = int((result[OUTSIDE] != "").sum())
    for line in told_of_cases(fitted, domain):
        out.say(line)
    known = fitted_rows(fitted, input_columns(fitted, frame, table), model)
    rows = against_table(fitted, frame, prediction, known)
    answers = answers_agree(fitted, frame, prediction, known)
    if rows:
        show_scores(out, rows, "against what the table holds")
    _say_what_counts(out, rows)
    for one in answers:
        out.say(_agreement(one))
    out.result(
        {"rows": len(frame), "output": output, "outside": outside, "scores": rows}
        | {"unlike": n_unlike(domain)}
        | {"widened": int((domain["widened"] != "").sum()), "answers": answers}
        | {"findings": [finding.facts() for finding in findings]}
    )


def _say_what_counts(out: Output, rows: list[Record]) -> None:
    """Say that scores of training rows are no test."""
    from swwl.jobs.predict import FITTED, UNSEEN

    if any(row["test"] == FITTED for row in rows):
        others = any(row["test"] == UNSEEN for row in rows)
        what = f"the {UNSEEN} are the test" if others else "hold rows out to test it (--test-fraction, swwl report)"
        out.note(f"the model was fitted to the {FITTED}, so their scores say nothing about new cases: {what}")


def _agreement(found: Record) -> str:
    """Say whether the answers in a table agree with a model."""
    p = f"by chance, {found['n']} errors would look like this with a probability of {found['p_value']:.2g}"
    answers = f"{found['target']}: the answers in the table"
    if found["agree"] is None:
        return f"{answers} do not differ from the model beyond chance ({p}), but that says little: {found['why']}"
    if found["agree"]:
        return f"{answers} agree with the model as well as its training cases do ({p})"
    return (
        f"{answers} disagree with the model, although the shapes are familiar ({p}); "
        "other loads, material, solver or units?"
    )


def _one_case(
    out: Output, fitted: Any, model: Path, meshes: dict[str, Path], values: list[str], output: Path | None, force: bool
) -> None:
    from swwl.jobs.check import check_cases
    from swwl.jobs.outputs import check_output, predictions_of
    from swwl.jobs.predict import (
        graph_columns,
        one_case,
        predict_table,
        prediction_table,
    )
    from swwl.tables.read import write_table

    frame = one_case(fitted, meshes, values)
    if output is not None:
        inputs, ours = [model, *meshes.values()], predictions_of(fitted.target_names_)
        check_output(output, endings=(".csv", ".parquet", ".pq"), inputs=inputs, ours=ours, force=force)
    findings, apart = check_cases(fitted, graph_columns(fitted), frame, Path("case"))
    show_findings(out, [replace(finding, place="") for finding in findings])
    warnings.simplefilter("ignore", LeftOutWarning)  # the findings name them
    prediction, domain = predict_table(fitted, frame, Path("case"))
    result = prediction_table(fitted, frame, prediction, apart, domain)
    row = result.iloc[0]
    out.table(
        "",
        ["target", "mean", "std", "95 % between", "and"],
        [
            [name, *(number(float(row[f"{name}_{key}"])) for key in ("mean", "std", "lower95", "upper95"))]
            for name in fitted.target_names_
        ],
    )
    _say_trust(out, row)
    if output is not None:
        write_table(output, result)
    out.result(dict(row))


def _say_trust(out: Output, row: Any) -> None:
    """Print whether a case is inside the training range and like the training cases, and whether its interval is wider.

    Why it cannot be compared is said here, too, which a table leaves out.
    """
    from swwl.domain.verdict import FEWEST
    from swwl.jobs.predict import DOMAIN, OUTSIDE, WIDENED

    if row[OUTSIDE]:
        out.say(f"outside the training range, where nothing has been tested: {row[OUTSIDE]}")
    else:
        out.say("all inputs lie inside the training range")
    told = str(row[DOMAIN])
    told += f": at least {FEWEST} of them are needed" if told == "cannot tell" else ""
    out.say(f"compared with the training cases: {told}")
    if row[WIDENED]:
        out.say(f"the model is less sure than of its training cases; the interval is widened: {row[WIDENED]}")
