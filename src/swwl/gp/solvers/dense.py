r"""The exact solver: one Cholesky factor of the whole correlation matrix.

One evaluation costs ``dpotrf`` + ``dpotri`` and elementwise work on half a matrix; two N x N buffers, and one for each
correlation that is a function of several ranges, are reused by all evaluations.

With r the correlations between a new point and the training points, h its trend columns and df = n - q, the
prediction of output j is Student-t with location :math:`h^\top\theta_j + r^\top\alpha_j` and squared scale

.. math:: \sigma_j^2\,\bigl[1 + \nu - r^\top R^{-1}r + u^\top(H^\top R^{-1}H)^{-1}u\bigr],\qquad
          u = h - H^\top R^{-1}r .

Maximum likelihood is the normal limit without the last term.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from swwl.errors import InputError
from swwl.gp.correlations import Array
from swwl.gp.factors import (
    Term,
    contract_triangle,
    cross_correlation,
    cross_derivatives,
    fill_correlation,
    multiply_derivatives,
    n_radials,
)
from swwl.gp.prediction import Prediction
from swwl.gp.solvers.base import Curvature, Problem, Slopes, leave_one_out
from swwl.gp.solvers.cholesky import factorize, half_solve, invert, least_squares, reciprocal_condition, solve, triangle
from swwl.storage.checks import NotNegative, PositiveOrInfinite, Shape, contiguous, restored

_PREFIX = "uncertainty_"  # of the entries of `RangeUncertainty` in a state


class DenseSolver:
    """The log posterior by a Cholesky factor of the N x N matrix; see `swwl.gp.solvers.base.Solver`.

    Parameters
    ----------
    problem : Problem
        Of N points, with terms made by `prepare`.
    """

    options: ClassVar[dict[str, int]] = {}
    takes_curvature: ClassVar[bool] = True

    def __init__(self, problem: Problem):
        self.problem = problem
        self.n_evaluations = 0
        self._correlation: Array | None = None
        self._matrix: Array | None = None
        self._roots: list[Array] = []

    @staticmethod
    def prepare(terms: Sequence[Term]) -> list[Term]:
        """Compute all distances, once for all evaluations."""
        return [term.held() for term in terms]

    def settle(self, log_beta: Array, log_nugget: float) -> None:
        """Choose nothing: the whole matrix is factorized."""

    def release(self) -> None:
        """Give the N x N buffers back."""
        self._correlation = self._matrix = None
        self._roots = []

    def factor(self, beta: Array, nugget: float) -> tuple[Array, Array]:
        """Return (correlation, factor): two buffers, valid until the next call, lower triangles filled."""
        n = len(self.problem.y)
        if self._correlation is None or self._matrix is None:
            self._correlation, self._matrix = np.empty((n, n)), np.empty((n, n))
            self._roots = [np.empty((n, n)) for _ in range(n_radials(self.problem.terms))]
        fill_correlation(self.problem.terms, beta, self._correlation, self._roots)
        self._matrix[:] = self._correlation
        self._matrix.flat[:: n + 1] += nugget if self.problem.noise is None else nugget + self.problem.noise
        self.n_evaluations += 1
        factorize(self._matrix)
        return self._correlation, self._matrix

    def __call__(self, log_beta: Array, log_nugget: float) -> float:
        """Return the value alone; ``log_nugget`` may be -inf."""
        beta, nugget = np.exp(log_beta), float(np.exp(log_nugget))
        _, factor = self.factor(beta, nugget)
        found = least_squares(factor, self.problem.trend, self.problem.y)
        return self.problem.value(found.log_det, np.diag(found.trend_factor), found.s2, beta, nugget)

    def with_gradient(self, log_beta: Array, log_nugget: float) -> tuple[float, Array]:
        r"""Return the value and its gradient of shape (p + 1,), the nugget's derivative last.

        With :math:`W = kQ - (n-q)\sum_j \alpha_j\alpha_j^\top/S_j^2` (profile likelihood: :math:`R^{-1}` for
        Q and n for n - q), a derivative is :math:`-\tfrac12\sum_{ij} W_{ij}\,\partial R_{ij}`.
        """
        problem = self.problem
        beta, nugget = np.exp(log_beta), float(np.exp(log_nugget))
        correlation, matrix = self.factor(beta, nugget)
        found = least_squares(matrix, problem.trend, problem.y)
        value = problem.value(found.log_det, np.diag(found.trend_factor), found.s2, beta, nugget)
        invert(matrix)

        k = problem.y.shape[1]
        low_rank = found.alpha * np.sqrt(problem.dof / found.s2)
        if problem.method != "likelihood":
            low_rank = np.hstack([np.sqrt(k) * found.trend_solve, low_rank])
        trace = float(np.trace(matrix))
        # minus W in place of the inverse, by one symmetric product
        blas.dsyrk(1.0, np.asfortranarray(low_rank), beta=-k, lower=0, c=matrix.T, overwrite_c=1)

        gradient = np.empty(len(beta) + 1)
        gradient[:-1] = contract_triangle(problem.terms, beta, correlation, matrix, self._roots)
        gradient[-1] = 0.5 * nugget * (float(np.sum(low_rank**2)) - k * trace)
        if problem.method == "posterior":
            _, in_beta, in_nugget = problem.prior(beta, nugget)
            gradient[:-1] += in_beta
            gradient[-1] += in_nugget
        return value, gradient

    def conclude(
        self, log_beta: Array, log_nugget: float, curvature: Curvature | None = None
    ) -> tuple[DensePosterior, float]:
        """Factorize once more and keep what predictions need; also return 1 / condition number."""
        problem, y = self.problem, self.problem.targets
        beta, nugget = np.exp(log_beta), float(np.exp(log_nugget))
        correlation, matrix = self.factor(beta, nugget)
        found = least_squares(matrix, problem.trend, problem.y)
        cholesky = np.tril(matrix)
        rcond = reciprocal_condition(correlation, nugget, cholesky)
        invert(matrix)
        theta = found.theta * y.scale
        if problem.constant:
            theta[0] += y.shift
        posterior = DensePosterior(
            beta=beta,
            nugget=nugget,
            theta=theta,
            sigma2=found.s2 * y.scale**2 / problem.dof,
            df=problem.df,
            alpha=np.ascontiguousarray(found.alpha * y.scale),
            cholesky=cholesky,
            inverse_diagonal=np.diag(matrix).copy(),
            trend_solve=np.ascontiguousarray(found.trend_solve),
            trend_factor=np.ascontiguousarray(found.trend_factor),
            y=y.raw,
            noise=problem.noise,
        )
        if curvature is not None:
            extra = range_uncertainty(problem.terms, posterior, correlation, curvature)
            posterior = replace(posterior, uncertainty=extra)
        return posterior, rcond

    @staticmethod
    def restore(state: dict[str, Any]) -> DensePosterior:
        """Undo `DensePosterior.state`; entries of other names are ignored."""
        known = contiguous(state)
        extra = {name.removeprefix(_PREFIX): value for name, value in known.items() if name.startswith(_PREFIX)}
        known |= {"cholesky": triangle("cholesky", state["cholesky"]), "uncertainty": extra or None}
        posterior = restored(DensePosterior, known)
        p = len(posterior.beta)
        if posterior.uncertainty is not None and posterior.uncertainty.free.max(initial=0) > p:
            raise InputError(f"free is {posterior.uncertainty.free.tolist()}, but there are {p} ranges")
        return posterior


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

    covariance: Annotated[Array, Shape("ff")]
    free: Annotated[NDArray[np.intp], Shape("f", "i", least=0)]
    d_alpha: Annotated[Array, Shape("fnk")]
    d_theta: Annotated[Array, Shape("fqk")]


@dataclass(frozen=True)
class DensePosterior:
    """A fitted model as plain arrays, y in its own units: what a model file keeps.

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
    noise : ndarray of shape (N,) or None
        Of the rows, in addition to the nugget; see `swwl.gp.solvers.base.Problem`.
    """

    beta: Annotated[Array, Shape("p", above=0)]
    nugget: NotNegative
    theta: Annotated[Array, Shape("qk")]
    sigma2: Annotated[Array, Shape("k", above=0)]
    df: PositiveOrInfinite
    alpha: Annotated[Array, Shape("nk")]
    cholesky: Annotated[Array, Shape("nn")]
    inverse_diagonal: Annotated[Array, Shape("n")]
    trend_solve: Annotated[Array, Shape("nq")]
    trend_factor: Annotated[Array, Shape("qq")]
    y: Annotated[Array, Shape("nk")]
    uncertainty: RangeUncertainty | None = None
    noise: Annotated[Array, Shape("n", least=0)] | None = None

    def mean(self, cross: Sequence[Term], trend: Array) -> Array:
        """Return the predictive location of M new points, shape (M, k)."""
        return self._location(self._correlation(cross, len(trend)), trend)

    def predict(self, cross: Sequence[Term], trend: Array, include_nugget: bool) -> Prediction:
        """Predict M new points, each by itself, arrays of shape (M, k)."""
        cross = [term.held() for term in cross]
        r = self._correlation(cross, len(trend))
        half, part = self._solved(r, trend)
        unit = 1.0 - np.einsum("ij,ij->j", half, half) + np.einsum("ij,ij->j", part, part)
        # Rounding can take the function's variance below zero at a training point; never that of an observation.
        unit = np.maximum(unit, 0.0) + (self.nugget if include_nugget else 0.0)
        variance = unit[:, None] * self.sigma2
        if self.uncertainty is not None:
            j = self._mean_gradient(self.uncertainty, cross, r, trend)
            variance += np.einsum("amk,ab,bmk->mk", j, self.uncertainty.covariance, j)
        return Prediction(self._location(r, trend), np.sqrt(variance), self.df)

    def predict_joint(
        self, cross: Sequence[Term], trend: Array, among: Sequence[Term], include_nugget: bool
    ) -> tuple[Array, Array]:
        """Return the location (M, k) and the joint squared scales (k, M, M); ``among`` is of the new points."""
        cross = [term.held() for term in cross]
        m = len(trend)
        r = self._correlation(cross, m)
        own = cross_correlation([term.held() for term in among], self.beta, (m, m))
        np.fill_diagonal(own, 1.0)
        half, part = self._solved(r, trend)
        unit = own - half.T @ half + part.T @ part
        unit = 0.5 * (unit + unit.T)
        diagonal = np.maximum(np.diag(unit), 0.0) + (self.nugget if include_nugget else 0.0)
        np.fill_diagonal(unit, diagonal)
        joint = self.sigma2[:, None, None] * unit
        if self.uncertainty is not None:
            j = self._mean_gradient(self.uncertainty, cross, r, trend)
            joint += np.einsum("amk,ab,bnk->kmn", j, self.uncertainty.covariance, j)
        return self._location(r, trend), joint

    def slopes(self, cross: Sequence[Term], trend: Array) -> Slopes:
        r"""Predict one new observation, with derivatives.

        With r its correlations, the mean has :math:`\partial m/\partial r = \alpha`, and the bracket u of the squared
        scale :math:`\partial u/\partial r = -2R^{-1}r - 2Gp`, :math:`p = A^{-1}h - G^\top r`.
        """
        cross = [term.held() for term in cross]
        r = self._correlation(cross, 1)
        half, part = self._solved(r, trend)
        unit = 1.0 - float(np.sum(half**2)) + float(np.sum(part**2)) + self.nugget
        slope = -2.0 * solve(self.cholesky, r.T)
        in_trend: Array = np.zeros((trend.shape[1], 1))
        if len(part):
            slope -= 2.0 * self.trend_solve @ part
            in_trend = np.asarray(2.0 * np.linalg.solve(self.trend_factor.T, part), dtype=np.float64)
        return Slopes(self._location(r, trend)[0], unit, self.alpha, slope, in_trend, cross, r[0])

    def leave_one_out(self) -> Prediction:
        """Predict every training observation from all others, arrays of shape (N, k)."""
        g = self.trend_solve
        projected = self.inverse_diagonal - np.einsum("ij,ij->i", g, g)
        units = None if self.noise is None else self._units_of_noisy(self.noise)
        return leave_one_out(self.y, self.alpha, self.inverse_diagonal, projected, self.sigma2, self.df, units)

    def _units_of_noisy(self, noise: Array) -> Array:
        r"""Return the variance over sigma2 of an observation, from all others, at rows with noise; nan elsewhere, (N,).

        :math:`1 / Q_{ii}` less the noise would be nothing but rounding. The function's variance u at the row, given the
        row as well, is predicted as anywhere else, and the row's own share is taken back: :math:`1 / v = 1 / u - 1 /
        (\nu + \tau_i)`.
        """
        units = np.full(len(noise), np.nan)
        rows = np.flatnonzero(noise)
        r = self.cholesky[rows] @ self.cholesky.T  # rows of R
        r[np.arange(len(rows)), rows] = 1.0
        half = half_solve(self.cholesky, r.T)
        known = 1.0 - np.einsum("ij,ij->j", half, half)
        if not np.isinf(self.df) and len(self.theta):
            # H'R⁻¹ = A Gᵀ, and the trend of a training row is that of R⁻¹ undone
            trend = (self.cholesky[rows] @ (self.cholesky.T @ self.trend_solve)) @ self.trend_factor.T
            part = np.linalg.solve(self.trend_factor, trend.T) - self.trend_solve.T @ r.T
            known += np.einsum("ij,ij->j", part, part)
        own = self.nugget + noise[rows]
        known = np.clip(known, 0.0, 0.999 * own)
        units[rows] = known / (1.0 - known / own) + self.nugget
        return units

    def precision(self) -> Array:
        r"""Return :math:`Q = R^{-1} - GG^\top`, shape (N, N)."""
        inverse = solve(self.cholesky, np.eye(len(self.y)))
        return np.asarray(inverse - self.trend_solve @ self.trend_solve.T, dtype=float)

    def state(self) -> dict[str, Any]:
        """Return the fields, those of the range uncertainty under a prefix."""
        optional = {"uncertainty"} | ({"noise"} if self.noise is None else set())
        state = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in optional}
        state["cholesky"] = self.cholesky[np.tril_indices(len(self.y))]  # half of it is zero
        if self.uncertainty is not None:
            state |= {_PREFIX + f.name: getattr(self.uncertainty, f.name) for f in fields(RangeUncertainty)}
        return state

    def _correlation(self, cross: Sequence[Term], m: int) -> Array:
        return cross_correlation([term.held() for term in cross], self.beta, (m, len(self.y)))

    def _location(self, r: Array, trend: Array) -> Array:
        return trend @ self.theta + r @ self.alpha

    def _solved(self, r: Array, trend: Array) -> tuple[Array, Array]:
        """Return L⁻¹rᵀ of shape (N, M), and A⁻¹h - Gᵀr, the trend's part, of shape (q, M)."""
        half = half_solve(self.cholesky, r.T)
        q = trend.shape[1]
        if q == 0 or np.isinf(self.df):
            return half, np.zeros((0, len(r)))
        a = np.asfortranarray(self.trend_factor)
        return half, lapack.dtrtrs(a, np.asfortranarray(trend.T), lower=1)[0] - self.trend_solve.T @ r.T

    def _mean_gradient(self, extra: RangeUncertainty, cross: Sequence[Term], r: Array, trend: Array) -> Array:
        """Return the derivatives of the mean in the free log parameters, shape (f, M, k)."""
        in_cross = cross_derivatives(cross, self.beta, r, self.alpha)
        gradient: Array = np.stack([r @ d for d in extra.d_alpha]) + np.stack([trend @ d for d in extra.d_theta])
        is_range = extra.free < len(self.beta)
        gradient[is_range] += in_cross[extra.free[is_range]]
        return gradient


def range_uncertainty(
    terms: Sequence[Term], posterior: DensePosterior, correlation: Array, curvature: Curvature
) -> RangeUncertainty:
    r"""Differentiate the solution in the free log parameters.

    :math:`\partial\alpha = -Q\,\partial R\,\alpha` and
    :math:`\partial\theta = -(H^\top R^{-1}H)^{-1}H^\top R^{-1}\,\partial R\,\alpha`.

    Parameters
    ----------
    terms : sequence of Term
        Of the training points.
    posterior : DensePosterior
    correlation : ndarray of shape (N, N)
        Lower triangle at the posterior's ranges.
    curvature : Curvature
    """
    moved = multiply_derivatives(terms, posterior.beta, correlation, posterior.alpha)
    moved = np.concatenate([moved, posterior.nugget * posterior.alpha[None]])[curvature.free]
    g, a = posterior.trend_solve, posterior.trend_factor
    d_alpha = np.stack([g @ (g.T @ v) - solve(posterior.cholesky, v) for v in moved])
    d_theta = np.stack([-np.linalg.solve(a.T, g.T @ v) for v in moved])
    # A flat direction says nothing about its range, but a spread beyond exp(±3) is not believed either.
    values, vectors = np.linalg.eigh(curvature.matrix)
    covariance = (vectors / np.maximum(values, 0.1)) @ vectors.T
    return RangeUncertainty(covariance, curvature.free, d_alpha, d_theta)
