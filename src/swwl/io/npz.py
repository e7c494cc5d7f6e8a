"""Our own file of one graph: a NumPy ``.npz`` archive without pickles, the quickest to read."""

import os
import zipfile
from pathlib import Path

import numpy as np

from swwl.graph import Graph
from swwl.io.files import atomic_write

_FORMAT = "swwl-graph 1"


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
        raise ValueError(f"{path}: a graph is written to a file that ends in .npz.")
    arrays = {"format": np.array(_FORMAT), "features": graph.features, "edges": graph.edges}
    if graph.weights is not None:
        arrays["weights"] = graph.weights
    if graph.node_weights is not None:
        arrays["node_weights"] = graph.node_weights
    with atomic_write(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_npz(path: str | os.PathLike) -> Graph:
    """Read what :func:`write_graph` wrote."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            if "format" not in archive or str(archive["format"]) != _FORMAT:
                found = str(archive["format"]) if "format" in archive else f"arrays {', '.join(archive.files)}"
                raise ValueError(f"it is no graph file of this version: wanted {_FORMAT!r}, found {found}")
            arrays = {key: archive[key] for key in archive.files if key != "format"}
    except (zipfile.BadZipFile, EOFError, KeyError, OSError) as error:
        raise ValueError(f"it is damaged or no .npz archive ({error})") from None
    return Graph(**arrays, name=Path(path).name)
