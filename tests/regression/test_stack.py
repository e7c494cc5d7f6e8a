"""Weights, mixtures and the width of intervals: closed forms, invariances and independent references."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import t as student

from swwl import Prediction
from swwl.regression.intervals import interval_factor, make_folds
from swwl.regression.mixture import (
    choose_members,
    cross_fitted,
    log_densities,
    mixture,
    mixture_covariance,
    stacking_weights,
)


def three(rng, n=200):
    """Targets and three predictions of them: a good one, a biased one, and noise with wide intervals."""
    y = rng.normal(size=n)
    return y, [
        Prediction(y + 0.3 * rng.normal(size=n), np.full(n, 0.3), 20.0),
        Prediction(y + 0.5, np.full(n, 0.6), 20.0),
        Prediction(rng.normal(size=n), np.full(n, 1.5), 20.0),
    ]


def test_densities_are_those_of_scipy():
    y, parts = three(np.random.default_rng(0))
    expected = np.column_stack([student.logpdf(y, part.df, part.mean, part.scale) for part in parts])
    np.testing.assert_allclose(log_densities(y, parts), expected, rtol=1e-12)


def test_weights_maximize_the_log_density_of_the_mixture():
    """Against a general optimizer of the same objective, prior and all."""
    densities = log_densities(*three(np.random.default_rng(1)))
    n, k = densities.shape

    def minus(logits):
        w = np.exp(logits - logits.max())
        w /= w.sum()
        return -(np.log(np.exp(densities) @ w).sum() + np.log(w).sum() / k)

    best = minimize(minus, np.zeros(k), tol=1e-12).x
    expected = np.exp(best - best.max())
    np.testing.assert_allclose(stacking_weights(densities), expected / expected.sum(), atol=2e-3)


def test_weights_do_not_depend_on_the_order_of_rows_or_candidates():
    densities = log_densities(*three(np.random.default_rng(2)))
    weights = stacking_weights(densities)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(stacking_weights(densities[::-1]), weights, rtol=1e-10)
    np.testing.assert_allclose(stacking_weights(densities[:, ::-1]), weights[::-1], rtol=1e-10)
    np.testing.assert_allclose(stacking_weights(densities - 700.0), weights, rtol=1e-10)


def test_mixture_has_the_moments_of_draws_from_its_members():
    rng = np.random.default_rng(3)
    parts = [Prediction(np.array([m, -m]), np.array([s, 2 * s]), 12.0) for m, s in ((0.0, 1.0), (3.0, 0.5))]
    weights = np.array([0.3, 0.7])
    draws = np.stack([part.mean + part.scale * rng.standard_t(part.df, size=(200_000, 2)) for part in parts])
    drawn = choose_members(draws, weights, rng)
    found = mixture(parts, weights)
    np.testing.assert_allclose(drawn.mean(axis=0), found.mean, atol=0.02)
    np.testing.assert_allclose(drawn.std(axis=0), found.std, rtol=0.01)
    covariances = np.stack([np.diag(part.std**2) for part in parts])[:, None]
    mean, cov = mixture_covariance(np.stack([part.mean for part in parts])[..., None], covariances, weights[:, None])
    np.testing.assert_allclose(mean[:, 0], found.mean)
    np.testing.assert_allclose(cov[0], np.cov(drawn.T), atol=0.05)
    np.testing.assert_allclose(np.sqrt(np.diag(cov[0])), found.std)


def test_mixture_of_several_targets_is_that_of_each():
    rng = np.random.default_rng(4)
    parts = [Prediction(rng.normal(size=(5, 2)), rng.uniform(1, 2, (5, 2)), 9.0) for _ in range(3)]
    weights = rng.dirichlet(np.ones(3), size=2).T
    found = mixture(parts, weights)
    for k in range(2):
        alone = mixture([part.column(k) for part in parts], weights[:, k])
        np.testing.assert_allclose(found.column(k).mean, alone.mean)
        np.testing.assert_allclose(found.column(k).scale, alone.scale)
    assert np.isfinite(mixture([Prediction(p.mean, p.scale, 1.5) for p in parts], weights).scale).all()


def test_left_out_rows_do_not_choose_their_own_weights():
    y, parts = three(np.random.default_rng(5), 40)
    folds = make_folds(40, 0)
    _, found = cross_fitted(y, parts, folds.test)
    moved = y.copy()
    moved[folds.test[0]] += 5.0
    _, again = cross_fitted(moved, parts, folds.test)
    np.testing.assert_array_equal(again.mean[folds.test[0]], found.mean[folds.test[0]])


def test_folds_cover_all_rows_once_and_learn_from_no_more_than_a_thousand():
    folds = make_folds(2300, 3)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds.test)), np.arange(2300))
    for train, test in zip(folds.train, folds.test, strict=True):
        assert not set(train) & set(test)
        assert 700 < len(train) < 900


def test_intervals_become_narrower_only_as_far_as_is_certain():
    """The factor approaches the true ratio from above as rows grow: like 1/sqrt(n)."""
    rng = np.random.default_rng(6)
    excess = []
    for n in (100, 1600):
        flat = Prediction(np.zeros(n), np.ones(n), np.inf)
        factors = [interval_factor(0.5 * rng.normal(size=n), flat) for _ in range(200)]
        assert np.mean(np.array(factors) < 0.5) < 0.05
        excess.append(np.mean(factors) / 0.5 - 1)
    assert 3 < excess[0] / excess[1] < 5
    few = Prediction(np.zeros(20), np.ones(20), np.inf)
    assert interval_factor(np.full(20, 9.0), few) == 1
    assert interval_factor(np.zeros(50), Prediction(np.zeros(50), np.ones(50), np.inf)) == 1
