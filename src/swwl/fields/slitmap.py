r"""Circular slit maps: coordinates around bodies in the plane that depend on their outlines, not on the mesh.

Every body k gets a level :math:`G_k \ge 0` (zero on the body, constant on the others, like log r far away) and an angle
:math:`\theta_k`, its harmonic conjugate, which far away is the direction itself. :math:`e^{-G_k - i \theta_k}` maps
what is around the bodies into the unit disc: body k becomes the circle, infinity the center, other bodies arcs
around it. Charges on panels (``panels.py``) make the potential; no mesh of the domain is needed. For ``walls.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.fields.panels import Panels, cut_into_panels, influence

_Complex = NDArray[np.complex128]
_Floats = NDArray[np.float64]
_Nodes = NDArray[np.integer]

N_ANGLES = 128  # points of a wall that describe its shape
_BLOCK = 2**19  # entries (point, panel) that are held at once
_OFF_WALL = 1e-4  # how far from a panel, in its lengths, the angle just off the wall is taken
_PROBES = 40  # panels per body at which it is


class SlitMap(NamedTuple):
    r"""Coordinates around K bodies.

    Attributes
    ----------
    level : ndarray of shape (n, K)
        :math:`G_k` at the nodes.
    angle : ndarray of shape (n, K)
        :math:`\theta_k` at the nodes, up to multiples of 2 pi.
    walls : ndarray of shape (K, n_angles, 2)
        Where on body k the angle is 2 pi j / n_angles.
    gain : ndarray of shape (n, K)
        How much the map :math:`e^{G_k + i \theta_k}` stretches at the nodes, over how much it does far away: large at
        noses and edges, small in hollows, infinite at a sharp edge (but finite at a node there).
    """

    level: _Floats
    angle: _Floats
    walls: _Floats
    gain: _Floats


def slit_map(points: _Floats, loops: list[_Nodes], n_angles: int = N_ANGLES) -> SlitMap:
    r"""Map the plane around bodies: solve for charges on their outlines, and evaluate at the nodes.

    .. math:: \sum_j q_{jk} \frac{1}{L_j} \int_j \log|x_i - y| = c_{lk} \quad (i \text{ on loop } l), \qquad
              \sum_{j \in l} q_{jk} = \delta_{lk}, \qquad G_k(x) = \sum_j q_{jk} \ldots - c_{kk}

    On the bodies themselves the angle is :math:`2\pi` times the charge passed since the loop's start.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    loops : list of K ndarrays of node numbers
        Outlines of the bodies, each counter-clockwise and without a node twice.
    n_angles : int

    Examples
    --------
    >>> around = 2 * np.pi * np.arange(24) / 24
    >>> circle = np.column_stack([np.cos(around), np.sin(around)])
    >>> found = slit_map(np.vstack([circle, [[0.0, 3.0]]]), [np.arange(24)])
    >>> np.round([found.level[-1, 0] / np.log(3), found.angle[-1, 0] / np.pi, found.level[:24].max()], 3).tolist()
    [1.0, 0.5, 0.0]
    """
    if not loops:
        raise InputError("has no inner loop, but a slit map is around at least one.")
    center, size = _frame(points, loops)
    nodes = (points[:, 0] + 1j * points[:, 1] - center) / size
    bodies = [_panels(nodes, loop, k) for k, loop in enumerate(loops)]
    charges, constants = _charges([body.vertices for body in bodies])
    passed = [np.vstack([np.zeros((1, len(loops))), np.cumsum(q, axis=0)]) for q in charges]
    level = np.empty((len(nodes), len(loops)))
    angle, slope = np.empty_like(level), np.empty_like(level)
    inside = np.ones(len(nodes), bool)
    walls = np.empty((len(loops), n_angles, 2))
    for k, (loop, body) in enumerate(zip(loops, bodies, strict=True)):
        start = _start(bodies, charges, passed, k)
        each = [np.interp(body.at, np.arange(len(body.vertices) + 1), column) for column in passed[k].T]
        angle[loop] = start + 2 * np.pi * np.column_stack(each)
        level[loop] = constants[k] - np.diag(constants)
        slope[loop] = _wall_slope(body, passed[k])
        inside[loop] = False
        wanted = (np.arange(n_angles) / n_angles - start[k] / (2 * np.pi)) % 1.0
        outline = np.append(body.vertices, body.vertices[0]) * size + center
        found = np.interp(wanted, np.maximum.accumulate(passed[k][:, k]), outline)
        walls[k] = np.column_stack([found.real, found.imag])
    level[inside], angle[inside], slope[inside] = _evaluate(nodes[inside], bodies, charges)
    level[inside] -= np.diag(constants)
    return SlitMap(level.clip(0), angle, walls, slope * np.exp(level + np.diag(constants)))


def _frame(points: _Floats, loops: list[_Nodes]) -> tuple[complex, float]:
    """Middle and half the size of the box around all bodies: in these units no logarithm is large."""
    ends = np.concatenate([points[loop] for loop in loops])
    low, high = ends.min(axis=0), ends.max(axis=0)
    return complex(*((low + high) / 2)), float(np.linalg.norm(high - low) / 2)


def _panels(nodes: _Complex, loop: _Nodes, k: int) -> Panels:
    outline = nodes[loop]
    if len(np.unique(loop)) < len(loop):
        raise InputError(f"has an inner loop, number {k}, that passes a node twice.")
    if len(loop) < 3 or np.abs(np.roll(outline, -1) - outline).min() == 0:
        raise InputError(f"has an inner loop, number {k}, of fewer than three nodes or with two in a row at one place.")
    return cut_into_panels(outline)


def _charges(bodies: list[_Complex]) -> tuple[list[_Floats], _Floats]:
    """Charges (p, K) of every body's panels, and the potential (K, K) on body l (row) for unit charge on body k."""
    middles = np.concatenate([(v + np.roll(v, -1)) / 2 for v in bodies])
    counts = [len(v) for v in bodies]
    n, n_bodies = sum(counts), len(bodies)
    system = np.zeros((n + n_bodies, n + n_bodies))
    np.concatenate([influence(middles, v).potential for v in bodies], axis=1, out=system[:n, :n])
    owner = np.repeat(np.arange(n_bodies), counts)
    system[np.arange(n), n + owner] = -1.0
    system[n + owner, np.arange(n)] = 1.0
    right = np.zeros((n + n_bodies, n_bodies))
    right[n:] = np.eye(n_bodies)
    solution = np.asarray(np.linalg.solve(system, right), float)
    ends = np.cumsum(counts)
    return [solution[end - count : end] for end, count in zip(ends, counts, strict=True)], solution[n:]


def _evaluate(points: _Complex, bodies: list[Panels], charges: list[_Floats]) -> tuple[_Floats, _Floats, _Floats]:
    """Potential, angle and steepness of the potential (n, K) at points off the walls, some points at a time."""
    potential = np.zeros((len(points), len(bodies)))
    angle, slope = np.zeros_like(potential), np.zeros(potential.shape, complex)
    rows = max(1, _BLOCK // max(len(body.vertices) for body in bodies))
    for first in range(0, len(points), rows):
        part = slice(first, first + rows)
        for k, (body, charge) in enumerate(zip(bodies, charges, strict=True)):
            found = influence(points[part], body.vertices)
            potential[part] += found.potential @ charge
            slope[part] += found.slope @ charge
            # carried along the outline by subtended angles, so that only its start has a cut, of 2 pi
            before = np.cumsum(found.subtended, axis=1) - found.subtended
            angle[part] += (before + found.argument) @ charge
            angle[part, k] += np.angle(points[part] - body.vertices[0])
    return potential, angle, np.abs(slope)


def _wall_slope(body: Panels, passed: _Floats) -> _Floats:
    """Steepness (n, K) of the potentials at the nodes of a wall: 2 pi times the charge per length around each."""
    n, length = len(body.vertices), np.abs(np.roll(body.vertices, -1) - body.vertices)
    reached = np.append(0, np.cumsum(length))
    middles = (body.at + np.append(body.at[1:], n + body.at[0])) / 2
    ends = np.append(middles[-1] - n, middles)

    def between(totals: _Floats) -> _Floats:
        return np.diff(np.interp(ends % n, np.arange(n + 1), totals) + totals[-1] * np.floor(ends / n))

    charges = np.column_stack([between(column) for column in passed.T])
    return np.asarray(2 * np.pi * np.abs(charges) / between(reached)[:, None])


def _start(bodies: list[Panels], charges: list[_Floats], passed: list[_Floats], k: int) -> _Floats:
    """Angles (K,) of all bodies' maps where loop k starts: as just off the wall, less what was passed till there."""
    vertices = bodies[k].vertices
    along = np.roll(vertices, -1) - vertices
    some = np.arange(0, len(vertices), max(1, len(vertices) // _PROBES))
    just_off = vertices[some] + (0.5 - 1j * _OFF_WALL) * along[some]
    halfway = (passed[k][some] + passed[k][some + 1]) / 2
    turns = _evaluate(just_off, bodies, charges)[1] - 2 * np.pi * halfway
    return np.asarray(np.angle(np.exp(1j * turns).mean(axis=0)))
