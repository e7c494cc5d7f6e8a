"""``swwl explain``: derivatives in numbers and along deformations, on the mesh and in a picture."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from swwl import BodySets, Elliptic, RobustGPRegressor, load_model, read_mesh
from swwl.mesh.shape.motions import group_bodies, moved_group
from swwl.plots.sensitivity import MOST
from swwl.regression.sensitivity import motion_table
from tests.cli.conftest import swwl
from tests.mesh.shape.test_motions import PLATE

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
    (["--picture", "s.bmp"], ".png"), (["--where", "body*"], "and the mesh has no groups"),
    (["--where", "0:1"], "3 coordinates"), (["--where", "0-1"], "such as 0:1"),
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


@pytest.fixture(scope="module")
def holes(tmp_path_factory):
    """A model of plates with two holes that lie elsewhere in each, and a new plate."""
    folder, rng = tmp_path_factory.mktemp("holes"), np.random.default_rng(0)
    meshes = []
    for _ in range(16):
        mesh = moved_group(PLATE, "hole", 1, shift=rng.uniform(-0.5, 0.5, 2), percent=rng.uniform(-20, 20))
        meshes.append(moved_group(mesh, "hole", 2, shift=rng.uniform(-0.5, 0.5, 2)))
    load = rng.uniform(1, 2, 16)
    y = load + [group_bodies(mesh, "hole")[1].center @ [1, 2] for mesh in meshes]
    kernel = Elliptic(BodySets("mesh", group="hole"), "load")
    model = RobustGPRegressor(kernel, calibrate=False, n_starts=1, outliers="keep", regimes="one")
    model.fit(pd.DataFrame({"mesh": meshes[:15], "load": load[:15]}), pd.Series(y[:15], name="force"))
    model.save(folder / "m.swwl")
    meshes[15].write(folder / "new.vtu")
    return folder


def test_bodies_of_a_group_move(holes, tmp_path):
    case = ["explain", holes / "m.swwl", "--mesh", holes / "new.vtu", "load=1.5", "--where", "hol*"]
    text = swwl(*case, "-o", tmp_path / "s.vtu", "--picture", tmp_path / "s.png").stdout
    for words in ("force: motions of hol*", "rotation", "per", "length", "degree", "percent", "all", "load"):
        assert words in text
    facts = json.loads(swwl(*case, "--json").stdout)
    assert len(facts["motions"]) == 12 and [line["kind"] for line in facts["derivatives"]].count("motion") == 12
    row = pd.DataFrame({"mesh": [str(holes / "new.vtu")], "load": [1.5]})
    model = load_model(holes / "m.swwl")
    found = model.sensitivity(row, where="hole", motions="hole")
    wanted = motion_table(model, row, found)
    assert pd.DataFrame(facts["motions"])["derivative"].tolist() == pytest.approx(wanted["derivative"].tolist())
    written = read_mesh(tmp_path / "s.vtu")
    moving = written.fields["force_gradient"].any(axis=1)
    assert set(np.flatnonzero(moving)) <= set(written.groups["hole"].nodes) and moving.any()
    assert np.asarray(Image.open(tmp_path / "s.png")).std() > 5


def test_a_group_that_is_not_there(holes):
    case = ["explain", holes / "m.swwl", "--mesh", holes / "new.vtu", "load=1.5", "--where", "wing"]
    error = swwl(*case, code=2).stderr
    assert "the mesh has no such group; its groups are: tip, hole, outside, left half" in error
    assert len(error.strip().splitlines()) == 1
