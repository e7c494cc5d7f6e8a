"""Which reader and which writer serves a file, by endings, and which files refer to others.

A format is one module of this folder, with a reader of paths, a writer to open files, or both. Readers raise what they
like on a damaged file; `read_file` says what it means to the user.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias

from swwl.errors import InputError, MissingFileError
from swwl.mesh.graph import Graph
from swwl.mesh.io import meshio_files, pyvista_files
from swwl.mesh.io.hdf.cgns import read_cgns
from swwl.mesh.io.hdf.exodus import read_exodus
from swwl.mesh.io.npz import read_npz, write_npz
from swwl.mesh.io.shared import refuse_empty
from swwl.mesh.io.text import plain
from swwl.mesh.io.text.abaqus import read_abaqus
from swwl.mesh.io.text.fluent import read_fluent
from swwl.mesh.io.text.nastran import is_nastran, read_nastran
from swwl.mesh.io.text.plain import read_obj
from swwl.mesh.io.text.stl import read_stl
from swwl.mesh.io.vtk.legacy import read_vtk
from swwl.mesh.io.vtk.vtu import read_vtu, write_vtu
from swwl.mesh.mesh import WRITERS, Endings, Mesh, in_plane
from swwl.storage.memory import REFERS

# The path, and the names of the requested fields, or None for all; a reader may read more.
Reader: TypeAlias = Callable[[Path, Collection[str] | None], Mesh | Graph]


def _reader(read: Callable[[Path], Mesh | Graph]) -> Reader:
    """Make a reader of a function that reads all fields, whatever is requested."""

    def reader(path: Path, fields: Collection[str] | None = None) -> Mesh | Graph:
        return read(path)

    return reader


def _read_inp(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read a file of AVS or Abaqus, which share an ending."""
    refuse_empty(path)
    return (plain.read_avs if plain.is_avs(path) else read_abaqus)(path, fields)


def _read_msh(path: Path) -> Mesh:
    """Read a file of Gmsh or Fluent, which share an ending."""
    refuse_empty(path)
    with open(path, "rb") as file:
        start = file.read(4096).lstrip()
    if start.startswith(b"$NOD"):
        return plain.read_gmsh1(path)
    if start.startswith(b"("):
        return read_fluent(path)
    if b"$MeshFormat" not in start:
        raise InputError("it begins neither like a Gmsh mesh ($MeshFormat) nor like a Fluent mesh (a parenthesis)")
    return meshio_files.read(path, "gmsh")


def _read_dat(path: Path) -> Mesh:
    """Read a file of Nastran or Tecplot, which share an ending."""
    refuse_empty(path)
    return read_nastran(path) if is_nastran(path) else meshio_files.read(path, "tecplot")


READERS: Endings[Reader] = Endings(
    {suffix: _reader(partial(meshio_files.read, module=name)) for suffix, name in meshio_files.READ.items()}
)
READERS.update({".obj": read_obj, ".stl": read_stl})
READERS.update({".cgns": read_cgns, ".npz": read_npz, ".vtk": read_vtk, ".inp": _read_inp, ".avs": plain.read_avs})
READERS.update(dict.fromkeys((".vtu", ".vtp", ".pvtu", ".pvtp"), read_vtu))
READERS.update(dict.fromkeys((".e", ".ex2", ".exii", ".exo", ".exodus", ".g"), read_exodus))
READERS.update(dict.fromkeys((".bdf", ".fem", ".nas"), read_nastran))
READERS.update(dict.fromkeys((".ele", ".node"), _reader(plain.read_tetgen)))
READERS.update({".dat": _reader(_read_dat), ".msh": _reader(_read_msh), ".wkt": _reader(plain.read_wkt)})
READERS.update(dict.fromkeys(pyvista_files.ENDINGS, pyvista_files.read_pyvista))
WRITERS.update({suffix: partial(meshio_files.write, suffix=suffix) for suffix in meshio_files.WRITE})
WRITERS.update({".npz": write_npz, ".vtu": write_vtu})


# Files of these endings refer to others, whose changes their own content does not show.
SEVERAL_FILES = {".xdmf", ".xmf", ".xml", ".node", ".ele", ".pvtu", ".pvtp", ".pvd", ".vtm", ".vtmb", ".foam", ".case"}
SEVERAL_FILES |= {".pvti", ".pvtr", ".pvts", ".encas"}
# Text of these endings does so where a statement includes other files.
_MAY_INCLUDE = {".inp", ".bdf", ".dat", ".fem", ".nas"}
_INCLUDES = re.compile(rb"^\s*\*?\s*include\b|\binput\s*=", re.IGNORECASE | re.MULTILINE)


def includes_others(path: Path) -> bool:
    """Whether a text format's statement makes the reader of a file open others."""
    return path.suffix.lower() in _MAY_INCLUDE and _INCLUDES.search(path.read_bytes()) is not None


def _refers(path: Path) -> bool:
    return path.suffix.lower() in SEVERAL_FILES or includes_others(path)


REFERS.append(_refers)


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
        The requested fields; others may be left out. All by default.
    """
    path = Path(path)
    if not path.exists():
        where = "" if path.is_absolute() else " in the working folder; swwl.read_table looks beside the table"
        raise MissingFileError(f"no such file{where}.")
    if path.is_dir():
        raise InputError("is a folder, but a mesh file is expected.")
    reader = READERS.of(path)
    try:
        content = _read_by_any(path, reader, fields)
    except (InputError, PermissionError):
        raise
    except MemoryError:
        raise InputError("it asks for more memory than there is") from None
    except Exception as error:
        raise InputError(f"it is damaged or of another format ({str(error) or type(error).__name__})") from error
    return in_plane(content).renamed(path.name) if isinstance(content, Mesh) else content


def _read_by_any(path: Path, reader: Reader, fields: Collection[str] | None) -> Mesh | Graph:
    """Read with a reader or, where it does not know this kind of file, with pyvista if that is installed."""
    try:
        return reader(path, fields)
    except InputError as error:
        found = pyvista_files.rescue(path, fields, error)
        if found is None:
            raise
        return found
