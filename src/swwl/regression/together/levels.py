"""Levels of fidelity: a column that says which solver, or which mesh, an answer is from, and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.tables.columns import as_numbers, kind_of
from swwl.tables.inputs import column

Fidelity: TypeAlias = str | Mapping[str, Sequence[object]]

# A process of a level needs so many rows to say how unsure it is.
FEWEST_ROWS = 5
# More of them are a column that says something else.
_MOST_LEVELS = 5


@dataclass(frozen=True)
class Levels:
    """Which rows are of which level, the cheapest first.

    Attributes
    ----------
    column : str
    names : list of str
    rows : list of ndarray of int
        The places of the rows of every level.
    """

    column: str
    names: list[str]
    rows: list[NDArray[np.intp]]


def read_levels(table: pd.DataFrame, fidelity: Fidelity) -> Levels:
    """Return the levels of a column: numbers from low to high, texts from many rows to few, or as they are given.

    Parameters
    ----------
    table : DataFrame
    fidelity : str or mapping of str to sequence
        A column, or ``{"level": ["coarse", "fine"]}``, the best last.

    Examples
    --------
    >>> table = pd.DataFrame({"level": ["fine"] * 5 + ["coarse"] * 7})
    >>> read_levels(table, "level").names
    ['coarse', 'fine']
    >>> read_levels(table, {"level": ["fine", "coarse"]}).names
    ['fine', 'coarse']
    """
    name, order = _named(fidelity)
    values = column(table, name, "fidelity")
    missing = np.flatnonzero(values.isna().to_numpy())
    if len(missing):
        raise InputError(f"The level of fidelity {name!r} is missing in {len(missing)} rows (row {missing[0]}).")
    numeric = kind_of(values) == "numbers"
    texts = np.array([level_text(value, values) for value in values], dtype=object)
    found = pd.Series(texts).value_counts()
    names = [str(one) for one in found.index]
    if len(names) < 2:
        raise InputError(
            f"Column {name!r} has one level of fidelity, {names[0]}, but two are expected: cheap and good."
        )
    if len(names) > _MOST_LEVELS:
        raise InputError(
            f"Column {name!r} has {len(names)} different values, but levels of fidelity are at most {_MOST_LEVELS}."
        )
    if order is not None:
        names = _ordered(name, [level_text(value, values) for value in order], names)
    elif numeric:
        names = sorted(names, key=float)
    elif found.nunique() < len(found):
        raise InputError(
            f"The levels {', '.join(names)} of {name!r} have the same number of rows: say which is best, "
            f"fidelity={{{name!r}: [{', '.join(map(repr, sorted(names)))}]}}, the best last."
        )
    for one in names:
        if found[one] < FEWEST_ROWS:
            raise InputError(
                f"Level {one!r} of {name!r} has {found[one]} rows, but at least {FEWEST_ROWS} are needed to learn from."
            )
    return Levels(name, names, [np.flatnonzero(texts == one) for one in names])


def _named(fidelity: Fidelity) -> tuple[str, list[object] | None]:
    if isinstance(fidelity, str):
        return fidelity, None
    if isinstance(fidelity, Mapping) and len(fidelity) == 1:
        ((name, order),) = fidelity.items()
        if not isinstance(order, str) and isinstance(order, Sequence):
            return str(name), list(order)
    raise InputError(f"fidelity must be a column, or one column with its levels, the best last, not {fidelity!r}.")


def _ordered(name: str, order: list[str], names: list[str]) -> list[str]:
    if sorted(order) != sorted(names):
        raise InputError(f"fidelity orders the levels {', '.join(order)}, but {name!r} holds {', '.join(names)}.")
    return order


def of_level(values: pd.Series, name: str) -> NDArray[np.bool_]:
    """Return which rows of a column, (N,), are of a level.

    Examples
    --------
    >>> of_level(pd.Series([1, 2, 2]), "2").tolist()
    [False, True, True]
    """
    return np.array([level_text(value, values) == name for value in values], dtype=bool)


def level_text(value: object, values: pd.Series) -> str:
    """Return a level as a text, given all values of its column.

    Examples
    --------
    >>> level_text(2, pd.Series([1.0, 2.0])), level_text(" fine", pd.Series(["coarse", "fine"]))
    ('2', 'fine')
    """
    if kind_of(values) == "numbers":
        return f"{float(as_numbers(pd.Series([value]))[0]):.12g}"
    return str(value).strip()
