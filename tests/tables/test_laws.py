"""Laws of targets: what formulas may hold, what they give, and what is said of those that give nothing."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl.errors import InputError
from swwl.tables.laws import bare_name, law_of, laws_of_table, read_law, read_laws, written
from tests.helpers import assert_slope

TABLE = pd.DataFrame({"force [N]": [1.0, 3.0], "young (MPa)": [2.0, 5.0], "wall width": [0.5, 0.25], "a": [1.5, 2.5]})


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("force / young", [0.5, 0.6]),
        ("`force [N]` / `young (MPa)`", [0.5, 0.6]),
        ("force [N] / young (MPa)", [0.5, 0.6]),
        ("force*a**2 / (young * `wall width`)", [2.25, 15.0]),
        ("force ^ 2 / sqrt(a**2)", [1 / 1.5, 9 / 2.5]),
        ("3 * (force + a) - force", [6.5, 13.5]),
        ("-a * -2", [3.0, 5.0]),
        ("a**-1.5", [1.5**-1.5, 2.5**-1.5]),
    ],
)
def test_formulas_give_what_they_say(formula, expected):
    law = law_of("sag", formula, TABLE.columns)
    assert np.allclose(law.values(TABLE), expected, rtol=1e-14)
    for name, slope in law.slopes(TABLE).items():
        for row in range(2):
            case = TABLE.iloc[[row]]
            assert_slope(
                slope[row], lambda h, case=case, name=name: law.values(case.assign(**{name: case[name] + h}))[0]
            )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sag force", "expected TARGET ~ FORMULA"),
        ("lag ~ a", r"'lag' may be 'lag \[m\]' or 'lag \[s\]'"),
        ("bend ~ a", "is about 'bend', but the targets are sag"),
        ("sag ~ pull / a", r"names 'pull', but the numeric inputs are force \[N\], young"),
        ("sag ~ sag / a", "That is a target, not an input"),
        ("sag ~ 3", "names no column"),
        ("sag ~ a +", "is not understood"),
        ("sag ~ wall width * a", "names with spaces in `backticks`"),
        ("sag ~ `a * 2", "a backtick that is not closed"),
        ("sag ~ a ** force", "has the exponent force; expected a number"),
        ("sag ~ exp(a)", r"holds exp\(a\); expected columns"),
        ("sag ~ __import__('os').system('x')", "holds __import__"),
        ("sag ~ a.real", "holds a.real"),
        ("sag ~ [a for a in a]", "holds"),
        ("sag ~ a if a else a", "holds"),
        ("sag ~ " + "(" * 300 + "a" + ")" * 300, "is too long"),
        ("sag ~ a * True", "holds True"),
        ("sag ~ a * 1e999", "holds"),
        ("sag ~ sqrt(a, a)", "holds sqrt"),
        ("sag ~ sqrt", "names 'sqrt'"),
    ],
)
def test_what_is_not_understood_is_refused(text, said):
    with pytest.raises(InputError, match=said):
        read_law(text, ["sag", "lag [m]", "lag [s]"], TABLE.columns)


@given(st.text(alphabet="ab+-*/()`[] .^0123456789e~_sqrt", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        law = law_of("y", text, ["a", "b", "b [m]"])
    except InputError:
        return
    assert set(law.columns.values()) <= {"a", "b", "b [m]"}


def test_rows_without_a_positive_value_are_named():
    for formula, said in [("a - 2", "Row 0: a - 2 is -0.5 with a = 1.5"), ("a / (force - 3)", "Row 0: .* is -0.75"),
                          ("sqrt(a - 2)", "Row 0: .* is nan"), ("a / (a - 1.5)", "Row 0: .* is inf")]:  # fmt: skip
        with pytest.raises(InputError, match=said):
            law_of("sag", formula, TABLE.columns).values(TABLE)


def test_laws_are_texts_lists_or_dicts_one_per_target():
    names, columns = ["sag", "mass [kg]"], ["a", "b"]
    for given_ in (["mass ~ a * b", "sag ~ a"], {"mass": "a * b", "sag": "a"}, {"mass [kg]": "a * b", "sag": "a"}):
        found = read_laws(given_, names, columns)
        assert [law.words for law in found] == ["sag ~ a", "mass [kg] ~ a * b"]
    assert read_laws("sag ~ b", names, columns)[1] is None
    assert read_laws(None, names, columns) == [None, None]
    with pytest.raises(InputError, match="'sag' has two laws, a and b"):
        read_laws(["sag ~ a", "sag ~ b"], names, columns)
    with pytest.raises(InputError, match=r"'b' may be 'b \[m\]' or 'b \[s\]'; write it in full"):
        read_law("sag ~ b", names, ["b [m]", "b [s]"])
    assert read_law("sag ~ b [m]", names, ["b [m]", "b [s]"]).columns == {"b [m]": "b [m]"}


def test_columns_are_missing_or_hold_no_numbers():
    law = law_of("sag", "a", ["a"])
    with pytest.raises(InputError, match="The law a needs column 'a', but the table has: b"):
        law.values(pd.DataFrame({"b": [1.0]}))
    with pytest.raises(InputError, match="needs numbers in column 'a'"):
        law.values(pd.DataFrame({"a": ["x"]}))


def test_ratios_have_to_vary_and_to_fit_into_numbers():
    table = pd.DataFrame({"a": [1.0, 3.0], "b": ["x", "y"]})
    (law,) = laws_of_table("sag ~ a", ["sag"], np.array([[1.0], [2.0]]), table)
    assert law.columns == {"a": "a"}
    assert laws_of_table(None, ["sag"], np.ones((2, 1)), table) == [None]
    with pytest.raises(InputError, match="names 'b', but the numeric inputs are a"):
        laws_of_table("sag ~ a * b", ["sag"], np.ones((2, 1)), table)
    with pytest.raises(InputError, match="sag is 2 times a in all 2 rows: there is nothing to learn"):
        laws_of_table("sag ~ a", ["sag"], np.array([[2.0], [6.0]]), table)
    with pytest.raises(InputError, match="choose other units"):
        laws_of_table("sag ~ a", ["sag"], np.array([[1.0], [2.0]]), 1e-200 * table[["a"]])


def test_names_are_written_so_that_they_are_read_again():
    columns = ["force [N]", "wall width [mm]", "p [kg/(m s2)]", "b [m]", "b [s]", "sqrt", "x.y"]
    for name in columns:
        assert list(law_of("sag", written(name, columns), columns).columns.values()) == [name]
    assert [bare_name(name) for name in columns[:3]] == ["force", "wall width", "p"]
