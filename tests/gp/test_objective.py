"""The log posterior and its gradient against plain formulas and central differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from swwl.gp import factors as factors_module
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Factor
from swwl.gp.objective import NotPositiveDefinite, Objective, factorise
from swwl.gp.prior import default_prior
from swwl.gp.search import default_bounds, sample_pairs, starting_points, starting_ranges

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
}


def make_factors(items, n, rng):
    """Return factors: a name is a distance matrix, a number a group of so many coordinates."""
    out = []
    for item in items:
        if isinstance(item, int):
            z = rng.normal(size=(n, item))
            out.append(Factor(get_correlation("gaussian"), z - z.mean(axis=0), is_coordinates=True))
        else:
            x = rng.random((n, 2))
            out.append(Factor(get_correlation(item), np.linalg.norm(x[:, None] - x, axis=2)))
    return out


def make_objective(items, method="posterior", n=45, q=1, k=1, seed=0):
    rng = np.random.default_rng(seed)
    factors = make_factors(items, n, rng)
    trend = np.hstack([np.ones((n, 1)), rng.normal(size=(n, 3))])[:, :q]
    y = rng.normal(size=(n, k)) + np.arange(k)
    largest = np.concatenate([f.largest_distances() for f in factors])
    return Objective(factors, trend, y, method, default_prior(largest, n))


def dense(objective, log_beta, log_nugget):
    """Write the formulas of the method down with full matrices and explicit inverses."""
    n, q = objective.trend.shape
    beta, nugget = np.exp(log_beta), np.exp(log_nugget)
    r, used = np.ones((n, n)), 0
    for f in objective.factors:
        columns = [np.abs(f.data[:, [j]] - f.data[:, j]) for j in range(f.n_ranges)]
        for d in columns if f.is_coordinates else [f.data]:
            r *= f.correlation(beta[used] * d)
            used += 1
    r += nugget * np.eye(n)
    inverse, h = np.linalg.inv(r), objective.trend
    middle = h.T @ inverse @ h
    projector = inverse - inverse @ h @ np.linalg.inv(middle) @ h.T @ inverse
    value = 0.0
    for y in objective.y.T:
        value -= 0.5 * np.linalg.slogdet(r)[1]
        if objective.method == "likelihood":
            value -= 0.5 * n * np.log(y @ projector @ y)
        else:
            value -= 0.5 * np.linalg.slogdet(middle)[1] + 0.5 * (n - q) * np.log(y @ projector @ y)
    if objective.method == "posterior":
        t = objective.prior.c @ beta + nugget
        value += objective.prior.a * np.log(t) - objective.prior.b * t
    return value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("q, k", [(0, 1), (1, 1), (3, 2)])
def test_value_is_the_plain_formula(method, q, k):
    objective = make_objective(CASES["coordinates beside distances"], method, q=q, k=k)
    w = np.random.default_rng(1).normal(size=7) * 0.3
    assert_allclose(objective(w, -4.0), dense(objective, w, -4.0), rtol=1e-10)
    assert objective.with_gradient(w, -4.0)[0] == objective(w, -4.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_gradient_by_central_differences(case, method, monkeypatch):
    monkeypatch.setattr(factors_module, "_BLOCK", 300)  # several blocks, and a ragged last one
    objective = make_objective(CASES[case], method, q=2, k=2)
    p = sum(f.n_ranges for f in objective.factors)
    w = np.append(np.random.default_rng(2).normal(size=p) * 0.3, -3.0)
    gradient = objective.with_gradient(w[:-1], w[-1])[1]
    errors = []
    for step in (1e-2, 1e-3, 1e-4):
        numeric = np.empty(p + 1)
        for i in range(p + 1):
            move = step * (np.arange(p + 1) == i)
            up, down = (objective((w + s * move)[:-1], (w + s * move)[-1]) for s in (1.0, -1.0))
            numeric[i] = (up - down) / (2 * step)
        errors.append(np.abs(numeric - gradient).max() / np.abs(gradient).max())
    assert errors[1] < 2e-2 * errors[0] + 1e-9  # central differences converge with the square of the step
    assert errors[2] < 1e-7


def test_gradient_of_a_group_equals_that_of_its_columns():
    rng = np.random.default_rng(3)
    z, y = rng.normal(size=(60, 6)), rng.normal(size=(60, 1))
    c = get_correlation("gaussian")
    group = [Factor(c, z, is_coordinates=True)]
    columns = [Factor(c, np.abs(z[:, [k]] - z[:, k])) for k in range(6)]
    prior = default_prior(group[0].largest_distances(), 60)
    w = rng.normal(size=6) * 0.5 - 1
    (v1, g1), (v2, g2) = (
        Objective(f, np.ones((60, 1)), y, "posterior", prior).with_gradient(w, -5.0) for f in (group, columns)
    )
    assert_allclose(v1, v2, rtol=1e-11)
    assert_allclose(g1, g2, rtol=1e-9, atol=1e-9)


def test_an_indefinite_matrix_is_reported():
    with pytest.raises(NotPositiveDefinite, match="order 2"):
        factorise(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("level", [0.2, 0.5, 0.9])
def test_starts_put_the_product_at_their_level(case, level):
    factors = make_objective(CASES[case], n=80).factors
    pairs = sample_pairs(factors, 80, np.random.default_rng(0))
    log_beta, product, used = starting_ranges(factors, pairs, level), np.ones(len(pairs)), 0
    for f in factors:
        for _ in range(f.n_ranges):
            product *= f.correlation(np.exp(log_beta[used]) * pairs[:, used])
            used += 1
    assert_allclose(np.median(product), level, rtol=1e-6)


def test_starts_are_reproducible_and_respect_the_floor():
    factors = make_objective(["matern52", 3], n=120).factors
    one, two = (starting_points(factors, 120, 6, np.random.default_rng(5), 0.01) for _ in range(2))
    assert_allclose(one, two, rtol=0)
    assert (one[:, -1] >= np.log(0.1) - 1e-12).all()


def test_sampled_pairs_are_uniform_and_distinct():
    x = np.arange(500.0)
    factor = Factor(get_correlation("gaussian"), np.abs(x[:, None] - x))
    pairs = sample_pairs([factor], 500, np.random.default_rng(0), most=1000)
    assert pairs.shape == (1000, 1) and pairs.min() >= 1.0
    assert abs(pairs.mean() - 500 / 3) < 12  # the mean distance of two uniform points


def test_the_lower_bound_follows_the_conditioning():
    factors = make_objective(["gaussian"], n=60).factors
    largest = factors[0].largest_distances()
    bare, floored = (default_bounds(factors, 60, nu)[0] + np.log(largest) for nu in (0.0, 1e-6))
    assert floored[0] < np.log(2e-4) < bare[0]  # with a nugget ranges may grow until the factor is flat
