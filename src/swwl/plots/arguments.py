"""What displays are made from: a target of a model, truths and predictions, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.gp.prediction import Prediction
from swwl.regression.estimator import RobustGPRegressor
from swwl.tables.inputs import as_table, column


def pick_target(estimator: RobustGPRegressor, target: str | None) -> int:
    """Return the number of a target by its name; the first by default."""
    names = list(estimator.target_names_)
    if target is None:
        return 0
    if target not in names:
        raise InputError(f"The model has no target {target!r}; its targets are {', '.join(names)}.")
    return names.index(target)


def as_prediction(y_pred: Prediction | ArrayLike, std: ArrayLike | None = None) -> Prediction:
    """Return predictions of one target, arrays of shape (M,): as they are, or of means and standard deviations.

    Examples
    --------
    >>> as_prediction([1.0, 2.0], std=[0.1, 0.1]).df
    inf
    """
    if isinstance(y_pred, Prediction):
        if y_pred.columns().mean.shape[1] != 1:
            raise InputError(
                f"y_pred holds {y_pred.columns().mean.shape[1]} targets, but one is drawn: "
                f"take one with y_pred.column(k)."
            )
        return y_pred.column(0)
    if std is None:
        raise InputError("y_pred must be a Prediction, or come with its standard deviations: std=….")
    mean = np.asarray(y_pred, dtype=np.float64)
    deviation = np.asarray(std, dtype=np.float64)
    if mean.ndim != 1 or deviation.shape not in ((), mean.shape):
        raise InputError(f"y_pred has shape {mean.shape} and std {deviation.shape}, but both must be (M,).")
    return Prediction(mean, np.broadcast_to(deviation, mean.shape).copy(), np.inf)


def as_truth(y_true: ArrayLike, prediction: Prediction) -> NDArray[np.float64]:
    """Return the truth, shape (M,): one number for each prediction."""
    y = np.asarray(y_true, dtype=np.float64)
    if y.shape != prediction.mean.shape:
        raise InputError(f"y_true has shape {y.shape}, but there are {len(prediction)} predictions.")
    return y


def predicted(
    estimator: RobustGPRegressor, X: Any, y: Any, target: str | None
) -> tuple[NDArray[np.float64], Prediction, str]:
    """Return the truth (M,), its predictions and the name of a target, for a table.

    Parameters
    ----------
    estimator : RobustGPRegressor
    X : DataFrame, list of graphs or array
    y : str, Series, DataFrame or array of shape (M,) or (M, k)
        The truth, or the name of its column in ``X``.
    target : str or None
        Which of several targets; by default the one that ``y`` names, or the first.
    """
    names = list(estimator.target_names_)
    if isinstance(y, str):
        target = y if target is None and y in names else target
        y = column(as_table(X), y, "y")
    elif target is None and isinstance(y, pd.Series) and y.name in names:
        target = str(y.name)
    k = pick_target(estimator, target)
    if isinstance(y, pd.DataFrame) and names[k] in y.columns:
        y = y[names[k]]
    truth = np.asarray(y, dtype=np.float64)
    if truth.ndim == 2 and truth.shape[1] == len(names):
        truth = truth[:, k]
    prediction = estimator.predict_distribution(X).column(k)
    return as_truth(truth, prediction), prediction, names[k]


def left_out(estimator: RobustGPRegressor, target: str | None) -> tuple[NDArray[np.float64], Prediction, str]:
    """Return the training targets (N,), their leave-one-out predictions and the name of a target."""
    k = pick_target(estimator, target)
    y = estimator.train_targets_[:, k]
    known = np.isfinite(y)
    return y[known], estimator.leave_one_out().column(k).take(known), estimator.target_names_[k]
