"""Kept embeddings: never read twice, never wrong, whatever happens to a run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from swwl import Mesh, datasets
from swwl.embedding import runner as batches
from swwl.regression import influence
from tests.cli.conftest import SMALL, change, environment, start, swwl

pytestmark = pytest.mark.slow


def fit(folder, *arguments, target="massflow", name="m.swwl"):
    """Fit and return the facts and the bytes of the model."""
    path = folder.parent / name
    facts = swwl(
        "fit", folder / "table.csv", "--target", target, "-o", path, "--json", "--no-calibrate", *arguments, *SMALL
    )
    return json.loads(facts.stdout), path.read_bytes()


def kept(folder):
    return [path for path in folder.glob(".swwl-cache/*/*.npz") if "quantiles" in path.name]


def refusing_files(convert):
    """Return the function for all that is not a file; meshes that are made of others are none."""

    def refuse(item, *others, **keywords):
        assert not isinstance(item, (str, os.PathLike)), "a mesh was read"
        return convert(item, *others, **keywords)

    return refuse


@pytest.mark.parametrize("options", [(), ("--kernel", "aswwl"), ("--step", "sqrt", "--node-weights", "area")])
def test_a_second_fit_reads_no_mesh_and_gives_the_same_model(options, data, monkeypatch):
    facts, _ = fit(data, *options, target="efficiency")
    assert facts["meshes_from_cache"] == 0
    _, plain = fit(data, "--no-cache", *options)
    for module, name in ((batches, "as_graph"), (influence, "as_mesh")):
        monkeypatch.setattr(module, name, refusing_files(getattr(module, name)))
    facts, model = fit(data, *options)
    assert facts["meshes_from_cache"] == 40
    assert model == plain
    if not options:
        facts, _ = fit(data, "--kernel", "swwl", "--components", "auto")  # another kernel on the same embedding
        assert facts["meshes_from_cache"] == 40


def test_unchanged_files_are_not_even_opened(data, monkeypatch):
    fit(data)
    import swwl.storage.memory

    monkeypatch.setattr(swwl.storage.memory, "_hash", lambda path: pytest.fail(f"{path} was opened"))
    fit(data, target="efficiency")


def test_other_options_and_changed_meshes_are_embedded_again(data):
    fit(data)
    facts, _ = fit(data, "--seed", "1")
    assert facts["meshes_from_cache"] == 0
    victim = data / "meshes" / "00003.vtu"
    stamp = os.stat(victim)
    shutil.copy(data / "meshes" / "00004.vtu", victim)
    os.utime(victim, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # even where its time stamp is put back
    facts, model = fit(data)
    assert facts["meshes_from_cache"] == 40  # its content is known: that of 00004
    assert model == fit(data, "--no-cache")[1]
    victim.write_bytes((data / "meshes" / "00004.vtu").read_bytes() + b"\n")
    facts, _ = fit(data)
    assert facts["meshes_from_cache"] == 39


def test_damaged_entries_count_as_missing(data):
    _, model = fit(data)
    first, second, *_ = kept(data)
    first.write_bytes(first.read_bytes()[:100])
    second.write_bytes(b"")
    with open(data / ".swwl-cache" / "index.jsonl", "a") as index:
        index.write('{"cut off')
    facts, again = fit(data)
    assert facts["meshes_from_cache"] == 38
    assert again == model


def test_a_folder_moved_with_its_cache_needs_no_embedding(data):
    fit(data)
    moved = data.parent / "elsewhere" / "d"
    moved.parent.mkdir()
    data.rename(moved)
    assert fit(moved)[0]["meshes_from_cache"] == 40


def test_predict_finds_what_fit_kept(data, monkeypatch):
    fit(data)
    monkeypatch.setattr(batches, "as_graph", lambda *_, **__: pytest.fail("a mesh was read"))
    swwl("predict", data.parent / "m.swwl", data / "table.csv", "-o", data.parent / "p.csv")


def test_predict_keeps_what_it_embeds(data, fitted, monkeypatch):
    arguments = ["predict", fitted, data / "table.csv", "-o", data.parent / "p.csv"]
    swwl(*arguments, "--no-cache")
    assert not kept(data)
    swwl(*arguments)
    assert len(kept(data)) == 40
    first = (data.parent / "p.csv").read_bytes()
    monkeypatch.setattr(batches, "as_graph", lambda *_, **__: pytest.fail("a mesh was read"))
    swwl(*arguments)
    assert (data.parent / "p.csv").read_bytes() == first


def test_a_mesh_in_all_rows_is_read_once(data, fitted, monkeypatch):
    read = []
    as_graph = batches.as_graph

    def counting(item, **options):
        read.extend([] if isinstance(item, Mesh) else [item])  # meshes that are made of others are not read
        return as_graph(item, **options)

    monkeypatch.setattr(batches, "as_graph", counting)
    change(data / "table.csv", mesh="meshes/00000.vtu")
    facts, _ = fit(data, "--kernel", "swwl")
    assert len(read) == facts["meshes"] == 1
    assert facts["meshes_from_cache"] == 0  # although held-out rows find what training rows left
    for cache in ("--no-cache", "--cache"):
        swwl("predict", fitted, data / "table.csv", "-o", data.parent / "p.csv", cache)
        assert len(read) == 2  # this model has the options of the other, so its embedding is known
    mesh = ["--mesh", data / "meshes" / "00000.vtu", "--sweep", "pressure=1.38:1.44:5"]
    swwl("curve", fitted, *mesh, "--each", "speed=17000,17300", "-o", data.parent / "c.png")
    assert len(read) == 3


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Enough meshes that a run can be cut off in the middle of them."""
    folder = tmp_path_factory.mktemp("large") / "d"
    datasets.write_dataset("blade", 48, folder, n_nodes=2500, random_state=0)
    return folder


def command(folder, name="m.swwl"):
    """Return the arguments of a fit that takes a while."""
    options = ["--no-calibrate", "--components", "2", "--jobs", "1"]
    return ["fit", folder / "table.csv", "--target", "massflow", "-o", folder.parent / name, *options]


# A fit that comes to a few meshes before the last and goes no further, so that even a quick machine cannot finish it
# before the signal arrives.
HELD = """
import sys, time
from swwl.cli import main
from swwl.storage.memory import Memory
put, kept = Memory.put, []
def held(self, path, kind, *arguments, **arrays):
    if kind == "quantiles":
        kept.append(path)
        while len(kept) > 40:
            time.sleep(0.01)
    return put(self, path, kind, *arguments, **arrays)
Memory.put = held
sys.argv[0] = "swwl"
main()
"""


def stop_in_the_middle(folder, number):
    """Start a fit in a process of its own, and end it when it has embedded a few meshes."""
    arguments = [sys.executable, "-c", HELD, *map(str, command(folder))]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(arguments, env=environment(), **streams)
    deadline = time.monotonic() + 60
    while len(kept(folder)) < 5 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert 5 <= len(kept(folder)) < 48
    assert not (folder.parent / "m.swwl").exists()
    return process.returncode, errors


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_killed_fit_resumes_and_gives_the_model_of_an_unbroken_run(large):
    code, _ = stop_in_the_middle(large, signal.SIGKILL)
    assert code == -signal.SIGKILL
    before = len(kept(large))
    facts = json.loads(swwl(*command(large), "--json").stdout)
    assert before <= facts["meshes_from_cache"] < 48
    swwl(*command(large, "unbroken.swwl"), "--no-cache")
    assert (large.parent / "m.swwl").read_bytes() == (large.parent / "unbroken.swwl").read_bytes()


def test_interrupting_keeps_what_is_finished(large):
    shutil.rmtree(large / ".swwl-cache", ignore_errors=True)
    (large.parent / "m.swwl").unlink(missing_ok=True)
    code, errors = stop_in_the_middle(large, signal.SIGINT)
    assert code == 130
    assert errors.splitlines()[-1].startswith("error: interrupted; finished work is kept")
    assert "Traceback" not in errors


def test_two_runs_at_once_do_no_harm(large):
    shutil.rmtree(large / ".swwl-cache", ignore_errors=True)
    # Both in processes of their own: the last bits of a fit depend on the number of BLAS threads.
    processes = [start(*command(large, name)) for name in ("one.swwl", "two.swwl")]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert (large.parent / "one.swwl").read_bytes() == (large.parent / "two.swwl").read_bytes()
    assert len(kept(large)) == 48
