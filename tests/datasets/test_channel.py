"""The flow against closed forms: between plates, and around a cylinder that moves between them; rates, mesh, groups."""

import numpy as np
import pytest

from swwl.datasets import make_samples
from swwl.datasets.around import Box, Superellipse, mesh_around
from swwl.datasets.channel import CHANNEL, CHANNEL_BOX, bodies_of, flow
from swwl.datasets.generator import Unsolvable, draw
from tests.datasets.quality import smallest_angle


def ends(points, loop, box):
    """Nodes of the outlet, and the others around the channel."""
    x, y = points[loop].T
    outlet = loop[(x == box.length) & (y > 0) & (y < box.height)]
    return outlet, np.setdiff1d(loop, outlet)


def test_flow_between_plates_is_a_parabola():
    """With a body far too small to matter; the pressure falls by 12 times the viscosity per length."""
    box = Box(2.0, 1.0)
    errors = []
    for n_nodes in (600, 2400):
        points, triangles, loops = mesh_around([Superellipse((1.0, 0.5), (0.02, 0.02))], box, n_nodes, growth=30.0)
        around, inner = loops[-1], loops[0]
        held = np.concatenate([inner, ends(points, around, box)[1]])
        exact = np.column_stack([6 * points[:, 1] * (1 - points[:, 1]), np.zeros(len(points))])
        velocity, pressure, _ = flow(points, triangles, held, exact[held], 0.1)
        fall = np.polyfit(points[:, 0], pressure, 1)[0]
        errors.append([np.abs(velocity - exact).max(), abs(fall / (-12 * 0.1) - 1)])
    (speed, pull), (fine_speed, fine_pull) = errors
    assert fine_speed < 0.5 * speed and fine_pull < 0.6 * pull and fine_pull < 0.05


@pytest.mark.slow
def test_a_cylinder_that_moves_slowly_between_plates():
    """Faxén's drag of a cylinder halfway between resting plates, without inertia."""
    share = 0.2
    series = -0.9157 + 1.7244 * share**2 - 1.7302 * share**4 + 2.4056 * share**6 - 4.5913 * share**8
    exact = 4 * np.pi / (np.log(1 / share) + series)
    box, errors = Box(6.0, 1.0), []
    for n_nodes in (1500, 6000):
        points, triangles, loops = mesh_around([Superellipse((3.0, 0.5), (share / 2, share / 2))], box, n_nodes)
        held = np.concatenate([loops[0], loops[1]])
        velocity = np.zeros((len(held), 2))
        velocity[: len(loops[0]), 0] = 1.0
        *_, forces = flow(points, triangles, held, velocity, 1.0, inertia=False)
        drag, lift = forces[: len(loops[0])].sum(axis=0)
        errors.append(abs(-drag / exact - 1))
        assert abs(lift) < 0.01 * exact
    assert errors[1] < 0.02 and errors[1] < 0.6 * errors[0]


def test_a_mirrored_channel_has_the_opposite_lift():
    inputs = draw(CHANNEL.ranges, 1, seed=3)[0] | {"bodies": 2.0, "x_1": 0.8, "y_1": 0.3, "x_2": 1.5, "y_2": 0.6}
    mirrored = inputs | {f"y_{k}": 1 - inputs[f"y_{k}"] for k in (1, 2)}
    mirrored |= {f"tilt_{k}": -inputs[f"tilt_{k}"] for k in (1, 2)}
    one, other = (CHANNEL.simulate(own, 1500, 1.0).targets for own in (inputs, mirrored))
    assert one["drag"] == pytest.approx(other["drag"], rel=0.02)
    assert one["lift"] == pytest.approx(-other["lift"], rel=0.05, abs=0.02 * one["drag"])


@pytest.mark.slow
def test_meshes_are_good_and_groups_are_the_boundary():
    for sample in make_samples("channel", 4, n_nodes=900, random_topology=True):
        mesh = sample.mesh
        assert smallest_angle(mesh.points, mesh.cells["triangle"]) > 10
        assert list(mesh.groups) == ["inlet", "outlet", "walls", "body"]
        assert np.isclose(mesh.points[mesh.groups["inlet"].nodes, 0], 0).all()
        assert np.isclose(mesh.points[mesh.groups["outlet"].nodes, 0], CHANNEL_BOX.length).all()
        assert np.abs(mesh.fields["velocity"][mesh.groups["body"].nodes]).max() == 0
        assert sample.targets["drag"] > 0


def test_bodies_that_touch_make_no_flow():
    inputs = draw(CHANNEL.ranges, 1, seed=0)[0] | {"bodies": 2.5, "x_1": 1.0, "x_2": 1.02, "y_1": 0.5, "y_2": 0.5}
    with pytest.raises(Unsolvable, match="two bodies touch"):
        bodies_of(inputs)
    assert len(bodies_of(inputs | {"x_2": 2.0})) == 2
