"""A fitted model as a flat dict of arrays and plain values, and back: what a model file stores."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.formatting import Record
from swwl.gp.inputs import Centered, TrainingInputs, check_correlations
from swwl.gp.solvers import get_solver
from swwl.gp.solvers.base import Posterior
from swwl.storage.checks import Array, Count, Shape, contiguous, restored


class ProcessState(msgspec.Struct):
    """What a state holds besides the posterior and what is told of every factor; ``params`` are the constructor's."""

    params: Record
    single: bool
    log_posterior: float
    importance: Annotated[Array, Shape("p")]
    n_evaluations: Count


class _Factor(msgspec.Struct):
    """What a state holds of one factor, under these names and its number; a layout where it has several parts."""

    coordinates: Annotated[Array, Shape("nd")] | None = None
    center: Annotated[Array, Shape("d")] | None = None
    layout: Annotated[NDArray[np.intp], Shape("l", "iu", least=0)] | None = None


def model_to_state(posterior: Posterior, inputs: TrainingInputs, process: ProcessState) -> Record:
    """Collect the state of a fitted `RobustGP`."""
    state = posterior.state()
    for i, group in inputs.coordinates.items():
        state[f"coordinates_{i}"], state[f"center_{i}"] = group.values, group.center
    for i, layout in enumerate(inputs.layouts):
        if len(layout) > 1:  # a single part is known by its coordinates, or by their absence
            state[f"layout_{i}"] = np.array(layout)
    return state | msgspec.structs.asdict(process) | {"params": _plain(process.params)}


def _plain(value: Any) -> Any:
    """Turn arrays, tuples and NumPy numbers into what JSON takes."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def model_from_state(state: Record) -> tuple[Posterior, TrainingInputs, ProcessState]:
    """Undo `model_to_state`."""
    process = restored(ProcessState, state)
    params = process.params
    # JSON has no tuples: a power correlation becomes one again
    params["correlations"] = [c if isinstance(c, str) else tuple(c) for c in params["correlations"]]
    posterior = get_solver(params["solver"]).restore(state)
    n, k = posterior.y.shape
    correlations = check_correlations(params["correlations"])
    coordinates, layouts = _factors_from_state(contiguous(state), len(correlations), n)
    inputs = TrainingInputs(correlations, coordinates, layouts, n, params["trend"], params["names"])
    p = inputs.range_slices[-1].stop if inputs.range_slices else len(posterior.beta)
    if not len(posterior.beta) == len(process.importance) == p:
        sizes = f"{len(posterior.beta)} and {len(process.importance)}"
        raise InputError(f"beta and importance have {sizes} entries, but {p} are expected")
    if process.single and k != 1:
        raise InputError(f"single is true, but there are {k} targets")
    return posterior, inputs, process


def _factors_from_state(state: Record, number: int, n: int) -> tuple[dict[int, Centered], list[tuple[int, ...]]]:
    """Return the centered training coordinates of every factor that has any, and what every factor is made of.

    See `swwl.gp.joint.layout_of` for the latter.
    """
    coordinates: dict[int, Centered] = {}
    layouts: list[tuple[int, ...]] = []
    for i in range(number):
        own = {name: state.get(f"{name}_{i}") for name in ("coordinates", "center", "layout")}
        with located(f"factor {i}"):
            found = restored(_Factor, own, n=n)
        d = 0
        if found.coordinates is not None and found.center is not None:
            coordinates[i] = Centered(found.coordinates, found.center)
            d = found.coordinates.shape[1]
        layouts.append((d,) if found.layout is None else tuple(found.layout.tolist()))
        if sum(layouts[-1]) != d:
            raise InputError(f"layout_{i} is {layouts[-1]}, but there are {d} coordinates")
    return coordinates, layouts
