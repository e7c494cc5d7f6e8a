"""What a fitted regressor says: predictions, intervals, samples, leave-one-out and scores, of one kernel or a stack."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from swwl.errors import InputError
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.kernels.together import represent_columns
from swwl.models.members import Member
from swwl.models.processes import Layout
from swwl.models.stacking import choose_members, mixture, mixture_covariance
from swwl.models.tables import as_rows, as_table, check_width, column, split_targets
from swwl.models.trend import trend_matrix
from swwl.parallel import Progress
from swwl.storage import MemoryLike

Array = NDArray[np.float64]


class Predictor:
    """The half of :class:`swwl.RobustGPRegressor` that needs a fitted model: its members, their weights and widths."""

    members_: list[Member]
    gps_: list[RobustGP]
    weights_: pd.DataFrame
    calibration_: pd.Series
    feature_names_in_: NDArray[Any]
    n_features_in_: int
    _layout: Layout
    _trend: Any
    _left_out: Prediction | None

    def predict_distribution(
        self,
        X: Any,
        *,
        include_nugget: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> Prediction:
        """Predict at new rows, with all that is known about the predictions.

        Parameters
        ----------
        X : DataFrame, list of graphs or array
            With the columns that the kernel names.
        include_nugget : bool
            Predict a new observation (default), or the function without its noise.
        progress : callable, optional
            Called as ``progress(done, total)`` while graphs are embedded.
        memory : Memory or path, optional
            Where embeddings of mesh files are kept.

        Returns
        -------
        Prediction
            Arrays of shape (M,) or (M, k): ``mean``, ``std``, ``interval(level)``.
        """
        check_is_fitted(self, "members_")
        if hasattr(X, "__len__") and len(X) == 0:
            return self._layout.nothing(self.gps_[0].df_)
        blocks, trend = self._blocks(X, progress=progress, memory=memory)
        return self.predict_blocks([cross for cross, _ in blocks], trend, include_nugget=include_nugget)

    def predict_blocks(
        self, blocks: list[list[Block]], trend: Array | None = None, *, include_nugget: bool = True
    ) -> Prediction:
        """Predict from the blocks (for every member, from new rows to the training rows) and trend columns."""
        options: dict[str, Any] = {"include_nugget": include_nugget, "trend_columns": trend}
        parts = [
            self._layout.join_predictions([gp.predict_distribution(cross, **options) for gp in member.gps])
            for member, cross in zip(self.members_, blocks, strict=True)
        ]
        return mixture(parts, self._weights()).widened(self._layout.widths(self.calibration_))

    def trend_of(self, table: pd.DataFrame) -> Array | None:
        """Return the columns of the trend at new rows, or None where it is a constant or zero."""
        return trend_matrix(self._trend, table)

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_nugget: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> Any:
        """Predict at new rows.

        Parameters
        ----------
        X, include_nugget, progress, memory
            See :meth:`predict_distribution`.
        return_std : bool
            Also return the standard deviation of the Student-t prediction.
        return_cov : bool
            Also return the joint covariance.

        Returns
        -------
        mean : ndarray of shape (M,) or (M, k)
        std : ndarray of the same shape
            Only with ``return_std``.
        cov : ndarray of shape (M, M) or (k, M, M)
            Only with ``return_cov``.
        """
        if return_std and return_cov:
            raise InputError("return_std and return_cov exclude each other; the diagonal of cov is std squared.")
        if not return_cov:
            found = self.predict_distribution(X, include_nugget=include_nugget, progress=progress, memory=memory)
            return (found.mean, found.std) if return_std else found.mean
        blocks, trend = self._blocks(X, joint=True, progress=progress, memory=memory)
        options: dict[str, Any] = {"include_nugget": include_nugget, "trend_columns": trend}
        pairs = [m.predict_joint(*own, **options) for m, own in zip(self.members_, blocks, strict=True)]
        means, covs = (np.stack(parts) for parts in zip(*pairs, strict=True))
        mean, cov = mixture_covariance(means, covs, self.weights_.to_numpy())
        cov *= self.calibration_.to_numpy()[:, None, None] ** 2
        return (mean[:, 0], cov[0]) if self._layout.single else (mean, cov)

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        *,
        include_nugget: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> tuple[Array, Array]:
        """Return the bounds of central Student-t intervals, each of shape (M,) or (M, k).

        Parameters
        ----------
        X, include_nugget, progress, memory
            See :meth:`predict_distribution`.
        level : float
            Probability inside, in (0, 1).
        """
        options: dict[str, Any] = {"include_nugget": include_nugget, "progress": progress, "memory": memory}
        return self.predict_distribution(X, **options).interval(level)

    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | None = None,
        *,
        include_nugget: bool = False,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> Array:
        """Draw joint samples of the posterior at new rows, shape (n_samples, M) or (n_samples, M, k).

        scikit-learn's ``sample_y`` has the samples last.
        """
        blocks, trend = self._blocks(X, joint=True, progress=progress, memory=memory)
        rng = np.random.default_rng(random_state)
        options: dict[str, Any] = {"include_nugget": include_nugget, "trend_columns": trend}
        pairs = [
            member.draw(*own, self._layout, n_samples, rng, **options)
            for member, own in zip(self.members_, blocks, strict=True)
        ]
        draws, means = zip(*pairs, strict=True)
        weights = self._weights()
        mean = (weights[:, None] * np.stack(means)).sum(axis=0)
        drawn = draws[0] if len(draws) == 1 else choose_members(np.stack(draws), weights, rng)
        return mean + self._layout.widths(self.calibration_) * (drawn - mean)

    def leave_one_out(self) -> Prediction:
        """Predict every training row from others.

        Of one kernel: from all others, ranges and nugget fixed. Of several: from the folds that do not hold it, with
        ranges and weights of their own; ``left_out_by_`` says which.

        Returns
        -------
        Prediction
            Arrays of shape (N,) or (N, k): ``mean``, ``std``, ``interval(level)``.
        """
        check_is_fitted(self, "members_")
        if self._left_out is None:
            parts = [self._layout.join_predictions([gp.leave_one_out() for gp in m.gps]) for m in self.members_]
            found = mixture(parts, self._weights())
        else:
            found = self._left_out.column(0) if self._layout.single else self._left_out
        return found.widened(self._layout.widths(self.calibration_))

    @property
    def left_out_by_(self) -> str:
        """What :meth:`leave_one_out` does: "leave-one-out" or "cross-validation"."""
        return "leave-one-out" if self._left_out is None else "cross-validation"

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination, averaged over targets.

        Parameters
        ----------
        X : DataFrame, list of graphs or array
        y : as for :meth:`fit`
            Targets, or the names of their columns in ``X``.
        sample_weight : array-like of shape (M,), optional
        """
        check_is_fitted(self, "members_")
        targets, _, _ = split_targets(as_table(X), y, to_learn=False)
        mean = self.predict(X).reshape(len(targets), -1)
        return float(r2_score(targets, mean, sample_weight=sample_weight))

    def _weights(self) -> Array:
        """Return the weights (K, k), or (K,) for a single target."""
        return self.weights_.to_numpy()[:, 0] if self._layout.single else self.weights_.to_numpy()

    def _blocks(
        self, X: Any, *, joint: bool = False, progress: Progress | None = None, memory: MemoryLike = None
    ) -> tuple[list[tuple[list[Block], list[Block]]], Array | None]:
        """Return, for every member, blocks from new rows to the training rows and, if ``joint``, among themselves."""
        check_is_fitted(self, "members_")
        table = as_rows(X, self.feature_names_in_)
        check_width(X, table, self.n_features_in_, type(self).__name__)
        kernels = [member.kernel for member in self.members_]
        rows = represent_columns(kernels, partial(column, table), progress, memory)
        blocks = [member.new_blocks(own, joint) for member, own in zip(self.members_, rows, strict=True)]
        return blocks, trend_matrix(self._trend, table)
