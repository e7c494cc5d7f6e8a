"""Bodies: closed forms, meshes of any fineness, groups of every kind, derivatives, bad input."""

import numpy as np
import pytest

from swwl import InputError, Mesh
from swwl.datasets.around import Box, Superellipse, mesh_around
from swwl.mesh.remesh.refine import subdivided
from swwl.mesh.shape.bodies import bodies_back, body_names, body_numbers, find_bodies, n_own_numbers

BODIES = [Superellipse((0.8, 0.4), (0.1, 0.1)), Superellipse((1.7, 0.6), (0.2, 0.1), 0.3)]


def channel(bodies=BODIES, n_nodes=700, named=True):
    points, triangles, loops = mesh_around(bodies, Box(3.0, 1.0), n_nodes)
    sides = [np.column_stack([loop, np.roll(loop, -1)]) for loop in loops]
    groups = {"body": np.vstack(sides[:-1]), "wall": sides[-1]} if named else {}
    return Mesh(points, {"triangle": triangles}, groups=groups)


def block(groups=None):
    """Two by one by one cubes, cut into tetrahedra."""
    x, y, z = np.meshgrid(range(5), range(3), range(3), indexing="ij")
    points = np.column_stack([x.ravel(), y.ravel(), z.ravel()]).astype(float)
    number = np.arange(len(points)).reshape(5, 3, 3)
    hexahedra = [
        [number[i + a, j + b, k + c] for a, b, c in
         ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))]
        for i in range(4) for j in range(2) for k in range(2)
    ]  # fmt: skip
    left, right = number[0].ravel(), number[-1].ravel()
    return Mesh(points, {"hexahedron": np.array(hexahedra)}, groups={"left": left, "right": right} | (groups or {}))


def by_name(mesh, pattern):
    return [dict(zip(body_names(mesh.dimension), row, strict=True)) for row in body_numbers(mesh, pattern)]


def test_a_circle_and_an_ellipse():
    length = np.sqrt(10) / 3  # a third of the diagonal
    circle, ellipse = sorted(by_name(channel(n_nodes=6000), "body"), key=lambda own: own["x"])
    assert circle["x"] == pytest.approx((0.8 - 1.5) / length, abs=1e-3)
    assert circle["y"] == pytest.approx((0.4 - 0.5) / length, abs=1e-3)
    assert circle["log size"] == pytest.approx(np.log(2 * np.pi * 0.1 / length), abs=1e-2)
    assert circle["log fullness"] == pytest.approx(np.log(1 / (4 * np.pi)), abs=2e-2)  # area over squared length
    assert circle["xx"] == pytest.approx(0, abs=1e-3) and circle["xy"] == pytest.approx(0, abs=1e-3)
    assert ellipse["xx"] > 0.2 and ellipse["xy"] > 0.1  # long along x, turned counterclockwise


def test_faces_of_a_block():
    left, right = (by_name(block(), name)[0] for name in ("left", "right"))
    length = np.sqrt(24) / 3
    assert left["x"] == pytest.approx(-2 / length) and right["x"] == pytest.approx(2 / length)
    assert left["log size"] == pytest.approx(np.log(4 / length**2 + 1e-4))
    assert left["xx"] == pytest.approx(-1 / 3, abs=1e-5)  # flat in x
    ahead = [name for name in left if name.startswith("around, far: x") and name.endswith("x")]
    assert left["around, far: x"] > 0 and right["around, far: x"] == pytest.approx(-left["around, far: x"])
    assert ahead


@pytest.mark.parametrize("pattern", ["body", None])
def test_finer_meshes_of_the_same_channel_have_the_same_numbers(pattern):
    mesh = channel()
    finer = subdivided(mesh)
    if pattern:
        inside = [np.abs(finer.points - p).sum(axis=1).argmin() for p in mesh.points[mesh.groups["body"].nodes]]
        on_body = find_bodies(finer, None).own >= 0
        sides = find_bodies(finer, None).rest[on_body]
        assert set(inside) <= set(sides.ravel())
        finer = Mesh(finer.points, finer.cells, groups={"body": sides})
    one, other = (np.sort(body_numbers(own, pattern), axis=0) for own in (mesh, finer))
    np.testing.assert_allclose(one, other, atol=2e-4)


def test_size_and_place_of_everything_do_not_count():
    mesh = channel()
    moved = Mesh(5 * mesh.points + [3.0, -2.0], mesh.cells, groups=mesh.groups)
    np.testing.assert_allclose(body_numbers(moved, "body"), body_numbers(mesh, "body"), atol=1e-9)


def test_groups_of_every_kind():
    solid = block({"half": {"hexahedron": np.arange(8)}, "point": [0], "two": [0, 44]})
    assert by_name(solid, "half")[0]["log size"] == pytest.approx(np.log(24 / (24 / 9) + 1e-4))  # a cube of side two
    assert by_name(solid, "half")[0]["log fullness"] == pytest.approx(np.log(8 / 24**1.5 + 1e-3), abs=1e-6)
    assert by_name(solid, "point")[0]["x"] == pytest.approx(-2 / (np.sqrt(24) / 3))
    assert by_name(solid, "two")[0]["x"] == pytest.approx(0)
    assert len(find_bodies(solid, "left|right").pieces) == 2 and len(find_bodies(solid, None).pieces) == 0
    assert body_numbers(solid, None).shape == (0, 28) and n_own_numbers(3) == 10


def test_a_group_that_is_the_whole_skin_has_nothing_around_it():
    solid = block({"skin": np.arange(45)})
    own, around = np.split(body_numbers(solid, "skin")[0], [n_own_numbers(3)])
    assert np.isfinite(own).all() and not around.any()
    assert np.isfinite(bodies_back(solid, "skin", np.ones((1, 28, 1)))).all()


def test_a_soup_of_triangles_knows_its_groups():
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [3, 4, 5]],
                groups={"a": {"triangle": [1]}})  # fmt: skip
    assert len(body_numbers(mesh, "a")) == 1


@pytest.mark.parametrize(("mesh", "pattern"), [(channel(), "body"), (channel(named=False), None), (block(), "left"),
                                               (block({"point": [5, 40]}), "point")])  # fmt: skip
def test_derivatives_are_those_of_differences(mesh, pattern):
    rng = np.random.default_rng(0)
    numbers = body_numbers(mesh, pattern)
    weights = rng.normal(size=(*numbers.shape, 2))
    found = bodies_back(mesh, pattern, weights)
    # flat ends of the box move as one
    rest = mesh.points - mesh.points.min(axis=0)
    free = ~((rest < 1e-9) | (np.abs(rest - np.ptp(mesh.points, axis=0)) < 1e-9))
    for _ in range(3):
        step = rng.normal(size=mesh.points.shape) * free + rng.normal(size=mesh.dimension) * rest

        def moved(h, step=step):
            return np.einsum("bk,bkm->m", body_numbers(Mesh(mesh.points + h * step, mesh.cells, groups=mesh.groups),
                                                       pattern), weights)  # fmt: skip

        expected = (moved(1e-6) - moved(-1e-6)) / 2e-6
        np.testing.assert_allclose(np.einsum("nd,ndm->m", step, found), expected, rtol=2e-5, atol=2e-5)


def test_bad_input():
    with pytest.raises(InputError, match="no group 'tail'; its groups are: body, wall"):
        body_numbers(channel(), "tail")
    with pytest.raises(InputError, match="Group 'none' is empty"):
        body_numbers(block({"none": []}), "none")
