"""Samples per second of the generators, and which share of the time goes into writing them.

Run ``python benchmarks/datasets.py``.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.linalg

from swwl import datasets
from swwl.datasets.folder import mesh_name
from swwl.datasets.meshfile import write_mesh

CASES = [("tensile2d", 900, 16), ("tensile2d", 9500, 3), ("airfoil", 12_000, 12), ("blade", 3000, 60)]


def run() -> list[dict[str, float | str | int]]:
    """Measure every set in one process, print a line for each, and return the lines as records.

    Times mean little on shared machines, so each comes with a ratio to one Cholesky factorisation of 1000
    rows, timed in the same run.
    """
    unit = _cholesky_seconds()
    print(f"one Cholesky factorisation of 1000 rows: {1e3 * unit:.1f} ms")
    records: list[dict[str, float | str | int]] = []
    for name, nodes, n_samples in CASES:
        start = time.perf_counter()
        samples = datasets.make(name, n_samples, nodes=nodes)
        made = (time.perf_counter() - start) / n_samples
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "meshes").mkdir()
            start = time.perf_counter()
            for sample in samples:
                write_mesh(Path(folder) / mesh_name(sample.index, "vtu"), sample)
            written = (time.perf_counter() - start) / n_samples
        record: dict[str, float | str | int] = {
            "set": name,
            "nodes": nodes,
            "per_second": 1 / (made + written),
            "in_factorisations": (made + written) / unit,
            "share_of_writing": written / (made + written),
            "redrawn": sum(sample.redraws for sample in samples),
        }
        records.append(record)
        print(
            f"{name:10s} {nodes:6d} nodes: {record['per_second']:6.2f} samples per second and core "
            f"({record['in_factorisations']:.0f} factorisations each), "
            f"{record['share_of_writing']:.0%} writing"
        )
    return records


def _cholesky_seconds() -> float:
    matrix = np.eye(1000) + 1e-3
    times = []
    for _ in range(5):
        start = time.perf_counter()
        scipy.linalg.cholesky(matrix)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    run()
