"""What is odd about a table and its meshes: one line each, before anything is fitted."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, load_model
from tests.cli.conftest import SMALL, change, swwl
from tests.helpers import plate
from tests.mesh.shapes import extruded

QUARTER = np.array([[0.0, -1.0], [1.0, 0.0]])


@pytest.fixture
def plates(tmp_path):
    """Fourteen plates of several widths under several loads; mesh 5 can be replaced."""
    folder = tmp_path / "plates"
    folder.mkdir()
    rng = np.random.default_rng(0)
    rows = []
    for k in range(14):
        points, cells = plate(80, seed=k)
        width, load = rng.uniform(1, 2, 2)
        Mesh(points * [width, 1], {"triangle": cells}).write(folder / f"{k}.vtu")
        rows.append({"mesh": f"{k}.vtu", "load": load, "stress": load / width})
    pd.DataFrame(rows).to_csv(folder / "table.csv", index=False)
    return folder


def replaced(folder, change, number=5):
    """Change the mesh of line 7."""
    from swwl import read_mesh

    mesh = read_mesh(folder / f"{number}.vtu")
    changed = change(mesh.points, mesh.cells["triangle"])
    Mesh(*changed).write(folder / f"{number}.vtu")
    return folder / "table.csv"


def findings(table, *options, code=0):
    result = swwl("check", table, "--json", *options, code=code)
    return json.loads(result.stdout)


def kinds(table, *options, code=0):
    return [finding["kind"] for finding in findings(table, *options, code=code)]


def fit(table, *options, target="stress"):
    return swwl("fit", table, "--target", target, "-o", table.parent / "m.swwl", *SMALL, "--no-calibrate", *options)


def fit_says_first(table, message, **options):
    """Fit, see that a note comes before the fit itself, and return all lines."""
    lines = fit(table, **options).stderr.splitlines()
    note = next(k for k, line in enumerate(lines) if line == f"note: {message}")
    assert note < next(k for k, line in enumerate(lines) if line.startswith("Gaussian processes"))
    return lines


ODD = {
    "size": (lambda p, c: (1000 * p, c), "5.vtu is about 1000 times larger than the others"),
    "orientation": (lambda p, c: (p @ QUARTER.T, c), "5.vtu is probably rotated by 90 degrees"),
    "position": (lambda p, c: (p + [9, 0], c), "5.vtu lies elsewhere than the others"),
    "loose nodes": (lambda p, c: ([*p, [5, 5]], c), "5.vtu has 1 node that no cell uses: left out"),
    "repeated nodes": (lambda p, c: (p[c.ravel()], np.arange(c.size).reshape(-1, 3)), "--merge-nodes"),
    "odd cells": (
        lambda p, c: (p, [*c, [0, 0, 1], *c[:5]]),
        "5.vtu has 1 cell without area or volume and 5 repeated cells: left out",
    ),
    "node count": (lambda p, c: plate(2000), "5.vtu has 2000 nodes, where the others have about 80"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ODD)
def test_fit_says_which_mesh_stands_apart_and_why_before_it_fits(plates, kind):
    table = replaced(plates, ODD[kind][0])
    (found,) = findings(table, "--target", "stress")
    assert (found["kind"], found["severity"], found["place"]) == (kind, "note", "line 7")
    assert (found["column"], found["mesh"]) == ("mesh", "5.vtu") and ODD[kind][1] in found["message"]
    lines = fit_says_first(table, found["message"])
    assert not [line for line in lines if "belongs to no cell" in line]  # said once


@pytest.fixture(scope="module", params=[("tensile2d", 300, "max_von_mises"), ("airfoil", 500, "drag")])
def fourteen(request, tmp_path_factory):
    """Fourteen meshes as the command makes them, and a target; do not change them."""
    name, n_nodes, target = request.param
    folder = tmp_path_factory.mktemp(name) / "d"
    swwl("make", name, "-n", 14, "--nodes", n_nodes, "-o", folder, "--jobs", 1)
    assert findings(folder / "table.csv", "--inputs", "") == []
    return folder, target


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["size", "orientation"])
def test_one_of_fourteen_made_meshes_is_in_millimeters_or_rotated(fourteen, tmp_path, kind):
    folder, target = fourteen
    table = Path(shutil.copytree(folder, tmp_path / "d")) / "table.csv"
    replaced(table.parent / "meshes", ODD[kind][0], "00005")
    (found,) = findings(table, "--target", target, "--inputs", "")
    assert (found["kind"], found["place"], found["mesh"]) == (kind, "line 7", "meshes/00005.vtu")
    assert ODD[kind][1].removeprefix("5.vtu ") in found["message"]
    fit_says_first(table, found["message"], target=target)


def test_nothing_is_odd_about_good_data(plates, made, tmp_path):
    assert "nothing odd was found" in swwl("check", plates / "table.csv", "--target", "stress").stdout
    shutil.copytree(made, tmp_path / "d")
    assert findings(tmp_path / "d" / "table.csv", "--target", "efficiency", "--target", "massflow") == []
    assert findings(tmp_path / "d" / "table.csv") == []


@pytest.mark.slow
def test_predict_compares_with_the_training_meshes(plates, tmp_path):
    fit(plates / "table.csv")
    table = replaced(plates, ODD["size"][0])
    replaced(plates, ODD["orientation"][0], number=7)
    result = swwl("predict", plates / "m.swwl", table, "-o", tmp_path / "p.csv")
    assert "5.vtu is about 1000 times larger than the training meshes" in result.stderr
    assert "7.vtu is probably rotated by 90 degrees, compared with the training meshes" in result.stderr
    outside = pd.read_csv(tmp_path / "p.csv")["outside_training_range"].fillna("")
    assert [row for row, names in enumerate(outside) if "mesh" in names] == [5, 7]
    one = swwl("predict", plates / "m.swwl", "--mesh", plates / "5.vtu", "load=1.5")
    assert "1000 times larger" in one.stderr and "where nothing has been tested: mesh" in one.stdout
    assert "note" not in swwl("predict", plates / "m.swwl", "--mesh", plates / "4.vtu", "load=1.5").stderr
    model = load_model(plates / "m.swwl")
    del model.metadata_["typical"]  # a model of an earlier version
    model.save(plates / "old.swwl")
    assert "training meshes" not in swwl("predict", plates / "old.swwl", table, "-o", tmp_path / "q.csv").stderr


def test_a_loose_node_changes_no_prediction(plates, tmp_path):
    fit(plates / "table.csv")
    command = ["predict", plates / "m.swwl", plates / "table.csv", "-o"]
    swwl(*command, tmp_path / "before.csv")
    replaced(plates, ODD["loose nodes"][0])
    assert "has 1 node that no cell uses" in swwl(*command, tmp_path / "after.csv").stderr
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "after.csv"), pd.read_csv(tmp_path / "before.csv"))


@pytest.mark.slow
def test_merged_nodes_are_remembered_by_the_model(plates, tmp_path):
    whole = tmp_path / "whole"
    shutil.copytree(plates, whole)
    table = replaced(plates, ODD["repeated nodes"][0])
    assert kinds(table) == ["repeated nodes"]
    assert "--merge-nodes" not in fit(table, "--merge-nodes").stderr
    swwl("predict", plates / "m.swwl", table, "-o", tmp_path / "soup.csv")
    swwl("predict", plates / "m.swwl", whole / "table.csv", "-o", tmp_path / "whole.csv")
    soup, joined = (pd.read_csv(tmp_path / f"{name}.csv")["stress_mean"] for name in ("soup", "whole"))
    assert soup.to_numpy() == pytest.approx(joined.to_numpy(), rel=1e-4)


def test_all_meshes_that_cannot_be_used_are_listed(plates):
    (plates / "2.vtu").write_text("not a mesh")
    (plates / "7.vtu").unlink()
    (plates / "9.vtu").write_bytes(b"")
    points, cells = plate(80)
    Mesh(np.column_stack([points, points[:, 0]]), {"triangle": cells}).write(plates / "11.vtu")
    result = swwl("check", plates / "table.csv", "-q", code=2)
    lines = result.stderr.splitlines()
    assert len(lines) == 4 and all(line.startswith(f"error: {plates / 'table.csv'}: line ") for line in lines)
    assert [line.split(": line ")[1].split(":")[0] for line in lines] == ["4", "9", "11", "13"]
    assert "does not exist" in lines[1] and "the file is empty" in lines[2] and "3 coordinates" in lines[3]
    assert kinds(plates / "table.csv", code=2) == ["mesh file"] * 3 + ["dimension"]
    assert "line 9" in swwl("fit", plates / "table.csv", "--target", "stress", "-o", plates / "m", code=2).stderr


def test_repeated_rows_and_twins(plates):
    table = plates / "table.csv"
    frame = pd.read_csv(table)
    pd.concat([frame, frame.iloc[:4]]).to_csv(table, index=False)
    assert kinds(table, "--target", "stress") == ["repeated rows"]
    found = findings(table, "--target", "stress", "--test-fraction", "0.3", "--seed", "0")
    assert [finding["kind"] for finding in found] == ["repeated rows", "twins"]
    assert "held-out scores will be too optimistic" in found[1]["message"] and "repeats line" in found[1]["message"]
    assert "held-out scores will be too optimistic" in fit(table, "--test-fraction", "0.3", "--seed", "0").stderr


def test_copied_meshes(plates):
    shutil.copy(plates / "3.vtu", plates / "5.vtu")
    (found,) = findings(plates / "table.csv", "--target", "stress")
    assert found["kind"] == "copied meshes" and "line 7 repeats line 5" in found["message"]


def test_known_meshes_on_both_sides(plates):
    table = plates / "table.csv"
    frame = pd.read_csv(table)
    pd.concat([frame, frame.assign(load=frame["load"] + 1, stress=frame["stress"] + 1)]).to_csv(table, index=False)
    found = findings(table, "--target", "stress", "--test-fraction", "0.2")
    assert [finding["kind"] for finding in found] == ["known meshes"]
    assert "not about new meshes" in found[0]["message"]


def test_columns_and_targets(data):
    rng = np.random.default_rng(0)
    table = data / "table.csv"
    change(
        table,
        number=np.arange(40),
        case=1000 + rng.permutation(40),
        fixed=3.5,
        almost=[1] * 39 + [2],
        tiny=1 + 1e-9 * rng.random(40),
        decades=10 ** rng.uniform(0, 6, 40),
        flat=1e6 + 1e-3 * rng.random(40),
        split="train",
    )
    change(table, tiny={7: np.nan})
    found = {
        finding["column"]: finding for finding in findings(table, "--target", "decades", "--target", "flat", code=2)
    }
    assert {name: one["kind"] for name, one in found.items()} == {
        "number": "ignored",
        "case": "ignored",
        "fixed": "ignored",
        "almost": "almost constant",
        "tiny": "almost constant",
        "decades": "orders of magnitude",
        "flat": "almost constant",
    }
    assert "logarithm" in found["decades"]["message"] and "is constant" in found["fixed"]["message"]
    errors = swwl("check", table, "--target", "decades", "-q", code=2).stderr.splitlines()
    assert len(errors) == 1 and "'tiny' is missing" in errors[0] and "--drop-incomplete" in errors[0]
    assert swwl("check", table, "--target", "decades", "-q", "--drop-incomplete").stderr == ""


def test_what_a_fit_refuses_is_an_error(data):
    table = data / "table.csv"
    assert "no such table" in swwl("check", data / "nothing.csv", code=2).stderr
    assert "Did you mean 'massflow'?" in swwl("check", table, "--target", "masflow", code=2).stderr
    change(table, massflow=1.0)
    assert "there is nothing to learn" in swwl("check", table, "--target", "massflow", code=2).stderr


def test_few_rows(plates):
    table = plates / "table.csv"
    pd.read_csv(table).iloc[:7].to_csv(table, index=False)
    assert kinds(table, "--target", "stress") == ["few rows"]


def test_facts_are_kept(plates, monkeypatch):
    table = replaced(plates, ODD["size"][0])
    first = findings(table)
    monkeypatch.setattr("swwl.jobs.check.read_file", lambda *_: pytest.fail("read again"))
    assert findings(table) == first


def test_odd_cells_change_no_prediction(plates, tmp_path):
    fit(plates / "table.csv")
    command = ["predict", plates / "m.swwl", plates / "table.csv", "-o"]
    swwl(*command, tmp_path / "clean.csv")
    replaced(plates, ODD["odd cells"][0])
    result = swwl(*command, tmp_path / "odd.csv")
    assert "5.vtu has 1 cell without area or volume and 5 repeated cells: left out." in result.stderr
    clean, odd = (pd.read_csv(tmp_path / f"{name}.csv").select_dtypes(float) for name in ("clean", "odd"))
    np.testing.assert_allclose(odd, clean, rtol=1e-9)
    assert "left out  1 cell without area or volume and 5 repeated cells" in swwl("info", plates / "5.vtu").stdout


def test_values_that_are_not_finite_are_counted(tmp_path):
    mesh = Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]], {"T": [1.0, np.nan, 3.0], "u": [np.inf] * 3})
    mesh.write(tmp_path / "m.vtu")
    said = swwl("info", tmp_path / "m.vtu").stdout
    assert "T: 1 to 3, 1 values not finite" in said and "3 values not finite" in said


def test_meshes_one_cell_thick_are_told_and_learned_as_plane_ones(plates, tmp_path):
    """The same predictions as from plane meshes, and one note by check, fit and predict each."""
    from swwl import read_mesh

    thick = Path(shutil.copytree(plates, tmp_path / "thick"))
    for k in range(14):
        extruded(read_mesh(plates / f"{k}.vtu")).write(thick / f"{k}.vtu")
    note = "column 'mesh' holds 14 meshes one cell thick: they are learned as plane meshes."
    (found,) = findings(thick / "table.csv", "--target", "stress")
    assert (found["kind"], found["message"]) == ("one cell thick", note)
    assert "one cell thick (0.1): learned as a plane mesh" in swwl("info", thick / "3.vtu").stdout
    said = fit(thick / "table.csv").stderr
    assert said.count("one cell thick") == 1 and f"note: {note}" in said
    fit(plates / "table.csv")
    results = [swwl("predict", d / "m.swwl", d / "table.csv", "-o", d / "p.csv") for d in (plates, thick)]
    assert f"note: {note}" in results[1].stderr
    pd.read_csv(thick / "table.csv").iloc[:1].to_csv(thick / "one.csv", index=False)
    one = swwl("predict", thick / "m.swwl", thick / "one.csv", "-o", tmp_path / "one.csv")
    assert "0.vtu is one cell thick: it is learned as a plane mesh." in one.stderr
    assert one.stdout.startswith("1 row predicted, written to ")
    plane, same = (pd.read_csv(d / "p.csv").select_dtypes(float) for d in (plates, thick))
    np.testing.assert_allclose(same, plane, rtol=1e-6)
    for k in range(14):
        extruded(read_mesh(plates / f"{k}.vtu"), 0.1 + k / 100).write(thick / f"{k}.vtu")
    (found,) = findings(thick / "table.csv", "--target", "stress")
    assert (
        found["message"]
        == "column 'mesh' holds 14 meshes one cell thick, of different thickness: all are learned as solids."
    )
