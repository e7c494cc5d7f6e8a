"""Tidy rows in a CSV file that grows as work gets done, and from which an interrupted run goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from swwl.errors import InputError
from swwl.storage.atomic import atomic_write


class RowFile:
    """A CSV file that is written again after every row added, rows told apart by key columns.

    Parameters
    ----------
    path : Path
        Rows that it holds already are kept: what they describe need not be done again.
    keys : sequence of str
        Columns that no two rows share.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = RowFile(Path(folder) / "table.csv", ["kernel", "seed"])
    ...     rows.add({"kernel": "SWWL", "seed": 0, "rmse": 0.1})
    ...     again = RowFile(Path(folder) / "table.csv", ["kernel", "seed"])
    >>> again.has(kernel="SWWL", seed=0), again.has(kernel="SWWL", seed=1)
    (True, False)
    >>> again.frame()["rmse"].tolist()
    [0.1]
    """

    def __init__(self, path: Path, keys: Sequence[str]):
        self.path, self.keys = Path(path), list(keys)
        self._rows: list[dict[str, Any]] = []
        self._known: set[tuple[str, ...]] = set()
        if self.path.exists():
            try:
                found = pd.read_csv(self.path, keep_default_na=False, na_values=["nan"])
            except ValueError as error:
                raise InputError(f"{self.path}: is not a table ({error}); delete it to start again.") from None
            missing = [key for key in self.keys if key not in found]
            if missing:
                raise InputError(f"{self.path}: has no column {missing[0]!r}; delete it to start again.")
            self._rows = found.to_dict("records")
            self._known = {self._key(row) for row in self._rows}

    def _key(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(row[key]) for key in self.keys)

    def has(self, **key: Any) -> bool:
        """Whether a row with these values of all key columns is there."""
        return self._key(key) in self._known

    def add(self, *rows: Mapping[str, Any]) -> None:
        """Add rows, and write the whole file again, under a temporary name until it is complete."""
        for row in rows:
            key = self._key(row)
            if key in self._known:
                raise InputError(f"{self.path}: a row of {key} already exists.")
            self._known.add(key)
            self._rows.append(dict(row))
        text = self.frame().to_csv(index=False, na_rep="nan", lineterminator="\n")
        with atomic_write(self.path) as file:
            file.write(text.encode())

    def frame(self) -> pd.DataFrame:
        """Return all rows as a table."""
        return pd.DataFrame(self._rows)
