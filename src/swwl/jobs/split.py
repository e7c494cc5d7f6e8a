"""Which rows of a table are fitted, which are held out, and which are left out because something is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.jobs.table import is_missing, places, where

# What people write into a column that says which rows to fit, in small letters.
TRAIN = frozenset(("train", "training", "fit"))
TEST = frozenset(("test", "testing", "val", "valid", "validation", "holdout", "hold-out", "held-out", "held out"))


@dataclass(frozen=True)
class Split:
    """Which rows are fitted and which are held out.

    Attributes
    ----------
    train, test : ndarray of int
        Rows, counted from 0.
    words : str
        How they were chosen.
    column : str or None
        The column that says so, if there is one.
    """

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    words: str
    column: str | None = None

    @property
    def rows(self) -> NDArray[np.intp]:
        """All of them, in order."""
        return np.sort(np.concatenate([self.train, self.test]))

    def without(self, rows: NDArray[np.bool_], words: str) -> Split:
        """Leave rows out, given as (N,) truth values; say so in ``words``."""
        if not rows[self.rows].any():
            return self
        return Split(self.train[~rows[self.train]], self.test[~rows[self.test]], f"{self.words}; {words}", self.column)


def split_rows(
    frame: pd.DataFrame,
    path: Path,
    *,
    column: str | None = None,
    fraction: float | None = None,
    all_rows: bool = False,
    seed: int = 0,
    drop_incomplete: bool = False,
) -> Split:
    """Choose the rows to hold out: by a column, at random, or by a column "split" that says train and test.

    Examples
    --------
    >>> split_rows(pd.DataFrame({"split": ["Train", "test", "training"]}), Path("table.csv")).train.tolist()
    [0, 2]
    """
    n = len(frame)
    if sum((column is not None, fraction is not None, all_rows)) > 1:
        raise InputError("A column to split by, a fraction to hold out and all rows exclude each other; choose one.")
    if fraction is not None:
        if not 0 < fraction < 1:
            raise InputError(f"The fraction of rows to hold out must lie between 0 and 1, but is {fraction:g}.")
        test = np.sort(np.random.default_rng(seed).permutation(n)[: max(1, round(fraction * n))])
        train = np.setdiff1d(np.arange(n), test)
        return Split(train, test, f"held out at random: {len(test)} of {n} rows (seed {seed})")
    name = split_column(frame) if column is None else column
    if all_rows or name is None:
        return Split(np.arange(n), np.empty(0, dtype=np.intp), f"no rows are held out: all {n} are fitted")
    if name not in frame.columns:
        raise InputError(f"{path}: has no column {name!r} to split by; it has: {', '.join(frame.columns)}.")
    words = split_words(frame, path, name, drop_incomplete)
    fitted, held_out = (np.flatnonzero([word == kind for word in words]) for kind in ("train", "test"))
    if not len(fitted):
        raise InputError(f"{path}: no row of column {name!r} says 'train', so there is none to fit.")
    said = f"column {name!r}: {len(fitted)} rows say train, the other {len(held_out)} are held out"
    missing = np.flatnonzero([word is None for word in words])
    if len(missing):
        said += f"; {len(missing)} left out that say nothing ({places(frame, path, missing)})"
    return Split(fitted, held_out, said, name)


def split_column(frame: pd.DataFrame) -> str | None:
    """Return the column that is called "split", in whatever letters."""
    return next((str(name) for name in frame.columns if str(name).lower() == "split"), None)


def says_split(values: pd.Series) -> bool:
    """Whether all texts of a column are words for rows to fit or to hold out."""
    known = values.dropna()
    return len(known) > 0 and all(_plain(value) in TRAIN | TEST for value in known)


def _plain(value: Any) -> str:
    return str(value).strip().lower().replace("_", "-")


def split_words(frame: pd.DataFrame, path: Path, name: str, drop_incomplete: bool = False) -> list[str | None]:
    """Return "train", "test" or, where a cell is empty and that is allowed, None for every row."""
    words: list[str | None] = []
    for row, value in enumerate(frame[name]):
        low = _plain(value)
        if is_missing(value) and drop_incomplete:
            words.append(None)
        elif is_missing(value) or low not in TRAIN | TEST:
            found = "is empty" if is_missing(value) else f"says {str(value)!r}"
            raise InputError(
                f"{path}: {where(frame, path, row)} {found} in column {name!r}, but train (or training, fit) or test "
                f"(or val, validation, holdout) is wanted; correct it, or fit all rows (--all-rows)."
            )
        else:
            words.append("train" if low in TRAIN else "test")
    return words
