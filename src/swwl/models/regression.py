"""RobustGPRegressor, the scikit-learn shell around kernels and the robust GP: tables in, predictions out."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from swwl.errors import InputError, InputTypeError
from swwl.gp import Coordinates, GPWarning, LeaveOneOut, RobustGP
from swwl.kernels import IndefiniteKernelWarning, Matern52, PrincipalSWWL, Product
from swwl.kernels.base import Factor, Item, Progress, as_product
from swwl.kernels.indefinite import new_items, training_items
from swwl.kernels.numeric import Gaussian, Numeric
from swwl.models.calibration import interval_factor, n_folds, take
from swwl.models.tables import as_table, column, is_graphs, is_numeric, split_targets

# Rows on which numbers of components are compared: enough to tell them apart, few enough to be quick.
_SELECTION_ROWS = 400


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
    method, nugget_floor, n_starts, range_uncertainty, random_state
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
        self.range_uncertainty = range_uncertainty
        self.calibrate = calibrate
        self.share_ranges = share_ranges
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, progress: Progress | None = None, gp_progress: Progress | None = None
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
        """
        table = as_table(X)
        targets, self.target_names_, self._single = split_targets(table, y)
        inputs = table.drop(columns=self.target_names_, errors="ignore")
        if self.kernel is not None and not isinstance(self.kernel, (Factor, Product)):
            raise InputTypeError(f"The kernel must be made of factors, such as SWWL('mesh'), not {self.kernel!r}.")
        self.kernel_ = as_product(default_kernel(inputs) if self.kernel is None else clone(self.kernel))
        self.feature_names_in_ = np.array([factor.column for factor in self.kernel_.factors], dtype=object)
        columns = [column(table, factor.column) for factor in self.kernel_.factors]
        if isinstance(self.trend, str) and self.trend not in ("constant", "zero", "linear"):
            raise InputError(f'trend must be "constant", "zero", "linear" or a list of columns, not {self.trend!r}.')
        self._train = [
            factor.fit(values, progress) for factor, values in zip(self.kernel_.factors, columns, strict=True)
        ]
        self._trend = self._trend_factors(table)
        trend_columns = self._trend_columns(table)

        self._warn_about_indefinite_factors()
        items = [training_items(factor, rows) for factor, rows in zip(self.kernel_.factors, self._train, strict=True)]
        fits = _Fits(gp_progress, self._count_fits(targets))
        self.selection_ = self._choose_components(items, targets, trend_columns, fits)
        self.gps_ = self._fit_gps(items, targets, trend_columns, self.n_starts, fits)
        factors = self._calibrate(items, targets, trend_columns, fits)
        self.calibration_ = pd.Series(factors, index=self.target_names_)
        self.metadata_: dict[str, Any] = {}
        self._describe()
        return self

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_nugget: bool = True,
        progress: Progress | None = None,
    ) -> Any:
        """Predict at new rows.

        Parameters
        ----------
        X : DataFrame, list of graphs or array
            With the columns that the kernel names.
        return_std : bool
            Also return the standard deviation of the Student-t prediction.
        return_cov : bool
            Also return the joint covariance.
        include_nugget : bool
            Predict a new observation (default), or the function without its noise.
        progress : callable, optional
            Called as ``progress(done, total)`` while graphs are embedded.

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
        cross, among, trend = self._items(X, joint=return_cov, progress=progress)
        options: dict[str, Any] = {"include_nugget": include_nugget, "trend_columns": trend}
        if return_std:
            means, stds = zip(*(gp.predict(cross, return_std=True, **options) for gp in self.gps_), strict=True)
            return self._join(means), self._join(stds) * self._width()
        if return_cov:
            options |= {"return_cov": True, "test_distances": among}
            means, covs = zip(*(gp.predict(cross, **options) for gp in self.gps_), strict=True)
            stacked = np.concatenate([cov if cov.ndim == 3 else cov[None] for cov in covs])
            stacked *= self.calibration_.to_numpy()[:, None, None] ** 2
            return self._join(means), stacked[0] if self._single else stacked
        return self._join([gp.predict(cross, trend_columns=trend) for gp in self.gps_])

    def predict_interval(
        self, X: Any, level: float = 0.95, *, include_nugget: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds of central Student-t intervals, each of shape (M,) or (M, k).

        Parameters
        ----------
        X : DataFrame, list of graphs or array
        level : float
            Probability inside, in (0, 1).
        include_nugget : bool
            Intervals for a new observation (default), or for the function without its noise.
        """
        cross, _, trend = self._items(X)
        bounds = [
            gp.predict_interval(cross, level, include_nugget=include_nugget, trend_columns=trend) for gp in self.gps_
        ]
        lower, upper = (self._join(bound) for bound in zip(*bounds, strict=True))
        middle, half = (lower + upper) / 2, self._width() * (upper - lower) / 2
        return middle - half, middle + half

    def sample(
        self, X: Any, n_samples: int = 1, random_state: int | None = None, *, include_nugget: bool = False
    ) -> NDArray[np.float64]:
        """Draw joint samples of the posterior at new rows, shape (n_samples, M) or (n_samples, M, k)."""
        cross, among, trend = self._items(X, joint=True)
        seeds = np.random.default_rng(random_state).integers(2**32, size=len(self.gps_))
        draws = [
            gp.sample(cross, among, n_samples, int(seed), include_nugget=include_nugget, trend_columns=trend)
            for gp, seed in zip(self.gps_, seeds, strict=True)
        ]
        mean = self._join([gp.predict(cross, trend_columns=trend) for gp in self.gps_])
        return mean + self._width() * (self._join(draws) - mean)

    def leave_one_out(self) -> LeaveOneOut:
        """Predict every training row from all others, ranges and nugget fixed.

        Returns
        -------
        LeaveOneOut
            Named tuple (mean, std, scale, df), arrays of shape (N,) or (N, k); ``interval(level)`` gives bounds.
        """
        check_is_fitted(self, "gps_")
        parts = [gp.leave_one_out() for gp in self.gps_]
        mean, std, scale = (self._join([getattr(p, name) for p in parts]) for name in ("mean", "std", "scale"))
        return LeaveOneOut(mean, std * self._width(), scale * self._width(), parts[0].df)

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted model to one file, without pickle; :func:`swwl.load_model` reads it."""
        from swwl.models.modelfile import save_model

        save_model(path, self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.multi_output = True
        return tags

    def _trend_factors(self, table: pd.DataFrame) -> list[Numeric]:
        """Return what standardises the columns of the trend."""
        if self.trend == "linear":
            return [factor for factor in self.kernel_.factors if isinstance(factor, Numeric)]
        standardisers: list[Numeric] = (
            [Gaussian(name) for name in self.trend] if not isinstance(self.trend, str) else []
        )
        for factor in standardisers:
            factor.fit(column(table, factor.column, "The trend"))
        return standardisers

    def _trend_columns(self, table: pd.DataFrame) -> NDArray[np.float64] | None:
        if not self._trend:
            return None
        return np.column_stack([f.represent(column(table, f.column, "The trend")) for f in self._trend])

    def _make_gp(self, names: list[str] | None = None, n_starts: int = 1) -> RobustGP:
        return RobustGP(
            [correlation for factor in self.kernel_.factors for correlation in factor.correlations()],
            nugget=self.nugget,
            trend=("linear" if self._trend else "constant") if self.trend != "zero" else "zero",
            method=self.method,
            nugget_floor=self.nugget_floor,
            n_starts=n_starts,
            range_uncertainty=self.range_uncertainty,
            names=names,
            random_state=self.random_state,
        )

    def _warn_about_indefinite_factors(self) -> None:
        names = [type(factor).__name__ for factor in self.kernel_.factors if not factor.positive_definite]
        if names:
            warnings.warn(
                f"{', '.join(names)} gives no positive definite kernel. A constant is added to the distances between "
                f"different graphs, so that it is one on the training set; at new graphs variances may be too small.",
                IndefiniteKernelWarning,
                stacklevel=3,
            )

    def _groups(self, targets: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Split the targets into those that are fitted together, (N, k) or (N,) each."""
        return [targets] if self.share_ranges and not self._single else list(targets.T)

    def _count_fits(self, targets: NDArray[np.float64]) -> int:
        """Return how many processes will be fitted: one per target on all rows, in each fold and for each choice."""
        n_rows = min(len(targets), _SELECTION_ROWS)
        ladders = [f.ladder(n_rows) for f in self.kernel_.factors if _chooses(f)]
        folds = n_folds(len(targets)) if self.calibrate else 0
        return len(self._groups(targets)) * (1 + folds + sum(map(len, ladders)))

    def _fit_gps(self, items, targets, trend_columns, n_starts, fits) -> list[RobustGP]:
        flat: list[Item] = [item for group in items for item in group]
        names = [name for f, group in zip(self.kernel_.factors, items, strict=True) for name in _item_names(f, group)]
        gps = []
        for group in self._groups(targets):
            gps.append(self._make_gp(names, n_starts).fit(flat, group, trend_columns))
            fits.one_more()
        return gps

    def _calibrate(self, items, targets, trend_columns, fits) -> NDArray[np.float64]:
        if not self.calibrate:
            return np.ones(targets.shape[1])
        flat: list[Item] = [item for group in items for item in group]
        groups = [group.reshape(len(targets), -1) for group in self._groups(targets)]
        return np.concatenate(
            [
                interval_factor(self._make_gp, flat, group, trend_columns, self.random_state, fits.one_more)
                for group in groups
            ]
        )

    def _width(self) -> Any:
        """Return the calibration of all targets, in the shape that multiplies their standard deviations."""
        factors = self.calibration_.to_numpy()
        return factors[0] if self._single else factors

    def _choose_components(self, items, targets, trend_columns, fits) -> pd.DataFrame:
        """Set n_components="auto" to the number with the largest marginal posterior; update ``items`` in place."""
        rows: list[dict[str, Any]] = []
        n = len(targets)
        sample = np.sort(np.random.default_rng(self.random_state).permutation(n)[:_SELECTION_ROWS])
        for position, factor in enumerate(self.kernel_.factors):
            if not _chooses(factor):
                continue
            tried = []
            for number in factor.ladder(len(sample)):
                factor.use_components(number)
                items[position] = factor.items(self._train[position])
                subset = [[take(item, sample) for item in group] for group in items]
                columns = None if trend_columns is None else trend_columns[sample]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", GPWarning)  # the fit on all rows will say what needs saying
                    gps = self._fit_gps(subset, targets[sample], columns, 1, fits)
                tried.append((sum(gp.log_posterior_ for gp in gps), number))
            _, best = max(tried)
            factor.use_components(best)
            items[position] = factor.items(self._train[position])
            rows += [
                {"column": factor.column, "n_components": k, "log_posterior": value, "chosen": k == best}
                for value, k in tried
            ]
        return selection_table(rows)

    def _describe(self) -> None:
        """Put ranges and importance under readable names."""
        units = np.concatenate([factor.units() for factor in self.kernel_.factors])
        self.ranges_ = self._by_range([units / gp.beta_ for gp in self.gps_])
        self.importance_ = self._by_range([gp.importance_ for gp in self.gps_])

    def _by_range(self, columns: list[NDArray]) -> Any:
        index = [name for factor in self.kernel_.factors for name in factor.range_names()]
        names = self.target_names_ if len(columns) == len(self.target_names_) else ["all targets"]
        table = pd.DataFrame(np.column_stack(columns), index=index, columns=names)
        return table.iloc[:, 0] if len(columns) == 1 else table

    def _items(
        self, X: Any, joint: bool = False, progress: Progress | None = None
    ) -> tuple[list[Item], list[Item], NDArray | None]:
        """Return distances from new rows to the training rows and, if ``joint``, among themselves."""
        check_is_fitted(self, "gps_")
        table = as_table(X)
        cross: list[Item] = []
        among: list[Item] = []
        for factor, train in zip(self.kernel_.factors, self._train, strict=True):
            rows = factor.represent(column(table, factor.column), progress)
            cross += new_items(factor, rows, train)
            among += new_items(factor, rows) if joint else []
        return cross, among, self._trend_columns(table)

    def _join(self, parts: Any) -> NDArray[np.float64]:
        """Put the results of all targets side by side in the last axis; drop it for a single target."""
        return parts[0] if self._single or self.share_ranges else np.stack(parts, axis=-1)


class _Fits:
    """Counts fitted processes and tells the caller."""

    def __init__(self, progress: Progress | None, total: int):
        self._progress, self._done, self._total = progress, 0, total

    def one_more(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def _chooses(factor: Factor) -> bool:
    return isinstance(factor, PrincipalSWWL) and factor.n_components == "auto"


def selection_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return how numbers of components were chosen as a table, which may be empty."""
    return pd.DataFrame(rows, columns=["column", "n_components", "log_posterior", "chosen"])


def _item_names(factor: Factor, group: list[Item]) -> list[str]:
    """Name each item of a factor for messages; a group of coordinates has many ranges but one name."""
    left = factor.range_names()
    names = []
    for item in group:
        if isinstance(item, Coordinates):
            names.append(f"{factor.column} (components)")
            left = left[item.values.shape[1] :]
        else:
            names.append(left.pop(0))
    return names


def default_kernel(table: pd.DataFrame) -> Product:
    """Return PrincipalSWWL on each column of graphs times Matern52 on each column of numbers.

    Examples
    --------
    >>> default_kernel(pd.DataFrame({"mesh": ["a.vtu", "b.vtu"], "speed": [1.0, 2.0]}))
    PrincipalSWWL('mesh') * Matern52('speed')
    """
    factors: list[Factor] = []
    for name in table.columns:
        values = column(table, name)
        if is_numeric(values):
            factors.append(Matern52(name))
        elif is_graphs(values):
            factors.append(PrincipalSWWL(name))
        else:
            raise InputError(
                f"Column {name!r} holds {values.iloc[0]!r}, neither numbers nor meshes, and has no kernel; "
                f"drop it, or name the columns to use: kernel=SWWL('mesh') * Matern52('speed')."
            )
    if not factors:
        raise InputError("The table has no columns to learn from.")
    return Product(*factors)
