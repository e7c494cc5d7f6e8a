"""Names as people choose them, and options as they mistype them."""

import json
import signal
import subprocess
import sys

import pandas as pd
import pytest
from matplotlib.figure import Figure

from swwl import Matern52, RobustGPRegressor
from swwl.cli import app, main
from swwl.cli.console import show_error
from swwl.plots.style import new_figure, style, words
from swwl.report import make_report
from tests.cli.conftest import swwl
from tests.datasets.test_plaid import write_samples
from tests.helpers import plates

NAMES = ["T:x:1", ":smile:", "[red]load[/red]", "a=b", "$x^{", "应力\tmax", "[/]"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of numbers only, whose columns have every strange name."""
    folder = tmp_path_factory.mktemp("names")
    load = plates(20)["load"].to_numpy()
    table = pd.DataFrame({name: load if name == "a=b" else (load * (k + 2)) % 1 for k, name in enumerate(NAMES[:-1])})
    table["[/]"] = 2 * table["a=b"] + table["T:x:1"]
    fitted = RobustGPRegressor(
        Matern52("a=b") * Matern52("T:x:1") * Matern52("[red]load[/red]") * Matern52("$x^{"), n_starts=1
    )
    fitted.fit(table, "[/]").save(folder / "m.swwl")
    table.to_csv(folder / "t.csv", index=False)
    return folder / "m.swwl"


def test_names_are_printed_as_they_are(model, capsys):
    shown = swwl("info", model).stdout
    for name in ("T:x:1", "[red]load[/red]", "[/]", "a=b"):
        assert name in shown
    listed = swwl("info", model.parent / "t.csv").stdout
    assert all(" ".join(name.split()) in " ".join(listed.split()) for name in NAMES)
    show_error("--sweep load=a:b:c [bold]")
    assert capsys.readouterr().err == "error: --sweep load=a:b:c [bold]\n"


def test_a_name_may_have_an_equals_sign(model, tmp_path):
    sweep = ["--sweep", "a=b=1.2:2.5:5", "--each", "T:x:1=0.2,0.7", "--fix", "$x^{=0.5"]
    facts = json.loads(swwl("curve", model, *sweep, "-o", tmp_path / "c.png", "--json").stdout)
    assert facts["points"]["a=b"][:5] == pytest.approx([1.2, 1.525, 1.85, 2.175, 2.5])


@pytest.mark.slow
def test_strange_letters_and_dollars_are_drawn_without_a_word(model, tmp_path, recwarn):
    from swwl import load_model

    make_report(load_model(model))
    figure = new_figure()
    with style():
        figure.subplots().set(xlabel=words("应力\tmax"), ylabel="$x^{")
        figure.savefig(tmp_path / "a.png")
    assert isinstance(figure, Figure)
    assert not [str(warning.message) for warning in recwarn if "Glyph" in str(warning.message)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sweep", "a=b=1:2:5", "--each", "a=b=1,2"], "'a=b' is given twice, by --sweep and --each"),
        (["--sweep", "a=b=1:2:5", "--fix", "a=b=1"], "'a=b' is given twice, by --sweep and --fix"),
        (
            ["--sweep", "a=b=1:2:5", "--fix", "T:x:1=1", "--fix", "T:x:1=2"],
            "'T:x:1' is given twice, by --fix and --fix",
        ),
        (["--sweep", "a=b=1:2:1000000000000"], "asks for 1000000000000 points, but at most 100000 are drawn"),
        (["--sweep", "a=b=1:2:90000", "--each", "T:x:1=1,2"], "ask for 180000 points, but at most 100000 are drawn"),
    ],
)
def test_curves_that_ask_for_too_much(arguments, message, model, tmp_path):
    result = swwl("curve", model, *arguments, "-o", tmp_path / "c.png", code=2)
    assert message in result.stderr and len(result.stderr.splitlines()) == 1


def test_every_command_has_json_and_quiet():
    from typer.main import get_command

    commands = get_command(app).commands
    assert len(commands) >= 8
    for name, command in commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"--json", "--quiet", "-q"} <= options, name
        jobs = [parameter.default for parameter in command.params if "--jobs" in parameter.opts]
        assert jobs in ([], [-1]), name


def test_info_is_quiet_and_takes_plaid_folders(model, tmp_path):
    assert swwl("info", model, "-q").output == ""
    write_samples(tmp_path / "data" / "train", 3)
    (tmp_path / "infos.yaml").write_text("owner: me\nstorage_backend: cgns\n")
    assert "PLAID data set of 3 rows and 4 columns" in swwl("info", tmp_path).stdout
    facts = json.loads(swwl("info", tmp_path, "--json").stdout)
    assert [column["name"] for column in facts["columns"]] == ["mesh", "split", "lift", "speed"]
    (tmp_path / "empty").mkdir()
    assert "has no table.csv, so it is not a data folder" in swwl("info", tmp_path / "empty", code=2).stderr


LATE = """
import atexit, os, signal, sys
from swwl.cli import main
atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.argv[1:] = ["--version"]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send here")
def test_interrupts_at_the_very_end(monkeypatch):
    late = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=120)
    assert (late.returncode, late.stderr) == (0, "")  # all was done

    def interrupted(**_):
        raise KeyboardInterrupt

    former = signal.getsignal(signal.SIGINT)
    monkeypatch.setitem(main.__globals__, "app", interrupted)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGINT, former)
    assert ended.value.code == 130
