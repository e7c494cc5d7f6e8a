r"""Arms that bend under a load: small parts as an engineer has them, solid surfaces in STL files and one number each.

An arm is clamped at one end and loaded at the other. Its section is an ellipse whose half height :math:`b` varies along
the length :math:`L`, and the tip goes down by

.. math:: w = \int_0^L \frac{F (L - x)^2}{E I(x)} dx, \qquad I = \frac{\pi}{4} a b^3

for a slender beam (Euler and Bernoulli).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from swwl.datasets.generator import Floats, draw
from swwl.mesh.mesh import Mesh

LENGTH, HALF_WIDTH = 150.0, 8.0  # mm
_RANGES = {
    "force_N": (200.0, 600.0),
    "modulus_GPa": (65.0, 210.0),
    "root": (8.0, 14.0),
    "tip": (0.5, 0.9),
    "waist": (0.0, 0.35),
}


def make_arms(n_arms: int = 36, *, random_state: int = 0) -> pd.DataFrame:
    """Make arms, and how far each bends.

    Parameters
    ----------
    n_arms : int
    random_state : int

    Returns
    -------
    table : pandas.DataFrame
        Columns ``part`` (meshes of triangles, in mm, no two of one topology with the next), ``force_N``,
        ``modulus_GPa`` and ``deflection_mm``.

    Examples
    --------
    >>> table = make_arms(3)
    >>> list(table.columns), table["part"][0]
    (['part', 'force_N', 'modulus_GPa', 'deflection_mm'], Mesh(172 nodes in 3 dimensions; cells: 340 triangle))
    """
    rows = []
    for k, inputs in enumerate(draw(_RANGES, n_arms, random_state)):
        force, modulus = round(inputs["force_N"]), round(inputs["modulus_GPa"], 1)
        heights = np.array([inputs["root"], inputs["tip"], inputs["waist"]])
        mesh = arm(heights, n_sections=10 + 2 * (k % 3), n_around=17 - k % 2)
        rows.append((mesh, force, modulus, float(f"{deflection(heights, force, modulus):.4g}")))
    return pd.DataFrame(rows, columns=["part", "force_N", "modulus_GPa", "deflection_mm"])


def half_height(x: Floats, heights: Floats) -> Floats:
    """Return half the height of an arm at places `x` along it, in mm.

    Parameters
    ----------
    x : ndarray
    heights : ndarray of shape (3,)
        Half the height at the root, the tip's over it, and how much narrower it is in the middle than a straight arm.
    """
    root, tip, waist = heights
    t = x / LENGTH
    return root * (1 + (tip - 1) * t) * (1 - waist * np.sin(np.pi * t) ** 2)


def deflection(heights: Floats, force: float, modulus: float) -> float:
    """Return by how many mm the tip goes down under a force in N, of a material of a modulus in GPa.

    Parameters
    ----------
    heights : ndarray of shape (3,)
        As `half_height` takes them.
    force, modulus : float

    Examples
    --------
    >>> straight = deflection(np.array([10.0, 1.0, 0.0]), 300.0, 200.0)
    >>> bool(np.isclose(straight, 300 * LENGTH**3 / (3 * 200e3 * np.pi / 4 * HALF_WIDTH * 10**3)))
    True
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    x = LENGTH * (nodes + 1) / 2
    inertia = np.pi / 4 * HALF_WIDTH * half_height(x, heights) ** 3
    return float(LENGTH / 2 * weights @ (force * (LENGTH - x) ** 2 / (1000 * modulus * inertia)))


def arm(heights: Floats, *, n_sections: int, n_around: int) -> Mesh:
    """Return the closed surface of an arm: rings of nodes, joined by triangles, with a fan at each end.

    Parameters
    ----------
    heights : ndarray of shape (3,)
        As `half_height` takes them.
    n_sections, n_around : int
        Number of rings, and of nodes in each.
    """
    x = np.linspace(0.0, LENGTH, n_sections)
    angles = 2 * np.pi * np.arange(n_around) / n_around
    rings = np.empty((n_sections, n_around, 3))
    rings[..., 0] = x[:, None]
    rings[..., 1] = HALF_WIDTH * np.cos(angles)
    rings[..., 2] = half_height(x, heights)[:, None] * np.sin(angles)
    centers = np.array([[0.0, 0.0, 0.0], [LENGTH, 0.0, 0.0]])
    points = np.vstack([rings.reshape(-1, 3), centers])
    node = np.arange(n_sections * n_around).reshape(n_sections, n_around)
    after = np.roll(node, -1, axis=1)
    here, there, ahead, across = node[:-1], after[:-1], node[1:], after[1:]
    sides = [np.stack([here, there, across], -1), np.stack([here, across, ahead], -1)]
    root, tip = np.full(n_around, len(points) - 2), np.full(n_around, len(points) - 1)
    ends = [np.stack([root, after[0], node[0]], -1), np.stack([tip, node[-1], after[-1]], -1)]
    return Mesh(points, np.vstack([*(side.reshape(-1, 3) for side in sides), *ends]))
