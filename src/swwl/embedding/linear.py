"""One mesh or graph as a row in double precision, and the transpose of the row's derivative in its nodes.

Rows of ``transformer.py`` are single precision, whose differences are noise. Here the same stages run in double
precision, each beside its adjoint: iterations (``wl.py``), quantiles (``sliced_adjoint.py``), masses and normals
(``mesh/shape/adjoints.py``), plain numbers (``mesh/shape/summaries.py``). A :class:`Source` is a mesh that all
embeddings of a column share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.bodies import BodyEmbedding
from swwl.embedding.clouds import CLOUDS, Cloud, cloud_of
from swwl.embedding.pipeline import Recipe
from swwl.embedding.sliced_adjoint import Quantiles, check_rule
from swwl.embedding.summaries import SummaryEmbedding
from swwl.embedding.transformer import SWWLEmbedding
from swwl.embedding.wl import is_averaging, neighbor_average, side_by_side, wl_iterations, wl_transposed
from swwl.errors import InputError
from swwl.mesh.arrays import first_at_place
from swwl.mesh.cells import used_nodes
from swwl.mesh.graph import Graph
from swwl.mesh.io import as_graph, as_mesh, prepared
from swwl.mesh.mesh import Mesh
from swwl.mesh.remesh.plane import ThinLayer, flattened, thin_layer
from swwl.mesh.shape.adjoints import cell_samples_back, lumped_measures_back, shared_by_place, skin_samples_back
from swwl.mesh.shape.bodies import bodies_back, body_numbers
from swwl.mesh.shape.conduction import resistance, resistance_back
from swwl.mesh.shape.part import part_row, part_row_back
from swwl.mesh.shape.skin import Skin, skin
from swwl.mesh.shape.summaries import summaries, summaries_back

Array = NDArray[np.float64]
Found = TypeVar("Found")


def as_movable(item: Any) -> Mesh | Graph:
    """Return what is to be differentiated as a mesh, or as a graph where it has no cells."""
    if isinstance(item, (Mesh, Graph)):
        return item
    try:
        return as_mesh(item)
    except InputError:
        return as_graph(item)


class Source:
    """What was given, as mesh and as graph, and how gradients come back from these to all of its nodes.

    Parameters
    ----------
    given : Mesh or Graph
    layer : ThinLayer, optional
        Where the mesh is the plane one of a layer: gradients are brought back to the nodes of that.

    Examples
    --------
    >>> source = Source(Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]))
    >>> source.skin(False) is source.skin(False), source.graph(False).n_edges
    (True, 3)
    """

    def __init__(self, given: Mesh | Graph, layer: ThinLayer | None = None):
        self.given, self._layer = given, layer
        self._known: dict[Any, Any] = {}

    def plane(self) -> Source:
        """Return the plane mesh of one that is one cell thick, whose gradients come back to both of its sides."""
        given = self.given
        if isinstance(given, Graph) or given.dimension < 3:
            return self
        return self._once("plane", lambda: Source(flattened(given), thin_layer(given)))

    def thing(self, merge: bool, group: str | None = None) -> Mesh | Graph:
        """Return what was given, or a part of it, with nodes at one place made one where that is requested."""
        given = self.given
        if isinstance(given, Graph):
            return given
        return self._once(("thing", merge, group), lambda: prepared(given, merge, group))

    def mesh(self, merge: bool, what: str, group: str | None = None) -> Mesh:
        """Return the mesh, or say that there is none and what needs it."""
        mesh = self.thing(merge, group)
        if isinstance(mesh, Graph):
            raise InputError(
                f"{what} needs the cells of a mesh, which a Graph does not have: give the Mesh or its file."
            )
        return mesh

    def graph(
        self, merge: bool, weights: str | None = None, fields: tuple[str, ...] = (), group: str | None = None
    ) -> Graph:
        """Return the graph of the mesh, see :meth:`swwl.Mesh.graph`, or the graph that was given."""
        thing = self.thing(merge, group)
        if isinstance(thing, Graph):
            return thing
        return self._once(("graph", merge, weights, fields, group), lambda: thing.graph(weights, fields))

    def skin(self, merge: bool, group: str | None = None) -> Skin | None:
        """Return the skin of the mesh; None where there is none."""
        mesh = self.thing(merge, group)
        return None if isinstance(mesh, Graph) else self._once(("skin", merge, group), lambda: _skin_or_none(mesh))

    def from_graph(self, gradient: Array, merge: bool, group: str | None = None) -> Array:
        """Bring gradients (k, d, m) in the features of the graph to all nodes of what was given."""
        mesh = self.thing(merge, group)
        if isinstance(mesh, Graph):
            return gradient
        gradient = gradient[:, : mesh.dimension]
        used = used_nodes(mesh.cells, mesh.n_nodes)
        if not used.all():
            whole = np.zeros((mesh.n_nodes, *gradient.shape[1:]))
            whole[used] = gradient
            gradient = whole
        return self.from_mesh(gradient, merge, group)

    def from_mesh(self, gradient: Array, merge: bool, group: str | None = None) -> Array:
        """Bring gradients in the nodes of the merged mesh, or of a part of it, to all nodes of what was given.

        Nodes that became one get equal shares; those outside of the part have no influence.
        """
        part = self.thing(False, group)
        if isinstance(part, Graph) or isinstance(self.given, Graph):
            return gradient
        if self._layer is not None:
            return self._layer.pulled_back(Source(self.given).from_mesh(gradient, merge, group))
        if merge and len(gradient) != part.n_nodes:
            number = np.unique(first_at_place(part.points), return_inverse=True)[1]
            gradient = gradient[number] / np.bincount(number)[number][:, None, None]
        if group is None:
            return gradient
        whole = np.zeros((self.given.n_nodes, *gradient.shape[1:]))
        whole[self.given.part_group(group).nodes] = gradient
        return whole

    def _once(self, key: Any, find: Callable[[], Found]) -> Found:
        if key not in self._known:
            self._known[key] = find()
        found: Found = self._known[key]
        return found


def _skin_or_none(mesh: Mesh) -> Skin | None:
    try:
        return skin(mesh)
    except InputError:
        return None


@dataclass(frozen=True)
class Linear:
    """A row and the transpose of its derivative.

    Attributes
    ----------
    row : ndarray of shape (K,), float64
    pull_back : callable
        Takes the gradients of m functions in the row, (K, m), and returns those in what the row was made of: (n, d, m)
        for the points of a mesh or the features of a graph, (m,) for a number.
    """

    row: Array
    pull_back: Callable[[Array], Array]


def linearize(embedding: SWWLEmbedding | SummaryEmbedding, item: Any) -> Linear:
    """Embed one mesh or graph in double precision, ready to pull gradients in its row back to its nodes.

    Parameters
    ----------
    embedding : SWWLEmbedding or SummaryEmbedding
        Fitted. Of those with r = 2, and quantiles that do not jump.
    item : object
        Anything that :func:`swwl.as_mesh` or :func:`swwl.as_graph` takes, or a :class:`Source` that several embeddings
        share. Area weights need the cells of a mesh.

    Returns
    -------
    Linear

    Examples
    --------
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 2.0)]
    >>> embedding = SWWLEmbedding(0, n_projections=1, n_quantiles=2).fit(rods)
    >>> found = linearize(embedding, rods[1])
    >>> bool(np.allclose(found.row, embedding.transform(rods[1:])[0]))
    True
    >>> np.abs(found.pull_back(np.array([[0.0], [1.0]])).ravel()).round(4).tolist()  # the second quantile: one end
    [0.0, 0.7071]
    """
    source = item if isinstance(item, Source) else Source(as_movable(item))
    source = source.plane() if getattr(embedding, "plane_", False) else source
    if isinstance(embedding, BodyEmbedding):
        return _bodies(embedding, source)
    if isinstance(embedding, SummaryEmbedding):
        return _summaries(embedding, source)
    if embedding.r != 2:
        raise InputError(f"Derivatives need r=2, but the embedding has r={embedding.r}.")
    recipe = embedding.recipe()
    return (_cloud if recipe.measure in CLOUDS else _nodes)(embedding, recipe, source)


def _nodes(embedding: SWWLEmbedding, recipe: Recipe, source: Source) -> Linear:
    merge, group = recipe.merge_nodes, recipe.group
    thing = source.thing(merge, group)
    by_area = recipe.node_weights == "area"
    if isinstance(thing, Graph) and recipe.node_weights != "uniform" and (by_area or thing.node_weights is not None):
        raise InputError(
            "The weights of the nodes change when nodes move, and a Graph does not know how: give the Mesh or its file."
        )
    graph = source.graph(merge, "area" if by_area else None, recipe.fields, group)
    check_rule(recipe.quantiles, by_area)
    averaging = is_averaging(graph, recipe.normalization)
    (n, d), count = graph.features.shape, recipe.n_iterations + 1
    scale = np.asarray(recipe.scale)
    mean = graph.features.mean(axis=0) if averaging else np.zeros(d)
    matrix = neighbor_average(graph, recipe.normalization, np.float64)
    features = side_by_side((graph.features.T.copy() - mean[:, None]) / scale[:, None])
    kept = wl_iterations(matrix, features, count - 1, recipe.step, recipe.tolerance)
    rows = np.concatenate([own.T[:d] for own in kept]).reshape(len(recipe.directions), -1, n)
    masses = graph.node_weights if by_area else None
    found = [
        Quantiles(own.T, theta, recipe.n_quantiles, recipe.quantiles, masses)
        for own, theta in zip(rows, recipe.directions, strict=True)
    ]
    offset = (np.tile(mean / scale, count) - embedding.center_).reshape(len(found), -1)

    def pull_back(gradient: Array) -> Array:
        m = gradient.shape[1]
        in_nodes, in_masses, in_offset = _quantiles_back(found, recipe, gradient)
        parts = in_nodes.reshape(n, count, d * m)
        total = wl_transposed(matrix, [parts[:, h] for h in range(count)], recipe.step, recipe.tolerance)
        total = total.reshape(n, d, m)
        if averaging:  # the mean is taken away before the iterations, and added again behind them
            total = total + (in_offset.reshape(count, d, m).sum(axis=0) - total.sum(axis=0)) / n
        back = source.from_graph(total / scale[:, None], merge, group)
        if in_masses is not None:
            assert isinstance(thing, Mesh)
            whole = np.zeros((thing.n_nodes, m))
            whole[used_nodes(thing.cells, thing.n_nodes)] = in_masses
            back = back + source.from_mesh(lumped_measures_back(thing.points, thing.cells, whole), merge, group)
        return back

    return Linear(_row(found, recipe, offset), pull_back)


def _row(found: list[Quantiles], recipe: Recipe, offset: Array) -> Array:
    pairs = zip(found, recipe.directions, offset, strict=True)
    return _factor(recipe) * np.concatenate([(own.values + shift @ theta).ravel() for own, theta, shift in pairs])


def _factor(recipe: Recipe) -> float:
    return float((recipe.directions[0].shape[1] * recipe.n_quantiles) ** -0.5)


def _quantiles_back(found: list[Quantiles], recipe: Recipe, gradient: Array) -> tuple[Array, Array | None, Array]:
    """Return gradients in the points (n, s, m), in their masses (n, m) and in what all points are shifted by (s, m)."""
    m, (_, n_projections) = gradient.shape[1], recipe.directions[0].shape
    blocks = _factor(recipe) * gradient.reshape(len(found), recipe.n_quantiles, n_projections, m)
    pulled = [own.pull_back(block) for own, block in zip(found, blocks, strict=True)]
    shifts = [theta @ block.sum(axis=0) for theta, block in zip(recipe.directions, blocks, strict=True)]
    masses = [own for _, own in pulled if own is not None]
    points = np.concatenate([own for own, _ in pulled], axis=1)
    return points, np.sum(masses, axis=0) if masses else None, np.concatenate(shifts)


def _cloud(embedding: SWWLEmbedding, recipe: Recipe, source: Source) -> Linear:
    merge, group = recipe.merge_nodes, recipe.group
    if recipe.measure == "edges":
        item: Any = source.thing(merge, group)
    else:
        item = source.mesh(merge, f'measure="{recipe.measure}"', group)
    found_skin = source.skin(merge, group) if recipe.measure == "skin" else None
    cloud = cloud_of(item, recipe.measure, recipe.fields, found=found_skin)
    plain = cloud if recipe.directed else cloud.without_directions()
    scale = np.asarray(recipe.scale)
    (theta,) = recipe.directions
    found = Quantiles(
        plain.features / scale, theta, recipe.n_quantiles, recipe.quantiles, cloud.masses, continuous=True
    )

    def pull_back(gradient: Array) -> Array:
        in_points, in_masses, _ = _quantiles_back([found], recipe, gradient)
        in_points /= scale[:, None]
        if not recipe.directed:
            in_points = _without_directions_back(cloud, in_points)
        if recipe.measure == "edges":
            return source.from_graph(_edges_back(as_graph(item, fields=recipe.fields), in_points), merge, group)
        assert in_masses is not None
        if recipe.measure == "area":
            return source.from_mesh(cell_samples_back(item, in_points, in_masses), merge, group)
        d = item.dimension
        back = skin_samples_back(item, in_points[:, :d], in_masses, in_points[:, d:], found=found_skin)
        return source.from_mesh(back, merge, group)

    return Linear(_row([found], recipe, -embedding.center_[None]), pull_back)


def _edges_back(graph: Graph, in_points: Array) -> Array:
    """Return gradients in the features (n, d, k), given those in means and differences along edges, (m, 2 d, k)."""
    ends = graph.edges.T if graph.n_edges else np.arange(graph.n_nodes)[None].repeat(2, axis=0)
    (n, d), k = graph.features.shape, in_points.shape[2]
    sign = np.sign(graph.features[ends[0]] - graph.features[ends[1]])[:, :, None]
    halves, along = in_points[:, :d] / 2, sign * in_points[:, d:]
    first, second = ((halves + turn * along).reshape(-1, d * k).T for turn in (1, -1))
    rows = [np.bincount(ends[0], a, n) + np.bincount(ends[1], b, n) for a, b in zip(first, second, strict=True)]
    return np.stack(rows, axis=1).reshape(n, d, k)


def _without_directions_back(cloud: Cloud, gradient: Array) -> Array:
    """Return gradients in coordinates and normals (m, 2 d, k), given those in coordinates and products of normals."""
    d = cloud.n_features // 2
    normals = cloud.features[:, d:]
    in_normals = 2 * normals[:, :, None] * gradient[:, d : 2 * d]
    for (i, j), own in zip(combinations(range(d), 2), np.moveaxis(gradient[:, 2 * d :], 1, 0), strict=True):
        in_normals[:, i] += np.sqrt(2) * normals[:, j, None] * own
        in_normals[:, j] += np.sqrt(2) * normals[:, i, None] * own
    return np.concatenate([gradient[:, :d], in_normals], axis=1)


def _summaries(embedding: SummaryEmbedding, source: Source) -> Linear:
    merge, group = embedding.merge_nodes, embedding.group
    thing = source.thing(merge, group)
    if embedding.kind != "graph":
        thing = source.mesh(merge, "The summary of a mesh", group)
    elif isinstance(thing, Mesh):
        thing = source.graph(merge, group=group)
    found = source.skin(merge, group) if isinstance(thing, Mesh) else None
    numbers: Callable[..., Array] = part_row if embedding.kind == "part" else summaries
    back_of: Callable[..., Array] = part_row_back if embedding.kind == "part" else summaries_back
    raw = numbers(thing, found)
    row = embedding.finish([raw], fit=False)[0]
    moving = (row == (raw - embedding.mean_) / embedding.spread_) / embedding.spread_

    def pull_back(gradient: Array) -> Array:
        back = back_of(thing, moving[:, None] * gradient, found)
        bring = source.from_mesh if isinstance(thing, Mesh) else source.from_graph
        return bring(back, merge, group)

    return Linear(row, pull_back)


def _bodies(embedding: BodyEmbedding, source: Source) -> Linear:
    merge = embedding.merge_nodes
    mesh = source.mesh(merge, "A body")
    found = source.skin(merge)
    names = embedding.in_use()
    pairs = list(zip(embedding.pairs, embedding.joined_, strict=True))
    ways = np.array([resistance(mesh, *pair) if used else 0.0 for pair, used in pairs])
    row, back_of = embedding.row([body_numbers(mesh, name, found) for name in names], ways)

    def pull_back(gradient: Array) -> Array:
        each = back_of(gradient)
        total = np.sum([bodies_back(mesh, name, own, found) for name, own in zip(names, each, strict=False)], axis=0)
        for k, (pair, used) in enumerate(pairs):
            if used:
                total = total + resistance_back(mesh, *pair)[:, :, None] * each[-1][k]
        return source.from_mesh(shared_by_place(mesh, total), merge)

    return Linear(row, pull_back)
