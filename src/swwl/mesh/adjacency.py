"""Which nodes the cells of a mesh join: straight from cells to the adjacency matrix, in one sort.

What ``graph.py`` makes the graph of a mesh of; on the way from a file to its row, this is what takes longest beside
the embedding itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.mesh.arrays import AnyArray
from swwl.mesh.cells import Cells, local_edges


def cells_adjacency(cells: Cells, n_nodes: int) -> sparse.csr_array:
    """Return the symmetric matrix with a one for every pair of nodes that an edge of a cell joins.

    Parameters
    ----------
    cells : mapping of type to ndarray of shape (m, k), int32
        Checked: all nodes are numbered from 0 to ``n_nodes`` - 1.
    n_nodes : int

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float32
        32-bit indices, zero diagonal, sorted columns.

    Examples
    --------
    >>> cells_adjacency({"triangle": np.array([[0, 1, 2]], np.int32)}, 3).toarray()
    array([[0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]], dtype=float32)
    """
    low, high = _edges(cells, n_nodes)
    # Below the diagonal first: as edges are sorted, so are then the columns of every row.
    rows, columns = np.concatenate([high, low]), np.concatenate([low, high])
    matrix = sparse.coo_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(n_nodes, n_nodes))
    matrix.has_canonical_format = True  # nothing occurs twice, so nothing has to be summed
    adjacency = matrix.tocsr()
    adjacency.has_canonical_format = True
    return adjacency


def _edges(cells: Cells, n_nodes: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the smaller and the larger node of every edge, sorted, each edge once and without loops."""
    # An edge is one number: the smaller node in its upper half, the larger one in its lower half.
    dtype: Any = np.uint32 if n_nodes <= 2**16 else np.uint64
    half = 16 if n_nodes <= 2**16 else 32
    pairs = {kind: local_edges(kind, block.shape[1]) for kind, block in cells.items() if len(block)}
    keys: AnyArray = np.empty(sum(len(edges) * len(cells[kind]) for kind, edges in pairs.items()), dtype)
    start = 0
    for kind, edges in pairs.items():
        lower: AnyArray = cells[kind].T.astype(dtype, order="C")  # columns: short rows are ten times slower
        upper = lower << dtype(half)
        for a, b in edges:
            part = keys[start : start + lower.shape[1]]
            np.bitwise_or(upper[a], lower[b], out=part)
            np.minimum(part, upper[b] | lower[a], out=part)
            start += len(part)
    keys.sort()
    first = np.empty(len(keys), bool)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    keys = keys[first]
    low = (keys >> dtype(half)).astype(np.int32)
    high = (keys & dtype(2**half - 1)).astype(np.int32)
    proper = low != high
    return (low, high) if proper.all() else (low[proper], high[proper])
