"""Regressors of many rows: the same model as the exact one where nothing is approximated, and the same file."""

import warnings

import numpy as np
import pandas as pd
import pytest

from swwl import ASWWL, SWWL, Graph, Matern52, PrincipalSWWL, RobustGPRegressor, load_model
from swwl.errors import GPWarning, InputError
from swwl.kernels import Categories, Components, Elliptic, Gaussian, Power
from swwl.regression import fit_many_rows as large
from swwl.regression.fit_many_rows import choose_solver


@pytest.fixture
def small(monkeypatch):
    """Many rows are sixty, so that tests are quick."""
    monkeypatch.setattr(large, "MOST_EXACT_ROWS", 60)
    monkeypatch.setattr(large, "N_RANGES", 50)
    monkeypatch.setattr(large, "SETTINGS", ({"n_inducing": 40},))


def numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.random((n, 3)), columns=["a", "b", "c"])
    table["kind"] = pd.Categorical(np.where(rng.random(n) < 0.5, "steel", "brass"))
    table["y"] = np.sin(5 * table["a"]) + table["b"] * table["c"] + 0.3 * (table["kind"] == "steel")
    table["z"] = table["a"] - table["c"] ** 2 + 0.2 * table["b"] * (table["kind"] == "steel")
    return table


def rods(n, seed=0):
    rng = np.random.default_rng(seed)
    lengths, bends = rng.uniform(1, 2, n), rng.uniform(0, 1, n)
    graphs = [Graph([[0.0, 0], [a / 2, b], [a, 0]], [(0, 1), (1, 2)]) for a, b in zip(lengths, bends, strict=True)]
    table = pd.DataFrame({"rod": graphs, "load": rng.uniform(1, 3, n)})
    table["y"] = lengths * table["load"] + np.sin(3 * bends)
    return table


def test_auto_is_exact_up_to_a_limit():
    assert choose_solver("auto", 3000).name == "exact"
    assert choose_solver("auto", 3001).name == "vecchia"
    assert choose_solver("exact", 10**6).name == "exact"
    with pytest.raises(InputError, match="solver is 'fast', but 'auto', 'exact' or 'vecchia'"):
        RobustGPRegressor(solver="fast").fit(numbers(20).drop(columns="z"), "y")
    with pytest.raises(InputError, match="range_uncertainty is set"):
        RobustGPRegressor(solver="vecchia", range_uncertainty=True).fit(numbers(20).drop(columns="z"), "y")


def test_one_process_of_a_hundred_thousand_rows_keeps_its_features():
    """Without them one prediction would take 10 ms, not 3."""
    assert 100_000 * max(setting["n_inducing"] for setting in large.SETTINGS) <= large._MOST_FEATURES


def test_with_all_rows_inducing_it_is_the_exact_process():
    """A thousand rows may be inducing ones, here there are ninety: only the rows that tell the ranges differ."""
    table, new = numbers(90), numbers(20, seed=1)
    kernel = Elliptic("a", "b", "c", Categories("kind"))
    model = RobustGPRegressor(kernel, solver="vecchia", calibrate=False).fit(table[["a", "b", "c", "kind", "y"]], "y")
    (known,) = model.gps_
    (factor_blocks,) = [model.kernel_.join(model.members_[0].training_blocks())]
    exact = known.__class__(
        known.correlations, beta=known.beta_, nugget=known.nugget_, prior=known.prior, names=known.names
    ).fit(factor_blocks, table["y"])
    (member,), (rows,) = model.members_, model.stack_.represent(new).rows
    found, wanted = (
        model.stack_.predict(model.stack_.represent(new)),
        exact.predict_distribution(member.new_blocks(rows)[0]),
    )
    np.testing.assert_allclose(found.mean, wanted.mean, atol=1e-7)
    np.testing.assert_allclose(found.scale, wanted.scale, rtol=1e-5)
    np.testing.assert_allclose(model.leave_one_out().mean, exact.leave_one_out().mean, atol=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_many_rows_of_numbers_with_the_default_kernels(tmp_path):
    table, new = numbers(400), numbers(100, seed=1)
    model = RobustGPRegressor().fit(table, ["y", "z"])
    assert model.solver_ == "vecchia"
    assert model.left_out_by_ == "leave-one-out"
    error = model.predict(new) - new[["y", "z"]].to_numpy()
    assert (np.sqrt(np.mean(error**2, axis=0)) < 0.05).all()
    left = model.leave_one_out()
    assert left.mean.shape == (400, 2)
    assert np.sqrt(np.mean((left.mean - table[["y", "z"]].to_numpy()) ** 2)) < 0.05
    lower, upper = model.predict_interval(new)
    assert np.mean((lower < new[["y", "z"]]) & (new[["y", "z"]] < upper)) > 0.85
    assert model.candidates_["rmse"].notna().all()
    model.save(tmp_path / "model.swwl")
    again = load_model(tmp_path / "model.swwl")
    assert again.solver_ == "vecchia"
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again.predict_distribution(new).scale, model.predict_distribution(new).scale)
    mean, cov = again.predict(new[:5], return_cov=True)
    assert cov.shape == (2, 5, 5)
    assert again.sample(new[:5], 3, random_state=0).shape == (3, 5, 2)
    np.testing.assert_array_equal(again.leave_one_out().mean, left.mean)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "kernel",
    [
        SWWL("rod", n_iterations=1, n_projections=5, n_quantiles=5) * Matern52("load"),
        ASWWL("rod", n_iterations=1, n_projections=5, n_quantiles=5) * Gaussian("load"),
        PrincipalSWWL("rod", n_iterations=1, n_projections=5, n_quantiles=5) * Power("load"),
        PrincipalSWWL("rod", n_components=2, n_iterations=1, n_projections=5, n_quantiles=5) * Matern52("load"),
        Elliptic(Components("rod", n_components=2, n_projections=5, n_quantiles=5), "load", correlation="matern32"),
    ],
    ids=repr,
)
def test_kernels_on_meshes(kernel, tmp_path):
    table, new = rods(200), rods(40, seed=1)
    model = RobustGPRegressor(kernel).fit(table, "y")
    assert model.solver_ == "vecchia"
    assert model.score(new, "y") > 0.97
    model.save(tmp_path / "model.swwl")
    np.testing.assert_array_equal(load_model(tmp_path / "model.swwl").predict(new), model.predict(new))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "kernel",
    [
        SWWL("rod", r=1, alpha=1.0, n_projections=5, n_quantiles=5),
        SWWL("rod", alpha=1.0, n_projections=5, n_quantiles=5),
    ],
    ids=repr,
)
def test_other_kernels_say_what_to_use(kernel):
    with pytest.raises(InputError, match=r"SWWL\('rod'.* cannot be fitted to 80 rows.*SWWL with r=2.*solver='exact'"):
        RobustGPRegressor(kernel).fit(rods(80), "y")


@pytest.mark.usefixtures("small")
def test_held_out_rows_widen_intervals_that_are_too_narrow():
    """Errors that depend on the place look like noise that is alike everywhere: wider than predicted on the whole."""
    table = numbers(300)
    table["y"] += 0.2 * np.random.default_rng(0).standard_t(2.5, 300)
    kernel = Elliptic("a", "b", "c")
    plain = RobustGPRegressor(kernel, calibrate=False, nugget=1e-3).fit(table, "y")
    wide = RobustGPRegressor(kernel, nugget=1e-3).fit(table, "y")
    assert plain.calibration_.tolist() == [1.0]
    assert wide.calibration_["y"] > 1.0


@pytest.mark.usefixtures("small")
def test_a_linear_trend_and_shared_ranges():
    table, new = numbers(150), numbers(30, seed=1)
    model = RobustGPRegressor(Elliptic("a", "b", "c"), trend="linear", share_ranges=True).fit(table, ["y", "z"])
    assert model.predict(new).shape == (30, 2)
    assert len(model.gps_) == 1
    assert np.sqrt(np.mean((model.predict(new)[:, 1] - new["z"]) ** 2)) < 0.1  # which depends on the kind, too


@pytest.mark.usefixtures("small")
def test_a_column_of_the_trend_may_be_constant_in_a_part_of_the_rows():
    table = numbers(150).assign(flag=(np.arange(150) == 70) * 1.0)
    table["y"] += 3.0 * table["flag"]
    model = RobustGPRegressor(Elliptic("a", "b", "c"), trend=["flag"]).fit(table.drop(columns="z"), "y")
    assert float(model.gps_[0].theta_[1]) != 0.0
    assert model.predict(table.drop(columns=["y", "z"]), widen=False)[70] == pytest.approx(table["y"][70], abs=0.5)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("row", [0, 70, 149])
def test_a_target_may_be_constant_in_a_part_of_the_rows(row):
    """Whichever row differs from all others, ranges are learned with it."""
    table = numbers(150)[["a", "b", "c"]].assign(y=(np.arange(150) == row) * 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)
        model = RobustGPRegressor(Elliptic("a", "b", "c"), n_starts=1).fit(table, "y")
    assert np.isfinite(model.predict_interval(table, widen=False)).all()


@pytest.mark.usefixtures("small")
def test_every_process_has_the_setting_that_suits_it(monkeypatch):
    """One answer is smooth, the other has short waves, for which ten inducing rows are of no use."""
    settings = [{"n_inducing": 10, "n_neighbors": 0}, {"n_inducing": 0, "n_neighbors": 15}]
    settings = [setting | {"n_predict_neighbors": 2 * setting["n_neighbors"]} for setting in settings]
    monkeypatch.setattr(large, "SETTINGS", settings)
    monkeypatch.setattr(large, "N_RANGES", 150)
    table = numbers(500)[["a", "b"]]
    noise = 0.03 * np.random.default_rng(0).normal(size=(2, 500))
    table["smooth"] = table["a"] + 0.1 * table["b"] + noise[0]
    table["waves"] = np.sin(12 * table["a"]) * np.sin(12 * table["b"]) + noise[1]
    model = RobustGPRegressor(Elliptic("a", "b"), calibrate=False, n_starts=1).fit(table, ["smooth", "waves"])
    assert [gp.solver_options["n_inducing"] for gp in model.gps_] == [10, 0]
    assert all(gp.solver_options["keep_features"] == 1 for gp in model.gps_)
