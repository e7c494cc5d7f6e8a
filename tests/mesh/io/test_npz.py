"""Our own archives: whatever is wrong with one, a line says so and memory is not taken."""

import io
import zipfile

import numpy as np
import pytest

from swwl import Graph, InputError, Mesh, write_graph
from swwl.mesh.io import read
from swwl.mesh.io.npz import read_arrays


def archive(path, **arrays):
    np.savez(path, **arrays)


def head(shape, dtype="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


MESH = {"format": np.array("swwl-mesh 1"), "points": np.eye(3), "cells_triangle": np.array([[0, 1, 2]])}
GRAPH = {"format": np.array("swwl-graph 1"), "features": np.eye(3), "edges": np.array([[0, 1]])}


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({key: value for key, value in MESH.items() if key != "points"}, "a mesh has an array points"),
        (MESH | {"cells_blob": np.array([[0, 1, 2]])}, "Cells of type 'blob' are not known"),
        (MESH | {"cells_triangle": np.array([[0, 1, 9]])}, "numbered 0 to 2"),
        (MESH | {"cells_triangle": np.array([0, 1, 2])}, "must be an .m, k. array"),
        (MESH | {"field_T": np.zeros(4)}, "one row per node"),
        (MESH | {"cell_field_T": np.zeros(4)}, "one row per cell"),
        (MESH | {"points": np.array(["a"])}, "array of numbers"),
        (MESH | {"format": np.array("swwl-mesh 9")}, "found swwl-mesh 9"),
        ({"format": np.array("swwl-graph 1")}, "a graph has arrays features and edges"),
        (GRAPH | {"foo": np.zeros(3)}, "a graph has arrays features and edges"),
        (GRAPH | {"edges": np.array([[0, 3]])}, "numbered 0 to 2"),
        (GRAPH | {"weights": np.zeros(7)}, "Edge weights must have shape"),
        ({}, "found arrays"),
    ],
)
def test_wrong_arrays(arrays, reason, tmp_path):
    archive(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=f"a.npz: .*{reason}"):
        read(tmp_path / "a.npz")


def test_wrong_archives(tmp_path):
    path = tmp_path / "a.npz"
    write_graph(path, Graph(np.eye(3), [(0, 1)]))
    whole = path.read_bytes()
    noise = np.random.default_rng(0).bytes(1000)
    for content in (b"", b"PK", noise, whole[:-30], whole[:100], b"PK\3\4" + noise, whole[30:]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not an .npz archive, or is damaged") as caught:
            read(path)
        assert "pickle" not in str(caught.value)
    np.savez(path, a=np.array([{}], dtype=object))
    with pytest.raises(InputError, match="its array 'a': it holds object"):
        read(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (head((10**12,)), "declares 8000000000000 bytes, but has 0"),
        (head((2,)) + bytes(15), "declares 16 bytes, but has 15"),
        (head((2, 10**20)) + bytes(16), "declares"),
        (b"hello", "no valid head"),
        (b"", "no valid head"),
        (b"\x93NUMPY\x01\x00\xff\xff" + bytes(100), "no valid head"),
        (b"\x93NUMPY\x09\x00" + bytes(100), "no valid head"),
        (b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, "no valid head"),
    ],
)
def test_wrong_members(content, reason, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("points.npy", content)
    with pytest.raises(InputError, match=f"a.npz: its array 'points': .*{reason}"):
        read(tmp_path / "a.npz")


@pytest.mark.slow
def test_bombs(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("points", "field_a", "field_b"):
            file.writestr(f"{name}.npy", head((5 * 10**6,)) + bytes(4 * 10**7))
    assert (tmp_path / "a.npz").stat().st_size < 200_000
    with pytest.raises(InputError, match="declare 0.1 GB, more than 20 times the size"):
        read(tmp_path / "a.npz")


def test_every_flipped_bit_is_an_error_or_harmless(tmp_path):
    mesh = Mesh(np.eye(3), [[0, 1, 2]], {"T": [1.0, 2, 3]})
    for compress in (False, True):
        mesh.write(tmp_path / "a.npz", compress=compress)
        whole = bytearray((tmp_path / "a.npz").read_bytes())
        rng = np.random.default_rng(0)
        for place in rng.integers(0, len(whole), 300):
            damaged = whole.copy()
            damaged[place] ^= 1 << rng.integers(8)
            (tmp_path / "b.npz").write_bytes(damaged)
            try:
                found = read(tmp_path / "b.npz")
            except InputError:
                continue
            np.testing.assert_array_equal(found.points, mesh.points)


def test_arrays_are_read_only_and_whole():
    file = io.BytesIO()
    given = {
        "a": np.arange(6.0).reshape(2, 3),
        "f": np.asfortranarray(np.eye(3)[:2]),
        "e": np.empty((0, 3)),
        "t": np.array("x"),
    }
    np.savez(file, **given)
    found = read_arrays(file)
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
        assert not found[name].flags.writeable
