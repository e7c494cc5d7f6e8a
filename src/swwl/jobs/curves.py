"""Characteristic curves of one mesh, drawn and written: what ``swwl curve`` and ``swwl demo`` do."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from swwl.errors import InputError
from swwl.evaluation.curves import check_inputs, predict_curves
from swwl.formatting import Record, plain
from swwl.jobs.outputs import picture_metadata
from swwl.jobs.predict import GAP, PREDICTED, graph_columns
from swwl.mesh.io.formats import is_mesh
from swwl.plots import CurvesDisplay
from swwl.plots.style import new_figure, style
from swwl.regression.estimator import RobustGPRegressor
from swwl.storage.atomic import atomic_write
from swwl.tables.read import write_table

PICTURES = (".png", ".svg", ".pdf")
_PER_ROW = 3


@dataclass(frozen=True)
class CurvesPlan:
    """Which curves to draw.

    Attributes
    ----------
    targets : list of str
    meshes : dict of str to path
        By column.
    sweep : tuple (column, values)
    each : tuple (column, values) or None
    fix : dict of str to number, integer or vector
    held : dict of str to float
        Inputs that stand at the median of the training set because nobody named them.
    """

    targets: list[str]
    meshes: dict[str, Path]
    sweep: tuple[str, list[float]]
    each: tuple[str, list[float]] | None
    fix: Record
    held: dict[str, float]


def plan_curves(
    model: RobustGPRegressor,
    sweep: tuple[str, list[float]],
    each: tuple[str, list[float]] | None = None,
    fix: Mapping[str, Any] | None = None,
    meshes: Mapping[str, Path] | None = None,
    targets: Sequence[str] = (),
) -> CurvesPlan:
    """Check what curves are asked for, without reading any mesh.

    Parameters
    ----------
    model : RobustGPRegressor
    sweep, each, fix
        See :func:`swwl.evaluation.curves.predict_curves`.
    meshes : mapping of str to path
        Mesh files by column.
    targets : sequence of str
        All by default.
    """
    for name in targets:
        if name not in model.target_names_:
            raise InputError(f"The model has no target {name!r}; it has: {', '.join(model.target_names_)}.")
    wanted, given = graph_columns(model), dict(meshes or {})
    if set(wanted) != set(given):
        known, found = (", ".join(names) or "none" for names in (wanted, given))
        raise InputError(f"The mesh columns of the model are {known}, but meshes were given for {found}.")
    for file in given.values():
        if not is_mesh(file):
            raise InputError(f"{file}: no such mesh file.")
    check_inputs(model, sweep[0], None if each is None else each[0], fix)
    train = model.train_inputs_
    named = {sweep[0], *([each[0]] if each else []), *(fix or {})}
    return CurvesPlan(
        targets=list(targets) or list(model.target_names_),
        meshes=given,
        sweep=sweep,
        each=each,
        fix=dict(fix or {}),
        held={name: float(train[name].median()) for name in train.columns if name not in named},
    )


def draw_curves(model: RobustGPRegressor, plan: CurvesPlan, output: Path, title: str = "") -> pd.DataFrame:
    """Predict curves, draw those of every target into one picture, and write the numbers beside it.

    Parameters
    ----------
    model : RobustGPRegressor
    plan : CurvesPlan
    output : path
        A picture; the numbers go into the file of the same name that ends in .csv.
    title : str
        Above a single target.

    Returns
    -------
    DataFrame
        Inputs, and mean, std, lower95 and upper95 of every target, curve after curve; gap_from95 and gap_to95, too,
        where two outcomes are possible.
    """
    sweep, each = plan.sweep[0], None if plan.each is None else plan.each[0]
    try:
        table, prediction = predict_curves(model, plan.meshes, plan.sweep, plan.each, plan.fix)
    except InputError as error:
        if error.item is not None and len(plan.meshes) == 1:
            error.named("The mesh")  # there is no table, and so there is no row to name
        raise
    n = len(plan.targets)
    figure = new_figure(4.4 * min(n, _PER_ROW), 3.6 * -(-n // _PER_ROW))
    with style():
        axes = figure.subplots(-(-n // _PER_ROW), min(n, _PER_ROW), squeeze=False).ravel()
        if title:
            axes[0].set_title(title)
    numbers = table.drop(columns=list(plan.meshes))
    for name in numbers.select_dtypes(object).columns:  # vectors, as a table for predict holds them
        numbers[name] = [json.dumps(plain(value)) for value in numbers[name]]
    for axis, name in zip(axes, plan.targets, strict=False):
        display = CurvesDisplay.from_prediction(model, table, prediction, sweep, each, target=name, ax=axis)
        for key in (*PREDICTED, *(key for key in GAP if key in display.table)):
            numbers[f"{name}_{key}"] = display.table[key]
    for axis in axes[n:]:
        axis.remove()
    picture = io.BytesIO()
    with style():  # also decides how SVG numbers its parts
        figure.savefig(picture, format=output.suffix[1:].lower(), dpi=160, metadata=picture_metadata(output))
    with atomic_write(output) as file:
        file.write(picture.getvalue())
    write_table(output.with_suffix(".csv"), numbers)
    return numbers
