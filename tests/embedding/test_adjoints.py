"""Adjoints of single stages: transposes to rounding, and sound on degenerate clouds and graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl import Graph
from swwl.embedding.sliced import measure_quantiles, projected_quantiles
from swwl.embedding.sliced_adjoint import Quantiles, _ranked, _reached, sorting_order
from swwl.embedding.wl import neighbor_average, wl_iterations, wl_transposed

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 12), st.integers(0, 20), st.integers(0, 4), st.sampled_from([1, 2, 9]),
       st.sampled_from([0.0, 1e-3]))  # fmt: skip
def test_iterations_and_their_transpose(seed, n, n_edges, n_iterations, step, tolerance):
    rng = np.random.default_rng(seed)
    edges = rng.integers(n, size=(n_edges, 2))
    matrix = neighbor_average(Graph(rng.normal(size=(n, 2)), edges))
    features = rng.normal(size=(n, 2))
    parts = rng.normal(size=(n_iterations + 1, n, 2))
    forward = np.stack(wl_iterations(matrix, features, n_iterations, step, tolerance))
    back = wl_transposed(matrix, list(parts), step, tolerance)
    assert (forward * parts).sum() == pytest.approx((features * back).sum(), rel=1e-9, abs=1e-9)


def test_weights_of_edges_have_their_transpose():
    rng = np.random.default_rng(0)
    graph = Graph(rng.normal(size=(8, 1)), rng.integers(8, size=(15, 2)), weights=rng.uniform(0.5, 2, 15))
    matrix = neighbor_average(graph, "count")
    parts = rng.normal(size=(3, 8, 1))
    forward = np.stack(wl_iterations(matrix, graph.features, 2, 4, 1e-5))
    back = wl_transposed(matrix, list(parts), 4, 1e-5)
    assert (forward * parts).sum() == pytest.approx((graph.features * back).sum())


@given(seeds, st.integers(1, 30), st.integers(1, 3), st.integers(2, 9), st.sampled_from(["linear", "mean"]),
       st.booleans(), st.booleans())  # fmt: skip
def test_quantiles_of_any_cloud(seed, n, width, n_quantiles, rule, weighted, repeated):
    rng = np.random.default_rng(seed)
    points = rng.integers(3, size=(n, width)).astype(float) if repeated else rng.normal(size=(n, width))
    theta = np.linalg.qr(rng.normal(size=(width, width)))[0]
    weights = rng.uniform(0.1, 1, n) * (rng.random(n) < 0.8) if weighted else None
    if weights is not None and not weights.any():
        weights[0] = 1.0
    found = Quantiles(points, theta, n_quantiles, rule, weights)
    wanted = projected_quantiles(points, theta, n_quantiles, rule, weights)
    if not repeated:  # where points stand at one place, rounding decides their order
        assert np.allclose(found.values, wanted, atol=1e-5)
    gradient = rng.normal(size=(n_quantiles, width, 2))
    in_points, in_masses = found.pull_back(gradient)
    assert np.isfinite(in_points).all()
    # A shift of all points moves all quantiles; masses that are all larger move none.
    assert np.allclose(in_points.sum(axis=0), theta @ gradient.sum(axis=0))
    if weighted:
        assert np.isfinite(in_masses).all() and np.allclose(weights @ in_masses, 0, atol=1e-8)
        assert not in_points[weights == 0].any() and not in_masses[weights == 0].any()


@pytest.mark.parametrize("rule", ["linear", "midpoint", "mean"])
def test_quantiles_of_continuous_measures_are_those_of_the_bins(rule):
    rng = np.random.default_rng(0)
    points, masses = rng.normal(size=(4000, 2)), rng.uniform(0.5, 1, 4000)
    theta = np.eye(2)
    found = Quantiles(points, theta, 20, rule, masses / masses.sum(), continuous=True).values
    wanted = measure_quantiles(points, theta, 20, rule, masses / masses.sum())
    assert np.abs(found - wanted).max() < 0.01


@given(seeds, st.integers(1, 50))
def test_orders_sort(seed, n):
    values = np.random.default_rng(seed).normal(size=(2, n)) * 10.0 ** np.random.default_rng(seed).integers(-9, 9)
    ordered = np.take_along_axis(values, sorting_order(values), axis=1)
    assert np.allclose(ordered, np.sort(values, axis=1), rtol=1e-12, atol=0)


@given(seeds, st.integers(1, 300), st.sampled_from(["spread", "ties", "all alike", "one far away", "tiny"]))
def test_levels_are_reached_where_sorting_says(seed, n, kind):
    rng = np.random.default_rng(seed)
    row = rng.normal(size=n)
    if kind == "ties":
        row = np.round(row)
    elif kind == "all alike":
        row[:] = 3.0
    elif kind == "one far away":  # all others fall into one bin
        row[0] = 1e9
    elif kind == "tiny":
        row *= 1e-310
    masses = rng.integers(1, 5, n).astype(float)  # sums are exact, in any order
    levels = np.sort(rng.integers(0, int(masses.sum()), 7)) + 0.5
    passed = np.empty(n, np.int32)
    reached, beyond = _reached(row, masses, levels, passed)
    order = np.argsort(row, kind="stable")
    ends = np.cumsum(masses[order])
    at = np.searchsorted(ends, levels, "right")
    np.testing.assert_array_equal(row[reached], row[order][at])
    assert ((beyond > 0) & (beyond < masses[reached])).all()
    # Before what is passed lies less than the next level, and ties stand in some order.
    for k, level in enumerate(levels):
        assert masses[passed <= k].sum() == pytest.approx(level - beyond[k])


@given(seeds, st.integers(1, 300), st.sampled_from(["spread", "ties", "all alike", "one far away", "tiny"]))
def test_ranks_are_where_sorting_says(seed, n, kind):
    rng = np.random.default_rng(seed)
    row = rng.normal(size=n)
    if kind == "ties":
        row = np.round(row)
    elif kind == "all alike":
        row[:] = 3.0
    elif kind == "one far away":
        row[0] = 1e5
    elif kind == "tiny":
        row *= 1e-310
    ranks = np.concatenate([rng.integers(n, size=9), [0, n - 1]])
    np.testing.assert_array_equal(row[_ranked(row, ranks)], np.sort(row)[ranks])
    assert len(set(_ranked(row, np.arange(n)).tolist())) == n
