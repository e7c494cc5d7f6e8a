"""Groups in files of solvers: of real files as independent readers find them, and of small ones with every form."""

import re
import zipfile
from pathlib import Path

import h5py
import meshio
import numpy as np
import pytest
from scipy.io import netcdf_file

from swwl import Mesh, as_graph, as_mesh, read_mesh
from swwl.errors import InputError, MeshWarning
from swwl.mesh.cells import _NODES, CELL_TYPES, cell_dimension, cell_edges, cell_sides, side_of
from swwl.mesh.io.shared import NamedSets, Piece, join, tagged_groups
from swwl.mesh.io.vtk.groups import take_groups
from tests.mesh.io import small_files
from tests.mesh.io.hdf.test_hdf5_formats import node, zone


@pytest.fixture(scope="module")
def formats(swwl_data):
    folder = swwl_data / "formats"
    if not folder.is_dir():
        pytest.skip("SWWL_DATA has no folder formats")
    return folder


def kinds(mesh):
    return {name: (group.kind, group.size) for name, group in mesh.groups.items()}


def corners(faces):
    """Faces as a set of sets of nodes."""
    return {frozenset(face) for block in faces.values() for face in block.tolist()}


def test_gmsh_as_meshio_has_it(formats):
    path = formats / "scikit-fem/mixedtriquad.msh"
    mesh, theirs = read_mesh(path), meshio.read(path)
    assert kinds(mesh) == {"boundary": ("faces", 22), "domain": ("cells", 52)}
    lines = {frozenset(line) for line in theirs.cells_dict["line"].tolist()}
    assert corners(mesh.groups["boundary"].faces) == lines
    assert {kind: len(chosen) for kind, chosen in mesh.groups["domain"].cells.items()} == {"triangle": 16, "quad": 36}
    assert mesh.part("boundary").n_nodes == 22 and mesh.part("dom*").n_cells == 52


def test_first_format_of_gmsh_as_its_text_has_it(formats):
    path = formats / "openfoam/CubeVer1.msh"
    mesh = read_mesh(path)
    text = path.read_text()
    nodes = [int(line.split()[0]) for line in text.partition("$NOD\n")[2].partition("$ENDNOD")[0].splitlines()[1:]]
    rows = [
        list(map(int, line.split())) for line in text.partition("$ELM\n")[2].partition("$ENDELM")[0].splitlines()[1:]
    ]
    for number in (27, 28, 29):
        wanted = {frozenset(nodes.index(k) for k in row[5:]) for row in rows if row[2] == number}
        assert corners(mesh.groups[f"physical {number}"].faces) == wanted
    assert mesh.groups["physical 30"].size == sum(row[2] == 30 for row in rows)


def test_med_as_hdf5_has_it(formats):
    path = formats / "feelpp/tripod.med"
    mesh = read_mesh(path)
    with h5py.File(path) as file:
        home = next(iter(file["ENS_MAA"].values()))
        home = home if "MAI" in home else next(iter(home.values()))
        families = next(iter(file["FAS"].values()))["ELEME"]
        numbers = {}
        for family in families.values():
            for row in family["GRO"]["NOM"][()]:
                numbers.setdefault("".join(map(chr, row)).split("\0")[0].strip(), []).append(family.attrs["NUM"])
        triangles, tetrahedra = home["MAI"]["TR3"], home["MAI"]["TE4"]
        nodes = triangles["NOD"][()].reshape(3, -1).T - 1
        for name, some in numbers.items():
            chosen = nodes[np.isin(triangles["FAM"][()], some)]
            assert corners(mesh.groups[name].faces) == {frozenset(row) for row in chosen.tolist()}
            solid = mesh.groups[name].cells.get("tetra", [])
            np.testing.assert_array_equal(solid, np.flatnonzero(np.isin(tetrahedra["FAM"][()], some)))
    assert numbers.keys() == mesh.groups.keys() and len(numbers) == 4


def test_su2_and_fluent_as_their_texts_have_them(formats):
    path = formats / "su2/sector.su2"
    mesh = read_mesh(path)
    for name, rows in re.findall(r"MARKER_TAG= (\S+)\nMARKER_ELEMS= \d+\n((?:\d[^\n]*\n)+)", path.read_text()):
        wanted = {frozenset(map(int, row.split()[1:3])) for row in rows.splitlines()}
        assert corners(mesh.groups[name].faces) == wanted
    assert list(mesh.groups) == ["inlet", "outlet", "per1", "per2"]
    path = formats / "openfoam/elbow.msh"
    mesh = read_mesh(path)
    text = path.read_text()
    names = dict(re.findall(r"\(45 \((\d+) \S+ (\S+?)\)", text))
    for number, body in re.findall(r"\(13 \((\w+) \w+ \w+ [^2] \w+\)\s*\(([^()]+)\)", text):
        wanted = {frozenset(int(k, 16) - 1 for k in row.split()[:2]) for row in body.strip().splitlines()}
        assert corners(mesh.groups[names[str(int(number, 16))]].faces) == wanted
    assert kinds(mesh)["fluid-9"] == ("cells", 918) and len(mesh.groups) == 6


def test_exodus_as_netcdf_and_vtk_have_it(formats):
    path = formats / "libmesh/read_exodus_PYRAMID13.e"
    mesh = read_mesh(path)
    if path.read_bytes()[:3] == b"CDF":
        with netcdf_file(path, mmap=False) as file:
            nodes = {k: np.sort(file.variables[f"node_ns{k}"][:]) - 1 for k in range(1, 7)}
    else:
        with h5py.File(path) as file:
            nodes = {k: np.sort(file[f"node_ns{k}"][()]) - 1 for k in range(1, 7)}
    found = [group for name, group in mesh.groups.items() if group.kind == "nodes"]
    for group, wanted in zip(found, nodes.values(), strict=True):
        np.testing.assert_array_equal(group.nodes, wanted)
    assert sum(group.size for group in mesh.groups.values() if group.kind == "cells") == mesh.n_cells
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    for name in (
        "libmesh/read_exodus_PYRAMID13.e",
        "libmesh/nontrivial_node_num_map.exo",
        "vtk-data/edgeFaceElem.exii",
    ):
        mesh = read_mesh(formats / name)
        reader = pyvista.get_reader(formats / name)
        reader.side_sets.enable_all()
        blocks = reader.read()["Side Sets"]
        sides = [group for group in mesh.groups.values() if group.kind == "faces"]
        assert len(sides) == len(blocks) > 0
        for group, block in zip(sides, blocks, strict=True):
            theirs = np.unique(np.round(np.asarray(block.points)[:, : mesh.dimension], 4), axis=0)
            np.testing.assert_allclose(np.unique(np.round(mesh.points[group.nodes], 4), axis=0), theirs, rtol=1e-5)
            assert group.size == block.n_cells


def test_nastran_and_abaqus_as_their_texts_have_them(formats):
    mesh = read_mesh(formats / "pynastran/plate_mixed.bdf")
    held = mesh.groups["SPC 1"].nodes
    assert held.tolist() == mesh.groups["SPC 2"].nodes.tolist()  # SPCADD
    assert len(np.unique(mesh.points[held, 0])) == 1 and len(held) == 6
    assert sum(mesh.groups[f"property {k}"].size for k in (1, 2)) == 26
    mesh = read_mesh(formats / "pynastran/static_solid_shell_bar.bdf")
    assert mesh.groups["SPC 123456"].size == 13  # 22 to 25, and 5 to 13
    mesh = read_mesh(formats / "pynastran/pload4_chexa20.inp")
    assert mesh.groups["Internal_Selection-1_Fixed-1"].nodes.tolist() == [4, 5, 6, 7, 14, 16, 18, 19]
    face = mesh.groups["Internal_Selection-1_Uniform_Pressure-1"]
    assert face.nodes.tolist() == [0, 1, 2, 3, 8, 9, 10, 11] and list(face.faces) == ["quad8"]
    mesh = read_mesh(formats / "medcoupling/ABAQUS_MIXT_ELEMENT.inp")
    assert {name: list(group.cells) for name, group in mesh.groups.items()} == {
        "HEX8": ["hexahedron"],
        "TET4": ["tetra"],
        "PENTA6": ["wedge"],
        "PYRA5": ["pyramid"],
    }


def test_plaid_families(formats, tmp_path):
    with zipfile.ZipFile(formats / "plaid/dataset_cgns_2of20.zip") as archive:
        archive.extractall(tmp_path)
    (path, *_) = tmp_path.rglob("*.cgns")
    assert kinds(read_mesh(path)) == {"2D": ("cells", 7168)}


PART = """*Part, name=Bar
*Node, nset=Everything
 1, 0,0,0
 2, 1,0,0
 3, 1,1,0
 4, 0,1,0
 5, 0,0,1
 6, 1,0,1
 7, 1,1,1
 8, 0,1,1
*Element, type=C3D8, elset=Solid
 1, 1,2,3,4,5,6,7,8
*Nset, nset=bottom, generate
 1, 4, 1
*NSET, NSET=odd, GENERATE
 1, 8, 2
*Nset, nset=both
 BOTTOM, 7
*Nset, nset=BOTH
 8
*Nset, nset=itself
 itself, 1
*Nset, nset="of elements", elset=Solid
*Elset, elset=Top
 Solid
*Surface, name=roof, type=ELEMENT
 Top, S2
*Surface, name=points, type=node
 bottom, 1.
 5, 1.
*End Part
"""
ASSEMBLY = """*Assembly, name=A
*Instance, name=Bar-1, part=Bar
*End Instance
*Instance, name=Bar-2, part=Bar
 10, 0, 0
*End Instance
*Node
 1, 5,5,5
*Nset, nset=point
 1
*Nset, nset=held, instance=Bar-1
 1, 2
*Nset, nset=held, instance=Bar-2
 bottom
*Nset, nset=pair
 Bar-1.bottom, Bar-2.5, held
*Elset, elset=picked, instance=Bar-2
 1
*Surface, name=load
 picked, S1
 Bar-1.Solid, S6
*End Assembly
"""


def test_sets_of_abaqus_parts(tmp_path):
    (tmp_path / "a.inp").write_text(PART)
    mesh = read_mesh(tmp_path / "a.inp")
    nodes = {name: group.nodes.tolist() for name, group in mesh.groups.items() if group.kind == "nodes"}
    assert nodes == {
        "Everything": list(range(8)),
        "bottom": [0, 1, 2, 3],
        "odd": [0, 2, 4, 6],
        "both": [0, 1, 2, 3, 6, 7],
        "itself": [0],
        "of elements": list(range(8)),
        "points": [0, 1, 2, 3, 4],
    }
    assert mesh.groups["roof"].faces["quad"].tolist() == [[4, 7, 6, 5]]
    assert mesh.groups["Top"].cells["hexahedron"].tolist() == [0]


def test_sets_of_abaqus_assemblies(tmp_path):
    (tmp_path / "a.inp").write_text(PART + ASSEMBLY)
    groups = read_mesh(tmp_path / "a.inp").groups
    assert groups["Bar-2.bottom"].nodes.tolist() == [8, 9, 10, 11]
    assert groups["held"].nodes.tolist() == [0, 1, 8, 9, 10, 11]
    assert groups["pair"].nodes.tolist() == [0, 1, 2, 3, 8, 9, 10, 11, 12]
    assert groups["point"].size == 0  # a reference point, which is not a node of the mesh
    assert groups["picked"].cells["hexahedron"].tolist() == [1]
    assert corners(groups["load"].faces) == {frozenset([8, 9, 10, 11]), frozenset([0, 3, 4, 7])}


def test_sets_of_included_abaqus_files_and_equal_names(tmp_path):
    (tmp_path / "n.txt").write_text("1, 0, 0\n2, 1, 0\n3, 1, 1\n4, 0, 1\n")
    (tmp_path / "e.txt").write_text("7, 1, 2, 3, 4\n")
    (tmp_path / "s.txt").write_text("1, 2\n")
    text = "*NODE, NSET=N, INPUT=n.txt\n*ELEMENT, TYPE=S4, ELSET=fix, INPUT=e.txt\n*NSET, NSET=fix, INPUT=s.txt\n"
    text += "*SURFACE, NAME=fix\nfix, SPOS\n7, E2\n*SURFACE, NAME=calculix\nfix, S1\nfix, S4\n"
    (tmp_path / "a.inp").write_text(text)
    mesh = read_mesh(tmp_path / "a.inp")
    assert kinds(mesh) == {
        "N": ("nodes", 4),
        "fix": ("nodes", 2),
        "fix (faces)": ("faces", 2),
        "calculix": ("faces", 2),
        "fix (elements)": ("cells", 1),
    }
    assert (
        mesh.groups["fix (faces)"].faces["line"].tolist() == [[1, 2]] == mesh.groups["calculix"].faces["line"].tolist()
    )
    (tmp_path / "a.inp").write_text(text + "*SURFACE, NAME=wrong\nfix, S9\n")
    with pytest.raises(InputError, match="a surface of face 'S9'"):
        read_mesh(tmp_path / "a.inp")


def test_surfaces_without_labels_are_the_free_faces(tmp_path):
    """Two hexahedra and a wedge on top of one of them: faces between them are not free."""
    nodes = [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1, 2)] + [(0, 0.5, 2), (1, 0.5, 2)]
    text = "*NODE\n" + "".join(f"{k}, {x}, {y}, {z}\n" for k, (x, y, z) in enumerate(nodes, 1))
    text += "*ELEMENT, TYPE=C3D8, ELSET=all\n1, 1,2,5,4,7,8,11,10\n2, 2,3,6,5,8,9,12,11\n"
    text += "*ELEMENT, TYPE=C3D6, ELSET=all\n3, 7,10,13,8,11,14\n*ELEMENT, TYPE=SAX1, ELSET=line\n4, 1, 2\n"
    text += "*SURFACE, NAME=skin\nall,\n*SURFACE, NAME=second\n2,\n*SURFACE, NAME=shell\nline, SPOS\n"
    (tmp_path / "a.inp").write_text(text)
    mesh = read_mesh(tmp_path / "a.inp")
    found = {kind: len(faces) for kind, faces in mesh.groups["skin"].faces.items()}
    assert found == {"quad": 11, "triangle": 2}  # 2 * 6 + 3 quadrilaterals, less two pairs
    assert mesh.groups["second"].size == 5 and mesh.groups["shell"].faces["line"].tolist() == [[0, 1]]
    corner = mesh.points[mesh.cells["hexahedron"][1]]
    assert corners(mesh.groups["second"].faces) >= {frozenset([2, 5, 11, 8])} and corner[:, 0].max() == 2


GMSH = """$MeshFormat
4.1 0 8
$EndMeshFormat
$PhysicalNames
1
1 7 "wall"
$EndPhysicalNames
$Entities
1 2 1 0
1 0 0 0 1 9
1 0 0 0 1 0 0 1 7 0
2 0 0 0 1 0 0 0 0
1 0 0 0 1 1 0 {domain} 0
$EndEntities
$Nodes
1 4 1 4
2 1 0 4
1
2
3
4
0 0 0
1 0 0
1 1 0
0 1 0
$EndNodes
$Elements
4 5 1 5
0 1 15 1
5 4
1 1 1 1
1 1 2
1 2 1 1
2 2 3
2 1 2 2
3 1 2 3
4 1 3 4
$EndElements
"""


def test_physical_groups_of_some_entities(tmp_path):
    """Names, numbers where there are none, points, and entities that belong to no group."""
    (tmp_path / "a.msh").write_text(GMSH.format(domain="1 7"))
    mesh = read_mesh(tmp_path / "a.msh")
    assert kinds(mesh) == {"physical 9": ("nodes", 1), "wall": ("faces", 1), "physical 7": ("cells", 2)}
    assert mesh.groups["wall"].faces["line"].tolist() == [[0, 1]] and mesh.groups["physical 9"].nodes.tolist() == [3]
    (tmp_path / "b.msh").write_text(GMSH.format(domain="0"))
    mesh = read_mesh(tmp_path / "b.msh")
    assert kinds(mesh) == {"physical 9": ("nodes", 1), "wall": ("faces", 1)}
    assert mesh.cell_fields["gmsh:physical"].tolist() == [9, 7, 0, 0, 0]


def test_sets_of_meshio_meshes():
    points = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    cells = [("line", np.array([[0, 1]])), ("triangle", np.array([[0, 1, 2], [0, 2, 3]]))]
    sets = {"a": [np.array([0]), np.array([1])]}
    theirs = meshio.Mesh(points, cells, point_sets={"n": np.array([3, 1])}, cell_sets=sets)
    mesh = as_mesh(theirs)
    assert kinds(mesh) == {"n": ("nodes", 2), "a": ("faces", 1), "a (elements)": ("cells", 1)}


def test_sets_of_nastran(tmp_path):
    cards = ["GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "GRID,5,,1.,1.,0.", "GRID,9,,0.,1.,0.", "CQUAD4,1,3,1,2,5,9"]
    cards += ["SPC,7,1,123,0.,9,123,0.", "SPC1,8,12,2,THRU,8", "SPC1,8,12,100", "SPCADD,4,7,8", "SET1,3,5,9"]
    (tmp_path / "a.bdf").write_text("BEGIN BULK\n" + "\n".join(cards) + "\nENDDATA\n")
    with pytest.warns(MeshWarning, match=r"a.bdf: its sets name 1 nodes or elements .* \('SPC 8': 1\)"):
        mesh = read_mesh(tmp_path / "a.bdf")
    found = {name: group.nodes.tolist() for name, group in mesh.groups.items()}
    assert found == {
        "SPC 7": [0, 3],
        "SPC 8": [1, 2],
        "SET1 3": [2, 3],
        "SPC 4": [0, 1, 2, 3],
        "property 3": [0, 1, 2, 3],
    }


def test_sets_that_name_what_a_file_does_not_have_are_told(tmp_path):
    square = "*NODE\n1, 0, 0\n2, 1, 0\n3, 1, 1\n4, 0, 1\n*ELEMENT, TYPE=S4\n7, 1, 2, 3, 4\n"
    sets = "*NSET, NSET=fix\n1, 2, 30, 40\n*ELSET, ELSET=top\n7, 8\n*NSET, NSET=all, GENERATE\n1, 99\n"
    bar = small_files.dyna().replace(b"7        37        67        97", b"7        37        67        99")
    lost = small_files.unv().replace(f"{8:10d}{3:10d}{0:10d}".encode(), f"{8:10d}{9:10d}{0:10d}".encode())
    files = {"a.inp": (square + sets).encode(), "a.k": bar, "a.unv": lost}
    told = {"a.inp": "name 3 .*'fix': 2, 'top': 1", "a.k": "name 1 .*'left': 1", "a.unv": "name 1 .*'ROOF': 1"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.warns(MeshWarning, match=f"{name}: its sets {told[name]}"):
            read_mesh(tmp_path / name)


def condition(home, name, form, values, location=None, family=None):
    bc = node(home, name, "BC_t", "FamilySpecified")
    node(bc, form, "IndexRange_t" if form.endswith("Range") else "IndexArray_t", np.asarray(values))
    if location:
        node(bc, "GridLocation", "GridLocation_t", location)
    if family:
        node(bc, "FamilyName", "FamilyName_t", family)


def test_families_of_gmsh_are_called_as_its_physical_groups(tmp_path):
    points = np.array([[x, y, 0.0] for y in (0, 1) for x in (0, 1, 2)])
    with h5py.File(tmp_path / "a.cgns", "w") as file:
        base = node(file, "Base", "CGNSBase_t", np.array([2, 3], np.int32))
        zone(base, "Zone", points, [(7, [[1, 2, 5, 4], [2, 3, 6, 5]]), (3, [[1, 2], [2, 3], [3, 6]])])
        home = node(base["Zone"], "ZoneBC", "ZoneBC_t")
        for name, first, last in (("L_1", 11, 11), ("L_2", 12, 12), ("L_3", 13, 13), ("S_1", 1, 2)):
            condition(home, name, "PointRange", [[first], [last]], "CellCenter", name)
        for name, called in (("L_1", "wall"), ("L_2", "wall"), ("S_1", "fluid")):
            node(node(base, name, "Family_t"), called, "FamilyName_t", called)
    groups = read_mesh(tmp_path / "a.cgns").groups
    assert groups["wall"].faces["line"].tolist() == [[0, 1], [1, 2]] and groups["fluid"].size == 2
    assert groups["L_3"].size == 1 and not {"L_1", "L_2", "S_1"} & set(groups)  # which has no name of its own


def test_boundary_conditions_of_cgns(tmp_path):
    points = np.array([[x, y, 0.0] for y in (0, 1) for x in (0, 1, 2)])
    with h5py.File(tmp_path / "a.cgns", "w") as file:
        base = node(file, "Base", "CGNSBase_t", np.array([2, 3], np.int32))
        sections = [(7, [[1, 2, 5, 4], [2, 3, 6, 5]]), (3, [[1, 2], [2, 3], [3, 6]])]
        zone(base, "Zone", points, sections)
        home = node(base["Zone"], "ZoneBC", "ZoneBC_t")
        condition(home, "corners", "PointList", [[1], [6]])
        condition(home, "low", "PointRange", [[1], [3]])
        condition(home, "wall", "PointList", [[11, 13]], "EdgeCenter", "solid")
        condition(home, "wall 2", "ElementRange", [12, 12], None, "solid")
        condition(home, "second", "PointList", [[2]], "CellCenter")
    mesh = read_mesh(tmp_path / "a.cgns")
    assert mesh.groups["corners"].nodes.tolist() == [0, 5] and mesh.groups["low"].nodes.tolist() == [0, 1, 2]
    assert mesh.groups["wall"].faces["line"].tolist() == [[0, 1], [2, 5]]
    assert mesh.groups["solid"].size == 3 and mesh.groups["wall 2"].size == 1
    assert mesh.groups["second"].cells["quad"].tolist() == [1]
    assert mesh.groups["y"].size == 3  # the section of lines


def test_boundary_conditions_of_structured_cgns(tmp_path):
    shape = (3, 4, 2)
    points = np.array([[i, j, k] for k in range(2) for j in range(4) for i in range(3)], float)
    with h5py.File(tmp_path / "a.cgns", "w") as file:
        base = node(file, "Base", "CGNSBase_t", np.array([3, 3], np.int32))
        for name, shift in (("Zone 1", 0), ("Zone 2", 5)):
            zone(base, name, points + shift, [], structured=shape)
            home = node(base[name], "ZoneBC", "ZoneBC_t")
            condition(home, "imin", "PointRange", [[1, 1, 1], [1, 4, 2]])
            condition(home, "top", "PointRange", [[1, 1, 2], [2, 3, 2]], "KFaceCenter")
            condition(home, "line", "PointRange", [[1, 1, 1], [3, 1, 1]])
            condition(home, "list", "PointList", [[3, 4, 2], [1, 1, 1]])
    mesh = read_mesh(tmp_path / "a.cgns")
    sizes = {"imin": ("faces", 6), "top": ("faces", 12), "line": ("nodes", 6), "list": ("nodes", 4)}
    assert kinds(mesh) == {**sizes, "Zone 1": ("cells", 6), "Zone 2": ("cells", 6)}
    low, high = mesh.points[mesh.groups["imin"].nodes].reshape(2, 8, 3)
    assert (low[:, 0] == 0).all() and (high[:, 0] == 5).all()
    assert (mesh.points[mesh.groups["top"].nodes][:12, 2] == 1).all() and len(mesh.groups["top"].nodes) == 24
    assert mesh.points[mesh.groups["list"].nodes].tolist()[:2] == [[0, 0, 0], [2, 3, 1]]


def test_blocks_of_vtm(tmp_path):
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    rotor, stator = pyvista.Box(), pyvista.Box((3, 4, 0, 1, 0, 1))
    pyvista.MultiBlock({"rotor": rotor, "casing": pyvista.MultiBlock({"stator": stator})}).save(tmp_path / "a.vtm")
    mesh = read_mesh(tmp_path / "a.vtm")
    assert {name: group.kind for name, group in mesh.groups.items()} == {"rotor": "cells", "stator": "cells"}
    pyvista.MultiBlock({"row": stator, "casing": pyvista.MultiBlock({"row": rotor})}).save(tmp_path / "b.vtm")
    assert list(read_mesh(tmp_path / "b.vtm").groups) == ["row", "casing/row"]
    part = mesh.part("*stator")
    assert part.points[:, 0].min() == 3 and part.n_cells == stator.n_cells


def test_pieces_unite_sets():
    def piece(shift):
        sets = NamedSets()
        sets.add_nodes("tip", np.array([2]))
        sets.add_faces("side", "line", np.array([[0, 1]]))
        sets.add_cells("all", np.array([0]))
        return Piece(np.array([[0.0, 0], [1, 0], [0, 1]]) + shift, [("triangle", np.array([[0, 1, 2]]))], {}, {}, sets)

    mesh = join([piece(0), piece(5)])
    assert mesh.groups["tip"].nodes.tolist() == [2, 5]
    assert mesh.groups["side"].faces["line"].tolist() == [[0, 1], [3, 4]]
    assert mesh.groups["all"].cells["triangle"].tolist() == [0, 1]


def test_numbers_of_two_dimensions():
    found = tagged_groups(np.array([3, 3, 0]), np.array([1, 2, 2]), {})
    assert [(name, cells.tolist()) for name, cells in found] == [("physical 3", [0]), ("physical 3", [1])]


@pytest.mark.parametrize("kind", [kind for kind in CELL_TYPES if kind != "polygon" and cell_dimension(kind) > 1])
def test_sides_have_the_nodes_that_lie_on_them(kind):
    """Midside nodes of a side are those in the middle of its edges, on cells in VTK's order."""
    size = _NODES[kind]
    places = cell_sides(kind, np.arange(size, dtype=np.int32)[None])
    joined = {frozenset(edge) for edge in cell_edges(kind, np.arange(size, dtype=np.int32)[None]).tolist()}
    for side in places:
        corner = side[0].tolist()
        name, nodes = side_of(kind, corner)
        assert nodes[: len(corner)] == corner and cell_dimension(name) == cell_dimension(kind) - 1
        for k, middle in enumerate(nodes[len(corner) :]):
            ends = corner[k], corner[(k + 1) % len(corner)]
            assert all(frozenset((middle, end)) in joined for end in ends)


def test_fields_that_only_look_like_groups():
    fields = {
        "group: a": np.array([0, 2], np.uint8),
        "group: b": np.array([0.0, 1]),
        "group: c": np.array([1, 0], np.uint8),
    }
    sets = take_groups(fields, {}, {"group: x": np.array([1]), "group: y; line": np.array([[0.5, 1.0]])})
    assert list(fields) == ["group: a", "group: b"] and list(sets.nodes) == ["c"] and not sets.faces


def test_a_part_of_a_file(tmp_path):
    square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    Mesh(square, [[0, 1, 2], [0, 2, 3]], {"T": [1.0, 2, 3, 4]}, groups={"body": {"triangle": [1]}}).write(
        tmp_path / "a.vtu"
    )
    mesh = read_mesh(tmp_path / "a.vtu", group="bo*")
    assert mesh.n_cells == 1 and mesh.fields["T"].tolist() == [1, 3, 4] and mesh.name == "a.vtu"
    with pytest.raises(InputError, match=r"a.vtu: The mesh has no group 'x'; its groups are: body"):
        read_mesh(Path(tmp_path / "a.vtu"), group="x")
    graph = as_graph(tmp_path / "a.vtu", group="body")
    assert graph.n_nodes == 3
    with pytest.raises(InputError, match="a finished graph has no groups"):
        as_graph(graph, group="body")
