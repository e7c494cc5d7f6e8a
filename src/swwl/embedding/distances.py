"""Pairwise distances: rows of embeddings -> the matrices that kernels are made of. Double precision from here."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.parallel import n_workers

# Bytes of one block of columns brought to double precision at a time.
_BLOCK_BYTES = 2**26
# For so few rows, differences in blocks that fit the cache take less time than a matrix product and its norms.
_FEW_ROWS = 2
_FEW_BLOCK_BYTES = 2**20
# Fewer numbers than this are compared before the first thread has started.
_FEW_NUMBERS = 2**18


def pairwise_distances(
    first: ArrayLike, second: ArrayLike | None = None, *, r: int = 2, squared: bool = False
) -> NDArray[np.float64]:
    r"""Return :math:`\|a_i - b_j\|_r` for all rows of two sets of embeddings.

    For r = 2 this is a matrix product, :math:`\|a\|^2 + \|b\|^2 - 2 a^\top b`, taken in double precision after the
    mean has been subtracted: the absolute error of a squared distance is some :math:`10^{-15}` of the spread.

    Parameters
    ----------
    first : array-like of shape (N, k)
    second : array-like of shape (M, k), optional
        By default ``first`` again: the result is then exactly symmetric, with a zero diagonal, at half the work.
    r : {1, 2}
        Order of the norm: that of the embedding.
    squared : bool
        Whether to return squared distances (saves the root for r = 2).

    Returns
    -------
    ndarray of shape (N, N) or (N, M), float64

    Examples
    --------
    >>> pairwise_distances([[0.0, 0.0], [3.0, 4.0]])
    array([[0., 5.],
           [5., 0.]])
    >>> pairwise_distances([[0.0, 0.0]], [[3.0, 4.0]], r=1)
    array([[7.]])
    """
    a = _check(first, "first")
    b = a if second is None else _check(second, "second")
    if a.shape[1] != b.shape[1]:
        raise InputError(f"Embeddings have different lengths: {a.shape[1]} in first, {b.shape[1]} in second.")
    if r not in (1, 2):
        raise InputError(f"r must be 1 or 2, not {r!r}.")
    few = second is not None and r == 2 and len(a) <= _FEW_ROWS
    width = max(1, (_FEW_BLOCK_BYTES if few else _BLOCK_BYTES) // (8 * (len(a) + len(b))))
    blocks = [slice(start, start + width) for start in range(0, a.shape[1], width)]
    if r == 1:
        distances = np.zeros((len(a), len(b)))
        for block in blocks:
            distances += scipy.spatial.distance.cdist(a[:, block], b[:, block], "cityblock")
        return np.square(distances, out=distances) if squared else distances
    result = _squared_differences(a, b, blocks) if few else _squared(a, b, blocks, symmetric=second is None)
    return result if squared else np.sqrt(result, out=result)


def half_squares_back(row: AnyArray, others: AnyArray, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the gradient in a row of what is made of :math:`\tfrac12\|row - b_j\|^2`, in double precision, by blocks.

    Parameters
    ----------
    row : ndarray of shape (k,)
    others : ndarray of shape (N, k)
    gradient : ndarray of shape (N, m)
        In half the squared distances, of m functions.

    Returns
    -------
    ndarray of shape (k, m)

    Examples
    --------
    >>> half_squares_back(np.array([3.0, 4.0]), np.zeros((1, 2)), np.array([[2.0]])).tolist()
    [[6.0], [8.0]]
    """
    found = np.outer(np.asarray(row, dtype=np.float64), gradient.sum(axis=0))
    width = max(1, _FEW_BLOCK_BYTES // (8 * len(others)))
    for start in range(0, len(found), width):
        block = slice(start, start + width)
        found[block] -= others[:, block].T.astype(np.float64) @ gradient
    return found


def _check(rows: ArrayLike, name: str) -> AnyArray:
    array = np.asarray(rows)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name} must hold embeddings as rows, (N, k), but has shape {array.shape}.")
    return array


def _squared_differences(a: AnyArray, b: AnyArray, blocks: list[slice]) -> NDArray[np.float64]:
    squared = np.zeros((len(a), len(b)))
    few = a.astype(np.float64)

    def fill(rows: slice) -> None:
        for block in blocks:
            for row, result in zip(few[:, block], squared, strict=True):
                difference = b[rows, block] - row
                result[rows] += np.einsum("ij,ij->i", difference, difference)

    if b.size <= _FEW_NUMBERS:
        fill(slice(None))
        return squared
    n_threads = n_workers(-1, most=4)
    edges = np.linspace(0, len(b), n_threads + 1).astype(int)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(fill, map(slice, edges[:-1], edges[1:])))
    return squared


def _squared(a: AnyArray, b: AnyArray, blocks: list[slice], symmetric: bool) -> NDArray[np.float64]:
    products = np.zeros((len(a), len(b)))
    norms_a, norms_b = np.zeros(len(a)), np.zeros(len(b))
    for block in blocks:
        # Any point amid the rows will do as center, so its own rounding does not matter.
        center = b[:, block].mean(axis=0).astype(np.float64)
        left = a[:, block] - center
        right = left if symmetric else b[:, block] - center
        # NumPy sees a matrix times its own transpose, and does half the work.
        products += left @ right.T
        if not symmetric:
            norms_a += np.einsum("ij,ij->i", left, left)
            norms_b += np.einsum("ij,ij->i", right, right)
    if symmetric:
        norms_a = norms_b = products.diagonal().copy()
    for row, norm in zip(products, norms_a, strict=True):
        # The norms are added to each other first, so that rounding is the same on both sides of the diagonal.
        row *= -2
        row += norms_b + norm
        np.maximum(row, 0, out=row)
    return products
