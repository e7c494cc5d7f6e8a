"""Curves by commands: fit, info, predict, check and report, in the user's own form."""

import json

import numpy as np
import pandas as pd
import pytest

from swwl import CurveRegressor, load_model
from swwl.tables.series import table_curves
from tests.cli.conftest import swwl as run

T = np.linspace(0, 1, 21)


def warming(rate, size, t=T):
    return size * (1 - np.exp(-rate * t))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables of the same curves: wide columns, and CSV files with times of their own."""
    folder, rng = tmp_path_factory.mktemp("curves"), np.random.default_rng(0)
    inputs = pd.DataFrame({"rate": rng.uniform(1, 4, 40), "size": rng.uniform(1, 2, 40)})
    values = np.array([warming(*row) for row in inputs.to_numpy()])
    split = ["train"] * 30 + ["test"] * 10
    wide = pd.DataFrame(values, columns=[f"u_{t:.2f}" for t in T])
    pd.concat([inputs, wide], axis=1).assign(split=split).to_csv(folder / "wide.csv", index=False)
    (folder / "curves").mkdir()
    names = []
    for k, row in enumerate(inputs.to_numpy()):
        t = np.sort(np.concatenate([[0, 1], rng.uniform(0, 1, 18)]))
        pd.DataFrame({"time": t, "temp": warming(*row, t)}).to_csv(folder / f"curves/{k}.csv", index=False)
        names.append(f"curves/{k}.csv")
    inputs.assign(u=names, split=split).to_csv(folder / "files.csv", index=False)
    for form in ("wide", "files"):
        run("fit", folder / f"{form}.csv", "--kernel", "scalars", "--target-curve", "u", "-o", folder / f"{form}.swwl")
    return folder


def test_what_fit_and_info_say(folder):
    facts = json.loads(run("info", folder / "wide.swwl", "--json").stdout)
    assert facts["kind"] == "curve model" and facts["form"] == "wide" and facts["points"] == 21
    assert [row["test"] for row in facts["scores"]] == ["cross-validation", "held-out rows"]
    assert facts["scores"][1]["q2"] > 0.99 and facts["inputs"] == ["rate", "size"]
    said = run("info", folder / "files.swwl").stdout
    assert "model of the curve u" in said and "principal curve" in said


def test_wide_columns_come_back_as_wide_columns(folder, tmp_path):
    out = tmp_path / "p.csv"
    options = ("--whole-curve", "--peak", "--integral", "--crossing", "0.5")
    said = run("predict", folder / "wide.swwl", folder / "wide.csv", "-o", out, *options)
    assert "40 curves predicted" in said.stdout and "held-out rows" in said.stdout
    table = pd.read_csv(out)
    mean = table_curves(table, "u_mean")
    np.testing.assert_allclose(mean.common, T)
    model = load_model(folder / "wide.swwl")
    assert isinstance(model, CurveRegressor)
    np.testing.assert_allclose(mean.values, model.predict(table), atol=1e-9)
    low, high = model.predict_interval(table, simultaneous=True)
    np.testing.assert_allclose(table_curves(table, "u_lower95_whole").values, low, atol=1e-9)
    np.testing.assert_allclose(table_curves(table, "u_upper95_whole").values, high, atol=1e-9)
    found = model.derived(table, ["integral"])
    assert np.abs(table["u_integral_mean"] - found["integral_mean"]).max() < 0.01
    assert (table["u_crossing_0.5_probability"] > 0.9).mean() > 0.5
    assert {"u_peak_lower95", "u_place_of_peak_mean", "inside_domain"} <= set(table)
    run("predict", folder / "wide.swwl", folder / "wide.csv", "-o", out)  # over its own file
    again = run("predict", folder / "wide.swwl", out, "-o", tmp_path / "q.csv", code=2)
    assert "already has a column 'u_mean_0.00'" in again.stderr


def test_files_come_back_as_files(folder, tmp_path):
    out = tmp_path / "predicted"
    run("predict", folder / "files.swwl", folder / "files.csv", "-o", out, "--whole-curve")
    table = pd.read_csv(out / "predictions.csv")
    curve = pd.read_csv(out / table["predicted_curve"][35])
    ends = ("", "_std", "_lower95", "_upper95", "_lower95_whole", "_upper95_whole")
    assert list(curve) == ["time", *(f"temp{end}" for end in ends)]
    expected = warming(table["rate"][35], table["size"][35], curve["time"])
    np.testing.assert_allclose(curve["temp"], expected, atol=0.02)
    run("predict", folder / "files.swwl", folder / "files.csv", "-o", out)  # over its own folder


def test_one_case(folder, tmp_path):
    out = tmp_path / "one.csv"
    facts = run("predict", folder / "files.swwl", "rate=2", "size=1.5", "--peak", "-o", out, "--json").stdout
    found = json.loads(facts)
    np.testing.assert_allclose(found["numbers"][0]["u_peak_mean"], warming(2, 1.5, 1.0), atol=0.02)
    np.testing.assert_allclose(pd.read_csv(out)["temp"], found["curve"]["temp"])
    assert "to save the curve: -o case.csv" in run("predict", folder / "files.swwl", "rate=2", "size=1.5").stdout


def test_the_report_shows_curves(folder, tmp_path):
    run("report", folder / "wide.swwl", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "A model of curves: u at 21 places" in page and page.count("<figure>") == 7
    assert "held out, from the best predicted" in page


def test_mistakes_are_one_line(folder, tmp_path):
    def said(*words):
        lines = run(*words, code=2).stderr.strip().splitlines()
        return lines[-1]

    wide, files, out = folder / "wide.csv", folder / "files.csv", tmp_path / "m.swwl"
    fit = ("fit", wide, "--kernel", "scalars", "-o", out)
    assert "has no column 'v' for curves" in said(*fit, "--target-curve", "v")
    assert "makes a separate model" in said(*fit, "--target-curve", "u", "--target", "rate")
    assert "do not apply to --target-curve" in said(*fit, "--target-curve", "u", "--target-scale", "warp")
    assert "--target-curve a column of curves" in said(*fit)
    assert "are for fields" in said("predict", folder / "wide.swwl", wide, "-o", out, "--probe", "0,0")
    assert "-o predicted, a folder" in said("predict", folder / "files.swwl", files)
    broken = pd.read_csv(files)
    for text, words in (
        ("time,temp\n0,1\n2,1\n1,3\n", "line 5: Curve 'u': abscissas do not increase: 1 comes after 2"),
        ("time,temp\n0,1\n1,x\n2,3\n", "line 3 holds 'x', but a number is expected"),
        ("time,temp\n0,1\n1,2\n", "has 2 points, but at least 3"),
        (None, "no such file"),
    ):
        (folder / "bad.csv").unlink(missing_ok=True)
        if text is not None:
            (folder / "bad.csv").write_text(text)
        broken.loc[3, "u"] = "bad.csv"
        broken.to_csv(folder / "broken.csv", index=False)
        for command in ("fit", "check"):
            given = ("-o", out, "--kernel", "scalars") if command == "fit" else ()
            assert words in said(command, folder / "broken.csv", "--target-curve", "u", *given)
    broken.loc[3, "u"] = None
    broken.to_csv(folder / "broken.csv", index=False)
    run("fit", folder / "broken.csv", "--target-curve", "u", "--kernel", "scalars", "-o", out, "--drop-incomplete")
    assert load_model(out).n_train_ == 29
