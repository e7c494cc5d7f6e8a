"""Fits of very many meshes: the store that they read, the rows that are checked, and meshes that cannot be used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from swwl.embedding.sampled import sample_rows
from swwl.embedding.store import Store
from swwl.errors import InputError
from swwl.jobs.embed import Embedded, embed, find_work
from swwl.jobs.plan import Plan
from swwl.jobs.split import Split
from swwl.jobs.table import CACHE_FOLDER, places
from swwl.kernels import Product
from swwl.kernels.together import keeping_factors
from swwl.models.basis import recipe
from swwl.parallel import Progress
from swwl.storage import Memory, fingerprint


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
