"""Make a data set: ``python -m swwl.datasets make tensile2d -n 200 --nodes 900 --seed 0 -o plates``."""

from __future__ import annotations

import argparse
import sys

from . import GENERATORS, Progress, write
from .meshfile import FORMATS


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when done, 2 for a mistake of the user, 130 when interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m swwl.datasets", description="Simulation data from scratch."
    )
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
    options = vars(parser.parse_args(arguments))
    del options["command"]
    try:
        table = write(**options, progress=Progress(options["name"]))
    except (ValueError, OSError) as mistake:
        print(f"error: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: the same command goes on from here", file=sys.stderr)
        return 130
    print(f"{len(table)} samples in {options['folder']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
