r"""Factors on columns of numbers, :math:`c(\beta\,|s - s'|)` of the standardized column, and of a few texts.

Texts, such as materials, have one range for all of them: :math:`c(\beta\,[a \ne b])`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.distances import half_squares_back
from swwl.embedding.linear import Linear
from swwl.embedding.options import check_exponent
from swwl.errors import InputError
from swwl.gp.blocks import Block, RowDistances
from swwl.kernels.base import CorrelationName, Factor
from swwl.parallel import Progress
from swwl.storage.checks import Names, Positive, Shape, Squarable
from swwl.storage.modelfile import storable
from swwl.tables.inputs import LARGEST

# Of the largest to the smallest value of a column over decades, and by how much less skew its logarithm is.
_RATIO, _LESS_SKEW = 20.0, 0.5
# Stands for zero in logarithms.
_LEAST = float(np.finfo(float).tiny)


def over_decades(values: Any) -> bool:
    """Whether the logarithm of a column is the number to learn from: positive, over decades, and more even.

    Examples
    --------
    >>> over_decades([1e-3, 1e-2, 0.1, 1.0, 10.0]), over_decades([1, 2, 3, 4, 5]), over_decades([0.0, 1e-3, 9.0])
    (True, False, False)
    """
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) < 3 or not np.isfinite(numbers).all() or not 0 < _RATIO * numbers.min() < numbers.max():
        return False
    plain, logarithm = (abs(_skewness(own)) for own in (numbers, np.log(numbers)))
    return logarithm + _LESS_SKEW < plain


def _skewness(numbers: NDArray[np.float64]) -> float:
    centered = numbers - numbers.mean()
    centered /= np.abs(centered).max()  # powers of tiny numbers vanish
    return float(np.mean(centered**3) / np.mean(centered**2) ** 1.5)


class Numeric(Factor):
    """A factor on a numeric column; subclasses are its correlation.

    Parameters
    ----------
    column : str
        Name of a column of numbers.
    log : bool
        Take the logarithm of the column, which must be positive in the training set.

    Attributes
    ----------
    mean_, spread_ : float
        Mean and standard deviation of the training column, or its logarithm (one where it is constant).
    """

    takes = "numbers"
    row_shapes = (Shape("n"),)
    name: str
    mean_: Squarable
    spread_: Positive

    def __init__(self, column: str, *, log: bool = False):
        self.column = column
        self.log = log

    def fit(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.float64]:
        """Learn mean and spread; return the standardized column, shape (N,)."""
        numbers = self._numbers(values)
        if self.log and not (numbers > 0).all():
            row = int(np.argmax(numbers <= 0))
            error = InputError(f"column {self.column!r} holds {numbers[row]:g}, but a logarithm needs positive values.")
            raise error.of_item(row, f"Row {row}")
        numbers = self._scaled(numbers)
        self.mean_ = float(numbers.mean())
        spread = float(numbers.std())
        self.spread_ = spread if spread > 1e-12 * max(1e-300, np.abs(numbers).max()) else 1.0
        return self.represent(values)

    def represent(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.float64]:
        """Standardize a column by the training set's mean and spread, shape (N,)."""
        return (self._scaled(self._numbers(values)) - self.mean_) / self.spread_

    def blocks(self, first: NDArray[np.float64], second: NDArray[np.float64] | None = None) -> list[Block]:
        """Return absolute differences, on demand."""
        return [RowDistances(first[:, None], None if second is None else second[:, None])]

    def source(self) -> Any:
        """Return the column, and whether of its logarithm: all factors standardize it in the same way."""
        return "numbers", self.column, self.log

    def vectors(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the standardized column, (N, 1)."""
        return rows[:, None]

    def linear(self, value: object) -> Linear:
        """Return the standardized number, (1,)."""
        step = float(self._numbers([value])[0]) if self.log else 1.0
        per_unit = self.spread_ * (max(step, _LEAST) if self.log else 1.0)
        return Linear(self.represent([value]), lambda gradient: gradient[0] / per_unit)

    def of_row(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standardized number as it is, (1,)."""
        return row

    def pull_back(
        self, new: NDArray[np.float64], train: NDArray[np.float64], gradients: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return the gradient in the standardized number, (1, m)."""
        return half_squares_back(new, train[:, None], gradients[0])

    def numbers(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the column in its own units, (N,)."""
        found = rows * self.spread_ + self.mean_
        return np.exp(found) if self.log else found

    def correlations(self) -> list[CorrelationName]:
        """Return the correlation's name."""
        return [self.name]

    def units(self) -> NDArray[np.float64]:
        """Return the spread of the training column: one unit of standardized distance."""
        return np.array([self.spread_])

    def _scaled(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers or their logarithms; what is not positive is as far from all others as numbers can tell."""
        return np.log(np.maximum(numbers, _LEAST)) if self.log else numbers

    def _numbers(self, values: Any) -> NDArray[np.float64]:
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"Column {self.column!r} must hold numbers for {type(self).__name__}, "
                f"but its first entry is {next(iter(values), None)!r}."
            ) from None
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            rows = ", ".join(map(str, bad[:5])) + (", …" if bad.size > 5 else "")
            raise InputError(
                f"Column {self.column!r} must hold finite numbers, but {bad.size} of {len(numbers)} rows do not "
                f"(row {rows}: {numbers[bad[0]]})."
            )
        if numbers.size and np.abs(numbers).max() > LARGEST:
            row = int(np.abs(numbers).argmax())
            raise InputError(
                f"Column {self.column!r} holds {numbers[row]:g} in row {row}, whose square overflows; correct it, or "
                f"divide the column by a power of ten."
            )
        return numbers


@storable
class Matern52(Numeric):
    r"""Matérn 5/2: :math:`(1 + t + t^2/3) e^{-t}`, :math:`t = \sqrt5 \beta |s - s'|`.

    Parameters
    ----------
    column : str
        Name of a column of numbers, standardized on the training set.
    log : bool
        Take the logarithm of the column.

    Examples
    --------
    >>> Matern52("speed")
    Matern52('speed')
    """

    name = "matern52"


@storable
class Matern32(Numeric):
    r"""Matérn 3/2: :math:`(1 + t) e^{-t}`, :math:`t = \sqrt3 \beta |s - s'|`.

    Parameters
    ----------
    column : str
        Name of a column of numbers, standardized on the training set.
    log : bool
        Take the logarithm of the column.
    """

    name = "matern32"


@storable
class Gaussian(Numeric):
    r"""Gaussian: :math:`e^{-(\beta |s - s'|)^2}`.

    Parameters
    ----------
    column : str
        Name of a column of numbers, standardized on the training set.
    log : bool
        Take the logarithm of the column.
    """

    name = "gaussian"


@storable
class Power(Numeric):
    r"""Power exponential: :math:`e^{-(\beta |s - s'|)^\alpha}`.

    Parameters
    ----------
    column : str
        Name of a column of numbers, standardized on the training set.
    log : bool
        Take the logarithm of the column.
    alpha : float
        Exponent in (0, 2].

    Examples
    --------
    >>> Power("speed", alpha=1.9).correlations()
    [('power', 1.9)]
    """

    def __init__(self, column: str, alpha: float = 1.9, *, log: bool = False):
        super().__init__(column, log=log)
        self.alpha = alpha

    def correlations(self) -> list[CorrelationName]:
        """Return the correlation's name and exponent."""
        check_exponent(self.alpha)
        return [("power", float(self.alpha))]


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
                error = InputError(f"column {self.column!r} is missing, but a category is expected.")
                raise error.of_item(place, f"Row {place}")
        return [str(value) for value in entries]
