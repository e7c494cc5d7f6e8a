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
from typing import Any

__version__ = "0.3.2"

# Where the public names live. They are imported when they are first used: scikit-learn, SciPy and pandas take more
# than a second, which a shell that completes a command, or ``swwl --help``, need not wait for. Type checkers and
# editors read ``__init__.pyi``; a test compares the two.
_HOMES = {
    "swwl.errors": ["GPWarning", "IndefiniteKernelWarning", "InputError"],
    "swwl.mesh": [
        "Graph",
        "Mesh",
        "MeshSeries",
        "as_graph",
        "as_mesh",
        "read_graph",
        "read_mesh",
        "read_series",
        "with_labels",
        "write_graph",
    ],
    "swwl.embedding": ["SWWLEmbedding", "pairwise_distances"],
    "swwl.gp": ["Coordinates", "Prediction", "RobustGP"],
    "swwl.kernels": [
        "ASWWL",
        "SWWL",
        "Categories",
        "Components",
        "BodySets",
        "Elliptic",
        "Gaussian",
        "GroupMeasures",
        "Matern32",
        "Matern52",
        "Power",
        "Precomputed",
        "PrincipalSWWL",
        "Rows",
        "PartMeasures",
        "Summaries",
    ],
    "swwl.kernels.stored": ["read_embeddings"],
    "swwl.regression": ["RobustGPRegressor"],
    "swwl.regression.curves": ["CurveRegressor"],
    "swwl.fields": ["FieldRegressor", "TransientRegressor"],
    "swwl.classification": ["GraphSVC", "nested_cv"],
    "swwl.storage.modelfile": ["load_model"],
    "swwl.tables": ["read_table"],
}
_PUBLIC = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = (
    "classification",
    "datasets",
    "design",
    "domain",
    "embedding",
    "errors",
    "evaluation",
    "fields",
    "gp",
    "kernels",
    "mesh",
    "plots",
    "regression",
    "report",
    "storage",
    "tables",
)

__all__ = sorted(_PUBLIC)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(_PUBLIC[name]), name)
    elif name in _ROOMS:
        value = import_module(f"swwl.{name}")
    else:
        raise AttributeError(f"module 'swwl' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC, *_ROOMS})
