"""Laplacian smoothing of triangle meshes: evens out the seams between differently spaced nodes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from swwl.datasets.types import Floats, Ints


def smoothed(points: Floats, triangles: Ints, n_fixed: int, passes: int) -> Floats:
    """Move every node but the first `n_fixed` to the mean of its neighbors, `passes` times.

    Examples
    --------
    >>> corners = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [0.3, 0.4]])
    >>> smoothed(corners, np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]), 4, 1)[4].tolist()
    [0.5, 0.5]
    """
    n = len(points)
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    adjacency = coo_array((np.ones(len(start)), (start, end)), shape=(n, n)).tocsr()
    adjacency = adjacency + adjacency.T
    adjacency.data[:] = 1.0
    degree = np.maximum(adjacency.sum(1), 1)[:, None]
    points = points.copy()
    for _ in range(passes):
        points[n_fixed:] = (adjacency @ points / degree)[n_fixed:]
    return points
