r"""How uncertain numbers derived from a field are: what folds said of meshes that were not in them.

The largest value of a sample lies above that of the predicted field, since a maximum of uncertain values does, and by
how much depends on how what is uncertain hangs together. So samples alone give intervals that are off to one side.
Each left-out mesh has a number t, and samples of it have a mean m and a deviation s; the scores
:math:`(t - m) / (s + s_0)` of all left-out meshes, with a part :math:`s_0` of the typical deviation, say where the
bounds of an interval lie (split conformal prediction, with folds in place of a split).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Array = NDArray[np.float64]

# Part of the typical deviation of samples that any deviation is taken to have more: none is quite zero.
_FLOOR = 0.1
_USUAL = 0.95


@dataclass(frozen=True)
class NumberErrors:
    """Scores of one derived number on left-out meshes.

    Attributes
    ----------
    scores : ndarray of shape (n, k)
        Rising, for each of k components.
    floor : ndarray of shape (k,)
        What is added to deviations of samples.
    """

    scores: Array
    floor: Array

    @classmethod
    def of(cls, truth: Array, center: Array, deviation: Array) -> NumberErrors:
        """Judge samples of n meshes by the true numbers, (n, k) each.

        Examples
        --------
        >>> found = NumberErrors.of(np.array([[1.0], [2.0]]), np.zeros((2, 1)), np.ones((2, 1)))
        >>> found.scores.ravel().round(3).tolist()
        [0.909, 1.818]
        """
        tiny = 1e-12 * (np.abs(truth).max(axis=0) + np.abs(center).max(axis=0)) + np.finfo(float).tiny
        floor = np.maximum(_FLOOR * np.median(deviation, axis=0), tiny)
        return cls(np.sort((truth - center) / (deviation + floor), axis=0), floor)

    def quantile(self, level: float) -> Array:
        """Return which score is not exceeded with this probability, (k,); beyond all scores a normal tail.

        Examples
        --------
        >>> errors = NumberErrors(np.array([[-1.0], [0.0], [1.0]]), np.ones(1))
        >>> errors.quantile(0.75).tolist(), errors.quantile(0.5).tolist()
        ([1.0], [0.0])
        """
        n = len(self.scores)
        place = np.clip((n + 1) * level, 1, n)
        low = int(place) - 1
        found = self.scores[low] + (place - 1 - low) * (self.scores[min(low + 1, n - 1)] - self.scores[low])
        stretch = float(norm.ppf(level) / norm.ppf(place / (n + 1))) if place != (n + 1) * level and n > 1 else 1.0
        middle = np.median(self.scores, axis=0)
        return np.asarray(middle + stretch * (found - middle))

    def interval(self, drawn: Array, level: float) -> tuple[Array, Array, Array, Array]:
        """Return center, standard deviation and bounds (..., k) of a number, from those of samples (..., S, k).

        The deviation is that of a normal distribution whose 95 % interval is as wide.
        """
        center, unit = drawn.mean(axis=-2), drawn.std(axis=-2) + self.floor
        width = self.quantile(0.5 + _USUAL / 2) - self.quantile(0.5 - _USUAL / 2)
        lower, upper = self.quantile(0.5 - level / 2), self.quantile(0.5 + level / 2)
        std = width / (2 * float(norm.ppf(0.5 + _USUAL / 2)))
        return center + unit * self.quantile(0.5), unit * std, center + unit * lower, center + unit * upper
