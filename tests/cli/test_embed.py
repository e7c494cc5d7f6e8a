"""``swwl embed``: shards that survive kills, the same bytes whoever makes them, and fits that read them."""

import hashlib
import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, load_model, read_embeddings
from swwl.embedding.stores import sampled
from swwl.embedding.stores.store import Store
from swwl.errors import InputError
from tests.cli.conftest import start, swwl

FEW = ["-P", "8", "-Q", "20", "--jobs", "1"]


@pytest.fixture
def small(monkeypatch):
    """Shards of eight meshes, components of a sample of twenty."""
    monkeypatch.setattr(sampled, "SHARD", 8)
    monkeypatch.setattr(sampled, "MOST_SAMPLED", 20)


def digests(folder):
    """Of all finished files; what a killed worker had begun is swept away an hour later."""
    finished = [file for file in sorted(Path(folder).iterdir()) if not file.name.startswith(".")]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in finished}


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_store_is_made_gone_on_with_and_read(data, tmp_path):
    table, store = data / "table.csv", tmp_path / "store"
    few = [*FEW, "--kernel", "principal"]
    said = swwl("embed", table, "-o", store, *few).output
    assert "40, 40 embedded now, 0 left out" in said
    assert "shards    5, 0 still to do" in said
    first = digests(store)
    assert len([name for name in first if name.endswith(".npz")]) == 5
    lost = next(name for name in first if name.endswith(".npz"))
    (store / lost).unlink()
    (store / "manifest.json").unlink()
    (store / f".{lost}.x.part").write_bytes(b"half a shard")
    assert "40, 8 embedded now" in swwl("embed", table, "-o", store, *few).output
    (store / f".{lost}.x.part").unlink()
    assert digests(store) == first
    # the same answer as without, up to single precision of what is kept
    options = ["--target", "efficiency", *few, "--components", "2", "--solver", "vecchia", "-q"]
    swwl("fit", table, *options, "--embeddings", store, "-o", tmp_path / "a.swwl")
    swwl("fit", table, *options, "--no-cache", "-o", tmp_path / "b.swwl")
    swwl("fit", table, *options, "-o", tmp_path / "c.swwl")  # makes a store of its own beside the table
    frame = pd.read_csv(table)
    frame["mesh"] = [str(data / name) for name in frame["mesh"]]
    means = [load_model(tmp_path / f"{name}.swwl").predict(frame) for name in "abc"]
    np.testing.assert_allclose(means[1], means[0], rtol=1e-5)
    np.testing.assert_array_equal(means[2], means[0])
    (known,) = read_embeddings(store)
    assert [str(path) for path in known.paths] == frame["mesh"].tolist()
    rows = known.embedding.transform(known.paths)
    np.testing.assert_allclose(known.transform(known.paths), known.coordinates, rtol=1e-5, atol=1e-6)
    # distances of rows, of which coordinates leave little
    exact, found = (np.linalg.norm(own[:1] - own, axis=1) for own in (rows, known.coordinates))
    assert (np.abs(exact - found) <= known.left[0] + known.left + 1e-6).all()
    assert np.median(known.left) < 0.5 * np.median(exact)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_job_array_makes_the_same_store(made, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    swwl("embed", made / "table.csv", "-o", whole, *FEW)
    for part in ("2/3", "1/3"):
        assert "still to do" in swwl("embed", made / "table.csv", "-o", parts, "--shard", part, *FEW).output
        assert not (parts / "manifest.json").exists()
        with pytest.raises(InputError, match="not a store, or swwl embed has not finished it"):
            Store(parts)
    swwl("embed", made / "table.csv", "-o", parts, "--shard", "3/3", *FEW)
    shards = {name: digest for name, digest in digests(whole).items() if name != "manifest.json"}
    assert shards.items() <= digests(parts).items()
    assert Store(parts).key == Store(whole).key


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_bad_meshes_are_named_and_can_be_skipped(data, tmp_path):
    names = pd.read_csv(data / "table.csv")["mesh"]
    (data / names[11]).write_text("not a mesh")
    (data / names[30]).unlink()
    store = tmp_path / "store"
    missing = swwl("embed", data / "table.csv", "-o", store, *FEW, code=2)
    assert "line 32" in missing.stderr
    assert "does not exist" in missing.stderr
    said = swwl("embed", data / "table.csv", "-o", store, "--skip-bad", *FEW)
    assert f"left out {names[11]}" in said.stderr.replace("\n", " ")
    assert len(Store(store).bad) == 1  # of those that are there
    options = ["--target", "efficiency", *FEW, "--embeddings", store, "-o", tmp_path / "m.swwl"]
    frame = pd.read_csv(data / "table.csv").drop(index=30)
    frame.to_csv(data / "table.csv", index=False)
    refused = swwl("fit", data / "table.csv", *options, code=2)
    assert "could not be embedded" in refused.stderr
    assert "--drop-incomplete" in refused.stderr
    swwl("fit", data / "table.csv", *options, "--drop-incomplete", "-q")
    assert len(load_model(tmp_path / "m.swwl").train_targets_) < 39


@pytest.mark.usefixtures("small")
def test_a_broken_mesh_is_an_error_without_skip_bad(data, tmp_path):
    names = pd.read_csv(data / "table.csv")["mesh"]
    (data / names[11]).write_text("not a mesh")
    said = swwl("embed", data / "table.csv", "-o", tmp_path / "store", *FEW, code=2).stderr
    assert Path(names[11]).name in said.replace("\n", "")


@pytest.mark.parametrize(
    "options, words",
    [
        (["--shard", "3"], "a part such as 3/64"),
        (["--shard", "4/3"], "from 1/3 to 3/3"),
        (["--kernel", "scalars"], "compares no meshes"),
        (["--mesh", "speed"], "does not name a mesh"),
        (["--jobs", "0"], "0 workers"),
    ],
)
def test_mistakes(made, tmp_path, options, words):
    said = swwl("embed", made / "table.csv", "-o", tmp_path / "store", *FEW[:4], *options, code=2)
    assert words in " ".join(said.stderr.split())


def test_folders_of_users_are_spared(made, tmp_path):
    (tmp_path / "mine.npz").write_bytes(b"mine")
    said = swwl("embed", made / "table.csv", "-o", tmp_path, *FEW, code=2)
    assert "not empty, and not a store" in " ".join(said.stderr.split())
    assert "no such folder" in swwl("fit", made / "table.csv", "--target", "efficiency", "-o", tmp_path / "m.swwl",
                                    "--embeddings", tmp_path / "none", code=2).stderr  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_store_of_other_options_or_a_damaged_one_is_refused(made, tmp_path):
    store = tmp_path / "store"
    swwl("embed", made / "table.csv", "-o", store, *FEW)
    fit = ["fit", made / "table.csv", "--target", "efficiency", "-o", tmp_path / "m.swwl", "--embeddings", store]
    said = swwl(*fit, "-P", "9", "-Q", "20", code=2).stderr
    assert "Run swwl embed with the options of the fit" in " ".join(said.split())
    shard = json.loads((store / "manifest.json").read_text())["shards"][0]["name"]
    content = bytearray((store / shard).read_bytes())
    content[len(content) // 2] ^= 1
    (store / shard).write_bytes(content)
    assert "is damaged (the checksum does not match)" in " ".join(swwl(*fit, *FEW, code=2).stderr.split())


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_the_same(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"{i}.npz" for i in range(1100)]
    for name, size in zip(names, rng.uniform(1, 2, len(names)), strict=True):
        Mesh(size * np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]), [[0, 1, 2], [0, 2, 3]]).write(tmp_path / name)
    pd.DataFrame({"mesh": names}).to_csv(tmp_path / "table.csv", index=False)
    command = ["embed", tmp_path / "table.csv", "--kernel", "swwl", "-P", "5", "-Q", "5", "--jobs", "1", "-q"]
    process = start(*command, "-o", tmp_path / "killed")
    while not list((tmp_path / "killed").glob("*.npz")) and process.poll() is None:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    swwl(*command, "-o", tmp_path / "killed")
    swwl(*command, "-o", tmp_path / "whole")
    for part in (tmp_path / "killed").glob(".*.part"):
        part.unlink()
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_commands_work_on_models_of_many_rows(data, tmp_path):
    table, model = data / "table.csv", tmp_path / "m.swwl"
    few = [*FEW, "--kernel", "principal", "--components", "2"]
    said = swwl("fit", table, "--target", "efficiency", *few, "--solver", "vecchia", "-o", model).output
    assert "solver    vecchia: as requested" in said
    assert (data / ".swwl-cache").is_dir()
    assert "exact: 32 rows" in swwl("fit", table, "--target", "efficiency", *few, "-o", tmp_path / "e.swwl").output
    swwl("predict", model, table, "-o", tmp_path / "p.csv", "-q")
    found = pd.read_csv(tmp_path / "p.csv")
    assert np.isfinite(found["efficiency_std"]).all()
    swwl("report", model, "-o", tmp_path / "r.html", "-q")
    mesh = data / pd.read_csv(table)["mesh"][0]
    sweep = ["--sweep", "pressure=1.36:1.46:5", "--each", "speed=17000,17400"]
    swwl("curve", model, "--mesh", mesh, *sweep, "-o", tmp_path / "c.png", "-q")
    assert json.loads(swwl("info", model, "--json").output)["solver"] == "vecchia"
    case = ["speed=17188", "pressure=1.41"]
    said = swwl("explain", model, "--mesh", mesh, *case, "-o", tmp_path / "s.vtu", "--along", "modes").output
    assert "pressure" in said and "mode 1" in said
    for goal in ("learn", "maximize:efficiency"):
        swwl("suggest", model, table, "-n", 3, "--goal", goal, "-o", tmp_path / "next.csv", "-q", "-f")
        assert len(pd.read_csv(tmp_path / "next.csv")) == 3
