"""Several kernels on the columns of one table: what their factors share is learned, read and embedded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from swwl.embedding.runner import fit_transform_together, transform_together
from swwl.embedding.stores.sampled import fit_keep
from swwl.errors import located
from swwl.kernels.base import Factor, Product, options_for
from swwl.kernels.components import KeptComponents
from swwl.kernels.sliced import SWWL
from swwl.parallel import Progress
from swwl.storage.memory import MemoryLike

Columns = Callable[[str], Any]
Sampled = Callable[[str, list[Any]], list[Any]]


def _by_column(factors: Sequence[Factor], wanted: Callable[[Factor], bool]) -> dict[str, list[int]]:
    """Return, for every column of graphs, the places of the factors that can embed it together."""
    found: dict[str, list[int]] = {}
    for place, factor in enumerate(factors):
        if wanted(factor):
            found.setdefault(factor.column, []).append(place)
    return found


def _joins(factor: Factor) -> bool:
    """Whether the embedding of a factor can be computed beside others."""
    return isinstance(factor, KeptComponents)


def _keeps(factor: Factor) -> bool:
    """Whether a few numbers of every row can stand for it: those of the paper's kernels must be Euclidean."""
    return isinstance(factor, KeptComponents) or (isinstance(factor, SWWL) and factor.r == 2)


def keeping_factors(kernels: Sequence[Product]) -> dict[str, list[Any]]:
    """Return, for every column of graphs, the distinct factors of which a few numbers per graph can be kept."""
    factors, _ = distinct_factors(kernels)
    return {name: [factors[place] for place in places] for name, places in _by_column(factors, _keeps).items()}


def prepare(factors: Sequence[Any]) -> list[Any]:
    """Check factors and give them unfitted embeddings; return those."""
    for factor in factors:
        factor.check()
        factor.embedding_ = factor.make_embedding()
    return [factor.embedding_ for factor in factors]


def keep_sampled(
    column: Columns, seed: int, progress: Progress | None, memory: MemoryLike, name: str, factors: Sequence[Any]
) -> list[Any]:
    """Settle factors by a sample of a column; return what they keep of all of it."""
    return fit_keep(prepare(factors), factors, column(name), seed=seed, progress=progress, memory=memory)


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
    kernels: Sequence[Product],
    column: Columns,
    progress: Progress | None = None,
    memory: MemoryLike = None,
    *,
    sampled: Sampled | None = None,
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
    sampled : callable, optional
        For very many graphs: takes the name of a column and factors on it whose rows are Euclidean, settles them by a
        sample and returns what they keep of all graphs; such as :func:`keep_sampled`.
    """
    factors, places = distinct_factors(kernels)
    rows: dict[int, Any] = {}
    if sampled is not None:
        for name, together in _by_column(factors, _keeps).items():
            with located(f"Column {name!r}"):
                found = sampled(name, [factors[place] for place in together])
            rows |= {place: factors[place].representation(*own) for place, own in zip(together, found, strict=True)}
    others = {} if sampled is not None else _by_column(factors, _joins)
    for name, together in others.items():
        embeddings = prepare([factors[place] for place in together])
        values = column(name)
        with located(f"Column {name!r}"):
            found = fit_transform_together(embeddings, values, progress=progress, memory=memory)
        rows |= {place: factors[place].fit_rows(own) for place, own in zip(together, found, strict=True)}
    for place, factor in enumerate(factors):
        if place not in rows:
            rows[place] = factor.fit(column(factor.column), progress, **options_for(factor, memory))
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
    rows: dict[int, Any] = {}
    for name, together in _by_column(factors, _joins).items():
        embeddings = [factors[place].embedding_ for place in together]
        values = column(name)
        with located(f"Column {name!r}"):
            found = transform_together(embeddings, values, progress=progress, memory=memory)
        rows |= {place: factors[place].keep(own) for place, own in zip(together, found, strict=True)}
    for place, factor in enumerate(factors):
        if place not in rows:
            rows[place] = factor.represent(column(factor.column), progress, **options_for(factor, memory))
    return [[rows[place] for place in own] for own in places]
