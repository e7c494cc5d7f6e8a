"""``swwl check``: what is odd about a table and its meshes, before a model learns from them."""

from __future__ import annotations

from typing import Annotated

import typer

from swwl.cli.console import (
    AllRows,
    AtTime,
    DropIncomplete,
    InputColumns,
    MeshColumns,
    Output,
    Quiet,
    ResultColumns,
    TableFile,
    TargetColumns,
    TestFraction,
    Threads,
    given_time,
)
from swwl.cli.show import show_findings


def check(
    table: TableFile,
    target: TargetColumns = None,
    target_curve: Annotated[str | None, typer.Option(help="Curve to predict, as for swwl fit.")] = None,
    mesh: MeshColumns = None,
    inputs: InputColumns = None,
    results: ResultColumns = None,
    split: Annotated[str | None, typer.Option(help="Column whose rows 'train' are fitted.")] = None,
    test_fraction: TestFraction = None,
    all_rows: AllRows = False,
    drop_incomplete: DropIncomplete = False,
    group: Annotated[
        str | None,
        typer.Option(help="A group of cells or faces that every mesh must have, as for swwl fit."),
    ] = None,
    time: AtTime = None,
    cache: Annotated[bool, typer.Option(help="Keep what is found about meshes beside the table.")] = True,
    jobs: Threads = -1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --test-fraction.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say what is odd about a table and its meshes, one line each.

    Meshes of another size, place or orientation than the others (in other units, rotated, moved), copied, unreadable or
    missing ones, nodes that no cell uses, triangles that are not joined; repeated rows, columns that hardly vary,
    number the cases or look like results, targets that span orders of magnitude. Options are those of swwl fit, which
    makes the same checks. Where columns have units in their names, such as 'force [N]' and 'speed (m/s)', laws that
    these allow are suggested for swwl fit --scaled; none is applied unless requested.
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
