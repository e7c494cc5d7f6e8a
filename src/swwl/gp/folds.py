"""Folds: rows to learn from and rows to predict, the one place where they are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]


def drawn_rows(order: Rows, count: int, targets: NDArray[np.float64]) -> Rows:
    """Return so many rows of a permutation, sorted, and one more for each target that would be the same in all of them.

    Parameters
    ----------
    order : ndarray of shape (N,)
    count : int
    targets : ndarray of shape (N, k)

    Examples
    --------
    >>> drawn_rows(np.array([3, 0, 2, 1]), 2, np.array([[0.0], [1.0], [0.0], [0.0]])).tolist()
    [0, 1, 3]
    """
    rows = order[:count]
    for y in targets.T:
        if np.ptp(y[rows]) == 0:
            others = order[y[order] != y[rows[0]]]
            rows = np.concatenate([rows, others[:1]])
    return np.sort(rows)


def shuffled_folds(n: int, number: int, seed: Any, same: Rows | None = None) -> list[tuple[Rows, Rows]]:
    """Return training and left-out rows of folds of n rows; n folds where that is fewer.

    Parameters
    ----------
    n, number : int
    seed : int, RandomState, Generator or None
    same : ndarray of int, shape (n,), optional
        What rows with the same inputs have in common: they are left out together, since one tells of the other.

    Examples
    --------
    >>> [len(out) for _, out in shuffled_folds(12, 5, seed=0)]
    [3, 3, 2, 2, 2]
    >>> [out.tolist() for _, out in shuffled_folds(6, 3, seed=0, same=np.array([0, 1, 2, 0, 1, 2]))]
    [[2, 5], [1, 4], [0, 3]]
    """
    labels = np.arange(n) if same is None else same
    kinds = np.unique(labels)
    # As in scikit-learn's KFold, which is slow to import.
    drawn = isinstance(seed, (np.random.RandomState, np.random.Generator))
    shuffled = (seed if drawn else np.random.RandomState(seed)).permutation(len(kinds))
    left_out = [np.isin(labels, kinds[part]) for part in np.array_split(shuffled, min(number, len(kinds)))]
    return [(np.flatnonzero(~out), np.flatnonzero(out)) for out in left_out]
