"""Graphs in, quantiles and centers out: the mathematics of the embedding, without threads, files or names.

``wl.py`` and ``sliced.py`` hold the two steps; here they are put together for graphs that are iterated at once.
``runner.py`` brings the graphs, ``transformer.py`` makes rows of the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.clouds import CLOUDS, Cloud
from swwl.embedding.sliced import measure_quantiles, projected_quantiles
from swwl.embedding.wl import copy_transposed, is_averaging, neighbor_average, side_by_side, wl_iterations
from swwl.errors import InputError
from swwl.mesh.graph import Graph, unite
from swwl.storage.memory import fingerprint

# Graphs with at most so many nodes are iterated as one: for each by itself, starting a product takes longer than it.
_SMALL = 1_000


@dataclass(frozen=True)
class Recipe:
    """How to embed a graph: options under the names of :class:`swwl.SWWLEmbedding`, and what its ``fit`` settled.

    Until that is settled (``directions`` is empty), a recipe serves to read graphs and to take their moments.
    """

    fields: tuple[str, ...]
    node_weights: str | None
    normalization: str
    n_iterations: int
    tolerance: float
    n_quantiles: int
    quantiles: str
    n_features: int | None = None
    step: int = 1
    scale: NDArray[np.float64] | None = None
    directions: tuple[NDArray[np.float64], ...] = ()
    measure: str = "nodes"
    directed: bool = True  # whether normals count with their sign
    merge_nodes: bool = False
    group: str | None = None
    plane: bool = False  # whether meshes one cell thick are taken for plane ones

    @cached_property
    def reading_key(self) -> str:
        """Under which name the moments of a file are kept: all that they depend on besides the file."""
        merged = ["merged"] if self.merge_nodes else []
        merged += [] if self.group is None else ["group", self.group]
        merged += ["plane"] if self.plane else []
        if self.measure in CLOUDS:
            return fingerprint("cloud 3", self.measure, self.fields, *merged)
        return fingerprint("nodes 2", self.fields, self.node_weights == "area", self.normalization, *merged)

    @cached_property
    def key(self) -> str:
        """Under which name the quantiles of a file are kept: all that they depend on besides the file."""
        options = (self.n_iterations, self.tolerance, self.n_quantiles, self.quantiles, self.step, self.scale)
        undirected = [] if self.directed else ["undirected"]
        return fingerprint(self.reading_key, self.node_weights, *options, *undirected, *self.directions)


class Moments(NamedTuple):
    """What ``fit`` asks of a graph: mean and variance of every feature (d,), and how much they count.

    That is the number of nodes or of edges; 1 for a cloud of total mass 1. ``averaging`` says whether iterations keep
    shifts, ``directed`` whether the normals of a skin are consistently oriented.
    """

    weight: int
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    averaging: bool = True
    directed: bool = True


class EmbeddedGraph(NamedTuple):
    """A graph's projected quantiles about its own center, (blocks, Q, P) float32, and that center, ((H + 1) d,)."""

    quantiles: NDArray[np.float32]
    center: NDArray[np.float64]


def moments(graph: Graph | Cloud, recipe: Recipe) -> Moments:
    """Return the moments of a graph's features.

    Examples
    --------
    >>> recipe = Recipe((), None, "count", 1, 0.0, 3, "linear")
    >>> moments(Graph([[0.0], [2.0]], [(0, 1)]), recipe)
    Moments(weight=2, mean=array([1.]), variance=array([1.]), averaging=True, directed=True)
    """
    if isinstance(graph, Cloud):
        mean, rows = _centered(graph)
        rows *= rows
        variance = rows.mean(axis=1) if graph.masses is None else (rows * graph.masses).sum(axis=1)
        weight = graph.n_points if graph.masses is None else 1
        return Moments(weight, mean, variance, directed=not graph.reason)
    features = _by_feature(graph)
    averaging = is_averaging(graph, recipe.normalization)
    return Moments(graph.n_nodes, features.mean(axis=1), features.var(axis=1), averaging)


def center_of(graph: Graph | Cloud, recipe: Recipe) -> NDArray[np.float64]:
    """Return a graph's own center in the space of node embeddings, ((H + 1) d,)."""
    if isinstance(graph, Cloud):
        return _centered(graph)[0] / _scale(recipe)
    if is_averaging(graph, recipe.normalization):
        return np.tile(_by_feature(graph).mean(axis=1) / _scale(recipe), recipe.n_iterations + 1)
    ((_, center),) = _node_embeddings([graph], recipe)
    return center


def embed(graphs: Sequence[Graph | Cloud], recipe: Recipe) -> Iterator[EmbeddedGraph]:
    """Yield what every graph is embedded as, in order; with the same bits alone and in any company.

    Parameters
    ----------
    graphs : sequence of Graph, or of Cloud
        With as many features as the recipe says.
    recipe : Recipe
        Settled.
    """
    clouds = [graph for graph in graphs if isinstance(graph, Cloud)]
    for cloud in clouds:
        yield _embedded_cloud(cloud, recipe)
    for group in _groups([graph for graph in graphs if isinstance(graph, Graph)], recipe):
        for graph, (nodes, center) in zip(group, _node_embeddings(group, recipe), strict=True):
            weights = None if recipe.node_weights == "uniform" else graph.node_weights
            width = nodes.shape[1] // len(recipe.directions)
            quantiles = [
                projected_quantiles(
                    nodes[:, k * width : (k + 1) * width], theta, recipe.n_quantiles, recipe.quantiles, weights
                )
                for k, theta in enumerate(recipe.directions)
            ]
            yield EmbeddedGraph(np.array(quantiles), center)


def _embedded_cloud(cloud: Cloud, recipe: Recipe) -> EmbeddedGraph:
    mean, rows = _centered(cloud)
    scale = _scale(recipe)
    (theta,) = recipe.directions
    with np.errstate(over="ignore"):
        points = (rows / scale[:, None]).astype(np.float32)
    _refuse_wide(points)
    if cloud.masses is None:
        quantiles = projected_quantiles(points.T, theta, recipe.n_quantiles, recipe.quantiles)
    else:
        quantiles = measure_quantiles(points.T, theta, recipe.n_quantiles, recipe.quantiles, cloud.masses)
    return EmbeddedGraph(quantiles[None], mean / scale)


def _centered(cloud: Cloud) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the center of a cloud, (w,), and its features about it, by rows (w, m)."""
    rows = cloud.features.T
    mean = rows.mean(axis=1) if cloud.masses is None else (rows * cloud.masses).sum(axis=1)
    return mean, rows - mean[:, None]


def _refuse_wide(points: NDArray[np.float32]) -> None:
    if not (np.isfinite(points.min()) and np.isfinite(points.max())):  # both are nan where any entry is
        raise InputError("its features spread too far for single precision.")


def _groups(graphs: Sequence[Graph], recipe: Recipe) -> Iterator[list[Graph]]:
    """Split into runs of neighbors that are iterated together: small ones, and larger ones of one topology."""
    keys: list[Any] = []
    leader = None
    for index, graph in enumerate(graphs):
        if _is_small(graph, recipe):
            keys.append(("small", graph.weighted))
        elif recipe.step > 1:
            leader = leader if leader is not None and graph.same_topology(leader) else graph
            keys.append(id(leader))
        else:
            keys.append(index)
    for _, run in groupby(zip(keys, graphs, strict=True), key=lambda pair: pair[0]):
        yield [graph for _, graph in run]


def _is_small(graph: Graph, recipe: Recipe) -> bool:
    return graph.n_nodes <= _SMALL and is_averaging(graph, recipe.normalization)


def _node_embeddings(
    graphs: Sequence[Graph], recipe: Recipe
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float64]]]:
    """Yield the node embeddings about their own center, (n, (H + 1) d) float32 in Fortran order, and that center.

    Small graphs are iterated as one, larger ones of one topology as columns of one matrix; either way each gets the
    bits that it would get alone. Where iterations keep shifts the features are centered first and single precision
    does for the rest; where they do not (weights under "count"), the iterations run in double precision and their
    results are centered.
    """
    averaging = is_averaging(graphs[0], recipe.normalization)
    dtype = np.float32 if averaging else np.float64
    scale = _scale(recipe)
    d = graphs[0].n_features
    if _is_small(graphs[0], recipe):
        whole, stops = unite(graphs), np.cumsum([graph.n_nodes for graph in graphs]).tolist()
        places = [(slice(stop - graph.n_nodes, stop), slice(d)) for graph, stop in zip(graphs, stops, strict=True)]
    else:
        whole = graphs[0]
        places = [(slice(None), slice(k * d, (k + 1) * d)) for k in range(len(graphs))]
    means = np.empty((len(graphs), d))
    rows = np.empty((recipe.n_iterations + 1, places[-1][1].stop, whole.n_nodes), dtype)  # by iteration and feature
    with np.errstate(over="ignore", invalid="ignore"):
        for graph, (nodes, columns), mean in zip(graphs, places, means, strict=True):
            for k, row in enumerate(rows[0, columns, nodes]):
                feature = graph.features[:, k].copy()  # one by one: they stay in the cache
                mean[k] = feature.mean()
                if averaging:
                    feature -= mean[k]
                if scale[k] != 1:
                    feature /= scale[k]
                row[:] = feature
    if recipe.n_iterations:
        matrix = neighbor_average(whole, recipe.normalization, dtype)
        kept = wl_iterations(matrix, side_by_side(rows[0]), recipe.n_iterations, recipe.step, recipe.tolerance)
        for target, iteration in zip(rows[1:], kept[1:], strict=True):
            copy_transposed(iteration[:, : len(target)], target)
    centers = np.tile(means / scale, len(rows))
    for (nodes, columns), center in zip(places, centers, strict=True):
        embedded = rows[:, columns, nodes].reshape(len(rows) * d, -1)
        if not averaging:
            center = embedded.mean(axis=1)
            with np.errstate(over="ignore"):
                embedded = (embedded - center[:, None]).astype(np.float32)
        _refuse_wide(embedded)
        yield embedded.T, center


def _scale(recipe: Recipe) -> NDArray[np.float64]:
    assert recipe.scale is not None
    return recipe.scale


def _by_feature(graph: Graph) -> NDArray[np.float64]:
    """Copy the features to contiguous rows (d, n): NumPy is ten times slower over the short rows of (n, d)."""
    return graph.features.T.copy()
