"""Exodus and CGNS, and what CGNS and Exodus call their nodes."""

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

from swwl import InputError, read_mesh
from swwl.mesh.io.hdf.exodus import read_exodus
from tests.helpers import plate, write_cgns


def exodus(path, points, blocks, fields=None, cell_fields=None, steps=2, modern=False):
    """Write a file of Exodus, classic or in HDF5; blocks as (type, nodes counted from 1)."""
    variables = {"eb_prop1": np.arange(1, len(blocks) + 1, dtype=np.int32)}
    variables |= {f"coord{axis}": column for axis, column in zip("xyz", points.T, strict=False)}
    for k, (_, nodes) in enumerate(blocks, 1):
        variables[f"connect{k}"] = np.asarray(nodes, np.int32)
    for name, given in (("name_nod_var", fields or {}), ("name_elem_var", cell_fields or {})):
        if given:
            variables[name] = np.array([list(key.ljust(33, "\0")) for key in given], "S1")
    for k, values in enumerate((fields or {}).values(), 1):
        variables[f"vals_nod_var{k}"] = np.stack([values - 1.0 * step for step in reversed(range(steps))])
    for k, parts in enumerate((cell_fields or {}).values(), 1):
        for b, values in enumerate(parts, 1):
            if values is not None:
                variables[f"vals_elem_var{k}eb{b}"] = np.stack([np.asarray(values, float)] * steps)
    if modern:
        with h5py.File(path, "w") as file:
            for name, values in variables.items():
                file[name] = values
            for k, (kind, _) in enumerate(blocks, 1):
                file[f"connect{k}"].attrs["elem_type"] = kind
        return
    with netcdf_file(path, "w") as file:
        for name, values in variables.items():
            dimensions = []
            for axis, size in enumerate(values.shape):
                file.createDimension(f"{name}_{axis}", size)
                dimensions.append(f"{name}_{axis}")
            file.createVariable(name, values.dtype, dimensions)[:] = values
        for k, (kind, _) in enumerate(blocks, 1):
            file.variables[f"connect{k}"].elem_type = kind


@pytest.mark.parametrize("modern", [False, True])
def test_exodus(modern, tmp_path):
    points = np.random.default_rng(0).random((8, 3))
    blocks = [("HEX8", [range(1, 9)]), ("SHELL4", [[1, 2, 3, 4], [5, 6, 7, 8]]), ("TRI", [[1, 2, 3]])]
    fields = {"T": np.arange(8.0), "p": np.ones(8)}
    cell_fields = {"s": ([1], [2, 3], None)}
    exodus(tmp_path / "a.exo", points, blocks, fields, cell_fields, modern=modern)
    mesh = read_mesh(tmp_path / "a.exo")
    np.testing.assert_array_equal(mesh.points, points)
    assert {kind: block.tolist() for kind, block in mesh.cells.items()} == {
        "hexahedron": [list(range(8))],
        "quad": [[0, 1, 2, 3], [4, 5, 6, 7]],
        "triangle": [[0, 1, 2]],
    }
    assert mesh.fields["T"].tolist() == list(range(8))  # at the last time
    np.testing.assert_array_equal(mesh.cell_fields["s"], [1, 2, 3, np.nan])
    assert list(read_exodus(tmp_path / "a.exo", ["p"]).fields) == ["p"]
    for blocks, reason in {
        (("NFACED", ((1, 2, 3),)),): "type 'NFACED' with 3 nodes",
        (("HEX8", ((1, 2, 3, 4, 5, 6, 7, 99),)),): "numbered 0 to 7",
        (("HEX8", ((0, 2, 3, 4, 5, 6, 7, 8),)),): "numbered 0 to 7",
    }.items():
        exodus(tmp_path / "b.e", points, blocks, modern=modern)
        with pytest.raises(InputError, match=f"b.e: .*{reason}"):
            read_mesh(tmp_path / "b.e")


def test_exodus_files_that_are_none(tmp_path):
    for content, reason in {
        b"": "the file is empty",
        b"hello": "neither netCDF nor HDF5",
        b"CDF\5" + bytes(20): "CDF-5",
    }.items():
        (tmp_path / "a.e").write_bytes(content)
        with pytest.raises(InputError, match=reason):
            read_mesh(tmp_path / "a.e")
    points = np.random.default_rng(0).random((8, 3))
    exodus(tmp_path / "a.e", points, [("HEX8", [range(1, 9)])])
    whole = (tmp_path / "a.e").read_bytes()
    for end in range(0, len(whole) - 64, 23):
        (tmp_path / "a.e").write_bytes(whole[:end])
        with pytest.raises(InputError):
            read_mesh(tmp_path / "a.e")
    with h5py.File(tmp_path / "a.e", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="no coordinates of nodes"):
        read_mesh(tmp_path / "a.e")


def whole_exodus(path, points, kind, nodes):
    """Write one block as the library of Exodus does, with all that VTK asks for."""
    sizes = {"len_string": 33, "num_dim": 3, "num_nodes": len(points), "num_elem": len(nodes), "num_el_blk": 1}
    sizes |= {"num_el_in_blk1": len(nodes), "num_nod_per_el1": nodes.shape[1]}
    with netcdf_file(path, "w") as file:
        file.api_version = file.version = np.float32(4.98)
        file.floating_point_word_size, file.file_size, file.title = np.int32(8), np.int32(1), b"one block"
        file.createDimension("time_step", None)
        for name, size in sizes.items():
            file.createDimension(name, size)
        file.createVariable("time_whole", "d", ("time_step",))
        file.createVariable("eb_status", "i", ("num_el_blk",))[:] = 1
        file.createVariable("eb_prop1", "i", ("num_el_blk",))[:] = 1
        file.variables["eb_prop1"].name = b"ID"
        for axis, column in zip("xyz", points.T, strict=True):
            file.createVariable(f"coord{axis}", "d", ("num_nodes",))[:] = column
        file.createVariable("connect1", "i", ("num_el_in_blk1", "num_nod_per_el1"))[:] = nodes
        file.variables["connect1"].elem_type = kind


@pytest.mark.parametrize(
    ("kind", "size"),
    [("HEX20", 20), ("HEX27", 27), ("WEDGE15", 15), ("WEDGE18", 18), ("TETRA10", 10), ("PYRAMID13", 13), ("QUAD9", 9)],
)
def test_nodes_of_exodus_in_the_order_of_vtk(kind, size, tmp_path):
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    points = np.random.default_rng(0).random((size, 3))
    whole_exodus(tmp_path / "a.exo", points, kind, np.arange(1, size + 1)[None])
    mesh, theirs = read_mesh(tmp_path / "a.exo"), pyvista.read(tmp_path / "a.exo").combine()
    (block,) = mesh.cells.values()
    np.testing.assert_allclose(mesh.points[block[0]], theirs.points[theirs.cell_connectivity])


def node(parent, name, label, data=None):
    group = parent.create_group(name)
    group.attrs["label"] = np.bytes_(label)
    group.attrs["type"] = np.bytes_("C1" if isinstance(data, str) else "I4")
    if data is not None:
        group[" data"] = np.frombuffer(data.encode(), np.int8) if isinstance(data, str) else data
    return group


def zone(base, name, points, sections, *, structured=None, fields=(), cell_fields=()):
    """Write a zone; sections as (number, connectivity); with a shape it is a structured grid."""
    sizes = np.array([[len(points)], [1], [0]]) if structured is None else np.array([structured] * 3)
    group = node(base, name, "Zone_t", sizes)
    node(group, "ZoneType", "ZoneType_t", "Unstructured" if structured is None else "Structured")
    grid = node(group, "GridCoordinates", "GridCoordinates_t")
    for axis, column in zip("XYZ", points.T, strict=False):
        node(
            grid, f"Coordinate{axis}", "DataArray_t", column if structured is None else column.reshape(structured[::-1])
        )
    first = 1
    for k, (number, nodes) in enumerate(sections):
        elements = node(
            group, f"{chr(122 - k)}", "Elements_t", np.array([number, 0])
        )  # z, y, ...: not in order of names
        node(elements, "ElementConnectivity", "DataArray_t", np.asarray(nodes))
        node(elements, "ElementRange", "IndexRange_t", np.array([first, first + 9]))
        first += 10
    for place, given in (("Vertex", fields), ("CellCenter", cell_fields)):
        solution = node(group, f"S{place}", "FlowSolution_t")
        node(solution, "GridLocation", "GridLocation_t", place)
        for key, values in dict(given).items():
            node(solution, key, "DataArray_t", values)


def test_structured_zones_of_cgns_are_joined(tmp_path):
    x, y = np.meshgrid(np.arange(3.0), np.arange(2.0))
    points = np.c_[x.ravel(), y.ravel()]  # x runs fastest
    with h5py.File(tmp_path / "a.cgns", "w") as file:
        base = node(file, "Base", "CGNSBase_t", np.array([2, 2]))
        for k in range(2):
            fields = {"p": points[:, 0].reshape(2, 3) + k}
            zone(
                base, f"Z{k}", points + 9 * k, [], structured=(3, 2), fields=fields, cell_fields={"c": np.array([k, 7])}
            )
    mesh = read_mesh(tmp_path / "a.cgns")
    np.testing.assert_array_equal(mesh.points, np.r_[points, points + 9])
    assert mesh.cells["quad"].tolist() == [[0, 1, 4, 3], [1, 2, 5, 4], [6, 7, 10, 9], [7, 8, 11, 10]]
    np.testing.assert_array_equal(mesh.fields["p"], np.r_[points[:, 0], points[:, 0] + 1])
    assert mesh.cell_fields["c"].tolist() == [0, 7, 1, 7]


def test_sections_of_cgns(tmp_path):
    """Mixed ones, boundaries beside the inside, and fields of the inside alone."""
    points = np.random.default_rng(0).random((6, 3))
    mixed = [10, 1, 2, 3, 4, 10, 2, 3, 4, 5, 12, 1, 2, 3, 4, 6]
    with h5py.File(tmp_path / "a.cgns", "w") as file:
        base = node(file, "Base", "CGNSBase_t", np.array([3, 3]))
        zone(base, "Z", points, [(20, mixed), (5, [1, 2, 3])], cell_fields={"c": np.array([1.0, 2, 3])})
    mesh = read_mesh(tmp_path / "a.cgns")
    assert mesh.cells["tetra"].tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]
    assert mesh.cells["pyramid"].tolist() == [[0, 1, 2, 3, 5]] and mesh.cells["triangle"].tolist() == [[0, 1, 2]]
    np.testing.assert_array_equal(mesh.cell_fields["c"], [1, 2, 3, np.nan])
    for k, (sections, reason) in enumerate(
        {
            ((22, (1, 2, 3)),): "polygons or faces of polyhedra",
            ((23, (1, 2, 3)),): "are polyhedra",
            ((99, (1, 2, 3)),): "CGNS type 99",
            ((20, (10, 1, 2)),): "lacks nodes",
            ((20, (99, 1, 2)),): "have CGNS type 99",
            ((10, (1, 2, 3)),): "which 4 does not divide",
            ((10, (1, 2, 3, 9)),): "numbered 0 to 5",
        }.items()
    ):
        path = tmp_path / f"b{k}.cgns"  # VTK, who is asked too, may keep it open
        with h5py.File(path, "w") as file:
            zone(node(file, "Base", "CGNSBase_t", np.array([3, 3])), "Z", points, sections)
        with pytest.raises(InputError, match=f"b{k}.cgns: .*{reason}"):
            read_mesh(path)


def test_hexahedra_of_27_nodes_in_cgns(tmp_path):
    """By the definition: edges of the base, upright, of the top; faces below, front, right, back, left, above."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 5), (2, 6), (3, 7), (4, 5), (5, 6), (6, 7), (7, 4)]
    faces = [(0, 1, 2, 3), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7), (4, 5, 6, 7)]
    middles = [corners[list(nodes)].mean(axis=0) for nodes in (*edges, *faces, range(8))]
    points = np.vstack([corners, middles])
    with h5py.File(tmp_path / "a.cgns", "w") as file:
        zone(node(file, "Base", "CGNSBase_t", np.array([3, 3])), "Z", points, [(19, np.arange(1, 28))])
    graph = read_mesh(tmp_path / "a.cgns").graph()
    assert graph.n_edges == 54
    lengths = np.linalg.norm(np.diff(graph.features[graph.edges], axis=1), axis=2)
    np.testing.assert_allclose(lengths, 0.5)


def test_cgns_files_that_are_none(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyvista", None)
    for content, reason in {
        b"": "the file is empty",
        bytes(100): "not an HDF5 file",
        b"\xc0\xa8\xa3\xa9ADF Database Version B02012>" + bytes(100): "in the old ADF container",
    }.items():
        (tmp_path / "a.cgns").write_bytes(content)
        with pytest.raises(InputError, match=reason):
            read_mesh(tmp_path / "a.cgns")
    points, cells = plate(30)
    write_cgns(tmp_path / "a.cgns", points, cells, {})
    with h5py.File(tmp_path / "a.cgns", "a") as file:
        group = file["Base_2_2/Zone/GridCoordinates/CoordinateX"]
        del group[" data"]
        group.create_dataset(" data", (10**11,), "f8", chunks=(10**6,))
    with pytest.raises(InputError, match="declare 800.0 GB, more than 20 times"):
        read_mesh(tmp_path / "a.cgns")
