"""Files that jobs read, describe and write, and stores of embeddings."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from swwl.embedding.stores.store import Store
from swwl.errors import InputError, MissingFileError
from swwl.jobs.demo import run_demo
from swwl.jobs.describe import describe
from swwl.jobs.embed import embed, find_work
from swwl.jobs.outputs import check_folder, check_output, is_model, is_predicted_mesh, is_report, predictions_of
from swwl.jobs.plan import mesh_kernels
from swwl.jobs.table import known_outputs, memory_beside, read_table, summary
from swwl.tables.read import write_table
from tests.jobs.conftest import quick


def test_lines_and_marks_of_a_table_are_remembered(tmp_path):
    (tmp_path / "t.csv").write_text("x;y\n\n1,5;2\n3,5;4\n")
    frame = read_table(tmp_path / "t.csv")
    assert frame.attrs["lines"] == [3, 4] and frame.attrs["marks"][:2] == (";", ",")
    write_table(tmp_path / "u.csv", frame.assign(z=0.5), like=frame)
    assert (tmp_path / "u.csv").read_text().splitlines()[1] == "1,5;2;0,5"


def test_what_is_beside_a_table(tmp_path):
    assert known_outputs(tmp_path / "table.csv") == []
    (tmp_path / "about.json").write_text(json.dumps({"generator": "blade", "targets": ["lift"]}))
    assert known_outputs(tmp_path / "table.csv") == ["lift"]
    assert memory_beside(tmp_path / "table.csv").folder == tmp_path / ".swwl-cache"
    assert memory_beside(tmp_path / "table.csv", keep=False).folder is None
    assert summary([3, 1, 2]) == {"least": 1.0, "median": 2.0, "largest": 3.0}


def test_everything_can_be_described(made, models):
    mesh = describe(made / "meshes" / "000.vtu")
    assert (mesh["kind"], mesh["nodes"], mesh["cells"]) == ("mesh", 16, {"triangle": 18})
    assert mesh["node_fields"]["move"]["components"] == 2
    table = describe(made / "table.csv")
    assert [column["holds"] for column in table["columns"]] == ["14 meshes", "11 train, 3 test", "numbers", "numbers"]
    folder = describe(made)
    assert folder["kind"] == "folder" and folder["about"] is None and folder["rows"] == 14
    fields, numbers = describe(made / "m.swwl"), describe(made / "m-scalars.swwl")
    assert (fields["kind"], numbers["kind"]) == ("field model", "model")
    assert fields["table"] == numbers["table"] == "table.csv" and numbers["training_rows"] == 11
    assert {row["field"]: row["on"] for row in fields["fields"]} == {"heat": "nodes", "move": "nodes", "flux": "cells"}
    with pytest.raises(MissingFileError):
        describe(made / "lost.vtu")


def test_an_output_is_checked_before_the_work(made, models, tmp_path):
    check_output(tmp_path / "new.csv", endings=(".csv",))
    (tmp_path / "mine.csv").write_text("x\n1\n")
    os.symlink(tmp_path / "mine.csv", tmp_path / "link.csv")
    for path, options, message in [
        (tmp_path / "a.txt", {"endings": (".csv",)}, "must end in .csv"),
        (tmp_path, {}, "is a folder"),
        (tmp_path / "lost" / "a.csv", {}, "does not exist"),
        (tmp_path / "mine.csv", {}, "this command did not write it"),
        (tmp_path / "link.csv", {"inputs": [tmp_path / "mine.csv"], "force": True}, "never overwritten"),
    ]:
        with pytest.raises(InputError, match=message):
            check_output(path, **options)
    check_output(tmp_path / "mine.csv", force=True)
    check_output(made / "m.swwl", ours=is_model)
    assert (tmp_path / "mine.csv").read_text() == "x\n1\n"


def test_a_folder_is_checked_file_by_file(made, tmp_path):
    check_folder(tmp_path / "new", {"a.vtu": is_predicted_mesh})
    (tmp_path / "A.vtu").write_bytes((made / "meshes" / "000.vtu").read_bytes())
    if (tmp_path / "a.vtu").exists():
        pytest.skip("this file system does not tell capitals apart")
    check_folder(tmp_path, {"b.vtu": is_predicted_mesh})
    with pytest.raises(InputError, match="did not write it"):
        check_folder(tmp_path, {"A.vtu": is_predicted_mesh})
    with pytest.raises(InputError, match="is a file"):
        check_folder(tmp_path / "A.vtu", {})


def test_our_own_files_are_known_by_what_they_hold(tmp_path):
    columns = ["top_mean", "top_std", "top_lower95", "top_upper95"]
    pd.DataFrame(dict.fromkeys(columns, [1.0])).to_csv(tmp_path / "p.csv", index=False, sep=";")
    assert predictions_of(["top"])(tmp_path / "p.csv") and not predictions_of(["side"])(tmp_path / "p.csv")
    assert not is_report(tmp_path / "p.csv")


def test_a_store_is_made_in_parts_and_gone_on_with(made, tmp_path):
    path, frame = made / "table.csv", read_table(made / "table.csv")
    work = find_work(path, frame, ["mesh"], range(14), range(11), [])
    work = work.for_kernels(mesh_kernels(quick(n_jobs=None), work.rows))
    found = embed(work, tmp_path / "store")
    assert (found.meshes, found.made, found.to_do, found.bad) == (14, 14, 0, {})
    assert embed(work, tmp_path / "store").made == 0
    assert set(Store(tmp_path / "store").nodes().values()) == {16, 25, 36}
    first = embed(work, tmp_path / "parts", part=(0, 2))
    assert first.to_do == first.shards - (first.shards + 1) // 2


def test_meshes_that_cannot_be_embedded_are_listed_or_refused(folder, tmp_path):
    (folder / "meshes" / "012.vtu").write_text("broken")
    frame = read_table(folder / "table.csv")
    frame.loc[13, "mesh"] = "meshes/lost.vtu"
    with pytest.raises(InputError, match="line 15"):
        find_work(folder / "table.csv", frame, ["mesh"], range(14), range(11), [])
    work = find_work(folder / "table.csv", frame, ["mesh"], range(14), range(11), [], skip_bad=True)
    work = work.for_kernels(mesh_kernels(quick(n_jobs=None), work.rows))
    found = embed(work, tmp_path / "store", skip_bad=True)
    assert set(found.bad) == {"meshes/012.vtu", "meshes/lost.vtu"}
    assert np.isin("meshes/012.vtu", list(Store(tmp_path / "store").bad))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(InputError, match="not a store of embeddings"):
        embed(work, tmp_path / "mine")


def test_a_demonstration_needs_enough_simulations(tmp_path):
    with pytest.raises(InputError, match="At least 40 simulations"):
        run_demo(tmp_path, n_samples=10)


def test_a_folder_of_cases_is_a_table(tmp_path):
    from swwl import Mesh
    from swwl.jobs.table import case_files, read_table

    triangle = Mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
    triangle.write(tmp_path / "b.vtu")
    (tmp_path / "a").mkdir()
    triangle.write(tmp_path / "a" / "mesh.npz")
    for name in ("notes.txt", ".hidden.vtu"):
        (tmp_path / name).write_text("no mesh")
    (tmp_path / "c").mkdir()
    for name in ("part.frd", "part.inp", "part.dat", "part.sta"):  # what CalculiX leaves behind
        (tmp_path / "c" / name).write_text("    1C\n")
    found = [path.relative_to(tmp_path).as_posix() for path in case_files(tmp_path)]
    assert found == ["a/mesh.npz", "b.vtu", "c/part.frd"]
    assert read_table(tmp_path)["mesh"].tolist() == [str(tmp_path / name) for name in found]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is a folder, but a table"):
        read_table(tmp_path / "empty")
