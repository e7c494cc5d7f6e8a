"""The trend of a process: a constant, nothing, or columns of the table, standardized."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.kernels.base import Factor
from swwl.kernels.numeric import Gaussian
from swwl.models.tables import column

_TRENDS = ("constant", "zero", "linear")


def check_trend(trend: str | Sequence[str]) -> None:
    """Refuse a word that names no trend."""
    if isinstance(trend, str) and trend not in _TRENDS:
        raise InputError(f'trend must be "constant", "zero", "linear" or a list of columns, not {trend!r}.')


def trend_factors(
    trend: str | Sequence[str], factors: Sequence[Factor], table: pd.DataFrame | None = None
) -> list[Factor]:
    """Return what standardizes the columns of the trend: the kernel's own factors, or such for the columns named.

    Parameters
    ----------
    trend : {"constant", "zero", "linear"} or sequence of str
    factors : sequence of Factor
        Of the kernel, fitted.
    table : DataFrame
        Where the named columns are.
    """
    if isinstance(trend, str):
        return [factor for factor in factors if factor.takes == "numbers"] if trend == "linear" else []
    standardizers: list[Factor] = [Gaussian(name) for name in trend]
    for factor in standardizers:
        assert table is not None
        factor.fit(column(table, factor.column, "The trend"))
    return standardizers


def trend_matrix(factors: Sequence[Factor], table: pd.DataFrame) -> NDArray[np.float64] | None:
    """Return the standardized columns of the trend, (N, m), or None where there are none."""
    if not factors:
        return None
    return np.column_stack([factor.represent(column(table, factor.column, "The trend")) for factor in factors])
