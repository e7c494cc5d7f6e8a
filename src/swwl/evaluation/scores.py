r"""How good predictions are, and whether their intervals can be believed: numbers for a fitted regressor.

Predictions and leave-one-out predictions have the same form here, arrays of shape (M, k) for k targets, so that
``plots/``, ``report.py`` and the command line treat them alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.gp import LeaveOneOut
from swwl.gp.posterior import to_std
from swwl.kernels.base import Progress
from swwl.kernels.numeric import Numeric
from swwl.models.regression import RobustGPRegressor

Prediction = LeaveOneOut
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


class Score(NamedTuple):
    r"""The accuracy of predictions of one target.

    Attributes
    ----------
    n : int
        Number of cases.
    rmse : float
        Root of the mean squared error, in the units of the target.
    q2 : float
        :math:`1 - \sum (y - \hat y)^2 / \sum (y - \bar y)^2`: one is perfect, zero no better than the mean.
    coverage : float
        Share of cases inside their 95 % intervals.
    width : float
        Mean width of these intervals.
    """

    n: int
    rmse: float
    q2: float
    coverage: float
    width: float


def score(y: NDArray, prediction: Prediction) -> Score:
    """Compare one target (M,) with its predictions.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> prediction = Prediction(y + [0.1, -0.1, 0.1, -0.1], np.full(4, 0.2), np.full(4, 0.2), np.inf)
    >>> round(score(y, prediction).rmse, 6), score(y, prediction).coverage
    (0.1, 1.0)
    """
    error = y - prediction.mean
    lower, upper = prediction.interval(0.95)
    spread = float(((y - y.mean()) ** 2).sum())
    return Score(
        len(y),
        float(np.sqrt((error**2).mean())),
        1 - float((error**2).sum()) / spread if spread > 0 else float("nan"),
        float(((lower <= y) & (y <= upper)).mean()),
        float((upper - lower).mean()),
    )


def coverages(y: NDArray, prediction: Prediction, levels: Any = LEVELS) -> NDArray[np.float64]:
    """Return the share of cases inside their intervals, for each level."""
    bounds = [prediction.interval(level) for level in levels]
    return np.array([((lower <= y) & (y <= upper)).mean() for lower, upper in bounds])


def column_of(prediction: Prediction, k: int) -> Prediction:
    """Return the predictions of target k, arrays of shape (M,)."""
    return Prediction(prediction.mean[:, k], prediction.std[:, k], prediction.scale[:, k], prediction.df)


def predict_all(model: RobustGPRegressor, table: Any, progress: Progress | None = None) -> Prediction:
    """Predict new observations with all that is known about them, arrays of shape (M, k).

    Graphs are embedded once, where ``predict`` and ``predict_interval`` would each do it.
    """
    mean, std = model.predict(table, return_std=True, progress=progress)
    k = len(model.target_names_)
    return prediction_of(mean.reshape(-1, k), std.reshape(-1, k), float(model.gps_[0].df_))


def prediction_of(mean: NDArray, std: NDArray, df: float) -> Prediction:
    """Put means and standard deviations together with the degrees of freedom that make them intervals."""
    return Prediction(mean, std, std / to_std(np.ones(1), df)[0], df)


def left_out(model: RobustGPRegressor) -> Prediction:
    """Predict every training row from all others, arrays of shape (N, k)."""
    loo = model.leave_one_out()
    k = len(model.target_names_)
    return Prediction(loo.mean.reshape(-1, k), loo.std.reshape(-1, k), loo.scale.reshape(-1, k), loo.df)


def training_targets(model: RobustGPRegressor) -> NDArray[np.float64]:
    """Return the targets that a model was fitted to, (N, k)."""
    return np.column_stack([gp._posterior.y for gp in model.gps_])


def training_inputs(model: RobustGPRegressor) -> pd.DataFrame:
    """Return the numeric columns that a model was fitted to, in their own units."""
    return pd.DataFrame(
        {
            factor.column: rows * factor.spread_ + factor.mean_
            for factor, rows in zip(model.kernel_.factors, model._train, strict=True)
            if isinstance(factor, Numeric)
        }
    )


def importance_table(model: RobustGPRegressor) -> pd.DataFrame:
    """Return the importance of every range (rows) for every target (columns)."""
    return _as_frame(model.importance_, model)


def range_table(model: RobustGPRegressor) -> pd.DataFrame:
    """Return every range (rows) for every target (columns)."""
    return _as_frame(model.ranges_, model)


def _as_frame(values: Any, model: RobustGPRegressor) -> pd.DataFrame:
    frame = values.to_frame() if isinstance(values, pd.Series) else values
    return frame if frame.shape[1] == len(model.target_names_) else frame.set_axis(["all targets"], axis=1)


def held_out_of(model: RobustGPRegressor) -> tuple[NDArray, Prediction] | None:
    """Return held-out targets (M, k) and their predictions from a model's metadata, or None."""
    data = model.metadata_.get("held_out")
    if not data:
        return None
    prediction = prediction_of(np.array(data["mean"]), np.array(data["std"]), float(data["df"]))
    return np.array(data["targets"]), prediction


def score_rows(model: RobustGPRegressor) -> list[dict[str, Any]]:
    """Return one row per target and kind of test: on left-out and, where there are any, on held-out cases."""
    kinds = [("leave-one-out", training_targets(model), left_out(model))]
    held_out = held_out_of(model)
    if held_out is not None:
        kinds.append(("held-out rows", *held_out))
    return [
        {"target": name, "test": kind} | score(y[:, k], column_of(prediction, k))._asdict()
        for k, name in enumerate(model.target_names_)
        for kind, y, prediction in kinds
    ]
