r"""Smooth functions of node descriptors, shared by all meshes: whitened Nyström features of a Matérn correlation.

.. math:: \Phi(x) = k(x, C)\,L^{-\top}, \qquad L L^\top = k(C, C) + 10^{-7} I,

with centers C among the training nodes, so that :math:`\Phi\Phi^\top \approx k`. Where the last descriptor is a
factor f, the functions are :math:`(\Phi, f \Phi)`. A mesh enters what follows only by its Gram matrix
:math:`g = \Phi^\top W \Phi` and its load :math:`h = \Phi^\top W y`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus

Array = NDArray[np.float64]

CHUNK = 2048  # nodes by 300 functions: few enough to stay near the processor
_MOST_TO_CHOOSE_FROM = 6000
_JITTER = 1e-7


@dataclass(frozen=True)
class Basis:
    """Smooth functions of descriptors.

    Attributes
    ----------
    centers : ndarray of shape (C, D)
    range : float
    whitening : ndarray of shape (C, C)
    factors : int
        How many descriptors after the first D are factors: all functions come again times each of them.
    """

    centers: Array
    range: float
    whitening: Array
    factors: int = 0

    @classmethod
    def of(cls, centers: Array, length: float, factors: int = 0) -> Basis:
        """Make the basis of given centers.

        Examples
        --------
        >>> basis = Basis.of(np.array([[0.0], [1.0]]), 0.5)
        >>> phi = basis(np.array([[0.0]]))
        >>> bool(abs((phi @ phi.T)[0, 0] - 1) < 1e-6)
        True
        """
        among = _correlation(centers, centers, length)
        factor = np.linalg.cholesky(among + _JITTER * np.eye(len(centers)))
        whitening = solve_triangular(factor, np.eye(len(centers)), lower=True).T
        return cls(centers, length, np.ascontiguousarray(whitening), factors)

    @property
    def size(self) -> int:
        """Number of functions, M."""
        return len(self.centers) * (1 + self.factors)

    def __call__(self, descriptors: Array) -> Array:
        """Return the functions at nodes, (n, M)."""
        width = self.centers.shape[1]
        phi = np.asarray(_correlation(descriptors[:, :width], self.centers, self.range) @ self.whitening)
        if not self.factors:
            return phi
        return np.hstack([phi, *(phi * factor[:, None] for factor in descriptors[:, width:].T)])

    def places(self, descriptors: Array) -> NDArray[np.intp]:
        """Return the nearest center of every node, (n,)."""
        return np.asarray(cKDTree(self.centers).query(descriptors[:, : self.centers.shape[1]])[1])


def _correlation(first: Array, second: Array, length: float) -> Array:
    r = cdist(first, second)
    r *= np.sqrt(5.0) / length
    found = r * r
    found /= 3.0
    found += r
    found += 1.0
    np.negative(r, out=r)
    found *= np.exp(r, out=r)
    return np.asarray(found)


def choose_centers(pools: Sequence[Array], size: int, seed: int = 0) -> Array:
    """Choose centers among the descriptors of training nodes, by k-means++ on some of them.

    Parameters
    ----------
    pools : sequence of ndarray of shape (n, D)
    size : int
        As many, or as many as there are different nodes.
    seed : int

    Examples
    --------
    >>> choose_centers([np.zeros((5, 2)), np.ones((5, 2))], 4).shape
    (2, 2)
    """
    rng = np.random.default_rng(seed)
    share = max(1, -(-_MOST_TO_CHOOSE_FROM // len(pools)))
    some = [pool[rng.permutation(len(pool))[:share]] for pool in pools]
    pool = np.unique(np.concatenate(some).round(12), axis=0)
    pool = pool[rng.permutation(len(pool))[:_MOST_TO_CHOOSE_FROM]]
    if len(pool) <= size:
        return pool
    return np.asarray(kmeans_plusplus(pool, size, random_state=seed, n_local_trials=1)[0])


def chunks(n: int) -> Iterator[slice]:
    """Yield slices of a few thousand nodes."""
    for start in range(0, n, CHUNK):
        yield slice(start, min(start + CHUNK, n))


def gram(basis: Basis, descriptors: Array, weights: Array, values: Array) -> tuple[Array, Array]:
    """Return Gram matrix and load of one mesh, a few thousand nodes at a time.

    Parameters
    ----------
    basis : Basis
    descriptors : ndarray of shape (n, D)
    weights : ndarray of shape (n,)
    values : ndarray of shape (n, c)

    Returns
    -------
    g : ndarray of shape (M, M)
    h : ndarray of shape (c, M)
    """
    g, h = np.zeros((basis.size, basis.size)), np.zeros((values.shape[1], basis.size))
    for part in chunks(len(descriptors)):
        phi = basis(descriptors[part])
        weighed = phi * weights[part, None]
        g += weighed.T @ phi
        h += values[part].T @ weighed
    return g, h


def pack(g: Array) -> Array:
    """Return the upper triangle of a symmetric matrix, (M (M + 1) / 2,)."""
    return np.asarray(g.take(_triangle(len(g))[0]))


def unpack(packed: Array, size: int) -> Array:
    """Return the symmetric matrix of its upper triangle.

    Examples
    --------
    >>> unpack(pack(np.array([[1.0, 2.0], [2.0, 5.0]])), 2).tolist()
    [[1.0, 2.0], [2.0, 5.0]]
    """
    return np.asarray(packed.take(_triangle(size)[1]))


@lru_cache(maxsize=4)
def _triangle(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where the entries of the upper triangle lie in a matrix, and where in it those of the matrix lie."""
    rows, columns = np.triu_indices(size)
    places = np.empty((size, size), np.intp)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return rows * size + columns, places
