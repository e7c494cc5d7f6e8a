"""Finished rows and matrices of a long comparison, kept from one run to the next."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.formatting import Record
from swwl.storage.atomic import atomic_write

_JOURNAL = "swwl-journal"


class Journal:
    """Finished rows of every kernel, written to a JSON file after each; None keeps them in memory.

    Parameters
    ----------
    path : path or None

    Examples
    --------
    >>> journal = Journal(None)
    >>> journal.claim("SWWL", "abc")
    >>> journal.add("SWWL", {"seed": 0, "fold": 3, "accuracy": 0.9})
    >>> list(journal.rows("SWWL"))
    [(0, 3)]
    """

    def __init__(self, path: str | os.PathLike[str] | None):
        self.path = None if path is None else Path(path)
        self.content: Record = {"format": _JOURNAL, "kernels": {}}
        if self.path is not None and self.path.exists():
            try:
                found = json.loads(self.path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise InputError(f"{self.path}: not a journal of nested_cv ({error}).") from None
            if not isinstance(found, dict) or found.get("format") != _JOURNAL:
                raise InputError(f"{self.path}: not a journal of nested_cv.")
            self.content = found

    def claim(self, name: str, key: str) -> None:
        """Begin or go on with a kernel; refuse if its rows were made with other settings."""
        entry = self.content["kernels"].setdefault(name, {"key": key, "rows": []})
        if entry["key"] != key:
            raise InputError(
                f"{self.path}: holds rows of {name!r} for other graphs, folds, grids or settings; "
                f"name another journal, or delete this one."
            )

    def rows(self, name: str) -> dict[tuple[int, int], Record]:
        """Return the finished rows of a kernel by seed and fold."""
        rows = [_replaced(row, None, math.nan) for row in self.content["kernels"][name]["rows"]]
        return {(row["seed"], row["fold"]): row for row in rows}

    def add(self, name: str, row: Record) -> None:
        """Add a row, and write the file again, under a temporary name until it is complete."""
        self.content["kernels"][name]["rows"].append(_replaced(row, math.nan, None))
        if self.path is not None:
            with atomic_write(self.path) as file:
                file.write(json.dumps(self.content, indent=1).encode())


def _replaced(row: Record, old: float | None, new: float | None) -> Record:
    """Return a row with NaN, which JSON lacks, in place of None, or the other way round."""

    def is_old(value: Any) -> bool:
        return value is None if old is None else isinstance(value, float) and math.isnan(value)

    return {key: new if is_old(value) else value for key, value in row.items()}


class MatrixCache:
    """Matrices by key in a folder; None keeps nothing.

    Parameters
    ----------
    folder : path or None
    """

    def __init__(self, folder: str | os.PathLike[str] | None):
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> NDArray[np.float64] | None:
        """Return a matrix that was put there, or None."""
        path = None if self.folder is None else self.folder / f"{key}.npy"
        return np.load(path, allow_pickle=False) if path is not None and path.exists() else None

    def put(self, key: str, matrix: NDArray[np.float64]) -> None:
        """Keep a matrix, written under a temporary name until it is complete."""
        if self.folder is not None:
            with atomic_write(self.folder / f"{key}.npy") as file:
                np.lib.format.write_array(file, matrix, allow_pickle=False)
