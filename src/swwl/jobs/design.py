"""From tables of candidates to tables of choices: what ``swwl select`` and ``swwl suggest`` do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.design.acquire import suggest
from swwl.design.pool import Pool, check_conditions
from swwl.design.space import N_COMPONENTS, design_rows
from swwl.design.subsets import select
from swwl.errors import InputError
from swwl.jobs.outputs import picture_metadata
from swwl.jobs.plan import FitPlan, HoldOut, plan_fit
from swwl.jobs.predict import input_columns
from swwl.jobs.table import CHOSEN, read_table
from swwl.mesh.io.series import Time
from swwl.parallel import Progress
from swwl.plots.inputs import ChoicesDisplay
from swwl.plots.style import new_figure
from swwl.regression.estimator import RobustGPRegressor
from swwl.storage.atomic import atomic_write
from swwl.storage.memory import Memory
from swwl.tables.columns import mesh_columns
from swwl.tables.places import at_times, mesh_paths, require_column, rows_named

# What a column may say of cases of a pool; other cells mean that a case is free.
_RUNNING, _FAILED = ("running", "pending"), ("failed",)
PICTURES = (".png", ".svg", ".pdf")


def plan_select(path: Path, meshes: Sequence[str], inputs: list[str] | None, time: Time | None = None) -> FitPlan:
    """Read a pool; settle which columns tell its cases apart, and at which time meshes that are series are read."""
    frame = read_table(path)
    names = list(meshes) or mesh_columns(frame)
    rows = HoldOut(all_rows=True, time=time)
    plan = plan_fit(path, [], names, inputs, kernel="principal" if names else "scalars", rows=rows)
    check_free(plan.frame, path)
    return plan


def check_free(frame: pd.DataFrame, path: Path) -> None:
    """Refuse a table that has columns where choices go."""
    for name in CHOSEN:
        if name in frame.columns:
            raise InputError(f"{path}: already has a column {name!r}, which is where choices go; rename it.")


def select_rows(
    plan: FitPlan,
    n: int,
    method: str,
    have: Path | None = None,
    **options: Any,
) -> tuple[pd.DataFrame, Any]:
    """Choose rows of a pool; return them as `swwl.design.select` does, and the table of cases that are simulated.

    Parameters
    ----------
    plan : FitPlan
        Of the pool.
    n : int
    method : {"imse", "support", "k-median", "maximin"}
    have : path, optional
        Table of simulated cases, with the columns that the plan uses.
    **options
        See `swwl.design.select`.
    """
    known = None
    if have is not None:
        frame = at_times(read_table(have), have, plan.meshes, plan.time, required=False)
        columns = {name: require_column(frame, have, name, "input") for name in [*plan.inputs, *plan.categories]}
        known = pd.DataFrame(columns | {name: mesh_paths(frame, have, name) for name in plan.meshes})
    with rows_named(plan.frame, plan.path, plan.split.rows):
        return select(plan.table(), n, method, have=known, **options), known


def suggest_rows(
    model: RobustGPRegressor,
    frame: pd.DataFrame,
    path: Path,
    n: int,
    *,
    status: str | None = None,
    memory: Memory | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Choose rows of a pool for a model; return them as `swwl.design.suggest` does.

    Parameters
    ----------
    model : RobustGPRegressor
    frame, path
        The pool.
    n : int
    status : str, optional
        Column that says which cases are "running" or "failed".
    memory, progress, **options
        See `swwl.design.suggest`.
    """
    check_free(frame, path)
    inputs = input_columns(model, frame, path)
    running, failed = (np.zeros(len(frame), dtype=bool) for _ in range(2))
    if status is not None:
        said = require_column(frame, path, status, "the state of cases").astype(str).str.strip().str.lower()
        running, failed = said.isin(_RUNNING).to_numpy(), said.isin(_FAILED).to_numpy()
    with rows_named(frame, path, range(len(frame))):
        waiting = running if running.any() else None
        return suggest(model, inputs, n, pending=waiting, failed=failed, memory=memory, progress=progress, **options)


def chosen_rows(
    frame: pd.DataFrame,
    path: Path,
    meshes: Sequence[str],
    chosen: pd.DataFrame,
    output: Path,
    level: str | None = None,
) -> pd.DataFrame:
    """Return the rows of a table that were chosen, best first, with paths of meshes relative to the output.

    ``level`` is the column into which levels of fidelity go that were chosen too.
    """
    found = frame.iloc[chosen["row"].to_numpy()].reset_index(drop=True)
    folder = output.resolve().parent
    for name in meshes:
        files = mesh_paths(frame, path, name, chosen["row"].to_numpy()).iloc[chosen["row"].to_numpy()]
        found[name] = [_relative(Path(file), folder) for file in files]
    found = found.assign(**{name: chosen[name].to_numpy() for name in CHOSEN})
    return found if level is None else found.assign(**{level: chosen["level"].to_numpy()})


def draw_selection(
    plan: FitPlan,
    chosen: pd.DataFrame,
    known: Any,
    output: Path,
    memory: Memory | None,
    seed: int,
    group: str | None = None,
) -> None:
    """Draw the choices among a pool on its map."""
    tables = [plan.table()] if known is None else [plan.table(), known]
    points = design_rows(*tables, group=group, memory=memory, random_state=seed)
    _write_map(points[0], chosen, points[1] if known is not None else None, output)


def draw_suggestion(
    model: RobustGPRegressor, frame: pd.DataFrame, path: Path, chosen: pd.DataFrame, output: Path, memory: Memory | None
) -> None:
    """Draw the choices among a pool on the map of its cases and the training cases."""
    pool = Pool(model, input_columns(model, frame, path), memory=memory)
    points, known = model.coordinates(pool.rows, N_COMPONENTS), model.coordinates(None, N_COMPONENTS)
    _write_map(points, chosen, known, output)


def read_bounds(least: Sequence[str], most: Sequence[str]) -> dict[str, tuple[float | None, float | None]]:
    """Read NAME=VALUE of lower and of upper bounds.

    Examples
    --------
    >>> read_bounds(["massflow=22"], ["pressure_ratio=2.1"])
    {'massflow': (22.0, None), 'pressure_ratio': (None, 2.1)}
    """
    found: dict[str, tuple[float | None, float | None]] = {}
    for side, texts in enumerate((least, most)):
        option = ("--at-least", "--at-most")[side]
        for text in texts:
            name, equals, value = text.rpartition("=")
            try:
                bound = float(value)
            except ValueError:
                bound = float("nan")
            if not (name and equals and np.isfinite(bound)):
                raise InputError(f"{option} {text!r} is not understood; expected TARGET=VALUE, such as massflow=22.")
            low, high = found.get(name, (None, None))
            found[name] = (low, bound) if side else (bound, high)
    return found


def read_level_costs(texts: Sequence[str]) -> dict[str, float] | None:
    """Read LEVEL=COST; None where there are none.

    Examples
    --------
    >>> read_level_costs(["coarse=1", "fine=20"])
    {'coarse': 1.0, 'fine': 20.0}
    """
    found: dict[str, float] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.rpartition("="))
        try:
            cost = float(value)
        except ValueError:
            cost = float("nan")
        if not (name and equals and cost > 0):
            raise InputError(f"--cost {text!r} is not understood; expected LEVEL=COST, such as fine=20.")
        found[name] = cost
    return found or None


def read_conditions(model: RobustGPRegressor, texts: Sequence[str]) -> dict[str, float | str]:
    """Read INPUT=VALUE of conditions to design for, by the names of columns."""
    found: dict[str, float | str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.rpartition("="))
        if not (name and equals and value):
            raise InputError(f"--at {text!r} is not understood; expected INPUT=VALUE, such as force=1000.")
        if name in found:
            raise InputError(f"--at gives {name!r} twice; give it once.")
        found[name] = value
    return check_conditions(model, found)


def holds_choices(path: Path) -> bool:
    """Whether a table is one that holds choices, as ours do."""
    try:
        return set(CHOSEN) <= set(read_table(path).columns)
    except InputError:
        return False


def _relative(file: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(file.resolve(), folder)).as_posix()
    except ValueError:  # on another drive
        return str(file.resolve())


def _write_map(
    points: NDArray[np.float64], chosen: pd.DataFrame, known: NDArray[np.float64] | None, output: Path
) -> None:
    drawing = new_figure(5.2, 4.2)
    ChoicesDisplay.from_points(points, chosen["row"].tolist(), known=known, ax=drawing.subplots())
    with atomic_write(output) as file:
        drawing.savefig(file, format=output.suffix[1:].lower(), metadata=picture_metadata(output))
