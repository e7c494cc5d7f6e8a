"""Numbers of curves, against closed forms."""

import numpy as np
import pytest

from swwl.errors import InputError
from swwl.regression.curves.numbers import NUMBERS, Crossing, asked_numbers, first_crossing, name_of, number_of

T = np.linspace(0, np.pi, 2001)


def test_numbers_of_a_sine():
    curves = np.stack([np.sin(T), -2 * np.sin(T)])
    expected = {"peak": [1, 0], "place_of_peak": [np.pi / 2, 0], "lowest": [0, -2], "integral": [2, -4]}
    for name, values in expected.items():
        np.testing.assert_allclose(number_of(name, T, curves), values, atol=1e-5)
    np.testing.assert_allclose(number_of("place_of_lowest", T, curves)[1], np.pi / 2, atol=1e-3)
    np.testing.assert_allclose(number_of(Crossing(0.5), T, curves), [np.pi / 6, np.nan], atol=1e-6)
    np.testing.assert_allclose(number_of(Crossing(-1.0), T, curves), [np.nan, np.pi / 6], atol=1e-6)


def test_shapes_are_those_of_the_curves():
    curves = np.zeros((2, 3, len(T)))
    for name in (*NUMBERS, Crossing(1.0)):
        assert number_of(name, T, curves).shape == (2, 3)
    assert np.isnan(first_crossing(T, curves, 1.0)).all()


def test_what_there_is_to_ask_for():
    assert asked_numbers("peak") == ["peak"] and name_of(Crossing(1e-3)) == "crossing_0.001"
    assert asked_numbers([Crossing(2.0), "integral"]) == [Crossing(2.0), "integral"]
    with pytest.raises(InputError, match="no number 'top' of curves; choose from peak"):
        asked_numbers("top")
    with pytest.raises(InputError, match="a number is expected"):
        Crossing(np.nan)
