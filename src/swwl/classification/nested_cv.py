"""Nested cross-validation of graph kernels in a support vector machine: the paper's protocol, and more.

One matrix per setting of a kernel is built once, for all graphs; outer folds, inner folds, gamma and C work on slices.
A journal keeps finished rows, and a folder the matrices, from one run to the next.
"""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC

from swwl.classification.baselines import FGW, RPW, WWL, GraphHopper, Propagation, common
from swwl.classification.search import Folds, QuietStratified, inner_accuracies, inner_folds
from swwl.errors import FoldWarning, InputError, InputTypeError
from swwl.formatting import Record
from swwl.kernels import SWWL, Factor
from swwl.mesh.arrays import AnyArray
from swwl.storage.atomic import atomic_write
from swwl.storage.memory import fingerprint

_JOURNAL = "swwl-journal"


class Journal:
    """Finished rows of every kernel, written to a JSON file after each; None keeps them in memory.

    Parameters
    ----------
    path : path or None

    Examples
    --------
    >>> journal = Journal(None)
    >>> journal.claim("SWWL", "abc")
    >>> journal.add("SWWL", {"seed": 0, "fold": 3, "accuracy": 0.9})
    >>> list(journal.rows("SWWL"))
    [(0, 3)]
    """

    def __init__(self, path: str | os.PathLike[str] | None):
        self.path = None if path is None else Path(path)
        self.content: Record = {"format": _JOURNAL, "kernels": {}}
        if self.path is not None and self.path.exists():
            try:
                found = json.loads(self.path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise InputError(f"{self.path}: not a journal of nested_cv ({error}).") from None
            if not isinstance(found, dict) or found.get("format") != _JOURNAL:
                raise InputError(f"{self.path}: not a journal of nested_cv.")
            self.content = found

    def claim(self, name: str, key: str) -> None:
        """Begin or go on with a kernel; refuse if its rows were made with other settings."""
        entry = self.content["kernels"].setdefault(name, {"key": key, "rows": []})
        if entry["key"] != key:
            raise InputError(
                f"{self.path}: holds rows of {name!r} for other graphs, folds, grids or settings; "
                f"name another journal, or delete this one."
            )

    def rows(self, name: str) -> dict[tuple[int, int], Record]:
        """Return the finished rows of a kernel by seed and fold."""
        rows = [_replaced(row, None, math.nan) for row in self.content["kernels"][name]["rows"]]
        return {(row["seed"], row["fold"]): row for row in rows}

    def add(self, name: str, row: Record) -> None:
        """Add a row, and write the file again, under a temporary name until it is complete."""
        self.content["kernels"][name]["rows"].append(_replaced(row, math.nan, None))
        if self.path is not None:
            with atomic_write(self.path) as file:
                file.write(json.dumps(self.content, indent=1).encode())


def _replaced(row: Record, old: float | None, new: float | None) -> Record:
    """Return a row with NaN, which JSON lacks, in place of None, or the other way round."""

    def is_old(value: Any) -> bool:
        return value is None if old is None else isinstance(value, float) and math.isnan(value)

    return {key: new if is_old(value) else value for key, value in row.items()}


class MatrixCache:
    """Matrices by key in a folder; None keeps nothing.

    Parameters
    ----------
    folder : path or None
    """

    def __init__(self, folder: str | os.PathLike[str] | None):
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> NDArray[np.float64] | None:
        """Return a matrix that was put there, or None."""
        path = None if self.folder is None else self.folder / f"{key}.npy"
        return np.load(path, allow_pickle=False) if path is not None and path.exists() else None

    def put(self, key: str, matrix: NDArray[np.float64]) -> None:
        """Keep a matrix, written under a temporary name until it is complete."""
        if self.folder is not None:
            with atomic_write(self.folder / f"{key}.npy") as file:
                np.lib.format.write_array(file, matrix, allow_pickle=False)


FOLDS = ("paper", "authors")


@dataclass(frozen=True)
class OuterSplit:
    """One outer fold: row numbers, and the inner folds as positions in ``train``."""

    seed: int
    fold: int
    rule: str
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    inner: Folds


def outer_splits(
    labels: NDArray[np.intp], folds: str, n_outer: int, n_inner: int, seed: int, classes: Any = None
) -> list[OuterSplit]:
    """Return the outer folds of one seed with their inner folds; the same for all kernels.

    Parameters
    ----------
    labels : ndarray of shape (N,)
        Classes, numbered from 0.
    folds, n_outer, n_inner, seed
        See :func:`nested_cv`.
    classes : sequence, optional
        What classes are called, for messages.
    """
    if folds not in FOLDS:
        raise InputError(f"folds must be one of {list(FOLDS)}, not {folds!r}.")
    counts = np.bincount(labels)
    names = [str(c) for c in (range(len(counts)) if classes is None else classes)]
    rule, outer = _outer_rule(counts, names, folds, n_outer, seed)
    few = False
    splits = []
    for fold, (train, test) in enumerate(outer.split(labels, labels)):
        inner, even = inner_folds(labels[train], n_inner, seed)
        few |= not even
        splits.append(OuterSplit(seed, fold, rule, train, test, inner))
    if few:
        warnings.warn(
            f"Some training folds have classes of fewer members than the {n_inner} inner folds (the smallest class, "
            f"{names[counts.argmin()]!r}, has {counts.min()} in all); they are in as many inner folds as they can be.",
            FoldWarning,
            stacklevel=3,
        )
    return splits


def _outer_rule(
    counts: NDArray[np.intp], names: list[str], folds: str, n_outer: int, seed: int
) -> tuple[str, KFold | StratifiedKFold]:
    if counts.sum() < n_outer:
        raise InputError(f"There are {counts.sum()} graphs, but {n_outer} outer folds were requested.")
    if folds == "authors":
        return f"KFold({n_outer})", KFold(n_outer, shuffle=True, random_state=42 + seed)
    smallest = f"class {names[counts.argmin()]!r} has {counts.min()} members, fewer than the {n_outer} outer folds"
    if counts.max() < n_outer:
        warnings.warn(
            f"Stratified folds are impossible, as no class has enough members ({smallest}): KFold is used instead.",
            FoldWarning,
            stacklevel=4,
        )
        return f"KFold({n_outer})", KFold(n_outer, shuffle=True, random_state=seed)
    if counts.min() < n_outer:
        warnings.warn(f"A {smallest}: it is missing from some of them.", FoldWarning, stacklevel=4)
    return f"stratified({n_outer})", QuietStratified(n_outer, shuffle=True, random_state=seed)


GAMMAS = tuple(10.0**k for k in range(-4, 0))
"""The paper's grid; its authors' code goes on to 10."""
COSTS = tuple(10.0**k for k in range(-3, 4))
COLUMNS = (
    "dataset kernel seed fold outer n_test accuracy balanced_accuracy majority inner_accuracy setting features gamma C "
    "exponent seconds matrix_seconds"
).split()


def paper_settings(name: str) -> list[Factor]:
    """Return the settings of a kernel among which the paper's inner loop chooses.

    Parameters
    ----------
    name : {"SWWL", "WWL", "FGW", "RPW", "PK", "GH"}
        RPW is trained at a rate of 1e-2 for 10 epochs; on PROTEINS the paper took 1e-3, on ENZYMES 1e-4, and 20
        epochs.

    References
    ----------
    Carpintero Perez et al. (2024), section 5.1 and supplementary material.

    Examples
    --------
    >>> paper_settings("FGW")[0], len(paper_settings("SWWL"))
    (FGW('graph', alpha=0.0), 4)
    """
    settings: dict[str, list[Factor]] = {
        "SWWL": [SWWL(n_iterations=h, n_projections=20, n_quantiles=20) for h in range(4)],
        "WWL": [WWL(n_iterations=h) for h in range(4)],
        "FGW": [FGW(alpha=alpha) for alpha in (0.0, 0.25, 0.5, 0.75, 1.0)],
        "RPW": [RPW(n_layers=layers) for layers in (1, 2, 3)],
        "PK": [Propagation(t_max=t) for t in (1, 3, 5, 8, 10, 15, 20)],
        "GH": [GraphHopper()],
    }
    if name not in settings:
        raise InputError(f"The paper's kernels are {', '.join(settings)}, not {name!r}.")
    return settings[name]


@dataclass(frozen=True)
class Grid:
    """What the inner loop tries for each matrix of distances; a Gram matrix has the costs alone."""

    gammas: Sequence[float]
    costs: Sequence[float]
    exponents: Sequence[float]


def nested_cv(
    graphs: Any,
    y: ArrayLike,
    kernels: Mapping[str, Factor | Sequence[Factor]],
    *,
    dataset: str = "",
    folds: str = "paper",
    n_outer: int = 10,
    n_inner: int = 5,
    gammas: Sequence[float] = GAMMAS,
    Cs: Sequence[float] = COSTS,
    alphas: Sequence[float] = (1.0,),
    random_states: Sequence[int] = (0,),
    n_jobs: int | None = None,
    journal: Any = None,
    cache: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    r"""Estimate the accuracy of support vector machines on graphs, all choices made inside the training folds.

    For every kernel, seed and outer fold, the inner loop takes the setting, the exponent, gamma and C of the largest
    mean accuracy over the inner folds (the first of equals), refits on the whole training fold, and predicts the test
    fold. The machine's kernel is :math:`\exp(-\gamma D^\alpha)`, or the Gram matrix itself for factors that give one.

    Parameters
    ----------
    graphs : list of N graphs, or dict of such lists
        A dictionary names several versions of the same graphs, such as with and without labels: the inner loop
        chooses among them as well.
    y : array-like of shape (N,)
        Classes.
    kernels : dict
        A name for each kernel, and its settings: a factor, or a list of factors to choose from; those of the paper
        are in :func:`paper_settings`. Scaling is a setting: ``[SWWL(scale=False), SWWL(scale=True)]``.
    dataset : str
        For the table.
    folds : {"paper", "authors"}
        Outer folds: "paper" stratifies; "authors" is ``KFold(shuffle=True, random_state=42 + seed)``, as the
        authors' code has it for seed 0. Inner folds are stratified.
    n_outer, n_inner : int
        Numbers of folds.
    gammas, Cs, alphas : sequences of float
        What the inner loop tries: :math:`\gamma`, C and the exponent :math:`\alpha`.
    random_states : sequence of int
        Each shuffles all folds in another way.
    n_jobs : int, optional
        Threads for the folds, by joblib's rules; factors have their own ``n_jobs``.
    journal : path, optional
        A JSON file that grows by a row per outer fold, and from which an interrupted run goes on. It refuses another
        set, grid or kernel of the same name than it was begun with.
    cache : path, optional
        A folder to keep finished matrices in, for runs that are interrupted between them.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of outer folds, over all kernels.

    Returns
    -------
    DataFrame
        A row per kernel, seed and outer fold: ``dataset``, ``kernel``, ``seed``, ``fold``, ``outer`` (how folds were
        made), ``n_test``, ``accuracy``, ``balanced_accuracy`` (mean over the classes in the test fold),
        ``majority`` (accuracy of always guessing the training fold's largest class), ``inner_accuracy``, what was
        chosen (``setting``, ``features``, ``gamma``, ``C``, ``exponent``), ``seconds`` of the search, and
        ``matrix_seconds`` that all matrices of the kernel took (NaN where they came from the cache or are not shared).

    Raises
    ------
    ValueError
        A class has a single member, and could be trained on or tested but not both.

    Warns
    -----
    FoldWarning
        A class has fewer members than there are folds. Folds are then as even as they can be: while some class has
        enough members, smaller ones are in as many folds as they have members; where none has, as in Cuneiform,
        the outer folds are ``KFold(shuffle=True)``.

    Notes
    -----
    Matrices are built for all graphs at once: what a setting learns without classes (``scale=True``) it learns from
    test graphs too. A supervised factor (RPW) is trained again on each outer training fold, and its inner folds are
    drawn from the graphs it was trained on, as its authors do.

    Examples
    --------
    >>> from swwl import Graph
    >>> rng = np.random.default_rng(0)
    >>> lengths = np.repeat([1.0, 2.0], 12) + 0.1 * rng.random(24)
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in lengths]
    >>> settings = [SWWL(n_iterations=h, n_projections=5, n_quantiles=5) for h in (0, 1)]
    >>> table = nested_cv(rods, np.repeat(["short", "long"], 12), {"SWWL": settings}, n_outer=3, n_inner=2, Cs=[1e3])
    >>> len(table), float(table["accuracy"].mean())
    (3, 1.0)
    """
    versions = dict(graphs) if isinstance(graphs, Mapping) else {"": list(graphs)}
    classes, labels = _check(versions, y)
    grid = Grid(tuple(gammas), tuple(Cs), tuple(alphas))
    if not (grid.gammas and grid.costs and grid.exponents):
        raise InputError("The grid of gamma, C and exponents is empty; give at least one value of each.")
    splits = [split for seed in random_states for split in outer_splits(labels, folds, n_outer, n_inner, seed, classes)]
    record = Journal(journal)
    store = MatrixCache(cache)
    settings = {name: [given] if isinstance(given, Factor) else list(given) for name, given in kernels.items()}
    keys = {}
    for name, factors in settings.items():
        _check_factors(name, factors)
        # Only what can change a row, so that more seeds can join a journal.
        parts = [dataset, folds, n_outer, n_inner, repr(grid), [repr(f) for f in factors], labels]
        keys[name] = fingerprint(*parts, *(item for version in versions.items() for item in version))
        record.claim(name, keys[name])
    total, done = len(splits) * len(settings), 0
    rows: list[dict[str, Any]] = []
    for name, factors in settings.items():
        kept = record.rows(name)
        todo = [split for split in splits if (split.seed, split.fold) not in kept]
        done += len(splits) - len(todo)
        if progress is not None:
            progress(done, total)
        if todo:
            kernel = _Kernel(versions, factors, labels, store)
            parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered", batch_size=1)
            for row in parallel(delayed(_quick_outer_fold)(kernel, split, grid) for split in todo):
                full = {"dataset": dataset, "kernel": name, **row, "matrix_seconds": kernel.seconds}
                kept[full["seed"], full["fold"]] = full
                record.add(name, full)
                done += 1
                if progress is not None:
                    progress(done, total)
        rows += [kept[split.seed, split.fold] for split in splits]
    return pd.DataFrame(rows, columns=COLUMNS)


def _check(versions: dict[str, list[Any]], y: ArrayLike) -> tuple[AnyArray, NDArray[np.intp]]:
    labels = np.asarray(y)
    for name, graphs in versions.items():
        if labels.shape != (len(graphs),):
            which = f" of version {name!r}" if name else ""
            raise InputError(f"Classes have shape {labels.shape}, but there are {len(graphs)} graphs{which}.")
    classes, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise InputError(f"All graphs are of class {str(labels[0])!r}; at least two classes are needed.")
    if counts.min() < 2:
        lone = classes[counts.argmin()]
        raise InputError(
            f"Class {str(lone)!r} has a single member (graph {int(np.flatnonzero(labels == lone)[0])}), which can be "
            f"trained on or tested, but not both; drop it, or merge it into another class."
        )
    return classes, numbers


def _check_factors(name: str, factors: list[Any]) -> None:
    if not factors:
        raise InputError(f"Kernel {name!r} has no settings to choose from.")
    for factor in factors:
        if not isinstance(factor, Factor):
            raise InputTypeError(f"Kernel {name!r} must be a factor such as SWWL(), or a list of them, not {factor!r}.")


class _Kernel:
    """The matrices of one kernel, one per setting and version of the graphs, built when they are first needed."""

    def __init__(self, versions: dict[str, list[Any]], factors: list[Factor], labels: AnyArray, store: MatrixCache):
        self.options = [
            (version, common.load_graphs(graphs), factor) for version, graphs in versions.items() for factor in factors
        ]
        self.labels = labels
        self.shared: dict[int, NDArray[np.float64]] = {}
        self.seconds = 0.0
        for number, (_, graphs, factor) in enumerate(self.options):
            if factor.supervised:
                self.seconds = np.nan
                continue
            key = matrix_key(factor, graphs) if store.folder is not None else ""
            found = store.get(key)
            start = time.perf_counter()
            if found is None:
                found = _matrix(clone(factor), graphs)
                store.put(key, found)
                self.seconds += time.perf_counter() - start
            else:
                self.seconds = np.nan
            self.shared[number] = found

    def matrices(self, split: OuterSplit) -> Any:
        """Yield number and matrix of every option: shared ones, or those trained on this fold."""
        for number, (_, graphs, factor) in enumerate(self.options):
            matrix = self.shared.get(number)
            yield number, _matrix(clone(factor), graphs, split.train, self.labels) if matrix is None else matrix


def matrix_key(factor: Factor, graphs: list[Any]) -> str:
    """Return the name under which the matrix of a factor for these graphs is kept."""
    return fingerprint(repr(factor), graphs)


def _matrix(factor: Any, graphs: list[Any], train: AnyArray | None = None, labels: AnyArray | None = None) -> AnyArray:
    """Return the distances among all graphs (N, N), or their Gram matrix, with the factor fitted on ``train``."""
    if train is None or labels is None:
        rows = factor.fit(graphs)
    else:
        factor.fit([graphs[i] for i in train], y=labels[train])
        rows = factor.represent(graphs)
    items = [factor.gram(rows)] if factor.gives == "gram" else factor.items(rows)
    if len(items) != 1 or not isinstance(items[0], np.ndarray):
        raise InputTypeError(f"nested_cv needs one matrix of distances per kernel, which {factor!r} does not give.")
    if not np.isfinite(items[0]).all():
        i, j = np.argwhere(~np.isfinite(items[0]))[0]
        raise InputError(f"{factor!r} gives {items[0][i, j]} for graphs {i} and {j}, but finite numbers are expected.")
    return items[0]


def _quick_outer_fold(kernel: _Kernel, split: OuterSplit, grid: Grid) -> dict[str, Any]:
    # Thousands of fits on slices of a matrix that was checked once: more checks take a quarter of the time.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        return _outer_fold(kernel, split, grid)


def _outer_fold(kernel: _Kernel, split: OuterSplit, grid: Grid) -> dict[str, Any]:
    """Search on the training fold, refit, and predict the test fold: one row of the table."""
    start = time.perf_counter()
    labels = kernel.labels
    y_train, y_test = labels[split.train], labels[split.test]
    inner, chosen, winner = -1.0, {}, np.empty(0)
    for number, matrix in kernel.matrices(split):
        version, _, factor = kernel.options[number]
        block = matrix[np.ix_(split.train, split.train)]
        for exponent, gamma, gram in _kernels(block, factor, grid):
            scores = inner_accuracies(gram, y_train, split.inner, grid.costs)
            place = int(scores.argmax())
            if scores[place] > inner:
                inner, winner = float(scores[place]), matrix
                chosen = {"setting": repr(factor), "features": version, "gamma": gamma, "C": grid.costs[place]}
                chosen["exponent"] = exponent
    own, cross = (
        _transform(winner[np.ix_(rows, split.train)], chosen["exponent"], chosen["gamma"])
        for rows in (split.train, split.test)
    )
    predicted = SVC(kernel="precomputed", C=chosen["C"]).fit(own, y_train).predict(cross)
    right = predicted == y_test
    return {
        "seed": split.seed,
        "fold": split.fold,
        "outer": split.rule,
        "n_test": len(y_test),
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(np.mean([right[y_test == c].mean() for c in np.unique(y_test)])),
        "majority": float((y_test == np.bincount(y_train).argmax()).mean()),
        "inner_accuracy": inner,
        **chosen,
        "seconds": time.perf_counter() - start,
    }


def _kernels(block: NDArray[np.float64], factor: Factor, grid: Grid) -> Any:
    """Yield exponent, gamma and kernel matrix for every choice of the grid; NaN where there is none to make."""
    if factor.gives == "gram":
        yield float("nan"), float("nan"), block
        return
    for exponent in grid.exponents:
        powers = block if exponent == 1 else block**exponent
        for gamma in grid.gammas:
            yield exponent, gamma, np.exp(-gamma * powers)


def _transform(block: NDArray[np.float64], exponent: float, gamma: float) -> NDArray[np.float64]:
    return block if np.isnan(gamma) else np.exp(-gamma * block**exponent)
