"""From a model of fields and a table to one mesh file per row, and a table of numbers derived from the fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.evaluation.fieldmetadata import field_data_of
from swwl.evaluation.fieldscores import MeshScore, pooled
from swwl.jobs.fieldfit import HANDFUL, predicted_parts, score_mesh, truths
from swwl.jobs.predict import OUTSIDE, PREDICTED
from swwl.jobs.table import mesh_paths, require_numbers, require_texts, rows_named, where
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.models.fields import FieldRegressor
from swwl.parallel import Progress
from swwl.storage import Memory

TABLE = "predictions.csv"  # beside the meshes
FILE = "predicted_mesh"  # the column that names them
# Numbers that are derived from a field: its largest value and its mean over lengths, areas or volumes; of vectors,
# those of their lengths.
DERIVED = ("max", "mean")
_SCORES = ("rrmse", "max_true", "inside95")


def field_inputs(model: FieldRegressor, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the columns that a model of fields needs: mesh files that exist, checked numbers, texts."""
    kinds = {factor.column: factor.takes for one in model.models_.values() for factor in one.member.kernel.factors} | {
        model.mesh_column_: "graphs"
    }
    columns: dict[str, Any] = {}
    for name in model.feature_names_in_:
        if kinds[name] == "graphs":
            columns[name] = mesh_paths(frame, path, name)
        elif kinds[name] == "categories":
            columns[name] = require_texts(frame, path, name)
        else:
            columns[name] = require_numbers(frame, path, name, "input")
    return pd.DataFrame(columns, index=frame.index)


def mesh_names(frame: pd.DataFrame, path: Path, column: str) -> list[str]:
    """Name the file of every row after its mesh; those of meshes that stand in several rows also after their line.

    Examples
    --------
    >>> mesh_names(pd.DataFrame({"mesh": ["a/1.vtu", "2.cgns", "1.vtu"]}), Path("t.csv"), "mesh")
    ['1-line-2.vtu', '2.vtu', '1-line-4.vtu']
    """
    stems = [Path(str(value)).stem for value in frame[column]]
    counts = Counter(stem.casefold() for stem in stems)
    names = []
    for row, stem in enumerate(stems):
        alone = counts[stem.casefold()] == 1
        names.append(f"{stem}.vtu" if alone else f"{stem}-{where(frame, path, row).replace(' ', '-')}.vtu")
    return names


def check_field_names(model: FieldRegressor, frame: pd.DataFrame, path: Path) -> None:
    """Refuse a table that has columns where predictions go."""
    own = [f"{name}_{what}_{key}" for name in model.field_names_ for what in DERIVED for key in PREDICTED]
    own += [f"{name}_{key}" for name in model.field_names_ for key in _SCORES]
    for name in [FILE, *own, OUTSIDE]:
        if name in frame.columns:
            raise InputError(f"{path}: has a column {name!r} already, which is where predictions go; rename it.")


class Predicted(NamedTuple):
    """What became of a table: the table with new columns, and scores by field where meshes have the truth."""

    table: pd.DataFrame
    scores: list[dict[str, Any]]


def predict_fields(
    model: FieldRegressor,
    frame: pd.DataFrame,
    path: Path,
    write: Callable[[int, Mesh], None],
    *,
    compare: bool = True,
    apart: Mapping[int, Sequence[str]] | None = None,
    memory: Memory | None = None,
    progress: Progress | None = None,
) -> Predicted:
    """Predict every row of a table and hand each mesh over as soon as it is done; mistakes name the line.

    Parameters
    ----------
    model : FieldRegressor
    frame : DataFrame
        What :func:`~swwl.jobs.table.read_table` returned.
    path : path
        Of the table: paths of meshes are relative to it.
    write : callable
        Called with the number of a row and its mesh, which has NAME, NAME_std, NAME_lower95, NAME_upper95 and, where
        the mesh of the table has the field, NAME_true and NAME_error, for every field.
    compare : bool
        Whether fields that the meshes hold are the truth of these rows.
    apart : mapping, optional
        Columns of meshes unlike the training meshes, by row.
    memory : Memory, optional
    progress : callable, optional
        Called as ``progress(done, total)`` after every handful of rows.
    """
    inputs = field_inputs(model, frame, path)
    columns: dict[str, list[float]] = {}
    scores: dict[str, list[MeshScore]] = {name: [] for name in model.field_names_}
    for first in range(0, len(frame), HANDFUL):
        some = inputs.iloc[first : first + HANDFUL]
        with rows_named(frame, path, range(first, first + len(some))):
            meshes = model.predict_meshes(some, memory=memory)
            for name, values in derived_numbers(model, some, memory).items():
                columns.setdefault(name, []).extend(values)
        for row, mesh in enumerate(meshes, first):
            known = truths(inputs[model.mesh_column_].iloc[row], model.field_names_) if compare else {}
            found = {name: score_mesh(mesh, name, true) for name, true in known.items()}
            write(row, with_truth(mesh, {name: known[name] for name, score in found.items() if score is not None}))
            for name in model.field_names_:
                score = found.get(name)
                scores[name] += [score] if score is not None else []
                for key, value in zip(_SCORES, _of_row(score, known.get(name)), strict=True):
                    columns.setdefault(f"{name}_{key}", []).append(value)
        if progress is not None:
            progress(first + len(some), len(frame))
    table = pd.DataFrame(
        {name: values for name, values in columns.items() if not np.isnan(values).all()}, index=frame.index
    )
    outside = pd.DataFrame({OUTSIDE: outside_fields(model, frame, apart)}, index=frame.index)
    rows = [{"field": name, "test": "table"} | pooled(s)._asdict() for name, s in scores.items() if s]
    return Predicted(pd.concat([frame, table, outside], axis=1), rows)


def _of_row(score: MeshScore | None, truth: NDArray[np.float64] | None) -> tuple[float, ...]:
    if score is None or truth is None:
        return (np.nan,) * 3
    top = np.nanmax(np.linalg.norm(truth, axis=1) if truth.ndim == 2 else truth)
    return score.rrmse, float(top), score.coverage


def derived_numbers(
    model: FieldRegressor, inputs: pd.DataFrame, memory: Memory | None = None, level: float = 0.95
) -> dict[str, NDArray[np.float64]]:
    """Return numbers derived from the fields of nodes, with their uncertainty, from samples of the fields."""
    columns = {}
    for name, one in model.models_.items():
        if one.kind.on_cells:
            continue
        names = DERIVED if one.kind.flat else ("largest", "mean_size")
        found = model.derived(inputs, names, level, field=name, memory=memory)
        for what, number in zip(DERIVED, names, strict=True):
            for key, part in zip(PREDICTED, ("mean", "std", "lower", "upper"), strict=True):
                columns[f"{name}_{what}_{key}"] = found[f"{number}_{part}"].to_numpy()
    return columns


def with_truth(mesh: Mesh, truth: Mapping[str, NDArray[np.float64]]) -> Mesh:
    """Return a predicted mesh with NAME_true and NAME_error (predicted less true) of fields whose truth is known."""
    of_nodes: dict[str, NDArray[Any]] = {}
    of_cells: dict[str, NDArray[Any]] = dict(mesh.cell_fields)
    for name, true in truth.items():
        more = {f"{name}_true": true, f"{name}_error": predicted_parts(mesh, name)[0] - true}
        (of_nodes if f"{name}_std" in mesh.fields else of_cells).update(more)
    found = mesh.with_fields(of_nodes)
    return trusted_mesh(found.points, found.cells, found.fields, found.name, of_cells)


def outside_fields(
    model: FieldRegressor, frame: pd.DataFrame, apart: Mapping[int, Sequence[str]] | None = None
) -> list[str]:
    """Say for every row which inputs lie outside the range of the training rows, as far as it is known."""
    found: list[list[str]] = [[*(apart or {}).get(row, ())] for row in range(len(frame))]
    for name, (least, largest) in field_data_of(model).get("ranges", {}).items():
        if name in frame.columns and name in model.feature_names_in_:
            values = pd.to_numeric(frame[name], errors="coerce").to_numpy(float)
            for row in np.flatnonzero((values < least) | (values > largest)):
                found[row].append(str(name))
    return [", ".join(names) for names in found]
