"""Outer and inner folds of nested cross-validation, by the paper's rule or its authors', and what small classes do."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from swwl.errors import FoldWarning, InputError
from swwl.models.choice import Folds, QuietStratified, inner_folds

FOLDS = ("paper", "authors")


@dataclass(frozen=True)
class Split:
    """One outer fold: row numbers, and the inner folds as positions in ``train``."""

    seed: int
    fold: int
    rule: str
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    inner: Folds


def outer_splits(
    labels: NDArray[np.intp], folds: str, n_outer: int, n_inner: int, seed: int, classes: Any = None
) -> list[Split]:
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
        splits.append(Split(seed, fold, rule, train, test, inner))
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
        raise InputError(f"There are {counts.sum()} graphs, but {n_outer} outer folds are wanted.")
    if folds == "authors":
        return f"KFold({n_outer})", KFold(n_outer, shuffle=True, random_state=42 + seed)
    smallest = f"class {names[counts.argmin()]!r} has {counts.min()} members, fewer than the {n_outer} outer folds"
    if counts.max() < n_outer:
        warnings.warn(
            f"Stratified folds do not exist, as no class has enough members ({smallest}): KFold is used instead.",
            FoldWarning,
            stacklevel=4,
        )
        return f"KFold({n_outer})", KFold(n_outer, shuffle=True, random_state=seed)
    if counts.min() < n_outer:
        warnings.warn(f"A {smallest}: it is missing from some of them.", FoldWarning, stacklevel=4)
    return f"stratified({n_outer})", QuietStratified(n_outer, shuffle=True, random_state=seed)
