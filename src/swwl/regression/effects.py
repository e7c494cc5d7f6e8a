r"""How much of the variance of predictions is lost when an input is averaged out: what matters, whatever its range.

A range says how fast an answer changes, not by how much: an input with a long range may change the answer by a factor
of three over its values. With :math:`x_j'` drawn anew from the training rows and all else as it is,

.. math:: S_j = \frac{\mathrm E\,[(f(x) - f(x_1, \ldots, x_j', \ldots))^2]}{2\,\mathrm{Var} f(x)}

is the share of the variance that is left for input j when all others are known (Jansen 1999, "Analysis of variance
designs for model output"); where inputs act together, the shares sum up to more than one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.verdict import number_columns
from swwl.regression.stack import Represented, Stack, law_values, some_rows

Array = NDArray[np.float64]
Positions = NDArray[np.intp]

# Rows of which inputs are exchanged, and how often: enough to tell a tenth from a fifth.
_MOST_ROWS, _DRAWS = 200, 4


def variance_shares(stack: Stack, n: int, seed: int = 0) -> pd.DataFrame | None:
    """Return the share of the variance of predicted means that goes with every input.

    Parameters
    ----------
    stack : Stack
    n : int
        Number of training rows.
    seed : int
        Draws rows and exchanges.

    Returns
    -------
    DataFrame or None
        ``target``, ``input``, ``share``, one at most, and ``error``, its standard error; None where training rows of a
        column of the trend are not known, as in files of earlier versions.
    """
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(n)[:_MOST_ROWS])
    numbers = number_columns(stack.kernel.factors, stack.train_rows) | stack.other_inputs
    if any(factor.column not in numbers for factor in stack.trend) or len(chosen) < 2:
        return None
    names = [str(name) for name in stack.columns()]
    base = _means(stack, _exchanged(stack, chosen, {}, numbers))
    variance = np.maximum(base.var(axis=0), np.finfo(float).tiny)
    rows = []
    for name in names:
        draws = []
        for _ in range(_DRAWS):
            others = rng.permutation(chosen)
            moved = _means(stack, _exchanged(stack, chosen, {name: others}, numbers))
            draws.append(((moved - base) ** 2).mean(axis=0) / (2 * variance))
        for k, target in enumerate(stack.layout.names):
            found = np.array(draws)[:, k]
            error = float(found.std(ddof=1) / np.sqrt(_DRAWS))
            rows.append({"target": target, "input": name, "share": min(float(found.mean()), 1.0), "error": error})
    return pd.DataFrame(rows, columns=["target", "input", "share", "error"])


def _exchanged(
    stack: Stack, rows: Positions, other: Mapping[str, Positions], numbers: Mapping[str, Array]
) -> Represented:
    """Return training rows as cases, with some inputs those of other rows."""
    found = [
        [
            some_rows(own, other.get(str(factor.column), rows))
            for factor, own in zip(m.kernel.factors, m.rows, strict=True)
        ]
        for m in stack.members
    ]
    trend = [
        np.asarray(factor.represent(pd.Series(numbers[factor.column][other.get(str(factor.column), rows)])))
        for factor in stack.trend
    ]
    laws = pd.DataFrame({name: numbers[name][other.get(name, rows)] for name in stack.other_inputs})
    times = law_values(stack.laws, laws)
    return Represented(found, np.column_stack(trend) if trend else None, len(rows), times=times)


def _means(stack: Stack, cases: Represented) -> Array:
    return np.asarray(stack.predict(cases, include_nugget=False).columns().mean)
