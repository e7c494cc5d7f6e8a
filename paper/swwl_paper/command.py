"""``swwl reproduce``: the paper's tables and figures, run again."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import Output
from swwl.errors import InputError
from swwl_paper import EXPERIMENTS, SIZES


def reproduce(
    names: Annotated[list[str], typer.Argument(help="Experiments, or all.")],
    size: Annotated[str, typer.Option(help="small (minutes), medium, or full (the paper's sizes; hours).")] = "small",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for results [results-SIZE].")] = None,
    dataset: Annotated[list[str] | None, typer.Option(help="Only this data set; may be repeated.")] = None,
    kernel: Annotated[list[str] | None, typer.Option(help="Only this kernel; may be repeated.")] = None,
    reference: Annotated[
        Path | None, typer.Option(help="R's answers for rgasp [rgasp_reference.json in the folder SWWL_DATA].")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for what only saves time: data, embeddings [work in the results].")
    ] = None,
    seed: Annotated[int, typer.Option(help="First seed of everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads and processes; -1 is one per core.")] = -1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Run the paper's experiments again, with tables and figures.

    \b
    table2 table3     graph classification: accuracy, and time to build the matrices
    table4 table5     regression on meshes: errors, and time and memory at the paper's sizes
    scaling           cost against nodes, graphs, projections, quantiles, iterations
    figure-pq         error against projections and quantiles
    figure-curves     characteristic curves of a new blade
    figure-gp         samples of a Gaussian process over graphs
    figure-meshes     meshes of the data sets
    rgasp             the robust Gaussian process beside R's
    defaults          the model without a named kernel beside others, on all data sets
    airfrans ahmed    published boards: the default beside the figures of others
    fields            whole fields on new meshes, beside nearest fields and transport
    comparison        the same tasks with other software

    A run that was cut off goes on where it stopped. Classification and the sets of published simulations need the
    folder that SWWL_DATA names; the other kernels need pip install 'swwl[baselines,rpw]', coarse meshes
    'swwl[mmg]'.

    \b
    Example:
      swwl reproduce all
      swwl reproduce table2 --size full --dataset BZR --kernel SWWL --kernel WWL -o results
    """
    from swwl_paper import reproduce as run
    from swwl_paper.study import Skipped

    wanted = list(EXPERIMENTS) if "all" in names else names
    for name in wanted:
        if name not in EXPERIMENTS:
            raise InputError(f"there is no experiment {name!r}; choose from all, {', '.join(EXPERIMENTS)}.")
    if size not in SIZES:
        raise InputError(f"--size is {size!r}, but must be one of {', '.join(SIZES)}.")
    out = Output(quiet, as_json)
    folder = output or Path(f"results-{size}")
    narrowed = {"dataset": dataset or [], "kernel": kernel or []}
    places = {"reference": reference, "cache": cache}
    options = narrowed | {name: [str(path)] for name, path in places.items() if path is not None}
    skipped: dict[str, str] = {}
    for name in wanted:
        start = time.perf_counter()
        out.say(f"\n{name}, size {size}", style="bold")
        command = _command(name, size, narrowed, seed)
        try:
            run(name, size, folder, seed=seed, n_jobs=jobs, options=options, command=command, out=out)
        except Skipped as reason:
            skipped[name] = str(reason)
            out.say(f"{name} was skipped: {reason}")
            continue
        out.say(f"{name}: {time.perf_counter() - start:.0f} s; results are in {folder}")
    done = [name for name in wanted if name not in skipped]
    out.result({"folder": folder, "size": size, "finished": done, "skipped": skipped})
    if skipped and len(skipped) == len(wanted):
        sys.exit(1)


def _command(name: str, size: str, options: dict[str, list[str]], seed: int) -> str:
    """Return the command that runs this experiment alone, without paths of this machine."""
    parts = ["swwl", "reproduce", name, "--size", size]
    for option, values in options.items():
        for value in values:
            parts += [f"--{option}", value]
    return shlex.join(parts + (["--seed", str(seed)] if seed else []))
