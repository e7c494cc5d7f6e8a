"""Make, coarsen or look at data sets.

::

    python -m swwl.datasets make tensile2d -n 200 --nodes 900 --seed 0 -o plates
    python -m swwl.datasets coarsen plates coarse_plates --nodes 300
    python -m swwl.datasets coarsen blade.vtu coarse.vtu --nodes 1000
    python -m swwl.datasets info plates
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from . import GENERATORS, Progress, coarsen, coarsen_dataset, load, load_plaid, write
from .coarsen import read_triangles
from .meshfile import FORMATS, write_mesh
from .sample import Simulation


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when done, 2 for a mistake of the user, 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="python -m swwl.datasets", description="Simulation data from scratch.")
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="make a data set in a folder, or finish one that was interrupted")
    make.add_argument("name", choices=list(GENERATORS))
    make.add_argument("-n", dest="n_samples", type=int, default=100, help="samples (100)")
    make.add_argument("--nodes", type=int, help="nodes per mesh; the usual number by default")
    make.add_argument("--seed", type=int, default=0)
    make.add_argument("-o", dest="folder", required=True, help="folder to make")
    make.add_argument("--random-topology", action="store_true", help="a resolution of its own for every mesh")
    make.add_argument("--test-fraction", type=float, default=0.2, help="share of test samples (0.2)")
    make.add_argument("--format", dest="file_format", choices=FORMATS, default="vtu")
    make.add_argument("--jobs", type=int, default=-1, help="processes; one per core by default")
    coarser = commands.add_parser("coarsen", help="fewer nodes for a mesh or for all meshes of a data set")
    coarser.add_argument("source", metavar="IN", help="mesh file, data folder or PLAID folder")
    coarser.add_argument("out", metavar="OUT", help="file (.vtu or .npz) or folder to make")
    coarser.add_argument("--nodes", type=int, required=True, help="wanted number of nodes, met within 10 %%")
    coarser.add_argument("--tolerance", type=float, default=0.02, help="largest change of areas and volumes (0.02)")
    coarser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    info = commands.add_parser("info", help="what a data folder or a PLAID folder holds")
    info.add_argument("folder")
    options = vars(parser.parse_args(arguments))
    commands_by_name: dict[str, Callable[..., str]] = {"make": _make, "coarsen": _coarsen, "info": _info}
    run = commands_by_name[options.pop("command")]
    try:
        print(run(**options))
    except (ValueError, OSError, ImportError) as mistake:
        print(f"error: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def _make(name: str, folder: str, **options: Any) -> str:
    table = write(name, folder=folder, **options, progress=Progress(name))
    return f"{len(table)} samples in {folder}"


def _coarsen(source: str, out: str, nodes: int, tolerance: float, jobs: int) -> str:
    if Path(source).is_dir():
        progress = Progress("coarsen")
        table = coarsen_dataset(source, out, nodes, tolerance=tolerance, jobs=jobs, progress=progress)
        return f"{len(table)} meshes in {out}"
    path = Path(out)
    if path.suffix.removeprefix(".") not in FORMATS:
        raise ValueError(f"{out}: a coarsened mesh is written to a file that ends in .{' or .'.join(FORMATS)}.")
    before, mesh = read_triangles(source), coarsen(source, nodes, tolerance=tolerance)
    write_mesh(path, Simulation(mesh.points, {"triangle": mesh.cells[0].data}, dict(mesh.point_data), {}))
    return f"{len(before.points)} nodes -> {len(mesh.points)} in {out}"


def _info(folder: str) -> str:
    table = load(folder) if (Path(folder) / "table.csv").exists() else load_plaid(folder)
    splits = ", ".join(f"{count} {name or 'without a split'}" for name, count in table["split"].value_counts().items())
    scalars = table.drop(columns=["mesh", "split"])
    lines = [f"{len(table)} samples: {splits}"]
    for name, values in scalars.items():
        given = pd.to_numeric(values).dropna()
        missing = f", {len(values) - len(given)} missing" if len(given) < len(values) else ""
        lines.append(f"  {name}: {given.min():g} to {given.max():g}{missing}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
