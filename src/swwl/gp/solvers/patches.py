r"""Correlations of many small sets of points at once: what a solver on neighbors asks for.

A *patch* is a block of a rows and b columns; B of them make arrays of shape (B, a, b). Every term of the product is a
function :math:`c(\sqrt u)` of a sum of scaled squares, :math:`u = \sum_l u_l`, with
:math:`\partial\log c/\partial\log\beta_l = e(\sqrt u)\,u_l` (``radial.py``), so one rule serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swwl.gp.between import squares_between
from swwl.gp.blocks import Coordinates
from swwl.gp.correlations import Array
from swwl.gp.factors import Term, range_slices
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
