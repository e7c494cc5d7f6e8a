"""What a fitted process answers: predictions, intervals, leave-one-out and samples, all asked of its posterior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from swwl.errors import InputError
from swwl.gp import inputs
from swwl.gp.adjoint import LinearPrediction, differentiable, linear_prediction
from swwl.gp.correlations import Array
from swwl.gp.factors import Term
from swwl.gp.inputs import BlockLike, TrainingInputs
from swwl.gp.prediction import Prediction, to_std
from swwl.gp.samples import draw, sample_prior
from swwl.gp.solvers.base import Posterior, Solver

Items = Sequence[BlockLike]
JointItems = Sequence[BlockLike | None] | None
Columns = ArrayLike | None
Seed = int | np.random.Generator | None


class FittedProcess:
    """The half of `swwl.gp.RobustGP` that needs no estimating: it adopts a posterior and asks it."""

    _posterior: Posterior
    _inputs: TrainingInputs
    _single: bool
    _solver: Solver | None
    names: Sequence[str] | None

    def _adopt(self, posterior: Posterior, known: TrainingInputs, single: bool, solver: Solver | None) -> None:
        """Take over a fitted posterior; ``solver`` is None where training distances are not at hand."""
        self._posterior = posterior
        self._inputs = known
        self._single = single
        self._solver = solver
        self.beta_ = posterior.beta
        self.nugget_ = posterior.nugget
        self.theta_ = self._shaped(posterior.theta)
        self.sigma2_ = float(posterior.sigma2[0]) if single else posterior.sigma2
        self.df_ = posterior.df
        self.range_slices_ = known.range_slices

    def _shaped(self, array: Array) -> Array:
        """Drop the axis of outputs where fit saw a one-dimensional y."""
        return array[..., 0] if self._single else array

    def _fitted(self) -> Posterior:
        if not hasattr(self, "_posterior"):
            raise NotFittedError("This RobustGP is not fitted yet: call fit first.")
        return self._posterior

    def _optimum(self) -> tuple[Array, float]:
        """Return the fitted (log_beta, log_nugget); the latter is -inf for a nugget of zero."""
        posterior = self._fitted()
        return np.log(posterior.beta), float(np.log(posterior.nugget)) if posterior.nugget > 0.0 else -np.inf

    def _prepare(self, distances: Items, trend_columns: Columns) -> tuple[Posterior, list[Term], Array]:
        """Check what is known of M new points: terms from them to the training points, trend of shape (M, q)."""
        posterior = self._fitted()
        cross, m = self._inputs.cross(distances)
        return posterior, cross, self._inputs.new_trend(trend_columns, m, len(posterior.theta))

    def predict(
        self,
        distances: Items,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_nugget: bool = True,
        trend_columns: Columns = None,
        test_distances: JointItems = None,
    ) -> Array | tuple[Array, Array]:
        """Predict at new points.

        Parameters
        ----------
        distances : list
            One item per factor: distances of shape (M, N) to the training points, `Coordinates` of M rows, or
            another `swwl.gp.blocks.Block` of M rows and N columns.
        return_std, return_cov : bool, default=False
            At most one of them.
        include_nugget : bool, default=True
            Predict a new observation; False predicts the function without noise.
        trend_columns : array-like of shape (M, m), optional
        test_distances : list, optional
            For ``return_cov``: distances of shape (M, M) among the new points; None for blocks that know them, as
            `Coordinates` do.

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
        if return_cov:
            mean, joint = self._joint(distances, trend_columns, test_distances, include_nugget)
            cov = to_std(np.ones(1), self.df_)[0] ** 2 * joint
            return self._shaped(mean), cov[0] if self._single else cov
        posterior, cross, trend = self._prepare(distances, trend_columns)
        return self._shaped(posterior.mean(cross, trend))

    def predict_distribution(
        self, distances: Items, *, include_nugget: bool = True, trend_columns: Columns = None
    ) -> Prediction:
        """Return mean, scale and degrees of freedom at new points, arrays of shape (M,) or (M, k).

        Parameters
        ----------
        distances, include_nugget, trend_columns
            As in `predict`.
        """
        posterior, cross, trend = self._prepare(distances, trend_columns)
        prediction = posterior.predict(cross, trend, include_nugget)
        return prediction.column(0) if self._single else prediction

    def predict_interval(
        self, distances: Items, level: float = 0.95, *, include_nugget: bool = True, trend_columns: Columns = None
    ) -> tuple[Array, Array]:
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

    def linearize(self, distances: Items, *, std: bool = True, trend_columns: Columns = None) -> LinearPrediction:
        """Predict one new point, ready to pull gradients back to its distances and coordinates.

        Parameters
        ----------
        distances, trend_columns
            As in `predict`, of one row.
        std : bool, default=True
            Whether the derivative of the standard deviation is wanted, too.
        """
        posterior, cross, trend = self._prepare(distances, trend_columns)
        return linear_prediction(posterior, cross, trend, std)

    def check_differentiable(self, std: bool = True) -> None:
        """Refuse, before any work, what :meth:`linearize` would refuse."""
        differentiable(self._fitted(), std)

    def leave_one_out(self) -> Prediction:
        """Predict every training observation from all others, ranges and nugget fixed: shape (N,) or (N, k)."""
        prediction = self._fitted().leave_one_out()
        return prediction.column(0) if self._single else prediction

    def _joint(
        self, distances: Items, trend_columns: Columns, test_distances: JointItems, include_nugget: bool
    ) -> tuple[Array, Array]:
        """Return the location (M, k) and the joint squared scales (k, M, M) of new points."""
        posterior, cross, trend = self._prepare(distances, trend_columns)
        among = self._inputs.among(test_distances, cross, len(trend))
        return posterior.predict_joint(cross, trend, among, include_nugget)

    def sample(
        self,
        distances: Items,
        test_distances: JointItems = None,
        n_samples: int = 1,
        random_state: Seed = None,
        *,
        include_nugget: bool = False,
        trend_columns: Columns = None,
    ) -> Array:
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
        mean, joint = self._joint(distances, trend_columns, test_distances, include_nugget)
        return self._shaped(draw(mean, joint, self.df_, n_samples, np.random.default_rng(random_state)))

    def sample_prior(
        self,
        test_distances: Items,
        n_samples: int = 1,
        random_state: Seed = None,
        *,
        include_nugget: bool = False,
        trend_columns: Columns = None,
    ) -> Array:
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
        correlations = self._inputs.correlations
        inputs.check_count(test_distances, len(correlations), "test_distances")
        m = np.shape(test_distances[0])[0]
        terms, _ = inputs.training_terms(test_distances, correlations, m, self.names)
        mean = self._inputs.new_trend(trend_columns, m, len(posterior.theta)) @ posterior.theta
        nugget, rng = posterior.nugget if include_nugget else 0.0, np.random.default_rng(random_state)
        return self._shaped(sample_prior(terms, posterior.beta, nugget, posterior.sigma2, mean, n_samples, rng))
