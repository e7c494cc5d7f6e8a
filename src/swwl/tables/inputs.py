"""What users hand over as inputs and targets -> a pandas table and an array, or an error that names the column."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from swwl.errors import InputError, InputTypeError
from swwl.mesh.arrays import refuse_masked

# Squares of larger targets, and of those below its inverse, leave the range of double precision.
LARGEST = 1e140


def as_table(X: Any) -> pd.DataFrame:
    """Return inputs as a table.

    Parameters
    ----------
    X : DataFrame, Series, dict, list of dict, array-like or iterable
        An (N, m) array of numbers gets columns "x0", "x1", …; a list of numbers one column "x0"; a list of anything
        else (graphs, paths, meshes) one column "graph". A dict of columns is a table; one of single values is a row.

    Examples
    --------
    >>> list(as_table([[1.0, 2.0], [3.0, 4.0]]).columns)
    ['x0', 'x1']
    """
    if isinstance(X, pd.DataFrame):
        _refuse_odd_columns(X)
        return X
    if sparse.issparse(X):  # before dicts: some of them are
        raise InputTypeError("Sparse matrices are not supported; pass a dense array: X.toarray().")
    if isinstance(X, pd.Series):
        return X.to_frame("graph" if X.name is None else X.name)
    if isinstance(X, dict):
        alone = not any(isinstance(value, (list, tuple, np.ndarray, pd.Series)) for value in X.values())
        return as_table([X]) if alone else pd.DataFrame(X)
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # a lazy frame of polars or narwhals
        return as_table(X.collect())
    if hasattr(X, "to_pandas"):  # polars, pyarrow
        return as_table(X.to_pandas())
    if isinstance(X, (str, bytes)) or not (isinstance(X, Iterable) or hasattr(X, "__array__")):
        raise InputTypeError(f"A table or a list with one entry per case is expected, not {type(X).__name__}.")
    refuse_masked(X, "An array of inputs")
    rows = np.asarray(X) if hasattr(X, "__array__") else list(X)
    if len(rows) and isinstance(rows[0], dict):
        return pd.DataFrame(rows)
    if isinstance(rows, np.ndarray) and rows.dtype == object and rows.size == len(rows):
        rows = list(rows.ravel())
    if len(rows) and not isinstance(rows[0], (numbers.Number, np.ndarray, list)):
        return pd.DataFrame({"graph": pd.Series(list(rows), dtype=object)})
    array = _as_numbers(rows)
    return pd.DataFrame(array, columns=[f"x{k}" for k in range(array.shape[1])])


def _as_numbers(rows: ArrayLike) -> NDArray[np.float64]:
    """Return rows of numbers, or one column of them, as (N, m)."""
    from sklearn.utils import check_array  # for arrays alone: tables need none of scikit-learn

    try:
        array: NDArray[np.float64] = check_array(
            rows, dtype=np.float64, ensure_2d=False, allow_nd=True, ensure_min_samples=0, input_name="X"
        )
    except ValueError as error:
        entries: list[Any] = (
            np.ravel(rows).tolist() if isinstance(rows, np.ndarray) else list(cast(Iterable[Any], rows))
        )
        entries = [value for entry in entries for value in (entry if isinstance(entry, list) else [entry])]
        texts = [value for value in entries if isinstance(value, str)]
        if texts:
            raise InputError(
                f"An array of inputs must hold numbers, but holds {texts[0]!r}; pass a pandas table, whose "
                f"columns may hold paths of meshes, text and numbers."
            ) from None
        if "inhomogeneous" in str(error):
            raise InputError(
                "The rows of an array of inputs must be equally long and hold single numbers; meshes and texts "
                "need a pandas table."
            ) from None
        raise InputError(str(error)) from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InputError(f"An array of inputs must have shape (N, m), not {array.shape}.")
    return array


def _refuse_odd_columns(table: pd.DataFrame) -> None:
    """Refuse columns that have names of several levels, or hold complex numbers."""
    if table.columns.nlevels > 1:
        raise InputError(
            "The columns of the table have names of several levels; join them: "
            "table.columns = ['_'.join(map(str, name)) for name in table.columns]."
        )
    for name, dtype in zip(table.columns, table.dtypes, strict=True):
        if dtype.kind == "c":
            raise InputError(f"Column {name!r} is complex; use real and imaginary part as two columns.")


def as_rows(X: Any, names: Iterable[str]) -> pd.DataFrame:
    """Return new inputs as a table; a Series that holds all of ``names`` is one row of it.

    Of a model of one column, a list needs no name.

    Examples
    --------
    >>> list(as_rows(["a.vtu", "b.vtu"], ["mesh"]).columns)
    ['mesh']
    >>> as_rows(pd.Series({"load": 1.5, "id": 7}), ["load"])
      load   id
    0  1.5  7.0
    """
    names = list(names)
    if isinstance(X, pd.Series) and set(names) <= set(X.index):
        return X.to_frame().T.reset_index(drop=True)
    table = as_table(X)
    unnamed = X.name is None if isinstance(X, pd.Series) else isinstance(X, (list, tuple, np.ndarray))
    if unnamed and list(table.columns) == ["graph"] and "graph" not in names:
        if len(names) > 1:
            raise InputError(f"A list of meshes was given, but the model uses {', '.join(names)}: pass a table.")
        table.columns = pd.Index(names)
    return table


def check_width(X: Any, table: pd.DataFrame, wanted: int, who: str) -> None:
    """Refuse an array with more or fewer columns than there were in fit; tables have names instead."""
    is_array = not isinstance(X, (pd.DataFrame, pd.Series, dict)) and list(table.columns[:1]) == ["x0"]
    if is_array and table.shape[1] != wanted:
        raise InputError(f"X has {table.shape[1]} features, but {who} is expecting {wanted} features as input.")


def column(table: pd.DataFrame, name: str, what: str = "The kernel") -> pd.Series:
    """Return one column of a table; where it is missing, the error suggests the nearest name."""
    if name not in table.columns:
        known = [str(c) for c in table.columns]
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{what} needs column {name!r}, but the table has: {', '.join(known)}.{hint}")
    found = table[name]
    if isinstance(found, pd.DataFrame):
        raise InputError(f"The table has {found.shape[1]} columns named {name!r}.")
    return found


def split_targets(table: pd.DataFrame, y: Any, *, to_learn: bool = True) -> tuple[NDArray[np.float64], list[str], bool]:
    """Return the targets (N, k), their names, and whether there is just one, given without a list around it.

    With ``to_learn`` they have to vary.
    """
    if isinstance(y, str):
        return split_targets(table, column(table, y, "fit"), to_learn=to_learn)
    if isinstance(y, (list, tuple)) and y and all(isinstance(name, str) for name in y):
        _refuse_repeated(list(y))
        named = pd.DataFrame({name: column(table, name, "fit") for name in y})
        return split_targets(table, named, to_learn=to_learn)
    if y is None:
        raise InputError("The fit requires y to be passed, but the target y is None.")
    check_labels(table, y)
    refuse_masked(y, "Targets")
    names = [str(y.name)] if isinstance(y, pd.Series) and y.name is not None else None
    if isinstance(y, pd.DataFrame):
        names = [str(name) for name in y.columns]
        _refuse_repeated(names)
    _refuse_kinds(np.asarray(y).dtype.kind, ", ".join(names or ["y"]))
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"Targets {', '.join(names or ['y'])} must be numbers.") from None
    if values.ndim not in (1, 2) or len(values) != len(table):
        raise InputError(f"Targets have shape {values.shape}, but the table has {len(table)} rows.")
    if len(values) == 0:
        raise InputError("The table has no rows to learn from.")
    if to_learn and len(values) == 1:
        raise InputError("The table has one row (n_samples = 1); several are needed to learn from.")
    single = values.ndim == 1
    values = values.reshape(len(table), -1)
    names = names or (["y"] if single else [f"y{k}" for k in range(values.shape[1])])
    for name, target in zip(names, values.T, strict=True):
        _check_target(name, target, to_learn)
    return values, names, single


def _refuse_kinds(kind: str, names: str) -> None:
    """Refuse targets of a kind of array that would be turned into numbers unseen."""
    if kind == "c":
        raise InputError(f"Targets {names} are complex; learn real and imaginary part as two targets.")
    if kind in "mM":
        raise InputError(f"Targets {names} are dates or times; turn them into numbers.")


def _refuse_repeated(names: list[str]) -> None:
    """Refuse targets of the same name."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"Targets must have different names, but {name!r} comes {names.count(name)} times.")


def check_labels(table: pd.DataFrame, y: Any) -> None:
    """Refuse targets whose labels say that they belong to other rows than those beside which they stand.

    Rows are joined by position. Labels that only count rows from 0 on say nothing beside others.

    Examples
    --------
    >>> check_labels(pd.DataFrame({"x": [1.0, 2.0]}), pd.Series([3.0, 4.0], index=[1, 0]))
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: X and y have the same labels in another order (row 0 is 0 in X, 1 in y): ...
    """
    if not isinstance(y, (pd.Series, pd.DataFrame)) or len(y) != len(table) or table.index.equals(y.index):
        return
    row = int(np.argmin([one == other for one, other in zip(table.index, y.index, strict=True)]))
    where = f"(row {row} is {table.index[row]} in X, {y.index[row]} in y)"
    if set(table.index) == set(y.index):
        raise InputError(
            f"X and y have the same labels in another order {where}: give y.loc[X.index], or y.to_numpy() to join by "
            f"position."
        )
    counts = pd.RangeIndex(len(table))
    if not (table.index.equals(counts) or y.index.equals(counts)):
        raise InputError(f"X and y have different labels {where}: give y.to_numpy() to join by position.")


def _check_target(name: str, target: NDArray[np.float64], to_learn: bool) -> None:
    """Refuse a target (N,) that is too large or too small, not finite or, to learn, constant."""
    size = float(np.abs(target).max(initial=0.0))
    if np.isfinite(size) and (size > LARGEST or 0 < size < 1 / LARGEST):
        cure = "overflow; divide" if size > 1 else "vanish; multiply"
        raise InputError(f"Target {name!r} holds values like {size:.3g}, whose squares {cure} it by a power of ten.")
    bad = np.flatnonzero(~np.isfinite(target))
    if bad.size:
        some = ", ".join(map(str, bad[:5])) + (", …" if bad.size > 5 else "")
        raise InputError(f"Target {name!r} is not finite in {bad.size} of {len(target)} rows (row {some}).")
    if to_learn and len(target) > 1 and np.ptp(target) == 0:
        raise InputError(f"Target {name!r} is {target[0]:g} in all {len(target)} rows: there is nothing to learn.")
