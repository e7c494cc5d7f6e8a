"""Mixtures of predictions: bounds, sets and moments against samples and closed forms."""

import numpy as np
import pytest
from scipy import stats

from swwl.errors import InputError
from swwl.gp.carried import CarriedPrediction, carried
from swwl.gp.mixed import MixedPrediction, mixed
from swwl.gp.prediction import Prediction
from swwl.regression.target_scale import TargetScale


def normal(mean, scale):
    return Prediction(np.array(mean, float), np.array(scale, float), np.inf)


def two_humps():
    weights = np.array([[0.7, 1.0, 0.5], [0.3, 0.0, 0.5]])
    return mixed([normal([0.0, 1.0, 0.0], [0.1, 0.2, 1.0]), normal([2.0, 5.0, 0.5], [0.3, 0.1, 1.0])], weights)


def test_one_part_is_that_part():
    one = Prediction(np.array([1.0, -2.0]), np.array([0.5, 3.0]), 7.0)
    found = mixed([one], np.ones((1, 2)))
    for level in (0.5, 0.95):
        np.testing.assert_allclose(found.interval(level), one.interval(level), rtol=1e-9)
    y = np.array([0.3, 4.0])
    np.testing.assert_allclose(found.standardized(y), one.standardized(y), rtol=1e-6)
    np.testing.assert_allclose(found.log_density(y), one.log_density(y), rtol=1e-12)
    np.testing.assert_allclose(found.std, one.std)


@pytest.mark.parametrize("df", [2.0, 5.0])
@pytest.mark.parametrize("level", [0.5, 0.99, 0.999, 0.99999])
def test_bounds_of_parts_with_few_degrees_of_freedom(df, level):
    """The parts differ in nothing but their tails, and nearly all of the weight is on the heavy ones."""
    parts = [Prediction(np.zeros(1), np.ones(1), own) for own in (100.0, df)]
    found = mixed(parts, np.array([[1e-9], [1.0 - 1e-9]]))
    reach = stats.t.ppf(0.5 + level / 2, df)
    np.testing.assert_allclose(found.interval(level), [[-reach], [reach]], rtol=1e-5)


@pytest.mark.parametrize("level", [0.95, 0.999])
def test_sets_reach_as_far_as_tails(level):
    weights = np.array([[0.5], [0.5]])
    found = mixed([Prediction(np.array([mean]), np.ones(1), 3.0) for mean in (0.0, 500.0)], weights)
    (humps,) = found.sets(level)
    assert len(humps) == 2
    for hump, mean in zip(humps, (0.0, 500.0), strict=True):
        reach = stats.t.ppf(0.5 + level / 2, 3.0)
        np.testing.assert_allclose([mean - hump.lower, hump.upper - mean], reach, rtol=0.02)


def test_moments_bounds_and_density_are_those_of_samples():
    found, rng = two_humps(), np.random.default_rng(0)
    parts = np.stack([rng.normal(part.mean, part.scale, (200_000, 3)) for part in found.parts])
    drawn = np.where(rng.random((200_000, 3)) < found.weights[0], parts[0], parts[1])
    np.testing.assert_allclose(found.mean, drawn.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(found.std, drawn.std(axis=0), rtol=0.01)
    lower, upper = found.interval(0.9)
    inside = ((lower < drawn) & (drawn < upper)).mean(axis=0)
    np.testing.assert_allclose(inside[1:], 0.9, atol=0.005)
    start, stop = found.gap(0.9)
    assert np.isnan(start[1:]).all() and ((drawn[:, 0] > start[0]) & (drawn[:, 0] < stop[0])).mean() < 0.06
    in_set = inside[0] - ((drawn[:, 0] > start[0]) & (drawn[:, 0] < stop[0])).mean()
    assert in_set == pytest.approx(0.9, abs=0.005)
    np.testing.assert_allclose(found.cdf(np.full(3, 0.7)), (drawn < 0.7).mean(axis=0), atol=0.005)
    # the probability integral transform makes a standard normal variable of them
    z = np.stack([found.standardized(one) for one in drawn[:3000]])
    assert all(stats.kstest(column, "norm").pvalue > 1e-3 for column in z.T)


def test_two_intervals_where_they_are_shorter_and_one_elsewhere():
    found = two_humps()
    first, certain, broad = found.sets(0.95)
    assert [len(first), len(certain), len(broad)] == [2, 1, 1]
    assert sum(one.probability for one in first) == pytest.approx(0.95, abs=0.005)
    assert first[0].lower < 0.0 < first[0].upper < 1.0 < first[1].lower < 2.0 < first[1].upper
    assert sum(one.upper - one.lower for one in first) < 0.9 * np.subtract(*found.interval(0.95)[::-1])[0]
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        found.interval(1.0)


def test_rows_columns_and_joins_keep_the_parts():
    found = two_humps()
    both = Prediction.joined([found, found.parts[0]], targets=True)
    assert isinstance(both, MixedPrediction) and both.mean.shape == (3, 2)
    np.testing.assert_array_equal(both.column(0).interval()[0], found.interval()[0])
    np.testing.assert_allclose(both.column(1).interval()[0], found.parts[0].interval()[0])
    np.testing.assert_array_equal(both.take([2, 0]).column(0).mean, found.mean[[2, 0]])
    longer = Prediction.joined([found, found])
    assert len(longer) == 6 and longer.take(slice(3, 6)).sets() == found.sets()


def test_wider_parts_stay_where_they_are():
    found = two_humps()
    wide = found.widened(2.0)
    np.testing.assert_array_equal(wide.mean, found.mean)
    assert [len(case) for case in wide.sets()] == [2, 1, 1] and (wide.std > found.std).all()
    np.testing.assert_allclose(
        wide.std[0] ** 2, 0.7 * (0.2**2 + 0.6**2) + 0.3 * (0.6**2 + 1.4**2)
    )  # by hand; the mean is 0.6


def test_logarithms_are_carried_part_by_part():
    found, scale = two_humps(), TargetScale("log")
    back = carried(found, [scale])
    assert isinstance(back, CarriedPrediction)
    by_hand = np.exp(found.weights[0, 0] * 0 + np.array([0.0, 2.0]) + 0.5 * np.array([0.1, 0.3]) ** 2)
    assert back.mean[0] == pytest.approx(0.7 * by_hand[0] + 0.3 * by_hand[1], rel=1e-3)
    np.testing.assert_allclose(np.log(back.interval(0.9)), found.interval(0.9))
    (first, second), *_ = back.sets(0.95)
    assert np.log(first.upper) == pytest.approx(found.sets(0.95)[0][0].upper)
    assert 0 < first.lower < first.upper < second.lower
    steps = np.linspace(0.01, 40.0, 200_001)  # densities in the units of the target have a mass of one
    grid = carried(
        mixed(
            [normal(p.mean[:1].repeat(len(steps)), p.scale[:1].repeat(len(steps))) for p in found.parts],
            found.weights[:, :1].repeat(len(steps), 1),
        ),
        [scale],
    )
    assert np.trapezoid(np.exp(grid.log_density(steps)), steps) == pytest.approx(1.0, abs=1e-4)
    wide = back.widened(1.5)
    np.testing.assert_array_equal(wide.mean, back.mean)
    whole = CarriedPrediction.joined([back, found], targets=True)
    np.testing.assert_allclose(whole.column(0).interval()[1], back.interval()[1])
