"""A fitted model in one file: a zip of a JSON manifest and NumPy arrays, written and read without pickle.

The manifest names classes that called themselves :func:`swwl.storage.storable`, so that loading a file can run no code
but ours. A model says what it is made of in ``get_state`` and is made again by ``from_state``.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import swwl
import swwl.kernels.baselines  # so that all kernels are known
from swwl.errors import InputError, InputTypeError, MissingFileError
from swwl.storage import STORABLE, Memory, atomic_write

FORMAT = "swwl-model"
VERSION = 2
_READABLE = (1, 2)

# What reading something else than a whole model file ends in.
_DAMAGES = (
    zipfile.BadZipFile,
    json.JSONDecodeError,
    UnicodeDecodeError,
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    OSError,
    TypeError,
)
# Arguments that had another name in files of format 1.
_FORMER = {"exponent": "alpha"}


class Model(Protocol):
    """What can be saved."""

    def get_state(self) -> dict[str, Any]:
        """Return what the fitted model is made of: arrays, factors, and what JSON holds."""

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Any:
        """Make the model again."""


def save_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write a fitted model to ``path``, under a temporary name until it is complete.

    Parameters
    ----------
    path : str or path
    model : RobustGPRegressor or GraphSVC
        Fitted. Its ``metadata_`` may hold what JSON can: numbers, texts, lists and dicts with texts for keys.
    """
    state = model.get_state()
    arrays: list[np.ndarray[Any, Any]] = []
    manifest = {"format": FORMAT, "version": VERSION, "swwl": swwl.__version__, "model": type(model).__name__}
    text = json.dumps(_encode(manifest | state, arrays, {}), indent=1)
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("manifest.json"), text)
        for number, array in enumerate(arrays):
            with archive.open(_entry(f"arrays/{number}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


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
        With the path and what is wrong: no such file, not a model, damaged, or written by a newer version.
    """
    path = Path(path)
    if not path.exists():
        raise MissingFileError(f"{path}: no such file.")
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
                raise InputError(f"{path}: is not a swwl model file.")
            if manifest["version"] not in _READABLE:
                raise InputError(
                    f"{path}: was written by swwl {manifest.get('swwl')} in format {manifest['version']!r}, but this "
                    f"is swwl {swwl.__version__}, which reads formats {' and '.join(map(str, _READABLE))}."
                )
            count = sum(name.startswith("arrays/") for name in archive.namelist())
            arrays = [_read_array(archive, f"arrays/{number}.npy") for number in range(count)]
        kind = STORABLE[manifest.get("model", "RobustGPRegressor")]
        return kind.from_state(_decode(manifest, arrays))  # type: ignore[attr-defined]
    except _DAMAGES as error:
        raise InputError(f"{path}: is not a swwl model file, or a damaged one ({error}).") from error


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it is a model of swwl, of whatever version."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            return isinstance(manifest, dict) and manifest.get("format") == FORMAT
    except _DAMAGES:
        return False


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry without the time of day, so that the same model gives the same bytes."""
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    return np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)


def _encode(value: Any, arrays: list[np.ndarray[Any, Any]], known: dict[int, int]) -> Any:
    """Turn a value into what JSON holds; arrays are put aside, each once, and referred to by number."""
    if isinstance(value, np.ndarray):
        if id(value) not in known:
            known[id(value)] = len(arrays)
            arrays.append(value)
        return {"$array": known[id(value)]}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): _encode(item, arrays, known) for key, item in value.items()}
    if isinstance(value, tuple):
        return {"$tuple": [_encode(item, arrays, known) for item in value]}
    if isinstance(value, list):
        return [_encode(item, arrays, known) for item in value]
    if type(value).__name__ in STORABLE:
        # Where embeddings are kept is a matter of this machine, not of the model.
        params = {name: item for name, item in value.get_params(deep=False).items() if name != "memory"}
        fitted = {name: item for name, item in vars(value).items() if name.endswith("_")}
        return {
            "$object": type(value).__name__,
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


def _decode(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """Undo :func:`_encode`."""
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        return arrays[value["$array"]]
    if "$tuple" in value:
        return tuple(_decode(item, arrays) for item in value["$tuple"])
    if "$object" in value:
        kind = STORABLE[value["$object"]]
        result = kind(**_present(kind, _decode(value["params"], arrays)))
        for name, item in _decode(value["fitted"], arrays).items():
            setattr(result, name, item)
        return result
    return {key: _decode(item, arrays) for key, item in value.items()}


def _present(kind: type, params: dict[str, Any]) -> dict[str, Any]:
    """Return arguments under the names that they have now."""
    known = inspect.signature(kind).parameters
    return {name if name in known else _FORMER.get(name, name): value for name, value in params.items()}
