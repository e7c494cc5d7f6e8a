r"""What a model believes about a pool of candidates, and what it would believe if some of them were simulated.

With :math:`C` the joint covariance of the candidates and :math:`\nu` the variance of the noise, simulating case c
leaves

.. math:: C \leftarrow C - \frac{C_{\cdot c} C_{c \cdot}}{C_{cc} + \nu},

whatever its answer: that is exact for a Gaussian process with its ranges fixed, trend and all. Of a stack it is the
covariance of the mixture: where the members disagree, an answer would settle it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swwl.domain.verdict import Representation
from swwl.errors import InputError
from swwl.gp.prediction import Prediction
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor, Table
from swwl.storage.memory import MemoryLike
from swwl.tables.inputs import as_rows

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

    Attributes
    ----------
    cases : Represented
        The candidates, as the members of the model's stack see them.
    observed : Prediction
        Of what simulations would say, arrays of shape (M, k).
    mean, variance : ndarray of shape (M, k)
        Of the function without noise; variances fall as cases are taken for known.
    noise : ndarray of shape (M, k)
    """

    def __init__(
        self, model: RobustGPRegressor, X: Table, *, progress: Progress | None = None, memory: MemoryLike = None
    ):
        self.model = model
        table = as_rows(X, model.feature_names_in_)
        if not len(table):
            raise InputError("The pool has no rows.")
        self.cases = model.stack_.represent(table, progress, memory)
        function, self.observed = self._predict(False), self._predict(True)
        if not np.isfinite(function.std).all():
            raise InputError("The model cannot say how unsure it is: it was fitted to too few cases.")
        self._function = function
        self.mean, self.variance = function.mean, function.std**2
        self.noise = np.maximum(self.observed.std**2 - self.variance, 0.0)
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
        if start.process is start:
            return Prediction.from_std(start.mean, left, start.df)
        return start.widened(np.divide(left, start.std, out=np.zeros_like(left), where=start.std > 0))

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


def blocks(n: int, size: int) -> list[NDArray[np.intp]]:
    """Cut the numbers from 0 to n - 1 into pieces of a size."""
    return [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
