"""Before a fit: which columns and rows of a table are learned from, and with which kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.jobs.table import (
    CHOSEN,
    is_missing,
    known_outputs,
    mesh_paths,
    places,
    read_table,
    require_column,
    require_known,
    require_numbers,
    where,
)
from swwl.kernels import ASWWL, SWWL, Categories, Matern52, PrincipalSWWL, Product
from swwl.regression.candidates import default_kernels
from swwl.tables.columns import all_different, as_numbers, categories_of, counts_rows, is_categories, kind_of
from swwl.tables.read import mesh_columns

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


GRAPH_KERNELS: dict[str, type[SWWL] | type[PrincipalSWWL]] = {"principal": PrincipalSWWL, "swwl": SWWL, "aswwl": ASWWL}
KERNELS = ["auto", *GRAPH_KERNELS, "scalars"]
# With fewer rows the leave-one-out predictions have no variance.
_FEWEST_ROWS = 5


@dataclass(frozen=True)
class Plan:
    """What is to be learned from which columns and rows of a table.

    Attributes
    ----------
    path, frame
        The table; columns of numbers are checked.
    meshes, targets, inputs, categories : list of str
    ignored : dict of str to str
        Columns left out, and why.
    split : Split
    """

    path: Path
    frame: pd.DataFrame
    meshes: list[str]
    targets: list[str]
    inputs: list[str]
    categories: list[str]
    ignored: dict[str, str]
    split: Split

    def mesh_files(self, name: str) -> pd.Series:
        """Return the mesh files of a column, for the rows that are used; they exist."""
        return mesh_paths(self.frame, self.path, name, self.split.rows)

    def table(self) -> pd.DataFrame:
        """Return all rows of the columns that are used, with the mesh files of rows that are used."""
        table = self.frame[[*self.inputs, *self.categories, *self.targets]].copy()
        for name in self.categories:
            table[name] = table[name].astype("category")
        for name in self.meshes:
            table[name] = self.mesh_files(name)
        return table

    def files(self) -> list[Path]:
        """Return all files that are read: the table and, once each, the meshes."""
        meshes = {file for name in self.meshes for file in self.mesh_files(name) if file is not None}
        return [self.path, *sorted(meshes)]


@dataclass
class _Columns:
    """The columns of a table, sorted by what they are used for."""

    targets: list[str]
    meshes: list[str]
    inputs: list[str]
    categories: list[str]
    ignored: dict[str, str]

    @property
    def used(self) -> set[str]:
        return {*self.targets, *self.meshes, *self.inputs, *self.categories}


def plan_fit(
    path: Path,
    targets: list[str],
    meshes: list[str] | None = None,
    inputs: list[str] | None = None,
    *,
    kernel: str = "auto",
    split: str | None = None,
    test_fraction: float | None = None,
    all_rows: bool = False,
    seed: int = 0,
    drop_incomplete: bool = False,
) -> Plan:
    """Read and check a table; settle columns and rows, without reading any mesh.

    Parameters
    ----------
    path : path
        A CSV, Excel or Parquet file.
    targets, meshes, inputs : list of str
        Columns; by default the meshes are those that hold paths of mesh files, the inputs all other numbers and texts
        of a few kinds. An empty list of inputs means meshes only.
    kernel : {"auto", "principal", "swwl", "aswwl", "scalars"}
    split : str, optional
        Column whose rows "train" are fitted.
    test_fraction : float, optional
        Share of rows to hold out, drawn with ``seed``.
    all_rows : bool
        Hold none out, whatever a column "split" says.
    seed : int
    drop_incomplete : bool
        Leave out rows in which a mesh, an input or, among those to fit, a target is missing or holds text.
    """
    if kernel not in KERNELS:
        raise InputError(f"There is no kernel {kernel!r}; there are {', '.join(KERNELS)}.")
    frame = read_table(path)
    found = mesh_columns(frame)
    chosen = [] if kernel == "scalars" else (meshes or found)
    if kernel != "scalars" and not chosen:
        raise InputError(
            f"{path}: no column holds paths of meshes; name the column (--mesh), or use the kernel 'scalars' to learn "
            f"from numbers alone."
        )
    for name in chosen:
        require_column(frame, path, name, "meshes")
    for name in targets:
        _require_target(frame, path, name)
    rows = split_rows(
        frame, path, column=split, fraction=test_fraction, all_rows=all_rows, seed=seed, drop_incomplete=drop_incomplete
    )
    columns = _Columns(targets, chosen, [], [], {})
    columns.ignored |= {name: "a mesh column, which the kernel 'scalars' does not use" for name in found if not chosen}
    if rows.column:
        columns.ignored[rows.column] = "says which rows to train on"
    _sort_columns(frame, path, columns, rows.train, inputs)
    rows = _complete_rows(frame, path, columns, rows, drop_incomplete)
    for name in [*columns.inputs, *targets]:
        frame[name] = as_numbers(frame[name])
    _check_rows(frame, path, columns, rows)
    return Plan(path, frame, chosen, targets, columns.inputs, columns.categories, columns.ignored, rows)


def _require_target(frame: pd.DataFrame, path: Path, name: str) -> None:
    """Refuse a target that holds anything but numbers; single cells are looked at later."""
    kind = kind_of(require_column(frame, path, name, "target"))
    if kind == "empty":
        raise InputError(f"{path}: target {name!r} is empty.")
    if kind not in ("numbers", "mixed"):
        require_numbers(frame, path, name, "target")


def _sort_columns(
    frame: pd.DataFrame, path: Path, columns: _Columns, train: NDArray[np.intp], wanted: list[str] | None
) -> None:
    """Find the inputs: the wanted columns, or all that can be; note why the others are not."""
    for name in dict.fromkeys(wanted or []):
        if name in columns.used:
            raise InputError(f"{path}: column {name!r} cannot be an input, it is a target or a mesh column already.")
        if kind_of(require_column(frame, path, name, "input")) == "texts" and len(categories_of(frame[name])) > 1:
            columns.categories.append(name)
        else:
            columns.inputs.append(name)
        columns.ignored.pop(name, None)
    if wanted is not None:
        known = {*columns.used, *columns.ignored}
        columns.ignored |= {name: "not among the named inputs" for name in frame.columns if name not in known}
        return
    outputs = known_outputs(path)
    if set(CHOSEN) <= set(frame.columns):
        columns.ignored |= {name: "swwl select or swwl suggest wrote it" for name in CHOSEN if name not in columns.used}
    for name in frame.columns:
        if name in columns.used or name in columns.ignored:
            continue
        reason = reason_against(frame[name], train, is_output=name in outputs)
        if path.is_dir() and _is_hidden(frame[name], train):
            reason = "no sample that is not to train on has it, so it is an output"
        if reason:
            columns.ignored[name] = reason
        else:
            (columns.categories if kind_of(frame[name]) == "texts" else columns.inputs).append(name)


def _is_hidden(values: pd.Series, train: NDArray[np.intp]) -> bool:
    """Whether a column of a PLAID set is known of the training samples alone: benchmarks keep their outputs secret."""
    known = values.notna().to_numpy()
    others = np.setdiff1d(np.arange(len(known)), train)
    return len(others) > 0 and not known[others].any()


def reason_against(values: pd.Series, train: NDArray[np.intp], *, is_output: bool = False) -> str | None:
    """Say why a column is not an input by default, or None if it is one."""
    kind = kind_of(values)
    if kind == "empty":
        return "is empty"
    if kind == "dates":
        return "holds dates, not numbers"
    if kind == "other":
        return "does not hold numbers"
    if is_output:
        return "an output of the simulation, according to about.json"
    if values.iloc[train].nunique(dropna=False) <= 1 and values.notna().all():
        return "is constant"
    if kind == "texts" and says_split(values):
        return f"says train or test; --split {values.name} holds rows out by it"
    if kind == "texts" and not is_categories(values):
        if all_different(values):
            return "names the rows: its texts are all different"
        return f"does not hold numbers, and {len(categories_of(values))} different texts are too many for categories"
    if counts_rows(values):
        return "numbers the rows; --inputs can name it all the same"
    return None


def _complete_rows(frame: pd.DataFrame, path: Path, columns: _Columns, rows: Split, drop: bool) -> Split:
    """Leave out rows in which something is missing, or complain about them."""
    if not drop:
        for name in columns.targets:
            require_numbers(frame, path, name, "target", rows.train)
        for name in columns.inputs:
            require_numbers(frame, path, name, "input", rows.rows)
        for name in columns.categories:
            missing = rows.rows[frame[name].isna().to_numpy()[rows.rows]]
            require_known(frame, path, name, "input", missing, "missing")
    unknown = np.zeros(len(frame), dtype=bool)  # rows without a target, which can be predicted, but not scored
    for name in columns.targets:
        unknown |= ~np.isfinite(as_numbers(frame[name]))
    incomplete = np.zeros(len(frame), dtype=bool)
    for name in columns.inputs:
        incomplete |= ~np.isfinite(as_numbers(frame[name]))
    for name in [*columns.meshes, *columns.categories]:
        incomplete |= np.array([is_missing(value) for value in frame[name]])
    if drop:
        fitted = np.zeros(len(frame), dtype=bool)
        fitted[rows.train] = True
        left = (incomplete | (unknown & fitted)) & np.isin(np.arange(len(frame)), rows.rows)
        which = np.flatnonzero(left)
        if len(which):
            said = f"{len(which)} incomplete left out ({places(frame, path, which)})"
            rows = rows.without(left, said)
    lacking = rows.test[unknown[rows.test]]
    if len(lacking):
        said = f"{len(lacking)} held out without a target, so not scored ({places(frame, path, lacking)})"
        rows = rows.without(unknown & ~np.isin(np.arange(len(frame)), rows.train), said)
    return _without_unseen(frame, path, columns.categories, rows)


def _without_unseen(frame: pd.DataFrame, path: Path, categories: list[str], rows: Split) -> Split:
    """Leave out held-out rows whose category no fitted row has."""
    for name in categories:
        known = set(categories_of(frame[name].iloc[rows.train]))
        unseen = np.array([not is_missing(value) and str(value) not in known for value in frame[name]])
        which = rows.test[unseen[rows.test]]
        if len(which):
            said = f"{len(which)} held out with a {name} that no fitted row has ({places(frame, path, which)})"
            rows = rows.without(unseen, said)
    return rows


def _check_rows(frame: pd.DataFrame, path: Path, columns: _Columns, rows: Split) -> None:
    """Complain where too few rows are left, or nothing to learn."""
    if not (columns.meshes or columns.inputs or columns.categories):
        raise InputError(f"{path}: there are no columns to learn from besides the targets.")
    if len(rows.train) < _FEWEST_ROWS:
        raise InputError(
            f"{path}: at least {_FEWEST_ROWS} training rows are needed, found {len(rows.train)} ({rows.words})."
        )
    for name in columns.targets:
        values = frame[name].to_numpy()[rows.train]
        if np.ptp(values) == 0:
            where = "training rows" if frame[name].nunique() > 1 else "rows"
            raise InputError(f"{path}: target {name!r} is {values[0]:g} in all {where}: there is nothing to learn.")


def make_kernel(name: str, plan: Plan, **options: Any) -> Product | dict[str, Product]:
    """Return the kernel of a name on the columns of a plan, or the kernels to stack.

    Parameters
    ----------
    name : str
        One of ``KERNELS``.
    plan : Plan
    **options
        Those of :class:`swwl.SWWLEmbedding` and, for "principal", ``n_components``; for "auto", ``few_rows``.
    """
    if name == "auto":
        return default_kernels(plan.table().iloc[plan.split.train].drop(columns=plan.targets), **options)
    graphs = [GRAPH_KERNELS[name](column, **options) for column in plan.meshes]
    return Product(*graphs, *map(Matern52, plan.inputs), *map(Categories, plan.categories))


def mesh_kernels(name: str, meshes: Mapping[str, Mapping[int, Path]], **options: Any) -> list[Product]:
    """Return the kernels of a name on columns of meshes alone, given the files of some rows; options as above."""
    if name == "auto":
        rows = {column: pd.Series(dict(files), dtype=object) for column, files in meshes.items()}
        return list(default_kernels(pd.DataFrame(rows).dropna(), few_rows=False, **options).values())
    if name not in GRAPH_KERNELS:
        raise InputError(f"The kernel {name!r} compares no meshes, so there is nothing to embed.")
    return [Product(*(GRAPH_KERNELS[name](column, **options) for column in meshes))]
