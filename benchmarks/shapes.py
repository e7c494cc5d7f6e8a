"""Meshes of the sizes that engineers have: shells that share their topology, and patches that do not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

from swwl import Graph


def shell_mesh(n_nodes: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return points (n, 3) and triangles of a bent sheet; one topology for one size."""
    rng = np.random.default_rng(seed)
    side = int(np.sqrt(n_nodes))
    u, v = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    width, depth, phase = rng.uniform(0.5, 1.5), rng.uniform(0.1, 0.5), rng.uniform(0, 1)
    points = np.stack([u, width * v, depth * np.sin(3 * u + phase) * np.cos(2 * v)], axis=-1).reshape(-1, 3)
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    across = corner + side + 1
    return points, np.vstack([np.c_[corner, corner + 1, across], np.c_[corner, across, corner + side]])


def shell(n_nodes: int, seed: int) -> Graph:
    """Return the graph of :func:`shell_mesh`."""
    return Graph.from_cells(*shell_mesh(n_nodes, seed))


def patch(n_nodes: int, seed: int) -> Graph:
    """Return a Delaunay triangulation of random points in a rectangle: no two share their topology."""
    rng = np.random.default_rng(seed)
    points = rng.random((n_nodes, 2))
    return Graph.from_cells(points * rng.uniform(0.7, 1.4, 2), Delaunay(points).simplices)
