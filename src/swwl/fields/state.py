"""A fitted field regressor as arrays, factors and plain values, and back: what a model file stores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from swwl.errors import InputError
from swwl.fields.geometry.descriptors import Describer, n_factors
from swwl.fields.model import LEVELS, FieldModel, MeshNodes
from swwl.fields.modes import FieldModes, SmoothBasis
from swwl.fields.numbers import NAMES, NumberErrors
from swwl.fields.training import Geometry, check_options
from swwl.fields.values import WARPS, FieldKind, Warp
from swwl.regression.stack import Member
from swwl.regression.state import check_factors, predict_first
from swwl.storage.checks import Sizes, check_count, check_number, check_texts, shown

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
    y, sd = one.at_nodes(MeshNodes(n, one.basis, descriptors), zero, zero)
    found = [one.warp.inverse(y), one.deviation(y, sd), *one.bounds(y, sd, 0.95)]
    Sizes().array("a predicted field", np.ravel(found), "p")


def field_state(model: Any) -> dict[str, Any]:
    """Collect the state of a fitted :class:`swwl.FieldRegressor`."""
    params = model.get_params(deep=False)
    params.pop("kernel")
    geometry = model._geometry
    return {
        "params": params,
        "given": model.kernel is not None,
        "mesh_column": model.mesh_column_,
        "n_features": model.n_features_in_,
        "common": geometry.common,
        "cells": geometry.cells,
        "describer": {**vars(geometry.describer)},
        "fields": [_one_state(field) for field in model.models_.values()],
        "choices": model._choices,
        "scores": model._scores,
        "metadata": model.metadata_,
    }


def _one_state(field: FieldModel) -> dict[str, Any]:
    basis = field.basis
    return {
        "kind": {**vars(field.kind)},
        "warp": {**vars(field.warp)},
        "recipe": field.recipe,
        "centers": None if basis is None else basis.centers,
        "range": None if basis is None else basis.range,
        "modes": {**vars(field.modes)},
        "member": field.member.state(),
        "truncation": field.truncation,
        "widths": field.widths,
        "numbers": {name: {**vars(errors)} for name, errors in field.numbers.items()},
    }


def fields_from_state(kind: Any, state: dict[str, Any]) -> Any:
    """Make a regressor of the class ``kind`` again of :func:`field_state`."""
    models = [_one_from_state(part) for part in state["fields"]]
    check_texts("fields", [model.kind.name for model in models])
    kernels = {model.member.name: clone(model.member.kernel) for model in models}
    given = next(iter(kernels.values())) if len(kernels) == 1 else kernels
    model = kind(given if state["given"] else None, **state["params"])
    described = state["describer"]
    describer = Describer(
        check_count("dimension", described["dimension"]),
        check_number("diagonal", described["diagonal"], above=0.0),
        bool(described["normals"]),
        None if described["bodies"] is None else Sizes(f=4).array("bodies", described["bodies"], "kf"),
        {name: (Sizes().array("mean", mean, "s"), check_number("deviation", spread, above=0.0))
         for name, (mean, spread) in described["scales"].items()},
    )  # fmt: skip
    model._geometry = Geometry(describer, bool(state["common"]), Sizes().array("cells", state["cells"], "c", "u"))
    model.mesh_column_ = str(state["mesh_column"])
    model.models_ = {one.kind.name: one for one in models}
    model._choices, model._scores = list(state["choices"]), dict(state["scores"])
    model.metadata_ = dict(state["metadata"])
    for one in models:
        _check(one, describer)
    model._describe(check_count("n_features", state["n_features"]))
    tried(model)
    return model


def _one_from_state(state: dict[str, Any]) -> FieldModel:
    basis = None
    if state["centers"] is not None:
        centers = Sizes().array("centers", state["centers"], "md")
        basis = SmoothBasis.of(centers, check_number("range", state["range"], above=0.0), n_factors(state["recipe"]))
    kind, warp = FieldKind(**state["kind"]), Warp(**state["warp"])
    if warp.kind not in WARPS:
        raise InputError(f"warp is {shown(warp.kind)}")
    return FieldModel(
        kind, warp, {str(name): float(weight) for name, weight in state["recipe"].items()}, basis,
        FieldModes(**state["modes"]), Member.from_state(state["member"]), state["truncation"], state["widths"],
        {str(name): NumberErrors(**errors) for name, errors in state["numbers"].items()},
    )  # fmt: skip


def _check_numbers(name: str, errors: NumberErrors) -> None:
    own = Sizes()
    own.array("scores", errors.scores, "nk")
    own.array("floor", errors.floor, "k")
    rising = len(errors.scores) > 0 and (np.diff(errors.scores, axis=0) >= 0).all()
    if name not in NAMES or not rising or not (errors.floor > 0).all():
        raise InputError(f"the scores of {shown(name)} do not rise, or it has none")


def _check(field: FieldModel, describer: Describer) -> None:
    """Refuse parts that do not fit together."""
    sizes = Sizes(c=check_count("components", field.kind.components, 1), l=len(LEVELS))
    if field.basis is not None:
        sizes = Sizes(c=sizes["c"], l=len(LEVELS), m=field.basis.size)
        sizes.array("centers", field.basis.centers, "ed")
        width = sum(len(describer.scales[name][0]) for name in field.recipe) - field.basis.factors
        if width != sizes["d"]:
            raise InputError(f"centers have {sizes['d']} descriptors, but the recipe gives {width}")
    for name, errors in field.numbers.items():
        _check_numbers(name, errors)
    sizes.array("mean", field.modes.mean, "cm")
    sizes.array("shapes", field.modes.shapes, "cmk")
    sizes.array("variances", field.modes.variances, "k")
    sizes.array("truncation", field.truncation, "mc")
    sizes.array("widths", field.widths, "l")
    sizes.array("warp mean", field.warp.mean, "c")
    sizes.array("warp center", field.warp.center, "c")
    for name in ("unit", "deviation"):
        check_number(name, getattr(field.warp, name), 0.0)
    for name in ("noise", "total"):
        check_number(name, getattr(field.modes, name), 0.0)
    if (field.truncation < 0).any() or (np.diff(field.widths) < 0).any():
        raise InputError("truncation is negative, or widths of intervals fall with their level")
    member = field.member
    n = [len(gp._posterior.y) for gp in member.gps]
    if sum(gp._posterior.y.shape[1] for gp in member.gps) != field.modes.number or len(set(n)) > 1:
        raise InputError(f"processes are not those of {field.modes.number} modes")
    if n:
        check_factors(member.kernel.factors, member.rows, n[0])
