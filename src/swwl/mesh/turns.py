"""Turns by right angles and reflections of the axes: how meshes come to lie otherwise than others of their set."""

from __future__ import annotations

import math
from functools import cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Turn(NamedTuple):
    """A way to exchange and reverse axes, as a matrix (d, d), and what to call it."""

    matrix: NDArray[np.float64]
    name: str


@cache
def turns(dimension: int) -> list[Turn]:
    """Return the turns by right angles and the reflections of one to three axes, the likeliest mistakes first.

    Examples
    --------
    >>> [turn.name for turn in turns(2)][:3]
    ['rotated by 90 degrees', 'rotated by 90 degrees', 'rotated by 180 degrees']
    """
    found = []
    for order in permutations(range(dimension)):
        for signs in product((1.0, -1.0), repeat=dimension):
            matrix = np.zeros((dimension, dimension))
            matrix[range(dimension), order] = signs
            if not np.array_equal(matrix, np.eye(dimension)):
                found.append(_named(matrix))
    return [turn for _, turn in sorted(found, key=lambda pair: pair[0])]


def _named(matrix: NDArray[np.float64]) -> tuple[int, Turn]:
    """Return how unlikely a turn is, and the turn with its name."""
    d = len(matrix)
    axes = "xyz"
    if np.linalg.det(matrix) > 0:
        cosine = matrix[0, 0] if d == 2 else (np.trace(matrix) - 1) / 2
        degrees = round(math.degrees(math.acos(cosine)))
        along = [axes[k] for k in range(d) if matrix[k, k] == 1]
        name = f"rotated by {degrees} degrees" + (f" about {along[0]}" if d == 3 and along else "")
        return (degrees if along or d == 2 else 200), Turn(matrix, name)
    reversed_axes = [axes[k] for k in range(d) if matrix[k, k] == -1]
    diagonal = np.count_nonzero(np.diag(matrix)) == d
    if diagonal and len(reversed_axes) == 1:
        return 210, Turn(matrix, f"mirrored in {reversed_axes[0]}")
    swapped = [axes[k] for k in range(d) if matrix[k, k] == 0]
    if (matrix >= 0).all() and len(swapped) == 2:
        return 220, Turn(matrix, f"given with {swapped[0]} and {swapped[1]} exchanged")
    return 230, Turn(matrix, "mirrored and rotated")
