"""A chain of models as plain values, and back: what a model file stores of levels of fidelity and of missing cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.formatting import Record
from swwl.gp.prediction import Prediction
from swwl.regression.state import check_factors, regressor_from_state, regressor_state
from swwl.regression.together.chain import Helped
from swwl.regression.together.fit import Chain, adopt, gather
from swwl.regression.together.joined import JoinedStack
from swwl.regression.together.link import Link
from swwl.storage.checks import Array, Count, Names, Positive, Shape, Sizes, arguments, restored, shown

if TYPE_CHECKING:
    from swwl.regression.estimator import RobustGPRegressor


class _LinkState(msgspec.Struct):
    column: str
    helper: Count
    slope: float


class _JoinedState(msgspec.Struct):
    """Targets side by side: k of them, n training rows, of which ``known`` says which cells are."""

    targets: Names
    known: Annotated[NDArray[np.bool_], Shape("nk", "b")]
    base: Count
    rows: list[Any]
    mean: Annotated[Array, Shape("nk")]
    scale: Annotated[Array, Shape("nk", least=0)]
    df: Positive
    usual: Annotated[Array, Shape("nk", least=0)]
    law_inputs: dict[str, Array] = {}  # and those of the trend


class ChainState(msgspec.Struct):
    """A fitted :class:`swwl.RobustGPRegressor` that is made of several; every one of ``parts`` is the state of one."""

    params: Record
    given: bool
    n_features: Count
    parts: Annotated[list[Record], Meta(min_length=1)]
    links: list[_LinkState | None]
    told: list[Helped]
    metadata: Record
    level: str | None = None
    best: str | None = None
    joined: _JoinedState | None = None


def chain_state(model: RobustGPRegressor, chain: Chain) -> ChainState:
    """Collect the state of a model that is a chain."""
    params = model.get_params(deep=False)
    params.pop("kernel")
    links = []
    for part, helper in zip(chain.parts, chain.helpers, strict=True):
        link = part.stack_.link
        links.append(None if link is None else _LinkState(link.column, helper, link.slope))
    return ChainState(
        params=params,
        given=model.kernel is not None,
        n_features=model.n_features_in_,
        parts=[msgspec.structs.asdict(regressor_state(part)) for part in chain.parts],
        links=links,
        told=chain.told,
        metadata=model.metadata_,
        level=chain.level,
        best=chain.best,
        joined=_joined_state(model),
    )


def _joined_state(model: RobustGPRegressor) -> _JoinedState | None:
    stack = model.stack_
    if not isinstance(stack, JoinedStack):
        return None
    found = stack.left_out
    assert found is not None
    return _JoinedState(
        targets=model.target_names_,
        known=np.isfinite(model.train_targets_),
        base=stack.base,
        rows=stack.base_rows,
        mean=found.process.mean,
        scale=found.process.scale,
        df=found.df,
        usual=stack.usual,
        law_inputs=stack.other_inputs,
    )


def chain_from_state(kind: type[RobustGPRegressor], values: Record) -> RobustGPRegressor:
    """Undo :func:`chain_state`; refuse what no fit leaves behind."""
    state = restored(ChainState, values)
    parts = [regressor_from_state(kind, part) for part in state.parts]
    if len(state.links) != len(parts):
        raise InputError(f"there are {len(state.links)} links of {len(parts)} parts")
    if any(len(part.target_names_) != 1 or not part.stack_.layout.single for part in parts):
        raise InputError("a part has several targets, but one is expected")
    helpers = [-1] * len(parts)
    for place, (part, link) in enumerate(zip(parts, state.links, strict=True)):
        if link is not None:
            _connect(part, link, place, parts)
            helpers[place] = link.helper
    last = parts[-1]
    kernel = last.kernel if state.given else None
    model = kind(kernel, **arguments(kind, state.params))
    chain = Chain(parts, helpers, state.told, state.level, state.best)
    if state.joined is None:
        adopt(model, last)
    else:
        _join(model, chain, state.joined)
    model.chain_, model.metadata_, model.n_features_in_ = chain, state.metadata, state.n_features
    return model


def _connect(part: RobustGPRegressor, link: _LinkState, place: int, parts: list[RobustGPRegressor]) -> None:
    """Give a part its helper, which comes before it."""
    trend = part.stack_.trend
    if link.helper >= place or not trend or trend[-1].column != link.column:
        raise InputError(f"part {place} is helped by {link.helper} through {shown(link.column)}, which cannot be")
    part.stack_.link = Link(link.column, parts[link.helper].stack_, link.slope)


def _join(model: RobustGPRegressor, chain: Chain, state: _JoinedState) -> None:
    """Put the parts of a chain side by side."""
    by_name = {part.target_names_[0]: part for part in chain.parts}
    if set(by_name) != set(state.targets) or len(chain.parts) != len(state.targets):
        raise InputError(f"parts are those of {shown(list(by_name))}, but targets are {shown(state.targets)}")
    n, k = state.known.shape
    sizes = Sizes(n=n, k=len(state.targets))
    for name, array in (("known", state.known), ("mean", state.mean), ("scale", state.scale), ("usual", state.usual)):
        sizes.array(name, array, "nk", "b" if name == "known" else "f")
    for name, values in state.law_inputs.items():
        sizes.array(f"column {name!r}", values, "n")
    parts = [by_name[name] for name in state.targets]
    counts = [len(part.train_targets_) for part in parts]
    if state.base >= k or state.known.sum(axis=0).tolist() != counts:
        raise InputError(f"parts were fitted to {shown(counts)} rows, which are not those that are known")
    named = {name for part in parts for name in part.stack_.other_inputs}
    if named != set(state.law_inputs):
        raise InputError(
            f"laws and trends name {shown(sorted(named))}, but there are {shown(sorted(state.law_inputs))}"
        )
    check_factors(parts[state.base].kernel_.factors, state.rows, n)
    left_out = Prediction(state.mean, state.scale, state.df)
    stacks = [part.stack_ for part in parts]
    model.stack_ = JoinedStack(stacks, state.targets, state.base, state.rows, left_out, state.usual, state.law_inputs)
    model.target_names_ = state.targets
    model.train_targets_ = np.full((n, k), np.nan)
    for j, part in enumerate(parts):
        model.train_targets_[state.known[:, j], j] = part.train_targets_[:, 0]
    gather(model, chain, state.known)
