"""Mesh a bracket of steel with gmsh: ``python bracket.py PARAMETERS.json MESH.inp [SIZE]``.

An angle with a rounded inner corner, and a hole in its foot and in its wall; lengths in millimeters. The file is
CalculiX's, with the nodes that are held (HELD, the back of the wall) and loaded (LOADED, the end of the foot).
"""

import json
import sys
from pathlib import Path

import gmsh

LENGTH, WIDTH, HEIGHT = 60.0, 30.0, 50.0
# CalculiX has the last two nodes of a quadratic tetrahedron the other way around.
ORDER = [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]


def solid(foot: float, wall: float, fillet: float, hole: float, place: float, window: float) -> None:
    """Build the part: thicknesses, radius of the corner, radius and place of the hole, radius of that in the wall."""
    kernel = gmsh.model.occ
    corners = [(0, 0), (LENGTH, 0), (LENGTH, foot), (wall + fillet, foot)]
    corners += [(wall, foot + fillet), (wall, HEIGHT), (0, HEIGHT)]
    points = [kernel.addPoint(x, 0, z) for x, z in corners]
    center = kernel.addPoint(wall + fillet, 0, foot + fillet)
    lines = [kernel.addLine(points[k], points[(k + 1) % 7]) for k in range(7) if k != 3]
    lines.insert(3, kernel.addCircleArc(points[3], center, points[4]))
    profile = kernel.addPlaneSurface([kernel.addCurveLoop(lines)])
    part = [one for one in kernel.extrude([(2, profile)], 0, WIDTH, 0) if one[0] == 3]
    holes = [kernel.addCylinder(place, WIDTH / 2, -1, 0, 0, foot + 2, hole)]
    holes.append(kernel.addCylinder(-1, WIDTH / 2, 0.65 * HEIGHT, wall + 2, 0, 0, window))
    kernel.cut(part, [(3, one) for one in holes])
    kernel.synchronize()


def main(parameters: str, mesh: str, size: str = "5") -> None:
    """Write the mesh of a bracket."""
    gmsh.initialize(interruptible=False)
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("General.NumThreads", 1)
    gmsh.option.setNumber("Mesh.MeshSizeMax", float(size))
    gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", 12)
    gmsh.option.setNumber("Mesh.MeshSizeMin", float(size) / 3)
    gmsh.option.setNumber("Mesh.ElementOrder", 2)
    solid(**json.loads(Path(parameters).read_text()))
    gmsh.model.mesh.generate(3)
    numbers, places, _ = gmsh.model.mesh.getNodes()
    points = places.reshape(-1, 3)
    kinds, labels, nodes = gmsh.model.mesh.getElements(3)
    (cells,) = (own.reshape(-1, 10)[:, ORDER] for kind, own in zip(kinds, nodes, strict=True) if kind == 11)
    gmsh.finalize()
    used = set(cells.ravel().tolist())
    lines = ["*NODE, NSET=NALL"]
    for n, (x, y, z) in zip(numbers, points, strict=True):
        if n in used:
            lines.append(f"{n},{x:.9g},{y:.9g},{z:.9g}")
    lines.append("*ELEMENT, TYPE=C3D10, ELSET=EALL")
    lines += [f"{n}," + ",".join(map(str, row)) for n, row in zip(labels[0], cells, strict=True)]
    for group, inside in {"HELD": points[:, 0] < 1e-6, "LOADED": points[:, 0] > LENGTH - 1e-6}.items():
        chosen = [n for n in numbers[inside] if n in used]
        lines += [f"*NSET, NSET={group}", *(f"{n}," for n in chosen)]
    Path(mesh).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
