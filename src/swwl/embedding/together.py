"""Several embeddings of the same meshes: every file is read once, or twice where all have to be seen first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any, Protocol, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from swwl.embedding.batches import Batch, as_items
from swwl.mesh.io.once import MeshFile
from swwl.parallel import Progress, check_memory, each_once, one_blas_thread
from swwl.storage import Memory, MemoryLike, as_memory

# A thread takes so many meshes at a time, and no more than about so many nodes.
_MOST_MESHES, _MOST_NODES = 32, 60_000
_BYTES_PER_NODE = 60  # of a file, about
# So many nodes of files stay in memory from the first look to the embedding; other files are read twice.
_MOST_NODES_WAITING = 200_000

Found = TypeVar("Found")


class Stepwise(Protocol):
    """An embedding whose steps can be taken a few meshes at a time.

    Attributes
    ----------
    looks_first : bool
        Whether all meshes have to be seen before the first can be embedded.
    n_jobs : int or None
    """

    @property
    def looks_first(self) -> bool:
        """Whether all meshes have to be seen before the first can be embedded."""

    n_jobs: int | None

    @property
    def row_length(self) -> int:
        """About how many numbers a row has."""

    def look(self, batch: Batch) -> list[Any]:
        """Return what has to be known of every distinct mesh to settle the embedding."""

    def settle(self, looks: list[Any]) -> None:
        """Settle the embedding: by all training meshes or, unless it ``looks_first``, by the first."""

    def take(self, batch: Batch) -> list[Any]:
        """Return a piece for every distinct mesh."""

    def finish(self, pieces: list[Any], *, fit: bool) -> NDArray[Any]:
        """Make rows of the pieces of all meshes; with ``fit``, these are the training meshes."""


class Keeper(Protocol):
    """What keeps a few numbers of every wide row: a factor of a kernel."""

    def learn(self, rows: NDArray[Any]) -> None:
        """Learn from the rows of a sample."""

    def coordinates(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what is kept of rows: (N, k) numbers, and the norm of what they leave, (N,)."""


class _Items:
    """The distinct items of a column, files wrapped so that their content can be shared.

    ``numbers`` are those of the items in the column that they are a part of.
    """

    def __init__(
        self,
        X: Any,
        memory: MemoryLike,
        progress: Progress | None,
        n_passes: int,
        numbers: Sequence[int] | None = None,
    ):
        given = as_items(X)
        distinct, self.inverse = each_once(given if isinstance(given, Sized) else list(given))
        firsts = np.unique(self.inverse, return_index=True)[1].tolist()
        self.numbers = firsts if numbers is None else [numbers[first] for first in firsts]
        self.items = [MeshFile(item) if isinstance(item, (str, os.PathLike)) else item for item in distinct]
        self.memory: Memory = as_memory(memory)
        self._progress, self._done, self._passes = progress, 0, n_passes

    def each_chunk(self, function: Callable[[slice], Found], workers: int) -> Iterator[tuple[slice, Found]]:
        """Yield which items were taken together, and what a function made of them; count them.

        The same threads work from the first chunk to the last: memory that a thread lets go of stays with it, so that
        new threads would need more.
        """
        chunks = list(self._chunks(workers))
        with one_blas_thread():
            parallel = Parallel(n_jobs=workers, prefer="threads", return_as="generator", batch_size=1)
            results = parallel(delayed(_with_one_blas_thread)(function, chunk) for chunk in chunks)
            for chunk, found in zip(chunks, results, strict=True):
                yield chunk, found
                self._done += len(self.items[chunk])
                if self._progress is not None:
                    self._progress(self._done // self._passes, len(self.items))

    def _chunks(self, workers: int) -> Iterator[slice]:
        most = min(_MOST_MESHES, -(-len(self.items) // workers))
        start = nodes = 0
        for stop, item in enumerate(self.items, 1):
            nodes += _about_nodes(item)
            if nodes >= _MOST_NODES or stop - start == most or stop == len(self.items):
                yield slice(start, stop)
                start, nodes = stop, 0

    def batch(self, chunk: slice) -> Batch:
        """Return some items, for one thread, as a batch that knows their numbers in the column."""
        return Batch(self.items[chunk], self.memory, 1, None, self.numbers[chunk], most_waiting=0)

    def release(self, chunk: slice, budget: int = 0) -> int:
        """Let go of the content of files, as far as they hold more nodes than the budget; return what is left of it."""
        for item in self.items[chunk]:
            if isinstance(item, MeshFile):
                budget -= item.n_nodes
                if budget < 0:
                    budget += item.n_nodes
                    item.release()
        return budget


def _with_one_blas_thread(function: Callable[[slice], Found], chunk: slice) -> Found:
    with one_blas_thread():  # the context around all holds in this process, but not in workers
        return function(chunk)


def _about_nodes(item: Any) -> int:
    """Return how many nodes an item has, about, without reading it."""
    if isinstance(item, MeshFile):
        return os.path.getsize(item) // _BYTES_PER_NODE if os.path.exists(item) else 0
    return int(getattr(item, "n_nodes", 0))


def fit_transform_together(
    embeddings: Sequence[Stepwise],
    X: Any,
    *,
    progress: Progress | None = None,
    memory: MemoryLike = None,
    numbers: Sequence[int] | None = None,
) -> list[NDArray[Any]]:
    """Fit several embeddings to the same meshes; return the rows of each.

    Parameters
    ----------
    embeddings : sequence of SWWLEmbedding or SummaryEmbedding
    X : iterable of graphs, or of anything :func:`swwl.as_graph` takes
    progress : callable, optional
        Called as ``progress(done, total)`` as meshes are done.
    memory : Memory or path, optional
    numbers : sequence of int, optional
        Of the meshes in the column that they are a part of, for messages.

    Examples
    --------
    >>> from swwl import Graph, SWWLEmbedding
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 2.0)]
    >>> flat, deep = SWWLEmbedding(0), SWWLEmbedding(2)
    >>> rows = fit_transform_together([flat, deep], rods)
    >>> bool((rows[1] == SWWLEmbedding(2).fit_transform(rods)).all())
    True
    """
    first = any(embedding.looks_first for embedding in embeddings)
    items = _Items(X, memory, progress, 2 if first else 1, numbers)
    check_memory(8 * len(items.items) * sum(embedding.row_length for embedding in embeddings), "The embeddings")
    for embedding in embeddings:
        if not embedding.looks_first:
            embedding.settle(embedding.look(items.batch(slice(1))))
    looking = [embedding for embedding in embeddings if embedding.looks_first]
    looks: list[list[Any]] = [[] for _ in looking]
    budget = _MOST_NODES_WAITING

    def look(chunk: slice) -> list[list[Any]]:
        return [embedding.look(items.batch(chunk)) for embedding in looking]

    for chunk, found in items.each_chunk(look, _workers(embeddings)) if looking else ():
        for own, new in zip(looks, found, strict=True):
            own += new
        budget = items.release(chunk, budget)
    for embedding, own in zip(looking, looks, strict=True):
        embedding.settle([own[k] for k in items.inverse])
    return _rows(embeddings, items, fit=True)


def transform_together(
    embeddings: Sequence[Stepwise],
    X: Any,
    *,
    progress: Progress | None = None,
    memory: MemoryLike = None,
    numbers: Sequence[int] | None = None,
) -> list[NDArray[Any]]:
    """Return the rows of meshes in several fitted embeddings; see :func:`fit_transform_together`."""
    return _rows(embeddings, _Items(X, memory, progress, 1, numbers), fit=False)


def _workers(embeddings: Sequence[Stepwise]) -> int:
    return max((effective_n_jobs(embedding.n_jobs) for embedding in embeddings), default=1)


def _rows(embeddings: Sequence[Stepwise], items: _Items, fit: bool) -> list[NDArray[Any]]:
    pieces: list[list[Any]] = [[] for _ in embeddings]
    workers = _workers(embeddings)
    few = len(items.items) < workers  # too few meshes to share out among workers: embeddings are

    def take(chunk: slice) -> list[list[Any]]:
        parallel = Parallel(n_jobs=workers if few else 1, prefer="threads")
        found: list[list[Any]] = parallel(delayed(embedding.take)(items.batch(chunk)) for embedding in embeddings)
        items.release(chunk)
        return found

    for _, found in items.each_chunk(take, 1 if few else workers):
        for own, new in zip(pieces, found, strict=True):
            own += new
    return [
        embedding.finish([own[k] for k in items.inverse], fit=fit)
        for embedding, own in zip(embeddings, pieces, strict=True)
    ]
