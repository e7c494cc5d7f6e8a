"""What the tests of several experiments need."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from swwl.cli.app import app
from swwl_paper import published

PROJECT = Path(__file__).parents[1]
REFERENCE = PROJECT.parent / "tests" / "gp" / "data" / "rgasp_reference.json"


@pytest.fixture(scope="session")
def rgasp_reference():
    """R's answers, which the library's own tests keep, or skip."""
    if not REFERENCE.is_file():
        pytest.skip(f"{REFERENCE.name} stands in a clone of swwl alone")
    return REFERENCE


@pytest.fixture
def swwl(tmp_path_factory, monkeypatch):
    """The command, with what this project adds to it, installed or not."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = tmp_path_factory.mktemp("site")
    metadata = site / f"swwl_paper-{project['version']}.dist-info"
    metadata.mkdir()
    lines = [f"{name} = {value}" for name, value in project["entry-points"]["swwl.commands"].items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[swwl.commands]", *lines, ""]))
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    monkeypatch.syspath_prepend(site)

    def run(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="swwl")

    return run


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """A folder with published sets of the same form, 20 cases each, made up."""
    folder = tmp_path / "data"
    rng = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    heights = rng.uniform(0.5, 1.5, 20)
    contours = np.stack([np.cos(angles) + np.zeros((20, 1)), heights[:, None] * np.sin(angles)], axis=-1)
    speeds = rng.uniform(30, 90, 20).round(3)
    incidences = rng.uniform(-3, 7, 20).round(2)
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    nodes, small = np.repeat(heights, 3)[:, None], np.zeros(20, np.int8)
    path = {"n_nodes": np.full(20, 3), "n_edges": np.full(20, 2), "split": small}
    pairs = np.tile([[0, 1], [1, 2]], (20, 1))
    arrays = {
        "airfrans": {"points": contours.reshape(-1, 2).astype(np.float32), "n_nodes": np.full(20, 20)}
        | {"u_inf": speeds.astype(str), "aoa_deg": incidences.astype(str), "cl_pressure_derived": heights * speeds},
        "naca0012": {"contours": contours.astype(np.float32), "drag": heights**2, "lift": np.sin(heights)},
        "polycrystals": {"node_attributes": rng.normal(size=(60, 5)) + nodes, "n_nodes": np.full(20, 3)}
        | {"edges": np.tile([[0, 1], [1, 0], [1, 2], [2, 1]], (20, 1)), "edge_weight": np.full(80, 2.0)}
        | {"n_edges": np.full(20, 4), "stiffness": heights, "strength": heights**2},
        "cars": {"points": heights[:, None, None] * corners, "triangles": np.tile(faces, (20, 1, 1))}
        | {"pressure_force_derived": np.outer(heights, [0.0, 0, 1])},
        "trusses": {"points": rng.normal(size=(60, 2)) + nodes, "edges": pairs, "max_abs_dy_derived": heights}
        | {"pinned_node": small, "roller_node": small + 2, **path},
        "crystals": {"points": rng.normal(size=(60, 3)) + nodes, "edges_derived": pairs, "bandgap": heights, **path}
        | {"atomic_number": np.tile([8, 13, 31], 20), "formation_energy": heights / 10},
    }
    for name, values in arrays.items():
        file = folder / published.FILES[name]
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, **values)
    monkeypatch.setenv("SWWL_DATA", str(folder))
    return folder
