"""Error against the numbers of projections and quantiles, on generated blades: the paper's figure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray

from swwl.embedding.transformer import SWWLEmbedding
from swwl.plots import EffectDisplay
from swwl.plots.style import CYCLE, new_figure, style
from swwl_paper.meshsets import SetSize, Version, generated, mean_nodes
from swwl_paper.models import MODELS, fit_and_score, isometric
from swwl_paper.rows import RowFile
from swwl_paper.study import Study, in_words

KEYS = ("model", "n_projections", "n_quantiles", "seed")
PROJECTIONS = (2, 5, 10, 20, 30, 40, 50)
QUANTILES = (10, 100, 500, 1000)
TARGET = "efficiency"
# Errors this close to that with most projections and quantiles count as no worse.
SLACK = 0.05


@dataclass(frozen=True)
class GridPlan:
    """How large the experiment is.

    Attributes
    ----------
    size : SetSize
        Of the generated blades.
    seeds : dict of int
        How many sets of directions, by model.
    """

    size: SetSize
    seeds: dict[str, int]


SIZES = {
    "small": GridPlan(SetSize(60, 40, 900, 300), {"SWWL": 3, "principal": 2}),
    "medium": GridPlan(SetSize(300, 100, 5000, 800), {"SWWL": 3, "principal": 2}),
    "full": GridPlan(SetSize(1000, 200, 29773, 1054), {"SWWL": 5, "principal": 2}),
}


def run(study: Study) -> None:
    """Fit what is not done yet; print errors, draw them, and say from where on little is gained."""
    plan = study.pick(SIZES)
    models = study.chosen("kernel", list(plan.seeds))
    version = generated(study, "blade", plan.size)[0]
    rows = study.rows(KEYS)
    fit_missing(study, plan, version, models, rows)
    frame = rows.frame()
    frame = frame[frame["model"].isin(models)]
    for model, part in frame.groupby("model", sort=False):
        runs, first = part["seed"].nunique(), part.iloc[0]
        title = f"{MODELS[str(model)].title}: RMSE of the blades' {in_words(TARGET)} over its standard deviation"
        sizes = (
            f"{first['nodes']:.0f} nodes, {first['n_train']:.0f} training and {first['n_test']:.0f} test cases, "
            f"{runs} set{'s' * (runs > 1)} of directions."
        )
        study.show(title, table_of(part), "\n".join([sizes, "", *verdicts(part)]))
    study.figure(draw(frame))


def fit_missing(study: Study, plan: GridPlan, version: Version, models: list[str], rows: RowFile) -> None:
    """Embed and fit, seed by seed, what has no row yet."""
    missing = [
        (study.seed + k, model, p, q)
        for model in models
        for k in range(plan.seeds[model])
        for q in QUANTILES
        for p in PROJECTIONS
        if not rows.has(model=model, n_projections=p, n_quantiles=q, seed=study.seed + k)
    ]
    if not missing:
        return
    table, graphs = version.load()
    cases = version.cases(len(table), study.seed)
    about = {"nodes": mean_nodes(graphs), "n_train": version.n_train, "n_test": version.n_test, "target": TARGET}
    for seed in sorted({key[0] for key in missing}):
        here = [key[1:] for key in missing if key[0] == seed]
        seen: dict[tuple[int, int], NDArray[np.float64]] = {}
        for q in sorted({q for _, _, q in here}):
            progress = study.progress(f"Q = {q}, seed {seed}")
            embedding = SWWLEmbedding(
                n_projections=max(PROJECTIONS),
                n_quantiles=q,
                node_weights="uniform",
                random_state=seed,
                n_jobs=study.n_jobs,
            )
            wide = embedding.fit_transform([graphs[i] for i in cases], progress=progress)
            for p in sorted({p for _, p, other in here if other == q}):
                seen[p, q] = isometric(first_projections(wide, max(PROJECTIONS), p))
        tasks = (
            delayed(fit_and_score)(
                model,
                seen[p, q],
                table.iloc[cases],
                version.scalars,
                TARGET,
                version.n_train,
                seed=seed,
                widening=1.0,
            )
            for model, p, q in here
        )
        progress = study.progress(f"fits with seed {seed}")
        results: Iterator[dict[str, Any]] = Parallel(n_jobs=study.n_jobs, return_as="generator")(tasks)
        for done, ((model, p, q), result) in enumerate(zip(here, results, strict=True), 1):
            key = {"model": model, "n_projections": p, "n_quantiles": q, "seed": seed}
            kept = {name: result[name] for name in ("rmse", "rmse_relative", "q2", "components", "seconds")}
            rows.add(key | about | kept)
            if progress is not None:
                progress(done, len(here))


def first_projections(rows: NDArray[Any], n_projections: int, fewer: int) -> NDArray[Any]:
    r"""Return the embedding that the first directions alone would give.

    Directions are drawn one after the other, so those of a small P are the first of a large one; the factor
    :math:`(PQ)^{-1/2}` of the rows is that of the smaller number.

    Parameters
    ----------
    rows : ndarray of shape (N, P Q)
    n_projections, fewer : int
        P, and how many of them to keep.

    Examples
    --------
    >>> rows = np.arange(8.0).reshape(1, 8)  # two quantiles of each of four projections
    >>> first_projections(rows, 4, 1).tolist()
    [[0.0, 8.0]]
    """
    kept = rows.reshape(len(rows), -1, n_projections)[:, :, :fewer]
    return kept.reshape(len(rows), -1) * np.asarray(np.sqrt(n_projections / fewer), rows.dtype)


def table_of(part: pd.DataFrame) -> pd.DataFrame:
    """Return errors of one model as texts, a row for each P and a column for each Q."""
    lines = []
    for p, of_p in part.groupby("n_projections"):
        line = {"P": f"{p}"}
        for q, cell in of_p.groupby("n_quantiles"):
            mean, std = float(cell["rmse_relative"].mean()), float(np.std(cell["rmse_relative"]))
            line[f"Q = {q}"] = f"{mean:.3f}" + (f" ± {std:.3f}" if len(cell) > 1 else "")
        lines.append(line)
    return pd.DataFrame(lines)


def enough(errors: pd.Series) -> int:
    """Return the smallest number from which on no error is much above the last one.

    Parameters
    ----------
    errors : Series
        By numbers of projections or quantiles, in ascending order.

    Examples
    --------
    >>> enough(pd.Series([0.5, 0.3, 0.21, 0.2], index=[2, 5, 10, 20]))
    10
    """
    good = errors <= (1 + SLACK) * errors.iloc[-1]
    above = np.flatnonzero(~good.to_numpy())
    return int(errors.index[above[-1] + 1 if len(above) else 0])


def verdicts(part: pd.DataFrame) -> list[str]:
    """Say from which P and Q on little more is gained by one model."""
    means = part.groupby(["n_projections", "n_quantiles"])["rmse"].mean().unstack()
    most_p, most_q = means.index[-1], means.columns[-1]
    p, q = enough(means[most_q]), enough(means.loc[most_p])
    worst, best = float(means.to_numpy().max()), float(means.loc[most_p, most_q])
    return [
        f"- From P = {p} on (with Q = {most_q}), and from Q = {q} on (with P = {most_p}), errors are at most "
        f"{100 * SLACK:.0f} % above the one with P = {most_p} and Q = {most_q}.",
        f"- The largest error of all pairs is {worst / best:.2f} times that one.",
    ]


def draw(frame: pd.DataFrame) -> Any:
    """Draw errors against P, a line for each Q and a panel for each model, with standard deviations over seeds."""
    models = list(dict.fromkeys(frame["model"]))
    figure = new_figure(4.4 * len(models), 3.7)
    with style():
        for ax, model in zip(figure.subplots(1, len(models), squeeze=False)[0], models, strict=True):
            part = frame[frame["model"] == model]
            groups = part.groupby(["n_quantiles", "n_projections"])["rmse"]
            means = groups.mean().reset_index()
            EffectDisplay(means, TARGET).plot(ax)
            top = 0.0
            for color, (q, line) in zip(CYCLE, means.groupby("n_quantiles"), strict=False):
                spread = groups.std(ddof=0).loc[q].to_numpy()
                low, high = line["rmse"] - spread, line["rmse"] + spread
                ax.fill_between(line["n_projections"], low, high, color=color, alpha=0.12, lw=0)
                top = max(top, float(high.max()))
            ax.set_ylim(0, 1.05 * top)
            ax.set_title(MODELS[model].title)
        figure.get_layout_engine().set(rect=(0, 0.03, 1, 0.97))  # the line of provenance stands below
    return figure
