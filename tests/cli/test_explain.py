"""``swwl explain``: derivatives in numbers and along deformations, on the mesh and in a picture."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from swwl import load_model, read_mesh
from swwl.plots.sensitivity import MOST
from tests.cli.conftest import swwl

CASE = ("speed=17188", "pressure=1.41")


@pytest.fixture(scope="module")
def mesh(fitted):
    return fitted.parent / "d" / pd.read_csv(fitted.parent / "d" / "table.csv")["mesh"].iloc[-1]


@pytest.mark.slow
def test_writes_a_mesh_and_a_picture(fitted, mesh, tmp_path):
    files = tmp_path / "s.vtu", tmp_path / "s.png"
    arguments = ["explain", fitted, "--mesh", mesh, *CASE, "--along", "modes", "-o", files[0], "--picture", files[1]]
    text = swwl(*arguments, "--length", 0.01).stdout
    for words in ("efficiency: ", "massflow: ", "speed", "pressure", "mode 1", "written to"):
        assert words in text
    found = read_mesh(files[0])
    assert found.fields["efficiency_gradient"].shape == (found.n_nodes, 3)
    row = pd.DataFrame({"mesh": [str(mesh)], "speed": [17188.0], "pressure": [1.41]})
    (wanted,) = load_model(fitted).sensitivity(row, "efficiency", std=False)
    assert np.allclose(found.fields["efficiency_gradient"], wanted.gradient)
    assert np.allclose(found.fields["efficiency_push"], wanted.normal_density(0.01, most=MOST))
    assert np.asarray(Image.open(files[1])).std() > 5
    swwl(*arguments)  # what we wrote we write again


def test_json_and_deformations_from_files(fitted, mesh, tmp_path):
    points = read_mesh(mesh)
    shift = np.tile([1e-3, 0.0, 0.0], (points.n_nodes, 1))
    np.savez(tmp_path / "a.npz", shift=shift)
    other = points.with_fields({})
    type(other)(points.points + shift, points.cells).write(tmp_path / "to.vtu")
    along = ["--along", tmp_path / "a.npz", "--along", f"there={tmp_path / 'to.vtu'}"]
    along += ["--along", f"{mesh},{tmp_path / 'to.vtu'}"]
    result = swwl("explain", fitted, "--mesh", mesh, *CASE, "--target", "massflow", *along, "--json").stdout
    facts = json.loads(result)
    slopes = {line["what"]: line["derivative"] for line in facts["derivatives"]}
    assert set(slopes) == {"speed", "pressure", "shift", "there", "to"}
    assert slopes["there"] == pytest.approx(slopes["shift"], rel=1e-3) == pytest.approx(slopes["to"], rel=1e-3)
    assert all(line["lower95"] < line["derivative"] < line["upper95"] for line in facts["derivatives"])
    assert list(facts["predictions"]) == ["massflow"]


@pytest.mark.parametrize(("arguments", "text"), [
    (["--along", "gone.npz"], "gone.npz: no such file"), (["--along", "a=b=c.vtu"], "is not understood"),
    (["--target", "lift"], "the model predicts"), (["--length", "-1"], "--length"), (["-o", "s.txt"], ".vtu"),
    (["--picture", "s.bmp"], ".png"), (["--where", "0-1"], "such as 0:1"), (["--where", "0:1"], "3 coordinates"),
    (["--where", "9:10,:,:"], "holds no node"),
])  # fmt: skip
def test_mistakes_are_one_line(fitted, mesh, tmp_path, arguments, text):
    error = swwl("explain", fitted, "--mesh", mesh, *CASE, *arguments, code=2).stderr
    assert text in error and len(error.strip().splitlines()) == 1


def test_only_nodes_in_a_box_move(fitted, mesh, tmp_path):
    middle = float(np.median(read_mesh(mesh).points[:, 2]))
    case = ["--mesh", mesh, *CASE, "--target", "massflow", "-o", tmp_path / "s.vtu"]
    swwl("explain", fitted, *case, "--where", f":,:,{middle}:", "-q")
    found = read_mesh(tmp_path / "s.vtu")
    moving = found.fields["massflow_gradient"].any(axis=1)
    assert moving.any() and found.points[moving, 2].min() >= middle and not found.fields["massflow_push"][~moving].any()


def test_displacements_of_another_length(fitted, mesh, tmp_path):
    np.savez(tmp_path / "a.npz", shift=np.zeros((3, 3)))
    error = swwl("explain", fitted, "--mesh", mesh, *CASE, "--along", tmp_path / "a.npz", code=2).stderr
    assert "Displacement 'shift' has shape (3, 3)" in error
