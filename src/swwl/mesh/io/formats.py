"""Which reader and which writer serves a file: a registry by endings.

A format is one file of this folder, with a reader of paths, a writer to open files, or both. Readers raise what they
like on a damaged file; `read_file` says what it means to the user.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias

from swwl.errors import InputError, MissingFileError
from swwl.mesh.endings import Endings
from swwl.mesh.graph import Graph
from swwl.mesh.io import meshio_files
from swwl.mesh.io.cgns import read_cgns
from swwl.mesh.io.npz import read_npz, write_npz
from swwl.mesh.io.vtu import read_vtu
from swwl.mesh.io.vtu_write import write_vtu
from swwl.mesh.mesh import WRITERS, Mesh, in_plane

# The path, and the names of the fields that are wanted if not all are; a reader may read more.
Reader: TypeAlias = Callable[[Path, Collection[str] | None], Mesh | Graph]


def _reader(read: Callable[[Path], Mesh | Graph]) -> Reader:
    """Make a reader of a function that reads all fields, whatever is wanted."""

    def reader(path: Path, fields: Collection[str] | None = None) -> Mesh | Graph:
        return read(path)

    return reader


READERS: Endings[Reader] = Endings(
    {suffix: _reader(partial(meshio_files.read, modules=names)) for suffix, names in meshio_files.READ.items()}
)
READERS.update({".cgns": _reader(read_cgns), ".npz": read_npz})
READERS.update(dict.fromkeys((".vtu", ".vtp", ".pvtu", ".pvtp"), read_vtu))
WRITERS.update({suffix: partial(meshio_files.write, suffix=suffix) for suffix in meshio_files.WRITE})
WRITERS.update({".npz": write_npz, ".vtu": write_vtu})


def register_reader(suffix: str, reader: Callable[[Path], Mesh | Graph]) -> None:
    """Read files of an ending with another function than the present one, if there is one.

    Parameters
    ----------
    suffix : str
        Such as ``".vtu"`` or ``".vol.gz"``, in small letters.
    reader : callable
        Takes a path and returns a :class:`swwl.Mesh`, which then gets the file's name and loses a third coordinate
        that is zero everywhere. Arrays that it alone holds need no copy: freeze them by
        :func:`swwl.mesh.arrays.release`.

    Examples
    --------
    >>> import tempfile, swwl
    >>> def read_chain(path):
    ...     values = [float(word) for word in path.read_text().split()]
    ...     return Mesh(values, [[k, k + 1] for k in range(len(values) - 1)])
    >>> register_reader(".chain", read_chain)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.chain").write_text("0 1 4")
    ...     swwl.read_graph(f"{folder}/a.chain")
    Graph(a.chain: 3 nodes, 2 edges, 1 feature)
    """
    READERS[suffix] = _reader(reader)


def register_writer(suffix: str, writer: Callable[[IO[bytes], Mesh], None]) -> None:
    """Write files of an ending with another function; it takes an open binary file and a :class:`swwl.Mesh`."""
    WRITERS[suffix] = lambda file, mesh, compress: writer(file, mesh)


def read_file(path: str | os.PathLike[str], fields: Collection[str] | None = None) -> Mesh | Graph:
    """Read a file once, with the reader of its ending; callers add the file's name to what goes wrong.

    Parameters
    ----------
    path : str or path
    fields : collection of str, optional
        The fields that are wanted; others may be left out. All by default.
    """
    path = Path(path)
    if not path.exists():
        raise MissingFileError("no such file.")
    if path.is_dir():
        raise InputError("is a folder, but a mesh file is wanted.")
    reader = READERS.of(path)
    try:
        content = reader(path, fields)
    except (InputError, PermissionError):
        raise
    except MemoryError:
        raise InputError("it asks for more memory than there is") from None
    except Exception as error:
        raise InputError(f"it is damaged or of another format ({str(error) or type(error).__name__})") from error
    return in_plane(content).renamed(path.name) if isinstance(content, Mesh) else content
