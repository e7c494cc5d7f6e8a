r"""Factor on columns of a few texts, such as materials: :math:`c(\beta\,[a \ne b])`, one range for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.gp.blocks import Block, RowDistances
from swwl.kernels.base import CorrelationName, Factor
from swwl.parallel import Progress
from swwl.storage.checks import Names, Shape
from swwl.storage.modelfile import storable


@storable
class Categories(Factor):
    r"""Texts that are the same or are not: equal ones have distance 0, all others distance 1.

    These are the distances, up to a factor, of one-hot vectors, so the kernel is positive definite.

    Parameters
    ----------
    column : str
        Name of a column of texts (or of anything else that can be told apart by its text).

    Attributes
    ----------
    categories_ : list of str
        Those of the training column, sorted; others cannot be predicted.

    Examples
    --------
    >>> kernel = Categories("material")
    >>> kernel.items(kernel.fit(["steel", "copper", "steel"]))[0]
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    >>> kernel.categories_
    ['copper', 'steel']
    """

    takes = "categories"
    row_shapes = (Shape("n", "i", least=0),)
    categories_: Names

    def __init__(self, column: str):
        self.column = column

    def fit(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.intp]:
        """Learn the categories; return their numbers, shape (N,)."""
        self.categories_ = sorted(set(self._texts(values)))
        return self.represent(values)

    def represent(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.intp]:
        """Return the numbers of a column's categories, shape (N,); refuse those that the training column lacks."""
        numbers = {text: number for number, text in enumerate(self.categories_)}
        rows = []
        for place, text in enumerate(self._texts(values)):
            if text not in numbers:
                known = ", ".join(self.categories_[:10]) + (", …" if len(self.categories_) > 10 else "")
                error = InputError(f"column {self.column!r} holds {text!r}, but the training rows only {known}.")
                raise error.of_item(place, f"Row {place}")
            rows.append(numbers[text])
        return np.array(rows, dtype=np.intp)

    def blocks(self, first: NDArray[np.intp], second: NDArray[np.intp] | None = None) -> list[Block]:
        """Return 0 for equal categories and 1 for others, on demand: distances of one-hot vectors."""
        return [RowDistances(self._one_hot(first), None if second is None else self._one_hot(second))]

    def source(self) -> Any:
        """Return the column."""
        return "categories", self.column

    def vectors(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Return one-hot vectors at distance 1 from each other, (N, K)."""
        return self._one_hot(rows)

    def correlations(self) -> list[CorrelationName]:
        """Return the Gaussian correlation; any other would do as well, for there are but two distances."""
        return ["gaussian"]

    def check_restored(self, rows: Any) -> None:
        """Refuse rows that do not number the categories."""
        super().check_restored(rows)
        if rows.max(initial=-1) >= len(self.categories_):
            raise InputError(f"column {self.column!r} must number {len(self.categories_)} categories")

    def _one_hot(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.eye(len(self.categories_))[rows] / np.sqrt(2)

    def _texts(self, values: Any) -> list[str]:
        entries = list(values)
        for place, value in enumerate(entries):
            if value is None or value is pd.NA or value != value:
                error = InputError(f"column {self.column!r} is missing, but a category is wanted.")
                raise error.of_item(place, f"Row {place}")
        return [str(value) for value in entries]
