"""One sample -> one mesh file, VTU for ParaView or NPZ for NumPy, the same bytes each time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import meshio
import numpy as np

from swwl.datasets.sample import Simulation
from swwl.mesh.io.npz import write_npz_mesh

FORMATS = ("vtu", "npz")
_PARTIAL = ".part"
BYTES_PER_NODE = 55  # both formats, compressed, with one field; measured on the three kinds of mesh


def write_mesh(path: Path, sample: Simulation) -> None:
    """Write points, cells and fields; the suffix of the path names the format."""
    write = {".vtu": _write_vtu, ".npz": _write_npz}[path.suffix]
    with whole_file(path) as partial:
        write(partial, sample)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give another name to write to, and rename it when all is written.

    A run that dies leaves at most other names behind, for `remove_partial_files`. They carry the process
    number: workers of a killed run live on for a moment and must not meet those of the next one.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}{_PARTIAL}")
    yield partial
    with open(partial, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(partial, path)


def remove_partial_files(folder: Path) -> None:
    """Remove what dead runs left half written in a folder."""
    for path in folder.glob(f".*{_PARTIAL}"):
        path.unlink(missing_ok=True)


def is_partial(path: Path) -> bool:
    """Whether a file is one that was never finished."""
    return path.name.startswith(".") and path.name.endswith(_PARTIAL)


def _write_vtu(path: Path, sample: Simulation) -> None:
    # VTU points have three coordinates
    depth = np.zeros((len(sample.points), 3 - sample.points.shape[1]))
    mesh = _mesh(sample)
    mesh.points = np.hstack([sample.points, depth])
    meshio.vtu.write(path, mesh, binary=True, compression="zlib")


def _write_npz(path: Path, sample: Simulation) -> None:
    with open(path, "wb") as file:
        write_npz_mesh(file, _mesh(sample))


def _mesh(sample: Simulation) -> meshio.Mesh:
    # four bytes hold the node numbers of any mesh made here
    cells = [(kind, block.astype(np.int32)) for kind, block in sample.cells.items()]
    return meshio.Mesh(sample.points, cells, point_data=dict(sample.fields))
