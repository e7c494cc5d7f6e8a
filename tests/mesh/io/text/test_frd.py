"""CalculiX results in all four forms."""

import numpy as np
import pytest

from swwl import InputError, read_mesh
from swwl.errors import MeshWarning
from swwl.jobs.describe import describe
from swwl.mesh.io import read_series
from swwl.mesh.io.formats import modes_of, times_of
from swwl.mesh.io.text.frd import frd_times, input_sets, read_results, von_mises
from tests.mesh.io.small_files import FRD_SETS, HEXAHEDRA, POINTS, STRESS, WEDGES, frd


@pytest.mark.parametrize("form", [0, 1, 2, 3])
def test_every_form_gives_the_same(tmp_path, form):
    path = tmp_path / "bar.frd"
    path.write_bytes(frd(form))
    mesh = read_mesh(path)
    np.testing.assert_allclose(mesh.points, POINTS)
    np.testing.assert_array_equal(mesh.cells["hexahedron"], HEXAHEDRA)
    np.testing.assert_array_equal(mesh.cells["wedge"], WEDGES)
    np.testing.assert_allclose(mesh.fields["DISP"], 2 * POINTS)
    np.testing.assert_allclose(mesh.fields["STRESS"], 2 * STRESS)
    np.testing.assert_allclose(mesh.fields["NDTEMP"], 2 * POINTS[:, 0])
    np.testing.assert_allclose(mesh.fields["MISES"], von_mises(2 * STRESS))
    assert frd_times(path) == [1, 2]
    np.testing.assert_allclose(read_mesh(path, time=1).fields["DISP"], POINTS)
    assert [time for time, _ in read_series(path)] == [1, 2]
    assert {"MISES"} <= read_mesh(path, ["MISES"]).fields.keys()
    assert read_mesh(path, ["DISP"]).fields.keys() == {"DISP"}


def test_sets_come_from_the_input_beside_it(tmp_path):
    (tmp_path / "bar.frd").write_bytes(frd())
    assert read_results(tmp_path / "bar.frd").groups == {}
    (tmp_path / "bar.inp").write_text(FRD_SETS)
    groups = read_results(tmp_path / "bar.frd").groups
    assert {name: np.asarray(nodes).tolist() for name, nodes in groups.items() if not isinstance(nodes, dict)} == {
        "ALL": [0, 1],
        "LEFT": [0, 3, 6, 9],
        "GENERATED": [0, 1, 2, 3],
        "BOTH": [0, 2, 3, 6, 9],
    }
    assert groups["BLOCKS"]["hexahedron"].tolist() == [0, 1] and groups["ROOF"] == {"wedge": [0]}
    (tmp_path / "more.inp").write_text("*INCLUDE, INPUT=bar.inp\n*NSET, NSET=HUGE, GENERATE\n1, 999999999999, 1\n")
    nodes, elements = input_sets(tmp_path / "more.inp")
    assert "LEFT" in nodes and "ROOF" in elements and nodes["HUGE"].hold(np.array([5])).all()


def test_nodes_without_a_result_hold_nan(tmp_path):
    lines = frd().decode().splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(" -4  NDTEMP"))
    del lines[start + 2]
    lines[start - 1] = lines[start - 1].replace("         14", "         13")
    (tmp_path / "a.frd").write_text("\n".join(lines) + "\n")
    found = read_mesh(tmp_path / "a.frd", time=1).fields["NDTEMP"]
    assert np.isnan(found[0]) and np.isfinite(found[1:]).all()


def test_damage_is_named(tmp_path):
    text = frd().decode()
    wrong = {
        "cut off": text[:700],
        "does not end with -3": text.replace(" -3\n", ""),
        "elements of type 99": text.replace(" -1         1    1", " -1         1   99"),
        "it has no nodes": "    1C\n 9999\n",
        "name node 7777": text.replace(" -2         7", " -2      7777", 1),
        "other than numbers": text.replace(" 1.00000E+00", " 1.0x000E+00", 1),
        "format 9": text[:100].replace("1\n", "9\n") + text[100:],
    }
    for reason, content in wrong.items():
        (tmp_path / "a.frd").write_text(content)
        with pytest.raises(InputError, match=reason):
            read_mesh(tmp_path / "a.frd")
    (tmp_path / "a.frd").write_bytes(frd(3)[:600])
    with pytest.raises(InputError, match="cut off inside a binary block"):
        read_mesh(tmp_path / "a.frd")


def as_modes(content, numbers):
    """Call the steps of these numbers modes, as CalculiX does after *FREQUENCY."""
    lines = content.decode().splitlines()
    for k, line in enumerate(lines):
        if line.startswith("  100C") and int(line[58:63]) in numbers:
            lines[k] = f"{line[:63]}{'MODAL':10s}{line[73:]}"
    return "\n".join(lines) + "\n"


def test_modes_are_not_the_last_time(tmp_path):
    """A static step, then *FREQUENCY: the result is that of the static one."""
    path = tmp_path / "bar.frd"
    path.write_text(as_modes(frd(), {2}))
    assert (times_of(path), modes_of(path)) == ([1], [2])
    with pytest.warns(MeshWarning, match="eigenmodes beside the other steps.*@mode1"):
        found = read_mesh(path)
    np.testing.assert_allclose(found.fields["DISP"], POINTS)
    for name in ("bar.frd@mode1", "bar.frd@2"):
        np.testing.assert_allclose(read_mesh(tmp_path / name).fields["DISP"], 2 * POINTS)
    np.testing.assert_allclose(read_mesh(path, time="mode1").fields["DISP"], 2 * POINTS)
    with pytest.raises(InputError, match="mode2 is requested, but it has modes 1 to 1"):
        read_mesh(tmp_path / "bar.frd@mode2")
    with pytest.raises(InputError, match="holds 1 eigenmode beside one time, but modes are no times.*bar.frd@mode1"):
        read_series(path)


def test_of_modes_alone_the_first_is_read(tmp_path):
    path = tmp_path / "bar.frd"
    path.write_text(as_modes(frd(), {1, 2}))
    assert (times_of(path), modes_of(path)) == ([], [1, 2])
    np.testing.assert_allclose(read_mesh(path).fields["DISP"], POINTS)
    assert describe(path)["modes"] == [1, 2] and "times" not in describe(path)
    with pytest.raises(InputError, match="it holds 2 eigenmodes, but modes are no times"):
        read_series(path)


def test_surfaces_come_from_the_input_beside_it(tmp_path):
    """As those of the input file do; a deck whose nodes are others has none."""
    (tmp_path / "bar.frd").write_bytes(frd())
    nodes = "".join(f"{10 * k + 7}, {x}, {y}, {z}\n" for k, (x, y, z) in enumerate(POINTS.tolist()))
    rest = FRD_SETS.split("*ELEMENT", 1)[1].replace("*ELSET, ELSET=ROOF\n3\n", "")
    deck = f"*NODE\n{nodes}*ELEMENT{rest}*SURFACE, NAME=SIDE\nBLOCKS, S1\n*SURFACE, NAME=ONE\n1, S3\n"
    (tmp_path / "bar.inp").write_text(deck)
    results, given = read_mesh(tmp_path / "bar.frd").groups, read_mesh(tmp_path / "bar.inp").groups
    for name in ("SIDE", "ONE"):
        assert results[name].kind == "faces"
        np.testing.assert_array_equal(results[name].faces["quad"], given[name].faces["quad"])
    (tmp_path / "bar.inp").write_text(deck.replace("7, ", "1007, "))
    assert "SIDE" not in read_mesh(tmp_path / "bar.frd").groups
