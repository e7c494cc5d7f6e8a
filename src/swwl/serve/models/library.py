"""Model files, read to be served: which class serves which kind of model."""

from __future__ import annotations

from pathlib import Path

from swwl.errors import InputError
from swwl.fields.estimator import FieldRegressor
from swwl.regression.estimator import RobustGPRegressor
from swwl.serve.models.fields import ServedFields
from swwl.serve.models.numbers import ServedNumbers
from swwl.serve.models.served import Served
from swwl.storage.modelfile import load_model


def load_served(paths: list[Path], folder: Path | None) -> dict[str, Served]:
    """Read model files; each is called by the name of its file without the ending, which must differ.

    Parameters
    ----------
    paths : list of paths
    folder : path or None
        Below which training meshes may be read; by default each model's own folder.
    """
    found: dict[str, Served] = {}
    for path in paths:
        name = path.stem
        if name in found:
            raise InputError(f"{path}: a model named {name!r} is served already, from {found[name].path}; rename one.")
        found[name] = served_of(name, load_model(path), path, path.parent if folder is None else folder)
    return found


def served_of(name: str, model: object, path: Path, folder: Path) -> Served:
    """Return a model with what answers questions about it; refuse those that predict neither numbers nor fields."""
    if isinstance(model, RobustGPRegressor):
        return ServedNumbers(name, model, path, folder)
    if isinstance(model, FieldRegressor):
        return ServedFields(name, model, path, folder)
    raise InputError(f"{path}: holds a {type(model).__name__}, but a model that predicts numbers or fields is wanted.")
