r"""MixedPrediction: a mixture of Student-t predictions whose weights are those of each case, and may have two humps.

Where two outcomes are possible, such as an attached and a separated flow, one bell says that the truth lies in between,
where it never is. Bounds here are quantiles of the mixture itself, and :meth:`MixedPrediction.sets` gives two intervals
where they are shorter together than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from swwl.gp.prediction import Interval, Prediction, inverse_cdf, quantile, to_std

Array = NDArray[np.float64]

_HALVINGS = 60
_GRID, _NEAR = 801, 8.0
# The likeliest values are given where they are shorter than the central interval by at least a tenth.
_SHORTER, _LEAST = 0.9, 0.02


@dataclass(frozen=True)
class MixedPrediction(Prediction):
    """Mixtures of K Student-t predictions; see :func:`mixed`, which makes them.

    Attributes
    ----------
    mean, scale, df
        The Student-t prediction of the same mean and variance.
    parts : tuple of K Prediction
        Arrays of shape (M,) or (M, k).
    weights : ndarray of shape (K, M) or (K, M, k)
        Of every part, in every case.

    Examples
    --------
    >>> low, high = (Prediction(np.array([m]), np.array([0.1]), np.inf) for m in (-1.0, 1.0))
    >>> found = mixed([low, high], np.array([[0.5], [0.5]]))
    >>> found.mean.tolist(), found.std.round(3).tolist()
    ([0.0], [1.005])
    >>> [(round(one.lower, 1), round(one.upper, 1), round(one.probability, 3)) for one in found.sets(0.95)[0]]
    [(-1.2, -0.8, 0.475), (0.8, 1.2, 0.475)]
    """

    parts: tuple[Prediction, ...]
    weights: Array
    symmetric: ClassVar[bool] = False

    def cdf(self, y: Array) -> Array:
        """Return the probability that answers are at most ``y``, in the shape of the predictions."""
        return np.asarray(sum(weight * part.cdf(y) for part, weight in zip(self.parts, self.weights, strict=True)))

    def bells(self) -> list[tuple[Array, Prediction]]:
        """Return the parts with their weights."""
        return list(zip(self.weights, self.parts, strict=True))

    def log_density(self, y: Array) -> Array:
        """Return the log density of answers ``y``, in its shape."""
        return log_mixture([part.log_density(y) for part in self.parts], self.weights)

    def standardized(self, y: Array) -> Array:
        """Return known answers as the deviates of a bell that are as likely to be exceeded, in standard deviations."""
        share = np.clip(self.cdf(y), 1e-12, 1.0 - 1e-12)
        return np.asarray(inverse_cdf(share, self.df) / to_std(np.ones(1), self.df)[0])

    def quantile(self, share: float) -> Array:
        """Return the quantile of the mixture, in the shape of ``mean``."""
        # It lies between those of the parts, of which each has degrees of freedom of its own.
        own = [part.mean + inverse_cdf(share, part.df) * part.scale for part in self.parts]
        lower, upper = np.min(own, axis=0), np.max(own, axis=0)
        for _ in range(_HALVINGS):
            middle = 0.5 * (lower + upper)
            below = self.cdf(middle) < share
            lower, upper = np.where(below, middle, lower), np.where(below, upper, middle)
        return np.asarray(0.5 * (lower + upper))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the bounds (lower, upper) of the central interval, or of :meth:`sets` where these are shorter."""
        lower, upper = self._central(level)
        for place, humps in self._shorter_sets(level).items():
            lower[place], upper[place] = humps[0].lower, humps[-1].upper
        return lower, upper

    def gap(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return where the unlikely stretch between two intervals begins and ends; nan where there is one interval."""
        start, stop = np.full(self.mean.shape, np.nan), np.full(self.mean.shape, np.nan)
        for place, humps in self._shorter_sets(level).items():
            stretches = [(one.upper, other.lower) for one, other in pairwise(humps)]
            if stretches:
                start[place], stop[place] = max(stretches, key=lambda stretch: stretch[1] - stretch[0])
        return start, stop

    def sets(self, level: float = 0.95) -> list[list[Interval]]:
        """Return the likeliest values of every case of a single target: one interval, or two where that is shorter."""
        found = super().sets(level)
        for place, humps in self._shorter_sets(level).items():
            found[place[0]] = humps
        return found

    def _central(self, level: float) -> tuple[Array, Array]:
        quantile(self.df, level)  # refuses levels that are none
        return self.quantile(0.5 - 0.5 * level), self.quantile(0.5 + 0.5 * level)

    def _shorter_sets(self, level: float) -> dict[tuple[int, ...], list[Interval]]:
        """Return the sets of highest density, by their place in the arrays, that are shorter than central intervals."""
        lower, upper = self._central(level)
        found = {}
        for place in map(tuple, np.argwhere(self._may_have_humps()).tolist()):
            humps = self._humps(place, level)
            length = sum(hump.upper - hump.lower for hump in humps)
            if humps and length < _SHORTER * (upper[place] - lower[place]):
                found[place] = humps
        return found

    def _may_have_humps(self) -> NDArray[np.bool_]:
        """Whether parts that count lie farther apart than they are wide, for every case."""
        counts = self.weights >= _LEAST
        means, scales = (np.stack([getattr(part, name) for part in self.parts]) for name in ("mean", "scale"))
        gap = np.where(counts, means, -np.inf).max(axis=0) - np.where(counts, means, np.inf).min(axis=0)
        narrow = np.where(counts, scales, np.inf).min(axis=0)
        return np.asarray(gap > 2.0 * narrow)

    def _humps(self, place: tuple[int, ...], level: float) -> list[Interval]:
        """Return the set of highest density of one case, as intervals; hardly likely ones are left out."""
        parts = tuple(Prediction(part.mean[place], part.scale[place], part.df) for part in self.parts)
        weights = np.moveaxis(self.weights, 0, -1)[place]
        # a grid that is fine around every part, however narrow, and reaches as far as its tails count
        near = [part.mean + part.scale * _reach(part.df, level) for part in parts]
        every = np.concatenate(near)
        grid = np.unique(np.concatenate([np.linspace(every.min(), every.max(), _GRID), every]))
        spread = MixedPrediction(np.zeros(len(grid)), np.ones(len(grid)), self.df, parts, weights)
        density = np.exp(spread.log_density(grid))
        mass = np.diff(spread.cdf(grid), prepend=0.0)
        order = np.argsort(-density, kind="stable")
        count = int(np.searchsorted(np.cumsum(mass[order]), level)) + 1
        inside = np.zeros(len(grid), bool)
        inside[order[:count]] = True
        turns = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
        found = []
        for start, stop in zip(turns[::2], turns[1::2], strict=True):
            probability = float(mass[start:stop].sum())
            if probability >= _LEAST:
                found.append(Interval(float(grid[start]), float(grid[stop - 1]), probability))
        return found

    def widened(self, factor: Any) -> Prediction:
        """Return the same mixture, the scale of every part times a factor, or one factor per target."""
        return mixed([part.widened(factor) for part in self.parts], self.weights, self.df)

    def narrowed(self, factor: Array) -> Prediction:
        """Return it with its standard deviation times factors of at most one.

        What is learned makes every part surer first; parts come together only where that is not enough.
        """
        means, stds = np.stack([part.mean for part in self.parts]), np.stack([_std(part) for part in self.parts])
        within = (self.weights * stds**2).sum(axis=0)
        apart = (self.weights * (means - self.mean) ** 2).sum(axis=0)
        left = factor**2 * (within + apart)
        tiny = np.finfo(float).tiny
        scales = np.sqrt(np.maximum(left - apart, 0.0) / np.maximum(within, tiny))
        nearer = np.sqrt(np.minimum(left / np.maximum(apart, tiny), 1.0))
        parts = [Prediction(self.mean + nearer * (p.mean - self.mean), scales * p.scale, p.df) for p in self.parts]
        return mixed(parts, self.weights, self.df)

    def take(self, rows: Any) -> Prediction:
        """Return the predictions of some cases: positions, a slice or a mask."""
        parts = tuple(part.take(rows) for part in self.parts)
        return MixedPrediction(self.mean[rows], self.scale[rows], self.df, parts, self.weights[:, rows])

    def columns(self) -> Prediction:
        """Return it with a column per target, arrays of shape (M, k), also where there is a single one."""
        found, parts = super().columns(), tuple(part.columns() for part in self.parts)
        weights = self.weights.reshape(len(parts), *found.mean.shape)
        return MixedPrediction(found.mean, found.scale, self.df, parts, weights)

    def column(self, k: int) -> Prediction:
        """Return the predictions of target k, arrays of shape (M,)."""
        found, parts = super().column(k), tuple(part.column(k) for part in self.parts)
        weights = self.weights.reshape(len(parts), len(self.mean), -1)[:, :, k]
        return MixedPrediction(found.mean, found.scale, self.df, parts, weights)

    @classmethod
    def joined(cls, parts: Sequence[Prediction], *, targets: bool = False) -> Prediction:
        """Return predictions as one; see :meth:`swwl.gp.prediction.Prediction.joined`."""
        count = max(len(part.parts) for part in parts if isinstance(part, MixedPrediction))
        every = [_with_parts(part, count) for part in parts]
        join = np.column_stack if targets else np.concatenate
        own = tuple(Prediction.joined([one.parts[i] for one in every], targets=targets) for i in range(count))
        weights = np.stack([join([one.weights[i] for one in every]) for i in range(count)])
        mean, scale = join([one.mean for one in every]), join([one.scale for one in every])
        return MixedPrediction(mean, scale, every[0].df, own, weights)


def mixed(parts: Sequence[Prediction], weights: Array, df: float | None = None) -> MixedPrediction:
    r"""Mix predictions; mean and variance of the mixture are stated as those of a Student-t prediction.

    .. math:: \bar m = \sum_c w_c m_c, \qquad s^2 = \sum_c w_c \bigl(s_c^2 + (m_c - \bar m)^2\bigr)

    Parameters
    ----------
    parts : sequence of K Prediction
        Arrays of shape (M,) or (M, k).
    weights : ndarray of shape (K, M) or (K, M, k)
        With sums of one.
    df : float, optional
        Degrees of freedom to state; by default the first part's.
    """
    df = parts[0].df if df is None else df
    means = np.stack([part.mean for part in parts])
    mean = (weights * means).sum(axis=0)
    stds = np.stack([_std(part) for part in parts])
    spread = np.sqrt((weights * (stds**2 + (means - mean) ** 2)).sum(axis=0))
    unit = float(to_std(np.ones(1), df)[0]) if df > 2 else 1.0
    return MixedPrediction(mean, spread / unit, df, tuple(parts), weights)


def log_mixture(densities: Sequence[Array], weights: Array) -> Array:
    """Return the log density of a mixture, of those of its parts.

    Examples
    --------
    >>> log_mixture([np.log([0.2]), np.log([0.4])], np.array([[0.5], [0.5]])).round(3).tolist()
    [-1.204]
    """
    with np.errstate(divide="ignore"):  # a part that weighs nothing
        return np.asarray(np.logaddexp.reduce([d + np.log(w) for d, w in zip(densities, weights, strict=True)], axis=0))


def _std(part: Prediction) -> Array:
    """Return standard deviations; scales where there are none."""
    return part.std if part.df > 2 else part.scale


def _reach(df: float, level: float) -> Array:
    """Return places in scales beyond which there is at most a tenth of what lies outside of sets of a level."""
    near = np.linspace(-_NEAR, _NEAR, _GRID)
    far = quantile(df, 1.0 - 0.1 * (1.0 - level))
    if far <= _NEAR:
        return near
    tail = np.geomspace(_NEAR, far, _GRID // 8)[1:]
    return np.concatenate([-tail[::-1], near, tail])


def _with_parts(prediction: Prediction, count: int) -> MixedPrediction:
    """Return any prediction as a mixture of so many parts."""
    shape = prediction.mean.shape
    own = prediction if isinstance(prediction, MixedPrediction) else mixed([prediction], np.ones((1, *shape)))
    more = count - len(own.parts)
    weights = np.concatenate([own.weights, np.zeros((more, *shape))])
    return MixedPrediction(own.mean, own.scale, own.df, (*own.parts, *[own.parts[-1]] * more), weights)
