"""Cases that OpenFOAM itself has computed, against VTK's reader of them, to the last node."""

import shutil

import numpy as np
import pytest

from swwl import read_mesh
from swwl.mesh.cells import cell_measures
from swwl.mesh.io.foam.case import read_case, times_of
from swwl.mesh.io.vtk.blocks import read_blocks
from swwl.mesh.io.vtk.cells import NUMBERS
from tests.solvers import openfoam

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(openfoam.lack()), reason=openfoam.lack() or "all is there"),
]

CASES = {
    "text": {"n_bodies": 1},
    "binary": {"n_bodies": 2, "form": "binary"},
    "packed": {"n_bodies": 3, "packed": "on", "quads": True},
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """The flow around one to three bodies: text, binary, and gzipped text; wedges and hexahedra."""
    folder = tmp_path_factory.mktemp("flows")
    return {name: openfoam.channel(folder / name, **options) for name, options in CASES.items()}


def faces_of(points, blocks):
    """Return faces as sets of places, whatever their first node and direction."""
    rows = [points[face] for block in blocks for face in block]
    return np.array(sorted(tuple(np.round(row.mean(axis=0), 5)) for row in rows))


@pytest.mark.parametrize("name", CASES)
def test_as_vtk_reads_it(cases, name):
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed")
    (cases[name] / "case.foam").touch()
    reader = pyvista.POpenFOAMReader(str(cases[name] / "case.foam"))
    reader.cell_to_point_creation = False
    reader.set_active_time_value(max(reader.time_values))
    expected = reader.read()
    grid = expected["internalMesh"]
    parts = read_case(cases[name])
    assert times_of(cases[name]) == list(reader.time_values) == [0, 2, 4]
    np.testing.assert_array_equal(parts.points.astype(np.float32), grid.points.astype(np.float32))
    start = 0
    for kind, block in parts.cells.items():
        chosen = np.flatnonzero(grid.celltypes == NUMBERS[kind])
        np.testing.assert_array_equal(np.sort(block), np.sort(grid.cells_dict[NUMBERS[kind]]))
        for field, values in parts.cell_fields.items():
            found = values[start : start + len(block)]
            np.testing.assert_allclose(found, grid.cell_data[field][chosen], rtol=1e-5, atol=1e-6)
        start += len(block)
    assert start == grid.n_cells and {*parts.cell_fields} == {"U", "p"}
    assert {*parts.groups} == {*expected["boundary"].keys(), "fluid"}
    for patch in expected["boundary"].keys():  # noqa: SIM118
        surface = expected["boundary"][patch]
        own = faces_of(parts.points, parts.groups[patch].values())
        rows = [surface.get_cell(k).point_ids for k in range(surface.n_cells)]
        np.testing.assert_allclose(own, faces_of(np.asarray(surface.points, float), [rows]), atol=3e-5)


def test_volumes_fill_the_channel(cases):
    mesh = read_mesh(cases["text"])
    volume = sum(cell_measures(mesh.points, kind, block).sum() for kind, block in mesh.cells.items())
    assert volume == pytest.approx(0.1 * (3 - np.pi * 0.15**2), rel=5e-3)


def test_processors_are_joined_to_what_was_decomposed(cases, tmp_path):
    whole = read_case(cases["text"])
    apart = shutil.copytree(cases["text"], tmp_path / "apart")
    openfoam.run(apart, "decomposePar", "-time", "0:")
    for time in ("0", "2", "4"):
        shutil.rmtree(apart / time)
    for name in ("constant/polyMesh", None):  # with the whole mesh beside them, and without
        joined = read_case(apart)
        np.testing.assert_array_equal(joined.points, whole.points)
        for kind, block in whole.cells.items():
            np.testing.assert_array_equal(np.sort(joined.cells[kind]), np.sort(block))
        for field, values in whole.cell_fields.items():
            np.testing.assert_array_equal(joined.cell_fields[field], values)
        assert {*joined.groups} == {*whole.groups}
        for group, blocks in whole.groups.items():
            for kind, faces in blocks.items():
                same = [np.sort(np.sort(one, axis=-1), axis=0) for one in (joined.groups[group][kind], faces)]
                np.testing.assert_array_equal(*same)
        if name:
            shutil.rmtree(apart / name)
    for file in apart.glob("processor*/constant/polyMesh/*Addressing"):
        file.unlink()
    joined = read_case(apart)
    assert len(joined.points) == len(whole.points)
    np.testing.assert_array_equal(*(np.unique(one.points, axis=0) for one in (joined, whole)))
    sums = [np.sort(one.cell_fields["p"]) for one in (joined, whole)]
    np.testing.assert_array_equal(*sums)


def test_what_foam_to_vtk_writes(cases):
    openfoam.run(cases["text"], "foamToVTK")
    whole = read_case(cases["text"])
    parts = read_blocks(cases["text"] / "VTK" / "text_4.vtm")
    np.testing.assert_allclose(parts.points, whole.points, atol=1e-6)
    np.testing.assert_allclose(parts.cell_fields["U"], whole.cell_fields["U"], rtol=1e-5, atol=1e-6)
    for patch in ("inlet", "outlet", "walls", "body"):
        own = [faces_of(whole.points, one.groups[patch].values()) for one in (parts, whole)]
        np.testing.assert_allclose(*own, atol=3e-5)
    series = cases["text"] / "VTK" / "text.vtm.series"
    assert read_mesh(series, time=2).n_nodes == len(whole.points)


def test_polyhedra_fill_a_box(tmp_path):
    """A mesh of polyhedra alone, the dual of tetrahedra: cut, they fill the box and leave no gap inside."""
    case = openfoam.box_of_polyhedra(tmp_path)
    parts = read_case(case)
    volume = sum(cell_measures(parts.points, k, b.astype(np.int32)).sum() for k, b in parts.cells.items())
    assert volume == pytest.approx(1, abs=2e-3)  # faces of more than three corners are not quite plane
    sides = {"tetra": [(0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)]}
    sides["pyramid"] = [(0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]
    seen = {}
    for kind, block in parts.cells.items():
        for side in sides[kind]:
            for row in np.sort(block[:, side]).tolist():
                seen[tuple(row)] = seen.get(tuple(row), 0) + 1
    outside = {face for face, count in seen.items() if count == 1}
    skin = {tuple(sorted(row)) for rows in parts.groups["skin"].values() for row in rows.tolist()}
    assert outside == skin and max(seen.values()) == 2
    openfoam.run(case, "foamToVTK")
    written = read_blocks(next(case.glob("VTK/*.vtm")))
    assert {kind: len(block) for kind, block in written.cells.items()} == {k: len(b) for k, b in parts.cells.items()}
