"""Whole fields on the command line: fit, predict, info, report; what is written, kept and refused."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, load_model, read_mesh
from swwl.evaluation.metadata import field_data_of
from swwl.fields.numbers import Probe, derived_number
from swwl.jobs.predict import mesh_names
from tests.cli.conftest import swwl
from tests.fielddata import QUICK, write_plates

pytestmark = pytest.mark.slow  # test_commands.py has the one that is quick
FIELDS = ["--target-field", "heat", "--target-field", "move", "--target-field", "flux"]


@pytest.fixture(scope="session")
def plates(tmp_path_factory):
    """A model of three fields and its data; do not change them."""
    folder = tmp_path_factory.mktemp("plates")
    table = write_plates(folder / "d")
    found = swwl("fit", table, "--inputs", "load", *FIELDS, "-o", folder / "f.swwl", *QUICK, "--json")
    (folder / "fit.json").write_text(found.stdout)
    one = ["--target", "top", "--target-field", "heat", "-o", folder / "both.swwl", *QUICK, "--no-calibrate"]
    (folder / "both.json").write_text(swwl("fit", table, *one, "--json").stdout)
    pd.read_csv(table).tail(3).to_csv(folder / "d/few.csv", index=False)
    return folder


@pytest.fixture
def folder(plates, tmp_path):
    """A copy of them to spoil."""
    return shutil.copytree(plates, tmp_path / "plates")


def refused(*arguments, words):
    message = swwl(*arguments, code=2).stderr.splitlines()[-1]
    assert message.startswith("error: ") and words in message, message


def test_fit_says_how_good_it_is(plates):
    facts = json.loads((plates / "fit.json").read_text())
    assert [(f["field"], f["components"], f["on"]) for f in facts["fields"]] == [
        ("heat", 1, "nodes"),
        ("move", 2, "nodes"),
        ("flux", 1, "cells"),
    ]
    tests = {(row["field"], row["test"]): row for row in facts["scores"]}
    assert set(tests) == {(f, t) for f in ("heat", "move", "flux") for t in ("cross-validation", "held-out rows")}
    held_out = tests["heat", "held-out rows"]
    assert held_out["n"] == 3
    assert held_out["rrmse"] < 0.2
    assert held_out["worst"] in ("011.vtu", "012.vtu", "013.vtu")
    assert tests["heat", "cross-validation"]["worst"].endswith(".vtu")
    assert facts["inputs"] == ["mesh", "load"]


def test_info_describes_a_model_of_fields(plates):
    text = swwl("info", plates / "f.swwl").output
    assert "model of whole fields, fitted to 11 rows" in text
    assert "flux: on cells" in text
    assert "move: on nodes, 2 components" in text
    facts = json.loads(swwl("info", plates / "f.swwl", "--json").stdout)
    assert facts["kind"] == "field model"
    assert facts["scores"] == json.loads((plates / "fit.json").read_text())["scores"]


def test_predict_writes_a_mesh_per_row(folder):
    out = folder / "predicted"
    facts = json.loads(swwl("predict", folder / "f.swwl", folder / "d/table.csv", "-o", out, "--json").stdout)
    assert facts["rows"] == 14
    assert sorted(file.name for file in out.iterdir()) == sorted([*facts["files"], "predictions.csv"])
    model = load_model(folder / "f.swwl")
    row = pd.DataFrame({"mesh": [folder / "d/meshes/003.vtu"], "load": pd.read_csv(folder / "d/table.csv")["load"][3]})
    mean, std = model.predict(row, return_std=True)
    found, given = read_mesh(out / "003.vtu"), read_mesh(folder / "d/meshes/003.vtu")
    np.testing.assert_array_equal(found.points, given.points)
    for name in ("heat", "move", "flux"):
        home, truth = (found.cell_fields, given.cell_fields) if name == "flux" else (found.fields, given.fields)
        np.testing.assert_allclose(home[name], mean[0][name], rtol=1e-6)
        np.testing.assert_allclose(home[f"{name}_std"], std[0][name], rtol=1e-6)
        np.testing.assert_array_equal(home[f"{name}_true"], truth[name])
        np.testing.assert_allclose(home[f"{name}_error"], home[name] - truth[name], atol=1e-12)
        assert (home[f"{name}_lower95"] <= home[name]).all()
        assert (home[name] <= home[f"{name}_upper95"]).all()


def test_bands_of_whole_fields(folder):
    """Beside the intervals of nodes; the table says which fields they hold."""
    out, table = folder / "whole", folder / "d/table.csv"
    facts = json.loads(swwl("predict", folder / "f.swwl", table, "-o", out, "--whole-field", "--json").stdout)
    found = pd.read_csv(out / "predictions.csv")
    mesh = read_mesh(out / "003.vtu")
    for name in ("heat", "move", "flux"):
        home = mesh.cell_fields if name == "flux" else mesh.fields
        lower, upper, truth = (home[f"{name}_{end}"] for end in ("lower95_whole", "upper95_whole", "true"))
        assert found[f"{name}_whole"][3] == ((lower <= truth) & (truth <= upper)).all()
        new = found["split"] == "test"  # of those that it was fitted to, bands say nothing
        assert facts[f"{name}_whole"] == pytest.approx(found[f"{name}_whole"][new].mean())
    text = swwl("predict", folder / "f.swwl", folder / "d/few.csv", "-o", folder / "few", "--whole-field").output
    assert "heat: the 95 % band holds the whole field on" in text
    refused("predict", folder / "f-scalars.swwl", table, "--whole-field", "-o", folder / "x.csv", words="no such file")


def test_the_table_beside_has_derived_numbers(folder):
    out = folder / "predicted"
    swwl("predict", folder / "f.swwl", folder / "d/table.csv", "-o", out, "-q")
    found, given = pd.read_csv(out / "predictions.csv"), pd.read_csv(folder / "d/table.csv")
    pd.testing.assert_frame_equal(found[given.columns], given)
    assert found["predicted_mesh"].tolist() == [f"{i:03}.vtu" for i in range(14)]
    for name in ("heat_max", "heat_mean", "move_max", "move_mean"):
        assert (found[f"{name}_lower95"] <= found[f"{name}_mean"]).all()
        assert (found[f"{name}_mean"] <= found[f"{name}_upper95"]).all()
        assert (found[f"{name}_std"] > 0).all()
    np.testing.assert_allclose(found["heat_max_true"], given["top"])
    np.testing.assert_allclose(found["heat_max_mean"], given["top"], rtol=0.5)
    np.testing.assert_allclose(found["flux_max_mean"], found["flux_max_true"], rtol=0.5)  # of a field of cells
    rows = field_data_of(load_model(folder / "f.swwl")).held_out_scores["heat"]
    np.testing.assert_allclose(found["heat_rrmse"][11:], [row.rrmse for row in rows], rtol=1e-9)


def test_new_meshes_need_no_field(folder):
    """Meshes without the field, in one place: then nothing is compared."""
    table = pd.read_csv(folder / "d/table.csv").iloc[[12, 13]].drop(columns=["split", "top"])
    for name in table["mesh"]:
        mesh = read_mesh(folder / "d" / name)
        type(mesh)(mesh.points, mesh.cells).write(folder / "d" / name)
    table.to_csv(folder / "d/new.csv", index=False)
    facts = json.loads(swwl("predict", folder / "f.swwl", folder / "d/new.csv", "-o", folder / "new", "--json").stdout)
    assert facts["scores"] == []
    assert "heat_true" not in read_mesh(folder / "new/013.vtu").fields
    assert "heat_rrmse" not in pd.read_csv(folder / "new/predictions.csv")


def test_what_predict_wrote_it_writes_again_and_nothing_else(folder):
    command = ["predict", folder / "both.swwl", folder / "d/few.csv", "-o", folder / "out", "-q"]
    swwl(*command)
    first = {file.name: file.read_bytes() for file in (folder / "out").iterdir()}
    swwl(*command)
    assert first == {file.name: file.read_bytes() for file in (folder / "out").iterdir()}
    for name in ("012.vtu", "predictions.csv"):
        (folder / "out" / name).write_text("mine")
        refused(*command[:-1], words="already exists, and this command did not write it")
        assert (folder / "out" / name).read_text() == "mine"
        swwl(*command, "--force")
        assert (folder / "out" / name).read_bytes() == first[name]
    (folder / "out" / "note.txt").write_text("mine")
    swwl(*command)
    assert (folder / "out" / "note.txt").read_text() == "mine"


def test_inputs_are_never_overwritten(folder):
    before = {file: file.read_bytes() for file in (folder / "d/meshes").iterdir()}
    arguments = ["predict", folder / "f.swwl", folder / "d/table.csv", "-o"]
    refused(*arguments, folder / "d/meshes", "--force", words="never overwritten")
    assert before == {file: file.read_bytes() for file in before}
    refused(*arguments, folder / "fit.json", words="is a file, but a folder is needed")
    refused(*arguments, folder / "a/b/c", words="does not exist")
    refused(*arguments[:-1], words="-o predicted, a folder")


@pytest.fixture(scope="session")
def held(plates, tmp_path_factory):
    """A model of heat and its data, in which plates 001 and later have a group "right side"; do not change them."""
    folder = tmp_path_factory.mktemp("held")
    table = write_plates(folder / "d")
    for file in sorted((folder / "d/meshes").iterdir())[1:]:
        mesh = read_mesh(file)
        right = np.flatnonzero(mesh.points[:, 0] == mesh.points[:, 0].max())
        right = right[np.argsort(mesh.points[right, 1])]
        groups = {"right side": np.column_stack([right[:-1], right[1:]])}
        Mesh(mesh.points, mesh.cells, mesh.fields, cell_fields=mesh.cell_fields, groups=groups).write(file)
    swwl("fit", table, "--inputs", "load", *FIELDS[:4], "-o", folder / "f.swwl", *QUICK, "-q")
    return folder


def test_values_at_places_and_forces_on_groups(held, tmp_path):
    command = ["predict", held / "f.swwl", held / "d/table.csv", "-o", tmp_path / "out"]
    asked = ["--probe", "0.5,0.25", "--probe", "1.5,0.5", "--force-on", "pressure:right*"]
    answer = swwl(*command, *asked, "--json")
    facts, found = json.loads(answer.stdout), pd.read_csv(tmp_path / "out/predictions.csv")
    widths = np.array([np.ptp(read_mesh(held / "d" / name).points[:, 0]) for name in found["mesh"]])
    mean = found["heat_at_0.5_0.25_mean"]
    assert (found["heat_at_0.5_0.25_lower95"] < mean).all()
    assert (mean < found["heat_at_0.5_0.25_upper95"]).all()
    np.testing.assert_allclose(mean, found["load"] * (0.5**2 + 0.25), atol=1.0)
    np.testing.assert_array_equal(found["move_at_1.5_0.5_x_mean"].isna(), widths < 1.5)
    np.testing.assert_allclose(
        found["heat_force_on_right*_x_mean"][1:], found["load"][1:] * (widths[1:] ** 2 + 0.5), atol=3
    )
    assert found["heat_force_on_right*_x_mean"].isna().tolist() == [True] + 13 * [False]
    assert f"at 1.5, 0.5: no value for {(widths < 1.5).sum()} of 14 cases" in answer.stderr
    assert "force on right*: no value for 1 of 14 cases: 000.vtu (The mesh has no group 'right*'" in answer.stderr
    first = facts["numbers"][0]
    assert (first["case"], first["number"], first["words"]) == ("000.vtu", "heat_at_0.5_0.25", "heat at 0.5, 0.25")
    assert first["mean"] == pytest.approx(mean[0])
    # The file of a row says the same, linear between the nodes of a cell.
    mesh = read_mesh(tmp_path / "out/004.vtu")
    for key in ("lower95", "upper95"):
        value = derived_number(Probe((0.5, 0.25)), mesh, "heat", mesh.fields[f"heat_{key}"][None])[0]
        assert found[f"heat_at_0.5_0.25_{key}"][4] == pytest.approx(value)
    text = swwl(*command, *asked).stdout
    assert "heat at 0.5, 0.25" in text
    assert "more, in the file" in text


def test_numbers_of_one_case(held, tmp_path):
    mesh = held / "d/meshes/004.vtu"
    command = ["predict", held / "f.swwl", "--mesh", mesh, "load=2"]
    text = swwl(*command, "--probe", "0.5,0.25", "--force-on", "pressure:right side").output
    assert "heat at 0.5, 0.25" in text
    assert "force on right side, heat, x" in text
    facts = json.loads(swwl(*command, "--probe", "0.5,0.25", "--json").stdout)
    row = pd.DataFrame({"mesh": [mesh], "load": [2.0]})
    model = load_model(held / "f.swwl")
    expected = model.derived(row, Probe((0.5, 0.25)), field="heat").iloc[0]
    assert facts["heat_at_0.5_0.25_lower95"] == expected["lower"]
    assert [one["number"] for one in facts["numbers"]] == ["heat_at_0.5_0.25"] + [
        f"move_at_0.5_0.25_{axis}" for axis in "xy"
    ]
    refused(*command, "--probe", "9,9", words="at 9, 9: the point 9, 9 lies ")
    refused(*command, "--force-on", "pressure:left", words="has no group 'left'; its groups are: right side")
    refused(*command, "--probe", "left", words="coordinates between commas are expected")
    refused(*command, "--probe", "1,2,3", words="has 3 coordinates, but the mesh has 2")


def test_a_line_through_one_case(held, tmp_path):
    mesh, file = held / "d/meshes/004.vtu", tmp_path / "line.csv"
    command = ["predict", held / "f.swwl", "--mesh", mesh, "load=2", "--line", "0,0.5:3,0.5:7"]
    answer = swwl(*command, "-o", file)
    assert "7 points along the line" in answer.stdout
    found = pd.read_csv(file)
    assert list(found)[:7] == ["distance", "x", "y", "heat_mean", "heat_std", "heat_lower95", "heat_upper95"]
    width = np.ptp(read_mesh(mesh).points[:, 0])
    np.testing.assert_array_equal(found["heat_mean"].isna(), found["x"] > width)
    assert f"{(found['x'] > width).sum()} of 7 points of the line lie outside of the mesh" in answer.stderr
    model = load_model(held / "f.swwl")
    row = pd.DataFrame({"mesh": [mesh], "load": [2.0]})
    expected = model.along_line(row, (0, 0.5), (3, 0.5), 7, field="move")
    np.testing.assert_allclose(found["move_upper95_1"], expected["upper_1"])
    again = swwl(*command, "-o", file)  # its own file
    assert again.exit_code == 0
    facts = json.loads(swwl(*command, "--json").stdout)
    assert facts["line"][1]["x"] == 0.5
    assert facts["line"][6]["heat_mean"] is None
    assert "move_1" in swwl(*command).stdout.split()
    file.write_text("mine")
    refused(*command, "-o", file, words="already exists, and this command did not write it")
    refused(*command, "-o", tmp_path / "line.vtu", words=".csv")
    refused(*command[:-1], "0,5:3,5:7", words="the line from 0, 5 to 3, 5 lies outside of the mesh")
    for text in ("0,0", "0,0:1,1:x", "0,0:1,1:1", "0:1,1", "0,0:1,b"):
        refused(*command[:-1], text, words="expected")


def test_numbers_that_no_mesh_has_are_refused_before_anything_is_written(held, tmp_path):
    out = tmp_path / "out"
    command = ["predict", held / "f.swwl", held / "d/table.csv", "-o", out]
    refused(*command, "--probe", "9,9", words="at 9, 9: none of 14 cases has it; 000.vtu: the point 9, 9 lies ")
    refused(
        *command,
        "--force-on",
        "pressure:b*",
        words="force on b*: none of 14 cases has it; 000.vtu: The mesh has no group",
    )
    refused(*command, "--line", "0,0:1,1:3", words="--line needs the mesh of one case")
    assert not out.exists()
    table = pd.read_csv(held / "d/table.csv").assign(**{"heat_at_0.5_0.5_mean": 1.0})
    table["mesh"] = [held / "d" / name for name in table["mesh"]]
    table.to_csv(tmp_path / "t.csv", index=False)
    refused(command[0], command[1], tmp_path / "t.csv", "-o", out, "--probe", "0.5,0.5", words="already has a column")


def test_one_case(folder):
    mesh = folder / "d/meshes/004.vtu"
    text = swwl("predict", folder / "f.swwl", "--mesh", mesh, "load=2", "-o", folder / "case.vtu").output
    assert "max of heat" in text
    assert "all inputs lie inside the training range" in text
    assert {"heat_std", "move_upper95"} < set(read_mesh(folder / "case.vtu").fields)
    assert "heat_true" not in read_mesh(folder / "case.vtu").fields  # it may be that of another load
    assert "outside the training range" in swwl("predict", folder / "f.swwl", "--mesh", mesh, "load=9").output
    refused("predict", folder / "f.swwl", "--mesh", mesh, words="also needs load")
    refused("predict", folder / "f.swwl", "--mesh", mesh, "load=2", "-o", mesh, "-f", words="never overwritten")
    refused("predict", folder / "f.swwl", "--mesh", mesh, "load=2", "-o", folder / "c.csv", words=".vtu")


def test_mesh_files_are_named_after_meshes(tmp_path):
    frame = pd.DataFrame({"mesh": ["a/Rotor.vtu", "b/rotor.cgns", "hub.vtu"]})
    assert mesh_names(frame, tmp_path / "t.csv", "mesh") == ["Rotor-line-2.vtu", "rotor-line-3.vtu", "hub.vtu"]


def test_scalars_beside_fields_have_a_file_of_their_own(plates):
    facts = json.loads((plates / "both.json").read_text())
    assert facts["scalars"]["targets"] == ["top"]
    assert facts["inputs"] == ["mesh", "load"]  # the target is not an input of the field
    assert load_model(plates / "both-scalars.swwl").target_names_ == ["top"]
    assert load_model(plates / "both.swwl").field_names_ == ["heat"]
    assert facts["meshes_from_cache"] == 14  # what the first fit embedded


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--target-field", "heta"],
            "line 2: 000.vtu has no field 'heta'; it has: heat, move, flux. Did you mean 'heat'?",
        ),
        (
            [],
            "Nothing to learn: --target names a column of the table, --target-field a field of its",
        ),
        (["--target-field", "heat", "--kernel", "scalars"], "one column of meshes, found none"),
        (["--target-field", "heat", "--merge-nodes"], "--merge-nodes does not apply to --target-field"),
    ],
)
def test_what_fit_refuses(plates, options, words):
    refused("fit", plates / "d/table.csv", *options, "-o", plates / "no.swwl", words=words)
    assert not (plates / "no.swwl").exists()


def test_a_mesh_without_the_field_is_named(folder):
    mesh = read_mesh(folder / "d/meshes/007.vtu")
    type(mesh)(mesh.points, mesh.cells).write(folder / "d/meshes/007.vtu")
    arguments = ["fit", folder / "d/table.csv", "--target-field", "heat", "-o", folder / "no.swwl", *QUICK]
    refused(*arguments, words="line 9")
    assert not (folder / "no.swwl").exists()


def test_columns_where_predictions_go_are_refused(folder):
    table = pd.read_csv(folder / "d/table.csv").assign(heat_max_std=1.0)
    table.to_csv(folder / "d/table.csv", index=False)
    refused(
        "predict",
        folder / "f.swwl",
        folder / "d/table.csv",
        "-o",
        folder / "x",
        words="already has a column 'heat_max_std'",
    )
    assert not (folder / "x").exists()


def test_commands_for_numbers_refuse_fields(plates):
    refused("curve", plates / "f.swwl", "--sweep", "load=1:2:3", "-o", plates / "c.png", words="holds a FieldRegressor")


def test_the_report_shows_the_best_and_the_worst_mesh(folder):
    swwl("report", folder / "both.swwl", "-o", folder / "r.html")
    page = (folder / "r.html").read_text()
    assert page.count("data:image/png") == 3 + 1 + 1  # three meshes, where it is unsure, modes
    assert "worst of 3" in page
    assert "Intervals are made to hold 95 % of nodes on average" in " ".join(page.split())
    shutil.rmtree(folder / "d")
    swwl("report", folder / "both.swwl", "-o", folder / "r.html")
    assert "There are no pictures" in (folder / "r.html").read_text()


def test_vtk_opens_what_was_written(folder):
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    swwl("predict", folder / "f.swwl", "--mesh", folder / "d/meshes/004.vtu", "load=2", "-o", folder / "c.vtu", "-q")
    found, ours = pyvista.read(folder / "c.vtu"), read_mesh(folder / "c.vtu")
    for name in ("heat", "heat_std", "heat_lower95", "heat_upper95"):
        np.testing.assert_array_equal(found.point_data[name], ours.fields[name])
    np.testing.assert_array_equal(found.cell_data["flux"], ours.cell_fields["flux"])
