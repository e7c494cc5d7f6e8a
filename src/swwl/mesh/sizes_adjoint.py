"""How lengths, areas, volumes and normals change with the nodes: the transposes of ``cells.py`` and ``sampling.py``.

Every function takes a gradient in what its original returns and gives that in the points, (n, d).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.cells import Cells, cell_corners, cell_dimension, cut_into_simplices, top_cells

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]


def lumped_measures_back(points: _Floats, cells: Cells, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`swwl.mesh.cells.lumped_measures`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    cells : mapping of type to ndarray of shape (m, k)
    gradient : ndarray of shape (n,)
        In the length, area or volume around each node.

    Returns
    -------
    ndarray of shape (n, d)

    Examples
    --------
    >>> rod = np.array([[0.0], [1.0], [3.0]])
    >>> lumped_measures_back(rod, {"line": np.array([[0, 1], [1, 2]], np.int32)}, np.array([0.0, 2.0, 0.0])).tolist()
    [[-1.0], [0.0], [1.0]]
    """
    total = np.zeros(points.shape)
    for kind, block in top_cells(cells).items():
        share = gradient[block].mean(axis=1)  # a cell's size is shared equally among all its nodes
        if cell_dimension(kind) == 2:
            total += _polygons_back(points, cell_corners(kind, block), share)
        else:
            simplices = cut_into_simplices({kind: block})
            total += simplex_sizes_back(points, simplices, np.tile(share, len(simplices) // len(block)))
    return total


def simplex_sizes_back(points: _Floats, simplices: _Nodes, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`swwl.mesh.sampling.simplex_sizes`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    simplices : ndarray of shape (m, 2), (m, 3) or (m, 4)
    gradient : ndarray of shape (m,)
        In lengths, areas or volumes.

    Returns
    -------
    ndarray of shape (n, d)
    """
    if simplices.shape[1] == 3:
        return _polygons_back(points, simplices, gradient)
    x = _in_space(points)
    first = x[simplices[:, 0]]
    spokes = [x[node] - first for node in simplices.T[1:]]
    if len(spokes) == 1:
        length = np.linalg.norm(spokes[0], axis=1)
        at = [spokes[0] * (gradient / np.where(length > 0, length, 1.0))[:, None]]
    else:
        u, v, w = spokes
        weight = (gradient * np.sign(np.einsum("ij,ij->i", np.cross(u, v), w)) / 6)[:, None]
        at = [weight * np.cross(v, w), weight * np.cross(w, u), weight * np.cross(u, v)]
    return _collected(points, simplices, [-np.sum(at, axis=0), *at])


def pieces_back(points: _Floats, pieces: _Nodes, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`swwl.mesh.boundary.piece_normals`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    pieces : ndarray of shape (m, d)
        Sides in the plane or triangles in space.
    gradient : ndarray of shape (m, d)
        In normals that are as long as the pieces are large.

    Returns
    -------
    ndarray of shape (n, d)
    """
    if pieces.shape[1] == 2:
        along = np.column_stack([-gradient[:, 1], gradient[:, 0]])
        return _collected(points, pieces, [-along, along])
    first = points[pieces[:, 0]]
    u, v = points[pieces[:, 1]] - first, points[pieces[:, 2]] - first
    at = [0.5 * np.cross(v, gradient), 0.5 * np.cross(gradient, u)]
    return _collected(points, pieces, [-np.sum(at, axis=0), *at])


def _polygons_back(points: _Floats, corners: _Nodes, gradient: _Floats) -> _Floats:
    """Return the gradient (n, d) of areas of polygons (m, k): half the length of their triangles' summed normals."""
    x = _in_space(points)
    first = x[corners[:, 0]]
    spokes = [x[node] - first for node in corners.T[1:]]
    normals = sum(np.cross(u, v) for u, v in zip(spokes[:-1], spokes[1:], strict=True))
    length = np.linalg.norm(normals, axis=1)
    weight = normals * (0.5 * gradient / np.where(length > 0, length, 1.0))[:, None]
    at = [np.zeros_like(first) for _ in spokes]
    for k, (u, v) in enumerate(zip(spokes[:-1], spokes[1:], strict=True)):
        at[k] += np.cross(v, weight)
        at[k + 1] += np.cross(weight, u)
    return _collected(points, corners, [-np.sum(at, axis=0), *at])


def _in_space(points: _Floats) -> _Floats:
    if points.shape[1] == 3:
        return points
    return np.column_stack([points, np.zeros((len(points), 3 - points.shape[1]))])


def _collected(points: _Floats, nodes: _Nodes, at: list[_Floats]) -> _Floats:
    """Sum what the corners (k of shape (m, 3)) of cells (m, k) have at their nodes, (n, d)."""
    n, d = points.shape
    flat = nodes.T.ravel()
    values = np.concatenate(at)
    return np.column_stack([np.bincount(flat, values[:, k], n) for k in range(d)])
