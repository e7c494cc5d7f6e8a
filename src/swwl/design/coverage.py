r"""How well chosen cases cover a pool, before a model is asked: by a smooth process that knows nothing of the answers.

Cases are points. The process has a Matérn 5/2 correlation whose length is several times the extent of the pool, as
answers of simulations are smooth on it; what chosen cases leave of its variance, on average over the pool, says how
well they stand for all of it. With C the covariance that is left, a case c takes away

.. math:: \sum_x C_{xc}^2 / (C_{cc} + \nu)

of it: little where it stands alone, whatever its distance, and little where chosen cases are near.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.distances import pairwise_distances
from swwl.formatting import percent
from swwl.gp.correlations import get_correlation

Array = NDArray[np.float64]

# Of the process: its length, in root mean square distances of standardized cases from their mean, and its noise.
_LENGTH, _NOISE = 5.0, 1e-4
# Covariances of places with cases that are held, at most so many numbers; cases that may be known.
_MOST_NUMBERS, _MOST_KNOWN = 20_000_000, 2000


# Cases are the same if they differ by no more than this share of the spread: by rounding alone.
SAME = 1e-6
# Random choices that a choice is compared with, and the share of their expected error below which it gains something:
# a choice is the best of many by the very process that judges it, and real answers are rougher.
_DRAWS, _WORTH = 16, 0.8


@dataclass(frozen=True)
class Outlook:
    """How the error over a pool is expected to fall: the root of its mean variance.

    Attributes
    ----------
    before, after : float
        Without the chosen cases and with them.
    random : tuple of three floats
        With as many cases drawn at random: the mean, the least and the largest of several draws.
    """

    before: float
    random: tuple[float, float, float]
    after: float = np.nan

    @property
    def worth(self) -> bool:
        """Whether choosing is expected to gain more than random choice does."""
        return self.after < _WORTH * self.random[0]

    def told(self) -> str:
        """Say it in words.

        Examples
        --------
        >>> print(Outlook(1.0, (0.5, 0.48, 0.52), 0.3).told())
        the expected error over the pool falls to 30 % of that before; random choice: to 50 % (48 to 52 %)
        >>> print(Outlook(1.0, (0.5, 0.48, 0.52), 0.49).told())
        this pool is evenly filled: expect the gain of random choice, an error of 50 % of that before (48 to 52 %)
        """
        unit = self.before or 1.0
        after, mean, low, high = (100 * value / unit for value in (self.after, *self.random))
        drawn = f"{mean:.0f} % ({low:.0f} to {high:.0f} %)"
        if not self.worth:
            drawn = f"{mean:.0f} % of that before ({low:.0f} to {high:.0f} %)"
            return f"this pool is evenly filled: expect the gain of random choice, an error of {drawn}"
        return f"the expected error over the pool falls to {after:.0f} % of that before; random choice: to {drawn}"


def distinct(rows: Array) -> NDArray[np.intp]:
    """Return the rows that are not copies of earlier ones, up to rounding, in their order.

    Examples
    --------
    >>> distinct(np.array([[1.0], [2.0], [1.0 + 1e-12], [3.0]])).tolist()
    [0, 1, 3]
    """
    unit = SAME * np.sqrt(rows.var(axis=0).sum()) or 1.0
    first = np.unique(np.round(rows / unit), axis=0, return_index=True)[1]
    return np.sort(first)


def share(value: float) -> str:
    """Return a share as text.

    Examples
    --------
    >>> share(0.123), share(0.001)
    ('12 %', 'less than 1 %')
    """
    return percent(value) if value >= 0.005 else "less than 1 %"


class Coverage:
    """What known and chosen cases leave of the variance of a smooth process, on average over a pool.

    Parameters
    ----------
    rows : ndarray of shape (M, K)
        The pool.
    known : ndarray of shape (H, K)
        Cases that are simulated already; may be empty. Of more than 2000, so many are drawn.
    seed : int
        Draws the cases that stand for a large pool, and those.

    Examples
    --------
    >>> pool = np.array([[-1.0], [-0.9], [-0.8], [1.0]])
    >>> cover = Coverage(pool, pool[[1]])
    >>> int(cover.gains().argmax())
    3
    >>> before = cover.left()
    >>> cover.choose(3)
    >>> cover.left() < before
    True
    """

    def __init__(self, rows: Array, known: Array, seed: int = 0):
        rng = np.random.default_rng(seed)
        places, most = distinct(rows), max(1, _MOST_NUMBERS // len(rows))
        scale = _LENGTH * float(np.sqrt(rows[places].var(axis=0).sum()))
        self._rows = rows / (scale or 1.0)
        self._places = places if len(places) <= most else np.sort(rng.permutation(places)[:most])
        self._variance = np.ones(len(rows))
        self._among = _covariance(self._rows[self._places], self._rows)
        self._explained: list[Array] = []
        if len(known):
            some = known if len(known) <= _MOST_KNOWN else known[rng.permutation(len(known))[:_MOST_KNOWN]]
            some = some / (scale or 1.0)
            lower = np.linalg.cholesky(_covariance(some, some) + _NOISE * np.eye(len(some)))
            explained = np.linalg.solve(lower, _covariance(some, self._rows))
            self._explained = list(explained)
            self._among -= explained[:, self._places].T @ explained
            self._variance = np.maximum(self._variance - (explained**2).sum(axis=0), 0.0)

    def gains(self) -> Array:
        """Return which share of what is left each case would take away, (M,)."""
        lost = np.einsum("rm,rm->m", self._among, self._among) / (self._variance + _NOISE)
        return np.asarray(lost / max(float(self._variance[self._places].sum()), np.finfo(float).tiny))

    def choose(self, case: int) -> None:
        """Take a case for known."""
        column = _covariance(self._rows[[case]], self._rows)[0]
        if self._explained:
            so_far = np.array(self._explained)
            column -= so_far[:, case] @ so_far
        own = column / np.sqrt(max(float(self._variance[case]), 0.0) + _NOISE)
        self._explained.append(own)
        self._among -= np.outer(own[self._places], own)
        self._variance = np.maximum(self._variance - own**2, 0.0)

    def left(self) -> float:
        """Return the mean variance that is left, in units of that before anything is known."""
        return float(self._variance[self._places].mean())

    def outlook(self, n: int, free: NDArray[np.intp], seed: int = 0) -> Outlook:
        """Return what is expected of n of the free cases that are drawn at random."""
        noise = np.full(len(self._rows), _NOISE)
        return random_outlook(self._among, self._places, self._variance, noise, n, free, seed)


def random_outlook(
    among: Array,
    places: NDArray[np.intp],
    variance: Array,
    noise: Array,
    n: int,
    free: NDArray[np.intp],
    seed: int,
    weights: Array | None = None,
) -> Outlook:
    """Return how the error over some places falls with cases that are drawn at random.

    Parameters
    ----------
    among : ndarray of shape (R, M)
        Covariances of the places with all cases.
    places : ndarray of int of shape (R,)
    variance, noise : ndarray of shape (M,)
    n : int
        How many are drawn; where fewer places are free, all of these.
    free : ndarray of int
        Cases that may be drawn.
    seed : int
    weights : ndarray of shape (R,), optional
        Of the places, with sum 1; equal ones by default.
    """
    weights = np.full(len(places), 1 / len(places)) if weights is None else weights
    rng, drawable = np.random.default_rng(seed), np.flatnonzero(np.isin(places, free))
    left = []
    for _ in range(_DRAWS):
        drawn = rng.permutation(drawable)[:n]
        across = among[:, places[drawn]]
        own = across[drawn] + np.diag(np.maximum(noise[places[drawn]], 1e-9 * variance.max(initial=1e-300)))
        explained = (across * np.linalg.solve(own, across.T).T).sum(axis=1)
        left.append(float(np.sqrt(weights @ np.maximum(variance[places] - explained, 0.0))))
    return Outlook(float(np.sqrt(weights @ variance[places])), (float(np.mean(left)), min(left), max(left)))


def _covariance(first: Array, second: Array) -> Array:
    return get_correlation("matern52")(pairwise_distances(first, second))
