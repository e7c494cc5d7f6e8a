"""CurveRegressor: whole curves of new cases, with intervals at every place and bands around whole curves."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeAlias

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
from swwl.domain.verdict import WIDER
from swwl.errors import GPWarning, InputError
from swwl.estimators import BaseEstimator, check_is_fitted, clone
from swwl.formatting import Record
from swwl.kernels.base import Product
from swwl.parallel import Progress
from swwl.regression.curves.bands import Bands, calibrate
from swwl.regression.curves.cases import CurveCases, widening
from swwl.regression.curves.coding import CurveBasis, code_curves
from swwl.regression.curves.numbers import CurveNumber
from swwl.regression.curves.state import CurveRegressorState, FittedCurves, curve_state, curves_from_state
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.mixture import mixture
from swwl.storage.memory import MemoryLike
from swwl.storage.modelfile import save_model, storable
from swwl.tables.inputs import as_rows, as_table
from swwl.tables.series import Form, given_curves

Array = NDArray[np.float64]
Table: TypeAlias = Any  # a DataFrame or other table, a list of graphs, or an array

# With fewer curves there are no errors to learn from.
_FEWEST = 5
# Less of the variance than this, predicted by folds, is nothing.
_NOISE = 0.05


@storable
class CurveRegressor(BaseEstimator):
    """Predict a whole curve per case: a signal over time, a pressure along a contour, a polar.

    Curves are a mean and a few principal curves with coefficients, which the default model of numbers predicts from
    meshes and numbers. Curves on grids of their own are B-splines first. Folds say how wide intervals have to be. See
    ``docs/curves.md``.

    Parameters
    ----------
    regressor : RobustGPRegressor, optional
        What predicts coefficients. By default the default kernels; no scale, outlier or regime is looked for, since
        coefficients have no meaning one by one.
    n_shapes : int, optional
        At most so many principal curves; by default 12, or as many as explain 99.99 % of the variance.
    random_state : int
    n_jobs : int or None
        Threads that embed meshes.

    Attributes
    ----------
    curve_ : str
        The name of the curve.
    target_names_ : list of str
        The same, alone.
    grid_ : ndarray of shape (m,)
        Abscissas at which curves are predicted by default: those of the training curves, or where these differ, places
        in the range that all share, dense where the points of the curves are.
    form_ : {"arrays", "files", "wide"}
        As what the training curves came.
    basis_ : CurveBasis
        Mean, principal curves, and what these leave over.
    regressor_ : RobustGPRegressor
        Fitted to the coefficients.
    feature_names_in_ : ndarray of str
        Columns that predictions need.
    metadata_ : dict
        Anything JSON can hold.

    Examples
    --------
    >>> t = np.linspace(0, 1, 30)
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"rate": rng.uniform(1, 4, 40), "size": rng.uniform(1, 2, 40)})
    >>> table["heat"] = [size * (1 - np.exp(-rate * t)) for rate, size in table[["rate", "size"]].to_numpy()]
    >>> model = CurveRegressor().fit(table[:30], "heat", grid=t)
    >>> found = model.predict(table[30:])
    >>> found.shape, bool(np.abs(found - np.stack(table["heat"][30:])).max() < 0.02)
    ((10, 30), True)
    >>> lower, upper = model.predict_interval(table[30:], level=0.9, simultaneous=True)
    >>> model.derived(table[30:31], "integral").columns.tolist()
    ['mean', 'std', 'lower', 'upper']
    """

    predicts: ClassVar[Literal["curves"]] = "curves"

    def __init__(
        self,
        regressor: RobustGPRegressor | None = None,
        *,
        n_shapes: int | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ):
        self.regressor = regressor
        self.n_shapes = n_shapes
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Table,
        y: Any,
        *,
        grid: ArrayLike | None = None,
        progress: Progress | None = None,
        gp_progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> CurveRegressor:
        """Learn curves.

        Parameters
        ----------
        X : DataFrame, list of graphs, or array of shape (N, m)
        y : str, array of shape (N, m), or list of N curves
            A text names a column of ``X`` that holds arrays (m,), arrays (m_i, 2) of abscissas and values, or paths of
            CSV files with these two columns; or wide columns: "cp" is ``cp_000``, ``cp_001``, …, or ``cp_0.25``, ….
        grid : array-like of shape (m,), optional
            Abscissas of curves that come without; by default 0, 1, …, or the numbers in the names of wide columns.
        progress, gp_progress, memory
            See :meth:`swwl.RobustGPRegressor.fit`.
        """
        table = as_table(X)
        curves, inputs = given_curves(table, y, grid)
        whole = isinstance(self.n_shapes, (int, np.integer)) and not isinstance(self.n_shapes, bool)
        if self.n_shapes is not None and not (whole and self.n_shapes >= 1):
            raise InputError(f"n_shapes is {self.n_shapes!r}, but a whole number of at least 1 is expected.")
        if len(curves) < _FEWEST:
            raise InputError(f"There are {len(curves)} curves, but at least {_FEWEST} are needed to learn from.")
        coded = code_curves(curves, self.n_shapes, self.random_state)
        targets = pd.DataFrame(
            coded.coefficients,
            index=inputs.index,
            columns=[f"{curves.name}[{k}]" for k in range(1, len(coded.basis.shapes) + 1)],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)  # of small coefficients, which may well be noise
            regressor = self._regressor().fit(
                inputs, targets, progress=progress, gp_progress=gp_progress, memory=memory
            )
        rows, mean, std = left_out_coefficients(regressor)
        bands, errors = calibrate(coded, (mean, std), rows, self.random_state)
        scores = _scores(coded.values[rows], errors, bands, coded.basis, std, rows)
        if scores["q2"] < _NOISE:
            words = f"Folds predict curve {curves.name!r} hardly better than its mean"
            warnings.warn(f"{words}: check that the inputs match it.", GPWarning, stacklevel=2)
        self._adopt(FittedCurves(curves.name, curves.form, curves.columns, coded.basis, bands, regressor, scores, {}))
        return self

    def _regressor(self) -> RobustGPRegressor:
        """Return what will be fitted to coefficients."""
        if self.regressor is None:
            return RobustGPRegressor(
                target_scale="identity",
                outliers="keep",
                regimes="one",
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
        if self.regressor.scaled is not None:
            raise InputError("Laws (scaled) are of numbers, and do not apply to curves.")
        found: RobustGPRegressor = clone(self.regressor)
        return found.set_params(target_scale="identity", outliers="keep", regimes="one")

    def _adopt(self, fitted: FittedCurves) -> None:
        """Take over what was fitted."""
        self._fitted = fitted
        self.curve_: str = fitted.name
        self.target_names_: list[str] = [fitted.name]
        self.form_: Form = fitted.form
        self.columns_: tuple[str, ...] = fitted.columns
        self.basis_: CurveBasis = fitted.basis
        self.bands_: Bands = fitted.bands
        self.regressor_: RobustGPRegressor = fitted.regressor
        self.metadata_: Record = fitted.metadata
        self.grid_: Array = fitted.basis.grid
        self.n_features_in_: int = fitted.regressor.n_features_in_
        self.feature_names_in_ = fitted.regressor.feature_names_in_

    @property
    def kernel_(self) -> Product:
        """The kernel that compares cases, or a stack of them."""
        return self.regressor_.kernel_

    @property
    def n_train_(self) -> int:
        """Number of training curves."""
        return len(self.regressor_.train_targets_)

    def cases(
        self,
        X: Table,
        *,
        grid: ArrayLike | None = None,
        widen: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> CurveCases:
        """Represent new rows once, to ask several things of them.

        Parameters
        ----------
        X, grid, widen, progress, memory
            See :meth:`predict`.

        Returns
        -------
        CurveCases
            With ``predict``, ``predict_std``, ``predict_interval``, ``sample``, ``derived`` and ``domain``.
        """
        check_is_fitted(self, "basis_")
        places = None if grid is None else _places(grid)
        table, regressor = as_rows(X, self.feature_names_in_), self.regressor_
        if not len(table):
            none = np.empty((0, len(self.basis_.shapes)))
            return CurveCases(self.basis_, self.bands_, none, none, widen, pd.DataFrame(index=table.index), places)
        judged, columns = regressor.judge(regressor.stack_.represent(table, progress, memory))
        judged = judged.columns()
        # The rule that widens is asked of whole curves, not of each coefficient.
        doubled = [[name in text.split(", ") for name in regressor.target_names_] for text in columns["widened"]]
        std = judged.std / np.where(doubled, WIDER, 1.0)
        wide = widening(std, self.bands_.sure)[:, 0] > 1
        columns["widened"] = [self.curve_ if one else "" for one in wide]
        named = with_causes(columns, self.n_train_, listed_columns(table), typical_in(self.metadata_))
        domain = pd.DataFrame(named).set_index(table.index)
        return CurveCases(self.basis_, self.bands_, judged.mean, std, widen, domain, places)

    def predict(
        self,
        X: Table,
        return_std: bool = False,
        *,
        grid: ArrayLike | None = None,
        widen: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> Any:
        """Predict the curves of new rows.

        Parameters
        ----------
        X : DataFrame, list of graphs or array
        return_std : bool
            Also return standard deviations.
        grid : array-like of shape (p,), optional
            Places to predict at, in the range of the training curves; by default ``grid_``.
        widen : bool
            Whether rows are compared with the training cases (default): standard deviations and intervals are widened
            where the model is less sure than of 95 % of left-out training cases, and a
            :class:`~swwl.errors.CaseWarning` tells of rows that are unlike the training cases.
        progress, memory
            See :meth:`swwl.RobustGPRegressor.predict_distribution`.

        Returns
        -------
        ndarray of shape (M, p)
            With ``return_std`` two such arrays.
        """
        found = self._asked(X, grid, widen, progress, memory)
        return (found.predict(), found.predict_std()) if return_std else found.predict()

    def predict_interval(
        self,
        X: Table,
        level: float = 0.95,
        *,
        simultaneous: bool = False,
        grid: ArrayLike | None = None,
        widen: bool = True,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> tuple[Array, Array]:
        """Return the bounds (lower, upper) of intervals at every place, (M, p) each.

        They hold a part ``level`` of the values on average over cases like the training ones. With ``simultaneous``,
        they are wider: bands that hold *whole* curves, at all places of ``grid_`` at once, of a part ``level`` of such
        cases, by the largest errors of training curves that folds left out.
        """
        found = self._asked(X, grid, widen, progress, memory)
        return found.predict_interval(level, simultaneous=simultaneous)

    def sample(
        self,
        X: Table,
        n_samples: int = 1,
        random_state: int | None = None,
        *,
        grid: ArrayLike | None = None,
        progress: Progress | None = None,
        memory: MemoryLike = None,
    ) -> Array:
        """Draw whole curves, shape (n_samples, M, p), as uncertain as intervals are; rows are drawn independently."""
        found = self.cases(X, grid=grid, widen=False, progress=progress, memory=memory)
        return found.sample(n_samples, random_state)

    def derived(
        self,
        X: Table,
        function: CurveNumber | Sequence[CurveNumber],
        level: float = 0.95,
        n_samples: int = 200,
        *,
        random_state: int = 0,
        widen: bool = True,
        memory: MemoryLike = None,
    ) -> pd.DataFrame:
        """Predict numbers derived from curves, with their uncertainty.

        Parameters
        ----------
        X : DataFrame, list of graphs or array
        function : str or Crossing, or a list of them
            "peak", "place_of_peak" (the time of the peak of a signal), "lowest", "place_of_lowest", "integral", or
            :class:`swwl.regression.curves.numbers.Crossing` of a value: where the curve first crosses it. Intervals of
            numbers with a name are calibrated on curves that folds left out; those of crossings are as samples have
            them.
        level : float
        n_samples : int
            Curves that are drawn for every row.
        random_state : int
        widen : bool
            See :meth:`predict`.

        Returns
        -------
        DataFrame
            One row per row: ``mean``, ``std``, ``lower``, ``upper``; of crossings also ``probability``, that there is
            one, and NaN where there is none. With a list, names stand before: ``peak_mean``, ….
        """
        return self._asked(X, None, widen, None, memory).derived(function, level, n_samples, random_state)

    def score(self, X: Table, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return which part of the variance between curves is predicted (coefficient of determination).

        Parameters
        ----------
        X : DataFrame, list of graphs or array
        y : as for :meth:`fit`
            The curves of its rows; values without abscissas are those at ``grid_``. Curves on grids of their own are
            compared at ``grid_``, along straight lines.
        sample_weight : array-like of shape (M,), optional
        """
        check_is_fitted(self, "basis_")
        curves, _ = given_curves(as_table(X), y, self.grid_)
        grid, values = curves.common, curves.values
        if grid is None:
            grid = self.grid_
            values = [np.interp(grid, at, own) for at, own in zip(curves.places, values, strict=True)]
        found = self.predict(X, grid=grid, widen=False)
        from sklearn.metrics import r2_score

        return float(r2_score(np.stack(values), found, sample_weight=sample_weight, multioutput="variance_weighted"))

    def domain(self, X: Table, *, progress: Progress | None = None, memory: MemoryLike = None) -> pd.DataFrame:
        """Say of new rows whether they are like the training cases; see :meth:`swwl.RobustGPRegressor.domain`."""
        found = self.cases(X, progress=progress, memory=memory)
        if not len(found):
            raise InputError("There are no rows to compare with the training cases.")
        return found.domain

    def notes(self, X: Table, domain: pd.DataFrame) -> list[str]:
        """Return what is surprising about cases whose ``domain`` is known, a line each."""
        table, n_inputs = as_rows(X, self.feature_names_in_), len(self.regressor_.domain_reference().bounds)
        found = surprising_notes(domain, self.n_train_, n_inputs)
        return found + mesh_notes(domain, self.n_train_, table, typical_in(self.metadata_))

    def _asked(
        self, X: Table, grid: ArrayLike | None, widen: bool, progress: Progress | None, memory: MemoryLike
    ) -> CurveCases:
        """Return new rows; warn of those that are unlike the training cases, unless the plain process is asked for."""
        cases = self.cases(X, grid=grid, widen=widen, progress=progress, memory=memory)
        if widen and len(cases):
            warn_about_cases(self.notes(X, cases.domain), stacklevel=3)
        return cases

    def left_out(self) -> tuple[NDArray[np.intp], Array, CurveCases]:
        """Return training curves that folds left out and what these said of them, by the plain process.

        Returns
        -------
        rows : ndarray of shape (J,)
            Their numbers among the training curves.
        truth : ndarray of shape (J, m)
        cases : CurveCases
        """
        check_is_fitted(self, "basis_")
        rows, rest = self.bands_.rows, self.bands_.rest
        known, mean, std = left_out_coefficients(self.regressor_)
        places = np.searchsorted(known, rows)
        truth = self.basis_.decode(self.regressor_.train_targets_[rows]) + rest
        none = pd.DataFrame(index=pd.Index(rows))
        return rows, truth, CurveCases(self.basis_, self.bands_, mean[places], std[places], False, none)

    def cross_validated(self) -> pd.DataFrame:
        """Return how well folds predicted training curves that were not in them, in one row.

        Columns: ``curve``, ``rmse``, ``q2`` (of the variance between curves, the part that is predicted), ``coverage``
        of 95 % intervals, ``worst`` (the number of the worst curve) and ``worst_rmse``.
        """
        check_is_fitted(self, "basis_")
        return pd.DataFrame([{"curve": self.curve_, **self._fitted.scores}])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; :func:`swwl.load_model` reads it."""
        save_model(path, self)

    def get_state(self) -> CurveRegressorState:
        """Return what the fitted model is made of, for a model file."""
        check_is_fitted(self, "basis_")
        return curve_state(self.get_params(deep=False), self._fitted._replace(metadata=self.metadata_))

    @classmethod
    def from_state(cls, state: Record) -> CurveRegressor:
        """Make a fitted model again of what :meth:`get_state` returned."""
        params, fitted = curves_from_state(cls, state)
        model = cls(**params)
        model._adopt(fitted)
        return model


def left_out_coefficients(regressor: RobustGPRegressor) -> tuple[NDArray[np.intp], Array, Array]:
    """Return what is said of the coefficients of training curves without them.

    Means are those of folds, so that errors are those of new curves. Deviations are those of the fit to all curves when
    one is left out: deviations of new curves are the same fit's, while folds have ranges and deviations of their own.

    Returns
    -------
    rows : ndarray of shape (J,)
    mean, std : ndarray of shape (J, k)
    """
    stack = regressor.stack_
    alone = mixture([part.columns() for part in stack.parts_left_out()], stack.weights.to_numpy()).columns()
    std = alone.widened(stack.widths.to_numpy()).std
    found = regressor.cross_validation()
    if found is None:
        return np.arange(len(std)), alone.mean, std
    rows, told = found
    return rows, told.columns().mean, std[rows]


def _places(grid: ArrayLike) -> Array:
    """Return places to predict at, (p,)."""
    try:
        found = np.asarray(grid, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("grid must hold numbers.") from None
    if found.ndim != 1 or not np.isfinite(found).all():
        raise InputError(
            f"grid has shape {found.shape}, or numbers that are not finite, but (p,) numbers are expected."
        )
    return found


def _scores(truth: Array, errors: Array, bands: Bands, basis: CurveBasis, std: Array, rows: NDArray[np.intp]) -> Record:
    """Return the scores of left-out curves (J, m)."""
    own = np.sqrt((errors**2).mean(axis=1))
    varies = float(((truth - truth.mean(axis=0)) ** 2).mean())
    inside = np.abs(errors) <= bands.width(0.95) * bands.deviations(basis, std)
    worst = int(own.argmax())
    return {
        "rmse": float(np.sqrt((own**2).mean())),
        "q2": 1.0 - float((own**2).mean()) / varies if varies > 0 else 0.0,
        "coverage": float(inside.mean()),
        "worst": int(rows[worst]),
        "worst_rmse": float(own[worst]),
    }
