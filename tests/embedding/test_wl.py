import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl import Graph
from swwl.embedding import wl
from swwl.embedding.wl import chebyshev_coefficients, copy_transposed, neighbor_average, side_by_side, wl_iterations
from tests.helpers import plate, random_graph, reference_wl


@pytest.mark.parametrize("normalization", ["count", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("step", [1, 4])
def test_iterations_equal_the_definition(normalization, weighted, step):
    graph = random_graph(np.random.default_rng(0), weighted=weighted)
    kept = wl_iterations(neighbor_average(graph, normalization), graph.features, 3, step)
    np.testing.assert_allclose(np.hstack(kept), reference_wl(graph, 3, step, normalization), rtol=1e-12, atol=1e-12)


def test_isolated_nodes_and_zero_weights_keep_their_features():
    features = np.array([[1.0], [2.0], [5.0], [7.0]])
    graph = Graph(features, [(0, 1), (2, 3)], weights=[1.0, 0.0])
    assert wl_iterations(neighbor_average(graph, "sum"), features, 2)[-1].ravel().tolist() == [1.5, 1.5, 5, 7]
    lonely = Graph(features, [(0, 1)])
    assert wl_iterations(neighbor_average(lonely), features, 1)[-1].ravel().tolist() == [1.5, 1.5, 5, 7]


def test_a_constant_field_stays_and_a_linear_one_in_a_regular_mesh_too():
    side = 9
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    features = np.column_stack([np.ones(side**2), x.ravel() + 2.0 * y.ravel()])
    number = np.arange(side**2).reshape(side, side)
    edges = np.vstack(
        [np.c_[number[:, :-1].ravel(), number[:, 1:].ravel()], np.c_[number[:-1].ravel(), number[1:].ravel()]]
    )
    last = wl_iterations(neighbor_average(Graph(features, edges)), features, 1)[-1]
    np.testing.assert_allclose(last[:, 0], 1, rtol=1e-15)
    inside = (np.abs(x - 4) < 4) & (np.abs(y - 4) < 4)
    np.testing.assert_allclose(last[inside.ravel(), 1], features[inside.ravel(), 1], rtol=1e-14)


@given(st.integers(1, 60))
def test_chebyshev_series_is_exact(power):
    c = chebyshev_coefficients(power)
    y = np.linspace(-1, 1, 50)
    np.testing.assert_allclose(np.polynomial.chebyshev.chebval(y, c), ((1 + y) / 2) ** power, atol=1e-13)
    assert (c > 0).all()
    assert c.sum() == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("step", [20, 60])
def test_the_error_of_large_steps_stays_below_the_tolerance(tolerance, step):
    points, cells = plate(900)
    graph = Graph.from_cells(points, cells)
    matrix = neighbor_average(graph)
    rng = np.random.default_rng(0)
    features = np.column_stack([points - points.mean(0), rng.standard_normal((900, 2))])
    exact = wl_iterations(matrix, features, 3, step)
    quick = wl_iterations(matrix, features, 3, step, tolerance)
    degree = np.diff(graph.adjacency.indptr)[:, None]

    def norm(x):
        return np.sqrt((degree * x**2).sum(0))

    for a, b in zip(exact, quick, strict=True):
        assert (norm(a - b) <= tolerance * norm(features)).all()
    assert not np.array_equal(exact[-1], quick[-1])


def count_products(monkeypatch):
    """Count the sparse products that wl.py runs from here on."""
    from scipy import sparse

    calls = []
    product = sparse.csr_array.__matmul__
    monkeypatch.setattr(sparse.csr_array, "__matmul__", lambda a, b: calls.append(1) or product(a, b))
    return calls


def test_thirty_thousand_nodes_with_step_173_take_eighty_products(monkeypatch):
    points, cells = plate(30_000)
    graph = Graph.from_cells(points, cells)
    matrix = neighbor_average(graph, dtype=np.float32)
    features = (points - points.mean(0)).astype(np.float32)
    calls = count_products(monkeypatch)
    wl_iterations(matrix, features, 3, 173, 1e-6)
    assert 70 <= len(calls) <= 90


def test_weights_that_let_the_norm_exceed_one_take_the_plain_recursion():
    rng = np.random.default_rng(0)
    graph = random_graph(rng, weighted=True)
    heavy = Graph(graph.features, graph.edges, 3 * graph.weights)
    for normalization in ("count", "sum"):
        matrix = neighbor_average(heavy, normalization)
        exact = wl_iterations(matrix, heavy.features, 2, 30)
        quick = wl_iterations(matrix, heavy.features, 2, 30, 1e-8)
        assert np.array_equal(exact[-1], quick[-1]) == (normalization == "count")
        np.testing.assert_allclose(quick[-1], exact[-1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("step", [1, 40])
def test_stacked_graphs_get_the_bits_they_have_alone(step):
    points, cells = plate(500)
    graph = Graph.from_cells(points, cells)
    matrix = neighbor_average(graph, dtype=np.float32)
    many = np.random.default_rng(0).standard_normal((500, 13)).astype(np.float32)
    together = wl_iterations(matrix, many, 3, step, 1e-6)
    for start, stop in ((0, 1), (1, 3), (3, 6), (6, 13)):
        alone = wl_iterations(matrix, np.ascontiguousarray(many[:, start:stop]), 3, step, 1e-6)
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_array_equal(a[:, start:stop], b)


def test_negative_weights_cannot_be_normalised_by_their_sum():
    graph = Graph([[0.0], [1.0]], [(0, 1)], [-1.0])
    with pytest.raises(ValueError, match='needs edge weights that are not negative; use "count"'):
        neighbor_average(graph, "sum")


@pytest.mark.parametrize("step", [1, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 7])
def test_every_layout_and_size_of_blocks_gives_the_same_bits(monkeypatch, width, dtype, step):
    graph = Graph.from_cells(*plate(300))
    rows = np.random.default_rng(width).normal(size=(width, graph.n_nodes)).astype(dtype)
    matrix = neighbor_average(graph, dtype=dtype)
    alone = [wl_iterations(matrix, row[:, None], 2, step, 1e-5) for row in rows]
    for piece in (wl._PIECE, 5 * graph.n_nodes // 2, 50):
        monkeypatch.setattr(wl, "_PIECE", piece)
        kept = wl_iterations(matrix, side_by_side(rows), 2, step, 1e-5)
        for h, iteration in enumerate(kept):
            np.testing.assert_array_equal(iteration[:, :width], np.hstack([single[h] for single in alone]))
            assert iteration.dtype == dtype and not iteration[:, width:].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 7])
def test_rows_sorted_by_length_give_the_same_bits(monkeypatch, width, dtype):
    graph = Graph.from_cells(*plate(300))
    columns = side_by_side(np.random.default_rng(width).normal(size=(width, graph.n_nodes)).astype(dtype))
    matrix = neighbor_average(graph, dtype=dtype)
    assert wl._by_length(matrix) is None  # few nodes
    plain = wl_iterations(matrix, columns, 2, 60, 1e-5)
    monkeypatch.setattr(wl, "_LONG_COLUMN", 1)
    lengths = np.diff(graph.adjacency.indptr)[wl._by_length(matrix)]
    assert (np.diff(lengths) >= 0).all()
    for piece in (wl._PIECE, 300):
        monkeypatch.setattr(wl, "_PIECE", piece)
        for a, b in zip(plain, wl_iterations(matrix, columns, 2, 60, 1e-5), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.flags.c_contiguous == b.flags.c_contiguous


def test_rows_of_one_length_stay_in_their_order(monkeypatch):
    monkeypatch.setattr(wl, "_LONG_COLUMN", 1)
    ring = Graph(np.zeros((50, 1)), [(k, (k + 1) % 50) for k in range(50)])
    assert wl._by_length(neighbor_average(ring)) is None


@pytest.mark.parametrize("shape", [(3, 50_000), (50_000, 3), (1, 1), (0, 4), (40, 41)])
def test_a_transposed_copy(shape):
    source = np.random.default_rng(0).random(shape)
    target = np.full(shape[::-1], np.nan)
    copy_transposed(source, target)
    np.testing.assert_array_equal(target, source.T)
