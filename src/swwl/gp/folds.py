"""Folds: rows to learn from and rows to predict, the one place where they are drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

Rows = NDArray[np.intp]


def fold_rule(number: int, seed: int) -> KFold:
    """Return what draws so many folds of shuffled rows."""
    return KFold(number, shuffle=True, random_state=seed)


def shuffled_folds(n: int, number: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Return training and left-out rows of folds of n rows; n folds where that is fewer.

    Examples
    --------
    >>> [len(out) for _, out in shuffled_folds(12, 5, seed=0)]
    [3, 3, 2, 2, 2]
    """
    return list(fold_rule(min(number, n), seed).split(np.arange(n)))
