"""Prediction: what a Gaussian process says of new (or left-out) observations, from the solver to the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, poch, stdtr, stdtrit

from swwl.errors import InputError
from swwl.formatting import html_table, number
from swwl.parallel import check_memory

Array = NDArray[np.float64]

_SHOWN = 10  # cases, and targets, in a notebook


class Interval(NamedTuple):
    """Bounds, and the probability that the answer lies between them."""

    lower: float
    upper: float
    probability: float


@dataclass(frozen=True)
class Prediction:
    r"""Student-t predictions: location, scale and degrees of freedom (normal where these are infinite).

    Attributes
    ----------
    mean : ndarray of shape (M,) or (M, k)
        For M cases and k targets.
    scale : ndarray of the same shape
    df : float

    Examples
    --------
    >>> prediction = Prediction(np.array([1.0, 2.0]), np.array([0.1, 0.2]), 10.0)
    >>> prediction.std.round(4).tolist()
    [0.1118, 0.2236]
    >>> lower, upper = prediction.interval(0.95)
    >>> upper.round(3).tolist()
    [1.223, 2.446]
    """

    mean: Array
    scale: Array
    df: float
    symmetric: ClassVar[bool] = True  # as far below the mean as above it

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def std(self) -> Array:
        r"""Standard deviation, :math:`\sqrt{\mathrm{df} / (\mathrm{df} - 2)}` times the scale; inf where df <= 2."""
        return to_std(self.scale, self.df)

    def _repr_html_(self) -> str | None:
        """Return a small table for notebooks: the first ten cases; None, for the plain text, where it has no rows."""
        try:
            both = self.columns()
            several = both.mean.shape[1] > 1
            lower, upper = both.interval(0.95)
            lines = [
                [i, *([k] if several else []), *(number(own[i, k]) for own in (both.mean, both.std, lower, upper))]
                for i in range(min(len(both), _SHOWN))
                for k in range(min(both.mean.shape[1], _SHOWN))
            ]
            more = f", the first {_SHOWN}" if len(both) > _SHOWN else ""
            names = ["case", *(["target"] if several else []), "mean", "std", "95 % from", "to"]
            return html_table(f"Prediction of {len(both)} case{'s' * (len(both) != 1)}{more}", names, lines)
        except Exception:  # what is shown must never stop a notebook
            return None

    @property
    def process(self) -> Prediction:
        """What the process says on the scale it was fitted on: this, unless the target was transformed for the fit."""
        return self

    def to_process(self, y: Array) -> Array:
        """Take values of the target, in the shape of the predictions, to the scale of the process."""
        return y

    def from_process(self, x: Array) -> Array:
        """Take values (M, Q) of the process back to the units of the target, of predictions of shape (M,)."""
        return x

    def standardized(self, y: Array) -> Array:
        """Return the errors of known answers in standard deviations, on the scale of the process."""
        return (self.to_process(y) - self.process.mean) / self.process.std

    def log_density(self, y: Array) -> Array:
        """Return the log density of answers, in the shape of the predictions.

        Examples
        --------
        >>> Prediction(np.zeros(1), np.ones(1), np.inf).log_density(np.zeros(1)).round(4).tolist()
        [-0.9189]
        """
        scale = np.maximum(self.scale, np.finfo(float).tiny)
        z = (y - self.mean) / scale
        return np.asarray(log_density(z, self.df) - np.log(scale))

    def cdf(self, y: Array) -> Array:
        """Return the probability that answers are at most ``y``, in the shape of the predictions.

        Examples
        --------
        >>> Prediction(np.zeros(1), np.ones(1), np.inf).cdf(np.array([1.96])).round(3).tolist()
        [0.975]
        """
        z = (y - self.mean) / np.maximum(self.scale, np.finfo(float).tiny)
        return cdf(z, self.df)

    def bells(self) -> list[tuple[Array, Prediction]]:
        """Return what it is a mixture of: single bells with their weights, in the shape of the predictions."""
        return [(np.ones(self.mean.shape), self)]

    def at(self, z: float) -> Array:
        """Return the value so many standard deviations of the process above its mean."""
        return self.mean + z * self.std

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the bounds (lower, upper) of the central interval, each of the shape of ``mean``."""
        half = quantile(self.df, level) * self.scale
        return self.mean - half, self.mean + half

    def gap(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return where the unlikely stretch between two intervals begins and ends; nan where there is one interval."""
        return np.full(self.mean.shape, np.nan), np.full(self.mean.shape, np.nan)

    def sets(self, level: float = 0.95) -> list[list[Interval]]:
        """Return the likeliest values of every case of a single target: one interval, or two where that is shorter."""
        lower, upper = self.interval(level)
        return [[Interval(float(a), float(b), level)] for a, b in zip(lower, upper, strict=True)]

    def widened(self, factor: Any) -> Prediction:
        """Return the same prediction with its scale times a factor, or one factor per target."""
        return Prediction(self.mean, self.scale * factor, self.df)

    def narrowed(self, factor: Array) -> Prediction:
        """Return it with its standard deviation times factors of at most one, in the shape of the predictions."""
        return self.widened(factor)

    def take(self, rows: Any) -> Prediction:
        """Return the predictions of some cases: positions, a slice or a mask."""
        return Prediction(self.mean[rows], self.scale[rows], self.df)

    def columns(self) -> Prediction:
        """Return it with a column per target, arrays of shape (M, k), also where there is a single one."""
        shape = (len(self.mean), -1) if len(self.mean) else (0, self.mean.shape[1] if self.mean.ndim == 2 else 1)
        return Prediction(self.mean.reshape(shape), self.scale.reshape(shape), self.df)

    def column(self, k: int) -> Prediction:
        """Return the predictions of target k, arrays of shape (M,)."""
        table = self.columns()
        return Prediction(table.mean[:, k], table.scale[:, k], self.df)

    @classmethod
    def joined(cls, parts: Sequence[Prediction], *, targets: bool = False) -> Prediction:
        """Return predictions of different cases as one, or of the same cases for different ``targets``.

        Parameters
        ----------
        parts : sequence of Prediction
            Of the same degrees of freedom.

        Examples
        --------
        >>> one = Prediction(np.array([1.0, 2.0]), np.array([0.1, 0.2]), 10.0)
        >>> len(Prediction.joined([one, one])), Prediction.joined([one, one], targets=True).mean.shape
        (4, (2, 2))
        """
        for part in sorted(parts, key=lambda part: part.process is part):  # targets that were transformed come first
            if not part.symmetric:
                return type(part).joined(parts, targets=targets)
        join = np.column_stack if targets else np.concatenate
        return cls(join([part.mean for part in parts]), join([part.scale for part in parts]), parts[0].df)

    @classmethod
    def from_std(cls, mean: Array, std: Array, df: float) -> Prediction:
        """Make a prediction of means and standard deviations; df must exceed 2."""
        return cls(mean, std / to_std(np.ones(1), df)[0], df)


def check_samples(n_samples: int, n_values: int) -> None:
    """Refuse a number of samples that is none, or more of so many values each than this machine can hold.

    Examples
    --------
    >>> check_samples(5, 100)
    >>> check_samples(-1, 100)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: n_samples is -1, but a whole number of at least 1 is expected.
    """
    if not isinstance(n_samples, (int, np.integer)) or isinstance(n_samples, bool) or n_samples < 1:
        raise InputError(f"n_samples is {n_samples!r}, but a whole number of at least 1 is expected.")
    check_memory(8 * int(n_samples) * n_values, "The samples")


# Of a Student-t variable, normal where df is inf: scipy.stats has the same numbers, and takes half a second to import.


def cdf(z: ArrayLike, df: float) -> Array:
    """Return the probability that a Student-t variable is at most ``z``, elementwise.

    Examples
    --------
    >>> cdf([0.0, 1.0], 1.0).tolist(), cdf(0.0, np.inf).tolist()
    ([0.5, 0.75], 0.5)
    """
    return np.asarray(ndtr(z) if np.isinf(df) else stdtr(df, z))


def inverse_cdf(share: ArrayLike, df: float) -> Array:
    """Return what a Student-t variable exceeds with the probability 1 - ``share``, elementwise.

    Examples
    --------
    >>> inverse_cdf([0.5, 0.75], 1.0).round(12).tolist(), inverse_cdf(0.975, np.inf).round(3).tolist()
    ([0.0, 1.0], 1.96)
    """
    return np.asarray(ndtri(share) if np.isinf(df) else stdtrit(df, share))


def log_density(z: ArrayLike, df: float) -> Array:
    r"""Return the log density of a Student-t variable, elementwise.

    .. math:: \log \frac{\Gamma((\nu + 1) / 2)}{\Gamma(\nu / 2)} - \tfrac12 \log(\pi \nu)
              - \tfrac{\nu + 1}{2} \log(1 + z^2 / \nu)

    Examples
    --------
    >>> np.exp(log_density([0.0, 1.0], 1.0) + np.log(np.pi)).round(12).tolist()
    [1.0, 0.5]
    >>> log_density(0.0, np.inf).round(4).tolist()
    -0.9189
    """
    square = np.square(np.asarray(z, dtype=np.float64))
    if np.isinf(df):
        return np.asarray(-square / 2.0 - np.log(np.sqrt(2.0 * np.pi)))
    constant = np.log(poch(0.5 * df, 0.5)) - 0.5 * (np.log(df) + np.log(np.pi))
    return np.asarray(constant - (df + 1) / 2 * np.log1p(square / df))


def quantile(df: float, level: float) -> float:
    """Return the half width, in scales, of the central interval: Student-t, or normal where df is inf.

    Examples
    --------
    >>> round(quantile(np.inf, 0.95), 3), round(quantile(10.0, 0.95), 3)
    (1.96, 2.228)
    """
    if not isinstance(level, Real) or not 0.0 < level < 1.0:
        raise InputError(f"level is {level!r}, but it must lie strictly between 0 and 1.")
    return _quantile(df, float(level))


@lru_cache(maxsize=256)
def _quantile(df: float, level: float) -> float:
    upper = 0.5 + 0.5 * level
    return float(inverse_cdf(upper, df))


def to_std(scale: Array, df: float) -> Array:
    """Turn scales into standard deviations, times sqrt(df / (df - 2)); inf where df <= 2 has no variance.

    Examples
    --------
    >>> to_std(np.array([1.0]), 4.0).round(3).tolist(), to_std(np.array([1.0]), 2.0).tolist()
    ([1.414], [inf])
    """
    if np.isinf(df):
        return scale
    return np.sqrt(df / (df - 2.0)) * scale if df > 2.0 else np.full_like(scale, np.inf)
