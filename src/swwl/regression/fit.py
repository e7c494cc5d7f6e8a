"""Fit the processes of one kernel, or of several that are stacked: choices, weights and the width of intervals.

What the regressor does between embedding its meshes and its first prediction. :func:`fit_members` is the same for few
and for many rows; how a member is fitted and what it says of rows left out is for :class:`FewRows` (here) or
:class:`~swwl.regression.fit_many_rows.ManyRows` to say.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.domain.verdict import Representation
from swwl.errors import GPWarning
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.carried import carried
from swwl.gp.diagnostics import NOISE
from swwl.gp.folds import drawn_rows
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor, HasComponents, Product
from swwl.parallel import Progress
from swwl.regression.fit_regimes import Question, find_regimes
from swwl.regression.intervals import FEW, Folds, few_rows_factor, fold_predictions, interval_factor, make_folds
from swwl.regression.mixture import cross_fitted, log_densities, mixture
from swwl.regression.outliers import FEWEST, SEARCH_STEPS, Refit, can_be_odd, find_suspects, first_scores, is_clear_gain
from swwl.regression.regimes import Regimes
from swwl.regression.stack import FitCounter, Layout, Member
from swwl.regression.target_scale import TargetScale

Array = NDArray[np.float64]
Positions = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Numbers of components to compare, and rows of training for each component.
LADDER = (0, 4, 8, 16, 24)
_ROWS_PER_COMPONENT = 15
# Rows on which they are compared: enough to tell them apart, few enough to be quick.
_MOST_ROWS = 400

# Pairs of rows that tell which columns set cases apart.
_MOST_PAIRS = 2048
# Beyond so many rows, only members that count are fitted to a fine tolerance, and only for the targets they count for.
_MANY = 100
# Predictions of rows left out that explain this share of the variance tell a target from noise.
_SOME = 0.1

_COLUMNS = ["column", "n_components", "log_posterior", "chosen"]


def selection_rows(targets: Array, seed: int) -> NDArray[np.intp]:
    """Return the rows on which numbers of components are compared, sorted."""
    return drawn_rows(np.random.default_rng(seed).permutation(len(targets)), _MOST_ROWS, targets)


def ladder(factor: Factor, n_rows: int) -> list[int]:
    """Return the numbers of components worth comparing with so many rows; none where nothing is to be chosen."""
    known = factor.most_components() if isinstance(factor, HasComponents) else None
    if known is None:
        return []
    most = min(known, min(n_rows, _MOST_ROWS) // _ROWS_PER_COMPONENT)
    return sorted({min(number, most) for number in LADDER})


def choose_components(
    factors: Sequence[Factor],
    train: Sequence[Representation],
    blocks: list[list[Block]],
    log_posterior: Callable[[list[list[Block]], NDArray[np.intp]], float],
    targets: Array,
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
    targets : ndarray of shape (N, k)
        Of the training rows.
    seed : int
        Draws the rows.

    Returns
    -------
    DataFrame
        ``column``, ``n_components``, ``log_posterior`` and ``chosen``, a row for each number that was tried.
    """
    found: list[dict[str, Any]] = []
    n, rows = len(targets), selection_rows(targets, seed)
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


def same_rows(members: Sequence[Member]) -> Positions | None:
    """Return what rows with the same inputs have in common, a label (N,) each; None where all of them differ.

    Parameters
    ----------
    members : sequence of Member
        With representations of the N training cases.
    """
    pairs = [pair for member in members for pair in zip(member.kernel.factors, member.rows, strict=True)]
    vectors = {(factor.column, repr(factor.source())): factor.vectors(own) for factor, own in pairs}.values()
    if any(own is None for own in vectors):
        return None
    known: dict[bytes, int] = {}
    rows = zip(*(np.asarray(own) for own in vectors), strict=True)
    labels = [known.setdefault(b"".join(part.tobytes() for part in row), len(known)) for row in rows]
    return None if len(known) == len(labels) else np.array(labels, dtype=np.intp)


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
    scales : sequence of k TargetScale
        On which the targets are; none for their own.
    find_outliers : bool
        Whether to look for rows that the others do not explain.
    noise : tuple
        For every group of targets that are fitted together, the noise of rows that hardly count, (N,), or None.
    find_regimes : bool
        Whether to look for two branches.
    times : ndarray of shape (N, k) or None
        The laws' values, by which the targets have been divided.
    same : ndarray of int, shape (N,), or None
        Which rows have the same inputs; None where all differ.
    """

    targets: Array
    layout: Layout
    trend_columns: Array | None
    make_gp: Callable[..., RobustGP]
    n_starts: int
    calibrate: bool
    seed: int
    n_threads: int = 1
    scales: Sequence[TargetScale] = ()
    find_outliers: bool = False
    noise: tuple[Array | None, ...] = ()
    find_regimes: bool = False
    times: Array | None = None
    same: Positions | None = None

    @property
    def noises(self) -> list[Array | None]:
        """Noise of the rows for every group of targets, None where there is none."""
        return list(self.noise) or [None] * len(self.groups)

    def noise_of(self, k: int) -> Array | None:
        """Return the noise of the rows for target k, (N,), or None."""
        return self.noises[0 if len(self.groups) == 1 else k]

    def counted(self, k: int) -> Mask | None:
        """Return which rows count for target k, (N,); None where all do."""
        noise = self.noise_of(k)
        return None if noise is None else noise == 0.0

    def on_scales(self, scales: Sequence[TargetScale]) -> Task:
        """Return the same task with targets on other scales; itself where all of these are the targets' own."""
        if all(scale.is_identity for scale in scales):
            return self
        pairs = list(zip(scales, self.targets.T, strict=True))
        targets = np.column_stack([scale.forward(y) for scale, y in pairs])
        return replace(self, targets=targets, scales=[scale.limited(y) for scale, y in pairs])

    def over(self, times: Array | None) -> Task:
        """Return the same task with the targets divided by laws' values (N, k); itself where there are none."""
        return self if times is None else replace(self, targets=self.targets / times, times=times)

    def in_units(self, rows: Positions) -> Array:
        """Return the targets of some rows, (M, k), in the units of the user."""
        values = self.targets[rows]
        if self.scales:
            values = np.column_stack([scale.inverse(x) for scale, x in zip(self.scales, values.T, strict=True)])
        return values if self.times is None else self.times[rows] * values

    @property
    def groups(self) -> list[Array]:
        """The targets that are fitted together, (N,) or (N, k) each."""
        return self.layout.groups(self.targets)

    def take(self, rows: Positions) -> tuple[list[Array], Array | None]:
        """Return the targets that are fitted together and the columns of the trend, of some rows."""
        return self.layout.groups(self.targets[rows]), None if self.trend_columns is None else self.trend_columns[rows]


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
    judged : tuple of ndarray of int (J,) and Prediction (J, k), or None
        Which rows were predicted while they were left out, and how, before ``widths``; None where none were.
    task : Task
        What was fitted in the end: with the noise of rows that hardly count.
    regimes : Regimes or None
        Where rows follow two branches.
    """

    members: list[Member]
    weights: pd.DataFrame
    widths: Array
    left_out: Prediction | None
    selection: pd.DataFrame
    candidates: pd.DataFrame
    judged: tuple[Positions, Prediction] | None
    task: Task
    regimes: Regimes | None = None


class Way(Protocol):
    """How members are fitted, and judged by rows that were left out.

    Attributes
    ----------
    judged : ndarray of shape (J,)
        The rows that are predicted while they are left out.
    folds : list of ndarray of int
        Places among these, fold by fold; weights for a fold never see it. Empty where nothing is judged.
    n_fits : int
        Of every member and group of targets.
    keeps_left_out : bool
        Whether predictions of rows left out stand for leave-one-out predictions of a stack.
    takes_noise : bool
        Whether rows can have noise of their own.
    """

    judged: Positions
    folds: list[Positions]
    n_fits: int
    keeps_left_out: bool
    takes_noise: bool

    def with_task(self, task: Task) -> Way:
        """Return the same way for another task, with the same folds."""

    def fit(self, member: Member, blocks: list[list[Block]], counter: FitCounter) -> None:
        """Fit a member as far as its weight does not matter, given the blocks of every factor."""

    def left_out(self, member: Member, counter: FitCounter) -> Prediction:
        """Return what the member that was fitted last says of the judged rows, arrays of shape (J, k)."""

    def finish(self, member: Member, counts: Mask, counter: FitCounter) -> None:
        """Fit a member to all rows for the targets it counts for, (k,); its ``gps`` and ``shares`` are set then."""


class FewRows:
    """Exact processes, fitted to all rows at once; folds tell what they say of rows left out. See :class:`Way`.

    Parameters
    ----------
    task : Task
    judge : bool
        Whether rows are to be left out at all.
    """

    keeps_left_out = takes_noise = True

    def __init__(self, task: Task, judge: bool):
        n = len(task.targets)
        self._task, self._judge = task, judge
        self._folds = make_folds(n, task.seed, task.same) if judge else Folds([], [])
        self._later = judge and n > _MANY  # the last steps of a search cost most, and matter where a member counts
        self._held: list[list[Block]] = []
        self.judged, self.folds, self.n_fits = np.arange(n), self._folds.test, 1 + len(self._folds)

    def with_task(self, task: Task) -> FewRows:
        """Return the same way for another task, with the same folds."""
        return FewRows(task, self._judge)

    def fit(self, member: Member, blocks: list[list[Block]], counter: FitCounter) -> None:
        """Fit to all rows, and keep the blocks for the folds."""
        task, kernel = self._task, member.kernel
        self._held = [[block.held() for block in group] for group in blocks]
        make_gp = partial(task.make_gp, kernel, n_starts=task.n_starts)
        fine = None if not self._later else False
        member.gps = fit_processes(
            make_gp, kernel, self._held, task.groups, task.trend_columns, counter, task.noises, fine=fine
        )
        member.shares = input_shares(kernel, kernel.join(self._held), member.gps, task.seed)

    def left_out(self, member: Member, counter: FitCounter) -> Prediction:
        """Return what the member says of every row from the folds without it, arrays of shape (N, k)."""
        task, held = self._task, self._held
        make_gp, joined = partial(task.make_gp, member.kernel), member.kernel.join(held)
        cross = partial(member.left_out_blocks, held)
        parts = [
            fold_predictions(
                make_gp,
                joined,
                cross,
                group,
                task.trend_columns,
                replace(self._folds, noise=noise),
                gp,
                counter.one_more,
            )
            for group, gp, noise in zip(task.groups, member.gps, task.noises, strict=True)
        ]
        return Prediction.joined(parts, targets=True)

    def finish(self, member: Member, counts: Mask, counter: FitCounter) -> None:
        """Search on to a fine tolerance, where that was left for later."""
        if not self._later:
            return
        task, kernel = self._task, member.kernel
        joined = kernel.join([[block.held() for block in group] for group in member.training_blocks()])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)  # the first fit has said what needs saying
            counted = task.layout.groups(counts[None].astype(float))
            for own, gp, group, noise in zip(counted, member.gps, task.groups, task.noises, strict=True):
                if own.any():
                    gp.fit(joined, group, task.trend_columns, start=gp, noise=noise, fine=True)
        member.shares = input_shares(kernel, joined, member.gps, task.seed)


def fit_members(members: Sequence[Member], task: Task, way: Way, progress: Progress | None) -> Outcome:
    """Fit the processes of all members; the ``gps`` and ``shares`` of those that count are set.

    Parameters
    ----------
    members : sequence of Member
        With representations; without processes.
    task : Task
    way : FewRows or ManyRows
    progress : callable, optional
        Called as ``progress(done, total)`` as processes are fitted.
    """
    stacked = len(members) > 1
    tried = sum(len(ladder(factor, len(task.targets))) for member in members for factor in member.kernel.factors)
    counter = FitCounter(progress, len(task.groups) * (len(members) * way.n_fits + tried))
    found = _fit_and_weigh(members, task, way, counter)
    selection = found.selection
    if task.find_outliers and way.takes_noise:
        task, found = _without_outliers(members, task, way, found, counter)
    weights, together, names = found.weights, found.together, task.layout.names
    branches = None
    if task.find_regimes and way.takes_noise and together is not None:
        branches = find_regimes(_question(members, task, way, weights, together), counter)
    if branches is not None:
        together = branches[1]
    candidates = candidate_table(members, task, way.judged, weights, found.left_out) if stacked else pd.DataFrame()
    _say(members[int(weights.sum(axis=1).argmax())], task, way, together)  # the heaviest one speaks for all
    widths = np.ones(len(names))
    if task.calibrate:
        widths = np.array([_width(members, task, way, weights, together, k) for k in range(len(names))])
    used = [member for member, row in zip(members, weights, strict=True) if row.any()]
    if way.takes_noise:
        way = way.with_task(task)
    for member, row in zip(members, weights, strict=True):
        if row.any():
            way.finish(member, row > 0.0, counter)
    for member in members:
        member.notes = []
        for factor in member.kernel.factors:
            factor.forget()
    table = pd.DataFrame(weights[weights.any(axis=1)], index=[member.name for member in used], columns=names)
    kept = together if (stacked or branches is not None) and way.keeps_left_out else None
    judged = None if together is None else (way.judged, together)
    regimes = None
    if branches is not None:  # members that do not count are gone
        regimes = replace(branches[0], base=next(i for i, m in enumerate(used) if m is members[branches[0].base]))
    return Outcome(used, table, widths, kept, selection, candidates, judged, task, regimes)


def _question(members: Sequence[Member], task: Task, way: Way, weights: Array, plain: Prediction) -> Question:
    """Return what :func:`~swwl.regression.fit_regimes.find_regimes` has to know; the heaviest member is asked."""
    base = int(weights.sum(axis=1).argmax())
    counted = np.ones(len(task.targets), bool)
    for k in range(task.targets.shape[1]):
        own = task.counted(k)
        counted &= True if own is None else own
    make_gp = partial(task.make_gp, members[base].kernel)
    return Question(members[base], base, task.targets, task.trend_columns, counted, way.folds, plain, make_gp)


class _Weighed(NamedTuple):
    """What folds say: weights (K, k), the mixture of rows left out (J, k), and every member's; what was chosen."""

    weights: Array
    together: Prediction | None
    left_out: list[Prediction]
    selection: pd.DataFrame


def _fit_and_weigh(
    members: Sequence[Member], task: Task, way: Way, counter: FitCounter, *, choose: bool = True
) -> _Weighed:
    """Fit all members, and weigh them by rows left out; ``choose`` says whether numbers of components are open."""
    left_out, selection = [], []
    for member in members:
        with warnings.catch_warnings(record=True) as member.notes:
            warnings.simplefilter("always", GPWarning)
            blocks, chosen = choose_for_member(member, task, counter) if choose else (member.training_blocks(), None)
            way.fit(member, blocks, counter)
        selection.append(chosen)
        if way.folds:
            left_out.append(way.left_out(member, counter))
    k = task.targets.shape[1]
    counted = [_among(task.counted(j), way.judged) for j in range(k)]
    weights, together = weigh(task.targets[way.judged], left_out, way.folds, len(members), k, counted)
    table = pd.concat(selection) if choose else pd.DataFrame()
    return _Weighed(weights, together, left_out, table)


def _among(counted: Mask | None, rows: Positions) -> Mask | None:
    return None if counted is None else counted[rows]


def _say(member: Member, task: Task, way: Way, together: Prediction | None) -> None:
    """Warn of what there was to say of a member's fit, but of noise only where all members together see no more."""
    explains = together is not None and _explains(task, way, together)
    for note in member.notes:
        if explains and str(note.message).startswith(NOISE):
            continue
        # Nobody who fits this model sets max_iter.
        text = str(note.message).replace("max_iter=", "").replace("raise max_iter.", "scores already allow for that.")
        warnings.warn(text, note.category, stacklevel=5)


def _explains(task: Task, way: Way, together: Prediction) -> bool:
    """Whether predictions of rows left out, (J, k), explain some of every target."""
    found = []
    for k, y in enumerate(task.targets[way.judged].T):
        counted = _among(task.counted(k), way.judged)
        own = slice(None) if counted is None else counted
        found.append(float(((y - together.mean[:, k])[own] ** 2).mean()) < (1 - _SOME) * float(y[own].var()))
    return all(found)


def _width(
    members: Sequence[Member], task: Task, way: Way, weights: Array, together: Prediction | None, k: int
) -> float:
    """Return how much wider than predicted the intervals of target k should be; rows that hardly count have no say."""
    counted = task.counted(k)
    y = task.targets[:, k]
    if way.takes_noise and len(y) < FEW:
        parts = [Prediction.joined([gp.leave_one_out().columns() for gp in m.gps], targets=True) for m in members]
        own = mixture([part.column(k) for part in parts], weights[:, k])
        return few_rows_factor(y, own, None if together is None else together.column(k))
    if together is None:
        return 1.0
    judged, among = y[way.judged], _among(counted, way.judged)
    if among is None:
        return interval_factor(judged, together.column(k))
    return interval_factor(judged[among], together.column(k).take(among))


def _without_outliers(
    members: Sequence[Member], task: Task, way: Way, found: _Weighed, counter: FitCounter
) -> tuple[Task, _Weighed]:
    """Look for rows that the others do not explain; fit again without their weight where the others gain by it.

    Members keep the processes of the fit that is returned.
    """
    if found.together is None or len(task.targets) < FEWEST:  # nobody could say whether the others gain
        return task, found
    noises = _search(members, task, found, found.together)
    if not any(noise is not None for noise in noises):
        return task, found
    kept = [(member.gps, member.shares, member.notes) for member in members]
    tested = replace(task, noise=tuple(noises))
    counter.expect(len(task.groups) * len(members) * way.n_fits)
    other = _fit_and_weigh(members, tested, way.with_task(tested), counter, choose=False)
    refused = _refused(tested, found, other)
    if refused and len(refused) < sum(noise is not None for noise in noises):
        # what helps one target is not for another's sake
        tested = replace(task, noise=tuple(None if g in refused else noise for g, noise in enumerate(noises)))
        counter.expect(len(task.groups) * len(members) * way.n_fits)
        other = _fit_and_weigh(members, tested, way.with_task(tested), counter, choose=False)
    elif refused:
        for member, known in zip(members, kept, strict=True):
            member.gps, member.shares, member.notes = known
        return task, found
    return tested, other


def _refused(tested: Task, before: _Weighed, after: _Weighed) -> list[int]:
    """Return the groups of targets whose counted rows do not gain clearly; none where nothing is judged."""
    if before.together is None or after.together is None:
        return []
    refused = []
    for g, noise in enumerate(tested.noises):
        if noise is not None:
            targets = range(tested.targets.shape[1]) if len(tested.groups) == 1 else [g]
            densities = [
                np.sum([log_densities(tested.targets[:, k], [p.column(k)])[:, 0] for k in targets], axis=0)
                for p in (before.together, after.together)
            ]
            if not is_clear_gain(densities[0], densities[1], noise == 0.0):
                refused.append(g)
    return refused


def _search(members: Sequence[Member], task: Task, found: _Weighed, together: Prediction) -> list[Array | None]:
    """Return the noise of suspects for every group of targets, None where nothing is odd, by the heaviest member."""
    noises: list[Array | None] = []
    for g, group in enumerate(task.groups):
        targets = list(range(task.targets.shape[1])) if len(task.groups) == 1 else [g]
        member = members[int(found.weights[:, targets].sum(axis=1).argmax())]
        gp = member.gps[g]
        left_out = Prediction(together.mean[:, targets], together.scale[:, targets], together.df)
        scores = first_scores(group, gp, left_out)
        if not can_be_odd(scores):
            noises.append(None)
            continue
        joined = member.kernel.join([[block.held() for block in own] for own in member.training_blocks()])
        noise = find_suspects(group, scores, partial(_refit, task, member.kernel, joined, group, gp))
        noises.append(noise if noise.any() else None)
    return noises


def _refit(task: Task, kernel: Product, blocks: Sequence[Block], y: Array, gp: RobustGP, noise: Array) -> Refit:
    """Fit a process again where some rows have noise, from where the first one began: it was ruled by those rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)  # the fit on all rows will say what needs saying
        start = gp.beginning()
        other = task.make_gp(kernel).fit(blocks, y, task.trend_columns, start=start, max_iter=SEARCH_STEPS, noise=noise)
    return Refit(other.leave_one_out(), np.sqrt(np.atleast_1d(other.sigma2_)))


def choose_for_member(member: Member, task: Task, counter: FitCounter) -> tuple[list[list[Block]], pd.DataFrame]:
    """Choose numbers of components where they are open; return the blocks of every factor, and how it was chosen."""
    kernel = member.kernel
    blocks = member.training_blocks()

    def log_posterior(among: list[list[Block]], rows: NDArray[np.intp]) -> float:
        groups, trend = task.take(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)  # the fit on all rows will say what needs saying
            make_gp = partial(task.make_gp, kernel)
            gps = fit_processes(make_gp, kernel, among, groups, trend, counter, drop_dependent=True)
        return sum(gp.log_posterior_ for gp in gps)

    chosen = choose_components(kernel.factors, member.rows, blocks, log_posterior, task.targets, task.seed)
    return blocks, chosen


def weigh(
    targets: Array,
    left_out: Sequence[Prediction],
    folds: Sequence[NDArray[np.intp]],
    n_members: int,
    k: int,
    counted: Sequence[Mask | None] | None = None,
) -> tuple[Array, Prediction | None]:
    """Return weights (K, k), and the mixture's predictions of rows left out, (N, k); equal weights without folds.

    ``counted`` says for every target which rows have a say, (N,); None where all have.
    """
    if not left_out:
        return np.full((n_members, k), 1 / n_members), None
    known = counted or [None] * k
    found = [cross_fitted(y, [part.column(j) for part in left_out], folds, known[j]) for j, y in enumerate(targets.T)]
    return np.column_stack([weights for weights, _ in found]), Prediction.joined([p for _, p in found], targets=True)


def fit_processes(
    make_gp: Callable[[list[str]], RobustGP],
    kernel: Product,
    blocks: Sequence[Sequence[Block]],
    targets: list[Array],
    trend_columns: Array | None,
    counter: FitCounter,
    noises: Sequence[Array | None] | None = None,
    **options: Any,
) -> list[RobustGP]:
    """Fit a process to every group of targets.

    Parameters
    ----------
    make_gp : callable
        Takes a name per block and returns an unfitted process.
    kernel : Product
    blocks : sequence of sequences of Block
        Those of every factor.
    targets : list of ndarray of shape (N,) or (N, k)
    trend_columns : ndarray of shape (N, m) or None
    counter : FitCounter
    noises : sequence of ndarray of shape (N,) or None, optional
        Of the rows, for every group.
    **options
        Of :meth:`swwl.RobustGP.fit`.
    """
    joined, names = kernel.join(blocks), kernel.block_names(blocks)
    gps = []
    for group, noise in zip(targets, noises or [None] * len(targets), strict=True):
        gps.append(make_gp(names).fit(joined, group, trend_columns, noise=noise, **options))
        counter.one_more()
    return gps


def input_shares(kernel: Product, blocks: Sequence[Block], gps: Sequence[RobustGP], seed: int) -> Array:
    r"""Return how much of what sets two cases apart comes from each column, shape (columns, processes).

    The mean over pairs of :math:`(\beta_l d_l)^2`, summed over the ranges of a column, divided by the sum over all.

    Parameters
    ----------
    kernel : Product
    blocks : sequence of Block
        Joined, among the training rows.
    gps : sequence of RobustGP
        Fitted to them.
    seed : int
        Draws the pairs.
    """
    n = blocks[0].shape[0]
    rng = np.random.default_rng(seed)
    rows = rng.integers(n, size=_MOST_PAIRS)
    others = (rows + rng.integers(1, n, size=_MOST_PAIRS)) % n
    squares = (np.hstack([block.pairs(rows, others) for block in blocks]) ** 2).mean(axis=0)
    owners = np.repeat([factor.column for factor in kernel.factors], [len(f.range_names()) for f in kernel.factors])
    parts = np.column_stack([gp.beta_**2 * squares for gp in gps])
    table = pd.DataFrame(parts).groupby(owners, sort=False).sum().reindex(kernel.columns).to_numpy()
    return table / np.maximum(table.sum(axis=0), np.finfo(float).tiny)


def candidate_table(
    members: Sequence[Member], task: Task, judged: Positions, weights: Array, left_out: Sequence[Prediction]
) -> pd.DataFrame:
    """Say of every candidate and target what it weighs and how well it predicts rows left out.

    Parameters
    ----------
    members : sequence of K Member
    task : Task
        Rows that hardly count are not judged by.
    judged : ndarray of int, shape (J,)
        The rows that were left out.
    weights : ndarray of shape (K, k)
    left_out : sequence of K Prediction
        From folds, arrays of shape (J, k); empty where there were none.

    Returns
    -------
    DataFrame
        ``target``, ``candidate``, ``weight`` and ``rmse``.
    """
    rows = []
    times = None if task.times is None else task.times[judged]
    known, told = task.in_units(judged), [carried(part, task.scales, times=times) for part in left_out]
    for j, target in enumerate(task.layout.names):
        counted = _among(task.counted(j), judged)
        for i, member in enumerate(members):
            error = known[:, j] - told[i].mean[:, j] if left_out else np.array([np.nan])
            error = error if counted is None or not left_out else error[counted]
            rmse = float(np.sqrt(np.mean(error**2)))
            rows.append({"target": target, "candidate": member.name, "weight": float(weights[i, j]), "rmse": rmse})
    return pd.DataFrame(rows, columns=["target", "candidate", "weight", "rmse"])
