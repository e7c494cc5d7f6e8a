"""A fitted model as a flat dict of arrays and plain values, and back: what a model file stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swwl.errors import InputError
from swwl.gp.inputs import Centered, TrainingInputs, check_correlations
from swwl.gp.solvers import get_solver
from swwl.storage.checks import Sizes, check_count, check_number, shown

if TYPE_CHECKING:
    from swwl.gp.estimator import RobustGP


def model_to_state(gp: RobustGP) -> dict[str, Any]:
    """Collect the state of a fitted `RobustGP`."""
    state = gp._posterior.state()
    for i, group in gp._inputs.coordinates.items():
        state[f"coordinates_{i}"], state[f"center_{i}"] = group.values, group.center
    for i, layout in enumerate(gp._inputs.layouts):
        if len(layout) > 1:  # a single part is known by its coordinates, or by their absence
            state[f"layout_{i}"] = np.array(layout)
    state["params"] = {name: _plain(value) for name, value in gp.get_params(deep=False).items()}
    state["single"] = gp._single
    state["log_posterior"] = float(gp.log_posterior_)
    state["importance"] = gp.importance_
    state["n_evaluations"] = gp.n_evaluations_
    return state


def _plain(value: Any) -> Any:
    """Turn arrays, tuples and NumPy numbers into what JSON takes."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def model_from_state(kind: type[RobustGP], state: dict[str, Any]) -> RobustGP:
    """Undo `model_to_state`."""
    params = state["params"]
    # JSON has no tuples: a power correlation becomes one again
    correlations = [c if isinstance(c, str) else tuple(c) for c in params["correlations"]]
    gp = kind(**params | {"correlations": correlations})
    gp.log_posterior_ = check_number("log_posterior", state["log_posterior"])
    gp.n_evaluations_ = check_count("n_evaluations", state["n_evaluations"])
    posterior = get_solver(gp.solver).restore(state)
    gp.importance_ = Sizes(p=len(posterior.beta)).array("importance", state["importance"], "p")
    coordinates = coordinates_from_state(state)
    layouts = layouts_from_state(state, coordinates)
    known = check_correlations(correlations)
    inputs = TrainingInputs(known, coordinates, layouts, len(posterior.y), gp.trend, gp.names)
    for i, group in coordinates.items():
        sizes = Sizes(n=len(posterior.y))
        sizes.array(f"coordinates_{i}", group.values, "nd")
        sizes.array(f"center_{i}", group.center, "d")
        if sum(layouts[i]) != sizes["d"]:
            raise InputError(f"layout_{i} is {layouts[i]}, but there are {sizes['d']} coordinates")
    if inputs.range_slices and inputs.range_slices[-1].stop != len(posterior.beta):
        raise InputError(f"beta has {len(posterior.beta)} entries, but {inputs.range_slices[-1].stop} are wanted")
    if not isinstance(state["single"], bool) or state["single"] and posterior.y.shape[1] != 1:
        raise InputError(f"single is {shown(state['single'])}, but there are {posterior.y.shape[1]} targets")
    gp._adopt(posterior, inputs, state["single"], solver=None)
    return gp


def coordinates_from_state(state: dict[str, Any]) -> dict[int, Centered]:
    """Return place -> centered training coordinates of every factor that has any."""
    groups = {}
    for i in range(len(state["params"]["correlations"])):
        if f"coordinates_{i}" in state:
            # files of format 1 spell it "centre"  codespell:ignore centre
            center = state[f"center_{i}"] if f"center_{i}" in state else state[f"centre_{i}"]
            groups[i] = Centered(np.ascontiguousarray(state[f"coordinates_{i}"]), np.ascontiguousarray(center))
    return groups


def layouts_from_state(state: dict[str, Any], coordinates: dict[int, Centered]) -> list[tuple[int, ...]]:
    """Return what every factor is made of, see `swwl.gp.joint.layout_of`."""
    layouts: list[tuple[int, ...]] = []
    for i in range(len(state["params"]["correlations"])):
        single = (coordinates[i].values.shape[1] if i in coordinates else 0,)
        layouts.append(tuple(np.asarray(state[f"layout_{i}"]).tolist()) if f"layout_{i}" in state else single)
    return layouts
