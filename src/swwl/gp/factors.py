r"""The product correlation: distances, or coordinates, of every factor -> one matrix, and its gradient.

A *factor* is one correlation on one distance matrix, or a group of coordinates with one range per column:

.. math:: R_{ij} = \prod_l c_l(\beta_l D_{l,ij}) \; \prod_k e^{-\beta_k^2 (z_{ik} - z_{jk})^2} .

Everything here runs over blocks of rows small enough for the cache, and symmetric matrices are filled and
contracted on their lower triangle only. Nothing of size N x N is made apart from the arrays passed in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas

from swwl.gp.correlations import GAUSSIAN, Array, Correlation

# Elements of a block: 16 k doubles are 128 kB, so a block and its few temporaries stay in a core's cache.
_BLOCK = 1 << 14


class Coordinates:
    r"""Coordinates handed over in place of a distance matrix: one Gaussian range per column.

    Wrapping an ``(N, k)`` array stands for the product
    :math:`\prod_k \exp(-\beta_k^2 (z_{ik} - z_{jk})^2)`, without ever making ``k`` distance matrices.

    Parameters
    ----------
    values : array-like of shape (N, k)

    Examples
    --------
    >>> Coordinates([[0.0, 1.0], [2.0, 3.0]])
    Coordinates of shape (2, 2)
    """

    def __init__(self, values):
        self.values = np.ascontiguousarray(values, dtype=float)

    def __repr__(self):
        return f"Coordinates of shape {self.values.shape}"


@dataclass(frozen=True)
class Factor:
    """One factor bound to its data.

    Parameters
    ----------
    correlation : Correlation
    data : ndarray
        Distances of shape (M, N), or coordinates of shape (N, k) where ``is_coordinates``.
    is_coordinates : bool
    other : ndarray of shape (M, k) or None
        Coordinates of the rows, where they are not those of the columns.
    """

    correlation: Correlation
    data: Array
    is_coordinates: bool = False
    other: Array | None = None

    @property
    def n_ranges(self) -> int:
        """How many ranges this factor owns."""
        return self.data.shape[1] if self.is_coordinates else 1

    def subset(self, chosen: Array) -> Factor:
        """Return a training factor for some of the points."""
        data = self.data[chosen] if self.is_coordinates else self.data[np.ix_(chosen, chosen)]
        return Factor(self.correlation, data, self.is_coordinates)

    def pair_distances(self, rows: Array, columns: Array) -> Array:
        """Return the distances of chosen training pairs, shape (len(rows), n_ranges)."""
        if self.is_coordinates:
            return np.abs(self.data[rows] - self.data[columns])
        return self.data[rows, columns][:, None]

    def largest_distances(self) -> Array:
        """Return the largest training distance of each range, shape (n_ranges,)."""
        return np.ptp(self.data, axis=0) if self.is_coordinates else np.array([self.data.max()])


def range_slices(factors: Sequence[Factor]) -> list[slice]:
    """Say which entries of the vector of ranges belong to each factor."""
    ends = np.cumsum([0] + [f.n_ranges for f in factors])
    return [slice(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)]


def triangle_blocks(n: int) -> Iterator[tuple[int, int]]:
    """Yield row ranges (i0, i1) such that the block [i0:i1, :i1] fits the cache.

    Examples
    --------
    >>> list(triangle_blocks(300))
    [(0, 128), (128, 207), (207, 268), (268, 300)]
    """
    start = 0
    while start < n:
        # the largest b with b (start + b) <= _BLOCK, but a few rows at least so that products stay efficient
        rows = int((np.sqrt(start * start + 4.0 * _BLOCK) - start) / 2.0)
        stop = min(n, start + max(rows, 4))
        yield start, stop
        start = stop


def _scaled_coordinates(factors, beta) -> tuple[Array | None, Array | None]:
    """Join the coordinates of all groups, times their inverse ranges: columns' (N, k) and rows' (M, k)."""
    groups = [(f, beta[own]) for f, own in zip(factors, range_slices(factors), strict=True) if f.is_coordinates]
    if not groups:
        return None, None
    columns = np.hstack([f.data * b for f, b in groups])
    return columns, np.hstack([(f.data if f.other is None else f.other) * b for f, b in groups])


def _distance_factors(factors, beta) -> list[tuple[Factor, float]]:
    """Pair every factor that is a distance matrix with its inverse range."""
    owners = zip(factors, range_slices(factors), strict=True)
    return [(f, float(beta[own.start])) for f, own in owners if not f.is_coordinates]


def _block_correlation(owners, rows: slice, columns: slice, squares: Array | None) -> Array:
    """Return the product correlation on a block, with one exponential for all factors.

    ``owners`` is made by `_distance_factors`; ``squares`` holds the block's summed squared distances of
    scaled coordinates, and is overwritten.
    """
    exponent: Any = squares
    multiplier: Any = None
    for factor, own in owners:
        e, m = factor.correlation.parts(own * factor.data[rows, columns])
        exponent = e if exponent is None else np.add(exponent, e, out=exponent)
        if m is not None:
            multiplier = m if multiplier is None else np.multiply(multiplier, m, out=multiplier)
    value = np.exp(np.negative(exponent, out=exponent), out=exponent)
    return value if multiplier is None else np.multiply(value, multiplier, out=value)


def _squares(products: Array, left: Array, right: Array) -> Array:
    """Turn -2ab into |a - b|² = |a|² + |b|² - 2ab, never negative, in a new array."""
    out = products + left[:, None]
    out += right
    return np.maximum(out, 0.0, out=out)


def fill_correlation(factors: Sequence[Factor], beta: Array, out: Array) -> Array:
    """Fill the lower triangle of the training correlation matrix.

    Parameters
    ----------
    factors : sequence of Factor
    beta : ndarray of shape (p,)
    out : ndarray of shape (N, N), C-ordered
        Receives the lower triangle with a diagonal of exact ones; above the diagonal it is left undefined.
    """
    scaled, _ = _scaled_coordinates(factors, beta)
    owners = _distance_factors(factors, beta)
    squares = norms = None
    if scaled is not None:
        # all columns in one product, in place: a lower triangle in C order is an upper one for BLAS
        blas.dsyrk(-2.0, scaled.T, trans=1, lower=0, c=out.T, overwrite_c=1)
        norms = np.einsum("ij,ij->i", scaled, scaled)
    for i0, i1 in triangle_blocks(len(out)):
        if norms is not None:
            squares = _squares(out[i0:i1, :i1], norms[i0:i1], norms[:i1])
        out[i0:i1, :i1] = _block_correlation(owners, slice(i0, i1), slice(0, i1), squares)
    np.fill_diagonal(out, 1.0)
    return out


def cross_correlation(factors: Sequence[Factor], beta: Array, shape: tuple[int, int]) -> Array:
    """Return the full (M, N) correlation matrix between the rows and the columns of the factors."""
    m, n = shape
    out = np.empty(shape)
    right, left = _scaled_coordinates(factors, beta)
    owners = _distance_factors(factors, beta)
    squares = None
    if left is not None and right is not None:
        np.matmul(-2.0 * left, right.T, out=out)
        left2, right2 = np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right)
    step = max(1, _BLOCK // max(n, 1))
    for i0 in range(0, m, step):
        rows = slice(i0, min(m, i0 + step))
        if left is not None:
            squares = _squares(out[rows], left2[rows], right2)
        out[rows] = _block_correlation(owners, rows, slice(0, n), squares)
    return out


def contract_triangle(factors, beta: Array, correlation: Array, weights: Array) -> Array:
    r"""Return :math:`\sum_{i>j} W_{ij}\,\partial R_{ij}/\partial\log\beta_l` for every range.

    Parameters
    ----------
    factors : sequence of Factor
    beta : ndarray of shape (p,)
    correlation : ndarray of shape (N, N)
        The lower triangle made by `fill_correlation` at the same ``beta``.
    weights : ndarray of shape (N, N)
        The lower triangle of W; overwritten.

    Returns
    -------
    ndarray of shape (p,)

    Notes
    -----
    A group of coordinates needs no matrix per column. With :math:`A = W\circ R` below the diagonal and
    :math:`a_i = \sum_j A_{ij} + A_{ji}`,

    .. math:: \sum_{i>j} A_{ij}(z_{ik} - z_{jk})^2 = \sum_i a_i z_{ik}^2 - 2\sum_i z_{ik} (AZ)_{ik} .
    """
    out = np.zeros(len(beta))
    owners = list(zip(factors, range_slices(factors), strict=True))
    groups = [(f, own) for f, own in owners if f.is_coordinates]
    sums = np.zeros(len(correlation))
    for i0, i1 in triangle_blocks(len(correlation)):
        a = weights[i0:i1, :i1] * correlation[i0:i1, :i1]
        corner = a[:, i0:i1]
        corner[:] = np.tril(corner, -1)
        if groups:
            weights[i0:i1, :i1] = a
            sums[:i1] += a.sum(axis=0)
            sums[i0:i1] += a.sum(axis=1)
        for factor, own in owners:
            if not factor.is_coordinates:
                # einsum, not a BLAS dot: waking threads for one small block costs more than the block
                slope = factor.correlation.slope(beta[own] * factor.data[i0:i1, :i1])
                out[own] += np.einsum("ij,ij->", a, slope)
    if groups:
        z = np.asfortranarray(np.hstack([f.data for f, _ in groups]))
        product = blas.dtrmm(1.0, weights.T, z, lower=0, trans_a=1)
        sides = 4.0 * np.einsum("ij,ij->j", z, product) - 2.0 * (sums @ z**2)
        index = np.concatenate([np.arange(own.start, own.stop) for _, own in groups])
        out[index] = beta[index] ** 2 * sides
    return out


def multiply_derivatives(factors, beta, correlation, vectors) -> Array:
    r"""Return :math:`(\partial R/\partial\log\beta_l) V`, shape (p, N, k), for V of shape (N, k).

    Used once per fit for the uncertainty of the ranges, so it favours brevity: N x N work per range.
    """
    n, p = len(correlation), len(beta)
    out = np.zeros((p, *vectors.shape))
    for i0, i1 in triangle_blocks(n):
        for factor, own in zip(factors, range_slices(factors), strict=True):
            for k, index in enumerate(range(own.start, own.stop)):
                if factor.is_coordinates:
                    z = factor.data[:, k] * beta[index]
                    slope = GAUSSIAN.slope(z[i0:i1, None] - z[:i1])
                else:
                    slope = factor.correlation.slope(beta[own] * factor.data[i0:i1, :i1])
                slope *= correlation[i0:i1, :i1]
                slope[:, i0:i1] = np.tril(slope[:, i0:i1], -1)
                out[index, i0:i1] += slope @ vectors[:i1]
                out[index, :i1] += slope.T @ vectors[i0:i1]
    return out


def cross_derivatives(factors, beta, cross, vectors) -> Array:
    r"""Return :math:`(\partial r/\partial\log\beta_l) V`, shape (p, M, k); ``cross`` is r of shape (M, N)."""
    out = np.empty((len(beta), len(cross), vectors.shape[1]))
    for factor, own in zip(factors, range_slices(factors), strict=True):
        for k, index in enumerate(range(own.start, own.stop)):
            if factor.is_coordinates:
                left = factor.data if factor.other is None else factor.other
                slope = GAUSSIAN.slope(beta[index] * (left[:, k, None] - factor.data[:, k]))
            else:
                slope = factor.correlation.slope(beta[own] * factor.data)
            out[index] = (cross * slope) @ vectors
    return out
