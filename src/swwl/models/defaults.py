"""The kernel that a table gets when the user names none."""

from __future__ import annotations

import pandas as pd

from swwl.errors import InputError
from swwl.kernels import Categories, Matern52, PrincipalSWWL, Product
from swwl.kernels.base import Factor
from swwl.models.cells import is_dates
from swwl.models.tables import column, is_graphs, is_numeric


def default_kernel(table: pd.DataFrame) -> Product:
    """Return PrincipalSWWL on each column of graphs times Matern52 on each column of numbers.

    Columns of pandas' type "category" get Categories; whether to learn from other texts is for the user to say.

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
        elif isinstance(values.dtype, pd.CategoricalDtype):
            factors.append(Categories(name))
        elif is_dates(values):
            raise InputError(
                f"Column {name!r} holds dates; drop it, or count days: (t[{name!r}] - t[{name!r}].min()).dt.days."
            )
        elif is_graphs(values):
            factors.append(PrincipalSWWL(name))
        else:
            odd = next((value for value in values if isinstance(value, str)), values.iloc[0])
            raise InputError(
                f"Column {name!r} holds {odd!r}, neither numbers nor meshes, and has no kernel; drop it, or name the "
                f"columns to use: kernel=SWWL('mesh') * Matern52('speed') or, for texts of a few kinds, "
                f"kernel=SWWL('mesh') * Categories({name!r})."
            )
    if not factors:
        raise InputError("The table has no columns to learn from.")
    return Product(*factors)
