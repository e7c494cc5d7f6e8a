"""Fields over time from the command line: files in, a model, series out."""

import json

import numpy as np
import pandas as pd
import pytest

from swwl import InputError, MeshSeries, load_model
from swwl.datasets import make_heating
from swwl.jobs.transient import check_series_folder, score_series, times_of_text
from tests.cli.conftest import swwl


@pytest.fixture(scope="module")
def warming(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warming")
    table = make_heating(20, n_nodes=150, random_state=2)
    for k, series in enumerate(table["mesh"]):
        thin = MeshSeries(series.mesh, series.times[::4], {"temperature": series.fields["temperature"][::4]})
        thin.write(folder / f"c{k:02d}.pvd")
    table["mesh"] = [f"c{k:02d}.pvd" for k in range(len(table))]
    table[:17].to_csv(folder / "t.csv", index=False)
    table[17:].to_csv(folder / "new.csv", index=False)
    fit = ["fit", folder / "t.csv", "--target-field", "temperature", "--time", "all", "--test-fraction", "0.2"]
    return folder, swwl(*fit, "-o", folder / "m.swwl").output


def test_fit_and_info_say_what_was_learned(warming):
    folder, said = warming
    assert "times     5 from 0.05 to 0.85, and all between" in said and "kept      temperature is 1 on 'pipes'" in said
    facts = json.loads(swwl("info", folder / "m.swwl", "--json").stdout)
    assert facts["fields"] == [{"field": "temperature", "components": 1, "on": "nodes"}] and len(facts["times"]) == 5
    assert {row["test"] for row in facts["scores"]} == {"cross-validation", "held-out rows"}


def test_series_of_a_table_and_of_one_case(warming, tmp_path):
    folder, _ = warming
    out = tmp_path / "out"
    said = swwl("predict", folder / "m.swwl", folder / "new.csv", "-o", out, "--times", "0.1,0.5").output
    assert "against the fields that the series hold" in said and "training rows" not in said
    known = swwl("predict", folder / "m.swwl", folder / "t.csv", "-o", tmp_path / "known").output
    assert "training rows" in known and "held-out rows" in known
    series = MeshSeries.read(out / "c17.pvd")
    assert series.times.tolist() == [0.1, 0.5] and {"temperature", "temperature_upper95"} <= set(series.fields)
    table = pd.read_csv(out / "predictions.csv")
    assert table["predicted_mesh"].tolist() == ["c17.pvd", "c18.pvd", "c19.pvd"] and "inside_domain" in table
    row = pd.read_csv(folder / "new.csv").iloc[0]
    case = [f"diffusivity={float(row['diffusivity'])!r}", f"loss={float(row['loss'])!r}", "--times", "0.1,0.5"]
    swwl("predict", folder / "m.swwl", "--mesh", folder / "c17.pvd", *case, "-o", tmp_path / "one.pvd")
    one = MeshSeries.read(tmp_path / "one.pvd").fields["temperature"]
    np.testing.assert_allclose(one, series.fields["temperature"], atol=1e-9)


def test_scores_are_those_at_the_grid(warming):
    folder, _ = warming
    model = load_model(folder / "m.swwl")
    table = pd.read_csv(folder / "new.csv")[:1]
    table["mesh"] = [folder / table["mesh"][0]]
    (score,) = score_series(model, table, "c17").values()
    truth = MeshSeries.read(table["mesh"][0]).fields["temperature"]
    error = np.sqrt(np.mean((model.predict(table)[0]["temperature"] - truth) ** 2)) / truth.max()
    assert abs(score.rrmse / error - 1) < 0.05  # limits are kept by the one alone


def test_mistakes(warming, tmp_path):
    folder, _ = warming
    model, new = folder / "m.swwl", folder / "new.csv"
    for options, said in [
        (["--times", "0.1;2"], "numbers with commas"),
        (["--times", "0.1,9"], "Time 9 is requested"),
        (["--whole-field"], "predicts fields over time"),
    ]:
        assert said in swwl("predict", model, new, "-o", tmp_path / "x", *options, code=2).output
    assert "already exists" in swwl("predict", model, new, "-o", folder, code=2).output
    assert "TransientRegressor" in swwl("explain", model, "--mesh", folder / "c17.pvd", code=2).output
    assert "report written to" in swwl("report", model, "-o", tmp_path / "m.html").output
    said = swwl("fit", folder / "t.csv", "--target", "loss", "--time", "all", "-o", tmp_path / "m.swwl", code=2).output
    assert "name them with --target-field" in said
    with pytest.raises(InputError, match="already exists"):
        check_series_folder(folder, [folder / "c17.pvd"], force=False)
    assert times_of_text("1,2") == [1.0, 2.0]
