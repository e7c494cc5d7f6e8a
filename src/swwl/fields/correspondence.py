"""Whether the nodes of two meshes correspond: they do where most of their cells join the same nodes.

Equal cells are not asked for: programs that split quadrilaterals choose either diagonal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.mesh.mesh import Mesh

Codes = NDArray[np.uint64]

# With this share of cells in common nodes correspond; meshes of independent nodes share hardly any.
_LEAST_SHARE = 0.5


def cell_codes(mesh: Mesh) -> Codes:
    """Return a number for each cell, sorted, whatever the order of its nodes; other numbers of nodes, other codes.

    Examples
    --------
    >>> square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> one, other = (cell_codes(Mesh(square, cells)) for cells in ([[0, 1, 2], [0, 2, 3]], [[3, 0, 2], [2, 0, 1]]))
    >>> bool((one == other).all())
    True
    """
    seed = _mixed(np.array([[mesh.n_nodes, mesh.dimension]], np.uint64))
    found = [_mixed(np.sort(block, axis=1).astype(np.uint64)) for block in mesh.cells.values()]
    return np.sort(np.concatenate([seed, *(codes ^ seed for codes in found)]))


def correspond(first: Codes, second: Codes) -> bool:
    """Whether nodes of two meshes correspond, going by their :func:`cell_codes`.

    Examples
    --------
    >>> square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> codes = cell_codes(Mesh(square, [[0, 1, 2], [0, 2, 3]]))
    >>> correspond(codes, codes), correspond(codes, cell_codes(Mesh(square, [[0, 1, 3], [1, 2, 3]])))
    (True, False)
    """
    same = len(np.intersect1d(first, second, assume_unique=False))
    return same >= max(1.0, _LEAST_SHARE * max(len(first), len(second)))


def _mixed(rows: Codes) -> Codes:
    """Return one well-mixed number per row of whole numbers."""
    codes = np.full(len(rows), rows.shape[1], np.uint64)
    for column in rows.T:
        codes = (codes ^ column) * np.uint64(0x9E3779B97F4A7C15)
        codes ^= codes >> np.uint64(29)
    return codes
