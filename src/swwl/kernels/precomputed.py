"""A factor on distances that the user brings, between things that the column numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.kernels.base import Correlation, Factor, Item, Progress


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

    def __init__(self, column: str, distances: ArrayLike, correlation: Correlation = "gaussian"):
        self.column = column
        self.distances = distances
        self.correlation = correlation

    def fit(self, values: Any, progress: Progress | None = None) -> NDArray[np.intp]:
        """Check the distances; return the row numbers, shape (N,)."""
        matrix = np.asarray(self.distances, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"Precomputed({self.column!r}) wants a square matrix, not one of shape {matrix.shape}.")
        self.matrix_ = matrix
        return self.represent(values)

    def represent(self, values: Any, progress: Progress | None = None) -> NDArray[np.intp]:
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

    def items(self, first: NDArray, second: NDArray | None = None) -> list[Item]:
        """Return the given distances between two columns of row numbers."""
        return [self.matrix_[np.ix_(first, first if second is None else second)]]

    def correlations(self) -> list[Correlation]:
        """Return the given correlation."""
        return [self.correlation]
