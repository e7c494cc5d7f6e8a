r"""What a moved shape must keep, each with its gradient in the nodes: volume, sound cells and thickness.

Cells and walls are many; the least of their numbers :math:`r_i` is replaced by a smooth one that is never larger,
:math:`-\frac1\rho \log \sum_i e^{-\rho r_i}` (Kreisselmeier and Steinhauser 1979).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from scipy.special import logsumexp

from swwl.errors import InputError
from swwl.mesh.cells import cut_into_simplices
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.skin import Skin, skin

Array = NDArray[np.float64]
Nodes = NDArray[np.integer]

# Of cells, and of walls, which must come closer to what they are compared with.
_SHARPNESS, _SHARPER = 50.0, 500.0
# Cells that are smaller than this share of the usual have no shape to lose.
_NO_SIZE = 1e-12
# Walls are looked for among so many of the nearest nodes; normals are opposite, and along the line between both sides,
# from these cosines on.
_NEIGHBORS, _OPPOSITE, _ALONG = 64, 0.5, 0.8


def lowest(values: Array, sharpness: float = _SHARPNESS) -> tuple[float, Array]:
    r"""Return a smooth number below the least of values (m,), by at most :math:`\log(m) / \rho`, and its gradient (m,).

    Examples
    --------
    >>> lowest(np.array([0.5, 3.0]))[0]
    0.5
    """
    weighted = -sharpness * values
    total = float(logsumexp(weighted))
    return -total / sharpness, np.exp(weighted - total)


class CellRatios:
    r"""How much of every cell of a mesh is left once its nodes have moved: at rest 1, and negative if it is inverted.

    With the edges :math:`A_0` of a simplex at rest and A of the moved one, :math:`\det(A_0^+ A)`: the ratio of sizes;
    of cells in a space of a higher dimension, the ratio for what of them lies along the cell at rest.

    Parameters
    ----------
    mesh : Mesh
        At rest.

    Examples
    --------
    >>> mesh = Mesh([[0.0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
    >>> cells = CellRatios(mesh)
    >>> cells.ratios(np.array([[0.0, 0], [1, 0], [0, -0.5]])).tolist()
    [-0.5]
    """

    def __init__(self, mesh: Mesh):
        simplices = cut_into_simplices(mesh.cells)
        edges = _edges(mesh.points, simplices)
        gram = np.einsum("mdk,mdl->mkl", edges, edges)
        size = np.sqrt(np.maximum(np.linalg.det(gram), 0.0))
        proper = size > _NO_SIZE * float(np.median(size)) if len(size) else np.zeros(0, bool)
        self._simplices = simplices[proper]
        self._inverse = np.linalg.pinv(edges[proper]) if proper.any() else np.zeros((0, 1, mesh.dimension))

    def ratios(self, points: Array) -> Array:
        """Return what is left of every cell, (m,)."""
        return np.asarray(np.linalg.det(self._inverse @ _edges(points, self._simplices)))

    def lowest(self, points: Array) -> tuple[float, Array]:
        """Return a smooth number below the least of them, and its gradient in the points, (n, d)."""
        if not len(self._simplices):
            return 1.0, np.zeros_like(points)
        within = self._inverse @ _edges(points, self._simplices)
        value, weights = lowest(np.asarray(np.linalg.det(within)))
        of_edges = np.swapaxes(self._inverse, 1, 2) @ _cofactors(within) * weights[:, None, None]
        gradient = np.zeros_like(points)
        for k in range(of_edges.shape[2]):
            np.add.at(gradient, self._simplices[:, k + 1], of_edges[:, :, k])
            np.add.at(gradient, self._simplices[:, 0], -of_edges[:, :, k])
        return value, gradient


class Volume:
    """The volume, or in the plane the area, that the moving parts of a skin enclose.

    Of a solid that is the volume of its cells; of a flow around bodies whose outer border rests, that of the bodies
    that move. A surface in space, or a line in the plane, that is open is closed by flat lids.

    Parameters
    ----------
    mesh : Mesh
        With a skin.
    moving : ndarray of shape (n,), bool
        Which of its nodes may move.

    Attributes
    ----------
    sign : float
        1 where normals of the skin point away from what is enclosed, -1 where they point into it.

    Examples
    --------
    >>> mesh = Mesh([[0.0, 0], [2, 0], [2, 2], [0, 2]], [[0, 1, 2], [0, 2, 3]])
    >>> value, gradient = Volume(mesh, np.ones(4, bool)).value(mesh.points)
    >>> value, gradient[2].tolist()
    (4.0, [1.0, 1.0])
    """

    def __init__(self, mesh: Mesh, moving: NDArray[np.bool_]):
        found, own = _moving_skin(mesh, moving)
        if not found.oriented:
            raise InputError(
                f"Inside and outside of the skin cannot be distinguished, so it has no volume: {found.reason}."
            )
        self._pieces, self._loops = _closed(found.pieces[own], mesh.n_nodes)
        self.sign = 1.0
        value = self.value(mesh.points)[0]
        if not abs(value) > 0:
            raise InputError("The skin encloses no volume.")
        self.sign = float(np.sign(value))

    def value(self, points: Array) -> tuple[float, Array]:
        """Return the volume, and its gradient in the points, (n, d)."""
        d = points.shape[1]
        center = points.mean(axis=0)
        middles = [points[loop].mean(axis=0) for loop in self._loops]
        corners = np.vstack([points, *middles])[self._pieces] - center
        gradient = np.zeros((len(points) + len(middles), d))
        for k in range(d):
            others = [corners[:, (k + j) % d] for j in range(1, d)]
            vector = np.cross(*others) if d == 3 else (1 - 2 * k) * others[0][:, ::-1] * [1, -1]
            np.add.at(gradient, self._pieces[:, k], self.sign * vector / (6 if d == 3 else 2))
        total = gradient[: len(points)]
        for loop, own in zip(self._loops, gradient[len(points) :], strict=True):
            total[loop] += own / len(loop)
        volume = self.sign * float(np.linalg.det(corners).sum()) / (6 if d == 3 else 2)
        return volume, total


class Walls:
    """How much of the thickness of every wall is left: the distance of opposite nodes of the skin over that at rest.

    Nodes are opposite where their normals are, and lie along the line through what is enclosed between both; the
    nearest is taken.

    Parameters
    ----------
    mesh, moving
        See :class:`Volume`.

    Examples
    --------
    >>> mesh = Mesh([[0.0, 0], [2, 0], [2, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]})
    >>> walls = Walls(mesh, np.ones(4, bool))
    >>> walls.ratios(mesh.points * [1, 0.5]).round(6).tolist()
    [0.5, 0.5]
    """

    def __init__(self, mesh: Mesh, moving: NDArray[np.bool_]):
        sign = Volume(mesh, moving).sign
        found, own = _moving_skin(mesh, moving)
        normals = np.zeros_like(mesh.points)
        for k in range(mesh.dimension):
            np.add.at(normals, found.pieces[own, k], sign * found.normals[own] * found.masses[own, None])
        nodes = np.flatnonzero(np.linalg.norm(normals, axis=1) > 0)
        normals = normals[nodes] / np.linalg.norm(normals[nodes], axis=1)[:, None]
        places = mesh.points[nodes]
        pairs = _opposite(places, normals)
        if not len(pairs):
            raise InputError("The mesh has no walls: no two nodes of its skin are opposite.")
        self._first, self._second = nodes[pairs].T
        self._start = np.linalg.norm(mesh.points[self._first] - mesh.points[self._second], axis=1)

    def ratios(self, points: Array) -> Array:
        """Return what is left of the thickness of every wall, (m,)."""
        return np.asarray(np.linalg.norm(points[self._first] - points[self._second], axis=1) / self._start)

    def lowest(self, points: Array) -> tuple[float, Array]:
        """Return a smooth number below the least of them, and its gradient in the points, (n, d)."""
        ratios = self.ratios(points)
        value, weights = lowest(ratios, _SHARPER)
        across = points[self._first] - points[self._second]
        slope = across * (weights / np.maximum(ratios, np.finfo(float).tiny) / self._start**2)[:, None]
        gradient = np.zeros_like(points)
        np.add.at(gradient, self._first, slope)
        np.add.at(gradient, self._second, -slope)
        return value, gradient


def _moving_skin(mesh: Mesh, moving: NDArray[np.bool_]) -> tuple[Skin, NDArray[np.bool_]]:
    """Return the skin of a mesh, and which of its pieces belong to parts with a node that may move."""
    found = skin(mesh)
    own = np.isin(found.parts, found.parts[moving[found.pieces].any(axis=1)])
    if not own.any():
        raise InputError("No part of the skin moves, so there is no volume to keep.")
    return found, own


def _edges(points: Array, simplices: Nodes) -> Array:
    """Return the edges of simplices from their first corners as columns, (m, d, k)."""
    corners = points[simplices]
    return np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)


def _cofactors(matrices: Array) -> Array:
    """Return the derivatives of determinants in the entries of matrices (m, k, k), k up to 3."""
    k = matrices.shape[1]
    if k == 1:
        return np.ones_like(matrices)
    if k == 2:
        return matrices[:, ::-1, ::-1] * [[1, -1], [-1, 1]]
    rows = [np.cross(matrices[:, (i + 1) % 3], matrices[:, (i + 2) % 3]) for i in range(3)]
    return np.stack(rows, axis=1)


class _Lid(NamedTuple):
    pieces: Nodes  # with numbers from n on for the middles of loops
    loops: list[Nodes]


def _closed(pieces: Nodes, n: int) -> _Lid:
    """Close a skin: join the ends of open lines, and the borders of open surfaces to their middles."""
    if pieces.shape[1] == 2:
        ends = np.bincount(pieces[:, 1], minlength=n) - np.bincount(pieces[:, 0], minlength=n)
        first, last = np.flatnonzero(ends > 0), np.flatnonzero(ends < 0)
        if len(first) > 1:
            raise InputError(f"The skin is open in {len(first)} places, so it encloses no volume.")
        return _Lid(np.vstack([pieces, np.column_stack([first, last])]), [])
    sides = np.vstack([pieces[:, [0, 1]], pieces[:, [1, 2]], pieces[:, [2, 0]]]).astype(np.int64)
    keys = sides.min(axis=1) * n + sides.max(axis=1)
    _, where, counts = np.unique(keys, return_inverse=True, return_counts=True)
    border = sides[counts[where] == 1]
    if not len(border):
        return _Lid(pieces, [])
    matrix = coo_array((np.ones(len(border)), (border[:, 0], border[:, 1])), shape=(n, n))
    label = connected_components(matrix, directed=False)[1][border[:, 0]]
    names, own = np.unique(label, return_inverse=True)
    loops = [np.unique(border[own == k]) for k in range(len(names))]
    return _Lid(np.vstack([pieces, np.column_stack([border[:, ::-1], n + own])]), loops)


def _opposite(places: Array, normals: Array) -> Nodes:
    """Return pairs (m, 2) of nodes on opposite sides of walls, each once."""
    distances, near = KDTree(places).query(places, k=min(_NEIGHBORS, len(places)))
    across = places[near] - places[:, None]
    lengths = np.where(distances > 0, distances, np.inf)
    facing = np.einsum("nkd,nd->nk", normals[near], normals) < -_OPPOSITE
    along = np.einsum("nkd,nd->nk", across, normals) < -_ALONG * lengths
    fits = facing & along & np.isfinite(lengths)
    found = np.flatnonzero(fits.any(axis=1))
    pairs = np.column_stack([found, near[found, fits[found].argmax(axis=1)]])  # the nearest comes first
    return np.unique(np.sort(pairs, axis=1), axis=0)
