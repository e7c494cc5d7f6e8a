"""What readers of text share: node numbers, runs of cells, words that are numbers, and files that include others."""

import numpy as np
import pytest

from swwl.errors import InputError, MissingFileError
from swwl.mesh.io.text.abaqus import read_abaqus
from swwl.mesh.io.text.lines import blocks_of, floats, included, integers, places, text_of
from swwl.mesh.io.text.nastran import is_nastran, read_nastran
from swwl.mesh.io.text.plain import is_avs, read_avs, read_obj
from swwl.mesh.io.text.stl import read_stl


def test_places_undo_any_numbering():
    rng = np.random.default_rng(0)
    ids = rng.permutation(1000)[:50]
    wanted = rng.integers(50, size=(20, 3))
    np.testing.assert_array_equal(places(ids, ids[wanted]), wanted)
    with pytest.raises(InputError, match="its node 7 is given twice"):
        places(np.array([7, 3, 7]), np.array([3]))
    for known in (np.array([1, 2]), np.array([], int)):
        with pytest.raises(InputError, match="its cells name node 9"):
            places(known, np.array([[9]]))


def test_runs_of_one_type_become_blocks_in_the_order_of_the_file():
    ids = np.array([10, 20, 30, 40])
    cells = [("triangle", [10, 20, 30]), ("triangle", [20, 30, 40]), ("line", [10, 40]), ("triangle", [10, 30, 40])]
    found = [(kind, block.tolist()) for kind, block in blocks_of(cells, ids)]
    assert found == [("triangle", [[0, 1, 2], [1, 2, 3]]), ("line", [[0, 3]]), ("triangle", [[0, 2, 3]])]


def test_words_and_what_is_none():
    assert floats(["1.5D3", "-2d-1", "3"], "a node") == [1500.0, -0.2, 3.0]
    assert integers(["4", "-5"], "a cell") == [4, -5]
    with pytest.raises(InputError, match="a cell has '4 x' where integers are expected"):
        integers(["4", "x"], "a cell")
    with pytest.raises(InputError, match="a node has '1,5' where numbers are expected"):
        floats(["1,5"], "a node")


def test_included_files_are_found_beside_the_one_that_names_them(tmp_path):
    first, second = tmp_path / "a.inp", tmp_path / "sub" / "b.inp"
    second.parent.mkdir()
    second.write_text("text")
    assert included(first, " 'sub\\b.inp' ", [first]) == ("text", [first, second])
    with pytest.raises(MissingFileError, match="'c.inp', which does not exist"):
        included(first, "c.inp", [first])
    with pytest.raises(InputError, match="recursively"):
        included(second, "b.inp", [first, second])
    second.write_bytes(b"MZ\0\0")
    with pytest.raises(InputError, match="not a text file"):
        text_of(second)


NODES = [(4, 0, 0), (8, 2, 0), (9, 2, 1), (5, 0, 1)]
FILES = {
    "abaqus": "*NODE\n" + "".join(f"{i}, {x}, {y}\n" for i, x, y in NODES)
    + "*ELEMENT, TYPE=CPS3\n1, 4, 8, 9\n2, 4, 9, 5\n",
    "nastran": "BEGIN BULK\n" + "".join(f"GRID,{i},,{x}.,{y}.,0.\n" for i, x, y in NODES)
    + "CTRIA3,1,1,4,8,9\nCTRIA3,2,1,4,9,5\nENDDATA\n",
    "avs": "4 2 0 0 0\n" + "".join(f"{i} {x} {y} 0\n" for i, x, y in NODES) + "1 1 tri 4 8 9\n2 1 tri 4 9 5\n",
    "obj": "".join(f"v {x} {y} 0\n" for _, x, y in NODES) + "f 1 2 3\nf -4/1 -2/2 -1/3\n",
}  # fmt: skip
READERS = {"abaqus": read_abaqus, "nastran": read_nastran, "avs": read_avs, "obj": read_obj}


@pytest.mark.parametrize("kind", FILES)
def test_one_plate_in_every_format(kind, tmp_path):
    path = tmp_path / "plate.txt"
    path.write_text(FILES[kind])
    mesh = READERS[kind](path)
    np.testing.assert_array_equal(mesh.points[:, :2], [[0, 0], [2, 0], [2, 1], [0, 1]])
    assert mesh.cells["triangle"].tolist() == [[0, 1, 2], [0, 2, 3]]
    assert (is_nastran(path), is_avs(path)) == (kind == "nastran", kind == "avs")


def test_corners_of_stl_at_one_place_are_one_node(tmp_path):
    facet = "facet normal 0 0 1\nouter loop\n{}endloop\nendfacet\n"
    corners = [["0 0 0", "2 0 0", "2 1 0"], ["0 0 0", "2 1 0", "0 1 0"]]
    body = "".join(facet.format("".join(f"vertex {corner}\n" for corner in own)) for own in corners)
    (tmp_path / "a.stl").write_text(f"solid a\n{body}endsolid a\n")
    mesh = read_stl(tmp_path / "a.stl")
    assert mesh.n_nodes == 4
    areas = np.cross(*np.moveaxis(np.diff(mesh.points[mesh.cells["triangle"]], axis=1), 1, 0))[:, 2] / 2
    np.testing.assert_allclose(areas, [1, 1])
