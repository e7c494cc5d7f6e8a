"""Which cases to simulate next: exact updates, closed forms of improvement, constraints, bad input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from swwl import Components, Elliptic, Matern52, RobustGPRegressor
from swwl.design import pool as pools
from swwl.design import suggest
from swwl.design.acquire import (
    coordinates,
    expected_improvement,
    front_of,
    hypervolume,
    improvement_of,
    probability_between,
)
from swwl.design.coverage import Coverage
from swwl.design.pool import Pool
from swwl.design.space import success_chance
from swwl.errors import InputError, InputTypeError
from swwl.gp.carried import carried
from swwl.gp.mixed import MixedPrediction, mixed
from swwl.gp.prediction import Prediction
from swwl.regression.target_scale import TargetScale
from tests.domain.test_verdict import SKIN, plates


def cases(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.uniform(size=(n, 2)), columns=["a", "b"])
    return table.assign(u=np.sin(4 * table["a"]) + table["b"], v=table["a"] * table["b"])


@pytest.fixture(scope="module")
def single():
    return RobustGPRegressor(Matern52("a") * Matern52("b"), n_starts=1, calibrate=False).fit(
        cases(25, 0)[["a", "b", "u"]], "u"
    )


@pytest.fixture(scope="module")
def stack():
    kernels = {"product": Matern52("a") * Matern52("b"), "smooth": Elliptic("a", "b", correlation="gaussian")}
    return RobustGPRegressor(kernels, n_starts=1).fit(cases(40, 0), ["u", "v"])


@pytest.mark.parametrize("name", ["single", "stack"])
def test_columns_of_the_covariance_are_those_of_predict(name, request):
    model, new = request.getfixturevalue(name), cases(150, 1)[["a", "b"]]
    mean, cov = model.predict(new, return_cov=True, include_nugget=False, widen=False)
    pool = Pool(model, new)
    cov = cov.reshape(-1, 150, 150)
    np.testing.assert_allclose(pool.mean, mean.reshape(150, -1))
    np.testing.assert_allclose(pool.variance.T, np.diagonal(cov, axis1=1, axis2=2), atol=1e-12)
    np.testing.assert_allclose(pool.column(130), cov[:, 130], atol=1e-12)
    pool.settle(3), pool.settle(140)
    given_both = [3, 140]
    noise = np.stack([np.diag(pool.noise[given_both, k]) for k in range(len(cov))])
    middle = np.linalg.inv(cov[:, given_both][:, :, given_both] + noise)
    left = cov - cov[:, :, given_both] @ middle @ cov[:, given_both]
    np.testing.assert_allclose(pool.column(7), left[:, 7], atol=1e-10)
    np.testing.assert_allclose(pool.variance.T, np.diagonal(left, axis1=1, axis2=2), atol=1e-10)


@pytest.mark.slow
def test_integrated_variance_is_taken_away_as_the_formula_says(single):
    new = cases(40, 2)[["a", "b"]]
    _, cov = single.predict(new, return_cov=True, include_nugget=False, widen=False)
    noise = Pool(single, new).noise[:, 0]
    gains = (cov**2).sum(axis=0) / (np.diag(cov) + noise) / np.trace(cov)
    gains = (gains + Coverage(*coordinates(Pool(single, new))).gains()) / 2
    found = suggest(single, new, 3)
    assert found["row"][0] == gains.argmax() and found["score"][0] == pytest.approx(gains.max())
    assert found["score"].is_monotonic_decreasing and len(set(found["row"])) == 3
    assert suggest(single, new, 1, criterion="variance")["row"][0] == np.diag(cov).argmax()
    assert suggest(single, new, 2, pending=found["row"][:1])["row"].tolist() == found["row"][1:].tolist()


def test_copies_of_candidates_do_not_draw_suggestions_to_them(single):
    new = cases(30, 2)[["a", "b"]]
    crowded = pd.concat([new, *[new[:1]] * 200], ignore_index=True)
    found = suggest(single, crowded, 30)
    assert found["row"][0] == suggest(single, new, 1)["row"][0] and set(found["row"]) == set(range(30))
    with pytest.raises(InputError, match="the pool has 30, 200 more are left out .training cases, copies"):
        suggest(single, crowded, 31)


@pytest.mark.slow
def test_large_pools_are_worked_through_in_blocks(stack, monkeypatch):
    new = cases(90, 3)[["a", "b"]]
    whole = suggest(stack, new, 4)
    monkeypatch.setattr(pools, "_BLOCK", 7)
    monkeypatch.setattr(pools, "_WIDE_BLOCK", 11)
    monkeypatch.setattr(pools, "_MOST_PLACES", 89)  # all but one stand for the pool: nothing is known in advance
    np.testing.assert_allclose(suggest(stack, new, 4)["score"], whole["score"], rtol=0.2)
    monkeypatch.setattr(pools, "_MOST_PLACES", 90)
    pd.testing.assert_frame_equal(suggest(stack, new, 4), whole)
    for goal, criterion in [("learn", "variance"), ("learn", "maximin"), ("maximize:u", "ei"), ("minimize:v", "ucb")]:
        assert len(suggest(stack, new, 3, goal, criterion=criterion)) == 3


@settings(max_examples=10, deadline=None)
@given(st.floats(-3, 3), st.floats(0.1, 3), st.floats(-3, 3), st.sampled_from([3.0, 8.0, 50.0, np.inf]))
def test_expected_improvement_is_an_integral(mean, scale, best, df):
    z = np.linspace(-400, 400, 80_001)
    density = norm.pdf(z) if np.isinf(df) else student.pdf(z, df)
    integral = np.trapezoid(np.maximum(mean + scale * z - best, 0) * density, z)
    found = expected_improvement(np.array([mean]), np.array([scale]), df, best)[0]
    assert found == pytest.approx(integral, rel=2e-3, abs=2e-3 * scale)
    assert found >= max(mean - best, 0) - 1e-9


def test_probabilities_of_intervals_add_up():
    prediction = Prediction(np.array([0.0, 1.0]), np.array([1.0, 2.0]), 7.0)
    parts = [(-np.inf, 0.3), (0.3, 2.0), (2.0, np.inf)]
    np.testing.assert_allclose(sum(probability_between(prediction, *part) for part in parts), 1)


def either_or():
    """Two cases that end at -1 or at 1, with equal and with unequal chances."""
    parts = [Prediction(np.full(2, mean), np.full(2, 0.1), 8.0) for mean in (-1.0, 1.0)]
    return mixed(parts, np.array([[0.5, 0.9], [0.5, 0.1]]))


def test_what_lies_between_two_regimes_is_improbable():
    """One bell of the same mean and variance would say 38 %, and that 1.5 is exceeded by 0.03 on average."""
    found = either_or()
    high = student.sf(-5.0, 8.0)
    np.testing.assert_allclose(probability_between(found, 0.5, np.inf), np.array([0.5, 0.1]) * high, rtol=1e-3)
    np.testing.assert_allclose(probability_between(found, -0.5, 0.5), student.sf(5.0, 8.0), rtol=1e-2)
    own = expected_improvement(np.ones(1), np.full(1, 0.1), 8.0, 1.5)[0]
    np.testing.assert_allclose(improvement_of(found, 1.5, 1.0), own * np.array([0.5, 0.1]), rtol=1e-3)


def test_improvements_of_regimes_on_another_scale_are_averages():
    found = carried(either_or(), [TargetScale("log")], times=np.array([2.0, 3.0]))
    draws = student.rvs(8.0, size=(100_000, 2, 2), random_state=0) * 0.1 + [[-1.0], [1.0]]
    first = np.random.default_rng(0).random((100_000, 2)) < [0.5, 0.9]
    y = np.exp(np.where(first, draws[:, 0], draws[:, 1])) * [2.0, 3.0]
    for best, sign in ((3.0, 1.0), (-1.0, -1.0)):
        expected = np.maximum(sign * y - best, 0.0).mean(axis=0)
        np.testing.assert_allclose(improvement_of(found, best, sign), expected, rtol=0.03)
    np.testing.assert_allclose(probability_between(found, 1.0, 6.0), ((y > 1.0) & (y < 6.0)).mean(axis=0), atol=0.005)


def test_a_pool_believes_in_both_regimes(single):
    """What is learned makes either surer; they come together where nothing is left to be learned."""
    pool = Pool(single, cases(2, 1)[["a", "b"]])
    pool._function = either_or().columns()
    full = pool._function.std**2
    for share in (1.0, 0.995, 0.25, 0.0):
        pool.variance = share * full
        found = pool.believed(0)
        assert isinstance(found, MixedPrediction)
        np.testing.assert_allclose(found.std**2, share * full[:, 0], atol=1e-15)
        np.testing.assert_allclose(found.mean, pool._function.mean[:, 0])
        apart = found.parts[1].mean - found.parts[0].mean
        np.testing.assert_allclose(
            apart, 2.0 if share > 0.99 else 2.0 * np.sqrt(share * full / (full - 0.04 / 3))[:, 0]
        )


def test_the_best_case_of_a_pool_is_found(stack):
    table = cases(200, 4)
    new = table[["a", "b"]]
    found = suggest(stack, new, 5, "maximize", target="u")
    assert table["u"].to_numpy()[found["row"]].max() >= np.sort(table["u"])[-2]
    assert "predicted" in found["why"][0] and "best so far" in found["why"][0]
    lowest = suggest(stack, new, 5, "minimize:v")
    assert table["v"].to_numpy()[lowest["row"]].min() <= np.sort(table["v"])[4]


def test_constraints_are_respected_in_what_is_predicted(stack):
    table = cases(200, 5)
    found = suggest(stack, table[["a", "b"]], 5, "maximize", target="u", constraints={"v": (None, 0.1)})
    mean = stack.predict(table[["a", "b"]].iloc[found["row"]])
    assert (mean[:, 1] < 0.11).all() and "v at most 0.1 with" in found["why"][0]
    nowhere = suggest(stack, table[["a", "b"]], 2, "maximize", target="u", constraints={"v": (5, None)})
    assert "no training case satisfies the constraints" in nowhere["why"][0]


@pytest.mark.parametrize(("bounds", "side"), [((1e9, None), 1), ((None, -1e9), -1)])
@pytest.mark.parametrize("goal", ["learn", "maximize:u"])
def test_where_no_candidate_keeps_a_bound_the_nearest_are_chosen(stack, goal, bounds, side):
    new = cases(40, 77)[["a", "b"]]
    found = suggest(stack, new, 2, goal, constraints={"v": bounds})
    told = stack.predict_distribution(new, widen=False).column(1)
    away = side * (side * 1e9 - told.mean) / told.std
    assert found["row"].tolist() == np.argsort(away)[:2].tolist() and (found["score"] == 0).all()
    assert found["why"].str.contains("no candidate is expected to satisfy the constraints").all()
    plain = suggest(stack, new, 2, goal, constraints={"v": (float(np.median(told.mean)), None)})
    assert not plain["why"].str.contains("no candidate").any()


def test_failed_and_running_cases_are_not_chosen(single):
    new = cases(30, 6)[["a", "b"]]
    first = suggest(single, new, 3)["row"]
    mask = np.isin(np.arange(30), first)
    assert not set(suggest(single, new, 5, failed=mask)["row"]) & set(first)
    assert not set(suggest(single, new, 5, "maximize", pending=first)["row"]) & set(first)


def test_cases_near_failures_are_chosen_late():
    rows = np.array([[0.0, 0.0], [0.1, 0.0], [3.0, 3.0]])
    chance = success_chance(rows, np.array([[3.0, 3.1]]), rows[:1])
    assert chance[0] < 0.6 and chance[1] < 0.6 and chance[2] > 0.9
    np.testing.assert_array_equal(success_chance(rows, rows, rows[:0]), 1)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_area_below_a_front_is_counted_by_points(seed):
    rng = np.random.default_rng(seed)
    values = rng.uniform(size=(8, 2))
    front = front_of(values)
    assert (np.diff(front[:, 0]) > 0).all() and (np.diff(front[:, 1]) < 0).all()
    drawn = rng.uniform(size=(40_000, 2))
    inside = (drawn[:, None] < values).all(axis=2).any(axis=1).mean()
    assert hypervolume(front, np.zeros(2)) == pytest.approx(inside, abs=0.012)


def test_two_goals_are_judged_by_the_area_that_is_expected(stack):
    new = cases(12, 5)[["a", "b"]]
    found = suggest(stack, new, 1, "maximize:u,minimize:v")
    mean = stack.predict(new, include_nugget=False)
    rng = np.random.default_rng(0)
    known = stack.train_targets_ * [1, -1]
    start = front_of(known)
    reference = start.min(axis=0) - 0.1 * np.ptp(known, axis=0)
    pool = Pool(stack, new)
    case = int(found["row"][0])
    draws = mean[case] + rng.standard_t(pool.df, (4000, 2)) * [pool.believed(k).scale[case] for k in (0, 1)]
    grown = [hypervolume(front_of(np.vstack([start, draw * [1, -1]])), reference) for draw in draws]
    assert found["score"][0] == pytest.approx(np.mean(grown) - hypervolume(start, reference), rel=0.1, abs=1e-4)
    assert "the best compromises so far" in found["why"][0]
    several = suggest(stack, new, 4, ["maximize:u", "minimize:v"], constraints={"u": (0.2, None)})
    assert len(set(several["row"])) == 4


def test_two_goals_trace_the_front_of_a_pool(stack):
    table = cases(200, 9)
    chosen = suggest(stack, table[["a", "b"]], 12, "maximize:u,minimize:v")["row"]
    values = table[["u", "v"]].to_numpy() * [1, -1]
    reference = values.min(axis=0)
    best = hypervolume(front_of(values), reference)
    random = [np.random.default_rng(s).permutation(200)[:12] for s in range(9)]
    share = [hypervolume(front_of(values[rows]), reference) / best for rows in [chosen, *random]]
    assert share[0] > 0.9 and share[0] > np.median(share[1:])


def test_suggestions_among_meshes():
    kernel = Elliptic(Components("mesh", n_components=2, **SKIN), "load")
    table = plates(30, 0)
    model = RobustGPRegressor(kernel, n_starts=1, calibrate=False).fit(table, "stress")
    for criterion in ("imse", "maximin"):
        assert len(suggest(model, plates(20, 1), 3, criterion=criterion)) == 3


def test_bad_wishes_are_refused(single, stack):
    new = cases(6, 77)[["a", "b"]]
    for options, text in [
        ({"n": 7}, "7 cases were requested, but the pool has 6"),
        ({"n": 6, "pending": [0]}, "6 cases were requested, but the pool has 5, 1 more are left out"),
        ({"goal": "maximize:lift"}, "no target 'lift'; it has u, v"),
        ({"goal": "maximize"}, "Only one target can be maximized, but there are u, v"),
        ({"goal": "improve"}, "goal must be one of learn, maximize, minimize"),
        ({"goal": []}, "goal must be one of learn, maximize, minimize, or a list of two, not \\[\\]"),
        ({"goal": 3}, "goal must be one of .* not 3"),
        ({"criterion": "ei"}, "criterion must be one of imse, variance, maximin for goal 'learn'"),
        ({"constraints": {"w": (1, None)}}, "no target 'w'"),
        ({"constraints": {"v": (2, 1)}}, "is impossible: at least 2 and at most 1"),
        ({"constraints": {"v": 3}}, "must be \\(low, high\\)"),
        ({"goal": "learn:u", "target": "v"}, "one is enough"),
        ({"goal": "maximize:u,learn:v"}, "Two goals are expected, such as"),
        ({"goal": "maximize:u,minimize:u"}, "Both goals name 'u'"),
        ({"goal": "maximize:u,minimize:v", "target": "u"}, "one is enough"),
        ({"goal": "maximize:u,minimize:v", "criterion": "ei"}, "criterion must be ehvi for two goals"),
    ]:
        with pytest.raises(InputError, match=text):
            suggest(stack, new, **({"n": 1} | options))
    with pytest.raises(InputError, match="needs column 'b'"):
        suggest(single, new[["a"]], 1)
    with pytest.raises(InputTypeError, match="needs a fitted RobustGPRegressor"):
        suggest("model", new, 1)


def test_training_cases_are_never_chosen(single: RobustGPRegressor) -> None:
    new = cases(8, 77)[["a", "b"]]
    known = single.train_inputs_[["a", "b"]]
    pool = pd.concat([known * (1 + 1e-15), new], ignore_index=True)
    for options in ({}, {"goal": "maximize:u"}, {"criterion": "maximin"}, {"criterion": "variance"}):
        found = suggest(single, pool, 8, **options)
        assert set(found["row"]) == set(range(len(known), len(known) + 8))
        assert found.attrs["fitted"] == len(known)
    assert suggest(single, new, 8).attrs["fitted"] == 0
    with pytest.raises(InputError, match="the pool has 8, .* more are left out .training cases"):
        suggest(single, pool, 9)
