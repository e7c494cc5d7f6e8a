r"""What a model believes about a pool of candidates, and what it would believe if some of them were simulated.

With :math:`C` the joint covariance of the candidates and :math:`\nu` the variance of the noise, simulating case c
leaves

.. math:: C \leftarrow C - \frac{C_{\cdot c} C_{c \cdot}}{C_{cc} + \nu},

whatever its answer: that is exact for a Gaussian process with its ranges fixed, trend and all. Of a stack it is the
covariance of the mixture: where the members disagree, an answer would settle it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.verdict import Representation
from swwl.errors import InputError
from swwl.formatting import number
from swwl.gp.prediction import Prediction
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor, Table
from swwl.storage.memory import MemoryLike
from swwl.tables.inputs import as_rows
from swwl.tables.laws import matched_column

Array = NDArray[np.float64]

# Candidates whose joint covariance is asked for at a time; beside one, and beside the places that stand for the pool.
_BLOCK, _WIDE_BLOCK = 128, 512
# Up to so many candidates all of them stand for the pool; of more, a sample.
_MOST_PLACES = 1000


class Pool:
    """Candidates as a model sees them; they are embedded once.

    All of it is the plain process: what is still to be learned is where the model is unsure, so nothing is widened.

    Parameters
    ----------
    model : RobustGPRegressor
        Fitted.
    X : DataFrame, list of graphs or array
        The candidates, with the columns that the model needs.
    progress : callable, optional
        Called as ``progress(done, total)`` while meshes are embedded.
    memory : Memory or path, optional
        Where embeddings of mesh files are kept.
    at : mapping of str to number or text, optional
        Conditions: values of inputs that take the place of those in ``X``, checked by :func:`check_conditions`.

    Attributes
    ----------
    cases : Represented
        The candidates, as the members of the model's stack see them.
    others : ndarray of shape (M, c)
        Their numbers that no kernel has, but the trend or a law, in standard deviations of the training cases.
    train_others : ndarray of shape (N, c)
        Those of the training cases.
    observed : Prediction
        Of what simulations would say, arrays of shape (M, k).
    mean, variance : ndarray of shape (M, k)
        Of the function without noise; variances fall as cases are taken for known.
    noise : ndarray of shape (M, k)
    answers : ndarray of shape (N, k)
        Of the training cases, to compare with: known ones or, at given conditions, those that are predicted for them.
    """

    def __init__(
        self,
        model: RobustGPRegressor,
        X: Table,
        *,
        progress: Progress | None = None,
        memory: MemoryLike = None,
        at: Mapping[str, float | str] | None = None,
    ):
        self.model = model
        table = at_conditions(X, model, at or {})
        if not len(table):
            raise InputError("The pool has no rows.")
        self.cases = model.stack_.represent(table, progress, memory)
        known = {name: own for name, own in model.stack_.other_inputs.items() if name not in model.kernel_.columns}
        self.train_others = np.column_stack([*known.values(), np.empty((len(model.train_targets_), 0))])
        spread = self.train_others.std(axis=0)
        self.train_others /= np.where(spread > 0, spread, 1.0)
        self.others = table[list(known)].to_numpy(dtype=np.float64) / np.where(spread > 0, spread, 1.0)
        function, self.observed = self._predict(False), self._predict(True)
        if not np.isfinite(function.std).all():
            raise InputError("The model cannot say how unsure it is: it was fitted to too few cases.")
        self._function = function
        self.mean, self.variance = function.mean, function.std**2
        self.noise = np.maximum(self.observed.std**2 - self.variance, 0.0)
        self.answers = model.train_targets_
        if at:
            trained = model.stack_.training_cases_at(at)
            self.answers = model.stack_.predict(trained, include_nugget=False).columns().mean
        self._settled: list[Array] = []  # what each case that is taken for known has explained, (k, M)

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def rows(self) -> list[list[Representation]]:
        """What the factors of every member make of the candidates."""
        return self.cases.rows

    @property
    def df(self) -> float:
        """Degrees of freedom of the predictions."""
        return self.observed.df

    def believed(self, k: int) -> Prediction:
        """Return what is believed of target k without noise, (M,), given the cases that are taken for known."""
        start = self._function.column(k)
        left = np.sqrt(self.variance[:, k])
        return start.narrowed(np.divide(left, start.std, out=np.zeros_like(left), where=start.std > 0))

    def column(self, case: int) -> Array:
        """Return the covariances (k, M) of one case with all, given the cases that are taken for known."""
        found = np.empty((self.mean.shape[1], len(self)))
        for part in blocks(len(self), _BLOCK):
            own = np.concatenate([[case], part])
            found[:, part] = self._covariance(own)[:, 0, 1:]
        for explained in self._settled:
            found -= explained[:, case, None] * explained
        return found

    def settle(self, case: int, column: Array | None = None) -> Array:
        """Take a case for simulated: variances fall; return what it explains, (k, M), squares of which they lose."""
        column = self.column(case) if column is None else column
        total = np.maximum(self.variance[case] + self.noise[case], np.finfo(float).tiny)
        explained = column / np.sqrt(total)[:, None]
        self._settled.append(explained)
        self.variance = np.maximum(self.variance - explained.T**2, 0.0)
        return explained

    def places(self, seed: int) -> NDArray[np.intp]:
        """Return the candidates that stand for the pool where something is averaged over it: all, or a sample."""
        if len(self) <= _MOST_PLACES:
            return np.arange(len(self))
        return np.sort(np.random.default_rng(seed).permutation(len(self))[:_MOST_PLACES])

    def among(self, places: NDArray[np.intp]) -> Array:
        """Return the covariances (k, R, M) of some places with all candidates, before anything is settled."""
        if len(places) == len(self):
            return self._covariance(places)
        found = np.empty((self.mean.shape[1], len(places), len(self)))
        for part in blocks(len(self), _WIDE_BLOCK):
            own = np.concatenate([places, part])
            found[:, :, part] = self._covariance(own)[:, : len(places), len(places) :]
        return found

    def _predict(self, include_nugget: bool) -> Prediction:
        stack = self.model.stack_
        parts = blocks(len(self), _WIDE_BLOCK)
        return Prediction.joined([stack.predict(self.cases.take(part), include_nugget).columns() for part in parts])

    def _covariance(self, cases: NDArray[np.intp]) -> Array:
        return self.model.stack_.joint(self.cases.take(cases), include_nugget=False)[1]


def check_conditions(model: RobustGPRegressor, given: Mapping[str, float | str]) -> dict[str, float | str]:
    """Return values of inputs by the names of their columns; refuse names that the model has not, and other values.

    Parameters
    ----------
    model : RobustGPRegressor
    given : mapping of str to number or text
        A unit in the name of a column may be left out where that is unambiguous.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"force [N]": [1.0, 2.0, 3.0, 4.0], "a": [0.0, 1.0, 1.0, 0.0], "y": [1.0, 3.0, 4.0, 4.0]})
    >>> model = RobustGPRegressor(calibrate=False).fit(table, "y")
    >>> check_conditions(model, {"force": 2})
    {'force [N]': 2.0}
    >>> check_conditions(model, {"speed": 2})
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: The model has no input 'speed' to fix; it has: force [N], a.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"Conditions are {given!r}, but a dict is expected, such as {{'force': 1000}}.")
    factors = [factor for member in model.members_ for factor in member.kernel.factors]
    categories = {factor.column: factor.categories_ for factor in factors if factor.takes == "categories"}
    others = {factor.column for factor in factors if factor.takes in ("graphs", "rows")}
    known = [str(name) for name in model.feature_names_in_ if name not in others]
    found: dict[str, float | str] = {}
    for short, value in given.items():
        name = matched_column(str(short), known)
        if name is None:
            raise InputError(f"The model has no input {short!r} to fix; it has: {', '.join(known) or 'none'}.")
        if name in found:
            raise InputError(f"{name!r} is fixed twice; fix it once.")
        if name in categories:
            if str(value) not in categories[name]:
                raise InputError(f"{name} is fixed at {value!r}, but it is one of {', '.join(categories[name])}.")
            found[name] = str(value)
            continue
        try:
            found[name] = float(value)
        except (TypeError, ValueError):
            found[name] = np.nan
        if not np.isfinite(float(found[name])):
            raise InputError(f"{name} is fixed at {value!r}, but a number is expected.")
    return found


def outside_notes(model: RobustGPRegressor, at: Mapping[str, float | str]) -> list[str]:
    """Say which conditions, as :func:`check_conditions` returns them, lie outside the range of the training cases."""
    train = model.train_inputs_
    numbers = {name: float(value) for name, value in at.items() if name in train.columns}
    ranges = {name: (float(train[name].min()), float(train[name].max())) for name in numbers}
    return [
        f"{name} = {number(value)} is outside the training range, {number(ranges[name][0])} to "
        f"{number(ranges[name][1])}: nothing has been tested there"
        for name, value in numbers.items()
        if not ranges[name][0] <= value <= ranges[name][1]
    ]


def at_conditions(X: Table, model: RobustGPRegressor, at: Mapping[str, float | str]) -> pd.DataFrame:
    """Return candidates as a table in which the inputs ``at`` have the values given there."""
    table = as_rows(X, [name for name in model.feature_names_in_ if name not in at])
    return table.assign(**at) if at else table


def blocks(n: int, size: int) -> list[NDArray[np.intp]]:
    """Cut the numbers from 0 to n - 1 into pieces of a size."""
    return [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
