import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from swwl.embedding.sliced import DIRECTIONS, QUANTILES, draw_directions, projected_quantiles
from tests.helpers import reference_quantiles


@pytest.mark.parametrize("rule", DIRECTIONS)
@pytest.mark.parametrize(("dimension", "number"), [(1, 1), (1, 7), (3, 1), (3, 10), (12, 50)])
def test_directions_are_unit_columns(rule, dimension, number):
    theta = draw_directions(dimension, number, rule, np.random.default_rng(0))
    assert theta.shape == (dimension, number)
    np.testing.assert_allclose(np.linalg.norm(theta, axis=0), 1, rtol=1e-14)


@pytest.mark.parametrize("rule", DIRECTIONS)
def test_directions_are_isotropic(rule):
    theta = draw_directions(4, 4096, rule, np.random.default_rng(1))
    np.testing.assert_allclose(theta @ theta.T / 4096, np.eye(4) / 4, atol=0.02)
    np.testing.assert_allclose(theta.mean(axis=1), 0, atol=0.04)
    # The fourth moment of a coordinate on the sphere of R^s is 3 / (s (s + 2)).
    np.testing.assert_allclose((theta**4).mean(axis=1), 3 / 24, atol=0.01)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", QUANTILES)
@settings(max_examples=40)  # of each of eight
@given(data=st.data())
def test_quantiles_equal_numpys(rule, weighted, data):
    n = data.draw(st.integers(1, 40))
    # Integers make ties, the hard case; their spacing keeps single precision exact.
    points = data.draw(hnp.arrays(np.float64, (n, 1), elements=st.integers(-8, 8).map(float)))
    weights = None
    if weighted:
        weights = data.draw(hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5])))
        weights[0] = 1.0
    q = data.draw(st.integers(2, 30))
    ours = projected_quantiles(points, np.array([[1.0]]), q, rule, weights).ravel()
    np.testing.assert_allclose(ours, reference_quantiles(points.ravel(), q, rule, weights), atol=1e-6)


@pytest.mark.parametrize("rule", QUANTILES)
def test_equal_weights_are_no_weights_and_order_does_not_matter(rule):
    rng = np.random.default_rng(0)
    points, theta = rng.integers(0, 5, (60, 3)).astype(float), draw_directions(3, 5, "gaussian", rng)
    plain = projected_quantiles(points, theta, 33, rule)
    np.testing.assert_array_equal(projected_quantiles(points, theta, 33, rule, np.full(60, 0.3)), plain)
    weights = rng.uniform(0.5, 2, 60)
    order = rng.permutation(60)
    np.testing.assert_array_equal(
        projected_quantiles(points[order], theta, 33, rule, weights[order]),
        projected_quantiles(points, theta, 33, rule, weights),
    )


def test_a_node_of_weight_two_is_two_nodes():
    rng = np.random.default_rng(0)
    points, theta = rng.standard_normal((20, 2)), draw_directions(2, 4, "gaussian", rng)
    twice = rng.integers(1, 3, 20)
    np.testing.assert_array_equal(
        projected_quantiles(points, theta, 50, "midpoint", twice.astype(float)),
        projected_quantiles(np.repeat(points, twice, axis=0), theta, 50, "midpoint"),
    )


def test_blocks_of_projections_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    points, theta = rng.standard_normal((50, 3)), draw_directions(3, 9, "gaussian", rng)
    whole = projected_quantiles(points, theta, 11)
    monkeypatch.setattr("swwl.embedding.sliced._BLOCK", 120)
    np.testing.assert_allclose(projected_quantiles(points, theta, 11), whole, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("r", [1, 2])
def test_midpoint_converges_to_pots_exact_sliced_distance(r):
    """Error falls at least like 1/Q for given directions; in their number, like P^(-1/2)."""
    import ot

    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((37, 3)), rng.standard_normal((41, 3)) * [1, 2, 0.5] + 1

    def estimate(theta, q):
        difference = projected_quantiles(x, theta, q, "midpoint") - projected_quantiles(y, theta, q, "midpoint")
        return (np.abs(difference.astype(float)) ** r).mean() ** (1 / r)

    theta = draw_directions(3, 64, "gaussian", rng)
    exact = ot.sliced_wasserstein_distance(x, y, projections=theta, p=r)
    errors = [abs(estimate(theta, q) - exact) for q in (20, 200, 2000, 20_000)]
    assert errors[3] < 1e-4 * exact
    assert all(errors[k] < 40 / 20 / 10**k * exact for k in range(4))

    # Q is a multiple of both sizes here, so that the quantiles are exact and only the directions are random.
    # The error of the limit itself, with 80 times as many directions as the most below, lifts their RMS by 0.6 %.
    limit = ot.sliced_wasserstein_distance(x, y, n_projections=20_000, p=r, seed=0)
    numbers = np.array([16, 64, 256])
    rms = []
    for number in numbers:
        draws = [estimate(draw_directions(3, number, "gaussian", rng), 37 * 41) - limit for _ in range(60)]
        rms.append(np.sqrt(np.mean(np.square(draws))))
    slope = np.polyfit(np.log(numbers), np.log(rms), 1)[0]
    assert -0.65 < slope < -0.35


@pytest.mark.slow
def test_even_directions_err_less_than_random_ones():
    import ot

    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((20, 3)), rng.standard_normal((20, 3)) + [1, 0, 0]
    limit = ot.sliced_wasserstein_distance(x, y, n_projections=20_000, seed=0)

    def rms(rule):
        errors = []
        for _ in range(40):
            theta = draw_directions(3, 32, rule, rng)
            errors.append(ot.sliced_wasserstein_distance(x, y, projections=theta) - limit)
        return np.sqrt(np.mean(np.square(errors)))

    assert rms("orthogonal") < 0.8 * rms("gaussian")
    assert rms("sobol") < 0.8 * rms("gaussian")
