"""The kernel that a table gets when the user names none."""

from __future__ import annotations

import pandas as pd

from swwl.errors import InputError
from swwl.kernels import Matern52, PrincipalSWWL, Product
from swwl.kernels.base import Factor
from swwl.models.tables import column, is_graphs, is_numeric


def default_kernel(table: pd.DataFrame) -> Product:
    """Return PrincipalSWWL on each column of graphs times Matern52 on each column of numbers.

    Examples
    --------
    >>> default_kernel(pd.DataFrame({"mesh": ["a.vtu", "b.vtu"], "speed": [1.0, 2.0]}))
    PrincipalSWWL('mesh') * Matern52('speed')
    """
    factors: list[Factor] = []
    for name in table.columns:
        values = column(table, name)
        if is_numeric(values):
            factors.append(Matern52(name))
        elif is_graphs(values):
            factors.append(PrincipalSWWL(name))
        else:
            raise InputError(
                f"Column {name!r} holds {values.iloc[0]!r}, neither numbers nor meshes, and has no kernel; "
                f"drop it, or name the columns to use: kernel=SWWL('mesh') * Matern52('speed')."
            )
    if not factors:
        raise InputError("The table has no columns to learn from.")
    return Product(*factors)
