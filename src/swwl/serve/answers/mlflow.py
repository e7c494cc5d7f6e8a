"""MLflow's form of questions: a table in JSON or CSV under ``/invocations``, a list of predictions back."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd

from swwl.errors import InputError
from swwl.jobs.predict import PREDICTED
from swwl.serve.http.limits import Limits
from swwl.serve.models.meshes import MeshStore
from swwl.serve.models.served import Served
from swwl.serve.requests.cases import input_value, parse
from swwl.storage.checks import shown

_FORMS = ("dataframe_split", "dataframe_records", "instances", "inputs")


def frame_of(kind: str, body: bytes) -> pd.DataFrame:
    """Return the table of a request in one of MLflow's forms.

    Parameters
    ----------
    kind : str
        Content type.
    body : bytes

    Examples
    --------
    >>> frame_of("application/json", b'{"dataframe_records": [{"x": 1.5}, {"x": 2}]}')["x"].tolist()
    [1.5, 2]
    """
    if kind == "text/csv":
        try:
            return pd.read_csv(io.BytesIO(body))
        except Exception as error:  # pandas has many ways to say that this is not a table
            raise InputError(f"The table is not CSV: {str(error)[:120]}.") from None
    asked = parse(body)
    forms = [name for name in _FORMS if name in asked]
    if len(forms) != 1:
        raise InputError(f"One of {', '.join(_FORMS)} is wanted, and the request has {len(forms)} of them.")
    given = asked[forms[0]]
    if forms[0] == "dataframe_split":
        good = (
            isinstance(given, dict) and isinstance(given.get("columns"), list) and isinstance(given.get("data"), list)
        )
        if not good:
            raise InputError("dataframe_split must be an object with the lists columns and data.")
        names, rows = given["columns"], given["data"]
        if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise InputError("columns of dataframe_split must be different texts.")
        if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
            raise InputError(f"Every row of data must be a list of {len(names)} values.")
        records = [dict(zip(names, row, strict=True)) for row in rows]
    elif isinstance(given, dict):  # columns by name
        lengths = {len(column) if isinstance(column, list) else -1 for column in given.values()}
        if len(lengths) != 1 or -1 in lengths:
            raise InputError(f"{forms[0]} must hold lists of the same length by name.")
        records = [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]
    else:
        records = given
    if not isinstance(records, list) or not records or not all(isinstance(row, dict) for row in records):
        raise InputError(f"{forms[0]} must hold rows, not {shown(given)}.")
    return pd.DataFrame({name: pd.Series([row.get(name) for row in records], dtype=object) for name in records[0]})


def invoke(served: Served, store: MeshStore, frame: pd.DataFrame, limits: Limits) -> dict[str, Any]:
    """Predict every row of a table; columns of meshes hold references.

    Parameters
    ----------
    served : Served
    store : MeshStore
    frame : DataFrame
    limits : Limits
    """
    if not 0 < len(frame) <= limits.rows:
        raise InputError(f"The table has {len(frame)} rows, but 1 to {limits.rows} are taken.")
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
        values = [_checked(served, one["name"], value, row) for row, value in enumerate(frame[one["name"]])]
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


def _checked(served: Served, name: str, value: Any, row: int) -> Any:
    value = value.item() if hasattr(value, "item") else value
    try:
        return input_value(served, name, value)
    except InputError as error:
        raise InputError(f"Row {row}: {error}") from None
