r"""Linear finite elements on lines, triangles and tetrahedra: stiffness, lumped mass, and lags of functions.

A lag says where diffusion over a length takes the value of a node: a difference to its neighborhood that does not
depend on how fine the mesh is, as the iterations of Weisfeiler-Lehman do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import SuperLU, cg, splu

from swwl.mesh.adjacency import cells_adjacency
from swwl.mesh.cells import cut_into_simplices
from swwl.mesh.mesh import Mesh

Array = NDArray[np.float64]

# Factors of plane meshes and surfaces stay sparse; those of solids do not, and take conjugate gradients from here on.
_MOST_SOLID_NODES = 4000
_MOST_NODES = 250_000
_TOLERANCE = 1e-8


def stiffness(points: Array, simplices: NDArray[np.integer]) -> tuple[sparse.csc_array, Array]:
    r"""Assemble :math:`K_{ab} = \int \nabla\varphi_a\cdot\nabla\varphi_b` and the lumped mass of linear elements.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    simplices : ndarray of shape (m, k)
        Lines (k = 2), triangles or tetrahedra, in any dimension.

    Returns
    -------
    K : sparse array of shape (n, n)
    M : ndarray of shape (n,)
        Sums to the length, area or volume.

    Examples
    --------
    >>> K, M = stiffness(np.array([[0.0], [2.0]]), np.array([[0, 1]]))
    >>> K.toarray().round(6).tolist(), M.tolist()
    ([[0.5, -0.5], [-0.5, 0.5]], [1.0, 1.0])
    """
    n, k = len(points), simplices.shape[1]
    corners = points[simplices]
    edges = corners[:, 1:] - corners[:, :1]
    metric = np.einsum("mid,mjd->mij", edges, edges)
    # Flat cells would have infinite gradients.
    scale = np.maximum(np.einsum("mii->m", metric) / (k - 1), np.finfo(float).tiny)
    sizes = np.sqrt(np.maximum(np.linalg.det(metric), 0.0)) / float(np.prod(np.arange(1, k)))
    inverse = np.linalg.inv(metric + 1e-13 * scale[:, None, None] * np.eye(k - 1))
    slopes = np.vstack([-np.ones(k - 1), np.eye(k - 1)])
    local = np.einsum("ai,mij,bj,m->mab", slopes, inverse, slopes, sizes, optimize=True)
    rows, columns = np.repeat(simplices, k, axis=1).ravel(), np.tile(simplices, (1, k)).ravel()
    matrix = sparse.csc_array((local.ravel(), (rows, columns)), shape=(n, n))
    return matrix, np.asarray(np.bincount(simplices.ravel(), np.repeat(sizes / k, k), n), dtype=float)


def lags(mesh: Mesh, lengths: Sequence[float], values: Array | None = None) -> list[Array]:
    r"""Return :math:`(I + \tau^2 M^{-1} K)^{-1} x - x` for every length :math:`\tau`.

    On a surface that is about the normal times the curvature; in a domain, the direction to the boundary and how near
    it is.

    Parameters
    ----------
    mesh : Mesh
    lengths : sequence of float
    values : ndarray of shape (n, s), optional
        What is carried; by default the coordinates.

    Returns
    -------
    list of ndarray of shape (n, s)
        Zero at nodes that hang together with no others.

    Examples
    --------
    >>> line = Mesh(np.linspace(0, 1, 101)[:, None], np.column_stack([np.arange(100), np.arange(1, 101)]))
    >>> lag = lags(line, [0.1])[0]
    >>> bool(abs(lag[50, 0]) < 1e-6), lag[0, 0].round(3).tolist()  # inward at the ends, by tau
    (True, 0.1)
    """
    values = mesh.points if values is None else values
    simplices = cut_into_simplices(mesh.cells)
    if not len(simplices):
        return [np.zeros_like(values) for _ in lengths]
    matrix, mass = stiffness(mesh.points, simplices)
    touched = mass > 0
    mass = np.maximum(mass, 1e-12 * mass[touched].mean() if touched.any() else 1.0)
    centered = values - values.mean(axis=0)
    solid = simplices.shape[1] == 4
    found = []
    for length in lengths:
        system = (sparse.diags_array(mass) + length**2 * matrix).tocsc()
        iterate = len(mass) > (_MOST_SOLID_NODES if solid else _MOST_NODES)
        right = mass[:, None] * centered
        found.append((_iterate(system, right) if iterate else _factor(system).solve(right)) - centered)
    return [_on_sides(mesh, lag, touched) for lag in found]


def _factor(system: sparse.csc_array) -> SuperLU:
    """Factorize a symmetric positive definite matrix, which needs no pivots."""
    return splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


def _iterate(system: sparse.csc_array, right: Array) -> Array:
    """Solve by conjugate gradients, preconditioned by the diagonal."""
    diagonal = system.diagonal()
    inverse = sparse.diags_array(1.0 / diagonal)
    columns = [cg(system, column, x0=column / diagonal, rtol=_TOLERANCE, M=inverse, maxiter=2000)[0]
               for column in right.T]  # fmt: skip
    return np.column_stack(columns)


def _on_sides(mesh: Mesh, lag: Array, touched: NDArray[np.bool_]) -> Array:
    """Give nodes on the sides and inside of cells, which linear elements do not know, the mean of their neighbors."""
    if touched.all():
        return lag
    lag[~touched] = 0.0
    adjacency = cells_adjacency(mesh.cells, mesh.n_nodes)
    known = touched.astype(float)
    for _ in range(3):  # nodes inside of cells have neighbors on sides, which have corners
        count = adjacency @ known
        new = (known == 0) & (count > 0)
        if not new.any():
            break
        lag[new] = (adjacency[new] @ lag) / count[new, None]
        known[new] = 1.0
    return lag
