"""Skins by closed forms: what they enclose, how large they are, where they look."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swwl import InputError, Mesh
from swwl.mesh.boundary import _alone, boundary, piece_normals
from swwl.mesh.shape.sampling import _centers, cell_samples, simplex_sizes, skin_samples
from swwl.mesh.shape.skin import skin
from tests.mesh.shapes import (
    CUBE,
    FILLINGS,
    RELATIVES,
    flipped,
    joined,
    moebius,
    pixels,
    ring,
    sheet,
    shuffled,
    solid,
    sphere,
    together,
    with_more_nodes,
)

some_places = {
    d: st.lists(st.tuples(*[st.integers(0, 2)] * d), min_size=1, max_size=6, unique=True).map(np.array) for d in (2, 3)
}


def n_faces(places):
    """How many faces of unit cubes (or sides of squares) belong to one alone."""
    d = places.shape[1]
    steps = np.vstack([np.eye(d, dtype=int), -np.eye(d, dtype=int)])
    known = {tuple(place) for place in places.tolist()}
    return sum(tuple((place + step).tolist()) not in known for place in places for step in steps)


def enclosed(points, pieces):
    """Area or volume by the divergence theorem: positive where normals point outward."""
    normals = piece_normals(points, pieces)
    return (points[pieces].mean(axis=1) * normals).sum() / points.shape[1]


SOLID = [(kind, name) for kind in FILLINGS for name in (kind, *RELATIVES[kind])]
PLANE = [(kind, name) for kind in ("triangle", "quad") for name in (kind, *RELATIVES[kind])] + [("polygon", "polygon")]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(places=some_places[3], types=st.sampled_from(SOLID), seed=st.integers(0, 99))
def test_the_boundary_of_every_solid_cell(places, types, seed):
    rng = np.random.default_rng(seed)
    kind, name = types
    mesh = shuffled(solid(places, kind, rng), rng)
    mesh = mesh if name == kind else with_more_nodes(mesh, name)
    pieces = boundary(mesh.points, mesh.cells)
    normals = piece_normals(mesh.points, pieces)
    assert np.linalg.norm(normals, axis=1).sum() == pytest.approx(n_faces(places))
    assert enclosed(mesh.points, pieces) == pytest.approx(len(places))
    np.testing.assert_allclose(normals.sum(axis=0), 0, atol=1e-12)
    assert np.isclose(np.abs(normals), 0.5).any(axis=1).all()  # along the axes
    found = skin(mesh)
    assert found.oriented
    np.testing.assert_allclose(np.bincount(found.parts, found.masses), 1 / (found.parts.max() + 1))


@settings(max_examples=60, deadline=None)
@given(places=some_places[2], types=st.sampled_from(PLANE), seed=st.integers(0, 99))
def test_the_boundary_of_every_plane_cell(places, types, seed):
    rng = np.random.default_rng(seed)
    kind, name = types
    mesh = shuffled(pixels(places, kind, rng), rng)
    mesh = mesh if name == kind else with_more_nodes(mesh, name)
    pieces = boundary(mesh.points, mesh.cells)
    assert len(pieces) == n_faces(places)
    assert enclosed(mesh.points, pieces) == pytest.approx(len(places))


def test_a_cell_that_is_not_convex_looks_outward():
    arrow = Mesh([[0, 0], [2, 1], [0, 2], [0.9, 1]], {"quad": [[0, 1, 2, 3]]})
    assert enclosed(arrow.points, boundary(arrow.points, arrow.cells)) == pytest.approx(1.1)


def test_mixed_cells_and_cells_of_lower_dimension():
    points = np.vstack([CUBE, CUBE[[1, 2, 5, 6]] + [1, 0, 0]]).astype(float)
    cells = {
        "hexahedron": [[0, 1, 2, 3, 4, 5, 6, 7]],
        "wedge": [[1, 8, 2, 5, 10, 6], [2, 8, 9, 6, 10, 11]],
        "triangle": [[0, 1, 2]],
        "line": [[0, 1]],
        "vertex": [[0]],
    }
    mesh = Mesh(points, cells)
    pieces = boundary(points, mesh.cells)
    assert np.linalg.norm(piece_normals(points, pieces), axis=1).sum() == pytest.approx(10)
    assert enclosed(points, pieces) == pytest.approx(2)


def test_folded_cells_count_by_what_is_left_of_them():
    """Many programs write wedges as hexahedra with an edge of length zero, triangles as quadrilaterals."""
    wedge = Mesh(CUBE.astype(float), {"hexahedron": [[0, 1, 2, 2, 4, 5, 6, 6], [0, 2, 3, 3, 4, 6, 7, 7]]})
    pieces = boundary(wedge.points, wedge.cells)
    assert enclosed(wedge.points, pieces) == pytest.approx(1)
    assert np.linalg.norm(piece_normals(wedge.points, pieces), axis=1).sum() == pytest.approx(6)
    square = Mesh(CUBE[:4, :2].astype(float), {"quad": [[0, 1, 2, 2], [0, 2, 3, 3]]})
    assert len(boundary(square.points, square.cells)) == 4


def test_many_nodes_have_keys_of_several_numbers():
    """Faces of four corners do not fit into one 64-bit number from some 55 000 nodes on."""
    mesh = solid(np.array([[0, 0, 0], [1, 0, 0]]), "hexahedron", np.random.default_rng(0))
    far = Mesh(np.vstack([np.zeros((70_000, 3)), mesh.points]), {"hexahedron": mesh.cells["hexahedron"] + 70_000})
    assert enclosed(far.points, boundary(far.points, far.cells)) == pytest.approx(2)
    assert len(skin(far).pieces) == 20


@pytest.mark.parametrize("most", [4, 2**16, 2**20, 2**40])
def test_keys_that_occur_once(most):
    keys = np.random.default_rng(most).integers(most // 2, most, 5000)
    values, counts = np.unique(keys, return_counts=True)
    np.testing.assert_array_equal(_alone(keys), np.isin(keys, values[counts == 1]))
    assert _alone(keys[:0]).shape == (0,)


def test_a_hole_weighs_as_much_as_the_rest_and_looks_into_itself():
    places = np.array([place for place in itertools.product(range(3), repeat=2) if place != (1, 1)])
    found = skin(mesh := pixels(places, "quad", np.random.default_rng(0)))
    middle = mesh.points[found.pieces].mean(axis=1)
    inner = np.abs(middle - 1.5).max(axis=1) < 1
    assert found.masses[inner] == pytest.approx(0.5 / 4)
    assert found.masses[~inner] == pytest.approx(0.5 / 12)
    inward = ((middle - 1.5) * found.normals).sum(axis=1)
    assert (inward[inner] < 0).all() and (inward[~inner] > 0).all()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seam", [False, True])
def test_a_sphere_looks_outward_whatever_the_order_of_its_nodes(share, seam):
    rng = np.random.default_rng(0)
    mesh = flipped(sphere(3, 2.0, (5, 0, 0)), rng, share)
    if seam:  # every triangle with nodes of its own
        mesh = Mesh(mesh.points[mesh.cells["triangle"]].reshape(-1, 3), np.arange(3 * mesh.n_cells).reshape(-1, 3))
    found = skin(mesh)
    assert found.oriented and found.parts.max() == 0
    middle = mesh.points[found.pieces].mean(axis=1) - [5, 0, 0]
    assert ((middle / np.linalg.norm(middle, axis=1)[:, None] * found.normals).sum(axis=1) > 0.998).all()
    assert found.masses.sum() == pytest.approx(1)
    # the pieces say the same as the normals
    again = piece_normals(mesh.points, found.pieces)
    np.testing.assert_allclose(again / np.linalg.norm(again, axis=1)[:, None], found.normals, atol=1e-9)


def test_two_spheres_and_two_contours_weigh_the_same():
    rng = np.random.default_rng(0)
    for mesh in (
        flipped(together(sphere(1), sphere(3, 0.1, (4, 0, 0))), rng),
        flipped(together(ring(50), ring(300, 0.01, (3, 0))), rng),
    ):
        found = skin(shuffled(mesh, rng))
        assert found.oriented
        np.testing.assert_allclose(np.bincount(found.parts, found.masses), [0.5, 0.5])


def test_spheres_that_touch_at_a_node_are_turned_one_by_one():
    inverted = sphere(2, 1.0, (2, 0, 0))
    inverted = Mesh(inverted.points, inverted.cells["triangle"][:, ::-1])
    mesh = together(sphere(2), inverted)
    found = skin(mesh)
    centers = mesh.points[found.pieces].mean(axis=1)
    centers[centers[:, 0] > 1, 0] -= 2
    assert ((centers * found.normals).sum(axis=1) > 0).all()
    assert found.parts.max() == 0


def test_a_contour_looks_outward():
    rng = np.random.default_rng(0)
    mesh = shuffled(flipped(ring(50, 3.0), rng), rng)
    found = skin(mesh)
    middle = mesh.points[found.pieces].mean(axis=1)
    np.testing.assert_allclose(found.normals, middle / np.linalg.norm(middle, axis=1)[:, None], atol=1e-9)
    np.testing.assert_allclose(found.masses, 1 / 50)


def test_open_lines_and_surfaces_keep_the_order_of_their_nodes():
    line = Mesh([[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 2]])
    np.testing.assert_allclose(skin(line).normals, [[0, -1], [0, -1]])
    back = Mesh([[0, 0], [1, 0], [2, 0]], [[2, 1], [1, 0]])
    np.testing.assert_allclose(skin(back).normals, [[0, 1], [0, 1]])
    assert (skin(sheet()).normals[:, 2] > 0).all()
    assert (skin(flipped(sheet(), np.random.default_rng(0), 1.0)).normals[:, 2] < 0).all()
    assert skin(line).oriented and skin(sheet()).oriented


def test_what_has_no_two_sides_says_so():
    rng = np.random.default_rng(0)
    cases = {
        "it has only one side": moebius(),
        "it encloses nothing, and its cells are not all numbered": flipped(sheet(), rng),
        "more than two of its cells meet at one edge": Mesh(
            [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]], [[0, 1, 2], [0, 3, 1], [0, 1, 4]]
        ),
        "more than two of its cells meet at one node": Mesh(
            [[0, 0], [1, 0], [0, 1], [-1, 0]], [[0, 1], [0, 2], [0, 3]]
        ),
    }
    for reason, mesh in cases.items():
        found = skin(mesh)
        assert not found.oriented and reason in found.reason
        assert not skin_samples(mesh).oriented
    # one part of several is enough
    assert not skin(together(sphere(1), moebius())).oriented


def test_a_closed_part_that_is_flat_keeps_the_order_of_its_nodes():
    front_and_back = Mesh(CUBE[:3], [[0, 1, 2], [0, 2, 1]])
    found = skin(front_and_back)
    assert found.oriented
    np.testing.assert_allclose(found.normals, [[0, 0, 1], [0, 0, -1]], atol=1e-12)
    assert not skin(Mesh(CUBE[:3], [[0, 1, 2], [0, 1, 2]])).oriented


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        (Mesh([[0, 0, 0], [1, 0, 0]], [[0, 1]]), "Lines on points of 3 coordinates have no skin"),
        (Mesh([[0.0], [1.0]], [[0, 1]]), "Lines on points of 1 coordinate have no skin"),
        (Mesh([[0, 0], [1, 0]], {"vertex": [[0]]}), "no cells, so it has no skin"),
        (Mesh([[0, 0], [1, 0], [2, 0]], [[0, 1, 2]]), None),
        (Mesh([[0, 0], [0, 0], [0, 0]], [[0, 1, 2]]), "no skin: its cells have no size"),
        (Mesh([[0, 0], [1, 0], [0, 1]], {"triangle": [[0, 1, 2]] * 2}), "no side that belongs to one cell alone"),
    ],
)
def test_meshes_without_a_skin(mesh, message):
    if message is None:  # flat, but its sides have a length
        assert len(skin(mesh).pieces) == 3
        return
    with pytest.raises(InputError, match=message):
        skin(mesh)


@pytest.mark.parametrize("size", [1e-150, 1e-6, 1e6, 1e150])
@pytest.mark.parametrize("shift", [0, 1e3])
def test_tiny_and_huge_meshes_have_the_same_skin(size, shift):
    for mesh in (sphere(2), ring(40), pixels(np.array([[0, 0], [1, 0]]), "triangle", np.random.default_rng(0))):
        plain = skin(mesh)
        found = skin(Mesh((mesh.points + shift) * size, dict(mesh.cells)))
        np.testing.assert_array_equal(found.pieces, plain.pieces)
        np.testing.assert_allclose(found.normals, plain.normals, atol=1e-9)
        np.testing.assert_allclose(found.masses, plain.masses, rtol=1e-9)


def test_pieces_of_no_size_are_left_out():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0, 0]], [[0, 1, 2], [0, 2, 3], [0, 4, 1]])
    found = skin(mesh)
    assert len(found.pieces) == 2
    np.testing.assert_allclose(np.abs(found.normals), [[0, 0, 1]] * 2)


# ---- samples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dimension", "cuts"), [(1, 1), (1, 7), (2, 1), (2, 2), (2, 5), (3, 1), (3, 2), (3, 4)])
def test_centers_of_equal_parts(dimension, cuts):
    weights = _centers(dimension, cuts)
    assert len(weights) == cuts**dimension == len(np.unique(weights.round(9), axis=0))
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (weights > 0).all()
    np.testing.assert_allclose(weights.mean(axis=0), 1 / (dimension + 1))
    # The second moment of n^k equal parts misses that of the whole by 1/n^2 of it: for k = 3, up to their shapes.
    whole = (1 + np.eye(dimension + 1)) / ((dimension + 1) * (dimension + 2))
    error = np.abs(weights.T @ weights / len(weights) - whole).max()
    assert error <= 1.001 * np.abs(1 / (dimension + 1) ** 2 - whole).max() / (cuts**2 if dimension < 3 else cuts**1.5)


@pytest.mark.parametrize("least", [1, 100, 3000])
def test_samples_have_the_mass_and_the_moments_of_their_cells(least):
    rng = np.random.default_rng(0)
    places3 = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    for mesh in [ring(30), sphere(1), *(solid(places3, kind, rng) for kind in FILLINGS)]:
        found = cell_samples(mesh, least)
        assert found.masses.sum() == pytest.approx(1)
        assert found.masses.max() <= 1 / least * (1 + 1e-8)
        assert found.normals is None
    corner = cell_samples(solid(places3, "tetra", rng), least)
    np.testing.assert_allclose(corner.masses @ corner.points, (places3 + 0.5).mean(axis=0))
    plain = skin_samples(sphere(3), least)
    assert plain.normals.shape == plain.points.shape and plain.oriented
    np.testing.assert_allclose(plain.masses @ plain.points, 0, atol=1e-12)


def test_a_large_side_has_as_many_points_as_its_mass_asks_for():
    outer, inner = ring(4, 10.0), ring(500)
    found = skin_samples(together(outer, inner), 1000)
    far = np.linalg.norm(found.points, axis=1) > 2
    assert far.sum() == 500 and found.masses[far].max() == pytest.approx(1e-3)
    assert (~far).sum() == 3 * 500


def test_points_are_as_many_as_skins_of_each_dimension_need():
    square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    assert skin_samples(square).masses.max() <= 1 / 2000 * (1 + 1e-6) < skin_samples(square, least=1000).masses.max()
    cube = Mesh(CUBE, {"hexahedron": [range(8)]})
    assert skin_samples(cube).masses.max() <= 1 / 10_000 < skin_samples(cube, least=2000).masses.max()


def test_sizes_of_simplices():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((4, 3))
    four = np.arange(4, dtype=np.int32)[None]
    assert simplex_sizes(points, four) == pytest.approx(abs(np.linalg.det(points[1:] - points[0])) / 6)
    assert simplex_sizes(points[:, :2], four[:, :3]) == pytest.approx(
        abs(np.linalg.det(points[1:3, :2] - points[0, :2])) / 2
    )
    for mesh, message in (
        (Mesh(np.zeros((3, 2)), [[0, 1, 2]]), "no cells with a length"),
        (Mesh(rng.random((2, 4)), [[0, 1]]), "points of 4 coordinates cannot be measured"),
        (Mesh([[0.0]], {}), "no cells with a length"),
    ):
        with pytest.raises(InputError, match=message):
            cell_samples(mesh)


def test_a_surface_of_quadrilaterals_is_that_of_its_halves():
    faces = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
    box = joined([CUBE[face] for face in faces], "quad")
    found = skin(flipped(box, np.random.default_rng(0)))
    assert found.oriented and len(found.pieces) == 12
    assert enclosed(box.points, found.pieces) == pytest.approx(1)
