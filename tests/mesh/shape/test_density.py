"""Densities on the skin: what they add up to, and that they do not depend on where a mesh is fine."""

import numpy as np

from swwl import Mesh
from swwl.mesh.shape.density import simplex_stiffness, skin_density


def ring(angles):
    """A closed contour through points of the unit circle."""
    n = len(angles)
    return Mesh(np.column_stack([np.cos(angles), np.sin(angles)]), {"line": [[k, (k + 1) % n] for k in range(n)]})


def lengths(mesh):
    """The length around every node."""
    steps = np.linalg.norm(np.diff(mesh.points[mesh.cells["line"]], axis=1)[:, 0], axis=1)
    return (steps + np.roll(steps, 1)) / 2


def uneven(n, seed=0):
    return ring(np.sort(np.random.default_rng(seed).uniform(0, 2 * np.pi, n)))


def test_a_density_adds_up_to_its_load():
    mesh = uneven(80)
    load = np.random.default_rng(1).normal(size=(80, 2))
    for length in (0.0, 0.1, 1.0):
        density, _ = skin_density(mesh, load, length)
        np.testing.assert_allclose(lengths(mesh) @ density, load.sum(axis=0), rtol=1e-9, atol=1e-9)


def test_a_load_that_grows_with_the_area_is_an_even_density():
    mesh = uneven(60)
    load = lengths(mesh)[:, None] * [2.0, -1.0]
    for length in (0.0, 0.3):
        np.testing.assert_allclose(skin_density(mesh, load, length)[0], np.tile([2.0, -1], (60, 1)), rtol=1e-9)


def test_smoothing_spreads_a_point_load_over_its_length():
    mesh = ring(np.linspace(0, 2 * np.pi, 400, endpoint=False))
    load = np.zeros((400, 2))
    load[200, 0] = 1.0
    peaks = [skin_density(mesh, load, length)[0][:, 0].max() for length in (0.1, 0.2, 0.4)]
    # exp(-|s| / l) / (2 l) on a line
    np.testing.assert_allclose(peaks, [5, 2.5, 1.25], rtol=0.02)


def test_normals_point_outward_and_what_may_not_move_has_no_density():
    mesh = ring(np.linspace(0, 2 * np.pi, 40, endpoint=False))
    movable = mesh.points[:, 0] > 0
    density, normals = skin_density(mesh, np.ones((40, 2)), 0.2, movable)
    np.testing.assert_allclose(normals, mesh.points, atol=1e-12)
    assert not density[~movable].any() and density[movable].all()


def test_linear_functions_have_the_energy_of_their_slope():
    points = np.array([[0.0, 0, 0], [2, 0, 0], [0, 1, 0], [2, 1, 3]])
    matrix = simplex_stiffness(points[:3], np.array([[0, 1, 2]], np.int32)).toarray()
    np.testing.assert_allclose(matrix.sum(axis=1), 0, atol=1e-14)
    u = points[:3, 0] * 3  # slope 3 on an area of 1
    np.testing.assert_allclose(u @ matrix @ u, 9.0)
