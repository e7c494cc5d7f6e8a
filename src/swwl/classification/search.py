"""What GraphSVC without a kernel decides by cross-validation: features, iterations, exponent, gamma and C.

All ways to embed the graphs (:class:`Setting`) are screened with a few machines each; the best are searched on the
whole grid. :func:`inner_folds` and :func:`inner_accuracies` are the cross-validation, also that of ``nested_cv.py``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC

from swwl.kernels import SWWL
from swwl.mesh.arrays import AnyArray
from swwl.mesh.graph import Graph
from swwl.parallel import Progress, one_blas_thread

N_FOLDS = 5
ALPHAS = (1.0, 2.0)
# Gamma, in units of one over the median of D^alpha, and C; small gamma goes with large C.
RATIOS = (0.1, 0.3, 1.0, 3.0, 10.0)
COSTS = (1.0, 10.0, 100.0, 1000.0)
# Where good settings do well enough to be told from bad ones.
_SCREEN_RATIOS, _SCREEN_COSTS = (1.0,), (10.0,)
_FINALISTS = 4
# Graphs on which settings are compared: beyond, machines take long and tell little more.
_MOST_GRAPHS = 1000

Folds = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
COLUMNS = "labels scale n_iterations step alpha gamma C accuracy refined chosen".split()


@dataclass(frozen=True)
class Setting:
    """A way to embed graphs.

    Parameters
    ----------
    labels : bool
        Whether columns of one-hot labels are among the features.
    scale : bool
    n_iterations : int
    step : int or "sqrt"
    """

    labels: bool
    scale: bool
    n_iterations: int
    step: int | str

    def kernel(self, random_state: int) -> SWWL:
        """Return the kernel, on the column "graph"."""
        return SWWL(
            n_iterations=self.n_iterations,
            step=self.step,
            n_projections=20,
            n_quantiles=20,
            scale=self.scale,
            random_state=random_state,
        )


@dataclass(frozen=True)
class Choice:
    """What was chosen: a kernel, the columns of features that it sees (None is all), all settings, and how."""

    kernel: SWWL
    columns: NDArray[np.bool_] | None
    params: dict[str, Any]
    table: pd.DataFrame


def choose(
    graphs: Sequence[Graph],
    classes: AnyArray,
    *,
    alpha: float | None = None,
    gamma: float | str | None = None,
    C: float | None = None,
    class_weight: object = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Choice:
    """Return the setting of the largest mean accuracy over inner folds; of equals, the simplest.

    Parameters
    ----------
    graphs : sequence of N Graph
    classes : ndarray of shape (N,)
    alpha, gamma, C, class_weight
        Those of :class:`swwl.GraphSVC`; None is to be chosen.
    random_state : int
        Draws folds and directions.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of settings.

    Examples
    --------
    >>> rods = [Graph([[0.0], [length]], [(0, 1)]) for length in (1.0, 1.1, 1.2, 3.0, 3.1, 3.2)]
    >>> choose(rods, np.repeat(["short", "long"], 3)).params
    {'labels': False, 'scale': False, 'n_iterations': 0, 'step': 1, 'alpha': 1.0, 'gamma': 0.0899..., 'C': 10.0}
    """
    kept = _some(classes, random_state)
    graphs, classes = [graphs[i] for i in kept], classes[kept]
    folds, _ = inner_folds(np.unique(classes, return_inverse=True)[1], N_FOLDS, random_state)
    is_label = label_columns(graphs)
    tried = settings(graphs, is_label)
    columns = {True: None, False: ~is_label if is_label.any() else None}
    versions = {labels: select_columns(graphs, columns[labels]) for labels in {setting.labels for setting in tried}}
    finalists = min(_FINALISTS, len(tried))

    def compare(setting: Setting, rows: Any, done: int, refined: bool) -> list[dict[str, Any]]:
        (distances,) = setting.kernel(random_state).items(rows)
        machines = _machines(np.asarray(distances), classes, folds, alpha, gamma, C, class_weight, refined)
        if progress is not None:
            progress(done + 1, len(tried) + finalists)
        return [{**asdict(setting), **machine, "refined": refined, "chosen": False} for machine in machines]

    with one_blas_thread(), config_context(assume_finite=True, skip_parameter_validation=True):
        embedded = []
        screened = []
        for place, setting in enumerate(tried):
            embedded.append(setting.kernel(random_state).fit(versions[setting.labels]))
            screened.append(compare(setting, embedded[place], place, False))
        # Equals stay in order, so that the simplest comes first.
        order = sorted(range(len(tried)), key=lambda k: -max(row["accuracy"] for row in screened[k]))
        refined = []
        for place, k in enumerate(sorted(order[:finalists]), len(tried)):
            refined += compare(tried[k], embedded[k], place, True)
    others = [row for k in order[finalists:] for row in screened[k]]
    ranked = [row for rows in (refined, others) for row in sorted(rows, key=lambda row: -row["accuracy"])]
    best = ranked[0]
    best["chosen"] = True
    winner = Setting(*(best[name] for name in COLUMNS[:4]))
    params = {name: best[name] for name in COLUMNS[:7]}
    return Choice(winner.kernel(random_state), columns[winner.labels], params, pd.DataFrame(ranked, columns=COLUMNS))


def _machines(
    distances: NDArray[np.float64],
    classes: AnyArray,
    folds: Folds,
    alpha: float | None,
    gamma: float | str | None,
    C: float | None,
    class_weight: object,
    refined: bool,
) -> list[dict[str, float]]:
    """Return the best gamma and C with their accuracy, for every exponent; on the whole grid or at its middle."""
    ratios, costs = (RATIOS, COSTS) if refined else (_SCREEN_RATIOS, _SCREEN_COSTS)
    costs = costs if C is None else (C,)
    found = []
    for exponent in ALPHAS if alpha is None else (alpha,):
        powers = distances**exponent
        if gamma is None or isinstance(gamma, str):
            gammas = [ratio * median_gamma(powers) for ratio in (ratios if gamma is None else (1.0,))]
        else:
            gammas = [float(gamma)]
        scores = [inner_accuracies(np.exp(-one * powers), classes, folds, costs, class_weight) for one in gammas]
        table = np.round(scores, 12)  # means of the same numbers are equal
        i, j = np.unravel_index(table.argmax(), table.shape)
        found.append({"alpha": exponent, "gamma": gammas[i], "C": costs[j], "accuracy": float(table[i, j])})
    return found


def settings(graphs: Sequence[Graph], is_label: NDArray[np.bool_]) -> list[Setting]:
    """Return the settings worth comparing for these graphs, the simplest first.

    Parameters
    ----------
    graphs : sequence of Graph
    is_label : ndarray of shape (d,)
        From :func:`label_columns`.
    """
    step = round(math.sqrt(np.mean([graph.n_nodes for graph in graphs])))
    depths: list[tuple[int, int | str]] = [(0, 1), (1, 1), (2, 1), (3, 1)]
    if step > 1:
        depths += [(1, "sqrt"), (2, "sqrt"), (3, "sqrt")]
    widths = {False: int((~is_label).sum())} | ({True: len(is_label)} if is_label.any() else {})
    return [
        Setting(labels, scale, *depth)
        for labels, width in widths.items()
        if width
        for scale in (False, True)[: min(width, 2)]  # one column has no other to be scaled against
        for depth in depths
    ]


def label_columns(graphs: Sequence[Graph]) -> NDArray[np.bool_]:
    """Return which columns of features are one-hot labels: zero or one other number, and both are there.

    Examples
    --------
    >>> label_columns([Graph([[0.5, 1, 0], [1.0, 0, 0]], [(0, 1)]), Graph([[2.0, 0, 1]], [])]).tolist()
    [False, True, True]
    """
    weight = np.max([graph.features.max(axis=0) for graph in graphs], axis=0)
    binary = np.all([((g.features == 0) | (g.features == weight)).all(axis=0) for g in graphs], axis=0)
    zero = np.any([(graph.features == 0).any(axis=0) for graph in graphs], axis=0)
    return np.asarray(binary & zero & (weight > 0))


def select_columns(graphs: Sequence[Graph], columns: NDArray[np.bool_] | None) -> list[Graph]:
    """Return graphs with some of their columns of features; None keeps all."""
    return list(graphs) if columns is None else [graph.with_features(graph.features[:, columns]) for graph in graphs]


def median_gamma(powers: Any) -> float:
    """Return one over the median of the powers of distances between different graphs, or 1 where all are zero."""
    if np.ndim(powers) == 0:
        return 1.0
    pairs = powers[np.triu_indices(len(powers), 1)]
    median = float(np.median(pairs)) or float(pairs.max())
    return 1 / median if median else 1.0


def _some(classes: AnyArray, seed: int) -> NDArray[np.intp]:
    """Return the numbers of the graphs to compare settings on, sorted: every class with its share and at least two."""
    if len(classes) <= _MOST_GRAPHS:
        return np.arange(len(classes))
    shuffled = np.random.default_rng(seed).permutation(len(classes))
    kept = []
    for one in np.unique(classes):
        members = shuffled[classes[shuffled] == one]
        kept.append(members[: max(2, round(_MOST_GRAPHS * len(members) / len(classes)))])
    return np.sort(np.concatenate(kept))


class QuietStratified(StratifiedKFold):
    """Stratified folds, small classes in as many as they can be, without scikit-learn's warning about these."""

    def split(self, X: object, y: object = None, groups: Any = None) -> Any:
        """Return all folds."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class")
            return list(super().split(X, y, groups))


def inner_folds(labels: NDArray[np.intp], n_folds: int, seed: int) -> tuple[Folds, bool]:
    """Return folds of a training set, stratified where that can be, and whether every class has enough members.

    Parameters
    ----------
    labels : ndarray of shape (N,)
        Classes as whole numbers from 0.
    n_folds : int
        N if that is less.
    seed : int
    """
    counts = np.bincount(labels)
    counts = counts[counts > 0]
    number = min(n_folds, len(labels))
    stratified = QuietStratified(number, shuffle=True, random_state=seed)
    rule = stratified if counts.max() >= number else KFold(number, shuffle=True, random_state=seed)
    return list(rule.split(labels, labels)), counts.min() >= number


def inner_accuracies(
    gram: NDArray[np.float64], labels: AnyArray, inner: Folds, costs: Sequence[float], class_weight: object = None
) -> NDArray[np.float64]:
    """Return the mean accuracy over inner folds for every C, shape (len(costs),).

    Parameters
    ----------
    gram : ndarray of shape (n, n)
    labels : ndarray of shape (n,)
    inner : sequence of (train, test)
    costs : sequence of float
    class_weight : dict or "balanced", optional
    """
    scores = np.zeros((len(inner), len(costs)))
    for row, (train, test) in enumerate(inner):
        own, cross, present = gram[np.ix_(train, train)], gram[np.ix_(test, train)], np.unique(labels[train])
        if len(present) == 1:  # the other class has a single member, which is tested
            scores[row] = np.mean(labels[test] == present[0])
            continue
        weights = class_weight
        if isinstance(weights, dict):
            weights = {label: weight for label, weight in weights.items() if label in present}
        for column, cost in enumerate(costs):
            model = SVC(kernel="precomputed", C=cost, class_weight=weights).fit(own, labels[train])
            scores[row, column] = np.mean(model.predict(cross) == labels[test])
            inside = np.abs(model.dual_coef_).max() < cost * model.class_weight_.min()
            if inside and min(costs[column:]) >= cost:  # a wider bound changes nothing
                scores[row, column:] = scores[row, column]
                break
    return scores.mean(axis=0)
