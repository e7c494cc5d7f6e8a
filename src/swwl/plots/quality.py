"""How good predictions are: parity, residuals, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import clone

from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.formatting import percent
from swwl.gp.prediction import Prediction
from swwl.kernels.base import as_product
from swwl.plots.arguments import as_prediction, as_truth, left_out, predicted
from swwl.plots.style import (
    BLACK,
    BLUE,
    CYCLE,
    GRAY,
    MARKERS,
    ORANGE,
    SKY,
    VERMILLION,
    Display,
    label_points,
    limits,
    words,
)
from swwl.regression.estimator import RobustGPRegressor

_DISTRIBUTION_LEVELS = np.linspace(0.05, 0.99, 48)


class _PredictionsDisplay(Display):
    """A display of predictions beside the truth; all three ways to make one end in :meth:`_of`."""

    @classmethod
    def _of(cls, y: NDArray[np.float64], prediction: Prediction, name: str, kind: str, **options: Any) -> Self:
        raise NotImplementedError

    @classmethod
    def from_estimator(
        cls,
        estimator: RobustGPRegressor,
        X: Any,
        y: Any,
        *,
        target: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Predict a table and draw.

        Parameters
        ----------
        estimator : RobustGPRegressor
            Fitted.
        X : DataFrame, list of graphs or array
            M new cases.
        y : str, Series, DataFrame or array of shape (M,) or (M, k)
            The truth, or the name of its column in ``X``.
        target : str, optional
            Which of several targets; by default the one that ``y`` names, or the first.
        ax : matplotlib axis, optional
            Where to draw; by default on a new figure.
        **kwargs
            See the class: ``kind``, ``labels``.
        """
        truth, prediction, name = predicted(estimator, X, y, target)
        return cls._of(truth, prediction, **{"name": name, "kind": "predictions"} | kwargs).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: Prediction | ArrayLike,
        *,
        std: ArrayLike | None = None,
        name: str = "target",
        kind: str = "predictions",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw given predictions.

        Parameters
        ----------
        y_true : array-like of shape (M,)
        y_pred : Prediction, or array-like of shape (M,)
            What ``model.predict_distribution(X)`` returned, or the means of normal predictions, with ``std``.
        std : array-like of shape (M,), optional
            Standard deviations, for means.
        name, kind : str
            The target, and what the cases are.
        ax : matplotlib axis, optional
        **kwargs
            See the class: ``labels``.
        """
        prediction = as_prediction(y_pred, std)
        return cls._of(as_truth(y_true, prediction), prediction, name, kind, **kwargs).plot(ax)

    @classmethod
    def from_leave_one_out(
        cls, estimator: RobustGPRegressor, *, target: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a model's training rows, each predicted from all others.

        Parameters
        ----------
        estimator : RobustGPRegressor
            Fitted.
        target : str, optional
            The first by default.
        ax : matplotlib axis, optional
        **kwargs
            See the class: ``kind``, ``labels``.
        """
        y, prediction, name = left_out(estimator, target)
        return cls._of(y, prediction, **{"name": name, "kind": "leave-one-out"} | kwargs).plot(ax)


class ParityDisplay(_PredictionsDisplay):
    """Predictions with 95 % intervals against the truth; cases outside theirs stand out.

    Parameters
    ----------
    y : ndarray of shape (M,)
        The truth.
    prediction : Prediction
        Arrays of shape (M,).
    name : str
        Of the target.
    kind : str
        What the cases are, for the title.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(self, y: NDArray[np.float64], prediction: Prediction, name: str = "target", kind: str = "predictions"):
        self.y, self.prediction, self.name, self.kind = y, prediction, name, kind

    @classmethod
    def _of(cls, y: NDArray[np.float64], prediction: Prediction, name: str, kind: str, **options: Any) -> Self:
        return cls(y, prediction, name, kind, **options)

    def _draw(self, ax: Any) -> None:
        mean = self.prediction.mean
        lower, upper = self.prediction.interval(0.95)
        start, stop = self.prediction.gap(0.95)
        two = np.isfinite(start)
        outside = (self.y < lower) | (self.y > upper)
        low, high = limits(self.y, mean)
        ax.plot([low, high], [low, high], color=GRAY, lw=1, zorder=1)
        looks: dict[str, Any] = {"inside": {"marker": "o", "ms": 3.5}, "outside": {"marker": "X", "ms": 5.5}}
        for chosen, color, text in ((~outside, BLUE, "inside"), (outside, VERMILLION, "outside")):
            if chosen.any():
                one, both = chosen & ~two, chosen & two  # bars of two intervals leave the gap free
                x = np.concatenate([self.y[one], self.y[both], self.y[both]])
                bottom = np.concatenate([lower[one], lower[both], stop[both]])
                top = np.concatenate([upper[one], start[both], upper[both]])
                ax.vlines(x, bottom, top, color=color, lw=1, alpha=0.35, zorder=2)
                label = f"{text} its interval ({chosen.sum()})"
                dots = looks[text] | {"color": color, "mew": 0, "ls": "", "label": label, "zorder": 3}
                ax.plot(self.y[chosen], mean[chosen], **dots)
        ax.set(xlim=(low, high), ylim=limits(self.y, mean, lower, upper, margin=0.02))
        ax.set(xlabel=f"{words(self.name)}, simulated", ylabel="predicted, with 95 % interval")
        ax.set_title(f"{self.kind}: Q² = {scores.score(self.y, self.prediction).q2:.3f}")
        ax.legend(loc="upper left", handletextpad=0.3)


class ResidualsDisplay(_PredictionsDisplay):
    """Errors in units of their own standard deviation against the prediction; the oddest cases are named.

    Parameters
    ----------
    mean, residual : ndarray of shape (M,)
        Predictions, and errors over predictive standard deviations.
    name : str
        Of the target.
    labels : sequence of str
        Names of the cases.
    kind : str
        What the cases are, for the title.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    odd: ClassVar[float] = 3.0

    def __init__(
        self,
        mean: NDArray[np.float64],
        residual: NDArray[np.float64],
        name: str = "target",
        labels: Sequence[str] = (),
        kind: str = "predictions",
    ):
        self.mean, self.residual, self.name, self.labels, self.kind = mean, residual, name, list(labels), kind

    @classmethod
    def _of(cls, y: NDArray[np.float64], prediction: Prediction, name: str, kind: str, **options: Any) -> Self:
        return cls(prediction.mean, prediction.standardized(y), name, kind=kind, **options)

    def _draw(self, ax: Any) -> None:
        odd = np.abs(self.residual) > self.odd
        ax.axhspan(-2, 2, color=SKY, alpha=0.18, lw=0)
        ax.axhline(0, color=GRAY, lw=1)
        ax.plot(self.mean[~odd], self.residual[~odd], "o", color=BLUE, ms=3.5, mew=0)
        ax.plot(self.mean[odd], self.residual[odd], "X", color=VERMILLION, ms=6, mew=0)
        bound = 1.1 * max(3.2, float(np.abs(self.residual).max()))
        ax.set(ylim=(-bound, bound), xlabel=f"{words(self.name)}, predicted", ylabel="error / standard deviation")
        ax.set_title(f"residuals, {self.kind}: {odd.sum()} beyond ±{self.odd:g}")
        oddest = np.argsort(-np.abs(self.residual))
        names = [self.labels[i] if self.labels else f"row {i}" for i in oddest[: odd.sum()]]
        ax.autoscale_view()
        label_points(ax, np.column_stack([self.mean, self.residual])[oddest], names)


class CalibrationDisplay(_PredictionsDisplay):
    """Share of cases inside their intervals against the level of these intervals.

    Parameters
    ----------
    levels, coverage : ndarray of shape (L,)
    n : int
        Number of cases: how far chance alone can take the coverage from the level.
    name, kind : str
        The target, and what the cases are.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(
        self,
        levels: NDArray[np.float64],
        coverage: NDArray[np.float64],
        n: int,
        name: str = "target",
        kind: str = "predictions",
    ):
        self.levels, self.coverage, self.n, self.name, self.kind = levels, coverage, n, name, kind

    @classmethod
    def _of(cls, y: NDArray[np.float64], prediction: Prediction, name: str, kind: str, **options: Any) -> Self:
        coverage = scores.coverages(y, prediction, _DISTRIBUTION_LEVELS)
        return cls(_DISTRIBUTION_LEVELS, coverage, len(y), name, kind, **options)

    def _draw(self, ax: Any) -> None:
        low, high = stats.binom.ppf([[0.025], [0.975]], self.n, self.levels) / self.n
        ax.fill_between(self.levels, low, high, color=ORANGE, alpha=0.22, lw=0, label="chance, 95 %")
        ax.plot([0, 1], [0, 1], color=GRAY, lw=1)
        ax.plot(self.levels, self.coverage, color=BLUE, label=f"{self.kind} ({self.n})")
        at95 = float(np.interp(0.95, self.levels, self.coverage))
        ax.plot([0.95], [at95], "o", color=BLACK, ms=5)
        line = {"arrowstyle": "-", "color": GRAY, "lw": 0.8}
        text = f"95 % intervals hold {percent(at95)}"
        ax.annotate(text, (0.95, at95), xytext=(0.94, 0.12), ha="right", fontsize=8, arrowprops=line)
        ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="level of the interval", ylabel="share of cases inside")
        ax.set_title(f"calibration: {words(self.name)}")
        ax.legend(loc="upper left")


def _scored_by_folds(model: RobustGPRegressor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first target of training rows that were left out, and what was predicted."""
    found = scores.left_out_of(model)
    if found is None:
        raise InputError("There are too few rows for cross-validation: at least 10 are needed, or test=(X, y).")
    return found.y[:, 0], found.prediction.mean[:, 0]


class EffectDisplay(Display):
    """Error against the number of projections, one line for each number of quantiles.

    Parameters
    ----------
    table : DataFrame
        With columns ``n_projections``, ``n_quantiles`` and ``rmse``.
    name : str
        Of the target.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def __init__(self, table: pd.DataFrame, name: str = "target"):
        self.table, self.name = table, name

    @classmethod
    def from_estimator(
        cls,
        estimator: RobustGPRegressor,
        X: Any,
        y: Any,
        *,
        test: tuple[Any, Any] | None = None,
        n_projections: Sequence[int] = (2, 5, 10, 20, 50),
        n_quantiles: Sequence[int] = (10, 100, 500),
        ax: Any = None,
    ) -> EffectDisplay:
        """Fit once for every pair of numbers, and draw.

        Parameters
        ----------
        estimator : RobustGPRegressor
            With a kernel that has projections and quantiles, such as :class:`swwl.SWWL`; it is cloned.
        X, y
            To fit, with a single target.
        test : tuple (X, y), optional
            To score; by default the folds of cross-validation, which take ten rows.
        n_projections, n_quantiles : sequence of int
        ax : matplotlib axis, optional
        """
        if estimator.kernel is None:
            raise InputError("The model needs a kernel that is named, such as SWWL('mesh') * Matern52('speed').")
        rows = []
        for quantiles in n_quantiles:
            for projections in n_projections:
                numbers = {"n_projections": projections, "n_quantiles": quantiles}
                kernel = as_product(clone(estimator.kernel))
                sliced = [factor for factor in kernel.factors if numbers.keys() <= factor.get_params(deep=False).keys()]
                if not sliced:
                    raise InputError(f"The kernel {kernel!r} has no projections and quantiles.")
                for factor in sliced:
                    factor.set_params(**numbers)
                fitted = clone(estimator).set_params(kernel=kernel, calibrate=test is None).fit(X, y)
                truth, mean = _scored_by_folds(fitted) if test is None else (test[1], fitted.predict(test[0]))
                truth = np.asarray(truth, dtype=np.float64)
                rows.append(numbers | {"rmse": float(np.sqrt(np.mean((truth - mean) ** 2)))})
        return cls(pd.DataFrame(rows), fitted.target_names_[0]).plot(ax)

    def _draw(self, ax: Any) -> None:
        for number, (quantiles, line) in enumerate(self.table.groupby("n_quantiles")):
            look = {"color": CYCLE[number % len(CYCLE)], "marker": MARKERS[number % len(MARKERS)], "ms": 5}
            ax.plot(line["n_projections"], line["rmse"], label=f"Q = {quantiles}", **look)
        ax.set_xscale("log")
        ticks = sorted(set(self.table["n_projections"]))
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.set_ylim(0, None)
        ax.set(xlabel="projections P", ylabel=f"RMSE of {words(self.name)}")
        ax.set_title("effect of projections and quantiles")
        ax.legend(loc="best")
