"""What `swwl fit` says of bad rows and of few rows."""

import json

import numpy as np
import pandas as pd
import pytest

from swwl import load_model
from tests.cli.conftest import swwl


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((50, 2)), columns=["a", "b"])
    frame["drag"] = 1.5 + np.sin(4 * frame["a"]) + frame["b"] ** 2
    frame.loc[[7, 20], "drag"] *= 4
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_bad_rows_are_named_by_their_lines_and_can_be_kept(table, tmp_path):
    path = tmp_path / "m.swwl"
    arguments = ["fit", table, "--target", "drag", "--kernel", "scalars", "-o", path]
    result = swwl(*arguments)
    (note,) = [line for line in result.stderr.splitlines() if "do not explain" in line]
    assert note.startswith("note: drag: the other rows do not explain line ") and "times the expected" in note
    assert "line 9 (" in note and "line 22 (" in note and "swwl fit --keep-outliers counts them in full" in note
    assert "Warning" not in result.stderr
    assert "line 22 (" in swwl("info", path).stderr
    facts = json.loads(swwl("info", path, "--json").stdout)
    assert {row["place"] for row in facts["outliers"]} == {"line 9", "line 22"}
    assert facts["scores"][0]["n"] == 48
    kept = swwl(*arguments, "--keep-outliers")
    assert "do not explain" not in kept.stderr and load_model(path).outliers == "keep"


def test_few_rows_have_no_score(table, tmp_path):
    pd.read_csv(table)[:7].to_csv(tmp_path / "few.csv", index=False)
    text = swwl("fit", tmp_path / "few.csv", "--target", "drag", "--kernel", "scalars", "-o", tmp_path / "f").stdout
    assert "accuracy is unknown: no rows were left out or held out" in text and "Q²" not in text
