"""Moments of a part and of its boundary: closed forms, invariance under refinement, rates on smooth skins, adjoints."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

from swwl import Mesh
from swwl.mesh.shape.curvature import measure_names, pairs, part_moments, part_moments_back
from swwl.mesh.shape.skin import skin
from tests.helpers import assert_slope
from tests.mesh.shapes import joined, moebius, pixels, ring, sheet, solid, sphere


def moments(mesh, center=None):
    center = np.zeros(mesh.dimension) if center is None else center
    found = part_moments(mesh.points, skin(mesh), center)
    return dict(zip(measure_names(mesh.dimension), found, strict=True))


def scaled(mesh, factors):
    return Mesh(mesh.points * factors, mesh.cells)


def torus(n, seed=0, large=3.0, small=1.0):
    """Irregular triangles between random places on a torus."""
    rng = np.random.default_rng(seed)
    a, b = 3 * n, n
    u, v = np.meshgrid(np.arange(a) / a, np.arange(b) / b, indexing="ij")
    places = np.column_stack([(u + rng.uniform(-0.3, 0.3, u.shape) / a).ravel(),
                              (v + rng.uniform(-0.3, 0.3, v.shape) / b).ravel()])  # fmt: skip
    tiles = np.concatenate([places + [i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)])
    triangles = Delaunay(tiles * [large, small]).simplices
    middle = tiles[triangles].mean(axis=1)
    inside = ((middle >= 0) & (middle < 1)).all(axis=1)
    cells = np.unique(np.sort(triangles[inside] % len(places), axis=1), axis=0)
    (u, v), away = 2 * np.pi * places.T, large + small * np.cos(2 * np.pi * places[:, 1])
    return Mesh(np.column_stack([away * np.cos(u), away * np.sin(u), small * np.sin(v)]), {"triangle": cells})


@pytest.mark.parametrize("kind", ["hexahedron", "wedge", "tetra"])
def test_a_block_has_the_moments_of_the_closed_forms(kind):
    a, b, c = 3.0, 2.0, 0.5
    block = scaled(solid(np.array([[0, 0, 0]]), kind, np.random.default_rng(0)), [a, b, c])
    found = moments(block)
    np.testing.assert_allclose(found["inside"][:4], a * b * c * np.array([1, a / 2, b / 2, c / 2]))
    np.testing.assert_allclose(found["inside"][[4, 5]], a * b * c * np.array([a * a / 3, a * b / 4]))
    assert found["skin"][0] == pytest.approx(2 * (a * b + b * c + c * a))
    np.testing.assert_allclose(found["skin towards +x"][:2], [b * c, a * b * c])
    for axis, length in zip("xyz", (a, b, c), strict=True):  # four edges, a right angle each
        assert found[f"edges along {axis}"][0] == pytest.approx(np.pi * length)
    np.testing.assert_allclose(found["corners"][:4], 4 * np.pi * np.array([1, a / 2, b / 2, c / 2]))


def test_every_hole_takes_one_from_the_total_of_the_corners():
    rng = np.random.default_rng(0)
    frame = np.array([[i, j, 0] for i in range(3) for j in range(3) if (i, j) != (1, 1)])
    assert moments(solid(frame, "hexahedron", rng))["corners"][0] == pytest.approx(0.0, abs=1e-9)
    two = np.array([[i, j, 0] for i in range(5) for j in range(3) if (i, j) not in ((1, 1), (3, 1))])
    assert moments(solid(two, "tetra", rng))["corners"][0] == pytest.approx(-4 * np.pi)
    plane = pixels(frame[:, :2], "triangle", rng)
    assert moments(plane)["corners"][0] == pytest.approx(0.0, abs=1e-9)
    assert moments(ring(17))["corners"][0] == pytest.approx(2 * np.pi)


def test_open_surfaces_bend_and_enclose_nothing():
    found = moments(sheet())
    assert found["corners"][0] == pytest.approx(2 * np.pi)  # Gauss and Bonnet: a disk, with the turns of its rim
    assert not found["inside"].any()
    strip = moments(moebius())
    assert not strip["inside"].any() and not strip["edges along x"].any()
    assert strip["corners"][0] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(strip["skin towards +x"], strip["skin towards -x"])


@pytest.mark.parametrize("dimension", [2, 3])
def test_cells_cut_into_smaller_ones_change_nothing(dimension):
    rng = np.random.default_rng(1)
    places = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])[:, :dimension]
    coarse = solid(places, "hexahedron", rng) if dimension == 3 else pixels(places[:3], "quad", rng)
    steps = np.array(np.meshgrid(*[[0, 1]] * dimension)).reshape(dimension, -1).T
    finer = (2 * places[:, None] + steps).reshape(-1, dimension)
    fine = (
        solid(finer, "tetra", rng)
        if dimension == 3
        else pixels((2 * places[:3, None] + steps).reshape(-1, 2), "triangle", rng)
    )
    one, other = moments(coarse), moments(scaled(fine, 0.5))
    for name, values in one.items():
        np.testing.assert_allclose(other[name], values, atol=1e-12, err_msg=name)


def test_they_converge_on_smooth_skins():
    """With the square of the size of cells, also where triangles are irregular and a skin bends both ways."""
    errors = []
    for rounds in (2, 3, 4):
        found = moments(sphere(rounds, radius=2.0))
        bend = sum(found[f"edges along {axis}"][0] for axis in "xyz")
        assert found["corners"][0] == pytest.approx(4 * np.pi)
        # The mean curvature 1 / r over the sphere, and its second moment.
        second = found["edges along x"][4:] - 2.0**2 * found["edges along x"][0] * np.array([1, 0, 0, 2, 0, 2]) / 5
        errors.append([abs(bend - 8 * np.pi) / (8 * np.pi), np.abs(second).max() / 50])
    rates = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert (rates > 1.7).all() and max(errors[-1]) < 0.003
    errors = []
    for n in (8, 16, 32):
        found = moments(torus(n))
        bend = sum(found[f"edges along {axis}"][0] for axis in "xyz")
        errors.append(abs(bend - 6 * np.pi**2) / (6 * np.pi**2))  # 2 pi^2 R
        assert found["corners"][0] == pytest.approx(0.0, abs=1e-8)
    assert errors[2] < errors[1] < errors[0] and errors[2] < 0.005


def test_the_center_only_moves_the_moments():
    mesh, shift = sphere(2, center=(0.3, -1.0, 2.0)), np.array([0.5, 1.0, -2.0])
    one, other = moments(mesh), moments(Mesh(mesh.points + shift, mesh.cells), shift)
    for name, values in one.items():
        np.testing.assert_allclose(other[name], values, atol=1e-9, err_msg=name)


def example(name, rng):
    if name == "solid":
        points = rng.normal(size=(40, 3))
        return Mesh(points, {"tetra": Delaunay(points).simplices})
    if name == "plane":
        points = rng.normal(size=(30, 2))
        return Mesh(points, {"triangle": Delaunay(points).simplices})
    mesh = {"open": sheet(5), "closed": sphere(1), "contour": ring(9)}[name]
    return Mesh(mesh.points + 0.05 * rng.normal(size=mesh.points.shape), mesh.cells)


@pytest.mark.parametrize("name", ["solid", "plane", "open", "closed", "contour"])
def test_the_adjoint_is_the_transposed_derivative(name):
    rng = np.random.default_rng(2)
    mesh = example(name, rng)
    center, d = np.zeros(mesh.dimension), mesh.dimension
    count = len(measure_names(d))
    direction, pull = rng.normal(size=mesh.points.shape), rng.normal(size=(count, 1 + d + len(pairs(d)), count))
    pull *= np.eye(count)[:, None]  # each measure by itself
    back = part_moments_back(mesh.points, skin(mesh), center, pull)

    def along(h):
        moved = Mesh(mesh.points + h * direction, mesh.cells)
        return np.einsum("ij,ijm->m", part_moments(moved.points, skin(moved), center), pull)

    assert_slope(np.einsum("nd,ndm->m", direction, back), along, rtol=1e-5, scale=10.0)


def test_cells_may_share_edges_in_threes():
    """What cannot be told to bend does not; the rest is counted."""
    corners = [[[0, 0, 0], [1, 0, 0], [0.5, np.cos(t), np.sin(t)]] for t in (0.0, 2.0, 4.0)]
    found = moments(joined(np.array(corners), "triangle"))
    assert not found["edges along x"].any() and found["skin"][0] == pytest.approx(1.5)
