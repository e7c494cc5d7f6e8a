r"""Rows that the others do not explain: found by what is said of them when they are left out, and hardly counted.

A bad row (a run that did not converge, a slip in a table) rules a Gaussian process more than its share: it raises the
noise or shortens the ranges, and the width of all intervals follows. Two that are alike hide each other when one is
left out. So rows are left out together with those that speak for them (:func:`group_scores`); those that look odd then
lose their weight all at once, ranges are estimated again, and what is then as far off as all sound rows together
remains (:func:`find_suspects`). Whether that helps is for the *other* rows to say: unless they are predicted clearly
better without (:func:`is_clear_gain`), all stays as it was.

What was found has noise of its own, a hundred times the variance of the process and more: it counts 1 % or less. It is
never dropped silently: :class:`~swwl.errors.OutlierWarning` names it, and ``outliers="keep"`` counts it in full.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError, OutlierWarning
from swwl.formatting import Record, number
from swwl.gp import RobustGP
from swwl.gp.prediction import Prediction

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]

OUTLIERS = ("auto", "keep")
COLUMNS = ["position", "target", "value", "expected", "weight"]
_MOST_TOLD = 5
# With fewer rows a strange one cannot be told from a function that is not known yet.
FEWEST = 30
# Robust standard deviations beyond which a row may be bad; clean data with heavy tails rarely get there.
_EXTREME = 6.0
_LEAST_PRECISION = 1e-9
_MOST_SCORE = 1e6  # beyond which it does not matter
# At most so large a share of the rows, but a pair in any case; the first guess may be larger, and is looked through.
_SHARE, _FIRST_SHARE, _AT_LEAST = 0.03, 0.06, 2
# What is off by less than this share of the range of all sound rows is not called bad, however exact these are: the top
# of a peak and the rows at a step are off by less, and are what a model has to know.
_SMALL = 0.7
SEARCH_STEPS = 60  # iterations of a fit while rows are looked for
# A row is left out with as many of those that determine it most.
_GROUPS = (0, 1, 2, 4)
# Noise over the variance of the process: at a place that no other row tells of, the row counts 1 / (1 + 100).
_NOISE = 100.0
# Nats that the others have to gain: strong evidence, and a fifth of a nat each, as if intervals were a fifth narrower.
_GAIN, _GAIN_SHARE = 6.0, 0.2


def robust_scores(z: Array, counted: Mask | None = None, y: Array | None = None) -> Array:
    """Return how many robust standard deviations numbers are from the rest.

    Both are those of the counted: the median, and the median distance from it.

    Parameters
    ----------
    z : ndarray of shape (N,)
    counted : ndarray of bool, shape (N,), optional
        Who says where the middle is, and how far the rest is spread.
    y : ndarray of shape (N,), optional
        Targets, of which z are the errors; by default z. Where more than half of them are the same, such as the zeros
        of damage that mostly does not occur, the others alone say how far numbers are spread.

    Examples
    --------
    >>> robust_scores(np.array([-1.0, 0.0, 1.0, 0.5, -0.5, 300.0])).round(1).tolist()
    [1.1, 0.2, 0.7, 0.2, 0.7, 269.6]
    >>> robust_scores(np.array([0.0, 0.0, 0.0, 0.0, 3.0, 2.0])).round(1).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.8, 0.5]
    """
    counted = np.ones(len(z), bool) if counted is None else counted
    among = counted & _unusual(z if y is None else y)
    distance = np.abs(z - np.median(z[counted]))
    spread = _spread(distance[among if among.any() else counted])
    return np.minimum(distance / max(spread, np.finfo(float).tiny), _MOST_SCORE)


def _unusual(y: Array) -> Mask:
    """Return which values are not those that more than half have; all where there is no such value."""
    usual = y == np.median(y)
    return np.asarray(~usual if 2 * np.count_nonzero(usual) > len(y) else np.ones(len(y), bool))


def _spread(distance: Array) -> float:
    """Return a standard deviation by the median of distances from the middle; by their squares where that is zero."""
    found = 1.4826 * float(np.median(distance))
    return found if found > 0.0 else float(np.sqrt(np.mean(distance**2)))


def standardized(y: Array, left_out: Prediction) -> Array:
    """Return errors over predicted scales, (N, k), of targets (N,) or (N, k)."""
    found = left_out.columns()
    return np.asarray((y.reshape(len(y), -1) - found.mean) / np.maximum(found.scale, np.finfo(float).tiny), dtype=float)


def group_scores(gp: RobustGP) -> Array:
    r"""Return how odd every training row looks when those that determine it most are left out as well, (N,).

    With :math:`\alpha = Qy`, rows S are left out together by :math:`e_S = Q_{SS}^{-1}\alpha_S`, with covariance
    :math:`\sigma^2 Q_{SS}^{-1}`, ranges fixed. S is a row and the 0, 1, 2 and 4 others of the largest partial
    correlation with it, :math:`|Q_{ij}| / \sqrt{Q_{ii}Q_{jj}}`; the largest score counts.
    """
    q, alpha, sigma2 = gp.precision()
    n = len(q)
    # Of rows that a column of the trend is for, the others say nothing; their entries are rounding.
    alone = np.diag(q) <= _LEAST_PRECISION * np.diag(q).max()
    q = np.where(alone | alone[:, None], np.diag(np.full(n, np.diag(q).max())), q)
    partial = np.abs(q) / np.sqrt(np.outer(np.diag(q), np.diag(q)))
    np.fill_diagonal(partial, np.inf)
    order = np.argsort(-partial, axis=1, kind="stable")
    best = np.zeros(n)
    for others in _GROUPS:
        rows = order[:, : min(others, n - 2) + 1]
        inverse = np.linalg.inv(q[rows[:, :, None], rows[:, None, :]])
        error = np.einsum("nj,njk->nk", inverse[:, 0], alpha[rows])
        z = error / np.sqrt(inverse[:, 0, 0, None] * sigma2)
        best = np.maximum(best, _highest_of_targets(z, gp.train_targets_))
    return best


def _highest_of_targets(z: Array, y: Array, counted: Mask | None = None) -> Array:
    """Return the highest score (N,) over the targets y, (N,) or (N, k), of errors z (N, k)."""
    pairs = zip(z.T, y.reshape(z.shape).T, strict=True)
    return np.asarray(np.max([robust_scores(error, counted, own) for error, own in pairs], axis=0))


def first_scores(y: Array, gp: RobustGP, left_out: Prediction) -> Array:
    """Return how odd every row looks at first, (N,): to a process, left out with others, and to folds without it."""
    if len(y) < FEWEST:
        return np.zeros(len(y))
    return np.maximum(group_scores(gp), _highest_of_targets(standardized(y, left_out), y))


class Refit(NamedTuple):
    """A fit in which some rows have noise: what it says of every row without it, and its standard deviations, (k,)."""

    left_out: Prediction
    spread: Array

    def scores(self, y: Array, counted: Mask) -> Array:
        """Return how far every row is off, (N,): in robust standard deviations of errors, standardized and plain."""
        targets = y.reshape(len(y), -1)
        error = targets - self.left_out.columns().mean
        ways = (standardized(y, self.left_out), error)
        z, plain = (
            [robust_scores(own, counted, column) for own, column in zip(way.T, targets.T, strict=True)] for way in ways
        )
        large = np.abs(error) > _SMALL * np.ptp(targets[counted], axis=0)
        return np.asarray(np.max(np.minimum(z, plain) * large.T, axis=0), dtype=float)

    def noise(self, y: Array, rows: Positions) -> Array:
        """Return noise that takes the weight of some rows; more where they are far off, so that no variance is theirs.

        Then they do not add to the variance of the process either, however far off they are.
        """
        error = np.abs(y.reshape(len(y), -1) - self.left_out.columns().mean) / self.spread
        found = np.zeros(len(y))
        found[rows] = _NOISE * np.maximum(1.0, error[rows].max(axis=1, initial=0.0)) ** 2
        return found

    def rules(self, y: Array, counted: Mask) -> Mask:
        """Return which rows are as far off as all that are counted together: squared standardized errors, (N,).

        Such a row alone would double the variance that intervals are made of; with less it does not rule.
        """
        squares = standardized(y, self.left_out) ** 2
        return np.asarray((squares >= squares[counted].sum(axis=0)).any(axis=1))


def can_be_odd(scores: Array) -> bool:
    """Whether one of the first scores is so high that a search is worth its time; on clean data mostly not."""
    return bool(scores.max() > _EXTREME)


def find_suspects(y: Array, scores: Array, refit: Callable[[Array], Refit]) -> Array:
    """Return the noise, (N,), that takes the weight of rows that the others do not explain by far; mostly all zeros.

    Parameters
    ----------
    y : ndarray of shape (N,) or (N, k)
    scores : ndarray of shape (N,)
        How odd every row looks at first.
    refit : callable
        Takes the noise of all rows, and fits again.
    """
    n = len(y)
    if not can_be_odd(scores):
        return np.zeros(n)
    most = max(_AT_LEAST, int(_SHARE * n))
    suspects = _highest(scores, max(2 * most, int(_FIRST_SHARE * n)), 0.5 * _EXTREME)
    plain = np.max([robust_scores(column) for column in y.reshape(n, -1).T], axis=0)
    noise = np.where(np.isin(np.arange(n), suspects), _NOISE * np.maximum(1.0, plain) ** 2, 0.0)
    may_be = np.ones(n, bool)
    while True:
        counted = noise == 0.0
        if not (np.ptp(y[counted], axis=0) > 0).all():  # there would be nothing to learn from
            return np.zeros(n)
        known = refit(noise)
        odd = np.where(known.rules(y, counted) & may_be, known.scores(y, counted), 0.0)
        found, before = _highest(odd, most, _EXTREME), suspects
        suspects, noise = found, known.noise(y, found)
        if not len(found) or np.array_equal(found, before):
            return noise
        # From now on rows only leave, so that in the end every one is bad by what those without noise say.
        may_be = noise > 0.0


def _highest(scores: Array, most: int, least: float) -> Positions:
    """Return the rows of the highest scores, sorted: at most so many, all above the least."""
    order = np.argsort(-scores, kind="stable")[:most]
    return np.sort(order[scores[order] > least])


def is_clear_gain(before: Array, after: Array, counted: Mask) -> bool:
    """Whether the log densities, (N,), of rows that are counted gain clearly.

    Examples
    --------
    >>> counted = np.arange(50) > 0
    >>> is_clear_gain(np.zeros(50), np.full(50, 0.5), counted), is_clear_gain(np.zeros(50), np.full(50, 0.1), counted)
    (True, False)
    """
    gain = float((after - before)[counted].sum())
    return gain > _GAIN + _GAIN_SHARE * int(np.count_nonzero(counted))


def check_outliers(outliers: str) -> None:
    """Refuse a word that says nothing about bad rows."""
    if outliers not in OUTLIERS:
        raise InputError(f"outliers is {outliers!r}, but 'auto' or 'keep' is expected.")


def outlier_table(
    names: Sequence[str], targets: Array, noises: Sequence[Array | None], expected: Array, labels: pd.Index
) -> pd.DataFrame:
    """Return the rows that hardly count, by their labels, the farthest from what is expected first; see `COLUMNS`.

    Parameters
    ----------
    names : sequence of k str
        Of the targets.
    targets, expected : ndarray of shape (N, k)
        As given, and as the other rows say.
    noises : sequence of k
        For every target the noise of the rows, (N,), or None.
    labels : Index of length N
    """
    rows = [
        {
            "row": label if isinstance(label := _plain(labels[i]), int) else str(label),
            "position": int(i),
            "target": name,
            "value": float(targets[i, k]),
            "expected": float(expected[i, k]),
            "weight": float(1.0 / (1.0 + noise[i])),
        }
        for k, (name, noise) in enumerate(zip(names, noises, strict=True))
        if noise is not None
        for i in np.argsort(-noise, kind="stable")[: np.count_nonzero(noise)]
    ]
    return outliers_from_records(rows)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def outliers_from_records(rows: Sequence[Record]) -> pd.DataFrame:
    """Make the table of plain values; it may be empty."""
    return pd.DataFrame(rows, columns=["row", *COLUMNS]).set_index("row")


def outlier_records(table: pd.DataFrame) -> list[Record]:
    """Undo :func:`outliers_from_records`."""
    found: list[Record] = table.reset_index().to_dict("records")
    return found


def said_of(value: float, expected: float) -> str:
    """Say how far a value is from what is expected.

    Examples
    --------
    >>> said_of(0.035, 0.009), said_of(-2.0, 3.0), said_of(1.0, 9.0)
    ('0.035, 3.9 times the expected 0.009', '-2, but 3 is expected', '1, 0.11 times the expected 9')
    """
    ratio = value / expected if expected else 0.0
    if ratio > 0.0 and not 0.5 < ratio < 2.0:
        return f"{number(value)}, {ratio:.2g} times the expected {number(expected)}"
    return f"{number(value)}, but {number(expected)} is expected"


def outlier_words(rows: Sequence[Record], cure: str) -> list[str]:
    """Say for every target which rows hardly count, and what to do about it.

    Parameters
    ----------
    rows : sequence of dict
        Of :func:`outlier_records`, with what each is called as "place".
    cure : str
        What counts them in full.

    Examples
    --------
    >>> row = {"place": "line 9", "target": "drag", "value": 4.0, "expected": 1.0}
    >>> print(outlier_words([row], "--keep-outliers")[0])  # doctest: +ELLIPSIS
    drag: the other rows do not explain line 9 (4, 4 times the expected 1). It counts 1 % or less, and not for ...
    """
    lines = []
    for name in dict.fromkeys(row["target"] for row in rows):
        told = [f"{row['place']} ({said_of(row['value'], row['expected'])})" for row in rows if row["target"] == name]
        shown = told[:_MOST_TOLD] + [f"{len(told) - _MOST_TOLD} more"] * (len(told) > _MOST_TOLD)
        listed = " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
        it, them = ("It counts 1 % or less", "it") if len(told) == 1 else ("They count 1 % or less each", "them")
        lines.append(
            f"{name}: the other rows do not explain {listed}. {it}, and not for scores and intervals. Check {them}; "
            f"{cure} counts {them} in full."
        )
    return lines


def warn_about_outliers(table: pd.DataFrame, stacklevel: int) -> None:
    """Warn where rows hardly count; ``stacklevel`` is that of the caller."""
    rows = [{"place": f"row {one['row']}"} | one for one in outlier_records(table)]
    for line in outlier_words(rows, "outliers='keep'"):
        warnings.warn(line, OutlierWarning, stacklevel=stacklevel + 1)
