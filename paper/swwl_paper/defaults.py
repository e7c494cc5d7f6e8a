"""The model that users get without naming a kernel, beside those that they could have named, on all data sets.

Every model is called as users call it, with a table of mesh files, and none has options of its own for a data set.
Within a split, fewer training cases are the first of more, and the test cases are the same.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swwl.evaluation import scores
from swwl.gp import GPWarning
from swwl.gp.prediction import Prediction
from swwl.kernels import ASWWL, SWWL, Factor, Matern52, PrincipalSWWL, Product
from swwl.mesh.io.formats import read_file
from swwl.mesh.shape.summaries import summaries
from swwl.parallel import one_blas_thread
from swwl.regression.estimator import RobustGPRegressor
from swwl_paper.defaultstable import MODELS, draw, tables
from swwl_paper.filesets import SETS, table_of
from swwl_paper.study import Skipped, Study

KEYS = ("dataset", "target", "n_train", "split", "model")
# Not those of other experiments, whose splits candidates for the default were chosen on.
SPLITS = (7001, 7002, 7003)
ON_MESHES: dict[str, type[Factor]] = {"SWWL": SWWL, "ASWWL": ASWWL, "principal": PrincipalSWWL}
PENALTIES = np.logspace(-4, 4, 33)
ON_STATISTICS = ("ridge", "boosted")


@dataclass(frozen=True)
class DefaultsPlan:
    """How large the experiment is.

    Attributes
    ----------
    n_train : tuple of int
    n_test : int
    n_splits : int
    nodes : dict of (int, int)
        Of generated meshes and coarsened ones, by set.
    fewer : dict of (tuple of int, int)
        Training and test cases of sets that do not have enough for the usual ones.
    """

    n_train: tuple[int, ...]
    n_test: int
    n_splits: int
    nodes: dict[str, tuple[int, int]]
    fewer: Mapping[str, tuple[tuple[int, ...], int]] = field(default_factory=dict)


_FEW = {"airfrans": ((60, 100, 150), 50), "cars": ((10, 12, 14), 6), "polycrystals": ((30, 45, 55), 15)}
_NODES = {"tensile2d": (1000, 0), "airfoil": (12000, 1200), "blade": (3000, 600), "blade-random": (3000, 0)}
_FEWER_NODES = {"tensile2d": (300, 0), "airfoil": (1000, 600), "blade": (600, 300), "blade-random": (600, 0)}
SIZES = {
    "small": DefaultsPlan((12, 18), 12, 1, _FEWER_NODES, {"cars": ((10, 14), 6)}),
    "medium": DefaultsPlan((60, 120), 100, 2, _NODES, _FEW),
    "full": DefaultsPlan((60, 120, 300), 200, 3, _NODES, _FEW),
}


def run(study: Study) -> None:
    """Fit all rows that are not done yet; print what they show, and draw it."""
    plan = study.pick(SIZES)
    names = study.chosen("dataset", list(SETS))
    models = study.chosen("kernel", list(MODELS))
    study.note(splits=list(SPLITS[: plan.n_splits]), relative="errors, widths and scores over the tests' deviation")
    for name in names:
        try:
            run_set(study, plan, name, models)
        except Skipped as reason:
            study.say(f"{SETS[name].title} are left out: {reason}")
    frame = study.rows(KEYS).frame()
    shown = frame if frame.empty else frame[frame["dataset"].isin(names) & frame["model"].isin(models)]
    if shown.empty:
        raise Skipped("none of the data sets is here, or none of the models suits them")
    for title, table, notes in tables(shown):
        study.show(title, table, notes)
    study.figure(draw(shown))


def run_set(study: Study, plan: DefaultsPlan, name: str, models: list[str]) -> None:
    """Fit what is missing of one data set, the largest training sets first: their embeddings serve the others."""
    sizes, n_test = plan.fewer.get(name, (plan.n_train, plan.n_test))
    rows = study.rows(KEYS)
    missing = [
        (target, n_train, split, model)
        for target in SETS[name].targets
        for n_train in sorted(sizes, reverse=True)
        for split in SPLITS[: plan.n_splits]
        for model in models
        if (model != "scalars" or SETS[name].scalars)
        and not rows.has(dataset=name, target=target, n_train=n_train, split=split, model=model)
    ]
    if not missing:
        return
    table = table_of(study, name, max(sizes) + n_test, plan.nodes.get(name, (0, 0)))
    wanted = any(model in ON_STATISTICS for *_, model in missing)
    statistics = np.stack([summaries(read_file(path)) for path in table["mesh"]]) if wanted else None
    memory = study.work("embeddings", name)
    others = list(SETS[name].targets)

    def tasks() -> Iterator[Any]:
        for target, n_train, split, model in missing:
            order = np.random.default_rng([split, study.seed]).permutation(len(table))
            chosen = np.concatenate([order[:n_train], order[-n_test:]])
            cases = table.drop(columns=[other for other in others if other != target]).iloc[chosen]
            seen = statistics[chosen] if model in ON_STATISTICS and statistics is not None else None
            yield delayed(fit_and_score)(model, cases, target, n_train, statistics=seen, memory=memory)

    progress = study.progress(f"{SETS[name].title}: fits")
    results: Iterator[dict[str, Any]] = Parallel(n_jobs=study.n_jobs, return_as="generator")(tasks())
    for done, (key, result) in enumerate(zip(missing, results, strict=True), 1):
        rows.add({"dataset": name} | dict(zip(KEYS[1:], key, strict=True)) | {"n_test": n_test} | result)
        if progress is not None:
            progress(done, len(missing))


def fit_and_score(
    model: str,
    cases: pd.DataFrame,
    target: str,
    n_train: int,
    *,
    statistics: NDArray[np.float64] | None = None,
    memory: Path | None = None,
) -> dict[str, Any]:
    """Fit a model to the first cases of a table and score it on the others.

    Parameters
    ----------
    model : str
        A key of ``MODELS``.
    cases : DataFrame
        Columns ``mesh`` (paths), numbers, and the target; training cases first.
    target : str
    n_train : int
    statistics : ndarray of shape (n, m), optional
        Of the meshes, for "ridge" and "boosted".
    memory : path, optional
        Where embeddings are kept.

    Returns
    -------
    dict
        ``error, coverage, width, score, warnings, seconds``; error, width and score over the deviation of the tests,
        seconds of this process to fit, which others on the same machine do not prolong.
    """
    scalars = [column for column in cases if column not in ("mesh", target)]
    train, test = cases.iloc[:n_train], cases.iloc[n_train:]
    with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GPWarning)
        start = time.process_time()
        if statistics is not None:
            inputs = np.hstack([statistics, cases[scalars].to_numpy(float)])
            on_numbers = ridge if model == "ridge" else boosted
            prediction = on_numbers(inputs[:n_train], train[target].to_numpy(float), inputs[n_train:])
            seconds = time.process_time() - start
        else:
            fitted = regressor(model, scalars).fit(train, target, memory=memory)
            seconds = time.process_time() - start
            prediction = fitted.predict_distribution(test, widen=False, memory=memory)
    truth = test[target].to_numpy(float)
    found, deviation = scores.score(truth, prediction), float(truth.std())
    return {
        "error": found.rmse / deviation,
        "coverage": found.coverage,
        "width": found.width / deviation,
        "score": found.interval_score / deviation,
        "warnings": len(caught),
        "seconds": seconds,
    }


def regressor(model: str, scalars: list[str]) -> RobustGPRegressor:
    """Return the Gaussian process of a model, Matérn 5/2 on the scalars; the default names no kernel.

    Examples
    --------
    >>> regressor("SWWL", ["speed"]).kernel
    SWWL('mesh') * Matern52('speed')
    """
    if model == "auto":
        return RobustGPRegressor()
    on_meshes = [ON_MESHES[model]("mesh")] if model in ON_MESHES else []
    return RobustGPRegressor(Product(*on_meshes, *map(Matern52, scalars)))


def ridge(inputs: NDArray[np.float64], y: NDArray[np.float64], new: NDArray[np.float64]) -> Prediction:
    """Predict by ridge regression on standardized inputs; left-out cases choose its penalty and its intervals.

    Parameters
    ----------
    inputs : ndarray of shape (N, m)
    y : ndarray of shape (N,)
    new : ndarray of shape (M, m)

    Examples
    --------
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> ridge(x, 2 * x[:, 0], np.array([[0.5]])).mean.round(3).tolist()
    [1.0]
    """
    fitted = make_pipeline(StandardScaler(), RidgeCV(PENALTIES)).fit(inputs, y)
    # The best score is minus the mean squared error of cases left out.
    deviation = np.sqrt(max(-float(fitted[-1].best_score_), 0.0))
    return Prediction(fitted.predict(new), np.full(len(new), deviation), len(y) - 1)


def boosted(inputs: NDArray[np.float64], y: NDArray[np.float64], new: NDArray[np.float64]) -> Prediction:
    """Predict by boosted trees, with intervals from left-out cases: what a table without meshes would give.

    Parameters
    ----------
    inputs : ndarray of shape (N, m)
    y : ndarray of shape (N,)
    new : ndarray of shape (M, m)

    Examples
    --------
    >>> x = np.linspace(0, 1, 40)[:, None]
    >>> boosted(x, 2 * x[:, 0], np.array([[0.5]])).mean.round(1).tolist()
    [1.0]
    """
    trees = GradientBoostingRegressor(subsample=0.7, max_features=0.5, min_samples_leaf=3, random_state=0)
    deviation = np.sqrt(np.mean((y - cross_val_predict(trees, inputs, y, cv=5)) ** 2))
    return Prediction(trees.fit(inputs, y).predict(new), np.full(len(new), deviation), len(y) - 1)
