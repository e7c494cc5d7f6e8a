"""What long comparisons keep on disk: rows in a JSON journal, matrices in a folder; both survive interruptions."""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.graph import Graph
from swwl.io.files import atomic_write

_FORMAT = "swwl-journal"


def fingerprint(*parts: Any) -> str:
    """Return a hash of texts, numbers, arrays, graphs and lists of them.

    Examples
    --------
    >>> fingerprint("BZR", [1, 2]) == fingerprint("BZR", [1, 2]), fingerprint(1, 2) == fingerprint(12)
    (True, False)
    """
    digest = hashlib.sha256()
    _update(digest, parts)
    return digest.hexdigest()[:32]


def _update(digest: Any, part: Any) -> None:
    if isinstance(part, Graph):
        _update(digest, [part.features, part.edges, part.weights, part.node_weights])
    elif isinstance(part, np.ndarray) and part.dtype != object:
        digest.update(f"{part.dtype.str}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(part, (list, tuple)):
        digest.update(f"({len(part)}".encode())
        for item in part:
            _update(digest, item)
    else:
        digest.update(f"{part!r};".encode())


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

    def __init__(self, path: str | os.PathLike | None):
        self.path = None if path is None else Path(path)
        self.content: dict[str, Any] = {"format": _FORMAT, "kernels": {}}
        if self.path is not None and self.path.exists():
            try:
                found = json.loads(self.path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise ValueError(f"{self.path}: is no journal of nested_cv ({error}).") from None
            if not isinstance(found, dict) or found.get("format") != _FORMAT:
                raise ValueError(f"{self.path}: is no journal of nested_cv.")
            self.content = found

    def claim(self, name: str, key: str) -> None:
        """Begin or go on with a kernel; refuse if its rows were made with other settings."""
        entry = self.content["kernels"].setdefault(name, {"key": key, "rows": []})
        if entry["key"] != key:
            raise ValueError(
                f"{self.path}: holds rows of {name!r} for other graphs, folds, grids or settings; "
                f"name another journal, or delete this one."
            )

    def rows(self, name: str) -> dict[tuple[int, int], dict[str, Any]]:
        """Return the finished rows of a kernel by seed and fold."""
        rows = [_replaced(row, None, math.nan) for row in self.content["kernels"][name]["rows"]]
        return {(row["seed"], row["fold"]): row for row in rows}

    def add(self, name: str, row: dict[str, Any]) -> None:
        """Add a row, and write the file anew under a temporary name until it is complete."""
        self.content["kernels"][name]["rows"].append(_replaced(row, math.nan, None))
        if self.path is not None:
            with atomic_write(self.path) as file:
                file.write(json.dumps(self.content, indent=1).encode())


def _replaced(row: dict[str, Any], old: float | None, new: float | None) -> dict[str, Any]:
    """Return a row with NaN, which JSON lacks, in place of None, or the other way round."""
    same = (lambda v: v is None) if old is None else (lambda v: isinstance(v, float) and math.isnan(v))
    return {key: new if same(value) else value for key, value in row.items()}


class MatrixCache:
    """Matrices by key in a folder; None keeps nothing.

    Parameters
    ----------
    folder : path or None
    """

    def __init__(self, folder: str | os.PathLike | None):
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
