"""Groups of cases, and whether two sets of cases are alike: k-means and the maximum mean discrepancy, by kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from swwl.design.space import design_rows
from swwl.embedding.distances import pairwise_distances
from swwl.errors import InputError

Array = NDArray[np.float64]

_KERNELS = ("linear", "gaussian", "precomputed")


class KernelKMeans(ClusterMixin, BaseEstimator):
    r"""Groups of cases whose spread in the space of a kernel is least.

    .. math:: \min \sum_c \sum_{i \in c} \Bigl(k_{ii} - \tfrac{2}{|c|} \sum_{j \in c} k_{ij}
              + \tfrac{1}{|c|^2} \sum_{j, l \in c} k_{jl}\Bigr)

    Parameters
    ----------
    n_clusters : int
    kernel : {"linear", "gaussian", "precomputed"}
        Of cases as points (:func:`swwl.design.space.design_rows`: whitened components and standardized numbers), the
        linear one (k-means of these points) by default; or ``X`` is the kernel matrix.
    gamma : float, optional
        Of the Gaussian kernel :math:`e^{-\gamma d^2}`; by default one over the squared median distance.
    n_init : int
        Starts, of which the best counts.
    max_iter : int
    random_state : int
    n_jobs : int or None
        Threads that embed meshes.

    Attributes
    ----------
    labels_ : ndarray of int, shape (N,)
    inertia_ : float
        What is minimized.

    Examples
    --------
    >>> found = KernelKMeans(2).fit(np.array([[0.0], [0.1], [5.0], [5.2], [5.1]]))
    >>> [len(set(found.labels_[rows])) for rows in (slice(0, 2), slice(2, 5), slice(0, 5))]
    [1, 1, 2]
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        kernel: str = "linear",
        gamma: float | None = None,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: int = 0,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> KernelKMeans:
        """Group the cases of a table, a list of graphs, an array, or a kernel matrix (N, N)."""
        if self.kernel not in _KERNELS:
            raise InputError(f"kernel must be one of {', '.join(_KERNELS)}, not {self.kernel!r}.")
        gram = self._gram(X)
        n = len(gram)
        if not isinstance(self.n_clusters, (int, np.integer)) or not 1 <= self.n_clusters <= n:
            raise InputError(f"n_clusters must be a whole number from 1 to the {n} cases, not {self.n_clusters!r}.")
        rng = np.random.default_rng(self.random_state)
        runs = [self._run(gram, rng) for _ in range(self.n_init)]
        self.inertia_, self.labels_ = min(runs, key=lambda run: run[0])
        self.n_features_in_ = int(np.shape(X)[1]) if np.ndim(X) == 2 else 1
        return self

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> NDArray[np.intp]:
        """Return the labels (N,) of the cases that are grouped."""
        labels: NDArray[np.intp] = self.fit(X).labels_
        check_is_fitted(self)
        return labels

    def _gram(self, X: Any) -> Array:
        if self.kernel == "precomputed":
            gram = np.asarray(X, dtype=np.float64)
            if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.allclose(gram, gram.T):
                raise InputError(f"A kernel matrix must be square and symmetric; this one has shape {gram.shape}.")
            return gram
        (rows,) = design_rows(X, n_jobs=self.n_jobs, random_state=self.random_state)
        if self.kernel == "linear":
            return np.asarray(rows @ rows.T)
        return gaussian_kernel(pairwise_distances(rows, squared=True), self.gamma)

    def _run(self, gram: Array, rng: np.random.Generator) -> tuple[float, NDArray[np.intp]]:
        """Return the inertia and the labels that one random start leads to."""
        labels = _far_seeds(gram, int(self.n_clusters), rng)
        for _ in range(self.max_iter):
            distances = _to_means(gram, labels, int(self.n_clusters))
            found = distances.argmin(axis=1)
            if (found == labels).all():
                break
            labels = found
        distances = _to_means(gram, labels, int(self.n_clusters))
        return float(distances[np.arange(len(gram)), labels].sum()), labels


class MMD(NamedTuple):
    """What :func:`mmd_test` found: the unbiased squared discrepancy, and how often permutations exceed it."""

    statistic: float
    p_value: float


def mmd_test(
    X: Any,
    Y: Any,
    *,
    n_permutations: int = 999,
    gamma: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> MMD:
    r"""Test whether two sets of cases come from one distribution, by their maximum mean discrepancy.

    .. math:: \widehat{\mathrm{MMD}}^2 = \overline{k(x, x')} + \overline{k(y, y')} - 2\,\overline{k(x, y)}

    with a Gaussian kernel of cases as points (see :func:`swwl.design.space.design_rows`); means leave out pairs of a
    case with itself. With 30 cases each it is sound but weak: it sees large shifts only.

    Parameters
    ----------
    X, Y : DataFrame, list of graphs, or array
        With the same columns; at least two cases each.
    n_permutations : int
        Of the cases among the two sets.
    gamma : float, optional
        Of the kernel; by default one over the squared median distance.
    random_state, n_jobs
        See :func:`swwl.design.space.design_rows`.

    Returns
    -------
    MMD
        ``statistic`` and ``p_value``.

    References
    ----------
    Gretton et al. (2012), "A kernel two-sample test".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 2))
    >>> bool(mmd_test(x[:30], x[30:]).p_value > 0.05), bool(mmd_test(x[:30], x[30:] + 2).p_value < 0.01)
    (True, True)
    """
    first, second = design_rows(X, Y, n_jobs=n_jobs, random_state=random_state)
    if min(len(first), len(second)) < 2:
        raise InputError(f"At least two cases of each set are needed; there are {len(first)} and {len(second)}.")
    if not isinstance(n_permutations, (int, np.integer)) or n_permutations < 1:
        raise InputError(f"n_permutations must be a whole number of at least 1, not {n_permutations!r}.")
    gram = gaussian_kernel(pairwise_distances(np.vstack([first, second]), squared=True), gamma)
    np.fill_diagonal(gram, 0.0)
    rng = np.random.default_rng(random_state)
    orders = [np.arange(len(gram)), *(rng.permutation(len(gram)) for _ in range(n_permutations))]
    members = np.zeros((len(orders), len(gram)))
    for place, order in enumerate(orders):
        members[place, order[: len(first)]] = 1.0
    found = _discrepancies(gram, members)
    above = int((found[1:] >= found[0] - 1e-12).sum())
    return MMD(float(found[0]), (1.0 + above) / (n_permutations + 1.0))


def gaussian_kernel(squares: Array, gamma: float | None = None) -> Array:
    """Return exp(-gamma d²) of squared distances (N, N); gamma is one over their median if it is not given."""
    if gamma is None:
        middle = float(np.median(squares[np.triu_indices(len(squares), 1)])) if len(squares) > 1 else 1.0
        gamma = 1.0 / middle if middle > 0 else 1.0
    if not gamma > 0:
        raise InputError(f"gamma must be a number above 0, not {gamma!r}.")
    return np.asarray(np.exp(-gamma * squares))


def _discrepancies(gram: Array, members: Array) -> Array:
    """Return the squared discrepancy for every way (rows) to say who belongs to the first set; diagonal zero."""
    others = 1.0 - members
    n, m = members.sum(axis=1), others.sum(axis=1)
    inside = np.einsum("pi,pi->p", members @ gram, members) / (n * (n - 1))
    outside = np.einsum("pi,pi->p", others @ gram, others) / (m * (m - 1))
    return np.asarray(inside + outside - 2 * np.einsum("pi,pi->p", members @ gram, others) / (n * m))


def _far_seeds(gram: Array, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose centers far from each other at random, as k-means++ does; return the nearest one of every case."""
    diagonal = np.diag(gram)
    seeds = [int(rng.integers(len(gram)))]
    distances = [diagonal + diagonal[seeds[0]] - 2 * gram[:, seeds[0]]]
    for _ in range(k - 1):
        nearest = np.maximum(np.min(distances, axis=0), 0.0)
        total = nearest.sum()
        seed = int(rng.choice(len(gram), p=nearest / total)) if total > 0 else int(rng.integers(len(gram)))
        seeds.append(seed)
        distances.append(diagonal + diagonal[seed] - 2 * gram[:, seed])
    return np.asarray(np.argmin(distances, axis=0))


def _to_means(gram: Array, labels: NDArray[np.intp], k: int) -> Array:
    """Return squared distances (N, k) to the means of all groups; to an empty one, infinite."""
    members = np.eye(k)[labels]
    sizes = members.sum(axis=0)
    shares = members / np.maximum(sizes, 1.0)
    to_mean = gram @ shares
    own = np.einsum("ik,ik->k", shares, to_mean)
    found = np.diag(gram)[:, None] - 2 * to_mean + own
    found[:, sizes == 0] = np.inf
    return np.asarray(found)
