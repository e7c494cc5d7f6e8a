"""How near a case is to the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.distances import pairwise_distances

_MANY = 5000


def far_from_others(rows: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which rows (N, K) have a nearest neighbour much farther away than other rows have.

    The fence is that of a box plot: the upper quartile plus one and a half times the distance between quartiles. Of
    more than 5000 rows, neighbors are looked for among so many, drawn at random.

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
    n = len(rows)
    chosen = np.arange(n) if n <= _MANY else np.sort(np.random.default_rng(0).permutation(n)[:_MANY])
    nearest = np.empty(n)
    for start in range(0, n, _MANY):  # never more than so many squared distances at a time
        part = np.arange(start, min(n, start + _MANY))
        distances = pairwise_distances(rows) if n <= _MANY else pairwise_distances(rows[part], rows[chosen])
        distances[part[:, None] == chosen] = np.inf
        nearest[part] = distances.min(axis=1)
    low, high = np.quantile(nearest, [0.25, 0.75])
    return np.asarray(nearest > high + 1.5 * (high - low))
