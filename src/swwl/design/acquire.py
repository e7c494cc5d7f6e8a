r"""Which cases to simulate next: to learn most, or to find the best.

Learning: each choice takes away the most of the predictive variance that is left in the pool,
:math:`\sum_x C_{xc}^2 / (C_{cc} + \nu)`, of the model and of a smooth process that knows no answers. Finding the
best: expected improvement of a Student-t prediction with mean m, scale s and d degrees of freedom over the best answer
f,

.. math:: (m - f)\, T_d(z) + s\, \frac{d + z^2}{d - 1}\, t_d(z), \qquad z = (m - f) / s .

Several cases at once are chosen by believing the model about those chosen before: their answers are taken to be the
predicted ones, and variances fall as if they were known.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import norm
from scipy.stats import t as student

from swwl.design.coverage import SAME, Coverage, Outlook, distinct, random_outlook, share
from swwl.design.levels import MOST_CASES, LevelPool, choose_levels, level_table, read_costs
from swwl.design.pool import Pool, at_conditions, check_conditions, outside_notes
from swwl.design.space import N_COMPONENTS, as_positions, check_count, chosen_table, success_chance
from swwl.embedding.distances import pairwise_distances
from swwl.errors import CaseWarning, InputError, InputTypeError
from swwl.formatting import number, percent
from swwl.gp.prediction import Prediction
from swwl.parallel import Progress
from swwl.regression.estimator import RobustGPRegressor, check_predicts_numbers
from swwl.regression.together.joint import probability_inside
from swwl.storage.memory import MemoryLike
from swwl.tables.inputs import as_rows
from swwl.tables.laws import full_name

Array = NDArray[np.float64]

CRITERIA = {
    "learn": ("imse", "variance", "maximin"),
    "maximize": ("ei", "ucb"),
    "minimize": ("ei", "ucb"),
    "both": ("ehvi",),
}
_GOALS = ("learn", "maximize", "minimize")
# How far beyond the worst answer of the front the reference point of hypervolumes lies, in ranges of the answers.
_BEYOND = 0.1
# How much a process that knows no answers counts in a choice to learn, beside the model.
_COVER = 0.5
# How many standard deviations above its mean a candidate is judged by "ucb".
_HOPE = 2.0
# Values beyond the best answer over which improvements of transformed targets are averaged.
_TAIL_VALUES = 64
# Candidates that satisfy constraints with less probability are chosen only where there are no others.
_PROBABLE = 0.5
# Where no candidate satisfies them with more, the one that comes nearest is chosen.
_HOPELESS = 1e-9


def suggest(
    model: Any,
    candidates: Any,
    n: int = 10,
    goal: str | Sequence[str] = "learn",
    *,
    target: str | list[str] | None = None,
    criterion: str | None = None,
    constraints: Mapping[str, tuple[float | None, float | None]] | None = None,
    pending: Any = None,
    failed: Any = None,
    at: Mapping[str, float | str] | None = None,
    costs: Mapping[str, float] | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
    memory: MemoryLike = None,
) -> pd.DataFrame:
    """Choose the cases of a pool that are most worth simulating next.

    Parameters
    ----------
    model : RobustGPRegressor
        Fitted, of one kernel or of several.
    candidates : DataFrame, list of graphs or array
        The pool, with the columns that the model needs.
    n : int
        How many to choose.
    goal : {"learn", "maximize", "minimize"}
        Make the model better everywhere in the pool, or find the case with the largest or least target; also
        "maximize:efficiency". Two targets together: "maximize:efficiency,minimize:mass", or a list of both.
    target : str or list of str, optional
        What to learn (by default all targets) or to improve (needed where the model has several).
    criterion : str, optional
        For "learn" "imse" (default, takes away most variance in the pool, of the model and of a smooth process that
        knows no answers), "variance" (the least sure case), or "maximin" (the case farthest from training cases and
        choices); otherwise "ei" (default, expected improvement) or "ucb" (mean and two standard deviations); for two
        goals "ehvi" (expected growth of the area that the best compromises dominate).
    constraints : mapping of str to (low, high), optional
        Targets that have to lie between bounds, None where there is none: scores are multiplied by the probability
        that they do, and where there are candidates for which it is at least a half, others are not chosen. The best
        answer so far is that of the training cases that satisfy them.
    pending : row numbers or mask, optional
        Rows of the pool that are being simulated: not chosen, and taken for known.
    failed : row numbers or mask, optional
        Rows whose simulations failed: not chosen, and others as far as they are near them
        (:func:`swwl.design.space.success_chance` multiplies scores).
    at : mapping of str to number or text, optional
        Conditions to design for, such as ``{"force": 1000}``: all candidates are judged at these values, whatever the
        pool says, and the best answer so far is the best that is predicted for a training case there. A
        :class:`~swwl.errors.CaseWarning` tells of values outside the training range.
    costs : mapping of str to number, optional
        What a run costs at each level of fidelity, such as ``{"coarse": 1, "fine": 20}``, for a model that was fitted
        with levels: choices have a column ``level`` then, and are those that take away most variance of the best level
        per cost. To learn only; of more than 500 candidates, so many are drawn at random.
    random_state : int
        Draws the thousand places that stand for a pool of more, for "imse".
    progress, memory
        See :meth:`swwl.RobustGPRegressor.predict`.

    Returns
    -------
    DataFrame
        ``row`` (counted from 0), ``rank`` (from 1), ``score`` (the share of the pool's variance that it takes away,
        or that of the least sure case; the distance; the expected improvement; the upper bound) and ``why``, in words.
        Candidates that are training cases are never chosen; ``attrs["fitted"]`` counts them. For "imse",
        ``attrs["outlook"]`` says what is expected of the choice, see :class:`swwl.design.coverage.Outlook`.

    Examples
    --------
    >>> from swwl import Matern52, RobustGPRegressor
    >>> x = np.array([0.0, 0.1, 0.2, 0.3, 0.8, 0.9, 1.0])
    >>> model = RobustGPRegressor(Matern52("x"), calibrate=False).fit(pd.DataFrame({"x": x, "y": np.sin(5 * x)}), "y")
    >>> pool = pd.DataFrame({"x": [0.05, 0.15, 0.55, 0.95]})
    >>> suggest(model, pool, 1)["row"].tolist(), suggest(model, pool, 1, goal="minimize")["row"].tolist()
    ([2], [3])
    >>> suggest(model, pool, 1, at={"x": 0.6})["row"].tolist()  # all are the same there
    [0]
    """
    if not isinstance(model, RobustGPRegressor):
        raise InputTypeError(f"suggest needs a fitted RobustGPRegressor, not {type(model).__name__}.")
    check_predicts_numbers(model)
    aim = Aim.read(model, goal, target, criterion, constraints)
    if costs is not None:
        if aim.criterion != "imse" or aim.bounds or at or pending is not None:
            raise InputError(
                "Costs of levels are for the goal learn, without constraints, conditions or pending cases."
            )
        table = as_rows(candidates, model.feature_names_in_)
        return _with_costs(model, table, n, read_costs(model, costs), failed, random_state, progress, memory)
    conditions = check_conditions(model, at or {})
    for note in outside_notes(model, conditions):
        warnings.warn(f"{note}.", CaseWarning, stacklevel=2)
    candidates = at_conditions(candidates, model, conditions)
    check_count(n, len(candidates))
    pool = Pool(model, candidates, progress=progress, memory=memory, at=conditions)
    running, broken = (as_positions(rows, len(pool), name) for rows, name in ((pending, "pending"), (failed, "failed")))
    fitted = np.setdiff1d(fitted_cases(pool), np.union1d(running, broken))
    copies = np.setdiff1d(np.arange(len(pool)), _first_ones(pool))
    taken = np.union1d(np.union1d(fitted, copies), np.union1d(running, broken))
    free = np.setdiff1d(np.arange(len(pool)), taken)
    n = check_count(n, len(free), len(taken))
    rule = _RULES[aim.criterion](pool, aim, random_state)
    for case in running:
        rule.choose(int(case))
    kept, success = aim.feasible(pool), _success(pool, broken)
    feasible = kept * success
    nearness = aim.nearness(pool) + np.log(success)
    outlook = rule.outlook(n, free) if aim.criterion == "imse" else None
    chosen, scores, reasons = [], [], []
    for _ in range(n):
        score = rule.scores() * feasible
        probable = free[feasible[free] >= _PROBABLE]
        among = probable if len(probable) else free
        hopeless = kept[free].max() < _HOPELESS
        best = np.lexsort((score[among], nearness[among]))[-1] if hopeless else np.argmax(score[among])
        case = int(among[best])
        chosen.append(case)
        scores.append(float(score[case]))
        told = "; no candidate is expected to satisfy the constraints, this one comes nearest" if hopeless else ""
        reasons.append(rule.why(case, float(score[case])) + aim.promise(pool, case) + told)
        rule.choose(case)
        free = free[free != case]
    found = chosen_table(chosen, scores, reasons)
    found.attrs["fitted"] = len(fitted)
    if outlook is not None:
        found.attrs["outlook"] = replace(outlook, after=rule.left())
    return found


def _with_costs(
    model: RobustGPRegressor,
    table: pd.DataFrame,
    n: int,
    costs: dict[str, float],
    failed: Any,
    seed: int,
    progress: Progress | None,
    memory: MemoryLike,
) -> pd.DataFrame:
    """Choose cases and their levels of fidelity, see :mod:`swwl.design.levels`."""
    free = np.setdiff1d(np.arange(len(table)), as_positions(failed, len(table), "failed"))
    places = np.sort(np.random.default_rng(seed).permutation(free)[:MOST_CASES])
    check_count(n, len(costs) * len(places))
    pool = Pool(model, table.iloc[places], progress=progress, memory=memory)
    names = list(costs)
    known = np.zeros((len(names), len(places)), dtype=bool)
    known[0, fitted_cases(pool)] = True
    weights = np.isin(np.arange(len(places)), _first_ones(pool)).astype(float)
    weights /= weights.sum()
    levels = LevelPool.of(model, pool.cases, len(names))
    chosen = choose_levels(levels, names, np.array(list(costs.values())), weights, n, known)
    found = level_table(*chosen, names, places)
    found.attrs["fitted"] = int(known[0].sum())
    return found


@dataclass(frozen=True)
class Aim:
    """What is requested, checked against what the model knows.

    Attributes
    ----------
    goal, criterion : str
    targets : list of int
        Which of the model's.
    bounds : dict of int to (low, high)
        By target; infinite where there is no bound.
    signs : list of float
        What targets are multiplied by so that more is better.
    """

    goal: str
    criterion: str
    targets: list[int]
    bounds: dict[int, tuple[float, float]]
    signs: list[float]

    @classmethod
    def read(
        cls,
        model: RobustGPRegressor,
        goal: str | Sequence[str],
        target: str | list[str] | None,
        criterion: str | None,
        constraints: Mapping[str, tuple[float | None, float | None]] | None,
    ) -> Aim:
        """Read what the user wants; refuse what the model cannot say anything about."""
        goals = [one.strip() for one in goal.split(",")] if isinstance(goal, str) else goal
        if not isinstance(goals, (list, tuple)) or not goals:
            raise InputError(f"goal must be one of {', '.join(_GOALS)}, or a list of two, not {goal!r}.")
        goals = [str(one) for one in goals]
        if len(goals) > 1:
            return cls._of_two(model, goals, target, criterion, constraints)
        goal, _, named = goals[0].partition(":")
        if goal not in _GOALS:
            raise InputError(f"goal must be one of {', '.join(_GOALS)}, not {goal!r}.")
        if named and target is not None:
            raise InputError(f"The goal names {named!r}, and the target {target!r} is given too; one is enough.")
        criterion = criterion or CRITERIA[goal][0]
        if criterion not in CRITERIA[goal]:
            raise InputError(
                f"criterion must be one of {', '.join(CRITERIA[goal])} for goal {goal!r}, not {criterion!r}."
            )
        wanted = named or target
        names = model.target_names_ if wanted is None else [wanted] if isinstance(wanted, str) else list(wanted)
        if goal != "learn" and len(names) != 1:
            raise InputError(f"Only one target can be {goal}d, but there are {', '.join(names)}: name one of them.")
        signs = [-1.0 if goal == "minimize" else 1.0] * len(names)
        return cls(
            goal, criterion, [_place(model, name) for name in names], target_bounds(model, constraints or {}), signs
        )

    @classmethod
    def _of_two(
        cls,
        model: RobustGPRegressor,
        goals: Sequence[str],
        target: str | list[str] | None,
        criterion: str | None,
        constraints: Mapping[str, tuple[float | None, float | None]] | None,
    ) -> Aim:
        """Read two targets that are to be improved together."""
        pairs = [one.partition(":")[::2] for one in goals]
        names = [name for _, name in pairs]
        if len(pairs) != 2 or any(kind not in ("maximize", "minimize") or not name for kind, name in pairs):
            raise InputError(
                f"Two goals are expected, such as 'maximize:efficiency,minimize:mass', not {', '.join(goals)!r}."
            )
        if names[0] == names[1]:
            raise InputError(f"Both goals name {names[0]!r}; two targets are expected.")
        if target is not None:
            raise InputError(f"The goals name their targets, and the target {target!r} is given too; one is enough.")
        if criterion not in (None, *CRITERIA["both"]):
            raise InputError(f"criterion must be {CRITERIA['both'][0]} for two goals, not {criterion!r}.")
        signs = [1.0 if kind == "maximize" else -1.0 for kind, _ in pairs]
        places = [_place(model, name) for name in names]
        return cls("both", CRITERIA["both"][0], places, target_bounds(model, constraints or {}), signs)

    @property
    def sign(self) -> float:
        """What the first target is multiplied by so that more is better."""
        return self.signs[0]

    def satisfied(self, values: Array) -> NDArray[np.bool_]:
        """Return which rows (N,) of known targets (N, k) satisfy all constraints."""
        found = np.ones(len(values), dtype=bool)
        for k, (low, high) in self.bounds.items():
            found &= (values[:, k] >= low) & (values[:, k] <= high)
        return found

    def feasible(self, pool: Pool) -> Array:
        """Return the probability (M,) that candidates satisfy all constraints."""
        found = np.ones(len(pool))
        for k, (low, high) in self.bounds.items():
            found *= probability_between(pool.observed.column(k), low, high)
        among = list(self.bounds)
        correlation = pool.model.target_correlation_.to_numpy()[np.ix_(among, among)]
        if (correlation == np.eye(len(among))).all():
            return found
        told = [pool.observed.column(k) for k in among]
        return probability_inside(told, [self.bounds[k] for k in among], correlation)

    def nearness(self, pool: Pool) -> Array:
        """Return the log density (M,) of what candidates need to satisfy all constraints, 0 where means do.

        It ranks candidates whose probabilities round to zero.
        """
        found = np.zeros(len(pool))
        for k, (low, high) in self.bounds.items():
            told = pool.observed.column(k)
            process = told.process
            below, above = (told.to_process(np.full(len(pool), bound)) for bound in (low, high))
            away = np.maximum(below - process.mean, process.mean - above)
            with np.errstate(over="ignore"):
                z = np.maximum(away, 0.0) / np.maximum(process.scale, np.finfo(float).tiny)
                lost = z**2 / 2 if np.isinf(process.df) else (process.df + 1) / 2 * np.log1p(z**2 / process.df)
            found -= np.where(np.isnan(lost), np.inf, lost)
        return found

    def promise(self, pool: Pool, case: int) -> str:
        """Say how probable it is that a candidate satisfies each constraint."""
        texts = []
        for k, (low, high) in self.bounds.items():
            p = float(probability_between(pool.observed.column(k).take([case]), low, high)[0])
            low_text = f"at least {number(low)}" if np.isfinite(low) else ""
            high_text = f"at most {number(high)}" if np.isfinite(high) else ""
            between = " and ".join(text for text in (low_text, high_text) if text)
            texts.append(f"; {pool.model.target_names_[k]} {between} with {percent(p)}")
        return "".join(texts)


def expected_improvement(mean: Array, scale: Array, df: float, best: float) -> Array:
    """Return how much a Student-t prediction exceeds the best answer on average, zero where it does not, (M,).

    Examples
    --------
    >>> flat = np.array([0.0])
    >>> expected_improvement(flat, np.array([1.0]), np.inf, 0.0).round(4).tolist()  # one over the root of 2 pi
    [0.3989]
    >>> expected_improvement(np.array([2.0]), np.array([0.0]), 5.0, 0.5).tolist()
    [1.5]
    """
    known = scale <= 0
    s = np.where(known, 1.0, scale)
    z = (mean - best) / s
    if np.isinf(df):
        found = (mean - best) * norm.cdf(z) + s * norm.pdf(z)
    else:
        found = (mean - best) * student.cdf(z, df) + s * (df + z**2) / (df - 1.0) * student.pdf(z, df)
    return np.asarray(np.where(known, np.maximum(mean - best, 0.0), np.maximum(found, 0.0)))


def probability_between(prediction: Prediction, low: float, high: float) -> Array:
    """Return the probability (M,) that an observation lies between two bounds, of predictions of shape (M,).

    Examples
    --------
    >>> probability_between(Prediction(np.zeros(1), np.ones(1), np.inf), -1.96, np.inf).round(3).tolist()
    [0.975]
    """
    below, above = (prediction.cdf(np.full(len(prediction), bound)) for bound in (low, high))
    return np.asarray(above - below)


def improvement_of(prediction: Prediction, best: float, sign: float) -> Array:
    r"""Return the expected improvement (M,) over the best answer, of predictions of shape (M,).

    That of a mixture is the weighted sum of those of its parts. Of targets on another scale than their own, with
    :math:`p = P(\pm y > \pm f)`, it is p times the mean of :math:`\pm (y - f)` over equally likely values of y beyond
    f.

    Parameters
    ----------
    prediction : Prediction
    best : float
        f times the sign.
    sign : float
        1 to maximize, -1 to minimize.

    Examples
    --------
    >>> plain = Prediction(np.zeros(1), np.ones(1), np.inf)
    >>> improvement_of(plain, 0.0, 1.0).round(4).tolist(), improvement_of(plain, 0.0, -1.0).round(4).tolist()
    ([0.3989], [0.3989])
    """
    return np.asarray(sum(weight * _improvement_of_bell(one, best, sign) for weight, one in prediction.bells()))


def _improvement_of_bell(prediction: Prediction, best: float, sign: float) -> Array:
    """Return the expected improvement (M,) of a Student-t prediction, on its own scale or carried back from another."""
    process = prediction.process
    if process is prediction:
        return expected_improvement(sign * prediction.mean, prediction.scale, prediction.df, best)
    scale = np.maximum(process.scale, np.finfo(float).tiny)[:, None]
    answer = np.full((len(prediction), 1), sign * best)
    family = norm if np.isinf(process.df) else student(process.df)
    z = sign * (prediction.to_process(answer[:, 0])[:, None] - process.mean[:, None]) / scale
    p = family.sf(z)
    levels = np.maximum(p * (np.arange(_TAIL_VALUES) + 0.5) / _TAIL_VALUES, np.finfo(float).tiny)
    values = process.mean[:, None] + sign * scale * family.isf(levels)
    gains = sign * (prediction.from_process(values) - answer)
    return np.asarray(p[:, 0] * np.maximum(gains, 0.0).mean(axis=1))


class _Variance:
    """Choose the case whose prediction is least sure."""

    def __init__(self, pool: Pool, aim: Aim, seed: int):
        self.pool, self.targets = pool, aim.targets
        spread = np.nanvar(pool.model.train_targets_, axis=0)
        self.unit = np.maximum(spread, np.finfo(float).tiny)[aim.targets]
        self.largest = float(self.scores().max())

    def scores(self) -> Array:
        """Return what each candidate is worth, (M,)."""
        return np.asarray((self.pool.variance[:, self.targets] / self.unit).mean(axis=1))

    def choose(self, case: int) -> None:
        """Take a candidate for simulated."""
        self.pool.settle(case)

    def why(self, case: int, score: float) -> str:
        """Say in words why a candidate is chosen."""
        stds = np.sqrt(self.pool.variance[case, self.targets])
        names = [self.pool.model.target_names_[k] for k in self.targets]
        told = ", ".join(f"{name} ± {number(float(s))}" for name, s in zip(names, stds, strict=True))
        return f"the least certain prediction, given those before: {told}"


class _Integrated:
    """Choose the case that takes away most variance in the pool: of the model and, as much, of a smooth process.

    A model of few cases is often sure where it should not be, and sees variations of meshes that do not count; the
    process, see :class:`Coverage`, knows nothing of the answers.
    """

    def __init__(self, pool: Pool, aim: Aim, seed: int):
        self.pool, self.targets, self.seed = pool, aim.targets, seed
        places = pool.places(seed)
        self.places = places[np.isin(places, _first_ones(pool))]
        self.among = pool.among(self.places)[aim.targets]
        self.cover = _coverage(pool, seed)

    def scores(self) -> Array:
        """Return which share of the variance each candidate takes away, averaged over targets, (M,)."""
        own = (self.pool.variance + self.pool.noise)[:, self.targets].T
        total = self.pool.variance[self.places][:, self.targets].sum(axis=0)
        gains = np.einsum("trm,trm->tm", self.among, self.among) / np.maximum(own, np.finfo(float).tiny)
        shares = np.asarray((gains / np.maximum(total, np.finfo(float).tiny)[:, None]).mean(axis=0))
        return shares if self.cover is None else np.asarray((1 - _COVER) * shares + _COVER * self.cover.gains())

    def choose(self, case: int) -> None:
        """Take a candidate for simulated."""
        whole = len(self.places) == len(self.pool) and len(self.targets) == self.pool.mean.shape[1]
        explained = self.pool.settle(case, self.among[np.argsort(self.targets), case] if whole else None)
        own = explained[self.targets]
        self.among -= own[:, self.places, None] * own[:, None, :]
        if self.cover is not None:
            self.cover.choose(case)

    def outlook(self, n: int, free: NDArray[np.intp]) -> Outlook:
        """Return what is expected of n free candidates that are drawn at random, of the first target."""
        k = self.targets[0]
        variance, noise = self.pool.variance[:, k], self.pool.noise[:, k]
        return random_outlook(self.among[0], self.places, variance, noise, n, free, self.seed)

    def left(self) -> float:
        """Return the expected error over the pool, of the first target."""
        return float(np.sqrt(self.pool.variance[self.places, self.targets[0]].mean()))

    def why(self, case: int, score: float) -> str:
        """Say in words why a candidate is chosen."""
        return f"most informative about the pool: removes {share(score)} of the remaining variance"


class _Farthest:
    """Choose the case farthest from training cases and choices."""

    def __init__(self, pool: Pool, aim: Aim, seed: int):
        self.rows, known = coordinates(pool)
        self.nearest = np.concatenate(
            [pairwise_distances(part, known).min(axis=1) for part in np.array_split(self.rows, len(pool) // 512 + 1)]
        )

    def scores(self) -> Array:
        """Return the distance of each candidate to the nearest training case or choice, (M,)."""
        return self.nearest

    def choose(self, case: int) -> None:
        """Take a candidate for simulated."""
        self.nearest = np.minimum(self.nearest, pairwise_distances(self.rows[[case]], self.rows)[0])

    def why(self, case: int, score: float) -> str:
        """Say in words why a candidate is chosen."""
        return f"farthest from training cases and those before: {number(float(self.nearest[case]))} from the nearest"


class _Improvement:
    """Choose the case that is expected to exceed the best answer by most, or whose upper bound is highest."""

    def __init__(self, pool: Pool, aim: Aim, seed: int):
        self.pool, self.aim, self.k = pool, aim, aim.targets[0]
        known = pool.answers
        known = known[np.isfinite(known[:, self.k])]
        answers = aim.sign * known[aim.satisfied(known), self.k]
        self.mean = aim.sign * pool.mean[:, self.k]
        self.feasible = aim.feasible(pool)
        # Where no training case satisfies the constraints, any that does is an improvement.
        self.any_known = len(answers) > 0
        self.best = float(answers.max()) if self.any_known else float((aim.sign * known[:, self.k]).min())

    def scores(self) -> Array:
        """Return expected improvements, or how far upper bounds lie above the lowest of them, (M,)."""
        believed, sign = self.pool.believed(self.k), self.aim.sign
        if self.aim.criterion == "ucb":
            bound = sign * believed.at(sign * _HOPE)
            return np.asarray(bound - bound.min())
        return improvement_of(believed, self.best, sign)

    def choose(self, case: int) -> None:
        """Take a candidate for simulated, with the predicted answer."""
        self.pool.settle(case)
        # As far as it satisfies the constraints: one that may not is no reason to leave out others like it.
        self.best += float(self.feasible[case]) * max(float(self.mean[case]) - self.best, 0.0)

    def why(self, case: int, score: float) -> str:
        """Say in words why a candidate is chosen."""
        name = self.pool.model.target_names_[self.k]
        told = f"{name} predicted {number(float(self.pool.mean[case, self.k]))}"
        told += f" ± {number(float(np.sqrt(self.pool.variance[case, self.k])))}"
        if not self.any_known:
            return f"{told}; no training case satisfies the constraints"
        so_far = "best so far" if self.pool.answers is self.pool.model.train_targets_ else "best training case there"
        told += f", {so_far} {number(self.aim.sign * self.best)}"
        return told if self.aim.criterion == "ucb" else f"{told}: improves it by {number(score)} on average"


def front_of(values: Array) -> Array:
    """Return the rows (F, 2) that no other row exceeds in both columns, the largest first number last.

    Examples
    --------
    >>> front_of(np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [2.0, 0.0]])).tolist()
    [[0.0, 3.0], [2.0, 2.0]]
    """
    order = np.lexsort((values[:, 1], values[:, 0]))[::-1]
    best = np.maximum.accumulate(values[order, 1])
    kept = np.concatenate([[True], values[order[1:], 1] > best[:-1]])
    return np.asarray(values[order[kept]][::-1])


def hypervolume(front: Array, reference: Array) -> float:
    """Return the area between a front, as :func:`front_of` returns it, and a point that all of it exceeds.

    Examples
    --------
    >>> hypervolume(np.array([[0.0, 3.0], [2.0, 2.0]]), np.array([-1.0, -1.0]))
    10.0
    """
    kept = front[(front > reference).all(axis=1)]
    widths = np.diff(np.concatenate([[reference[0]], kept[:, 0]]))
    return float(widths @ (kept[:, 1] - reference[1]))


class _Front:
    r"""Choose the case that is expected to add most to the area below the front of two targets.

    With both targets to be made larger, :math:`(a_i, b_i)` the points of the front by increasing a, the reference point
    r, :math:`b_{F+1} = r_2`, :math:`a_0 = r_1`, and :math:`E(f) = E\,(y - f)_+` of either target, it is
    :math:`\sum_i (E_1(a_{i-1}) - E_1(a_i))\,E_2(b_i)`, the last with :math:`E_1(a_{F+1}) = 0`. Targets are taken for
    independent given the training cases.
    """

    def __init__(self, pool: Pool, aim: Aim, seed: int):
        self.pool, self.aim = pool, aim
        known = pool.answers[:, aim.targets] * aim.signs
        complete = np.isfinite(known).all(axis=1)
        if not complete.any():
            raise InputError("No training case has answers of both targets.")
        allowed = complete & aim.satisfied(pool.answers)
        self.known = known[allowed]
        self.believed = pool.mean[:, aim.targets] * aim.signs
        spread = np.ptp(known[complete], axis=0)
        worst = (front_of(self.known) if len(self.known) else known[complete]).min(axis=0)
        self.reference = worst - _BEYOND * np.maximum(spread, np.finfo(float).tiny)

    def scores(self) -> Array:
        """Return the expected growth of the area, (M,)."""
        front = front_of(self.known) if len(self.known) else np.empty((0, 2))
        ends = np.concatenate([[self.reference[0]], front[:, 0]])
        floors = np.concatenate([front[:, 1], [self.reference[1]]])
        first, second = (self.pool.believed(k) for k in self.aim.targets)
        beyond = [improvement_of(first, float(end), self.aim.signs[0]) for end in ends]
        widths = -np.diff(np.array([*beyond, np.zeros(len(self.pool))]), axis=0)
        heights = np.array([improvement_of(second, float(floor), self.aim.signs[1]) for floor in floors])
        return np.asarray((np.maximum(widths, 0.0) * heights).sum(axis=0))

    def choose(self, case: int) -> None:
        """Take a candidate for simulated, with the predicted answers."""
        self.pool.settle(case)
        if self.aim.satisfied(self.pool.mean[[case]])[0]:
            self.known = np.vstack([self.known, self.believed[case]])

    def why(self, case: int, score: float) -> str:
        """Say in words why a candidate is chosen."""
        names, means, stds = self.pool.model.target_names_, self.pool.mean[case], np.sqrt(self.pool.variance[case])
        told = ", ".join(
            f"{names[k]} predicted {number(float(means[k]))} ± {number(float(stds[k]))}" for k in self.aim.targets
        )
        front = front_of(self.known) if len(self.known) else np.empty((0, 2))
        above = bool((front >= self.believed[case]).all(axis=1).any())
        return f"{told}: {'near' if above else 'beyond'} the best compromises so far"


_RULES: dict[str, Any] = {
    "ehvi": _Front,
    "imse": _Integrated,
    "variance": _Variance,
    "maximin": _Farthest,
    "ei": _Improvement,
    "ucb": _Improvement,
}


def coordinates(pool: Pool) -> tuple[Array, Array]:
    """Return candidates (M, K) and training cases (N, K) as points: whitened components, standardized numbers."""
    new, known = (pool.model.coordinates(rows, N_COMPONENTS) for rows in (pool.rows, None))
    return np.hstack([new, pool.others]), np.hstack([known, pool.train_others])


def fitted_cases(pool: Pool) -> NDArray[np.intp]:
    """Return the candidates that are training cases: the same mesh and the same inputs, up to rounding."""
    try:
        points, known = coordinates(pool)
    except InputError:  # kernels that know distances alone
        return np.empty(0, dtype=np.intp)
    distances, _ = cKDTree(known).query(points)
    return np.flatnonzero(distances <= SAME * np.sqrt(points.shape[1]))


def _success(pool: Pool, failed: NDArray[np.intp]) -> Array:
    """Return the chance (M,) that candidates can be simulated, by training cases and failed ones near them."""
    try:
        points, known = coordinates(pool)
    except InputError:  # kernels that know distances alone
        return np.ones(len(pool))
    return success_chance(points, known, points[failed])


def _first_ones(pool: Pool) -> NDArray[np.intp]:
    """Return the candidates that are not copies of earlier ones."""
    try:
        return distinct(coordinates(pool)[0])
    except InputError:  # kernels that know distances alone
        return np.arange(len(pool))


def _coverage(pool: Pool, seed: int) -> Coverage | None:
    try:
        return Coverage(*coordinates(pool), seed)
    except InputError:  # kernels that know distances alone
        return None


def _place(model: RobustGPRegressor, name: str) -> int:
    name = full_name(name, model.target_names_)
    if name not in model.target_names_:
        raise InputError(f"The model has no target {name!r}; it has {', '.join(model.target_names_)}.")
    return model.target_names_.index(name)


def target_bounds(
    model: RobustGPRegressor, constraints: Mapping[str, tuple[float | None, float | None]]
) -> dict[int, tuple[float, float]]:
    """Return the bounds of targets by their places, infinite where there are none; refuse what is not understood.

    Examples
    --------
    >>> table = pd.DataFrame({"a": np.linspace(0, 1, 9), "y": np.linspace(0, 1, 9) ** 2})
    >>> model = RobustGPRegressor(calibrate=False).fit(table, "y")
    >>> target_bounds(model, {"y": (2, None)})
    {0: (2.0, inf)}
    """
    if not isinstance(constraints, Mapping):
        raise InputError(f"constraints are {constraints!r}, but a dict of (low, high) by target is expected.")
    found = {}
    for name, pair in constraints.items():
        try:
            low, high = "" if isinstance(pair, str) else pair
            low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
        except (TypeError, ValueError):
            low = high = np.nan
        if np.isnan([low, high]).any() or (low, high) == (-np.inf, np.inf):
            raise InputError(
                f"The constraint on {name!r} must be (low, high), numbers, None where there is no bound: {pair!r}."
            )
        if not low <= high:
            raise InputError(f"The constraint on {name!r} is impossible: at least {low:g} and at most {high:g}.")
        found[_place(model, name)] = (low, high)
    return found
