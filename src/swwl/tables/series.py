"""Curves that users hand over: columns of arrays, of CSV files, or wide columns -> values with their places.

A curve is a series of values over an abscissa: time, a position, an angle. What is given in ``fit`` is checked here,
case by case, before anything is learned.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError, MissingFileError, located
from swwl.tables.columns import is_number
from swwl.tables.inputs import check_labels, column
from swwl.tables.read import mesh_file, read_csv_file

Array = NDArray[np.float64]
Form = Literal["arrays", "files", "wide"]

FEWEST_POINTS = 3
# Squares of larger values leave the range of double precision.
_LARGEST = 1e140


@dataclass(frozen=True)
class Curves:
    """The curves of N cases, checked.

    Attributes
    ----------
    name : str
    form : {"arrays", "files", "wide"}
        As what they came: a column of arrays, a column of CSV files, or a column for every place.
    places : list of N ndarrays of shape (m_i,)
        The abscissas of every curve, increasing; of curves on a common grid, all the same array.
    values : list of N ndarrays of shape (m_i,)
    columns : tuple of str
        Of wide ones, their columns; of files, what abscissa and values are called.
    """

    name: str
    form: Form
    places: list[Array]
    values: list[Array]
    columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def common(self) -> Array | None:
        """The abscissas (m,) that all curves share, up to rounding, or None."""
        first = self.places[0]
        near = 1e-9 * (first[-1] - first[0])
        same = (own is first or (len(own) == len(first) and np.abs(own - first).max() <= near) for own in self.places)
        return first if all(same) else None


def wide_columns(names: Sequence[object], curve: str) -> dict[str, float]:
    """Return the columns that hold a curve place by place, in the order of their places.

    Examples
    --------
    >>> wide_columns(["mesh", "cp_010", "cp_002", "cp_max"], "cp")
    {'cp_002': 2.0, 'cp_010': 10.0}
    >>> wide_columns(["cp_0.5", "cp_-0.25"], "cp")
    {'cp_-0.25': -0.25, 'cp_0.5': 0.5}
    """
    pattern = re.compile(rf"{re.escape(curve)}_([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)")
    found = {str(name): float(match[1]) for name in names if (match := pattern.fullmatch(str(name)))}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def curve_columns(table: pd.DataFrame, curve: str) -> list[str]:
    """Return the columns that hold a curve: the one of its name, or its wide columns."""
    return [curve] if curve in table.columns else list(wide_columns(list(table.columns), curve))


def with_files(cells: pd.DataFrame, table: Path) -> pd.DataFrame:
    """Return columns of curves in which names of files are paths, relative to those of their table."""
    return cells.map(lambda cell: str(mesh_file(table, cell)) if isinstance(cell, str) else cell)


def table_curves(table: pd.DataFrame, curve: str, grid: Any = None) -> Curves:
    """Return the curves of a table.

    Parameters
    ----------
    table : DataFrame of N rows
    curve : str
        A column of arrays (m,), of arrays (m_i, 2) of abscissas and values, or of paths of CSV files of these two
        columns; or the beginning of the names of wide columns, ``cp`` of ``cp_000``, ``cp_001``, ….
    grid : array-like of shape (m,), optional
        The abscissas of values that come without; 0, 1, … by default, and what wide columns have in their names.

    Examples
    --------
    >>> found = table_curves(pd.DataFrame({"cp_0.0": [1.0], "cp_0.5": [2.0], "cp_1.0": [4.0]}), "cp")
    >>> found.form, found.common.tolist(), found.values[0].tolist()
    ('wide', [0.0, 0.5, 1.0], [1.0, 2.0, 4.0])
    """
    if curve in table.columns:
        return listed_curves(column(table, curve).tolist(), curve, grid)
    wide = wide_columns(list(table.columns), curve)
    if not wide:
        column(table, curve, "fit")  # which is not there
    places = np.array(list(wide.values()))
    repeated = np.flatnonzero(np.diff(places) == 0)
    if len(repeated):
        names = list(wide)[repeated[0] : repeated[0] + 2]
        raise InputError(f"Curve {curve!r}: columns {names[0]!r} and {names[1]!r} are the same place.")
    try:
        values = table[list(wide)].to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"Curve {curve!r}: its columns {next(iter(wide))!r}, … must hold numbers.") from None
    found = listed_curves(list(values), curve, places if grid is None else grid)
    return Curves(curve, "wide", found.places, found.values, tuple(wide))


def listed_curves(given: Sequence[Any], name: str, grid: Any = None) -> Curves:
    """Return curves that come one by one: arrays, pairs of abscissas and values, or paths of CSV files.

    Parameters
    ----------
    given : sequence of N arrays or paths
    name, grid
        See :func:`table_curves`.
    """
    if not len(given):
        raise InputError("The table has no rows to learn from.")
    shared = None if grid is None else _checked_grid(name, grid)
    files = isinstance(given[0], (str, os.PathLike))
    places: list[Array] = []
    values, heads = [], []
    for row, one in enumerate(given):
        try:
            with located(f"Curve {name!r}"):
                array, head = _one_curve(one, files)
                at = array[:, 0] if array.shape[1] == 2 else _places(len(array), shared, places)
                _check_places(at)
                _check_values(array[:, -1])
        except InputError as error:
            raise error.of_item(row, f"Row {row}") from error.__cause__
        places.append(at)
        values.append(array[:, -1])
        heads.append(head)
    return Curves(name, "files" if files else "arrays", places, values, heads[0])


def given_curves(table: pd.DataFrame, y: Any, grid: Any = None) -> tuple[Curves, pd.DataFrame]:
    """Return the curves that a user names or gives, and the table without them.

    Parameters
    ----------
    table : DataFrame of N rows
    y : str, array-like of shape (N, m), or list of N curves
        A text names the curves of the table.
    grid : array-like of shape (m,), optional
    """
    if isinstance(y, str):
        return table_curves(table, y, grid), table.drop(columns=curve_columns(table, y))
    check_labels(table, y)
    name = str(y.name) if isinstance(y, pd.Series) and y.name is not None else "curve"
    if isinstance(y, pd.DataFrame):
        y = y.to_numpy()
    given = list(y) if hasattr(y, "__len__") and not isinstance(y, (dict, bytes)) else []
    if len(given) != len(table):
        raise InputError(f"There are {len(given)} curves, but the table has {len(table)} rows.")
    return listed_curves(given, name, grid), table.drop(columns=name, errors="ignore")


def read_curve(path: str | os.PathLike[str]) -> tuple[Array, tuple[str, ...]]:
    """Read a CSV file of one column of values, or of two: abscissas and values; it may have a header.

    Returns
    -------
    curve : ndarray of shape (m, 1) or (m, 2)
    header : tuple of str
        Empty where there is none.
    """
    file = Path(path)
    if not file.is_file():
        raise MissingFileError(f"{path}: no such file.")
    with located(str(path)):
        try:
            head, rows, (_, mark, _) = read_csv_file(file)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror}).") from None
        if len(head) not in (1, 2):
            raise InputError(
                f"has {len(head)} columns, but one of values, or two of abscissas and values are expected."
            )
        named = not all(map(is_number, head))
        lines = [(row.line, row.cells) for row in rows]
        lines = lines if named else [(1, head), *lines]
        return np.array([_numbers(line, cells, mark) for line, cells in lines]), tuple(head) if named else ()


def _numbers(line: int, cells: Sequence[str], mark: str) -> list[float]:
    """Return the numbers of a line of a CSV file."""
    found = []
    for cell in cells:
        text = cell.strip().replace(".", "").replace(",", ".") if mark == "," and "," in cell else cell.strip()
        try:
            found.append(float(text))
        except ValueError:
            raise InputError(f"line {line} holds {cell.strip()!r}, but a number is expected.") from None
    return found


def _one_curve(given: Any, file: bool) -> tuple[Array, tuple[str, ...]]:
    """Return one curve as an array (m, 1) of values, or (m, 2) with their abscissas, and its header."""
    if file:
        if not isinstance(given, (str, os.PathLike)) or not str(given).strip():
            raise InputError(f"holds {given!r}, but the path of a CSV file is expected.")
        found, head = read_curve(str(given).strip() if isinstance(given, str) else given)
    else:
        head = ()
        try:
            found = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"holds {type(given).__name__}, but an array of values, or of (abscissa, value), is expected."
            ) from None
        found = found[:, None] if found.ndim == 1 else found
        if found.ndim != 2 or found.shape[1] not in (1, 2):
            raise InputError(f"has shape {found.shape}, but (m,) or (m, 2) is expected.")
    if len(found) < FEWEST_POINTS:
        raise InputError(f"has {len(found)} points, but at least {FEWEST_POINTS} are needed.")
    return found, head


def _places(m: int, grid: Array | None, before: Sequence[Array]) -> Array:
    """Return the abscissas of a curve of m values that comes without."""
    if grid is not None:
        if len(grid) != m:
            raise InputError(f"has {m} values, but the grid has {len(grid)} places.")
        return grid
    if before and len(before[0]) != m:
        raise InputError(
            f"has {m} values, but the first curve has {len(before[0])}: curves of different length need their "
            f"abscissas, as arrays of (abscissa, value)."
        )
    return before[0] if before else np.arange(m, dtype=np.float64)


def _checked_grid(name: str, grid: Any) -> Array:
    try:
        found = np.asarray(grid, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"The grid of curve {name!r} must hold numbers.") from None
    if found.ndim != 1:
        raise InputError(f"The grid of curve {name!r} has shape {found.shape}, but (m,) is expected.")
    with located(f"The grid of curve {name!r}"):
        _check_places(found)
    return found


def _check_places(places: Array) -> None:
    """Refuse abscissas (m,) that are not finite, or do not increase."""
    if not np.isfinite(places).all():
        raise InputError(f"the abscissa of point {int(np.argmin(np.isfinite(places)))} is missing or not finite.")
    back = np.flatnonzero(np.diff(places) <= 0)
    if len(back):
        k = int(back[0])
        raise InputError(f"abscissas do not increase: {places[k + 1]:g} comes after {places[k]:g}; sort the curve.")


def _check_values(values: Array) -> None:
    """Refuse values (m,) that are not finite, or too large."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InputError(f"the value of point {int(bad[0])} is missing or not finite ({len(bad)} of {len(values)}).")
    if float(np.abs(values).max()) > _LARGEST:
        raise InputError(f"holds values like {np.abs(values).max():.3g}, whose squares overflow.")
