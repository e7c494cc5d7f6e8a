r"""Factors on columns of graphs: the sliced Wasserstein Weisfeiler-Lehman kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from swwl.embedding.distances import pairwise_distances
from swwl.embedding.transformer import SWWLEmbedding
from swwl.errors import InputError
from swwl.gp import Coordinates
from swwl.kernels.base import Correlation, Factor, Item, Progress

# Numbers of components that PrincipalSWWL tries when it is to choose by itself.
LADDER = (0, 4, 8, 16, 24)


class SWWL(Factor):
    r"""The paper's kernel: :math:`\exp(-(\beta \|\phi(G) - \phi(G')\|_r)^\alpha)`.

    Parameters
    ----------
    column : str
        Name of a column of graphs, mesh files or anything that :func:`swwl.as_graph` takes.
    alpha : float
        Exponent in (0, 2]; for r = 1, in (0, 1]. Positive definite for all of these.
    n_iterations, step, n_projections, n_quantiles, quantiles, directions, node_weights, scale, r, random_state, \
n_jobs, normalization, tolerance, fields
        See :class:`swwl.SWWLEmbedding`.

    Attributes
    ----------
    embedding_ : SWWLEmbedding
        The fitted embedding.

    Examples
    --------
    >>> from swwl import Graph
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 2.0, 4.0)]
    >>> kernel = SWWL("rod", n_iterations=0, n_projections=5, n_quantiles=3)
    >>> distances = kernel.items(kernel.fit(rods))[0]
    >>> distances.shape, kernel.correlations()
    ((3, 3), ['gaussian'])
    """

    per_iteration = False

    def __init__(
        self,
        column: str = "graph",
        *,
        alpha: float = 2.0,
        n_iterations: int = 3,
        step: int | str = 1,
        n_projections: int = 50,
        n_quantiles: int = 500,
        quantiles: str = "linear",
        directions: str = "gaussian",
        node_weights: str | None = None,
        scale: Any = False,
        r: int = 2,
        random_state: Any = 0,
        n_jobs: int | None = None,
        normalization: str = "count",
        tolerance: float = 1e-5,
        fields: Sequence[str] = (),
    ):
        self.column = column
        self.alpha = alpha
        self.n_iterations = n_iterations
        self.step = step
        self.n_projections = n_projections
        self.n_quantiles = n_quantiles
        self.quantiles = quantiles
        self.directions = directions
        self.node_weights = node_weights
        self.scale = scale
        self.r = r
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.normalization = normalization
        self.tolerance = tolerance
        self.fields = fields

    def make_embedding(self) -> SWWLEmbedding:
        """Return an unfitted embedding with this factor's options."""
        params = self.get_params(deep=False)
        own = {name: params[name] for name in SWWLEmbedding().get_params() if name in params}
        return SWWLEmbedding(**own, per_iteration=self.per_iteration)

    def fit(self, values: Any, progress: Progress | None = None) -> Any:
        """Fit the embedding; return the training rows, shape (N, P Q)."""
        self._check_exponent()
        self.embedding_ = self.make_embedding()
        with _named(self.column):
            return self.embedding_.fit_transform(values, progress=progress)

    def represent(self, values: Any, progress: Progress | None = None) -> Any:
        """Embed another column, shape (N, P Q)."""
        with _named(self.column):
            return self.embedding_.transform(values, progress=progress)

    def items(self, first: Any, second: Any = None) -> list[Item]:
        """Return the distances between embeddings."""
        return [pairwise_distances(first, second, r=self.r)]

    def correlations(self) -> list[Correlation]:
        """Return the Gaussian correlation, or the power exponential where ``alpha`` is not 2."""
        return ["gaussian" if self.alpha == 2 else ("power", float(self.alpha))]

    def _check_exponent(self) -> None:
        most = 1 if self.r == 1 else 2
        if not 0 < self.alpha <= most:
            raise InputError(
                f"alpha must lie in (0, {most}] for r={self.r}, but is {self.alpha!r}: "
                f"with a larger one the kernel is not positive definite."
            )


class _named:
    """Prefix errors about graphs with the column they stand in."""

    def __init__(self, column: str):
        self.column = column

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if kind in (ValueError, TypeError, FileNotFoundError) and str(error).startswith("Graph "):
            raise kind(f"Column {self.column!r}, {str(error)[0].lower()}{str(error)[1:]}") from error


class ASWWL(SWWL):
    r"""The paper's anisotropic kernel: one embedding and one range per Weisfeiler-Lehman iteration.

    .. math:: \prod_{h=0}^{H} \exp(-(\beta_h \|\phi^{(h)}(G) - \phi^{(h)}(G')\|_r)^\alpha)

    Parameters are those of :class:`SWWL`.

    Examples
    --------
    >>> ASWWL("mesh", n_iterations=2).range_names()
    ['mesh (iteration 0)', 'mesh (iteration 1)', 'mesh (iteration 2)']
    """

    per_iteration = True

    def items(self, first: Any, second: Any = None) -> list[Item]:
        """Return the distances between embeddings, iteration by iteration."""
        blocks = self.n_iterations + 1
        others = [None] * blocks if second is None else np.split(second, blocks, axis=1)
        return [
            pairwise_distances(own, other, r=self.r)
            for own, other in zip(np.split(first, blocks, axis=1), others, strict=True)
        ]

    def correlations(self) -> list[Correlation]:
        """Return one correlation per iteration."""
        return super().correlations() * (self.n_iterations + 1)

    def range_names(self) -> list[str]:
        """Name the iterations, by how many steps they are."""
        step = self.embedding_.step_ if hasattr(self, "embedding_") else self.step
        numbers = [h * step if isinstance(step, int) else h for h in range(self.n_iterations + 1)]
        return [f"{self.column} (iteration {number})" for number in numbers]


class PrincipalSWWL(SWWL):
    r"""SWWL with one range per principal component of the embeddings, and one for what they leave.

    The embedding is a plain Euclidean vector, so it has principal components over the training set:
    :math:`z_j = v_j^\top (\phi - \bar\phi)`. Each gets a range of its own,

    .. math:: \prod_{j=1}^{k} e^{-(\beta_j \Delta z_j)^2} \;
              e^{-\beta_r^2 (\|\Delta\phi\|^2 - \sum_j \Delta z_j^2)} ,

    so that the kernel learns which variations of shape matter. It is positive definite, needs no common topology, and
    with no components it is :class:`SWWL`.

    Parameters
    ----------
    column : str
        Name of a column of graphs.
    n_components : "auto" or int
        k. "auto" compares 0, 4, 8, 16 and 24, as far as there are fifteen training rows for each component, by the
        marginal posterior of the fitted Gaussian process, and takes the best; the regressor's ``selection_`` shows the
        comparison.
    n_iterations, step, n_projections, n_quantiles, quantiles, directions, node_weights, scale, random_state, n_jobs, \
normalization, tolerance, fields
        See :class:`swwl.SWWLEmbedding`.

    Attributes
    ----------
    n_components_ : int
        k in use; no more than the training set can tell apart.
    mean_ : ndarray of shape (P Q,)
    components_ : ndarray of shape (P Q, most components)
        Orthonormal columns, in the order of the variance they carry.
    explained_variance_ratio_ : ndarray of shape (most components,)
    has_remainder_ : bool
        Whether the components leave anything.

    Examples
    --------
    >>> PrincipalSWWL("mesh", n_components=8)
    PrincipalSWWL('mesh', n_components=8)
    """

    alpha = 2.0
    r = 2

    def __init__(
        self,
        column: str = "graph",
        *,
        n_components: int | str = "auto",
        n_iterations: int = 3,
        step: int | str = 1,
        n_projections: int = 50,
        n_quantiles: int = 500,
        quantiles: str = "linear",
        directions: str = "gaussian",
        node_weights: str | None = None,
        scale: Any = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        normalization: str = "count",
        tolerance: float = 1e-5,
        fields: Sequence[str] = (),
    ):
        self.column = column
        self.n_components = n_components
        self.n_iterations = n_iterations
        self.step = step
        self.n_projections = n_projections
        self.n_quantiles = n_quantiles
        self.quantiles = quantiles
        self.directions = directions
        self.node_weights = node_weights
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.normalization = normalization
        self.tolerance = tolerance
        self.fields = fields

    def fit(self, values: Any, progress: Progress | None = None) -> tuple[NDArray, NDArray]:
        """Fit the embedding and its principal components; return the training rows, and their coordinates."""
        k = self.n_components
        if k != "auto" and not (isinstance(k, (int, np.integer)) and not isinstance(k, bool) and k >= 0):
            raise InputError(f'n_components must be "auto" or a whole number, not {k!r}.')
        rows = super().fit(values, progress)
        wanted = max(LADDER) if k == "auto" else int(k)
        self.mean_, self.components_, self.explained_variance_ratio_ = principal_components(rows, wanted)
        self.use_components(0 if k == "auto" else self.components_.shape[1])
        return rows, project(rows, self.mean_, self.components_)

    def represent(self, values: Any, progress: Progress | None = None) -> tuple[NDArray, NDArray]:
        """Embed another column; return its rows (N, P Q) and their coordinates (N, most components)."""
        rows = super().represent(values, progress)
        return rows, project(rows, self.mean_, self.components_)

    def use_components(self, number: int) -> None:
        """Give ranges of their own to the first ``number`` components, which must be known."""
        self.n_components_ = number
        left = 1 - self.explained_variance_ratio_[:number].sum()
        # Below this, what is left is the rounding of single-precision rows.
        self.has_remainder_ = number == 0 or bool(left > 1e-9)

    def ladder(self, n_rows: int) -> list[int]:
        """Return the numbers of components worth trying with so many training rows: about fifteen for each."""
        most = min(self.components_.shape[1], n_rows // 15)
        return sorted({min(k, most) for k in LADDER})

    def items(self, first: Any, second: Any = None) -> list[Item]:
        """Return the coordinates of the components, and the distances that they leave."""
        k = self.n_components_
        items: list[Item] = [Coordinates(first[1][:, :k])] if k else []
        if self.has_remainder_:
            squared = pairwise_distances(first[0], None if second is None else second[0], squared=True)
            if k:
                own, other = first[1][:, :k], None if second is None else second[1][:, :k]
                squared -= pairwise_distances(own, other, squared=True)
                np.maximum(squared, 0, out=squared)
            items.append(np.sqrt(squared, out=squared))
        return items

    def correlations(self) -> list[Correlation]:
        """Return Gaussian correlations, one for all components and one for the remainder."""
        return ["gaussian"] * (int(self.n_components_ > 0) + int(self.has_remainder_))

    def range_names(self) -> list[str]:
        """Name the components, first the one that carries most variance, and the remainder."""
        if self.n_components_ == 0:
            return [self.column]
        names = [f"{self.column} (component {j + 1})" for j in range(self.n_components_)]
        return names + [f"{self.column} (remainder)"] * self.has_remainder_


def principal_components(
    rows: NDArray, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    r"""Find the leading principal components of wide rows from their N x N Gram matrix.

    Parameters
    ----------
    rows : ndarray of shape (N, K)
    most : int
        How many components are wanted; fewer are returned where the rows do not span as many.

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
    for start in range(0, k, 1024):
        block = slice(start, start + 1024)
        components[block] = (rows[:, block] - mean[block]).T @ vectors
    largest = np.abs(components).argmax(axis=0)
    components *= np.sign(components[largest, np.arange(len(values))])
    return mean, components, values / total if len(values) else values


def project(rows: NDArray, mean: NDArray, components: NDArray) -> NDArray[np.float64]:
    """Return the coordinates of rows (N, K) on components (K, k), in double precision, block by block."""
    coordinates = np.zeros((len(rows), components.shape[1]))
    for start in range(0, rows.shape[1], 1024):
        block = slice(start, start + 1024)
        coordinates += (rows[:, block] - mean[block]) @ components[block]
    return coordinates
