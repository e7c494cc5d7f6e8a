r"""How wide intervals have to be: cross-validation with the ranges estimated again in every fold.

Student-t intervals take the estimated ranges for true ones. With many ranges and few rows they come out too narrow, and
leave-one-out, which uses those same ranges, does not show it. Folds that estimate their own ranges do.
"""

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from swwl.errors import GPWarning
from swwl.gp import RobustGP
from swwl.gp.blocks import Block

_FOLDS = 5
# With fewer rows the folds tell nothing; with more they need not use all of them.
_FEWEST_ROWS, _MOST_ROWS = 30, 1000


def n_folds(n_rows: int) -> int:
    """Return how many processes :func:`interval_factor` fits: none for few rows."""
    return _FOLDS if n_rows >= _FEWEST_ROWS else 0


def interval_factor(
    make_gp: Callable[[], RobustGP],
    blocks: Sequence[Block],
    targets: NDArray[np.float64],
    trend_columns: NDArray[np.float64] | None,
    seed: int,
    on_fit: Callable[[], None] | None = None,
) -> NDArray[np.float64]:
    r"""Return how much wider than the Student-t ones intervals should be, for each target.

    .. math:: \max\Bigl(1, \bigl(\tfrac1N \sum_i ((y_i - \hat y_i) / \hat s_i)^2\bigr)^{1/2}\Bigr),

    with prediction and standard deviation from the folds that do not hold row i.

    Parameters
    ----------
    make_gp : callable
        Returns an unfitted process.
    blocks : sequence of Block
        Among all N rows.
    targets : ndarray of shape (N, k)
        Fitted together, as one process.
    trend_columns : ndarray of shape (N, m) or None
    seed : int
        Shuffles the folds.
    on_fit : callable, optional
        Called after the fit of every fold.

    Returns
    -------
    ndarray of shape (k,)
        Ones where there are fewer than 30 rows.
    """
    if not n_folds(len(targets)):
        return np.ones(targets.shape[1])
    chosen = np.sort(np.random.default_rng(seed).permutation(len(targets))[:_MOST_ROWS])
    squares = []
    for train, test in KFold(_FOLDS, shuffle=True, random_state=seed).split(chosen):
        train, test = chosen[train], chosen[test]
        trends = [None if trend_columns is None else trend_columns[rows] for rows in (train, test)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)  # the fit on all rows will say what needs saying
            gp = make_gp().fit([block.take(train) for block in blocks], targets[train], trends[0])
        cross = [block.take(test, train) for block in blocks]
        prediction = gp.predict_distribution(cross, trend_columns=trends[1])
        squares.append(((targets[test] - prediction.mean) / prediction.std) ** 2)
        if on_fit is not None:
            on_fit()
    return np.maximum(1.0, np.sqrt(np.concatenate(squares).mean(axis=0)))
