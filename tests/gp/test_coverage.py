"""Honest intervals: they cover the model's own draws as often as they should, and are hardly wider than need be."""

import numpy as np
import pytest

from swwl.gp import Distances, RobustGP
from swwl.gp.correlations import get_correlation
from swwl.gp.estimator import sample_prior
from swwl.gp.factors import Term


def interval_score(y, bounds, level=0.95):
    """Return width plus what misses cost: smallest in the mean where the bounds are the true quantiles.

    Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, Eq. 43.
    """
    lower, upper = bounds
    return upper - lower + 2 / (1 - level) * (np.maximum(lower - y, 0) + np.maximum(y - upper, 0))


@pytest.mark.slow
def test_intervals_cover_data_drawn_from_the_model():
    rng = np.random.default_rng(2024)
    beta, nugget, covered, within, scores, best = np.array([1.5, 2.0]), 0.02, [], [], [], []
    # Shares of covered points differ by 0.05 or so from draw to draw, so that their mean over 80 draws is known to
    # 0.006: it lies within the bounds below if intervals are right (three standard errors), and hardly if they hold
    # 0.92 or 0.98.
    for _ in range(80):
        x = rng.random((90, 2))
        distances = [np.abs(x[:, [j]] - x[:, j]) for j in range(2)]
        terms = [Term(get_correlation("matern52"), Distances(d)) for d in distances]
        y = sample_prior(terms, beta, nugget, np.array([4.0]), np.full((90, 1), 10.0), 1, rng)[0, :, 0]
        old, new = slice(0, 50), slice(50, 90)
        gp = RobustGP(["matern52", "matern52"]).fit([d[old, old] for d in distances], y[old])
        lower, upper = gp.predict_interval([d[new, old] for d in distances])
        covered.append((lower < y[new]) & (y[new] < upper))
        scores.append(interval_score(y[new], (lower, upper)))
        known = RobustGP(["matern52", "matern52"], beta=beta, nugget=nugget)
        known.fit([d[old, old] for d in distances], y[old])
        best.append(interval_score(y[new], known.predict_interval([d[new, old] for d in distances])))
        lower, upper = gp.leave_one_out().interval()
        within.append((lower < y[old]) & (y[old] < upper))
    assert 0.93 < np.mean(covered) < 0.97
    assert 0.93 < np.mean(within) < 0.97
    # estimating the ranges costs little beside knowing them
    assert 1.0 < np.mean(scores) / np.mean(best) < 1.1
