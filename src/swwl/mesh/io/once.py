"""MeshFile: a file that is read once for all who need its content at the same time."""

from __future__ import annotations

import os
import threading

from swwl.mesh.graph import Graph
from swwl.mesh.io.formats import read_file
from swwl.mesh.mesh import Mesh


class MeshFile(os.PathLike[str]):
    """The path of a mesh file, which keeps what was read from it until it is released.

    :func:`swwl.as_mesh` and :func:`swwl.as_graph` take it as they take a path.

    Parameters
    ----------
    path : str or path
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = os.fspath(path)
        self._content: Mesh | Graph | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[MeshFile], tuple[str]]:
        return MeshFile, (self._path,)  # to other processes travels the path alone: a lock cannot

    def __fspath__(self) -> str:
        return self._path

    def __str__(self) -> str:
        return self._path

    def read(self) -> Mesh | Graph:
        """Return the content of the file, read now if it is not at hand."""
        with self._lock:
            if self._content is None:
                self._content = read_file(self._path)
            return self._content

    @property
    def n_nodes(self) -> int:
        """Nodes that are held in memory."""
        return 0 if self._content is None else self._content.n_nodes

    def release(self) -> None:
        """Let the content go."""
        self._content = None
