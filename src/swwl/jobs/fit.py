"""From a plan to a fitted model that knows its data: what ``swwl fit`` and ``swwl demo`` do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.sampled import counting
from swwl.gp.prediction import Prediction
from swwl.jobs.plan import Plan
from swwl.jobs.table import rows_named, summary
from swwl.kernels import Product
from swwl.mesh.facts import Typical
from swwl.models.regression import RobustGPRegressor
from swwl.parallel import Progress
from swwl.storage import Memory
from swwl.words import plain


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
            held_out = model.predict_distribution(table.iloc[test], memory=kept, progress=label).columns()
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
