"""AirfRANS, official split: lift and drag of airfoils by the default, beside published figures, and on other contours.

The contours to learn from have 150 to 400 points, close together at both edges. The same test airfoils are then asked
for with other points: a prediction should not depend on how a contour was sampled, or should say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import spearmanr

from swwl.regression.estimator import RobustGPRegressor
from swwl_paper import boards
from swwl_paper.airfranstable import draw, tables
from swwl_paper.filesets import written
from swwl_paper.published import contour
from swwl_paper.study import Skipped, Study

KEYS = ("contours", "target", "n_train", "seed")
TARGETS = ("cl", "cd")
INPUTS = ("U", "alpha")
N_UNIFORM, N_COSINE = 300, 40


@dataclass(frozen=True)
class AirfransPlan:
    """How large the experiment is.

    Attributes
    ----------
    n_train : dict of int
        Numbers of training cases, and how many seeds draw them.
    n_test : int, optional
        The first of the official test cases; all by default.
    """

    n_train: dict[int, int]
    n_test: int | None = None


SIZES = {
    "small": AirfransPlan({40: 1}, 20),
    "medium": AirfransPlan({100: 3, 200: 3}),
    "full": AirfransPlan({100: 3, 200: 3, 800: 1}),
}


def run(study: Study) -> None:
    """Fit all rows that are not done yet; print what they show, and draw it."""
    plan, rows = study.pick(SIZES), study.rows(KEYS)
    seeds = {n: [study.seed + k for k in range(number)] for n, number in plan.n_train.items()}
    study.note(
        seeds={str(n): some for n, some in seeds.items()}, relative="errors and widths over the tests' deviation"
    )
    fits = [(n, seed) for n, some in seeds.items() for seed in some]
    missing = [(n, seed) for n, seed in fits if not rows.has(contours="same", target=TARGETS[0], n_train=n, seed=seed)]
    if missing:
        train, tests = cases(study, plan)
        memory = study.work("embeddings", "airfrans-board")

        def tasks() -> Iterator[Any]:
            for n_train, seed in missing:
                order = np.random.default_rng(seed).permutation(len(train))
                yield delayed(fit_and_score)(train.iloc[order[:n_train]], tests, memory)

        progress = study.progress("AirfRANS: fits")
        results: Iterator[list[dict[str, Any]]] = Parallel(n_jobs=study.n_jobs, return_as="generator")(tasks())
        for done, ((n_train, seed), found) in enumerate(zip(missing, results, strict=True), 1):
            rows.add(*({"n_train": n_train, "seed": seed} | row for row in found))
            if progress is not None:
                progress(done, len(missing))
    frame = rows.frame()
    for title, table, notes in tables(frame):
        study.show(title, table, notes)
    study.figure(draw(frame))


def cases(study: Study, plan: AirfransPlan) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return the official training cases and the test cases, these with each kind of contours; meshes are files.

    The surfaces of the solver's own meshes are among them where their file is here: as they are, cut off a thousandth
    of the chord before the trailing edge, and continued to it, as all other contours are.
    """
    table, contours = boards.airfoils()
    chosen = np.flatnonzero(table["split"] == 1)[: plan.n_test]
    test = table.iloc[chosen]
    points = {"same": [contours[row] for row in chosen]}
    points["uniform"] = [boards.uniform(nodes, N_UNIFORM) for nodes in points["same"]]
    points["cosine"] = [boards.cosine(nodes, N_COSINE) for nodes in points["same"]]
    try:
        points["surfaces"] = boards.surfaces(test)
        points["closed"] = [boards.closed(surface) for surface in points["surfaces"]]
    except Skipped as reason:
        study.say(f"The surfaces of the solver's own meshes are left out: {reason}")
    columns = [*INPUTS, *TARGETS]
    tests = {
        kind: test[columns].assign(mesh=written(study, f"airfrans-{kind}", range(len(test)), [*map(contour, some)]))
        for kind, some in points.items()
    }
    train = table[table["split"] == 0]
    meshes = [contour(contours[row]) for row in train.index]
    return train[columns].assign(mesh=written(study, "airfrans-train", range(len(train)), meshes)), tests


def fit_and_score(
    train: pd.DataFrame, tests: dict[str, pd.DataFrame], memory: Path | None = None
) -> list[dict[str, Any]]:
    """Fit the default to both coefficients and score it on each version of the test cases.

    Returns
    -------
    list of dict
        One for each version and target: ``contours, target``, the scores of :meth:`swwl_paper.boards.Answers.scores`,
        ``rrmse, spearman``; ``inside, widened, flagged``, numbers of test cases; ``together``, 1 if users are told that
        all of them together differ from the training cases; ``unflagged`` and ``unflagged_same``, the error of the
        other cases, here and with the contours that are like the training ones; ``warnings, seconds``.
    """
    answers, facts = boards.fit_and_ask(RobustGPRegressor(), train, tests, TARGETS, memory)
    rows = []
    for kind, found in answers.items():
        for k, target in enumerate(TARGETS):
            mean, truth = found.prediction.column(k).mean, found.truth[target].to_numpy(float)
            flagged = found.flagged(k)
            rows.append(
                {"contours": kind, "target": target}
                | found.scores(k)
                | {
                    "rrmse": rrmse(truth, mean),
                    "spearman": float(spearmanr(truth, mean).statistic),
                    "inside": float(found.inside.sum()),
                    "widened": int(found.widened[:, k].sum()),
                    "flagged": int(flagged.sum()),
                    "together": int(found.together),
                    "unflagged": root_mean_square(found.errors(k)[~flagged]),
                    "unflagged_same": root_mean_square(answers["same"].errors(k)[~flagged]),
                }
                | facts
            )
    return rows


def rrmse(truth: boards.Array, mean: boards.Array) -> float:
    r"""Return :math:`\sqrt{\mathrm{mean}((\hat y - y)^2 / y^2)}`, the error of MMGP's tables.

    Examples
    --------
    >>> round(rrmse(np.array([1.0, -2.0]), np.array([1.1, -2.2])), 9)
    0.1
    """
    return root_mean_square((mean - truth) / truth)


def root_mean_square(values: boards.Array) -> float:
    """Return the root of the mean of squares, NaN where there are no values."""
    return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")
