"""Honest intervals: the model's own draws are covered as often as they should be."""

import numpy as np

from swwl.gp import RobustGP
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Factor
from swwl.gp.posterior import sample_prior


def test_intervals_cover_data_drawn_from_the_model():
    rng = np.random.default_rng(2024)
    beta, nugget, covered, within = np.array([1.5, 2.0]), 0.02, [], []
    for _ in range(200):
        x = rng.random((90, 2))
        distances = [np.abs(x[:, [j]] - x[:, j]) for j in range(2)]
        factors = [Factor(get_correlation("matern52"), d) for d in distances]
        y = sample_prior(factors, beta, nugget, np.array([4.0]), np.full((90, 1), 10.0), 1, rng)[0, :, 0]
        old, new = slice(0, 50), slice(50, 90)
        gp = RobustGP(["matern52", "matern52"]).fit([d[old, old] for d in distances], y[old])
        lower, upper = gp.predict_interval([d[new, old] for d in distances])
        covered.append((lower < y[new]) & (y[new] < upper))
        lower, upper = gp.leave_one_out().interval()
        within.append((lower < y[old]) & (y[old] < upper))
    assert 0.93 < np.mean(covered) < 0.97
    assert 0.93 < np.mean(within) < 0.97
