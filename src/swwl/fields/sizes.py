r"""How large fields are as a whole: an amplitude and a largest value per case, by a model of numbers.

Fields of loaded parts differ by orders of magnitude from case to case, and hardly in shape. Their amplitude, the root
mean square over lengths, areas or volumes, and their largest size are numbers, and predicted as such, on a logarithmic
scale, by a :class:`~swwl.RobustGPRegressor` of all fields together. A field is then an amplitude times a shape,

.. math:: u = e^{a}\, w^{-1}(y), \qquad a \sim N(\mu, \sigma^2),

where folds prefer that (``candidates.py``), and stretched where it is large, so that its largest size agrees with the
predicted one (:func:`stretch`), where folds prefer that (``fit.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from swwl.gp.prediction import Prediction
from swwl.kernels.base import Product
from swwl.mesh.cells import lumped_measures
from swwl.mesh.mesh import Mesh
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor
from swwl.storage.memory import MemoryLike

Array = NDArray[np.float64]

# Logarithms that deviate by less than this are not worth a model of their own.
_LEAST_SPREAD = 0.05
_FEWEST = 20
# How sharply fields are stretched towards their largest size: more or less far below it, too.
POWERS = (2.0, 6.0, 18.0)
# Fields are stretched by at most this factor.
_MOST = 3.0


class CaseSizes(NamedTuple):
    """How large the field of each of M cases is: logarithms of amplitude and largest size, (M,) each, with deviations.

    Deviations are zero, and the largest size NaN, where nothing is said of them.
    """

    mean: Array
    std: Array
    largest: Array
    largest_std: Array

    @classmethod
    def none(cls, n: int) -> CaseSizes:
        """Say nothing of n cases.

        Examples
        --------
        >>> CaseSizes.none(2).row(0)
        OneSize(mean=0.0, std=0.0, largest=nan)
        """
        return cls(np.zeros(n), np.zeros(n), np.full(n, np.nan), np.zeros(n))

    def row(self, number: int) -> OneSize:
        """Return what is said of one case."""
        return OneSize(*(float(part[number]) for part in self[:3]))


class OneSize(NamedTuple):
    """The size of one field: logarithms of its amplitude, with deviation, and of its largest size."""

    mean: float = 0.0
    std: float = 0.0
    largest: float = float("nan")


def field_sizes(mesh: Mesh, values: Array) -> tuple[float, float]:
    """Return the amplitude of a field (n, c), by the sizes of cells, and its largest size; NaN nodes do not count.

    Examples
    --------
    >>> line = Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})
    >>> field_sizes(line, np.array([[0.0], [2.0], [0.0]]))
    (1.4142135623730951, 2.0)
    """
    size = (values**2).sum(axis=1)
    known = np.isfinite(size)
    weights = lumped_measures(mesh.points, mesh.cells)[known]
    if not weights.sum() > 0:
        weights = np.ones(int(known.sum()))
    mean = float(weights @ size[known] / weights.sum())
    return mean**0.5, float(size[known].max()) ** 0.5


def worth_a_model(sizes: Array) -> bool:
    """Whether amplitudes and largest sizes (N, 2) of fields vary enough to be predicted as numbers.

    Examples
    --------
    >>> worth_a_model(np.ones((30, 2))), worth_a_model(np.geomspace(1, 9, 60).reshape(30, 2))
    (False, True)
    """
    return len(sizes) >= _FEWEST and bool((sizes > 0).all()) and float(np.log(sizes).std(axis=0).min()) > _LEAST_SPREAD


def fit_sizes(
    table: pd.DataFrame,
    sizes: Mapping[str, Array],
    kernels: Mapping[str, Product] | None,
    random_state: int,
    n_jobs: int | None,
    progress: Progress | None = None,
    memory: MemoryLike = None,
) -> RobustGPRegressor:
    """Fit one model to the logarithms of sizes (N, 2) of several fields, by name; without kernels the default one."""
    names = [name for field in sizes for name in size_names(field)]
    targets = pd.DataFrame(np.log(np.hstack(list(sizes.values()))), columns=names, index=table.index)
    candidates = None if kernels is None else {name: clone(kernel) for name, kernel in kernels.items()}
    model = RobustGPRegressor(
        candidates, target_scale="identity", regimes="one", random_state=random_state, n_jobs=n_jobs
    )
    return model.fit(table, targets, progress=progress, memory=memory)


def size_names(field: str) -> list[str]:
    """Return what targets of a field are called."""
    return [f"{field}: amplitude", f"{field}: largest"]


def case_sizes(model: RobustGPRegressor, found: Prediction, field: str) -> CaseSizes:
    """Return what a prediction of M cases says of one field; nothing where the model does not know it."""
    names = size_names(field)
    if names[0] not in model.target_names_:
        return CaseSizes.none(len(found.mean))
    whole = found.columns()
    parts = []
    for name in names:
        place = model.target_names_.index(name)
        parts += [whole.mean[:, place], whole.std[:, place]]
    return CaseSizes(*parts)


def stretch(values: Array, largest: float, power: float) -> Array:
    r"""Return factors (n, 1) that make the largest size of a field (n, c) the one that is given.

    .. math:: 1 + (r - 1)\, t^p \quad (r \ge 1), \qquad 1 / (1 + (1/r - 1)\, t) \quad (r < 1)

    with :math:`t = |u| / \max|u|` and the ratio r of the largest sizes, at least a third and at most three. Larger
    values stay larger.

    Examples
    --------
    >>> stretch(np.array([[1.0], [-2.0]]), 3.0, 1.0).tolist()
    [[1.25], [1.5]]
    """
    size = np.linalg.norm(values, axis=1)
    top = float(size.max(initial=0.0))
    if not (top > 0 and np.isfinite(largest)):
        return np.ones((len(values), 1))
    ratio = float(np.clip(largest / top, 1 / _MOST, _MOST))
    part = size / top
    times = 1.0 + (ratio - 1.0) * part**power if ratio >= 1 else 1.0 / (1.0 + (1.0 / ratio - 1.0) * part)
    return np.asarray(times)[:, None]


def left_out_sizes(model: RobustGPRegressor, fields: Sequence[str]) -> dict[str, CaseSizes]:
    """Return what folds said of the training cases that they left out, by field."""
    found = model.leave_one_out()
    return {name: case_sizes(model, found, name) for name in fields}
