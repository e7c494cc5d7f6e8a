"""AhmedML: drag and lift of Ahmed bodies from their shape alone, by folds, beside a process on the true parameters.

At slant angles of 30 to 45 degrees an attached and a separated flow coexist; intervals are judged there, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray

from swwl.kernels import Elliptic
from swwl.kernels.elliptic import Scalar
from swwl.regression.estimator import RobustGPRegressor
from swwl_paper import boards
from swwl_paper.ahmedtable import MODELS, draw, tables
from swwl_paper.filesets import written
from swwl_paper.study import Study

KEYS = ("model", "training", "fold", "target")
TARGETS = ("cd", "cl")
# Six of the eight published columns are independent.
PARAMETERS = (
    "body-length",
    "body-height",
    "body-width",
    "front-arc-diameter",
    "slant-surface-length",
    "slant-angle-degrees",
)
ANGLE, JUMP = "slant-angle-degrees", (30.0, 45.0)


@dataclass(frozen=True)
class AhmedPlan:
    """How large the experiment is.

    Attributes
    ----------
    n_folds : int
    few : int
        Training cases of the small fits; the other ones learn from all.
    n_cases : int, optional
        The first of them in the order of the folds; all by default.
    """

    n_folds: int = 5
    few: int = 100
    n_cases: int | None = None


SIZES = {"small": AhmedPlan(2, 20, 50), "medium": AhmedPlan(5, 100, 250), "full": AhmedPlan()}


def run(study: Study) -> None:
    """Fit all rows that are not done yet; print what they show, and draw it."""
    plan, rows = study.pick(SIZES), study.rows(KEYS)
    models = study.chosen("kernel", list(MODELS))
    study.note(
        folds=plan.n_folds, order=f"permutation of seed {study.seed}", relative="over the deviation of all cases"
    )
    fits = [
        (model, training, fold)
        for training in ("all", str(plan.few))
        for fold in range(plan.n_folds)
        for model in models
    ]
    missing = [key for key in fits if not rows.has(**dict(zip(KEYS[:3], key, strict=True)), target=TARGETS[0])]
    if missing:
        table = cases(study, plan)
        folds = split(len(table), plan.n_folds)
        memory = study.work("embeddings", "ahmed-board")

        def tasks() -> Iterator[Any]:
            for model, training, fold in missing:
                others = np.concatenate([rows for number, rows in enumerate(folds) if number != fold])
                train = others if training == "all" else others[: plan.few]
                yield delayed(fit_and_score)(model, table, train, folds[fold], memory)

        progress = study.progress("AhmedML: fits")
        results: Iterator[list[dict[str, Any]]] = Parallel(n_jobs=study.n_jobs, return_as="generator")(tasks())
        for done, (key, found) in enumerate(zip(missing, results, strict=True), 1):
            rows.add(*(dict(zip(KEYS[:3], key, strict=True)) | row for row in found))
            if progress is not None:
                progress(done, len(missing))
    frame = rows.frame()
    shown = frame[frame["model"].isin(models)]
    for title, table, notes in tables(shown):
        study.show(title, table, notes)
    study.figure(draw(shown))


def cases(study: Study, plan: AhmedPlan) -> pd.DataFrame:
    """Return the cases in the order of the folds, meshes as files beside parameters and targets."""
    table, meshes = boards.bodies()
    order = np.random.default_rng(study.seed).permutation(len(table))[: plan.n_cases]
    paths = written(study, "ahmed-board", order, meshes)
    return table.iloc[order].assign(mesh=paths).reset_index(drop=True)


def split(n: int, n_folds: int) -> list[NDArray[np.intp]]:
    """Return the rows of each fold: of n rows, already in random order.

    >>> [fold.tolist() for fold in split(5, 2)]
    [[0, 1, 2], [3, 4]]
    """
    return np.array_split(np.arange(n), n_folds)


def fit_and_score(
    model: str, table: pd.DataFrame, train: NDArray[np.intp], test: NDArray[np.intp], memory: Path | None = None
) -> list[dict[str, Any]]:
    """Fit a model to some rows of a table and score it on others.

    Returns
    -------
    list of dict
        One for each target: ``target, n_train, n_test``; ``error`` and ``width`` over the deviation of the whole
        table; ``coverage``; ``n_jump`` and ``jump_coverage``, of test cases where two flows coexist; ``widened``, a
        number of cases; ``warnings, seconds``.
    """
    inputs = ["mesh"] if model == "auto" else list(PARAMETERS)
    columns = [*inputs, *TARGETS]
    answers, facts = boards.fit_and_ask(
        regressor(model), table.iloc[train][columns], {"": table.iloc[test][columns]}, TARGETS, memory
    )
    found, angles = answers[""], table.iloc[test][ANGLE].to_numpy(float)
    jump = (angles >= JUMP[0]) & (angles <= JUMP[1])
    rows = []
    for k, target in enumerate(TARGETS):
        truth, one = found.truth[target].to_numpy(float), found.prediction.column(k)
        deviation = float(table[target].to_numpy(float).std())
        lower, upper = one.interval(0.95)
        holds = (lower <= truth) & (truth <= upper)
        rows.append(
            {
                "target": target,
                "n_train": len(train),
                "n_test": len(test),
                "error": float(np.sqrt(np.mean((one.mean - truth) ** 2))) / deviation,
                "coverage": float(holds.mean()),
                "width": float((upper - lower).mean()) / deviation,
                "n_jump": int(jump.sum()),
                "jump_coverage": float(holds[jump].mean()) if jump.any() else float("nan"),
                "widened": int(found.widened[:, k].sum()),
            }
            | facts
        )
    return rows


def regressor(model: str) -> RobustGPRegressor:
    """Return the default, which names no kernel, or a Matérn 5/2 process with one range for each true parameter.

    Examples
    --------
    >>> regressor("parameters").kernel.correlation, regressor("auto").kernel
    ('matern52', None)
    """
    return RobustGPRegressor() if model == "auto" else RobustGPRegressor(Elliptic(*map(Scalar, PARAMETERS)))
