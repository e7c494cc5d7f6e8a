"""Tables and the mesh files that they name, checked before any work begins; errors name the line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.models.tables import is_graphs
from swwl.storage import Memory, atomic_write
from swwl.words import place

CACHE_FOLDER = ".swwl-cache"


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV or Parquet file; it must have rows."""
    if not path.exists():
        raise InputError(f"{path}: no such table.")
    if path.is_dir():
        hint = f"; did you mean {path / 'table.csv'}?" if (path / "table.csv").exists() else "."
        raise InputError(f"{path}: is a folder, but a table (CSV or Parquet) is wanted{hint}")
    try:
        frame = pd.read_parquet(path) if _is_parquet(path) else pd.read_csv(path, skipinitialspace=True)
    except ImportError:
        raise InputError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow.") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: the table is empty.") from None
    except (ValueError, pd.errors.ParserError, OSError) as error:
        raise InputError(f"{path}: cannot be read as a table ({' '.join(str(error).split())}).") from None
    if frame.empty:
        raise InputError(f"{path}: the table has a header but no rows.")
    frame.columns = [str(name).strip() for name in frame.columns]
    if frame.shape[1] == 1 and ";" in frame.columns[0]:
        raise InputError(f"{path}: columns must be separated by commas, but the header is {frame.columns[0]!r}.")
    return frame


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write a CSV or Parquet file, whole or not at all."""
    buffer = BytesIO()
    try:
        if _is_parquet(path):
            frame.to_parquet(buffer, index=False)
        else:
            frame.to_csv(buffer, index=False, lineterminator="\n")
    except ImportError:
        raise InputError(f"{path}: writing Parquet needs pyarrow: pip install pyarrow, or name a .csv file.") from None
    with atomic_write(path) as file:
        file.write(buffer.getvalue())


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def places(path: Path, rows: Sequence[int] | NDArray[np.intp]) -> str:
    """Say where rows stand, at most five of them.

    >>> places(Path("table.csv"), [0, 1, 5])
    'lines 2, 3, 7'
    """
    first = place(path, int(rows[0])).split()[0]
    some = ", ".join(place(path, int(row)).split()[1] for row in rows[:5])
    return f"{first}{'s' if len(rows) > 1 else ''} {some}{', …' if len(rows) > 5 else ''}"


@contextmanager
def rows_named(path: Path, rows: Sequence[int] | NDArray[np.intp]) -> Iterator[None]:
    """Say of mistakes inside which line of a table they are about.

    Parameters
    ----------
    path : path
        Of the table.
    rows : sequence of int
        Rows of the table, counted from 0, that were handed over.

    Examples
    --------
    >>> with rows_named(Path("table.csv"), [3, 4, 8]):
    ...     raise InputError("the file is empty.").within("a.vtu").of_item(2, "Graph 2")
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: table.csv: line 10: a.vtu: the file is empty.
    """
    try:
        yield
    except InputError as error:
        if error.item is not None:
            error.named(f"{path}: {place(path, int(rows[error.item]))}")
        raise


def require_column(frame: pd.DataFrame, path: Path, name: str, what: str) -> pd.Series:
    """Return a column; suggest the nearest name where it is missing."""
    if name not in frame.columns:
        near = difflib.get_close_matches(name, list(frame.columns), n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{path}: has no column {name!r} for {what}; it has: {', '.join(frame.columns)}.{hint}")
    return frame[name]


def require_numbers(frame: pd.DataFrame, path: Path, name: str, what: str) -> NDArray[np.float64]:
    """Return a column of finite numbers (N,); say which lines hold something else."""
    values = require_column(frame, path, name, what)
    numbers: NDArray[np.float64] = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    texts = np.flatnonzero(np.isnan(numbers) & values.notna().to_numpy())
    if texts.size:
        found = values.iloc[texts[0]]
        raise InputError(
            f"{path}: {what} {name!r} must hold numbers, but {place(path, int(texts[0]))} holds {str(found)!r}."
        )
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        rows = f"{bad.size} row{'s' if bad.size > 1 else ''}"
        raise InputError(f"{path}: {what} {name!r} is missing or not finite in {rows} ({places(path, bad)}).")
    return numbers


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
                f"but {place(path, row)} holds {value!r}."
            )
        vectors.append(vector)
    return pd.Series(vectors, index=frame.index, name=name, dtype=object)


def parse_vector(value: Any) -> NDArray[np.float64] | None:
    """Return a list of finite numbers, or one written as JSON, as a vector; None where it is something else.

    >>> parse_vector("[0.1, 2]"), parse_vector("one")
    (array([0.1, 2. ]), None)
    """
    try:
        vector = np.asarray(json.loads(value) if isinstance(value, str) else value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and np.isfinite(vector).all() else None


def mesh_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that hold paths of meshes, by the endings of their first entries."""
    return [
        name
        for name in frame.columns
        if not pd.api.types.is_numeric_dtype(frame[name])
        and isinstance(next(iter(frame[name].dropna()), None), str)
        and is_graphs(frame[name].dropna())
    ]


def mesh_paths(frame: pd.DataFrame, path: Path, name: str) -> pd.Series:
    """Return the files of a mesh column, relative to the table; every one must exist."""
    values = require_column(frame, path, name, "meshes")
    files = []
    for row, value in enumerate(values):
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{path}: {place(path, row)} does not name a mesh in column {name!r} (found {value!r}).")
        file = path.parent / value
        if not file.is_file():
            raise InputError(f"{path}: {place(path, row)}: mesh {value!r} does not exist beside the table.")
        files.append(file)
    return pd.Series(files, index=frame.index, name=name, dtype=object)


def memory_beside(path: Path, keep: bool = True) -> Memory:
    """Return where embeddings of a table's meshes are kept; without ``keep`` it only counts."""
    return Memory(path.parent / CACHE_FOLDER if keep else None)


def known_outputs(path: Path) -> list[str]:
    """Return the columns that the ``about.json`` of a generated data set calls targets."""
    try:
        about = json.loads((path.parent / "about.json").read_text(encoding="utf-8"))
        return [str(name) for name in about["targets"]] if "generator" in about else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def summary(values: Any) -> dict[str, float]:
    """Return least, median and largest value."""
    return {"least": float(np.min(values)), "median": float(np.median(values)), "largest": float(np.max(values))}
