"""Files that meshio reads and writes, and meshio's own meshes; nothing of meshio's leaves this module."""

from __future__ import annotations

import importlib
import io
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np

from swwl.errors import InputError, MissingPackageError
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.cells import cell_dimension, is_cell_type
from swwl.mesh.io.shared import NamedSets, refuse_empty, tagged_groups
from swwl.mesh.mesh import Mesh, in_plane

# meshio's modules by ending.
READ: dict[str, str] = {
    ".dat": "tecplot",
    ".dato": "permas",
    ".dato.gz": "permas",
    ".f3grid": "flac3d",
    ".h5m": "h5m",
    ".hmf": "hmf",
    ".mdpa": "mdpa",
    ".med": "med",
    ".mesh": "medit",
    ".meshb": "medit",
    ".obj": "obj",
    ".off": "off",
    ".ply": "ply",
    ".post": "permas",
    ".post.gz": "permas",
    ".stl": "stl",
    ".su2": "su2",
    ".tec": "tecplot",
    ".ugrid": "ugrid",
    ".vol": "netgen",
    ".vol.gz": "netgen",
    ".xdmf": "xdmf",
    ".xmf": "xdmf",
    ".xml": "dolfin",
}
# Formats of one file that comes back from meshio as it went in, with the module and the options that do so. The
# defaults of XDMF and of .msh are a second file and ANSYS.
WRITE: dict[str, tuple[str, dict[str, Any]]] = {
    ".avs": ("avsucd", {}),
    ".bdf": ("nastran", {}),
    ".dat": ("tecplot", {}),
    ".fem": ("nastran", {}),
    ".inp": ("abaqus", {}),
    ".med": ("med", {}),
    ".mesh": ("medit", {}),
    ".meshb": ("medit", {}),
    ".msh": ("gmsh", {}),
    ".nas": ("nastran", {}),
    ".obj": ("obj", {}),
    ".off": ("off", {}),
    ".ply": ("ply", {}),
    ".stl": ("stl", {"binary": True}),
    ".su2": ("su2", {}),
    ".tec": ("tecplot", {}),
    ".vtk": ("vtk", {}),
    ".xdmf": ("xdmf", {"data_format": "XML"}),
    ".xmf": ("xdmf", {"data_format": "XML"}),
}
_TIME = re.compile(rb", \d{4}-\d\d-\d\dT[\d:.]+")  # of writing, in the first lines of .obj and .ply


# Modules that read lines in a loop, and would do so forever where a file is cut off; and how they open it.
_ENDLESS = {"mdpa": "rb", "obj": "r", "off": "r", "ply": "rb", "su2": "r", "tecplot": "r"}
_MOST_EMPTY = 1000
# Formats that may hold points alone.
_CLOUDS = ("obj", "ply", "stl", "xdmf")


def read(path: Path, module: str, step: int = -1) -> Mesh:
    """Read a file with one of meshio's modules; of a series in time (XDMF) one step, the last by default."""
    refuse_empty(path)
    if module in ("xdmf", "dolfin") and b"<!ENTITY" in path.read_bytes():
        raise InputError("it defines XML entities, which mesh files do not")
    # meshio.read prints and exits on a bad file; the readers behind it raise.
    reader: Any = partial(_read_xdmf, step=step) if module == "xdmf" else _module(module).read
    if module == "gmsh":
        _tag_all_entities()
    try:
        with ExitStack() as stack, np.errstate(all="ignore"):  # some of meshio's readers overflow on their way
            stack.enter_context(_hushed(module))
            found = reader(stack.enter_context(_open(path, _ENDLESS[module])) if module in _ENDLESS else str(path))
    except ImportError as error:
        raise MissingPackageError(f"reading it needs a package that is not installed ({error})") from None
    except (Exception, SystemExit) as error:
        reason = _old_med(path) if module == "med" else ""
        reason = reason or str(error).strip().partition("\n")[0][:200] or type(error).__name__
        raise InputError(f"it is damaged or of another format (as {module}: {reason})") from error
    if not any(len(block.data) for block in found.cells) and module not in _CLOUDS:
        raise InputError(f"it has {len(found.points)} points, but no cells (is it cut off?)")
    if module == "su2":
        _check_su2(path, sum(len(block.data) for block in found.cells))
        found.markers = _su2_names(path)
    return _mesh(found, release)


_QUIET = threading.local()


@contextmanager
def _hushed(module: str) -> Iterator[None]:
    """Keep meshio from printing, for every file, which tags it does not know; in this thread alone."""
    for name, part in list(sys.modules.items()):
        warn = getattr(part, "warn", None) if name.startswith(f"meshio.{module}") else None
        if warn is not None and not hasattr(warn, "of_swwl"):

            def unless_quiet(*args: Any, warn: Any = warn, **options: Any) -> None:
                if not getattr(_QUIET, "now", False):
                    warn(*args, **options)

            unless_quiet.of_swwl = True  # type: ignore[attr-defined]
            part.warn = unless_quiet  # type: ignore[attr-defined]
    _QUIET.now = True
    try:
        yield
    finally:
        _QUIET.now = False


def _tag_all_entities() -> None:
    """Make meshio give entities of Gmsh that are in no physical group the number 0; it fails where only some are."""
    for name in ("gmsh._gmsh40", "gmsh._gmsh41"):
        functions = vars(_module(name))
        if hasattr(functions["_read_entities"], "of_swwl"):
            continue

        def tagged(*args: Any, entities: Any = functions["_read_entities"], **options: Any) -> Any:
            found = entities(*args, **options)
            by_dimension = found[0] if isinstance(found[0], tuple) else found
            if any(tags for entity in by_dimension for tags in entity.values()):
                for entity in by_dimension:
                    entity.update({number: tags or [0] for number, tags in entity.items()})
            return found

        tagged.of_swwl = True  # type: ignore[attr-defined]
        functions["_read_entities"] = tagged


def _old_med(path: Path) -> str:
    """Say so if a MED file is older than what meshio reads."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            version = int(file["INFOS_GENERALES"].attrs["MAJ"])
    except (OSError, KeyError):
        return ""
    return f"it is of MED's version {version}, and versions 3 and 4 are read" if version < 3 else ""


class _Text(io.TextIOWrapper):
    """A text file that does not go on after its end."""

    _empty = 0

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        line = super().readline(size)
        self._empty += not line
        if self._empty > _MOST_EMPTY:
            raise EOFError("it is cut off")
        return line


class _Bytes(io.BufferedReader):
    """A binary file that does not go on after its end."""

    _empty = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._seen(super().readline(size))

    def read(self, size: int | None = -1, /) -> bytes:
        return self._seen(super().read(size))

    def _seen(self, data: bytes) -> bytes:
        self._empty += not data
        if self._empty > _MOST_EMPTY:
            raise EOFError("it is cut off")
        return data


def _open(path: Path, mode: str) -> _Text | _Bytes:
    raw = open(path, "rb", buffering=0)  # noqa: SIM115
    return _Bytes(raw) if mode == "rb" else _Text(io.BufferedReader(raw))


def _read_xdmf(path: str, step: int = -1) -> Any:
    """Read a mesh, or one of a series in time."""
    module = _module("xdmf")
    if not _is_series(Path(path)):
        return module.read(path)
    with module.TimeSeriesReader(path) as series:
        points, cells = series.read_points_cells()
        place = series.num_steps - 1 if step < 0 else step
        of_points, of_cells = series.read_data(place)[1:3] if series.num_steps else ({}, {})
    return SimpleNamespace(points=points, cells=cells, point_data=of_points, cell_data=of_cells)


def _is_series(path: Path) -> bool:
    return re.search(rb"CollectionType\s*=\s*.Temporal", path.read_bytes()) is not None


def xdmf_times(path: Path) -> list[float]:
    """Return the times of an XDMF file; none where it is not a series."""
    refuse_empty(path)
    if b"<!ENTITY" in path.read_bytes():
        raise InputError("it defines XML entities, which mesh files do not")
    if not _is_series(path):
        return []
    try:
        with _module("xdmf").TimeSeriesReader(str(path)) as series:
            steps = [[child for child in grid if child.tag == "Time"] for grid in series.collection]
            return [float(times[0].attrib["Value"]) if times else float(k) for k, times in enumerate(steps)]
    except (Exception, SystemExit) as error:
        raise InputError(f"it is damaged or of another format (as xdmf: {str(error)[:200]})") from error


def _check_su2(path: Path, n_cells: int) -> None:
    """Compare the cells that were found with those that the file declares, which meshio does not."""
    declared = re.findall(rb"^\s*(?:NELEM|MARKER_ELEMS)\s*=\s*(\d+)", path.read_bytes(), re.MULTILINE)
    if sum(map(int, declared)) != n_cells:
        raise InputError(f"it declares {sum(map(int, declared))} cells, but has {n_cells} (is it cut off?)")


def _su2_names(path: Path) -> dict[int, list[str]]:
    """Return the names of markers by the numbers that meshio gives them."""
    found: dict[int, list[str]] = {}
    number = 0
    for match in re.finditer(rb"^MARKER_TAG\s*=[ \t]*(\S+)", path.read_bytes(), re.MULTILINE):
        name = match[1].decode("utf-8", "replace")
        number = int(name) if re.fullmatch(r"[+-]?\d+", name) else number + 1
        found.setdefault(number, []).append(name)
    return found


def _module(name: str) -> Any:
    return importlib.import_module(f"meshio.{name}")  # 60 ms, when the first file is read


def from_meshio(mesh: Any) -> Mesh:
    """Make a mesh of a meshio mesh, which may be changed later; one in the plane z = 0 gets two coordinates."""
    return in_plane(_mesh(mesh, np.asarray))


def _mesh(mesh: Any, take: Callable[[AnyArray], AnyArray]) -> Mesh:
    cells = [(block.type, take(np.asarray(block.data))) for block in mesh.cells]
    fields = {}
    for name, values in mesh.point_data.items():
        array = np.asarray(values)
        if array.dtype.kind in "biuf" and array.size:  # some formats carry texts
            fields[name] = take(array if array.ndim == 1 else array.reshape(len(array), -1))
    of_cells = _cell_fields(mesh)
    groups = _sets(mesh, cells, fields, of_cells).groups(cells)
    return Mesh(take(np.asarray(mesh.points)), cells or {}, fields, cell_fields=of_cells, groups=groups)


def _sets(
    mesh: Any, cells: list[tuple[str, AnyArray]], fields: dict[str, AnyArray], of_cells: dict[str, AnyArray]
) -> NamedSets:
    """Return the named sets of a meshio mesh: its own, physical groups of Gmsh, groups of MED, markers of SU2."""
    sets = NamedSets()
    if not cells or not all(is_cell_type(kind) for kind, _ in cells):  # which the mesh refuses
        return sets
    starts = np.cumsum([0, *(len(block) for _, block in cells)])
    for name, nodes in (getattr(mesh, "point_sets", None) or {}).items():
        sets.add_nodes(str(name), np.asarray(nodes))
    for name, parts in (getattr(mesh, "cell_sets", None) or {}).items():
        if not str(name).startswith("gmsh:"):
            chosen = [np.asarray(part) + start for part, start in zip(parts, starts, strict=False) if part is not None]
            sets.add_elements(str(name), cells, np.concatenate([np.empty(0, np.int64), *chosen]))
    _add_tagged(sets, mesh, cells, of_cells)
    # Families of MED: each belongs to several groups.
    for number, given in (getattr(mesh, "point_tags", {}) if "point_tags" in fields else {}).items():
        for name in given:
            sets.add_nodes(name, np.flatnonzero(fields["point_tags"] == number))
    for number, given in (getattr(mesh, "cell_tags", {}) if "cell_tags" in of_cells else {}).items():
        for name in given:
            sets.add_elements(name, cells, np.flatnonzero(of_cells["cell_tags"] == number))
    return sets


def _add_tagged(sets: NamedSets, mesh: Any, cells: list[tuple[str, AnyArray]], of_cells: dict[str, AnyArray]) -> None:
    """Add the groups that cells name by numbers, unless they are there under their names."""
    dimensions = np.concatenate([np.full(len(block), cell_dimension(kind)) for kind, block in cells])
    named = {str(name): pair for name, pair in getattr(mesh, "field_data", {}).items() if np.shape(pair) == (2,)}
    names = {(int(pair[1]), int(pair[0])): name for name, pair in named.items()}
    known = sets.cells.keys() | sets.faces.keys() | sets.nodes.keys()
    for key, word in (("gmsh:physical", "physical"), ("netgen:index", "index")):
        if key in of_cells:
            for name, chosen in tagged_groups(of_cells[key], dimensions, names, word):
                if name not in known:
                    sets.add_elements(name, cells, chosen)
    for number, given in getattr(mesh, "markers", {}).items():
        chosen = np.flatnonzero((of_cells["su2:tag"] == number) & (dimensions < dimensions.max()))
        sets.add_elements(" or ".join(given), cells, chosen)


def _cell_fields(mesh: Any) -> dict[str, AnyArray]:
    """Join what meshio keeps for every block."""
    fields = {}
    for name, parts in mesh.cell_data.items():
        arrays = [np.asarray(part) for part in parts]
        whole = [len(array) == len(block.data) for array, block in zip(arrays, mesh.cells, strict=False)]
        alike = len({array.shape[1:] for array in arrays}) == 1 and len(arrays) == len(mesh.cells) and all(whole)
        if alike and all(array.dtype.kind in "biuf" for array in arrays):
            array = np.concatenate(arrays)
            if array.size:
                fields[name] = array if array.ndim == 1 else array.reshape(len(array), -1)
    return fields


def write(file: IO[bytes], mesh: Mesh, compress: bool = False, *, suffix: str) -> None:
    """Write a mesh to an open file in the format of an ending of :data:`WRITE`, which ``compress`` does not change."""
    name, options = WRITE[suffix]
    with tempfile.TemporaryDirectory() as folder:  # most of meshio's writers want a path
        path = Path(folder) / f"mesh{suffix}"
        try:
            _module(name).write(str(path), _to_meshio(mesh, suffix), **options)
        except (InputError, OSError):
            raise
        except (Exception, SystemExit) as error:  # meshio exits where it is at a loss
            raise InputError(f"cannot be written as {name} ({str(error) or type(error).__name__})") from error
        _refuse_losses(mesh, read(path, name), name)
        with open(path, "rb") as written:
            if suffix in (".obj", ".ply"):
                file.write(_TIME.sub(b"", written.read(200), count=1))
            shutil.copyfileobj(written, file)


def _refuse_losses(mesh: Mesh, written: Mesh, name: str) -> None:
    """Refuse a file in which cells are missing: many of meshio's writers leave out those that a format lacks."""
    wanted, found = ({kind: len(b) for kind, b in m.cells.items() if len(b)} for m in (mesh, written))
    if wanted != found:
        lost = ", ".join(kind for kind in wanted if wanted[kind] != found.get(kind)) or "some"
        raise InputError(f"cannot be written as {name}, which would not hold all of its cells: {lost}")


def _to_meshio(mesh: Mesh, suffix: str) -> Any:
    import meshio

    if mesh.dimension > 3:
        raise InputError(f"cannot be written: a mesh of {mesh.dimension} coordinates has no place in a {suffix} file")
    points = mesh.points
    if suffix != ".su2":  # which has plane meshes, unlike most others
        points = np.hstack([points, np.zeros((mesh.n_nodes, 3 - mesh.dimension))])
    kinds = {kind: "polygon" if kind.startswith("polygon") else kind for kind in mesh.cells}
    cells = [(kinds[kind], block) for kind, block in mesh.cells.items() if len(block)]
    fields = {name: _plain(field, suffix) for name, field in mesh.fields.items()}
    return meshio.Mesh(points, cells, point_data=fields)


def _plain(field: AnyArray, suffix: str) -> AnyArray:
    """Give a field a type that all formats know, and a vector the three components that VTK asks for."""
    if field.dtype.kind == "b":
        field = field.astype(np.uint8)
    elif field.dtype.kind == "f" and field.dtype.itemsize not in (4, 8):
        field = field.astype(np.float64)
    if suffix == ".vtk" and field.ndim == 2 and field.shape[1] == 2:
        field = np.column_stack([field, np.zeros_like(field[:, 0])])
    return field
