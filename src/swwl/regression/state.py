"""A model that was read from a file, tried before anyone uses it: what does not fit together is found here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from sklearn.base import clone

from swwl.errors import InputError
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor
from swwl.regression.fit import selection_table
from swwl.regression.stack import Layout, Member, Stack, check_trend, columns_of, trend_factors
from swwl.storage.checks import Sizes, check_count, check_number, check_texts, shown

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
    single, shared = model.stack_.layout.single, model.share_ranges
    if not isinstance(single, bool) or not isinstance(shared, bool):
        raise InputError(f"single is {shown(single)} and share_ranges {shown(shared)}, but true or false are wanted")
    together = shared and not single
    if len(check_texts("targets", model.target_names_)) != k or (single and k != 1):
        raise InputError(f"there are {len(model.target_names_)} names for {k} targets")
    for width in model.calibration_:
        check_number("calibration", width, above=0.0)
    check_count("n_features", model.n_features_in_)
    check_trend(model.trend)
    for name, kinds in {"column": "O", "n_components": "i", "log_posterior": "f", "chosen": "b"}.items():
        if len(model.selection_) and model.selection_[name].dtype.kind not in kinds:
            raise InputError(f"{name} of the selection holds {shown(model.selection_[name].iloc[0])}")
    check_factors(model.stack_.trend, [np.zeros(n)] * len(model.stack_.trend), n)
    weights = Sizes(m=len(model.members_), k=k).array("weights", model.weights_.to_numpy(), "mk")
    if not ((weights >= 0).all() and np.allclose(weights.sum(axis=0), 1)):
        raise InputError(f"weights are {shown(weights.tolist())}, but shares of one are wanted")
    _check_stack(model, n, k)
    for member in model.members_:
        _check_member(member, model, n, 1 if together else k)


def _check_stack(model: Any, n: int, k: int) -> None:
    """Check what a model of several members says of all of them."""
    check_texts("names of members", [member.name for member in model.members_])
    for name, kinds in {"target": "O", "candidate": "O", "weight": "f", "rmse": "f"}.items():
        if len(model.candidates_) and model.candidates_[name].dtype.kind not in kinds:
            raise InputError(f"{name} of the candidates holds {shown(model.candidates_[name].iloc[0])}")
    for name in ("target", "candidate") if len(model.candidates_) else ():
        check_texts(f"{name} of the candidates", model.candidates_[name].unique().tolist())
    if model.stack_.left_out is not None:
        sizes = Sizes(n=n, k=k)
        sizes.array("left_out", model.stack_.left_out.mean, "nk")
        sizes.array("left_out", model.stack_.left_out.scale, "nk")
        check_number("df of left_out", model.stack_.left_out.df, above=0.0)


def _check_member(member: Any, model: Any, n: int, n_processes: int) -> None:
    """Check one kernel with its processes."""
    together = model.share_ranges and not model.stack_.layout.single
    if len(member.gps) != n_processes or any(gp._single is together for gp in member.gps):
        raise InputError(f"there are {len(member.gps)} processes for {len(model.target_names_)} targets")
    if any(len(gp._posterior.y) != n for gp in member.gps):
        raise InputError(f"a process does not have {n} training rows")
    if len(model.candidates_):
        Sizes(i=len(member.kernel.columns), g=n_processes).array("shares", member.shares, "ig")
    check_factors(member.kernel.factors, member.rows, n)
    predict_first(member, len(model.stack_.trend))


def predict_first(member: Any, n_trend: int) -> None:
    """Predict the first training row, which needs all parts of a member but the meshes."""
    if any(isinstance(rows, list) for rows in member.rows):
        return  # graphs that are compared pair by pair: each pair takes long, and may need a package
    first = [tuple(part[:1] for part in rows) if isinstance(rows, tuple) else rows[:1] for rows in member.rows]
    cross, _ = member.new_blocks(first)
    trend = np.zeros((1, n_trend)) if n_trend else None
    for gp in member.gps:
        found = gp.predict_distribution(cross, trend_columns=trend)
        Sizes().array("a prediction", np.ravel([found.mean, found.scale]), "p")


def regressor_state(model: Any) -> dict[str, Any]:
    """Collect the state of a fitted :class:`swwl.RobustGPRegressor`."""
    params = model.get_params(deep=False)
    params.pop("kernel")
    left_out = model.stack_.left_out
    return {
        "params": params,
        "given": model.kernel is not None,
        "members": [member.state() for member in model.members_],
        "weights": model.weights_.to_numpy(),
        "trend": model.stack_.trend if model.trend != "linear" else None,
        "n_features": model.n_features_in_,
        "targets": model.target_names_,
        "single": model.stack_.layout.single,
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
    model.n_features_in_ = int(state.get("n_features", len(columns_of(kernels))))
    model.target_names_ = state["targets"]
    model.selection_ = selection_table(state["selection"])
    model.candidates_ = pd.DataFrame(state["candidates"])
    model.train_targets_ = np.column_stack([gp._posterior.y for gp in members[0].gps])
    linear = trend_factors(model.trend, members[0].kernel.factors) if model.trend == "linear" else []
    model.stack_ = Stack(
        members,
        pd.DataFrame(state["weights"], index=list(kernels), columns=model.target_names_),
        pd.Series(state["calibration"], index=model.target_names_),
        linear if state["trend"] is None else state["trend"],
        Layout(model.target_names_, state["single"], model.share_ranges),
        stacked=len(model.candidates_) > 0,
        left_out=None if state["left_out"] is None else Prediction(**state["left_out"]),
    )
    model.metadata_ = dict(state["metadata"])
    checked(model)
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
