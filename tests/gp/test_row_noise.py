"""Rows with noise of their own: closed forms, and what is refused."""

import numpy as np
import pytest

from swwl.errors import InputError
from swwl.gp import RobustGP

X = np.linspace(0.0, 1.0, 25)
DISTANCES = np.abs(X[:, None] - X)
NEW = np.abs(np.linspace(0.0, 1.0, 9)[:, None] - X)


def noisy(seed=0):
    rng = np.random.default_rng(seed)
    y = np.sin(6.0 * X) + 0.05 * rng.normal(size=25)
    y[7] += 5.0
    return y


@pytest.mark.parametrize("options", [{}, {"method": "likelihood"}, {"trend": "zero"}, {"method": "marginal"}])
def test_a_row_of_huge_noise_is_as_if_it_were_not_there(options):
    y, noise, others = noisy(), np.zeros(25), np.arange(25) != 7
    noise[7] = 1e10
    found = RobustGP(["matern52"], **options).fit([DISTANCES], y, noise=noise)
    less = RobustGP(["matern52"], **options).fit([DISTANCES[np.ix_(others, others)]], y[others])
    ours, theirs = found.predict_distribution([NEW]), less.predict_distribution([NEW[:, others]])
    assert ours.df == theirs.df
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6)
    np.testing.assert_allclose(ours.scale, theirs.scale, atol=1e-6)
    np.testing.assert_allclose(found.log_posterior_ + 0.5 * np.log(1e10), less.log_posterior_, atol=1e-6)
    np.testing.assert_allclose(found.leave_one_out().mean[others], less.leave_one_out().mean, atol=1e-6)
    np.testing.assert_allclose(found.leave_one_out().scale[others], less.leave_one_out().scale, atol=1e-6)
    alone = less.predict_distribution([DISTANCES[7:8, others]])
    np.testing.assert_allclose(found.leave_one_out().mean[7], alone.mean[0], atol=1e-6)
    np.testing.assert_allclose(found.leave_one_out().scale[7], alone.scale[0], rtol=0.05)  # one degree of freedom less


def test_noise_of_zero_changes_nothing_and_states_keep_it():
    y, noise = noisy(), np.zeros(25)
    plain = RobustGP(["matern52"]).fit([DISTANCES], y)
    same = RobustGP(["matern52"]).fit([DISTANCES], y, noise=noise)
    np.testing.assert_array_equal(plain.predict([NEW]), same.predict([NEW]))
    assert "noise" not in same.get_state()
    noise[7] = 100.0
    found = RobustGP(["matern52"]).fit([DISTANCES], y, noise=noise)
    again = RobustGP.from_state(found.get_state())
    np.testing.assert_array_equal(again.leave_one_out().scale, found.leave_one_out().scale)


def test_rows_left_out_together_by_the_precision():
    """The errors of two rows that are left out at once, against a process that never saw them, ranges fixed."""
    y = noisy()
    gp = RobustGP(["matern52"], beta=3.0, nugget=1e-3).fit([DISTANCES], y)
    q, alpha, _ = gp.precision()
    rows, others = [7, 8], np.setdiff1d(np.arange(25), [7, 8])
    less = RobustGP(["matern52"], beta=3.0, nugget=1e-3).fit([DISTANCES[np.ix_(others, others)]], y[others])
    error = np.linalg.solve(q[np.ix_(rows, rows)], alpha[rows])[:, 0]
    np.testing.assert_allclose(error, y[rows] - less.predict([DISTANCES[np.ix_(rows, others)]]), rtol=1e-8)


@pytest.mark.parametrize("noise", [np.zeros(3), np.full(25, -1.0), np.full(25, np.nan)])
def test_noise_is_checked(noise):
    with pytest.raises(InputError, match="25 finite numbers"):
        RobustGP(["matern52"]).fit([DISTANCES], noisy(), noise=noise)


@pytest.mark.parametrize(("trend", "least"), [("constant", 3), ("zero", 2)])
def test_some_rows_have_no_noise(trend, least):
    for free in (0, least - 1):
        noise = np.arange(25) >= free
        with pytest.raises(InputError, match=f"{free} of 25 rows have no noise, but .* needs at least {least}"):
            RobustGP(["matern52"], trend=trend).fit([DISTANCES], noisy(), noise=noise)


def test_only_the_exact_solver_takes_noise():
    with pytest.raises(InputError, match="solver='exact'"):
        RobustGP(["matern52"], solver="vecchia").fit([DISTANCES], noisy(), noise=np.eye(25)[0])
    with pytest.raises(InputError, match="precision needs"):
        RobustGP(["matern52"], solver="vecchia").fit([DISTANCES], noisy()).precision()
