r"""Projected quantiles: the node embeddings of one graph -> one Euclidean vector.

Receives (n, s) arrays from ``wl.py``; ``pipeline.py`` makes rows of what it returns, and graphs end here.
"""

import threading
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from swwl.embedding.selection import kernel_for, selected
from swwl.mesh.arrays import AnyArray

DIRECTIONS = ("gaussian", "orthogonal", "sobol")
QUANTILES = ("linear", "lower", "midpoint", "mean")

# Projected values per block: fifty rows of a mesh of 30 000 nodes. Small blocks waste the matrix product, large ones
# leave the cache before they are sorted.
_BLOCK = 1_500_000
# Bins of the distribution function of a continuous measure, and projected values that are counted at a time.
_BINS = 4096
_COUNTED = 60_000


def draw_directions(dimension: int, n_projections: int, rule: str, rng: np.random.Generator) -> NDArray[np.float64]:
    r"""Draw directions :math:`\theta_p` on the unit sphere of :math:`\mathbb R^s`.

    Parameters
    ----------
    dimension : int
        :math:`s`.
    n_projections : int
        :math:`P`.
    rule : {"gaussian", "orthogonal", "sobol"}
        Independent and uniform, as in the paper; uniform in blocks of :math:`s` orthonormal ones; or scrambled
        Sobol points carried to the sphere by the normal distribution's inverse. Each direction alone is uniform
        under the first two rules; the last two cover the sphere more evenly.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (s, P)
        Unit columns.

    Examples
    --------
    >>> theta = draw_directions(3, 6, "orthogonal", np.random.default_rng(0))
    >>> np.allclose(theta[:, :3].T @ theta[:, :3], np.eye(3))
    True
    """
    if rule == "gaussian":
        columns = rng.standard_normal((n_projections, dimension)).T
    elif rule == "orthogonal":
        n_blocks = -(-n_projections // dimension)
        factors = [np.linalg.qr(rng.standard_normal((dimension, dimension))) for _ in range(n_blocks)]
        # Householder's QR fixes the signs of R; undo it, or the directions would not be uniform.
        columns = np.concatenate([q * np.sign(np.diagonal(r)) for q, r in factors], axis=1)[:, :n_projections]
    else:
        sampler = scipy.stats.qmc.Sobol(dimension, rng=rng)
        points = sampler.random_base2(max(0, (n_projections - 1).bit_length()))[:n_projections]
        edge = np.finfo(np.float64).eps
        columns = scipy.special.ndtri(np.clip(points, edge, 1 - edge)).T
    lengths = np.linalg.norm(columns, axis=0)
    # A zero vector has probability zero, but the center of the Sobol cube is one; any fixed direction will do.
    columns = np.where(lengths > 0, columns, np.eye(dimension)[:, :1])
    return columns / np.where(lengths > 0, lengths, 1)


@lru_cache(maxsize=8)
def quantile_levels(n_quantiles: int, rule: str) -> NDArray[np.float64]:
    """Return the levels :math:`t_q`: equally spaced on [0, 1], or the midpoints of Q equal parts of it; read-only.

    Under "mean" these are the parts over which means are taken.

    Examples
    --------
    >>> quantile_levels(3, "linear").tolist(), quantile_levels(2, "midpoint").tolist()
    ([0.0, 0.5, 1.0], [0.25, 0.75])
    """
    by_parts = rule in ("midpoint", "mean")
    levels = (np.arange(n_quantiles) + 0.5) / n_quantiles if by_parts else np.linspace(0, 1, n_quantiles)
    levels.setflags(write=False)
    return levels


def projected_quantiles(
    points: AnyArray,
    directions: AnyArray,
    n_quantiles: int,
    rule: str = "linear",
    weights: AnyArray | None = None,
) -> NDArray[np.float32]:
    r"""Project a cloud of points on directions, and take the quantiles of every projection.

    .. math:: F^{-1}_{\theta_p \sharp \mu}(t_q), \quad \mu = \sum_u m_u \delta_{x_u} \Big/ \sum_u m_u

    Divided by :math:`(PQ)^{1/r}` this is the paper's projected quantile embedding (its Eq. 12).

    Parameters
    ----------
    points : ndarray of shape (n, s)
        Fastest as float32 in Fortran order.
    directions : ndarray of shape (s, P)
        Unit columns :math:`\theta_p`.
    n_quantiles : int
        :math:`Q`.
    rule : {"linear", "lower", "midpoint", "mean"}
        NumPy's ``quantile`` methods "linear" and "lower" at levels :math:`(q - 1)/(Q - 1)`, or "inverted_cdf" at
        :math:`(q - \frac12)/Q`; or the mean of "inverted_cdf" between levels :math:`(q - 1)/Q` and :math:`q/Q`.
    weights : ndarray of shape (n,), optional
        Masses :math:`m_u` of the points; points of mass zero do not count. "midpoint" and "mean" invert the weighted
        distribution function. For the other two, the i-th smallest projection sits at level

        .. math:: \tau_i = \frac{m_1 + \dots + m_i - \frac12 (m_1 + m_i)}{m_1 + \dots + m_n - \frac12 (m_1 + m_n)},

        which is :math:`(i - 1)/(n - 1)` when all masses are equal; "linear" interpolates between these levels,
        "lower" takes the largest that is not above :math:`t_q`. Equal projections stand in the order of their masses.

    Returns
    -------
    ndarray of shape (Q, P), float32

    Examples
    --------
    >>> line = np.array([[0.0], [4.0], [1.0]])
    >>> projected_quantiles(line, np.array([[1.0]]), 5).ravel().tolist()
    [0.0, 0.5, 1.0, 2.5, 4.0]
    >>> projected_quantiles(line, np.array([[1.0]]), 4, "midpoint", np.array([2.0, 1.0, 1.0])).ravel().tolist()
    [0.0, 0.0, 1.0, 4.0]
    """
    if weights is not None:
        points, weights = _keep_positive(points, weights)
        if weights.min() == weights.max():
            weights = None
    levels = quantile_levels(n_quantiles, rule)
    rows = np.ascontiguousarray(points.T, np.float32)
    across = np.ascontiguousarray(directions.T, np.float32)
    n_projections, n_points = len(across), rows.shape[1]
    quantiles = np.empty((n_quantiles, n_projections), np.float32)
    size = min(n_projections, max(1, _BLOCK // n_points))
    block = _scratch(size * n_points).reshape(size, n_points)
    masses = None if weights is None else _Masses(weights)
    for start in range(0, n_projections, size):
        stop = min(start + size, n_projections)
        projected = np.matmul(across[start:stop], rows, out=block[: stop - start])
        if masses is None:
            quantiles[:, start:stop] = _pick(projected, n_quantiles, rule).T
        else:
            for p, row in enumerate(projected, start):
                quantiles[:, p] = masses.quantiles(row, levels, rule)
    return quantiles


def measure_quantiles(
    points: AnyArray,
    directions: AnyArray,
    n_quantiles: int,
    rule: str,
    masses: NDArray[np.float64],
) -> NDArray[np.float32]:
    r"""Project points that stand for a continuous measure on directions, and take the quantiles of every projection.

    The masses are counted in 4096 bins (more for many quantiles) between the smallest and the largest projection, and
    lie evenly within a bin. A quantile is therefore off by at most the width of a bin. For points that sample cells
    that is less than they are off anyway, and several times faster than to sort them.

    Parameters
    ----------
    points : ndarray of shape (n, s)
        Fastest as float32 in Fortran order.
    directions : ndarray of shape (s, P)
        Unit columns.
    n_quantiles : int
        :math:`Q`.
    rule : {"linear", "lower", "midpoint", "mean"}
        Which levels :math:`t_q` to take, see :func:`quantile_levels`, or the means between levels :math:`(q - 1)/Q`
        and :math:`q/Q`.
    masses : ndarray of shape (n,)
        Positive.

    Returns
    -------
    ndarray of shape (Q, P), float32

    Examples
    --------
    >>> line = (np.arange(10_000.0)[:, None] + 0.5) / 10_000  # the unit interval
    >>> quantiles = measure_quantiles(line, np.array([[1.0]]), 5, "midpoint", np.full(10_000, 1e-4))
    >>> quantiles.ravel().round(3)
    array([0.1, 0.3, 0.5, 0.7, 0.9], dtype=float32)
    """
    rows = np.ascontiguousarray(points.T, np.float32)
    across = np.ascontiguousarray(directions.T, np.float32)
    n_projections, n_points = len(across), rows.shape[1]
    n_bins = max(_BINS, 8 * n_quantiles)
    counts = np.empty((n_projections, n_bins))
    lows, widths = np.empty((n_projections, 1), np.float32), np.empty((n_projections, 1), np.float32)
    size = min(n_projections, max(1, _COUNTED // n_points), max(1, np.iinfo(np.int32).max // n_bins))
    block = _scratch(size * n_points).reshape(size, n_points)
    bins = _scratch(size * n_points, np.int32).reshape(size, n_points)
    repeated = np.tile(masses, size)
    for start in range(0, n_projections, size):
        stop = min(start + size, n_projections)
        count = stop - start
        projected = np.matmul(across[start:stop], rows, out=block[:count])
        low = projected.min(axis=1, keepdims=True)
        # A little wider than the range, so that the largest value falls into the last bin.
        width = (projected.max(axis=1, keepdims=True) - low) * np.float32(1.00001 / n_bins)
        width = np.maximum(width, np.finfo(np.float32).tiny)
        projected -= low
        projected /= width
        np.copyto(bins[:count], projected, casting="unsafe")  # many times faster than to 64 bits
        bins[:count] += np.arange(count, dtype=np.int32)[:, None] * n_bins
        own = np.bincount(bins[:count].ravel(), repeated[: count * n_points], count * n_bins)
        counts[start:stop], lows[start:stop], widths[start:stop] = own.reshape(count, n_bins), low, width
    found = _in_bins(counts, n_quantiles, rule)
    return np.asarray((lows + found * widths).T, np.float32, order="C")


def _in_bins(masses: NDArray[np.float64], n_quantiles: int, rule: str) -> NDArray[np.float64]:
    """Return the quantiles (P, Q) of rows of masses (P, B) that lie evenly within bins of width 1."""
    n_rows, n_bins = masses.shape
    levels = _part_edges(n_quantiles) if rule == "mean" else quantile_levels(n_quantiles, rule)
    below, places = np.zeros(n_bins + 1), np.empty((n_rows, len(levels)))
    for row, own in enumerate(masses):
        np.cumsum(own, out=below[1:])
        places[row] = np.interp(levels * below[-1], below, _numbers(n_bins + 1))
    if rule != "mean":
        return places
    # What lies between two places, times how far: that of all bins from the first one on, less what the first has
    # before its place, and with what the last one has.
    bins = np.minimum(places.astype(np.int32), n_bins - 1)
    at = bins + (np.arange(n_rows) * n_bins)[:, None]
    moments = masses * (_numbers(n_bins) + 0.5)
    between = np.add.reduceat(moments.ravel(), at.ravel()).reshape(at.shape)[:, :-1]
    between[at[:, 1:] == at[:, :-1]] = 0  # there reduceat gives the bin itself
    share = places - bins
    inside = masses.take(at) * share * (bins + share / 2)
    return np.asarray((between + np.diff(inside)) * (n_quantiles / masses.sum(axis=1, keepdims=True)))


@lru_cache(maxsize=8)
def _numbers(count: int) -> NDArray[np.float64]:
    numbers = np.arange(count, dtype=np.float64)
    numbers.setflags(write=False)
    return numbers


@lru_cache(maxsize=8)
def _part_edges(n_quantiles: int) -> NDArray[np.float64]:
    edges = np.linspace(0, 1, n_quantiles + 1)
    edges.setflags(write=False)
    return edges


_memory = threading.local()


def _scratch(size: int, dtype: type[np.generic] = np.float32) -> AnyArray:
    """Return numbers to write to, the same memory each time in one thread: fresh pages cost as much as a product."""
    name = dtype.__name__
    if getattr(_memory, name, np.empty(0)).size < size:
        setattr(_memory, name, np.empty(size, dtype))
    scratch: AnyArray = getattr(_memory, name)
    return scratch[:size]


def _keep_positive(points: AnyArray, weights: AnyArray) -> tuple[AnyArray, AnyArray]:
    positive = weights > 0
    return (points, weights) if positive.all() else (points[positive], weights[positive])


def _pick(values: NDArray[np.float32], n_quantiles: int, rule: str) -> AnyArray:
    """Take quantiles of rows (P, n) where all points weigh the same, by NumPy's own expressions; may sort in place."""
    n = values.shape[1]
    if rule == "mean":
        values.sort(axis=1)
        sums = np.zeros((len(values), n + 1))
        np.cumsum(values, axis=1, out=sums[:, 1:])
        position = n * _part_edges(n_quantiles)
        whole = np.minimum(position.astype(np.intp), n - 1)
        return np.diff(sums[:, whole] + values[:, whole] * (position - whole)) * (n_quantiles / n)
    below, above, share = order_statistics(n, n_quantiles, rule)
    select = kernel_for(len(values), n, n_quantiles)
    if select is None:
        values.sort(axis=1)
    else:
        ranks, below, above = _distinct_ranks(n, n_quantiles, rule)
        values = selected(values, ranks, select)
    if rule != "linear":
        return values.take(below, axis=1)
    low = values.take(below, axis=1).astype(np.float64)
    return low + (values.take(above, axis=1) - low) * share


@lru_cache(maxsize=256)
def order_statistics(
    n: int, n_quantiles: int, rule: str
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return where each quantile of n sorted values lies: the value below it, that above, and the share between."""
    levels = quantile_levels(n_quantiles, rule)
    position = np.clip(np.ceil(n * levels - 1), 0, n - 1) if rule == "midpoint" else (n - 1) * levels
    below = np.floor(position).astype(np.intp)
    return below, np.minimum(below + 1, n - 1), position - below


@lru_cache(maxsize=256)
def _distinct_ranks(
    n: int, n_quantiles: int, rule: str
) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.intp]]:
    """Return the ranks of all order statistics that are needed, and among them those below and above the quantiles."""
    below, above, _ = order_statistics(n, n_quantiles, rule)
    ranks = np.union1d(below, above) if rule == "linear" else np.unique(below)
    return ranks.astype(np.int32), np.searchsorted(ranks, below), np.searchsorted(ranks, above)


class _Masses:
    """Quantiles of weighted values: sorts each value together with the rank of its mass, as one 64-bit integer."""

    def __init__(self, weights: NDArray[np.float64]):
        order = np.argsort(weights, kind="stable")
        self.ordered = weights[order]
        self.rank = np.empty(len(weights), np.int64)
        self.rank[order] = np.arange(len(weights))

    def quantiles(self, values: NDArray[np.float32], levels: NDArray[np.float64], rule: str) -> AnyArray:
        # A float's bits, with all but the sign flipped where negative, order as integers do.
        bits = values.view(np.int32)
        keys = ((bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64) << 32) | self.rank
        keys.sort()
        high = (keys >> 32).astype(np.int32)
        ordered = (high ^ ((high >> 31) & 0x7FFFFFFF)).view(np.float32)
        mass = self.ordered[keys & 0xFFFFFFFF]
        cumulated = np.cumsum(mass)
        if rule == "mean":
            sums = np.cumsum(mass * ordered)
            parts = np.interp(_part_edges(len(levels)) * cumulated[-1], np.append(0, cumulated), np.append(0, sums))
            return np.diff(parts) * (len(levels) / cumulated[-1])
        if rule == "midpoint":
            return ordered[np.minimum(np.searchsorted(cumulated / cumulated[-1], levels), len(mass) - 1)]
        position = cumulated - 0.5 * (mass + mass[0])
        position /= position[-1]
        if rule == "lower":
            # A level that meets a position must not miss it by rounding.
            return ordered[np.searchsorted(position, levels + 1e-12, side="right") - 1]
        return np.interp(levels, position, ordered)
