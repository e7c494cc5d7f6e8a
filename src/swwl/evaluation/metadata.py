"""What ``swwl fit`` wrote into a model about its data and its scores, checked before it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from swwl.errors import InputError, located
from swwl.fields.scores import MeshScore, pooled
from swwl.formatting import Record
from swwl.gp.carried import carried
from swwl.gp.prediction import Prediction
from swwl.storage.checks import Count, Positive, PositiveOrInfinite, restored
from swwl.tables.places import case_names

if TYPE_CHECKING:  # a model brings the room that it needs
    from swwl.fields.estimator import FieldRegressor
    from swwl.regression.curves.estimator import CurveRegressor
    from swwl.regression.estimator import RobustGPRegressor

HELD_OUT = "held-out rows"
FOLDS = "cross-validation"


class Cases(msgspec.Struct):
    """Cases of a table: their rows, the paths and sizes of their meshes, and their inputs, as far as they are known."""

    rows: list[Count]
    meshes: dict[str, list[str]]
    nodes: list[Count | None]
    inputs: dict[str, list[Any]] = {}

    def __post_init__(self) -> None:
        """Refuse lists that are not of one length."""
        columns = [*self.meshes.values(), *self.inputs.values(), *[self.nodes] * bool(self.nodes)]
        if any(len(column) != len(self.rows) for column in columns):
            raise InputError(f"meshes, nodes and inputs must be those of {len(self.rows)} rows")


class HeldOutCases(Cases, kw_only=True):
    """Held-out cases, with their targets and what the model said of them, (M, k) each.

    Where targets are fitted on other scales than their own, ``process_mean`` and ``process_std`` are on those; where
    they are learned over laws, ``times`` are the laws' values.
    """

    targets: list[list[float]]
    mean: list[list[float]]
    std: list[list[float]]
    df: PositiveOrInfinite
    process_mean: list[list[float]] = []
    process_std: list[list[float]] = []
    times: list[list[Positive]] = []

    def __post_init__(self) -> None:
        """Refuse numbers that are not those of all cases."""
        super().__post_init__()
        moved = [own for own in (self.process_mean, self.process_std) if own]
        every = (self.targets, self.mean, self.std, *moved, *([self.times] if self.times else []))
        if any(len(own) != len(self.rows) for own in every) or len(moved) == 1:
            raise InputError(f"targets, means and standard deviations must be those of {len(self.rows)} rows")


class TableData(msgspec.Struct):
    """The table that a model was fitted to, its columns that were not used, with reasons, its cases, and their time."""

    table: str
    n_rows: Count
    split: str
    ignored: dict[str, str]
    train: Cases
    held_out: Cases | None = None
    time: float | str | None = None

    def names(self) -> tuple[list[str], list[str]]:
        """Return what fitted and held-out cases are called, after their first mesh; nothing where they have none."""
        train, test = (next(iter(own.meshes.values()), []) if own else [] for own in (self.train, self.held_out))
        named = case_names([*train, *test])
        return named[: len(train)], named[len(train) :]


class SpreadsheetRow(msgspec.Struct):
    """The error of a plain model on plain numbers, see :mod:`swwl.regression.spreadsheet`."""

    target: str
    model: str
    rmse: float


class VarianceShare(msgspec.Struct):
    """How much of the variance of a target goes with an input, see :mod:`swwl.regression.effects`."""

    target: str
    input: str
    share: float
    error: float


class NumberData(TableData, kw_only=True):
    """What a model of numbers knows of its data, what plain models would have given, and which inputs matter."""

    held_out: HeldOutCases | None = None
    spreadsheet: list[SpreadsheetRow] = []
    variance_shares: list[VarianceShare] = []


class ScoreRow(msgspec.Struct):
    """The score of one held-out mesh, and the number of its case; None where a number does not exist."""

    name: str
    n: Annotated[int, Meta(ge=1)]
    case: Count
    rmse: float
    largest: float
    largest_predicted: float
    spread: float
    mean: Annotated[list[float], Meta(min_length=1)]
    rrmse: float | None
    coverage: float | None
    width: float | None
    interval_score: float | None

    def score(self) -> MeshScore:
        """Return the score, with NaN for numbers that do not exist."""
        known: Record = {name: getattr(self, name) for name in MeshScore._fields}
        numbers = {name: np.nan for name, value in known.items() if value is None}
        return MeshScore(**known | numbers | {"mean": tuple(self.mean)})


class FieldTableData(TableData, kw_only=True):
    """What a model of fields knows of its data: ranges of inputs, and scores of held-out meshes by field."""

    ranges: dict[str, tuple[float, float]]
    held_out_scores: dict[str, list[ScoreRow]]


class CurveScoreRow(msgspec.Struct):
    """The scores of n curves by one test; ``whole`` is the share that 90 % bands of whole curves hold."""

    curve: str
    test: str
    n: Count
    rmse: float
    q2: float
    coverage: float
    whole: float | None = None


class ShownCurve(msgspec.Struct):
    """A held-out curve to show: its row, and the truth and what was predicted at p places, with the 90 % band."""

    row: Count
    places: list[float]
    truth: list[float]
    mean: list[float]
    lower: list[float]
    upper: list[float]


class CurveTableData(TableData, kw_only=True):
    """What a model of curves knows of its data: scores of held-out curves, and some of these."""

    curve_scores: list[CurveScoreRow] = []
    shown: list[ShownCurve] = []


def curve_data_of(model: CurveRegressor) -> CurveTableData | None:
    """Return what ``swwl fit`` wrote into a model of curves, or None where its metadata are the user's own.

    Examples
    --------
    >>> from swwl import CurveRegressor
    >>> model = CurveRegressor()
    >>> model.metadata_ = {"note": "mine"}
    >>> curve_data_of(model) is None
    True
    """
    if "train" not in model.metadata_:
        return None
    with located("The metadata of the model"):
        data = restored(CurveTableData, model.metadata_)
        if len(data.train.rows) != model.n_train_:
            raise InputError(f"train has {len(data.train.rows)} rows, but the model {model.n_train_}")
        for one in data.shown:
            if any(len(own) != len(one.places) for own in (one.truth, one.mean, one.lower, one.upper)):
                raise InputError(f"a curve that is shown must have {len(one.places)} values")
    return data


def curve_score_rows(model: CurveRegressor) -> list[Record]:
    """Return one row per kind of test: by folds and, where there are any, on held-out curves."""
    data = curve_data_of(model)
    folds = model.cross_validated().iloc[0]
    kept = {name: float(folds[name]) for name in ("rmse", "q2", "coverage")}
    row = {"curve": model.curve_, "test": FOLDS, "n": model.n_train_, **kept, "whole": None}
    return [
        row,
        *([] if data is None else [msgspec.structs.asdict(one) | {"test": HELD_OUT} for one in data.curve_scores]),
    ]


def data_of(model: RobustGPRegressor) -> NumberData | None:
    """Return what ``swwl fit`` wrote into a model, or None where its metadata are the user's own.

    Examples
    --------
    >>> from swwl import RobustGPRegressor
    >>> model = RobustGPRegressor()
    >>> model.metadata_ = {"note": "mine"}
    >>> data_of(model) is None
    True
    """
    if "train" not in model.metadata_:
        return None
    with located("The metadata of the model"):
        data = restored(NumberData, model.metadata_)
        n, k = model.train_targets_.shape
        if len(data.train.rows) != n:
            raise InputError(f"train has {len(data.train.rows)} rows, but the model {n}")
        tested = data.held_out
        parts: tuple[list[list[float]], ...] = ()
        if tested is not None:
            parts = (tested.mean, tested.std, tested.process_mean, tested.process_std, tested.times)
        if tested is not None and any(len(row) != k for own in (tested.targets, *parts) for row in own):
            raise InputError(f"held_out must have {k} targets, means and standard deviations of every row")
    return data


def held_out_of(model: RobustGPRegressor) -> tuple[NDArray[np.float64], Prediction] | None:
    """Return held-out targets (M, k) and their predictions from a model's metadata, or None."""
    data = data_of(model)
    if data is None or data.held_out is None:
        return None
    found = data.held_out
    moved = model.stack_.scales if found.process_mean else []
    times = np.array(found.times, dtype=float) if found.times else None
    pair = (found.process_mean, found.process_std) if found.process_mean else (found.mean, found.std)
    targets, stated, mean, std = (
        np.array(rows, dtype=float).reshape(len(found.rows), -1) for rows in (found.targets, found.mean, *pair)
    )
    return targets, carried(Prediction.from_std(mean, std, found.df), moved, stated, times)


def field_data_of(model: FieldRegressor) -> FieldTableData | None:
    """Return what ``swwl fit`` wrote into a model of fields, or None where its metadata are the user's own.

    Examples
    --------
    >>> from swwl import FieldRegressor
    >>> model = FieldRegressor()
    >>> model.metadata_ = {"note": "mine"}
    >>> field_data_of(model) is None
    True
    """
    if "train" not in model.metadata_ or "ranges" not in model.metadata_:
        return None
    with located("The metadata of the model"):
        return restored(FieldTableData, model.metadata_)


def plain_score(score: MeshScore, case: int) -> Record:
    """Return a score as JSON holds it: NaN is None; ``case`` is the number of the held-out case."""
    row = {name: None if value != value else value for name, value in score._asdict().items()}
    return row | {"mean": list(score.mean), "case": case}


def held_out_scores(model: FieldRegressor) -> dict[str, list[tuple[int, MeshScore]]]:
    """Return the scores of held-out meshes by field: (number of the held-out case, score)."""
    data = field_data_of(model)
    if data is None:
        return {}
    return {name: [(row.case, row.score()) for row in rows] for name, rows in data.held_out_scores.items()}


def field_score_rows(model: FieldRegressor) -> list[Record]:
    """Return one row per field and kind of test: by cross-validation and, where there are any, on held-out meshes."""
    names = _training_names(model)
    held_out = held_out_scores(model)
    known = {row["field"]: row for row in model.cross_validated().to_dict("records")}
    rows = []
    for field in model.field_names_:
        if field in known:
            rows.append(_of_folds(known[field], names))
        if held_out.get(field):
            rows.append({"field": field, "test": HELD_OUT} | pooled([s for _, s in held_out[field]])._asdict())
    return rows


def _of_folds(row: Record, names: Sequence[str]) -> Record:
    """Return the scores of folds in the words of those of held-out meshes, as far as they go."""
    number = int(row["worst"])
    kept = {name: float(row[name]) for name in ("rrmse", "q2", "max_error", "coverage", "worst_rrmse")}
    return {
        "field": row["field"],
        "test": FOLDS,
        "n": len(names) or None,
        **kept,
        "worst_coverage": float(row["least_coverage"]),
        "worst": names[number] if number < len(names) else f"mesh {number}",
    }


def _training_names(model: FieldRegressor) -> list[str]:
    """Return the names of the training meshes, where they are known."""
    data = field_data_of(model)
    return [] if data is None else data.names()[0]
