"""What a spreadsheet would give: linear and boosted models on the numbers of a table and simple numbers of its parts.

A model that does no better than these is not worth its time, and its user should know. They are scored by folds, as the
model itself is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.verdict import Representation
from swwl.gp.folds import shuffled_folds
from swwl.kernels import PartMeasures
from swwl.kernels.base import Factor

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Array = NDArray[np.float64]

_FOLDS = 5
# Numbers of a mesh whose kernels have no simple ones: its leading components.
_MOST_NUMBERS = 16
_PENALTIES = np.logspace(-4, 4, 17)
MODELS = ("linear", "boosted")
FEWEST_ROWS, MOST_ROWS = 10, 3000


def plain_columns(factors: Sequence[Factor], rows: Sequence[Representation]) -> Array:
    """Return plain numbers of all training rows, (N, d): numbers, categories as zeros and ones, sizes of parts.

    Parameters
    ----------
    factors : sequence of Factor
        Fitted.
    rows : sequence
        What they made of the training columns.
    """
    found: dict[tuple[str, bool], Array] = {}
    for factor, own in zip(factors, rows, strict=True):
        numbers = factor.numbers(own)
        key = (str(factor.column), isinstance(factor, PartMeasures))
        if numbers is not None:
            found[key] = numbers[:, None]
        elif factor.takes == "categories":
            found[key] = (np.asarray(own)[:, None] == np.unique(own)).astype(float)
        elif (vectors := factor.vectors(own)) is not None and key not in found:
            found[key] = np.asarray(vectors if key[1] else vectors[:, :_MOST_NUMBERS], dtype=float)
    # Sizes of a part stand for its mesh where they are known.
    chosen = [part for (name, measures), part in found.items() if measures or (name, True) not in found]
    return np.hstack(chosen) if chosen else np.empty((len(rows[0]), 0))


def spreadsheet_errors(
    columns: Array, targets: Array, names: list[str], seed: int = 0, same: NDArray[np.intp] | None = None
) -> pd.DataFrame:
    """Return the root mean square errors of rows left out of five folds.

    Parameters
    ----------
    columns : ndarray of shape (N, d)
        Plain numbers; at least ten rows.
    targets : ndarray of shape (N, k)
    names : list of str
        Of the targets.
    seed : int
        Of folds and trees.
    same : ndarray of int, shape (N,), optional
        Which rows have the same inputs.

    Returns
    -------
    DataFrame
        ``target``, ``model`` ("linear" or "boosted") and ``rmse``.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> found = spreadsheet_errors(x, 3 * x, ["y"])
    >>> found["model"].tolist(), bool(found["rmse"][0] < 0.01)
    (['linear', 'boosted'], True)
    """
    rows = []
    for k, name in enumerate(names):
        y = targets[:, k]
        for model in MODELS:
            mean = np.empty(len(y))
            for train, test in shuffled_folds(len(y), _FOLDS, seed, same):
                mean[test] = _make(model, seed).fit(columns[train], y[train]).predict(columns[test])
            rows.append({"target": name, "model": model, "rmse": float(np.sqrt(np.mean((y - mean) ** 2)))})
    return pd.DataFrame(rows)


def _make(model: str, seed: int) -> Pipeline:
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if model == "linear":
        return make_pipeline(StandardScaler(), RidgeCV(_PENALTIES))
    trees = GradientBoostingRegressor(subsample=0.7, max_features=0.5, min_samples_leaf=3, random_state=seed)
    return make_pipeline(trees)
