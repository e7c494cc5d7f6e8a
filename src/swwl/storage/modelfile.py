"""A fitted model in one file: a zip of a JSON manifest and NumPy arrays, written and read without pickle.

The manifest names classes that called themselves :func:`storable`, so that loading a file can run no code but ours. A
model says what it is made of in ``get_state``, an instance of a class whose annotations declare it, and is made again
by ``from_state``, which gets as dicts what were instances; :func:`swwl.storage.checks.restored` makes them again.
Nothing is compressed, so a file cannot ask for more memory than its size; the last entry is a checksum of the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

import swwl
from swwl.errors import InputError, InputTypeError, MissingFileError, located
from swwl.formatting import Record
from swwl.storage.atomic import atomic_write, refuse_special
from swwl.storage.checks import ZIP_ERRORS, Count, as_array, converted, declared, is_declared
from swwl.storage.memory import Memory

STORABLE: dict[str, type] = {}
Kind = TypeVar("Kind", bound=type)


def storable(kind: Kind) -> Kind:
    """Let a class of ours be named in model files; no other class can be."""
    STORABLE[kind.__name__] = kind
    return kind


# Where classes that files may name are defined: they are imported, in this order, until one has the name.
_ROOMS = (
    "kernels",
    "kernels.stored",
    "regression",
    "regression.curves.estimator",
    "fields.estimator",
    "fields.transient",
    "classification",
    "classification.baselines",
)
FORMAT = "swwl-model"
VERSION = 3
_MANIFEST, _CHECKSUM = "manifest.json", "sha256"

# What reading something else than a model file ends in.
_FOREIGN = (*ZIP_ERRORS, KeyError, ValueError, RecursionError)


class Model(Protocol):
    """What can be saved."""

    def get_state(self) -> object:
        """Return what the fitted model is made of, a dataclass or a ``msgspec.Struct``."""

    @classmethod
    def from_state(cls, state: Record) -> Any:
        """Make the model again of what a file holds, or refuse it."""


def save_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a fitted model to ``path``, under a temporary name until it is complete.

    Parameters
    ----------
    path : str or path
    model : RobustGPRegressor or GraphSVC
        Fitted. Its ``metadata_`` may hold what JSON can: numbers, texts, lists and dicts with texts for keys.
    """
    state = model.get_state()
    arrays: list[NDArray[np.generic]] = []
    manifest = {"format": FORMAT, "version": VERSION, "swwl": swwl.__version__, "model": type(model).__name__}
    text = json.dumps(manifest | _encode(state, arrays, {}), indent=1)
    digest = hashlib.sha256(text.encode())
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry(_MANIFEST), text)
        for number, array in enumerate(arrays):
            with archive.open(_entry(f"arrays/{number}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(_Digested(entry, digest), array, allow_pickle=False)
        archive.writestr(_entry(_CHECKSUM), digest.hexdigest())


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that its ``save`` wrote; it predicts bit for bit as it did.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    RobustGPRegressor or GraphSVC
        Whatever was saved.

    Raises
    ------
    InputError
        With the path and what is wrong: no such file, not a model, changed or damaged, or written by a newer version.
    """
    path = Path(path)
    if not path.exists():
        raise MissingFileError(f"{path}: no such file.")
    with located(str(path)):
        refuse_special(path)
        if path.is_dir():
            raise InputError("is a folder, but a model file, as swwl fit writes it, is expected.")
    try:
        with zipfile.ZipFile(path) as archive, located(str(path)):
            manifest = _manifest(archive)
            if manifest is None:
                raise InputError("is not a swwl model file.")
            return _restore(archive, manifest)
    except InputError:
        raise
    except _FOREIGN as error:
        raise InputError(f"{path}: is not a swwl model file, or a damaged one ({_reason(error)}).") from error


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it is a model of swwl, of whatever version."""
    try:
        refuse_special(path)
        with zipfile.ZipFile(path) as archive:
            return _manifest(archive) is not None
    except _FOREIGN:
        return False


class _Digested:
    """A file to write to, whose content is digested on the way."""

    def __init__(self, file: IO[bytes], digest: hashlib._Hash):
        self._file, self._digest = file, digest

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return self._file.write(data)


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry without the time of day, so that the same model gives the same bytes."""
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _manifest(archive: zipfile.ZipFile) -> Record | None:
    """Return the manifest of a model, or None where it is that of something else."""
    found = json.loads(_content(archive, _MANIFEST))
    return found if isinstance(found, dict) and found.get("format") == FORMAT else None


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return what an entry holds, which is as many bytes of the file."""
    entry = archive.getinfo(name)
    assert archive.fp is not None
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > archive.fp.seek(0, os.SEEK_END):
        raise InputError(f"its entry {name} is compressed, which entries of models never are")
    return archive.read(entry)


def _restore(archive: zipfile.ZipFile, manifest: Record) -> Any:
    """Make the model that an archive holds."""
    version = manifest.get("version")
    if version != VERSION or not isinstance(version, int):
        raise InputError(
            f"was written by swwl {manifest.get('swwl')} in format {version!r}, but this is swwl {swwl.__version__}, "
            f"which reads format {VERSION}."
        )
    try:
        arrays = _arrays(archive)
        kind = _kind(manifest["model"])
        return kind.from_state(_decode(manifest, arrays))  # type: ignore[attr-defined]
    except Exception as error:  # whatever a state that is not ours makes of our own code
        raise InputError(f"was changed after it was written, or is damaged ({_reason(error)}).") from error


def _kind(name: str) -> type:
    """Return the class of ours that a file names."""
    for room in _ROOMS:
        if name in STORABLE:
            break
        import_module(f"swwl.{room}")
    return STORABLE[name]


def _arrays(archive: zipfile.ZipFile) -> list[NDArray[np.generic]]:
    """Return the arrays of a model, each in memory of its own, if the checksum matches."""
    names = [f"arrays/{number}.npy" for number in range(len(archive.namelist()) - 2)]
    if sorted(archive.namelist()) != sorted([_MANIFEST, *names, _CHECKSUM]):
        raise InputError("its entries are not those of a model")
    digest = hashlib.sha256(_content(archive, _MANIFEST))
    arrays = []
    for name in names:
        content = _content(archive, name)
        digest.update(content)
        with located(f"its array {name}"):
            arrays.append(as_array(content).copy(order="K"))
    if _content(archive, _CHECKSUM) != digest.hexdigest().encode():
        raise InputError("the checksum does not match")
    return arrays


def _reason(error: Exception) -> str:
    """Say on one line, without a period, what is wrong with a file."""
    text = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return " ".join(text.split())[:200].rstrip(".") or type(error).__name__


def _encode(value: Any, arrays: list[NDArray[np.generic]], known: dict[int, int]) -> Any:
    """Turn a value into what JSON holds; arrays are put aside, each once, and referred to by number."""
    if isinstance(value, np.ndarray):
        if id(value) not in known:
            known[id(value)] = len(arrays)
            arrays.append(value)
        return {"$array": known[id(value)]}
    if isinstance(value, np.generic):
        return value.item()
    if is_declared(type(value)):
        value = {name: getattr(value, name) for name in declared(type(value))}
    if isinstance(value, dict):
        return {str(key): _encode(item, arrays, known) for key, item in value.items()}
    if isinstance(value, tuple):
        return {"$tuple": [_encode(item, arrays, known) for item in value]}
    if isinstance(value, list):
        return [_encode(item, arrays, known) for item in value]
    kind: type = type(value)
    if STORABLE.get(kind.__name__) is kind:
        # Where embeddings are kept is a matter of this machine, not of the model.
        params = {name: item for name, item in value.get_params(deep=False).items() if name != "memory"}
        learned = declared(kind)
        fitted = {name: item for name, item in vars(value).items() if name in learned}
        return {
            "$object": kind.__name__,
            "params": _encode(params, arrays, known),
            "fitted": _encode(fitted, arrays, known),
        }
    if isinstance(value, (np.random.Generator, np.random.RandomState, Memory)):
        return None  # a generator has drawn the directions, which are kept
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InputTypeError(
        f"A model that holds {type(value).__name__} cannot be saved; its kernel must be one of swwl's own."
    )


def _decode(value: Any, arrays: list[NDArray[np.generic]]) -> Any:
    """Undo :func:`_encode`."""
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        return arrays[converted("the number of an array", value["$array"], Count)]
    if "$tuple" in value:
        return tuple(_decode(item, arrays) for item in value["$tuple"])
    if "$object" in value:
        kind = _kind(value["$object"])
        result, learned = kind(**_decode(value["params"], arrays)), declared(kind)
        for name, item in _decode(value["fitted"], arrays).items():
            if name not in learned:
                raise InputError(f"{name} is not learned by {kind.__name__}")
            setattr(result, name, converted(name, item, learned[name]))
        return result
    return {key: _decode(item, arrays) for key, item in value.items()}
