"""Predictions ready for gradients, warnings after a fit, and states: the pieces around the process by themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from swwl.errors import GPWarning, InputError
from swwl.gp import Coordinates, RobustGP
from swwl.gp.adjoint import differentiable, linear_prediction
from swwl.gp.correlations import get_correlation
from swwl.gp.diagnostics import warn_about_conditioning, white_noise_likelihood
from swwl.gp.estimator import model_from_state, model_to_state
from swwl.gp.factors import Term
from swwl.gp.prediction import Prediction
from swwl.gp.solvers.base import leave_one_out
from swwl.gp.solvers.dense import DenseSolver
from tests.gp.solvers.test_vecchia import make_problem
from tests.helpers import assert_slope


@pytest.mark.parametrize("method", ["posterior", "marginal", "likelihood"])
def test_white_noise_is_the_limit_of_short_ranges(make_terms, method):
    rng = np.random.default_rng(0)
    terms = make_terms(["matern52", 2], 25)
    trend = np.column_stack([np.ones(25), rng.normal(size=25)])
    problem = make_problem(terms, np.arange(25), rng.normal(size=(25, 2)), trend, method)
    log_beta = np.full(sum(term.block.n_ranges for term in terms), 12.0)
    for nugget in (1e-3, 1.0):  # what is left is the identity times 1 + nugget, whose scale does not matter
        found = DenseSolver(problem)(log_beta, np.log(nugget))
        if method == "posterior":
            found -= problem.prior(np.exp(log_beta), nugget)[0]
        assert_allclose(found, white_noise_likelihood(problem), rtol=1e-9)


def test_bad_conditioning_is_told_with_a_cure():
    with pytest.warns(GPWarning, match="nugget"):
        warn_about_conditioning(1e-15, estimated=False)
    warn_about_conditioning(1e-6, estimated=False)


def test_a_state_is_arrays_and_plain_values_and_comes_back():
    rng = np.random.default_rng(1)
    z, new = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    gp = RobustGP(["gaussian"], n_starts=1).fit([Coordinates(z)], np.sin(z[:, 0]) + z[:, 1])
    state = gp.get_state()
    assert all(isinstance(value, (np.ndarray, float, int, bool, str, dict, type(None))) for value in state.values())
    posterior, inputs, process = model_from_state(state)
    again = model_to_state(posterior, inputs, process)
    assert set(again) == set(state)
    for name, value in state.items():
        assert_array_equal(again[name], value)
    restored = RobustGP.from_state(again)
    for ours, theirs in zip(*(m.predict([Coordinates(new)], return_std=True) for m in (gp, restored)), strict=True):
        assert_array_equal(ours, theirs)
    with pytest.raises(InputError):
        model_from_state(state | {"importance": np.ones(5)})


def test_gradients_of_a_prediction_are_those_of_central_differences():
    """In the coordinates of the new point and in its trend, of the mean and of the standard deviation."""
    rng = np.random.default_rng(3)
    z, y = rng.normal(size=(26, 2)), rng.normal(size=(26, 1))
    old, new = np.arange(25), np.array([25])
    trend = np.column_stack([np.ones(26), rng.normal(size=26)])

    def every(h=0.0):
        moved = z + h * np.outer(np.arange(26) == 25, way)
        return [Term(get_correlation("gaussian"), Coordinates(moved))]

    way = np.array([0.6, -0.8])
    posterior, *_ = DenseSolver(make_problem(every(), old, y, trend)).conclude(np.full(2, -0.5), np.log(0.1), None)
    differentiable(posterior)

    def at(h, also_trend):
        cross = [term.take(new, old) for term in every(h)]
        return linear_prediction(posterior, cross, trend[new] + (h if also_trend else 0.0) * np.array([[0.0, 1.0]]))

    found = at(0.0, False)
    plain = posterior.predict([term.take(new, old) for term in every()], trend[new], True)
    assert_allclose((found.mean, found.std), (plain.mean[0], plain.std[0]))
    for also_trend in (False, True):
        for of_mean in (1.0, 0.0):
            parts, in_trend = found.pull_back(np.full((1, 1), of_mean), np.full((1, 1), 1 - of_mean))
            slope = (way @ parts[0]).item() + (in_trend[1].item() if also_trend else 0.0)
            assert_slope(slope, lambda h, t=also_trend, m=of_mean: (at(h, t).mean if m else at(h, t).std)[0])


def test_leaving_one_out_is_refitting_without_correlations():
    """With the identity as correlation and a constant trend, the mean and the variance of the others."""
    rng = np.random.default_rng(2)
    y = rng.normal(size=(12, 1))
    projected = np.full(12, 1 - 1 / 12)  # the diagonal of I - 11'/n
    alpha = y - y.mean()
    sigma2 = (alpha**2).sum(axis=0) / 11
    found = leave_one_out(y, alpha, np.ones(12), projected, sigma2, 11.0)
    for k in range(12):
        others = np.delete(y, k)
        assert_allclose(found.mean[k], others.mean())
        assert_allclose(found.scale[k] ** 2, others.var(ddof=1) * (1 + 1 / 11))
    assert isinstance(found, Prediction) and found.df == 10
