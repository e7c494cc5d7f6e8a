"""Objects of other libraries, by their attributes alone: none of them has to be installed."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from swwl import Graph, as_graph, as_mesh
from swwl.errors import InputError
from swwl.mesh.io.objects import from_networkx, from_pyg, from_pyvista, from_sparse
from tests.solvers.gmsh_model import gmsh_model


def same(a, b):
    """Whether two graphs have the same nodes, edges and weights."""
    weights = a.weights is b.weights is None or np.array_equal(a.weights, b.weights)
    return weights and np.array_equal(a.features, b.features) and np.array_equal(a.edges, b.edges)


FEATURES = np.array([[0.0, 1], [2, 3], [4, 5]])


def test_a_sparse_matrix_is_its_edges():
    matrix = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    assert same(from_sparse(matrix, FEATURES), Graph(FEATURES, [(0, 1), (1, 2)]))
    weighted = from_sparse(0.5 * matrix, FEATURES)
    assert same(weighted, Graph(FEATURES, [(0, 1), (1, 2)], [0.5, 0.5]))
    with pytest.raises(InputError, match="3 x 3, but there are 2 nodes"):
        from_sparse(matrix, FEATURES[:2])


def test_data_of_pytorch_geometric():
    data = SimpleNamespace(x=FEATURES, edge_index=np.array([[0, 1], [1, 2]]), heat=np.array([7.0, 8, 9]))
    assert same(from_pyg(data), Graph(FEATURES, [(0, 1), (1, 2)]))
    np.testing.assert_array_equal(from_pyg(data, ["heat"]).features, np.column_stack([FEATURES, data.heat]))
    with pytest.raises(InputError, match="no attribute 'mass'"):
        from_pyg(data, ["mass"])
    with pytest.raises(InputError, match="neither x nor pos"):
        from_pyg(SimpleNamespace(edge_index=data.edge_index))


def test_graphs_of_networkx():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.Graph()
    for name, row in zip("cab", FEATURES, strict=True):
        graph.add_node(name, x=row, heat=row.sum())
    graph.add_weighted_edges_from([("c", "a", 2.0), ("a", "b", 3.0)])
    assert same(from_networkx(graph), Graph(FEATURES, [(0, 1), (1, 2)], [2.0, 3.0]))
    np.testing.assert_array_equal(from_networkx(graph, ["heat"]).features, FEATURES.sum(axis=1, keepdims=True))
    graph.add_node("d")
    with pytest.raises(InputError, match="Node 'd' has no attribute 'x'"):
        from_networkx(graph)


def test_grids_of_vtk_become_plane_and_keep_cells_in_the_order_of_their_blocks():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [3, 0, 0]])
    grid = SimpleNamespace(
        points=points,
        cells_dict={},
        celltypes=np.array([5, 9, 5]),  # triangle, quadrilateral, triangle
        offset=np.array([0, 3, 7, 10]),
        cell_connectivity=np.array([1, 4, 2, 0, 1, 2, 3, 4, 5, 2]),
        point_data={"u": np.arange(6.0), "name": np.array(list("abcdef"))},
        cell_data={"k": np.array([0, 1, 2])},
    )
    mesh = from_pyvista(grid)
    assert mesh.dimension == 2 and list(mesh.fields) == ["u"]  # texts are left out
    assert mesh.cells["triangle"].tolist() == [[1, 4, 2], [4, 5, 2]]
    assert mesh.cell_fields["k"].tolist() == [0, 2, 1]


def _of(library, **attributes):
    """Return an object that looks as if it came from a library."""
    kind = type("Fake", (), {"__module__": f"{library}.base"})
    made = kind()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


SQUARE = np.array([[0.0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])


def test_triangles_of_trimesh_by_their_attributes():
    heat = np.arange(4.0)
    fake = _of("trimesh", vertices=SQUARE, faces=np.array([[0, 1, 2], [0, 2, 3]]), vertex_attributes={"heat": heat},
               face_attributes={"part": np.array([3, 4])})  # fmt: skip
    mesh = as_mesh(fake)
    assert mesh.cells["triangle"].tolist() == [[0, 1, 2], [0, 2, 3]] and mesh.points.shape == (4, 3)
    np.testing.assert_array_equal(mesh.fields["heat"], heat)
    np.testing.assert_array_equal(mesh.cell_fields["part"], [3, 4])
    scene = _of("trimesh", to_mesh=lambda: fake)
    assert as_graph(scene).n_nodes == 4
    with pytest.raises(InputError, match="has no faces; expected a Trimesh or a Scene"):
        as_mesh(_of("trimesh", vertices=SQUARE))


def test_objects_of_trimesh():
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    box = trimesh.creation.box(extents=(1, 2, 3))
    mesh = as_mesh(box)
    assert (mesh.n_nodes, len(mesh.cells["triangle"])) == (8, 12)
    assert mesh.graph("area").node_weights.sum() == pytest.approx(box.area)
    apart = box.copy().apply_translation([5, 0, 0])
    assert as_mesh(trimesh.Scene([box, apart])).n_nodes == 16


def test_blocks_of_pyvista_become_groups():
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    blocks = pyvista.MultiBlock(
        {"cube": pyvista.Cube(), "none": None, "more": pyvista.MultiBlock({"ball": pyvista.Sphere()})}
    )
    mesh = as_mesh(blocks)
    assert list(mesh.groups) == ["cube", "more/ball"] and mesh.groups["cube"].size == 6
    assert mesh.part("cube").n_nodes == 8
    flat = as_mesh(pyvista.MultiBlock([pyvista.Plane(i_resolution=2, j_resolution=2)]))
    assert flat.points.shape == (9, 2) and not flat.groups
    with pytest.raises(InputError, match="blocks hold no cells"):
        as_mesh(pyvista.MultiBlock())


def test_meshes_of_scikit_fem():
    skfem = pytest.importorskip("skfem", reason="skfem is not installed")
    for kind in (skfem.MeshTri, skfem.MeshQuad, skfem.MeshTet, skfem.MeshHex):
        given = kind().refined(1).with_subdomains({"half": lambda x: x[0] < 0.5})
        given = given.with_boundaries({"left": lambda x: x[0] == 0.0})
        mesh = as_mesh(given)
        assert mesh.graph("area").node_weights.sum() == pytest.approx(1.0)
        assert (mesh.points[mesh.groups["left"].nodes, 0] == 0.0).all()
        assert mesh.part("left").graph("area").node_weights.sum() == pytest.approx(1.0)
        assert mesh.part("half").graph("area").node_weights.sum() == pytest.approx(0.5)
        assert "skfem" in type(given).__module__


def test_the_current_model_of_gmsh():
    try:
        gmsh = pytest.importorskip("gmsh", reason="gmsh is not installed")
    except OSError:
        pytest.skip("gmsh is not installed with the libraries that it needs")
    with pytest.raises(InputError, match="gmsh is not initialized"):
        as_mesh(gmsh)
    with gmsh_model():
        gmsh.model.add("plate")
        with pytest.raises(InputError, match="current model of gmsh has no mesh"):
            as_mesh(gmsh)
        body = gmsh.model.occ.addRectangle(0, 0, 0, 1, 1)
        gmsh.model.occ.synchronize()
        gmsh.model.addPhysicalGroup(2, [body], name="body")
        gmsh.model.addPhysicalGroup(1, [1], name="foot")
        gmsh.model.mesh.generate(2)
        mesh = as_mesh(gmsh)
    assert mesh.name == "plate" and set(mesh.groups) == {"body", "foot"} and mesh.points.shape[1] == 2
    assert mesh.part("body").graph("area").node_weights.sum() == pytest.approx(1.0)
