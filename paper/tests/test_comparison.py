"""The same tasks with other software, at a tiny size."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import Delaunay

from swwl import Mesh
from swwl_paper import comparison, peers, reproduce


def plate(n):
    """Return points and triangles of a unit square."""
    points = np.vstack([np.random.default_rng(n).random((n, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]])
    return points, Delaunay(points).simplices


@pytest.fixture
def data():
    """Plates of several widths, numbers, and their product."""
    rng = np.random.default_rng(0)
    points, cells = plate(40)
    widths, loads = rng.uniform(1, 2, (2, 24))
    meshes = [Mesh(points * [width, 1], {"triangle": cells}) for width in widths]
    return meshes[:18], loads[:18, None], (widths * loads)[:18], meshes[18:], loads[18:, None], (widths * loads)[18:]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "sklearn", "pot", "smt", "torch", "network"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch itself
def test_peers_learn(name, data, monkeypatch):
    if peers.lacking(name):
        pytest.skip(f"{peers.lacking(name)[0]} is not installed")
    monkeypatch.setattr(peers, "_EPOCHS", 25)
    monkeypatch.setattr(peers, "_MEMBERS", 2)
    *given, truth = data
    found = peers.PEERS[name][2](*given)
    assert found.mean.shape == found.std.shape == (6,)
    assert np.all(found.std > 0) and np.all(np.isfinite(found.mean))
    error = np.sqrt(np.mean((found.mean - truth) ** 2)) / truth.std()
    assert error < (0.8 if name == "network" else 0.4)


def test_resampling_orders_nodes_as_the_template():
    points, cells = plate(40)
    order = np.random.default_rng(1).permutation(len(points))
    shuffled = Mesh(points[order] * [2, 1], {"triangle": np.argsort(order)[cells]})
    rows = peers.resampled([shuffled], points)
    np.testing.assert_allclose(rows[0].reshape(-1, 2), points * [2, 1])


def test_kpls_wants_one_topology(data):
    pytest.importorskip("smt", reason="smt is not installed")
    train, numbers, y, new, new_numbers, _ = data
    other = Mesh(*plate(50))
    assert peers.smt_kpls([*train[:-1], other], numbers, y, new, new_numbers) is None


@pytest.mark.slow
def test_rows_table_and_figure(tmp_path, monkeypatch):
    monkeypatch.setitem(comparison.SIZES, "small", comparison.ComparisonPlan(10, 6, {"blade-random": (210, 0)}))
    options = {"dataset": ["blade-random"], "kernel": ["paper", "sklearn"]}
    reproduce("comparison", "small", tmp_path, n_jobs=1, options=options)
    rows = pd.read_csv(tmp_path / "comparison.csv")
    assert rows["peer"].tolist() == ["paper", "sklearn"] and (rows["n_test"] == 5).all()
    assert (rows[["error", "seconds", "megabytes", "lines"]] > 0).all(axis=None)
    page = (tmp_path / "comparison.md").read_text(encoding="utf-8")
    assert "scikit-learn GP" in page and (tmp_path / "comparison.png").exists()
    reproduce("comparison", "small", tmp_path, n_jobs=1, options=options)  # nothing is fitted again
    assert pd.read_csv(tmp_path / "comparison.csv").equals(rows)
