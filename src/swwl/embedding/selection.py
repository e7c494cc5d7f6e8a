r"""Values of given ranks among many, without sorting all of them: compiled by numba, where that is installed.

Receives projections from ``sliced.py``. A row is counted into bins, and only bins that hold a rank that is asked for
are sorted. What comes out is what a sort would have put there, so it makes no difference to results who finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]
Kernel = Callable[[Floats, Floats, Floats, Integers, int, Floats, NDArray[np.bool_]], None]

# Some four values a bin, in no more bins than numbers of 16 bits tell apart and the cache holds.
_PER_BIN, _MOST_BINS = 4, 32_768
# Values of a bin that are still sorted here, by comparing each with each, and comparisons per value of a row. A row
# that needs fuller bins, as those of graded meshes do, is sorted as a whole; where a quarter of them is, so are
# eight more meshes.
_MOST_IN_BIN, _MOST_COMPARED, _MORE_SORTED = 64, 2, 8
# With fewer values for every quantile nearly all bins are needed, and a sort is quicker.
_LEAST_PER_QUANTILE = 50
# Values that a process sorts before it loads numba: half a second of work, which is what loading takes.
_SORTED_FIRST = 200_000_000

_lock = Lock()


class _Work:
    values = 0  # sorted so far


def kernel_for(n_rows: int, n_values: int, n_quantiles: int) -> Kernel | None:
    """Return what selects from so many rows of so many values; None where they are to be sorted.

    A process that sorts little does not load the compiler for it.

    Examples
    --------
    >>> kernel_for(50, 1000, 500) is None
    True
    """
    if n_values < _LEAST_PER_QUANTILE * n_quantiles:
        return None
    if _Work.values < _SORTED_FIRST:
        _Work.values += n_rows * n_values
        return None
    with _lock:  # one thread compiles, the others wait for it
        return kernel()


@cache
def kernel() -> Kernel | None:
    """Return :func:`select_rows` as machine code.

    None without numba, or where its own ``NUMBA_DISABLE_JIT=1`` switches it off. The code is kept on disk: only the
    first process after an installation has to compile.
    """
    try:
        import numba
        from numba.extending import register_jitable
    except ImportError:
        return None
    if numba.config.DISABLE_JIT:
        return None
    for part in (_count, _mark, _collect, _ordered, _sort_eight, _sort_some):
        register_jitable(part)
    numbers, flags, matrix = numba.float32[::1], numba.boolean[::1], numba.float32[:, ::1]
    signature = numba.void(matrix, numbers, numbers, numba.int32[::1], numba.int64, matrix, flags)
    try:
        compiled: Kernel = numba.njit(signature, nogil=True, cache=True)(select_rows)
    except RuntimeError:  # no folder to keep it in may be written to
        compiled = numba.njit(signature, nogil=True)(select_rows)
    return compiled


def selected(rows: Floats, ranks: Integers, select: Kernel) -> Floats:
    """Return the values of given ranks in every row.

    Parameters
    ----------
    rows : ndarray of shape (P, n), float32
        In C order. Some rows may be sorted in place: those with infinite values, or crowded ones.
    ranks : ndarray of shape (R,), int32
        From 0 to n - 1, rising.
    select : callable
        From :func:`kernel_for`, or :func:`select_rows` itself.

    Returns
    -------
    ndarray of shape (P, R), float32

    Examples
    --------
    >>> rows = np.array([[3.0, 1.0, 2.0, 5.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
    >>> selected(rows, np.array([0, 2], np.int32), select_rows).tolist()
    [[1.0, 3.0], [0.0, 0.0]]
    """
    found = np.empty((len(rows), len(ranks)), np.float32)
    n_bins = min(_MOST_BINS, max(1, rows.shape[1] // _PER_BIN))
    low, high = rows.min(axis=1), rows.max(axis=1)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # Rounded three times on the way to its bin, the largest value is not to leave the last one.
        scale = ((1 - 1e-6) * n_bins / (high.astype(np.float64) - low)).astype(np.float32)
        left = ~(np.isfinite(scale) & np.isfinite(high - low))
    select(rows, low, scale, ranks, n_bins, found, left)
    if 4 * np.count_nonzero(left) > len(rows):
        _Work.values = _SORTED_FIRST - _MORE_SORTED * rows.size
    for p in np.flatnonzero(left):
        rows[p].sort()
        found[p] = rows[p, ranks]
    return found


def select_rows(
    rows: Floats, low: Floats, scale: Floats, ranks: Integers, n_bins: int, found: Floats, left: NDArray[np.bool_]
) -> None:
    """Write the values of given ranks in every row to ``found``, except in rows that are left, or to be left, alone."""
    n = rows.shape[1]
    bins, counts = np.empty(n, np.uint16), np.empty(n_bins, np.int32)
    needed, start = np.empty(n_bins, np.uint8), np.empty(n_bins, np.int32)
    groups = np.empty((len(ranks) + 1, 4), np.int32)
    which = np.empty(n + 1, np.int32)
    few = np.empty(n + 8 * len(ranks), np.float32)
    ordered = np.empty(_MOST_IN_BIN, np.float32)
    for p in range(len(rows)):
        if left[p]:
            continue
        row = rows[p]
        _count(row, low[p], scale[p], bins, counts)
        n_groups = _mark(counts, ranks, _MOST_COMPARED * n, needed, start, groups)
        if n_groups < 0:
            left[p] = True
            continue
        few[: groups[n_groups, 0]] = np.inf
        _collect(row, bins, needed, start, which, few)
        for g in range(n_groups):
            first, count, below = groups[g, 0], groups[g, 1], groups[g, 2]
            if count <= 8:
                _sort_eight(few, first, ordered)
            else:
                _sort_some(few, first, count, ordered)
            for k in range(groups[g, 3], groups[g + 1, 3]):
                found[p, k] = ordered[ranks[k] - below]


def _count(row: Floats, low: np.float32, scale: np.float32, bins: NDArray[np.uint16], counts: Integers) -> None:
    """Find the bin of every value, and count the values of every bin."""
    for i in range(len(row)):
        bins[i] = np.uint16(np.int32((row[i] - low) * scale))
    counts[:] = 0
    for i in range(len(row)):
        counts[bins[i]] += np.int32(1)


def _mark(
    counts: Integers, ranks: Integers, most: int, needed: NDArray[np.uint8], start: Integers, groups: Integers
) -> int:
    """Find the bins that hold the ranks; return how many there are, or -1 if they hold too many values.

    Each has a row of ``groups``: where its values are to be put, how many it holds, how many values lie below, and its
    first rank. Places are multiples of eight.
    """
    needed[:] = 0
    k, b, below, total, group, compared = 0, 0, 0, 0, 0, 0
    while k < len(ranks):
        end = below + counts[b]
        while end <= ranks[k]:
            b, below = b + 1, end
            end += counts[b]
        compared += (end - below) ** 2
        if end - below > _MOST_IN_BIN or compared > most:
            return -1
        needed[b], start[b] = 1, total
        groups[group, 0], groups[group, 1], groups[group, 2], groups[group, 3] = total, end - below, below, k
        group += 1
        total += (end - below + 7) // 8 * 8
        while k < len(ranks) and ranks[k] < end:
            k += 1
        b, below = b + 1, end
    groups[group, 0], groups[group, 3] = total, k
    return group


def _collect(
    row: Floats, bins: NDArray[np.uint16], needed: NDArray[np.uint8], start: Integers, which: Integers, few: Floats
) -> None:
    """Put the values of the bins that are needed at their places."""
    count = 0
    for i in range(len(row)):  # no branch: it would be guessed wrong too often
        which[count] = i
        count += int(needed[bins[i]])
    for i in which[:count]:
        place = start[bins[i]]
        few[place] = row[i]
        start[bins[i]] = place + np.int32(1)


def _ordered(a: np.float32, b: np.float32) -> tuple[np.float32, np.float32]:
    return (a if a < b else b), (b if a < b else a)


def _sort_eight(few: Floats, first: int, ordered: Floats) -> None:
    """Sort eight values by Batcher's network of 19 comparisons."""
    a, b, c, d = few[first], few[first + 1], few[first + 2], few[first + 3]
    e, f, g, h = few[first + 4], few[first + 5], few[first + 6], few[first + 7]
    (a, c), (b, d), (e, g), (f, h) = _ordered(a, c), _ordered(b, d), _ordered(e, g), _ordered(f, h)
    (a, e), (b, f), (c, g), (d, h) = _ordered(a, e), _ordered(b, f), _ordered(c, g), _ordered(d, h)
    (a, b), (c, d), (e, f), (g, h) = _ordered(a, b), _ordered(c, d), _ordered(e, f), _ordered(g, h)
    (c, e), (d, f) = _ordered(c, e), _ordered(d, f)
    (b, e), (d, g) = _ordered(b, e), _ordered(d, g)
    (b, c), (d, e), (f, g) = _ordered(b, c), _ordered(d, e), _ordered(f, g)
    ordered[0], ordered[1], ordered[2], ordered[3] = a, b, c, d
    ordered[4], ordered[5], ordered[6], ordered[7] = e, f, g, h


def _sort_some(few: Floats, first: int, count: int, ordered: Floats) -> None:
    """Sort by counting for every value how many lie below; of equal ones, how many stand before."""
    for i in range(count):
        value = few[first + i]
        rank = 0
        for j in range(i):
            rank += few[first + j] <= value
        for j in range(i + 1, count):
            rank += few[first + j] < value
        ordered[rank] = value
