"""One mesh or graph that several embeddings are made of: what they ask of it is found once.

For ``linear.py``, which differentiates rows in the nodes of what was given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import first_at_place
from swwl.mesh.cells import used_nodes
from swwl.mesh.graph import Graph
from swwl.mesh.io import as_graph, as_mesh
from swwl.mesh.mesh import Mesh
from swwl.mesh.skin import Skin, skin

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

    Examples
    --------
    >>> source = Source(Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]))
    >>> source.skin(False) is source.skin(False), source.graph(False).n_edges
    (True, 3)
    """

    def __init__(self, given: Mesh | Graph):
        self.given = given
        self._known: dict[Any, Any] = {}

    def thing(self, merge: bool) -> Mesh | Graph:
        """Return what was given, with nodes at one place made one where that is wanted."""
        given = self.given
        return given if isinstance(given, Graph) or not merge else self._once("merged", given.merged)

    def mesh(self, merge: bool, what: str) -> Mesh:
        """Return the mesh, or say that there is none and what needs it."""
        mesh = self.thing(merge)
        if isinstance(mesh, Graph):
            raise InputError(
                f"{what} needs the cells of a mesh, which a Graph does not have: give the Mesh or its file."
            )
        return mesh

    def graph(self, merge: bool, weights: str | None = None, fields: tuple[str, ...] = ()) -> Graph:
        """Return the graph of the mesh, see :meth:`swwl.Mesh.graph`, or the graph that was given."""
        thing = self.thing(merge)
        if isinstance(thing, Graph):
            return thing
        return self._once(("graph", merge, weights, fields), lambda: thing.graph(weights, fields))

    def skin(self, merge: bool) -> Skin | None:
        """Return the skin of the mesh; None where there is none."""
        mesh = self.thing(merge)
        return None if isinstance(mesh, Graph) else self._once(("skin", merge), lambda: _skin_or_none(mesh))

    def from_graph(self, gradient: Array, merge: bool) -> Array:
        """Bring gradients (k, d, m) in the features of the graph to all nodes of what was given."""
        mesh = self.thing(merge)
        if isinstance(mesh, Graph):
            return gradient
        gradient = gradient[:, : mesh.dimension]
        used = used_nodes(mesh.cells, mesh.n_nodes)
        if not used.all():
            whole = np.zeros((mesh.n_nodes, *gradient.shape[1:]))
            whole[used] = gradient
            gradient = whole
        return self.from_mesh(gradient, merge)

    def from_mesh(self, gradient: Array, merge: bool) -> Array:
        """Bring gradients in the nodes of the merged mesh to those that became one, in equal shares."""
        given = self.given
        if isinstance(given, Graph) or not merge or len(gradient) == given.n_nodes:
            return gradient
        number = np.unique(first_at_place(given.points), return_inverse=True)[1]
        return gradient[number] / np.bincount(number)[number][:, None, None]

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
