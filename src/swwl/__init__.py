"""Gaussian processes and kernel methods on simulation meshes and graphs.

Meshes become graphs, graphs become vectors, and distances between vectors make a positive definite kernel:

>>> import numpy as np
>>> from swwl import Graph, SWWLEmbedding, pairwise_distances
>>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
>>> triangles = [[0, 1, 2], [0, 2, 3]]
>>> plates = [Graph.from_cells(square * [width, 1], triangles) for width in (1.0, 1.5, 2.0)]
>>> embedding = SWWLEmbedding(n_iterations=1, n_projections=20, n_quantiles=10, random_state=0)
>>> phi = embedding.fit_transform(plates)
>>> phi.shape, phi.dtype
((3, 200), dtype('float32'))
>>> distances = pairwise_distances(phi)
>>> bool(distances[0, 2] > distances[0, 1] > 0)  # the longer the plate, the farther from the square one
True
>>> kernel = np.exp(-(distances**2))
>>> bool(np.linalg.eigvalsh(kernel).min() > 0)
True
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swwl.classification import GraphSVC
    from swwl.distances import pairwise_distances
    from swwl.embedding import SWWLEmbedding
    from swwl.gp import Coordinates, GPWarning, RobustGP
    from swwl.graph import Graph
    from swwl.io import as_graph, read_graph, write_graph
    from swwl.kernels import (
        ASWWL,
        SWWL,
        Gaussian,
        IndefiniteKernelWarning,
        Matern32,
        Matern52,
        Power,
        Precomputed,
        PrincipalSWWL,
    )
    from swwl.labels import with_labels
    from swwl.modelfile import load_model
    from swwl.regression import RobustGPRegressor
    from swwl.validation import nested_cv

__all__ = [
    "ASWWL",
    "SWWL",
    "Coordinates",
    "GPWarning",
    "Gaussian",
    "Graph",
    "GraphSVC",
    "IndefiniteKernelWarning",
    "Matern32",
    "Matern52",
    "Power",
    "Precomputed",
    "PrincipalSWWL",
    "RobustGP",
    "RobustGPRegressor",
    "SWWLEmbedding",
    "as_graph",
    "load_model",
    "nested_cv",
    "pairwise_distances",
    "read_graph",
    "with_labels",
    "write_graph",
]

__version__ = "0.1.0"

# Where the public names live. They are imported when they are first used: scikit-learn, SciPy and pandas take more
# than a second, which a shell that completes a command, or ``swwl --help``, need not wait for.
_HOMES = {
    "classification": ["GraphSVC"],
    "distances": ["pairwise_distances"],
    "embedding": ["SWWLEmbedding"],
    "gp": ["Coordinates", "GPWarning", "RobustGP"],
    "graph": ["Graph"],
    "io": ["as_graph", "read_graph", "write_graph"],
    "kernels": [
        "ASWWL",
        "SWWL",
        "Gaussian",
        "IndefiniteKernelWarning",
        "Matern32",
        "Matern52",
        "Power",
        "Precomputed",
        "PrincipalSWWL",
    ],
    "labels": ["with_labels"],
    "modelfile": ["load_model"],
    "regression": ["RobustGPRegressor"],
    "validation": ["nested_cv"],
}


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is not None:
        value = getattr(import_module(f"swwl.{home}"), name)
    elif not name.startswith("_") and find_spec(f"swwl.{name}") is not None:
        value = import_module(f"swwl.{name}")
    else:
        raise AttributeError(f"module 'swwl' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
