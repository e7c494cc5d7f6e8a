"""Twenty thousand mesh files to a model with one command, killed on the way and started again.

``python -m benchmarks.many DIR`` writes 20 000 blobs of 257 nodes to DIR (``benchmarks/meshes.py``) and runs ``swwl
fit`` on their table: once killed with SIGKILL when a third of the shards are there and run again, once without a break,
and once on 2000 of the meshes. ``python -m benchmarks.many DIR 5000 --kernel auto``: fewer meshes and other options.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import Line
from benchmarks.meshes import main as write_meshes
from swwl import load_model

OPTIONS = ("--kernel", "principal", "-Q", "100", "--components", "12")
TARGETS = ("flow", "stiffness")


def measure(folder: Path, n: int, options: Sequence[str]) -> Iterator[Line]:
    """Fit killed, unbroken and with fewer meshes; compare stores, models and errors."""
    if not (folder / "table.csv").exists():
        write_meshes(folder, n)
    cache, broken = folder / ".swwl-cache", folder / "store-of-the-killed-run"
    for old in (cache, broken):
        shutil.rmtree(old, ignore_errors=True)
    begin = time.perf_counter()
    n_shards = -(-len(pd.read_csv(folder / "table.csv")) // 256)
    n_killed = _kill_at(_command(folder, "table.csv", "killed.swwl", options), cache, n_shards // 3)
    _run(_command(folder, "table.csv", "killed.swwl", options))
    yield Line("fit, killed once", time.perf_counter() - begin, unit="s", note=f"at {n_killed} of {n_shards} shards")
    cache.rename(broken)
    begin = time.perf_counter()
    whole = _run(_command(folder, "table.csv", "whole.swwl", options))
    yield Line("fit, unbroken", time.perf_counter() - begin, unit="s")
    yield Line("files of the store that differ", _differing(broken, cache), 0, "")
    new = pd.read_csv(folder / "table.csv").query("split == 'test'")
    new = new.assign(mesh=[str(folder / name) for name in new["mesh"]])
    found = [load_model(folder / name).predict(new[:200]) for name in ("killed.swwl", "whole.swwl")]
    yield Line("predictions that differ", float((found[0] != found[1]).sum()), 0, "")
    few = _run(_command(folder, "few.csv", "few.swwl", options))
    for target in TARGETS:
        pair = [_error(facts, target) for facts in (whole, few)]
        note = f"{pair[0]:.4f} / {pair[1]:.4f}, deviation {new[target].std():.3f}"
        yield Line(f"{target}: RMSE of {n} / of 2000", pair[0] / pair[1], 1, note=note)


def _command(folder: Path, table: str, model: str, options: Sequence[str]) -> list[str]:
    targets = [word for name in TARGETS for word in ("--target", name)]
    return [sys.executable, "-m", "swwl", "fit", str(folder / table), *targets, "-o", str(folder / model), *options]


def _kill_at(command: Sequence[str], cache: Path, count: int) -> int:
    """Start a command and kill it, with all it started, once so many shards are there; return how many there were."""
    process = subprocess.Popen([*command, "--quiet"], start_new_session=True)
    while (found := len(list(cache.glob("store-*/[!.]*.npz")))) < count and process.poll() is None:
        time.sleep(0.05)
    if process.poll() is not None:
        raise SystemExit("It ended before it could be killed.")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return found


def _run(command: Sequence[str]) -> dict[str, object]:
    """Run a command to its end; return the scores that the model keeps of its held-out rows."""
    subprocess.run([*command, "--quiet"], check=True)
    return load_model(command[command.index("-o") + 1]).metadata_["held_out"]


def _error(held_out: dict[str, object], target: str) -> float:
    place = TARGETS.index(target)
    error = np.asarray(held_out["targets"])[:, place] - np.asarray(held_out["mean"])[:, place]
    return float(np.sqrt(np.mean(error**2)))


def _differing(first: Path, second: Path) -> int:
    """Return how many files of two stores are not the same, byte for byte."""
    names = [{path.name: path for path in folder.glob("store-*/[!.]*")} for folder in (first, second)]
    same = [
        name for name in names[0] if name in names[1] and names[0][name].read_bytes() == names[1][name].read_bytes()
    ]
    return len(set(names[0]) | set(names[1])) - len(same)


if __name__ == "__main__":
    for line in measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20_000, sys.argv[3:] or OPTIONS):
        print(line, flush=True)
