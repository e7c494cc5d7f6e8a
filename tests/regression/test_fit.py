"""Folds, starts and pruning: what happens between the fit on all rows and the first prediction."""

import warnings

import numpy as np
import pandas as pd
import pytest

from swwl import Gaussian, Matern52, Prediction, RobustGP, RobustGPRegressor
from swwl.errors import GPWarning
from swwl.gp import Distances
from swwl.gp.folds import shuffled_folds
from swwl.regression import intervals
from swwl.regression.fit import FewRows, Task, same_rows, weigh
from swwl.regression.fit_many_rows import ManyRows
from swwl.regression.intervals import fold_predictions, interval_factor, make_folds
from swwl.regression.mixture import pruned
from swwl.regression.stack import Layout


def line(n, seed=0):
    """Distances among n points of a line, and a smooth function of them."""
    x = np.random.default_rng(seed).uniform(size=n)
    return np.abs(x[:, None] - x), np.sin(6 * x)


@pytest.mark.parametrize(("many", "steps"), [(500, intervals._MOST_STEPS), (10, intervals._FEWER_STEPS)])
def test_folds_start_where_the_fit_of_all_rows_began_or_of_many_where_it_ended(monkeypatch, many, steps):
    monkeypatch.setattr(intervals, "_MANY", many)
    distances, y = line(30)
    known = RobustGP(["matern52"]).fit([distances], y)
    asked = []

    class Spy(RobustGP):
        def fit(self, *args, start=None, max_iter=None, **options):
            asked.append((start, max_iter))
            return super().fit(*args, start=start, max_iter=max_iter, **options)

    def cross(out, train):
        return [Distances(distances[np.ix_(out, train)])]

    folds = make_folds(30, 0)
    blocks = [Distances(distances)]
    found = fold_predictions(lambda: Spy(["matern52"]), blocks, cross, y, None, folds, known)
    assert len(asked) == len(folds) == 5 and {max_iter for _, max_iter in asked} == {steps}
    assert all((start is known) == (many == 10) for start, _ in asked)
    assert np.sqrt(np.mean((found.mean - y) ** 2)) < 0.05


def test_a_fold_says_what_a_process_without_it_says():
    distances, y = line(24)
    known = RobustGP(["matern52"]).fit([distances], y)
    folds = make_folds(24, 1)

    def cross(out, train):
        return [Distances(distances[np.ix_(out, train)])]

    found = fold_predictions(lambda: RobustGP(["matern52"]), [Distances(distances)], cross, y, None, folds, known)
    train, test = folds.train[2], folds.test[2]
    start, steps = known.beginning(), intervals._MOST_STEPS
    alone = RobustGP(["matern52"]).fit([distances[np.ix_(train, train)]], y[train], start=start, max_iter=steps)
    np.testing.assert_array_equal(found.mean[test], alone.predict([distances[np.ix_(test, train)]]))


def test_pruning_keeps_what_counts_and_shares_of_one():
    kept = pruned(np.array([0.5, 0.485, 0.015]))
    assert kept.sum() == pytest.approx(1) and kept[2] == 0 and kept[0] > kept[1] > 0
    even = np.full(60, 1 / 60)
    np.testing.assert_allclose(pruned(even), even)  # of very many that weigh little, the heaviest stay


def test_a_member_that_is_far_off_does_not_make_intervals_narrower():
    """It has no part in the model, so it must have none in the calibration."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(300, 1))
    good = Prediction(y + 0.01 * rng.normal(size=y.shape), np.full(y.shape, 0.01), np.inf)
    bad = Prediction(np.zeros(y.shape), np.ones(y.shape), np.inf)
    weights, together = weigh(y, [good, bad], [rows for _, rows in shuffled_folds(300, 5, 0)], 2, 1)
    assert weights.ravel().tolist() == [1.0, 0.0]
    assert interval_factor(y[:, 0], together.column(0)) == pytest.approx(1.0, abs=0.1)


def test_without_rows_left_out_members_weigh_the_same():
    weights, together = weigh(np.zeros((4, 2)), [], [], 3, 2)
    np.testing.assert_array_equal(weights, np.full((3, 2), 1 / 3))
    assert together is None
    y = np.linspace(0, 1, 40)[:, None]
    good, bad = (Prediction(y + off, np.full((40, 1), 0.1), 9.0) for off in (0.01, 2.0))
    weights, _ = weigh(y, [good, bad], [rows for _, rows in shuffled_folds(40, 5, 0)], 2, 1)
    assert weights[0, 0] > 0.95


@pytest.mark.parametrize("judge", [True, False])
def test_both_ways_judge_rows_that_they_leave_out(judge):
    task = Task(np.zeros((40, 1)), Layout(["y"], True, False), None, RobustGP, 1, True, 0)
    few, many = FewRows(task, judge), ManyRows(task, judge)
    assert few.n_fits == (6 if judge else 1) and many.n_fits == (3 if judge else 2)
    for way in (few, many):
        places = np.sort(np.concatenate([*way.folds, np.empty(0, int)]))
        np.testing.assert_array_equal(places, np.arange(len(way.judged)) if judge else [])
    assert len(few.judged) == 40 and len(many.judged) == 8


def test_a_stack_keeps_what_folds_said_and_one_kernel_does_not():
    table = pd.DataFrame({"x": np.linspace(0, 1, 30)}).assign(y=lambda t: np.sin(5 * t["x"]))
    one = RobustGPRegressor(Matern52("x"), n_starts=1).fit(table, "y")
    two = RobustGPRegressor([Matern52("x"), Gaussian("x")], n_starts=1).fit(table, "y")
    assert one.stack_.left_out is None and one.left_out_by_ == "leave-one-out"
    assert two.stack_.left_out.mean.shape == (30, 1) and two.left_out_by_ == "cross-validation"
    assert one.members_ is one.stack_.members and one.calibration_ is one.stack_.widths


def test_rows_with_the_same_inputs_are_left_out_together():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.uniform(size=24), "b": rng.integers(3, size=24).astype(float)})
    twice = pd.concat([table, table[::-1]], ignore_index=True)
    y = np.sin(4 * twice["a"]) + twice["b"] + 0.3 * rng.normal(size=48)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RobustGPRegressor().fit(twice, y)
    same = same_rows(model.stack_.members)
    assert same_rows(model.stack_.members) is not None and len(np.unique(same)) == 24
    np.testing.assert_array_equal(same[:24], same[:23:-1])
    for train, out in shuffled_folds(48, 5, 0, same):
        assert not set(same[train]) & set(same[out]) and len(train) + len(out) == 48
    assert len(make_folds(48, 0, same)) == 5 and len(make_folds(18, 0, np.arange(18) // 2)) == 0
    left_out = np.ravel(model.leave_one_out().mean)
    np.testing.assert_allclose(left_out[:24], left_out[:23:-1], atol=1e-9)  # neither tells of the other


def test_rows_that_differ_have_no_labels():
    table = pd.DataFrame({"a": np.linspace(0, 1, 20)})
    assert same_rows(RobustGPRegressor().fit(table, np.sin(4 * table["a"]).rename("y")).stack_.members) is None


def test_noise_is_what_the_stack_cannot_tell_not_a_member_that_does_not_count():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(-1, 1, (50, 2)), columns=["a", "b"])
    table = table.assign(y=np.sin(2 * table["a"]), z=table["a"] ** 2, v=np.sin(2 * table["b"]))
    kernels = {"a": Matern52("a"), "b": Matern52("b")}
    with warnings.catch_warnings():
        warnings.simplefilter("error", GPWarning)
        model = RobustGPRegressor(kernels).fit(table, ["y", "z", "v"])
    assert model.weights_.loc["a", "v"] == 0.0 and model.weights_["y"].idxmax() == "a"
    table["v"] = rng.normal(size=50)
    with pytest.warns(GPWarning, match="cannot be told from noise"):
        RobustGPRegressor(kernels).fit(table, ["y", "z", "v"])
