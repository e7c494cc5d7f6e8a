"""CurveRegressor: curves of new cases."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from swwl import CurveRegressor, Matern52, RobustGPRegressor, load_model
from swwl.design import suggest
from swwl.errors import CaseWarning, GPWarning, InputError
from swwl.regression.curves.estimator import left_out_coefficients
from swwl.regression.curves.numbers import Crossing

T = np.linspace(0, 1, 31)
KERNEL = Matern52("rate") * Matern52("size")


def warming(rate, size, t=T):
    return size * (1 - np.exp(-rate * t))


def make_table(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"rate": rng.uniform(1, 4, n), "size": rng.uniform(1, 2, n)})
    return table.assign(u=[warming(*row) for row in table.to_numpy()])


def quick(**options):
    return CurveRegressor(RobustGPRegressor(KERNEL, n_starts=1), **options)


@pytest.fixture(scope="module")
def table():
    return make_table(60)


@pytest.fixture(scope="module")
def model(table):
    return quick().fit(table[:40], "u", grid=T)


def test_new_curves_are_those_of_the_closed_form(table, model):
    truth = np.stack(table["u"][40:])
    mean, std = model.predict(table[40:], return_std=True)
    assert mean.shape == std.shape == (20, 31)
    assert np.abs(mean - truth).max() < 0.02
    assert (std[:, 1:] > 0).all()
    lower, upper = model.predict_interval(table[40:], 0.9)
    wide = model.predict_interval(table[40:], 0.9, simultaneous=True)
    assert (wide[0] <= lower + 1e-12).all() and (wide[1] >= upper - 1e-12).all()
    assert ((wide[0] - 1e-9 <= truth) & (truth <= wide[1] + 1e-9)).all(axis=1).mean() >= 0.75
    assert model.cross_validated().loc[0, "q2"] > 0.99
    assert model.grid_.tolist() == T.tolist() and model.form_ == "arrays" and model.target_names_ == ["u"]


def test_other_places_and_batches(table, model):
    rows = table[40:45]
    whole = model.predict(rows)
    np.testing.assert_allclose(model.predict(rows, grid=T[3:7]), whole[:, 3:7], atol=1e-12)
    np.testing.assert_allclose(model.predict(rows[2:3]), whole[2:3], atol=1e-12)
    np.testing.assert_allclose(
        model.predict(rows, grid=[0.05]), whole[:, [1, 2]].mean(axis=1, keepdims=True), atol=1e-9
    )
    one, other = (model.sample(rows, 3, random_state=0, grid=grid) for grid in (None, T[:5]))
    np.testing.assert_allclose(one[:, :, :5], other, atol=1e-12)
    assert model.predict(rows[:0]).shape == (0, 31)
    with pytest.raises(InputError, match="from 0 to 1 only"):
        model.predict(rows, grid=[0.5, 1.5])
    with pytest.raises(InputError, match="grid has shape"):
        model.predict(rows, grid=[[0.5]])


def test_units_of_curves_and_order_of_rows(table, model):
    """Ten times the curves are ten times the answers, and places have no say."""
    scaled = quick().fit(table[:40].assign(u=[10 * own for own in table["u"][:40]]), "u", grid=5 * T)
    for own, other in zip(scaled.predict(table[40:], return_std=True), model.predict(table[40:], True), strict=True):
        np.testing.assert_allclose(own, 10 * other, rtol=1e-3, atol=1e-4)


def test_all_forms_are_one_model(table, model, tmp_path):
    wide = pd.DataFrame(np.stack(table["u"]), columns=[f"u_{t:.6f}" for t in T])
    wide = pd.concat([table[["rate", "size"]], wide], axis=1)
    paths = []
    for k, own in enumerate(table["u"]):
        paths.append(str(tmp_path / f"{k}.csv"))
        pd.DataFrame({"t": T, "u": own}).to_csv(paths[-1], index=False)
    pairs = [np.column_stack([T, own]) for own in table["u"]]
    expected = model.predict(table[40:])
    for other in (wide, table.assign(u=paths), table.assign(u=pairs)):
        np.testing.assert_allclose(quick().fit(other[:40], "u").predict(table[40:]), expected, atol=1e-6)
    array = quick().fit(table[["rate", "size"]][:40], np.stack(table["u"][:40]), grid=T)
    np.testing.assert_allclose(array.predict(table[40:]), expected, atol=1e-12)
    assert array.curve_ == "curve"


def test_grids_of_their_own(table):
    rng = np.random.default_rng(3)
    own = []
    for rate, size in table[["rate", "size"]].to_numpy():
        t = np.sort(np.concatenate([[0, 1 + 0.1 * rng.uniform()], rng.uniform(0, 1, 25)]))
        own.append(np.column_stack([t, warming(rate, size, t)]))
    model = quick().fit(table.assign(u=own)[:40], "u")
    assert model.grid_[0] == 0 and 1 <= model.grid_[-1] < 1.1
    error = model.predict(table[40:], grid=T) - np.stack(table["u"][40:])
    assert np.abs(error).max() < 0.03
    assert 0.99 < model.score(table.assign(u=own)[40:], "u") < 1


def test_derived_numbers_have_intervals(table, model):
    found = model.derived(table[40:], ["peak", "integral", Crossing(0.9)])
    rate, size = table[["rate", "size"]][40:].to_numpy().T
    truth = size * (1 - (1 - np.exp(-rate)) / rate)
    assert ((found["integral_lower"] <= truth) & (truth <= found["integral_upper"])).mean() >= 0.8
    np.testing.assert_allclose(found["integral_mean"], truth, atol=0.01)
    np.testing.assert_allclose(found["peak_mean"], warming(rate, size, 1.0), atol=0.02)
    crosses = warming(rate, size, 1.0) > 0.92
    np.testing.assert_allclose(
        found["crossing_0.9_mean"][crosses], -np.log1p(-0.9 / size[crosses]) / rate[crosses], atol=0.05
    )
    assert (found["crossing_0.9_probability"][crosses] > 0.5).all()
    never = model.derived(table[40:], Crossing(9.0))
    assert never["mean"].isna().all() and (never["probability"] == 0).all() and never.index.equals(table.index[40:])


def test_samples_and_levels_that_make_no_sense(table, model):
    for n in (0, -1, 2.5, True):
        for ask in (lambda n=n: model.sample(table[:2], n), lambda n=n: model.derived(table[:2], "peak", n_samples=n)):
            with pytest.raises(InputError, match=f"n_samples is {n}, but a whole number of at least 1"):
                ask()
    with pytest.raises(InputError, match="level is 2"):
        model.derived(table[:2], Crossing(0.5), level=2)
    for n_shapes in (1.5, "3", True):
        with pytest.raises(InputError, match=f"n_shapes is {n_shapes!r}, but a whole number of at least 1"):
            CurveRegressor(n_shapes=n_shapes).fit(table, "u")
    nothing = model.derived(table[:0], ["peak", Crossing(0.5)])
    assert len(nothing) == 0 and len(nothing.columns) == 9


def test_left_out_curves_are_the_training_curves(table, model):
    rows, truth, cases = model.left_out()
    np.testing.assert_allclose(truth, np.stack(table["u"].iloc[rows]), atol=1e-9)
    lower, upper = cases.predict_interval(0.95)
    inside = ((lower <= truth) & (truth <= upper)).mean()
    assert abs(inside - 0.95) < 0.04
    assert left_out_coefficients(model.regressor_)[1].shape == (40, len(model.basis_.shapes))


def test_cases_far_away_are_told(table, model):
    far = pd.DataFrame({"rate": [9.0], "size": [1.5]})
    with pytest.warns(CaseWarning) as said:
        mean, std = model.predict(far, return_std=True)
    assert any("is outside the training range" in str(one.message) for one in said)
    plain = model.predict(far, True, widen=False)
    np.testing.assert_allclose(mean, plain[0])
    np.testing.assert_allclose(std, 2 * plain[1])
    assert model.domain(far)["widened"].tolist() == ["u"]
    assert (model.domain(table[40:])["widened"] == "").mean() > 0.6


def test_a_saved_model_predicts_the_same(table, model, tmp_path):
    model.save(tmp_path / "u.swwl")
    again = load_model(tmp_path / "u.swwl")
    for one, other in zip(again.predict(table[40:], True), model.predict(table[40:], True), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(again.sample(table[40:], 2, 0), model.sample(table[40:], 2, 0))
    pd.testing.assert_frame_equal(again.derived(table[40:], "peak"), model.derived(table[40:], "peak"))
    pd.testing.assert_frame_equal(again.cross_validated(), model.cross_validated())
    np.testing.assert_array_equal(again.left_out()[1], model.left_out()[1])
    assert type(again.regressor) is RobustGPRegressor
    assert not hasattr(clone(again), "basis_")


def test_the_regressor_of_numbers_learns_curves_too(table, tmp_path):
    model = RobustGPRegressor(KERNEL, n_starts=1)
    assert model.fit(table[:40], curve="u", grid=T) is model
    own = quick().fit(table[:40], "u", grid=T)
    new = table[40:]
    np.testing.assert_allclose(model.predict(new), own.predict(new))
    np.testing.assert_allclose(model.predict(new, grid=[0.5]), own.predict(new, grid=[0.5]))
    np.testing.assert_allclose(
        model.predict_interval(new, 0.9, simultaneous=True), own.predict_interval(new, 0.9, simultaneous=True)
    )
    np.testing.assert_allclose(model.sample(new, 2, 0), own.sample(new, 2, 0))
    pd.testing.assert_frame_equal(model.domain(new), own.domain(new))
    assert model.score(new, "u") == own.score(new, np.stack(new["u"])) > 0.99
    assert list(model.feature_names_in_) == ["rate", "size"] and model.n_features_in_ == 2
    for options in ({"return_cov": True}, {"include_nugget": False}):
        with pytest.raises(InputError, match="for models of numbers; this model predicts curves"):
            model.predict(new, **options)
    with pytest.raises(InputError, match="include_nugget=False is for models of numbers"):
        model.predict_interval(new, include_nugget=False)
    for ask in (
        model.leave_one_out,
        model.variance_shares,
        lambda: model.predict_sets(new),
        lambda: suggest(model, new),
    ):
        with pytest.raises(InputError, match="predicts curves: ask its curves_"):
            ask()
    model.save(tmp_path / "u.swwl")
    assert isinstance(load_model(tmp_path / "u.swwl"), CurveRegressor)
    table = table.assign(top=[own[-1] for own in table["u"]])
    model.fit(table[:40][["rate", "size", "top"]], "top")
    assert model.predict(table[40:]).shape == (20,)
    with pytest.raises(InputError, match="bands of whole curves"):
        model.predict_interval(new, simultaneous=True)
    with pytest.raises(InputError, match="give one of them"):
        model.fit(table, "top", curve="u")


def test_curves_that_have_nothing_to_do_with_the_inputs_are_told():
    rng = np.random.default_rng(0)
    noise = pd.DataFrame({"rate": rng.uniform(size=30), "size": rng.uniform(size=30), "u": [*rng.normal(size=(30, 9))]})
    with pytest.warns(GPWarning, match="hardly better than its mean"):
        quick().fit(noise, "u")


def test_what_cannot_be_learned(table):
    with pytest.raises(InputError, match="There are 4 curves, but at least 5"):
        quick().fit(table[:4], "u")
    with pytest.raises(InputError, match="n_shapes is 0"):
        quick(n_shapes=0).fit(table, "u")
    with pytest.raises(InputError, match="fidelity does not apply to curves"):
        RobustGPRegressor().fit(table, curve="u", fidelity="level")
    with pytest.raises(InputError, match="do not apply to curves"):
        CurveRegressor(RobustGPRegressor(scaled="u ~ size")).fit(table, "u")
    with pytest.raises(InputError, match="is the same in all 60 rows"):
        quick().fit(table.assign(u=[T] * 60), "u")
    with pytest.raises(InputError, match="needs column 'v'"):
        quick().fit(table, "v")


def test_one_curve_may_differ_from_all_others(table):
    curves = [u if row == 3 else table["u"][0] for row, u in enumerate(table["u"][:20])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)  # it is noise
        model = quick().fit(table[:20].assign(u=curves), "u", grid=T)
    lower, upper = model.predict_interval(table[20:30], widen=False)
    assert np.isfinite(upper - lower).all() and ((lower <= curves[0]) & (curves[0] <= upper)).mean() > 0.7


def test_few_curves_and_no_calibration(table):
    for n, calibrate in ((7, True), (20, False)):
        model = CurveRegressor(RobustGPRegressor(KERNEL, n_starts=1, calibrate=calibrate)).fit(table[:n], "u")
        lower, upper = model.predict_interval(table[40:], 0.9, simultaneous=True, widen=False)
        assert np.isfinite(upper - lower).all() and (upper >= lower).all()
