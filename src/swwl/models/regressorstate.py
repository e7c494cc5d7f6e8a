"""A fitted regressor as arrays, factors and plain values, and back: what a model file stores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from swwl.gp.prediction import Prediction
from swwl.models.members import Member, columns_of
from swwl.models.processes import Layout
from swwl.models.restored import checked
from swwl.models.selection import selection_table
from swwl.models.trend import trend_factors


def regressor_state(model: Any) -> dict[str, Any]:
    """Collect the state of a fitted :class:`swwl.RobustGPRegressor`."""
    params = model.get_params(deep=False)
    params.pop("kernel")
    left_out = model._left_out
    return {
        "params": params,
        "given": model.kernel is not None,
        "members": [member.state() for member in model.members_],
        "weights": model.weights_.to_numpy(),
        "trend": model._trend if model.trend != "linear" else None,
        "n_features": model.n_features_in_,
        "targets": model.target_names_,
        "single": model._layout.single,
        "calibration": model.calibration_.tolist(),
        "selection": model.selection_.to_dict("records"),
        "candidates": model.candidates_.to_dict("records"),
        "left_out": None if left_out is None else {"mean": left_out.mean, "scale": left_out.scale, "df": left_out.df},
        "metadata": model.metadata_,
    }


def regressor_from_state(kind: Any, state: dict[str, Any]) -> Any:
    """Undo :func:`regressor_state`."""
    if "members" not in state:
        state = state | single_member(state)
    members = [Member.from_state(member) for member in state["members"]]
    kernels = {member.name: clone(member.kernel) for member in members}
    given = kernels if len(kernels) > 1 else kernels[members[0].name]
    model = kind(given if state["given"] else None, **state["params"])
    model.members_ = members
    model.feature_names_in_ = columns_of(kernels)
    model.n_features_in_ = int(state.get("n_features", len(model.feature_names_in_)))
    model.target_names_ = state["targets"]
    model.selection_ = selection_table(state["selection"])
    model.candidates_ = pd.DataFrame(state["candidates"])
    model.train_targets_ = np.column_stack([gp._posterior.y for gp in members[0].gps])
    model.weights_ = pd.DataFrame(state["weights"], index=list(kernels), columns=model.target_names_)
    model._layout = Layout(model.target_names_, state["single"], model.share_ranges)
    model.calibration_ = pd.Series(state["calibration"], index=model.target_names_)
    model._left_out = None if state["left_out"] is None else Prediction(**state["left_out"])
    model.metadata_ = dict(state["metadata"])
    linear = trend_factors(model.trend, members[0].kernel.factors) if model.trend == "linear" else []
    model._trend = linear if state["trend"] is None else state["trend"]
    checked(model)._describe()
    return model


def single_member(state: dict[str, Any]) -> dict[str, Any]:
    """Return what a model file of one kernel, as it was before there were members, says in today's words."""
    member = {
        "name": "kernel",
        "factors": state["fitted_kernel"],
        "elliptic": state.get("elliptic"),
        "train": state["train"],
        "gps": state["gps"],
        "shares": np.empty((0, 0)),
    }
    return {
        "given": state["kernel"] is not None,
        "members": [member],
        "weights": np.ones((1, len(state["targets"]))),
        "candidates": [],
        "left_out": None,
    }
