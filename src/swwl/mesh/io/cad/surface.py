"""CAD files as surface meshes: STEP, IGES and BREP, with gmsh (the extra ``[cad]``)."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

import numpy as np

from swwl.errors import InputError, MissingPackageError
from swwl.mesh.arrays import release
from swwl.mesh.io.shared import Groups, Parts, mesh_with_groups, refuse_empty
from swwl.mesh.mesh import Mesh

ENDINGS = (".step", ".stp", ".iges", ".igs", ".brep")
_PROGRAM = Path(__file__).with_name("gmsh_process.py")
_MOST_SECONDS = 300


def read_cad(path: Path, fields: Collection[str] | None = None, size: float | None = None) -> Mesh:
    """Mesh the surface of a CAD file; surfaces with names become groups. Lengths are in millimeters, as STEP has it.

    Parameters
    ----------
    path : Path
    fields : None
        There are none.
    size : float, optional
        Of the largest edges. By default such that there are some 5 000 triangles. Round surfaces get at least 24
        edges around, unless these are shorter than an eighth of the size.
    """
    return mesh_with_groups(read_surface(path, size))


def read_surface(path: Path, size: float | None = None) -> Parts:
    """Return what :func:`read_cad` makes a mesh of."""
    refuse_empty(path)
    if size is not None and not (math.isfinite(size) and size > 0):
        raise InputError(f"size must be a positive number, not {size!r}")
    if importlib.util.find_spec("gmsh") is None:
        raise MissingPackageError(
            f"reading {path.suffix.lower()} files needs the package gmsh (pip install 'swwl[cad]')"
        )
    with tempfile.TemporaryDirectory() as folder:
        # gmsh tells formats by endings in small letters
        source, target = Path(folder, f"part{path.suffix.lower()}"), Path(folder, "surface.npz")
        source.write_bytes(path.read_bytes())
        command = [sys.executable, "-P", str(_PROGRAM), str(source), str(target), str(size or 0.0)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_MOST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise InputError(
                f"gmsh does not finish its mesh within {_MOST_SECONDS} seconds: is it damaged, or the size too small?"
            ) from None
        if done.returncode or not target.is_file():
            raise _refusal(done.stderr, path)
        with np.load(target, allow_pickle=False) as found:
            points, triangles, face, names = (found[key] for key in ("points", "triangles", "face", "names"))
    groups: Groups = {}
    for name in dict.fromkeys(name for name in names.tolist() if name):
        groups[name] = {"triangle": np.flatnonzero(names[face] == name)}
    return Parts(release(points), {"triangle": release(triangles)}, {}, {}, groups)


def _refusal(told: str, path: Path) -> InputError:
    """Say why gmsh failed, from the last line that it printed."""
    last = (told.strip().splitlines() or ["it ended without a word"])[-1]
    if "OSError" in last and ".so" in last:
        return MissingPackageError(
            f"gmsh is installed, but a library that it needs is not ({last.partition(': ')[2][:120]}); "
            "on Debian: apt-get install libglu1-mesa libgl1 libxrender1 libxcursor1 libxft2 libxinerama1"
        )
    if "Could not read file" in last:
        return InputError(f"gmsh cannot read it as {path.suffix.lower()} (is it damaged or of another format?)")
    if "bad_alloc" in told or "MemoryError" in last:
        return InputError("gmsh needs more memory for its mesh than there is: give a larger size")
    reason = last.removeprefix("swwl: ") if last.startswith("swwl: ") else f"gmsh cannot read it: {last[:200]}"
    return InputError(reason)
