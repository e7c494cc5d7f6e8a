"""NACA four-digit airfoils: three numbers -> points of the contour.

Hands contours to ``mesh.py`` and ``panels.py``. The chord is 1, the leading edge at the origin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swwl.datasets.types import Floats


@dataclass(frozen=True)
class Naca4:
    """A cambered airfoil of the NACA four-digit family with a closed trailing edge.

    Attributes
    ----------
    camber : float
        Largest height of the camber line over the chord.
    position : float
        Where along the chord it is reached.
    thickness : float
        Largest thickness over the chord.

    References
    ----------
    Jacobs, Ward and Pinkerton (1933), NACA Report 460; the last coefficient is -0.1036 instead of -0.1015,
    which closes the trailing edge.

    Examples
    --------
    >>> naca2412 = Naca4(camber=0.02, position=0.4, thickness=0.12)
    >>> naca2412.contour(np.array([0, np.pi, 2 * np.pi]))[:, 0].round(9).tolist()  # edges
    [1.0, 0.0, 1.0]
    """

    camber: float
    position: float
    thickness: float

    def contour(self, angle: Floats) -> Floats:
        """Points (n, 2) of the contour at parameters (n,) from 0 to 2π.

        The parameter runs clockwise from the trailing edge along the lower side to the leading edge at π
        and back along the upper side; chordwise the points lie near (1 + cos(angle)) / 2, dense at both
        edges.
        """
        angle = np.asarray(angle, dtype=float)
        x = (1 + np.cos(angle)) / 2
        # sqrt(x) = |cos(angle / 2)|; its sign is that of the side, so the contour is smooth through the nose.
        root = -np.cos(angle / 2)
        side = np.where(angle < np.pi, -1.0, 1.0)
        polynomial = -0.1260 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1036 * x**4
        half_thickness = 5 * self.thickness * (0.2969 * root + side * polynomial)
        height, slope = self._camber_line(x)
        normal = np.column_stack([-slope, np.ones_like(x)]) / np.sqrt(1 + slope**2)[:, None]
        return np.column_stack([x, height]) + half_thickness[:, None] * normal

    @property
    def nose_radius(self) -> float:
        """Radius of the leading edge."""
        return (5 * 0.2969 * self.thickness) ** 2 / 2

    @property
    def nose_slope(self) -> float:
        """Slope of the camber line at the leading edge."""
        return float(self._camber_line(np.zeros(1))[1][0])

    @property
    def trailing_angle(self) -> float:
        """Angle in radians between the two sides at the trailing edge."""
        slope = 5 * self.thickness * (0.2969 / 2 - 0.1260 - 2 * 0.3516 + 3 * 0.2843 - 4 * 0.1036)
        return 2 * float(np.arctan(-slope))

    def _camber_line(self, x: Floats) -> tuple[Floats, Floats]:
        """Height and slope of the camber line: two parabolas that meet at its top."""
        m, p = self.camber, self.position
        front = x < p
        scale = np.where(front, m / p**2, m / (1 - p) ** 2)
        height = scale * np.where(front, 2 * p * x - x**2, 1 - 2 * p + 2 * p * x - x**2)
        return height, scale * 2 * (p - x)
