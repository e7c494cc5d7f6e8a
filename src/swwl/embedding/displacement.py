"""Displacement modes: how meshes of one topology differ, as a few motions of their nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.embedding.components import principal_components, project
from swwl.errors import InputError
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Modes:
    """The mean of meshes of one topology, and the motions of its nodes in which they differ.

    Attributes
    ----------
    mean : ndarray of shape (n, d)
    displacements : ndarray of shape (k, n, d)
        Each as far as one standard deviation of the meshes goes along it, the widest first.
    coordinates : ndarray of shape (N, k)
        Of the meshes, in such deviations.
    """

    mean: Array
    displacements: Array
    coordinates: Array

    @property
    def names(self) -> list[str]:
        """What to call the modes: "mode 1", "mode 2", …."""
        return [f"mode {k + 1}" for k in range(len(self.displacements))]

    def locate(self, points: ArrayLike) -> Array:
        """Return the coordinates (k,) of a mesh's points (n, d), in standard deviations."""
        away = np.asarray(points, dtype=np.float64) - self.mean
        flat = self.displacements.reshape(len(self.displacements), -1)
        return flat @ away.ravel() / np.einsum("kj,kj->k", flat, flat)

    def move(self, coordinates: ArrayLike) -> Array:
        """Return the displacement (n, d) with these coordinates (k,)."""
        return np.tensordot(np.asarray(coordinates, dtype=np.float64), self.displacements, axes=1)


def displacement_modes(meshes: Iterable[Any], n_modes: int = 12) -> Modes:
    """Find the motions of the nodes in which meshes of one topology differ: principal components of their points.

    Parameters
    ----------
    meshes : iterable of N meshes, or of anything :func:`swwl.as_mesh` takes
        With the same cells.
    n_modes : int
        At most; fewer where the meshes do not differ in as many ways.

    Examples
    --------
    >>> rods = [Mesh([[0.0], [length]], [[0, 1]]) for length in (1.0, 2.0, 3.0)]
    >>> modes = displacement_modes(rods)
    >>> modes.mean.ravel().tolist(), np.abs(modes.displacements).round(4).ravel().tolist()
    ([0.0, 2.0], [0.0, 0.8165])
    >>> modes.locate([[0.0], [2.8165]]).round(4).tolist()
    [1.0]
    """
    first, rows = None, []
    for number, item in enumerate(meshes):
        mesh = as_mesh(item)
        first = mesh if first is None else first
        if not same_cells(mesh, first):
            raise InputError(
                f"Mesh {number}{f' ({mesh.name})' if mesh.name else ''} has other cells than the first one; "
                f"displacement modes need meshes of one topology."
            )
        rows.append(mesh.points.ravel())
    if first is None or len(rows) < 2:
        raise InputError(f"Displacement modes need at least two meshes, not {len(rows)}.")
    table = np.array(rows)
    mean, components, _ = principal_components(table, n_modes)
    if not components.shape[1]:
        raise InputError("The meshes are all the same, so there are no displacement modes.")
    coordinates = project(table, mean, components)
    spread = coordinates.std(axis=0)
    displacements = (components * spread).T.reshape(-1, *first.points.shape)
    return Modes(mean.reshape(first.points.shape), displacements, coordinates / spread)


def same_cells(mesh: Mesh, other: Mesh) -> bool:
    """Whether two meshes have as many nodes, and the same cells."""
    return (
        mesh.points.shape == other.points.shape
        and list(mesh.cells) == list(other.cells)
        and all(np.array_equal(block, other.cells[kind]) for kind, block in mesh.cells.items())
    )
