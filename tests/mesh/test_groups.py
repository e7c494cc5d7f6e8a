"""Named parts of meshes: the forms in which they are given, what becomes of them, and files that keep them."""

import pickle
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swwl import Mesh, read_mesh
from swwl.errors import InputError
from swwl.mesh.groups import cells_by_type, matching, united
from swwl.mesh.io import as_mesh
from swwl.storage.memory import fingerprint

SQUARE = [[0.0, 0.0], [1, 0], [1, 1], [0, 1]]
CELLS = {"triangle": [[0, 1, 2], [0, 2, 3]]}
GROUPS = {"inlet": [[3, 0]], "hot": {"triangle": [1]}, "fix": [2, 0, 2], "all": np.ones(4, bool)}
MESH = Mesh(SQUARE, CELLS, {"T": [1.0, 2, 3, 4]}, cell_fields={"q": [5, 6]}, groups=GROUPS)


def plain(mesh):
    """Groups as nested lists, to compare."""
    return {
        name: (
            group.kind,
            group.nodes.tolist(),
            {kind: faces.tolist() for kind, faces in group.faces.items()},
            {kind: cells.tolist() for kind, cells in group.cells.items()},
        )
        for name, group in mesh.groups.items()
    }


def test_every_form():
    assert plain(MESH) == {
        "inlet": ("faces", [0, 3], {"line": [[3, 0]]}, {}),
        "hot": ("cells", [0, 2, 3], {}, {"triangle": [1]}),
        "fix": ("nodes", [0, 2], {}, {}),
        "all": ("nodes", [0, 1, 2, 3], {}, {}),
    }
    again = Mesh(SQUARE, CELLS, groups=MESH.groups)
    assert plain(again) == plain(MESH)
    assert "groups: inlet, hot, fix, all" in repr(MESH)
    assert plain(Mesh(SQUARE, CELLS, groups={"none": [], "empty": {}})) == {
        "none": ("nodes", [], {}, {}),
        "empty": ("faces", [], {}, {}),
    }


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ([7], "'a' has node 7, but nodes are numbered 0 to 3"),
        ([-1], "'a' has node -1"),
        ({"triangle": [2]}, "cell 2 of type 'triangle', but those are numbered 0 to 1"),
        ({"quad": [0]}, "cell 0 of type 'quad', but the mesh has cells of type triangle"),
        ([[1, 9]], r"'a': Cell 0 of type 'line' joins nodes \[1, 9\]"),
        ({"tetra": [[0, 1, 2, 3]]}, "solids and not faces"),
        ({"line": [[0, 1]], "triangle": [0]}, "must be a dict of arrays that all"),
        (np.zeros((1, 5), int), r"but has shape \(1, 5\)"),
        ([0.5], "must hold integers, but holds float64"),
        ([True, False], "must hold integers, but holds bool"),
        ("x", "must hold integers"),
        ([[0, 1], [1]], "must hold arrays of integers"),
    ],
)
def test_mistakes(group, words):
    with pytest.raises(InputError, match=words):
        Mesh(SQUARE, CELLS, groups={"a": group})


@pytest.mark.parametrize("name", ["", "  ", 3])
def test_names_are_texts(name):
    with pytest.raises(InputError, match="Names of groups"):
        Mesh(SQUARE, CELLS, groups={name: [0]})


def test_groups_cannot_be_changed():
    with pytest.raises(TypeError):
        MESH.groups["new"] = None
    with pytest.raises(AttributeError):
        MESH.groups["fix"].kind = "cells"
    with pytest.raises(ValueError, match="read-only"):
        MESH.groups["fix"].nodes[0] = 1


def test_groups_stay_with_their_mesh():
    flat = Mesh(np.c_[SQUARE, np.zeros(4)], CELLS, groups=GROUPS)
    for mesh in (
        MESH.with_fields({"p": [1, 2, 3, 4]}),
        MESH.renamed("b"),
        MESH.merged(),
        pickle.loads(pickle.dumps(MESH)),
        as_mesh(MESH),
    ):
        assert plain(mesh) == plain(MESH)
    with tempfile.TemporaryDirectory() as folder:
        flat.write(f"{folder}/a.npz")
        found = read_mesh(f"{folder}/a.npz")
    assert found.dimension == 2 and plain(found) == plain(MESH)


def test_fingerprints_tell_groups_apart():
    bare = Mesh(SQUARE, CELLS)
    assert fingerprint(bare.parts()) == fingerprint([bare.points, ["triangle", bare.cells["triangle"]], []])
    others = [Mesh(SQUARE, CELLS, groups=g).parts() for g in ({"a": [0]}, {"b": [0]}, {"a": [1]}, {"a": [[0, 1]]})]
    assert len({fingerprint(parts) for parts in [bare.parts(), *others]}) == 5


def test_merged_nodes():
    points = [[0, 0], [1, 0], [0, 1], [1, 0], [1, 1], [0, 1], [0, 0]]
    groups = {"seam": [[1, 2], [3, 5]], "point": [[0, 6]], "nodes": [3, 1, 6], "cell": {"triangle": [1]}}
    mesh = Mesh(points, {"triangle": [[0, 1, 2], [3, 4, 5], [6, 1, 2]]}, groups=groups).merged()
    assert mesh.n_nodes == 4
    assert mesh.groups["seam"].faces["line"].tolist() == [[1, 2], [1, 2]]
    assert mesh.groups["point"].size == 0 and mesh.groups["nodes"].nodes.tolist() == [0, 1]
    assert mesh.groups["cell"].nodes.tolist() == np.unique(mesh.cells["triangle"][1]).tolist()


def test_unions_and_patterns():
    assert matching("a|c*", ["a", "b", "cd", "a|c*"]) == ["a|c*"]
    assert matching("[ab]?", ["a1", "b2", "c3", "a12"]) == ["a1", "b2"]
    mesh = Mesh(SQUARE, CELLS, groups={"a1": {"triangle": [0]}, "a2": {"triangle": [0, 1]}, "b": [[0, 1]], "c": [3]})
    assert mesh.group("a*").cells["triangle"].tolist() == [0, 1]
    assert mesh.group("b").faces["line"].tolist() == [[0, 1]]
    assert mesh.group("b|c").kind == "nodes" and mesh.group("b|c").nodes.tolist() == [0, 1, 3]
    assert united([mesh.groups["b"], mesh.groups["b"]], mesh.cells).size == 1
    with pytest.raises(InputError, match=r"no group 'x\*'; its groups are: a1, a2, b, c"):
        mesh.group("x*")
    with pytest.raises(InputError, match="it has no groups"):
        Mesh(SQUARE, CELLS).group("a")
    with pytest.raises(InputError, match="named by a text"):
        mesh.group(3)


def test_parts():
    faces = MESH.part("inlet")
    assert faces.points.tolist() == [[0, 0], [0, 1]] and faces.cells["line"].tolist() == [[1, 0]]
    assert faces.fields["T"].tolist() == [1, 4] and not faces.cell_fields
    assert plain(faces) == {
        "inlet": ("faces", [0, 1], {"line": [[1, 0]]}, {}),
        "fix": ("nodes", [0], {}, {}),
        "all": ("nodes", [0, 1], {}, {}),
    }
    cells = MESH.part("ho*|fix")
    assert cells.cells["triangle"].tolist() == [[0, 1, 2]] and cells.cell_fields["q"].tolist() == [6]
    np.testing.assert_array_equal(cells.points[cells.cells["triangle"]], MESH.points[MESH.cells["triangle"][1:]])
    with pytest.raises(InputError, match="'fix' holds only nodes.*inlet.*hot"):
        MESH.part("fix")
    with pytest.raises(InputError, match="faces and of cells"):
        MESH.part("inlet|hot")
    with pytest.raises(InputError, match="'e' is empty; groups of faces or cells: none"):
        Mesh(SQUARE, CELLS, groups={"e": {}}).part("e")


def test_part_of_several_types_keeps_fields_with_their_cells():
    cells = {"quad": [[0, 1, 4, 3]], "triangle": [[1, 2, 4], [2, 5, 4]]}
    points = [[x, y] for y in (0.0, 1.0) for x in (0.0, 1, 2)]
    mesh = Mesh(points, cells, cell_fields={"number": [0, 1, 2]}, groups={"p": {"triangle": [1], "quad": [0]}})
    part = mesh.part("p")
    assert list(part.cells) == ["quad", "triangle"] and part.cell_fields["number"].tolist() == [0, 2]


def test_cells_are_counted_through_blocks():
    blocks = [("polygon", np.zeros((2, 5), int)), ("line", np.zeros((1, 2), int)), ("polygon", np.zeros((2, 6), int))]
    found = cells_by_type(blocks, np.array([4, 1, 2, 4]))
    assert {kind: numbers.tolist() for kind, numbers in found.items()} == {
        "polygon5": [1],
        "line": [0],
        "polygon6": [1],
    }
    assert list(cells_by_type(blocks[:2], np.array([0]))) == ["polygon"]


_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=8).filter(str.strip)
_ONES = st.one_of(
    st.lists(st.integers(0, 5), max_size=6).map(lambda nodes: np.array(nodes, int)),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=4).map(
        lambda f: np.array(f, int).reshape(-1, 2)
    ),
    st.lists(st.integers(0, 1), max_size=2).map(lambda cells: {"triangle": cells, "quad": [0]}),
    st.lists(st.permutations(range(6)), max_size=3).map(
        lambda rows: {"triangle": np.array(rows, int).reshape(-1, 6)[:, :3], "line3": [[0, 1, 2]]}
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(_NAMES, _ONES, max_size=5), st.booleans(), st.sampled_from(["npz", "vtu"]))
def test_our_files_keep_groups(groups, compress, ending):
    cells = {"triangle": [[0, 1, 2], [2, 3, 0]], "quad": [[1, 2, 4, 5]]}
    mesh = Mesh(np.random.default_rng(0).random((6, 3)), cells, {"T": np.arange(6.0)}, groups=groups)
    with tempfile.TemporaryDirectory() as folder:
        mesh.write(f"{folder}/a.{ending}", compress=compress)
        found = read_mesh(f"{folder}/a.{ending}", fields=[])
        assert plain(found) == plain(mesh)
        if ending == "npz":
            assert list(found.groups) == list(mesh.groups)
        found = read_mesh(f"{folder}/a.{ending}", fields=["T"])
        assert list(found.fields) == ["T"] and not found.cell_fields


def test_other_programs_see_groups(tmp_path):
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    MESH.write(tmp_path / "a.vtu")
    grid = pyvista.read(tmp_path / "a.vtu")
    assert grid.point_data["group: fix"].tolist() == [1, 0, 1, 0]
    assert grid.point_data["group: inlet"].tolist() == [1, 0, 0, 1]
    assert grid.cell_data["group: hot"].tolist() == [0, 1]
    assert np.asarray(grid.field_data["group: inlet; line"]).tolist() == [[3, 0]]
    assert plain(as_mesh(grid)) == plain(MESH)
    grid.save(tmp_path / "b.vtu")
    assert plain(read_mesh(tmp_path / "b.vtu")) == plain(MESH)
    grid.save(tmp_path / "c.vtk")
    kinds = {name: group.kind for name, group in read_mesh(tmp_path / "c.vtk").groups.items()}
    assert kinds == {"inlet": "nodes", "hot": "cells", "fix": "nodes", "all": "nodes"}


def test_a_field_that_is_called_like_a_group(tmp_path):
    mesh = Mesh(SQUARE, CELLS, {"group: a": [0.0, 1, 2, 3]}, groups={"a": [0]})
    with pytest.raises(InputError, match="both a field and"):
        mesh.write(tmp_path / "a.vtu")
    Mesh(SQUARE, CELLS, {"group: a": [0.0, 1, 2, 3]}).write(tmp_path / "b.vtu")
    assert list(read_mesh(tmp_path / "b.vtu").fields) == ["group: a"]
