"""Finite-element cells: which nodes of a cell are joined, and how large the cell is.

Plain functions of arrays under :class:`swwl.Graph`; cell types carry meshio's names and VTK's node order.
"""

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, InputTypeError

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
_TETRAHEDRA = {
    "tetra": ((0, 1, 2, 3),),
    "pyramid": ((0, 1, 2, 4), (0, 2, 3, 4)),
    "wedge": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5)),
    "hexahedron": ((0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)),
}


def _split(kind: str) -> tuple[tuple[int, int], ...]:
    """Edges of a quadratic cell: every edge of the linear one, cut at its midside node."""
    corners = _CORNERS[kind]
    halves = [((a, corners + k), (corners + k, b)) for k, (a, b) in enumerate(_LINEAR[kind])]
    return tuple(edge for pair in halves for edge in pair)


_EDGES: dict[str, tuple[tuple[int, int], ...]] = {
    **_LINEAR,
    **{name: _split(kind) for name, kind in _QUADRATIC.items()},
    "quad9": (*_split("quad"), (4, 8), (5, 8), (6, 8), (7, 8)),
}
_LINEAR_RELATIVE = {**{kind: kind for kind in _LINEAR}, **_QUADRATIC, "quad9": "quad"}
_NODES = {kind: max(max(edge) for edge in edges) + 1 for kind, edges in _EDGES.items()}

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


def check_cells(kind: str, cells, n_points: int) -> NDArray[np.int32]:
    """Return the connectivity of one cell type as (m, k) 32-bit integers, or say what is wrong with it."""
    cells = np.asarray(cells)
    if kind not in CELL_TYPES:
        raise InputError(f"Cells of type {kind!r} are not known. Known types: {', '.join(CELL_TYPES)}.")
    if cells.ndim != 2 or (kind == "polygon" and cells.shape[1] < 3):
        raise InputError(f"Cells of type {kind!r} must be an (m, k) array, but have shape {cells.shape}.")
    if kind != "polygon" and cells.shape[1] != _NODES[kind]:
        raise InputError(f"Cells of type {kind!r} have {_NODES[kind]} nodes, not {cells.shape[1]}.")
    if not np.issubdtype(cells.dtype, np.integer):
        raise InputTypeError(f"Cells of type {kind!r} must hold integers, but hold {cells.dtype}.")
    bad = np.flatnonzero((cells < 0).any(1) | (cells >= n_points).any(1))
    if bad.size:
        raise InputError(
            f"Cell {bad[0]} of type {kind!r} joins nodes {cells[bad[0]].tolist()}, "
            f"but nodes are numbered 0 to {n_points - 1}."
        )
    return cells.astype(np.int32)


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
    if kind == "polygon":
        local = [(a, (a + 1) % cells.shape[1]) for a in range(cells.shape[1])]
    else:
        local = list(_EDGES[kind])
    return np.concatenate([cells[:, edge] for edge in local])


def cell_dimension(kind: str) -> int:
    """Return 1 for lines, 2 for surfaces, 3 for solids."""
    return 2 if kind == "polygon" else _DIMENSION[_LINEAR_RELATIVE[kind]]


def cell_measures(points, kind: str, cells: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the length, area or volume of every cell, from its corners.

    Examples
    --------
    >>> square = np.array([[0.0, 0], [2, 0], [2, 3], [0, 3]])
    >>> cell_measures(square, "quad", np.array([[0, 1, 2, 3]], np.int32)).tolist()
    [6.0]
    """
    corners = np.zeros((*cells.shape, 3))
    corners[:, :, : points.shape[1]] = points[cells]
    linear = kind if kind == "polygon" else _LINEAR_RELATIVE[kind]
    if linear == "line":
        return np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    if cell_dimension(kind) == 2:
        n = cells.shape[1] if kind == "polygon" else _CORNERS[linear]
        spokes = corners[:, 1:n] - corners[:, :1]
        return 0.5 * np.linalg.norm(np.cross(spokes[:, :-1], spokes[:, 1:]).sum(1), axis=1)
    volume = np.zeros(len(cells))
    for a, b, c, d in _TETRAHEDRA[linear]:
        u, v, w = (corners[:, k] - corners[:, a] for k in (b, c, d))
        volume += np.abs(np.einsum("ij,ij->i", np.cross(u, v), w)) / 6
    return volume


def lumped_measures(points, blocks: list[tuple[str, NDArray[np.int32]]]) -> NDArray[np.float64]:
    """Share the size of every cell of the highest dimension equally among its nodes.

    Parameters
    ----------
    points : ndarray of shape (n, dimension)
    blocks : list of (kind, cells)

    Returns
    -------
    ndarray of shape (n,)
        Sums to the length, area or volume of the mesh; zero at nodes that no such cell touches.

    Examples
    --------
    >>> corner = np.array([[0.0, 0], [1, 0], [0, 1]])
    >>> lumped_measures(corner, [("triangle", np.array([[0, 1, 2]], np.int32))]).round(4).tolist()
    [0.1667, 0.1667, 0.1667]
    """
    weights = np.zeros(len(points))
    top = max((cell_dimension(kind) for kind, _ in blocks), default=0)
    for kind, cells in blocks:
        if cell_dimension(kind) == top:
            share = cell_measures(points, kind, cells) / cells.shape[1]
            weights += np.bincount(cells.ravel(), np.repeat(share, cells.shape[1]), len(points))
    return weights
