r"""A load on the nodes of a mesh, such as a gradient, as a density on its skin: what pictures show.

Loads grow with the area around a node; densities do not depend on where a mesh is fine. What inner nodes carry is
handed to the skin as if they followed its motion by springs along the edges; a density may be smoothed over a stated
length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from swwl.mesh.adjacency import cells_adjacency
from swwl.mesh.arrays import first_at_place
from swwl.mesh.cells import cell_dimension, top_cells
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.sampling import simplex_sizes
from swwl.mesh.shape.skin import skin

_Floats = NDArray[np.float64]


def skin_density(
    mesh: Mesh, load: _Floats, length: float = 0.0, movable: NDArray[np.bool_] | None = None
) -> tuple[_Floats, _Floats]:
    r"""Return the density on the skin of a load on the nodes, and the normals there.

    The density g solves :math:`(M + \ell^2 K)\,g = G`, with M the lengths or areas around the nodes of the skin, K its
    stiffness, and G the load: for :math:`\ell = 0`, the load over the area; otherwise the same smoothed over the length
    :math:`\ell`.

    Parameters
    ----------
    mesh : Mesh
        With a skin: a surface, a contour, a plane or a solid domain.
    load : ndarray of shape (n, d)
    length : float
        :math:`\ell`, in units of the coordinates.
    movable : ndarray of shape (n,), bool, optional
        Which nodes of the skin may move; the density is zero at the others.

    Returns
    -------
    density : ndarray of shape (n, d)
        Zero at nodes that are not on the skin.
    normals : ndarray of shape (n, d)
        Of length one on the skin, outward where that means anything; zero elsewhere.

    Examples
    --------
    >>> square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    >>> density, normals = skin_density(square, np.ones((4, 2)))
    >>> density[0].tolist(), normals[0].round(4).tolist()  # half a side on either side of the corner
    ([1.0, 1.0], [-0.7071, -0.7071])
    """
    found = skin(mesh)
    n, d = mesh.points.shape
    place = np.arange(n)
    if max(map(cell_dimension, top_cells(mesh.cells)), default=0) < d:
        place = first_at_place(mesh.points).astype(np.intp)
    total = _summed(place, load, n)
    sizes = simplex_sizes(mesh.points, found.pieces)
    area = np.bincount(found.pieces.ravel(), np.repeat(sizes / found.pieces.shape[1], found.pieces.shape[1]), n)
    pull = found.normals * sizes[:, None]
    normals = _summed(found.pieces.ravel(), np.repeat(pull, d, axis=0), n)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals /= np.where(lengths > 0, lengths, 1.0)
    on_skin = area > 0
    total = _handed_to_skin(mesh, total, on_skin)
    free = np.flatnonzero(on_skin if movable is None else on_skin & movable)
    density = np.zeros((n, d))
    if length > 0:
        matrix = sparse.diags_array(area) + length**2 * simplex_stiffness(mesh.points, found.pieces)
        density[free] = splu(matrix.tocsr()[free][:, free].tocsc()).solve(total[free])
    else:
        density[free] = total[free] / area[free, None]
    return density[place], normals[place]


def _summed(nodes: NDArray[np.integer], rows: _Floats, n: int) -> _Floats:
    return np.column_stack([np.asarray(np.bincount(nodes, column, n), dtype=np.float64) for column in rows.T])


def _handed_to_skin(mesh: Mesh, load: _Floats, on_skin: NDArray[np.bool_]) -> _Floats:
    """Add what inner nodes carry to the skin, by the transpose of how they follow it."""
    if not (~on_skin & load.any(axis=1)).any():
        return load
    pulls = springs(mesh)
    inner = np.flatnonzero(~on_skin & (np.diff(pulls.indptr) > 0))
    held = sparse.diags_array(np.asarray(pulls.sum(axis=1)).ravel()) - pulls
    solved = splu(held.tocsr()[inner][:, inner].tocsc()).solve(np.ascontiguousarray(load[inner]))
    total = load + pulls[:, inner] @ solved
    return np.where(on_skin[:, None], total, 0.0)


def springs(mesh: Mesh) -> sparse.csr_array:
    """Return the stiffness (n, n) of springs along the edges of the cells: one over their lengths.

    Examples
    --------
    >>> springs(Mesh([[0.0], [2.0]], [[0, 1]])).toarray().tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    edges = cells_adjacency({kind: block for kind, block in mesh.cells.items() if kind != "vertex"}, mesh.n_nodes)
    first, second = edges.tocoo().coords
    stiffness = 1 / np.maximum(np.linalg.norm(mesh.points[first] - mesh.points[second], axis=1), np.finfo(float).tiny)
    return sparse.csr_array((stiffness, (first, second)), edges.shape)


def simplex_stiffness(points: _Floats, simplices: NDArray[np.int32]) -> sparse.csr_array:
    """Return the stiffness matrix (n, n) of linear elements on lines, triangles or tetrahedra (m, k).

    Examples
    --------
    >>> simplex_stiffness(np.array([[0.0], [2.0]]), np.array([[0, 1]], np.int32)).toarray().tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    sizes = simplex_sizes(points, simplices)
    simplices, sizes = simplices[sizes > 0], sizes[sizes > 0]
    n, k = len(points), simplices.shape[1]
    edges = points[simplices[:, 1:]] - points[simplices[:, :1]]  # (m, k - 1, d)
    # Gradients of the hat functions: rows of the pseudo-inverse of the edges, and what makes their sum zero.
    slopes = np.linalg.solve(edges @ edges.transpose(0, 2, 1), edges)
    slopes = np.concatenate([-slopes.sum(axis=1, keepdims=True), slopes], axis=1)
    values = sizes[:, None, None] * (slopes @ slopes.transpose(0, 2, 1))
    rows, columns = np.repeat(simplices, k, axis=1), np.tile(simplices, k)
    return sparse.coo_array((values.ravel(), (rows.ravel(), columns.ravel())), (n, n)).tocsr()
