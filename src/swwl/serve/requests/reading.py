"""Requests as they arrive: JSON or forms, the files they bring, and the models and meshes that they name.

Files that clients send are kept under names of our own in a private folder while they are read, and then removed.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

import h5py
from pydantic_core import from_json
from starlette.datastructures import UploadFile
from starlette.requests import Request

from swwl.errors import InputError, located
from swwl.mesh.io.formats import READERS, SEVERAL_FILES, includes_others
from swwl.serve.http.guard import RefusedError
from swwl.serve.models.meshes import Known, MeshStore
from swwl.serve.models.served import Served
from swwl.serve.requests.questions import MeshQuestion
from swwl.storage.checks import shown

_MOST_FILES, _MOST_FIELDS = 8, 32
_PIECE = 1 << 20
_HDF5 = b"\x89HDF\r\n\x1a\n"


def parse(text: str | bytes) -> dict[str, object]:
    """Return the object that a text of JSON holds.

    >>> parse('{"a": 1}')
    {'a': 1}
    >>> parse('{"a": NaN}')
    Traceback (most recent call last):
    ...
    swwl.errors.InputError: The request is not JSON: expected value at line 1 column 7.
    """
    try:
        found = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise InputError(f"The request is not JSON: {str(error)[:120]}.") from None
    if not isinstance(found, dict):
        raise InputError(f"The request must be a JSON object, not {shown(found)}.")
    return found


@dataclass
class Received:
    """A request, taken apart.

    Attributes
    ----------
    asked : dict
        What the JSON of the request says, or the fields of a form.
    files : dict of str to UploadFile
        By the names of their parts.
    """

    asked: dict[str, object]
    files: dict[str, UploadFile] = field(default_factory=dict)

    async def close(self) -> None:
        """Let go of the files."""
        for file in self.files.values():
            await file.close()


def content_type(request: Request) -> str:
    """Return the type of what a request sends, without its parameters."""
    return str(request.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def received(request: Request) -> Received:
    """Read a request: JSON, or a form with files and the same JSON in its field "request"."""
    kind = content_type(request)
    if kind == "multipart/form-data":
        form = await request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=1_000_000)
        asked: dict[str, object] = {}
        files: dict[str, UploadFile] = {}
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                if name in files:
                    raise InputError(f"The form has two files named {name[:80]!r}.")
                files[name] = value
            elif name == "request":
                asked |= parse(value)
            else:
                asked[name] = parse(value) if name in ("inputs", "sweep", "each") else _of_form(name, value)
        return Received(asked, files)
    if kind not in ("application/json", ""):
        raise RefusedError(415, f"JSON or a form with files is expected, not {kind[:60]!r}.")
    return Received(parse(await request.body() or b"{}"))


def _of_form(name: str, text: str) -> object:
    """Return what a field of a form holds: JSON where numbers or lists are asked for, if it is JSON.

    >>> _of_form("level", "0.9"), _of_form("level", "high"), _of_form("model", "7")
    (0.9, 'high', '7')
    """
    if name not in ("level", "time", "node", "probe", "force_on"):
        return text
    try:
        found: object = from_json(text, allow_inf_nan=False)
    except ValueError:
        return text
    return found


def model_of(models: Mapping[str, Served], name: str | None) -> Served:
    """Return the model of a name; the first where none is given."""
    if not name:
        return next(iter(models.values()))
    if name not in models:
        raise RefusedError(404, f"There is no model {shown(name)}; choose from: {', '.join(models)}.")
    return models[name]


def meshes_of(
    served: Served, store: MeshStore, question: MeshQuestion, files: Mapping[str, UploadFile], private: Path
) -> dict[str, Known]:
    """Return the meshes that a question is about, by column.

    Parameters
    ----------
    served : Served
    store : MeshStore
    question : MeshQuestion
    files : mapping of str to UploadFile
        By the names of their parts.
    private : path
        A folder of ours, for files while they are read.
    """
    named = {_only_column(served): question.mesh} if isinstance(question.mesh, str) else question.mesh or {}
    found = {}
    for column, reference in named.items():
        if column not in served.mesh_columns:
            raise InputError(f"The model has no mesh column {column[:80]!r}.")
        found[column] = store.find(reference, served.files)
    for name, file in files.items():
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
    with private_file(private, name, ending_of(name)) as path:
        digest = copy(file.file, path)
        with located(name):
            refuse_other_files(path)
        return store.sent(path, name, digest)


def shown_name(name: str | None) -> str:
    r"""Return the last part of a name that a client gave, to be shown and not to be opened.

    >>> shown_name("../../etc/a\x00b.vtu"), shown_name(None)
    ('ab.vtu', 'mesh')
    """
    last = PurePosixPath((name or "").replace("\\", "/")).name
    return "".join(letter for letter in last if letter.isprintable())[:80] or "mesh"


def ending_of(name: str) -> str:
    """Return the ending of a mesh file, if it is one of those that are read from one file alone.

    >>> ending_of("rotor.7.VTU"), ending_of("a.vol.gz.vtu")
    ('.vtu', '.vtu')
    """
    endings = [suffix.lower() for suffix in PurePosixPath(name).suffixes][-2:]
    for ending in ("".join(endings), "".join(endings[-1:])):
        if ending in READERS and ending not in SEVERAL_FILES:
            return ending
    known = " ".join(sorted(set(READERS) - SEVERAL_FILES))
    raise InputError(f"{name}: files with this extension cannot be sent; these can: {known}")


@contextmanager
def private_file(private: Path, name: str, ending: str) -> Iterator[Path]:
    """Return the path of a file to write, in a new folder below a private one; it is removed at the end.

    Parameters
    ----------
    private : path
    name : str
        What the client calls the file; mistakes that are found inside tell of it, and not of our folders.
    ending : str
    """
    with tempfile.TemporaryDirectory(dir=private, ignore_cleanup_errors=True) as folder:
        try:
            yield Path(folder) / f"sent{ending}"
        except InputError as error:
            if folder not in str(error):
                raise
            message = error.args[0] if folder not in error.args[0] else "it is damaged or of another format"
            raise InputError(message).within(name) from None


def copy(source: IO[bytes], target: Path) -> str:
    """Write what a file holds to another one; return the digest of it."""
    digest = hashlib.sha256()
    source.seek(0)
    with open(target, "xb") as file:
        while piece := source.read(_PIECE):
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()[:32]


def refuse_other_files(path: Path) -> None:
    """Refuse a mesh file that would make its reader open others."""
    with open(path, "rb") as file:
        start = file.read(8)
    if start == _HDF5:
        _refuse_links(path)
    elif includes_others(path):
        raise InputError("it includes other files, which were not sent; make one file of them")


def _refuse_links(path: Path) -> None:
    seen: set[int] = set()

    def look(group: h5py.Group) -> None:
        address = h5py.h5o.get_info(group.id).addr
        if address in seen:  # a group may hold itself
            return
        seen.add(address)
        for name in group:
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise InputError(f"its entry {name!r} lies in another file, which was not sent")
            if isinstance(link, h5py.SoftLink):
                continue  # inside this file, where it is found by itself
            found = group.get(name)
            if isinstance(found, h5py.Group):
                look(found)
            elif isinstance(found, h5py.Dataset) and (found.external or found.is_virtual):
                raise InputError(f"its array {name!r} lies in another file, which was not sent")

    try:
        with h5py.File(path, "r") as file:
            look(file)
    except InputError:
        raise
    except Exception as error:  # whatever h5py makes of a damaged file
        raise InputError(f"it is damaged or of another format ({str(error)[:120]})") from None
