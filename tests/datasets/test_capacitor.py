"""The conductors against closed forms: coaxial and eccentric circles, harmonic functions, rates, and mesh quality."""

import numpy as np
import pytest

from swwl.datasets import make_samples
from swwl.datasets.around import Disc, Superellipse, mesh_around
from swwl.datasets.capacitor import CAPACITOR, FAR_RADIUS, laplacian, potential_between
from swwl.datasets.generator import draw
from tests.datasets.quality import smallest_angle


def capacity(bodies, n_nodes, levels, radius=FAR_RADIUS):
    """Charges of the bodies and the mesh, potentials of bodies and circle given."""
    points, triangles, loops = mesh_around(bodies, Disc(radius), n_nodes)
    values = np.repeat(levels, [len(loop) for loop in loops])
    potential, charges = potential_between(points, triangles, np.concatenate(loops), values)
    parts = np.split(charges, np.cumsum([len(loop) for loop in loops])[:-1])
    return np.array([part.sum() for part in parts]), points, potential


def test_circle_in_a_circle():
    """Potential log(R/r) / log(R/a), charge 2 pi / log(R/a)."""
    errors = []
    for n_nodes in (600, 2400):
        charges, points, potential = capacity([Superellipse((0.0, 0.0), (1.0, 1.0))], n_nodes, [1.0, 0.0])
        exact = np.log(FAR_RADIUS / np.linalg.norm(points, axis=1)) / np.log(FAR_RADIUS)
        errors.append([abs(charges[0] / (2 * np.pi / np.log(FAR_RADIUS)) - 1), np.abs(potential - exact).max()])
        assert abs(charges.sum()) < 1e-10
    coarse, fine = errors
    assert fine[0] < 3e-3 and fine[1] < 3e-3
    # second order: a quarter with half the spacing
    assert fine[0] < 0.35 * coarse[0] and fine[1] < 0.45 * coarse[1]


def test_circle_off_the_center_of_a_circle():
    radius, distance, outer = 0.8, 3.0, 6.0
    exact = 2 * np.pi / np.arccosh((outer**2 + radius**2 - distance**2) / (2 * outer * radius))
    charges, _, _ = capacity([Superellipse((distance, 0.0), (radius, radius))], 2500, [1.0, 0.0], outer)
    assert charges[0] == pytest.approx(exact, rel=3e-3)


def test_two_equal_circles_far_from_everything():
    """Opposite voltages: charge 2 pi / arccosh(d / 2a) per volt between the middle and one of them."""
    bodies = [Superellipse((-1.5, 0.0), (0.6, 0.6)), Superellipse((1.5, 0.0), (0.6, 0.6))]
    charges, _, _ = capacity(bodies, 3000, [1.0, -1.0, 0.0], radius=30.0)
    assert charges[0] == pytest.approx(2 * np.pi / np.arccosh(1.5 / 0.6), rel=1e-2)
    assert charges[0] == pytest.approx(-charges[1], rel=2e-3)


def test_harmonic_functions_come_out_to_second_order():
    bodies = [Superellipse((-1.0, 0.5), (0.5, 0.9), 0.4, 4.0), Superellipse((1.5, 0.0), (0.7, 0.5))]
    errors = []
    for n_nodes in (700, 2800):
        points, triangles, loops = mesh_around(bodies, Disc(4.0), n_nodes)
        exact = ((points @ [1, 1j]) ** 3).real
        held = np.concatenate(loops)
        errors.append(np.abs(potential_between(points, triangles, held, exact[held])[0] - exact).max())
    assert errors[1] < 0.4 * errors[0]
    linear = points @ [2.0, -1.0]
    np.testing.assert_allclose(potential_between(points, triangles, held, linear[held])[0], linear, atol=1e-10)


def test_the_largest_potentials_are_on_the_conductors():
    """The maximum principle, and charges that are linear in the voltages with a symmetric matrix."""
    bodies = [Superellipse((-1.5, 0.0), (0.5, 0.9)), Superellipse((1.5, 0.3), (0.6, 0.7), 0.3, 4.0)]
    first, _, potential = capacity(bodies, 1500, [1.0, 0.0, 0.0])
    second, _, _ = capacity(bodies, 1500, [0.0, 1.0, 0.0])
    both, _, _ = capacity(bodies, 1500, [1.0, -0.5, 0.0])
    assert potential.min() > -1e-12 and potential.max() == 1.0
    assert first[1] == pytest.approx(second[0], rel=1e-9) and first[1] < 0
    np.testing.assert_allclose(both, first - 0.5 * second, atol=1e-12)


def test_stiffness_of_a_mesh_knows_constants_and_areas():
    points, triangles, _ = mesh_around([Superellipse((0.0, 0.0), (1.0, 0.5))], Disc(FAR_RADIUS), 500)
    matrix = laplacian(points, triangles)
    assert np.abs(matrix @ np.ones(len(points))).max() < 1e-12
    a, b, c = points[triangles].transpose(1, 0, 2)
    area = np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]).sum() / 2
    assert points[:, 0] @ (matrix @ points[:, 0]) == pytest.approx(area, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n_nodes", [500, 1500])
def test_meshes_are_good_and_of_the_size_asked_for(n_nodes):
    for inputs, aspect in zip(draw(CAPACITOR.ranges, 4, seed=5), [1.0, 0.7, 1.4, 1.0], strict=True):
        sample = CAPACITOR.simulate(inputs, n_nodes, aspect)
        triangles = sample.cells["triangle"]
        assert abs(len(sample.points) / n_nodes - 1) < 0.03
        assert smallest_angle(sample.points, triangles) > 15
        assert np.array_equal(np.unique(triangles), np.arange(len(sample.points)))


def test_every_mesh_has_cells_of_its_own():
    samples = make_samples("capacitor", 3, n_nodes=600, random_topology=True)
    counts = {len(sample.points) for sample in samples}
    assert len(counts) == 3
    assert all(sample.fields["potential"].max() == 1.0 for sample in samples)


@pytest.mark.parametrize("exponent", [2.0, 4.0])
def test_outlines_have_equal_steps_and_enclose_what_they_cover(exponent):
    body = Superellipse((1.0, -2.0), (0.5, 1.1), 0.7, exponent)
    outline = body.outline(0.05)
    steps = np.linalg.norm(np.roll(outline, -1, axis=0) - outline, axis=1)
    assert np.ptp(steps) < 0.05 * steps.mean()
    inside = np.array([1.0, -2.0]) + 0.99 * (outline - [1.0, -2.0])
    assert body.covers(inside).all() and not body.covers(2 * outline - inside).any()
