r"""`RobustGP`: the estimator around the pure functions of this subpackage.

Distances in, Student-t predictions out. It checks its input (``inputs.py``), climbs the log posterior
(``objective.py``, ``optimise.py``), warns (``diagnose.py``) and predicts (``posterior.py``, ``loo.py``).
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from swwl.errors import InputError
from swwl.gp import diagnose, fitting, inputs
from swwl.gp.correlations import Array
from swwl.gp.factors import cross_correlation
from swwl.gp.loo import leave_one_out
from swwl.gp.posterior import (
    Posterior,
    draw,
    predict_joint,
    predict_mean,
    predict_scale,
    sample_prior,
)
from swwl.gp.prediction import Prediction, to_std
from swwl.gp.prior import default_prior, relative_importance
from swwl.gp.state import coordinates_from_state, model_to_state, params_from_state, posterior_from_state
from swwl.parallel import one_blas_thread

# Below so many observations a second BLAS thread gains nothing, and on a busy machine it costs dearly.
_FEW = 600


class RobustGP(BaseEstimator):
    r"""Gaussian process with a product correlation on given distances and robustly estimated ranges.

    The covariance is :math:`\sigma^2(\prod_l c_l(\beta_l D_l) + \nu I)`. The inverse ranges :math:`\beta` and
    the nugget :math:`\nu` maximise the marginal posterior under the jointly robust prior; the trend and
    :math:`\sigma^2` are integrated out, so predictions are Student-t.

    Parameters
    ----------
    correlations : list, default=("gaussian",)
        One per factor: "gaussian" :math:`e^{-(\beta d)^2}`, ("power", alpha) :math:`e^{-(\beta d)^\alpha}`,
        "matern52" or "matern32".
    nugget : "estimate" or float, default="estimate"
        Noise variance over :math:`\sigma^2`; a number, 0 included, fixes it.
    trend : {"constant", "zero", "linear", "columns"}, default="constant"
        "linear" is a constant and the ``trend_columns`` of `fit` and `predict`; "columns" is those alone.
    method : {"posterior", "marginal", "likelihood"}, default="posterior"
        What is maximised: the marginal posterior, the marginal likelihood, or the profile likelihood (maximum
        likelihood, with normal predictions that ignore the trend's uncertainty).
    nugget_floor : float, default=1e-6
        Smallest nugget that is estimated. Without a floor near-deterministic data drive it to zero and
        predictive variances drown in rounding.
    beta : array-like of shape (p,) or float, optional
        Fixes the inverse ranges.
    bounds : tuple (lower, upper), optional
        Bounds of the inverse ranges, each None, a number or an array of shape (p,). By default the lower one
        is where the matrix gets ill-conditioned.
    n_starts : int, default=3
        Climbs; the first three start at a typical product correlation of 0.5, 0.9 and 0.9, more at random.
    max_iter : int, default=200
        Iterations of one climb.
    prior_a, prior_b, prior_c : float, float or None, array-like of shape (p,) or None
        Constants of the prior, see `swwl.gp.prior.default_prior`.
    range_uncertainty : bool, default=False
        Add the uncertainty of the ranges to predictions (Laplace): :math:`J\mathcal H^{-1}J^\top`, with J the
        gradient of the mean in the log parameters and :math:`\mathcal H` the curvature at the optimum. It
        costs 2(p + 1) more evaluations in `fit`.
    names : list of str, optional
        One per factor, for messages.
    random_state : int, default=0
        Seeds the choice of pairs and the random starts.

    Attributes
    ----------
    beta_ : ndarray of shape (p,)
        Inverse ranges: one per distance matrix, one per column of `Coordinates`.
    nugget_ : float
    theta_ : ndarray of shape (q,) or (q, k)
        Trend coefficients.
    sigma2_ : float or ndarray of shape (k,)
    log_posterior_ : float
        The maximum, constants dropped as in R's RobustGaSP.
    importance_ : ndarray of shape (p,)
        Relative importance of each range, one on average; far below one marks an inert input.
    df_ : float
        Degrees of freedom of predictions.
    range_slices_ : list of slice
        Which entries of ``beta_`` belong to each factor.
    n_evaluations_ : int
        Factorisations that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 1.0, 12)
    >>> y = np.sin(6.0 * x)
    >>> gp = RobustGP(["matern52"]).fit([np.abs(x[:, None] - x)], y)
    >>> mean, std = gp.predict([np.abs([[0.5 - v for v in x]])], return_std=True)
    >>> bool(abs(mean[0] - np.sin(3.0)) < 0.01), bool(std[0] < 0.05)
    (True, True)
    >>> lower, upper = gp.predict_interval([np.abs([[0.5 - v for v in x]])], level=0.9)
    >>> bool(lower[0] < np.sin(3.0) < upper[0])
    True
    """

    def __init__(
        self,
        correlations=("gaussian",),
        nugget="estimate",
        trend="constant",
        *,
        method="posterior",
        nugget_floor=1e-6,
        beta=None,
        bounds=None,
        n_starts=3,
        max_iter=200,
        prior_a=0.2,
        prior_b=None,
        prior_c=None,
        range_uncertainty=False,
        names=None,
        random_state=0,
    ):
        self.correlations = correlations
        self.nugget = nugget
        self.trend = trend
        self.method = method
        self.nugget_floor = nugget_floor
        self.beta = beta
        self.bounds = bounds
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.prior_a = prior_a
        self.prior_b = prior_b
        self.prior_c = prior_c
        self.range_uncertainty = range_uncertainty
        self.names = names
        self.random_state = random_state

    def fit(self, distances, y, trend_columns=None):
        """Estimate the ranges and the nugget.

        Parameters
        ----------
        distances : list
            One item per correlation: an (N, N) matrix of distances, or `Coordinates` of N rows. Matrices are
            kept by reference, not copied: do not change them afterwards.
        y : array-like of shape (N,) or (N, k)
            Several targets share the ranges and the nugget; trend and variance are their own.
        trend_columns : array-like of shape (N, m), optional
            For ``trend="linear"`` and ``trend="columns"``.

        Returns
        -------
        RobustGP
            Itself.
        """
        if self.method not in ("posterior", "marginal", "likelihood"):
            raise InputError(f"method is {self.method!r}, but 'posterior', 'marginal' or 'likelihood' is wanted.")
        correlations = inputs.check_correlations(self.correlations)
        inputs.check_names(self.names, len(correlations))
        nugget = inputs.check_nugget(self.nugget, self.nugget_floor)
        y = inputs.check_targets(y)
        targets = y.reshape(len(y), -1)
        factors, coordinates = inputs.training_factors(distances, correlations, len(y), self.names)
        trend = inputs.trend_matrix(self.trend, trend_columns, len(y))
        inputs.check_trend_fits(trend, targets)

        largest = np.concatenate([f.largest_distances() for f in factors])
        prior = default_prior(largest, len(y), self.prior_a, self.prior_b, self.prior_c)
        constant = self.trend in ("constant", "linear")
        standard = fitting.standardise(targets, shift=constant)
        objective = fitting.make_objective(factors, trend, standard, self.method, prior)
        search = fitting.make_search(
            objective,
            len(largest),
            nugget=nugget,
            floor=self.nugget_floor,
            beta=self.beta,
            bounds=self.bounds,
            n_starts=self.n_starts,
            seed=self.random_state,
        )
        with one_blas_thread() if len(y) < _FEW else nullcontext():
            optimum = fitting.find_optimum(objective, search, self.max_iter)
            posterior, rcond = fitting.conclude(objective, optimum, standard, constant)
            if self.range_uncertainty:
                posterior = fitting.add_range_uncertainty(objective, optimum, search, posterior)
        objective.release()

        self.log_posterior_ = optimum.value
        self.importance_ = relative_importance(posterior.beta, prior.c)
        self.n_evaluations_ = objective.n_evaluations
        self._adopt(posterior, correlations, coordinates, y.ndim == 1, objective)

        labels = self._labels(factors)
        diagnose.warn_about_constant_factors(largest, labels)
        diagnose.warn_about_bounds(optimum, search.lower, search.upper, search.free, labels)
        if search.free.any():
            diagnose.warn_about_noise(objective, optimum)
        diagnose.warn_about_conditioning(rcond, nugget is None)
        diagnose.warn_about_convergence(optimum, self.max_iter)
        return self

    def _labels(self, factors) -> list[str]:
        """Name every range for messages."""
        labels: list[str] = []
        for i, factor in enumerate(factors):
            name = inputs.item_name(i, len(factors), self.names)
            columns = range(factor.n_ranges) if factor.is_coordinates else ()
            labels += [f"column {k} of {name}" for k in columns] or [name]
        return labels

    def _adopt(self, posterior: Posterior, correlations, coordinates: dict, single: bool, objective) -> None:
        """Take over a fitted posterior; ``objective`` is None where training distances are not at hand."""
        self._posterior = posterior
        self._correlations = correlations
        self._coordinates = coordinates
        self._single = single
        self._objective = objective
        self.beta_ = posterior.beta
        self.nugget_ = posterior.nugget
        self.theta_ = self._shaped(posterior.theta)
        self.sigma2_ = float(posterior.sigma2[0]) if single else posterior.sigma2
        self.df_ = posterior.df
        widths = [coordinates[i][0].shape[1] if i in coordinates else 1 for i in range(len(correlations))]
        ends = np.cumsum([0, *widths]).tolist()
        self.range_slices_ = [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]

    def _shaped(self, array: Array) -> Array:
        """Drop the axis of outputs where fit saw a one-dimensional y."""
        return array[..., 0] if self._single else array

    def _fitted(self) -> Posterior:
        if not hasattr(self, "_posterior"):
            raise NotFittedError("This RobustGP is not fitted yet: call fit first.")
        return self._posterior

    def log_posterior(self, log_beta, log_nugget=None, return_gradient=False):
        """Evaluate the objective that `fit` maximised.

        Parameters
        ----------
        log_beta : array-like of shape (p,)
        log_nugget : float, optional
            May be -inf; by default the fixed or estimated nugget.
        return_gradient : bool, default=False

        Returns
        -------
        value : float
        gradient : ndarray of shape (p + 1,)
            In the log parameters, the nugget's last. Only with ``return_gradient``.
        """
        nugget = self._fitted().nugget
        if self._objective is None:
            raise InputError("log_posterior needs the training distances, which a restored model lacks: fit again.")
        log_beta = np.asarray(log_beta, dtype=float).reshape(-1)
        if log_beta.shape != self.beta_.shape:
            raise InputError(f"log_beta has {log_beta.size} entries, but there are {self.beta_.size} ranges.")
        if log_nugget is None:
            log_nugget = np.log(nugget) if nugget > 0.0 else -np.inf
        evaluate = self._objective.with_gradient if return_gradient else self._objective
        try:
            return evaluate(log_beta, float(log_nugget))
        finally:
            self._objective.release()

    def _prepare(self, distances, trend_columns):
        posterior = self._fitted()
        factors, m = inputs.new_factors(distances, self._correlations, len(posterior.y), self._coordinates, self.names)
        trend = inputs.trend_matrix(self.trend, trend_columns, m)
        if trend.shape[1] != len(posterior.theta):
            raise InputError(f"The trend has {trend.shape[1]} columns, but fit saw {len(posterior.theta)}.")
        cross = cross_correlation(factors, posterior.beta, (m, len(posterior.y)))
        return posterior, factors, cross, trend

    def predict(
        self,
        distances,
        return_std=False,
        return_cov=False,
        *,
        include_nugget=True,
        trend_columns=None,
        test_distances=None,
    ):
        """Predict at new points.

        Parameters
        ----------
        distances : list
            One item per factor: distances of shape (M, N) to the training points, or `Coordinates` of M rows.
        return_std, return_cov : bool, default=False
            At most one of them.
        include_nugget : bool, default=True
            Predict a new observation; False predicts the function without noise.
        trend_columns : array-like of shape (M, m), optional
        test_distances : list, optional
            For ``return_cov``: distances of shape (M, M) among the new points; None for `Coordinates`.

        Returns
        -------
        mean : ndarray of shape (M,) or (M, k)
        std : ndarray of the same shape
            With the Student-t factor sqrt(df / (df - 2)); inf where df <= 2, where no variance exists.
        cov : ndarray of shape (M, M) or (k, M, M)
            With the factor df / (df - 2).
        """
        if return_std and return_cov:
            raise InputError("return_std and return_cov are both set, but at most one of them is wanted.")
        if return_std:
            prediction = self.predict_distribution(
                distances, include_nugget=include_nugget, trend_columns=trend_columns
            )
            return prediction.mean, prediction.std
        posterior, factors, cross, trend = self._prepare(distances, trend_columns)
        mean = self._shaped(predict_mean(posterior, cross, trend))
        if return_cov:
            joint = self._joint(posterior, factors, cross, trend, test_distances, include_nugget)
            cov = to_std(np.ones(1), posterior.df)[0] ** 2 * joint
            return mean, cov[0] if self._single else cov
        return mean

    def _joint(self, posterior, factors, cross, trend, test_distances, include_nugget):
        if test_distances is None:
            if not all(f.is_coordinates for f in factors):
                raise InputError("A joint prediction needs test_distances, the (M, M) distances among the new points.")
            test_distances = [None] * len(factors)
        among = inputs.among_factors(test_distances, factors, len(cross), self.names)
        block = cross_correlation(among, posterior.beta, (len(cross), len(cross)))
        np.fill_diagonal(block, 1.0)
        return predict_joint(posterior, factors, cross, trend, block, include_nugget)

    def predict_interval(self, distances, level=0.95, *, include_nugget=True, trend_columns=None):
        """Return the bounds (lower, upper) of central Student-t intervals, each of shape (M,) or (M, k).

        Parameters
        ----------
        distances, include_nugget, trend_columns
            As in `predict`.
        level : float, default=0.95
            Probability inside, in (0, 1).
        """
        prediction = self.predict_distribution(distances, include_nugget=include_nugget, trend_columns=trend_columns)
        return prediction.interval(level)

    def predict_distribution(self, distances, *, include_nugget=True, trend_columns=None) -> Prediction:
        """Predict at new points with all that is known about them.

        Parameters
        ----------
        distances, include_nugget, trend_columns
            As in `predict`.

        Returns
        -------
        Prediction
            Mean, scale and degrees of freedom, arrays of shape (M,) or (M, k).
        """
        posterior, factors, cross, trend = self._prepare(distances, trend_columns)
        mean = predict_mean(posterior, cross, trend)
        scale = predict_scale(posterior, factors, cross, trend, include_nugget)
        return Prediction(self._shaped(mean), self._shaped(scale), posterior.df)

    def leave_one_out(self) -> Prediction:
        """Predict every training observation from all others, ranges and nugget fixed.

        Returns
        -------
        Prediction
            Mean, scale and degrees of freedom, arrays of shape (N,) or (N, k).
        """
        loo = leave_one_out(self._fitted())
        return Prediction(self._shaped(loo.mean), self._shaped(loo.scale), loo.df)

    def sample(
        self,
        distances,
        test_distances=None,
        n_samples=1,
        random_state=None,
        *,
        include_nugget=False,
        trend_columns=None,
    ):
        """Draw joint samples from the posterior (multivariate t).

        Parameters
        ----------
        distances, test_distances, trend_columns
            As in `predict` with ``return_cov``.
        n_samples : int, default=1
        random_state : int, Generator or None
        include_nugget : bool, default=False
            Draw functions; True draws noisy observations.

        Returns
        -------
        ndarray of shape (n_samples, M) or (n_samples, M, k)
        """
        posterior, factors, cross, trend = self._prepare(distances, trend_columns)
        joint = self._joint(posterior, factors, cross, trend, test_distances, include_nugget)
        mean = predict_mean(posterior, cross, trend)
        return self._shaped(draw(mean, joint, posterior.df, n_samples, np.random.default_rng(random_state)))

    def sample_prior(self, test_distances, n_samples=1, random_state=None, *, include_nugget=False, trend_columns=None):
        """Draw from the fitted process without conditioning on the data.

        Parameters
        ----------
        test_distances : list
            One item per factor: distances of shape (M, M), or `Coordinates` of M rows.
        n_samples, random_state, include_nugget, trend_columns
            As in `sample`.

        Returns
        -------
        ndarray of shape (n_samples, M) or (n_samples, M, k)
        """
        posterior = self._fitted()
        m = len(getattr(test_distances[0], "values", test_distances[0]))
        factors, _ = inputs.training_factors(test_distances, self._correlations, m, self.names)
        trend = inputs.trend_matrix(self.trend, trend_columns, m)
        draws = sample_prior(
            factors,
            posterior.beta,
            posterior.nugget if include_nugget else 0.0,
            posterior.sigma2,
            trend @ posterior.theta,
            n_samples,
            np.random.default_rng(random_state),
        )
        return self._shaped(draws)

    def get_state(self) -> dict:
        """Return the fitted model as a flat dict for a model file.

        Values are arrays and numbers, and under "params" the constructor's arguments as a dict for JSON.
        Training distance matrices are not part of it: predictions need only training coordinates.
        """
        self._fitted()
        return model_to_state(self)

    @classmethod
    def from_state(cls, state: dict) -> RobustGP:
        """Restore a fitted model from `get_state`; it predicts bit for bit the same."""
        gp = cls(**params_from_state(state["params"]))
        gp.log_posterior_ = float(state["log_posterior"])
        gp.importance_ = np.asarray(state["importance"])
        gp.n_evaluations_ = int(state["n_evaluations"])
        correlations = inputs.check_correlations(gp.correlations)
        coordinates = coordinates_from_state(state)
        single = bool(state["single"])
        gp._adopt(posterior_from_state(state), correlations, coordinates, single, objective=None)
        return gp
