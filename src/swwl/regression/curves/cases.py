"""New cases whose curves are asked for: represented once, asked several things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.verdict import WIDER
from swwl.gp.prediction import check_samples
from swwl.regression.curves.bands import Bands, number_intervals
from swwl.regression.curves.coding import CurveBasis
from swwl.regression.curves.numbers import CurveNumber, asked_numbers, name_of, number_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CurveCases:
    """What a model of curves says of M cases, at p places.

    Attributes
    ----------
    basis : CurveBasis
        On the grid of the training curves.
    bands : Bands
    mean, std : ndarray of shape (M, k)
        Of coefficients, by the plain process.
    widen : bool
        Whether intervals are widened where the model is less sure than of 95 % of left-out training curves.
    domain : DataFrame of M rows
        Whether cases are like the training cases.
    grid : ndarray of shape (p,), optional
        Other places to predict at.
    """

    basis: CurveBasis
    bands: Bands
    mean: Array
    std: Array
    widen: bool
    domain: pd.DataFrame
    grid: Array | None = None

    def __len__(self) -> int:
        return len(self.mean)

    def case(self, row: int, grid: Array) -> CurveCases:
        """Return one of the cases, at other places (p,)."""
        some = slice(row, row + 1)
        return replace(self, mean=self.mean[some], std=self.std[some], domain=self.domain.iloc[some], grid=grid)

    @cached_property
    def asked(self) -> CurveBasis:
        """The basis at the places that are asked for."""
        return self.basis if self.grid is None else self.basis.at(self.grid)

    @cached_property
    def factors(self) -> Array:
        """By how much intervals are widened, (M, 1)."""
        return widening(self.std, self.bands.sure) if self.widen else np.ones((len(self), 1))

    @cached_property
    def deviations(self) -> Array:
        """Deviations (M, p) that widths multiply."""
        return self.factors * self.bands.deviations(self.asked, self.std)

    def predict(self) -> Array:
        """Return curves (M, p)."""
        return np.maximum(self.asked.decode(self.mean), self.bands.least)

    def predict_std(self) -> Array:
        """Return standard deviations (M, p): as many left-out values are within one as of a normal variable."""
        return self.bands.width(0.6827) * self.deviations

    def predict_interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Array, Array]:
        """Return the bounds (M, p) of intervals at every place, or of bands that hold whole curves."""
        mean = self.asked.decode(self.mean)
        if not simultaneous:
            half = self.bands.width(level) * self.deviations
        else:
            half = self.bands.whole.half(self.deviations, level, axis=-1)
        return np.maximum(mean - half, self.bands.least), np.maximum(mean + half, self.bands.least)

    def sample(self, n_samples: int, random_state: int | None = None) -> Array:
        """Draw whole curves, (n_samples, M, p), case by case."""
        check_samples(n_samples, len(self) * len(self.asked.grid))
        return self._drawn(self.asked, n_samples, np.random.default_rng(random_state))

    def derived(
        self,
        function: CurveNumber | Sequence[CurveNumber],
        level: float = 0.95,
        n_samples: int = 200,
        random_state: int = 0,
    ) -> pd.DataFrame:
        """Return derived numbers with their uncertainty, see :meth:`swwl.CurveRegressor.derived`."""
        asked = asked_numbers(function)
        check_samples(n_samples, len(self) * len(self.basis.grid))
        drawn = self._drawn(self.basis, n_samples, np.random.default_rng(random_state))
        numbers = [(one, number_of(one, self.basis.grid, drawn)) for one in asked]
        found = number_intervals(numbers, self.bands, self.basis, level)
        alone = isinstance(function, (str,)) or not isinstance(function, Sequence)
        columns = {
            name if alone else f"{name_of(one)}_{name}": values
            for one, own in zip(asked, found, strict=True)
            for name, values in own.items()
        }
        return pd.DataFrame(columns, index=self.domain.index)

    def _drawn(self, basis: CurveBasis, n: int, rng: np.random.Generator) -> Array:
        """Draw n curves of every case, a handful of cases in memory beside the result."""
        rest = self.bands.rest if basis is self.basis else self.basis.carried(self.bands.rest, basis.grid)
        found = np.empty((n, len(self), len(basis.grid)))
        for k, factor in enumerate(self.factors):
            mean, std = self.mean[k : k + 1], factor * self.std[k : k + 1]
            found[:, k] = self.bands.draw(basis, rest, mean, std, n, rng)[:, 0]
        return found


def widening(std: Array, sure: float) -> Array:
    """Return by how much intervals are widened, (M, 1), given deviations of coefficients (M, k)."""
    return np.where(np.sqrt((std**2).sum(axis=1, keepdims=True)) > sure, WIDER, 1.0)
