"""Linear finite elements and lags: closed forms, and meshes of one shape."""

import numpy as np
import pytest

from swwl import Mesh
from swwl.fields.geometry.descriptors import lags, stiffness


def grid(n, m=None):
    """A unit square of n x m nodes, in triangles."""
    m = m or n
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, m), indexing="ij")
    a = (np.arange(n - 1)[:, None] * m + np.arange(m - 1)).ravel()
    cells = np.concatenate([np.column_stack([a, a + m, a + m + 1]), np.column_stack([a, a + m + 1, a + 1])])
    return Mesh(np.column_stack([x.ravel(), y.ravel()]), {"triangle": cells})


def test_energy_of_linear_functions_is_their_gradient_squared_times_the_area():
    mesh = grid(5, 7)
    K, M = stiffness(mesh.points, mesh.cells["triangle"])
    u = mesh.points @ [2.0, -3.0]
    assert u @ (K @ u) == pytest.approx(13.0)
    assert M.sum() == pytest.approx(1.0)
    assert np.abs(K @ np.ones(len(u))).max() < 1e-12


def test_energy_on_tetrahedra():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    K, M = stiffness(points, np.array([[0, 1, 2, 3]]))
    u = points @ [1.0, 2.0, 3.0]
    assert u @ (K @ u) == pytest.approx(14.0 / 6)
    assert M.sum() == pytest.approx(1 / 6)


def test_lag_hardly_depends_on_the_mesh():
    coarse, fine = grid(11), grid(31)
    at = [mesh.points @ [1.0, 0.0] + 1j * (mesh.points @ [0.0, 1.0]) for mesh in (coarse, fine)]
    same = [np.flatnonzero(np.isclose(at[1], z))[0] for z in at[0]]
    a, b = lags(coarse, [0.3])[0], lags(fine, [0.3])[0][same]
    assert np.abs(a - b).max() < 0.1 * np.abs(b).max()


def test_lag_of_a_ring_looks_inward():
    turns = 2 * np.pi * np.arange(60) / 60
    lines = np.column_stack([np.arange(60), np.roll(np.arange(60), -1)])
    ring = Mesh(np.column_stack([np.cos(turns), np.sin(turns)]), {"line": lines})
    lag = lags(ring, [0.5])[0]
    assert np.allclose(lag, -0.2 * ring.points, atol=2e-3)  # tau^2 / (1 + tau^2) of a first harmonic


def test_conjugate_gradients_agree_with_the_factor(monkeypatch):
    mesh = grid(9)
    exact = lags(mesh, [0.1, 0.3])
    monkeypatch.setattr("swwl.mesh.shape.conduction._MOST_NODES", 10)
    for a, b in zip(exact, lags(mesh, [0.1, 0.3]), strict=True):
        assert np.allclose(a, b, atol=1e-6)


def test_nodes_on_sides_get_what_their_neighbors_have():
    points = [[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]]
    mesh = Mesh(points, {"triangle6": [[0, 1, 2, 3, 4, 5]]})
    lag = lags(mesh, [1.0])[0]
    assert np.allclose(lag[3], (lag[0] + lag[1]) / 2)


def test_without_cells_lags_are_zero():
    assert not lags(Mesh([[0.0, 0.0], [1.0, 0.0]], {}), [1.0])[0].any()
