"""``swwl demo``: the whole job on generated data, from nothing to a report."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from swwl.cli.console import AsJson, Force, Output, Quiet
from swwl.errors import InputError
from swwl.formatting import percent


def demo(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Folder for data, model, predictions and report: swwl-demo, or swwl-own-files with --own-files.",
            show_default=False,
        ),
    ] = None,
    own_files: Annotated[
        bool,
        typer.Option("--own-files", help="Write 36 small STL parts and a CSV table, and run the commands for them."),
    ] = False,
    n: Annotated[int, typer.Option("-n", help="Number of simulations.")] = 150,
    nodes: Annotated[int, typer.Option(help="Nodes per mesh.")] = 900,
    seed: Annotated[int, typer.Option(help="Seed of the simulations.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes and threads; -1 is one per core.")] = -1,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Simulate, learn, test and report, offline: about a minute.

    Notched plates under tension, each with its own mesh, material and load, are simulated by finite elements;
    the largest stress is learned with and without the meshes, and predicted for plates that were held out.
    With --own-files there are files as users have them instead, parts in STL files and a table, and the commands that
    check, fit, predict and report are printed and run: files of your own go in the same place.

    \b
    Example:
      swwl demo
      swwl demo elsewhere -n 300 --nodes 2000
      swwl demo --own-files
    """
    from swwl.jobs.demo import TARGET, run_demo

    out = Output(quiet, as_json)
    if own_files:
        options = {"n": "-n", "nodes": "--nodes", "seed": "--seed", "jobs": "--jobs"}
        if given := [option for name, option in options.items() if _given(context, name)]:
            raise InputError(
                f"--own-files cannot be combined with {' or '.join(given)}: its files are always the same."
            )
        _own_files(context, folder or Path("swwl-own-files"), force, out)
        return
    folder = folder or Path("swwl-demo")
    out.say(f"{n} notched plates under tension, simulated by finite elements of plane-stress elasto-viscoplasticity")
    found = run_demo(
        folder,
        n_samples=n,
        n_nodes=nodes,
        seed=seed,
        n_jobs=jobs,
        force=force,
        tell=lambda model: out.say(f"fitting {model}"),
        progress=out.progress,
    )
    out.table(
        f"largest von Mises stress (MPa) of {found.n_test} plates held out; {found.n_train} were learned from",
        ["model", "RMSE", "Q²", "inside 95 %", "mean width"],
        [
            [
                row["model"],
                f"{row['rmse']:.2f}",
                f"{row['q2']:.3f}",
                percent(row["coverage"]),
                f"{row['width']:.1f}",
            ]
            for row in found.scores
        ],
    )
    out.say("the default mixes several kernels, with weights by cross-validation.\n")
    for name, path in found.files.items():
        out.say(f"{name:<14}{path}")
    out.say(f"\ndone in {found.seconds:.0f} s. Next, open the report, then try")
    out.say(f"  swwl info {found.files['model']}")
    out.say(f"  swwl fit {found.table} --mesh mesh --target {TARGET} -o mine.swwl")
    out.say(f"  swwl predict mine.swwl {found.table} -o mine.csv")
    out.say(f"  swwl serve {found.files['model']} --open")
    out.result({"scores": found.scores, "seconds": found.seconds} | found.files)


def _given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _own_files(context: typer.Context, folder: Path, force: bool, out: Output) -> None:
    """Write the files, then print every command and run it; a folder may be run in again."""
    import pandas as pd

    from swwl.jobs.demo import ANSWER, write_own_files

    found = write_own_files(folder, force)
    known, new = found.table.name, found.new.name
    out.say(f"{folder} holds parts in STL files, {known} with what each was loaded with and how far it bent, and {new}")
    out.say("with parts to predict. Paths in tables are relative to them.")
    silent = ["--quiet"] if out.quiet or out.as_json else []
    for words in found.commands:
        out.say("\n$ " + " ".join(map(quote, ["swwl", *words])), style="bold")
        command = context.find_root().command
        with command.make_context("swwl", [*words, *silent]) as inner:
            command.invoke(inner)
    predicted = pd.read_csv(folder / "predictions.csv")
    answers = predicted[["part", f"{ANSWER}_mean", f"{ANSWER}_lower95", f"{ANSWER}_upper95"]]
    rows = answers.assign(known=found.answers).to_numpy().tolist()
    out.table(f"{ANSWER} of the new parts", ["part", "predicted", "from", "to", "beam theory"], rows)
    out.say(f"\nFor your own parts, replace the files in {folder / 'parts'}, the numbers in {known}")
    out.say(f"and the column to predict, {ANSWER}, and run the four commands above.")
    columns = ["part", "mean", "lower95", "upper95", "answer"]
    out.result({"commands": found.commands, "parts": [dict(zip(columns, row, strict=True)) for row in rows]})
