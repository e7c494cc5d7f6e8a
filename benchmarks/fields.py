"""Whole fields at the size of industrial meshes: training on 300 meshes of 30 000 nodes, new meshes up to 180 000.

``python -m benchmarks fields`` takes some ten minutes on two cores; ``python -m benchmarks.fields 20`` trains on fewer.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import Line, best_times, peak_memory
from swwl import FieldRegressor, Mesh
from swwl.fields.scores import field_score

N_TRAIN, N_TEST, N_NODES = 300, 4, 30_000
SIZES = (30_000, 60_000, 180_000)  # of new meshes


def sheet(n_nodes: int, seed: int) -> tuple[Mesh, float]:
    """Return a bent sheet of triangles with a pressure, and the speed that made it; no two share their topology."""
    rng = np.random.default_rng(seed)
    width, depth, phase, speed = rng.uniform([0.5, 0.1, 0.0, 0.8], [1.5, 0.5, 1.0, 1.2])
    across = int(np.sqrt(n_nodes * rng.uniform(0.7, 1.4)))
    along = n_nodes // across
    u, v = (part.ravel() for part in np.meshgrid(np.linspace(0, 1, along), np.linspace(0, 1, across)))
    height = depth * np.sin(3 * u + phase) * np.cos(2 * v)
    corner = (np.arange(across - 1)[:, None] * along + np.arange(along - 1)).ravel()
    opposite = corner + along + 1
    cells = np.vstack([np.c_[corner, corner + 1, opposite], np.c_[corner, opposite, corner + along]])
    pressure = speed**2 * (1 - 4 * depth * np.cos(3 * u + phase) * np.sin(2 * v + width)) + height
    points = np.column_stack([u, width * v, height])
    return Mesh(points, {"triangle": cells}, {"pressure": pressure}), speed


def run(n_train: int = N_TRAIN) -> Iterator[Line]:
    """Write the meshes to files, train, and predict new ones of several sizes."""
    with tempfile.TemporaryDirectory() as name:
        rows = []
        for seed in range(n_train + N_TEST):
            mesh, speed = sheet(N_NODES, seed)
            mesh.write(Path(name) / f"{seed}.vtu")
            rows.append({"mesh": str(Path(name) / f"{seed}.vtu"), "speed": speed})
        table = pd.DataFrame(rows)
        start, used = time.perf_counter(), time.process_time()
        model = FieldRegressor(n_jobs=2).fit(table[:n_train], "pressure")
        seconds, used = time.perf_counter() - start, time.process_time() - used
        title = f"fields: training, {n_train} files of {N_NODES} nodes"
        yield Line(title, seconds, 1800, "s", f"{used:.0f} s of CPU in 2 threads")
        yield Line("fields: peak of memory", peak_memory(), 8000, "MB")
        new = table[n_train:]
        found = model.predict(new, widen=False)
        truth = [sheet(N_NODES, seed)[0].fields["pressure"] for seed in range(n_train, n_train + N_TEST)]
        error = field_score(truth, [one["pressure"] for one in found]).rrmse
        yield Line(f"fields: RRMSE of {N_TEST} new meshes", error)
    yield from growth(model)


def growth(model: FieldRegressor) -> Iterator[Line]:
    """Predict one mesh of each size."""
    cases = []
    for n in SIZES:
        mesh, speed = sheet(n, 10_000)
        cases.append(pd.DataFrame({"mesh": [mesh], "speed": [speed]}))
    times = best_times(*(lambda case=case: model.predict(case, True, widen=False) for case in cases), repeats=2)
    for n, seconds in zip(SIZES, times, strict=True):
        yield Line(f"fields: prediction of one mesh of {n} nodes", seconds, 15 if n == N_NODES else None, "s")
    first, *others = zip(SIZES, times, strict=True)
    for n, seconds in others:
        ratio = seconds / first[1] / (n * np.log(n) / (first[0] * np.log(first[0])))
        yield Line(f"fields: growth from {first[0]} to {n} nodes over n log n", ratio, 1.1)
    yield Line("fields: peak of memory with predictions", peak_memory(), 8000, "MB")


if __name__ == "__main__":
    for line in run(int(sys.argv[1])):
        print(line, flush=True)
