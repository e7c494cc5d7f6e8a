"""RobustGPRegressor: Gaussian process regression on tables of meshes and numbers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from swwl.domain.notes import (
    listed_columns,
    mesh_notes,
    surprising_notes,
    typical_in,
    warn_about_cases,
    with_causes,
)
from swwl.domain.verdict import (
    Columns,
    Looks,
    Reference,
    Representation,
    case_points,
    look,
    number_columns,
    verdicts,
)
from swwl.errors import GPWarning, InputError
from swwl.estimators import BaseEstimator, RegressorMixin, check_is_fitted
from swwl.formatting import NotebookTable, html_table, number, percent
from swwl.gp import RobustGP
from swwl.gp.prediction import Prediction, check_samples
from swwl.gp.prior import PRIORS
from swwl.kernels.base import Factor, Product, warn_about_indefinite
from swwl.kernels.shared import Sampled, fit_kernels, keep_sampled
from swwl.kernels.stored import stored
from swwl.parallel import Progress, blas_threads, n_workers
from swwl.regression.candidates import default_kernels
from swwl.regression.effects import variance_shares
from swwl.regression.fit import FewRows, Task, fit_members, same_rows
from swwl.regression.fit_many_rows import ManyRows, choose_solver
from swwl.regression.fit_regimes import check_regimes
from swwl.regression.influence import Expected, coarseness_kernel, embedded_columns, measure_influence
from swwl.regression.intervals import widened, widening
from swwl.regression.outliers import check_outliers, outlier_table, warn_about_outliers
from swwl.regression.sensitivity import Sensitivity, sensitivities
from swwl.regression.spreadsheet import FEWEST_ROWS, MOST_ROWS, plain_columns, spreadsheet_errors
from swwl.regression.stack import (
    Layout,
    Member,
    Represented,
    Stack,
    check_trend,
    columns_of,
    named_kernels,
    other_inputs,
    training_trend,
    trend_factors,
)
from swwl.regression.state import RegressorState, regressor_from_state, regressor_state
from swwl.regression.target_scale import TargetScale, choose_scales, judged_laws, warn_about_laws
from swwl.regression.together.fit import Chain, fit_together
from swwl.regression.together.joint import error_correlation, target_covariances
from swwl.regression.together.levels import Fidelity
from swwl.regression.together.state import ChainState, chain_from_state, chain_state
from swwl.storage.memory import MemoryLike
from swwl.storage.modelfile import save_model, storable
from swwl.tables.inputs import as_rows, as_table, check_width, column, split_targets
from swwl.tables.laws import laws_of_table
from swwl.tables.results import warn_about_columns

if TYPE_CHECKING:
    from swwl.regression.curves.estimator import CurveRegressor

Array = NDArray[np.float64]
Table: TypeAlias = Any  # a DataFrame or other table, a list of graphs, or an array


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_predicts_numbers(model: RobustGPRegressor) -> None:
    """Refuse a regressor that is not fitted, or was fitted to curves."""
    if "curves_" in vars(model) and "stack_" not in vars(model):
        raise InputError("This model predicts curves: ask its curves_, a CurveRegressor.")
    check_is_fitted(model, "stack_")


@storable
class RobustGPRegressor(NotebookTable, RegressorMixin, BaseEstimator):
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
        Optimization runs of every fit. By default three for one kernel, one for each of several.
    prior : {"robust", "gentle"}, optional
        By default "robust" for one kernel, "gentle" for several, which have more ranges.
    calibrate : bool
        Whether intervals become as wide as cross-validation asks for (see :mod:`swwl.regression.intervals`); it takes
        about as long again as the fit. Without it they are the plain Student-t intervals of the processes.
    share_ranges : bool
        Whether several targets share ranges and nugget, and with them one factorization (as R's ppgasp). By default
        each has its own, which is more accurate where targets depend on different inputs.
    n_jobs : int or None
        Threads that embed meshes for the default kernels (a kernel that is given has its own) and that the solver for
        many rows works with.
    solver : {"auto", "exact", "vecchia"}
        "exact" factorizes one matrix of all rows; "vecchia" approximates it by inducing rows and neighbors, in time
        that grows with the number of rows, see :mod:`swwl.regression.fit_many_rows`. "auto" takes it above 3000 rows.
    target_scale : {"auto", "identity", "log", "warp"}, or a list or dict of them, optional
        On which scale a target is fitted: its own, its logarithm, or the best of several monotone warps; for all
        targets, for each in their order, or by name. "auto" stays with the target's own unless another describes
        left-out training rows better beyond chance. Whatever it is, all answers are in the units of the target, and
        those of a logarithm are positive. By default "auto" for several kernels, "identity" for one. See
        :mod:`swwl.regression.target_scale`.
    outliers : {"auto", "keep"}
        "auto" looks for rows that the others do not explain by far and that spoil the predictions of the others; they
        count 1 % or less then, and an :class:`~swwl.errors.OutlierWarning` names them, see
        :mod:`swwl.regression.outliers`. Clean data are fitted as by "keep", which counts all rows in full. So do fits
        to fewer than 30 rows, those without folds (one kernel and ``calibrate=False``), and ``solver="vecchia"``.
    regimes : {"auto", "one"}, optional
        "auto" looks for two branches that training cases follow, such as attached and separated flows, and fits two
        experts and a gate where rows left out of folds are described better by them (see
        :mod:`swwl.regression.regimes`); predictions of cases that may follow either have two humps then. For 60 to
        1000 rows, and with folds (several kernels or ``calibrate``); "one" never does. By default "auto" for several
        kernels, "one" for one.
    scaled : str, list of str or dict of str to str, optional
        Laws that are known of targets: ``"max_disp ~ force / young"``, several of them, or formulas by target. A target
        is learned as its ratio to the formula, of numeric inputs, which stay inputs; all answers are in its own units.
        Names with spaces are written in backticks, and ``force`` is enough for ``force [N]``. A law is used only where
        rows left out of folds are predicted no worse with it; see :attr:`laws_`.
    groups : bool
        Whether the default also learns from the named groups of meshes (where a part is held, how many bodies there
        are), where these differ from mesh to mesh. New meshes need the same groups then.
    targets_together : {"auto", True, False}
        Whether a target of which more is known helps another one of which cells are missing ("auto": where rows left
        out of folds are predicted better by 5 % at least), or a cheap level of fidelity a good one. Samples, and
        constraints of :func:`swwl.design.suggest`, then take errors of targets as they go together; True does so too
        where no cells are missing. See :mod:`swwl.regression.together`.

    Attributes
    ----------
    stack_ : Stack
        All that predictions are made with: members, weights, widths, trend and layout.
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
    target_scales_ : dict of str to TargetScale
        On which scale each target was fitted, and why.
    laws_ : list of JudgedLaw
        What became of the laws in ``scaled``: ``target``, ``formula``, ``used``, the ``error`` of left-out rows with
        it, the ``plain_error`` without, and all of that in ``words``.
    selection_ : DataFrame
        How the number of components was chosen: ``column``, ``n_components``, ``log_posterior``, ``chosen``. Empty
        where there was nothing to choose.
    outliers_ : DataFrame
        Rows that hardly count, by their labels: ``position`` among the training rows, ``target``, ``value``, what is
        ``expected`` from the others, and their ``weight``. Mostly empty.
    regimes_ : Series or None
        Which branch every training row follows, 1 or 2 (0 for rows that hardly count); None where there are not two.
    feature_names_in_ : ndarray of str
        Columns that predictions need.
    n_features_in_ : int
        Columns that ``fit`` saw, apart from the targets.
    together_ : DataFrame
        What helpers bring: ``target``, ``helper``, how many ``rows`` each has, ``slope``, ``error_alone``,
        ``error_together`` (of rows left out, on the target's ``scale``), and whether it is ``used``.
    target_correlation_ : DataFrame
        How errors of targets go together, where they are learned so.
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
    chain_: Chain | None

    def __init__(
        self,
        kernel: Factor | Product | Sequence[Factor | Product] | dict[str, Factor | Product] | None = None,
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
        target_scale: str | list[str] | dict[str, str] | None = None,
        outliers: str = "auto",
        regimes: str | None = None,
        scaled: str | list[str] | dict[str, str] | None = None,
        groups: bool = True,
        targets_together: bool | str = "auto",
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
        self.target_scale = target_scale
        self.outliers = outliers
        self.regimes = regimes
        self.scaled = scaled
        self.groups = groups
        self.targets_together = targets_together

    def fit(
        self,
        X: Table,
        y: Any = None,
        *,
        curve: str | None = None,
        grid: ArrayLike | None = None,
        progress: Progress | None = None,
        gp_progress: Progress | None = None,
        memory: MemoryLike = None,
        embeddings: str | os.PathLike[str] | None = None,
        fidelity: Fidelity | None = None,
    ) -> RobustGPRegressor:
        """Embed the graphs, once, and estimate ranges and nugget.

        Parameters
        ----------
        X : DataFrame, list of graphs, or array of shape (N, m)
            A list of graphs is a table of one column "graph"; an array has columns "x0", "x1", ….
        y : str, list of str, Series, DataFrame or array of shape (N,) or (N, k)
            Targets, or the names of their columns in ``X``. Of several, cells may be missing (NaN): each is fitted to
            the rows where it is known, see ``targets_together``.
        curve : str, optional
            Instead of targets, the curves of ``X`` to learn: a column of arrays or of CSV files, or the beginning of
            the names of wide columns. Then :attr:`curves_` is a fitted :class:`swwl.CurveRegressor`, and what this
            model is asked, it answers: ``predict``, ``predict_interval``, ``sample``, ``domain``, ``score`` and
            ``save``.
        grid : array-like of shape (m,), optional
            The abscissas of curves that come without.
        progress : callable, optional
            Called as ``progress(done, total)`` while graphs are embedded.
        gp_progress : callable, optional
            Called in the same way while Gaussian processes are fitted: to choose numbers of components, on all rows,
            and on the folds of the calibration.
        memory : Memory or path, optional
            Where embeddings of mesh files are kept from one run to the next; see :class:`swwl.SWWLEmbedding`.
        embeddings : path, optional
            A store that ``swwl embed`` made of the mesh files, with the options of the kernel: none of them is read.
        fidelity : str or dict of str to list, optional
            Column that says how good an answer is, such as "coarse" and "fine": many cheap rows help a few good ones,
            where folds agree, and predictions are those of the best level. The larger number is the better level, of
            texts that with fewer rows; ``{"level": ["coarse", "fine"]}`` says it, the best last.
        """
        self._check_options()
        if curve is not None:
            others = {"embeddings": embeddings, "fidelity": fidelity}
            return self._fit_curves(
                X, y, curve, grid, others, progress=progress, gp_progress=gp_progress, memory=memory
            )
        table = as_table(X)
        if fit_together(
            self, table, y, fidelity,
            progress=progress, gp_progress=gp_progress, memory=memory, embeddings=embeddings,
        ):  # fmt: skip
            return self
        targets, self.target_names_, single = split_targets(table, y)
        layout = Layout(self.target_names_, single, self.share_ranges)
        inputs = table.drop(columns=self.target_names_, errors="ignore")
        self.n_features_in_ = inputs.shape[1]
        kernels = self._kernels(inputs, few_rows=embeddings is None)  # stores hold what the other candidates need
        for name in columns_of(kernels):
            column(table, name)
        if self.kernel is None:
            warn_about_columns(table, pd.DataFrame(targets, columns=self.target_names_))
        laws = laws_of_table(self.scaled, self.target_names_, targets, inputs)
        solver = choose_solver(self.solver, len(targets), self.range_uncertainty)
        if len(targets) == 3:
            warnings.warn("With 3 rows, standard deviations come out infinite; use 4 or more.", GPWarning, stacklevel=2)
        self.train_targets_ = targets
        sampled: Sampled | None = None
        read = partial(column, table)
        if embeddings is not None:
            sampled = stored(embeddings, read)
        elif solver.large:
            sampled = partial(keep_sampled, read, self.random_state, progress, memory)
        measured = embedded_columns(kernels.values()) if sampled is None else []
        extra = [coarseness_kernel(measured, self.n_jobs)] if measured else []
        rows = fit_kernels([*kernels.values(), *extra], read, progress, memory, sampled=sampled)
        sizes = np.hstack(rows.pop()) if measured else None
        members = [Member(name, kernel, own) for (name, kernel), own in zip(kernels.items(), rows, strict=True)]
        trend = trend_factors(self.trend, members[0].kernel.factors, table)
        for member in members:
            warn_about_indefinite(member.kernel, stacklevel=3)
        stacked = len(members) > 1
        prior, linear = ("gentle" if stacked else "robust") if self.prior is None else self.prior, bool(trend)
        task = Task(
            targets,
            layout,
            training_trend(trend, table),
            partial(self._make_gp, prior=prior, linear=linear),
            (1 if stacked else 3) if self.n_starts is None else self.n_starts,
            self.calibrate,
            self.random_state,
            n_workers(self.n_jobs),
            same=None if solver.large else same_rows(members),
            find_outliers=self.outliers == "auto" and (stacked or self.calibrate),
            find_regimes=(self.regimes or ("auto" if stacked else "one")) == "auto" and (stacked or self.calibrate),
        )
        with blas_threads(len(targets)):
            self.laws_, laws, task = judged_laws(laws, inputs, self.target_scale, members, task)
            scales = choose_scales(self.target_scale, members, task)
            task, way = task.on_scales(scales), ManyRows if solver.large else FewRows
            found = fit_members(members, task, way(task, judge=stacked or self.calibrate), gp_progress)
        self.stack_ = Stack(
            found.members,
            found.weights,
            pd.Series(found.widths, index=self.target_names_),
            trend,
            layout,
            stacked,
            left_out=found.left_out,
            scales=list(task.scales) or scales,
            judged=found.judged,
            regimes=found.regimes,
            laws=laws,
            other_inputs=other_inputs(laws, trend, members, table),
        )
        if sizes is not None:
            self.stack_.influence = measure_influence(self.stack_, table, measured, sizes, memory)
        self.selection_, self.candidates_ = found.selection, found.candidates
        noises = [found.task.noise_of(k) for k in range(len(self.target_names_))]
        expected = self.leave_one_out().columns().mean if any(n is not None for n in noises) else targets
        self.outliers_ = outlier_table(self.target_names_, targets, noises, expected, table.index)
        warn_about_outliers(self.outliers_, stacklevel=2)
        warn_about_laws(self.laws_, stacklevel=2)
        self.metadata_: dict[str, Any] = {}
        return self

    def _fit_curves(
        self, X: Table, y: Any, curve: str, grid: ArrayLike | None, others: Mapping[str, object], **options: Any
    ) -> RobustGPRegressor:
        """Learn curves instead of targets, with a regressor of their own."""
        from swwl.regression.curves.estimator import CurveRegressor  # which is made of this class

        if y is not None:
            raise InputError("Targets (y) and a curve need separate models: give one of them.")
        for name, value in others.items():
            if value is not None:
                raise InputError(f"{name} does not apply to curves, whose models read all meshes.")
        self.__dict__.pop("stack_", None)
        model = CurveRegressor(self, random_state=self.random_state, n_jobs=self.n_jobs)
        self.curves_ = model.fit(X, curve, grid=grid, **options)
        self.target_names_, self.n_features_in_ = self.curves_.target_names_, self.curves_.n_features_in_
        return self

    @property
    def _curves(self) -> CurveRegressor | None:
        """What answers where curves were fitted, and no targets after them."""
        found: CurveRegressor | None = None if "stack_" in vars(self) else vars(self).get("curves_")
        return found

    def predict(
        self,
        X: Table,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        grid: ArrayLike | None = None,
        include_nugget: bool = True,
        widen: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> Any:
        """Predict at new rows.

        Parameters
        ----------
        X, include_nugget, widen, progress, memory
            See :meth:`predict_distribution`.
        return_std : bool
            Also return the standard deviation of the Student-t prediction.
        return_cov : bool
            Also return the joint covariance.
        grid : array-like of shape (p,), optional
            Of curves: where to predict them.

        Returns
        -------
        mean : ndarray of shape (M,) or (M, k)
        std : ndarray of the same shape
            Only with ``return_std``.
        cov : ndarray of shape (M, M) or (k, M, M)
            Only with ``return_cov``.
        """
        if self._curves is not None:
            if return_cov or not include_nugget:
                name = "return_cov=True" if return_cov else "include_nugget=False"
                raise InputError(f"{name} is for models of numbers; this model predicts curves.")
            return self._curves.predict(X, return_std, grid=grid, widen=widen, progress=progress, memory=memory)
        if return_std and return_cov:
            raise InputError("return_std and return_cov are mutually exclusive; the diagonal of cov is std squared.")
        options: dict[str, Any] = {"widen": widen, "progress": progress, "memory": memory, "stacklevel": 3}
        if not return_cov:
            found = self._asked(X, include_nugget, **options)[0]
            return (found.mean, found.std) if return_std else found.mean
        nothing, cases, factors = self._asked(X, True, **options)
        if not len(cases):
            return nothing.mean, np.empty((*nothing.mean.shape[1:], 0, 0))
        mean, cov = self.stack_.joint(cases, include_nugget, factors)
        return (mean[:, 0], cov[0]) if self.stack_.layout.single else (mean, cov)

    def predict_interval(
        self,
        X: Table,
        level: float = 0.95,
        *,
        simultaneous: bool = False,
        grid: ArrayLike | None = None,
        include_nugget: bool = True,
        widen: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> tuple[Array, Array]:
        """Return the bounds of central Student-t intervals, each of shape (M,) or (M, k).

        Parameters
        ----------
        X, include_nugget, widen, progress, memory
            See :meth:`predict_distribution`.
        level : float
            Probability inside, in (0, 1).
        simultaneous, grid
            Of curves, see :meth:`swwl.CurveRegressor.predict_interval`.
        """
        if self._curves is not None:
            if not include_nugget:
                raise InputError("include_nugget=False is for models of numbers; this model predicts curves.")
            options: dict[str, Any] = {"simultaneous": simultaneous, "grid": grid, "widen": widen}
            return self._curves.predict_interval(X, level, **options, progress=progress, memory=memory)
        if simultaneous:
            raise InputError("simultaneous is for bands of whole curves; this model predicts numbers.")
        found, _, _ = self._asked(X, include_nugget, widen=widen, progress=progress, memory=memory, stacklevel=3)
        return found.interval(level)

    def predict_distribution(
        self,
        X: Table,
        *,
        include_nugget: bool = True,
        widen: bool = True,
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
        widen : bool
            Whether rows are compared with the training cases (default): intervals and standard deviations are widened
            where the model is less sure than of 95 % of left-out training cases, and a
            :class:`~swwl.errors.CaseWarning` says what ``swwl predict`` prints as notes, where more rows than by chance
            are unlike the training cases, or one is far from them. Without it, this is the plain process, and nothing
            is said.
        progress : callable, optional
            Called as ``progress(done, total)`` while graphs are embedded.
        memory : Memory or path, optional
            Where embeddings of mesh files are kept.

        Returns
        -------
        Prediction
            Arrays of shape (M,) or (M, k): ``mean``, ``std``, ``interval(level)``.
        """
        return self._asked(X, include_nugget, widen=widen, progress=progress, memory=memory, stacklevel=3)[0]

    def _asked(
        self,
        X: Table,
        include_nugget: bool,
        *,
        widen: bool,
        progress: Progress | None,
        memory: MemoryLike,
        stacklevel: int,
    ) -> tuple[Prediction, Represented, Array]:
        """Return predictions, the cases as the stack sees them, and by how much scales were multiplied; warn."""
        check_predicts_numbers(self)
        if hasattr(X, "__len__") and len(X) == 0:
            nothing = self.stack_.layout.nothing(self.gps_[0].df_)
            return nothing, Represented([], None, 0), np.empty(nothing.mean.shape)
        table = self._table(X)
        with blas_threads(len(self.train_targets_)):
            cases = self.stack_.represent(table, progress, memory)
            if not widen:
                plain = self.stack_.predict(cases, include_nugget)
                return plain, cases, np.ones(plain.mean.shape)
            observed, columns = self.judge(cases, widen=False)
            moves = self._expected(cases).moves
        domain = pd.DataFrame(columns)
        reference, n_train = self.domain_reference(), len(self.train_targets_)
        notes = surprising_notes(domain, n_train, len(reference.bounds))
        notes += mesh_notes(domain, n_train, table, typical_in(self.metadata_))
        warn_about_cases(notes, stacklevel=stacklevel)
        factors = widening(observed, reference, moves)  # unsure of a new observation, whatever is asked for
        plain = observed if include_nugget else self.stack_.predict(cases, include_nugget=False)
        return plain.widened(factors), cases, factors

    def predict_sets(
        self, X: Table, level: float = 0.95, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> pd.DataFrame:
        """Return the likeliest values of every case: an interval, or two where two outcomes are possible.

        Parameters
        ----------
        X, progress, memory
            See :meth:`predict_distribution`.
        level : float
            Probability of the whole set, in (0, 1).

        Returns
        -------
        DataFrame
            ``row`` (counted from 0), ``target``, ``lower``, ``upper`` and ``probability``, a line for every interval.

        Examples
        --------
        >>> table = pd.DataFrame({"a": np.linspace(0, 1, 12), "y": np.linspace(0, 2, 12)})
        >>> model = RobustGPRegressor().fit(table, "y")
        >>> model.predict_sets(pd.DataFrame({"a": [0.5]}))["probability"].tolist()
        [0.95]
        """
        found = self._asked(X, True, widen=True, progress=progress, memory=memory, stacklevel=3)[0]
        rows = [
            {"row": row, "target": name, **one._asdict()}
            for k, name in enumerate(self.target_names_)
            for row, case in enumerate(found.column(k).sets(level) if len(found) else [])
            for one in case
        ]
        table = pd.DataFrame(rows, columns=["row", "target", "lower", "upper", "probability"])
        return table.sort_values(["row", "target", "lower"], ignore_index=True)

    def variance_shares(self) -> pd.DataFrame | None:
        """Return how much of the variance of predictions is lost when an input is averaged out, with its uncertainty.

        See :mod:`swwl.regression.effects`; None for the solver for many rows, where it would take long, and for models
        in which one part helps another.

        Returns
        -------
        DataFrame
            ``target``, ``input``, ``share`` and ``error``.

        Examples
        --------
        >>> from swwl import Elliptic
        >>> x = np.random.default_rng(0).uniform(-1, 1, (60, 2))
        >>> table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": 3 * x[:, 0] + x[:, 1]})
        >>> shares = RobustGPRegressor(Elliptic("a", "b")).fit(table, "y").variance_shares()
        >>> shares["share"].round(1).tolist()
        [0.9, 0.1]
        """
        check_predicts_numbers(self)
        if any(member.large for member in self.stack_.members) or self.chain_ is not None:
            return None
        return variance_shares(self.stack_, len(self.train_targets_), self.random_state)

    def spreadsheet(self) -> pd.DataFrame | None:
        """Return how well a linear and a boosted model do on the numbers of the table and on sizes of its parts.

        By folds, as ``candidates_`` and :meth:`cross_validation` are; None where fewer than ten or more than 3000 rows
        are not worth it, or there are no plain numbers.

        Returns
        -------
        DataFrame
            ``target``, ``model`` ("linear" or "boosted") and ``rmse``.
        """
        check_predicts_numbers(self)
        n = len(self.train_targets_)
        if not FEWEST_ROWS <= n <= MOST_ROWS:
            return None
        columns = plain_columns(self.stack_.kernel.factors, self.stack_.train_rows)
        if not columns.shape[1]:
            return None
        same = same_rows(self.stack_.members)
        found = []
        for k, name in enumerate(self.target_names_):
            known = np.isfinite(self.train_targets_[:, k])
            if known.sum() >= FEWEST_ROWS:
                y, own = self.train_targets_[known][:, [k]], None if same is None else same[known]
                found.append(spreadsheet_errors(columns[known], y, [name], self.random_state, own))
        return pd.concat(found, ignore_index=True) if found else None

    def domain(self, X: Table, *, progress: Progress | None = None, memory: MemoryLike = None) -> pd.DataFrame:
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
            training cases cannot tell, but false where no statistics are needed: numbers well out of their range,
            other units, a turned mesh, other bodies or groups); ``kind`` and ``why`` in words; the p-values ``along``,
            ``off`` and ``nearest`` of every mesh column and ``std``; ``outside``, the numbers that leave the training
            range; ``far``, whether one of them is well out of it, or a mesh several times farther away than any
            training mesh; ``tail``, how probable it is that a number that leaves its range goes so far, zero for such a
            mesh; ``widened``, the targets whose prediction is less sure than 95 % of those of left-out training cases:
            their intervals are widened; ``meshing``, why a mesh is too coarse or too fine, which is outside, too.
        """
        if self._curves is not None:
            return self._curves.domain(X, progress=progress, memory=memory)
        return self.predict_with_domain(X, progress=progress, memory=memory)[1]

    def predict_with_domain(
        self, X: Table, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> tuple[Prediction, pd.DataFrame]:
        """Return :meth:`predict_distribution` and :meth:`domain` of new rows, which are embedded once for both."""
        check_predicts_numbers(self)
        table = self._table(X)
        if not len(table):
            raise InputError("There are no rows to compare with the training cases.")
        prediction, found = self.judge(self.stack_.represent(table, progress, memory))
        named = with_causes(found, len(self.train_targets_), listed_columns(table), typical_in(self.metadata_))
        return prediction, pd.DataFrame(named).set_index(table.index)

    def predict_represented(self, cases: Represented) -> Prediction:
        """Return :meth:`predict_distribution` of cases that :attr:`stack_` has represented already."""
        plain = self.stack_.predict(cases)
        return widened(plain, self.domain_reference(), self._expected(cases).moves)

    def judge(
        self, cases: Represented, looks: Looks | None = None, *, widen: bool = True
    ) -> tuple[Prediction, Columns]:
        """Return the prediction and the columns of the domain of cases that :attr:`stack_` has represented.

        Parameters
        ----------
        cases : Represented
            M of them.
        looks : Looks, optional
            What :meth:`look` found, if it has been asked already.
        widen : bool
            See :meth:`predict_distribution`.
        """
        parts = self.stack_.parts(cases)
        plain, reference = self.stack_.mixed(parts, cases), self.domain_reference()
        looks = self.look(cases) if looks is None else looks
        numbers = number_columns(self.kernel_.factors, self.stack_.kernel_rows(cases.rows))
        expected = self._expected(cases)
        found = verdicts(reference, looks, self.stack_.shape_std(parts), numbers, expected.notes)
        names = self.target_names_
        found["widened"] = [
            ", ".join(name for name, wide in zip(names, row, strict=True) if wide)
            for row in reference.widened(plain).tolist()
        ]
        return widened(plain, reference, expected.moves) if widen else plain, found

    def _expected(self, cases: Represented) -> Expected:
        """Return what the meshes of cases are expected to do to their predictions, as far as that is known."""
        influence = self.stack_.influence
        if influence is None or cases.sizes is None:
            return Expected(None, [])
        return influence.expected(cases.sizes)

    def look(self, cases: Represented) -> Looks:
        """Compare the meshes alone of cases with the training meshes."""
        rows = self.stack_.kernel_rows(cases.rows)
        return look(self.domain_reference(), self.kernel_.factors, rows, len(cases))

    def domain_reference(self) -> Reference:
        """Return what :meth:`domain` compares cases with: learned from the training rows when it is first asked for."""
        return self.stack_.reference

    def coordinates(self, rows: Sequence[Sequence[Representation]] | None, n_components: int) -> Array:
        """Return cases as points (M, K): whitened components of meshes, standardized numbers.

        Parameters
        ----------
        rows : list, optional
            What the factors of every member made of new cases; by default, the training cases.
        n_components : int
            Of every column of meshes.
        """
        own = self.train_rows_ if rows is None else self.stack_.kernel_rows(rows)
        return case_points(self.domain_reference(), self.kernel_.factors, own, n_components)

    def sample(
        self,
        X: Table,
        n_samples: int = 1,
        random_state: int | None = None,
        *,
        include_nugget: bool = False,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> Array:
        """Draw joint samples of the plain process at new rows, shape (n_samples, M) or (n_samples, M, k).

        They are as wide as calibration says, and not widened where the model is unsure. scikit-learn's ``sample_y`` has
        the samples last.
        """
        if self._curves is not None:
            return self._curves.sample(X, n_samples, random_state, progress=progress, memory=memory)
        check_predicts_numbers(self)
        table = self._table(X)
        check_samples(n_samples, len(table) * len(self.target_names_))
        cases = self.stack_.represent(table, progress, memory)
        correlation = self.target_correlation_.to_numpy()
        together = None if (correlation == np.eye(len(correlation))).all() else correlation
        return self.stack_.sample(cases, n_samples, np.random.default_rng(random_state), include_nugget, together)

    def target_covariance(self, X: Table, *, progress: Progress | None = None, memory: MemoryLike = None) -> Array:
        """Return the joint covariances (M, k, k) of the targets of new cases, see :attr:`target_correlation_`.

        Their diagonals are the squares of the standard deviations of :meth:`predict`.
        """
        check_predicts_numbers(self)
        options: dict[str, Any] = {"widen": True, "progress": progress, "memory": memory, "stacklevel": 3}
        found = self._asked(X, True, **options)[0].columns()
        return target_covariances(found.std, self.target_correlation_.to_numpy())

    def leave_one_out(self) -> Prediction:
        """Predict every training row from others, by the plain process.

        Of one kernel, or of many rows: from all others, ranges, nugget and weights fixed. Of several: from the folds
        that do not hold it, with ranges and weights of their own; ``left_out_by_`` says which. Nothing is widened:
        these predictions are what unsure cases are told by.

        Returns
        -------
        Prediction
            Arrays of shape (N,) or (N, k): ``mean``, ``std``, ``interval(level)``.
        """
        check_predicts_numbers(self)
        return self.stack_.leave_one_out()

    def cross_validation(self) -> tuple[NDArray[np.intp], Prediction] | None:
        """Return training rows that were left out of a fit and what it said of them: what scores are made of.

        Ranges, nugget and weights are those of folds without the row (of many rows, ranges are those of a sample
        without it), so that scores are those of new rows. :meth:`leave_one_out` of one kernel has seen them in its
        ranges: with few rows it can explain pure noise.

        Returns
        -------
        tuple of ndarray of shape (J,) and Prediction, or None
            Places among the training rows (mostly all of them), and arrays of shape (J, k). None where nothing was
            left out: with fewer than 10 rows, or one kernel and ``calibrate=False``, a fit cannot be judged.
        """
        check_predicts_numbers(self)
        return self.stack_.cross_validation()

    def counted(self, target: int) -> NDArray[np.bool_]:
        """Return which training rows count for a target, given by its place, (N,): all known but :attr:`outliers_`."""
        found = np.isfinite(self.train_targets_[:, target])
        own = self.outliers_[self.outliers_["target"] == self.target_names_[target]]
        found[own["position"].to_numpy(np.intp)] = False
        return found

    def sensitivity(
        self,
        X: Table,
        target: str | None = None,
        *,
        along: Any = None,
        where: Any = None,
        std: bool = True,
        motions: str | None = None,
    ) -> list[Sensitivity]:
        """Say how predictions of the plain process change when nodes move and when numbers change: exact derivatives.

        Parameters
        ----------
        X : DataFrame, list of graphs or array
            With the columns that the kernel names; graphs as meshes where weights or kernels need their cells.
        target : str, optional
            By default all targets.
        along : Modes, dict of displacements, list of them, or one, optional
            Deformations along which to differentiate: (n, d) arrays, meshes of the same cells to which the nodes
            go, pairs of such meshes, or the training set's own :func:`swwl.design.displacement_modes`.
        where : array-like of bool or int, or str, optional
            Which nodes may move; by default all. The others have a gradient of zero. A text names groups of the mesh,
            such as ``"body*"``. Derivatives along displacements and motions are those of all nodes.
        std : bool
            Whether to differentiate standard deviations, too.
        motions : str, optional
            Name or shell pattern of groups of the mesh: differentiate along shifts, rotations and growth of each of
            their bodies, see :func:`swwl.mesh.shape.motions.group_motions`; meshes need no common topology.

        Returns
        -------
        list of Sensitivity
            For every row; with several targets, for every row and target, row by row.
        """
        check_predicts_numbers(self)
        return sensitivities(self.stack_, as_rows(X, self.feature_names_in_), target, along, where, std, motions)

    def score(self, X: Table, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination, averaged over targets.

        Parameters
        ----------
        X : DataFrame, list of graphs or array
        y : as for :meth:`fit`
            Targets, or the names of their columns in ``X``; of curves, see :meth:`swwl.CurveRegressor.score`.
        sample_weight : array-like of shape (M,), optional
        """
        if self._curves is not None:
            return self._curves.score(X, y, sample_weight)
        check_predicts_numbers(self)
        targets, _, _ = split_targets(as_table(X), y, to_learn=False)
        mean = self.predict(X, widen=False).reshape(len(targets), -1)
        from sklearn.metrics import r2_score

        return float(r2_score(targets, mean, sample_weight=sample_weight))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; :func:`swwl.load_model` reads it."""
        save_model(path, self._curves or self)

    def get_state(self) -> RegressorState | ChainState:
        """Return what the fitted model is made of, for a model file."""
        check_predicts_numbers(self)
        return regressor_state(self) if self.chain_ is None else chain_state(self, self.chain_)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RobustGPRegressor:
        """Make a fitted model again of what :meth:`get_state` returned."""
        return chain_from_state(cls, state) if "parts" in state else regressor_from_state(cls, state)

    @property
    def together_(self) -> pd.DataFrame:
        """What helpers bring: nothing where there are none."""
        return (self.chain_ or Chain([], [], [])).table()

    @property
    def target_correlation_(self) -> pd.DataFrame:
        """How errors of targets go together, by rows left out; none where targets are not learned together."""
        names, found = self.target_names_, self.cross_validation()
        correlation = np.eye(len(names))
        if found is not None and (self.chain_ is not None or self.targets_together is True) and len(names) > 1:
            rows, told = found
            z = [
                np.where(self.counted(k)[rows], told.column(k).standardized(self.train_targets_[rows, k]), np.nan)
                for k in range(len(names))
            ]
            correlation = error_correlation(np.column_stack(z))
        return pd.DataFrame(correlation, index=names, columns=names)

    @property
    def members_(self) -> list[Member]:
        """Every kernel with its processes."""
        return self.stack_.members

    @property
    def weights_(self) -> pd.DataFrame:
        """What every member weighs for every target."""
        return self.stack_.weights

    @property
    def calibration_(self) -> pd.Series:
        """By how much predictions of each target are wider than those of the processes."""
        return self.stack_.widths

    @property
    def target_scales_(self) -> dict[str, TargetScale]:
        """On which scale each target was fitted."""
        scales = self.stack_.scales or [TargetScale()] * len(self.target_names_)
        return dict(zip(self.target_names_, scales, strict=True))

    @property
    def regimes_(self) -> pd.Series | None:
        """Which branch every training row follows."""
        found = self.stack_.regimes
        return None if found is None else pd.Series(np.where(found.known, 1 + found.second, 0), name="regime")

    @property
    def kernel_(self) -> Product:
        """The fitted kernel, or a stack of them."""
        return self.stack_.kernel

    @property
    def gps_(self) -> list[RobustGP]:
        """The processes of the heaviest kernel."""
        return self.stack_.heaviest.gps

    @property
    def train_rows_(self) -> list[Representation]:
        """What the factors of the kernel made of the training columns."""
        return self.stack_.train_rows

    @property
    def ranges_(self) -> pd.Series | pd.DataFrame:
        """The range of every part of the kernel."""
        return self.stack_.ranges()

    @property
    def importance_(self) -> pd.Series | pd.DataFrame:
        """How much every input matters."""
        return self.stack_.importance()

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Columns that predictions need."""
        if self._curves is not None:
            return np.asarray(self._curves.feature_names_in_)
        return np.array(self.stack_.columns(), dtype=object)

    @property
    def solver_(self) -> str:
        """Who factorized: "exact" or "vecchia"."""
        check_is_fitted(self, "stack_")
        return self.gps_[0].solver

    @property
    def left_out_by_(self) -> str:
        """What :meth:`leave_one_out` does: "leave-one-out" or "cross-validation"."""
        return "leave-one-out" if self.stack_.left_out is None else "cross-validation"

    @property
    def train_inputs_(self) -> pd.DataFrame:
        """The numeric columns that the model was fitted to, in their own units."""
        check_is_fitted(self, "stack_")
        return pd.DataFrame(number_columns(self.kernel_.factors, self.train_rows_) | self.stack_.other_inputs)

    def _html_summary(self) -> str:
        """Return a table of targets: rows, left-out errors, kernels and their weights; nothing before the fit."""
        if not hasattr(self, "stack_"):
            return ""
        left_out, rows = self.cross_validation(), []
        for k, name in enumerate(self.target_names_):
            known, scores = int(np.isfinite(self.train_targets_[:, k]).sum()), ["", ""]
            if left_out is not None:
                own = self.counted(k)[left_out[0]]
                y = self.train_targets_[left_out[0][own], k]
                error = float(np.mean((y - left_out[1].column(k).mean[own]) ** 2))
                scores = [f"{1 - error / y.var():.3f}" if y.var() > 0 else "", number(error**0.5)]
            mixed = self.candidates_[self.candidates_["target"] == name] if len(self.candidates_) else self.candidates_
            used = [f"{row.candidate} {percent(row.weight)}" for row in mixed.itertuples() if row.weight >= 0.005]
            rows.append([name, known, *scores, "; ".join(used) or repr(self.kernel_)])
        return html_table(
            f"RobustGPRegressor, fitted to {len(self.train_targets_)} rows",
            ["target", "rows", "Q², left out", "RMSE, left out", "kernels and weights"],
            rows,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_options(self) -> None:
        check_trend(self.trend)
        check_outliers(self.outliers)
        check_regimes("auto" if self.regimes is None else self.regimes)
        if self.prior is not None and self.prior not in PRIORS:
            raise InputError(f"prior is {self.prior!r}, but {' or '.join(map(repr, PRIORS))} is expected.")
        if self.n_starts is not None and not (_is_whole(self.n_starts) and self.n_starts >= 1):
            raise InputError(f"n_starts is {self.n_starts!r}, but a whole number of at least 1 is expected.")
        if self.n_jobs is not None and not (_is_whole(self.n_jobs) and self.n_jobs != 0):
            raise InputError(f"n_jobs must be a number of workers, or -1 for one per core, not {self.n_jobs!r}.")
        for name in ("calibrate", "share_ranges", "range_uncertainty", "groups"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InputError(f"{name} is {getattr(self, name)!r}, but True or False is expected.")
        for name in ("target_scale", "scaled"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, Iterable):
                raise InputError(f"{name} is {given!r}, but a text, a list of texts, or a dict by target is expected.")
        try:
            np.random.default_rng(self.random_state)
        except (TypeError, ValueError):
            raise InputError(
                f"random_state is {self.random_state!r}, but a whole number of at least 0 is expected."
            ) from None

    def _kernels(self, inputs: pd.DataFrame, few_rows: bool) -> dict[str, Product]:
        """Return the kernels to fit, by name."""
        if self.kernel is None:
            options = {"random_state": self.random_state, "n_jobs": self.n_jobs}
            return default_kernels(inputs, few_rows=few_rows, groups=self.groups and few_rows, **options)
        return named_kernels(self.kernel)

    def _make_gp(
        self, kernel: Product, names: list[str] | None = None, n_starts: int = 1, *, prior: str, linear: bool
    ) -> RobustGP:
        return RobustGP(
            kernel.correlations(),
            nugget=self.nugget,
            trend=("linear" if linear else "constant") if self.trend != "zero" else "zero",
            method=self.method,
            nugget_floor=self.nugget_floor,
            n_starts=n_starts,
            prior=prior,
            range_uncertainty=self.range_uncertainty,
            names=names,
            random_state=self.random_state,
        )

    def _table(self, X: Table) -> pd.DataFrame:
        table = as_rows(X, self.feature_names_in_)
        check_width(X, table, self.n_features_in_, type(self).__name__)
        return table
