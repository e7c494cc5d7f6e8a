"""Files that name others: blocks, series in time."""

import json

import numpy as np
import pytest

from swwl import InputError, Mesh, read_mesh
from swwl.mesh.io import read_series
from swwl.mesh.io.vtk.blocks import file_series, pvd_times, read_blocks
from tests.mesh.io.small_files import HEXAHEDRA, POINTS, WEDGES, polyhedra

FACES = [[0, 3, 9, 6], [2, 5, 11, 8]]


def bar(scale=1.0):
    cells = {"hexahedron": HEXAHEDRA, "wedge": WEDGES}
    return Mesh(POINTS, cells, {"T": scale * POINTS[:, 0]}, cell_fields={"p": scale * np.arange(3.0)})


def patch(nodes):
    return Mesh(POINTS[nodes] + 1e-9, {"quad": [[0, 1, 2, 3]]})


def vtm(*lines):
    body = "\n".join(lines)
    return f'<VTKFile type="vtkMultiBlockDataSet"><vtkMultiBlockDataSet>{body}</vtkMultiBlockDataSet></VTKFile>'


@pytest.fixture
def folder(tmp_path):
    for step in (0, 1):
        bar(1.0 + step).write(tmp_path / f"inside{step}.vtu")
    for name, nodes in zip(("left", "right"), FACES, strict=True):
        patch(nodes).write(tmp_path / f"{name}.vtu")
        side = [f"<DataSet name='{name}' file='{name}.vtu'/>" for name in ("left", "right")]
    for step in (0, 1):
        inner = f"<DataSet name='internal' file='inside{step}.vtu'/>"
        (tmp_path / f"bar{step}.vtm").write_text(vtm(inner, "<Block name='boundary'>", *side, "</Block>"))
    (tmp_path / "boundary.vtm").write_text(vtm("<Block name='boundary'>", *side, "</Block>"))
    return tmp_path


def test_blocks_around_the_inside_are_groups(folder):
    parts = read_blocks(folder / "bar1.vtm")
    np.testing.assert_array_equal(parts.points, POINTS)
    assert parts.groups["left"]["quad"].tolist() == FACES[:1] and parts.groups["right"]["quad"].tolist() == FACES[1:]
    mesh = read_mesh(folder / "bar1.vtm")
    assert mesh.fields["T"].tolist() == (2 * POINTS[:, 0]).tolist() and mesh.cell_fields["p"].tolist() == [0, 2, 4]


def test_blocks_of_one_dimension_are_groups_of_cells(folder):
    parts = read_blocks(folder / "boundary.vtm")
    assert len(parts.points) == 8 and parts.groups["right"] == {"quad": [1]}


def test_series_of_files(folder):
    entries = [{"name": f"bar{step}.vtm", "time": 0.5 * step} for step in (1, 0)]
    path = folder / "bar.vtm.series"
    path.write_text(json.dumps({"file-series-version": "1.0", "files": entries}))
    assert [time for time, _ in file_series(path)] == [0, 0.5]
    assert read_mesh(path).fields["T"].max() == 4 and read_mesh(path, time=0).fields["T"].max() == 2
    path = folder / "bar.vtu.series"
    path.write_text(json.dumps({"files": [{"name": "inside1.vtu", "time": 3}]}))
    assert read_mesh(path, time=3).fields["T"].max() == 4
    for text, reason in (("{", "not a series of files"), ('{"files": []}', "names no files"), ("", "empty")):
        path.write_text(text)
        with pytest.raises(InputError, match=reason):
            read_mesh(path)


def test_collections_in_time(folder):
    rows = [f'<DataSet timestep="{step}" part="0" file="inside{step}.vtu"/>' for step in (0, 1)]
    rows.append('<DataSet timestep="1" part="1" file="left.vtu"/>')
    path = folder / "bar.pvd"
    path.write_text(f'<VTKFile type="Collection"><Collection>{"".join(rows)}</Collection></VTKFile>')
    assert pvd_times(path) == [0, 1]
    assert read_mesh(path, time=0).n_nodes == 14 and read_mesh(path).n_nodes == 18
    assert [mesh.n_nodes for _, mesh in read_series(path)] == [14, 18]
    path.write_text(path.read_text().replace("left", "lost"))
    with pytest.raises(InputError, match=r"its file lost.vtu: no such file"):
        read_mesh(path)
    path.write_text('<VTKFile type="Collection"><Collection/></VTKFile>')
    with pytest.raises(InputError, match="names no data sets"):
        read_mesh(path)


def test_what_is_wrong_with_blocks_is_named(folder):
    path = folder / "a.vtm"
    for text, reason in (
        (vtm(), "none of its blocks has cells"),
        (vtm("<DataSet name='a' file='a.xyz'/>"), "files of type '.xyz' are not supported"),
        (vtm(*["<DataSet name='a' file='left.vtu'/>"] * 2), "names the file 'left.vtu' twice"),
        (vtm("<Block>" * 20, "</Block>" * 20), "nested too deeply"),
        ("<VTKFile type='x'/>", "not a VTK file of type vtkMultiBlockDataSet"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=reason):
            read_mesh(path)


def test_polyhedra_are_cut(tmp_path):
    path = tmp_path / "a.vtu"
    path.write_bytes(polyhedra())
    mesh = read_mesh(path)
    assert {kind: len(block) for kind, block in mesh.cells.items()} == {"tetra": 3, "pyramid": 5}
    assert mesh.points[9].tolist() == [0.5, 0.5, 0.5] and mesh.fields["T"][9] == 3.5
    assert sorted(mesh.cell_fields["p"].tolist()) == [1] * 7 + [2]
    assert mesh.graph(node_weights="area").node_weights.sum() == pytest.approx(1 + 1 / 6)
    for old, new, reason in (
        (b">7 4 0", b">8 4 0", "damaged"),
        (b">7 4 0", b">7 5 0", "damaged|do not enclose"),
        (b">7 4 0", b">7 4 99", "not one of its 9"),
        (b"4 0 2 3 1", b"4 0 2 3 5", "do not enclose"),
    ):
        assert old in polyhedra()
        path.write_bytes(polyhedra().replace(old, new))
        with pytest.raises(InputError, match=reason):
            read_mesh(path)
