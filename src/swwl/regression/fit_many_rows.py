"""Many rows: which solver runs, and how a model is fitted where no matrix of all pairs of rows can be held.

Ranges and nugget come from an exact process on a random subset; everything else from all rows, by inducing rows and
neighbors (``gp/solvers/vecchia.py``), as many as suit the answer (``gp/many_rows.py``). Rows that are held out, and not
folds, say how members weigh and how wide intervals are; then they are learned from as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from swwl.errors import GPWarning, InputError
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term
from swwl.gp.many_rows import SETTINGS, choose_setting
from swwl.gp.prediction import Prediction
from swwl.gp.solvers.neighbors import can_be_near
from swwl.parallel import Progress
from swwl.regression.fit import Outcome, Task, choose_for_member, ladder, pruned, weigh
from swwl.regression.intervals import interval_factor
from swwl.regression.stack import FitCounter, Member, candidate_table, fit_processes, input_shares

Array = NDArray[np.float64]
Positions = NDArray[np.intp]

SOLVERS = ("auto", "exact", "vecchia")
# Up to so many rows "auto" is exact: from here on one exact fit takes minutes, and its time grows with the third power.
MOST_EXACT_ROWS = 3000
N_RANGES = 2000  # rows that ranges are estimated on
_MOST_HELD_OUT, _HELD_OUT_SHARE = 1000, 5
_HELD_OUT_FOLDS = 5  # whose weights never saw their own rows
_MOST_FEATURES = 1 << 28  # numbers of features, of all processes together, that predictions keep in memory


@dataclass(frozen=True)
class Choice:
    """Which solver runs, "exact" or "vecchia", and why."""

    name: str
    why: str

    @property
    def large(self) -> bool:
        """Whether it is the one for many rows."""
        return self.name == "vecchia"


def choose_solver(solver: str, n_rows: int, range_uncertainty: bool = False) -> Choice:
    """Return the solver for so many rows.

    Parameters
    ----------
    solver : {"auto", "exact", "vecchia"}
    n_rows : int
    range_uncertainty : bool
        Whether predictions are to carry the uncertainty of the ranges, which the large solver has none of.

    Examples
    --------
    >>> choose_solver("auto", 200)
    Choice(name='exact', why='200 rows, and up to 3000 are fitted exactly')
    >>> choose_solver("auto", 20000).name
    'vecchia'
    """
    if solver not in SOLVERS:
        raise InputError(f"solver is {solver!r}, but 'auto', 'exact' or 'vecchia' is wanted.")
    asked = "as asked for"
    if solver == "exact" or (solver == "auto" and n_rows <= MOST_EXACT_ROWS):
        why = f"{n_rows} rows, and up to {MOST_EXACT_ROWS} are fitted exactly"
        return Choice("exact", asked if solver == "exact" else why)
    why = asked if solver == "vecchia" else f"{n_rows} rows are more than {MOST_EXACT_ROWS}"
    if range_uncertainty:
        raise InputError(f"range_uncertainty is set, but solver='vecchia' ({why}) has none: take solver='exact'.")
    return Choice("vecchia", why)


@dataclass(frozen=True)
class _Rows:
    """Which of N rows ranges are estimated on, which are held out, and the others; each sorted."""

    ranges: Positions
    out: Positions
    train: Positions


def share_out(n: int, seed: int) -> _Rows:
    """Draw the rows for ranges, and others to hold out: a fifth, at most 1000.

    Examples
    --------
    >>> rows = share_out(10_000, 0)
    >>> len(rows.ranges), len(rows.out), len(rows.train), len(np.intersect1d(rows.ranges, rows.out))
    (2000, 1000, 9000, 0)
    """
    order = np.random.default_rng(seed).permutation(n)
    out = np.sort(order[n - min(_MOST_HELD_OUT, n // _HELD_OUT_SHARE) :])
    return _Rows(np.sort(order[: min(N_RANGES, n - len(out))]), out, np.setdiff1d(np.arange(n), out))


def fit_large_members(members: Sequence[Member], task: Task, progress: Progress | None) -> Outcome:
    """Fit the processes of all members to many rows; see :func:`swwl.regression.fit.fit_members`."""
    n, k = task.targets.shape
    stacked = len(members) > 1
    rows = share_out(n, task.seed)
    hold_out = (stacked or task.calibrate) and len(rows.out) > 0
    tried = sum(len(ladder(factor, n)) for member in members for factor in member.kernel.factors)
    counter = FitCounter(progress, len(task.groups) * (len(members) * (2 + hold_out) + tried))
    found, selection, left_out = [], [], []
    for member in members:
        with warnings.catch_warnings(record=True) as member.notes:
            warnings.simplefilter("always", GPWarning)
            blocks, chosen = choose_for_member(member, task, counter)
            check_large(member, blocks)
            ready = _ready(member, blocks, task, rows, counter)
        selection.append(chosen)
        found.append((blocks, ready))
        if hold_out:
            gps = _fit_rows(member, blocks, ready, task, rows.train, False, counter)
            left_out.append(_predict(member, blocks, gps, task, rows))
    folds = [rows.out[i::_HELD_OUT_FOLDS] for i in range(_HELD_OUT_FOLDS)]
    places = [np.searchsorted(rows.out, fold) for fold in folds if len(fold)]
    weights, together = weigh(task.targets[rows.out], left_out, places, len(members), k)
    weights = pruned(weights)
    names = task.layout.names
    candidates = (
        candidate_table(members, task.targets[rows.out], names, weights, left_out) if stacked else pd.DataFrame()
    )
    for note in members[int(weights.sum(axis=1).argmax())].notes:  # the heaviest one speaks for all
        warnings.warn(note.message, note.category, stacklevel=4)
    widths = np.ones(k)
    if task.calibrate and together is not None:
        known = task.targets[rows.out]
        widths = np.array([interval_factor(y, together.column(j)) for j, y in enumerate(known.T)])
    used = []
    numbers = sum(n * min(n, (gp.solver_options or {})["n_inducing"]) for _, ready in found for gp in ready)
    for member, weight, (blocks, ready) in zip(members, weights, found, strict=True):
        member.notes = []
        if weight.any():
            member.gps = _fit_rows(member, blocks, ready, task, np.arange(n), numbers <= _MOST_FEATURES, counter)
            member.shares = input_shares(member.kernel, member.kernel.join(blocks), member.gps, task.seed)
            used.append(member)
        for factor in member.kernel.factors:
            factor.forget()
    table = pd.DataFrame(weights[weights.any(axis=1)], index=[member.name for member in used], columns=names)
    return Outcome(used, table, widths, None, pd.concat(selection), candidates)


def check_large(member: Member, blocks: Sequence[Sequence[Block]]) -> None:
    """Refuse factors whose distances are not those of rows of numbers: neighbors could not be found among them."""
    for factor, group in zip(member.kernel.factors, blocks, strict=True):
        own = [*factor.correlations()] if member.kernel.elliptic is None else [member.kernel.elliptic] * len(group)
        terms = [Term(get_correlation(name), block) for name, block in zip(own, group, strict=True)]
        if not factor.positive_definite or not can_be_near(terms):
            raise InputError(
                f"{factor!r} cannot be fitted to {group[0].shape[0]} rows: solver='vecchia' needs Euclidean rows and "
                f"alpha of at least 1.5, as SWWL with r=2, ASWWL, PrincipalSWWL, Components and kernels of numbers "
                f"have. Take one of those, at most {MOST_EXACT_ROWS} rows, or solver='exact', much time and memory."
            )


def _ready(member: Member, blocks: list[list[Block]], task: Task, rows: _Rows, counter: FitCounter) -> list[RobustGP]:
    """Return large processes that need only be fitted: ranges of exact ones on some rows, and a setting that suits.

    Settings are compared on training rows alone, so that those held out know nothing of the choice.
    """
    held = [[block.take(rows.ranges).held() for block in group] for group in blocks]
    trend = None if task.trend_columns is None else task.trend_columns[rows.ranges]
    make_gp = partial(task.make_gp, member.kernel, n_starts=task.n_starts)
    exact = fit_processes(make_gp, member.kernel, held, task.layout.groups(task.targets[rows.ranges]), trend, counter)
    some = [[block.take(rows.train) for block in group] for group in blocks]
    joined, names = member.kernel.join(some), member.kernel.block_names(some)
    trend = None if task.trend_columns is None else task.trend_columns[rows.train]
    ready = []
    for group, known in zip(task.layout.groups(task.targets[rows.train]), exact, strict=True):
        gp = task.make_gp(member.kernel, names, n_starts=1)
        gp.set_params(solver="vecchia", beta=known.beta_, nugget=known.nugget_)
        settings = [setting | {"n_threads": task.n_threads} for setting in SETTINGS]
        ready.append(gp.set_params(solver_options=choose_setting(gp, joined, group, trend, settings)))
    return ready


def _fit_rows(
    member: Member,
    blocks: list[list[Block]],
    ready: Sequence[RobustGP],
    task: Task,
    rows: Positions,
    keep_features: bool,
    counter: FitCounter,
) -> list[RobustGP]:
    """Fit large processes to many rows."""
    joined = member.kernel.join([[block.take(rows) for block in group] for group in blocks])
    trend = None if task.trend_columns is None else task.trend_columns[rows]
    gps = []
    for group, known in zip(task.layout.groups(task.targets[rows]), ready, strict=True):
        options = (known.solver_options or {}) | {"keep_features": int(keep_features)}
        gps.append(clone(known).set_params(solver_options=options).fit(joined, group, trend))
        gps[-1].forget_solver()
        counter.one_more()
    return gps


def _predict(member: Member, blocks: list[list[Block]], gps: Sequence[RobustGP], task: Task, rows: _Rows) -> Prediction:
    """Return what processes that were fitted to the other rows say of those held out, arrays of shape (M, k)."""
    cross = member.left_out_blocks(blocks, rows.out, rows.train)
    trend = None if task.trend_columns is None else task.trend_columns[rows.out]
    return Prediction.joined([gp.predict_distribution(cross, trend_columns=trend) for gp in gps], targets=True)
