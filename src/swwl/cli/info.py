"""``swwl info``: what a mesh, a table, a data folder or a model holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import Output
from swwl.errors import InputError


def info(
    file: Annotated[Path, typer.Argument(help="A mesh, a table, a data folder or a model.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Say what a mesh, a table, a data folder or a model holds.

    \b
    Example:
      swwl info d/meshes/00000.vtu
      swwl info model.swwl
    """
    out = Output(as_json=as_json)
    if not file.exists():
        raise InputError(f"{file}: no such file or folder.")
    from swwl.jobs.describe import describe

    describe(out, file)
