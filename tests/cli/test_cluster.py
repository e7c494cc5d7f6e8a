"""``swwl embed --scheduler``: a cluster of two processes makes the same bytes, also if one of them is killed."""

import os
import pickle
import signal
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from swwl.embedding.stores import sampled
from swwl.errors import ClusterWarning
from swwl.jobs.embed import cluster_client
from swwl.mesh.io.convert import MeshFile
from swwl.storage.memory import Memory
from tests.cli.conftest import swwl
from tests.cli.test_embed import FEW, digests

distributed = pytest.importorskip("distributed", reason="needs dask: pip install swwl[dask]")
# Dask's own words while a worker that was killed is missed
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as found:
        yield found


def kill_one(client, store):
    """Kill a worker as soon as there is a shard."""
    (pid, *_) = client.run(os.getpid).values()
    deadline = time.monotonic() + 60
    while not list(Path(store).glob("*.npz")) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)


def test_a_cluster_makes_the_same_bytes_whoever_dies(cluster, data, tmp_path, monkeypatch):
    monkeypatch.setattr(sampled, "SHARD", 2)
    command = ["embed", data / "table.csv", *FEW, "-q"]
    swwl(*command, "-o", tmp_path / "alone")
    swwl(*command, "-o", tmp_path / "both", "--scheduler", cluster.scheduler_address)
    assert digests(tmp_path / "both") == digests(tmp_path / "alone")
    with distributed.Client(cluster, set_as_default=False) as client:
        killer = threading.Thread(target=kill_one, args=(client, tmp_path / "killed"))
        killer.start()
        swwl(*command, "-o", tmp_path / "killed", "--scheduler", cluster.scheduler_address)
        killer.join()
    assert digests(tmp_path / "killed") == digests(tmp_path / "alone")


def test_a_broken_mesh_is_named(cluster, data, tmp_path, monkeypatch):
    monkeypatch.setattr(sampled, "SHARD", 4)
    monkeypatch.setattr(sampled, "MOST_SAMPLED", 10)
    names = pd.read_csv(data / "table.csv")["mesh"]
    chosen = set(sampled.sample_rows(int((pd.read_csv(data / "table.csv")["split"] == "train").sum()), 0).tolist())
    row = next(row for row in range(40) if row not in chosen)
    (data / names[row]).write_text("not a mesh")
    said = swwl(
        "embed", data / "table.csv", *FEW, "-o", tmp_path / "s", "--scheduler", cluster.scheduler_address, code=2
    )
    assert Path(names[row]).name in said.stderr.replace("\n", "")


def test_nobody_answers(data, tmp_path):
    said = swwl("embed", data / "table.csv", *FEW, "-o", tmp_path / "s", "--scheduler", "tcp://127.0.0.1:9", code=2)
    assert "no Dask scheduler answers there" in " ".join(said.stderr.split())


def test_a_cluster_without_workers_is_told_of():
    with distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as empty:
        with pytest.warns(ClusterWarning, match="has no workers yet; waiting for the first .dask worker tcp"):
            cluster_client(empty.scheduler_address).close()


def test_files_and_memories_travel(tmp_path):
    """They hold locks, which cannot: Dask would wait for them forever."""
    again = pickle.loads(pickle.dumps(MeshFile(tmp_path / "a.vtu")))
    assert os.fspath(again) == str(tmp_path / "a.vtu")
    assert pickle.loads(pickle.dumps(Memory(tmp_path))).folder == tmp_path
