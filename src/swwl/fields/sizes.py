r"""How large fields are as a whole: an amplitude and a largest value per case, by a model of numbers.

Fields of loaded parts differ by orders of magnitude from case to case, and hardly in shape. Their amplitude, the root
mean square over lengths, areas or volumes, and their largest size are numbers, and predicted as such, on a logarithmic
scale, by a :class:`~swwl.RobustGPRegressor` of all fields together. A field is then an amplitude times a shape,

.. math:: u = e^{a}\, w^{-1}(y), \qquad a \sim N(\mu, \sigma^2),

where folds prefer that (``candidates.py``), and stretched where it is large, so that its largest size agrees with the
predicted one (:func:`stretch`), where folds prefer that (``fit.py``). Sizes are learned over a law where one is given
and left-out cases agree (:func:`fit_sizes_over`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.estimators import clone
from swwl.gp.prediction import Prediction, log_density
from swwl.kernels.base import Product
from swwl.mesh.cells import lumped_measures
from swwl.mesh.mesh import Mesh
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.target_scale import JudgedLaw
from swwl.storage.memory import MemoryLike
from swwl.tables.laws import Law

Array = NDArray[np.float64]

# Logarithms that deviate by less than this are not worth a model of their own.
_LEAST_SPREAD = 0.05
_FEWEST = 20
# How sharply fields are stretched towards their largest size: more or less far below it, too.
POWERS = (2.0, 6.0, 18.0)
# A law is used unless errors grow by more than this.
_ROOM = 1.05
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


def field_sizes(mesh: Mesh, values: Array, times: int = 1) -> tuple[float, float]:
    """Return the amplitude of a field (n, c), by the sizes of cells, and its largest size; NaN nodes do not count.

    Of a field given at several times, the largest size is that at any one of them.

    Examples
    --------
    >>> line = Mesh([[0.0], [1.0], [3.0]], {"line": [[0, 1], [1, 2]]})
    >>> field_sizes(line, np.array([[0.0], [2.0], [0.0]]))
    (1.4142135623730951, 2.0)
    """
    size = (values**2).sum(axis=1)
    at_times = (values**2).reshape(len(values), times, -1).sum(axis=2)
    known = np.isfinite(size)
    weights = lumped_measures(mesh.points, mesh.cells)[known]
    if not weights.sum() > 0:
        weights = np.ones(int(known.sum()))
    mean = float(weights @ size[known] / weights.sum())
    return mean**0.5, float(at_times[known].max()) ** 0.5


def worth_a_model(sizes: Array) -> bool:
    """Whether amplitudes and largest sizes (N, 2) of fields vary enough to be predicted as numbers.

    Examples
    --------
    >>> worth_a_model(np.ones((30, 2))), worth_a_model(np.geomspace(1, 9, 60).reshape(30, 2))
    (False, True)
    """
    return len(sizes) >= _FEWEST and bool((sizes > 0).all()) and float(np.log(sizes).std(axis=0).min()) > _LEAST_SPREAD


class SizeModel(NamedTuple):
    """What predicts the sizes of fields: logarithms over those of laws, by field."""

    numbers: RobustGPRegressor
    laws: dict[str, Law]

    def kernels(self) -> list[Product]:
        """Return all kernels that have to see new cases."""
        return self.numbers.stack_.kernels()

    def sizes(self, found: Prediction, table: pd.DataFrame, fields: Sequence[str]) -> dict[str, CaseSizes]:
        """Return what a prediction of the rows of a table says of fields, by name; nothing of those it does not know.

        Parameters
        ----------
        found : Prediction
        table : DataFrame
            With the columns of the laws.
        fields : sequence of str
        """
        whole, known, said = found.columns(), self.numbers.target_names_, {}
        for field in fields:
            names = size_names(field)
            if names[0] not in known:
                said[field] = CaseSizes.none(len(found.mean))
                continue
            shift = np.log(self.laws[field].values(table)) if field in self.laws else 0.0
            amplitude, largest = (known.index(name) for name in names)
            said[field] = CaseSizes(
                whole.mean[:, amplitude] + shift,
                whole.std[:, amplitude],
                whole.mean[:, largest] + shift,
                whole.std[:, largest],
            )
        return said


class SizeTask(NamedTuple):
    """What a model of sizes is fitted to, and how; without kernels the default one is."""

    table: pd.DataFrame
    sizes: Mapping[str, Array]  # amplitudes and largest sizes (N, 2), by field
    kernels: Mapping[str, Product] | None
    random_state: int
    n_jobs: int | None
    progress: Progress | None = None
    memory: MemoryLike = None


def fit_sizes(task: SizeTask, laws: Mapping[str, Law] | None = None) -> SizeModel:
    """Fit one model to the logarithms of the sizes of several fields over their laws."""
    over = {field: law for field, law in (laws or {}).items() if field in task.sizes}
    names = [name for field in task.sizes for name in size_names(field)]
    parts = [
        np.log(own) - (np.log(over[field].values(task.table))[:, None] if field in over else 0.0)
        for field, own in task.sizes.items()
    ]
    targets = pd.DataFrame(np.hstack(parts), columns=names, index=task.table.index)
    kernels = None if task.kernels is None else {name: clone(kernel) for name, kernel in task.kernels.items()}
    model = RobustGPRegressor(
        kernels, target_scale="identity", regimes="one", random_state=task.random_state, n_jobs=task.n_jobs
    )
    return SizeModel(model.fit(task.table, targets, progress=task.progress, memory=task.memory), over)


def fit_sizes_over(task: SizeTask, laws: Mapping[str, Law]) -> tuple[SizeModel, list[JudgedLaw]]:
    """Fit a model of sizes with those laws that left-out cases do not speak against; say which.

    Errors are those of the logarithms of amplitudes; larger ones by less than 5 % are chance.
    """
    plain = fit_sizes(task)
    if not laws:
        return plain, []
    scaled = fit_sizes(task, laws)
    judged = []
    for field, law in scaled.laws.items():
        truth = np.log(task.sizes[field][:, 0])
        said = [left_out_sizes(model, task.table, [field])[field] for model in (scaled, plain)]
        error, plain_error = (float(np.sqrt(np.mean((one.mean - truth) ** 2))) for one in said)
        density, plain_density = (float(_log_density(truth, one).mean()) for one in said)
        used = error <= _ROOM * plain_error
        judged.append(JudgedLaw(field, law.formula, used, error, plain_error, density - plain_density))
    agreed = {one.target: laws[one.target] for one in judged if one.used}
    if len(agreed) == len(judged):
        return scaled, judged
    return (fit_sizes(task, agreed) if agreed else plain), judged


def _log_density(truth: Array, said: CaseSizes) -> Array:
    return log_density((truth - said.mean) / said.std, np.inf) - np.log(said.std)


def size_names(field: str) -> list[str]:
    """Return what targets of a field are called."""
    return [f"{field}: amplitude", f"{field}: largest"]


def stretch(values: Array, largest: float, power: float, times: int = 1) -> Array:
    r"""Return factors (n, 1) that make the largest size of a field (n, c) the one that is given.

    Of a field given at several times, factors are (n, c), alike for all components at a time.

    .. math:: 1 + (r - 1)\, t^p \quad (r \ge 1), \qquad 1 / (1 + (1/r - 1)\, t) \quad (r < 1)

    with :math:`t = |u| / \max|u|` and the ratio r of the largest sizes, at least a third and at most three. Larger
    values stay larger.

    Examples
    --------
    >>> stretch(np.array([[1.0], [-2.0]]), 3.0, 1.0).tolist()
    [[1.25], [1.5]]
    """
    n, c = values.shape
    size = np.linalg.norm(values.reshape(n, times, -1), axis=2)
    top = float(size.max(initial=0.0))
    if not (top > 0 and np.isfinite(largest)):
        return np.ones((n, 1))
    ratio = float(np.clip(largest / top, 1 / _MOST, _MOST))
    part = size / top
    found = 1.0 + (ratio - 1.0) * part**power if ratio >= 1 else 1.0 / (1.0 + (1.0 / ratio - 1.0) * part)
    return found if times == 1 else np.repeat(found, c // times, axis=1)


def left_out_sizes(model: SizeModel, table: pd.DataFrame, fields: Sequence[str]) -> dict[str, CaseSizes]:
    """Return what folds said of the training cases that they left out, by field."""
    return model.sizes(model.numbers.leave_one_out(), table, fields)
