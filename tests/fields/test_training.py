"""Nodes correspond where most cells join the same nodes, and every mesh file is read once."""

import os
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl import FieldRegressor, InputError, Mesh
from swwl.fields.training import cell_codes, correspond
from swwl.mesh.io.formats import read_file
from swwl.storage.memory import Memory


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
    with pytest.raises(InputError, match="different cells"):
        model.predict(pd.DataFrame({"mesh": [grid(7, 0)], "load": [1.5]}))


def plates(n, folder, same=False):
    """A table of mesh files that carry a field."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        mesh, load = grid(5 if same else 5 + k % 3, 0), rng.uniform(1, 2)
        mesh = Mesh(mesh.points * [1 + load, 1], mesh.cells["triangle"], {"u": load * mesh.points[:, 0]})
        mesh.write(folder / f"{k}.vtu")
        rows.append({"mesh": str(folder / f"{k}.vtu"), "load": load})
    return pd.DataFrame(rows)


@pytest.fixture
def counted(monkeypatch):
    """How often every file is read."""
    counts = Counter()

    def read(path, *rest):
        counts[os.fspath(path)] += 1
        return read_file(path, *rest)

    for module in ("swwl.mesh.io.convert", "swwl.mesh.io.formats"):
        monkeypatch.setattr(f"{module}.read_file", read)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("same", [False, True], ids=["any topology", "shared cells"])
def test_every_file_is_read_once_by_a_fit_and_once_by_a_prediction(same, tmp_path, counted):
    table = plates(13, tmp_path, same)
    model = FieldRegressor(n_modes=2, calibrate=False).fit(table[:10], "u")
    assert model.common_topology_ == same
    assert counted == dict.fromkeys(table["mesh"][:10], 1)
    counted.clear()
    new = pd.concat([table[10:], table[12:]], ignore_index=True)  # one file in two rows
    cases = model.cases(new)
    cases.predict_meshes(), cases.derived("max"), cases.domain
    assert counted == dict.fromkeys(table["mesh"][10:], 1)


@pytest.mark.slow
def test_files_that_do_not_fit_into_memory_are_read_again_with_the_same_result(tmp_path, counted, monkeypatch):
    table = plates(11, tmp_path)
    wanted = FieldRegressor(n_modes=2, calibrate=False).fit(table[:10], "u").predict(table[10:], widen=False)[0]["u"]
    counted.clear()
    monkeypatch.setattr("swwl.fields.training._MOST_NODES_KEPT", 100)
    found = FieldRegressor(n_modes=2, calibrate=False).fit(table[:10], "u")
    assert counted[table["mesh"][0]] == 1 and counted[table["mesh"][9]] > 1
    np.testing.assert_array_equal(found.predict(table[10:], widen=False)[0]["u"], wanted)


@pytest.mark.slow
def test_kernels_find_kept_embeddings_of_files_by_their_paths(tmp_path, counted):
    table = plates(10, tmp_path)
    memory = Memory(tmp_path / ".swwl-cache")
    FieldRegressor(n_modes=2, calibrate=False).fit(table, "u", memory=memory)
    again = Memory(tmp_path / ".swwl-cache")
    FieldRegressor(n_modes=2, calibrate=False).fit(table, "u", memory=again)
    assert {os.fspath(path) for path in again.found} == set(table["mesh"])
