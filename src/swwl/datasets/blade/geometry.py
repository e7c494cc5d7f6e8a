"""A blade by its sections at hub, mid-span and tip, and the mesh of its surface.

The mesh has rings of nodes around the sections, stacked from hub to tip. The topology depends only on the requested
number of nodes, so blades meshed alike share their triangles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from swwl.datasets.generator import Floats, Ints

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


_EDGE_DENSITY = 2.0  # extra density of nodes at the leading and trailing edge ...
_EDGE_REACH = 0.05  # ... and the share of the chord over which it fades
_SPAN_PER_AROUND = 0.82  # makes the triangles of an average blade nearly right-angled and isosceles


class SurfaceMesh(NamedTuple):
    """A meshed blade.

    Attributes
    ----------
    points : ndarray of shape (n, 3)
        Axial, tangential and radial at mid-pitch; ring by ring from hub to tip, n = n_span * n_around.
    triangles : ndarray of shape (m, 3)
        Seen counterclockwise from outside the blade.
    span : ndarray of shape (n_span,)
        Heights of the rings, 0 at the hub and 1 at the tip.
    along : ndarray of shape (n_around,)
        Position on the chord of the nodes of a ring, 0 at the leading and 1 at the trailing edge.
    side : ndarray of shape (n_around,)
        +1 on the suction, -1 on the pressure side.
    """

    points: Floats
    triangles: Ints
    span: Floats
    along: Floats
    side: Floats


def surface(blade: Blade, n_nodes: int, aspect: float = 1.0) -> SurfaceMesh:
    """Mesh pressure and suction side of a blade.

    A section is a NACA four-digit thickness on a parabolic camber line, its chord turned by the stagger
    angle and its points laid onto the cylinder of its radius.

    Parameters
    ----------
    blade : Blade
    n_nodes : int
        Wanted number of nodes, met within 3 % from 500 nodes on.
    aspect : float
        Length of the triangles along the span over their length around, relative to the usual.

    Examples
    --------
    >>> blade = Blade((52, 57, 62), (32, 44, 53), (0.056, 0.056, 0.056), (0.08, 0.055, 0.035))
    >>> mesh = surface(blade, n_nodes=3000)
    >>> mesh.points.shape, mesh.triangles.shape
    ((3000, 3), (5880, 3))
    """
    n_around, n_span = _resolution(n_nodes, aspect)
    along, side = _around(n_around)
    span = np.linspace(0, 1, n_span)
    sections = blade.sections(span)
    rise = np.tan(np.deg2rad(sections.turning) / 4) / 2  # of a circular arc with this turning, over its chord
    camber = rise[:, None] * 4 * along * (1 - along)
    profile = 0.2969 * np.sqrt(along) - 0.1260 * along - 0.3516 * along**2 + 0.2843 * along**3 - 0.1036 * along**4
    across = (camber + side * 5 * sections.thickness[:, None] * profile) * sections.chord[:, None]
    chordwise = (along - 0.5) * sections.chord[:, None]
    cosine, sine = (f(np.deg2rad(sections.stagger))[:, None] for f in (np.cos, np.sin))
    radius = sections.radius[:, None]
    axial = chordwise * cosine - across * sine
    azimuth = (chordwise * sine + across * cosine) / radius
    points = np.stack([axial, radius * np.sin(azimuth), radius * np.cos(azimuth)], axis=2).reshape(-1, 3)
    return SurfaceMesh(points, _triangles(n_around, n_span), span, along, side)


def _resolution(n_nodes: int, aspect: float) -> tuple[int, int]:
    """Nodes around and along the span: the even ring near the ideal whose product fits best."""
    ideal = np.sqrt(n_nodes / _SPAN_PER_AROUND * aspect)
    candidates = [2 * k for k in range(max(5, int(0.45 * ideal)), max(5, int(0.55 * ideal)) + 1)]
    return min(
        ((n, max(3, round(n_nodes / n))) for n in candidates),
        key=lambda pair: (max(abs(pair[0] * pair[1] / n_nodes - 1), 5e-3), abs(pair[0] - ideal)),
    )


def _around(n_around: int) -> tuple[Floats, Floats]:
    """Chordwise positions and sides of a ring: trailing edge, suction side, leading edge, pressure side."""
    fine = np.linspace(0, 1, 2001)
    density = 1 + _EDGE_DENSITY * (np.exp(-fine / _EDGE_REACH) + np.exp(-(1 - fine) / _EDGE_REACH))
    passed = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2))
    half = n_around // 2
    from_tail = np.interp(np.arange(half + 1) / half, passed / passed[-1], fine)
    along = 1 - np.concatenate([from_tail, from_tail[-2:0:-1]])
    side = np.where(np.arange(n_around) <= half, 1.0, -1.0)
    return along, side


def _triangles(n_around: int, n_span: int) -> Ints:
    lower = (np.arange(n_span - 1)[:, None] * n_around + np.arange(n_around)).ravel()
    lower_next = (np.arange(n_span - 1)[:, None] * n_around + (np.arange(n_around) + 1) % n_around).ravel()
    upper, upper_next = lower + n_around, lower_next + n_around
    return np.vstack([np.column_stack([lower, lower_next, upper_next]), np.column_stack([lower, upper_next, upper])])
