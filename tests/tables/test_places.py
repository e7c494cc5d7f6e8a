"""Errors about a table name its line, its column and what to do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl.errors import InputError
from swwl.tables.places import (
    at_times,
    case_names,
    mesh_paths,
    parse_vector,
    places,
    require_column,
    require_numbers,
    require_rows,
    require_texts,
    rows_named,
    where,
)

TABLE = Path("t.csv")


def test_places_of_every_kind_of_table(tmp_path):
    frame = pd.DataFrame({"x": range(3)})
    assert [where(frame, Path(name), 1) for name in ("t.csv", "t.xlsx", "t.parquet")] == ["line 3", "row 3", "row 1"]
    assert where(frame, tmp_path, 1) == "sample 1"
    frame.attrs["lines"] = [2, 5, 9]
    assert where(frame, TABLE, 2) == "line 9" and places(frame, TABLE, [0, 2]) == "lines 2, 9"
    assert places(frame, TABLE, [1]) == "line 5" and places(frame, TABLE, [0] * 7).endswith("2, …")


def test_numbers_are_checked_cell_by_cell():
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan], "t": [1.0, "lost", 3.0], "d": ["2024-01-31"] * 3})
    assert require_numbers(frame, TABLE, "x", "input", [0, 1])[:2].tolist() == [1.0, 2.0]
    for name, message in [
        ("x", r"input 'x' is missing or not finite in 1 row \(line 4\): fill it"),
        ("t", r"line 3 holds 'lost': fill it"),
        ("d", "it holds dates"),
    ]:
        with pytest.raises(InputError, match=message):
            require_numbers(frame, TABLE, name, "input")
    with pytest.raises(InputError, match=r"has no column 'xx' for input; it has: x, t, d\. Did you mean 'x'"):
        require_column(frame, TABLE, "xx", "input")


def test_vectors_and_categories():
    frame = pd.DataFrame({"v": ["[1, 2]", "[3, 4]"], "i": [1, 2], "c": ["a", None]})
    assert require_rows(frame, TABLE, "v")[1].tolist() == [3.0, 4.0]
    assert require_rows(frame, TABLE, "i").dtype == np.int64
    assert parse_vector("[1, NaN]") is None and parse_vector("[[1]]") is None
    with pytest.raises(InputError, match=r"lists of numbers such as \[0.1, 2\], but line 2 holds 'a'"):
        require_rows(frame, TABLE, "c")
    with pytest.raises(InputError, match=r"input 'c' is missing in 1 row \(line 3\)"):
        require_texts(frame, TABLE, "c")


def test_mesh_files_must_exist(tmp_path):
    (tmp_path / "plate.vtu").touch()
    frame = pd.DataFrame({"mesh": ["plate.vtu", "Plate1.vtu", None]})
    assert mesh_paths(frame, tmp_path / "t.csv", "mesh", [0]).tolist() == [tmp_path / "plate.vtu", None, None]
    with pytest.raises(InputError, match=r"line 3: mesh 'Plate1.vtu' does not exist beside the table\. Did you mean"):
        mesh_paths(frame, tmp_path / "t.csv", "mesh")
    with pytest.raises(InputError, match=r"line 4 does not name a mesh in column 'mesh' \(it holds nothing\)"):
        mesh_paths(frame, tmp_path / "t.csv", "mesh", [2])


def test_times_of_series_are_named(tmp_path):
    frame = pd.DataFrame({"mesh": ["a.pvd", "b.vtu", None], "other": ["a.vtu"] * 3})
    found = at_times(frame, tmp_path / "t.csv", ["mesh"], 0.5)
    assert found["mesh"].tolist()[:2] == ["a.pvd@0.5", "b.vtu"] and frame["mesh"][0] == "a.pvd"
    assert at_times(frame, tmp_path / "t.csv", ["mesh"], None) is frame
    assert at_times(frame, tmp_path / "t.csv", ["other"], 0.5, required=False)["other"][0] == "a.vtu"
    with pytest.raises(InputError, match="no mesh of column 'other' is a series in time"):
        at_times(frame, tmp_path / "t.csv", ["other"], 0.5)


def test_items_become_lines():
    frame = pd.DataFrame({"x": range(5)})
    with pytest.raises(InputError, match="t.csv: line 6: broken"), rows_named(frame, TABLE, [2, 4]):
        raise InputError("broken").of_item(1, "Graph 1")


def test_cases_are_named_by_what_tells_them_apart() -> None:
    folders = [f"study/case{k:03d}/VTK/internal.vtu" for k in range(3)]
    assert case_names(folders) == ["case000", "case001", "case002"]
    assert case_names([*folders, folders[0]])[-1] == "case000"  # a mesh that stands in two rows
    assert case_names(["a/mesh.inp", "b/mesh.inp"]) == ["a", "b"]
    assert case_names([r"a\mesh.inp", r"b\mesh.inp"]) == ["a", "b"]
    assert case_names(["m/1.vtu", "m/2.vtu"]) == ["1.vtu", "2.vtu"]
    assert case_names(["s/internal.vtu"]) == ["internal.vtu"]
    assert case_names(["m.vtu", "a/m.vtu"]) == ["m.vtu", "a/m.vtu"]
    assert case_names(["a/1/m.vtu", "a/2/m.vtu", "b/2/m.vtu"]) == ["a/1", "a/2", "b/2"]
    assert case_names(["../a/x.vtu", "/b/x.vtu"]) == ["a", "b"]
    assert case_names([]) == []
