r"""Projected quantiles in double precision, and the transpose of their derivative, beside ``sliced.py``.

A quantile is a combination of the sorted projections of a few points, so a gradient in it goes back to these points,
and through the levels at which they stand to the masses of all points before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.embedding.sliced import order_statistics, quantile_levels
from swwl.errors import InputError

Array = NDArray[np.float64]
Order = NDArray[np.int64]


# Bins into which the projections of points fall; for means, only points in the bin of an edge are sorted.
_BINS = 4096
# Projections that are made at a time, and points whose gradients are summed at a time, so that they stay in the cache.
_PROJECTIONS, _POINTS = 8, 1 << 14


@dataclass(frozen=True)
class _Between:
    """Quantiles between two sorted points each: which points, the share of the upper one, and how steep the levels are.

    Attributes
    ----------
    low, high : ndarray of shape (P, Q)
        Numbers of points.
    share : ndarray of shape (P, Q)
    masses : _Levels or None
        Where points weigh what they weigh; None where all weigh the same.
    """

    low: Order
    high: Order
    share: Array
    masses: _Levels | None = None


@dataclass(frozen=True)
class _Levels:
    """The levels of sorted, weighted points: their order (P, n), levels and the slopes (P, Q) of quantiles in them."""

    order: Order
    places: Order  # (P, Q), of the lower point in the order
    levels: Array  # (P, n)
    totals: Array  # (P,)
    slopes: Array


@dataclass(frozen=True)
class _Means:
    """Means of the quantile function over equal parts: in which part each point lies, and which points lie in two."""

    points: Array  # (n, s)
    parts: NDArray[np.int32]  # (P, n): the last one that a point lies in, counted through all projections
    shares: Array  # (n,): masses, with sum 1
    total: float  # of the masses before that
    ends: Order  # (P, Q - 1): which point's share each edge between parts cuts
    beyond: Array  # (P, Q - 1): what of it lies before the edge
    heights: Array  # (P, Q - 1): where it lies


class Quantiles:
    r"""Quantiles of the projections of one cloud, with all that pulls gradients back to its points.

    Parameters
    ----------
    points : ndarray of shape (n, s)
    directions : ndarray of shape (s, P)
    n_quantiles : int
    rule : {"linear", "lower", "midpoint", "mean"}
        As in :func:`swwl.embedding.sliced.projected_quantiles`.
    weights : ndarray of shape (n,), optional
        Masses of the points. With them, "lower" and "midpoint" are steps: they jump where masses change, and are
        refused.
    continuous : bool
        Whether the points stand for a continuous measure, as in ``measure_quantiles``. Then all rules but "mean"
        interpolate the distribution function between the points, at the levels of the rule.

    Attributes
    ----------
    values : ndarray of shape (Q, P)

    Examples
    --------
    >>> line, along = np.array([[0.0], [4.0], [1.0]]), np.array([[1.0]])
    >>> found = Quantiles(line, along, 3)
    >>> found.values.ravel().tolist()
    [0.0, 1.0, 4.0]
    >>> found.pull_back(np.array([[[1.0]], [[10.0]], [[100.0]]]))[0].ravel().tolist()
    [1.0, 100.0, 10.0]
    """

    def __init__(
        self,
        points: Array,
        directions: Array,
        n_quantiles: int,
        rule: str = "linear",
        weights: Array | None = None,
        *,
        continuous: bool = False,
    ):
        check_rule(rule, weights is not None, continuous)
        self._n = len(points)
        self._directions = directions
        self._kept = None
        if weights is not None and not (weights > 0).all():
            self._kept = np.flatnonzero(weights > 0)
            points, weights = points[self._kept], weights[self._kept]
        self.values: Array
        self._weighted = weights is not None
        self._found: _Between | _Means
        if rule == "mean":
            self.values, self._found = _means(points, directions, n_quantiles, weights)
        elif weights is None:
            self.values, self._found = _picked(directions.T @ points.T, n_quantiles, rule)
        else:
            levels = quantile_levels(n_quantiles, rule)
            self.values, self._found = _interpolated(directions.T @ points.T, levels, weights)

    def pull_back(self, gradient: Array) -> tuple[Array, Array | None]:
        """Return the gradients in the points and in their masses.

        Parameters
        ----------
        gradient : ndarray of shape (Q, P, m)
            In the quantiles, of m functions.

        Returns
        -------
        in_points : ndarray of shape (n, s, m)
        in_masses : ndarray of shape (n, m), or None
            None where points have no masses.
        """
        m = gradient.shape[2]
        n = self._n if self._kept is None else len(self._kept)
        masses = np.zeros((n, m))
        if isinstance(self._found, _Means):
            points, masses = _means_back(self._found, self._directions, gradient)
        else:
            along = np.ascontiguousarray(np.moveaxis(gradient, 2, 0).swapaxes(1, 2))  # (m, P, Q)
            points = np.stack([_points_back(self._found, own, n) @ self._directions.T for own in along], axis=2)
            if self._found.masses is not None:
                masses = np.stack([_levels_back(self._found, self._found.masses, own) for own in along], axis=1)
        if self._kept is not None:
            whole, whole_masses = np.zeros((self._n, *points.shape[1:])), np.zeros((self._n, m))
            whole[self._kept], whole_masses[self._kept] = points, masses
            points, masses = whole, whole_masses
        return points, masses if self._weighted else None


def check_rule(rule: str, weighted: bool, continuous: bool = False) -> None:
    """Refuse a rule whose quantiles jump where masses change.

    Examples
    --------
    >>> check_rule("midpoint", weighted=True)
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: quantiles='midpoint' jumps where the weights of nodes change, so it has no derivatives; ...
    """
    if weighted and not continuous and rule in ("lower", "midpoint"):
        raise InputError(
            f"quantiles={rule!r} jumps where the weights of nodes change, so it has no derivatives; fit the model with "
            f'quantiles="linear" or "mean", or with node_weights="uniform".'
        )


def sorting_order(values: Array) -> Order:
    """Return what sorts every row (P, n): sorting numbers that carry their places is faster than finding their order.

    Values are rounded to what 62 bits hold beside the place: at a million, 42 bits of the range of a row.

    Examples
    --------
    >>> sorting_order(np.array([[0.5, -1.0, 3.0]])).tolist()
    [[1, 0, 2]]
    """
    n = values.shape[1]
    bits = max(1, (n - 1).bit_length())
    places = np.arange(n)
    keys = np.empty(values.shape, np.int64)
    for row, key in zip(values, keys, strict=True):  # one by one: they stay in the cache
        low = row.min()
        scaled = row - low
        scaled *= 2.0 ** (62 - bits) / (float(row.max() - low) or 1.0)
        key[:] = scaled  # rounded down
        key <<= bits
        key |= places
        key.sort()
        key &= (1 << bits) - 1
    return keys


def _at(values: NDArray[Any], order: Order) -> NDArray[Any]:
    return np.take_along_axis(values, order, axis=1)


def _summed(places: Order, amounts: Array, size: int) -> Array:
    """Sum amounts at places of an array of some size."""
    return np.asarray(np.bincount(places.ravel(), amounts.ravel(), size), dtype=np.float64)


def _projections(points: Array, directions: Array) -> Iterator[tuple[int, Array]]:
    """Yield projections (n,) of points with their numbers, a few of which are made at a time."""
    across, rows = np.ascontiguousarray(directions.T), np.ascontiguousarray(points.T)
    for start in range(0, len(across), _PROJECTIONS):
        yield from enumerate(across[start : start + _PROJECTIONS] @ rows, start)


def _reached(row: Array, masses: Array, levels: Array, passed: NDArray[np.int32]) -> tuple[Order, Array]:
    """Return the points at which masses that are summed from the lowest value on reach some levels.

    Only points in the bins of these levels are sorted; of the others it is enough to know their bins.

    Parameters
    ----------
    row : ndarray of shape (n,)
        Where the points lie.
    masses : ndarray of shape (n,)
    levels : ndarray of shape (L,)
        Ascending, from 0 to less than the sum of the masses.
    passed : ndarray of shape (n,)
        Is filled with the number of levels that are reached at a point or before it.

    Returns
    -------
    reached : ndarray of shape (L,)
        Numbers of points.
    beyond : ndarray of shape (L,)
        Levels less the masses of all points before that.

    Examples
    --------
    >>> row, masses, passed = np.array([5.0, 1.0, 3.0]), np.array([1.0, 2.0, 4.0]), np.empty(3, np.int32)
    >>> reached, beyond = _reached(row, masses, np.array([0.5, 2.0, 6.5]), passed)
    >>> reached.tolist(), beyond.tolist(), passed.tolist()
    ([1, 2, 0], [0.5, 0.0, 0.5], [3, 1, 2])
    """
    low = row.min()
    width = float(row.max() - low)
    scaled = row - low
    scaled *= _BINS * (1 - 1e-12) / width if width > np.finfo(float).tiny * _BINS else 0.0
    bins = scaled.astype(np.int32).astype(np.intp)  # faster than in one step
    below = np.zeros(_BINS + 1)
    np.cumsum(np.bincount(bins, masses, _BINS), out=below[1:])
    own = np.clip(np.searchsorted(below, levels, "right") - 1, 0, _BINS - 1)
    sorted_bins = np.zeros(_BINS, bool)
    sorted_bins[own] = True
    inside = np.flatnonzero(sorted_bins[bins])
    inside = inside[np.argsort(row[inside])]
    places = bins[inside]
    before = np.cumsum(masses[inside]) - masses[inside]
    before += below[places] - before[np.searchsorted(places, places)]
    at = np.maximum(np.searchsorted(before, levels, "right") - 1, 0)
    np.take(np.searchsorted(own, np.arange(_BINS)).astype(passed.dtype), bins, out=passed)
    passed[inside] = np.searchsorted(at, np.arange(len(inside)), "right")
    return inside[at], levels - before[at]


def _picked(projected: Array, n_quantiles: int, rule: str) -> tuple[Array, _Between]:
    below, above, share = order_statistics(projected.shape[1], n_quantiles, rule)
    order = sorting_order(projected)
    low, high = order[:, below], order[:, above]
    shares = np.broadcast_to(share if rule == "linear" else np.zeros_like(share), low.shape)
    return ((1 - shares) * _at(projected, low) + shares * _at(projected, high)).T, _Between(low, high, shares)


def _interpolated(projected: Array, levels: Array, weights: Array) -> tuple[Array, _Between]:
    n = projected.shape[1]
    if n == 1:
        only = np.zeros((len(projected), len(levels)), np.int64)
        return projected.repeat(len(levels), axis=1).T, _Between(only, only, np.zeros(only.shape))
    order = sorting_order(projected)
    masses = weights[order]
    tau = np.cumsum(masses, axis=1)
    tau -= 0.5 * (masses + masses[:, :1])
    totals = tau[:, -1].copy()
    tau /= totals[:, None]
    places = np.array([np.searchsorted(row, levels, "right") - 1 for row in tau])
    np.clip(places, 0, n - 2, out=places)
    low, high = _at(order, places), _at(order, places + 1)
    start, gap = _at(tau, places), _at(tau, places + 1) - _at(tau, places)
    share = np.clip((levels - start) / gap, 0.0, 1.0)
    below, above = _at(projected, low), _at(projected, high)
    inside = (levels >= start) & (levels <= start + gap)
    slopes = np.where(inside, (above - below) / gap, 0.0)
    found = _Between(low, high, share, _Levels(order, places, tau, totals, slopes))
    return (below + share * (above - below)).T, found


def _points_back(found: _Between, gradient: Array, n: int) -> sparse.csr_array:
    """Return what each point has of a gradient (P, Q) along each direction, (n, P)."""
    rows = np.concatenate([found.low.ravel(), found.high.ravel()])
    columns = np.tile(np.repeat(np.arange(len(gradient)), gradient.shape[1]), 2)
    shares = np.concatenate([((1 - found.share) * gradient).ravel(), (found.share * gradient).ravel()])
    return sparse.coo_array((shares, (rows, columns)), shape=(n, len(gradient))).tocsr()


def _levels_back(found: _Between, own: _Levels, gradient: Array) -> Array:
    """Return the gradient in the masses, (n,): a quantile falls where the levels of its two points rise."""
    n_projections, n = own.order.shape
    pull = own.slopes * gradient
    first = np.arange(n_projections)[:, None] * n + own.places
    size = n_projections * n
    in_levels = _summed(first, (found.share - 1) * pull, size)
    in_levels -= _summed(first + 1, found.share * pull, size)
    in_levels = in_levels.reshape(n_projections, n) / own.totals[:, None]
    in_levels[:, -1] -= (in_levels * own.levels).sum(axis=1)
    in_masses = np.cumsum(in_levels[:, ::-1], axis=1)[:, ::-1] - 0.5 * in_levels
    in_masses[:, 0] -= 0.5 * in_levels.sum(axis=1)
    return _summed(own.order, in_masses, n)


def _means(points: Array, directions: Array, n_quantiles: int, weights: Array | None) -> tuple[Array, _Means]:
    n, n_projections = len(points), directions.shape[1]
    total = float(n) if weights is None else float(weights.sum())
    shares = np.full(n, 1.0 / n) if weights is None else weights / total
    edges = np.arange(1, n_quantiles) / n_quantiles
    values = np.empty((n_projections, n_quantiles))
    parts = np.empty((n_projections, n), np.int32)
    ends = np.empty((n_projections, len(edges)), np.int64)
    beyond, heights = np.empty(ends.shape), np.empty(ends.shape)
    for p, row in _projections(points, directions):
        ends[p], beyond[p] = _reached(row, shares, edges, parts[p])
        heights[p] = row[ends[p]]
        values[p] = np.bincount(parts[p], shares * row, n_quantiles)
        values[p] += np.diff(beyond[p] * heights[p], prepend=0.0, append=0.0)
        parts[p] += p * n_quantiles
    return n_quantiles * values.T, _Means(points, parts, shares, total, ends, beyond, heights)


def _means_back(found: _Means, directions: Array, gradient: Array) -> tuple[Array, Array]:
    r"""Return what each point has of a gradient (Q, P, m), (n, s, m), and the gradient in masses, (n, m).

    With :math:`G(t) = \sum_{j<k} m_j x_j + (t - \sum_{j<k} m_j) x_k` the integral of the quantile function up to t, in
    point k: :math:`\partial G/\partial m_j = x_j - x_k` for all j before k.
    """
    (n_quantiles, n_projections, m), (n, s) = gradient.shape, found.points.shape
    slopes = n_quantiles * np.swapaxes(gradient, 0, 1)  # of a point, by the part that it lies in: (P, Q, m)
    steps = slopes[:, :-1] - slopes[:, 1:]  # what an edge between two parts brings
    later = np.zeros(slopes.shape)
    later[:, :-1] = np.cumsum((steps * found.heights[:, :, None])[:, ::-1], axis=1)[:, ::-1]
    theta = directions.T[:, None, :, None]
    by_part = np.concatenate([slopes[:, :, None] * theta, later[:, :, None]], axis=2).reshape(-1, (s + 1) * m)
    summed = np.empty((n, (s + 1) * m))
    for start in range(0, n, _POINTS):
        own = found.parts[:, start : start + _POINTS].T.ravel()
        places = np.arange(0, len(own) + 1, n_projections)
        which = sparse.csr_array((np.ones(len(own)), own, places), shape=(len(places) - 1, len(by_part)))
        summed[start : start + _POINTS] = which @ by_part
    summed = summed.reshape(n, s + 1, m)
    in_masses = np.einsum("ns,nsm->nm", found.points, summed[:, :s]) - summed[:, s]
    in_masses -= found.shares @ in_masses
    edges = sparse.coo_array((found.beyond.ravel(), (found.ends.ravel(), np.arange(found.ends.size))),
                             shape=(n, found.ends.size)).tocsr()  # fmt: skip
    in_points = found.shares[:, None, None] * summed[:, :s]
    in_points += (edges @ (steps[:, :, None] * theta).reshape(-1, s * m)).reshape(n, s, m)
    return in_points, in_masses / found.total
