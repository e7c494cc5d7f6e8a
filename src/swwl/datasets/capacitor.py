"""Two charged conductors inside a grounded circle: Laplace's equation on linear triangles.

The conductors are superellipses. Triangles between them and the circle are fine at the conductors and coarse far away:
hexagonal lattices of several spacings fill the domain, Delaunay triangulates, and Laplacian smoothing evens out the
seams. Finite elements give the potential, and from it the charges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu
from scipy.spatial import Delaunay, cKDTree

from swwl.datasets.generator import Floats, Generator, Ints, Simulation, smoothed
from swwl.mesh.mesh import Mesh

FAR_RADIUS = 8.0
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
    """Nodes on outlines and inside, with the spacing whose number of nodes is nearest to the requested one."""
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


def laplacian(points: Floats, triangles: Ints) -> csc_array:
    """Stiffness matrix (n, n): the integrals of products of gradients of the hat functions of the nodes.

    Examples
    --------
    >>> corner = laplacian(np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([[0, 1, 2]]))
    >>> corner.toarray().tolist()
    [[1.0, -0.5, -0.5], [-0.5, 0.5, 0.0], [-0.5, 0.0, 0.5]]
    """
    corners = points[triangles]
    opposite = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)
    (ux, uy), (vx, vy) = opposite[:, 2].T, opposite[:, 1].T
    twice_area = np.abs(ux * vy - uy * vx)
    local = opposite @ opposite.transpose(0, 2, 1) / (2 * twice_area)[:, None, None]
    rows, columns = np.repeat(triangles, 3, axis=1).ravel(), np.tile(triangles, (1, 3)).ravel()
    return coo_array((local.ravel(), (rows, columns)), shape=(len(points), len(points))).tocsc()


def potential_between(points: Floats, triangles: Ints, held: Ints, values: Floats) -> tuple[Floats, Floats]:
    """Solve for the potential that is given at some nodes and harmonic in between.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
    held : ndarray of k node numbers
    values : ndarray of shape (k,)

    Returns
    -------
    potential : ndarray of shape (n,)
    charges : ndarray of shape (k,)
        What flows from each held node into the domain, for a permittivity of one; all of them sum to zero.

    Examples
    --------
    >>> line = np.array([[0.0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]])
    >>> triangles = np.array([[0, 1, 3], [1, 4, 3], [1, 2, 4], [2, 5, 4]])
    >>> found, charges = potential_between(line, triangles, np.array([0, 3, 2, 5]), np.array([1.0, 1, 0, 0]))
    >>> found.round(12).tolist(), float(charges[:2].sum().round(12))
    ([1.0, 0.5, 0.0, 1.0, 0.5, 0.0], 0.5)
    """
    matrix = laplacian(points, triangles)
    potential = np.zeros(len(points))
    potential[held] = values
    free = np.setdiff1d(np.arange(len(points)), held)
    inner = matrix[free][:, free].tocsc()
    potential[free] = splu(inner, permc_spec="MMD_AT_PLUS_A").solve(-(matrix[free] @ potential))
    return potential, np.asarray(matrix[held] @ potential)


def simulate(inputs: Mapping[str, float], n_nodes: int, aspect: float = 1.0) -> Simulation:
    """Mesh the space around two conductors, solve for the potential, and read off their charges.

    Parameters
    ----------
    inputs : mapping of str to float
        The names of `CAPACITOR`'s scalars and shape.
    n_nodes : int
    aspect : float
        How fast the spacing of nodes grows away from the conductors, over the usual.
    """
    half = inputs["gap"] / 2
    left = Superellipse((-half, 0.0), (inputs["left_width"], inputs["left_height"]))
    right = Superellipse(
        (half, inputs["right_offset"]),
        (inputs["right_width"], inputs["right_height"]),
        np.deg2rad(inputs["right_tilt"]),
        exponent=4.0,
    )
    points, triangles, loops = mesh_around([left, right], n_nodes, GROWTH * aspect)
    held = np.concatenate(loops)
    levels = np.repeat([1.0, inputs["voltage"], 0.0], [len(loop) for loop in loops])
    potential, charges = potential_between(points, triangles, held, levels)
    on_left, on_right, _ = np.split(charges, np.cumsum([len(loop) for loop in loops])[:-1])
    mesh = Mesh(points, {"triangle": triangles}, {"potential": potential})
    return Simulation(mesh, {"charge_left": float(on_left.sum()), "charge_right": float(on_right.sum())})


CAPACITOR = Generator(
    name="capacitor",
    model=(
        "Laplace's equation on linear triangles: two conductors, the left one at 1 V, inside a grounded circle; "
        "charges per length over the permittivity, in V."
    ),
    scalars={"voltage": (-1.0, 0.5)},
    shape={
        "gap": (2.4, 3.6),
        "left_width": (0.3, 0.8),
        "left_height": (0.4, 1.2),
        "right_width": (0.3, 0.7),
        "right_height": (0.4, 1.0),
        "right_tilt": (-40.0, 40.0),
        "right_offset": (-0.8, 0.8),
    },
    targets=("charge_left", "charge_right"),
    simulate=simulate,
    n_nodes=2500,
    node_limits=(500, 100_000),
)
