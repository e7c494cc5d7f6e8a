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
from swwl.gp.prediction import Prediction
from swwl.jobs.predict import check_names, prediction_table
from swwl.jobs.table import read_table, require_numbers, require_rows, require_texts, rows_named, where
from swwl.mesh.facts import apart
from swwl.restore import shown
from swwl.serve.cases import a_level, a_number, an_object, case_table, input_value, known_keys
from swwl.serve.limits import Limits
from swwl.serve.meshes import Known, MeshStore
from swwl.serve.served import Served

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
    prepared = served.prepared(meshes)
    prediction = prepared.predict_distribution(table).columns()
    domain = domain_of(served, meshes, table)
    lower, upper = prediction.interval(level)
    targets = {}
    for k, name in enumerate(served.targets):
        std = float(prediction.std[0, k])
        targets[name] = {
            "mean": float(prediction.mean[0, k]),
            "std": std,
            "lower": float(lower[0, k]),
            "upper": float(upper[0, k]),
            "trust": trust(domain["inside"], std, float(served.usual_std[k])),
        }
    return {
        "model": served.name,
        "level": level,
        "targets": targets,
        "domain": domain,
        "meshes": {column: {"name": known.name, "nodes": known.item.n_nodes} for column, known in meshes.items()},
        "map": served.place(prepared) if served.mesh_columns else None,
    }


def trust(inside: bool, std: float, usual: float) -> str:
    """Say in a word how far a prediction may be trusted.

    "tested": the case is like the training cases, and the model is as sure of it as of those when they are left out.
    "unsure": it is less sure than of 95 of 100 of them. "untested": the case is unlike the training cases.

    >>> trust(True, 1.0, 2.0), trust(True, 3.0, 2.0), trust(False, 1.0, 2.0)
    ('tested', 'unsure', 'untested')
    """
    if not inside:
        return "untested"
    return "tested" if std <= usual else "unsure"


def domain_of(served: Served, meshes: Mapping[str, Known], table: pd.DataFrame) -> dict[str, Any]:
    """Say whether one case is like the training cases: inputs inside their ranges, meshes like theirs."""
    outside = [
        one["name"]
        for one in served.inputs
        if "least" in one and not one["least"] <= float(table[one["name"]].iloc[0]) <= one["largest"]
    ]
    notes = [f"{name} lies outside the training range" for name in outside]
    for column, known in meshes.items():
        typical = served.typical(column)
        found = [] if typical is None or known.facts is None else apart(known.facts, typical, "the training meshes")
        notes += [f"{known.name} {one.found}" for one in found]
        outside += [column] * bool(found)
    answer: dict[str, Any] = {"inside": not outside, "outside": outside, "notes": notes}
    judge = getattr(served.model, "domain", None)
    if judge is not None:
        full = table.assign(**{name: pd.Series([known.item], dtype=object) for name, known in meshes.items()})
        row = judge(full).iloc[0]
        answer |= {"inside": bool(row["inside"]), "score": float(row["score"])}
        if not answer["inside"] and not outside:
            answer["notes"] = ["the case is unlike the training cases"]
    return answer


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
    prediction = served.prepared(meshes).predict_distribution(table).columns()
    lower, upper = prediction.interval(level)
    curves = []
    for j, value in enumerate(values):
        rows = slice(j * len(along), (j + 1) * len(along))
        found = {
            target: {"mean": prediction.mean[rows, k], "std": prediction.std[rows, k]}
            | {"lower": lower[rows, k], "upper": upper[rows, k]}
            for k, target in enumerate(served.targets)
        }
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
    check_names(served.model, frame, path)
    for one in served.inputs:
        require = {"categories": require_texts, "rows": require_rows}.get(one["holds"])
        if require is None:
            require_numbers(frame, path, one["name"], "input")
        else:
            require(frame, path, one["name"])
    for column in served.mesh_columns:
        if column not in frame.columns:
            raise InputError(f"{path}: has no column {column!r} for meshes; it has: {', '.join(frame.columns)}.")
        for row, name in enumerate(frame[column]):
            try:
                store.file(str(name))
            except InputError as error:
                raise InputError(f"{path}: {where(frame, path, row)}: {error}") from None
    return frame


def table_lines(served: Served, store: MeshStore, frame: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a CSV file, with predictions beside the columns of a checked table; some rows at a time."""
    path = Path("table.csv")
    for start in range(0, len(frame), _CHUNK):
        part = frame.iloc[start : start + _CHUNK]
        columns: dict[str, Any] = {}
        for one in served.inputs:
            holds = {"categories": require_texts, "rows": require_rows}.get(one["holds"])
            columns[one["name"]] = (
                require_numbers(part, path, one["name"], "input") if holds is None else holds(part, path, one["name"])
            )
        with rows_named(frame, path, range(start, start + len(part))):
            known = {name: [store.read(store.file(str(file))) for file in part[name]] for name in served.mesh_columns}
            for name, found in known.items():
                columns[name] = pd.Series([one.item for one in found], index=part.index, dtype=object)
            table = pd.DataFrame(columns, index=part.index)
            prediction: Prediction = served.model.predict_distribution(table).columns()
        strange: dict[int, list[str]] = {}
        for name, found in known.items():
            typical = served.typical(name)
            for row, own in enumerate(found):
                if typical is not None and own.facts is not None and apart(own.facts, typical):
                    strange.setdefault(row, []).append(name)
        result = prediction_table(served.model, part, prediction, strange)
        yield _as_csv(result, header=start == 0)


def _as_csv(frame: pd.DataFrame, header: bool) -> str:
    text = io.StringIO()
    frame.to_csv(text, index=False, header=header, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    return text.getvalue()
