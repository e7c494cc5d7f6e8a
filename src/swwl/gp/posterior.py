"""Old names, for callers that have not moved to `swwl.gp.prediction` yet."""

from __future__ import annotations

from typing import NamedTuple

from swwl.gp.correlations import Array
from swwl.gp.prediction import quantile, to_std

__all__ = ["LeaveOneOut", "to_std"]


class LeaveOneOut(NamedTuple):
    """`swwl.gp.Prediction` as it was, with the standard deviation beside the scale."""

    mean: Array
    std: Array
    scale: Array
    df: float

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the bounds (lower, upper) of the central interval, each of the shape of ``mean``."""
        half = quantile(self.df, level) * self.scale
        return self.mean - half, self.mean + half
