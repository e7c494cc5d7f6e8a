"""Bodies in meshes: which loops there are, which is which, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from swwl.errors import InputError
from swwl.fields.geometry.walls import (
    inner_loops,
    loop_features,
    match_loops,
    wall_descriptors,
    wall_map,
    wall_shape,
)
from swwl.mesh.mesh import Mesh


def disc_with_holes(holes, n_outer=60, seed=0):
    """Triangles of a disc of radius 10 around holes (center, radius, nodes)."""
    rng = np.random.default_rng(seed)
    rings = [c + r * np.exp(2j * np.pi * np.arange(n) / n) for c, r, n in [(0, 10.0, n_outer), *holes]]
    inside = rng.uniform(-10, 10, 1200) + 1j * rng.uniform(-10, 10, 1200)
    free = (np.abs(inside) < 9.3) & np.all([np.abs(inside - c) > r * 1.25 for c, r, _ in holes], axis=0)
    z = np.concatenate([*rings, inside[free]])
    points = np.column_stack([z.real, z.imag])
    triangles = Delaunay(points).simplices
    middle = z[triangles].mean(axis=1)
    # a triangle whose corners all lie on one hole covers it
    owner = np.repeat(np.arange(len(rings) + 1), [*map(len, rings), int(free.sum())])[triangles]
    within = (owner == owner[:, :1]).all(axis=1) & (owner[:, 0] >= 1) & (owner[:, 0] <= len(holes))
    keep = ~within & (np.abs(middle) < 10)
    return Mesh(points, triangles[keep])


HOLES = [(-3.0, 1.0, 40), (4 + 1j, 1.5, 30)]


def line_ring(z, flip=()):
    n = len(z)
    lines = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])
    lines[list(flip)] = lines[list(flip), ::-1]
    return Mesh(np.column_stack([z.real, z.imag]), {"line": lines})


def test_inner_loops_are_the_holes_and_run_counter_clockwise():
    mesh = disc_with_holes(HOLES)
    loops = inner_loops(mesh)
    assert [loop.tolist() for loop in loops] == [list(range(60, 100)), list(range(100, 130))]
    assert np.allclose(loop_features(mesh, loops), [[-3, 0, 2, 2], [4, 1, 3, 3]], atol=0.05)


def test_meshes_without_bodies_have_no_loops():
    assert inner_loops(disc_with_holes([])) == []
    assert inner_loops(Mesh([[0, 0], [1, 0], [2, 1]], {"line": [[0, 1], [1, 2]]})) == []
    assert inner_loops(Mesh(np.eye(4)[:, :3], {"tetra": [[0, 1, 2, 3]]})) == []
    assert inner_loops(Mesh(np.eye(3), [[0, 1, 2]])) == []
    assert inner_loops(Mesh(np.eye(3)[:, :2], {})) == []


@pytest.mark.parametrize("flip", [(), range(12), (1, 4, 5)])
def test_a_closed_curve_of_lines_is_a_loop_whatever_their_directions(flip):
    mesh = line_ring(np.exp(2j * np.pi * np.arange(12) / 12), flip)
    assert [loop.tolist() for loop in inner_loops(mesh)] == [list(range(12))]
    assert np.abs(wall_descriptors(wall_map(mesh)) - mesh.points).max() < 1e-3


def test_loops_come_in_the_order_of_the_reference():
    first, other = disc_with_holes(HOLES), disc_with_holes(HOLES[::-1], seed=1)
    reference = loop_features(first, inner_loops(first))
    one, two = wall_map(first, reference), wall_map(other, reference)
    assert np.abs(one.walls - two.walls).max() < 0.02
    shapes = [wall_shape(first, reference), wall_shape(other, reference)]
    assert np.allclose([one.walls.ravel(), two.walls.ravel()], shapes) and shapes[0].shape == (512,)


@given(st.permutations(range(4)))
@settings(max_examples=24, deadline=None)
def test_matching_undoes_any_order(order):
    reference = np.random.default_rng(0).uniform(-5, 5, (4, 4))
    assert reference[list(order)][match_loops(reference[list(order)], reference)].tolist() == reference.tolist()


def test_a_finer_mesh_has_the_same_coordinates_at_the_same_places():
    coarse, fine = disc_with_holes(HOLES), disc_with_holes([(c, r, 2 * n) for c, r, n in HOLES], seed=2)
    shared = Mesh(np.vstack([fine.points, coarse.points[130:]]), fine.cells)
    at_coarse = wall_descriptors(wall_map(coarse))[130:]
    at_fine = wall_descriptors(wall_map(shared))[fine.n_nodes :]
    assert np.abs(at_coarse - at_fine).max() < 1e-3
    assert (np.linalg.norm(at_fine.reshape(-1, 2, 2), axis=2) <= 1).all()


def test_the_numbers_of_nodes_do_not_matter():
    mesh = disc_with_holes(HOLES)
    order = np.random.default_rng(3).permutation(mesh.n_nodes)
    place = np.argsort(order)
    shuffled = Mesh(mesh.points[order], place[mesh.cells["triangle"]][::-1])
    reference = loop_features(mesh, inner_loops(mesh))
    plain, turned = wall_map(mesh, reference), wall_map(shuffled, reference)
    assert np.allclose(wall_descriptors(plain)[order], wall_descriptors(turned), atol=1e-4)
    assert np.allclose(plain.walls, turned.walls, atol=1e-4)


def test_another_number_of_loops_is_refused():
    mesh = disc_with_holes(HOLES[:1])
    with pytest.raises(InputError, match="has 1 inner loop, but the first training mesh has 2"):
        wall_map(mesh, np.zeros((2, 4)))


def test_bodies_that_touch_are_refused():
    corners = [[0, 0], [2, 0], [4, 0], [4, 4], [2, 4], [0, 4], [2, 2], [1, 1.5], [1, 2.5], [3, 1.5], [3, 2.5]]
    cells = [
        [0, 1, 7],
        [1, 6, 7],
        [0, 7, 8],
        [0, 8, 5],
        [8, 4, 5],
        [8, 6, 4],
        [1, 2, 9],
        [1, 9, 6],
        [2, 3, 10],
        [2, 10, 9],
    ]
    with pytest.raises(InputError, match="passes node 6 twice; bodies must not touch"):
        inner_loops(Mesh(corners, [*cells, [10, 3, 4], [6, 10, 4]]))
    eight = Mesh(
        [[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]], {"line": [[0, 1], [1, 2], [2, 0], [0, 3], [3, 4], [4, 0]]}
    )
    with pytest.raises(InputError, match="4 lines that meet at node 0"):
        inner_loops(eight)
