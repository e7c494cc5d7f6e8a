r"""Predictions by inducing rows and neighbors: new points come last in the order.

With c the neighbors of a new point among the training points, K their residual matrix, r its residual correlation with
them, v its features and h its trend columns, :math:`b = K^{-1}r` and :math:`a = v - V_c^\top b`. The prediction of
output j is Student-t with

.. math:: (h - H_c^\top b)^\top\theta_j + b^\top y_{j,c} + a^\top\xi_j , \qquad
          \sigma_j^2\,\bigl[1 - v^\top v - b^\top r + \nu + a^\top B^{-1}a + \tilde h^\top A^{-1}\tilde h\bigr] ,

where :math:`\tilde h = h - H_c^\top b - G_{HV}B^{-1}a`; all other symbols are those of ``vecchia.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

import numpy as np
from scipy.linalg import solve_triangular

from swwl.errors import InputError
from swwl.gp.blocks import Distances
from swwl.gp.correlations import Array
from swwl.gp.factors import Term, cross_correlation
from swwl.gp.joint import parts_of
from swwl.gp.prediction import Prediction
from swwl.gp.solvers.base import Slopes, leave_one_out
from swwl.gp.solvers.cholesky import half_solve, triangle
from swwl.gp.solvers.neighbors import Patches, Positions, nearest, scaled_points
from swwl.gp.solvers.whitening import features, residual_patches
from swwl.storage.checks import Count, NotNegative, PositiveOrInfinite, Shape, contiguous, restored

_PIECE = 1 << 20  # numbers of features that are gathered at a time
_MOST_JOINT = 8192  # neighbors of all points of a joint prediction
_TRIANGLES = ("inducing_factor", "precision_factor")  # of which a state holds the lower halves


@dataclass(frozen=True)
class _Conditioned:
    """Some new points given their neighbors: weights b (B, m) of rows ``near`` (B, m), ``own`` residual variance (B,).

    ``a`` (B, M) and ``h`` (B, q) are what is left of features ``v`` (B, M) and trend; ``matrix`` (B, m, m) and
    ``v_near`` (B, m, M) are residual and features of the neighbors.
    """

    rows: slice
    near: Positions
    b: Array
    own: Array
    a: Array
    h: Array
    v: Array
    matrix: Array
    v_near: Array


@dataclass(frozen=True)
class VecchiaPosterior:
    r"""A fitted model as plain arrays, y in its own units; symbols are those of ``vecchia.py``.

    Attributes
    ----------
    beta : ndarray of shape (p,)
    nugget : float
    theta : ndarray of shape (q, k)
    sigma2 : ndarray of shape (k,)
    df : float
        Degrees of freedom; inf for maximum likelihood.
    xi : ndarray of shape (M, k)
        Coefficients of the features.
    chosen : ndarray of int, shape (M,)
        Inducing rows.
    inducing_factor, precision_factor : ndarray of shape (M, M)
        Lower triangles of :math:`K_{uu}` and of :math:`B`.
    shared : ndarray of shape (M, q)
    trend_factor : ndarray of shape (q, q)
    trend : ndarray of shape (N, q)
    y, alpha : ndarray of shape (N, k)
    inverse_diagonal : ndarray of shape (N,)
    trend_solve : ndarray of shape (N, q)
    n_neighbors : int
        Of a new point.
    keep_features : bool
        Whether V of all training points stays in memory once it is known; elsewhere it is computed for neighbors.
    """

    beta: Annotated[Array, Shape("p", above=0)]
    nugget: NotNegative
    theta: Annotated[Array, Shape("qk")]
    sigma2: Annotated[Array, Shape("k", above=0)]
    df: PositiveOrInfinite
    xi: Annotated[Array, Shape("mk")]
    chosen: Annotated[Positions, Shape("m", "i", least=0)]
    inducing_factor: Annotated[Array, Shape("mm")]
    precision_factor: Annotated[Array, Shape("mm")]
    shared: Annotated[Array, Shape("mq")]
    trend_factor: Annotated[Array, Shape("qq")]
    trend: Annotated[Array, Shape("nq")]
    y: Annotated[Array, Shape("nk")]
    alpha: Annotated[Array, Shape("nk")]
    inverse_diagonal: Annotated[Array, Shape("n")]
    trend_solve: Annotated[Array, Shape("nq")]
    n_neighbors: Count
    keep_features: bool = True
    _known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def remember(self, terms: Sequence[Term], v: Array | None) -> None:
        """Keep the training terms and, where they are requested, their features (N, M), which no state holds."""
        self._known.update(terms=list(terms))
        if v is not None:
            self._known["features"] = v

    def mean(self, cross: Sequence[Term], trend: Array) -> Array:
        """Return the predictive location of M new points, shape (M, k)."""
        out = np.empty((len(trend), self.y.shape[1]))
        for part in self._conditioned(cross, trend):
            out[part.rows] = self._location(part)
        return out

    def predict(self, cross: Sequence[Term], trend: Array, include_nugget: bool) -> Prediction:
        """Predict M new points, each by itself, arrays of shape (M, k)."""
        mean, unit = np.empty((len(trend), self.y.shape[1])), np.empty(len(trend))
        for part in self._conditioned(cross, trend):
            mean[part.rows] = self._location(part)
            half, rest = self._solved(part.a, part.h)
            unit[part.rows] = part.own + np.einsum("ij,ij->j", half, half) + np.einsum("ij,ij->j", rest, rest)
        unit = np.maximum(unit, 0.0) + (self.nugget if include_nugget else 0.0)
        return Prediction(mean, np.sqrt(unit[:, None] * self.sigma2), self.df)

    def predict_joint(
        self, cross: Sequence[Term], trend: Array, among: Sequence[Term], include_nugget: bool
    ) -> tuple[Array, Array]:
        """Return the location (M, k) and the joint squared scales (k, M, M); ``among`` is of the new points.

        Every point is conditioned on its own neighbors as in `predict`, so both give the same variances. Where there
        are more than 8192 of these in all, what they leave of different points is taken as independent, so that
        covariances are those of trend and features.
        """
        nothing = np.empty((0, 0, 0))  # features of all neighbors at once would fill the memory
        parts = [replace(part, matrix=nothing, v_near=nothing) for part in self._conditioned(cross, trend)]
        union, place = np.unique(np.vstack([part.near for part in parts]), return_inverse=True)
        if len(union) > _MOST_JOINT:
            unit = np.diag(np.concatenate([part.own for part in parts]))
        else:
            unit = self._joint_residual(cross, among, parts, union, place)
        half, rest = self._solved(np.vstack([p.a for p in parts]), np.vstack([p.h for p in parts]))
        unit += half.T @ half + rest.T @ rest
        unit = 0.5 * (unit + unit.T)
        np.fill_diagonal(unit, np.maximum(np.diag(unit), 0.0) + (self.nugget if include_nugget else 0.0))
        return np.vstack([self._location(part) for part in parts]), self.sigma2[:, None, None] * unit

    def _joint_residual(
        self, cross: Sequence[Term], among: Sequence[Term], parts: Sequence[_Conditioned], union: Positions, place: Any
    ) -> Array:
        """Return the covariances (M, M) of what neighbors leave; their ``union`` holds the ``place`` of each."""
        near = np.vstack([part.near for part in parts])
        n_new = len(near)
        own = np.vstack([part.v for part in parts])
        unit = _dense(among, self.beta, n_new) - own @ own.T
        if not len(union):
            return unit
        b, v = np.zeros((n_new, len(union))), self._features(cross, union[None])[0]
        np.put_along_axis(b, place.reshape(near.shape), np.vstack([part.b for part in parts]), axis=1)
        known = [term.take(union) for term in self._terms(cross)]
        residual = _dense(known, self.beta, len(union)) - v @ v.T
        residual.flat[:: len(union) + 1] += self.nugget
        to_known = [term.take(np.arange(n_new), union).held() for term in cross]
        across = b @ (cross_correlation(to_known, self.beta, b.shape) - own @ v.T).T
        return np.asarray(unit + b @ residual @ b.T - across - across.T)

    def slopes(self, cross: Sequence[Term], trend: Array) -> Slopes:
        r"""Predict one new observation, with derivatives; its neighbors are held fixed.

        With :math:`e = y_c - H_c\theta - V_c\xi` the mean has the derivatives :math:`K^{-1}e` in r and
        :math:`\xi - V_c^\top K^{-1}e` in v. Those of the bracket are, with :math:`\bar a` and :math:`\bar h` its
        derivatives in a and h, :math:`\bar r = -2b - K^{-1}(V_c\bar a + H_c\bar h)` and
        :math:`-2v + \bar a - V_c^\top\bar r`; v is :math:`L_u^{-1}` times the correlations with the inducing rows.
        """
        (part,) = self._conditioned(cross, trend)
        near, v_near, h_near = part.near[0], part.v_near[0], self.trend[part.near[0]]
        half, rest = self._solved(part.a, part.h)
        unit = float(part.own[0] + np.sum(half**2) + np.sum(rest**2)) + self.nugget
        in_h = np.zeros((len(self.theta), 1))
        if len(rest):
            in_h = 2.0 * solve_triangular(self.trend_factor, rest, lower=True, trans="T")
            half = half - 0.5 * self.shared @ in_h
        in_a = 2.0 * solve_triangular(self.precision_factor, half, lower=True, trans="T") if len(half) else half
        left = np.hstack([self.y[near] - h_near @ self.theta - v_near @ self.xi, -v_near @ in_a - h_near @ in_h])
        in_r = np.linalg.solve(part.matrix[0], left) if len(near) else left
        in_r[:, -1:] -= 2.0 * part.b.T
        in_v = np.hstack([self.xi, in_a - 2.0 * part.v.T]) - v_near.T @ in_r
        out = np.zeros((len(self.y), in_r.shape[1]))
        out[near] = in_r
        if len(in_v):
            out[self.chosen] += solve_triangular(self.inducing_factor, in_v, lower=True, trans="T")
        cross = [term.held() for term in cross]
        r = cross_correlation(cross, self.beta, (1, len(self.y)))
        return Slopes(self._location(part)[0], unit, out[:, :-1], out[:, -1:], in_h, cross, r[0])

    def leave_one_out(self) -> Prediction:
        """Predict every training observation from all others, arrays of shape (N, k)."""
        projected = self.inverse_diagonal - np.einsum("ij,ij->i", self.trend_solve, self.trend_solve)
        return leave_one_out(self.y, self.alpha, self.inverse_diagonal, projected, self.sigma2, self.df)

    def state(self) -> dict[str, Any]:
        """Return the fields; features are computed again from the training points."""
        if any(isinstance(p, Distances) for term in self._known.get("terms", ()) for p in parts_of(term.block)):
            raise InputError(
                "A model of solver='vecchia' on a matrix of distances cannot be saved: its predictions need them. "
                "Give coordinates or rows in their place (swwl.gp.Coordinates, swwl.gp.RowDistances), or take "
                "solver='exact'."
            )
        found = {f.name: getattr(self, f.name) for f in fields(self) if not f.name.startswith("_")}
        half = np.tril_indices(len(self.chosen))
        return found | {name: found[name][half] for name in _TRIANGLES}

    def _terms(self, cross: Sequence[Term]) -> list[Term]:
        """Return the terms among the training points: as fit saw them, or as new points know them."""
        if "terms" not in self._known:
            blocks = [term.block.among_columns() for term in cross]
            known = [Term(t.correlation, block) for t, block in zip(cross, blocks, strict=True) if block is not None]
            if len(known) < len(cross):
                raise InputError(
                    "A restored model of solver='vecchia' needs the training points, but distances to them are given: "
                    "give coordinates or rows of both (swwl.gp.Coordinates, swwl.gp.RowDistances)."
                )
            self._known["terms"] = known
        terms: list[Term] = self._known["terms"]
        return terms

    def _features(self, cross: Sequence[Term], rows: Positions) -> Array:
        """Return V of some training points (B, m), shape (B, m, M)."""
        terms, m = self._terms(cross), len(self.chosen)
        if not self.keep_features:
            distinct, place = np.unique(rows, return_inverse=True)
            some = [term.take(distinct, slice(None)) for term in terms]
            out = features(some, self.beta, self.chosen, self.inducing_factor, np.empty((len(distinct), m)))
            return out[place.reshape(rows.shape)]
        if "features" not in self._known:
            out = np.empty((len(self.y), m))
            self._known["features"] = features(terms, self.beta, self.chosen, self.inducing_factor, out)
        v: Array = self._known["features"]
        return v[rows]

    def _conditioned(self, cross: Sequence[Term], trend: Array) -> Iterator[_Conditioned]:
        """Condition new points on their neighbors, piece by piece."""
        m = len(self.chosen)
        if "points" not in self._known:
            self._known["points"] = scaled_points(cross, self.beta)
        near = nearest(cross, self.beta, self.n_neighbors, self._known["points"])
        step = max(1, _PIECE // ((near.shape[1] + 1) * (near.shape[1] + 1 + m)))
        terms = self._terms(cross) if near.shape[1] else []
        for start in range(0, max(len(trend), 1), step):  # one piece where there are no points
            rows = slice(start, min(len(trend), start + step))
            here, points = near[rows], np.arange(rows.start, rows.stop)
            part = [term.take(points, slice(None)) for term in cross]
            own = features(part, self.beta, self.chosen, self.inducing_factor, np.empty((len(points), m)))
            unit = 1.0 - np.einsum("ij,ij->i", own, own)
            if not near.shape[1]:
                none = np.zeros((len(points), 0, 0)), np.zeros((len(points), 0, m))
                yield _Conditioned(rows, here, np.zeros(here.shape), unit, own, trend[rows], own, *none)
                continue
            v_near = self._features(cross, here)
            _, matrix = residual_patches(terms, self.beta, self.nugget, here, np.zeros(here.shape, dtype=bool), v_near)
            r = Patches(cross, self.beta, points[:, None], here).correlation[:, 0]
            r = r - (v_near @ own[:, :, None])[:, :, 0]
            b: Array = np.linalg.solve(matrix, r[:, :, None])[:, :, 0].astype(float, copy=False)
            a = own - (b[:, None] @ v_near)[:, 0]
            h = trend[rows] - (b[:, None] @ self.trend[here])[:, 0]
            yield _Conditioned(rows, here, b, unit - np.einsum("ij,ij->i", b, r), a, h, own, matrix, v_near)

    def _location(self, part: _Conditioned) -> Array:
        return part.h @ self.theta + part.a @ self.xi + (part.b[:, None] @ self.y[part.near])[:, 0]

    def _solved(self, a: Array, h: Array) -> tuple[Array, Array]:
        """Return L_B⁻¹aᵀ of shape (M, B), and the trend's part A⁻¹h̃ of shape (q, B)."""
        half = half_solve(self.precision_factor, a.T)
        if not h.shape[1] or np.isinf(self.df):
            return half, np.zeros((0, len(a)))
        return half, half_solve(self.trend_factor, h.T - self.shared.T @ half)


def posterior_from_state(state: dict[str, Any]) -> VecchiaPosterior:
    """Undo `VecchiaPosterior.state`; entries of other names are ignored."""
    halves = {name: triangle(name, state[name]) for name in _TRIANGLES}
    posterior = restored(VecchiaPosterior, contiguous(state) | halves)
    chosen, n = posterior.chosen, len(posterior.y)
    if chosen.max(initial=-1) >= n:
        raise InputError(f"chosen holds {chosen.min()} to {chosen.max()}, but rows of {n} are expected")
    return posterior


def _dense(terms: Sequence[Term], beta: Array, n: int) -> Array:
    """Return the correlations among n points, ones on the diagonal."""
    out = cross_correlation([term.held() for term in terms], beta, (n, n))
    np.fill_diagonal(out, 1.0)
    return out
