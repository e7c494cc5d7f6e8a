"""From models and a PLAID folder to a submission: what ``swwl submit`` does."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from swwl.datasets.plaid import load_split, sample_number
from swwl.errors import InputError
from swwl.fields.estimator import FieldRegressor
from swwl.formatting import Record
from swwl.jobs.fit import no_progress
from swwl.jobs.predict import HANDFUL, input_columns, predict_table
from swwl.jobs.table import CACHE_FOLDER, require_mesh_files
from swwl.mesh.io.hdf.cgns import copy_cgns
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor
from swwl.storage.memory import Memory
from swwl.tables.places import rows_named

if TYPE_CHECKING:
    from swwl.jobs.predict import Model

    Models = Sequence[Model]


def plaid_split(folder: Path, split: str, models: Models) -> pd.DataFrame:
    """Read a split of a PLAID folder; refuse models that predict the same thing, and sets without CGNS files."""
    names = [name for model in models for name in outputs_of(model)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name!r} is predicted by several of the models; one of them is enough.")
    frame = load_split(folder, split)
    require_mesh_files(frame, folder)
    return frame


def outputs_of(model: Model) -> dict[str, bool]:
    """Return the names under which a model's predictions stand in a submission, and which are fields of cells.

    Components of vectors are numbered.
    """
    if model.predicts == "curves":
        raise InputError(f"{model.curve_!r} is a curve, which a submission cannot hold.")
    if model.predicts == "numbers":
        return dict.fromkeys(model.target_names_, False)
    found: dict[str, bool] = {}
    for name, one in model.models_.items():
        names = [name] if one.kind.flat else [f"{name}_{k}" for k in range(one.kind.components)]
        found |= dict.fromkeys(names, one.kind.on_cells)
    return found


def cell_outputs(models: Models) -> list[str]:
    """Return which outputs are fields of cells."""
    return [name for model in models for name, on_cells in outputs_of(model).items() if on_cells]


def predict_split(
    models: Models,
    frame: pd.DataFrame,
    folder: Path,
    *,
    keep: bool = True,
    progress: Callable[[str], Progress | None] = no_progress,
) -> list[Record]:
    """Predict all samples of a split with all models; return one dict of fields and scalars per sample."""
    memory = Memory(folder / CACHE_FOLDER if keep else None)
    found: list[Record] = [{} for _ in range(len(frame))]
    for model in models:
        show = progress(", ".join(outputs_of(model)))
        rows = (
            _predict_fields(model, frame, folder, memory, show)
            if model.predicts == "fields"
            else _predict_numbers(model, frame, folder, memory, show)
        )
        for row, values in zip(found, rows, strict=True):
            row |= values
    return found


def _predict_numbers(
    model: RobustGPRegressor, frame: pd.DataFrame, folder: Path, memory: Memory, progress: Progress | None
) -> Iterator[Record]:
    prediction, _ = predict_table(model, frame, folder, memory=memory, progress=progress)
    for values in prediction.mean:
        yield {name: float(value) for name, value in zip(model.target_names_, values, strict=True)}


def _predict_fields(
    model: FieldRegressor, frame: pd.DataFrame, folder: Path, memory: Memory, progress: Progress | None
) -> Iterator[Record]:
    inputs = input_columns(model, frame, folder)
    for first in range(0, len(frame), HANDFUL):
        some = inputs.iloc[first : first + HANDFUL]
        with rows_named(frame, folder, range(first, first + len(some))):
            fields = model.predict(some, widen=False, memory=memory)
        for of_row in fields:
            row: Record = {}
            for name, values in of_row.items():
                flat = model.models_[name].kind.flat
                row |= {name: values} if flat else {f"{name}_{k}": part for k, part in enumerate(values.T)}
            yield row
        if progress is not None:
            progress(first + len(some), len(frame))


def write_samples(
    target: Path, split: str, frame: pd.DataFrame, predictions: Sequence[Record], cells: Sequence[str] = ()
) -> None:
    """Write the samples of a split again, with the predicted fields and scalars in them, as a PLAID folder.

    Parameters
    ----------
    target : path
        A new folder: ``data/SPLIT/sample_*/meshes/*.cgns``.
    split : str
    frame : DataFrame
    predictions : sequence of dict
        What :func:`predict_split` returned.
    cells : sequence of str
        Which of them are fields of cells.
    """
    for number, (mesh, row) in enumerate(zip(frame["mesh"], predictions, strict=True)):
        known = sample_number(mesh)
        place = target / "data" / split / f"sample_{number if known is None else known:09d}" / "meshes"
        place.mkdir(parents=True)
        fields = {name: value for name, value in row.items() if getattr(value, "ndim", 0) == 1}
        copy_cgns(
            mesh,
            place / Path(mesh).name,
            {name: value for name, value in fields.items() if name not in cells},
            {name: value for name, value in fields.items() if name in cells},
            {name: value for name, value in row.items() if name not in fields},
        )
        scalars = Path(mesh).parent.parent / "scalars.csv"
        if scalars.exists():
            shutil.copy(scalars, place.parent / "scalars.csv")
