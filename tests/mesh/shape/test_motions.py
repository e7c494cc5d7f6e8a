"""Motions of groups: bodies move rigidly, what is named or on the skin stays, and the mesh between them follows."""

import numpy as np
import pytest

from swwl import InputError, Mesh
from swwl.mesh.shape.motions import group_bodies, group_motions, moved_group
from swwl.mesh.shape.skin import skin
from tests.helpers import assert_slope
from tests.mesh.shapes import CUBE, extruded, joined, pixels, revolved, sphere

RNG = np.random.default_rng(0)
HOLES = [(2, 2), (6, 4), (6, 5)]


def plate():
    """A plate of 10 by 8 squares with two holes, the right one twice as high."""
    mesh = pixels([(x, y) for x in range(10) for y in range(8) if (x, y) not in HOLES], "triangle", RNG)
    pieces = skin(mesh).pieces
    inner = ((mesh.points[pieces] > 0) & (mesh.points[pieces] < [10, 8])).all(axis=(1, 2))
    groups = {"hole": pieces[inner], "outside": pieces[~inner]}
    groups["left half"] = {"triangle": np.flatnonzero(mesh.points[mesh.cells["triangle"]][..., 0].max(axis=1) <= 5)}
    groups["tip"] = [int(np.flatnonzero((mesh.points == [10, 8]).all(axis=1))[0])]
    return Mesh(mesh.points, mesh.cells, {"T": mesh.points[:, 0]}, groups=groups)


def block():
    """A block of cubes around a hole of three, all of whose sides are a group."""
    hole = [(2, 2, 1), (2, 2, 2), (1, 2, 1)]
    places = [(x, y, z) for x in range(5) for y in range(4) for z in range(5) if (x, y, z) not in hole]
    mesh = joined([CUBE + place for place in places], "hexahedron")
    inside = ((mesh.points > 0) & (mesh.points < [5, 4, 5])).all(axis=1)
    inside &= np.isin(np.arange(mesh.n_nodes), skin(mesh).pieces)
    return Mesh(mesh.points, mesh.cells, groups={"hole": inside})


PLATE, BLOCK = plate(), block()


def named(mesh, pattern):
    return {motion.name: motion for motion in group_motions(mesh, pattern)}


def test_bodies_are_numbered_from_left_to_right_and_the_whole_is_zero():
    bodies = group_bodies(PLATE, "hole")
    assert [body.number for body in bodies] == [0, 1, 2]
    assert np.allclose([body.center for body in bodies[1:]], [[2.5, 2.5], [6.5, 5]])
    assert np.allclose(bodies[0].center, (4 * bodies[1].center + 6 * bodies[2].center) / 10)  # by their length


def test_a_body_moves_as_one_and_all_other_skin_stays():
    found = named(PLATE, "hole")
    kinds = ("x", "y", "rotation", "size")
    assert list(found) == [f"{name}: {kind}" for name in ("hole", "hole #1", "hole #2") for kind in kinds]
    body, other = (group_bodies(PLATE, "hole")[k].nodes for k in (1, 2))
    away = PLATE.points[body] - [2.5, 2.5]
    for kind, per, wanted in [
        ("x", "length", np.tile([1.0, 0.0], (4, 1))), ("y", "length", np.tile([0.0, 1.0], (4, 1))),
        ("rotation", "degree", np.pi / 180 * away[:, ::-1] * [-1, 1]), ("size", "percent", away / 100),
    ]:  # fmt: skip
        motion = found[f"hole #1: {kind}"]
        assert motion.per == per
        np.testing.assert_allclose(motion.velocity[body], wanted, atol=1e-15)
        assert not motion.velocity[other].any() and not motion.velocity[PLATE.groups["outside"].nodes].any()
    follows = np.setdiff1d(np.arange(PLATE.n_nodes), skin(PLATE).pieces)
    share = found["hole #1: x"].velocity[follows]
    assert (share[:, 0] > 0).all() and (share[:, 0] < 1).all() and not share[:, 1].any()
    near = np.linalg.norm(PLATE.points[follows] - [2.5, 2.5], axis=1)
    assert np.corrcoef(near, share[:, 0])[0, 1] < -0.8


def test_what_follows_is_the_mean_of_its_neighbors():
    """Harmonic, on edges of one length: a closed form at every free node of a grid of squares."""
    mesh = pixels([(x, y) for x in range(5) for y in range(5) if (x, y) != (2, 2)], "quad", RNG)
    middle = ((mesh.points > 1) & (mesh.points < 4)).all(axis=1)
    velocity = named(Mesh(mesh.points, mesh.cells, groups={"hole": middle}), "hole")["hole #1: x"].velocity[:, 0]
    outer = ((mesh.points == 0) | (mesh.points == 5)).any(axis=1)
    assert (velocity[middle] == 1).all() and not velocity[outer].any()
    for node in np.flatnonzero(~middle & ~outer):
        neighbors = np.abs(mesh.points - mesh.points[node]).sum(axis=1) == 1
        assert velocity[node] == pytest.approx(velocity[neighbors].mean())


@pytest.mark.parametrize("mesh", [PLATE, BLOCK], ids=["plane", "space"])
def test_velocities_are_derivatives_of_finite_motions(mesh):
    d = mesh.dimension
    for motion in group_motions(mesh, "hole"):
        axis = np.eye(d)["xyz".index(motion.kind[-1])] if motion.kind[-1] in "xyz" else None
        if motion.per == "length":
            change = {"shift": axis}
        elif motion.per == "degree":
            change = {"degrees": 1.0 if d == 2 else axis}
        else:
            change = {"percent": 1.0}
        (key, unit), n = next(iter(change.items())), motion.body

        def points(h, key=key, unit=unit, n=n):
            return moved_group(mesh, "hole", n, **{key: h * np.asarray(unit)}).points

        assert_slope(motion.velocity, points, atol=1e-9, rtol=1e-7)


def test_shifts_of_bodies_add_up_to_that_of_their_group():
    found = named(PLATE, "hole")
    both = found["hole #1: y"].velocity + found["hole #2: y"].velocity
    np.testing.assert_allclose(found["hole: y"].velocity, both, atol=1e-14)


def test_a_moved_mesh_keeps_cells_fields_and_groups():
    moved = moved_group(PLATE, "hole", 2, shift=[0.4, -0.3], degrees=20, percent=10)
    assert dict(moved.groups) == dict(PLATE.groups) and np.array_equal(moved.fields["T"], PLATE.fields["T"])
    body = group_bodies(PLATE, "hole")[2]
    sizes = [np.linalg.norm(mesh.points[body.nodes] - center, axis=1)
             for mesh, center in ((PLATE, body.center), (moved, body.center + [0.4, -0.3]))]  # fmt: skip
    np.testing.assert_allclose(sizes[1], 1.1 * sizes[0])
    assert np.allclose(group_bodies(moved, "hole")[2].center, body.center + [0.4, -0.3])
    still = moved_group(PLATE, "hole")
    np.testing.assert_array_equal(still.points, PLATE.points)


def test_a_group_of_everything_moves_the_mesh_as_one():
    mesh = Mesh(PLATE.points, PLATE.cells, groups={"all": np.arange(PLATE.n_nodes)})
    for motion in group_motions(mesh, "all"):
        if motion.per == "length" and motion.body == 0:
            assert np.ptp(motion.velocity, axis=0).max() == 0
    moved = moved_group(mesh, "all", shift=[3, 4], degrees=90)
    lengths = [np.linalg.norm(own.points[1:] - own.points[:-1], axis=1) for own in (mesh, moved)]
    np.testing.assert_allclose(*lengths)


def test_cells_of_a_group_move_with_their_inside():
    found = named(PLATE, "left half")
    nodes = PLATE.groups["left half"].nodes
    assert "left half #1: x" in found and (found["left half #1: x"].velocity[nodes, 0] == 1).all()


def test_a_single_node_does_not_turn():
    assert list(named(PLATE, "tip")) == ["tip #1: x", "tip #1: y"]


def test_the_order_of_nodes_does_not_matter():
    order = np.random.default_rng(1).permutation(PLATE.n_nodes)
    place = np.argsort(order)
    other = Mesh(PLATE.points[order], {"triangle": place[PLATE.cells["triangle"]]},
                 groups={"hole": place[PLATE.groups["hole"].faces["line"]]})  # fmt: skip
    for one, two in zip(group_motions(PLATE, "hole"), group_motions(other, "hole"), strict=True):
        assert one.name == two.name
        np.testing.assert_allclose(one.velocity[order], two.velocity, atol=1e-12)


def test_nodes_on_sides_go_with_their_corners():
    points, cells = PLATE.points, PLATE.cells["triangle"]
    sides = np.sort(cells[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    unique, inverse = np.unique(sides, axis=0, return_inverse=True)
    middles = points[unique].mean(axis=1)
    fine = np.hstack([cells, len(points) + inverse.reshape(-1, 3)])
    mesh = Mesh(np.vstack([points, middles]), {"triangle6": fine}, groups={"hole": PLATE.groups["hole"].nodes})
    for coarse, motion in zip(group_motions(PLATE, "hole"), group_motions(mesh, "hole"), strict=True):
        np.testing.assert_allclose(motion.velocity[: len(points)], coarse.velocity, atol=1e-12)
        np.testing.assert_allclose(motion.velocity[len(points) :], coarse.velocity[unique].mean(axis=1), atol=1e-12)


def test_seams_of_a_surface_do_not_open():
    ball = sphere(2)
    soup = Mesh(ball.points[ball.triangles()].reshape(-1, 3), np.arange(3 * len(ball.triangles())).reshape(-1, 3))
    cap = soup.points[:, 2] > 0.5
    mesh = Mesh(soup.points, soup.cells, groups={"cap": cap})
    velocity = named(mesh, "cap")["cap #1: z"].velocity
    assert np.array_equal(velocity[:, 2] == 1, cap) and not velocity[~cap].any()


def test_bodies_in_a_layer_move_in_its_plane():
    turn = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    thick = extruded(PLATE, 0.5, turn)
    found, plane = named(thick, "hole"), named(PLATE, "hole")
    assert [motion.kind for motion in found.values()][:4] == ["x", "z", "rotation", "size"]
    n = PLATE.n_nodes
    velocity = found["hole #1: x"].velocity
    np.testing.assert_allclose(velocity[:n], velocity[n:])
    np.testing.assert_allclose(velocity[:n, 0], plane["hole #1: x"].velocity[:, 0], atol=1e-12)
    assert np.allclose(moved_group(thick, "hole", 1, shift=[0.1, 0]).points, thick.points + 0.1 * velocity)


def test_bodies_in_a_wedge_move_along_its_axis_and_away_from_it():
    mesh = revolved(Mesh(PLATE.points + [0, 1], PLATE.cells))
    body = (np.abs(mesh.points[:, 0] - 2.5) < 1) & (np.abs(np.hypot(*mesh.points.T[1:]) - 3.5) < 0.8)
    found = named(Mesh(mesh.points, mesh.cells, groups={"hole": body}), "hole")
    assert list(found)[:2] == ["hole #1: axis", "hole #1: radius"]
    outward = found["hole #1: radius"].velocity[body]
    away = mesh.points[body, 1:]
    np.testing.assert_allclose(outward[:, 1:], away / np.linalg.norm(away, axis=1)[:, None], atol=1e-12)


@pytest.mark.parametrize(("arguments", "text"), [
    ({"group": "wing"}, "no group 'wing'; its groups are: hole, outside, left half, tip"),
    ({"group": "*"}, "means several groups, one is expected: hole, outside"), ({"body": 3}, "has bodies 1 to 2"),
    ({"shift": [1.0]}, "shift is .*, but 2 finite numbers are expected"),
    ({"shift": [1.0, np.nan]}, "2 finite numbers"), ({"degrees": [1, 2, 3]}, "degrees is .* a finite number"),
    ({"degrees": "left"}, "degrees is 'left'"), ({"percent": -100}, "nothing can shrink"),
    ({"percent": np.inf}, "percent is inf"), ({"shift": [5.0, 0.0]}, "cells turn inside out: try a smaller motion"),
])  # fmt: skip
def test_motions_that_do_not_fit(arguments, text):
    with pytest.raises(InputError, match=text):
        moved_group(PLATE, **{"group": "hole", "body": 1} | arguments)


def test_meshes_without_the_group():
    with pytest.raises(InputError, match="no group 'hole'; it has no groups"):
        group_motions(Mesh(PLATE.points, PLATE.cells), "hole")
    with pytest.raises(InputError, match="'none' is empty"):
        group_motions(Mesh(PLATE.points, PLATE.cells, groups={"none": []}), "none")
    with pytest.raises(InputError, match="have no skin"):
        group_motions(Mesh([[0.0, 0, 0], [1, 0, 0]], [[0, 1]], groups={"end": [1]}), "end")
