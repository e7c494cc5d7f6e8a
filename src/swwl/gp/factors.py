r"""The product correlation: distances, or coordinates, of every factor -> one matrix, and its gradient.

A *term* is one factor of the product, a correlation bound to its block: distances with one range, or a group of
coordinates with one range per column:

.. math:: R_{ij} = \prod_l c_l(\beta_l D_{l,ij}) \; \prod_k e^{-\beta_k^2 (z_{ik} - z_{jk})^2} .

A Gaussian of joined blocks is the product of their Gaussians. Other correlations of coordinates and of joined blocks
are one function of all their ranges, :class:`Radial`.

Everything here runs over blocks of rows small enough for the cache, and symmetric matrices are filled and
contracted on their lower triangle only. Nothing of size N x N is made apart from the arrays passed in, so blocks
should be held (`Block.held`) before they come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

import numpy as np
from scipy.linalg import blas

from swwl.gp.blocks import Block, Coordinates, Index
from swwl.gp.correlations import GAUSSIAN, Array, Correlation
from swwl.gp.joint import Joint, parts_of


class Radial:
    """A radial correlation of a block, bound to ranges; its blocks are computed piece by piece.

    Parameters
    ----------
    correlation : Correlation
    block : Block
        Of M rows and N columns.
    beta : ndarray of shape (p,)
        Of all terms.
    first : int
        Where the ranges of this block begin in ``beta``.
    roots : ndarray of shape (M, N), optional
        Receives the root of u wherever it is computed, for one that is bound to the same ranges with ``known``.
    known : bool
        Whether ``roots`` holds it already.
    """

    def __init__(
        self,
        correlation: Correlation,
        block: Block,
        beta: Array,
        first: int,
        roots: Array | None = None,
        known: bool = False,
    ):
        self.correlation, self.beta = correlation, beta
        self._roots, self._known = roots, known and roots is not None
        self._distances: list[tuple[int, Block]] = []  # the place of its range, and the block
        groups: list[Coordinates] = []
        places: list[int] = []
        for part in parts_of(block):
            if isinstance(part, Coordinates):
                groups.append(part)
                places += range(first, first + part.n_ranges)
            else:
                self._distances.append((first, part))
            first += part.n_ranges
        self._places = np.array(places, dtype=np.intp)
        scale = beta[self._places]
        self._rows = scale * np.hstack([part.values for part in groups]) if groups else np.empty((block.shape[0], 0))
        self._columns = (
            scale * np.hstack([part.columns for part in groups]) if groups else np.empty((block.shape[1], 0))
        )
        # |a - b|² = |a|² + |b|² - 2ab as one product, norms and all
        norms, others = (np.einsum("ij,ij->i", x, x)[:, None] for x in (self._rows, self._columns))
        self._left = np.hstack([-2.0 * self._rows, norms, np.ones_like(norms)])
        self._right = np.hstack([self._columns, np.ones_like(others), others])

    def exponents(self, rows: slice, columns: slice) -> tuple[Array, Array | None]:
        """Return the parts of the correlation on some rows and columns, as `Correlation.parts`."""
        return self.correlation.parts(self._scaled(rows, columns))

    def steepness(self, rows: slice, columns: slice) -> Array:
        """Return the slope over u on some rows and columns: times the part of a range in u it is that range's own."""
        return self.correlation.steepness(self._scaled(rows, columns))

    def layers(self, rows: slice, columns: slice) -> Iterator[tuple[int, Array]]:
        """Yield the place of every range and its part of u on some rows and columns."""
        for place, left, right in zip(self._places, self._rows[rows].T, self._columns[columns].T, strict=True):
            difference = left[:, None] - right
            yield int(place), np.multiply(difference, difference, out=difference)
        yield from self._far_layers(rows, columns)

    def contract(self, weights: Array, rows: slice, columns: slice, out: Array) -> None:
        r"""Add :math:`\sum_{ij} T_{ij} u_{l,ij}` of some rows and columns to every range l of ``out``.

        For coordinates, with sums over the rows and columns at hand,

        .. math:: \sum_{ij} T_{ij}(x_{ik} - z_{jk})^2 =
                  \sum_i (T1)_i x_{ik}^2 + \sum_j (T^\top 1)_j z_{jk}^2 - 2 \sum_i x_{ik} (TZ)_{ik} .
        """
        if self.correlation.rough:
            for place, layer in self.layers(rows, columns):
                out[place] += np.einsum("ij,ij->", weights, layer)
            return
        if len(self._places):
            left, right = self._rows[rows], self._columns[columns]
            sides = weights.sum(axis=1) @ left**2 + weights.sum(axis=0) @ right**2
            out[self._places] += sides - 2.0 * np.einsum("ij,ij->j", left, weights @ right)
        for place, layer in self._far_layers(rows, columns):
            out[place] += np.einsum("ij,ij->", weights, layer)

    def _far_layers(self, rows: slice, columns: slice) -> Iterator[tuple[int, Array]]:
        for place, block in self._distances:
            layer = self.beta[place] * block.take(rows, columns).dense()
            yield place, np.multiply(layer, layer, out=layer)

    def _scaled(self, rows: slice, columns: slice) -> Array:
        """Return the root of u on some rows and columns, not to be written to."""
        if self._roots is not None and self._known:
            return self._roots[rows, columns]
        layers = self.layers(rows, columns) if self.correlation.rough else self._far_layers(rows, columns)
        u = None
        if len(self._places) and not self.correlation.rough:
            u = self._left[rows] @ self._right[columns].T
            np.maximum(u, 0.0, out=u)
        for _, layer in layers:
            u = layer if u is None else np.add(u, layer, out=u)
        assert u is not None  # a block has at least one part
        return np.sqrt(u, out=u if self._roots is None else self._roots[rows, columns])


# Elements of a block: 16 k doubles are 128 kB, so a block and its few temporaries stay in a core's cache.
_BLOCK = 1 << 14


@dataclass(frozen=True)
class Term:
    """One factor of the product correlation.

    Parameters
    ----------
    correlation : Correlation
    block : Block
        Distances or coordinates of M rows and N columns: among the training points, or from new ones to them.
    """

    correlation: Correlation
    block: Block

    @property
    def radial(self) -> bool:
        """Whether it is one function of several ranges, and not a product over them."""
        return self.correlation.name != "gaussian" and isinstance(self.block, (Coordinates, Joint))

    def take(self, rows: Index, columns: Index | None = None) -> Term:
        """Return the term for some rows and columns, as `Block.take`."""
        return Term(self.correlation, self.block.take(rows, columns))

    def held(self) -> Term:
        """Return the term with its distances computed."""
        block = self.block.held()
        return self if block is self.block else Term(self.correlation, block)

    def distances(self, rows: slice, columns: slice) -> Array:
        """Return a part of the distances, a view where they are held."""
        return self.block.take(rows, columns).dense()


def range_slices(terms: Sequence[Term]) -> list[slice]:
    """Say which entries of the vector of ranges belong to each term."""
    ends = list(accumulate((term.block.n_ranges for term in terms), initial=0))
    return [slice(a, b) for a, b in pairwise(ends)]


def triangle_blocks(n: int) -> Iterator[tuple[int, int]]:
    """Yield row ranges (i0, i1) such that the block [i0:i1, :i1] fits the cache.

    Examples
    --------
    >>> list(triangle_blocks(300))
    [(0, 128), (128, 207), (207, 268), (268, 300)]
    """
    start = 0
    while start < n:
        # the largest b with b (start + b) <= _BLOCK, but a few rows at least so that products stay efficient
        rows = int((np.sqrt(start * start + 4.0 * _BLOCK) - start) / 2.0)
        stop = min(n, start + max(rows, 4))
        yield start, stop
        start = stop


def _owners(terms: Sequence[Term]) -> list[tuple[Term, slice]]:
    """Pair every term with its entries of the vector of ranges; a Gaussian of joined blocks is a term for each."""
    every: list[Term] = []
    for term in terms:
        every += [term] if term.radial else [Term(term.correlation, part) for part in parts_of(term.block)]
    return list(zip(every, range_slices(every), strict=True))


def _groups(terms: Sequence[Term]) -> list[tuple[Coordinates, slice]]:
    """Pair every group of Gaussian coordinates with its entries of the vector of ranges."""
    return [
        (term.block, own) for term, own in _owners(terms) if isinstance(term.block, Coordinates) and not term.radial
    ]


def _apart(terms: Sequence[Term]) -> list[tuple[Term, int]]:
    """Pair every term that is a matrix of distances with its entry of the vector of ranges."""
    return [(term, own.start) for term, own in _owners(terms) if not isinstance(term.block, (Coordinates, Joint))]


def n_radials(terms: Sequence[Term]) -> int:
    """Return how many terms are one function of several ranges."""
    return sum(term.radial for term in terms)


def _radials(
    terms: Sequence[Term], beta: Array, roots: Sequence[Array] | None = None, known: bool = False
) -> list[Radial]:
    """Bind every term that is one function of several ranges to these ranges."""
    found = [(term, own) for term, own in _owners(terms) if term.radial]
    buffers: Sequence[Array | None] = [None] * len(found) if roots is None else roots
    return [
        Radial(term.correlation, term.block, beta, own.start, buffer, known)
        for (term, own), buffer in zip(found, buffers, strict=True)
    ]


def _scaled_coordinates(terms: Sequence[Term], beta: Array) -> tuple[Array, Array] | None:
    """Join the coordinates of all groups, times their inverse ranges: rows' (M, k) and columns' (N, k)."""
    groups = _groups(terms)
    if not groups:
        return None
    rows = np.hstack([block.values * beta[own] for block, own in groups])
    return rows, np.hstack([block.columns * beta[own] for block, own in groups])


def _block_correlation(
    owners: list[tuple[Term, int]],
    radials: list[Radial],
    beta: Array,
    rows: slice,
    columns: slice,
    squares: Array | None,
) -> Array:
    """Return the product correlation on a block, with one exponential for all terms.

    ``owners`` is made by `_apart`, ``radials`` by `_radials`; ``squares`` holds the block's summed squared distances of
    scaled Gaussian coordinates, and is overwritten.
    """
    exponent, multiplier = squares, None
    simple = (term.correlation.parts(beta[own] * term.distances(rows, columns)) for term, own in owners)
    for e, m in chain(simple, (radial.exponents(rows, columns) for radial in radials)):
        exponent = e if exponent is None else np.add(exponent, e, out=exponent)
        if m is not None:
            multiplier = m if multiplier is None else np.multiply(multiplier, m, out=multiplier)
    assert exponent is not None  # a product has at least one term
    value = np.exp(np.negative(exponent, out=exponent), out=exponent)
    return value if multiplier is None else np.multiply(value, multiplier, out=value)


def _squares(products: Array, left: Array, right: Array) -> Array:
    """Turn -2ab into |a - b|² = |a|² + |b|² - 2ab, never negative, in a new array."""
    out = products + left[:, None]
    out += right
    return np.maximum(out, 0.0, out=out)


def fill_correlation(terms: Sequence[Term], beta: Array, out: Array, roots: Sequence[Array] | None = None) -> Array:
    """Fill the lower triangle of the training correlation matrix.

    Parameters
    ----------
    terms : sequence of Term
    beta : ndarray of shape (p,)
    out : ndarray of shape (N, N), C-ordered
        Receives the lower triangle with a diagonal of exact ones; above the diagonal it is left undefined.
    roots : sequence of ndarray of shape (N, N), optional
        One for each of the `n_radials`: what `contract_triangle` can use again.
    """
    owners, radials = _apart(terms), _radials(terms, beta, roots)
    coordinates = _scaled_coordinates(terms, beta)
    squares = norms = None
    if coordinates is not None:
        scaled = coordinates[0]
        # all columns in one product, in place: a lower triangle in C order is an upper one for BLAS
        blas.dsyrk(-2.0, scaled.T, trans=1, lower=0, c=out.T, overwrite_c=1)
        norms = np.einsum("ij,ij->i", scaled, scaled)
    for i0, i1 in triangle_blocks(len(out)):
        if norms is not None:
            squares = _squares(out[i0:i1, :i1], norms[i0:i1], norms[:i1])
        out[i0:i1, :i1] = _block_correlation(owners, radials, beta, slice(i0, i1), slice(0, i1), squares)
    np.fill_diagonal(out, 1.0)
    return out


def cross_correlation(terms: Sequence[Term], beta: Array, shape: tuple[int, int]) -> Array:
    """Return the full (M, N) correlation matrix between the rows and the columns of the terms."""
    m, n = shape
    out = np.empty(shape)
    owners, radials = _apart(terms), _radials(terms, beta)
    coordinates = _scaled_coordinates(terms, beta)
    squares = None
    if coordinates is not None:
        left, right = coordinates
        np.matmul(-2.0 * left, right.T, out=out)
        left2, right2 = np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right)
    step = max(1, _BLOCK // max(n, 1))
    for i0 in range(0, m, step):
        rows = slice(i0, min(m, i0 + step))
        if coordinates is not None:
            squares = _squares(out[rows], left2[rows], right2)
        out[rows] = _block_correlation(owners, radials, beta, rows, slice(0, n), squares)
    return out


def contract_triangle(
    terms: Sequence[Term], beta: Array, correlation: Array, weights: Array, roots: Sequence[Array] | None = None
) -> Array:
    r"""Return :math:`\sum_{i>j} W_{ij}\,\partial R_{ij}/\partial\log\beta_l` for every range.

    Parameters
    ----------
    terms : sequence of Term
    beta : ndarray of shape (p,)
    correlation : ndarray of shape (N, N)
        The lower triangle made by `fill_correlation` at the same ``beta``.
    weights : ndarray of shape (N, N)
        The lower triangle of W; overwritten.
    roots : sequence of ndarray of shape (N, N), optional
        What `fill_correlation` has left there at the same ``beta``.

    Returns
    -------
    ndarray of shape (p,)

    Notes
    -----
    A group of coordinates needs no matrix per column. With :math:`A = W\circ R` below the diagonal and
    :math:`a_i = \sum_j A_{ij} + A_{ji}`,

    .. math:: \sum_{i>j} A_{ij}(z_{ik} - z_{jk})^2 = \sum_i a_i z_{ik}^2 - 2\sum_i z_{ik} (AZ)_{ik} .
    """
    out = np.zeros(len(beta))
    groups, owners, radials = _groups(terms), _apart(terms), _radials(terms, beta, roots, known=True)
    sums = np.zeros(len(correlation))
    for i0, i1 in triangle_blocks(len(correlation)):
        a = weights[i0:i1, :i1] * correlation[i0:i1, :i1]
        corner = a[:, i0:i1]
        corner[:] = np.tril(corner, -1)
        if groups:
            weights[i0:i1, :i1] = a
            sums[:i1] += a.sum(axis=0)
            sums[i0:i1] += a.sum(axis=1)
        for term, own in owners:
            # einsum, not a BLAS dot: waking threads for one small block costs more than the block
            slope = term.correlation.slope(beta[own] * term.distances(slice(i0, i1), slice(0, i1)))
            out[own] += np.einsum("ij,ij->", a, slope)
        for radial in radials:
            rows, columns = slice(i0, i1), slice(0, i1)
            radial.contract(a * radial.steepness(rows, columns), rows, columns, out)
    if groups:
        z = np.asfortranarray(np.hstack([block.values for block, _ in groups]))
        product = blas.dtrmm(1.0, weights.T, z, lower=0, trans_a=1)
        sides = 4.0 * np.einsum("ij,ij->j", z, product) - 2.0 * (sums @ z**2)
        index = np.concatenate([np.arange(own.start, own.stop) for _, own in groups])
        out[index] = beta[index] ** 2 * sides
    return out


def multiply_derivatives(terms: Sequence[Term], beta: Array, correlation: Array, vectors: Array) -> Array:
    r"""Return :math:`(\partial R/\partial\log\beta_l) V`, shape (p, N, k), for V of shape (N, k).

    Used once per fit for the uncertainty of the ranges, so it favors brevity: N x N work per range.
    """
    n, p = len(correlation), len(beta)
    out = np.zeros((p, *vectors.shape))
    scaled = [
        (own.start + k, z * beta[own.start + k]) for block, own in _groups(terms) for k, z in enumerate(block.values.T)
    ]
    radials = _radials(terms, beta)
    for i0, i1 in triangle_blocks(n):
        slopes = [(index, GAUSSIAN.slope(z[i0:i1, None] - z[:i1])) for index, z in scaled]
        for term, index in _apart(terms):
            slopes.append((index, term.correlation.slope(beta[index] * term.distances(slice(i0, i1), slice(0, i1)))))
        for radial in radials:
            steepness = radial.steepness(slice(i0, i1), slice(0, i1))
            slopes += [(index, steepness * layer) for index, layer in radial.layers(slice(i0, i1), slice(0, i1))]
        for index, slope in slopes:
            slope *= correlation[i0:i1, :i1]
            slope[:, i0:i1] = np.tril(slope[:, i0:i1], -1)
            out[index, i0:i1] += slope @ vectors[:i1]
            out[index, :i1] += slope.T @ vectors[i0:i1]
    return out


def cross_derivatives(terms: Sequence[Term], beta: Array, cross: Array, vectors: Array) -> Array:
    r"""Return :math:`(\partial r/\partial\log\beta_l) V`, shape (p, M, k); ``cross`` is r of shape (M, N)."""
    out = np.empty((len(beta), len(cross), vectors.shape[1]))
    for block, own in _groups(terms):
        for index, left, right in zip(range(own.start, own.stop), block.values.T, block.columns.T, strict=True):
            out[index] = (cross * GAUSSIAN.slope(beta[index] * (left[:, None] - right))) @ vectors
    for term, index in _apart(terms):
        out[index] = (cross * term.correlation.slope(beta[index] * term.block.dense())) @ vectors
    for radial in _radials(terms, beta):
        weights = cross * radial.steepness(slice(None), slice(None))
        for index, layer in radial.layers(slice(None), slice(None)):
            out[index] = (weights * layer) @ vectors
    return out
