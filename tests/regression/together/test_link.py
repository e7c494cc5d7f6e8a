"""Recursive co-kriging in closed form."""

import numpy as np
import pandas as pd
import pytest

from swwl import Elliptic, Matern52, Mesh, RobustGPRegressor
from swwl.datasets.tensile2d.mesh import notched_plate
from swwl.gp.prediction import Prediction
from swwl.regression.together.chain import HelperRows, helped, preferred, seen_mean, twins
from swwl.regression.together.link import slope_of, widening


def cheap(x):
    return np.sin(6 * x)


def good(x):
    return 1.5 * cheap(x) + 0.5 * x - 0.2


@pytest.fixture(scope="module")
def chain():
    rng = np.random.default_rng(0)
    many, few = np.linspace(0, 1, 25), np.sort(rng.uniform(0, 1, 9))
    options = {"calibrate": False, "nugget": 1e-6}
    helper = RobustGPRegressor(Matern52("x"), **options).fit(pd.DataFrame({"x": many}), cheap(many))
    table = pd.DataFrame({"x": few})
    alone = RobustGPRegressor(Matern52("x"), **options).fit(table, pd.Series(good(few), name="y"))
    nothing = HelperRows(np.full(9, np.nan), np.full(9, -1))
    model = helped(alone, helper, table, pd.Series(good(few), name="y"), nothing, "h")
    return helper, alone, model, table


def test_the_chain_is_the_formula_of_recursive_cokriging(chain):
    helper, _, model, table = chain
    new = pd.DataFrame({"x": np.linspace(0.02, 0.97, 40)})
    m_h, s_h = helper.predict(new, return_std=True, widen=False)
    # universal kriging with the trend (1, h), written out
    gp = model.gps_[0]
    beta, nugget, x = gp.beta_[0] / model.kernel_.units()[0], gp.nugget_, table["x"].to_numpy()

    def correlation(a, b):
        d = np.sqrt(5) * beta * np.abs(a[:, None] - b)
        return (1 + d + d**2 / 3) * np.exp(-d)

    y, given = good(x), helper.predict(table, widen=False)
    design, new_design = (np.column_stack([np.ones(len(h)), h]) for h in (given, m_h))
    among = correlation(x, x) + nugget * np.eye(len(x))
    inverse = np.linalg.inv(among)
    theta = np.linalg.solve(design.T @ inverse @ design, design.T @ inverse @ y)
    cross = correlation(new["x"].to_numpy(), x)
    left = y - design @ theta
    mean = new_design @ theta + cross @ inverse @ left
    found, std = model.predict(new, return_std=True, widen=False)
    assert found == pytest.approx(mean, abs=1e-5)
    assert model.stack_.link.slope == pytest.approx(theta[1], rel=1e-4)
    sigma2 = left @ inverse @ left / (len(x) - 2)
    u = new_design - cross @ inverse @ design
    variance = 1 + nugget - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    variance += np.einsum("ij,jk,ik->i", u, np.linalg.inv(design.T @ inverse @ design), u)
    own = sigma2 * np.maximum(variance, 0) * gp.df_ / (gp.df_ - 2)
    assert std == pytest.approx(np.sqrt(own + theta[1] ** 2 * s_h**2), rel=1e-3)


def test_a_helper_makes_a_few_rows_worth_many(chain):
    _, alone, model, _ = chain
    x = np.linspace(0, 1, 60)
    errors = [np.abs(m.predict(pd.DataFrame({"x": x}), widen=False) - good(x)).max() for m in (alone, model)]
    assert errors[1] < 0.1 * errors[0]


def test_covariances_samples_and_deviations_agree(chain):
    model, new = chain[2], pd.DataFrame({"x": [0.11, 0.12, 0.9]})
    mean, std = model.predict(new, return_std=True, widen=False)
    joint = model.predict(new, return_cov=True, widen=False)[1]
    assert np.sqrt(np.diag(joint)) == pytest.approx(std, rel=1e-6)
    draws = model.sample(new, 4000, random_state=0, include_nugget=True)
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.1 * std.max())
    assert draws.std(axis=0) == pytest.approx(std, rel=0.1)
    assert np.corrcoef(draws[:, 0], draws[:, 1])[0, 1] == pytest.approx(joint[0, 1] / std[0] / std[1], abs=0.05)


def test_covariances_know_of_the_regimes_of_a_helper():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(200, 2)), columns=["a", "b"])
    second = np.sin(9 * table["a"]) + 0.3 * rng.normal(size=200) > 0.3
    y = np.where(second, 1.0, -1.0) + 0.1 * table["b"] + 0.02 * rng.normal(size=200)
    fine = table[:40].assign(y=1.3 * y[:40] + 0.1 * table["b"][:40], level=2)
    both = pd.concat([table.assign(y=y, level=1), fine], ignore_index=True)
    options = {"targets_together": True, "regimes": "auto", "outliers": "keep", "n_starts": 1}
    model = RobustGPRegressor(Matern52("a") * Matern52("b"), **options)
    model.fit(both, "y", fidelity="level")
    assert model.stack_.link.helper.regimes is not None
    new = table[40:48]
    mean, std = model.predict(new, return_std=True, widen=False)
    joint_mean, joint = model.predict(new, return_cov=True, widen=False)
    assert std.max() > 2 * std.min()  # where nobody knows the branch
    np.testing.assert_allclose(joint_mean, mean)
    np.testing.assert_allclose(np.sqrt(np.diag(joint)), std, rtol=1e-6)
    assert np.linalg.eigvalsh(joint).min() > 0


def test_answers_do_not_depend_on_the_batch(chain):
    model, new = chain[2], pd.DataFrame({"x": [0.3, 0.5, 0.7]})
    assert model.predict(new, widen=False)[1:2] == pytest.approx(model.predict(new[1:2], widen=False), rel=1e-7)


def test_twins_are_the_same_cases(chain):
    helper = chain[0]
    found = twins(helper, pd.DataFrame({"x": [0.0, 0.51, 1.0]}))
    assert found.places.tolist() == [0, -1, 24]
    assert found.values[2] == pytest.approx(cheap(1.0)) and np.isnan(found.values[1])


@pytest.mark.parametrize("with_numbers", [True, False])
def test_twins_may_be_meshed_differently(with_numbers):
    rng = np.random.default_rng(0)
    grid, load = np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, 4)), rng.uniform(size=24)
    shapes = rng.permutation(np.column_stack([own.ravel() for own in grid]))

    def plates(n_nodes):
        found = [notched_plate(0.15 + 0.27 * a, 0.8 * b - 0.4, n_nodes) for a, b in shapes]
        table = pd.DataFrame({"mesh": [Mesh(points, {"triangle": cells}) for points, cells in found]})
        return table.assign(load=load) if with_numbers else table

    helper = RobustGPRegressor(n_starts=1, calibrate=False).fit(plates(150)[:16], shapes[:16] @ [1, 2])
    assert twins(helper, plates(500)[8:]).places.tolist() == [*range(8, 16), *[-1] * 8]
    if with_numbers:
        others = plates(500)[8:].assign(load=lambda table: table["load"] + 0.01)
        assert (twins(helper, others).places == -1).all()


@pytest.mark.filterwarnings("ignore::swwl.errors.GPWarning")
def test_what_a_helper_says_of_rows_it_has_seen():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(30, 2)), columns=["a", "b"])
    y = np.exp(np.sin(4 * table["a"]) + 0.1 * rng.normal(size=30))
    model = RobustGPRegressor(nugget=0.1, target_scale="log", trend=["b"], calibrate=False).fit(table, y)
    found = seen_mean(model.stack_, np.array([4, 2]))
    assert found == pytest.approx(model.stack_.predict(model.stack_.represent(table)).process.mean[[4, 2]], rel=1e-9)
    assert np.abs(found - np.log(y[[4, 2]])).min() > 1e-3
    chained = numbers_over_levels(["coarse", "middle", "fine"], "identity")
    middle = chained.chain_.parts[1]
    own = middle.train_inputs_[["a", "b"]].reset_index(drop=True)
    expected = middle.stack_.predict(middle.stack_.represent(own)).mean
    assert seen_mean(middle.stack_, np.arange(20)) == pytest.approx(expected, rel=1e-6)


def nested(shared, seed, n=100, known=25):
    """A noisy helper, what is known of it where a target is, and the target, noisy by the same or not at all."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 3))
    smooth, noise = np.sin(5 * x[:, 0]) + x[:, 1] ** 2 + x[:, 0] * x[:, 2], 0.05 * rng.normal(size=n)
    target = 1.5 * (smooth + noise if shared else smooth) + 0.3 * x[:, 1]
    table, kernel = pd.DataFrame(x, columns=list("abc")), Elliptic("a", "b", "c")
    helper = RobustGPRegressor(kernel, n_starts=1).fit(table, smooth + noise)
    some, y = table[:known], pd.Series(target[:known], name="y")
    alone = RobustGPRegressor(kernel, target_scale="identity", n_starts=1).fit(some, y)
    return alone, helper, some, y, HelperRows((smooth + noise)[:known], np.arange(known)), "h"


@pytest.mark.filterwarnings("ignore::swwl.errors.GPWarning")
@pytest.mark.parametrize("shared", [True, False])
def test_rows_left_out_tell_answers_from_predictions(shared):
    """An input that nobody knows moves both answers of a case; noise of one of them does not."""
    given = nested(shared, seed=2)
    answers, predictions = given[4].values, given[1].predict(given[2], widen=False)
    for same in (True, False):
        model = helped(*given, same=same)
        usual = predictions if same else answers
        np.testing.assert_allclose(model.stack_.link.given, usual, rtol=1e-9, atol=1e-9)
        link = preferred(model, *given, same=same).stack_.link
        np.testing.assert_allclose(link.given, answers if shared else predictions, rtol=1e-9, atol=1e-9)
    # without a case, the helper says what others say, and the rest is as it was
    model, seen = helped(*given, of_answers=False), predictions
    left_out = given[1].leave_one_out().column(0).mean[:25]
    own = RobustGPRegressor(Elliptic("a", "b", "c"), trend=["h"], n_starts=1, target_scale="identity")
    own.fit(given[2].assign(h=predictions), given[3])
    expected = own.cross_validation()[1].mean[:, 0] + model.stack_.link.slope * (left_out - seen)
    np.testing.assert_allclose(model.leave_one_out().column(0).mean, expected, rtol=1e-6)


def test_answers_are_carried_to_the_meshes_of_the_target():
    """A mesh that moves predictions by some amount moves the answer that stands for one by as much."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.uniform(size=30)})  # of a mesh, say, that tells a little of how fine it is
    helper = RobustGPRegressor(Matern52("size"), n_starts=1, calibrate=False).fit(table, cheap(table["size"]))
    finer, known = table[:9] + 0.01, HelperRows(cheap(table["size"][:9]).to_numpy(), np.arange(9))
    y = pd.Series(good(table["size"][:9]), name="y")
    alone = RobustGPRegressor(Matern52("size"), n_starts=1, calibrate=False).fit(finer, y)
    link = helped(alone, helper, finer, y, known, "h", of_answers=True).stack_.link
    moved = helper.predict(finer, widen=False) - helper.predict(table[:9], widen=False)
    np.testing.assert_allclose(link.given, known.values + moved, rtol=1e-6)


def test_slope_is_in_units_of_the_helper():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.uniform(size=20), "h": 1e3 * rng.uniform(size=20)})
    y = 0.25 * table["h"] + np.sin(table["a"])
    model = RobustGPRegressor(Matern52("a"), trend=["h"], calibrate=False).fit(table, y)
    assert slope_of(model.stack_) == pytest.approx(0.25, rel=1e-3)


def test_nothing_is_added_to_what_is_not_known():
    unsure = Prediction(np.zeros(2), np.array([0.0, 1.0]), 1.0)  # has no standard deviation
    assert widening(unsure, np.ones(2)).tolist() == [1.0, 1.0]


def numbers_over_levels(names, scale):
    """A chain of levels of numbers, each good for the next, on a scale."""
    rng = np.random.default_rng(3)
    tables = []
    for k, (name, n) in enumerate(zip(names, (40, 20, 12), strict=False)):
        x = rng.uniform(size=(n, 2))
        y = np.exp(0.4 * np.sin(4 * x[:, 0]) + 0.5 * x[:, 1] + 0.2 * k * x[:, 0])
        tables.append(pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "level": name, "y": y}))
    options = {"calibrate": True, "regimes": "one", "target_scale": scale, "targets_together": True}
    kernel = Matern52("a") * Matern52("b")
    return RobustGPRegressor(kernel, **options).fit(pd.concat(tables), "y", fidelity={"level": names})


@pytest.mark.filterwarnings("ignore::swwl.errors.GPWarning")
@pytest.mark.parametrize("scale", ["identity", "log"])
@pytest.mark.parametrize("names", [["coarse", "fine"], ["coarse", "middle", "fine"]])
def test_derivatives_are_those_of_both(names, scale):
    """Of the mean and, through both deviations, of the standard deviation."""
    model, at = numbers_over_levels(names, scale), {"a": 0.37, "b": 0.55}
    found = model.sensitivity(pd.DataFrame([at]))[0]

    def told(name, step):
        new = pd.DataFrame([{**at, name: at[name] + step}])
        return np.ravel(model.predict(new, return_std=True, widen=False))

    np.testing.assert_allclose([found.value, found.std.value], told("a", 0.0), rtol=1e-9)
    for name in at:
        differences = (told(name, 1e-4) - told(name, -1e-4)) / 2e-4
        assert found.inputs[name] == pytest.approx(differences[0], rel=1e-4)
        assert found.std.inputs[name] == pytest.approx(differences[1], rel=1e-3, abs=1e-6)


def test_conditions_are_refused_in_one_line(chain):
    with pytest.raises(ValueError, match="Conditions cannot be fixed"):
        chain[2].stack_.training_cases_at({"x": 0.5})
