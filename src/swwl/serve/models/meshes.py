"""The meshes that clients may name: files under one folder, training meshes of a model, and what they sent before.

A reference is a text: ``PATH`` of a file under the folder, ``train:COLUMN:NUMBER`` of a training case, ``test:…`` of a
held-out one, or ``upload:DIGEST`` of a mesh that was sent. Nothing else can be read, wherever links lead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from swwl.errors import InputError, MissingFileError, located
from swwl.mesh.graph import Graph
from swwl.mesh.io.formats import READERS, is_mesh, read_file
from swwl.mesh.io.series import split_time
from swwl.mesh.mesh import Mesh
from swwl.mesh.shape.screening import MeshFacts, facts_of
from swwl.serve.http.limits import Limits
from swwl.serve.models.single_flight import Once


@dataclass(frozen=True)
class Known:
    """A mesh in memory.

    Attributes
    ----------
    item : Mesh or Graph
    name : str
        For people.
    key : str
        The same for the same content.
    facts : MeshFacts or None
        Size, place and orientation; None where it has no cells.
    """

    item: Mesh | Graph
    name: str
    key: str
    facts: MeshFacts | None

    @property
    def mesh(self) -> Mesh:
        """The mesh; refuse a graph, which has no cells."""
        if isinstance(self.item, Graph):
            raise InputError(f"{self.name}: holds a graph without cells, which has no surface to show.")
        return self.item


class CaseFile(NamedTuple):
    """The mesh file of a training or held-out case, and what the case is called."""

    path: Path
    name: str


class MeshStore:
    """Meshes by reference.

    Parameters
    ----------
    folder : path or None
        Where files may be named.
    limits : Limits
    """

    def __init__(self, folder: Path | None, limits: Limits):
        self.folder = None if folder is None else folder.resolve()
        self._limits = limits
        # Two thirds of what may be kept for what clients sent, the rest for files, which can be read again.
        weight = {"weight": lambda known: float(known.item.n_nodes)}
        self._sent: Once[Known] = Once(limits.kept_nodes * 2 / 3, **weight)
        self._read: Once[Known] = Once(limits.kept_nodes / 3, **weight)

    def find(self, reference: str, files: Mapping[str, CaseFile] | None = None) -> Known:
        """Return the mesh of a reference; ``files`` are those of training cases, by reference."""
        if reference.startswith("upload:"):
            found = self._sent.find(reference)
            if found is None:
                raise MissingFileError(f"{reference[:80]!r} is no longer kept; send the mesh again.")
            return found
        if reference.startswith(("train:", "test:")):
            if reference not in (files or {}):
                raise MissingFileError(f"{reference[:80]!r} is not a mesh that this server has.")
            path, name = (files or {})[reference]
            return replace(self.read(path), name=name)
        return self.read(self.file(reference))

    def file(self, name: str) -> Path:
        """Return the file of a path under the folder; refuse all others."""
        if self.folder is None:
            raise InputError(
                "Meshes cannot be named by path here: send files, or start the server with --meshes FOLDER."
            )
        if not name.strip() or "\0" in name or len(name) > 1000:
            raise InputError(f"{name[:80]!r} is not a path.")
        try:
            found = (self.folder / name).resolve()
            inside = found.is_relative_to(self.folder) and is_mesh(found)
        except (OSError, ValueError, RuntimeError):  # names too long, or links in a circle
            inside = False
        if not inside:
            raise MissingFileError(f"{name[:200]!r} is not a mesh file under the folder that --meshes names.")
        return found

    def read(self, path: Path) -> Known:
        """Return the mesh of a file, which is read again when it has changed."""
        try:
            status = split_time(path)[0].stat()
        except OSError:
            raise MissingFileError(f"{path.name}: the file no longer exists.") from None
        key = f"{path}:{status.st_size}:{status.st_mtime_ns}"
        return self._read.get(key, lambda: self._known(path, path.name, key))

    def sent(self, path: Path, name: str, digest: str) -> tuple[str, Known]:
        """Return the reference under which a mesh that a client sent is kept, and the mesh."""
        reference = f"upload:{digest}"
        return reference, self._sent.get(reference, lambda: self._known(path, name, reference))

    def add(self, item: Mesh | Graph, name: str, digest: str) -> Known:
        """Keep a mesh that is in memory already."""
        return self._sent.get(f"upload:{digest}", lambda: self._checked(item, name, f"upload:{digest}"))

    def _known(self, path: Path, name: str, key: str) -> Known:
        with located(name):
            return self._checked(read_file(path), name, key)

    def _checked(self, item: Mesh | Graph, name: str, key: str) -> Known:
        if item.n_nodes > self._limits.nodes:
            raise InputError(f"It has {item.n_nodes} nodes, but at most {self._limits.nodes} are accepted here.")
        if isinstance(item, Mesh):
            item.require_cells()
            item = item.renamed(name)
        return Known(item, name, key, facts_of(item))

    def listing(self, most: int = 500) -> list[str]:
        """Return paths of mesh files under the folder, in order, at most so many."""
        if self.folder is None:
            return []
        found = []
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and READERS.serves(path) and path.resolve().is_relative_to(self.folder):
                found.append(path.relative_to(self.folder).as_posix())
                if len(found) == most:
                    break
        return found
