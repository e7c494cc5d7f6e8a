"""What all factors have in common, and their product."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from swwl.errors import InputError, InputTypeError
from swwl.gp import Coordinates

Item = NDArray[np.float64] | Coordinates
Correlation = str | tuple[str, float]
Progress = Callable[[int, int | None], None]


class Factor(BaseEstimator):
    """One factor of a kernel: a distance on one column and a correlation of it.

    Parameters are stored as given, by scikit-learn's rules (``get_params``, ``set_params``, ``clone``). A factor of
    one's own has a ``column`` and these methods:

    - ``fit(values, progress=None)`` learns from a training column and returns its representation;
    - ``represent(values, progress=None)`` returns the representation of another column;
    - ``items(first, second=None)`` turns representations into a list of what :class:`swwl.RobustGP` takes: (N, M)
      distances from ``first`` to ``second`` (or among ``first``), or the :class:`Coordinates` of ``first``;
    - ``correlations()`` and ``range_names()`` name a correlation per item and a name per range;
    - ``units()`` says what one unit of distance is, per range, in the units of the column.

    A factor that is not ``positive_definite`` makes :class:`swwl.RobustGPRegressor` warn, and add the constant to its
    distances that :mod:`swwl.kernels.indefinite` finds. One that is ``supervised`` has a ``fit`` that takes classes
    as ``y``.
    """

    column: str
    positive_definite = True
    supervised = False
    shifts_: NDArray[np.float64]

    def __mul__(self, other: Factor | Product) -> Product:
        return Product(self, other)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [repr(self.column)]
        for name, value in self.get_params(deep=False).items():
            default = defaults[name].default
            if name != "column" and not (value is default or (np.ndim(value) == 0 and value == default)):
                shown.append(f"{name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def fit(self, values: Any, progress: Progress | None = None) -> Any:
        """Learn from a training column; return its representation."""
        raise TypeError(f"{type(self).__name__} must define fit.")

    def represent(self, values: Any, progress: Progress | None = None) -> Any:
        """Return the representation of a column."""
        raise TypeError(f"{type(self).__name__} must define represent.")

    def items(self, first: Any, second: Any = None) -> list[Item]:
        """Return distances (N, M) or coordinates, one per correlation."""
        raise TypeError(f"{type(self).__name__} must define items.")

    def correlations(self) -> list[Correlation]:
        """Return one correlation per item."""
        raise TypeError(f"{type(self).__name__} must define correlations.")

    def range_names(self) -> list[str]:
        """Return one name per range."""
        return [self.column]

    def units(self) -> NDArray[np.float64]:
        """Return what one unit of distance is in the units of the column, per range."""
        return np.ones(len(self.range_names()))


def _short(value: Any) -> str:
    return f"<array of shape {np.shape(value)}>" if isinstance(value, np.ndarray) else repr(value)


class Product:
    """The product of several factors; made with ``*``.

    Parameters
    ----------
    *factors : Factor or Product

    Examples
    --------
    >>> from swwl.kernels import Matern52, SWWL
    >>> kernel = SWWL("mesh") * Matern52("speed")
    >>> kernel.get_params()["mesh__n_projections"]
    50
    >>> kernel.set_params(mesh__n_projections=20)
    SWWL('mesh', n_projections=20) * Matern52('speed')
    """

    def __init__(self, *factors: Factor | Product):
        self.factors: list[Factor] = []
        for factor in factors:
            if not isinstance(factor, (Factor, Product)):
                raise InputTypeError(f"A kernel multiplies factors such as SWWL('mesh'), not {type(factor).__name__}.")
            self.factors += factor.factors if isinstance(factor, Product) else [factor]

    def __mul__(self, other: Factor | Product) -> Product:
        return Product(self, other)

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))

    def __sklearn_clone__(self) -> Product:
        return Product(*(clone(factor) for factor in self.factors))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the factors by column and, if ``deep``, their parameters as ``column__parameter``."""
        params: dict[str, Any] = {factor.column: factor for factor in self.factors}
        if deep:
            for factor in self.factors:
                params |= {f"{factor.column}__{key}": value for key, value in factor.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Product:
        """Set parameters named as in :meth:`get_params`."""
        for key, value in params.items():
            position = next(
                (k for k, f in enumerate(self.factors) if key == f.column or key.startswith(f"{f.column}__")), None
            )
            if position is None:
                columns = ", ".join(factor.column for factor in self.factors)
                raise InputError(f"The kernel has no parameter {key!r}; its columns are: {columns}.")
            if key == self.factors[position].column:
                self.factors[position] = value
            else:
                self.factors[position].set_params(**{key.split("__", 1)[1]: value})
        return self


def as_product(kernel: Factor | Product) -> Product:
    """Return a kernel as a product; refuse what is none, or uses a column twice."""
    product = kernel if isinstance(kernel, Product) else Product(kernel)
    seen: dict[str, Factor] = {}
    for factor in product.factors:
        if factor.column in seen:
            first = type(seen[factor.column]).__name__
            raise InputError(
                f"The kernel uses column {factor.column!r} twice, in {first} and {type(factor).__name__}; "
                f"each column may have one factor."
            )
        seen[factor.column] = factor
    return product
