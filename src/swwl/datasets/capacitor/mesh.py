"""Triangle meshes between bodies and a far circle: fine at the bodies, coarse far from them.

Hexagonal lattices of several spacings fill the domain, each where its spacing is the wanted one; Delaunay triangulates,
and Laplacian smoothing evens out the seams. Hands points and triangles to ``solver.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import Delaunay, cKDTree

from swwl.datasets.capacitor.geometry import Superellipse
from swwl.datasets.smoothing import smoothed
from swwl.datasets.types import Floats, Ints

FAR_RADIUS = 8.0
GROWTH = 1.5  # how many times the spacing at the bodies grows per unit of distance from them
_ROW = np.sqrt(0.75)  # distance of the rows of a lattice of equilateral triangles
_LEVEL = 1.3  # ratio of the spacings of two lattices
_CLEARANCE = 0.7  # nodes nearer to others than this many spacings are left out
_SMOOTHING_ROUNDS = 5
_SMOOTHING_PASSES = 3


def mesh_around(
    bodies: Sequence[Superellipse], n_nodes: int, growth: float = GROWTH, radius: float = FAR_RADIUS
) -> tuple[Floats, Ints, list[Ints]]:
    """Mesh the disc of a radius around the origin, less convex bodies.

    Parameters
    ----------
    bodies : sequence of Superellipse
        Clear of each other and of the circle.
    n_nodes : int
        Wanted number of nodes, met within 3 % from 300 nodes on.
    growth : float
        The spacing of nodes grows as 1 + growth * distance from the bodies.
    radius : float

    Returns
    -------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
        Counterclockwise.
    loops : list of ndarrays of node numbers
        Those on each body, and last those on the circle.

    Examples
    --------
    >>> points, triangles, loops = mesh_around([Superellipse((0.0, 0.0), (1.0, 1.0))], 500)
    >>> bool(abs(len(points) - 500) <= 15), len(loops)
    (True, 2)
    """
    rings, inner = _nodes_of_count(bodies, n_nodes, growth, radius)
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
    bodies: Sequence[Superellipse], n_nodes: int, growth: float, radius: float
) -> tuple[list[Floats], Floats]:
    """Nodes on outlines and inside, with the spacing whose number of nodes is nearest to the wanted one."""
    spacing, best = 3.0 / np.sqrt(n_nodes), None
    for _ in range(8):
        nodes = _place(bodies, spacing, growth, radius)
        count = sum(map(len, nodes[0])) + len(nodes[1])
        if best is None or abs(count - n_nodes) < best[0]:
            best = (abs(count - n_nodes), nodes)
        if best[0] <= 0.005 * n_nodes:
            break
        spacing *= np.sqrt(count / n_nodes)
    assert best is not None
    return best[1]


def _place(bodies: Sequence[Superellipse], spacing: float, growth: float, radius: float) -> tuple[list[Floats], Floats]:
    """Nodes on the bodies and on the circle, and those between them."""
    outlines = [body.outline(spacing) for body in bodies]
    near = cKDTree(np.vstack([body.outline(spacing / 4, fewest=200) for body in bodies]))

    def size(nodes: Floats) -> Floats:
        return np.asarray(spacing * (1 + growth * near.query(nodes)[0]))

    around = np.linspace(0, 2 * np.pi, 401)
    circle = radius * np.column_stack([np.cos(around), np.sin(around)])
    steps = np.append(0, np.cumsum(2 * np.pi * radius / 400 / size((circle[1:] + circle[:-1]) / 2)))
    count = max(8, round(steps[-1]))
    angle = np.interp(np.arange(count) * steps[-1] / count, steps, around)
    outlines.append(radius * np.column_stack([np.cos(angle), np.sin(angle)]))

    fixed = np.vstack(outlines)
    kept = [np.empty((0, 2))]
    largest = spacing * (1 + growth * 2 * radius)
    for level in spacing * _LEVEL ** np.arange(0, np.log(largest / spacing) / np.log(_LEVEL) + 1):
        reach = min((level * _LEVEL / spacing - 1) / growth, 2 * radius)
        lattice = _lattice(level * np.sqrt(_LEVEL), near.mins - reach, near.maxes + reach)
        wanted = size(lattice)
        lattice = lattice[(wanted >= level) & (wanted < level * _LEVEL)]
        lattice = lattice[np.linalg.norm(lattice, axis=1) < radius]
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
