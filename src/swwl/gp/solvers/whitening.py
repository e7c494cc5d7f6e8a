"""Inducing rows, and one evaluation of the solver on neighbors: whitened columns, their Gram matrix, its regression.

:func:`choose_rows` and :func:`features` are of the inducing rows; a :class:`WhiteningPlan` says which rows are
conditioned on which, and :class:`Whitening` evaluates it. The symbols are those of ``vecchia.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from swwl.gp.correlations import Array
from swwl.gp.factors import Term, cross_correlation
from swwl.gp.solvers.base import NotPositiveDefinite, Problem
from swwl.gp.solvers.cholesky import factorize, half_solve, solve
from swwl.gp.solvers.neighbors import Patches, Positions
from swwl.parallel import one_blas_thread

_JITTER = 1e-10  # ε: far above rounding, far below any nugget that is estimated
_ENOUGH = 0.1  # of the nugget: residual variances below it need no further row
_CANDIDATES = 8  # times as many rows are looked at as are needed
_INDUCING_PIECE = 1 << 17  # correlations that are computed at a time


def choose_rows(terms: Sequence[Term], beta: Array, nugget: float, most: int, order: Positions) -> Positions:
    """Choose at most so many inducing rows, by a pivoted Cholesky factor of some of them.

    Parameters
    ----------
    terms : sequence of Term
        Among N points.
    beta, nugget : ndarray of shape (p,), float
        It stops early where all residual variances are below a tenth of the nugget.
    most : int
        From N on, all rows are taken.
    order : ndarray of int, shape (N,)
        A random order; its first 8 ``most`` rows are looked at.

    Examples
    --------
    Of two points that coincide, one says it all:

    >>> from swwl.gp import Coordinates
    >>> from swwl.gp.correlations import get_correlation
    >>> terms = [Term(get_correlation("gaussian"), Coordinates([[0.0], [0.0], [9.0], [5.0]]))]
    >>> choose_rows(terms, np.ones(1), 1e-3, 3, np.arange(4)).tolist()
    [0, 2, 3]
    """
    if most >= len(order):
        return np.arange(len(order))
    candidates = order[: _CANDIDATES * most]
    left = np.ones(len(candidates))  # the variance that is not explained yet
    factor = np.empty((most, len(candidates)))
    chosen: list[int] = []
    for j in range(most):
        i = int(left.argmax())
        if left[i] < max(_ENOUGH * nugget, _JITTER):
            break
        row = Patches(terms, beta, candidates[None, i : i + 1], candidates[None]).correlation[0, 0]
        factor[j] = (row - factor[:j, i] @ factor[:j]) / np.sqrt(left[i])
        left -= factor[j] ** 2
        chosen.append(i)
        left[chosen] = -1.0
    return candidates[chosen]


def inducing_factor(terms: Sequence[Term], beta: Array, chosen: Positions) -> Array:
    r"""Return the lower triangular :math:`L_u` of shape (M, M); raises `NotPositiveDefinite`."""
    if not len(chosen):
        return np.empty((0, 0))
    among = cross_correlation([term.take(chosen, chosen) for term in terms], beta, (len(chosen), len(chosen)))
    np.fill_diagonal(among, 1.0 + _JITTER)
    factorize(among)
    return np.tril(among)


def features(terms: Sequence[Term], beta: Array, chosen: Positions, factor: Array, out: Array) -> Array:
    r"""Fill ``out``, shape (n, M), with :math:`V = K_{nu}L_u^{-\top}` of the n rows of the terms."""
    for rows in _pieces(len(out) if len(chosen) else 0, len(chosen)):
        own = np.arange(rows.start, rows.stop)
        out[rows] = half_solve(factor, Patches(terms, beta, own[None], chosen[None]).correlation[0].T).T
    return out


def features_gradient(
    terms: Sequence[Term], beta: Array, chosen: Positions, factor: Array, v: Array, v_bar: Array
) -> Array:
    r"""Carry the gradient of a function in V, shape (N, M), back to the ranges, shape (p,).

    :math:`\bar K_{nu} = \bar V L_u^{-1}` and
    :math:`\bar K_{uu} = -L_u^{-\top}\operatorname{sym}\Phi(\bar V^\top V)L_u^{-1}`, where :math:`\Phi` keeps the lower
    triangle and half of the diagonal. ``v_bar`` is overwritten.
    """
    out = np.zeros(len(beta))
    if not len(chosen):
        return out
    inner = np.tril(v_bar.T @ v)
    inner[np.diag_indices_from(inner)] *= 0.5
    half = solve_triangular(factor, -0.5 * (inner + inner.T), lower=True, trans="T")
    k_bar = solve_triangular(factor, half.T, lower=True, trans="T")
    np.fill_diagonal(k_bar, 0.0)  # the diagonal of K_uu is constant
    for rows in _pieces(len(chosen), len(chosen)):
        Patches(terms, beta, chosen[None, rows], chosen[None]).contract(k_bar[None, rows], out)
    for rows in _pieces(len(v), len(chosen)):
        piece = solve_triangular(factor, v_bar[rows].T, lower=True, trans="T").T
        own = np.arange(rows.start, rows.stop)
        Patches(terms, beta, own[None], chosen[None]).contract(piece[None], out)
    return out


def _pieces(n: int, width: int) -> Iterator[slice]:
    """Yield slices of n rows whose pieces of so many columns fit a core's cache, or nearly."""
    step = max(16, _INDUCING_PIECE // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


Mask = NDArray[np.bool_]
T = TypeVar("T")

_PIECE = 1 << 20  # numbers of columns F that are gathered at a time


@dataclass(frozen=True)
class WhiteningPlan:
    """What is chosen for some ranges and then held while they change, so that the posterior stays smooth.

    Attributes
    ----------
    chosen : ndarray of int, shape (M,)
        Inducing rows.
    index : ndarray of int, shape (N, m + 1)
        The neighbors of every row, -1 where there are none, and the row itself.
    """

    chosen: Positions
    index: Positions


@dataclass(frozen=True)
class Regression:
    r"""The whitened regression: q trend columns, M features, k targets.

    Attributes
    ----------
    log_det : float
        :math:`\log|\tilde R|`.
    precision_factor : ndarray of shape (M, M)
        Lower triangle :math:`L_B` of :math:`B = G_{VV} + I`.
    shared : ndarray of shape (M, q)
        :math:`L_B^{-1}G_{VH}`.
    trend_factor : ndarray of shape (q, q)
        Lower triangle of :math:`A = H^\top\tilde R^{-1}H`, the Schur complement of H.
    theta, xi : ndarray of shapes (q, k) and (M, k)
    s2 : ndarray of shape (k,)
    """

    log_det: float
    precision_factor: Array
    shared: Array
    trend_factor: Array
    theta: Array
    xi: Array
    s2: Array


class WhiteningPiece(NamedTuple):
    """The blocks of B rows, b = m + 1 rows each, of c = q + M + k columns; rows that are missing are zero.

    ``u`` is (B, b), ``whitened`` (B, c), ``columns`` (B, b, c), ``inverse`` of the residual (B, b, b),
    ``padding`` (B, b).
    """

    u: Array
    whitened: Array
    columns: Array
    inverse: Array
    patches: Patches
    padding: Mask


class Whitening:
    """One evaluation: features, Gram matrix and regression at some ranges.

    Attributes
    ----------
    columns, whitened : ndarray of shape (N, c)
        F = [H, V, y], and the same whitened; V has the ``places``, a slice.
    factor : ndarray of shape (M, M)
        Of the inducing rows.
    u : ndarray of shape (N, m + 1)
    gram : ndarray of shape (c, c)
    found : Regression
    """

    def __init__(self, problem: Problem, plan: WhiteningPlan, beta: Array, nugget: float, n_threads: int = 1):
        self.problem, self.plan, self.beta, self.nugget, self.n_threads = problem, plan, beta, nugget, n_threads
        (n, q), k, m = problem.trend.shape, problem.y.shape[1], len(plan.chosen)
        self.places = slice(q, q + m)
        self.factor = inducing_factor(problem.terms, beta, plan.chosen)
        self.columns = np.empty((n, q + m + k))
        self.columns[:, :q], self.columns[:, q + m :] = problem.trend, problem.y
        features(problem.terms, beta, plan.chosen, self.factor, self.columns[:, self.places])
        self.u, self.whitened = np.empty(plan.index.shape), np.empty(self.columns.shape)
        for rows, piece in self.each(lambda rows: (rows, self.piece(rows)[:2])):
            self.u[rows], self.whitened[rows] = piece
        self.gram = self.whitened.T @ self.whitened
        self.found = _regression(self.gram, q, m, -2.0 * float(np.log(self.u[:, -1]).sum()))

    def each(self, work: Callable[[slice], T]) -> Iterator[T]:
        """Yield what ``work`` gives for slices of rows, in their order; it runs in threads if requested."""
        n, b = self.plan.index.shape
        # gathered columns of so many rows fit the memory that a piece may take
        step = max(1, _PIECE // (b * (b + self.columns.shape[1])))
        pieces = [slice(start, min(n, start + step)) for start in range(0, n, step)]
        if self.n_threads < 2:
            yield from map(work, pieces)
            return
        with one_blas_thread(), ThreadPoolExecutor(self.n_threads) as pool:
            for start in range(0, len(pieces), 4 * self.n_threads):  # few at a time: results wait in memory
                yield from pool.map(work, pieces[start : start + 4 * self.n_threads])

    def piece(self, rows: slice) -> WhiteningPiece:
        """Whiten the columns of some rows."""
        index = self.plan.index[rows]
        padding = index < 0
        columns = self.columns[np.maximum(index, 0)]
        columns[padding] = 0.0
        patches, matrix = residual_patches(
            self.problem.terms, self.beta, self.nugget, np.maximum(index, 0), padding, columns[:, :, self.places]
        )
        try:
            inverse: Array = np.linalg.inv(matrix).astype(float, copy=False)
        except np.linalg.LinAlgError:
            raise NotPositiveDefinite("The residual of a row and its neighbors is singular.") from None
        last = inverse[:, -1, -1]
        if not (last > 0.0).all():
            raise NotPositiveDefinite("The residual of a row and its neighbors is not positive definite.")
        u = inverse[:, :, -1] / np.sqrt(last)[:, None]
        return WhiteningPiece(u, (u[:, None] @ columns)[:, 0], columns, inverse, patches, padding)


def _regression(gram: Array, q: int, m: int, log_det: float) -> Regression:
    """Solve the whitened regression from its Gram matrix of [H, V, y]; ``log_det`` is that of the residual."""
    h, v, y = slice(0, q), slice(q, q + m), slice(q + m, None)
    precision = gram[v, v] + np.eye(m)
    factorize(precision)
    precision = np.tril(precision)
    half = half_solve(precision, np.hstack([gram[v, h], gram[v, y]]))
    shared, half_y = half[:, :q], half[:, q:]
    trend = np.ascontiguousarray(gram[h, h] - shared.T @ shared)
    factorize(trend)
    trend = np.tril(trend)
    right = gram[h, y] - shared.T @ half_y
    theta = solve(trend, right)
    s2 = np.diag(gram[y, y]) - np.einsum("ij,ij->j", half_y, half_y) - np.einsum("ij,ij->j", theta, right)
    if not (s2 > 0.0).all():
        raise NotPositiveDefinite("Rounding leaves nothing of the residual sum of squares.")
    xi = solve(precision, gram[v, y] - gram[v, h] @ theta)
    log_det += 2.0 * float(np.log(np.diag(precision)).sum())
    return Regression(log_det, precision, shared, trend, theta, xi, s2)


def residual_patches(
    terms: Sequence[Term], beta: Array, nugget: float, index: Positions, padding: Mask, v: Array
) -> tuple[Patches, Array]:
    r"""Return patches among rows ``index`` (B, b), and their :math:`C - VV^\top + \nu I`, shape (B, b, b).

    ``v`` of shape (B, b, M) holds their features; rows where ``padding`` is true are uncorrelated with all others.
    """
    patches = Patches(terms, beta, index, index)
    matrix = patches.correlation - v @ v.swapaxes(1, 2)
    b = np.arange(index.shape[1])
    matrix[:, b, b] = 1.0 + nugget - np.einsum("nij,nij->ni", v, v)
    if padding.any():
        matrix[padding] = 0.0
        matrix.swapaxes(1, 2)[padding] = 0.0
        matrix[:, b, b] += padding
    return patches, matrix
