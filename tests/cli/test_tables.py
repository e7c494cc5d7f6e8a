"""Tables as people have them: other dialects, missing cells, categories, ids, and words for train and test."""

import json

import numpy as np
import pandas as pd
import pytest

from swwl import load_model
from swwl.tables.read import read_table_file
from tests.cli.conftest import SMALL, change, swwl

QUICK = ["--kernel", "swwl", "--no-calibrate", "--no-cache", *SMALL]


def fit(folder, *arguments, table="table.csv", code=0):
    """Fit massflow; return the facts, or the one line of a refusal."""
    options = ["--target", "massflow", "-o", folder.parent / "m.swwl", "--json", *QUICK, *arguments]
    result = swwl("fit", folder / table, *options, code=code)
    return json.loads(result.stdout) if code == 0 else result.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_german_table_gives_the_same_model(data):
    facts = fit(data)
    frame = read_table_file(data / "table.csv").frame  # pandas rounds differently
    frame["mesh"] = frame["mesh"].str.replace("/", "\\") + " "
    frame["split"] = frame["split"].str.title()
    frame.to_csv(data / "german.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig")
    frame.to_excel(data / "book.xlsx", index=False)
    for name in ("german.csv", "book.xlsx"):
        again = fit(data, table=name)
        wanted = facts["scores"] if name == "german.csv" else [pytest.approx(row) for row in facts["scores"]]
        assert again["scores"] == wanted  # Excel keeps fifteen digits
        assert again["inputs"] == ["mesh", "speed", "pressure"]
    swwl("predict", data.parent / "m.swwl", data / "german.csv", "-o", data.parent / "p.csv", "--no-cache")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_predictions_are_written_as_the_table_was(data, fitted, tmp_path, encoding):
    """Excel in Europe writes semicolons, decimal commas and a mark of UTF-8, and opens nothing else by a click."""
    table = pd.read_csv(data / "table.csv")
    table.assign(ort="Höhe 3").to_csv(data / "tabelle.csv", index=False, sep=";", decimal=",", encoding=encoding)
    swwl("predict", fitted, data / "table.csv", "-o", tmp_path / "plain.csv")
    for _ in range(2):  # the second time, the file is known as ours
        swwl("predict", fitted, data / "tabelle.csv", "-o", tmp_path / "wie.csv")
    assert (tmp_path / "wie.csv").read_bytes().startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
    found = pd.read_csv(tmp_path / "wie.csv", sep=";", decimal=",", encoding=encoding)
    assert found.pop("ort").tolist() == ["Höhe 3"] * len(table)
    pd.testing.assert_frame_equal(found, pd.read_csv(tmp_path / "plain.csv"))
    chosen = swwl("select", data / "tabelle.csv", "-n", 3, "-o", tmp_path / "erste.csv", "--inputs", "speed")
    assert chosen.exit_code == 0
    assert len(pd.read_csv(tmp_path / "erste.csv", sep=";", decimal=",", encoding=encoding)) == 3


def test_tabs_become_commas(data, fitted, tmp_path):
    pd.read_csv(data / "table.csv").to_csv(data / "table.tsv", index=False, sep="\t")
    swwl("predict", fitted, data / "table.tsv", "-o", tmp_path / "p.csv")
    assert "efficiency_mean" in pd.read_csv(tmp_path / "p.csv")


@pytest.mark.slow
def test_a_text_among_numbers_names_line_and_cure(data):
    change(data / "table.csv", pressure={2: "abgebrochen"})
    message = fit(data, code=2)
    assert "input 'pressure' must hold numbers, but line 4 holds 'abgebrochen'" in message
    assert "--drop-incomplete" in message and "--inputs" in message
    facts = fit(data, "--drop-incomplete")
    assert facts["inputs"] == ["mesh", "speed", "pressure"] and facts["training_rows"] == 31
    assert "1 incomplete left out (line 4)" in facts["split"]
    assert fit(data, "--inputs", "speed")["inputs"] == ["mesh", "speed"]
    assert fit(data, "--inputs", "")["inputs"] == ["mesh"]


@pytest.mark.slow
def test_missing_cells(data):
    split = pd.read_csv(data / "table.csv")["split"]
    test, train = split.index[split == "test"][2], split.index[split == "train"][3]
    change(data / "table.csv", massflow={test: np.nan})
    facts = fit(data)  # a simulation that failed, among those that are held out
    assert f"1 held out without a target, so not scored (line {test + 2})" in facts["split"]
    assert [row["n"] for row in facts["scores"]] == [7]  # no training rows are left out without calibration
    change(data / "table.csv", massflow={train: np.nan}, mesh={0: np.nan})
    message = fit(data, code=2)
    assert f"target 'massflow' is missing or not finite in 1 row (line {train + 2})" in message
    assert "--drop-incomplete" in message
    facts = fit(data, "--drop-incomplete")
    assert "2 incomplete left out (lines 2, " in facts["split"] and facts["training_rows"] == 30
    change(data / "table.csv", mesh={0: "meshes/00000.vtu"})
    swwl("predict", data.parent / "m.swwl", data / "table.csv", "-o", data.parent / "p.csv", "--no-cache")
    assert pd.read_csv(data.parent / "p.csv")["massflow_mean"].notna().all()  # targets are not needed


@pytest.mark.parametrize(
    ("words", "trained"), [(("Train", "TEST"), 32), (("fit", "val"), 32), (("training", "holdout"), 32)]
)
def test_words_for_train_and_test(data, words, trained):
    split = pd.read_csv(data / "table.csv")["split"]
    change(data / "table.csv", split=split.map({"train": words[0], "test": words[1]}))
    facts = fit(data)
    assert facts["training_rows"] == trained
    assert fit(data, "--all-rows")["training_rows"] == 40


def test_an_unknown_word_names_its_line(data):
    change(data / "table.csv", split={5: "tset"})
    message = fit(data, code=2)
    assert "line 7 says 'tset' in column 'split', but train" in message and "--all-rows" in message
    change(data / "table.csv", split={5: np.nan})
    assert "line 7 is empty in column 'split'" in fit(data, code=2)
    assert "1 left out without a value (line 7)" in fit(data, "--drop-incomplete")["split"]


@pytest.mark.slow
def test_ids_names_and_dates_are_not_inputs(data):
    days = pd.date_range("2024-01-31", periods=40).strftime("%Y-%m-%d")
    change(data / "table.csv", id=range(40), case=[f"case {k}" for k in range(40)], day=days, part=["train"] * 40)
    frame = pd.read_csv(data / "table.csv")
    frame.to_csv(data / "table.csv")  # with pandas' index in front
    facts = fit(data)
    assert facts["inputs"] == ["mesh", "speed", "pressure"]
    ignored = facts["ignored"]
    assert ignored["id"].startswith("numbers the rows") and ignored["Unnamed: 0"].startswith("numbers the rows")
    assert ignored["case"].startswith("names the rows") and ignored["day"] == "holds dates, not numbers"
    assert fit(data, "--inputs", "id,speed")["inputs"] == ["mesh", "id", "speed"]


@pytest.mark.slow
def test_columns_of_choices_are_not_inputs(data):
    rng = np.random.default_rng(0)
    change(
        data / "table.csv", rank=rng.permutation(40), score=rng.uniform(size=40), why=["farthest"] * 20 + ["near"] * 20
    )
    facts = fit(data)
    assert facts["inputs"] == ["mesh", "speed", "pressure"]
    assert {facts["ignored"][name] for name in ("rank", "score", "why")} == {"swwl select or swwl suggest wrote it"}
    assert fit(data, "--inputs", "speed,score")["inputs"] == ["mesh", "speed", "score"]


@pytest.mark.slow
def test_categories_are_learned_and_remembered(data):
    change(data / "table.csv", material=["steel", "copper", "none"] * 13 + ["steel"])
    facts = fit(data)
    assert facts["inputs"] == ["mesh", "speed", "pressure", "material"]
    assert load_model(data.parent / "m.swwl").kernel_.factors[-1].categories_ == ["copper", "none", "steel"]
    predict = ["predict", data.parent / "m.swwl", data / "table.csv", "-o", data.parent / "p.csv", "--no-cache"]
    swwl(*predict)
    change(data / "table.csv", material={6: "glass"})
    line = swwl(*predict, code=2).stderr.splitlines()[-1]
    assert "line 8: column 'material' holds 'glass', but the training rows only copper, none, steel" in line
    split = pd.read_csv(data / "table.csv")["split"]
    test = split.index[split == "test"][1]
    change(data / "table.csv", material={6: "steel", test: "glass"})
    assert f"1 held out with a material that no fitted row has (line {test + 2})" in fit(data)["split"]


def test_lines_after_blank_ones(data):
    lines = (data / "table.csv").read_text().splitlines()
    (data / "table.csv").write_text("\n".join([*lines[:3], "", "", *lines[3:]]).replace("00005.vtu", "gone.vtu"))
    assert "line 9: mesh 'meshes/gone.vtu' does not exist" in fit(data, code=2)


def test_too_few_rows_are_left(data):
    message = fit(data, "--test-fraction", "0.98", code=2)
    assert "at least 5 training rows are needed, found 1 (held out at random: 39 of 40 rows" in message
    message = fit(data, "--seed", "-1", code=2)
    assert "'--seed'" in message and (
        "greater than or equal to 0" in message or "x>=0" in message
    )  # by typer's version
