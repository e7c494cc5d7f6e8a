"""Distances between points: all of two sets, or of many small sets at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.gp.correlations import Array

_FEW_VALUES = 1 << 21  # of wide rows that are gathered at a time


def between_rows(first: ArrayLike, second: ArrayLike | None = None, *, r: int = 2, squared: bool = False) -> Array:
    """Return the distances of rows (M, K) to others (N, K), or among themselves, shape (M, N)."""
    # not at the top: the embedding brings in much that a process on plain matrices never uses
    from swwl.embedding.distances import pairwise_distances

    return pairwise_distances(first, second, r=r, squared=squared)


def between_patches(first: Array, second: Array | None, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
    """Return squared distances of rows of many small sets, shape (B, a, b), of positions (B, a) and (B, b)."""
    second = first if second is None else second
    out = np.zeros((*rows.shape, columns.shape[1]))
    step = max(1, _FEW_VALUES // max(1, rows.size + columns.size))
    for start in range(0, first.shape[1], step):
        some = slice(start, start + step)
        left, right = first[rows, some].astype(float), second[columns, some].astype(float)
        about = right[:, -1:].copy()
        left -= about
        right -= about
        out += squares_between(left, right)
    return out


def squares_between(left: Array, right: Array) -> Array:
    """Return the squared distances of points (B, a, k) to points (B, b, k), shape (B, a, b).

    The origin should be near the points: what rounding takes grows with their norms.
    """
    out: Array = (-2.0 * left) @ right.swapaxes(1, 2)
    out += np.einsum("nij,nij->ni", left, left)[:, :, None]
    out += np.einsum("nij,nij->ni", right, right)[:, None, :]
    return np.maximum(out, 0.0, out=out)
