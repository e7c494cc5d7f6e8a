"""Models that swwl 0.1.0 saved, in format 1: they load and predict as they did."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import Graph, load_model

DATA = Path(__file__).parent / "data" / "format1"
ANSWERS = json.loads((DATA / "answers.json").read_text())


def rods(n, seed):
    """Return the rods that the models were fitted to (seed 0) and asked about (seed 1)."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        length, bend, load = rng.uniform(1, 2), rng.uniform(0, 1), rng.uniform(1, 3)
        x = np.linspace(0, length, 6)
        rows.append((Graph(np.column_stack([x, bend * x**2]), [(k, k + 1) for k in range(5)]), load))
    return pd.DataFrame(rows, columns=["rod", "load"])


@pytest.mark.parametrize("name", ANSWERS)
def test_models_of_format_1_predict_the_same(name, tmp_path):
    if name in ("wwl", "fgw"):
        pytest.importorskip("ot", reason="POT is not installed")
    if name in ("propagation", "graphhopper"):
        pytest.importorskip("grakel", reason="GraKeL is not installed")
    model = load_model(DATA / f"{name}.swwl")
    new = rods(5, 1).assign(id=np.arange(24, 29))
    assert model.metadata_ == {"note": name}
    mean, std = model.predict(new, return_std=True)
    lower, upper = model.predict_interval(new)
    loo = model.leave_one_out()
    found = {"mean": mean, "std": std, "lower": lower, "upper": upper, "loo_mean": loo.mean, "loo_std": loo.std}
    found["ranges"] = np.asarray(model.ranges_)
    # Sliced embeddings of new rows are of single precision, whose last bits other processors round otherwise.
    new_rtol = 2e-6 if name.startswith(("swwl", "aswwl", "principal")) else 1e-8
    for key, value in ANSWERS[name].items():
        rtol = new_rtol if key in ("mean", "std", "lower", "upper") else 1e-9
        np.testing.assert_allclose(found[key], value, rtol=rtol, atol=1e-12, err_msg=key)
    model.save(tmp_path / "again.swwl")
    again = load_model(tmp_path / "again.swwl")
    np.testing.assert_array_equal(again.predict(new, return_std=True), (mean, std))
