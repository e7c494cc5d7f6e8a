"""Scales of targets: inverses and slopes, what left-out rows choose, and answers in the units of the target."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from swwl import InputError, Matern52, Mesh, RobustGPRegressor, load_model
from swwl.design import suggest
from swwl.design.acquire import improvement_of, probability_between
from swwl.design.pool import Pool
from swwl.errors import OutlierWarning
from swwl.gp import Prediction
from swwl.gp.carried import carried, moment_slopes, moments
from swwl.kernels.elliptic import Elliptic, Scalar
from swwl.regression.sensitivity import slope_table
from swwl.regression.target_scale import TargetScale, requested_scales
from tests.helpers import assert_slope

SCALES = [
    TargetScale(),
    TargetScale("log"),
    TargetScale("softplus", unit=0.3),
    TargetScale("asinh", 2.0, 0.3),
    *(TargetScale("yeo-johnson", 2.0, 0.3, exponent) for exponent in (0.0, 0.5, 1.0, 1.7, 2.0)),
]


def make_table(n=60, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.uniform(-1, 1, (n, 3)), columns=list("abc"))
    smooth = 1.5 * table["a"] + np.sin(2 * table["b"]) + 0.5 * table["a"] * table["c"]
    table["smooth"] = smooth + noise * rng.normal(size=n)
    table["drag"] = 0.01 * np.exp(table["smooth"])
    return table


TABLE, NEW = make_table(60), make_table(40, seed=1)
INPUTS = list("abc")
KERNEL = Elliptic(Scalar("a"), Scalar("b"), Scalar("c"))


@pytest.fixture(scope="module")
def by_itself():
    return RobustGPRegressor().fit(TABLE[[*INPUTS, "drag"]], "drag")


@pytest.fixture(scope="module")
def log_model():
    return RobustGPRegressor(KERNEL, target_scale="log", calibrate=False).fit(TABLE, "drag")


@given(st.sampled_from(SCALES), st.floats(-40, 40))
def test_inverse_and_slopes(scale, y):
    y = np.array([abs(y) + 1e-3 if scale.positive else y])
    x = scale.forward(y)
    assert_allclose(scale.inverse(x), y, rtol=1e-9, atol=1e-9)
    assert_allclose(scale.slope(y) * scale.inverse_slope(x), 1.0, rtol=1e-6)


@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: f"{scale.kind} {scale.exponent}")
def test_slopes_are_derivatives(scale):
    y = np.array([0.2, 0.9, 7.0]) if scale.positive else np.array([-5.0, 0.1, 4.0])
    assert_slope(scale.slope(y), lambda h: scale.forward(y + h), rtol=1e-7, steps=(1e-2, 1e-3, 1e-4, 1e-5, 1e-6))
    x = scale.forward(y)
    assert_slope(scale.inverse_slope(x), lambda h: scale.inverse(x + h), rtol=1e-7)


def test_what_is_not_positive_has_no_place_on_a_positive_scale():
    for scale in (TargetScale("log"), TargetScale("softplus")):
        assert_array_equal(scale.forward(np.array([0.0, -3.0])), -np.inf)
        assert (scale.inverse(np.array([-1e4, -5.0])) > 0).all()
    assert_allclose(TargetScale("softplus", unit=0.01).forward(np.array([5.0])), 5.0)  # the identity beyond its unit


def test_products_of_effects_are_fitted_as_logarithms(by_itself):
    assert by_itself.target_scales_["drag"].kind == "log"
    assert "rows left out rises" in by_itself.target_scales_["drag"].why
    lower, upper = by_itself.predict_interval(NEW[INPUTS])
    assert (lower > 0).all()
    assert np.mean((lower <= NEW["drag"]) & (NEW["drag"] <= upper)) >= 0.85
    plain = RobustGPRegressor(target_scale="identity").fit(TABLE[[*INPUTS, "drag"]], "drag")
    error, other = (np.abs(model.predict(NEW[INPUTS]) - NEW["drag"]).mean() for model in (by_itself, plain))
    assert error < 0.5 * other
    assert by_itself.candidates_["rmse"].max() < TABLE["drag"].std()  # in the units of the target
    assert_array_equal(by_itself.train_targets_[:, 0], TABLE["drag"])


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_smooth_targets_stay_as_they_are_bit_for_bit(offset):
    table = TABLE[INPUTS].assign(y=TABLE["smooth"] + offset)
    found, plain = (RobustGPRegressor(target_scale=scale).fit(table, "y") for scale in ("auto", "identity"))
    assert found.target_scales_["y"] == TargetScale()
    for one, other in zip(found.predict_interval(NEW[INPUTS]), plain.predict_interval(NEW[INPUTS]), strict=True):
        assert_array_equal(one, other)


def test_skewed_noise_gets_positive_bounds():
    rng = np.random.default_rng(3)
    table = TABLE[INPUTS].assign(y=rng.exponential(size=len(TABLE)))
    with pytest.warns(UserWarning, match="cannot be told from noise"):
        model = RobustGPRegressor().fit(table, "y")
    assert model.target_scales_["y"].positive
    assert (model.predict_interval(NEW[INPUTS])[0] > 0).all()


def test_few_rows_and_a_named_kernel_leave_targets_as_they_are():
    few = TABLE.iloc[:15]
    assert RobustGPRegressor().fit(few[[*INPUTS, "drag"]], "drag").target_scales_["drag"].is_identity
    assert RobustGPRegressor(KERNEL, calibrate=False).fit(TABLE, "drag").target_scales_["drag"].is_identity
    asked = RobustGPRegressor(KERNEL, calibrate=False, target_scale="auto").fit(TABLE, "drag")
    assert asked.target_scales_["drag"].kind == "log"


def test_a_logarithm_is_a_fit_to_logarithms(log_model):
    by_hand = RobustGPRegressor(KERNEL, calibrate=False).fit(TABLE.assign(y=np.log(TABLE["drag"])), "y")
    new = NEW[INPUTS]
    for level in (0.5, 0.95):
        assert_array_equal(log_model.predict_interval(new, level), np.exp(by_hand.predict_interval(new, level)))
    assert_array_equal(log_model.sample(new[:5], 3, 0), np.exp(by_hand.sample(new[:5], 3, 0)))
    assert_array_equal(log_model.leave_one_out().interval()[1], np.exp(by_hand.leave_one_out().interval()[1]))
    assert log_model.domain(new)["widened"].tolist() == [
        text.replace("y", "drag") for text in by_hand.domain(new)["widened"]
    ]


def test_units_scale_all_answers(log_model):
    grams = RobustGPRegressor(KERNEL, target_scale="log", calibrate=False).fit(
        TABLE.assign(drag=1000 * TABLE["drag"]), "drag"
    )
    new = NEW[INPUTS]
    (mean, std), (more, wider) = (model.predict(new, return_std=True) for model in (log_model, grams))
    assert_allclose(more, 1000 * mean, rtol=1e-6)
    assert_allclose(wider, 1000 * std, rtol=1e-5)
    assert_allclose(grams.predict_interval(new), 1000 * np.array(log_model.predict_interval(new)), rtol=1e-5)
    cov, large = (model.predict(new[:6], return_cov=True)[1] for model in (log_model, grams))
    assert_allclose(large, 1e6 * cov, rtol=1e-4, atol=1e-4 * large.max())


def test_covariances_and_deviations_agree(log_model):
    for widen in (True, False):
        mean, std = log_model.predict(NEW[INPUTS], return_std=True, widen=widen)
        same, cov = log_model.predict(NEW[INPUTS], return_cov=True, widen=widen)
        assert_allclose(same, mean)
        assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-6)
    assert_array_equal(log_model.predict(NEW[INPUTS]), log_model.predict(NEW[INPUTS], widen=False))


@pytest.mark.parametrize("kernels", [KERNEL, {"one": KERNEL, "two": Matern52("a") * Matern52("b")}])
def test_sensitivities_are_derivatives_of_answers(kernels):
    scales = {"drag": "log", "smooth": "identity"}
    model = RobustGPRegressor(kernels, target_scale=scales, calibrate=False).fit(TABLE, ["drag", "smooth"])
    model.stack_.widths[:] = 1.7, 0.8  # as calibration might say
    row = NEW[INPUTS].iloc[[3]]
    found = model.sensitivity(row)
    told = model.predict_distribution(row, widen=False)
    for k, own in enumerate(found):
        assert_allclose([own.value, own.std.value], [told.mean[0, k], told.std[0, k]], rtol=1e-9)
        for name in own.inputs:

            def at(h, name=name, k=k):
                one = model.predict_distribution(row.assign(**{name: row[name] + h}), widen=False)
                return np.array([one.mean[0, k], one.std[0, k]])

            size = np.ptp(TABLE[own.target])
            slopes = [own.inputs[name], own.std.inputs[name]]
            assert_slope(slopes, at, rtol=1e-5, scale=size, steps=(1e-3, 1e-4, 1e-5, 1e-6))
    without = model.sensitivity(row, "drag", std=False)[0]
    assert_allclose(list(without.inputs.values()), list(found[0].inputs.values()))
    table = slope_table(model, row, found)
    assert (table["std"] > 0).all() and table["target"].tolist() == ["drag"] * 3 + ["smooth"] * 3


def test_sensitivities_that_have_no_derivative_are_refused():
    model = RobustGPRegressor(KERNEL, target_scale="log", calibrate=False, range_uncertainty=True).fit(TABLE, "drag")
    with pytest.raises(InputError, match="target_scale='identity'"):
        model.sensitivity(NEW[INPUTS].iloc[[0]], std=False)


def test_files_keep_the_scale(by_itself, tmp_path):
    by_itself.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl")
    assert again.target_scales_ == by_itself.target_scales_
    assert again.target_scales_["drag"].why == by_itself.target_scales_["drag"].why
    assert_array_equal(again.train_targets_, by_itself.train_targets_)
    assert_array_equal(again.predict_interval(NEW[INPUTS]), by_itself.predict_interval(NEW[INPUTS]))
    assert_array_equal(again.leave_one_out().mean, by_itself.leave_one_out().mean)
    state = by_itself.get_state()
    state.scales = state.scales * 2
    with pytest.raises(InputError, match="2 scales"):
        RobustGPRegressor.from_state({name: getattr(state, name) for name in state.__struct_fields__})


def test_targets_have_scales_of_their_own():
    targets = ["drag", "smooth"]
    model = RobustGPRegressor(target_scale=["log", "auto"]).fit(TABLE, targets)
    assert [one.kind for one in model.target_scales_.values()] == ["log", "identity"]
    alone = RobustGPRegressor(target_scale="identity").fit(TABLE[[*INPUTS, "smooth"]], "smooth")
    assert_array_equal(model.predict_interval(NEW[INPUTS])[0][:, 1], alone.predict_interval(NEW[INPUTS])[0])
    draws = model.sample(NEW[INPUTS][:4], 50, 0)
    assert (draws[..., 0] > 0).all() and (draws[..., 1] < 0).any()
    shared = RobustGPRegressor(share_ranges=True).fit(TABLE, targets)
    assert shared.target_scales_["smooth"].is_identity


def test_warps_are_chosen_where_they_are_wanted():
    table = TABLE[INPUTS].assign(y=np.sinh(2 * TABLE["smooth"]))  # of both signs
    model = RobustGPRegressor().fit(table, "y")
    assert model.target_scales_["y"].kind == "asinh"
    lower, upper = model.predict_interval(NEW[INPUTS])
    truth = np.sinh(2 * NEW["smooth"])
    assert np.mean((lower <= truth) & (truth <= upper)) > 0.8
    asked = RobustGPRegressor(KERNEL, calibrate=False, target_scale="warp").fit(TABLE, "smooth")
    assert asked.target_scales_["smooth"].kind in ("asinh", "yeo-johnson")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("logarithm", "'drag' is 'logarithm', but one of auto, identity, log, warp"),
        ({"lift": "log"}, "names 'lift', but the targets are drag, smooth"),
        (["log"], "1 entries, but there are 2 targets"),
        ({"smooth": "log"}, "Row 0: target 'smooth' is -2"),
    ],
)
def test_what_cannot_be_is_refused(given, said):
    targets = np.column_stack([np.ones(3), [-2.0, 0.0, 1.0]])
    with pytest.raises(InputError, match=said) as caught:
        requested_scales(given, ["drag", "smooth"], targets)
    assert caught.value.item == (0 if "Row" in said else None)


def test_constraints_and_improvements_are_in_the_units_of_the_target():
    process = Prediction(np.array([0.3, -0.5]), np.array([0.2, 0.4]), np.inf)
    drag = carried(process, [TargetScale("log")])
    found = probability_between(drag, 0.5, 1.2)
    assert_allclose(found, probability_between(process, np.log(0.5), np.log(1.2)))
    assert_allclose(probability_between(drag, -np.inf, np.inf), 1.0)
    draws = np.exp(process.mean + process.scale * np.random.default_rng(0).normal(size=(400_000, 2)))
    assert_allclose(improvement_of(drag, 1.1, 1.0), np.maximum(draws - 1.1, 0).mean(axis=0), rtol=0.02)
    assert_allclose(improvement_of(drag, -0.9, -1.0), np.maximum(0.9 - draws, 0).mean(axis=0), rtol=0.02)


@pytest.mark.parametrize("criterion", ["ei", "ucb", "learn"])
def test_suggestions_use_transformed_targets(log_model, criterion):
    goal = {"goal": "learn"} if criterion == "learn" else {"goal": "minimize", "criterion": criterion}
    found = suggest(log_model, NEW[INPUTS], 4, **goal, constraints={"drag": (0.001, 0.05)})
    assert found["row"].nunique() == 4 and (found["score"] >= 0).all()
    pool = Pool(log_model, NEW[INPUTS])
    assert_allclose(pool.believed(0).mean, pool.mean[:, 0])
    assert_allclose(pool.believed(0).std, np.sqrt(pool.variance[:, 0]), rtol=1e-6)
    pool.settle(int(found["row"][0]))
    assert (pool.believed(0).process.scale <= Pool(log_model, NEW[INPUTS]).believed(0).process.scale * (1 + 1e-9)).all()
    if criterion == "ei":
        best = NEW["drag"][found["row"]].min()
        assert best <= NEW["drag"].quantile(0.25)


def test_meshes_and_an_improved_shape():
    from swwl.design import displacement_modes, improve

    rods = [Mesh([[0.0], [length]], [[0, 1]]) for length in np.linspace(1, 2, 14)]
    table = {"rod": rods, "y": [np.exp(-8 * (rod.points[1, 0] - 1.6) ** 2) for rod in rods]}
    from swwl import SWWL

    kernel = SWWL("rod", n_iterations=0, n_projections=2, n_quantiles=3)
    model = RobustGPRegressor(kernel, calibrate=False, target_scale="log").fit(table, "y")
    found = improve(model, rods[4], displacement_modes(rods), caution=1.0)
    assert abs(found.mesh.points[1, 0] - 1.6) < 0.02
    assert 0 < found.interval[0] <= found.mean <= found.interval[1]


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_a_bad_row_does_not_choose_the_scale(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    y = pd.Series(X.to_numpy() @ [1.0, 2.0, 3.0, 4.0], name="y")
    y[7] -= 8 * y.std()
    with pytest.warns(OutlierWarning, match="row 7"):
        model = RobustGPRegressor().fit(X, y)
    assert model.target_scales_["y"].is_identity
    new = pd.DataFrame(rng.uniform(-1, 1, size=(50, 4)), columns=list("abcd"))
    np.testing.assert_allclose(model.predict(new), new.to_numpy() @ [1.0, 2.0, 3.0, 4.0], atol=0.2)


def test_means_stay_finite_where_a_process_knows_nothing():
    scale = TargetScale("log").limited(TABLE["drag"].to_numpy())
    assert 0.5 < scale.most <= 1.0
    sure, lost = (carried(Prediction(np.zeros(1), np.full(1, s), np.inf), [scale]) for s in (0.1, 9.0))
    assert_allclose(sure.mean, np.exp(0.005), rtol=1e-4)
    assert lost.mean[0] < 2.0 and lost.std[0] < 400.0
    assert np.log(lost.interval(0.95)[1][0]) > 15  # bounds are those of the process
    for spread in (0.3, 0.9 * scale.most, 1.5 * scale.most, 5 * scale.most):
        for k in range(2):
            assert_slope(
                moment_slopes(scale, 0.2, spread, 9.0)[:, k],
                lambda h, k=k, s=spread: np.ravel(
                    moments(scale, np.array([0.2 + h * (k == 0)]), np.array([s + h * (k == 1)]), 9.0)
                ),
                atol=1e-8,
            )
