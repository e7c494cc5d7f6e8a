"""The description of the addresses: in OpenAPI's form for machines, and as a page for people, made of the same."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

import swwl
from swwl.serve.http.limits import Limits
from swwl.serve.models.served import Served

JSON, BYTES, CSV = "application/json", "application/octet-stream", "text/csv"
Endpoint = Callable[[Request], Awaitable[Response]]
Description = dict[str, Any]


class Address(NamedTuple):
    """Where a question is answered.

    Attributes
    ----------
    path : str
    endpoint : callable
    summary : str
        What it answers; empty where nobody needs to know.
    methods : tuple of str
    asks : class or None
        What the body of a request holds as JSON.
    sends : sequence of str
        Further media types that the body may have.
    answers : str
        Media type.
    """

    path: str
    endpoint: Endpoint
    summary: str = ""
    methods: tuple[str, ...] = ("GET",)
    asks: type[BaseModel] | None = None
    sends: Sequence[str] = ()
    answers: str = JSON


def describe(addresses: Iterable[Address], limits: Limits, served: Served, link: str, token: str = "") -> Description:
    """Return the description of addresses in OpenAPI's form; schemas are those of the classes of questions.

    Parameters
    ----------
    addresses : iterable of Address
    limits : Limits
    served : Served
        The model that examples ask.
    link : str
        Of the server, without a slash at its end, for examples.
    token : str
        That requests must bring, if any.
    """
    told = [one for one in addresses if one.summary]
    kinds = list(dict.fromkeys(one.asks for one in told if one.asks is not None))
    _, schemas = models_json_schema(
        [(kind, "validation") for kind in kinds], ref_template="#/components/schemas/{model}"
    )
    asked = examples(served)
    by = f"curl -H 'Authorization: Bearer {token}' " if token else "curl "
    samples = {one.path: by + asked.get(one.path, "{link}" + one.path).replace("{link}", link) for one in told}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "swwl serve",
            "version": swwl.__version__,
            "description": (
                f"Models on simulation meshes. Requests of at most {limits.body} bytes, meshes of {limits.nodes} "
                f"nodes, tables and curves of {limits.rows} rows. Errors are objects with one text, error."
            ),
        },
        "paths": {
            one.path: {method.lower(): _operation(one, samples[one.path]) for method in one.methods} for one in told
        },
        "components": {"schemas": schemas.get("$defs", {})},
    }


def examples(served: Served) -> dict[str, str]:
    """Return what comes after ``curl`` for addresses that need more than themselves; the link stands as ``{link}``."""
    inputs = json.dumps({one["name"]: _typical(one) for one in served.inputs})
    files = "".join(f"-F {_quoted(name + '=@part.vtu')} " for name in served.mesh_columns)
    case = f"{files}-F {_quoted('inputs=' + inputs)}" if served.inputs else files.strip()
    swept = next((one["name"] for one in served.inputs if one["holds"] == "numbers"), "NAME")
    sweep = _quoted("sweep=" + json.dumps({"name": swept, "n": 21}))
    row = {name: f"{name}.vtu" for name in served.mesh_columns} | json.loads(inputs)
    as_json = f"-H 'content-type: {JSON}'"
    return {
        "/api/model": f"'{{link}}/api/model?model={served.name}'",
        "/api/mesh": "-F mesh=@part.vtu {link}/api/mesh",
        "/api/predict": f"{case} {{link}}/api/predict",
        "/api/curve": f"{case} -F {sweep} {{link}}/api/curve",
        "/api/field": f"{case} -F format=vtu -o predicted.vtu {{link}}/api/field",
        "/api/history": f"{case} {{link}}/api/history",
        "/api/surface": f"{files}-o surface.bin {{link}}/api/surface",
        "/api/sensitivity": f"{case} -o sensitivity.bin {{link}}/api/sensitivity",
        "/api/table": "-H 'content-type: text/csv' --data-binary @new.csv {link}/api/table",
        "/invocations": f"{as_json} -d {_quoted(json.dumps({'dataframe_records': [row]}))} {{link}}/invocations",
        "/process": f"{as_json} -d @sample.json {{link}}/process",
    }


def _typical(known: dict[str, Any]) -> object:
    """Return a value of an input that stands for all: the median, rounded, or the first category."""
    if known["holds"] == "numbers":
        return float(f"{known.get('median', 0.0):.4g}")
    return known["categories"][0] if known["holds"] == "categories" else 0


def _quoted(text: str) -> str:
    """Return a text as one word of a shell, by apostrophes."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _operation(address: Address, sample: str) -> Description:
    error = {"schema": {"type": "object", "properties": {"error": {"type": "string"}}}}
    responses = {
        "200": {"description": "The answer", "content": {address.answers: {}}},
        "4XX": {"description": "What is wrong with the question", "content": {JSON: error}},
        "503": {"description": "Busy, or it took too long", "content": {JSON: error}},
    }
    found: Description = {"summary": address.summary, "responses": responses}
    if address.path in ("/api/model", "/api/table", "/invocations"):
        found["parameters"] = [{"name": "model", "in": "query", "schema": {"type": "string"}}]
    asks = {"$ref": f"#/components/schemas/{address.asks.__name__}"} if address.asks else {"type": "object"}
    form = {
        "type": "object",
        "properties": {"request": asks, "mesh": {"type": "string", "format": "binary"}},
        "description": "the same object as JSON in the field request, and files named mesh or as their column",
    }
    content: Description = {} if address.asks is None else {JSON: {"schema": asks}}
    content |= {kind: {"schema": {"type": "string"} if kind == CSV else form} for kind in address.sends}
    if content:
        found["requestBody"] = {"content": content}
    return found | {"x-codeSamples": [{"lang": "shell", "source": sample}]}


def readable(description: Description, token: str = "") -> str:
    """Return a page for people, of what :func:`describe` returned."""
    schemas = description["components"]["schemas"]
    told = []
    for path, methods in description["paths"].items():
        one = next(iter(methods.values()))
        sends = one.get("requestBody", {}).get("content", {})
        reference = sends.get(JSON, {}).get("schema", {}).get("$ref", "")
        told.append({
            "path": path,
            "anchor": path.strip("/").replace("/", "-"),
            "methods": " or ".join(methods).upper().replace(" OR ", " or "),
            "summary": one["summary"],
            "holds": _keys(schemas[reference.rpartition("/")[2]], schemas) if reference else [],
            "query": [known["name"] for known in one.get("parameters", [])],
            "sends": list(sends),
            "answers": next(iter(one["responses"]["200"]["content"])),
            "sample": one["x-codeSamples"][0]["source"],
        })  # fmt: skip
    return _environment().get_template("http.html.j2").render(info=description["info"], addresses=told, token=token)


def _keys(schema: Description, schemas: Description) -> list[tuple[str, str, str]]:
    """Return name, kind and meaning of every key that a question may have; those that it must have say so."""
    needed = schema.get("required", [])
    found = []
    for name, one in schema.get("properties", {}).items():
        forms = [one, *one.get("anyOf", [])]
        words = ["needed"] * (name in needed) + [form["description"] for form in forms if "description" in form]
        bounds = {"exclusiveMinimum": "above", "maximum": "at most", "maxItems": "at most this many:"}
        words += [f"{text} {one[key]:g}" for key, text in bounds.items() if key in one]
        if one.get("default") not in (None, [], {}):
            words.append(f"{one['default']} by default")
        found.append((name, _kind(one, schemas), "; ".join(words)))
    return found


def _kind(schema: Description, schemas: Description) -> str:
    """Return in a few words what a schema takes.

    >>> _kind({"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]}, {})
    'list of number'
    """
    if "$ref" in schema:
        return f"object of {', '.join(schemas[schema['$ref'].rpartition('/')[2]]['properties'])}"
    if "enum" in schema:
        return " or ".join(f'"{one}"' for one in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(_kind(one, schemas) for one in schema[key] if one.get("type") != "null")
    kind = schema.get("type", "")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}), schemas)}"
    return {"string": "text"}.get(kind, kind) if isinstance(kind, str) else " or ".join(kind)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("swwl.serve", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
