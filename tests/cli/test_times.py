"""Case folders and series in tables: found by themselves, read at a time, remembered by the model."""

import json

import numpy as np
import pandas as pd
import pytest

from swwl import load_model
from swwl.evaluation.metadata import data_of
from tests.cli.conftest import SMALL, swwl
from tests.mesh.io.small_files import foam, write_case


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A table of cases, whose roofs are higher at the second time than at the first."""
    folder = tmp_path_factory.mktemp("study")
    heights = np.linspace(2, 4, 12)
    for k, height in enumerate(heights):
        files = foam()
        points = files["constant/polyMesh/points"]
        moved = points.replace(b"0.5 2)", f"0.5 {height})".encode())
        higher = points.replace(b"0.5 2)", f"0.5 {2 * height})".encode())
        parts = {"constant/polyMesh/points": moved, "0.5/polyMesh/points": higher}
        write_case(folder / f"case{k}", files | parts)
    rows = {"case": [f"case{k}" for k in range(12)], "load": np.arange(12) % 3 + 1.0, "drag": 3 * heights}
    pd.DataFrame(rows).to_csv(folder / "table.csv", index=False)
    return folder


def test_info_of_a_case(study):
    facts = json.loads(swwl("info", study / "case0", "--json").stdout)
    assert facts["times"] == [0, 0.5] and facts["cell_fields"]["p"]["largest"] == 4.5 and facts["largest"][2] == 4
    assert json.loads(swwl("info", study / "case0", "--time", "0", "--json").stdout)["largest"][2] == 2
    words = swwl("info", study / "case0").stdout
    assert "times     0, 0.5" in words and "field     U: on cells, 3 components" in words
    assert "12 meshes" in swwl("info", study / "table.csv").stdout


def test_the_model_remembers_the_time(study):
    swwl("check", study / "table.csv", "--target", "drag", "--time", "0")
    model = study / "first.swwl"
    options = ["--target", "drag", "--kernel", "swwl", *SMALL]
    swwl("fit", study / "table.csv", *options, "--time", "0", "-o", model)
    known = data_of(load_model(model))
    assert known.time == 0 and known.train.meshes["case"][0] == "case0@0"
    swwl("predict", model, study / "table.csv", "-o", study / "remembered.csv")
    swwl("predict", model, study / "table.csv", "--time", "0.5", "-o", study / "last.csv")
    found, other = (pd.read_csv(study / name) for name in ("remembered.csv", "last.csv"))
    assert found["case"][0] == "case0@0" and other["case"][0] == "case0@0.5"
    assert np.abs(found["drag_mean"] - found["drag"]).max() < np.abs(other["drag_mean"] - found["drag"]).max()
    one = json.loads(swwl("predict", model, "--mesh", study / "case3", "load=1", "--json").stdout)
    assert one["drag_mean"] == pytest.approx(found["drag_mean"][3])


def test_choices_and_curves_are_made_at_a_time(study):
    """Commands that read a pool or a mesh take --time as fit does, and the model's own time by default."""
    table, model = study / "table.csv", study / "chosen.swwl"
    swwl("fit", table, "--target", "drag", "--kernel", "swwl", *SMALL, "--time", "0", "-o", model)
    swwl("select", table, "-n", "3", "--inputs", "load", "--time", "0", "--have", table, "-o", study / "few.csv")
    assert pd.read_csv(study / "few.csv")["case"].str.endswith("@0").all()
    swwl("suggest", model, table, "-n", "2", "--time", "0.5", "-o", study / "next.csv")
    assert pd.read_csv(study / "next.csv")["case"].str.endswith("@0.5").all()
    done = swwl("suggest", model, table, "-n", "2", "-o", study / "own.csv", code=2)  # at its own time, all are fitted
    assert "training cases" in done.stderr
    curve = ["curve", model, "--mesh", study / "case3", "--sweep", "load=1:3:3"]
    means = [
        json.loads(swwl(*curve, *more, "-o", study / f"c{k}.png", "--json").stdout)["points"]["drag_mean"]
        for k, more in enumerate(([], ["--time", "0"], ["--time", "0.5"]))
    ]
    assert means[0] == means[1] != means[2]


def test_wrong_times_are_refused(study):
    options = ["--target", "drag", "-o", study / "no.swwl"]
    done = swwl("fit", study / "table.csv", *options, "--time", "0.3", code=2)
    assert "it has no time 0.3; its times are 0, 0.5" in done.stderr
    done = swwl("fit", study / "table.csv", *options, "--time", "all", code=2)
    assert "--time all learns fields over time: name them with --target-field" in done.stderr
    done = swwl("check", study / "table.csv", "--time", "all", code=2)
    assert "one time of each case, not all of them" in done.stderr
    (study / "empty").mkdir(exist_ok=True)
    (study / "wrong.csv").write_text("case,drag\n" + "".join(f"case{k},{k}\n" for k in range(6)) + "empty,3\n")
    done = swwl("fit", study / "wrong.csv", "--mesh", "case", *options, code=2)
    assert "is a folder, but not an OpenFOAM case: neither constant/polyMesh" in done.stderr
