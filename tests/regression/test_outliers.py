"""Bad rows: planted ones are found and named, alone and in pairs; clean data stay as they are."""

import warnings

import numpy as np
import pandas as pd
import pytest

from swwl import Matern52, RobustGPRegressor, load_model
from swwl.errors import GPWarning, InputError, LawWarning, OutlierWarning
from swwl.regression.outliers import find_suspects, group_scores, robust_scores

KERNEL = Matern52("a") * Matern52("b")


def table(n=60, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    inputs = pd.DataFrame({"a": rng.random(n), "b": rng.random(n)})
    return inputs, (1.5 + np.sin(4 * inputs["a"]) + inputs["b"] ** 2 + noise * rng.normal(size=n)).to_numpy(copy=True)


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutlierWarning)
        return RobustGPRegressor(KERNEL, n_starts=1, **options).fit(X, y)


def test_planted_rows_are_found_named_and_do_not_rule():
    X, y = table()
    bad = y.copy()
    bad[[7, 20]] *= 4.0
    with pytest.warns(OutlierWarning, match=r"row \d+ \(.*times the expected.* and row .*outliers='keep'"):
        model = RobustGPRegressor(KERNEL, n_starts=1).fit(X, bad)
    assert sorted(model.outliers_.index) == [7, 20] and (model.outliers_["weight"] < 0.01).all()
    np.testing.assert_allclose(model.outliers_.sort_index()["expected"], y[[7, 20]], rtol=0.05)
    assert model.counted(0).sum() == 58
    new, truth = table(100, seed=1)
    clean, kept = fitted(X, y), fitted(X, bad, outliers="keep")
    errors = [np.sqrt(np.mean((one.predict(new, widen=False) - truth) ** 2)) for one in (clean, model, kept)]
    assert errors[1] < 1.5 * errors[0] < 0.2 * errors[2]
    widths = [one.predict(new, return_std=True, widen=False)[1].mean() for one in (clean, model, kept)]
    assert widths[1] < 1.5 * widths[0] < 0.2 * widths[2]
    assert len(kept.outliers_) == 0


def test_rows_that_are_not_the_usual_value_say_how_far_numbers_are_spread():
    y = np.r_[np.zeros(40), np.linspace(1.0, 3.0, 21)]
    np.testing.assert_allclose(robust_scores(y)[40:], y[40:] / (1.4826 * 2.0))
    np.testing.assert_allclose(robust_scores(5.0 - 2.0 * y), robust_scores(y), atol=1e-12)
    one = np.zeros(60)
    one[7] = 4.0
    assert robust_scores(one).max() == pytest.approx(1 / 1.4826)
    errors = np.where(y > 0, 0.1, 1e-9)  # of a process that knows where the zeros are
    errors[3] = 5.0
    scores = robust_scores(errors, y=y)
    assert scores[3] > 30 and np.delete(scores, 3).max() < 1
    assert robust_scores(np.zeros(9)).max() == 0.0
    assert 1e5 < robust_scores(np.r_[1e-300 * np.arange(9), 1.0]).max() < 1e7


@pytest.mark.parametrize("rows", [[3, 40], [3, 17, 40]])
def test_a_few_answers_that_are_not_zero_are_no_bad_rows(rows):
    X, _ = table()
    y = np.zeros(60)
    y[rows] = np.arange(1.0, 1 + len(rows))
    for options in ({}, {"scaled": "y ~ a"}):
        with warnings.catch_warnings():
            warnings.simplefilter("error", OutlierWarning)
            for own in (LawWarning, GPWarning):  # nothing explains them, and no law does
                warnings.simplefilter("ignore", own)
            model = RobustGPRegressor(KERNEL, n_starts=1, **options).fit(X.assign(y=y), "y")
        assert len(model.outliers_) == 0 and np.isfinite(model.predict_interval(X, widen=False)).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("zeros", [0.6, 0.85])
def test_targets_that_are_mostly_zero(zeros, seed):
    """Zero up to a threshold, such as plastic strain: predictions and intervals as for other targets."""
    X, _ = table(80, seed)
    new, _ = table(300, seed + 100)
    truth = [np.maximum(own["a"] - zeros, 0.0) * (1.0 + own["b"]) for own in (X, new)]
    assert 0.5 < (truth[0] == 0).mean() < 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutlierWarning)
        model = RobustGPRegressor(KERNEL, n_starts=1).fit(X, truth[0])
    assert np.sqrt(np.mean((model.predict(new, widen=False) - truth[1]) ** 2)) < 0.15 * truth[1].std()
    lower, upper = model.predict_interval(new, widen=False)
    assert np.mean((lower <= truth[1]) & (truth[1] <= upper)) > 0.85
    assert np.median(upper - lower) < truth[1].std()


def test_a_bad_row_among_zeros_is_found():
    X, _ = table()
    y = np.maximum(X["a"] - 0.6, 0.0).to_numpy(copy=True)
    bad = int(np.argmin(np.abs(X["a"] - 0.3)))
    y[bad] = 30.0
    assert fitted(X, y).outliers_.index.tolist() == [bad]


def test_two_that_are_alike_do_not_hide_each_other():
    X, y = table()
    near = np.argsort(np.hypot(X["a"] - X["a"][30], X["b"] - X["b"][30]))[:2].to_numpy()
    y[near] += 6.0
    assert set(fitted(X, y).outliers_.index) == set(near)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_clean_data_are_fitted_bit_for_bit_as_before(seed, noise):
    X, y = table(45, seed, noise)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutlierWarning)
        model = RobustGPRegressor(KERNEL, n_starts=1).fit(X, y)
    assert len(model.outliers_) == 0
    kept = fitted(X, y, outliers="keep")
    for ours, theirs in zip(model.predict_interval(X), kept.predict_interval(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_heavy_tails_are_left_alone():
    X, y = table(80)
    y += 0.2 * np.random.default_rng(2).standard_t(4, size=80)
    assert len(fitted(X, y).outliers_) == 0


def test_scale_and_order_of_rows_do_not_matter():
    X, y = table()
    y[[7, 20]] *= 4.0
    order = np.random.default_rng(0).permutation(60)
    assert set(fitted(X, 1e6 * y - 3.0).outliers_.index) == {7, 20}
    shuffled = fitted(X.iloc[order], y[order])
    assert set(shuffled.outliers_.index) == {7, 20}  # labels
    assert set(order[shuffled.outliers_["position"]]) == {7, 20}


def test_rows_far_off_rule_no_more_than_others():
    X, y = table()
    y[11] = 1e9
    model = fitted(X, y)
    assert model.outliers_.index.tolist() == [11]
    new, truth = table(50, seed=1)
    assert np.sqrt(np.mean((model.predict(new, widen=False) - truth) ** 2)) < 0.05


def test_every_target_has_its_own():
    X, y = table()
    other = X["a"].to_numpy() - X["b"].to_numpy() ** 2
    spoiled = y.copy()
    spoiled[5] *= 5.0
    model = fitted(X, pd.DataFrame({"y": spoiled, "z": other}))
    assert model.outliers_.index.tolist() == [5] and model.outliers_["target"].tolist() == ["y"]
    assert model.counted(0).sum() == 59 and model.counted(1).all()
    alone = fitted(X, pd.DataFrame({"z": other}))
    np.testing.assert_array_equal(model.predict(X, widen=False)[:, 1], alone.predict(X, widen=False)[:, 0])
    shared = fitted(X, pd.DataFrame({"y": spoiled, "z": other}), share_ranges=True)
    assert set(shared.outliers_["target"]) == {"y", "z"} and set(shared.outliers_.index) == {5}


def test_without_folds_and_in_a_stack():
    X, y = table()
    y[[7, 20]] *= 4.0
    assert len(fitted(X, y, calibrate=False).outliers_) == 0  # nobody could say whether the others gain
    with pytest.warns(OutlierWarning):
        stack = RobustGPRegressor().fit(X, y)
    assert set(stack.outliers_.index) == {7, 20}
    assert (stack.candidates_["rmse"] < 0.3).all()  # those two are not judged by


def test_files_keep_them(tmp_path):
    X, y = table()
    y[[7, 20]] *= 4.0
    model = fitted(X.set_index(X.index.map("case {}".format)), y)
    model.save(tmp_path / "m.swwl")
    again = load_model(tmp_path / "m.swwl")
    pd.testing.assert_frame_equal(again.outliers_, model.outliers_)
    np.testing.assert_array_equal(again.leave_one_out().scale, model.leave_one_out().scale)
    for ours, theirs in zip(again.cross_validation(), model.cross_validation(), strict=True):
        np.testing.assert_array_equal(getattr(ours, "scale", ours), getattr(theirs, "scale", theirs))
    assert again.outliers == "auto" and set(again.outliers_.index) == {"case 7", "case 20"}


@pytest.mark.parametrize("n", [30, 60])
def test_exact_functions_without_bad_rows(n):
    """Ends, steps and peaks are not called bad, however exact the rest is."""
    for seed in range(4):
        x = np.random.default_rng(seed).random(n)
        for y in (np.sin((5 + seed) * x), (x > 0.7) + x, np.exp(4 * x), 1 / (0.01 + (x - 0.5) ** 2)):
            model = RobustGPRegressor(Matern52("x"), n_starts=1).fit(pd.DataFrame({"x": x}), y)
            assert len(model.outliers_) == 0


def test_words_that_are_refused():
    with pytest.raises(InputError, match="outliers is 'drop'"):
        fitted(*table(30), outliers="drop")


def test_scores_by_hand():
    """Robust standard deviations of a normal sample are plain ones; a row at ten of them looks so to its process."""
    z = np.random.default_rng(0).normal(size=4001)
    np.testing.assert_allclose(robust_scores(z), np.abs(z), atol=0.15)
    X, y = table(60, noise=0.1)
    y[3] += 2.0
    scores = group_scores(fitted(X, y, outliers="keep").gps_[0])
    assert scores.argmax() == 3 and scores[3] > 6


def test_nothing_is_fitted_again_where_nothing_is_odd():
    def never(noise):
        raise AssertionError

    assert not find_suspects(np.arange(30.0), np.full(30, 5.9), never).any()
