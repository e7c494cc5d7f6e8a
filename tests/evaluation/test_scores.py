"""Scores of predictions: closed forms, and what the interval score rewards."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from swwl import Matern52, RobustGPRegressor
from swwl.errors import InputError, OutlierWarning
from swwl.evaluation.curves import predict_curves
from swwl.evaluation.scores import (
    coverages,
    faultless_counts,
    interval_score,
    interval_verdict,
    left_out_of,
    quality_words,
    score,
    score_rows,
    verdicts,
)
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
        ("y", "cross-validation", 20),
        ("z", "cross-validation", 20),
    ]
    error = table["y"] - model.cross_validation()[1].mean[:, 0]
    assert rows[0]["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))


def test_what_was_never_left_out_has_no_score():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 20)}).assign(y=lambda t: np.sin(5 * t["x"]))
    for few, calibrate in ((table[:9], True), (table, False)):
        model = RobustGPRegressor(Matern52("x"), n_starts=1, calibrate=calibrate).fit(few, "y")
        assert score_rows(model) == [] and left_out_of(model) is None


def test_rows_that_hardly_count_are_not_scored():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 40)}).assign(y=lambda t: 2 + np.sin(5 * t["x"]))
    table.loc[11, "y"] *= 5
    with pytest.warns(OutlierWarning, match="row 11"):
        model = RobustGPRegressor(Matern52("x"), n_starts=1).fit(table, "y")
    (row,) = score_rows(model)
    assert row["n"] == 39 and row["q2"] > 0.99


def test_a_verdict_needs_cases_and_sees_all_levels():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(400)
    flat = Prediction(np.zeros(400), np.ones(400), np.inf)
    assert interval_verdict(y, flat).kind == "hold"
    assert interval_verdict(y[:29], flat.take(slice(29))).kind == "few"
    # all is well at 95 %, but half of the intervals hold three quarters
    peaked = np.where(np.abs(y) < stats.norm.ppf(0.875), y * 0.5, y)
    found = interval_verdict(peaked, flat)
    assert found.kind == "wide" and found.level < 0.95 and found.inside > found.high
    # the same with a few more just outside at 95 %: not too wide, though half of the intervals hold too much
    far = peaked.copy()
    far[np.argsort(-np.abs(y))[:21]] = 2.2
    assert (interval_verdict(far, flat).kind, interval_verdict(far, flat).inside) == ("hold", 379)
    narrow = interval_verdict(1.6 * y, flat)
    assert (narrow.kind, narrow.level) == ("narrow", 0.95) and narrow.inside < narrow.low


@pytest.mark.parametrize("n", [1, 2, 30, 31, 1000, 20_000])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_faultless_counts_are_binomial(n, level):
    assert faultless_counts(n, level) == tuple(stats.binom.ppf([0.025, 0.975], n, level))


def test_faultless_intervals_are_rarely_blamed():
    """About nineteen of twenty models whose intervals are right are believed, whatever the number of cases."""
    rng = np.random.default_rng(2)
    for n in (30, 100, 500):
        flat = Prediction(np.zeros(n), np.ones(n), np.inf)
        kinds = [interval_verdict(rng.standard_normal(n), flat).kind for _ in range(300)]
        assert kinds.count("hold") > 0.9 * 300


def test_curves_fix_columns_of_the_trend_at_the_median():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 20), "slope": rng.uniform(0, 1, 20)})
    table["y"] = np.sin(5 * table["x"]) + table["slope"]
    model = RobustGPRegressor(Matern52("x"), trend=["slope"], n_starts=1).fit(table, "y")
    points, _ = predict_curves(model, None, ("x", [0.2, 0.4]))
    np.testing.assert_allclose(points["slope"], table["slope"].median())
    points, prediction = predict_curves(model, None, ("x", [0.2, 0.4]), fix={"slope": 0.5})
    np.testing.assert_array_equal(prediction.mean[:, 0], model.predict(points))
    assert points["slope"].tolist() == [0.5, 0.5]
    del model.stack_.other_inputs["slope"]  # as in files of 0.3.0
    with pytest.raises(InputError, match="needs a value of 'slope'"):
        predict_curves(model, None, ("x", [0.2, 0.4]))


def numbers(n, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    y = x @ [2.0, -1.0] + noise * rng.normal(size=n)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})


@pytest.mark.filterwarnings("ignore:The targets cannot be told from noise")
def test_a_verdict_says_how_good_whether_intervals_hold_and_what_else_would_do():
    model = RobustGPRegressor().fit(numbers(60), "y")
    assert verdicts(model)["y"].startswith("very good: explains 100 % of the variance; intervals ")
    table = numbers(60)
    table["y"] = np.random.default_rng(1).normal(size=60)
    noise = verdicts(RobustGPRegressor().fit(table, "y"))["y"]
    assert noise.startswith(("poor: worse than the mean; ", "poor: hardly better than the mean; "))
    alone = RobustGPRegressor(Matern52("a"), calibrate=False).fit(table, "y")
    assert verdicts(alone) == {"y": "cannot be judged: no rows were left out or held out"}
    few = verdicts(RobustGPRegressor().fit(numbers(14), "y"))["y"]
    assert few.endswith("too few cases to say whether intervals hold")


@pytest.mark.parametrize("q2", [-2_048_760.0, -0.06])
def test_what_is_worse_than_the_mean_is_called_so(q2):
    assert quality_words(q2) == "poor: worse than the mean"
    assert quality_words(-0.04) == "poor: hardly better than the mean"


def test_plain_models_are_told_where_they_do_as_well():
    model = RobustGPRegressor().fit(numbers(40, noise=0.5), "y")
    plain = model.spreadsheet()
    assert plain["model"].tolist() == ["linear", "boosted"]
    cases = {"rows": list(range(40)), "nodes": [None] * 40, "meshes": {}}
    model.metadata_ = {"table": "t.csv", "n_rows": 40, "split": "all", "ignored": {}, "train": cases}
    model.metadata_["spreadsheet"] = [{"target": "y", "model": "linear", "rmse": 0.01}]
    own = next(row["rmse"] for row in score_rows(model))
    assert (
        f"; a linear model of plain numbers does better (RMSE 0.01, left out, {own / 0.01:.3g} times smaller)"
        in (verdicts(model)["y"])
    )
    model.metadata_["spreadsheet"] = [{"target": "y", "model": "linear", "rmse": 0.99 * own}]
    assert "; a linear model of plain numbers does as well (RMSE " in verdicts(model)["y"]
    # Held-out rows on which the model is much better count for more than that.
    y = np.linspace(-1, 1, 40)
    held_out = {"targets": y[:, None].tolist(), "mean": (y + own / 10)[:, None].tolist()}
    held_out |= {"std": np.full((40, 1), own).tolist(), "df": 50.0, "inputs": {}}
    model.metadata_["held_out"] = cases | held_out
    assert "plain numbers" not in verdicts(model)["y"]
    del model.metadata_["held_out"]
    model.metadata_["spreadsheet"] = [{"target": "y", "model": "linear", "rmse": 99.0}]
    assert "plain numbers" not in verdicts(model)["y"]
    assert RobustGPRegressor().fit(numbers(8), "y").spreadsheet() is None
