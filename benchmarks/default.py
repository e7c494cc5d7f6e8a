"""The default model beside principal SWWL: fits from kept embeddings, the size of its file, one prediction."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import Line, best_times
from benchmarks.shapes import shell_mesh
from swwl import Matern52, Mesh, PrincipalSWWL, RobustGPRegressor, load_model, read_mesh
from swwl.regression.candidates import default_kernels

N_TRAIN, N_NODES = 1000, 30_000


def run() -> Iterator[Line]:
    """Write the meshes to files, embed them, and fit again from what is kept."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths, heights = [], []
        for seed in range(N_TRAIN + 1):
            mesh = Mesh(*shell_mesh(N_NODES, seed))
            paths.append(folder / f"{seed}.vtu")
            heights.append(float(np.ptp(mesh.points[:, 1])))
            mesh.write(paths[-1])
        speed = rng.uniform(0.9, 1.1, N_TRAIN)
        table = pd.DataFrame({"mesh": [str(path) for path in paths[:-1]], "speed": speed})
        lift = np.array(heights[:-1]) * speed**2 + 0.01 * np.sin(9 * speed)
        principal = PrincipalSWWL("mesh", n_jobs=2) * Matern52("speed")
        kernels: dict[str, Any] = {"principal": principal, "default": default_kernels(table, n_jobs=2)}
        seconds, models, cpu = {}, {}, {}
        for title, kernel in kernels.items():
            for kept in (False, True):
                start, busy = time.perf_counter(), time.process_time()
                models[title] = RobustGPRegressor(kernel).fit(table, lift, memory=folder / "kept")
                seconds[title, kept] = time.perf_counter() - start
                cpu[title, kept] = time.process_time() - busy
            yield Line(f"{title}: first fit on {N_TRAIN} files of {N_NODES} nodes", seconds[title, False], unit="s")
            yield Line(f"{title}: fit from kept embeddings", seconds[title, True], unit="s")
        yield Line(
            "default / principal, from kept embeddings", seconds["default", True] / seconds["principal", True], 3
        )
        yield Line("default / principal, first fit", seconds["default", False] / seconds["principal", False])
        three = np.column_stack([lift, np.array(heights[:-1]) * speed, np.sqrt(heights[:-1]) / speed])
        for kept, words in ((False, "first fit"), (True, "from kept embeddings")):
            busy = time.process_time()
            RobustGPRegressor(kernels["default"]).fit(table, three, memory=folder / "again")
            ratio = (time.process_time() - busy) / cpu["default", kept]
            yield Line(f"default: three targets / one, CPU, {words}", ratio, None if kept else 1.6)
        yield from predictions(models["default"], str(paths[-1]), folder)


def predictions(model: RobustGPRegressor, path: str, folder: Path) -> Iterator[Line]:
    """Save, load, and time the prediction of a new mesh beside the reading of its file."""
    file = folder / "model.swwl"
    model.save(file)
    yield Line("size of the default model's file", file.stat().st_size / 1e6, 40, "MB")
    loaded = load_model(file)
    row = pd.DataFrame({"mesh": [path], "speed": [1.0]})
    whole, reading = best_times(lambda: loaded.predict_interval(row), lambda: read_mesh(path), repeats=5)
    same = np.array_equal(loaded.predict(row), model.predict(row))
    note = f"loaded model predicts the same bits: {same}"
    yield Line("default: prediction beyond reading the file, 2 threads", 1e3 * (whole - reading), 60, "ms", note)
