"""Small pictures of meshes for notebooks: right in size, quick to make, and never in the way."""

import io

import numpy as np
import pytest
from matplotlib import pyplot

from swwl import Mesh
from swwl.mesh import picture
from swwl.mesh.picture import mesh_picture
from tests.helpers import plate

CUBE = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
MESHES = {
    "square": Mesh([[0.0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]]),
    "cube": Mesh(CUBE, {"hexahedron": [[0, 1, 3, 2, 4, 5, 7, 6]]}),
    "line": Mesh([[0.0], [1.0]], [[0, 1]]),
    "nodes": Mesh([[0.0, 0], [1, 1]], {}),
    "one node": Mesh([[1.0, 2.0, 3.0]], {}),
    "sheet": Mesh(np.column_stack([plate(60)[0], np.sin(plate(60)[0][:, 0])]), plate(60)[1]),
}


def pixels(mesh):
    return pyplot.imread(io.BytesIO(mesh_picture(mesh)), format="png")


@pytest.mark.parametrize("name", MESHES)
def test_every_mesh_has_a_picture(name):
    image = pixels(MESHES[name])
    assert image.shape == (160, 220, 4)
    assert image[..., 3].max() > 0


def test_a_square_is_filled_and_the_rest_is_clear():
    image = pixels(MESHES["square"])
    rows, columns = np.nonzero(image[..., 3] > 0.5)
    assert 145 <= np.ptp(rows) <= 155 and 145 <= np.ptp(columns) <= 155
    assert (image[rows.min() : rows.max(), columns.min() : columns.max(), 3] > 0.5).mean() > 0.99
    assert image[:, :20, 3].max() == 0


def test_a_solid_shows_three_sides_that_the_light_tells_apart():
    image = pixels(MESHES["cube"])
    inside = image[image[..., 3] == 1][:, :3]
    shades = np.unique(inside.round(1), axis=0)
    assert 2 <= len(shades) <= 6


def test_notebooks_show_counts_fields_and_groups_and_no_figure_is_left_open():
    mesh = Mesh(
        MESHES["square"].points,
        MESHES["square"].cells,
        {"<T>": np.arange(4.0)},
        name="a & b.vtu",
        groups={"left": np.array([0, 3])},
    )
    for figures in (0, 1):
        if figures:
            pyplot.figure()
        before = pyplot.get_fignums()
        text = mesh._repr_html_()
        assert pyplot.get_fignums() == before
        for words in (
            "a &amp; b.vtu",
            "4 in 2 dimensions",
            "2 triangle",
            "&lt;T&gt;",
            "left",
            "data:image/png;base64,",
        ):
            assert words in text
    pyplot.close()


def test_a_picture_that_fails_leaves_the_plain_text(monkeypatch):
    monkeypatch.setattr(picture, "mesh_picture", lambda mesh: 1 / 0)
    assert MESHES["cube"]._repr_html_() is None
