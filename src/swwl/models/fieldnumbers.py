"""Numbers derived from a field, judged on meshes that folds left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from swwl.fields.derived import NAMES, numbers_of
from swwl.fields.modes import Modes
from swwl.fields.numbererrors import NumberErrors
from swwl.models.fieldcoding import Coded, FieldData
from swwl.models.fieldmodel import FieldModel

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

_DRAWS = 100


@dataclass(frozen=True)
class Fold:
    """What a fold predicts of the meshes that were not in it.

    Attributes
    ----------
    rows : ndarray of int
        Meshes that were left out.
    modes : Modes
    mean, std : ndarray of shape (rows, K)
        Of the sizes of modes.
    """

    rows: Rows
    modes: Modes
    mean: Array
    std: Array


def judge_numbers(
    data: FieldData, coded: Coded, model: FieldModel, folds: Sequence[Fold], seed: int
) -> dict[str, NumberErrors]:
    """Return the errors of all derived numbers that this field has, by name.

    Parameters
    ----------
    data : FieldData
    coded : Coded
    model : FieldModel
        Whose truncation and widths samples have; its modes are those of the folds.
    folds : sequence of Fold
        Together they leave out every mesh once.
    seed : int
    """
    normals = data.kind.components == 1 and all(shares.shape[1] > 1 for shares in data.shares)
    found: dict[str, list[tuple[Array, Array, Array]]] = {name: [] for name in NAMES if name != "force" or normals}
    for fold in folds:
        own = replace(model, modes=fold.modes)
        for row, mean, std in zip(fold.rows, fold.mean, fold.std, strict=True):
            nodes = data.scored[row]
            n = len(data.values[row]) if coded.basis is None else len(nodes)
            rng = np.random.default_rng([seed, int(row)])
            drawn = model.warp.inverse(own.draw(coded.descriptors(data, row, nodes), n, mean, std, _DRAWS, rng))
            drawn = drawn[:, nodes] if coded.basis is None else drawn
            truth = data.values[row][nodes]
            known = np.isfinite(truth).all(axis=1)
            if not known.any():
                continue
            for name, judged in found.items():
                true, some = (
                    numbers_of(name, part[:, known], data.shares[row][known]) for part in (truth[None], drawn)
                )
                judged.append((true[0], some.mean(axis=0), some.std(axis=0)))
    return {name: NumberErrors.of(*map(np.array, zip(*judged, strict=True))) for name, judged in found.items()}
