"""What a column of a table is good for: numbers to learn from, categories, names of cases, dates."""

from __future__ import annotations

import numbers
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.models.cells import is_dates

Kind = Literal["numbers", "mixed", "texts", "dates", "empty", "other"]

_MOST_CATEGORIES = 10
_FEWEST_OF_EACH = 3


def kind_of(values: pd.Series) -> Kind:
    """Say what a column holds.

    Returns
    -------
    str
        "mixed" is a column of numbers in which some cells hold texts.

    Examples
    --------
    >>> [kind_of(pd.Series(cells)) for cells in ([1, 2], [1.5, "lost"], ["a", "b"], ["2024-01-31"], [None], [[1]])]
    ['numbers', 'mixed', 'texts', 'dates', 'empty', 'other']
    """
    known = values.dropna()
    if known.empty:
        return "empty"
    if pd.api.types.is_numeric_dtype(values):
        return "numbers"
    if is_dates(values):
        return "dates"
    n_numbers = sum(isinstance(value, numbers.Real) for value in known)
    n_texts = sum(isinstance(value, str) for value in known)
    if n_numbers + n_texts < len(known):
        return "other"
    return "numbers" if n_numbers == len(known) else "mixed" if n_numbers else "texts"


def as_numbers(values: pd.Series) -> NDArray[np.float64]:
    """Return a column as floats, (N,); NaN where it holds something else."""
    if kind_of(values) == "dates":
        return np.full(len(values), np.nan)
    found: NDArray[np.float64] = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return found


def counts_rows(values: pd.Series) -> bool:
    """Whether a column numbers the rows, from 0 or from 1, in any order.

    >>> counts_rows(pd.Series([2, 1, 3])), counts_rows(pd.Series([0.5, 1, 2])), counts_rows(pd.Series([1, 1, 2]))
    (True, False, False)
    """
    if pd.api.types.is_bool_dtype(values) or kind_of(values) != "numbers" or len(values) < 2:
        return False
    ordered = np.sort(as_numbers(values))
    return bool((ordered == np.arange(len(ordered)) + ordered[0]).all() and ordered[0] in (0.0, 1.0))


def all_different(values: pd.Series) -> bool:
    """Whether the texts of a column name the cases: no two are equal."""
    known = values.dropna()
    return len(known) > 1 and known.nunique() == len(known)


def categories_of(values: pd.Series) -> list[str]:
    """Return the different texts of a column, sorted."""
    return sorted({str(value) for value in values.dropna()})


def is_categories(values: pd.Series) -> bool:
    """Whether a column of texts holds so few different ones, each so often, that they can be learned from.

    >>> is_categories(pd.Series(["steel", "copper"] * 5)), is_categories(pd.Series(["a", "b", "c", "d"]))
    (True, False)
    """
    n = len(categories_of(values))
    return 2 <= n <= _MOST_CATEGORIES and _FEWEST_OF_EACH * n <= int(values.notna().sum())
