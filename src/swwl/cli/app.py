"""The commands together, and what becomes of errors: one line and exit code 2 for mistakes, 130 for Ctrl-C.

Other packages add commands by entry points of the group ``swwl.commands``: a name, and a function as typer takes it.
"""

from __future__ import annotations

import io
import signal
import sys
import warnings
from functools import cached_property
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import swwl
from swwl.cli.check import check
from swwl.cli.coarsen import coarsen
from swwl.cli.console import PLAIN_LETTERS, one_line, own_process, show_error, show_note
from swwl.cli.curve import curve
from swwl.cli.demo import demo
from swwl.cli.design.choose import select, suggest
from swwl.cli.design.improve import improve
from swwl.cli.design.loop import loop
from swwl.cli.embed import embed
from swwl.cli.explain import explain
from swwl.cli.fit import fit
from swwl.cli.info import info, report
from swwl.cli.make import make
from swwl.cli.predict import predict
from swwl.cli.serve import serve
from swwl.cli.submit import submit
from swwl.errors import InputError
from swwl.formatting import Record

GROUP = "swwl.commands"


class Plugins:
    """Commands by name; each is imported when it is first asked for.

    An entry point names a function that takes its options as typer reads them, or a ``typer.Typer`` with commands of
    its own. One that cannot be imported is noted and left out, so that it does no harm to the others.
    """

    def __init__(self) -> None:
        self._loaded: Record = {}

    @cached_property
    def _found(self) -> Record:
        from importlib.metadata import entry_points  # reads all installed packages: some ten milliseconds

        return {entry.name: entry for entry in entry_points(group=GROUP)}

    def names(self) -> list[str]:
        """Return the names of the commands."""
        return sorted(self._found)

    def load(self, name: str) -> Any:
        """Return a command, or None if there is none of that name, or none that works."""
        if name not in self._loaded:
            entry = self._found.get(name)
            self._loaded[name] = None if entry is None else _load(entry)
        return self._loaded[name]


def _load(entry: Any) -> Any:
    try:
        loaded = entry.load()
        if isinstance(loaded, typer.Typer):
            return typer.main.get_command(loaded)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(name=entry.name)(loaded)
        return typer.main.get_command(alone)
    except Exception as error:  # whatever goes wrong in a plug-in, the other commands go on
        reason = " ".join(str(error).split()) or type(error).__name__
        show_note(f"the command {entry.name} of {entry.value} cannot be loaded ({reason})")
        return None


_INTERRUPTED = 130


class Commands(TyperGroup):
    """Our commands and those of plug-ins; errors are one line each."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._plugins = Plugins()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, our own first."""
        own = super().list_commands(ctx)
        return own + [name for name in self._plugins.names() if name not in own]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None; plug-ins are looked for only where none of ours has that name."""
        return super().get_command(ctx, cmd_name) or self._plugins.load(cmd_name)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and exit."""
        options["standalone_mode"] = False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                warnings.showwarning = _show_warning
                code = super().main(*args, **options)
        except (KeyboardInterrupt, typer.Abort):
            code = _INTERRUPTED
        except Exception as error:
            # Wrong options and arguments: typer's errors bring a method that says what is wrong.
            usage = getattr(error, "format_message", None)
            if usage is None and not isinstance(error, (InputError, OSError, MemoryError)):
                raise
            text = usage().replace("Value error, ", "") if usage else one_line(error)
            if isinstance(error, MemoryError):
                text = f"there is not enough memory for this ({text}); use fewer or smaller meshes, or a larger machine"
            show_error(" ".join(text.split()))
            sys.exit(2)
        if code == _INTERRUPTED:
            show_error("interrupted; finished work is kept, and the same command resumes")
        sys.exit(code if isinstance(code, int) else 0)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if not issubclass(category, (DeprecationWarning, PendingDeprecationWarning)):
        show_note(" ".join(str(message).split()))


app = typer.Typer(
    name="swwl",
    cls=Commands,
    help="Gaussian processes on simulation meshes: from a table and a folder of meshes to a surrogate you can trust.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"swwl {swwl.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


for _command in (
    demo,
    make,
    check,
    embed,
    fit,
    predict,
    submit,
    curve,
    explain,
    select,
    suggest,
    loop,
    improve,
    report,
    serve,
    coarsen,
    info,
):
    app.command()(_command)


def main() -> None:
    """Run the command line; an interrupt ends it with one line, whenever it comes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN_LETTERS)
    try:
        with own_process():
            app(prog_name="swwl")
    except KeyboardInterrupt:  # while the outcome, or an earlier interrupt, was told
        sys.exit(_INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done and told: Python's own end is not interrupted
