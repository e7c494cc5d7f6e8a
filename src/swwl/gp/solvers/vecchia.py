r"""The solver for many rows: inducing rows, and what they leave conditioned on a few neighbors.

The matrix :math:`R = C + \nu I` is replaced by

.. math:: \tilde R = VV^\top + \operatorname{Vecchia}(C - VV^\top + \nu I),

with M inducing rows in V (``whitening.py``) and a residual in which a row depends on m earlier ones alone
(``neighbors.py``). It is FITC where m = 0, plain Vecchia where M = 0, and exact where M = N or m = N - 1. No array is
larger than N (M + q + k).

With :math:`K_i` the residual block of row i (its neighbors, then i), e its last unit vector and
:math:`u_i = K_i^{-1}e/\sqrt{e^\top K_i^{-1}e}`, every column of :math:`F = [H, V, y]` is whitened,
:math:`w_i = F_i^\top u_i`. What is left is a linear regression of :math:`w(y)` on :math:`w(H)`, with flat coefficients
:math:`\theta`, and on :math:`w(V)`, with coefficients :math:`\xi \sim N(0, \sigma^2 I)`: all that is needed is the Gram
matrix :math:`G = \sum_i w_i w_i^\top`.

References
----------
Gyger, Furrer and Sigrist (2024), Iterative methods for full-scale Gaussian process approximations for large spatial
data; Katzfuss and Guinness (2021), A general framework for Vecchia approximations of Gaussian processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csr_array

from swwl.gp.correlations import Array
from swwl.gp.factors import Term
from swwl.gp.solvers.base import Curvature, Problem
from swwl.gp.solvers.cholesky import half_solve, solve
from swwl.gp.solvers.neighbors import Positions, earlier_neighbors
from swwl.gp.solvers.vecchia_posterior import VecchiaPosterior, posterior_from_state
from swwl.gp.solvers.whitening import Mask, Regression, Whitening, WhiteningPlan, choose_rows, features_gradient

_ROWS = 1024  # whose part of the diagonal of the inverse is computed at a time


class VecchiaSolver:
    """The log posterior by inducing rows and neighbors; see `swwl.gp.solvers.base.Solver`.

    Parameters
    ----------
    problem : Problem
        Of N points.
    n_inducing : int, default=1000
        At most so many inducing rows.
    n_neighbors : int, default=30
        Earlier rows that a row's residual depends on.
    n_predict_neighbors : int, default=60
        The same for new points.
    seed : int, default=0
        Of the random order of the rows.
    n_threads : int, default=1
        That whiten pieces of rows, with the same results whatever their number.
    keep_features : int, default=1
        Whether (1) or not (0) predictions keep V, of N M numbers, in memory: without it they take several times longer.
    """

    options: ClassVar[dict[str, int]] = {
        "n_inducing": 1000,
        "n_neighbors": 30,
        "n_predict_neighbors": 60,
        "seed": 0,
        "n_threads": 1,
        "keep_features": 1,
    }
    takes_curvature: ClassVar[bool] = False

    def __init__(
        self,
        problem: Problem,
        n_inducing: int = options["n_inducing"],
        n_neighbors: int = options["n_neighbors"],
        n_predict_neighbors: int = options["n_predict_neighbors"],
        seed: int = options["seed"],
        n_threads: int = options["n_threads"],
        keep_features: int = options["keep_features"],
    ):
        self.problem = problem
        self.n_evaluations = 0
        self.n_inducing, self.n_neighbors, self.n_predict_neighbors = n_inducing, n_neighbors, n_predict_neighbors
        self.n_threads, self.keep_features = n_threads, bool(keep_features)
        self._order = np.random.default_rng(seed).permutation(len(problem.y))
        self._plan: WhiteningPlan | None = None
        self._at: Whitening | None = None

    @staticmethod
    def prepare(terms: Sequence[Term]) -> list[Term]:
        """Leave the terms as they are: pieces are computed on demand."""
        return list(terms)

    def release(self) -> None:
        """Give the columns of the last evaluation back; the plan stays."""
        self._at = None

    def settle(self, log_beta: Array, log_nugget: float) -> None:
        """Choose inducing rows and neighbors at these ranges, and hold them until the next call."""
        terms, beta, nugget = self.problem.terms, np.exp(log_beta), float(np.exp(log_nugget))
        chosen = choose_rows(terms, beta, nugget, self.n_inducing, self._order)
        near = earlier_neighbors(terms, beta, self.n_neighbors, self._order)
        self._at = None
        self._plan = WhiteningPlan(chosen, np.hstack([near, np.arange(len(near))[:, None]]))

    def __call__(self, log_beta: Array, log_nugget: float) -> float:
        """Return the value alone; ``log_nugget`` may be -inf."""
        at = self._evaluate(log_beta, log_nugget)
        return self._value(at)

    def with_gradient(self, log_beta: Array, log_nugget: float) -> tuple[float, Array]:
        r"""Return the value and its gradient of shape (p + 1,), the nugget's derivative last.

        By an adjoint pass over the blocks. With :math:`\mathcal M` minus twice the derivative in G and
        :math:`g_i = -F_i\mathcal M w_i`, :math:`p_i = K_i^{-1}g_i`, the derivative in :math:`K_i` is

        .. math:: \Omega_i = \tfrac12(g_i^\top u_i - k)u_iu_i^\top - \tfrac12(p_iu_i^\top + u_ip_i^\top) ,

        and that in :math:`V_i` is :math:`-u_i(\mathcal Mw_i)_V^\top - 2\Omega_iV_i`.
        """
        at = self._evaluate(log_beta, log_nugget)
        problem, own = self.problem, at.places
        adjoint = self._adjoint(at.found)
        v_bar = np.zeros((len(problem.y), len(at.plan.chosen)))
        gradient = np.zeros(len(at.beta) + 1)

        def pull(rows: slice) -> tuple[Array, Positions, Array]:
            piece = at.piece(rows)
            u, pulled = piece.u, piece.whitened @ adjoint  # 𝓜 wᵢ, a row each
            g = -(piece.columns @ pulled[:, :, None])[:, :, 0]
            p = (piece.inverse @ g[:, :, None])[:, :, 0]
            along = 0.5 * (np.einsum("ni,ni->n", g, u) - problem.y.shape[1])
            half = (along[:, None] * u - p)[:, :, None] * u[:, None]  # Ω is its symmetric part
            omega = 0.5 * (half + half.swapaxes(1, 2))
            slopes = np.zeros_like(gradient)
            slopes[-1] = at.nugget * float(np.einsum("nii->", omega))
            piece.patches.contract(_off_diagonal(omega, piece.padding), slopes)
            moved = -u[:, :, None] * pulled[:, None, own] - 2.0 * (omega @ piece.columns[:, :, own])
            return slopes, *_sum_rows(at.plan.index[rows], moved)

        for slopes, rows, sums in at.each(pull):
            gradient += slopes
            v_bar[rows] += sums
        gradient[:-1] += features_gradient(problem.terms, at.beta, at.plan.chosen, at.factor, at.columns[:, own], v_bar)
        if problem.method == "posterior":
            _, in_beta, in_nugget = problem.prior(at.beta, at.nugget)
            gradient[:-1] += in_beta
            gradient[-1] += in_nugget
        return self._value(at), gradient

    def conclude(
        self, log_beta: Array, log_nugget: float, curvature: Curvature | None = None
    ) -> tuple[VecchiaPosterior, float]:
        """Keep what predictions need; also return 1 / condition number."""
        problem, y = self.problem, self.problem.targets
        at = self._evaluate(log_beta, log_nugget)
        found, q, own = at.found, problem.trend.shape[1], at.places
        whitener = _sparse(at.u, at.plan.index)
        # R⁻¹X of columns X is U (w(X) - w(V) B⁻¹ w(V)ᵀw(X))
        w_v = at.whitened[:, own]
        left = at.whitened[:, q + w_v.shape[1] :] - at.whitened[:, :q] @ found.theta - w_v @ found.xi
        trend_left = at.whitened[:, :q] - w_v @ solve(found.precision_factor, at.gram[own, :q])
        diagonal = np.asarray(whitener.multiply(whitener).sum(axis=1)).ravel()
        for start in range(0, len(diagonal), _ROWS):
            rows = slice(start, start + _ROWS)
            half = half_solve(found.precision_factor, (whitener[rows] @ at.whitened)[:, own].T)
            diagonal[rows] -= np.einsum("ij,ij->j", half, half)
        theta = found.theta * y.scale
        if problem.constant:
            theta[0] += y.shift
        posterior = VecchiaPosterior(
            beta=at.beta,
            nugget=at.nugget,
            theta=theta,
            sigma2=found.s2 * y.scale**2 / problem.dof,
            df=problem.df,
            xi=np.ascontiguousarray(found.xi * y.scale),
            chosen=at.plan.chosen,
            inducing_factor=at.factor,
            precision_factor=found.precision_factor,
            shared=np.ascontiguousarray(found.shared),
            trend_factor=found.trend_factor,
            trend=problem.trend,
            y=y.raw,
            alpha=np.ascontiguousarray((whitener @ left) * y.scale),
            inverse_diagonal=diagonal,
            trend_solve=np.ascontiguousarray(half_solve(found.trend_factor, (whitener @ trend_left).T).T),
            n_neighbors=self.n_predict_neighbors,
            keep_features=self.keep_features,
        )
        posterior.remember(problem.terms, at.columns[:, own] if self.keep_features else None)
        return posterior, self._rcond(at)

    @staticmethod
    def restore(state: dict[str, Any]) -> VecchiaPosterior:
        """Undo `VecchiaPosterior.state`; entries of other names are ignored."""
        return posterior_from_state(state)

    def _evaluate(self, log_beta: Array, log_nugget: float) -> Whitening:
        """Whiten at these ranges, unless that has just been done."""
        beta, nugget, at = np.exp(log_beta), float(np.exp(log_nugget)), self._at
        if self._plan is None:
            self.settle(log_beta, log_nugget)
        if at is None or at.nugget != nugget or not np.array_equal(at.beta, beta):
            at = self._at = None  # give its memory back before the next one takes as much
            assert self._plan is not None
            self.n_evaluations += 1
            at = self._at = Whitening(self.problem, self._plan, beta, nugget, self.n_threads)
        return at

    def _value(self, at: Whitening) -> float:
        found = at.found
        return self.problem.value(found.log_det, np.diag(found.trend_factor), found.s2, at.beta, at.nugget)

    def _adjoint(self, found: Regression) -> Array:
        r"""Return :math:`\mathcal M`, minus twice the derivative of the value in G, shape (c, c)."""
        problem = self.problem
        (q, k), m = found.theta.shape, len(found.xi)
        f = np.vstack([-found.theta, -found.xi, np.eye(k)])
        out: Array = problem.dof * (f / found.s2) @ f.T
        out[q : q + m, q : q + m] += k * solve(found.precision_factor, np.eye(m))
        if problem.method != "likelihood" and q:
            # columns [I, -B⁻¹ G_VH, 0] A⁻ᵀ
            back = solve(found.precision_factor, found.precision_factor @ found.shared)
            h = half_solve(found.trend_factor, np.vstack([np.eye(q), -back, np.zeros((k, q))]).T)
            out += k * (h.T @ h)
        return out

    @staticmethod
    def _rcond(at: Whitening) -> float:
        """Return the worse of 1 / condition number of B and the ratio of extreme residual variances."""
        last = at.u[:, -1] ** 2
        ratio = float(last.min() / last.max())
        factor = at.found.precision_factor
        if not len(factor):
            return ratio
        norm = float(np.abs(at.gram[at.places, at.places]).sum(axis=0).max()) + 1.0
        return min(ratio, float(lapack.dpocon(factor.T, norm, uplo="U")[0]))


def _off_diagonal(omega: Array, padding: Mask) -> Array:
    """Return weights of correlations that are not constant: not of rows with themselves, not of missing ones."""
    out = omega.copy()
    b = np.arange(omega.shape[1])
    out[:, b, b] = 0.0
    out[padding] = 0.0
    out.swapaxes(1, 2)[padding] = 0.0
    return out


def _sum_rows(index: Positions, values: Array) -> tuple[Positions, Array]:
    """Sum values (B, b, M) over equal entries of ``index`` (B, b), -1 left out: these entries, and sums of M each."""
    named = np.flatnonzero(index.ravel() >= 0)
    rows, place = np.unique(index.ravel()[named], return_inverse=True)
    gather = csr_array((np.ones(len(named)), (place, named)), shape=(len(rows), index.size))
    return rows, gather @ values.reshape(index.size, -1)


def _sparse(u: Array, index: Positions) -> csr_array:
    """Return the N x N matrix whose column i holds u_i in the rows that ``index`` names."""
    n = len(u)
    owner = np.broadcast_to(np.arange(n)[:, None], index.shape)
    known = index >= 0
    return csr_array((u[known], (index[known], owner[known])), shape=(n, n))
