"""``swwl demo``: the whole job on generated data, from nothing to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import Force, Output
from swwl.formatting import percent


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder for data, model, predictions, curves and report.")] = Path(
        "swwl-demo"
    ),
    n: Annotated[int, typer.Option("-n", help="Number of simulations.")] = 150,
    nodes: Annotated[int, typer.Option(help="Nodes per mesh.")] = 900,
    seed: Annotated[int, typer.Option(help="Seed of the simulations.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes and threads; -1 is one per core.")] = -1,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Simulate, learn, test and report, offline: about a minute.

    Notched plates under tension, each with a mesh, a material and a load of its own, are simulated by finite elements;
    the largest stress is learned with and without the meshes, and predicted for plates that were held out.

    \b
    Example:
      swwl demo
      swwl demo elsewhere -n 300 --nodes 2000
    """
    from swwl.jobs.demo import TARGET, run_demo

    out = Output(quiet, as_json)
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
