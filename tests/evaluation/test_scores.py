"""Scores of predictions: closed forms, and what the interval score rewards."""

import numpy as np
import pandas as pd
import pytest

from swwl import Matern52, RobustGPRegressor
from swwl.errors import InputError
from swwl.evaluation.curves import predict_curves
from swwl.evaluation.scores import coverages, interval_score, score, score_rows
from swwl.gp.prediction import Prediction

Y = np.array([0.0, 1.0, 2.0, 5.0])


def test_scores_by_hand():
    prediction = Prediction(np.array([0.0, 1.0, 2.0, 3.0]), np.full(4, 0.5), np.inf)
    found = score(Y, prediction)
    half = 1.959963984540054 * 0.5
    assert found.n == 4
    assert found.rmse == pytest.approx(1.0)
    assert found.q2 == pytest.approx(1 - 4 / 14)
    assert found.coverage == 0.75
    assert found.width == pytest.approx(2 * half)
    # What is outside an interval of probability 0.95 counts 2 / 0.05 = 40 times.
    assert found.interval_score == pytest.approx(2 * half + 40 * (2 - half) / 4)
    np.testing.assert_allclose(coverages(Y, prediction, [0.5, 0.9999999]), [0.75, 1.0])  # four standard deviations away


@pytest.mark.parametrize("df", [np.inf, 6.0])
def test_the_true_intervals_have_the_best_interval_score(df):
    rng = np.random.default_rng(0)
    n = 20_000
    noise = rng.standard_normal(n) if np.isinf(df) else rng.standard_t(df, n)
    true = Prediction(np.zeros(n), np.ones(n), df)
    best = interval_score(noise, true)
    for factor in (0.5, 0.8, 1.25, 2.0, 10.0):
        assert interval_score(noise, true.widened(factor)) > 1.01 * best
    assert interval_score(noise, true.widened(1e6)) > 1e5 * best  # coverage alone would be content


def test_a_model_is_scored_on_what_it_learned_from():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 20), "slope": rng.uniform(0, 1, 20)})
    table["y"], table["z"] = np.sin(5 * table["x"]) + table["slope"], table["x"] ** 2
    model = RobustGPRegressor(Matern52("x"), trend=["slope"], n_starts=1).fit(table, ["y", "z"])
    rows = score_rows(model)
    assert [(row["target"], row["test"], row["n"]) for row in rows] == [
        ("y", "leave-one-out", 20),
        ("z", "leave-one-out", 20),
    ]
    error = table["y"] - model.leave_one_out().mean[:, 0]
    assert rows[0]["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))


def test_curves_need_a_value_for_the_trend():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 20), "slope": rng.uniform(0, 1, 20)})
    table["y"] = np.sin(5 * table["x"]) + table["slope"]
    model = RobustGPRegressor(Matern52("x"), trend=["slope"], n_starts=1).fit(table, "y")
    with pytest.raises(InputError, match="needs a value of 'slope'"):
        predict_curves(model, None, ("x", [0.2, 0.4]))
    points, prediction = predict_curves(model, None, ("x", [0.2, 0.4]), fix={"slope": 0.5})
    np.testing.assert_array_equal(prediction.mean[:, 0], model.predict(points))
    assert points["slope"].tolist() == [0.5, 0.5]
