r"""Where a node is with respect to named groups of a mesh and to its bodies: offsets to the nearest points of them.

A group is its faces: sides in the plane, triangles in space; nodes that no face joins are points. The nearest point is
sought on all of a face and not just at its nodes, so that a finer mesh of the same part has the same offsets.
Lengths are saturated, :math:`v / (|v| + \tau)`, since far away only the direction means something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.boundary import boundary
from swwl.mesh.cells import cell_dimension, cut_into_simplices, top_cells
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.bodies import fills, find_bodies
from swwl.mesh.shape.skin import connected_parts

Array = NDArray[np.float64]
Pieces = NDArray[np.int32]
Numbers = NDArray[np.intp]
# Blocks of so many groups at most.
_MOST_GROUPS = 6
# A search among triangles begins with so many.
_STARTS = 6
_TINY = float(np.finfo(float).tiny)


def nearest_points(places: Array, points: Array, pieces: Pieces) -> Array:
    """Return the point of some pieces that is nearest to each place, (n, d).

    Parameters
    ----------
    places : ndarray of shape (n, d)
    points : ndarray of shape (N, d)
    pieces : ndarray of shape (m, k)
        Nodes (k = 1), sides or triangles, by numbers of points.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]])
    >>> nearest_points(np.array([[1.0, 2.0], [5.0, 1.5]]), corners, np.array([[0, 1], [1, 2]])).tolist()
    [[1.0, 0.0], [4.0, 1.5]]
    """
    nodes, local = np.unique(pieces, return_inverse=True)
    corners, local = points[nodes], local.reshape(pieces.shape)
    if pieces.shape[1] == 1:
        return np.asarray(corners[scipy.spatial.cKDTree(corners).query(places)[1]])
    return (_among_sides if pieces.shape[1] == 2 else _among_triangles)(places, corners, local)


def _among_sides(places: Array, corners: Array, sides: Numbers) -> Array:
    """Compare the sides with the nearest middles, and more of them until no other can be nearer."""
    ends = corners[sides]
    tree = scipy.spatial.cKDTree(ends.mean(axis=1))
    reach = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).max() / 2
    found, left, k = np.empty_like(places), np.arange(len(places)), 6
    while len(left):
        far, candidates = tree.query(places[left], np.arange(1, min(k, len(sides)) + 1))
        some = _on_side(places[left, None], ends[candidates, 0], ends[candidates, 1])
        best, squared = _nearest(places[left], some)
        found[left] = some[np.arange(len(left)), best]
        left = left[far[:, -1] - reach < np.sqrt(squared)] if k < len(sides) else left[:0]
        k *= 3
    return found


def _among_triangles(places: Array, corners: Array, triangles: Numbers) -> Array:
    """Compare triangles with the nearest middles, then those at the corner beside what is found, while it is nearer."""
    around, tree = _around(triangles, len(corners)), scipy.spatial.cKDTree(corners[triangles].mean(axis=1))
    candidates = np.asarray(tree.query(places, np.arange(1, min(_STARTS, len(triangles)) + 1))[1])
    node = np.full(len(places), -1)
    found, squared = np.empty_like(places), np.full(len(places), np.inf)

    def go_on(left: Numbers, candidates: Numbers) -> None:
        while len(left):
            some, beside = _on_triangle(places[left, None], *(corners[triangles[candidates, k]] for k in range(3)))
            best, less = _nearest(places[left], some)
            rows = np.arange(len(left))
            corner = beside[rows, best]
            # Inside a triangle nothing next to it is nearer, nor anything at a corner that was looked at.
            to = np.where(corner < 0, node[left], triangles[candidates[rows, best], corner])
            nearer = less < squared[left] * (1 - 1e-9)
            found[left[nearer]], squared[left[nearer]] = some[rows, best][nearer], less[nearer]
            goes = nearer & (to != node[left])
            left, to = left[goes], to[goes]
            node[left] = to
            candidates = around[to]

    go_on(np.arange(len(places)), candidates)
    far, nearest = scipy.spatial.cKDTree(corners).query(places)
    missed = np.flatnonzero(far**2 < squared * (1 - 1e-9))  # some corner is nearer than all that was looked at
    node[missed] = nearest[missed]
    go_on(missed, around[node[missed]])
    return found


def _nearest(places: Array, some: Array) -> tuple[Numbers, Array]:
    """Return which of some points (n, c, d) is nearest to each place, and its squared distance."""
    squared = _dot(some - places[:, None], some - places[:, None])
    best = squared.argmin(axis=1)
    return best, squared[np.arange(len(best)), best]


def _around(pieces: Numbers, n_nodes: int) -> Numbers:
    """Return the pieces at every node, (n, most), filled up with the first of them."""
    order = np.argsort(pieces, axis=None, kind="stable")
    node = pieces.ravel()[order]
    starts = np.searchsorted(node, np.arange(n_nodes))
    position = np.arange(len(node)) - starts[node]
    table = np.repeat((order // pieces.shape[1])[starts][:, None], position.max() + 1, axis=1)
    table[node, position] = order // pieces.shape[1]
    return table


def _dot(u: Array, v: Array) -> Array:
    return np.asarray(np.einsum("...d,...d->...", u, v))


def _on_side(x: Array, a: Array, b: Array) -> Array:
    u = b - a
    share = _dot(x - a, u) / np.maximum(_dot(u, u), _TINY)
    return np.asarray(a + np.clip(share, 0.0, 1.0)[..., None] * u)


def _on_triangle(x: Array, a: Array, b: Array, c: Array) -> tuple[Array, Numbers]:
    """Return the nearest points, and at which corner of the triangle each of them is, or beside which; -1 inside."""
    u, v, w = b - a, c - a, x - a
    uu, uv, vv, wu, wv = _dot(u, u), _dot(u, v), _dot(v, v), _dot(w, u), _dot(w, v)
    area = np.maximum(uu * vv - uv * uv, _TINY)
    s, t = (vv * wu - uv * wv) / area, (uu * wv - uv * wu) / area
    found = np.asarray(a + s[..., None] * u + t[..., None] * v)
    corner = np.full(s.shape, -1)
    outside = (s <= 0) | (t <= 0) | (s + t >= 1)
    a, b, c, x = (np.broadcast_to(p, found.shape)[outside] for p in (a, b, c, x))
    sides = np.stack([_on_side(x, a, b), _on_side(x, b, c), _on_side(x, c, a)], axis=1)
    best, _ = _nearest(x, sides)
    nearest = sides[np.arange(len(x)), best]
    starts, ends = np.stack([a, b, c], axis=1), np.stack([b, c, a], axis=1)
    rows = np.arange(len(x))
    to_start, to_end = nearest - starts[rows, best], nearest - ends[rows, best]
    found[outside] = nearest
    corner[outside] = (best + (_dot(to_end, to_end) < _dot(to_start, to_start))) % 3
    return found, corner


def group_pieces(mesh: Mesh, name: str) -> Pieces:
    """Return what a group is made of: triangles, sides or, where nothing joins its nodes, these, (m, k).

    Faces are cut into simplices; of cells that fill space their boundary counts; nodes have the pieces of the skin (or
    of the mesh itself, if it is a surface or made of lines) all corners of which are in the group.

    Examples
    --------
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> mesh = Mesh(square, [[0, 1, 2], [0, 2, 3]], groups={"held": [0, 3], "tip": [2], "part": {"triangle": [1]}})
    >>> [group_pieces(mesh, name).tolist() for name in mesh.groups]
    [[[3, 0]], [[2]], [[0, 2], [2, 3], [3, 0]]]
    """
    group = mesh.group(name)
    if group.kind == "faces":
        return cut_into_simplices(group.faces)
    domain = max(map(cell_dimension, top_cells(mesh.cells)), default=0) == mesh.dimension
    if group.kind == "cells":
        cells = {kind: mesh.cells[kind][chosen] for kind, chosen in group.cells.items()}
        return boundary(mesh.points, cells) if fills(mesh, group) else cut_into_simplices(cells)
    pieces = boundary(mesh.points, mesh.cells) if domain and mesh.dimension > 1 else cut_into_simplices(mesh.cells)
    member = np.zeros(mesh.n_nodes, bool)
    member[group.nodes] = True
    inside = pieces[member[pieces].all(axis=1)]
    return inside if len(inside) and inside.shape[1] <= 3 else group.nodes[:, None]


def group_offsets(mesh: Mesh, name: str, length: float) -> Array:
    r"""Return offsets to the nearest points of a group, :math:`v / (|v| + \tau)`, (n, d); zero at its own nodes.

    Parameters
    ----------
    mesh : Mesh
    name : str
    length : float
        :math:`\tau`.

    Examples
    --------
    >>> square = Mesh([[0, 0], [3, 0], [3, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]], groups={"held": [[3, 0]]})
    >>> group_offsets(square, "held", 1.0).round(2).tolist()
    [[0.0, 0.0], [-0.75, 0.0], [-0.75, 0.0], [0.0, 0.0]]
    """
    others = np.ones(mesh.n_nodes, bool)
    others[mesh.group(name).nodes] = False
    found = np.zeros_like(mesh.points)
    found[others] = nearest_points(mesh.points[others], mesh.points, group_pieces(mesh, name)) - mesh.points[others]
    return found / (np.sqrt(_dot(found, found)) + length)[:, None]


def around_bodies(mesh: Mesh) -> Array:
    r"""Return where a node is with respect to all bodies of a mesh, as far as they are near, (n, d + 1).

    .. math:: \sum_b \frac{1}{1 + |v_b| / r_b} \left(\frac{x - c_b}{|x - c_b|}, 1\right)

    with the offset :math:`v_b` to the wall of a body, its center :math:`c_b` and its radius :math:`r_b`. The sum does
    not jump where another body becomes the nearest one, as the offset to the nearest does.

    Parameters
    ----------
    mesh : Mesh
        Bodies are the connected parts of its inner boundary; without any, all is zero.

    Examples
    --------
    >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3], [1, 1], [2, 1], [2, 2], [1, 2]]
    >>> frame = Mesh(corners, [[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]])
    >>> around_bodies(frame)[[4, 0]].round(2).tolist()
    [[-0.71, -0.71, 1.0], [-0.2, -0.2, 0.29]]
    """
    total = np.zeros((mesh.n_nodes, mesh.dimension + 1))
    for pieces in inner_bodies(mesh):
        center, radius = _ball(mesh.points[pieces])
        offset = nearest_points(mesh.points, mesh.points, pieces) - mesh.points
        near = 1.0 / (1.0 + np.sqrt(_dot(offset, offset)) / radius)
        outward = mesh.points - center
        outward *= (near / np.maximum(np.sqrt(_dot(outward, outward)), _TINY))[:, None]
        total += np.column_stack([outward, near])
    return total


def inner_bodies(mesh: Mesh) -> list[Pieces]:
    """Return the pieces of every body, a connected part of the inner boundary of a plane or solid domain.

    Examples
    --------
    >>> inner_bodies(Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]))
    []
    """
    if max(map(cell_dimension, top_cells(mesh.cells)), default=0) < max(mesh.dimension, 2):
        return []
    try:
        return find_bodies(mesh, None).pieces
    except InputError:  # cells of no size
        return []


def _ball(corners: Array) -> tuple[Array, float]:
    """Return the center of pieces (m, k, d), and the root of the mean squared distance of their points from it."""
    edges = corners[:, 1:] - corners[:, :1]
    sizes = np.sqrt(np.maximum(np.linalg.det(edges @ edges.swapaxes(1, 2)), 0.0))
    sizes = sizes / sizes.sum()
    middles, k = corners.mean(axis=1), corners.shape[1]
    center = sizes @ middles
    # of a simplex: its middle, and a part of how its corners lie about it
    spread = _dot(corners - middles[:, None], corners - middles[:, None]).mean(axis=1) / (k + 1)
    return center, float(np.sqrt(sizes @ (_dot(middles - center, middles - center) + spread)))


def group_gaps(mesh: Mesh) -> dict[str, dict[str, float]]:
    """Return the distance of every two groups, of those that are not the whole mesh.

    It is 0 where they share a node, or where no cells lead from one to the other.

    Examples
    --------
    >>> ends = Mesh([0.0, 1.0, 4.0], {"line": [[0, 1], [1, 2]]}, groups={"a": [0], "b": [1, 2], "all": [0, 1, 2]})
    >>> group_gaps(ends)
    {'a': {'b': 1.0}, 'b': {}}
    """
    nodes = {name: one.nodes for name, one in mesh.groups.items() if 0 < len(one.nodes) < mesh.n_nodes}
    names = list(nodes)[:_MOST_GROUPS]
    if not names:
        return {}
    trees = {name: scipy.spatial.cKDTree(mesh.points[nodes[name]]) for name in names}
    part = np.full(mesh.n_nodes, -1, np.intp)
    simplices = cut_into_simplices(mesh.cells)
    part[simplices] = connected_parts(simplices, mesh.n_nodes)[:, None]

    def gap(name: str, other: str) -> float:
        joined = np.intersect1d(part[nodes[name]], part[nodes[other]])
        return float(trees[other].query(mesh.points[nodes[name]])[0].min()) if (joined >= 0).any() else 0.0

    return {name: {other: gap(name, other) for other in names[k + 1 :]} for k, name in enumerate(names)}


class CommonGroups(NamedTuple):
    """Groups that all training meshes have, and the two of them that are farthest apart."""

    names: list[str]
    pair: tuple[str, str] | None


def common_groups(gaps: Sequence[dict[str, dict[str, float]]]) -> CommonGroups:
    """Return what the groups of meshes have in common, given the :func:`group_gaps` of each.

    Examples
    --------
    >>> common_groups([{"a": {"b": 2.0, "c": 0.0}, "b": {"c": 1.0}, "c": {}}, {"a": {"b": 1.0}, "b": {}}])
    CommonGroups(names=['a', 'b'], pair=('a', 'b'))
    """
    names = [name for name in gaps[0] if all(name in one for one in gaps)]
    far = {
        (a, b): min(one[a].get(b, one[b].get(a, 0.0)) for one in gaps)
        for k, a in enumerate(names)
        for b in names[k + 1 :]
    }
    best = max(far, key=lambda pair: far[pair], default=None)
    return CommonGroups(names, None if best is None or far[best] <= 0 else best)
