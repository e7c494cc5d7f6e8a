"""Bad input: one clear line on standard error, exit code 2, nothing written."""

import os
import shutil
import subprocess
import sys

import meshio
import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import SMALL, change, swwl


def files(folder):
    """All files below a folder but for kept embeddings, which are finished work."""
    return sorted(path for path in folder.rglob("*") if ".swwl-cache" not in path.parts)


def complaint(folder, *arguments):
    """Run a command that must fail; return its one line."""
    before = files(folder)
    result = swwl(*arguments, code=2)
    assert files(folder) == before
    assert result.stdout == "" or "table" in result.stdout
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert lines == result.stderr.splitlines()[-1:]
    assert "Traceback" not in result.output
    return lines[0]


def fit(folder, *arguments, target="massflow", table="table.csv"):
    options = [*(arguments or ()), *SMALL]
    return complaint(folder.parent, "fit", folder / table, "--target", target, "-o", folder.parent / "m.swwl", *options)


def test_missing_table(data):
    assert "nothing.csv: no such table" in fit(data, table="nothing.csv")


def test_columns_that_are_no_meshes_and_fields_that_auto_does_not_use(data):
    message = fit(data, "--mesh", "speed")
    assert "does not name a mesh in column 'speed' (it holds 1" in message
    result = swwl("fit", data / "table.csv", "--target", "massflow", "--field", "pressure", "-o", "m.swwl", code=2)
    assert "--field does not apply to --kernel auto" in result.stderr


def test_folder_for_a_table(data):
    message = complaint(data.parent, "fit", data, "--target", "massflow", "-o", data.parent / "m.swwl")
    assert "is a folder" in message and "table.csv" in message


def test_missing_column_suggests_the_nearest(data):
    message = fit(data, target="masflow")
    assert "no column 'masflow'" in message and "Did you mean 'massflow'?" in message
    assert "Did you mean 'mesh'?" in fit(data, "--mesh", "mseh")
    assert "Did you mean 'speed'?" in fit(data, "--inputs", "sped,pressure")
    assert "no column 'part' to split by" in fit(data, "--split", "part")


def test_missing_mesh_names_the_line(data):
    change(data / "table.csv", mesh={7: "meshes/gone.vtu"})
    message = fit(data)
    assert "line 9" in message and "meshes/gone.vtu" in message


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("cache", ["--cache", "--no-cache"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_unreadable_mesh_names_the_line(data, split, cache, jobs):
    rows = pd.read_csv(data / "table.csv")["split"]
    row = rows[rows == split].index[3]
    (data / "meshes" / f"{row:05d}.vtu").write_text("not a mesh")
    message = fit(data, cache, "--jobs", jobs)
    assert message.startswith(f"error: {data / 'table.csv'}: line {row + 2}: ")
    assert f"{row:05d}.vtu" in message and "Graph" not in message and "Column" not in message


@pytest.mark.parametrize("cache", ["--cache", "--no-cache"])
def test_unreadable_mesh_to_predict(data, fitted, cache):
    (data / "meshes" / "00037.vtu").write_bytes(bytes(range(256)))
    arguments = ["predict", fitted, data / "table.csv", "-o", data.parent / "p.csv", cache]
    assert f"error: {data / 'table.csv'}: line 39: " in complaint(data.parent, *arguments)
    mesh = ["--mesh", data / "meshes" / "00037.vtu", "--sweep", "pressure=1.38:1.44:3"]
    message = complaint(data.parent, "curve", fitted, *mesh, "-o", data.parent / "c.png")
    assert "00037.vtu" in message and "Graph" not in message


def test_nan_names_the_lines(data):
    change(data / "table.csv", speed={3: np.nan, 8: np.nan})
    assert "'speed' is missing or not finite in 2 rows (lines 5, 10)" in fit(data)
    change(data / "table.csv", massflow={0: np.inf})
    assert "target 'massflow' is missing or not finite in 1 row (line 2)" in fit(data)


def test_target_not_numeric(data):
    change(data / "table.csv", massflow={2: "high"})
    assert "target 'massflow' must hold numbers, but line 4 holds 'high'" in fit(data)
    assert "must hold numbers" in fit(data, target="split")


def test_all_targets_equal(data):
    change(data / "table.csv", massflow=3.0)
    assert "target 'massflow' is 3 in all rows" in fit(data)


def test_unknown_kernel_and_bad_options(data):
    message = fit(data, "--kernel", "laplace")
    assert "'laplace'" in message and "principal" in message
    assert "--step must be a whole number or sqrt" in fit(data, "--step", "two")
    assert "Choose one of: a column" in fit(data, "--split", "split", "--test-fraction", "0.1")
    assert "between 0 and 1" in fit(data, "--test-fraction", "1.5")
    assert "n_quantiles must be an integer of at least 2" in complaint(
        data.parent, "fit", data / "table.csv", "--target", "massflow", "-o", data.parent / "m.swwl", "-Q", "1"
    )
    assert "Nothing to learn: --target" in complaint(data.parent, "fit", data / "table.csv", "-o", "m.swwl")
    assert "No such command" in complaint(data.parent, "fitt")
    assert "No such option" in complaint(data.parent, "info", data, "--nonsense")


def test_empty_table(data):
    (data / "none.csv").write_text("")
    assert "the table is empty" in fit(data, table="none.csv")
    (data / "header.csv").write_text("mesh,massflow\n")
    assert "no rows" in fit(data, table="header.csv")
    (data / "short.csv").write_text("mesh;massflow\na.vtu;1\nb.vtu\n")
    assert "short.csv: line 3 has 1 cells, but the header has 2: columns are separated by semicolons" in fit(
        data, table="short.csv"
    )
    (data / "binary.csv").write_bytes(bytes(range(256)))
    assert "cannot be read as a table" in fit(data, table="binary.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_what_is_not_a_file_is_not_opened(data, fitted):
    for name in ("p.csv", "p.swwl", "p.vtu"):
        os.mkfifo(data / name)
        assert f"{name}: it is a pipe, but a file is expected" in complaint(data.parent, "info", data / name)
    assert "p.csv: it is a pipe" in fit(data, table="p.csv")
    assert "/dev/zero: it is a device" in complaint(data.parent, "fit", "/dev/zero", "--target", "y", "-o", "x.swwl")
    predict = ["-o", data.parent / "x.csv"]
    assert "p.swwl: it is a pipe" in complaint(data.parent, "predict", data / "p.swwl", data / "table.csv", *predict)
    assert "p.vtu: it is a pipe" in complaint(data.parent, "predict", fitted, "--mesh", data / "p.vtu", *predict)


def test_a_folder_of_cases_is_found_from_where_one_stands(data, fitted, monkeypatch):
    monkeypatch.chdir(data.parent)
    assert "needs" in (said := complaint(data.parent, "predict", fitted, "d/meshes", "-o", "x.csv")) or "speed" in said
    assert "does not exist" not in said
    assert "d: is a folder, but a model file" in complaint(data.parent, "predict", "d", "d/table.csv", "-o", "x.csv")


def test_numbers_whose_squares_overflow(data, fitted):
    change(data / "table.csv", speed={3: 1e308})
    assert "input 'speed' is 1e+308 in 1 row (line 5): its square overflows" in fit(data)
    case = ["--mesh", data / "meshes" / "00000.vtu", "pressure=1.4"]
    assert "speed must be a number, not '1e308'" in complaint(data.parent, "predict", fitted, *case, "speed=1e308")


def test_absurd_numbers_of_iterations_are_refused_before_anything_is_made(data):
    command = ["fit", data / "table.csv", "--target", "massflow", "-o", data.parent / "m.swwl", "-H", "100000"]
    assert "less than or equal to 1000" in complaint(data.parent, *command)


def test_terminals_that_know_few_letters(fitted):
    told = subprocess.run(
        [sys.executable, "-m", "swwl", "info", str(fitted)],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert told.returncode == 0 and told.stderr == b"" and b"+-" in told.stdout and b"Q2" in told.stdout


def test_too_little_memory_is_one_line(data, monkeypatch):
    def exhausted(*arguments):
        raise MemoryError("Unable to allocate 298. GiB")

    monkeypatch.setattr("swwl.jobs.describe.describe", exhausted)
    assert "not enough memory for this (Unable to allocate 298. GiB)" in complaint(data.parent, "info", data)


def test_few_rows_and_no_meshes(data):
    header, *rows = (data / "table.csv").read_text().splitlines()
    (data / "few.csv").write_text("\n".join([header, *rows[:3]]))
    assert "at least 5 training rows" in fit(data, table="few.csv")
    (data / "one.csv").write_text("load,massflow\n1,2\n")
    assert "at least 5 training rows" in fit(data, "--kernel", "scalars", table="one.csv")
    change(data / "table.csv", mesh="text")
    assert "no column holds paths of meshes" in fit(data)


def test_parquet_needs_pyarrow(data, monkeypatch):
    for module in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    (data / "t.parquet").write_bytes(b"PAR1")
    assert "needs pyarrow" in fit(data, table="t.parquet")


def test_output_that_cannot_be_written(data, fitted):
    for where in (data / "table.csv" / "m.swwl", data / "nowhere" / "m.swwl", data):
        arguments = ["fit", data / "table.csv", "--target", "massflow", "-o", where, *SMALL]
        message = complaint(data.parent, *arguments)
        assert "does not exist" in message or "is a folder" in message
    assert "must end in .csv" in complaint(data.parent, "predict", fitted, data / "table.csv", "-o", data / "p.xls")
    assert "is a file" in complaint(data.parent, "make", "blade", "-n", 3, "-o", data / "table.csv")


def test_model_files_that_are_none(data, fitted):
    whole = fitted.read_bytes()
    for name, content in {"cut": whole[: len(whole) // 2], "other": b"hello", "empty": b""}.items():
        (data / f"{name}.swwl").write_bytes(content)
        message = complaint(data.parent, "predict", data / f"{name}.swwl", data / "table.csv", "-o", data / "p.csv")
        assert f"{name}.swwl: is not a swwl model file" in message
        assert "is not a swwl model file" in complaint(data.parent, "report", data / f"{name}.swwl")
    assert "no such file" in complaint(data.parent, "info", data / "nothing.swwl")


def test_prediction_tables_that_do_not_fit(data, fitted):
    def predict():
        return complaint(data.parent, "predict", fitted, data / "table.csv", "-o", data.parent / "p.csv")

    original = (data / "table.csv").read_text()
    (data / "table.csv").write_text(original.replace("speed", "sped"))
    message = predict()
    assert "no column 'speed' for input" in message and "Did you mean 'sped'?" in message
    (data / "table.csv").write_text(original)
    flat = meshio.Mesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [("triangle", [[0, 1, 2]])])
    flat.write(data / "meshes" / "00002.vtu")
    message = predict()
    assert "line 4" in message and "2 features per node, but fit saw 3" in message
    shutil.rmtree(data / "meshes")
    assert "line 2" in predict()


def test_curves_that_make_no_sense(fitted, data):
    mesh = ["--mesh", data / "meshes" / "00000.vtu"]

    def curve(*arguments):
        return complaint(data.parent, "curve", fitted, *arguments, "-o", data.parent / "c.png")

    assert "such as pressure=1.3:1.5:20" in curve(*mesh, "--sweep", "pressure=1.3")
    assert "such as pressure=1.3:1.5:20" in curve(*mesh, "--sweep", "pressure=1.3:1.5:1")
    assert "no numeric input 'height'" in curve(*mesh, "--sweep", "height=1:2:3")
    assert "no target 'lift'" in curve(*mesh, "--sweep", "pressure=1.3:1.5:5", "--target", "lift")
    assert "no such mesh file" in curve("--mesh", "gone.vtu", "--sweep", "pressure=1.3:1.5:5")
    assert "mesh columns of the model are mesh, but meshes were given for none" in curve(
        "--sweep", "pressure=1.3:1.5:5"
    )
    assert "--each" in curve(*mesh, "--sweep", "pressure=1.3:1.5:5", "--each", "speed=fast")
