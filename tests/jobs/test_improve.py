"""Texts of ``swwl improve`` become deformations and bounds."""

from pathlib import Path

import numpy as np
import pytest

from swwl import SWWL, InputError, Mesh, RobustGPRegressor
from swwl.design import GroupMotions, Lattice
from swwl.design.ascent import improve
from swwl.design.trust import familiar_motions
from swwl.errors import PlaneMeshWarning
from swwl.jobs.improve import (
    MoveOptions,
    make_deformation,
    mesh_to_move,
    mesh_with_motion,
    read_lattice,
    read_volume,
)
from swwl.mesh.remesh.plane import thin_layer
from tests.mesh.shapes import extruded

SQUARE = Mesh(
    [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]],
    [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]],
    groups={"right": [[1, 2]]},
)


def made(**options):
    return make_deformation(MoveOptions(**options), SQUARE, RobustGPRegressor(), Path("m.swwl"))


def test_deformations_as_they_are_asked_for():
    lattice = made(axes="x", freeze="right", reach=0.5)
    assert isinstance(lattice, Lattice) and len(lattice.names) == 12 and np.allclose(lattice.high, 1.0)
    motions = made(along="motions", group="right", reach=0.25)
    assert isinstance(motions, GroupMotions) and motions.high[0] == pytest.approx(0.5)
    assert len(made(lattice="2,2", box="0:1.5,:").names) == 8


def test_texts_that_are_not_understood():
    for text in ("1:2:3", "a:b", "kept"):
        with pytest.raises(InputError, match="--volume"):
            read_volume(text)
    with pytest.raises(InputError, match="--lattice"):
        read_lattice("4x3")
    with pytest.raises(InputError, match="cannot be combined with --along modes"):
        made(along="modes", group="right")


def test_a_layer_moves_in_the_plane_and_is_written_as_a_layer():
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 3)), axis=-1).reshape(-1, 2)
    corner = np.array([0, 1, 2, 4, 5, 6])
    quads = corner[:, None] + [0, 1, 5, 4]
    plates = [Mesh(grid * [width, 1], {"quad": quads}) for width in np.linspace(1, 2, 12)]
    layers = [extruded(plate, 0.1) for plate in plates]
    kernel = SWWL("mesh", n_iterations=0, n_projections=20, n_quantiles=20)
    with pytest.warns(PlaneMeshWarning):
        model = RobustGPRegressor(kernel, calibrate=False).fit({"mesh": layers, "y": np.linspace(1, 2, 12) ** 2}, "y")
    start = mesh_to_move(model, layers[3])
    assert start.dimension == 2 and mesh_to_move(model, plates[3]) is plates[3]
    assert len(make_deformation(MoveOptions(box="-1:3,-1:2"), start, model, Path("m.swwl")).names) == 24
    for options in ({}, {"axes": "xy"}):
        deformation = make_deformation(MoveOptions(**options), start, model, Path("m.swwl"))
        found = improve(model, start, deformation, {}, goal="maximize:y")
        written = mesh_with_motion(found, layers[3])
        layer = thin_layer(written)
        assert found.mean > found.start_mean and layer is not None and layer.thickness == pytest.approx(0.1)
        assert np.allclose(layer.points, found.mesh.points) and set(written.groups) == set(layers[3].groups)


def test_what_moves_nothing_is_refused(monkeypatch):
    rods = [Mesh([[0.0, 0], [length, 0]], {"line": [[0, 1]]}) for length in np.linspace(1, 2, 12)]
    kernel = SWWL("mesh", n_iterations=0, n_projections=4, n_quantiles=4)
    model = RobustGPRegressor(kernel, calibrate=False).fit({"mesh": rods, "y": np.linspace(1, 2, 12) ** 2}, "y")
    still = Lattice(rods[3], (2, 2))
    monkeypatch.setattr(still, "move", lambda points, c: points)
    with pytest.raises(InputError, match="moves nothing that the model sees"):
        familiar_motions(model, "mesh", rods[3], still)
