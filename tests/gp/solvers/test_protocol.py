"""Solvers keep to one protocol, and the model knows nothing else of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from swwl.errors import InputError
from swwl.gp import Coordinates, RobustGP, solvers
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term, cross_correlation
from swwl.gp.prior import default_prior
from swwl.gp.solvers.base import Curvature, Problem, standardize
from swwl.gp.solvers.dense import DenseSolver

KINDS = ["gaussian", "matern52"]


class Recorder(DenseSolver):
    """The dense solver under another name, that says what it was asked."""

    asked: list[str] = []

    @staticmethod
    def prepare(terms):
        Recorder.asked.append("prepare")
        return DenseSolver.prepare(terms)

    def conclude(self, log_beta, log_nugget, curvature=None):
        Recorder.asked.append("conclude")
        return super().conclude(log_beta, log_nugget, curvature)

    @staticmethod
    def restore(state):
        Recorder.asked.append("restore")
        return DenseSolver.restore(state)


def test_a_new_solver_needs_a_name_and_nothing_else(data, monkeypatch):
    train, cross, _, y, *_ = data
    monkeypatch.setitem(solvers.SOLVERS, "recorder", Recorder)
    Recorder.asked.clear()
    gp = RobustGP(KINDS, solver="recorder").fit(train, y)
    exact = RobustGP(KINDS).fit(train, y)
    assert Recorder.asked == ["prepare", "conclude"]
    assert_array_equal(gp.predict(cross), exact.predict(cross))
    back = RobustGP.from_state(gp.get_state())
    assert Recorder.asked[-1] == "restore" and back.solver == "recorder"
    assert_array_equal(back.predict(cross), exact.predict(cross))


@pytest.mark.parametrize("name", ["fast", "", None, 3])
def test_unknown_solvers_are_refused(data, name):
    train, _, _, y, *_ = data
    with pytest.raises(InputError, match=f"solver is {name!r}, but 'exact' or 'vecchia' is expected"):
        RobustGP(KINDS, solver=name).fit(train, y)


def by_hand(terms, cross, among, trend, new_trend, y, beta, nugget):
    """Write mean, joint squared scale and leave-one-out down with explicit inverses: posterior, any trend."""
    n, q = trend.shape
    r = cross_correlation(terms, beta, (n, n)) + nugget * np.eye(n)
    c = cross_correlation(cross, beta, (len(new_trend), n))
    inverse = np.linalg.inv(r)
    middle = np.linalg.inv(trend.T @ inverse @ trend)
    theta = middle @ trend.T @ inverse @ y
    residual = y - trend @ theta
    sigma2 = np.einsum("ij,ij->j", residual, inverse @ residual) / (n - q)
    u = new_trend.T - trend.T @ inverse @ c.T
    unit = cross_correlation(among, beta, (len(new_trend),) * 2) - c @ inverse @ c.T + u.T @ middle @ u
    return new_trend @ theta + c @ inverse @ residual, sigma2, unit


def test_the_dense_solver_through_the_protocol_is_the_plain_formula(make_terms):
    n, m, q, k = 35, 6, 2, 2
    rng = np.random.default_rng(8)
    every = make_terms([3, "matern52", ("power", 1.4)], n + m)
    old, new = np.arange(n), np.arange(n, n + m)
    terms = [term.take(old) for term in every]
    cross, among = [term.take(new, old) for term in every], [term.take(new) for term in every]
    trend, y = np.hstack([np.ones((n + m, 1)), rng.normal(size=(n + m, 1))]), 50.0 + 3.0 * rng.normal(size=(n + m, k))
    terms = DenseSolver.prepare(terms)
    prior = default_prior(np.concatenate([term.block.largest() for term in terms]), n)
    problem = Problem(terms, trend[old], standardize(y[old], shift=True), "posterior", prior)
    solver = DenseSolver(problem)
    log_beta, log_nugget = rng.normal(size=5) * 0.3, np.log(0.05)
    posterior, rcond = solver.conclude(log_beta, log_nugget)
    assert solver.n_evaluations == 1 and 0.0 < rcond < 1.0

    mean, sigma2, unit = by_hand(terms, cross, among, trend[old], trend[new], y[old], np.exp(log_beta), 0.05)
    assert posterior.df == n - q and posterior.theta.shape == (q, k)
    assert_allclose(posterior.sigma2, sigma2, rtol=1e-9)
    assert_allclose(posterior.mean(cross, trend[new]), mean, rtol=1e-10)
    for nugget in (True, False):
        extra = 0.05 * nugget
        prediction = posterior.predict(cross, trend[new], nugget)
        assert_allclose(prediction.mean, mean, rtol=1e-10)
        assert_allclose(prediction.scale**2, (np.diag(unit) + extra)[:, None] * sigma2, rtol=1e-8)
        location, joint = posterior.predict_joint(cross, trend[new], among, nugget)
        assert_array_equal(location, prediction.mean)
        assert_allclose(joint, sigma2[:, None, None] * (unit + extra * np.eye(m)), rtol=1e-7, atol=1e-10)
    back = DenseSolver.restore(posterior.state() | {"something": "else"})
    assert_array_equal(back.predict(cross, trend[new], True).scale, posterior.predict(cross, trend[new], True).scale)
    assert_array_equal(back.leave_one_out().scale, posterior.leave_one_out().scale)

    # values do not depend on the units of the targets, apart from the jacobian that undoes them
    free = DenseSolver(Problem(terms, trend[old], standardize(1e3 * y[old], shift=True), "posterior", prior))
    value = solver(log_beta, log_nugget)
    assert_allclose(free(log_beta, log_nugget), value - k * (n - q) * np.log(1e3), rtol=1e-10)
    assert value == solver.with_gradient(log_beta, log_nugget)[0]
    solver.release()
    assert solver(log_beta, log_nugget) == value  # buffers come back


def test_curvature_widens_predictions(make_terms):
    terms = make_terms(["matern52", 2], 30)
    y = np.random.default_rng(1).normal(size=(30, 1))
    problem = Problem(terms, np.ones((30, 1)), standardize(y, shift=True), "posterior", default_prior(np.ones(3), 30))
    solver = DenseSolver(problem)
    at = np.zeros(3), np.log(0.1)
    flat = Curvature(np.eye(2), np.array([0, 3]))
    plain, _ = solver.conclude(*at)
    wide, _ = solver.conclude(*at, flat)
    cross = [term.take(np.arange(5), slice(None)) for term in terms]
    narrow, wider = (p.predict(cross, np.ones((5, 1)), True) for p in (plain, wide))
    assert_array_equal(narrow.mean, wider.mean)
    assert (wider.scale > narrow.scale).all()


def test_terms_take_pieces_without_the_whole():
    z = np.random.default_rng(2).normal(size=(100_000, 4))  # N x N would be 80 GB
    terms = [Term(get_correlation("gaussian"), Coordinates(z))]
    rows, columns = np.array([5, 99_999]), np.array([1, 2, 3])
    piece = cross_correlation([term.take(rows, columns) for term in terms], np.ones(4), (2, 3))
    wanted = np.exp(-((z[rows][:, None] - z[columns]) ** 2).sum(axis=2))
    assert_allclose(piece, wanted, rtol=1e-10)
