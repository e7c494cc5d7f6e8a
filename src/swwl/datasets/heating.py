r"""Plates that hot pipes warm up: the heat equation on linear triangles.

One or two holes of a plate are at temperature one from the start, the plate at zero, and its outer sides give heat
away,

.. math:: \dot u = \kappa \Delta u, \qquad \kappa \partial_n u = -h u ,

by backward differences of second order in steps much shorter than those that are kept.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csc_array, diags_array
from scipy.sparse.linalg import splu
from scipy.stats import qmc

from swwl.datasets.around import Box, Superellipse, mesh_around
from swwl.datasets.generator import Floats, Ints
from swwl.fields.geometry.descriptors import stiffness
from swwl.mesh.mesh import Mesh
from swwl.mesh.series import MeshSeries

PLATE = Box(2.0, 1.0)
TIMES = np.arange(1, 21) / 20
_STEPS = 20  # of the solver, between two times
_GROWTH = 0.6
_RANGES = {"diffusivity": (0.05, 0.3), "loss": (0.1, 1.0)}


def warmed(points: Floats, triangles: Ints, hot: Ints, sides: Ints, diffusivity: float, loss: float) -> Floats:
    """Return the temperatures at ``TIMES``, (T, n).

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
    hot : ndarray of k node numbers
        At temperature one.
    sides : ndarray of shape (s, 2)
        Where heat is lost.
    diffusivity, loss : float
    """
    n = len(points)
    conduction, mass = stiffness(points, triangles)
    lengths = np.linalg.norm(points[sides[:, 1]] - points[sides[:, 0]], axis=1)
    local = lengths[:, None, None] * (np.ones((2, 2)) + np.eye(2)) / 6
    rows, columns = np.repeat(sides, 2, axis=1).ravel(), np.tile(sides, (1, 2)).ravel()
    around = coo_array((local.ravel(), (rows, columns)), shape=(n, n))
    matrix = csc_array(diffusivity * conduction + loss * around)
    step = float(TIMES[0]) / _STEPS
    free = np.setdiff1d(np.arange(n), hot)
    inner = matrix[free][:, free]
    given = matrix[free][:, hot].sum(axis=1)
    weights = mass[free]
    first = splu(csc_array(diags_array(weights / step) + inner))
    later = splu(csc_array(diags_array(1.5 * weights / step) + inner))
    before, now = np.zeros(len(free)), np.zeros(len(free))
    found = np.zeros((len(TIMES), n))
    found[:, hot] = 1.0
    for k in range(_STEPS * len(TIMES)):
        if k == 0:
            before, now = now, first.solve(weights / step * now - given)
        else:
            before, now = now, later.solve(weights / step * (2 * now - 0.5 * before) - given)
        if (k + 1) % _STEPS == 0:
            found[k // _STEPS, free] = now
    return found


def make_heating(n_samples: int = 100, *, n_nodes: int = 1000, random_state: int = 0) -> pd.DataFrame:
    """Make plates with one or two hot pipes, and how they warm up; no two share their topology.

    Parameters
    ----------
    n_samples : int
    n_nodes : int
        Of every mesh, within a few per cent.
    random_state : int
        The same number makes the same plates, and more of them begin with the fewer.

    Returns
    -------
    DataFrame
        ``mesh`` (:class:`swwl.MeshSeries` with the field "temperature" at 20 times), ``diffusivity``, ``loss``.

    Examples
    --------
    >>> table = make_heating(2, n_nodes=200)
    >>> table["mesh"][0].fields["temperature"].shape[0], sorted(table["mesh"][0].mesh.groups)
    (20, ['pipes', 'sides'])
    """
    draws = qmc.Sobol(1 + len(_RANGES), seed=random_state)
    rows = []
    for index in range(n_samples):
        count, *numbers = (float(one) for one in draws.random(1)[0])
        rng = np.random.default_rng([random_state, index])
        bodies = _pipes(1 + int(2 * count), rng)
        points, triangles, loops = mesh_around(bodies, PLATE, n_nodes, _GROWTH)
        around = loops[-1]
        sides = np.column_stack([around, np.roll(around, -1)])
        inputs = {name: low + (high - low) * numbers[k] for k, (name, (low, high)) in enumerate(_RANGES.items())}
        hot = np.concatenate(loops[:-1])
        values = warmed(points, triangles, hot, sides, **inputs)
        pipes = np.vstack([np.column_stack([loop, np.roll(loop, -1)]) for loop in loops[:-1]])
        groups = {"pipes": pipes, "sides": sides}
        mesh = Mesh(points, {"triangle": triangles}, name=f"plate {index}", groups=groups)
        rows.append({"mesh": MeshSeries(mesh, TIMES, {"temperature": values}), **inputs})
    return pd.DataFrame(rows)


def _pipes(count: int, rng: np.random.Generator) -> list[Superellipse]:
    """Draw holes that neither touch one another nor the sides."""
    found: list[Superellipse] = []
    centers: list[Floats] = []
    while len(found) < count:
        radius = rng.uniform(0.07, 0.14)
        center = rng.uniform([0.25, 0.25], [PLATE.length - 0.25, PLATE.height - 0.25])
        if all(np.linalg.norm(center - other) > 0.4 for other in centers):
            centers.append(center)
            found.append(Superellipse((float(center[0]), float(center[1])), (radius, radius)))
    return found
