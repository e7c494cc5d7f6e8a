"""A fitted curve regressor as arrays, factors and plain values, and back: what a model file stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from swwl.errors import InputError
from swwl.estimators import clone
from swwl.formatting import Record
from swwl.regression.curves.bands import Bands
from swwl.regression.curves.coding import CurveBasis
from swwl.regression.curves.numbers import NUMBERS
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.intervals import LEVELS, conformal
from swwl.storage.checks import Count, NotNegative, Sizes, arguments, check_declared, restored, shown
from swwl.tables.series import Form

if TYPE_CHECKING:
    from swwl.regression.curves.estimator import CurveRegressor


class FittedCurves(NamedTuple):
    """What a fit of a :class:`swwl.CurveRegressor` leaves."""

    name: str
    form: Form
    columns: tuple[str, ...]
    basis: CurveBasis
    bands: Bands
    regressor: RobustGPRegressor
    scores: Record
    metadata: Record


class _CurveScore(msgspec.Struct):
    rmse: NotNegative
    q2: float
    coverage: NotNegative
    worst: Count
    worst_rmse: NotNegative


class CurveRegressorState(msgspec.Struct):
    """A fitted :class:`swwl.CurveRegressor`; ``regressor`` is a ``RegressorState``."""

    params: Record
    given: bool
    curve: str
    form: Form
    columns: list[str]
    basis: CurveBasis
    bands: Bands
    regressor: Record
    scores: _CurveScore
    metadata: Record


def curve_state(params: Record, fitted: FittedCurves) -> CurveRegressorState:
    """Collect the state of a fitted :class:`swwl.CurveRegressor`."""
    return CurveRegressorState(
        params={name: value for name, value in params.items() if name != "regressor"},
        given=params["regressor"] is not None,
        curve=fitted.name,
        form=fitted.form,
        columns=list(fitted.columns),
        basis=fitted.basis,
        bands=fitted.bands,
        regressor=msgspec.structs.asdict(fitted.regressor.get_state()),
        scores=_CurveScore(**fitted.scores),
        metadata=fitted.metadata,
    )


def curves_from_state(kind: type[CurveRegressor], values: Record) -> tuple[Record, FittedCurves]:
    """Undo :func:`curve_state`: return the arguments of the regressor, and what was fitted."""
    state = restored(CurveRegressorState, values)
    basis, bands = state.basis, state.bands
    regressor = RobustGPRegressor.from_state(state.regressor)
    k = len(regressor.target_names_)
    sizes = Sizes(k=k, m=len(basis.grid), l=len(LEVELS))
    check_declared(basis, sizes)
    check_declared(bands, sizes)
    if (np.diff(basis.grid) <= 0).any() or len(basis.grid) < 2:
        raise InputError("the grid does not increase")
    if state.form == "wide" and len(state.columns) != len(basis.grid):
        raise InputError(f"there are {len(state.columns)} columns for {len(basis.grid)} places")
    if set(bands.numbers) != set(NUMBERS) or not all(map(len, bands.numbers.values())) or not len(bands.whole.errors):
        raise InputError(f"there are errors of {shown(list(bands.numbers))}, or none")
    if not len(bands.rows) or bands.rows.max() >= len(regressor.train_targets_) or (np.diff(bands.rows) <= 0).any():
        raise InputError("rows that are kept are not training rows in their order")
    if regressor.stack_.layout.single or regressor.laws_ or regressor.stack_.regimes is not None:
        raise InputError("its regressor is not one of coefficients")
    _try(basis, bands, k)
    params = arguments(kind, state.params) | {"regressor": clone(regressor) if state.given else None}
    columns = tuple(state.columns)
    fitted = FittedCurves(
        state.curve, state.form, columns, basis, bands, regressor, msgspec.structs.asdict(state.scores), state.metadata
    )
    return params, fitted


def _try(basis: CurveBasis, bands: Bands, k: int) -> None:
    """Predict a curve with its bands."""
    if not np.allclose(np.diag(bands.correlation), 1) or not np.allclose(bands.correlation, bands.correlation.T):
        raise InputError("the correlation of coefficients is not one")
    sd = bands.deviations(basis, np.ones((1, k)))  # refuses what is not positive definite
    found = [basis.decode(np.zeros((1, k))), sd, bands.width(0.95) * sd, bands.whole.half(sd, 0.9)]
    found += [np.array([[conformal(own, 0.95)]]) for own in bands.numbers.values()]
    drawn = bands.draw(basis, bands.rest, np.zeros((1, k)), np.ones((1, k)), 1, np.random.default_rng(0))
    middle = basis.at(np.array([(basis.grid[0] + basis.grid[1]) / 2]))
    Sizes().array("a predicted curve", np.concatenate([np.ravel(one) for one in [*found, drawn, middle.mean]]), "p")
