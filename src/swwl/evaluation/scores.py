r"""How good predictions are, and whether their intervals can be believed: numbers for a fitted regressor.

Predictions and leave-one-out predictions are both a :class:`~swwl.gp.prediction.Prediction`, so ``plots/``, ``report/``
and ``jobs/`` treat them alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import bdtr

from swwl.evaluation.metadata import FOLDS, HELD_OUT, data_of, held_out_of
from swwl.formatting import number
from swwl.gp.prediction import Prediction
from swwl.regression.estimator import RobustGPRegressor

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


class Score(NamedTuple):
    r"""The accuracy of predictions of one target.

    Attributes
    ----------
    n : int
        Number of cases.
    rmse : float
        Root of the mean squared error, in the units of the target.
    q2 : float
        :math:`1 - \sum (y - \hat y)^2 / \sum (y - \bar y)^2`: one is perfect, zero no better than the mean.
    coverage : float
        Share of cases inside their 95 % intervals.
    width : float
        Mean width of these intervals.
    interval_score : float
        Mean interval score of these intervals, see :func:`interval_score`: narrow intervals that hold score best.
    """

    n: int
    rmse: float
    q2: float
    coverage: float
    width: float
    interval_score: float


def score(y: NDArray[np.float64], prediction: Prediction) -> Score:
    """Compare one target (M,) with its predictions.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> prediction = Prediction(y + [0.1, -0.1, 0.1, -0.1], np.full(4, 0.2), np.inf)
    >>> round(score(y, prediction).rmse, 6), score(y, prediction).coverage
    (0.1, 1.0)
    """
    error = y - prediction.mean
    lower, upper = prediction.interval(0.95)
    spread = float(((y - y.mean()) ** 2).sum())
    return Score(
        len(y),
        float(np.sqrt((error**2).mean())),
        1 - float((error**2).sum()) / spread if spread > 0 else float("nan"),
        float(((lower <= y) & (y <= upper)).mean()),
        float((upper - lower).mean()),
        interval_score(y, prediction),
    )


def interval_score(y: NDArray[np.float64], prediction: Prediction, level: float = 0.95) -> float:
    r"""Return the mean interval score: the width, and what cases outside their intervals add to it.

    .. math:: (u - l) + \frac{2}{\alpha} \bigl((l - y)_+ + (y - u)_+\bigr), \qquad \alpha = 1 - \text{level}

    It is in the units of the target. The true quantiles make it least, so it punishes intervals that are too wide and
    intervals that are too narrow; coverage alone does not.

    Parameters
    ----------
    y : ndarray of shape (M,)
    prediction : Prediction
        Arrays of shape (M,).
    level : float

    References
    ----------
    Gneiting and Raftery (2007), Eq. 43.

    Examples
    --------
    A case at a distance of one outside an interval of probability 0.5 costs four times that distance:

    >>> prediction = Prediction(np.array([0.0]), np.array([1.0]), np.inf)
    >>> (lower,), (upper,) = prediction.interval(0.5)
    >>> round(interval_score(np.array([upper + 1]), prediction, level=0.5) - float(upper - lower), 6)
    4.0
    """
    lower, upper = prediction.interval(level)
    outside = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    return float((upper - lower + 2 / (1 - level) * outside).mean())


def coverages(
    y: NDArray[np.float64], prediction: Prediction, levels: Sequence[float] | NDArray[np.float64] = LEVELS
) -> NDArray[np.float64]:
    """Return the share of cases inside their intervals, for each level."""
    bounds = [prediction.interval(float(level)) for level in levels]
    return np.array([((lower <= y) & (y <= upper)).mean() for lower, upper in bounds])


def faultless_counts(n: int, level: float = 0.95, alpha: float = 0.05) -> tuple[float, float]:
    """Return how many of n cases lie inside faultless intervals of a level, least and most in nineteen of twenty tests.

    In general in a share 1 - ``alpha`` of the tests.

    Examples
    --------
    >>> faultless_counts(100)
    (90.0, 99.0)
    """
    below = bdtr(np.arange(n + 1.0), n, level)
    low, high = np.searchsorted(below, [alpha / 2, 1 - alpha / 2])
    return float(low), float(high)


class IntervalVerdict(NamedTuple):
    """Whether intervals hold, by all levels and the number of cases.

    Attributes
    ----------
    kind : {"few", "narrow", "wide", "hold"}
        "few": there are too few cases to tell.
    level : float
        Where it shows most; 0.95 where nothing shows.
    inside, n : int
        Cases inside their intervals of that level, and all.
    low, high : float
        How many faultless intervals hold, see :func:`faultless_counts`; wider for several levels than for one.
    """

    kind: str
    level: float
    inside: int
    n: int
    low: float
    high: float


# With fewer cases not even intervals that hold half of what they say would always be found out.
FEWEST_CASES = 30
# Coverages of neighboring levels go together: seven of them are wrong by chance about as often as three would be alone.
_SEVERAL = 3


def interval_verdict(y: NDArray[np.float64], prediction: Prediction) -> IntervalVerdict:
    """Judge intervals of one target (M,) by all :data:`LEVELS`: too narrow at any level weighs more than too wide.

    Intervals of which fewer than 95 % hold at the level 0.95 are never too wide, whatever those of lower levels do.

    Examples
    --------
    >>> y = np.random.default_rng(0).normal(size=200)
    >>> [interval_verdict(y, Prediction(np.zeros(200), np.full(200, s), np.inf)).kind for s in (0.7, 1.0, 1.5)]
    ['narrow', 'hold', 'wide']
    >>> interval_verdict(y[:12], Prediction(np.zeros(12), np.ones(12), np.inf)).kind
    'few'
    """
    n = len(y)
    found = []
    for level, share in zip(LEVELS, coverages(y, prediction), strict=True):
        inside = round(float(share) * n)
        low, high = faultless_counts(n, level, alpha=0.05 / _SEVERAL)
        size = max(float(np.sqrt(n * level * (1 - level))), 1.0)
        found.append((min(inside - low, 0.0) / size, max(inside - high, 0.0) / size, level, inside, low, high))
    least, most = min(found, key=lambda one: one[0]), max(found, key=lambda one: one[1])
    known = next(one for one in found if one[2] == 0.95)
    kind, shown = "hold", known
    if least[0] < 0:
        kind, shown = "narrow", known if known[0] < 0 else least
    elif most[1] > 0 and known[3] >= 0.95 * n:
        kind, shown = "wide", known if known[1] > 0 else most
    return IntervalVerdict("few" if n < FEWEST_CASES else kind, shown[2], shown[3], n, shown[4], shown[5])


def importance_table(model: RobustGPRegressor) -> pd.DataFrame:
    """Return the importance of every range (rows) for every target (columns)."""
    return _as_frame(model.importance_, model)


def range_table(model: RobustGPRegressor) -> pd.DataFrame:
    """Return every range (rows) for every target (columns)."""
    return _as_frame(model.ranges_, model)


def _as_frame(values: Any, model: RobustGPRegressor) -> pd.DataFrame:
    frame = values.to_frame() if isinstance(values, pd.Series) else values
    return frame if frame.shape[1] == len(model.target_names_) else frame.set_axis(["all targets"], axis=1)


def score_rows(model: RobustGPRegressor) -> list[dict[str, Any]]:
    """Return one row per target and kind of test: on left-out and, where there are any, on held-out cases.

    Leave-one-out with ranges that have seen the case is not among them: with few cases it can explain pure noise. Where
    nothing was left out of a fit, nor held out, there is no row. Training rows that hardly count are not scored.
    """
    rows = []
    judged, held_out = left_out_of(model), held_out_of(model)
    for k, name in enumerate(model.target_names_):
        if judged is not None:
            own = model.counted(k)[judged.rows]
            found = score(judged.y[own, k], judged.prediction.column(k).take(own))
            rows.append({"target": name, "test": judged.kind} | found._asdict())
        if held_out is not None:
            y, prediction = held_out
            rows.append({"target": name, "test": HELD_OUT} | score(y[:, k], prediction.column(k))._asdict())
    return rows


# Below this Q² the mean would have been better; and from this ratio of errors on one model is better than another.
_WORSE, _BETTER = -0.05, 1.1
_EXPLAINS = ((0.95, "very good"), (0.8, "good"), (0.5, "fair"), (0.1, "weak"))
_INTERVALS = {
    "few": "too few cases to say whether intervals hold",
    "hold": "intervals hold",
    "narrow": "intervals are too narrow",
    "wide": "intervals are wider than they need be",
}


def quality_words(q2: float) -> str:
    """Say in a few words how good predictions of some Q² are.

    Examples
    --------
    >>> quality_words(0.982), quality_words(0.05), quality_words(-3.0)
    ('very good: explains 98.2 % of the variance', 'poor: hardly better than the mean', 'poor: worse than the mean')
    """
    if q2 < _WORSE:
        return "poor: worse than the mean"
    if not q2 >= _EXPLAINS[-1][0]:
        return "poor: hardly better than the mean"
    word = next(word for least, word in _EXPLAINS if q2 >= least)
    return f"{word}: explains {100 * q2:.3g} % of the variance"


def verdicts(model: RobustGPRegressor) -> dict[str, str]:
    """Return for every target one sentence: how good the model is, whether intervals hold, and what else would do.

    Held-out rows tell where they are many enough, otherwise rows left out of folds. With the latter, by the same folds,
    a linear and a boosted model are compared, where ``swwl fit`` has fitted them; nothing is said of these where
    held-out rows that tell show smaller errors than theirs.
    """
    judged, held_out, data = left_out_of(model), held_out_of(model), data_of(model)
    found = {}
    for k, name in enumerate(model.target_names_):
        tests = []
        if held_out is not None:
            tests.append((held_out[0][:, k], held_out[1].column(k)))
        if judged is not None:
            own = model.counted(k)[judged.rows]
            tests.append((judged.y[own, k], judged.prediction.column(k).take(own)))
        if not tests:
            found[name] = "cannot be judged: no rows were left out or held out"
            continue
        y, prediction = next((test for test in tests if len(test[0]) >= FEWEST_CASES), max(tests, key=_size))
        told = score(y, prediction)
        words = [quality_words(told.q2), _INTERVALS[interval_verdict(y, prediction).kind]]
        plain = [row for row in (data.spreadsheet if data is not None else []) if row.target == name]
        if plain and judged is not None:
            best = min(plain, key=lambda row: row.rmse)
            own_rmse = score(*tests[-1]).rmse
            if best.rmse <= min(own_rmse, told.rmse):
                words.append(f"a {best.model} model of plain numbers {_compared(best.rmse, own_rmse)}")
        found[name] = "; ".join(words)
    return found


def _compared(plain: float, own: float) -> str:
    """Say that a plain model does as well as another, or better, with its error and how many times smaller that is.

    >>> _compared(0.565, 0.937), _compared(0.99, 1.0)
    ('does better (RMSE 0.565, left out, 1.66 times smaller)', 'does as well (RMSE 0.99, left out)')
    """
    found = f"RMSE {number(plain)}, left out"
    if own < _BETTER * plain:
        return f"does as well ({found})"
    return f"does better ({found}, {own / plain:.3g} times smaller)" if plain > 0 else f"does better ({found})"


def regime_words(model: RobustGPRegressor) -> str:
    """Say which branches training cases follow, and how many have two intervals; nothing where there is one branch."""
    found, judged = model.stack_.regimes, left_out_of(model)
    if found is None:
        return ""
    first, second = (len(rows) for rows in found.branches())
    words = f"Training cases follow two branches ({first} and {second} cases)"
    if judged is not None:
        counts = [
            f"{int(np.isfinite(judged.prediction.column(k).gap(0.95)[0]).sum())} for {name}"
            for k, name in enumerate(model.target_names_)
        ]
        words += f"; of {len(judged.rows)} left-out cases, two intervals are given {' and '.join(counts)}"
    return f"{words}."


def _size(test: tuple[NDArray[np.float64], Prediction]) -> int:
    return len(test[0])


class JudgedRows(NamedTuple):
    """Training rows that were left out of a fit: words for it, their places (J,), truth and predictions (J, k)."""

    kind: str
    rows: NDArray[np.intp]
    y: NDArray[np.float64]
    prediction: Prediction


def left_out_of(model: RobustGPRegressor) -> JudgedRows | None:
    """Return what a model says of training rows that were left out, or None where none were."""
    found = model.cross_validation()
    if found is None:
        return None
    rows, prediction = found
    kind = FOLDS if len(rows) == len(model.train_targets_) else "rows left out"
    return JudgedRows(kind, rows, model.train_targets_[rows], prediction)
