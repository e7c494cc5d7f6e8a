r"""Kernels that are not positive definite, made so on the training set: a constant added to distances.

:math:`e^{-(\beta D)^\alpha}` is positive definite for all :math:`\beta` if and only if :math:`S = D^\alpha` is
conditionally negative definite (Schoenberg, 1938). Adding a constant c to S between different graphs moves all
eigenvalues of :math:`-\tfrac12 J S J`, :math:`J = I - \tfrac1N 11^\top`, up by c/2, so the smallest c that does it is
known (Lingoes, 1971; Roth et al., 2003). It acts as a nugget that no graph shares with another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg


def shift_needed(distances: NDArray[np.float64], exponent: float) -> float:
    """Return the smallest constant that makes distances to a power conditionally negative definite.

    Parameters
    ----------
    distances : ndarray of shape (N, N)
        Symmetric, with a zero diagonal.
    exponent : float

    Examples
    --------
    >>> line = np.abs(np.subtract.outer([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]))
    >>> shift_needed(line, 2.0)
    0.0
    >>> round(shift_needed(line**2, 2.0), 3)  # squared distances are not distances
    4.0
    """
    powers = distances**exponent
    centered = powers - powers.mean(axis=0)
    centered -= centered.mean(axis=1, keepdims=True)
    lowest = float(linalg.eigh(-0.5 * centered, eigvals_only=True, subset_by_index=[0, 0])[0])
    rounding = 1e-10 * float(np.abs(centered).max(initial=0.0))
    return 0.0 if lowest > -rounding else -2 * lowest + rounding


def shifted(distances: NDArray[np.float64], exponent: float, shift: float, same: bool) -> NDArray[np.float64]:
    r"""Return :math:`(D^\alpha + c)^{1/\alpha}`, with zeros on the diagonal if both sides are the ``same`` graphs.

    Examples
    --------
    >>> shifted(np.array([[0.0, 3.0], [3.0, 0.0]]), 2.0, 7.0, same=True)
    array([[0., 4.],
           [4., 0.]])
    """
    moved = (distances**exponent + shift) ** (1 / exponent)
    if same:
        np.fill_diagonal(moved, 0.0)
    return moved
