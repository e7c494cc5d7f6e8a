"""Node fields from one mesh to the nodes of another, or to single places: linear within the nearest cell."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.cells import cut_into_simplices, node_normals, triangle_normals
from swwl.mesh.mesh import Mesh

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.int32]


def transfer(source: Mesh, target: Mesh) -> Mesh:
    """Carry all fields of a mesh over to another one of the same shape.

    Parameters
    ----------
    source, target : Mesh
        Plane meshes or surfaces in space. On surfaces a triangle counts only if it looks the same way as the target's
        node, so that nothing leaks through a thin body.

    Returns
    -------
    Mesh
        The target with the fields of the source, interpolated by :func:`interpolate`.

    Examples
    --------
    >>> corner = Mesh([[0.0, 0], [1, 0], [0, 1]], [[0, 1, 2]], {"T": [0.0, 1, 2]})
    >>> half = Mesh([[0.0, 0], [0.5, 0], [0, 0.5]], [[0, 1, 2]])
    >>> transfer(corner, half).fields["T"]
    array([0. , 0.5, 1. ])
    """
    if source.dimension != target.dimension:
        raise InputError(f"One mesh has {source.dimension} coordinates, the other {target.dimension}.")
    triangles, own = source.triangles(), target.triangles()
    if not len(triangles):
        raise InputError("Fields are interpolated in triangles and quadrilaterals, but the mesh has none.")
    normals = node_normals(target.points, own) if target.dimension == 3 and len(own) else None
    return target.with_fields(interpolate(source.points, triangles, source.fields, target.points, normals))


def interpolate(
    points: _Floats,
    triangles: _Nodes,
    fields: Mapping[str, AnyArray],
    targets: _Floats,
    normals: _Floats | None = None,
) -> dict[str, _Floats]:
    """Interpolate fields of a triangle mesh at new places.

    Parameters
    ----------
    points : ndarray of shape (n, d), d = 2 or 3
    triangles : ndarray of shape (m, 3)
    fields : mapping of str to ndarray of shape (n,) or (n, k)
    targets : ndarray of shape (r, d)
        A target outside the mesh gets the value of the nearest point of it, found by walking from the nearest node.
    normals : ndarray of shape (r, 3), optional
        Of a surface, at the targets: triangles that look the other way are left out where there are others, so
        that nothing leaks through a thin body.

    Returns
    -------
    dict of str to ndarray of shape (r,) or (r, k)

    Examples
    --------
    >>> corner = np.array([[0.0, 0], [1, 0], [0, 1]])
    >>> interpolate(corner, np.array([[0, 1, 2]]), {"T": np.array([0.0, 1, 2])}, np.array([[0.25, 0.5]]))
    {'T': array([1.25])}
    """
    if not fields:
        return {}
    around = _around(len(points), triangles)
    looks = None if normals is None else triangle_normals(points, triangles)
    start = _start(points, triangles, targets, looks, normals)
    triangle, share, distance = _best(points, triangles, around[start], targets, looks, normals)
    # The nearest node need not belong to the nearest triangle, above all in thin cells: walk towards it.
    walking = np.flatnonzero(distance > 0)
    while len(walking):
        candidates = around[triangles[triangle[walking]]].reshape(len(walking), -1)
        facing = None if normals is None else normals[walking]
        step = _best(points, triangles, candidates, targets[walking], looks, facing)
        nearer = step[2] < distance[walking] * (1 - 1e-9)
        walking = walking[nearer]
        for old, new in zip((triangle, share, distance), step, strict=True):
            old[walking] = new[nearer]
    nodes = triangles[triangle]
    return {name: np.einsum("rc,rc...->r...", share, np.asarray(field, float)[nodes]) for name, field in fields.items()}


class Places(NamedTuple):
    """Where places lie in a mesh.

    Attributes
    ----------
    nodes : ndarray of shape (r, k)
        Corners of the nearest line (k = 2), triangle (3) or tetrahedron (4), into which cells are cut.
    weights : ndarray of shape (r, k)
        What each of them counts in a linear interpolation at the nearest point of it; sums are 1.
    distance : ndarray of shape (r,)
        From there; zero inside the mesh.
    """

    nodes: _Nodes
    weights: _Floats
    distance: _Floats


def places_in(mesh: Mesh, targets: _Floats) -> Places:
    """Find the cells that hold places, or the nearest ones; made for few places, which each take a look at all cells.

    Parameters
    ----------
    mesh : Mesh
        With cells; those of the highest dimension count, by their corners.
    targets : ndarray of shape (r, d)

    Examples
    --------
    >>> corner = Mesh([[0.0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
    >>> found = places_in(corner, np.array([[0.25, 0.5], [0.5, -2.0]]))
    >>> found.weights.tolist(), found.distance.tolist()
    ([[0.25, 0.25, 0.5], [0.5, 0.5, 0.0]], [0.0, 2.0])
    """
    simplices = cut_into_simplices(mesh.cells)
    if not len(simplices):
        raise InputError("Fields are interpolated in cells, but the mesh has none.")
    points = mesh.points
    lowest, highest = points[simplices[:, 0]], points[simplices[:, 0]]
    for node in simplices.T[1:]:
        lowest, highest = np.minimum(lowest, points[node]), np.maximum(highest, points[node])
    # No cell is nearest whose box is farther away than the nearest node.
    corners = np.unique(simplices)
    reach = scipy.spatial.cKDTree(points[corners]).query(targets)[0]
    chosen, weights, distance = [], [], []
    for target, radius in zip(targets, reach * (1 + 1e-9), strict=True):
        near = np.flatnonzero(((lowest <= target + radius) & (highest >= target - radius)).all(axis=1))
        share, squared = _nearest_in_simplex(points[simplices[near]], target)
        best = int(squared.argmin())
        chosen.append(simplices[near[best]])
        weights.append(share[best])
        distance.append(np.sqrt(squared[best]))
    shape = -1, simplices.shape[1]
    return Places(np.reshape(chosen, shape).astype(np.int32), np.reshape(weights, shape), np.array(distance))


def _nearest_in_simplex(corners: _Floats, target: _Floats) -> tuple[_Floats, _Floats]:
    """Weights (m, k) of the nearest points of lines, triangles or tetrahedra (m, k, d), and squared distances (m,)."""
    k = corners.shape[1]
    if k == 2:
        share = _along(corners[:, 0], corners[:, 1], target)
        weights = np.stack([1 - share, share], axis=1)
        return weights, ((np.einsum("mc,mcd->md", weights, corners) - target) ** 2).sum(axis=1)
    if k == 3:
        return _nearest_in_triangle(corners, target)
    weights, squared = np.zeros((len(corners), 4)), np.full(len(corners), np.inf)
    for face in combinations(range(4), 3):
        own, apart = _nearest_in_triangle(corners[:, face], target)
        nearer = np.flatnonzero(apart < squared)
        weights[nearer] = 0.0
        weights[nearer[:, None], face] = own[nearer]
        squared[nearer] = apart[nearer]
    u, v, w = (corners[:, j] - corners[:, 0] for j in (1, 2, 3))
    volume = np.einsum("md,md->m", u, np.cross(v, w))
    proper = np.where(volume == 0, 1.0, volume)
    inner = [
        np.einsum("md,md->m", target - corners[:, 0], np.cross(a, b)) / proper for a, b in ((v, w), (w, u), (u, v))
    ]
    found = np.stack([1 - sum(inner), *inner], axis=1)
    inside = (found >= 0).all(axis=1) & (volume != 0)
    weights[inside], squared[inside] = found[inside], 0.0
    return weights, squared


def _along(start: _Floats, end: _Floats, target: _Floats) -> _Floats:
    """Return where between start (0) and end (1) the nearest points of lines (..., d) lie."""
    along = end - start
    length = np.maximum((along * along).sum(-1), np.finfo(float).tiny)
    return np.asarray(np.clip(((target - start) * along).sum(-1) / length, 0, 1))


def _start(
    points: _Floats,
    triangles: _Nodes,
    targets: _Floats,
    looks: _Floats | None,
    normals: _Floats | None,
) -> _Nodes:
    """Find the nearest corner to every target; on a surface, one that looks the same way, if near enough."""
    corners: _Nodes = np.unique(triangles)
    if looks is None or normals is None:
        return np.asarray(corners[scipy.spatial.cKDTree(points[corners]).query(targets)[1]])
    reach = 3 * np.sqrt(np.linalg.norm(looks, axis=1).mean())  # some edges: a turned node counts as that far away
    known = np.hstack([points, reach * node_normals(points, triangles)])[corners]
    return np.asarray(corners[scipy.spatial.cKDTree(known).query(np.hstack([targets, reach * normals]))[1]])


def _best(
    points: _Floats,
    triangles: _Nodes,
    candidates: NDArray[np.int64],
    targets: _Floats,
    looks: _Floats | None,
    normals: _Floats | None,
) -> tuple[NDArray[np.int64], _Floats, _Floats]:
    """Return the candidate nearest to every target, the weights of its corners and the squared distance."""
    weights, distance = _nearest_in_triangle(points[triangles[candidates]], targets[:, None])
    if looks is not None and normals is not None:
        turned = (looks[candidates] * normals[:, None]).sum(-1) < 0
        distance[turned] += (np.ptp(points, axis=0) ** 2).sum()
    distance[candidates < 0] = np.inf
    rows, best = np.arange(len(targets)), distance.argmin(1)
    return candidates[rows, best], weights[rows, best], distance[rows, best]


def _around(n_points: int, triangles: _Nodes) -> NDArray[np.int64]:
    """Triangles at every node, (n, most), filled up with -1."""
    order = np.argsort(triangles, axis=None, kind="stable")
    node = triangles.ravel()[order]
    position = np.arange(len(node)) - np.searchsorted(node, node)
    table = np.full((n_points, position.max() + 1), -1)
    table[node, position] = order // 3
    return table


def _nearest_in_triangle(corners: _Floats, target: _Floats) -> tuple[_Floats, _Floats]:
    """Barycentric weights (..., 3) of the nearest point of each triangle, and its squared distance (...)."""
    a, b, c = (corners[..., k, :] for k in range(3))
    u, v, w = b - a, c - a, target - a
    uu, uv, vv = (u * u).sum(-1), (u * v).sum(-1), (v * v).sum(-1)
    wu, wv = (w * u).sum(-1), (w * v).sum(-1)
    area = np.maximum(uu * vv - uv * uv, np.finfo(float).tiny)
    s, t = (vv * wu - uv * wv) / area, (uu * wv - uv * wu) / area
    options = [np.stack([1 - s - t, s, t], -1)]
    inside = (options[0] >= 0).all(-1)
    for start, end in ((a, b), (b, c), (c, a)):
        r = _along(start, end, target)
        k = len(options) - 1
        share = np.zeros((*r.shape, 3))
        share[..., k], share[..., (k + 1) % 3] = 1 - r, r
        options.append(share)
    weights = np.stack(options)
    squared = ((np.einsum("o...c,...cd->o...d", weights, corners) - target) ** 2).sum(-1)
    squared[0][~inside] = np.inf
    best = squared.argmin(0)
    return np.take_along_axis(weights, best[None, ..., None], 0)[0], np.take_along_axis(squared, best[None], 0)[0]
