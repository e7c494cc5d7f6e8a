"""Arms that bend: the formula at its closed form, surfaces that are closed and look outward, tables that repeat."""

import numpy as np
import pytest

from swwl.datasets.arms import HALF_WIDTH, LENGTH, arm, deflection, half_height, make_arms

HEIGHTS = np.array([12.0, 0.7, 0.2])


def test_a_straight_arm_bends_as_the_book_says():
    inertia = np.pi / 4 * HALF_WIDTH * 10**3
    expected = 500 * LENGTH**3 / (3 * 70e3 * inertia)
    assert deflection(np.array([10.0, 1.0, 0.0]), 500, 70) == pytest.approx(expected, rel=1e-12)
    assert deflection(HEIGHTS, 2 * 500, 3 * 70) == pytest.approx(2 / 3 * deflection(HEIGHTS, 500, 70))


def test_the_integral_is_exact():
    x = np.linspace(0, LENGTH, 200_001)
    values = 500 * (LENGTH - x) ** 2 / (70e3 * np.pi / 4 * HALF_WIDTH * half_height(x, HEIGHTS) ** 3)
    trapezoids = (values.sum() - (values[0] + values[-1]) / 2) * (x[1] - x[0])
    assert deflection(HEIGHTS, 500, 70) == pytest.approx(trapezoids, rel=1e-8)


def test_the_surface_is_closed_and_its_volume_converges():
    expected = np.pi * HALF_WIDTH * np.trapezoid(half_height(np.linspace(0, LENGTH, 10_001), HEIGHTS), dx=LENGTH / 1e4)
    errors = []
    for n in (20, 40, 80):
        mesh = arm(HEIGHTS, n_sections=n, n_around=n)
        triangles = mesh.cells["triangle"]
        sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        assert (np.unique(sides, axis=0, return_counts=True)[1] == 2).all()
        a, b, c = np.moveaxis(mesh.points[triangles], 1, 0)
        errors.append(1 - np.einsum("ij,ij->", a, np.cross(b, c)) / 6 / expected)  # outward: the volume is positive
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1) and errors[1] / errors[2] == pytest.approx(4, rel=0.05)


def test_tables_repeat_and_meshes_differ_in_their_nodes():
    table, again = make_arms(8), make_arms(8)
    assert table.drop(columns="part").equals(again.drop(columns="part"))
    assert all((a.points == b.points).all() for a, b in zip(table["part"], again["part"], strict=True))
    assert len({len(mesh.points) for mesh in table["part"]}) > 4
    assert table["force_N"].between(200, 600).all() and table["modulus_GPa"].between(65, 210).all()
