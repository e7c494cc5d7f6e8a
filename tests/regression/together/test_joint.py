"""How errors of targets go together."""

import numpy as np
import pytest

from swwl.gp.mixed import mixed
from swwl.gp.prediction import Prediction
from swwl.regression.together.joint import correlated, error_correlation, probability_inside, target_covariances


def test_contradicting_correlations_become_possible():
    z = np.full((60, 3), np.nan)
    x = np.random.default_rng(0).normal(size=20)
    z[:20, :2], z[20:40, 1:], z[40:, ::2] = np.c_[x, x], np.c_[x, x], np.c_[x, -x]  # a like b like c unlike a
    found = error_correlation(z)
    assert np.linalg.eigvalsh(found).min() > 0 and np.diag(found) == pytest.approx(np.ones(3))


def test_few_common_rows_say_nothing():
    z = np.random.default_rng(0).normal(size=(9, 1)) * np.ones((1, 2))
    assert (error_correlation(z) == np.eye(2)).all()


def test_samples_keep_their_spread_and_go_together():
    r = np.array([[1.0, -0.7], [-0.7, 1.0]])
    mean, std = np.array([[1.0, 5.0]]), np.array([[0.1, 2.0]])
    draws = mean + std * np.random.default_rng(0).normal(size=(20000, 1, 2))
    found = correlated(draws, mean, std, r)[:, 0]
    assert found.std(axis=0) == pytest.approx([0.1, 2.0], rel=0.03)
    assert np.cov(found.T) == pytest.approx(target_covariances(std, r)[0], rel=0.05)


def test_probabilities_of_two_regimes_are_those_of_both():
    parts = [Prediction(np.full(1, mean), np.full(1, 0.1), np.inf) for mean in (-1.0, 1.0)]
    both, flat = mixed(parts, np.array([[0.75], [0.25]])), Prediction(np.zeros(1), np.ones(1), np.inf)
    for bounds, expected in (((-0.5, 0.5), 0.0), ((0.5, np.inf), 0.125)):
        found = probability_inside([both, flat], [bounds, (0.0, np.inf)], np.eye(2))
        assert found[0] == pytest.approx(expected, abs=0.02)


def test_probabilities_multiply_where_targets_are_independent():
    told = [Prediction(np.array([0.0, 1.0]), np.ones(2), df) for df in (np.inf, 8.0)]
    found = probability_inside(told, [(-np.inf, 0.5), (0.0, np.inf)], np.eye(2))
    ends = [(-9e9, 0.5), (0.0, 9e9)]
    alone = [probability_inside([one], [bound], np.eye(1)) for one, bound in zip(told, ends, strict=True)]
    assert found == pytest.approx(alone[0] * alone[1], abs=0.03)
