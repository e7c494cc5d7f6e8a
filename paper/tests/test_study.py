"""Studies: what they leave behind, how they go on, and what they refuse."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from matplotlib.figure import Figure

from swwl_paper import EXPERIMENTS, reproduce, rgasp
from swwl_paper.rows import RowFile
from swwl_paper.study import Study, markdown


def begun(folder, **options):
    study = Study("table4", options.pop("size", "small"), folder, **options)
    study.begin()
    return study


def test_a_record_says_where_numbers_come_from(tmp_path):
    study = begun(tmp_path, seed=3, command="swwl reproduce table4 --seed 3")
    study.note(meshes=40)
    assert json.loads((tmp_path / "table4.json").read_text())["finished"] is None
    study.finish()
    record = json.loads((tmp_path / "table4.json").read_text())
    assert record["experiment"] == "table4" and record["size"] == "small" and record["seed"] == 3
    assert record["commands"] == ["swwl reproduce table4 --seed 3"]
    assert record["started"] == record["finished"]
    assert record["settings"] == {"meshes": 40}
    assert {"python", "swwl", "numpy", "scipy"} <= record["versions"].keys()
    assert record["machine"]["cores"] >= 1
    assert "seed 3" in study.provenance() and "swwl reproduce table4" in study.provenance()


def test_another_size_or_seed_needs_another_folder(tmp_path):
    begun(tmp_path)
    begun(tmp_path, options={"dataset": ["blade"]}, command="narrower")
    assert json.loads((tmp_path / "table4.json").read_text())["commands"][-1] == "narrower"
    with pytest.raises(ValueError, match="holds table4 at size 'small' with seed 0, but size 'full'"):
        begun(tmp_path, size="full")
    with pytest.raises(ValueError, match="with seed 1 was requested"):
        begun(tmp_path, seed=1)
    (tmp_path / "table4.json").write_text("{")
    with pytest.raises(ValueError, match="is not the record of an experiment"):
        begun(tmp_path)


def test_what_saves_time_may_stand_elsewhere(tmp_path):
    assert begun(tmp_path / "a").work("data") == tmp_path / "a" / "work" / "data"
    cache = {"cache": [str(tmp_path / "cache")]}
    assert begun(tmp_path / "b", options=cache).work("data", "blade") == tmp_path / "cache" / "data" / "blade"


def test_tables_and_figures_carry_their_provenance(tmp_path):
    study = begun(tmp_path)
    study.show("Errors", pd.DataFrame({"kernel": ["SWWL"], "RMSE": ["0.1"]}), "Less is better.")
    study.show("Times", pd.DataFrame({"kernel": ["SWWL"], "s": ["2"]}))
    page = (tmp_path / "table4.md").read_text()
    assert page.index("Errors") < page.index("Less is better.") < page.index("Times")
    assert page.count(study.provenance()) == 1
    figure = Figure()
    figure.subplots().plot([1, 2])
    assert study.figure(figure).read_bytes().startswith(b"\x89PNG")
    assert figure.texts[-1].get_text() == study.provenance()


def test_only_known_names_are_chosen(tmp_path):
    study = begun(tmp_path, options={"dataset": ["blade"], "kernel": []})
    assert study.chosen("dataset", ["airfoil", "blade"]) == ["blade"]
    assert study.chosen("kernel", ["SWWL", "WWL"]) == ["SWWL", "WWL"]
    with pytest.raises(ValueError, match="no dataset 'blade'; choose from BZR"):
        study.chosen("dataset", ["BZR"])
    with pytest.raises(ValueError, match="'huge', but must be one of small, medium, full"):
        Study("table4", "huge", tmp_path)


def test_rows_keep_texts_numbers_and_gaps(tmp_path):
    rows = RowFile(tmp_path / "t.csv", ["name", "seed"])
    rows.add({"name": "a", "seed": 0, "value": 0.1 + 0.2, "note": ""}, {"name": "NA", "seed": 1, "value": float("nan")})
    again = RowFile(tmp_path / "t.csv", ["name", "seed"])
    assert again.has(name="NA", seed=1) and not again.has(name="a", seed=1)
    assert again.frame()["value"][0] == 0.1 + 0.2
    assert again.frame()["value"].isna().tolist() == [False, True]
    with pytest.raises(ValueError, match="already exists"):
        again.add({"name": "a", "seed": 0})
    with pytest.raises(ValueError, match="has no column 'fold'"):
        RowFile(tmp_path / "t.csv", ["fold"])
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match="is not a table"):
        RowFile(tmp_path / "empty.csv", ["fold"])


def test_markdown_is_a_table():
    text = markdown(pd.DataFrame({"a": [1], "b": ["x"], "c": ["–"]}))
    assert text.splitlines() == ["| a | b | c |", "|---|---:|---:|", "| 1 | x | – |"]


def test_the_command_names_mistakes(swwl, tmp_path):
    result = swwl("reproduce", "table9", "-o", tmp_path)
    assert result.exit_code == 2 and "no experiment 'table9'" in result.output
    result = swwl("reproduce", "table2", "--size", "huge", "-o", tmp_path)
    assert result.exit_code == 2 and "--size is 'huge'" in result.output
    result = swwl("reproduce", "--help")
    assert all(name in result.output for name in EXPERIMENTS)
    with pytest.raises(ValueError, match="no experiment 'table9'"):
        reproduce("table9", folder=tmp_path)


def test_the_command_is_one_of_swwl_and_loads_in_a_moment(swwl):
    assert "  reproduce " in swwl("--help").output
    # What `swwl --help` imports of this package must not bring in what takes a second to import.
    command = "import sys, swwl_paper.command; print(sorted({'pandas', 'scipy', 'matplotlib'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_command_runs_an_experiment_and_hides_where_its_files_are(swwl, rgasp_reference, tmp_path, monkeypatch):
    monkeypatch.setattr(rgasp, "compare", lambda reference, name: {"fit": name})
    monkeypatch.setattr(rgasp, "texts", lambda frame: frame.astype(str))
    monkeypatch.setattr(rgasp, "draw_differences", lambda frame: Figure())
    result = swwl("reproduce", "rgasp", "--reference", rgasp_reference, "-o", tmp_path, "--quiet")
    assert result.exit_code == 0 and result.output == ""
    assert json.loads((tmp_path / "rgasp.json").read_text())["commands"] == ["swwl reproduce rgasp --size small"]
