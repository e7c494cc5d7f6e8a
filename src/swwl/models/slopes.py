"""Derivatives of one case as a table: in every number and along every displacement, each with what it may be off by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.mesh.graph import Graph
from swwl.mesh.mesh import Mesh, trusted_mesh
from swwl.mesh.skin import extent
from swwl.models.sensitivity import Sensitivity, displacements

Array = NDArray[np.float64]

# Slopes are told from the joint prediction of two cases so far apart: of the training deviation of a number, and of the
# extent of a mesh for the node that moves farthest.
_OF_DEVIATION, _OF_EXTENT = 0.1, 0.01
_95 = 1.959963985
COLUMNS = ["target", "what", "kind", "derivative", "std", "lower95", "upper95", "unit", "of_std"]


def slope_table(model: Any, row: pd.DataFrame, found: Sequence[Sensitivity], along: Any = None) -> pd.DataFrame:
    """Return the derivatives of one case, with the standard deviations of slopes that the model itself states.

    A process knows not only values but also how they go together, so it says how uncertain the slope between two nearby
    cases is. That counts what the training cases leave open, not whether the kernel suits.

    Parameters
    ----------
    model : RobustGPRegressor
    row : DataFrame
        Of one row.
    found : sequence of Sensitivity
        What ``model.sensitivity(row, along=along)`` returned, of some or all targets.
    along : optional
        The same displacements.

    Returns
    -------
    DataFrame
        ``target``, ``what`` (the number or displacement), ``kind`` ("number" or "displacement"), ``derivative`` per
        unit of the number or per displacement, its ``std``, ``lower95`` and ``upper95``, ``unit`` (a deviation of
        the number in training, 1 for displacements: what to multiply by to compare), and ``of_std``, the derivative of
        the predictive standard deviation.
    """
    mesh = found[0].mesh
    moves = displacements(along, mesh)
    column = next((name for name in model.feature_names_in_ if name not in found[0].inputs), None)
    train = model.train_inputs_
    steps: dict[str, tuple[str, float, float]] = {}
    rows = []
    for name in found[0].inputs:
        spread = float(train[name].std(ddof=0)) if name in train and train[name].std(ddof=0) > 0 else 1.0
        steps[name] = "number", _OF_DEVIATION * spread, spread
        rows += [row.assign(**{name: row[name].astype(float) + sign * steps[name][1]}) for sign in (1, -1)]
    for name, by in moves.items():
        size = float(np.linalg.norm(by, axis=1).max())
        steps[name] = "displacement", _OF_EXTENT * extent(_points(mesh)) / size if size > 0 else 1.0, 1.0
        rows += [row.assign(**{str(column): [_moved(mesh, sign * steps[name][1] * by)]}) for sign in (1, -1)]
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    _, covariance = model.predict(pd.concat(rows, ignore_index=True), return_cov=True, include_nugget=False)
    covariance = np.reshape(covariance, (-1, len(rows), len(rows)))
    lines = []
    for own in found:
        joint = covariance[list(model.target_names_).index(own.target)]
        for k, (name, (kind, step, unit)) in enumerate(steps.items()):
            pair = joint[2 * k : 2 * k + 2, 2 * k : 2 * k + 2]
            std = float(np.sqrt(max(pair[0, 0] + pair[1, 1] - 2 * pair[0, 1], 0.0))) / (2 * step)
            slope = own.inputs[name] if kind == "number" else float(own.along[name])
            of_std = None
            if own.std is not None:
                of_std = own.std.inputs[name] if kind == "number" else float(own.std.along[name])
            line = [own.target, name, kind, slope, std, slope - _95 * std, slope + _95 * std, unit, of_std]
            lines.append(dict(zip(COLUMNS, line, strict=True)))
    return pd.DataFrame(lines)


def _points(mesh: Mesh | Graph | None) -> Array:
    assert mesh is not None
    return mesh.points if isinstance(mesh, Mesh) else mesh.features


def _moved(mesh: Mesh | Graph | None, by: Array) -> Mesh | Graph:
    if isinstance(mesh, Mesh):
        return trusted_mesh(mesh.points + by, mesh.cells, mesh.fields, mesh.name)
    assert mesh is not None
    return mesh.with_features(mesh.features + by)
