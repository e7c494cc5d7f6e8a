"""Which cases to simulate first: a few that stand for all."""

from __future__ import annotations

import heapq
import numbers
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.design.coverage import Coverage, share
from swwl.design.space import as_positions, check_count, chosen_table, design_rows
from swwl.embedding.distances import pairwise_distances
from swwl.errors import InputError
from swwl.formatting import number
from swwl.parallel import Progress
from swwl.storage.memory import MemoryLike
from swwl.tables.inputs import as_table

Array = NDArray[np.float64]

METHODS = ("imse", "support", "k-median", "maximin")
_BLOCK = 512


def select(
    X: Any,
    n: int,
    method: str = "imse",
    *,
    have: Any = None,
    group: str | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
    memory: MemoryLike = None,
) -> pd.DataFrame:
    """Choose cases to simulate before anything is known about their answers.

    Cases are points: eight whitened principal components of a mesh's skin, and standardized numbers.

    Parameters
    ----------
    X : DataFrame, list of graphs or meshes, or array of shape (N, m)
        The pool: columns of meshes and inputs, without targets.
    n : int
        How many to choose.
    method : {"imse", "support", "k-median", "maximin"}
        "imse" chooses one after the other the case that tells a smooth process most about all cases of the pool, see
        :class:`swwl.design.coverage.Coverage`; "support" points repeat the distribution of the pool, crowds and all
        (energy distance): for averages over it. "k-median" reduces the mean distance of all cases to the nearest chosen
        one: for looking at a few that stand for groups. "maximin" takes the case farthest from all that are chosen,
        outliers first: for clean pools that are known to be lopsided.
    have : row numbers, mask, or table, optional
        Cases that are simulated already: rows of ``X``, which are not chosen again, or a table of others.
    group, n_jobs, random_state, progress, memory
        See :func:`swwl.design.space.design_rows`.

    Returns
    -------
    DataFrame
        ``row`` (counted from 0), ``rank`` (from 1), ``score`` (the share of the variance that is left which it takes
        away; the energy distance with it; how far the mean distance to the nearest chosen case falls; for "maximin" the
        distance to it) and ``why``, in words. For "imse", ``attrs["outlook"]`` says what is expected of the choice, see
        :class:`swwl.design.coverage.Outlook`.

    Examples
    --------
    >>> pool = np.r_[np.zeros((5, 1)), np.full((3, 1), 10.0)] + 0.01 * np.arange(8)[:, None]
    >>> select(pool, 2)["row"].tolist()  # one of each group
    [4, 7]
    >>> select(pool, 1, have=[2])["row"].tolist()
    [7]
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
    X = as_table(X)
    check_count(n, len(X))
    options: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state, "progress": progress, "memory": memory}
    rows, known, taken = _points(X, have, {"group": group} | options)
    free = np.setdiff1d(np.arange(len(rows)), taken)
    n = check_count(n, len(free), len(taken))
    if method == "imse":
        return most_telling(rows, n, known, free, random_state)
    choose = {"support": support_points, "k-median": greedy_medians, "maximin": farthest_first}[method]
    return choose(rows, n, known, free)


def most_telling(rows: Array, n: int, known: Array, free: NDArray[np.intp], seed: int = 0) -> pd.DataFrame:
    """Choose rows that leave a smooth process with the least variance over the pool, one after the other.

    Parameters are those of :func:`greedy_medians`, and the seed of what stands for a large pool.
    """
    cover = Coverage(rows, known, seed)
    outlook = cover.outlook(n, free, seed)
    chosen, scores, reasons = [], [], []
    for _ in range(n):
        gains = cover.gains()
        row = int(free[np.argmax(gains[free])])
        cover.choose(row)
        free = free[free != row]
        chosen.append(row)
        scores.append(float(gains[row]))
        reasons.append(f"most informative about the pool: removes {share(gains[row])} of the open variance")
    found = chosen_table(chosen, scores, reasons)
    found.attrs["outlook"] = replace(outlook, after=float(np.sqrt(cover.left())))
    return found


def support_points(rows: Array, n: int, known: Array, free: NDArray[np.intp]) -> pd.DataFrame:
    r"""Choose rows whose distribution is nearest to that of the pool, one after the other.

    Near is a small energy distance, :math:`2\,E|X - Y| - E|X - X'| - E|Y - Y'|` of pool X and choices Y.
    Parameters are those of :func:`greedy_medians`.
    """
    parts = [rows[part] for part in _parts(np.arange(len(rows)))]
    mean = np.concatenate([pairwise_distances(part, rows).mean(axis=1) for part in parts])
    held, total, crossed = len(known), 0.0, 0.0
    to_chosen = np.zeros(len(rows))
    if held:
        to_chosen = np.concatenate([pairwise_distances(part, known).sum(axis=1) for part in parts])
        total = float(pairwise_distances(known, known).sum())
        crossed = float(pairwise_distances(known, rows).mean(axis=1).sum())
    own = float(mean.mean())
    chosen: list[int] = []
    scores, reasons = [], []
    for _ in range(n):
        k = held + len(chosen) + 1
        after = 2 * (crossed + mean) / k - (total + 2 * to_chosen) / k**2 - own
        row = int(free[np.argmin(after[free])])
        total += 2 * float(to_chosen[row])
        crossed += float(mean[row])
        to_chosen += pairwise_distances(rows[[row]], rows)[0]
        free = free[free != row]
        chosen.append(row)
        scores.append(float(after[row]))
        reasons.append(f"repeats the distribution of the pool: the energy distance is {number(float(after[row]))}")
    return chosen_table(chosen, scores, reasons)


def greedy_medians(rows: Array, n: int, known: Array, free: NDArray[np.intp]) -> pd.DataFrame:
    """Choose rows that most reduce the sum of all distances to the nearest chosen row, one after the other.

    A gain can only shrink as rows are chosen, so only those that might be the largest are computed again.

    Parameters
    ----------
    rows : ndarray of shape (N, K)
    n : int
    known : ndarray of shape (H, K)
        What is chosen already; may be empty.
    free : ndarray of int
        Positions that may be chosen.
    """
    chosen, scores, reasons = [], [], []
    nearest = _nearest(rows, known)
    if not len(known):
        sums = np.concatenate([pairwise_distances(rows[part], rows).sum(axis=1) for part in _parts(free)])
        first = int(free[sums.argmin()])
        chosen.append(first)
        scores.append(float(sums.mean() - sums.min()) / len(rows))
        reasons.append("in the middle of all cases")
        nearest = _nearest(rows, rows[[first]])
    heap = [
        (-float(gain), int(row))
        for part in _parts(free)
        for row, gain in zip(part, _gains(rows, part, nearest), strict=True)
        if int(row) not in chosen
    ]
    heapq.heapify(heap)
    while len(chosen) < n:
        row = heapq.heappop(heap)[1]
        gain = float(_gains(rows, np.array([row]), nearest)[0])
        if heap and gain < -heap[0][0] - 1e-12:
            heapq.heappush(heap, (-gain, row))
            continue
        distances = pairwise_distances(rows[[row]], rows)[0]
        closer, before = int((distances < nearest).sum()), float(nearest.mean())
        nearest = np.minimum(nearest, distances)
        chosen.append(row)
        scores.append(gain / len(rows))
        cases = "1 case" if closer == 1 else f"{closer} cases"
        reasons.append(
            f"nearer than any chosen one to {cases}; the mean distance falls from {number(before)} to "
            f"{number(float(nearest.mean()))}"
        )
    return chosen_table(chosen, scores, reasons)


def farthest_first(rows: Array, n: int, known: Array, free: NDArray[np.intp]) -> pd.DataFrame:
    """Choose the row farthest from all that are chosen, one after the other; the first is nearest to the middle.

    Parameters are those of :func:`greedy_medians`.
    """
    chosen, scores, reasons = [], [], []
    nearest = _nearest(rows, known)
    for rank in range(n):
        if rank == 0 and not len(known):
            row = int(free[((rows[free] - rows.mean(axis=0)) ** 2).sum(axis=1).argmin()])
            score, why = 0.0, "in the middle of all cases"
        else:
            row = int(free[nearest[free].argmax()])
            score = float(nearest[row])
            why = f"farthest from what is chosen and known: {number(score)} from the nearest"
        nearest = np.minimum(nearest, pairwise_distances(rows[[row]], rows)[0])
        free = free[free != row]
        chosen.append(row)
        scores.append(score)
        reasons.append(why)
    return chosen_table(chosen, scores, reasons)


def _points(X: Any, have: Any, options: dict[str, Any]) -> tuple[Array, Array, NDArray[np.intp]]:
    """Return the pool as points, those of known cases, and which of the pool are known."""
    if have is None or _are_rows(have):
        (rows,) = design_rows(X, **options)
        taken = as_positions(have, len(rows), "have")
        return rows, rows[taken], taken
    rows, known = design_rows(X, have, **options)
    return rows, known, np.empty(0, dtype=np.intp)


def _are_rows(have: Any) -> bool:
    """Whether cases are named by their rows, or by true and false; refuse numbers that are not whole."""
    if isinstance(have, (pd.DataFrame, dict)):
        return False
    if isinstance(have, numbers.Number):
        return True
    odd = [one for one in have if isinstance(one, numbers.Real) and not isinstance(one, (numbers.Integral, np.bool_))]
    if odd and getattr(have, "name", None) is None:  # a column that has a name is a table
        raise InputError(f"have holds {odd[0]}, but row numbers are whole; give cases as a table.")
    if isinstance(have, (np.ndarray, pd.Series, pd.Index)):
        return bool(np.ndim(have) == 1 and np.asarray(have).dtype.kind in "biu")
    return all(isinstance(one, (numbers.Integral, np.bool_)) for one in have)


def _nearest(rows: Array, known: Array) -> Array:
    if not len(known):
        return np.full(len(rows), np.inf)
    parts = _parts(np.arange(len(rows)))
    return np.concatenate([pairwise_distances(rows[part], known).min(axis=1) for part in parts])


def _gains(rows: Array, candidates: NDArray[np.intp], nearest: Array) -> Array:
    """Return by how much the sum of distances to the nearest falls with each candidate."""
    return np.asarray(np.maximum(nearest - pairwise_distances(rows[candidates], rows), 0.0).sum(axis=1))


def _parts(positions: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [positions[start : start + _BLOCK] for start in range(0, len(positions), _BLOCK)]
