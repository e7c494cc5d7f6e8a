"""Before a fit: which columns and rows of a table are learned from, and with which kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.jobs.table import known_outputs, mesh_columns, read_table, require_numbers
from swwl.kernels import ASWWL, SWWL, Matern52, PrincipalSWWL, Product

GRAPH_KERNELS: dict[str, type[SWWL]] = {"principal": PrincipalSWWL, "swwl": SWWL, "aswwl": ASWWL}
KERNELS = [*GRAPH_KERNELS, "scalars"]
# With fewer rows the leave-one-out predictions have no variance.
_FEWEST_ROWS = 5


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


@dataclass(frozen=True)
class Plan:
    """What is to be learned from which columns and rows of a table.

    Attributes
    ----------
    path, frame
        The table; columns of numbers are checked.
    meshes, targets, inputs : list of str
    ignored : dict of str to str
        Columns left out, and why.
    split : Split
    """

    path: Path
    frame: pd.DataFrame
    meshes: list[str]
    targets: list[str]
    inputs: list[str]
    ignored: dict[str, str]
    split: Split


def plan_fit(
    path: Path,
    targets: list[str],
    meshes: list[str] | None = None,
    inputs: list[str] | None = None,
    *,
    kernel: str = "principal",
    split: str | None = None,
    test_fraction: float | None = None,
    all_rows: bool = False,
    seed: int = 0,
) -> Plan:
    """Read and check a table; settle columns and rows, without reading any mesh.

    Parameters
    ----------
    path : path
        A CSV or Parquet file.
    targets, meshes, inputs : list of str
        Columns; by default the meshes are those that hold paths of mesh files, the inputs all other numbers.
    kernel : {"principal", "swwl", "aswwl", "scalars"}
    split : str, optional
        Column whose rows "train" are fitted.
    test_fraction : float, optional
        Share of rows to hold out, drawn with ``seed``.
    all_rows : bool
        Hold none out, whatever a column "split" says.
    seed : int
    """
    if kernel not in KERNELS:
        raise InputError(f"There is no kernel {kernel!r}; there are {', '.join(KERNELS)}.")
    frame = read_table(path)
    found = mesh_columns(frame)
    chosen = [] if kernel == "scalars" else (meshes or found)
    if kernel != "scalars" and not chosen:
        raise InputError(
            f"{path}: no column holds paths of meshes; name the column, or use the kernel 'scalars' to learn from "
            f"numbers alone."
        )
    for name in targets:
        values = require_numbers(frame, path, name, "target")
        if np.ptp(values) == 0:
            raise InputError(f"{path}: target {name!r} is {values[0]:g} in all rows: there is nothing to learn.")
        frame[name] = values
    rows = split_rows(frame, path, column=split, fraction=test_fraction, all_rows=all_rows, seed=seed)
    used = {*targets, *chosen}
    ignored = {name: "a mesh column, which the kernel 'scalars' does not use" for name in found if not chosen}
    if rows.column:
        ignored[rows.column] = "says which rows to train on"
    numbers = _inputs(frame, path, used, ignored, rows.train, inputs or [])
    for name in targets:
        if np.ptp(frame[name].to_numpy()[rows.train]) == 0:
            raise InputError(f"{path}: target {name!r} is {frame[name].iloc[rows.train[0]]:g} in all training rows.")
    if not chosen and not numbers:
        raise InputError(f"{path}: there are no columns to learn from besides the targets.")
    if len(rows.train) < _FEWEST_ROWS:
        raise InputError(f"{path}: at least {_FEWEST_ROWS} training rows are needed, found {len(rows.train)}.")
    return Plan(path, frame, chosen, targets, numbers, ignored, rows)


def _inputs(
    frame: pd.DataFrame,
    path: Path,
    used: set[str],
    ignored: dict[str, str],
    train: NDArray[np.intp],
    wanted: list[str],
) -> list[str]:
    """Return the wanted columns of numbers, or all that can be inputs; add to ``ignored`` why the others are not."""
    for name in wanted:
        if name in used:
            raise InputError(f"{path}: column {name!r} cannot be an input, it is a target or a mesh column already.")
        frame[name] = require_numbers(frame, path, name, "input")
    if wanted:
        numbers = list(dict.fromkeys(wanted))
        known = {*used, *numbers, *ignored}
        ignored |= {name: "not among the named inputs" for name in frame.columns if name not in known}
        return numbers
    outputs = known_outputs(path)
    numbers = []
    for name in frame.columns:
        if name in used or name in ignored:
            continue
        if not pd.api.types.is_numeric_dtype(frame[name]):
            ignored[name] = "does not hold numbers"
        elif name in outputs:
            ignored[name] = "an output of the simulation, according to about.json"
        elif frame[name].iloc[train].nunique(dropna=False) == 1 and frame[name].notna().all():
            ignored[name] = "is constant"
        else:
            frame[name] = require_numbers(frame, path, name, "input")
            numbers.append(name)
    return numbers


def split_rows(
    frame: pd.DataFrame,
    path: Path,
    *,
    column: str | None = None,
    fraction: float | None = None,
    all_rows: bool = False,
    seed: int = 0,
) -> Split:
    """Choose the rows to hold out: by a column, at random, or by a column "split" that says train and test.

    Examples
    --------
    >>> split_rows(pd.DataFrame({"split": ["train", "test", "train"]}), Path("table.csv")).train.tolist()
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
    automatic = column is None and "split" in frame.columns and set(frame["split"]) == {"train", "test"}
    if all_rows or (column is None and not automatic):
        return Split(np.arange(n), np.empty(0, dtype=np.intp), f"no rows are held out: all {n} are fitted")
    name = "split" if column is None else column
    if name not in frame.columns:
        raise InputError(f"{path}: has no column {name!r} to split by; it has: {', '.join(frame.columns)}.")
    fitted = (frame[name].astype(str).str.strip() == "train").to_numpy()
    if not fitted.any():
        some = ", ".join(map(str, frame[name].unique()[:5]))
        raise InputError(f"{path}: no row of column {name!r} says 'train'; it holds: {some}.")
    words = f"column {name!r}: {fitted.sum()} rows say train, the other {n - fitted.sum()} are held out"
    return Split(np.flatnonzero(fitted), np.flatnonzero(~fitted), words, name)


def make_kernel(name: str, plan: Plan, **options: Any) -> Product:
    """Return the kernel of a name on the columns of a plan; options are those of :class:`swwl.SWWL`."""
    graphs = [GRAPH_KERNELS[name](column, **options) for column in plan.meshes]
    return Product(*graphs, *(Matern52(column) for column in plan.inputs))
