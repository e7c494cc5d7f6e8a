"""Laplace's equation on linear triangles: potentials held at some nodes -> potentials everywhere, and charges."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu

from swwl.datasets.types import Floats, Ints


def laplacian(points: Floats, triangles: Ints) -> csc_array:
    """Stiffness matrix (n, n): the integrals of products of gradients of the hat functions of the nodes.

    Examples
    --------
    >>> corner = laplacian(np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([[0, 1, 2]]))
    >>> corner.toarray().tolist()
    [[1.0, -0.5, -0.5], [-0.5, 0.5, 0.0], [-0.5, 0.0, 0.5]]
    """
    corners = points[triangles]
    opposite = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)
    (ux, uy), (vx, vy) = opposite[:, 2].T, opposite[:, 1].T
    twice_area = np.abs(ux * vy - uy * vx)
    local = opposite @ opposite.transpose(0, 2, 1) / (2 * twice_area)[:, None, None]
    rows, columns = np.repeat(triangles, 3, axis=1).ravel(), np.tile(triangles, (1, 3)).ravel()
    return coo_array((local.ravel(), (rows, columns)), shape=(len(points), len(points))).tocsc()


def potential_between(points: Floats, triangles: Ints, held: Ints, values: Floats) -> tuple[Floats, Floats]:
    """Solve for the potential that is given at some nodes and harmonic in between.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    triangles : ndarray of shape (m, 3)
    held : ndarray of k node numbers
    values : ndarray of shape (k,)

    Returns
    -------
    potential : ndarray of shape (n,)
    charges : ndarray of shape (k,)
        What flows from each held node into the domain, for a permittivity of one; all of them sum to zero.

    Examples
    --------
    >>> line = np.array([[0.0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]])
    >>> triangles = np.array([[0, 1, 3], [1, 4, 3], [1, 2, 4], [2, 5, 4]])
    >>> found, charges = potential_between(line, triangles, np.array([0, 3, 2, 5]), np.array([1.0, 1, 0, 0]))
    >>> found.round(12).tolist(), float(charges[:2].sum().round(12))
    ([1.0, 0.5, 0.0, 1.0, 0.5, 0.0], 0.5)
    """
    matrix = laplacian(points, triangles)
    potential = np.zeros(len(points))
    potential[held] = values
    free = np.setdiff1d(np.arange(len(points)), held)
    inner = matrix[free][:, free].tocsc()
    potential[free] = splu(inner, permc_spec="MMD_AT_PLUS_A").solve(-(matrix[free] @ potential))
    return potential, np.asarray(matrix[held] @ potential)
