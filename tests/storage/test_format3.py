"""Models of every kind that were saved in format 3 before states were declared: they load and predict as they did."""

import inspect
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from swwl import Graph, Mesh, load_model

DATA = Path(__file__).parent / "data" / "format3"
ANSWERS = json.loads((DATA / "answers.json").read_text())
# Embeddings of new rows are of single precision, whose last bits other processors round otherwise.
DOUBLE = ("numbers", "linear", "precomputed", "rows", "many-rows", "wwl", "fgw", "propagation", "graphhopper", "rpw")


def rods(n, seed):
    """Return the rods that the models were fitted to (seed 0) and asked about (seed 1)."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        length, bend, load = rng.uniform(1, 2), rng.uniform(0, 1), rng.uniform(1, 3)
        x = np.linspace(0, length, 6)
        rod = Graph(np.column_stack([x, bend * x**2]), [(k, k + 1) for k in range(5)])
        soft = number % 3 == 0
        rows.append((rod, load, "steel" if soft else "copper", [length, bend], load * length, bend + load * soft))
    frame = pd.DataFrame(rows, columns=["rod", "load", "material", "vector", "stretch", "sag"])
    return frame.assign(id=np.arange(n) + 24 * seed, kind=np.arange(n) % 3)


def plates(n, seed, same):
    """Return plates with a field of nodes and one of cells: all with the same cells, or each with its own."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        width, load, a, b = rng.uniform(1, 2), rng.uniform(1, 3), *rng.integers(4, 6, 2)
        a, b = (4, 4) if same else (int(a), int(b))
        x, y = (part.ravel() for part in np.meshgrid(np.linspace(0, width, a), np.linspace(0, 1, b), indexing="ij"))
        first = (np.arange(a - 1)[:, None] * b + np.arange(b - 1)).ravel()
        quads = np.column_stack([first, first + b, first + b + 1, first + 1])
        u = load * np.sin(2 * x / width + y) + width * y**2
        fields = {"T": u, "v": np.column_stack([u, load * x])}
        mesh = Mesh(np.column_stack([x, y]), {"quad": quads}, fields, cell_fields={"q": u[quads].mean(axis=1)})
        rows.append((mesh, load, width * load))
    return pd.DataFrame(rows, columns=["mesh", "load", "weight"])


def rings(n, seed):
    """Return ellipses of lines with the pressure of a potential flow: bodies in the plane."""
    rng = np.random.default_rng(seed)
    rows = []
    for axis, turn in zip(rng.uniform(0.5, 1, n), rng.uniform(-0.3, 0.3, n), strict=True):
        k = int(rng.integers(24, 30))
        t = 2 * np.pi * np.arange(k) / k
        slope = np.sqrt(np.sin(t) ** 2 + (axis * np.cos(t)) ** 2)
        lines = np.column_stack([np.arange(k), np.roll(np.arange(k), -1)])
        cp = 1 - ((1 + axis) * np.sin(t - turn) / slope) ** 2
        rows.append((Mesh(np.column_stack([np.cos(t), axis * np.sin(t)]), {"line": lines}, {"cp": cp}), turn))
    return pd.DataFrame(rows, columns=["mesh", "turn"])


def table(name, n, seed):
    """Return what a model of this name is about."""
    if name == "fields-bodies":
        return rings(n, seed)
    if name in ("stack", "principal-mesh") or "fields" in name or "fitted" in name:
        return plates(n, seed, same=name in ("fields-shared", "fitted-fields"))
    return rods(n, seed).rename(columns={"rod": "graph"} if name == "classifier-chosen" else {})


def plain(method, *args, **options):
    """Ask for the plain process: nothing is widened for what the training cases do not cover."""
    widen = {"widen": False} if "widen" in inspect.signature(method).parameters else {}
    return method(*args, **options, **widen)


def answers(name, model):
    """Return what a model says about new rows, and about its own."""
    if name == "basis":
        found = [factor.represent(plates(5, 1, same=False)["mesh"]) for factor in model.columns["mesh"]]
        return {f"{part}_{k}": own for k, pair in enumerate(found) for part, own in zip("zr", pair, strict=True)}
    new = table(name, 5, 1)
    if name.startswith("classifier"):
        return {"classes": model.predict(new), "decisions": model.decision_function(new)}
    mean, std = plain(model.predict, new, return_std=True)
    if "fields" in name:
        pairs = [(f"{key}_{k}", row[key]) for k, row in enumerate(mean) for key in row]
        return dict(pairs) | {f"std_{key}_{k}": row[key] for k, row in enumerate(std) for key in row}
    lower, upper = plain(model.predict_interval, new)
    loo = model.leave_one_out()
    found = {"mean": mean, "std": std, "lower": lower, "upper": upper, "loo_mean": loo.mean, "loo_std": loo.std}
    return found | {"ranges": np.asarray(model.ranges_), "importance": np.asarray(model.importance_)}


@pytest.mark.parametrize("name", ANSWERS)
def test_models_of_format_3_predict_the_same(name, tmp_path):
    if name in ("wwl", "fgw"):
        pytest.importorskip("ot", reason="POT is not installed")
    if name in ("propagation", "graphhopper"):
        pytest.importorskip("grakel", reason="GraKeL is not installed")
    model = load_model(DATA / f"{name}.swwl")
    if name != "basis":
        assert ("train" in model.metadata_) if "fitted" in name else (model.metadata_ == {"note": name})
    found = answers(name, model)
    assert list(found) == list(ANSWERS[name])
    for key, value in ANSWERS[name].items():
        own = name in DOUBLE or key.startswith(("loo", "ranges", "importance"))
        rtol, atol = (1e-8, 1e-12) if own else (2e-6, 2e-6)
        np.testing.assert_allclose(found[key], value, rtol=rtol, atol=atol, err_msg=key)
    model.save(tmp_path / "again.swwl")
    again = answers(name, load_model(tmp_path / "again.swwl"))
    for key, value in found.items():
        np.testing.assert_array_equal(again[key], value)
