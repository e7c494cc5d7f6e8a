"""Which time is read: of a path, of an argument, of formats that have one alone."""

from pathlib import Path

import h5py
import meshio
import numpy as np
import pytest

from swwl import InputError, Mesh, read_mesh
from swwl.mesh.io import read_series
from swwl.mesh.io.formats import is_mesh, timed, times_of
from swwl.mesh.io.series import as_time, at_time, said_times, split_time, step_of
from swwl.storage.memory import Memory
from tests.mesh.io.small_files import foam, frd, write_case

TRIANGLE = np.array([[0.0, 0], [1, 0], [0, 1]])


def test_a_format_of_one_time_has_no_others(tmp_path):
    Mesh(TRIANGLE, [[0, 1, 2]]).write(tmp_path / "a.vtu")
    assert read_mesh(tmp_path / "a.vtu", time="last").n_nodes == 3
    assert read_mesh(tmp_path / "a.vtu", time="first").n_nodes == 3
    assert [time for time, _ in read_series(tmp_path / "a.vtu")] == [0.0]
    assert times_of(tmp_path / "a.vtu") == []
    with pytest.raises(InputError, match=r"not a series in time, so that time 0.5 does not apply"):
        read_mesh(tmp_path / "a.vtu", time=0.5)
    assert timed(tmp_path / "a.vtu", 0.5).name == "a.vtu" and timed(tmp_path / "a.frd", 0.5).name == "a.frd@0.5"


def test_times_are_numbers_first_or_last():
    for word in ("soon", "nan", "inf"):
        with pytest.raises(InputError, match="must be a number, first or last"):
            as_time(word)
    with pytest.raises(InputError, match="one time of each case, not all"):
        as_time("all")
    with pytest.raises(InputError, match="read_series returns all of them"):
        step_of([0.0, 1.0], "all")
    with pytest.raises(InputError, match="it has no times"):
        step_of([], 1.0)
    assert step_of([0.1, 0.30000000001], 0.3) == 1
    assert said_times([]) == ""


def test_a_file_whose_name_has_the_sign_is_that_file(tmp_path):
    Mesh(TRIANGLE, [[0, 1, 2]]).write(tmp_path / "a@1.vtu")
    assert split_time(tmp_path / "a@1.vtu")[1] is None
    assert at_time(Path("a.pvd@2"), 3.0).name == "a.pvd@2"
    assert read_mesh(tmp_path / "a@1.vtu").name == "a@1.vtu"
    assert is_mesh(tmp_path / "a@1.vtu") and not is_mesh(tmp_path)


def test_xdmf(tmp_path):
    path = tmp_path / "a.xdmf"
    with meshio.xdmf.TimeSeriesWriter(path, data_format="XML") as writer:
        writer.write_points_cells(np.column_stack([TRIANGLE, [0, 0, 0]]), [("triangle", np.array([[0, 1, 2]]))])
        for time in (0.0, 0.5, 2.0):
            writer.write_data(time, point_data={"T": time * TRIANGLE[:, 0]})
    assert times_of(path) == [0, 0.5, 2]
    assert read_mesh(path).fields["T"].max() == 2 and read_mesh(path, time=0.5).fields["T"].max() == 0.5
    assert [mesh.fields["T"].max() for _, mesh in read_series(path)] == [0, 0.5, 2]


def test_exodus(tmp_path):
    path = tmp_path / "a.e"
    with h5py.File(path, "w") as file:
        file["coordx"], file["coordy"] = TRIANGLE.T
        file["eb_prop1"] = [1]
        file["connect1"] = [[1, 2, 3]]
        file["connect1"].attrs["elem_type"] = "TRI3"
        file["time_whole"] = [0.0, 0.25]
        file["name_nod_var"] = np.array([[b"T", b""]], "S1")
        file["vals_nod_var1"] = [[1.0, 1, 1], [2, 2, 2]]
    assert times_of(path) == [0, 0.25]
    assert read_mesh(path).fields["T"][0] == 2 and read_mesh(path, time=0).fields["T"][0] == 1


def test_embeddings_are_kept_for_the_files_that_count(tmp_path):
    case = write_case(tmp_path / "case", foam())
    memory = Memory(tmp_path / "kept")
    memory.put(case, "moments", "key", 3)
    at_first = case.with_name("case@0")
    assert memory.get(case, "moments", "key") is not None and memory.get(at_first, "moments", "key") is None
    memory.put(at_first, "moments", "key", 4)
    assert memory.get(at_first, "moments", "key")["n_nodes"] == 4
    field = case / "0.5" / "p"
    field.write_bytes(field.read_bytes() + b"\n")
    assert memory.get(case, "moments", "key") is None
    (tmp_path / "a.frd").write_bytes(frd())
    memory.put(tmp_path / "a.frd", "moments", "key", 3)
    assert memory.get(tmp_path / "a.frd", "moments", "key") is not None
    (tmp_path / "a.inp").write_text("*NSET, NSET=A\n7\n")
    assert memory.get(tmp_path / "a.frd", "moments", "key") is None
