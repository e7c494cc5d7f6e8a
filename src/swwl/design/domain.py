"""How near a case is to the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.distances import pairwise_distances


def far_from_others(rows: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which rows (N, K) have a nearest neighbour much farther away than other rows have.

    The fence is that of a box plot: the upper quartile plus one and a half times the distance between quartiles.

    Parameters
    ----------
    rows : ndarray of shape (N, K)
        Vectors whose Euclidean distance tells cases apart, such as embeddings.

    Returns
    -------
    ndarray of bool, shape (N,)

    Examples
    --------
    >>> far_from_others(np.array([[0.0], [1.0], [2.1], [3.0], [4.2], [9.0]])).tolist()
    [False, False, False, False, False, True]
    """
    if len(rows) < 3:
        return np.zeros(len(rows), dtype=bool)
    distances = pairwise_distances(rows)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    low, high = np.quantile(nearest, [0.25, 0.75])
    return np.asarray(nearest > high + 1.5 * (high - low))
