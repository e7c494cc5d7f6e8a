"""Places that errors name: lines, columns and mesh files of a table, all checked before any work begins."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.formatting import place
from swwl.mesh.io.foam.case import why_no_case
from swwl.mesh.io.formats import is_mesh, timed
from swwl.mesh.io.series import Time
from swwl.tables.columns import as_numbers, kind_of
from swwl.tables.inputs import LARGEST
from swwl.tables.read import mesh_file

# What to do about a cell that holds nothing, or no number.
_CURE = "fill it, leave such rows out (--drop-incomplete), or leave the column out (--inputs names the others)"
_TARGET_CURE = "fill it, or leave such rows out (--drop-incomplete)"
_LARGE_CURE = "its square overflows; correct it, or divide the column by a power of ten"


# What the attributes of a table of one case, which stands in no file, call it.
ONE_CASE = "one case"


def where(frame: pd.DataFrame, path: Path, row: int) -> str:
    """Say where a row, counted from 0, stands in the file of a table."""
    if path.is_dir():
        return f"sample {row}"
    lines = frame.attrs.get("lines")
    return place(path, row if lines is None else lines[row] - 2)


def places(frame: pd.DataFrame, path: Path, rows: Sequence[int] | NDArray[np.intp]) -> str:
    """Say where rows stand, at most five of them.

    >>> places(pd.DataFrame({"x": range(6)}), Path("table.csv"), [0, 1, 5])
    'lines 2, 3, 7'
    """
    words = [where(frame, path, int(row)).split() for row in rows[:5]]
    return f"{words[0][0]}{'s' if len(rows) > 1 else ''} {', '.join(w for _, w in words)}{', …' * (len(rows) > 5)}"


@contextmanager
def rows_named(frame: pd.DataFrame, path: Path, rows: Sequence[int] | NDArray[np.intp]) -> Iterator[None]:
    """Say of mistakes inside which line of a table they are about.

    Parameters
    ----------
    frame, path
        The table and its file.
    rows : sequence of int
        Rows of the table, counted from 0, that were handed over.

    Examples
    --------
    >>> with rows_named(pd.DataFrame(), Path("table.csv"), [3, 4, 8]):
    ...     raise InputError("the file is empty.").within("a.vtu").of_item(2, "Graph 2")
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: table.csv: line 10: a.vtu: the file is empty.
    """
    try:
        yield
    except InputError as error:
        if error.item is not None:
            case = frame.attrs.get(ONE_CASE)  # no line of any table
            error.named(case or f"{path}: {where(frame, path, int(rows[error.item]))}")
        raise


def case_names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Name cases by the shortest part of their paths that tells them apart.

    That is the name of the file or, where files of several folders are called alike, the nearest folder above it that
    differs, or several of these. Equal paths have one name.

    Parameters
    ----------
    paths : sequence of N str or path

    Returns
    -------
    list of N str

    Examples
    --------
    >>> case_names(["meshes/blade_017.vtu", "meshes/blade_018.vtu"])
    ['blade_017.vtu', 'blade_018.vtu']
    >>> case_names(["cases/case000/VTK/internal.vtu", "cases/case001/VTK/internal.vtu"])
    ['case000', 'case001']
    >>> case_names(["a/1/mesh.inp", "a/2/mesh.inp", "b/1/mesh.inp"])
    ['a/1', 'a/2', 'b/1']
    """
    texts = [os.fspath(path).strip().replace("\\", "/") for path in paths]
    parts = {text: [part for part in text.split("/") if part not in ("", ".", "..")] for text in texts}
    depth = max((len(own) for own in parts.values()), default=0)
    levels = [{text: own[-level] if level <= len(own) else "" for text, own in parts.items()}
              for level in range(1, depth + 1)]  # fmt: skip
    for level in levels:
        if len(set(level.values())) == len(parts) and (all(level.values()) or len(parts) == 1):
            return [level[text] for text in texts]
    differing = [level for level in levels if len(set(level.values())) > 1]
    for count in range(2, len(differing) + 1):
        joined = {text: "/".join(level[text] for level in reversed(differing[:count]) if level[text]) for text in parts}
        if len(set(joined.values())) == len(parts) and all(joined.values()):
            return [joined[text] for text in texts]
    return texts


def require_column(frame: pd.DataFrame, path: Path, name: str, what: str) -> pd.Series:
    """Return a column; suggest the nearest name where it is missing."""
    if name not in frame.columns:
        near = difflib.get_close_matches(name, list(frame.columns), n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{path}: has no column {name!r} for {what}; it has: {', '.join(frame.columns)}.{hint}")
    return frame[name]


def require_numbers(
    frame: pd.DataFrame, path: Path, name: str, what: str, rows: Sequence[int] | NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Return a column of numbers (N,), finite in ``rows``; say which lines hold something else, and what to do."""
    values = require_column(frame, path, name, what)
    among = np.arange(len(frame)) if rows is None else np.asarray(rows, dtype=np.intp)
    if kind_of(values) == "dates":
        raise InputError(f"{path}: {what} {name!r} must hold numbers, but it holds dates: count days or seconds.")
    numbers = as_numbers(values)
    cure = _TARGET_CURE if what == "target" else _CURE
    texts = among[np.isnan(numbers[among]) & values.notna().to_numpy()[among]]
    if texts.size:
        found = values.iloc[texts[0]]
        only = len(texts) < np.isfinite(numbers).sum()
        raise InputError(
            f"{path}: {what} {name!r} must hold numbers, but {where(frame, path, int(texts[0]))} holds {str(found)!r}"
            + (f": {cure}." if only else ".")
        )
    require_known(frame, path, name, what, among[~np.isfinite(numbers[among])], "missing or not finite", cure)
    large = among[np.abs(numbers[among]) > LARGEST]
    require_known(frame, path, name, what, large, f"{numbers[large[0]]:g}" if large.size else "", _LARGE_CURE)
    return numbers


def require_known(
    frame: pd.DataFrame, path: Path, name: str, what: str, bad: NDArray[np.intp], words: str, cure: str = _CURE
) -> None:
    """Complain about rows in which a column is missing, if there are any."""
    if bad.size:
        rows = f"{bad.size} row{'s' if bad.size > 1 else ''}"
        raise InputError(f"{path}: {what} {name!r} is {words} in {rows} ({places(frame, path, bad)}): {cure}.")


def require_rows(frame: pd.DataFrame, path: Path, name: str) -> pd.Series:
    """Return a column for a factor that takes rows: integers, or vectors written as lists of numbers.

    A CSV file holds vectors as JSON, "[0.1, 2]"; a Parquet file may hold lists.
    """
    values = require_column(frame, path, name, "input")
    if pd.api.types.is_numeric_dtype(values):
        numbers = require_numbers(frame, path, name, "input")
        whole = (numbers == np.round(numbers)).all()
        return pd.Series(numbers.astype(np.int64) if whole else numbers, index=frame.index, name=name)
    vectors = []
    for row, value in enumerate(values):
        vector = parse_vector(value)
        if vector is None:
            raise InputError(
                f"{path}: input {name!r} must hold integers or lists of numbers such as [0.1, 2], "
                f"but {where(frame, path, row)} holds {value!r}."
            )
        vectors.append(vector)
    return pd.Series(vectors, index=frame.index, name=name, dtype=object)


def require_texts(frame: pd.DataFrame, path: Path, name: str) -> pd.Series:
    """Return a column of categories as texts; none may be missing."""
    values = require_column(frame, path, name, "input")
    require_known(frame, path, name, "input", np.flatnonzero(values.isna()), "missing")
    return pd.Series([str(value) for value in values], index=frame.index, name=name, dtype=object)


def parse_vector(value: object) -> NDArray[np.float64] | None:
    """Return a list of finite numbers, or one written as JSON, as a vector; None where it is something else.

    >>> parse_vector("[0.1, 2]"), parse_vector("one")
    (array([0.1, 2. ]), None)
    """
    try:
        vector = np.asarray(json.loads(value) if isinstance(value, str) else value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and np.isfinite(vector).all() else None


def mesh_paths(
    frame: pd.DataFrame, path: Path, name: str, rows: Sequence[int] | NDArray[np.intp] | None = None
) -> pd.Series:
    """Return the files of a mesh column, relative to the table; all, or those of ``rows``, must exist."""
    values = require_column(frame, path, name, "meshes")
    files: list[Path | None] = [None] * len(values)
    for row in range(len(values)) if rows is None else map(int, rows):
        files[row] = mesh_of_row(frame, path, name, row)
    return pd.Series(files, index=frame.index, name=name, dtype=object)


def mesh_of_row(frame: pd.DataFrame, path: Path, name: str, row: int) -> Path:
    """Return the mesh file that a row names; it must exist."""
    value = frame[name].iloc[row]
    if not isinstance(value, str) or not value.strip():
        found = "nothing" if is_missing(value) else repr(value.item() if isinstance(value, np.generic) else value)
        raise InputError(
            f"{path}: {where(frame, path, row)} does not name a mesh in column {name!r} (it holds {found}); "
            f"--drop-incomplete leaves such rows out."
        )
    file = mesh_file(path, value)
    if not is_mesh(file):
        if file.is_dir():
            raise InputError(f"{path}: {where(frame, path, row)}: mesh {value!r}: {why_no_case(file).rstrip('.')}.")
        raise InputError(
            f"{path}: {where(frame, path, row)}: mesh {value!r} does not exist beside the table.{_nearest(file)}"
        )
    return file


def at_times(
    frame: pd.DataFrame, path: Path, columns: Sequence[str], time: Time | None, *, required: bool = True
) -> pd.DataFrame:
    """Return a table whose meshes that are series in time name one; where it is ``required``, there has to be one.

    Parameters
    ----------
    frame, path
        The table and its file.
    columns : sequence of str
        Of meshes.
    time : float, "first" or "last", or None
    """
    if time is None:
        return frame
    changed = frame.copy()
    for name in (name for name in columns if name in frame.columns):
        given = frame[name].tolist()
        cells = [_at_time(path, value, time) for value in given]
        others = sum(new is not old for new, old in zip(cells, given, strict=True))
        if required and time != "last" and not others:
            raise InputError(f"{path}: no mesh of column {name!r} is a series in time, so --time does not apply.")
        changed[name] = pd.Series(cells, index=frame.index, dtype=object)
    return changed


def _at_time(path: Path, value: object, time: Time) -> object:
    """Return a cell as it is, or with a time if it names a series."""
    if not isinstance(value, str) or not value.strip():
        return value
    file = mesh_file(path, value)
    name = timed(file, time).name
    return value if name == file.name else str(PurePath(value.strip()).with_name(name))


def is_missing(value: object) -> bool:
    """Whether a cell is empty."""
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def _nearest(file: Path) -> str:
    """Suggest the file of the same folder whose name is most like one that does not exist."""
    try:
        names = [entry.name for entry in file.parent.iterdir()] if file.parent.is_dir() else []
    except OSError:
        names = []
    near = difflib.get_close_matches(file.name.lower(), [name.lower() for name in names], n=1, cutoff=0.9)
    found = next((name for name in names if near and name.lower() == near[0]), None)
    return f" Did you mean {found!r}?" if found else ""
