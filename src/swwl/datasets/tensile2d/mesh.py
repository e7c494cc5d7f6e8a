"""Triangle meshes of the tensile specimen: a square with two half discs cut out of its sides.

A hexagonal lattice inside, equally spaced nodes on the outline, Delaunay's triangulation, and a few passes of
Laplacian smoothing. Hands points and triangles to ``solver.py``.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.spatial import Delaunay

HALF_WIDTH = 1.0
_CLEARANCE = 0.6  # lattice nodes nearer to the outline than this many spacings would make flat triangles
_SMOOTHING_ROUNDS = 4  # triangulations, each followed by
_SMOOTHING_PASSES = 3  # so many moves of every node to the mean of its neighbours


def notched_plate(radius: float, height: float, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Mesh :math:`[-1, 1]^2` less the half discs of one radius around :math:`(\pm 1, \text{height})`.

    Parameters
    ----------
    radius, height : float
        Of the notches; the discs must stay clear of the corners: ``abs(height) + radius < 1``.
    nodes : int
        Wanted number of nodes, met within 2 %.

    Returns
    -------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
        Counterclockwise.

    Examples
    --------
    >>> points, triangles = notched_plate(0.3, 0.1, nodes=500)
    >>> bool(abs(len(points) - 500) <= 10)
    True
    >>> from swwl.datasets.quality import smallest_angle
    >>> smallest_angle(points, triangles) > 20
    True
    """
    if not (0 < radius < HALF_WIDTH and abs(height) + radius < HALF_WIDTH):
        raise ValueError(
            f"Notches of radius {radius} at height {height} do not fit into the square [-1, 1]²."
        )
    spacing = _spacing_for(radius, height, nodes)
    outline = _outline(radius, height, spacing)
    points = np.vstack([outline, _lattice(radius, height, spacing)])
    for _ in range(_SMOOTHING_ROUNDS):
        triangles = _triangulate(points, radius, height, spacing)
        points = _smooth(points, triangles, n_fixed=len(outline))
    return points, _triangulate(points, radius, height, spacing)


def _spacing_for(radius: float, height: float, nodes: int) -> float:
    """Find the lattice spacing whose number of nodes is nearest to the wanted one, by bisection."""
    area = 4 * HALF_WIDTH**2 - np.pi * radius**2
    guess = np.sqrt(area / (nodes * np.sqrt(0.75)))
    fine, coarse = 0.8 * guess, 1.4 * guess
    best = (np.inf, guess)
    for _ in range(14):
        spacing = np.sqrt(fine * coarse)
        count = len(_outline(radius, height, spacing)) + len(_lattice(radius, height, spacing))
        best = min(best, (abs(count - nodes), spacing))
        fine, coarse = (spacing, coarse) if count > nodes else (fine, spacing)
    return best[1]


def _outline(radius: float, height: float, spacing: float) -> np.ndarray:
    """Walk the outline counterclockwise from the lower left corner, in steps near the spacing."""

    def straight(start: tuple[float, float], end: tuple[float, float]) -> np.ndarray:
        first, last = np.array(start), np.array(end)
        steps = max(1, round(float(np.linalg.norm(last - first)) / spacing))
        return first + (last - first) * (np.arange(steps) / steps)[:, None]

    side = HALF_WIDTH
    arc_steps = max(4, round(np.pi * radius / spacing))
    angle = np.pi * np.arange(arc_steps) / arc_steps
    arc = radius * np.column_stack([np.sin(angle), np.cos(angle)])
    return np.vstack(
        [
            straight((-side, -side), (side, -side)),
            straight((side, -side), (side, height - radius)),
            [side, height] - arc,
            straight((side, height + radius), (side, side)),
            straight((side, side), (-side, side)),
            straight((-side, side), (-side, height + radius)),
            [-side, height] + arc,
            straight((-side, height - radius), (-side, -side)),
        ]
    )


def _depth(points: np.ndarray, radius: float, height: float) -> np.ndarray:
    """Distance (n,) of the points (n, 2) to the nearest edge or notch, negative outside the plate."""
    x, y = points.T
    to_edge = HALF_WIDTH - np.maximum(np.abs(x), np.abs(y))
    to_notch = np.hypot(np.abs(x) - HALF_WIDTH, y - height) - radius
    return np.minimum(to_edge, to_notch)


def _lattice(radius: float, height: float, spacing: float) -> np.ndarray:
    """Hexagonal lattice points (n, 2) that keep clear of the outline."""
    rows = np.arange(-HALF_WIDTH, HALF_WIDTH, spacing * np.sqrt(0.75))
    columns = np.arange(-HALF_WIDTH, HALF_WIDTH, spacing)
    x, y = np.meshgrid(columns, rows)
    x[1::2] += spacing / 2
    points = np.column_stack([x.ravel(), y.ravel()])
    return points[_depth(points, radius, height) > _CLEARANCE * spacing]


def _triangulate(points: np.ndarray, radius: float, height: float, spacing: float) -> np.ndarray:
    triangles = Delaunay(points).simplices
    return triangles[_depth(points[triangles].mean(1), radius, height) > 1e-6 * spacing]


def _smooth(points: np.ndarray, triangles: np.ndarray, n_fixed: int) -> np.ndarray:
    """Move every node but the first `n_fixed` to the mean of its neighbours, a few times."""
    n = len(points)
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    adjacency = coo_array((np.ones(len(start)), (start, end)), shape=(n, n)).tocsr()
    adjacency = adjacency + adjacency.T
    adjacency.data[:] = 1.0
    degree = np.maximum(adjacency.sum(1), 1)[:, None]
    points = points.copy()
    for _ in range(_SMOOTHING_PASSES):
        points[n_fixed:] = (adjacency @ points / degree)[n_fixed:]
    return points
