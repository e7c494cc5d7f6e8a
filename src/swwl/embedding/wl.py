"""Continuous Weisfeiler-Lehman iterations, a graph -> one embedding per node; and their transpose.

Takes :class:`swwl.Graph`; hands (n, (H + 1) d) node embeddings to ``sliced.py``. :func:`wl_transposed` carries
gradients in them back to the features, for ``linear.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.graph import Graph

NORMALIZATIONS = ("count", "sum")

# Numbers that the Chebyshev recurrence takes at a time: few enough that a product is still in the cache when it is
# added, enough that starting one costs little.
_PIECE = 131_072
# Terms of a series, and rows, for which it is worth while to sort the rows of the matrix.
_LONG_SERIES, _LONG_COLUMN = 16, 4096


def neighbor_average(graph: Graph, normalization: str = "count", dtype: DTypeLike = np.float64) -> sparse.csr_array:
    r"""Return the matrix :math:`M` that replaces each node's features by an average over its neighbors.

    .. math:: M_{uv} = w(u, v) / \deg(u)

    Parameters
    ----------
    graph : Graph
    normalization : {"count", "sum"}
        What :math:`\deg` is: the number of neighbors, as the paper writes, or the sum of their edge weights,
        as PyTorch Geometric computes. The same where edges have no weights.
    dtype : float32 or float64

    Returns
    -------
    csr_array of shape (n, n)
        An isolated node (under "sum": one whose weights are all zero) keeps its features: its row is the
        identity's. PyTorch Geometric sets that average to zero, and so halves such features at each iteration.

    Examples
    --------
    >>> star = Graph([[0.0], [1.0], [2.0], [9.0]], [(0, 1), (0, 2)])
    >>> neighbor_average(star).toarray()
    array([[0. , 0.5, 0.5, 0. ],
           [1. , 0. , 0. , 0. ],
           [1. , 0. , 0. , 0. ],
           [0. , 0. , 0. , 1. ]])
    """
    adjacency = graph.adjacency
    neighbors = np.diff(adjacency.indptr)
    degree = neighbors.astype(np.float64)
    if graph.weighted and normalization == "sum":
        if adjacency.data.min(initial=0) < 0:
            raise InputError('normalization="sum" needs edge weights that are not negative; use "count".')
        degree = np.asarray(adjacency.sum(axis=1), np.float64).ravel()
    alone = degree == 0
    scale = 1 / np.where(alone, 1, degree)
    data = np.repeat(scale.astype(dtype), neighbors)
    if graph.weighted:
        data *= adjacency.data
    matrix = sparse.csr_array((data, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    if alone.any():
        matrix = (matrix + sparse.diags_array(alone.astype(dtype))).tocsr()
    return matrix


def is_averaging(graph: Graph, normalization: str) -> bool:
    """Whether every row of :func:`neighbor_average` is a true average: non-negative, with sum one.

    Then a shift of the features passes through all iterations unchanged.
    """
    return not graph.weighted or normalization == "sum"


def chebyshev_coefficients(power: int, tolerance: float = 0.0) -> NDArray[np.float64]:
    r"""Expand :math:`A^t`, :math:`A = (I + M)/2`, in Chebyshev polynomials of :math:`M`.

    With :math:`y = \cos\varphi`, :math:`((1 + y)/2)^t = \cos^{2t}(\varphi/2)`, so that exactly

    .. math:: A^t = \sum_{k=0}^{t} c_{t,k} T_k(M), \quad
              c_{t,0} = 4^{-t} \binom{2t}{t}, \quad c_{t,k} = 2 \cdot 4^{-t} \binom{2t}{t-k}.

    Parameters
    ----------
    power : int
        The exponent :math:`t`.
    tolerance : float
        The series is cut where what is left out sums to no more than this. As :math:`|T_k| \le 1` on the spectrum
        of :math:`M`, this bounds the error in the operator norm that the node degrees induce.

    Returns
    -------
    ndarray
        :math:`c_{t,0}, c_{t,1}, \dots`: positive, with sum one before the cut. About
        :math:`\sqrt{t \log(1/\mathrm{tolerance})}` of them are left.

    Examples
    --------
    >>> chebyshev_coefficients(2).round(12).tolist()
    [0.375, 0.5, 0.125]
    >>> len(chebyshev_coefficients(519, 1e-6)) - 1
    79
    """
    k = np.arange(power)
    ratios = (power - k) / (power + k + 1.0)
    coefficients = np.concatenate([[1.0], 2 * np.cumprod(ratios)])
    coefficients /= coefficients.sum()
    tails = np.cumsum(coefficients[::-1])[::-1]
    return coefficients[: np.count_nonzero(tails > tolerance)] if tolerance > 0 else coefficients


def side_by_side(rows: AnyArray) -> AnyArray:
    """Return features (c, n) as columns (n, c) in the layout that scipy multiplies fastest.

    One or three stay where they are and are multiplied one by one; two go together, see :func:`_times`; from four on
    they come in fours, with columns of zeros at the end.

    Examples
    --------
    >>> [side_by_side(np.ones((width, 9))).shape[1] for width in (1, 2, 3, 5)]
    [1, 2, 3, 8]
    """
    width, n_nodes = rows.shape
    if width in (1, 3):
        return rows.T
    columns = np.zeros((n_nodes, width if width == 2 else -(-width // 4) * 4), rows.dtype)
    copy_transposed(rows, columns[:, :width])
    return columns


def copy_transposed(source: AnyArray, target: AnyArray) -> None:
    """Copy an array (a, b) to one of shape (b, a), by pieces of the longer axis that stay in the cache."""
    if len(source) > len(target):
        source, target = source.T, target.T
    size = max(1, _PIECE // 8 // max(1, len(source)))
    for start in range(0, len(target), size):
        target[start : start + size] = source[:, start : start + size].T


def wl_iterations(
    matrix: sparse.csr_array,
    features: AnyArray,
    n_iterations: int,
    step: int = 1,
    tolerance: float = 0.0,
) -> list[AnyArray]:
    r"""Run :math:`F^{(h+1)} = \tfrac12 (F^{(h)} + M F^{(h)})` and keep :math:`h = 0, T, 2T, \dots, HT`.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        From :func:`neighbor_average`.
    features : ndarray of shape (n, c)
        Columns are independent of each other: graphs of one topology may stand side by side, bit for bit with
        the results that each would have alone.
    n_iterations : int
        :math:`H`.
    step : int
        :math:`T`.
    tolerance : float
        With a positive tolerance, large steps are taken by the Chebyshev series (see
        :func:`chebyshev_coefficients`) at the price of about :math:`\sqrt{HT}` products instead of :math:`HT`.
        Zero, a series no shorter than the recursion, or a matrix whose norm may exceed one (weights under
        "count") take the plain recursion.

    Returns
    -------
    list of H + 1 ndarrays of shape (n, c), in the dtype of ``features``

    Examples
    --------
    >>> from swwl import Graph
    >>> pair = neighbor_average(Graph([[0.0], [1.0]], [(0, 1)]))
    >>> [kept.ravel().tolist() for kept in wl_iterations(pair, np.array([[0.0], [1.0]]), 2)]
    [[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]]
    """
    if n_iterations == 0:
        return [features]
    series = chebyshev_series(matrix, n_iterations, step, tolerance)
    if series is not None:
        return [features, *_chebyshev_sums(matrix, features, series)]
    return [features, *_recursion(matrix, features, n_iterations, step)]


def chebyshev_series(
    matrix: sparse.csr_array, n_iterations: int, step: int, tolerance: float
) -> list[NDArray[np.float64]] | None:
    """Return the coefficients of every kept iteration but the first, or None where the plain recursion is taken."""
    if tolerance > 0 and step > 1:
        powers = [h * step for h in range(1, n_iterations + 1)]
        series = [chebyshev_coefficients(power, tolerance) for power in powers]
        if len(series[-1]) - 1 < powers[-1] and _norm_at_most_one(matrix):
            return series
    return None


def _norm_at_most_one(matrix: sparse.csr_array) -> bool:
    # M is similar to a symmetric matrix, and no eigenvalue exceeds the largest absolute row sum.
    return float(abs(matrix).sum(axis=1).max()) <= 1 + 1e-5


def _times(matrix: sparse.csr_array, factor: float, features: AnyArray) -> sparse.csr_array:
    """Return a multiple of the matrix for :func:`_product` with such features.

    Two real columns go through as one complex column: that takes half the time, with the same bits.
    """
    data = matrix.data.astype(features.dtype, copy=False)
    if factor != 1:
        data = data * features.dtype.type(factor)
    if features.shape[1] == 2 and features.flags.c_contiguous:
        data = data.astype(np.result_type(data, np.complex64))
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _product(matrix: sparse.csr_array, features: AnyArray) -> AnyArray:
    """Return the product of a matrix of :func:`_times`, or of rows of it, with features (n, c), in their layout."""
    if matrix.dtype != features.dtype:
        return (matrix @ features.view(matrix.dtype).ravel()).view(features.dtype).reshape(-1, 2)
    if features.flags.c_contiguous:
        return matrix @ features
    return np.array([matrix @ column for column in features.T]).T


def _recursion(matrix: sparse.csr_array, features: AnyArray, n_iterations: int, step: int) -> list[AnyArray]:
    half = features.dtype.type(0.5)
    matrix = _times(matrix, 1, features)
    kept = []
    current = features
    for _ in range(n_iterations):
        for _ in range(step):
            following = _product(matrix, current)
            following += current
            following *= half
            current = following
        kept.append(current)
    return kept


def _chebyshev_sums(matrix: sparse.csr_array, features: AnyArray, series: Sequence[AnyArray]) -> list[AnyArray]:
    """Sum several Chebyshev series of the same matrix; the sums have the layout of the features.

    A processor that guesses wrong where a row of the matrix ends loses as much time as the row takes, so rows go by
    their length. That leaves the order of additions in each of them, and all bits, as they are.
    """
    order = _by_length(matrix) if max(map(len, series)) >= _LONG_SERIES else None
    place = None
    if order is not None:
        place = np.empty_like(order)
        place[order] = np.arange(len(order), dtype=order.dtype)
        matrix = matrix[order]
        matrix = sparse.csr_array((matrix.data, place.take(matrix.indices), matrix.indptr), shape=matrix.shape)
    if features.flags.c_contiguous or features.size <= _PIECE // 4:
        return [_taken(total, place) for total in _recurrence(matrix, _taken(features, order), series)]
    sums = [np.empty_like(features) for _ in series]
    for k in range(features.shape[1]):
        own = _taken(np.ascontiguousarray(features[:, k : k + 1]), order)  # a smaller set to stay in the cache
        for whole, total in zip(sums, _recurrence(matrix, own, series), strict=True):
            whole[:, k : k + 1] = _taken(total, place)
    return sums


def _by_length(matrix: sparse.csr_array) -> NDArray[np.signedinteger] | None:
    """Return the rows in the order of how many entries they have; None where it would not help."""
    lengths = np.diff(matrix.indptr)
    turns = np.count_nonzero(lengths[1:] != lengths[:-1])
    if len(lengths) < _LONG_COLUMN or 8 * turns < len(lengths):  # few, or mostly as long as the one before
        return None
    narrow = lengths.astype(np.uint16) if lengths.max() < 2**16 else lengths  # sorted by counting, in no time
    return np.argsort(narrow, kind="stable").astype(matrix.indices.dtype)


def _taken(features: AnyArray, rows: AnyArray | None) -> AnyArray:
    """Return some rows of features, in the same layout; all where none are named."""
    if rows is None:
        return features
    if features.flags.c_contiguous:
        return features.take(rows, axis=0)
    return np.array([column.take(rows) for column in features.T]).T


def _recurrence(matrix: sparse.csr_array, features: AnyArray, series: Sequence[AnyArray]) -> list[AnyArray]:
    """Sum several Chebyshev series of the same matrix with one recurrence T_{k+1} = 2 M T_k - T_{k-1}.

    With signs + + - - + + - - ... the terms U_k = ±T_k follow by U_{k+1} = U_{k-1} ± 2 M U_k, in the memory of
    U_{k-1}. That is done for some rows at a time, and two terms at a time are added to the sums, in smaller pieces:
    memory, not arithmetic, is what takes time here.
    """
    length = max(map(len, series))
    coefficients = np.zeros((len(series), length + length % 2), features.dtype)
    for row, c in zip(coefficients, series, strict=True):
        row[: len(c)] = c
    coefficients[:, 2::4] *= -1
    coefficients[:, 3::4] *= -1
    even = features.copy(order="K")
    odd = _product(_times(matrix, 1, even), even)
    sums = [np.zeros_like(even) for _ in series]
    size = max(1, _PIECE // even.shape[1])
    blocks = [slice(start, start + size) for start in range(0, len(even), size)]
    parts = [matrix[rows] for rows in blocks] if len(blocks) > 1 else [matrix]
    minus, plus = ([_times(part, factor, even) for part in parts] for factor in (-2, 2))
    scratch = np.empty(min(_PIECE // 4, even.size), even.dtype)
    flat = [array.ravel(order="K") for array in (even, odd, *sums)]
    for k in range(0, coefficients.shape[1], 2):
        if k:
            for rows, part in zip(blocks, minus, strict=True):
                _add(_product(part, odd), even[rows])
        live = [(n, row[k : k + 2]) for n, row in enumerate(coefficients, 2) if row[k]]
        for rows, part in zip(blocks, plus, strict=True):
            if k:
                _add(_product(part, even), odd[rows])
            stop = min(rows.stop, len(even)) * even.shape[1]
            for start in range(rows.start * even.shape[1], stop, len(scratch)):
                piece = slice(start, min(start + len(scratch), stop))
                room = scratch[: piece.stop - start]
                for n, pair in live:
                    for term, coefficient in zip(flat[:2], pair, strict=True):
                        _add(np.multiply(term[piece], coefficient, out=room), flat[n][piece])
    return sums


def _add(values: AnyArray, target: AnyArray) -> None:
    """Add to a part of an array; ``array[rows] += values`` would copy the result onto itself."""
    np.add(target, values, out=target)


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
