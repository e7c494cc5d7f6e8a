"""Several kernels on the columns of one table: what their factors share is learned, read and embedded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from swwl.kernels.base import Factor, Product, options_for
from swwl.parallel import Progress
from swwl.storage import MemoryLike

Columns = Callable[[str], Any]


def distinct_factors(kernels: Sequence[Product]) -> tuple[list[Factor], list[list[int]]]:
    """Return the factors whose representations differ, and for every kernel the places of its factors among them.

    Examples
    --------
    >>> from swwl.kernels import Elliptic, Matern52
    >>> factors, places = distinct_factors([Elliptic("speed"), Matern52("load") * Matern52("speed")])
    >>> [factor.column for factor in factors], places
    (['speed', 'load'], [[0], [1, 0]])
    """
    factors: list[Factor] = []
    known: dict[Any, int] = {}
    places = []
    for kernel in kernels:
        own = []
        for factor in kernel.factors:
            source = factor.source()
            if source not in known:
                known[source] = len(factors)
                factors.append(factor)
            own.append(known[source])
        places.append(own)
    return factors, places


def fit_kernels(
    kernels: Sequence[Product], column: Columns, progress: Progress | None = None, memory: MemoryLike = None
) -> list[list[Any]]:
    """Fit the factors of all kernels; return their training representations, kernel by kernel.

    Parameters
    ----------
    kernels : sequence of Product
    column : callable
        Takes the name of a column, returns it.
    progress : callable, optional
        Called as ``progress(done, total)`` while graphs are embedded.
    memory : Memory or path, optional
    """
    factors, places = distinct_factors(kernels)
    rows = [factor.fit(column(factor.column), progress, **options_for(factor, memory)) for factor in factors]
    for kernel, own in zip(kernels, places, strict=True):
        for factor, place in zip(kernel.factors, own, strict=True):
            if factor is not factors[place]:
                factor.adopt(factors[place])
    return [[rows[place] for place in own] for own in places]


def represent_columns(
    kernels: Sequence[Product], column: Columns, progress: Progress | None = None, memory: MemoryLike = None
) -> list[list[Any]]:
    """Return the representations of other columns, kernel by kernel, with fitted kernels."""
    factors, places = distinct_factors(kernels)
    rows = [factor.represent(column(factor.column), progress, **options_for(factor, memory)) for factor in factors]
    return [[rows[place] for place in own] for own in places]
