"""Files that only VTK reads, through pyvista where that is installed: EnSight, image grids, ADF.

VTK rarely fails: it returns an empty grid, prints an error and goes on, repeats nodes in every block, adds boundaries
to the inside. What comes back is looked at before it is believed.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from swwl.errors import InputError, MissingPackageError
from swwl.mesh.cells import cell_corners, cell_dimension
from swwl.mesh.io.objects import piece_of_pyvista
from swwl.mesh.io.shared import NEAR, Piece, UnsupportedError, join
from swwl.mesh.mesh import Mesh, in_plane

# Endings that are read by nobody else.
ENDINGS = tuple(".case .encas .hdf .pvti .pvtr .pvts .vtkhdf .vti .vtmb .vtr .vts".split())
# Endings of which another reader refuses some kinds of file that VTK reads.
ALSO = (".avs", ".cgns", ".pvd", ".pvtp", ".pvtu", ".vtk", ".vtm", ".vtp", ".vtu")

_LOCK = threading.Lock()  # VTK's errors go to one window for all threads


def read_pyvista(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Mesh:
    """Read a file by pyvista: one of its times, the inside of all blocks; where there are several, as groups."""
    pyvista = _pyvista(path)
    with _LOCK, pyvista.VtkErrorCatcher(send_to_logging=False) as errors:
        reader = pyvista.get_reader(str(path))
        _set_up(reader, step)
        data = reader.read()
    told = [str(event.alert) for event in errors.error_events]
    pieces = _pieces(data, patches=True)
    if not pieces or not any(piece.cells for piece in pieces):
        raise InputError(f"VTK finds no cells in it{': ' + told[0][:200] if told else ''}")
    if told:
        raise InputError(f"VTK cannot read all of it: {told[0][:200]}")
    return join(_alike(pieces, fields))


def pyvista_times(path: Path) -> list[float]:
    """Return the times of a file, in order."""
    pyvista = _pyvista(path)
    with _LOCK, pyvista.VtkErrorCatcher(send_to_logging=False):
        return sorted(getattr(pyvista.get_reader(str(path)), "time_values", None) or [])


def _pyvista(path: Path) -> Any:
    try:
        return importlib.import_module("pyvista")
    except ImportError as error:
        reason = "" if isinstance(error, ModuleNotFoundError) else f"; here: {error}"
        raise MissingPackageError(
            f"reading {path.suffix.lower()} files needs the package pyvista (pip install 'swwl[vtk]'{reason})"
        ) from None


def from_multiblock(data: Any) -> Mesh:
    """Make one mesh of all blocks of a ``pyvista.MultiBlock``, each a group of cells, with the fields that all have."""
    pieces = _pieces(data)
    if not any(piece.cells for piece in pieces):
        raise InputError("The blocks hold no cells.")
    return in_plane(join(_alike(pieces, None)))


def _pieces(data: Any, patches: bool = False) -> list[Piece]:
    """Return the blocks that have points; where there are several, their cells are groups of their names.

    With ``patches``, blocks of fewer dimensions that lie on a block of cells, as the patches around them do in EnSight
    files, are no cells of their own, but groups of faces.
    """
    named = [(names, piece_of_pyvista(block)) for names, block in _blocks(data, ()) if block.n_points]
    named = _without_patches(named) if patches and len(named) > 1 else named
    for names, piece in named if len(named) > 1 else ():
        piece.sets.add_cells("/".join(names), np.arange(sum(len(block) for _, block in piece.cells)))
    return [piece for _, piece in named]


def _without_patches(named: list[tuple[tuple[str, ...], Piece]]) -> list[tuple[tuple[str, ...], Piece]]:
    """Return the blocks without those that lie on others, of which they become groups of faces."""
    dimensions = [max((cell_dimension(kind) for kind, _ in piece.cells), default=0) for _, piece in named]
    inner = [one for one, dimension in zip(named, dimensions, strict=True) if dimension == max(dimensions)]
    trees = [scipy.spatial.KDTree(piece.points) for _, piece in inner]
    near = NEAR * max(float(np.linalg.norm(np.ptp(piece.points, axis=0))) for _, piece in inner)
    kept = []
    for one, dimension in zip(named, dimensions, strict=True):
        names, patch = one
        looks = [tree.query(patch.points) for tree in trees] if dimension < max(dimensions) else []
        home = next((k for k, (distance, _) in enumerate(looks) if distance.max() <= near), None)
        if home is None or not dimension:
            kept.append(one)
            continue
        for kind, block in patch.cells:
            if cell_dimension(kind):
                faces = looks[home][1][cell_corners(kind, np.asarray(block))]
                inner[home][1].sets.add_faces("/".join(names), kind, faces)
    return kept


def _set_up(reader: Any, step: int) -> None:
    """Ask for a time, and for what the file holds and not for what VTK makes of it."""
    for option in ("cell_to_point_creation", "decompose_polyhedra", "load_boundary_patch"):
        with suppress(AttributeError):
            setattr(reader, option, False)
    times = getattr(reader, "time_values", None) or []
    if len(times) > 1:
        reader.set_active_time_value(sorted(times)[step])


def _blocks(data: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the grids inside of nested blocks with the names of these, without their boundaries."""
    if not hasattr(data, "keys") or hasattr(data, "points"):
        if data is not None:
            yield names, data
        return
    for name, block in zip(data.keys(), data, strict=True):
        if str(name) not in ("Patches", "boundary", "zones"):
            yield from _blocks(block, (*names, str(name)))


def _alike(pieces: list[Piece], wanted: Collection[str] | None) -> list[Piece]:
    """Keep the fields that all pieces have and that are requested."""
    for kind in ("fields", "cell_fields"):
        found = [getattr(piece, kind) for piece in pieces]
        shapes = [{name: field.shape[1:] for name, field in part.items()} for part in found]
        common = {name for name, shape in shapes[0].items() if all(part.get(name) == shape for part in shapes)}
        for piece, part in zip(pieces, found, strict=True):
            kept = {name: field for name, field in part.items() if name in common}
            setattr(piece, kind, {name: field for name, field in kept.items() if wanted is None or name in wanted})
    return pieces


def rescue(path: Path, fields: Collection[str] | None, error: InputError) -> Mesh | None:
    """Read what another reader has refused, if VTK is there and may do it; None if it does not."""
    if path.suffix.lower() not in ALSO or not isinstance(error, (UnsupportedError, MissingPackageError)):
        return None
    try:
        return read_pyvista(path, fields)
    except Exception:  # the first reader's reason is the better one
        return None
