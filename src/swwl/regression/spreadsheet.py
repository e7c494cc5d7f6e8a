"""What a spreadsheet would give: linear and boosted models on the numbers of a table and simple numbers of its parts.

A model that does no better than these is not worth its time, and its user should know. They are scored by folds, as the
model itself is.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from swwl.gp.folds import shuffled_folds

Array = NDArray[np.float64]

_FOLDS = 5
_PENALTIES = np.logspace(-4, 4, 17)
MODELS = ("linear", "boosted")


def spreadsheet_errors(columns: Array, targets: Array, names: list[str], seed: int = 0) -> pd.DataFrame:
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
            for train, test in shuffled_folds(len(y), _FOLDS, seed):
                mean[test] = _make(model, seed).fit(columns[train], y[train]).predict(columns[test])
            rows.append({"target": name, "model": model, "rmse": float(np.sqrt(np.mean((y - mean) ** 2)))})
    return pd.DataFrame(rows)


def _make(model: str, seed: int) -> Pipeline:
    if model == "linear":
        return make_pipeline(StandardScaler(), RidgeCV(_PENALTIES))
    trees = GradientBoostingRegressor(subsample=0.7, max_features=0.5, min_samples_leaf=3, random_state=seed)
    return make_pipeline(trees)
