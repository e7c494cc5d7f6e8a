"""Whatever users hand over as a table or as targets is the same table, or an error that names the column."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from swwl import Graph
from swwl.errors import InputError, InputTypeError
from swwl.tables.inputs import as_rows, as_table, check_width, column, split_targets

FRAME = pd.DataFrame({"x0": [1.0, 2, 3], "x1": [4.0, 5, 6]})
GRAPHS = [Graph([[0.0], [k]], [(0, 1)]) for k in (1.0, 2.0)]


@pytest.mark.parametrize(
    "given",
    [FRAME, FRAME.to_numpy(), FRAME.to_numpy().tolist(), FRAME.to_dict("list"), FRAME.to_dict("records")],
    ids=["frame", "array", "lists", "columns", "records"],
)
def test_one_table_in_every_form(given):
    pd.testing.assert_frame_equal(as_table(given), FRAME)


def test_lists_of_anything_else_are_one_column():
    for given in (GRAPHS, tuple(GRAPHS), iter(GRAPHS), np.array(GRAPHS, dtype=object), pd.Series(GRAPHS)):
        table = as_table(given)
        assert list(table) == ["graph"] and table["graph"].tolist() == GRAPHS
    assert as_table({"speed": 3.0, "mesh": "a.vtu"}).to_dict("records") == [{"speed": 3.0, "mesh": "a.vtu"}]
    assert list(as_table([1, 2, 3])["x0"]) == [1, 2, 3]


@pytest.mark.parametrize("given", [sparse.eye_array(3), "table.csv", 7])
def test_what_is_no_table(given):
    with pytest.raises(InputTypeError):
        as_table(given)


def test_arrays_of_texts_or_of_another_width():
    with pytest.raises(InputError, match="but holds 'steel'; pass a pandas table"):
        as_table(np.array([[1.0, "steel"]], dtype=object))
    with pytest.raises(InputError, match="X has 2 features, but it is expecting 3"):
        check_width(FRAME.to_numpy(), FRAME, 3, "it")
    check_width(FRAME, FRAME, 3, "it")  # tables have names instead


def test_a_series_may_be_a_row():
    assert as_rows(FRAME.iloc[1], ["x0", "x1"]).to_numpy().tolist() == [[2.0, 5.0]]


def test_columns_are_found_or_the_nearest_is_suggested():
    assert column(FRAME, "x1").tolist() == [4, 5, 6]
    with pytest.raises(InputError, match="Did you mean 'x1'"):
        column(FRAME, "x11")
    with pytest.raises(InputError, match="2 columns named 'x0'"):
        column(FRAME[["x0", "x0"]], "x0")


def test_targets_by_name_or_by_value():
    by_name, names, single = split_targets(FRAME, "x0")
    assert names == ["x0"] and single and by_name.shape == (3, 1)
    both, names, single = split_targets(FRAME, ["x1", "x0"])
    assert names == ["x1", "x0"] and not single
    np.testing.assert_array_equal(both, FRAME[["x1", "x0"]])
    assert split_targets(FRAME, np.ones((3, 2)), to_learn=False)[1] == ["y0", "y1"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "target y is None"),
        ([1.0, 2.0], "but the table has 3 rows"),
        ([1.0, np.nan, 2.0], r"not finite in 1 of 3 rows \(row 1\)"),
        ([2.0, 2.0, 2.0], "is 2 in all 3 rows: there is nothing to learn"),
        ([1e200, 1.0, 2.0], "divide it by a power of ten"),
        ([1.0, 2.0, 3.0j], "complex"),
        (["a", "b", 1], "must be numbers"),
    ],
)
def test_targets_that_cannot_be_learned(y, message):
    with pytest.raises(InputError, match=message):
        split_targets(FRAME, y)


@pytest.mark.parametrize(
    ("index", "message"),
    [([2, 0, 1], "the same labels in another order .row 0 is 0 in X, 2 in y.: give y.loc.X.index."), ([0, 1, 2], "")],
)
def test_targets_of_other_rows_are_refused(index, message):
    table, y = pd.DataFrame({"x": [1.0, 2.0, 3.0]}), pd.Series([4.0, 5.0, 6.0], index)
    if not message:
        split_targets(table, y)
        return
    with pytest.raises(InputError, match=message):
        split_targets(table, y)


def test_labels_that_only_count_rows_say_nothing():
    table, y = pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"]), pd.Series([4.0, 5.0])
    assert split_targets(table, y)[0].ravel().tolist() == [4.0, 5.0]
    with pytest.raises(InputError, match="X and y have different labels .row 1 is b in X, c in y."):
        split_targets(table, y.set_axis(["a", "c"]))


def test_lists_of_meshes_need_no_name_where_there_is_one_column():
    assert as_rows(["a.vtu"], ["mesh"])["mesh"].tolist() == ["a.vtu"]
    assert list(as_rows(pd.Series(["a.vtu"], name="other"), ["mesh"]).columns) == ["other"]
    with pytest.raises(InputError, match="A list of meshes was given, but the model uses mesh, load: pass a table"):
        as_rows(["a.vtu"], ["mesh", "load"])


def test_masked_numbers_are_refused():
    masked = np.ma.masked_greater([[1.0], [9.0]], 5.0)
    with pytest.raises(InputError, match="An array of inputs must be plain numbers, but 1 of 2 entries is masked"):
        as_table(masked)
    with pytest.raises(InputError, match="Targets must be plain numbers, but 1 of 2 entries is masked"):
        split_targets(pd.DataFrame({"x": [1.0, 2.0]}), masked[:, 0])
    assert as_table(np.ma.masked_greater([[1.0], [2.0]], 5.0))["x0"].tolist() == [1.0, 2.0]  # nothing is hidden


def test_lazy_tables_are_collected():
    class Lazy:
        def collect_schema(self):
            raise AssertionError("nobody asks for it")

        def collect(self):
            return pd.DataFrame({"x": [1.0, 2.0]})

    assert as_table(Lazy())["x"].tolist() == [1.0, 2.0]


def test_lazy_tables_of_polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    lazy = polars.DataFrame({"x": [1.0, 2.0], "mesh": ["a.vtu", "b.vtu"]}).lazy()
    assert as_table(lazy).to_dict("list") == {"x": [1.0, 2.0], "mesh": ["a.vtu", "b.vtu"]}


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.date_range("2026-01-01", periods=6), "are dates or times"),
        (pd.DataFrame(np.eye(6)[:, :2], columns=["a", "a"]), "'a' comes 2 times"),
        (["x", "x"], "'x' comes 2 times"),
        (np.arange(6.0) * 1e-310, "whose squares vanish; multiply it"),
        (np.arange(6.0) * 1e300, "whose squares overflow; divide it"),
    ],
)
def test_targets_that_are_no_plain_numbers(y, message):
    with pytest.raises(InputError, match=message):
        split_targets(pd.DataFrame({"x": np.arange(6.0)}), y)


def test_tables_with_odd_columns():
    with pytest.raises(InputError, match="Column 'x' is complex"):
        as_table(pd.DataFrame({"x": np.arange(3) * 1j}))
    with pytest.raises(InputError, match="names of several levels"):
        as_table(pd.DataFrame(np.eye(2), columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])))
    with pytest.raises(InputError, match="equally long"):
        as_table([[1.0, 2.0], [3.0]])
    with pytest.raises(InputError, match="must hold numbers, but holds 'steel'"):
        as_table([[1.0, "steel"], [2.0, "steel"]])
