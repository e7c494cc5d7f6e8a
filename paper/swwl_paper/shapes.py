"""Meshes of the sizes that engineers have: surfaces that share their topology, and plates that do not."""

from __future__ import annotations

import numpy as np
from scipy.spatial import Delaunay

from swwl import Graph


def surface(n_nodes: int, seed: int) -> Graph:
    """Return a twisted blade-like surface in space; one topology for one size."""
    rng = np.random.default_rng(seed)
    around = int(np.sqrt(1.2 * n_nodes))
    along = n_nodes // around
    angle = 2 * np.pi * np.arange(around) / around
    height = np.linspace(0, 1, along)[:, None]
    twist = rng.uniform(0.2, 1.0) * height + rng.uniform(0, 0.5)
    x, y = np.cos(angle), rng.uniform(0.05, 0.2) * np.sin(angle) * (1 - 0.5 * height)
    turned = x * np.cos(twist) - y * np.sin(twist), x * np.sin(twist) + y * np.cos(twist)
    points = np.stack([*turned, 2 * height + 0 * x], -1).reshape(-1, 3)
    i = np.arange(around)
    lower = (np.arange(along - 1)[:, None] * around + i).ravel()
    right = (np.arange(along - 1)[:, None] * around + (i + 1) % around).ravel()
    upper = right + around
    return Graph.from_cells(points, np.vstack([np.c_[lower, right, upper], np.c_[lower, upper, lower + around]]))


def plate(n_nodes: int, seed: int) -> Graph:
    """Return a flat plate meshed with a Delaunay triangulation of its own: no two share their topology."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(n_nodes)))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)[:n_nodes]
    points = (grid + 0.4 * rng.random((n_nodes, 2))) / side
    return Graph.from_cells(points * rng.uniform(0.7, 1.4, 2), Delaunay(points).simplices)
