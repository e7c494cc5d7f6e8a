"""The check of derivatives that other tests rely on: it finds small mistakes, and does not hang on one step."""

import numpy as np
import pytest

from tests.helpers import assert_slope, central_slope


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_nearly_all_errors_are_below_their_estimates(scale, noise):
    rng = np.random.default_rng(0)
    x = np.linspace(-2, 2, 200)
    function = lambda h: scale * (np.exp(x + h) + noise * rng.normal(size=200))  # noqa: E731
    value, error = central_slope(function)
    assert (np.abs(value - scale * np.exp(x)) <= error + 1e-9 * scale).mean() > 0.95
    assert error.max() < 1e-6 * scale
    assert_slope(scale * np.exp(x), function, scale=scale)


@pytest.mark.parametrize("off", [1e-5, 1e-3, -1.0, np.nan])
@pytest.mark.parametrize("function", [np.exp, lambda h: np.array([np.sin(1 + h), 3 * h]), lambda h: abs(h + 3e-4) + h])
def test_wrong_derivatives_are_found(function, off):
    right = central_slope(function)[0]
    assert_slope(right, function)
    with pytest.raises(AssertionError, match="differences say"):
        assert_slope(right * (1 + off), function)


def test_differences_that_tell_nothing_are_no_proof():
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="no step will do"):
        assert_slope(1.0, lambda h: h + 1e-5 * rng.normal())
    with pytest.raises(AssertionError, match="no step will do"):
        assert_slope(1.0, lambda h: h + np.sqrt(max(h, 0.0)))
