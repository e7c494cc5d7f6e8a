"""Finite-element cells: which nodes of a cell are joined, how large the cell is, where it looks.

Plain functions of arrays under :class:`swwl.Mesh` and :class:`swwl.Graph`; cell types carry meshio's names and VTK's
node order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError, InputTypeError
from swwl.mesh.arrays import AnyArray, own, refuse_masked, release

Cells: TypeAlias = Mapping[str, NDArray[np.int32]]
CellsLike: TypeAlias = ArrayLike | Mapping[str, ArrayLike] | Sequence[tuple[str, ArrayLike]]

_RING = {3: ((0, 1), (1, 2), (2, 0)), 4: ((0, 1), (1, 2), (2, 3), (3, 0))}

# Edges of the linear cells, in the order in which VTK numbers the midside nodes of their quadratic relatives.
_LINEAR = {
    "line": ((0, 1),),
    "triangle": _RING[3],
    "quad": _RING[4],
    "tetra": (*_RING[3], (0, 3), (1, 3), (2, 3)),
    "pyramid": (*_RING[4], (0, 4), (1, 4), (2, 4), (3, 4)),
    "wedge": (*_RING[3], (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
    "hexahedron": (*_RING[4], (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)),
}
_CORNERS = {"line": 2, "triangle": 3, "quad": 4, "tetra": 4, "pyramid": 5, "wedge": 6, "hexahedron": 8}
_DIMENSION = {"line": 1, "triangle": 2, "quad": 2, "tetra": 3, "pyramid": 3, "wedge": 3, "hexahedron": 3}
_QUADRATIC = {
    "line3": "line",
    "triangle6": "triangle",
    "quad8": "quad",
    "tetra10": "tetra",
    "pyramid13": "pyramid",
    "wedge15": "wedge",
    "hexahedron20": "hexahedron",
}
# Tetrahedra that fill the other solids: exact where faces are plane.
TETRAHEDRA = {
    "tetra": ((0, 1, 2, 3),),
    "pyramid": ((0, 1, 2, 4), (0, 2, 3, 4)),
    "wedge": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5)),
    "hexahedron": ((0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)),
}
# Faces of the solids by their corners: those of one cell look all outward or, where it is numbered the other way, all
# inward.
_SOLID_FACES: dict[str, tuple[tuple[int, ...], ...]] = {
    "tetra": ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)),
    "pyramid": ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
    "wedge": ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    "hexahedron": ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
}


def _split(kind: str) -> tuple[tuple[int, int], ...]:
    """Edges of a quadratic cell: every edge of the linear one, cut at its midside node."""
    corners = _CORNERS[kind]
    halves = [((a, corners + k), (corners + k, b)) for k, (a, b) in enumerate(_LINEAR[kind])]
    return tuple(edge for pair in halves for edge in pair)


def _spokes(*centers: tuple[int, tuple[int, ...]]) -> tuple[tuple[int, int], ...]:
    """Edges from nodes inside a face or a cell to the midside (or midface) nodes around them."""
    return tuple((node, center) for center, around in centers for node in around)


_FACES = (
    (20, (11, 19, 15, 16)),
    (21, (9, 18, 13, 17)),
    (22, (8, 17, 12, 16)),
    (23, (10, 18, 14, 19)),
    (24, (8, 9, 10, 11)),
    (25, (12, 13, 14, 15)),
)
# Cells with nodes inside faces, or with midside nodes on some edges alone: their edges and linear relatives.
_OTHERS: dict[str, tuple[str, tuple[tuple[int, int], ...]]] = {
    "line4": ("line", ((0, 2), (2, 3), (3, 1))),
    "triangle7": ("triangle", (*_split("triangle"), *_spokes((6, (3, 4, 5))))),
    "quad6": ("quad", ((0, 4), (4, 1), (1, 2), (2, 5), (5, 3), (3, 0))),
    "quad9": ("quad", (*_split("quad"), *_spokes((8, (4, 5, 6, 7))))),
    "pyramid14": ("pyramid", (*_split("pyramid"), *_spokes((13, (5, 6, 7, 8))))),
    "wedge12": ("wedge", (*_split("wedge")[:12], (0, 3), (1, 4), (2, 5))),
    "wedge18": (
        "wedge",
        (*_split("wedge"), *_spokes((15, (6, 13, 9, 12)), (16, (7, 14, 10, 13)), (17, (8, 12, 11, 14)))),
    ),
    "hexahedron24": ("hexahedron", (*_split("hexahedron"), *_spokes(*_FACES[:4]))),
    "hexahedron27": ("hexahedron", (*_split("hexahedron"), *_spokes(*_FACES, (26, tuple(range(20, 26)))))),
}
_EDGES: dict[str, tuple[tuple[int, int], ...]] = {
    **_LINEAR,
    **{name: _split(kind) for name, kind in _QUADRATIC.items()},
    **{name: edges for name, (_, edges) in _OTHERS.items()},
}
_LINEAR_RELATIVE = {**{k: k for k in _LINEAR}, **_QUADRATIC, **{name: kind for name, (kind, _) in _OTHERS.items()}}
_NODES = {"vertex": 1} | {kind: max(max(edge) for edge in edges) + 1 for kind, edges in _EDGES.items()}

CELL_TYPES = (*_EDGES, "polygon")


def guess_cell_type(n_nodes: int, dimension: int) -> str:
    """Name the cells of a plain array by their number of nodes.

    Four nodes are quadrilaterals in the plane and tetrahedra in space; a surface of quadrilaterals in space
    has to be named: ``{"quad": cells}``.

    Examples
    --------
    >>> guess_cell_type(3, dimension=2), guess_cell_type(4, dimension=2), guess_cell_type(4, dimension=3)
    ('triangle', 'quad', 'tetra')
    """
    planar = {2: "line", 3: "triangle", 4: "quad"}
    spatial = {2: "line", 3: "triangle", 4: "tetra", 5: "pyramid", 6: "wedge", 8: "hexahedron"}
    known = spatial if dimension >= 3 else planar
    if n_nodes not in known:
        raise InputError(
            f"Cells with {n_nodes} nodes on points of dimension {dimension} are not known; name their type, "
            f'as in {{"hexahedron20": cells}}. Known types: {", ".join(CELL_TYPES)}.'
        )
    return known[n_nodes]


def check_cells(kind: str, cells: ArrayLike, n_points: int) -> NDArray[np.int32]:
    """Return the connectivity of one cell type as a frozen (m, k) array, or say what is wrong with it."""
    array = _as_array(cells, f"Cells of type {kind!r} must be an (m, k) array of node numbers")
    if not is_cell_type(kind):
        raise InputError(f"Cells of type {kind!r} are not known. Known types: {', '.join(CELL_TYPES)}.")
    if kind == "vertex" and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or (kind == "polygon" and array.shape[1] < 3):
        raise InputError(f"Cells of type {kind!r} must be an (m, k) array, but have shape {array.shape}.")
    wanted = int(kind.removeprefix("polygon") or array.shape[1]) if _is_polygon(kind) else _NODES[kind]
    if array.shape[1] != wanted:
        raise InputError(f"Cells of type {kind!r} have {wanted} nodes, not {array.shape[1]}.")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputTypeError(f"Cells of type {kind!r} must hold integers, but hold {array.dtype}.")
    if array.size and (array.min() < 0 or array.max() >= n_points):
        bad = np.flatnonzero((array < 0).any(1) | (array >= n_points).any(1))[0]
        raise InputError(
            f"Cell {bad} of type {kind!r} joins nodes {array[bad].tolist()}, "
            f"but nodes are numbered 0 to {n_points - 1}."
        )
    return own(array, np.int32)


def _is_polygon(kind: str) -> bool:
    corners = kind.removeprefix("polygon")
    return kind.startswith("polygon") and (not corners or (corners.isdecimal() and int(corners) >= 3))


def is_cell_type(kind: str) -> bool:
    """Whether cells of a type are known."""
    return kind in _NODES or _is_polygon(kind)


def collect_cells(cells: CellsLike, n_points: int, dimension: int) -> dict[str, NDArray[np.int32]]:
    """Check cells in any of the forms in which they may be given, and join all blocks of a type.

    Parameters
    ----------
    cells : array-like of shape (m, k), mapping of type to such arrays, or sequence of (type, array)
        A plain array is of the type that :func:`guess_cell_type` names; a sequence may repeat a type.
    n_points : int
    dimension : int
        Number of coordinates.

    Returns
    -------
    dict of str to ndarray of shape (m, k), int32
        In the order in which types first occur. Polygons that all have equally many corners are of type "polygon";
        otherwise they are sorted by their number of corners into "polygon5", "polygon6", ...

    Examples
    --------
    >>> blocks = [("polygon", [[0, 1, 2, 3, 4]]), ("triangle", [[0, 1, 5]]), ("polygon", [[0, 1, 2, 3, 4, 5]])]
    >>> {kind: block.shape for kind, block in collect_cells(blocks, 6, 2).items()}
    {'polygon5': (1, 5), 'triangle': (1, 3), 'polygon6': (1, 6)}
    """
    found: dict[str, list[NDArray[np.int32]]] = {}
    for kind, given in _named_blocks(cells, dimension):
        block = check_cells(kind, given, n_points)
        found.setdefault(f"polygon{block.shape[1]}" if _is_polygon(kind) else kind, []).append(block)
    lone = sum(map(_is_polygon, found)) == 1
    return {
        "polygon" if lone and _is_polygon(kind) else kind: blocks[0]
        if len(blocks) == 1
        else release(np.concatenate(blocks))
        for kind, blocks in found.items()
    }


def joined_order(cells: CellsLike, dimension: int) -> NDArray[np.intp] | None:
    """Return which cell, as they were given, comes to each place when blocks are joined; None if they keep theirs.

    Takes what :func:`collect_cells` has found to be right.

    Examples
    --------
    >>> joined_order([("line", [[0, 1]]), ("vertex", [[0]]), ("line", [[1, 2]])], 2).tolist()
    [0, 2, 1]
    """
    blocks = list(_named_blocks(cells, dimension))
    names = block_names(blocks)
    if len(set(names)) == len(names):
        return None
    sizes = [len(np.asarray(block)) for _, block in blocks]
    return np.argsort(np.repeat([names.index(name) for name in names], sizes), kind="stable")


def block_names(blocks: Sequence[tuple[str, ArrayLike]]) -> list[str]:
    """Return under which type :func:`collect_cells` keeps every block.

    Examples
    --------
    >>> block_names([("polygon", [[0, 1, 2, 3, 4]]), ("line", [[0, 1]]), ("polygon", [[0, 1, 2, 3, 4, 5]])])
    ['polygon5', 'line', 'polygon6']
    """
    names = [f"polygon{np.shape(block)[1]}" if _is_polygon(kind) else kind for kind, block in blocks]
    lone = len({name for name in names if _is_polygon(name)}) == 1
    return ["polygon" if lone and _is_polygon(name) else name for name in names]


def _named_blocks(cells: CellsLike, dimension: int) -> Iterable[tuple[str, ArrayLike]]:
    if isinstance(cells, Mapping):
        return cells.items()
    if isinstance(cells, Sequence) and cells and all(map(_is_pair, cells)):
        pairs: Any = cells
        return [(kind, block) for kind, block in pairs]
    wanted = "Cells must be an (m, k) array or a dict of them"
    array = _as_array(cells, wanted)
    if array.ndim != 2:
        raise InputError(f"{wanted}, not of shape {array.shape}.")
    return [(guess_cell_type(array.shape[1], dimension), array)]


def _is_pair(item: Any) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str)


def _as_array(cells: Any, wanted: str) -> AnyArray:
    refuse_masked(cells, wanted.partition(" must ")[0])
    try:
        return np.asarray(cells)
    except ValueError as error:  # rows of several lengths
        raise InputError(f"{wanted}: {error}.") from None


def cell_edges(kind: str, cells: NDArray[np.int32]) -> NDArray[np.int32]:
    """List the edges of the cells, shared ones as often as they occur.

    Parameters
    ----------
    kind : str
        meshio's name of the cell type.
    cells : ndarray of shape (m, k)

    Returns
    -------
    ndarray of shape (m * edges per cell, 2)

    Examples
    --------
    >>> cell_edges("triangle", np.array([[0, 1, 2]], np.int32)).tolist()
    [[0, 1], [1, 2], [2, 0]]
    """
    return np.concatenate([cells[:, edge] for edge in local_edges(kind, cells.shape[1])])


def local_edges(kind: str, n_nodes: int) -> list[tuple[int, int]]:
    """Return the edges of a cell as pairs of places among its nodes; single nodes have none."""
    if _is_polygon(kind):
        return [(a, (a + 1) % n_nodes) for a in range(n_nodes)]
    return list(_EDGES.get(kind, ()))


def linear_relative(kind: str) -> str:
    """Return the type of the corners of a cell, of a type other than polygons.

    >>> linear_relative("tetra10")
    'tetra'
    """
    return _LINEAR_RELATIVE[kind]


def cell_dimension(kind: str) -> int:
    """Return 0 for single nodes, 1 for lines, 2 for surfaces, 3 for solids."""
    if kind == "vertex":
        return 0
    return 2 if _is_polygon(kind) else _DIMENSION[_LINEAR_RELATIVE[kind]]


def cell_corners(kind: str, cells: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the cells without the nodes on their sides and inside: (m, corners)."""
    return cells if _is_polygon(kind) or kind == "vertex" else cells[:, : _CORNERS[_LINEAR_RELATIVE[kind]]]


def cell_sides(kind: str, cells: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Return what bounds the cells, by corners: sides of surface cells, faces of solids.

    Parameters
    ----------
    kind : str
    cells : ndarray of shape (m, k)

    Returns
    -------
    list of ndarrays of shape (m, 2), (m, 3) or (m, 4)
        One per side, with a row for every cell. The sides run around a surface cell; the faces of a solid all look
        outward, or all inward.

    Examples
    --------
    >>> [side.tolist() for side in cell_sides("triangle6", np.array([[0, 1, 2, 3, 4, 5]], np.int32))]
    [[[0, 1]], [[1, 2]], [[2, 0]]]
    """
    corners = cell_corners(kind, cells)
    if cell_dimension(kind) == 3:
        return [corners[:, face] for face in _SOLID_FACES[_LINEAR_RELATIVE[kind]]]
    n = corners.shape[1]
    return [corners[:, [a, (a + 1) % n]] for a in range(n)]


def side_of(kind: str, corners: Sequence[int]) -> tuple[str, list[int]]:
    """Return the type of a side of a cell, and the places of its nodes among those of the cell.

    Parameters
    ----------
    kind : str
    corners : sequence of int
        Places of the corners of the side, in order around it; all corners of a surface cell are its face.

    Examples
    --------
    >>> side_of("tetra", [0, 1, 3]), side_of("tetra10", [0, 1, 3])
    (('triangle', [0, 1, 3]), ('triangle6', [0, 1, 3, 4, 8, 7]))
    """
    linear = _LINEAR_RELATIVE[kind]
    if len(corners) == _CORNERS[linear] and cell_dimension(kind) < 3:
        return kind, list(range(_NODES[kind]))
    names = {2: ("line", "line3"), 3: ("triangle", "triangle6"), 4: ("quad", "quad8")}[len(corners)]
    edges = [tuple(sorted(edge)) for edge in _LINEAR[linear]]
    ring = [tuple(sorted((a, corners[(k + 1) % len(corners)]))) for k, a in enumerate(corners)]
    middles = [_CORNERS[linear] + edges.index(edge) for edge in ring[: 1 if len(corners) == 2 else None]]
    if max(middles) >= _NODES[kind] or kind in ("quad6", "wedge12", "line4"):
        return names[0], list(corners)
    return names[1], [*corners, *middles]


def top_cells(cells: Cells) -> dict[str, NDArray[np.int32]]:
    """Return the cells of the highest dimension that there are.

    Examples
    --------
    >>> list(top_cells({"line": np.array([[0, 1]], np.int32), "triangle": np.array([[0, 1, 2]], np.int32)}))
    ['triangle']
    """
    filled = {kind: block for kind, block in cells.items() if len(block)}
    top = max(map(cell_dimension, filled), default=0)
    return {kind: block for kind, block in filled.items() if cell_dimension(kind) == top}


def cell_measures(points: NDArray[np.float64], kind: str, cells: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the length, area or volume of every cell, from its corners.

    Examples
    --------
    >>> square = np.array([[0.0, 0], [2, 0], [2, 3], [0, 3]])
    >>> cell_measures(square, "quad", np.array([[0, 1, 2, 3]], np.int32)).tolist()
    [6.0]
    """
    corners = np.zeros((*cells.shape, 3))
    corners[:, :, : points.shape[1]] = points[cells]
    linear = kind if _is_polygon(kind) else _LINEAR_RELATIVE[kind]
    if linear == "line":
        return np.asarray(np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1))
    if cell_dimension(kind) == 2:
        n = cells.shape[1] if _is_polygon(kind) else _CORNERS[linear]
        spokes = corners[:, 1:n] - corners[:, :1]
        return np.asarray(0.5 * np.linalg.norm(np.cross(spokes[:, :-1], spokes[:, 1:]).sum(1), axis=1))
    volume = np.zeros(len(cells))
    for a, b, c, d in TETRAHEDRA[linear]:
        u, v, w = (corners[:, k] - corners[:, a] for k in (b, c, d))
        volume += np.abs(np.einsum("ij,ij->i", np.cross(u, v), w)) / 6
    return volume


def lumped_measures(points: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
    """Share the size of every cell of the highest dimension equally among its nodes.

    Parameters
    ----------
    points : ndarray of shape (n, dimension)
    cells : mapping of type to ndarray of shape (m, k)

    Returns
    -------
    ndarray of shape (n,)
        Sums to the length, area or volume of the mesh; zero at nodes that no such cell touches.

    Examples
    --------
    >>> corner = np.array([[0.0, 0], [1, 0], [0, 1]])
    >>> lumped_measures(corner, {"triangle": np.array([[0, 1, 2]], np.int32)}).round(4).tolist()
    [0.1667, 0.1667, 0.1667]
    """
    weights = np.zeros(len(points))
    top = max(map(cell_dimension, cells), default=0)
    for kind, block in cells.items():
        if cell_dimension(kind) == top:
            share = cell_measures(points, kind, block) / block.shape[1]
            weights += np.bincount(block.ravel(), np.repeat(share, block.shape[1]), len(points))
    return weights


def used_nodes(cells: Cells, n_nodes: int) -> NDArray[np.bool_]:
    """Say of every node whether a cell uses it, (n,); single vertices do not count, but without cells all nodes do.

    Examples
    --------
    >>> used_nodes({"line": np.array([[0, 2]])}, 3).tolist()
    [True, False, True]
    """
    blocks = [block for kind, block in cells.items() if kind != "vertex" and len(block)]
    used = np.full(n_nodes, not blocks)
    for block in blocks:
        used |= np.bincount(block.ravel(), minlength=n_nodes) > 0
    return used


def cut_into_triangles(cells: Cells) -> NDArray[np.int32]:
    """Return the surface cells as (m, 3) triangles of their corners; cells of more corners are cut from the first.

    Examples
    --------
    >>> cut_into_triangles({"quad": np.array([[0, 1, 2, 3]], np.int32)}).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    blocks = [np.empty((0, 3), np.int32)]
    for kind, block in cells.items():
        if cell_dimension(kind) == 2:
            blocks += [block[:, [0, k, k + 1]] for k in range(1, cell_corners(kind, block).shape[1] - 1)]
    return np.concatenate(blocks)


def cut_into_simplices(cells: Cells) -> NDArray[np.int32]:
    """Return the cells of the highest dimension as lines (m, 2), triangles (m, 3) or tetrahedra (m, 4) of corners.

    Examples
    --------
    >>> cut_into_simplices({"pyramid": np.array([[0, 1, 2, 3, 4]], np.int32)}).tolist()
    [[0, 1, 2, 4], [0, 2, 3, 4]]
    """
    top = top_cells(cells)
    if any(cell_dimension(kind) == 2 for kind in top):
        return cut_into_triangles(top)
    blocks = [np.empty((0, 2), np.int32)] if not top else []
    for kind, block in top.items():
        if cell_dimension(kind) == 3:
            blocks += [block[:, corners] for corners in TETRAHEDRA[_LINEAR_RELATIVE[kind]]]
        else:
            blocks.append(cell_corners(kind, block))
    return np.concatenate(blocks)


def triangle_normals(points: NDArray[np.float64], triangles: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the normals of triangles in space, as long as twice their areas: (m, 3)."""
    corners = points[triangles]
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def node_normals(points: NDArray[np.float64], triangles: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return unit normals at the nodes of a surface in space, weighted by area: (n, 3)."""
    normals = triangle_normals(points, triangles)
    total = np.column_stack([np.bincount(triangles.ravel(), np.repeat(v, 3), len(points)) for v in normals.T])
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1), np.finfo(float).tiny)[:, None])
