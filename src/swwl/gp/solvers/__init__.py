"""Solvers of the process: one protocol (``base``), and a file for each way to factorize."""

from __future__ import annotations

from typing import Any

import numpy as np

from swwl.errors import InputError
from swwl.gp.solvers.base import Solver
from swwl.gp.solvers.dense import DenseSolver
from swwl.gp.solvers.vecchia import VecchiaSolver

SOLVERS: dict[str, type[Solver]] = {"exact": DenseSolver, "vecchia": VecchiaSolver}


def get_solver(name: str) -> type[Solver]:
    """Look a solver up by its name.

    Examples
    --------
    >>> get_solver("exact").__name__
    'DenseSolver'
    >>> get_solver("fast")
    Traceback (most recent call last):
        ...
    swwl.errors.InputError: solver is 'fast', but 'exact' or 'vecchia' is expected.
    """
    if not isinstance(name, str) or name not in SOLVERS:
        raise InputError(f"solver is {name!r}, but {' or '.join(map(repr, SOLVERS))} is expected.")
    return SOLVERS[name]


def check_options(name: str, options: dict[str, Any] | None) -> dict[str, int]:
    """Return what a solver is to be made with, all of its options.

    Examples
    --------
    >>> check_options("vecchia", {"n_inducing": 500})
    {'n_inducing': 500, 'n_neighbors': 30, 'n_predict_neighbors': 60, 'seed': 0, 'n_threads': 1, 'keep_features': 1}
    >>> check_options("exact", {"n_inducing": 500})
    Traceback (most recent call last):
        ...
    swwl.errors.InputError: solver_options holds 'n_inducing', but solver='exact' takes no options.
    """
    known = get_solver(name).options
    takes = f"takes {', '.join(known)}" if known else "takes no options"
    if not isinstance(options, dict | None):
        raise InputError(f"solver_options is {options!r}, but a dict is expected: solver={name!r} {takes}.")
    for key, value in (options or {}).items():
        if key not in known:
            raise InputError(f"solver_options holds {key!r}, but solver={name!r} {takes}.")
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
            raise InputError(f"{key} is {value!r}, but a whole number of at least 0 is expected.")
    return known | {key: int(value) for key, value in (options or {}).items()}


__all__ = ["SOLVERS", "Solver", "check_options", "get_solver"]
