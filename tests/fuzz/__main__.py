"""``python -m tests.fuzz --minutes 10``: spoil files for so long, keep those that a reader stumbles over."""

import argparse
import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path

from tests.fuzz.cases import Broken, check, make_case


def main():
    """Run cases one after the other; end with exit code 1 if any broke a promise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", default=str(int(time.time())), help="the same seed gives the same cases")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="folder for files that broke")
    parser.add_argument("--only", default="", choices=["", "solvers", "cad"], help="files of solvers, or CAD, alone")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    tracemalloc.start()
    end, number, broken = time.monotonic() + 60 * options.minutes, 0, 0
    counts, slowest, largest = Counter(), (0.0, ""), (0, "")
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            name, content, reader = make_case(number, options.seed, options.only)
            kind = Path(name).suffix[1:]
            try:
                refused, seconds, taken = check(name, content, reader, folder)
            except Broken as error:
                broken += 1
                options.keep.mkdir(exist_ok=True)
                kept = options.keep / f"{options.seed}-{number}-{name}"
                kept.write_bytes(content)
                print(f"{kept}: {error}", flush=True)
            else:
                counts[kind, "refused" if refused else "read"] += 1
                slowest, largest = max(slowest, (seconds, name)), max(largest, (taken, name))
            number += 1
    print(f"{number} files, {broken} of them broke a promise; {dict(counts)}")
    print(f"slowest {slowest[0]:.2f} s ({slowest[1]}), most memory {largest[0] / 1e6:.1f} MB ({largest[1]})")
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    main()
