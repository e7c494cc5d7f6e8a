"""SummaryEmbedding: meshes or graphs -> standardized rows of plain numbers, one row each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from swwl.embedding.batches import Batch
from swwl.errors import InputError
from swwl.parallel import Progress
from swwl.storage import MemoryLike, as_memory, storable

Array = NDArray[np.float64]

# Numbers farther from the mean than so many deviations count as so far: a new mesh of another kind is far from all
# others in any case, and must not be so far that nothing else about it counts.
_MOST_DEVIATIONS = 6.0


@storable
class SummaryEmbedding(TransformerMixin, BaseEstimator):
    """Describe every mesh or graph by plain numbers, standardized on the training set.

    Parameters
    ----------
    kind : {"mesh", "graph"}
        Which numbers, see :func:`swwl.mesh.summaries.summaries`.
    n_jobs : int or None
        Threads.
    memory : Memory, path or None
        Where the numbers of files are kept from one run to the next.

    Attributes
    ----------
    mean_, spread_ : ndarray of shape (K,)
        What rows are shifted and divided by; numbers that do not vary are divided by one.

    Examples
    --------
    >>> from swwl import Graph
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 3.0)]
    >>> SummaryEmbedding("graph").fit_transform(rods)[:, :4].tolist()
    [[-1.0, -1.0, 0.0, -1.0], [1.0, 1.0, 0.0, 1.0]]
    """

    def __init__(self, kind: str = "mesh", *, n_jobs: int | None = None, memory: MemoryLike = None):
        self.kind = kind
        self.n_jobs = n_jobs
        self.memory = memory

    def fit(
        self, X: Any, y: Any = None, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> SummaryEmbedding:
        """Learn means and spreads."""
        self.fit_transform(X, progress=progress, memory=memory)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> Array:
        """Learn means and spreads; return the standardized rows, (N, K)."""
        return self.settle(self._raw(X, progress, memory))

    def settle(self, raw: Array) -> Array:
        """Learn means and spreads of raw rows (N, K); return them standardized."""
        self.mean_ = raw.mean(axis=0)
        spread = raw.std(axis=0)
        self.spread_ = np.where(spread > 1e-9 * np.abs(raw).max(axis=0), spread, 1.0)
        return self.standardized(raw)

    def standardized(self, raw: Array) -> Array:
        """Return raw rows about the mean, in deviations, and no farther from it than six of them."""
        if raw.shape[1:] != self.mean_.shape:
            raise InputError(f"The meshes have {raw.shape[1]} summaries, but fit saw {len(self.mean_)}.")
        return np.clip((raw - self.mean_) / self.spread_, -_MOST_DEVIATIONS, _MOST_DEVIATIONS)

    def transform(self, X: Any, *, progress: Progress | None = None, memory: MemoryLike = None) -> Array:
        """Return the standardized rows of meshes or graphs, (N, K)."""
        return self.standardized(self._raw(X, progress, memory))

    def _raw(self, X: Any, progress: Progress | None, memory: MemoryLike) -> Array:
        batch = Batch(X, as_memory(self.memory if memory is None else memory), self.n_jobs, progress)
        rows = batch.spread(list(batch.summaries(self.kind)))
        for number, row in enumerate(rows):
            if len(row) != len(rows[0]):
                error = InputError(
                    f"has {len(row)} summaries, but the first one has {len(rows[0])}: another dimension."
                )
                raise error.of_item(number, f"Graph {number}", continues=True)
        return np.array(rows)
