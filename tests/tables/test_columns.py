"""What a column is good for: one answer for Python's default, for commands and for checks."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import Graph, RobustGPRegressor
from swwl.errors import InputError
from swwl.fields.kernels import mesh_column
from swwl.regression.candidates import default_kernels
from swwl.tables.columns import kind_of, mesh_columns, reason_against, require_meshes, says_split

GRAPH = Graph([[0.0], [1.0]], [[0, 1]])


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["a.vtu", "b.vtu", "lost"], "meshes"),
        (["lost", "b.vtu", "a.vtu"], "meshes"),
        (["lost", "gone", "a.vtu"], "texts"),
        ([Path("a.vtu"), " b.stl "], "meshes"),
        ([GRAPH, GRAPH, None], "meshes"),
        ([GRAPH, 1.0], "other"),
        ([[0.1, 2.0], [1.0, 2.0]], "other"),
        ([np.zeros(2), np.ones(2)], "other"),
        ([True, False], "numbers"),
        ([1.0, None], "numbers"),
        ([np.nan, np.nan], "empty"),
    ],
)
def test_kinds(cells, kind):
    assert kind_of(pd.Series(cells, dtype=object)) == kind


def test_the_order_of_rows_does_not_matter():
    """The first cell used to decide in Python, more than half of them in commands."""
    for cells in (["none", "a.vtu", "b.vtu"], ["a.vtu", "b.vtu", "none"]):
        table = pd.DataFrame({"mesh": cells, "load": [1.0, 2.0, 3.0]})
        assert mesh_columns(table) == ["mesh"] and mesh_column(table) == "mesh"
        odd = cells.index("none")
        with pytest.raises(InputError, match=f"Column 'mesh' holds meshes, but row {odd} holds 'none'"):
            default_kernels(table)


@pytest.mark.parametrize("odd", [None, np.nan, pd.NA, 3.0, "none"])
def test_an_odd_cell_is_named(odd):
    values = pd.Series([GRAPH, GRAPH, odd], name="mesh", dtype=object)
    with pytest.raises(InputError, match="Column 'mesh' holds meshes, but row 2 holds"):
        require_meshes(values)
    with pytest.raises(InputError, match="row 2"):
        RobustGPRegressor().fit(pd.DataFrame({"mesh": values}), [1.0, 2.0, 3.0])


def test_numbers_among_meshes_are_shown_as_numbers():
    with pytest.raises(InputError, match="row 1 holds 72.5; correct it"):
        require_meshes(pd.Series([GRAPH, np.float64(72.5)], name="mesh", dtype=object))


def test_texts_vectors_and_dates_have_no_kernel_by_default():
    for cells, message in [(["a", "b"], "neither numbers nor meshes"), ([[1.0], [2.0]], "neither"),
                           (["2024-01-31", "2024-02-01"], "holds dates")]:  # fmt: skip
        with pytest.raises(InputError, match=message):
            default_kernels(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))


def test_texts_are_made_categories_and_no_mesh_is_spoken_of_where_there_is_none():
    table = pd.DataFrame({"mat": ["steel", "copper"] * 3, "load": np.arange(6.0)})
    with pytest.raises(InputError) as error:
        default_kernels(table)
    assert "t['mat'] = t['mat'].astype('category') makes categories" in str(error.value)
    assert str(error.value).endswith("kernel=Matern52('load') * Categories('mat').")
    default_kernels(table.astype({"mat": "category"}))


def test_reasons_against_a_column():
    rows = np.arange(6)
    reasons = {
        "is empty": [None] * 6,
        "is constant": [2.0] * 6,
        "does not hold numbers": [[1.0]] * 6,
        "says train or test": ["train"] * 3 + ["test"] * 3,
        "names the rows": list("abcdef"),
        "numbers the rows": [3, 1, 2, 6, 5, 4],
        "3 different texts are too many": ["a", "b", "c", "a", "b", "c"],
        "an output of the simulation": None,
    }
    for reason, cells in reasons.items():
        values = pd.Series(cells or [1.0, 2, 4, 8, 16, 32], name="x", dtype=object if cells else float)
        assert reason in (reason_against(values, rows, is_output=cells is None) or "")
    assert reason_against(pd.Series([1.0, 2, 4, 8, 16, 32]), rows) is None
    assert reason_against(pd.Series(["a", "b"] * 3), rows) is None
    assert says_split(pd.Series(["Train", "held_out", None])) and not says_split(pd.Series(["train", "other"]))
