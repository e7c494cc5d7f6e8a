"""Nodes correspond where most cells join the same nodes, whatever the diagonals and the order of cells."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl import FieldRegressor, InputError, Mesh
from swwl.fields.training import cell_codes, correspond


def grid(n, flips, rng=None):
    """A grid of n x n nodes in triangles; a share of the quadrilaterals has the other diagonal."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    points = np.column_stack([x.ravel(), y.ravel()])
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    a, b, c, d = corner, corner + 1, corner + n + 1, corner + n
    flipped = np.zeros(len(a), bool) if rng is None else rng.random(len(a)) < flips
    one = np.where(flipped[:, None], np.column_stack([a, b, d]), np.column_stack([a, b, c]))
    two = np.where(flipped[:, None], np.column_stack([b, c, d]), np.column_stack([a, c, d]))
    return Mesh(points, np.vstack([one, two]))


@given(seed=st.integers(0, 10**6), n=st.integers(3, 9))
def test_order_of_cells_and_of_their_nodes_does_not_count(seed, n):
    mesh, rng = grid(n, 0), np.random.default_rng(seed)
    cells = rng.permuted(mesh.cells["triangle"], axis=1)[rng.permutation(len(mesh.cells["triangle"]))]
    np.testing.assert_array_equal(cell_codes(mesh), cell_codes(Mesh(mesh.points, cells)))


def test_some_diagonals_may_differ_and_numbers_of_nodes_may_not():
    codes = cell_codes(grid(12, 0))
    assert correspond(codes, cell_codes(grid(12, 0.2, np.random.default_rng(0))))
    assert not correspond(codes, cell_codes(grid(11, 0)))
    shuffled = grid(12, 0)
    order = np.random.default_rng(1).permutation(shuffled.n_nodes)
    renumbered = Mesh(shuffled.points[np.argsort(order)], order[shuffled.cells["triangle"]])
    assert not correspond(codes, cell_codes(renumbered))


def test_fields_on_flipped_diagonals_are_learned_node_by_node():
    rng = np.random.default_rng(0)
    rows = []
    for load in rng.uniform(1, 2, 16):
        mesh = grid(6, 0.2, rng)
        rows.append({"mesh": mesh.with_fields({"u": load * mesh.points[:, 0] ** 2}), "load": load})
    table = pd.DataFrame(rows)
    model = FieldRegressor().fit(table[:12], "u")
    assert model.common_topology_
    found = model.predict(table[12:])
    for one, mesh in zip(found, table["mesh"][12:], strict=True):
        np.testing.assert_allclose(one["u"], mesh.fields["u"], atol=0.02)
    with pytest.raises(InputError, match="other cells"):
        model.predict(pd.DataFrame({"mesh": [grid(7, 0)], "load": [1.5]}))
