r"""Factors on columns of graphs that embed them, and the two kernels of the paper: SWWL and ASWWL.

Representations are whole embedded rows. Where there are very many graphs, a sample of them settles components, and
representations are coordinates on those: see :mod:`swwl.embedding.stores.sampled`. ``components.py`` has the factors
with ranges for single components.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from swwl.embedding.components import Projector
from swwl.embedding.distances import half_squares_back
from swwl.embedding.linear import Linear, linearize
from swwl.embedding.options import check_exponent
from swwl.embedding.summaries import SummaryEmbedding
from swwl.embedding.transformer import SWWLEmbedding
from swwl.errors import InputError, located
from swwl.gp.blocks import Block, RowDistances
from swwl.kernels.base import CorrelationName, Factor
from swwl.mesh.arrays import AnyArray
from swwl.parallel import Progress
from swwl.storage.checks import PERHAPS, Shape
from swwl.storage.memory import MemoryLike
from swwl.storage.modelfile import storable

# Components that are kept of each part of a wide row, where whole rows are not.
N_KEPT = 64

Array = NDArray[np.float64]
Kept = tuple[AnyArray, Array]  # coordinates (N, K) and the norm of what they leave (N,)
Kind = TypeVar("Kind", bound=type)


# Of the parts of a row by themselves: its center (w,) and its components (w, m).
PartMeans = list[Annotated[Array, Shape("w")]]
PartComponents = list[Annotated[NDArray[np.float32], Shape("w*")]]


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

        def __init__(self: Any, *args: Any, **values: object) -> None:
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


class EmbeddingFactor(Factor):
    """What factors have in common that embed graphs; a subclass makes the embedding.

    A representation is made of embedded rows alone (:meth:`fit_rows`, :meth:`keep`), so that the graphs of a column
    can be embedded for several factors at once; or of the few coordinates of each row on the components of a sample
    (:meth:`learn`, :meth:`coordinates`, :meth:`representation`).

    Attributes
    ----------
    embedding_ : SWWLEmbedding or SummaryEmbedding
        Fitted.
    """

    takes = "graphs"
    r: int = 2
    embedding_: SWWLEmbedding | SummaryEmbedding

    def make_embedding(self) -> SWWLEmbedding | SummaryEmbedding:
        """Return an unfitted embedding with this factor's options."""
        names = SWWLEmbedding().get_params()
        return SWWLEmbedding(**{name: getattr(self, name) for name in names if hasattr(self, name)})

    def check(self) -> None:
        """Refuse options that make no kernel."""

    def n_parts(self) -> int:
        """Return into how many parts rows are cut, each of which has components of its own."""
        return 1

    def start(self) -> SWWLEmbedding | SummaryEmbedding:
        """Check the options, forget an earlier sample, and return the embedding, yet to be fitted."""
        self.check()
        for name in ("basis_means_", "basis_", "single_"):
            if hasattr(self, name):
                delattr(self, name)
        self.embedding_ = self.make_embedding()
        return self.embedding_

    def fit(
        self, values: object, progress: Progress | None = None, *, memory: MemoryLike = None, **options: Any
    ) -> Any:
        """Fit the embedding; return what is kept of the training graphs."""
        embedding = self.start()
        with located(f"Column {self.column!r}"):
            return self.fit_rows(embedding.fit_transform(values, progress=progress, memory=memory))

    def represent(
        self, values: object, progress: Progress | None = None, *, memory: MemoryLike = None, **options: Any
    ) -> Any:
        """Embed another column; return what is kept of it."""
        with located(f"Column {self.column!r}"):
            return self.keep(self.embedding_.transform(values, progress=progress, memory=memory))

    def fit_rows(self, rows: AnyArray) -> Any:
        """Learn from the embedded training rows; return what is kept of them."""
        return self.keep(rows)

    def keep(self, rows: AnyArray) -> Any:
        """Return what is kept of embedded rows: all of them, or coordinates on the components of a sample."""
        return rows if self.sample() is None else self.representation(*self.coordinates(rows))

    def sample(self) -> Projector | None:
        """Return the components of a sample on which rows are kept; None where rows are kept whole."""
        return Projector(self.basis_means_, self.basis_) if hasattr(self, "basis_") else None

    def learn(self, rows: AnyArray) -> None:
        """Find the components of the embedded rows of a sample, on which those of all graphs are kept."""
        self.basis_means_, self.basis_ = Projector.of(rows, self.n_parts(), N_KEPT)

    def coordinates(self, rows: AnyArray) -> Kept:
        """Return the coordinates of embedded rows on the components of the sample, and the norm of what they leave."""
        coordinates, left = known(self.sample()).keep(rows)
        return coordinates.astype(np.float32), left

    def representation(self, coordinates: AnyArray, left: Array) -> Any:
        """Return what :meth:`represent` does, given the coordinates of graphs and what they leave."""
        return coordinates

    def linear(self, value: object) -> Linear:
        """Return the embedding of one graph in double precision, (K,)."""
        with located(f"Column {self.column!r}"):
            return linearize(self.embedding_, value)

    def of_row(self, row: Array) -> Any:
        """Return what is kept of the embedding of one graph, (K,), in double precision."""
        sample = self.sample()
        return row[None] if sample is None else self.representation(*sample.keep(row[None]))

    def known_sizes(self) -> dict[str, int]:
        """Return the width w of every part of a row, and the length r of what is kept of a row."""
        self.check()
        width = self.embedding_.check_restored(getattr(self, "per_iteration", False))
        sample, n = self.sample(), self.n_parts()
        if sample is None:
            return {"w": width, "r": width}
        if not len(sample.means) == len(sample.components) == n:
            raise InputError(f"means and components must have {n} parts")
        return {"w": width // n, "r": sum(own.shape[-1] for own in sample.components)}


def known(sample: Projector | None) -> Projector:
    """Return the components of a sample where there must be one."""
    assert sample is not None
    return sample


@storable
@with_embedding_options()
class SWWL(EmbeddingFactor):
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

    row_shapes = (Shape("nr"),)
    embedding_: SWWLEmbedding
    basis_means_: Annotated[PartMeans, PERHAPS]
    basis_: Annotated[PartComponents, PERHAPS]
    per_iteration: bool = False

    def __init__(self, column: str = "graph", *, alpha: float = 2.0, **options: Any): ...

    def check(self) -> None:
        """Refuse an exponent that makes no kernel."""
        check_exponent(self.alpha, 1 if self.r == 1 else 2, why=f"for r={self.r}")

    def n_parts(self) -> int:
        """Return the number of iterations that are embedded by themselves."""
        return self.n_iterations + 1 if self.per_iteration else 1

    def blocks(self, first: AnyArray, second: AnyArray | None = None) -> list[Block]:
        """Return the distances between embeddings, one for every part of the rows, on demand."""
        edges = self._edges()
        others = [None] * self.n_parts() if second is None else np.split(second, edges, axis=1)
        return [
            RowDistances(own, other, r=self.r)
            for own, other in zip(np.split(first, edges, axis=1), others, strict=True)
        ]

    def correlations(self) -> list[CorrelationName]:
        """Return Gaussian correlations, or power exponential ones where ``alpha`` is not 2; one for every part."""
        name: CorrelationName = "gaussian" if self.alpha == 2 else ("power", float(self.alpha))
        return [name] * self.n_parts()

    def pull_back(self, new: AnyArray, train: AnyArray, gradients: Sequence[Array]) -> Array:
        """Return the gradient in the embedding of one graph, (P Q, m), block by block."""
        edges, sample = self._edges(), self.sample()
        parts = zip(np.split(new[0], edges), np.split(train, edges, axis=1), gradients, strict=True)
        found = [half_squares_back(*part) for part in parts]
        if sample is not None:
            found = [components @ own for components, own in zip(sample.components, found, strict=True)]
        return np.concatenate(found)

    def vectors(self, rows: AnyArray) -> AnyArray | None:
        """Return the embeddings, (N, P Q); None for r = 1, where their Euclidean distance is not the factor's."""
        return np.asarray(rows) if self.r == 2 else None

    def _edges(self) -> Any:
        """Return where rows are cut into parts, as ``numpy.split`` takes it."""
        sample = self.sample()
        return self.n_parts() if sample is None else np.cumsum([part.shape[1] for part in sample.components])[:-1]


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

    def range_names(self) -> list[str]:
        """Name the iterations, by how many steps they are."""
        step = self.embedding_.step_ if hasattr(self, "embedding_") else self.step
        numbers = [h * step if isinstance(step, int) else h for h in range(self.n_iterations + 1)]
        return [f"{self.column} (iteration {number})" for number in numbers]
