"""The numbers of VTK files: base64 against the standard library, and elements of XML."""

import base64
import binascii

import numpy as np
import pytest

from swwl.errors import InputError
from swwl.mesh.io.vtk.data import decode, parse
from swwl.mesh.io.vtk.legacy import read_vtk
from swwl.mesh.io.vtk.vtu import read_vtu


@pytest.mark.parametrize("length", [0, 1, 2, 3, 100, 3071, 3072, 3073, 100_001])
def test_base64_is_that_of_the_standard_library(length):
    data = np.random.default_rng(length).bytes(length)
    text = base64.b64encode(data)
    assert bytes(decode(memoryview(text))) == data


@pytest.mark.parametrize("place", [5, 4999, -3])
def test_other_letters_are_refused(place):
    text = bytearray(base64.b64encode(bytes(6000)))
    text[place] = ord("*")
    with pytest.raises(binascii.Error):
        decode(memoryview(bytes(text)))


def test_elements_and_appended_bytes():
    text = (
        b'<VTKFile type="x"><A n="3"/><B><A n="4"/></B><AppendedData encoding="raw">_\x00<>&</AppendedData></VTKFile>'
    )
    root, appended = parse(text)
    assert [child.integer("n") for child in root.all("A")] == [3]
    assert root.first("B").first("A").integer("n") == 4 and root.first("C") is None
    assert root.first("A").integer("m", 7) == 7
    with pytest.raises(InputError):
        root.first("A").integer("m")
    assert appended is not None


def test_fields_that_are_not_asked_for_are_not_kept(tmp_path):
    (tmp_path / "a.vtk").write_text(
        "# vtk DataFile Version 3.0\na\nASCII\nDATASET POLYDATA\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\nPOLYGONS 1 4\n"
        "3 0 1 2\nPOINT_DATA 3\nSCALARS u float\nLOOKUP_TABLE default\n1 2 3\n"
    )
    grid = read_vtk(tmp_path / "a.vtk")
    assert grid.fields["u"].tolist() == [1, 2, 3] and grid.cells["triangle"].tolist() == [[0, 1, 2]]
    grid.with_fields({"v": [4, 5, 6]}).write(tmp_path / "a.vtu")
    assert list(read_vtu(tmp_path / "a.vtu", ["v"]).fields) == ["v"]
    np.testing.assert_array_equal(read_vtu(tmp_path / "a.vtu", []).points, grid.points)
