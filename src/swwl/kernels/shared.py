"""Several kernels on the columns of one table: what their factors share is learned, read and embedded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from swwl.embedding.runner import fit_transform_together, transform_together
from swwl.embedding.stores.sampled import Kept, fit_keep
from swwl.errors import located
from swwl.kernels.base import Factor, Product, options_for
from swwl.kernels.sliced import EmbeddingFactor
from swwl.parallel import Progress
from swwl.storage.memory import MemoryLike

Columns = Callable[[str], Any]
Sampled = Callable[[str, list[EmbeddingFactor]], list[Kept]]


def _by_column(factors: Sequence[Factor], euclidean: bool = False) -> dict[str, dict[int, EmbeddingFactor]]:
    """Return, for every column of graphs, the factors that embed it, by their places.

    With ``euclidean`` those whose rows have Euclidean distances, so that a few numbers can stand for every row.
    """
    found: dict[str, dict[int, EmbeddingFactor]] = {}
    for place, factor in enumerate(factors):
        if isinstance(factor, EmbeddingFactor) and factor.takes == "graphs" and (factor.r == 2 or not euclidean):
            found.setdefault(factor.column, {})[place] = factor
    return found


def keeping_factors(kernels: Sequence[Product]) -> dict[str, list[EmbeddingFactor]]:
    """Return, for every column of graphs, the distinct factors of which a few numbers per graph can be kept."""
    factors, _ = distinct_factors(kernels)
    return {name: list(own.values()) for name, own in _by_column(factors, euclidean=True).items()}


def keep_sampled(
    column: Columns,
    seed: int,
    progress: Progress | None,
    memory: MemoryLike,
    name: str,
    factors: Sequence[EmbeddingFactor],
) -> list[Kept]:
    """Settle factors by a sample of a column; return what they keep of all of it."""
    embeddings = [factor.start() for factor in factors]
    return fit_keep(embeddings, factors, column(name), seed=seed, progress=progress, memory=memory)


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
    for name, together in _by_column(factors, euclidean=sampled is not None).items():
        own = list(together.values())
        if sampled is not None:
            with located(f"Column {name!r}"):
                kept = sampled(name, own)
            new = [factor.representation(*few) for factor, few in zip(own, kept, strict=True)]
        else:
            embeddings, values = [factor.start() for factor in own], column(name)
            with located(f"Column {name!r}"):
                found = fit_transform_together(embeddings, values, progress=progress, memory=memory)
            new = [factor.fit_rows(wide) for factor, wide in zip(own, found, strict=True)]
        rows |= dict(zip(together, new, strict=True))
    for place, factor in enumerate(factors):
        if place not in rows:
            rows[place] = factor.fit(column(factor.column), progress, **options_for(factor, memory))
    for kernel, those in zip(kernels, places, strict=True):
        for factor, place in zip(kernel.factors, those, strict=True):
            if factor is not factors[place]:
                factor.adopt(factors[place])
    return [[rows[place] for place in own] for own in places]


def represent_columns(
    kernels: Sequence[Product], column: Columns, progress: Progress | None = None, memory: MemoryLike = None
) -> list[list[Any]]:
    """Return the representations of other columns, kernel by kernel, with fitted kernels."""
    return represent_apart([kernels], column, progress, memory)[0]


def represent_apart(
    groups: Sequence[Sequence[Product]], column: Columns, progress: Progress | None = None, memory: MemoryLike = None
) -> list[list[list[Any]]]:
    """Return the representations of other columns, group by group, with groups of kernels fitted to different rows.

    Equal factors of one group are the same; of another group they have learned other scales and components. Graphs are
    read once for all.
    """
    factors: list[Factor] = []
    places: list[list[list[int]]] = []
    for kernels in groups:
        own, among = distinct_factors(kernels)
        places.append([[len(factors) + place for place in those] for those in among])
        factors += own
    rows: dict[int, Any] = {}
    for name, together in _by_column(factors).items():
        embeddings = [factor.embedding_ for factor in together.values()]
        values = column(name)
        with located(f"Column {name!r}"):
            found = transform_together(embeddings, values, progress=progress, memory=memory)
            new = [factor.keep(own) for factor, own in zip(together.values(), found, strict=True)]
        rows |= dict(zip(together, new, strict=True))
    for place, factor in enumerate(factors):
        if place not in rows:
            rows[place] = factor.represent(column(factor.column), progress, **options_for(factor, memory))
    return [[[rows[place] for place in own] for own in among] for among in places]
