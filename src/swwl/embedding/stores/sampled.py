"""Very many meshes: a sample settles embeddings and components, then every mesh leaves a few numbers of its wide row.

Rows of a hundred thousand meshes would take ten gigabytes and more; 64 coordinates of each take 26 megabytes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence, Sized
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.runner import Stepwise, as_items, fit_transform_together, transform_together
from swwl.errors import MeshWarning
from swwl.mesh.arrays import AnyArray
from swwl.parallel import Progress, each_once
from swwl.storage.memory import Memory, MemoryLike, as_memory

MOST_SAMPLED = 2000  # meshes that components are found in
SHARD = 256  # meshes whose wide rows are held at a time
# The mean norm of what components leave of other meshes, over that of the sample: beyond, it did not represent them.
_MOST_LEFT = 1.2

Kept = tuple[AnyArray, NDArray[np.float64]]  # coordinates (N, k), and the norm of what they leave (N,)


class Keeper(Protocol):
    """What keeps a few numbers of every wide row: a factor of a kernel."""

    def learn(self, rows: AnyArray) -> None:
        """Learn from the rows of a sample."""

    def coordinates(self, rows: AnyArray) -> Kept:
        """Return what is kept of rows: (N, k) numbers, and the norm of what they leave, (N,)."""


def sample_rows(n: int, seed: int) -> NDArray[np.intp]:
    """Return which of n rows are the sample, sorted: all of them where they are few."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:MOST_SAMPLED])


def fit_keep(
    embeddings: Sequence[Stepwise],
    keepers: Sequence[Keeper],
    X: object,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    memory: MemoryLike = None,
) -> list[Kept]:
    """Fit embeddings and what keeps their rows to a sample; return what is kept of all meshes, for each.

    Parameters
    ----------
    embeddings : sequence of SWWLEmbedding or SummaryEmbedding
    keepers : sequence of Keeper
        One for each embedding.
    X : iterable of graphs, or of anything :func:`swwl.as_graph` takes
    seed : int
        Draws the sample.
    progress : callable, optional
        Called as ``progress(done, total)`` as meshes are done.
    memory : Memory or path, optional
        Is told how large meshes are; rows so wide of so many meshes are not kept there.
    """
    given = as_items(X)
    items: list[Any] = list(given) if isinstance(given, Sized) else [*given]
    distinct, inverse = each_once(items)
    chosen = sample_rows(len(items), seed)
    sample = [items[i] for i in chosen]
    known, count = counting(memory), _Counter(progress, len(distinct))
    learn(embeddings, keepers, sample, chosen.tolist(), known, count.inside)
    firsts = np.unique(inverse, return_index=True)[1].tolist()
    found: list[list[Kept]] = [[] for _ in embeddings]
    for shard in shards(len(distinct)):
        numbers = firsts[shard]
        for own, kept in zip(
            found, keep(embeddings, keepers, distinct[shard], numbers, known, count.inside), strict=True
        ):
            own.append(kept)
        count.add(len(numbers))
    sampled = np.zeros(len(distinct), bool)
    sampled[[inverse[i] for i in chosen]] = True
    joined = [(np.vstack([z for z, _ in own]), np.concatenate([left for _, left in own])) for own in found]
    warn_about_sample(joined, sampled)
    return [(z[inverse], left[inverse]) for z, left in joined]


def learn(
    embeddings: Sequence[Stepwise],
    keepers: Sequence[Keeper],
    sample: Sequence[Any],
    numbers: Sequence[int],
    memory: MemoryLike = None,
    progress: Progress | None = None,
) -> None:
    """Fit embeddings and their keepers to a sample of meshes, whose ``numbers`` in their column messages name."""
    rows = fit_transform_together(embeddings, sample, progress=progress, memory=memory, numbers=numbers)
    for keeper in keepers:
        keeper.learn(rows.pop(0))


def keep(
    embeddings: Sequence[Stepwise],
    keepers: Sequence[Keeper],
    items: Sequence[Any],
    numbers: Sequence[int] | None = None,
    memory: MemoryLike = None,
    progress: Progress | None = None,
) -> list[Kept]:
    """Return what is kept of some meshes, for each embedding."""
    rows = transform_together(embeddings, items, progress=progress, memory=memory, numbers=numbers)
    return [keeper.coordinates(own) for keeper, own in zip(keepers, rows, strict=True)]


def counting(memory: MemoryLike) -> Memory:
    """Return a memory that keeps nothing, but tells the given one how large meshes are."""
    out = Memory(None)
    if memory is not None:
        out.n_nodes = as_memory(memory).n_nodes
    return out


def shards(n: int) -> Iterator[slice]:
    """Yield which of n meshes to take at a time.

    Examples
    --------
    >>> list(shards(300))
    [slice(0, 256, None), slice(256, 300, None)]
    """
    for start in range(0, n, SHARD):
        yield slice(start, min(n, start + SHARD))


def warn_about_sample(kept: Sequence[Kept], sampled: NDArray[np.bool_]) -> None:
    """Warn where components of the sample leave clearly more of other meshes than of its own."""
    if sampled.all():
        return
    for z, left in kept:
        own, others = float(left[sampled].mean()), float(left[~sampled].mean())
        size = float(np.sqrt(np.mean(np.einsum("ij,ij->i", z[sampled], z[sampled], dtype=float))))
        if others > _MOST_LEFT * own + 1e-4 * size:
            warnings.warn(
                f"Components of {int(sampled.sum())} sampled meshes leave {others:.3g} of the other meshes on average, "
                f"and {own:.3g} of their own: the sample did not represent the rest. Are there a few meshes of another "
                f"kind?",
                MeshWarning,
                stacklevel=4,
            )


class _Counter:
    """Counts meshes over several calls that each count from zero."""

    def __init__(self, progress: Progress | None, total: int):
        self._progress, self._total, self._done = progress, total, 0

    def add(self, number: int) -> None:
        self._done += number

    def inside(self, done: int, total: int | None) -> None:
        if self._progress is not None:
            self._progress(min(self._done + done, self._total), self._total)
