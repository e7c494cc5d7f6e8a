"""Series of meshes: made, checked, written as PVD and read again."""

import numpy as np
import pytest

from swwl import InputError, Mesh, MeshSeries
from swwl.mesh.series import MOTION, checked_times

SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
TRIANGLES = [[0, 1, 2], [0, 2, 3]]


def steps(move=0.0):
    times = [0.0, 0.5, 2.0]
    return [(t, Mesh(np.array(SQUARE) + move * t, TRIANGLES, {"T": t * np.arange(4.0), "v": np.full((4, 2), t)},
                     cell_fields={"q": [t, -t]}, groups={"left": [[3, 0]]})) for t in times]  # fmt: skip


def test_fields_of_all_times():
    series = MeshSeries.of(steps())
    assert series.times.tolist() == [0.0, 0.5, 2.0] and MOTION not in series.fields
    assert series.fields["T"].shape == (3, 4) and series.fields["v"].shape == (3, 4, 2)
    assert series.cell_fields["q"].tolist() == [[0, 0], [0.5, -0.5], [2, -2]]
    assert series.at(1).fields["T"].tolist() == [0, 0.5, 1, 1.5] and set(series.at(1).groups) == {"left"}


def test_a_mesh_that_moves():
    series = MeshSeries.of(steps(move=0.1))
    np.testing.assert_allclose(series.fields[MOTION][2], 0.2)
    np.testing.assert_allclose(series.at(2).points, np.array(SQUARE) + 0.2)


def test_pvd_round_trip(tmp_path):
    series = MeshSeries.of(steps(move=0.1))
    series.write(tmp_path / "s.pvd")
    again = MeshSeries.read(tmp_path / "s.pvd")
    np.testing.assert_array_equal(again.times, series.times)
    for name in ("T", "v", MOTION):
        np.testing.assert_allclose(again.fields[name], series.fields[name], atol=1e-15)
    np.testing.assert_array_equal(again.cell_fields["q"], series.cell_fields["q"])
    assert set(again.mesh.groups) == {"left"}


def test_paraview_reads_what_is_written(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    MeshSeries.of(steps()).write(tmp_path / "s.pvd")
    reader = pyvista.get_reader(tmp_path / "s.pvd")
    assert reader.time_values == [0.0, 0.5, 2.0]
    reader.set_active_time_value(2.0)
    np.testing.assert_array_equal(reader.read()[0]["T"], [0, 2, 4, 6])


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (lambda s: [], "no times"),
        (lambda s: s[::-1], "not sorted: 2 is followed by 0.5"),
        (lambda s: [*s[:2], (2.0, Mesh(SQUARE, [[0, 1, 2]]))], "other nodes or cells at time 2 "),
        (lambda s: [*s[:2], (2.0, Mesh(SQUARE, TRIANGLES, {"v": np.ones((4, 2))}))], "'T' is missing at time 2"),
        (lambda s: [(t, m.with_fields({"T": np.ones((4, int(t) + 1))})) for t, m in s], "has shapes"),
    ],
)
def test_mistakes(bad, said):
    with pytest.raises(InputError, match=said):
        MeshSeries.of(bad(steps()))


def test_shapes_are_checked(tmp_path):
    mesh = Mesh(SQUARE, TRIANGLES)
    with pytest.raises(InputError, match=r"shape \(4, 2\), but \(2, 4\) or"):
        MeshSeries(mesh, [0, 1], {"T": np.ones((4, 2))})
    with pytest.raises(InputError, match="finite numbers"):
        checked_times([0.0, np.nan])
    with pytest.raises(InputError, match="end in .pvd"):
        MeshSeries(mesh, [0, 1], {"T": np.ones((2, 4))}).write(tmp_path / "s.vtu")
    with pytest.raises(InputError, match="nothing.pvd"):
        MeshSeries.read(tmp_path / "nothing.pvd")
