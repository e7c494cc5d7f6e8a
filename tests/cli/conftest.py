"""A small data folder, and ways to run the command in this process and in one of its own."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pytest
import typer.testing
from typer.main import get_command
from typer.testing import CliRunner

from swwl import datasets
from swwl.cli import app

SMALL = ["-P", "8", "-Q", "20", "-H", "1", "--jobs", "1"]


@functools.cache
def command():
    """Build the command once: that takes as long as a small prediction."""
    return get_command(app)


def swwl(*arguments, code=0):
    """Run the command in this process; check its exit code."""
    with patch.object(typer.testing, "_get_command", lambda _: command()):
        result = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="swwl")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def environment(**variables):
    """Return the environment of a process that imports this very package."""
    source = Path(__file__).parents[2] / "src"
    paths = [str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"} | variables


def start(*arguments, **options):
    """Start the command in a process of its own."""
    words = [sys.executable, "-m", "swwl", *(str(a) for a in arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, env=environment(**options.pop("env", {})), **streams | options)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Forty blades; do not change them."""
    folder = tmp_path_factory.mktemp("made") / "d"
    datasets.write_dataset("blade", 40, folder, n_nodes=300, random_state=0)
    return folder


@pytest.fixture
def data(made, tmp_path):
    """A copy of the blades to spoil."""
    return Path(shutil.copytree(made, tmp_path / "d"))


@pytest.fixture(scope="session")
def fitted(made, tmp_path_factory):
    """A model of two targets, fitted to a copy of the blades."""
    folder = tmp_path_factory.mktemp("fitted")
    shutil.copytree(made, folder / "d")
    targets = ["--target", "efficiency", "--target", "massflow"]
    swwl("fit", folder / "d" / "table.csv", "--mesh", "mesh", *targets, "-o", folder / "m.swwl", *SMALL)
    return folder / "m.swwl"


def change(table, **columns):
    """Overwrite columns of a table, or cells given as {row: value}."""
    frame = pd.read_csv(table)
    for name, values in columns.items():
        if isinstance(values, dict):
            frame[name] = frame[name].astype(object)
            for row, value in values.items():
                frame.loc[row, name] = value
        else:
            frame[name] = values
    frame.to_csv(table, index=False)
