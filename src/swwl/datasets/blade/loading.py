"""Pressure on the blade's surface that balances the momentum of the blade-element model.

The model knows the pressure in front of and behind the blade and the swirl it gives to each stream tube,
not how the pressure is spread along the chord. That is assumed: linear from front to back, plus an elliptic
difference between the two sides, sized so that its tangential force turns the flow as much as the model
says.
"""

from __future__ import annotations

import numpy as np

from swwl.datasets.blade.geometry import HUB_RADIUS, TIP_RADIUS
from swwl.datasets.blade.mesh import SurfaceMesh
from swwl.datasets.blade.rotor import N_BLADES, Performance, stations
from swwl.datasets.types import Floats


def surface_pressure(mesh: SurfaceMesh, point: Performance) -> Floats:
    r"""Return the static pressure (n,) at the nodes of a blade, in Pa.

    .. math:: p = p_1 + (p_2 - p_1) x \mp \tfrac12 \Delta p\, \tfrac8\pi \sqrt{x (1 - x)},
              \qquad \Delta p = \frac{\dot m' V_{\theta 2}}{B\, c \cos\xi},

    minus on the suction side, with x along the chord c of stagger :math:`\xi`, and :math:`\dot m'` the mass
    flow per height through all B blades.
    """
    sections = point.sections
    per_height = point.inlet.mass * len(sections.radius) / (TIP_RADIUS - HUB_RADIUS)
    width = sections.chord * np.cos(np.deg2rad(sections.stagger))
    difference = per_height * point.exit.swirl / (N_BLADES * width)

    def at_rings(values: Floats) -> Floats:
        return np.interp(mesh.span, stations(), values)[:, None]

    front, back = at_rings(point.inlet.pressure), at_rings(point.exit.pressure)
    ellipse = 8 / np.pi * np.sqrt(mesh.along * (1 - mesh.along))
    pressure = front + (back - front) * mesh.along - mesh.side * at_rings(difference) / 2 * ellipse
    return pressure.ravel()
