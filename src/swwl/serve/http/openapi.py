"""The description of all addresses, in OpenAPI's form."""

from __future__ import annotations

from typing import Any

import swwl
from swwl.serve.http.limits import Limits

_OBJECT: dict[str, Any] = {"type": "object"}
_MESH = {
    "description": (
        "PATH of a file under --meshes, upload:DIGEST of a mesh that /api/mesh keeps, train:COLUMN:NUMBER or "
        "test:COLUMN:NUMBER of a case that the model knows; an object of them by column where there are several"
    ),
    "oneOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}],
}
_INPUTS = {"type": "object", "description": "values by name", "example": {"speed": 17188, "pressure": 1.41}}
_CASE = {"model": {"type": "string"}, "mesh": _MESH, "inputs": _INPUTS}
_LEVEL = {"level": {"type": "number", "default": 0.95}}
_SWEEP = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "values": {"type": "array", "items": {"type": "number"}},
        "from": {"type": "number"},
        "to": {"type": "number"},
        "n": {"type": "integer"},
    },
}


def describe(limits: Limits) -> dict[str, Any]:
    """Return the description.

    Parameters
    ----------
    limits : Limits
        Which it tells.
    """
    packed = "four bytes (the length of a header), a JSON header that says where arrays lie, and the arrays"
    paths = {
        "/health": {"get": _plain("Whether the server is there")},
        "/api/models": {"get": _plain("Models by name")},
        "/api/model": {
            "get": _plain("A model: inputs with ranges, targets, scores, importance, map, cases", ["model"])
        },
        "/api/meshes": {"get": _plain("Mesh files under --meshes")},
        "/api/mesh": {"post": _asking("Keep meshes that are sent, to ask about them by reference", {})},
        "/api/predict": {"post": _asking("One case: mean, std, interval and trust of every target", _CASE | _LEVEL)},
        "/api/curve": {
            "post": _asking("Curves of one mesh with bands", _CASE | _LEVEL | {"sweep": _SWEEP, "each": _SWEEP})
        },
        "/api/field": {
            "post": _asking(
                f"Fields at all nodes: {packed}; or a VTU file",
                _CASE | {"format": {"enum": ["bytes", "vtu"]}},
                "application/octet-stream",
            )
        },
        "/api/surface": {"post": _asking(f"What to draw of a mesh: {packed}", _CASE, "application/octet-stream")},
        "/api/sensitivity": {
            "post": _asking(f"Where moving nodes changes a prediction: {packed}", _CASE, "application/octet-stream")
        },
        "/api/table": {"post": _table()},
        "/invocations": {"post": _asking("MLflow's form, for tables", {"dataframe_split": _OBJECT})},
        "/process": {"post": _asking("PLAID's form: a sample in, a sample with predictions out", {"sample": _OBJECT})},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "swwl serve",
            "version": swwl.__version__,
            "description": (
                f"Models on simulation meshes. Requests of at most {limits.body} bytes, meshes of {limits.nodes} "
                f"nodes, tables of {limits.rows} rows. Errors are objects with one text, error."
            ),
        },
        "paths": paths,
    }


def _answers(kind: str = "application/json") -> dict[str, Any]:
    error = {"content": {"application/json": {"schema": _OBJECT | {"properties": {"error": {"type": "string"}}}}}}
    return {
        "200": {"description": "The answer", "content": {kind: {}}},
        "4XX": {"description": "What is wrong with the question"} | error,
        "503": {"description": "Busy, or it took too long"} | error,
    }


def _plain(summary: str, names: list[str] | None = None) -> dict[str, Any]:
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names or ()]
    return {"summary": summary, "parameters": parameters, "responses": _answers()}


def _asking(summary: str, properties: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    form = {
        "type": "object",
        "properties": {"request": schema, "mesh": {"type": "string", "format": "binary"}},
        "description": "the same object as JSON in the field request, and files named mesh or as their column",
    }
    content = {"application/json": {"schema": schema}, "multipart/form-data": {"schema": form}}
    return {"summary": summary, "requestBody": {"content": content}, "responses": _answers(kind)}


def _table() -> dict[str, Any]:
    return {
        "summary": "Predictions beside the columns of a CSV file, whose meshes are paths under --meshes",
        "requestBody": {"content": {"text/csv": {"schema": {"type": "string"}}}},
        "responses": _answers("text/csv"),
    }
