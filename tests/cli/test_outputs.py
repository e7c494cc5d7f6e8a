"""No command overwrites its inputs, nor a file that it did not write, unless asked to."""

import os
import shutil

import pandas as pd
import pytest

from swwl import datasets, load_model
from swwl.jobs.outputs import check_output, is_picture
from tests.cli.conftest import SMALL, swwl


@pytest.fixture
def model(fitted, tmp_path):
    return shutil.copy(fitted, tmp_path / "m.swwl")


def commands(model, data, folder):
    """Every command that writes files, and those files."""
    mesh = ["--mesh", data / "meshes" / "00000.vtu", "--sweep", "pressure=1.38:1.44:3", "--target", "massflow"]
    fit = ["fit", data / "table.csv", "--target", "massflow", "--kernel", "scalars", "--no-calibrate", *SMALL]
    return {
        "fit": (fit, folder / "new.swwl", []),
        "predict": (["predict", model, data / "table.csv"], folder / "p.csv", []),
        "curve": (["curve", model, *mesh], folder / "c.svg", [folder / "c.csv"]),
        "curve-pdf": (["curve", model, *mesh], folder / "c.pdf", [folder / "c.csv"]),
        "report": (["report", model], folder / "r.html", []),
    }


def refused(*arguments, words):
    message = swwl(*arguments, code=2).stderr.splitlines()[-1]
    assert message.startswith("error: ") and words in message, message


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["fit", "predict", "curve", "curve-pdf", pytest.param("report", marks=pytest.mark.slow)]
)
def test_what_a_command_wrote_it_writes_again_and_nothing_else(name, model, data, tmp_path):
    arguments, output, others = commands(model, data, tmp_path)[name]
    swwl(*arguments, "-o", output)
    first = output.read_bytes()
    swwl(*arguments, "-o", output)
    assert output.read_bytes() == first
    for file in (output, *others):
        content = file.read_bytes()
        file.write_bytes(b"a,b\n1,2\n")
        refused(*arguments, "-o", output, words=f"{file}: already exists, and this command did not write it")
        assert file.read_bytes() == b"a,b\n1,2\n"
        swwl(*arguments, "-o", output, "--force")
        assert file.read_bytes() == content


@pytest.mark.slow
def test_the_users_table_survives(model, data, tmp_path):
    table = data / "table.csv"
    content = table.read_bytes()
    all_of_them = commands(model, data, tmp_path)
    os.symlink(data, tmp_path / "other-name")
    os.link(table, tmp_path / "hard.csv")
    for name in ("fit", "predict"):
        for where in (
            table,
            data / ".." / "d" / "table.csv",
            tmp_path / "other-name" / "table.csv",
            tmp_path / "hard.csv",
        ):
            for force in ((), ("--force",)):
                refused(*all_of_them[name][0], "-o", where, *force, words="table.csv, which is never overwritten")
    refused(*all_of_them["curve"][0], "-o", data / "table.png", words="table.csv: already exists")
    assert table.read_bytes() == content


def test_models_and_meshes_are_inputs_too(model, data, tmp_path):
    mesh = data / "meshes" / "00003.vtu"
    (tmp_path / "link.csv").symlink_to(mesh)
    fit, *_ = commands(model, data, tmp_path)["fit"]
    fit[fit.index("scalars")] = "swwl"
    refused(*fit, "-o", mesh, "-f", words="00003.vtu, which is never overwritten")
    refused("predict", model, data / "table.csv", "-o", tmp_path / "link.csv", "-f", words="never overwritten")
    (tmp_path / "m.csv").symlink_to(model)
    refused("predict", model, data / "table.csv", "-o", tmp_path / "m.csv", "-f", words="never overwritten")
    refused("coarsen", mesh, mesh, "-f", words="never overwritten")
    refused("coarsen", mesh, data / "meshes" / "00004.vtu", words="--force overwrites it")
    load_model(model)


def test_predictions_of_other_targets_are_not_ours(model, data, tmp_path):
    frame = pd.DataFrame(
        {f"{name}_{key}": [1.0] for name in ("lift",) for key in ("mean", "std", "lower95", "upper95")}
    )
    frame.to_csv(tmp_path / "p.csv", index=False)
    arguments = ["predict", model, data / "table.csv", "-o", tmp_path / "p.csv"]
    refused(*arguments, words="--force overwrites it")
    frame.rename(columns=lambda name: name.replace("lift", "massflow")).to_csv(tmp_path / "p.csv", index=False)
    swwl(*arguments)


def test_a_link_is_written_through(model, data, tmp_path):
    real = tmp_path / "there" / "real.swwl"
    real.parent.mkdir()
    link = tmp_path / "link.swwl"
    link.symlink_to(real)
    arguments, *_ = commands(model, data, tmp_path)["fit"]
    for _ in range(2):  # where it leads nowhere yet, and where it leads to a model
        swwl(*arguments, "-o", link)
        assert link.is_symlink() and load_model(real).target_names_ == ["massflow"]
    (tmp_path / "round.swwl").symlink_to(tmp_path / "round.swwl")
    refused(*arguments, "-o", tmp_path / "round.swwl", words="round.swwl: cannot be written")
    refused(*arguments, "-o", "/dev/null", "--force", words="is not an ordinary file")


@pytest.mark.slow
def test_a_data_folder_that_was_changed_is_not_made_again(tmp_path):
    arguments = ["make", "blade", "-n", 3, "--nodes", 300, "-o", tmp_path / "d", "--jobs", 1]
    swwl(*arguments)
    table = tmp_path / "d" / "table.csv"
    original = table.read_bytes()
    frame = pd.read_csv(table)
    for changed in (frame.assign(mine=1), frame.assign(split="train"), frame[:2], frame.assign(speed="fast")):
        changed.to_csv(table, index=False)
        content = table.read_bytes()
        refused(*arguments, words="table.csv has been changed since it was made")
        refused(*[4 if a == 3 else a for a in arguments], words="table.csv has been changed since it was made")
        assert table.read_bytes() == content
    swwl(*arguments, "--force")
    assert table.read_bytes() == original
    refused(*arguments, "--seed", 1, words="holds another data set")
    swwl(*arguments, "--seed", 1, "--force")
    assert table.read_bytes() != original
    swwl(*arguments, "--seed", 1)  # what --force made is as good as any other
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "table.csv").write_text("a\n1\n")
    with pytest.raises(FileExistsError, match="force=True"):
        datasets.write_dataset("blade", 3, tmp_path / "mine")
    assert (tmp_path / "mine" / "table.csv").read_text() == "a\n1\n"


def test_a_demonstration_spares_what_it_finds(tmp_path):
    for name in ("model.swwl", "predictions.csv", "curves.png", "curves.csv", "report.html"):
        (tmp_path / name).write_text("mine")
        refused("demo", tmp_path, "-n", 40, words=f"{name}: already exists")
        assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
        (tmp_path / name).unlink()


def test_a_demonstration_with_own_files_spares_what_it_finds(tmp_path):
    for name in ("table.csv", "new.csv", "parts/arm_07.stl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
        refused("demo", tmp_path, "--own-files", words=f"{name}: already exists")
        assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["mine"]
        (tmp_path / name).unlink()
    refused(
        "demo", tmp_path, "--own-files", "-n", 40, "--seed", 3, words="--own-files cannot be combined with -n or --seed"
    )


def test_pictures_of_others_are_not_ours(tmp_path):
    from matplotlib.figure import Figure

    for ending in ("png", "svg", "pdf"):
        Figure().savefig(tmp_path / f"a.{ending}")
        assert not is_picture(tmp_path / f"a.{ending}")
    check_output(tmp_path / "b.png", ours=is_picture)
