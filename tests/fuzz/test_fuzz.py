"""A short run of the fuzzer with a fixed seed, and what longer runs have found; ``make fuzz`` runs it for minutes."""

import tracemalloc

import pytest

from tests.fuzz.cases import (
    check,
    crafted,
    make_case,
    mesh_files,
    model_files,
    read_mesh_file,
    read_model_file,
    read_solver_file,
    solver_files,
)
from tests.helpers import rewrite_model


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.slow
def test_sound_files_are_read(tmp_path, traced):
    for name, content in mesh_files().items():
        assert not check(name, content, read_mesh_file, tmp_path)[0], name
    for name, content in solver_files().items():
        assert not check(name, content, read_solver_file, tmp_path)[0], name
    for name, content in model_files().items():
        assert not check(name, content, read_model_file, tmp_path)[0], name


class Steady:
    """A random number generator that changes nothing."""

    def choice(self, options):
        return options[0]


@pytest.mark.slow
def test_crafted_files_have_the_right_checksum(tmp_path, traced, monkeypatch):
    monkeypatch.setattr("tests.fuzz.cases._revalued", lambda text, _: text)
    rng = Steady()
    rng.random = lambda: 1.0
    for name, content in model_files().items():
        assert not check(name, crafted(content, rng), read_model_file, tmp_path)[0], name


@pytest.mark.slow
def test_spoiled_files_are_read_or_refused(tmp_path, traced):
    refused = [check(*make_case(number, "0"), tmp_path)[0] for number in range(150)]
    assert 30 < sum(refused) < 150


def test_what_longer_runs_have_found(tmp_path, traced):
    """Numbers that end in the middle, LZ4 blocks that are damaged, absurd numbers of threads and of steps."""
    files = mesh_files()
    text = files["ascii-None-UInt32.vtu"].replace(b".", b"-.", 40)
    assert check("a.vtu", text, read_mesh_file, tmp_path)[0]
    for name in [name for name in files if "lz4" in name and "raw" in name]:
        damaged = bytearray(files[name])
        start = damaged.index(b"<AppendedData") + 60
        damaged[start : start + 200] = b"\xff" * 200
        assert check(name, bytes(damaged), read_mesh_file, tmp_path)[0]
    (tmp_path / "sound.swwl").write_bytes(model_files()["principal.swwl"])
    for key, value in {"n_jobs": 10**30, "step_": 10**30, "n_components_": 10**30}.items():

        def change(manifest, _, key=key, value=value):
            factor = manifest["members"][0]["factors"][0]["fitted"]
            place = factor if key in factor else factor["embedding_"]["fitted" if key.endswith("_") else "params"]
            place[key] = value

        rewrite_model(tmp_path / "sound.swwl", tmp_path / "crafted.swwl", change)
        assert check("a.swwl", (tmp_path / "crafted.swwl").read_bytes(), read_model_file, tmp_path)[0], key
