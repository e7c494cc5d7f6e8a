"""What several commands print: tables of scores and choices, quiet or not."""

import json

import pandas as pd
import pytest

from swwl.cli.console import Output
from swwl.cli.show import show_choices, show_curve_model, show_field_scores, show_scores

ROW = {
    "target": "lift [N]",
    "test": "held out",
    "n": 8,
    "rmse": 0.0123456,
    "q2": 0.98765,
    "coverage": 0.95,
    "width": 0.1,
}
FIELD = {"field": "T", "test": "folds", "n": 0, "rrmse": 0.01, "q2": 0.9, "max_error": 0.05, "coverage": 0.9}


def test_scores_are_printed_as_they_are(capsys):
    show_scores(Output(), [ROW])
    text = capsys.readouterr().out
    assert "lift [N]" in text and "0.988" in text and "95 %" in text  # brackets are no colors
    show_scores(Output(as_json=True), [ROW])
    assert capsys.readouterr().out == ""


def test_scores_of_fields_name_the_worst_mesh(capsys):
    show_field_scores(Output(), [FIELD | {"worst_coverage": 0.7, "worst": "007.vtu", "worst_rrmse": 0.04}])
    assert "largest error, T, folds: 007.vtu (0.0400)" in capsys.readouterr().out
    show_field_scores(Output(), [])
    assert capsys.readouterr().out == ""


def test_what_a_model_of_curves_is_worth_is_one_sentence_by_the_strictest_test(capsys):
    row = {"curve": "cp", "n": 8, "rmse": 0.1, "coverage": 0.9, "whole": None}
    scores = [row | {"test": "folds", "q2": 0.98}, row | {"test": "held out", "q2": 0.05}]
    grid = {"curve": "cp", "points": 20, "from": 0.0, "to": 1.0, "splines": False, "shapes": 3}
    show_curve_model(Output(), grid | {"scores": scores})
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "verdict   cp: poor: hardly better than the mean; 90 % inside 95 % intervals"


@pytest.mark.parametrize("as_json", [False, True])
def test_choices_name_lines_of_the_table_and_only_some_in_text(as_json, capsys, tmp_path):
    chosen = pd.DataFrame({"row": range(25), "rank": range(1, 26), "score": 0.5, "why": "farthest"})
    show_choices(Output(as_json=as_json), chosen, pd.DataFrame({"x": range(30)}), tmp_path / "t.csv", "25 of 30 cases")
    text = capsys.readouterr().out
    if as_json:
        assert [row["rank"] for row in json.loads(text)] == list(range(1, 26))
    else:
        assert text.count("farthest") == 20 and "and 5 more" in text and "25 of 30 cases" in text
