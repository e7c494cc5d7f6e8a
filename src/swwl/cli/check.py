"""``swwl check``: what is odd about a table and its meshes, before a model learns from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import AtTime, Output, given_time
from swwl.cli.show import show_findings


def check(
    table: Annotated[Path, typer.Argument(help="CSV, Excel or Parquet table; mesh paths in it are relative to it.")],
    target: Annotated[list[str] | None, typer.Option(help="Column to predict; repeat it for several.")] = None,
    target_curve: Annotated[str | None, typer.Option(help="Curve to predict, as for swwl fit.")] = None,
    mesh: Annotated[
        list[str] | None, typer.Option(help="Column of mesh paths; repeat it for several. Detected if omitted.")
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(help="Input columns, separated by commas; '' for meshes only. By default all that can be."),
    ] = None,
    results: Annotated[
        list[str] | None,
        typer.Option(help="Columns that the simulation computes, no inputs: names or patterns, separated by commas."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Column whose rows 'train' are fitted.")] = None,
    test_fraction: Annotated[float | None, typer.Option(help="Hold out this share of rows, at random.")] = None,
    all_rows: Annotated[bool, typer.Option("--all-rows", help="Fit all rows, whatever a column 'split' says.")] = False,
    drop_incomplete: Annotated[
        bool, typer.Option("--drop-incomplete", help="Leave out rows in which a mesh, an input or a target is missing.")
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(help="A group of cells or faces that every mesh must have, as for swwl fit."),
    ] = None,
    time: AtTime = None,
    cache: Annotated[bool, typer.Option(help="Keep what is found about meshes beside the table.")] = True,
    jobs: Annotated[int, typer.Option(help="Threads; -1 is one per core.")] = -1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --test-fraction.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Say what is odd about a table and its meshes, one line each.

    Meshes of another size, place or orientation than the others (in other units, rotated, moved), copied, unreadable or
    missing ones, nodes that no cell uses, triangles that are not joined; repeated rows, columns that hardly vary,
    number the cases or look like results, targets better learned as logarithms. Options are those of swwl fit, which
    looks for the same. Where columns have units in their names, such as 'force [N]' and 'speed (m/s)', laws that these
    allow are offered for swwl fit --scaled; none is applied unasked.
    The exit code is 2 if there is anything that swwl fit refuses, otherwise 0.

    \b
    Example:
      swwl make blade -n 30 --nodes 400 -o d
      swwl check d/table.csv --target efficiency
    """
    from swwl.cli.fit import named_inputs
    from swwl.jobs.check import Reading, check_table
    from swwl.jobs.plan import HoldOut
    from swwl.jobs.table import memory_beside

    out = Output(quiet, as_json)
    findings = check_table(
        table,
        list(dict.fromkeys(target or [])),
        list(dict.fromkeys(mesh or [])),
        named_inputs(inputs),
        results=named_inputs(",".join(results or [])) or [],
        rows=HoldOut(split, test_fraction, all_rows, seed, drop_incomplete, given_time(time)),
        reading=Reading(memory_beside(table, cache), jobs, out.progress("checks"), group),
        curve=target_curve,
    )
    show_findings(out, findings)
    errors = sum(finding.severity == "error" for finding in findings)
    if not findings:
        out.say(f"{table}: nothing odd was found")
    out.result([finding.facts() for finding in findings])
    if errors:
        raise typer.Exit(2)
