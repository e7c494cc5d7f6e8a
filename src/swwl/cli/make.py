"""``swwl make``: a folder of generated simulations."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from swwl.cli.console import AsJson, Force, Output, Processes, Quiet


class GeneratorName(StrEnum):
    """The generators of the command line."""

    tensile2d = "tensile2d"
    airfoil = "airfoil"
    blade = "blade"
    capacitor = "capacitor"
    channel = "channel"


class Format(StrEnum):
    """The formats of meshes."""

    vtu = "vtu"
    npz = "npz"


def make(
    name: Annotated[
        GeneratorName,
        typer.Argument(help="Notched plates, wing sections, rotor blades, pairs of conductors or flows around bodies."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to make, finish or extend.")],
    n: Annotated[int, typer.Option("-n", help="Number of simulations.")] = 200,
    nodes: Annotated[int | None, typer.Option(help="Nodes per mesh; the usual number by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed; the same seed gives the same data.")] = 0,
    random_topology: Annotated[
        bool, typer.Option("--random-topology", help="Give every mesh its own resolution.")
    ] = False,
    test_fraction: Annotated[float, typer.Option(help="Share of cases that are 'test' in column 'split'.")] = 0.2,
    file_format: Annotated[
        Format, typer.Option("--format", help="Meshes for ParaView and other tools, or for NumPy.")
    ] = Format.vtu,
    jobs: Processes = -1,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Generate simulations to learn from: meshes and a table.

    An interrupted run resumes where it stopped, and a folder with fewer simulations is extended.

    \b
    Example:
      swwl make blade -n 120 --nodes 1500 -o d
    """
    from swwl import datasets

    out = Output(quiet, as_json)
    table = datasets.write_dataset(
        name.value,
        n,
        output,
        n_nodes=nodes,
        random_state=seed,
        random_topology=random_topology,
        test_fraction=test_fraction,
        file_format=file_format.value,
        n_jobs=jobs,
        force=force,
        progress=out.progress(name.value),
    )
    generator = datasets.GENERATORS[name.value]
    out.say(f"{len(table)} simulations in {output}: {generator.model}")
    out.say(f"inputs    mesh, {', '.join(generator.scalars)}")
    out.say(f"targets   {', '.join(generator.targets)}")
    out.say(
        f"next:  swwl fit {quote(str(output / 'table.csv'))} --mesh mesh --target {generator.targets[0]} -o model.swwl"
    )
    out.result({"folder": output, "table": output / "table.csv", "rows": len(table), "columns": list(table.columns)})
