"""The log posterior and its gradient against plain formulas and central differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from swwl.gp import factors as factors_module
from swwl.gp.blocks import Coordinates, Distances
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term
from swwl.gp.joint import Joint
from swwl.gp.prior import default_prior
from swwl.gp.solvers.base import NotPositiveDefinite, Problem, Standardized
from swwl.gp.solvers.cholesky import factorize
from swwl.gp.solvers.dense import DenseSolver
from tests.helpers import assert_slope

METHODS = ["posterior", "marginal", "likelihood"]
CASES = {
    "gaussian": ["gaussian"],
    "power": [("power", 1.3)],
    "matern52": ["matern52"],
    "matern32": ["matern32"],
    "matern32 twice": ["matern32", "matern32"],
    "all": ["gaussian", ("power", 1.7), "matern52", "matern32"],
    "coordinates": [4],
    "coordinates beside distances": [3, "matern52", "gaussian", 2],
    "elliptic": [{"matern52": (3, 0, 2, 0)}],
    "elliptic matern32": [{"matern32": (2, 0)}],
    "elliptic power": [{("power", 1.3): (2, 0, 1)}],
    "elliptic gaussian": [{"gaussian": (2, 0, 1)}],
    "elliptic coordinates": [{"matern52": (4,)}],
    "elliptic without coordinates": [{"matern52": (0, 0)}],
    "elliptic beside others": [2, {"matern52": (2, 0)}, "matern32", {"matern32": (0, 1)}, {"gaussian": (1, 0)}],
}


def distances_of(block):
    """Return one distance matrix per range."""
    if isinstance(block, Joint):
        return [d for part in block.parts for d in distances_of(part)]
    if isinstance(block, Coordinates):
        return [np.abs(z[:, None] - z) for z in block.values.T]
    return [block.dense()]


def make_solver(terms, trend, y, method="posterior", prior=None):
    """Return a solver of targets as they are."""
    if prior is None:
        prior = default_prior(np.concatenate([term.block.largest() for term in terms]), len(y))
    k = y.shape[1]
    return DenseSolver(Problem(terms, trend, Standardized(y, y, np.zeros(k), np.ones(k)), method, prior))


@pytest.fixture
def random_solver(make_terms):
    """Make a solver of random data: ``items`` as for ``make_terms``, q trend columns, k targets."""

    def make(items, method="posterior", n=45, q=1, k=1, seed=0):
        rng = np.random.default_rng(seed)
        terms = make_terms(items, n, rng)
        trend = np.hstack([np.ones((n, 1)), rng.normal(size=(n, 3))])[:, :q]
        return make_solver(terms, trend, rng.normal(size=(n, k)) + np.arange(k), method)

    return make


def plain(problem, log_beta, log_nugget):
    """Write the formulas of the method down with full matrices and explicit inverses."""
    n, q = problem.trend.shape
    beta, nugget = np.exp(log_beta), np.exp(log_nugget)
    r, used = np.ones((n, n)), 0
    for term in problem.terms:
        scaled = np.stack([b * d for b, d in zip(beta[used:], distances_of(term.block), strict=False)])
        if term.correlation.name == "gaussian" or len(scaled) == 1:
            r *= term.correlation(scaled).prod(axis=0)
        else:
            r *= term.correlation(np.sqrt((scaled**2).sum(axis=0)))
        used += len(scaled)
    r += nugget * np.eye(n)
    inverse, h = np.linalg.inv(r), problem.trend
    middle = h.T @ inverse @ h
    projector = inverse - inverse @ h @ np.linalg.inv(middle) @ h.T @ inverse
    value = 0.0
    for y in problem.y.T:
        value -= 0.5 * np.linalg.slogdet(r)[1]
        if problem.method == "likelihood":
            value -= 0.5 * n * np.log(y @ projector @ y)
        else:
            value -= 0.5 * np.linalg.slogdet(middle)[1] + 0.5 * (n - q) * np.log(y @ projector @ y)
    if problem.method == "posterior":
        t = problem.prior.c @ beta + nugget
        value += problem.prior.a * np.log(t) - problem.prior.b * t
    return value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("q, k", [(0, 1), (1, 1), (3, 2)])
@pytest.mark.parametrize("case", ["coordinates beside distances", "elliptic", "elliptic beside others"])
def test_value_is_the_plain_formula(random_solver, case, method, q, k, monkeypatch):
    monkeypatch.setattr(factors_module, "_BLOCK", 300)  # several blocks, and a ragged last one
    solver = random_solver(CASES[case], method, q=q, k=k)
    p = sum(term.block.n_ranges for term in solver.problem.terms)
    w = np.random.default_rng(1).normal(size=p) * 0.3
    assert_allclose(solver(w, -4.0), plain(solver.problem, w, -4.0), rtol=1e-10)
    assert solver.with_gradient(w, -4.0)[0] == solver(w, -4.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_gradient_by_central_differences(random_solver, case, method, monkeypatch):
    monkeypatch.setattr(factors_module, "_BLOCK", 300)  # several blocks, and a ragged last one
    solver = random_solver(CASES[case], method, q=2, k=2)
    p = sum(term.block.n_ranges for term in solver.problem.terms)
    w = np.append(np.random.default_rng(2).normal(size=p) * 0.3, -3.0)
    gradient = solver.with_gradient(w[:-1], w[-1])[1]
    values = lambda h: [solver(at[:-1], at[-1]) for at in w + h * np.eye(p + 1)]  # noqa: E731
    assert_slope(gradient, values, 1e-7, scale=np.abs(gradient).max())


def test_gradient_of_a_group_equals_that_of_its_columns():
    rng = np.random.default_rng(3)
    z, y = rng.normal(size=(60, 6)), rng.normal(size=(60, 1))
    c = get_correlation("gaussian")
    group = [Term(c, Coordinates(z))]
    columns = [Term(c, Distances(np.abs(z[:, [k]] - z[:, k]))) for k in range(6)]
    prior = default_prior(group[0].block.largest(), 60)
    w = rng.normal(size=6) * 0.5 - 1
    (v1, g1), (v2, g2) = (
        make_solver(terms, np.ones((60, 1)), y, prior=prior).with_gradient(w, -5.0) for terms in (group, columns)
    )
    assert_allclose(v1, v2, rtol=1e-11)
    assert_allclose(g1, g2, rtol=1e-9, atol=1e-9)


def test_an_indefinite_matrix_is_reported():
    with pytest.raises(NotPositiveDefinite, match="order 2"):
        factorize(np.array([[1.0, 2.0], [2.0, 1.0]]))
