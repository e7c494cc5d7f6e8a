"""Correlations of one distance, and their product as a matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Matern

from swwl.gp import factors as factors_module
from swwl.gp.blocks import Coordinates, Distances
from swwl.gp.correlations import GAUSSIAN, get_correlation
from swwl.gp.factors import Term, cross_correlation, fill_correlation, triangle_blocks
from tests.helpers import assert_slope

ALL = ["gaussian", "matern52", "matern32", ("power", 1.0), ("power", 1.9)]


@pytest.mark.parametrize("nu, name", [(1.5, "matern32"), (2.5, "matern52")])
def test_matern_is_scikit_learns(nu, name):
    x = np.random.default_rng(0).random((30, 2))
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    assert_allclose(get_correlation(name)(2.5 * distances), Matern(1 / 2.5, nu=nu)(x), rtol=1e-12)


def test_gaussian_is_scikit_learns_up_to_its_factor_of_two():
    x = np.random.default_rng(0).random((30, 2))
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    assert_allclose(get_correlation("gaussian")(2.0 * distances), RBF(1 / (2.0 * np.sqrt(2)))(x), rtol=1e-12)
    assert_allclose(get_correlation(("power", 2.0))(distances), GAUSSIAN(distances), rtol=1e-15)


@pytest.mark.parametrize("name", ALL)
@given(s=st.floats(1e-3, 20.0))
def test_slope_is_the_logarithmic_derivative(name, s):
    c = get_correlation(name)
    assert_slope(c.slope(np.array([s])), lambda h: np.log(c(np.array([s * np.exp(h)]))), 1e-5, 1e-9)


@pytest.mark.parametrize("name", ALL)
def test_steepness_is_the_slope_over_the_square(name):
    c, s = get_correlation(name), np.geomspace(1e-3, 20.0, 50)
    assert_allclose(c.steepness(s) * s**2, c.slope(s), rtol=1e-12)
    at_zero = c.steepness(np.zeros(2))
    assert np.isfinite(at_zero).all()
    if not c.rough:  # it has a limit there
        assert_allclose(at_zero, c.steepness(np.full(2, 1e-9)), rtol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_one_at_zero_and_gone_far_away(name):
    assert_array_equal(get_correlation(name)(np.array([0.0])), [1.0])
    assert_array_equal(get_correlation(name).slope(np.array([0.0])), [0.0])
    assert get_correlation(name)(np.array([1e4]))[0] == 0.0


@pytest.mark.parametrize(
    "name, message",
    [
        ("matern25", "did you mean 'matern52'"),
        ("gausian", "did you mean 'gaussian'"),
        ("pow", r"did you mean \('power', alpha\)"),
        ("zzz", "Unknown correlation 'zzz'"),
        (("power", 2.5), r"exponent 2.5, but it must lie in \(0, 2\]"),
        (("gauss", 1), "Unknown correlation"),
        (3, "Unknown correlation 3"),
    ],
)
def test_unknown_names_get_a_suggestion(name, message):
    with pytest.raises(ValueError, match=message):
        get_correlation(name)


@given(st.integers(1, 2000))
def test_blocks_cover_the_triangle_once(n):
    blocks = list(triangle_blocks(n))
    assert blocks[0][0] == 0 and blocks[-1][1] == n
    assert all(a[1] == b[0] for a, b in zip(blocks[:-1], blocks[1:], strict=True))


def test_a_group_of_coordinates_is_the_product_of_its_columns(monkeypatch):
    monkeypatch.setattr(factors_module, "_BLOCK", 200)  # several blocks
    rng = np.random.default_rng(1)
    z, new, beta = rng.normal(size=(40, 5)), rng.normal(size=(7, 5)), rng.random(5)
    columns = [Term(GAUSSIAN, Distances(np.abs(z[:, [k]] - z[:, k]))) for k in range(5)]
    group = [Term(GAUSSIAN, Coordinates(z))]
    one, other = (fill_correlation(f, beta, np.zeros((40, 40))) for f in (columns, group))
    assert_allclose(np.tril(other), np.tril(one), rtol=1e-12)
    assert_array_equal(np.diag(other), 1.0)

    cross = [Term(GAUSSIAN, Distances(np.abs(new[:, [k]] - z[:, k]))) for k in range(5)]
    cross_group = [Term(GAUSSIAN, Coordinates(new, z))]
    assert_allclose(cross_correlation(cross_group, beta, (7, 40)), cross_correlation(cross, beta, (7, 40)), rtol=1e-12)


@given(st.floats(-12, 12), st.integers(1, 4))
def test_coordinates_never_correlate_above_one(exponent, k):
    rng = np.random.default_rng(k)
    z = 10.0**exponent * rng.normal(size=(20, k))
    z[10:] = z[:10]  # duplicates: squared distances of rounding size and either sign
    out = fill_correlation([Term(GAUSSIAN, Coordinates(z))], np.ones(k), np.zeros((20, 20)))
    assert np.tril(out).max() <= 1.0 and np.isfinite(np.tril(out)).all()
