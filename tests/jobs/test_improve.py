"""Texts of ``swwl improve`` become deformations and bounds."""

from pathlib import Path

import numpy as np
import pytest

from swwl import InputError, Mesh, RobustGPRegressor
from swwl.design import GroupMotions, Lattice
from swwl.jobs.improve import MoveOptions, make_deformation, read_lattice, read_volume

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
