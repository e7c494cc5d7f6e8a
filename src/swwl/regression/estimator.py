"""What a fitted regressor says: predictions, intervals, samples, leave-one-out and scores, of one kernel or a stack."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from swwl.domain.verdict import Looks, Reference, case_points, look, make_reference, shapes_alone, verdicts
from swwl.errors import GPWarning, InputError
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Product, warn_about_indefinite
from swwl.kernels.shared import fit_kernels, keep_sampled, represent_columns
from swwl.kernels.stored import stored
from swwl.parallel import Progress
from swwl.regression.candidates import default_kernels
from swwl.regression.fit import Task, fit_members
from swwl.regression.fit_many_rows import choose_solver, fit_large_members
from swwl.regression.sensitivity import Sensitivity, sensitivities
from swwl.regression.stack import (
    Layout,
    Member,
    Stack,
    check_trend,
    choose_members,
    columns_of,
    mean_shares,
    mixture,
    mixture_covariance,
    named_kernels,
    trend_factors,
    trend_matrix,
)
from swwl.regression.state import RegressorState, regressor_from_state, regressor_state
from swwl.storage.memory import MemoryLike
from swwl.storage.modelfile import save_model, storable
from swwl.tables.inputs import as_rows, as_table, check_width, column, split_targets

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


@storable
class RobustGPRegressor(Predictor, RegressorMixin, BaseEstimator):
    r"""Gaussian process regression on tables whose columns hold meshes and numbers.

    Parameters
    ----------
    kernel : Factor, Product, or a list or dict of them, optional
        Such as ``SWWL("mesh") * Matern52("speed")``. Several kernels are stacked: their predictions are mixed with
        weights that cross-validation chooses. By default those of :func:`swwl.regression.candidates.default_kernels`.
    nugget : "estimate" or float
        Noise variance over the process variance.
    trend : {"constant", "zero", "linear"} or list of str
        "linear" is a constant and the numeric columns of the kernel; a list names the columns.
    method, nugget_floor, range_uncertainty, random_state
        See :class:`swwl.RobustGP`, also for the next two.
    n_starts : int, optional
        Climbs of every fit. By default three for one kernel, one for each of several.
    prior : {"robust", "gentle"}, optional
        By default "robust" for one kernel, "gentle" for several, which have more ranges.
    calibrate : bool
        Whether intervals become as wide as cross-validation asks for (see ``calibration.py``); it takes about as
        long again as the fit. Without it they are the plain Student-t intervals of the processes.
    share_ranges : bool
        Whether several targets share ranges and nugget, and with them one factorisation (as R's ppgasp). By default
        each has its own, which is more accurate where targets depend on different inputs.
    n_jobs : int or None
        Threads that embed meshes for the default kernels (a kernel that is given has its own) and that the solver for
        many rows works with.
    solver : {"auto", "exact", "vecchia"}
        "exact" factorizes one matrix of all rows; "vecchia" approximates it by inducing rows and neighbors, in time
        that grows with the number of rows, see :mod:`swwl.regression.fit_many_rows`. "auto" takes it from 3000 rows on.

    Attributes
    ----------
    kernel_ : Product
        The fitted kernel; of several, a stack of them.
    members_ : list of Member
        Every kernel with its processes.
    weights_ : DataFrame
        What every member (rows) weighs for every target (columns).
    candidates_ : DataFrame
        Of several kernels, for every target: ``candidate``, ``weight``, and the ``rmse`` of rows left out of folds.
    gps_ : list of RobustGP
        One per target; a single one with ``share_ranges``. Of several kernels, those of the heaviest.
    target_names_ : list of str
    ranges_ : Series, or DataFrame with a column per target
        Range of every part of the kernel: at this distance its correlation has dropped to :math:`c(1)`. In the units
        of the column for numbers, in units of sliced Wasserstein distance for graphs.
    importance_ : Series, or DataFrame with a column per target
        Of one kernel, R's inert-input measure for every range: :math:`p\,C_l\beta_l / \sum_i C_i\beta_i`. Of several,
        for every column, how much of what sets cases apart comes from it. One on average; near zero, an input hardly
        matters.
    calibration_ : Series
        By how much intervals, standard deviations and samples of each target are wider than those of the processes.
    selection_ : DataFrame
        How the number of components was chosen: ``column``, ``n_components``, ``log_posterior``, ``chosen``. Empty
        where there was nothing to choose.
    feature_names_in_ : ndarray of str
        Columns that predictions need.
    n_features_in_ : int
        Columns that ``fit`` saw, apart from the targets.
    metadata_ : dict
        Anything JSON can hold, empty after ``fit`` and kept in model files: where the data came from, and so on.

    Examples
    --------
    >>> from swwl import Graph, Matern52, SWWL
    >>> rng = np.random.default_rng(0)
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in rng.uniform(1, 2, 30)]
    >>> table = pd.DataFrame({"rod": rods, "load": rng.uniform(1, 3, 30)})
    >>> table["stretch"] = [load * rod.features[1, 0] for rod, load in zip(table["rod"], table["load"])]
    >>> kernel = SWWL("rod", n_iterations=0, n_projections=4, n_quantiles=5) * Matern52("load")
    >>> model = RobustGPRegressor(kernel).fit(table[:25], "stretch")
    >>> bool(model.score(table[25:], table["stretch"][25:]) > 0.99)
    True
    >>> lower, upper = model.predict_interval(table[25:], level=0.95)
    >>> bool(np.mean((lower < table["stretch"][25:]) & (table["stretch"][25:] < upper)) >= 0.8)
    True
    """

    predicts: ClassVar[Literal["numbers"]] = "numbers"

    def __init__(
        self,
        kernel: Any = None,
        *,
        nugget: float | str = "estimate",
        trend: str | list[str] = "constant",
        method: str = "posterior",
        nugget_floor: float = 1e-6,
        n_starts: int | None = None,
        prior: str | None = None,
        range_uncertainty: bool = False,
        calibrate: bool = True,
        share_ranges: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
        solver: str = "auto",
    ):
        self.kernel = kernel
        self.nugget = nugget
        self.trend = trend
        self.method = method
        self.nugget_floor = nugget_floor
        self.n_starts = n_starts
        self.prior = prior
        self.range_uncertainty = range_uncertainty
        self.calibrate = calibrate
        self.share_ranges = share_ranges
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.solver = solver

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        progress: Progress | None = None,
        gp_progress: Progress | None = None,
        memory: MemoryLike = None,
        embeddings: str | os.PathLike[str] | None = None,
    ) -> RobustGPRegressor:
        """Embed the graphs, once, and estimate ranges and nugget.

        Parameters
        ----------
        X : DataFrame, list of graphs, or array of shape (N, m)
            A list of graphs is a table of one column "graph"; an array has columns "x0", "x1", ….
        y : str, list of str, Series, DataFrame or array of shape (N,) or (N, k)
            Targets, or the names of their columns in ``X``.
        progress : callable, optional
            Called as ``progress(done, total)`` while graphs are embedded.
        gp_progress : callable, optional
            Called in the same way while Gaussian processes are fitted: to choose numbers of components, on all rows,
            and on the folds of the calibration.
        memory : Memory or path, optional
            Where embeddings of mesh files are kept from one run to the next; see :class:`swwl.SWWLEmbedding`.
        embeddings : path, optional
            A store that ``swwl embed`` made of the mesh files, with the options of the kernel: none of them is read.
        """
        table = as_table(X)
        targets, self.target_names_, single = split_targets(table, y)
        self._layout = Layout(self.target_names_, single, self.share_ranges)
        inputs = table.drop(columns=self.target_names_, errors="ignore")
        self.n_features_in_ = inputs.shape[1]
        kernels = self._kernels(inputs, few_rows=embeddings is None)  # stores hold what the other candidates need
        for name in columns_of(kernels):
            column(table, name)
        check_trend(self.trend)
        solver = choose_solver(self.solver, len(targets), self.range_uncertainty)
        if len(targets) == 3:
            warnings.warn("With 3 rows, standard deviations come out infinite; use 4 or more.", GPWarning, stacklevel=2)
        self.train_targets_ = targets
        sampled: Any = None
        read = partial(column, table)
        if embeddings is not None:
            sampled = stored(embeddings, read)
        elif solver.large:
            sampled = partial(keep_sampled, read, self.random_state, progress, memory)
        rows = fit_kernels(list(kernels.values()), read, progress, memory, sampled=sampled)
        self.members_ = [Member(name, kernel, own) for (name, kernel), own in zip(kernels.items(), rows, strict=True)]
        self._trend = trend_factors(self.trend, self.members_[0].kernel.factors, table)
        for member in self.members_:
            warn_about_indefinite(member.kernel, stacklevel=3)
        stacked = len(self.members_) > 1
        task = Task(
            targets,
            self._layout,
            trend_matrix(self._trend, table),
            partial(self._make_gp, prior=self.prior or ("gentle" if stacked else "robust")),
            self.n_starts or (1 if stacked else 3),
            self.calibrate,
            self.random_state,
            effective_n_jobs(self.n_jobs),
        )
        found = (fit_large_members if solver.large else fit_members)(self.members_, task, gp_progress)
        self.members_, self.weights_ = found.members, found.weights
        self.feature_names_in_ = columns_of({member.name: member.kernel for member in self.members_})
        self.calibration_ = pd.Series(found.widths, index=self.target_names_)
        self.selection_, self.candidates_, self._left_out = found.selection, found.candidates, found.left_out
        self.metadata_: dict[str, Any] = {}
        self._describe()
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; :func:`swwl.load_model` reads it."""
        save_model(path, self)

    def get_state(self) -> RegressorState:
        """Return what the fitted model is made of, for a model file."""
        check_is_fitted(self, "members_")
        return regressor_state(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RobustGPRegressor:
        """Make a fitted model again of what :meth:`get_state` returned."""
        return regressor_from_state(cls, state)

    @property
    def train_inputs_(self) -> pd.DataFrame:
        """The numeric columns that the model was fitted to, in their own units."""
        check_is_fitted(self, "members_")
        return numbers_of(self.kernel_.factors, self.train_rows_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _kernels(self, inputs: pd.DataFrame, few_rows: bool) -> dict[str, Product]:
        """Return the kernels to fit, by name."""
        if self.kernel is None:
            return default_kernels(inputs, few_rows=few_rows, random_state=self.random_state, n_jobs=self.n_jobs)
        return named_kernels(self.kernel)

    def _make_gp(
        self, kernel: Product, names: list[str] | None = None, n_starts: int = 1, prior: str = "robust"
    ) -> RobustGP:
        return RobustGP(
            kernel.correlations(),
            nugget=self.nugget,
            trend=("linear" if self._trend else "constant") if self.trend != "zero" else "zero",
            method=self.method,
            nugget_floor=self.nugget_floor,
            n_starts=n_starts,
            prior=prior,
            range_uncertainty=self.range_uncertainty,
            names=names,
            random_state=self.random_state,
        )

    def _describe(self) -> None:
        """Put ranges and importance under readable names, and make one kernel of several."""
        first = self.members_[0]
        if self.candidates_.empty:
            self.kernel_, self.gps_, self.train_rows_ = first.kernel, first.gps, first.rows
            importance, index = [gp.importance_ for gp in first.gps], first.kernel.range_names()
        else:
            self.kernel_ = Stack({member.name: member.kernel for member in self.members_})
            self.train_rows_ = self.kernel_.rows([member.rows for member in self.members_])
            self.gps_ = self.members_[int(self.weights_.sum(axis=1).argmax())].gps
            index = list(self.feature_names_in_)
            importance = mean_shares(self.members_, self.weights_.to_numpy(), index)
        units = self.kernel_.units()
        betas = [np.concatenate([m.gps[j].beta_ for m in self.members_]) for j in range(len(first.gps))]
        self.ranges_ = self._layout.by_name(self.kernel_.range_names(), [units / beta for beta in betas])
        self.importance_ = self._layout.by_name(index, importance)
