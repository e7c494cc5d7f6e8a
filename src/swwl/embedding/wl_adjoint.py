r"""The transpose of ``wl.py``: what node embeddings pull back to the features they are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from swwl.embedding.wl import chebyshev_series

Array = NDArray[np.float64]

# Terms of a series that are made at a time.
_TERMS = 8


def wl_transposed(
    matrix: sparse.csr_array, parts: Sequence[Array], step: int = 1, tolerance: float = 0.0
) -> NDArray[np.float64]:
    r"""Return :math:`\sum_h (A^\top)^{hT} G_h` with :math:`A = (I + M)/2`: the adjoint of ``wl_iterations``.

    Where that took a Chebyshev series so does this, by Clenshaw's recurrence; otherwise by Horner's rule. Either way
    it takes as many products as the way forward.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, from ``neighbor_average``.
    parts : sequence of H + 1 ndarrays of shape (n, c)
        :math:`G_h`: gradients in the kept iterations.
    step : int
        T.
    tolerance : float
        That of the way forward.

    Returns
    -------
    ndarray of shape (n, c)

    Examples
    --------
    >>> from swwl import Graph
    >>> from swwl.embedding.wl import neighbor_average
    >>> star = neighbor_average(Graph([[0.0], [1.0], [2.0]], [(0, 1), (0, 2)]))
    >>> wl_transposed(star, [np.zeros((3, 1)), np.array([[4.0], [0.0], [0.0]])]).ravel().tolist()
    [2.0, 1.0, 1.0]
    """
    if len(parts) == 1:
        return parts[0]
    back = matrix.T.tocsr()
    series = chebyshev_series(matrix, len(parts) - 1, step, tolerance)
    if series is not None:
        return _clenshaw(back, parts, [np.ones(1), *series])
    total = parts[-1]
    for part in parts[-2::-1]:
        for _ in range(step):
            total = 0.5 * (total + back @ total)
        total = total + part
    return total


def _clenshaw(back: sparse.csr_array, parts: Sequence[Array], series: Sequence[Array]) -> Array:
    """Sum series of a matrix times parts by b_k = t_k + 2 M b_{k+1} - b_{k+2}, with t_k what the parts have of term k.

    With signs + + - - + + - - ... that is a sum in the memory of b_{k+2}, as on the way forward. Few nodes have
    gradients where few quantiles are taken, and t_k is made for these alone.
    """
    coefficients = np.zeros((max(map(len, series)), len(parts)))
    for h, own in enumerate(series):
        coefficients[: len(own), h] = own
    coefficients[2::4] *= -1
    coefficients[3::4] *= -1
    has = np.zeros(len(parts[0]), bool)
    for part in parts:
        for column in part.T:  # long rows: many times faster than part.any(axis=1)
            has |= column != 0
    moved = np.flatnonzero(has)
    stacked = np.stack([part[moved].ravel() for part in parts])
    even, odd = 2.0 * back, -2.0 * back
    one, two = np.zeros_like(parts[0]), np.zeros_like(parts[0])
    for start in reversed(range(0, len(coefficients), _TERMS)):
        terms = coefficients[start : start + _TERMS] @ stacked  # several at a time: memory is what takes time here
        for k in reversed(range(start, start + len(terms))):
            two[moved] += terms[k - start].reshape(len(moved), -1)
            two += (odd if k % 2 else even if k else back) @ one
            one, two = two, one
    return one
