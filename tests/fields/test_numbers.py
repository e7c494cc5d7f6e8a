"""Intervals of derived numbers: they hold what they say, whatever samples are like."""

import numpy as np
import pytest

from swwl.fields.numbers import NumberErrors


def cases(n, bias, spread, seed):
    """True numbers of n meshes, and samples of them that lie too high by ``bias`` and are too narrow by ``spread``."""
    rng = np.random.default_rng(seed)
    center, scale = rng.normal(size=(n, 1)), rng.uniform(0.5, 2, (n, 1))
    truth = center + scale * rng.normal(size=(n, 1))
    return truth, center[:, None] + scale[:, None] * (bias + rng.normal(size=(n, 100, 1)) / spread)


@pytest.mark.parametrize(("bias", "spread"), [(0.0, 1.0), (3.0, 1.0), (-1.0, 4.0), (0.5, 0.2)])
def test_intervals_hold_what_they_say(bias, spread):
    truth, drawn = cases(2000, bias, spread, 0)
    errors = NumberErrors.of(truth, drawn.mean(axis=1), drawn.std(axis=1))
    truth, drawn = cases(4000, bias, spread, 1)
    for level in (0.5, 0.95):
        center, std, lower, upper = errors.interval(drawn, level)
        assert ((lower <= truth) & (truth <= upper)).mean() == pytest.approx(level, abs=0.04)
    assert np.abs((truth - center) / std).mean() == pytest.approx(np.sqrt(2 / np.pi), rel=0.2)
    assert (truth - center).mean() == pytest.approx(0, abs=0.15)


def test_a_number_that_all_meshes_share_is_met_exactly():
    drawn = np.random.default_rng(0).normal(1.3, 0.1, (50, 100, 1))
    errors = NumberErrors.of(np.ones((50, 1)), drawn.mean(axis=1), drawn.std(axis=1))
    _, _, lower, upper = errors.interval(drawn, 0.95)
    assert ((lower <= 1) & (upper >= 1)).mean() >= 0.9
    assert (upper - lower).mean() < 0.3


def test_units_do_not_matter():
    truth, drawn = cases(40, 0.3, 1.0, 0)
    first = NumberErrors.of(truth, drawn.mean(axis=1), drawn.std(axis=1)).interval(drawn, 0.9)
    other = NumberErrors.of(7e9 * truth, 7e9 * drawn.mean(axis=1), 7e9 * drawn.std(axis=1)).interval(7e9 * drawn, 0.9)
    for a, b in zip(first, other, strict=True):
        np.testing.assert_allclose(7e9 * a, b, rtol=1e-9)


def test_levels_beyond_all_scores_follow_a_normal_tail():
    errors = NumberErrors(np.linspace(-1, 1, 19)[:, None], np.ones(1))
    steps = [errors.quantile(level)[0] for level in (0.9, 0.95, 0.975, 0.999)]
    assert steps[1] == pytest.approx(1.0)
    assert np.all(np.diff(steps) > 0)
    assert errors.quantile(0.001)[0] == pytest.approx(-steps[-1])


def test_samples_without_any_spread_are_taken_as_they_are():
    errors = NumberErrors.of(np.full((12, 1), 5.0), np.full((12, 1), 5.0), np.zeros((12, 1)))
    center, std, lower, upper = errors.interval(np.full((3, 100, 1), 5.0), 0.95)
    for part in (center, lower, upper):
        np.testing.assert_allclose(part, 5.0)
    assert (std >= 0).all()
