"""Two charged conductors inside a grounded circle: electrostatics in the plane by linear finite elements.

``geometry.py`` draws the conductors, ``mesh.py`` the space between them and the circle, ``solver.py`` solves; here the
inputs and outputs are named. No two meshes have the same cells.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from swwl.datasets.capacitor.geometry import Superellipse
from swwl.datasets.capacitor.mesh import GROWTH, mesh_around
from swwl.datasets.capacitor.solver import potential_between
from swwl.datasets.generator import Generator
from swwl.datasets.sample import Simulation
from swwl.mesh.mesh import Mesh


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
