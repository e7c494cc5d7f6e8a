"""From a model of curves and a table to predicted curves in the user's own form; scores where the truth is known.

Curves that came as wide columns go out as wide columns, ``cp_mean_000``, …; others as a CSV file for every case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.formatting import Record
from swwl.jobs.predict import (
    DOMAIN_COLUMNS,
    FITTED,
    OUTSIDE,
    PREDICTED,
    UNSEEN,
    domain_columns,
    graph_columns,
    input_columns,
    mesh_names,
    with_meshes_apart,
)
from swwl.parallel import Progress
from swwl.regression.curves.numbers import Crossing, CurveNumber, name_of
from swwl.storage.memory import Memory
from swwl.tables.places import rows_named
from swwl.tables.series import Curves, curve_columns, table_curves, with_files

if TYPE_CHECKING:
    from swwl.regression.curves.cases import CurveCases
    from swwl.regression.curves.estimator import CurveRegressor

Array = NDArray[np.float64]

# The column that names the files of predicted curves.
CURVE_FILE = "predicted_curve"


class Compared(NamedTuple):
    """A true curve and what was predicted of it, (p,) each, at the places where it is known."""

    places: Array
    truth: Array
    mean: Array
    lower: Array
    upper: Array
    whole_lower: Array
    whole_upper: Array


def compare_curves(cases: CurveCases, curves: Sequence[Curves | None]) -> list[Compared | None]:
    """Compare predicted curves with true ones, each at its own places in the range of the model.

    Parameters
    ----------
    cases : CurveCases
        M of them.
    curves : sequence of M Curves or None
        One curve each, where it is known.
    """
    low, high = cases.basis.grid[0], cases.basis.grid[-1]
    found: list[Compared | None] = []
    for row, own in enumerate(curves):
        inner = None if own is None else (own.places[0] >= low) & (own.places[0] <= high)
        if own is None or inner is None or not inner.any():
            found.append(None)
            continue
        case = cases.case(row, own.places[0][inner])
        parts = [case.predict(), *case.predict_interval(), *case.predict_interval(0.9, simultaneous=True)]
        found.append(Compared(own.places[0][inner], own.values[0][inner], *(part[0] for part in parts)))
    return found


def score_curves(
    model: CurveRegressor, compared: Sequence[Compared | None], fitted: NDArray[np.bool_], test: str | None = None
) -> list[Record]:
    """Score predicted curves where the truth is known, those that the model was ``fitted`` to, (M,), by themselves."""
    rows = []
    known = [(one, bool(seen)) for one, seen in zip(compared, fitted, strict=True) if one is not None]
    unseen = UNSEEN if any(seen for _, seen in known) else "given in table"
    for words, among in ((test or unseen, False), (FITTED, True)):
        own = [one for one, seen in known if seen is among]
        if own:
            error = float(np.mean([((one.mean - one.truth) ** 2).mean() for one in own]))
            off = [one.truth - np.interp(one.places, model.grid_, model.basis_.mean) for one in own]
            varies = float(np.mean([(one**2).mean() for one in off]))
            inside = [((one.lower <= one.truth) & (one.truth <= one.upper)).mean() for one in own]
            whole = [((one.whole_lower <= one.truth) & (one.truth <= one.whole_upper)).all() for one in own]
            rows.append(
                {
                    "curve": model.curve_,
                    "test": words,
                    "n": len(own),
                    "rmse": float(np.sqrt(error)),
                    "q2": 1.0 - error / varies if varies > 0 else 0.0,
                    "coverage": float(np.mean(inside)),
                    "whole": float(np.mean(whole)),
                }
            )
    return rows


def known_curves(cells: pd.DataFrame, curve: str) -> list[Curves | None]:
    """Return the curves that a table holds already, one by one; None where there is none."""
    found: list[Curves | None] = []
    for row, there in enumerate(cells.notna().all(axis=1)):
        try:
            found.append(table_curves(cells.iloc[[row]], curve) if there else None)
        except InputError:  # what is not a curve is not compared with
            found.append(None)
    return found


class AskedOfCurves(NamedTuple):
    """What is asked of predicted curves besides: derived numbers, and bands of whole curves."""

    numbers: Sequence[CurveNumber] = ()
    whole: bool = False


_NOTHING = AskedOfCurves()


def asked_of_curves(peak: bool, integral: bool, crossings: Sequence[float], whole: bool) -> AskedOfCurves:
    """Return what options ask for.

    >>> asked_of_curves(False, True, [0.5, 0.5], False).numbers
    ['integral', Crossing(value=0.5)]
    """
    named: list[CurveNumber] = ["peak", "place_of_peak", "lowest", "place_of_lowest"] if peak else []
    named += ["integral"] if integral else []
    return AskedOfCurves([*named, *dict.fromkeys(map(Crossing, crossings))], whole)


class PredictedCurves(NamedTuple):
    """What became of a table: with new columns, the curves of every row, scores where it holds curves, the domain."""

    table: pd.DataFrame
    curves: list[pd.DataFrame]
    scores: list[Record]
    domain: pd.DataFrame


def check_curve_names(model: CurveRegressor, frame: pd.DataFrame, path: Path, asked: AskedOfCurves) -> None:
    """Refuse a table that has columns where predictions go."""
    own = [f"{model.curve_}_{name_of(one)}_{key}" for one in asked.numbers for key in PREDICTED]
    for name in [CURVE_FILE, *own, *wide_names(model, "mean"), OUTSIDE, *DOMAIN_COLUMNS]:
        if name in frame.columns:
            raise InputError(f"{path}: already has a column {name!r}, which is where predictions go; rename it.")


def wide_names(model: CurveRegressor, what: str) -> list[str]:
    """Return the columns that wide predictions fill: ``cp_mean_000`` where the curve came as ``cp_000``."""
    if model.form_ != "wide":
        return []
    begin = len(model.curve_) + 1
    return [f"{model.curve_}_{what}_{name[begin:]}" for name in model.columns_]


def curve_cases(
    model: CurveRegressor,
    frame: pd.DataFrame,
    path: Path,
    memory: Memory | None = None,
    progress: Progress | None = None,
) -> CurveCases:
    """Represent every row of a table, whose meshes are relative to its ``path``; mistakes name the line."""
    inputs = input_columns(model, frame, path)
    with rows_named(frame, path, range(len(frame))):
        return model.cases(inputs, memory=memory, progress=progress)


def predict_curve_table(
    model: CurveRegressor,
    frame: pd.DataFrame,
    path: Path,
    cases: CurveCases,
    *,
    asked: AskedOfCurves = _NOTHING,
    fitted: NDArray[np.bool_] | None = None,
    apart: Mapping[int, Sequence[str]] | None = None,
) -> PredictedCurves:
    """Return the curves of every row of a table, beside its columns.

    Parameters
    ----------
    model : CurveRegressor
    frame : DataFrame of M rows
        What :func:`~swwl.jobs.table.read_table` returned.
    path : path
        Of the table: paths of curves are relative to it.
    cases : CurveCases
        Its rows.
    asked : AskedOfCurves
    fitted : ndarray of bool, shape (M,), optional
        Rows that the model was fitted to, which are scored by themselves.
    apart : mapping of int to sequence of str, optional
        The mesh columns of rows whose mesh is unlike the training meshes.
    """
    parts = {"mean": cases.predict(), "std": cases.predict_std()}
    parts["lower95"], parts["upper95"] = cases.predict_interval()
    if asked.whole:
        parts["lower95_whole"], parts["upper95_whole"] = cases.predict_interval(simultaneous=True)
    columns: dict[str, object] = {}
    for what, values in parts.items():
        columns |= dict(zip(wide_names(model, what), values.T, strict=False))
    numbers = cases.derived(list(asked.numbers)) if asked.numbers else pd.DataFrame(index=frame.index)
    columns |= {f"{model.curve_}_{name}": numbers[name].to_numpy() for name in map(str, numbers)}
    columns = {name.removesuffix("lower") + "lower95" if name.endswith("_lower") else
               name.removesuffix("upper") + "upper95" if name.endswith("_upper") else name: values
               for name, values in columns.items()}  # fmt: skip
    names = curve_columns(frame, model.curve_)
    scores: list[Record] = []
    if names:
        compared = compare_curves(cases, known_curves(with_files(frame[names], path), model.curve_))
        scores = score_curves(model, compared, np.zeros(len(frame), bool) if fitted is None else fitted)
    columns[OUTSIDE] = with_meshes_apart(cases.domain["outside"], apart)
    columns |= domain_columns(cases.domain)
    table = pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1)
    return PredictedCurves(table, curve_tables(model, parts), scores, cases.domain)


def curve_tables(model: CurveRegressor, parts: dict[str, Array]) -> list[pd.DataFrame]:
    """Return a table per case, as its CSV file has it: the abscissa, the curve, and how sure it is.

    Abscissa and curve are called what they are called in the user's files.
    """
    named = model.columns_ if model.form_ == "files" and len(model.columns_) == 2 else ("abscissa", model.curve_)
    ends = {what: f"_{what}" * (what != "mean") for what in parts}
    return [
        pd.DataFrame({named[0]: model.grid_} | {f"{named[1]}{ends[what]}": own[row] for what, own in parts.items()})
        for row in range(len(parts["mean"]))
    ]


def curve_file_names(model: CurveRegressor, frame: pd.DataFrame, path: Path) -> list[str]:
    """Name the file of every row after its mesh; where there are none, after its line."""
    meshes = graph_columns(model)
    if meshes:
        return [f"{Path(name).stem}.csv" for name in mesh_names(frame, path, meshes[0])]
    width = len(str(len(frame)))
    return [f"case_{row:0{width}d}.csv" for row in range(len(frame))]
