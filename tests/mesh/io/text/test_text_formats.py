"""Text formats: Abaqus, AVS, Nastran, Gmsh 1, Fluent, TetGen, WKT; those that share an ending told apart."""

import itertools

import meshio
import numpy as np
import pytest

from swwl import InputError, Mesh, read_graph, read_mesh
from swwl.mesh.io.faces import solid_cells
from swwl.mesh.io.text.fluent import read_fluent
from tests.helpers import plate

CUBE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))[[0, 4, 6, 2, 1, 5, 7, 3]]  # VTK's order of corners
NODES = "\n".join(f"{k}, {x}, {y}, {z}" for k, (x, y, z) in enumerate(CUBE, 1))


def read(tmp_path, name, text, **options):
    (tmp_path / name).write_text(text)
    return read_mesh(tmp_path / name, **options)


def refused(tmp_path, name, text, reason, error=InputError):
    with pytest.raises(error, match=f"{name}: .*{reason}"):
        read(tmp_path, name, text)


def test_abaqus(tmp_path):
    text = f"""** a comment
*Heading
something, 1, 2
*NODE, nset=all
{NODES}
*Element, type=C3D8R, elset=E
1, 1, 2, 3, 4,
5, 6, 7, 8
*ELEMENT,TYPE=S4R
2, 1,2,3,4
3, 5,6,7,8
*Element, type=B32
4, 1, 2, 3
*Element, type=C3D4H
5, 1, 2, 3, 5
*Element, type=MASS
6, 8
*Elset, elset=E
1, 2
"""
    mesh = read(tmp_path, "a.inp", text)
    np.testing.assert_array_equal(mesh.points, CUBE)
    assert {kind: block.tolist() for kind, block in mesh.cells.items()} == {
        "hexahedron": [[0, 1, 2, 3, 4, 5, 6, 7]],
        "quad": [[0, 1, 2, 3], [4, 5, 6, 7]],
        "line3": [[0, 2, 1]],
        "tetra": [[0, 1, 2, 4]],
        "vertex": [[7]],
    }
    line = "*NODE\n1,0,0\n2,1,0.1\n3,2,0\n*ELEMENT,TYPE={}\n1,{}\n"
    assert read(tmp_path, "b.inp", line.format("B22", "1,2,3")).cells["line3"].tolist() == [[0, 2, 1]]
    assert read(tmp_path, "b.inp", line.format("T2D3", "1,3,2")).cells["line3"].tolist() == [[0, 2, 1]]


def test_parts_and_instances_of_abaqus(tmp_path):
    """Numbers of nodes count within a part; an instance may be moved and turned."""
    part = "*Part, name=P\n*Node\n1,0,0,0\n2,1,0,0\n3,0,1,0\n*Element,type=S3\n1,1,2,3\n*End Part\n"
    other = part.replace("name=P", "name=Q")
    alone = read(tmp_path, "a.inp", part + other)
    assert alone.n_nodes == 6 and alone.cells["triangle"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assembly = """*Assembly, name=A
*Instance, name=one, part=p
*End Instance
*Instance, name=two, part=Q
0, 0, 5
0, 0, 5, 0, 0, 6, 90
*End Instance
*Node
77, 9, 9, 9
*End Assembly
"""
    mesh = read(tmp_path, "a.inp", part + other + assembly)
    expected = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 5], [0, 1, 5], [-1, 0, 5]]
    np.testing.assert_allclose(mesh.points, expected, atol=1e-12)


def test_includes(tmp_path):
    (tmp_path / "nodes.txt").write_text("1,0,0,1\n2,1,0,0\n3,0,1,0\n")
    (tmp_path / "cells.txt").write_text("*ELEMENT, TYPE=S3\n1,1,2,3\n")
    text = "*NODE, INPUT=nodes.txt\n*INCLUDE, INPUT=cells.txt\n"
    assert read(tmp_path, "a.inp", text).n_cells == 1
    refused(tmp_path, "a.inp", text + "*INCLUDE,INPUT=a.inp\n", "includes 'a.inp' recursively")
    refused(tmp_path, "a.inp", "*INCLUDE,INPUT=b.inp\n", "includes 'b.inp', which does not exist", FileNotFoundError)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "grid.inc").write_text("GRID,1,,0.,0.,1.\nGRID,2,,1.,0.,0.\nINCLUDE 'more.inc'\n")
    (tmp_path / "deep" / "more.inc").write_text("GRID,3,,0.,1.,0.\n")
    assert read(tmp_path, "a.bdf", "BEGIN BULK\nINCLUDE 'deep/\ngrid.inc'\nCTRIA3,1,1,1,2,3\nENDDATA\n").n_nodes == 3


def test_what_is_wrong_with_an_abaqus_file(tmp_path):
    head = f"*NODE\n{NODES}\n"
    for text, reason in {
        "*Heading\nfoo\n": "no .NODE with nodes",
        head + "*ELEMENT,TYPE=C3D8\n1,1,2,3,4,5,6,7,99\n": "name node 99, which it does not have",
        head + "*ELEMENT,TYPE=C3D8\n1,1,2,3,4,\n": "cut off: its element 1 is not complete",
        head + "*ELEMENT,TYPE=C3D8\n1,1,2,x\n": "where integers are expected",
        head + "*ELEMENT,TYPE=U7\n1,1,2,3\n": "elements of type 'U7' with 3 nodes are not supported",
        head + "1,0,0,0\n*ELEMENT,TYPE=S3\n1,1,2,3\n": "node 1 is given twice",
        "*NODE\n1,a,0,0\n": "where numbers are expected",
        head + "*NGEN\n1,8\n": "by .NGEN, which is not supported",
        head.replace("*NODE", "*NODE, SYSTEM=C"): "cylindrical or spherical",
    }.items():
        refused(tmp_path, "a.inp", text, reason)


AVS = """# comment
4 2 4 1 0
10 0 0 0
20 1 0 0
30 0 1 0
40 0 0 1
1 7 tet 10 20 30 40
2 8 tri 10 20 30
2 1 3
T, K
v, m/s
10 1.0 0 0 1
30 3.0 0 0 3
20 2.0 0 0 2
40 4.0 0 0 4
1 1
E, J
2 0.2
1 0.1
"""


def test_avs(tmp_path):
    for name in ("a.avs", "a.inp"):
        mesh = read(tmp_path, name, AVS)
        assert mesh.cells["tetra"].tolist() == [[0, 1, 3, 2]] and mesh.cells["triangle"].tolist() == [[0, 1, 2]]
        assert mesh.fields["T"].tolist() == [1, 2, 3, 4] and mesh.fields["v"][:, 2].tolist() == [1, 2, 3, 4]
        assert mesh.cell_fields["E"].tolist() == [0.1, 0.2] and mesh.cell_fields["Material Id"].tolist() == [7, 8]
    refused(tmp_path, "a.avs", AVS[: AVS.index("1 7")], "cut off: it ends where a cell is expected")
    refused(tmp_path, "a.avs", "99999999999 1 0 0 0\n", "which the file is too short for")
    refused(tmp_path, "a.avs", AVS.replace("tri 10", "foo 10"), "has an unknown cell")
    refused(tmp_path, "a.avs", AVS.replace("20 30\n2 1", "20 31\n2 1"), "name node 31, which it does not have")
    (tmp_path / "b.avs").write_bytes(b"\7" + bytes(100))
    with pytest.raises(InputError, match="is a binary"):
        read_mesh(tmp_path / "b.avs")


def test_nastran_in_all_field_formats(tmp_path):
    small = [f"{'GRID':8}{k:<16}{x:<8.1f}{y:<8.1f}{z:<8.1f}" for k, (x, y, z) in enumerate(CUBE, 1)]
    large = [
        line
        for k, (x, y, z) in enumerate(CUBE, 1)
        for line in (f"{'GRID*':8}{k:<32}{x:<16.1f}{y:<16.1f}*N{k}", f"{f'*N{k}':8}{z:<16.1f}")
    ]
    free = [f"GRID,{k},,{x},{y},{z}" for k, (x, y, z) in enumerate(CUBE, 1)]
    tabs = [f"GRID\t{k}\t\t{x:.1f}\t{y:.1f}\t{z:.1f}" for k, (x, y, z) in enumerate(CUBE, 1)]
    hexahedron = [
        "CHEXA   1       2       1       2       3       4       5       6       +H1\n+H1     7       8",
        "CHEXA,1,2,1,2,3,4,5,6\n,7,8",
        "CHEXA*                 1               2               1               2\n"
        "*                      3               4               5               6\n"
        "*                      7               8",
    ]
    for grid, cell in itertools.product((small, large, free, tabs), hexahedron):
        text = "SOL 101\nCEND\nBEGIN BULK\n$ GRID of a comment\n" + "\n".join([*grid, cell]) + "\nENDDATA\nGRID,99\n"
        mesh = read(tmp_path, "a.bdf", text)
        np.testing.assert_array_equal(mesh.points, CUBE)
        assert mesh.cells["hexahedron"].tolist() == [list(range(8))] and mesh.cell_fields["nastran:ref"].tolist() == [2]
        assert read(tmp_path, "a.dat", text).n_cells == 1  # and not taken for Tecplot
    lines = "\n".join(free) + "\n"
    shells = "CQUAD4,5,1,1,2,3,4,30.\nCTRIA3,6,1,1,2,3\nCROD,7,1,1,2\nCELAS1,8,1,1,1\nCBUSH,9,1,1\nCONM2,10,1\n"
    mesh = read(tmp_path, "a.nas", lines + shells)
    assert {kind: len(block) for kind, block in mesh.cells.items()} == {"quad": 1, "triangle": 1, "line": 1}
    refused(tmp_path, "a.bdf", lines, "8 grid points, but no elements that are known")
    refused(tmp_path, "a.bdf", lines.replace("GRID,3,,", "GRID,3,7,") + shells, "in coordinate system 7")
    refused(tmp_path, "a.bdf", lines + "CTRIA6,5,1,1,2,3,4\n", "has some of its midside nodes, but not all")
    refused(tmp_path, "a.bdf", lines + "CTRIAX6,5,1,1,2,3,4,5,6\n", "has unknown elements CTRIAX6")
    refused(tmp_path, "a.bdf", lines + "CTRIA3,5,1,1,2,x\n", "has 'x' where an integer is expected")
    refused(tmp_path, "a.bdf", lines.replace("0.0", "0.x", 1) + shells, "'0.x' where a number is expected")


def test_quadratic_cells_of_nastran_as_meshio_reads_them(tmp_path):
    rng = np.random.default_rng(0)
    for kind, size in (("hexahedron20", 20), ("tetra10", 10)):
        points = rng.random((size, 3))
        meshio.nastran.write(tmp_path / "a.bdf", meshio.Mesh(points, [(kind, np.arange(size)[None])]))
        assert read_mesh(tmp_path / "a.bdf").cells[kind].tolist() == [list(range(size))]


def test_gmsh_1(tmp_path):
    text = "$NOD\n3\n5 0 0 1\n7 1 0 0\n9 0 1 0\n$ENDNOD\n$ELM\n2\n1 2 4 6 3 5 7 9\n2 1 3 6 2 5 7\n$ENDELM\n"
    mesh = read(tmp_path, "a.msh", text)
    assert mesh.cells["triangle"].tolist() == [[0, 1, 2]] and mesh.cells["line"].tolist() == [[0, 1]]
    assert mesh.cell_fields["gmsh:physical"].tolist() == [4, 3]
    refused(tmp_path, "a.msh", text[:70], "cut off")
    refused(tmp_path, "a.msh", text.replace("1 2 4 6 3 5", "1 99 4 6 3 5"), "of unknown type")
    refused(tmp_path, "a.msh", "hello\n", "neither like a Gmsh mesh .* nor like a Fluent")
    refused(tmp_path, "a.msh", "", "the file is empty")


def fluent(points, faces, n_cells):
    """A text of Fluent; faces as (nodes, first cell, second cell)."""
    n, d = points.shape
    lines = ['(0 "a (strange")', f"(2 {d})", f"(10 (0 1 {n:x} 0 {d}))", f"(12 (0 1 {n_cells:x} 0))"]
    lines += [f"(13 (0 1 {len(faces):x} 0))", f"(10 (1 1 {n:x} 1 {d})("]
    lines += [" ".join(map(repr, point)) for point in points.tolist()]
    lines += ["))", f"(13 (2 1 {len(faces):x} 2 0)("]
    lines += [
        f"{len(nodes)} " + " ".join(f"{k + 1:x}" for k in nodes) + f" {first + 1:x} {second + 1:x}"
        for nodes, first, second in faces
    ]
    return "\n".join([*lines, "))", "(39 (2 interior default-interior)())"])


def test_fluent_in_the_plane(tmp_path):
    points = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [2, 0.5]])
    faces = [([0, 1], 0, -1), ([1, 2], 0, 1), ([2, 3], 0, -1), ([3, 0], 0, -1), ([1, 4], 1, -1), ([4, 2], 1, -1)]
    text = fluent(points, faces, 2)
    mesh = read(tmp_path, "a.msh", text)
    assert {kind: sorted(block[0].tolist()) for kind, block in mesh.cells.items()} == {
        "quad": [0, 1, 2, 3],
        "triangle": [1, 2, 4],
    }
    assert mesh.graph().n_edges == 6
    assert mesh.graph(node_weights="area").node_weights.sum() == pytest.approx(1.5)
    refused(tmp_path, "a.msh", text[:-120], "cut off")
    refused(tmp_path, "a.msh", text.replace("(10 (0 1 5", "(10 (0 1 6"), "not all of them have coordinates")
    refused(tmp_path, "a.msh", fluent(points, faces[:-1], 2), "has 2 edges|do not meet|do not close")
    refused(tmp_path, "a.msh", fluent(points, faces, 1), "more than the 1 cells and 5 nodes")
    refused(tmp_path, "a.msh", "(3010 (1 1 5 1 2)(\0\0", "is a binary")


def test_fluent_in_space(tmp_path):
    """A pyramid, a wedge and a tetrahedron upon a hexahedron."""
    top = [[0.5, 0.5, 2.0], [2.0, 0, 0], [2.0, 0, 1], [-1, 0.5, 0.5]]
    points = np.vstack([CUBE, top, [[-1, 1, 2]]])
    cells = [
        ("hexahedron", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("pyramid", [4, 5, 6, 7, 8]),
        ("wedge", [1, 2, 9, 5, 6, 10]),
        ("tetra", [0, 3, 4, 11]),
        ("tetra", [3, 4, 11, 12]),
    ]
    sides = {
        "tetra": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]],
        "pyramid": [[0, 3, 2, 1], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]],
        "wedge": [[0, 1, 2], [3, 5, 4], [0, 3, 4, 1], [1, 4, 5, 2], [2, 5, 3, 0]],
        "hexahedron": [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]],
    }
    found = {}
    for number, (kind, nodes) in enumerate(cells):
        for side in sides[kind]:
            face = [nodes[k] for k in side]
            found.setdefault(frozenset(face), [face]).append(number)
    faces = [(face, *(owners + [-1])[:2]) for face, *owners in found.values()]
    mesh = read(tmp_path, "a.msh", fluent(points, faces, len(cells)))
    expected = Mesh(points, [(kind, [nodes]) for kind, nodes in cells])
    np.testing.assert_array_equal(mesh.graph().edges, expected.graph().edges)
    np.testing.assert_allclose(
        mesh.graph(node_weights="area").node_weights, expected.graph(node_weights="area").node_weights
    )
    nodes = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3]])
    with pytest.raises(InputError, match="do not enclose"):
        solid_cells(np.eye(4, 3), [(nodes, np.array([[0, -1]] * 3))], 1)


def test_fluent_polyhedra_are_cut(tmp_path):
    """A cube, one of whose faces is two triangles: pyramids and tetrahedra around a node in its middle."""
    quads = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6]]
    faces = [(face, 0, -1) for face in [*quads, [3, 0, 4], [3, 4, 7]]]
    (tmp_path / "a.msh").write_text(fluent(np.array(CUBE), faces, 1))
    mesh = read_fluent(tmp_path / "a.msh")
    assert {kind: len(block) for kind, block in mesh.cells.items()} == {"pyramid": 5, "tetra": 2}
    assert mesh.points[8].tolist() == [0.5, 0.5, 0.5]
    assert mesh.graph(node_weights="area").node_weights.sum() == pytest.approx(1)


def test_tetgen(tmp_path):
    node = "# a\n4 3 1 0\n1 0 0 0 5.0\n2 1 0 0 6.0\n3 0 1 0 7.0\n4 0 0 1 8.0\n"
    (tmp_path / "a.node").write_text(node)
    with pytest.raises(FileNotFoundError, match="a.node: it needs a file a.ele beside it"):
        read_mesh(tmp_path / "a.node")
    for content, reason in {
        "": "ends where|file is empty",
        "# only\n": "ends where the head of",
        "1 4 0\n1 1 2 3\n": "unknown or incomplete",
    }.items():
        (tmp_path / "a.ele").write_text(content)
        for name in ("a.node", "a.ele"):
            with pytest.raises(InputError, match=reason):
                read_mesh(tmp_path / name)
    (tmp_path / "a.ele").write_text("1 4 0\n1 1 2 3 4\n")
    for name in ("a.node", "a.ele"):
        mesh = read_mesh(tmp_path / name)
        assert mesh.cells["tetra"].tolist() == [[0, 1, 2, 3]] and mesh.fields["tetgen:0"].tolist() == [5, 6, 7, 8]
    (tmp_path / "e.node").write_text("")
    with pytest.raises(InputError, match="the file is empty"):
        read_mesh(tmp_path / "e.node")


def test_well_known_text(tmp_path):
    text = "TIN (((0 0 0, 1 0 0, 0 1 0, 0 0 0)), ((1 0 0, 1 1 1e0, 0 1 0, 1 0 0)))"
    mesh = read(tmp_path, "a.wkt", text)
    assert mesh.n_nodes == 4 and mesh.cells["triangle"].tolist() == [[0, 1, 2], [1, 3, 2]]
    refused(tmp_path, "a.wkt", text[:-3], "not a TIN|between its triangles")
    refused(tmp_path, "a.wkt", text.replace("0 0 0)), ", "0 0 1)), "), "not a closed line")
    refused(tmp_path, "a.wkt", "TIN (" + "((1 1 1, " * 3000 + ")", "between its triangles")


def test_files_of_meshio(tmp_path):
    """What meshio writes in the formats that we read ourselves comes back as it went in."""
    points, cells = plate(60)
    space = np.c_[points, points[:, 0] ** 2]
    foreign = meshio.Mesh(space, [("triangle", cells)], point_data={"T": points[:, 0]})
    for name, module in (
        ("a.avs", "avsucd"),
        ("a.inp", "abaqus"),
        ("a.bdf", "nastran"),
        ("a.msh", "gmsh"),
        ("a.vtk", "vtk"),
    ):
        getattr(meshio, module).write(tmp_path / name, foreign)
        mesh = read_mesh(tmp_path / name)
        np.testing.assert_allclose(mesh.points, space, rtol=1e-6)
        np.testing.assert_array_equal(mesh.cells["triangle"], cells)
    assert read_graph(tmp_path / "a.vtk", fields=["T"]).n_features == 4
