"""Compressor rotor: a blade-element model with correlated losses.

``geometry.py`` describes the blade and meshes its surface, ``rotor.py`` is the model and spreads its forces over the
surface; here the inputs and outputs are named.
"""

from __future__ import annotations

from collections.abc import Mapping

from swwl.datasets.blade.geometry import HEIGHTS, Blade, surface
from swwl.datasets.blade.rotor import operate, surface_pressure
from swwl.datasets.generator import Generator, Simulation
from swwl.mesh.mesh import Mesh

DESIGN_SPEED = 17188.0  # of NASA's Rotor 37, revolutions per minute
_REFERENCE = {  # hub, mid-span and tip; how far the range reaches to both sides
    "inlet_angle": ((52.0, 57.0, 62.0), (4.0, 4.0, 4.0)),
    "exit_angle": ((32.0, 44.0, 53.0), (4.0, 4.0, 3.4)),  # more at the tip chokes too many
    "chord": ((0.056, 0.056, 0.056), (0.0084, 0.0084, 0.0084)),
    "thickness": ((0.08, 0.055, 0.035), (0.024, 0.0165, 0.0105)),
}


def simulate(inputs: Mapping[str, float], n_nodes: int, aspect: float = 1.0) -> Simulation:
    """Find the operating point of a rotor and mesh one of its blades.

    Parameters
    ----------
    inputs : mapping of str to float
        The names of `BLADE`'s scalars and shape.
    n_nodes : int
    aspect : float
        Length of the triangles along the span over their length around, relative to the usual.
    """
    blade = Blade.from_parameters(inputs)
    point = operate(blade, inputs["speed"], inputs["pressure"])
    skin = surface(blade, n_nodes, aspect)
    targets = {
        "massflow": point.massflow,
        "pressure_ratio": point.pressure_ratio,
        "efficiency": point.efficiency,
    }
    mesh = Mesh(skin.points, {"triangle": skin.triangles}, {"pressure": surface_pressure(skin, point)})
    return Simulation(mesh, targets)


BLADE = Generator(
    name="blade",
    model=(
        "A compressor rotor of the kind of NASA Rotor 37, by formulas for the flow through sections of its blade, not "
        "by a flow solver; mass flow 5 to 10 % higher, not validated. Speed in rpm, pressure over inlet total "
        "pressure."
    ),
    scalars={"speed": (0.985 * DESIGN_SPEED, 1.015 * DESIGN_SPEED), "pressure": (1.36, 1.46)},
    shape={
        f"{name}_{height}": (round(middle - reach, 6), round(middle + reach, 6))
        for name, (middles, reaches) in _REFERENCE.items()
        for height, middle, reach in zip(HEIGHTS, middles, reaches, strict=True)
    },
    targets=("massflow", "pressure_ratio", "efficiency"),
    simulate=simulate,
    n_nodes=3000,
    node_limits=(200, 100_000),
)
