r"""One radial correlation for everything: components, remainders and numbers, with a range each.

.. math:: c\Bigl(\bigl(\textstyle\sum_l (\beta_l\,\Delta_l)^2\bigr)^{1/2}\Bigr)

A product of Matérn correlations is a diamond: it falls fastest where several inputs change at once. This one is an
ellipsoid, falls alike in all directions, and takes one exponential instead of one per input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, InputTypeError
from swwl.estimators import clone
from swwl.gp.blocks import Block, Coordinates
from swwl.gp.correlations import get_correlation
from swwl.gp.joint import Joint
from swwl.kernels.base import CorrelationName, Factor, Product
from swwl.kernels.numeric import Numeric
from swwl.storage.modelfile import storable


@storable
class Scalar(Numeric):
    """A standardized column of numbers as a coordinate: what :class:`Elliptic` makes of a column's name.

    Parameters
    ----------
    column : str
        Name of a column of numbers, standardized on the training set.
    log : bool
        Take the logarithm of the column.

    Examples
    --------
    >>> Scalar("speed").blocks(np.array([0.0, 1.0]))
    [Coordinates, values of shape (2, 1)]
    """

    gives = "coordinates"
    name = "gaussian"

    def blocks(self, first: NDArray[np.float64], second: NDArray[np.float64] | None = None) -> list[Block]:
        """Return the standardized column as one coordinate."""
        return [Coordinates(first[:, None], None if second is None else second[:, None])]

    def pull_back(
        self, new: NDArray[np.float64], train: NDArray[np.float64], gradients: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return the gradient in the coordinate, (1, m)."""
        return gradients[0]


class Elliptic(Product):
    r"""One correlation of all inputs together, with a range for each of them.

    .. math:: k = c(\sqrt u), \qquad
              u = \sum_j (\beta_j \Delta z_j)^2 + \sum_r (\beta_r D_r)^2 + \sum_s (\beta_s \Delta x_s)^2 ,

    over the principal components z of embeddings, the distances D (what components leave, whole embeddings, categories)
    and the standardized numbers x. With c a Matérn correlation this is the Matérn kernel of a Euclidean norm, so it is
    positive definite; with "gaussian" it is the product of the parts.

    Unlike a product, it may have several factors on one column of graphs, such as two measures of a mesh.

    Parameters
    ----------
    *parts : Factor or str
        Factors whose distances are Euclidean, such as :class:`PrincipalSWWL` with a fixed number of components, or SWWL
        with its alpha of 2; names of columns of numbers. Of a numeric factor only the column counts.
    correlation : {"matern52", "matern32", "gaussian"} or ("power", alpha)
        c.

    Examples
    --------
    >>> from swwl.kernels import PrincipalSWWL
    >>> kernel = Elliptic(PrincipalSWWL("mesh", n_components=8), "speed", "pressure")
    >>> kernel
    Elliptic(PrincipalSWWL('mesh', n_components=8), 'speed', 'pressure')
    >>> kernel.set_params(correlation="gaussian", mesh__n_components=4)
    Elliptic(PrincipalSWWL('mesh', n_components=4), 'speed', 'pressure', correlation='gaussian')
    """

    def __init__(self, *parts: Factor | str, correlation: CorrelationName = "matern52"):
        super().__init__(*(Scalar(part) if isinstance(part, str) else part for part in parts))
        self.correlation = correlation
        self.check()

    @property
    def elliptic(self) -> CorrelationName | None:
        """The correlation of all parts together."""
        return self.correlation

    def __mul__(self, other: Factor | Product) -> Product:
        raise InputTypeError("An elliptic kernel cannot be multiplied: name the other columns among its parts.")

    def __repr__(self) -> str:
        parts = [
            repr(factor.column if isinstance(factor, Scalar) and not factor.log else factor) for factor in self.factors
        ]
        parts += [f"correlation={self.correlation!r}"] * (self.correlation != "matern52")
        return f"Elliptic({', '.join(parts)})"

    def __sklearn_clone__(self) -> Elliptic:
        return Elliptic(*(clone(factor) for factor in self.factors), correlation=self.correlation)

    def check(self) -> None:
        """Refuse factors that have no place here, and a column that is there twice unless it holds graphs."""
        if not self.factors:
            raise InputError("An elliptic kernel needs at least one part, such as Elliptic(SWWL('mesh'), 'speed').")
        get_correlation(self.correlation)
        self.factors = [Scalar(f.column, log=f.log) if isinstance(f, Numeric) and not isinstance(f, Scalar) else f
                        for f in self.factors]  # fmt: skip
        for factor in self.factors:
            if factor.get_params(deep=False).get("n_components") == "auto":
                raise InputError(
                    f"{factor!r} leaves the number of its components open, but an elliptic kernel needs one, such as "
                    f"n_components=8."
                )
            try:
                _check_euclidean(factor)
            except AttributeError:  # a factor that knows its correlations only once it is fitted
                continue
        Product(*(factor for factor in self.factors if factor.takes != "graphs")).check()

    def join(self, groups: Sequence[Sequence[Block]]) -> list[Block]:
        """Return all blocks as one; none of none."""
        blocks = super().join(groups)
        if groups and not blocks:
            raise InputError(
                f"All cases are the same in {', '.join(map(str, self.columns))}: there is nothing to learn."
            )
        return [Joint(blocks, self.range_names())] if groups else []

    def block_names(self, groups: Sequence[Sequence[Block]]) -> list[str]:
        """Return the name of the one block: its columns."""
        return [", ".join(map(str, self.columns))]

    def correlations(self) -> list[CorrelationName]:
        """Return the correlation of the one block."""
        for factor in self.factors:
            _check_euclidean(factor)
        return [self.correlation]

    def range_names(self) -> list[str]:
        """Return one name per range; where a column repeats, its number tells the factors apart."""
        pairs = zip(self.keys(), self.factors, strict=True)
        return [str(name).replace(str(factor.column), key, 1) for key, factor in pairs for name in factor.range_names()]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the correlation, the factors by column and, if ``deep``, their parameters."""
        return {"correlation": self.correlation} | super().get_params(deep)

    def set_params(self, **params: Any) -> Elliptic:
        """Set parameters named as in :meth:`get_params`."""
        if "correlation" in params and "correlation" not in self.keys():
            self.correlation = params.pop("correlation")
        super().set_params(**params)
        self.check()
        return self


def _check_euclidean(factor: Factor) -> None:
    """Refuse distances that are not Euclidean: those that suit no Gaussian correlation."""
    other = [name for name in factor.correlations() if name != "gaussian"]
    if other:
        raise InputError(
            f"{factor!r} has the correlation {other[0]!r}, but the parts of an elliptic kernel need Euclidean "
            f"distances: those of a 'gaussian', with alpha = 2."
        )


def make_kernel(factors: Sequence[Factor], elliptic: CorrelationName | None = None) -> Product:
    """Return the product of some factors or, with a correlation, the elliptic kernel of them.

    Examples
    --------
    >>> make_kernel([Scalar("speed"), Scalar("pressure")], "matern32")
    Elliptic('speed', 'pressure', correlation='matern32')
    """
    return Product(*factors) if elliptic is None else Elliptic(*factors, correlation=elliptic)
