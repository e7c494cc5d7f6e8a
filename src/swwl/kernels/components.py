r"""Factors with ranges for single principal components of embeddings: Components, Summaries and PrincipalSWWL.

Components with a range each say which variations of shape matter; what they leave shares one range. Components and
Summaries keep a few dozen numbers of every mesh and none of its wide rows, so that several may stand on one column, as
different measures of the same meshes: an :class:`~swwl.kernels.elliptic.Elliptic` kernel joins them. PrincipalSWWL
keeps whole rows, as the paper's kernels do, and leaves nothing out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.components import Projector, Span, principal_components, project
from swwl.embedding.distances import half_squares_back
from swwl.embedding.summaries import SummaryEmbedding
from swwl.embedding.transformer import SWWLEmbedding
from swwl.errors import InputError
from swwl.gp.blocks import Block, Coordinates, RowDistances
from swwl.kernels.base import CorrelationName, Factor
from swwl.kernels.sliced import N_KEPT, EmbeddingFactor, Kept, PartComponents, PartMeans, known, with_embedding_options
from swwl.mesh.arrays import AnyArray
from swwl.mesh.shape.part import MEASURES, part_columns, part_number_names
from swwl.storage.checks import PERHAPS, Count, Shape
from swwl.storage.modelfile import storable

Array = NDArray[np.float64]

Pair = tuple[AnyArray, AnyArray]  # rows (N, P Q) and their coordinates (N, c)

# Components that PrincipalSWWL knows where the number that have a range each is still to be chosen.
MOST_COMPONENTS = 24


class _Part(NamedTuple):
    """Where the coordinates of a part of a row are, how many have a range each, and whether others share one."""

    start: int
    stop: int
    leading: int
    rest: bool

    def of(self, coordinates: AnyArray) -> AnyArray:
        """Return the coordinates of the part."""
        return coordinates[:, self.start : self.stop]


class ComponentFactor(EmbeddingFactor):
    """What factors of components have in common: some have a range each, what these leave shares one."""

    gives = "coordinates"
    _at = 0  # which part of a representation holds the coordinates

    def blocks(self, first: Kept, second: Kept | None = None) -> list[Block]:
        """Return the leading coordinates of every part, and the distances that they leave, on demand."""
        found: list[Block] = []
        for part in self._parts():
            own, other = part.of(first[self._at]), None if second is None else part.of(second[self._at])
            k = part.leading
            if k:
                found.append(Coordinates(own[:, :k], None if other is None else other[:, :k]))
            if part.rest:
                found.append(RowDistances(own[:, k:], None if other is None else other[:, k:]))
        return found

    def pull_back(self, new: Kept, train: Kept, gradients: Sequence[Array]) -> Array:
        """Return the gradient in the embedding of one mesh, (K, m): of every part through its own coordinates."""
        left, found = list(gradients), []
        nothing = np.zeros((0, left[0].shape[1] if left else 1))  # parts that do not vary have no components
        for components, part in zip(known(self.sample()).components, self._parts(), strict=True):
            k, own = part.leading, []
            if k:
                own.append(left.pop(0))
            if part.rest:
                z, others = part.of(new[self._at]), part.of(train[self._at])
                own.append(half_squares_back(z[0, k:], others[:, k:], left.pop(0)))
            found.append(components @ np.concatenate([*own, nothing]))
        return np.concatenate(found)

    def correlations(self) -> list[CorrelationName]:
        """Return Gaussian correlations, one for the components of a part and one for what they leave."""
        return ["gaussian"] * sum(int(part.leading > 0) + int(part.rest) for part in self._parts())

    def _parts(self) -> list[_Part]:
        """Return for every part of a row where its coordinates are, and how many have a range each."""
        raise NotImplementedError


class KeptComponents(ComponentFactor):
    """Factors that keep a few components of every mesh, and none of its wide rows.

    Attributes
    ----------
    means_, components_ : list of ndarray of shape (K,) and (K, m), float32
        For every part of a row by itself: its center, and its components in the order of the variance they carry.
    single_ : bool
        Whether the components are those of a sample, and coordinates are kept in single precision.
    """

    row_shapes = (Shape("nr"), Shape("n"))
    n_components: int
    n_kept: int
    means_: PartMeans
    components_: PartComponents
    single_: Annotated[bool, PERHAPS]
    _spans: list[Span] | None = None  # of the training rows, while a model is fitted

    def check(self) -> None:
        """Refuse numbers of components that make no sense."""
        for name, least in (("n_components", 0), ("n_kept", 1)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")

    def source(self) -> Hashable:
        """Return what representations depend on: all options but the number of components with a range each."""
        ignored = ("n_components", "n_jobs", "memory")
        params = {name: repr(value) for name, value in self.get_params(deep=False).items() if name not in ignored}
        return type(self).__name__, tuple(sorted(params.items()))

    def adopt(self, other: Factor) -> None:
        """Take over what another factor of the same source has learned."""
        super().adopt(other)
        self._spans = getattr(other, "_spans", None)

    def forget(self) -> None:
        """Let go of what only the fit of a model needs."""
        self._spans = None

    def fit_rows(self, rows: AnyArray) -> Kept:
        """Find the components of embedded training rows; return their coordinates, and what they leave."""
        self.means_, self.components_ = Projector.of(rows, self.n_parts(), self._n_kept())
        self._spans = [Span(part) for part in np.split(rows, self.n_parts(), axis=1)]
        return self.coordinates(rows)

    def learn(self, rows: AnyArray) -> None:
        """Find the components of the embedded rows of a sample, from which all others are kept in single precision."""
        self.means_, self.components_ = Projector.of(rows, self.n_parts(), self._n_kept())
        self.single_ = True

    def sample(self) -> Projector:
        """Return the components on which rows are kept."""
        return Projector(self.means_, self.components_)

    def coordinates(self, rows: AnyArray) -> Kept:
        """Return the coordinates of embedded rows on the components of all parts, and the norm of what they leave."""
        coordinates, left = self.sample().keep(rows)
        return (coordinates.astype(np.float32), left) if getattr(self, "single_", False) else (coordinates, left)

    def representation(self, coordinates: AnyArray, left: Array) -> Any:
        """Return what :meth:`represent` does, given the coordinates of meshes and what they leave."""
        return coordinates, left

    def left_out_blocks(
        self, rows: Kept, blocks: Sequence[Block], out: NDArray[np.intp], train: NDArray[np.intp]
    ) -> list[Block]:
        """Return blocks as if the rows left out were new: known by their projections on the span of the others."""
        if self._spans is None:
            return super().left_out_blocks(rows, blocks, out, train)
        z = rows[0]
        pairs = zip(self._spans, self._parts(), strict=True)
        new = np.hstack([span.coordinates(train, out, part.of(z)) for span, part in pairs])
        return self.blocks((new, rows[1][out]), (z[train], rows[1][train]))

    def range_names(self) -> list[str]:
        """Name the components, first the one that carries most variance, and the others together."""
        names = []
        for number, part in enumerate(self._parts()):
            where = f"iteration {number}, " if self.n_parts() > 1 else ""
            names += [f"{self.column} ({where}component {j + 1})" for j in range(part.leading)]
            names += [f"{self.column} ({where}{'others' if part.leading else 'components'})"] * part.rest
        return names

    def vectors(self, rows: Kept) -> AnyArray | None:
        """Return the coordinates, (N, K)."""
        return np.asarray(rows[0])

    def beyond(self, rows: Kept) -> NDArray[np.float64] | None:
        """Return the norm of what the coordinates leave, (N,)."""
        return np.asarray(rows[1])

    def _n_kept(self) -> int:
        return max(self.n_kept, self.n_components)

    def _parts(self) -> list[_Part]:
        parts, start = [], 0
        for components in self.components_:
            width = components.shape[1]
            leading = min(self.n_components, width)
            parts.append(_Part(start, start + width, leading, leading < width))
            start += width
        return parts


@storable
@with_embedding_options("r")
class Components(KeptComponents):
    r"""Principal components of embeddings, of which a model keeps a few dozen numbers per mesh.

    .. math:: \prod_{j=1}^{k} e^{-(\beta_j \Delta z_j)^2} \; e^{-\beta_r^2 \sum_{j=k+1}^{n} \Delta z_j^2}

    As :class:`PrincipalSWWL`, with two differences: what the first k components leave is counted up to component n and
    not to the end, so that neither the model nor a prediction needs whole rows; and iterations may have components of
    their own.

    Parameters
    ----------
    column : str
        Name of a column of graphs or meshes.
    n_components : int
        k: how many have a range each.
    n_kept : int
        n: how many are kept.
    per_iteration : bool
        Whether every Weisfeiler-Lehman iteration is embedded by itself and has k components of its own.
    **options
        Those of :class:`swwl.SWWLEmbedding`, apart from ``r``, which is 2.

    Examples
    --------
    >>> from swwl import Graph
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 2.0, 4.0)]
    >>> kernel = Components("rod", n_components=1, n_iterations=0, n_projections=5, n_quantiles=3)
    >>> coordinates, left = kernel.fit(rods)
    >>> coordinates.shape, kernel.range_names()  # rods differ in one number: their length
    ((3, 1), ['rod (component 1)'])
    """

    embedding_: SWWLEmbedding

    def __init__(
        self,
        column: str = "graph",
        *,
        n_components: int = 8,
        n_kept: int = N_KEPT,
        per_iteration: bool = False,
        **options: Any,
    ): ...

    def n_parts(self) -> int:
        """Return the number of iterations that have components of their own."""
        return self.n_iterations + 1 if self.per_iteration else 1


@storable
class Summaries(KeptComponents):
    """Principal components of plain numbers about a mesh: where its nodes lie, how many there are, how large it is.

    Parameters
    ----------
    column : str
        Name of a column of meshes or graphs.
    n_components : int
        How many have a range each; all others share one.
    kind : {"mesh", "graph"}
        Which numbers; see :func:`swwl.mesh.shape.summaries.summaries`.
    merge_nodes : bool
        Make nodes of a mesh at the same place one, see :meth:`swwl.Mesh.merged`.
    group : str, optional
        Name or shell pattern of groups: compare the parts that they make, see :meth:`swwl.Mesh.part`.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from swwl import Graph
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 2.0, 4.0)]
    >>> kernel = Summaries("rod", n_components=1, kind="graph")
    >>> coordinates, left = kernel.fit(rods)
    >>> kernel.range_names()
    ['rod (component 1)']
    """

    n_kept = N_KEPT
    embedding_: SummaryEmbedding

    def __init__(
        self,
        column: str = "graph",
        *,
        n_components: int = 6,
        kind: str = "mesh",
        merge_nodes: bool = False,
        group: str | None = None,
        n_jobs: int | None = None,
    ):
        self.column = column
        self.n_components = n_components
        self.kind = kind
        self.merge_nodes = merge_nodes
        self.group = group
        self.n_jobs = n_jobs

    def make_embedding(self) -> SummaryEmbedding:
        """Return an unfitted table of summaries."""
        return SummaryEmbedding(self.kind, merge_nodes=self.merge_nodes, group=self.group, n_jobs=self.n_jobs)


@storable
class PartMeasures(KeptComponents):
    """Numbers of the part that a mesh stands for, whatever its mesh is like, with a range for each of them.

    Sizes, and moments of the skin, of its edges and of its corners: see :func:`swwl.mesh.shape.part.part_numbers`.
    Numbers that do not vary over the training set have no range.

    Parameters
    ----------
    column : str
        Name of a column of meshes.
    measures : sequence of {"sizes", "faces", "edges", "corners"}
        Which numbers.
    merge_nodes : bool
        Make nodes of a mesh at the same place one, see :meth:`swwl.Mesh.merged`.
    group : str, optional
        Name or shell pattern of groups: compare the parts that they make, see :meth:`swwl.Mesh.part`.
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from swwl import Mesh
    >>> plates = [Mesh([[0, 0], [width, 0], [width, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]]) for width in (1.0, 2.0, 4.0)]
    >>> kernel = PartMeasures("plate", measures=["sizes"])
    >>> coordinates, left = kernel.fit(plates)
    >>> kernel.range_names()[:2]
    ['plate (center x)', 'plate (center y)']
    """

    n_kept = n_components = 0  # all that vary
    embedding_: SummaryEmbedding

    def __init__(
        self,
        column: str = "graph",
        *,
        measures: Sequence[str] = ("sizes", "corners"),
        merge_nodes: bool = False,
        group: str | None = None,
        n_jobs: int | None = None,
    ):
        self.column = column
        self.measures = measures
        self.merge_nodes = merge_nodes
        self.group = group
        self.n_jobs = n_jobs

    def check(self) -> None:
        """Refuse names of measures that there are not."""
        odd = [name for name in self.measures if name not in MEASURES]
        if odd or isinstance(self.measures, str) or not self.measures:
            raise InputError(f"measures must be a list of some of {', '.join(MEASURES)}, not {self.measures!r}.")

    def make_embedding(self) -> SummaryEmbedding:
        """Return an unfitted table of the numbers of parts."""
        return SummaryEmbedding("part", merge_nodes=self.merge_nodes, group=self.group, n_jobs=self.n_jobs)

    def source(self) -> Hashable:
        """Return what representations depend on: all numbers are kept, whichever have ranges."""
        return type(self).__name__, self.merge_nodes, self.group

    def fit_rows(self, rows: AnyArray) -> Kept:
        """Find the numbers that vary; return those of the training rows, and the norms of the others."""
        self.means_ = [np.zeros(rows.shape[1])]
        self.components_ = [np.eye(rows.shape[1], dtype=np.float32)[:, rows.std(axis=0) > 0.5]]
        return self.coordinates(rows)

    def learn(self, rows: AnyArray) -> None:
        """Find the numbers that vary in a sample; those of all others are kept in single precision."""
        self.fit_rows(rows)
        self.single_ = True

    def blocks(self, first: Kept, second: Kept | None = None) -> list[Block]:
        """Return the numbers, a coordinate each."""
        chosen = self._chosen()
        if not len(chosen):  # parts that are all alike
            return [
                Coordinates(np.zeros((len(first[0]), 1)), None if second is None else np.zeros((len(second[0]), 1)))
            ]
        return [Coordinates(first[0][:, chosen], None if second is None else second[0][:, chosen])]

    def pull_back(self, new: Kept, train: Kept, gradients: Sequence[Array]) -> Array:
        """Return the gradient in the numbers of one part, (K, m)."""
        chosen = self._chosen()
        return np.asarray(self.components_[0][:, chosen] @ gradients[0][: len(chosen)])

    def correlations(self) -> list[CorrelationName]:
        """Return one Gaussian correlation."""
        return ["gaussian"]

    def range_names(self) -> list[str]:
        """Name the numbers."""
        width = len(self.components_[0])
        dimension, _ = part_columns(width, MEASURES)
        names = [name for own in part_number_names(dimension).values() for name in own]
        kept = np.flatnonzero(self.components_[0].any(axis=1))[self._chosen()]
        return [f"{self.column} ({names[place]})" for place in kept] or [self.column]

    def _chosen(self) -> NDArray[np.intp]:
        """Return the places, among the numbers that vary, of those that have a range."""
        components = self.components_[0]
        return np.flatnonzero(
            np.isin(np.flatnonzero(components.any(axis=1)), part_columns(len(components), self.measures)[1])
        )


@storable
@with_embedding_options("r")
class PrincipalSWWL(ComponentFactor):
    r"""SWWL with one range per principal component of the embeddings, and one for what they leave.

    The embedding is a plain Euclidean vector, so it has principal components over the training set:
    :math:`z_j = v_j^\top (\phi - \bar\phi)`. Each gets a range of its own,

    .. math:: \prod_{j=1}^{k} e^{-(\beta_j \Delta z_j)^2} \;
              e^{-\beta_r^2 (\|\Delta\phi\|^2 - \sum_j \Delta z_j^2)} ,

    so that the kernel learns which variations of shape matter. It is positive definite, needs no common topology, and
    with no components it is :class:`SWWL`. As :class:`Components`, but for what the components leave: that is taken
    of whole rows, which the model keeps, unless there are so many graphs that a sample has settled all components.

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

    row_shapes = (Shape("nr"), Shape("nc"))
    embedding_: SWWLEmbedding
    basis_means_: Annotated[PartMeans, PERHAPS]
    basis_: Annotated[PartComponents, PERHAPS]
    n_components_: Count
    mean_: Annotated[Array, Shape("w")]
    components_: Annotated[NDArray[Any], Shape("wc")]
    explained_variance_ratio_: Annotated[Array, Shape("c")]
    has_remainder_: bool
    alpha = 2.0
    n_components: int | str
    _at = 1

    def __init__(self, column: str = "graph", *, n_components: int | str = "auto", **options: Any): ...

    def check(self) -> None:
        """Refuse a number of components that makes no sense."""
        k = self.n_components
        if k != "auto" and not (isinstance(k, (int, np.integer)) and not isinstance(k, bool) and k >= 0):
            raise InputError(f'n_components must be "auto" or a whole number, not {k!r}.')

    def adopt(self, other: Factor) -> None:
        """Take over what another factor has learned from a sample, but for the number of components."""
        super().adopt(other)
        self.use_components(self._leading())

    def fit_rows(self, rows: AnyArray) -> Pair:
        """Find the principal components of the training rows; return the rows, and their coordinates."""
        found: tuple[AnyArray, ...] = principal_components(rows, self._known())
        self.mean_, self.components_, self.explained_variance_ratio_ = found
        self.use_components(self._leading())
        return self.keep(rows)

    def learn(self, rows: AnyArray) -> None:
        """Find the components of the embedded rows of a sample; those without a range of their own share one."""
        most = max(N_KEPT, self._known())
        self.mean_, components, self.explained_variance_ratio_ = principal_components(rows, most)
        self.components_ = components.astype(np.float32)
        self.basis_means_, self.basis_ = [self.mean_], [self.components_]
        self.use_components(self._leading())

    def keep(self, rows: AnyArray) -> Pair:
        """Return embedded rows (N, P Q) and their coordinates (N, c); those twice where a sample has settled them."""
        if self.sample() is None:
            return rows, project(rows, self.mean_, self.components_)
        return self.representation(*self.coordinates(rows))

    def representation(self, coordinates: AnyArray, left: Array) -> Pair:
        """Return what :meth:`represent` does, given the coordinates of graphs and what they leave."""
        return coordinates, coordinates

    def of_row(self, row: Array) -> Pair:
        """Return the embedding of one graph as rows (1, P Q), and its coordinates."""
        return self.keep(row[None]) if self.sample() is None else super().of_row(row)

    def most_components(self) -> int | None:
        """Return how many components are known, where their number is to be chosen."""
        return min(MOST_COMPONENTS, int(self.components_.shape[1])) if self.n_components == "auto" else None

    def use_components(self, number: int) -> None:
        """Give ranges of their own to the first ``number`` components, which must be known."""
        self.n_components_ = number
        left = 1 - self.explained_variance_ratio_[:number].sum()
        # Below this, what is left is the rounding of single-precision rows.
        self.has_remainder_ = number == 0 or bool(left > 1e-9)
        if self.sample() is not None:
            self.has_remainder_ = number < self.components_.shape[1]

    def blocks(self, first: Pair, second: Pair | None = None) -> list[Block]:
        """Return the coordinates of the components, and the distances that they leave, on demand."""
        if self.sample() is not None:
            return super().blocks(first, second)
        k = self.n_components_
        own, other = first[1][:, :k], None if second is None else second[1][:, :k]
        found: list[Block] = [Coordinates(own, other)] if k else []
        if self.has_remainder_:
            others = None if second is None else second[0]
            found.append(RowDistances(first[0], others, without=(own, other) if k else None))
        return found

    def pull_back(self, new: Pair, train: Pair, gradients: Sequence[Array]) -> Array:
        """Return the gradient in the embedding of one graph, (P Q, m): through its coordinates and what they leave."""
        if self.sample() is not None:
            return super().pull_back(new, train, gradients)
        k = self.n_components_
        found = np.zeros((len(self.components_), gradients[0].shape[1]))
        own = gradients[0] if k else np.zeros((0, found.shape[1]))
        if self.has_remainder_:
            found += half_squares_back(new[0][0], train[0], gradients[-1])
            own = own - half_squares_back(new[1][0, :k], train[1][:, :k], gradients[-1])
        return np.asarray(found + self.components_[:, :k] @ own)

    def range_names(self) -> list[str]:
        """Name the components, first the one that carries most variance, and the remainder."""
        if self.n_components_ == 0:
            return [self.column]
        names = [f"{self.column} (component {j + 1})" for j in range(self.n_components_)]
        return names + [f"{self.column} (remainder)"] * self.has_remainder_

    def vectors(self, rows: Pair) -> AnyArray | None:
        """Return the embeddings, (N, P Q)."""
        return np.asarray(rows[0])

    def check_restored(self, rows: Any) -> None:
        """Refuse components that do not give coordinates such as these."""
        super().check_restored(rows)
        if self.n_components_ > self.components_.shape[1]:
            raise InputError(f"n_components_ is {self.n_components_}, but there are {self.components_.shape[1]}")

    def _known(self) -> int:
        return MOST_COMPONENTS if self.n_components == "auto" else int(self.n_components)

    def _leading(self) -> int:
        """Return how many components have a range each, as long as none are chosen."""
        return 0 if self.n_components == "auto" else min(int(self.n_components), self.components_.shape[1])

    def _parts(self) -> list[_Part]:
        return [_Part(0, self.components_.shape[1], self.n_components_, self.has_remainder_)]
