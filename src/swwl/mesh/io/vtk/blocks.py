"""Files that name others of VTK's: several blocks as one (``.vtm``), and series in time (``.pvd``, ``.vtu.series``)."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import scipy

from swwl.errors import InputError, MissingFileError, located
from swwl.mesh.arrays import AnyArray, release
from swwl.mesh.cells import cell_corners, cell_dimension
from swwl.mesh.io.shared import (
    NEAR,
    Groups,
    Parts,
    UnsupportedError,
    groups_of_cells,
    joined_blocks,
    mesh_with_groups,
    refuse_empty,
)
from swwl.mesh.io.vtk.data import Element, parse
from swwl.mesh.io.vtk.vtu import read_vtu
from swwl.mesh.mesh import Mesh

_GRIDS = (".vtu", ".vtp", ".pvtu", ".pvtp")
_MOST_DEEP = 16
_MOST_SMALL = 64 * 2**20  # a file that only names others


def read_vtm(path: Path, fields: Collection[str] | None = None) -> Mesh:
    """Read the blocks of the highest dimension as one mesh; others, such as the patches around it, become groups."""
    return mesh_with_groups(read_blocks(path, fields))


def read_blocks(path: Path, fields: Collection[str] | None = None) -> Parts:
    """Return what :func:`read_vtm` makes a mesh of; where there is more than one block each is a group of cells."""
    root = _root(path, "vtkMultiBlockDataSet")
    named = list(_leaves(root, (), 0))
    _refuse_twice([file for _, file in named])
    last = [names[-1] for names, _ in named]
    leaves = [
        (names[-1] if last.count(names[-1]) == 1 else "/".join(names), _named(path, file, fields))
        for names, file in named
    ]
    leaves = [(name, mesh) for name, mesh in leaves if mesh.n_cells]
    if not leaves:
        raise InputError("none of its blocks has cells")
    top = max(map(_dimension, (mesh for _, mesh in leaves)))
    inner = [(name, mesh) for name, mesh in leaves if _dimension(mesh) == top]
    parts = _joined(inner)
    if len(inner) < len(leaves):
        tree = scipy.spatial.KDTree(parts.points)
        near = NEAR * float(np.linalg.norm(np.ptp(parts.points, axis=0)))
        for name, mesh in leaves:
            faces = _faces(mesh, tree, near) if _dimension(mesh) < top else {}
            if faces and name not in parts.groups:
                parts.groups[name] = faces
    return parts


def _root(path: Path, kind: str) -> Element:
    refuse_empty(path)
    if path.stat().st_size > _MOST_SMALL:
        raise InputError("it is too large for a file that only names others")
    root, _ = parse(path.read_bytes())
    body = root.first(kind)
    if root.tag != "VTKFile" or body is None:
        raise InputError(f"it is not a VTK file of type {kind}")
    return body


def _leaves(block: Element, names: tuple[str, ...], deep: int) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield names and file of all data sets inside of nested blocks; one without a name has that of its block."""
    if deep > _MOST_DEEP:
        raise InputError("its blocks are nested too deeply")
    for child in block.children:
        own = child.attributes.get("name", "").strip()
        if child.tag == "DataSet" and child.attributes.get("file"):
            number = child.attributes.get("index", "")
            own = own or ("" if names else f"block {number}".strip())
            yield (*names, own) if own else names, child.attributes["file"]
        elif child.tag in ("Block", "Piece"):
            yield from _leaves(child, (*names, own) if own else names, deep + 1)


def _refuse_twice(files: list[str]) -> None:
    """Refuse a short file that would have a long one read again and again."""
    twice = next((file for file in files if files.count(file) > 1), None) if len(set(files)) < len(files) else None
    if twice is not None:
        raise InputError(f"it names the file {twice[:80]!r} twice")


def _named(path: Path, name: str, fields: Collection[str] | None) -> Mesh:
    """Read one of the files that another names, relative to itself."""
    file = path.parent / name.replace("\\", "/")
    with located(f"its file {name[:80]}"):
        if file.suffix.lower() not in _GRIDS:
            raise UnsupportedError(f"files of type {file.suffix!r} are not supported; supported are {' '.join(_GRIDS)}")
        if not file.is_file():
            raise MissingFileError("no such file.")
        return read_vtu(file, fields)


def _dimension(mesh: Mesh) -> int:
    return max((cell_dimension(kind) for kind, block in mesh.cells.items() if len(block)), default=0)


def _joined(blocks: list[tuple[str, Mesh]]) -> Parts:
    """Put blocks side by side; their points are not merged, and each becomes a group where there are several."""
    meshes = [mesh for _, mesh in blocks]
    starts = np.cumsum([0, *(mesh.n_nodes for mesh in meshes)])
    pairs = [
        (kind, release(block.astype(np.int64) + start))
        for mesh, start in zip(meshes, starts, strict=False)
        for kind, block in mesh.cells.items()
    ]
    cells, order = joined_blocks(pairs)
    owner = np.repeat(np.arange(len(meshes)), [mesh.n_cells for mesh in meshes])[order]
    groups: Groups = {}
    for number, (name, _) in enumerate(blocks):
        if len(blocks) > 1 and name not in groups:
            groups[name] = groups_of_cells(cells, np.flatnonzero(owner == number))
    of_cells = _common([mesh.cell_fields for mesh in meshes])
    return Parts(
        release(np.concatenate([mesh.points for mesh in meshes])),
        cells,
        _common([mesh.fields for mesh in meshes]),
        {name: release(values[order]) for name, values in of_cells.items()},
        groups,
    )


def _common(parts: list) -> dict[str, AnyArray]:  # type: ignore[type-arg]
    """Join the fields that all blocks have."""
    names = [n for n in parts[0] if all(n in part and part[n].shape[1:] == parts[0][n].shape[1:] for part in parts)]
    return {name: release(np.concatenate([part[name] for part in parts])) for name in names}


def _faces(mesh: Mesh, tree: scipy.spatial.KDTree, near: float) -> dict[str, AnyArray]:
    """Return the cells of a patch by the nodes of the mesh around which it lies; none if it does not lie on it."""
    distance, nodes = tree.query(mesh.points)
    if not len(distance) or distance.max() > near:
        return {}
    return {kind: nodes[cell_corners(kind, block)] for kind, block in mesh.cells.items() if cell_dimension(kind) > 0}


def pvd_times(path: Path) -> list[float]:
    """Return the times of a ``.pvd`` file, in order."""
    return list(_pvd(path))


def read_pvd(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Mesh:
    """Read one time of a ``.pvd`` file; several parts become one mesh."""
    files = list(_pvd(path).values())[step]
    _refuse_twice(files)
    blocks = [(f"part {number}", _named(path, file, fields)) for number, file in enumerate(files)]
    return blocks[0][1] if len(blocks) == 1 else mesh_with_groups(_joined(blocks)._replace(groups={}))


def _pvd(path: Path) -> dict[float, list[str]]:
    """Return the files of every time."""
    found: dict[float, list[str]] = {}
    for element in _root(path, "Collection").all("DataSet"):
        file = element.attributes.get("file", "")
        try:
            time = float(element.attributes.get("timestep", "0") or 0)
        except ValueError:
            raise InputError(f"it has a data set of time {element.attributes['timestep'][:40]!r}") from None
        if file:
            found.setdefault(time, []).append(file)
    if not found:
        raise InputError("it names no data sets")
    return dict(sorted(found.items()))


def file_series(path: Path) -> list[tuple[float, Path]]:
    """Return times and files of a ``.series`` file, as ParaView and foamToVTK write it, in order."""
    refuse_empty(path)
    if path.stat().st_size > _MOST_SMALL:
        raise InputError("it is too large for a file that only names others")
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["files"]
        found = [(float(entry["time"]), path.parent / str(entry["name"]).replace("\\", "/")) for entry in entries]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError('it is not a series of files: {"files": [{"name": …, "time": …}, …]} is expected') from None
    if not found:
        raise InputError("it names no files")
    return sorted(found, key=lambda pair: pair[0])


def series_times(path: Path) -> list[float]:
    """Return the times of a ``.series`` file, in order."""
    return [time for time, _ in file_series(path)]


def read_file_series(path: Path, fields: Collection[str] | None = None, step: int = -1) -> Mesh:
    """Read one time of a ``.series`` file."""
    _, file = file_series(path)[step]
    if file.suffix.lower() == ".vtm":
        with located(f"its file {file.name[:80]}"):
            if not file.is_file():
                raise MissingFileError("no such file.")
            return read_vtm(file, fields)
    return _named(path, os.path.relpath(file, path.parent), fields)
