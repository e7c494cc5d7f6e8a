"""One case, one answer: Python, commands, report and server state the same means, bounds and verdicts.

Models of numbers; those of fields are asked in ``test_one_answer_fields.py``.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import datasets, load_model, read_mesh
from swwl.domain.notes import case_notes
from swwl.errors import CaseWarning
from swwl.evaluation.curves import predict_curves
from swwl.evaluation.metadata import held_out_of
from swwl.jobs.predict import predict_table, prediction_table
from swwl.jobs.table import read_table
from swwl.mesh.remesh.thin import thinned
from swwl.plots import CurvesDisplay
from swwl.plots.style import new_figure
from swwl.regression.one_mesh import OneMesh
from tests.cli.conftest import swwl

TARGETS = ["efficiency", "massflow"]
LAW = "massflow ~ speed"
SMALL = ["-P", "8", "-Q", "20", "-H", "0", "--jobs", "1", "--kernel", "swwl"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Blades, a model of them, and four new cases: inside, out of range, unsure, another mesh; do not change them."""
    home = tmp_path_factory.mktemp("answers")
    datasets.write_dataset("blade", 130, home / "d", n_nodes=200, random_state=0)
    targets = [option for name in TARGETS for option in ("--target", name)]
    swwl("fit", home / "d/table.csv", *targets, "--no-calibrate", "--scaled", LAW, "-o", home / "m.swwl", "-q", *SMALL)
    assert [law.used for law in load_model(home / "m.swwl").laws_] == [True]
    table = pd.read_csv(home / "d/table.csv")
    train = table[table["split"] == "train"]
    middle = train[["speed", "pressure"]].median()
    new = pd.concat([train.iloc[[5]]] * 4, ignore_index=True)[["mesh", "speed", "pressure"]]
    new[["speed", "pressure"]] = middle.to_numpy()
    new.loc[1, "pressure"] = train["pressure"].max() + 3 * np.ptp(train["pressure"])
    corners = train[["mesh"]].assign(speed=train["speed"].min(), pressure=train["pressure"].max())
    found = load_model(home / "m.swwl").domain(corners.assign(mesh=[home / "d" / name for name in corners["mesh"]]))
    new.loc[2] = corners[(found["widened"] != "") & found["inside"]].iloc[0]  # inside all ranges
    mesh = read_mesh(home / "d" / new["mesh"][3])
    type(mesh)(100 * mesh.points, mesh.cells).write(home / "d/meshes/large.vtu")
    new.loc[3, "mesh"] = "meshes/large.vtu"
    new.to_csv(home / "d/new.csv", index=False)
    return home


@pytest.fixture(scope="module")
def model(folder):
    return load_model(folder / "m.swwl")


@pytest.fixture(scope="module")
def cases(folder):
    table = pd.read_csv(folder / "d/new.csv")
    return table.assign(mesh=[str(folder / "d" / name) for name in table["mesh"]])


@pytest.fixture(scope="module")
def answer(model, cases):
    """What Python says: mean, std, lower and upper, arrays of shape (4, 2), and the verdicts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaseWarning)
        mean, std = model.predict(cases, return_std=True)
        lower, upper = model.predict_interval(cases)
    return {"mean": mean, "std": std, "lower": lower, "upper": upper}, model.domain(cases)


def close(found, wanted):
    np.testing.assert_allclose(np.asarray(found, dtype=float), wanted, rtol=1e-9)


def test_the_cases_are_what_they_are_called(model, cases, answer):
    _, domain = answer
    assert domain["inside"].tolist() == [True, False, True, False]
    assert domain["kind"].tolist()[1::2] == ["input out of range", "other units, frame or kind"]
    assert domain["outside"].tolist() == ["", "pressure", "", ""]
    assert domain["widened"][0] == "" and domain["widened"][2] != "" and "massflow" in domain["widened"][1]


def test_python_widens_by_default_and_the_plain_process_can_be_asked(model, cases, answer):
    told, domain = answer
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the plain process says nothing
        plain = model.predict_distribution(cases, widen=False)
        mean, std = model.predict(cases, return_std=True, widen=False)
        lower, upper = model.predict_interval(cases, widen=False)
        _, cov = model.predict(cases, return_cov=True, widen=False)
    np.testing.assert_array_equal(plain.std, std)
    np.testing.assert_array_equal(plain.interval(0.95), (lower, upper))
    wide = np.array([[2.0 if name in text.split(", ") else 1.0 for name in TARGETS] for text in domain["widened"]])
    np.testing.assert_array_equal(told["mean"], mean)
    np.testing.assert_array_equal(told["std"], wide * std)
    close(told["upper"] - told["lower"], wide * (upper - lower))
    with pytest.warns(CaseWarning):
        _, wider = model.predict(cases, return_cov=True)
    close(wider, wide.T[:, :, None] * wide.T[:, None, :] * cov)
    prediction, _ = model.predict_with_domain(cases)
    np.testing.assert_array_equal(prediction.interval(0.95), (told["lower"], told["upper"]))


def test_doubling_depends_on_the_case_and_not_on_the_nugget(model, cases, answer):
    told, _ = answer
    with pytest.warns(CaseWarning):
        function = model.predict_distribution(cases, include_nugget=False)
    plain = model.predict_distribution(cases, include_nugget=False, widen=False)
    factors = told["std"] / model.predict(cases, return_std=True, widen=False)[1]
    close(function.std, factors * plain.std)


def test_python_warns_where_the_command_line_prints_a_note(model, cases, folder, tmp_path):
    with pytest.warns(CaseWarning) as caught:
        model.predict(cases)
    said = [str(one.message) for one in caught]
    assert all(one.filename == __file__ for one in caught)  # the line that asked
    notes = case_notes(model.domain(cases))
    printed = swwl("predict", folder / "m.swwl", folder / "d/new.csv", "-o", tmp_path / "p.csv").output
    for kind in ("outside", "unlike"):
        assert f"{notes[kind]}." in said
        assert printed.count(notes[kind]) == 1
    assert any("100 times larger than the training meshes" in text for text in said)
    assert printed.count("100 times larger than the training meshes") == 1


def test_cases_like_the_training_cases_bring_no_warning(model, folder):
    table = pd.read_csv(folder / "d/table.csv")
    table["mesh"] = [str(folder / "d" / name) for name in table["mesh"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (table, table[table["split"] == "train"].iloc[:1], table[table["split"] != "train"]):
            model.predict(rows)
            model.predict_interval(rows)


def test_a_coarse_mesh_is_said_to_be_one_by_all(model, cases, folder, tmp_path):
    thinned(read_mesh(cases["mesh"][0]), 0.25).write(folder / "d/meshes/coarse.vtu")
    table = cases.iloc[:1].assign(mesh=str(folder / "d/meshes/coarse.vtu"))
    told, domain = model.predict_with_domain(table)
    note = domain["meshing"].iloc[0]
    assert "times coarser than the training meshes" in note and not domain["inside"].iloc[0]
    with pytest.warns(CaseWarning) as caught:
        _, std = model.predict(table, return_std=True)
    np.testing.assert_array_equal(std, told.std)
    assert any(note in str(one.message) for one in caught)
    table.to_csv(tmp_path / "coarse.csv", index=False)
    printed = swwl("predict", folder / "m.swwl", tmp_path / "coarse.csv", "-o", tmp_path / "p.csv").output
    assert note in printed
    found = pd.read_csv(tmp_path / "p.csv")
    assert note in found["domain"][0] and not found["inside_domain"][0]
    close(found["massflow_std"], told.std[:, 1])
    one = OneMesh.of(model, {"mesh": table["mesh"].iloc[0]})
    prediction, verdict = one.predict_with_domain(model, table[["speed", "pressure"]])
    np.testing.assert_array_equal(prediction.std, told.std)
    assert verdict["why"][0] == domain["why"].iloc[0]  # what the server shows


def test_a_triangle_soup_is_said_to_be_one(model, cases, folder):
    mesh = read_mesh(cases["mesh"][0])
    triangles = np.vstack(list(mesh.cells.values()))
    soup = type(mesh)(mesh.points[triangles.ravel()], {"triangle": np.arange(triangles.size).reshape(-1, 3)})
    with pytest.warns(CaseWarning) as caught:
        model.predict(cases.iloc[:1].assign(mesh=[soup]))
    assert any("so that cells are not joined" in str(one.message) for one in caught)


def test_swwl_predict(folder, answer, tmp_path):
    told, domain = answer
    swwl("predict", folder / "m.swwl", folder / "d/new.csv", "-o", tmp_path / "p.csv")
    found = pd.read_csv(tmp_path / "p.csv", keep_default_na=False)
    for k, name in enumerate(TARGETS):
        for key, column in zip(told, ("mean", "std", "lower95", "upper95"), strict=True):
            close(found[f"{name}_{column}"], told[key][:, k])
    assert found["inside_domain"].astype(str).tolist() == domain["inside"].astype(str).tolist()
    assert found["widened"].tolist() == domain["widened"].tolist()
    close(found["domain_score"], domain["score"])


def test_the_job_behind_it_and_one_case(model, folder, cases, answer):
    told, domain = answer
    path = folder / "d/new.csv"
    frame = read_table(path)
    prediction, found = predict_table(model, frame, path)
    np.testing.assert_array_equal(prediction.interval(0.95), (told["lower"], told["upper"]))
    pd.testing.assert_frame_equal(found.reset_index(drop=True), domain.reset_index(drop=True))
    table = prediction_table(model, frame, prediction, None, found)
    close(table["massflow_upper95"], told["upper"][:, 1])
    assert table["outside_training_range"].tolist() == domain["outside"].tolist()
    values = [f"{name}={float(cases[name][2])!r}" for name in ("speed", "pressure")]
    row = json.loads(swwl("predict", folder / "m.swwl", "--mesh", cases["mesh"][2], *values, "--json").stdout)
    close([row[f"{name}_upper95"] for name in TARGETS], told["upper"][2])
    assert row["widened"] == domain["widened"][2]


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
def test_curves(model, folder, cases, answer, tmp_path):
    told, _ = answer
    for row, case in cases.iterrows():
        sweep, fix = ("pressure", [case["pressure"], case["pressure"] + 0.01]), {"speed": case["speed"]}
        _, prediction = predict_curves(model, case["mesh"], sweep, fix=fix)
        close(prediction.interval(0.95)[0][0], told["lower"][row])
        axis = new_figure(3, 3).subplots()
        display = CurvesDisplay.from_estimator(model, case["mesh"], sweep, fix=fix, target="massflow", ax=axis)
        close(display.table["upper95"][0], told["upper"][row, 1])
    pressure, speed = float(cases["pressure"][1]), float(cases["speed"][1])
    along, fixed = f"pressure={pressure!r}:{pressure + 0.01!r}:2", f"speed={speed!r}"
    asked = ["--mesh", cases["mesh"][1], "--sweep", along, "--fix", fixed, "-o", tmp_path / "c.png"]
    output = swwl("curve", folder / "m.swwl", *asked).output
    found = pd.read_csv(tmp_path / "c.csv")
    close([found[f"{name}_lower95"][0] for name in TARGETS], told["lower"][1])
    assert output.count("2 of 2 cases are outside the training range, where nothing has been tested (pressure)") == 1


def test_one_mesh_and_many_inputs(model, cases, answer):
    told, domain = answer
    for row, case in cases.iterrows():
        one = OneMesh.of(model, {"mesh": case["mesh"]})
        inputs = cases.loc[[row], ["speed", "pressure"]]
        for _ in range(2):  # what is kept of the mesh says the same again
            prediction, verdict = one.predict_with_domain(model, inputs)
            close(prediction.interval(0.95)[1][0], told["upper"][row])
            assert verdict["inside"][0] == domain["inside"][row] and verdict["widened"][0] == domain["widened"][row]
        alone, _ = model.predict_with_domain(cases.loc[[row]])
        np.testing.assert_array_equal(prediction.interval(0.95), alone.interval(0.95))  # bit for bit
        twice = model.predict_represented(one.represent(pd.concat([inputs, inputs])))
        close(twice.interval(0.95)[0], told["lower"][[row, row]])


def test_the_report_shows_held_out_cases(model, folder):
    table = pd.read_csv(folder / "d/table.csv")
    test = table[table["split"] != "train"]
    test = test.assign(mesh=[str(folder / "d" / name) for name in test["mesh"]])
    y, shown = held_out_of(model)
    np.testing.assert_array_equal(y, test[TARGETS])
    for found, wanted in zip(shown.interval(0.95), model.predict_interval(test), strict=True):
        close(found, wanted)


def test_the_server(folder, cases, answer):
    pytest.importorskip("starlette", reason="starlette is not installed")
    from swwl.serve.http.app import make_app
    from swwl.serve.models import load_served
    from tests.serve.conftest import LIMITS, TestClient

    told, domain = answer
    app = make_app(load_served([folder / "m.swwl"], folder), folder, limits=LIMITS)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for row, case in cases.iterrows():
            mesh = str(Path(case["mesh"]).relative_to(folder))
            inputs = {"speed": case["speed"], "pressure": case["pressure"]}
            found = client.post("/api/predict", json={"mesh": mesh, "inputs": inputs}).json()
            for k, name in enumerate(TARGETS):
                close([found["targets"][name][key] for key in told], [values[row, k] for values in told.values()])
                assert found["targets"][name]["unsure"] == (name in domain["widened"][row].split(", "))
            assert found["domain"]["inside"] == bool(domain["inside"][row])
            assert found["domain"]["score"] == pytest.approx(domain["score"][row])
            asked = {"from": case["pressure"], "to": case["pressure"] + 0.01, "n": 2, "name": "pressure"}
            fixed = {"mesh": mesh, "sweep": asked, "inputs": {"speed": case["speed"]}}
            curve = client.post("/api/curve", json=fixed).json()["curves"][0]["targets"]
            close([curve[name]["upper"][0] for name in TARGETS], told["upper"][row])
        lines = pd.read_csv(folder / "d/new.csv")
        text = lines.assign(mesh=["d/" + name for name in lines["mesh"]]).to_csv(index=False)
        sent = client.post("/api/table", content=text, headers={"content-type": "text/csv"})
        (folder / "answer.csv").write_text(sent.text)
        found = pd.read_csv(folder / "answer.csv", keep_default_na=False)
    close(found["massflow_lower95"], told["lower"][:, 1])
    assert found["widened"].tolist() == domain["widened"].tolist()


@pytest.fixture(scope="module")
def log_model(folder):
    """Return the path of a model of the same blades, one target of which is fitted as its logarithm."""
    targets = [option for name in TARGETS for option in ("--target", name)]
    path = folder / "log.swwl"
    swwl("fit", folder / "d/table.csv", *targets, "--log", "massflow", "--no-calibrate", "-o", path, "-q", *SMALL)
    return path


@pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")
def test_a_logarithm_has_one_answer_too(folder, log_model, cases, tmp_path):
    model = load_model(log_model)
    assert [scale.kind for scale in model.target_scales_.values()] == ["identity", "log"]
    mean, std = model.predict(cases, return_std=True)
    lower, upper = model.predict_interval(cases)
    told = {"mean": mean, "std": std, "lower": lower, "upper": upper}
    assert (lower[:, 1] > 0).all()
    swwl("predict", log_model, folder / "d/new.csv", "-o", tmp_path / "p.csv")
    found = pd.read_csv(tmp_path / "p.csv", keep_default_na=False)
    for key, name in zip(told, ("mean", "std", "lower95", "upper95"), strict=True):
        close(found[f"massflow_{name}"], told[key][:, 1])
    assert found["widened"].tolist() == model.domain(cases)["widened"].tolist()
    case = cases.iloc[2]
    sweep, fix = ("pressure", [case["pressure"], case["pressure"] + 0.01]), {"speed": case["speed"]}
    close(predict_curves(model, case["mesh"], sweep, fix=fix)[1].interval(0.95)[0][0], lower[2])
    one = OneMesh.of(model, {"mesh": case["mesh"]})
    close(one.predict_with_domain(model, cases.loc[[2], ["speed", "pressure"]])[0].interval(0.95)[1][0], upper[2])
    table = pd.read_csv(folder / "d/table.csv")
    test = table[table["split"] != "train"]
    held_out = held_out_of(model)[1]
    new = test.assign(mesh=[str(folder / "d" / name) for name in test["mesh"]])
    for shown, wanted in zip(held_out.interval(0.95), model.predict_interval(new), strict=True):
        close(shown, wanted)
    close(held_out.mean, model.predict(new))


def test_the_server_answers_in_the_units_of_a_logarithm(folder, log_model, cases):
    pytest.importorskip("starlette", reason="starlette is not installed")
    from swwl.serve.http.app import make_app
    from swwl.serve.models import load_served
    from tests.serve.conftest import LIMITS, TestClient

    model = load_model(log_model)
    app = make_app(load_served([log_model], folder), folder, limits=LIMITS)
    case = cases.iloc[2]
    (lower,), (upper,) = model.predict_interval(cases.iloc[[2]])
    with TestClient(app, base_url="http://127.0.0.1") as client:
        mesh = str(Path(case["mesh"]).relative_to(folder))
        inputs = {"speed": case["speed"], "pressure": case["pressure"]}
        found = client.post("/api/predict", json={"mesh": mesh, "inputs": inputs}).json()["targets"]
    close([[found[name][key] for name in TARGETS] for key in ("lower", "upper")], [lower, upper])
