r"""Student-t prediction from a factorised model.

With r the correlations between a new point and the training points, h its trend columns and df = n - q, the
prediction of output j is Student-t with location :math:`h^\top\theta_j + r^\top\alpha_j` and squared scale

.. math:: \sigma_j^2\,\bigl[1 + \nu - r^\top R^{-1}r + u^\top(H^\top R^{-1}H)^{-1}u\bigr],\qquad
          u = h - H^\top R^{-1}r .

Maximum likelihood is the normal limit without the last term. A `Posterior` is plain arrays: what a model file
keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from swwl.gp.correlations import Array
from swwl.gp.factors import Factor, cross_correlation, cross_derivatives, multiply_derivatives
from swwl.gp.objective import NotPositiveDefinite, factorise, half_solve, solve
from swwl.gp.prediction import to_std as to_std  # its old place, still asked for by evaluation/scores.py


@dataclass(frozen=True)
class RangeUncertainty:
    r"""What the Laplace approximation adds to a prediction.

    Attributes
    ----------
    covariance : ndarray of shape (f, f)
        Inverse curvature of the log posterior in the free log parameters.
    free : ndarray of int, shape (f,)
        Their positions; p is the nugget's.
    d_alpha : ndarray of shape (f, N, k)
        Derivatives of alpha.
    d_theta : ndarray of shape (f, q, k)
        Derivatives of theta.
    """

    covariance: Array
    free: Array
    d_alpha: Array
    d_theta: Array


@dataclass(frozen=True)
class Posterior:
    """A fitted model as arrays, y in its own units.

    Attributes
    ----------
    beta : ndarray of shape (p,)
    nugget : float
    theta : ndarray of shape (q, k)
    sigma2 : ndarray of shape (k,)
    df : float
        Degrees of freedom; inf for maximum likelihood.
    alpha : ndarray of shape (N, k)
    cholesky : ndarray of shape (N, N)
        Lower triangular.
    inverse_diagonal : ndarray of shape (N,)
        Diagonal of the inverse matrix, for leave-one-out.
    trend_solve : ndarray of shape (N, q)
    trend_factor : ndarray of shape (q, q)
    y : ndarray of shape (N, k)
    uncertainty : RangeUncertainty or None
    """

    beta: Array
    nugget: float
    theta: Array
    sigma2: Array
    df: float
    alpha: Array
    cholesky: Array
    inverse_diagonal: Array
    trend_solve: Array
    trend_factor: Array
    y: Array
    uncertainty: RangeUncertainty | None = None


def predict_mean(posterior: Posterior, cross: Array, trend: Array) -> Array:
    """Return the predictive location, shape (M, k); ``cross`` is (M, N), ``trend`` (M, q)."""
    return trend @ posterior.theta + cross @ posterior.alpha


def _solved(posterior, cross, trend):
    """Return L⁻¹rᵀ of shape (N, M), and A⁻¹h - Gᵀr, the trend's part, of shape (q, M)."""
    half = half_solve(posterior.cholesky, cross.T)
    q = trend.shape[1]
    if q == 0 or np.isinf(posterior.df):
        return half, np.zeros((0, len(cross)))
    a = np.asfortranarray(posterior.trend_factor)
    return half, lapack.dtrtrs(a, np.asfortranarray(trend.T), lower=1)[0] - posterior.trend_solve.T @ cross.T


def _mean_gradient(posterior, factors, cross, trend) -> Array:
    """Return the derivatives of the mean in the free log parameters, shape (f, M, k)."""
    u = posterior.uncertainty
    in_cross = cross_derivatives(factors, posterior.beta, cross, posterior.alpha)
    gradient = np.stack([cross @ d for d in u.d_alpha]) + np.stack([trend @ d for d in u.d_theta])
    is_range = u.free < len(posterior.beta)
    gradient[is_range] += in_cross[u.free[is_range]]
    return gradient


def predict_scale(posterior: Posterior, factors, cross: Array, trend: Array, include_nugget: bool) -> Array:
    """Return the predictive scale (the std without the Student-t factor), shape (M, k)."""
    half, part = _solved(posterior, cross, trend)
    unit = 1.0 - np.einsum("ij,ij->j", half, half) + np.einsum("ij,ij->j", part, part)
    # Rounding can take the function's variance below zero at a training point; never that of an observation.
    unit = np.maximum(unit, 0.0) + (posterior.nugget if include_nugget else 0.0)
    variance = unit[:, None] * posterior.sigma2
    if posterior.uncertainty is not None:
        j = _mean_gradient(posterior, factors, cross, trend)
        variance += np.einsum("amk,ab,bmk->mk", j, posterior.uncertainty.covariance, j)
    return np.sqrt(variance)


def predict_joint(posterior: Posterior, factors, cross, trend, among: Array, include_nugget: bool) -> Array:
    """Return the joint squared scale matrices, shape (k, M, M); ``among`` is the test-test correlation."""
    half, part = _solved(posterior, cross, trend)
    unit = among - half.T @ half + part.T @ part
    unit = 0.5 * (unit + unit.T)
    diagonal = np.maximum(np.diag(unit), 0.0) + (posterior.nugget if include_nugget else 0.0)
    np.fill_diagonal(unit, diagonal)
    joint = posterior.sigma2[:, None, None] * unit
    if posterior.uncertainty is not None:
        j = _mean_gradient(posterior, factors, cross, trend)
        joint += np.einsum("amk,ab,bnk->kmn", j, posterior.uncertainty.covariance, j)
    return joint


def draw(mean: Array, joint: Array, df: float, n_samples: int, rng: np.random.Generator) -> Array:
    """Draw from a multivariate t (normal when df is inf), shape (n_samples, M, k).

    Parameters
    ----------
    mean : ndarray of shape (M, k)
    joint : ndarray of shape (k, M, M)
        Squared scale matrices; positive semi-definite up to rounding.
    """
    m, k = mean.shape
    out = np.empty((n_samples, m, k))
    for j in range(k):
        normal = rng.standard_normal((n_samples, m)) @ _root(joint[j]).T
        if not np.isinf(df):
            normal /= np.sqrt(rng.chisquare(df, size=(n_samples, 1)) / df)
        out[:, :, j] = mean[:, j] + normal
    return out


def _root(matrix: Array) -> Array:
    """Return B with B Bᵀ = matrix; singular matrices are allowed."""
    root = np.ascontiguousarray(matrix, dtype=float).copy()
    try:
        factorise(root)
        return np.tril(root)
    except NotPositiveDefinite:
        values, vectors = np.linalg.eigh(matrix)
        return vectors * np.sqrt(np.maximum(values, 0.0))


def sample_prior(
    factors: list[Factor], beta: Array, nugget: float, sigma2: Array, mean: Array, n_samples: int, rng
) -> Array:
    """Draw functions (nugget 0) or observations from the process itself, shape (n_samples, M, k).

    ``mean`` is (M, k) and ``sigma2`` (k,).
    """
    m = len(mean)
    among = cross_correlation(factors, beta, (m, m))
    among.flat[:: m + 1] = 1.0 + nugget
    return draw(mean, sigma2[:, None, None] * among, np.inf, n_samples, rng)


def range_uncertainty(factors, posterior: Posterior, correlation: Array, curvature: Array, free) -> RangeUncertainty:
    r"""Differentiate the solution in the free log parameters.

    :math:`\partial\alpha = -Q\,\partial R\,\alpha` and
    :math:`\partial\theta = -(H^\top R^{-1}H)^{-1}H^\top R^{-1}\,\partial R\,\alpha`.

    Parameters
    ----------
    factors : sequence of Factor
        Training factors.
    posterior : Posterior
    correlation : ndarray of shape (N, N)
        Lower triangle at the posterior's ranges.
    curvature : ndarray of shape (f, f)
    free : ndarray of bool, shape (p + 1,)
    """
    index = np.flatnonzero(free)
    moved = multiply_derivatives(factors, posterior.beta, correlation, posterior.alpha)
    moved = np.concatenate([moved, posterior.nugget * posterior.alpha[None]])[index]
    g, a = posterior.trend_solve, posterior.trend_factor
    d_alpha = np.stack([g @ (g.T @ v) - solve(posterior.cholesky, v) for v in moved])
    d_theta = np.stack([-np.linalg.solve(a.T, g.T @ v) for v in moved])
    # A flat direction says nothing about its range, but a spread beyond exp(±3) is not believed either.
    values, vectors = np.linalg.eigh(curvature)
    covariance = (vectors / np.maximum(values, 0.1)) @ vectors.T
    return RangeUncertainty(covariance, index, d_alpha, d_theta)
