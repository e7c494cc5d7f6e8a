"""What clients may ask, declared: names, types, bounds. The description of all addresses comes from here, too.

A question that is not one is refused in one line that names the field, what was found and what was expected.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, TypeVar

import pandas as pd
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from swwl.errors import InputError
from swwl.serve.http.limits import Limits
from swwl.storage.checks import shown

Asked = TypeVar("Asked", bound=BaseModel)

_STEPS = 41
_MOST_LEVEL = 0.999999  # beyond, ends of intervals run off to infinity
_MOST_ASKED = 100
# Tags of what may come in two forms; they begin unlike any name, so that messages can leave them out.
_TEXT, _OBJECT, _LIST = "<text>", "<object>", "<list>"
_MESHES, _ROWS = "a text, or an object of texts by column", "a list of rows, or an object of columns"


def _form(value: object) -> str | None:
    return next((tag for kind, tag in ((str, _TEXT), (dict, _OBJECT), (list, _LIST)) if isinstance(value, kind)), None)


Value = Annotated[
    object, WithJsonSchema({"type": ["number", "string", "array"], "description": "as the model's input holds them"})
]
Inputs = Annotated[dict[str, Value], Field(description="values by name", examples=[{"speed": 17188, "pressure": 1.41}])]
Meshes = Annotated[
    Annotated[str, Tag(_TEXT)] | Annotated[dict[str, str], Tag(_OBJECT)],
    Discriminator(_form, _MESHES, _MESHES),
]
Column = Annotated[str | None, Field(description="of the mesh, where there are several")]
Rows = Annotated[
    Annotated[list[dict[str, Value]], Tag(_LIST)] | Annotated[dict[str, list[Value]], Tag(_OBJECT)],
    Discriminator(_form, _ROWS, _ROWS),
]


class _Strict(BaseModel):
    """An object with known keys, whose values are taken as they are."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, asked: object) -> object:
        names = [field.alias or name for name, field in cls.model_fields.items()]
        for name in asked if isinstance(asked, dict) else ():
            if name not in names:
                found = str(name)[:80]
                raise InputError(f"The request has an unknown key {found!r}; known keys are {', '.join(names)}.")
        return asked


class MeshQuestion(_Strict):
    """About a mesh."""

    model: str | None = Field(None, description="name of a model; the first one by default")
    mesh: Meshes | None = Field(
        None,
        description=(
            "PATH of a file under --meshes, upload:DIGEST of a mesh that /api/mesh keeps, train:COLUMN:NUMBER or "
            "test:COLUMN:NUMBER of a case that the model knows; an object of them by column where there are several"
        ),
    )


class CaseQuestion(MeshQuestion):
    """About one case: a mesh and its operating conditions."""

    inputs: Inputs | None = None


class SurfaceQuestion(MeshQuestion):
    """What to draw of a mesh."""

    column: Column = None


class SensitivityQuestion(CaseQuestion):
    """Where moving nodes changes a prediction."""

    column: Column = None


class FieldQuestion(CaseQuestion):
    """Fields at all nodes."""

    column: Column = None
    format: Literal["bytes", "vtu"] = "bytes"
    time: float | None = Field(None, description="of a model of fields over time; the last one by default")


class HistoryQuestion(CaseQuestion):
    """How fields change at a node, of a model of fields over time."""

    node: int | None = Field(None, description="by its number; by default where the first field changes most")


class LevelQuestion(CaseQuestion):
    """Numbers with intervals."""

    level: float = Field(0.95, gt=0, le=_MOST_LEVEL, description="probability of the interval")


class PredictQuestion(LevelQuestion):
    """Numbers of one case; of a model of fields, also values at places and forces on groups."""

    probe: list[list[float]] = Field([], max_length=_MOST_ASKED, description="places, each by its coordinates")
    force_on: list[str] = Field([], max_length=_MOST_ASKED, description="names of groups of faces, such as body*")


class Sweep(_Strict):
    """Values of an input: listed, or evenly spaced between two ends."""

    name: str
    values: list[float] | None = Field(None, min_length=1)
    first: float | None = Field(None, alias="from", description="the least of the training cases by default")
    last: float | None = Field(None, alias="to", description="the largest of the training cases by default")
    n: int = Field(_STEPS, ge=2)

    @field_validator("values", "n")
    @classmethod
    def _not_too_many(cls, value: list[float] | int | None, info: ValidationInfo) -> list[float] | int | None:
        n, limits = len(value) if isinstance(value, list) else value, info.context
        if n is not None and isinstance(limits, Limits) and n > limits.rows:
            raise InputError(f"The request asks for {shown(n)} points, but at most {limits.rows} are drawn.")
        return value


class CurveQuestion(LevelQuestion):
    """Numbers along one input, for each of several values of another."""

    sweep: Sweep
    each: Sweep | None = None


class Split(BaseModel):
    """Rows of a table, and the names of its columns."""

    columns: list[str]
    data: list[list[Value]]

    @model_validator(mode="after")
    def _even(self) -> Split:
        if len(set(self.columns)) != len(self.columns):
            raise InputError("columns of dataframe_split must be distinct strings.")
        if any(len(row) != len(self.columns) for row in self.data):
            raise InputError(f"Every row of data must be a list of {len(self.columns)} values.")
        return self


class Invocation(BaseModel):
    """A table in one of MLflow's forms."""

    dataframe_split: Split | None = None
    dataframe_records: Rows | None = None
    instances: Rows | None = None
    inputs: Rows | None = None

    @model_validator(mode="after")
    def _one(self) -> Invocation:
        if len(self.model_fields_set) != 1:
            names = ", ".join(type(self).model_fields)
            raise InputError(f"One of {names} is expected, and the request has {len(self.model_fields_set)} of them.")
        return self

    def frame(self) -> pd.DataFrame:
        """Return the table; columns hold whatever was sent.

        >>> Invocation(dataframe_records=[{"x": 1.5}, {"x": 2}]).frame()["x"].tolist()
        [1.5, 2]
        """
        if self.dataframe_split is not None:
            names: Iterable[str] = self.dataframe_split.columns
            columns = {name: [row[k] for row in self.dataframe_split.data] for k, name in enumerate(names)}
        else:
            rows = self.dataframe_records or self.instances or self.inputs or []
            if isinstance(rows, list):
                columns = {name: [row.get(name) for row in rows] for name in (rows[0] if rows else ())}
            else:
                columns = rows
        if len({len(values) for values in columns.values()}) > 1:
            raise InputError(f"{next(iter(self.model_fields_set))} must hold lists of the same length by name.")
        return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


class _Open(BaseModel):
    """An object whose further keys are handed back as they came."""

    model_config = ConfigDict(extra="allow")


class Node(_Open):
    """A node of a CGNS tree; its value is null, a number, a text, or an array by type, shape and bytes in base 64."""

    name: str
    label: str
    value: object = None
    children: list[Node]


class Tree(_Open):
    """A CGNS tree."""

    format: Literal["plaid-cgns-tree-json"]
    version: Literal[1]
    tree: Node


class Timed(_Open):
    """A tree at one time."""

    tree: Tree


class SampleTree(_Open):
    """A sample of PLAID: CGNS trees, one for each time."""

    format: Literal["plaid-sample-json"]
    version: Literal[1]
    trees: list[Timed] = Field(min_length=1)


class Process(BaseModel):
    """What pyplaid's client sends."""

    model: str | None = None
    sample: SampleTree


_EXPECTED = {
    "float_type": "a finite number",
    "finite_number": "a finite number",
    "int_type": "an integer",
    "string_type": "a text",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "greater_than": "greater than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "literal_error": "{expected}",
    _MESHES: _MESHES,
    _ROWS: _ROWS,
}


def checked(kind: type[Asked], asked: object, limits: Limits | None = None) -> Asked:
    """Return what was asked as an object of its class; refuse what is not of that kind.

    Parameters
    ----------
    kind : class
    asked : object
        What JSON or a form holds.
    limits : Limits, optional

    Examples
    --------
    >>> checked(PredictQuestion, {"inputs": {"speed": 17000}}).level
    0.95
    >>> checked(CurveQuestion, {"sweep": {"name": "speed", "n": 1}})
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: n of sweep must be at least 2, not 1.
    """
    try:
        return kind.model_validate(asked, context=limits)
    except ValidationError as error:
        raise _refusal(error) from None


def _refusal(error: ValidationError) -> InputError:
    first = error.errors(include_url=False)[0]
    context = first.get("ctx") or {}
    cause = context.get("error")
    if isinstance(cause, InputError):
        return cause
    names = [str(part) if isinstance(part, str) else f"entry {part}" for part in first["loc"]]
    place = (
        " of ".join(" ".join(name.split())[:80] for name in reversed(names) if not name.startswith("<"))
        or "The request"
    )
    if first["type"] == "missing":
        return InputError(f"The request needs {place}.")
    if first["type"] in _EXPECTED:
        expected = _EXPECTED[first["type"]].format(**context)
        example = ', such as {"speed": 17000}' if place == "inputs" and expected == "an object" else ""
        return InputError(f"{place} must be {expected}{example}, not {shown(first['input'])}.")
    return InputError(f"{place} is not valid: {' '.join(first['msg'].split())[:200]}.")
