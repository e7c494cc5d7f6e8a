r"""Regimes: two experts and a gate, where training cases follow two branches, such as attached and separated flows.

One process across a jump smooths it and says that the truth lies in between. Here every training row belongs to one of
two branches; each has processes of its own (the *experts*), and a process of the labels :math:`\pm 1` (the *gate*) says
which branch a new case follows:

.. math:: p(y) = (1 - \omega)\,p_0(y) + \omega \bigl((1 - \pi)\,p_1(y) + \pi\,p_2(y)\bigr), \qquad
          \pi = P(\text{label} > 0),

with :math:`p_0` what the other members of the stack say and :math:`\omega`, a share for every target, by folds.

Which rows belong together is found from all targets at once (:func:`split_rows`): by hard expectation maximization with
ranges fixed, from several starts, of which the one with the largest evidence of experts and gate together is taken.
Likelihoods of left-out rows would prefer labels that nobody can predict: they may be chosen row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.carried import CarriedMoments
from swwl.gp.prediction import Prediction, cdf, log_density
from swwl.gp.solvers.cholesky import factorize, invert

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Rows that a branch has at least.
FEWEST_ROWS = 8
# Nobody is surer of a branch than this.
_SUREST = 0.99
_STEPS = 25
# Noise of a branch over that of one process for both, and of labels: the likeliest is taken.
_LESS_NOISE, _LABEL_NOISE = (1.0, 0.1, 0.01), (0.01, 0.03, 0.1, 0.3, 1.0)
_LEAST_NOISE = 1e-6
_LEAST_VARIANCE = 1e-12  # of targets that are explained to the last digit, over theirs
_MOST_TARGETS = 4  # by which rows are split at first


@dataclass
class Regimes:
    """Two experts and a gate, on what one member of a stack makes of the cases.

    Attributes
    ----------
    base : int
        Which member's kernel and representations they use.
    second : ndarray of bool, shape (N,)
        Which training rows belong to the second branch.
    known : ndarray of bool, shape (N,)
        Which training rows they were fitted to; the others hardly count.
    experts : tuple of two lists of RobustGP
        One per target, fitted to the rows of their branch.
    gate : RobustGP
        Of labels -1 and 1, fitted to the known rows.
    shares : ndarray of shape (k,)
        What they weigh beside the plain stack, for every target.
    """

    base: int
    second: Mask
    known: Mask
    experts: tuple[list[RobustGP], list[RobustGP]]
    gate: RobustGP
    shares: Array

    def branches(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the training rows of both branches."""
        return np.flatnonzero(self.known & ~self.second), np.flatnonzero(self.known & self.second)

    def blocks(self, cross: Sequence[Block]) -> list[list[Block]]:
        """Return the blocks of the two experts and of the gate, given those from cases to all training rows."""
        every = [*self.branches(), np.flatnonzero(self.known)]
        return [[block.take(slice(None), rows) for block in cross] for rows in every]

    def probability(self, cross: Sequence[Block], trend: Array | None = None) -> Array:
        """Return the probability (M,) that cases follow the second branch."""
        return label_probability(self.gate.predict_distribution(self.blocks(cross)[2], trend_columns=trend))

    def predict(
        self, cross: Sequence[Block], trend: Array | None = None, include_nugget: bool = True
    ) -> tuple[list[Prediction], Array]:
        """Return what both experts predict, arrays of shape (M, k), and the probability (M,) of the second branch."""
        *of_experts, of_gate = self.blocks(cross)
        found = [
            Prediction.joined(
                [
                    gp.predict_distribution(own, include_nugget=include_nugget, trend_columns=trend).columns()
                    for gp in gps
                ],
                targets=True,
            )
            for gps, own in zip(self.experts, of_experts, strict=True)
        ]
        return found, label_probability(self.gate.predict_distribution(of_gate, trend_columns=trend))

    def joint(
        self, cross: Sequence[Block], among: Sequence[Block], trend: Array | None, include_nugget: bool
    ) -> tuple[list[tuple[Array, Array]], Array]:
        """Return mean (M, k) and covariances (k, M, M) of both experts, and the probability (M,) of the second."""
        *of_experts, of_gate = self.blocks(cross)
        pairs = []
        for gps, own in zip(self.experts, of_experts, strict=True):
            found = [
                gp.predict(
                    own, return_cov=True, test_distances=list(among), trend_columns=trend, include_nugget=include_nugget
                )
                for gp in gps
            ]
            pairs.append((np.column_stack([mean for mean, _ in found]), np.stack([cov for _, cov in found])))
        return pairs, label_probability(self.gate.predict_distribution(of_gate, trend_columns=trend))

    def sample(
        self,
        cross: Sequence[Block],
        among: Sequence[Block],
        trend: Array | None,
        n_samples: int,
        rng: np.random.Generator,
        include_nugget: bool,
    ) -> tuple[Array, Array]:
        """Return joint samples (n_samples, M, k), labels drawn jointly by the gate, and the mean (M, k)."""
        *of_experts, of_gate = self.blocks(cross)
        seeds = iter(rng.integers(2**32, size=1 + 2 * len(self.shares)).tolist())
        options = {"trend_columns": trend}
        labels = self.gate.sample(of_gate, list(among), n_samples, next(seeds), include_nugget=True, **options)
        draws = [
            np.stack(
                [
                    gp.sample(own, list(among), n_samples, next(seeds), include_nugget=include_nugget, **options)
                    for gp in gps
                ],
                axis=-1,
            )
            for gps, own in zip(self.experts, of_experts, strict=True)
        ]
        found, second = self.predict(cross, trend, include_nugget)
        mean = (1.0 - second[:, None]) * found[0].mean + second[:, None] * found[1].mean
        return np.where(labels[..., None] > 0, draws[1], draws[0]), mean

    def weights(self, second: Array) -> Array:
        """Return what the plain stack and both experts weigh, (3, M, k), given probabilities (M,)."""
        shares = self.shares * np.ones((len(second), 1))
        return np.stack([1.0 - shares, shares * (1.0 - second[:, None]), shares * second[:, None]])


def branches_together(means: Array, covariances: Array, second: Array) -> tuple[Array, Array]:
    r"""Return mean (M, k) and covariances (k, M, M) of both branches; labels of cases are independent.

    .. math:: C_{ab} = \sum_e \pi_{ea} \pi_{eb} C_{e,ab} \quad (a \ne b), \qquad
              C_{aa} = \sum_e \pi_{ea} \bigl(C_{e,aa} + (m_{ea} - \bar m_a)^2\bigr)

    Parameters
    ----------
    means : ndarray of shape (2, M, k)
    covariances : ndarray of shape (2, k, M, M)
    second : ndarray of shape (M,)
        Probabilities of the second branch.
    """
    shares = np.stack([1.0 - second, second])
    mean = np.einsum("em,emk->mk", shares, means)
    found = np.einsum("ea,eb,ekab->kab", shares, shares, covariances)
    variances = np.einsum("ekaa->eka", covariances) + (means - mean).swapaxes(1, 2) ** 2
    for own, variance in zip(found, variances.swapaxes(0, 1), strict=True):
        np.fill_diagonal(own, (shares * variance).sum(axis=0))
    return mean, found


def label_probability(label: Prediction) -> Array:
    """Return the probability (M,) that labels are positive; neither branch is ever out of the question.

    Examples
    --------
    >>> label_probability(Prediction(np.array([0.0, 9.0]), np.ones(2), np.inf)).tolist()
    [0.5, 0.99]
    """
    z = label.mean / label.scale
    return np.clip(cdf(z, label.df), 1.0 - _SUREST, _SUREST)


def label_slopes(label: Prediction) -> tuple[Array, Array]:
    """Return the derivatives of :func:`label_probability` in the mean and in the standard deviation of the label."""
    z = label.mean / label.scale
    second, density = cdf(z, label.df), np.exp(log_density(z, label.df))
    density = np.where((second > 1.0 - _SUREST) & (second < _SUREST), density, 0.0)
    return density / label.scale, -density * z / label.std


class MixedSlopes(NamedTuple):
    """Mean and std of one target, and their derivatives in those of every part, (2, 2) each.

    ``of_added`` are those in the deviation that a helper adds, (2,).
    """

    mean: float
    std: float
    of_parts: list[Array]
    of_added: Array = np.zeros(2)


def mixed_slopes(parts: Sequence[CarriedMoments], share: float, label: Prediction) -> MixedSlopes:
    """Return mean and std of a mixture, and their derivatives in those of its parts and of the label.

    Parameters
    ----------
    parts : sequence of three CarriedMoments
        Of the plain stack and of both experts.
    share : float
        What the experts weigh.
    label : Prediction
        Of one case.
    """
    second = float(label_probability(label)[0])
    weights = np.array([1.0 - share, share * (1.0 - second), share * second])
    in_label = np.array([slope[0] for slope in label_slopes(label)])
    turns = np.outer([0.0, -share, share], in_label)  # of the weights
    means, wide, stds = (np.array([getattr(p, name) for p in parts]) for name in ("mean", "wide_mean", "wide_std"))
    mean = float(weights @ means)
    squares = stds**2 + (wide - mean) ** 2
    std = float(np.sqrt(weights @ squares))
    away = float(weights @ (wide - mean))  # zero but for what widening moves
    found = []
    for weight, part in zip(weights, parts, strict=True):
        of_mean = weight * part.of_both[0]
        of_square = weight * (part.wide_std * part.of_wide[1] + (part.wide_mean - mean) * part.of_wide[0])
        found.append(np.stack([of_mean, (of_square - away * of_mean) / std]))
    of_mean = means @ turns
    found.append(np.stack([of_mean, (0.5 * squares @ turns - away * of_mean) / std]))
    return MixedSlopes(mean, std, found)


class Branches(NamedTuple):
    """Labels (N,), which rows belong to the second branch, and the evidence for them; the start they come from."""

    second: Mask
    evidence: float
    start: int


class _Told(NamedTuple):
    """What a process with fixed ranges says of all rows: mean and variance (N,), and its log evidence."""

    mean: Array
    variance: Array
    evidence: float


def split_rows(
    correlations: Sequence[Array], noises: Sequence[float], targets: Array, residuals: Array, start: int | None = None
) -> Branches | None:
    """Share rows out among two branches.

    Parameters
    ----------
    correlations : sequence of k ndarrays of shape (N, N)
        Of the rows, for every target, by one process for both branches.
    noises : sequence of k floats
        Its nuggets.
    targets : ndarray of shape (N, k)
    residuals : ndarray of shape (N, k)
        Of rows left out, over their standard deviations.
    start : int, optional
        The only start to try.

    Returns
    -------
    Branches or None
        None where no start leaves two branches.

    Examples
    --------
    Two lines, and nothing that tells which one a row is on:

    >>> x, second = np.linspace(0, 1, 40), np.arange(40) % 3 == 0
    >>> y = np.where(second, 3 - x, x)[:, None]
    >>> correlation = np.exp(-((x[:, None] - x) ** 2) / 0.5)
    >>> found = split_rows([correlation], [0.1], y, (y - y.mean()) / y.std())
    >>> bool((found.second == second).all())
    True
    """
    found = []
    gate = np.mean(correlations, axis=0)
    y = (targets - targets.mean(axis=0)) / np.maximum(targets.std(axis=0), np.finfo(float).tiny)
    for number, second in enumerate(_starts(y, residuals)):
        if start is None or number == start:
            found.append(_settled(Branches(second, -np.inf, number), correlations, noises, y, gate))
    best = max(found, key=lambda split: split.evidence, default=None)
    return None if best is None or best.evidence == -np.inf else best


def _starts(targets: Array, residuals: Array) -> list[Mask]:
    """Return first guesses: each target's two groups, the signs of residuals and those of what they have in common."""
    common = np.linalg.svd(residuals, full_matrices=False)[2][0]
    some = range(min(_MOST_TARGETS, targets.shape[1]))
    signs = [residuals[:, k] > 0 for k in some]
    return [*(two_groups(targets[:, k]) for k in some), *signs, *([residuals @ common > 0] if len(some) > 1 else [])]


def two_groups(values: Array) -> Mask:
    """Return which values are in the upper one of the two groups with the least variance within (Otsu 1979).

    Examples
    --------
    >>> two_groups(np.array([1.0, 1.1, 5.0, 1.2, 5.2, 5.1])).tolist()
    [False, False, True, False, True, True]
    """
    ordered = np.sort(values)
    below = np.arange(1, len(values))
    sums = np.cumsum(ordered)[:-1]
    apart = sums / below - (ordered.sum() - sums) / (len(values) - below)
    cut = int(np.argmax(apart**2 * below * (len(values) - below)))
    return np.asarray(values > ordered[cut])


def _settled(
    split: Branches, correlations: Sequence[Array], noises: Sequence[float], y: Array, gate: Array
) -> Branches:
    """Move rows to the branch that explains them better until none moves; return the labels of the most evidence."""
    best, second, seen = split, split.second, set()
    for _ in range(_STEPS):
        if not _are_branches(y, second) or second.tobytes() in seen:
            break
        seen.add(second.tobytes())
        densities, evidence = branch_densities(correlations, noises, y, second, gate)
        if evidence > best.evidence:
            best = Branches(second, evidence, split.start)
        second = densities[:, 1] > densities[:, 0]
    return best


def _are_branches(y: Array, second: Mask) -> bool:
    """Whether both branches have rows enough, and targets (N, k) that vary."""
    return all(
        int(rows.sum()) >= FEWEST_ROWS and bool((np.ptp(y[rows], axis=0) > 0).all()) for rows in (second, ~second)
    )


def branch_densities(
    correlations: Sequence[Array],
    noises: Sequence[float],
    y: Array,
    second: Mask,
    gate: Array,
    known: Mask | None = None,
) -> tuple[Array, float]:
    """Return log densities (N, 2) of rows left out of either branch, labels included, and the evidence for all.

    Parameters
    ----------
    correlations, noises
        See :func:`split_rows`.
    y : ndarray of shape (N, k)
    second : ndarray of bool, shape (N,)
        The labels.
    gate : ndarray of shape (N, N)
        Correlations of labels.
    known : ndarray of bool, shape (N,), optional
        The rows that belong to a branch; by default all. The others are only predicted.
    """
    densities, total = np.zeros((len(y), 2)), 0.0
    known = np.ones(len(y), bool) if known is None else known
    for branch, rows in enumerate((known & ~second, known & second)):
        for correlation, noise, column in zip(correlations, noises, y.T, strict=True):
            told = _likeliest(correlation, column, rows, [max(noise * less, _LEAST_NOISE) for less in _LESS_NOISE])
            densities[:, branch] += _density(told, column, int(rows.sum()))
            total += told.evidence
    labels = np.where(second, 1.0, -1.0)
    told = _likeliest(gate, labels, known, _LABEL_NOISE)
    share = label_probability(Prediction(told.mean, np.sqrt(told.variance), np.inf))
    return densities + np.log(np.column_stack([1.0 - share, share])), total + told.evidence


def process_densities(correlations: Sequence[Array], noises: Sequence[float], y: Array, known: Mask) -> Array:
    """Return log densities (N,) of all targets together by one process each, fitted to the known rows."""
    return np.sum(
        [
            _density(conditioned(correlation, column, known, max(noise, _LEAST_NOISE)), column, int(known.sum()))
            for correlation, noise, column in zip(correlations, noises, y.T, strict=True)
        ],
        axis=0,
    )


def _density(told: _Told, y: Array, n: int) -> Array:
    scale = np.sqrt(np.maximum(told.variance, _LEAST_VARIANCE))
    return np.asarray(log_density((y - told.mean) / scale, max(n - 1, 1)) - np.log(scale))


def _likeliest(correlation: Array, y: Array, rows: Mask, noises: Sequence[float]) -> _Told:
    return max((conditioned(correlation, y, rows, noise) for noise in noises), key=lambda told: told.evidence)


def conditioned(correlation: Array, y: Array, rows: Mask, noise: float) -> _Told:
    r"""Return what a process with a constant mean, fitted to some rows, says of all: those rows themselves left out.

    With :math:`P = K^{-1} - K^{-1}11^TK^{-1} / 1^TK^{-1}1`, row i is left out by :math:`y_i - (Py)_i / P_{ii}` with
    variance :math:`\sigma^2 / P_{ii}`.

    Parameters
    ----------
    correlation : ndarray of shape (N, N)
    y : ndarray of shape (N,)
    rows : ndarray of bool, shape (N,)
    noise : float
        Over the variance of the process.

    Examples
    --------
    Without correlations a row left out is the mean of the others:

    >>> told = conditioned(np.eye(3), np.array([1.0, 2.0, 6.0]), np.ones(3, bool), 0.0)
    >>> told.mean.round(6).tolist()
    [4.0, 3.5, 1.5]
    """
    own, others = np.flatnonzero(rows), np.flatnonzero(~rows)
    n, known = len(own), y[own]
    precision = correlation[np.ix_(own, own)]
    precision.flat[:: n + 1] += noise
    factorize(precision)
    log_det = 2.0 * np.log(np.diag(precision)).sum()
    invert(precision)
    precision = np.tril(precision) + np.tril(precision, -1).T
    ones = precision.sum(axis=1)
    total = ones.sum()
    center = ones @ known / total
    pulled = precision @ (known - center)
    least = _LEAST_VARIANCE * max(float(known @ known) / n, np.finfo(float).tiny)
    variance = max(float((known - center) @ pulled) / (n - 1), least)
    diagonal = np.diag(precision) - ones**2 / total
    mean, spread = np.empty(len(y)), np.empty(len(y))
    mean[own], spread[own] = known - pulled / diagonal, variance / diagonal
    cross = correlation[np.ix_(others, own)]
    mean[others] = center + cross @ pulled
    left = 1.0 - cross @ ones
    units = 1.0 + noise - np.einsum("ij,ij->i", cross @ precision, cross) + left**2 / total
    spread[others] = variance * np.maximum(units, np.finfo(float).eps)
    evidence = -0.5 * ((n - 1) * np.log(variance) + log_det + np.log(total))
    return _Told(mean, spread, float(evidence))
