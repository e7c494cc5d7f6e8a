"""How lengths, areas, volumes and normals change with the nodes: the transposes of ``cells.py`` and ``sampling.py``.

Every function takes a gradient in what its original returns and gives that in the points, (n, d); or those of k
functions, along a last axis, and gives (n, d, k). Rows of such arrays are long in memory, ``gradient.T`` is in C order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.boundary import coordinates, cross
from swwl.mesh.cells import Cells, cell_corners, cell_dimension, cut_into_simplices, top_cells

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]


def lumped_measures_back(points: _Floats, cells: Cells, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`swwl.mesh.cells.lumped_measures`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    cells : mapping of type to ndarray of shape (m, k)
    gradient : ndarray of shape (n,) or (n, k)
        In the length, area or volume around each node.

    Returns
    -------
    ndarray of shape (n, d) or (n, d, k)

    Examples
    --------
    >>> rod = np.array([[0.0], [1.0], [3.0]])
    >>> lumped_measures_back(rod, {"line": np.array([[0, 1], [1, 2]], np.int32)}, np.array([0.0, 2.0, 0.0])).tolist()
    [[-1.0], [0.0], [1.0]]
    """
    total: _Floats = np.zeros((*points.shape, *gradient.shape[1:]))
    for kind, block in top_cells(cells).items():
        nodes = np.ascontiguousarray(block.T)
        # A cell's size is shared equally among all its nodes.
        share = np.stack([row.take(nodes).mean(axis=0) for row in gradient.reshape(len(gradient), -1).T]).T
        if cell_dimension(kind) == 2:
            back = _polygons_back(points, cell_corners(kind, block), share)
        else:
            simplices = cut_into_simplices({kind: block})
            back = simplex_sizes_back(points, simplices, np.concatenate([share] * (len(simplices) // len(block))))
        total += back.reshape(total.shape)
    return total


def simplex_sizes_back(points: _Floats, simplices: _Nodes, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`swwl.mesh.sampling.simplex_sizes`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    simplices : ndarray of shape (m, 2), (m, 3) or (m, 4)
    gradient : ndarray of shape (m,) or (m, k)
        In lengths, areas or volumes.

    Returns
    -------
    ndarray of shape (n, d) or (n, d, k)
    """
    if simplices.shape[1] == 3:
        return _polygons_back(points, simplices, gradient)
    spokes = _spokes(points, simplices)
    if len(spokes) == 1:
        length = np.sqrt((spokes[0] ** 2).sum(axis=0))
        at = [spokes[0] / np.where(length > 0, length, 1.0)]
    else:
        u, v, w = spokes
        last = cross(u, v)
        sign = np.sign((last * w).sum(axis=0)) / 6
        at = [sign * cross(v, w), sign * cross(w, u), sign * last]
    return _scaled(points, simplices, at, gradient)


def pieces_back(points: _Floats, pieces: _Nodes, gradient: _Floats) -> _Floats:
    """Return the gradient in the points of what is made of :func:`swwl.mesh.boundary.piece_normals`.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    pieces : ndarray of shape (m, d)
        Sides in the plane or triangles in space.
    gradient : ndarray of shape (m, d) or (m, d, k)
        In normals that are as long as the pieces are large.

    Returns
    -------
    ndarray of shape (n, d) or (n, d, k)
    """
    pulls = gradient.reshape(*gradient.shape[:2], -1).T  # (k, d, m)
    nodes = pieces.T.astype(np.intp, order="C")
    total = np.empty((len(pulls), *points.T.shape))
    spokes = _spokes(points, pieces)
    for back, pull in zip(total, pulls, strict=True):
        if len(spokes) == 1:
            at = [np.stack([-pull[1], pull[0]])]
        else:
            at = [cross(spokes[1], 0.5 * pull), cross(0.5 * pull, spokes[0])]
        for axis, row in enumerate(back):
            _collect(nodes, [own[axis] for own in at], row)
    return total.T.reshape(*points.shape, *gradient.shape[2:])


def _polygons_back(points: _Floats, corners: _Nodes, gradient: _Floats) -> _Floats:
    """Return the gradient of areas of polygons (m, k): half the length of their triangles' summed normals."""
    spokes = _spokes(points, corners)
    normals = np.sum([cross(u, v) for u, v in zip(spokes[:-1], spokes[1:], strict=True)], axis=0)
    length = np.sqrt((normals**2).sum(axis=0))
    normals *= 0.5 / np.where(length > 0, length, 1.0)
    at = [np.zeros_like(normals) for _ in spokes]
    for k, (u, v) in enumerate(zip(spokes[:-1], spokes[1:], strict=True)):
        at[k] += cross(v, normals)
        at[k + 1] += cross(normals, u)
    return _scaled(points, corners, at, gradient)


def _spokes(points: _Floats, corners: _Nodes) -> list[_Floats]:
    """Return the vectors (3, m) from the first corner of cells (m, k) to the others, in space."""
    n, d = points.shape
    at = points if d == 3 else np.column_stack([points, np.zeros((n, 3 - d))])
    first, *others = (coordinates(at, node) for node in corners.T)
    return [other - first for other in others]


def _scaled(points: _Floats, cells: _Nodes, at: list[_Floats], gradient: _Floats) -> _Floats:
    """Sum at the nodes the slopes of sizes at all corners but the first, (3, m) each, times gradients in the sizes."""
    nodes, columns = cells.T.astype(np.intp, order="C"), gradient.reshape(len(gradient), -1).T
    total = np.empty((len(columns), *points.T.shape))
    for back, column in zip(total, columns, strict=True):
        for axis, row in enumerate(back):
            _collect(nodes, [own[axis] * column for own in at], row)
    return total.T.reshape(*points.shape, *gradient.shape[1:])


def _collect(nodes: NDArray[np.intp], at: list[_Floats], total: _Floats) -> None:
    """Sum at the nodes, (n,), what all corners (k, m) but the first have, (m,) each; that has the rest."""
    total[:] = np.bincount(nodes[0], -sum(at[1:], at[0]), len(total))
    for node, own in zip(nodes[1:], at, strict=True):  # one by one: fresh memory would cost more than the sums
        total += np.bincount(node, own, len(total))
