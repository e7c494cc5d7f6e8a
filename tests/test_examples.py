"""Every script of the gallery runs, without a warning, and gives the numbers that it speaks of."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.slow

CHECKS = {}


def check(function):
    """Register what is to hold of the names that a script leaves behind; the function has the script's name."""
    CHECKS[function.__name__] = function
    return function


@pytest.fixture
def run(tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("agg")

    def run(name):
        found = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        assert plt.get_fignums(), "a picture in every example"
        return found

    yield run
    plt.close("all")


@check
def scalars(found):
    assert found["found"].q2 > 0.93 and found["found"].coverage >= 0.9


@check
def curves(found):
    assert len(found["displays"]) == 2 and len(found["curve"]) == 25
    assert found["low"] < found["high"] < 1
    assert found["high"] - found["low"] < 0.05


@check
def pressure_curves(found):
    assert found["model"].cross_validated()["q2"][0] > 0.95 and len(found["displays"]) == 3
    truth = np.array([curve[:, 1].min() for curve in found["test"]["cp"]])
    inside = (found["numbers"]["lowest_lower"] <= truth) & (truth <= found["numbers"]["lowest_upper"])
    assert inside.mean() >= 0.8


@check
def sensitivity(found):
    assert list(found["slopes"]["kind"]) == ["number"] * 2 + ["displacement"] * 6
    improved = found["improved"]
    assert improved.mean > improved.start_mean
    assert np.linalg.norm(improved.coordinates) <= improved.radius * (1 + 1e-9)


@check
def own_kernel(found):
    errors = found["errors"]
    assert len(errors) == 4
    assert errors["SWWL of the skin"] < 0.5 * errors["numbers alone"]
    assert errors["Precomputed: chamfer"] < errors["numbers alone"]


@check
def classification(found):
    assert found["accuracy"] > 0.9


@check
def plaid(found):
    assert len(found["table"]) == 90 and found["q2"] > 0.7


@check
def pyvista_objects(found):
    assert found["q2"] > 0.999


@check
def networkx_graphs(found):
    assert found["q2"] > 0.98


@check
def molecules(found):
    assert len(found["table"]) == 37 and found["rmse"] < 4


@check
def pipelines(found):
    assert found["scores"]["ridge"].mean() > 0.95
    assert found["search"].best_score_ > 0.95


@check
def calibration(found):
    models, test = found["models"], found["test"]
    inside = {}
    for name, model in models.items():
        lower, upper = model.predict_interval(test)
        inside[name] = np.mean((lower < test["efficiency"]) & (test["efficiency"] < upper))
    assert inside["plain Student-t"] < 0.92 < inside["calibrated"]


@check
def default_model(found):
    importance = found["model"].importance_
    assert importance.loc["velocity", "lift"] < 0.05 < importance.loc["velocity", "drag"]
    assert found["q2"] > 0.99
    np.testing.assert_allclose(found["weights"].sum(), 1)


@check
def check_table(found):
    assert [finding["kind"] for finding in found["findings"]] == ["size", "orientation"]


@check
def merging(found):
    distances = found["distances"]
    assert distances[0, 5] < 1e-5 < 0.01 < distances[0, 4]
    assert found["merged"].n_nodes == found["plates"][0].n_nodes


@check
def distances(found):
    distances = found["distances"]
    same_plate = [distances[0, 1], distances[2, 3], distances[4, 5]]
    assert max(same_plate) < 0.2 * distances[0, 2]


@check
def materials(found):
    assert found["q2"] > 0.95
    assert "'wood'" in found["refusal"] and "steel" in found["refusal"]


@check
def accuracy_and_cost(found):
    assert found["grid"][20, 100] < found["grid"][2, 5]


@check
def save_and_report(found):
    assert found["same"] and found["size"] < 10e6
    assert "<script" not in found["page"] and "pressure_ratio" in found["page"]


@check
def fields(found):
    assert found["q2"] > 0.9


@check
def domain(found):
    assert not found["verdict"]["inside"].any()
    assert found["inside"].mean() >= 0.85


@check
def select_cases(found):
    assert len(set(found["chosen"]["row"])) == 12
    assert found["gap"] < min(found["at_random"])


@check
def suggest_next(found):
    assert found["ranks"][-1] <= 3 < found["ranks"][0]
    assert len(set(found["known"])) == 32


@check
def design_loop(found):
    errors = found["errors"]
    assert errors["chosen"][1] < errors["chosen"][0] and errors["chosen"][1] < 0.9 * errors["at random"][1]


@check
def large_n(found):
    errors = found["errors"]
    assert errors[2000] < errors[600] < errors[200]
    assert errors[2000] < 0.7 * found["exact"]
    assert found["inside"][2000] > 0.9


@check
def two_fidelities(found):
    assert found["model"].together_["used"].all()
    assert found["errors"]["and 100 coarse ones"] < 0.85 * found["errors"]["15 fine runs"]
    assert set(found["chosen"]["level"]) <= {"coarse", "fine"}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(name, run):
    CHECKS[name](run(name))
