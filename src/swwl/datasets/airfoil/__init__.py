"""Airfoil in a stream: vortex panels with an integral boundary layer.

``geometry.py`` draws the contour and meshes the air around it, ``panels.py`` and ``boundary_layer.py`` are the two
halves of the model; here the inputs and outputs are named.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from swwl.datasets.airfoil.boundary_layer import drag_coefficient
from swwl.datasets.airfoil.geometry import Naca4, o_grid
from swwl.datasets.airfoil.panels import PanelFlow, solve_panels, velocity
from swwl.datasets.generator import Floats, Generator, Simulation, Unsolvable
from swwl.mesh.mesh import Mesh

N_PANELS = 160
KINEMATIC_VISCOSITY = 1.56e-5  # of air, m²/s; the chord is 1 m


def simulate(inputs: Mapping[str, float], n_nodes: int, aspect: float = 1.0) -> Simulation:
    """Solve the flow around an airfoil and mesh the air.

    Parameters
    ----------
    inputs : mapping of str to float
        The names of `AIRFOIL`'s scalars and shape.
    n_nodes : int
    aspect : float
        Length of the cells across the airfoil over their length along it.
    """
    airfoil = Naca4(inputs["camber"], inputs["camber_position"], inputs["thickness"])
    contour = airfoil.contour(np.linspace(0, 2 * np.pi, N_PANELS + 1))
    flow = solve_panels(contour, np.deg2rad(inputs["incidence"]))
    drag = drag_coefficient(flow, inputs["velocity"] / KINEMATIC_VISCOSITY)
    if not 0 < drag < 0.1:
        raise Unsolvable(f"The boundary layer gave a drag coefficient of {drag}.")
    points, triangles, parameters = o_grid(airfoil, n_nodes, aspect)
    pressure = pressure_coefficient(points, parameters, flow)
    mesh = Mesh(points, {"triangle": triangles}, {"pressure_coefficient": pressure})
    return Simulation(mesh, {"lift": flow.lift, "drag": drag})


def pressure_coefficient(points: Floats, parameters: Floats, flow: PanelFlow) -> Floats:
    """Pressure coefficients (n,) by Bernoulli's law at points (n, 2), the first of them on the airfoil.

    On the airfoil, at contour parameters (n_around,), the speed is the strength of the vortex sheet;
    elsewhere the velocity that sheet and free stream induce.
    """
    n_around = len(parameters)
    at_vertices = np.linspace(0, 2 * np.pi, len(flow.strength))
    squared = np.empty(len(points))
    squared[:n_around] = np.interp(parameters, at_vertices, flow.strength) ** 2
    squared[n_around:] = (velocity(points[n_around:], flow) ** 2).sum(1)
    return 1 - squared


AIRFOIL = Generator(
    name="airfoil",
    model=(
        "Incompressible potential flow by linear vortex panels with a one-way Thwaites, Head and "
        "Squire-Young boundary layer tripped near the nose; force coefficients, no stall. Lift does not "
        "depend on the velocity."
    ),
    scalars={"incidence": (-3.0, 7.0), "velocity": (31.0, 93.0)},
    shape={"camber": (0.0, 0.05), "camber_position": (0.3, 0.6), "thickness": (0.08, 0.16)},
    targets=("lift", "drag"),
    simulate=simulate,
    n_nodes=12_000,
    node_limits=(500, 200_000),
)
