"""CAD files as surface meshes."""

import importlib.util
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

from swwl import InputError, Mesh, RobustGPRegressor, read_mesh
from swwl.errors import CaseWarning
from swwl.mesh.cells import cell_measures
from swwl.mesh.io.cad import gmsh_process
from swwl.mesh.io.cad.surface import ENDINGS, read_surface
from tests.solvers.gmsh_model import gmsh_model


def _lack():
    """Say what keeps gmsh from running, if anything."""
    if importlib.util.find_spec("gmsh") is None:
        return "gmsh is not installed"
    done = subprocess.run([sys.executable, "-c", "import gmsh"], capture_output=True, text=True)
    return f"gmsh is not usable: {done.stderr.strip()[-100:]}" if done.returncode else ""


needs_gmsh = pytest.mark.skipif(bool(_lack()), reason=_lack() or "all is there")


def part(path, length=40.0, hole=4.0, size=2.5, around=0, solid=False):
    """Write an angle with a hole as a CAD file, and return gmsh's own mesh, with so many edges around the hole."""
    with gmsh_model() as gmsh:
        gmsh.option.setNumber("General.Verbosity", 0)
        kernel = gmsh.model.occ
        foot, wall = kernel.addBox(0, 0, 0, length, 20, 5), kernel.addBox(0, 0, 0, 5, 20, 30)
        angle, _ = kernel.fuse([(3, foot)], [(3, wall)])
        kernel.cut(angle, [(3, kernel.addCylinder(0.6 * length, 10, -1, 0, 0, 10, hole))])
        kernel.synchronize()
        gmsh.write(str(path))
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        gmsh.option.setNumber("Mesh.MeshSizeFromCurvature", around)
        gmsh.model.mesh.generate(3 if solid else 2)
        numbers, points, _ = gmsh.model.mesh.getNodes()
        _, nodes = gmsh.model.mesh.getElementsByType(4 if solid else 2)
        order = np.argsort(numbers)
        cells = order[np.searchsorted(numbers[order], nodes)]
        used, inverse = np.unique(cells, return_inverse=True)
        return Mesh(points.reshape(-1, 3)[used], inverse.reshape(-1, 4 if solid else 3))


def area(mesh):
    return cell_measures(mesh.points, "triangle", mesh.cells["triangle"]).sum()


def test_without_gmsh_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (tmp_path / "a.step").write_text("ISO-10303-21;")
    with pytest.raises(InputError, match=r"needs the package gmsh \(pip install 'swwl\[cad\]'\)"):
        read_mesh(tmp_path / "a.step")


def test_sizes_are_for_cad_files(tmp_path):
    Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]).write(tmp_path / "a.vtu")
    with pytest.raises(InputError, match="size applies to CAD files"):
        read_mesh(tmp_path / "a.vtu", size=1.0)
    (tmp_path / "a.step").write_text("ISO-10303-21;")
    with pytest.raises(InputError, match="size must be a positive number"):
        read_mesh(tmp_path / "a.step", size=-1.0)
    assert callable(gmsh_process.main) and ".brep" in ENDINGS


@needs_gmsh
@pytest.mark.slow
@pytest.mark.parametrize("ending", [".step", ".brep", ".iges", ".STP"])
def test_a_part_of_known_area(tmp_path, ending):
    written = tmp_path / f"a{'.step' if ending == '.STP' else ending}"
    own = part(written)
    path = written.rename(tmp_path / f"part{ending}")
    mesh = read_mesh(path)
    assert 4000 < mesh.n_cells < 7000
    assert area(mesh) == pytest.approx(area(own), rel=2e-3)
    edges = np.sort(np.concatenate([mesh.cells["triangle"][:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))]))
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()  # closed, whatever the format joins
    assert read_mesh(path, size=8.0).n_cells < mesh.n_cells / 3


@needs_gmsh
@pytest.mark.slow
def test_names_and_threads_and_damage(tmp_path):
    part(tmp_path / "a.step")
    found = []
    thread = threading.Thread(target=lambda: found.append(read_surface(tmp_path / "a.step", size=8.0)))
    thread.start()
    thread.join()
    assert found[0].groups == {} and len(found[0].points) > 50
    text = (tmp_path / "a.step").read_text()
    for content, reason in ((text[: len(text) // 2], "gmsh cannot read it"), ("hello", "gmsh cannot read it")):
        (tmp_path / "bad.step").write_text(content)
        with pytest.raises(InputError, match=reason):
            read_mesh(tmp_path / "bad.step")
    with pytest.raises(InputError, match="more than 40 million triangles"):
        read_mesh(tmp_path / "a.step", size=1e-5)


@needs_gmsh
@pytest.mark.slow
@pytest.mark.parametrize("solid", [False, True])
def test_a_cad_file_is_predicted_like_its_mesh(tmp_path, solid):
    """Fitted to gmsh's meshes, the model says the same of a STEP file as of the mesh of the same part."""
    rng = np.random.default_rng(0)
    sizes = np.column_stack([rng.uniform(30, 60, 34), rng.uniform(2, 6, 34)])
    paths = [tmp_path / f"{k}.step" for k in range(len(sizes))]
    meshes = [part(path, *size, around=24, solid=solid) for path, size in zip(paths, sizes, strict=True)]
    length, hole = sizes.T
    target = 0.01 * length**2 * (1 + 0.05 * hole) + hole * np.sin(length / 6)
    target += 0.02 * target.std() * rng.standard_normal(len(target))  # two simulations of a part differ by as much
    model = RobustGPRegressor(random_state=0, n_jobs=1).fit(pd.DataFrame({"mesh": meshes[:30]}), target[:30])
    mean, std = model.predict(pd.DataFrame({"mesh": meshes[30:]}), return_std=True)
    assert (std < 0.05 * np.std(target)).all()
    whole = model.predict(pd.DataFrame({"mesh": [str(path) for path in paths[30:]]}))
    assert np.abs(whole - mean).max() < 0.1 * std.min()
    with pytest.warns(CaseWarning, match="coarser"):
        coarse, wider = model.predict(
            pd.DataFrame({"mesh": [read_mesh(path, size=4.0) for path in paths[30:]]}), return_std=True
        )
    assert (np.abs(coarse - mean) < 0.1 * std).all() and (wider > std).all()


@needs_gmsh
@pytest.mark.slow
def test_round_surfaces_are_round(tmp_path):
    """The wall of a hole has 24 edges around, at the default size and at that of coarse meshes."""
    for hole in (2.0, 4.0):
        part(tmp_path / "a.step", 40.0, hole)
        exact = 2 * (40 * 20 + 25 * 20) + 2 * (40 * 5 + 25 * 5) + 2 * 20 * 5 + 2 * np.pi * hole * (5 - hole)
        for size in (None, 4.0):
            mesh = read_mesh(tmp_path / "a.step", size=size)
            wall = np.abs(np.hypot(mesh.points[:, 0] - 24, mesh.points[:, 1] - 10) - hole) < 1e-6
            rim = mesh.points[wall & (mesh.points[:, 2] < 1e-6)]
            assert len(rim) >= 23, size
            assert area(mesh) == pytest.approx(exact, rel=5e-4), (hole, size)
