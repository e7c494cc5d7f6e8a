import base64
import itertools
import sys
import tempfile
import zlib
from contextlib import suppress

import meshio
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from swwl import Mesh, as_graph, read_graph, read_mesh
from swwl.errors import InputError
from swwl.mesh.cells import _NODES, CELL_TYPES
from swwl.mesh.io.vtk.cells import NUMBERS
from tests.helpers import plate
from tests.mesh.io.vtk.vtu_files import Builder

FORMS = [
    (form, compressor, header, order)
    for form, compressor, header, order in itertools.product(
        ("ascii", "binary", "raw", "base64"), (None, "zlib", "lzma"), ("UInt32", "UInt64", None), "<>"
    )
    if form != "ascii" or (compressor is None and header and order == "<")
]
POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0.5], [0, 1, 0], [2, 0, 1], [2, 1, 1], [3, 0.5, 2]])
TYPES = np.array([5, 9, 5, 7, 3], np.uint8)
CELLS = [[0, 1, 3], [1, 4, 5, 2], [1, 2, 3], [0, 1, 4, 5, 3], [5, 6]]
OFFSETS = np.cumsum([len(cell) for cell in CELLS])
NODES = np.concatenate(CELLS)
T, V = np.linspace(1, 2, 7), np.arange(21, dtype=np.int16).reshape(7, 3)
PACKED = zlib.compress(NODES.tobytes()[:64])
E = np.array([1, 2, 3, 4, 5], np.float32)


def check(mesh):
    np.testing.assert_array_equal(mesh.points, POINTS)
    assert {kind: block.tolist() for kind, block in mesh.cells.items()} == {
        "triangle": [[0, 1, 3], [1, 2, 3]],
        "quad": [[1, 4, 5, 2]],
        "polygon": [[0, 1, 4, 5, 3]],
        "line": [[5, 6]],
    }
    assert list(mesh.fields) == ["T", "V"]
    np.testing.assert_array_equal(mesh.fields["T"], T)
    np.testing.assert_array_equal(mesh.fields["V"], V)
    assert mesh.fields["V"].dtype == np.int16
    np.testing.assert_array_equal(mesh.cell_fields["E"], [1, 3, 2, 4, 5])  # in the order of the blocks


@pytest.mark.parametrize(("form", "compressor", "header", "order"), FORMS)
def test_every_form_of_the_format(form, compressor, header, order, tmp_path):
    build = Builder(form, compressor, header, order, version="0.1" if header is None else "2.2")
    fields = {"T": T, "V": V}
    piece = build.grid(POINTS, TYPES, OFFSETS, NODES, fields, {"E": E})
    (tmp_path / "a.VTU").write_bytes(build.file(piece))
    mesh = read_mesh(tmp_path / "a.VTU")
    check(mesh)
    assert mesh.name == "a.VTU"
    assert list(read_mesh(tmp_path / "a.VTU", fields=["V"]).fields) == ["V"]


def test_header_and_data_as_two_base64_texts(tmp_path):
    for form, header in itertools.product(("binary", "base64"), ("UInt32", "UInt64")):
        build = Builder(form, header=header, together=False)
        piece = build.grid(POINTS, TYPES, OFFSETS, NODES, {"T": T, "V": V}, {"E": E})
        (tmp_path / "a.vtu").write_bytes(build.file(piece))
        check(read_mesh(tmp_path / "a.vtu"))


@pytest.mark.slow
def test_long_base64_and_broken_lines(tmp_path):
    """More than the quick decoder's threshold, in lines of 76 letters as some programs write them."""
    points, cells = plate(2000)
    points = np.c_[points, points[:, 0]]
    for compressor in (None, "zlib"):
        build = Builder("binary", compressor, block=2**15)
        build.payload = lambda values, payload=build.payload: b"\n  ".join(
            payload(values)[k : k + 76] for k in range(0, len(payload(values)), 76)
        )
        offsets = 3 * np.arange(1, len(cells) + 1)
        piece = build.grid(points, np.full(len(cells), 5, np.uint8), offsets, cells.astype(np.int64).ravel())
        (tmp_path / "a.vtu").write_bytes(build.file(piece))
        mesh = read_mesh(tmp_path / "a.vtu")
        np.testing.assert_array_equal(mesh.points, points)
        np.testing.assert_array_equal(mesh.cells["triangle"], cells)


def test_several_pieces_and_parallel_files(tmp_path):
    build = Builder("raw", "zlib")
    pieces = [build.grid(POINTS + k, TYPES, OFFSETS, NODES, {"T": T + k}, {"E": E + k}) for k in range(2)]
    empty = b'<Piece NumberOfPoints="0" NumberOfCells="0"/>'
    (tmp_path / "two.vtu").write_bytes(build.file(pieces[0] + empty + pieces[1]))
    for k in range(2):
        alone = Builder("binary", "lzma")
        piece = alone.grid(POINTS + k, TYPES, OFFSETS, NODES, {"T": T + k}, {"E": E + k})
        (tmp_path / f"part{k}.vtu").write_bytes(alone.file(piece))
    sources = "".join(f'<Piece Source="part{k}.vtu"/>' for k in range(2))
    (tmp_path / "both.pvtu").write_text(
        f'<VTKFile type="PUnstructuredGrid"><PUnstructuredGrid>{sources}</PUnstructuredGrid></VTKFile>'
    )
    for name in ("two.vtu", "both.pvtu"):
        mesh = read_mesh(tmp_path / name)
        np.testing.assert_array_equal(mesh.points, np.r_[POINTS, POINTS + 1])
        assert mesh.cells["triangle"].tolist() == [[0, 1, 3], [1, 2, 3], [7, 8, 10], [8, 9, 10]]
        np.testing.assert_array_equal(mesh.fields["T"], np.r_[T, T + 1])
        # triangles of both pieces, then quadrilaterals, polygons and lines
        np.testing.assert_array_equal(mesh.cell_fields["E"], [1, 3, 2, 4, 2, 3, 4, 5, 5, 6])
    (tmp_path / "part1.vtu").unlink()
    with pytest.raises(FileNotFoundError, match="both.pvtu: its piece part1.vtu: no such file"):
        read_mesh(tmp_path / "both.pvtu")


def test_surfaces(tmp_path):
    lists = {
        "Verts": [[6], [0, 1]],
        "Lines": [[0, 1, 2], [5, 6]],
        "Strips": [[0, 1, 3, 2]],
        "Polys": [[0, 1, 3], [1, 4, 5, 2], [0, 1, 4, 5, 3]],
    }
    build = Builder("raw")
    data = {"number": np.arange(8)}
    (tmp_path / "a.vtp").write_bytes(build.file(build.surface(POINTS, lists, {"T": T}, data), "PolyData"))
    mesh = read_mesh(tmp_path / "a.vtp")
    assert {kind: block.tolist() for kind, block in mesh.cells.items()} == {
        "vertex": [[6], [0], [1]],
        "line": [[0, 1], [1, 2], [5, 6]],
        "triangle": [[0, 1, 3], [0, 1, 3], [1, 2, 3]],
        "quad": [[1, 4, 5, 2]],
        "polygon": [[0, 1, 4, 5, 3]],
    }
    assert mesh.cell_fields["number"].tolist() == [0, 1, 1, 2, 2, 3, 4, 7, 7, 5, 6]  # strips come last


def test_pixels_voxels_and_lagrange_cells(tmp_path):
    cube = np.array(list(itertools.product([0.0, 1], repeat=3)))[:, ::-1]  # x runs fastest
    build = Builder("ascii", version="0.1")
    pieces = build.grid(cube, np.array([11, 8], np.uint8), [8, 12], [*range(8), 0, 1, 2, 3])
    (tmp_path / "a.vtu").write_bytes(build.file(pieces))
    mesh = read_mesh(tmp_path / "a.vtu")
    assert mesh.cells["hexahedron"].tolist() == [[0, 1, 3, 2, 4, 5, 7, 6]]
    assert mesh.cells["quad"].tolist() == [[0, 1, 3, 2]]
    assert mesh.graph().n_edges == 12

    points = np.random.default_rng(0).random((27, 3))
    for version, middle in (("0.1", [19, 18]), ("2.1", [18, 19])):
        build = Builder("ascii", version=version)
        (tmp_path / "a.vtu").write_bytes(build.file(build.grid(points, np.array([72], np.uint8), [27], np.arange(27))))
        found = read_mesh(tmp_path / "a.vtu").cells["hexahedron27"][0].tolist()
        assert found == [*range(18), *middle, *range(20, 27)]
    (tmp_path / "a.vtu").write_bytes(build.file(build.grid(points, np.array([69], np.uint8), [10], np.arange(10))))
    with pytest.raises(InputError, match=r"Lagrange cells \(triangle\) of 10 nodes; only the first and sec"):
        read_mesh(tmp_path / "a.vtu")


def test_information_keys_comments_and_texts(tmp_path):
    """What VTK and its users put between numbers."""
    build = Builder("ascii")
    text = build.file(build.grid(POINTS, TYPES, OFFSETS, NODES, {"T": T, "V": V}, {"E": E})).decode()
    key = '<InformationKey name="L2_NORM_RANGE" location="x > y"><Value index="0">\n1.7\n</Value></InformationKey>'
    text = text.replace("</DataArray>", key + "</DataArray>")
    text = text.replace("<CellData>", '<!-- a < "b --><CellData><Array type="String" Name="s" format="ascii">1</Array>')
    text = text.replace(
        '<DataArray type="Float64" Name="T"',
        '<DataArray type="String" Name="s" format="ascii"></DataArray><DataArray type="Float64" Name="T"',
    )
    (tmp_path / "a.vtu").write_text(text)
    check(read_mesh(tmp_path / "a.vtu"))


def test_our_writer_and_reader(tmp_path):
    rng = np.random.default_rng(0)
    for kind in (*CELL_TYPES, "vertex"):
        if kind == "pyramid14":
            continue
        size = 7 if kind == "polygon" else _NODES[kind]
        mesh = Mesh(rng.random((30, 3)), {kind: rng.permutation(30)[None, :size]})
        mesh.write(tmp_path / "a.vtu")
        assert _same(read_mesh(tmp_path / "a.vtu"), mesh)
    points, cells = plate(300)
    fields = {"T": points[:, 0], "<&\"'> ä\n": np.arange(600).reshape(300, 2), "b": points[:, 1] > 0.5}
    fields |= {str(t): np.arange(300).astype(t) for t in ("i1", "u8", "f4", "f2", ">f8", "i8")}
    blocks = [("triangle", cells), ("quad", [[0, 1, 2, 3]]), ("polygon", [[0, 1, 2, 3, 4]]), ("polygon", [[0, 1, 5]])]
    mesh = Mesh(points, blocks, fields, cell_fields={"n": np.arange(len(cells) + 3)})
    for compress in (False, True):
        for name in ("a.vtu", "a.npz"):
            mesh.write(tmp_path / name, compress=compress)
            first = (tmp_path / name).read_bytes()
            mesh.write(tmp_path / name, compress=compress)
            assert (tmp_path / name).read_bytes() == first
            assert _same(read_mesh(tmp_path / name), mesh)


def _same(a, b):
    for x, y in ((a.cells, b.cells), (a.fields, b.fields), (a.cell_fields, b.cell_fields)):
        assert list(x) == list(y)
        for key in x:
            np.testing.assert_array_equal(x[key], y[key])
    np.testing.assert_array_equal(a.points, b.points)
    return True


def test_arrays_of_our_files_are_taken_as_they_are(tmp_path):
    """No copy: points and cells lie in the bytes that were read."""
    points, cells = plate(300)
    mesh = Mesh(np.c_[points, points[:, 0]], cells)
    mesh.write(tmp_path / "a.vtu")
    found = read_mesh(tmp_path / "a.vtu")
    for array in (found.points, found.cells["triangle"]):
        assert not array.flags.owndata
        assert array.flags.aligned


def _refuses_padding():
    """Whether base64 refuses what follows a padding: newer Pythons do, and meshio 5.3.5 then reads no raw arrays."""
    try:
        base64.b64decode("QUI=QUJD")
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("compress", [False, True])
def test_other_programs_read_our_files(compress, tmp_path):
    points, cells = plate(300)
    mesh = Mesh(points, {"triangle": cells, "quad": [[0, 1, 2, 3]]}, {"T": points[:, 0], "v": np.c_[points, points]})
    mesh = Mesh(mesh.points, mesh.cells, mesh.fields, cell_fields={"n": np.arange(len(cells) + 1)})
    mesh.write(tmp_path / "a.vtu", compress=compress)
    if not _refuses_padding():
        theirs = meshio.read(tmp_path / "a.vtu")
        np.testing.assert_array_equal(theirs.points[:, :2], points)
        np.testing.assert_array_equal(theirs.cells_dict["triangle"], cells)
        np.testing.assert_array_equal(theirs.point_data["T"], points[:, 0])
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    grid = pyvista.read(tmp_path / "a.vtu")
    np.testing.assert_array_equal(grid.points[:, :2], points)
    np.testing.assert_array_equal(grid.cells_dict[5], cells)
    np.testing.assert_array_equal(grid.point_data["v"], mesh.fields["v"])
    np.testing.assert_array_equal(grid.cell_data["n"], mesh.cell_fields["n"])


_KINDS = ("f8", "f4", "i8", "i4", "u1")
_ARRAYS = st.lists(st.tuples(st.sampled_from(_KINDS), st.integers(1, 4)), max_size=9)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 40), st.integers(1, 25), _ARRAYS, _ARRAYS, st.booleans())
@example(6, 1, [("f8", 3), *[("f8", 1)] * 6], [], False)  # meshio exchanged two of these
def test_other_programs_find_every_array(n_nodes, n_cells, of_nodes, of_cells, compress):
    """Whatever their number, sizes and types: meshio exchanges arrays whose places coincide with its own."""
    rng = np.random.default_rng(0)

    def fields(length, chosen):
        shapes = [(length, width) if width > 1 else (length,) for _, width in chosen]
        pairs = zip(shapes, chosen, strict=True)
        return {f"a{k}": rng.integers(0, 255, shape).astype(kind) for k, (shape, (kind, _)) in enumerate(pairs)}

    triangles = rng.permuted(np.tile(np.arange(n_nodes), (n_cells, 1)), axis=1)[:, :3]
    mesh = Mesh(rng.random((n_nodes, 3)), triangles, fields(n_nodes, of_nodes), cell_fields=fields(n_cells, of_cells))
    with tempfile.TemporaryDirectory() as folder:
        mesh.write(f"{folder}/a.vtu", compress=compress)
        _same(read_mesh(f"{folder}/a.vtu"), mesh)
        found = [] if _refuses_padding() else [meshio.read(f"{folder}/a.vtu")]
        with suppress(ImportError):
            import pyvista

            found.append(pyvista.to_meshio(pyvista.read(f"{folder}/a.vtu")))
    for theirs in found:
        np.testing.assert_array_equal(theirs.points, mesh.points)
        np.testing.assert_array_equal(theirs.cells_dict["triangle"], triangles)
        for name, field in mesh.fields.items():
            np.testing.assert_array_equal(theirs.point_data[name].reshape(field.shape), field)
        for name, field in mesh.cell_fields.items():
            np.testing.assert_array_equal(theirs.cell_data[name][0].reshape(field.shape), field)


@pytest.mark.parametrize("mode", ["Ascii", "Binary", "Appended", "AppendedBase64"])
@pytest.mark.parametrize("compressor", [None, "ZLib", "LZMA", "LZ4"])
def test_files_of_vtk_itself(mode, compressor, tmp_path):
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    import vtk

    if compressor == "LZ4":
        pytest.importorskip("lz4.block", reason="lz4 is not installed")
    grid = pyvista.ImageData(dimensions=(4, 3, 3)).cast_to_unstructured_grid()
    grid = grid.merge(pyvista.Sphere(theta_resolution=6, phi_resolution=5).cast_to_unstructured_grid())
    grid.point_data["T"] = np.linspace(0, 1, grid.n_points)
    grid.cell_data["n"] = np.arange(grid.n_cells)
    surface = grid.extract_surface(algorithm="dataset_surface")
    for data, writer, name in (
        (grid, vtk.vtkXMLUnstructuredGridWriter(), "a.vtu"),
        (surface, vtk.vtkXMLPolyDataWriter(), "a.vtp"),
    ):
        for big in (False, True):
            writer.SetFileName(str(tmp_path / name))
            writer.SetInputData(data)
            getattr(writer, f"SetDataModeTo{mode.replace('Base64', '')}")()
            writer.SetEncodeAppendedData(mode.endswith("Base64"))
            getattr(writer, f"SetCompressorTypeTo{compressor}")()
            getattr(writer, "SetByteOrderToBigEndian" if big else "SetByteOrderToLittleEndian")()
            getattr(writer, "SetHeaderTypeToUInt32" if big else "SetHeaderTypeToUInt64")()
            writer.Write()
            mesh = read_mesh(tmp_path / name)
            np.testing.assert_allclose(mesh.points, data.points, rtol=1e-6)
            np.testing.assert_allclose(mesh.fields["T"], data.point_data["T"], rtol=1e-9)
            assert mesh.n_cells == data.n_cells
            assert sorted(mesh.cell_fields["n"]) == sorted(data.cell_data["n"])
            assert (mesh.graph().edges == as_graph(data).edges).all()


WRONG = {
    "no elements": (b"", "the file is empty"),
    "text": (b"Dear mesh,", "not well-formed XML"),
    "another xml": (b"<svg/>", "begins with <svg>"),
    "utf-16": ("<VTKFile/>".encode("utf-16"), "XML in UTF-16"),
    "image": (b'<VTKFile type="ImageData"><ImageData/></VTKFile>', "of type 'ImageData'"),
    "doctype": (b'<!DOCTYPE a [<!ENTITY b "c">]><VTKFile type="UnstructuredGrid"/>', "a DOCTYPE"),
    "no type": (b"<VTKFile/>", "not with <VTKFile type"),
    "tags": (b"<a/>" * 200_000, "junk after document element"),
    "many tags": (b"<b>" + b"<a/>" * 200_000, "more than 100000 elements"),
    "encoding": (b'<?xml version="1.0" encoding="martian"?><VTKFile/>', "unknown encoding"),
    "unclosed quote": (b'<VTKFile type="' + b"a" * 1000, "inside a tag"),
}


@pytest.mark.parametrize("name", WRONG)
def test_files_that_are_not_vtu(name, tmp_path):
    content, reason = WRONG[name]
    (tmp_path / "a.vtu").write_bytes(content)
    with pytest.raises(InputError, match=f"a.vtu: .*{reason}"):
        read_mesh(tmp_path / "a.vtu")


def damaged(build, change):
    piece = build.grid(POINTS, TYPES, OFFSETS, NODES, {"T": T})
    text = build.file(piece)
    found = change(text)
    assert found != text
    return found


DAMAGES = {
    "cut in the data": (Builder("raw"), lambda text: text[:-200], "cut off or damaged"),
    "cut before the data": (Builder("raw"), lambda text: text[: text.index(b"<Appended")], "ends before its last"),
    "no appended data": (
        Builder("raw"),
        lambda text: text[: text.index(b"<Appended")] + b"</VTKFile>",
        "has no <AppendedData>",
    ),
    "no underscore": (Builder("raw"), lambda text: text.replace(b"\n_", b"\n"), "begin with an underscore"),
    "count of points": (
        Builder("raw"),
        lambda text: text.replace(b'Points="7"', b'Points="8"'),
        "points has 21 numbers instead of 24",
    ),
    "huge count": (
        Builder("binary"),
        lambda text: text.replace(b'Points="7"', b'Points="999999999999"'),
        "numbers instead of",
    ),
    "negative count": (Builder("raw"), lambda text: text.replace(b'Points="7"', b'Points="-7"'), "not a count"),
    "count of cells": (Builder("raw"), lambda text: text.replace(b'Cells="5"', b'Cells="4"'), "5 numbers instead of 4"),
    "no cells": (
        Builder("ascii"),
        lambda text: text.replace(b"<Cells>", b"<Other>").replace(b"</Cells>", b"</Other>"),
        "has no array 'types'",
    ),
    "no points": (
        Builder("ascii"),
        lambda text: text.replace(b"<Points>", b"<Other>").replace(b"</Points>", b"</Other>"),
        "declares 7 points, but has none",
    ),
    "letters among numbers": (Builder("ascii"), lambda text: text.replace(b"\n5 9 5", b"\n5 x 5"), "holds b'x'"),
    "too few numbers": (Builder("ascii"), lambda text: text.replace(b"\n5 9 5", b"\n5 5"), "4 numbers instead of 5"),
    "node beyond the last": (Builder("ascii"), lambda text: text.replace(b" 5 6\n", b" 5 7\n"), "numbered 0 to 6"),
    "negative node": (Builder("ascii"), lambda text: text.replace(b" 5 6\n", b" 5 -6\n"), "numbered 0 to 6"),
    "offsets that fall": (Builder("ascii"), lambda text: text.replace(b"3 7 10", b"3 2 10"), "do not increase"),
    "offsets beyond": (Builder("ascii"), lambda text: text.replace(b"15 17", b"15 19"), "17 numbers instead of 19"),
    "a quad of three": (Builder("ascii"), lambda text: text.replace(b"3 7 10", b"3 6 10"), "has 3 nodes instead of 4"),
    "polyhedra": (Builder("ascii"), lambda text: text.replace(b"\n5 9 5 7", b"\n5 9 5 42"), "polyhedra .VTK type 42"),
    "unknown type": (Builder("ascii"), lambda text: text.replace(b"\n5 9 5 7", b"\n5 9 5 99"), "VTK type 99"),
    "not base64": (Builder("binary"), lambda text: text.replace(b"AAAA", b"A-AA"), "is not base64"),
    "base64 cut": (
        Builder("binary"),
        lambda text: text.replace(b"AAAAAA", b"", 1),
        "damaged|numbers instead|bytes",
    ),
    "zlib damaged": (
        Builder("raw", "zlib"),
        lambda text: text.replace(PACKED, PACKED[:5] + b"x" * (len(PACKED) - 5)),
        "cannot be unpacked",
    ),
    "unknown packer": (
        Builder("raw", "zlib"),
        lambda text: text.replace(b"vtkZLib", b"vtkBrot"),
        "compressed by 'vtkBrotDataCompressor'",
    ),
    "not zlib": (Builder("raw", "lzma"), lambda text: text.replace(b"vtkLZMA", b"vtkZLib"), "cannot be unpacked"),
    "byte order": (Builder("raw"), lambda text: text.replace(b"LittleE", b"MiddleE"), "byte_order is 'MiddleE"),
    "header type": (Builder("raw"), lambda text: text.replace(b'type="UInt64"', b'type="UInt63"'), "'UInt63', not"),
    "float cells": (Builder("ascii"), lambda text: text.replace(b'"UInt8"', b'"Float32"'), "holds float32, not integ"),
    "encoding": (Builder("raw"), lambda text: text.replace(b'"raw"', b'"hex"'), "encoded as 'hex'"),
    "two coordinates": (
        Builder("ascii"),
        lambda text: text.replace(b'NumberOfComponents="3"', b'NumberOfComponents="2"'),
        "2 coordinates instead of 3",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_say_what_is_wrong(name, tmp_path):
    build, change, reason = DAMAGES[name]
    build.appended = b""
    (tmp_path / "a.vtu").write_bytes(damaged(build, change))
    with pytest.raises(InputError, match=f"a.vtu: .*({reason})"):
        read_mesh(tmp_path / "a.vtu")


def test_a_bomb_is_refused_before_it_goes_off(tmp_path):
    """A thousand times its size of zeros: NumberOfPoints, headers and blocks all agree."""
    block, count = zlib.compress(bytes(2**20), 9), 450
    header = np.array([count, 2**20, 0, *[len(block)] * count], np.uint64).tobytes()
    text = (
        f'<VTKFile type="UnstructuredGrid" header_type="UInt64" compressor="vtkZLibDataCompressor"><UnstructuredGrid>'
        f'<Piece NumberOfPoints="{count * 2**20 // 24}" NumberOfCells="0"><Points><DataArray type="Float64" '
        f'NumberOfComponents="3" format="appended" offset="0"/></Points></Piece></UnstructuredGrid>'
        f'<AppendedData encoding="raw">_'
    )
    (tmp_path / "a.vtu").write_bytes(text.encode() + header + block * count)
    with pytest.raises(InputError, match="declare 0.5 GB, more than 20 times the size of the file"):
        read_mesh(tmp_path / "a.vtu")


def test_a_block_may_not_unpack_to_more_than_it_declares(tmp_path):
    build = Builder("raw", "zlib", block=2**20)
    piece = build.grid(POINTS, TYPES, OFFSETS, NODES)
    text = build.file(piece)
    packed = zlib.compress(POINTS.tobytes())
    assert packed in text
    bomb = zlib.compress(bytes(10**7), 9)[: len(packed)]
    (tmp_path / "a.vtu").write_bytes(text.replace(packed, bomb))
    with pytest.raises(InputError, match="unpacks to 169 bytes instead of 168"):
        read_mesh(tmp_path / "a.vtu")


def test_lz4_without_its_package(tmp_path, monkeypatch):
    build = Builder("raw", "zlib")
    text = build.file(build.grid(POINTS, TYPES, OFFSETS, NODES))
    (tmp_path / "a.vtu").write_bytes(text.replace(b"vtkZLib", b"vtkLZ4"))
    for name in ("lz4", "lz4.block", "pyvista"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="a.vtu: it is compressed by LZ4, which needs the package lz4"):
        read_graph(tmp_path / "a.vtu")


def test_numbers_of_types_are_those_of_meshio():
    for name, number in NUMBERS.items():
        assert meshio._vtk_common.vtk_to_meshio_type[number] == name
