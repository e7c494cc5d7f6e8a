"""Kernels on the meshes of a field regressor: the user's, those of scalar targets, or positions of shared nodes."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.base import clone

from swwl.errors import InputError
from swwl.fields.shapes import NodePositions, ShapeFactor, WallShapes
from swwl.kernels.base import Product
from swwl.kernels.elliptic import Elliptic
from swwl.models.defaults import default_kernels
from swwl.models.members import named_kernels
from swwl.models.tables import column, is_graphs, is_numeric


def mesh_column(table: pd.DataFrame, kernel: Any = None) -> str:
    """Return the column whose meshes carry the fields: the first that holds meshes.

    Examples
    --------
    >>> mesh_column(pd.DataFrame({"speed": [1.0], "mesh": ["a.vtu"]}))
    'mesh'
    """
    if not len(table):
        raise InputError("The table has no rows to learn from.")
    for name in table.columns:
        values = column(table, name)
        if not is_numeric(values) and not isinstance(values.dtype, pd.CategoricalDtype) and is_graphs(values):
            return str(name)
    raise InputError("The table has no column of meshes, which carry the fields.")


def field_kernels(table: pd.DataFrame, mesh: str, model: Any, geometry: Any) -> dict[str, Product]:
    """Return the candidate kernels of a field regressor, by name.

    Parameters
    ----------
    table : DataFrame
        Training inputs.
    mesh : str
        The column of meshes.
    model : FieldRegressor
    geometry : Geometry
        What the meshes have in common.
    """
    if model.kernel is not None:
        return named_kernels(model.kernel)
    options = {"random_state": model.random_state, "n_jobs": model.n_jobs}
    rest = table.drop(columns=mesh)
    others = next(iter(default_kernels(rest, **options).values())).factors if rest.shape[1] else []

    def with_others(shapes: ShapeFactor, title: str) -> dict[str, Product]:
        pairs = ((title, "matern52"), (f"{title}, smooth", "gaussian"))
        return {name: Elliptic(clone(shapes), *map(clone, others), correlation=kind) for name, kind in pairs}

    if geometry.common:
        return with_others(NodePositions(mesh), "positions")
    walls = with_others(WallShapes(mesh), "walls") if geometry.describer.bodies is not None else {}
    return walls | default_kernels(table, few_rows=False, **options)
