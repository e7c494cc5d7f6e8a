"""Outlines of bodies as straight panels, and what a charge spread over a panel does at a point.

Points of the plane are complex numbers here. For ``slitmap.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

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
            smooth = CubicSpline(lengths[first : last + 1], around[first : last + 1], bc_type=ends)
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
