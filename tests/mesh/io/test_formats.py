"""Files by their endings: who reads and writes them, how often, and what is said when it goes wrong."""

import types
import zlib
from collections import Counter
from importlib.util import find_spec

import meshio
import numpy as np
import pytest

from swwl import Graph, InputError, Mesh, as_graph, as_mesh, read_graph, read_mesh, write_graph
from swwl.datasets import make_samples
from swwl.mesh.io import formats, meshio_files, read, register_reader, register_writer
from swwl.mesh.remesh.coarsen import coarsen
from tests.helpers import plate, write_cgns
from tests.mesh.test_mesh import same_graph, same_mesh


@pytest.fixture
def mesh():
    points, cells = plate(60)
    return Mesh(points, cells, {"T": np.linspace(0, 1, 60), "v": points}, name="plate")


@pytest.fixture
def registry(monkeypatch):
    """Readers and writers that can be changed until the test ends."""
    readers, writers = formats.Endings(formats.READERS), formats.Endings(formats.WRITERS)
    monkeypatch.setattr(formats, "READERS", readers)
    monkeypatch.setattr(formats, "WRITERS", writers)
    monkeypatch.setattr("swwl.mesh.mesh.WRITERS", writers)
    return readers


def test_endings_are_meshios():
    known = meshio.extension_to_filetypes
    for suffix, module in meshio_files.READ.items():
        assert [name.removesuffix("-xml") for name in known[suffix]] == [module]
    # SVG is a picture; the rest we read ourselves.
    assert set(known) - set(formats.READERS) == {".svg"}
    assert set(meshio_files.WRITE) <= set(formats.READERS)


# meshio cannot write SU2 files in space
WRITTEN = [(suffix, d) for suffix in sorted(formats.WRITERS) for d in (2, 3) if (suffix, d) != (".su2", 3)]


@pytest.mark.parametrize(("suffix", "dimension"), WRITTEN)
def test_what_is_written_can_be_read(suffix, dimension, mesh, tmp_path, capfd):
    if dimension == 3:
        mesh = Mesh(np.c_[mesh.points, np.sin(mesh.points[:, 0])], mesh.cells, {"T": mesh.fields["T"]})
    if suffix in (".med", ".msh", ".ply", ".dat", ".tec", ".avs"):
        mesh = Mesh(mesh.points, mesh.cells, {"T": mesh.fields["T"]})  # meshio writes no vectors to these
    if suffix == ".su2":
        mesh = Mesh(mesh.points, mesh.cells)
    path = tmp_path / f"a{suffix}"
    mesh.write(path)
    back = read_mesh(path)
    assert back.dimension == dimension and {k: len(b) for k, b in back.cells.items()} == {"triangle": mesh.n_cells}
    if suffix == ".stl":  # loose triangles in single precision, joined again in another order
        np.testing.assert_allclose(np.sort(back.points, axis=0), np.sort(mesh.points, axis=0), atol=1e-6)
        assert back.graph().n_edges == mesh.graph().n_edges
    else:
        np.testing.assert_allclose(back.points, mesh.points, rtol=1e-6)
        np.testing.assert_array_equal(back.cells["triangle"], mesh.cells["triangle"])
    if "T" in back.fields:
        np.testing.assert_allclose(back.fields["T"], mesh.fields["T"], atol=1e-7)
    else:
        assert suffix not in (".vtu", ".vtk", ".xdmf", ".xmf", ".msh", ".med")
    first = path.read_bytes()
    mesh.write(path)
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert capfd.readouterr() == ("", "")


def test_each_file_is_read_once(registry, mesh, tmp_path):
    calls = Counter()

    def counting(suffix, reader):
        def read_and_count(path):
            calls[suffix] += 1
            return reader(path)

        return read_and_count

    for suffix in (".vtu", ".npz", ".cgns", ".vtk"):
        register_reader(suffix, counting(suffix, registry[suffix]))
    for suffix in (".vtu", ".npz", ".vtk"):
        mesh.write(tmp_path / f"a{suffix}")
    write_cgns(tmp_path / "a.cgns", mesh.points, mesh.cells["triangle"], {"T": mesh.fields["T"]})
    uses = [read, read_mesh, read_graph, as_mesh, as_graph]
    uses.append(lambda path: read_graph(path, fields=["T"], node_weights="area"))
    if find_spec("mmgpy"):
        uses.append(lambda path: coarsen(path, 60))
    for use in uses:
        calls.clear()
        for suffix in (".vtu", ".npz", ".cgns", ".vtk"):
            use(tmp_path / f"a{suffix}")
        assert calls == {".vtu": 1, ".npz": 1, ".cgns": 1, ".vtk": 1}


def test_files_need_no_copies(mesh, tmp_path, monkeypatch):
    """What a reader made is handed on as it is: only a third coordinate of zeros costs one."""
    space = Mesh(np.c_[mesh.points, mesh.points[:, 0] ** 2], mesh.cells)
    space.write(tmp_path / "a.vtu")
    space.write(tmp_path / "a.npz")
    made = []
    original = formats.in_plane
    monkeypatch.setattr(formats, "in_plane", lambda found: made.append(found) or original(found))
    for name in ("a.vtu", "a.npz"):
        graph = read_graph(tmp_path / name)
        assert graph.features is made[-1].points


def test_readers_of_your_own(registry, mesh, tmp_path):
    path = tmp_path / "a.own"
    path.write_text("")
    register_reader(".own", lambda path: Mesh(np.c_[mesh.points, np.zeros(60)], mesh.cells))
    found = read_mesh(path)
    assert found.name == "a.own" and found.dimension == 2
    register_reader(".own", lambda path: {}["key"])
    with pytest.raises(InputError, match=r"a.own: it is damaged or of another format \('key'\)$") as caught:
        read_mesh(path)
    assert isinstance(caught.value.__cause__, KeyError)
    register_reader(".own", lambda path: Mesh([[np.nan]], {}))
    with pytest.raises(InputError, match=r"a.own: Point coordinates must be finite") as caught:
        read_graph(path)
    assert caught.value.places == (str(path),)

    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    register_reader(".own", forbidden)
    with pytest.raises(PermissionError):
        read_mesh(path)


def test_writers_of_your_own(registry, mesh, tmp_path):
    register_writer(".own", lambda file, mesh: file.write(str(mesh.n_nodes).encode()))
    mesh.write(tmp_path / "a.own")
    assert (tmp_path / "a.own").read_text() == "60"

    def failing(file, mesh):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    register_writer(".own", failing)
    with pytest.raises(OSError, match="No space left"):
        mesh.write(tmp_path / "a.own")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.own", "60")]


def test_endings_in_capitals(mesh, tmp_path):
    for name in ("A.VTU", "A.Npz", "1.5.vtu"):
        mesh.write(tmp_path / name)
        np.testing.assert_array_equal(read_mesh(tmp_path / name).points, mesh.points)
        assert read_graph(tmp_path / name).name == name


def test_what_cannot_be_written(mesh, tmp_path):
    with pytest.raises(
        InputError, match=r"a.xyz: the file extension '.xyz' is not supported; supported are .avs .* .npz .* .xmf"
    ):
        mesh.write(tmp_path / "a.xyz")
    for suffix in (".svg", ".cgns", ".h5m", ".e", ""):  # pictures, and what meshio could not read again
        with pytest.raises(InputError, match="is not supported"):
            mesh.write(tmp_path / f"a{suffix}")
    with pytest.raises(InputError, match=r"a.vtu: .*4 coordinates"):
        Mesh(np.eye(4), {"tetra": [[0, 1, 2, 3]]}).write(tmp_path / "a.vtu")
    solid = Mesh(np.eye(4, 3), {"triangle": [[0, 1, 2]], "tetra": [[0, 1, 2, 3]]})
    for name in ("off", "obj", "stl", "ply"):
        with pytest.raises(
            InputError, match=rf"a.{name}: cannot be written as {name}.*(cells: tetra|triangle or quad)"
        ):
            solid.write(tmp_path / f"a.{name}")
    with pytest.raises(FileNotFoundError):
        mesh.write(tmp_path / "nowhere" / "a.vtu")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(mesh, tmp_path, monkeypatch):
    mesh.write(tmp_path / "a.vtu")
    before = (tmp_path / "a.vtu").read_bytes()
    monkeypatch.setattr(zlib, "compress", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        mesh.write(tmp_path / "a.vtu", compress=True)
    assert (tmp_path / "a.vtu").read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_fields_of_all_types_in_vtu(tmp_path):
    fields = {
        "bool": np.array([True, False]),
        "half": np.array([1.0, 2.0], np.float16),
        "plane": np.array([[1, 2], [3, 4]]),
        "nan": [np.nan, 1],
    }
    Mesh([[0.0], [1.0]], [[0, 1]], fields).write(tmp_path / "a.vtu")
    back = read_mesh(tmp_path / "a.vtu").fields
    assert back["bool"].tolist() == [1, 0] and back["half"].tolist() == [1, 2]
    assert back["plane"].tolist() == [[1, 2], [3, 4]] and np.isnan(back["nan"][0])


def test_a_graph_is_not_a_mesh(tmp_path):
    write_graph(tmp_path / "a.npz", Graph([[0.0], [1.0]], [(0, 1)]))
    with pytest.raises(InputError, match="a.npz: it holds a graph without cells, but a mesh is expected"):
        read_mesh(tmp_path / "a.npz")
    assert isinstance(read(tmp_path / "a.npz"), Graph)


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.med").write_bytes(b"CDF")

    def missing(path):
        raise ImportError("No module named 'netCDF4'")

    monkeypatch.setattr(meshio_files, "_module", lambda name: types.SimpleNamespace(read=missing))
    with pytest.raises(ImportError, match="a.med: reading it needs a package that is not installed .*netCDF4"):
        read_mesh(tmp_path / "a.med")


def test_meshes_of_other_libraries(mesh):
    """Texts are left out, tensors laid out row by row, cells of one type joined, and the original is left alone."""
    foreign = meshio.Mesh(
        np.c_[mesh.points, np.zeros(60)],
        [("triangle", mesh.cells["triangle"][:9]), ("vertex", [[0]]), ("triangle", mesh.cells["triangle"][9:])],
        point_data={"text": np.array(["a"] * 60), "tensor": np.arange(540).reshape(60, 3, 3)},
    )
    found = as_mesh(foreign)
    assert {kind: len(block) for kind, block in found.cells.items()} == {"triangle": mesh.n_cells, "vertex": 1}
    assert {name: field.shape for name, field in found.fields.items()} == {"tensor": (60, 9)}
    same_graph(found.graph(), mesh.graph())
    assert foreign.points.flags.writeable
    grid = types.SimpleNamespace(
        points=foreign.points,
        cells_dict={np.uint8(5): mesh.cells["triangle"]},
        point_data={"T": mesh.fields["T"], "v": mesh.fields["v"]},
        cast_to_unstructured_grid=None,
    )
    same_mesh(as_mesh(grid), mesh)
    same_mesh(as_mesh(types.SimpleNamespace(points=mesh.points, cells=mesh.cells, fields=mesh.fields)), mesh)
    same_mesh(as_mesh((mesh.points, mesh.cells["triangle"])), Mesh(mesh.points, mesh.cells))
    for other in ({}, None, np.eye(3), (1, 2, 3), types.SimpleNamespace(points=mesh.points)):
        with pytest.raises(TypeError, match="Cannot make a mesh of"):
            as_mesh(other)


@pytest.mark.parametrize("kind", ["tensile2d", "airfoil", "blade"])
def test_generated_samples_are_meshes(kind, tmp_path):
    (sample,) = make_samples(kind, 1, n_nodes=500)
    field = next(iter(sample.fields))
    same_mesh(as_mesh(sample), sample.mesh)
    graph = as_graph(sample, fields=[field], node_weights="area")
    same_graph(
        graph, Graph.from_cells(sample.points, sample.cells, fields={field: sample.fields[field]}, node_weights="area")
    )
    same_graph(graph, as_graph(sample.mesh, fields=[field], node_weights="area"))
    sample.mesh.write(tmp_path / "a.vtu")
    same_graph(graph, read_graph(tmp_path / "a.vtu", fields=[field], node_weights="area"))
