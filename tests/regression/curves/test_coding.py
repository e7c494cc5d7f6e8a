"""Curves to coefficients and back."""

import numpy as np
import pytest

from swwl.errors import GPWarning, InputError
from swwl.regression.curves.coding import (
    CurveBasis,
    code_curves,
    common_values,
    fit_spline,
    left_over,
    principal_curves,
    shared_range,
)
from swwl.tables.series import listed_curves

T = np.linspace(0, 1, 60)


def waves(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, 1)) * np.sin(3 * T) + rng.uniform(-1, 1, (n, 1)) * T**2 + 2


def test_curves_of_two_shapes_have_two_coefficients_and_nothing_is_left():
    values = waves(20)
    coded = code_curves(listed_curves(list(values), "u", T))
    assert coded.basis.shapes.shape == (2, 60)
    np.testing.assert_allclose(coded.basis.shapes @ coded.basis.shapes.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(coded.basis.decode(coded.basis.encode(values)), values, atol=1e-12)
    assert coded.basis.noise.max() < 1e-24 and not coded.basis.smooth
    assert len(code_curves(listed_curves(list(values), "u", T), most=1).basis.shapes) == 1


def test_white_noise_is_no_shape():
    rng = np.random.default_rng(1)
    values = waves(80) + 0.02 * rng.normal(size=(80, 60))
    basis = code_curves(listed_curves(list(values), "u", T)).basis
    assert len(basis.shapes) == 2
    np.testing.assert_allclose(np.sqrt(basis.noise.mean()), 0.02, rtol=0.1)


def test_units_and_order_of_curves_do_not_matter():
    values = waves(25)
    mean, shapes = principal_curves(values, 12)
    moved, same = principal_curves(1e6 * values[::-1] + 5, 12)
    np.testing.assert_allclose(moved, 1e6 * mean + 5)
    np.testing.assert_allclose(np.abs((shapes * same).sum(axis=1)), 1.0)
    assert np.abs(left_over(values, 2, 0)).max() < 1e-12 < np.abs(left_over(values, 1, 0)).max()


def test_grids_of_their_own_give_the_same_curves():
    values, rng = waves(30), np.random.default_rng(2)
    own = []
    for curve in values:
        at = np.sort(np.concatenate([[0, 1], rng.uniform(0, 1, rng.integers(30, 60))]))
        a, b = np.linalg.lstsq(np.column_stack([np.sin(3 * T), T**2]), curve - 2, rcond=None)[0]
        own.append(np.column_stack([at, a * np.sin(3 * at) + b * at**2 + 2]))
    grid, found, noise, known, smooth = common_values(listed_curves(own, "u"))
    assert smooth and grid[0] == 0 and grid[-1] == 1
    basis = code_curves(listed_curves(own, "u")).basis
    assert len(basis.shapes) == 2
    there = basis.at(T)
    np.testing.assert_allclose(there.decode(basis.encode(found)), values, atol=1e-4)
    assert np.abs(noise).max() < 1e-3


def test_points_left_out_tell_kinks_from_noise():
    """Curves through their points where these are exact, splines near them where they are not."""
    rng, kinks, noisy = np.random.default_rng(5), [], []
    for _ in range(20):
        at = np.sort(np.concatenate([[0, 1], rng.uniform(0, 1, 60)]))
        kinks.append(np.column_stack([at, rng.uniform(1, 2) * np.abs(at - 0.4)]))
        noisy.append(np.column_stack([at, np.sin(3 * at) + 0.1 * rng.normal(size=62)]))
    grid, values, noise, _, smooth = common_values(listed_curves(kinks, "u"))
    assert not smooth and len(grid) > 150 and np.abs(noise).max() < 1e-12
    np.testing.assert_allclose(values, values.max(axis=1, keepdims=True) * np.abs(grid - 0.4) / 0.6, atol=0.1)
    grid, values, noise, _, smooth = common_values(listed_curves(noisy, "u"))
    assert smooth and np.abs(values - np.sin(3 * grid)).mean() < 0.06
    np.testing.assert_allclose(noise.std(), 0.1, rtol=0.2)


def test_guesses_between_the_points_of_a_curve_are_no_errors():
    """A corner falls between the points of each curve: what its pieces make of it says nothing about the model."""
    rng, corners = np.random.default_rng(5), []
    for size in rng.uniform(1, 2, 40):
        at = np.sort(np.concatenate([[0, 1], rng.uniform(0, 1, 20)]))
        corners.append(np.column_stack([at, size * np.minimum(8 * at, 1)]))
    given = listed_curves(corners, "u")
    grid, values, _, known, smooth = common_values(given)
    assert not smooth and known.shape == values.shape
    np.testing.assert_array_equal(known[3], corners[3][np.abs(corners[3][:, :1] - grid).argmin(axis=0), 0])
    rest, guessed = code_curves(given, most=1).rest, left_over(values, 1, 0)
    assert np.abs(rest).max(axis=1).mean() < 0.6 * np.abs(guessed).max(axis=1).mean()


def test_splines_fall_to_their_rate():
    """Cubic splines of a smooth function: a sixteenth of the error with twice the pieces, until it is tiny."""
    x = np.linspace(0, 1, 400)
    errors = []
    for pieces in (2, 4, 8):
        knots = np.concatenate([np.zeros(3), np.linspace(0, 1, pieces + 1), np.ones(3)])
        errors.append(np.abs(fit_spline(x, np.exp(x), knots)(x) - np.exp(x)).max())
    assert errors[0] / errors[1] > 8 and errors[1] / errors[2] > 8


def test_places_between_and_beyond():
    basis = CurveBasis(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 6.0]), np.eye(3)[1:2], np.ones(3), False)
    there = basis.at(np.array([0.5, 2.0]))
    assert there.mean.tolist() == [1.0, 4.0] and there.shapes.tolist() == [[0.5, 0.5]]
    with pytest.raises(InputError, match="The grid goes to 4, but the training curves from 0 to 3 only"):
        basis.at(np.array([1.0, 4.0]))


def test_curves_that_hardly_overlap_or_never_vary():
    one = [np.column_stack([np.linspace(a, a + 1, 9), np.arange(9.0)]) for a in (0, 0.8)]
    with pytest.raises(InputError, match="row 1 begins at 0.8 and row 0 ends at 1, so that all curves share less"):
        shared_range(listed_curves(one, "u"))
    # a polar whose solver stopped early: the rows without which the others share more are named
    polars = [
        np.column_stack([np.linspace(-4, end, 17), np.arange(17.0)]) for end in (12, 12, 1, 12, 11, 12, 3, *[12] * 5)
    ]
    with pytest.raises(InputError, match="without rows 2, 6 they share -4 to 11: leave them out, or give curves over"):
        shared_range(listed_curves(polars, "u"))
    with pytest.warns(GPWarning, match="from -4 to 7, which all curves share; without row 6 they share -4 to 12"):
        assert shared_range(listed_curves([*[polars[0]] * 6, polars[0][:12]], "u"))[0] == -4.0
    with pytest.raises(InputError, match="'u' is the same in all 6 rows"):
        code_curves(listed_curves([T] * 6, "u"))
