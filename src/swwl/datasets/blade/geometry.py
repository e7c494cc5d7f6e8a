"""A transonic rotor blade from twelve numbers: angles, chord and thickness at hub, mid-span and tip.

Between the three heights all four vary as quadratics. Serves ``mesh.py``, which draws the surface, and
``rotor.py``, which needs the sections alone. Lengths in meters, angles in degrees from the axial direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from swwl.datasets.types import Floats

HUB_RADIUS = 0.178
TIP_RADIUS = 0.252
HEIGHTS = ("hub", "mid", "tip")


@dataclass(frozen=True)
class Blade:
    """Values at hub, mid-span and tip.

    Attributes
    ----------
    inlet_angle, exit_angle : tuple of three floats
        Of the camber line, in degrees from the axial direction against the rotation.
    chord : tuple of three floats
        In meters.
    thickness : tuple of three floats
        Largest thickness over the chord.
    """

    inlet_angle: tuple[float, float, float]
    exit_angle: tuple[float, float, float]
    chord: tuple[float, float, float]
    thickness: tuple[float, float, float]

    @classmethod
    def from_parameters(cls, values: Mapping[str, float]) -> Blade:
        """Build from names such as ``chord_hub``.

        >>> names = ["inlet_angle", "exit_angle", "chord", "thickness"]
        >>> blade = Blade.from_parameters({f"{name}_{height}": 0.05 for name in names for height in HEIGHTS})
        >>> blade.chord
        (0.05, 0.05, 0.05)
        """
        triples = {
            name: tuple(values[f"{name}_{height}"] for height in HEIGHTS)
            for name in ("inlet_angle", "exit_angle", "chord", "thickness")
        }
        return cls(**triples)  # type: ignore[arg-type]

    def sections(self, span: Floats) -> Sections:
        """Sections at heights (k,) from 0 at the hub to 1 at the tip.

        >>> blade = Blade((52, 57, 62), (32, 44, 53), (0.05, 0.06, 0.05), (0.08, 0.055, 0.035))
        >>> blade.sections(np.array([0, 0.5, 1])).chord.tolist()
        [0.05, 0.06, 0.05]
        """
        span = np.asarray(span, dtype=float)
        weights = np.column_stack([2 * (span - 0.5) * (span - 1), 4 * span * (1 - span), 2 * span * (span - 0.5)])
        return Sections(
            radius=HUB_RADIUS + (TIP_RADIUS - HUB_RADIUS) * span,
            inlet_angle=weights @ self.inlet_angle,
            exit_angle=weights @ self.exit_angle,
            chord=weights @ self.chord,
            thickness=weights @ self.thickness,
        )


@dataclass(frozen=True)
class Sections:
    """Blade sections at k heights; all attributes have shape (k,)."""

    radius: Floats
    inlet_angle: Floats
    exit_angle: Floats
    chord: Floats
    thickness: Floats

    @property
    def turning(self) -> Floats:
        """Camber angle in degrees."""
        return self.inlet_angle - self.exit_angle

    @property
    def stagger(self) -> Floats:
        """Angle of the chord in degrees from the axial direction."""
        return (self.inlet_angle + self.exit_angle) / 2
