"""MeshSeries: a mesh whose fields change with time, as solvers of transient problems leave it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swwl.errors import InputError
from swwl.mesh.io.convert import read_series
from swwl.mesh.mesh import Mesh
from swwl.storage.atomic import atomic_write

Array = NDArray[np.float64]

# What the movement of the nodes is called, where a mesh moves.
MOTION = "motion"
_SAME = 1e-12


@dataclass(frozen=True)
class MeshSeries:
    """A mesh with fields at T times.

    Attributes
    ----------
    mesh : Mesh
        As it is at the first time; its own fields do not change.
    times : ndarray of shape (T,)
        Rising.
    fields : dict of str to ndarray of shape (T, n) or (T, n, c)
        At nodes.
    cell_fields : dict of str to ndarray of shape (T, m) or (T, m, c)

    Examples
    --------
    >>> rod = Mesh([0.0, 1.0, 2.0], {"line": [[0, 1], [1, 2]]})
    >>> series = MeshSeries(rod, [0.0, 0.5], {"T": [[0.0, 0.0, 0.0], [1.0, 0.5, 0.0]]})
    >>> series
    MeshSeries(3 nodes, 2 times from 0 to 0.5; fields: T)
    >>> series.at(1).fields["T"].tolist()
    [1.0, 0.5, 0.0]
    """

    mesh: Mesh
    times: Array
    fields: Mapping[str, Array] = field(default_factory=dict)
    cell_fields: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", checked_times(self.times))
        for kind, n in (("fields", self.mesh.n_nodes), ("cell_fields", self.mesh.n_cells)):
            found = {name: np.asarray(values, dtype=float) for name, values in getattr(self, kind).items()}
            for name, values in found.items():
                if values.ndim not in (2, 3) or values.shape[:2] != (len(self.times), n):
                    expected = f"({len(self.times)}, {n}) or ({len(self.times)}, {n}, c)"
                    raise InputError(f"Field {name!r} has shape {values.shape}, but {expected} is expected.")
            object.__setattr__(self, kind, found)

    @classmethod
    def of(cls, steps: Sequence[tuple[float, Mesh]]) -> MeshSeries:
        """Make a series of meshes at several times, which have the same cells.

        Where nodes move, by how much since the first time is a field, "motion".

        Raises
        ------
        InputError
            If cells change, or a field is missing at some time.
        """
        if not steps:
            raise InputError("A series has no times.")
        times, meshes = [time for time, _ in steps], [mesh for _, mesh in steps]
        first = meshes[0]
        for time, mesh in steps:
            same = mesh.n_nodes == first.n_nodes and mesh.cells.keys() == first.cells.keys()
            if not same or any(not np.array_equal(mesh.cells[kind], own) for kind, own in first.cells.items()):
                raise InputError(
                    f"The mesh has other nodes or cells at time {time:g} than at time {times[0]:g}; those of a case "
                    "have to stay the same, and nodes may move."
                )
        fields = _stacked(times, [mesh.fields for mesh in meshes])
        moved = np.stack([mesh.points - first.points for mesh in meshes])
        if np.abs(moved).max(initial=0.0) > _SAME * np.ptp(first.points, axis=0).max(initial=0.0):
            fields[MOTION] = moved
        still = Mesh.trusted(first.points, first.cells, {}, first.name, {}, first.groups)
        return cls(still, np.array(times), fields, _stacked(times, [mesh.cell_fields for mesh in meshes]))

    @classmethod
    def read(cls, path: str | os.PathLike[str], fields: Collection[str] | None = None) -> MeshSeries:
        """Read all times of a file or case, see :func:`swwl.read_series`."""
        wanted = None if fields is None else [name for name in fields if name != MOTION]
        try:
            return cls.of(read_series(path, wanted))
        except InputError as error:
            message = str(error)
            raise InputError(message if str(path) in message else f"{path}: {message}") from None

    def at(self, step: int) -> Mesh:
        """Return the mesh with its fields at one of the times, moved where nodes move."""
        parts = [{name: values[step] for name, values in own.items()} for own in (self.fields, self.cell_fields)]
        points = self.mesh.points + (self.fields[MOTION][step] if MOTION in self.fields else 0.0)
        whole = {**self.mesh.fields, **parts[0]}, {**self.mesh.cell_fields, **parts[1]}
        return Mesh.trusted(points, self.mesh.cells, whole[0], self.mesh.name, whole[1], self.mesh.groups)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.pvd`` file, which ParaView opens, and one ``.vtu`` file per time in a folder beside it.

        Examples
        --------
        >>> import tempfile
        >>> rod = Mesh([[0.0, 0.0], [1.0, 0.0]], {"line": [[0, 1]]})
        >>> series = MeshSeries(rod, [0.0, 0.5], {"T": [[0.0, 0.0], [1.0, 0.5]]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     series.write(f"{folder}/rod.pvd")
        ...     MeshSeries.read(f"{folder}/rod.pvd").times.tolist()
        [0.0, 0.5]
        """
        target = Path(path)
        if target.suffix.lower() != ".pvd":
            raise InputError(f"{target}: series are written to files that end in .pvd.")
        folder = target.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for step, time in enumerate(self.times):
            name = f"{step:04d}.vtu"
            self.at(step).write(folder / name)
            lines.append(f'    <DataSet timestep="{float(time)!r}" file={quoteattr(f"{folder.name}/{name}")}/>')
        text = "\n".join(
            ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "  <Collection>", *lines,
             "  </Collection>", "</VTKFile>", ""]
        )  # fmt: skip
        with atomic_write(target) as file:
            file.write(text.encode())

    def __repr__(self) -> str:
        names = ", ".join([*self.fields, *self.cell_fields]) or "none"
        told = f"{len(self.times)} times from {self.times[0]:g} to {self.times[-1]:g}"
        called = "" if self.mesh.name is None else f"{self.mesh.name}: "
        return f"MeshSeries({called}{self.mesh.n_nodes} nodes, {told}; fields: {names})"


def checked_times(times: ArrayLike) -> Array:
    """Return times (T,), which have to rise.

    Examples
    --------
    >>> checked_times([0, 1]).tolist()
    [0.0, 1.0]
    """
    found = np.array(times, dtype=float)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise InputError(f"Times are {times!r}, but a list of finite numbers is expected.")
    falls = np.flatnonzero(np.diff(found) <= 0)
    if len(falls):
        k = int(falls[0])
        raise InputError(f"Times are not sorted: {found[k]:g} is followed by {found[k + 1]:g}.")
    return found


def _stacked(times: Sequence[float], fields: Sequence[Mapping[str, NDArray[np.generic]]]) -> dict[str, Array]:
    """Return fields of all times as arrays; refuse those that some time lacks."""
    found = {}
    for name in dict.fromkeys(name for own in fields for name in own):
        for time, own in zip(times, fields, strict=True):
            if name not in own:
                raise InputError(f"Field {name!r} is missing at time {time:g}.")
        shapes = {own[name].shape for own in fields}
        if len(shapes) > 1:
            raise InputError(f"Field {name!r} has shapes {sorted(shapes)} at different times.")
        if fields[0][name].dtype.kind in "fiub":
            found[name] = np.stack([own[name] for own in fields]).astype(float)
    return found
