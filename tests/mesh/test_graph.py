import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl import Graph
from swwl.errors import LooseNodesWarning
from swwl.storage.memory import fingerprint
from tests.helpers import plate


def test_loops_go_and_repeated_edges_merge():
    graph = Graph(np.eye(3), [(0, 1), (1, 0), (0, 1), (2, 2)], weights=[1.0, 2.0, 3.0, 9.0])
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.weights.tolist() == [2.0]
    assert graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]


@given(st.data())
def test_edges_and_weights_survive_a_round_trip(data):
    n = data.draw(st.integers(1, 12))
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    pairs = sorted({tuple(sorted(p)) for p in pairs if p[0] != p[1]})
    weights = data.draw(st.lists(st.floats(-5, 5), min_size=len(pairs), max_size=len(pairs)))
    graph = Graph(np.zeros((n, 2)), np.array(pairs).reshape(-1, 2).astype(int), weights)
    assert [tuple(e) for e in graph.edges.tolist()] == pairs
    assert graph.weights.tolist() == weights
    assert graph.n_edges == len(pairs)


def test_a_graph_is_read_only_and_copies_its_input():
    features, edges = np.zeros((2, 1)), np.array([[0, 1]])
    graph = Graph(features, edges, node_weights=[1, 2])
    features[:] = 7
    assert graph.features.max() == 0
    for array in (graph.features, graph.node_weights, graph.adjacency.data, graph.adjacency.indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_storage_is_small():
    points, cells = plate(2000)
    graph = Graph.from_cells(points, cells)
    assert graph.adjacency.indices.dtype == graph.adjacency.indptr.dtype == np.int32
    assert graph.adjacency.data.dtype == np.float32


def test_pickle_and_copy():
    graph = Graph(np.eye(2), [(0, 1)], [0.5], [1, 3], name="bar")
    for twin in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert repr(twin) == repr(graph) == "Graph(bar: 2 nodes, 1 edge, 2 features, edge weights, node weights)"
        assert twin.same_topology(graph)


def test_same_topology():
    points, cells = plate(100)
    graph = Graph.from_cells(points, cells)
    assert graph.same_topology(Graph.from_cells(2 * points, cells))
    assert not graph.same_topology(Graph.from_cells(*plate(100, seed=1)))
    assert not graph.same_topology(Graph(points, graph.edges, np.ones(graph.n_edges)))
    assert not graph.same_topology(Graph.from_cells(*plate(99)))


def test_mesh_edges_equal_those_found_by_hand():
    points, cells = plate(300)
    expected = {tuple(sorted((t[i], t[j]))) for t in cells.tolist() for i, j in ((0, 1), (1, 2), (2, 0))}
    assert {tuple(e) for e in Graph.from_cells(points, cells).edges.tolist()} == expected


def test_area_weights_sum_to_the_area_whatever_the_mesh():
    for n in (50, 500):
        points, cells = plate(n)
        u, v = points[cells[:, 1]] - points[cells[:, 0]], points[cells[:, 2]] - points[cells[:, 0]]
        area = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum() / 2
        assert Graph.from_cells(points, cells, node_weights="area").node_weights.sum() == pytest.approx(area)


def test_fields_are_appended_in_order():
    points, cells = plate(40)
    graph = Graph.from_cells(points, cells, fields={"T": np.arange(40), "u": np.ones((40, 2))})
    np.testing.assert_array_equal(graph.features, np.column_stack([points, np.arange(40), np.ones((40, 2))]))


def test_mixed_cells_and_unused_nodes():
    points = [[0, 0], [1, 0], [1, 1], [0, 1], [2, 0.5], [9, 9]]
    cells = {"quad": [[0, 1, 2, 3]], "triangle": [[1, 4, 2]], "vertex": [[0]]}
    with pytest.warns(LooseNodesWarning, match="A mesh: 1 node belongs to no cell and is left out"):
        graph = Graph.from_cells(points, cells, fields={"T": [1, 2, 3, 4, 5, np.nan]}, node_weights=range(6))
    assert graph.n_nodes == 5 and graph.n_edges == 6
    whole = Graph.from_cells(points[:5], cells, fields={"T": [1, 2, 3, 4, 5]}, node_weights=range(5))
    assert fingerprint(graph) == fingerprint(whole) and graph.same_topology(whole)


def test_loose_nodes_anywhere_leave_the_graph_of_the_others():
    points, cells = plate(50)
    order = np.random.default_rng(0).permutation(60)
    scattered = np.full((60, 2), 5.0)
    scattered[order[:50]] = points
    with pytest.warns(LooseNodesWarning, match="10 nodes belong to no cell and are left out"):
        graph = Graph.from_cells(scattered, order[:50][cells], node_weights="area")
    sorted_points = points[np.argsort(order[:50])]
    assert np.array_equal(graph.features, sorted_points)
    assert graph.node_weights.sum() == pytest.approx(
        Graph.from_cells(points, cells, node_weights="area").node_weights.sum()
    )
    assert graph.adjacency.indices.dtype == np.int32 and graph.adjacency.data.dtype == np.float32


def test_points_that_nothing_joins_are_kept():
    assert Graph([[0.0], [1.0]], []).n_nodes == 2
    assert Graph.from_cells([[0.0], [1.0]], {"vertex": [[0]]}).n_nodes == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0], [np.nan]], []), "Features must be finite, but node 1, column 0 holds nan"),
        (([[0.0], [-np.inf]], []), "node 1, column 0 holds -inf"),
        (([[0.0]], [(0, 1)]), r"Edge 0 joins nodes \[0, 1\], but nodes are numbered 0 to 0"),
        (([[0.0], [1.0]], [(0, 1), (0, -1)]), r"Edge 1 joins nodes \[0, -1\]"),
        (([], []), "no nodes"),
        ((np.empty((0, 3)), []), "no nodes"),
        ((np.empty((3, 0)), []), "d >= 1"),
        (([["a"]], []), "array of numbers"),
        (([[1.0, 2.0], [3.0]], []), "array of numbers"),
        ((np.zeros((2, 1)), [0, 1]), r"\(m, 2\)"),
        ((np.zeros((2, 1)), [(0, 1)], [1, 2]), r"shape \(1,\)"),
        ((np.zeros((2, 1)), [(0, 1)], [np.inf]), "edge 0 has inf"),
        ((np.zeros((2, 1)), [], None, [1, -1]), "node 1 has -1"),
        ((np.zeros((2, 1)), [], None, [0, 0]), "all zero"),
        ((np.zeros((2, 1)), [], None, [1, np.nan]), "node 1 has nan"),
        ((np.zeros((2, 1)), [], None, [1]), r"shape \(2,\)"),
    ],
)
def test_bad_graphs_are_refused_with_the_cause(arguments, message):
    with pytest.raises(ValueError, match=message):
        Graph(*arguments)


def test_edges_must_be_integers():
    with pytest.raises(TypeError, match="must be integers"):
        Graph([[0.0], [1.0]], [(0.0, 1.0)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, c: Graph.from_cells(p, c, fields={"T": [1, 2]}), r"Field 'T' must have one row per node \(30\)"),
        (lambda p, c: Graph.from_cells(p, c, fields={"T": [np.nan] * 30}), "Field 'T' must be finite"),
        (lambda p, c: Graph.from_cells(p, c, node_weights="volume"), "or \"area\", not 'volume'"),
        (lambda p, c: Graph.from_cells(p, c[:, 0]), r"\(m, k\) array"),
        (lambda p, c: Graph.from_cells(p, np.zeros((1, 7), int)), "7 nodes on points of dimension 2"),
        (lambda p, c: Graph.from_cells(p * 0, c, node_weights="area"), "non-zero"),
        (lambda p, c: Graph.from_cells(p * np.inf, c), "Point coordinates must be finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_bad_meshes_are_refused_with_the_cause(call, message):
    with pytest.raises(ValueError, match=message):
        call(*plate(30))
