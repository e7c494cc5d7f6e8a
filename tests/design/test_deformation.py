"""Deformations, what they keep, and their adjoints beside differences."""

import numpy as np
import pandas as pd
import pytest

from swwl import InputError, Matern52, Mesh, PrincipalSWWL, RobustGPRegressor
from swwl.datasets.generated import make_airfoil, make_blade
from swwl.design import Deformation, GroupMotions, Lattice, ModeMotions, displacement_modes, improve
from swwl.design.ascent import log_improvement
from swwl.design.deformation import as_deformation
from swwl.design.limits import CellRatios, Volume, Walls, lowest
from swwl.design.trust import familiar_motions
from swwl.kernels.components import Components
from swwl.mesh.shape.skin import skin
from tests.mesh.shape.test_motions import PLATE

AT = {"speed": 17188.0, "pressure": 1.41}


@pytest.fixture(scope="module")
def blade():
    return make_blade(1, n_nodes=300, random_state=3, random_topology=True)["mesh"][0]


@pytest.fixture(scope="module")
def airfoil():
    """Air around an airfoil, whose contour is a group."""
    mesh = make_airfoil(1, n_nodes=600, random_state=3, random_topology=True)["mesh"][0]
    near = np.linalg.norm(mesh.points - [0.5, 0], axis=1) < 1
    ring = np.flatnonzero(np.isin(np.arange(mesh.n_nodes), skin(mesh).pieces) & near)
    return Mesh(mesh.points, mesh.cells, groups={"wing": ring, "nose": ring[[mesh.points[ring, 0].argmin()]]})


def tetrahedra():
    """A box of tetrahedra with named ends."""
    axes = [np.linspace(0, size, n) for size, n in ((2, 5), (1, 4), (1, 4))]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    number = np.arange(len(points)).reshape(5, 4, 4)
    corners = [number[i : i + 4, j : j + 3, k : k + 3].ravel() for i, j, k in np.ndindex(2, 2, 2)]
    a, b, c, d, e, f, g, h = corners  # 000 001 010 011 100 101 110 111
    six = [(a, e, g, h), (a, g, c, h), (a, c, d, h), (a, d, b, h), (a, b, f, h), (a, f, e, h)]
    cells = np.vstack([np.column_stack(own) for own in six])
    tip = {"tetra": np.flatnonzero(points[cells][..., 0].min(axis=1) > 1)}
    return Mesh(points, cells, groups={"left": np.flatnonzero(points[:, 0] == 0), "tip": tip})


def deformations(blade, airfoil):
    solid = tetrahedra()
    shapes = [Mesh(blade.points * scale, blade.cells) for scale in ([1, 1, 1.0], [1.1, 1, 1], [1, 0.9, 1.2])]
    return [
        (blade, Lattice(blade, (4, 3, 3))),
        (blade, Lattice(blade, (2, 1, 5), axes="yx")),
        (solid, Lattice(solid, (4, 3, 2), freeze="left")),
        (airfoil, Lattice(airfoil, (5, 3), group="wing")),
        (airfoil, Lattice(airfoil, (4, 4), box=[(-0.3, 1.2), (-0.4, 0.4)], freeze="nose")),
        (airfoil, GroupMotions(airfoil, "wing")),
        (PLATE, GroupMotions(PLATE, "hole")),
        (solid, GroupMotions(solid, "tip")),
        (shapes[1], ModeMotions(displacement_modes(shapes))),
    ]


def test_adjoints_equal_differences(blade, airfoil):
    rng = np.random.default_rng(0)
    for mesh, motion in deformations(blade, airfoil):
        assert isinstance(motion, Deformation) and len(motion.names) == len(motion.low) == len(motion.high)
        rest, half = motion.rest(mesh.points), (motion.high - motion.low) / 2
        assert np.allclose(motion.move(mesh.points, rest), mesh.points, atol=1e-12)
        c = rest + half * rng.uniform(-0.5, 0.5, len(rest))
        gradient = rng.normal(size=mesh.points.shape)
        found = motion.pull(mesh.points, c, gradient) * half
        steps = 1e-4 * half * np.eye(len(rest))
        ahead, behind = (np.array([motion.move(mesh.points, c + sign * one) for one in steps]) for sign in (1, -1))
        expected = np.tensordot((ahead - behind) / 2e-4, gradient, axes=2)
        assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()


def test_lattices_move_all_or_fade(blade, airfoil):
    everywhere = Lattice(blade, (4, 3, 3))
    shift = np.repeat([1e-3, -2e-3, 3e-3], 36)
    assert np.allclose(everywhere.move(blade.points, shift) - blade.points, [1e-3, -2e-3, 3e-3])  # they sum to one
    around = Lattice(airfoil, (5, 3), group="wing")
    moved = np.abs(around.move(airfoil.points, around.high) - airfoil.points).max(axis=1)
    far = np.abs(airfoil.points - [0.5, 0]).max(axis=1) > 1.2
    assert not moved[far].any() and moved[airfoil.groups["wing"].nodes].min() > 0.01


@pytest.mark.parametrize("part", [{"group": "hole"}, {"box": [(1, 6), (2, 7)]}, {}])
def test_flat_meshes_in_space_move_as_in_the_plane(part):
    plane, rng = Lattice(PLATE, (4, 3), **part), np.random.default_rng(0)
    c = rng.uniform(plane.low, plane.high)
    moved = plane.move(PLATE.points, c)
    assert np.abs(moved - PLATE.points).max() > 0.01
    points = np.column_stack([PLATE.points, np.full(PLATE.n_nodes, 0.1) + 1e-16 * rng.normal(size=PLATE.n_nodes)])
    in_space = {"box": [*part["box"], (-1, 1)]} if "box" in part else part
    lattice = Lattice(Mesh(points, PLATE.cells, groups=PLATE.groups), (4, 3, 1), axes="xy", **in_space)
    assert np.allclose(lattice.move(points, c)[:, :2], moved, atol=1e-12)


def test_frozen_groups_rest():
    solid = tetrahedra()
    lattice = Lattice(solid, (4, 3, 3), freeze="left")
    moved = lattice.move(solid.points, lattice.high) - solid.points
    assert not moved[solid.groups["left"].nodes].any() and np.abs(moved).max() > 0.1
    held = GroupMotions(solid, "tip")
    assert not (held.move(solid.points, held.high) - solid.points)[solid.groups["left"].nodes].any()


def test_motions_of_groups_are_rigid(airfoil):
    motion = GroupMotions(airfoil, "wing")
    assert motion.names == ["wing #1: x", "wing #1: y", "wing #1: rotation", "wing #1: size"]
    nodes = airfoil.groups["wing"].nodes
    moved = motion.move(airfoil.points, np.array([0.05, 0.02, 8.0, 0.0]))[nodes]
    lengths = [np.linalg.norm(at - at[0], axis=1) for at in (moved, airfoil.points[nodes])]
    assert np.allclose(*lengths, atol=1e-12)


@pytest.mark.parametrize("what", ["volume", "cells", "walls"])
def test_limits_equal_differences(blade, airfoil, what):
    rng = np.random.default_rng(1)
    for mesh in (blade, airfoil, tetrahedra()):
        moving = np.abs(mesh.points - mesh.points.mean(axis=0)).max(axis=1) < 2.5
        limit = {
            "volume": Volume(mesh, moving).value,
            "cells": CellRatios(mesh).lowest,
            "walls": Walls(mesh, moving).lowest,
        }
        size = np.ptp(mesh.points[moving], axis=0).max()
        points = mesh.points + 1e-4 * size * rng.normal(size=mesh.points.shape) * moving[:, None]
        way = rng.normal(size=points.shape)
        step = 1e-7 * size
        ahead, behind = (limit[what](points + sign * step * way)[0] for sign in (1, -1))
        slope = float((limit[what](points)[1] * way).sum())
        assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-4)


def test_volumes_of_known_bodies(blade, airfoil):
    solid = tetrahedra()
    everything = np.ones(solid.n_nodes, bool)
    assert Volume(solid, everything).value(solid.points)[0] == pytest.approx(2.0)
    x, y = airfoil.points[airfoil.groups["wing"].nodes].T  # in order around it
    area = abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2
    near = np.linalg.norm(airfoil.points, axis=1) < 2
    assert Volume(airfoil, near).value(airfoil.points)[0] == pytest.approx(area)
    whole = Volume(airfoil, np.ones(airfoil.n_nodes, bool)).value(airfoil.points)[0]
    assert whole == pytest.approx(25 * np.pi - area, rel=0.02)
    open_ends = Volume(blade, np.ones(blade.n_nodes, bool))
    assert open_ends.value(blade.points + [1, 2, 3])[0] == pytest.approx(open_ends.value(blade.points)[0])
    with pytest.raises(InputError, match="No part of the skin moves"):
        Volume(solid, ~everything)


def test_cells_that_are_inverted_are_negative():
    solid = tetrahedra()
    assert CellRatios(solid).ratios(solid.points * [1, 1, -1]).max() == pytest.approx(-1)
    assert CellRatios(solid).ratios(solid.points * [1, 2, 1]).min() == pytest.approx(2)
    value, weights = lowest(np.array([1.0, 0.2, 0.3]))
    assert 0.15 < value <= 0.2 and weights.sum() == pytest.approx(1)


def test_logarithms_of_improvements_do_not_underflow():
    for gain in (-1e6, -300.0, -5.0, -1.001, -0.999, 0.0, 0.7, 40.0):
        value, of_gain, of_std = log_improvement(gain, 0.8)
        ahead, behind = (log_improvement(gain + sign * 1e-6 * max(1, abs(gain)), 0.8)[0] for sign in (1, -1))
        assert np.isfinite(value) and of_std >= 0
        assert (ahead - behind) / (2e-6 * max(1, abs(gain))) == pytest.approx(of_gain, rel=1e-4)


@pytest.mark.parametrize(("options", "text"), [
    ({"shape": (4, 3)}, "3 whole numbers"), ({"shape": (4, 0, 3)}, "3 whole numbers"),
    ({"shape": (1, 1, 1)}, "3 whole numbers"), ({"group": "hub"}, "no group 'hub'"), ({"freeze": "hub"}, "no group"),
    ({"axes": "w"}, "some of x, y, z"), ({"reach": 0.0}, "reach"), ({"box": [(0, 1)]}, r"3 pairs"),
    ({"box": [(8, 9)] * 3}, "no node in the box"), ({"box": [(0, 1)] * 3, "group": "hub"}, "not both"),
])  # fmt: skip
def test_lattices_that_do_not_fit_are_refused(blade, options, text):
    with pytest.raises(InputError, match=text):
        Lattice(blade, **{"shape": (4, 3, 3)} | options)


def test_other_things_are_refused(blade, airfoil):
    with pytest.raises(InputError, match="not str"):
        as_deformation("modes")
    with pytest.raises(InputError, match="moves 2.. nodes"):
        Lattice(blade, (2, 2, 2)).move(airfoil.points, np.zeros(24))
    with pytest.raises(InputError, match="reach"):
        GroupMotions(airfoil, "wing", reach=-1.0)


@pytest.fixture(scope="module")
def blades():
    """Blades of random topology, and a model of the first of them."""
    table = make_blade(61, n_nodes=250, random_state=1, random_topology=True)
    kernel = Components("mesh", measure="skin", n_iterations=0, n_projections=10, n_components=8)
    kernel = kernel * Matern52("speed") * Matern52("pressure")
    model = RobustGPRegressor(kernel, calibrate=False, n_starts=1, outliers="keep", regimes="one", random_state=0)
    columns = ["mesh", "speed", "pressure", "efficiency", "massflow"]
    return model.fit(table[columns][:60], ["efficiency", "massflow"]), table["mesh"][60]


@pytest.mark.slow
def test_familiar_motions_look_like_training_meshes(blades):
    model, start = blades
    found = familiar_motions(model, "mesh", start, Lattice(start, (3, 2, 3)))
    assert 3 <= len(found.names) <= 13 and (found.shares >= 0.5).all() and found.shares.max() > 0.7
    c = found.rest(start.points)
    gradient = np.random.default_rng(0).normal(size=start.points.shape)
    steps = 1e-3 * np.eye(len(c))
    ahead, behind = (np.array([found.move(start.points, c + sign * one) for one in steps]) for sign in (1, -1))
    expected = np.tensordot((ahead - behind) / 2e-3, gradient, axes=2)
    assert np.allclose(found.pull(start.points, c, gradient), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    {"volume": "keep", "caution": 1.0}, {"volume": (None, 0.97), "thickness": 0.9},
    {"criterion": "ei", "volume": "keep", "constraints": {"massflow": (21.0, None)}},
])  # fmt: skip
def test_a_blade_of_its_own_topology_becomes_better(blades, options):
    model, start = blades
    found = improve(model, start, Lattice(start, (3, 2, 3)), AT, goal="maximize:efficiency", **options)
    assert found.least_cell >= 0.2 and found.largest_move > 1e-4
    if options["volume"] == "keep":
        assert found.volume == pytest.approx(1, abs=1e-3)
        assert found.mean > found.start_mean and found.interval[0] < found.mean < found.interval[1]
    else:
        assert found.volume <= 0.971
        assert Walls(start, np.ones(start.n_nodes, bool)).ratios(found.mesh.points).min() > 0.88
    if "constraints" in options:
        assert found.others["massflow"] > 20.99
    assert np.linalg.norm(found.coordinates) <= found.radius * (1 + 1e-9)


@pytest.mark.parametrize(("options", "text"), [
    ({"volume": "same"}, '"keep" or'), ({"volume": (1.1, 1.0)}, '"keep" or'), ({"thickness": 2.0}, "thickness"),
    ({"criterion": "ucb"}, "mean, ei"), ({"constraints": {"lift": (1, None)}}, "no target 'lift'"),
    ({"constraints": {"efficiency": (1, None)}}, "the target to optimize"), ({"radius": 1.0}, "displacement modes"),
    ({"constraints": {"massflow": (2, 1)}}, "is impossible: at least 2"), ({"best": np.nan}, "best is nan"),
    ({"target": "massflow"}, "one is enough"), ({"constraints": {"massflow": (99, None)}}, "massflow begins at"),
])  # fmt: skip
@pytest.mark.slow
def test_what_cannot_be_is_refused(blades, options, text):
    model, start = blades
    with pytest.raises(InputError, match=text):
        improve(model, start, Lattice(start, (2, 2, 2)), AT, goal="maximize:efficiency", **options)


def test_motions_that_no_training_mesh_showed_are_refused():
    rng = np.random.default_rng(0)
    width = rng.uniform(0.8, 1.2, 30)
    square = PLATE.points
    meshes = [Mesh(square * [w, 1], PLATE.cells, groups=PLATE.groups) for w in width]
    kernel = PrincipalSWWL("mesh", n_iterations=0, n_projections=10, n_quantiles=20) * Matern52("load")
    table = pd.DataFrame({"mesh": meshes, "load": rng.uniform(1, 2, 30), "y": width**2})
    model = RobustGPRegressor(kernel, calibrate=False, n_starts=1).fit(table, "y")
    wider = improve(model, meshes[0], Lattice(meshes[0], (2, 2)), {"load": 1.5})
    wide, high = np.ptp(wider.mesh.points, axis=0) / np.ptp(meshes[0].points, axis=0) - 1
    assert wide > 0.05 and abs(high) < 0.4 * wide
    with pytest.raises(InputError, match="No motion of the deformation resembles"):
        improve(model, meshes[0], Lattice(meshes[0], (1, 2), axes="y"), {"load": 1.5})
