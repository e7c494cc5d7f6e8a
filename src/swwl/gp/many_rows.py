"""Many rows: ranges of an exact fit on some of them, then the solver on neighbors for all.

How many inducing rows and how many neighbors is for the data to say: smooth answers want the former, rough ones the
latter. Of 100 000 rows neither setting takes more than 3 GB, or more than about twice the time of the exact fit, and
rows that are held out of a part of the data choose among them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from swwl.errors import InputError
from swwl.estimators import clone
from swwl.gp import inputs
from swwl.gp.blocks import Block
from swwl.gp.correlations import Array
from swwl.gp.estimator import Columns, Items, RobustGP

SETTINGS: tuple[dict[str, int], ...] = (
    {"n_inducing": 1500, "n_neighbors": 30, "n_predict_neighbors": 60},
    {"n_inducing": 500, "n_neighbors": 60, "n_predict_neighbors": 120},
)
_MOST_ROWS, _HELD_OUT = 10_000, 1000  # that settings are compared on
_FEWEST = 20  # rows of which a tenth can be held out


def fit_large(
    gp: RobustGP,
    distances: Items,
    y: ArrayLike,
    trend_columns: Columns = None,
    *,
    n_exact: int = 2000,
    refine: int = 0,
    settings: Sequence[dict[str, int]] = SETTINGS,
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
        Iterations of an optimization run on all rows from there, each taking about four times a fit without it.
    settings : sequence of dict
        Of ``solver_options``, among which :func:`choose_setting` chooses; those that ``gp`` has itself are kept.

    Returns
    -------
    RobustGP
        Fitted to all rows by the solver "vecchia". Without ``refine`` its ``beta`` and ``nugget`` are the subset's.

    Examples
    --------
    >>> from swwl.gp import Coordinates
    >>> x = np.random.default_rng(0).random((300, 2))
    >>> gp = RobustGP(solver_options={"n_inducing": 50, "n_neighbors": 10, "n_predict_neighbors": 20}, n_starts=1)
    >>> gp = fit_large(gp, [Coordinates(x)], np.sin(6.0 * x[:, 0]) + x[:, 1], n_exact=100)
    >>> gp.solver, bool(abs(gp.predict([Coordinates([[0.5, 0.5]])])[0] - np.sin(3.0) - 0.5) < 0.01)
    ('vecchia', True)
    """
    if n_exact < 2 or refine < 0:
        raise InputError(f"n_exact is {n_exact} and refine {refine}, but at least 2 and at least 0 are expected.")
    targets = inputs.check_targets(y)
    n = len(targets)
    chosen = np.sort(np.random.default_rng(gp.random_state).permutation(n)[:n_exact])
    inputs.check_count(distances, len(gp.correlations), "distances")
    blocks = [inputs.as_block(item, "the training points", "(N, N)", symmetric=True) for item in distances]
    exact = clone(gp).set_params(solver="exact", solver_options=None)
    columns = None if trend_columns is None else np.asarray(trend_columns)
    some = None if columns is None else columns[chosen]
    exact.fit([block.take(chosen) for block in blocks], targets[chosen], some, drop_dependent=True)
    large = clone(gp).set_params(solver="vecchia", range_uncertainty=False)
    known = gp.solver_options or {}
    fixed = clone(large).set_params(beta=exact.beta_, nugget=exact.nugget_)
    chosen_setting = choose_setting(fixed, blocks, targets, columns, [setting | known for setting in settings])
    if refine:
        large.set_params(solver_options=chosen_setting)
        return large.fit(blocks, targets, columns, start=exact, max_iter=refine)
    return fixed.set_params(solver_options=chosen_setting).fit(blocks, targets, columns)


def choose_setting(
    gp: RobustGP,
    blocks: Sequence[Block],
    targets: Array,
    trend_columns: Columns = None,
    settings: Sequence[dict[str, int]] = SETTINGS,
) -> dict[str, int]:
    """Choose options of the solver on neighbors by rows that are held out.

    Parameters
    ----------
    gp : RobustGP
        With ranges and nugget; its ``random_state`` draws at most 10 000 rows, of which a tenth is held out.
    blocks : sequence of Block
        Among N rows.
    targets : ndarray of shape (N,) or (N, k)
    trend_columns : array-like of shape (N, m), optional
    settings : sequence of dict

    Returns
    -------
    dict
        The one with the least squared error, each target in units of its deviation; the first where there is nothing to
        choose, or there are too few rows to choose by.
    """
    distinct = [setting for i, setting in enumerate(settings) if setting not in settings[:i]]
    if len(distinct) < 2 or len(targets) < _FEWEST:
        return distinct[0] if distinct else {}
    rows = np.random.default_rng(gp.random_state).permutation(len(targets))[:_MOST_ROWS]
    out, train = np.split(rows, [min(_HELD_OUT, len(rows) // 10)])
    columns = None if trend_columns is None else np.asarray(trend_columns)
    trends = [None if columns is None else columns[own] for own in (train, out)]
    among, cross = [block.take(train) for block in blocks], [block.take(out, train) for block in blocks]
    errors = []
    for setting in distinct:
        fitted = clone(gp).set_params(solver="vecchia", solver_options=setting)
        fitted.fit(among, targets[train], trends[0], drop_dependent=True)
        error = (fitted.predict(cross, trend_columns=trends[1]) - targets[out]) / targets.std(axis=0)
        errors.append(float(np.mean(error**2)))
    return distinct[int(np.argmin(errors))]
