"""Files that only VTK reads: who may try, and what is said where it cannot."""

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
