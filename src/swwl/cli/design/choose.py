"""``swwl select`` and ``swwl suggest``: which cases of a pool to simulate first and, given a model, next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import (
    AtTime,
    Force,
    InputColumns,
    KeepEmbeddings,
    LowerBounds,
    MeshColumns,
    ModelFile,
    Output,
    PartOf,
    Quiet,
    Threads,
    UpperBounds,
    given_time,
)
from swwl.cli.show import show_choices


def select(
    table: Annotated[Path, typer.Argument(help="Pool of cases: CSV, Excel or Parquet; mesh paths relative to it.")],
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many to choose.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write: .csv or .parquet.")],
    mesh: MeshColumns = None,
    inputs: InputColumns = None,
    method: Annotated[
        str,
        typer.Option(
            help="imse: most informative; support: distributed as all; k-median: near all; maximin: far apart."
        ),
    ] = "imse",
    have: Annotated[Path | None, typer.Option(help="Table of cases that are simulated already.")] = None,
    group: PartOf = None,
    time: AtTime = None,
    picture: Annotated[Path | None, typer.Option("--map", help="Picture of the choices: .png, .svg or .pdf.")] = None,
    cache: KeepEmbeddings = True,
    jobs: Threads = -1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the embedding.")] = 0,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the choices as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Choose which cases to simulate first, from inputs alone.

    The output has the chosen rows of the table, the best first, with rank, score and the reason in words. No column
    of the table may hold answers: if one does, name the inputs with --inputs.

    \b
    Example:
      swwl make blade -n 400 --nodes 800 -o pool
      swwl select pool/table.csv -n 50 --inputs speed,pressure -o first.csv --map first.png
    """
    from swwl.cli.fit import named_inputs
    from swwl.jobs.design import PICTURES, chosen_rows, draw_selection, holds_choices, plan_select, select_rows
    from swwl.jobs.outputs import check_output, is_picture
    from swwl.jobs.table import memory_beside
    from swwl.tables.read import write_table

    out = Output(quiet, as_json)
    plan = plan_select(table, list(dict.fromkeys(mesh or [])), named_inputs(inputs), given_time(time))
    read = [*plan.files(), *([] if have is None else [have])]
    check_output(output, endings=(".csv", ".parquet", ".pq"), inputs=read, ours=holds_choices, force=force)
    if picture is not None:
        check_output(picture, endings=PICTURES, inputs=read, ours=is_picture, force=force)
    out.say(f"compared by {', '.join([*plan.meshes, *plan.inputs, *plan.categories])}")
    memory = memory_beside(table, cache)
    shown = out.progress("meshes")
    chosen, known = select_rows(
        plan, number, method, have, group=group, random_state=seed, memory=memory, n_jobs=jobs, progress=shown
    )
    write_table(output, chosen_rows(plan.frame, table, plan.meshes, chosen, output), like=plan.frame)
    if picture is not None:
        draw_selection(plan, chosen, known, picture, memory, seed, group)
    show_choices(out, chosen, plan.frame, table, f"{len(chosen)} of {len(plan.frame)} cases, written to {output}")


def suggest(
    model: ModelFile,
    pool: Annotated[Path, typer.Argument(help="Table of candidates, with the columns that the model uses.")],
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many to choose.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write: .csv or .parquet.")],
    goal: Annotated[
        str,
        typer.Option(
            help="learn, maximize:TARGET or minimize:TARGET; learn:TARGET to learn one of several; two goals, "
            "separated by a comma, for the best compromises."
        ),
    ] = "learn",
    criterion: Annotated[
        str | None,
        typer.Option(help="To learn: imse, variance or maximin; for the best: ei (expected improvement) or ucb."),
    ] = None,
    at_least: LowerBounds = None,
    at_most: UpperBounds = None,
    at: Annotated[
        list[str] | None,
        typer.Option(help="INPUT=VALUE to design for: the pool's own values are replaced; repeat it for several."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL=COST",
            help="What a run costs at a level of --fidelity; also proposes the level of each run, in its column; "
            "may be repeated.",
        ),
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="Column that marks cases as 'running' or 'failed': they are not chosen.")
    ] = None,
    time: AtTime = None,
    picture: Annotated[Path | None, typer.Option("--map", help="Picture of the choices: .png, .svg or .pdf.")] = None,
    cache: KeepEmbeddings = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample that stands for a large pool.")] = 0,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the choices as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Choose which cases to simulate next: to learn, or for the best.

    The output has the chosen rows of the pool, the best first, with rank, score and the reason in words. With --at,
    candidates are judged at given conditions, which replace the pool's own in the output.

    \b
    Example:
      swwl suggest m.swwl pool/table.csv -n 10 -o next.csv
      swwl suggest r.swwl pool.csv -n 10 --cost coarse=1 --cost fine=20 -o next.csv
      swwl suggest m.swwl pool/table.csv -n 3 --goal minimize:max_disp --at force=1000 -o next.csv
      swwl suggest m.swwl pool/table.csv -n 3 --goal maximize:efficiency --at-least massflow=22 -o next.csv
      swwl suggest m.swwl pool/table.csv -n 5 --goal maximize:efficiency,maximize:massflow -o next.csv
    """
    from swwl.jobs.design import (
        PICTURES,
        chosen_rows,
        draw_suggestion,
        holds_choices,
        read_bounds,
        read_conditions,
        read_level_costs,
        suggest_rows,
    )
    from swwl.jobs.outputs import check_output, is_picture, table_files
    from swwl.jobs.predict import graph_columns, load_regressor, table_at_time
    from swwl.jobs.table import memory_beside, read_table
    from swwl.tables.read import write_table

    out = Output(quiet, as_json)
    fitted = load_regressor(model)
    conditions = read_conditions(fitted, at or [])
    frame = table_at_time(fitted, read_table(pool), pool, given_time(time)).assign(**conditions)
    if conditions:  # answers in the pool are those of other conditions
        frame = frame.drop(columns=fitted.target_names_, errors="ignore")
    meshes = graph_columns(fitted)
    read = [model, *table_files(pool, frame, meshes)]
    check_output(output, endings=(".csv", ".parquet", ".pq"), inputs=read, ours=holds_choices, force=force)
    if picture is not None:
        check_output(picture, endings=PICTURES, inputs=read, ours=is_picture, force=force)
    memory = memory_beside(pool, cache)
    costs = read_level_costs(cost or [])
    level = fitted.chain_.level if costs and fitted.chain_ is not None else None
    chosen = suggest_rows(
        fitted,
        frame,
        pool,
        number,
        status=status,
        memory=memory,
        progress=out.progress("meshes"),
        goal=goal,
        criterion=criterion,
        constraints=read_bounds(at_least or [], at_most or []),
        at=conditions,
        costs=costs,
        random_state=seed,
    )
    write_table(output, chosen_rows(frame, pool, meshes, chosen, output, level), like=frame)
    fitted_rows = chosen.attrs["fitted"]
    if fitted_rows:
        out.say(f"{fitted_rows} of {len(frame)} cases are training cases of the model, and are left out")
    if picture is not None:
        draw_suggestion(fitted, frame, pool, chosen, picture, memory)
    show_choices(out, chosen, frame, pool, f"{len(chosen)} of {len(frame)} cases, written to {output}")
