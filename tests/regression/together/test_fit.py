"""Levels of fidelity, and targets with missing cells, from the table to the model file."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from swwl import Graph, InputError, Matern52, RobustGPRegressor, load_model
from swwl.evaluation.scores import score_rows
from swwl.regression.one_mesh import OneMesh
from swwl.regression.together.chain import free_name
from swwl.regression.together.fit import missing_cells
from swwl.regression.together.joined import JoinedStack, with_df
from swwl.regression.together.levels import of_level, read_levels
from swwl.regression.together.state import ChainState

pytestmark = pytest.mark.filterwarnings("ignore::swwl.errors.CaseWarning")


def cheap(x):
    return np.sin(5 * x[:, 0]) + x[:, 1] ** 2


def good(x):
    return 1.5 * cheap(x) + 0.3 * x[:, 1] + 0.1


def inputs(n, seed=0):
    return pd.DataFrame(np.random.default_rng(seed).uniform(size=(n, 2)), columns=["a", "b"])


def levels_table(n_cheap=60, n_good=15):
    table = inputs(n_cheap + n_good)
    x, level = table.to_numpy(), ["coarse"] * n_cheap + ["fine"] * n_good
    return table.assign(level=level, y=np.where(np.array(level) == "fine", good(x), cheap(x)))


def missing_table(n=60, known=15):
    table = inputs(n)
    x = table.to_numpy()
    table = table.assign(h=cheap(x), y=good(x), z=np.cos(9 * x[:, 0] * x[:, 1]))
    table.loc[known:, "y"] = np.nan
    return table


@pytest.fixture(scope="module")
def fidelity():
    return RobustGPRegressor().fit(levels_table(), "y", fidelity="level")


@pytest.fixture(scope="module")
def sparse():
    return RobustGPRegressor().fit(missing_table(), ["y", "h", "z"])


NEW = inputs(100, seed=5)


def error(model, k=None):
    mean = model.predict(NEW, widen=False)
    return float(np.sqrt(np.mean(((mean if k is None else mean[:, k]) - good(NEW.to_numpy())) ** 2)))


def test_cheap_rows_help_and_folds_say_so(fidelity):
    alone = RobustGPRegressor().fit(levels_table()[60:].drop(columns="level"), "y")
    assert error(fidelity) < 0.4 * error(alone)
    (row,) = fidelity.together_.to_dict("records")
    assert row["used"] and row["slope"] == pytest.approx(1.5, abs=0.05)
    assert (row["target"], row["helper"], row["rows"], row["helper_rows"]) == ("fine", "coarse", 15, 60)
    assert row["error_together"] < 0.5 * row["error_alone"]
    assert "fine (15 rows) is helped by coarse (60 rows)" in fidelity.chain_.told[0].words
    assert list(fidelity.feature_names_in_) == ["a", "b"] and fidelity.train_targets_.shape == (15, 1)


def test_a_complete_target_helps_one_with_missing_cells(sparse):
    alone = RobustGPRegressor().fit(missing_table()[["a", "b", "y"]].dropna(), "y")
    assert error(sparse, 0) < 0.4 * error(alone)
    row = sparse.together_.set_index("target").loc["y"]
    assert row["used"] and row["helper"] == "h" and row["slope"] == pytest.approx(1.5, abs=0.05)
    assert isinstance(sparse.stack_, JoinedStack)


def test_intervals_hold(fidelity, sparse):
    truth = good(NEW.to_numpy())
    for lower, upper in (fidelity.predict_interval(NEW), (bound[:, 0] for bound in sparse.predict_interval(NEW))):
        assert np.mean((lower <= truth) & (truth <= upper)) > 0.85


@pytest.mark.filterwarnings("ignore::swwl.errors.GPWarning")
@pytest.mark.parametrize("together", ["auto", False])
def test_a_level_that_says_nothing_is_not_used(together):
    table = levels_table()
    table.loc[:59, "y"] = np.random.default_rng(0).permutation(table["y"][:60])
    model = RobustGPRegressor(targets_together=together).fit(table, "y", fidelity="level")
    alone = RobustGPRegressor(targets_together=together).fit(table[60:].drop(columns="level"), "y")
    assert not model.together_["used"].any() and "is learned alone" in model.chain_.told[0].words
    assert (model.predict(NEW) == alone.predict(NEW)).all()


def test_helpers_are_judged_by_folds_where_intervals_are_not_calibrated():
    """Leave-one-out predictions of ten rows whose ranges have seen them cannot tell a helper from noise."""
    table = levels_table(n_cheap=30, n_good=12)
    plain, whole = (RobustGPRegressor(Matern52("a") * Matern52("b"), calibrate=is_on) for is_on in (False, True))
    told = [model.fit(table, "y", fidelity="level").chain_.told for model in (plain, whole)]
    assert told[0] == told[1] and told[0][0].used
    assert (plain.stack_.widths == 1).all() and not plain.chain_.parts[0].calibrate
    np.testing.assert_allclose(plain.predict(NEW), whole.predict(NEW), rtol=1e-9)


def test_the_order_of_rows_does_not_matter(fidelity):
    shuffled = levels_table().sample(frac=1, random_state=0)
    other = RobustGPRegressor().fit(shuffled, "y", fidelity="level")
    assert error(other) < 0.5 * error(RobustGPRegressor().fit(levels_table()[60:].drop(columns="level"), "y"))
    assert other.together_["slope"][0] == pytest.approx(fidelity.together_["slope"][0], abs=0.02)


def test_levels_may_be_numbers_in_any_order_and_three():
    table = inputs(70)
    x = table.to_numpy()
    level = np.repeat([1, 2, 3], [40, 20, 10])
    answers = [cheap(x), 1.2 * cheap(x) + 0.1 * x[:, 0], good(x)]
    table = table.assign(level=level, y=np.select([level == 1, level == 2, level == 3], answers))
    model = RobustGPRegressor().fit(table, "y", fidelity="level")
    assert model.chain_.names() == ["1", "2", "3"] and model.together_["used"].tolist() == [True, True]
    assert error(model) < 0.05
    assert model.stack_.link.helper.link is not None


@pytest.mark.parametrize("which", ["fidelity", "sparse"])
def test_a_model_file_holds_all(which, request, tmp_path):
    model = request.getfixturevalue(which)
    model.metadata_ = {"note": "mine"}
    model.save(tmp_path / "m.swwl")
    back = load_model(tmp_path / "m.swwl")
    for one, other in zip(model.predict(NEW, return_std=True), back.predict(NEW, return_std=True), strict=True):
        assert (one == other).all()
    assert back.together_.equals(model.together_) and back.target_names_ == model.target_names_
    assert back.domain(NEW).equals(model.domain(NEW)) and back.metadata_ == {"note": "mine"}
    assert (back.leave_one_out().mean == model.leave_one_out().mean).all()
    assert (back.sample(NEW[:3], 2, random_state=0) == model.sample(NEW[:3], 2, random_state=0)).all()
    back.save(tmp_path / "again.swwl")
    assert (tmp_path / "again.swwl").read_bytes() == (tmp_path / "m.swwl").read_bytes()


HOSTILE = {
    "a helper that comes later": ("fidelity", lambda state: state["links"][1].update(helper=1)),
    "a helper through another column": ("fidelity", lambda state: state["links"][1].update(column="other")),
    "too few links": ("fidelity", lambda state: state["links"].pop()),
    "a slope that is not a number": ("fidelity", lambda state: state["links"][1].update(slope="steep")),
    "targets of others": ("sparse", lambda state: state["joined"].update(targets=["y", "h", "q"])),
    "a base that is not there": ("sparse", lambda state: state["joined"].update(base=7)),
    "no rows": ("sparse", lambda state: state["joined"].update(rows=[])),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_states_are_refused(what, request):
    which, spoil = HOSTILE[what]
    model = request.getfixturevalue(which)
    assert isinstance(model.get_state(), ChainState)
    state = plain(model.get_state())
    RobustGPRegressor.from_state(state)
    spoil(state)
    with pytest.raises(InputError):
        RobustGPRegressor.from_state(state)


def plain(value):
    """Return a state as a file gives it back."""
    if hasattr(value, "__struct_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def test_missing_cells_are_scored_where_they_are_known(sparse):
    assert sparse.counted(0).sum() == 15 and sparse.counted(1).all()
    assert {row["target"]: row["n"] for row in score_rows(sparse)} == {"y": 15, "h": 60, "z": 60}
    rows, told = sparse.cross_validation()
    assert len(rows) == 60 and np.isfinite(told.mean).all() and np.isnan(sparse.train_targets_).sum() == 45
    assert set(sparse.spreadsheet()["target"]) == {"y", "h", "z"}
    assert sparse.importance_.shape == (2, 3) and sparse.variance_shares() is None


def test_targets_go_together_as_their_errors_do(sparse):
    correlation = sparse.target_correlation_
    assert correlation.loc["y", "h"] > 0.5
    draws = sparse.sample(NEW[:2], 3000, random_state=0)
    assert np.corrcoef(draws[:, 0].T)[0, 1] == pytest.approx(correlation.iloc[0, 1], abs=0.1)
    covariance = sparse.target_covariance(NEW[:4])
    assert np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)) == pytest.approx(sparse.predict(NEW[:4], True)[1])


def test_joint_covariances_and_degrees_of_freedom(sparse):
    mean, cov = sparse.predict(NEW[:3], return_cov=True)
    assert mean.shape == (3, 3) and cov.shape == (3, 3, 3)
    assert np.sqrt(np.diagonal(cov, axis1=1, axis2=2)).T == pytest.approx(sparse.predict(NEW[:3], True)[1], rel=1e-6)
    part = sparse.chain_.parts[-1].predict_distribution(NEW[:3])
    assert with_df(part, 7.0).std == pytest.approx(part.std) and with_df(part, 7.0).df == 7.0


def test_one_mesh_is_embedded_once_for_all_targets():
    rng = np.random.default_rng(0)
    lengths = rng.uniform(1, 2, 30)
    table = pd.DataFrame(
        {"rod": [Graph([[0.0], [length]], [(0, 1)]) for length in lengths], "load": rng.uniform(size=30)}
    )
    table["h"] = lengths**2 + table["load"]
    table["y"] = np.where(np.arange(30) < 10, 2 * table["h"] + 0.1 * lengths, np.nan)
    model = RobustGPRegressor(targets_together=True, calibrate=False).fit(table, ["h", "y"])
    one = OneMesh.of(model, {"rod": table["rod"][3]})
    assert (one.represent(table[["load"]][3:4]).n, model.together_["used"].tolist()) == (1, [True])
    case = table[["rod", "load"]][3:4]
    found = model.predict_represented(one.represent(case[["load"]]))
    assert found.mean == pytest.approx(model.predict(case), rel=1e-9)


BAD = {
    "one level": (lambda: levels_table().assign(level="fine"), "level", "has one level of fidelity, fine"),
    "two rows of a level": (lambda: levels_table(20, 2), "level", "Level 'fine' of 'level' has 2 rows, but at least 5"),
    "no such column": (levels_table, "quality", "fidelity needs column 'quality'"),
    "as many rows each": (lambda: levels_table(10, 10), "level", "say which is best"),
    "another order": (levels_table, {"level": ["coarse", "best"]}, "orders the levels coarse, best, but"),
    "not an order": (levels_table, {"level": "coarse"}, "fidelity must be a column"),
    "too many": (lambda: levels_table().assign(level=inputs(75)["a"].round(2)), "level", "at most 5"),
    "a missing level": (lambda: levels_table().assign(level=["a", None, "b"] * 25), "level", "is missing in 25 rows"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_levels_are_one_clear_line(what):
    table, fidelity, words = BAD[what]
    with pytest.raises(InputError, match=words) as caught:
        RobustGPRegressor().fit(table(), "y", fidelity=fidelity)
    assert "\n" not in str(caught.value)


def test_targets_that_cannot_be_learned_are_one_clear_line():
    table = missing_table()
    for values, words in ((np.nan, "'y' is missing in all rows"), (1.0, "'y' is 1 in all")):
        table["y"] = np.where(np.arange(60) < 20, values, np.nan)
        with pytest.raises(InputError, match=words):
            RobustGPRegressor().fit(table, ["y", "h"])
    table["y"] = np.where(np.arange(60) < 3, 1.0, np.nan)
    with pytest.raises(InputError, match="all but 3 of 60 rows"):
        RobustGPRegressor().fit(table, ["y", "h"])
    with pytest.raises(InputError, match="not finite in 57 of 60 rows"):
        RobustGPRegressor().fit(table[["a", "b", "y"]], "y")  # one target has nobody to help it
    with pytest.raises(InputError, match="targets_together must be"):
        RobustGPRegressor(targets_together="maybe").fit(table, "h")
    with pytest.raises(InputError, match="one target at a time"):
        RobustGPRegressor().fit(levels_table().assign(q=range(75)), ["y", "q"], fidelity="level")


def test_levels_are_read_as_they_are_written():
    table = pd.DataFrame({"level": [2, 1, 2.0, 1, 2, 1, 1, 2, 1, 2]})
    assert read_levels(table, "level").names == ["1", "2"]
    assert of_level(table["level"], "2").sum() == 5
    assert not missing_cells(table, ["level"]) and free_name("level", table.columns) == "level (helper)"


def test_a_file_says_which_level_is_predicted(fidelity, tmp_path):
    fidelity.save(tmp_path / "m.swwl")
    with zipfile.ZipFile(tmp_path / "m.swwl") as archive:
        manifest = json.loads(archive.read(archive.namelist()[0]))
    assert (manifest["level"], manifest["best"]) == ("level", "fine")
