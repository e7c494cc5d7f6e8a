"""The same part with a finer mesh: every cell cut at the middles of its edges.

What a model makes of such a mesh tells how much of it is the part, and how much its mesh; see
``regression/influence.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.cells import top_cells
from swwl.mesh.mesh import Mesh

_Numbers = NDArray[np.intp]


class _Cut(NamedTuple):
    """Nodes of a cut cell, each the mean of some of its corners, and the cells between them by these nodes."""

    nodes: list[tuple[int, ...]]
    cells: list[list[int]]


def _cut_of_box(corners: list[tuple[int, ...]]) -> _Cut:
    """Cut a line, a quadrilateral or a hexahedron, given its corners as those of the unit box, in VTK's order."""
    d = len(corners[0])
    places = [place for place in product((0, 1, 2), repeat=d)]
    nodes = [
        tuple(k for k, corner in enumerate(corners) if all(p in (1, 2 * c) for p, c in zip(place, corner, strict=True)))
        for place in places
    ]
    cells = [
        [places.index(tuple(o + c for o, c in zip(origin, corner, strict=True))) for corner in corners]
        for origin in product((0, 1), repeat=d)
    ]
    return _Cut(nodes, cells)


_SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]
_CUTS = {
    "line": _cut_of_box([(0,), (1,)]),
    "triangle": _Cut([(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)], [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]),
    "quad": _cut_of_box(list(_SQUARE)),
    # What the four corners leave of a tetrahedron is an octahedron; four tetrahedra around its diagonal fill it.
    "tetra": _Cut(
        [(0,), (1,), (2,), (3,), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)],
        [
            [0, 4, 6, 7],
            [4, 1, 5, 8],
            [6, 5, 2, 9],
            [7, 8, 9, 3],
            [6, 8, 4, 5],
            [6, 8, 5, 9],
            [6, 8, 9, 7],
            [6, 8, 7, 4],
        ],
    ),
    "hexahedron": _cut_of_box([(*xy, z) for z in (0, 1) for xy in _SQUARE]),
}


def subdivided(mesh: Mesh) -> Mesh:
    """Cut every cell of the highest dimension at the middles of its edges: into two, four or eight.

    Parameters
    ----------
    mesh : Mesh
        Of lines, triangles, quadrilaterals, tetrahedra or hexahedra.

    Returns
    -------
    Mesh
        Of the same part. Node fields are interpolated, faces of groups are cut like cells; nodes between those of a
        group of nodes belong to it. Cells of lower dimension, groups and fields of cells are left out.

    Raises
    ------
    InputError
        Where there are other cells, or none.

    Examples
    --------
    >>> square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]})
    >>> fine = subdivided(square)
    >>> fine.n_nodes, fine.n_cells, fine.points.max(axis=0).tolist()
    (9, 4, [1.0, 1.0])
    """
    cells = top_cells(mesh.cells)
    for kind in cells:
        if kind not in _CUTS:
            raise InputError(f"Cells of type {kind!r} are not subdivided; those of type {', '.join(_CUTS)} are.")
    if not cells:
        raise InputError("The mesh has no cells to subdivide.")
    faces = {
        (name, kind): block
        for name, group in mesh.groups.items()
        if group.kind == "faces" and all(kind in _CUTS for kind in group.faces)
        for kind, block in group.faces.items()
    }
    keys, numbers = _middles([*cells.items(), *((kind, block) for (_, kind), block in faces.items())])
    given = keys >= 0
    count = given.sum(axis=1)

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.where(given.reshape(*given.shape, *[1] * (values.ndim - 1)), values[keys], 0.0).sum(axis=1)
        return np.asarray(total / count.reshape(-1, *[1] * (values.ndim - 1)))

    cut = [
        np.concatenate([own[:, nodes] for nodes in _CUTS[kind].cells]).astype(np.int32)
        for kind, own in zip([*cells, *(kind for _, kind in faces)], numbers, strict=True)
    ]
    found = dict(zip(cells, cut[: len(cells)], strict=True))
    groups: dict[str, object] = {}
    for (name, kind), own in zip(faces, cut[len(cells) :], strict=True):
        groups[name] = {**groups.get(name, {}), kind: own}  # type: ignore[dict-item]
    for name, group in mesh.groups.items():
        if group.kind == "nodes":
            inside = np.append(np.isin(np.arange(mesh.n_nodes), group.nodes), True)  # -1 stands for no corner
            groups[name] = np.flatnonzero(inside[keys].all(axis=1))
    fields = {name: mean(np.asarray(field, float)) for name, field in mesh.fields.items() if field.dtype.kind in "fiu"}
    return Mesh(mean(mesh.points), found, fields, mesh.name, groups=groups)


def _middles(cells: Sequence[tuple[str, NDArray[np.int32]]]) -> tuple[_Numbers, list[_Numbers]]:
    """Return the corners between which each node lies (n, 8), -1 for none, and the nodes of every cut cell by block."""
    keys = []
    for kind, block in cells:
        for corners in _CUTS[kind].nodes:
            key = np.full((len(block), 8), -1, np.intp)
            key[:, : len(corners)] = np.sort(block[:, corners], axis=1)[:, ::-1]
            keys.append(key)
    distinct, inverse = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    numbers, start = [], 0
    for kind, block in cells:
        size = len(block) * len(_CUTS[kind].nodes)
        numbers.append(inverse.ravel()[start : start + size].reshape(-1, len(block)).T)
        start += size
    return distinct, numbers
