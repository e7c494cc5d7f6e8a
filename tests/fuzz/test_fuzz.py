"""A short run of the fuzzer with a fixed seed, and what longer runs have found; ``make fuzz`` runs it for minutes."""

import tracemalloc

import pytest

from tests.fuzz.cases import check, crafted, make_case, mesh_files, model_files, read_mesh_file, read_model_file


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


def test_sound_files_are_read(tmp_path, traced):
    for name, content in mesh_files().items():
        assert not check(name, content, read_mesh_file, tmp_path)[0], name
    for name, content in model_files().items():
        assert not check(name, content, read_model_file, tmp_path)[0], name


class Steady:
    """A random number generator that changes nothing."""

    def choice(self, options):
        return options[0]


def test_crafted_files_have_the_right_checksum(tmp_path, traced, monkeypatch):
    monkeypatch.setattr("tests.fuzz.cases._revalued", lambda text, _: text)
    rng = Steady()
    rng.random = lambda: 1.0
    for name, content in model_files().items():
        assert not check(name, crafted(content, rng), read_model_file, tmp_path)[0], name


def test_spoiled_files_are_read_or_refused(tmp_path, traced):
    refused = [check(*make_case(number, "0"), tmp_path)[0] for number in range(150)]
    assert 30 < sum(refused) < 150
