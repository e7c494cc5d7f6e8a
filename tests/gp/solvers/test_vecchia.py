"""Inducing rows and neighbors: exact in the limits, the plain formulas elsewhere, and close with few of them."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from swwl.errors import InputError
from swwl.gp import Coordinates, Distances, Joint, RobustGP, RowDistances, fit_large
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term, cross_correlation
from swwl.gp.many_rows import choose_setting
from swwl.gp.prior import default_prior
from swwl.gp.solvers.base import NotPositiveDefinite, Problem, standardize
from swwl.gp.solvers.dense import DenseSolver
from swwl.gp.solvers.vecchia import VecchiaSolver
from tests.helpers import assert_slope

METHODS = ["posterior", "marginal", "likelihood"]


def make_problem(every, old, y, trend, method="posterior"):
    """Return a problem of some rows of the terms, for the dense solver and for this one."""
    terms = [term.take(old) for term in every]
    prior = default_prior(np.concatenate([term.block.largest() for term in terms]), len(old))
    return Problem(terms, trend[old], standardize(y[old], shift=trend.shape[1] > 0), method, prior, trend.shape[1] > 0)


def make_case(n, p, k, q, method, seed, n_new=5):
    """Return (problem, cross, among, trend of new points) of p coordinates, rows and a matrix of distances."""
    rng = np.random.default_rng(seed)
    total = n + n_new
    z, x, s = rng.normal(size=(total, p)), rng.normal(size=(total, 4)), rng.random((total, 1))
    every = [
        Term(get_correlation("gaussian"), Coordinates(z)),
        Term(get_correlation("matern52"), RowDistances(x)),
        Term(get_correlation(("power", 1.5)), Distances(np.abs(s - s.T))),
    ]
    y = 30.0 + np.sin(z[:, :1]) + s + 0.3 * rng.normal(size=(total, k))
    trend = np.hstack([np.ones((total, 1)), z])[:, :q]
    old, new = np.arange(n), np.arange(n, total)
    cross, among = [term.take(new, old) for term in every], [term.take(new) for term in every]
    return make_problem(every, old, y, trend, method), cross, among, trend[new]


def assert_same_posterior(found, wanted, cross, among, trend, tolerance=1e-7):
    assert found.df == wanted.df
    assert_allclose(found.theta, wanted.theta, rtol=tolerance, atol=tolerance)
    assert_allclose(found.sigma2, wanted.sigma2, rtol=tolerance)
    for nugget in (True, False):
        a, b = found.predict(cross, trend, nugget), wanted.predict(cross, trend, nugget)
        assert_allclose(a.mean, b.mean, rtol=tolerance, atol=tolerance)
        assert_allclose(a.scale, b.scale, rtol=tolerance, atol=tolerance)
    assert_allclose(found.mean(cross, trend), wanted.mean(cross, trend), rtol=tolerance, atol=tolerance)
    joint, dense = (posterior.predict_joint(cross, trend, among, True) for posterior in (found, wanted))
    for a, b in zip(joint, dense, strict=True):
        assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    a, b = found.leave_one_out(), wanted.leave_one_out()
    assert_allclose(a.mean, b.mean, rtol=tolerance, atol=tolerance)
    assert_allclose(a.scale, b.scale, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(8, 60), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2), st.sampled_from(METHODS), st.data())
def test_all_rows_inducing_or_all_neighbors_is_the_exact_process(n, p, k, q, method, data):
    problem, cross, among, trend = make_case(n, p, k, min(q, p), method, seed=n + p)
    at = np.linspace(-1.5, 0.0, p + 2), np.log(data.draw(st.sampled_from([0.05, 0.2])))
    dense = DenseSolver(problem)
    value, gradient = dense.with_gradient(*at)
    exact, _ = dense.conclude(*at)
    few = data.draw(st.integers(0, n // 2))
    for sizes in ((n, 0, 0), (n, 3, 3), (0, n, n), (few, n - 1, n)):
        solver = VecchiaSolver(problem, *sizes)
        found, slopes = solver.with_gradient(*at)
        assert_allclose(found, value, rtol=1e-7, atol=1e-7)
        assert_allclose(slopes, gradient, rtol=1e-7, atol=1e-7)
        assert solver(*at) == found
        posterior, rcond = solver.conclude(*at)
        assert 0.0 < rcond <= 1.0
        assert_same_posterior(posterior, exact, cross, among, trend)


CASES = {
    "coordinates": [4],
    "distances": ["matern52", ("power", 1.3)],
    "coordinates beside distances": [3, "matern52", "gaussian", 2],
    "elliptic": [{"matern52": (3, 0, 2, 0)}],
    "elliptic power": [{("power", 1.3): (2, 0, 1)}],
    "elliptic gaussian beside others": [2, {"gaussian": (2, 0, 1)}, "matern32"],
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("items", CASES.values(), ids=CASES)
def test_the_gradient_is_that_of_central_differences(make_terms, items, method):
    terms = make_terms(items, 24)
    rng = np.random.default_rng(3)
    y, trend = rng.normal(size=(24, 2)), np.hstack([np.ones((24, 1)), rng.normal(size=(24, 1))])
    problem = make_problem(terms, np.arange(24), y, trend, method)
    p = sum(term.block.n_ranges for term in terms)
    for sizes, seed in (((8, 4), 1), ((0, 4), 2), ((8, 0), 3)):
        solver = VecchiaSolver(problem, *sizes)
        at = np.append(np.random.default_rng(seed).normal(-0.5, 0.3, size=p), np.log(0.03))
        _, gradient = solver.with_gradient(at[:-1], at[-1])
        assert_gradient(gradient, solver, at)


def test_remainders_and_city_block_distances_have_gradients_too():
    rng = np.random.default_rng(4)
    x, z = rng.normal(size=(30, 5)), rng.normal(size=(30, 2))
    joint = Joint([Coordinates(z), RowDistances(np.hstack([x, z]), without=(z, None))])
    terms = [Term(get_correlation("matern32"), joint), Term(get_correlation("matern52"), RowDistances(x, r=1))]
    problem = make_problem(terms, np.arange(30), rng.normal(size=(30, 1)), np.ones((30, 1)))
    solver, at = VecchiaSolver(problem, 8, 5), np.array([-0.5, -0.7, -1.0, -2.0, -3.0])
    _, gradient = solver.with_gradient(at[:-1], at[-1])
    assert_gradient(gradient, solver, at)


def assert_gradient(gradient, solver, at):
    """Compare with central differences of the solver in each of its log ranges and log nugget."""
    values = lambda h: [solver(moved[:-1], moved[-1]) for moved in at + h * np.eye(len(at))]  # noqa: E731
    assert_slope(gradient, values, 1e-6, 1e-6)


def by_hand(problem, solver, beta, nugget):
    """Write the approximate matrix down: inducing rows, and the residual through its sparse precision."""
    n, plan = len(problem.y), solver._plan
    c = cross_correlation([term.held() for term in problem.terms], beta, (n, n))
    u = plan.chosen
    low = c[:, u] @ np.linalg.inv(c[np.ix_(u, u)] + 1e-10 * np.eye(len(u))) @ c[u]
    residual = c - low + nugget * np.eye(n)
    precision = np.zeros((n, n))
    for index in plan.index:
        own = index[index >= 0]
        inverse = np.linalg.inv(residual[np.ix_(own, own)])
        precision[np.ix_(own, own)] += np.outer(inverse[-1], inverse[-1]) / inverse[-1, -1]
    return low + np.linalg.inv(precision)


@pytest.mark.parametrize("sizes", [(10, 6), (10, 0), (0, 6)], ids=["both", "FITC", "Vecchia"])
def test_between_the_limits_it_is_the_process_of_the_matrix_written_down(sizes):
    problem, *_ = make_case(45, 2, 2, 2, "posterior", seed=5)
    beta, nugget, y = np.array([0.4, 0.6, 0.2, 0.3]), 0.03, problem.targets.raw
    solver = VecchiaSolver(problem, *sizes)
    value, (posterior, _) = (f(np.log(beta), np.log(nugget)) for f in (solver, solver.conclude))
    r, h, (n, k) = by_hand(problem, solver, beta, nugget), problem.trend, y.shape
    if sizes[1] == 0:
        c = cross_correlation([term.held() for term in problem.terms], beta, (n, n))
        assert_allclose(np.diag(r), 1.0 + nugget)
        assert np.abs(r - c - nugget * np.eye(n)).max() > 1e-3
    inverse = np.linalg.inv(r)
    a = h.T @ inverse @ h
    q = inverse - inverse @ h @ np.linalg.solve(a, h.T @ inverse)
    s2 = np.einsum("ij,ij->j", y, q @ y)
    wanted = -0.5 * k * (np.linalg.slogdet(r)[1] + np.linalg.slogdet(a)[1]) - 0.5 * (n - 2) * np.log(s2).sum()
    assert_allclose(value, wanted + problem.prior(beta, nugget)[0], rtol=1e-8)
    assert_allclose(posterior.sigma2, s2 / (n - 2), rtol=1e-7)
    assert_allclose(posterior.theta, np.linalg.solve(a, h.T @ inverse @ y), rtol=1e-6)
    assert_allclose(posterior.inverse_diagonal, np.diag(inverse), rtol=1e-6)
    left_out = posterior.leave_one_out()
    assert_allclose(left_out.mean, y - (q @ y) / np.diag(q)[:, None], rtol=1e-6)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("swwl.gp.solvers.whitening._PIECE", 1000)
    problem, *_ = make_case(60, 3, 1, 1, "posterior", seed=7)
    at = np.full(5, -1.0), np.log(0.02)
    (one, slopes), (two, others) = (VecchiaSolver(problem, 15, 8, n_threads=k).with_gradient(*at) for k in (1, 3))
    assert one == two
    assert_array_equal(slopes, others)


def test_neighbors_of_new_points_improve_predictions_and_joint_ones_agree():
    problem, cross, among, trend = make_case(60, 3, 1, 1, "posterior", seed=6)
    at = np.full(5, -1.5), np.log(1e-3)
    exact, _ = DenseSolver(problem).conclude(*at)
    errors = []
    for near in (0, 10, 40):
        posterior, _ = VecchiaSolver(problem, 15, 8, near).conclude(*at)
        prediction = posterior.predict(cross, trend, True)
        mean, joint = posterior.predict_joint(cross, trend, among, True)
        assert_allclose(mean, prediction.mean)
        assert_allclose(np.sqrt(np.einsum("kii->ik", joint)), prediction.scale)
        assert np.linalg.eigvalsh(joint[0]).min() > 0.0
        errors.append(np.abs(prediction.mean - exact.predict(cross, trend, True).mean).max())
    assert errors[2] < errors[1] < errors[0]


def borehole(n, seed):
    """Twenty inputs in (0, 1): the borehole function of eight, weak ones with interactions, noise of 0.5 %."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 20))
    low = np.array([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855])
    high = np.array([0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])
    rw, r, tu, hu, tl, hl, length, kw = (low + x[:, :8] * (high - low)).T
    log = np.log(r / rw)
    flow = 2 * np.pi * tu * (hu - hl) / (log * (1 + 2 * length * tu / (log * rw**2 * kw) + tu / tl))
    weak = 0.4 * np.sin(2 * np.pi * x[:, 8] * x[:, 9]) + 0.4 * x[:, 10] * np.cos(3 * x[:, 11])
    weak += 0.2 * (x[:, 12:18] @ np.linspace(1, 0.1, 6)) + 0.5 * x[:, 18] ** 2 * (1 - x[:, 0])
    y = (flow - 77.7) / 45.6 + weak + 0.3 * np.abs(x[:, 19] - 0.4) + 0.005 * rng.normal(size=n)
    return x, y


def borehole_items(x, train=None):
    """Return eighteen coordinates and two columns of their own, to training points where given."""
    others = [None, None] if train is None else [train[:, 18:19], train[:, 19:]]
    return [Coordinates(x[:, :18]), RowDistances(x[:, 18:19], others[0]), RowDistances(x[:, 19:], others[1])]


BOREHOLE = ["gaussian", "matern52", "matern52"]


@pytest.fixture(scope="module")
def small():
    """Return a fit of 120 borehole rows with few inducing rows and neighbors, and its rows."""
    x, y = borehole(120, 1)
    options = {"n_inducing": 30, "n_neighbors": 8, "n_predict_neighbors": 12}
    gp = RobustGP(BOREHOLE, solver="vecchia", solver_options=options, n_starts=1, max_iter=10)
    with pytest.warns(match="max_iter=10"):
        gp.fit(borehole_items(x), y)
    return gp, x, y


def test_a_fit_by_name_optimizes_and_predicts(small):
    gp, x, y = small
    new, truth = borehole(80, 2)
    prediction = gp.predict_distribution(borehole_items(new, x))
    assert np.sqrt(np.mean((prediction.mean - truth) ** 2)) < 0.5 * truth.std()
    assert prediction.df == 119 and gp.leave_one_out().mean.shape == y.shape
    value, gradient = gp.log_posterior(np.log(gp.beta_), return_gradient=True)
    assert_allclose(value, gp.log_posterior_) and gradient.shape == (21,)
    again = RobustGP(**gp.get_params() | {"beta": gp.beta_, "nugget": gp.nugget_}).fit(borehole_items(x), y)
    assert again.n_evaluations_ == 1
    warm = RobustGP(**gp.get_params() | {"max_iter": 200}).fit(borehole_items(x), y, start=gp)
    assert warm.log_posterior_ > gp.log_posterior_ - 20.0  # rows and neighbors are chosen again


def test_a_restored_model_predicts_the_same(small):
    gp, x, _ = small
    new, _ = borehole(10, 3)
    back = RobustGP.from_state(gp.get_state())
    assert back.solver_options == gp.solver_options
    items = borehole_items(new, x)
    for a, b in zip(back.predict(items, return_cov=True), gp.predict(items, return_cov=True), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(back.predict(items, return_std=True)[1], gp.predict(items, return_std=True)[1])
    assert_array_equal(back.leave_one_out().scale, gp.leave_one_out().scale)
    none = borehole_items(new[:0], x)
    assert gp.predict(none).shape == (0,) and gp.predict(none, return_cov=True)[1].shape == (0, 0)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("chosen", lambda old: old + 500, "chosen holds 5.. to 6.., but rows of 120 are expected"),
        ("xi", lambda old: np.hstack([old, old]), r"xi has shape \(\d+, 2\), but \(\d+, 1\) is expected"),
        ("n_neighbors", lambda old: -1, "n_neighbors: expected 'int' >= 0"),
        ("nugget", lambda old: np.nan, "nugget: expected 'float' >= 0.0"),
    ],
)
def test_damaged_states_are_refused(small, name, damage, message):
    state = small[0].get_state()
    with pytest.raises(InputError, match=message):
        RobustGP.from_state(state | {name: damage(state[name])})


def test_matrices_of_distances_fit_but_are_not_saved(data):
    train, cross, among, y, *_ = data
    fixed = {"beta": [1.0, 2.0], "nugget": 0.01}
    options = {"n_inducing": 10, "n_neighbors": 39, "n_predict_neighbors": 40}
    gp = RobustGP(["gaussian", "matern52"], solver="vecchia", solver_options=options, **fixed).fit(train, y)
    exact = RobustGP(["gaussian", "matern52"], **fixed).fit(train, y)
    assert_allclose(gp.predict(cross), exact.predict(cross), rtol=1e-8)
    wanted = exact.predict(cross, return_cov=True, test_distances=among)[1]
    assert_allclose(gp.predict(cross, return_cov=True, test_distances=among)[1], wanted, atol=1e-9)
    with pytest.raises(InputError, match="on a matrix of distances cannot be saved"):
        gp.get_state()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"solver_options": {"n_inducing": -1}}, "n_inducing is -1, but a whole number of at least 0 is expected"),
        ({"solver_options": {"n_inducing": 1.5}}, "n_inducing is 1.5, but a whole number"),
        ({"solver_options": {"rows": 3}}, "solver_options holds 'rows', but solver='vecchia' takes n_inducing, "),
        ({"solver_options": 30}, "solver_options is 30, but a dict is expected"),
        ({"solver": "exact", "solver_options": {"seed": 3}}, "but solver='exact' takes no options"),
        ({"range_uncertainty": True}, "but solver='vecchia' cannot do it: use solver='exact'"),
    ],
)
def test_wrong_options_are_named(data, arguments, message):
    train, _, _, y, *_ = data
    with pytest.raises(InputError, match=message):
        RobustGP(["gaussian", "matern52"], **{"solver": "vecchia"} | arguments).fit(train, y)


def test_what_cannot_be_whitened_says_so():
    z = np.repeat(np.random.default_rng(0).normal(size=(10, 1)), 2, axis=0)  # every point twice, and no noise
    terms = [Term(get_correlation("gaussian"), Coordinates(z))]
    problem = make_problem(terms, np.arange(20), np.random.default_rng(1).normal(size=(20, 1)), np.ones((20, 1)))
    with pytest.raises(NotPositiveDefinite):
        VecchiaSolver(problem, 0, 19)(np.zeros(1), -np.inf)


def test_joint_predictions_of_very_many_points_leave_residuals_independent(small, monkeypatch):
    gp, x, _ = small
    new = borehole_items(borehole(30, 4)[0], x)
    _, whole = gp.predict(new, return_cov=True)
    monkeypatch.setattr("swwl.gp.solvers.vecchia_posterior._MOST_JOINT", 20)
    mean, cov = gp.predict(new, return_cov=True)
    wanted, std = gp.predict(new, return_std=True)
    assert_allclose(mean, wanted, rtol=1e-12)
    assert_allclose(np.diag(cov), std**2, rtol=1e-9)
    assert_allclose(np.diag(cov), np.diag(whole), rtol=1e-9)
    assert np.linalg.eigvalsh(cov).min() > 0


@pytest.mark.slow
def test_fit_large_takes_ranges_of_a_subset_and_rows_of_all():
    x, y = borehole(200, 5)
    new, truth = borehole(100, 6)
    gp = RobustGP(BOREHOLE, n_starts=1, solver_options={"n_inducing": 120, "n_neighbors": 10})
    found = fit_large(gp, borehole_items(x), y, n_exact=80)
    assert not hasattr(gp, "beta_") and found.solver == "vecchia" and len(found.leave_one_out()) == 200
    chosen = np.sort(np.random.default_rng(0).permutation(200)[:80])
    exact = RobustGP(BOREHOLE, n_starts=1).fit(borehole_items(x[chosen]), y[chosen])
    assert_array_equal(found.beta_, exact.beta_)
    few, many = exact.predict(borehole_items(new, x[chosen])), found.predict(borehole_items(new, x))
    assert np.mean((many - truth) ** 2) < np.mean((few - truth) ** 2)
    with pytest.warns(match="max_iter=2"):
        refined = fit_large(gp, borehole_items(x), y, n_exact=80, refine=2)
    assert refined.log_posterior_ > found.log_posterior_
    with pytest.raises(InputError, match="n_exact is 1 and refine 0"):
        fit_large(gp, borehole_items(x), y, n_exact=1)


def test_held_out_rows_choose_a_setting():
    """A sum of many short waves wants neighbors, a smooth answer inducing rows."""
    rng = np.random.default_rng(0)
    x = rng.random((600, 2))
    settings = [{"n_inducing": 60, "n_neighbors": 0}, {"n_inducing": 0, "n_neighbors": 15}]
    settings = [setting | {"n_predict_neighbors": 2 * setting["n_neighbors"]} for setting in settings]
    for beta, answer, wanted in ((20.0, np.sin(40 * x[:, 0]) * np.sin(40 * x[:, 1]), 1), (1.0, np.sin(2 * x[:, 0]), 0)):
        gp = RobustGP(["matern52"], beta=[beta, beta], nugget=1e-4)
        chosen = choose_setting(gp, [Coordinates(x)], answer + 0.01 * rng.normal(size=600), None, settings)
        assert chosen == settings[wanted]
    assert choose_setting(gp, [Coordinates(x)], x[:, 0], None, settings[:1] * 2) == settings[0]


@pytest.mark.parametrize("sizes", [(20, 6), (0, 8), (20, 0), (60, 0)], ids=str)
@pytest.mark.parametrize("method", ["posterior", "likelihood"])
def test_slopes_are_those_of_central_differences(sizes, method):
    """In coordinates and in the trend of a new point, of mean and deviation, neighbors held as they are."""
    rng = np.random.default_rng(1)
    x, trend = rng.normal(size=(60, 3)), rng.normal(size=(60, 1))
    y = np.column_stack([np.sin(x[:, 0]) + x[:, 1], x[:, 1] * x[:, 2]]) + 0.05 * rng.normal(size=(60, 2))
    options = {"n_inducing": sizes[0], "n_neighbors": sizes[1], "n_predict_neighbors": sizes[1]}
    gp = RobustGP(["matern52"], trend="linear", nugget=0.01, beta=[0.5, 0.6, 0.7], method=method, solver="vecchia",
                  solver_options=options).fit([Coordinates(x)], y, trend)  # fmt: skip
    new, column = rng.normal(size=(1, 3)), rng.normal(size=(1, 1))

    def both(by, trend_by=0.0):
        return np.hstack(gp.predict([Coordinates(new + by)], return_std=True, trend_columns=column + trend_by))[0]

    found = gp.linearize([Coordinates(new)], trend_columns=column)
    assert_allclose(np.concatenate([found.mean, found.std]), both(0.0), rtol=1e-10)
    (slopes,), in_trend = found.pull_back(np.eye(2, 4), np.eye(2, 4, 2))
    assert_slope(slopes, lambda h: [both(by) for by in h * np.eye(3)], 1e-6, 1e-8)
    assert_slope(in_trend[-1], lambda h: both(0.0, h), 1e-6, 1e-8)


@pytest.mark.slow
def test_predictions_with_half_of_the_rows_inducing_are_nearly_exact():
    x, y = borehole(1000, 1)
    new, truth = borehole(1000, 99)
    ranges = RobustGP(BOREHOLE, n_starts=1).fit(borehole_items(x[:300]), y[:300])
    fixed = {"beta": ranges.beta_, "nugget": ranges.nugget_}
    exact = RobustGP(BOREHOLE, **fixed).fit(borehole_items(x), y).predict(borehole_items(new, x))
    half = {"n_inducing": 500}
    gp = RobustGP(BOREHOLE, solver="vecchia", solver_options=half, **fixed).fit(borehole_items(x), y)
    prediction = gp.predict_distribution(borehole_items(new, x))
    assert np.sqrt(np.mean((prediction.mean - truth) ** 2)) < 1.25 * np.sqrt(np.mean((exact - truth) ** 2))
    lower, upper = prediction.interval(0.95)
    assert 0.93 <= np.mean((lower < truth) & (truth < upper)) <= 0.97


@pytest.mark.slow
def test_no_array_of_all_pairs_is_ever_made():
    n = 4000
    x, y = borehole(n, 1)
    options = {"n_inducing": 100, "n_neighbors": 10, "n_predict_neighbors": 20}
    gp = RobustGP(BOREHOLE, solver="vecchia", solver_options=options, beta=0.3, nugget=1e-3)
    RobustGP(BOREHOLE, solver="vecchia", beta=0.3, nugget=1e-3).fit(borehole_items(x[:50]), y[:50])  # imports
    tracemalloc.start()
    gp.fit(borehole_items(x), y)
    gp.log_posterior(np.log(gp.beta_), return_gradient=True)
    gp.predict(borehole_items(x[:100], x), return_std=True)
    gp.leave_one_out()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * n**2, peak


def test_features_need_not_be_kept():
    """Computed for the neighbors alone, and not for all training rows: the same predictions, also from a state."""
    rng = np.random.default_rng(0)
    x, new = rng.random((60, 3)), [Coordinates(rng.random((5, 3)))]
    y = np.sin(4 * x[:, 0]) + x[:, 1]
    options = {"n_inducing": 15, "n_neighbors": 5, "n_predict_neighbors": 8}
    fits = [
        RobustGP(solver="vecchia", solver_options=options | {"keep_features": keep}, beta=2.0, nugget=1e-3).fit(
            [Coordinates(x)], y
        )
        for keep in (0, 1)
    ]
    lean, full = (gp.predict_distribution(new) for gp in fits)
    np.testing.assert_allclose(lean.mean, full.mean, rtol=1e-10)
    np.testing.assert_allclose(lean.scale, full.scale, rtol=1e-8)
    covariances = [gp.predict(new, return_cov=True)[1] for gp in fits]
    np.testing.assert_allclose(*covariances, atol=1e-10)
    state = fits[0].get_state()
    assert state["inducing_factor"].shape == (15 * 16 // 2,)
    again = RobustGP.from_state(state)
    np.testing.assert_array_equal(again.predict(new), fits[0].predict(new))
    with pytest.raises(InputError, match="log_posterior needs the training distances"):
        fits[0].forget_solver()
        fits[0].log_posterior(np.log(fits[0].beta_))
