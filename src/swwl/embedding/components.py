"""Principal components of wide rows, and of node positions: few coordinates that carry most of what tells meshes apart.

:func:`principal_components` finds them, :class:`Projector` keeps the coordinates of rows on them and :class:`Span` says
what other rows know of a row. :class:`Modes` are those of the nodes of meshes of one topology, as motions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from swwl.embedding.distances import pairwise_distances
from swwl.errors import InputError
from swwl.mesh.arrays import AnyArray
from swwl.mesh.io import as_mesh
from swwl.mesh.mesh import Mesh
from swwl.parallel import blas_threads

Array = NDArray[np.float64]

# Columns brought to double precision at a time.
_BLOCK = 1024
# With more rows, and fewer columns than that, columns are compared and not rows.
_MANY = 5000
# Relative variances below this are the rounding of single-precision rows.
_RIDGE = 1e-9
# Variances below this, relative to squared norms of rows, are nothing but that rounding.
_DIGITS = float(np.finfo(np.float32).eps) ** 2
# What rows far away leave of the digits of the others, relative to the variance of all.
_ROUNDING = 1e-14
# Rows so many times farther from most than most are (squared) lie far away.
_FAR = 1e4


def principal_components(
    rows: AnyArray, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    r"""Find the leading principal components of wide rows from their N x N Gram matrix.

    Parameters
    ----------
    rows : ndarray of shape (N, K)
    most : int
        How many components are requested; fewer are returned where the rows do not span as many.

    Returns
    -------
    mean : ndarray of shape (K,)
    components : ndarray of shape (K, k)
        Orthonormal columns; the entry of largest magnitude of each is positive.
    ratio : ndarray of shape (k,)
        Share of the variance that each carries.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]])
    >>> mean, components, ratio = principal_components(rows, 2)
    >>> components.round(6).T.tolist(), ratio.round(6).tolist()
    ([[0.707107, 0.707107]], [1.0])
    """
    n, k = rows.shape
    mean = rows.mean(axis=0, dtype=np.float64)
    most = min(most, n - 1, k)
    if most <= 0:
        return mean, np.empty((k, 0)), np.empty(0)
    with blas_threads(n):
        return mean, *_leading(rows, mean, most)


def _leading(rows: AnyArray, mean: NDArray[np.float64], most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the leading components (K, k) and their shares of the variance (k,)."""
    n, k = rows.shape
    if n > max(_MANY, k):
        return _leading_of_many(rows, mean, most)
    gram = -0.5 * pairwise_distances(rows, squared=True)
    gram -= gram.mean(axis=0)
    gram -= gram.mean(axis=1, keepdims=True)
    total = np.trace(gram)
    values, vectors = linalg.eigh(gram, subset_by_index=[n - most, n - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > 1e-10 * max(total, np.finfo(float).tiny)
    values, vectors = values[kept], vectors[:, kept]
    vectors = vectors / np.sqrt(values)
    components = np.empty((k, len(values)))
    for start in range(0, k, _BLOCK):
        block = slice(start, start + _BLOCK)
        components[block] = (rows[:, block] - mean[block]).T @ vectors
    largest = np.abs(components).argmax(axis=0)
    components *= np.sign(components[largest, np.arange(len(values))])
    return components, values / total if len(values) else values


def _leading_of_many(
    rows: AnyArray, mean: NDArray[np.float64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the same from the K x K covariance matrix, where there are more rows than columns."""
    k = rows.shape[1]
    covariance = np.zeros((k, k))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK] - mean
        covariance += block.T @ block
    values, components = linalg.eigh(covariance, subset_by_index=[k - most, k - 1])
    values, components = values[::-1], components[:, ::-1]
    kept = values > 1e-10 * max(float(np.trace(covariance)), np.finfo(float).tiny)
    values, components = values[kept], components[:, kept]
    largest = np.abs(components).argmax(axis=0)
    components = components * np.sign(components[largest, np.arange(len(values))])
    return components, values / np.trace(covariance) if len(values) else values


class Span:
    r"""What a few training rows know of another row: the projection on their span, from Gram matrices alone.

    A new mesh is known to a model by the coordinates of its projection on the span of the training rows. A training row
    that is left out of a fold must be known in the same way, or folds would be kinder than new meshes are: with
    :math:`G` the Gram matrix of rows about the mean of the others, its coordinates are
    :math:`G_{\text{out},\text{in}} G_{\text{in},\text{in}}^{-1} Z_{\text{in}}`.

    Parameters
    ----------
    rows : ndarray of shape (N, K)

    Examples
    --------
    >>> span = Span(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 5.0]]))  # the third has a height that the others lack
    >>> span.coordinates(np.array([0, 1]), np.array([2]), np.array([[0.0], [2.0], [9.0]])).round(4).tolist()
    [[1.0]]
    """

    def __init__(self, rows: AnyArray):
        self._squares = _squares(rows)
        self._least = _DIGITS * float(np.median(squared_norms(rows, np.zeros(rows.shape[1]))))
        self._weights: dict[tuple[bytes, bytes], NDArray[np.float64]] = {}

    def coordinates(
        self, train: NDArray[np.intp], out: NDArray[np.intp], z: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the coordinates (M, k) of rows left out, given those of all rows (N, k)."""
        key = (train.tobytes(), out.tobytes())
        if key not in self._weights:
            self._weights[key] = self._combination(train, out)
        mean = z[train].mean(axis=0)
        return mean + self._weights[key] @ (z[train] - mean)

    def _combination(self, train: NDArray[np.intp], out: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the combinations (M, N) of training rows that come nearest to the rows left out."""
        among = -0.5 * self._squares[np.ix_(train, train)]
        across = -0.5 * self._squares[np.ix_(out, train)]
        near = _near(-among)
        column = among[near].mean(axis=0)
        center = column[near].mean()
        across += center - column - across[:, near].mean(axis=1, keepdims=True)
        among += center - column - column[:, None]
        spread = float(among.diagonal()[near].mean())
        if not spread > self._least:  # the rows are all the same, but for rounding
            return np.zeros_like(across)
        among.flat[:: len(train) + 1] += max(_RIDGE * spread, _ROUNDING * float(among.diagonal().mean()))
        weights: NDArray[np.float64] = linalg.cho_solve(linalg.cho_factor(among), across.T).T
        if not near.all():  # counted from the mean of those that are near, and not of all
            weights += (1.0 - weights.sum(axis=1, keepdims=True)) * near / near.sum()
        return weights


def _near(squares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which rows are not far away from all others, given (multiples of) the squared distances among them."""
    typical = np.median(squares, axis=1)
    usual = float(np.median(typical))
    return np.asarray(typical <= _FAR * usual) if usual > 0 else np.ones(len(squares), bool)


def _squares(rows: AnyArray) -> NDArray[np.float64]:
    """Return the squared distances among rows, those among ordinary ones not rounded by rows far away."""
    found = pairwise_distances(rows, squared=True)
    near = _near(found)
    if not near.all():
        found[np.ix_(near, near)] = pairwise_distances(rows[near], squared=True)
    return found


class Projector(NamedTuple):
    """Centers (K,) and components (K, m), float32, of every part of wide rows by itself."""

    means: list[NDArray[np.float64]]
    components: list[NDArray[np.float32]]

    @classmethod
    def of(cls, rows: AnyArray, n_parts: int, most: int) -> Projector:
        """Find at most so many components of each of the equal parts of rows (N, parts K)."""
        found = [principal_components(part, most)[:2] for part in np.split(rows, n_parts, axis=1)]
        return cls([mean for mean, _ in found], [components.astype(np.float32) for _, components in found])

    def keep(self, rows: AnyArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the coordinates of rows on all components, (N, m), and the norm of what they leave, (N,).

        Examples
        --------
        >>> rows = np.array([[0.0, 0.0], [2.0, 0.0]])
        >>> coordinates, left = Projector.of(rows, 1, 64).keep(np.array([[1.0, 3.0]]))
        >>> coordinates.tolist(), left.tolist()
        ([[0.0]], [3.0])
        """
        coordinates, left = [], np.zeros(len(rows))
        parts = np.split(rows, len(self.means), axis=1)
        for part, mean, components in zip(parts, self.means, self.components, strict=True):
            z = project(part, mean, components)
            left += squared_norms(part, mean) - np.einsum("ij,ij->i", z, z)
            coordinates.append(z)
        return np.hstack(coordinates), np.sqrt(np.maximum(left, 0.0))


def squared_norms(rows: AnyArray, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances of rows (N, K) from a center, in double precision, a few rows at a time."""
    found = np.empty(len(rows))
    for start in range(0, len(rows), 64):
        difference = rows[start : start + 64] - mean
        found[start : start + 64] = np.einsum("ij,ij->i", difference, difference)
    return found


def project(rows: AnyArray, mean: NDArray[np.float64], components: AnyArray) -> NDArray[np.float64]:
    """Return the coordinates of rows (N, K) on components (K, k), in double precision, block by block."""
    coordinates = np.zeros((len(rows), components.shape[1]))
    for start in range(0, rows.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        coordinates += (rows[:, block] - mean[block]) @ components[block]
    return coordinates


@dataclass(frozen=True)
class Modes:
    """The mean of meshes of one topology, and the motions of its nodes in which they differ.

    Attributes
    ----------
    mean : ndarray of shape (n, d)
    displacements : ndarray of shape (k, n, d)
        Each as far as one standard deviation of the meshes goes along it, the widest first.
    coordinates : ndarray of shape (N, k)
        Of the meshes, in such deviations.
    """

    mean: Array
    displacements: Array
    coordinates: Array

    @property
    def names(self) -> list[str]:
        """What to call the modes: "mode 1", "mode 2", …."""
        return [f"mode {k + 1}" for k in range(len(self.displacements))]

    def locate(self, points: ArrayLike) -> Array:
        """Return the coordinates (k,) of a mesh's points (n, d), in standard deviations."""
        away = np.asarray(points, dtype=np.float64) - self.mean
        flat = self.displacements.reshape(len(self.displacements), -1)
        return flat @ away.ravel() / np.einsum("kj,kj->k", flat, flat)

    def move(self, coordinates: ArrayLike) -> Array:
        """Return the displacement (n, d) with these coordinates (k,)."""
        return np.tensordot(np.asarray(coordinates, dtype=np.float64), self.displacements, axes=1)


def displacement_modes(meshes: Iterable[Any], n_modes: int = 12) -> Modes:
    """Find the motions of the nodes in which meshes of one topology differ: principal components of their points.

    Parameters
    ----------
    meshes : iterable of N meshes, or of anything :func:`swwl.as_mesh` takes
        With the same cells.
    n_modes : int
        At most; fewer where the meshes do not differ in as many ways.

    Examples
    --------
    >>> rods = [Mesh([[0.0], [length]], [[0, 1]]) for length in (1.0, 2.0, 3.0)]
    >>> modes = displacement_modes(rods)
    >>> modes.mean.ravel().tolist(), np.abs(modes.displacements).round(4).ravel().tolist()
    ([0.0, 2.0], [0.0, 0.8165])
    >>> modes.locate([[0.0], [2.8165]]).round(4).tolist()
    [1.0]
    """
    first, rows = None, []
    for number, item in enumerate(meshes):
        mesh = as_mesh(item)
        first = mesh if first is None else first
        if not same_cells(mesh, first):
            raise InputError(
                f"Mesh {number}{f' ({mesh.name})' if mesh.name else ''} has different cells from the first one; "
                f"displacement modes need meshes of the same topology."
            )
        rows.append(mesh.points.ravel())
    if first is None or len(rows) < 2:
        raise InputError(f"Displacement modes need at least two meshes, not {len(rows)}.")
    table = np.array(rows)
    mean, components, _ = principal_components(table, n_modes)
    if not components.shape[1]:
        raise InputError("The meshes are all the same, so there are no displacement modes.")
    coordinates = project(table, mean, components)
    spread = coordinates.std(axis=0)
    displacements = (components * spread).T.reshape(-1, *first.points.shape)
    return Modes(mean.reshape(first.points.shape), displacements, coordinates / spread)


def same_cells(mesh: Mesh, other: Mesh) -> bool:
    """Whether two meshes have as many nodes, and the same cells."""
    return (
        mesh.points.shape == other.points.shape
        and list(mesh.cells) == list(other.cells)
        and all(np.array_equal(block, other.cells[kind]) for kind, block in mesh.cells.items())
    )
