"""Whether a case is like those that a model knows, and in what it differs.

Four scores, each a p-value by training rows that were left out: how far a mesh lies along the variations of the
training meshes, off them, and from the nearest one (``clouds.py``), and how unsure the prediction is. One verdict: the
harmonic mean of the four.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from swwl.domain.clouds import FLOOR, SCORES, TrainingCloud, harmonic_mean, make_cloud, p_values
from swwl.embedding.distances import pairwise_distances
from swwl.errors import InputError
from swwl.formatting import number
from swwl.gp.prediction import Prediction
from swwl.kernels.base import Factor, Product

Array = NDArray[np.float64]
Representation: TypeAlias = Any  # what a factor makes of a column: an array, a tuple of arrays, a list of graphs
Columns: TypeAlias = dict[str, Any]  # of a table, M values each

# Cases whose p-value is at most this lie outside; with fewer training cases no p-value can tell.
LEVEL, FEWEST = 0.03, 100
# How the reason begins that no p-value can tell.
FEW_CASES = re.compile(r"^\d+ training cases are too few, at least \d+ are needed(; )?")
# Where a prediction is less sure than this share of those of left-out training cases, its interval is widened.
_SURE, WIDER = 0.95, 2.0
# Numbers that leave the training range by more than this share of it lie outside by themselves.
_MARGIN = 0.1
# So many values at the end of a range say how far chance goes beyond it.
_AT_THE_END = 5
# Numbers that differ by less than this share of their size are the same.
_ROUNDING = 1e-12
# A mesh so many times farther from the middle of the training meshes than any of them is probably in other units, or
# somewhere else; nothing that a training set varies in goes so far.
_FAR_AWAY = 3.0
# What such a mesh is called.
FRAME = "other units, frame or kind"
# What a case is called whose numbers lie well outside.
RANGE = "input out of range"
# What one is called whose named groups or bodies are others.
GROUPS = "other bodies or places"
# Which measure of a mesh says most about its shape and least about its meshing.
_MEASURES = ("skin", "area")


@dataclass(frozen=True)
class Reference:
    """What cases are compared with.

    Attributes
    ----------
    clouds : dict of str to (int, TrainingCloud)
        For every column of meshes, which factor of the model's kernel shows it, and its training rows; for a model
        without meshes, its numbers together under the name "".
    std : ndarray of shape (N, k)
        Standard deviations of predictions of training cases that were left out, on the scales of the processes.
    shape_std : ndarray of shape (N, k)
        The same of the kernels that look at shapes alone, and not at where a mesh is fine.
    ranges : DataFrame
        Lowest and highest training value of every column of numbers.
    tails : dict of str to (float, float, int)
        How far the k lowest values of a column lie below the next one, together, the k highest, and k.
    """

    clouds: dict[str, tuple[int, TrainingCloud]]
    std: Array
    shape_std: Array
    ranges: pd.DataFrame
    tails: dict[str, tuple[float, float, int]]

    @property
    def n_cases(self) -> int:
        """Number of training cases."""
        return len(self.std)

    @cached_property
    def sure(self) -> Array:
        """The standard deviation (k,) up to which intervals stay as they are."""
        if not np.isfinite(self.std).all():  # of three rows, nothing is sure
            return np.full(self.std.shape[1], np.inf)
        return np.asarray(np.quantile(self.std, _SURE, axis=0))

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest training value by column of numbers."""
        return {str(name): (float(own.iloc[0]), float(own.iloc[1])) for name, own in self.ranges.items()}

    def widened(self, prediction: Prediction) -> NDArray[np.bool_]:
        """Return of which predictions, (M, k), intervals are to be doubled."""
        return np.asarray(prediction.process.columns().std > self.sure)

    def left_out_scores(self) -> Array:
        """Return the score (N,) of every training case, as if it were a new one; none where a sample stands for all."""
        if any(len(cloud.reference) != self.n_cases for _, cloud in self.clouds.values()):
            return np.empty(0)
        parts = [cloud.p_values(cloud.reference).T for _, cloud in self.clouds.values()]
        return harmonic_mean(np.vstack([*parts, self.unsure(self.shape_std)]).T)

    def unsure(self, std: Array) -> Array:
        """Return p-values (M,) of standard deviations (M, k): of the target that stands out most."""
        usual = np.maximum(np.median(self.shape_std, axis=0), np.finfo(float).tiny)
        if not np.isfinite(usual).all():  # of three rows, nothing is sure
            return np.ones(len(std))
        return p_values((std / usual).max(axis=1), (self.shape_std / usual).max(axis=1))


def make_reference(
    factors: Sequence[Factor],
    rows: Sequence[Representation],
    left_out: Prediction,
    shape_std: Array,
    numbers: pd.DataFrame,
) -> Reference:
    """Learn from training cases what is usual.

    Parameters
    ----------
    factors : sequence of Factor
        Of a fitted kernel.
    rows : sequence
        Their training representations.
    left_out : Prediction
        Of every training case from others, arrays of shape (N, k).
    shape_std : ndarray of shape (N, k)
        See :class:`Reference`.
    numbers : DataFrame
        Numeric inputs of the training cases.
    """
    clouds = {}
    for place in shown_factors(factors):
        factor = factors[place]
        vectors = factor.vectors(rows[place])
        if vectors is not None and vectors.shape[1]:  # none of meshes that are all alike: nothing to compare
            clouds[str(factor.column)] = (place, make_cloud(vectors, factor.beyond(rows[place])))
    plain = _plain_vectors(factors, rows)
    if not any(factor.takes == "graphs" for factor in factors) and plain is not None:
        clouds[""] = (-1, make_cloud(plain))
    ranges = numbers.agg(["min", "max"]) if len(numbers.columns) else numbers
    return Reference(clouds, left_out.process.columns().std, shape_std, ranges, _tails(numbers))


def shown_factors(factors: Sequence[Factor]) -> list[int]:
    """Return the places of the factors that show columns of graphs best, one for each: skin, area, or what there is."""
    found: dict[str, int] = {}
    for place, factor in enumerate(factors):
        if factor.takes != "graphs":
            continue
        if factor.column not in found or _preference(factor) < _preference(factors[found[factor.column]]):
            found[factor.column] = place
    return list(found.values())


def case_points(
    reference: Reference, factors: Sequence[Factor], rows: Sequence[Representation], n_components: int
) -> Array:
    """Return cases as points (M, K): leading components of meshes in training deviations, and standardized numbers.

    Parameters
    ----------
    reference : Reference
    factors, rows
        As in :func:`make_reference`, of M cases.
    n_components : int
        Of every column of meshes.
    """
    parts = []
    for place, cloud in reference.clouds.values():
        if place >= 0:
            vectors = factors[place].vectors(rows[place])
            assert vectors is not None
            parts.append(cloud.whitened(vectors, n_components, factors[place].beyond(rows[place])))
    plain = _plain_vectors(factors, rows)
    parts += [] if plain is None else [plain]
    if not parts:
        raise InputError("The kernel compares cases by distances alone: there are no coordinates to show them in.")
    return np.hstack(parts)


def shapes_alone(kernel: Product) -> bool:
    """Whether a kernel looks at points on the cells of meshes, so that it hardly depends on how they are meshed."""
    return all(_preference(factor) < len(_MEASURES) for factor in kernel.factors if factor.takes == "graphs")


class Looks(NamedTuple):
    """What meshes alone say of M cases: p-values (M,) by name, and differences in words, a list for every case.

    ``groups`` are those of named groups and bodies, any of which puts a case outside.
    """

    parts: dict[str, Array]
    words: list[list[str]]
    groups: list[list[str]]

    def repeated(self, n: int) -> Looks:
        """Return those of the first case as those of n."""
        parts = {name: np.repeat(p[:1], n) for name, p in self.parts.items()}
        return Looks(parts, self.words[:1] * n, self.groups[:1] * n)

    def with_groups(self, groups: Sequence[Sequence[str]]) -> Looks:
        """Return the same with what else is said of the groups of every case."""
        pairs = zip(self.groups, groups, strict=True)
        return self._replace(groups=[list(dict.fromkeys([*own, *more])) for own, more in pairs])


def look(reference: Reference, factors: Sequence[Factor], rows: Sequence[Representation], n: int) -> Looks:
    """Compare the meshes of n new cases with those of the training cases; see :func:`judge`."""
    parts: dict[str, Array] = {}
    words: list[list[str]] = [[] for _ in range(n)]
    for name, (place, cloud) in reference.clouds.items():
        vectors = _plain_vectors(factors, rows) if place < 0 else factors[place].vectors(rows[place])
        assert vectors is not None
        scores = cloud.scores(vectors, None if place < 0 else factors[place].beyond(rows[place]))
        p = cloud.p_values(scores)
        parts |= {f"{score} {name}".strip(): p[:, k] for k, score in enumerate(SCORES)}
        for row, text in enumerate(_differences(cloud, scores, p, name)):
            words[row] += text
    return Looks(parts, words, unlike_groups(factors, rows, n))


def unlike_groups(factors: Sequence[Factor], rows: Sequence[Representation], n: int) -> list[list[str]]:
    """Return what is said of the named groups and bodies of n new cases, a list for every case; empty for most."""
    groups: list[list[str]] = [[] for _ in range(n)]
    for factor, own in zip(factors, rows, strict=True):
        for row, said in enumerate(factor.unlike(own)):
            groups[row] += [text for text in said if text not in groups[row]]
    return groups


def judge(
    reference: Reference,
    factors: Sequence[Factor],
    rows: Sequence[Representation],
    shape_std: Array,
    numbers: Mapping[str, ArrayLike],
) -> pd.DataFrame:
    """Say of new cases whether they are like the training cases.

    Parameters
    ----------
    reference : Reference
    factors, rows
        As in :func:`make_reference`, of M new cases.
    shape_std : ndarray of shape (M, k)
        Standard deviations of their predictions, of the kernels that look at shapes alone.
    numbers : mapping of str to array of shape (M,)
        Their numeric inputs.

    Returns
    -------
    DataFrame
        One row per case; see :meth:`swwl.RobustGPRegressor.domain`.
    """
    looks = look(reference, factors, rows, len(shape_std))
    return pd.DataFrame(verdicts(reference, looks, shape_std, numbers))


def verdicts(
    reference: Reference,
    looks: Looks,
    shape_std: Array,
    numbers: Mapping[str, ArrayLike],
    meshing: Sequence[str] = (),
) -> Columns:
    """Return the columns that :func:`judge` makes a table of, given what meshes alone say.

    ``meshing`` says of each case in words why its mesh is too coarse or too fine to be trusted; nothing where it is
    not, or where that is not known.
    """
    n = len(shape_std)
    coarse = list(meshing) or [""] * n
    parts, words = looks.parts | {"std": reference.unsure(shape_std)}, looks.words
    score = harmonic_mean(np.column_stack(list(parts.values())))
    beyond = _beyond(reference.bounds, numbers, n)
    away = [_in_other_units(text) for text in words]
    odd = np.array([any(said) for said in zip(beyond, coarse, looks.groups, away, strict=True)], dtype=bool)
    inside = (score > LEVEL) & ~odd
    kinds, reasons = [], []
    for row in range(n):
        own = looks.groups[row] + words[row] + [text for text in [coarse[row]] if text]
        kind, why = _verdict(bool(inside[row]), own, beyond[row], float(parts["std"][row]))
        if looks.groups[row] and kind == "unlike any training case":
            kind = GROUPS
        if coarse[row] and kind == "unlike any training case" and own[0] == coarse[row]:
            kind = "coarser or finer mesh"
        kinds.append(kind)
        reasons.append(why)
    found: Columns = {"score": score, "inside": inside, "kind": kinds, "why": reasons} | parts
    found["outside"] = outside_ranges(reference.bounds, numbers, n)
    found["meshing"] = coarse
    found["far"] = [bool(far) or own for far, own in zip(beyond, away, strict=True)]
    found["tail"] = np.where(away, 0.0, _tail_chances(reference, numbers, n))
    if reference.n_cases < FEWEST:  # what needs no statistics is told all the same
        few = f"{reference.n_cases} training cases are too few, at least {FEWEST} are needed"
        found["inside"] = pd.array([False if known else pd.NA for known in odd], dtype="boolean")
        found["kind"] = [kind if known else "cannot tell" for kind, known in zip(kinds, odd, strict=True)]
        unknown = [f"{few}; {why}" if why else few for why in reasons]
        found["why"] = [why if known else other for why, other, known in zip(reasons, unknown, odd, strict=True)]
    return found


def number_columns(factors: Sequence[Factor], rows: Sequence[Representation]) -> dict[str, Array]:
    """Return the numeric columns that factors represent, by name, in their own units."""
    found = {str(factor.column): factor.numbers(own) for factor, own in zip(factors, rows, strict=True)}
    return {name: values for name, values in found.items() if values is not None}


def agreement(y: Array, prediction: Prediction, train: Array, left_out: Prediction) -> float:
    r"""Test whether known answers still agree with predictions as left-out training cases did; return the p-value.

    The rank-sum test of Mann and Whitney on standardized errors :math:`(y - m) / s` of new cases and of training cases.
    A small value says that the answers differ, whatever the shapes: another load, another solver, another material.

    Parameters
    ----------
    y : ndarray of shape (M,)
    prediction : Prediction
        Of them, arrays of shape (M,).
    train : ndarray of shape (N,)
    left_out : Prediction
        Arrays of shape (N,).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, flat = rng.normal(size=100), Prediction(np.zeros(100), np.ones(100), np.inf)
    >>> same, other = (agreement(y[:10] + shift, flat.take(slice(10)), y[10:], flat.take(slice(10, 100)))
    ...                for shift in (0, 3))
    >>> bool(same > 0.05), bool(other < 0.001)
    (True, True)
    """
    new, old = prediction.standardized(y), left_out.standardized(train)
    return float(scipy.stats.mannwhitneyu(new, old, alternative="two-sided").pvalue)


def _preference(factor: Factor) -> int:
    measure = getattr(factor, "measure", None)
    return _MEASURES.index(measure) if measure in _MEASURES else len(_MEASURES)


def _plain_vectors(factors: Sequence[Factor], rows: Sequence[Representation]) -> Array | None:
    """Return all columns but graphs as vectors side by side, (N, K); None if there are none."""
    found = [factor.vectors(own) for factor, own in zip(factors, rows, strict=True) if factor.takes != "graphs"]
    known = [np.asarray(vectors, dtype=np.float64) for vectors in found if vectors is not None]
    return np.hstack(known) if known else None


def _differences(cloud: TrainingCloud, scores: Array, p: Array, name: str) -> list[list[str]]:
    """Say in words how each row differs from the rows of a cloud: what differs most first."""
    whose = f"the mesh in {name!r}" if name else "the case"
    things = "training meshes" if name else "training cases"
    other = "the case combines its numbers as none of the training cases does"
    apart = np.sqrt(((cloud.rows - cloud.mean) ** 2).sum(axis=1) + cloud.left**2).max()
    off_reference = cloud.reference[:, 1].max()
    found = []
    for (_, off, near), own in zip(scores, p, strict=True):
        texts = {
            0: f"{whose} goes further along known variations than the {things}",
            1: f"{whose} is unlike any of the {things}: another kind of shape" if name else other,
            2: f"{whose} is far from every one of the {things}",
        }
        order = [int(k) for k in np.argsort(own, kind="stable") if own[k] <= LEVEL]
        lines = [texts[k] for k in order]
        if name and near > _FAR_AWAY * apart:
            lines.insert(0, f"{whose} is in other units, or elsewhere, turned or mirrored, or of another kind")
        elif name and off_reference < off < FLOOR * cloud.spread:
            lines.append(f"{whose} is meshed in another way or resolution (no reason to distrust)")
        found.append(lines)
    return found


def outside_ranges(bounds: Mapping[str, tuple[float, float]], numbers: Mapping[str, ArrayLike], n: int) -> list[str]:
    """Return which numbers of n cases lie outside the training range: their names, or nothing.

    Examples
    --------
    >>> outside_ranges({"load": (1.0, 3.0), "speed": (5.0, 9.0)}, {"load": [2.0, 4.0], "speed": [5.0, 1.0]}, 2)
    ['', 'load, speed']
    """
    found: list[list[str]] = [[] for _ in range(n)]
    for name, (low, high) in bounds.items():
        values = np.asarray(numbers[name], dtype=float)
        slack = _ROUNDING * max(abs(low), abs(high))  # of numbers that were scaled and scaled back
        for row in np.flatnonzero((values < low - slack) | (values > high + slack)):
            found[row].append(str(name))
    return [", ".join(names) for names in found]


def _beyond(bounds: Mapping[str, tuple[float, float]], numbers: Mapping[str, ArrayLike], n: int) -> list[list[str]]:
    """Say for every case which numbers lie well outside the training range."""
    found: list[list[str]] = [[] for _ in range(n)]
    for name, (low, high) in bounds.items():
        values = np.asarray(numbers[name], dtype=float)
        margin = _MARGIN * (high - low)
        for row in np.flatnonzero((values < low - margin) | (values > high + margin)):
            found[row].append(f"{name} is {number(float(values[row]))}, trained from {number(low)} to {number(high)}")
    return found


def _tails(numbers: pd.DataFrame) -> dict[str, tuple[float, float, int]]:
    """Return for every column how far its k lowest values lie below the next one, together, its k highest, and k."""
    found = {}
    for name, values in numbers.items():
        ordered = np.sort(values.to_numpy(dtype=float))
        k = max(1, min(_AT_THE_END, len(ordered) // 2))
        if len(ordered) > k:
            low, high = ordered[k] - ordered[:k], ordered[-k:] - ordered[-k - 1]
            found[str(name)] = (float(low.sum()), float(high.sum()), k)
    return found


def _tail_chances(reference: Reference, numbers: Mapping[str, ArrayLike], n: int) -> Array:
    r"""Return how probable it is (n,) that a number that leaves its range goes as far as the farthest of a case.

    A number of a distribution with an exponential tail leaves the range by e or more with probability
    :math:`(1 + e / s)^{-k}`, where s is how far the k values at that end lie beyond the next one, together; with a
    lighter tail, more rarely. One for cases inside.
    """
    found = np.ones(n)
    for name, (low, high) in reference.bounds.items():
        values = np.asarray(numbers[name], dtype=float)
        slack = _ROUNDING * max(abs(low), abs(high))
        below, above, k = reference.tails.get(name, (0.0, 0.0, 1))
        for out, spacing in ((low - values - slack, below), (values - high - slack, above)):
            chance = (1.0 + np.maximum(out, 0.0) / spacing) ** -k if spacing > 0 else np.where(out > 0, 0.0, 1.0)
            found = np.minimum(found, chance)
    return found


def _verdict(inside: bool, words: list[str], beyond: list[str], unsure: float) -> tuple[str, str]:
    """Return the kind of difference in a few words, and all that there is to say."""
    notes = [text for text in words if "no reason" in text]
    told = [*beyond, *(text for text in words if text not in notes)]
    if unsure <= LEVEL:
        told.append("the prediction is less sure than those of left-out training cases")
    if inside:
        return "inside", "; ".join(notes)
    if beyond:
        kind = RANGE
    elif _in_other_units(words):
        kind = FRAME
    elif words and "further along" in words[0]:
        kind = "further along known variations"
    elif words and words[0] not in notes:
        kind = "unlike any training case"
    else:
        kind = "unsure prediction"
    return kind, "; ".join(told) or "several scores are high, though none is on its own"


def _in_other_units(words: list[str]) -> bool:
    return bool(words) and "other units" in words[0]


_MANY = 5000


def far_from_others(rows: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which rows (N, K) have a nearest neighbor much farther away than other rows have.

    The fence is that of a box plot: the upper quartile plus one and a half times the distance between quartiles. Of
    more than 5000 rows, neighbors are looked for among so many, drawn at random.

    Parameters
    ----------
    rows : ndarray of shape (N, K)
        Vectors whose Euclidean distance tells cases apart, such as embeddings.

    Returns
    -------
    ndarray of bool, shape (N,)

    Examples
    --------
    >>> far_from_others(np.array([[0.0], [1.0], [2.1], [3.0], [4.2], [9.0]])).tolist()
    [False, False, False, False, False, True]
    """
    if len(rows) < 3 or not rows.shape[1]:
        return np.zeros(len(rows), dtype=bool)
    n = len(rows)
    chosen = np.arange(n) if n <= _MANY else np.sort(np.random.default_rng(0).permutation(n)[:_MANY])
    nearest = np.empty(n)
    for start in range(0, n, _MANY):  # never more than so many squared distances at a time
        part = np.arange(start, min(n, start + _MANY))
        distances = pairwise_distances(rows) if n <= _MANY else pairwise_distances(rows[part], rows[chosen])
        distances[part[:, None] == chosen] = np.inf
        nearest[part] = distances.min(axis=1)
    low, high = np.quantile(nearest, [0.25, 0.75])
    return np.asarray(nearest > high + 1.5 * (high - low))
