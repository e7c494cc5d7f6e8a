"""What the processes of a field compare: factors on shapes of meshes, and the candidate kernels of a field regressor.

:class:`NodePositions` and :class:`WallShapes` make one vector of every mesh and take principal components of them;
:func:`field_kernels` says which kernels are compared by folds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pandas as pd
from msgspec import Meta
from numpy.typing import NDArray

from swwl.embedding.components import principal_components, project
from swwl.embedding.runner import as_items
from swwl.errors import InputError, located
from swwl.estimators import clone
from swwl.fields.geometry.walls import inner_loops, loop_features, wall_shape
from swwl.gp.blocks import Block, Coordinates
from swwl.kernels.base import CorrelationName, Factor, Product
from swwl.kernels.bodies import GroupMeasures
from swwl.kernels.elliptic import Elliptic
from swwl.mesh.io import as_mesh, prepared
from swwl.mesh.mesh import Mesh
from swwl.parallel import Progress
from swwl.regression.candidates import OF_GROUPS, default_kernels
from swwl.regression.stack import named_kernels
from swwl.storage.checks import Count, Shape
from swwl.storage.memory import MemoryLike
from swwl.storage.modelfile import storable
from swwl.tables.columns import kind_of
from swwl.tables.inputs import column

if TYPE_CHECKING:
    from swwl.fields.estimator import FieldRegressor
    from swwl.fields.training import Geometry

Array = NDArray[np.float64]

# Components of less than this part of the first one's deviation are noise.
_LEAST = 1e-7


class ShapeFactor(Factor):
    """Principal components of one vector per mesh, each of deviation one and with a range of its own.

    A subclass says what the vector is. Attributes: ``mean_`` (w,), ``components_`` (w, K), ``deviations_`` (K,).
    """

    takes = "graphs"
    gives = "coordinates"
    n_components: int
    row_shapes = (Shape("nk"),)
    mean_: Annotated[Array, Shape("w")]
    components_: Annotated[Array, Shape("wk")]
    deviations_: Annotated[Array, Shape("k", above=0)]

    def vector(self, mesh: Mesh) -> Array:
        """Return the vector of one mesh, (w,)."""
        raise TypeError(f"{type(self).__name__} must define vector.")

    def settle(self, mesh: Mesh) -> None:
        """Learn from the first training mesh what vectors of all need."""

    def fit(
        self, values: object, progress: Progress | None = None, *, memory: MemoryLike = None, **options: object
    ) -> Array:
        """Find the components of training meshes; return their coordinates, (N, K)."""
        if not isinstance(self.n_components, (int, np.integer)) or self.n_components < 1:
            raise InputError(f"n_components must be a whole number of at least 1, not {self.n_components!r}.")
        items = list(as_items(values))
        self.settle(prepared(as_mesh(items[0])))
        rows = self._rows(items, progress)
        mean, components, _ = principal_components(rows, self.n_components)
        if not components.shape[1]:  # all alike: one component, of no size
            components = np.zeros((rows.shape[1], 1))
        coordinates = project(rows, mean, components)
        deviations = coordinates.std(axis=0)
        kept = max(1, int((deviations > _LEAST * deviations.max(initial=0.0)).sum()))
        self.mean_, self.components_ = np.asarray(mean), np.ascontiguousarray(components[:, :kept])
        self.deviations_ = np.where(deviations[:kept] > 0, deviations[:kept], 1.0)
        return np.asarray(coordinates[:, :kept] / self.deviations_)

    def represent(
        self, values: object, progress: Progress | None = None, *, memory: MemoryLike = None, **options: object
    ) -> Array:
        """Return the coordinates of other meshes, (N, K)."""
        rows = self._rows(list(as_items(values)), progress)
        return np.asarray(project(rows, self.mean_, self.components_) / self.deviations_)

    def _rows(self, values: list[object], progress: Progress | None) -> Array:
        rows = []
        for number, item in enumerate(values):
            try:
                with located(f"Column {self.column!r}"):
                    mesh = prepared(as_mesh(item))
                    rows.append(self.vector(mesh))
            except InputError as error:
                raise error.of_item(number, f"mesh {number}") from None
            if progress is not None:
                progress(number + 1, len(values))
        return np.array(rows)

    def blocks(self, first: Array, second: Array | None = None) -> list[Block]:
        """Return the components as coordinates."""
        return [Coordinates(first, second)]

    def correlations(self) -> list[CorrelationName]:
        """Return a Gaussian correlation: distances are Euclidean."""
        return ["gaussian"]

    def range_names(self) -> list[str]:
        """Name the components."""
        return [f"{self.column} (component {j + 1})" for j in range(len(self.deviations_))]

    def source(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return what representations depend on."""
        params = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        return type(self).__name__, tuple(sorted(params.items()))

    def vectors(self, rows: Array) -> Array | None:
        """Return the coordinates."""
        return rows


@storable
class NodePositions(ShapeFactor):
    """Principal components of node positions: for meshes that share their cells, node by node.

    Parameters
    ----------
    column : str
        Name of a column of meshes.
    n_components : int
        How many are kept.

    Examples
    --------
    >>> rods = [Mesh([[0.0], [length]], {"line": [[0, 1]]}) for length in (1.0, 2.0, 4.0)]
    >>> NodePositions("rod").fit(rods).round(2).ravel().tolist()
    [-1.07, -0.27, 1.34]
    """

    shape_: Annotated[list[Count], Meta(min_length=2, max_length=2)]

    def __init__(self, column: str = "mesh", *, n_components: int = 12):
        self.column = column
        self.n_components = n_components

    def known_sizes(self) -> dict[str, int]:
        """Return the number of coordinates of all nodes, w."""
        return {"w": math.prod(self.shape_)}

    def settle(self, mesh: Mesh) -> None:
        """Remember the number of nodes."""
        self.shape_ = list(mesh.points.shape)

    def vector(self, mesh: Mesh) -> Array:
        """Return all coordinates of a mesh, one after the other."""
        if list(mesh.points.shape) != list(self.shape_):
            n, d = self.shape_
            raise InputError(f"has {mesh.n_nodes} nodes in {mesh.dimension} dimensions, but fit saw {n} in {d}.")
        return mesh.points.ravel()


@storable
class WallShapes(ShapeFactor):
    """Principal components of the walls of bodies in the plane, taken at equal angles of their slit maps.

    Unlike an embedding of nodes, they do not depend on how fine a mesh is.

    Parameters
    ----------
    column : str
        Name of a column of plane meshes, each with as many bodies.
    n_components : int
        How many are kept.

    Examples
    --------
    >>> turns = 2 * np.pi * np.arange(30) / 30
    >>> circle = np.column_stack([np.cos(turns), np.sin(turns)])
    >>> lines = np.column_stack([np.arange(30), np.roll(np.arange(30), -1)])
    >>> rings = [Mesh(radius * circle, {"line": lines}) for radius in (1.0, 2.0, 4.0)]
    >>> WallShapes("ring").fit(rings)[:, 0].round(2).tolist()
    [-1.07, -0.27, 1.34]
    """

    bodies_: Annotated[Array, Shape("b4")]

    def __init__(self, column: str = "mesh", *, n_components: int = 12):
        self.column = column
        self.n_components = n_components

    def settle(self, mesh: Mesh) -> None:
        """Remember where the bodies of the first mesh are, so that those of others are told apart."""
        loops = inner_loops(mesh)
        if not loops:
            raise InputError(f"{self!r} needs meshes with bodies in a plane domain, but the first has none.")
        self.bodies_ = loop_features(mesh, loops)

    def vector(self, mesh: Mesh) -> Array:
        """Return the walls of a mesh, (K * 256,)."""
        return wall_shape(mesh, self.bodies_)


def mesh_column(table: pd.DataFrame) -> str:
    """Return the column whose meshes carry the fields: the first that holds meshes.

    Examples
    --------
    >>> mesh_column(pd.DataFrame({"speed": [1.0], "mesh": ["a.vtu"]}))
    'mesh'
    """
    if not len(table):
        raise InputError("The table has no rows to learn from.")
    for name in table.columns:
        values = column(table, name)
        if kind_of(values) == "meshes" and not isinstance(values.dtype, pd.CategoricalDtype):
            return str(name)
    raise InputError("The table has no column of meshes, which hold the fields.")


def field_kernels(table: pd.DataFrame, mesh: str, model: FieldRegressor, geometry: Geometry) -> dict[str, Product]:
    """Return the candidate kernels of a field regressor, by name.

    Parameters
    ----------
    table : DataFrame
        Training inputs.
    mesh : str
        The column of meshes.
    model : FieldRegressor
    geometry : Geometry
        What the meshes have in common.
    """
    if model.kernel is not None:
        return named_kernels(model.kernel)
    defaults = partial(default_kernels, random_state=model.random_state, n_jobs=model.n_jobs)
    rest = table.drop(columns=mesh)
    others = next(iter(defaults(rest).values())).factors if rest.shape[1] else []

    def with_others(shapes: ShapeFactor, title: str) -> dict[str, Product]:
        pairs = ((title, "matern52"), (f"{title}, smooth", "gaussian"))
        return {name: Elliptic(clone(shapes), *map(clone, others), correlation=kind) for name, kind in pairs}

    if geometry.common:
        return with_others(NodePositions(mesh), "positions")
    walls = with_others(WallShapes(mesh), "walls") if geometry.describer.bodies is not None else {}
    found = defaults(table, few_rows=False)
    plain = [name for name in found if name not in OF_GROUPS]
    if len(found) > len(plain):  # groups or bodies tell meshes apart: of the others the richest one is enough
        found = {name: kernel for name, kernel in found.items() if name not in plain[:-1]}
    if not geometry.describer.around:  # descriptors are compared on the first kernel
        found = dict(sorted(found.items(), key=lambda one: one[0] != "named groups"))
    return walls | found


def missing_groups(names: Sequence[str], kernels: Iterable[Product], mesh: str, n_jobs: int | None) -> list[Product]:
    """Return a kernel to fit on groups that tell the nodes of meshes, so that new meshes are compared in them.

    None where one of the given kernels compares all of them already.
    """
    factors = [factor for kernel in kernels for factor in kernel.factors if isinstance(factor, GroupMeasures)]
    wanted = dict.fromkeys(names)
    if not wanted or any(wanted.keys() <= set(factor.groups) for factor in factors):
        return []
    return [Product(GroupMeasures(mesh, groups=list(wanted), n_jobs=n_jobs))]
