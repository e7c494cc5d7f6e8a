"""LAPACK on lower triangles: factorize once, solve many times, in place where that saves an N x N array.

All matrices are C-ordered with the lower triangle filled, which is a Fortran-ordered upper one, so LAPACK needs no
copy of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from swwl.errors import InputError
from swwl.gp.correlations import Array
from swwl.gp.factors import triangle_blocks
from swwl.gp.solvers.base import NotPositiveDefinite
from swwl.storage.checks import Sizes


@dataclass(frozen=True)
class Solution:
    r"""What generalized least squares gives at fixed ranges and nugget.

    Attributes
    ----------
    log_det : float
        :math:`\log|R|`.
    theta : ndarray of shape (q, k)
    alpha : ndarray of shape (N, k)
        :math:`R^{-1}(y - H\theta) = Qy`.
    s2 : ndarray of shape (k,)
        :math:`S_j^2`.
    trend_solve : ndarray of shape (N, q)
        :math:`G = R^{-1}H A^{-\top}` with :math:`AA^\top = H^\top R^{-1}H`, so that
        :math:`Q = R^{-1} - GG^\top`.
    trend_factor : ndarray of shape (q, q)
        Lower triangle :math:`A`.
    """

    log_det: float
    theta: Array
    alpha: Array
    s2: Array
    trend_solve: Array
    trend_factor: Array


def factorize(matrix: Array) -> None:
    """Replace the lower triangle of a C-ordered matrix by its Cholesky factor, in place.

    Raises
    ------
    NotPositiveDefinite
        The matrix is destroyed then.
    """
    if not len(matrix):
        return
    info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)[1]
    if info:
        raise NotPositiveDefinite(f"The leading minor of order {info} is not positive definite.")


def invert(factor: Array) -> None:
    """Replace a factor made by `factorize` by the lower triangle of the inverse matrix, in place."""
    lapack.dpotri(factor.T, lower=0, overwrite_c=1)


def solve(factor: Array, right: Array) -> Array:
    """Return the solution X of R X = B from R's factor, B of shape (N, m)."""
    if right.size == 0:
        return right.copy()
    solution: Array = lapack.dpotrs(factor.T, np.asfortranarray(right), lower=0)[0]
    return solution


def half_solve(factor: Array, right: Array) -> Array:
    """Return the solution X of L X = B for the lower triangular L, B of shape (N, m)."""
    if right.size == 0:
        return right.copy()
    solution: Array = lapack.dtrtrs(factor.T, np.asfortranarray(right), lower=0, trans=1)[0]
    return solution


def square_root(matrix: Array) -> Array:
    """Return B with B Bᵀ = matrix; singular matrices are allowed."""
    root = np.ascontiguousarray(matrix, dtype=float).copy()
    try:
        factorize(root)
        return np.tril(root)
    except NotPositiveDefinite:
        values, vectors = np.linalg.eigh(matrix)
        symmetric: Array = vectors * np.sqrt(np.maximum(values, 0.0))
        return symmetric


def reciprocal_condition(correlation: Array, nugget: float, factor: Array) -> float:
    """Estimate 1 / condition number of R from the lower triangles of its correlation and its factor."""
    sums = np.full(len(correlation), nugget)
    for i0, i1 in triangle_blocks(len(correlation)):
        block = correlation[i0:i1, :i1].copy()
        block[:, i0:i1] = np.tril(block[:, i0:i1])
        sums[:i1] += block.sum(axis=0)
        sums[i0:i1] += block.sum(axis=1) - np.diag(block[:, i0:i1])
    return float(lapack.dpocon(factor.T, sums.max(), uplo="U")[0])


def least_squares(factor: Array, trend: Array, y: Array) -> Solution:
    """Solve for the trend and the residual from R's Cholesky factor.

    Parameters
    ----------
    factor : ndarray of shape (N, N)
        Made by `factorize`.
    trend : ndarray of shape (N, q)
    y : ndarray of shape (N, k)
    """
    q = trend.shape[1]
    half = half_solve(factor, np.hstack([trend, y]))
    half_h, half_y = half[:, :q], half[:, q:]
    # QR of L⁻¹H rather than a Cholesky factor of HᵀR⁻¹H: the condition number is not squared
    basis, upper = np.linalg.qr(half_h)
    signs = np.where(np.diag(upper) < 0.0, -1.0, 1.0)
    basis, upper = basis * signs, upper * signs[:, None]
    coefficients = basis.T @ half_y
    residual = half_y - basis @ coefficients
    theta = lapack.dtrtrs(upper, coefficients)[0] if q else coefficients
    back = lapack.dtrtrs(factor.T, np.asfortranarray(np.hstack([basis, residual])), lower=0)[0]
    return Solution(
        log_det=2.0 * float(np.log(np.diag(factor)).sum()),
        theta=theta,
        alpha=back[:, q:],
        s2=np.einsum("ij,ij->j", residual, residual),
        trend_solve=back[:, :q],
        trend_factor=upper.T,
    )


def triangle(name: str, packed: object) -> Array:
    """Return a lower triangle, of which a state holds the lower half row by row, as a square matrix.

    Examples
    --------
    >>> triangle("factor", np.array([1.0, 2.0, 3.0]))
    array([[1., 0.],
           [2., 3.]])
    """
    half = Sizes().array(name, packed, "h")
    n = int(np.sqrt(2 * len(half)))
    if n * (n + 1) // 2 != len(half):
        raise InputError(f"{name} has {len(half)} entries, which do not fill a triangle")
    square = np.zeros((n, n))
    square[np.tril_indices(n)] = half
    return square
