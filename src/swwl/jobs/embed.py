"""Embeddings of very many meshes, as a store of shards: by processes of this machine, a part of them, or a cluster.

A task is a plain function of paths and of the store's folder, which all workers must see; it writes a shard and returns
two numbers. A shard that is there is done, and that is all there is to going on after a kill.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs

from swwl.embedding.stores.sampled import Kept, counting, sample_rows
from swwl.embedding.stores.store import (
    BASIS,
    MANIFEST,
    Shard,
    is_whole,
    plan_shards,
    read_shard,
    relative,
    remove_stale,
    write_manifest,
    write_shard,
)
from swwl.errors import ClusterWarning, InputError, located
from swwl.kernels import Product
from swwl.kernels.shared import keeping_factors
from swwl.kernels.stored import basis_of, fit_basis, recipe
from swwl.parallel import Progress, check_jobs, one_blas_thread
from swwl.storage.memory import fingerprint
from swwl.storage.modelfile import is_model
from swwl.tables.places import mesh_of_row

_RETRIES = 2  # of shards whose worker died


@dataclass(frozen=True)
class Work:
    """What is to be embedded.

    Attributes
    ----------
    path, frame
        The table.
    rows : dict of str to dict of int to path
        The mesh files of every column, by rows.
    train : ndarray of int
        Rows that components may be learned from.
    kernels : sequence of Product
        Whose factors keep a few numbers of every mesh.
    missing : dict of str to str
        Meshes that are not there, and what is wrong.
    """

    path: Path
    frame: pd.DataFrame
    rows: dict[str, dict[int, Path]]
    train: Any
    kernels: Sequence[Product]
    missing: dict[str, str]

    @property
    def root(self) -> Path:
        """The folder of the table."""
        return self.path.resolve().parent

    def for_kernels(self, kernels: Sequence[Product]) -> Work:
        """Return the same work for other kernels."""
        return replace(self, kernels=kernels)


@dataclass(frozen=True)
class Embedded:
    """What became of it: numbers of meshes, of those made now, of shards in all and still to do; bad meshes and why."""

    meshes: int
    made: int
    shards: int
    to_do: int
    bad: dict[str, str]


def find_work(
    path: Path,
    frame: pd.DataFrame,
    columns: Sequence[str],
    rows: Any,
    train: Any,
    kernels: Sequence[Product],
    skip_bad: bool = False,
) -> Work:
    """Find the mesh files of a table; those that are missing are refused, or listed with ``skip_bad``."""
    found: dict[str, dict[int, Path]] = {}
    missing: dict[str, str] = {}
    for name in columns:
        found[name] = {}
        for row in map(int, rows):
            try:
                found[name][row] = mesh_of_row(frame, path, name, row)
            except InputError as error:
                if not skip_bad:
                    raise
                missing[str(frame[name].iloc[row])] = str(error)
    return Work(path, frame, found, np.asarray(train), kernels, missing)


def embed(
    work: Work,
    folder: Path,
    *,
    seed: int = 0,
    skip_bad: bool = False,
    n_jobs: int = 1,
    part: tuple[int, int] | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Embedded:
    """Embed the meshes of a table into a store; shards that are there already are left as they are.

    Parameters
    ----------
    work : Work
    folder : path
        Of the store, which is made where it is not there.
    seed : int
        Draws the sample that settles embeddings and components.
    skip_bad : bool
        List meshes that cannot be used, and go on; without, the first is an error.
    n_jobs : int
        Processes.
    part : tuple (i, n), optional
        Do every n-th shard from the i-th on, i from 0: for job arrays.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers see the files under the same names.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of meshes.
    """
    check_jobs(n_jobs)
    if (
        folder.is_dir()
        and not (folder / BASIS).exists()
        and any(not f.name.endswith(".part") for f in folder.iterdir())
    ):
        raise InputError(f"{folder}: is not empty, and not a store of embeddings; name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    remove_stale(folder)
    columns = {name: own for name, own in keeping_factors(work.kernels).items() if name in work.rows}
    if not columns:
        raise InputError("The kernel keeps nothing about meshes in a store: use auto, principal, swwl or aswwl.")
    key = _settle(work, columns, folder, seed, skip_bad)
    every = []
    for name in columns:
        paths = list(dict.fromkeys(relative(file, work.root) for file in work.rows[name].values()))
        every += plan_shards(key, name, paths, work.root)
    own = every if part is None else every[part[0] :: part[1]]
    to_do = [shard for shard in own if not is_whole(folder / shard.name)]
    count = sum(len(shard.paths) for shard in own)
    done = count - sum(len(shard.paths) for shard in to_do)
    tasks = [(str(folder), shard, str(work.root), skip_bad) for shard in to_do]
    run = _on_cluster(tasks, scheduler) if scheduler is not None else _in_processes(tasks, n_jobs)
    if progress is not None:
        progress(done, count)
    with located(str(work.path)):
        for n in run:
            done += n
            if progress is not None:
                progress(done, count)
    left = [shard for shard in every if not is_whole(folder / shard.name)]
    bad = dict(work.missing)
    if left:
        for shard in own:
            bad |= {shard.paths[place]: reason for place, reason in read_shard(folder / shard.name)[2].items()}
    else:
        bad |= write_manifest(folder, key, work.root, every)["bad"]
    if bad and not skip_bad:
        name, reason = next(iter(bad.items()))
        raise InputError(f"{name}: {reason}")
    made = sum(len(shard.paths) for shard in to_do)
    return Embedded(sum(len(shard.paths) for shard in every), made, len(every), len(left), bad)


def _settle(work: Work, columns: dict[str, list[Any]], folder: Path, seed: int, skip_bad: bool) -> str:
    """Make sure that the store has its basis; return its key."""
    chosen = work.train[sample_rows(len(work.train), seed)]
    samples = {
        name: {int(row): work.rows[name][int(row)] for row in chosen if int(row) in work.rows[name]} for name in columns
    }
    key = basis_key(columns, samples, work.root)
    if (folder / BASIS).exists() and is_model(folder / BASIS) and basis_of(folder).key == key:
        return key
    (folder / MANIFEST).unlink(missing_ok=True)  # shards of another basis have other names, and are let alone
    for name, sample in samples.items():
        if not sample:
            raise InputError(f"{work.path}: column {name!r} names no mesh to learn from.")
    with located(str(work.path)):
        fit_basis(key, columns, samples, skip_bad).save(folder / BASIS)
    return key


def basis_key(columns: dict[str, list[Any]], samples: dict[str, dict[int, Path]], root: Path) -> str:
    """Return a name for what a basis is made with, and of which files."""
    parts: list[Any] = []
    for name, factors in columns.items():
        stamps = []
        for row, file in samples[name].items():
            status = file.stat()
            stamps.append([row, relative(file, root), status.st_size, status.st_mtime_ns])
        parts.append([name, [recipe(factor) for factor in factors], stamps])
    return fingerprint("basis 1", parts)


def embed_shard(folder: str, shard: Shard, root: str, skip_bad: bool) -> int:
    """Embed the meshes of one shard and write it; return how many.

    First all of them together; where one cannot be used, one by one.
    """
    store, base = Path(folder), Path(root)
    if is_whole(store / shard.name):
        return len(shard.paths)
    basis, memory = basis_of(store), counting(None)
    files = [base / path for path in shard.paths]
    with one_blas_thread():
        try:
            kept = basis.keep(shard.column, files, list(range(len(files))), memory, 1)
            bad: dict[int, str] = {}
        except (InputError, OSError) as error:
            if not skip_bad:
                raise _named(error, shard, files) from None
            kept, bad = _one_by_one(basis, shard.column, files, memory)
    n_nodes = [memory.n_nodes.get(file, 0) for file in files]
    write_shard(store, shard.name, kept, n_nodes, bad)
    return len(files)


def _named(error: Exception, shard: Shard, files: Sequence[Path]) -> Exception:
    """Say of an error which mesh it was."""
    place = getattr(error, "item", None)
    if isinstance(error, InputError) and place is not None and place < len(files):
        return InputError(f"{shard.paths[place]}: {_reason(error)}")
    return error


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text.partition(": ")[2] if text.startswith("Graph ") else text


def _one_by_one(basis: Any, column: str, files: Sequence[Path], memory: Any) -> tuple[list[Kept], dict[int, str]]:
    """Keep what can be kept of meshes; the numbers of others are NaN."""
    found: dict[int, list[Kept]] = {}
    bad: dict[int, str] = {}
    for place, file in enumerate(files):
        try:
            found[place] = basis.keep(column, [file], [place], memory, 1)
        except (InputError, OSError) as error:
            bad[place] = _reason(error)
    widths = [sum(part.shape[1] for part in _components(factor)) for factor in basis.columns[column]]
    kept = []
    for number, width in enumerate(widths):
        z, left = np.full((len(files), width), np.nan, np.float32), np.full(len(files), np.nan)
        for place, own in found.items():
            z[place], left[place] = own[number][0][0], own[number][1][0]
        kept.append((z, left))
    return kept, bad


def _components(factor: Any) -> list[Any]:
    found = getattr(factor, "basis_", None)
    return list(factor.components_ if found is None else found)


def _in_processes(tasks: Sequence[tuple[Any, ...]], n_jobs: int) -> Iterator[int]:
    """Yield numbers of meshes as shards are done, by processes of this machine or whatever joblib is told to use."""
    workers = min(effective_n_jobs(n_jobs), len(tasks))
    if workers < 2:
        yield from (embed_shard(*task) for task in tasks)
        return
    yield from Parallel(n_jobs=workers, return_as="generator_unordered")(delayed(embed_shard)(*task) for task in tasks)


def cluster_client(address: str) -> Any:
    """Return a client of the Dask scheduler at an address."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise InputError("A cluster needs Dask: pip install 'swwl[dask]'.") from None
    try:
        found = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"{address}: no Dask scheduler answers there ({error}).") from None
    if not found.nthreads():
        warnings.warn(
            f"{address}: the scheduler has no workers yet; waiting for the first (dask worker {address}).",
            ClusterWarning,
            stacklevel=2,
        )
    return found


def _on_cluster(tasks: Sequence[tuple[Any, ...]], address: str) -> Iterator[int]:
    """Yield numbers of meshes as a Dask cluster makes shards; a worker that dies costs those that it was making.

    Only paths travel, and few tasks wait in the scheduler at a time.
    """
    with cluster_client(address) as client:
        distributed = importlib.import_module("distributed")
        submit: Callable[..., Any] = client.submit
        waiting = iter(tasks)
        window = 2 * max(1, sum(client.nthreads().values())) + 2

        def next_few(count: int) -> list[Any]:
            few = [task for _, task in zip(range(count), waiting, strict=False)]
            return [submit(embed_shard, *task, retries=_RETRIES, pure=False) for task in few]

        running = distributed.as_completed(next_few(window), loop=client.loop)
        for future in running:
            yield int(future.result())
            for more in next_few(1):
                running.add(more)
