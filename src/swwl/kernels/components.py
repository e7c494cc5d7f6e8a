r"""Factors that keep a few principal components of every mesh, and none of its wide rows.

Components with a range each say which variations of shape matter; the ones after them share one range. Several such
factors may stand on one column, as different measures of the same meshes: an :class:`~swwl.kernels.elliptic.Elliptic`
kernel joins them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.components import Basis, Span
from swwl.embedding.distances import half_squares_back
from swwl.embedding.linear import Linear, linearize
from swwl.embedding.summaries import SummaryEmbedding
from swwl.embedding.transformer import SWWLEmbedding
from swwl.errors import InputError, located
from swwl.gp.blocks import Block, Coordinates, RowDistances
from swwl.kernels.base import CorrelationName, Factor
from swwl.kernels.sliced import N_KEPT, PartComponents, PartMeans, part_sizes, with_embedding_options
from swwl.parallel import Progress
from swwl.storage.checks import PERHAPS, Shape
from swwl.storage.memory import MemoryLike
from swwl.storage.modelfile import storable

Array = NDArray[np.float64]
Kept = tuple[NDArray[Any], Array]  # coordinates (N, K) and the norm of what they leave (N,)


class KeptComponents(Factor):
    """What factors of kept components have in common; a subclass makes the embedding.

    Attributes
    ----------
    embedding_ : SWWLEmbedding or SummaryEmbedding
        Fitted.
    means_, components_ : list of ndarray of shape (K,) and (K, m), float32
        For every part of a row by itself: its center, and its components in the order of the variance they carry.
    single_ : bool
        Whether the components are those of a sample, and coordinates are kept in single precision.
    """

    takes = "graphs"
    gives = "coordinates"
    row_shapes = (Shape("nr"), Shape("n"))
    n_components: int
    n_kept: int
    embedding_: SWWLEmbedding | SummaryEmbedding
    means_: PartMeans
    components_: PartComponents
    single_: Annotated[bool, PERHAPS]
    _spans: list[Span] | None = None  # of the training rows, while a model is fitted

    def make_embedding(self) -> SWWLEmbedding | SummaryEmbedding:
        """Return an unfitted embedding with this factor's options."""
        raise TypeError(f"{type(self).__name__} must define make_embedding.")

    def n_parts(self) -> int:
        """Return into how many parts rows are cut, each of which has components of its own."""
        return 1

    def source(self) -> Any:
        """Return what representations depend on: all options but the number of components with a range each."""
        ignored = ("n_components", "n_jobs", "memory")
        params = {name: repr(value) for name, value in self.get_params(deep=False).items() if name not in ignored}
        return type(self).__name__, tuple(sorted(params.items()))

    def fit(self, values: Any, progress: Progress | None = None, *, memory: MemoryLike = None, **options: Any) -> Kept:
        """Fit the embedding and its components; return the coordinates of the training rows, and what they leave."""
        self.check()
        self.single_ = False
        self.embedding_ = self.make_embedding()
        with located(f"Column {self.column!r}"):
            return self.fit_rows(self.embedding_.fit_transform(values, progress=progress, memory=memory))

    def check(self) -> None:
        """Refuse numbers of components that make no sense."""
        for name, least in (("n_components", 0), ("n_kept", 1)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")

    def fit_rows(self, rows: NDArray[Any]) -> Kept:
        """Find the components of embedded training rows; return their coordinates, and what they leave."""
        self.means_, self.components_ = Basis.of(rows, self.n_parts(), max(self.n_kept, self.n_components))
        self._spans = [Span(part) for part in np.split(rows, self.n_parts(), axis=1)]
        return self.keep(rows)

    def learn(self, rows: NDArray[Any]) -> None:
        """Find the components of the embedded rows of a sample, from which all others are kept in single precision."""
        self.check()
        self.means_, self.components_ = Basis.of(rows, self.n_parts(), max(self.n_kept, self.n_components))
        self.single_ = True

    def adopt(self, other: Factor) -> None:
        """Take over what another factor of the same source has learned."""
        super().adopt(other)
        self._spans = getattr(other, "_spans", None)

    def forget(self) -> None:
        """Let go of what only the fit of a model needs."""
        self._spans = None

    def represent(
        self, values: Any, progress: Progress | None = None, *, memory: MemoryLike = None, **options: Any
    ) -> Kept:
        """Embed another column; return its coordinates (N, K) and the norm of what they leave (N,)."""
        with located(f"Column {self.column!r}"):
            return self.keep(self.embedding_.transform(values, progress=progress, memory=memory))

    def keep(self, rows: NDArray[Any]) -> Kept:
        """Return the coordinates of embedded rows on the components of all parts, and the norm of what they leave."""
        coordinates, left = Basis(self.means_, self.components_).keep(rows)
        return (coordinates.astype(np.float32), left) if getattr(self, "single_", False) else (coordinates, left)

    def coordinates(self, rows: NDArray[Any]) -> Kept:
        """Return the coordinates of embedded rows on the components of the sample, and the norm of what they leave."""
        return self.keep(rows)

    def representation(self, coordinates: NDArray[Any], left: Array) -> Kept:
        """Return what :meth:`represent` does, given the coordinates of meshes and what they leave."""
        return coordinates, left

    def blocks(self, first: Kept, second: Kept | None = None) -> list[Block]:
        """Return the leading coordinates of every part, and the distances in its other ones, on demand."""
        found: list[Block] = []
        for k, start, stop in self._places():
            own, other = first[0][:, start:stop], None if second is None else second[0][:, start:stop]
            if k:
                found.append(Coordinates(own[:, :k], None if other is None else other[:, :k]))
            if k < stop - start:
                found.append(RowDistances(own[:, k:], None if other is None else other[:, k:]))
        return found

    def linear(self, value: Any) -> Linear:
        """Return the embedding of one mesh in double precision, (K,)."""
        with located(f"Column {self.column!r}"):
            return linearize(self.embedding_, value)

    def of_row(self, row: Array) -> Kept:
        """Return the coordinates of one embedding, (1, K), in double precision, and the norm of what they leave."""
        return Basis(self.means_, self.components_).keep(row[None])

    def pull_back(self, new: Kept, train: Kept, gradients: Sequence[Array]) -> Array:
        """Return the gradient in the embedding of one mesh, (K, m): of every part through its own coordinates."""
        left, found = list(gradients), []
        for components, (k, start, stop) in zip(self.components_, self._places(), strict=True):
            own = [left.pop(0)] if k else []
            if k < stop - start:
                own.append(half_squares_back(new[0][0, start + k : stop], train[0][:, start + k : stop], left.pop(0)))
            found.append(components @ np.concatenate(own))
        return np.concatenate(found)

    def left_out_blocks(
        self, rows: Kept, blocks: Sequence[Block], out: NDArray[np.intp], train: NDArray[np.intp]
    ) -> list[Block]:
        """Return blocks as if the rows left out were new: known by their projections on the span of the others."""
        if self._spans is None:
            return super().left_out_blocks(rows, blocks, out, train)
        z = rows[0]
        pairs = zip(self._spans, self._places(), strict=True)
        new = np.hstack([span.coordinates(train, out, z[:, start:stop]) for span, (_, start, stop) in pairs])
        return self.blocks((new, rows[1][out]), (z[train], rows[1][train]))

    def known_sizes(self) -> dict[str, int]:
        """Return the width w of the parts of rows, and the number r of their coordinates."""
        self.check()
        width = self.embedding_.check_restored(self.n_parts() > 1)
        return part_sizes(self.means_, self.components_, width, self.n_parts())

    def vectors(self, rows: Kept) -> NDArray[Any] | None:
        """Return the coordinates, (N, K)."""
        return np.asarray(rows[0])

    def beyond(self, rows: Kept) -> NDArray[np.float64] | None:
        """Return the norm of what the coordinates leave, (N,)."""
        return np.asarray(rows[1])

    def correlations(self) -> list[CorrelationName]:
        """Return Gaussian correlations, one for the components of a part and one for the others."""
        return ["gaussian"] * sum(int(k > 0) + int(k < stop - start) for k, start, stop in self._places())

    def range_names(self) -> list[str]:
        """Name the components, first the one that carries most variance, and the others together."""
        names = []
        for number, (k, start, stop) in enumerate(self._places()):
            where = f"iteration {number}, " if self.n_parts() > 1 else ""
            names += [f"{self.column} ({where}component {j + 1})" for j in range(k)]
            names += [f"{self.column} ({where}{'others' if k else 'components'})"] * (k < stop - start)
        return names

    def _places(self) -> list[tuple[int, int, int]]:
        """Return for every part how many components have a range each, and where its coordinates begin and end."""
        places, start = [], 0
        for components in self.components_:
            width = components.shape[1]
            places.append((min(self.n_components, width), start, start + width))
            start += width
        return places


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

    def make_embedding(self) -> SWWLEmbedding:
        """Return an unfitted embedding with this factor's options."""
        params = self.get_params(deep=False)
        return SWWLEmbedding(**{name: params[name] for name in SWWLEmbedding().get_params() if name in params})

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
        n_jobs: int | None = None,
    ):
        self.column = column
        self.n_components = n_components
        self.kind = kind
        self.merge_nodes = merge_nodes
        self.n_jobs = n_jobs

    def make_embedding(self) -> SummaryEmbedding:
        """Return an unfitted table of summaries."""
        return SummaryEmbedding(self.kind, merge_nodes=self.merge_nodes, n_jobs=self.n_jobs)
