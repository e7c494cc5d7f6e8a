"""From a plan to a fitted model of fields that knows its data and its scores: ``swwl fit --target-field``."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.evaluation.fieldmetadata import plain_score
from swwl.evaluation.fieldscores import MeshScore, mesh_score
from swwl.jobs.fit import about_data, no_progress
from swwl.jobs.plan import Plan
from swwl.jobs.table import rows_named, where
from swwl.kernels import Product
from swwl.mesh.facts import Typical
from swwl.mesh.io import read_mesh
from swwl.mesh.mesh import Mesh
from swwl.models.fields import FieldRegressor
from swwl.parallel import Progress
from swwl.storage import Memory
from swwl.words import plain

# So many meshes are predicted at once: their fields are in memory together.
HANDFUL = 8


def check_fields(plan: Plan, names: Sequence[str]) -> None:
    """Refuse fields that the first mesh to fit does not have, and tables with several mesh columns."""
    if len(plan.meshes) != 1:
        found = ", ".join(plan.meshes) or "none"
        raise InputError(
            f"{plan.path}: fields are learned from one column of meshes, found {found}; name it with --mesh."
        )
    row = int(plan.split.train[0])
    mesh = read_mesh(plan.mesh_files(plan.meshes[0]).iloc[row])
    known = [*mesh.fields, *mesh.cell_fields]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            place = where(plan.frame, plan.path, row)
            raise InputError(
                f"{plan.path}: {place}: {mesh.name} has no field {name!r}; it has: {', '.join(known) or 'none'}.{hint}"
            )


def fit_fields(
    plan: Plan,
    names: Sequence[str],
    model_path: Path,
    *,
    kernel: Product | dict[str, Product] | None = None,
    memory: Memory | None = None,
    typical: Mapping[str, Typical] | None = None,
    calibrate: bool = True,
    n_modes: int | None = None,
    n_jobs: int | None = None,
    seed: int = 0,
    progress: Callable[[str], Progress | None] = no_progress,
) -> FieldRegressor:
    """Fit a model of fields, predict the held-out meshes, and put into its metadata what a report needs.

    Parameters are those of :func:`swwl.jobs.fit.fit_plan` and of :class:`swwl.FieldRegressor`.
    """
    memory = Memory(None) if memory is None else memory
    table = plan.table().drop(columns=plan.targets)
    model = FieldRegressor(kernel, n_modes=n_modes, calibrate=calibrate, random_state=seed, n_jobs=n_jobs)
    train, test = plan.split.train, plan.split.test
    with rows_named(plan.frame, plan.path, train):
        model.fit(
            table.iloc[train],
            list(names),
            memory=memory,
            progress=progress("meshes"),
            gp_progress=progress("Gaussian processes"),
        )
    scores: dict[str, list[dict[str, Any]]] = {name: [] for name in model.field_names_}
    show = progress("held-out meshes") if len(test) else None
    for case, mesh in enumerate(predicted(model, plan, table, test, memory)):
        truth = truths(table[plan.meshes[0]].iloc[test[case]], model.field_names_)
        for name, true in truth.items():
            found = score_mesh(mesh, name, true)
            if found is not None:
                scores[name].append(plain_score(found, case))
        if show is not None:
            show(case + 1, len(test))
    data = about_data(plan, model_path, table, memory)
    inputs = table.iloc[train][plan.inputs]
    data["ranges"] = {name: [float(inputs[name].min()), float(inputs[name].max())] for name in plan.inputs}
    data["held_out_scores"] = scores
    if data["held_out"] is not None:
        chosen = plan.frame.iloc[test][plan.categories]
        data["held_out"]["inputs"] |= {name: chosen[name].astype(str).tolist() for name in plan.categories}
    data["typical"] = {name: found.plain() for name, found in (typical or {}).items()}
    known: dict[str, Any] = plain(data)
    model.metadata_ = known
    return model


def predicted(
    model: FieldRegressor, plan: Plan, table: pd.DataFrame, rows: NDArray[np.intp], memory: Memory
) -> Iterator[Mesh]:
    """Yield the predicted meshes of rows of a plan, a handful in memory at a time."""
    for first in range(0, len(rows), HANDFUL):
        some = rows[first : first + HANDFUL]
        with rows_named(plan.frame, plan.path, some):
            yield from model.predict_meshes(table.iloc[some], memory=memory)


def truths(path: Path, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Return those fields of a mesh file that it has, with at least one value."""
    mesh = read_mesh(path)
    found = {}
    for name in names:
        values = mesh.fields.get(name, mesh.cell_fields.get(name))
        if values is not None and values.dtype.kind in "fiub":
            field = np.asarray(values, dtype=np.float64)
            if np.isfinite(field.reshape(len(field), -1)).all(axis=1).any():
                found[name] = field
    return found


def predicted_parts(mesh: Mesh, name: str) -> list[NDArray[Any]]:
    """Return what a predicted mesh says of a field, of nodes or cells: mean, standard deviation and bounds."""
    home = mesh.fields if f"{name}_std" in mesh.fields else mesh.cell_fields
    return [home[name + ending] for ending in ("", "_std", "_lower95", "_upper95")]


def score_mesh(mesh: Mesh, name: str, truth: NDArray[np.float64]) -> MeshScore | None:
    """Compare a predicted mesh with the truth; None where that has another number of components."""
    mean, _, lower, upper = predicted_parts(mesh, name)
    if truth.shape != mean.shape:
        return None
    return mesh_score(truth, mean, lower, upper, name=mesh.name or "")
