"""Pictures of derivatives store the right numbers and draw them."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from swwl import SWWL, InputError, Matern52, Mesh, RobustGPRegressor
from swwl.plots import PushDisplay, SlopesDisplay
from swwl.plots.sensitivity import MOST
from swwl.regression.sensitivity import slope_table
from tests.helpers import SMALL

SQUARE = np.array([[0.0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]])
CELLS = [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    width, load = rng.uniform(1, 2, (2, 25))
    meshes = [Mesh(SQUARE * [w, 1.0], CELLS) for w in width]
    return pd.DataFrame({"mesh": meshes, "load": load, "weight": width * load})


@pytest.fixture(scope="module")
def model(table):
    return RobustGPRegressor(SWWL("mesh", **SMALL) * Matern52("load"), n_starts=1).fit(table[:24], "weight")


@pytest.fixture(scope="module")
def found(model, table):
    along = {"wider": SQUARE * [1.0, 0.0]}
    sensitivities = model.sensitivity(table[24:], along=along)
    return sensitivities, slope_table(model, table[24:], sensitivities, along)


def test_slopes_come_with_intervals_that_hold_the_truth(found, table):
    lines = found[1].set_index("what")
    width, load = np.ptp(table["mesh"][24].points[:, 0]) / 2, table["load"][24]
    assert lines.loc["wider", "lower95"] < load < lines.loc["wider", "upper95"]
    assert lines.loc["load", "lower95"] < width < lines.loc["load", "upper95"]
    assert lines.loc["load", "kind"] == "number" and lines.loc["wider", "kind"] == "displacement"
    assert lines.loc["load", "unit"] == pytest.approx(table["load"][:24].std(ddof=0))
    assert lines.loc["wider", "derivative"] == pytest.approx(load, rel=0.05)


def test_bars(found):
    display = SlopesDisplay(found[1], "weight").plot(Figure().subplots())
    spread = found[1].set_index("what").loc["load", "unit"]
    assert {text.get_text() for text in display.ax_.get_yticklabels()} == {f"load + {spread:.4g}", "wider"}
    assert len(display.ax_.patches) == 2
    display.figure_.savefig(io.BytesIO(), format="png")
    with pytest.raises(InputError, match="no derivatives to draw"):
        SlopesDisplay(found[1][:0])


def test_where_to_push(found):
    (own,) = found[0]
    display = PushDisplay(own, 0.2).plot(Figure().subplots())
    assert np.array_equal(display.density, own.normal_density(0.2, most=MOST))
    display.figure_.savefig(io.BytesIO(), format="png")
    assert "smoothed over 0.2" in display.ax_.get_title(loc="left")


def test_surfaces_are_seen_from_two_sides(found):
    box = Mesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], {"tetra": [[0, 1, 2, 3]]})
    own = replace(found[0][0], mesh=box, gradient=np.ones((4, 3)), movable=np.ones(4, bool))
    display = PushDisplay(own).plot(Figure().subplots())
    assert len(display.ax_.collections) == 2
    assert [text.get_text() for text in display.ax_.texts] == ["from the front", "from behind"]
    with pytest.raises(InputError, match="cells"):
        PushDisplay(replace(own, mesh=None))


def test_colors_are_not_those_of_a_few_sharp_edges(found):
    along = np.linspace(0.0, 1.0, 101)
    strip = Mesh(
        np.concatenate([np.column_stack([along, 0 * along]), np.column_stack([along, 1 + 0 * along])]),
        [[i, i + 1, i + 102] for i in range(100)] + [[i, i + 102, i + 101] for i in range(100)],
    )
    gradient = np.column_stack([np.zeros(202), np.r_[np.full(101, -0.01), np.full(101, 0.01)]])
    gradient[0] *= 3  # one spike, as normal_density leaves it
    own = replace(found[0][0], mesh=strip, gradient=gradient, movable=np.ones(202, bool))
    display = PushDisplay(own).plot(Figure().subplots())
    shown, largest = display.ax_.collections[0].norm.vmax, np.abs(display.density).max()
    assert np.median(np.abs(display.density)) <= shown < largest
    assert display.figure_.axes[-1].get_ylabel().endswith("per area swept")
