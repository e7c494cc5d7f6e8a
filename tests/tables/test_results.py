"""Columns that look like results of the simulation, and those that do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from swwl import RobustGPRegressor
from swwl.errors import ColumnWarning
from swwl.tables.results import result_columns, warn_about_columns, words_of


def engineers_table(n: int, seed: int) -> pd.DataFrame:
    """Return a table of a part under load, with its results."""
    rng = np.random.default_rng(seed)
    load, thickness, shape = rng.uniform(1, 2, n), rng.uniform(1, 3, n), rng.lognormal(0, 0.5, n)
    columns = {
        "load": load,
        "thickness": thickness,
        "max_disp": load / thickness**3 * shape,
        "vm99": load / thickness**2 * shape**0.8,
        "energy": load**2 / thickness**3 * shape,
        "freq1": thickness / shape**0.3,
    }
    return pd.DataFrame(columns)


@pytest.mark.parametrize("seed", range(5))
def test_results_of_an_engineers_table(seed: int) -> None:
    table = engineers_table(40, seed)
    found = result_columns(table.drop(columns="max_disp"), table[["max_disp"]], list(table))
    assert list(found) == ["vm99", "energy", "freq1"]
    of_fields = result_columns(table, pd.DataFrame(index=table.index))
    assert list(of_fields) == ["max_disp", "vm99", "energy", "freq1"]


def test_nameless_results_behind_the_target() -> None:
    table = engineers_table(60, 0).rename(columns={"energy": "a", "freq1": "b"})
    found = result_columns(table.drop(columns="max_disp"), table[["max_disp"]], list(table))
    assert "a" in found and "behind the target" in found["a"]
    first = ["max_disp", *table.drop(columns="max_disp")]
    assert "b" not in result_columns(table.drop(columns="max_disp"), table[["max_disp"]], first)


@pytest.mark.parametrize("spread", ["uniform", "normal", "lognormal", "grid", "latin"])
def test_an_input_that_determines_the_target_is_no_result(spread: str) -> None:
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(40):
        n = int(rng.integers(12, 120))
        draws = {
            "uniform": rng.random((n, 3)),
            "normal": rng.normal(size=(n, 3)),
            "lognormal": rng.lognormal(size=(n, 3)),
            "grid": rng.integers(0, 5, (n, 3)) / 4,
            "latin": np.array([rng.permutation(n) for _ in range(3)]).T / n,
        }
        inputs = pd.DataFrame(draws[spread], columns=["incidence", "a", "b"])
        target = pd.DataFrame({"lift": 5 * inputs["incidence"] + inputs["a"]})
        alarms += bool(result_columns(inputs, target))
        alarms += bool(result_columns(inputs.rename(columns={"incidence": "q"}), target))
    assert alarms <= 2


def test_levels_of_a_design_are_inputs_whatever_their_name() -> None:
    inputs = pd.DataFrame({"cl": np.repeat([0.2, 0.4, 0.6], 10), "yield_stress": np.linspace(100, 200, 30)})
    assert result_columns(inputs, pd.DataFrame({"drag": inputs["cl"] ** 2})) == {}


def test_units_in_brackets_hint() -> None:
    rng = np.random.default_rng(0)
    load = rng.lognormal(0, 1, 40)
    table = pd.DataFrame({"q [MPa]": load**2, "w [kN]": rng.random(40)})
    found = result_columns(table, pd.DataFrame({"y [MPa]": load}))
    assert list(found) == ["q [MPa]"] and "unit of y [MPa]" in found["q [MPa]"]
    assert words_of("q [MPa]") == ["q"]


def test_python_warns_and_a_kernel_settles_it() -> None:
    table = engineers_table(40, 0).assign(case=range(40))
    with pytest.warns(ColumnWarning) as caught:
        RobustGPRegressor(calibrate=False).fit(table, "max_disp")
    said = [str(one.message) for one in caught if one.category is ColumnWarning]
    assert "column case numbers the cases" in said[0] and "columns vm99, energy and freq1 look like results" in said[1]


def test_no_warning_of_plain_inputs(recwarn: pytest.WarningsRecorder) -> None:
    table = engineers_table(20, 0)[["load", "thickness", "max_disp"]]
    warn_about_columns(table, table[["max_disp"]])
    assert not recwarn.list
