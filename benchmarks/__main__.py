"""Run the benchmarks and print them as one table: ``python -m benchmarks [module …]``.

``--record FILE`` appends each measurement to a file as soon as it is made; ``--compare [FILE]`` says at the end what is
worse than it was there on a machine of the same kind, by more than a quarter.
"""

import argparse
import importlib
import sys
from pathlib import Path

from benchmarks.history import last_rows, machine_kind, record, rows_of

HISTORY = Path(__file__).with_name("history.csv")

MODULES = (
    "embedding",
    "reading",
    "gp",
    "predict",
    "datasets",
    "default",
    "scale",
    "domain",
    "invariance",
    "design",
    "chance",
    "improve",
    "serve",
    "sensitivity",
    "fields",
    "whole",
    "transient",
    "curves",
    "laws",
    "together",
    "bodies",
)


def main() -> int:
    """Print a line per measurement; return 1 if any exceeds its limit."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Print costs beside their limits, and what for."
    )
    parser.add_argument(
        "modules", nargs="*", metavar="module", help=f"one or several of {', '.join(MODULES)}; else all"
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="append what is measured to this CSV file")
    parser.add_argument(
        "--compare", type=Path, nargs="?", const=HISTORY, metavar="FILE", help="say what is worse than in this file"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.modules if name not in MODULES]:
        parser.error(f"no benchmark {', '.join(unknown)}: there are {', '.join(MODULES)}")
    before = last_rows(options.compare, machine_kind()) if options.compare else {}
    failed, compared, worse = 0, 0, []
    for name in options.modules or MODULES:
        for line, row in rows_of(name, importlib.import_module(f"benchmarks.{name}").run()):
            print(line, flush=True)
            failed += line.failed
            if options.record:
                record(options.record, row)
            if earlier := before.get((row.module, row.name)):
                compared += line.limit is not None
                worse += filter(None, [row.compared(earlier)])
    if options.compare:
        print(f"\n{compared} lines compared with {options.compare} ({machine_kind()}); worse by more than a quarter:")
        print("\n".join(worse) or "none")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
