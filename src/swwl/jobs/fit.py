"""From a plan to a fitted model of fields that knows its data and its scores: ``swwl fit --target-field``."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.stores.sampled import counting, sample_rows
from swwl.embedding.stores.store import Store
from swwl.errors import InputError
from swwl.evaluation.metadata import plain_score
from swwl.fields.estimator import FieldRegressor
from swwl.fields.scores import MeshScore, mesh_score
from swwl.formatting import plain
from swwl.gp.prediction import Prediction
from swwl.jobs.embed import Embedded, embed, find_work
from swwl.jobs.plan import Plan, Split
from swwl.jobs.table import CACHE_FOLDER, places, rows_named, summary, where
from swwl.kernels import Product
from swwl.kernels.shared import keeping_factors
from swwl.kernels.stored import recipe
from swwl.mesh.io import read_mesh
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.screening import Typical
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor
from swwl.storage.memory import Memory, fingerprint


def no_progress(label: str) -> Progress | None:
    """Show nothing."""
    return None


def fit_plan(
    plan: Plan,
    kernel: Product | dict[str, Product],
    model_path: Path,
    *,
    memory: Memory | None = None,
    typical: Mapping[str, Typical] | None = None,
    calibrate: bool = True,
    seed: int = 0,
    solver: str = "auto",
    embeddings: Path | None = None,
    progress: Callable[[str], Progress | None] = no_progress,
) -> RobustGPRegressor:
    """Fit a model, predict the held-out rows, and put into its metadata what a report needs.

    Parameters
    ----------
    plan : Plan
    kernel : Product, or dict of those to stack
    model_path : path
        Where the model will be saved: it refers to the table relative to that.
    memory : Memory, optional
        Where embeddings are kept; it also tells afterwards how large meshes are and how many were found in it.
    typical : mapping of str to Typical, optional
        What the meshes of a column have in common, for ``swwl predict`` to compare others with.
    calibrate : bool
    seed : int
    solver : {"auto", "exact", "vecchia"}
    embeddings : path, optional
        A store of what is kept of the meshes, see :mod:`swwl.jobs.embed`.
    progress : callable
        Called with a label, returns what shows progress, or None.
    """
    memory = Memory(None) if memory is None else memory
    table = plan.table()
    targets: Any = plan.targets[0] if len(plan.targets) == 1 else plan.targets
    model = RobustGPRegressor(kernel, calibrate=calibrate, random_state=seed, solver=solver)
    train, test = plan.split.train, plan.split.test
    with rows_named(plan.frame, plan.path, train):
        model.fit(
            table.iloc[train],
            targets,
            memory=memory,
            embeddings=embeddings,
            progress=progress("meshes"),
            gp_progress=progress("Gaussian processes"),
        )
    held_out = None
    if len(test):
        label = progress("held-out meshes" if plan.meshes else "rows")
        kept = memory if embeddings is None else counting(memory)  # so many wide rows are not worth keeping
        with rows_named(plan.frame, plan.path, test):
            held_out = model.predict_with_domain(table.iloc[test], memory=kept, progress=label)[0].columns()
    model.metadata_ = _metadata(plan, model_path, table, memory, held_out)
    model.metadata_["typical"] = {name: found.plain() for name, found in (typical or {}).items()}
    return model


def mesh_facts(plan: Plan, memory: Memory) -> dict[str, Any]:
    """Return how many different meshes a plan has, their sizes, and how many were found in memory."""
    files = {file for name in plan.meshes for file in plan.mesh_files(name) if file is not None}
    nodes = [memory.n_nodes[file] for file in files if file in memory.n_nodes]
    return {
        "meshes": len(files),
        "meshes_from_cache": len(files & memory.found),
        "nodes": summary(nodes) if nodes else None,
    }


def _metadata(
    plan: Plan, model_path: Path, table: pd.DataFrame, memory: Memory, held_out: Prediction | None
) -> dict[str, Any]:
    """Collect what the model itself does not know of its data."""
    data = about_data(plan, model_path, table, memory)
    if held_out is not None:
        data["held_out"] |= {
            "targets": plan.frame[plan.targets].iloc[plan.split.test].to_numpy(),
            "mean": held_out.mean,
            "std": held_out.std,
            "df": held_out.df,
        }
    known: dict[str, Any] = plain(data)
    return known


def about_data(plan: Plan, model_path: Path, table: pd.DataFrame, memory: Memory) -> dict[str, Any]:
    """Return which table a model was fitted to, and which of its rows and meshes were fitted and held out."""

    def about(rows: NDArray[np.intp]) -> dict[str, Any]:
        first = table[plan.meshes[0]].iloc[rows] if plan.meshes else []
        return {
            "rows": rows,
            "meshes": {name: plan.frame[name].iloc[rows].tolist() for name in plan.meshes},
            "nodes": [memory.n_nodes.get(file) for file in first],
        }

    test = plan.split.test
    inputs = {name: plan.frame[name].iloc[test].tolist() for name in plan.inputs}
    return {
        # Relative, so that model and data can be moved together.
        "table": Path(os.path.relpath(plan.path.resolve(), model_path.resolve().parent)).as_posix(),
        "n_rows": len(plan.frame),
        "split": plan.split.words,
        "ignored": plan.ignored,
        "train": about(plan.split.train),
        "held_out": about(test) | {"inputs": inputs} if len(test) else None,
    }


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
            yield from model.predict_meshes(table.iloc[some], widen=False, memory=memory)


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


def store_beside(
    plan: Plan,
    kernel: Product | dict[str, Product],
    *,
    seed: int = 0,
    n_jobs: int = 1,
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> tuple[Path, Embedded]:
    """Embed the meshes of a plan into a store beside its table, or go on with that; return its folder.

    Parameters
    ----------
    plan : Plan
    kernel : Product, or dict of those to stack
    seed, n_jobs, skip_bad, progress
        See :func:`swwl.jobs.embed.embed`.
    """
    kernels = [kernel] if isinstance(kernel, Product) else list(kernel.values())
    kept = keeping_factors(kernels)
    names = [name for name in plan.meshes if name in kept]
    key = fingerprint([[name, [recipe(factor) for factor in kept[name]]] for name in names], seed)
    folder = plan.path.parent / CACHE_FOLDER / f"store-{key[:12]}"
    work = find_work(plan.path, plan.frame, names, plan.split.rows, plan.split.train, kernels, skip_bad)
    return folder, embed(work, folder, seed=seed, skip_bad=skip_bad, n_jobs=n_jobs, progress=progress)


def without_bad(plan: Plan, store: Store, drop: bool) -> Plan:
    """Return a plan without the rows whose meshes could not be embedded; refuse them unless they may be dropped."""
    bad = np.zeros(len(plan.frame), dtype=bool)
    if store.bad:
        for name in plan.meshes:
            files = plan.mesh_files(name)
            for row in map(int, plan.split.rows):
                bad[row] |= store.is_bad(files.iloc[row])
    which = np.flatnonzero(bad)
    if not len(which):
        return plan
    said = f"{len(which)} whose meshes could not be embedded ({places(plan.frame, plan.path, which)})"
    if not drop:
        reason = next(iter(store.bad.values()))
        raise InputError(f"{plan.path}: there are {said}: {reason} --drop-incomplete leaves such rows out.")
    return replace(plan, split=plan.split.without(bad, f"{said} left out"))


def some_rows(plan: Plan, seed: int) -> Plan:
    """Return a plan of a few training rows: those whose meshes are checked where there are very many."""
    train = plan.split.train[sample_rows(len(plan.split.train), seed)]
    few = Split(train, np.empty(0, np.intp), plan.split.words, plan.split.column)
    return replace(plan, split=few)


def tell_sizes(memory: Memory, folder: Path) -> None:
    """Tell a memory how large the meshes of a store are."""
    memory.n_nodes.update(Store(folder).nodes())
