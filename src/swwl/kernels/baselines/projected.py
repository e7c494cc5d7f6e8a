r"""Projected Wasserstein distances: plans found on a line, their cost paid in the full space."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.kernels.baselines.common import pair_matrix
from swwl.parallel import Progress

Cloud = tuple[NDArray[np.float64], NDArray[np.float64]]
# Points sorted along every direction (P, n, k), their masses in that order (P, n) or None where all are equal, and
# the mean squared norm.
Sorted = tuple[NDArray[np.float64], NDArray[np.float64] | None, float]


def merge(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the plan between two sorted lists of masses that keeps the order: rows, columns and masses.

    Examples
    --------
    >>> [part.tolist() for part in merge(np.array([0.5, 0.5]), np.array([0.25, 0.75]))]
    [[0, 0, 1], [0, 1, 1], [0.25, 0.25, 0.5]]
    """
    ends_first, ends_second = np.cumsum(first), np.cumsum(second)
    ends = np.sort(np.concatenate([ends_first[:-1], ends_second[:-1], [1.0]]))
    mass = np.diff(ends, prepend=0.0)
    middle = ends - 0.5 * mass
    rows = np.searchsorted(ends_first[:-1], middle)
    columns = np.searchsorted(ends_second[:-1], middle)
    kept = mass > 0
    return rows[kept], columns[kept], mass[kept]


@lru_cache(maxsize=4096)
def merge_equal(n: int, m: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the plan of :func:`merge` between n equal masses and m equal ones, with whole numbers until the end."""
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    starts = np.concatenate([[0], ends[:-1]])
    return starts // m, starts // n, (ends - starts) / (n * m)


def line_order(cloud: Cloud, directions: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return how the points of a cloud are sorted on every direction, (n, P); directions are (k, P)."""
    return np.argsort(cloud[0] @ directions, axis=0, kind="stable")


def sort_cloud(cloud: Cloud, directions: NDArray[np.float64]) -> Sorted:
    """Sort a cloud along every direction.

    Parameters
    ----------
    cloud : (points (n, k), masses (n,))
    directions : ndarray of shape (k, P)
        Unit columns.
    """
    points, mass = cloud
    order = line_order(cloud, directions).T
    equal = bool((mass == mass[0]).all())
    return points[order], None if equal else mass[order], float(mass @ (points**2).sum(axis=1))


def projected_distance(first: Sorted, second: Sorted) -> float:
    r"""Return the projected Wasserstein distance of two sorted clouds.

    .. math:: d^2 = \frac1P \sum_p \sum_{u, v} \pi^{(p)}_{uv} \|x_u - y_v\|^2,

    with :math:`\pi^{(p)}` the optimal plan between the projections on direction p.
    """
    (x, a, squares_x), (y, b, squares_y) = first, second
    if a is None and b is None:
        rows, columns, mass = merge_equal(x.shape[1], y.shape[1])
        products = np.einsum("pik,pik,i->", x[:, rows], y[:, columns], mass)
    else:
        products = 0.0
        for p in range(len(x)):
            n, m = x.shape[1], y.shape[1]
            rows, columns, mass = merge(
                np.full(n, 1 / n) if a is None else a[p], np.full(m, 1 / m) if b is None else b[p]
            )
            products += np.einsum("ik,ik,i->", x[p, rows], y[p, columns], mass)
    return float(np.sqrt(max(0.0, squares_x + squares_y - 2 * products / len(x))))


def mean_plan(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    first_order: NDArray[np.intp],
    second_order: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return the average over directions of the plans between the projections of two clouds.

    Parameters
    ----------
    first, second : ndarrays of shape (n,) and (m,)
        Masses.
    first_order, second_order : ndarrays of shape (n, P) and (m, P)
        How the points of each cloud are sorted on every direction, from :func:`line_order`.

    Returns
    -------
    ndarray of shape (n, m)
    """
    n, m, number = len(first), len(second), first_order.shape[1]
    if all((mass == mass[0]).all() for mass in (first, second)):
        rows, columns, mass = merge_equal(n, m)
        flat = first_order[rows] * m + second_order[columns]
        total: NDArray[Any] = np.bincount(flat.ravel(), np.repeat(mass, number), n * m)
    else:
        total = np.zeros(n * m, dtype=np.float64)
        for u, v in zip(first_order.T, second_order.T, strict=True):
            rows, columns, mass = merge(first[u], second[v])
            np.add.at(total, u[rows] * m + v[columns], mass)
    return total.reshape(n, m) / number


def projected_distances(
    first: list[Sorted],
    second: list[Sorted] | None = None,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the projected Wasserstein distances of all pairs of sorted clouds, (N, M)."""
    return pair_matrix(partial(projected_distance), first, second, diagonal=False, n_jobs=n_jobs, progress=progress)
