"""Run the benchmarks and print them as one table: ``python -m benchmarks [module …]``."""

import argparse
import importlib
import sys

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
    asked = parser.parse_args().modules
    if unknown := [name for name in asked if name not in MODULES]:
        parser.error(f"no benchmark {', '.join(unknown)}: there are {', '.join(MODULES)}")
    failed = 0
    for name in asked or MODULES:
        for line in importlib.import_module(f"benchmarks.{name}").run():
            print(line, flush=True)
            failed += line.failed
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
