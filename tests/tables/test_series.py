"""Curves that users hand over."""

import numpy as np
import pandas as pd
import pytest

from swwl.errors import InputError
from swwl.tables import read_table
from swwl.tables.columns import series_columns
from swwl.tables.series import curve_columns, given_curves, listed_curves, read_curve, table_curves, wide_columns


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_wide_columns_are_sorted_by_their_numbers():
    names = ["b", "cp_10", "cp_9", "cp_1e1x", "cp_", "CP_3", "acp_1"]
    assert wide_columns(names, "cp") == {"cp_9": 9.0, "cp_10": 10.0}
    assert list(wide_columns(["cp_1e-3", "cp_-2.", "cp_+0.5"], "cp").values()) == [-2.0, 1e-3, 0.5]
    assert wide_columns(["a.b_1", "axb_2"], "a.b") == {"a.b_1": 1.0}


def test_all_forms_say_the_same(tmp_path):
    t, values = np.array([0.0, 0.5, 2.0]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
    frame = pd.DataFrame({f"cp_{at}": own for at, own in zip(t, values.T, strict=True)})
    frame["arrays"], frame["pairs"] = list(values), [np.column_stack([t, own]) for own in values]
    frame["files"] = [
        str(write(tmp_path, f"{k}.csv", "t;cp\n" + "".join(f"{a:g};{b:g}\n" for a, b in pair)))
        for k, pair in enumerate(frame["pairs"])
    ]
    found = [table_curves(frame, name) for name in ("cp", "pairs", "files")] + [table_curves(frame, "arrays", t)]
    for one in found:
        np.testing.assert_array_equal(one.common, t)
        np.testing.assert_array_equal(one.values, values)
    assert [one.form for one in found] == ["wide", "arrays", "files", "arrays"]
    assert found[2].columns == ("t", "cp")
    assert table_curves(frame, "arrays").common.tolist() == [0, 1, 2]
    assert curve_columns(frame, "cp") == ["cp_0.0", "cp_0.5", "cp_2.0"]
    curves, inputs = given_curves(frame, "cp")
    assert "cp_0.5" not in inputs and "pairs" in inputs and len(curves) == 2


@pytest.mark.parametrize(
    "text", ["0,1\n1,2\n2,3\n", "time,p\n0,1\n1,2\n2,3\n", "x;y\n0;1,0\n1;2,0\n2;3,0\n", "0\t1\n1\t2\n2\t3\n"]
)
def test_files_need_no_header_and_may_have_commas(tmp_path, text):
    curve, head = read_curve(write(tmp_path, "a.csv", text))
    assert curve.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert len(head) in (0, 2)


def test_a_file_of_values_alone(tmp_path):
    curve, head = read_curve(write(tmp_path, "a.csv", "p\n1\n2\n4\n"))
    assert curve.tolist() == [[1], [2], [4]] and head == ("p",)


def test_paths_are_relative_to_their_table(tmp_path):
    write(tmp_path, "a.csv", "0,1\n1,2\n2,3\n")
    write(tmp_path, "b.csv", "0,1\n1,2\n2,4\n")
    table = read_table(write(tmp_path, "table.csv", "signal,load\na.csv,1\nb.csv,2\n"))
    assert series_columns(table) == ["signal"]
    assert table_curves(table, "signal").values[1].tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([np.arange(4.0), np.arange(5.0)], "Row 1: Curve 'c': has 5 values, but the first curve has 4: .* abscissas"),
        ([np.column_stack([[0, 2, 1], [1, 2, 3]])], "Row 0: .*abscissas do not increase: 1 comes after 2; sort"),
        ([np.column_stack([[0, 1, 1], [1, 2, 3]])], "do not increase"),
        ([np.array([1.0, np.nan, 2.0])], "the value of point 1 is missing or not finite"),
        ([np.column_stack([[0, np.inf, 1], [1, 2, 3]])], "the abscissa of point 1 is missing or not finite"),
        ([np.array([1.0, 2.0])], "has 2 points, but at least 3 are needed"),
        ([np.zeros((3, 4))], r"has shape \(3, 4\), but \(m,\) or \(m, 2\) is expected"),
        ([object()], "holds object, but an array"),
        ([5.0], r"has shape \(\)"),
        ([np.full(3, 1e200)], "whose squares overflow"),
        (["nowhere.csv"], "nowhere.csv: no such file"),
        ([" "], "the path of a CSV file is expected"),
        ([], "no rows"),
    ],
)
def test_mistakes_are_named(given, said):
    with pytest.raises(InputError, match=said):
        listed_curves(given, "c")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,1\n1,x\n2,3\n", "line 2 holds 'x', but a number is expected"),
        ("0,1,2\n1,2,3\n2,3,4\n", "has 3 columns"),
        ("", "empty"),
        ("0,1\n1,nan\n2,3\n", "point 1 is missing"),
        ("0,1\n1,2\n", "has 2 points"),
        ("\0\0", "binary"),
    ],
)
def test_bad_files_are_named(tmp_path, text, said):
    path = write(tmp_path, "a.csv", text)
    with pytest.raises(InputError, match=said):
        listed_curves([str(path)], "c")


def test_grids_and_names_that_do_not_fit():
    frame = pd.DataFrame({"cp_1": [1.0], "cp_01": [2.0], "cp_2": [3.0], "q_0": ["a"], "q_1": ["b"], "q_2": ["c"]})
    with pytest.raises(InputError, match="'cp_1' and 'cp_01' are the same place"):
        table_curves(frame, "cp")
    with pytest.raises(InputError, match="must hold numbers"):
        table_curves(frame, "q")
    with pytest.raises(InputError, match="needs column 'cq', but the table has"):
        table_curves(frame, "cq")
    values = [np.arange(3.0)]
    with pytest.raises(InputError, match="has 3 values, but the grid has 4 places"):
        listed_curves(values, "c", np.arange(4.0))
    with pytest.raises(InputError, match="The grid of curve 'c': abscissas do not increase"):
        listed_curves(values, "c", [0, 2, 1])
    with pytest.raises(InputError, match="must hold numbers"):
        listed_curves(values, "c", ["a", "b", "c"])
    with pytest.raises(InputError, match=r"has shape \(3, 1\)"):
        listed_curves(values, "c", np.zeros((3, 1)))
    with pytest.raises(InputError, match="There are 1 curves, but the table has 2 rows"):
        given_curves(pd.DataFrame({"x": [1, 2]}), values)
