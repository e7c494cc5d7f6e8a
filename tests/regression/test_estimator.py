import warnings

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from swwl import (
    SWWL,
    Graph,
    InputError,
    Matern52,
    PrincipalSWWL,
    RobustGP,
    RobustGPRegressor,
    SWWLEmbedding,
    load_model,
    pairwise_distances,
    write_graph,
)
from swwl.errors import GPWarning
from tests.helpers import SMALL, plates


@pytest.fixture(scope="module")
def table():
    return plates(60)


@pytest.fixture(scope="module")
def model(table):
    return RobustGPRegressor(PrincipalSWWL("mesh", **SMALL) * Matern52("load")).fit(table[:45], "stiffness")


def test_prediction_is_accurate_and_its_intervals_hold(model, table):
    test = table[45:]
    assert model.score(test, test["stiffness"]) > 0.98
    lower, upper = model.predict_interval(test, 0.95)
    assert np.mean((lower < test["stiffness"]) & (test["stiffness"] < upper)) >= 0.8
    mean, std = model.predict(test, return_std=True)
    mean_again, cov = model.predict(test, return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-6)
    np.testing.assert_allclose(mean_again, mean)
    draws = model.sample(test, 4000, random_state=0, include_nugget=True)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=5 * std.max() / np.sqrt(4000))
    function, noisy = (model.predict(test, return_std=True, include_nugget=flag)[1] for flag in (False, True))
    assert (function < noisy).all()


def test_it_equals_the_gp_on_distances_made_by_hand(table):
    train, test = table[:45], table[45:]
    model = RobustGPRegressor(SWWL("mesh", **SMALL) * Matern52("load")).fit(train, train["stiffness"])
    embedding = SWWLEmbedding(**SMALL)
    phi = embedding.fit_transform(train["mesh"])
    spread = train["load"].std(ddof=0)
    load, new = (t["load"].to_numpy() / spread for t in (train, test))
    gp = RobustGP(["gaussian", "matern52"]).fit(
        [pairwise_distances(phi), np.abs(load[:, None] - load)], train["stiffness"].to_numpy()
    )
    cross = [pairwise_distances(embedding.transform(test["mesh"]), phi), np.abs(new[:, None] - load)]
    np.testing.assert_allclose(model.predict(test), gp.predict(cross), rtol=1e-6)
    assert model.ranges_["load"] == pytest.approx(spread / gp.beta_[1], rel=1e-5)


def test_no_components_is_swwl(table):
    train, test = table[:45], table[45:]
    plain = RobustGPRegressor(SWWL("mesh", **SMALL) * Matern52("load")).fit(train, "stiffness")
    none = RobustGPRegressor(PrincipalSWWL("mesh", n_components=0, **SMALL) * Matern52("load")).fit(train, "stiffness")
    np.testing.assert_array_equal(plain.predict(test), none.predict(test))


def test_the_number_of_components_is_chosen_and_explained(model):
    selection = model.selection_
    assert selection["chosen"].sum() == 1
    assert selection.loc[selection["log_posterior"].idxmax(), "chosen"]
    assert model.kernel_.factors[0].n_components_ == selection.loc[selection["chosen"], "n_components"].item() > 0


def test_importance_has_readable_names(model):
    assert model.importance_.index[0] == "mesh (component 1)"
    assert model.importance_.index[-1] == "load"
    assert model.importance_.name == "stiffness"
    assert model.importance_.mean() == pytest.approx(1)


def test_an_inert_column_is_seen(table):
    noisy = table.assign(noise=np.random.default_rng(0).random(60))
    kernel = SWWL("mesh", **SMALL) * Matern52("load") * Matern52("noise")
    importance = RobustGPRegressor(kernel).fit(noisy, "weight").importance_
    assert importance["noise"] < 0.2 * importance["mesh"]


@pytest.mark.slow
def test_several_targets_embed_once(table, monkeypatch):
    calls = []
    settle = SWWLEmbedding.settle
    monkeypatch.setattr(SWWLEmbedding, "settle", lambda self, *a, **k: calls.append(1) or settle(self, *a, **k))
    train, test = table[:45], table[45:]
    kernel = SWWL("mesh", **SMALL) * Matern52("load")
    names = ["stiffness", "weight"]
    both = RobustGPRegressor(kernel).fit(train, names)
    assert calls == [1]
    mean, std = both.predict(test, return_std=True)
    assert mean.shape == std.shape == (15, 2)
    for k, name in enumerate(names):
        alone = RobustGPRegressor(kernel).fit(train, name)
        np.testing.assert_array_equal(alone.predict(test), mean[:, k])
    assert list(both.importance_.columns) == names
    lower, upper = both.predict_interval(test)
    assert (lower < upper).all()
    assert both.sample(test, 3).shape == (3, 15, 2)
    assert both.predict(test, return_cov=True)[1].shape == (2, 15, 15)
    assert both.leave_one_out().mean.shape == (45, 2)
    assert both.score(test, test[names]) > 0.9

    shared = RobustGPRegressor(kernel, share_ranges=True).fit(train, train[names])
    assert len(shared.gps_) == 1
    assert shared.predict(test).shape == (15, 2)
    assert shared.predict(test, return_cov=True)[1].shape == (2, 15, 15)
    assert shared.importance_.name == "all targets"
    single_column = RobustGPRegressor(kernel).fit(train, ["weight"])
    assert single_column.predict(test).shape == (15, 1)


@pytest.mark.slow
def test_intervals_are_as_wide_as_cross_validation_asks(table):
    kernel = PrincipalSWWL("mesh", n_components=8, **SMALL) * Matern52("load")
    plain = RobustGPRegressor(kernel, calibrate=False).fit(table[:45], ["stiffness", "weight"])
    wide = RobustGPRegressor(kernel).fit(table[:45], ["stiffness", "weight"])
    factor = wide.calibration_.to_numpy()
    assert (plain.calibration_ == 1).all()
    assert (factor > 0).all()
    assert (factor != 1).any()
    test = table[45:]
    np.testing.assert_array_equal(plain.predict(test), wide.predict(test))
    np.testing.assert_allclose(wide.predict(test, return_std=True)[1], factor * plain.predict(test, return_std=True)[1])
    (low, high), (lower, upper) = plain.predict_interval(test), wide.predict_interval(test)
    np.testing.assert_allclose(upper - lower, factor * (high - low))
    np.testing.assert_allclose(wide.leave_one_out().std, factor * plain.leave_one_out().std)
    ours, theirs = (m.predict(test, return_cov=True)[1] for m in (wide, plain))
    np.testing.assert_allclose(ours, factor[:, None, None] ** 2 * theirs)
    spread = [m.sample(test, 500, 0).std(axis=0) for m in (wide, plain)]
    np.testing.assert_allclose(spread[0], factor * spread[1])


def test_leave_one_out_is_honest(model, table):
    loo = model.leave_one_out()
    residual = loo.mean - table["stiffness"][:45]
    assert 1 - np.mean(residual**2) / table["stiffness"][:45].var() > 0.95
    lower, upper = loo.interval(0.95)
    assert np.mean((lower < table["stiffness"][:45]) & (table["stiffness"][:45] < upper)) > 0.85


@pytest.mark.slow
def test_model_selection_over_paths(table, tmp_path):
    for k, mesh in enumerate(table["mesh"]):
        write_graph(tmp_path / f"{k}.npz", mesh)
    files = table.assign(mesh=[str(tmp_path / f"{k}.npz") for k in range(len(table))])
    kernel = SWWL("mesh", **SMALL) * Matern52("load")
    model = RobustGPRegressor(kernel, n_starts=1)
    scores = cross_val_score(model, files, files["weight"], cv=3)
    np.testing.assert_array_equal(scores, cross_val_score(model, table, table["weight"], cv=3))
    assert scores.min() > 0.9
    search = GridSearchCV(model, {"kernel__mesh__n_iterations": [0, 1], "nugget": ["estimate", 1e-3]}, cv=2)
    assert search.fit(files, files["weight"]).best_score_ > 0.9
    assert repr(clone(model)) == repr(model)


@pytest.mark.slow
def test_lists_and_arrays_are_tables(table):
    graphs, y = list(table["mesh"]), table["weight"].to_numpy()
    model = RobustGPRegressor(PrincipalSWWL(**SMALL)).fit(graphs[:45], y[:45])
    assert model.predict(graphs[45:]).shape == (15,)
    x = np.random.default_rng(0).random((40, 2))
    flat = RobustGPRegressor().fit(x[:30], np.sin(3 * x[:30, 0]) + x[:30, 1])
    assert list(flat.importance_.index) == ["x0", "x1"]
    assert flat.score(x[30:], np.sin(3 * x[30:, 0]) + x[30:, 1]) > 0.99
    assert RobustGPRegressor().fit(x[:, 0], x[:, 0] ** 2).predict([0.5]) == pytest.approx(0.25, abs=0.01)


@pytest.mark.slow
def test_the_default_kernel_leaves_targets_out(table):
    inputs = table[["mesh", "load", "weight"]][:24]
    for target in ("weight", inputs["weight"]):
        model = RobustGPRegressor().fit(inputs, target)
        assert set(model.kernel_.columns) == {"mesh", "load"}


@pytest.mark.parametrize("trend", ["zero", "linear", ["load"]])
def test_trends(table, trend, tmp_path):
    model = RobustGPRegressor(SWWL("mesh", **SMALL) * Matern52("load"), trend=trend).fit(table[:45], "weight")
    expected = {"zero": 0, "linear": 2}.get(trend, 2) if isinstance(trend, str) else 2
    assert len(model.gps_[0].theta_) == expected
    mean = model.predict(table[45:])
    assert np.corrcoef(mean, table["weight"][45:])[0, 1] > 0.95
    model.save(tmp_path / "m.swwl")
    np.testing.assert_array_equal(load_model(tmp_path / "m.swwl").predict(table[45:]), mean)


@pytest.mark.parametrize("missing", [False, True])
def test_columns_of_the_trend_are_inputs(missing, tmp_path):
    """Also of targets that help each other, where what a helper says is a column of the trend, but not an input."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 40), "z": rng.uniform(0, 1, 40)})
    table["cheap"], table["good"] = np.sin(5 * table["x"]) + table["z"], table["z"] + 2 * np.sin(4 * table["x"])
    table.loc[14:, "good"] = np.nan if missing else table["good"][14:]
    options = {"calibrate": False, "targets_together": True}
    model = RobustGPRegressor(Matern52("x"), trend=["z"], **options).fit(table, ["cheap", "good"])
    model.save(tmp_path / "m.swwl")
    for one in (model, load_model(tmp_path / "m.swwl")):
        assert list(one.feature_names_in_) == ["x", "z"]
        np.testing.assert_array_equal(one.predict(table[one.feature_names_in_]), model.predict(table))
        np.testing.assert_allclose(one.train_inputs_["z"], table["z"])


def test_files_that_do_not_hold_columns_of_the_trend_are_read():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 1, 12), "z": rng.uniform(0, 1, 12)})
    table["y"] = np.sin(5 * table["x"]) + table["z"]
    model = RobustGPRegressor(Matern52("x"), trend=["z"], n_starts=1, calibrate=False).fit(table, "y")
    state = msgspec.structs.asdict(model.get_state()) | {"law_inputs": {}}
    loaded = RobustGPRegressor.from_state(state)
    assert list(loaded.feature_names_in_) == ["x", "z"] and list(loaded.train_inputs_) == ["x"]
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    with pytest.raises(InputError, match="laws name"):
        RobustGPRegressor.from_state(state | {"law_inputs": {"q": np.zeros(12)}})


@pytest.mark.parametrize("trend", ["linear", ["a", "b", "flag"]])
def test_a_column_of_the_trend_may_be_constant_in_a_fold(trend):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(24, 2)), columns=["a", "b"]).assign(flag=(np.arange(24) == 3) * 1.0)
    y = np.sin(5 * table["a"]) + 2.0 * table["flag"] + 0.05 * rng.normal(size=24)
    kernels = [Matern52("a") * Matern52("b") * Matern52("flag"), Matern52("a") * Matern52("flag")]
    model = RobustGPRegressor(kernels, trend=trend).fit(table, y)
    assert model.predict(table, widen=False)[3] == pytest.approx(y[3], abs=0.2)
    assert len(model.cross_validation()[0]) == 24


def test_folds_have_fewer_rows_than_a_trend_of_many_columns_needs():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(12, 9)), columns=list("abcdefghi"))
    y = table.sum(axis=1) + rng.normal(size=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)  # there is not much to learn from them
        model = RobustGPRegressor(Matern52("a"), trend=list("abcdefghi")).fit(table, y)
    assert np.isfinite(model.predict_interval(table, widen=False)).all()


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        (lambda a: 0 * a + 1, "Column 'flag' of the trend is the same in all 24 rows: leave it out of the trend"),
        (lambda a: 3 * a + 1, "Column 'flag' of the trend is a linear combination of those before it: leave it out"),
    ],
)
def test_columns_that_no_trend_can_have_are_named(flag, words):
    a = np.random.default_rng(0).uniform(size=24)
    table = pd.DataFrame({"a": a, "flag": flag(a)})
    for trend in ("linear", ["a", "flag"]):
        with pytest.raises(InputError, match=words):
            RobustGPRegressor(Matern52("a") * Matern52("flag"), trend=trend).fit(table, np.sin(5 * a))


def test_progress_is_passed_on(table):
    calls = []
    RobustGPRegressor(SWWL("mesh", **SMALL)).fit(table, "weight", progress=lambda *call: calls.append(call))
    assert calls[-1] == (60, 60)


@pytest.mark.parametrize(
    ("change", "fit", "message"),
    [
        (lambda t: t, {"y": "stifness"}, "needs column 'stifness'.*Did you mean 'stiffness'"),
        (lambda t: t.rename(columns={"load": "laod"}), {}, "The kernel needs column 'load'.*Did you mean 'laod'"),
        (lambda t: t.assign(load=[np.nan, *t["load"][1:]]), {}, r"Column 'load' must hold finite.*1 of 60 rows.*row 0"),
        (lambda t: t.assign(weight=[np.nan, *t["weight"][1:]]), {}, "Target 'weight' is not finite in 1 of 60 rows"),
        (lambda t: t.assign(weight=3.0), {}, "Target 'weight' is 3 in all 60 rows: there is nothing to learn"),
        (lambda t: t.assign(weight="heavy"), {}, "Targets weight must be numbers"),
        (lambda t: t[:2], {}, "There are 2 training points, but a trend of 1 columns needs at least 3"),
        (lambda t: t[:0], {}, "no rows to learn from"),
        (lambda t: t, {"y": np.zeros(7)}, r"shape \(7,\), but the table has 60 rows"),
        (lambda t: t.assign(mesh="plate.vtu"), {}, "Column 'mesh', graph 0: plate.vtu: no such file"),
    ],
)
def test_bad_tables(table, change, fit, message):
    kernel = SWWL("mesh", **SMALL) * Matern52("load")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        RobustGPRegressor(kernel).fit(change(table), fit.get("y", "weight"))


def test_bad_columns_without_a_kernel(table):
    with pytest.raises(ValueError, match="Column 'split' holds 'train', neither numbers nor meshes, and has no kernel"):
        RobustGPRegressor().fit(table.assign(split="train"), "weight")
    with pytest.raises(ValueError, match="uses column 'load' twice"):
        RobustGPRegressor(Matern52("load") * Matern52("load")).fit(table, "weight")
    with pytest.raises(ValueError, match="trend must be"):
        RobustGPRegressor(Matern52("load"), trend="quadratic").fit(table, "weight")
    with pytest.raises(TypeError, match="must be made of factors, such as SWWL\\('mesh'\\), not 'swwl'"):
        RobustGPRegressor("swwl").fit(table, "weight")
    with pytest.raises(ValueError, match="no columns to learn from"):
        RobustGPRegressor().fit(table[["weight"]], "weight")


def test_prediction_says_what_it_lacks(model, table):
    with pytest.raises(ValueError, match="needs column 'load'"):
        model.predict(table[["mesh"]])
    flat = table.assign(mesh=pd.Series([Graph(g.features[:, :1], g.edges) for g in table["mesh"]], dtype=object))
    with pytest.raises(ValueError, match="Column 'mesh', graph 0 has 1 features per node, but fit saw 2"):
        model.predict(flat)
    with pytest.raises(ValueError, match="mutually exclusive"):
        model.predict(table, return_std=True, return_cov=True)


def test_one_case_is_enough_to_predict(table):
    model = RobustGPRegressor(SWWL("mesh", **SMALL) * Matern52("load"), calibrate=False).fit(table[:40], "stiffness")
    row = table.iloc[45]
    expected = model.predict(table[45:46])
    for one in (
        row,
        {"mesh": row["mesh"], "load": row["load"]},
        [dict(row)],
        {"mesh": [row["mesh"]], "load": [row["load"]]},
    ):
        np.testing.assert_array_equal(model.predict(one), expected)
    assert model.predict(table[:0]).shape == (0,)
    assert model.predict(table[:0], return_std=True)[1].shape == (0,)
    both = RobustGPRegressor(SWWL("mesh", **SMALL), calibrate=False).fit(table[:40], ["stiffness", "weight"])
    assert both.predict_interval(table[:0])[0].shape == (0, 2)
    column = np.array([[mesh] for mesh in table["mesh"][:3]], dtype=object)
    alone = RobustGPRegressor(SWWL(**SMALL), calibrate=False).fit(list(table["mesh"][:40]), table["weight"][:40])
    np.testing.assert_array_equal(alone.predict(column), alone.predict(list(table["mesh"][:3])))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.linspace(0, 1, 60) * 1e300, "holds values like 1e[+]300, whose squares"),
        (np.linspace(0, 1, 60) * 1e-300, "holds values like 1e-300, whose squares"),
        (np.linspace(0, 1, 60) * 1j, "are complex; learn real and imaginary part"),
    ],
)
def test_targets_that_numbers_cannot_hold(table, y, message):
    with pytest.raises(InputError, match=message):
        RobustGPRegressor(Matern52("load")).fit(table, y)


def test_too_few_rows_are_said_to_be(table):
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        model = RobustGPRegressor(Matern52("load")).fit(table[:3], "stiffness")
    assert "With 3 rows, standard deviations come out infinite; use 4 or more." in [str(note.message) for note in notes]
    assert np.isinf(model.predict_with_domain(table)[0].std).all()


def test_notebooks_show_a_table_once_fitted_and_the_diagram_before(model, monkeypatch):
    assert "sk-" in RobustGPRegressor()._repr_html_()
    text = model._repr_html_()
    assert text == model._repr_mimebundle_()["text/html"]
    for words in ("fitted to 45 rows", "stiffness", "Q², left out", "PrincipalSWWL"):
        assert words in text
    monkeypatch.setattr(RobustGPRegressor, "cross_validation", lambda self: 1 / 0)
    assert model._repr_html_().startswith("<pre>RobustGPRegressor(")  # what is shown never stops a notebook
