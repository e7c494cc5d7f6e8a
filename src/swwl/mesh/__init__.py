"""What a simulation hands over: meshes and graphs, their cells and boundaries, labels, shapes, and files.

``mesh`` and ``graph`` are the two objects, ``series`` is a mesh over time; ``cells``, ``adjacency`` and ``boundary``
are plain functions of arrays below them, ``labels`` makes features of discrete ones. ``shape/`` says what a mesh is as
a shape, ``remesh/`` gives it other nodes, ``io/`` reads and writes.
"""

from swwl.mesh.graph import Graph
from swwl.mesh.io import (
    as_graph,
    as_mesh,
    read_graph,
    read_mesh,
    read_series,
    register_reader,
    register_writer,
    write_graph,
)
from swwl.mesh.labels import label_sets, one_hot, with_labels
from swwl.mesh.mesh import Mesh
from swwl.mesh.series import MeshSeries

__all__ = [
    "Graph",
    "Mesh",
    "MeshSeries",
    "as_graph",
    "as_mesh",
    "label_sets",
    "one_hot",
    "read_graph",
    "read_mesh",
    "read_series",
    "register_reader",
    "register_writer",
    "with_labels",
    "write_graph",
]
