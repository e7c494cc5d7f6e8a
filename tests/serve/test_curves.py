"""A model of curves over HTTP: its curve, and numbers of it as targets."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from starlette.testclient import TestClient

from swwl import CurveRegressor, Matern52, RobustGPRegressor
from swwl.serve.http.app import make_app
from swwl.serve.models import load_served
from swwl.serve.models.curves import ServedCurves
from tests.serve.conftest import LIMITS


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


def test_rows_and_sweeps_are_numbers(served):
    model, models = served
    table = pd.DataFrame({"slope": [1.2, 1.8]})
    told = models["u"].along({}, table, 0.95)
    assert told["mean"].shape == (2, 3) and (told["lower"] <= told["upper"]).all()
    np.testing.assert_allclose(models["u"].rows(table)["mean"], told["mean"])
    found = models["u"].with_predictions(table, table, {1: ["mesh"]})
    np.testing.assert_allclose(found[[f"u_mean_{k}" for k in range(9)]], model.predict(table), atol=1e-9)
    assert found["outside_training_range"].tolist() == ["", "mesh"]
