r"""Scales on which fields are learned: as they are, compressed at both ends, or as speeds.

Every warp ends in standardized numbers: a mean for each component and one deviation for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.storage.checks import NotNegative, Shape

Array = NDArray[np.float64]

WARPS = ("none", "asinh", "speed")
# sinh of larger numbers, far beyond the training fields, would swamp everything.
_SLACK = 3.0


@dataclass(frozen=True)
class Warp:
    """One scale.

    Attributes
    ----------
    kind : {"none", "asinh", "speed"}
    center : ndarray of shape (c,)
        Medians, of "asinh".
    unit : float
        Typical distance from the median, of "asinh".
    mean : ndarray of shape (c,)
    deviation : float
        Zero for a constant field.
    low, high : float
        Range of the standardized training values; predictions are kept within a few deviations of it.
    """

    kind: Annotated[str, Meta(pattern=rf"^({'|'.join(WARPS)})\Z")]
    center: Annotated[Array, Shape("c")]
    unit: NotNegative
    mean: Annotated[Array, Shape("c")]
    deviation: NotNegative
    low: float
    high: float

    @classmethod
    def of(cls, kind: str, values: Array) -> Warp:
        """Settle a warp on pooled training values (n, c).

        Examples
        --------
        >>> warp = Warp.of("none", np.array([[1.0], [3.0]]))
        >>> warp(np.array([[2.0]])).tolist(), warp.inverse(np.array([[1.0]])).tolist()
        ([[0.0]], [[3.0]])
        """
        center, unit = np.zeros(values.shape[1]), 1.0
        if kind == "asinh":
            center = np.median(values, axis=0)
            unit = float(np.median(np.abs(values - center))) or float(np.abs(values - center).mean()) or 1.0
        elif kind not in WARPS:
            raise InputError(f"warp is {kind!r}, but one of 'auto', {', '.join(map(repr, WARPS))} is wanted.")
        raw = cls(kind, center, unit, np.zeros(values.shape[1]), 1.0, -np.inf, np.inf)._forward(values)
        mean = raw.mean(axis=0)
        deviation = float(np.sqrt(((raw - mean) ** 2).mean()))
        if deviation <= 1e-12 * float(np.abs(raw).max(initial=0.0)):
            deviation = 0.0
        scaled = (raw - mean) / (deviation or 1.0)
        return cls(kind, center, unit, mean, deviation, float(scaled.min()), float(scaled.max()))

    def _forward(self, values: Array) -> Array:
        if self.kind == "asinh":
            return np.arcsinh((values - self.center) / self.unit)
        return np.sqrt(np.maximum(1.0 - values, 0.0)) if self.kind == "speed" else values

    def __call__(self, values: Array) -> Array:
        """Return standardized values, of the same shape (n, c)."""
        return np.asarray((self._forward(values) - self.mean) / (self.deviation or 1.0))

    def inverse(self, scaled: ArrayLike) -> Array:
        """Return values of standardized ones, (..., c)."""
        values: Array = np.asarray(scaled, dtype=float)
        if self.kind != "none":
            values = np.clip(values, self.low - _SLACK, self.high + _SLACK)
        raw = values * self.deviation + self.mean
        if self.kind == "asinh":
            return np.asarray(self.center + self.unit * np.sinh(raw))
        return np.asarray(1.0 - np.maximum(raw, 0.0) ** 2 if self.kind == "speed" else raw)

    def slope(self, scaled: Array) -> Array:
        """Return how fast values change with standardized ones, without sign."""
        if self.kind != "none":
            scaled = np.clip(scaled, self.low - _SLACK, self.high + _SLACK)
        raw = scaled * self.deviation + self.mean
        if self.kind == "asinh":
            return np.asarray(self.unit * np.cosh(raw) * self.deviation)
        return np.asarray(2.0 * np.maximum(raw, 0.0) * self.deviation if self.kind == "speed"
                          else np.full(raw.shape, self.deviation))  # fmt: skip

    @property
    def falls(self) -> bool:
        """Whether larger standardized values mean smaller values."""
        return self.kind == "speed"


def possible_warps(values: Array) -> list[str]:
    """Return the warps that may suit pooled training values (n, c); "speed" is for pressure coefficients.

    Examples
    --------
    >>> possible_warps(np.array([[-3.0], [0.5], [1.0]])), possible_warps(np.array([[0.0], [300.0]]))
    (['none', 'asinh', 'speed'], ['none', 'asinh'])
    """
    like_cp = values.shape[1] == 1 and 0.5 <= float(values.max()) <= 1.1 and float(values.min()) < -0.2
    return ["none", "asinh", *(["speed"] if like_cp else [])]
