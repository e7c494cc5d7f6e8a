"""CAD files as surface meshes."""

import importlib.util
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import InputError, Mesh, RobustGPRegressor, read_mesh
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


def part(path, length=40.0, hole=4.0, size=2.5):
    """Write an angle with a hole as a CAD file, and return gmsh's own mesh of its surface."""
    with gmsh_model() as gmsh:
        gmsh.option.setNumber("General.Verbosity", 0)
        kernel = gmsh.model.occ
        foot, wall = kernel.addBox(0, 0, 0, length, 20, 5), kernel.addBox(0, 0, 0, 5, 20, 30)
        angle, _ = kernel.fuse([(3, foot)], [(3, wall)])
        kernel.cut(angle, [(3, kernel.addCylinder(0.6 * length, 10, -1, 0, 0, 10, hole))])
        kernel.synchronize()
        gmsh.write(str(path))
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        gmsh.model.mesh.generate(2)
        numbers, points, _ = gmsh.model.mesh.getNodes()
        _, triangles = gmsh.model.mesh.getElementsByType(2)
        order = np.argsort(numbers)
        cells = order[np.searchsorted(numbers[order], triangles)].reshape(-1, 3)
        used, inverse = np.unique(cells, return_inverse=True)
        return Mesh(points.reshape(-1, 3)[used], inverse.reshape(-1, 3))


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
def test_a_cad_file_is_predicted_like_its_mesh(tmp_path):
    """Trained on gmsh's meshes, the model says the same of a STEP file as of the mesh of the same part."""
    rng = np.random.default_rng(0)
    sizes = np.column_stack([rng.uniform(30, 60, 24), rng.uniform(2, 6, 24)])
    meshes = [part(tmp_path / f"{k}.brep", *size) for k, size in enumerate(sizes)]
    target = [area(mesh) * (1 + 0.05 * hole) for mesh, (_, hole) in zip(meshes, sizes, strict=True)]
    model = RobustGPRegressor(random_state=0, n_jobs=1).fit(pd.DataFrame({"mesh": meshes[:20]}), target[:20])
    own = model.predict(pd.DataFrame({"mesh": meshes[20:]}))
    for k, size in enumerate(sizes[20:], 20):
        part(tmp_path / f"{k}.step", *size)
    paths = [str(Path(tmp_path, f"{k}.step")) for k in range(20, 24)]
    from_cad = model.predict(pd.DataFrame({"mesh": paths}))
    assert np.abs(from_cad - own).max() < 0.1 * np.std(target)
