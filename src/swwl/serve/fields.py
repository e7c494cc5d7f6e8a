"""Answers about whole meshes: the surface to draw, predicted fields, sensitivities, and samples of PLAID."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.fields.values import cells_to_nodes
from swwl.mesh.io.vtu_write import write_vtu
from swwl.mesh.mesh import Mesh
from swwl.serve.cases import case_table, known_keys
from swwl.serve.meshes import Known
from swwl.serve.served import Served
from swwl.serve.surface import own_fields, pack, surface_of

Arrays = dict[str, NDArray[Any]]


def one_mesh(served: Served, meshes: Mapping[str, Known], asked: Mapping[str, Any]) -> Known:
    """Return the mesh that a question is about: the only one, or that of the column it names."""
    column = str(asked.get("column") or next(iter(served.mesh_columns), ""))
    if column not in meshes:
        raise InputError("A mesh is wanted: send a file, or name one.")
    return meshes[column]


def surface(served: Served, meshes: Mapping[str, Known], asked: Mapping[str, Any]) -> bytes:
    """Return points, triangles, edges and the file's own fields, as :func:`swwl.serve.surface.pack` lays them out."""
    known_keys(asked, "model", "mesh", "column")
    known = one_mesh(served, meshes, asked)
    found = surface_of(known.mesh)
    own = own_fields(known.mesh, found["nodes"])
    header = {
        "name": known.name,
        "nodes": known.item.n_nodes,
        "cells": known.mesh.n_cells,
        "dimension": known.mesh.dimension,
    }
    header["fields"] = list(own)
    return pack(header, found | {f"field:{name}": values for name, values in own.items()})


def field(served: Served, meshes: Mapping[str, Known], asked: Mapping[str, Any]) -> tuple[str, str, bytes]:
    """Predict the fields of a field model at all nodes.

    Returns
    -------
    name : str
        Of a file to download, or empty.
    kind : str
        Media type.
    content : bytes
        float32 at the nodes as :func:`swwl.serve.surface.pack` lays them out (``value:NAME`` and ``std:NAME``), or a
        VTU file, where fields of cells are on cells.
    """
    known_keys(asked, "model", "mesh", "column", "inputs", "format")
    form = asked.get("format", "bytes")
    if form not in ("bytes", "vtu"):
        raise InputError(f"format must be 'bytes' or 'vtu', not {str(form)[:80]!r}.")
    known = one_mesh(served, meshes, asked)
    table = case_table(served, asked.get("inputs"))
    if form == "vtu":
        file = io.BytesIO()
        write_vtu(file, served.mesh_of(meshes, table))
        return "predicted.vtu", "application/octet-stream", file.getvalue()
    means, stds = served.fields_of(meshes, table)
    arrays = {f"value:{name}": _at_nodes(known.mesh, values) for name, values in means.items()}
    arrays |= {f"std:{name}": _at_nodes(known.mesh, values) for name, values in stds.items()}
    header = {"name": known.name, "nodes": known.item.n_nodes, "fields": list(means)}
    return "", "application/octet-stream", pack(header, arrays)


def _at_nodes(mesh: Mesh, values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return a field as float32 at the nodes; one of cells is carried there."""
    if len(values) != mesh.n_nodes:
        carried = cells_to_nodes(mesh, values.reshape(len(values), -1))
        values = carried[:, 0] if values.ndim == 1 else carried
    return values.astype(np.float32)


def sensitivity(served: Served, meshes: Mapping[str, Known], asked: Mapping[str, Any]) -> bytes:
    """Return how a prediction changes when the nodes of a mesh move outward, ``value:TARGET`` (n,)."""
    known_keys(asked, "model", "mesh", "column", "inputs")
    known = one_mesh(served, meshes, asked)
    if served.fields:
        raise InputError(f"The model {served.name!r} predicts fields; sensitivities are of numbers.")
    served.check_meshes(meshes)
    table = with_meshes(case_table(served, asked.get("inputs")), meshes)
    found = served.model.sensitivity(table, std=False)
    arrays = {f"value:{one.target}": one.normal.astype(np.float32) for one in found}
    slopes = {one.target: one.inputs for one in found}
    return pack({"name": known.name, "nodes": known.item.n_nodes, "inputs": slopes}, arrays)


def with_meshes(table: pd.DataFrame, meshes: Mapping[str, Known]) -> pd.DataFrame:
    """Return a table of one case with its meshes."""
    return table.assign(**{name: pd.Series([known.item], dtype=object) for name, known in meshes.items()})


def for_sample(
    served: Served, meshes: Mapping[str, Known], inputs: Mapping[str, Any]
) -> tuple[dict[str, float], Arrays | None]:
    """Return the numbers and the fields that a sample of PLAID gets: means under their names, and std and bounds."""
    table = case_table(served, dict(inputs))
    keys = {"mean": "", "std": "_std", "lower": "_lower95", "upper": "_upper95"}
    told = served.judge(meshes, table, 0.95).targets
    numbers = {f"{name}{end}": one[key] for name, one in told.items() for key, end in keys.items()}
    if served.fields:
        means, stds = served.fields_of(meshes, table)
        nodes = next(iter(meshes.values())).item.n_nodes
        found = means | {f"{name}_std": std for name, std in stds.items()}
        return numbers, {name: values for name, values in found.items() if len(values) == nodes}
    return numbers, None
