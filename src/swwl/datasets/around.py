"""Triangles around bodies: fine at their outlines, coarse far away, up to a circle or to the sides of a box.

Bodies are superellipses. Hexagonal lattices of several spacings fill the space, Delaunay triangulates, and Laplacian
smoothing evens out the seams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay, cKDTree

from swwl.datasets.generator import Floats, Ints, smoothed

GROWTH = 1.5  # how many times the spacing at the bodies grows per unit of distance from them
_DENSE = 2000  # points by which lengths along an outline are measured
_ROW = np.sqrt(0.75)  # distance of the rows of a lattice of equilateral triangles
_LEVEL = 1.3  # ratio of the spacings of two lattices
_CLEARANCE = 0.7  # nodes nearer to others than this many spacings are left out
_SMOOTHING_ROUNDS = 5
_SMOOTHING_PASSES = 3


@dataclass(frozen=True)
class Superellipse:
    r"""The curve :math:`|x/a|^p + |y/b|^p = 1`, turned and moved.

    Attributes
    ----------
    center : (float, float)
    semi_axes : (float, float)
    tilt : float
        Radians, counter-clockwise.
    exponent : float
        2 for an ellipse; the larger, the nearer to a rectangle.
    """

    center: tuple[float, float]
    semi_axes: tuple[float, float]
    tilt: float = 0.0
    exponent: float = 2.0

    def outline(self, spacing: float, fewest: int = 8) -> Floats:
        """Nodes (n, 2) at equal lengths along the curve, counter-clockwise, about `spacing` apart.

        Examples
        --------
        >>> circle = Superellipse((0.0, 0.0), (1.0, 1.0))
        >>> circle.outline(np.pi / 2, fewest=4).round(3).sum(axis=1).tolist()
        [1.0, 1.0, -1.0, -1.0]
        """
        dense = self._points(2 * np.pi * np.arange(_DENSE + 1) / _DENSE)
        passed = np.append(0, np.cumsum(np.linalg.norm(np.diff(dense, axis=0), axis=1)))
        count = max(fewest, round(passed[-1] / spacing))
        at = np.interp(np.arange(count) * passed[-1] / count, passed, 2 * np.pi * np.arange(_DENSE + 1) / _DENSE)
        return self._points(at)

    def covers(self, points: Floats) -> NDArray[np.bool_]:
        """Whether points (n, 2) lie inside the curve."""
        x, y = (points - self.center).T
        cosine, sine = np.cos(self.tilt), np.sin(self.tilt)
        along = np.column_stack([cosine * x + sine * y, cosine * y - sine * x]) / self.semi_axes
        return np.asarray((np.abs(along) ** self.exponent).sum(1) < 1)

    def _points(self, angle: Floats) -> Floats:
        """Points (n, 2) of the curve in directions (n,) that are equally dense where it is round."""
        direction = np.column_stack([np.cos(angle), np.sin(angle)])
        radius = (np.abs(direction) ** self.exponent).sum(1) ** (-1 / self.exponent)
        x, y = (direction * radius[:, None] * self.semi_axes).T
        cosine, sine = np.cos(self.tilt), np.sin(self.tilt)
        return np.column_stack([cosine * x - sine * y, sine * x + cosine * y]) + self.center


class Outer(Protocol):
    """What bounds the space around bodies."""

    @property
    def reach(self) -> float:
        """No point of it is farther from any body."""

    def outline(self, size: Callable[[Floats], Floats]) -> Floats:
        """Nodes (n, 2) once around, counterclockwise, as far apart as ``size`` says at points (n, 2)."""

    def covers(self, points: Floats) -> NDArray[np.bool_]:
        """Whether points (n, 2) lie inside."""


@dataclass(frozen=True)
class Disc:
    """A circle around the origin.

    Attributes
    ----------
    radius : float
    """

    radius: float

    @property
    def reach(self) -> float:
        """The diameter."""
        return 2 * self.radius

    def outline(self, size: Callable[[Floats], Floats]) -> Floats:
        """Nodes (n, 2) on the circle."""
        around = np.linspace(0, 2 * np.pi, 401)
        circle = self.radius * np.column_stack([np.cos(around), np.sin(around)])
        steps = np.append(0, np.cumsum(2 * np.pi * self.radius / 400 / size((circle[1:] + circle[:-1]) / 2)))
        count = max(8, round(steps[-1]))
        angle = np.interp(np.arange(count) * steps[-1] / count, steps, around)
        return self.radius * np.column_stack([np.cos(angle), np.sin(angle)])

    def covers(self, points: Floats) -> NDArray[np.bool_]:
        """Whether points (n, 2) lie inside the circle."""
        return np.asarray(np.linalg.norm(points, axis=1) < self.radius)


@dataclass(frozen=True)
class Box:
    """A rectangle from the origin.

    Attributes
    ----------
    length, height : float
    """

    length: float
    height: float

    @property
    def reach(self) -> float:
        """The longer side."""
        return max(self.length, self.height)

    def outline(self, size: Callable[[Floats], Floats]) -> Floats:
        """Nodes (n, 2) on the sides, corners among them.

        Examples
        --------
        >>> Box(2.0, 1.0).outline(lambda points: np.full(len(points), 1.0)).round(9).tolist()
        [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [0.0, 1.0]]
        """
        corners = np.array([[0.0, 0.0], [self.length, 0.0], [self.length, self.height], [0.0, self.height]])
        nodes = []
        for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            share = np.linspace(0, 1, 401)
            line = start + (end - start) * share[:, None]
            steps = np.append(0, np.cumsum(np.linalg.norm(end - start) / 400 / size((line[1:] + line[:-1]) / 2)))
            count = max(1, round(steps[-1]))
            at = np.interp(np.arange(count) * steps[-1] / count, steps, share)
            nodes.append(start + (end - start) * at[:, None])
        return np.vstack(nodes)

    def covers(self, points: Floats) -> NDArray[np.bool_]:
        """Whether points (n, 2) lie inside the rectangle."""
        return np.asarray(((points > 0) & (points < [self.length, self.height])).all(axis=1))


def mesh_around(
    bodies: Sequence[Superellipse], outer: Outer, n_nodes: int, growth: float = GROWTH
) -> tuple[Floats, Ints, list[Ints]]:
    """Mesh a disc or a box, less convex bodies.

    Parameters
    ----------
    bodies : sequence of Superellipse
        Clear of each other and of what bounds the space.
    outer : Disc or Box
    n_nodes : int
        Wanted number of nodes, met within 3 % from 300 nodes on.
    growth : float
        The spacing of nodes grows as 1 + growth * distance from the bodies.

    Returns
    -------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
        Counterclockwise.
    loops : list of ndarrays of node numbers
        Those on each body, and last those on what bounds the space.

    Examples
    --------
    >>> points, triangles, loops = mesh_around([Superellipse((0.0, 0.0), (1.0, 1.0))], Disc(8.0), 500)
    >>> bool(abs(len(points) - 500) <= 15), len(loops)
    (True, 2)
    """
    rings, inner = _nodes_of_count(bodies, outer, n_nodes, growth)
    ends = np.cumsum([len(ring) for ring in rings])
    loops: list[Ints] = [np.arange(end - len(ring), end) for ring, end in zip(rings, ends, strict=True)]
    points = np.vstack([*rings, inner])
    owner = np.full(len(points), -1)
    for k, loop in enumerate(loops[:-1]):
        owner[loop] = k

    def triangulate(nodes: Floats) -> Ints:
        triangles: Ints = Delaunay(nodes).simplices
        corners = owner[triangles]
        # bodies are convex: they are covered by the triangles that have all corners on one of them
        within = (corners[:, 0] >= 0) & (corners == corners[:, :1]).all(1)
        return triangles[~within]

    for _ in range(_SMOOTHING_ROUNDS):
        points = smoothed(points, triangulate(points), int(ends[-1]), _SMOOTHING_PASSES)
    return points, triangulate(points), loops


def _nodes_of_count(
    bodies: Sequence[Superellipse], outer: Outer, n_nodes: int, growth: float
) -> tuple[list[Floats], Floats]:
    """Nodes on outlines and inside, with the spacing whose number of nodes is nearest to the requested one."""
    spacing, best = 3.0 / np.sqrt(n_nodes), None
    for _ in range(8):
        nodes = _place(bodies, outer, spacing, growth)
        count = sum(map(len, nodes[0])) + len(nodes[1])
        if best is None or abs(count - n_nodes) < best[0]:
            best = (abs(count - n_nodes), nodes)
        if best[0] <= 0.005 * n_nodes:
            break
        spacing *= np.sqrt(count / n_nodes)
    assert best is not None
    return best[1]


def _place(bodies: Sequence[Superellipse], outer: Outer, spacing: float, growth: float) -> tuple[list[Floats], Floats]:
    """Nodes on the bodies and around the space, and those between them."""
    outlines = [body.outline(spacing) for body in bodies]
    near = cKDTree(np.vstack([body.outline(spacing / 4, fewest=200) for body in bodies]))

    def size(nodes: Floats) -> Floats:
        return np.asarray(spacing * (1 + growth * near.query(nodes)[0]))

    outlines.append(outer.outline(size))
    fixed = np.vstack(outlines)
    kept = [np.empty((0, 2))]
    largest = spacing * (1 + growth * outer.reach)
    for level in spacing * _LEVEL ** np.arange(0, np.log(largest / spacing) / np.log(_LEVEL) + 1):
        reach = min((level * _LEVEL / spacing - 1) / growth, outer.reach)
        lattice = _lattice(level * np.sqrt(_LEVEL), near.mins - reach, near.maxes + reach)
        wanted = size(lattice)
        lattice = lattice[(wanted >= level) & (wanted < level * _LEVEL)]
        lattice = lattice[outer.covers(lattice)]
        lattice = lattice[~np.any([body.covers(lattice) for body in bodies], axis=0)]
        if not len(lattice):
            continue
        others = cKDTree(np.vstack([fixed, *kept]))
        kept.append(lattice[others.query(lattice)[0] > _CLEARANCE * size(lattice)])
    return outlines, np.vstack(kept)


def _lattice(spacing: float, low: Floats, high: Floats) -> Floats:
    """Equilateral triangles' corners in a box; those of one spacing are in the same places for all boxes."""
    step = np.array([spacing, 2 * _ROW * spacing])
    first, last = np.floor(low / step), np.ceil(high / step)
    x, y = np.meshgrid(*(step * np.arange(a, b + 1) for a, b, step in zip(first, last, step, strict=True)))
    rows = np.column_stack([x.ravel(), y.ravel()])
    return np.vstack([rows, rows + step / 2])
