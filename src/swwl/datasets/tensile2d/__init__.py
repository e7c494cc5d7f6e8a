"""Tensile test of a notched plate: plane-stress elasto-viscoplastic finite elements.

``mesh.py`` draws the plate, ``material.py`` holds the law, ``solver.py`` pulls; here the inputs and outputs
are named.
"""

from __future__ import annotations

from collections.abc import Mapping

from swwl.datasets.generator import Generator, Simulation
from swwl.datasets.tensile2d.material import Material
from swwl.datasets.tensile2d.mesh import notched_plate
from swwl.datasets.tensile2d.solver import nodal_von_mises, pull
from swwl.mesh.mesh import Mesh


def simulate(inputs: Mapping[str, float], n_nodes: int, aspect: float = 1.0) -> Simulation:
    """Mesh a plate, pull it, and read off the largest von Mises stress at a node.

    Parameters
    ----------
    inputs : mapping of str to float
        The names of `TENSILE2D`'s scalars and shape.
    n_nodes : int
    aspect : float
        Not used: the triangles are as equilateral as they can be.
    """
    points, triangles = notched_plate(inputs["notch_radius"], inputs["notch_height"], n_nodes)
    material = Material(
        inputs["yield_stress"],
        inputs["hardening"],
        inputs["hardening_rate"],
        inputs["viscosity"],
        inputs["exponent"],
    )
    response = pull(points, triangles, material, inputs["pressure"])
    stress = nodal_von_mises(points, triangles, response)
    fields = {"von_mises": stress, "displacement": response.displacement}
    mesh = Mesh(points, {"triangle": triangles}, fields)
    return Simulation(mesh, {"max_von_mises": float(stress.max())})


TENSILE2D = Generator(
    name="tensile2d",
    model=(
        "Plane-stress J2 elasto-viscoplasticity (Norton flow, Voce hardening) on linear triangles, "
        "backward Euler in 4 load steps; stresses in MPa."
    ),
    scalars={
        "yield_stress": (90.0, 160.0),
        "hardening": (50.0, 200.0),
        "hardening_rate": (10.0, 60.0),
        "viscosity": (40.0, 160.0),
        "exponent": (3.0, 10.0),
        "pressure": (50.0, 85.0),
    },
    shape={"notch_radius": (0.15, 0.42), "notch_height": (-0.4, 0.4)},
    targets=("max_von_mises",),
    simulate=simulate,
    n_nodes=1000,
    node_limits=(200, 100_000),
)
