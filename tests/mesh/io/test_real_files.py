"""Files that other projects test their readers with: read as ``expected.json`` says, or refused for the true reason."""

import json
import sys
import zipfile

import numpy as np
import pytest

from swwl import InputError, as_mesh, read_mesh

# Why a file is refused that nobody reads, and those that only VTK or lz4 read.
REFUSED = {
    "medcoupling/Test3Dpoly.med": "of MED's version 2, and versions 3 and 4 are read",
    "pymapdl-reader/all_solid_cells.cdb": "the file extension '.cdb' is not supported",
}
WITHOUT_VTK = {
    "cgns/block_4x2x3.cgns": "in the old ADF container",
    "cgns/catR.cgns": "in the old ADF container",
    "fieldcompare/vtu_raw_appended_lz4_compression_custom_header_precision_2d_in_2d.vtu": "compressed by LZ4",
    "vtkio/hexahedron_lz4.vtu": "compressed by LZ4",
    "vtkio/hexahedron_lz4_inline_binary.vtu": "compressed by LZ4",
}
INSIDE = {
    "plaid/dataset_cgns_2of20.zip": "dataset_cgns/data/train/sample_000000000/meshes/mesh_000000000.cgns",
    "vtk-data/OpenFOAM.zip": "OpenFOAM/cavity/case.foam",
}


@pytest.fixture(scope="module")
def files(swwl_data, tmp_path_factory):
    """The path of every mesh, and what is expected of it."""
    folder = swwl_data / "formats"
    if not folder.is_dir():
        pytest.skip("SWWL_DATA has no folder formats")
    expected = json.loads((folder / "expected.json").read_text())
    found = {}
    for name, facts in expected.items():
        path = folder / name
        if name in INSIDE:
            target = tmp_path_factory.mktemp("zip")
            with zipfile.ZipFile(path) as archive:
                archive.extractall(target)
            path = target / INSIDE[name]
        if not facts.get("companion"):
            found[name] = path, facts
    assert len(found) == 36
    return found


def check(name, mesh, facts):
    assert mesh.n_nodes == facts["points"]
    cells = {"polygon" if kind.startswith("polygon") else kind: len(block) for kind, block in mesh.cells.items()}
    expected = dict(facts.get("cells", cells))
    assert mesh.n_cells == facts.get("cells_total", mesh.n_cells)
    if expected.pop("triangle_strip", 0):  # cut into triangles; the one there is has six nodes
        expected["triangle"] += 4
    if expected.pop("polyhedron", 0):  # the two there are cubes
        expected["hexahedron"] = 2
    assert cells == expected
    names = [*facts.get("arrays", {}), *facts.get("point_data", []), *facts.get("cell_data", [])]
    missing = {key for key in names if key not in mesh.fields and key not in mesh.cell_fields}
    assert missing <= {"boundary-domain-gmsh:bounding_entities"}  # lists of several lengths
    for key, shape in facts.get("arrays", {}).items():
        found = [part[key].shape for part in (mesh.fields, mesh.cell_fields) if key in part]
        assert key in missing or tuple(shape) in found
    assert len(mesh.cell_fields) >= facts.get("cell_data_count", 0)
    if "bbox" in facts:
        low, high = np.array(facts["bbox"])
        points = np.hstack([mesh.points, np.zeros((mesh.n_nodes, 3))])[:, : len(low)]
        np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], [low, high], atol=1e-9)
    used = np.unique(np.concatenate([block.ravel() for block in mesh.cells.values()]))
    if name not in WITH_LOOSE_NODES:
        assert len(used) == mesh.n_nodes


WITH_LOOSE_NODES: set[str] = set()


def read_all(files, refused):
    good = 0
    for name, (path, facts) in files.items():
        if name in refused:
            with pytest.raises(InputError, match=f"{path.name}: .*{refused[name]}") as caught:
                read_mesh(path)
            assert "\n" not in str(caught.value)
        else:
            check(name, read_mesh(path), facts)
            good += 1
    return good


def test_with_the_core_install(files, monkeypatch, capfd):
    for name in ("lz4", "lz4.block", "netCDF4", "pyvista", "vtk"):
        monkeypatch.setitem(sys.modules, name, None)
    assert read_all(files, REFUSED | WITHOUT_VTK) == 29
    assert capfd.readouterr() == ("", "")


def test_with_pyvista(files, monkeypatch, capfd):
    pytest.importorskip("pyvista", reason="pyvista is not installed")
    for name in ("lz4", "lz4.block"):  # VTK has its own
        monkeypatch.setitem(sys.modules, name, None)
    assert read_all(files, REFUSED) == 34
    assert capfd.readouterr() == ("", "")


def test_with_lz4(files, monkeypatch):
    pytest.importorskip("lz4.block", reason="lz4 is not installed")
    monkeypatch.setitem(sys.modules, "pyvista", None)
    only_vtk = {name: reason for name, reason in WITHOUT_VTK.items() if "LZ4" not in reason}
    assert read_all(files, REFUSED | only_vtk) == 32


@pytest.mark.filterwarnings("ignore::swwl.errors.LooseNodesWarning")
def test_nothing_is_read_otherwise_than_by_vtk(files):
    """Points, edges and fields of files that VTK reads right, too."""
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    compared = 0
    for name, (path, _) in files.items():
        if (
            path.suffix not in (".vtu", ".vtk", ".pvtu", ".cgns")
            or name in REFUSED
            or "polyhedron" in name  # which pyvista does not hand over
            or "ADF" in WITHOUT_VTK.get(name, "")
        ):
            continue
        theirs = pyvista.read(path)
        theirs = theirs.combine() if hasattr(theirs, "combine") else theirs
        mesh, other = read_mesh(path), as_mesh(theirs)
        np.testing.assert_allclose(mesh.points, other.points, atol=1e-12)
        np.testing.assert_array_equal(mesh.graph().edges, other.graph().edges)
        for key, field in mesh.fields.items():
            np.testing.assert_allclose(field.ravel(), np.asarray(theirs.point_data[key]).ravel(), rtol=1e-6)
        compared += 1
    assert compared >= 12
