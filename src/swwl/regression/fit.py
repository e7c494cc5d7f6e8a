"""Fit the processes of one kernel, or of several that are stacked: choices, folds, weights and the width of intervals.

What the regressor does between embedding its meshes and its first prediction.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.errors import GPWarning
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor, HasComponents
from swwl.parallel import Progress
from swwl.regression.intervals import Folds, fold_predictions, interval_factor, make_folds
from swwl.regression.stack import FitCounter, Layout, Member, candidate_table, cross_fitted, fit_processes, input_shares

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
    known = factor.most_components() if isinstance(factor, HasComponents) else None
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
            assert isinstance(factor, HasComponents)
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


Array = NDArray[np.float64]

# Members that weigh less for every target are left out of predictions: these hardly change, and take less time.
_LEAST_WEIGHT = 0.02


@dataclass(frozen=True)
class Task:
    """What is to be fitted, for all members alike.

    Attributes
    ----------
    targets : ndarray of shape (N, k)
    layout : Layout
    trend_columns : ndarray of shape (N, m) or None
    make_gp : callable
        Takes a kernel, a name per block and a number of starts; returns an unfitted process.
    n_starts : int
        Of the fits on all rows.
    calibrate : bool
    seed : int
    n_threads : int
        Of the solver for many rows.
    """

    targets: Array
    layout: Layout
    trend_columns: Array | None
    make_gp: Callable[..., RobustGP]
    n_starts: int
    calibrate: bool
    seed: int
    n_threads: int = 1

    @property
    def groups(self) -> list[Array]:
        """The targets that are fitted together, (N,) or (N, k) each."""
        return self.layout.groups(self.targets)


@dataclass(frozen=True)
class Outcome:
    """What fits and folds settle beside the processes themselves.

    Attributes
    ----------
    members : list of K Member
        Those that count.
    weights : DataFrame of shape (K, k)
        Of each for k targets.
    widths : ndarray of shape (k,)
        By how much standard deviations are multiplied.
    left_out : Prediction or None
        What the stack says of every training row from folds without it, arrays of shape (N, k); None for one member.
    selection, candidates : DataFrame
    """

    members: list[Member]
    weights: pd.DataFrame
    widths: Array
    left_out: Prediction | None
    selection: pd.DataFrame
    candidates: pd.DataFrame


def fit_members(members: Sequence[Member], task: Task, progress: Progress | None) -> Outcome:
    """Fit the processes of all members; their ``gps`` and ``shares`` are set.

    Parameters
    ----------
    members : sequence of Member
        With representations; without processes.
    task : Task
    progress : callable, optional
        Called as ``progress(done, total)`` as processes are fitted.
    """
    n, k = task.targets.shape
    stacked = len(members) > 1
    folds = make_folds(n, task.seed) if stacked or task.calibrate else Folds([], [])
    tried = sum(len(ladder(factor, n)) for member in members for factor in member.kernel.factors)
    counter = FitCounter(progress, len(task.groups) * (len(members) * (1 + len(folds)) + tried))
    left_out, selection = [], []
    for member in members:
        with warnings.catch_warnings(record=True) as member.notes:
            warnings.simplefilter("always", GPWarning)
            held, chosen = _fit_member(member, task, counter)
        selection.append(chosen)
        if len(folds):
            left_out.append(_left_out(member, held, task, folds, counter))
    for member in members:
        for factor in member.kernel.factors:
            factor.forget()
    names = task.layout.names
    weights, together = weigh(task.targets, left_out, folds.test, len(members), k)
    weights = pruned(weights)
    candidates = candidate_table(members, task.targets, names, weights, left_out) if stacked else pd.DataFrame()
    for note in members[int(weights.sum(axis=1).argmax())].notes:  # the heaviest one speaks for all
        warnings.warn(note.message, note.category, stacklevel=4)
    for member in members:
        member.notes = []
    widths = np.ones(k)
    if task.calibrate and together is not None:
        widths = np.array([interval_factor(y, together.column(j)) for j, y in enumerate(task.targets.T)])
    used = [member for member, row in zip(members, weights, strict=True) if row.any()]
    table = pd.DataFrame(weights[weights.any(axis=1)], index=[member.name for member in used], columns=names)
    return Outcome(used, table, widths, together if stacked else None, pd.concat(selection), candidates)


def pruned(weights: Array) -> Array:
    """Return weights (K, k) without those of members that hardly count for any target: they are not worth their time.

    Examples
    --------
    >>> pruned(np.array([[0.99, 0.50], [0.01, 0.49], [0.0, 0.01]])).round(3).tolist()
    [[0.99, 0.505], [0.01, 0.495], [0.0, 0.0]]
    """
    counts = (weights >= _LEAST_WEIGHT).any(axis=1, keepdims=True)
    kept = np.where(counts, weights, 0.0)
    return kept / kept.sum(axis=0)


def choose_for_member(member: Member, task: Task, counter: FitCounter) -> tuple[list[list[Block]], pd.DataFrame]:
    """Choose numbers of components where they are open; return the blocks of every factor, and how it was chosen."""
    kernel = member.kernel
    blocks = member.training_blocks()

    def log_posterior(among: list[list[Block]], rows: NDArray[np.intp]) -> float:
        trend = None if task.trend_columns is None else task.trend_columns[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)  # the fit on all rows will say what needs saying
            groups = task.layout.groups(task.targets[rows])
            gps = fit_processes(partial(task.make_gp, kernel), kernel, among, groups, trend, counter)
        return sum(gp.log_posterior_ for gp in gps)

    chosen = choose_components(kernel.factors, member.rows, blocks, log_posterior, len(task.targets), task.seed)
    return blocks, chosen


def _fit_member(member: Member, task: Task, counter: FitCounter) -> tuple[list[list[Block]], pd.DataFrame]:
    """Choose numbers of components where they are open, and fit to all rows; return the blocks of every factor."""
    kernel = member.kernel
    blocks, selection = choose_for_member(member, task, counter)
    held = [[block.held() for block in group] for group in blocks]
    make_gp = partial(task.make_gp, kernel, n_starts=task.n_starts)
    member.gps = fit_processes(make_gp, kernel, held, task.groups, task.trend_columns, counter)
    member.shares = input_shares(kernel, kernel.join(held), member.gps, task.seed)
    return held, selection


def _left_out(member: Member, held: list[list[Block]], task: Task, folds: Folds, counter: FitCounter) -> Prediction:
    """Return what a member says of every row from the folds without it, arrays of shape (N, k)."""
    make_gp, joined = partial(task.make_gp, member.kernel), member.kernel.join(held)
    cross = partial(member.left_out_blocks, held)
    parts = [
        fold_predictions(make_gp, joined, cross, group, task.trend_columns, folds, gp, counter.one_more)
        for group, gp in zip(task.groups, member.gps, strict=True)
    ]
    return Prediction.joined(parts, targets=True)


def weigh(
    targets: Array, left_out: Sequence[Prediction], folds: Sequence[NDArray[np.intp]], n_members: int, k: int
) -> tuple[Array, Prediction | None]:
    """Return weights (K, k), and the mixture's predictions of rows left out, (N, k); equal weights without folds."""
    if not left_out:
        return np.full((n_members, k), 1 / n_members), None
    found = [cross_fitted(y, [part.column(j) for part in left_out], folds) for j, y in enumerate(targets.T)]
    return np.column_stack([weights for weights, _ in found]), Prediction.joined([p for _, p in found], targets=True)
