"""Triangle meshes of the tensile specimen: a square with two half discs cut out of its sides.

A hexagonal lattice fills the plate; around the notches, where the stress peaks, rings of nodes refine it.
Delaunay triangulates, and a few passes of Laplacian smoothing even out the seams. Hands points and triangles
to ``solver.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import Delaunay

from swwl.datasets.generator import Floats, Ints, smoothed
from swwl.errors import InputError

HALF_WIDTH = 1.0
_ROW = np.sqrt(0.75)  # distance of the rows of a lattice of equilateral triangles
_ARC_STEPS = 0.6  # nodes on a notch, at least, over the square root of all nodes: refines the same for all shapes
_CLEARANCE = 0.6  # nodes nearer to the outline than this many spacings would make flat triangles
_SMOOTHING_ROUNDS = 4  # triangulations, each followed by
_SMOOTHING_PASSES = 3  # so many moves of every node to the mean of its neighbors


def notched_plate(radius: float, height: float, n_nodes: int) -> tuple[Floats, Ints]:
    r"""Mesh :math:`[-1, 1]^2` less the half discs of one radius around :math:`(\pm 1, \text{height})`.

    Parameters
    ----------
    radius, height : float
        Of the notches; the discs must stay clear of the corners: ``abs(height) + radius < 1``.
    n_nodes : int
        Wanted number of nodes, met within 3 %.

    Returns
    -------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
        Counterclockwise.

    Examples
    --------
    >>> points, triangles = notched_plate(0.3, 0.1, n_nodes=500)
    >>> bool(abs(len(points) - 500) <= 15)
    True
    """
    if not (0 < radius < HALF_WIDTH and abs(height) + radius < HALF_WIDTH):
        raise InputError(f"Notches of radius {radius} at height {height} do not fit into the square [-1, 1]².")
    plate = _plate_of_size(radius, height, n_nodes)
    outline = plate.outline()
    points = np.vstack([outline, plate.interior()])
    for _ in range(_SMOOTHING_ROUNDS):
        points = smoothed(points, plate.triangulate(points), len(outline), _SMOOTHING_PASSES)
    return points, plate.triangulate(points)


@dataclass(frozen=True)
class _Plate:
    """The geometry, and the requested distance of neighboring nodes everywhere.

    On the notches it is a whole part of their arc, near `spacing` or finer; away from them it grows like the
    distance from the disc's center, up to `spacing`.
    """

    radius: float
    height: float
    spacing: float
    arc_steps: int

    def center_distance(self, points: Floats) -> Floats:
        """Distance (n,) of points (n, 2) from the nearer of the discs' centers."""
        return np.hypot(HALF_WIDTH - np.abs(points[:, 0]), points[:, 1] - self.height)

    def size(self, points: Floats) -> Floats:
        """Wanted distance (n,) of neighbors at points (n, 2)."""
        return np.minimum(self.center_distance(points) * np.pi / self.arc_steps, self.spacing)

    def depth(self, points: Floats) -> Floats:
        """Distance (n,) of points (n, 2) to the nearest edge or notch, negative outside the plate."""
        to_edge: Floats = HALF_WIDTH - np.abs(points).max(1)
        return np.minimum(to_edge, self.center_distance(points) - self.radius)

    def outline(self) -> Floats:
        """Nodes (n, 2) on the outline, counterclockwise from the lower left corner."""
        side, low, high = HALF_WIDTH, self.height - self.radius, self.height + self.radius
        angle = np.pi * np.arange(self.arc_steps) / self.arc_steps
        arc = self.radius * np.column_stack([np.sin(angle), np.cos(angle)])
        return np.vstack(
            [
                self._straight((-side, -side), (side, -side)),
                self._straight((side, -side), (side, low)),
                [side, self.height] - arc,
                self._straight((side, high), (side, side)),
                self._straight((side, side), (-side, side)),
                self._straight((-side, side), (-side, high)),
                [-side, self.height] + arc,
                self._straight((-side, low), (-side, -side)),
            ]
        )

    def interior(self) -> Floats:
        """Nodes (n, 2) inside: rings around the notches as far as they refine, the lattice beyond."""
        step = np.pi / self.arc_steps
        # Each ring is larger by the same factor, which keeps the triangles equilateral, until its steps reach
        # the lattice's.
        n_rings = max(0, int(np.log(self.spacing / (step * self.radius)) / (_ROW * step)))
        rings = []
        for k in range(1, n_rings + 1):
            angle = step * (np.arange(self.arc_steps + 1) + k % 2 / 2)
            ring = self._ring_radius(k) * np.column_stack([np.sin(angle), np.cos(angle)])
            rings += [[HALF_WIDTH, self.height] - ring, [-HALF_WIDTH, self.height] + ring]
        lattice = self._lattice()
        gap = _ROW * self.spacing if n_rings else 0.0
        beyond = self.center_distance(lattice) > self._ring_radius(n_rings) + gap
        points = np.vstack([*rings, lattice[beyond]])
        return points[self.depth(points) > _CLEARANCE * self.size(points)]

    def triangulate(self, points: Floats) -> Ints:
        """Delaunay triangles (m, 3) of points (n, 2), without those that bridge the notches."""
        triangles: Ints = Delaunay(points).simplices
        return triangles[self.depth(points[triangles].mean(1)) > 1e-6 * self.spacing]

    def _straight(self, start: tuple[float, float], end: tuple[float, float]) -> Floats:
        """Nodes from a corner to the next, which is left out, as close as `size` wants them."""
        share = np.linspace(0, 1, 401)
        line = np.array(start) + np.subtract(end, start) * share[:, None]
        density = np.hypot(*np.subtract(end, start)) / self.size(line)
        passed = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2) * share[1])
        steps = max(1, round(passed[-1]))
        at = np.interp(np.arange(steps) * passed[-1] / steps, passed, share)
        nodes: Floats = np.array(start) + np.subtract(end, start) * at[:, None]
        return nodes

    def _ring_radius(self, k: int) -> float:
        return self.radius * float(np.exp(k * _ROW * np.pi / self.arc_steps))

    def _lattice(self) -> Floats:
        x, y = np.meshgrid(
            np.arange(-HALF_WIDTH, HALF_WIDTH, self.spacing),
            np.arange(-HALF_WIDTH, HALF_WIDTH, self.spacing * _ROW),
        )
        x[1::2] += self.spacing / 2
        return np.column_stack([x.ravel(), y.ravel()])


def _plate_of_size(radius: float, height: float, n_nodes: int) -> _Plate:
    """Find the spacing whose number of nodes is nearest to the requested one, by bisection."""

    def plate(spacing: float) -> _Plate:
        finest = max(round(np.pi * radius / spacing), round(_ARC_STEPS * np.sqrt(n_nodes)), 4)
        return _Plate(radius, height, spacing, finest)

    guess = np.sqrt((4 * HALF_WIDTH**2 - np.pi * radius**2) / (n_nodes * _ROW))
    fine, coarse = 0.8 * guess, 2.0 * guess
    candidates = []
    for _ in range(14):
        spacing = float(np.sqrt(fine * coarse))
        count = len(plate(spacing).outline()) + len(plate(spacing).interior())
        candidates.append((abs(count - n_nodes), spacing))
        fine, coarse = (spacing, coarse) if count > n_nodes else (fine, spacing)
    return plate(min(candidates)[1])
