"""Models and meshes that are served: `load_served` reads model files, each behind the class that serves its kind.

``served.py`` says what every model can be asked, ``numbers.py``, ``fields.py``, ``series.py`` and ``curves.py`` answer;
``meshes.py`` holds the meshes that clients may name, and ``single_flight.py`` sees that what several requests want is
computed once.
"""

from __future__ import annotations

from pathlib import Path

from swwl.errors import InputError
from swwl.fields.estimator import FieldRegressor
from swwl.fields.transient import TransientRegressor
from swwl.regression.curves.estimator import CurveRegressor
from swwl.regression.estimator import RobustGPRegressor
from swwl.serve.models.curves import ServedCurves
from swwl.serve.models.fields import ServedFields
from swwl.serve.models.numbers import ServedNumbers
from swwl.serve.models.series import ServedSeries
from swwl.serve.models.served import Served
from swwl.storage.modelfile import load_model

_SERVED: dict[type, type[Served]] = {
    RobustGPRegressor: ServedNumbers,
    FieldRegressor: ServedFields,
    CurveRegressor: ServedCurves,
    TransientRegressor: ServedSeries,
}


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
        model = load_model(path)
        kind = _SERVED.get(type(model))
        if kind is None:
            what = f"holds a {type(model).__name__}, but a model that predicts numbers, fields or curves is expected."
            raise InputError(f"{path}: {what}")
        found[name] = kind(name, model, path, path.parent if folder is None else folder)
    return found
