"""Sparse products added to an array in place; the one file that knows scipy's insides.

scipy's public functions always make a new array, and memory is what the large Weisfeiler-Lehman steps spend time on.
``make bench`` measures what it gives beside the plain expression. Where scipy moves the function away, the plain
expression takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

try:
    from scipy.sparse import _sparsetools

    _matvec, _matvecs = _sparsetools.csr_matvec, _sparsetools.csr_matvecs
except (ImportError, AttributeError):  # pragma: no cover - a scipy that is not out yet
    _matvec = _matvecs = None


def scaled(matrix: sparse.csr_array, factor: float, features: NDArray[Any]) -> sparse.csr_array:
    """Return a multiple of the matrix to be added with :func:`add_product` to features of this shape and type.

    It is complex where features have two columns: one complex column is faster than two real ones.
    """
    data = matrix.data.astype(features.dtype) * features.dtype.type(factor)
    if features.shape[1] == 2 and _matvec is not None:
        data = data.astype(np.result_type(data, np.complex64))
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def add_product(matrix: sparse.csr_array, features: NDArray[Any], result: NDArray[Any]) -> None:
    """Add a matrix of :func:`scaled` times features (n, c) to the result (n, c), in place; both in C order.

    Examples
    --------
    >>> shift = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> x, y = np.array([[1.0], [2.0]]), np.array([[10.0], [20.0]])
    >>> add_product(scaled(shift, 2.0, x), x, y)
    >>> y.ravel().tolist()
    [14.0, 22.0]
    """
    if _matvec is None:
        result += matrix @ features
        return
    x, y = (array.reshape(-1).view(matrix.dtype) for array in (features, result))
    structure = (*matrix.shape, matrix.indptr, matrix.indices, matrix.data)
    if len(x) == matrix.shape[0]:
        _matvec(*structure, x, y)
    else:
        _matvecs(*structure[:2], len(x) // matrix.shape[0], *structure[2:], x, y)
