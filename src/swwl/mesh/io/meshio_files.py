"""Files that meshio reads and writes, and meshio's own meshes; nothing of meshio's leaves this module."""

from __future__ import annotations

import importlib
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError, MissingPackageError
from swwl.mesh.arrays import release
from swwl.mesh.io.limits import refuse_empty
from swwl.mesh.mesh import Mesh, in_plane

# meshio's modules by ending; those of an ending are tried in turn.
READ: dict[str, tuple[str, ...]] = {
    ".avs": ("avsucd",),
    ".bdf": ("nastran",),
    ".dat": ("tecplot",),
    ".dato": ("permas",),
    ".dato.gz": ("permas",),
    ".e": ("exodus",),
    ".ele": ("tetgen",),
    ".ex2": ("exodus",),
    ".exo": ("exodus",),
    ".f3grid": ("flac3d",),
    ".fem": ("nastran",),
    ".h5m": ("h5m",),
    ".hmf": ("hmf",),
    ".inp": ("abaqus",),
    ".mdpa": ("mdpa",),
    ".med": ("med",),
    ".mesh": ("medit",),
    ".meshb": ("medit",),
    ".msh": ("ansys", "gmsh"),
    ".nas": ("nastran",),
    ".node": ("tetgen",),
    ".obj": ("obj",),
    ".off": ("off",),
    ".ply": ("ply",),
    ".post": ("permas",),
    ".post.gz": ("permas",),
    ".stl": ("stl",),
    ".su2": ("su2",),
    ".tec": ("tecplot",),
    ".ugrid": ("ugrid",),
    ".vol": ("netgen",),
    ".vol.gz": ("netgen",),
    ".vtk": ("vtk",),
    ".wkt": ("wkt",),
    ".xdmf": ("xdmf",),
    ".xmf": ("xdmf",),
    ".xml": ("dolfin",),
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


def read(path: Path, modules: tuple[str, ...]) -> Mesh:
    """Read a file with the first of meshio's modules that can."""
    refuse_empty(path)
    reasons = []
    for name in modules:
        # meshio.read prints and exits on a bad file; the readers behind it raise.
        reader = _module(name).read
        try:
            with np.errstate(all="ignore"):  # some of meshio's readers overflow on their way to a good result
                found = reader(str(path))
        except ImportError as error:
            raise MissingPackageError(f"reading it takes a package that is not installed ({error})") from None
        except (Exception, SystemExit) as error:
            reasons.append(f"as {name}: {str(error) or type(error).__name__}")
        else:
            return _mesh(found, release)
    raise InputError(f"it is damaged or of another format ({'; '.join(reasons)})")


def _module(name: str) -> Any:
    return importlib.import_module(f"meshio.{name}")  # 60 ms, when the first file is read


def from_meshio(mesh: Any) -> Mesh:
    """Make a mesh of a meshio mesh, which may be changed later; one in the plane z = 0 gets two coordinates."""
    return in_plane(_mesh(mesh, np.asarray))


def _mesh(mesh: Any, take: Callable[[NDArray[Any]], NDArray[Any]]) -> Mesh:
    cells = [(block.type, take(np.asarray(block.data))) for block in mesh.cells]
    fields = {}
    for name, values in mesh.point_data.items():
        array = np.asarray(values)
        if array.dtype.kind in "biuf" and array.size:  # some formats carry texts
            fields[name] = take(array if array.ndim == 1 else array.reshape(len(array), -1))
    return Mesh(take(np.asarray(mesh.points)), cells or {}, fields)


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
        if suffix != ".vtu":
            _refuse_losses(mesh, read(path, (name,)), name)
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
        raise InputError(f"cannot be written, a mesh of {mesh.dimension} coordinates has no place in a {suffix} file")
    points = mesh.points
    if suffix != ".su2":  # which has plane meshes, as most others have not
        points = np.hstack([points, np.zeros((mesh.n_nodes, 3 - mesh.dimension))])
    kinds = {kind: "polygon" if kind.startswith("polygon") else kind for kind in mesh.cells}
    cells = [(kinds[kind], block) for kind, block in mesh.cells.items() if len(block)]
    fields = {name: _plain(field, suffix) for name, field in mesh.fields.items()}
    return meshio.Mesh(points, cells, point_data=fields)


def _plain(field: NDArray[Any], suffix: str) -> NDArray[Any]:
    """Give a field a type that all formats know, and a vector the three components that VTK asks for."""
    if field.dtype.kind == "b":
        field = field.astype(np.uint8)
    elif field.dtype.kind == "f" and field.dtype.itemsize not in (4, 8):
        field = field.astype(np.float64)
    if suffix == ".vtk" and field.ndim == 2 and field.shape[1] == 2:
        field = np.column_stack([field, np.zeros_like(field[:, 0])])
    return field
