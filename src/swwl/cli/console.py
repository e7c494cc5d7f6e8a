"""How commands speak: text and tables on standard output, progress, notes and errors on standard error."""

from __future__ import annotations

import codecs
import gc
import json
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from swwl.estimators import spare_scikit_learn
from swwl.formatting import Record, number, plain

if TYPE_CHECKING:  # help and completion need not wait for rich
    from rich.console import Console

# Names of columns and files are printed as they are: [red] is not a color, and :x: is not a cross.
_AS_IT_IS: Any = {"highlight": False, "markup": False, "emoji": False}
# How terminals are written to that do not know all letters: an error handler, as Python calls it.
PLAIN_LETTERS = "swwl.plain_letters"
_PLAIN = {"±": "+-", "–": "-", "—": "-", "→": "->", "×": "x", "·": "-", "≤": "<=", "≥": ">=", "≈": "~", "−": "-"}
# Options that several commands have.
AtTime = Annotated[
    str | None, typer.Option("--time", metavar="TIME", help="Of series in time: a number, first or last [last].")
]
PartOf = Annotated[
    str | None, typer.Option("--group", help="Compare this part of every mesh: a group of cells or faces, as 'body*'.")
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files that this command did not write.")]
AllRows = Annotated[bool, typer.Option("--all-rows", help="Fit all rows, even if there is a column 'split'.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
LowerBounds = Annotated[
    list[str] | None, typer.Option("--at-least", help="TARGET=VALUE that has to be reached; repeat it for several.")
]
UpperBounds = Annotated[
    list[str] | None, typer.Option("--at-most", help="TARGET=VALUE that must not be exceeded; repeat it for several.")
]
DropIncomplete = Annotated[
    bool, typer.Option("--drop-incomplete", help="Leave out rows in which a mesh, an input or a target is missing.")
]
InputColumns = Annotated[
    str | None,
    typer.Option(help="Input columns, separated by commas; '' for meshes only. By default all that qualify."),
]
Iterations = Annotated[
    int | None, typer.Option("--iterations", "-H", max=1000, help="Weisfeiler-Lehman iterations, H [3]. Not for auto.")
]
KeepEmbeddings = Annotated[bool, typer.Option(help="Keep embeddings beside the table, in .swwl-cache.")]
MeshColumns = Annotated[
    list[str] | None, typer.Option(help="Column of mesh paths; repeat it for several. Detected if omitted.")
]
ModelFile = Annotated[Path, typer.Argument(help="Model file that swwl fit wrote.")]
Processes = Annotated[int, typer.Option(help="Processes; -1 is one per core.")]
Projections = Annotated[int, typer.Option("--projections", "-P", help="Directions of projection, P.")]
Quantiles = Annotated[
    int | None, typer.Option("--quantiles", "-Q", help="Quantiles of each projection, Q [500; auto: 100].")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
ResultColumns = Annotated[
    list[str] | None,
    typer.Option(help="Columns that the simulation computes, not inputs: names or patterns, separated by commas."),
]
TableFile = Annotated[Path, typer.Argument(help="CSV, Excel or Parquet table; mesh paths in it are relative to it.")]
TargetColumns = Annotated[list[str] | None, typer.Option(help="Column to predict; repeat it for several.")]
TestFraction = Annotated[float | None, typer.Option(help="Hold out this share of rows, at random.")]
Threads = Annotated[int, typer.Option(help="Threads; -1 is one per core.")]


class Output:
    """Where a command writes.

    Parameters
    ----------
    quiet : bool
        Neither text nor progress nor notes; errors only.
    as_json : bool
        Instead of text, one JSON object at the end.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False):
        self.quiet = quiet
        self.as_json = as_json
        if quiet:
            warnings.simplefilter("ignore")  # they would be notes; Commands.main puts the filters back

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(**_AS_IT_IS)

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line of text as it is, however long."""
        if not self.quiet and not self.as_json:
            self._console.print(text, style=style, markup=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a note on standard error, as warnings are."""
        if not self.quiet:
            show_note(text)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print a table under its title; the first column is set left, the others right."""
        if self.quiet or self.as_json:
            return
        from rich.table import Table

        if title:
            self.say(f"\n{title}", style="bold")
        table = Table(box=None, pad_edge=False, header_style="dim")
        for k, name in enumerate(columns):
            # On a narrow terminal the first column gives way: numbers must stay whole.
            table.add_column(name, justify="right" if k else "left", no_wrap=k > 0, overflow="fold")
        for row in rows:
            table.add_row(*(number(value) if not isinstance(value, str) else value for value in row))
        self._console.print(table)

    def progress(self, label: str) -> Callable[[int, int | None], None] | None:
        """Return what shows the progress of a long task, or None."""
        from swwl.parallel import ProgressBar

        return None if self.quiet else ProgressBar(label)

    def result(self, values: Record | list[Any]) -> None:
        """Print the answer as JSON, if JSON is requested."""
        if self.as_json:
            print(json.dumps(plain(values), indent=1, allow_nan=False))


_own_process = False


@contextmanager
def own_process() -> Iterator[None]:
    """Say that the process ends with the command that is run inside, and nothing else goes on in it."""
    global _own_process
    _own_process = True
    try:
        yield
    finally:
        _own_process = False


@contextmanager
def imports_for_one_answer() -> Iterator[None]:
    """Import inside what a command needs that asks a fitted model once and ends; spare what can be spared.

    In a process of its own, estimators do without scikit-learn (see :mod:`swwl.estimators`), and nobody looks for
    garbage among what is imported, which stays: neither meanwhile nor at the end.
    """
    if not _own_process:  # a Python session, or a test
        yield
        return
    spare_scikit_learn()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def plain_letters(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for letters that a terminal does not know, and where to go on.

    >>> "Q² 0.98 ± 0.01 … é ж".encode("ascii", PLAIN_LETTERS)
    b'Q2 0.98 +- 0.01 ... e ?'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = ""
    for letter in error.object[error.start : error.end]:
        text = _PLAIN.get(letter) or unicodedata.normalize("NFKD", letter)
        found += "".join(one for one in text if one.isascii()) or "?"
    return found, error.end


codecs.register_error(PLAIN_LETTERS, plain_letters)


def one_line(error: BaseException) -> str:
    """Return an error's message on one line."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def show_error(text: str) -> None:
    """Print one line on standard error."""
    _complain("error", text)


def show_note(text: str) -> None:
    """Print a warning as one line on standard error."""
    _complain("note", text)


def _complain(kind: str, text: str) -> None:
    from rich.console import Console

    Console(stderr=True, **_AS_IT_IS).print(f"{kind}: {text}", markup=False, soft_wrap=True)


def given_time(word: str | None) -> float | str | None:
    """Return the time that --time names."""
    from swwl.mesh.io.series import as_time

    return None if word is None else as_time(word)
