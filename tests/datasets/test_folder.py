"""Data sets on disk: the same bytes whatever happens on the way, and clear refusals."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import swwl
from swwl import Graph, datasets, read_graph, read_mesh
from swwl.datasets.generator import MAX_REDRAWS, Request, Unsolvable, draw, make_sample
from tests.datasets.quality import fingerprint

SMALL = {"tensile2d": 200, "airfoil": 500, "blade": 300}


@pytest.mark.parametrize("name", SMALL)
def test_same_seed_same_bytes(name, tmp_path):
    for folder, seed in (("one", 3), ("two", 3), ("other", 4)):
        datasets.write_dataset(name, 3, tmp_path / folder, n_nodes=SMALL[name], random_state=seed)
    one, two, other = (fingerprint(tmp_path / folder) for folder in ("one", "two", "other"))
    assert one == two
    assert set(one) == {"about.json", "table.csv", "shape.csv"} | {f"meshes/0000{i}.vtu" for i in range(3)}
    assert all(one[path] != other[path] for path in one)


@pytest.mark.slow
def test_processes_do_not_change_the_bytes(tmp_path):
    datasets.write_dataset("tensile2d", 4, tmp_path / "serial", n_nodes=900, n_jobs=1)
    datasets.write_dataset("tensile2d", 4, tmp_path / "parallel", n_nodes=900, n_jobs=2)
    assert fingerprint(tmp_path / "serial") == fingerprint(tmp_path / "parallel")


@pytest.mark.slow
def test_killed_run_resumes_to_the_same_bytes(tmp_path):
    """SIGKILL at an arbitrary moment, twice, then the same command to the end."""
    command = [
        sys.executable,
        "-m",
        "swwl",
        "make",
        "blade",
        "-n",
        "60",
        "--nodes",
        "1000",
        "--jobs",
        "1",
    ]
    environment = os.environ | {"PYTHONPATH": str(Path(swwl.__file__).parents[1])}
    broken = tmp_path / "broken"
    journal = broken / "unfinished.jsonl"
    runs = []
    for enough, jobs in ((5, "2"), (25, "1")):
        command[-1] = jobs
        runs.append(
            subprocess.Popen(
                [*command, "-o", broken], env=environment, stderr=subprocess.DEVNULL, start_new_session=True
            )
        )
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= enough):
            assert runs[-1].poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
        runs[-1].kill()  # the parent alone: its workers live on for a while
        runs[-1].wait()
    with open(journal, "a") as file:
        file.write('{"index": 59, "redr')  # a line that was being written
    with pytest.raises(FileNotFoundError, match="is unfinished, at"):
        datasets.load_dataset(broken)
    subprocess.run([*command, "-o", broken], env=environment, check=True, capture_output=True)
    datasets.write_dataset("blade", 60, tmp_path / "unbroken", n_nodes=1000)
    assert fingerprint(broken) == fingerprint(tmp_path / "unbroken")
    with contextlib.suppress(ProcessLookupError):
        os.killpg(runs[0].pid, signal.SIGKILL)


def test_any_leftover_resumes(tmp_path):
    """Every state that a dying run can leave behind ends with the same bytes."""
    whole = tmp_path / "whole"
    datasets.write_dataset("blade", 4, whole, n_nodes=300)
    expected = fingerprint(whole)

    def resumed(damage):
        folder = tmp_path / "damaged"
        shutil.copytree(whole, folder)
        damage(folder)
        datasets.write_dataset("blade", 4, folder, n_nodes=300)
        found = fingerprint(folder)
        shutil.rmtree(folder)
        return found

    def only_begun(folder):
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / ".about.json.17.part").write_text('{"gen')

    def only_about(folder):
        for path in (folder / "table.csv", folder / "shape.csv"):
            path.unlink()
        shutil.rmtree(folder / "meshes")

    def mesh_half_written(folder):
        (folder / "meshes" / "00002.vtu").rename(folder / "meshes" / ".00002.vtu.17.part")

    def journal_left(folder):
        (folder / "unfinished.jsonl").write_text("")

    for damage in (only_begun, only_about, mesh_half_written, journal_left, lambda folder: None):
        assert resumed(damage) == expected


def test_longer_run_extends_a_shorter_one(tmp_path):
    datasets.write_dataset("blade", 5, tmp_path / "grown", n_nodes=300)
    before = fingerprint(tmp_path / "grown")
    datasets.write_dataset("blade", 9, tmp_path / "grown", n_nodes=300)
    datasets.write_dataset("blade", 9, tmp_path / "direct", n_nodes=300)
    after = fingerprint(tmp_path / "grown")
    assert after == fingerprint(tmp_path / "direct")
    assert all(after[path] == digest for path, digest in before.items() if path.startswith("meshes"))


def test_finished_set_is_left_alone(tmp_path):
    datasets.write_dataset("blade", 3, tmp_path, n_nodes=300)
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "meshes").iterdir()}
    calls = []
    datasets.write_dataset("blade", 3, tmp_path, n_nodes=300, progress=lambda *numbers: calls.append(numbers))
    assert stamps == {path: path.stat().st_mtime_ns for path in (tmp_path / "meshes").iterdir()}
    assert calls == [(3, 3)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "airfoil", "n_nodes": 500}, "its generator is 'blade', expected 'airfoil'"),
        ({"random_state": 1}, "its seed is 0, expected 1"),
        ({"n_nodes": 400}, "its nodes is 300, expected 400"),
        ({"random_topology": True}, "its random_topology is False, expected True"),
        ({"file_format": "npz"}, "its format is 'vtu', expected 'npz'"),
        ({"n_samples": 2}, "holds 3 samples, more than the 2 requested"),
    ],
)
def test_another_data_set_is_refused(changed, message, tmp_path):
    usual = {"name": "blade", "n_samples": 3, "n_nodes": 300}
    datasets.write_dataset(**usual, folder=tmp_path)
    before = fingerprint(tmp_path)
    with pytest.raises(FileExistsError, match=message):
        datasets.write_dataset(**(usual | changed), folder=tmp_path)
    assert fingerprint(tmp_path) == before


def test_foreign_folder_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="holds no generated data set"):
        datasets.write_dataset("blade", 2, tmp_path, n_nodes=300)
    with pytest.raises(FileExistsError, match="is a file"):
        datasets.write_dataset("blade", 2, tmp_path / "thesis.tex", n_nodes=300)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "wing"}, "no generator 'wing'; choose from tensile2d, airfoil, blade"),
        ({"n_samples": 0}, "n_samples must be at least 1, found 0"),
        ({"n_nodes": 10}, "number of nodes must be from 200 to 100000 for blade, found 10"),
        ({"random_state": -1}, "seed must be a whole number of at least 0, found -1"),
        ({"random_state": 0.5}, "seed must be a whole number of at least 0, found 0.5"),
        ({"test_fraction": 1.5}, "test_fraction must be at least 0 and below 1, found 1.5"),
        ({"file_format": "stl"}, "must be one of vtu, npz, found 'stl'"),
        ({"n_jobs": 0}, "number of processes must be at least 1, or -1 for one per core, found 0"),
    ],
)
def test_bad_arguments(changed, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        datasets.write_dataset(**({"name": "blade", "n_samples": 2} | changed), folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_too_small_a_disk(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=10_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OSError, match=r"needs about 16\.5 GB, but only 10\.0 kB are free"):
        datasets.write_dataset("blade", 10_000, tmp_path / "new", n_nodes=30_000)
    assert not (tmp_path / "new").exists()


def test_table_and_meshes(tmp_path):
    table = datasets.write_dataset("airfoil", 5, tmp_path, n_nodes=500, test_fraction=0.4)
    assert table.columns.tolist() == ["mesh", "split", "incidence", "velocity", "lift", "drag"]
    assert table["split"].tolist() == ["train"] * 3 + ["test"] * 2
    samples = datasets.make_samples("airfoil", 5, n_nodes=500)
    for row, sample in zip(table.itertuples(), samples, strict=True):
        assert Path(row.mesh).is_absolute()
        mesh = read_mesh(row.mesh)
        np.testing.assert_array_equal(mesh.points, sample.points)
        np.testing.assert_array_equal(mesh.cells["triangle"], sample.cells["triangle"])
        np.testing.assert_array_equal(mesh.fields["pressure_coefficient"], sample.fields["pressure_coefficient"])
        assert (row.incidence, row.lift) == (sample.scalars["incidence"], sample.targets["lift"])
    shaped = datasets.load_dataset(tmp_path, shape=True)
    assert shaped.columns.tolist() == [*table.columns, "camber", "camber_position", "thickness"]
    assert shaped["camber"].tolist() == [sample.shape["camber"] for sample in samples]
    pd.testing.assert_frame_equal(table, datasets.load_dataset(tmp_path))
    raw = pd.read_csv(tmp_path / "table.csv")
    assert raw["mesh"][0] == "meshes/00000.vtu"


def test_npz_meshes(tmp_path):
    table = datasets.write_dataset("tensile2d", 1, tmp_path, n_nodes=200, file_format="npz")
    (sample,) = datasets.make_samples("tensile2d", 1, n_nodes=200)
    graph = read_graph(table["mesh"][0], fields=["von_mises"])
    np.testing.assert_array_equal(graph.features, np.column_stack([sample.points, sample.fields["von_mises"]]))
    assert graph.same_topology(Graph.from_cells(sample.points, sample.cells))


def test_about(tmp_path):
    datasets.write_dataset("blade", 2, tmp_path, n_nodes=300, random_state=7)
    about = json.loads((tmp_path / "about.json").read_text())
    assert (about["generator"], about["version"], about["seed"]) == ("blade", swwl.__version__, 7)
    assert about["scalars"]["pressure"] == [1.36, 1.46]
    assert (about["redrawn"], about["redraws"]) == (0, {})


def test_load_without_a_data_set(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no data set in .*table\.csv is missing"):
        datasets.load_dataset(tmp_path)
    (tmp_path / "table.csv").write_text("mesh,split,load\na.vtu,train,0.1\n")
    assert datasets.load_dataset(tmp_path)["load"].tolist() == [0.1]
    with pytest.raises(FileNotFoundError, match=r"does not say what drew its meshes: shape\.csv is missing"):
        datasets.load_dataset(tmp_path, shape=True)


def test_unsolvable_samples_are_redrawn_and_counted(tmp_path, monkeypatch):
    """A model that refuses a third of its range: others are drawn, the same ones each time, and solved."""
    blade = datasets.GENERATORS["blade"]

    def picky(inputs, nodes, aspect):
        if inputs["pressure"] > 1.42:
            raise Unsolvable("too hard")
        return blade.simulate(inputs, nodes, aspect)

    monkeypatch.setitem(datasets.GENERATORS, "blade", replace(blade, simulate=picky))
    table = datasets.write_dataset("blade", 20, tmp_path / "one", n_nodes=200)
    datasets.write_dataset("blade", 8, tmp_path / "two", n_nodes=200)
    datasets.write_dataset("blade", 20, tmp_path / "two", n_nodes=200)
    about = json.loads((tmp_path / "one" / "about.json").read_text())
    assert fingerprint(tmp_path / "one") == fingerprint(tmp_path / "two")
    assert about["redrawn"] == sum(about["redraws"].values()) >= len(about["redraws"]) > 3
    assert table["pressure"].max() <= 1.42
    design = draw(blade.ranges, 20, 0)
    untouched = [i for i in range(20) if str(i) not in about["redraws"]]
    assert all(table["pressure"][i] == design[i]["pressure"] for i in untouched)


def test_a_model_without_solutions_gives_up():
    def never(inputs, nodes, aspect):
        raise Unsolvable("always choked")

    request = Request(replace(datasets.GENERATORS["blade"], simulate=never), 300, 0, False)
    with pytest.raises(RuntimeError, match=f"Sample 4 of blade had no solution in {MAX_REDRAWS} redraws: always"):
        make_sample(request, 4, {})


def test_random_topology():
    """Node counts spread around the requested one, the physics stays."""
    usual, varied = (datasets.make_samples("blade", 8, n_nodes=1000, random_topology=flag) for flag in (False, True))
    assert len({len(s.points) for s in usual}) == 1
    counts = [len(s.points) for s in varied]
    assert len(set(counts)) > 5 and 450 < min(counts) < 900 and 1100 < max(counts) < 1550
    assert [s.targets for s in usual] == [s.targets for s in varied]
