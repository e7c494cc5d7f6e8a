"""Objects of other libraries, by their attributes alone: none of them has to be installed."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from swwl import Graph
from swwl.errors import InputError
from swwl.mesh.io.objects import from_networkx, from_pyg, from_pyvista, from_sparse


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
