"""What the tests of several experiments need."""

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from swwl.cli.app import app

PROJECT = Path(__file__).parents[1]
REFERENCE = PROJECT.parent / "tests" / "gp" / "data" / "rgasp_reference.json"


@pytest.fixture(scope="session")
def rgasp_reference():
    """R's answers, which the library's own tests keep, or skip."""
    if not REFERENCE.is_file():
        pytest.skip(f"{REFERENCE.name} stands in a clone of swwl alone")
    return REFERENCE


@pytest.fixture
def swwl(tmp_path_factory, monkeypatch):
    """The command, with what this project adds to it, installed or not."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = tmp_path_factory.mktemp("site")
    metadata = site / f"swwl_paper-{project['version']}.dist-info"
    metadata.mkdir()
    lines = [f"{name} = {value}" for name, value in project["entry-points"]["swwl.commands"].items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[swwl.commands]", *lines, ""]))
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    monkeypatch.syspath_prepend(site)

    def run(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="swwl")

    return run
