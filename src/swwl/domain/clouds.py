r"""How far a row lies from a cloud of training rows: along what they vary in, off it, and from the nearest.

With the mean, the k leading axes :math:`v_j` and variances :math:`\lambda_j` of the training rows, a row :math:`u`
about that mean has

.. math:: T^2 = \sum_{j \le k} (v_j^\top u)^2 / \lambda_j, \qquad
          \mathrm{SPE}^2 = |u|^2 - \sum_{j \le k} (v_j^\top u)^2, \qquad \mathrm{NN} = \min_i |u - u_i| .

Each is compared with the same number of training rows that were left out, fold by fold, so that a p-value says how
often a training case would have looked as strange.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from swwl.embedding.components import principal_components, project
from swwl.embedding.distances import pairwise_distances
from swwl.gp.folds import shuffled_folds

Array = NDArray[np.float64]

# Components that whiten; fewer where rows are few. More of them lose power and bring false alarms back.
_MANY, _FEW, _FEW_ROWS = 10, 8, 200
# What lies off the training rows' span by less than this share of their spread is the facets of a curved skin: another
# meshing of the same shape.
FLOOR = 0.3
_FOLDS = 5
# Wide rows are kept as so many components; references are taken from so many rows at most.
_KEPT, _MOST_ROWS = 64, 2000
_TINY = 1e-12

SCORES = ("along", "off", "nearest")


@dataclass(frozen=True)
class TrainingCloud:
    """Training rows as coordinates, and what new rows are compared with.

    Attributes
    ----------
    rows : ndarray of shape (N, K)
    left : ndarray of shape (N,)
        Norms of what the coordinates leave of whole rows.
    mean, axes, variances : ndarray of shape (K,), (K, k) and (k,)
    spread : float
        Root mean square distance of the rows from their mean.
    reference : ndarray of shape (N, 3)
        ``along``, ``off`` and ``nearest`` of every training row, from folds without it; ``off`` before the floor.
    basis : tuple or None
        Mean and components that make coordinates of wide rows.
    """

    rows: Array
    left: Array
    mean: Array
    axes: Array
    variances: Array
    spread: float
    reference: Array
    basis: tuple[Array, Array] | None = None

    def scores(self, rows: NDArray[np.floating], left: Array | None = None) -> Array:
        """Return ``along``, ``off`` and ``nearest`` of new rows, shape (M, 3); ``off`` before the floor."""
        rows, left = _coordinates(rows, left, self.basis)
        return _scores((self.mean, self.axes, self.variances), self.rows, rows, left)

    def floored(self, scores: Array) -> Array:
        """Return scores with ``off`` set to zero where it is below the floor."""
        found = scores.copy()
        found[found[:, 1] < FLOOR * self.spread, 1] = 0.0
        return found

    def p_values(self, scores: Array) -> Array:
        """Return how often left-out training rows score as high, shape (M, 3)."""
        pairs = zip(self.floored(scores).T, self.floored(self.reference).T, strict=True)
        return np.column_stack([p_values(own, reference) for own, reference in pairs])

    def whitened(self, rows: NDArray[np.floating], most: int, left: Array | None = None) -> Array:
        """Return the leading coordinates of rows in units of the training rows' standard deviation, (M, k)."""
        rows, _ = _coordinates(rows, left, self.basis)
        k = min(most, self.axes.shape[1])
        return np.asarray((rows - self.mean) @ self.axes[:, :k] / np.sqrt(self.variances[:k]))


def make_cloud(rows: NDArray[np.floating], left: Array | None = None, seed: int = 0) -> TrainingCloud:
    """Learn what training rows vary in, and how strange each looks to the others.

    Parameters
    ----------
    rows : ndarray of shape (N, K)
        At least two.
    left : ndarray of shape (N,), optional
        Norms of what the rows leave of wider ones.
    seed : int
        Of the folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> flat = rng.normal(size=(150, 3)) * [3.0, 1.0, 0.0]
    >>> cloud = make_cloud(flat)
    >>> scores = cloud.scores(np.array([[0.0, 0.0, 0.0], [30.0, 0.0, 0.0], [0.0, 0.0, 5.0]]))
    >>> cloud.p_values(scores).round(3)[:, :2].tolist()
    [[1.0, 1.0], [0.007, 1.0], [1.0, 0.007]]
    """
    if len(rows) > _MOST_ROWS:
        chosen = np.sort(np.random.default_rng(seed).permutation(len(rows))[:_MOST_ROWS])
        rows, left = rows[chosen], None if left is None else left[chosen]
    basis = None
    if rows.shape[1] > _KEPT:
        mean, components, _ = principal_components(rows, _KEPT)
        basis = (mean, components)
    known, rest = _coordinates(rows, left, basis)
    k = _MANY if len(known) >= _FEW_ROWS else _FEW
    span = _span(known, k)
    reference = np.empty((len(known), len(SCORES)))
    for train, out in shuffled_folds(len(known), _FOLDS, seed):
        reference[out] = _scores(_span(known[train], k), known[train], known[out], rest[out])
    spread = float(np.sqrt(np.mean(((known - span[0]) ** 2).sum(axis=1) + rest**2)))
    return TrainingCloud(known, rest, *span, spread, reference, basis)


def p_values(scores: Array, reference: Array) -> Array:
    """Return (1 + how many of N references are at least as large) / (N + 1), shape (M,).

    Examples
    --------
    >>> p_values(np.array([0.0, 2.5, 9.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 0.5, 0.25]
    """
    ordered = np.sort(reference)
    above = len(ordered) - np.searchsorted(ordered, scores, side="left")
    return np.asarray((1.0 + above) / (len(ordered) + 1.0))


def harmonic_mean(p: Array) -> Array:
    """Return the harmonic means (M,) of p-values (M, J): small where any is very small, or several are small.

    Examples
    --------
    >>> harmonic_mean(np.array([[1.0, 1.0], [0.01, 1.0]])).round(4).tolist()
    [1.0, 0.0198]
    """
    return np.asarray(p.shape[1] / (1.0 / p).sum(axis=1))


def _coordinates(
    rows: NDArray[np.floating], left: Array | None, basis: tuple[Array, Array] | None
) -> tuple[Array, Array]:
    """Return rows as they are, or as few coordinates, and the norm of what these leave."""
    rest = np.zeros(len(rows)) if left is None else np.asarray(left, dtype=np.float64)
    if basis is None:
        return np.asarray(rows, dtype=np.float64), rest
    mean, components = basis
    z = project(rows, mean, components)
    squares = np.array([float(((row - mean) ** 2).sum()) for row in rows]) - (z**2).sum(axis=1)
    return z, np.sqrt(np.maximum(squares, 0.0) + rest**2)


def _span(rows: Array, most: int) -> tuple[Array, Array, Array]:
    """Return the mean, the leading axes (K, k) and the variances (k,) of rows (N, K)."""
    mean = rows.mean(axis=0)
    apart = rows - mean
    values, vectors = linalg.eigh(apart.T @ apart / max(len(rows) - 1, 1))
    largest = float(values.max(initial=np.finfo(float).tiny))
    kept = np.flatnonzero(values > _TINY * largest)[::-1][:most]
    return mean, vectors[:, kept], values[kept]


def _scores(span: tuple[Array, Array, Array], train: Array, rows: Array, left: Array) -> Array:
    mean, axes, variances = span
    apart = rows - mean
    inside = apart @ axes
    along = (inside**2 / variances).sum(axis=1)
    off = np.sqrt(np.maximum((apart**2).sum(axis=1) - (inside**2).sum(axis=1), 0.0) + left**2)
    # there are no coordinates where meshes are all alike
    near = pairwise_distances(rows, train).min(axis=1, initial=np.inf) if rows.shape[1] else np.zeros(len(rows))
    nearest = np.sqrt(near**2 + left**2)
    return np.column_stack([along, off, nearest])
