"""Brackets that are held at one end and loaded at the other, by gmsh and CalculiX."""

import shutil
import subprocess
from pathlib import Path

from tests.solvers.gmsh_model import gmsh_model

_MATERIAL = """*MATERIAL, NAME=STEEL
*ELASTIC
210000,0.3
*EXPANSION
1e-5
*SOLID SECTION, ELSET=EALL, MATERIAL=STEEL
*BOUNDARY
HELD,1,3
*INITIAL CONDITIONS, TYPE=TEMPERATURE
NALL,0
"""
_STEP = """*STEP
*STATIC
1,1
*CLOAD
LOADED,3,{load}
*TEMPERATURE
NALL,{load}
*NODE {nodes}
U,NT,RF
*{elements} {nodes}
S,E
*END STEP
"""
# CalculiX's order of nodes in terms of gmsh's, which differ for quadratic cells.
_ORDER = {
    "C3D10": [0, 1, 2, 3, 4, 5, 6, 7, 9, 8],
    "C3D15": [0, 1, 2, 3, 4, 5, 6, 9, 7, 12, 14, 13, 8, 10, 11],
    "C3D20": [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15],
}
_TYPES = {4: "C3D4", 5: "C3D8", 6: "C3D6", 11: "C3D10", 17: "C3D20", 18: "C3D15"}


def lack():
    """Say what is missing to make results, if anything."""
    if shutil.which("ccx") is None:
        return "CalculiX is not installed (apt-get install calculix-ccx)"
    try:
        import gmsh  # noqa: F401
    except (ImportError, OSError) as error:
        return f"gmsh is not installed, or the libraries that it needs ({error})"
    return ""


def bracket_mesh(order=1, cells="tetra", size=6.0, foot=5.0, hole=4.0):
    """Mesh an angle with a hole, or a block of hexahedra or wedges: node numbers, points, (type, numbers, nodes)."""
    with gmsh_model() as gmsh:
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        gmsh.option.setNumber("Mesh.ElementOrder", order)
        gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 1)
        kernel = gmsh.model.occ
        if cells == "tetra":
            base, wall = kernel.addBox(0, 0, 0, 40, 20, foot), kernel.addBox(0, 0, 0, 5, 20, 30)
            part, _ = kernel.fuse([(3, base)], [(3, wall)])
            kernel.cut(part, [(3, kernel.addCylinder(25, 10, -1, 0, 0, foot + 5, hole))])
        else:
            sheet = kernel.addRectangle(0, 0, 0, 40, 20)
            kernel.extrude([(2, sheet)], 0, 0, 30, numElements=[3], recombine=True)
            kernel.synchronize()
            if cells == "hexahedron":
                gmsh.model.mesh.setTransfiniteSurface(sheet)
                gmsh.model.mesh.setRecombine(2, sheet)
        kernel.synchronize()
        gmsh.model.mesh.generate(3)
        numbers, points, _ = gmsh.model.mesh.getNodes()
        blocks = []
        for kind, labels, nodes in zip(*gmsh.model.mesh.getElements(3), strict=True):
            name = _TYPES[kind]
            rows = nodes.reshape(len(labels), -1)
            blocks.append((name, labels, rows[:, _ORDER[name]] if name in _ORDER else rows))
        return numbers, points.reshape(-1, 3), blocks


def bracket(folder, name, order=1, cells="tetra", binary=False, size=6.0, loads=(1, 2), **shape):
    """Compute a bracket under two loads; return the path of the results."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    numbers, points, blocks = bracket_mesh(order, cells, size, **shape)
    lines = ["*NODE, NSET=NALL"]
    lines += [f"{n},{x:.9g},{y:.9g},{z:.9g}" for n, (x, y, z) in zip(numbers, points, strict=True)]
    for kind, labels, rows in blocks:
        lines.append(f"*ELEMENT, TYPE={kind}, ELSET=EALL")
        for label, row in zip(labels, rows, strict=True):
            words = [str(label), *map(str, row)]
            lines += [",".join(words[:11]) + ("," if len(words) > 11 else "")]
            lines += [",".join(words[11:])] if len(words) > 11 else []
    for group, inside in {"HELD": points[:, 0] < 1e-3, "LOADED": points[:, 0] > 40 - 1e-3}.items():
        lines += [f"*NSET, NSET={group}", *(f"{n}," for n in numbers[inside])]
    nodes, elements = ("OUTPUT", "ELEMENT") if binary else ("FILE", "EL")
    steps = "".join(_STEP.format(load=load, nodes=nodes, elements=elements) for load in loads)
    (folder / f"{name}.inp").write_text("\n".join(lines) + "\n" + _MATERIAL + steps)
    done = subprocess.run(["ccx", name], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and (folder / f"{name}.frd").is_file(), done.stdout[-2000:]
    return folder / f"{name}.frd"


def short_form(text):
    """Write results of the long form in the short one, whose node numbers have five digits."""
    out = []
    for line in text.splitlines():
        if line.startswith(("    2C", "    3C", "  100C")):
            line = line.rstrip()[:-1] + "0"
        elif line.startswith((" -1", " -2")):
            line = _shortened(line)
        out.append(line)
    return "\n".join(out) + "\n"


def _shortened(line):
    if "." in line:
        return line[:3] + line[8:13] + line[13:]
    if line.startswith(" -1"):
        return line[:3] + line[8:13] + line[13:]
    return line[:3] + "".join(line[k + 5 : k + 10] for k in range(3, len(line), 10))
