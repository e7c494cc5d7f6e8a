"""Files that only VTK reads: who may try, and what is said where it cannot."""

import numpy as np
import pytest

from swwl.errors import InputError
from swwl.mesh.io.pyvista_files import ALSO, ENDINGS, read_pyvista, rescue
from swwl.mesh.io.shared import UnsupportedError


def test_vtk_is_asked_only_where_another_reader_does_not_read_the_kind(tmp_path):
    path = tmp_path / f"a{sorted(ALSO)[0]}"
    path.write_text("not one of VTK's files")
    assert rescue(path, None, InputError("it is cut off")) is None  # damage stays damage
    assert rescue(tmp_path / "a.stl", None, UnsupportedError("of another kind")) is None
    assert rescue(path, None, UnsupportedError("of another kind")) is None  # VTK fails, and the first reason is told
    assert not set(ALSO) & set(ENDINGS)


def test_image_grids(tmp_path):
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    grid = pyvista.ImageData(dimensions=(3, 4, 1))
    grid.point_data["u"], grid.point_data["v"] = range(12), range(12)
    grid.save(tmp_path / "a.vti")
    mesh = read_pyvista(tmp_path / "a.vti", ["u"])
    assert mesh.n_nodes == 12 and mesh.n_cells == 6 and list(mesh.fields) == ["u"]


def test_patches_of_ensight_are_groups_of_faces(tmp_path):
    pytest.importorskip("pyvista", reason="pyvista is not installed")
    cube = np.array([[x, y, z] for z in (0.0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))])
    parts = [("internalMesh", cube, "hexa8", np.arange(8)), ("wall", cube[:4], "quad4", np.arange(4)),
             ("apart", cube[:4] - [0, 0, 2], "quad4", np.arange(4))]  # fmt: skip
    lines, values = ["a", "b", "node id assign", "element id assign"], ["p"]
    for number, (name, points, kind, cell) in enumerate(parts, 1):
        lines += ["part", f"{number:10d}", name, "coordinates", f"{len(points):10d}"]
        lines += [f"{x:12.5e}" for x in points.T.ravel()] + [kind, f"{1:10d}", "".join(f"{k + 1:10d}" for k in cell)]
        values += ["part", f"{number:10d}", kind, f"{number:12.5e}"]
    (tmp_path / "a.geo").write_text("\n".join(lines) + "\n")
    (tmp_path / "a.p").write_text("\n".join(values) + "\n")
    head = "FORMAT\ntype: ensight gold\nGEOMETRY\nmodel: a.geo\nVARIABLE\nscalar per element: p a.p\n"
    (tmp_path / "a.case").write_text(head)
    mesh = read_pyvista(tmp_path / "a.case")
    assert mesh.n_nodes == 12 and {kind: len(block) for kind, block in mesh.cells.items()} == {
        "hexahedron": 1,
        "quad": 1,
    }
    assert mesh.groups["wall"].faces["quad"].tolist() == [[0, 1, 2, 3]]
    assert mesh.cell_fields["p"].tolist() == [1.0, 3.0] and set(mesh.groups) == {"internalMesh", "wall", "apart"}
