"""What changes a prediction of one case: derivatives as numbers, as fields on its mesh, and as a picture."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.embedding.components import Modes, displacement_modes
from swwl.errors import InputError, MeshWarning, located
from swwl.evaluation.metadata import data_of
from swwl.formatting import Record, number
from swwl.jobs.outputs import picture_metadata
from swwl.jobs.predict import graph_columns, input_columns
from swwl.mesh.groups import matching
from swwl.mesh.io import as_mesh
from swwl.mesh.io.formats import is_mesh
from swwl.mesh.mesh import Mesh
from swwl.plots.sensitivity import MOST, MOST_BARS, PushDisplay, SlopesDisplay
from swwl.plots.style import new_figure, style, words
from swwl.regression.estimator import RobustGPRegressor
from swwl.regression.sensitivity import Sensitivity, slope_table
from swwl.storage.atomic import atomic_write

MODES = "modes"
# By these names a mesh says that this wrote it.
FIELD_ENDINGS = ("gradient", "push")


def read_along(texts: Sequence[str], model: RobustGPRegressor, path: Path) -> Record | None:
    """Read along which displacements derivatives are requested.

    Parameters
    ----------
    texts : sequence of str
        "modes", for the displacement modes of the training meshes; a file ".npz" of (n, d) arrays; NAME=TO or
        NAME=FROM,TO, of mesh files with the same cells (NAME= may be left out).
    model : RobustGPRegressor
    path : path
        Of the model file: training meshes are looked for beside it.

    Returns
    -------
    dict of str to displacement, or None where nothing is requested
    """
    found: Record = {}
    for text in texts:
        new: Mapping[str, Any]
        if text == MODES:
            modes = _modes(training_meshes(model, path))
            new = dict(zip(modes.names, modes.displacements, strict=True))
        elif text.lower().endswith(".npz") and "=" not in text:
            new = _arrays(Path(text))
        else:
            name, _, files = text.rpartition("=")
            parts = files.split(",")
            if len(parts) > 2 or not all(is_mesh(Path(file)) for file in parts):
                raise InputError(
                    f"--along {text!r} is not understood; expected modes, an .npz file of displacements, or "
                    f"meshes: NAME=TO.vtu or NAME=FROM.vtu,TO.vtu."
                )
            new = {name or Path(parts[-1]).stem: parts[0] if len(parts) == 1 else tuple(parts)}
        twice = sorted(set(new) & set(found))
        if twice:
            raise InputError(f"--along names {twice[0]!r} twice.")
        found |= new
    return found or None


def _modes(files: Sequence[Path]) -> Modes:
    """Return the displacement modes of mesh files; where they have none, say what else can be asked."""
    try:
        return displacement_modes(files)
    except InputError as error:
        raise InputError(
            f"{error} Without --along modes, explain shows where pushing the surface changes the prediction "
            f"(-o sens.vtu, --picture; --where for a part of it); --where GROUP moves the bodies of a named group, on "
            f"meshes of any topology; --along NAME=FROM.vtu,TO.vtu takes deformations of "
            f"your own."
        ) from None


def _arrays(path: Path) -> Record:
    if not path.is_file():
        raise InputError(f"{path}: no such file.")
    with located(str(path)):
        try:
            with np.load(path, allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (OSError, ValueError) as error:
            raise InputError(f"is not a file of arrays: {error}") from None


def training_meshes(model: RobustGPRegressor, path: Path) -> list[Path]:
    """Return the mesh files that a model was fitted to, as its file says where they were."""
    columns = graph_columns(model)
    data = data_of(model)
    if data is None or len(columns) != 1 or columns[0] not in data.train.meshes:
        raise InputError("The model file does not say which meshes it was fitted to, so it has no modes to show.")
    folder = (path.parent / data.table).parent
    files = [folder / name for name in data.train.meshes[columns[0]]]
    gone = next((file for file in files if not is_mesh(file)), None)
    if gone is not None:
        raise InputError(f"{gone}: no such file; displacement modes need the meshes that the model was fitted to.")
    return files


Box = list[tuple[float, float]]


def read_where(text: str) -> Box | str:
    """Read LOW:HIGH for every coordinate, with commas and open where a bound is left out; other texts name groups.

    >>> read_where("0:1,:0.5"), read_where("body*")
    ([(0.0, 1.0), (-inf, 0.5)], 'body*')
    """
    try:
        pairs = [part.split(":") for part in text.split(",")]
        return [(float(low or "-inf"), float(high or "inf")) for low, high in pairs]
    except ValueError:
        return text


def explain_case(
    model: RobustGPRegressor,
    frame: pd.DataFrame,
    along: Mapping[str, Any] | None,
    target: str | None = None,
    where: Box | str | None = None,
) -> tuple[list[Sensitivity], pd.DataFrame]:
    """Return the sensitivities of one case, a table of one row, and its derivatives as a table.

    Parameters
    ----------
    model : RobustGPRegressor
    frame : DataFrame
    along : mapping of str to displacement, optional
    target : str, optional
        All by default.
    where : list of (low, high), or str, optional
        For every coordinate: nodes outside it may not move. Or a name or pattern of groups: other nodes may not move,
        and the derivatives along motions of these groups are in the table.
    """
    row = input_columns(model, frame, Path("case"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeshWarning)
        if isinstance(where, str):
            _check_groups(where, model, row)
            found = model.sensitivity(row, target, along=along, where=where, motions=where)
        else:
            nodes = None if where is None else _inside(where, model, row)
            found = model.sensitivity(row, target, along=along, where=nodes)
        return found, slope_table(model, row, found, along)


def _mesh_of(model: RobustGPRegressor, row: pd.DataFrame) -> Mesh:
    columns = graph_columns(model)
    if len(columns) != 1:
        raise InputError("--where says which nodes may move, but the model has no mesh, or several.")
    return as_mesh(row[columns[0]].iloc[0])


def _check_groups(pattern: str, model: RobustGPRegressor, row: pd.DataFrame) -> None:
    """Refuse what is neither a box nor a name of groups that a mesh has."""
    groups = _mesh_of(model, row).groups
    if not matching(pattern, groups):
        there = f"has no such group; its groups are: {', '.join(groups)}" if groups else "has no groups"
        raise InputError(f"--where {pattern!r} is not a box, such as 0:1,-0.5:0.5, and the mesh {there}.")


def _inside(box: Box, model: RobustGPRegressor, row: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which nodes of the mesh of a case lie in a box, (n,)."""
    points = _mesh_of(model, row).points
    if points.shape[1] != len(box):
        raise InputError(f"--where has {len(box)} ranges, but the mesh has {points.shape[1]} coordinates.")
    low, high = np.array(box).T
    inside: NDArray[np.bool_] = ((points >= low) & (points <= high)).all(axis=1)
    if not inside.any():
        raise InputError("--where holds no node of the mesh.")
    return inside


def mesh_with_fields(found: Sequence[Sensitivity], length: float = 0.0) -> Mesh:
    """Return the mesh of a case with fields TARGET_gradient (n, d) and TARGET_push (n,), the normal density."""
    mesh = found[0].mesh
    if not isinstance(mesh, Mesh):
        raise InputError("There is no mesh to write derivatives on: the model has none, or graphs without cells.")
    fields: Record = {}
    for own in found:
        fields[f"{own.target}_{FIELD_ENDINGS[0]}"] = own.gradient
        try:
            fields[f"{own.target}_{FIELD_ENDINGS[1]}"] = own.normal_density(length, MOST)
        except InputError:  # lines in space have no skin
            continue
    return mesh.with_fields(fields)


def is_explained(path: Path) -> bool:
    """Whether a file is a mesh that this wrote."""
    head = path.read_bytes()[: 1 << 16]
    return all(f'_{ending}"'.encode() in head for ending in FIELD_ENDINGS)


def _title(found: Sequence[Sensitivity]) -> str:
    """Name the case and what is predicted of it."""
    case = getattr(found[0].mesh, "name", "") or "one case"
    told = [f"{words(own.target)} {number(own.value)}" for own in found[:3]]
    return f"{case}: {', '.join(told)}{', …' if len(found) > 3 else ''}"


def draw_explained(found: Sequence[Sensitivity], table: pd.DataFrame, output: Path, length: float = 0.0) -> None:
    """Draw, for every target, bars of derivatives and where on the mesh pushing changes the prediction."""
    heights = [max(3.2, 1.4 + 0.24 * min(MOST_BARS, int((table["target"] == own.target).sum()))) for own in found]
    figure = new_figure(10.5, sum(heights) + 0.4)
    with style():
        axes = figure.subplots(len(found), 2, squeeze=False, height_ratios=heights)
        figure.suptitle(_title(found), fontsize=10.5, x=0.01, ha="left")
        for (bars, picture), own in zip(axes, found, strict=True):
            lines = table[table["target"] == own.target]
            if len(lines):
                SlopesDisplay(lines, own.target).plot(bars)
            else:
                bars.remove()
            try:
                PushDisplay(own, length).plot(picture)
            except InputError:
                picture.remove()
        content = io.BytesIO()
        figure.savefig(content, format=output.suffix[1:].lower(), dpi=160, metadata=picture_metadata(output))
    with atomic_write(output) as file:
        file.write(content.getvalue())
