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
from swwl.mesh.io.cad import surface
from swwl.mesh.io.foam import case
from swwl.mesh.io.hdf.cgns import read_cgns, read_sample, sample_files, sample_times
from swwl.mesh.io.hdf.exodus import exodus_times, read_exodus
from swwl.mesh.io.npz import read_npz, write_npz
from swwl.mesh.io.series import Series, Time, at_time, split_time, step_of
from swwl.mesh.io.shared import mesh_with_groups, refuse_empty
from swwl.mesh.io.text import plain
from swwl.mesh.io.text.abaqus import read_abaqus
from swwl.mesh.io.text.dyna import read_dyna
from swwl.mesh.io.text.fluent import read_fluent
from swwl.mesh.io.text.frd import frd_modes, frd_times, read_frd, read_frd_mode
from swwl.mesh.io.text.nastran import is_nastran, read_nastran
from swwl.mesh.io.text.plain import read_obj
from swwl.mesh.io.text.stl import read_stl
from swwl.mesh.io.text.unv import read_unv, unv_times
from swwl.mesh.io.vtk import blocks
from swwl.mesh.io.vtk.legacy import read_vtk
from swwl.mesh.io.vtk.vtu import read_vtu, write_vtu
from swwl.mesh.mesh import WRITERS, Endings, Mesh, in_plane
from swwl.storage.atomic import refuse_special
from swwl.storage.memory import CONTENTS, REFERS

# The path, and the names of the requested fields, or None for all; a reader may read more.
Reader: TypeAlias = Callable[[Path, Collection[str] | None], Mesh | Graph]


def _reader(read: Callable[[Path], Mesh | Graph]) -> Reader:
    """Make a reader of a function that reads all fields, whatever is requested."""

    def reader(path: Path, fields: Collection[str] | None = None) -> Mesh | Graph:
        return read(path)

    return reader


def _at(series: Series, step: int = -1) -> Reader:
    """Make a reader of a series: that of one of its times, the last by default."""

    def reader(path: Path, fields: Collection[str] | None = None) -> Mesh | Graph:
        return series.read(path, fields, step)

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


def _read_case(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Mesh:
    """Read a case of OpenFOAM: its folder, or its ``.foam`` file."""
    return mesh_with_groups(case.read_case(path, fields, step))


def _read_xdmf(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Mesh:
    return meshio_files.read(path, "xdmf", step)


READERS: Endings[Reader] = Endings(
    {suffix: _reader(partial(meshio_files.read, module=name)) for suffix, name in meshio_files.READ.items()}
)
READERS.update({".obj": read_obj, ".stl": read_stl})
READERS.update({".cgns": read_cgns, ".npz": read_npz, ".vtk": read_vtk, ".inp": _read_inp, ".avs": plain.read_avs})
READERS.update(dict.fromkeys((".vtu", ".vtp", ".pvtu", ".pvtp"), read_vtu))
READERS.update(dict.fromkeys((".bdf", ".fem", ".nas"), read_nastran))
READERS.update(dict.fromkeys((".ele", ".node"), _reader(plain.read_tetgen)))
READERS.update({".dat": _reader(_read_dat), ".msh": _reader(_read_msh), ".wkt": _reader(plain.read_wkt)})
READERS.update(dict.fromkeys(pyvista_files.ENDINGS, pyvista_files.read_pyvista))
READERS.update(dict.fromkeys((".k", ".key", ".dyn"), read_dyna))
READERS.update(dict.fromkeys(surface.ENDINGS, surface.read_cad))
READERS.update({".vtm": blocks.read_vtm})
# Formats that may hold several times; without one their readers take the last.
_FOAM = Series(case.times_of, _read_case)
_SAMPLE = Series(sample_times, read_sample)  # of PLAID: a file for every time, of which a path names one
SERIES: Endings[Series] = Endings({".foam": _FOAM, ".frd": Series(frd_times, read_frd, frd_modes, read_frd_mode)})
SERIES.update({".unv": Series(unv_times, read_unv), ".pvd": Series(blocks.pvd_times, blocks.read_pvd)})
SERIES.update(
    dict.fromkeys((".vtm.series", ".vtu.series", ".vtp.series"), Series(blocks.series_times, blocks.read_file_series))
)
SERIES.update(dict.fromkeys((".e", ".ex2", ".exii", ".exo", ".exodus", ".g"), Series(exodus_times, read_exodus)))
SERIES.update(dict.fromkeys((".xdmf", ".xmf"), Series(meshio_files.xdmf_times, _read_xdmf)))
SERIES.update(dict.fromkeys((".case", ".encas"), Series(pyvista_files.pyvista_times, pyvista_files.read_pyvista)))
READERS.update({ending: _at(series) for ending, series in SERIES.items()})
WRITERS.update({suffix: partial(meshio_files.write, suffix=suffix) for suffix in meshio_files.WRITE})
WRITERS.update({".npz": write_npz, ".vtu": write_vtu})


# Files of these endings refer to others, whose changes their own content does not show.
SEVERAL_FILES = {".xdmf", ".xmf", ".xml", ".node", ".ele", ".pvtu", ".pvtp", ".pvd", ".vtm", ".vtmb", ".case"}
SEVERAL_FILES |= {".pvti", ".pvtr", ".pvts", ".encas", ".series"}
# Text of these endings does so where a statement includes other files.
_MAY_INCLUDE = {".inp", ".bdf", ".dat", ".fem", ".nas", ".k", ".key", ".dyn"}
_INCLUDES = re.compile(rb"^\s*\*?\s*include\b|\binput\s*=", re.IGNORECASE | re.MULTILINE)


def includes_others(path: Path) -> bool:
    """Whether a text format's statement makes the reader of a file open others."""
    return path.suffix.lower() in _MAY_INCLUDE and path.is_file() and _INCLUDES.search(path.read_bytes()) is not None


def _refers(path: Path) -> bool:
    ending = path.suffix.lower()
    beside = path.with_suffix(".inp")
    if ending == ".frd" and beside.is_file():
        return includes_others(beside)
    return ending in SEVERAL_FILES or includes_others(path)


REFERS.append(_refers)


def _contents(path: Path) -> list[Path] | None:
    """Return the files that a case or a result with sets beside it is read from, whose changes it does not show."""
    there, time = split_time(path)
    if there.is_dir() or there.suffix.lower() == ".foam":
        step = -1 if time is None else step_of(case.times_of(there), time)
        return case.files_of(there, step)
    if time is not None and _series(there) is _SAMPLE:
        return [sample_files(there)[step_of(sample_times(there), time)]]
    beside = path.with_suffix(".inp")
    return [path, beside] if path.suffix.lower() == ".frd" and beside.is_file() else None


CONTENTS.append(_contents)


def is_mesh(path: Path) -> bool:
    """Whether there is something to read: a file, or the folder of a case, perhaps with a time after ``@``.

    Examples
    --------
    >>> is_mesh(Path("nowhere.vtu"))
    False
    """
    there, _ = split_time(path)
    return there.is_file() or case.is_case(there)


def times_of(path: Path) -> list[float]:
    """Return the times of a file or a case; none where its format has but one."""
    path, _ = split_time(path)
    series = _series(path)
    return [] if series is None else series.times(path)


def modes_of(path: Path) -> list[float]:
    """Return the frequencies of the eigenmodes that a file holds, which are no times; none of most."""
    path, _ = split_time(path)
    series = _series(path)
    return [] if series is None or series.modes is None else series.modes(path)


def timed(path: Path, time: Time | None) -> Path:
    """Return a path that names a time if it is a series, and the path itself otherwise."""
    if time is None or _series(split_time(path)[0]) is None:
        return path
    return at_time(path, time)


def _series(path: Path) -> Series | None:
    if path.is_dir():
        return _FOAM
    if path.suffix.lower() == ".cgns" and path.is_file() and len(sample_files(path)) > 1:
        return _SAMPLE
    return SERIES.of(path) if SERIES.serves(path) else None


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


def read_file(
    path: str | os.PathLike[str],
    fields: Collection[str] | None = None,
    time: Time | None = None,
    size: float | None = None,
    step: int | None = None,
) -> Mesh | Graph:
    """Read a file once, with the reader of its ending; callers add the file's name to what goes wrong.

    Parameters
    ----------
    path : str or path
        Of a file or a case folder; a time may follow after ``@``.
    fields : collection of str, optional
        The requested fields; others may be left out. All by default.
    time : float, "first" or "last", optional
        Which of several times. By default that of the path, or else the last.
    size : float, optional
        Of the edges of a mesh that is made of a CAD file.
    step : int, optional
        In place of a time: which one, as :func:`times_of` lists them.
    """
    name = Path(path).name
    path, named = split_time(Path(path))
    if not path.exists():
        where = "" if path.is_absolute() else " in the working folder; swwl.read_table looks beside the table"
        raise MissingFileError(f"no such file{where}.")
    refuse_special(path)
    series = _series(path)
    if step is not None and series is not None:
        reader = _at(series, step)
    else:
        reader = _reader_of(path, named if time is None else time, size)
    try:
        content = _read_by_any(path, reader, fields)
    except (InputError, PermissionError, Warning):  # warnings may be errors
        raise
    except MemoryError:
        raise InputError("it needs more memory than is available") from None
    except Exception as error:
        raise InputError(f"it is damaged or of another format ({str(error) or type(error).__name__})") from error
    return in_plane(content).renamed(name) if isinstance(content, Mesh) else content


def _reader_of(path: Path, time: Time | None, size: float | None) -> Reader:
    """Return what reads a file at a time, or a CAD file at a size."""
    reader = _at(_FOAM) if path.is_dir() else READERS.of(path)
    if size is not None:
        if path.suffix.lower() not in surface.ENDINGS:
            raise InputError(f"size applies to CAD files ({' '.join(surface.ENDINGS)}), not to {path.suffix!r}")
        return partial(surface.read_cad, size=size)
    if time is None:
        return reader
    series = _series(path)
    if series is None:
        if time in ("first", "last"):
            return reader
        raise InputError(f"it is not a series in time, so that time {time} does not apply")

    def read(path: Path, fields: Collection[str] | None = None) -> Mesh | Graph:
        return series.read_at(path, fields, time)

    return read


def _read_by_any(path: Path, reader: Reader, fields: Collection[str] | None) -> Mesh | Graph:
    """Read with a reader or, where it does not know this kind of file, with pyvista if that is installed."""
    try:
        return reader(path, fields)
    except InputError as error:
        found = pyvista_files.rescue(path, fields, error)
        if found is None:
            raise
        return found
