r"""What kernels hand to the process: distances or coordinates of any rows x columns, on demand, behind one face.

A `Block` stands for M rows times N columns. ``take`` gives a part of it as a block again and computes nothing;
``dense`` computes, and never more than the block's own rows x columns. A solver that factorizes the whole matrix asks
once for everything (``held``); one that works on neighbors asks for many small pieces and never holds N x N numbers.

* `Distances`: a matrix that exists already;
* `RowDistances`: distances between wide rows, such as embeddings;
* `Coordinates`: one range per column instead of one distance;
* `swwl.gp.joint.Joint`: several of them, with one correlation.

:func:`between_rows`, :func:`between_patches` and :func:`squares_between` compute the distances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.gp.correlations import Array

_FEW_VALUES = 1 << 21  # of wide rows that are gathered at a time


def between_rows(first: ArrayLike, second: ArrayLike | None = None, *, r: int = 2, squared: bool = False) -> Array:
    """Return the distances of rows (M, K) to others (N, K), or among themselves, shape (M, N)."""
    # not at the top: the embedding brings in much that a process on plain matrices never uses
    from swwl.embedding.distances import pairwise_distances

    return pairwise_distances(first, second, r=r, squared=squared)


def between_patches(first: Array, second: Array | None, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
    """Return squared distances of rows of many small sets, shape (B, a, b), of positions (B, a) and (B, b)."""
    second = first if second is None else second
    out = np.zeros((*rows.shape, columns.shape[1]))
    step = max(1, _FEW_VALUES // max(1, rows.size + columns.size))
    for start in range(0, first.shape[1], step):
        some = slice(start, start + step)
        left, right = first[rows, some].astype(float), second[columns, some].astype(float)
        about = right[:, -1:].copy()
        left -= about
        right -= about
        out += squares_between(left, right)
    return out


def squares_between(left: Array, right: Array) -> Array:
    """Return the squared distances of points (B, a, k) to points (B, b, k), shape (B, a, b).

    The origin should be near the points: what rounding takes grows with their norms.
    """
    out: Array = (-2.0 * left) @ right.swapaxes(1, 2)
    out += np.einsum("nij,nij->ni", left, left)[:, :, None]
    out += np.einsum("nij,nij->ni", right, right)[:, None, :]
    return np.maximum(out, 0.0, out=out)


Index = slice | ArrayLike  # positions, a mask or a slice
Picked = slice | NDArray[np.intp]

_FEW_ROWS = 256  # of a block that is computed piece by piece
_MANY_ROWS = 5000  # whose largest distance is not looked for among all pairs
_WALKS = 4


class Block(ABC):
    """M rows times N columns of distances, or of coordinates that stand for them.

    Subclasses give ``shape``, ``symmetric``, ``take`` and ``dense``; the rest follows.

    Attributes
    ----------
    shape : tuple (M, N)
    symmetric : bool
        Whether rows and columns are the same points, in the same order.
    n_ranges : int
        How many ranges the process estimates for it.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether rows and columns are the same points."""

    @property
    def n_ranges(self) -> int:
        """One range for all distances."""
        return 1

    @abstractmethod
    def take(self, rows: Index, columns: Index | None = None) -> Block:
        """Return the block of some rows and columns: positions, masks or slices. Nothing is computed yet.

        Without ``columns`` it is the square block among ``rows`` where rows and columns are the same points, and
        all columns elsewhere.
        """

    @abstractmethod
    def dense(self) -> Array:
        """Return the distances, shape (M, N)."""

    def held(self) -> Block:
        """Return the same block with its distances computed, for those who will ask for all of them repeatedly."""
        return Distances(self.dense(), symmetric=self.symmetric)

    def among(self) -> Block | None:
        """Return the block of the rows among themselves, shape (M, M), or None where that is not known."""
        return self if self.symmetric else None

    def among_columns(self) -> Block | None:
        """Return the block of the columns among themselves, shape (N, N), or None where that is not known."""
        return self if self.symmetric else None

    def patches(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return the distances of many small blocks, shape (B, a, b), of rows (B, a) and columns (B, b)."""
        every = [self.take(own, other).dense() for own, other in zip(rows, columns, strict=True)]
        return np.stack(every) if every else np.empty((0, rows.shape[1], columns.shape[1]))

    def pairs(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return the distances of chosen pairs (rows[i], columns[i]), shape (pairs, n_ranges)."""
        own, own_place = np.unique(rows, return_inverse=True)
        other, other_place = np.unique(columns, return_inverse=True)
        return self.take(own, other).dense()[own_place, other_place][:, None]

    def largest(self) -> Array:
        """Return the largest distance for each range, shape (n_ranges,)."""
        starts = range(0, self.shape[0], _FEW_ROWS)
        parts = (self.take(slice(i, i + _FEW_ROWS), slice(None)).dense().max(initial=0.0) for i in starts)
        return np.array([max(parts, default=0.0)])

    def __repr__(self) -> str:
        return f"{type(self).__name__} of shape {self.shape}"


class Distances(Block):
    """Distances that exist as a matrix, which is kept by reference.

    Parameters
    ----------
    matrix : array-like of shape (M, N)
    symmetric : bool, optional
        Whether rows and columns are the same points; by default, whether the matrix is square.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 3.0])
    >>> block = Distances(np.abs(x[:, None] - x))
    >>> block.take([0, 2]).dense()
    array([[0., 3.],
           [3., 0.]])
    >>> block.take([0], [1, 2]).dense()
    array([[1., 3.]])
    """

    def __init__(self, matrix: ArrayLike, *, symmetric: bool | None = None):
        self.matrix: Array = np.asarray(matrix, dtype=float)
        if self.matrix.ndim != 2:
            raise InputError(f"The distances have shape {self.matrix.shape}, but (M, N) is expected.")
        square = self.matrix.shape[0] == self.matrix.shape[1]
        self._symmetric = square if symmetric is None else symmetric

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same points."""
        return self._symmetric

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def take(self, rows: Index, columns: Index | None = None) -> Distances:
        """Return some rows and columns; slices of both are a view."""
        own, other = _picked(self, rows, columns)
        if isinstance(own, slice) or isinstance(other, slice):
            return Distances(self.matrix[own, other], symmetric=self.symmetric and columns is None)
        return Distances(self.matrix[np.ix_(own, other)], symmetric=self.symmetric and columns is None)

    def dense(self) -> Array:
        """Return the matrix itself."""
        return self.matrix

    def held(self) -> Distances:
        """Return itself."""
        return self

    def patches(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return the distances of many small blocks, shape (B, a, b), of rows (B, a) and columns (B, b)."""
        return self.matrix[rows[:, :, None], columns[:, None, :]]

    def pairs(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return the distances of chosen pairs, shape (pairs, 1)."""
        return self.matrix[rows, columns][:, None]

    def largest(self) -> Array:
        """Return the largest distance, shape (1,)."""
        return np.array([self.matrix.max(initial=0.0)])


class RowDistances(Block):
    r"""Distances between wide rows, computed when they are asked for.

    With ``without`` they are what the squared distances of some coordinates z leave,

    .. math:: \sqrt{\max(0, \|\phi_i - \phi_j\|^2 - \|z_i - z_j\|^2)} .

    Parameters
    ----------
    first : array-like of shape (M, K)
        One row per row of the block, kept by reference.
    second : array-like of shape (N, K), optional
        One row per column; by default ``first`` again.
    r : {1, 2}
        Order of the norm.
    without : tuple, optional
        Coordinates z of ``first``, shape (M, k), and of ``second``, shape (N, k) or None. For r = 2 alone.

    Examples
    --------
    >>> block = RowDistances([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> block.take([0, 2]).dense()
    array([[ 0., 10.],
           [10.,  0.]])
    >>> RowDistances([[0.0, 0.0], [3.0, 4.0]], without=([[0.0], [3.0]], None)).dense()
    array([[0., 4.],
           [4., 0.]])
    """

    def __init__(
        self,
        first: ArrayLike,
        second: ArrayLike | None = None,
        *,
        r: int = 2,
        without: tuple[ArrayLike, ArrayLike | None] | None = None,
    ):
        self.first = np.asarray(first)
        self.second = None if second is None else np.asarray(second)
        self.r = r
        self.without = None
        for rows in (self.first, self.second):
            if rows is not None and rows.ndim != 2:
                raise InputError(f"Rows have shape {rows.shape}, but (N, K) is expected: one row per point.")
        if r not in (1, 2):
            raise InputError(f"r is {r!r}, but 1 or 2 is expected.")
        if without is not None:
            self.without = self._left_out(*without)

    def _left_out(self, own: ArrayLike, other: ArrayLike | None) -> tuple[Array, Array | None]:
        if self.r != 2:
            raise InputError("Only distances with r = 2 can be taken without those of some coordinates.")
        if (other is None) != (self.second is None):
            raise InputError("`without` needs coordinates of the second rows where, and only where, there are any.")
        z = np.asarray(own, dtype=float)
        z_other = None if other is None else np.asarray(other, dtype=float)
        found = len(z), len(z if z_other is None else z_other)
        if found != self.shape:
            raise InputError(f"`without` holds coordinates of {found} points, but the rows are {self.shape}.")
        return z, z_other

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same points."""
        return self.second is None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.first), len(self.first if self.second is None else self.second)

    def take(self, rows: Index, columns: Index | None = None) -> RowDistances:
        """Return the block of some rows and columns."""
        own, other = _picked(self, rows, columns)
        second, z_second = self.second, self.without[1] if self.without else None
        if self.second is None and columns is not None:
            second, z_second = self.first, self.without[0] if self.without else None
        return RowDistances(
            self.first[own],
            None if second is None else second[other],
            r=self.r,
            without=self.without and (self.without[0][own], None if z_second is None else z_second[other]),
        )

    def dense(self) -> Array:
        """Compute the distances, shape (M, N)."""
        if 0 in self.shape:
            return np.empty(self.shape)
        with np.errstate(invalid="ignore"):  # rows that are not finite get an error below
            if self._single:
                other = self.first if self.second is None else self.second
                distances = np.abs(self.first.astype(float, copy=False) - other.T)
            elif self.without is None:
                distances = between_rows(self.first, self.second, r=self.r)
            else:
                distances = between_rows(self.first, self.second, squared=True)
                distances -= between_rows(*self.without, squared=True)
                np.maximum(distances, 0, out=distances)
                np.sqrt(distances, out=distances)
        if not np.isfinite(distances).all():
            raise self._not_finite()
        return distances

    @property
    def _single(self) -> bool:
        """Whether rows are single numbers, whose differences rounding need not spoil."""
        return self.without is None and {1} == {rows.shape[1] for rows in (self.first, self.second) if rows is not None}

    def _not_finite(self) -> InputError:
        for side, rows in (("row", self.first), ("column", self.second)):
            if rows is not None and not np.isfinite(rows).all():
                bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))[0]
                return InputError(f"The vector of {side} {bad} holds values that are not finite.")
        return InputError("The vectors are too far apart: their distances are not finite.")

    def among(self) -> RowDistances:
        """Return the distances among the first rows."""
        return RowDistances(self.first, r=self.r, without=self.without and (self.without[0], None))

    def among_columns(self) -> RowDistances:
        """Return the distances among the second rows."""
        if self.second is None:
            return self
        left_out = self.without and self.without[1]
        return RowDistances(self.second, r=self.r, without=None if left_out is None else (left_out, None))

    def patches(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return the distances of many small blocks, shape (B, a, b), of rows (B, a) and columns (B, b)."""
        if self._single:
            other = self.first if self.second is None else self.second
            return np.abs(self.first[:, 0][rows][:, :, None] - other[:, 0][columns][:, None])
        if self.r != 2:
            return super().patches(rows, columns)
        squares = between_patches(self.first, self.second, rows, columns)
        if self.without is not None:
            squares -= between_patches(*self.without, rows, columns)
            np.maximum(squares, 0.0, out=squares)
        return np.sqrt(squares, out=squares)

    def largest(self) -> Array:
        """Return the largest distance, shape (1,); of more than 5000 rows one that is at least half as large.

        It is the longest of a few walks, each to the row that is farthest from the last one.
        """
        if self.shape[0] <= _MANY_ROWS or not self.symmetric:
            return super().largest()
        found, at = 0.0, 0
        for _ in range(_WALKS):
            far = self.take([at], slice(None)).dense()[0]
            found, at = max(found, float(far.max())), int(far.argmax())
        return np.array([found])


class Coordinates(Block):
    r"""Coordinates handed over in place of a distance matrix: one range per column.

    Wrapping an ``(N, k)`` array stands for :math:`c(\sqrt{\sum_k \beta_k^2 (z_{ik} - z_{jk})^2})`, which for the
    Gaussian is a product over the columns, without ever making ``k`` distance matrices.

    Parameters
    ----------
    values : array-like of shape (M, k)
        Of the rows of the block.
    others : array-like of shape (N, k), optional
        Of its columns; by default ``values`` again. Predictions need none: the process knows its training points.

    Examples
    --------
    >>> Coordinates([[0.0, 1.0, 4.0], [2.0, 3.0, 4.0]])
    Coordinates, values of shape (2, 3)
    >>> Coordinates([[0.0, 1.0, 4.0], [2.0, 3.0, 4.0]]).take([1]).values.tolist()
    [[2.0, 3.0, 4.0]]
    """

    def __init__(self, values: ArrayLike, others: ArrayLike | None = None):
        self.values: Array = np.ascontiguousarray(values, dtype=float)
        self.others: Array | None = None if others is None else np.ascontiguousarray(others, dtype=float)

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same points."""
        return self.others is None

    @property
    def n_ranges(self) -> int:
        """One range per column of the coordinates."""
        return int(self.values.shape[1])

    @property
    def columns(self) -> Array:
        """Coordinates of the columns of the block, shape (N, k)."""
        return self.values if self.others is None else self.others

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the block."""
        return len(self.values), len(self.columns)

    def take(self, rows: Index, columns: Index | None = None) -> Coordinates:
        """Return the block of some rows and columns."""
        own, other = _picked(self, rows, columns)
        if self.others is None and columns is None:
            return Coordinates(self.values[own])
        return Coordinates(self.values[own], self.columns[other])

    def dense(self) -> Array:
        """Return the Euclidean distances, shape (M, N): those that count where all ranges are one."""
        if 0 in self.shape:
            return np.empty(self.shape)
        return between_rows(self.values, self.others)

    def held(self) -> Coordinates:
        """Return itself."""
        return self

    def among(self) -> Coordinates:
        """Return the coordinates of the rows among themselves."""
        return Coordinates(self.values)

    def among_columns(self) -> Coordinates:
        """Return the coordinates of the columns among themselves."""
        return Coordinates(self.columns)

    def pairs(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
        """Return the distances of chosen pairs along every column, shape (pairs, k)."""
        return np.abs(self.values[rows] - self.columns[columns])

    def largest(self) -> Array:
        """Return the largest distance along every column, shape (k,)."""
        rows, columns = self.values, self.columns
        up: Array = rows.max(axis=0) - columns.min(axis=0)
        down: Array = columns.max(axis=0) - rows.min(axis=0)
        return np.maximum(up, down)

    def __repr__(self) -> str:
        return f"Coordinates, values of shape {self.values.shape}"


def _picked(block: Block, rows: Index, columns: Index | None) -> tuple[Picked, Picked]:
    """Return rows and columns as slices or positions."""
    own = _positions(rows, block.shape[0])
    if columns is None:
        return own, own if block.symmetric else slice(None)
    return own, _positions(columns, block.shape[1])


def _positions(which: Index, length: int) -> Picked:
    if isinstance(which, slice):
        return which
    index = np.asarray(which)
    if index.dtype == bool:
        if index.shape != (length,):
            raise IndexError(f"A mask of shape {index.shape} cannot choose among {length}.")
        return np.flatnonzero(index)
    return index.astype(np.intp)
