"""Two branches: found where they are, refused where they are not, and predictions that say which."""

import warnings

import msgspec
import numpy as np
import pandas as pd
import pytest

from swwl import Matern52, RobustGPRegressor, load_model
from swwl.errors import InputError
from swwl.gp.carried import CarriedMoments
from swwl.gp.prediction import Prediction
from swwl.regression import fit_regimes
from swwl.regression.regimes import (
    branch_densities,
    conditioned,
    label_probability,
    label_slopes,
    mixed_slopes,
    split_rows,
    two_groups,
)
from swwl.regression.target_scale import TargetScale
from swwl.storage.modelfile import save_model
from tests.helpers import assert_slope

KERNELS = {"both": Matern52("a") * Matern52("b"), "first": Matern52("a")}


def flows(n=120, seed=0):
    """Return inputs, two targets and branches: for a between 0.3 and 0.7 either may be followed."""
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, n))
    second = a + 0.4 * (rng.random(n) - 0.5) > 0.5
    lift = np.where(second, 3.0 - a, 0.5 + a) + 0.2 * b + 0.02 * rng.normal(size=n)
    drag = np.where(second, 1.0 + b, 1.5 - a * b) + 0.02 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "lift": lift, "drag": drag}), second


@pytest.fixture(scope="module")
def model():
    table, _ = flows()
    return RobustGPRegressor(KERNELS, random_state=0).fit(table, ["lift", "drag"])


def test_branches_are_found_by_all_targets_together(model):
    _, second = flows()
    found = model.regimes_.to_numpy() == 2
    assert min((found != second).sum(), (found == second).sum()) <= 3
    assert (model.stack_.regimes.shares > 0.7).all()


@pytest.mark.parametrize("share", [0.88, 0.84, 0.7])
def test_branches_have_rows_enough_for_a_trend_of_many_columns(share):
    """Experts on a trend of nine columns and a constant need twelve rows; a smaller branch is left alone."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.uniform(size=(80, 2)), columns=["a", "b"])
    trend = pd.DataFrame(rng.uniform(size=(80, 9)), columns=[f"t{i}" for i in range(9)])
    y = np.where(table["a"] > share, 5 - table["b"], table["b"]) + 0.01 * rng.normal(size=80)
    options = {"regimes": "auto", "outliers": "keep", "n_starts": 1}
    model = RobustGPRegressor(KERNELS["both"], trend=list(trend), **options).fit(pd.concat([table, trend], axis=1), y)
    counts = model.regimes_.value_counts() if model.regimes_ is not None else pd.Series([80])
    assert counts.min() >= 12


def test_a_flag_of_the_branch_in_the_trend_needs_no_regimes():
    table, second = flows()
    table = table.drop(columns="drag").assign(flag=second * 1.0)
    options = {"regimes": "auto", "outliers": "keep", "n_starts": 1}
    assert RobustGPRegressor(KERNELS["both"], trend=["flag"], **options).fit(table, "lift").regimes_ is None


def test_branches_that_cannot_be_fitted_are_given_up(monkeypatch):
    def fails(*_):
        raise InputError("this branch has no process")

    monkeypatch.setattr(fit_regimes, "_fitted", fails)
    table, _ = flows()
    model = RobustGPRegressor(KERNELS, n_starts=1).fit(table[["a", "b", "lift"]], "lift")
    assert model.regimes_ is None and np.isfinite(model.predict(table)).all()


def test_predictions_are_better_than_those_of_one_process(model):
    table, _ = flows()
    new, _ = flows(300, seed=1)
    one = RobustGPRegressor(KERNELS, random_state=0, regimes="one").fit(table, ["lift", "drag"])
    assert one.regimes_ is None
    truth = new[["lift", "drag"]].to_numpy()
    told, plain = (m.predict_distribution(new, widen=False) for m in (model, one))
    gain = [
        (told.column(k).log_density(truth[:, k]) - plain.column(k).log_density(truth[:, k])).mean() for k in range(2)
    ]
    assert min(gain) > 0.5
    for k in range(2):
        pairs = list(zip(truth[:, k], told.column(k).sets(0.95), strict=True))
        assert 0.9 <= np.mean([any(one.lower <= y <= one.upper for one in case) for y, case in pairs]) <= 0.99
        lower, upper = plain.column(k).interval(0.95)
        lengths = [sum(one.upper - one.lower for one in case) for _, case in pairs]
        assert np.mean(lengths) < 0.6 * np.mean(upper - lower)
    errors = [np.mean((m.mean - truth) ** 2, axis=0) for m in (told, plain)]
    assert (errors[0] < 1.1 * errors[1]).all()


def test_a_case_in_between_has_two_intervals(model):
    cases = pd.DataFrame({"a": [0.05, 0.5, 0.95], "b": [0.5, 0.5, 0.5]})
    sets = model.predict_sets(cases)
    lift = sets[sets["target"] == "lift"].groupby("row").size()
    assert lift.tolist() == [1, 2, 1]
    two = sets[(sets["target"] == "lift") & (sets["row"] == 1)]
    assert two["lower"].iloc[0] < 1.1 < two["upper"].iloc[0] < two["lower"].iloc[1] < 2.6 < two["upper"].iloc[1]
    assert two["probability"].between(0.2, 0.8).all()


@pytest.mark.parametrize("seed", range(3))
def test_smooth_functions_have_one(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.random(80), "b": rng.random(80)})
    table["y"] = np.sin(5 * table["a"]) + table["b"] ** 2 + 0.05 * rng.normal(size=80)
    model = RobustGPRegressor(KERNELS).fit(table, "y")
    assert model.regimes_ is None
    plain = RobustGPRegressor(KERNELS, regimes="one").fit(table, "y")
    np.testing.assert_array_equal(model.predict(table[:5]), plain.predict(table[:5]))


def test_order_of_rows_does_not_matter_to_the_branches():
    table, _ = flows(80, seed=2)
    correlation = np.exp(-np.square(table[["a"]].to_numpy() - table["a"].to_numpy()) / 0.1)
    y = table[["lift", "drag"]].to_numpy()
    residuals = (y - y.mean(axis=0)) / y.std(axis=0)
    found = split_rows([correlation] * 2, [0.05] * 2, y, residuals)
    order = np.random.default_rng(0).permutation(80)
    other = split_rows([correlation[np.ix_(order, order)]] * 2, [0.05] * 2, y[order], residuals[order])
    assert (other.second == found.second[order]).all()
    assert other.evidence == pytest.approx(found.evidence)


def test_rows_left_out_by_formula_are_those_left_out():
    rng = np.random.default_rng(0)
    x, y = rng.random(12), rng.normal(size=12)
    correlation, rows = np.exp(-np.abs(x[:, None] - x)), np.arange(12) < 9
    told = conditioned(correlation, y, rows, 0.1)
    for i in range(9):  # variance aside, a row left out is predicted as one that never was in
        less = rows & (np.arange(12) != i)
        assert conditioned(correlation, y, less, 0.1).mean[i] == pytest.approx(told.mean[i])
    densities, evidence = branch_densities([correlation], [0.1], y[:, None], y > 0, correlation)
    assert densities.shape == (12, 2) and np.isfinite(evidence)


def test_models_come_back_as_they_were(model, tmp_path):
    save_model(tmp_path / "two.swwl", model)
    again = load_model(tmp_path / "two.swwl")
    new, _ = flows(20, seed=3)
    for one, other in zip(model.predict_interval(new), again.predict_interval(new), strict=True):
        np.testing.assert_array_equal(one, other)
    pd.testing.assert_frame_equal(model.predict_sets(new), again.predict_sets(new))
    left = [m.leave_one_out().interval(0.9)[0] for m in (model, again)]
    np.testing.assert_array_equal(*left)
    np.testing.assert_array_equal(model.regimes_, again.regimes_)


@pytest.mark.parametrize("spoil", ["shares", "second", "experts", "base"])
def test_spoiled_regimes_are_refused(model, spoil):
    state = msgspec.structs.asdict(model.get_state())
    regimes = msgspec.structs.asdict(state["regimes"])
    state["regimes"] = regimes
    changes = {"shares": regimes["shares"] + 1.0, "second": ~regimes["second"], "experts": [], "base": 9}
    RobustGPRegressor.from_state(state)
    with pytest.raises(InputError, match="regimes"):
        RobustGPRegressor.from_state(state | {"regimes": regimes | {spoil: changes[spoil]}})


def test_samples_and_covariances_are_those_of_the_mixture(model):
    cases = pd.DataFrame({"a": [0.1, 0.5, 0.52, 0.9], "b": [0.3, 0.5, 0.5, 0.7]})
    drawn = model.sample(cases, 4000, random_state=0, include_nugget=True)
    told = model.predict_distribution(cases, widen=False)
    np.testing.assert_allclose(drawn.mean(axis=0), told.mean, atol=0.06)
    np.testing.assert_allclose(drawn.std(axis=0), told.std, rtol=0.15, atol=0.01)
    mean, cov = model.predict(cases, return_cov=True, widen=False)
    np.testing.assert_allclose(mean, told.mean)
    np.testing.assert_allclose(np.sqrt(np.einsum("kaa->ak", cov)), told.std, rtol=0.02)
    assert all(np.linalg.eigvalsh(one).min() > -1e-9 for one in cov)


@pytest.mark.parametrize("target_scale", ["identity", "log"])
def test_gradients_are_those_of_differences(target_scale):
    table, _ = flows(130, seed=4)
    model = RobustGPRegressor(KERNELS, target_scale=target_scale).fit(table, ["lift", "drag"])
    assert model.regimes_ is not None
    case = pd.DataFrame({"a": [0.47], "b": [0.4]})
    found = model.sensitivity(case, std=True)
    for name in ("a", "b"):

        def told(h, name=name):
            moved = model.predict_distribution(case.assign(**{name: case[name] + h}), widen=False)
            return np.array([moved.mean[0], moved.std[0]])

        assert_slope([[one.inputs[name] for one in found], [one.std.inputs[name] for one in found]], told, 1e-4, 1e-6)


def test_slopes_of_labels_and_mixtures_by_differences():
    def whole(m, s, location):
        label = Prediction.from_std(np.array([m]), np.array([s]), 9.0)
        scale = TargetScale("log")
        parts = [CarriedMoments.of(scale, location + shift, 0.1 + shift, 9.0, 1.3) for shift in (0.0, 0.1, 0.4)]
        return mixed_slopes(parts, 0.8, label), label

    found, label = whole(0.3, 0.9, 0.2)
    up, down = whole(0.3 + 1e-6, 0.9, 0.2)[0], whole(0.3 - 1e-6, 0.9, 0.2)[0]
    np.testing.assert_allclose(found.of_parts[3][:, 0], [(up[i] - down[i]) / 2e-6 for i in range(2)], rtol=1e-5)
    up, down = whole(0.3, 0.9, 0.2 + 1e-6)[0], whole(0.3, 0.9, 0.2 - 1e-6)[0]
    along = sum(part[:, 0] for part in found.of_parts[:3])
    np.testing.assert_allclose(along, [(up[i] - down[i]) / 2e-6 for i in range(2)], rtol=1e-5)
    sure = Prediction.from_std(np.array([50.0]), np.array([1.0]), 9.0)
    assert label_probability(sure) == [0.99] and not np.any(label_slopes(sure))
    assert 0.5 < label_probability(label)[0] < 1


def test_words_and_few_rows():
    table, _ = flows(40)
    with pytest.raises(InputError, match="regimes is 'two', but 'auto' or 'one' is expected"):
        RobustGPRegressor(KERNELS, regimes="two").fit(table, "lift")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert RobustGPRegressor(KERNELS).fit(table, "lift").regimes_ is None
    assert fit_regimes.FEWEST > 40
    assert two_groups(np.array([0.0, 0.1, 1.0])).tolist() == [False, False, True]
