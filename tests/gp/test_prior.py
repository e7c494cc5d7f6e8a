"""The prior of the ranges, in both strengths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from swwl.gp import Coordinates, RobustGP
from swwl.gp.prior import default_prior
from tests.helpers import assert_slope


def test_constants_of_both_priors():
    largest, n = np.array([2.0, 3.0, 5.0, 7.0]), 81
    robust, gentle = (default_prior(largest, n, kind=kind) for kind in ("robust", "gentle"))
    assert_allclose([robust.b, gentle.b], [4.2 / 3.0, 1.2 / 3.0])
    assert_allclose(robust.c, largest / 3.0)
    assert_allclose(gentle.c, robust.c)
    assert default_prior(largest, n, b=0.7, kind="gentle").b == 0.7  # a given constant goes first


@pytest.mark.parametrize("kind", ["robust", "gentle"])
def test_the_density_falls_with_b_and_its_gradient_is_right(kind):
    prior, beta = default_prior(np.array([1.0, 2.0, 4.0]), 50, kind=kind), np.array([0.5, 1.0, 0.1])
    _, in_beta, in_nugget = prior(beta, 0.01)
    values = lambda h: [prior(beta * np.exp(by[:3]), 0.01 * np.exp(by[3]))[0] for by in h * np.eye(4)]  # noqa: E731
    assert_slope(np.append(in_beta, in_nugget), values)


def test_for_one_range_both_are_the_same():
    x = np.linspace(0.0, 1.0, 20)
    one, two = (
        RobustGP(["matern52"], prior=kind).fit([np.abs(x[:, None] - x)], np.sin(6 * x)) for kind in ("robust", "gentle")
    )
    assert one.log_posterior_ == two.log_posterior_ and one.beta_ == two.beta_


@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
def test_many_ranges_cost_less_under_the_gentle_prior():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(60, 20))
    y = np.sin(2.0 * z[:, 0]) + 0.5 * z[:, 1]
    robust, gentle = (RobustGP(["matern52"], prior=kind).fit([Coordinates(z)], y) for kind in ("robust", "gentle"))
    assert gentle.beta_[0] > robust.beta_[0]  # shorter where the data ask for it
    back = RobustGP.from_state(gentle.get_state())
    assert back.prior == "gentle" and back.log_posterior_ == gentle.log_posterior_
    state = robust.get_state()
    del state["params"]["prior"]  # written before there was a choice
    assert RobustGP.from_state(state).prior == "robust"
