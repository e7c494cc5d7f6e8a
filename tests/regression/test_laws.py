"""Targets learned over a law: all answers are in their units, and left-out rows decide whether it is used."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from swwl import SWWL, InputError, Matern52, Mesh, RobustGPRegressor, load_model
from swwl.datasets.tensile2d.material import Material
from swwl.datasets.tensile2d.mesh import notched_plate
from swwl.datasets.tensile2d.solver import pull
from swwl.design import displacement_modes, improve, suggest
from swwl.design.acquire import improvement_of, probability_between
from swwl.design.pool import Pool
from swwl.errors import CaseWarning, LawWarning
from swwl.evaluation.curves import predict_curves
from swwl.gp.mixed import MixedPrediction
from swwl.regression.effects import variance_shares
from swwl.regression.one_mesh import OneMesh
from swwl.regression.sensitivity import slope_table
from swwl.regression.target_scale import JudgedLaw, judged_laws, warn_about_laws
from tests.helpers import assert_slope, plain_state

INPUTS = ["force [N]", "young [MPa]", "a", "b"]
LAW = "sag ~ force / young"


def make_table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.uniform(0, 1, (n, 4)), columns=INPUTS)
    table["force [N]"], table["young [MPa]"] = 100 * 10 ** table["force [N]"], 1e4 * 10 ** table["young [MPa]"]
    table["shape"] = 1.0 + np.sin(3 * table["a"]) + 0.5 * table["b"] ** 2
    table["sag"] = table["force [N]"] / table["young [MPa]"] * table["shape"]
    return table


TABLE, NEW = make_table(), make_table(20, seed=1)


@pytest.fixture(scope="module")
def model():
    """The default, with the law."""
    return RobustGPRegressor(scaled=LAW).fit(TABLE[[*INPUTS, "sag"]], "sag")


@pytest.fixture(scope="module")
def alone():
    """One kernel that does not look at the columns of the law."""
    return RobustGPRegressor(Matern52("a") * Matern52("b"), scaled=LAW).fit(TABLE[[*INPUTS, "sag"]], "sag")


def times(table, force, young=1.0):
    return table.assign(**{"force [N]": force * table["force [N]"], "young [MPa]": young * table["young [MPa]"]})


def test_the_law_takes_most_of_the_error_away(model):
    plain = RobustGPRegressor().fit(TABLE[[*INPUTS, "sag"]], "sag")
    errors = [np.sqrt(np.mean((one.predict(NEW[INPUTS]) - NEW["sag"]) ** 2)) for one in (model, plain)]
    assert errors[0] < 0.1 * errors[1]
    (law,) = model.laws_
    assert law.used and law.error < 0.1 * law.plain_error
    assert law.words.startswith("sag is learned over force / young: error of left-out rows ")
    assert list(model.feature_names_in_) == INPUTS
    lower, upper = model.predict_interval(NEW[INPUTS])
    assert np.mean((lower <= NEW["sag"]) & (NEW["sag"] <= upper)) >= 0.8
    assert_allclose(model.leave_one_out().mean, TABLE["sag"], rtol=0.01)
    rows, judged = model.cross_validation()
    assert_allclose(judged.column(0).mean, TABLE["sag"].to_numpy()[rows], rtol=0.01)
    assert (model.candidates_["rmse"] < 0.02 * TABLE["sag"].std()).all()
    assert model.score(NEW, NEW["sag"]) > 0.9999


def test_predictions_scale_exactly_as_the_law(alone):
    """Where the kernel does not see the columns of the law, all that is said of a case goes with its value."""
    base, more = NEW[INPUTS], times(NEW[INPUTS], 4.0, 0.5)
    one, other = (alone.predict_distribution(table) for table in (base, more))
    assert_array_equal(other.mean, 8 * one.mean)
    assert_array_equal(other.std, 8 * one.std)
    for level in (0.5, 0.95):
        assert_array_equal(other.interval(level), 8 * np.array(one.interval(level)))
    assert_array_equal(other.at(1.5), 8 * one.at(1.5))
    assert_allclose(other.log_density(8 * one.mean), one.log_density(one.mean) - np.log(8))
    assert_array_equal(other.standardized(8 * one.mean), one.standardized(one.mean))
    assert_array_equal(alone.sample(more, 3, 0), 8 * alone.sample(base, 3, 0))
    (mean, cov), (mean8, cov8) = (alone.predict(table, return_cov=True) for table in (base, more))
    assert_array_equal(mean8, 8 * mean)
    assert_allclose(cov8, 64 * cov, rtol=1e-14)
    assert_allclose(np.sqrt(np.diag(cov)), one.std, rtol=1e-9)
    sets = [alone.predict_sets(table)[["lower", "upper"]].to_numpy() for table in (base, more)]
    assert_array_equal(sets[1], 8 * sets[0])
    assert list(alone.feature_names_in_) == ["a", "b", *INPUTS[:2]]
    assert set(alone.train_inputs_) == set(INPUTS)


def test_the_units_of_a_column_do_not_matter(alone, model):
    for one, rtol in ((alone, 1e-9), (model, 1e-4)):
        other = RobustGPRegressor(one.kernel, scaled=LAW).fit(times(TABLE, 1e3, 1e-6)[[*INPUTS, "sag"]], "sag")
        scaled = times(NEW[INPUTS], 1e3, 1e-6)
        assert_allclose(other.predict(scaled), one.predict(NEW[INPUTS]), rtol=rtol)
        assert_allclose(other.predict_interval(scaled), one.predict_interval(NEW[INPUTS]), rtol=10 * rtol)


@pytest.mark.parametrize("scale", ["identity", "log", "warp"])
@pytest.mark.parametrize("kernel", ["all", "shape"])
def test_slopes_are_those_of_the_product(scale, kernel):
    factors = Matern52("a") * Matern52("b")
    factors = factors * Matern52("force [N]") if kernel == "all" else factors
    fitted = RobustGPRegressor(factors, scaled=LAW, calibrate=False, target_scale=scale).fit(TABLE, "sag")
    case = NEW[INPUTS].iloc[[3]]
    (found,) = fitted.sensitivity(case)
    assert set(found.inputs) == set(INPUTS)
    assert found.value == pytest.approx(fitted.predict(case, widen=False)[0])
    for name in INPUTS:
        size = float(case[name].iloc[0])

        def predicted(h, which, name=name, size=size):
            moved = case.assign(**{name: case[name] + size * h})
            return fitted.predict(moved, return_std=True, widen=False)[which][0]

        assert_slope(found.inputs[name] * size, lambda h, p=predicted: p(h, 0), rtol=1e-5)
        assert_slope(
            found.std.inputs[name] * size, lambda h, p=predicted: p(h, 1), rtol=1e-3, atol=1e-3 * found.std.value
        )
    table = slope_table(fitted, case, [found])
    assert set(table["what"]) == set(INPUTS) and np.isfinite(table["std"]).all()


@pytest.mark.parametrize("law", ["sag ~ young / force", "sag ~ 1 / force", "sag ~ young**2"])
def test_a_wrong_law_is_not_used(law):
    with pytest.warns(LawWarning, match="The law sag ~ .* is not used: error of left-out rows"):
        fitted = RobustGPRegressor(scaled=law).fit(TABLE[[*INPUTS, "sag"]], "sag")
    assert not fitted.laws_[0].used and fitted.laws_[0].error > fitted.laws_[0].plain_error
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = RobustGPRegressor().fit(TABLE[[*INPUTS, "sag"]], "sag")
    assert_array_equal(fitted.predict(NEW[INPUTS]), plain.predict(NEW[INPUTS]))
    assert fitted.stack_.laws == [] and plain.laws_ == []


def test_several_targets_have_laws_of_their_own():
    table = TABLE.assign(thrust=TABLE["force [N]"] * (1 + TABLE["b"]), other=TABLE["a"] + TABLE["b"])
    targets, kernel = ["thrust", "other", "sag"], Matern52("a") * Matern52("b")
    for shared in (False, True):
        fitted = RobustGPRegressor(kernel, scaled=[LAW, "thrust ~ force"], share_ranges=shared)
        fitted = fitted.fit(table[[*INPUTS, *targets]], targets)
        assert [law and law.formula for law in fitted.stack_.laws] == ["force", None, "force / young"]
        one, other = (fitted.predict_distribution(NEW[INPUTS].pipe(times, *own)) for own in ((1, 1), (2, 4)))
        assert_array_equal(other.mean, one.mean * [2, 1, 0.5])
        assert_array_equal(other.column(1).mean, one.column(1).mean)
        mean, cov = fitted.predict(NEW[INPUTS], return_cov=True)
        assert_allclose(mean, one.mean)
        assert_allclose(np.sqrt([np.diag(own) for own in cov]).T, one.std, rtol=1e-9)
        assert fitted.sample(NEW[INPUTS], 4, 0).shape == (4, 20, 3)
        found = {(s.target): s for s in fitted.sensitivity(NEW[INPUTS].iloc[[0]])}
        assert found["thrust"].inputs["young [MPa]"] == 0 and found["sag"].inputs["young [MPa]"] < 0
        assert found["other"].inputs["force [N]"] == 0
        shares = variance_shares(fitted.stack_, len(table)).set_index(["target", "input"])["share"]
        assert shares["sag", "young [MPa]"] > 0.3 and shares["other", "young [MPa]"] == 0


def test_a_model_file_keeps_the_law(alone, model, tmp_path):
    for one in (alone, model):
        one.save(tmp_path / "m.swwl")
        again = load_model(tmp_path / "m.swwl")
        assert_array_equal(again.predict_interval(NEW[INPUTS]), one.predict_interval(NEW[INPUTS]))
        assert_array_equal(again.leave_one_out().mean, one.leave_one_out().mean)
        assert again.laws_ == one.laws_ and again.stack_.laws == one.stack_.laws
        assert again.scaled == LAW
        assert_array_equal(again.train_targets_, one.train_targets_)


def spoil(state, what):
    if what == "formula":
        state["laws"][0]["formula"] = "__import__('os')"
    elif what == "columns":
        state["laws"][0]["columns"] = {"force": "a", "young": "young [MPa]"}
    elif what == "inputs":
        del state["law_inputs"]["force [N]"]
    elif what == "sign":
        state["law_inputs"]["force [N]"] = -np.asarray(state["law_inputs"]["force [N]"])
    elif what == "length":
        state["law_inputs"]["force [N]"] = np.asarray(state["law_inputs"]["force [N]"])[:5]
    elif what == "number":
        state["laws"] = state["laws"] * 2
    else:
        state["values"] = None


@pytest.mark.parametrize("what", ["formula", "columns", "inputs", "sign", "length", "number", "values"])
def test_spoiled_laws_of_a_file_are_refused(alone, what):
    state = plain_state(alone.get_state())
    RobustGPRegressor.from_state(state)
    spoil(state, what)
    with pytest.raises(InputError):
        RobustGPRegressor.from_state(state)


def test_what_cannot_be_a_law_is_refused():
    bad = TABLE.assign(**{"force [N]": TABLE["force [N]"] - 500})
    for table, law, said in [
        (TABLE, "sag ~ pull", "names 'pull', but the numeric inputs are force"),
        (TABLE, "flow ~ a", "is about 'flow', but the targets are sag"),
        (TABLE, "sag ~ sag", "That is a target"),
        (TABLE.assign(kind="x"), "sag ~ a * kind", "names 'kind', but the numeric inputs"),
        (bad, LAW, r"Row \d+: force / young is -.* but a positive number is expected"),
        (TABLE.assign(sag=3 * TABLE["force [N]"]), "sag ~ force", "is 3 times force in all 60 rows"),
    ]:
        with pytest.raises(InputError, match=said):
            RobustGPRegressor(Matern52("a"), scaled=law).fit(table, "sag")


def test_rows_to_predict_need_a_positive_law(alone):
    with pytest.raises(InputError, match="Row 2: force / young is 0 with"):
        zero = NEW[INPUTS].copy()
        zero.loc[2, "force [N]"] = 0.0
        alone.predict(zero)
    with pytest.raises(InputError, match="needs column"):
        alone.predict(NEW[["a", "b"]])


def test_bad_rows_are_found_with_a_law():
    table = TABLE[[*INPUTS, "sag"]].copy()
    table.loc[7, "sag"] *= 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = RobustGPRegressor(scaled=LAW).fit(table, "sag")
    assert fitted.laws_[0].used
    assert fitted.outliers_["position"].tolist() == [7]
    assert fitted.outliers_["value"].iloc[0] == table.loc[7, "sag"]
    assert fitted.outliers_["expected"].iloc[0] == pytest.approx(TABLE.loc[7, "sag"], rel=0.05)


@pytest.mark.slow
def test_two_branches_over_a_law():
    table = make_table(120)
    table["sag"] *= np.where(np.random.default_rng(5).uniform(size=120) < 0.5, 1.0, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = RobustGPRegressor(Matern52("a"), scaled=LAW, regimes="auto").fit(table, "sag")
    found = fitted.predict_distribution(NEW[INPUTS])
    more = fitted.predict_distribution(times(NEW[INPUTS], 4.0))
    assert_allclose(more.mean, 4 * found.mean)
    assert_allclose(more.interval(), 4 * np.array(found.interval()))
    assert_allclose(more.gap(), 4 * np.array(found.gap()))
    if fitted.stack_.regimes is not None:
        assert isinstance(found.process, MixedPrediction)
        mean, _ = fitted.predict(NEW[INPUTS], return_cov=True)
        assert_allclose(mean, found.mean, rtol=1e-6)


def test_many_rows_learn_over_a_law():
    table = make_table(400)
    fitted = RobustGPRegressor(Matern52("a") * Matern52("b"), scaled=LAW, solver="vecchia").fit(table, "sag")
    assert fitted.laws_[0].used and fitted.solver_ == "vecchia"
    assert_allclose(fitted.predict(NEW[INPUTS]), NEW["sag"], rtol=0.02)
    assert_array_equal(fitted.predict(times(NEW[INPUTS], 2.0)), 2 * fitted.predict(NEW[INPUTS]))


def test_few_rows_cannot_test_a_law():
    fitted = RobustGPRegressor(Matern52("a"), scaled=LAW).fit(TABLE[:8], "sag")
    assert fitted.laws_ == [JudgedLaw("sag", "force / young", True)]
    assert fitted.laws_[0].words == "sag is learned over force / young, as requested: too few rows to test it"
    assert judged_laws([None], TABLE, None, fitted.members_, None)[:2] == ([], [])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_laws(fitted.laws_, stacklevel=1)


def test_suggestions_constraints_and_curves_are_in_units(alone):
    pool = Pool(alone, NEW[INPUTS])
    assert_allclose(pool.mean[:, 0], alone.predict(NEW[INPUTS], include_nugget=False, widen=False))
    believed, middle = pool.believed(0), float(np.median(TABLE["sag"]))
    draws = alone.stack_.sample(pool.cases, 4000, np.random.default_rng(0))
    assert_allclose(probability_between(believed, -np.inf, middle), (draws <= middle).mean(axis=0), atol=0.05)
    gains = np.maximum(draws - middle, 0).mean(axis=0)
    assert_allclose(improvement_of(believed, middle, 1.0), gains, atol=0.05 * gains.max())
    chosen = suggest(alone, NEW[INPUTS], 1, goal="maximize", criterion="ucb")["row"].iloc[0]
    assert chosen == NEW["sag"].argmax()
    table, found = predict_curves(alone, None, ("force [N]", [100.0, 200.0, 400.0]), fix={"a": 0.5})
    assert_allclose(found.mean[:, 0] / found.mean[0, 0], [1, 2, 4])
    assert table["young [MPa]"].iloc[0] == TABLE["young [MPa]"].median()


SQUARE = np.array([[x, y] for x in np.linspace(0, 1, 5) for y in np.linspace(0, 1, 5)])
CELLS = [[5 * i + j, 5 * i + j + 5, 5 * i + j + 6, 5 * i + j + 1] for i in range(4) for j in range(4)]


@pytest.fixture(scope="module")
def plates():
    rng = np.random.default_rng(0)
    width, height = rng.uniform(0.8, 1.2, (2, 40))
    meshes = [Mesh(SQUARE * [w, h], {"quad": CELLS}) for w, h in zip(width, height, strict=True)]
    table = pd.DataFrame({"mesh": meshes, "force": 10 ** rng.uniform(0, 1, 40)})
    return table.assign(sag=table["force"] * (1.0 + (width - 1.05) ** 2 + (height - 0.95) ** 2))


def test_shapes_are_improved_at_given_conditions_over_a_law(plates):
    kernel = SWWL("mesh", n_iterations=0, n_projections=10, n_quantiles=20, node_weights="area")
    fitted = RobustGPRegressor(kernel, scaled="sag ~ force", calibrate=False).fit(plates, "sag")
    modes = displacement_modes(plates["mesh"])
    found = [improve(fitted, plates["mesh"][0], modes, {"force": f}, goal="minimize") for f in (2.0, 4.0)]
    assert found[1].mean == pytest.approx(2 * found[0].mean, rel=1e-3)
    assert found[0].mean < found[0].start_mean
    with pytest.warns(CaseWarning, match="force = 20 is outside the training range"):
        improve(fitted, plates["mesh"][0], modes, {"force": 20.0}, goal="minimize")
    one = OneMesh.of(fitted, {"mesh": plates["mesh"][0]})
    case = pd.DataFrame({"force": [3.0]})
    whole = case.assign(mesh=[plates["mesh"][0]])
    assert fitted.predict_represented(one.represent(case)).mean == fitted.predict(whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "used"), [("max_disp ~ pressure / young", True), ("max_disp ~ young / pressure", False)]
)
def test_plates_with_loads_over_a_decade(law, used):
    """Sixty notched plates: the law takes away at least three tenths of the error, and a wrong one is not used."""
    table = plates_over_a_decade(160)
    train, test = table[:60], table[60:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = RobustGPRegressor(scaled=law).fit(train, "max_disp")
        found = fitted.predict(test)
        plain = RobustGPRegressor().fit(train, "max_disp").predict(test) if used else found
    assert fitted.laws_[0].used is used
    errors = [float(np.sqrt(np.mean((own - test["max_disp"]) ** 2))) for own in (found, plain)]
    assert not used or errors[0] <= 0.7 * errors[1]


def plates_over_a_decade(n):
    rng, rows = np.random.default_rng(11), []
    for radius, height, load, stiffness in rng.uniform(size=(n, 4)):
        points, cells = notched_plate(0.15 + 0.27 * radius, 0.8 * height - 0.4, 250)
        pressure, young = 6.0 * 10.0**load, 2e4 * 10.0**stiffness
        moved = pull(points, cells, Material(110.0, 100.0, 30.0, 100.0, 5.0, young=young), pressure).displacement
        mesh = Mesh(points, {"triangle": cells})
        rows.append({"mesh": mesh, "pressure": pressure, "young": young, "max_disp": float(np.abs(moved).max())})
    return pd.DataFrame(rows)


def test_a_target_over_a_positive_law_stays_positive():
    """Its ratio varies little, so that nothing speaks for a logarithm; unsure intervals are bounded all the same."""
    rng = np.random.default_rng(0)
    table = make_table(40)
    table["sag"] = table["force [N]"] / table["young [MPa]"] * (1.0 + 0.3 * table["a"] + 0.03 * rng.normal(size=40))
    model = RobustGPRegressor(scaled=LAW).fit(table[[*INPUTS, "sag"]], "sag")
    assert model.target_scales_["sag"].positive and model.target_scales_["sag"].kind == "softplus"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lower = model.predict_interval(NEW[INPUTS], level=1 - 1e-12)[0]
    assert (lower > 0).all()
