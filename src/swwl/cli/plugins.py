"""Commands that other packages bring, found by the entry-point group ``swwl.commands``."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import typer

from swwl.cli.console import show_note

GROUP = "swwl.commands"


class Plugins:
    """Commands by name; each is imported when it is first asked for.

    An entry point names a function that takes its options as typer reads them, or a ``typer.Typer`` with commands of
    its own. One that cannot be imported is noted and left out, so that it does no harm to the others.
    """

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    @cached_property
    def _found(self) -> dict[str, Any]:
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
