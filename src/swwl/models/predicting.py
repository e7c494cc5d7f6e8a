"""What a fitted regressor says: predictions, intervals, samples, leave-one-out and scores, of one kernel or a stack."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from swwl.design.domain import Looks, Reference, case_points, look, make_reference, shapes_alone, verdicts
from swwl.errors import InputError
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.kernels.together import represent_columns
from swwl.models.members import Member
from swwl.models.processes import Layout
from swwl.models.sensitivity import Sensitivity, sensitivities
from swwl.models.stacking import choose_members, mixture, mixture_covariance
from swwl.models.tables import as_rows, as_table, check_width, column, split_targets
from swwl.models.trend import trend_matrix
from swwl.parallel import Progress
from swwl.storage import MemoryLike

Array = NDArray[np.float64]
Blocks = list[tuple[list[Block], list[Block]]]


class Predictor:
    """The half of :class:`swwl.RobustGPRegressor` that needs a fitted model: its members, their weights and widths."""

    members_: list[Member]
    gps_: list[RobustGP]
    weights_: pd.DataFrame
    calibration_: pd.Series
    candidates_: pd.DataFrame
    kernel_: Any
    train_rows_: list[Any]
    target_names_: list[str]
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
        return self._mixed(self._parts(blocks, trend, include_nugget))

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
        mean, cov = self._joint(*self._blocks(X, joint=True, progress=progress, memory=memory), include_nugget)
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

    def domain(self, X: Any, *, progress: Progress | None = None, memory: MemoryLike = None) -> pd.DataFrame:
        """Say of new rows whether they are like the training cases, so that predictions may be trusted.

        Compared are the mesh itself (how far along the variations of the training meshes, how far off them, how far
        from the nearest) and how unsure the prediction is, each with training cases that were left out. See
        ``docs/design.md`` for what this can see, and what not.

        Parameters
        ----------
        X, progress, memory
            See :meth:`predict_distribution`.

        Returns
        -------
        DataFrame
            One row per case, with the index of ``X`` where it has one: ``score``, the harmonic mean of the p-values;
            ``inside``, whether it exceeds 0.03 and no number is well out of its range (missing where fewer than 100
            training cases cannot tell); ``kind`` and ``why`` in words; the p-values ``along``, ``off`` and ``nearest``
            of every mesh column and ``std``; ``widened``, the targets whose prediction is less sure than 95 % of those
            of left-out training cases: ``swwl predict`` doubles their intervals.
        """
        return self.predict_with_domain(X, progress=progress, memory=memory)[1]

    def predict_with_domain(
        self, X: Any, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> tuple[Prediction, pd.DataFrame]:
        """Return :meth:`predict_distribution` and :meth:`domain` of new rows, which are embedded once for both."""
        check_is_fitted(self, "members_")
        table = self._table(X)
        if not len(table):
            raise InputError("There are no rows to compare with the training cases.")
        rows = self._representations(table, progress, memory)
        prediction, found = self.judge_represented(table, rows, self._member_blocks(rows))
        return prediction, pd.DataFrame(found).set_index(table.index)

    def predict_represented(self, table: pd.DataFrame, blocks: Blocks) -> Prediction:
        """Predict from what kernels have made of a table already: the blocks of every member."""
        return self._mixed(self._parts(blocks, trend_matrix(self._trend, table)))

    def judge_represented(
        self, table: pd.DataFrame, rows: Sequence[Sequence[Any]], blocks: Blocks, looks: Looks | None = None
    ) -> tuple[Prediction, dict[str, Any]]:
        """Return the prediction and the columns of the domain of a table, from its representations and blocks.

        ``looks`` is what :meth:`look_represented` found, if it has been asked already.
        """
        parts = self._parts(blocks, trend_matrix(self._trend, table))
        prediction = self._mixed(parts)
        reference = self.domain_reference()
        own = self._own_rows(rows)
        looks = look(reference, self.kernel_.factors, own, len(table)) if looks is None else looks
        found = verdicts(reference, looks, self._shape_std(parts), number_columns(self.kernel_.factors, own))
        wide = reference.widened(prediction)
        names = self.target_names_
        found["widened"] = [", ".join(n for n, w in zip(names, row, strict=True) if w) for row in wide.tolist()]
        return prediction, found

    def look_represented(self, rows: Sequence[Sequence[Any]], n: int) -> Looks:
        """Compare the meshes alone of n rows with the training meshes, given what the kernels make of them."""
        return look(self.domain_reference(), self.kernel_.factors, self._own_rows(rows), n)

    def domain_reference(self) -> Reference:
        """Return what :meth:`domain` compares cases with: learned from the training rows when it is first asked for."""
        known: tuple[Any, Reference] | None = getattr(self, "_known_reference", None)
        if known is None or known[0] is not self.members_:
            factors, rows = self.kernel_.factors, self.train_rows_
            alone = [self._layout.join_predictions([gp.leave_one_out() for gp in m.gps]) for m in self.members_]
            numbers, std = numbers_of(factors, rows), self._shape_std(alone)
            found = make_reference(factors, rows, self.leave_one_out(), std, numbers)
            known = self._known_reference = (self.members_, found)
        return known[1]

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

        Of one kernel, or of many rows: from all others, ranges, nugget and weights fixed. Of several: from the folds
        that do not hold it, with ranges and weights of their own; ``left_out_by_`` says which.

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

    def sensitivity(
        self, X: Any, target: str | None = None, *, along: Any = None, where: Any = None, std: bool = True
    ) -> list[Sensitivity]:
        """Say how predictions change when nodes move and when numbers change: exact derivatives.

        Parameters
        ----------
        X : DataFrame, list of graphs or array
            With the columns that the kernel names; graphs as meshes where weights or kernels need their cells.
        target : str, optional
            By default all targets.
        along : Modes, dict of displacements, list of them, or one, optional
            Deformations along which derivatives are wanted: (n, d) arrays, meshes of the same cells to which the nodes
            go, pairs of such meshes, or the training set's own :func:`swwl.design.displacement_modes`.
        where : array-like of bool or int, optional
            Which nodes may move; by default all. The others have a gradient of zero.
        std : bool
            Whether to differentiate standard deviations, too.

        Returns
        -------
        list of Sensitivity
            For every row; with several targets, for every row and target, row by row.
        """
        check_is_fitted(self, "members_")
        return sensitivities(self, X, target, along, where, std)

    @property
    def solver_(self) -> str:
        """Who factorized: "exact" or "vecchia"."""
        check_is_fitted(self, "members_")
        return self.gps_[0].solver

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

    def _own_rows(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the representations of the factors of ``kernel_``, given those of all members."""
        return list(self.kernel_.rows(rows) if len(self.candidates_) else rows[0])

    def coordinates(self, rows: Sequence[Sequence[Any]] | None, n_components: int) -> Array:
        """Return cases as points (M, K): whitened components of meshes, standardized numbers.

        Parameters
        ----------
        rows : list, optional
            What the factors of every member made of new cases; by default, the training cases.
        n_components : int
            Of every column of meshes.
        """
        own = self.train_rows_ if rows is None else self._own_rows(rows)
        return case_points(self.domain_reference(), self.kernel_.factors, own, n_components)

    def _parts(self, blocks: Blocks, trend: Array | None, include_nugget: bool = True) -> list[Prediction]:
        """Return the predictions of all members, given their blocks."""
        options: dict[str, Any] = {"include_nugget": include_nugget, "trend_columns": trend}
        return [
            self._layout.join_predictions([gp.predict_distribution(cross, **options) for gp in member.gps])
            for member, (cross, _) in zip(self.members_, blocks, strict=True)
        ]

    def _mixed(self, parts: Sequence[Prediction]) -> Prediction:
        """Make one prediction of those of all members."""
        return mixture(parts, self._weights()).widened(self._layout.widths(self.calibration_))

    def _joint(self, blocks: Blocks, trend: Array | None, include_nugget: bool) -> tuple[Array, Array]:
        """Return the mean (M, k) and the covariances (k, M, M) of all members together."""
        options: dict[str, Any] = {"include_nugget": include_nugget, "trend_columns": trend}
        pairs = [m.predict_joint(*own, **options) for m, own in zip(self.members_, blocks, strict=True)]
        means, covs = (np.stack(parts) for parts in zip(*pairs, strict=True))
        mean, cov = mixture_covariance(means, covs, self.weights_.to_numpy())
        return mean, cov * self.calibration_.to_numpy()[:, None, None] ** 2

    def _shape_std(self, parts: Sequence[Prediction]) -> Array:
        """Return the standard deviations (M, k) that members on shapes alone give; those of all if there are none."""
        chosen = [i for i, member in enumerate(self.members_) if shapes_alone(member.kernel)]
        chosen = chosen or list(range(len(parts)))
        weights = self.weights_.to_numpy()[chosen] + np.finfo(float).tiny
        return mixture([parts[i].columns() for i in chosen], weights / weights.sum(axis=0)).columns().std

    def _blocks(
        self, X: Any, *, joint: bool = False, progress: Progress | None = None, memory: MemoryLike = None
    ) -> tuple[Blocks, Array | None]:
        """Return, for every member, blocks from new rows to the training rows and, if ``joint``, among themselves."""
        check_is_fitted(self, "members_")
        table = self._table(X)
        rows = self._representations(table, progress, memory)
        return self._member_blocks(rows, joint), trend_matrix(self._trend, table)

    def _table(self, X: Any) -> pd.DataFrame:
        table = as_rows(X, self.feature_names_in_)
        check_width(X, table, self.n_features_in_, type(self).__name__)
        return table

    def _representations(
        self, table: pd.DataFrame, progress: Progress | None = None, memory: MemoryLike = None
    ) -> list[list[Any]]:
        """Return what the factors of every member make of a table."""
        kernels = [member.kernel for member in self.members_]
        return represent_columns(kernels, partial(column, table), progress, memory)

    def _member_blocks(self, rows: Sequence[Sequence[Any]], joint: bool = False) -> Blocks:
        return [member.new_blocks(own, joint) for member, own in zip(self.members_, rows, strict=True)]


def numbers_of(factors: Sequence[Any], rows: Sequence[Any]) -> pd.DataFrame:
    """Return the numeric columns that factors represent, in their own units."""
    return pd.DataFrame(number_columns(factors, rows))


def number_columns(factors: Sequence[Any], rows: Sequence[Any]) -> dict[str, Array]:
    """Return the numeric columns that factors represent, by name."""
    found = {factor.column: factor.numbers(own) for factor, own in zip(factors, rows, strict=True)}
    return {name: values for name, values in found.items() if values is not None}
