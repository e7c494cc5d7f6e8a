"""Cases as points: what tells two of them apart before anything is simulated.

A mesh is its leading principal components, each in units of its standard deviation, a number is standardized: so every
variation of the cases counts alike, and none is drowned by a larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.distances import pairwise_distances
from swwl.errors import InputError
from swwl.kernels.elliptic import Elliptic
from swwl.kernels.shared import fit_kernels, represent_columns
from swwl.parallel import Progress
from swwl.regression.candidates import shape_factors
from swwl.storage.memory import MemoryLike
from swwl.tables.inputs import as_table, column

Array = NDArray[np.float64]

# Components of a mesh that count, and the least share of the first one's standard deviation that is more than noise.
N_COMPONENTS, _LEAST = 8, 1e-2
# How far the outcome of a simulation tells of others, in root mean square distances between cases.
_NEAR = 1 / 3
# Components are learned from so many cases at most.
_MOST_ROWS = 2000
_BLOCK = 512


def design_rows(
    *tables: Any,
    group: str | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
    memory: MemoryLike = None,
) -> list[Array]:
    """Return the cases of one or several tables as points of one space.

    Parameters
    ----------
    *tables : DataFrame, list of graphs, or array
        With the columns of the first; all together decide what is usual. Arrays are numbers.
    group : str, optional
        Compare this part of every mesh, see :meth:`swwl.Mesh.part`.
    n_jobs : int or None
        Threads that embed meshes.
    random_state : int
        Draws directions, and the cases that components are learned from where there are more than 2000.
    progress : callable, optional
        Called as ``progress(done, total)`` while meshes are embedded.
    memory : Memory or path, optional
        Where embeddings of mesh files are kept.

    Returns
    -------
    list of ndarray of shape (N, K)
        One per table.

    Examples
    --------
    >>> (rows,) = design_rows(pd.DataFrame({"speed": [1.0, 3.0], "load": [10.0, 30.0]}))
    >>> rows.tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """
    frames = [as_table(table) for table in tables]
    names = list(frames[0].columns)
    for frame in frames:
        if not len(frame):
            raise InputError("A table of cases has no rows.")
    together = pd.DataFrame(
        {name: pd.concat([column(frame, name, "The design") for frame in frames], ignore_index=True) for name in names}
    )
    varying = [name for name in names if _varies(together[name])]
    if not varying:
        raise InputError("All cases are the same: there is nothing to choose by.")
    together = together[varying]
    own: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state} | ({} if group is None else {"group": group})
    kernel = Elliptic(*shape_factors(together, N_COMPONENTS, **own))
    options: dict[str, Any] = {"progress": progress, "memory": memory}
    if len(together) <= _MOST_ROWS:
        found = fit_kernels([kernel], partial(column, together), **options)[0]
    else:
        some = np.random.default_rng(random_state).permutation(len(together))[:_MOST_ROWS]
        fit_kernels([kernel], partial(column, together.iloc[np.sort(some)]), memory=memory)
        found = represent_columns([kernel], partial(column, together), **options)[0]
    rows = np.hstack([_points(factor, own) for factor, own in zip(kernel.factors, found, strict=True)])
    return np.split(rows, np.cumsum([len(frame) for frame in frames])[:-1])


def success_chance(rows: Array, done: Array, failed: Array) -> Array:
    r"""Return the chance (N,) that simulations of cases succeed, by those that did and those that failed.

    It is :math:`(1 + s) / (1 + s + f)`, with s and f the sums of :math:`\exp(-d^2 / 2h^2)` over the distances d to
    cases that succeeded and failed, and h a third of the root mean square distance between all of them: 1 far from
    everything, a half at a single failure.

    Parameters
    ----------
    rows : ndarray of shape (N, K)
    done, failed : ndarray of shape (S, K), (F, K)

    Examples
    --------
    >>> rows = np.array([[0.0], [0.9], [1.0]])
    >>> success_chance(rows, rows[:1], rows[2:]).round(2).tolist()
    [1.0, 0.52, 0.5]
    """
    if not len(failed):
        return np.ones(len(rows))
    width = _NEAR * float(np.sqrt(2 * np.vstack([rows, done, failed]).var(axis=0).sum())) or 1.0
    parts = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
    s, f = (
        np.concatenate([np.exp(-0.5 * (pairwise_distances(part, own) / width) ** 2).sum(axis=1) for part in parts])
        for own in (done, failed)
    )
    return np.asarray((1 + s) / (1 + s + f))


def as_positions(rows: Any, n: int, what: str) -> NDArray[np.intp]:
    """Return rows of a table, given as numbers from 0 or as a mask, as positions; refuse what is out of range.

    Examples
    --------
    >>> as_positions([True, False, True], 3, "have").tolist(), as_positions([1], 3, "have").tolist()
    ([0, 2], [1])
    """
    given = np.asarray([] if rows is None else rows)
    if given.dtype == bool:
        if given.shape != (n,):
            raise InputError(f"{what} has {given.size} entries, but there are {n} cases.")
        return np.flatnonzero(given)
    if given.size == 0:
        return np.empty(0, dtype=np.intp)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InputError(f"{what} must hold row numbers from 0, or true and false for every case.")
    if given.min() < 0 or given.max() >= n:
        odd = given[(given < 0) | (given >= n)][0]
        raise InputError(f"{what} names row {odd}, but there are {n} cases, counted from 0.")
    return np.unique(given).astype(np.intp)


class TooFewCasesError(InputError):
    """More cases were requested than can be chosen.

    Attributes
    ----------
    available : int
        How many can be.
    """

    def __init__(self, message: str, available: int):
        super().__init__(message)
        self.available = available

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.available)


def as_many(choose: Callable[[int], pd.DataFrame], n: int) -> pd.DataFrame | None:
    """Return what ``choose`` chooses, given a number of cases: n, or as many as it can; None where that is none.

    Examples
    --------
    >>> def choose(n):
    ...     return pd.DataFrame({"row": range(check_count(n, 3))})
    >>> len(as_many(choose, 2)), len(as_many(choose, 5))
    (2, 3)
    """
    while n:
        try:
            return choose(n)
        except TooFewCasesError as error:
            n = error.available
    return None


def check_count(n: Any, available: int, excluded: int = 0) -> int:
    """Refuse a number of cases to choose that is none, or more than there are."""
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise InputError(f"n must be a whole number of at least 1, not {n!r}.")
    if n > available:
        less = f", {excluded} more are left out (training cases, copies, running or failed)" if excluded else ""
        raise TooFewCasesError(f"{n} cases were requested, but the pool has {available}{less}.", available)
    return int(n)


def chosen_table(rows: Sequence[int], scores: Sequence[float], reasons: Sequence[str]) -> pd.DataFrame:
    """Return choices as a table: row, rank from 1, score, why."""
    columns = {"row": np.array(rows, dtype=np.int64), "rank": np.arange(1, len(rows) + 1)}
    return pd.DataFrame(columns | {"score": np.array(scores, dtype=float), "why": list(reasons)})


def _varies(values: pd.Series) -> bool:
    """Whether a column says anything: not where it holds the same number everywhere."""
    if not pd.api.types.is_numeric_dtype(values):
        return True
    numbers = values.to_numpy(float)
    return bool(not np.isfinite(numbers).all() or np.ptp(numbers) > 0)


def _points(factor: Any, rows: Any) -> Array:
    """Return what a factor makes of a column, with graphs in units of the spread of their components."""
    vectors = np.asarray(factor.vectors(rows), dtype=np.float64)
    if factor.takes != "graphs":
        return vectors
    spread = vectors.std(axis=0)
    kept = np.flatnonzero(spread > _LEAST * spread.max(initial=0.0))[:N_COMPONENTS]
    return np.asarray((vectors[:, kept] - vectors[:, kept].mean(axis=0)) / spread[kept])
