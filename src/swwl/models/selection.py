"""How many principal components get a range of their own: the marginal posterior decides, on a few hundred rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.gp.blocks import Block
from swwl.kernels.base import Factor

# Numbers of components to compare, and rows of training for each component.
LADDER = (0, 4, 8, 16, 24)
_ROWS_PER_COMPONENT = 15
# Rows on which they are compared: enough to tell them apart, few enough to be quick.
_MOST_ROWS = 400

_COLUMNS = ["column", "n_components", "log_posterior", "chosen"]


def selection_rows(n: int, seed: int) -> NDArray[np.intp]:
    """Return the rows on which numbers of components are compared, sorted."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:_MOST_ROWS])


def ladder(factor: Factor, n_rows: int) -> list[int]:
    """Return the numbers of components worth comparing with so many rows; none where nothing is to be chosen."""
    known = factor.most_components()
    if known is None:
        return []
    most = min(known, min(n_rows, _MOST_ROWS) // _ROWS_PER_COMPONENT)
    return sorted({min(number, most) for number in LADDER})


def choose_components(
    factors: Sequence[Factor],
    train: Sequence[Any],
    blocks: list[list[Block]],
    log_posterior: Callable[[list[list[Block]], NDArray[np.intp]], float],
    n: int,
    seed: int,
) -> pd.DataFrame:
    """Set every factor that has components to choose from to the number of the largest log posterior.

    Parameters
    ----------
    factors : sequence of Factor
        Fitted.
    train : sequence
        Their training representations.
    blocks : list of list of Block
        Their training blocks; replaced in place by those of the numbers that were chosen.
    log_posterior : callable
        Takes the blocks of all factors among some rows, and those rows; fits, and returns the maximum.
    n : int
        Number of training rows.
    seed : int
        Draws the rows.

    Returns
    -------
    DataFrame
        ``column``, ``n_components``, ``log_posterior`` and ``chosen``, a row for each number that was tried.
    """
    found: list[dict[str, Any]] = []
    rows = selection_rows(n, seed)
    choosing = [place for place, factor in enumerate(factors) if ladder(factor, n)]
    # Distances are computed among these rows alone.
    among = [[block.take(rows).held() for block in group] for group in blocks] if choosing else []
    for place in choosing:
        factor = factors[place]

        def use(number: int, place: int = place, factor: Factor = factor) -> None:
            factor.use_components(number)
            blocks[place] = factor.training_blocks(train[place])
            among[place] = [block.take(rows).held() for block in blocks[place]]

        tried = []
        for number in ladder(factor, n):
            use(number)
            tried.append((log_posterior(among, rows), number))
        _, best = max(tried)
        use(best)
        found += [
            {"column": factor.column, "n_components": number, "log_posterior": value, "chosen": number == best}
            for value, number in tried
        ]
    return selection_table(found)


def selection_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return how numbers of components were chosen as a table, which may be empty."""
    return pd.DataFrame(rows, columns=_COLUMNS)
