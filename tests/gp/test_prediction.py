"""Predictions as distributions: closed forms, and intervals that hold what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from swwl.errors import InputError
from swwl.gp import Prediction, RobustGP
from swwl.gp.prediction import cdf, inverse_cdf, log_density, quantile, to_std

RNG = np.random.default_rng(0)
MEAN, SCALE = RNG.normal(size=(5, 2)), RNG.random((5, 2)) + 0.1


def distribution(df):
    return stats.norm if np.isinf(df) else stats.t(df)


@given(df=st.one_of(st.floats(0.5, 1e4), st.just(np.inf)), level=st.floats(0.01, 0.999))
def test_quantile_is_scipys(df, level):
    lower, upper = distribution(df).interval(level)
    assert_allclose(quantile(df, level), upper, rtol=1e-9)
    assert_allclose(quantile(df, level), -lower, rtol=1e-9)


@pytest.mark.parametrize("df", [0.5, 1.0, 4.0, 37.5, 1e6, np.inf])
def test_distributions_are_scipys(df):
    z = np.concatenate([[-np.inf, -1e9, -40.0], np.linspace(-8, 8, 33), [1e9, np.inf, np.nan]])
    known = distribution(df)
    assert_allclose(cdf(z, df), known.cdf(z), rtol=1e-13)
    with np.errstate(invalid="ignore", over="ignore"):
        assert_allclose(log_density(z, df), known.logpdf(z), rtol=1e-13, atol=1e-13)
    share = np.array([1e-12, 0.01, 0.3, 0.5, 0.975, 1 - 1e-9])
    assert_allclose(inverse_cdf(share, df), known.ppf(share), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("df", [2.5, 3.0, 17.0, np.inf])
def test_std_is_scipys(df):
    assert_allclose(Prediction(MEAN, SCALE, df).std, SCALE * distribution(df).std(), rtol=1e-12)
    assert_allclose(Prediction.from_std(MEAN, Prediction(MEAN, SCALE, df).std, df).scale, SCALE, rtol=1e-12)


def test_two_degrees_of_freedom_have_no_variance():
    assert_array_equal(to_std(SCALE, 2.0), np.inf)
    assert np.isfinite(Prediction(MEAN, SCALE, 2.0).interval()[0]).all()


@pytest.mark.parametrize("df", [1.0, 4.0, np.inf])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_hold_their_share_of_draws(df, level):
    prediction = Prediction(np.full(20_000, 3.0), np.full(20_000, 0.2), df)
    draws = 3.0 + 0.2 * distribution(df).rvs(size=20_000, random_state=1)
    lower, upper = prediction.interval(level)
    inside = np.mean((lower < draws) & (draws < upper))
    assert abs(inside - level) < 4 * np.sqrt(level * (1 - level) / 20_000)


def test_intervals_are_nested_and_centered():
    prediction = Prediction(MEAN, SCALE, 9.0)
    (narrow_low, narrow_up), (wide_low, wide_up) = prediction.interval(0.5), prediction.interval(0.99)
    assert (wide_low < narrow_low).all() and (narrow_up < wide_up).all()
    assert_allclose((wide_low + wide_up) / 2, MEAN, rtol=1e-9)
    for level in (0.0, 1.0, -1.0, 95):
        with pytest.raises(InputError, match="strictly between 0 and 1"):
            prediction.interval(level)


def test_widening_moves_bounds_and_not_means():
    prediction = Prediction(MEAN, SCALE, 9.0)
    wide = prediction.widened(np.array([2.0, 1.0]))
    assert_array_equal(wide.mean, MEAN)
    width, wider = (np.subtract(*p.interval(0.9)[::-1]) for p in (prediction, wide))
    assert_allclose(wider, width * [2.0, 1.0], rtol=1e-12)


def test_rows_and_columns():
    prediction = Prediction(MEAN, SCALE, 9.0)
    assert len(prediction) == 5
    assert_array_equal(prediction.take([3, 0]).mean, MEAN[[3, 0]])
    one = prediction.column(1)
    assert one.mean.shape == (5,) and one.df == 9.0
    assert_array_equal(one.scale, SCALE[:, 1])
    assert_array_equal(one.columns().mean, MEAN[:, [1]])
    assert_array_equal(one.column(0).mean, MEAN[:, 1])
    assert Prediction(np.empty(0), np.empty(0), 3.0).columns().mean.shape == (0, 1)
    assert Prediction(np.empty((0, 2)), np.empty((0, 2)), 3.0).column(1).mean.shape == (0,)


@pytest.mark.parametrize("several", [False, True])
def test_all_predictions_of_a_process_are_this_one(data, several):
    train, cross, _, y, *_ = data
    gp = RobustGP(["gaussian", "matern52"]).fit(train, np.stack([y, y**2], axis=1) if several else y)
    for nugget in (True, False):
        prediction = gp.predict_distribution(cross, include_nugget=nugget)
        assert prediction.mean.shape == ((6, 2) if several else (6,)) and prediction.df == gp.df_
        mean, std = gp.predict(cross, return_std=True, include_nugget=nugget)
        assert_array_equal(prediction.mean, mean)
        assert_array_equal(prediction.std, std)
        assert_array_equal(prediction.mean, gp.predict(cross))
        assert_array_equal(prediction.interval(0.8), gp.predict_interval(cross, 0.8, include_nugget=nugget))
    loo = gp.leave_one_out()
    assert isinstance(loo, Prediction) and loo.df == gp.df_ - 1
    assert loo.mean.shape == loo.scale.shape == ((40, 2) if several else (40,))


def test_notebooks_show_the_first_cases():
    text = Prediction(np.arange(12.0), np.full(12, 0.5), np.inf)._repr_html_()
    assert "12 cases, the first 10" in text and "<td" in text and text.count("<tr>") == 11
    assert "target" in Prediction(np.ones((2, 3)), np.ones((2, 3)), 5.0)._repr_html_()
    assert Prediction(None, None, 5.0)._repr_html_() is None
