r"""Neighbors: for every row the m most correlated ones, all or those earlier in an order; and where rows lie.

Where all blocks are Euclidean, these are the nearest in scaled coordinates, whose squared distance is
:math:`-\log c` to second order, by blocked float32 products; elsewhere the correlations themselves are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.gp.blocks import Block, Coordinates, RowDistances, squares_between
from swwl.gp.correlations import Array, CorrelationName
from swwl.gp.factors import Term, cross_correlation, range_slices
from swwl.gp.joint import parts_of

Positions = NDArray[np.intp]


class Patches:
    """The product correlation of B patches, and the derivatives of a function of it.

    Parameters
    ----------
    terms : sequence of Term
    beta : ndarray of shape (p,)
    rows, columns : ndarray of int, shapes (B, a) and (B, b)
        Positions among the rows and the columns of the terms.

    Attributes
    ----------
    correlation : ndarray of shape (B, a, b)

    Examples
    --------
    >>> from swwl.gp.correlations import get_correlation
    >>> terms = [Term(get_correlation("gaussian"), Coordinates([[0.0], [1.0], [3.0]]))]
    >>> rows = np.array([[0, 1], [1, 2]])
    >>> np.log(Patches(terms, np.ones(1), rows, rows).correlation).round(6).tolist()
    [[[0.0, -1.0], [-1.0, 0.0]], [[0.0, -4.0], [-4.0, 0.0]]]
    """

    def __init__(self, terms: Sequence[Term], beta: Array, rows: Positions, columns: Positions):
        places = range_slices(terms)
        self._terms = [
            _BoundTerm(term, beta, own.start, rows, columns) for term, own in zip(terms, places, strict=True)
        ]
        exponent, multiplier = self._terms[0].parts()
        for term in self._terms[1:]:
            e, m = term.parts()
            exponent += e
            multiplier = m if multiplier is None else multiplier if m is None else np.multiply(multiplier, m, out=m)
        self.correlation: Array = np.exp(np.negative(exponent, out=exponent), out=exponent)
        if multiplier is not None:
            self.correlation *= multiplier

    def contract(self, weights: Array, out: Array) -> None:
        r"""Add :math:`\sum W\,\partial c/\partial\log\beta_l` to every range of ``out``; W is of shape (B, a, b)."""
        weighted = weights * self.correlation
        for term in self._terms:
            term.contract(weighted, out)


class _BoundTerm:
    """One factor on patches, bound to its ranges, those of ``beta`` from ``first`` on."""

    def __init__(self, term: Term, beta: Array, first: int, rows: Positions, columns: Positions):
        self.correlation = term.correlation
        self.layers: list[tuple[int, Array]] = []  # the place of a range, and its part of u
        self.group: tuple[Positions, Array, Array] | None = None  # places, scaled points of rows and of columns
        places: list[int] = []
        left, right = [], []
        for part in parts_of(term.block):
            own = range(first, first + part.n_ranges)
            if isinstance(part, Coordinates):
                scale = beta[own.start : own.stop]
                left.append(_gathered(part.values, rows, scale))
                right.append(_gathered(part.columns, columns, scale))
                places += own
            else:
                layer = beta[first] * part.patches(rows, columns)
                self.layers.append((first, np.multiply(layer, layer, out=layer)))
            first = own.stop
        u = None
        if places:
            x, z = (side[0] if len(side) == 1 else np.concatenate(side, axis=2) for side in (left, right))
            if self.correlation.rough:  # differences, one by one: rounding of a product would count
                steps = (x[:, :, None, j] - z[:, None, :, j] for j in range(len(places)))
                self.layers += [(place, step * step) for place, step in zip(places, steps, strict=True)]
            else:
                about = z[:, -1:].copy()
                x -= about
                z -= about
                self.group = np.array(places, dtype=np.intp), x, z
                u = squares_between(x, z)
        for _, layer in self.layers:
            u = layer.copy() if u is None else np.add(u, layer, out=u)
        assert u is not None  # a block has at least one part
        self._gaussian = self.correlation.name == "gaussian"
        self._scaled = u if self._gaussian else np.sqrt(u, out=u)

    def parts(self) -> tuple[Array, Array | None]:
        """Return exponent and multiplier, as `Correlation.parts`, in new arrays."""
        return (self._scaled.copy(), None) if self._gaussian else self.correlation.parts(self._scaled)

    def contract(self, weights: Array, out: Array) -> None:
        """Add the sums of weights times the logarithmic derivatives to every range of ``out``."""
        t = -2.0 * weights if self._gaussian else weights * self.correlation.steepness(self._scaled)
        for place, layer in self.layers:
            out[place] += np.einsum("nij,nij->", t, layer)
        if self.group is not None:
            places, x, z = self.group
            sides = np.einsum("ni,nik->k", t.sum(axis=2), x * x) + np.einsum("nj,njk->k", t.sum(axis=1), z * z)
            out[places] += sides - 2.0 * np.einsum("nik,nik->k", x, t @ z)


def _gathered(points: Array, index: Positions, scale: Array) -> Array:
    """Return scaled points (B, a, k) of positions (B, a), in an array of their own."""
    out = points.take(index, axis=0)
    out *= scale
    return out


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
