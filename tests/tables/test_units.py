"""Units in the names of columns, and the laws that they allow."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swwl.tables.laws import law_of
from swwl.tables.units import Monomial, dimensionless_groups, likely_laws, possible_laws, read_unit, unit_of


@pytest.mark.parametrize(
    ("text", "dimension", "factor"),
    [
        ("N", (1, 1, -2, 0, 0, 0, 0), 1.0),
        ("mN", (1, 1, -2, 0, 0, 0, 0), 1e-3),
        ("m N", (2, 1, -2, 0, 0, 0, 0), 1.0),
        ("N·m", (2, 1, -2, 0, 0, 0, 0), 1.0),
        ("MPa", (-1, 1, -2, 0, 0, 0, 0), 1e6),
        ("N/mm^2", (-1, 1, -2, 0, 0, 0, 0), 1e6),
        ("kg/m^3", (-3, 1, 0, 0, 0, 0, 0), 1.0),
        ("kg m⁻³", (-3, 1, 0, 0, 0, 0, 0), 1.0),
        ("g/cm3", (-3, 1, 0, 0, 0, 0, 0), 1e3),
        ("kg/(m s2)", (-1, 1, -2, 0, 0, 0, 0), 1.0),
        ("W/(m*K)", (1, 1, -3, 0, -1, 0, 0), 1.0),
        ("W/m/K", (1, 1, -3, 0, -1, 0, 0), 1.0),
        ("km/h", (1, 0, -1, 0, 0, 0, 0), 1 / 3.6),
        ("1/s", (0, 0, -1, 0, 0, 0, 0), 1.0),
        ("µm", (1, 0, 0, 0, 0, 0, 0), 1e-6),
        ("kΩ", (2, 1, -3, -2, 0, 0, 0), 1e3),
        ("pF", (-2, -1, 4, 2, 0, 0, 0), 1e-12),
        ("K", (0, 0, 0, 0, 1, 0, 0), 1.0),
        ("deg", (0,) * 7, np.pi / 180),
        ("%", (0,) * 7, 0.01),
        ("-", (0,) * 7, 1.0),
        ("rpm", (0, 0, -1, 0, 0, 0, 0), np.pi / 30),
    ],
)
def test_units_are_read(text, dimension, factor):
    found = read_unit(text)
    assert found.dimension == dimension
    assert np.isclose(found.factor, factor, rtol=1e-12)
    assert unit_of(f"some name [{text}]") == unit_of(f"x ({text})") == found


@pytest.mark.parametrize("text", ["", "old", "m/", "m^x", "m^", "(m", "m)", "3", "°C", "C", "case 3", "m^99", "()"])
def test_other_texts_are_no_units(text):
    assert read_unit(text) is None
    assert unit_of(f"name [{text}]") is None


@given(st.text(alphabet="mkgsNPa/()^*0123456789- .²", max_size=30))
def test_any_text_is_a_unit_or_none(text):
    found = read_unit(text)
    assert found is None or len(found.dimension) == 7


def test_units_that_mean_the_same_are_equal():
    assert read_unit("Pa") == read_unit("N/m2") == read_unit("kg/(m s^2)") == read_unit("J m-3")
    assert unit_of("load") is None
    assert unit_of("[N]") is None


def dimension_of(powers):
    total = (Fraction(0),) * 7
    for name, power in powers.items():
        total = tuple(a + power * b for a, b in zip(total, unit_of(name).dimension, strict=True))
    return total


def test_laws_have_the_unit_of_their_target():
    columns = ["force [N]", "young [MPa]", "length [mm]", "load", "angle [deg]", "rho [kg/m^3]", "wall width [mm]"]
    for target in ("sag [mm]", "stress [MPa]", "frequency [Hz]", "energy [J]", "mass [g]"):
        found = possible_laws(target, columns)
        assert found, target
        for law in found:
            assert dimension_of(law.powers) == unit_of(target).dimension
            assert law_of(target, law.formula(columns), columns).columns.keys()
    assert possible_laws("sag", columns) == possible_laws("current [A]", columns) == []
    assert [law.formula() for law in possible_laws("stress [MPa]", columns)][0] == "young"


def test_textbook_laws_are_among_the_first():
    pendulum = possible_laws("period [s]", ["length [m]", "g [m/s2]", "mass [kg]"])
    assert [law.formula() for law in pendulum] == ["sqrt(length) / sqrt(g)"]
    drag = possible_laws("drag [N]", ["rho [kg/m3]", "speed (m/s)", "area [m2]"])
    assert [law.formula() for law in drag] == ["rho * speed**2 * area"]
    plate = ["force [N]", "young [MPa]", "length [mm]"]
    assert "force / (young * length)" in [law.formula() for law in possible_laws("sag [mm]", plate)][:2]


def test_groups_have_no_dimension_and_are_independent():
    columns = ["v [m/s]", "d [m]", "rho [kg/m3]", "mu [Pa s]", "p [Pa]", "l [m]"]
    found = dimensionless_groups(columns)
    assert len(found) == 3  # six columns of rank three
    assert all(dimension_of(group.powers) == (0,) * 7 for group in found)
    assert np.linalg.matrix_rank([[float(g.powers.get(c, 0)) for c in columns] for g in found]) == 3
    assert dimensionless_groups(["a", "angle [deg]", "d [m]"]) == []


def test_formulas_are_those_of_the_powers():
    law = Monomial({"a [m]": Fraction(3, 2), "b c [s]": Fraction(-2), "d": Fraction(-1, 2)})
    assert law.formula() == "a**1.5 / (`b c`**2 * sqrt(d))"
    table = pd.DataFrame({"a [m]": [4.0], "b c [s]": [2.0], "d": [9.0]})
    assert law_of("y", law.formula(), table.columns).values(table)[0] == pytest.approx(8 / 12)


def test_values_tell_which_of_the_laws_are_likely():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(10 ** rng.uniform(0, 1, (30, 3)), columns=["force [N]", "young [MPa]", "length [mm]"])
    inputs = list(table.columns)
    table["sag [mm]"] = rng.uniform(1, 2, 30) * table["force [N]"] / table["young [MPa]"] / table["length [mm]"]
    assert likely_laws(table, "sag [mm]", inputs)[0] == "force / (young * length)"
    assert likely_laws(table.assign(**{"sag [mm]": -table["sag [mm]"]}), "sag [mm]", inputs)[0] == (
        "force / (young * length)"
    )
    # of a target that changes its sign only the units are known
    signed = table.assign(**{"sag [mm]": rng.normal(size=30)})
    assert likely_laws(signed, "sag [mm]", inputs)[0] == "length"
    # no law of a target that has nothing to do with the inputs, nor one of columns that may be zero
    other = table.assign(**{"sag [mm]": 1 + 1e-3 * rng.uniform(size=30)})
    assert likely_laws(other, "sag [mm]", inputs) == []
    zero = table.assign(**{"force [N]": table["force [N]"] - table["force [N]"].min()})
    assert not any("force" in law for law in likely_laws(zero, "sag [mm]", inputs))
