"""RobustGPRegressor, the scikit-learn shell around kernels and the robust GP: tables in, predictions out."""

from __future__ import annotations

import os
import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from swwl.errors import GPWarning
from swwl.gp import RobustGP
from swwl.kernels.base import Product, warn_about_indefinite
from swwl.kernels.together import fit_kernels, keep_sampled
from swwl.models.basis import stored
from swwl.models.defaults import default_kernels
from swwl.models.fitting import Task, fit_members
from swwl.models.large import choose_solver, fit_large_members
from swwl.models.members import Member, Stack, columns_of, mean_shares, named_kernels
from swwl.models.modelfile import save_model
from swwl.models.predicting import Predictor, numbers_of
from swwl.models.processes import Layout
from swwl.models.regressorstate import regressor_from_state, regressor_state
from swwl.models.tables import as_table, column, split_targets
from swwl.models.trend import check_trend, trend_factors, trend_matrix
from swwl.parallel import Progress
from swwl.storage import MemoryLike, storable

Array = NDArray[np.float64]


@storable
class RobustGPRegressor(Predictor, RegressorMixin, BaseEstimator):
    r"""Gaussian process regression on tables whose columns hold meshes and numbers.

    Parameters
    ----------
    kernel : Factor, Product, or a list or dict of them, optional
        Such as ``SWWL("mesh") * Matern52("speed")``. Several kernels are stacked: their predictions are mixed with
        weights that cross-validation chooses. By default those of :func:`swwl.models.defaults.default_kernels`.
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
        that grows with the number of rows, see :mod:`swwl.models.large`. "auto" takes it from 3000 rows on.

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

    def get_state(self) -> dict[str, Any]:
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
