"""``swwl improve``: a better mesh, what is said about it, and mistakes."""

import json

import numpy as np
import pandas as pd
import pytest

from swwl import read_mesh
from tests.cli.conftest import swwl

CASE = ("--at", "speed=17188", "--at", "pressure=1.41", "--goal", "maximize:efficiency")


@pytest.fixture(scope="module")
def mesh(fitted):
    return fitted.parent / "d" / pd.read_csv(fitted.parent / "d" / "table.csv")["mesh"].iloc[-1]


@pytest.mark.slow
@pytest.mark.parametrize("along", [["--lattice", "4,3,3", "--volume", "keep"], ["--along", "modes"]])
def test_writes_a_better_mesh(fitted, mesh, tmp_path, along):
    output = tmp_path / "better.vtu"
    arguments = ["improve", fitted, "--mesh", mesh, *CASE, *along, "--at-least", "massflow=15", "-o", output]
    text = swwl(*arguments).stdout
    for words in ("efficiency", "start", "found", "massflow: ", "domain: cannot tell", "nodes moved by", "written to"):
        assert words in text
    found, start = read_mesh(output), read_mesh(mesh)
    assert np.allclose(found.points - found.fields["displacement"], start.points, atol=1e-9)
    facts = json.loads(swwl(*arguments, "--json").stdout)  # what we wrote we write again
    assert facts["target"] == "efficiency" and facts["least_cell"] > 0.2 and facts["inside"] is None
    assert facts["found"]["mean"] >= facts["start"]["mean"] and facts["others"]["massflow"] > 14.9
    if "keep" in along:
        assert facts["volume"] == pytest.approx(1, abs=1e-3) and "volume" in text


@pytest.mark.parametrize(("arguments", "text"), [
    (["--lattice", "4,3"], "3 whole numbers"), (["--lattice", "a"], "--lattice"), (["--group", "hub"], "no group"),
    (["--freeze", "hub"], "no group 'hub'"), (["--along", "wishes"], "lattice, motions, modes"),
    (["--along", "motions"], "name it by --group"), (["--along", "modes", "--lattice", "4,3,3"], "cannot be combined"),
    (["--volume", "same"], "--volume"), (["--box", "0-1"], "--box"), (["--box", "0:1"], "3 pairs"),
    (["--axes", "q"], "axes"), (["--at-least", "lift=1"], "no target 'lift'"), (["--at", "mach=1"], "no input 'mach'"),
    (["--criterion", "ucb"], "criterion"), (["--reach", "0"], "reach"), (["--goal", "maximize:lift"], "is 'lift'"),
])  # fmt: skip
def test_mistakes_are_one_line(fitted, mesh, tmp_path, arguments, text):
    error = swwl("improve", fitted, "--mesh", mesh, *CASE, "-o", tmp_path / "b.vtu", *arguments, code=2).stderr
    assert text in error and len(error.strip().splitlines()) == 1
    assert not (tmp_path / "b.vtu").exists()


def test_nothing_is_overwritten(fitted, mesh, tmp_path):
    (tmp_path / "b.vtu").write_text("mine")
    assert "mine" not in swwl("improve", fitted, "--mesh", mesh, *CASE, "-o", tmp_path / "b.vtu", code=2).stderr
    assert (tmp_path / "b.vtu").read_text() == "mine"
    assert (
        "no such file" in swwl("improve", fitted, "--mesh", "gone.vtu", "-o", tmp_path / "c.vtu", code=2).stderr.lower()
    )
