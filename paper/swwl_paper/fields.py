"""Whole fields on new meshes: the library's regressor beside nearest fields, transport and principal components.

Every method learns from the same training meshes and is scored on the same test meshes; all choices that it makes are
made on training meshes. Rows are of one data set, one seed and one method.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from swwl.errors import GPWarning, MeshWarning
from swwl.fields.scores import field_score
from swwl.parallel import one_blas_thread
from swwl_paper.fieldmethods import METHODS, Context, Predicted, size_of
from swwl_paper.fieldsets import SETS, Cases, load
from swwl_paper.fieldtable import draw, tables
from swwl_paper.study import Skipped, Study

KEYS = ("dataset", "seed", "model")
# Not those with which the regressor was developed; a published set is split by the first five numbers.
SEEDS, SPLITS = (21, 22, 23), (101, 102, 103, 104, 105)


@dataclass(frozen=True)
class FieldsPlan:
    """How large the experiment is.

    Attributes
    ----------
    n_train, n_test, nodes : int
    n_seeds, n_splits : int
        Of generated sets, and of the published one.
    fewer : dict of (int, int, int)
        Training meshes, test meshes and nodes of sets that have others.
    """

    n_train: int
    n_test: int
    nodes: int
    n_seeds: int
    n_splits: int
    fewer: dict[str, tuple[int, int, int]]


SIZES = {
    "small": FieldsPlan(24, 8, 300, 1, 1, {"airfoils": (24, 8, 500), "airfoils-random": (24, 8, 500)}
                        | {"conductors": (24, 8, 600)}),
    "medium": FieldsPlan(100, 30, 600, 1, 2, {"conductors": (80, 30, 1200)}),
    "full": FieldsPlan(200, 50, 900, 3, 5, {"airfrans": (150, 50, 0), "conductors": (110, 50, 2500)}),
}  # fmt: skip


def run(study: Study) -> None:
    """Fit all rows that are not done yet; print what they show, and draw it."""
    plan = study.pick(SIZES)
    names = study.chosen("dataset", list(SETS))
    models = study.chosen("kernel", list(METHODS))
    study.note(seeds=list(SEEDS[: plan.n_seeds]), splits=list(SPLITS[: plan.n_splits]))
    for name in names:
        seeds = SPLITS[: plan.n_splits] if SETS[name].generator == "airfrans" else SEEDS[: plan.n_seeds]
        for seed in seeds:
            try:
                run_set(study, plan, name, seed, models)
            except Skipped as reason:
                study.say(f"{SETS[name].title} are left out: {reason}")
                break
    frame = study.rows(KEYS).frame()
    shown = frame if frame.empty else frame[frame["dataset"].isin(names) & frame["model"].isin(models)]
    if shown.empty:
        raise Skipped("none of the data sets is here, or none of the methods suits them")
    for title, table, notes in tables(shown):
        study.show(title, table, notes)
    study.figure(draw(shown))


def run_set(study: Study, plan: FieldsPlan, name: str, seed: int, models: list[str]) -> None:
    """Fit what is missing of one data set with one seed."""
    rows = study.rows(KEYS)
    suited = [model for model in models if model != "nodes" or SETS[name].common]
    missing = [model for model in suited if not rows.has(dataset=name, seed=seed, model=model)]
    if not missing:
        return
    n_train, n_test, nodes = plan.fewer.get(name, (plan.n_train, plan.n_test, plan.nodes))
    cases = load(study, name, seed, n_train, n_test, nodes)
    context = Context(cases, study.n_jobs)
    progress = study.progress(f"{SETS[name].title}, {seed}: methods")
    for done, model in enumerate(missing, 1):
        sizes = {"n_train": n_train, "n_test": n_test}
        rows.add({"dataset": name, "seed": seed, "model": model} | sizes | fit_and_score(model, context))
        if progress is not None:
            progress(done, len(missing))


def fit_and_score(model: str, context: Context) -> dict[str, Any]:
    """Fit a method and score it on the test meshes.

    Returns
    -------
    dict
        Scores of :func:`swwl.fields.scores.field_score`; ``largest_in``, the share of test meshes whose
        largest |u| lies in its 95 % interval; what was chosen, and the CPU seconds of this process.
    """
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)
        warnings.simplefilter("ignore", MeshWarning)
        start = time.process_time()
        predicted = METHODS[model](context)
        seconds = time.process_time() - start
    return scored(context.cases, predicted) | {"choice": predicted.choice, "seconds": round(seconds, 1)}


def scored(cases: Cases, predicted: Predicted) -> dict[str, Any]:
    """Return the scores of predicted fields on the test meshes."""
    truth = cases.values[cases.n_train :]
    found = field_score(truth, predicted.fields, predicted.lower, predicted.upper)
    within = float("nan")
    if predicted.largest is not None:
        largest = np.array([size_of(field).max() for field in truth])
        low, high = predicted.largest.T
        within = float(((low <= largest) & (largest <= high)).mean())
    kept = ("rrmse", "q2", "max_error", "coverage", "worst_coverage", "worst_rrmse")
    return {name: getattr(found, name) for name in kept} | {"largest_in": within}
