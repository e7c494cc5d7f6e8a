r"""Inviscid flow by vortex panels: a contour and an incidence -> velocities and lift.

The contour carries a vortex sheet of strength :math:`\gamma`, linear on each straight panel and continuous
between panels. No flow through the panels' midpoints and Kutta's condition :math:`\gamma_0 + \gamma_m = 0`
at the trailing edge determine it; :math:`\gamma` is then the speed along the contour outside. Velocities
are relative to the free stream, points and velocities complex numbers: the sheet induces

.. math:: u - i v = \frac{i}{2\pi} \int \frac{\gamma(s)}{z - z(s)}\, ds .

References
----------
Kuethe and Chow (1998), Foundations of Aerodynamics, section 5.10. (Their tables of coefficients come out of
the integral above, which is short in complex numbers.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swwl.datasets.generator import Complexes, Floats, Ints

_BLOCK = 2048  # points treated together: their logarithms against all panels fit the cache


class PanelFlow(NamedTuple):
    """Solution around one contour.

    Attributes
    ----------
    vertices : ndarray of complex of shape (m + 1,)
        Ends of the panels, from the trailing edge clockwise.
    incidence : float
        Angle of the free stream in radians.
    strength : ndarray of shape (m + 1,)
        Of the vortex sheet at the vertices.
    speed : ndarray of shape (m,)
        At the midpoints, positive in the direction of the contour.
    lift : float
        Lift coefficient.
    """

    vertices: Complexes
    incidence: float
    strength: Floats
    speed: Floats
    lift: float


def solve_panels(contour: Floats, incidence: float) -> PanelFlow:
    """Solve for the vortex sheet on a closed contour.

    Parameters
    ----------
    contour : ndarray of shape (m + 1, 2)
        Clockwise, the first and the last point at the trailing edge.
    incidence : float
        In radians.

    Examples
    --------
    A thin symmetric airfoil has a lift of nearly 2π per radian, and none at zero incidence.

    >>> from swwl.datasets.airfoil.geometry import Naca4
    >>> contour = Naca4(0.0, 0.4, 0.01).contour(np.linspace(0, 2 * np.pi, 161))
    >>> round(solve_panels(contour, 0.1).lift / (2 * np.pi * float(np.sin(0.1))), 2)
    1.01
    >>> abs(solve_panels(contour, 0.0).lift) < 1e-9
    True
    """
    vertices: Complexes = contour[:, 0] + 1j * contour[:, 1]
    panels = np.diff(vertices)
    directions = panels / np.abs(panels)
    midpoints: Complexes = (vertices[1:] + vertices[:-1]) / 2
    m = len(panels)
    influence = _influence(midpoints, vertices, on_panel=np.arange(m))
    # (u - iv) * direction = tangential - i * normal component.
    turned = influence * directions[:, None]
    stream = np.exp(-1j * incidence) * directions
    matrix = np.zeros((m + 1, m + 1))
    matrix[:m] = turned.imag
    matrix[m, [0, m]] = 1
    strength = np.linalg.solve(matrix, np.append(-stream.imag, 0))
    speed = turned.real @ strength + stream.real
    circulation = np.sum((strength[1:] + strength[:-1]) / 2 * np.abs(panels))
    return PanelFlow(vertices, incidence, strength, speed, float(2 * circulation))


def velocity(points: Floats, flow: PanelFlow) -> Floats:
    """Velocity (n, 2) at points (n, 2) outside the airfoil, relative to the free stream."""
    targets = points[:, 0] + 1j * points[:, 1]
    induced = np.empty(len(targets), dtype=complex)
    for start in range(0, len(targets), _BLOCK):
        block = slice(start, start + _BLOCK)
        induced[block] = _induced(targets[block], flow.vertices, flow.strength)
    conjugate = induced + np.exp(-1j * flow.incidence)
    return np.column_stack([conjugate.real, -conjugate.imag])


def _log_ratio(points: Complexes, vertices: Complexes) -> Complexes:
    """Integrals (n, m) of 1 / (z - s) along panels: log((z - start) / (z - end)), its cut on the panel."""
    offset = points[:, None] - vertices
    log_distance = 0.5 * np.log(offset.real**2 + offset.imag**2)
    ratio = offset[:, :-1] * offset[:, 1:].conj()
    return log_distance[:, :-1] - log_distance[:, 1:] + 1j * np.arctan2(ratio.imag, ratio.real)


def _influence(points: Complexes, vertices: Complexes, on_panel: Ints) -> Complexes:
    """Conjugate velocity (n, m + 1) at points (n,) due to a unit strength at each vertex.

    ``on_panel`` (n,) names the panel each point lies on, where the outer side is meant.
    """
    panels = np.diff(vertices)
    logs = _log_ratio(points, vertices)
    rows = np.arange(len(points))
    logs[rows, on_panel] = logs[rows, on_panel].real - 1j * np.pi
    # On a panel from a to b in direction e, ds = dz / e; what end b contributes rises like (s - a) / (b - a).
    position = (points[:, None] - vertices[:-1]) / panels
    directions = panels / np.abs(panels)
    at_end = (position * logs - 1) / directions
    at_start = logs / directions - at_end
    influence = np.zeros((len(points), len(vertices)), dtype=complex)
    influence[:, :-1] += at_start
    influence[:, 1:] += at_end
    return influence * (1j / (2 * np.pi))


def _induced(points: Complexes, vertices: Complexes, strength: Floats) -> Complexes:
    """Conjugate velocity (n,) induced by the whole sheet: as `_influence`, summed by two matrix products."""
    panels = np.diff(vertices)
    directions = panels / np.abs(panels)
    slope = np.diff(strength) / panels
    logs = _log_ratio(points, vertices)
    constant = (strength[:-1] - slope * vertices[:-1]) / directions
    linear = slope / directions
    total = logs @ constant + points * (logs @ linear) - np.sum(np.diff(strength) / directions)
    return total * (1j / (2 * np.pi))
