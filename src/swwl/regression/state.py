"""A fitted regressor as arrays, factors and plain values, and back: what a model file stores.

A model that is read predicts its first training row before anyone uses it: what does not fit together is found here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import Meta
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.estimators import clone
from swwl.formatting import Record
from swwl.gp import RobustGP
from swwl.gp.inputs import check_correlations, training_terms
from swwl.gp.mixed import MixedPrediction
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor
from swwl.kernels.elliptic import make_kernel
from swwl.regression.fit import selection_table
from swwl.regression.influence import MeshInfluence
from swwl.regression.outliers import outlier_records, outliers_from_records
from swwl.regression.regimes import Regimes
from swwl.regression.stack import Layout, Member, Stack, check_trend, law_values, some_rows, trend_factors
from swwl.regression.target_scale import JudgedLaw, TargetScale
from swwl.storage.checks import AnyNumber, Array, Count, Names, Positive, Shape, Sizes, arguments, restored, shown
from swwl.tables.laws import Law, law_of

if TYPE_CHECKING:
    from swwl.regression.estimator import RobustGPRegressor

_OF_ROWS = ("coordinates_", "center_")  # what the state of a process holds of training rows


class MemberState(msgspec.Struct):
    """A kernel with its processes; ``train`` is what its factors made of the training columns."""

    name: str
    factors: list[Factor]
    elliptic: str | tuple[str, float] | None
    train: list[Any]
    gps: list[Record]
    shares: Annotated[Array, Shape("ig")]


class _Chosen(msgspec.Struct):
    column: str
    n_components: Count
    log_posterior: AnyNumber
    chosen: bool


class _Candidate(msgspec.Struct):
    target: str
    candidate: str
    weight: float
    rmse: AnyNumber  # NaN where too few rows were left out


class _LeftOut(msgspec.Struct):
    mean: Annotated[Array, Shape("nk")]
    scale: Annotated[Array, Shape("nk")]
    df: Positive


class _Judged(msgspec.Struct):
    rows: Annotated[NDArray[np.intp], Shape("j", "iu", least=0)]
    mean: Annotated[Array, Shape("jk")]
    scale: Annotated[Array, Shape("jk")]
    df: Positive


class _Outlier(msgspec.Struct):
    row: int | str
    position: Count
    target: str
    value: float
    expected: float
    weight: Positive


class _Regimes(msgspec.Struct):
    """Two experts and a gate, and what they and the stack say of rows left out, (n, k) each, with their weights."""

    base: Count
    second: Annotated[NDArray[np.bool_], Shape("n", "b")]
    known: Annotated[NDArray[np.bool_], Shape("n", "b")]
    experts: list[list[Record]]
    gate: Record
    shares: Annotated[Array, Shape("k", least=0)]
    left_out: list[_LeftOut]
    weights: Annotated[Array, Shape("cnk", least=0)]


class RegressorState(msgspec.Struct):
    """A fitted :class:`swwl.RobustGPRegressor`: m members, k targets, n training rows.

    Where targets are fitted on other ``scales`` than their own, or over ``laws``, ``values`` are those of the training
    rows in their units. ``law_inputs`` are the columns of laws and, after 0.3.0, those of the trend that no kernel has.
    """

    params: Record
    given: bool
    members: Annotated[list[MemberState], Meta(min_length=1)]
    weights: Annotated[Array, Shape("mk", least=0)]
    trend: list[Factor] | None
    n_features: Count
    targets: Names
    single: bool
    calibration: list[Positive]
    selection: list[_Chosen]
    candidates: list[_Candidate]
    left_out: _LeftOut | None
    metadata: Record
    scales: list[TargetScale] = []
    values: Annotated[Array, Shape("nk")] | None = None
    judged: _Judged | None = None
    outliers: list[_Outlier] = []
    regimes: _Regimes | None = None
    influence: MeshInfluence | None = None
    laws: list[Law | None] = []
    law_inputs: dict[str, Array] = {}
    judged_laws: list[JudgedLaw] = []


def regressor_state(model: RobustGPRegressor) -> RegressorState:
    """Collect the state of a fitted :class:`swwl.RobustGPRegressor`."""
    params = model.get_params(deep=False)
    params.pop("kernel")
    stack = model.stack_
    left_out = stack.left_out
    moved = any(not scale.is_identity for scale in stack.scales)
    return RegressorState(
        params=params,
        given=model.kernel is not None,
        members=[member_state(member) for member in stack.members],
        weights=stack.weights.to_numpy(),
        trend=stack.trend if model.trend != "linear" else None,
        n_features=model.n_features_in_,
        targets=model.target_names_,
        single=stack.layout.single,
        calibration=stack.widths.tolist(),
        selection=model.selection_.to_dict("records"),
        candidates=model.candidates_.to_dict("records"),
        left_out=None if left_out is None else _LeftOut(left_out.mean, left_out.scale, left_out.df),
        metadata=model.metadata_,
        scales=stack.scales if moved else [],
        values=model.train_targets_ if moved or stack.laws else None,
        judged=_judged_state(stack),
        outliers=[_Outlier(**row) for row in outlier_records(model.outliers_)],
        regimes=_regimes_state(stack),
        influence=stack.influence,
        laws=stack.laws,
        law_inputs=stack.other_inputs,
        judged_laws=model.laws_,
    )


def _regimes_state(stack: Stack) -> _Regimes | None:
    """Collect the state of two experts and their gate."""
    found, told = stack.regimes, stack.left_out
    if found is None or not isinstance(told, MixedPrediction):
        return None
    return _Regimes(
        base=found.base,
        second=found.second,
        known=found.known,
        experts=[[gp.get_state() for gp in gps] for gps in found.experts],
        gate=found.gate.get_state(),
        shares=found.shares,
        left_out=[_LeftOut(part.mean, part.scale, part.df) for part in told.parts],
        weights=told.weights,
    )


def _regimes_from_state(state: RegressorState, n: int) -> Regimes | None:
    """Undo :func:`_regimes_state`; refuse what no fit leaves behind."""
    found, k = state.regimes, len(state.targets)
    if found is None:
        return None
    sizes = Sizes(n=n, k=k, c=3)
    sizes.array("regimes", found.second, "n", "b")
    sizes.array("known rows of regimes", found.known, "n", "b")
    sizes.array("shares of regimes", found.shares, "k")
    sizes.array("weights of regimes", found.weights, "cnk")
    for part in found.left_out:
        sizes.array("rows left out of regimes", part.mean, "nk")
        sizes.array("rows left out of regimes", part.scale, "nk")
    counts = [len(own) for own in found.experts]
    if found.base >= len(state.members) or counts != [k, k] or len(found.left_out) != 3:
        raise InputError(f"regimes have experts of {counts} targets on member {found.base}, but there are {k} targets")
    first, second = ([RobustGP.from_state(own) for own in gps] for gps in found.experts)
    regimes = Regimes(
        found.base, found.second, found.known, (first, second), RobustGP.from_state(found.gate), found.shares
    )
    lengths = [*(len(rows) for rows in regimes.branches()), int(found.known.sum())]
    for gps, length in zip([first, second, [regimes.gate]], lengths, strict=True):
        if any(gp.train_targets_.shape != (length, 1) for gp in gps):
            raise InputError(f"regimes have processes that were not fitted to the {length} rows of their branch")
    if (found.shares > 1).any() or not np.allclose(found.weights.sum(axis=0), 1):
        raise InputError("regimes have weights that are not shares of one")
    return regimes


def _judged_state(stack: Stack) -> _Judged | None:
    """Collect what is said of rows left out; that of a stack is stored already."""
    if stack.judged is None or stack.left_out is not None:
        return None
    rows, found = stack.judged
    return _Judged(rows, found.mean, found.scale, found.df)


def member_state(member: Member) -> MemberState:
    """Collect the state of a kernel with its processes."""
    # The coordinates of a large process are those of the training rows, and left out.
    states = [gp.get_state() for gp in member.gps]
    lean = [{k: v for k, v in own.items() if not (member.large and k.startswith(_OF_ROWS))} for own in states]
    return MemberState(member.name, member.kernel.factors, member.kernel.elliptic, member.rows, lean, member.shares)


def regressor_from_state(kind: type[RobustGPRegressor], values: Record) -> RobustGPRegressor:
    """Undo :func:`regressor_state`; refuse what no fit leaves behind."""
    state = restored(RegressorState, values)
    members = [member_from_state(member) for member in state.members]
    kernels = {member.name: clone(member.kernel) for member in members}
    given = kernels if len(kernels) > 1 else kernels[members[0].name]
    model = kind(given if state.given else None, **arguments(kind, state.params))
    check_trend(model.trend)
    linear = trend_factors(model.trend, members[0].kernel.factors) if model.trend == "linear" else []
    trend = linear if state.trend is None else state.trend
    layout = Layout(state.targets, state.single, model.share_ranges)
    _check_sizes(state, members, layout)
    fitted = np.column_stack([gp.train_targets_ for gp in members[0].gps])
    model.train_targets_ = fitted if state.values is None else state.values
    for member in members:
        check_member(member, len(model.train_targets_), len(trend))
    check_factors(trend, [np.zeros(len(model.train_targets_))] * len(trend), len(model.train_targets_))
    left_out = _left_out_from_state(state)
    model.stack_ = Stack(
        members,
        pd.DataFrame(state.weights, index=list(kernels), columns=state.targets),
        pd.Series(state.calibration, index=state.targets),
        trend,
        layout,
        stacked=len(state.candidates) > 0,
        left_out=left_out,
        scales=state.scales,
        judged=_judged_from_state(state, len(model.train_targets_)),
        regimes=_regimes_from_state(state, len(model.train_targets_)),
        influence=state.influence,
        laws=state.laws,
        other_inputs=state.law_inputs,
    )
    model.laws_ = state.judged_laws
    model.chain_ = None
    if model.stack_.regimes is not None:
        _check_experts(model.stack_, len(trend))
    model.outliers_ = outliers_from_records([msgspec.structs.asdict(row) for row in state.outliers])
    model.n_features_in_ = state.n_features
    model.target_names_ = state.targets
    model.selection_ = selection_table([msgspec.structs.asdict(row) for row in state.selection])
    model.candidates_ = pd.DataFrame([msgspec.structs.asdict(row) for row in state.candidates])
    model.metadata_ = state.metadata
    return model


def _check_experts(stack: Stack, n_trend: int) -> None:
    """Let experts and gate predict the first training row; refuse those that cannot."""
    assert stack.regimes is not None
    member = stack.members[stack.regimes.base]
    cross, _ = member.new_blocks([some_rows(rows, np.arange(1)) for rows in member.rows])
    trend = np.zeros((1, n_trend)) if n_trend else None
    found, second = stack.regimes.predict(cross, trend)
    values = [second, *(np.ravel(array) for one in found for array in (one.mean, one.scale))]
    Sizes().array("a prediction of regimes", np.concatenate(values), "p")


def _left_out_from_state(state: RegressorState) -> Prediction | None:
    """Return what is said of rows left out, as a mixture where there are two regimes."""
    if state.left_out is None:
        return None
    mean, scale, df = state.left_out.mean, state.left_out.scale, state.left_out.df
    if state.regimes is None:
        return Prediction(mean, scale, df)
    parts = tuple(Prediction(part.mean, part.scale, part.df) for part in state.regimes.left_out)
    return MixedPrediction(mean, scale, df, parts, state.regimes.weights)


def _judged_from_state(state: RegressorState, n: int) -> tuple[NDArray[np.intp], Prediction] | None:
    """Undo :func:`_judged_state`."""
    if state.left_out is not None:
        whole = _left_out_from_state(state)
        assert whole is not None
        return np.arange(n), whole
    found = state.judged
    return None if found is None else (found.rows, Prediction(found.mean, found.scale, found.df))


def member_from_state(state: MemberState) -> Member:
    """Undo :func:`member_state`."""
    restored(list[str], [factor.column for factor in state.factors])
    member = Member(state.name, make_kernel(state.factors, state.elliptic), state.train, shares=state.shares)
    member.gps = [RobustGP.from_state(_whole(member, own)) for own in state.gps]
    return member


def _whole(member: Member, state: Record) -> Record:
    """Put the coordinates back that :func:`member_state` left out."""
    if state["params"]["solver"] == "exact":
        return state
    correlations = check_correlations(member.kernel.correlations())
    joined = member.kernel.join(member.training_blocks())
    _, known = training_terms(joined, correlations, len(state["y"]))
    found = {f"coordinates_{i}": group.values for i, group in known.items()}
    return state | found | {f"center_{i}": group.center for i, group in known.items()}


def _check_sizes(state: RegressorState, members: Sequence[Member], layout: Layout) -> None:
    """Refuse a regressor whose members, targets and weights are not those of each other."""
    n, k = len(members[0].gps[0].train_targets_), len(state.targets)
    together = layout.shared and not state.single
    restored(Names, [member.name for member in members])
    Sizes(m=len(members), k=k).array("weights", state.weights, "mk")
    if not np.allclose(state.weights.sum(axis=0), 1):
        raise InputError(f"weights are {shown(state.weights.tolist())}, but shares of one are expected")
    if len(state.calibration) != k or (state.single and k != 1):
        raise InputError(f"there are {len(state.calibration)} widths for {k} targets")
    if state.scales and (len(state.scales) != k or state.values is None):
        raise InputError(f"there are {len(state.scales)} scales, and {state.values is not None:d} sets of values")
    if state.values is not None:
        Sizes(n=n, k=k).array("values", state.values, "nk")
    _check_laws(state, n)
    if state.left_out is not None:
        Sizes(n=n, k=k).array("left_out", state.left_out.mean, "nk")
    _check_judged(state, n)
    columns = {str(name) for member in members for name in member.kernel.columns}
    if state.influence is not None and not columns.issuperset(state.influence.columns):
        raise InputError(f"influence is that of {shown(state.influence.columns)}, which the kernels do not have")
    for member in members:
        if len(member.gps) != (1 if together else k) or any(gp.single_ is together for gp in member.gps):
            raise InputError(f"there are {len(member.gps)} processes for {k} targets")
        if sum(gp.train_targets_.shape[1] for gp in member.gps) != k:
            raise InputError(f"processes are not those of {k} targets")
        if state.candidates:
            Sizes(i=len(member.kernel.columns), g=len(member.gps)).array("shares", member.shares, "ig")


def _check_laws(state: RegressorState, n: int) -> None:
    """Refuse laws that are not those of the targets, or cannot be computed for n training rows."""
    if state.laws and (len(state.laws) != len(state.targets) or state.values is None):
        raise InputError(f"there are {len(state.laws)} laws for {len(state.targets)} targets")
    named = {name for law in state.laws if law is not None for name in law.columns.values()}
    of_trend = {factor.column for factor in state.trend or []}
    if not named <= set(state.law_inputs) <= named | of_trend:
        raise InputError(f"laws name {shown(sorted(named))}, but there are {shown(sorted(state.law_inputs))}")
    for name, values in state.law_inputs.items():
        Sizes(n=n).array(f"column {name!r}", values, "n")
    for law, target in zip(state.laws, state.targets, strict=bool(state.laws)):
        if law is not None and law_of(target, law.formula, named) != law:
            raise InputError(f"the law of {target!r} is {shown(law.words)}, which names other columns")
    law_values(state.laws, pd.DataFrame(state.law_inputs))


def _check_judged(state: RegressorState, n: int) -> None:
    """Refuse predictions of rows left out, and rows that hardly count, that are not those of n training rows."""
    if state.judged is not None:
        Sizes(k=len(state.targets)).array("judged", state.judged.mean, "jk")
        if state.judged.rows.max(initial=0) >= n:
            raise InputError(f"judged holds row {state.judged.rows.max()}, but there are {n}")
    for one in state.outliers:
        if one.position >= n or one.target not in state.targets:
            raise InputError(f"outliers hold row {one.position} of {one.target!r}, which the model does not have")


def check_factors(factors: Sequence[Factor], train: Sequence[Any], n: int) -> None:
    """Refuse factors that are not fitted, or not to n rows; ``train`` is what each made of them."""
    restored(list[str], [factor.column for factor in factors])
    if len(train) != len(factors):
        raise InputError(f"there are {len(factors)} factors, but {len(train)} training columns")
    for factor, rows in zip(factors, train, strict=True):
        if any(len(part) != n for part in (rows if isinstance(rows, tuple) else (rows,))):
            raise InputError(f"column {factor.column!r} does not have {n} training rows")
        factor.check_restored(rows)


def check_member(member: Member, n: int, n_trend: int) -> None:
    """Refuse a member that is not of n rows, or does not predict the first of them: that needs all but the meshes."""
    if any(len(gp.train_targets_) != n for gp in member.gps):
        raise InputError(f"a process does not have {n} training rows")
    check_factors(member.kernel.factors, member.rows, n)
    if any(isinstance(rows, list) for rows in member.rows):
        return  # graphs that are compared pair by pair: each pair takes long, and may need a package
    first = [tuple(part[:1] for part in rows) if isinstance(rows, tuple) else rows[:1] for rows in member.rows]
    cross, _ = member.new_blocks(first)
    trend = np.zeros((1, n_trend)) if n_trend else None
    for gp in member.gps:
        found = gp.predict_distribution(cross, trend_columns=trend)
        Sizes().array("a prediction", np.ravel([found.mean, found.scale]), "p")
