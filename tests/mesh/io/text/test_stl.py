"""STL as programs write it, and as it is left behind by a full disk."""

import struct

import meshio
import numpy as np
import pytest

from swwl import InputError, read_mesh

POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])


def binary(triangles, head=b"made by hand", declared=None, color=0):
    data = head.ljust(80)[:80] + struct.pack("<I", len(triangles) if declared is None else declared)
    for triangle in triangles:
        data += struct.pack("<12fH", 0, 0, 0, *np.ravel(triangle), color)
    return data


def text(triangles, name="part"):
    lines = [f"solid {name}"]
    for triangle in triangles:
        lines += ["  facet normal 0 0 0", "    outer loop"]
        lines += [f"      vertex {x:.6e} {y:.6e} {z:.6e}" for x, y, z in triangle]
        lines += ["    endloop", "  endfacet"]
    return "\n".join([*lines, f"endsolid {name}", ""])


TEXT = text(POINTS[FACES])


def read(tmp_path, content):
    data = content.encode() if isinstance(content, str) else content
    (tmp_path / "m.stl").write_bytes(data)
    return read_mesh(tmp_path / "m.stl")


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        text(POINTS[FACES], ""),
        text(POINTS[FACES], "vertex of a façade"),
        TEXT.upper(),
        TEXT.replace("\n", "\r\n"),
        text(POINTS[FACES[:2]]) + text(POINTS[FACES[2:]], "second"),
        TEXT.replace(" 0.0", " -0.0"),
        binary(POINTS[FACES]),
        binary(POINTS[FACES], head=b"solid exported by a program"),
        binary(POINTS[FACES], color=0x7FFF),
        binary(POINTS[FACES]) + b"\0\0\0\0",  # some programs fill a block
    ],
)
def test_corners_at_the_same_place_are_one_node(tmp_path, content):
    mesh = read(tmp_path, content)
    assert mesh.points.shape == (4, 3) and len(mesh.cells["triangle"]) == 4
    np.testing.assert_array_equal(mesh.points[mesh.cells["triangle"]], POINTS[FACES])


@pytest.mark.parametrize("as_binary", [True, False])
def test_another_program_wrote_it_and_reads_it_alike(tmp_path, as_binary):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3)).astype(np.float32)
    faces = np.array([rng.choice(40, 3, replace=False) for _ in range(70)])
    path = tmp_path / "m.stl"
    meshio.stl.write(path, meshio.Mesh(points, [("triangle", faces)]), binary=as_binary)
    with np.errstate(over="ignore"):  # in meshio's reader of text
        theirs = meshio.stl.read(path)
    ours = read_mesh(path)
    assert len(ours.points) == len(theirs.points)
    corners = ours.points[ours.cells["triangle"]]
    np.testing.assert_array_equal(corners, theirs.points[theirs.cells_dict["triangle"]])


def test_a_deformed_surface_has_the_same_cells(tmp_path):
    first = read(tmp_path, binary(POINTS[FACES]))
    second = read(tmp_path, text((POINTS @ [[1, 0.2, 0], [0, -2, 0], [0.1, 0, 0.5]])[FACES]))
    np.testing.assert_array_equal(first.cells["triangle"], second.cells["triangle"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("hello\n", "has 6 bytes and does not begin with 'solid'"),
        (TEXT[: TEXT.index("endfacet", 400) + 9], "ends after .* triangles without 'endsolid' .is it cut off"),
        (TEXT[: TEXT.index("vertex", 400)], "is it cut off"),
        (TEXT.replace("vertex", "corner", 1), "facet 1 has 2 corners, but 3"),
        (TEXT.replace("vertex 0", "vertex 1 0", 1), "a vertex has 4 coordinates, but 3"),
        (TEXT.replace(".", ","), "where numbers are expected"),
        ("solid empty\nendsolid empty\n", "it has no triangles"),
        (binary(POINTS[FACES])[:200], "declares 4 triangles, but has room for 2"),
        (binary(POINTS[FACES], declared=10**9), "declares 1000000000 triangles, but has room for 4"),
        (binary([]), "it has no triangles"),
        (TEXT.replace("1.000000e+00", "nan", 1), "finite"),
    ],
)
def test_damaged_files(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, content)
