"""Find out whether training rows follow two branches, and fit experts and a gate where folds say that it helps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from swwl.errors import GPWarning, InputError
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.factors import cross_correlation
from swwl.gp.inputs import check_correlations, independent_columns, training_terms, trend_matrix
from swwl.gp.mixed import log_mixture, mixed
from swwl.gp.prediction import Prediction
from swwl.regression.mixture import log_densities, stacking_weights
from swwl.regression.regimes import Branches, Regimes, branch_densities, process_densities, split_rows
from swwl.regression.stack import FitCounter, Member

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]

REGIMES = ("auto", "one")
# With fewer rows two branches cannot be told from chance; more than the most would take long.
FEWEST, MOST = 60, 1000
# Nats that a row and target has to gain before experts are fitted, and by them, and in standard errors. Two branches
# gain half a nat and more; what experts gain by a noise that differs from place to place is not worth their time.
_HOPE, _GAIN, _ERRORS = 0.2, 0.2, 2.0
# Where nobody can tell which branch a case follows, means are no better than those of one process, but hardly worse.
_FARTHER = 1.1  # squared errors
_STEPS, _FOLD_STEPS = 60, 30
# Of more rows, so many are asked first.
_SOME = 250


def check_regimes(regimes: str) -> None:
    """Refuse a word that says nothing about regimes."""
    if regimes not in REGIMES:
        raise InputError(f"regimes is {regimes!r}, but 'auto' or 'one' is expected.")


@dataclass(frozen=True)
class Question:
    """What there is to know before branches are looked for.

    Attributes
    ----------
    member : Member
        Fitted; the heaviest one.
    base : int
        Its place in the stack.
    targets : ndarray of shape (N, k)
    trend : ndarray of shape (N, m) or None
    counted : ndarray of bool, shape (N,)
        Which rows count in full.
    folds : sequence of ndarray of int
        The rows that are left out of every fold.
    plain : Prediction
        What the stack says of every row from the folds without it, (N, k).
    make_gp : callable
        Returns an unfitted process.
    """

    member: Member
    base: int
    targets: Array
    trend: Array | None
    counted: Mask
    folds: Sequence[Positions]
    plain: Prediction
    make_gp: Callable[[], RobustGP]

    @property
    def noises(self) -> list[float]:
        """Nuggets of the member's processes."""
        return [float(gp.nugget_) for gp in self.member.gps]

    def trend_of(self, rows: Positions) -> Array | None:
        """Return the columns of the trend of some rows."""
        return None if self.trend is None else self.trend[rows]


def find_regimes(question: Question, counter: FitCounter) -> tuple[Regimes, Prediction] | None:
    """Return experts and a gate, and what they and the stack together say of every row left out, (N, k).

    None where training rows do not follow two branches, as far as rows left out can tell.
    """
    n, k = question.targets.shape
    if not FEWEST <= int(question.counted.sum()) <= MOST or len(question.member.gps) != k:
        return None
    member = question.member
    held = [[block.held() for block in group] for group in member.training_blocks()]
    joined = member.kernel.join(held)
    correlations = [_correlation(gp, joined) for gp in member.gps]
    try:
        for asked in _asked(question):
            split = _split(asked, correlations, np.flatnonzero(asked.counted))
            if split is None or not _promising(asked, correlations, split.start):
                return None
    except np.linalg.LinAlgError:  # a kernel that is not positive definite
        return None
    assert split is not None
    counter.expect((1 + 2 * k) * (1 + len(question.folds)))
    try:
        return _judged(question, held, correlations, split, counter)
    except (InputError, np.linalg.LinAlgError):  # what a branch of some fold cannot be fitted to
        return None


def _judged(
    question: Question, held: list[list[Block]], correlations: Sequence[Array], split: Branches, counter: FitCounter
) -> tuple[Regimes, Prediction] | None:
    """Fit experts and a gate in folds and, where rows left out gain by it, to all rows; see :func:`find_regimes`."""
    n, k = question.targets.shape
    member, every = question.member, np.flatnonzero(question.counted)
    joined = member.kernel.join(held)
    if not _have_trends(question, every, split.second):
        return None
    parts = [np.empty((n, k)) for _ in range(4)]  # mean and scale of either expert
    second, dfs = np.empty(n), np.full(2, np.inf)
    for fold in question.folds:
        train = np.setdiff1d(every, fold)
        own = _split(question, correlations, train, split.start)
        if own is None or not _have_trends(question, train, own.second):
            return None
        experts = _fitted(question, joined, train, own.second, _FOLD_STEPS, counter)
        found, second[fold] = experts.predict(member.left_out_blocks(held, fold, train), question.trend_of(fold))
        for branch, one in enumerate(found):
            parts[2 * branch][fold], parts[2 * branch + 1][fold] = one.mean, one.scale
            dfs[branch] = min(dfs[branch], one.df)
    left_out = [Prediction(parts[0], parts[1], dfs[0]), Prediction(parts[2], parts[3], dfs[1])]
    shares, together = _weighed(question, left_out, second)
    if not shares.any():
        return None
    return replace(_fitted(question, joined, every, split.second, _STEPS, counter), shares=shares), together


def _asked(question: Question) -> list[Question]:
    """Return the question about some of many rows, which is soon answered and mostly with no, and then about all."""
    every = np.flatnonzero(question.counted)
    if len(every) <= _SOME:
        return [question]
    some = np.zeros(len(question.counted), bool)
    some[np.random.default_rng(0).permutation(every)[:_SOME]] = True
    return [replace(question, counted=some), question]


def _split(
    question: Question, correlations: Sequence[Array], rows: Positions, start: int | None = None
) -> Branches | None:
    """Divide some rows between two branches: by their targets, and how far these are off when left out of the member.

    The member was fitted to all rows, so that the residuals of some know of the others, too; they suggest a start only.
    """
    left_out = Prediction.joined([gp.leave_one_out().columns() for gp in question.member.gps], targets=True)
    residuals = (question.targets - left_out.mean) / left_out.std
    among = np.ix_(rows, rows)
    return split_rows(
        [own[among] for own in correlations], question.noises, question.targets[rows], residuals[rows], start
    )


def _promising(question: Question, correlations: Sequence[Array], start: int) -> bool:
    """Whether two branches describe rows left out clearly better than the stack, and than one process as they are.

    Ranges are fixed, those that the member has learned from all rows: one process gains by that, too.
    """
    size = question.targets.std(axis=0)
    y = (question.targets - question.targets.mean(axis=0)) / size
    plain = np.zeros(len(y))
    for k, column in enumerate(question.targets.T):
        plain += question.plain.column(k).log_density(column) + np.log(size[k])
    one, two = np.zeros(len(y)), np.zeros(len(y))
    gate = np.mean(correlations, axis=0)
    for fold in question.folds:
        train = np.setdiff1d(np.flatnonzero(question.counted), fold)
        split = _split(question, correlations, train, start)
        if split is None:
            return False
        known, second = np.zeros(len(y), bool), np.zeros(len(y), bool)
        known[train], second[train] = True, split.second
        densities, _ = branch_densities(correlations, question.noises, y, second, gate, known)
        two[fold] = np.logaddexp(densities[fold, 0], densities[fold, 1])
        one[fold] = process_densities(correlations, question.noises, y, known)[fold]
    least = _HOPE * y.shape[1]
    return all(_is_clear((two - other)[question.counted], least) for other in (plain, one))


def _have_trends(question: Question, rows: Positions, second: Mask) -> bool:
    """Whether the trend can be estimated by the rows of either branch: there are enough, and its columns vary there."""
    kind = question.make_gp().trend
    designs = [trend_matrix(kind, question.trend_of(own), len(own)) for own in (rows[~second], rows[second])]
    return all(len(independent_columns(own)) == own.shape[1] for own in designs)


def _is_clear(gain: Array, least: float) -> bool:
    return bool(gain.mean() > max(least, _ERRORS * gain.std() / np.sqrt(len(gain))))


def _fitted(
    question: Question, blocks: Sequence[Block], rows: Positions, second: Mask, max_iter: int, counter: FitCounter
) -> Regimes:
    """Fit experts and gate to some rows; where these are not all that count, they are the only ones it knows."""

    def fit(own: Positions, y: Array, k: int) -> RobustGP:
        start = question.member.gps[k].beginning()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)  # the fits of the members have said what needs saying
            among = [block.take(own) for block in blocks]
            gp = question.make_gp().fit(among, y, question.trend_of(own), start=start, max_iter=max_iter)
        counter.one_more()
        return gp

    first, other = (
        [fit(own, y[own], k) for k, y in enumerate(question.targets.T)] for own in (rows[~second], rows[second])
    )
    gate = fit(rows, np.where(second, 1.0, -1.0), 0)
    n = len(question.targets)
    if len(rows) < int(question.counted.sum()):  # of a fold
        return Regimes(
            question.base, second, np.ones(len(rows), bool), (first, other), gate, np.ones(len(question.targets.T))
        )
    whole = np.zeros(n, bool)
    whole[rows] = second
    return Regimes(
        question.base, whole, question.counted.copy(), (first, other), gate, np.ones(question.targets.shape[1])
    )


def _weighed(question: Question, left_out: Sequence[Prediction], second: Array) -> tuple[Array, Prediction]:
    """Return the share (k,) of the experts for every target, and the mixture with the stack by shares of other folds.

    It is zero for targets whose rows left out are not described clearly better, or whose means are clearly farther off.

    Parameters
    ----------
    question : Question
    left_out : sequence of two Prediction
        Of the experts, arrays of shape (N, k).
    second : ndarray of shape (N,)
        Probabilities of the second branch.
    """
    n, k = question.targets.shape
    shares, by_fold = np.empty(k), np.empty((n, k))
    known = np.flatnonzero(question.counted)
    for j, y in enumerate(question.targets.T):
        experts = mixed([part.column(j) for part in left_out], np.stack([1.0 - second, second]))
        densities = log_densities(y, [question.plain.column(j), experts])
        shares[j] = stacking_weights(densities[known])[1]
        for fold in question.folds:
            by_fold[fold, j] = stacking_weights(densities[np.setdiff1d(known, fold)])[1]
        own = by_fold[:, j]
        together = log_mixture(list(densities.T), np.stack([1.0 - own, own]))
        mean = (1.0 - own) * question.plain.column(j).mean + own * experts.mean
        errors = [np.mean((y - other)[known] ** 2) for other in (mean, question.plain.column(j).mean)]
        if not _is_clear((together - densities[:, 0])[known], _GAIN) or errors[0] > _FARTHER * errors[1]:
            shares[j], by_fold[:, j] = 0.0, 0.0
    weights = np.stack([1.0 - by_fold, by_fold * (1.0 - second[:, None]), by_fold * second[:, None]])
    return shares, mixed([question.plain, *left_out], weights)


def _correlation(gp: RobustGP, blocks: Sequence[Block]) -> Array:
    """Return the correlations (N, N) of the training rows."""
    n = blocks[0].shape[0]
    terms, _ = training_terms(blocks, check_correlations(gp.correlations), n)
    return np.asarray(cross_correlation(terms, gp.beta_, (n, n)))
