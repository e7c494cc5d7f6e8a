r"""Factors on numeric columns: :math:`c(\beta\,|s - s'|)`, the column standardized on the training set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.distances import half_squares_back
from swwl.embedding.linear import Linear
from swwl.embedding.options import check_exponent
from swwl.errors import InputError
from swwl.gp.blocks import Block, RowDistances
from swwl.kernels.base import CorrelationName, Factor
from swwl.parallel import Progress
from swwl.storage.checks import Positive, Shape
from swwl.storage.modelfile import storable


class Numeric(Factor):
    """A factor on a numeric column; subclasses are its correlation.

    Parameters
    ----------
    column : str
        Name of a column of numbers.

    Attributes
    ----------
    mean_, spread_ : float
        Mean and standard deviation of the training column (one where it is constant).
    """

    takes = "numbers"
    row_shapes = (Shape("n"),)
    name: str
    mean_: float
    spread_: Positive

    def __init__(self, column: str):
        self.column = column

    def fit(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.float64]:
        """Learn mean and spread; return the standardized column, shape (N,)."""
        numbers = self._numbers(values)
        self.mean_ = float(numbers.mean())
        spread = float(numbers.std())
        self.spread_ = spread if spread > 1e-12 * max(1e-300, np.abs(numbers).max()) else 1.0
        return self.represent(values)

    def represent(self, values: object, progress: Progress | None = None, **options: Any) -> NDArray[np.float64]:
        """Standardize a column by the training set's mean and spread, shape (N,)."""
        return (self._numbers(values) - self.mean_) / self.spread_

    def blocks(self, first: NDArray[np.float64], second: NDArray[np.float64] | None = None) -> list[Block]:
        """Return absolute differences, on demand."""
        return [RowDistances(first[:, None], None if second is None else second[:, None])]

    def source(self) -> Any:
        """Return the column: all factors standardize it in the same way."""
        return "numbers", self.column

    def vectors(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the standardized column, (N, 1)."""
        return rows[:, None]

    def linear(self, value: object) -> Linear:
        """Return the standardized number, (1,)."""
        return Linear(self.represent([value]), lambda gradient: gradient[0] / self.spread_)

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
        return rows * self.spread_ + self.mean_

    def correlations(self) -> list[CorrelationName]:
        """Return the correlation's name."""
        return [self.name]

    def units(self) -> NDArray[np.float64]:
        """Return the spread of the training column: one unit of standardized distance."""
        return np.array([self.spread_])

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
        return numbers


@storable
class Matern52(Numeric):
    r"""Matérn 5/2: :math:`(1 + t + t^2/3) e^{-t}`, :math:`t = \sqrt5 \beta |s - s'|`.

    Parameters
    ----------
    column : str
        Name of a column of numbers, standardized on the training set.

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
    """

    name = "matern32"


@storable
class Gaussian(Numeric):
    r"""Gaussian: :math:`e^{-(\beta |s - s'|)^2}`.

    Parameters
    ----------
    column : str
        Name of a column of numbers, standardized on the training set.
    """

    name = "gaussian"


@storable
class Power(Numeric):
    r"""Power exponential: :math:`e^{-(\beta |s - s'|)^\alpha}`.

    Parameters
    ----------
    column : str
        Name of a column of numbers, standardized on the training set.
    alpha : float
        Exponent in (0, 2].

    Examples
    --------
    >>> Power("speed", alpha=1.9).correlations()
    [('power', 1.9)]
    """

    def __init__(self, column: str, alpha: float = 1.9):
        self.column = column
        self.alpha = alpha

    def correlations(self) -> list[CorrelationName]:
        """Return the correlation's name and exponent."""
        check_exponent(self.alpha)
        return [("power", float(self.alpha))]
