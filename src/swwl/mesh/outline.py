"""What coarsening must not lose: the outline of a triangle mesh, and the area or volume it encloses.

For ``coarsen.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.cells import triangle_normals
from swwl.mesh.mesh import Mesh

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.integer]

_CORNER = np.cos(np.deg2rad(30.0))  # of the angle from which on an outline has a corner where it turns
_SHEET = 1e-3  # volume over area^(3/2) below which a surface is a sheet: its volume means nothing


def outline_edges(triangles: _Nodes) -> _Nodes:
    """Return the edges that belong to one triangle alone, in its direction: (k, 2).

    Examples
    --------
    >>> outline_edges(np.array([[0, 1, 2], [0, 2, 3]])).tolist()
    [[0, 1], [3, 0], [1, 2], [2, 3]]
    """
    edges = _directed(triangles)
    _, first, count = np.unique(_keys(np.sort(edges, 1)), return_index=True, return_counts=True)
    return np.asarray(edges[first[count == 1]])


def _directed(triangles: _Nodes) -> _Nodes:
    return np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])


def _keys(edges: _Nodes) -> NDArray[np.int64]:
    """One number per pair of nodes: many times quicker to sort than pairs."""
    return edges[:, 0].astype(np.int64) * (int(edges.max()) + 1) + edges[:, 1]


def outline_curves(edges: _Nodes) -> list[_Nodes]:
    """Join edges to curves that pass through no node where they branch or end; a loop repeats its first node.

    Examples
    --------
    >>> [curve.tolist() for curve in outline_curves(np.array([[0, 1], [3, 0], [1, 2], [2, 3]]))]
    [[0, 1, 2, 3, 0]]
    """
    neighbors: dict[int, list[int]] = {}
    for a, b in edges.tolist():
        neighbors.setdefault(a, []).append(b)
        neighbors.setdefault(b, []).append(a)
    unused = {frozenset(edge) for edge in edges.tolist()}

    def walk(a: int, b: int) -> _Nodes:
        curve = [a, b]
        unused.discard(frozenset((a, b)))
        while len(neighbors[curve[-1]]) == 2:
            ahead = [n for n in neighbors[curve[-1]] if frozenset((curve[-1], n)) in unused]
            if not ahead:
                break
            unused.discard(frozenset((curve[-1], ahead[0])))
            curve.append(ahead[0])
        return np.array(curve)

    # Ends and branches first; what is left then are loops.
    starts = [a for a in neighbors if len(neighbors[a]) != 2] + list(neighbors)
    return [walk(a, b) for a in starts for b in neighbors[a] if frozenset((a, b)) in unused]


def anchors(points: _Floats, curve: _Nodes, sizes: _Floats) -> _Nodes:
    """Choose nodes of a curve that keep its shape when the others go: corners, and one in every size between them.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    curve : ndarray of shape (k,)
        Node numbers along the curve, the first repeated at the end of a loop.
    sizes : ndarray of shape (n,)
        Wanted distance of the nodes kept.

    Returns
    -------
    ndarray of node numbers, sorted

    Examples
    --------
    >>> line = np.column_stack([np.linspace(0, 1, 11), np.zeros(11)])
    >>> anchors(line, np.arange(11), np.full(11, 0.5)).tolist()
    [0, 5, 10]
    """
    if curve[0] == curve[-1]:
        turning = _turning(points, np.append(curve, curve[1]))
        corners = np.flatnonzero(turning < _CORNER) + 1
        start = corners[0] if len(corners) else 0  # begin at a corner, if there is one
        curve = np.concatenate([curve[start:-1], curve[: start + 1]])
    breaks = np.flatnonzero(_turning(points, curve) < _CORNER) + 1
    kept = [curve[piece] for piece in _pieces(points, curve, sizes, breaks)]
    return np.unique(np.concatenate(kept))


def _turning(points: _Floats, curve: _Nodes) -> _Floats:
    """Cosine of the angle by which a curve turns at each of its inner nodes."""
    ahead = np.diff(points[curve], axis=0)
    ahead /= np.maximum(np.linalg.norm(ahead, axis=1), np.finfo(float).tiny)[:, None]
    return np.asarray((ahead[1:] * ahead[:-1]).sum(1))


def _pieces(points: _Floats, curve: _Nodes, sizes: _Floats, breaks: _Nodes) -> Iterator[NDArray[np.intp]]:
    """Positions to keep on each piece of a curve between its corners."""
    length = np.linalg.norm(np.diff(points[curve], axis=0), axis=1)
    steps = np.append(0, np.cumsum(2 * length / (sizes[curve[1:]] + sizes[curve[:-1]])))
    ends = np.concatenate([[0], breaks, [len(curve) - 1]])
    fewest = 3 if curve[0] == curve[-1] and len(ends) == 2 else 1
    for a, b in zip(ends[:-1], ends[1:], strict=True):
        wanted = np.linspace(steps[a], steps[b], max(fewest, round(steps[b] - steps[a])) + 1)
        positions = np.searchsorted(steps, wanted - 1e-9 * max(1.0, steps[-1]))
        yield np.clip(positions, a, b)


def enclosed(mesh: Mesh) -> _Floats:
    """Measure what a mesh encloses, to compare it with a coarser one.

    Returns
    -------
    ndarray
        In the plane, the signed areas within every loop of the outline, sorted: one per hole, and the whole. In
        space, the area and, unless the surface is a flat sheet or its triangles disagree on what is outside, the
        volume, holes closed by cones.

    Examples
    --------
    >>> enclosed(Mesh([[0, 0], [2, 0], [2, 3], [0, 3]], {"quad": [[0, 1, 2, 3]]})).tolist()
    [6.0]
    """
    points, triangles = mesh.points, mesh.triangles()
    edges = outline_edges(triangles)
    if points.shape[1] == 2:
        loops = []
        for curve in outline_curves(edges):
            x, y = points[curve].T
            loops.append((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2)
        return np.sort(np.abs(loops))
    corners = points[triangles]
    normals = triangle_normals(points, triangles) / 2
    area = np.linalg.norm(normals, axis=1).sum()
    if len(np.unique(_keys(_directed(triangles)))) < 3 * len(triangles):
        return np.array([area])
    middle = points[np.unique(triangles)].mean(0)
    volume = ((corners.mean(1) - middle) * normals).sum() / 3
    loop_of = {node: k for k, curve in enumerate(outline_curves(edges)) for node in curve.tolist()}
    if loop_of:
        numbers = np.array([loop_of[node] for node in edges[:, 0].tolist()])
        tips = np.array([points[edges[numbers == k, 0]].mean(0) for k in range(numbers.max() + 1)]) - middle
        a, b = points[edges[:, 1]] - middle, points[edges[:, 0]] - middle
        volume += (tips[numbers] * np.cross(a, b)).sum() / 6
    return np.array([area, abs(volume)]) if abs(volume) > _SHEET * area**1.5 else np.array([area])
