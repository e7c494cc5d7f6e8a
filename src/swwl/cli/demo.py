"""``swwl demo``: the whole job on generated data, from nothing to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import Output
from swwl.errors import InputError


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder for data, model, predictions, curves and report.")] = Path(
        "swwl-demo"
    ),
    n: Annotated[int, typer.Option("-n", help="Number of simulations.")] = 150,
    nodes: Annotated[int, typer.Option(help="Nodes per mesh.")] = 900,
    seed: Annotated[int, typer.Option(help="Seed of the simulations.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes and threads; -1 is one per core.")] = -1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Generate simulations, learn from them, test, and write a report: about a minute, offline.

    Notched plates under tension, each with a mesh, a material and a load of its own, are simulated by finite elements;
    the largest stress is learned with and without the meshes, and predicted for plates that were held out.

    \b
    Example:
      swwl demo
      swwl demo elsewhere -n 300 --nodes 2000
    """
    if n < 40:
        raise InputError(f"-n must be at least 40 to have something to learn from and to test, but is {n}.")
    from swwl.jobs.demo import run

    run(Output(quiet, as_json), folder, n, nodes, seed, jobs)
