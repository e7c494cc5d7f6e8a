"""What one generated sample costs, beside one Cholesky factorization of 1000 rows timed in the same run."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import linalg

from benchmarks.measure import Line, best_times
from swwl import datasets
from swwl.datasets.folder import mesh_name

CASES = [("tensile2d", 900, 16), ("tensile2d", 9500, 3), ("airfoil", 12_000, 12), ("blade", 3000, 60)]


def run() -> Iterator[Line]:
    """Measure every set in one process, with the share of time that goes into writing."""
    (unit,) = best_times(lambda: linalg.cholesky(np.eye(1000) + 1e-3))
    for name, nodes, n_samples in CASES:
        start = time.perf_counter()
        samples = datasets.make_samples(name, n_samples, n_nodes=nodes)
        made = (time.perf_counter() - start) / n_samples
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "meshes").mkdir()
            start = time.perf_counter()
            for sample in samples:
                sample.mesh.write(Path(folder) / mesh_name(sample.index, "vtu"))
            written = (time.perf_counter() - start) / n_samples
        share, redrawn = written / (made + written), sum(sample.redraws for sample in samples)
        note = f"{1 / (made + written):.2f} a second and core, {share:.0%} writing, {redrawn} of {n_samples} redrawn"
        yield Line(f"{name}, {nodes} nodes / Cholesky of 1000 rows", (made + written) / unit, note=note)
