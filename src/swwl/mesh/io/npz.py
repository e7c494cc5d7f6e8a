"""Our own files of one graph or one mesh: NumPy ``.npz`` archives without pickles, the quickest to read."""

import os
import zipfile
import zlib
from pathlib import Path
from typing import IO

import meshio
import numpy as np

from swwl.errors import InputError
from swwl.mesh.graph import Graph
from swwl.storage import atomic_write

_GRAPH = "swwl-graph 1"
_MESH = "swwl-mesh 1"


def write_graph(path: str | os.PathLike, graph: Graph) -> None:
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
    Graph(bar.npz: 2 nodes, 1 edges, 1 feature)
    """
    if Path(path).suffix != ".npz":
        raise InputError(f"{path}: a graph is written to a file that ends in .npz.")
    arrays = {"format": np.array(_GRAPH), "features": graph.features, "edges": graph.edges}
    if graph.weights is not None:
        arrays["weights"] = graph.weights
    if graph.node_weights is not None:
        arrays["node_weights"] = graph.node_weights
    with atomic_write(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def write_npz_mesh(file: IO[bytes], mesh: meshio.Mesh) -> None:
    """Write points, cells and node fields of a mesh to an open file, compressed."""
    arrays = {"format": np.array(_MESH), "points": mesh.points}
    arrays |= {f"cells_{kind}": cells for kind, cells in mesh.cells_dict.items()}
    arrays |= {f"field_{name}": np.asarray(values) for name, values in mesh.point_data.items()}
    np.savez_compressed(file, **arrays)


def read_npz(path: str | os.PathLike) -> Graph | meshio.Mesh:
    """Read what :func:`write_graph` or :func:`write_npz_mesh` wrote."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError) as error:
        raise InputError(f"it is damaged or no .npz archive ({error})") from None
    found = str(arrays.pop("format")) if "format" in arrays else f"arrays {', '.join(arrays)}"
    if found == _GRAPH:
        return Graph(**arrays, name=Path(path).name)
    if found == _MESH:
        cells = [(key.removeprefix("cells_"), arrays[key]) for key in arrays if key.startswith("cells_")]
        fields = {key.removeprefix("field_"): arrays[key] for key in arrays if key.startswith("field_")}
        return meshio.Mesh(arrays["points"], cells, point_data=fields)
    raise InputError(f"it is no file of this version: wanted {_GRAPH!r} or {_MESH!r}, found {found}")
