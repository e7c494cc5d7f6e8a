"""Other packages add commands by entry points; one that is broken does no harm."""

import sys

import pytest

from tests.cli.conftest import command, swwl

GOOD = '''
from typing import Annotated
import typer
from swwl.errors import InputError

def greet(name: Annotated[str, typer.Argument(help="Whom.")], loud: Annotated[bool, typer.Option("--loud")] = False):
    """Greet somebody.

    \\b
    Example:
      swwl greet Ada
    """
    if name == "nobody":
        raise InputError("There is nobody to greet.")
    print(name.upper() if loud else name)

def fit(name: str):
    """Take the place of ours."""
'''


@pytest.fixture(autouse=True)
def plugins(tmp_path, monkeypatch):
    """A package with a good command, one that fails, and one with a name of ours."""
    (tmp_path / "swwl_greeting.py").write_text(GOOD)
    (tmp_path / "swwl_broken.py").write_text("import nothing_of_this_name\n")
    folder = tmp_path / "swwl_greeting-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: swwl-greeting\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[swwl.commands]\ngreet = swwl_greeting:greet\nfit = swwl_greeting:fit\nbroken = swwl_broken:run\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    command.cache_clear()  # it remembers which plug-ins there were
    yield
    command.cache_clear()
    sys.modules.pop("swwl_greeting", None)


def test_commands_of_plugins_are_listed_and_run():
    result = swwl("--help")
    assert "\n  greet " in result.stdout and "Greet somebody." in result.stdout
    assert swwl("greet", "Ada", "--loud").stdout == "ADA\n"
    assert "swwl greet Ada" in swwl("greet", "-h").stdout


def test_a_broken_plugin_is_noted_and_the_others_go_on():
    result = swwl("--help")
    notes = [line for line in result.stderr.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1
    assert "broken" in notes[0] and "nothing_of_this_name" in notes[0]
    assert "No such command 'broken'" in swwl("broken", code=2).stderr


def test_mistakes_in_plugins_are_one_line():
    assert swwl("greet", "nobody", code=2).stderr == "error: There is nobody to greet.\n"


def test_our_own_commands_come_first():
    text = swwl("fit", "--help").stdout
    assert "Learn targets, whole fields or curves from meshes and numbers." in text
    assert "note" not in swwl("fit", "--help").stderr
