"""Which kernel, descriptors, range, shrinkage and warp a field gets: by folds of training meshes, modes refitted.

The lists are short and fixed, and each stage goes on with the best of the one before: descriptors and ranges,
warps, shrinkages, kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.fields.coding import Candidate, Coded, FieldData, code_nodes, code_smooth
from swwl.fields.geometry.descriptors import Describer, Recipe
from swwl.fields.processes import Inputs, folds_of, pair_of_groups
from swwl.fields.scores import mesh_score, pooled
from swwl.fields.warps import possible_warps
from swwl.gp import RobustGP

Array = NDArray[np.float64]

RANGES = (0.7, 1.5)
SHRINKAGES = (1e-6, 1e-5, 1e-4)
_FOLDS = 4


@dataclass
class Settings:
    """What a choice may not change.

    Attributes
    ----------
    n_modes : int
        At most.
    basis_size : int
    recipes : dict of str to dict
        Empty for meshes that share their cells.
    describer : Describer
    warps : list of str or None
        None for those that may suit the field.
    seed : int
    on_fit : callable
        Called after the fit of every process.
    """

    n_modes: int
    basis_size: int
    recipes: dict[str, Recipe]
    describer: Describer
    warps: list[str] | None
    seed: int
    on_fit: Callable[[], None]


@dataclass
class Choice:
    """What was chosen, and all that was compared.

    Attributes
    ----------
    coded : Coded
    inputs : Inputs
    rows : list of dict
        For a table: one row per candidate.
    """

    coded: Coded
    inputs: Inputs
    rows: list[dict[str, Any]]


def choose(data: FieldData, kernels: Sequence[Inputs], settings: Settings) -> Choice:
    """Choose all that is open.

    Parameters
    ----------
    data : FieldData
    kernels : sequence of Inputs
        One per candidate kernel.
    settings : Settings
    """
    tried: list[tuple[float, Coded, Inputs]] = []
    known: dict[tuple[int, str], list[RobustGP]] = {}

    def try_one(coded: Coded, inputs: Inputs) -> None:
        if not any(one.candidate == coded.candidate and own is inputs for _, one, own in tried):
            key = (id(inputs), coded.candidate.warp)  # other descriptors hardly change the ranges
            if key not in known:
                known[key] = quick_fit(coded, inputs, settings)
            gps = known[key]
            error = fold_error(data, coded, inputs, gps, settings.n_modes)
            tried.append((error, coded, inputs))

    def try_with(**changes: Any) -> None:
        _, coded, inputs = best()
        try_one(_code(data, replace(coded.candidate, **changes), settings, coded), inputs)

    def best() -> tuple[float, Coded, Inputs]:
        return min(tried, key=lambda one: one[0])

    warps = possible_warps(data.pool()) if settings.warps is None else settings.warps
    first = _first(data, settings, warps[0])
    if first.warp.deviation == 0 or len(data) < 2 * _FOLDS:  # nothing to choose by
        return Choice(first, kernels[0], [])
    try_one(first, kernels[0])
    for name, recipe in settings.recipes.items():
        for length in RANGES:
            try_with(name=name, recipe=recipe, length=length)
    for warp in warps[1:]:
        try_with(warp=warp)
    for shrinkage in SHRINKAGES if settings.recipes else ():
        try_with(shrinkage=shrinkage)
    for inputs in kernels[1:]:
        try_one(best()[1], inputs)
    chosen = best()
    rows = [_row(data, *one, chosen=one is chosen) for one in tried]
    return Choice(chosen[1], chosen[2], rows)


def _first(data: FieldData, settings: Settings, warp: str) -> Coded:
    if not settings.recipes:
        return code_nodes(data, warp)
    name, recipe = next(iter(settings.recipes.items()))
    # Fewer nodes than functions leave much open; coordinates of slit maps are exact enough for little shrinkage.
    few = float(np.median([len(values) for values in data.values])) <= 2 * settings.basis_size
    strong = few and "wall" not in recipe
    return _code(data, Candidate(name, recipe, RANGES[0], SHRINKAGES[-1 if strong else 0], warp), settings, None)


def _code(data: FieldData, candidate: Candidate, settings: Settings, known: Coded | None) -> Coded:
    if not settings.recipes:
        return code_nodes(data, candidate.warp)
    return code_smooth(data, settings.describer, candidate, settings.basis_size, settings.seed, False, known)


def _row(data: FieldData, error: float, coded: Coded, inputs: Inputs, *, chosen: bool) -> dict[str, Any]:
    candidate = coded.candidate
    return {
        "field": data.kind.name,
        "kernel": inputs.member.name,
        "descriptors": candidate.name,
        "range": candidate.length,
        "shrinkage": candidate.shrinkage,
        "warp": candidate.warp,
        "rrmse": error,
        "chosen": chosen,
    }


def fold_error(data: FieldData, coded: Coded, inputs: Inputs, gps: Sequence[RobustGP], n_modes: int) -> float:
    """Return the relative error of training meshes from folds without them, ranges fixed."""
    scores, truth = [], data.truth()
    for train, out in folds_of(len(data), inputs.seed + 1, _FOLDS):
        modes, sizes = coded.encoded.modes(train, n_modes)
        found = inputs.refit(gps, sizes, train, out, pair_of_groups(modes.number)[: len(gps)])
        found = np.pad(found, ((0, 0), (0, max(modes.number - found.shape[1], 0))))
        for a, row in zip(found, out, strict=True):
            if np.isfinite(truth[row]).any():
                scores.append(mesh_score(truth[row], coded.warp.inverse(coded.field_at(data, row, modes, a))))
    return pooled(scores).rrmse


def quick_fit(coded: Coded, inputs: Inputs, settings: Settings) -> list[RobustGP]:
    """Fit two processes to all rows: of the leading modes and of the others."""
    rows = np.arange(inputs.among()[0].shape[0])
    modes, sizes = coded.encoded.modes(rows, settings.n_modes)
    return inputs.fit(sizes, groups=pair_of_groups(modes.number), on_fit=settings.on_fit)
