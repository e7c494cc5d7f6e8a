"""Integral boundary layer: speeds along both sides of an airfoil -> friction and form drag.

Thwaites' method from the stagnation point, transition by Michel's criterion, at laminar separation or at a
trip wire, Head's entrainment method from there on, and the Squire-Young formula for the drag of the wake.
Lengths are in chords, speeds relative to the free stream. One-way: the boundary layer does not act back on
the outer flow, so there is no stall.

References
----------
Thwaites (1949), Aeronautical Quarterly 1. Michel (1951), ONERA 1/1578A. Head (1958), ARC R&M 3152. Ludwieg
and Tillmann (1949), NACA TM 1285. Squire and Young (1937), ARC R&M 1838. Cebeci and Bradshaw (1977),
Momentum Transfer in Boundary Layers, section 9.2, for the fits of Head's functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swwl.datasets.airfoil.panels import PanelFlow
from swwl.datasets.generator import Floats

TRIP = 0.01  # arc length from the stagnation point at which the layer is made turbulent
_LAST = 0.95  # chordwise end of the march; behind it the inviscid stagnation at the trailing edge is not real
_WAKE_SHAPE = 2.4  # largest shape factor that the Squire-Young formula is trusted with
_SUBSTEPS = 4
_SEPARATED = -0.0899  # Thwaites' parameter at laminar separation


class BoundaryLayer(NamedTuple):
    """End of one side: momentum thickness, shape factor, outer speed."""

    momentum: float
    shape: float
    speed: float


def drag_coefficient(flow: PanelFlow, reynolds: float, trip: float = TRIP) -> float:
    """Drag coefficient of both sides together.

    Parameters
    ----------
    flow : PanelFlow
    reynolds : float
        With chord and free stream.
    trip : float
        Arc length from the stagnation point at which the layer turns turbulent at the latest.

    Examples
    --------
    >>> from swwl.datasets.airfoil.geometry import Naca4
    >>> from swwl.datasets.airfoil.panels import solve_panels
    >>> contour = Naca4(0.0, 0.4, 0.12).contour(np.linspace(0, 2 * np.pi, 161))
    >>> round(drag_coefficient(solve_panels(contour, 0.0), 6e6), 4)
    0.008
    """
    return sum(squire_young(march(*side, reynolds, trip)) for side in sides(flow))


def sides(flow: PanelFlow) -> list[tuple[Floats, Floats]]:
    """Arc length from the stagnation point and speed, both (k,), along the lower and the upper side."""
    midpoints = (flow.vertices[1:] + flow.vertices[:-1]) / 2
    lengths = np.abs(np.diff(flow.vertices))
    arc = np.cumsum(lengths) - lengths / 2
    turns = np.flatnonzero((flow.speed[:-1] < 0) & (flow.speed[1:] >= 0))
    before = turns[np.argmin(np.abs(midpoints[turns]))]
    rise = flow.speed[before + 1] - flow.speed[before]
    stagnation = arc[before] - (arc[before + 1] - arc[before]) * flow.speed[before] / rise
    result = []
    for panels in (np.arange(before, -1, -1), np.arange(before + 1, len(lengths))):
        kept = panels[(midpoints.real[panels] < _LAST) | (np.arange(len(panels)) < 5)]
        result.append((np.abs(arc[kept] - stagnation), np.maximum(np.abs(flow.speed[kept]), 1e-4)))
    return result


def squire_young(layer: BoundaryLayer) -> float:
    r"""Drag coefficient of one side, :math:`2 \theta u^{(H + 5) / 2}`."""
    decay: float = layer.speed ** ((min(layer.shape, _WAKE_SHAPE) + 5) / 2)
    return 2 * layer.momentum * decay


def march(arc: Floats, speed: Floats, reynolds: float, trip: float = TRIP) -> BoundaryLayer:
    """Follow the layer along one side.

    Parameters
    ----------
    arc, speed : ndarray of shape (k,)
        From the stagnation point on.
    reynolds, trip : float
        As in `drag_coefficient`.

    Examples
    --------
    A flat plate that stays laminar has Blasius' friction, 0.664 / sqrt(Re):

    >>> arc = np.linspace(1e-4, 1, 400)
    >>> plate = march(arc, np.ones(400), reynolds=1e5, trip=2.0)
    >>> round(plate.momentum * 1e5**0.5, 2), round(plate.shape, 1)
    (0.67, 2.6)
    """
    momentum, shape, start = _laminar(arc, speed, reynolds, trip)
    if start < len(arc) - 1:
        momentum, shape = _turbulent(arc[start:].tolist(), speed[start:].tolist(), momentum, reynolds)
    return BoundaryLayer(momentum, shape, float(speed[-1]))


def _laminar(arc: Floats, speed: Floats, reynolds: float, trip: float) -> tuple[float, float, int]:
    """Thwaites' quadrature: momentum thickness, shape factor and index of the station at transition."""
    fifth = speed**5
    integral = np.append(0, np.cumsum((fifth[1:] + fifth[:-1]) / 2 * np.diff(arc)))
    integral += fifth[0] * arc[0] / 6  # the speed rises linearly from the stagnation point to the first station
    momentum = np.sqrt(0.45 * integral / (reynolds * speed**6))
    parameter = reynolds * momentum**2 * np.gradient(speed, arc)
    along = reynolds * speed * arc
    michel = 1.174 * (1 + 22400 / along) * along**0.46
    turned = (reynolds * speed * momentum > michel) | (parameter <= _SEPARATED) | (arc >= trip)
    start = int(np.argmax(turned)) if turned.any() else len(arc) - 1
    x = float(np.clip(parameter[start], _SEPARATED, 0.25))
    shape = 2.61 - 3.75 * x + 5.24 * x**2 if x > 0 else 2.088 + 0.0731 / (x + 0.14)
    return float(momentum[start]), shape, start


def _turbulent(arc: list[float], speed: list[float], momentum: float, reynolds: float) -> tuple[float, float]:
    """Head's method by explicit Euler steps: momentum thickness and shape factor at the end.

    Plain floats: this loop runs a thousand times per airfoil, and arrays of one number would make it ten
    times slower.
    """
    shape = 1.4
    entrained = 3.3 + 0.8234 * (shape - 1.1) ** -1.287
    for i in range(len(arc) - 1):
        step = (arc[i + 1] - arc[i]) / _SUBSTEPS
        rise = speed[i + 1] - speed[i]
        for k in range(_SUBSTEPS):
            u = speed[i] + rise * (k + 0.5) / _SUBSTEPS
            slope = rise / (step * _SUBSTEPS)
            if entrained >= 5.3:
                shape = 0.86 * (entrained - 3.3) ** -0.777 + 1.1
            else:
                shape = 1.1538 * (entrained - 3.3) ** -0.326 + 0.6778
            shape = min(max(shape, 1.1), 3.0)
            friction = 0.246 * 10 ** (-0.678 * shape) * (reynolds * u * momentum) ** -0.268
            growth = friction / 2 - (shape + 2) * momentum / u * slope
            entrainment = 0.0306 * (entrained - 3.0) ** -0.6169
            entrained += step * (entrainment - entrained * (growth + momentum * slope / u)) / momentum
            entrained = max(entrained, 3.32)
            momentum = max(momentum + step * growth, 1e-9)
    return momentum, shape
