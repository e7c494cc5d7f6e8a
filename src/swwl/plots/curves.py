"""Characteristic curves, over a sweep of one number for several values of another; and predicted curves of one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.evaluation.curves import numeric_inputs, predict_curves
from swwl.gp.prediction import Prediction
from swwl.plots.arguments import pick_target
from swwl.plots.style import CYCLE, GRAY, MARKERS, Display, limits, words
from swwl.regression.curves.estimator import CurveRegressor
from swwl.regression.estimator import RobustGPRegressor


class CurvesDisplay(Display):
    """Curves with 95 % bands, the training points behind them; what is outside the training range is hatched.

    Parameters
    ----------
    table : DataFrame
        One row per point, curve after curve: the inputs, then ``mean``, ``std``, ``lower95`` and ``upper95``; where two
        outcomes are possible, ``gap_from95`` and ``gap_to95``, between which the answer is hardly likely to be.
    sweep : str
        Column along the curves.
    each : str or None
        Column that tells curves apart.
    name : str
        Of the target.
    train_x, train_y : ndarray of shape (N,)
        Training rows, whatever their other inputs.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        sweep: str,
        each: str | None,
        name: str,
        train_x: NDArray[np.float64],
        train_y: NDArray[np.float64],
    ):
        self.table, self.sweep, self.each, self.name = table, sweep, each, name
        self.train_x, self.train_y = train_x, train_y

    @classmethod
    def from_estimator(
        cls,
        estimator: RobustGPRegressor,
        mesh: Any,
        sweep: tuple[str, Sequence[float]],
        each: tuple[str, Sequence[float]] | None = None,
        fix: Mapping[str, Any] | None = None,
        *,
        target: str | None = None,
        ax: Any = None,
    ) -> CurvesDisplay:
        """Predict the curves of one mesh and draw them.

        Parameters
        ----------
        estimator : RobustGPRegressor
            Fitted.
        mesh : graph, path, dict or None
            For the graph column of the model; a dict names columns where there are several.
        sweep : tuple (column, values)
            Along every curve.
        each : tuple (column, values), optional
            One curve for each of the values.
        fix : mapping, optional
            Values of other inputs; the median of the training set where they are not named.
        target : str, optional
            The first by default.
        ax : matplotlib axis, optional
        """
        table, prediction = predict_curves(estimator, mesh, sweep, each, fix)
        return cls.from_prediction(estimator, table, prediction, sweep[0], each and each[0], target=target, ax=ax)

    @classmethod
    def from_prediction(
        cls,
        estimator: RobustGPRegressor,
        table: pd.DataFrame,
        prediction: Prediction,
        sweep: str,
        each: str | None = None,
        *,
        target: str | None = None,
        ax: Any = None,
    ) -> CurvesDisplay:
        """Draw what :func:`swwl.evaluation.curves.predict_curves` returned, for one of the targets."""
        k = pick_target(estimator, target)
        one = prediction.column(k)
        lower, upper = one.interval(0.95)
        train, y = estimator.train_inputs_, estimator.train_targets_[:, k]
        shown = table[numeric_inputs(estimator)].assign(mean=one.mean, std=one.std, lower95=lower, upper95=upper)
        start, stop = one.gap(0.95)
        if np.isfinite(start).any():
            shown = shown.assign(gap_from95=start, gap_to95=stop)
        # The training values of a column that only the trend uses are not known.
        x = train[sweep].to_numpy() if sweep in train else np.full(len(y), np.nan)
        return cls(shown, sweep, each, estimator.target_names_[k], x, y).plot(ax)

    def _draw(self, ax: Any) -> None:
        curves = [(None, self.table)] if self.each is None else list(self.table.groupby(self.each, sort=False))
        for number, (value, curve) in enumerate(curves):
            color, marker = CYCLE[number % len(CYCLE)], MARKERS[number % len(MARKERS)]
            x = curve[self.sweep]
            for lower, upper, where in _bands(curve):
                ax.fill_between(x, lower, upper, where=where, color=color, alpha=0.16, lw=0)
            label = "prediction, 95 % band" if value is None else f"{words(str(self.each))} {value:g}"
            ax.plot(x, curve["mean"], color=color, label=label, marker=marker, ms=4, markevery=max(1, len(x) // 6))
        low, high = limits(self.table[self.sweep])
        bottom, top = limits(self.table["lower95"], self.table["upper95"])
        near = (self.train_x >= low) & (self.train_x <= high)
        shown = self.train_y[near]
        ax.plot(self.train_x[near], shown, ".", color=GRAY, ms=4, alpha=0.6, zorder=0, label="training cases")
        if shown.size:  # room for most of the training points, but the curves come first
            bottom, top = limits([bottom, top, *np.quantile(shown, [0.02, 0.98])], margin=0.03)
        self._mark_range(ax, low, high)
        ax.set(xlim=(low, high), ylim=(bottom, top), xlabel=words(self.sweep), ylabel=words(self.name))
        ax.legend(loc="best")

    def _mark_range(self, ax: Any, low: float, high: float) -> None:
        """Shade what lies outside the training range, where nothing has been tested."""
        known = self.train_x[np.isfinite(self.train_x)]
        if not known.size:
            return
        ends = float(known.min()), float(known.max())
        outside = [(low, min(ends[0], high)), (max(ends[1], low), high)]
        label = "outside the training range"
        for start, stop in outside:
            if stop > start and (start == low and ends[0] > low or stop == high and ends[1] < high):
                ax.axvspan(start, stop, facecolor=GRAY, alpha=0.14, hatch="///", edgecolor="white", lw=0, label=label)
                label = ""


class CurveBandDisplay(Display):
    """A predicted curve of one case with a band, and the true one where it is known.

    Parameters
    ----------
    grid, mean, lower, upper : ndarray of shape (m,)
    truth : ndarray of shape (m,), optional
    name : str
        Of the curve.
    label : str
        Of the band.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> t = np.linspace(0, 1, 5)
    >>> CurveBandDisplay(t, t, t - 0.1, t + 0.1, name="cp").plot(Figure().subplots()).ax_.get_ylabel()
    'cp'
    """

    def __init__(
        self,
        grid: NDArray[np.float64],
        mean: NDArray[np.float64],
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        truth: NDArray[np.float64] | None = None,
        *,
        name: str = "curve",
        label: str = "90 % band of whole curves",
    ):
        self.grid, self.mean, self.lower, self.upper, self.truth = grid, mean, lower, upper, truth
        self.name, self.label = name, label

    @classmethod
    def from_estimator(
        cls, estimator: CurveRegressor, X: Any, row: int = 0, level: float = 0.9, *, ax: Any = None
    ) -> CurveBandDisplay:
        """Predict the curve of one row of a table and draw it, with the band that holds whole curves.

        Parameters
        ----------
        estimator : CurveRegressor
            Fitted.
        X : DataFrame
        row : int
            Counted from 0.
        level : float
        ax : matplotlib axis, optional
        """
        cases = estimator.cases(X[row : row + 1])
        (lower,), (upper,) = cases.predict_interval(level, simultaneous=True)
        label = f"{100 * level:g} % band of whole curves"
        return cls(estimator.grid_, cases.predict()[0], lower, upper, name=estimator.curve_, label=label).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.fill_between(self.grid, self.lower, self.upper, color=CYCLE[0], alpha=0.2, lw=0, label=self.label)
        ax.plot(self.grid, self.mean, color=CYCLE[0], label="prediction")
        if self.truth is not None:
            ax.plot(self.grid, self.truth, "--", color="black", lw=1, label="truth")
        ax.set(xlabel="abscissa", ylabel=words(self.name))
        ax.legend(loc="best")


def _bands(curve: pd.DataFrame) -> list[tuple[pd.Series, pd.Series, pd.Series]]:
    """Return lower and upper ends of the bands to fill, and where: two where two outcomes are possible."""
    lower, upper = curve["lower95"], curve["upper95"]
    if "gap_from95" not in curve:
        return [(lower, upper, lower.notna())]
    start, stop = curve["gap_from95"], curve["gap_to95"]
    two = start.notna()
    return [(lower, upper, ~two), (lower, start, two), (stop, upper, two)]
