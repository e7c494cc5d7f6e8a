"""A model of curves over HTTP: its curve, and numbers of it as targets."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from starlette.testclient import TestClient

from swwl import SWWL, CurveRegressor, Matern52, RobustGPRegressor
from swwl.serve.http.app import make_app
from swwl.serve.models import load_served
from swwl.serve.models.curves import ServedCurves
from swwl.serve.models.meshes import MeshStore
from tests.chromium import Chromium
from tests.serve.conftest import LIMITS, served_by


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    t, slope = np.linspace(0, 1, 9), np.random.default_rng(0).uniform(1, 2, 20)
    wide = pd.DataFrame(slope[:, None] * t**2, columns=[f"u_{k}" for k in range(9)])
    table = pd.concat([pd.DataFrame({"slope": slope}), wide], axis=1)
    model = CurveRegressor(RobustGPRegressor(Matern52("slope"), n_starts=1)).fit(table, "u")
    path = tmp_path_factory.mktemp("curves") / "u.swwl"
    model.save(path)
    return model, load_served([path], None)


def test_one_case_has_a_curve(served):
    model, models = served
    assert isinstance(models["u"], ServedCurves)
    with TestClient(make_app(models, None, limits=LIMITS), base_url="http://127.0.0.1") as client:
        found = client.post("/api/predict", json={"inputs": {"slope": 1.5}, "level": 0.9})
        assert found.status_code == 200, found.text
        answer = found.json()
        assert client.get("/api/model").json()["curves"][0]["name"] == "u"
        refused = client.post("/api/predict", json={"inputs": {"slope": 1.5}, "probe": [[0.0, 0.0]]})
        assert refused.status_code == 400 and "predicts curves" in refused.text
    curve = answer["curves"]["u"]
    np.testing.assert_allclose(curve["mean"], model.predict(pd.DataFrame({"slope": [1.5]}))[0], atol=1e-9)
    assert (np.array(curve["lower_whole"]) <= np.array(curve["mean"]) + 1e-12).all()
    np.testing.assert_allclose(answer["targets"]["u_peak"]["mean"], 1.5, atol=0.05)


def test_training_curves_are_told_for_the_page(served):
    model, models = served
    facts = models["u"].facts["curves"][0]
    slope = model.regressor_.train_inputs_["slope"].to_numpy()
    np.testing.assert_allclose(facts["train"], slope[:, None] * np.linspace(0, 1, 9) ** 2, atol=1e-6)
    assert facts["scores"][0]["n"] == 20


def test_a_mesh_has_a_place_on_the_map(plates):
    table = pd.read_csv(plates / "data" / "table.csv")
    t = np.linspace(0, 1, 9)
    wide = pd.DataFrame(table["area"].to_numpy()[:, None] * t, columns=[f"u_{k}" for k in range(9)])
    table = table[["mesh"]].assign(mesh=[plates / "data" / name for name in table["mesh"]])
    kernel = SWWL("mesh", n_iterations=0, n_projections=6, n_quantiles=10, n_jobs=1)
    model = CurveRegressor(RobustGPRegressor(kernel, n_starts=1)).fit(pd.concat([table, wide], axis=1), "u")
    one = ServedCurves("u", model, plates / "u.swwl", plates)
    known = MeshStore(plates, LIMITS).find("data/meshes/003.vtu")
    place = one.judge({"mesh": known}, one.case({}), 0.95).place
    assert place["nearest"][0]["case"] == 3 and place["nearest"][0]["distance"] < 1e-3


@pytest.mark.slow
def test_the_page_draws_the_curve(served):
    model, models = served
    with served_by(models) as port:
        browser = Chromium()
        try:
            browser.open(f"http://127.0.0.1:{port}/", 1000, 900)
            browser.wait_for("!!document.querySelector('#whole .main-svg')")
            drawn = browser.ask("document.getElementById('whole').data.find((one) => one.name === 'predicted').y")
            middle = {one["name"]: [one["median"]] for one in models["u"].inputs}
            np.testing.assert_allclose(drawn, model.predict(pd.DataFrame(middle))[0], rtol=1e-6, atol=1e-9)
            assert browser.ask("document.getElementById('scores').textContent").startswith("u, cross-validation")
        finally:
            browser.close()


def test_rows_and_sweeps_are_numbers(served):
    model, models = served
    table = pd.DataFrame({"slope": [1.2, 1.8]})
    told = models["u"].along({}, table, 0.95)
    assert told["mean"].shape == (2, 3) and (told["lower"] <= told["upper"]).all()
    np.testing.assert_allclose(models["u"].rows(table)["mean"], told["mean"])
    found = models["u"].with_predictions(table, table, {1: ["mesh"]})
    np.testing.assert_allclose(found[[f"u_mean_{k}" for k in range(9)]], model.predict(table), atol=1e-9)
    assert found["outside_training_range"].tolist() == ["", "mesh"]
