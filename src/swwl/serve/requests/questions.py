"""What a request asks: the model, the meshes (sent, named or remembered), and a mapping of everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request

from swwl.errors import InputError, located
from swwl.serve.http.guard import RefusedError
from swwl.serve.http.limits import Limits
from swwl.serve.models.meshes import Known, MeshStore
from swwl.serve.models.served import Served
from swwl.serve.requests.cases import parse
from swwl.serve.requests.uploads import copy, ending_of, hidden, private_file, refuse_other_files, shown_name
from swwl.storage.checks import shown

_MOST_FILES, _MOST_FIELDS = 8, 32


@dataclass
class Question:
    """A request, taken apart.

    Attributes
    ----------
    asked : dict
        What the JSON of the request says, or the fields of a form.
    files : dict of str to UploadFile
        By the names of their parts.
    """

    asked: dict[str, Any]
    files: dict[str, UploadFile] = field(default_factory=dict)

    async def close(self) -> None:
        """Let go of the files."""
        for file in self.files.values():
            await file.close()


async def question_of(request: Request) -> Question:
    """Read a request: JSON, or a form with files and the same JSON in its field "request"."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        form = await request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=1_000_000)
        asked: dict[str, Any] = {}
        files: dict[str, UploadFile] = {}
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                if name in files:
                    raise InputError(f"The form has two files named {name[:80]!r}.")
                files[name] = value
            elif name == "request":
                asked |= parse(value)
            elif name in ("inputs", "sweep", "each"):
                asked[name] = parse(value)
            else:
                asked[name] = value
        return Question(asked, files)
    if kind not in ("application/json", ""):
        raise RefusedError(415, f"JSON or a form with files is wanted, not {kind[:60]!r}.")
    return Question(parse(await request.body() or b"{}"))


def model_of(models: Mapping[str, Served], name: Any) -> Served:
    """Return the model of a name; the first where none is given."""
    if name is None or name == "":
        return next(iter(models.values()))
    if not isinstance(name, str) or name not in models:
        raise RefusedError(404, f"There is no model {shown(name)}; there are: {', '.join(models)}.")
    return models[name]


def meshes_of(served: Served, store: MeshStore, question: Question, private: Path) -> dict[str, Known]:
    """Return the meshes that a question is about, by column.

    Parameters
    ----------
    served : Served
    store : MeshStore
    question : Question
    private : path
        A folder of ours, for files while they are read.
    """
    named = question.asked.get("mesh")
    if named is None:
        named = {}
    elif isinstance(named, str):
        named = {_only_column(served): named}
    elif not isinstance(named, dict):
        raise InputError(f"mesh must be a text, or an object of texts by column, not {shown(named)}.")
    found = {}
    for column, reference in named.items():
        if not isinstance(reference, str):
            raise InputError(f"The mesh of {column!r} must be a text, not {shown(reference)}.")
        if column not in served.mesh_columns:
            raise InputError(f"The model has no mesh column {str(column)[:80]!r}.")
        found[column] = store.find(reference, served.files)
    for name, file in question.files.items():
        column = name if name in served.mesh_columns else _only_column(served)
        if column in found:
            raise InputError(f"The mesh of {column!r} is given twice.")
        found[column] = sent_mesh(store, file, private)[1]
    return found


def _only_column(served: Served) -> str:
    if len(served.mesh_columns) != 1:
        known = ", ".join(served.mesh_columns)
        raise InputError(f"Say which column a mesh is for: {known}." if known else "The model takes no meshes.")
    return served.mesh_columns[0]


def sent_mesh(store: MeshStore, file: UploadFile, private: Path) -> tuple[str, Known]:
    """Read a mesh that was sent; return the reference under which it is kept, and the mesh."""
    name = shown_name(file.filename)
    ending = ending_of(name)
    with private_file(private, ending) as path:
        digest = copy(file.file, path)
        with hidden(path, name):
            with located(name):
                refuse_other_files(path)
            return store.sent(path, name, digest)


def limits_facts(limits: Limits) -> dict[str, Any]:
    """Return the limits that clients can do something about."""
    return {"bytes": limits.body, "nodes": limits.nodes, "rows": limits.rows, "seconds": limits.seconds}
