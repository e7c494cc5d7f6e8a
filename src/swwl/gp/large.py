"""Many rows: ranges of an exact fit on some of them, then the solver on neighbors for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from swwl.errors import InputError
from swwl.gp import inputs
from swwl.gp.fitted import Columns, Items
from swwl.gp.robust import RobustGP


def fit_large(
    gp: RobustGP,
    distances: Items,
    y: ArrayLike,
    trend_columns: Columns = None,
    *,
    n_exact: int = 2000,
    refine: int = 0,
) -> RobustGP:
    """Fit a process to many rows: its ranges to a random subset, everything else to all of them.

    Parameters
    ----------
    gp : RobustGP
        What to fit, solver "vecchia" or not; it is left as it is. Its ``random_state`` draws the subset.
    distances, y, trend_columns
        As in `RobustGP.fit`, of N rows.
    n_exact : int, default=2000
        Rows of the subset, on which ranges and nugget are estimated by the solver "exact".
    refine : int, default=0
        Iterations of a climb on all rows that starts from there, each some four times the time of a fit without.

    Returns
    -------
    RobustGP
        Fitted to all rows by the solver "vecchia". Without ``refine`` its ``beta`` and ``nugget`` are the subset's.

    Examples
    --------
    >>> from swwl.gp import Coordinates
    >>> x = np.random.default_rng(0).random((300, 2))
    >>> gp = RobustGP(solver_options={"n_inducing": 50}, n_starts=1)
    >>> gp = fit_large(gp, [Coordinates(x)], np.sin(6.0 * x[:, 0]) + x[:, 1], n_exact=100)
    >>> gp.solver, bool(abs(gp.predict([Coordinates([[0.5, 0.5]])])[0] - np.sin(3.0) - 0.5) < 0.01)
    ('vecchia', True)
    """
    if n_exact < 2 or refine < 0:
        raise InputError(f"n_exact is {n_exact} and refine {refine}, but at least 2 and at least 0 are wanted.")
    targets = inputs.check_targets(y)
    n = len(targets)
    chosen = np.sort(np.random.default_rng(gp.random_state).permutation(n)[:n_exact])
    inputs.check_count(distances, len(gp.correlations), "distances")
    blocks = [inputs.as_block(item, "the training points", "(N, N)", symmetric=True) for item in distances]
    exact = clone(gp).set_params(solver="exact", solver_options=None)
    columns = None if trend_columns is None else np.asarray(trend_columns)
    some = None if columns is None else columns[chosen]
    exact.fit([block.take(chosen) for block in blocks], targets[chosen], some)
    large = clone(gp).set_params(solver="vecchia", range_uncertainty=False)
    if refine:
        return large.fit(blocks, targets, columns, start=exact, max_iter=refine)
    return large.set_params(beta=exact.beta_, nugget=exact.nugget_).fit(blocks, targets, columns)
