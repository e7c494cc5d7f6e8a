"""Load a bracket with CalculiX: ``python simulate.py MESH.inp FOLDER`` writes FOLDER/results.csv.

A force of 600 N pulls the end of the foot down. The mass is in grams, the stress is the largest of von Mises in MPa,
more than 3 mm away from where the part is held (an ideal clamp has no largest stress at its edge).
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

FORCE, DENSITY, AWAY = 600.0, 7.85e-3, 3.0
STEP = """*MATERIAL, NAME=STEEL
*ELASTIC
210000,0.3
*SOLID SECTION, ELSET=EALL, MATERIAL=STEEL
*BOUNDARY
HELD,1,3
*STEP
*STATIC
*CLOAD
LOADED,3,{load:.9g}
*EL PRINT, ELSET=EALL, TOTALS=ONLY
EVOL
*NODE FILE
U
*EL FILE
S
*END STEP
"""


def loaded_nodes(lines: list[str]) -> int:
    """Count the nodes at the end of the foot."""
    first = lines.index("*NSET, NSET=LOADED") + 1
    return len([line for line in lines[first:] if line and not line.startswith("*")])


def nodal(text: str, name: str, width: int) -> dict[int, list[float]]:
    """Read a block of numbers at nodes from CalculiX's .frd, with ``width`` numbers each."""
    found: dict[int, list[float]] = {}
    inside = False
    for line in text.splitlines():
        if line.startswith(name):
            inside = True
        elif inside and line.startswith(" -1"):
            found[int(line[3:13])] = [float(line[13 + 12 * k : 25 + 12 * k]) for k in range(width)]
        elif inside and line.startswith(" -3"):
            break
    return found


def main(mesh: str, out: str) -> None:
    """Run CalculiX in the folder, and write mass and stress."""
    folder = Path(out)
    text = Path(mesh).read_text()
    load = -FORCE / loaded_nodes(text.splitlines())
    (folder / "part.inp").write_text(text + STEP.format(load=load))
    subprocess.run(["ccx", "part"], cwd=folder, check=True)
    results = (folder / "part.frd").read_text()
    points, stresses = nodal(results, "    2C", 3), nodal(results, " -4  STRESS", 6)
    away = [node for node, (x, _, _) in points.items() if x > AWAY and node in stresses]
    xx, yy, zz, xy, yz, zx = np.array([stresses[node] for node in away]).T
    mises = np.sqrt(((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) / 2 + 3 * (xy**2 + yz**2 + zx**2))
    volume = float((folder / "part.dat").read_text().split()[-1])
    (folder / "results.csv").write_text(f"mass,stress\n{DENSITY * volume!r},{float(mises.max())!r}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
