"""A small model of plates, its files, and clients of a server in this process."""

import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from starlette.testclient import TestClient

from swwl import SWWL, Matern52, Mesh, RobustGPRegressor
from swwl.serve.http.app import make_app
from swwl.serve.http.limits import Limits
from swwl.serve.http.server import listen, make_protocol
from swwl.serve.models import load_served
from tests.helpers import plate

LIMITS = Limits(body=2_000_000, nodes=5000, rows=500, at_work=2, seconds=60, read_seconds=5, head_seconds=5)


@pytest.fixture(scope="session")
def plates(tmp_path_factory):
    """A folder with data/table.csv, data/meshes and model.swwl, which knows its meshes; do not change it."""
    folder = tmp_path_factory.mktemp("plates")
    (folder / "data" / "meshes").mkdir(parents=True)
    rng = np.random.default_rng(0)
    widths, loads = rng.uniform(1, 2, 24), rng.uniform(1, 3, 24)
    names = []
    for number, width in enumerate(widths):
        points, cells = plate(60, seed=number)
        names.append(f"meshes/{number:03d}.vtu")
        fields = {"stress": points[:, 0], "shift": points * 2}
        Mesh(points * [width, 1], {"triangle": cells}, fields).write(folder / "data" / names[-1])
    table = pd.DataFrame({"mesh": names, "load": loads, "stretch": widths * loads, "area": widths})
    table.to_csv(folder / "data" / "table.csv", index=False)
    train = table.assign(mesh=[folder / "data" / name for name in names])
    kernel = SWWL("mesh", n_iterations=0, n_projections=6, n_quantiles=10, n_jobs=1) * Matern52("load")
    model = RobustGPRegressor(kernel, calibrate=False).fit(train, ["stretch", "area"])
    known = {"rows": list(range(24)), "meshes": {"mesh": names}, "nodes": []}
    model.metadata_ = {"table": "data/table.csv", "split": "all rows", "n_rows": 24, "ignored": {}, "train": known}
    model.save(folder / "model.swwl")
    return folder


def client_of(folder, limits=LIMITS, meshes=True, **options):
    """Return a client of a server of its own, to be used as a context."""
    models = load_served([folder / "model.swwl"], folder if meshes else None)
    app = make_app(models, folder if meshes else None, limits=limits, **options)
    return TestClient(app, base_url="http://127.0.0.1")


def serving(folder, limits=LIMITS, others=(), **options):
    """Serve a folder's model and others on a real socket, in a thread, and return the port."""
    return served_by(load_served([folder / "model.swwl", *others], folder), folder, limits=limits, **options)


@contextmanager
def served_by(models, meshes=None, limits=LIMITS, **options):
    """Serve models on a real socket, in a thread, and return the port."""
    import uvicorn

    app = make_app(models, meshes, limits=limits, **options)
    config = uvicorn.Config(app, http=make_protocol(limits), ws="none", log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    listening = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture(scope="session")
def client(plates):
    """A client that all tests share, and with it a server that goes on after whatever it was asked."""
    with client_of(plates) as found:
        yield found
