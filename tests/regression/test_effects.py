"""Shares of the variance: closed forms of additive and of multiplied inputs, and what they do not depend on."""

import numpy as np
import pandas as pd
import pytest

from swwl import Elliptic, Matern52, RobustGPRegressor
from swwl.regression.effects import variance_shares


def table(n=150, seed=0):
    x = np.random.default_rng(seed).uniform(-1, 1, (n, 3))
    columns = dict(zip("abc", x.T, strict=True))
    return pd.DataFrame(columns | {"sum": 3 * x[:, 0] + x[:, 1], "product": x[:, 0] * x[:, 1]})


@pytest.fixture(scope="module")
def model():
    kernel = Elliptic("a", "b", "c", correlation="gaussian")
    return RobustGPRegressor(kernel, calibrate=False).fit(table(), ["sum", "product"])


def test_they_are_those_of_the_closed_forms(model):
    found = model.variance_shares()
    shares = found.pivot(index="target", columns="input", values="share")
    np.testing.assert_allclose(
        shares.loc["sum"], [0.9, 0.1, 0.0], atol=0.15
    )  # columns of 150 rows go together a little
    assert shares.to_numpy().max() <= 1.0
    np.testing.assert_allclose(shares.loc["product"], [1.0, 1.0, 0.0], atol=0.25)  # each takes all of it along
    assert (found["error"] < 0.1).all()
    pd.testing.assert_frame_equal(found, variance_shares(model.stack_, 150))


def test_a_long_range_is_not_a_small_share():
    """A straight line has a long range, and may be all there is."""
    frame = table()
    frame["y"] = 5 * frame["a"] + 0.3 * np.sin(12 * frame["b"])
    found = RobustGPRegressor(Elliptic("a", "b")).fit(frame[["a", "b", "y"]], "y")
    shares = found.variance_shares().set_index("input")["share"]
    assert shares["a"] > 0.9 > 0.1 > shares["b"]


def test_units_and_trends_do_not_count(model):
    frame = table()
    scaled = frame.assign(a=1000 * frame["a"] + 5, sum=-7 * frame["sum"])
    kernel = Elliptic("a", "b", "c", correlation="gaussian")
    other = RobustGPRegressor(kernel, calibrate=False).fit(scaled, ["sum", "product"])
    np.testing.assert_allclose(other.variance_shares()["share"], model.variance_shares()["share"], atol=1e-3)
    straight = RobustGPRegressor(Matern52("a") * Matern52("b"), trend="linear", calibrate=False)
    bent = frame[["a", "b"]].assign(y=frame["sum"] + 0.1 * np.sin(3 * frame["a"]))
    np.testing.assert_allclose(straight.fit(bent, "y").variance_shares()["share"], [0.9, 0.1], atol=0.15)
    moved = frame[["a", "c"]].assign(y=np.sin(3 * frame["a"]) + 3 * frame["c"])
    elsewhere = RobustGPRegressor(Matern52("a"), trend=["c"], calibrate=False).fit(moved, "y").variance_shares()
    assert elsewhere["input"].tolist() == ["a", "c"] and elsewhere["share"][1] > 3 * elsewhere["share"][0]
