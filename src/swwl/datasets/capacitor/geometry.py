"""Conductors with smooth convex outlines: superellipses, from the ellipse to the rectangle with rounded corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swwl.datasets.types import Floats

_DENSE = 2000  # points by which lengths along an outline are measured


@dataclass(frozen=True)
class Superellipse:
    r"""The curve :math:`|x/a|^p + |y/b|^p = 1`, turned and moved.

    Attributes
    ----------
    center : (float, float)
    semi_axes : (float, float)
    tilt : float
        Radians, counter-clockwise.
    exponent : float
        2 for an ellipse; the larger, the nearer to a rectangle.
    """

    center: tuple[float, float]
    semi_axes: tuple[float, float]
    tilt: float = 0.0
    exponent: float = 2.0

    def outline(self, spacing: float, fewest: int = 8) -> Floats:
        """Nodes (n, 2) at equal lengths along the curve, counter-clockwise, about `spacing` apart.

        Examples
        --------
        >>> circle = Superellipse((0.0, 0.0), (1.0, 1.0))
        >>> circle.outline(np.pi / 2, fewest=4).round(3).sum(axis=1).tolist()
        [1.0, 1.0, -1.0, -1.0]
        """
        dense = self._points(2 * np.pi * np.arange(_DENSE + 1) / _DENSE)
        passed = np.append(0, np.cumsum(np.linalg.norm(np.diff(dense, axis=0), axis=1)))
        count = max(fewest, round(passed[-1] / spacing))
        at = np.interp(np.arange(count) * passed[-1] / count, passed, 2 * np.pi * np.arange(_DENSE + 1) / _DENSE)
        return self._points(at)

    def covers(self, points: Floats) -> NDArray[np.bool_]:
        """Whether points (n, 2) lie inside the curve."""
        x, y = (points - self.center).T
        cosine, sine = np.cos(self.tilt), np.sin(self.tilt)
        along = np.column_stack([cosine * x + sine * y, cosine * y - sine * x]) / self.semi_axes
        return np.asarray((np.abs(along) ** self.exponent).sum(1) < 1)

    def _points(self, angle: Floats) -> Floats:
        """Points (n, 2) of the curve in directions (n,) that are equally dense where it is round."""
        direction = np.column_stack([np.cos(angle), np.sin(angle)])
        radius = (np.abs(direction) ** self.exponent).sum(1) ** (-1 / self.exponent)
        x, y = (direction * radius[:, None] * self.semi_axes).T
        cosine, sine = np.cos(self.tilt), np.sin(self.tilt)
        return np.column_stack([cosine * x - sine * y, sine * x + cosine * y]) + self.center
