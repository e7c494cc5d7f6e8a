"""``swwl embed``: what models keep of very many meshes, made once, in a folder of shards."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from swwl.cli.console import (
    AsJson,
    AtTime,
    Iterations,
    MeshColumns,
    Output,
    Processes,
    Projections,
    Quantiles,
    Quiet,
    TableFile,
    given_time,
    show_note,
)
from swwl.cli.fit import Kernel, Weights, kernel_options
from swwl.errors import InputError

_MOST_LISTED = 10


def embed(
    table: TableFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the store, to make or to continue.")],
    mesh: MeshColumns = None,
    kernel: Annotated[
        Kernel | None, typer.Option(help="Kernel that the embeddings are for, as in swwl fit [auto].")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Column whose rows 'train' will be fitted.")] = None,
    test_fraction: Annotated[float | None, typer.Option(help="Share of rows that swwl fit will hold out.")] = None,
    all_rows: Annotated[bool, typer.Option("--all-rows", help="All rows will be fitted.")] = False,
    projections: Projections = 50,
    quantiles: Quantiles = None,
    iterations: Iterations = None,
    step: Annotated[str | None, typer.Option(help="Steps per iteration, or sqrt. Not for auto.")] = None,
    node_weights: Annotated[Weights | None, typer.Option(help="Weights of nodes. Not for auto.")] = None,
    field: Annotated[
        list[str] | None, typer.Option(help="Node field to use beside coordinates; may be repeated.")
    ] = None,
    merge_nodes: Annotated[bool, typer.Option("--merge-nodes", help="Merge nodes at the same place.")] = False,
    group: Annotated[
        str | None,
        typer.Option(help="Embed this part of every mesh: a group of cells or faces, such as 'body*'."),
    ] = None,
    time: AtTime = None,
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="List meshes that cannot be used and continue, instead of an error."),
    ] = False,
    shard: Annotated[
        str | None, typer.Option(help="Part of the work, such as 3/64, for job arrays: 1/64 to 64/64.")
    ] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")] = None,
    jobs: Processes = -1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of directions, sample and --test-fraction.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Embed very many meshes once and for all, on a cluster too.

    swwl fit --embeddings then reads no meshes.

    A sample of at most 2000 training meshes determines the embeddings; of every mesh 64 numbers per measure are kept,
    in shards of 256 meshes. An interrupted run is resumed by the same command. Options must be those of the fit.

    \b
    Example:
      swwl make tensile2d -n 400 --nodes 300 -o d
      swwl embed d/table.csv -o d/store
      swwl fit d/table.csv --target max_von_mises --embeddings d/store -o m.swwl
    """
    from swwl.jobs.embed import embed as embed_meshes
    from swwl.jobs.embed import find_work
    from swwl.jobs.plan import HoldOut, mesh_kernels, split_rows
    from swwl.jobs.table import read_table
    from swwl.tables.columns import mesh_columns
    from swwl.tables.places import at_times, require_column

    out = Output(quiet, as_json)
    frame = read_table(table)
    columns = list(dict.fromkeys(mesh or mesh_columns(frame)))
    if not columns:
        raise InputError(f"{table}: no column holds paths of meshes; name the column (--mesh).")
    for name in columns:
        require_column(frame, table, name, "meshes")
    frame = at_times(frame, table, columns, given_time(time))
    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: is a file, but the folder of a store is expected.")
    rows = split_rows(frame, table, HoldOut(split, test_fraction, all_rows, seed))
    wanted = kernel_options(
        kernel,
        step,
        node_weights,
        n_projections=projections,
        n_quantiles=quantiles,
        n_iterations=iterations,
        fields=tuple(field or ()),
        merge_nodes=merge_nodes,
        group=group,
        seed=seed,
    )
    work = find_work(table, frame, columns, rows.rows, rows.train, [], skip_bad)
    kernels = mesh_kernels(wanted, work.rows)
    found = embed_meshes(
        work.for_kernels(kernels),
        output,
        seed=seed,
        skip_bad=skip_bad,
        n_jobs=jobs,
        part=part_of(shard),
        scheduler=scheduler,
        progress=out.progress("meshes"),
    )
    for name, reason in list(found.bad.items())[:_MOST_LISTED]:
        show_note(f"left out {name}: {reason}")
    if len(found.bad) > _MOST_LISTED:
        show_note(f"and {len(found.bad) - _MOST_LISTED} more, all named in {output / 'manifest.json'}")
    out.say(f"meshes    {found.meshes}, {found.made} embedded now, {len(found.bad)} left out")
    out.say(f"shards    {found.shards}, {found.to_do} still to do")
    if not found.to_do:
        again = f"swwl fit {quote(str(table))} --embeddings {quote(str(output))} --target … -o model.swwl"
        out.say(f"\nstore written to {output}\nnext:  {again}")
    out.result({"store": output, "meshes": found.meshes, "made": found.made, "shards": found.shards,
                "to_do": found.to_do, "bad": found.bad})  # fmt: skip


def part_of(text: str | None) -> tuple[int, int] | None:
    """Return which part of the work to do, counted from 0, and of how many.

    >>> part_of("3/64")
    (2, 64)
    """
    if text is None:
        return None
    try:
        number, count = map(int, text.split("/"))
    except ValueError:
        raise InputError(f"--shard is {text!r}, but a part such as 3/64 is expected.") from None
    if not 1 <= number <= count:
        raise InputError(
            f"--shard is {text!r}, but parts go from 1/{max(count, 1)} to {max(count, 1)}/{max(count, 1)}."
        )
    return number - 1, count
