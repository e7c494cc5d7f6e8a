"""A prediction for one new mesh: ``swwl predict`` from a shell, and of 30 000 nodes, from file to interval."""

import os
import subprocess
import sys
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
from swwl.datasets import write_dataset

N_TRAIN, N_NODES = 1000, 30_000


def run() -> Iterator[Line]:
    """Time the command, then fit, save, load, and time a prediction and its parts."""
    yield from command()
    yield from parts()


def command() -> Iterator[Line]:
    """Time ``swwl predict`` of one mesh, all imports included, beside the imports that it cannot do without."""
    with tempfile.TemporaryDirectory() as folder:
        table = write_dataset("blade", 60, Path(folder) / "d", n_nodes=300, random_state=0)
        model, mesh, (speed, pressure) = Path(folder) / "m.swwl", table["mesh"][0], table[["speed", "pressure"]].iloc[0]
        RobustGPRegressor().fit(table[["mesh", "speed", "pressure"]], table["efficiency"]).save(model)
        words = ["-m", "swwl", "predict", str(model), "--mesh", str(mesh), f"speed={speed}", f"pressure={pressure}"]
        # As installed: modules are compiled once.
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        whole, floor = best_times(
            *(
                lambda words=words: subprocess.run(
                    [sys.executable, *words], env=environment, stdout=subprocess.DEVNULL, check=True
                )
                for words in (words, ["-c", "import numpy, pandas"])
            ),
            timer=lambda: sum(os.times()[2:4]),  # of processes that have ended, all their threads
        )
    yield Line("swwl predict of one mesh, CPU", whole, unit="s", note=f"import numpy, pandas: {floor:.2f} s")
    yield Line("swwl predict of one mesh / import numpy, pandas, CPU", whole / floor, 3)


def parts() -> Iterator[Line]:
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
    shares = {
        "read the file": reading,
        "check it, make the graph": graph - reading,
        "embed": embed,
        "distances": distances,
    }
    for name, value in (shares | {"Gaussian process": gp}).items():
        yield Line(f"  {name}", value, unit="ms")
