"""Wavefront OBJ as programs write it."""

import numpy as np
import pytest

from swwl import InputError, read_mesh

SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"


def read(tmp_path, text):
    (tmp_path / "m.obj").write_text(text)
    return read_mesh(tmp_path / "m.obj")


@pytest.mark.parametrize(
    "faces",
    [
        "f 1 2 3\nf 1 3 4\n",
        "vn 0 0 1\nf 1//1 2//1 3//1\nf 1//1 3//1 4//1\n",  # one normal for both faces
        "vt 0 0\nvn 0 0 1\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1\nf 1/1/2 3/1/2 4/1/2\n",
        "o square\ng front\nusemtl steel\ns off\nf -4 -3 -2 # counted back\nf -4 -2 \\\n -1\n",
    ],
)
def test_faces_count_by_their_vertices(tmp_path, faces):
    mesh = read(tmp_path, SQUARE + faces)
    assert mesh.points.shape == (4, 2)
    np.testing.assert_array_equal(mesh.cells["triangle"], [[0, 1, 2], [0, 2, 3]])


def test_quads_polygons_and_lines(tmp_path):
    mesh = read(tmp_path, SQUARE + "v 0.5 2 1\nf 1 2 3 4\nf 1 2 3 5 4\nl 1 2 3\n")
    assert {kind: len(cells) for kind, cells in mesh.cells.items()} == {"quad": 1, "polygon": 1, "line": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("f 1 2 3\n", "it has no vertices"),
        (SQUARE + "f 1 2\n", "a face has 2 corners, but at least 3"),
        (SQUARE + "f 1 2 9\n", "its cells name node 9, which it does not have"),
        (SQUARE + "f 1 2 x/y\n", "the corner 'x/y', which is not a number"),
        ("v 1 2\n", "a vertex has 2 coordinates, but 3"),
        ("v 1 2 zero\n", "where numbers are expected"),
    ],
)
def test_damaged_files(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)
