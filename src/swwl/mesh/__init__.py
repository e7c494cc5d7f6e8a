"""What a simulation hands over: meshes and graphs, their cells, their files."""

from swwl.mesh.graph import Graph
from swwl.mesh.io import as_graph, read_graph, write_graph
from swwl.mesh.labels import with_labels

__all__ = ["Graph", "as_graph", "read_graph", "with_labels", "write_graph"]
