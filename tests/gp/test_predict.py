"""Predictions: closed forms, invariances, degenerate data."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from swwl.errors import InputError
from swwl.gp import Coordinates, GPWarning, RobustGP
from tests.helpers import central_slope

KINDS = ["gaussian", "matern52"]


def mixed(data, **options):
    """Fit two distance factors around a group of coordinates."""
    train, cross, among, y, z, new_z = data
    gp = RobustGP(["matern52", "gaussian", "gaussian"], **options)
    items = [train[0], Coordinates(z), train[1]], [cross[0], Coordinates(new_z), cross[1]]
    return gp.fit(items[0], y), items[1], [among[0], None, among[1]]


def test_scikit_learn_agrees_at_the_same_parameters():
    rng = np.random.default_rng(0)
    x, new, y = rng.random((30, 1)), rng.random((5, 1)), rng.normal(size=30)
    gp = RobustGP(["matern52"], nugget=0.1, trend="zero", beta=3.0, method="likelihood").fit([np.abs(x - x.T)], y)
    kernel = ConstantKernel(gp.sigma2_) * (Matern(1 / 3.0, nu=2.5) + WhiteKernel(0.1))
    peer = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(x, y)
    for ours, theirs in zip(
        gp.predict([np.abs(new - x.T)], return_std=True), peer.predict(new, return_std=True), strict=True
    ):
        assert_allclose(ours, theirs, rtol=1e-10)
    # constants dropped: n/2 (log 2π + 1 - log n)
    constant = 15 * (np.log(2 * np.pi) + 1 - np.log(30))
    assert_allclose(gp.log_posterior_ - constant, peer.log_marginal_likelihood_value_, rtol=1e-10)


@pytest.mark.parametrize("method", ["posterior", "marginal", "likelihood"])
@pytest.mark.parametrize("trend", ["constant", "zero", "linear"])
@pytest.mark.parametrize("several", [False, True])
def test_leave_one_out_equals_refitting_by_hand(data, method, trend, several):
    train, _, _, y, z, _ = data
    columns = z[:, :2] if trend == "linear" else None
    y = np.stack([y, y**2], axis=1) if several else y
    options = {"trend": trend, "method": method}
    gp = RobustGP(KINDS, **options).fit(train, y, trend_columns=columns)
    loo = gp.leave_one_out()
    for i in (0, 7, 39):
        keep = np.arange(40) != i
        part = RobustGP(KINDS, beta=gp.beta_, nugget=gp.nugget_, **options)
        part.fit([d[np.ix_(keep, keep)] for d in train], y[keep], columns[keep] if columns is not None else None)
        at = [d[i : i + 1, keep] for d in train]
        own = None if columns is None else columns[i : i + 1]
        mean, std = part.predict(at, return_std=True, trend_columns=own)
        lower, upper = part.predict_interval(at, 0.8, trend_columns=own)
        for ours, by_hand in (
            (loo.mean, mean),
            (loo.std, std),
            *zip(loo.interval(0.8), (lower, upper), strict=True),
        ):
            assert_allclose(ours[i], by_hand[0], rtol=1e-8)


def test_coordinates_predict_like_their_distances(data):
    train, cross, among, y, z, new_z = data
    options = {"nugget": 0.01, "beta": [1.0, 0.3, 0.2, 0.1]}
    group = RobustGP(["matern52", "gaussian"], **options).fit([train[0], Coordinates(z + 1e3)], y)
    columns = [np.abs(z[:, [k]] - z[:, k]) for k in range(3)]
    apart = RobustGP(["matern52", *["gaussian"] * 3], **options).fit([train[0], *columns], y)
    assert group.range_slices_ == [slice(0, 1), slice(1, 4)]
    new_columns = [np.abs(new_z[:, [k]] - z[:, k]) for k in range(3)]
    own_columns = [np.abs(new_z[:, [k]] - new_z[:, k]) for k in range(3)]
    one = group.predict([cross[0], Coordinates(new_z + 1e3)], return_cov=True, test_distances=[among[0], None])
    two = apart.predict([cross[0], *new_columns], return_cov=True, test_distances=[among[0], *own_columns])
    for a, b in zip(one, two, strict=True):
        assert_allclose(a, b, rtol=1e-9)
    assert_allclose(group.log_posterior_, apart.log_posterior_, rtol=1e-10)


def test_predictions_follow_a_shift_and_a_scale_of_y(data):
    train, cross, _, y, *_ = data
    plain = RobustGP(KINDS).fit(train, y)
    moved = RobustGP(KINDS).fit(train, 1e4 - 250.0 * y)
    assert_allclose(moved.beta_, plain.beta_, rtol=1e-5)
    for (mean, std), (mean2, std2) in [
        (gp.predict(cross, return_std=True) for gp in (plain, moved)),
    ]:
        assert_allclose(mean2, 1e4 - 250.0 * mean, rtol=1e-8)
        assert_allclose(std2, 250.0 * std, rtol=1e-5)
    assert_allclose(moved.log_posterior_, plain.log_posterior_ - 39 * np.log(250.0), rtol=1e-8)


def test_predictions_follow_a_scale_of_the_distances(data):
    train, cross, _, y, *_ = data
    plain = RobustGP(KINDS).fit(train, y)
    scaled = RobustGP(KINDS).fit([1e-6 * train[0], 1e5 * train[1]], y)
    assert_allclose(scaled.beta_ * [1e-6, 1e5], plain.beta_, rtol=1e-5)
    assert_allclose(scaled.predict([1e-6 * cross[0], 1e5 * cross[1]]), plain.predict(cross), rtol=1e-6)


def test_the_order_of_points_and_of_factors_does_not_matter(data):
    train, cross, _, y, *_ = data
    order = np.random.default_rng(1).permutation(40)
    plain = RobustGP(KINDS).fit(train, y)
    mixed_up = RobustGP(KINDS[::-1]).fit([d[np.ix_(order, order)] for d in train[::-1]], y[order])
    assert_allclose(mixed_up.beta_[::-1], plain.beta_, rtol=1e-4)
    assert_allclose(mixed_up.log_posterior_, plain.log_posterior_, atol=1e-6)
    assert_allclose(mixed_up.predict([d[:, order] for d in cross[::-1]]), plain.predict(cross), rtol=1e-5)


def test_joint_covariance_has_the_stds_on_its_diagonal_and_samples_have_it(data):
    gp, cross, among = mixed(data, range_uncertainty=True)
    mean, std = gp.predict(cross, return_std=True)
    mean2, cov = gp.predict(cross, return_cov=True, test_distances=among)
    assert_array_equal(mean, mean2)
    assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-9)
    draws = gp.sample(cross, among, n_samples=20_000, random_state=0, include_nugget=True)
    assert draws.shape == (20_000, 6)
    assert_allclose(draws.mean(axis=0), mean, atol=5 * std.max() / np.sqrt(20_000))
    assert_allclose(np.cov(draws.T), cov, atol=0.05 * cov.max())
    # heavier tails than the normal's: the sampled quantile is Student's
    outside = np.abs(draws - mean) > student.ppf(0.995, gp.df_) * std * np.sqrt((gp.df_ - 2) / gp.df_)
    assert_allclose(outside.mean(), 0.01, atol=0.002)


def test_prior_samples_have_the_process_variance(data):
    train, _, among, y, *_ = data
    gp = RobustGP(KINDS).fit(train, np.stack([y, 3 * y], axis=1))
    draws = gp.sample_prior(among, n_samples=20_000, random_state=1, include_nugget=True)
    assert draws.shape == (20_000, 6, 2)
    assert_allclose(draws.var(axis=0), np.broadcast_to(gp.sigma2_ * (1 + gp.nugget_), (6, 2)), rtol=0.05)
    assert_allclose(draws.mean(axis=0), np.broadcast_to(gp.theta_, (6, 2)), atol=0.05 * np.sqrt(gp.sigma2_.max()))
    with_coordinates, _, _ = mixed(data)
    assert with_coordinates.sample_prior([among[0], Coordinates(np.zeros((6, 3))), among[1]]).shape == (1, 6)


def test_several_outputs_are_their_own_models_at_shared_ranges(data):
    train, cross, _, y, *_ = data
    both = RobustGP(KINDS).fit(train, np.stack([y, np.cos(y)], axis=1))
    alone = RobustGP(KINDS, beta=both.beta_, nugget=both.nugget_).fit(train, np.cos(y))
    for a, b in zip(both.predict(cross, return_std=True), alone.predict(cross, return_std=True), strict=True):
        assert_allclose(a[:, 1], b, rtol=1e-9)
    assert_allclose(both.leave_one_out().mean[:, 1], alone.leave_one_out().mean, rtol=1e-9)
    assert both.theta_.shape == (1, 2) and both.sigma2_.shape == (2,)


def test_linear_trend_is_its_columns_with_a_constant(data):
    train, cross, _, y, z, new_z = data
    one = RobustGP(KINDS, trend="linear").fit(train, y + 1e3, trend_columns=z)
    two = RobustGP(KINDS, trend="columns").fit(train, y + 1e3, trend_columns=np.hstack([np.ones((40, 1)), z]))
    a = one.predict(cross, return_std=True, trend_columns=new_z)
    b = two.predict(cross, return_std=True, trend_columns=np.hstack([np.ones((6, 1)), new_z]))
    assert_allclose(one.theta_, two.theta_, rtol=1e-4)
    for x, y in zip(a, b, strict=True):
        assert_allclose(x, y, rtol=1e-4)


def test_columns_of_the_trend_that_depend_on_others_are_dropped_where_asked(data):
    train, cross, _, y, z, new_z = data
    more, new = (np.column_stack([own, np.ones(len(own)), own[:, 0] - 3.0]) for own in (z, new_z))
    new[:, -2:] = 7.0  # whatever it is there, it has not been learned
    with pytest.raises(InputError, match="linearly dependent"):
        RobustGP(KINDS, trend="linear").fit(train, y, trend_columns=more)
    found = RobustGP(KINDS, trend="linear").fit(train, y, trend_columns=more, drop_dependent=True)
    plain = RobustGP(KINDS, trend="linear").fit(train, y, trend_columns=z, drop_dependent=True)
    assert_array_equal(found.theta_, plain.theta_)
    assert_array_equal(found.predict(cross, trend_columns=new), plain.predict(cross, trend_columns=new_z))
    assert "params" in plain.get_state()
    with pytest.raises(InputError, match="cannot be stored"):
        found.get_state()


def test_a_row_with_a_column_of_its_own_cannot_be_left_out(data):
    """Nothing tells the coefficient without the row: it is predicted like any value, and others as without it."""
    train, _, _, y, z, _ = data
    flag = (np.arange(40) == 5).astype(float)
    gp = RobustGP(KINDS, trend="linear", beta=1.0, nugget=0.01).fit(train, y + 9.0 * flag, trend_columns=flag)
    found = gp.leave_one_out()
    assert_allclose([found.mean[5], found.scale[5]], [np.mean(y + 9.0 * flag), np.std(y + 9.0 * flag)])
    rest = np.delete(np.arange(40), 5)
    without = RobustGP(KINDS, beta=1.0, nugget=0.01).fit([d[np.ix_(rest, rest)] for d in train], y[rest])
    assert_allclose(found.mean[rest], without.leave_one_out().mean, rtol=1e-8)


def test_the_nugget_is_the_difference_of_the_two_interval_kinds(data):
    train, cross, _, y, *_ = data
    gp = RobustGP(KINDS, nugget=0.1).fit(train, y)
    (_, noisy), (_, clean) = (gp.predict(cross, return_std=True, include_nugget=v) for v in (True, False))
    assert_allclose(noisy**2 - clean**2, 0.1 * gp.sigma2_ * gp.df_ / (gp.df_ - 2), rtol=1e-9)
    narrow, wide = gp.predict_interval(cross, 0.5), gp.predict_interval(cross, 0.99)
    assert (wide[0] < narrow[0]).all() and (narrow[1] < wide[1]).all()


def test_without_noise_the_data_are_interpolated():
    x = np.linspace(0, 1, 15)
    d = np.abs(x[:, None] - x)
    gp = RobustGP(["matern52"], nugget=0.0).fit([d], np.sin(6 * x))
    mean, std = gp.predict([d], return_std=True)
    assert_allclose(mean, np.sin(6 * x), atol=1e-8)
    assert std.max() < 1e-4 and np.isfinite(std).all()


def test_the_floor_keeps_variances_from_drowning():
    x = np.linspace(0, 1, 60)
    d = np.abs(x[:, None] - x)
    gp = RobustGP(["gaussian"]).fit([d], np.sin(3 * x))  # analytic and noise-free: the nugget wants to vanish
    assert_allclose(gp.nugget_, 1e-6, rtol=1e-6)
    _, std = gp.predict([d], return_std=True)
    assert (std > 0.9e-3 * np.sqrt(gp.sigma2_)).all()


@pytest.mark.slow
def test_range_uncertainty_is_the_delta_method(data):
    gp, cross, _ = mixed(data, range_uncertainty=True)
    plain, _, _ = mixed(data)
    train, _, _, y, z, _ = data
    extra = gp._posterior.uncertainty
    w = np.append(np.log(gp.beta_), np.log(gp.nugget_))
    assert_array_equal(extra.free, np.arange(6))

    def mean_at(w):
        moved = RobustGP(gp.correlations, beta=np.exp(w[:-1]), nugget=np.exp(w[-1]))
        return moved.fit([train[0], Coordinates(z), train[1]], y).predict(cross)

    gradient, _ = central_slope(lambda h: [mean_at(w + h * e) for e in np.eye(6)])
    added = np.einsum("am,ab,bm->m", gradient, extra.covariance, gradient)
    factor = gp.df_ / (gp.df_ - 2)
    (_, wide), (_, narrow) = (g.predict(cross, return_std=True) for g in (gp, plain))
    assert_allclose(wide**2 - narrow**2, factor * added, rtol=1e-4, atol=1e-10)
    assert (wide >= narrow).all()


def test_range_uncertainty_leaves_out_what_a_bound_holds():
    x = np.linspace(0, 1, 25)
    d = np.abs(x[:, None] - x)
    gp = RobustGP(["gaussian"], range_uncertainty=True).fit([d], np.sin(3 * x))
    assert_array_equal(gp._posterior.uncertainty.free, [0])  # the nugget sits on its floor
    fixed = RobustGP(["gaussian"], range_uncertainty=True, beta=2.0, nugget=1e-4).fit([d], np.sin(3 * x))
    assert fixed._posterior.uncertainty is None


def test_duplicate_inputs_work(data):
    train, cross, _, y, *_ = data
    twice = np.r_[np.arange(40), np.arange(40)]
    noise = 0.05 * np.random.default_rng(2).normal(size=80)
    gp = RobustGP(KINDS).fit([d[np.ix_(twice, twice)] for d in train], y[twice] + noise)
    mean, std = gp.predict([d[:, twice] for d in cross], return_std=True)
    assert np.isfinite(mean).all() and (std > 0).all()
    exact = RobustGP(KINDS).fit([d[np.ix_(twice, twice)] for d in train], y[twice])
    assert np.isfinite(exact.predict([d[:, twice] for d in cross])).all()


@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
def test_three_points_work():
    x = np.array([0.0, 0.4, 1.0])
    d = np.abs(x[:, None] - x)
    gp = RobustGP(["matern52"]).fit([d], [1.0, 2.0, 1.5])
    mean, std = gp.predict([d], return_std=True)
    assert np.isfinite(mean).all() and (std == np.inf).all()  # two degrees of freedom have no variance
    lower, upper = gp.predict_interval([d])
    assert (lower < mean).all() and np.isfinite(upper - lower).all()
    assert np.isfinite(gp.leave_one_out().mean).all()


def test_two_points_and_no_trend_work():
    d = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.warns(GPWarning):
        gp = RobustGP(["gaussian"], trend="zero").fit([d], [1.0, 1.2])
    assert np.isfinite(gp.predict([d])).all()


@pytest.mark.parametrize("uncertain", [False, True])
def test_a_restored_model_predicts_bit_for_bit_the_same(data, uncertain):
    gp, cross, among = mixed(data, range_uncertainty=uncertain, names=["speed", "shape", "angle"])
    state = gp.get_state()
    # a model file keeps arrays as raw bytes and the rest as JSON
    copied = {
        k: np.frombuffer(v.tobytes(), v.dtype).reshape(v.shape)
        if isinstance(v, np.ndarray)
        else json.loads(json.dumps(v))
        for k, v in state.items()
    }
    back = RobustGP.from_state(copied)
    for a, b in zip(gp.predict(cross, return_std=True), back.predict(cross, return_std=True), strict=True):
        assert_array_equal(a, b)
    for a, b in zip(gp.predict_interval(cross, 0.7), back.predict_interval(cross, 0.7), strict=True):
        assert_array_equal(a, b)
    for a, b in (
        (gp.leave_one_out(), back.leave_one_out()),
        (gp.predict_distribution(cross), back.predict_distribution(cross)),
    ):
        assert_array_equal(a.mean, b.mean)
        assert_array_equal(a.scale, b.scale)
        assert a.df == b.df
    assert_array_equal(gp.sample(cross, among, 3, random_state=0), back.sample(cross, among, 3, random_state=0))
    assert back.get_params() == gp.get_params() and back.log_posterior_ == gp.log_posterior_
    assert back.range_slices_ == gp.range_slices_
    assert_array_equal(back.importance_, gp.importance_)
    with pytest.raises(ValueError, match="training distances"):
        back.log_posterior(np.log(gp.beta_))


def test_a_power_correlation_survives_the_state(data):
    train, cross, _, y, *_ = data
    gp = RobustGP([("power", 1.5), "matern32"]).fit(train, y)
    back = RobustGP.from_state(gp.get_state())
    assert back.correlations == [("power", 1.5), "matern32"]
    assert_array_equal(back.predict(cross), gp.predict(cross))


def test_fits_are_reproducible_and_clonable(data):
    train, _, _, y, *_ = data
    gp = RobustGP(KINDS, n_starts=5).fit(train, y)
    again = clone(gp).fit(train, y)
    assert_array_equal(gp.beta_, again.beta_)
    assert gp.log_posterior_ == again.log_posterior_
    assert_allclose(gp.log_posterior(np.log(gp.beta_), np.log(gp.nugget_)), gp.log_posterior_, rtol=1e-12)
    assert_allclose(gp.log_posterior(np.log(gp.beta_)), gp.log_posterior_, rtol=1e-12)


def test_twenty_ranges_escape_the_white_noise_optimum():
    rng = np.random.default_rng(4)
    z, new = rng.normal(size=(150, 20)), rng.normal(size=(100, 20))

    def f(z):
        return np.sin(z[:, 0]) + z[:, 1] * z[:, 2] / 2

    gp = RobustGP(["gaussian"]).fit([Coordinates(z)], f(z))
    error = gp.predict([Coordinates(new)]) - f(new)
    assert np.sqrt(np.mean(error**2)) < 0.1 * f(new).std()
    assert set(np.argsort(gp.importance_)[-3:]) == {0, 1, 2}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::swwl.gp.GPWarning")
@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(4, 12),
    copies=st.integers(0, 3),
    size=st.integers(-8, 8),
    spread=st.integers(-8, 8),
    kind=st.sampled_from(["gaussian", "matern52", "matern32", ("power", 1.5)]),
    method=st.sampled_from(["posterior", "marginal", "likelihood"]),
    nugget=st.sampled_from(["estimate", 1e-6, 0.3]),
    seed=st.integers(0, 3),
)
def test_small_and_badly_scaled_data_give_finite_predictions(n, copies, size, spread, kind, method, nugget, seed):
    rng = np.random.default_rng(seed)
    x, z = 10.0**size * rng.random(n), 10.0**size * rng.normal(size=(n, 2))
    x[:copies], z[:copies] = x[-1], z[-1]
    y = 10.0**spread * rng.normal(size=n)
    distances = np.abs(x[:, None] - x)
    gp = RobustGP([kind, "gaussian"], method=method, nugget=nugget).fit([distances, Coordinates(z)], y)
    mean, std = gp.predict([distances, Coordinates(z)], return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()
    loo = gp.leave_one_out()
    assert np.isfinite(loo.mean).all() and (loo.scale >= 0).all()
    assert np.isfinite(gp.log_posterior_)
