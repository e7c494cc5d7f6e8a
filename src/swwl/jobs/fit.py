"""From a table to a fitted model: what ``swwl fit`` and ``swwl demo`` do, without what they say."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.cli.console import plain
from swwl.errors import InputError
from swwl.evaluation import scores
from swwl.jobs.table import CACHE_FOLDER, known_outputs, mesh_columns, mesh_files, read_table, require_numbers
from swwl.kernels import ASWWL, SWWL, Matern52, PrincipalSWWL, Product
from swwl.models.regression import RobustGPRegressor
from swwl.storage import Cache, FolderCache, MeshFile

GRAPH_KERNELS: dict[str, type[SWWL]] = {"principal": PrincipalSWWL, "swwl": SWWL, "aswwl": ASWWL}
KERNELS = [*GRAPH_KERNELS, "scalars"]
# With fewer rows the leave-one-out predictions have no variance.
_FEWEST_ROWS = 5


@dataclass
class Plan:
    """What is to be learned from which columns and rows of a table.

    Attributes
    ----------
    path, frame
        The table; columns of numbers are checked.
    meshes, targets, inputs : list of str
    ignored : dict of str to str
        Columns left out, and why.
    train, test : ndarray of int
        Rows, counted from 0.
    split : str
        How rows were split, in words.
    """

    path: Path
    frame: pd.DataFrame
    meshes: list[str]
    targets: list[str]
    inputs: list[str]
    ignored: dict[str, str]
    train: np.ndarray
    test: np.ndarray
    split: str


def plan_fit(
    path: Path,
    targets: list[str],
    meshes: list[str],
    inputs: list[str],
    *,
    kernel: str = "principal",
    split: str | None = None,
    test_fraction: float | None = None,
    all_rows: bool = False,
    seed: int = 0,
) -> Plan:
    """Read and check a table; settle columns and rows, without reading any mesh."""
    if kernel not in KERNELS:
        raise InputError(f"There is no kernel {kernel!r}; there are {', '.join(KERNELS)}.")
    frame = read_table(path)
    found = mesh_columns(frame)
    chosen = [] if kernel == "scalars" else (meshes or found)
    if kernel != "scalars" and not chosen:
        raise InputError(
            f"{path}: no column holds paths of meshes; name it with --mesh, or use --kernel scalars to learn from "
            f"numbers alone."
        )
    for name in targets:
        values = require_numbers(frame, path, name, "target")
        if np.ptp(values) == 0:
            raise InputError(f"{path}: target {name!r} is {values[0]:g} in all rows: there is nothing to learn.")
        frame[name] = values
    train, test, words, split_column = _split(frame, path, split, test_fraction, all_rows, seed)
    used = {*targets, *chosen}
    ignored: dict[str, str] = {name: "a mesh column, not used by --kernel scalars" for name in found if not chosen}
    if split_column:
        ignored[split_column] = "says which rows to train on"
    if inputs:
        for name in inputs:
            if name in used:
                raise InputError(
                    f"{path}: column {name!r} cannot be an input, it is a target or a mesh column already."
                )
            frame[name] = require_numbers(frame, path, name, "input")
        numbers = list(dict.fromkeys(inputs))
        ignored |= {name: "not in --inputs" for name in frame.columns if name not in {*used, *numbers, *ignored}}
    else:
        numbers = _inputs(frame, path, used, ignored, train)
    for name in targets:
        if np.ptp(frame[name].to_numpy()[train]) == 0:
            raise InputError(f"{path}: target {name!r} is {frame[name].iloc[train[0]]:g} in all training rows.")
    if not chosen and not numbers:
        raise InputError(f"{path}: there are no columns to learn from besides the targets.")
    if len(train) < _FEWEST_ROWS:
        raise InputError(f"{path}: at least {_FEWEST_ROWS} training rows are needed, found {len(train)}.")
    return Plan(path, frame, chosen, targets, numbers, ignored, train, test, words)


def _inputs(frame: pd.DataFrame, path: Path, used: set[str], ignored: dict[str, str], train: np.ndarray) -> list[str]:
    """Return all numeric columns that can be inputs; say of the others why not."""
    outputs = known_outputs(path)
    numbers = []
    for name in frame.columns:
        if name in used or name in ignored:
            continue
        if not pd.api.types.is_numeric_dtype(frame[name]):
            ignored[name] = "holds no numbers"
        elif name in outputs:
            ignored[name] = "an output of the simulation, says about.json"
        elif frame[name].iloc[train].nunique(dropna=False) == 1 and frame[name].notna().all():
            ignored[name] = "is constant"
        else:
            frame[name] = require_numbers(frame, path, name, "input")
            numbers.append(name)
    return numbers


def _split(
    frame: pd.DataFrame, path: Path, column: str | None, fraction: float | None, all_rows: bool, seed: int
) -> tuple[np.ndarray, np.ndarray, str, str | None]:
    """Return training rows, held-out rows, how they were chosen, and the column that says so, if any."""
    n = len(frame)
    if sum((column is not None, fraction is not None, all_rows)) > 1:
        raise InputError("--split, --test-fraction and --all-rows exclude each other; give one of them.")
    if fraction is not None:
        if not 0 < fraction < 1:
            raise InputError(f"--test-fraction must lie between 0 and 1, but is {fraction:g}.")
        test = np.sort(np.random.default_rng(seed).permutation(n)[: max(1, round(fraction * n))])
        train = np.setdiff1d(np.arange(n), test)
        return train, test, f"held out at random: {len(test)} of {n} rows (seed {seed})", None
    automatic = column is None and "split" in frame.columns and set(frame["split"]) == {"train", "test"}
    if all_rows or (column is None and not automatic):
        return np.arange(n), np.empty(0, dtype=int), f"no rows are held out: all {n} are fitted", None
    name = "split" if column is None else column
    if name not in frame.columns:
        raise InputError(f"{path}: has no column {name!r} to split by; it has: {', '.join(frame.columns)}.")
    fitted = (frame[name].astype(str).str.strip() == "train").to_numpy()
    if not fitted.any():
        some = ", ".join(map(str, frame[name].unique()[:5]))
        raise InputError(f"{path}: no row of column {name!r} says 'train'; it holds: {some}.")
    words = f"column {name!r}: {fitted.sum()} rows say train, the other {n - fitted.sum()} are held out"
    return np.flatnonzero(fitted), np.flatnonzero(~fitted), words, name


def open_cache(path: Path, *, read_only: bool = False) -> FolderCache | None:
    """Return the cache beside a table, or None where nothing can be written there."""
    folder = path.parent / CACHE_FOLDER
    if not read_only and not os.access(folder if folder.exists() else path.parent, os.W_OK):
        return None
    return FolderCache(folder, read_only=read_only)


def make_kernel(name: str, plan: Plan, **options: Any) -> Product:
    """Return the kernel of a name on the columns of a plan; options are those of :class:`swwl.SWWL`."""
    graphs = [GRAPH_KERNELS[name](column, **options) for column in plan.meshes]
    return Product(*graphs, *(Matern52(column) for column in plan.inputs))


def fit_plan(
    plan: Plan,
    kernel: Product,
    model_path: Path,
    *,
    cache: Cache | None = None,
    calibrate: bool = True,
    seed: int = 0,
    progress: Callable[[str], Any] = lambda label: None,
) -> tuple[RobustGPRegressor, list[MeshFile]]:
    """Fit a model, predict the held-out rows, and put into its metadata what a report needs.

    Parameters
    ----------
    plan : Plan
    kernel : Product
    model_path : path
        Where the model will be saved: it refers to the table relative to that.
    cache : Cache, optional
    calibrate : bool
    seed : int
    progress : callable
        Called with a label, returns what shows progress, or None.

    Returns
    -------
    model : RobustGPRegressor
    files : list of MeshFile
        Of all rows, for what was found out about them.
    """
    table = plan.frame[[*plan.inputs, *plan.targets]].copy()
    files: list[MeshFile] = []
    for name in plan.meshes:
        column = mesh_files(plan.frame, plan.path, name, cache)
        table[name] = pd.Series(column, index=table.index, dtype=object)
        files += column
    targets: Any = plan.targets[0] if len(plan.targets) == 1 else plan.targets
    model = RobustGPRegressor(kernel, calibrate=calibrate, random_state=seed)
    model.fit(table.iloc[plan.train], targets, progress=progress("meshes"), gp_progress=progress("Gaussian processes"))
    held_out = None
    if len(plan.test):
        held_out = scores.predict_all(model, table.iloc[plan.test], progress("held-out meshes" if files else "rows"))
    model.metadata_ = _metadata(plan, model_path, files, held_out)
    return model, files


def _metadata(plan: Plan, model_path: Path, files: list[MeshFile], held_out: scores.Prediction | None) -> dict:
    """Collect what the model itself does not know of its data."""
    n = len(plan.frame)

    def rows(chosen: np.ndarray) -> dict[str, Any]:
        return {
            "rows": chosen,
            "meshes": {name: plan.frame[name].iloc[chosen].tolist() for name in plan.meshes},
            "nodes": [files[row].n_nodes for row in chosen] if files else [],
        }

    data: dict[str, Any] = {
        # Relative, so that model and data can be moved together.
        "table": Path(os.path.relpath(plan.path.resolve(), model_path.resolve().parent)).as_posix(),
        "n_rows": n,
        "split": plan.split,
        "ignored": plan.ignored,
        "train": rows(plan.train),
        "held_out": None,
    }
    if held_out is not None:
        data["held_out"] = rows(plan.test) | {
            "inputs": {name: plan.frame[name].iloc[plan.test].tolist() for name in plan.inputs},
            "targets": plan.frame[plan.targets].iloc[plan.test].to_numpy(),
            "mean": held_out.mean,
            "std": held_out.std,
            "df": held_out.df,
        }
    return plain(data)
