"""Run the benchmarks and print them as one table: ``python -m benchmarks [module …]``."""

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
    "serve",
    "sensitivity",
    "fields",
    "laws",
    "bodies",
)


def main() -> int:
    """Print a line per measurement; return 1 if any exceeds its limit."""
    failed = 0
    for name in sys.argv[1:] or MODULES:
        for line in importlib.import_module(f"benchmarks.{name}").run():
            print(line, flush=True)
            failed += line.failed
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
