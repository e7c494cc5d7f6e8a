"""Answers about numbers: one case, curves of one mesh, rows of a table. Functions of a served model and meshes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from swwl.errors import InputError
from swwl.jobs.table import read_table
from swwl.serve.http.limits import Limits
from swwl.serve.models.meshes import Known, MeshStore
from swwl.serve.models.served import Judged, Served
from swwl.serve.requests.cases import a_level, a_number, an_object, case_table, input_value, known_keys
from swwl.storage.checks import shown
from swwl.tables.places import require_numbers, require_rows, require_texts, rows_named, where

_STEPS = 41
_CHUNK = 64


def predict(served: Served, meshes: Mapping[str, Known], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Predict one case: for every target mean, std and interval, and whether the model was tested for such a case.

    Parameters
    ----------
    served : Served
    meshes : mapping of str to Known
        By column.
    asked : mapping
        ``inputs`` by name, and ``level`` of the interval.
    """
    known_keys(asked, "model", "mesh", "inputs", "level")
    level = a_level(asked.get("level", 0.95))
    table = case_table(served, asked.get("inputs"))
    judged = served.judge(meshes, table, level)
    domain = domain_of(served, meshes, table, judged)
    targets = {name: one | {"trust": trust(domain["inside"], one["unsure"])} for name, one in judged.targets.items()}
    return {
        "model": served.name,
        "level": level,
        "targets": targets,
        "domain": domain,
        "meshes": {column: {"name": known.name, "nodes": known.item.n_nodes} for column, known in meshes.items()},
        "map": judged.place,
    }


def trust(inside: bool, unsure: bool) -> str:
    """Say in a word how far a prediction may be trusted.

    "tested": the case is like the training cases, and the model is as sure of it as of those when they are left out.
    "unsure": it is less sure than of 95 of 100 of them; its interval is doubled. "untested": the case is unlike the
    training cases.

    >>> trust(True, False), trust(True, True), trust(False, False)
    ('tested', 'unsure', 'untested')
    """
    return "untested" if not inside else "unsure" if unsure else "tested"


def domain_of(served: Served, meshes: Mapping[str, Known], table: pd.DataFrame, judged: Judged) -> dict[str, Any]:
    """Say whether one case is like the training cases: what the model says, ranges of inputs, and meshes at a glance.

    Returns
    -------
    dict
        ``inside``; ``outside``, the inputs that are not; ``notes`` in words; ``score`` where the model has one.
    """
    values = dict(zip(table.columns, table.to_numpy()[0], strict=True))
    outside = [
        one["name"]
        for one in served.inputs
        if "least" in one and not one["least"] <= float(values[one["name"]]) <= one["largest"]
    ]
    notes = [f"{name} lies outside the training range" for name in outside]
    for column, known in meshes.items():
        found = served.strange(column, known)
        notes += found
        outside += [column] * bool(found)
    inside = not outside if judged.inside is None else judged.inside and not outside
    if not inside and not notes and judged.why:
        notes = [judged.why]
    elif inside and judged.inside is None and judged.why:
        notes.append(f"only {'ranges, sizes and orientations' if meshes else 'ranges'} were compared: {judged.why}")
    return {"inside": inside, "outside": outside, "notes": notes, "score": judged.score}


def curve(served: Served, meshes: Mapping[str, Known], asked: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """Predict along a sweep of one input, for each of several values of another.

    Parameters
    ----------
    served : Served
    meshes : mapping of str to Known
    asked : mapping
        ``sweep``: an object with ``name`` and ``values``, or ``from``, ``to`` and ``n`` (by default the training
        range); ``each``: an object with ``name`` and ``values``; ``inputs``: the others; ``level``.
    limits : Limits
    """
    known_keys(asked, "model", "mesh", "inputs", "level", "sweep", "each")
    level = a_level(asked.get("level", 0.95))
    name, along = _swept(served, "sweep", asked.get("sweep"), limits)
    each, values = _swept(served, "each", asked["each"], limits) if asked.get("each") is not None else (None, [None])
    if each == name:
        raise InputError(f"The input {name!r} is given twice, by sweep and each; give it once.")
    if len(along) * len(values) > limits.rows:
        raise InputError(
            f"sweep and each ask for {len(along) * len(values)} points, but at most {limits.rows} are drawn."
        )
    inputs = dict(an_object("inputs", asked.get("inputs") or {}))
    for own, one in ((name, along[0]), (each, values[0])):
        if own is not None:
            inputs[own] = one  # the case below must be complete
    case = case_table(served, inputs)
    table = case.loc[np.zeros(len(along) * len(values), dtype=int)].reset_index(drop=True)
    table[name] = np.tile(along, len(values))
    if each is not None:
        table[each] = np.repeat(np.array(values, dtype=float), len(along))
    told = served.along(meshes, table, level)
    curves = []
    for j, value in enumerate(values):
        rows = slice(j * len(along), (j + 1) * len(along))
        found = {target: {key: part[rows, k] for key, part in told.items()} for k, target in enumerate(served.targets)}
        curves.append({"each": value, "targets": found})
    return {
        "model": served.name,
        "sweep": {"name": name, "values": along},
        "each": each,
        "level": level,
        "curves": curves,
    }


def _swept(served: Served, what: str, asked: Any, limits: Limits) -> tuple[str, list[float]]:
    given = an_object(what, asked)
    known_keys(given, "name", "values", "from", "to", "n")
    name = given.get("name")
    known = next((one for one in served.inputs if one["name"] == name and one["holds"] == "numbers"), None)
    if known is None:
        names = ", ".join(one["name"] for one in served.inputs if one["holds"] == "numbers") or "none"
        raise InputError(f"The model has no numeric input {shown(name)}; it has: {names}.")
    values = given.get("values")
    if values is None:
        n = given.get("n", _STEPS)
        if not isinstance(n, int) or isinstance(n, bool) or not 2 <= n <= limits.rows:
            raise InputError(f"n of {what} must be an integer from 2 to {limits.rows}, not {shown(n)}.")
        ends = [given.get(end, known.get(bound)) for end, bound in (("from", "least"), ("to", "largest"))]
        first, last = (a_number(f"from and to of {what}", end) for end in ends)
        values = np.linspace(first, last, n).tolist()
    if not isinstance(values, list) or not values or len(values) > limits.rows:
        raise InputError(f"values of {what} must be a list of numbers, not {shown(values)}.")
    return str(name), [float(input_value(served, str(name), value)) for value in values]


def table_inputs(served: Served, store: MeshStore, file: Path, limits: Limits) -> pd.DataFrame:
    """Read and check a table that a client sent; its meshes are paths under the folder of meshes.

    Mistakes name the line; the table is called "table" whatever its file.
    """
    path = Path(f"table{file.suffix}")
    try:
        frame = read_table(file)
    except InputError as error:
        raise InputError(str(error).replace(str(file), str(path))) from None
    if len(frame) > limits.rows:
        raise InputError(f"{path}: has {len(frame)} rows, but at most {limits.rows} are taken.")
    served.check_names(frame, path)
    _numbers(served, frame, path)
    for column in served.mesh_columns:
        if column not in frame.columns:
            raise InputError(f"{path}: has no column {column!r} for meshes; it has: {', '.join(frame.columns)}.")
        for row, name in enumerate(frame[column]):
            try:
                store.file(str(name))
            except InputError as error:
                raise InputError(f"{path}: {where(frame, path, row)}: {error}") from None
    return frame


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
    path = Path("table.csv")
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
