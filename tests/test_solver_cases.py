"""Twenty parts by CalculiX and twenty flows by OpenFOAM, as the solvers left them: check, fit, predict."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from swwl import load_model, read_mesh
from swwl.cli.app import app
from tests.solvers import calculix, openfoam

pytestmark = pytest.mark.slow

N = 20


def swwl(*words):
    """Run a command and return what it printed."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def brackets(tmp_path_factory):
    if reason := calculix.lack():
        pytest.skip(reason)
    folder, rng = tmp_path_factory.mktemp("brackets"), np.random.default_rng(0)
    rows = []
    for k in range(N):
        load, foot, hole = rng.uniform(5, 20), rng.uniform(3, 7), rng.uniform(2, 6)
        case = folder / "cases" / f"case{k:03d}"
        calculix.bracket(case, "part", size=rng.uniform(4, 6), loads=(load,), foot=foot, hole=hole)
        mesh = read_mesh(case / "part.frd")
        size = float(np.linalg.norm(mesh.fields["DISP"], axis=1).max())
        rows.append({"case": k, "mesh": f"cases/case{k:03d}/part.frd", "load [N]": load, "max_disp": size})
    pd.DataFrame(rows).to_csv(folder / "table.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def flows(tmp_path_factory):
    if reason := openfoam.lack():
        pytest.skip(reason)
    folder, rng = tmp_path_factory.mktemp("flows"), np.random.default_rng(1)
    rows = []
    for k in range(N):
        places = rng.permutation([(0.6, 0.3), (1.3, 0.7), (2.0, 0.35)])[: 1 + k % 3]
        bodies = [
            (x + rng.uniform(-0.1, 0.1), y + rng.uniform(-0.08, 0.08), rng.uniform(0.06, 0.14)) for x, y in places
        ]
        case = openfoam.channel(
            folder / f"case{k:03d}", bodies=bodies, steps=40, size=0.1, form=("ascii", "binary")[k % 2]
        )
        mesh = read_mesh(case)
        inlet = mesh.groups["inlet"].nodes
        pressure = mesh.cell_fields["p"]
        near = np.isin(mesh.cells["wedge"], inlet).any(axis=1)
        rows.append({"mesh": case.name, "drop": float(pressure[near].mean())})
    pd.DataFrame(rows).to_csv(folder / "flows.csv", index=False)
    return folder


def test_brackets_from_the_folder_to_intervals(brackets):
    swwl("check", brackets / "table.csv", "--target", "max_disp")
    swwl("fit", brackets / "table.csv", "--target", "max_disp", "-o", brackets / "m.swwl", "--jobs", 1)
    model = load_model(brackets / "m.swwl")
    assert [str(name) for name in model.feature_names_in_] == ["mesh", "load [N]"]  # the number of the case is none
    swwl("predict", brackets / "m.swwl", brackets / "table.csv", "-o", brackets / "out.csv")
    out = pd.read_csv(brackets / "out.csv")
    assert ((out["max_disp_lower95"] <= out["max_disp"]) & (out["max_disp"] <= out["max_disp_upper95"])).mean() >= 0.8
    report = swwl("report", brackets / "m.swwl", "-o", brackets / "r.html")
    text = (brackets / "r.html").read_text()
    assert "r.html" in report and "case0" in text and "part.frd" not in text


def test_fields_of_brackets_are_written_back(brackets):
    swwl(
        "fit",
        brackets / "table.csv",
        "--target-field",
        "MISES",
        "--results",
        "max_disp",
        "-o",
        brackets / "f.swwl",
        "--jobs",
        1,
    )
    swwl("predict", brackets / "f.swwl", brackets / "table.csv", "-o", brackets / "out")
    written = sorted(path.name for path in (brackets / "out").glob("*.vtu"))
    assert len(written) == N and written[3].startswith("case003")
    given = read_mesh(brackets / "cases" / "case003" / "part.frd")
    found = read_mesh(brackets / "out" / written[3])
    np.testing.assert_allclose(found.points, given.points, atol=1e-6)
    assert {"MISES", "MISES_std"} <= set(found.fields) and {"HELD", "LOADED"} <= set(found.groups)
    np.testing.assert_array_equal(found.groups["HELD"].nodes, given.groups["HELD"].nodes)


def test_flows_are_learned_in_the_plane(flows):
    checked = swwl("check", flows / "flows.csv", "--target", "drop")
    assert "one cell thick" in checked
    swwl("fit", flows / "flows.csv", "--target", "drop", "-o", flows / "m.swwl", "--jobs", 1)
    swwl("predict", flows / "m.swwl", flows / "flows.csv", "-o", flows / "out.csv")
    out = pd.read_csv(flows / "out.csv")
    assert np.isfinite(out["drop_mean"]).all()
    facts = json.loads(swwl("info", flows / "case000", "--json"))
    assert {"inlet", "outlet", "body"} <= set(facts["groups"]) and "p" in facts["cell_fields"]


def test_predicted_pressure_is_the_same_on_both_planes(flows):
    swwl("fit", flows / "flows.csv", "--target-field", "p", "--results", "drop", "-o", flows / "p.swwl", "--jobs", 1)
    model = load_model(flows / "p.swwl")
    (mesh,) = model.predict_meshes(pd.DataFrame({"mesh": [flows / "case004"]}))
    given = read_mesh(flows / "case004")
    np.testing.assert_array_equal(mesh.points, given.points)
    assert mesh.n_cells == given.n_cells and np.isfinite(mesh.cell_fields["p"]).all()
    error = mesh.cell_fields["p"] - given.cell_fields["p"]
    assert np.sqrt(np.mean(error**2)) < 0.5 * given.cell_fields["p"].std()
