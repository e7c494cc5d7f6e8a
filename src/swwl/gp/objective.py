r"""The objective: log posterior of the ranges and the nugget, and its analytic gradient.

With :math:`R = \prod_l c_l(\beta_l D_l) + \nu I`, trend columns :math:`H` (q of them),
:math:`Q = R^{-1} - R^{-1}H(H^\top R^{-1}H)^{-1}H^\top R^{-1}` and :math:`S_j^2 = y_j^\top Q y_j`, constants
dropped, the sum over the outputs j of

* marginal likelihood: :math:`-\tfrac12\log|R| - \tfrac12\log|H^\top R^{-1}H| - \tfrac{n-q}2\log S_j^2`,
* posterior: the same, and once the jointly robust prior of ``prior.py``,
* profile likelihood: :math:`-\tfrac12\log|R| - \tfrac n2\log S_j^2`.

One evaluation costs ``dpotrf`` + ``dpotri`` and elementwise work on half a matrix; two N x N buffers are
reused by all evaluations. ``optimise.py`` climbs it, ``posterior.py`` predicts from the factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from swwl.gp.correlations import Array
from swwl.gp.factors import Factor, contract_triangle, fill_correlation
from swwl.gp.prior import JointlyRobustPrior


class NotPositiveDefinite(np.linalg.LinAlgError):
    """The correlation matrix could not be factorised."""


@dataclass(frozen=True)
class Solution:
    r"""What generalised least squares gives at fixed ranges and nugget.

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


def factorise(matrix: Array) -> None:
    """Replace the lower triangle of a C-ordered matrix by its Cholesky factor, in place.

    Raises
    ------
    NotPositiveDefinite
        The matrix is destroyed then.
    """
    # A C-ordered lower triangle is a Fortran-ordered upper one, so LAPACK needs no copy.
    info = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)[1]
    if info:
        raise NotPositiveDefinite(f"The leading minor of order {info} is not positive definite.")


def invert(factor: Array) -> None:
    """Replace a factor made by `factorise` by the lower triangle of the inverse matrix, in place."""
    lapack.dpotri(factor.T, lower=0, overwrite_c=1)


def solve(factor: Array, right: Array) -> Array:
    """Return the solution X of R X = B from R's factor, B of shape (N, m)."""
    if right.shape[1] == 0:
        return right.copy()
    return lapack.dpotrs(factor.T, np.asfortranarray(right), lower=0)[0]


def half_solve(factor: Array, right: Array) -> Array:
    """Return the solution X of L X = B for the lower triangular L, B of shape (N, m)."""
    if right.shape[1] == 0:
        return right.copy()
    return lapack.dtrtrs(factor.T, np.asfortranarray(right), lower=0, trans=1)[0]


def least_squares(factor: Array, trend: Array, y: Array) -> Solution:
    """Solve for the trend and the residual from R's Cholesky factor.

    Parameters
    ----------
    factor : ndarray of shape (N, N)
        Made by `factorise`.
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


class Objective:
    r"""Log posterior as a function of :math:`(\log\beta_1, \dots, \log\beta_p, \log\nu)`.

    Parameters
    ----------
    factors : sequence of Factor
        Training factors.
    trend : ndarray of shape (N, q)
    y : ndarray of shape (N, k)
        Several columns share :math:`\beta` and :math:`\nu`.
    method : {"posterior", "marginal", "likelihood"}
    prior : JointlyRobustPrior
        Used by "posterior" alone.
    offset : float
        Added to every value: undoes the standardisation of y, so that values compare with other software's.

    Attributes
    ----------
    n_evaluations : int
        Factorisations so far.
    """

    def __init__(
        self,
        factors: Sequence[Factor],
        trend: Array,
        y: Array,
        method: str,
        prior: JointlyRobustPrior,
        offset: float = 0.0,
    ):
        self.factors = list(factors)
        self.trend = trend
        self.y = y
        self.method = method
        self.prior = prior
        self.offset = offset
        self.n_evaluations = 0
        self._correlation: Array | None = None
        self._matrix: Array | None = None

    @property
    def dof(self) -> int:
        """Return n - q, or n for the profile likelihood."""
        n, q = self.trend.shape
        return n if self.method == "likelihood" else n - q

    def release(self) -> None:
        """Give the two N x N buffers back."""
        self._correlation = self._matrix = None

    def factor(self, beta: Array, nugget: float) -> tuple[Array, Array]:
        """Return (correlation, factor): two buffers, valid until the next call, lower triangles filled."""
        n = len(self.y)
        if self._correlation is None or self._matrix is None:
            self._correlation, self._matrix = np.empty((n, n)), np.empty((n, n))
        fill_correlation(self.factors, beta, out=self._correlation)
        self._matrix[:] = self._correlation
        self._matrix.flat[:: n + 1] += nugget
        self.n_evaluations += 1
        factorise(self._matrix)
        return self._correlation, self._matrix

    def value(self, solution: Solution, beta: Array, nugget: float) -> float:
        """Return the objective from a solution at the same parameters."""
        k = self.y.shape[1]
        with np.errstate(divide="ignore"):
            value = self.offset - 0.5 * k * solution.log_det - 0.5 * self.dof * float(np.log(solution.s2).sum())
        if self.method != "likelihood":
            value -= k * float(np.log(np.diag(solution.trend_factor)).sum())
        if self.method == "posterior":
            value += self.prior(beta, nugget)[0]
        return value

    def __call__(self, log_beta: Array, log_nugget: float) -> float:
        """Return the objective alone; ``log_nugget`` may be -inf."""
        beta, nugget = np.exp(log_beta), float(np.exp(log_nugget))
        _, factor = self.factor(beta, nugget)
        return self.value(least_squares(factor, self.trend, self.y), beta, nugget)

    def with_gradient(self, log_beta: Array, log_nugget: float) -> tuple[float, Array]:
        r"""Return the objective and its gradient of shape (p + 1,), the nugget's derivative last.

        With :math:`W = kQ - (n-q)\sum_j \alpha_j\alpha_j^\top/S_j^2` (profile likelihood: :math:`R^{-1}` for
        Q and n for n - q), a derivative is :math:`-\tfrac12\sum_{ij} W_{ij}\,\partial R_{ij}`.
        """
        beta, nugget = np.exp(log_beta), float(np.exp(log_nugget))
        correlation, matrix = self.factor(beta, nugget)
        solution = least_squares(matrix, self.trend, self.y)
        value = self.value(solution, beta, nugget)
        invert(matrix)

        k = self.y.shape[1]
        low_rank = solution.alpha * np.sqrt(self.dof / solution.s2)
        if self.method != "likelihood":
            low_rank = np.hstack([np.sqrt(k) * solution.trend_solve, low_rank])
        trace = float(np.trace(matrix))
        # minus W in place of the inverse, by one symmetric product
        blas.dsyrk(1.0, np.asfortranarray(low_rank), beta=-k, lower=0, c=matrix.T, overwrite_c=1)

        gradient = np.empty(len(beta) + 1)
        gradient[:-1] = contract_triangle(self.factors, beta, correlation, matrix)
        gradient[-1] = 0.5 * nugget * (float(np.sum(low_rank**2)) - k * trace)
        if self.method == "posterior":
            _, in_beta, in_nugget = self.prior(beta, nugget)
            gradient[:-1] += in_beta
            gradient[-1] += in_nugget
        return value, gradient
