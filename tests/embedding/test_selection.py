import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from swwl import Graph, SWWLEmbedding
from swwl.embedding import selection
from swwl.embedding.selection import kernel, kernel_for, select_rows, selected
from swwl.embedding.sliced import QUANTILES, draw_directions, projected_quantiles
from tests.helpers import plate

TIES = st.integers(-3, 3).map(float)
ANY = st.floats(allow_nan=False, allow_infinity=False, width=32)


def compiled():
    pytest.importorskip("numba", reason="numba is not installed")
    return kernel()


@pytest.fixture
def from_the_first_row(monkeypatch):
    """Select from the first row on, also where a sort would be as quick."""
    compiled()
    monkeypatch.setattr(selection, "_SORTED_FIRST", 0)
    monkeypatch.setattr(selection, "_LEAST_PER_QUANTILE", 0)


def assert_selected(rows, ranks, select):
    found = selected(rows.copy(), ranks, select)
    expected = np.sort(rows, axis=1)[:, ranks]
    np.testing.assert_array_equal(found, expected)
    zero = expected == 0  # a sort leaves open which of 0.0 and -0.0 comes first
    assert np.where(zero, 0, found).tobytes() == np.where(zero, 0, expected).tobytes()


@pytest.mark.parametrize("elements", [TIES, ANY, st.one_of(TIES, ANY), st.floats(-1, 1, width=32)])
@settings(max_examples=30)
@given(data=st.data())
def test_a_selection_is_what_a_sort_puts_there(elements, data):
    rows = data.draw(hnp.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 120)), elements=elements))
    ranks = data.draw(st.sets(st.integers(0, rows.shape[1] - 1), min_size=1))
    assert_selected(rows, np.array(sorted(ranks), np.int32), select_rows)


@pytest.mark.parametrize("elements", [TIES, ANY, st.one_of(TIES, ANY), st.floats(-1, 1, width=32)])
@settings(max_examples=60)
@given(data=st.data())
def test_a_compiled_selection_is_what_a_sort_puts_there(elements, data):
    rows = data.draw(hnp.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 120)), elements=elements))
    ranks = data.draw(st.sets(st.integers(0, rows.shape[1] - 1), min_size=1))
    assert_selected(rows, np.array(sorted(ranks), np.int32), compiled())


@pytest.mark.parametrize("n", [1, 7, 1000, 30_000, 200_000])
def test_compiled_selections_from_many_kinds_of_rows(n):
    rng = np.random.default_rng(n)
    normal = rng.standard_normal(n)
    kinds = [
        normal,
        np.sort(normal),
        rng.random(n),
        np.exp(5 * normal),  # most of them in a few bins
        np.round(normal, 1),  # ties
        np.where(normal < 1, 0.5, normal),
        np.full(n, -2.0),
        1e-42 * normal,
        1e37 * normal,
        1 + 1e-6 * normal,
    ]
    ranks = np.unique(np.linspace(0, n - 1, 500).astype(np.int32))
    assert_selected(np.array(kinds, np.float32), ranks, compiled())


@pytest.mark.parametrize("special", [np.nan, -np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_sorted(special):
    rows = np.random.default_rng(0).standard_normal((3, 400)).astype(np.float32)
    rows[1, 17] = special
    ranks = np.arange(0, 400, 7, dtype=np.int32)
    for select in (select_rows, compiled()):
        assert_selected(rows, ranks, select)


def test_a_range_that_single_precision_cannot_hold_is_sorted():
    rows = np.array([[-3e38, 0, 1, 3e38, 2]], np.float32)
    with np.errstate(over="raise", invalid="raise"):
        assert selected(rows, np.array([0, 1, 4], np.int32), select_rows).tolist() == [[*rows[0, [0, 1, 4]]]]


@pytest.mark.parametrize("rule", QUANTILES)
@pytest.mark.parametrize(("n", "q"), [(1, 2), (40, 100), (3000, 100), (20_000, 500)])
def test_projected_quantiles_are_the_same_bits(from_the_first_row, monkeypatch, rule, n, q):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((n, 3)).astype(np.float32)
    theta = draw_directions(3, 20, "gaussian", rng)
    quick = projected_quantiles(points, theta, q, rule)
    monkeypatch.setattr(selection, "_LEAST_PER_QUANTILE", np.inf)
    assert quick.tobytes() == projected_quantiles(points, theta, q, rule).tobytes()


def test_embeddings_are_the_same_bits_in_any_number_of_threads(from_the_first_row, monkeypatch):
    graphs = [Graph.from_cells(*plate(6000, seed)) for seed in range(4)]
    embedding = SWWLEmbedding(n_quantiles=100).fit(graphs)
    quick = [embedding.set_params(n_jobs=n_jobs).transform(graphs).tobytes() for n_jobs in (1, 2)]
    monkeypatch.setattr(selection, "_LEAST_PER_QUANTILE", np.inf)
    assert quick == [embedding.transform(graphs).tobytes()] * 2


def test_only_large_meshes_and_long_runs_are_selected_from(monkeypatch):
    monkeypatch.setattr(selection, "_SORTED_FIRST", 10**6)
    monkeypatch.setattr(selection._Work, "values", 0)
    monkeypatch.setattr(selection, "kernel", lambda: select_rows)
    assert kernel_for(50, 1000, 500) is None and selection._Work.values == 0
    assert [kernel_for(50, 10_000, 100) for _ in range(3)] == [None, None, select_rows]
    assert kernel_for(50, 1000, 500) is None


def test_crowded_rows_are_sorted_and_so_are_some_meshes_after_them(monkeypatch):
    monkeypatch.setattr(selection, "_SORTED_FIRST", 10**6)
    monkeypatch.setattr(selection._Work, "values", 10**6)
    monkeypatch.setattr(selection, "kernel", lambda: select_rows)
    even, ranks = np.random.default_rng(0).random((2, 5000)).astype(np.float32), np.arange(0, 5000, 100, dtype=np.int32)
    assert_selected(even, ranks, select_rows)
    assert kernel_for(2, 5000, 100) is select_rows
    assert_selected(even**20, ranks, select_rows)
    assert [kernel_for(2, 5000, 100) for _ in range(9)] == [None] * selection._MORE_SORTED + [select_rows]


def test_without_numba_everything_is_sorted(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert kernel.__wrapped__() is None


def test_the_variable_of_numba_switches_it_off():
    compiled()
    code = "from swwl.embedding.selection import kernel; assert kernel() is None"
    environment = {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
