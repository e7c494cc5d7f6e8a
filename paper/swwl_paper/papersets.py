"""The paper's sets of meshes and what stands in for them: generators without their simulations, for measuring time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.datasets.airfoil import KINEMATIC_VISCOSITY, N_PANELS
from swwl.datasets.airfoil.boundary_layer import drag_coefficient
from swwl.datasets.airfoil.geometry import Naca4, o_grid
from swwl.datasets.airfoil.panels import solve_panels
from swwl.datasets.blade.geometry import Blade, surface
from swwl.datasets.blade.rotor import operate
from swwl.datasets.tensile2d.mesh import notched_plate

Inputs = Mapping[str, float]
# Points (n, d) and triangles (m, 3).
Cells = tuple[NDArray[np.float64], NDArray[np.integer[Any]]]
KERNELS = ("SWWL(1)", "SWWL(√n)")


@dataclass(frozen=True)
class Case:
    """A data set of the paper, and the generator that stands in for it.

    Attributes
    ----------
    generator : str
    nodes, meshes, training : int
        The paper's, the last of observations that train its Gaussian process.
    batch : int
        Meshes held at a time: some handfuls of :mod:`swwl.embedding.runner` for every thread.
    paper : dict of (kernel, step) to float
        The paper's seconds, on four cores.
    mesh : callable
        Inputs, nodes and a random number from 0 to 1 to points and triangles.
    target : callable
        Inputs to the number that the Gaussian process learns.
    """

    generator: str
    nodes: int
    meshes: int
    training: int
    batch: int
    paper: dict[tuple[str, str], float]
    mesh: Callable[[Inputs, int, float], Cells]
    target: Callable[[Inputs], float]


def _blade_mesh(inputs: Inputs, nodes: int, chance: float) -> Cells:
    mesh = surface(Blade.from_parameters(inputs), nodes)
    return mesh.points, mesh.triangles


def _blade_target(inputs: Inputs) -> float:
    return operate(Blade.from_parameters(inputs), inputs["speed"], inputs["pressure"]).efficiency


def _plate_mesh(inputs: Inputs, nodes: int, chance: float) -> Cells:
    return notched_plate(inputs["notch_radius"], inputs["notch_height"], nodes)


def _plate_target(inputs: Inputs) -> float:
    """Return a stress that rises with the load on the narrow section and bends where the material yields."""
    elastic = inputs["pressure"] * (1 + 1.6 * inputs["notch_radius"]) / (1 - inputs["notch_radius"])
    elastic *= 1 + 0.1 * inputs["notch_height"] ** 2
    strength = inputs["yield_stress"] + 0.1 * inputs["hardening"] * np.log1p(inputs["hardening_rate"])
    strength += 0.2 * inputs["viscosity"] / inputs["exponent"]
    return float((elastic**-4 + strength**-4) ** -0.25)


def _air_mesh(inputs: Inputs, nodes: int, chance: float) -> Cells:
    """Mesh with cells of any aspect, so that no two meshes share their topology."""
    airfoil = Naca4(inputs["camber"], inputs["camber_position"], inputs["thickness"])
    points, triangles, _ = o_grid(airfoil, nodes, float(1.4 ** (2 * chance - 1)))
    return points, triangles


def _air_target(inputs: Inputs) -> float:
    airfoil = Naca4(inputs["camber"], inputs["camber_position"], inputs["thickness"])
    flow = solve_panels(airfoil.contour(np.linspace(0, 2 * np.pi, N_PANELS + 1)), np.deg2rad(inputs["incidence"]))
    return drag_coefficient(flow, inputs["velocity"] / KINEMATIC_VISCOSITY)


def _paper(small: float, distances: float, large: float, training: float) -> dict[tuple[str, str], float]:
    small_steps, large_steps = KERNELS
    return {
        (small_steps, "embedding"): small,
        (small_steps, "distances"): distances,
        (large_steps, "embedding"): large,
        (small_steps, "training"): training,
    }


CASES = {
    case.generator: case
    for case in (
        Case("blade", 29_773, 1200, 1000, 64, _paper(60, 11, 54 * 60, 220), _blade_mesh, _blade_target),
        Case("tensile2d", 9_426, 700, 500, 64, _paper(11, 4, 5 * 60, 70), _plate_mesh, _plate_target),
        Case("airfoil", 179_779, 1000, 800, 12, _paper(300, 7, 232 * 60, 135), _air_mesh, _air_target),
    )
}
