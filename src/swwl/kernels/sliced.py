r"""Factors on columns of graphs: the sliced Wasserstein Weisfeiler-Lehman kernels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.components import Basis, principal_components, project
from swwl.embedding.distances import half_squares_back
from swwl.embedding.linear import Linear, linearize
from swwl.embedding.options import check_exponent
from swwl.embedding.transformer import SWWLEmbedding
from swwl.errors import InputError, located
from swwl.gp.blocks import Block, Coordinates, RowDistances
from swwl.kernels.base import CorrelationName, Factor
from swwl.parallel import Progress
from swwl.storage.checks import PERHAPS, Count, Shape
from swwl.storage.memory import MemoryLike
from swwl.storage.modelfile import storable

# Components that PrincipalSWWL keeps where their number is still to be chosen.
MOST_COMPONENTS = 24
# Components that are kept of each part of a wide row, where whole rows are not.
N_KEPT = 64

Kind = TypeVar("Kind", bound=type)


# In a model file: of parts of rows, w wide each.
PartMeans = list[Annotated[NDArray[np.float64], Shape("w")]]
PartComponents = list[Annotated[NDArray[np.float32], Shape("w*")]]


def part_sizes(
    means: Sequence[NDArray[Any]], components: Sequence[NDArray[Any]], width: int, n_parts: int
) -> dict[str, int]:
    """Return the width w of the parts of rows, and the number r of coordinates that their components give.

    Parameters
    ----------
    means, components : sequence of ndarray
        Of every part.
    width : int
        Of a whole row.
    n_parts : int
    """
    if not len(means) == len(components) == n_parts:
        raise InputError(f"means and components must have {n_parts} parts")
    return {"w": width // n_parts, "r": sum(own.shape[-1] for own in components)}


def with_embedding_options(*without: str) -> Callable[[Kind], Kind]:
    """Give a factor's constructor the options of :class:`swwl.SWWLEmbedding`, after its own.

    They are written once, there; scikit-learn, ``help`` and editors see the full signature here.

    Parameters
    ----------
    *without : str
        Options that the factor does not have.
    """
    given = inspect.signature(SWWLEmbedding.__init__).parameters.values()
    options = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in given
        if parameter.name not in ("self", "per_iteration", *without)
    ]

    def decorate(kind: Kind) -> Kind:
        own = inspect.signature(kind.__init__)  # type: ignore[misc]
        named = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        signature = own.replace(parameters=[*named, *options])

        def __init__(self: Any, *args: Any, **values: Any) -> None:
            try:
                bound = signature.bind(self, *args, **values)
            except TypeError as error:
                raise TypeError(f"{type(self).__name__}() {error}") from None
            bound.apply_defaults()
            for name, value in list(bound.arguments.items())[1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        kind.__init__ = __init__  # type: ignore[misc]
        return kind

    return decorate


@storable
@with_embedding_options()
class SWWL(Factor):
    r"""The paper's kernel: :math:`\exp(-(\beta \|\phi(G) - \phi(G')\|_r)^\alpha)`.

    Parameters
    ----------
    column : str
        Name of a column of graphs, mesh files or anything that :func:`swwl.as_graph` takes.
    alpha : float
        Exponent in (0, 2]; for r = 1, in (0, 1]. Positive definite for all of these.
    **options
        Those of :class:`swwl.SWWLEmbedding`: ``n_iterations``, ``step``, ``n_projections`` and so on.

    Attributes
    ----------
    embedding_ : SWWLEmbedding
        The fitted embedding.
    basis_means_, basis_ : list of ndarray of shape (K,) and (K, m), float32
        Where there were many graphs and r is 2: centers and components of a sample, on which rows are kept.

    Examples
    --------
    >>> from swwl import Graph
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 2.0, 4.0)]
    >>> kernel = SWWL("rod", n_iterations=0, n_projections=5, n_quantiles=3)
    >>> distances = kernel.items(kernel.fit(rods))[0]
    >>> distances.shape, kernel.correlations()
    ((3, 3), ['gaussian'])
    """

    takes = "graphs"
    row_shapes: ClassVar[tuple[Shape, ...]] = (Shape("nr"),)
    per_iteration = False
    embedding_: SWWLEmbedding
    basis_means_: Annotated[PartMeans, PERHAPS]
    basis_: Annotated[PartComponents, PERHAPS]

    def __init__(self, column: str = "graph", *, alpha: float = 2.0, **options: Any): ...

    def make_embedding(self) -> SWWLEmbedding:
        """Return an unfitted embedding with this factor's options."""
        params = self.get_params(deep=False)
        own = {name: params[name] for name in SWWLEmbedding().get_params() if name in params}
        return SWWLEmbedding(**own, per_iteration=self.per_iteration)

    def fit(self, values: Any, progress: Progress | None = None, *, memory: MemoryLike = None, **options: Any) -> Any:
        """Fit the embedding; return the training rows, shape (N, P Q)."""
        self.check()
        self._forget_sample()
        self.embedding_ = self.make_embedding()
        with located(f"Column {self.column!r}"):
            return self.embedding_.fit_transform(values, progress=progress, memory=memory)

    def check(self) -> None:
        """Refuse an exponent that makes no kernel."""
        check_exponent(self.alpha, 1 if self.r == 1 else 2, why=f"for r={self.r}")

    def learn(self, rows: NDArray[Any]) -> None:
        """Find the components of the embedded rows of a sample, on which those of all graphs are kept."""
        self.basis_means_, self.basis_ = Basis.of(rows, self._n_parts, N_KEPT)

    def coordinates(self, rows: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the coordinates of embedded rows on the components of the sample, and the norm of what they leave."""
        coordinates, left = Basis(self.basis_means_, self.basis_).keep(rows)
        return coordinates.astype(np.float32), left

    def representation(self, coordinates: NDArray[Any], left: NDArray[np.float64]) -> Any:
        """Return what :meth:`represent` does, given the coordinates of graphs and what they leave."""
        return coordinates

    @property
    def _sampled(self) -> bool:
        """Whether rows are coordinates on the components of a sample."""
        return hasattr(self, "basis_")

    @property
    def _n_parts(self) -> int:
        return self.n_iterations + 1 if self.per_iteration else 1

    def _edges(self) -> Any:
        """Return where rows are cut into parts, as ``numpy.split`` takes it."""
        return np.cumsum([part.shape[1] for part in self.basis_])[:-1] if self._sampled else self._n_parts

    def _forget_sample(self) -> None:
        for name in ("basis_means_", "basis_"):
            if hasattr(self, name):
                delattr(self, name)

    def represent(
        self, values: Any, progress: Progress | None = None, *, memory: MemoryLike = None, **options: Any
    ) -> Any:
        """Embed another column, shape (N, P Q)."""
        with located(f"Column {self.column!r}"):
            rows = self.embedding_.transform(values, progress=progress, memory=memory)
            return self.representation(*self.coordinates(rows)) if self._sampled else rows

    def known_sizes(self) -> dict[str, int]:
        """Return the width w of the parts of rows and that of what is kept of rows, r."""
        check_exponent(self.alpha, 1 if self.r == 1 else 2)
        width = self.embedding_.check_restored(self.per_iteration)
        if self._sampled:
            return part_sizes(self.basis_means_, self.basis_, width, self._n_parts)
        return {"w": width, "r": width}

    def blocks(self, first: Any, second: Any = None) -> list[Block]:
        """Return the distances between embeddings, on demand."""
        return [RowDistances(first, second, r=self.r)]

    def linear(self, value: Any) -> Linear:
        """Return the embedding of one graph in double precision, (P Q,)."""
        with located(f"Column {self.column!r}"):
            return linearize(self.embedding_, value)

    def of_row(self, row: NDArray[np.float64]) -> Any:
        """Return the embedding of one graph as rows (1, P Q), or what is kept of it; in double precision."""
        if not self._sampled:
            return row[None]
        return self.representation(*Basis(self.basis_means_, self.basis_).keep(row[None]))

    def pull_back(self, new: Any, train: Any, gradients: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the gradient in the embedding of one graph, (P Q, m), block by block."""
        edges = self._edges()
        parts = zip(np.split(new[0], edges), np.split(train, edges, axis=1), gradients, strict=True)
        found = [half_squares_back(*part) for part in parts]
        if self._sampled:
            found = [basis @ own for basis, own in zip(self.basis_, found, strict=True)]
        return np.concatenate(found)

    def vectors(self, rows: Any) -> NDArray[Any] | None:
        """Return the embeddings, (N, P Q); None for r = 1, where their Euclidean distance is not the factor's."""
        return np.asarray(rows) if self.r == 2 else None

    def correlations(self) -> list[CorrelationName]:
        """Return the Gaussian correlation, or the power exponential where ``alpha`` is not 2."""
        return ["gaussian" if self.alpha == 2 else ("power", float(self.alpha))]


@storable
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

    def blocks(self, first: Any, second: Any = None) -> list[Block]:
        """Return the distances between embeddings, iteration by iteration, on demand."""
        count, edges = self.n_iterations + 1, self._edges()
        others = [None] * count if second is None else np.split(second, edges, axis=1)
        return [
            RowDistances(own, other, r=self.r)
            for own, other in zip(np.split(first, edges, axis=1), others, strict=True)
        ]

    def correlations(self) -> list[CorrelationName]:
        """Return one correlation per iteration."""
        return super().correlations() * (self.n_iterations + 1)

    def range_names(self) -> list[str]:
        """Name the iterations, by how many steps they are."""
        step = self.embedding_.step_ if hasattr(self, "embedding_") else self.step
        numbers = [h * step if isinstance(step, int) else h for h in range(self.n_iterations + 1)]
        return [f"{self.column} (iteration {number})" for number in numbers]


@storable
@with_embedding_options("r")
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
    **options
        Those of :class:`swwl.SWWLEmbedding`, apart from ``r``, which is 2.

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

    gives = "coordinates"
    row_shapes = (Shape("nr"), Shape("nc"))
    alpha = 2.0
    r = 2
    n_components_: Count
    mean_: Annotated[NDArray[np.float64], Shape("w")]
    components_: Annotated[NDArray[Any], Shape("wc")]
    explained_variance_ratio_: Annotated[NDArray[np.float64], Shape("c")]
    has_remainder_: bool

    def __init__(self, column: str = "graph", *, n_components: int | str = "auto", **options: Any): ...

    def fit(
        self, values: Any, progress: Progress | None = None, *, memory: MemoryLike = None, **options: Any
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Fit the embedding and its principal components; return the training rows, and their coordinates."""
        rows = super().fit(values, progress, memory=memory)
        k = self.n_components
        wanted = MOST_COMPONENTS if k == "auto" else int(k)
        found: tuple[NDArray[Any], ...] = principal_components(rows, wanted)
        self.mean_, self.components_, self.explained_variance_ratio_ = found
        self.use_components(0 if k == "auto" else self.components_.shape[1])
        return rows, project(rows, self.mean_, self.components_)

    def check(self) -> None:
        """Refuse a number of components that makes no sense."""
        k = self.n_components
        if k != "auto" and not (isinstance(k, (int, np.integer)) and not isinstance(k, bool) and k >= 0):
            raise InputError(f'n_components must be "auto" or a whole number, not {k!r}.')

    def learn(self, rows: NDArray[Any]) -> None:
        """Find the components of the embedded rows of a sample; those without a range of their own share one."""
        k = self.n_components
        wanted = MOST_COMPONENTS if k == "auto" else int(k)
        mean, components, self.explained_variance_ratio_ = principal_components(rows, max(N_KEPT, wanted))
        basis = components.astype(np.float32)
        self.mean_, self.components_ = mean, basis
        self.basis_means_, self.basis_ = [mean], [basis]
        self.use_components(0 if k == "auto" else min(wanted, components.shape[1]))

    def adopt(self, other: Factor) -> None:
        """Take over what another factor has learned from a sample, but for the number of components."""
        super().adopt(other)
        k = self.n_components
        self.use_components(0 if k == "auto" else min(int(k), self.components_.shape[1]))

    def representation(self, coordinates: NDArray[Any], left: NDArray[np.float64]) -> Any:
        """Return what :meth:`represent` does, given the coordinates of graphs and what they leave."""
        return coordinates, coordinates

    def represent(
        self, values: Any, progress: Progress | None = None, *, memory: MemoryLike = None, **options: Any
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Embed another column; return its rows (N, P Q) and their coordinates (N, most components)."""
        rows = super().represent(values, progress, memory=memory)
        return rows if self._sampled else (rows, project(rows, self.mean_, self.components_))

    def check_restored(self, rows: Any) -> None:
        """Refuse components that do not give coordinates such as these."""
        super().check_restored(rows)
        if self.n_components_ > self.components_.shape[1]:
            raise InputError(f"n_components_ is {self.n_components_}, but there are {self.components_.shape[1]}")

    def vectors(self, rows: Any) -> NDArray[Any] | None:
        """Return the embeddings, (N, P Q)."""
        return np.asarray(rows[0])

    def of_row(self, row: NDArray[np.float64]) -> Any:
        """Return the embedding of one graph as rows (1, P Q), and its coordinates."""
        if self._sampled:
            return super().of_row(row)
        return row[None], project(row[None], self.mean_, self.components_)

    def pull_back(self, new: Any, train: Any, gradients: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the gradient in the embedding of one graph, (P Q, m): through its coordinates and what they leave."""
        k = self.n_components_
        found = np.zeros((len(self.components_), gradients[0].shape[1]))
        own = gradients[0] if k else np.zeros((0, found.shape[1]))
        if self._sampled:
            rest = [half_squares_back(new[0][0, k:], train[0][:, k:], gradients[-1])] * self.has_remainder_
            return np.asarray(self.components_ @ np.concatenate([own, *rest]))
        if self.has_remainder_:
            found += half_squares_back(new[0][0], train[0], gradients[-1])
            own = own - half_squares_back(new[1][0, :k], train[1][:, :k], gradients[-1])
        return found + self.components_[:, :k] @ own

    def most_components(self) -> int | None:
        """Return how many components are known, where their number is to be chosen."""
        return min(MOST_COMPONENTS, int(self.components_.shape[1])) if self.n_components == "auto" else None

    def use_components(self, number: int) -> None:
        """Give ranges of their own to the first ``number`` components, which must be known."""
        self.n_components_ = number
        left = 1 - self.explained_variance_ratio_[:number].sum()
        # Below this, what is left is the rounding of single-precision rows.
        self.has_remainder_ = number == 0 or bool(left > 1e-9)
        if self._sampled:
            self.has_remainder_ = number < self.components_.shape[1]

    def blocks(self, first: Any, second: Any = None) -> list[Block]:
        """Return the coordinates of the components, and the distances that they leave, on demand."""
        k = self.n_components_
        own, other = first[1][:, :k], None if second is None else second[1][:, :k]
        blocks: list[Block] = [Coordinates(own)] if k else []
        if self.has_remainder_:
            others = None if second is None else second[0]
            if self._sampled:  # the other components, so that there is nothing to take away
                blocks.append(RowDistances(first[0][:, k:], None if others is None else others[:, k:]))
            else:
                blocks.append(RowDistances(first[0], others, without=(own, other) if k else None))
        return blocks

    def correlations(self) -> list[CorrelationName]:
        """Return Gaussian correlations, one for all components and one for the remainder."""
        return ["gaussian"] * (int(self.n_components_ > 0) + int(self.has_remainder_))

    def range_names(self) -> list[str]:
        """Name the components, first the one that carries most variance, and the remainder."""
        if self.n_components_ == 0:
            return [self.column]
        names = [f"{self.column} (component {j + 1})" for j in range(self.n_components_)]
        return names + [f"{self.column} (remainder)"] * self.has_remainder_
