"""Designs for given conditions: candidates are judged there, and so is what is known."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from swwl import InputError, Matern52, RobustGPRegressor
from swwl.design import suggest
from swwl.design.acquire import improvement_of
from swwl.design.pool import Pool, at_conditions, check_conditions, outside_notes
from swwl.errors import CaseWarning
from swwl.kernels import Categories


def make_table(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.uniform(0, 1, n), "force [N]": 10 ** rng.uniform(1, 3, n)})
    table["kind"] = pd.Categorical(rng.choice(["steel", "tin"], n))
    sag = table["force [N]"] * (1.0 + (table["a"] - 0.3) ** 2)
    return table.assign(sag=np.where(table["kind"] == "tin", 2 * sag, sag), mass=table["a"])


TABLE, POOL = make_table(60, 0), make_table(30, 1).drop(columns=["sag", "mass"])


@pytest.fixture(scope="module")
def model():
    kernel = Matern52("a") * Matern52("force [N]") * Categories("kind")
    return RobustGPRegressor(kernel, target_scale="log").fit(TABLE.drop(columns="mass"), "sag")


def fixed(table, **values):
    return table.assign(**{"force [N]": values.get("force", 500.0)}, kind=values.get("kind", "steel"))


AT = {"force": 500, "kind": "steel"}


def test_candidates_and_training_cases_are_taken_there(model):
    pool = Pool(model, POOL, at=check_conditions(model, AT))
    assert_array_equal(pool.mean, Pool(model, fixed(POOL)).mean)
    there = model.predict(fixed(TABLE), include_nugget=False, widen=False)
    assert_allclose(pool.answers[:, 0], there, rtol=1e-9)
    assert Pool(model, POOL).answers is model.train_targets_
    assert_array_equal(at_conditions(POOL[["a"]], model, {"force [N]": 500.0})["force [N]"], 500.0)


@pytest.mark.parametrize("goal", ["learn", "minimize"])
def test_the_values_of_the_pool_do_not_matter(model, goal):
    with_at = suggest(model, POOL, 3, goal, at=AT)
    assert_array_equal(suggest(model, POOL[["a"]], 3, goal, at=AT)["row"], with_at["row"])
    if goal == "learn":
        assert_array_equal(suggest(model, fixed(POOL), 3, goal)["row"], with_at["row"])


def test_improvement_is_that_over_the_best_case_there(model):
    """The least load of the training cases has the least answer, which no shape reaches under a larger one."""
    found = suggest(model, POOL, 1, "minimize", at=AT).iloc[0]
    pool = Pool(model, POOL, at=check_conditions(model, AT))
    gains = improvement_of(pool.believed(0), -float(pool.answers.min()), -1.0)
    assert found["row"] == gains.argmax() and found["score"] == pytest.approx(gains.max())
    assert found["score"] > 0 and "best training case there" in found["why"]
    assert abs(POOL["a"][found["row"]] - 0.3) < 0.15
    plain = suggest(model, fixed(POOL), 1, "minimize").iloc[0]
    assert plain["score"] < 1e-3 * found["score"] and "best so far" in plain["why"]


def test_constraints_are_judged_there():
    two = RobustGPRegressor(Matern52("a") * Matern52("force [N]"), calibrate=False).fit(
        TABLE[TABLE["kind"] == "steel"].drop(columns="kind"), ["sag", "mass"]
    )
    found = suggest(two, POOL[["a"]], 1, "minimize:mass", at={"force": 300}, constraints={"sag": (None, 320.0)})
    shape = float(POOL["a"][found["row"].iloc[0]])
    assert 300 * (1 + (shape - 0.3) ** 2) < 330  # whatever the loads of the training cases were


def test_columns_of_the_trend_are_conditions_too():
    trend = RobustGPRegressor(Matern52("a"), trend=["force [N]"], calibrate=False)
    trend.fit(TABLE.assign(y=TABLE["a"] ** 2 + TABLE["force [N]"])[["a", "force [N]", "y"]], "y")
    for at, other in (({"force": 300}, "a"), ({"a": 0.5}, "force [N]")):
        checked = check_conditions(trend, at)
        found = Pool(trend, POOL[["a", "force [N]"]], at=checked)
        assert_allclose(found.answers[:, 0], trend.predict(TABLE[[other]].assign(**checked), include_nugget=False))
        assert len(suggest(trend, POOL, 2, "maximize", at=at)) == 2


def test_what_is_not_an_input_is_refused(model):
    for at, said in [
        ({"speed": 1.0}, r"no input 'speed' to fix; it has: a, force \[N\], kind"),
        ({"sag": 1.0}, "no input 'sag'"),
        ({"a": "big"}, "a is fixed at 'big', but a number is expected"),
        ({"a": np.nan}, "a number is expected"),
        ({"kind": "wood"}, "kind is fixed at 'wood', but it is one of steel, tin"),
        ({"force": 1.0, "force [N]": 2.0}, "fixed twice"),
    ]:
        with pytest.raises(InputError, match=said):
            suggest(model, POOL, 1, at=at)
    assert check_conditions(model, {}) == {}


def test_values_outside_the_training_range_are_told(model):
    (note,) = outside_notes(model, check_conditions(model, {"force": 5000, "a": 0.5, "kind": "tin"}))
    assert note.startswith("force [N] = 5000 is outside the training range, 10") and "nothing has been tested" in note
    with pytest.warns(CaseWarning, match="outside the training range"):
        suggest(model, POOL, 1, at={"force": 5000})
