"""Columns that look like results of the simulation, and those that do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from swwl import RobustGPRegressor
from swwl.datasets import make_samples
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


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("spread", [0.05, 0.5, 1.5])
def test_functions_of_the_target_and_statistics_of_its_field(n: int, spread: float) -> None:
    """Also where shapes say more than all inputs, and where the target is as even as an input."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        force, young, k = rng.uniform(0.2, 1.2, (3, n))
        shape, other = rng.lognormal(0, spread, n), rng.lognormal(0, 0.1, n)
        disp = force / young * shape
        results = {"max_disp": disp, "vm99": force * shape**0.7, "energy": disp**2, "p_std": disp * other}
        table = pd.DataFrame({"force": force, "young": young, "k": k} | results)
        for order in (list(table), [*table.drop(columns="max_disp"), "max_disp"]):
            found = result_columns(table.drop(columns="max_disp"), table[["max_disp"]], order)
            assert list(found) == ["vm99", "energy", "p_std"]
    even = pd.DataFrame({"k": k, "energy": force**2, "p_std": force * other**0.1, "max_disp": force})
    assert list(result_columns(even[["k", "energy", "p_std"]], even[["max_disp"]])) == ["energy", "p_std"]


def test_a_spread_that_bends_with_the_target() -> None:
    rng = np.random.default_rng(0)
    incidence, speed = rng.uniform(-5, 5, 60), rng.uniform(30, 90, 60)
    lift = incidence + rng.normal(0, 0.2, 60)
    table = pd.DataFrame({"incidence": incidence, "speed": speed, "p_std": 1 + lift**2, "lift": lift})
    found = result_columns(table.drop(columns="lift"), table[["lift"]])
    assert list(found) == ["p_std"] and "along a curve" in found["p_std"]


def test_nameless_columns_that_depend_on_several_inputs() -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(1, 2, (3, 100))
    table = pd.DataFrame({"a": a, "b": b, "c": c, "q": a * b * c, "y": a * b})
    found = result_columns(table.drop(columns="y"), table[["y"]])
    assert list(found) == ["q"] and found["q"].endswith("and depends on columns a, b and c")


@pytest.mark.parametrize("name", ["airfoil", "blade"])
def test_inputs_of_simulations_are_none(name: str) -> None:
    """Whatever the target: operating conditions and parameters of shapes, with other targets beside them or not."""
    samples = make_samples(name, 60, n_nodes=500)
    inputs = pd.DataFrame([sample.scalars | sample.shape for sample in samples])
    targets = pd.DataFrame([sample.targets for sample in samples])
    for target in targets:
        assert result_columns(inputs, targets[[target]]) == {}
        table = pd.concat([inputs, targets.drop(columns=target)], axis=1).assign(energy=targets[target] ** 2)
        found = result_columns(table, targets[[target]], [*table, target])
        assert "energy" in found and not set(found).intersection(inputs)


@pytest.mark.parametrize("name", ["power", "torque", "temperature", "q"])
def test_a_load_beside_another_result(name: str) -> None:
    """The load that all results follow stays an input, and what depends on it and on others does not."""
    rng = np.random.default_rng(0)
    load, k, m = rng.uniform(1, 2, (3, 100))
    table = pd.DataFrame({name: load, "k": k, "u": load * (1 + 0.5 * m) * (1 + k), "t": load * (1 + 0.1 * m)})
    assert name not in result_columns(table.drop(columns="t"), table[["t"]], list(table))
    assert name not in result_columns(table[[name, "k"]], table[["t"]], list(table))


def test_nameless_results_behind_the_target() -> None:
    table = engineers_table(60, 0).rename(columns={"energy": "a", "freq1": "b"})
    found = result_columns(table.drop(columns="max_disp"), table[["max_disp"]], list(table))
    assert "a" in found and "after the target column" in found["a"]
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


@pytest.mark.parametrize("prefix", ["c", "x_"])
def test_inputs_that_depend_on_each_other_are_no_results(prefix: str) -> None:
    """Twelve columns made of two factors, as measured ones are, some of them called cd and cl by their turn."""
    alarms = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(80, 2))
        mixed = z @ rng.normal(size=(2, 12)) + 0.01 * rng.normal(size=(80, 12))
        inputs = pd.DataFrame(mixed, columns=[f"{prefix}{letter}" for letter in "abcdefghijkl"])
        target = pd.DataFrame({"y": np.sin(z[:, 0]) + z[:, 1]})
        alarms += len(result_columns(inputs, target, [*inputs, "y"]))
    assert alarms <= 2


def test_the_name_of_a_result_alone_is_not_enough() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(1, 2, (80, 3)), columns=["cd", "cl", "m"])
    assert result_columns(table, pd.DataFrame({"y": np.sin(table["m"])})) == {}
    related = result_columns(table, pd.DataFrame({"y": table["m"] * table["cd"]}))
    assert related == {"cd": "its name says 'cd'"}


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
