"""One runner for meshes: the items of a column through any number of embeddings, a few at a time.

An :class:`Entry` is one distinct mesh or graph: it is read once and made into graphs and clouds once while it is at
hand, and what goes wrong says which one it was. :func:`moments_of`, :func:`embedded_of` and :func:`summaries_of` ask
``pipeline.py`` about items, or a :class:`~swwl.storage.memory.Memory` for what an earlier run kept of their files.
A :class:`Run` brings items to embeddings (:class:`Stepwise`), in threads; an embedding by itself is a run of one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding import pipeline
from swwl.embedding.clouds import CLOUDS, Cloud, cloud_of
from swwl.embedding.pipeline import EmbeddedGraph, Moments, Recipe
from swwl.errors import InputError, InputTypeError, MeshWarning, PlaneMeshWarning, located
from swwl.mesh.arrays import AnyArray
from swwl.mesh.cells import cell_dimension
from swwl.mesh.graph import Graph
from swwl.mesh.groups import matching
from swwl.mesh.io import as_graph, as_mesh, prepared
from swwl.mesh.io.convert import MeshFile
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.plane import flattened, same_thickness, thickness_of
from swwl.mesh.shape.bodies import body_numbers
from swwl.mesh.shape.conduction import resistance
from swwl.mesh.shape.part import part_row
from swwl.mesh.shape.skin import Skin, coarseness, skin
from swwl.mesh.shape.summaries import summaries
from swwl.parallel import Progress, check_memory, each_once, in_threads, n_workers
from swwl.storage.memory import Memory, MemoryLike, as_memory, fingerprint

Found = TypeVar("Found")
Made = TypeVar("Made", bound=Graph | Cloud | Mesh | Skin)
Rows = AnyArray

# A thread takes a few items at a time: few enough to hold in memory, enough that small ones are not all overhead.
_MOST_ITEMS = 32
_MOST_NODES = 30_000
_BYTES_PER_NODE = 60  # of a file, about
_GUESSED_NODES = 15_000  # of anything else that does not tell
# Nodes that may wait in memory from a first look at all items to their embedding: as graphs, some 300 MB. Meshes that
# several embeddings share count tenfold, for their cells and fields. Other files are read a second time.
_MOST_NODES_WAITING = 2_000_000
_WEIGHT_OF_MESHES = 10
_THICKNESS = fingerprint("thickness 1")  # raise it whenever the same file comes to have another one


class _Failure:
    """Carries an exception of the user's iterator into a worker: raised while joblib draws items, it would hang."""

    def __init__(self, error: Exception):
        self.error = error


class Entry:
    """A distinct item of a column: what was given, its place and, while it is at hand, what was made of it.

    Parameters
    ----------
    number : int
        Its place in the column, which messages name.
    given : object
        Anything that :func:`swwl.as_graph` takes.
    fields : collection of str, optional
        Where several embeddings share what is read from a file: the node fields that they need.
    """

    def __init__(self, number: int, given: object, fields: Collection[str] | None = None):
        self.number = number
        self.path = Path(given) if isinstance(given, (str, os.PathLike)) else None
        self.given = given
        if isinstance(given, MeshFile) or (isinstance(given, (str, os.PathLike)) and fields is not None):
            self.given = MeshFile(given, fields)  # another one's content is shared, and released here alone
        self._made: dict[Hashable, Graph | Cloud | Mesh | Skin] = {}
        self.numbers: dict[Hashable, NDArray[np.float64]] = {}  # few, and kept as long as the item
        self._held = False  # on behalf of one embedding, which needs nothing but what was made

    def once(self, key: Hashable, make: Callable[[Any], Made]) -> Made:
        """Return what a function makes of the item, made now unless it is at hand under that key."""
        if isinstance(self.given, _Failure):
            raise self.given.error
        found: Any = self._made.get(key)
        if found is None:
            try:
                found = self._made[key] = make(self.given)
            except InputError as error:
                raise error.of_item(self.number, f"Graph {self.number}") from None
        return found

    def hold(self, fields: Collection[str]) -> None:
        """Keep what is read from a file until something is made of it."""
        if isinstance(self.given, (str, os.PathLike)) and not isinstance(self.given, MeshFile):
            self.given, self._held = MeshFile(self.given, fields), True

    def about_nodes(self) -> int:
        """Return how many nodes it has, about, without reading it."""
        if self.path is not None:
            return os.path.getsize(self.path) // _BYTES_PER_NODE if self.path.exists() else 0
        return int(getattr(self.given, "n_nodes", _GUESSED_NODES))

    def wait(self, budget: int) -> int:
        """Keep in memory what can be used again if it holds no more nodes than a budget; return what is left of it."""
        if self._held and self._made and isinstance(self.given, MeshFile):
            self.given.release()
        shared = isinstance(self.given, MeshFile) and self.given.n_nodes
        if shared:
            self._made.clear()
        held = sum(_size(made) for made in self._made.values() if made is not self.given)
        budget -= held + _WEIGHT_OF_MESHES * shared
        if budget < 0:
            budget += held + _WEIGHT_OF_MESHES * shared
            self.release()
        return budget

    def release(self) -> None:
        """Let go of what was read and made."""
        self._made.clear()
        if isinstance(self.given, MeshFile):
            self.given.release()


def _size(made: Graph | Cloud | Mesh | Skin) -> int:
    if isinstance(made, Skin):
        return len(made.pieces)
    return made.n_points if isinstance(made, Cloud) else made.n_nodes


def as_items(X: object) -> Iterable[Any]:
    """Return a sequence of graphs (or of what they can be made of) or, for anything lazy, the iterable itself."""
    if isinstance(X, (Graph, str, bytes)):
        raise InputTypeError(f"A list of graphs is expected, not a single {type(X).__name__}; put it in a list.")
    if isinstance(X, pd.DataFrame):
        if X.shape[1] != 1:
            raise InputError(f"A table of one column of graphs is expected, but this one has {X.shape[1]} columns.")
        X = X.iloc[:, 0]
    if isinstance(X, (pd.Series, np.ndarray)):
        values = np.asarray(X, dtype=object)
        if values.ndim != 1 and values.size != len(values):
            raise InputError(f"One graph per row is expected, but the array has shape {values.shape}.")
        return list(values.ravel())
    if not isinstance(X, Iterable):
        raise InputTypeError(f"An iterable of graphs is expected, not {type(X).__name__}.")
    return X


def _guarded(items: Iterable[object]) -> Iterator[object]:
    try:
        yield from items
    except Exception as error:
        yield _Failure(error)


# What is asked of items


def load(item: Entry, recipe: Recipe) -> Graph | Cloud:
    """Return an item as the graph or the cloud that a recipe takes."""
    graph: Graph | Cloud
    key = (recipe.measure, recipe.fields, recipe.node_weights == "area", recipe.merge_nodes, recipe.group, recipe.plane)
    if recipe.measure in CLOUDS:
        shared = recipe.measure == "skin" and isinstance(item.given, (Mesh, MeshFile))
        found = _skin(item, recipe.merge_nodes, recipe.group, recipe.plane) if shared else None
        graph = item.once(key, lambda given: _cloud(given, recipe, found))
    else:
        weights = "area" if recipe.node_weights == "area" else None
        options: dict[str, Any] = {"fields": recipe.fields, "node_weights": weights}
        options |= {"merge_nodes": recipe.merge_nodes, "group": recipe.group}
        graph = item.once(key, lambda given: as_graph(_flat(given, recipe.group) if recipe.plane else given, **options))
    if isinstance(graph, Cloud) and not recipe.directed:
        graph = graph.without_directions()
    elif isinstance(graph, Cloud) and graph.reason and recipe.directions:
        text = f"its boundary normals are not consistently oriented, as they were in fit: {graph.reason}."
        warnings.warn(f"{_title(item, graph)}: {text}", MeshWarning, stacklevel=2)
    if recipe.n_features is not None and graph.n_features != recipe.n_features:
        error = InputError(f"has {graph.n_features} features per node, but fit saw {recipe.n_features}.")
        if isinstance(graph, Cloud) and recipe.measure != "edges":  # coordinates, with normals of skins
            here, there = ("in space", "in the plane")[:: 1 if graph.n_features > recipe.n_features else -1]
            error = InputError(
                f"is {here}, but the meshes of the fit were {there}: give a mesh like those of the fit. (Results of "
                "CalculiX hold shells and plane elements as solids; with OUTPUT=2D on *NODE FILE and *EL FILE they are "
                "the mesh of the input file.)"
            )
        raise error.of_item(item.number, _title(item, graph), continues=True)
    return graph


def _flat(given: object, group: str | None) -> object:
    """Return the plane mesh of an item that is one cell thick, with groups only if one is learned from.

    Meshes without solid cells and graphs stay as they were given, and so does what cannot be read: whoever takes it
    says so.
    """
    if isinstance(given, (str, os.PathLike)) and not isinstance(given, MeshFile):
        given = MeshFile(given)  # so that it is read once
    try:
        mesh = as_mesh(given)
    except InputError:
        return given
    if mesh.dimension < 3 or not any(cell_dimension(kind) == 3 for kind in mesh.cells):
        return given
    if isinstance(given, (str, os.PathLike)):
        with located(str(given)):
            return flattened(mesh, groups=group is not None)
    return flattened(mesh, groups=group is not None)


def _cloud(given: object, recipe: Recipe, found: Skin | None) -> Cloud:
    given = _flat(given, recipe.group) if recipe.plane else given
    return cloud_of(given, recipe.measure, recipe.fields, recipe.merge_nodes, found, group=recipe.group)


def _title(item: Entry, graph: Graph | Cloud) -> str:
    return f"Graph {item.number}" + (f" ({graph.name})" if graph.name else "")


def moments_of(items: Sequence[Entry], recipe: Recipe, memory: Memory) -> list[Moments]:
    """Return the moments of every item, from memory where they are known there."""
    return [_moments(item, recipe, memory) for item in items]


def _moments(item: Entry, recipe: Recipe, memory: Memory) -> Moments:
    kept = None if item.path is None else memory.get(item.path, "moments", recipe.reading_key)
    if kept is not None and _are_moments(kept, recipe):
        weight, directed = int(kept.get("weight", kept["n_nodes"])), bool(kept.get("directed", True))
        return Moments(weight, kept["mean"], kept["variance"], bool(kept["averaging"]), directed)
    graph = load(item, recipe)
    found = pipeline.moments(graph, recipe)
    if item.path is not None:
        memory.put(item.path, "moments", recipe.reading_key, graph.n_nodes, **found._asdict())
    return found


def _are_moments(kept: Mapping[str, AnyArray], recipe: Recipe) -> bool:
    """Whether what was kept of a file can be its moments."""
    if not kept.keys() >= {"mean", "variance", "averaging"}:
        return False
    mean, variance = kept["mean"], kept["variance"]
    width = len(mean) if mean.ndim else 0
    whole = all(array.dtype.kind == "f" and array.shape == (width,) and np.isfinite(array).all()
                for array in (mean, variance))  # fmt: skip
    single = all(kept[name].shape == () for name in ("averaging", "weight", "directed") if name in kept)
    return whole and single and width > 0 and recipe.n_features in (None, width)


def centers_of(items: Sequence[Entry], recipe: Recipe) -> list[NDArray[np.float64]]:
    """Return the center of every item in the space of node embeddings, ((H + 1) d,)."""
    return [pipeline.center_of(load(item, recipe), recipe) for item in items]


def embedded_of(items: Sequence[Entry], recipe: Recipe, memory: Memory) -> list[EmbeddedGraph]:
    """Return quantiles and center of every item, from memory where they are known there."""
    results = [_kept(item.path, recipe, memory) for item in items]
    missing = [(place, load(items[place], recipe)) for place, result in enumerate(results) if result is None]
    embedded = pipeline.embed([graph for _, graph in missing], recipe)
    for place, graph in missing:
        item = items[place]
        try:
            result = results[place] = next(embedded)
        except InputError as error:
            raise error.of_item(item.number, _title(item, graph)) from None
        if item.path is not None:
            arrays = {"quantiles": result.quantiles, "offset": result.center}
            memory.put(item.path, "quantiles", recipe.key, graph.n_nodes, **arrays)
            memory.note_made(item.path)
    return [result for result in results if result is not None]


def _kept(path: Path | None, recipe: Recipe, memory: Memory) -> EmbeddedGraph | None:
    kept = None if path is None else memory.get(path, "quantiles", recipe.key)
    if path is None or kept is None or not kept.keys() >= {"quantiles", "offset"}:
        return None
    quantiles, center = kept["quantiles"], kept["offset"]
    shape = (len(recipe.directions), recipe.n_quantiles, recipe.directions[0].shape[1])
    length = sum(len(theta) for theta in recipe.directions)
    whole = quantiles.shape == shape and quantiles.dtype == np.float32 and center.shape == (length,)
    whole = whole and center.dtype.kind == "f" and bool(np.isfinite(center).all())
    if not whole or not np.isfinite(quantiles.sum()):
        return None
    memory.note_found(path)
    return EmbeddedGraph(quantiles, center)


def summaries_of(
    items: Sequence[Entry], kind: str, merge_nodes: bool, memory: Memory, group: str | None = None, plane: bool = False
) -> list[NDArray[np.float64]]:
    """Return the summaries of every item as a "mesh", a "graph" or a "part", from memory where they are known there.

    Of "coarseness" there is one number, see :func:`swwl.mesh.shape.skin.coarseness`.
    """
    results = []
    names = {"mesh": "mesh-3", "graph": "graph-3", "part": "part-2", "coarseness": "coarseness-1"}
    key = names[kind] + "-merged" * merge_nodes
    key += ("" if group is None else "-group-" + fingerprint(group)) + "-plane" * plane
    for item in items:
        kept = None if item.path is None else memory.get(item.path, "summaries", key)
        if kept is not None and "summaries" in kept and np.isfinite(kept["summaries"]).all():
            results.append(kept["summaries"])
            continue
        own = kind == "graph", merge_nodes, group, plane
        thing = item.once(own, lambda given: _thing(_flat(given, group) if plane else given, kind, merge_nodes, group))
        try:
            if kind in ("part", "coarseness") and isinstance(thing, Mesh):
                outside = _skin(item, merge_nodes, group, plane)
                found = part_row(thing, outside) if kind == "part" else np.array([coarseness(thing, outside)])
            else:
                found = summaries(thing)
        except InputError as error:
            raise error.of_item(item.number, f"Graph {item.number}") from None
        if item.path is not None:
            memory.put(item.path, "summaries", key, thing.n_nodes, summaries=found)
        results.append(found)
    return results


def bodies_of(
    items: Sequence[Entry],
    groups: tuple[str | None, ...],
    pairs: tuple[tuple[str, str], ...],
    merge_nodes: bool,
    memory: Memory,
    plane: bool = False,
) -> list[NDArray[np.float64]]:
    """Return the bodies of groups of every mesh, and resistances between pairs of them, packed as one array each.

    From memory where they are known. A resistance is nan where a mesh lacks one of the groups.
    """
    results = []
    key = "bodies-1-" + fingerprint(repr((groups, pairs) if pairs else groups))
    key += "-merged" * merge_nodes + "-plane" * plane
    for item in items:
        if key in item.numbers:
            results.append(item.numbers[key])
            continue
        kept = None if item.path is None else memory.get(item.path, "summaries", key)
        if kept is not None and "summaries" in kept and np.isfinite(kept["summaries"]).all():
            results.append(kept["summaries"])
            continue
        with_groups = "groups", merge_nodes, plane
        mesh = item.once(
            with_groups, lambda given: _thing(_flat(given, "*") if plane else given, "mesh", merge_nodes, None)
        )
        try:
            if not isinstance(mesh, Mesh):
                raise InputError("Bodies are parts of a mesh, which a Graph is not: give the Mesh or its file.")
            outside = _skin(item, merge_nodes, None, plane)
            each = [None if name is not None and not matching(name, mesh.groups) else body_numbers(mesh, name, outside)
                    for name in groups]  # fmt: skip
            ways = [resistance(mesh, *pair) if all(matching(name, mesh.groups) for name in pair) else np.nan
                    for pair in pairs]  # fmt: skip
        except InputError as error:
            raise error.of_item(item.number, f"Graph {item.number}") from None
        found = item.numbers[key] = packed(mesh.dimension, each, ways)
        if item.path is not None:
            memory.put(item.path, "summaries", key, mesh.n_nodes, summaries=found)
        results.append(found)
    return results


def packed(
    dimension: int, groups: Sequence[NDArray[np.float64] | None], ways: Sequence[float] = ()
) -> NDArray[np.float64]:
    """Return one array of the bodies of several groups: the dimension, how many each has, or -1, and their numbers.

    The resistances between pairs of groups come last.

    Examples
    --------
    >>> packed(2, [np.ones((1, 16)), None])[:3].tolist()
    [2.0, 1.0, -1.0]
    """
    counts = [-1 if bodies is None else len(bodies) for bodies in groups]
    bodies = [own.ravel() for own in groups if own is not None]
    return np.concatenate([[dimension], counts, *bodies, np.asarray(ways, dtype=float)])


def _skin(item: Entry, merge_nodes: bool, group: str | None, plane: bool) -> Skin:
    """Return the skin of a mesh, found once for all embeddings that need it."""
    own = False, merge_nodes, group, plane
    mesh = item.once(own, lambda given: _thing(_flat(given, group) if plane else given, "mesh", merge_nodes, group))
    assert isinstance(mesh, Mesh)
    return item.once(("skin", *own), lambda _: skin(mesh))


def _thing(given: object, kind: str, merge_nodes: bool, group: str | None) -> Mesh | Graph:
    if kind == "graph":
        return as_graph(given, merge_nodes=merge_nodes, group=group)
    mesh = as_mesh(given)
    if isinstance(given, (str, os.PathLike)):
        with located(str(given)):
            return prepared(mesh, merge_nodes, group)
    return prepared(mesh, merge_nodes, group)


# The run


class Pieces(Protocol):
    """Where the pieces of an embedding are put as they come."""

    def extend(self, values: Iterable[Any], /) -> None:
        """Add the next ones."""


class Stepwise(Protocol):
    """An embedding that takes a few items at a time.

    Attributes
    ----------
    n_jobs : int or None
    fields : sequence of str
        Node fields that it needs of meshes.
    group : str or None
        The part of meshes that it takes.
    plane_ : bool
        Whether meshes are one cell thick and taken for plane ones; settled by a :class:`Run`.
    """

    n_jobs: int | None
    fields: Sequence[str]
    group: str | None
    plane_: bool

    @property
    def looks_first(self) -> bool:
        """Whether all items have to be seen before the first can be embedded."""

    @property
    def row_length(self) -> int:
        """About how many numbers a row has; refuses options that cannot be."""

    @property
    def nodes_at_once(self) -> int | None:
        """How many nodes to take at a time, where more than usual are better."""

    def look(self, items: Sequence[Entry], memory: Memory) -> list[Any]:
        """Return what has to be known of every item to settle the embedding."""

    def settle(self, looks: list[Any]) -> None:
        """Settle the embedding: by all training items or, unless it ``looks_first``, by the first."""

    def pieces(self, n: int | None) -> Pieces:
        """Return where to put the pieces of n items, or of nobody knows how many."""

    def take(self, items: Sequence[Entry], memory: Memory) -> list[Any]:
        """Return a piece for every item."""

    def finish(self, pieces: Any, inverse: list[int] | None, *, fit: bool) -> Rows:
        """Make rows of the pieces of all distinct items; with ``fit``, these are the training items.

        ``inverse`` is the distinct item of every row; None where each row has its own.
        """


class Run:
    """The distinct items of a column on their way through embeddings.

    Parameters
    ----------
    embeddings : sequence of Stepwise
    X : iterable of graphs, or of anything :func:`swwl.as_graph` takes
        A list, a pandas column, an array of objects; anything lazy is drawn from as it is needed, once.
    progress : callable, optional
        Called as ``progress(done, total)`` as items are done; ``total`` is None where it is not known.
    memory : Memory or path, optional
    numbers : sequence of int, optional
        Of the items in the column that they are a part of, for messages.
    """

    def __init__(
        self,
        embeddings: Sequence[Stepwise],
        X: object,
        *,
        progress: Progress | None = None,
        memory: MemoryLike = None,
        numbers: Sequence[int] | None = None,
    ):
        width = sum(embedding.row_length for embedding in embeddings)
        self._embeddings = embeddings
        self._memory = as_memory(memory)
        self._progress, self._done, self._passes = progress, 0, 1
        # Several embeddings share what is read of a file; one reads what it needs.
        fields = {name for embedding in embeddings for name in embedding.fields} if len(embeddings) > 1 else None
        self._items: list[Entry] | Iterator[Entry]
        self._inverse: list[int] | None = None
        given = as_items(X)
        if isinstance(given, Sized):
            distinct, self._inverse = each_once(given)
            firsts = np.unique(self._inverse, return_index=True)[1].tolist()
            places = firsts if numbers is None else [numbers[first] for first in firsts]
            self._items = [Entry(number, item, fields) for number, item in zip(places, distinct, strict=True)]
        else:
            self._items = (Entry(number, item, fields) for number, item in enumerate(_guarded(given)))
        # One item is shared out by embeddings, so that no more threads are of use.
        most = len(embeddings) if self._total == 1 else None
        self._workers = max((n_workers(embedding.n_jobs, most) for embedding in embeddings), default=1)
        check_memory(4 * (self._total or 1) * width, "The embeddings")

    def settle(self) -> None:
        """Settle the embeddings by the items."""
        first = self._first()
        if not first:
            raise InputError("There are no graphs to fit; at least one is needed.")
        self._settle_plane(first[0])
        for embedding in self._embeddings:
            if not embedding.looks_first:
                embedding.settle(embedding.look(first, self._memory))
        looking = [embedding for embedding in self._embeddings if embedding.looks_first]
        if looking:
            self._look(looking)

    def _settle_plane(self, first: Entry) -> None:
        """Find out whether all meshes are one cell thick, and as thick: then they are plane meshes."""
        fields = {name for embedding in self._embeddings for name in embedding.fields}
        found = [_thickness(first, self._memory, fields)]
        if same_thickness(found) and isinstance(self._items, list):
            budget = _MOST_NODES_WAITING
            for item in self._items[1:]:
                found.append(_thickness(item, self._memory, fields))
                budget = item.wait(budget)
                if not same_thickness(found):
                    break
        plane = same_thickness(found)
        for embedding in self._embeddings:
            # A model of plane meshes takes such as are one cell thick, too.
            embedding.plane_ = found == [0.0] or (plane and _has_group(first, embedding.group))
        if plane and isinstance(self._items, list):
            are = "1 mesh is one cell thick: it is learned as a plane mesh"
            many = f"{len(found)} meshes are one cell thick: they are learned as plane meshes"
            warnings.warn(f"{are if len(found) == 1 else many}.", PlaneMeshWarning, stacklevel=3)

    def _look(self, embeddings: Sequence[Stepwise]) -> None:
        self._items, self._passes = list(self._items), 2
        looks: list[list[Any]] = [[] for _ in embeddings]
        budget = _MOST_NODES_WAITING
        chunks = list(self._chunks(_MOST_NODES))
        look = partial(_look, embeddings, self._memory)
        for chunk, found in zip(chunks, self._each(look, chunks, self._workers), strict=True):
            for own, new in zip(looks, found, strict=True):
                own += new
            for item in chunk:
                budget = item.wait(budget)
        for embedding, own in zip(embeddings, looks, strict=True):
            embedding.settle(self.spread(own))

    def rows(self, *, fit: bool) -> list[Rows]:
        """Return the rows of all items in each embedding, settled; with ``fit``, items are its training items."""
        pieces = [embedding.pieces(self._total) for embedding in self._embeddings]
        # Too few items to share out among workers: embeddings are.
        few = len(self._embeddings) > 1 and self._total is not None and self._total < self._workers
        take = partial(_take, self._embeddings, self._memory, self._workers if few else 1)
        sizes = [embedding.nodes_at_once or _MOST_NODES for embedding in self._embeddings]
        for found in self._each(take, self._chunks(min(sizes, default=0)), 1 if few else self._workers):
            for own, new in zip(pieces, found, strict=True):
                own.extend(new)
        return [
            embedding.finish(own, self._inverse, fit=fit)
            for embedding, own in zip(self._embeddings, pieces, strict=True)
        ]

    def collect(self, function: Callable[[Sequence[Entry]], list[Found]]) -> list[Found]:
        """Return what a function makes of all items, a few at a time: one result for every row of the column."""
        results = self._each(partial(_released, function), self._chunks(_MOST_NODES), self._workers)
        return self.spread([found for some in results for found in some[0]])

    def spread(self, results: list[Found]) -> list[Found]:
        """Return one result for every row of the column, of those for distinct items."""
        return results if self._inverse is None else [results[k] for k in self._inverse]

    def finished(self) -> None:
        """Say that all is done, where one pass did for two."""
        if self._progress is not None and self._total is not None:
            self._progress(self._total, self._total)

    @property
    def _total(self) -> int | None:
        return len(self._items) if isinstance(self._items, list) else None

    def _first(self) -> list[Entry]:
        """Return the first item, if there is one; it will come again with the others."""
        if isinstance(self._items, list):
            return self._items[:1]
        first = next(self._items, None)
        if first is None:
            return []
        self._items = chain([first], self._items)
        return [first]

    def _chunks(self, most_nodes: int) -> Iterator[list[Entry]]:
        """Yield the items that a thread takes at a time."""
        total = self._total
        most = _MOST_ITEMS if total is None else min(_MOST_ITEMS, -(-total // self._workers))
        chunk: list[Entry] = []
        nodes = 0
        for item in self._items:
            chunk.append(item)
            nodes += item.about_nodes()
            if nodes >= most_nodes or len(chunk) == most:
                yield chunk
                chunk, nodes = [], 0
        if chunk:
            yield chunk

    def _each(
        self, function: Callable[[list[Entry]], list[list[Found]]], chunks: Iterable[list[Entry]], workers: int
    ) -> Iterator[list[list[Found]]]:
        """Yield what a function makes of the items of a chunk, a list per embedding; count them."""
        for found in in_threads(function, chunks, workers):
            yield found
            self._done += len(found[0])
            if self._progress is not None:
                self._progress(self._done // self._passes, self._total)


def _thickness(item: Entry, memory: Memory, fields: Collection[str]) -> float:
    """Return how thick a mesh is, see :func:`swwl.mesh.remesh.plane.thickness_of`; NaN for graphs."""
    kept = None if item.path is None else memory.get(item.path, "thickness", _THICKNESS)
    known = None if kept is None else kept.get("thickness")
    if known is not None and known.shape == () and known.dtype.kind == "f" and known >= 0:
        return float(known)
    if isinstance(item.given, (Graph, _Failure)):
        return float("nan")
    item.hold(fields)
    try:
        mesh = as_mesh(item.given)
    except InputError:
        return float("nan")  # a graph; what cannot be read at all is told when it is embedded
    found = thickness_of(mesh)
    if item.path is not None:
        memory.put(item.path, "thickness", _THICKNESS, mesh.n_nodes, thickness=np.array(found))
    return found


def _has_group(item: Entry, group: str | None) -> bool:
    """Whether a group is one of the plane mesh; the two sides of a layer are not."""
    return group is None or bool(matching(group, flattened(as_mesh(item.given)).groups))


def _look(embeddings: Sequence[Stepwise], memory: Memory, items: list[Entry]) -> list[list[Any]]:
    return [embedding.look(items, memory) for embedding in embeddings]


def _take(embeddings: Sequence[Stepwise], memory: Memory, workers: int, items: list[Entry]) -> list[list[Any]]:
    def pieces(embedding: Stepwise) -> list[Any]:
        return embedding.take(items, memory)

    if workers == 1:
        found = list(map(pieces, embeddings))
    else:
        with ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(pieces, embeddings))
    for item in items:
        item.release()
    return found


def _released(function: Callable[[Sequence[Entry]], list[Found]], items: list[Entry]) -> list[list[Found]]:
    found = function(items)
    for item in items:
        item.release()
    return [found]


def fit_transform_together(
    embeddings: Sequence[Stepwise],
    X: object,
    *,
    progress: Progress | None = None,
    memory: MemoryLike = None,
    numbers: Sequence[int] | None = None,
) -> list[Rows]:
    """Fit several embeddings to the same meshes; return the rows of each.

    Parameters
    ----------
    embeddings : sequence of SWWLEmbedding or SummaryEmbedding
    X, progress, memory, numbers
        See :class:`Run`.

    Examples
    --------
    >>> from swwl import Graph, SWWLEmbedding
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 2.0)]
    >>> flat, deep = SWWLEmbedding(0), SWWLEmbedding(2)
    >>> rows = fit_transform_together([flat, deep], rods)
    >>> bool((rows[1] == SWWLEmbedding(2).fit_transform(rods)).all())
    True
    """
    run = Run(embeddings, X, progress=progress, memory=memory, numbers=numbers)
    run.settle()
    return run.rows(fit=True)


def transform_together(
    embeddings: Sequence[Stepwise],
    X: object,
    *,
    progress: Progress | None = None,
    memory: MemoryLike = None,
    numbers: Sequence[int] | None = None,
) -> list[Rows]:
    """Return the rows of meshes in several fitted embeddings; see :func:`fit_transform_together`."""
    return Run(embeddings, X, progress=progress, memory=memory, numbers=numbers).rows(fit=False)
