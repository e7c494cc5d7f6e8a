"""Our own files of one graph or one mesh: NumPy ``.npz`` archives without pickles, the quickest to read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

import numpy as np

from swwl.errors import InputError, located
from swwl.mesh.arrays import release
from swwl.mesh.graph import Graph
from swwl.mesh.mesh import Mesh
from swwl.storage import atomic_write

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


def write_npz(file: IO[bytes], mesh: Mesh) -> None:
    """Write points, cells and node fields of a mesh to an open file, compressed."""
    arrays = {"format": np.array(_MESH), "points": mesh.points}
    arrays |= {f"cells_{kind}": cells for kind, cells in mesh.cells.items()}
    arrays |= {f"field_{name}": values for name, values in mesh.fields.items()}
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def read_npz(path: Path) -> Graph | Mesh:
    """Read what :func:`write_graph` or :func:`write_npz` wrote."""
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {key: release(archive[key]) for key in archive.files}
    found = str(arrays.pop("format")) if "format" in arrays else f"arrays {', '.join(arrays)}"
    if found == _GRAPH:
        return Graph(**arrays, name=path.name)
    if found == _MESH:
        cells = {key.removeprefix("cells_"): arrays[key] for key in arrays if key.startswith("cells_")}
        fields = {key.removeprefix("field_"): arrays[key] for key in arrays if key.startswith("field_")}
        return Mesh(arrays["points"], cells, fields)
    raise InputError(f"it is not a file of this version: wanted {_GRAPH!r} or {_MESH!r}, found {found}")
