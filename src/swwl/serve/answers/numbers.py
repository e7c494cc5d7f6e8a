"""Answers about numbers: one case, curves of one mesh, rows of a table, rows in MLflow's form."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.errors import InputError, located
from swwl.fields.numbers import ForceOn, Probe
from swwl.jobs.predict import PREDICTED
from swwl.serve.http.limits import Limits
from swwl.serve.models.meshes import Known, MeshStore
from swwl.serve.models.served import Judged, Served
from swwl.serve.requests.questions import CurveQuestion, PredictQuestion, Sweep
from swwl.tables.places import require_numbers, require_rows, require_texts, rows_named, where

_CHUNK = 64
_TABLE = Path("table.csv")  # what a client's table is called, whatever its file


def predict(served: Served, meshes: Mapping[str, Known], question: PredictQuestion) -> dict[str, object]:
    """Predict one case: for every target mean, std and interval, and whether the model was tested for such a case.

    Parameters
    ----------
    served : Served
    meshes : mapping of str to Known
        By column.
    question : PredictQuestion
    """
    table = served.case(question.inputs)
    asked = [*(Probe(tuple(place)) for place in question.probe), *map(ForceOn.of_text, question.force_on)]
    judged = served.judge(meshes, table, question.level, list(dict.fromkeys(asked)))
    domain = domain_of(served, meshes, table, judged)
    targets = {name: one | {"trust": trust(domain["inside"], one["unsure"])} for name, one in judged.targets.items()}
    return {
        "model": served.name,
        "level": question.level,
        "targets": targets,
        "domain": domain,
        "meshes": {column: {"name": known.name, "nodes": known.item.n_nodes} for column, known in meshes.items()},
        "map": judged.place,
    } | ({"curves": dict(judged.curves)} if judged.curves else {})


def trust(inside: bool | None, unsure: bool) -> str:
    """Say in a word how far a prediction may be trusted.

    "tested": the case is like the training cases, and the model is as sure of it as of those when they are left out.
    "unsure": it is less sure than of 95 of 100 of them; its interval is widened. "untested": the case is unlike the
    training cases. "unknown": there are too few training cases to tell.

    >>> trust(True, False), trust(True, True), trust(False, False), trust(None, False)
    ('tested', 'unsure', 'untested', 'unknown')
    """
    if inside is False:
        return "untested"
    return "unsure" if unsure else "unknown" if inside is None else "tested"


def domain_of(served: Served, meshes: Mapping[str, Known], table: pd.DataFrame, judged: Judged) -> dict[str, Any]:
    """Say whether one case is like the training cases: what the model says, ranges of inputs, and meshes at a glance.

    Returns
    -------
    dict
        ``inside``, None where fewer than 100 training cases cannot tell; ``outside``, the inputs that are not;
        ``notes`` in words; ``score`` where the model has one.
    """
    values = dict(zip(table.columns, table.to_numpy()[0], strict=True))
    outside = [
        one["name"]
        for one in served.inputs
        if "least" in one and not one["least"] <= float(values[one["name"]]) <= one["largest"]
    ]
    notes = [f"{name} lies outside the training range" for name in outside]
    apart = False
    for column, known in meshes.items():
        found = served.strange(column, known)
        apart = apart or bool(found)
        notes += found
        outside += [column] * bool(found)
    inside = False if apart or (judged.inside is None and outside) else judged.inside
    if inside is False and judged.inside is False:
        said = tuple(text for name in outside for text in (f"{name} is ", f"the mesh in {name!r} "))
        notes += [text for text in judged.why.split("; ") if text and not text.startswith(said)]
    elif inside is None and judged.why:
        notes.append(f"only {'ranges, sizes and orientations' if meshes else 'ranges'} were compared: {judged.why}")
    return {"inside": inside, "outside": outside, "notes": notes, "score": judged.score}


def curve(served: Served, meshes: Mapping[str, Known], question: CurveQuestion, limits: Limits) -> dict[str, object]:
    """Predict along a sweep of one input, for each of several values of another.

    Parameters
    ----------
    served : Served
    meshes : mapping of str to Known
    question : CurveQuestion
    limits : Limits
    """
    name, along = _swept(served, "sweep", question.sweep)
    each: str | None = None
    values: Sequence[float | None] = [None]
    if question.each is not None:
        each, values = _swept(served, "each", question.each)
    if each == name:
        raise InputError(f"The input {name!r} is given twice, by sweep and each; give it once.")
    if len(along) * len(values) > limits.rows:
        raise InputError(
            f"sweep and each ask for {len(along) * len(values)} points, but at most {limits.rows} are drawn."
        )
    inputs = dict(question.inputs or {})
    for own, one in ((name, along[0]), (each, values[0])):
        if own is not None:
            inputs[own] = one  # the case below must be complete
    case = served.case(inputs)
    table = case.loc[np.zeros(len(along) * len(values), dtype=int)].reset_index(drop=True)
    table[name] = np.tile(along, len(values))
    if each is not None:
        table[each] = np.repeat(np.array(values, dtype=float), len(along))
    told = served.along(meshes, table, question.level)
    curves = []
    for j, value in enumerate(values):
        rows = slice(j * len(along), (j + 1) * len(along))
        found = {target: {key: part[rows, k] for key, part in told.items()} for k, target in enumerate(served.targets)}
        curves.append({"each": value, "targets": found})
    return {
        "model": served.name,
        "sweep": {"name": name, "values": along},
        "each": each,
        "level": question.level,
        "curves": curves,
    }


def _swept(served: Served, what: str, sweep: Sweep) -> tuple[str, list[float]]:
    """Return the input that changes, and the values that it takes."""
    known = next((one for one in served.inputs if one["name"] == sweep.name and one["holds"] == "numbers"), None)
    if known is None:
        names = ", ".join(one["name"] for one in served.inputs if one["holds"] == "numbers") or "none"
        raise InputError(f"The model has no numeric input {sweep.name[:80]!r}; it has: {names}.")
    values = sweep.values
    if values is None:
        first = known.get("least") if sweep.first is None else sweep.first
        last = known.get("largest") if sweep.last is None else sweep.last
        if first is None or last is None:
            raise InputError(f"{what} needs from and to: the model does not know the range of {sweep.name!r}.")
        # Each end is checked by itself: the difference of two of them could be too large for a number.
        start, stop = (float(served.value(sweep.name, end)) for end in (first, last))
        values = np.linspace(start, stop, sweep.n).tolist()
    return sweep.name, [float(served.value(sweep.name, value)) for value in values]


def table_inputs(served: Served, store: MeshStore, frame: pd.DataFrame, limits: Limits) -> None:
    """Check a table that a client sent; its meshes are paths under the folder of meshes. Mistakes name the line."""
    path = _TABLE
    if len(frame) > limits.rows:
        raise InputError(f"{path}: has {len(frame)} rows, but at most {limits.rows} are accepted.")
    served.check_names(frame, path)
    _numbers(served, frame, path)
    for column in served.mesh_columns:
        if column not in frame.columns:
            raise InputError(f"{path}: has no column {column!r} for meshes; it has: {', '.join(frame.columns)}.")
        for row, name in enumerate(frame[column]):
            with located(f"{path}: {where(frame, path, row)}"):
                store.file(str(name))


def _numbers(served: Served, frame: pd.DataFrame, path: Path) -> dict[str, Any]:
    """Return the columns of a table that a model needs beside meshes, checked."""
    columns: dict[str, Any] = {}
    for one in served.inputs:
        require = {"categories": require_texts, "rows": require_rows}.get(one["holds"])
        name = one["name"]
        columns[name] = require_numbers(frame, path, name, "input") if require is None else require(frame, path, name)
    return columns


def table_lines(served: Served, store: MeshStore, frame: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a CSV file, with predictions beside the columns of a checked table; some rows at a time."""
    path = _TABLE
    for start in range(0, len(frame), _CHUNK):
        part = frame.iloc[start : start + _CHUNK]
        columns = _numbers(served, part, path)
        strange: dict[int, list[str]] = {}
        with rows_named(frame, path, range(start, start + len(part))):
            for name in served.mesh_columns:
                known = [store.read(store.file(str(file))) for file in part[name]]
                columns[name] = pd.Series([one.item for one in known], index=part.index, dtype=object)
                for row, one in enumerate(known):
                    if served.strange(name, one):
                        strange.setdefault(row, []).append(name)
            result = served.with_predictions(part, pd.DataFrame(columns, index=part.index), strange)
        yield _as_csv(result, header=start == 0)


def _as_csv(frame: pd.DataFrame, header: bool) -> str:
    text = io.StringIO()
    frame.to_csv(text, index=False, header=header, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    return text.getvalue()


def csv_frame(content: bytes) -> pd.DataFrame:
    """Return the table that CSV holds, as MLflow sends it."""
    try:
        return pd.read_csv(io.BytesIO(content))
    except Exception as error:  # pandas has many ways to say that this is not a table
        raise InputError(f"The table is not CSV: {' '.join(str(error).split())[:120]}.") from None


def invoke(served: Served, store: MeshStore, frame: pd.DataFrame, limits: Limits) -> dict[str, object]:
    """Predict every row of a table as MLflow asks for it; columns of meshes hold references.

    Parameters
    ----------
    served : Served
    store : MeshStore
    frame : DataFrame
    limits : Limits
    """
    if not 0 < len(frame) <= limits.rows:
        raise InputError(f"The table has {len(frame)} rows, but 1 to {limits.rows} are accepted.")
    columns: dict[str, Any] = {}
    for name in [*served.mesh_columns, *(one["name"] for one in served.inputs)]:
        if name not in frame.columns:
            raise InputError(
                f"The model needs column {name!r}, but the table has: {', '.join(map(str, frame.columns))}."
            )
    for name in served.mesh_columns:
        items = [store.find(str(reference), served.files).item for reference in frame[name]]
        columns[name] = pd.Series(items, dtype=object)
    for one in served.inputs:
        values = []
        for row, value in enumerate(frame[one["name"]].tolist()):
            with located(f"Row {row}"):
                values.append(served.value(one["name"], value))
        columns[one["name"]] = pd.Series(values) if one["holds"] != "rows" else pd.Series(values, dtype=object)
    found = dict(zip(PREDICTED, served.rows(pd.DataFrame(columns)).values(), strict=True))
    return {
        "predictions": [
            {
                f"{target}_{key}": values[row, k]
                for k, target in enumerate(served.targets)
                for key, values in found.items()
            }
            for row in range(len(frame))
        ]
    }
