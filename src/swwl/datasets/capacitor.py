"""Two charged conductors inside a grounded circle: Laplace's equation on linear triangles.

The conductors are superellipses (``around.py`` has the triangles). Finite elements give the potential, and from it the
charges.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu

from swwl.datasets.around import GROWTH, Disc, Superellipse, mesh_around
from swwl.datasets.generator import Floats, Generator, Ints, Simulation
from swwl.mesh.mesh import Mesh

FAR_RADIUS = 8.0


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
    points, triangles, loops = mesh_around([left, right], Disc(FAR_RADIUS), n_nodes, GROWTH * aspect)
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
