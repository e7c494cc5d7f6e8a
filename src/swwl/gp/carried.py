r"""CarriedPrediction: what a process fitted on another scale, such as logarithms, says in the units of the target.

Quantiles of a monotone function of a variable are the function's values at its quantiles, so intervals are exact. The
mean of :math:`e^x` does not exist for a Student-t x, whose tails are heavier than exponential; mean and standard
deviation are those of a fixed number of equally likely values, which are always finite and differentiable:

.. math:: \bar y = \frac{1}{Q} \sum_q g(m + S z_q), \qquad s^2 = \frac{1}{Q} \sum_q (g(m + S z_q) - \bar y)^2,

with m and S the mean and the standard deviation of the process, and :math:`z_q` the quantiles of its distribution at
:math:`(q - \frac12) / Q`, scaled to a mean square of one. For the identity they are m and S. Where a process knows
nothing, on a logarithm, a few of these values would outweigh all others by powers of ten: for the mean S counts up to
what the scale says (:attr:`Monotone.most`), for the deviation up to three times as much. Intervals know no such limit.

A target that is learned over a law (``tables/laws.py``) is g times the law's value in the case: all that is said of it
is multiplied by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from swwl.gp.mixed import MixedPrediction, mixed
from swwl.gp.prediction import Interval, Prediction, inverse_cdf, to_std

Array = NDArray[np.float64]

_NODES = 100
_MOST_ROWS = 4096  # carried back at a time
# Deviations are taken up to so many times the standard deviation of the process that counts for means.
_DEVIATIONS = 3.0


class Monotone(Protocol):
    """An increasing function of a target, and its inverse."""

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""

    @property
    def most(self) -> float | None:
        """Up to which standard deviation of the process means are taken; None for any."""

    def forward(self, y: Array) -> Array:
        """Take values of the target to the scale of the process; -inf or inf where there are none."""

    def inverse(self, x: Array) -> Array:
        """Take values of the process back to the units of the target."""

    def inverse_slope(self, x: Array) -> Array:
        """Return the derivative of :meth:`inverse`."""


@dataclass(frozen=True)
class CarriedPrediction(Prediction):
    r"""Predictions in the units of a target, of a process that was fitted on another scale.

    ``mean`` and ``std`` are those of the carried distribution; ``interval`` carries the bounds themselves. Wider
    intervals (:meth:`widened`) leave the mean where it is, and ``std`` is the typical deviation from that.

    Attributes
    ----------
    mean, scale, df
        As those of :class:`~swwl.gp.prediction.Prediction`: the Student-t prediction of the same mean and variance.
    fitted : Prediction
        What the process says on its own scale, arrays of the same shape.
    scales : tuple of k Monotone
        One per target.
    times : ndarray of the same shape, or None
        By what the targets of every case were divided before all that.

    Examples
    --------
    >>> from swwl.regression.target_scale import TargetScale
    >>> found = carried(Prediction(np.array([0.0]), np.array([0.1]), np.inf), [TargetScale("log")])
    >>> lower, upper = found.interval(0.95)
    >>> np.log(lower).round(3).tolist(), np.log(upper).round(3).tolist()
    ([-0.196], [0.196])
    >>> found.mean.round(4).tolist()  # of a log-normal, exp(0.1² / 2)
    [1.005]
    """

    fitted: Prediction
    scales: tuple[Monotone, ...]
    times: Array | None = None
    symmetric: ClassVar[bool] = False

    @property
    def process(self) -> Prediction:
        """What the process says on its own scale."""
        return self.fitted

    def to_process(self, y: Array) -> Array:
        """Take values of the target, in the shape of the predictions, to the scale of the process."""
        return _by_target(y if self.times is None else y / self.times, self.scales, "forward")

    def from_process(self, x: Array) -> Array:
        """Take values (M, Q) of the process back to the units of the target, of predictions of shape (M,)."""
        found = self.scales[0].inverse(x)
        return found if self.times is None else self.times[:, None] * found

    def log_density(self, y: Array) -> Array:
        """Return the log density of answers in the units of the target, in the shape of the predictions."""
        x = self.to_process(y)
        found = self.fitted.log_density(x) - np.log(_by_target(x, self.scales, "inverse_slope"))
        return found if self.times is None else found - np.log(self.times)

    def cdf(self, y: Array) -> Array:
        """Return the probability that answers are at most ``y``, in the shape of the predictions."""
        return self.fitted.cdf(self.to_process(y))

    def bells(self) -> list[tuple[Array, Prediction]]:
        """Return what it is a mixture of, carried back, with the weights."""
        if not isinstance(self.fitted, MixedPrediction):
            return super().bells()
        return [(weight, carried(part, self.scales, times=self.times)) for weight, part in self.fitted.bells()]

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the bounds (lower, upper) of the central interval, each of the shape of ``mean``."""
        lower, upper = self.fitted.interval(level)
        return self._in_units(lower), self._in_units(upper)

    def gap(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return where the unlikely stretch between two intervals begins and ends; nan where there is one interval."""
        start, stop = self.fitted.gap(level)
        return self._in_units(start), self._in_units(stop)

    def sets(self, level: float = 0.95) -> list[list[Interval]]:
        """Return the likeliest values of every case of a single target: one interval, or two where that is shorter."""
        found = self.fitted.sets(level)
        flat = np.array([bound for case in found for one in case for bound in (one.lower, one.upper)])
        carried_back = self.scales[0].inverse(flat)
        if self.times is not None:
            carried_back = carried_back * np.repeat(self.times, [2 * len(case) for case in found])
        bounds = iter(carried_back.tolist())
        return [[Interval(next(bounds), next(bounds), one.probability) for one in case] for case in found]

    def at(self, z: float) -> Array:
        """Return the value so many standard deviations of the process above its mean."""
        return self._in_units(self.fitted.at(z))

    def widened(self, factor: Any) -> Prediction:
        """Return the same prediction with the scale of the process times a factor, or one factor per target."""
        return carried(self.fitted.widened(factor), self.scales, self.mean, self.times)

    def narrowed(self, factor: Array) -> Prediction:
        """Return it with the standard deviation of the process times factors of at most one."""
        return carried(self.fitted.narrowed(factor), self.scales, self.mean, self.times)

    def take(self, rows: Any) -> Prediction:
        """Return the predictions of some cases: positions, a slice or a mask."""
        times = None if self.times is None else self.times[rows]
        return CarriedPrediction(self.mean[rows], self.scale[rows], self.df, self.fitted.take(rows), self.scales, times)

    def columns(self) -> Prediction:
        """Return it with a column per target, arrays of shape (M, k), also where there is a single one."""
        found = super().columns()
        times = None if self.times is None else self.times.reshape(found.mean.shape)
        return CarriedPrediction(found.mean, found.scale, self.df, self.fitted.columns(), self.scales, times)

    def column(self, k: int) -> Prediction:
        """Return the predictions of target k, arrays of shape (M,)."""
        found, fitted, own = super().column(k), self.fitted.column(k), self.scales[k]
        times = None if self.times is None else self.times.reshape(len(self.mean), -1)[:, k]
        if own.is_identity and (times is None or (times == 1.0).all()):
            return fitted
        return CarriedPrediction(found.mean, found.scale, self.df, fitted, (own,), times)

    def _in_units(self, x: Array) -> Array:
        """Take values of the process, in the shape of the predictions, back to the units of the targets."""
        found = _by_target(x, self.scales, "inverse")
        return found if self.times is None else self.times * found

    @classmethod
    def joined(cls, parts: Sequence[Prediction], *, targets: bool = False) -> Prediction:
        """Return predictions as one; see :meth:`swwl.gp.prediction.Prediction.joined`."""
        fitted = Prediction.joined([part.process for part in parts], targets=targets)
        every = [_scales(part) for part in parts]
        scales = tuple(scale for own in every for scale in own) if targets else every[0]
        join = np.column_stack if targets else np.concatenate
        mean, scale = join([part.mean for part in parts]), join([part.scale for part in parts])
        factors = [part.times if isinstance(part, CarriedPrediction) else None for part in parts]
        times = None
        if any(own is not None for own in factors):
            pairs = zip(parts, factors, strict=True)
            times = join([np.ones(part.mean.shape) if own is None else own for part, own in pairs])
        return CarriedPrediction(mean, scale, fitted.df, fitted, scales, times)


def carried(
    prediction: Prediction, scales: Sequence[Monotone], mean: Array | None = None, times: Array | None = None
) -> Prediction:
    """Carry the prediction of a process, arrays of shape (M,) or (M, k), back to the units of its k targets.

    Parameters
    ----------
    prediction : Prediction
    scales : sequence of k Monotone
        On which the targets were fitted; none where each is on its own. Where all are the identity and nothing is
        multiplied, the prediction itself is returned.
    mean : ndarray of the shape of the predictions, optional
        What to state as the mean; that of the carried distribution by default.
    times : ndarray of shape (M, k), or that of the predictions, optional
        By what the targets of every case were divided before they were fitted.

    Examples
    --------
    >>> found = carried(Prediction(np.array([2.0]), np.array([0.1]), np.inf), [], times=np.array([10.0]))
    >>> found.mean.tolist(), found.std.tolist(), found.process.mean.tolist()
    ([20.0], [1.0], [2.0])
    """
    if times is None and all(scale.is_identity for scale in scales):
        return prediction
    shape = prediction.mean.shape
    scales = tuple(scales) or (_Unchanged(),) * (1 if len(shape) == 1 else shape[1])
    times = None if times is None else times.reshape(shape)
    if isinstance(prediction, MixedPrediction):
        parts = [carried(part, scales, times=times) for part in prediction.parts]
        found = mixed(parts, prediction.weights, prediction.df)
        stated_mean = found.mean if mean is None else mean
        spread = np.sqrt(found.scale**2 + ((found.mean - stated_mean) / _unit(found.df)) ** 2)
        return CarriedPrediction(stated_mean, spread, prediction.df, prediction, scales, times)
    table = prediction.columns()
    unit = _unit(table.df)
    means, spreads = table.mean.copy(), table.scale.copy()
    factors = np.ones(means.shape) if times is None else times.reshape(means.shape)
    for k, scale in enumerate(scales):
        if not scale.is_identity:
            stated = None if mean is None else mean.reshape(means.shape)[:, k] / factors[:, k]
            means[:, k], deviations = moments(scale, table.mean[:, k], unit * table.scale[:, k], table.df, stated)
            spreads[:, k] = deviations / unit
    means, spreads = (factors * means).reshape(shape), (factors * spreads).reshape(shape)
    return CarriedPrediction(means, spreads, prediction.df, prediction, scales, times)


@lru_cache(maxsize=64)
def nodes(df: float) -> Array:
    """Return equally likely values (Q,) of a Student-t or normal variable, scaled to a mean square of one.

    Examples
    --------
    >>> z = nodes(8.0)
    >>> len(z), bool(abs(z.mean()) < 1e-15), round(float((z**2).mean()), 12)
    (100, True, 1.0)
    """
    levels = (np.arange(_NODES) + 0.5) / _NODES
    z = inverse_cdf(levels, df)
    z = (z - z[::-1]) / 2.0
    return np.asarray(z / np.sqrt(np.mean(z**2)))


def moments(
    scale: Monotone, location: Array, spread: Array, df: float, mean: Array | None = None
) -> tuple[Array, Array]:
    """Return mean and standard deviation (M,) in the units of the target.

    Parameters
    ----------
    scale : Monotone
    location, spread : ndarray of shape (M,)
        Mean and standard deviation of the process.
    df : float
    mean : ndarray of shape (M,), optional
        From where deviations are counted, if not from the mean itself.
    """
    means, deviations = np.empty(len(location)), np.empty(len(location))
    near, far = _limited(scale, spread)
    same = np.array_equal(near, far)
    for start in range(0, len(location), _MOST_ROWS):
        part = slice(start, start + _MOST_ROWS)
        values = scale.inverse(location[part, None] + near[part, None] * nodes(df))
        means[part] = values.mean(axis=1) if mean is None else mean[part]
        if not same:
            values = scale.inverse(location[part, None] + far[part, None] * nodes(df))
        deviations[part] = np.sqrt(((values - means[part, None]) ** 2).mean(axis=1))
    return means, deviations


def _limited(scale: Monotone, spread: Array) -> tuple[Array, Array]:
    """Return the standard deviations of the process that count for means, and for deviations."""
    if scale.most is None:
        return spread, spread
    return np.minimum(spread, scale.most), np.minimum(spread, _DEVIATIONS * scale.most)


def moment_slopes(scale: Monotone, location: float, spread: float, df: float, width: float = 1.0) -> Array:
    """Return the derivatives of mean and standard deviation (rows) in those of the process (columns), (2, 2).

    Parameters
    ----------
    scale : Monotone
    location, spread : float
        Mean and standard deviation of the process.
    df : float
    width : float
        By how much it has been widened; the mean is that without it.

    Examples
    --------
    >>> from swwl.regression.target_scale import TargetScale
    >>> bool(np.allclose(moment_slopes(TargetScale("identity"), 3.0, 0.5, np.inf), np.eye(2)))
    True
    """
    z = nodes(df)
    plain, whole = np.array([spread / width]), np.array([spread])
    own, other = float(_limited(scale, plain)[0][0]), float(_limited(scale, whole)[1][0])
    near, wide = location + own * z, location + other * z
    slope, steep = scale.inverse_slope(near), scale.inverse_slope(wide)
    grows, widens = own == plain[0], other == whole[0]
    apart = scale.inverse(wide) - scale.inverse(near).mean()
    std = max(float(np.sqrt(np.mean(apart**2))), np.finfo(float).tiny)
    of_mean = np.array([np.mean(slope), grows * np.mean(slope * z) / width])
    of_std = [np.mean(apart * (steep - of_mean[0])) / std, np.mean(apart * (widens * steep * z - of_mean[1])) / std]
    return np.array([of_mean, of_std])


class CarriedMoments(NamedTuple):
    """Mean and standard deviation of one case in the units of the target, and their derivatives.

    Attributes
    ----------
    mean, std : float
        As a prediction states them: the mean before intervals were widened, and deviations from it.
    wide_mean, wide_std : float
        Of the widened distribution itself.
    of_both, of_wide : ndarray of shape (2, 2)
        Derivatives of the former and the latter pair (rows) in mean and std of the process (columns).
    """

    mean: float
    std: float
    wide_mean: float
    wide_std: float
    of_both: Array
    of_wide: Array

    @classmethod
    def of(cls, scale: Monotone, location: float, spread: float, df: float, width: float) -> CarriedMoments:
        """Carry mean and standard deviation of a process back; ``width`` multiplies the latter.

        Examples
        --------
        >>> from swwl.regression.target_scale import TargetScale
        >>> CarriedMoments.of(TargetScale("identity"), 3.0, 0.5, np.inf, 2.0)[:4]
        (3.0, 1.0, 3.0, 1.0)
        """
        if scale.is_identity:
            slopes = np.diag([1.0, width])
            return cls(location, width * spread, location, width * spread, slopes, slopes)
        at, wide, unit = np.array([location]), np.array([width * spread]), np.array([1.0, width])
        mean, _ = moments(scale, at, wide / width, df)
        _, std = moments(scale, at, wide, df, mean)
        wide_mean, wide_std = moments(scale, at, wide, df)
        of_both = moment_slopes(scale, location, width * spread, df, width) * unit
        of_wide = moment_slopes(scale, location, width * spread, df) * unit
        return cls(float(mean[0]), float(std[0]), float(wide_mean[0]), float(wide_std[0]), of_both, of_wide)


def carried_covariance(
    scale: Monotone, mean: Array, covariance: Array, df: float, factors: Array
) -> tuple[Array, Array]:
    """Return mean (M,) and covariance (M, M) in the units of the target: the correlations stay those of the process.

    Parameters
    ----------
    scale : Monotone
    mean : ndarray of shape (M,)
    covariance : ndarray of shape (M, M)
        Of the process.
    df : float
    factors : ndarray of shape (M,)
        By how much standard deviations of the process are to be multiplied; they leave the mean where it is.
    """
    plain = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    if not np.isfinite(plain).all():  # of three rows; there is no variance to carry
        return scale.inverse(mean), covariance
    means, _ = moments(scale, mean, plain, df)
    _, wide = moments(scale, mean, factors * plain, df, means)
    ratio = np.divide(wide, plain, out=factors * scale.inverse_slope(mean), where=plain > 0)
    return means, covariance * ratio[:, None] * ratio[None, :]


class _Unchanged:
    is_identity = True
    most = None

    def forward(self, y: Array) -> Array:
        return y

    def inverse(self, x: Array) -> Array:
        return x

    def inverse_slope(self, x: Array) -> Array:
        return np.ones_like(x)


def _scales(prediction: Prediction) -> tuple[Monotone, ...]:
    if isinstance(prediction, CarriedPrediction):
        return prediction.scales
    return (_Unchanged(),) * prediction.columns().mean.shape[1]


def _unit(df: float) -> float:
    """Return the standard deviation of a scale of one; one where there is none."""
    return float(to_std(np.ones(1), df)[0]) if df > 2 else 1.0


def _by_target(values: Array, scales: Sequence[Monotone], what: str) -> Array:
    """Apply the function of every target to its column."""
    if values.ndim < 2 or len(scales) == 1:
        return np.asarray(getattr(scales[0], what)(values))
    return np.stack([getattr(scale, what)(values[:, k]) for k, scale in enumerate(scales)], axis=1)
