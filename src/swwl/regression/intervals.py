r"""How wide intervals have to be: calibration by folds, and the one rule that widens those of unsure cases.

Student-t intervals take the estimated ranges for true ones. With many ranges and few rows they come out too narrow, and
leave-one-out, which uses those same ranges, does not show it. Folds that estimate their own ranges do
(:func:`interval_factor`; with fewer than 30 rows :func:`few_rows_factor`). Where a model is less sure of a case than of
nearly all training cases that were left out, nothing has tested even that, and the interval is made twice as wide, on
the scale of the fit (:func:`widened`). Where a mesh is coarser or finer than the training meshes, what that is expected
to do to the prediction (``influence.py``) adds to its variance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from swwl.domain.verdict import WIDER, Reference
from swwl.errors import GPWarning
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.folds import shuffled_folds
from swwl.gp.prediction import Prediction

Array = NDArray[np.float64]

_FOLDS = 5
_FEWEST_ROWS = 10
# With fewer rows standardized errors of folds are too uncertain to calibrate by, and plain errors widen intervals; with
# more than the most, processes of the folds learn from a sample of so many, and predict all rows all the same.
FEW, _MOST_ROWS = 30, 1000
_QUARTILE = 0.25
# Optimization runs of the folds start from the full fit's initial point, to a coarse tolerance; above 500 rows, from
# its optimum, which halves the time: what a few rows left out have taught is little then.
_MOST_STEPS, _MANY, _FEWER_STEPS = 60, 500, 25


@dataclass(frozen=True)
class Folds:
    """Rows to learn from and rows to predict, fold by fold.

    Attributes
    ----------
    train, test : list of ndarray of int
        Every row is in one of ``test``.
    noise : ndarray of shape (N,) or None
        Of rows that hardly count.
    """

    train: list[NDArray[np.intp]]
    test: list[NDArray[np.intp]]
    noise: Array | None = None

    def __len__(self) -> int:
        return len(self.test)


def make_folds(n_rows: int, seed: int) -> Folds:
    """Return five folds of so many rows, shuffled; none for fewer than ten.

    Examples
    --------
    >>> folds = make_folds(12, seed=0)
    >>> len(folds), [len(rows) for rows in folds.test]
    (5, [3, 3, 2, 2, 2])
    >>> len(make_folds(9, seed=0))
    0
    """
    if n_rows < _FEWEST_ROWS:
        return Folds([], [])
    chosen = np.zeros(n_rows, bool)
    chosen[np.random.default_rng(seed).permutation(n_rows)[:_MOST_ROWS]] = True
    pairs = shuffled_folds(n_rows, _FOLDS, seed)
    return Folds([train[chosen[train]] for train, _ in pairs], [test for _, test in pairs])


def fold_predictions(
    make_gp: Callable[[], RobustGP],
    blocks: Sequence[Block],
    cross: Callable[[NDArray[np.intp], NDArray[np.intp]], list[Block]],
    targets: Array,
    trend_columns: Array | None,
    folds: Folds,
    start: RobustGP,
    on_fit: Callable[[], None] | None = None,
) -> Prediction:
    """Predict every row from the folds without it.

    Parameters
    ----------
    make_gp : callable
        Returns an unfitted process.
    blocks : sequence of Block
        Among all N rows.
    cross : callable
        Takes rows that are left out and rows that are not; returns the blocks from these to those.
    targets : ndarray of shape (N,) or (N, k)
        Fitted together, as one process.
    trend_columns : ndarray of shape (N, m) or None
    folds : Folds
    start : RobustGP
        Fitted to all rows.
    on_fit : callable, optional
        Called after the fit of every fold.

    Returns
    -------
    Prediction
        Arrays of the shape of ``targets``.
    """
    mean, scale, df = np.empty(targets.shape), np.empty(targets.shape), []
    options: dict[str, Any] = {"start": start, "max_iter": _FEWER_STEPS}
    if len(targets) <= _MANY:
        options = {"start": start.beginning(), "max_iter": _MOST_STEPS}
    for train, test in zip(folds.train, folds.test, strict=True):
        trends = [None if trend_columns is None else trend_columns[rows] for rows in (train, test)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)  # the fit on all rows will say what needs saying
            among = [block.take(train) for block in blocks]
            own = None if folds.noise is None else folds.noise[train]
            gp = make_gp().fit(among, targets[train], trends[0], **options, noise=own)
        found = gp.predict_distribution(cross(test, train), trend_columns=trends[1])
        mean[test], scale[test] = found.mean, found.scale
        df.append(found.df)
        if on_fit is not None:
            on_fit()
    return Prediction(mean, scale, min(df))


def interval_factor(y: Array, left_out: Prediction) -> float:
    r"""Return how much wider or narrower than predicted intervals should be.

    With the standardized errors :math:`z_i` of rows predicted from the folds without them, their root mean square
    :math:`c`, and its relative standard error :math:`e`: c where that is more than one; :math:`c (1 + 2 e)` where that
    is less, so that intervals become no narrower than is certain; one in between.

    .. math:: e^2 = \max\Bigl(\tfrac{\overline{z^4}}{c^4} - 1,\, 2\Bigr) \Big/ 4 n

    Parameters
    ----------
    y : ndarray of shape (N,)
    left_out : Prediction
        Arrays of shape (N,).

    Returns
    -------
    float
        One where there are fewer than 30 rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, flat = rng.normal(size=400), Prediction(np.zeros(400), np.ones(400), np.inf)
    >>> [round(interval_factor(y * width, flat), 2) for width in (0.5, 0.95, 2.0)]
    [0.54, 1.0, 1.99]
    """
    n = len(y)
    if n < FEW:
        return 1.0
    z = left_out.standardized(y)
    size = float(np.sqrt(np.mean(z**2)))
    if not size > 0:
        return 1.0
    error = np.sqrt(max(float(np.mean(z**4)) / size**4 - 1.0, 2.0) / (4.0 * n))
    return max(1.0, size) if size * (1.0 + 2.0 * error) > 1.0 else size * (1.0 + 2.0 * float(error))


def few_rows_factor(y: Array, own: Prediction, left_out: Prediction | None) -> float:
    r"""Return how much wider than predicted intervals should be where there are fewer than 30 rows; never narrower.

    With few rows and many ranges one fit explains noise and another does not, so that standardized errors of folds say
    little about the fit to all rows. Its intervals become as wide as the errors of the folds are large: their root mean
    square, or rather what it may well be (the upper quartile given n of them, :math:`\sqrt{n / \chi^2_{n, 1/4}}` times
    as much), over that of the standard deviations when one row is left out. With fewer than ten rows there are no
    folds, and nothing shows that a prediction is better than the value of any other row: its error is taken to be
    that of two values drawn at random, :math:`\sqrt 2` standard deviations of the targets.

    Parameters
    ----------
    y : ndarray of shape (N,)
    own : Prediction
        Of every row by the fit to all rows, leave-one-out, arrays of shape (N,).
    left_out : Prediction or None
        From the folds without the row.

    Examples
    --------
    A fit that claims to be ten times as sure as folds find it:

    >>> y = np.array([1.0, -1.0] * 6)
    >>> sure, folds = (Prediction(np.zeros(12), np.full(12, scale), np.inf) for scale in (0.1, 1.0))
    >>> round(few_rows_factor(y, sure, folds), 2), round(few_rows_factor(y, folds, folds), 2)
    (11.93, 1.19)
    """
    n = len(y)
    size = float(np.sqrt(np.mean(own.std**2)))
    if not 0.0 < size < np.inf:
        return 1.0
    if left_out is None:
        error, dof = float(np.sqrt(2.0) * np.std(y, ddof=1)), n - 1
    else:
        error, dof = float(np.sqrt(np.mean((y - left_out.mean) ** 2))), n
    return max(1.0, error * float(np.sqrt(dof / chi2.ppf(_QUARTILE, dof))) / size)


def widened(prediction: Prediction, reference: Reference, moves: Array | None = None) -> Prediction:
    """Return predictions with twice the scale where the model is less sure than of 95 % of left-out training cases.

    This is the one rule: Python, the command line, reports and the server all state what it returns.

    Parameters
    ----------
    prediction : Prediction
        Of new observations by the plain process, arrays of shape (M,) or (M, k).
    reference : Reference
        Of the same model.
    moves : ndarray of shape (M, k), optional
        By how many standard deviations predictions are expected to move with the mesh of a case.
    """
    return prediction.widened(widening(prediction, reference, moves))


def widening(prediction: Prediction, reference: Reference, moves: Array | None = None) -> Array:
    r"""Return by how much :func:`widened` multiplies scales, in the shape of the predictions.

    1 or 2, times :math:`\sqrt{1 + a^2}` where the mesh is expected to move the prediction by a standard deviations.
    """
    found = np.where(reference.widened(prediction), WIDER, 1.0)
    if moves is not None:
        found = found * np.sqrt(1.0 + moves**2)
    return found.reshape(prediction.mean.shape)
