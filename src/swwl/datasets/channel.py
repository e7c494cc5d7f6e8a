r"""Slow flow through a channel around one to four bodies: Navier and Stokes on linear triangles.

Velocity and pressure are linear on every triangle. Two such spaces alone would let the pressure oscillate, so that
squares of its gradients, with a weight of :math:`h^2 / (12 \mu)`, are added (Brezzi and Pitkäranta 1984). The flow is
carried along by the last iterate of itself (Picard). Forces on bodies are what the equations lack at their nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import block_array, coo_array, csc_array, csr_array
from scipy.sparse.linalg import splu

from swwl.datasets.around import GROWTH, Box, Superellipse, mesh_around
from swwl.datasets.generator import Floats, Generator, Ints, Simulation, Unsolvable
from swwl.mesh.mesh import Mesh

CHANNEL_BOX = Box(3.0, 1.0)
MOST_BODIES = 4
_STABLE = 1 / 12
_CLEAR = 0.06  # bodies are at least so far apart
_PICARD_STEPS = 30
_TOLERANCE = 1e-6


def flow(
    points: Floats, triangles: Ints, held: Ints, velocity: Floats, viscosity: float, inertia: bool = True
) -> tuple[Floats, Floats, Floats]:
    """Solve for a steady flow of density one whose velocity is given at some nodes, and free of stress at others.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
    held : ndarray of k node numbers
    velocity : ndarray of shape (k, 2)
    viscosity : float
    inertia : bool
        Whether it has any; without, it is a Stokes flow.

    Returns
    -------
    velocity : ndarray of shape (n, 2)
    pressure : ndarray of shape (n,)
    forces : ndarray of shape (k, 2)
        With which the flow pushes on the held nodes.

    Raises
    ------
    Unsolvable
        Where iterations do not settle.
    """
    n = len(points)
    gradients, areas = _gradients(points, triangles)
    stiffness = _assembled(triangles, np.einsum("mid,mjd,m->mij", gradients, gradients, areas), n)
    sums = gradients * areas[:, None, None] / 3
    x, y = (_assembled(triangles, np.repeat(sums[:, None, :, k], 3, 1), n) for k in (0, 1))
    edges = points[triangles] - np.roll(points[triangles], -1, axis=1)
    h2 = (edges**2).sum(axis=2).max(axis=1)
    weights = _STABLE / viscosity * h2 * areas
    damping = _assembled(triangles, np.einsum("mid,mjd,m->mij", gradients, gradients, weights), n)
    unknown = np.ones(3 * n, bool)
    unknown[held] = unknown[held + n] = False
    found = np.zeros(3 * n)
    found[held], found[held + n] = velocity.T
    matrix = csr_array((3 * n, 3 * n))
    for _ in range(_PICARD_STEPS):
        mean = found[: 2 * n].reshape(2, n)[:, triangles].mean(axis=2)
        carried = np.repeat((np.einsum("dm,mid->mi", mean, gradients) * areas[:, None] / 3)[:, None], 3, 1)
        moving = viscosity * stiffness + (_assembled(triangles, carried, n) if inertia else 0 * stiffness)
        matrix = block_array([[moving, None, -x.T], [None, moving, -y.T], [x, y, damping]]).tocsr()
        inner = csc_array(matrix[unknown][:, unknown])
        given = found * ~unknown
        new = given.copy()
        new[unknown] = splu(inner, permc_spec="COLAMD").solve(-(matrix[unknown] @ given))
        change = np.abs(new - found)[: 2 * n].max() / np.abs(new[: 2 * n]).max()
        found = new
        if change < _TOLERANCE or not inertia:
            break
    else:
        raise Unsolvable(f"the flow still changes by {change:.1e} after {_PICARD_STEPS} iterations")
    lacking = -(matrix @ found)
    return found[: 2 * n].reshape(2, n).T, found[2 * n :], np.column_stack([lacking[held], lacking[held + n]])


def _gradients(points: Floats, triangles: Ints) -> tuple[Floats, Floats]:
    """Gradients (m, 3, 2) of the hat functions in every triangle, and areas (m,)."""
    corners = points[triangles]
    opposite = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)
    (ux, uy), (vx, vy) = opposite[:, 2].T, opposite[:, 0].T
    twice = ux * vy - uy * vx
    turned = np.stack([-opposite[..., 1], opposite[..., 0]], axis=2)
    return turned / twice[:, None, None], np.abs(twice) / 2


def _assembled(triangles: Ints, local: Floats, n: int) -> csr_array:
    """Sum matrices (m, 3, 3) of triangles into one (n, n)."""
    rows, columns = np.repeat(triangles, 3, axis=1).ravel(), np.tile(triangles, (1, 3)).ravel()
    return coo_array((local.ravel(), (rows, columns)), shape=(n, n)).tocsr()


def bodies_of(inputs: Mapping[str, float]) -> list[Superellipse]:
    """Return the bodies that inputs describe; those that touch make no flow.

    Raises
    ------
    Unsolvable
        Where two bodies touch.
    """
    names = ("x", "y", "length", "thickness", "tilt")
    bodies, outlines = list[Superellipse](), list[Floats]()
    for k in range(int(inputs["bodies"])):
        x, y, length, thickness, tilt = (inputs[f"{name}_{k + 1}"] for name in names)
        body = Superellipse((x, y), (length / 2, thickness / 2), np.deg2rad(tilt))
        outline = body.outline(0.01, fewest=40)
        for other, own in zip(bodies, outlines, strict=True):
            gap = np.linalg.norm(outline[:, None] - own[None], axis=2).min()
            if gap < _CLEAR or body.covers(own).any() or other.covers(outline).any():
                raise Unsolvable("two bodies touch")
        bodies.append(body)
        outlines.append(outline)
    return bodies


def simulate(inputs: Mapping[str, float], n_nodes: int, aspect: float = 1.0) -> Simulation:
    """Mesh a channel around its bodies, solve for the flow, and add up the forces on them.

    Parameters
    ----------
    inputs : mapping of str to float
        The names of `CHANNEL`'s scalars and shape.
    n_nodes : int
    aspect : float
        How fast the spacing of nodes grows away from the bodies, over the usual.
    """
    bodies = bodies_of(inputs)
    points, triangles, loops = mesh_around(bodies, CHANNEL_BOX, n_nodes, GROWTH * aspect)
    around = loops[-1]
    x, y = points[around].T
    outlet = around[(x == CHANNEL_BOX.length) & (y > 0) & (y < CHANNEL_BOX.height)]
    walled = np.setdiff1d(around, outlet)
    held = np.concatenate([*loops[:-1], walled])
    velocity = np.zeros((len(held), 2))
    enters = points[held, 0] == 0
    velocity[enters, 0] = 6 * (points[held, 1] * (CHANNEL_BOX.height - points[held, 1]))[enters]
    speeds, pressure, forces = flow(points, triangles, held, velocity, inputs["viscosity"])
    total = forces[: sum(map(len, loops[:-1]))].sum(axis=0)
    sides = np.column_stack([around, np.roll(around, -1)])
    ends = points[sides]
    on_inlet, on_outlet = ((ends[..., 0] == at).all(axis=1) for at in (0.0, CHANNEL_BOX.length))
    groups = {
        "inlet": sides[on_inlet],
        "outlet": sides[on_outlet],
        "walls": sides[~on_inlet & ~on_outlet],
        "body": np.vstack([np.column_stack([loop, np.roll(loop, -1)]) for loop in loops[:-1]]),
    }
    mesh = Mesh(points, {"triangle": triangles}, {"velocity": speeds, "pressure": pressure}, groups=groups)
    return Simulation(mesh, {"drag": float(total[0]), "lift": float(total[1])})


CHANNEL = Generator(
    name="channel",
    model=(
        "Steady Navier-Stokes flow on linear triangles through a channel around one to four ellipses; height, mean "
        "speed and density are one, and forces are those on all of them."
    ),
    scalars={"viscosity": (0.025, 0.1)},
    shape={"bodies": (1.0, MOST_BODIES + 1.0)}
    | {
        f"{name}_{k}": limits
        for k in range(1, MOST_BODIES + 1)
        for name, limits in {
            "x": (0.5, 2.0),
            "y": (0.22, 0.78),
            "length": (0.12, 0.28),
            "thickness": (0.06, 0.12),
            "tilt": (-60.0, 60.0),
        }.items()
    },
    targets=("drag", "lift"),
    simulate=simulate,
    n_nodes=1500,
    node_limits=(500, 100_000),
)
