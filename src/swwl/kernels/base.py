"""What every factor of a kernel can do, what some can do besides, and the product of factors.

:class:`Factor` turns columns into representations, and these into blocks for ``gp/``; :class:`Differentiable` and
:class:`HasComponents` are what a model asks of a factor before it takes derivatives or chooses components.
:class:`Product` puts the blocks of factors together. :func:`shift_needed` and :func:`shifted` are for the distances of
factors that are not positive definite.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from swwl.embedding.linear import Linear
from swwl.errors import IndefiniteKernelWarning, InputError, InputTypeError
from swwl.estimators import BaseEstimator, clone
from swwl.gp.blocks import Block, Coordinates, Distances
from swwl.mesh.arrays import AnyArray
from swwl.parallel import Progress
from swwl.storage.checks import PERHAPS, Shape, Sizes, check_declared
from swwl.storage.memory import MemoryLike


def shift_needed(distances: NDArray[np.float64], exponent: float) -> float:
    """Return the smallest constant that makes distances to a power conditionally negative definite.

    Parameters
    ----------
    distances : ndarray of shape (N, N)
        Symmetric, with a zero diagonal.
    exponent : float

    Examples
    --------
    >>> line = np.abs(np.subtract.outer([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]))
    >>> shift_needed(line, 2.0)
    0.0
    >>> round(shift_needed(line**2, 2.0), 3)  # squared distances are not distances
    4.0
    """
    powers = distances**exponent
    centered = powers - powers.mean(axis=0)
    centered -= centered.mean(axis=1, keepdims=True)
    lowest = float(linalg.eigh(-0.5 * centered, eigvals_only=True, subset_by_index=[0, 0])[0])
    rounding = 1e-10 * float(np.abs(centered).max(initial=0.0))
    return 0.0 if lowest > -rounding else -2 * lowest + rounding


def shifted(distances: NDArray[np.float64], exponent: float, shift: float, same: bool) -> NDArray[np.float64]:
    r"""Return :math:`(D^\alpha + c)^{1/\alpha}`, with zeros on the diagonal if both sides are the ``same`` graphs.

    Examples
    --------
    >>> shifted(np.array([[0.0, 3.0], [3.0, 0.0]]), 2.0, 7.0, same=True)
    array([[0., 4.],
           [4., 0.]])
    """
    moved = (distances**exponent + shift) ** (1 / exponent)
    if same:
        np.fill_diagonal(moved, 0.0)
    return moved


Item: TypeAlias = NDArray[np.float64] | Coordinates
CorrelationName: TypeAlias = str | tuple[str, float]


class Factor(BaseEstimator):
    """One factor of a kernel: a distance on one column and a correlation of it.

    Parameters are stored as given, by scikit-learn's rules (``get_params``, ``set_params``, ``clone``). To write your
    own factor, give it a ``column``, say what it ``takes``, and define these methods:

    - ``fit(values, progress=None)`` learns from a training column and returns its representation;
    - ``represent(values, progress=None)`` returns the representation of another column;
    - ``items(first, second=None)`` turns representations into a list of what :class:`swwl.RobustGP` takes: (N, M)
      distances from ``first`` to ``second`` (or among ``first``), or the :class:`Coordinates` of ``first``; or
      ``blocks``, the same on demand;
    - ``correlations()`` and ``range_names()`` name a correlation per item and a name per range;
    - ``units()`` says what one unit of distance is, per range, in the units of the column.

    What only some factors can do is asked for by its name: :class:`Differentiable` ones carry gradients back to an
    entry of their column, and those that :class:`HasComponents` leave open how many of these have a range each.

    Attributes
    ----------
    takes : {"graphs", "numbers", "categories", "rows"}
        What the column holds: graphs (or meshes, or files of them), numbers, a few different texts, or anything else of
        the factor's own, such as vectors or row numbers.
    gives : {"distances", "coordinates", "gram"}
        What representations are compared by: distances; coordinates with a range each; or a kernel of its own, in the
        method ``gram(first, second=None)``, with the distances that it induces.
    positive_definite : bool
        Where it is False, :class:`swwl.RobustGPRegressor` warns, and a constant is added to distances that makes the
        kernel positive definite on the training set (see :func:`shift_needed`).
    supervised : bool
        Whether ``fit`` learns from classes, given as ``y``.
    """

    takes: ClassVar[Literal["graphs", "numbers", "categories", "rows"]] = "rows"
    gives: ClassVar[Literal["distances", "coordinates", "gram"]] = "distances"
    positive_definite: ClassVar[bool] = True
    column: str
    shifts_: Annotated[NDArray[np.float64], Shape("i"), PERHAPS]
    # Of the arrays that a representation consists of, in the letters of what is learned; none for lists of graphs.
    row_shapes: ClassVar[tuple[Shape, ...]] = ()

    @property
    def supervised(self) -> bool:
        """Whether ``fit`` learns from classes."""
        return False

    def __mul__(self, other: Factor | Product) -> Product:
        return Product(self, other)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [repr(self.column)]
        for name, value in self.get_params(deep=False).items():
            default = defaults[name].default
            if name != "column" and not (value is default or (np.ndim(value) == 0 and value == default)):
                shown.append(f"{name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def fit(self, values: object, progress: Progress | None = None, **options: Any) -> Any:
        """Learn from a training column; return its representation.

        Parameters
        ----------
        values : iterable of length N
        progress : callable, optional
        **options
            ``memory`` for factors that take graphs, ``y`` for supervised ones.
        """
        raise TypeError(f"{type(self).__name__} must define fit.")

    def represent(self, values: object, progress: Progress | None = None, **options: Any) -> Any:
        """Return the representation of a column; ``memory`` may be given to factors that take graphs."""
        raise TypeError(f"{type(self).__name__} must define represent.")

    def items(self, first: Any, second: Any = None) -> list[Item]:
        """Return distances (N, M) or coordinates, one per correlation."""
        self._require("items", "blocks")
        return [block if isinstance(block, Coordinates) else block.dense() for block in self.blocks(first, second)]

    def blocks(self, first: Any, second: Any = None) -> list[Block]:
        """Return the items on demand: nothing is computed until rows and columns are asked for."""
        self._require("items", "blocks")
        return [
            item if isinstance(item, Coordinates) else Distances(item, symmetric=second is None)
            for item in self.items(first, second)
        ]

    def training_blocks(self, rows: Any) -> list[Block]:
        """Return the blocks among training rows, made positive definite where they are not by themselves.

        Sets ``shifts_`` of such a factor: the constants that were added, one per item.
        """
        if self.positive_definite:
            return self.blocks(rows)
        pairs = zip(self.items(rows), self.correlations(), strict=True)
        found = [(np.asarray(item), _exponent(correlation)) for item, correlation in pairs]
        self.shifts_ = np.array([shift_needed(*pair) for pair in found])
        return [Distances(shifted(*pair, shift, True)) for pair, shift in zip(found, self.shifts_, strict=True)]

    def new_blocks(self, rows: Any, train: Any = None) -> list[Block]:
        """Return the blocks of new rows, to the training rows or among themselves, with the training's constants."""
        if self.positive_definite:
            return self.blocks(rows, train)
        triples = zip(self.items(rows, train), self.correlations(), self.shifts_, strict=True)
        same = train is None
        return [
            Distances(shifted(np.asarray(item), _exponent(name), shift, same), symmetric=same)
            for item, name, shift in triples
        ]

    def left_out_blocks(
        self, rows: Any, blocks: Sequence[Block], out: NDArray[np.intp], train: NDArray[np.intp]
    ) -> list[Block]:
        """Return the blocks from training rows that are left out of a fold to those that are not.

        Parameters
        ----------
        rows : Any
            The representation of all training rows.
        blocks : sequence of Block
            Those among them.
        out, train : ndarray of int
        """
        return [block.take(out, train) for block in blocks]

    def correlations(self) -> list[CorrelationName]:
        """Return one correlation per item."""
        raise TypeError(f"{type(self).__name__} must define correlations.")

    def range_names(self) -> list[str]:
        """Return one name per range."""
        return [self.column]

    def units(self) -> NDArray[np.float64]:
        """Return what one unit of distance is in the units of the column, per range."""
        return np.ones(len(self.range_names()))

    def source(self) -> Any:
        """Return what representations depend on: factors of one source have the same ones, made once for all."""
        return id(self)

    def adopt(self, other: Factor) -> None:
        """Take over what another factor of the same source has learned."""
        for name, value in vars(other).items():
            if name.endswith("_"):
                setattr(self, name, value)

    def known_sizes(self) -> dict[str, int]:
        """Return the sizes that options settle, by the letters of the shapes of what is learned."""
        return {}

    def check_restored(self, rows: Any) -> None:
        """Refuse what a model file says of this factor and of its training rows, where that cannot be."""
        sizes = Sizes(**self.known_sizes())
        check_declared(self, sizes)
        parts = () if isinstance(rows, list) else rows if isinstance(rows, tuple) and rows else (rows,)
        if len(parts) != len(self.row_shapes):
            raise InputError(f"column {self.column!r} has {len(parts)} arrays, but {len(self.row_shapes)} are expected")
        for shape, part in zip(self.row_shapes, parts, strict=True):
            shape.check(f"column {self.column!r}", part, sizes)

    def forget(self) -> None:
        """Let go of what only the fit of a model needs."""

    def vectors(self, rows: Any) -> AnyArray | None:
        """Return a representation as vectors (N, K) whose distances are the factor's, or None if there are none.

        Maps of a training set show them.
        """
        return None

    def beyond(self, rows: Any) -> NDArray[np.float64] | None:
        """Return the norm (N,) of what :meth:`vectors` leave of whole rows, or None if they leave nothing."""
        return None

    def unlike(self, rows: Any) -> list[list[str]]:
        """Say of every row in words what no training row has, such as more bodies; an empty list for most."""
        return []

    def numbers(self, rows: Any) -> NDArray[np.float64] | None:
        """Return a representation as numbers in the units of the column, (N,), or None if it takes none."""
        return None

    def _require(self, *names: str) -> None:
        if all(getattr(type(self), name) is getattr(Factor, name) for name in names):
            raise TypeError(f"{type(self).__name__} must define {' or '.join(names)}.")


@runtime_checkable
class Differentiable(Protocol):
    """A factor through which gradients go back to one entry of its column."""

    def linear(self, value: object) -> Linear:
        """Return the row of one entry of the column, and what pulls gradients in it back to the entry.

        Meshes and graphs come as :class:`~swwl.embedding.linear.Source`, which all factors of their column share.
        """

    def of_row(self, row: NDArray[np.float64]) -> Any:
        """Return the representation of one entry, given the row (K,) of :meth:`linear`."""

    def pull_back(self, new: Any, train: Any, gradients: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the gradients (K, m) in the row of one entry, given those in the blocks from it to the training rows.

        Parameters
        ----------
        new : Any
            From :meth:`of_row`.
        train : Any
            Representations of the training rows.
        gradients : sequence of ndarray
            For every block (p, m) in p coordinates, or (N, m) in half the squared distances.
        """


def differentiable(factor: Factor) -> Differentiable:
    """Return a factor through which gradients go back; refuse one that has none.

    Examples
    --------
    >>> from swwl.kernels import Matern52
    >>> differentiable(Matern52("speed"))
    Matern52('speed')
    """
    if not isinstance(factor, Differentiable):
        raise InputError(f"{type(factor).__name__} has no derivatives, so a model with it has no sensitivities.")
    return factor


@runtime_checkable
class HasComponents(Protocol):
    """A factor that can leave open how many of its components have ranges of their own."""

    def most_components(self) -> int | None:
        """Return up to how many components could have ranges of their own, or None where that is not to be chosen."""

    def use_components(self, number: int) -> None:
        """Give ranges of their own to the first ``number`` components."""


def _short(value: object) -> str:
    return f"<array of shape {np.shape(value)}>" if isinstance(value, np.ndarray) else repr(value)


def _exponent(correlation: CorrelationName) -> float:
    """Return the power that decides; Matérn correlations need Euclidean distances, as the Gaussian does."""
    return 2.0 if isinstance(correlation, str) else float(correlation[1])


def options_for(factor: Factor, memory: MemoryLike = None, y: object = None) -> dict[str, Any]:
    """Return those of the options that a factor's ``fit`` and ``represent`` take.

    Factors of users need not know ``memory``: it is passed on only where there is one, to factors that take graphs.
    """
    options: dict[str, Any] = {}
    if memory is not None and factor.takes == "graphs":
        options["memory"] = memory
    if y is not None and factor.supervised:
        options["y"] = y
    return options


class Product:
    """The product of several factors; made with ``*``.

    Every factor has a column of its own; kernels are multiplied, never added. Regressors ask the product for what the
    process takes: :meth:`join` puts the blocks of its factors together, :meth:`correlations` names a correlation for
    each, :meth:`range_names` and :meth:`units` describe every range.

    Parameters
    ----------
    *factors : Factor or Product

    Attributes
    ----------
    factors : list of Factor
    elliptic : CorrelationName or None
        The correlation that all factors share; None where each has its own, as in a plain product.

    Examples
    --------
    >>> from swwl.kernels import Matern52, SWWL
    >>> kernel = SWWL("mesh") * Matern52("speed")
    >>> kernel.get_params()["mesh__n_projections"]
    50
    >>> kernel.set_params(mesh__n_projections=20)
    SWWL('mesh', n_projections=20) * Matern52('speed')
    """

    def __init__(self, *factors: Factor | Product):
        self.factors: list[Factor] = []
        for factor in factors:
            if not isinstance(factor, (Factor, Product)):
                raise InputTypeError(f"A kernel multiplies factors such as SWWL('mesh'), not {type(factor).__name__}.")
            if isinstance(factor, Product) and factor.elliptic is not None:
                raise InputTypeError(f"{factor!r} is a whole kernel, not a factor: name all columns inside it.")
            self.factors += factor.factors if isinstance(factor, Product) else [factor]

    def __mul__(self, other: Factor | Product) -> Product:
        return Product(self, other)

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))

    def __sklearn_clone__(self) -> Product:
        return Product(*(clone(factor) for factor in self.factors))

    @property
    def elliptic(self) -> CorrelationName | None:
        """None: every factor has its own correlation."""
        return None

    @property
    def columns(self) -> list[str]:
        """The columns that the factors need, each once."""
        return list(dict.fromkeys(factor.column for factor in self.factors))

    def check(self) -> None:
        """Refuse factors that do not go together: in a product, two on one column."""
        seen: dict[str, Factor] = {}
        for factor in self.factors:
            if factor.column in seen:
                first = type(seen[factor.column]).__name__
                raise InputError(
                    f"The kernel uses column {factor.column!r} twice, in {first} and {type(factor).__name__}; "
                    f"each column may have one factor."
                )
            seen[factor.column] = factor

    def join(self, groups: Sequence[Sequence[Block]]) -> list[Block]:
        """Return the blocks that the process takes, made of those of every factor."""
        return [block for group in groups for block in group]

    def block_names(self, groups: Sequence[Sequence[Block]]) -> list[str]:
        """Return a name for each joined block, for messages."""
        pairs = zip(self.factors, groups, strict=True)
        return [name for factor, group in pairs for name in _block_names(factor, group)]

    def correlations(self) -> list[CorrelationName]:
        """Return one correlation per joined block."""
        return [correlation for factor in self.factors for correlation in factor.correlations()]

    def range_names(self) -> list[str]:
        """Return one name per range."""
        return [name for factor in self.factors for name in factor.range_names()]

    def units(self) -> NDArray[np.float64]:
        """Return what one unit of distance is in the units of its column, per range."""
        return np.concatenate([factor.units() for factor in self.factors])

    def keys(self) -> list[str]:
        """Return the names of the factors among the parameters: their columns, numbered where they repeat."""
        found: list[str] = []
        for factor in self.factors:
            number, key = 1, str(factor.column)
            while key in found:
                number += 1
                key = f"{factor.column} {number}"
            found.append(key)
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the factors by column and, if ``deep``, their parameters as ``column__parameter``."""
        pairs = list(zip(self.keys(), self.factors, strict=True))
        params: dict[str, Any] = dict(pairs)
        if deep:
            for name, factor in pairs:
                params |= {f"{name}__{key}": value for key, value in factor.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Product:
        """Set parameters named as in :meth:`get_params`."""
        for key, value in params.items():
            # Columns may have "__" in their names: a whole name goes before a beginning, a longer before a shorter.
            names = self.keys()
            fitting = [place for place, name in enumerate(names) if key == name or key.startswith(f"{name}__")]
            if not fitting:
                columns = ", ".join(names)
                raise InputError(
                    f"The kernel has no parameter {key!r}; its columns are: {columns}. Parameters are named "
                    f"COLUMN__PARAMETER, such as {names[0]}__{_some_parameter(self.factors[0])}."
                )
            place = max(fitting, key=lambda i: (key == names[i], len(names[i])))
            if key == names[place]:
                self.factors[place] = value
            else:
                self.factors[place].set_params(**{key[len(names[place]) + 2 :]: value})
        return self


def _block_names(factor: Factor, group: Sequence[Block]) -> list[str]:
    """Name each block of a factor for messages; a group of coordinates has many ranges but one name."""
    left = factor.range_names()
    names = []
    for block in group:
        if isinstance(block, Coordinates):
            names.append(f"{factor.column} (components)")
            left = left[block.values.shape[1] :]
        else:
            names.append(left.pop(0))
    return names


def _some_parameter(factor: Factor) -> str:
    return next((name for name in factor.get_params(deep=False) if name != "column"), "column")


def as_product(kernel: Factor | Product) -> Product:
    """Return a kernel as a product; refuse what is not one, or whose factors do not go together."""
    if not isinstance(kernel, (Factor, Product)):
        raise InputTypeError(f"The kernel must be made of factors, such as SWWL('mesh'), not {kernel!r}.")
    product = kernel if isinstance(kernel, Product) else Product(kernel)
    product.check()
    return product


def warn_about_indefinite(kernel: Product, stacklevel: int = 2) -> None:
    """Warn where a kernel is not positive definite, and say what is done about it."""
    names = [type(factor).__name__ for factor in kernel.factors if not factor.positive_definite]
    if names:
        warnings.warn(
            f"{', '.join(names)} does not give a positive definite kernel. A constant is added to the distances "
            f"between different graphs, which makes it one on the training set; variances at new ones may be small.",
            IndefiniteKernelWarning,
            stacklevel=stacklevel + 1,
        )
