import types

import meshio
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from swwl import Graph, as_graph, as_mesh, read_graph, write_graph
from swwl.mesh.io.hdf.cgns import read_cgns_scalars
from tests.helpers import plate, random_graph, write_cgns


def same(a, b):
    np.testing.assert_array_equal(a.features, b.features)
    np.testing.assert_array_equal(a.edges, b.edges)
    for name in ("weights", "node_weights"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_array_equal(x, y)


@pytest.fixture
def mesh():
    points, cells = plate(60)
    temperature = np.linspace(0, 1, 60)
    return meshio.Mesh(np.c_[points, np.zeros(60)], [("triangle", cells)], point_data={"T": temperature})


@pytest.mark.parametrize("suffix", ["vtu", "vtk", "xdmf", "msh", "inp", "ply", "stl", "obj", "mesh", "su2"])
def test_files_that_meshio_reads(suffix, mesh, tmp_path):
    path = tmp_path / f"plate.{suffix}"
    if suffix == "su2":
        mesh = meshio.Mesh(mesh.points[:, :2], mesh.cells)
    formats = {"msh": "gmsh22"}
    mesh.cell_data, mesh.point_data = {}, ({} if suffix in ("msh", "su2", "stl", "obj") else mesh.point_data)
    mesh.write(path, file_format=formats.get(suffix), **({"binary": False} if suffix in ("ply", "stl") else {}))
    graph = read_graph(path)
    assert graph.name == f"plate.{suffix}"
    expected = Graph.from_cells(mesh.points[:, :2], mesh.cells[0].data)
    if suffix == "stl":  # written as loose triangles, joined again by the reader in another order
        assert graph.n_nodes == expected.n_nodes
        assert graph.n_edges == expected.n_edges
    else:
        np.testing.assert_allclose(graph.features, expected.features, atol=1e-6)
        np.testing.assert_array_equal(graph.edges, expected.edges)


def test_fields_and_areas_of_a_file(mesh, tmp_path):
    mesh.write(tmp_path / "plate.vtu")
    graph = read_graph(tmp_path / "plate.vtu", fields=["T"], node_weights="area")
    np.testing.assert_allclose(graph.features[:, 2], mesh.point_data["T"])
    areas = Graph.from_cells(mesh.points, mesh.cells[0].data, node_weights="area").node_weights
    np.testing.assert_allclose(graph.node_weights, areas)
    with pytest.raises(ValueError, match="plate.vtu: The mesh has no node field 'p'; its fields are: T"):
        read_graph(tmp_path / "plate.vtu", fields=["p"])


def test_space_meshes_keep_three_coordinates(mesh):
    assert as_graph(mesh).n_features == 2
    mesh.points[:, 2] = 1
    assert as_graph(mesh).n_features == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_own_files(weighted, tmp_path):
    graph = random_graph(np.random.default_rng(0), weighted=weighted, massive=weighted)
    write_graph(tmp_path / "a.npz", graph)
    same(read_graph(tmp_path / "a.npz"), graph)
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


def test_own_files_of_meshes(mesh, tmp_path):
    as_mesh(mesh).write(tmp_path / "a.npz")
    same(
        read_graph(tmp_path / "a.npz", fields=["T"], node_weights="area"),
        as_graph(mesh, fields=["T"], node_weights="area"),
    )


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    graph = random_graph(np.random.default_rng(0))
    write_graph(tmp_path / "a.npz", graph)
    before = (tmp_path / "a.npz").read_bytes()

    def full_disk(file, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_graph(tmp_path / "a.npz", graph)
    assert (tmp_path / "a.npz").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


def test_broken_files_are_named_with_the_reason(mesh, tmp_path):
    mesh.write(tmp_path / "whole.vtu")
    text = (tmp_path / "whole.vtu").read_bytes()
    (tmp_path / "cut.vtu").write_bytes(text[: len(text) // 2])
    (tmp_path / "text.vtk").write_text("Dear mesh,\n")
    (tmp_path / "empty.vtu").write_text("")
    (tmp_path / "noise.cgns").write_bytes(b"\0" * 100)
    (tmp_path / "what.xyz").write_text("")
    write_graph(tmp_path / "own.npz", random_graph(np.random.default_rng(0)))
    own = (tmp_path / "own.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(own[:-30])
    np.savez(tmp_path / "foreign.npz", data=np.zeros(3))
    np.savez(tmp_path / "newer.npz", format=np.array("swwl-graph 9"))
    meshio.Mesh(mesh.points, [("vertex", np.arange(60)[:, None])]).write(tmp_path / "cloud.vtk")
    for name, reason in {
        "cut.vtu": "not well-formed XML .it ends before its last element does",
        "text.vtk": "does not begin with '# vtk DataFile Version'",
        "empty.vtu": "the file is empty",
        "noise.cgns": "damaged or of another format",
        "what.xyz": "the file extension '.xyz' is not supported; supported are .avs",
        "cut.npz": "not an .npz archive, or is damaged",
        "foreign.npz": "expected 'swwl-graph 1' or 'swwl-mesh 1', found arrays data",
        "newer.npz": "expected 'swwl-graph 1' or 'swwl-mesh 1', found swwl-graph 9",
        "cloud.vtk": "no cells",
    }.items():
        with pytest.raises(ValueError, match=f"{name}: .*{reason}"):
            read_graph(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="nowhere.vtu: no such file"):
        read_graph(tmp_path / "nowhere.vtu")
    with pytest.raises(ValueError, match="is a folder"):
        read_graph(tmp_path)
    with pytest.raises(ValueError, match="ends in .npz"):
        write_graph(tmp_path / "a.vtu", random_graph(np.random.default_rng(0)))


def test_cgns_as_plaid_writes_it(tmp_path):
    points, cells = plate(50)
    pressure = np.linspace(1, 2, 50)
    write_cgns(tmp_path / "mesh_000000000.cgns", points, cells, {"pressure": pressure})
    same(read_graph(tmp_path / "mesh_000000000.cgns"), Graph.from_cells(points, cells))
    graph = read_graph(tmp_path / "mesh_000000000.cgns", fields=["pressure"])
    np.testing.assert_array_equal(graph.features[:, 2], pressure)


def test_the_base_of_highest_dimension_is_read(tmp_path):
    """PLAID keeps boundaries in bases of their own, whose names come first."""
    points, cells = plate(50)
    path = tmp_path / "mesh.cgns"
    write_cgns(path, points, cells, {}, boundary=np.array([[0, 1], [1, 2]]))
    same(read_graph(path), Graph.from_cells(points, cells))


def test_cgns_scalars(tmp_path):
    """Numbers alone: no arrays, no texts, no times."""
    points, cells = plate(20)
    write_cgns(tmp_path / "a.cgns", points, cells, {}, scalars={"p": 2, "q": -1.5, "v": np.arange(3.0), "tag": "abc"})
    assert read_cgns_scalars(tmp_path / "a.cgns") == {"p": 2.0, "q": -1.5}
    write_cgns(tmp_path / "b.cgns", points, cells, {}, scalars={"tag": "a"})
    assert read_cgns_scalars(tmp_path / "b.cgns") == {}


def test_networkx():
    graph = nx.Graph()
    graph.add_node("b", x=[1.0, 2.0], T=5.0)
    graph.add_node("a", x=[3.0, 4.0], T=6.0)
    graph.add_edge("a", "b", weight=2.5)
    same(as_graph(graph), Graph([[1, 2], [3, 4]], [(0, 1)], [2.5]))
    same(as_graph(graph, fields=["T"]), Graph([[5], [6]], [(0, 1)], [2.5]))
    same(as_graph(_digraph()), Graph([[0], [1]], [(0, 1)]))
    with pytest.raises(ValueError, match="Node 'a' has no attribute 'p'|Node 'b' has no attribute 'p'"):
        as_graph(graph, fields=["p"])
    with pytest.raises(ValueError, match="found: none"):
        as_graph(nx.path_graph(3))
    with pytest.raises(ValueError, match="no nodes"):
        as_graph(nx.Graph())


def _digraph():
    graph = nx.DiGraph([(0, 1), (1, 0)])
    nx.set_node_attributes(graph, {0: 0.0, 1: 1.0}, "features")
    return graph


def test_pyg_data():
    """By its attributes, so that this runs without PyTorch Geometric."""

    class Tensor:
        def __init__(self, array):
            self.array = np.array(array)

        def detach(self):
            return self

        def cpu(self):
            return self

        def numpy(self):
            return self.array

    data = types.SimpleNamespace(
        x=Tensor([[1.0], [2.0], [3.0]]),
        pos=Tensor([[0.0, 0], [1, 0], [0, 1]]),
        edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        edge_weight=Tensor([1.0, 1, 2, 2]),
    )
    same(as_graph(data), Graph([[1], [2], [3]], [(0, 1), (1, 2)], [1, 2]))
    assert as_graph(data, fields=["pos"]).features.shape == (3, 3)
    data.x = data.edge_weight = None
    same(as_graph(data), Graph([[0, 0], [1, 0], [0, 1]], [(0, 1), (1, 2)]))
    data.pos = None
    with pytest.raises(ValueError, match="neither x nor pos"):
        as_graph(data)


@pytest.mark.slow
def test_pyg_itself():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    data = pytest.importorskip("torch_geometric.data", reason="PyTorch Geometric is not installed")
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graph = as_graph(data.Data(x=torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True), edge_index=edges))
    same(graph, Graph([[1], [2], [3]], [(0, 1), (1, 2)]))


@pytest.mark.filterwarnings("ignore::swwl.errors.LooseNodesWarning")
def test_pyvista():
    """By its attributes, so that this runs without pyvista."""
    points, cells = plate(40)
    grid = types.SimpleNamespace(
        points=np.c_[points, np.zeros(40)],
        cells_dict={np.uint8(5): cells},
        point_data={"T": np.arange(40.0)},
        cast_to_unstructured_grid=None,
    )
    same(as_graph(grid), Graph.from_cells(points, cells))
    assert as_graph(grid, fields=["T"]).n_features == 3
    grid.cells_dict = {np.uint8(8): np.array([[0, 1, 2, 3]])}
    assert as_graph(grid).edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
    grid.cells_dict = {np.uint8(42): cells}
    with pytest.raises(ValueError, match="VTK type 42"):
        as_graph(grid)


def test_pyvista_itself():
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    sphere = pyvista.Sphere()
    graph = as_graph(sphere, node_weights="area")
    assert graph.n_nodes == sphere.n_points
    assert graph.node_weights.sum() == pytest.approx(sphere.area)
    image = as_graph(pyvista.ImageData(dimensions=(3, 4, 5)), node_weights="area")
    assert image.n_edges == 2 * 4 * 5 + 3 * 3 * 5 + 3 * 4 * 4
    assert image.node_weights.sum() == pytest.approx(24)


def test_sparse_and_tuples():
    adjacency = sparse.csr_array(np.array([[0, 2.0, 0], [2.0, 0, 1], [0, 1, 0]]))
    features = np.arange(3.0)[:, None]
    expected = Graph(features, [(0, 1), (1, 2)], [2, 1])
    same(as_graph((adjacency, features)), expected)
    same(as_graph((features, adjacency)), expected)
    plain = sparse.coo_matrix(adjacency != 0).astype(float)
    same(as_graph((plain, features)), Graph(features, [(0, 1), (1, 2)]))
    points, cells = plate(30)
    same(as_graph((points, cells)), Graph.from_cells(points, cells))
    same(
        as_graph((points, {"triangle": cells}), node_weights="area"),
        Graph.from_cells(points, cells, node_weights="area"),
    )
    with pytest.raises(ValueError, match="adjacency is 3 x 3, but there are 2 nodes"):
        as_graph((adjacency, features[:2]))


def test_options_that_cannot_be_served():
    graph = random_graph(np.random.default_rng(0))
    assert as_graph(graph) is graph
    with pytest.raises(ValueError, match="no named fields"):
        as_graph(graph, fields=["T"])
    with pytest.raises(ValueError, match='None or "area"'):
        as_graph(graph, node_weights="mass")
    with pytest.raises(ValueError, match="no cells to measure"):
        as_graph(graph, node_weights="area")
    with pytest.raises(ValueError, match="carries no node fields"):
        as_graph(plate(30), fields=["T"])
    with pytest.raises(TypeError, match="Cannot make a graph of dict"):
        as_graph({})


def test_the_input_is_never_changed(mesh):
    before = mesh.points.copy(), mesh.cells[0].data.copy()
    as_graph(mesh, fields=["T"], node_weights="area")
    np.testing.assert_array_equal(mesh.points, before[0])
    np.testing.assert_array_equal(mesh.cells[0].data, before[1])
    assert mesh.points.flags.writeable
