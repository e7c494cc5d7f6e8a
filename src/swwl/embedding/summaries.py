"""SummaryEmbedding: meshes or graphs -> standardized rows of plain numbers, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.options import check_options
from swwl.embedding.runner import Entry, Run, summaries_of
from swwl.errors import InputError
from swwl.estimators import BaseEstimator, TransformerMixin
from swwl.parallel import Progress
from swwl.storage.checks import PERHAPS, Shape, Sizes, check_declared, shown
from swwl.storage.memory import Memory, MemoryLike
from swwl.storage.modelfile import storable

Array = NDArray[np.float64]

# Numbers farther from the mean than so many deviations count as so far: a new mesh of another kind is far from all
# others in any case, and must not be so far that nothing else about it counts.
MOST_DEVIATIONS = 6.0
# Numbers of parts are plain; those that vary by less show how curved skins were meshed, or what symmetric parts lack of
# being so.
_LEAST_SPREAD = 2e-3


@storable
class SummaryEmbedding(TransformerMixin, BaseEstimator):
    """Describe every mesh or graph by plain numbers, standardized on the training set.

    Parameters
    ----------
    kind : {"part", "mesh", "graph"}
        Which numbers: those of the part that a mesh stands for, see :func:`swwl.mesh.shape.part.part_numbers`, or those
        of its nodes and cells, see :func:`swwl.mesh.shape.summaries.summaries`.
    merge_nodes : bool
        Make nodes of a mesh at the same place one, see :meth:`swwl.Mesh.merged`.
    group : str, optional
        Name or shell pattern of groups: describe the part that they make, see :meth:`swwl.Mesh.part`.
    n_jobs : int or None
        Threads.
    memory : Memory, path or None
        Where the numbers of files are kept from one run to the next.

    Attributes
    ----------
    mean_, spread_ : ndarray of shape (K,)
        What rows are shifted and divided by; numbers that do not vary are divided by one.
    plane_ : bool
        Whether meshes are one cell thick and described as plane ones.

    Examples
    --------
    >>> from swwl import Graph
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 3.0)]
    >>> SummaryEmbedding("graph").fit_transform(rods)[:, :4].tolist()
    [[-1.0, -1.0, 0.0, -1.0], [1.0, 1.0, 0.0, 1.0]]
    """

    mean_: Annotated[Array, Shape("k")]
    spread_: Annotated[Array, Shape("k", above=0)]
    plane_: Annotated[bool, PERHAPS]
    fields: Sequence[str] = ()

    def __init__(
        self,
        kind: str = "mesh",
        *,
        merge_nodes: bool = False,
        group: str | None = None,
        n_jobs: int | None = None,
        memory: MemoryLike = None,
    ):
        self.kind = kind
        self.merge_nodes = merge_nodes
        self.group = group
        self.n_jobs = n_jobs
        self.memory = memory

    def fit(
        self, X: object, y: object = None, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> SummaryEmbedding:
        """Learn means and spreads."""
        self.fit_transform(X, progress=progress, memory=memory)
        return self

    def fit_transform(
        self, X: object, y: object = None, *, progress: Progress | None = None, memory: MemoryLike = None
    ) -> Array:
        """Learn means and spreads; return the standardized rows, (N, K)."""
        run = self._run(X, progress, memory)
        run.settle()
        return run.rows(fit=True)[0]

    def transform(self, X: object, *, progress: Progress | None = None, memory: MemoryLike = None) -> Array:
        """Return the standardized rows of meshes or graphs, (N, K)."""
        return self._run(X, progress, memory).rows(fit=False)[0]

    @property
    def looks_first(self) -> bool:
        """No: means and spreads are taken of the finished numbers."""
        return False

    @property
    def row_length(self) -> int:
        """About how many numbers a row has."""
        return 120 if self.kind == "part" else 30

    @property
    def nodes_at_once(self) -> int | None:
        """As many as usual."""
        return None

    def look(self, items: Sequence[Entry], memory: Memory) -> list[object]:
        """Return nothing: there is nothing to know beforehand."""
        return []

    def settle(self, looks: list[object]) -> None:
        """Do nothing: there is nothing to settle beforehand."""

    def pieces(self, n: int | None) -> list[Array]:
        """Return a list for the numbers of meshes."""
        return []

    def take(self, items: Sequence[Entry], memory: Memory) -> list[Array]:
        """Return the raw numbers of every distinct mesh, (K,) each."""
        return summaries_of(items, self.kind, self.merge_nodes, memory, self.group, getattr(self, "plane_", False))

    def finish(self, pieces: list[Array], inverse: list[int] | None = None, *, fit: bool) -> Array:
        """Return the numbers of all meshes, standardized; with ``fit``, by their own means and spreads."""
        pieces = pieces if inverse is None else [pieces[k] for k in inverse]
        width = len(pieces[0] if fit else self.spread_)
        for number, row in enumerate(pieces):
            if len(row) != width:
                error = InputError(f"has {len(row)} summaries, but fit saw {width}: another dimension.")
                raise error.of_item(number, f"Graph {number}", continues=True)
        raw: Array = np.array(pieces)
        if fit:
            self.mean_ = raw.mean(axis=0)
            spread = raw.std(axis=0)
            least = _LEAST_SPREAD if self.kind == "part" else 1e-9 * np.abs(raw).max(axis=0)
            self.spread_ = np.where(spread > least, spread, 1.0)
        return np.clip((raw - self.mean_) / self.spread_, -MOST_DEVIATIONS, MOST_DEVIATIONS)

    def check_restored(self, per_iteration: bool) -> int:
        """Refuse what a model file says of it, where that cannot be; return the length of its rows."""
        check_declared(self, Sizes())
        if self.kind not in ("part", "mesh", "graph"):
            raise InputError(f"kind is {shown(self.kind)}, but 'part', 'mesh' or 'graph' is expected")
        check_options({"group": self.group})
        return len(self.mean_)

    def _run(self, X: object, progress: Progress | None, memory: MemoryLike) -> Run:
        return Run([self], X, progress=progress, memory=self.memory if memory is None else memory)


class CoarsenessEmbedding(SummaryEmbedding):
    """How coarse meshes are, a number each, as it is: see :func:`swwl.mesh.shape.skin.coarseness`.

    Parameters
    ----------
    n_jobs : int or None
        Threads.
    plane : bool
        Take meshes one cell thick for plane ones, where ``fit`` has not found out.

    Examples
    --------
    >>> from swwl import Graph, Mesh
    >>> square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    >>> rod = Graph([[0.0], [1.0]], [(0, 1)])  # a graph has no skin
    >>> CoarsenessEmbedding().transform([square, rod]).ravel().tolist()
    [0.25, nan]
    """

    def __init__(self, *, n_jobs: int | None = None, plane: bool = False):
        super().__init__("coarseness", n_jobs=n_jobs)
        self.plane = plane

    @property
    def row_length(self) -> int:
        """One number."""
        return 1

    def take(self, items: Sequence[Entry], memory: Memory) -> list[Array]:
        """Return the number of every distinct mesh, (1,) each; nan where it has no skin."""
        return [self._of(item, memory) for item in items]

    def finish(self, pieces: list[Array], inverse: list[int] | None = None, *, fit: bool) -> Array:
        """Return the numbers of all meshes, (N, 1)."""
        return np.array(pieces if inverse is None else [pieces[k] for k in inverse]).reshape(-1, 1)

    def _of(self, item: Entry, memory: Memory) -> Array:
        try:
            return summaries_of([item], self.kind, False, memory, plane=getattr(self, "plane_", self.plane))[0]
        except InputError:
            return np.array([np.nan])
