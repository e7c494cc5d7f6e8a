r"""Projected quantiles in double precision, and the transpose of their derivative, beside ``sliced.py``.

A quantile is a combination of the sorted projections of a few points, so a gradient in it goes back to these points,
and through the levels at which they stand to the masses of all points before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.embedding.sliced import order_statistics, quantile_levels
from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray

Array = NDArray[np.float64]
Order = NDArray[np.int64]


# Bins into which the projections of points fall; only points in a bin where something is looked for are sorted.
_BINS = 4096
# Ranges that nothing can be divided by.
_TINY = 2.0**62 * np.finfo(float).tiny
# Projections that are made at a time, and points whose gradients are summed at a time, so that they stay in the cache.
_PROJECTIONS, _POINTS = 8, 1 << 11


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
    """The levels of sorted, weighted points: their order (P, n), and of every quantile (P, Q) what lies around it."""

    order: NDArray[np.int32]
    places: Order  # of the lower point in the order
    start: Array  # the levels of the lower and the upper point
    stop: Array
    slopes: Array  # of the quantile in its level
    totals: Array  # (P,), by which levels are divided


@dataclass(frozen=True)
class _Means:
    """Means of the quantile function over equal parts: in which part each point lies, and which points lie in two."""

    points: Array  # (n, s)
    parts: AnyArray  # (P, n), small integers: the last one that a point lies in
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
            self.values, self._found = _picked(points, directions, n_quantiles, rule)
        else:
            levels = quantile_levels(n_quantiles, rule)
            self.values, self._found = _interpolated(points, directions, levels, weights)

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
            along = np.ascontiguousarray(gradient.swapaxes(0, 1))  # (P, Q, m)
            points = _points_back(self._found, self._directions, along, n)
            if self._found.masses is not None:
                levels, columns = self._found.masses, np.moveaxis(along, 2, 0)
                masses = np.stack([_levels_back(levels, self._found.share, own) for own in columns]).T
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
        width = float(row.max() - low)
        if width < _TINY:
            key[:] = np.argsort(row)
            continue
        scaled = row - low
        scaled *= 2.0 ** (62 - bits) / width
        key[:] = scaled  # rounded down
        key <<= bits
        key |= places
        key.sort()
        key &= (1 << bits) - 1
    return keys


def _projections(points: Array, directions: Array) -> Iterator[tuple[int, Array]]:
    """Yield projections (n,) of points with their numbers, a few of which are made at a time."""
    across, rows = np.ascontiguousarray(directions.T), np.ascontiguousarray(points.T)
    for start in range(0, len(across), _PROJECTIONS):
        yield from enumerate(across[start : start + _PROJECTIONS] @ rows, start)


def _binned(row: Array) -> Order:
    """Return the bins into which values (n,) fall: no value is larger than one in a later bin."""
    low = row.min()
    width = float(row.max() - low)
    scaled = row - low
    scaled *= _BINS * (1 - 1e-12) / width if width >= _TINY else 0.0
    return scaled.astype(np.int32).astype(np.intp)  # faster than in one step


def _sorted_inside(row: Array, bins: Order, wanted: Order) -> Order:
    """Return the numbers of the points in some bins, sorted by where they lie."""
    marked = np.zeros(_BINS, bool)
    marked[wanted] = True
    inside = np.flatnonzero(marked.take(bins))
    return inside[sorting_order(row[inside][None])[0]]


def _ranked(row: Array, ranks: Order) -> Order:
    """Return which points have some ranks among all: only points in their bins are sorted.

    Parameters
    ----------
    row : ndarray of shape (n,)
        Where the points lie.
    ranks : ndarray of shape (L,)
        From 0 to n - 1.

    Examples
    --------
    >>> _ranked(np.array([5.0, 1.0, 3.0]), np.array([0, 2, 2])).tolist()
    [1, 0, 0]
    """
    bins = _binned(row)
    counts = np.bincount(bins, minlength=_BINS)
    ends = np.cumsum(counts)
    own = np.searchsorted(ends, ranks, "right")
    inside = _sorted_inside(row, bins, own)
    skipped = counts.copy()
    skipped[own] = 0  # points in bins that are not sorted
    return inside[ranks - np.cumsum(skipped)[own]]


def _reached(row: Array, masses: Array, levels: Array, passed: AnyArray) -> tuple[Order, Array]:
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
    bins = _binned(row)
    below = np.zeros(_BINS + 1)
    np.cumsum(np.bincount(bins, masses, _BINS), out=below[1:])
    own = np.clip(np.searchsorted(below, levels, "right") - 1, 0, _BINS - 1)
    inside = _sorted_inside(row, bins, own)
    places = bins[inside]
    before = np.cumsum(masses[inside]) - masses[inside]
    before += below[places] - before[np.searchsorted(places, places)]
    at = np.maximum(np.searchsorted(before, levels, "right") - 1, 0)
    passed[:] = np.searchsorted(own, np.arange(_BINS)).astype(passed.dtype).take(bins)
    passed[inside] = np.searchsorted(at, np.arange(len(inside)), "right")
    return inside[at], levels - before[at]


def _picked(points: Array, directions: Array, n_quantiles: int, rule: str) -> tuple[Array, _Between]:
    below, above, share = order_statistics(len(points), n_quantiles, rule)
    shares = np.broadcast_to(share if rule == "linear" else np.zeros_like(share), (directions.shape[1], n_quantiles))
    places, values = np.empty((2, *shares.shape), np.int64), np.empty(shares.shape)
    for p, row in _projections(points, directions):
        places[:, p] = _ranked(row, np.concatenate([below, above])).reshape(2, -1)
        low, high = row[places[:, p]]
        values[p] = (1 - shares[p]) * low + shares[p] * high
    return values.T, _Between(places[0], places[1], shares)


def _interpolated(points: Array, directions: Array, levels: Array, weights: Array) -> tuple[Array, _Between]:
    n, shape = len(points), (directions.shape[1], len(levels))
    if n == 1:
        only = np.zeros(shape, np.int64)
        return np.repeat(directions.T @ points.T, len(levels), axis=1).T, _Between(only, only, np.zeros(shape))
    orders, totals = np.empty((shape[0], n), np.int32), np.empty(shape[0])
    places, low, high = np.empty((3, *shape), np.int64)
    start, stop, below, above = np.empty((4, *shape))
    for p, row in _projections(points, directions):
        order = sorting_order(row[None])[0]
        masses = weights[order]
        tau = np.cumsum(masses)
        tau -= 0.5 * (masses + masses[0])
        totals[p] = tau[-1]
        tau /= totals[p]
        at = np.clip(np.searchsorted(tau, levels, "right") - 1, 0, n - 2)
        orders[p], places[p], low[p], high[p] = order, at, order[at], order[at + 1]
        start[p], stop[p], below[p], above[p] = tau[at], tau[at + 1], row[low[p]], row[high[p]]
    gap = stop - start
    share = np.clip((levels - start) / gap, 0.0, 1.0)
    inside = (levels >= start) & (levels <= stop)
    slopes = np.where(inside, (above - below) / gap, 0.0)
    found = _Between(low, high, share, _Levels(orders, places, start, stop, slopes, totals))
    return (below + share * (above - below)).T, found


def _points_back(found: _Between, directions: Array, gradient: Array, n: int) -> Array:
    """Return what each point has of a gradient (P, Q, m), (n, s, m)."""
    rows = np.concatenate([found.low.ravel(), found.high.ravel()])
    columns = np.tile(np.arange(found.low.size), 2)
    shares = np.concatenate([(1 - found.share).ravel(), found.share.ravel()])
    which = sparse.coo_array((shares, (rows, columns)), shape=(n, found.low.size)).tocsr()
    (s, _), m = directions.shape, gradient.shape[2]
    pulls = gradient[:, :, None] * directions.T[:, None, :, None]  # (P, Q, s, m)
    return (which @ pulls.reshape(-1, s * m)).reshape(n, s, m)


def _levels_back(own: _Levels, share: Array, gradient: Array) -> Array:
    """Return the gradient in the masses, (n,): a quantile falls where the levels of its two points rise."""
    n = own.order.shape[1]
    pull = own.slopes * gradient / own.totals[:, None]
    low, high = (share - 1) * pull, -share * pull
    last = (low * own.start + high * own.stop).sum(axis=1)
    total = np.zeros(n)
    for p, order in enumerate(own.order):
        places = np.concatenate([own.places[p], own.places[p] + 1])
        in_levels: Array = np.asarray(np.bincount(places, np.concatenate([low[p], high[p]]), n), np.float64)
        in_levels[-1] -= last[p]
        in_masses = np.cumsum(in_levels[::-1])[::-1]
        whole = in_masses[0]
        in_masses -= 0.5 * in_levels
        in_masses[0] -= 0.5 * whole
        total[order] += in_masses  # every point once
    return total


def _means(points: Array, directions: Array, n_quantiles: int, weights: Array | None) -> tuple[Array, _Means]:
    n, n_projections = len(points), directions.shape[1]
    total = float(n) if weights is None else float(weights.sum())
    shares = np.full(n, 1.0 / n) if weights is None else weights / total
    edges = np.arange(1, n_quantiles) / n_quantiles
    values = np.empty((n_projections, n_quantiles))
    parts = np.empty((n_projections, n), np.min_scalar_type(n_quantiles))
    ends = np.empty((n_projections, len(edges)), np.int64)
    beyond, heights = np.empty(ends.shape), np.empty(ends.shape)
    for p, row in _projections(points, directions):
        ends[p], beyond[p] = _reached(row, shares, edges, parts[p])
        heights[p] = row[ends[p]]
        values[p] = np.bincount(parts[p], shares * row, n_quantiles)
        values[p] += np.diff(beyond[p] * heights[p], prepend=0.0, append=0.0)
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
    by_part = [np.moveaxis(own, 2, 0).reshape(m, -1) for own in (slopes, later)]
    first = np.arange(n_projections)[:, None] * n_quantiles
    in_points, in_masses = np.empty((m, s, n)), np.empty((m, n))
    for start in range(0, n, _POINTS):
        here = slice(start, start + _POINTS)
        parts = found.parts[:, here] + first
        along = np.ascontiguousarray(found.points[here].T)
        for j in range(m):
            pull = directions @ by_part[0][j].take(parts)
            in_masses[j, here] = (along * pull).sum(axis=0) - by_part[1][j].take(parts).sum(axis=0)
            in_points[j, :, here] = pull * found.shares[here]
    in_masses -= (in_masses @ found.shares)[:, None]
    in_masses /= found.total
    for j in range(m):
        at_edges = found.beyond * steps[:, :, j]
        for axis, theta in enumerate(directions):
            in_points[j, axis] += np.bincount(found.ends.ravel(), (at_edges * theta[:, None]).ravel(), n)
    return in_points.T, in_masses.T
