"""What a simulation hands over: meshes and graphs, their cells, their files."""

from swwl.mesh.graph import Graph
from swwl.mesh.io import as_graph, as_mesh, read_graph, read_mesh, register_reader, register_writer, write_graph
from swwl.mesh.labels import label_sets, one_hot, with_labels
from swwl.mesh.mesh import Mesh

__all__ = [
    "Graph",
    "Mesh",
    "as_graph",
    "as_mesh",
    "label_sets",
    "one_hot",
    "read_graph",
    "read_mesh",
    "register_reader",
    "register_writer",
    "with_labels",
    "write_graph",
]
