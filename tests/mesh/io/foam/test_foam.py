"""OpenFOAM cases in every form that its files have, and what is said of damaged ones."""

import shutil

import numpy as np
import pytest

from swwl import InputError, read_mesh
from swwl.mesh.cells import cell_measures
from swwl.mesh.io import read_series
from swwl.mesh.io.faces import solid_cells
from swwl.mesh.io.foam.case import files_of, is_case, read_case, times_of
from swwl.mesh.io.foam.files import open_foam
from tests.mesh.io.small_files import HEXAHEDRA, POINTS, WEDGES, foam, write_case

FORMS = [("ascii", 32, 64), ("binary", 32, 64), ("binary", 64, 64), ("binary", 32, 32), ("ascii", 64, 32)]


def volumes(mesh):
    return sum(cell_measures(mesh.points, kind, block).sum() for kind, block in mesh.cells.items())


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("form", "label", "scalar"), FORMS)
def test_every_form_gives_the_same(tmp_path, form, label, scalar, packed):
    case = write_case(tmp_path / "case", foam(form, label, scalar, packed))
    mesh = read_mesh(case)
    assert mesh.name == "case"
    np.testing.assert_array_equal(mesh.points, POINTS)
    np.testing.assert_array_equal(np.sort(mesh.cells["hexahedron"]), np.sort(HEXAHEDRA))
    np.testing.assert_array_equal(np.sort(mesh.cells["wedge"]), np.sort(WEDGES))
    assert volumes(mesh) == pytest.approx(2.5)
    # the wedge is the last cell of the case and the first here
    assert mesh.cell_fields["p"].tolist() == [4.5, 1.5, 3.0]
    np.testing.assert_allclose(mesh.cell_fields["U"], 1.5 * POINTS[[2, 0, 1]])
    np.testing.assert_allclose(mesh.cell_fields["S"][1], 1.5 * np.array([0, 3, 5, 1, 4, 2]))  # xx yy zz xy yz zx
    np.testing.assert_array_equal(mesh.cell_fields["W"], [[1, 2, 3]] * 3)
    np.testing.assert_array_equal(mesh.fields["x"], POINTS[:, 0])
    assert "phi" not in mesh.cell_fields
    assert read_mesh(case, ["p"]).cell_fields.keys() == {"p"}


def test_patches_and_zones_are_groups(tmp_path):
    groups = read_case(write_case(tmp_path, foam())).groups
    assert groups["bottom"]["quad"].tolist() == [[0, 3, 4, 1], [1, 4, 5, 2]]
    assert {kind: len(faces) for kind, faces in groups["walls"].items()} == {"triangle": 2, "quad": 7}
    assert groups["roof"] == {"wedge": [0]}


def test_times(tmp_path):
    case = write_case(tmp_path / "case", foam())
    assert times_of(case) == [0, 0.5]
    assert read_mesh(case, time=0).cell_fields["p"].tolist() == [3, 1, 2]
    assert read_mesh(case, time="first").cell_fields["p"].tolist() == [3, 1, 2]
    assert read_mesh(f"{case}@0").cell_fields["p"].tolist() == [3, 1, 2]
    assert [time for time, _ in read_series(case)] == [0, 0.5]
    with pytest.raises(InputError, match=r"it has no time 0.3; its times are 0, 0.5"):
        read_mesh(case, time=0.3)


def test_the_mesh_of_the_latest_time_not_after_is_taken(tmp_path):
    files = foam()
    moved = files["constant/polyMesh/points"].replace(b"(0 0.5 2)", b"(0 0.5 3)")
    case = write_case(tmp_path, files | {"0.5/polyMesh/points": moved})
    assert read_mesh(case).points[12].tolist() == [0, 0.5, 3]
    assert read_mesh(case, time=0).points[12].tolist() == [0, 0.5, 2]


def test_the_stub_of_paraview_stands_for_its_folder(tmp_path):
    write_case(tmp_path, foam())
    (tmp_path / "case.foam").touch()
    assert read_mesh(tmp_path / "case.foam").n_nodes == len(POINTS)


def test_short_lists_comments_and_lists_of_one_value(tmp_path):
    files = foam()
    head = files["constant/polyMesh/owner"].split(b"\n//")[0]
    files["constant/polyMesh/neighbour"] = head + b"\n/* 9 (\n*/ 2(1 // one\n 2)"
    files["0.5/p"] = head.replace(b"labelList", b"volScalarField") + b"internalField nonuniform List<scalar> 3{7.5};"
    mesh = read_mesh(write_case(tmp_path, files | {"constant/polyMesh/neighbour": head + b"\n/* 9 ( */ 2(1 2)"}))
    assert mesh.cell_fields["p"].tolist() == [7.5] * 3
    macros = files | {"0.5/p": files["0.5/p"].replace(b"nonuniform List<scalar> 3{7.5}", b"uniform $start")}
    macros["constant/polyMesh/neighbour"] = head + b" 2(1 2)"
    assert "p" not in read_mesh(write_case(tmp_path / "macros", macros)).cell_fields


def test_processors_that_are_not_there_and_times_that_one_lacks_are_named(tmp_path):
    for number in (0, 1, 3):
        write_case(tmp_path / "gap" / f"processor{number}", foam())
    with pytest.raises(InputError, match="decomposed up to processor3, but has no mesh of processor2"):
        read_mesh(tmp_path / "gap")
    for number in (0, 1, 2):
        root = write_case(tmp_path / "late" / f"processor{number}", foam())
        if number == 0:
            shutil.rmtree(root / "0.5")
    assert times_of(tmp_path / "late") == [0, 0.5]
    with pytest.raises(InputError, match=r"its processor0 has no time 0.5, which others have \(2\)"):
        read_mesh(tmp_path / "late")
    files = foam()
    patches = files["constant/polyMesh/boundary"]
    boundary = patches.replace(b"walls { type patch", b"procBoundary0to2 { type processor")
    for number in (0, 1):
        write_case(tmp_path / "last" / f"processor{number}", files | {"constant/polyMesh/boundary": boundary})
    with pytest.raises(InputError, match="share faces with processor2, which is not there"):
        read_mesh(tmp_path / "last")


def test_what_is_missing_or_wrong_is_named(tmp_path):
    (tmp_path / "bare" / "system").mkdir(parents=True)
    (tmp_path / "bare" / "system" / "controlDict").write_text("")
    with pytest.raises(InputError, match="case of OpenFOAM without a mesh.*: run blockMesh"):
        read_mesh(tmp_path / "bare")
    with pytest.raises(InputError, match="neither constant/polyMesh nor processor0/constant/polyMesh is in it"):
        read_mesh(tmp_path)
    (tmp_path / "regions" / "constant" / "air" / "polyMesh").mkdir(parents=True)
    with pytest.raises(InputError, match=r"several regions \(air\)"):
        read_mesh(tmp_path / "regions")
    (tmp_path / "collated" / "processors4").mkdir(parents=True)
    with pytest.raises(InputError, match="run reconstructPar"):
        read_mesh(tmp_path / "collated")
    wrong = {
        "constant/polyMesh/points": (b"(2 1 1)", b"(2 1)", "not 3 for each entry"),
        "constant/polyMesh/owner": (b"\n0\n", b"\n9\n", "cannot enclose as many"),
        "constant/polyMesh/faces": (b"4(6 7 10 9)", b"4(6 7 10 99)", "not one of its 14"),
        "constant/polyMesh/neighbour": (b"2\n(", b"3\n(", "declares 3 entries, but has 2"),
        "constant/polyMesh/boundary": (b"nFaces 9", b"nFaces 90", "patch 'walls' has faces"),
        "0.5/p": (b"3\n(", b"4\n(", "declares 4 entries"),
    }
    for name, (old, new, reason) in wrong.items():
        files = foam()
        assert old in files[name], name
        case = write_case(tmp_path / "wrong", files | {name: files[name].replace(old, new, 1)})
        with pytest.raises(InputError, match=reason):
            read_mesh(case)
    files = foam("binary")
    case = write_case(tmp_path / "bits", files | {k: v.replace(b"label=32", b"label=64") for k, v in files.items()})
    with pytest.raises(InputError, match="is cut off|differ from its header"):
        read_mesh(case)
    files = foam(packed=True)
    name = "constant/polyMesh/points.gz"
    case = write_case(tmp_path / "packed", files | {name: files[name][:-30]})
    with pytest.raises(InputError, match="gzipped content is cut off"):
        read_mesh(case)
    del files["constant/polyMesh/owner.gz"]
    with pytest.raises(InputError, match="no file 'owner'"):
        read_mesh(write_case(tmp_path / "less", files))
    assert open_foam(case / "constant" / "polyMesh" / "faces").kind == "faceList"


def test_a_folder_is_known_by_the_files_that_count(tmp_path):
    case = write_case(tmp_path / "case", foam())
    names = [file.relative_to(case).as_posix() for file in files_of(case)]
    assert "constant/polyMesh/points" in names and "0.5/p" in names and "0/p" not in names
    assert is_case(case) and not is_case(tmp_path)
    shutil.rmtree(case / "0.5")
    assert "0/p" in [file.relative_to(case).as_posix() for file in files_of(case)]


def test_copies_of_fields_are_no_fields(tmp_path):
    case = write_case(tmp_path / "case", foam())
    known = [*read_mesh(case).fields, *read_mesh(case).cell_fields]
    for name in ("p.bak", "p~", "p.orig"):
        shutil.copy(case / "0.5/p", case / "0.5" / name)
    mesh = read_mesh(case)
    assert [*mesh.fields, *mesh.cell_fields] == known


def test_a_polyhedron_is_cut_from_its_center():
    """A cube with one face cut in two: its volume, and faces that its neighbor shares."""
    cube = np.array([[x, y, z] for z in (0.0, 1) for y in (0.0, 1) for x in (0.0, 1)])
    quads = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [1, 3, 7, 5], [2, 6, 7, 3]])
    triangles = np.array([[0, 4, 6], [0, 6, 2]])
    found = solid_cells(cube, [(quads, np.array([[0, -1]] * 5)), (triangles, np.array([[0, -1]] * 2))], 1)
    points = found.with_centers(cube)
    assert points[8].tolist() == [0.5, 0.5, 0.5]
    assert {kind: len(block) for kind, block in found.blocks} == {"pyramid": 5, "tetra": 2}
    volume = sum(cell_measures(points, kind, block.astype(np.int32)).sum() for kind, block in found.blocks)
    assert volume == pytest.approx(1)
    assert found.source.tolist() == [0] * 7
    assert found.with_centers(cube[:, 0]).tolist() == [*cube[:, 0], 0.5]
