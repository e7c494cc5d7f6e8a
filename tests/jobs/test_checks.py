"""What is odd about a table and its meshes: findings as objects."""

import shutil

import numpy as np
import pandas as pd
import pytest

from swwl import Mesh, read_mesh
from swwl.errors import InputError, MeshWarning
from swwl.jobs.check import Finding, check_cases, check_plan, check_table, read_facts, told_together
from swwl.jobs.describe import describe
from swwl.jobs.plan import HoldOut, plan_fit
from swwl.jobs.table import read_table
from swwl.storage.memory import Memory
from tests.mesh.io.small_files import foam, write_case


def change(folder, **cells):
    frame = pd.read_csv(folder / "table.csv").astype(object)
    for name, values in cells.items():
        for row, value in values.items():
            frame.loc[row, name] = value
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def test_nothing_is_odd_about_good_data(made):
    assert check_table(made / "table.csv", ["top"]) == []


def test_every_mistake_is_found_at_once(folder):
    (folder / "meshes" / "004.vtu").write_text("not a mesh")
    path = change(folder, mesh={2: "meshes/lost.vtu"}, load={7: np.nan})
    found = check_table(path, ["top"])
    assert [(f.kind, f.place, f.severity) for f in found if f.kind == "mesh file"] == [
        ("mesh file", "line 4", "error"),
        ("mesh file", "line 6", "error"),
    ]
    (missing,) = (f for f in found if f.kind == "missing values")
    assert missing.column == "load" and "line 9" in missing.message
    left = check_table(path, ["top"], rows=HoldOut(drop_incomplete=True))
    assert "missing values" not in [f.kind for f in left]


def test_copies_and_twins_are_found(folder):
    copy = (folder / "meshes" / "000.vtu").read_bytes()
    (folder / "meshes" / "001.vtu").write_bytes(copy)
    frame = pd.read_csv(folder / "table.csv")
    path = change(folder, mesh={13: "meshes/003.vtu"}, load={13: frame["load"][3]})
    kinds = {finding.kind: finding for finding in check_table(path, ["top"])}
    assert "(line 3 repeats line 2)" in kinds["copied meshes"].message
    assert "1 of 3 held-out rows are the same as fitted rows" in kinds["twins"].message


def test_a_mesh_that_stands_apart_is_named_and_what_is_typical_is_kept(folder):
    mesh = read_mesh(folder / "meshes" / "005.vtu")
    Mesh(1000 * mesh.points, mesh.cells).write(folder / "meshes" / "005.vtu")
    plan = plan_fit(folder / "table.csv", ["top"])
    checked = check_plan(plan, Memory(None))
    assert ("size", "line 7") in [(finding.kind, finding.place) for finding in checked.findings]
    assert set(checked.typical) == {"mesh"}
    (folder / "meshes" / "001.vtu").write_text("gone")
    with pytest.raises(InputError, match="line 3: .*001.vtu"):
        check_plan(plan, Memory(None))


@pytest.mark.slow
def with_sets(folder, names_of):
    """Give every mesh of the folder the groups that a function names."""
    for k, file in enumerate(sorted((folder / "meshes").glob("*.vtu"))):
        mesh = read_mesh(file)
        Mesh(mesh.points, mesh.cells, mesh.fields, groups={name: [0, 1] for name in names_of(k)}).write(file)
    return check_table(folder / "table.csv", ["top"])


def test_meshes_without_the_groups_of_the_others_are_named(folder):
    names = {3: ["held", "tip"], 6: []}
    found = {
        one.place: one for one in with_sets(folder, lambda k: names.get(k, ["fixed", "tip"])) if one.kind == "groups"
    }
    assert found.keys() == {"line 5", "line 8"}
    assert "has no group 'fixed', which" in found["line 5"].found and "but 'held'" in found["line 5"].found
    assert "it has no groups at all" in found["line 8"].found and "--no-groups" in found["line 8"].advice
    many = with_sets(folder, lambda k: [f"body{j}" for j in range(1 + (k > 1))])  # some have more bodies
    assert not [one for one in many if one.kind == "groups"]


def test_linear_cells_among_quadratic_ones_are_named(folder):
    for k in (1, 4, 5):
        file = folder / "meshes" / f"{k:03d}.vtu"
        mesh = read_mesh(file)
        ((kind, cells),) = mesh.cells.items()
        ends = np.stack([cells, np.roll(cells, -1, axis=1)], axis=2)
        middles = mesh.points[ends].mean(axis=2).reshape(-1, mesh.dimension)
        numbers = mesh.n_nodes + np.arange(cells.size).reshape(cells.shape)
        kinds = {"triangle": "triangle6", "quad": "quad8"}
        Mesh(np.vstack([mesh.points, middles]), {kinds[kind]: np.hstack([cells, numbers])}).write(file)
    (found,) = (one for one in check_table(folder / "table.csv", ["top"]) if one.kind == "orders of cells")
    assert "has 3 of" in found.message and "(lines 3, 6, 7), the others of linear ones" in found.message


@pytest.mark.parametrize("kind", ["numbers", "fields"])
def test_cases_are_compared_with_the_training_meshes(folder, kind, request):
    model, path = request.getfixturevalue(kind), folder / "table.csv"
    assert check_cases(model, ["mesh"], read_table(path), path) == ([], {})
    mesh = read_mesh(folder / "meshes" / "005.vtu")
    Mesh(1000 * mesh.points, mesh.cells).write(folder / "meshes" / "005.vtu")
    findings, outside = check_cases(model, ["mesh"], read_table(path), path)
    assert outside == {5: ["mesh"]} and "than the training meshes" in findings[0].message


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"y": 10.0 ** np.arange(12)}, "orders of magnitude"),
        ({"x": 1 + 1e-9 * np.arange(12)}, "almost constant"),
        ({"run_id": np.arange(5, 29, 2)}, "ignored"),
    ],
)
def test_columns_that_are_hard_to_learn(tmp_path, values, kind):
    rng = np.random.default_rng(0)
    pd.DataFrame({"x": rng.random(12), "y": rng.random(12)} | values).to_csv(tmp_path / "t.csv", index=False)
    found = check_table(tmp_path / "t.csv", ["y"])
    assert kind in [finding.kind for finding in found]
    assert all(finding.severity == "note" for finding in found)


def test_facts_are_read_once_and_mistakes_are_facts(folder, tmp_path):
    files = [folder / "meshes" / "000.vtu", folder / "meshes" / "000.vtu", folder / "lost.vtu"]
    memory = Memory(tmp_path / "cache")
    found = read_facts(files, memory)
    assert found[files[0]].n_nodes == 16 and isinstance(found[files[2]], InputError)
    again = read_facts(files[:1], memory)[files[0]]
    assert again.key == found[files[0]].key and np.array_equal(again.quantiles, found[files[0]].quantiles)


def test_many_findings_of_a_kind_are_told_together_but_errors_never():
    notes = [Finding("size", "is large", "scale it", place=f"line {k}", mesh=f"{k}.vtu") for k in range(2, 7)]
    errors = [Finding("mesh file", f"line {k}: gone", severity="error", place=f"line {k}") for k in range(2, 7)]
    assert len(told_together(notes)) == 1 and len(told_together(notes[:3])) == 3
    assert told_together(errors) == errors and errors[0].message == "line 2: gone."
    assert errors[0].facts()["severity"] == "error"


def test_cases_that_end_at_another_time_and_folders_without_a_mesh_are_named(tmp_path):
    for number in range(6):
        case = write_case(tmp_path / f"case{number}", foam())
        (case / "system").mkdir()
        (case / "system" / "controlDict").write_text("")
    shutil.rmtree(tmp_path / "case3" / "0.5")
    pd.DataFrame({"mesh": [f"case{k}" for k in range(6)], "load": range(6)}).to_csv(tmp_path / "t.csv", index=False)
    (found,) = (one for one in check_table(tmp_path / "t.csv", ["load"]) if one.kind == "last time")
    assert "case3 has the last time 0, others 0.5" in found.message and found.place == "line 5"
    shutil.rmtree(tmp_path / "case2" / "0.5")  # now a third of them
    assert "last time" not in [one.kind for one in check_table(tmp_path / "t.csv", ["load"])]
    (tmp_path / "t.csv").unlink()
    shutil.rmtree(tmp_path / "case1" / "constant")
    with pytest.warns(MeshWarning, match=r"1 case folder is left out: case1 \(it is a case of OpenFOAM without a mesh"):
        assert len(read_table(tmp_path)) == 5
    with pytest.warns(MeshWarning, match="case1"):
        assert describe(tmp_path)["columns"][0]["holds"] == "5 meshes"
    with pytest.raises(InputError, match="case1: it is a case of OpenFOAM without a mesh.*run blockMesh"):
        describe(tmp_path / "case1")
