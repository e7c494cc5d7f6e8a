"""A fitted field regressor as arrays, factors and plain values, and back: what a model file stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.estimators import clone
from swwl.fields.geometry.descriptors import Describer, n_factors
from swwl.fields.model import FieldModel, MeshNodes, NodeAnswer
from swwl.fields.modes import FieldModes, SmoothBasis
from swwl.fields.numbers import NumberErrors, is_number_name
from swwl.fields.sizes import SizeModel
from swwl.fields.training import Geometry
from swwl.fields.values import FieldKind, Warp
from swwl.formatting import Record
from swwl.kernels.base import Factor, Product
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.intervals import LEVELS, WholeBand
from swwl.regression.state import MemberState, check_member, member_from_state, member_state
from swwl.regression.target_scale import JudgedLaw
from swwl.storage.checks import (
    AnyNumber,
    Array,
    Count,
    NotNegative,
    Positive,
    Shape,
    Sizes,
    arguments,
    check_declared,
    restored,
    shown,
)
from swwl.tables.laws import Law, law_of

if TYPE_CHECKING:
    from swwl.fields.estimator import FieldRegressor

_MOST_JOBS = 10_000


class FittedFields(NamedTuple):
    """What a fit of a :class:`swwl.FieldRegressor` leaves: a model of every field, how it was chosen, its scores."""

    mesh_column: str
    n_features: int
    geometry: Geometry
    models: dict[str, FieldModel]
    choices: list[Record]
    scores: dict[str, Record]
    metadata: Record
    sizes: SizeModel | None = None
    laws: list[JudgedLaw] = []
    groups: list[Product] = []  # what compares groups of meshes, where no other kernel does


class FieldState(msgspec.Struct):
    """The model of one field: c components, m functions of a basis or nodes, k modes, l levels of intervals."""

    kind: FieldKind
    warp: Warp
    recipe: dict[str, Annotated[float, Meta(ge=-1e9, le=1e9)]]  # descriptors of more are not finite
    centers: Annotated[Array, Shape("ed")] | None
    range: Positive | None
    modes: FieldModes
    member: MemberState
    truncation: Annotated[Array, Shape("mc", least=0)]
    widths: Annotated[Array, Shape("l", rises=True)]
    numbers: dict[str, NumberErrors]
    amplitude: bool = False
    power: NotNegative = 0.0
    held: dict[str, list[float | None]] = {}
    whole: WholeBand | None = None
    lost: Annotated[Array, Shape("c", least=0)] | None = None


class _Choice(msgspec.Struct):
    field: str
    kernel: str | None
    descriptors: str | None
    range: AnyNumber | None
    shrinkage: AnyNumber | None
    warp: str | None
    rrmse: AnyNumber | None
    chosen: bool
    amplitude: bool = False


class _Score(msgspec.Struct):
    rrmse: float
    q2: float
    max_error: float
    coverage: float
    least_coverage: float
    worst: Count
    worst_rrmse: float


class FieldRegressorState(msgspec.Struct):
    """A fitted :class:`swwl.FieldRegressor`; ``describer``, ``common``, ``cells`` and ``plane`` are ``Geometry``'s."""

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
    plane: bool = False
    sizes: Record | None = None  # a RegressorState
    size_laws: dict[str, Law] = {}
    judged_laws: list[JudgedLaw] = []
    groups: list[list[Factor]] = []


def field_state(params: Record, fitted: FittedFields) -> FieldRegressorState:
    """Collect the state of a fitted :class:`swwl.FieldRegressor`."""
    return FieldRegressorState(
        params={name: value for name, value in params.items() if name != "kernel"},
        given=params["kernel"] is not None,
        mesh_column=fitted.mesh_column,
        n_features=fitted.n_features,
        common=fitted.geometry.common,
        cells=fitted.geometry.cells,
        describer=fitted.geometry.describer,
        fields=[_one_state(field) for field in fitted.models.values()],
        choices=[_Choice(**row) for row in fitted.choices],
        scores={name: _Score(**row) for name, row in fitted.scores.items()},
        metadata=fitted.metadata,
        plane=fitted.geometry.plane,
        sizes=None if fitted.sizes is None else msgspec.structs.asdict(fitted.sizes.numbers.get_state()),
        size_laws={} if fitted.sizes is None else fitted.sizes.laws,
        judged_laws=fitted.laws,
        groups=[kernel.factors for kernel in fitted.groups],
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
        amplitude=field.amplitude,
        power=field.power,
        held={name: [None if np.isnan(one) else float(one) for one in own] for name, own in field.held.items()},
        whole=field.whole,
        lost=field.lost,
    )


def fields_from_state(kind: type[FieldRegressor], values: Record) -> tuple[Record, FittedFields]:
    """Undo :func:`field_state`: return the arguments of the regressor, and what was fitted."""
    state = restored(FieldRegressorState, values)
    models = {part.kind.name: _one_from_state(part, state.describer) for part in state.fields}
    kernels = {model.member.name: clone(model.member.kernel) for model in models.values()}
    given = next(iter(kernels.values())) if len(kernels) == 1 else kernels
    params = arguments(kind, state.params) | {"kernel": given if state.given else None}
    if params["n_jobs"] is not None and not 0 < abs(params["n_jobs"]) < _MOST_JOBS:
        raise InputError(f"n_jobs is {shown(params['n_jobs'])}")
    if len(models) < len(state.fields) or not models.keys() >= state.scores.keys():
        raise InputError(f"fields are {shown(list(models))}, and scores those of {shown(list(state.scores))}")
    return params, FittedFields(
        state.mesh_column,
        state.n_features,
        Geometry(state.describer, state.common, state.cells, state.plane),
        models,
        [msgspec.structs.asdict(row) for row in state.choices],
        {name: msgspec.structs.asdict(row) for name, row in state.scores.items()},
        state.metadata,
        None if state.sizes is None else SizeModel(RobustGPRegressor.from_state(state.sizes), _laws(state, models)),
        state.judged_laws,
        [Product(*factors) for factors in state.groups],
    )


def _laws(state: FieldRegressorState, models: Mapping[str, FieldModel]) -> dict[str, Law]:
    """Return the laws of sizes; refuse those of other fields, and formulas that are none."""
    if not models.keys() >= state.size_laws.keys():
        raise InputError(f"laws are those of {shown(list(state.size_laws))}, fields {shown(list(models))}")
    return {name: law_of(name, law.formula, law.columns.values()) for name, law in state.size_laws.items()}


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
        if not is_number_name(name) or not len(errors.scores):
            raise InputError(f"there are scores of {shown(name)}, or none")
    if state.kind.flat and state.kind.components != 1:
        raise InputError(f"{state.kind.name} has {state.kind.components} components, but one is expected")
    member = member_from_state(state.member)
    if sum(gp.train_targets_.shape[1] for gp in member.gps) != state.modes.number:
        raise InputError(f"processes are not those of {state.modes.number} modes")
    if member.gps:
        check_member(member, len(member.gps[0].train_targets_), 0)
    held = {name: np.array(values, dtype=float) for name, values in state.held.items()}
    if any(values.shape != (state.kind.components,) for values in held.values()):
        raise InputError(f"values on groups are {shown(state.held)}, not of {state.kind.components} components")
    model = FieldModel(
        state.kind,
        state.warp,
        state.recipe,
        basis,
        state.modes,
        member,
        state.truncation,
        state.widths,
        state.numbers,
        state.amplitude,
        state.power,
        held,
        state.whole,
        state.lost,
    )
    _try(model)
    return model


def _try(model: FieldModel) -> None:
    """Predict a field at a few places."""
    n = model.modes.mean.shape[1] if model.basis is None else 1
    descriptors = None
    if model.basis is not None:
        descriptors = np.hstack([model.basis.centers[:1], np.ones((1, model.basis.factors))])
    zero = np.zeros(model.modes.number)
    y, sd = model.at_nodes(MeshNodes(n, model.basis, descriptors), zero, zero)
    answer = NodeAnswer(model, y, sd, np.ones((len(y), 1)), np.full(y.shape, np.nan))
    found = [answer.mean(), answer.std(), *answer.interval(0.95), *answer.interval(0.95, whole=True)]
    Sizes().array("a predicted field", np.ravel(found), "p")
