"""Bodies in plane domains: their outlines in a mesh, which is which, and what they tell about nodes and shapes.

====================================  ============================================================================
``inner_loops(mesh)``                 outlines of the bodies: node numbers, counter-clockwise; [] where there are none
``loop_features(mesh, loops)``        (K, 4) where each body is and how large: keep those of the first training mesh
``match_loops(features, reference)``  order of the loops in which they answer to the reference's
``wall_map(mesh, reference)``         all of it: a :class:`~swwl.fields.geometry.slitmap.SlitMap`
``wall_shape(mesh, reference)``       (K * 256,) shapes of the walls: a row for principal components, without the domain
``wall_descriptors(found)``           (n, 2K) coordinates of the nodes, inside or on the unit circle
``wall_gains(found)``                 (n, K) how much the maps stretch at the nodes, from 0 to 8: factors for a basis
====================================  ============================================================================

A mesh of lines is its own wall where it closes. The pose of the bodies must be common to all meshes: angles
count from the direction of the first axis. An outer boundary takes no part.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.fields.geometry.slitmap import SlitMap, slit_map
from swwl.mesh.arrays import counted
from swwl.mesh.boundary import boundary
from swwl.mesh.cells import cell_corners, cell_dimension, top_cells
from swwl.mesh.mesh import Mesh

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]

LARGEST_GAIN = 8.0  # a sharp edge has an infinite one, of which a node shows more the finer the mesh


def inner_loops(mesh: Mesh) -> list[_Nodes]:
    """Return the closed loops in the boundary of a plane mesh that have its domain around them.

    Parameters
    ----------
    mesh : Mesh
        With surface cells, or with lines, of which each closed curve is a loop. Other meshes have none.

    Returns
    -------
    list of ndarrays of node numbers
        Each counter-clockwise from its smallest node number on, which is not repeated.

    Raises
    ------
    InputError
        If a boundary passes a node twice, as where two holes touch.

    Examples
    --------
    >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3], [1, 1], [2, 1], [2, 2], [1, 2]]
    >>> frame = Mesh(corners, [[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]])
    >>> [loop.tolist() for loop in inner_loops(frame)]
    [[4, 5, 6, 7]]
    """
    if mesh.dimension != 2 or not mesh.cells:
        return []
    top = top_cells(mesh.cells)
    dimensions = {cell_dimension(kind) for kind in top}
    if dimensions == {1}:
        lines = np.concatenate([cell_corners(kind, block) for kind, block in top.items()])
        loops = _closed_curves(lines, mesh.n_nodes)
    elif dimensions == {2}:
        # the domain lies to the left of its sides, so loops around bodies run clockwise
        loops = [loop for loop in _chains(boundary(mesh.points, mesh.cells)) if _area(mesh.points[loop]) < 0]
    else:
        return []
    loops = [loop if _area(mesh.points[loop]) > 0 else loop[::-1] for loop in loops]
    return sorted((np.roll(loop, -int(np.argmin(loop))) for loop in loops), key=lambda loop: int(loop[0]))


def _area(corners: _Floats) -> float:
    x, y = (corners - corners[0]).T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def _chains(sides: _Nodes) -> list[_Nodes]:
    """Follow directed sides around."""
    following = dict(sides.tolist())
    if len(following) < len(sides):
        nodes, counts = np.unique(sides[:, 0], return_counts=True)
        node = int(nodes[counts > 1][0])
        raise InputError(f"has a boundary that passes node {node} twice; bodies must not touch anything.")
    loops = []
    while following:
        first, node = following.popitem()
        loop = [first]
        while node != first:
            loop.append(node)
            node = following.pop(node)
        loops.append(np.array(loop, np.int32))
    return loops


def _closed_curves(lines: _Nodes, n_nodes: int) -> list[_Nodes]:
    """Join lines, of whatever directions, to closed curves; [] if one of them is open."""
    lines = np.unique(np.sort(lines[lines[:, 0] != lines[:, 1]], axis=1), axis=0)
    degree = np.bincount(lines.ravel(), minlength=n_nodes)
    if (degree > 2).any():
        node = int(np.argmax(degree > 2))
        raise InputError(f"has {degree[node]} lines that meet at node {node}; a closed curve has two at each node.")
    if (degree == 1).any():
        return []
    around: dict[int, list[int]] = {}
    for a, b in lines.tolist():
        around.setdefault(a, []).append(b)
        around.setdefault(b, []).append(a)
    loops = []
    while around:
        first, (node, _) = around.popitem()
        loop = [first]
        while node != first:
            a, b = around.pop(node)
            loop.append(node)
            node = b if a == loop[-2] else a
        loops.append(np.array(loop, np.int32))
    return loops


def loop_features(mesh: Mesh, loops: list[_Nodes]) -> _Floats:
    """Return the middle of the box around every loop, and its size: (K, 4).

    Examples
    --------
    >>> triangle = Mesh([[0, 0], [4, 0], [0, 2]], {"line": [[0, 1], [1, 2], [2, 0]]})
    >>> loop_features(triangle, inner_loops(triangle)).tolist()
    [[2.0, 1.0, 4.0, 2.0]]
    """
    boxes = [(mesh.points[loop].min(axis=0), mesh.points[loop].max(axis=0)) for loop in loops]
    return np.array([[*(low + high) / 2, *(high - low)] for low, high in boxes]).reshape(len(loops), 4)


def match_loops(features: _Floats, reference: _Floats) -> NDArray[np.intp]:
    """Return which loop answers to each of the reference's: the least sum of squared differences.

    Parameters
    ----------
    features, reference : ndarrays of shape (K, 4)

    Examples
    --------
    >>> reference = np.array([[0.0, 0, 1, 1], [5.0, 0, 1, 1]])
    >>> match_loops(np.array([[4.0, 0, 1, 1], [0.5, 0, 1, 1]]), reference).tolist()
    [1, 0]
    """
    if len(features) != len(reference):
        found = counted(len(features), "inner loop")
        raise InputError(f"has {found}, but the first training mesh has {len(reference)}.")
    differences = features[None, :, :] - reference[:, None, :]
    return np.asarray(scipy.optimize.linear_sum_assignment((differences**2).sum(axis=2))[1])


def wall_map(mesh: Mesh, reference: _Floats | None = None) -> SlitMap:
    """Map the plane around a mesh's bodies, in the order of the reference's.

    Parameters
    ----------
    mesh : Mesh
    reference : ndarray of shape (K, 4), optional
        :func:`loop_features` of the first training mesh. Without it bodies come as :func:`inner_loops` finds them.

    Examples
    --------
    >>> turns = 2 * np.pi * np.arange(12) / 12
    >>> lines = np.column_stack([np.arange(12), np.roll(np.arange(12), -1)])
    >>> ring = Mesh(np.column_stack([np.cos(turns), np.sin(turns)]), {"line": lines})
    >>> found = wall_map(ring)
    >>> bool(np.abs(wall_descriptors(found) - ring.points).max() < 1e-3), found.walls.size
    (True, 256)
    """
    loops = inner_loops(mesh)
    if reference is not None:
        loops = [loops[k] for k in match_loops(loop_features(mesh, loops), reference)]
    return slit_map(mesh.points, list(loops))


def wall_shape(mesh: Mesh, reference: _Floats) -> _Floats:
    """Return where a mesh's walls are at equal angles (K * n_angles * 2,), bodies in the order of the reference's.

    The same as the walls of :func:`wall_map`, which also evaluates the map in the domain.
    """
    loops = inner_loops(mesh)
    ordered = [loops[k] for k in match_loops(loop_features(mesh, loops), reference)]
    ends = np.cumsum([len(loop) for loop in ordered])
    nodes = [np.arange(end - len(loop), end) for loop, end in zip(ordered, ends, strict=True)]
    return slit_map(mesh.points[np.concatenate(ordered)], list(nodes)).walls.ravel()


def wall_descriptors(found: SlitMap) -> _Floats:
    r"""Return coordinates (n, 2K) of the nodes: :math:`e^{-G_k} (\cos\theta_k, \sin\theta_k)` for each body k."""
    radius = np.exp(-found.level)
    pairs = np.stack([radius * np.cos(found.angle), radius * np.sin(found.angle)], axis=2)
    return pairs.reshape(len(radius), -1)


def wall_gains(found: SlitMap, most: float = LARGEST_GAIN) -> _Floats:
    """Return how much each body's map stretches at the nodes (n, K), over how much it does far away, cut off at `most`.

    The speed of a flow around a body is this factor times a function that is smooth in :func:`wall_descriptors`; a
    pressure has its square. A basis of functions phi of the descriptors, together with gain² phi, so holds
    pressure fields that phi alone resolves badly at noses and edges.
    """
    return np.minimum(found.gain, most)
