"""What commands say and how: text and tables on standard output, progress and errors on standard error."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


class Output:
    """Where a command writes.

    Parameters
    ----------
    quiet : bool
        Neither text nor progress; errors only.
    as_json : bool
        Instead of text, one JSON object at the end.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False):
        self.quiet = quiet
        self.as_json = as_json
        self._console = Console(highlight=False)

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line of text as it is, however long."""
        if not self.quiet and not self.as_json:
            self._console.print(text, style=style, markup=False, soft_wrap=True)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print a table under its title; the first column is set left, the others right."""
        if self.quiet or self.as_json:
            return
        rows = [list(row) for row in rows]
        if title:
            self.say(f"\n{title}", style="bold")
        table = Table(box=None, pad_edge=False, header_style="dim")
        for k, name in enumerate(columns):
            # On a narrow terminal the first column gives way: numbers must stay whole.
            table.add_column(name, justify="right" if k else "left", no_wrap=k > 0, overflow="fold")
        for row in rows:
            table.add_row(*(number(value) if not isinstance(value, str) else value for value in row))
        self._console.print(table)

    def progress(self, label: str) -> Callable[[int, Any], None] | None:
        """Return what shows the progress of a long task, or None."""
        from swwl.parallel import ProgressBar

        return None if self.quiet else ProgressBar(label)

    def result(self, values: dict[str, Any]) -> None:
        """Print the answer as JSON, if JSON is wanted."""
        if self.as_json:
            print(json.dumps(plain(values), indent=1, allow_nan=False))


def number(value: Any) -> str:
    """Return a number with four digits that count, integers in full.

    >>> number(0.123456), number(12345), number(1234.5678), number(None)
    ('0.1235', '12345', '1235', '')
    """
    if value is None:
        return ""
    if isinstance(value, numbers.Integral):
        return str(value)
    return f"{value:.4g}" if abs(value) < 1e4 or not math.isfinite(value) or abs(value) >= 1e7 else f"{value:.0f}"


def percent(value: float) -> str:
    """Return a share as per cent: percent(0.9583) is '96 %'."""
    return f"{100 * value:.0f} %"


def plain(value: Any) -> Any:
    """Turn arrays, NumPy numbers, paths and tuples into what JSON holds; what is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


def one_line(error: BaseException) -> str:
    """Return an error's message on one line."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def show_error(text: str) -> None:
    """Print one line on standard error."""
    Console(stderr=True, highlight=False).print(f"error: {text}", markup=False, soft_wrap=True)


def show_note(text: str) -> None:
    """Print a warning as one line on standard error."""
    Console(stderr=True, highlight=False).print(f"note: {text}", markup=False, soft_wrap=True)
