"""Many rows: which solver runs, and how a model is fitted where no matrix of all pairs of rows can be held.

Ranges and nugget come from an exact process on a random subset; everything else from all rows, by inducing rows and
neighbors (``gp/solvers/vecchia.py``), as many as suit the answer (``gp/many_rows.py``). Rows that are held out, and not
folds, say how members weigh and how wide intervals are; then they are learned from as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from swwl.errors import InputError
from swwl.estimators import clone
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.correlations import get_correlation
from swwl.gp.factors import Term
from swwl.gp.folds import drawn_rows
from swwl.gp.many_rows import SETTINGS, choose_setting
from swwl.gp.prediction import Prediction
from swwl.gp.solvers.neighbors import can_be_near
from swwl.regression.fit import Mask, Task, fit_processes, input_shares
from swwl.regression.stack import FitCounter, Member

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
class SolverChoice:
    """Which solver runs, "exact" or "vecchia", and why."""

    name: str
    why: str

    @property
    def large(self) -> bool:
        """Whether it is the one for many rows."""
        return self.name == "vecchia"


def choose_solver(solver: str, n_rows: int, range_uncertainty: bool = False) -> SolverChoice:
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
    SolverChoice(name='exact', why='200 rows, and up to 3000 are fitted exactly')
    >>> choose_solver("auto", 20000).name
    'vecchia'
    """
    if solver not in SOLVERS:
        raise InputError(f"solver is {solver!r}, but 'auto', 'exact' or 'vecchia' is expected.")
    asked = "as requested"
    if solver == "exact" or (solver == "auto" and n_rows <= MOST_EXACT_ROWS):
        why = f"{n_rows} rows, and up to {MOST_EXACT_ROWS} are fitted exactly"
        return SolverChoice("exact", asked if solver == "exact" else why)
    why = asked if solver == "vecchia" else f"{n_rows} rows are more than {MOST_EXACT_ROWS}"
    if range_uncertainty:
        raise InputError(f"range_uncertainty is set, but solver='vecchia' ({why}) cannot do it: use solver='exact'.")
    return SolverChoice("vecchia", why)


@dataclass(frozen=True)
class _Rows:
    """Which of N rows ranges are estimated on, which are held out, and the others; each sorted."""

    ranges: Positions
    out: Positions
    train: Positions


def share_out(targets: Array, seed: int) -> _Rows:
    """Draw the rows for ranges, and others to hold out: a fifth, at most 1000.

    Examples
    --------
    >>> rows = share_out(np.arange(10_000.0)[:, None], 0)
    >>> len(rows.ranges), len(rows.out), len(rows.train), len(np.intersect1d(rows.ranges, rows.out))
    (2000, 1000, 9000, 0)
    """
    n = len(targets)
    order = np.random.default_rng(seed).permutation(n)
    out = order[n - min(_MOST_HELD_OUT, n // _HELD_OUT_SHARE) :]
    ranges = drawn_rows(order, min(N_RANGES, n - len(out)), targets)
    out = np.setdiff1d(out, ranges)
    return _Rows(ranges, out, np.setdiff1d(np.arange(n), out))


class ManyRows:
    """Large processes: ranges from a subset, everything else from all rows; see :class:`swwl.regression.fit.Way`.

    Parameters
    ----------
    task : Task
    judge : bool
        Whether rows are to be held out at all.
    """

    keeps_left_out = takes_noise = False

    def __init__(self, task: Task, judge: bool):
        self._task, self._rows = task, share_out(task.targets, task.seed)
        self._found: dict[str, tuple[list[list[Block]], list[RobustGP]]] = {}
        self.judged = self._rows.out
        hold_out = judge and len(self.judged) > 0
        places = np.arange(len(self.judged))
        folds = [places[i::_HELD_OUT_FOLDS] for i in range(_HELD_OUT_FOLDS)] if hold_out else []
        self.folds = [fold for fold in folds if len(fold)]
        self.n_fits = 2 + hold_out

    def with_task(self, task: Task) -> ManyRows:
        """Return the same way for another task."""
        return ManyRows(task, bool(self.folds))

    def fit(self, member: Member, blocks: list[list[Block]], counter: FitCounter) -> None:
        """Estimate ranges, and choose a setting that suits."""
        check_large(member, blocks)
        self._found[member.name] = blocks, _ready(member, blocks, self._task, self._rows, counter)

    def left_out(self, member: Member, counter: FitCounter) -> Prediction:
        """Return what the member, fitted to the other rows, says of those held out, arrays of shape (J, k)."""
        blocks, ready = self._found[member.name]
        gps = _fit_rows(blocks, member, ready, self._task, self._rows.train, counter)
        cross = member.left_out_blocks(blocks, self._rows.out, self._rows.train)
        _, trend = self._task.take(self._rows.out)
        return Prediction.joined([gp.predict_distribution(cross, trend_columns=trend) for gp in gps], targets=True)

    def finish(self, member: Member, counts: Mask, counter: FitCounter) -> None:
        """Fit to all rows, for all targets alike."""
        n = len(self._task.targets)
        sizes = [n * min(n, (gp.solver_options or {})["n_inducing"]) for _, own in self._found.values() for gp in own]
        blocks, ready = self._found[member.name]
        keep = sum(sizes) <= _MOST_FEATURES
        member.gps = _fit_rows(blocks, member, ready, self._task, np.arange(n), counter, keep_features=keep)
        member.shares = input_shares(member.kernel, member.kernel.join(blocks), member.gps, self._task.seed)


def check_large(member: Member, blocks: Sequence[Sequence[Block]]) -> None:
    """Refuse factors whose distances are not those of rows of numbers: neighbors could not be found among them."""
    for factor, group in zip(member.kernel.factors, blocks, strict=True):
        own = [*factor.correlations()] if member.kernel.elliptic is None else [member.kernel.elliptic] * len(group)
        terms = [Term(get_correlation(name), block) for name, block in zip(own, group, strict=True)]
        if not factor.positive_definite or not can_be_near(terms):
            raise InputError(
                f"{factor!r} cannot be fitted to {group[0].shape[0]} rows: solver='vecchia' needs Euclidean rows and "
                f"alpha of at least 1.5, as SWWL with r=2, ASWWL, PrincipalSWWL, Components and kernels of numbers "
                f"do. Use one of those, at most {MOST_EXACT_ROWS} rows, or solver='exact' (slow, needs much memory)."
            )


def _ready(member: Member, blocks: list[list[Block]], task: Task, rows: _Rows, counter: FitCounter) -> list[RobustGP]:
    """Return large processes that need only be fitted: ranges of exact ones on some rows, and a setting that suits.

    Settings are compared on training rows alone, so that those held out know nothing of the choice.
    """
    held = [[block.take(rows.ranges).held() for block in group] for group in blocks]
    make_gp = partial(task.make_gp, member.kernel, n_starts=task.n_starts)
    exact = fit_processes(make_gp, member.kernel, held, *task.take(rows.ranges), counter, drop_dependent=True)
    some = [[block.take(rows.train) for block in group] for group in blocks]
    joined, names = member.kernel.join(some), member.kernel.block_names(some)
    groups, trend = task.take(rows.train)
    ready = []
    for group, known in zip(groups, exact, strict=True):
        gp = task.make_gp(member.kernel, names, n_starts=1)
        gp.set_params(solver="vecchia", beta=known.beta_, nugget=known.nugget_)
        settings = [setting | {"n_threads": task.n_threads} for setting in SETTINGS]
        ready.append(gp.set_params(solver_options=choose_setting(gp, joined, group, trend, settings)))
    return ready


def _fit_rows(
    blocks: list[list[Block]],
    member: Member,
    ready: Sequence[RobustGP],
    task: Task,
    rows: Positions,
    counter: FitCounter,
    keep_features: bool = False,
) -> list[RobustGP]:
    """Fit large processes to many rows."""
    joined = member.kernel.join([[block.take(rows) for block in group] for group in blocks])
    groups, trend = task.take(rows)
    gps = []
    for group, known in zip(groups, ready, strict=True):
        options = (known.solver_options or {}) | {"keep_features": int(keep_features)}
        gps.append(clone(known).set_params(solver_options=options).fit(joined, group, trend, drop_dependent=True))
        gps[-1].forget_solver()
        counter.one_more()
    return gps
