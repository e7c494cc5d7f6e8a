"""Every command does its job, and says so to people and to scripts."""

import gc
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import swwl as package
from swwl import Mesh, datasets, load_model, read_mesh
from tests.cli.conftest import SMALL, environment, start, swwl
from tests.fielddata import QUICK, write_plates
from tests.helpers import plate, write_cgns

COMMANDS = ["check", "embed", "demo", "make", "fit", "predict", "submit", "curve", "explain", "select", "suggest",
            "loop", "improve", "report", "serve", "coarsen", "info"]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command):
    text = swwl(command, "--help").stdout
    assert "Example:" in text
    assert f"swwl {command}" in text.split("Example:")[1]


def test_help_lists_all_commands_and_without_arguments_too():
    for arguments in ([], ["--help"]):
        text = swwl(*arguments).stdout
        listed = text.partition("Commands:")[2]
        assert all(f"\n  {command} " in listed for command in COMMANDS)
        assert "..." not in listed  # every summary fits its line
    assert swwl("--version").stdout == f"swwl {package.__version__}\n"


def test_make(tmp_path):
    result = swwl("make", "airfoil", "-n", 3, "--nodes", 1000, "-o", tmp_path / "a", "--jobs", 1, "--json")
    facts = json.loads(result.stdout)
    assert facts["rows"] == 3
    assert len(datasets.load_dataset(tmp_path / "a")) == 3
    assert "airfoil: 3 of 3" in result.stderr


def test_fit_says_what_it_found(made, tmp_path):
    text = swwl("fit", made / "table.csv", "--target", "efficiency", "-o", tmp_path / "m", "--no-cache", *SMALL).stdout
    assert "column 'split': 32 rows say train, the other 8 are held out" in text
    assert "inputs    mesh, speed, pressure\n" in text
    assert "ignored   massflow: an output of the simulation, according to about.json" in text
    assert "meshes    40 of" in text and "40 embedded, 0 found" in text
    for words in (
        "ranges and importance",
        "components of mesh",
        "width of intervals",
        "cross-validation",
        "held-out rows",
    ):
        assert words in text
    assert not (made / ".swwl-cache").exists()


def test_fit_as_json_equals_the_model(made, tmp_path):
    arguments = ["fit", made / "table.csv", "--target", "massflow", "-o", tmp_path / "m.swwl", "--json", "--no-cache"]
    facts = json.loads(swwl(*arguments, *SMALL).stdout)
    model = load_model(tmp_path / "m.swwl")
    assert facts["importance"]["massflow"] == pytest.approx(model.importance_.to_dict())
    table = datasets.load_dataset(made)
    test = table[table["split"] == "test"]
    held_out = next(row for row in facts["scores"] if row["test"] == "held-out rows")
    assert held_out["q2"] == pytest.approx(model.score(test, test["massflow"]))
    lower, upper = model.predict_with_domain(test)[0].interval(0.95)
    assert held_out["coverage"] == np.mean((lower <= test["massflow"]) & (test["massflow"] <= upper))


@pytest.mark.parametrize("kernel", ["swwl", "aswwl", "scalars"])
def test_kernels_and_rows(kernel, made, tmp_path):
    options = ["--kernel", kernel, "--inputs", "speed,pressure", "--json", "--no-cache", "--no-calibrate", *SMALL]
    arguments = ["fit", made / "table.csv", "--target", "massflow", "-o", tmp_path / "m.swwl", *options]
    facts = json.loads(swwl(*arguments, "--test-fraction", "0.25").stdout)
    assert facts["training_rows"] == 30 and [row["test"] for row in facts["scores"]] == ["held-out rows"]
    assert facts["inputs"] == (["speed", "pressure"] if kernel == "scalars" else ["mesh", "speed", "pressure"])
    assert facts["meshes"] == (0 if kernel == "scalars" else 40)
    again = json.loads(swwl(*arguments, "--all-rows").stdout)
    assert again["training_rows"] == 40
    assert again["scores"] == []  # nothing was left out
    assert again["verdicts"]["massflow"].startswith("cannot be judged")


def test_predict_keeps_rows_in_order(fitted, tmp_path):
    table = fitted.parent / "d" / "table.csv"
    shuffled = pd.read_csv(table).sample(frac=1, random_state=0)
    shuffled.to_csv(table.parent / "shuffled.csv", index=False)
    facts = json.loads(
        swwl("predict", fitted, table.parent / "shuffled.csv", "-o", tmp_path / "p.csv", "--json").stdout
    )
    assert list(dict.fromkeys(row["target"] for row in facts["scores"])) == ["efficiency", "massflow"]
    found = pd.read_csv(tmp_path / "p.csv")
    assert found["mesh"].tolist() == shuffled["mesh"].tolist()
    inputs = shuffled.assign(mesh=[str(table.parent / mesh) for mesh in shuffled["mesh"]])
    model = load_model(fitted)
    mean, std = model.predict(inputs, return_std=True)
    lower, upper = model.predict_interval(inputs)
    for k, name in enumerate(["efficiency", "massflow"]):
        wanted = {"mean": mean, "std": std, "lower95": lower, "upper95": upper}
        for key, values in wanted.items():
            np.testing.assert_allclose(found[f"{name}_{key}"], values[:, k], rtol=1e-9)


def test_a_field_is_fitted_and_predicted(tmp_path):
    table, options = write_plates(tmp_path / "d", 9), ["--no-calibrate", "--no-cache", *QUICK]
    facts = swwl(
        "fit", table, "--target-field", "heat", "--inputs", "load", "-o", tmp_path / "m.swwl", *options, "--json"
    )
    assert [(field["field"], field["on"]) for field in json.loads(facts.stdout)["fields"]] == [("heat", "nodes")]
    swwl("predict", tmp_path / "m.swwl", table, "-o", tmp_path / "p", "--no-cache", "-q")
    found = read_mesh(tmp_path / "p" / "008.vtu").fields
    assert (found["heat_lower95"] <= found["heat"]).all() and (found["heat"] <= found["heat_upper95"]).all()
    assert found["heat"].shape == found["heat_true"].shape


@pytest.mark.slow
def test_curve_draws_and_writes_numbers(fitted, tmp_path):
    mesh = fitted.parent / "d" / "meshes" / "00035.vtu"
    sweep = ["--sweep", "pressure=1.38:1.44:5", "--each", "speed=17000,17300"]
    text = swwl("curve", fitted, "--mesh", mesh, *sweep, "-o", tmp_path / "c.png").stdout
    assert "10 points" in text
    numbers = pd.read_csv(tmp_path / "c.csv")
    assert numbers["pressure"].tolist() == pytest.approx(np.tile(np.linspace(1.38, 1.44, 5), 2))
    table = numbers[["speed", "pressure"]].assign(mesh=str(mesh))
    np.testing.assert_allclose(numbers["massflow_mean"], load_model(fitted).predict(table)[:, 1], rtol=1e-9)
    with Image.open(tmp_path / "c.png") as picture:
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 10
    one = ["--sweep", "pressure=1.38:1.44:5", "--fix", "speed=17000", "--target", "massflow"]
    facts = json.loads(swwl("curve", fitted, "--mesh", mesh, *one, "-o", tmp_path / "c.svg", "--json").stdout)
    assert set(facts["points"]["speed"]) == {17000.0}
    assert "efficiency_mean" not in facts["points"]


def test_info(fitted, made):
    mesh = json.loads(swwl("info", made / "meshes" / "00000.vtu", "--json").stdout)
    assert mesh["kind"] == "mesh"
    assert mesh["features"] == 3
    assert mesh["cells"]["triangle"] > 100
    text = swwl("info", made / "meshes" / "00000.vtu").stdout
    assert "nodes" in text and "field     pressure" in text
    table = json.loads(swwl("info", made / "table.csv", "--json").stdout)
    assert table["rows"] == 40
    assert {c["name"]: c["holds"] for c in table["columns"]}["mesh"] == "40 meshes"
    assert "32 train, 8 test" in swwl("info", made / "table.csv").stdout
    folder = swwl("info", made).stdout
    assert "40 simulations of blade, seed 0" in folder
    model = swwl("info", fitted).stdout
    assert "model of efficiency, massflow, fitted to 32 rows" in model
    assert "columns that a table for swwl predict must have" in model
    assert "held-out rows" in model


def test_info_of_cgns(tmp_path):
    points, triangles = plate(60)
    write_cgns(tmp_path / "mesh.cgns", points, triangles, {"pressure": np.arange(60.0)})
    facts = json.loads(swwl("info", tmp_path / "mesh.cgns", "--json").stdout)
    assert facts["nodes"] == 60
    assert facts["cells"] == {"triangle": len(triangles)}
    assert facts["node_fields"]["pressure"]["largest"] == 59


def test_info_lists_fields_of_cells(tmp_path):
    points, triangles = plate(60)
    fields = {"p": np.arange(len(triangles)) + 0.5, "U": np.ones((len(triangles), 2))}
    Mesh(points, triangles, {"T": np.arange(60.0)}, cell_fields=fields).write(tmp_path / "a.vtu")
    text = swwl("info", tmp_path / "a.vtu").stdout
    assert "field     T: 0 to 59\n" in text and "field     U: on cells, 2 components, 1 to 1\n" in text
    assert json.loads(swwl("info", tmp_path / "a.vtu", "--json").stdout)["cell_fields"]["p"]["least"] == 0.5


def test_info_lists_groups(tmp_path):
    points, triangles = plate(60)
    groups = {"inlet": [[0, 1], [1, 2]], "body": {"triangle": [3]}, "fix": [4, 5]}
    Mesh(points, triangles, groups=groups).write(tmp_path / "a.vtu")
    text = swwl("info", tmp_path / "a.vtu").stdout
    assert "group     inlet: 2 faces with 3 nodes\n" in text and "group     fix: 2 nodes\n" in text
    facts = json.loads(swwl("info", tmp_path / "a.vtu", "--json").stdout)
    assert facts["groups"]["body"] == {"kind": "cells", "size": 1, "nodes": 3}


@pytest.mark.slow
def test_demo_with_own_files_runs_the_commands_that_it_prints(tmp_path):
    folder = tmp_path / "own files"
    text = swwl("demo", folder, "--own-files").stdout
    printed = [shlex.split(line)[2:] for line in text.splitlines() if line.startswith("$ swwl ")]
    assert [words[0] for words in printed] == ["check", "fit", "predict", "report"]
    made = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if ".swwl-cache" not in path.parts}
    parts = {f"parts/arm_{k:02d}.stl" for k in range(1, 37)}
    assert made == parts | {"parts", "table.csv", "new.csv", "model.swwl", "predictions.csv", "report.html"}
    assert "deflection_mm" not in pd.read_csv(folder / "new.csv").columns

    before = (folder / "predictions.csv").read_bytes()
    facts = json.loads(swwl("demo", folder, "--own-files", "--json").stdout)  # the folder may be used again
    assert facts["commands"] == printed and (folder / "predictions.csv").read_bytes() == before
    relative = [part["mean"] / part["answer"] - 1 for part in facts["parts"]]
    assert np.abs(relative).max() < 0.1 and len(relative) == 6
    assert all(part["lower95"] < part["answer"] < part["upper95"] for part in facts["parts"])


@pytest.mark.slow
def test_demo_ends_with_scores_and_a_report(tmp_path):
    facts = json.loads(swwl("demo", tmp_path / "demo", "-n", 40, "--nodes", 300, "--json", "--quiet").stdout)
    assert [row["model"] for row in facts["scores"]][:2] == ["scalars alone", "SWWL"]
    for name in ("report.html", "model.swwl", "predictions.csv", "curves.png", "data/table.csv"):
        assert (tmp_path / "demo" / name).stat().st_size > 0
    predictions = pd.read_csv(tmp_path / "demo" / "predictions.csv")
    assert len(predictions) == 8
    error = predictions["max_von_mises_mean"] - predictions["simulated"]
    assert np.sqrt((error**2).mean()) == pytest.approx(facts["scores"][-1]["rmse"])


@pytest.mark.slow
def test_quiet_prints_nothing(data, tmp_path):
    (data / ".swwl-cache").write_text("a file where a folder should be")  # worth a note, and nothing more
    arguments = ["fit", data / "table.csv", "--target", "massflow", "-o", tmp_path / "m", "--no-calibrate", *SMALL]
    notes = [line for line in swwl(*arguments).stderr.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1 and ".swwl-cache: embeddings are not kept" in notes[0]
    assert swwl(*arguments, "-q").output == ""


def test_json_of_a_table_with_lists(tmp_path):
    table = pd.DataFrame({"modes": ["[1, 2]", "[3, 4]"], "y": [1.0, 2.0]})
    table.to_csv(tmp_path / "t.csv", index=False)
    facts = json.loads(swwl("info", tmp_path / "t.csv", "--json").stdout)
    assert [column["holds"] for column in facts["columns"]] == ["1 [1, 2], 1 [3, 4]", "numbers"]


def test_coarsen(made, tmp_path):
    pytest.importorskip("mmgpy", reason="mmgpy (the extra [mmg]) is not installed")
    source = made / "meshes" / "00000.vtu"
    facts = json.loads(swwl("coarsen", source, tmp_path / "c.vtu", "--nodes", "150", "--json").stdout)
    assert 135 <= facts["nodes"] <= 165 < facts["nodes_before"]
    assert json.loads(swwl("info", tmp_path / "c.vtu", "--json").stdout)["nodes"] == facts["nodes"]
    for output, nodes, message in (
        ("c.xyz", 150, "c.xyz: the file extension '.xyz' is not supported"),
        ("d.vtu", 9000, "fewer than the 9000 requested"),
    ):
        assert message in swwl("coarsen", source, tmp_path / output, "--nodes", nodes, code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["c.vtu"]


@pytest.mark.slow
def test_coarsen_a_folder(tmp_path):
    pytest.importorskip("mmgpy", reason="mmgpy (the extra [mmg]) is not installed")
    datasets.write_dataset("blade", 3, tmp_path / "fine", n_nodes=400)
    result = swwl("coarsen", tmp_path / "fine", tmp_path / "coarse", "--nodes", 200, "--jobs", 1)
    assert "3 meshes" in result.stdout
    assert len(datasets.load_dataset(tmp_path / "coarse")) == 3


def test_coarsening_says_which_extra_it_needs(made, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mmgpy", None)
    source = made / "meshes" / "00000.vtu"
    result = swwl("coarsen", source, tmp_path / "c.vtu", "--nodes", "150", code=2)
    assert "pip install 'swwl[mmg]'" in result.stderr


def test_shell_completion():
    environment = {"_SWWL_COMPLETE": "complete_bash", "COMP_WORDS": "swwl pre", "COMP_CWORD": "1"}
    process = start(env=environment)
    out, _ = process.communicate(timeout=60)
    assert out.split() == ["predict"]


def test_help_and_completion_wait_for_no_large_library():
    code = "import sys, swwl.cli; sys.exit(any(name in sys.modules for name in ('sklearn', 'scipy', 'pandas')))"
    source = str(Path(package.__file__).parents[1])
    assert subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": source}).returncode == 0
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Grph'"):
        package.Grph  # noqa: B018


# What a prediction has no use for, and is slow to import; a table looks up the rows that the model was fitted to.
UNUSED = ["sklearn", "scipy.stats", "scipy.optimize", "scipy.interpolate", "matplotlib", "meshio", "h5py", "jinja2",
          "pooch", "rich.progress", "starlette", "swwl.fields.estimator",
          "swwl.regression.curves.estimator"]  # fmt: skip
UNUSED_BY_ONE_CASE = [*UNUSED, "scipy.spatial", "joblib"]
TELLS_MODULES = """
import gc, json, sys
from swwl.cli import main
try:
    main()
finally:
    assert gc.isenabled()
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize("one_case", [True, False])
def test_predict_waits_for_no_library_that_it_does_not_use(made, fitted, tmp_path, one_case):
    row = pd.read_csv(made / "table.csv")[["mesh", "speed", "pressure"]].iloc[[3]]
    row["mesh"] = str(made / row["mesh"].item())
    row.to_csv(tmp_path / "one.csv", index=False)
    numbers = [f"{name}={row[name].item()}" for name in ("speed", "pressure")]
    case = ["--mesh", row["mesh"].item(), *numbers] if one_case else [tmp_path / "one.csv", "-o", tmp_path / "p.csv"]
    words = [str(word) for word in ("predict", fitted, *case, "--json")]
    command = [sys.executable, "-c", TELLS_MODULES, *words]
    found = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    imported = json.loads(found.stderr.splitlines()[-1])
    assert set(UNUSED_BY_ONE_CASE if one_case else UNUSED).isdisjoint(imported)
    frozen = gc.get_freeze_count()
    here = json.loads(swwl(*words).stdout)  # in a process that has all of them
    assert gc.get_freeze_count() <= frozen  # which is for processes of our own
    told = json.loads(found.stdout)
    floats = [key for key, value in here.items() if isinstance(value, float)]
    np.testing.assert_allclose([told.pop(key) for key in floats], [here.pop(key) for key in floats], rtol=1e-9)
    assert told == here


def test_predict_keeps_all_columns_and_marks_rows_outside(data, fitted, tmp_path):
    table = pd.read_csv(data / "table.csv")
    table.insert(0, "case", [f"case {k}" for k in range(len(table))])
    table.loc[2, "speed"] = 1e9
    table.to_csv(data / "cases.csv", index=False)
    result = swwl("predict", fitted, data / "cases.csv", "-o", tmp_path / "p.csv")
    assert "cases are outside the training range, where nothing has been tested" in result.stdout
    found = pd.read_csv(tmp_path / "p.csv")
    assert list(found.columns[: table.shape[1]]) == list(table.columns)
    assert found["case"].tolist() == table["case"].tolist()
    outside = found["outside_training_range"].fillna("")
    assert outside[2] == "speed"
    fitted_rows = (table["split"] == "train") & (table.index != 2)
    assert (outside[fitted_rows] == "").all()


@pytest.mark.slow
def test_one_case_without_a_table(data, fitted, tmp_path):
    table = pd.read_csv(data / "table.csv")
    row = table.iloc[3]
    inputs = [f"speed={float(row['speed'])!r}", f"pressure={float(row['pressure'])!r}"]
    answer = json.loads(swwl("predict", fitted, "--mesh", data / row["mesh"], *inputs, "--json").stdout)
    swwl("predict", fitted, data / "table.csv", "-o", tmp_path / "p.csv")
    expected = pd.read_csv(tmp_path / "p.csv").iloc[3]
    for key in ("mean", "std", "lower95", "upper95"):
        assert answer[f"massflow_{key}"] == pytest.approx(expected[f"massflow_{key}"], rel=1e-9)
    text = swwl("predict", fitted, "--mesh", data / row["mesh"], *inputs).stdout
    assert "95 % between" in text and "all inputs lie inside the training range" in text
    for given, message in (
        (["--mesh", data / row["mesh"], "speed=1"], "The model also needs pressure: give pressure=VALUE"),
        (["--mesh", data / row["mesh"], "sped=1"], "'sped=1' is not understood; expected NAME=VALUE for mesh, speed"),
        (["--mesh", data / row["mesh"], *inputs, "speed=2"], "'speed' is given twice"),
        ([], "One table is expected, but none was given"),
        ([data / "table.csv"], "--output says where the predictions of a table go"),
    ):
        result = swwl("predict", fitted, *given, code=2)
        assert message in result.stderr
