"""Coordinates around bodies in the plane: outlines cut into straight panels, charges on these, and the slit map.

Points of the plane are complex numbers here. :func:`cut_into_panels` follows an outline; :func:`influence` says what a
charge spread over a panel does at a point; :func:`slit_map` solves for charges that keep every body at one potential,
and takes potentials and their conjugates as coordinates of nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from swwl.errors import InputError

_Complex = NDArray[np.complex128]
_Floats = NDArray[np.float64]
_Flags = NDArray[np.bool_]

CORNER = np.pi / 3  # an outline may have a corner where it turns by more at one node
_ALONE = 8.0  # by how many times less it turns at one of the nodes beside a corner
_POLYGON = 6  # nodes of an outline up to which all of them may be corners
FEWEST = 250  # panels around a body, unless that takes more than ten per segment
MOST = 800  # nodes around a body up to which every segment has panels of its own
_GRADING = 2.5  # panels shrink towards a corner like this power
_SAME = 1e-13  # points as close as this, in units of the body, are one


class Panels(NamedTuple):
    """A closed outline as straight panels.

    Attributes
    ----------
    vertices : ndarray of shape (p,), complex
        Panel j runs from vertex j to vertex j + 1, and the last one back to the first.
    at : ndarray of shape (n,)
        Where on the panels each node of the outline is: 2.5 is the middle of panel 2.
    """

    vertices: _Complex
    at: _Floats


def turning(outline: _Complex) -> _Floats:
    """Return by which angle a closed outline turns at each of its nodes, to the left above zero.

    Examples
    --------
    >>> (turning(np.array([0, 1, 1 + 1j, 1j])) / np.pi).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    ahead, behind = np.roll(outline, -1) - outline, outline - np.roll(outline, 1)
    return np.asarray(np.angle(ahead * behind.conj()))


def find_corners(outline: _Complex, angle: float = CORNER) -> _Flags:
    """Say which nodes of a closed outline are corners, and not part of a tight bend that has few nodes.

    An outline turns sharply at a corner and hardly at one of the nodes beside it, at least; a blunt nose turns at
    several nodes in a row.

    Examples
    --------
    >>> np.flatnonzero(find_corners(np.array([0, 1, 2, 2 + 1j, 2 + 2j, 1 + 2j, 2j, 1j]))).tolist()
    [0, 2, 4, 6]
    """
    turn = np.abs(turning(outline))
    beside = np.minimum(np.roll(turn, 1), np.roll(turn, -1))
    return np.asarray((turn > angle) & ((beside < turn / _ALONE) | (len(outline) <= _POLYGON)))


def cut_into_panels(outline: _Complex, *, fewest: int = FEWEST, most: int = MOST, corner: float = CORNER) -> Panels:
    """Cut a closed outline into panels that follow its curvature, and are small near its corners.

    Between corners runs a cubic spline through the nodes, so that the result hardly depends on how many there are.

    Parameters
    ----------
    outline : ndarray of shape (n,), complex
        Nodes in order, each once.
    fewest : int
        Segments are cut into equally many panels, at most ten, until there are as many.
    most : int
        Where there are more nodes, some of them are skipped: all panels act on all others.
    corner : float
        Angle from which on a turn at one node may be a corner, see :func:`find_corners`.

    Examples
    --------
    >>> circle = np.exp(2j * np.pi * np.arange(20) / 20)
    >>> panels = cut_into_panels(circle)
    >>> len(panels.vertices), panels.at[:3].tolist()
    (200, [0.0, 10.0, 20.0])
    >>> bool(np.abs(np.abs(panels.vertices) - 1).max() < 1e-4)
    True
    """
    sharp = find_corners(outline, corner)
    kept = _kept_nodes(sharp, most)
    nodes = outline[kept]
    n = len(nodes)
    per_segment = int(np.clip(np.ceil(fewest / n), 1, 10))
    corners = sharp[kept]
    vertices = np.empty((n, per_segment), complex)
    length = np.append(0, np.cumsum(np.abs(np.roll(nodes, -1) - nodes)))
    # twice around, so that a span between corners may pass the first node
    lengths, around = np.append(length, length[-1] + length[1:]), np.concatenate([nodes, nodes, nodes[:1]])
    for first, last, ends in _spans(corners):
        smooth = None
        if last - first >= 3:
            smooth = scipy.interpolate.CubicSpline(lengths[first : last + 1], around[first : last + 1], bc_type=ends)
        for i in range(first, last):
            where = _grading(per_segment, bool(corners[i % n]), bool(corners[(i + 1) % n]))
            if smooth is None:
                vertices[i % n] = around[i] + where * (around[i + 1] - around[i])
            else:
                vertices[i % n] = smooth(lengths[i] + where * (lengths[i + 1] - lengths[i]))
    travelled = np.append(0, np.cumsum(np.abs(np.roll(outline, -1) - outline)))
    whole = travelled[np.append(kept, len(outline))]
    at = np.interp(travelled[:-1], whole, per_segment * np.arange(n + 1.0))
    return Panels(vertices.ravel(), at)


def _kept_nodes(corners: _Flags, most: int) -> NDArray[np.intp]:
    """Corners, and every so many nodes between them."""
    n = len(corners)
    if n <= most:
        return np.arange(n)
    marks = np.unique(np.append(0, np.flatnonzero(corners)))
    stride = -(-n // most)
    parts = [np.arange(a, b, stride) for a, b in zip(marks, np.append(marks[1:], n), strict=True)]
    return np.concatenate(parts)


def _spans(corners: _Flags) -> list[tuple[int, int, str]]:
    """First and last node of the smooth parts of an outline, counted on beyond its end, and how a spline ends there."""
    n, marks = len(corners), np.flatnonzero(corners).tolist()
    if not marks:
        return [(0, n, "periodic")]
    return [(a, b, "not-a-knot") for a, b in zip(marks, [*marks[1:], marks[0] + n], strict=True)]


def _grading(count: int, first: bool, last: bool) -> _Floats:
    """Where panels start along a segment, from 0 to 1, closer together at an end that is a corner."""
    u = np.arange(count) / count
    if first and last:
        return 3 * u**2 - 2 * u**3
    if first:
        return np.asarray(u**_GRADING)
    return np.asarray(1 - (1 - u) ** _GRADING) if last else u


class Influence(NamedTuple):
    """What unit charges, each spread over one panel, do at points: all of shape (n, p).

    Attributes
    ----------
    potential : ndarray
        Mean of log|x - y| over the panel.
    argument : ndarray
        Mean of arg(x - y), less arg(x - a) at the panel's start a.
    subtended : ndarray
        Angle from the panel's start to its end as seen from x, between -pi and pi.
    slope : ndarray, complex
        Mean of 1 / (x - y): the derivative of the complex potential.
    """

    potential: _Floats
    argument: _Floats
    subtended: _Floats
    slope: _Complex


def influence(points: _Complex, vertices: _Complex) -> Influence:
    r"""Return what unit charges on the panels of one closed outline do at points.

    With panel [a, b] of length L and direction t, w = (x - a) conj(t), v = Re w - L, r and r' the logarithms of the
    distances from x to a and b, and s the angle subtended at x:

    .. math:: L^{-1} \int \log|x - y| = (\mathrm{Re}\,w\, r - v r' + \mathrm{Im}\,w\, s) / L - 1
    .. math:: L^{-1} \int \arg(x - y) = \arg(x - a) + (\mathrm{Im}\,w\, (r - r') - v s) / L

    Parameters
    ----------
    points : ndarray of shape (n,), complex
        In units of the size of the outline.
    vertices : ndarray of shape (p,), complex

    Examples
    --------
    >>> square = np.array([0, 1, 1 + 1j, 1j])
    >>> far = influence(np.array([1000.0 + 0.5j]), square)
    >>> bool(np.abs(far.potential - np.log(1000)).max() < 1e-2)
    True
    """
    along = np.roll(vertices, -1) - vertices
    length = np.abs(along)
    away = points[:, None] - vertices
    distance = np.abs(away)
    distance[distance < _SAME] = 1.0
    log = np.log(distance)
    angle = np.arctan2(away.imag, away.real)
    next_log = np.roll(log, -1, axis=1)
    subtended = np.roll(angle, -1, axis=1) - angle
    subtended -= 2 * np.pi * np.round(subtended / (2 * np.pi))
    local = away * (along / length).conj()
    beyond = local.real - length
    potential = (local.real * log - beyond * next_log + local.imag * subtended) / length - 1
    argument = (local.imag * (log - next_log) - beyond * subtended) / length
    slope = (log - next_log - 1j * subtended) / along
    return Influence(potential, argument, subtended, slope)


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
        raise InputError("has no inner loop, but a slit map needs at least one.")
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
