"""Costs of levels of fidelity."""

import numpy as np
import pandas as pd
import pytest

from swwl import InputError, RobustGPRegressor
from swwl.design import suggest
from swwl.design.levels import LevelPool, choose_levels
from tests.regression.together.test_fit import NEW, levels_table


@pytest.fixture(scope="module")
def model():
    return RobustGPRegressor().fit(levels_table(25, 12), "y", fidelity="level")


def test_a_run_takes_away_what_formulas_say():
    c_h, c_d, rho = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[0.2, 0.1], [0.1, 0.2]]), 2.0
    whole = np.zeros((2, 2, 2, 2))
    whole[0, :, 0], whole[0, :, 1], whole[1, :, 0], whole[1, :, 1] = rho**2 * c_h + c_d, rho * c_h, rho * c_h, c_h
    pool = LevelPool(whole, np.array([0.0, 0.1]))
    weights = np.array([0.5, 0.5])
    gains = pool.gains(weights)
    assert gains[0, 0] == pytest.approx(0.5 * (4.2**2 + 2.1**2) / 4.2)
    assert gains[1, 0] == pytest.approx(0.5 * (2.0**2 + 1.0**2) / 1.1)
    pool.settle(0, 0)
    assert np.diag(pool.covariance[0, :, 0]) == pytest.approx([0.0, 4.2 - 2.1**2 / 4.2], abs=1e-12)
    for cost, level in ((1.1, 0), (9.0, 1)):  # the good level is worth it, or not
        chosen, _, _ = choose_levels(LevelPool(whole, pool.noise), ["y", "h"], np.array([cost, 1.0]), weights, 1,
                                     np.zeros((2, 2), bool))  # fmt: skip
        assert chosen[0][0] == level


def test_cheap_runs_are_proposed_where_good_ones_are_dear(model):
    dear = suggest(model, NEW, 6, costs={"coarse": 1, "fine": 100})
    same = suggest(model, NEW, 6, costs={"coarse": 20, "fine": 1})
    assert set(dear["level"]) == {"coarse"} and set(same["level"]) == {"fine"}
    assert (np.diff(same["score"]) <= 1e-12).all() and "fine: removes" in same["why"][0]


def test_training_cases_are_not_proposed_again(model):
    known = levels_table(25, 12)[["a", "b"]][25:]
    found = suggest(model, pd.concat([known, NEW[:2]], ignore_index=True), 2, costs={"coarse": 1, "fine": 1})
    assert found.attrs["fitted"] == 12 and not set(found["row"][found["level"] == "fine"]) & set(range(12))


BAD = {
    "There is no level 'best'": {"coarse": 1, "best": 2},
    "The cost of level 'fine' is missing": {"coarse": 1},
    "a positive number is expected": {"coarse": 1, "fine": 0},
}


@pytest.mark.parametrize("words", BAD)
def test_bad_costs_are_one_clear_line(model, words):
    with pytest.raises(InputError, match=words):
        suggest(model, NEW, 2, costs=BAD[words])


def test_costs_are_for_learning_with_levels(model):
    with pytest.raises(InputError, match="for the goal learn"):
        suggest(model, NEW, 1, goal="maximize", costs={"coarse": 1, "fine": 2})
    alone = RobustGPRegressor().fit(levels_table()[60:].drop(columns="level"), "y")
    with pytest.raises(InputError, match="fitted without any"):
        suggest(alone, NEW, 1, costs={"coarse": 1, "fine": 2})
