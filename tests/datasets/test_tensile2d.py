"""The notched plate against closed forms: patch test, bars, flow rule, stress concentration, mesh quality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import spsolve

from swwl.datasets.generator import Unsolvable
from swwl.datasets.tensile2d.material import Material, return_map, von_mises
from swwl.datasets.tensile2d.mesh import notched_plate
from swwl.datasets.tensile2d.solver import Elements, Stiffness, load_path, nodal_von_mises, pull
from tests.datasets.quality import smallest_angle
from tests.helpers import assert_slope

STEEL = Material(yield_stress=100.0, hardening=120.0, hardening_rate=30.0, viscosity=80.0, exponent=5.0)
ELASTIC = Material(1e9, 0.0, 1.0, 1.0, 1.0)


def rectangle(n):
    """Triangles of an n by n grid on [0, 1]², alternating diagonals left out on purpose: any mesh will do."""
    x, y = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1))
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    triangles = np.vstack(
        [
            np.column_stack([corner, corner + 1, corner + n + 2]),
            np.column_stack([corner, corner + n + 2, corner + n + 1]),
        ]
    )
    return np.column_stack([x.ravel(), y.ravel()]), triangles


def bar(material, pressure, steps):
    """Pull a square bar: the stress is uniaxial and the same everywhere."""
    points, triangles = rectangle(3)
    elements = Elements(points, triangles)
    bottom, top = points[:, 1] == 0, np.flatnonzero(points[:, 1] == 1)
    held = np.append(2 * np.flatnonzero(bottom) + 1, 0)
    load = np.zeros(2 * len(points))
    load[2 * top + 1] = pressure / 3
    load[2 * top[[0, -1]] + 1] /= 2
    return points, load_path(elements, material, np.setdiff1d(np.arange(len(load)), held), load, steps)


def test_patch_test():
    """A linear displacement on the outline must come back inside, to rounding, on an irregular mesh."""
    points, triangles = notched_plate(0.3, 0.1, 400)
    gradient = np.array([[1e-3, -4e-4], [7e-4, 2e-3]])
    exact = (points @ gradient.T).ravel()
    edges = np.sort(np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    edges, count = np.unique(edges, axis=0, return_counts=True)
    outline = np.unique(edges[count == 1])
    held = np.union1d(2 * outline, 2 * outline + 1)
    free = np.setdiff1d(np.arange(2 * len(points)), held)
    elements = Elements(points, triangles)
    matrix = Stiffness(elements, np.arange(2 * len(points))).assemble(STEEL.elasticity).tocsr()
    solved = exact.copy()
    solved[free] = spsolve(matrix[free][:, free].tocsc(), -matrix[free][:, held] @ exact[held])
    assert len(free) > 100
    np.testing.assert_allclose(solved, exact, atol=1e-15)
    strain = [gradient[0, 0], gradient[1, 1], gradient[0, 1] + gradient[1, 0]]
    np.testing.assert_allclose(elements.strain(solved), np.tile(strain, (len(triangles), 1)), atol=1e-13)


def test_stiffness_matches_forces():
    """The assembled tangent is the derivative of the internal forces, and symmetric."""
    points, triangles = notched_plate(0.3, -0.2, 250)
    elements = Elements(points, triangles)
    matrix = Stiffness(elements, np.arange(elements.n_dofs)).assemble(STEEL.elasticity)
    displacement = np.random.default_rng(0).normal(size=elements.n_dofs)
    forces = elements.force(elements.strain(displacement) @ STEEL.elasticity)
    np.testing.assert_allclose(matrix @ displacement, forces, rtol=1e-9, atol=1e-6)
    assert abs(matrix - matrix.T).max() < 1e-9


def test_elastic_bar():
    points, response = bar(STEEL, pressure=80.0, steps=4)
    strain = 80.0 / STEEL.young
    np.testing.assert_allclose(response.displacement[:, 1], strain * points[:, 1], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(response.displacement[:, 0], -0.3 * strain * points[:, 0], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(response.stress, np.tile([0, 80.0, 0], (18, 1)), atol=1e-8)
    assert np.all(response.plastic == 0)


def test_viscoplastic_bar_converges_to_the_closed_form():
    """Without hardening, p' = ((P t - σ_y) / K)^n integrates by hand; backward Euler is of first order."""
    material, pressure = Material(100.0, 0.0, 10.0, 80.0, 3.0), 160.0
    exact = 80.0 / (pressure * 4) * ((pressure - 100.0) / 80.0) ** 4
    errors = []
    for steps in (32, 64, 128):
        _, response = bar(material, pressure, steps)
        np.testing.assert_allclose(von_mises(response.stress), pressure, rtol=1e-5)
        errors.append(response.plastic.mean() / exact - 1)
    assert abs(errors[-1]) < 0.05
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 2, rtol=0.05)
    assert abs(2 * errors[-1] - errors[-2]) < 1e-3  # extrapolated to vanishing steps


def test_viscoplastic_bar_with_hardening_follows_the_ode():
    def rate(t, p):
        overstress = 180.0 * t - STEEL.flow_stress(np.maximum(p, 0), np.zeros(1), 1.0)
        return (np.maximum(overstress, 0) / STEEL.viscosity) ** STEEL.exponent

    exact = solve_ivp(rate, (0, 1), [0.0], method="Radau", rtol=1e-8, atol=1e-12).y[0, -1]
    coarse, fine = (bar(STEEL, 180.0, steps)[1].plastic.mean() for steps in (40, 80))
    assert abs(fine / exact - 1) < 0.03
    assert abs((2 * fine - coarse) / exact - 1) < 2e-3  # extrapolated to vanishing steps


def test_plastic_flow_keeps_the_volume():
    """In a bar, the plastic strain is p along and -p/2 across."""
    strain = np.array([[-1e-3, 4e-3, 0.0]])
    state = return_map(strain, np.zeros((1, 3)), np.zeros(1), STEEL, 0.25)
    along = state.stress @ [[2 / 3], [-1 / 3], [0]]
    assert state.plastic[0] > 1e-4
    flow = 1.5 * state.plastic[0] / von_mises(state.stress)[0]
    np.testing.assert_allclose(state.plastic_strain[0, 0], flow * along[0, 0], rtol=1e-9)


strains = st.lists(st.floats(-5e-3, 5e-3), min_size=3, max_size=3)


@settings(max_examples=60, deadline=None)
@given(strains, st.floats(0, 0.05), st.floats(2, 12), st.floats(20, 200))
def test_return_map_satisfies_the_law(strain, plastic, exponent, viscosity):
    """The stress is on the flow surface or inside it, and follows from the elastic strain."""
    material = Material(110.0, 80.0, 20.0, viscosity, exponent)
    state = return_map(np.array([strain]), np.zeros((1, 3)), np.array([plastic]), material, 0.25)
    increment = state.plastic - plastic
    stress = (np.array([strain]) - state.plastic_strain) @ material.elasticity
    np.testing.assert_allclose(state.stress, stress, rtol=1e-6, atol=1e-6)
    surface = material.flow_stress(state.plastic, np.maximum(increment, 0), 0.25)
    if increment[0] > 1e-12:
        np.testing.assert_allclose(von_mises(state.stress), surface, rtol=1e-3 if increment[0] < 1e-9 else 1e-6)
    else:  # what flows so little is below the surface of the largest such increment
        highest = material.flow_stress(state.plastic, np.full(1, 1e-12), 0.25)[0]
        assert von_mises(state.stress)[0] <= highest * (1 + 1e-9)


@pytest.mark.parametrize("strain", [[4e-3, -1e-3, 1e-3], [1e-3, 2e-3, -3e-3], [2e-3, 2e-3, 0.0]])
def test_consistent_tangent(strain):
    """Against central differences."""
    old = (np.array([[2e-4, -1e-4, 1e-4]]), np.array([3e-4]))
    tangent = return_map(np.array([strain]), *old, STEEL, 0.25).tangent[0]
    np.testing.assert_allclose(tangent, tangent.T, rtol=1e-9, atol=1e-6)

    def stress(h):
        nearby = np.array(strain) + h * np.eye(3)
        return return_map(nearby, np.repeat(old[0], 3, 0), np.repeat(old[1], 3), STEEL, 0.25).stress

    assert_slope(tangent, stress, scale=np.abs(tangent).max(), steps=10.0 ** -np.arange(5, 10))


@pytest.mark.slow
def test_stress_concentration():
    """Peterson's factor for opposite half-round notches: 2.57 on the net section at 2r / H = 0.15."""
    points, triangles = notched_plate(0.15, 0.0, 9000)
    stress = nodal_von_mises(points, triangles, pull(points, triangles, ELASTIC, 1.0))
    net = 2 / (2 - 0.3)
    ratio = 0.15
    peterson = 3.065 - 3.472 * ratio + 1.009 * ratio**2 + 0.405 * ratio**3
    assert stress.max() == pytest.approx(peterson * net, rel=0.05)
    assert abs(points[np.argmax(stress), 1]) < 0.05


def test_equilibrium():
    """Whatever the plasticity, what the bottom holds is what the top pulls."""
    points, triangles = notched_plate(0.35, 0.2, 600)
    response = pull(points, triangles, STEEL, 80.0)
    reaction = Elements(points, triangles).force(response.stress).reshape(-1, 2)
    assert response.plastic.max() > 1e-4
    assert reaction[points[:, 1] < -1 + 1e-9, 1].sum() == pytest.approx(-160.0, rel=1e-5)
    assert np.abs(reaction[:, 0]).max() < 1e-2


def test_hopeless_load_is_reported():
    points, triangles = notched_plate(0.4, 0.0, 250)
    with pytest.raises(Unsolvable):
        pull(points, triangles, Material(90.0, 0.0, 10.0, 1e-6, 10.0), 500.0)


@pytest.mark.slow
def test_meshes_of_random_shapes():
    """Smallest angle, number of nodes, area and topology over 100 shapes."""
    rng = np.random.default_rng(0)
    for k in range(100):
        radius, height, nodes = rng.uniform(0.15, 0.42), rng.uniform(-0.4, 0.4), (250, 900, 900, 2000)[k % 4]
        points, triangles = notched_plate(radius, height, nodes)
        assert smallest_angle(points, triangles) > 20
        assert abs(len(points) / nodes - 1) < 0.03
        assert np.array_equal(np.unique(triangles), np.arange(len(points)))
        elements = Elements(points, triangles)  # refuses clockwise triangles
        disc = np.pi * radius**2  # the polygon in its place is a little smaller
        assert 4 - disc < elements.areas.sum() < 4 - 0.93 * disc
        sides = np.sort(np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
        n_edges = len(np.unique(sides @ [len(points), 1]))
        assert len(points) - n_edges + len(triangles) == 1  # one piece, no holes


def test_notches_are_refined():
    """A small notch gets as many nodes as a large one, so its peak stress is resolved as well."""
    for radius in (0.15, 0.42):
        points, _ = notched_plate(radius, 0.1, 900)
        on_notch = np.abs(np.hypot(1 - points[:, 0], points[:, 1] - 0.1) - radius) < 1e-9
        assert on_notch.sum() >= 18


def test_largest_stress_hardly_depends_on_the_mesh():
    """Meshes of slightly different size, one plate: the target's noise is far below its spread of 20 MPa."""
    stresses = []
    for nodes in (860, 900, 940):
        points, triangles = notched_plate(0.2, 0.15, nodes)
        stresses.append(nodal_von_mises(points, triangles, pull(points, triangles, STEEL, 70.0)).max())
    assert np.std(stresses) < 2


def test_impossible_notches_are_refused():
    with pytest.raises(ValueError, match=r"radius 0\.7 at height 0\.4 do not fit"):
        notched_plate(0.7, 0.4, 500)
