"""Answers about whole meshes: the surface to draw, predicted fields, sensitivities, and what a sample of PLAID gets.

Arrays go to the client as bytes behind a header of JSON: `pack` lays them out, `unpack` takes them apart.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.fields.values import cells_to_nodes
from swwl.formatting import plain
from swwl.mesh.boundary import boundary
from swwl.mesh.cells import cell_dimension, cell_edges, top_cells
from swwl.mesh.io.vtk.vtu import write_vtu
from swwl.mesh.mesh import Mesh
from swwl.serve.models.meshes import Known
from swwl.serve.models.served import Served
from swwl.serve.requests.questions import FieldQuestion, HistoryQuestion, SensitivityQuestion, SurfaceQuestion

Arrays = dict[str, NDArray[Any]]

_MOST_FIELDS = 8


def surface_of(mesh: Mesh) -> Arrays:
    """Return points, triangles and edges to draw, and which nodes of the mesh the points are.

    Parameters
    ----------
    mesh : Mesh
        In one to three dimensions; more coordinates are not drawn.

    Returns
    -------
    dict
        ``points`` (n, 3) float32, ``triangles`` (m, 3) and ``edges`` (e, 2) uint32, ``nodes`` (n,) uint32.

    Examples
    --------
    >>> square = Mesh([[0, 0], [1, 0], [1, 1], [0, 1]], {"quad": [[0, 1, 2, 3]]})
    >>> found = surface_of(square)
    >>> found["triangles"].tolist(), found["edges"].tolist()
    ([[0, 1, 2], [0, 2, 3]], [[0, 1], [0, 3], [1, 2], [2, 3]])
    """
    top = top_cells(mesh.cells)
    dimension = max(map(cell_dimension, top), default=0)
    solid = dimension == 3 and mesh.dimension == 3
    triangles = boundary(mesh.points, mesh.cells) if solid else mesh.triangles()
    pairs = np.concatenate([np.empty((0, 2), np.int32), *(cell_edges(kind, block) for kind, block in top.items())])
    edges = _distinct(pairs, mesh.n_nodes)
    if solid:  # those of the boundary alone
        around = _distinct(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), mesh.n_nodes)
        edges = np.intersect1d(edges, around, assume_unique=True)
    lines = np.column_stack(np.divmod(edges, max(1, mesh.n_nodes)))
    nodes, places = np.unique(np.concatenate([triangles.ravel(), lines.ravel()]), return_inverse=True)
    points = np.zeros((len(nodes), 3), np.float32)
    # Relative to the middle: float32 would not tell nodes apart that lie close together far from the origin.
    own = mesh.points[nodes, :3]
    points[:, : own.shape[1]] = own - (own.max(axis=0) + own.min(axis=0)) / 2 if len(own) else own
    return {
        "points": points,
        "triangles": places[: triangles.size].reshape(-1, 3).astype(np.uint32),
        "edges": places[triangles.size :].reshape(-1, 2).astype(np.uint32),
        "nodes": nodes.astype(np.uint32),
    }


def _distinct(pairs: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    """Return each edge once, as a number."""
    low, high = pairs.min(axis=1, initial=n), pairs.max(axis=1, initial=0)
    return np.unique(low.astype(np.int64) * max(1, n) + high)


def own_fields(mesh: Mesh, nodes: NDArray[np.integer]) -> dict[str, NDArray[np.float32]]:
    """Return the fields that a mesh file brings, at some nodes: numbers as they are, vectors by their length."""
    found: dict[str, NDArray[np.float32]] = {}
    for name, values in mesh.fields.items():
        if values.dtype.kind in "biuf" and len(found) < _MOST_FIELDS:
            chosen = values[nodes].astype(np.float64)
            found[name] = (chosen if chosen.ndim == 1 else np.sqrt((chosen**2).sum(axis=1))).astype(np.float32)
    return found


def pack(header: Mapping[str, object], arrays: Arrays) -> bytes:
    """Return a header and arrays in one piece of bytes: four for the length of the header, the header, the arrays.

    The header is JSON; its ``arrays`` say the type, the shape and the first byte of each, counted from where the
    arrays begin. All numbers are little-endian, and all begin at multiples of eight bytes.

    Examples
    --------
    >>> unpack(pack({"name": "square"}, {"T": np.array([1, 2], np.float32)}))
    ({'name': 'square'}, {'T': array([1., 2.], dtype=float32)})
    """
    parts, places, start = [], {}, 0
    for name, array in arrays.items():
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        places[name] = {"type": array.dtype.name, "shape": list(array.shape), "start": start}
        content = little.tobytes()
        parts.append(content + bytes(-len(content) % 8))
        start += len(parts[-1])
    text = json.dumps(plain(dict(header) | {"arrays": places}), allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % 8)
    return struct.pack("<I", len(text)) + text + b"".join(parts)


def unpack(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that :func:`pack` put together."""
    (length,) = struct.unpack_from("<I", content)
    header = json.loads(content[4 : 4 + length])
    arrays = {}
    for name, one in header.pop("arrays").items():
        kind, count = np.dtype(one["type"]).newbyteorder("<"), int(np.prod(one["shape"]))
        arrays[name] = np.frombuffer(content, kind, count, 4 + length + one["start"]).reshape(one["shape"])
    return header, arrays


def one_mesh(served: Served, meshes: Mapping[str, Known], column: str | None) -> Known:
    """Return the mesh that a question is about: the only one, or that of the column it names."""
    column = column or next(iter(served.mesh_columns), "")
    if column not in meshes:
        raise InputError("A mesh is needed: send a file, or name one.")
    return meshes[column]


def surface(served: Served, meshes: Mapping[str, Known], question: SurfaceQuestion) -> bytes:
    """Return points, triangles, edges and the file's own fields, as :func:`pack` lays them out."""
    known = one_mesh(served, meshes, question.column)
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


def field(served: Served, meshes: Mapping[str, Known], question: FieldQuestion) -> tuple[str, bytes]:
    """Predict the fields of a field model at all nodes.

    Returns
    -------
    name : str
        Of a file to download, or empty.
    content : bytes
        float32 at the nodes as :func:`pack` lays them out (``value:NAME`` and ``std:NAME``), or a
        VTU file, where fields of cells are on cells.
    """
    known = one_mesh(served, meshes, question.column)
    table = served.case(question.inputs)
    if question.format == "vtu":
        file = io.BytesIO()
        write_vtu(file, served.mesh_of(meshes, table, question.time))
        return "predicted.vtu", file.getvalue()
    means, stds = served.fields_of(meshes, table, question.time)
    arrays = {f"value:{name}": _at_nodes(known.mesh, values) for name, values in means.items()}
    arrays |= {f"std:{name}": _at_nodes(known.mesh, values) for name, values in stds.items()}
    header = {"name": known.name, "nodes": known.item.n_nodes, "fields": list(means)}
    return "", pack(header, arrays)


def history(served: Served, meshes: Mapping[str, Known], question: HistoryQuestion) -> dict[str, object]:
    """Predict how fields change at a node: times, mean, std and bounds of each."""
    found = served.at_node(meshes, served.case(question.inputs), question.node)
    place = one_mesh(served, meshes, None).mesh.points[found["node"]]
    return {"model": served.name, "place": place} | found


def _at_nodes(mesh: Mesh, values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return a field as float32 at the nodes; one of cells is carried there."""
    if len(values) != mesh.n_nodes:
        carried = cells_to_nodes(mesh, values.reshape(len(values), -1))
        values = carried[:, 0] if values.ndim == 1 else carried
    return values.astype(np.float32)


def sensitivity(served: Served, meshes: Mapping[str, Known], question: SensitivityQuestion) -> bytes:
    """Return how a prediction changes when the nodes of a mesh move outward, ``value:TARGET`` (n,)."""
    known = one_mesh(served, meshes, question.column)
    found = served.sensitivities(meshes, served.case(question.inputs))
    arrays = {f"value:{one.target}": one.normal.astype(np.float32) for one in found}
    slopes = {one.target: one.inputs for one in found}
    return pack({"name": known.name, "nodes": known.item.n_nodes, "inputs": slopes}, arrays)


def for_sample(
    served: Served, meshes: Mapping[str, Known], inputs: Mapping[str, object]
) -> tuple[dict[str, float], Arrays | None]:
    """Return the numbers and the fields that a sample of PLAID gets: means under their names, and std and bounds."""
    table = served.case(inputs)
    keys = {"mean": "", "std": "_std", "lower": "_lower95", "upper": "_upper95"}
    told = served.judge(meshes, table, 0.95).targets
    numbers = {f"{name}{end}": one[key] for name, one in told.items() for key, end in keys.items()}
    if served.fields:
        means, stds = served.fields_of(meshes, table)
        nodes = next(iter(meshes.values())).item.n_nodes
        found = means | {f"{name}_std": std for name, std in stds.items()}
        return numbers, {name: values for name, values in found.items() if len(values) == nodes}
    return numbers, None
