"""Files and foreign objects in, :class:`swwl.Graph` out: one module per family of formats."""

from swwl.mesh.io.convert import as_graph, read_graph
from swwl.mesh.io.npz import write_graph

__all__ = ["as_graph", "read_graph", "write_graph"]
