"""How good predictions are: parity, residuals, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.evaluation.scores import Prediction
from swwl.models.regression import RobustGPRegressor
from swwl.plots.style import BLACK, BLUE, GREY, ORANGE, SKY, VERMILLION, axes_for, limits, style, words

_DISTRIBUTION_LEVELS = np.linspace(0.05, 0.99, 48)


def pick_target(model: RobustGPRegressor, target: str | None) -> int:
    """Return the number of a target by its name; the first by default."""
    if target is None:
        return 0
    if target not in model.target_names_:
        raise InputError(f"The model has no target {target!r}; its targets are {', '.join(model.target_names_)}.")
    return model.target_names_.index(target)


def _left_out(model: RobustGPRegressor, target: str | None) -> tuple[NDArray, Prediction, str]:
    k = pick_target(model, target)
    prediction = scores.column_of(scores.left_out(model), k)
    return scores.training_targets(model)[:, k], prediction, model.target_names_[k]


class ParityDisplay:
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
    """

    def __init__(self, y: NDArray, prediction: Prediction, name: str = "target", kind: str = "predictions"):
        self.y, self.prediction, self.name, self.kind = y, prediction, name, kind

    @classmethod
    def from_predictions(cls, y: Any, prediction: Prediction, **options: Any) -> ParityDisplay:
        """Make a display of given predictions."""
        return cls(np.asarray(y, float), prediction, **options)

    @classmethod
    def from_leave_one_out(cls, model: RobustGPRegressor, target: str | None = None) -> ParityDisplay:
        """Make a display of a model's training rows, each predicted from all others."""
        y, prediction, name = _left_out(model, target)
        return cls(y, prediction, name, "leave-one-out")

    @classmethod
    def from_estimator(cls, model: RobustGPRegressor, X: Any, y: Any, target: str | None = None) -> ParityDisplay:
        """Make a display of the predictions of a table; ``y`` (M,) holds the truth of one target."""
        k = pick_target(model, target)
        prediction = scores.column_of(scores.predict_all(model, X), k)
        return cls(np.asarray(y, float), prediction, model.target_names_[k])

    def plot(self, ax: Any = None) -> ParityDisplay:
        """Draw it."""
        with style():
            self.ax_ = ax = axes_for(ax)
            mean = self.prediction.mean
            lower, upper = self.prediction.interval(0.95)
            outside = (self.y < lower) | (self.y > upper)
            low, high = limits(self.y, mean)
            ax.plot([low, high], [low, high], color=GREY, lw=1, zorder=1)
            for chosen, colour, text in ((~outside, BLUE, "inside"), (outside, VERMILLION, "outside")):
                if chosen.any():
                    ax.vlines(self.y[chosen], lower[chosen], upper[chosen], color=colour, lw=1, alpha=0.35, zorder=2)
                    ax.plot(
                        self.y[chosen],
                        mean[chosen],
                        "o" if text == "inside" else "X",
                        color=colour,
                        ms=3.5 if text == "inside" else 5.5,
                        mew=0,
                        label=f"{text} its interval ({chosen.sum()})",
                        zorder=3,
                    )
            ax.set(xlim=(low, high), ylim=limits(self.y, mean, lower, upper, margin=0.02))
            ax.set(xlabel=f"{words(self.name)}, simulated", ylabel="predicted, with 95 % interval")
            q2 = scores.score(self.y, self.prediction).q2
            ax.set_title(f"{self.kind}: Q² = {q2:.3f}")
            ax.legend(loc="upper left", handletextpad=0.3)
        return self


class ResidualsDisplay:
    """Errors in units of their own standard deviation against the prediction; the oddest cases are named.

    Parameters
    ----------
    mean, residual : ndarray of shape (M,)
        Predictions, and errors over predictive standard deviations.
    name : str
        Of the target.
    labels : sequence of str
        Names of the cases.
    """

    odd = 3.0

    def __init__(self, mean: NDArray, residual: NDArray, name: str = "target", labels: Sequence[str] = ()):
        self.mean, self.residual, self.name, self.labels = mean, residual, name, list(labels)

    @classmethod
    def from_predictions(cls, y: Any, prediction: Prediction, **options: Any) -> ResidualsDisplay:
        """Make a display of given predictions."""
        return cls(prediction.mean, (np.asarray(y, float) - prediction.mean) / prediction.std, **options)

    @classmethod
    def from_leave_one_out(
        cls, model: RobustGPRegressor, target: str | None = None, labels: Sequence[str] = ()
    ) -> ResidualsDisplay:
        """Make a display of a model's training rows, each predicted from all others."""
        y, prediction, name = _left_out(model, target)
        return cls.from_predictions(y, prediction, name=name, labels=labels)

    def plot(self, ax: Any = None) -> ResidualsDisplay:
        """Draw it."""
        with style():
            self.ax_ = ax = axes_for(ax)
            odd = np.abs(self.residual) > self.odd
            ax.axhspan(-2, 2, color=SKY, alpha=0.18, lw=0)
            ax.axhline(0, color=GREY, lw=1)
            ax.plot(self.mean[~odd], self.residual[~odd], "o", color=BLUE, ms=3.5, mew=0)
            ax.plot(self.mean[odd], self.residual[odd], "X", color=VERMILLION, ms=6, mew=0)
            oddest = np.argsort(-np.abs(self.residual))[:5]
            middle = np.mean(limits(self.mean))
            for number, i in enumerate(oddest[odd[oddest]]):
                text = self.labels[i] if self.labels else f"row {i}"
                right = self.mean[i] > middle
                aside = (-6 if right else 6, (3, -3)[number % 2])  # neighbours keep clear of each other
                place = {"xytext": aside, "ha": "right" if right else "left", "va": ("bottom", "top")[number % 2]}
                ax.annotate(text, (self.mean[i], self.residual[i]), textcoords="offset points", fontsize=8, **place)
            bound = 1.1 * max(3.2, float(np.abs(self.residual).max()))
            ax.set(ylim=(-bound, bound), xlabel=f"{words(self.name)}, predicted", ylabel="error / standard deviation")
            ax.set_title(f"leave-one-out residuals: {odd.sum()} beyond ±{self.odd:g}")
        return self


class CalibrationDisplay:
    """Share of cases inside their intervals against the level of these intervals.

    Parameters
    ----------
    levels, coverage : ndarray of shape (L,)
    n : int
        Number of cases: how far chance alone can take the coverage from the level.
    name, kind : str
        The target, and what the cases are.
    """

    def __init__(self, levels: NDArray, coverage: NDArray, n: int, name: str = "target", kind: str = "predictions"):
        self.levels, self.coverage, self.n, self.name, self.kind = levels, coverage, n, name, kind

    @classmethod
    def from_predictions(cls, y: Any, prediction: Prediction, **options: Any) -> CalibrationDisplay:
        """Make a display of given predictions."""
        y = np.asarray(y, float)
        return cls(_DISTRIBUTION_LEVELS, scores.coverages(y, prediction, _DISTRIBUTION_LEVELS), len(y), **options)

    @classmethod
    def from_leave_one_out(cls, model: RobustGPRegressor, target: str | None = None) -> CalibrationDisplay:
        """Make a display of a model's training rows, each predicted from all others."""
        y, prediction, name = _left_out(model, target)
        return cls.from_predictions(y, prediction, name=name, kind="leave-one-out")

    def plot(self, ax: Any = None) -> CalibrationDisplay:
        """Draw it."""
        with style():
            self.ax_ = ax = axes_for(ax)
            low, high = stats.binom.ppf([[0.025], [0.975]], self.n, self.levels) / self.n
            ax.fill_between(self.levels, low, high, color=ORANGE, alpha=0.22, lw=0, label="chance, 95 %")
            ax.plot([0, 1], [0, 1], color=GREY, lw=1)
            ax.plot(self.levels, self.coverage, color=BLUE, label=f"{self.kind} ({self.n})")
            at95 = float(np.interp(0.95, self.levels, self.coverage))
            ax.plot([0.95], [at95], "o", color=BLACK, ms=5)
            ax.annotate(
                f"95 % intervals hold {100 * at95:.0f} %",
                (0.95, at95),
                xytext=(0.94, 0.12),
                ha="right",
                fontsize=8,
                arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.8},
            )
            ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="level of the interval", ylabel="share of cases inside")
            ax.set_title(f"calibration: {words(self.name)}")
            ax.legend(loc="upper left")
        return self
