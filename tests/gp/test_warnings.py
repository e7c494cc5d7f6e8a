"""Fits that end where they cannot be trusted say so, and what to do."""

import warnings

import numpy as np
import pytest

from swwl.gp import Coordinates, GPWarning, RobustGP

RNG = np.random.default_rng(0)
X = np.sort(RNG.random(50))
D = np.abs(X[:, None] - X)


def test_noise():
    with pytest.warns(GPWarning, match="cannot be told from noise.*add training points") as caught:
        RobustGP(["matern52"]).fit([D], RNG.normal(size=50))
    assert caught[0].filename == __file__  # the line that called fit


def test_a_bound_that_holds_the_posterior_back():
    with pytest.warns(GPWarning, match="upper bound 1 and the posterior still rises"):
        RobustGP(["matern52"], bounds=(None, 1.0)).fit([D], np.sin(12 * X))
    with pytest.warns(GPWarning, match=r"factor 0 \('speed'\) of 1 sits on its lower bound"):
        RobustGP(["matern52"], bounds=(20.0, None), names=["speed"]).fit([D], np.sin(3 * X))


def test_a_singular_matrix():
    few = slice(None, None, 4)
    with pytest.warns(GPWarning, match="near singular.*raise nugget to 1e-6, or estimate it"):
        RobustGP(["gaussian"], nugget=0.0, beta=2.0).fit([D[few, few]], np.sin(6 * X[few]))
    with pytest.warns(GPWarning, match="raise nugget_floor"):
        RobustGP(["gaussian"], nugget_floor=0.0).fit([D], np.sin(3 * X))


def test_an_input_that_never_varies():
    with pytest.warns(GPWarning, match="factor 1 of 2 are zero, so it explains nothing: drop it"):
        gp = RobustGP(["matern52", "matern52"]).fit([D, np.zeros((50, 50))], np.sin(5 * X))
    assert np.isfinite(gp.beta_).all() and gp.importance_[1] == 0.0
    with pytest.warns(GPWarning, match="column 1 of factor 0 of 1"):
        RobustGP(["gaussian"]).fit([Coordinates(np.stack([X, np.ones(50)], axis=1))], np.sin(5 * X))


def test_an_optimization_run_cut_short():
    z = RNG.normal(size=(50, 6))
    with pytest.warns(GPWarning, match="raise max_iter"):
        RobustGP(["gaussian"], max_iter=1).fit([Coordinates(z)], np.sin(z[:, 0]) + z[:, 1])


def test_a_good_fit_is_silent_even_with_an_inert_input():
    z = RNG.normal(size=(80, 6))  # columns 2 to 5 say nothing
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobustGP(["gaussian"]).fit([Coordinates(z)], np.sin(z[:, 0]) + z[:, 1])


def test_a_range_at_the_end_of_the_default_box_is_no_news():
    z = np.random.default_rng(0).uniform(-1, 1, size=(120, 3))
    gp = RobustGP(["matern52"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gp.fit([Coordinates(z)], np.exp(z[:, 0]))  # column 2 says nothing: its range is as long as can be
    lowest = float(np.exp(gp._box[0][2]))
    assert gp.beta_[2] == pytest.approx(lowest)
    with pytest.warns(GPWarning, match="column 2 of factor 0 of 1 sits on its lower bound"):
        RobustGP(["matern52"], bounds=(lowest, None)).fit([Coordinates(z)], np.exp(z[:, 0]))
