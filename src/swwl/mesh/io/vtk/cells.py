"""VTK's cells: numbers of types to meshio's names, and lists of mixed cells to one array per type.

What the readers of VTU, VTP, legacy VTK and pyvista's objects have in common, and the writer of VTU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray

# Types of a fixed number of nodes: meshio's name, nodes.
_FIXED: dict[int, tuple[str, int]] = {
    1: ("vertex", 1),
    3: ("line", 2),
    5: ("triangle", 3),
    8: ("quad", 4),  # pixel
    9: ("quad", 4),
    10: ("tetra", 4),
    11: ("hexahedron", 8),  # voxel
    12: ("hexahedron", 8),
    13: ("wedge", 6),
    14: ("pyramid", 5),
    21: ("line3", 3),
    22: ("triangle6", 6),
    23: ("quad8", 8),
    24: ("tetra10", 10),
    25: ("hexahedron20", 20),
    26: ("wedge15", 15),
    27: ("pyramid13", 13),
    28: ("quad9", 9),
    29: ("hexahedron27", 27),
    30: ("quad6", 6),
    31: ("wedge12", 12),
    32: ("wedge18", 18),
    33: ("hexahedron24", 24),
    34: ("triangle7", 7),
    35: ("line4", 4),
}
# Lagrange and Bezier cells of the first and second order are those above, told apart by their number of nodes.
_LAGRANGE: dict[int, dict[int, str]] = {
    68: {2: "line", 3: "line3"},
    69: {3: "triangle", 6: "triangle6"},
    70: {4: "quad", 9: "quad9"},
    71: {4: "tetra", 10: "tetra10"},
    72: {8: "hexahedron", 27: "hexahedron27"},
    73: {6: "wedge", 18: "wedge18"},
    74: {5: "pyramid"},
}
_LAGRANGE |= {number + 7: kinds for number, kinds in _LAGRANGE.items()}  # Bezier: 75 to 81
# VTK lists the nodes of pixels (8) and voxels (11), the cells of image grids, row by row and not around.
_RING_ORDER = {8: [0, 1, 3, 2], 11: [0, 1, 3, 2, 4, 5, 7, 6]}
_EMPTY, _POLY_VERTEX, _POLY_LINE, _STRIP, _POLYGON = 0, 2, 4, 6, 7
# Types of the cells of a surface by their number of nodes, and of those with any other number.
_SURFACE = {"Verts": {1: 1}, "Lines": {2: 3}, "Polys": {3: 5, 4: 9}, "Strips": {0: 0}}
_ANY = {"Verts": _POLY_VERTEX, "Lines": _POLY_LINE, "Polys": _POLYGON, "Strips": _STRIP}
_REFUSED = {
    36: "quadratic polygons",
    37: "pyramids of 19 nodes",
    41: "convex point sets",
    42: "polyhedra",
    15: "pentagonal prisms",
    16: "hexagonal prisms",
}
# VTK's order of nodes in terms of that of CGNS and Exodus, who list the middles of upright edges before the upper ones.
UPRIGHT_FIRST = {
    "wedge15": [*range(9), 12, 13, 14, 9, 10, 11],
    "wedge18": [*range(9), 12, 13, 14, 9, 10, 11, 15, 16, 17],
    "hexahedron20": [*range(12), *range(16, 20), *range(12, 16)],
}
# The number that the writer gives to a type.
NUMBERS = {name: number for number, (name, _) in reversed(_FIXED.items()) if number not in _RING_ORDER}


class SortedCells(NamedTuple):
    """Cells by types, ``blocks``, and for every one of them which cell of the file it is (part of), ``source``."""

    blocks: list[tuple[str, AnyArray]]
    source: NDArray[np.intp] | None

    def of_cells(self, field: AnyArray) -> AnyArray:
        """Return a field with one row per cell of the file as one with a row per cell of ``blocks``."""
        return field if self.source is None else field[self.source]


def sort_cells(
    types: AnyArray, offsets: AnyArray, connectivity: AnyArray, *, old_hexahedra: bool = False
) -> SortedCells:
    """Sort cells of VTK's types into one array for each type and number of nodes.

    Parameters
    ----------
    types : ndarray of shape (m,)
        VTK's numbers.
    offsets : ndarray of shape (m,)
        Where each cell's nodes end in ``connectivity``.
    connectivity : ndarray of shape (k,)
        Node numbers.
    old_hexahedra : bool
        Lagrange hexahedra are numbered as VTK did before version 9.

    Returns
    -------
    SortedCells
        In the order in which types first occur. Strips, polylines and polyvertices are cut into triangles, lines and
        vertices.

    Examples
    --------
    >>> found = sort_cells(np.array([5, 6]), np.array([3, 7]), np.array([0, 1, 2, 2, 3, 4, 5]))
    >>> [(kind, block.tolist()) for kind, block in found.blocks], found.source.tolist()
    ([('triangle', [[0, 1, 2]]), ('triangle', [[2, 3, 4], [3, 5, 4]])], [0, 1, 1])
    """
    if len(types) != len(offsets):
        raise InputError(f"it has types of {len(types)} cells, but offsets of {len(offsets)}")
    if not len(types):
        return SortedCells([], None)
    if offsets[-1] != len(connectivity):
        raise InputError(f"its cells end at entry {offsets[-1]} of their connectivity, which has {len(connectivity)}")
    first = int(types[0])
    size = size_of(first)
    if size and (types == first).all() and offsets[0] == size and (offsets[1:] - offsets[:-1] == size).all():
        return one_type(first, connectivity)
    ends = offsets.astype(np.int64)
    sizes = np.diff(ends, prepend=0)
    if sizes.min() < 0:
        raise InputError("the offsets of its cells do not increase")
    if types.min() < 0 or types.max() > 255:
        raise InputError("it has cells of types that VTK does not have")
    # One number for type and size; no size exceeds that of connectivity, which fits into memory.
    keys = (types.astype(np.int64) << 48) | sizes
    blocks: list[tuple[str, AnyArray]] = []
    sources: list[NDArray[np.intp]] = []
    for key, cells in _groups(keys):
        number, size = key >> 48, key & (2**48 - 1)
        block = _block(number, connectivity[(ends[cells] - size)[:, None] + np.arange(size)], old_hexahedra)
        if block is not None:
            blocks.append(block)
            sources.append(np.repeat(cells, len(block[1]) // len(cells)))
    return SortedCells(blocks, np.concatenate(sources) if sources else np.empty(0, np.intp))


def size_of(number: int) -> int:
    """Return how many nodes cells of a VTK type have, or zero if not all have equally many."""
    return _FIXED[number][1] if number in _FIXED else 0


def one_type(number: int, connectivity: AnyArray) -> SortedCells:
    """Return cells that are all of a type of :func:`size_of`, one after another in ``connectivity``."""
    if number not in _FIXED:
        raise _refused(number)
    kind, size = _FIXED[number]
    return SortedCells([(kind, _ordered(number, connectivity.reshape(-1, size)))], None)


def _groups(keys: NDArray[np.int64]) -> list[tuple[int, NDArray[np.intp]]]:
    """Return the distinct keys in the order in which they first occur, each with the places where it does."""
    distinct, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    places = np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1])
    return [(int(distinct[k]), places[k]) for k in np.argsort(first)]


def _ordered(number: int, nodes: AnyArray) -> AnyArray:
    return nodes[:, _RING_ORDER[number]] if number in _RING_ORDER else nodes


def _block(number: int, nodes: AnyArray, old_hexahedra: bool) -> tuple[str, AnyArray] | None:
    """Name the cells of one type and size, (m, size), and cut those that stand for several."""
    size = nodes.shape[1]
    if number in _FIXED:
        kind, wanted = _FIXED[number]
        if size != wanted:
            raise InputError(f"one of its cells of VTK type {number} ({kind}) has {size} nodes instead of {wanted}")
        return kind, _ordered(number, nodes)
    if number == _POLYGON:
        return "polygon", nodes
    if number in _CUT:
        kind, windows = _CUT[number]
        parts = windows(size)
        # (m, parts, nodes): the parts of a cell stay beside each other
        return (kind, nodes[:, parts].reshape(-1, parts.shape[1])) if len(parts) else None
    if number == _EMPTY:
        return None
    if number in _LAGRANGE:
        known = _LAGRANGE[number]
        if size in known:
            swapped = old_hexahedra and known[size] == "hexahedron27"
            return known[size], nodes[:, [*range(18), 19, 18, *range(20, 27)]] if swapped else nodes
        name = known[min(known)]
        raise InputError(
            f"it has Lagrange cells ({name}) of {size} nodes; only the first and second order are supported"
        )
    raise _refused(number)


def _refused(number: int) -> InputError:
    return InputError(f"it has {_REFUSED.get(number, 'cells')} (VTK type {number}), which are not supported")


def _vertices(size: int) -> NDArray[np.intp]:
    return np.arange(size)[:, None]


def _lines(size: int) -> NDArray[np.intp]:
    return np.arange(size - 1)[:, None] + np.arange(2)


def _triangles(size: int) -> NDArray[np.intp]:
    # Every second triangle of a strip looks the other way.
    return np.array([(k, k + 1 + k % 2, k + 2 - k % 2) for k in range(size - 2)], np.intp).reshape(-1, 3)


_CUT: dict[int, tuple[str, Callable[[int], NDArray[np.intp]]]] = {
    _POLY_VERTEX: ("vertex", _vertices),
    _POLY_LINE: ("line", _lines),
    _STRIP: ("triangle", _triangles),
}


def surface_cells(lists: Mapping[str, tuple[AnyArray, AnyArray]]) -> SortedCells:
    """Sort the cells of a PolyData, given as lists "Verts", "Lines", "Polys" and "Strips" of (ends, nodes).

    ``source`` counts them in the order in which their data are given: first the vertices and last the strips, whatever
    the order of the lists themselves.

    Examples
    --------
    >>> ends, nodes = np.array([3, 7, 12]), np.array([0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4])
    >>> [(kind, block.shape) for kind, block in surface_cells({"Polys": (ends, nodes)}).blocks]
    [('triangle', (1, 3)), ('quad', (1, 4)), ('polygon', (1, 5))]
    """
    types, offsets, connectivity = [np.empty(0, np.uint8)], [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    start = 0
    for kind, numbers in _SURFACE.items():
        if kind in lists:
            ends, nodes = lists[kind]
            ends = ends.astype(np.int64)
            sizes = np.diff(ends, prepend=0)
            types.append(
                np.select([sizes == size for size in numbers], [*numbers.values()], _ANY[kind]).astype(np.uint8)
            )
            offsets.append(ends + start)
            connectivity.append(nodes)
            start += len(nodes)
    return sort_cells(np.concatenate(types), np.concatenate(offsets), np.concatenate(connectivity))


def grid_cells(shape: Sequence[int]) -> list[tuple[str, NDArray[np.int64]]]:
    """Return the cells of a structured grid whose nodes are numbered with the first index running fastest.

    Parameters
    ----------
    shape : sequence of 1 to 3 ints
        Numbers of nodes in each direction; directions of a single node do not count.

    Returns
    -------
    list of one (type, cells)
        Lines, quadrilaterals or hexahedra.

    Examples
    --------
    >>> grid_cells((3, 2))[0][1].tolist()
    [[0, 1, 4, 3], [1, 2, 5, 4]]
    """
    counts = [int(count) for count in shape if count != 1]
    numbers = np.arange(np.prod(counts, dtype=np.int64)).reshape(counts, order="F")
    corners: list[tuple[int, ...]] = [(0,), (1,)]
    if len(counts) >= 2:
        corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
    if len(counts) == 3:
        corners = [(*corner, k) for k in (0, 1) for corner in corners]
    cells = [
        numbers[tuple(slice(c, count - 1 + c) for c, count in zip(corner, counts, strict=True))].ravel(order="F")
        for corner in corners
    ]
    kinds = {1: "line", 2: "quad", 3: "hexahedron"}
    return [(kinds[len(counts)], np.column_stack(cells))] if counts else [("vertex", numbers.reshape(1, 1))]
