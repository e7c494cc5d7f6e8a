"""Factors on what the user brings: distances between things that the column numbers, or vectors."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from swwl.embedding.options import check_exponent
from swwl.errors import InputError
from swwl.gp.blocks import Block, RowDistances
from swwl.kernels.base import CorrelationName, Factor, Item
from swwl.parallel import Progress
from swwl.storage.checks import Shape, Size
from swwl.storage.modelfile import storable


@storable
class Precomputed(Factor):
    r"""A correlation of given distances.

    Parameters
    ----------
    column : str
        Name of a column of integers: which row of ``distances`` each row of the table is.
    distances : array-like of shape (K, K)
        Distances between all things that any table will ever name, for training and prediction alike.
    correlation : {"gaussian", "matern52", "matern32"} or ("power", alpha)
        The kernel is positive definite only if the distances suit the correlation.

    Examples
    --------
    >>> kernel = Precomputed("id", [[0.0, 1.0], [1.0, 0.0]])
    >>> kernel.items(kernel.fit([0, 1, 1]))[0]
    array([[0., 1., 1.],
           [1., 0., 0.],
           [1., 0., 0.]])
    """

    takes = "rows"
    row_shapes = (Shape("n", "i"),)
    matrix_: Annotated[NDArray[np.float64], Shape("kk")]

    def __init__(self, column: str, distances: ArrayLike, correlation: CorrelationName = "gaussian"):
        self.column = column
        self.distances = distances
        self.correlation = correlation

    def fit(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.intp]:
        """Check the distances; return the row numbers, shape (N,)."""
        matrix = np.asarray(self.distances, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"Precomputed({self.column!r}) needs a square matrix, not one of shape {matrix.shape}.")
        self.matrix_ = matrix
        return self.represent(values)

    def represent(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.intp]:
        """Return the row numbers of the column, shape (N,)."""
        numbers = np.asarray(values)
        size = len(self.matrix_)
        if (
            not np.issubdtype(numbers.dtype, np.integer)
            or numbers.size
            and not 0 <= numbers.min() <= numbers.max() < size
        ):
            raise InputError(f"Column {self.column!r} must number rows of the given distances, 0 to {size - 1}.")
        return numbers.astype(np.intp)

    def check_restored(self, rows: Any) -> None:
        """Refuse rows that do not number the distances."""
        super().check_restored(rows)
        self.represent(rows)

    def items(self, first: NDArray[np.intp], second: NDArray[np.intp] | None = None) -> list[Item]:
        """Return the given distances between two columns of row numbers."""
        return [self.matrix_[np.ix_(first, first if second is None else second)]]

    def correlations(self) -> list[CorrelationName]:
        """Return the given correlation."""
        return [self.correlation]


@storable
class Rows(Factor):
    r"""A correlation of vectors that the user brings: :math:`e^{-(\beta \|x - x'\|)^\alpha}` by default.

    Parameters
    ----------
    column : str
        Name of a column whose entries are vectors, all of one length.
    alpha : float
        Exponent in (0, 2].

    Examples
    --------
    >>> kernel = Rows("modes")
    >>> kernel.items(kernel.fit([[0.0, 0.0], [3.0, 4.0]]))[0]
    array([[0., 5.],
           [5., 0.]])
    """

    takes = "rows"
    row_shapes = (Shape("nk"),)
    n_columns_: Annotated[int, Meta(ge=0), Size("k")]

    def __init__(self, column: str = "rows", *, alpha: float = 2.0):
        self.column = column
        self.alpha = alpha

    def fit(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.float64]:
        """Learn the length of the vectors; return them, shape (N, K)."""
        check_exponent(self.alpha)
        rows = self._rows(values)
        self.n_columns_ = int(rows.shape[1])
        return rows

    def represent(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.float64]:
        """Return the vectors of a column, shape (N, K)."""
        rows = self._rows(values)
        if rows.shape[1] != self.n_columns_:
            raise InputError(
                f"Column {self.column!r} holds vectors of length {rows.shape[1]}, but fit saw {self.n_columns_}."
            )
        return rows

    def blocks(self, first: NDArray[np.float64], second: NDArray[np.float64] | None = None) -> list[Block]:
        """Return the distances between vectors, on demand."""
        return [RowDistances(first, second)]

    def vectors(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the vectors, (N, K)."""
        return rows

    def correlations(self) -> list[CorrelationName]:
        """Return the Gaussian correlation, or the power exponential where ``alpha`` is not 2."""
        return ["gaussian" if self.alpha == 2 else ("power", float(self.alpha))]

    def _rows(self, values: Any) -> NDArray[np.float64]:
        entries = list(values)
        vectors: list[NDArray[np.float64]] = []
        for number, entry in enumerate(entries):
            try:
                vector = np.atleast_1d(np.asarray(entry, dtype=np.float64))
            except (TypeError, ValueError):
                vector = np.empty((0, 0))
            if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all():
                raise InputError(
                    f"Column {self.column!r} must hold vectors of finite numbers, but row {number} is {entry!r}."
                )
            if vectors and len(vector) != len(vectors[0]):
                raise InputError(
                    f"Column {self.column!r} must hold vectors of equal length, but row {number} has {len(vector)} "
                    f"numbers and row 0 has {len(vectors[0])}."
                )
            vectors.append(vector)
        return np.array(vectors).reshape(len(vectors), -1)
