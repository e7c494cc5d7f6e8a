"""Universal files of I-deas, and keyword files of LS-DYNA."""

import numpy as np
import pytest

from swwl import InputError, read_mesh
from swwl.mesh.cells import cell_corners, cell_dimension, cell_measures, local_edges
from swwl.mesh.io.text.dyna import read_deck
from swwl.mesh.io.text.unv import read_universal, unv_times
from tests.mesh.io.small_files import HEXAHEDRA, POINTS, STRESS, WEDGES, dyna, unv
from tests.solvers.gmsh_model import gmsh_model


def test_universal(tmp_path):
    path = tmp_path / "bar.unv"
    path.write_bytes(unv())
    parts = read_universal(path)
    np.testing.assert_array_equal(parts.points, POINTS)
    np.testing.assert_array_equal(parts.cells["hexahedron"], HEXAHEDRA)
    np.testing.assert_array_equal(parts.cells["wedge"], WEDGES)
    assert parts.cells["line"].tolist() == [[0, 1]]
    assert parts.groups["LEFT"].tolist() == [0, 3, 6] and parts.groups["ROOF"] == {"wedge": [0]}
    assert unv_times(path) == [0.5, 1.5]
    np.testing.assert_allclose(parts.fields["TEMP"], 1.5 * POINTS[:, 0])
    np.testing.assert_allclose(parts.fields["STRESS"], 1.5 * STRESS[:, [0, 2, 5, 1, 4, 3]])
    np.testing.assert_allclose(read_mesh(path, time=0.5).fields["TEMP"], 0.5 * POINTS[:, 0])


def test_old_nodes_old_results_and_coordinate_systems(tmp_path):
    nodes = "\n".join(f"{n:10d}{1:10d}{1:10d}{1:10d}{x:13.5E}{0:13.5E}{0:13.5E}" for n, x in ((1, 0), (2, 1)))
    system = "    -1\n  2420\n         1\npart\n         1         {}         8\nCS1\n" + "{}\n{}\n{}\n{}\n    -1\n"
    rows = [f"{a:25.16E}{b:25.16E}{c:25.16E}" for a, b, c in (*np.eye(3), (0, 0, 0))]
    element = "         1        11         1         1         1         2\n"
    body = f"    -1\n    15\n{nodes}\n    -1\n    -1\n  2412\n{element}"
    body += "         0         0         0\n         1         2\n    -1\n"
    head = "\n".join(["TEMPERATURE", *["NONE"] * 4])
    result = f"    -1\n    55\n{head}\n" + "".join(f"{v:10d}" for v in (1, 1, 1, 5, 2, 1)) + "\n"
    result += (
        "".join(f"{v:10d}" for v in (1, 1, 3)) + f"\n{0:13.5E}\n{1:10d}\n{20:13.5E}\n{2:10d}\n{30:13.5E}\n    -1\n"
    )
    path = tmp_path / "old.unv"
    path.write_text(system.format(0, *rows) + body + result)
    mesh = read_mesh(path)
    assert mesh.points[:, 0].tolist() == [0, 1] and mesh.fields["TEMPERATURE"].tolist() == [20, 30]
    path.write_text(system.format(1, *rows) + body)
    with pytest.raises(InputError, match="coordinate system 1, which is not the global one"):
        read_mesh(path)


def test_damaged_universal_files(tmp_path):
    text = unv().decode()
    wrong = {
        "no line holds -1 alone": "hello\n",
        "0 nodes": text.replace("  2411\n", "  9999\n"),
        "not supported": text.replace("       115", "       177"),
        "which it does not have": text.replace("        17        47", "        18        47"),
        "where numbers are expected": text.replace("D+00", "X+00", 1),
    }
    for reason, content in wrong.items():
        (tmp_path / "a.unv").write_text(content)
        with pytest.raises(InputError, match=reason):
            read_mesh(tmp_path / "a.unv")


@pytest.mark.parametrize("form", ["fixed", "long", "comma"])
def test_keyword_files(tmp_path, form):
    path = tmp_path / "bar.k"
    path.write_bytes(dyna(form))
    parts = read_deck(path)
    np.testing.assert_array_equal(parts.points, POINTS)
    np.testing.assert_array_equal(parts.cells["hexahedron"], HEXAHEDRA)
    np.testing.assert_array_equal(parts.cells["wedge"], WEDGES)
    assert parts.cells["quad"].tolist() == [[0, 1, 4, 3]] and parts.cells["triangle"].tolist() == [[1, 2, 5]]
    assert parts.cells["line"].tolist() == [[0, 1]]
    groups = parts.groups
    assert groups["the bar"] == {"hexahedron": pytest.approx([0, 1])} and groups["the roof"] == {"wedge": [0]}
    assert set(groups["skin"]) == {"quad", "triangle"} and "part 8" in groups
    assert groups["left"].tolist() == [0, 3, 6, 9] and groups["node set 2"].tolist() == [0, 1, 2, 3]
    assert groups["segment set 3"]["quad"].tolist() == [[0, 3, 9, 6]]
    assert groups["segment set 3"]["triangle"].tolist() == [[0, 1, 4]]


def test_keyword_files_include_others(tmp_path):
    nodes, rest = dyna().decode().split("*ELEMENT_SOLID", 1)
    (tmp_path / "nodes.inc").write_text(nodes.replace("*KEYWORD\n", ""))
    (tmp_path / "a.key").write_text("*KEYWORD\n*INCLUDE\nnodes.inc\n*ELEMENT_SOLID" + rest)
    assert read_mesh(tmp_path / "a.key").n_nodes == len(POINTS)
    (tmp_path / "a.key").write_text("*KEYWORD\n*INCLUDE\na.key\n")
    with pytest.raises(InputError, match="recursively"):
        read_mesh(tmp_path / "a.key")
    (tmp_path / "a.key").write_text("*KEYWORD\n*INCLUDE_TRANSFORM\nnodes.inc\n")
    with pytest.raises(InputError, match="moves nodes by"):
        read_mesh(tmp_path / "a.key")


def test_solids_of_ten_nodes_stand_on_two_lines(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    middles = [(corners[a] + corners[b]) / 2 for a, b in ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))]
    lines = [f"{k},{x},{y},{z}" for k, (x, y, z) in enumerate([*corners, *middles], 1)]
    text = "*KEYWORD\n*NODE\n" + "\n".join(lines) + "\n*ELEMENT_SOLID\n       1       1\n"
    (tmp_path / "a.dyn").write_text(text + "".join(f"{k:8d}" for k in range(1, 11)) + "\n*END\n")
    assert read_mesh(tmp_path / "a.dyn").cells["tetra10"].tolist() == [list(range(10))]


def _mesh_of_gmsh(path, cells, order):
    """Let gmsh write a box as a file of another program."""
    with gmsh_model() as gmsh:
        for name, value in (("Mesh.MeshSizeMax", 1), ("Mesh.ElementOrder", order)):
            gmsh.option.setNumber(name, value)
        gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 1)
        gmsh.option.setNumber("Mesh.SaveGroupsOfNodes", 1)
        kernel = gmsh.model.occ
        sheet = kernel.addRectangle(0, 0, 0, 2, 1)
        layers = {} if cells == "tetra" else {"numElements": [2], "recombine": True}
        kernel.extrude([(2, sheet)], 0, 0, 1, **layers)
        kernel.synchronize()
        if cells == "hexahedron":
            gmsh.model.mesh.setTransfiniteSurface(sheet)
            gmsh.model.mesh.setRecombine(2, sheet)
        gmsh.model.addPhysicalGroup(3, [1], name="body")
        gmsh.model.addPhysicalGroup(2, [sheet], name="bottom")
        gmsh.model.mesh.generate(3)
        gmsh.write(str(path))


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("cells", ["tetra", "wedge", "hexahedron"])
def test_what_gmsh_writes(tmp_path, cells, order):
    """Volumes are right, and nodes in the middle of edges are there."""
    gmsh = pytest.importorskip("gmsh", reason="gmsh is not installed", exc_type=(ImportError, OSError))
    assert gmsh.__version__
    readers = {"a.unv": read_universal} | ({"a.key": read_deck} if order == 1 or cells == "tetra" else {})
    for name, reader in readers.items():
        _mesh_of_gmsh(tmp_path / name, cells, order)
        parts = reader(tmp_path / name)
        solids = {kind: block for kind, block in parts.cells.items() if cell_dimension(kind) == 3}
        volume = sum(cell_measures(parts.points, kind, block.astype(np.int32)).sum() for kind, block in solids.items())
        assert volume == pytest.approx(2)
        for kind, block in parts.cells.items():
            corners = cell_corners(kind, block).shape[1]
            edges = local_edges(kind, block.shape[1])
            for a, b in zip(edges[::2], edges[1::2], strict=True) if corners < block.shape[1] else ():
                ends = parts.points[block[:, a[0]]] + parts.points[block[:, b[1]]]
                np.testing.assert_allclose(parts.points[block[:, a[1]]], ends / 2, atol=1e-9)
        if name == "a.unv":
            assert (parts.points[parts.groups["bottom nodes"], 2] == 0).all()
            assert parts.groups["body"].keys() == solids.keys()


def test_damaged_keyword_files(tmp_path):
    text = dyna().decode()
    wrong = {
        "no line begins with": "hello\n",
        "0 elements": text.split("*ELEMENT_SOLID")[0],
        "is not supported": text.replace("_THICKNESS", "_COMPOSITE"),
        "which it does not have": text.replace("      77     107", "      77     108"),
        "where integers are expected": text.replace("       1       5", "       x       5"),
    }
    for reason, content in wrong.items():
        (tmp_path / "a.k").write_text(content)
        with pytest.raises(InputError, match=reason):
            read_mesh(tmp_path / "a.k")
