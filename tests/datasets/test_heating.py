"""Plates that pipes warm up: physics, and the same seed gives the same plates."""

import numpy as np
from scipy.special import erfc

from swwl.datasets.heating import TIMES, make_heating, warmed


def strip(n):
    """A thin strip, of n cells along x, that is hot at x = 0."""
    x = np.linspace(0, 3, n + 1)
    points = np.vstack([np.column_stack([x, np.zeros(n + 1)]), np.column_stack([x, np.full(n + 1, 0.02)])])
    low = np.arange(n)
    triangles = np.vstack([np.c_[low, low + 1, low + n + 2], np.c_[low, low + n + 2, low + n + 1]])
    return points, triangles, np.array([0, n + 1]), x


def test_the_half_space_that_is_hot_at_its_end():
    """Far from the other end it is erfc(x / 2 sqrt(kappa t)), and errors fall with the square of the step."""
    errors = []
    for n in (60, 120):
        points, triangles, hot, x = strip(n)
        found = warmed(points, triangles, hot, np.empty((0, 2), int), 0.1, 1.0)[:, : n + 1]
        truth = erfc(x / (2 * np.sqrt(0.1 * TIMES[:, None])))
        errors.append(np.abs(found - truth)[4:].max())
    assert errors[1] < 0.002 and errors[1] < 0.4 * errors[0]


def test_temperatures_rise_and_stay_between_the_ends():
    table = make_heating(3, n_nodes=300, random_state=3)
    for series in table["mesh"]:
        values = series.fields["temperature"]
        assert values.min() >= -1e-3 and values.max() == 1.0
        assert (np.diff(values.mean(axis=1)) > 0).all()
        pipes = series.mesh.groups["pipes"].nodes
        assert (values[:, pipes] == 1).all()
    again = make_heating(2, n_nodes=300, random_state=3)
    np.testing.assert_array_equal(again["mesh"][1].fields["temperature"], table["mesh"][1].fields["temperature"])
    assert table["mesh"][0].mesh.n_nodes != table["mesh"][1].mesh.n_nodes
