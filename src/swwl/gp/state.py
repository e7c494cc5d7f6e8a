"""A fitted model as a flat dict of arrays and plain values, and back: what a model file stores."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from swwl.gp.posterior import Posterior, RangeUncertainty

_PREFIX = "uncertainty_"


def model_to_state(gp) -> dict[str, Any]:
    """Collect the state of a fitted `RobustGP`."""
    state = posterior_to_state(gp._posterior)
    for i, (values, centre) in gp._coordinates.items():
        state[f"coordinates_{i}"], state[f"centre_{i}"] = values, centre
    state["params"] = {name: _plain(value) for name, value in gp.get_params(deep=False).items()}
    state["single"] = gp._single
    state["log_posterior"] = float(gp.log_posterior_)
    state["importance"] = gp.importance_
    state["n_evaluations"] = gp.n_evaluations_
    return state


def _plain(value):
    """Turn arrays, tuples and NumPy numbers into what JSON takes."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def params_from_state(params: dict[str, Any]) -> dict[str, Any]:
    """Return constructor arguments; a power correlation is a tuple again."""
    correlations = [c if isinstance(c, str) else tuple(c) for c in params["correlations"]]
    return params | {"correlations": correlations}


def coordinates_from_state(state: dict[str, Any]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return place -> (centred training coordinates, centre) of every group of coordinates."""
    return {
        i: (np.ascontiguousarray(state[f"coordinates_{i}"]), np.ascontiguousarray(state[f"centre_{i}"]))
        for i in range(len(state["params"]["correlations"]))
        if f"coordinates_{i}" in state
    }


def posterior_to_state(posterior: Posterior) -> dict[str, Any]:
    """Return the fields of a posterior, those of its range uncertainty under a prefix."""
    state = {f.name: getattr(posterior, f.name) for f in fields(Posterior) if f.name != "uncertainty"}
    if posterior.uncertainty is not None:
        extra = posterior.uncertainty
        state |= {_PREFIX + f.name: getattr(extra, f.name) for f in fields(RangeUncertainty)}
    return state


def posterior_from_state(state: dict[str, Any]) -> Posterior:
    """Undo `posterior_to_state`; entries of other names are ignored."""
    known: dict[str, Any] = {}
    for f in fields(Posterior):
        if f.name in ("nugget", "df"):
            known[f.name] = float(state[f.name])
        elif f.name != "uncertainty":
            # memory order decides which BLAS routine runs, so it is part of "bit for bit"
            known[f.name] = np.ascontiguousarray(state[f.name], dtype=float)
    if _PREFIX + "covariance" in state:
        extra = {f.name: np.ascontiguousarray(state[_PREFIX + f.name]) for f in fields(RangeUncertainty)}
        known["uncertainty"] = RangeUncertainty(**extra)
    return Posterior(**known)
