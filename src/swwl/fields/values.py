"""Fields of meshes as (n, c) arrays at nodes, checked; fields of cells are carried to nodes by areas, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.cells import cell_dimension, cell_measures, lumped_measures
from swwl.mesh.mesh import Mesh

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FieldKind:
    """What a field is like, on all meshes alike.

    Attributes
    ----------
    name : str
    components : int
        c.
    flat : bool
        Whether arrays have shape (n,), and not (n, c).
    on_cells : bool
    """

    name: str
    components: Annotated[int, Meta(ge=1)]
    flat: bool
    on_cells: bool

    @classmethod
    def of(cls, mesh: Mesh, name: str) -> FieldKind:
        """Look at a field of the first training mesh."""
        on_cells = name not in mesh.fields and name in mesh.cell_fields
        values = (mesh.cell_fields if on_cells else mesh.fields).get(name)
        if values is None:
            raise InputError(_missing(mesh, name))
        return cls(name, 1 if values.ndim == 1 else values.shape[1], values.ndim == 1, on_cells)

    def nodal(self, mesh: Mesh) -> Array:
        """Return the field at the nodes, (n, c); NaN where it is not known.

        Raises
        ------
        InputError
            If the mesh has no such field, or one of another number of components or without any finite value.
        """
        values = (mesh.cell_fields if self.on_cells else mesh.fields).get(self.name)
        if values is None:
            raise InputError(_missing(mesh, self.name))
        found = 1 if values.ndim == 1 else values.shape[1]
        if found != self.components:
            raise InputError(f"has {found} components in field {self.name!r}, but the first mesh {self.components}.")
        if values.dtype.kind not in "fiub":
            raise InputError(f"has {values.dtype} in field {self.name!r}, but numbers are wanted.")
        array = np.array(values, dtype=float).reshape(len(values), -1)
        array[~np.isfinite(array).all(axis=1)] = np.nan
        if self.on_cells:
            array = cells_to_nodes(mesh, array)
        if np.isnan(array[:, 0]).all():
            raise InputError(f"has no finite value in field {self.name!r}.")
        return array

    def shaped(self, mesh: Mesh, values: Array) -> Array:
        """Return nodal values (..., n, c) in the shape that the mesh had them: on cells, without an axis for one."""
        if self.on_cells:
            values = nodes_to_cells(mesh, values)
        return values[..., 0] if self.flat else values


def _missing(mesh: Mesh, name: str) -> str:
    nodes, cells = ", ".join(sorted(mesh.fields)) or "none", ", ".join(sorted(mesh.cell_fields)) or "none"
    return f"has no field {name!r}; its node fields are: {nodes}; its cell fields are: {cells}."


def cells_to_nodes(mesh: Mesh, values: Array) -> Array:
    """Average values of cells (m, c) at nodes (n, c), by the cells' lengths, areas or volumes; NaN where none is known.

    Examples
    --------
    >>> line = Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})
    >>> cells_to_nodes(line, np.array([[0.0], [3.0]])).ravel().tolist()
    [0.0, 2.0, 3.0]
    """
    total, weight = np.zeros((mesh.n_nodes, values.shape[1])), np.zeros(mesh.n_nodes)
    start = 0
    for kind, block in mesh.cells.items():
        part = values[start : start + len(block)]
        start += len(block)
        if cell_dimension(kind) == 0:
            continue
        size = np.maximum(cell_measures(mesh.points, kind, block), np.finfo(float).tiny)
        size = np.where(np.isnan(part).any(axis=1), 0.0, size)
        for node in block.T:
            weight += np.bincount(node, size, mesh.n_nodes)
            for j in range(values.shape[1]):
                total[:, j] += np.bincount(node, size * np.nan_to_num(part[:, j]), mesh.n_nodes)
    return np.asarray(np.where(weight[:, None] > 0, total / np.where(weight > 0, weight, 1.0)[:, None], np.nan))


def nodes_to_cells(mesh: Mesh, values: Array) -> Array:
    """Average nodal values (..., n, c) over the nodes of every cell, (..., m, c).

    Examples
    --------
    >>> line = Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})
    >>> nodes_to_cells(line, np.array([[0.0], [2.0], [3.0]])).ravel().tolist()
    [1.0, 2.5]
    """
    return np.concatenate([values[..., block, :].mean(axis=-2) for block in mesh.cells.values()], axis=-2)


def node_weights(mesh: Mesh, kind: str, known: NDArray[np.bool_]) -> Array:
    """Return what every node weighs, (n,), sum 1: alike or by area; nodes that are not known weigh nothing."""
    weights = lumped_measures(mesh.points, mesh.cells) if kind == "area" else np.ones(mesh.n_nodes)
    if kind not in ("area", "uniform"):
        raise InputError(f"weights is {kind!r}, but 'uniform' or 'area' is wanted.")
    weights = weights * known
    total = float(weights.sum())
    if not total > 0:
        raise InputError("has no area at the nodes where the field is known; take weights='uniform'.")
    return np.asarray(weights / total)
