"""A prediction for one new mesh of 30 000 nodes, with a model of 1000 training meshes: from file to interval."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import meshio
import numpy as np
import pandas as pd

from benchmarks.measure import Line, best_times
from benchmarks.shapes import shell, shell_mesh
from swwl import Matern52, Mesh, PrincipalSWWL, RobustGPRegressor, load_model, read_graph

N_TRAIN, N_NODES = 1000, 30_000


def run() -> Iterator[Line]:
    """Fit, save, load, and time a prediction and its parts."""
    rng = np.random.default_rng(0)
    speed = rng.uniform(0.9, 1.1, N_TRAIN)
    meshes = [shell(N_NODES, seed) for seed in range(N_TRAIN)]
    height = np.array([np.ptp(mesh.features[:, 1]) for mesh in meshes])
    table = pd.DataFrame({"mesh": pd.Series(meshes, dtype=object), "speed": speed})
    start = time.perf_counter()
    kernel = PrincipalSWWL("mesh", n_components=16, n_jobs=2) * Matern52("speed")
    fitted = RobustGPRegressor(kernel, calibrate=False).fit(table, height * speed**2)
    yield Line("fit on 1000 meshes of 30 000 nodes, 16 components", time.perf_counter() - start, unit="s")
    with tempfile.TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "model.swwl")
        model = load_model(Path(folder) / "model.swwl")
        mesh = Mesh(*shell_mesh(N_NODES, N_TRAIN + 1))
        new, path = mesh.graph(), Path(folder) / "new.vtu"
        mesh.write(path)
        row = pd.DataFrame({"mesh": [str(path)], "speed": [1.0]})
        (factor, number), (train, numbers) = model.kernel_.factors, model.train_rows_
        phi = factor.represent([new])
        cross = factor.items(phi, train) + number.items(np.zeros(1), numbers)
        times = best_times(
            lambda: model.predict_interval(row),
            lambda: meshio.read(path),
            lambda: read_graph(path),
            lambda: factor.represent([new]),
            lambda: factor.items(phi, train),
            lambda: model.gps_[0].predict_interval(cross),
            repeats=5,
        )
        same = np.array_equal(model.predict(row), fitted.predict(row))
    whole, reading, graph, embed, distances, gp = (1e3 * t for t in times)
    note = f"loaded model predicts the same bits: {same}"
    yield Line("prediction beyond reading the file", whole - reading, 100, "ms", note)
    parts = {
        "read the file": reading,
        "check it, make the graph": graph - reading,
        "embed": embed,
        "distances": distances,
    }
    for name, value in (parts | {"Gaussian process": gp}).items():
        yield Line(f"  {name}", value, unit="ms")
