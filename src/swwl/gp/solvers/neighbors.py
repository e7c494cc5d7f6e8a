r"""Neighbors: for every row the m most correlated ones, all or those earlier in an order.

Where all blocks are Euclidean, these are the nearest in scaled coordinates, whose squared distance is
:math:`-\log c` to second order, by blocked float32 products; elsewhere the correlations themselves are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.gp.blocks import Block, Coordinates, RowDistances
from swwl.gp.correlations import Array, CorrelationName
from swwl.gp.factors import Term, cross_correlation, range_slices
from swwl.gp.joint import parts_of
from swwl.gp.solvers.patches import Positions

Single = NDArray[np.float32]

# -log c(s) = w s² + ... of smooth correlations
_CURVATURES: dict[CorrelationName, float] = {"gaussian": 1.0, "matern52": 5.0 / 6.0, "matern32": 3.0 / 2.0}
_GROUP = 16  # the m smallest of n numbers lie in the m groups with the smallest minima
_PIECE = 1 << 22  # distances that are compared at a time


def earlier_neighbors(terms: Sequence[Term], beta: Array, m: int, order: Positions) -> Positions:
    """Return for every row its m most correlated ones among those that precede it, shape (N, m).

    Parameters
    ----------
    terms : sequence of Term
        Among N points.
    beta : ndarray of shape (p,)
    m : int
    order : ndarray of int, shape (N,)
        Rows that have fewer predecessors in it have -1 in place of the missing ones.

    Examples
    --------
    >>> from swwl.gp.correlations import get_correlation
    >>> terms = [Term(get_correlation("gaussian"), Coordinates([[0.0], [3.0], [1.0]]))]
    >>> earlier_neighbors(terms, np.ones(1), 1, np.array([0, 1, 2])).tolist()
    [[-1], [0], [0]]
    """
    n = len(order)
    m = min(m, n - 1)
    out = np.full((n, m), -1, dtype=np.intp)
    if m < 1:
        return out
    points = scaled_points(terms, beta)
    known = None if points is None else points.take(order)

    def measure(start: int, stop: int) -> Array | Single:
        if known is not None:
            return known.take(slice(0, stop)).measure(known.values[start:stop])
        return -_correlations(terms, beta, order[start:stop], order[:stop])

    step = max(16, _PIECE // n)
    for start in range(0, n, step):
        stop = min(n, start + step)
        far = measure(start, stop)
        far[:, start:][np.arange(stop - start) >= np.arange(stop - start)[:, None]] = np.inf
        near = _smallest(far, m)
        out[order[start:stop], : near.shape[1]] = np.where(near < 0, -1, order[near])
    return out


def nearest(cross: Sequence[Term], beta: Array, m: int, known: Points | None = None) -> Positions:
    """Return the m most correlated columns of every row, shape (M, m), all of them where there are fewer.

    Parameters
    ----------
    cross : sequence of Term
        From M new points to N training points.
    beta : ndarray of shape (p,)
    m : int
    known : Points, optional
        What `scaled_points` says of the columns, where that has been asked already.
    """
    n_new, n = cross[0].block.shape
    out = np.empty((n_new, min(m, n)), dtype=np.intp)
    if not out.size:
        return out
    known = scaled_points(cross, beta) if known is None else known
    rows_too = None if known is None else _scaled(cross, beta, 0)
    step = max(16, _PIECE // n)
    for start in range(0, n_new, step):
        rows = slice(start, min(n_new, start + step))
        if known is not None and rows_too is not None:
            far: Array | Single = known.measure((rows_too[rows] - known.center).astype(np.float32))
        else:
            far = -_correlations(cross, beta, np.arange(rows.start, rows.stop), np.arange(n))
        out[rows] = _smallest(far, out.shape[1])
    return out


@dataclass(frozen=True)
class Points:
    """Points (N, d) about their ``center`` (d,), whose squared distances are near -log correlation.

    ``halves`` (N,) are half their squared norms.
    """

    values: Single
    halves: Single
    center: Array

    def take(self, rows: slice | Positions) -> Points:
        """Return some of the points."""
        return Points(self.values[rows], self.halves[rows], self.center)

    def measure(self, new: Single) -> Single:
        """Return half the squared distances of new points to these, but for a number of each new point's own."""
        out: Single = new @ self.values.T
        return np.subtract(self.halves, out, out=out)


def scaled_points(terms: Sequence[Term], beta: Array) -> Points | None:
    """Return the points of the columns; None where a block is not Euclidean, or a correlation not smooth."""
    values = _scaled(terms, beta, 1)
    if values is None:
        return None
    center = values.mean(axis=0)
    single = (values - center).astype(np.float32)
    return Points(single, np.float32(0.5) * np.einsum("ij,ij->i", single, single), center)


def can_be_near(terms: Sequence[Term]) -> bool:
    """Whether neighbors are found by coordinates, without comparing all pairs of correlations."""
    return (
        scaled_points([term.take(slice(0, 1)) for term in terms], np.ones(sum(t.block.n_ranges for t in terms)))
        is not None
    )


def _scaled(terms: Sequence[Term], beta: Array, side: int) -> Array | None:
    """Return scaled coordinates side by side: of the rows where ``side`` is 0, of the columns where it is 1."""
    found: list[Array] = []
    for term, own in zip(terms, range_slices(terms), strict=True):
        first = own.start
        for part in parts_of(term.block):
            sides = _euclidean(part)
            curvature = _curvature(term.correlation.name)
            if sides is None or curvature is None:
                return None
            found.append(np.sqrt(curvature) * beta[first : first + part.n_ranges] * sides[side])
            first += part.n_ranges
    return np.hstack(found)


def _curvature(name: CorrelationName) -> float | None:
    """Return w; of powers that are nearly squares, which will do for a choice, that of a square."""
    return 1.0 if isinstance(name, tuple) and name[1] >= 1.5 else _CURVATURES.get(name)


def _euclidean(block: Block) -> tuple[Array, Array] | None:
    """Return points of rows and columns whose distances a block holds, where it has them."""
    if isinstance(block, Coordinates):
        return block.values, block.columns
    if isinstance(block, RowDistances) and (block.r == 2 or block.first.shape[1] == 1) and block.without is None:
        return block.first, block.first if block.second is None else block.second
    return None


def _correlations(terms: Sequence[Term], beta: Array, rows: Positions, columns: Positions) -> Array:
    part = [term.take(rows, columns).held() for term in terms]
    return cross_correlation(part, beta, (len(rows), len(columns)))


def _smallest(values: NDArray[Any], m: int) -> Positions:
    """Return the places of the m smallest of each row, fewer where there are fewer; -1 for those that are inf."""
    n_rows, n = values.shape
    n_groups = n // _GROUP
    places: NDArray[Any] = np.broadcast_to(np.arange(n), values.shape)
    if n_groups > m:
        lowest = values[:, : _GROUP * n_groups].reshape(n_rows, _GROUP, n_groups).min(axis=1)
        groups = np.argpartition(lowest, m - 1, axis=1)[:, None, :m]
        inside = (groups + n_groups * np.arange(_GROUP)[:, None]).reshape(n_rows, -1)
        places = np.hstack([inside, places[:, _GROUP * n_groups :]])
        values = np.take_along_axis(values, places, axis=1)
    if values.shape[1] > m:
        best = np.argpartition(values, m - 1, axis=1)[:, :m]
        places, values = (np.take_along_axis(array, best, axis=1) for array in (places, values))
    return np.where(np.isfinite(values), places, -1)
