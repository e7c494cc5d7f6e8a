"""The airfoil against closed forms: circle, thin-airfoil theory, flat plates, and mesh quality."""

import numpy as np
import pytest

from swwl.datasets import make_samples
from swwl.datasets.airfoil import N_PANELS, simulate
from swwl.datasets.airfoil.boundary_layer import drag_coefficient, march, sides, squire_young
from swwl.datasets.airfoil.geometry import FAR_RADIUS, Naca4, o_grid
from swwl.datasets.airfoil.panels import solve_panels, velocity
from tests.datasets.quality import smallest_angle

PARAMETERS = np.linspace(0, 2 * np.pi, N_PANELS + 1)


def flow_around(camber, thickness, incidence, position=0.4):
    return solve_panels(Naca4(camber, position, thickness).contour(PARAMETERS), np.deg2rad(incidence))


def circle(n):
    angle = -np.linspace(0, 2 * np.pi, n + 1)  # clockwise from the rear
    return np.column_stack([np.cos(angle), np.sin(angle)])


def test_contour_is_closed_and_as_thick_as_asked():
    contour = Naca4(0.0, 0.4, 0.12).contour(np.linspace(0, 2 * np.pi, 2001))
    np.testing.assert_allclose(contour[[0, -1]], [[1, 0], [1, 0]], atol=1e-15)
    assert np.ptp(contour[:, 1]) == pytest.approx(0.12, rel=1e-3)
    top = Naca4(0.04, 0.4, 0.001).contour(np.linspace(np.pi, 2 * np.pi, 2001))
    assert top[:, 1].max() == pytest.approx(0.04 + 0.0005, rel=1e-2)


def test_circle_without_lift():
    """Potential flow around a circle: speed 2 sin(angle) on it, to third order, and 1 - 1 / z² outside."""
    points = np.random.default_rng(0).normal(size=(50, 2))
    points *= (1.2 + np.arange(50)[:, None] / 10) / np.linalg.norm(points, axis=1)[:, None]
    outside = 1 - 1 / (points @ [1, 1j]) ** 2
    on_circle, in_air = [], []
    for n in (40, 80, 160):
        flow = solve_panels(circle(n), 0.0)
        assert abs(flow.lift) < 1e-12
        on_circle.append(np.abs(np.abs(flow.strength) - 2 * np.abs(flow.vertices.imag)).max())
        in_air.append(np.abs(velocity(points, flow) @ [1, -1j] - outside).max())
    assert on_circle[-1] < 2e-6 and in_air[-1] < 1e-3
    np.testing.assert_allclose(np.array(on_circle[:-1]) / on_circle[1:], 8, rtol=0.1)
    np.testing.assert_allclose(np.array(in_air[:-1]) / in_air[1:], 4, rtol=0.2)


def test_circle_with_lift():
    """Kutta's condition at the rear gives a circle of radius 1 the circulation 4 π sin(incidence)."""
    flow = solve_panels(circle(200), 0.2)
    assert flow.lift == pytest.approx(8 * np.pi * np.sin(0.2), rel=2e-3)


def test_symmetric_airfoil_has_no_lift_at_zero_incidence():
    assert abs(flow_around(0.0, 0.12, 0.0).lift) < 1e-9
    lower, upper = sides(flow_around(0.0, 0.12, 0.0))
    assert squire_young(march(*lower, 3e6)) == pytest.approx(squire_young(march(*upper, 3e6)), rel=1e-6)
    assert flow_around(0.0, 0.12, 4.0).lift == pytest.approx(-flow_around(0.0, 0.12, -4.0).lift, rel=1e-9)


@pytest.mark.parametrize("thickness", [0.01, 0.08, 0.16])
def test_lift_slope(thickness):
    """2π for a thin airfoil, more by about 0.77 thickness / chord for a thick one."""
    slope = (flow_around(0.0, thickness, 1.0).lift - flow_around(0.0, thickness, -1.0).lift) / np.deg2rad(2)
    assert slope == pytest.approx(2 * np.pi * (1 + 0.77 * thickness), rel=0.02)


@pytest.mark.parametrize(("camber", "position"), [(0.02, 0.4), (0.05, 0.3), (0.04, 0.6)])
def test_camber_lift_of_thin_airfoil_theory(camber, position):
    angle = (np.arange(20000) + 0.5) * np.pi / 20000
    x = (1 - np.cos(angle)) / 2
    slope = 2 * camber * (position - x) / np.where(x < position, position, 1 - position) ** 2
    zero_lift = -np.mean(slope * (np.cos(angle) - 1))
    lift = flow_around(camber, 0.01, 0.0, position).lift
    assert lift == pytest.approx(-2 * np.pi * zero_lift, rel=0.02)


def test_pressure_integrates_to_the_lift():
    """Bernoulli's pressure around the contour against Kutta and Joukowski's circulation."""
    flow = flow_around(0.03, 0.12, 4.0)
    panels = np.diff(flow.vertices)
    force = np.sum((1 - flow.speed**2) * 1j * panels) * -1  # outward normals lie left of a clockwise contour
    across = (force * np.exp(-1j * flow.incidence)).imag
    along = (force * np.exp(-1j * flow.incidence)).real
    assert across == pytest.approx(flow.lift, rel=0.01)
    assert abs(along) < 5e-3  # d'Alembert


def test_no_flow_through_the_airfoil():
    """Close to the surface the velocity is along it."""
    airfoil = Naca4(0.03, 0.4, 0.12)
    flow = solve_panels(airfoil.contour(PARAMETERS), np.deg2rad(3.0))
    middle, direction = (flow.vertices[1:] + flow.vertices[:-1]) / 2, np.diff(flow.vertices)
    direction /= np.abs(direction)
    near = middle + 1e-6j * direction
    found = velocity(np.column_stack([near.real, near.imag]), flow) @ [1, 1j]
    normal = (found * direction.conj()).imag
    assert np.abs(normal).max() < 1e-3
    np.testing.assert_allclose((found * direction.conj()).real, flow.speed, atol=1e-3)


def test_laminar_plate_is_blasius():
    arc = np.linspace(1e-4, 1, 2000)
    plate = march(arc, np.ones(2000), reynolds=1e5, trip=2.0)
    assert plate.momentum * np.sqrt(1e5) == pytest.approx(0.664, rel=0.02)
    assert plate.shape == pytest.approx(2.59, abs=0.03)


def test_hiemenz_stagnation_flow():
    """With u = s, the momentum thickness is constant: 0.2923 / sqrt(Re), and Thwaites has 0.2739."""
    arc = np.linspace(1e-3, 1, 4000)
    layer = march(arc, arc, reynolds=1e4, trip=2.0)
    assert layer.momentum * 100 == pytest.approx(np.sqrt(0.45 / 6), rel=1e-3)


@pytest.mark.parametrize("reynolds", [2e6, 6e6])
def test_turbulent_plate_is_prandtl_schlichting(reynolds):
    arc = np.linspace(1e-4, 1, 2000)
    plate = march(arc, np.ones(2000), reynolds, trip=1e-3)
    assert 2 * plate.momentum == pytest.approx(0.455 / np.log10(reynolds) ** 2.58, rel=0.08)
    assert 1.2 < plate.shape < 1.5


def test_drag_is_of_flat_plate_order():
    plate = 2 * 0.455 / np.log10(6e6) ** 2.58
    drag = drag_coefficient(flow_around(0.0, 0.12, 0.0), 6e6)
    assert drag == pytest.approx(0.0080, abs=0.0004)  # NACA 0012 with tripped transition
    assert plate < drag < 1.7 * plate
    assert drag_coefficient(flow_around(0.0, 0.12, 6.0), 6e6) > drag
    assert drag_coefficient(flow_around(0.0, 0.12, 0.0), 2e6) > drag
    assert drag_coefficient(flow_around(0.0, 0.16, 0.0), 6e6) > drag


@pytest.mark.slow
def test_meshes_of_random_shapes():
    rng = np.random.default_rng(0)
    for k in range(100):
        airfoil = Naca4(rng.uniform(0, 0.05), rng.uniform(0.3, 0.6), rng.uniform(0.08, 0.16))
        nodes = (500, 2000, 5000, 12000)[k % 4]
        points, triangles, parameters = o_grid(airfoil, nodes)
        assert abs(len(points) / nodes - 1) < 0.02
        assert smallest_angle(points, triangles) > (18 if nodes == 500 else 25)
        a, b, c = points[triangles].transpose(1, 0, 2)
        doubled = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
        assert doubled.min() > 0  # no cell is folded
        np.testing.assert_allclose(points[: len(parameters)], airfoil.contour(parameters), atol=1e-14)
        distance = np.linalg.norm(points[-len(parameters) :] - [0.5, 0], axis=1)
        np.testing.assert_allclose(distance, FAR_RADIUS, rtol=0.02)


def test_large_mesh():
    points, triangles, _ = o_grid(Naca4(0.02, 0.4, 0.12), 180_000)
    assert abs(len(points) / 180_000 - 1) < 0.005
    assert smallest_angle(points, triangles) > 20


def test_pressure_coefficient_field():
    inputs = {"incidence": 3.0, "velocity": 60.0, "camber": 0.02, "camber_position": 0.4, "thickness": 0.12}
    result = simulate(inputs, 4000)
    field = result.fields["pressure_coefficient"]
    distance = np.linalg.norm(result.points - [0.5, 0], axis=1)
    assert field.max() <= 1 + 1e-9 and field.max() > 0.9  # stagnation
    assert -3 < field.min() < -0.5  # suction
    assert np.abs(field[distance > 4.5]).max() < 0.1
    edges = np.vstack([result.cells["triangle"][:, [0, 1]], result.cells["triangle"][:, [1, 2]]])
    assert np.abs(np.diff(field[edges])).max() < 0.8  # the surface's values go over into the air's


@pytest.mark.slow
def test_design_is_solvable():
    samples = make_samples("airfoil", 300, n_nodes=500, random_state=11)
    assert sum(sample.redraws for sample in samples) < 0.02 * 300
    drags = [sample.targets["drag"] for sample in samples]
    assert 0.006 < min(drags) < max(drags) < 0.02
