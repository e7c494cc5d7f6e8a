"""Predictions carried back from another scale: closed forms of the log-normal, and what stays as it is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from swwl.gp import Prediction
from swwl.gp.carried import CarriedPrediction, carried, carried_covariance, moment_slopes, moments, nodes
from swwl.regression.target_scale import TargetScale
from tests.helpers import assert_slope

LOG, SAME = TargetScale("log"), TargetScale()
SCALES = [LOG, TargetScale("softplus", unit=0.7), TargetScale("yeo-johnson", 2.0, 0.5, 0.5), SAME]
MEAN, WIDTH = np.array([-0.3, 0.2, 1.1]), np.array([0.05, 0.2, 0.4])


@pytest.mark.parametrize("df", [2.0, 5.0, np.inf])
def test_bounds_are_those_of_the_process_carried_back(df):
    plain = Prediction(MEAN, WIDTH, df)
    found = carried(plain, [LOG])
    for level in (0.5, 0.95, 0.999):
        assert_array_equal(found.interval(level), np.exp(plain.interval(level)))
    assert_array_equal(found.process.mean, MEAN)
    if df > 2:
        assert_allclose(found.at(2.0), np.exp(plain.at(2.0)))
        assert_allclose(found.standardized(np.exp(MEAN + plain.std)), 1.0)


def test_moments_are_near_those_of_a_log_normal():
    found = carried(Prediction(MEAN, WIDTH, np.inf), [LOG])
    true = stats.lognorm(WIDTH, scale=np.exp(MEAN))
    assert_allclose(found.mean, true.mean(), rtol=2e-3)
    assert_allclose(found.std, true.std(), rtol=3e-2)  # the outermost two hundredths are cut off


def test_they_are_finite_where_a_students_are_not():
    found = carried(Prediction(np.zeros(1), np.ones(1), 3.0), [LOG])
    assert np.isfinite(found.mean).all() and np.isfinite(found.std).all()
    far = carried(Prediction(np.array([2000.0, -2000.0]), np.ones(2), 3.0), [LOG])
    assert np.isfinite(far.mean).all() and (far.interval()[0] > 0).all()


@pytest.mark.parametrize("kind", ["log", "asinh"])
def test_means_of_cases_like_none_of_training_are_not_those_of_the_tail(kind):
    scale = TargetScale(kind).limited(np.exp(np.random.default_rng(0).normal(size=50)))
    found = carried(Prediction(np.array([0.1, 0.1]), np.array([2.0, 15.0]), np.inf), [scale])
    assert_allclose(found.mean[1], found.mean[0])
    assert found.std[1] < 10 * found.std[0] and found.interval()[1][1] > 1e10
    slope = moment_slopes(scale, 0.1, 15.0, np.inf)[0]
    assert slope[1] == 0 and slope[0] > 0


def test_the_identity_changes_no_bit():
    plain = Prediction(np.column_stack([MEAN, MEAN]), np.column_stack([WIDTH, WIDTH]), 7.0)
    assert carried(plain, [SAME, SAME]) is plain
    both = carried(plain, [SAME, LOG])
    assert_array_equal(both.mean[:, 0], plain.mean[:, 0])
    assert_array_equal(both.std[:, 0], plain.std[:, 0])
    assert_array_equal(np.stack(both.interval())[..., 0], np.stack(plain.interval())[..., 0])
    assert not isinstance(both.column(0), CarriedPrediction)
    assert_array_equal(both.column(1).mean, both.mean[:, 1])


def test_widening_moves_bounds_and_not_means():
    found = carried(Prediction(MEAN, WIDTH, 9.0), [LOG])
    wide = found.widened(np.array([2.0, 1.0, 2.0]))
    assert_array_equal(wide.mean, found.mean)
    assert_allclose(np.log(wide.interval()[1]) - MEAN, [2, 1, 2] * (np.log(found.interval()[1]) - MEAN))
    assert wide.std[1] == found.std[1] and (wide.std[[0, 2]] > 1.9 * found.std[[0, 2]]).all()


def test_parts_of_it_are_carried_too():
    found = carried(Prediction(np.column_stack([MEAN, -MEAN]), np.column_stack([WIDTH, WIDTH]), 9.0), [LOG, SAME])
    lower, upper = found.interval()
    again = Prediction.joined([found.take([0]), found.take([1, 2])])
    assert isinstance(again, CarriedPrediction)
    assert_array_equal(again.interval(), (lower, upper))
    sides = Prediction.joined([found.column(1), found.column(0)], targets=True)
    assert_array_equal(sides.interval()[0], lower[:, ::-1])
    assert_array_equal(found.column(0).columns().interval()[1][:, 0], upper[:, 0])
    assert len(found.take(slice(0)).interval()[0]) == 0


@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: scale.kind)
@pytest.mark.parametrize(("df", "width"), [(4.0, 1.0), (np.inf, 2.5)])
def test_slopes_of_the_moments(scale, df, width):
    def told(at):
        location, spread = np.array([0.4 + at[0]]), np.array([0.3 + at[1]])
        mean, _ = moments(scale, location, spread / width, df)
        return np.concatenate([mean, moments(scale, location, spread, df, mean)[1]])

    found = moment_slopes(scale, 0.4, 0.3, df, width)
    assert_slope(found[:, 0], lambda h: told((h, 0.0)), rtol=1e-7, atol=1e-9)
    assert_slope(found[:, 1], lambda h: told((0.0, h)), rtol=1e-7, atol=1e-9)


def test_covariances_keep_correlations_and_have_the_stated_variances():
    root = np.random.default_rng(0).normal(size=(3, 3))
    covariance, factors = 0.01 * root @ root.T, np.array([1.0, 2.0, 1.0])
    mean, found = carried_covariance(LOG, MEAN, covariance, 8.0, factors)
    plain = Prediction.from_std(MEAN, np.sqrt(np.diag(covariance)), 8.0)
    stated = carried(plain, [LOG]).widened(factors)
    assert_allclose(mean, stated.mean)
    assert_allclose(np.sqrt(np.diag(found)), stated.std)
    assert_allclose(found / np.outer(stated.std, stated.std), covariance / np.outer(plain.std, plain.std))
    _, small = carried_covariance(LOG, MEAN, 1e-10 * covariance, 8.0, np.ones(3))
    assert_allclose(small, 1e-10 * covariance * np.exp(MEAN[:, None] + MEAN), rtol=1e-4)  # the delta method
    _, known = carried_covariance(LOG, MEAN, np.zeros((3, 3)), 8.0, np.ones(3))
    assert_array_equal(known, 0.0)


def test_nodes_are_symmetric_and_have_unit_size():
    for df in (1.0, 3.0, np.inf):
        assert_array_equal(nodes(df), -nodes(df)[::-1])
        assert_allclose(np.mean(nodes(df) ** 2), 1.0)
