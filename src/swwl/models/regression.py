"""RobustGPRegressor, the scikit-learn shell around kernels and the robust GP: tables in, predictions out."""

from __future__ import annotations

import os
import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from swwl.errors import GPWarning, InputError
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor, Product, as_product, options_for, warn_about_indefinite
from swwl.kernels.elliptic import make_kernel
from swwl.models.calibration import interval_factor, n_folds
from swwl.models.defaults import default_kernel
from swwl.models.modelfile import save_model
from swwl.models.processes import FitCounter, Layout, fit_processes
from swwl.models.restored import checked
from swwl.models.selection import choose_components, ladder, selection_table
from swwl.models.tables import as_rows, as_table, check_width, column, split_targets
from swwl.models.trend import check_trend, trend_factors, trend_matrix
from swwl.parallel import Progress
from swwl.storage import MemoryLike, storable

Array = NDArray[np.float64]


@storable
class RobustGPRegressor(RegressorMixin, BaseEstimator):
    r"""Gaussian process regression on tables whose columns hold meshes and numbers.

    Parameters
    ----------
    kernel : Factor or Product, optional
        Such as ``SWWL("mesh") * Matern52("speed")``. By default :class:`PrincipalSWWL` on each column of graphs and
        :class:`Matern52` on each column of numbers.
    nugget : "estimate" or float
        Noise variance over the process variance.
    trend : {"constant", "zero", "linear"} or list of str
        "linear" is a constant and the numeric columns of the kernel; a list names the columns.
    method, nugget_floor, n_starts, prior, range_uncertainty, random_state
        See :class:`swwl.RobustGP`.
    calibrate : bool
        Whether to widen intervals by what cross-validation asks for (see ``calibration.py``); it takes about as
        long again as the fit. Without it they are the plain Student-t intervals of ``gps_``.
    share_ranges : bool
        Whether several targets share ranges and nugget, and with them one factorisation (as R's ppgasp). By default
        each has its own, which is more accurate where targets depend on different inputs.

    Attributes
    ----------
    kernel_ : Product
        The fitted kernel.
    gps_ : list of RobustGP
        One per target; a single one with ``share_ranges``.
    target_names_ : list of str
    ranges_ : Series, or DataFrame with a column per target
        Range of every part of the kernel: at this distance its correlation has dropped to :math:`c(1)`. In the units
        of the column for numbers, in units of sliced Wasserstein distance for graphs.
    importance_ : Series, or DataFrame with a column per target
        R's inert-input measure: :math:`p\,C_l\beta_l / \sum_i C_i\beta_i`, one on average. Near zero, an input
        hardly matters.
    calibration_ : Series
        By how much intervals, standard deviations and samples of each target are wider than those of ``gps_``.
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
        kernel: Factor | Product | None = None,
        *,
        nugget: float | str = "estimate",
        trend: str | list[str] = "constant",
        method: str = "posterior",
        nugget_floor: float = 1e-6,
        n_starts: int = 3,
        prior: str = "robust",
        range_uncertainty: bool = False,
        calibrate: bool = True,
        share_ranges: bool = False,
        random_state: int = 0,
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

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        progress: Progress | None = None,
        gp_progress: Progress | None = None,
        memory: MemoryLike = None,
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
        """
        table = as_table(X)
        targets, self.target_names_, single = split_targets(table, y)
        self._layout = Layout(self.target_names_, single, self.share_ranges)
        inputs = table.drop(columns=self.target_names_, errors="ignore")
        self.n_features_in_ = inputs.shape[1]
        self.kernel_ = as_product(default_kernel(inputs) if self.kernel is None else clone(as_product(self.kernel)))
        factors = self.kernel_.factors
        self.feature_names_in_ = np.array(self.kernel_.columns, dtype=object)
        columns = [column(table, factor.column) for factor in factors]
        check_trend(self.trend)
        if len(targets) == 3:
            warnings.warn("3 rows are too few for standard deviations.", GPWarning, stacklevel=2)
        self.train_targets_ = targets
        self.train_rows_ = [
            factor.fit(values, progress, **options_for(factor, memory))
            for factor, values in zip(factors, columns, strict=True)
        ]
        self._trend = trend_factors(self.trend, factors, table)
        trend_columns = trend_matrix(self._trend, table)

        warn_about_indefinite(self.kernel_, stacklevel=3)
        blocks = [factor.training_blocks(rows) for factor, rows in zip(factors, self.train_rows_, strict=True)]
        counter = FitCounter(gp_progress, self._count_fits())

        def log_posterior(among: list[list[Block]], rows: NDArray[np.intp]) -> float:
            trend = None if trend_columns is None else trend_columns[rows]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GPWarning)  # the fit on all rows will say what needs saying
                groups = self._layout.groups(targets[rows])
                gps = fit_processes(self._make_gp, self.kernel_, among, groups, trend, counter)
            return sum(gp.log_posterior_ for gp in gps)

        self.selection_ = choose_components(
            factors, self.train_rows_, blocks, log_posterior, len(targets), self.random_state
        )
        held = [[block.held() for block in group] for group in blocks]
        make_gp = partial(self._make_gp, n_starts=self.n_starts)
        self.gps_ = fit_processes(make_gp, self.kernel_, held, self._layout.groups(targets), trend_columns, counter)
        widths = self._calibrate(self.kernel_.join(held), trend_columns, counter)
        self.calibration_ = pd.Series(widths, index=self.target_names_)
        self.metadata_: dict[str, Any] = {}
        self._describe()
        return self

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
        check_is_fitted(self, "gps_")
        if hasattr(X, "__len__") and len(X) == 0:
            return self._layout.nothing(self.gps_[0].df_)
        cross, _, trend = self._blocks(X, progress=progress, memory=memory)
        options: dict[str, Any] = {"include_nugget": include_nugget, "trend_columns": trend}
        parts = [gp.predict_distribution(cross, **options) for gp in self.gps_]
        return self._layout.join_predictions(parts, self.calibration_)

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
        cross, among, trend = self._blocks(X, joint=True, progress=progress, memory=memory)
        options: dict[str, Any] = {"include_nugget": include_nugget, "trend_columns": trend}
        options |= {"return_cov": True, "test_distances": among}
        means, covs = zip(*(gp.predict(cross, **options) for gp in self.gps_), strict=True)
        stacked = np.concatenate([cov if cov.ndim == 3 else cov[None] for cov in covs])
        stacked *= self.calibration_.to_numpy()[:, None, None] ** 2
        return self._layout.join(means), stacked[0] if self._layout.single else stacked

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
        found = self.predict_distribution(X, include_nugget=include_nugget, progress=progress, memory=memory)
        return found.interval(level)

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
        cross, among, trend = self._blocks(X, joint=True, progress=progress, memory=memory)
        seeds = np.random.default_rng(random_state).integers(2**32, size=len(self.gps_))
        draws = [
            gp.sample(cross, among, n_samples, int(seed), include_nugget=include_nugget, trend_columns=trend)
            for gp, seed in zip(self.gps_, seeds, strict=True)
        ]
        mean = self._layout.join([np.asarray(gp.predict(cross, trend_columns=trend)) for gp in self.gps_])
        return mean + self._layout.widths(self.calibration_) * (self._layout.join(draws) - mean)

    def leave_one_out(self) -> Prediction:
        """Predict every training row from all others, ranges and nugget fixed.

        Returns
        -------
        Prediction
            Arrays of shape (N,) or (N, k): ``mean``, ``std``, ``interval(level)``.
        """
        check_is_fitted(self, "gps_")
        return self._layout.join_predictions([gp.leave_one_out() for gp in self.gps_], self.calibration_)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination, averaged over targets.

        Parameters
        ----------
        X : DataFrame, list of graphs or array
        y : as for :meth:`fit`
            Targets, or the names of their columns in ``X``.
        sample_weight : array-like of shape (M,), optional
        """
        check_is_fitted(self, "gps_")
        targets, _, _ = split_targets(as_table(X), y, to_learn=False)
        mean = self.predict(X).reshape(len(targets), -1)
        return float(r2_score(targets, mean, sample_weight=sample_weight))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; :func:`swwl.load_model` reads it."""
        save_model(path, self)

    def get_state(self) -> dict[str, Any]:
        """Return what the fitted model is made of, for a model file."""
        check_is_fitted(self, "gps_")
        params = self.get_params(deep=False)
        params.pop("kernel")
        return {
            "params": params,
            "kernel": None if self.kernel is None else as_product(self.kernel).factors,
            "fitted_kernel": self.kernel_.factors,
            "elliptic": self.kernel_.elliptic,
            "trend": self._trend if self.trend != "linear" else None,
            "train": self.train_rows_,
            "n_features": self.n_features_in_,
            "targets": self.target_names_,
            "single": self._layout.single,
            "calibration": self.calibration_.tolist(),
            "selection": self.selection_.to_dict("records"),
            "gps": [gp.get_state() for gp in self.gps_],
            "metadata": self.metadata_,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RobustGPRegressor:
        """Make a fitted model again of what :meth:`get_state` returned."""
        elliptic = state.get("elliptic")
        kernel = None if state["kernel"] is None else make_kernel(state["kernel"], elliptic)
        model = cls(kernel, **state["params"])
        model.kernel_ = make_kernel(state["fitted_kernel"], elliptic)
        model.feature_names_in_ = np.array(model.kernel_.columns, dtype=object)
        model.n_features_in_ = int(state.get("n_features", len(model.feature_names_in_)))
        model.target_names_ = state["targets"]
        model.selection_ = selection_table(state["selection"])
        model.gps_ = [RobustGP.from_state(gp) for gp in state["gps"]]
        model.train_targets_ = np.column_stack([gp["y"] for gp in state["gps"]])
        model.train_rows_ = state["train"]
        model._layout = Layout(model.target_names_, state["single"], model.share_ranges)
        model.calibration_ = pd.Series(state["calibration"], index=model.target_names_)
        model.metadata_ = dict(state["metadata"])
        linear = trend_factors(model.trend, model.kernel_.factors) if model.trend == "linear" else []
        model._trend = linear if state["trend"] is None else state["trend"]
        checked(model)._describe()
        return model

    @property
    def train_inputs_(self) -> pd.DataFrame:
        """The numeric columns that the model was fitted to, in their own units."""
        check_is_fitted(self, "gps_")
        pairs = zip(self.kernel_.factors, self.train_rows_, strict=True)
        found = {factor.column: factor.numbers(rows) for factor, rows in pairs}
        return pd.DataFrame({name: values for name, values in found.items() if values is not None})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _make_gp(self, names: list[str] | None = None, n_starts: int = 1) -> RobustGP:
        return RobustGP(
            self.kernel_.correlations(),
            nugget=self.nugget,
            trend=("linear" if self._trend else "constant") if self.trend != "zero" else "zero",
            method=self.method,
            nugget_floor=self.nugget_floor,
            n_starts=n_starts,
            prior=self.prior,
            range_uncertainty=self.range_uncertainty,
            names=names,
            random_state=self.random_state,
        )

    def _count_fits(self) -> int:
        """Return how many processes will be fitted: one per target on all rows, in each fold and for each choice."""
        n = len(self.train_targets_)
        tried = sum(len(ladder(factor, n)) for factor in self.kernel_.factors)
        folds = n_folds(n) if self.calibrate else 0
        return len(self._layout.groups(self.train_targets_)) * (1 + folds + tried)

    def _calibrate(self, blocks: list[Block], trend_columns: Array | None, counter: FitCounter) -> Array:
        targets = self.train_targets_
        if not self.calibrate:
            return np.ones(targets.shape[1])
        groups = [group.reshape(len(targets), -1) for group in self._layout.groups(targets)]
        rest = trend_columns, self.random_state, counter.one_more
        return np.concatenate([interval_factor(self._make_gp, blocks, group, *rest) for group in groups])

    def _describe(self) -> None:
        """Put ranges and importance under readable names."""
        self.ranges_ = self._layout.by_range(self.kernel_, [self.kernel_.units() / gp.beta_ for gp in self.gps_])
        self.importance_ = self._layout.by_range(self.kernel_, [gp.importance_ for gp in self.gps_])

    def _blocks(
        self, X: Any, *, joint: bool = False, progress: Progress | None = None, memory: MemoryLike = None
    ) -> tuple[list[Block], list[Block], Array | None]:
        """Return blocks from new rows to the training rows and, if ``joint``, among themselves."""
        check_is_fitted(self, "gps_")
        table = as_rows(X, self.feature_names_in_)
        check_width(X, table, self.n_features_in_, type(self).__name__)
        cross: list[list[Block]] = []
        among: list[list[Block]] = []
        for factor, train in zip(self.kernel_.factors, self.train_rows_, strict=True):
            rows = factor.represent(column(table, factor.column), progress, **options_for(factor, memory))
            cross.append(factor.new_blocks(rows, train))
            among += [factor.new_blocks(rows)] if joint else []
        held = [[block.held() for block in self.kernel_.join(groups)] for groups in (cross, among)]
        return held[0], held[1], trend_matrix(self._trend, table)
