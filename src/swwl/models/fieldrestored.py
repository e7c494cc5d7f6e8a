"""A model of fields that was read from a file, tried before anyone uses it: here is found what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from swwl.errors import InputError
from swwl.models.fieldmodel import FieldModel
from swwl.models.fieldtraining import check_options
from swwl.models.restored import predict_first
from swwl.restore import Sizes, check_number, check_texts, shown

_MOST_JOBS = 10_000
_CHOICES = {"field": str, "kernel": str, "descriptors": str, "warp": str, "chosen": bool}


def tried(model: Any) -> None:
    """Refuse a :class:`swwl.FieldRegressor` whose parts do not predict, or say what cannot be shown.

    Parameters
    ----------
    model : FieldRegressor
    """
    check_options(model)
    jobs = model.n_jobs
    if jobs is not None and not (isinstance(jobs, int) and 0 < abs(jobs) < _MOST_JOBS):
        raise InputError(f"n_jobs is {shown(jobs)}")
    check_texts("inputs", model.feature_names_in_.tolist())
    if not isinstance(model.metadata_, dict):
        raise InputError(f"metadata is {shown(model.metadata_)}")
    for row in model._choices:
        _check_choice(row)
    for name, scores in model._scores.items():
        if name not in model.models_ or not isinstance(scores, dict):
            raise InputError(f"scores of {shown(name)} are {shown(scores)}")
        for key, value in scores.items():
            check_number(f"{key} of {name}", value, 0.0 if key == "worst" else -np.inf)
    for one in model.models_.values():
        _try(one)


def _check_choice(row: Any) -> None:
    good = isinstance(row, dict) and all(
        row.get(name) is None or isinstance(row[name], kind) for name, kind in _CHOICES.items()
    )
    if not good:
        raise InputError(f"a choice is {shown(row)}")
    for name in ("range", "shrinkage", "rrmse"):
        value = row.get(name)
        if value is not None and value == value:  # NaN: there was nothing to choose
            check_number(f"{name} of a choice", value)


def _try(one: FieldModel) -> None:
    """Predict the first training row of the processes, and a field at a few places."""
    kind = one.kind
    if not (isinstance(kind.name, str) and isinstance(kind.flat, bool) and isinstance(kind.on_cells, bool)):
        raise InputError(f"the kind of a field is {shown(vars(kind))}")
    if kind.flat and kind.components != 1:
        raise InputError(f"{kind.name} has {kind.components} components, but one is wanted")
    for name, weight in one.recipe.items():
        check_number(f"weight of {name}", weight)
    predict_first(one.member, 0)
    n = one.modes.mean.shape[1] if one.basis is None else 1
    descriptors = None if one.basis is None else one.basis.centers[:1]
    zero = np.zeros(one.modes.number)
    y, sd = one.at_nodes(descriptors, n, zero, zero)
    found = [one.warp.inverse(y), one.deviation(y, sd), *one.bounds(y, sd, 0.95)]
    Sizes().array("a predicted field", np.ravel(found), "p")
