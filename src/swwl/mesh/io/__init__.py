"""Files and foreign objects in, :class:`swwl.Mesh` and :class:`swwl.Graph` out: one module per family of formats."""

from swwl.mesh.io.convert import as_graph, as_mesh, prepared, read, read_graph, read_mesh, read_series
from swwl.mesh.io.formats import register_reader, register_writer
from swwl.mesh.io.npz import write_graph

__all__ = [
    "as_graph",
    "as_mesh",
    "prepared",
    "read",
    "read_graph",
    "read_mesh",
    "read_series",
    "register_reader",
    "register_writer",
    "write_graph",
]
