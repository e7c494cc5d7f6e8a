"""Graphs through the pipeline a few at a time: items, reading, threads, and errors that say which graph it was.

``transformer.py`` says what is wanted of every graph; ``pipeline.py`` computes it; what files give is kept in a
:class:`swwl.storage.memory.Memory`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from swwl.embedding import pipeline
from swwl.embedding.clouds import CLOUDS, Cloud, cloud_of
from swwl.embedding.pipeline import Embedded, Moments, Recipe
from swwl.errors import InputError, InputTypeError, MeshWarning
from swwl.mesh.graph import Graph
from swwl.mesh.io import as_graph, as_mesh
from swwl.mesh.io.convert import MeshFile
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.summaries import summaries
from swwl.parallel import Progress, check_memory, each_once, one_blas_thread
from swwl.storage.memory import Memory, MemoryLike, as_memory

Result = TypeVar("Result")
Numbered = list[tuple[int, Any]]

# A thread takes graphs in handfuls: few enough to hold in memory, enough that small ones are not all overhead and
# that large ones of one topology can share their sparse products.
_MOST_GRAPHS = 16
_MOST_NODES = 30_000
_MOST_NODES_STACKED = 480_000
_GUESSED_NODES = 15_000
# Nodes of graphs that may wait in memory between a first look at all of them and their embedding: some 300 MB.
MOST_NODES_WAITING = 2_000_000


@dataclass(frozen=True)
class Loaded:
    """A graph that was read already, beside what it was read from."""

    item: Any
    graph: Graph | Cloud


class Batch:
    """The items of one call, each distinct one once, and how to go through them.

    Parameters
    ----------
    X : iterable of graphs, or of anything :func:`swwl.as_graph` takes
        A list, a pandas column, an array of objects; anything lazy is drawn from as it is needed, once.
    memory : Memory
    n_jobs : int or None
    progress : callable, optional
    numbers : list of int, optional
        Of the items, which are distinct then, in the column that they are a part of.
    most_waiting : int
        So many nodes may stay in memory between :meth:`moments` and :meth:`embedded`.

    Attributes
    ----------
    is_lazy : bool
        Whether the items can be gone through only once.
    inverse : list of int or None
        Which distinct item every item is, or None where items are lazy.
    """

    def __init__(
        self,
        X: Any,
        memory: Memory,
        n_jobs: int | None,
        progress: Progress | None,
        numbers: list[int] | None = None,
        most_waiting: int = MOST_NODES_WAITING,
    ):
        self.memory, self.n_jobs, self.progress = memory, n_jobs, progress
        self._most_waiting = most_waiting
        items = as_items(X)
        self.is_lazy = not isinstance(items, Sized)
        self._numbered: Iterable[tuple[int, Any]]
        self.inverse: list[int] | None = None
        if self.is_lazy:
            self._numbered = enumerate(_guarded(items))
        else:
            distinct, self.inverse = each_once(items)
            firsts = np.unique(self.inverse, return_index=True)[1].tolist() if numbers is None else numbers
            self._numbered = list(zip(firsts, distinct, strict=True))

    def __len__(self) -> int:
        """Return the number of distinct items, which lazy ones do not tell."""
        return len(self._numbered)  # type: ignore[arg-type]

    def first(self, recipe: Recipe) -> Moments:
        """Return the moments of the first graph; it will not be read again."""
        iterator = iter(self._numbered)
        number, item = next(iterator, (0, None))
        if item is None:
            raise InputError("There are no graphs to fit; at least one is needed.")
        found, loaded = _moments(number, item, recipe, self.memory)
        rest = list(iterator) if isinstance(self._numbered, list) else iterator
        if isinstance(rest, list):
            self._numbered = [(number, loaded), *rest]
        else:
            self._numbered = _chain((number, loaded), rest)
        return found

    def moments(self, recipe: Recipe) -> list[Moments]:
        """Return the moments of all graphs; those that fit into memory will not be read again."""
        if not isinstance(self._numbered, list):
            self._numbered = list(self._numbered)
            self.is_lazy, self.inverse = False, list(range(len(self._numbered)))
        each = self._most_waiting // max(1, len(self._numbered))
        function = partial(_moments_of, recipe=recipe, memory=self.memory, most_nodes=each)
        results = list(self._stream(function, recipe))
        numbers = [number for number, _ in self._numbered]
        self._numbered = [(number, item) for number, (_, item) in zip(numbers, results, strict=True)]
        return [found for found, _ in results]

    def centers(self, recipe: Recipe) -> list[NDArray[np.float64]]:
        """Return the center of every graph in the space of node embeddings, ((H + 1) d,)."""
        return list(self._stream(partial(_centers_of, recipe=recipe), recipe))

    def embedded(self, recipe: Recipe) -> Iterator[Embedded]:
        """Yield quantiles and center of every graph."""
        return self._stream(partial(_embedded_of, recipe=recipe, memory=self.memory), recipe)

    def summaries(self, kind: str, merge_nodes: bool = False) -> Iterator[NDArray[np.float64]]:
        """Yield the summaries of every mesh or graph."""
        return self._stream(partial(_summaries_of, kind=kind, merge_nodes=merge_nodes, memory=self.memory))

    def spread(self, results: Sequence[Result]) -> list[Result]:
        """Return one result for every item, of those for distinct ones."""
        return list(results) if self.inverse is None else [results[k] for k in self.inverse]

    def _stream(self, function: Callable[[Numbered], list[Result]], recipe: Recipe | None = None) -> Iterator[Result]:
        total = len(self._numbered) if isinstance(self._numbered, list) else None
        most_nodes = _MOST_NODES_STACKED if recipe is not None and recipe.step > 1 else _MOST_NODES
        handfuls = _handfuls(self._numbered, most_nodes)
        with one_blas_thread():
            parallel = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator", batch_size=1)
            done = 0
            for results in parallel(delayed(_alone)(function, handful) for handful in handfuls):
                yield from results
                done += len(results)
                if self.progress is not None:
                    self.progress(done, total)


def _alone(function: Callable[[Numbered], list[Result]], handful: Numbered) -> list[Result]:
    """Take a handful with one BLAS thread: the context around the call holds in this process, but not in workers."""
    with one_blas_thread():
        return function(handful)


def as_items(X: Any) -> Iterable[Any]:
    """Return a sequence of graphs (or of what they can be made of) or, for anything lazy, the iterable itself."""
    if isinstance(X, (Graph, str, bytes)):
        raise InputTypeError(f"A list of graphs is wanted, not a single {type(X).__name__}; put it in a list.")
    if isinstance(X, pd.DataFrame):
        if X.shape[1] != 1:
            raise InputError(f"A table of one column of graphs is wanted, but this one has {X.shape[1]} columns.")
        X = X.iloc[:, 0]
    if isinstance(X, (pd.Series, np.ndarray)):
        values = np.asarray(X, dtype=object)
        if values.ndim != 1 and values.size != len(values):
            raise InputError(f"One graph per row is wanted, but the array has shape {values.shape}.")
        return list(values.ravel())
    if not isinstance(X, Iterable):
        raise InputTypeError(f"An iterable of graphs is wanted, not {type(X).__name__}.")
    return X


class _Failure:
    """Carries an exception of the user's iterator into a worker: raised while joblib draws items, it would hang."""

    def __init__(self, error: Exception):
        self.error = error


def _guarded(items: Iterable[Any]) -> Iterator[Any]:
    try:
        yield from items
    except Exception as error:
        yield _Failure(error)


def _chain(first: tuple[int, Any], rest: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    yield first
    yield from rest


def _handfuls(numbered: Iterable[tuple[int, Any]], most_nodes: int) -> Iterator[Numbered]:
    handful: Numbered = []
    nodes = 0
    for number, item in numbered:
        handful.append((number, item))
        graph = item.graph if isinstance(item, Loaded) else item
        nodes += graph.n_nodes if isinstance(graph, (Graph, Cloud)) else _GUESSED_NODES
        if nodes >= most_nodes or len(handful) == _MOST_GRAPHS:
            yield handful
            handful, nodes = [], 0
    if handful:
        yield handful


def load_graph(
    number: int, item: Any, fields: Sequence[str] = (), node_weights: str | None = None, merge_nodes: bool = False
) -> Graph:
    """Make a graph of an item, as :func:`swwl.as_graph` does; what goes wrong says which item it was."""
    try:
        return as_graph(item, fields=fields, node_weights=node_weights, merge_nodes=merge_nodes)
    except InputError as error:
        raise error.of_item(number, f"Graph {number}") from None


def _load_cloud(number: int, item: Any, recipe: Recipe) -> Cloud:
    try:
        return cloud_of(item, recipe.measure, recipe.fields, recipe.merge_nodes)
    except InputError as error:
        raise error.of_item(number, f"Graph {number}") from None


def _load(number: int, item: Any, recipe: Recipe) -> Graph | Cloud:
    graph: Graph | Cloud
    if isinstance(item, _Failure):
        raise item.error
    if isinstance(item, Loaded):
        graph = item.graph
    elif recipe.measure in CLOUDS:
        graph = _load_cloud(number, item, recipe)
    else:
        weights = "area" if recipe.node_weights == "area" else None
        graph = load_graph(number, item, recipe.fields, weights, recipe.merge_nodes)
    if isinstance(graph, Cloud) and not recipe.directed:
        graph = graph.without_directions()
    elif isinstance(graph, Cloud) and graph.reason and recipe.directions:
        text = f"{_title(number, graph)}: its skin does not look to one side everywhere, as in fit: {graph.reason}."
        warnings.warn(text, MeshWarning, stacklevel=2)
    if recipe.n_features is not None and graph.n_features != recipe.n_features:
        what = "features per point, coordinates and normals" if isinstance(graph, Cloud) else "features per node"
        error = InputError(f"has {graph.n_features} {what}, but fit saw {recipe.n_features}.")
        raise error.of_item(number, _title(number, graph), continues=True)
    return graph


def _title(number: int, graph: Graph | Cloud) -> str:
    return f"Graph {number}" + (f" ({graph.name})" if graph.name else "")


def _path(item: Any) -> Path | None:
    """Return the file that an item is or was read from, if it is one."""
    source = item.item if isinstance(item, Loaded) else item
    return Path(source) if isinstance(source, (str, os.PathLike)) else None


def _moments(number: int, item: Any, recipe: Recipe, memory: Memory) -> tuple[Moments, Any]:
    """Return a graph's moments, and the item: loaded, if it had to be."""
    path = _path(item)
    kept = None if path is None else memory.get(path, "moments", recipe.reading_key)
    if kept is not None and _are_moments(kept, recipe):
        weight, directed = int(kept.get("weight", kept["n_nodes"])), bool(kept.get("directed", True))
        return Moments(weight, kept["mean"], kept["variance"], bool(kept["averaging"]), directed), item
    graph = _load(number, item, recipe)
    found = pipeline.moments(graph, recipe)
    if path is not None:
        memory.put(path, "moments", recipe.reading_key, graph.n_nodes, **found._asdict())
    return found, item if isinstance(item, Loaded) or graph is item else Loaded(item, graph)


def _are_moments(kept: Mapping[str, NDArray[Any]], recipe: Recipe) -> bool:
    """Whether what was kept of a file can be its moments."""
    if not kept.keys() >= {"mean", "variance", "averaging"}:
        return False
    mean, variance = kept["mean"], kept["variance"]
    width = len(mean) if mean.ndim else 0
    whole = all(array.dtype.kind == "f" and array.shape == (width,) and np.isfinite(array).all()
                for array in (mean, variance))  # fmt: skip
    single = all(kept[name].shape == () for name in ("averaging", "weight", "directed") if name in kept)
    return whole and single and width > 0 and recipe.n_features in (None, width)


def _moments_of(handful: Numbered, recipe: Recipe, memory: Memory, most_nodes: int) -> list[tuple[Moments, Any]]:
    results = []
    for number, item in handful:
        found, loaded = _moments(number, item, recipe, memory)
        results.append((found, loaded if _size(loaded) <= most_nodes else item))
    return results


def _size(item: Any) -> int:
    """Return how many nodes or points an item holds in memory; files and other objects count nothing."""
    graph = item.graph if isinstance(item, Loaded) else item
    if isinstance(graph, Cloud):
        return graph.n_points
    return graph.n_nodes if isinstance(graph, Graph) else 0


def _centers_of(handful: Numbered, recipe: Recipe) -> list[NDArray[np.float64]]:
    return [pipeline.center_of(_load(number, item, recipe), recipe) for number, item in handful]


def _embedded_of(handful: Numbered, recipe: Recipe, memory: Memory) -> list[Embedded]:
    paths = {number: _path(item) for number, item in handful}
    results = {number: _kept(paths[number], recipe, memory) for number, _ in handful}
    missing = [(number, _load(number, item, recipe)) for number, item in handful if results[number] is None]
    embedded = pipeline.embed([graph for _, graph in missing], recipe)
    for number, graph in missing:
        try:
            result = results[number] = next(embedded)
        except InputError as error:
            raise error.of_item(number, _title(number, graph)) from None
        path = paths[number]
        if path is not None:
            arrays = {"quantiles": result.quantiles, "offset": result.center}
            memory.put(path, "quantiles", recipe.key, graph.n_nodes, **arrays)
    return [result for result in results.values() if result is not None]


def _summaries_of(handful: Numbered, kind: str, merge_nodes: bool, memory: Memory) -> list[NDArray[np.float64]]:
    results = []
    key = f"{kind}-2" + "-merged" * merge_nodes
    for number, item in handful:
        path = _path(item)
        kept = None if path is None else memory.get(path, "summaries", key)
        if kept is not None and "summaries" in kept and np.isfinite(kept["summaries"]).all():
            results.append(kept["summaries"])
            continue
        try:
            thing = _thing(item, kind, merge_nodes)
            found = summaries(thing)
        except InputError as error:
            raise error.of_item(number, f"Graph {number}") from None
        if path is not None:
            memory.put(path, "summaries", key, thing.n_nodes, summaries=found)
        results.append(found)
    return results


def _thing(item: Any, kind: str, merge_nodes: bool) -> Mesh | Graph:
    if kind == "graph":
        return as_graph(item, merge_nodes=merge_nodes)
    mesh = as_mesh(item)
    return mesh.merged() if merge_nodes else mesh


def _kept(path: Path | None, recipe: Recipe, memory: Memory) -> Embedded | None:
    kept = None if path is None else memory.get(path, "quantiles", recipe.key)
    if kept is None or not kept.keys() >= {"quantiles", "offset"}:
        return None
    quantiles, center = kept["quantiles"], kept["offset"]
    shape = (len(recipe.directions), recipe.n_quantiles, recipe.directions[0].shape[1])
    length = sum(len(theta) for theta in recipe.directions)
    whole = quantiles.shape == shape and quantiles.dtype == np.float32 and center.shape == (length,)
    whole = whole and center.dtype.kind == "f" and bool(np.isfinite(center).all())
    return Embedded(quantiles, center) if whole and np.isfinite(quantiles.sum()) else None


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
