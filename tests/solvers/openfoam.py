"""Flows in a channel around a few bodies, by gmsh and OpenFOAM: one cell thick, as plane cases are computed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.solvers.gmsh_model import gmsh_model

_HEAD = "FoamFile {{ version 2.0; format ascii; class {kind}; object {name}; }}\n"
_CONTROL = """application simpleFoam; startFrom startTime; startTime 0; stopAt endTime; endTime {steps}; deltaT 1;
writeControl timeStep; writeInterval {every}; writeFormat {form}; writePrecision 12; writeCompression {packed};
timeFormat general; timePrecision 6;
"""
_SCHEMES = """ddtSchemes {{ default steadyState; }} gradSchemes {{ default Gauss linear; }}
divSchemes {{ default none; div(phi,U) bounded Gauss upwind; div((nuEff*dev2(T(grad(U))))) Gauss linear; }}
laplacianSchemes {{ default Gauss linear corrected; }} interpolationSchemes {{ default linear; }}
snGradSchemes {{ default corrected; }}
"""
_SOLUTION = """solvers {{ p {{ solver PCG; preconditioner DIC; tolerance 1e-8; relTol 0.1; }}
U {{ solver smoothSolver; smoother GaussSeidel; tolerance 1e-8; relTol 0.1; }} }}
SIMPLE {{ nNonOrthogonalCorrectors 1; consistent yes; }} relaxationFactors {{ equations {{ U 0.8; }} }}
"""
_DECOMPOSE = "numberOfSubdomains 3; method simple; simpleCoeffs {{ n (3 1 1); delta 0.001; }}\n"
_U = """dimensions [0 1 -1 0 0 0 0]; internalField uniform (1 0 0); boundaryField {{
inlet {{ type fixedValue; value uniform (1 0 0); }} outlet {{ type zeroGradient; }}
"walls|body" {{ type noSlip; }} frontAndBack {{ type empty; }} }}
"""
_P = """dimensions [0 2 -2 0 0 0 0]; internalField uniform 0; boundaryField {{
inlet {{ type zeroGradient; }} outlet {{ type fixedValue; value uniform 0; }}
"walls|body" {{ type zeroGradient; }} frontAndBack {{ type empty; }} }}
"""
BODIES = [(1.0, 0.5, 0.15), (1.8, 0.3, 0.1), (1.8, 0.75, 0.1)]


def lack():
    """Say what is missing to make cases, if anything."""
    if shutil.which("simpleFoam") is None or environment() is None:
        return "OpenFOAM is not installed (apt-get install openfoam)"
    try:
        import gmsh  # noqa: F401
    except (ImportError, OSError) as error:
        return f"gmsh is not installed, or the libraries that it needs ({error})"
    return ""


def environment():
    """Return the variables that OpenFOAM's programs need, or None where its files are not found."""
    for root in (os.environ.get("WM_PROJECT_DIR", ""), "/usr/share/openfoam"):
        if root and Path(root, "etc", "controlDict").is_file():
            return {**os.environ, "WM_PROJECT_DIR": root}
    return None


def run(folder, *command):
    """Run a program in a case."""
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-2000:]}"


def write(folder, name, kind, text, **values):
    """Write a file of a case."""
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_HEAD.format(kind=kind, name=path.name) + text.format(**values))


def control(folder, steps=4, every=2, form="ascii", packed="off"):
    """Write what says how long to compute and how to write."""
    write(folder, "system/controlDict", "dictionary", _CONTROL, steps=steps, every=every, form=form, packed=packed)


def channel_mesh(path, bodies, size=0.08, quads=False):
    """Mesh a channel around round bodies with gmsh, one cell thick; quadrilaterals become hexahedra."""
    with gmsh_model() as gmsh:
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        gmsh.option.setNumber("Mesh.MshFileVersion", 2.2)
        kernel = gmsh.model.occ
        area = [(2, kernel.addRectangle(0, 0, 0, 3, 1))]
        holes = [(2, kernel.addDisk(x, y, 0, r, r)) for x, y, r in bodies]
        area, _ = kernel.cut(area, holes)
        made = kernel.extrude(area, 0, 0, 0.1, numElements=[1], recombine=True)
        kernel.synchronize()
        if quads:
            gmsh.model.mesh.setRecombine(2, area[0][1])
        groups = {name: [] for name in ("inlet", "outlet", "walls", "body", "frontAndBack")}
        for _, tag in gmsh.model.getEntities(2):
            x0, y0, z0, x1, y1, z1 = gmsh.model.getBoundingBox(2, tag)
            if z1 - z0 < 1e-4:
                name = "frontAndBack"
            elif x1 < 1e-4 or x0 > 3 - 1e-4:
                name = "inlet" if x1 < 1e-4 else "outlet"
            else:
                name = "walls" if y1 < 1e-4 or y0 > 1 - 1e-4 else "body"
            groups[name].append(tag)
        for name, tags in groups.items():
            gmsh.model.addPhysicalGroup(2, tags, name=name)
        gmsh.model.addPhysicalGroup(3, [tag for dimension, tag in made if dimension == 3], name="fluid")
        gmsh.model.mesh.generate(3)
        gmsh.write(str(path))


def channel(folder, n_bodies=1, *, form="ascii", packed="off", quads=False, steps=4, size=0.08, bodies=None):
    """Compute the flow around bodies, or the first of those above; return the folder of the case."""
    folder = Path(folder)
    control(folder, steps, 2, form, packed)
    write(folder, "system/fvSchemes", "dictionary", _SCHEMES)
    write(folder, "system/fvSolution", "dictionary", _SOLUTION)
    write(folder, "system/decomposeParDict", "dictionary", _DECOMPOSE)
    write(folder, "constant/transportProperties", "dictionary", "transportModel Newtonian; nu 0.01;\n")
    write(folder, "constant/turbulenceProperties", "dictionary", "simulationType laminar;\n")
    write(folder, "0/U", "volVectorField", _U)
    write(folder, "0/p", "volScalarField", _P)
    channel_mesh(folder / "channel.msh", bodies or BODIES[:n_bodies], size, quads)
    run(folder, "gmshToFoam", "channel.msh")
    boundary = folder / "constant" / "polyMesh" / "boundary"
    plain = boundary if boundary.is_file() else boundary.with_suffix(".gz")
    if plain == boundary:
        boundary.write_text(_typed(boundary.read_text()))
    else:
        import gzip

        plain.write_bytes(gzip.compress(_typed(gzip.decompress(plain.read_bytes()).decode()).encode()))
    if steps:
        run(folder, "simpleFoam")
    return folder


def _typed(text):
    """Give patches the types that a solver needs."""
    for name, kind in {"frontAndBack": "empty", "walls": "wall", "body": "wall"}.items():
        text = re.sub(rf"({name}\s*\{{\s*type\s+)\w+", rf"\1{kind}", text)
    return text


def box_of_polyhedra(folder, size=0.25):
    """Mesh a box with polyhedra, one around each node of tetrahedra; return the folder of the case."""
    folder = Path(folder)
    control(folder)
    write(folder, "system/fvSchemes", "dictionary", _SCHEMES)
    write(folder, "system/fvSolution", "dictionary", _SOLUTION)
    with gmsh_model() as gmsh:
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        gmsh.option.setNumber("Mesh.MshFileVersion", 2.2)
        gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1)
        gmsh.model.occ.synchronize()
        gmsh.model.addPhysicalGroup(2, [tag for _, tag in gmsh.model.getEntities(2)], name="skin")
        gmsh.model.addPhysicalGroup(3, [1], name="inside")
        gmsh.model.mesh.generate(3)
        gmsh.write(str(folder / "box.msh"))
    run(folder, "gmshToFoam", "box.msh")
    run(folder, "polyDualMesh", "70", "-overwrite")
    return folder
