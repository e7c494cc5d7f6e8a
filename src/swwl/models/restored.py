"""A model that was read from a file, tried before anyone uses it: what does not fit together is found here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from swwl.errors import InputError
from swwl.kernels.base import Factor
from swwl.models.trend import check_trend
from swwl.restore import Sizes, check_count, check_number, check_texts, shown

Model = TypeVar("Model")


def checked(model: Model) -> Model:
    """Return a regressor as it is, if its parts fit together and it predicts its first training row.

    Parameters
    ----------
    model : RobustGPRegressor
    """
    _check_regressor(model)
    return model


def check_factors(factors: Sequence[Factor], train: Any, n: int) -> None:
    """Refuse factors that are not fitted, or not to these rows.

    Parameters
    ----------
    factors : sequence of Factor
    train : list
        The training representation of each.
    n : int
        Number of training rows.
    """
    if not isinstance(train, list) or len(train) != len(factors):
        raise InputError(f"there are {len(factors)} factors, but not as many training columns")
    check_texts("columns", list(dict.fromkeys(factor.column for factor in factors)))
    for factor, rows in zip(factors, train, strict=True):
        if any(len(part) != n for part in (rows if isinstance(rows, tuple) else (rows,))):
            raise InputError(f"column {factor.column!r} does not have {n} training rows")
        factor.check_restored(rows)


def _check_regressor(model: Any) -> None:
    n, k = model.train_targets_.shape
    single, shared = model._layout.single, model.share_ranges
    if not isinstance(single, bool) or not isinstance(shared, bool):
        raise InputError(f"single is {shown(single)} and share_ranges {shown(shared)}, but true or false are wanted")
    together = shared and not single
    if len(check_texts("targets", model.target_names_)) != k or (single and k != 1):
        raise InputError(f"there are {len(model.target_names_)} names for {k} targets")
    if len(model.gps_) != (1 if together else k) or any(gp._single is together for gp in model.gps_):
        raise InputError(f"there are {len(model.gps_)} processes for {k} targets")
    for width in model.calibration_:
        check_number("calibration", width, above=0.0)
    check_count("n_features", model.n_features_in_)
    check_trend(model.trend)
    for name, kinds in {"column": "O", "n_components": "i", "log_posterior": "f", "chosen": "b"}.items():
        if len(model.selection_) and model.selection_[name].dtype.kind not in kinds:
            raise InputError(f"{name} of the selection holds {shown(model.selection_[name].iloc[0])}")
    check_factors(model.kernel_.factors, model.train_rows_, n)
    check_factors(model._trend, [np.zeros(n)] * len(model._trend), n)
    _predict_first(model)


def _predict_first(model: Any) -> None:
    """Predict the first training row, which needs all parts of a model but the meshes."""
    train, factors = model.train_rows_, model.kernel_.factors
    if any(isinstance(rows, list) for rows in train):
        return  # graphs that are compared pair by pair: each pair takes long, and may need a package
    first = [tuple(part[:1] for part in rows) if isinstance(rows, tuple) else rows[:1] for rows in train]
    groups = [factor.new_blocks(*pair) for factor, *pair in zip(factors, first, train, strict=True)]
    trend = np.zeros((1, len(model._trend))) if model._trend else None
    for gp in model.gps_:
        found = gp.predict_distribution(model.kernel_.join(groups), trend_columns=trend)
        Sizes().array("a prediction", np.ravel([found.mean, found.scale]), "p")
