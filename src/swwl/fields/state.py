"""A fitted field regressor as arrays, factors and plain values, and back: what a model file stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from sklearn.base import clone

from swwl.errors import InputError
from swwl.fields.geometry.descriptors import Describer, n_factors
from swwl.fields.model import LEVELS, FieldModel, MeshNodes
from swwl.fields.modes import FieldModes, SmoothBasis
from swwl.fields.numbers import NAMES, NumberErrors
from swwl.fields.training import Geometry, check_options
from swwl.fields.values import FieldKind, Warp
from swwl.formatting import Record
from swwl.regression.state import MemberState, check_member, member_from_state, member_state
from swwl.storage.checks import (
    AnyNumber,
    Array,
    Count,
    Names,
    Positive,
    Shape,
    Sizes,
    arguments,
    check_declared,
    restored,
    shown,
)

if TYPE_CHECKING:
    from swwl.fields.estimator import FieldRegressor

_MOST_JOBS = 10_000


class FieldState(msgspec.Struct):
    """The model of one field: c components, m functions of a basis or nodes, k modes, l levels of intervals."""

    kind: FieldKind
    warp: Warp
    recipe: dict[str, float]
    centers: Annotated[Array, Shape("ed")] | None
    range: Positive | None
    modes: FieldModes
    member: MemberState
    truncation: Annotated[Array, Shape("mc", least=0)]
    widths: Annotated[Array, Shape("l", rises=True)]
    numbers: dict[str, NumberErrors]


class _Choice(msgspec.Struct):
    field: str
    kernel: str | None
    descriptors: str | None
    range: AnyNumber | None
    shrinkage: AnyNumber | None
    warp: str | None
    rrmse: AnyNumber | None
    chosen: bool


class _Score(msgspec.Struct):
    rrmse: float
    q2: float
    max_error: float
    coverage: float
    least_coverage: float
    worst: Count
    worst_rrmse: float


class FieldRegressorState(msgspec.Struct):
    """A fitted :class:`swwl.FieldRegressor`; for ``describer``, ``common`` and ``cells`` see ``Geometry``."""

    params: Record
    given: bool
    mesh_column: str
    n_features: Count
    common: bool
    cells: Annotated[NDArray[np.uint64], Shape("c", "u")]
    describer: Describer
    fields: Annotated[list[FieldState], Meta(min_length=1)]
    choices: list[_Choice]
    scores: dict[str, _Score]
    metadata: Record


def field_state(model: FieldRegressor) -> FieldRegressorState:
    """Collect the state of a fitted :class:`swwl.FieldRegressor`."""
    params = model.get_params(deep=False)
    params.pop("kernel")
    geometry = model._geometry
    return FieldRegressorState(
        params=params,
        given=model.kernel is not None,
        mesh_column=model.mesh_column_,
        n_features=model.n_features_in_,
        common=geometry.common,
        cells=geometry.cells,
        describer=geometry.describer,
        fields=[_one_state(field) for field in model.models_.values()],
        choices=[_Choice(**row) for row in model._choices],
        scores={name: _Score(**row) for name, row in model._scores.items()},
        metadata=model.metadata_,
    )


def _one_state(field: FieldModel) -> FieldState:
    basis = field.basis
    return FieldState(
        kind=field.kind,
        warp=field.warp,
        recipe=field.recipe,
        centers=None if basis is None else basis.centers,
        range=None if basis is None else basis.range,
        modes=field.modes,
        member=member_state(field.member),
        truncation=field.truncation,
        widths=field.widths,
        numbers=field.numbers,
    )


def fields_from_state(kind: type[FieldRegressor], values: Record) -> FieldRegressor:
    """Undo :func:`field_state`; refuse what no fit leaves behind."""
    state = restored(FieldRegressorState, values)
    models = {part.kind.name: _one_from_state(part, state.describer) for part in state.fields}
    kernels = {model.member.name: clone(model.member.kernel) for model in models.values()}
    given = next(iter(kernels.values())) if len(kernels) == 1 else kernels
    model = kind(given if state.given else None, **arguments(kind, state.params))
    check_options(model)
    if model.n_jobs is not None and not 0 < abs(model.n_jobs) < _MOST_JOBS:
        raise InputError(f"n_jobs is {shown(model.n_jobs)}")
    if len(models) < len(state.fields) or not models.keys() >= state.scores.keys():
        raise InputError(f"fields are {shown(list(models))}, and scores those of {shown(list(state.scores))}")
    model._geometry = Geometry(state.describer, state.common, state.cells)
    model.mesh_column_, model.models_ = state.mesh_column, models
    model._choices = [msgspec.structs.asdict(row) for row in state.choices]
    model._scores = {name: msgspec.structs.asdict(row) for name, row in state.scores.items()}
    model.metadata_ = state.metadata
    model._describe(state.n_features)
    restored(Names, model.feature_names_in_.tolist())
    return model


def _one_from_state(state: FieldState, describer: Describer) -> FieldModel:
    """Make the model of one field again, and try it: a row of its processes, and a field at a few places."""
    basis = None
    sizes = {"c": state.kind.components, "l": len(LEVELS), "k": state.modes.number}
    if state.centers is not None and state.range is not None:
        basis = SmoothBasis.of(state.centers, state.range, n_factors(state.recipe))
        width = sum(len(describer.scales[name][0]) for name in state.recipe) - basis.factors
        sizes |= {"m": basis.size, "d": width}
    check_declared(state, Sizes(**sizes))
    for name, errors in state.numbers.items():
        if name not in NAMES or not len(errors.scores):
            raise InputError(f"there are scores of {shown(name)}, or none")
    if state.kind.flat and state.kind.components != 1:
        raise InputError(f"{state.kind.name} has {state.kind.components} components, but one is expected")
    member = member_from_state(state.member)
    if sum(gp.train_targets_.shape[1] for gp in member.gps) != state.modes.number:
        raise InputError(f"processes are not those of {state.modes.number} modes")
    if member.gps:
        check_member(member, len(member.gps[0].train_targets_), 0)
    model = FieldModel(
        state.kind, state.warp, state.recipe, basis, state.modes, member, state.truncation, state.widths, state.numbers
    )
    _try(model)
    return model


def _try(model: FieldModel) -> None:
    """Predict a field at a few places."""
    n = model.modes.mean.shape[1] if model.basis is None else 1
    descriptors = None if model.basis is None else model.basis.centers[:1]
    zero = np.zeros(model.modes.number)
    y, sd = model.at_nodes(MeshNodes(n, model.basis, descriptors), zero, zero)
    found = [model.warp.inverse(y), model.deviation(y, sd), *model.bounds(y, sd, 0.95)]
    Sizes().array("a predicted field", np.ravel(found), "p")
