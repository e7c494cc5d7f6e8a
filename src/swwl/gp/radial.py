r"""One correlation of several ranges: a function of a sum of scaled squared distances.

At given ranges it is :math:`c(\sqrt u)` with

.. math:: u_{ij} = \sum_k (\beta_k (z_{ik} - z_{jk}))^2 + \sum_r (\beta_r D_{r,ij})^2 .

With :math:`e(s)` the slope of ``correlations.py`` over :math:`s^2`, every range has
:math:`\partial\log c/\partial\log\beta_l = e(\sqrt u)\,u_l`, where :math:`u_l` is its own part of u. All coordinates
together therefore cost two matrix products, one for u and one for the gradient, and everything one exponential.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swwl.gp.blocks import Block, Coordinates
from swwl.gp.correlations import Array, Correlation
from swwl.gp.joint import parts_of


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
    """

    def __init__(self, correlation: Correlation, block: Block, beta: Array, first: int):
        self.correlation, self.beta = correlation, beta
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
        """Return the root of u on some rows and columns."""
        layers = self.layers(rows, columns) if self.correlation.rough else self._far_layers(rows, columns)
        u = None
        if len(self._places) and not self.correlation.rough:
            u = self._left[rows] @ self._right[columns].T
            np.maximum(u, 0.0, out=u)
        for _, layer in layers:
            u = layer if u is None else np.add(u, layer, out=u)
        assert u is not None  # a block has at least one part
        return np.sqrt(u, out=u)
