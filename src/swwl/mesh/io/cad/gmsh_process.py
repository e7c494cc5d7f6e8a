"""Run by ``surface.py`` as a program: mesh the surface of a CAD file with gmsh, and write it as ``.npz``.

gmsh has one state for a whole process, prints, takes over signals and may crash on a damaged file; nothing of that
reaches the process that asked. Imports nothing of swwl, which would take longer than small parts take to mesh.
"""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

_TRIANGLES = 5000
_TRIANGLE = 2  # gmsh's number of its type


def main(source: str, target: str, size: float) -> None:
    """Mesh a file at a size, or with some 5 000 triangles where it is zero."""
    _limit_memory()
    gmsh = importlib.import_module("gmsh")

    gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.model.occ.importShapes(source, highestDimOnly=False)
    if source.endswith((".igs", ".iges")):  # lists of surfaces, which are not joined
        gmsh.model.occ.healShapes([], 1e-6, sewFaces=True, makeSolids=False)
        gmsh.model.occ.removeAllDuplicates()
    gmsh.model.occ.synchronize()
    faces = [tag for _, tag in gmsh.model.getEntities(2)]
    if not faces:
        sys.exit("swwl: it has no surfaces")
    area = sum(gmsh.model.occ.getMass(2, tag) for tag in faces)
    size = size or (area / (3**0.5 / 4 * _TRIANGLES)) ** 0.5
    x0, y0, z0, x1, y1, z1 = gmsh.model.getBoundingBox(-1, -1)
    largest = max(x1 - x0, y1 - y0, z1 - z0)
    if not 0 < area < float("inf") or not 0 < size or area / size**2 > 2e7:
        sys.exit(f"swwl: a mesh of its surface at size {size:g} would have more than 40 million triangles, or none")
    gmsh.option.setNumber("Mesh.MeshSizeMax", min(size, largest))
    gmsh.option.setNumber("Mesh.MeshSizeMin", min(size, largest) / 8)
    gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", 24)
    gmsh.option.setNumber("Mesh.MaxNumThreads2D", 1)
    gmsh.model.mesh.generate(2)
    numbers, points, _ = gmsh.model.mesh.getNodes()
    parts, names = [], []
    for tag in faces:
        nodes = gmsh.model.mesh.getElementsByType(_TRIANGLE, tag)[1].reshape(-1, 3)
        parts.append(nodes)
        names.append(_name(gmsh.model, tag))
    triangles = np.concatenate(parts)
    used, inverse = np.unique(triangles, return_inverse=True)
    place = np.argsort(numbers)
    rows = place[np.searchsorted(numbers[place], used)]
    np.savez(
        target,
        points=points.reshape(-1, 3)[rows],
        triangles=inverse.reshape(-1, 3).astype(np.int32),
        face=np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        names=np.array(names),
    )
    gmsh.finalize()


def _limit_memory() -> None:
    """Let the process have at most three quarters of the machine's memory: damaged files may ask for any amount."""
    try:
        resource = importlib.import_module("resource")
        most = 3 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
    except (ImportError, AttributeError, ValueError, OSError):  # where systems have no such limits
        pass


def _name(model: Any, tag: int) -> str:
    """Return what a surface is called: its physical group, its own name, that of its solid among several, or ""."""
    for group in model.getPhysicalGroupsForEntity(2, tag):
        name = str(model.getPhysicalName(2, int(group)))
        if name:
            return name
    name = str(model.getEntityName(2, tag))
    solids = model.getAdjacencies(2, tag)[0]
    if not name and len(solids) == 1 and len(model.getEntities(3)) > 1:
        name = str(model.getEntityName(3, int(solids[0])))
    return name.rstrip("/").rpartition("/")[2]


if __name__ == "__main__":
    main(str(Path(sys.argv[1])), sys.argv[2], float(sys.argv[3]))
