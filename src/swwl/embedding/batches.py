"""Graphs through the pipeline a few at a time: reading, grouping by topology, threads, errors that name the graph.

``embedding.py`` says what is wanted of every graph; ``wl.py`` and ``sliced.py`` compute it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray

from swwl.embedding.sliced import projected_quantiles
from swwl.embedding.wl import is_averaging, neighbour_average, wl_iterations
from swwl.errors import InputError, InputTypeError
from swwl.mesh.graph import Graph, unite
from swwl.mesh.io import as_graph
from swwl.parallel import one_blas_thread
from swwl.storage import MeshFile, fingerprint

Progress = Callable[[int, int | None], None]
Numbered = list[tuple[int, Any]]

# A thread takes graphs in handfuls: few enough to hold in memory, enough that small ones are not all overhead and
# that large ones of one topology can share their sparse products.
_MOST_GRAPHS = 16
_MOST_NODES = 30_000
_MOST_NODES_STACKED = 480_000
_GUESSED_NODES = 15_000
# Graphs with at most so many nodes are iterated as one: for each by itself, starting a product takes longer than it.
_SMALL = 1_000


@dataclass(frozen=True)
class Recipe:
    """What a thread needs to know to embed a graph; the names are those of :class:`swwl.SWWLEmbedding`."""

    fields: tuple[str, ...]
    node_weights: str | None
    normalization: str
    n_iterations: int
    tolerance: float
    n_quantiles: int
    rule: str
    n_features: int | None
    step: int
    scale: NDArray[np.float64]
    directions: list[NDArray[np.float64]]

    @cached_property
    def reading_key(self) -> str:
        """Under which name the moments of a file are kept: all that they depend on besides the file."""
        return fingerprint(self.fields, self.node_weights == "area", self.normalization)

    @cached_property
    def key(self) -> str:
        """Under which name the quantiles of a file are kept: all that they depend on besides the file."""
        options = (self.n_iterations, self.tolerance, self.n_quantiles, self.rule, self.step, self.scale)
        return fingerprint(self.reading_key, self.node_weights, *options, *self.directions)


def as_items(X: Any) -> Iterable:
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


def stream(
    function: Callable[[Numbered, Recipe], list],
    items: Iterable,
    recipe: Recipe,
    n_jobs: int | None,
    progress: Progress | None,
) -> Iterator:
    """Apply ``function`` to handfuls of numbered items in threads, and yield the results one by one, in order.

    Items are drawn as they are needed. BLAS is held to one thread meanwhile: with several it would fight ours for
    cores, and its results would depend on their number.
    """
    total = len(items) if isinstance(items, Sized) else None
    most_nodes = _MOST_NODES_STACKED if recipe.step > 1 else _MOST_NODES
    handfuls = _handfuls(_guarded(items), most_nodes)
    with one_blas_thread():
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator", batch_size=1)
        done = 0
        for results in parallel(delayed(function)(handful, recipe) for handful in handfuls):
            yield from results
            done += len(results)
            if progress is not None:
                progress(done, total)


class _Failure:
    """Carries an exception of the user's iterator into a worker: raised while joblib draws items, it would hang."""

    def __init__(self, error: Exception):
        self.error = error


def _guarded(items: Iterable) -> Iterator:
    try:
        yield from items
    except Exception as error:
        yield _Failure(error)


def _handfuls(items: Iterable, most_nodes: int) -> Iterator[Numbered]:
    handful: Numbered = []
    nodes = 0
    for numbered in enumerate(items):
        handful.append(numbered)
        nodes += numbered[1].n_nodes if isinstance(numbered[1], Graph) else _GUESSED_NODES
        if nodes >= most_nodes or len(handful) == _MOST_GRAPHS:
            yield handful
            handful, nodes = [], 0
    if handful:
        yield handful


def _load(index: int, item: Any, recipe: Recipe) -> Graph:
    if isinstance(item, _Failure):
        raise item.error
    label = item.label if isinstance(item, MeshFile) and item.label else f"Graph {index}"
    graph = read_graph(label, item, recipe.fields, "area" if recipe.node_weights == "area" else None)
    if recipe.n_features is not None and graph.n_features != recipe.n_features:
        title = _title(label, graph)
        raise InputError(f"{title} has {graph.n_features} features per node, but fit saw {recipe.n_features}.")
    return graph


def read_graph(label: str, item: Any, fields: Sequence[str] = (), node_weights: str | None = None) -> Graph:
    """Make a graph of an item, as :func:`swwl.as_graph` does, with its label in what goes wrong."""
    try:
        return as_graph(item, fields=fields, node_weights=node_weights)
    except (ValueError, TypeError, OSError) as error:
        kind = type(error) if type(error) in (TypeError, FileNotFoundError) else ValueError
        raise kind(f"{label}: {error}") from error


def _title(label: str, graph: Graph) -> str:
    return label + (f" ({graph.name})" if graph.name else "")


def moments_of(handful: Numbered, recipe: Recipe) -> list[tuple[int, NDArray, NDArray, bool]]:
    """Return for each graph: nodes, mean and variance of every feature, and whether iterations keep shifts."""
    return [_moments(index, item, recipe) for index, item in handful]


def _moments(index: int, item: Any, recipe: Recipe) -> tuple[int, NDArray, NDArray, bool]:
    kept = item.get("moments", recipe.reading_key) if isinstance(item, MeshFile) else None
    if kept is not None:
        return int(kept["n_nodes"]), kept["mean"], kept["variance"], bool(kept["averaging"])
    graph = _load(index, item, recipe)
    features = _by_feature(graph)
    mean, variance = features.mean(axis=1), features.var(axis=1)
    averaging = is_averaging(graph, recipe.normalization)
    if isinstance(item, MeshFile):
        arrays = {"mean": mean, "variance": variance, "averaging": np.asarray(averaging)}
        item.put("moments", recipe.reading_key, graph.n_nodes, **arrays)
    return graph.n_nodes, mean, variance, averaging


def offsets_of(handful: Numbered, recipe: Recipe) -> list[NDArray[np.float64]]:
    """Return for each graph its own centre in the space of node embeddings, shape ((H + 1) d,)."""
    offsets = []
    for index, item in handful:
        graph = _load(index, item, recipe)
        if is_averaging(graph, recipe.normalization):
            offsets.append(np.tile(_by_feature(graph).mean(axis=1) / recipe.scale, recipe.n_iterations + 1))
        else:
            ((_, offset),) = _node_embeddings([(index, graph)], recipe)
            offsets.append(offset)
    return offsets


def quantiles_of(handful: Numbered, recipe: Recipe) -> list[tuple[NDArray[np.float32], NDArray[np.float64]]]:
    """Return for each graph its projected quantiles about its own centre, (blocks, Q, P), and that centre."""
    results = {index: _kept_quantiles(item, recipe) for index, item in handful}
    files = {index: item for index, item in handful if isinstance(item, MeshFile)}
    missing = [(index, _load(index, item, recipe)) for index, item in handful if results[index] is None]
    rule = recipe.rule
    for group in _groups(missing, recipe):
        for (index, graph), (nodes, offset) in zip(group, _node_embeddings(group, recipe), strict=True):
            weights = None if recipe.node_weights == "uniform" else graph.node_weights
            width = nodes.shape[1] // len(recipe.directions)
            quantiles = np.array(
                [
                    projected_quantiles(nodes[:, k * width : (k + 1) * width], theta, recipe.n_quantiles, rule, weights)
                    for k, theta in enumerate(recipe.directions)
                ]
            )
            results[index] = (quantiles, offset)
            if index in files:
                files[index].put("quantiles", recipe.key, graph.n_nodes, quantiles=quantiles, offset=offset)
    return [result for result in results.values() if result is not None]


def _kept_quantiles(item: Any, recipe: Recipe) -> tuple[NDArray[np.float32], NDArray[np.float64]] | None:
    kept = item.get("quantiles", recipe.key) if isinstance(item, MeshFile) else None
    return None if kept is None else (kept["quantiles"], kept["offset"])


def _groups(numbered: Sequence[tuple[int, Graph]], recipe: Recipe) -> Iterator[list[tuple[int, Graph]]]:
    """Split into runs of neighbours that are iterated together: small ones, and larger ones of one topology."""
    keys: list[Any] = []
    leader = None
    for index, graph in numbered:
        if _is_small(graph, recipe):
            keys.append(("small", graph.weighted))
        elif recipe.step > 1:
            leader = leader if leader is not None and graph.same_topology(leader) else graph
            keys.append(id(leader))
        else:
            keys.append(index)
    for _, run in groupby(zip(keys, numbered, strict=True), key=lambda pair: pair[0]):
        yield [one for _, one in run]


def _is_small(graph: Graph, recipe: Recipe) -> bool:
    return graph.n_nodes <= _SMALL and is_averaging(graph, recipe.normalization)


def _node_embeddings(
    group: Sequence[tuple[int, Graph]], recipe: Recipe
) -> Iterator[tuple[NDArray, NDArray[np.float64]]]:
    """Yield the node embeddings about their own centre, (n, (H + 1) d) float32 in Fortran order, and that centre.

    Small graphs are iterated as one, larger ones of one topology as columns of one matrix; either way each gets the
    bits that it would get alone. Where iterations keep shifts the features are centred first and single precision
    does for the rest; where they do not (weights under "count"), the iterations run in double precision and their
    results are centred.
    """
    graphs = [graph for _, graph in group]
    averaging = is_averaging(graphs[0], recipe.normalization)
    dtype = np.float32 if averaging else np.float64
    d = graphs[0].n_features
    if _is_small(graphs[0], recipe):
        whole, stops = unite(graphs), np.cumsum([graph.n_nodes for graph in graphs]).tolist()
        places = [(slice(stop - graph.n_nodes, stop), slice(d)) for graph, stop in zip(graphs, stops, strict=True)]
    else:
        whole = graphs[0]
        places = [(slice(None), slice(k * d, (k + 1) * d)) for k in range(len(graphs))]
    width = places[-1][1].stop
    # scipy multiplies a matrix with four columns faster than with three, so idle ones are added.
    stacked = np.zeros((whole.n_nodes, width if width <= 2 else -(-width // 4) * 4), dtype)
    means = np.empty((len(graphs), d))
    with np.errstate(over="ignore", invalid="ignore"):
        for graph, place, mean in zip(graphs, places, means, strict=True):
            features = _by_feature(graph)
            features.mean(axis=1, out=mean)
            if averaging:
                features -= mean[:, None]
            stacked[place] = (features / recipe.scale[:, None]).T
    matrix = neighbour_average(whole, recipe.normalization, dtype) if recipe.n_iterations else None
    kept = wl_iterations(matrix, stacked, recipe.n_iterations, recipe.step, recipe.tolerance)
    centers = np.tile(means / recipe.scale, len(kept))
    for (index, graph), place, center in zip(group, places, centers, strict=True):
        rows = np.empty((len(kept) * d, graph.n_nodes), dtype)
        for h, iteration in enumerate(kept):
            rows[h * d : (h + 1) * d] = iteration[place].T
        if averaging:
            nodes = rows
        else:
            center = rows.mean(axis=1)
            with np.errstate(over="ignore"):
                nodes = (rows - center[:, None]).astype(np.float32)
        if not (np.isfinite(nodes.min()) and np.isfinite(nodes.max())):  # both are nan where any entry is
            raise InputError(f"{_title(f'Graph {index}', graph)}: its features spread too far for single precision.")
        yield nodes.T, center


def _by_feature(graph: Graph) -> NDArray[np.float64]:
    """Copy the features to contiguous rows (d, n): NumPy is ten times slower over the short rows of (n, d)."""
    return graph.features.T.copy()
