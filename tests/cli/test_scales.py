"""``--log`` and ``--target-scale``: what fit, info and report say of the scale of a target."""

import json

import numpy as np
import pandas as pd
import pytest

from swwl import load_model
from tests.cli.conftest import swwl


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (60, 2)), columns=["a", "b"])
    frame["drag"] = 0.01 * np.exp(1.5 * frame["a"] + np.sin(2 * frame["b"]))
    frame["lift"] = frame["a"] - frame["b"] ** 2
    path = tmp_path_factory.mktemp("scales") / "table.csv"
    frame.to_csv(path, index=False)
    return path


def kinds(path):
    return {name: scale.kind for name, scale in load_model(path).target_scales_.items()}


def test_fit_chooses_and_says_so(table, tmp_path):
    both = ["--target", "drag", "--target", "lift", "--inputs", "a,b"]
    said = swwl(
        "fit",
        table,
        *both,
        "--kernel",
        "scalars",
        "--target-scale",
        "auto",
        "-o",
        tmp_path / "m.swwl",
        "--test-fraction",
        "0.2",
    ).output
    assert kinds(tmp_path / "m.swwl") == {"drag": "log", "lift": "identity"}
    (line,) = [line for line in said.splitlines() if line.startswith("scale ")]
    assert "drag: fitted on its logarithm (log density of 48 rows left out rises by" in line
    assert line.strip() in swwl("info", tmp_path / "m.swwl").output
    facts = json.loads(swwl("info", tmp_path / "m.swwl", "--json").stdout)
    assert facts["scales"]["drag"]["kind"] == "log" and facts["scales"]["lift"]["kind"] == "identity"
    swwl("report", tmp_path / "m.swwl", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<b>drag</b> was fitted on its logarithm" in page and "<b>lift</b> was fitted" not in page


def test_log_and_target_scale(table, tmp_path):
    both = ["--target", "drag", "--target", "lift", "--inputs", "a,b", "--no-calibrate", "-q"]
    both += ["--kernel", "scalars"]
    swwl("fit", table, *both, "--target-scale", "identity", "-o", tmp_path / "a.swwl")
    assert kinds(tmp_path / "a.swwl") == {"drag": "identity", "lift": "identity"}
    swwl("fit", table, *both, "--log", "drag", "-o", tmp_path / "b.swwl")
    assert kinds(tmp_path / "b.swwl") == {"drag": "log", "lift": "identity"}
    swwl("predict", tmp_path / "b.swwl", table, "-o", tmp_path / "p.csv")
    assert (pd.read_csv(tmp_path / "p.csv")["drag_lower95"] > 0).all()


def test_mistakes_are_named(table, tmp_path):
    asked = ["fit", table, "--target", "lift", "--inputs", "a,b", "--kernel", "scalars", "-o", tmp_path / "m.swwl"]
    said = swwl(*asked, "--log", "lift", code=2).output
    first = int(np.argmax(pd.read_csv(table)["lift"] <= 0))
    assert f"line {first + 2}" in said and "a logarithm needs positive values" in " ".join(said.split())
    assert "--log names 'drag', but --target names lift" in " ".join(
        swwl(*asked, "--log", "drag", code=2).output.split()
    )
