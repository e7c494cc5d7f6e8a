"""``--fidelity``, ``--targets-together``, empty cells of targets, and ``--cost``."""

import json

import pandas as pd
import pytest

from swwl import load_model
from tests.cli.conftest import swwl
from tests.regression.together.test_fit import levels_table, missing_table

SCALARS = ["--kernel", "scalars"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("together")
    levels_table().to_csv(folder / "levels.csv", index=False)
    missing_table().to_csv(folder / "missing.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    options = ["--target", "y", "--fidelity", "level", "--test-fraction", "0.2", *SCALARS]
    return swwl("fit", folder / "levels.csv", *options, "-o", folder / "m.swwl").output


def test_fit_and_info_say_what_cheap_rows_bring(fitted, folder):
    assert "level: says how good an answer is (--fidelity)" in fitted
    (line,) = [line for line in fitted.splitlines() if line.startswith("together ")]
    assert "fine (" in line and "is helped by coarse (" in line and "% smaller" in line
    assert line in swwl("info", folder / "m.swwl").output
    (told,) = json.loads(swwl("info", folder / "m.swwl", "--json").stdout)["together"]
    assert told["used"] and told["words"] in line
    tests = json.loads(swwl("info", folder / "m.swwl", "--json").stdout)["scores"]
    assert {row["test"] for row in tests} == {"cross-validation", "held-out rows"}


def test_the_same_case_at_two_levels_is_not_told(folder):
    table = levels_table()
    fine = table["level"] == "fine"
    coarse = table[fine].assign(level="coarse", y=lambda rows: 0.9 * rows["y"] + 0.1 * rows["a"] ** 3)
    twins = pd.concat([table, coarse], ignore_index=True)
    twins.to_csv(folder / "twins.csv", index=False)
    for options, told in ((["--fidelity", "level"], False), (["--inputs", "a,b"], True)):
        said = swwl("fit", folder / "twins.csv", "--target", "y", *options, *SCALARS, "-o", folder / "t.swwl").output
        assert ("repeat others" in said) == told


def test_answers_of_cheap_rows_are_not_compared(fitted, folder):
    said = swwl("predict", folder / "m.swwl", folder / "levels.csv", "-o", folder / "p.csv").output
    assert len(pd.read_csv(folder / "p.csv")) == 75 and "agree with the model" in said.replace("\n", " ")
    swwl("report", folder / "m.swwl", "-o", folder / "r.html")
    assert "is helped by coarse" in (folder / "r.html").read_text(encoding="utf-8")


def test_suggest_proposes_levels(fitted, folder):
    pool = levels_table(30, 5)[["a", "b"]][30:] * 0.9
    pool.to_csv(folder / "pool.csv", index=False)
    costs = ["--cost", "coarse=1", "--cost", "fine=500"]
    swwl("suggest", folder / "m.swwl", folder / "pool.csv", "-n", 2, *costs, "-o", folder / "next.csv")
    assert pd.read_csv(folder / "next.csv")["level"].tolist() == ["coarse", "coarse"]
    for bad, words in (
        ("fine", "expected LEVEL=COST"),
        ("best=2", "no level 'best'"),
        ("fine=2", "'coarse' is missing"),
    ):
        said = swwl(
            "suggest", folder / "m.swwl", folder / "pool.csv", "-n", 2, "--cost", bad, "-o", folder / "x.csv", code=2
        )
        assert words in said.output.replace("\n", " ")


def test_cells_of_several_targets_may_be_empty(folder):
    table, path = folder / "missing.csv", folder / "s.swwl"
    targets = ["--target", "y", "--target", "h"]
    assert "column 'y' is missing in 45 of 60 rows" in swwl("check", table, *targets).output.replace("\n", " ")
    said = swwl("fit", table, *targets, *SCALARS, "-o", path).output
    assert "together  y (15 rows) is helped by h (60 rows)" in said.replace("\n", " ")
    swwl("predict", path, table, "-o", folder / "p.csv", "--force")
    assert pd.read_csv(folder / "p.csv")["y_mean"].notna().all()
    swwl("report", path, "-o", folder / "s.html")
    apart = swwl("fit", table, *targets, *SCALARS, "--targets-together", "no", "-o", folder / "n.swwl").output
    assert "together " not in apart and load_model(folder / "n.swwl").together_.empty


def test_mistakes_are_one_clear_line(folder):
    swwl("fit", folder / "missing.csv", "--target", "y", *SCALARS, "-o", folder / "x.swwl", code=2)
    for options, words in (
        (["--fidelity", "quality"], "has no column 'quality'"),
        (["--fidelity", "y"], "cannot be the fidelity"),
        (["--fidelity", "a"], "at most 5"),
    ):
        said = swwl("fit", folder / "levels.csv", "--target", "y", *options, *SCALARS, "-o", folder / "x.swwl", code=2)
        assert words in said.output.replace("\n", " ")
