import meshio
import numpy as np
import pytest

from swwl import InputError, as_mesh, read_graph, read_mesh
from tests.helpers import plate

HEAD = "# vtk DataFile Version 3.0\ntitle\nASCII\n"
SQUARE = "POINTS 4 float\n0 0 0 1 0 0\n1 1 0\n0 1 0\n"


def data_sets(pyvista):
    grid = pyvista.ImageData(dimensions=(3, 4, 2)).cast_to_unstructured_grid()
    sphere = pyvista.Sphere(theta_resolution=6, phi_resolution=5)
    surface = pyvista.PolyData(sphere.points.copy())
    surface.verts, surface.lines = [1, 0, 2, 1, 2], [2, 0, 1, 3, 1, 2, 3]
    surface.faces, surface.strips = [3, 0, 1, 2, 5, 3, 4, 5, 6, 7], [5, 7, 8, 9, 10, 11]
    x = np.arange(3.0)
    warped = pyvista.ImageData(dimensions=(3, 4, 2)).cast_to_structured_grid()
    return {
        "mixed": grid.merge(sphere.cast_to_unstructured_grid()),
        "surface": surface,
        "structured": warped,
        "rectilinear": pyvista.RectilinearGrid(x, x[:2] ** 2, x / 3),
        "image": pyvista.ImageData(dimensions=(3, 4, 2), spacing=(1, 2, 3), origin=(5, 6, 7)),
        "plane image": pyvista.ImageData(dimensions=(3, 4, 1)),
    }


@pytest.mark.filterwarnings("ignore::swwl.errors.LooseNodesWarning")
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("version", [42, 51])
@pytest.mark.parametrize("kind", ["mixed", "surface", "structured", "rectilinear", "image", "plane image"])
def test_files_of_vtk_itself(kind, binary, version, tmp_path):
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    import vtk

    data = data_sets(pyvista)[kind]
    data.point_data["T T"] = np.linspace(0, 1, data.n_points)
    data.point_data["v"] = np.arange(3 * data.n_points).reshape(-1, 3)
    data.point_data.active_vectors_name = "v"
    data.cell_data["n"] = np.arange(data.n_cells)
    data.cell_data["b"] = np.arange(data.n_cells) % 2 == 0
    data.cell_data["u"] = np.arange(data.n_cells, dtype=np.uint8)
    data.field_data["note"] = ["some text"] if not binary else [1, 2]
    writer = vtk.vtkDataSetWriter()
    writer.SetFileName(str(tmp_path / "a.vtk"))
    writer.SetInputData(data)
    writer.SetFileVersion(version)
    writer.SetFileTypeToBinary() if binary else writer.SetFileTypeToASCII()
    writer.Write()
    mesh = read_mesh(tmp_path / "a.vtk")
    theirs = as_mesh(data)
    np.testing.assert_allclose(mesh.points, theirs.points, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(mesh.graph().edges, theirs.graph().edges)
    np.testing.assert_allclose(mesh.fields["T T"], data.point_data["T T"], rtol=1e-5)
    np.testing.assert_array_equal(mesh.fields["v"], data.point_data["v"])
    if kind != "surface":
        for name in ("n", "u"):
            assert sorted(mesh.cell_fields[name]) == sorted(data.cell_data[name])
    else:
        assert mesh.cell_fields["n"].tolist() == [0, 1, 1, 2, 3, 3, 4, 6, 6, 6, 5]


def test_attributes(tmp_path):
    text = (
        HEAD
        + "DATASET UNSTRUCTURED_GRID\n"
        + SQUARE
        + "CELLS 2 8\n3 0 1 2\n3 0 2 3\nCELL_TYPES 2\n5\n5\n"
        + "POINT_DATA 4\nSCALARS s double 1\nLOOKUP_TABLE default\n1 2 3 nan\nNORMALS n float\n"
        + "0 0 1 " * 4
        + "\nTENSORS t float\n"
        + "1 2 3 4 5 6 7 8 9 " * 4
        + "\nTEXTURE_COORDINATES c 2 float\n"
        + "0 1 " * 4
        + "\nLOOKUP_TABLE table 2\n0 0 0 1 1 1 1 1\nCOLOR_SCALARS k 3\n"
        + "0 0.5 1 " * 4
        + "\nMETADATA\nINFORMATION 0\n\nFIELD f 2\n1%20st 1 4 int\n1 2 3 4\nname 1 4 string\na\nb\nc\nd\nCELL_DATA 2\n"
        + "SCALARS e int\n7 8\n"
    )
    (tmp_path / "a.vtk").write_text(text)
    mesh = read_mesh(tmp_path / "a.vtk")
    shapes = {"s": (4,), "n": (4, 3), "t": (4, 9), "c": (4, 2), "k": (4, 3), "1 st": (4,)}
    assert {name: field.shape for name, field in mesh.fields.items()} == shapes
    assert np.isnan(mesh.fields["s"][3]) and mesh.cell_fields["e"].tolist() == [7, 8]
    assert list(read_mesh(tmp_path / "a.vtk", fields=["s"]).fields) == ["s"]


GRID = HEAD + "DATASET UNSTRUCTURED_GRID\n" + SQUARE
WRONG = {
    "Dear mesh,\n": "does not begin with",
    "# vtk DataFile Version 3.0\ntitle\nEBCDIC\n": "not ASCII or BINARY",
    HEAD: "has no DATASET",
    HEAD + "DATASET TABLE\n" + SQUARE: "holds a TABLE, not a mesh",
    HEAD + "DATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0\n": "is too short|ends before",
    HEAD + "DATASET UNSTRUCTURED_GRID\nPOINTS 999999999999 float\n0 0 0\n": "too short for",
    HEAD + "DATASET UNSTRUCTURED_GRID\nPOINTS four float\n0 0 0\n": "'four' where a count is expected",
    HEAD + "DATASET UNSTRUCTURED_GRID\nPOINTS 1 quaternion\n0 0 0\n": "type 'quaternion'",
    HEAD + "DATASET UNSTRUCTURED_GRID\nPOINTS 1 float\n0 x 0\n": "not 3 numbers",
    HEAD + "DATASET UNSTRUCTURED_GRID\nPOINTS 1 float\n0 1-1 0\n": "not 3 numbers|damaged",
    GRID + "CELLS 1 4\n3 0 1 2\n": "no CELL_TYPES",
    GRID + "CELLS 1 4\n3 0 1 9\nCELL_TYPES 1\n5\n": "numbered 0 to 3",
    GRID + "CELLS 2 7\n3 0 1 2 2 0 1\nCELL_TYPES 2\n5\n5\n": "has 2 nodes instead of 3",
    GRID + "CELLS 1 5\n3 0 1 2 3\nCELL_TYPES 1\n5\n": "have 4 numbers instead of 5",
    GRID + "CELLS 2 5\n3 0 1 2 9\nCELL_TYPES 2\n5\n5\n": "parts of|hold 2 lists",
    GRID + "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n42\n": "polyhedra",
    GRID + "NONSENSE 1\n": "'NONSENSE' where a VTK keyword",
    HEAD + "DATASET STRUCTURED_POINTS\nDIMENSIONS 100000 100000 100000\n": "more than 20 times",
    HEAD + "DATASET STRUCTURED_GRID\nDIMENSIONS 2 3 1\n" + SQUARE: "has 4 points",
    HEAD + "DATASET RECTILINEAR_GRID\nDIMENSIONS 2 1 1\nX_COORDINATES 1 float\n0\n": "but its coordinates",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong(text, tmp_path):
    (tmp_path / "a.vtk").write_text(text)
    with pytest.raises(InputError, match=f"a.vtk: .*({WRONG[text]})"):
        read_mesh(tmp_path / "a.vtk")


def test_every_cut_of_a_file_is_an_error_or_whole(tmp_path):
    """Cut anywhere, ascii or binary, a file is refused, or read without what stands behind its cells."""
    points, cells = plate(30)
    mesh = meshio.Mesh(np.c_[points, points[:, 0]], [("triangle", cells)], point_data={"T": points[:, 0]})
    for binary in (False, True):
        meshio.vtk.write(tmp_path / "a.vtk", mesh, binary=binary)
        whole = (tmp_path / "a.vtk").read_bytes()
        for end in range(0, len(whole), 37):
            (tmp_path / "a.vtk").write_bytes(whole[:end])
            try:
                found = read_mesh(tmp_path / "a.vtk")
            except InputError:
                continue
            assert found.n_nodes == 30
            assert not found.cells or len(found.cells["triangle"]) == len(cells)
    with pytest.raises(InputError):
        read_graph(tmp_path / "a.vtk", fields=["x"])
