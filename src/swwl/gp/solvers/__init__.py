"""Solvers of the process: one protocol (``base``), and a file for each way to factorize."""

from __future__ import annotations

from swwl.errors import InputError
from swwl.gp.solvers.base import Solver
from swwl.gp.solvers.dense import DenseSolver

SOLVERS: dict[str, type[Solver]] = {"exact": DenseSolver}


def get_solver(name: str) -> type[Solver]:
    """Look a solver up by its name.

    Examples
    --------
    >>> get_solver("exact").__name__
    'DenseSolver'
    >>> get_solver("fast")
    Traceback (most recent call last):
        ...
    swwl.errors.InputError: solver is 'fast', but 'exact' is wanted.
    """
    if not isinstance(name, str) or name not in SOLVERS:
        raise InputError(f"solver is {name!r}, but {' or '.join(map(repr, SOLVERS))} is wanted.")
    return SOLVERS[name]


__all__ = ["SOLVERS", "Solver", "get_solver"]
