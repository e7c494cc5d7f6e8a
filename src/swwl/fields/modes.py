r"""Fields as a few numbers: smooth functions shared by all meshes, coefficients on them, and principal fields.

:class:`SmoothBasis` has whitened Nyström features of a Matérn correlation of node descriptors,

.. math:: \Phi(x) = k(x, C)\,L^{-\top}, \qquad L L^\top = k(C, C) + 10^{-7} I,

with centers C among the training nodes, so that :math:`\Phi\Phi^\top \approx k`. Where the last descriptor is a
factor f, the functions are :math:`(\Phi, f \Phi)`. A mesh enters what follows only by its Gram matrix
:math:`g = \Phi^\top W \Phi` and its load :math:`h = \Phi^\top W y`.

Two encodings of the training fields make :class:`FieldModes`. :class:`Smooth` knows meshes of any topology by these
Gram matrices, and shrinks coefficients to a prior; :class:`Nodal` knows meshes that share their cells by the nodal
values themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve, solve_triangular

from swwl.storage.checks import NotNegative, Shape

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

CHUNK = 2048  # nodes by 300 functions: few enough to stay near the processor
_AT_ONCE = 256  # rows of correlations: even nearer
_MOST_TO_CHOOSE_FROM = 6000
_JITTER = 1e-7
# Entries of Gram matrices up to which they and their factors are kept: half a gigabyte of each.
_MOST_KEPT = 60_000_000
# Variances of modes below this part of all are noise of the arithmetic.
_LEAST = 1e-13
_ROUNDING = 1e-20  # mean squares of what standardized fields differ by if they are the same


@dataclass(frozen=True)
class SmoothBasis:
    """Smooth functions of descriptors.

    Attributes
    ----------
    centers : ndarray of shape (C, D)
    range : float
    whitening : ndarray of shape (C, C)
    factors : int
        How many descriptors after the first D are factors: all functions come again times each of them.
    """

    centers: Array
    range: float
    whitening: Array
    factors: int = 0

    @classmethod
    def of(cls, centers: Array, length: float, factors: int = 0) -> SmoothBasis:
        """Make the basis of given centers.

        Examples
        --------
        >>> basis = SmoothBasis.of(np.array([[0.0], [1.0]]), 0.5)
        >>> phi = basis(np.array([[0.0]]))
        >>> bool(abs((phi @ phi.T)[0, 0] - 1) < 1e-6)
        True
        """
        among = _correlation(centers, centers, length)
        factor = np.linalg.cholesky(among + _JITTER * np.eye(len(centers)))
        whitening = solve_triangular(factor, np.eye(len(centers)), lower=True).T
        return cls(centers, length, np.ascontiguousarray(whitening), factors)

    @property
    def size(self) -> int:
        """Number of functions, M."""
        return len(self.centers) * (1 + self.factors)

    def __call__(self, descriptors: Array) -> Array:
        """Return the functions at nodes, (n, M)."""
        width = self.centers.shape[1]
        phi = np.asarray(_correlation(descriptors[:, :width], self.centers, self.range) @ self.whitening)
        return self._with_factors(phi, descriptors)

    def correlations(self, descriptors: Array) -> Array:
        """Return the functions before they are made orthonormal, (n, M): in less than half the time."""
        width = self.centers.shape[1]
        return self._with_factors(_correlation(descriptors[:, :width], self.centers, self.range), descriptors)

    def of_correlations(self, coefficients: Array) -> Array:
        """Return what coefficients (..., M) of the functions are as coefficients of their correlations.

        Examples
        --------
        >>> basis = SmoothBasis.of(np.array([[0.0], [1.0]]), 0.5)
        >>> x, a = np.linspace(0, 1, 5)[:, None], np.array([1.0, 2.0])
        >>> bool(np.allclose(basis.correlations(x) @ basis.of_correlations(a), basis(x) @ a))
        True
        """
        blocks = coefficients.reshape(*coefficients.shape[:-1], 1 + self.factors, len(self.centers))
        return np.asarray(blocks @ self.whitening.T).reshape(coefficients.shape)

    def _with_factors(self, phi: Array, descriptors: Array) -> Array:
        if not self.factors:
            return phi
        return np.hstack([phi, *(phi * factor[:, None] for factor in descriptors[:, self.centers.shape[1] :].T)])

    def places(self, descriptors: Array) -> NDArray[np.intp]:
        """Return the nearest center of every node, (n,)."""
        return np.asarray(scipy.spatial.cKDTree(self.centers).query(descriptors[:, : self.centers.shape[1]])[1])


def _correlation(first: Array, second: Array, length: float) -> Array:
    r"""Return :math:`(1 + r + r^2/3)e^{-r}` for distances r over a length.

    Squares of distances lose digits where they are small, where the correlation is one to all digits.
    """
    scale = 5.0 / length**2
    rows, columns = scale * (first**2).sum(axis=1), scale * (second**2).sum(axis=1)
    found = np.empty((len(first), len(second)))
    for part in chunks(len(first), _AT_ONCE):
        q = np.matmul(first[part], second.T, out=found[part])
        q *= -2 * scale
        q += rows[part, None]
        q += columns
        np.maximum(q, 0, out=q)
        r = np.sqrt(q)
        q /= 3
        q += r
        q += 1
        np.negative(r, out=r)
        q *= np.exp(r, out=r)
    return found


def choose_centers(pools: Sequence[Array], size: int, seed: int = 0) -> Array:
    """Choose centers among the descriptors of training nodes, by k-means++ on some of them.

    Parameters
    ----------
    pools : sequence of ndarray of shape (n, D)
    size : int
        As many, or as many as there are different nodes.
    seed : int

    Examples
    --------
    >>> choose_centers([np.zeros((5, 2)), np.ones((5, 2))], 4).shape
    (2, 2)
    """
    rng = np.random.default_rng(seed)
    share = max(1, -(-_MOST_TO_CHOOSE_FROM // len(pools)))
    some = [pool[rng.permutation(len(pool))[:share]] for pool in pools]
    pool = np.unique(np.concatenate(some).round(12), axis=0)
    pool = pool[rng.permutation(len(pool))[:_MOST_TO_CHOOSE_FROM]]
    if len(pool) <= size:
        return pool
    from sklearn.cluster import kmeans_plusplus

    return np.asarray(kmeans_plusplus(pool, size, random_state=seed, n_local_trials=1)[0])


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Yield slices of some nodes, by default a few thousand."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def gram(basis: SmoothBasis, descriptors: Array, weights: Array, values: Array) -> tuple[Array, Array]:
    """Return Gram matrix and load of one mesh, a few thousand nodes at a time.

    Parameters
    ----------
    basis : SmoothBasis
    descriptors : ndarray of shape (n, D)
    weights : ndarray of shape (n,)
    values : ndarray of shape (n, c)

    Returns
    -------
    g : ndarray of shape (M, M)
    h : ndarray of shape (c, M)
    """
    g, h = np.zeros((basis.size, basis.size)), np.zeros((values.shape[1], basis.size))
    for part in chunks(len(descriptors)):
        phi = basis(descriptors[part])
        weighed = phi * weights[part, None]
        g += weighed.T @ phi
        h += values[part].T @ weighed
    return g, h


def gram_of(phi: Array, weights: Array, values: Array) -> tuple[Array, Array]:
    """Return Gram matrix (M, M) and load (c, M) of functions (n, M) that are known."""
    weighed = phi * weights[:, None]
    return weighed.T @ phi, values.T @ weighed


def pack(g: Array) -> Array:
    """Return the upper triangle of a symmetric matrix, (M (M + 1) / 2,)."""
    return np.asarray(g.take(_triangle(len(g))[0]))


def unpack(packed: Array, size: int) -> Array:
    """Return the symmetric matrix of its upper triangle.

    Examples
    --------
    >>> unpack(pack(np.array([[1.0, 2.0], [2.0, 5.0]])), 2).tolist()
    [[1.0, 2.0], [2.0, 5.0]]
    """
    return np.asarray(packed.take(_triangle(size)[1]))


@lru_cache(maxsize=4)
def _triangle(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where the entries of the upper triangle lie in a matrix, and where in it those of the matrix lie."""
    rows, columns = np.triu_indices(size)
    places = np.empty((size, size), np.intp)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return rows * size + columns, places


@dataclass(frozen=True)
class FieldModes:
    """A mean field and K principal fields, on M functions of a basis or at M nodes.

    Attributes
    ----------
    mean : ndarray of shape (c, M)
    shapes : ndarray of shape (c, M, K)
    variances : ndarray of shape (K,)
        Of the training coefficients, in the metric of fields.
    noise : float
        Mean square of what the modes leave of training fields.
    total : float
        Mean square of training fields about their mean, as far as the basis knows them.
    """

    mean: Annotated[Array, Shape("cm")]
    shapes: Annotated[Array, Shape("cmk")]
    variances: Annotated[Array, Shape("k")]
    noise: NotNegative
    total: NotNegative

    @property
    def number(self) -> int:
        """K."""
        return int(self.shapes.shape[2])

    def coefficients(self, a: Array) -> Array:
        """Return the coefficients (..., c, M) of fields whose modes have the sizes a, (..., K)."""
        return self.mean + np.einsum("cmk,...k->...cm", self.shapes, a)

    def of_correlations(self, basis: SmoothBasis) -> FieldModes:
        """Return the modes on the correlations of a basis in place of its functions."""
        shapes = np.moveaxis(basis.of_correlations(np.moveaxis(self.shapes, 2, 1)), 1, 2)
        return replace(self, mean=basis.of_correlations(self.mean), shapes=shapes)

    def at(self, phi: Array | None) -> tuple[Array, Array]:
        """Return mean (n, c) and principal fields (n, c, K) at nodes.

        Parameters
        ----------
        phi : ndarray of shape (n, M) or None
            The basis at these nodes; None where modes are nodal values themselves.
        """
        if phi is None:
            return self.mean.T, np.moveaxis(self.shapes, 0, 1)
        c, m, k = self.shapes.shape
        flat = phi @ np.moveaxis(self.shapes, 1, 0).reshape(m, c * k)
        return phi @ self.mean.T, flat.reshape(len(phi), c, k)


class Encoded(Protocol):
    """Training fields, ready to be made modes of."""

    def modes(self, rows: Rows, number: int, prior: Array | None = None) -> tuple[FieldModes, Array]:
        """Return the modes of some training fields and the sizes (rows, K) that each has in them."""

    def encode(self, modes: FieldModes, row: int) -> Array:
        """Return the sizes (K,) of modes in one training field."""

    def shrunk(self, shrinkage: float) -> Encoded:
        """Return the same fields with another shrinkage."""


@dataclass(frozen=True)
class Smooth:
    """Training fields by Gram matrices on a shared basis.

    Attributes
    ----------
    grams : ndarray of shape (N, M (M + 1) / 2)
        Packed.
    loads : ndarray of shape (N, c, M)
    squares : ndarray of shape (N,)
        Weighted mean squares of the fields.
    counts : ndarray of shape (N,)
        Numbers of nodes.
    shrinkage : float
        How strongly coefficients are drawn to their prior.
    """

    grams: Array
    loads: Array
    squares: Array
    counts: Array
    shrinkage: float
    _kept: dict[int, tuple[Array, Array]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def gram(self, row: int) -> Array:
        """Return the Gram matrix of one mesh, (M, M)."""
        return self._with_factor(int(row))[0]

    def _with_factor(self, row: int) -> tuple[Array, Array]:
        """Return the Gram matrix of one mesh and the lower Cholesky factor of the shrunken one; folds ask again."""
        if row in self._kept:
            return self._kept[row]
        g = unpack(self.grams[row], self.loads.shape[2])
        found = g, cholesky(g + self.shrinkage * np.eye(len(g)), lower=True, overwrite_a=True, check_finite=False)
        if 2 * self.grams.size < _MOST_KEPT:
            self._kept[row] = found
        return found

    def modes(self, rows: Rows, number: int, prior: Array | None = None) -> tuple[FieldModes, Array]:
        r"""Return modes and their sizes.

        .. math:: c_i = (g_i + \lambda I)^{-1} (h_i + \lambda p_i)

        with the prior :math:`p_i`, by default the pooled field :math:`(\bar g + \lambda/N)^{-1}\bar h`; then principal
        components in the metric :math:`\bar g`, and best linear predictions of their sizes.

        Parameters
        ----------
        rows : ndarray of int
        number : int
            At most so many.
        prior : ndarray of shape (rows, c, M), optional
        """
        size, n = self.loads.shape[2], len(rows)
        metric = unpack(self.grams[rows].mean(axis=0), size)
        eye = np.eye(size)
        if prior is None:
            mean_load = self.loads[rows].mean(axis=0)
            pooled = solve(metric + self.shrinkage / n * eye, mean_load.T, assume_a="pos").T
            prior = np.broadcast_to(pooled, (n, *pooled.shape))
        found = np.empty((n, *self.loads.shape[1:]))
        for k, row in enumerate(rows):
            right = (self.loads[row] + self.shrinkage * prior[k]).T
            found[k] = cho_solve((self._with_factor(int(row))[1], True), right, check_finite=False).T
        root = np.linalg.cholesky(metric + 1e-10 * np.trace(metric) * eye)
        mean = found.mean(axis=0)
        flat = ((found - mean) @ root).reshape(n, -1)
        _, values, axes = np.linalg.svd(flat, full_matrices=False)
        kept = _kept(values, number, n)
        shapes = solve_triangular(root, axes[:kept].reshape(-1, size).T, lower=True, trans="T")
        shapes = np.ascontiguousarray(np.moveaxis(shapes.reshape(size, kept, len(mean)), (0, 1, 2), (1, 2, 0)))
        sizes = flat @ axes[:kept].T
        variances = values[:kept] ** 2 / n
        modes = FieldModes(mean, shapes, variances, 0.0, float((values**2).sum() / n))
        left = [self._left(row, modes.coefficients(a)) for row, a in zip(rows, sizes, strict=True)]
        modes = FieldModes(mean, shapes, variances, max(float(np.mean(left)), 1e-10), modes.total)
        return modes, np.array([self.encode(modes, row) for row in rows]).reshape(n, kept)

    def shrunk(self, shrinkage: float) -> Smooth:
        """Return the same fields with another shrinkage."""
        return replace(self, shrinkage=shrinkage)

    def _left(self, row: int, coefficients: Array) -> float:
        """Return the mean square of what coefficients (c, M) leave of a field."""
        fitted = np.einsum("cm,cm->", coefficients, coefficients @ self.gram(row) - 2.0 * self.loads[row])
        return float(max(self.squares[row] + fitted, 0.0))

    def encode(self, modes: FieldModes, row: int) -> Array:
        r"""Return the best linear prediction of the sizes: prior N(0, variances), noise of n independent nodes.

        .. math:: a_i = \bigl(B^\top g_i B + \mathrm{diag}(\tfrac{\sigma^2}{n_i v_k})\bigr)^{-1}
                  B^\top (h_i - g_i m)
        """
        if not modes.number:
            return np.empty(0)
        g = self.gram(row)
        flat = modes.shapes.reshape(-1, modes.number)
        inner = flat.T @ (g @ modes.shapes).reshape(flat.shape)
        right = flat.T @ (self.loads[row] - modes.mean @ g).ravel()
        inner[np.diag_indices(len(right))] += modes.noise / (self.counts[row] * modes.variances)
        return np.asarray(solve(inner, right, assume_a="pos"))


@dataclass(frozen=True)
class Nodal:
    """Training fields of meshes that share their cells, node by node.

    Attributes
    ----------
    values : ndarray of shape (N, c, n)
    weights : ndarray of shape (n,)
        Sum 1.
    """

    values: Array
    weights: Array

    def modes(self, rows: Rows, number: int, prior: Array | None = None) -> tuple[FieldModes, Array]:
        """Return the principal components of nodal values, and their sizes."""
        chosen = self.values[rows]
        n, c, nodes = chosen.shape
        mean = chosen.mean(axis=0)
        root = np.sqrt(np.maximum(self.weights, 1e-12 / nodes))
        flat = ((chosen - mean) * root).reshape(n, -1)
        inner, vectors = np.linalg.eigh(flat @ flat.T)
        values = np.sqrt(np.maximum(inner[::-1], 0.0))
        kept = _kept(values, number, n)
        sizes = vectors[:, ::-1][:, :kept] * values[:kept]
        axes = (sizes / np.maximum(values[:kept] ** 2, np.finfo(float).tiny)).T @ flat
        shapes = np.moveaxis(axes.reshape(kept, c, nodes) / root, 0, 2)
        left = max(float((values[kept:] ** 2).sum() / n), 1e-14)
        return FieldModes(
            mean, np.ascontiguousarray(shapes), values[:kept] ** 2 / n, left, float((values**2).sum() / n)
        ), sizes

    def shrunk(self, shrinkage: float) -> Nodal:
        """Return the same: nodal values are not shrunk."""
        return self

    def encode(self, modes: FieldModes, row: int) -> Array:
        """Return the sizes of modes in one field."""
        return np.asarray(np.einsum("cn,cnk,n->k", self.values[row] - modes.mean, modes.shapes, self.weights))


def _kept(values: Array, number: int, n: int) -> int:
    """Return how many components are kept: those that are more than noise, at most as many as requested."""
    least = max(_LEAST * float((values**2).sum()), _ROUNDING * n)
    return min(number, n - 1, int((values**2 > least).sum()))
