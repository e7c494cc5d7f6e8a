"""Intervals from few rows: what theory and folds say, and a small simulation of coverage."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from swwl import Matern52, RobustGPRegressor
from swwl.errors import GPWarning
from swwl.gp.prediction import Prediction
from swwl.regression.intervals import few_rows_factor


def test_few_rows_by_hand():
    y = np.array([2.0, -2.0] * 8)
    own, folds = Prediction(np.zeros(16), np.ones(16), np.inf), Prediction(np.zeros(16), np.full(16, 7.0), np.inf)
    assert few_rows_factor(y, own, folds) == pytest.approx(2.0 * np.sqrt(16 / chi2.ppf(0.25, 16)))
    assert few_rows_factor(0.1 * y, own, folds) == 1.0  # never narrower
    # without folds: two values drawn at random
    wanted = np.sqrt(2.0) * np.std(y[:8], ddof=1) * np.sqrt(7 / chi2.ppf(0.25, 7))
    assert few_rows_factor(y[:8], own.take(slice(8)), None) == pytest.approx(wanted)
    assert few_rows_factor(y, Prediction(np.zeros(16), np.ones(16), 2.0), folds) == 1.0  # infinite already


def test_units_do_not_matter():
    rng = np.random.default_rng(0)
    y, own, folds = rng.normal(size=12), rng.uniform(0.1, 1, 12), rng.normal(size=12)
    one = few_rows_factor(y, Prediction(y, own, 9.0), Prediction(folds, own, 8.0))
    other = few_rows_factor(5 * y, Prediction(y, 5 * own, 9.0), Prediction(5 * folds, own, 8.0))
    assert one == pytest.approx(other)


@pytest.mark.parametrize(("n", "d", "least"), [(12, 6, 0.85), (20, 6, 0.9)])
def test_intervals_of_noise_hold(n, d, least):
    """The quick version of a larger table: pure noise, several draws, one kernel."""
    inside = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = pd.DataFrame(rng.random((n + 300, d)), columns=list("abcdef")), rng.random(n + 300)
        kernel = Matern52("a")
        for name in "bcdef":
            kernel = kernel * Matern52(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)
            model = RobustGPRegressor(kernel, n_starts=1).fit(X[:n], y[:n])
        lower, upper = model.predict_interval(X[n:], widen=False)
        inside.append(np.mean((lower <= y[n:]) & (y[n:] <= upper)))
    assert np.mean(inside) >= least


@pytest.mark.parametrize("n", [12, 40, 350])
@pytest.mark.parametrize("share_ranges", [False, True])
def test_a_target_may_be_constant_in_the_rows_of_a_fold(n, share_ranges):
    """One row differs; the fold without it has nothing to learn of this target, and all of the other one."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((n, 2)), columns=["a", "b"])
    one, other = (np.arange(n) == 3) * 1.0, np.sin(4 * X["a"])
    options = {"n_starts": 1, "share_ranges": share_ranges, "target_scale": "auto"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)  # it is noise
        alone = RobustGPRegressor(Matern52("a"), **options).fit(X.assign(y=one), "y")
        both = RobustGPRegressor(Matern52("a"), **options).fit(X.assign(x=other, y=one), ["x", "y"])
    rows, found = both.cross_validation()
    assert len(rows) == n and found.mean[3, 1] == 0.0 and np.isfinite(found.mean).all()
    assert (found.scale > 0).all() and np.abs(found.mean[:, 0] - other).max() < 0.3
    for model, k in ((alone, 0), (both, 1)):
        lower, upper = (np.reshape(own, (n, -1))[:, k] for own in model.predict_interval(X, widen=False))
        inside = (lower <= one) & (one <= upper)
        assert np.isfinite(upper - lower).all() and np.delete(inside, 3).mean() > 0.9


def test_a_target_may_be_the_trend_alone_in_the_rows_of_a_fold():
    a = np.random.default_rng(0).random(20)
    y = 2.0 * a + 1.0 + (np.arange(20) == 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)
        model = RobustGPRegressor(Matern52("a"), trend="linear", n_starts=1).fit(pd.DataFrame({"a": a}), y)
    assert model.cross_validation()[1].mean[3] == pytest.approx(y[3] - 1.0)


def test_what_cannot_be_judged_says_so():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"a": rng.random(14)}), rng.random(14)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)
        few, plain, judged = (
            RobustGPRegressor(Matern52("a"), n_starts=1, calibrate=calibrate).fit(X[:n], y[:n])
            for n, calibrate in ((9, True), (14, False), (14, True))
        )
    assert few.cross_validation() is None and plain.cross_validation() is None
    rows, found = judged.cross_validation()
    np.testing.assert_array_equal(rows, np.arange(14))
    assert found.mean.shape == (14, 1)
    assert few.calibration_.iloc[0] >= 1 and plain.calibration_.iloc[0] == 1
