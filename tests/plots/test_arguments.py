"""What displays take, and where they draw."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from swwl.errors import InputError
from swwl.gp.prediction import Prediction
from swwl.plots.arguments import as_prediction, as_truth
from swwl.plots.style import CYCLE, Display, axes_for, limits, new_figure, style, words


def test_means_and_deviations_are_a_normal_prediction():
    found = as_prediction([1.0, 2.0], std=0.5)
    lower, upper = found.interval(0.95)
    np.testing.assert_allclose(upper - lower, 2 * 1.959964 * 0.5, rtol=1e-6)
    two = Prediction(np.zeros((3, 2)), np.ones((3, 2)), 5.0)
    np.testing.assert_array_equal(as_prediction(two.column(1)).mean, two.mean[:, 1])
    with pytest.raises(InputError, match="holds 2 targets"):
        as_prediction(two)
    with pytest.raises(InputError, match="standard deviations"):
        as_prediction([1.0])
    with pytest.raises(InputError, match=r"both must be \(M,\)"):
        as_prediction([1.0, 2.0], std=[0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="there are 2 predictions"):
        as_truth([1.0], found)


def test_limits_hold_all_finite_values_with_room():
    low, high = limits([1.0, np.nan], [[3.0, np.inf]])
    assert (low, high) == pytest.approx((0.9, 3.1))
    assert limits([2.0]) == (1.0, 3.0)  # one value has room, too
    assert limits([np.nan]) == pytest.approx((-0.05, 1.05))


def test_long_names_keep_both_ends():
    assert words("max_von_mises") == "max_von_mises"
    short = words("left_" + 40 * "x" + "_right")
    assert len(short) <= 38 and short.startswith("left") and short.endswith("right") and "…" in short


class Line(Display):
    def __init__(self, n):
        self.n = n

    def _draw(self, ax):
        ax.plot(range(self.n), range(self.n))


def test_displays_draw_where_they_are_told_and_return_themselves():
    ax = Figure().subplots()
    assert axes_for(ax) is ax
    shown = Line(3).plot(ax)
    assert shown.ax_ is ax and shown.figure_ is ax.figure and not ax.lines[0].get_rasterized()
    assert Line(3000).plot(Figure().subplots()).ax_.lines[0].get_rasterized()  # too many for vectors


def test_the_style_ends_with_its_block():
    import matplotlib

    with matplotlib.rc_context({"axes.spines.top": True, "font.size": 20}):
        with style():
            assert not matplotlib.rcParams["axes.spines.top"] and matplotlib.rcParams["font.size"] == 9
        assert matplotlib.rcParams["axes.spines.top"] and matplotlib.rcParams["font.size"] == 20
    assert new_figure(3, 2).get_size_inches().tolist() == [3, 2] and len(set(CYCLE)) == len(CYCLE)
