"""Our own files of one graph or one mesh: NumPy ``.npz`` archives without pickles, the quickest to read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

import numpy as np

from swwl.errors import InputError, located
from swwl.mesh.arrays import AnyArray
from swwl.mesh.graph import Graph
from swwl.mesh.io.shared import Budget
from swwl.mesh.mesh import Mesh
from swwl.storage.atomic import atomic_write
from swwl.storage.checks import ZIP_ERRORS, as_array

_GRAPH = "swwl-graph 1"
_MESH = "swwl-mesh 1"


def write_graph(path: str | os.PathLike[str], graph: Graph) -> None:
    """Write a graph to ``path`` (``.npz``), under a temporary name until it is complete.

    Parameters
    ----------
    path : str or path
        Must end in ``.npz``, so that :func:`swwl.read_graph` knows it again.
    graph : Graph

    Examples
    --------
    >>> import tempfile, swwl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_graph(f"{folder}/bar.npz", Graph([[0.0], [1.0]], [[0, 1]]))
    ...     swwl.read_graph(f"{folder}/bar.npz")
    Graph(bar.npz: 2 nodes, 1 edge, 1 feature)
    """
    if Path(path).suffix != ".npz":
        with located(str(path)):
            raise InputError("a graph is written to a file that ends in .npz.")
    arrays = {"format": np.array(_GRAPH), "features": graph.features, "edges": graph.edges}
    if graph.weights is not None:
        arrays["weights"] = graph.weights
    if graph.node_weights is not None:
        arrays["node_weights"] = graph.node_weights
    with atomic_write(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def write_npz(file: IO[bytes], mesh: Mesh, compress: bool = False) -> None:
    """Write points, cells, fields and groups of a mesh to an open file."""
    arrays = {"format": np.array(_MESH), "points": mesh.points}
    arrays |= {f"cells_{kind}": cells for kind, cells in mesh.cells.items()}
    arrays |= {f"field_{name}": values for name, values in mesh.fields.items()}
    arrays |= {f"cell_field_{name}": values for name, values in mesh.cell_fields.items()}
    for name, group in mesh.groups.items():
        if group.kind == "nodes":
            arrays[f"group_nodes_{name}"] = group.nodes
        empty = {"line": np.empty((0, 2) if group.kind == "faces" else 0, np.int32)}
        for kind, numbers in ((group.faces or group.cells or empty) if group.kind != "nodes" else {}).items():
            arrays[f"group_{group.kind}_{kind}_{name}"] = numbers
    (np.savez_compressed if compress else np.savez)(file, **arrays)  # type: ignore[arg-type]


def read_npz(path: Path, fields: Collection[str] | None = None) -> Graph | Mesh:
    """Read what :func:`write_graph` or :func:`write_npz` wrote."""
    with open(path, "rb") as file:
        arrays = read_arrays(file)
    found = str(arrays.pop("format")) if "format" in arrays else f"arrays {', '.join(arrays)[:200]}"
    if found == _GRAPH:
        wanted = {"features", "edges"}
        if not wanted <= arrays.keys() <= wanted | {"weights", "node_weights"}:
            raise InputError(f"a graph has arrays features and edges, but it has {', '.join(arrays)[:200] or 'none'}")
        return Graph(**arrays, name=path.name)
    if found == _MESH:
        if "points" not in arrays:
            raise InputError(f"a mesh has an array points, but it has {', '.join(arrays)[:200] or 'none'}")
        return Mesh(
            arrays["points"],
            _parts(arrays, "cells_"),
            _parts(arrays, "field_"),
            cell_fields=_parts(arrays, "cell_field_"),
            groups=_groups(arrays),
        )
    raise InputError(f"it is not a file of this version: expected {_GRAPH!r} or {_MESH!r}, found {found}")


def _parts(arrays: dict[str, AnyArray], prefix: str) -> dict[str, AnyArray]:
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}


def _groups(arrays: dict[str, AnyArray]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, array in _parts(arrays, "group_").items():
        kind, _, name = key.partition("_")
        if kind == "nodes":
            found[name] = array
        else:
            cells, _, name = name.partition("_")
            found.setdefault(name, {})[cells] = array
    return found


def read_arrays(file: IO[bytes]) -> dict[str, AnyArray]:
    """Read the arrays of an ``.npz`` archive, read-only; sizes are checked before memory is taken.

    Parameters
    ----------
    file : binary file
        Open and seekable.

    Raises
    ------
    InputError
        For anything that is not an archive of arrays of numbers and texts, and for more than 20 times its size.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, a=np.arange(3))
    >>> read_arrays(file)
    {'a': array([0, 1, 2])}
    """
    budget = Budget(file.seek(0, os.SEEK_END))
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            budget.take(sum(member.file_size for member in members))
            return {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}
    except ZIP_ERRORS as error:
        raise InputError(f"it is not an .npz archive, or is damaged ({error})") from None


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> AnyArray:
    content = archive.read(member)  # never more than the size it declares
    with located(f"its array {member.filename.removesuffix('.npy')!r}"):
        return as_array(content)
