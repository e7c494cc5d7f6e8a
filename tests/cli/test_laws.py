"""``--scaled``, laws that ``swwl check`` offers, and ``--at``."""

import json

import numpy as np
import pandas as pd
import pytest

from swwl import load_model
from tests.cli.conftest import swwl

LAW = "disp ~ force / young"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 1, (70, 4)), columns=["force [N]", "young [MPa]", "length [mm]", "curl"])
    for name, low in [("force [N]", 100.0), ("young [MPa]", 1e4), ("length [mm]", 10.0)]:
        frame[name] = low * 10 ** frame[name]
    frame["disp [mm]"] = frame["force [N]"] / frame["young [MPa]"] / frame["length [mm]"] * (1 + frame["curl"] ** 2)
    path = tmp_path_factory.mktemp("laws") / "table.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(table):
    path = table.with_name("m.swwl")
    target = ["--target", "disp [mm]", "--test-fraction", "0.2", "--kernel", "scalars"]
    return path, swwl("fit", table, *target, "--scaled", LAW, "-o", path).output


def test_fit_info_and_report_say_what_became_of_a_law(fitted, tmp_path):
    path, said = fitted
    (line,) = [line for line in said.splitlines() if line.startswith("law ")]
    assert "disp [mm] is learned over force / young: error of left-out rows" in line
    assert line.strip() in swwl("info", path).output
    (law,) = json.loads(swwl("info", path, "--json").stdout)["laws"]
    assert law["used"] and law["error"] < law["plain_error"] and law["words"] in line
    swwl("report", path, "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Known physics: disp [mm] is learned over force / young" in page
    assert "force [N]" in page and "young [MPa]" in page  # units stay in labels
    held = json.loads(swwl("info", path, "--json").stdout)["scores"]
    assert all(row["q2"] > 0.99 for row in held)


def test_predictions_are_in_units(fitted, table, tmp_path):
    swwl("predict", fitted[0], table, "-o", tmp_path / "p.csv", "-q")
    found = pd.read_csv(tmp_path / "p.csv")
    assert np.corrcoef(found["disp [mm]_mean"], found["disp [mm]"])[0, 1] > 0.999
    assert (found["disp [mm]_lower95"] <= found["disp [mm]_upper95"]).all()


def test_a_wrong_law_is_named_and_not_used(table, tmp_path):
    target = ["--target", "disp [mm]", "--kernel", "scalars"]
    said = swwl("fit", table, *target, "--scaled", "disp ~ young / force", "-o", tmp_path / "m.swwl").output
    assert "law       the law disp [mm] ~ young / force is not used: error of left-out rows" in said
    assert load_model(tmp_path / "m.swwl").stack_.laws == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--scaled", "disp ~ pull / young"],
            "names 'pull', but the numeric inputs are force",
        ),
        (["--scaled", "disp / young"], "expected TARGET ~ FORMULA"),
        (["--scaled", "lift ~ force"], "is about 'lift'"),
        (["--scaled", "disp ~ force - 900"], "line"),
        (
            ["--inputs", "curl", "--scaled", LAW],
            "names 'force', but the numeric inputs are curl",
        ),
    ],
)
def test_mistakes(table, tmp_path, options, said):
    kernel = ["--kernel", "scalars", "--target", "disp [mm]"]
    assert said in swwl("fit", table, *kernel, *options, "-o", tmp_path / "m.swwl", code=2).output


def test_check_offers_laws_and_applies_none(table, tmp_path):
    said = swwl("check", table, "--target", "disp [mm]").output
    assert "may be proportional, by its unit, to force / (young * length)" in said
    assert "--scaled 'disp ~ force / (young * length)'" in said
    assert "dimensionless groups: force / (young * length**2)" in said
    kinds = [one["kind"] for one in json.loads(swwl("check", table, "--target", "disp [mm]", "--json").stdout)]
    assert "law" in kinds and "dimensionless groups" in kinds
    swwl("fit", table, "--target", "disp [mm]", "--kernel", "scalars", "-o", tmp_path / "m.swwl")
    assert load_model(tmp_path / "m.swwl").laws_ == []
    plain = pd.read_csv(table).rename(columns=lambda name: name.split(" ")[0])
    plain.to_csv(tmp_path / "plain.csv", index=False)
    assert "by its unit" not in swwl("check", tmp_path / "plain.csv", "--target", "disp").output


def test_suggest_at_given_conditions(fitted, table, tmp_path):
    goal = ["-n", 2, "--goal", "minimize:disp [mm]", "-o", tmp_path / "next.csv", "--force"]
    said = swwl("suggest", fitted[0], table, *goal, "--at", "force=500", "--at", "young [MPa]=20000").output
    found = pd.read_csv(tmp_path / "next.csv")
    assert (found["force [N]"] == 500).all() and (found["young [MPa]"] == 20000).all()
    assert "disp [mm]" not in found  # those in the pool are of other conditions
    assert "best training case there" in said and "outside" not in said
    assert "force [N] = 5000 is outside the training range" in (
        swwl("suggest", fitted[0], table, *goal, "--at", "force=5000").output
    )
    for text, words in [("speed=3", "no input 'speed'"), ("force", "expected INPUT=VALUE"), ("force=x", "a number")]:
        assert words in swwl("suggest", fitted[0], table, *goal, "--at", text, code=2).output
    twice = ["--at", "force=1", "--at", "force=2"]
    assert "twice" in swwl("suggest", fitted[0], table, *goal, *twice, code=2).output


def test_curves_at_given_conditions(fitted, tmp_path):
    for option, name in (("--at", "force"), ("--fix", "force [N]")):
        more = ["--sweep", "curl=0:1:5", option, f"{name}=300", "-o", tmp_path / f"c{option}.png"]
        said = swwl("curve", fitted[0], *more).output
        assert "young [MPa] is held at" in said and "force [N] is held" not in said
    one, other = (pd.read_csv(tmp_path / f"c{option}.csv") for option in ("--at", "--fix"))
    pd.testing.assert_frame_equal(one, other)
    assert (one["force [N]"] == 300).all()
    more = ["--sweep", "curl=0:1:5", "--at", "force=30000", "-o", tmp_path / "d.png"]
    assert "force [N] = 30000 is outside the training range" in swwl("curve", fitted[0], *more).output
