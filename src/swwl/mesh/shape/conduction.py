r"""How hard it is to get through a part from one named group to another: the resistance between them.

In the plane it is that of a slow flow between close plates whose distance is that of the walls: the conductance w at a
point is the profile of a flow along a pipe of this section,

.. math:: -\Delta w = 1, \quad w = 0 \text{ on all boundary but the two groups}, \qquad
          \nabla \cdot (w \nabla u) = 0, \quad u = 0 \text{ and } u = 1 \text{ on them}, \qquad
          R^{-1} = \int w\, |\nabla u|^2 ,

so that narrow gaps count most. On surfaces, along lines and in solids w is one: R is the electrical resistance.
Quadratic elements, where they are quick, resolve a gap of one cell: a finer mesh of the same part has nearly the same
resistance. :func:`resistance_back` is the derivative.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import cg, splu

from swwl.mesh.boundary import boundary
from swwl.mesh.cells import cut_into_simplices
from swwl.mesh.groups import chosen_groups
from swwl.mesh.mesh import Mesh

_Floats = NDArray[np.float64]
_Nodes = NDArray[np.intp]
_Mask = NDArray[np.bool_]

# Factors of plane meshes and surfaces stay sparse; those of solids do not, and take conjugate gradients from here on.
_MOST_SOLID_NODES = 4000
_MOST_NODES = 250_000
_TOLERANCE = 1e-8
# To the diagonal of stiffness, so that parts of a mesh that are held nowhere have a solution, too.
_LEAK = 1e-12
# Finer meshes and solids take linear elements.
_MOST_QUADRATIC = 8000
# What the profile of a flow has inside a linear element beyond its corners, over 1 / sum of squared slopes.
_BUBBLE = 0.2


def resistance(mesh: Mesh, first: str, second: str) -> float:
    """Return the logarithm of the resistance between two groups.

    Parameters
    ----------
    mesh : Mesh
    first, second : str
        Names or shell patterns of groups that share no node.

    Returns
    -------
    float
        About 28 where no cells lead from one to the other.

    Examples
    --------
    A current along a surface of length 2 and width 1, and a flow between the long sides of a plane strip:

    >>> strip, ends = [[0, 0], [2, 0], [2, 1], [0, 1]], {"left": [0, 3], "right": [1, 2]}
    >>> surface = Mesh(np.column_stack([strip, np.zeros(4)]), [[0, 1, 2], [0, 2, 3]], groups=ends)
    >>> round(float(np.exp(resistance(surface, "left", "right"))), 6)
    2.0
    >>> from swwl.mesh.remesh.refine import subdivided
    >>> plane = subdivided(subdivided(Mesh(strip, [[0, 1, 2], [0, 2, 3]], groups=ends)))
    >>> round(float(np.exp(resistance(plane, "left", "right"))), 1)  # 12 times as large
    24.0
    """
    return -float(np.log(_flow(mesh, first, second).conductance))


def resistance_back(mesh: Mesh, first: str, second: str) -> _Floats:
    """Return the gradient of :func:`resistance` in the points of the mesh, (n, d)."""
    flow = _flow(mesh, first, second)
    elements, size, metric = flow.elements, flow.size, flow.metric
    weights, values, slopes = elements.weights, elements.values, elements.slopes
    steep = np.einsum("qsk,ms->mqk", slopes, flow.level[elements.nodes])
    lost = np.einsum("mqj,mjk,mqk->mq", steep, metric, steep)
    in_size = (weights * flow.conducts * lost).sum(axis=1)
    in_metric = size[:, None, None] * np.einsum("mq,mqj,mqk->mjk", weights * flow.conducts, steep, steep)
    if flow.width is not None:
        in_conducts = size[:, None] * weights * lost
        if elements.is_linear:
            trace = np.einsum("mkk->m", metric)
            in_metric -= (in_conducts.sum(axis=1) * _BUBBLE / trace**2)[:, None, None] * np.eye(metric.shape[1])
        wide = flow.width[elements.nodes]
        in_width = np.einsum("mq,qs->ms", in_conducts * (wide @ values.T > 0), values)
        summed = _summed(elements, in_width)
        adjoint = _with_held(flow.plain, summed, flow.held, np.zeros(len(summed)), solid=False)[elements.nodes]
        in_size += adjoint @ (weights @ values)
        of_adjoint, of_width = (np.einsum("qsk,ms->mqk", slopes, own) for own in (adjoint, wide))
        in_size -= np.einsum("q,mqj,mjk,mqk->m", weights, of_adjoint, metric, of_width, optimize=True)
        both = np.einsum("q,mqj,mqk->mjk", weights, of_adjoint, of_width, optimize=True)
        in_metric -= size[:, None, None] * (both + both.transpose(0, 2, 1)) / 2
    scale = -1.0 / flow.conductance
    return _metric_back(mesh.points, elements.simplices, scale * in_size, scale * in_metric)


class _Elements(NamedTuple):
    """Linear or quadratic functions on simplices: values and slopes in q points, by barycentric coordinates."""

    simplices: NDArray[np.int32]  # (m, k)
    nodes: _Nodes  # (m, s), functions by number: nodes, then middles of edges
    ends: _Nodes  # (E, 2), of the edges
    n_functions: int
    values: _Floats  # (q, s)
    slopes: _Floats  # (q, s, k)
    weights: _Floats  # (q,)

    @property
    def is_linear(self) -> bool:
        """Whether there are no functions on edges."""
        return not len(self.ends)

    def among(self, nodes: _Mask) -> _Mask:
        """Return which functions belong to some nodes: an edge, if both of its ends do."""
        return np.append(nodes, nodes[self.ends].all(axis=1))

    def on(self, pieces: NDArray[np.int32]) -> _Mask:
        """Return which functions are not zero on some pieces of the boundary, (p, k - 1)."""
        found = np.zeros(self.n_functions, bool)
        found[pieces] = True
        if not self.is_linear:
            n, sides = self.n_functions - len(self.ends), np.sort(pieces.astype(np.intp), axis=1)
            found[n:] = np.isin(self.ends @ [n, 1], sides @ [n, 1])
        return found


class _Flow(NamedTuple):
    """What flows through a part from one group to another."""

    elements: _Elements
    size: _Floats  # (m,)
    metric: _Floats  # (m, k, k), products of the slopes of barycentric coordinates
    conducts: _Floats  # (m, q)
    level: _Floats  # (n_functions,)
    conductance: float
    plain: sparse.csc_array  # stiffness without conductance
    width: _Floats | None  # w, (n_functions,); None where it is one
    held: _Mask  # where w is held


def _flow(mesh: Mesh, first: str, second: str) -> _Flow:
    simplices = cut_into_simplices(mesh.cells)
    solid = simplices.shape[1] == 4
    elements = _elements(simplices, mesh.n_nodes, linear=solid or mesh.n_nodes > _MOST_QUADRATIC)
    size, metric = _sized(mesh.points, simplices)
    ones = np.ones((len(simplices), len(elements.weights)))
    plain = _assembled(elements, size, metric, ones)
    pieces = boundary(mesh.points, mesh.cells) if mesh.dimension == simplices.shape[1] - 1 else None
    start, end = (_of_group(mesh, name, elements, pieces) for name in (first, second))
    conducts, width, held = ones, None, np.zeros(elements.n_functions, bool)
    if pieces is not None and not solid:  # up to the ends of walls
        wall = ~start[pieces].all(axis=1) & ~end[pieces].all(axis=1)
        held = elements.on(pieces[wall])
    if held.any():
        share = np.broadcast_to(elements.weights @ elements.values, elements.nodes.shape)
        load = _summed(elements, size[:, None] * share)
        width = _with_held(plain, load, held, np.zeros(len(load)), solid)
        conducts = np.maximum(width[elements.nodes] @ elements.values.T, 0.0)
        if elements.is_linear:  # in a gap of one cell all nodes are held
            conducts += (_BUBBLE / np.einsum("mkk->m", metric))[:, None]
    stiff = plain if width is None else _assembled(elements, size, metric, conducts)
    level = _with_held(stiff, np.zeros(elements.n_functions), start | end, end.astype(float), solid)
    conductance = max(float(level @ (stiff @ level)), _leak(stiff))
    return _Flow(elements, size, metric, conducts, level, conductance, plain, width, held)


def _elements(simplices: NDArray[np.int32], n_nodes: int, *, linear: bool) -> _Elements:
    k = simplices.shape[1]
    if linear or k > 3:
        none, middle = np.empty((0, 2), np.intp), np.full((1, k), 1.0 / k)
        return _Elements(simplices, simplices.astype(np.intp), none, n_nodes, middle, np.eye(k)[None], np.ones(1))
    pairs = list(combinations(range(k), 2))
    sides = np.sort(np.concatenate([simplices[:, pair] for pair in pairs]).astype(np.intp), axis=1)
    keys, number = np.unique(sides[:, 0] * n_nodes + sides[:, 1], return_inverse=True)
    nodes = np.hstack([simplices, n_nodes + number.reshape(len(pairs), -1).T])
    if k == 3:
        at, weights = (np.full((3, 3), 1.0) + 3.0 * np.eye(3)) / 6.0, np.full(3, 1.0 / 3.0)
    else:
        right = (1.0 + np.array([-1.0, 1.0]) / np.sqrt(3.0)) / 2.0
        at, weights = np.column_stack([1.0 - right, right]), np.full(2, 0.5)
    products = [4.0 * at[:, i] * at[:, j] for i, j in pairs]
    values = np.column_stack([at * (2.0 * at - 1.0), *products])
    slopes = np.zeros((len(at), values.shape[1], k))
    slopes[:, range(k), range(k)] = 4.0 * at - 1.0
    for place, (i, j) in enumerate(pairs, start=k):
        slopes[:, place, i], slopes[:, place, j] = 4.0 * at[:, j], 4.0 * at[:, i]
    ends = np.column_stack([keys // n_nodes, keys % n_nodes])
    return _Elements(simplices, nodes.astype(np.intp), ends, n_nodes + len(keys), values, slopes, weights)


def _of_group(mesh: Mesh, pattern: str, elements: _Elements, pieces: NDArray[np.int32] | None) -> _Mask:
    """Return which functions belong to a group; an edge across a gap between two of its bodies does not."""
    nodes = np.zeros(mesh.n_nodes, bool)
    for group in chosen_groups(mesh.groups, pattern).values():
        nodes[group.nodes] = True
    found = elements.among(nodes)
    if pieces is not None:
        skin = elements.on(pieces)
        found &= skin | ~elements.among(skin[: mesh.n_nodes])
    return found


def _sized(points: _Floats, simplices: NDArray[np.int32]) -> tuple[_Floats, _Floats]:
    """Return the sizes of simplices (m,) and the products of the slopes of their barycentric coordinates, (m, k, k)."""
    _, size, inverse = _edge_metric(points, simplices)
    k = simplices.shape[1]
    found = np.empty((len(simplices), k, k))
    found[:, 1:, 1:] = inverse
    found[:, 0, 1:] = found[:, 1:, 0] = -inverse.sum(axis=1)
    found[:, 0, 0] = inverse.sum(axis=(1, 2))
    return size, found


def _edge_metric(points: _Floats, simplices: NDArray[np.int32]) -> tuple[_Floats, _Floats, _Floats]:
    """Return the edges from the first corner (m, k - 1, d), sizes (m,), and the inverse of the edges' products."""
    corners = points[simplices]
    edges = corners[:, 1:] - corners[:, :1]
    products = np.einsum("mid,mjd->mij", edges, edges)
    k = products.shape[1]
    size = np.sqrt(np.maximum(np.linalg.det(products), 0.0)) / float(np.prod(np.arange(1, k + 1)))
    # Flat cells would have infinite slopes.
    scale = np.maximum(np.einsum("mii->m", products) / k, np.finfo(float).tiny)
    return edges, size, np.linalg.inv(products + 1e-13 * scale[:, None, None] * np.eye(k))


def _metric_back(points: _Floats, simplices: NDArray[np.int32], in_size: _Floats, in_metric: _Floats) -> _Floats:
    """Return the gradient in the points (n, d) of what is made of :func:`_sized`."""
    edges, size, inverse = _edge_metric(points, simplices)
    inner = in_metric[:, 1:, 1:] - in_metric[:, :1, 1:] - in_metric[:, 1:, :1] + in_metric[:, :1, :1]
    in_products = 0.5 * (size * in_size)[:, None, None] * inverse - inverse @ inner @ inverse
    in_edges = 2.0 * np.einsum("mij,mjd->mid", in_products, edges)
    in_corners = np.concatenate([-in_edges.sum(axis=1, keepdims=True), in_edges], axis=1)
    return np.column_stack([
        np.bincount(simplices.ravel(), in_corners[..., axis].ravel(), len(points)) for axis in range(points.shape[1])
    ])  # fmt: skip


def _assembled(elements: _Elements, size: _Floats, metric: _Floats, conducts: _Floats) -> sparse.csc_array:
    """Return the stiffness of all functions, given the conductance in every point of every simplex, (m, q)."""
    k, s = metric.shape[1], elements.nodes.shape[1]
    # (m, k k) products by point and what they mean for pairs of functions (q, k k, s s): one product of matrices
    shapes = np.einsum("q,qsj,qtk->qjkst", elements.weights, elements.slopes, elements.slopes)
    by_point = (size[:, None] * conducts)[:, :, None] * metric.reshape(len(metric), 1, k * k)
    local = by_point.reshape(len(metric), -1) @ shapes.reshape(-1, s * s)
    rows, columns = np.repeat(elements.nodes, s, axis=1).ravel(), np.tile(elements.nodes, (1, s)).ravel()
    return sparse.csc_array((local.ravel(), (rows, columns)), shape=(elements.n_functions,) * 2)


def _summed(elements: _Elements, values: _Floats) -> _Floats:
    """Return the sums over simplices of what each has for its functions, (m, s), for every function."""
    found: _Floats = np.bincount(elements.nodes.ravel(), values.ravel(), elements.n_functions).astype(float)
    return found


def _with_held(matrix: sparse.csc_array, right: _Floats, held: _Mask, values: _Floats, solid: bool) -> _Floats:
    """Solve for all functions but those whose values are held."""
    found, free = np.where(held, values, 0.0), np.flatnonzero(~held)
    # Parts that are held nowhere, and nodes that no cell has, stay where they are.
    system = matrix[free][:, free] + sparse.diags_array(np.full(len(free), _leak(matrix)))
    found[free] = solved(system.tocsc(), (right - matrix @ found)[free, None], solid)[:, 0]
    return found


def _leak(matrix: sparse.csc_array) -> float:
    return _LEAK * (float(matrix.diagonal().max()) or 1.0)


def solved(system: sparse.csc_array, right: _Floats, solid: bool) -> _Floats:
    """Solve a symmetric positive definite system of a mesh with several right sides, (n, s).

    Parameters
    ----------
    system : sparse array of shape (n, n)
    right : ndarray of shape (n, s)
    solid : bool
        Whether the mesh fills space.

    Examples
    --------
    >>> solved(sparse.csc_array(np.diag([1.0, 2.0])), np.array([[3.0], [4.0]]), solid=False).tolist()
    [[3.0], [2.0]]
    """
    if not len(right):
        return right
    iterate = len(right) > (_MOST_SOLID_NODES if solid else _MOST_NODES)
    return _iterated(system, right) if iterate else _factorized(system, right)


def _factorized(system: sparse.csc_array, right: _Floats) -> _Floats:
    """Solve by a factor of a symmetric positive definite matrix, which needs no pivots.

    As nodes of a refined mesh are numbered, the minimum degree rule fills factors thirtyfold; it begins with neighbors
    side by side.
    """
    order = reverse_cuthill_mckee(system.tocsr(), symmetric_mode=True)
    sorted_system = system[order][:, order].tocsc()
    factor = splu(sorted_system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    found = np.empty_like(right)
    found[order] = factor.solve(np.ascontiguousarray(right[order]))
    return found


def _iterated(system: sparse.csc_array, right: _Floats) -> _Floats:
    """Solve by conjugate gradients, preconditioned by the diagonal."""
    diagonal = system.diagonal()
    inverse = sparse.diags_array(1.0 / diagonal)
    columns = [cg(system, column, x0=column / diagonal, rtol=_TOLERANCE, M=inverse, maxiter=2000)[0]
               for column in right.T]  # fmt: skip
    return np.column_stack(columns)
