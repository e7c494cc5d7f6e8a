"""``swwl select``: which cases of a table to simulate first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import Force, Output
from swwl.cli.show import show_choices


def select(
    table: Annotated[Path, typer.Argument(help="Pool of cases: CSV, Excel or Parquet; mesh paths relative to it.")],
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many to choose.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write: .csv or .parquet.")],
    mesh: Annotated[
        list[str] | None, typer.Option(help="Column of mesh paths; repeat it for several. Detected if omitted.")
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(help="Input columns, separated by commas; '' for meshes only. By default all that can be."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="k-median: cases that stand for all; maximin: cases far from each other.")
    ] = "k-median",
    have: Annotated[Path | None, typer.Option(help="Table of cases that are simulated already.")] = None,
    picture: Annotated[Path | None, typer.Option("--map", help="Picture of the choices: .png, .svg or .pdf.")] = None,
    cache: Annotated[bool, typer.Option(help="Keep embeddings beside the table, in .swwl-cache.")] = True,
    jobs: Annotated[int, typer.Option(help="Threads; -1 is one per core.")] = -1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the embedding.")] = 0,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the choices as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Choose which cases to simulate first, from inputs alone.

    The output has the chosen rows of the table, the best first, with rank, score and in words why. No column of the
    table may hold answers: name inputs with --inputs where it does.

    \b
    Example:
      swwl make blade -n 400 --nodes 800 -o pool
      swwl select pool/table.csv -n 50 --inputs speed,pressure -o first.csv --map first.png
    """
    from swwl.cli.fit import named_inputs
    from swwl.jobs.design import PICTURES, chosen_rows, draw_selection, holds_choices, plan_select, select_rows
    from swwl.jobs.outputs import check_output, is_picture
    from swwl.jobs.table import memory_beside, write_table

    out = Output(quiet, as_json)
    plan = plan_select(table, list(dict.fromkeys(mesh or [])), named_inputs(inputs))
    read = [*plan.files(), *([] if have is None else [have])]
    check_output(output, endings=(".csv", ".parquet", ".pq"), inputs=read, ours=holds_choices, force=force)
    if picture is not None:
        check_output(picture, endings=PICTURES, inputs=read, ours=is_picture, force=force)
    out.say(f"compared by {', '.join([*plan.meshes, *plan.inputs, *plan.categories])}")
    memory = memory_beside(table, cache)
    chosen, known = select_rows(
        plan, number, method, have, seed=seed, memory=memory, n_jobs=jobs, progress=out.progress("meshes")
    )
    write_table(output, chosen_rows(plan.frame, table, plan.meshes, chosen, output), like=plan.frame)
    if picture is not None:
        draw_selection(plan, chosen, known, picture, memory, seed)
    show_choices(out, chosen, plan.frame, table, f"{len(chosen)} of {len(plan.frame)} cases, written to {output}")
