r"""How wide intervals have to be: calibration by folds, and the one rule that widens those of unsure cases.

Student-t intervals take the estimated ranges for true ones. With many ranges and few rows they come out too narrow, and
leave-one-out, which uses those same ranges, does not show it. Folds that estimate their own ranges do
(:func:`interval_factor`; with fewer than 30 rows :func:`few_rows_factor`). Where a model is less sure of a case than of
nearly all training cases that were left out, nothing has tested even that, and the interval is made twice as wide, on
the scale of the fit (:func:`widened`). Where a mesh is coarser or finer than the training meshes, what that is expected
to do to the prediction (``influence.py``) adds to its variance.

Bands that hold whole answers, curves or fields, at all their places at once (:class:`WholeBand`) are conformal: of
every answer that folds left out, the largest error over its deviation is known, and a band of a new one has as many
deviations to each side as the given share of them stayed within.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

from swwl.domain.verdict import WIDER, Reference
from swwl.errors import GPWarning, InputError
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.folds import shuffled_folds
from swwl.gp.inputs import independent_columns, learnable, trend_matrix
from swwl.gp.prediction import Prediction
from swwl.storage.checks import NotNegative, Shape

Array = NDArray[np.float64]

_FOLDS = 5
_FEWEST_ROWS = 10
# With fewer rows standardized errors of folds are too uncertain to calibrate by, and plain errors widen intervals; with
# more than the most, processes of the folds learn from a sample of so many, and predict all rows all the same.
FEW, _MOST_ROWS = 30, 1000
_QUARTILE = 0.25
_LEAST_PRECISION = 1e-9
# Optimization runs of the folds start from the full fit's initial point, to a coarse tolerance; above 500 rows, from
# its optimum, which halves the time: what a few rows left out have taught is little then.
_MOST_STEPS, _MANY, _FEWER_STEPS = 60, 500, 25
# Parts of fold errors below which intervals of other levels are read off.
LEVELS = np.append(np.arange(0.01, 0.99, 0.01), [0.99, 0.995, 0.999])
# Parts of mean deviations that may be added to all for bands of whole answers, and the level that chooses one.
_FLOORS, _USUAL = (0.0, 0.3, 1.0, 3.0), 0.9


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


def make_folds(n_rows: int, seed: int, same: NDArray[np.intp] | None = None) -> Folds:
    """Return five folds of so many rows, shuffled; none for fewer than ten.

    ``same`` says which rows have the same inputs, see :func:`swwl.gp.folds.shuffled_folds`; they count as one.

    Examples
    --------
    >>> folds = make_folds(12, seed=0)
    >>> len(folds), [len(rows) for rows in folds.test]
    (5, [3, 3, 2, 2, 2])
    >>> len(make_folds(9, seed=0))
    0
    """
    if (n_rows if same is None else len(np.unique(same))) < _FEWEST_ROWS:
        return Folds([], [])
    chosen = np.zeros(n_rows, bool)
    chosen[np.random.default_rng(seed).permutation(n_rows)[:_MOST_ROWS]] = True
    pairs = shuffled_folds(n_rows, _FOLDS, seed, same)
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
    (mean, scale), df = np.empty((2, *targets.reshape(len(targets), -1).shape)), []
    options: dict[str, Any] = {"start": start, "max_iter": _FEWER_STEPS}
    if len(targets) <= _MANY:
        options = {"start": start.beginning(), "max_iter": _MOST_STEPS}
    for train, test in zip(folds.train, folds.test, strict=True):
        trends = [None if trend_columns is None else trend_columns[rows] for rows in (train, test)]
        own = None if folds.noise is None else folds.noise[train]
        gp = make_gp()
        plain = _plain_values(gp.trend, targets[train], trends, own)
        learned = np.isnan(plain[0])
        if not learned.all():
            mean[test], scale[test] = plain, _left_out_scale(start)[test]
            df.append(start.df_)
        if learned.any():
            y = targets[train] if learned.all() else targets[train][:, learned]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GPWarning)  # the fit on all rows will say what needs saying
                among = [block.take(train) for block in blocks]
                gp.fit(among, y, trends[0], **options, noise=own, drop_dependent=True)
            found = gp.predict_distribution(cross(test, train), trend_columns=trends[1]).columns()
            mean[np.ix_(test, learned)], scale[np.ix_(test, learned)] = found.mean, found.scale
            df.append(found.df)
        if on_fit is not None:
            on_fit()
    return Prediction(mean.reshape(targets.shape), scale.reshape(targets.shape), min(df))


def _left_out_scale(gp: RobustGP) -> Array:
    """Return how unsure a process is of its rows left out, (N, k), with the variance that all of them tell."""
    q, _, sigma2 = gp.precision()
    precision = np.diag(q)[:, None]
    return np.asarray(np.sqrt(sigma2 / np.maximum(precision, _LEAST_PRECISION * precision.max())))


def _plain_values(kind: str, targets: Array, trends: Sequence[Array | None], noise: Array | None) -> Array:
    """Return what a fold says (M, k) of targets of which it has nothing to learn: they are constant, or its trend.

    NaN for the others.

    Parameters
    ----------
    kind : str
        Of the trend, see `swwl.RobustGP`.
    targets : ndarray of shape (N,) or (N, k)
    trends : sequence of two ndarrays of shape (N, m) and (M, m), or None
        Of the rows of the fold, and of those to predict.
    noise : ndarray of shape (N,) or None
    """
    y = targets.reshape(len(targets), -1)
    trend = trend_matrix(kind, trends[0], len(y))
    kept = independent_columns(trend)
    counted = np.ones(len(y), bool) if noise is None else noise == 0.0
    y, trend = y[counted], trend[counted][:, kept]
    learned = learnable(trend, y)
    if learned.all():
        return np.full((1, len(learned)), np.nan)
    new = np.ones((1, 1)) if trends[1] is None else trends[1]
    by_trend = trend_matrix(kind, trends[1], len(new))[:, kept] @ np.linalg.lstsq(trend, y, rcond=None)[0]
    return np.where(learned, np.nan, np.where(np.ptp(y, axis=0) == 0, y[0], by_trend))


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
    return max(1.0, error * float(np.sqrt(dof / chi2_quantile(_QUARTILE, dof))) / size)


def chi2_quantile(share: float, dof: int) -> float:
    """Return what a chi-squared variable exceeds with the probability 1 - ``share``.

    Examples
    --------
    >>> round(chi2_quantile(0.95, 1), 3)
    3.841
    """
    return float(2.0 * gammaincinv(0.5 * dof, share))


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


@dataclass(frozen=True)
class WholeBand:
    """How wide bands of whole answers have to be: largest errors of those that folds left out.

    Attributes
    ----------
    errors : ndarray of shape (n,)
        Of every answer that was left out the largest error over its deviation, rising.
    floor : float
        Part of the root mean square of deviations over an answer that is added to all.
    """

    errors: Annotated[Array, Shape("n", least=0, rises=True)]
    floor: NotNegative

    def half(self, sd: Array, level: float, axis: int | None = None) -> Array:
        """Return half the width of a band, from the deviations of an answer; of one for each index but ``axis``."""
        return self.width(level) * floored(sd, self.floor, axis)

    def width(self, level: float) -> float:
        """Return how many deviations a band has to each side."""
        return conformal(self.errors, level)


def check_level(level: float) -> None:
    """Refuse a level that is not a probability.

    Examples
    --------
    >>> check_level(95)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: level is 95, but a number between 0 and 1 is expected.
    """
    if not (isinstance(level, Real) and 0 < level < 1):
        raise InputError(f"level is {level!r}, but a number between 0 and 1 is expected.")


def conformal(errors: Array, level: float) -> float:
    """Return what a new error stays below with probability ``level``, given others (n,), rising.

    Beyond the largest of them, it grows as a normal quantile.

    Examples
    --------
    >>> conformal(np.arange(1.0, 20.0), 0.9)
    18.0
    """
    check_level(level)
    n = len(errors)
    place = (n + 1) * level
    if place <= n:
        return float(np.interp(place, np.arange(n + 1), np.append(0.0, errors)))
    beyond = ndtri(0.5 + level / 2) / ndtri(0.5 + n / (n + 1) / 2)
    return float(errors[-1] * beyond)


def floored(sd: Array, floor: float, axis: int | None = None) -> Array:
    """Return deviations that are nowhere much smaller than they are as a whole, or along ``axis``."""
    return np.asarray(np.sqrt(sd**2 + floor**2 * (sd**2).mean(axis=axis, keepdims=True)))


def whole_band(errors: Iterable[Array], deviations: Iterable[Array], relative: bool = False) -> WholeBand:
    """Return how wide bands of whole answers have to be: with the floor that makes them narrowest.

    Parameters
    ----------
    errors, deviations : iterable of J ndarrays
        Of answers that were left out: sizes of errors, NaN where they do not count, and deviations.
    relative : bool
        Whether the width of a band counts in units of the answer's own deviations.

    Examples
    --------
    Where deviations are right, no floor is needed:

    >>> sds = np.tile([1.0, 3.0], (19, 1))
    >>> found = whole_band(0.1 * np.arange(1, 20)[:, None] * sds, sds)
    >>> found.floor, round(found.width(0.9), 9)
    (0.0, 1.8)
    """
    known = list(zip(errors, deviations, strict=True))
    found = []
    for floor in _FLOORS:
        wide = [np.maximum(floored(sd, floor), np.finfo(float).tiny) for _, sd in known]
        own = WholeBand(np.sort([float(np.nanmax(e / sd)) for (e, _), sd in zip(known, wide, strict=True)]), floor)
        if relative:
            size = float(np.mean([sd.mean() / np.sqrt((d**2).mean()) for sd, (_, d) in zip(wide, known, strict=True)]))
        else:
            size = float(np.concatenate(wide).mean())
        found.append((own.width(_USUAL) * size, own))
    return min(found, key=lambda pair: pair[0])[1]
