"""A fitted model in one file: a zip of a JSON manifest and NumPy arrays, written and read without pickle.

The manifest names classes out of a fixed list, so that loading a file can run no code but ours.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import swwl
from swwl.embedding.transformer import SWWLEmbedding
from swwl.errors import InputError, InputTypeError, MissingFileError
from swwl.gp import RobustGP
from swwl.kernels import ASWWL, SWWL, Gaussian, Matern32, Matern52, Power, Precomputed, PrincipalSWWL, Product
from swwl.kernels.baselines import FGW, RPW, WWL, GraphHopper, Propagation
from swwl.models.regression import RobustGPRegressor, selection_table
from swwl.storage import atomic_write

FORMAT = "swwl-model"
VERSION = 1

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

_CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        *(ASWWL, SWWL, Gaussian, Matern32, Matern52, Power, Precomputed, PrincipalSWWL, SWWLEmbedding),
        *(FGW, RPW, WWL, GraphHopper, Propagation),
    )
}


def save_model(path: str | os.PathLike, model: RobustGPRegressor) -> None:
    """Write a fitted regressor to ``path``, under a temporary name until it is complete.

    Parameters
    ----------
    path : str or path
    model : RobustGPRegressor
        Fitted. Its ``metadata_`` may hold what JSON can: numbers, texts, lists and dicts with texts for keys.
    """
    if not hasattr(model, "gps_"):
        raise InputError("The model is not fitted yet; fit it before saving it.")
    params = model.get_params(deep=False)
    params.pop("kernel")
    arrays: list[np.ndarray] = []
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "swwl": swwl.__version__,
        "params": params,
        "kernel": None if model.kernel is None else as_list(model.kernel),
        "fitted_kernel": as_list(model.kernel_),
        "trend": model._trend if model.trend != "linear" else None,
        "train": model._train,
        "targets": model.target_names_,
        "single": model._single,
        "calibration": model.calibration_.tolist(),
        "selection": model.selection_.to_dict("records"),
        "gps": [gp.get_state() for gp in model.gps_],
        "metadata": model.metadata_,
    }
    text = json.dumps(_encode(manifest, arrays), indent=1)
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("manifest.json"), text)
        for number, array in enumerate(arrays):
            with archive.open(_entry(f"arrays/{number}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def load_model(path: str | os.PathLike) -> RobustGPRegressor:
    """Read a model that :meth:`RobustGPRegressor.save` wrote; it predicts bit for bit as it did.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    FileNotFoundError, ValueError
        With the path and what is wrong: no such file, not a model, damaged, or written by a newer version.
    """
    path = Path(path)
    if not path.exists():
        raise MissingFileError(f"{path}: no such file.")
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
                raise InputError(f"{path}: is no swwl model file.")
            if manifest["version"] != VERSION:
                raise InputError(
                    f"{path}: was written by swwl {manifest.get('swwl')} in format {manifest['version']}, "
                    f"but this is swwl {swwl.__version__}, which reads format {VERSION}."
                )
            count = sum(name.startswith("arrays/") for name in archive.namelist())
            arrays = [_read_array(archive, f"arrays/{number}.npy") for number in range(count)]
        return _rebuild(_decode(manifest, arrays))
    except _DAMAGES as error:
        raise InputError(f"{path}: is no swwl model file, or a damaged one ({error}).") from error


def as_list(kernel: Any) -> list:
    """Return the factors of a kernel."""
    return kernel.factors if isinstance(kernel, Product) else [kernel]


def _rebuild(manifest: dict) -> RobustGPRegressor:
    kernel = None if manifest["kernel"] is None else Product(*manifest["kernel"])
    model = RobustGPRegressor(kernel, **manifest["params"])
    model.kernel_ = Product(*manifest["fitted_kernel"])
    model.feature_names_in_ = np.array([factor.column for factor in model.kernel_.factors], dtype=object)
    model.target_names_ = manifest["targets"]
    model.selection_ = selection_table(manifest["selection"])
    model.gps_ = [RobustGP.from_state(state) for state in manifest["gps"]]
    model._single = manifest["single"]
    model.calibration_ = pd.Series(manifest["calibration"], index=model.target_names_)
    model._train = manifest["train"]
    model.metadata_ = dict(manifest["metadata"])
    model._trend = manifest["trend"] if manifest["trend"] is not None else model._trend_factors(pd.DataFrame())
    model._describe()
    return model


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry without the time of day, so that the same model gives the same bytes."""
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)


def _encode(value: Any, arrays: list[np.ndarray]) -> Any:
    """Turn a value into what JSON holds; arrays are put aside and referred to by number."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"$array": len(arrays) - 1}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): _encode(item, arrays) for key, item in value.items()}
    if isinstance(value, tuple):
        return {"$tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, list):
        return [_encode(item, arrays) for item in value]
    if type(value).__name__ in _CLASSES:
        fitted = {name: item for name, item in vars(value).items() if name.endswith("_")}
        return {
            "$object": type(value).__name__,
            "params": _encode(value.get_params(deep=False), arrays),
            "fitted": _encode(fitted, arrays),
        }
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return None  # it has drawn the directions, which are kept
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InputTypeError(
        f"A model that holds {type(value).__name__} cannot be saved; its kernel must be one of swwl's own."
    )


def _decode(value: Any, arrays: list[np.ndarray]) -> Any:
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
        result = _CLASSES[value["$object"]](**_decode(value["params"], arrays))
        for name, item in _decode(value["fitted"], arrays).items():
            setattr(result, name, item)
        return result
    return {key: _decode(item, arrays) for key, item in value.items()}
