r"""On which scale a target is fitted: its own, its logarithm, or a monotone warp that left-out rows choose.

Drag, pressure drops and energies are positive and vary by factors: errors grow with the value. A process on their
logarithms gets the width of intervals right for small and large values alike, and its bounds are never negative.
:func:`choose_scales` compares what each scale says of rows that were left out, as densities *in the units of the
target*, and stays with the target's own unless another one is better beyond chance.

Where a law of a target is known, such as ``max_disp ~ force / young``, :func:`judged_laws` compares in the same way
what processes say that learn the target and its ratio to the law.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from msgspec import Meta
from numpy.typing import NDArray
from scipy.special import expit

from swwl.errors import GPWarning, InputError, LawWarning
from swwl.formatting import number
from swwl.gp import RobustGP
from swwl.gp.blocks import Block
from swwl.gp.carried import carried
from swwl.gp.folds import drawn_rows
from swwl.gp.prediction import Prediction, log_density
from swwl.regression.intervals import fold_predictions, make_folds
from swwl.regression.outliers import FEWEST, SEARCH_STEPS, Refit, can_be_odd, find_suspects, group_scores
from swwl.tables.laws import Law

if TYPE_CHECKING:
    from swwl.regression.fit import Task
    from swwl.regression.stack import Member

Array = NDArray[np.float64]

SCALES = ("auto", "identity", "log", "warp")
TargetScales: TypeAlias = str | list[str] | dict[str, str]

# With fewer rows nothing is chosen; of more than the most, a sample decides.
_FEWEST_ROWS, _MOST_ROWS = 20, 300
# A scale has to be better than the target's own by so many standard errors of the difference.
_ERRORS = 2.0
# Left-out rows are judged by a Student-t of few degrees of freedom, so that no single bad row decides.
_JUDGE = 5.0
# Steps of the process on the target's own scale, and of those on other scales, which begin where it ended.
_FIRST_STEPS, _STEPS = 40, 20
# A positive target that varies by less than this factor is nearly linear in its logarithm: nothing is to be gained.
_LEAST_RATIO = 1.5
# What warps are tried: units over the median, and exponents.
_UNITS, _EXPONENTS = (0.1, 0.3, 1.0), (0.0, 0.5, 1.5, 2.0)
_BAD_SHARE = 0.02
_HUGE = 1e300  # stands for errors that no number holds
_LIMIT = 345.0  # exponents beyond this leave no room for squares
_WORDS = {
    "identity": "own scale",
    "log": "logarithm",
    "softplus": "softplus warp",
    "asinh": "inverse hyperbolic sine",
    "yeo-johnson": "Yeo-Johnson warp",
}


@dataclass(frozen=True)
class TargetScale:
    r"""An increasing function of a target, on which its process is fitted.

    ===============  =============================================================================================
    kind             function
    ===============  =============================================================================================
    ``identity``     y
    ``log``          :math:`\log y`, for positive targets
    ``softplus``     :math:`u \log(e^{y/u} - 1)`, for positive targets: log near zero, the identity beyond the unit
    ``asinh``        :math:`\operatorname{asinh} t`, :math:`t = (y - c) / u`: a logarithm on both sides of c
    ``yeo-johnson``  :math:`((1 + t)^\lambda - 1) / \lambda` for :math:`t \ge 0`, and
                     :math:`-((1 - t)^{2 - \lambda} - 1) / (2 - \lambda)` below
    ===============  =============================================================================================

    Attributes
    ----------
    kind : {"identity", "log", "softplus", "asinh", "yeo-johnson"}
    unit : float
        u, positive.
    center : float
        c.
    exponent : float
        :math:`\lambda`, between 0 and 2; one is the identity.
    why : str
        Why it was chosen, in words.
    most : float or None
        Up to which standard deviation of the process means are taken, see ``gp/carried.py``; None for any.

    References
    ----------
    Yeo and Johnson (2000), "A new family of power transformations to improve normality or symmetry".

    Examples
    --------
    >>> scale = TargetScale("log")
    >>> scale.inverse(scale.forward(np.array([1.0, 10.0]))).round(12).tolist(), scale.slope(np.array([4.0])).tolist()
    ([1.0, 10.0], [0.25])
    """

    kind: Literal["identity", "log", "softplus", "asinh", "yeo-johnson"] = "identity"
    unit: Annotated[float, Meta(gt=0)] = 1.0
    center: float = 0.0
    exponent: Annotated[float, Meta(ge=0, le=2)] = 1.0
    why: str = field(default="", compare=False)
    most: Annotated[float, Meta(gt=0)] | None = field(default=None, compare=False)

    @property
    def is_identity(self) -> bool:
        """Whether the target stays as it is."""
        return self.kind == "identity"

    @property
    def positive(self) -> bool:
        """Whether it is for positive targets alone, and all it carries back is positive."""
        return self.kind in ("log", "softplus")

    @property
    def words(self) -> str:
        """What the fitted values of a target are called."""
        return _WORDS[self.kind]

    def limited(self, y: Array) -> TargetScale:
        """Return the same scale for a process fitted to some targets: where it knows nothing, they say how far it goes.

        A factor of e is the most that means allow for. Softplus grows as its argument does and needs no limit.
        """
        if self.kind in ("identity", "softplus"):
            return self
        return replace(self, most=max(min(float(np.std(self.forward(y))), 1.0), np.finfo(float).tiny))

    def facts(self) -> dict[str, str]:
        """Return what people and scripts want to know of it."""
        return {"kind": self.kind, "words": self.words, "why": self.why}

    def forward(self, y: Array) -> Array:
        """Take values of the target to the scale of the process; -inf where they are not positive but should be."""
        if self.kind == "identity":
            return y
        if self.positive:
            at = np.maximum(y, 0.0)
            with np.errstate(divide="ignore"):
                near_zero = np.log(at) if self.kind == "log" else np.log(-np.expm1(-at / self.unit))
            return np.asarray(near_zero if self.kind == "log" else at + self.unit * near_zero)
        t = (y - self.center) / self.unit
        if self.kind == "asinh":
            return np.asarray(np.arcsinh(t))
        above, below = np.maximum(t, 0.0), np.maximum(-t, 0.0)
        return np.asarray(_power(above, self.exponent) - _power(below, 2.0 - self.exponent))

    def inverse(self, x: Array) -> Array:
        """Take values of the process back to the units of the target."""
        if self.kind == "identity":
            return x
        if self.kind == "log":
            return np.asarray(np.exp(np.clip(x, -_LIMIT, _LIMIT)))
        if self.kind == "softplus":
            return np.asarray(self.unit * np.logaddexp(0.0, np.maximum(x / self.unit, -_LIMIT)))
        if self.kind == "asinh":
            return np.asarray(self.center + self.unit * np.sinh(np.clip(x, -_LIMIT, _LIMIT)))
        above, below = np.maximum(x, 0.0), np.maximum(-x, 0.0)
        t = _root(above, self.exponent) - _root(below, 2.0 - self.exponent)
        return np.asarray(self.center + self.unit * t)

    def slope(self, y: Array) -> Array:
        """Return the derivative of :meth:`forward`."""
        if self.kind == "identity":
            return np.ones_like(y)
        if self.kind == "log":
            return np.asarray(1.0 / y)
        if self.kind == "softplus":
            return np.asarray(-1.0 / np.expm1(-y / self.unit))
        t = (y - self.center) / self.unit
        if self.kind == "asinh":
            return np.asarray(1.0 / (self.unit * np.sqrt(1.0 + t**2)))
        power = np.where(t >= 0, self.exponent - 1.0, 1.0 - self.exponent)
        return np.asarray((1.0 + np.abs(t)) ** power / self.unit)

    def inverse_slope(self, x: Array) -> Array:
        """Return the derivative of :meth:`inverse`."""
        if self.kind == "identity":
            return np.ones_like(x)
        if self.kind == "log":
            return self.inverse(x)
        if self.kind == "softplus":
            return np.asarray(expit(x / self.unit))
        return np.asarray(1.0 / self.slope(self.inverse(x)))


def _power(t: Array, exponent: float) -> Array:
    """Return ((1 + t)^exponent - 1) / exponent of numbers of at least zero."""
    return np.asarray(np.log1p(t) if exponent == 0 else np.expm1(exponent * np.log1p(t)) / exponent)


def _root(x: Array, exponent: float) -> Array:
    """Undo :func:`_power`."""
    return np.asarray(np.expm1(np.minimum(x, _LIMIT)) if exponent == 0 else np.expm1(np.log1p(exponent * x) / exponent))


def requested_scales(
    given: TargetScales | None, names: Sequence[str], targets: Array, default: str = "auto"
) -> list[str]:
    """Return the word for every target: "auto", "identity", "log" or "warp"; refuse others, and logarithms of none.

    Parameters
    ----------
    given : str, list of str, dict of str to str, or None
        One for all; one per target, in their order; or by name.
    names : sequence of k str
    targets : ndarray of shape (N, k)
    default : str
        For targets that are not named.

    Examples
    --------
    >>> requested_scales({"drag": "log"}, ["lift", "drag"], np.ones((3, 2)))
    ['auto', 'log']
    """
    given = default if given is None else given
    if isinstance(given, str):
        words = [given] * len(names)
    elif isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise InputError(f"target_scale names {unknown[0]!r}, but the targets are {', '.join(names)}.")
        words = [str(given.get(name, default)) for name in names]
    else:
        words = [str(word) for word in given]
        if len(words) != len(names):
            raise InputError(f"target_scale has {len(words)} entries, but there are {len(names)} targets.")
    for name, word, y in zip(names, words, targets.T, strict=True):
        if word not in SCALES:
            raise InputError(f"target_scale of {name!r} is {word!r}, but one of {', '.join(SCALES)} is expected.")
        if word == "log" and not (y > 0).all():
            row = int(np.argmax(y <= 0))
            message = f"target {name!r} is {y[row]:g}, but a logarithm needs positive values."
            raise InputError(message).of_item(row, f"Row {row}")
    return words


def choose_scales(given: TargetScales | None, members: Sequence[Member], task: Task) -> list[TargetScale]:
    """Return the scale of every target: as requested, or the one that describes left-out training rows best.

    Parameters
    ----------
    given : str, list of str, dict of str to str, or None
        See :func:`requested_scales`. By default it is chosen where there are several kernels; one that the user has
        named is fitted to the targets as they are.
    members : sequence of Member
        With representations; without processes. The first one is asked.
    task : Task
        With the targets as they are.
    """
    default = "auto" if len(members) > 1 else "identity"
    words = requested_scales(given, task.layout.names, task.targets, default)
    found = _chosen(words, members[0], task)
    if task.times is not None:  # over a law that is positive, what was never negative stays so
        of_law = (task.times != 1.0).any(axis=0) & (task.targets > 0).all(axis=0) & (task.times > 0).all(axis=0)
        for k in np.flatnonzero(of_law):
            found[k] = _bounded(task.targets[:, k]) if words[k] == "auto" and found[k].is_identity else found[k]
    return found


def _bounded(y: Array) -> TargetScale:
    """Return a scale that is the identity for positive values like these, and below them stays above zero.

    Examples
    --------
    >>> scale = _bounded(np.array([1.0, 1.1, 1.3]))
    >>> scale.forward(np.array([1.1])).round(3).tolist(), bool((scale.inverse(np.array([-1.0, 0.0])) > 0).all())
    ([1.1], True)
    """
    unit = min(0.1 * float(np.median(y)), float(y.min()) / 3.0)
    return TargetScale("softplus", unit=unit, why="ratios to the law are positive")


def _chosen(words: Sequence[str], member: Member, task: Task) -> list[TargetScale]:
    """Return the scale of every target, of which those that are not "auto" or "warp" are as requested."""
    known = {"log": TargetScale("log", why="as requested"), "identity": TargetScale()}
    found = [known.get(word, TargetScale()) for word in words]
    open_ones = [k for k, word in enumerate(words) if word in ("auto", "warp")]
    if not open_ones or not all(factor.positive_definite for factor in member.kernel.factors):
        return found
    tried = [_candidates(task.targets[:, k], words[k]) for k in open_ones]
    n_rows = len(task.targets) if task.same is None else len(np.unique(task.same))
    if n_rows < _FEWEST_ROWS or not any(tried):
        return found
    comparison = Comparison(member, task)
    for k, candidates in zip(open_ones, tried, strict=True):
        if candidates:
            found[k] = comparison.best(k, candidates, words[k] == "warp")
    return found


def _candidates(y: Array, word: str) -> list[TargetScale]:
    """Return the scales that are worth trying beside the target's own."""
    found: list[TargetScale] = []
    low, middle, high = np.quantile(y, [0.05, 0.5, 0.95])
    if y.min() > 0 and (high > _LEAST_RATIO * low or word == "warp"):
        found += [TargetScale("log")] if word == "auto" else []
        found += [TargetScale("softplus", unit=share * float(middle)) for share in _UNITS]
    unit = float(high - low) / 4.0
    if unit > 0:
        exponents = [own for own in _EXPONENTS if own > 1 or not y.min() > 0]
        if not y.min() > 0:
            found += [TargetScale("asinh", share * unit, float(middle)) for share in _UNITS[1:]]
        found += [TargetScale("yeo-johnson", unit, float(middle), own) for own in exponents]
    return found


class Comparison:
    """Left-out training rows, and how well a process on one scale or another describes them.

    Parameters
    ----------
    member : Member
    task : Task
    """

    def __init__(self, member: Member, task: Task):
        # Of copies one counts: left out alone, each would be told by the other, on whatever scale.
        first = np.arange(len(task.targets)) if task.same is None else np.unique(task.same, return_index=True)[1]
        self._rows = drawn_rows(np.random.default_rng(task.seed).permutation(first), _MOST_ROWS, task.targets)
        blocks = [[block.take(self._rows).held() for block in group] for group in member.training_blocks()]
        self._blocks: Sequence[Block] = member.kernel.join(blocks)
        self._trend = task.take(self._rows)[1]
        self._make_gp = partial(task.make_gp, member.kernel, n_starts=1)
        self._targets = task.targets[self._rows]
        self._folds, self._find_outliers = make_folds(len(self._rows), task.seed), task.find_outliers
        # Targets that share their ranges are compared with those of all of them together.
        self._together = self._fitted(self._targets) if task.layout.shared and not task.layout.single else None

    def best(self, k: int, candidates: Sequence[TargetScale], insist: bool = False) -> TargetScale:
        """Return the scale that describes rows left out best, or the target's own where none is better beyond chance.

        Ranges of the process on the target's own scale tell which of the candidates are promising; of these the
        logarithm and the best warp get ranges of their own.

        Parameters
        ----------
        k : int
            Which target.
        candidates : sequence of TargetScale
        insist : bool
            Whether the best of the candidates is wanted in any case.
        """
        y = self._targets[:, k]
        # Rows that are odd on the target's own scale may be bad, and a warp that makes them less so would be chosen
        # for their sake: it has to be better for all others, which the own scale describes without them.
        noise = self._odd_rows(y) if self._together is None else np.zeros(len(y))
        sound = noise == 0
        plain = self._fitted(y, noise=noise) if self._together is None else self._together
        own = plain.leave_one_out().column(0 if self._together is None else k)
        steps = _STEPS if self._together is None else 0
        base = _densities(y, TargetScale(), own)
        screened = [(float(np.mean((self._judged(y, one, plain, 0, noise) - base)[sound])), one) for one in candidates]
        warps = [pair for pair in screened if pair[1].kind != "log"]
        second = max(warps, key=lambda pair: pair[0], default=None)
        shortlist = [pair for pair in screened if pair[1].kind == "log"]
        if second and all(second[0] > promise for promise, _ in shortlist):
            shortlist.append(second)
        # A positive target whose intervals reach below zero is known to be on the wrong scale.
        bound_matters = bool(y.min() > 0 and np.mean(own.interval(0.95)[0] <= 0) > 1 - 0.975)
        chosen, gained = TargetScale(), 0.0
        for promise, one in shortlist:
            if promise <= 0 and not insist and one.kind != "log":
                continue
            odd = noise if sound.all() else self._odd_rows(one.forward(y))
            left_out = self._left_out(y, one, plain, steps, odd)
            errors, before = (y - one.inverse(left_out.mean))[sound], (y - own.mean)[sound]
            if one.kind != "log" and not insist and _trimmed(errors) > _trimmed(before):
                continue  # sharper where it is right, and farther off where it is not
            gains = (_densities(y, one, left_out) - base)[sound]
            gain, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))
            needed = 0.0 if bound_matters and one.positive else _ERRORS * error
            extra = _ERRORS * error / 2 if not chosen.is_identity else 0.0  # the simpler scale comes first
            if insist or (gain > needed and gain > gained + extra):
                chosen, gained = replace(one, why=_reason(gain, error, len(gains))), gain
        return chosen

    def judged_law(self, k: int, law: Law, times: Array, plain: TargetScale, scaled: TargetScale) -> JudgedLaw:
        """Compare what folds say of rows left out with a law and without.

        Parameters
        ----------
        k : int
            Which target.
        law : Law
        times : ndarray of shape (N,)
            Its values.
        plain, scaled : TargetScale
            Of the target, and of its ratio to the law.
        """
        y, s = self._targets[:, k], times[self._rows]
        if not len(self._folds):
            return JudgedLaw(law.target, law.formula, True)
        ways = [(plain, np.ones(len(y))), (scaled, s)]
        noise = np.max([self._odd_rows(scale.forward(y / own)) for scale, own in ways], axis=0)
        sound, errors, densities = noise == 0, [], []
        for scale, own in ways:
            left_out = self._from_folds(scale.forward(y / own), noise)
            errors.append((y - carried(left_out, [scale], times=own).mean)[sound])
            densities.append((_densities(y / own, scale, left_out) - np.log(own))[sound])
        without, using = (float(np.nan_to_num(np.sqrt(_trimmed(error)), nan=_HUGE, posinf=_HUGE)) for error in errors)
        gains = densities[1] - densities[0]
        gain = float(np.clip(np.nan_to_num(gains.mean(), nan=-_HUGE), -_HUGE, _HUGE))
        chance = float(gains.std(ddof=1) / np.sqrt(len(gains)))
        return JudgedLaw(law.target, law.formula, using <= without and gain > -chance, using, without, gain)

    def _from_folds(self, y: Array, noise: Array) -> Prediction:
        """Return what processes of folds say of rows left out of them, on the scale of the process, (N,)."""
        cross = lambda out, train: [block.take(out, train) for block in self._blocks]  # noqa: E731
        folds = replace(self._folds, noise=noise if noise.any() else None)
        return fold_predictions(self._make_gp, self._blocks, cross, y, self._trend, folds, self._fitted(y))

    def _odd_rows(self, y: Array) -> Array:
        """Return the noise of rows that the others do not explain by far, (N,); zero for the others."""
        if not self._find_outliers or len(y) < FEWEST:
            return np.zeros(len(y))
        gp = self._fitted(y)
        scores = group_scores(gp)
        return find_suspects(y, scores, partial(self._refit, y, gp)) if can_be_odd(scores) else np.zeros(len(y))

    def _refit(self, y: Array, gp: RobustGP, noise: Array) -> Refit:
        """Fit a process again where some rows have noise."""
        start, steps = gp.beginning(), SEARCH_STEPS
        other = self._fit(self._make_gp(), y, start=start, max_iter=steps, noise=noise)
        return Refit(other.leave_one_out(), np.sqrt(np.atleast_1d(other.sigma2_)))

    def _judged(self, y: Array, scale: TargetScale, start: RobustGP, steps: int, noise: Array) -> Array:
        """Return the log densities (N,) of rows left out, in the units of the target."""
        return _densities(y, scale, self._left_out(y, scale, start, steps, noise))

    def _left_out(self, y: Array, scale: TargetScale, start: RobustGP, steps: int, noise: Array) -> Prediction:
        """Return what a process on a scale says of rows left out, on that scale, (N,)."""
        return self._fitted(scale.forward(y), start, steps, noise).leave_one_out()

    def _fitted(self, y: Array, start: RobustGP | None = None, steps: int = 0, noise: Array | None = None) -> RobustGP:
        """Return a process; with a start it climbs from there, or keeps its ranges and nugget for no steps."""
        gp = self._make_gp()
        own = None if noise is None or not noise.any() else noise
        if start is None:
            return self._fit(gp, y, max_iter=_FIRST_STEPS, noise=own)
        if not steps:
            return self._fit(gp.set_params(beta=start.beta_, nugget=start.nugget_), y, noise=own)
        return self._fit(gp, y, start=start, max_iter=steps, noise=own)

    def _fit(self, gp: RobustGP, y: Array, **options: Any) -> RobustGP:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GPWarning)  # the fit on all rows will say what needs saying
            return gp.fit(self._blocks, y, self._trend, **options, drop_dependent=True)


@dataclass(frozen=True)
class JudgedLaw:
    """A law that was given for a target, and what rows left out of folds say of it.

    Attributes
    ----------
    target, formula : str
    used : bool
    error, plain_error : float or None
        Root mean square error of rows left out, with the law and without, in the units of the target; None where there
        were too few rows to leave any out.
    gain : float or None
        By how much the log density of such a row rises with the law.

    Examples
    --------
    >>> print(JudgedLaw("sag", "force / young", True, 0.12, 0.31, 1.1).words)
    sag is learned over force / young: error of left-out rows 0.12 with it, 0.31 without
    """

    target: str
    formula: str
    used: bool
    error: float | None = None
    plain_error: float | None = None
    gain: float | None = None

    @property
    def words(self) -> str:
        """What became of the law, in one line."""
        if self.error is None or self.plain_error is None or self.gain is None:
            return f"{self.target} is learned over {self.formula}, as requested: too few rows to test it"
        told = f"error of left-out rows {number(self.error)} with it, {number(self.plain_error)} without"
        if self.used:
            return f"{self.target} is learned over {self.formula}: {told}"
        if self.error <= self.plain_error:
            told += f", but their log density falls by {-self.gain:.2g} a row"
        return f"the law {self.target} ~ {self.formula} is not used: {told}"


def judged_laws(
    laws: Sequence[Law | None],
    table: pd.DataFrame,
    given: TargetScales | None,
    members: Sequence[Member],
    task: Task,
) -> tuple[list[JudgedLaw], list[Law | None], Task]:
    """Say which laws rows left out of folds agree with; return what was found, the laws to use, and the task with them.

    A law is used where the error of rows left out is not larger with it, nor their density lower beyond chance; both
    are in the units of the target, and both processes have the scale that suits them best. Rows that the others do not
    explain by far have no say.

    Parameters
    ----------
    laws : sequence of k Law or None
    table : DataFrame of N rows
        With their columns.
    given : str, list of str, dict of str to str, or None
        See :func:`choose_scales`.
    members : sequence of Member
        With representations; without processes. The first one is asked.
    task : Task
        With the targets as they are.

    Returns
    -------
    judged : list of JudgedLaw
    used : list of k Law or None
        Empty where none is used.
    task : Task
        With targets over those laws.
    """
    if not any(laws):
        return [], [], task
    times = np.column_stack([np.ones(len(table)) if law is None else law.values(table) for law in laws])
    plain, scaled = (choose_scales(given, members, own) for own in (task, task.over(times)))
    comparison = Comparison(members[0], task)
    found = [
        comparison.judged_law(k, law, times[:, k], plain[k], scaled[k]) for k, law in enumerate(laws) if law is not None
    ]
    agreed = {one.target for one in found if one.used}
    if not agreed:
        return found, [], task
    used = [law if law is not None and law.target in agreed else None for law in laws]
    return found, used, task.over(np.where([law is not None for law in used], times, 1.0))


def warn_about_laws(judged: Sequence[JudgedLaw], stacklevel: int) -> None:
    """Warn about laws that are not used."""
    for one in judged:
        if not one.used:
            warnings.warn(one.words[0].upper() + one.words[1:] + ".", LawWarning, stacklevel=stacklevel + 1)


def _densities(y: Array, scale: TargetScale, left_out: Prediction) -> Array:
    width = np.maximum(left_out.scale, np.finfo(float).tiny)
    z = (scale.forward(y) - left_out.mean) / width
    return np.asarray(log_density(z, _JUDGE) - np.log(width) + np.log(scale.slope(y)))


def _trimmed(errors: Array) -> float:
    """Return the mean square of all errors but the largest ones, which bad rows may have."""
    squares = np.sort(errors**2)
    return float(squares[: max(1, len(squares) - int(_BAD_SHARE * len(squares)))].mean())


def _reason(gain: float, error: float, n: int) -> str:
    return f"log density of {n} rows left out rises by {gain:.2g} ± {error:.1g} a row"
