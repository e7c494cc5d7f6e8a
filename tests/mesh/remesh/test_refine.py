"""Finer and coarser meshes of the same part, without any other package."""

import numpy as np
import pytest

from swwl import InputError, Mesh
from swwl.datasets.tensile2d.mesh import notched_plate
from swwl.mesh.cells import lumped_measures
from swwl.mesh.remesh.refine import subdivided
from swwl.mesh.remesh.thin import thinned
from swwl.mesh.shape.part import part_row
from swwl.mesh.shape.sampling import skin_samples
from swwl.mesh.shape.skin import coarseness, skin
from tests.mesh.shapes import pixels, solid


def size(mesh):
    return lumped_measures(mesh.points, mesh.cells).sum()


def circle(n):
    angle = 2 * np.pi * np.arange(n) / n
    return Mesh(np.column_stack([np.cos(angle), np.sin(angle)]), [(k, (k + 1) % n) for k in range(n)])


def sphere(times):
    """An octahedron, cut so many times, its nodes on the unit sphere."""
    mesh = Mesh(np.vstack([np.eye(3), -np.eye(3)]), [[x, y, z] for x in (0, 3) for y in (1, 4) for z in (2, 5)])
    for _ in range(times):
        fine = subdivided(mesh)
        mesh = Mesh(fine.points / np.linalg.norm(fine.points, axis=1, keepdims=True), fine.cells)
    return mesh


def box(n):
    """The unit cube as n x n x n hexahedra."""
    rng = np.random.default_rng(0)
    found = solid([(x, y, z) for x in range(n) for y in range(n) for z in range(n)], "hexahedron", rng)
    return Mesh(found.points / n, found.cells)


PLATE = Mesh(*notched_plate(0.3, 0.1, 500))
PARTS = {
    "circle": circle(40),
    "plate": PLATE,
    "squares": pixels([(0, 0), (1, 0), (1, 1)], "quad", np.random.default_rng(0)),
    "sphere": sphere(2),
    "tetrahedra": solid([(0, 0, 0), (1, 0, 0)], "tetra", np.random.default_rng(0)),
    "hexahedra": solid([(0, 0, 0), (0, 1, 0)], "hexahedron", np.random.default_rng(0)),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_subdivided_is_the_same_part(name):
    mesh = PARTS[name]
    fine = subdivided(mesh)
    factor = 2 ** {"circle": 1, "plate": 2, "squares": 2, "sphere": 2}.get(name, 3)
    assert fine.n_cells == factor * mesh.n_cells
    assert size(fine) == pytest.approx(size(mesh), rel=1e-12)
    np.testing.assert_allclose(part_row(fine), part_row(mesh), atol=1e-9)
    assert coarseness(fine) == pytest.approx(coarseness(mesh) / 2, rel=1e-12)
    assert skin(fine).oriented == skin(mesh).oriented


def test_groups_of_faces_and_of_nodes_are_cut_too():
    cube = Mesh(
        [[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))],
        {"hexahedron": [[0, 1, 2, 3, 4, 5, 6, 7]]},
        groups={"floor": {"quad": [[0, 3, 2, 1]]}, "edge": [0, 1], "inside": {"hexahedron": [0]}},
    )
    fine = subdivided(cube)
    floor = fine.groups["floor"]
    assert len(floor.faces["quad"]) == 4 and (fine.points[floor.nodes][:, 2] == 0).all() and len(floor.nodes) == 9
    np.testing.assert_array_equal(np.sort(fine.points[fine.groups["edge"].nodes][:, 0]), [0, 0.5, 1])
    assert "inside" not in fine.groups


def test_points_on_triangles_are_those_on_their_parts():
    """Exactly the same measure, so that predictions do not move when a mesh is subdivided."""
    mesh = sphere(2)
    one, other = skin_samples(mesh), skin_samples(subdivided(mesh))
    assert len(one.points) == len(other.points)
    rows = [np.column_stack([own.points, own.normals, own.masses]).round(9) for own in (one, other)]
    one, other = (own[np.lexsort(own.T)] + 0.0 for own in rows)
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_fields_are_interpolated_and_kept():
    field = PLATE.points @ [2.0, -1.0] + 3.0
    mesh = Mesh(PLATE.points, PLATE.cells, {"linear": field, "two": np.column_stack([field, field])})
    for other in (subdivided(mesh), thinned(mesh, 0.5)):
        np.testing.assert_allclose(other.fields["linear"], other.points @ [2.0, -1.0] + 3.0, atol=1e-12)
        assert other.fields["two"].shape == (other.n_nodes, 2)


@pytest.mark.parametrize("name", ["circle", "plate", "sphere"])
def test_nodes_are_left_out_and_the_others_stay(name):
    mesh = {"sphere": sphere(3)}.get(name, PARTS[name])
    coarse = thinned(mesh, 0.5)
    assert 0.45 * mesh.n_nodes <= coarse.n_nodes <= 0.55 * mesh.n_nodes
    assert {tuple(point) for point in coarse.points.tolist()} <= {tuple(point) for point in mesh.points.tolist()}
    assert coarseness(coarse) > 1.2 * coarseness(mesh)
    found = skin(coarse)
    assert found.oriented and len(np.unique(found.parts)) == len(np.unique(skin(mesh).parts))
    again = thinned(mesh, 0.5)
    np.testing.assert_array_equal(again.points, coarse.points)


def test_flat_sides_and_sharp_edges_of_a_box_stay():
    mesh = box(5)
    coarse = thinned(mesh, 0.5)
    assert coarse.n_nodes < 0.7 * mesh.n_nodes
    assert size(coarse) == pytest.approx(1.0, abs=0.01)
    corners = {tuple(c) for c in mesh.points[np.isin(mesh.points, (0.0, 1.0)).all(axis=1)].tolist()}
    assert corners <= {tuple(point) for point in coarse.points.tolist()} and len(corners) == 8


def test_the_error_of_a_coarse_sphere_falls_with_its_nodes():
    """Triangles between nodes on a sphere miss its area by O(h^2), that is O(1 / n)."""
    missing = [4 * np.pi - size(thinned(sphere(times), 0.5)) for times in (2, 3, 4)]
    assert missing[0] > 2.5 * missing[1] > 6 * missing[2] > 0
    sizes = [coarseness(sphere(times)) for times in (2, 3, 4)]
    np.testing.assert_allclose(np.diff(np.log2(sizes)), -1.0, atol=0.05)


def test_a_circle_loses_every_second_node():
    coarse = thinned(circle(64), 0.5)
    assert coarse.n_nodes == 32 and coarseness(coarse) == pytest.approx(1 / 32)


def test_cells_that_cannot_be_changed():
    wedge = Mesh(np.eye(6, 3), {"wedge": [[0, 1, 2, 3, 4, 5]]})
    with pytest.raises(InputError, match="'wedge' are not subdivided"):
        subdivided(wedge)
    with pytest.raises(InputError, match="no cells"):
        subdivided(Mesh([[0.0, 0.0]], {}))
    with pytest.raises(InputError, match="Only lines in the plane"):
        thinned(Mesh(np.eye(3), [[0, 1], [1, 2]]), 0.5)
