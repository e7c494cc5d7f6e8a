r"""Inducing rows: a low-rank part :math:`VV^\top` of the correlation matrix, and the gradient through it.

With rows u, :math:`L_u L_u^\top = K_{uu} + \epsilon I` and :math:`V = K_{nu}L_u^{-\top}`. The rows are the pivots of a
Cholesky factorization, each the row whose variance the earlier ones explain least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import solve_triangular

from swwl.gp.correlations import Array
from swwl.gp.factors import Term, cross_correlation
from swwl.gp.solvers.cholesky import factorize, half_solve
from swwl.gp.solvers.patches import Patches, Positions

_JITTER = 1e-10  # ε: far above rounding, far below any nugget that is estimated
_ENOUGH = 0.1  # of the nugget: residual variances below it need no further row
_CANDIDATES = 8  # times as many rows are looked at as are wanted
_PIECE = 1 << 17  # correlations that are computed at a time


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
    step = max(16, _PIECE // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))
