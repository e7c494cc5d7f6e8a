"""The cells of a mesh that is given by its faces, each with the cell on either side, as finite-volume programs do.

Kernels and VTK take the nodes of every cell, in order: :func:`plane_cells` and :func:`solid_cells`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray

Ints = NDArray[np.int64]


def plane_cells(edges: Ints, left: Ints, right: Ints, n_cells: int) -> tuple[list[tuple[str, Ints]], Ints]:
    """Return the cells of a plane mesh.

    Parameters
    ----------
    edges : ndarray of shape (m, 2)
        Nodes.
    left, right : ndarrays of shape (m,)
        The cell that an edge goes around in its direction, and the one that it goes around in the other; -1 for none.
    n_cells : int

    Returns
    -------
    blocks : list of (type, ndarray of shape (k, corners))
    source : ndarray of shape (n_cells,)
        Which cell each one is.

    Examples
    --------
    >>> edges = np.array([[0, 1], [1, 2], [2, 0]])
    >>> plane_cells(edges, np.zeros(3, int), np.full(3, -1), 1)[0][0][1].tolist()
    [[0, 1, 2]]
    """
    owner = np.concatenate([left, right])
    both = np.concatenate([edges, edges[:, ::-1]])[owner >= 0]
    owner = owner[owner >= 0]
    # One number for a cell and the node where one of its edges begins, to find the edge by.
    scale = int(both.max(initial=0)) + 1
    keys = owner * scale + both[:, 0]
    order = np.argsort(keys)
    keys, ends = keys[order], both[order, 1]
    if (keys[1:] == keys[:-1]).any():
        raise InputError("the edges around one of its cells do not go around in one direction")
    sizes = np.bincount(owner, minlength=n_cells)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    blocks, sources = [], []
    for size in np.unique(sizes):
        cells = np.flatnonzero(sizes == size)
        if size < 3:
            raise InputError(f"its cell {cells[0] + 1} has {size} edges; at least three are needed")
        ring = [keys[starts[cells]] % scale]
        for _ in range(int(size)):
            wanted = cells * scale + ring[-1]
            places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            if (keys[places] != wanted).any():
                raise InputError("the edges around one of its cells do not meet")
            ring.append(ends[places])
        if (ring.pop() != ring[0]).any():
            raise InputError("the edges around one of its cells do not close")
        blocks.append(({3: "triangle", 4: "quad"}.get(int(size), "polygon"), np.column_stack(ring)))
        sources.append(cells)
    return blocks, np.concatenate(sources) if sources else np.empty(0, np.int64)


class Solids(NamedTuple):
    """What :func:`solid_cells` finds: ``blocks`` of (type, nodes), and the ``source`` of each cell in them, (k,).

    Polyhedra are cut from their centers: ``split`` names the cells (c,) whose centers are the nodes that follow those
    of the mesh, ``around`` the nodes of their faces, with ``owner`` (r,) the place in ``split``.
    """

    blocks: list[tuple[str, Ints]]
    source: Ints
    split: Ints
    around: Ints
    owner: Ints

    def with_centers(self, values: AnyArray) -> AnyArray:
        """Append the means over the nodes of the cells that were split to points or to a field, (n,) or (n, c)."""
        if not len(self.split):
            return values
        counts = np.bincount(self.owner, minlength=len(self.split))
        columns = values.reshape(len(values), -1).astype(np.float64)
        means = [np.bincount(self.owner, column[self.around], len(self.split)) / counts for column in columns.T]
        return np.concatenate([values, np.column_stack(means).reshape(-1, *values.shape[1:])])


def solid_cells(points: AnyArray, faces: Sequence[tuple[Ints, Ints]], n_cells: int) -> Solids:
    """Return the cells that faces enclose: tetrahedra, pyramids, wedges and hexahedra, and parts of other polyhedra.

    A cell of any other shape gets a node at its center, the mean of its nodes. From there it is cut into a
    tetrahedron over each triangle, a pyramid over each quadrilateral, and tetrahedra over larger faces, which are cut
    from their node of the lowest number: cells on both sides of a face always share it.

    Parameters
    ----------
    points : ndarray of shape (n, 3)
        For the direction in which cells are numbered.
    faces : sequence of (nodes, cells)
        Arrays of shapes (m, corners) and (m, 2) for the cells on both sides, -1 for none.
    n_cells : int

    Examples
    --------
    >>> corner = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> sides = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> solid_cells(corner, [(sides, np.array([[0, -1]] * 4))], 1).blocks[0][1].tolist()
    [[0, 1, 2, 3]]
    """
    sides = {3: _sides(faces, 3, n_cells), 4: _sides(faces, 4, n_cells)}
    others = [cells[cells >= 0] for nodes, cells in faces if nodes.shape[1] not in sides]
    larger = np.bincount(np.concatenate([np.empty(0, np.int64), *others]), minlength=n_cells)
    counts = np.stack([sides[3][0], sides[4][0], larger], axis=1)
    odd = np.ones(n_cells, bool)
    found: list[tuple[str, Ints, Ints]] = []
    for key, kind in _SOLIDS.items():
        cells = np.flatnonzero((counts == (*key, 0)).all(axis=1))
        if len(cells):
            triangles, quads = (_of_cells(sides[width], cells, count) for width, count in zip((3, 4), key, strict=True))
            nodes, closed = _nodes(triangles, quads)
            odd[cells[closed]] = False
            found.append((kind, nodes[closed], cells[closed]))
    split = np.flatnonzero(odd)
    parts = _parts(faces, split, n_cells, len(points))
    pairs = [np.stack([np.repeat(owner, nodes.shape[1] - 1), nodes[:, :-1].ravel()]) for _, nodes, owner in parts]
    owner, around = np.unique(np.concatenate([np.empty((2, 0), np.int64), *pairs], axis=1), axis=1)
    found += [(kind, nodes, split[owner]) for kind, nodes, owner in parts]
    solids = Solids([], np.concatenate([np.empty(0, np.int64), *(part[2] for part in found)]), split, around, owner)
    extended = solids.with_centers(points)
    solids.blocks.extend((kind, _upright(extended, kind, nodes)) for kind, nodes, _ in found if len(nodes))
    return solids


_SOLIDS = {(4, 0): "tetra", (4, 1): "pyramid", (2, 3): "wedge", (0, 6): "hexahedron"}
_BASE = {"tetra": 3, "pyramid": 4, "wedge": 3, "hexahedron": 4}
# The same cell with its base, and its top if it has one, gone around the other way.
_MIRRORED = {
    "tetra": [0, 2, 1, 3],
    "pyramid": [0, 3, 2, 1, 4],
    "wedge": [0, 2, 1, 3, 5, 4],
    "hexahedron": [0, 3, 2, 1, 4, 7, 6, 5],
}


def _upright(points: AnyArray, kind: str, cells: Ints) -> Ints:
    """Turn cells so that their base, gone around, looks to the rest of the cell."""
    base = points[cells[:, : _BASE[kind]]]
    up = points[cells[:, _BASE[kind] :]].mean(axis=1) - base.mean(axis=1)
    around = np.cross(base[:, 1:-1] - base[:, :1], base[:, 2:] - base[:, :1]).sum(axis=1)
    down = np.einsum("ij,ij->i", up, around) < 0
    return np.where(down[:, None], cells[:, _MIRRORED[kind]], cells)


def _parts(faces: Sequence[tuple[Ints, Ints]], split: Ints, n_cells: int, first: int) -> list[tuple[str, Ints, Ints]]:
    """Cut cells from their centers, the nodes from ``first`` on: types, nodes, and which cell of ``split`` it was."""
    place = np.full(n_cells + 1, -1, np.int64)  # the last stands for "no cell"
    place[split] = np.arange(len(split))
    parts, edges = [], [np.empty((0, 3), np.int64)]
    for nodes, cells in faces if len(split) else ():
        owner = place[cells.T.ravel()]
        chosen = np.flatnonzero(owner >= 0)
        corners, owner = nodes[chosen % len(nodes)], owner[chosen]
        ends = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
        edges.append(np.column_stack([np.repeat(owner, corners.shape[1]), ends]))
        if corners.shape[1] > 4:
            owner, corners = np.repeat(owner, corners.shape[1] - 2), fan(corners)
        parts.append(
            ("tetra" if corners.shape[1] == 3 else "pyramid", np.column_stack([corners, first + owner]), owner)
        )
    _, counts = np.unique(np.concatenate(edges), axis=0, return_counts=True)
    complete = np.isin(np.arange(len(split)), np.concatenate(edges)[:, 0]).all()
    if not complete or (counts != 2).any():
        raise InputError("the faces of one of its cells do not enclose it")
    return parts


def fan(corners: Ints) -> Ints:
    """Cut faces (m, corners) into triangles from their node of the lowest number: (m * (corners - 2), 3).

    Examples
    --------
    >>> fan(np.array([[7, 3, 4, 9, 8]])).tolist()
    [[3, 4, 9], [3, 9, 8], [3, 8, 7]]
    """
    size = corners.shape[1]
    turn = (corners.argmin(axis=1)[:, None] + np.arange(size)) % size
    turned = np.take_along_axis(corners, turn, axis=1)
    return turned[:, [[0, k, k + 1] for k in range(1, size - 1)]].reshape(-1, 3)


def _sides(faces: Sequence[tuple[Ints, Ints]], width: int, n_cells: int) -> tuple[Ints, Ints, Ints]:
    """Sort faces of one width by cells: how many each has, where they begin, and their nodes."""
    empty = (np.empty((0, width), np.int64), np.empty((0, 2), np.int64))
    chosen = [empty, *(pair for pair in faces if pair[0].shape[1] == width)]
    nodes, cells = (np.concatenate(part) for part in zip(*chosen, strict=True))
    owner = np.concatenate([cells[:, 0], cells[:, 1]])
    inside = np.flatnonzero(owner >= 0)
    inside = inside[np.argsort(owner[inside], kind="stable")]
    counts = np.bincount(owner[inside], minlength=n_cells)
    return counts, np.concatenate([[0], np.cumsum(counts)]), nodes[inside % max(1, len(nodes))]


def _of_cells(sides: tuple[Ints, Ints, Ints], cells: Ints, count: int) -> Ints:
    """Return the faces of cells that have equally many: (cells, count, width)."""
    _, starts, nodes = sides
    return nodes[starts[cells][:, None] + np.arange(count)]


def _nodes(triangles: Ints, quads: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the nodes of cells of one kind, from their faces (m, faces, width), and whether they are of that kind."""
    if quads.shape[1] <= 1:  # a base and a top
        base = quads[:, 0] if quads.shape[1] else triangles[:, 0]
        others = triangles.reshape(len(triangles), -1)
        apart = ~(others[:, :, None] == base[:, None, :]).any(axis=2)
        nodes = np.column_stack([base, others[np.arange(len(others)), apart.argmax(axis=1)]])
        return nodes, apart.any(axis=1) & _are(nodes, others)
    base = triangles[:, 0] if triangles.shape[1] else quads[:, 0]
    # Over every node of the base stands the one that an edge joins it to, outside of the base.
    pairs: Any = np.stack([quads, np.roll(quads, -1, axis=2)], axis=-1).reshape(len(quads), -1, 2)
    pairs = np.concatenate([pairs, pairs[:, :, ::-1]], axis=1)
    leaves = ~(pairs[:, :, 1, None] == base[:, None, :]).any(axis=2)
    closed = np.ones(len(base), bool)
    tops = []
    for corner in base.T:
        upright = leaves & (pairs[:, :, 0] == corner[:, None])
        closed &= upright.any(axis=1)
        tops.append(pairs[np.arange(len(pairs)), upright.argmax(axis=1), 1])
    nodes = np.column_stack([base, *tops])
    return nodes, closed & _are(nodes, quads.reshape(len(quads), -1))


def _are(nodes: Ints, of_faces: Ints) -> NDArray[np.bool_]:
    """Whether the nodes of cells are different ones, and those of their faces."""
    ordered = np.sort(nodes, axis=1)
    different = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
    return different & (of_faces[:, :, None] == nodes[:, None, :]).any(axis=2).all(axis=1)
