"""Errors of Gaussian process regression on simulation meshes: RMSE over seeds, as in the paper's Table 4.

Generated sets have one split, as in the paper, and seeds draw the directions of the embedding and the optimizer's
starts; published sets are small, and seeds draw their training and test cases, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from swwl.mesh.graph import Graph
from swwl.storage.atomic import atomic_write
from swwl_paper.errortable import draw, tables
from swwl_paper.meshsets import SetSize, Version, generated, mean_nodes
from swwl_paper.models import MODELS, fit_and_score, represent
from swwl_paper.published import published
from swwl_paper.rows import RowFile
from swwl_paper.study import Skipped, Study

KEYS = ("dataset", "meshes", "model", "target", "seed")
GENERATED = ("tensile2d", "airfoil", "blade")
PUBLISHED = ("airfrans", "naca0012", "polycrystals")
# Exact transport is for small sets; beside it stand the kernels to compare with on the very same cases.
CUT_DOWN = ("scalars", "SWWL", "principal", "WWL", "PK")


@dataclass(frozen=True)
class ErrorPlan:
    """How large the experiment is.

    Attributes
    ----------
    sets : dict of SetSize
        Of the generated sets, by name.
    published : dict of (int, int)
        Training and test cases of the published ones.
    seeds, split_seeds : int
        How many for generated and for published sets.
    extra_seeds : int
        How many for rows beyond the paper's, and for the side targets; where both meet, there are none.
    exact : tuple of str
        Published sets on which kernels of exact transport run.
    side_targets : tuple of str
    """

    sets: dict[str, SetSize]
    published: dict[str, tuple[int, int]]
    seeds: int
    split_seeds: int
    extra_seeds: int
    exact: tuple[str, ...] = ("airfrans", "polycrystals")
    side_targets: tuple[str, ...] = ("massflow", "pressure_ratio", "lift")


SIZES = {
    "small": ErrorPlan(
        {
            "tensile2d": SetSize(60, 40, 900, 300, cut=(40, 20, 200)),
            "airfoil": SetSize(60, 40, 1200, 600),
            "blade": SetSize(60, 40, 900, 300, cut=(40, 20, 200)),
        },
        {"airfrans": (60, 40), "naca0012": (80, 100), "polycrystals": (50, 20)},
        seeds=2,
        split_seeds=2,
        extra_seeds=1,
        exact=("polycrystals",),
    ),
    "medium": ErrorPlan(
        {
            "tensile2d": SetSize(200, 100, 2500, 600, cut=(80, 40, 200)),
            "airfoil": SetSize(250, 100, 4000, 1000, cut=(50, 30, 500)),
            "blade": SetSize(300, 100, 5000, 800, cut=(80, 40, 200)),
        },
        {"airfrans": (150, 50), "naca0012": (250, 250), "polycrystals": (55, 15)},
        seeds=3,
        split_seeds=3,
        extra_seeds=2,
    ),
    # The paper's numbers of cases and nodes, but for the airfoils: its 179 779 nodes are too many to repeat here.
    "full": ErrorPlan(
        {
            "tensile2d": SetSize(500, 200, 9426, 1177, cut=(100, 50, 200)),
            "airfoil": SetSize(800, 200, 12000, 1200, cut=(60, 30, 500)),
            "blade": SetSize(1000, 200, 29773, 1054, cut=(100, 50, 200)),
        },
        {"airfrans": (150, 50), "naca0012": (350, 500), "polycrystals": (55, 15)},
        seeds=5,
        split_seeds=5,
        extra_seeds=1,
    ),
}


def run(study: Study) -> None:
    """Fit all rows of the table that are not done yet; print them, draw them, and say what they show."""
    plan = study.pick(SIZES)
    names = study.chosen("dataset", [*GENERATED, *PUBLISHED])
    kernels = study.chosen("kernel", list(MODELS))
    study.note(
        embedding={"n_iterations": 3, "n_projections": 50, "n_quantiles": 500},
        intervals="95 %, widened by cross-validation with the first seed of a split",
    )
    rows = study.rows(KEYS)
    for name in names:
        for version in versions(study, plan, name):
            try:
                run_version(study, plan, version, kernels, rows)
            except Skipped as reason:
                study.say(f"{name}, {version.meshes} meshes, are left out: {reason}")
    frame = rows.frame()
    shown = frame if frame.empty else frame[frame["dataset"].isin(names) & frame["model"].isin(kernels)]
    if shown.empty:
        raise Skipped("none of the data sets is here, or none of the kernels suits them")
    for title, table, notes in tables(shown):
        study.show(title, table, notes)
    study.figure(draw(shown))


def versions(study: Study, plan: ErrorPlan, name: str) -> list[Version]:
    """Return what there is of a data set: meshes of several kinds, or the published ones."""
    if name in GENERATED:
        return generated(study, name, plan.sets[name])
    return [published(name, *plan.published[name], exact=name in plan.exact)]


def applies(model: str, version: Version) -> bool:
    """Whether a row of the table makes sense for a data set."""
    if version.meshes == "cut down" and model not in CUT_DOWN:
        return False
    needs = {
        "scalars": bool(version.scalars),
        "PCA": version.one_topology,
        "WWL": version.exact,
        "PK": version.exact,
        "SWWL-area": version.areas,
        "principal-area": version.areas,
    }
    return needs.get(model, True)


def n_seeds(plan: ErrorPlan, version: Version, model: str, target: str) -> int:
    """Return how many seeds a row of the table gets: the most expensive ones get fewer."""
    if version.shuffled:
        return plan.split_seeds
    if not MODELS[model].random:
        return 1
    extra, side = MODELS[model].extra, target in plan.side_targets
    if extra and side:
        return 0
    return min(plan.seeds, plan.extra_seeds) if extra or side else plan.seeds


def run_version(study: Study, plan: ErrorPlan, version: Version, kernels: list[str], rows: RowFile) -> None:
    """Fit what is missing of one data set with one kind of meshes, seed by seed."""
    wanted = [
        (study.seed + k, model, target)
        for model in kernels
        if applies(model, version)
        for target in version.targets
        for k in range(n_seeds(plan, version, model, target))
    ]
    own = {"dataset": version.dataset, "meshes": version.meshes}
    missing = [
        (seed, model, target)
        for seed, model, target in wanted
        if not rows.has(**own, model=model, target=target, seed=seed)
    ]
    if not missing:
        return
    table, graphs = version.load()
    sight = _Sight(study, version, graphs)
    for seed in sorted({seed for seed, _, _ in missing}):
        here = [(model, target) for other, model, target in missing if other == seed]
        cases = version.cases(len(table), seed)
        seen: dict[str, tuple[NDArray[np.float64] | None, float]] = {}
        for model, _ in here:
            if model not in seen:
                try:
                    seen[model] = sight.of(model, cases, seed)
                except ImportError as error:
                    study.say(f"{version.dataset}, {MODELS[model].title}, is left out: {error}")
        # The longest first, so that no process waits for another at the end.
        here = sorted(
            (pair for pair in here if pair[0] in seen), key=lambda pair: not pair[0].startswith(("principal", "PCA"))
        )
        about = {"nodes": mean_nodes(graphs), "n_train": version.n_train, "n_test": version.n_test}
        known = {} if version.shuffled else _widenings(rows, version, study.seed)
        tasks = (
            delayed(fit_and_score)(
                model,
                seen[model][0],
                table.iloc[cases],
                version.scalars,
                target,
                version.n_train,
                seed=seed,
                widening=known.get((model, target)),
            )
            for model, target in here
        )
        progress = study.progress(f"{version.dataset}, {version.meshes}: fits with seed {seed}")
        results: Iterator[dict[str, Any]] = Parallel(n_jobs=study.n_jobs, return_as="generator")(tasks)
        for done, ((model, target), result) in enumerate(zip(here, results, strict=True), 1):
            key = {**own, "model": model, "target": target, "seed": seed}
            rows.add(key | about | result | {"embedding_seconds": seen[model][1]})
            if progress is not None:
                progress(done, len(here))


def _widenings(rows: RowFile, version: Version, first: int) -> dict[tuple[str, str], float]:
    """Return by how much intervals were widened with the first seed, which other seeds on the same split share."""
    frame = rows.frame()
    if frame.empty:
        return {}
    frame = frame[(frame["dataset"] == version.dataset) & (frame["meshes"] == version.meshes)]
    frame = frame[frame["seed"].astype(int) == first]
    return {(row["model"], row["target"]): float(row["calibration"]) for row in frame.to_dict("records")}


class _Sight:
    """What kernels see of the graphs of one version; kept as long as it can be used again."""

    def __init__(self, study: Study, version: Version, graphs: list[Graph]):
        self.study, self.version, self.graphs = study, version, graphs
        self._kept: dict[str, tuple[int, NDArray[np.float64], float]] = {}

    def of(self, model: str, cases: NDArray[np.intp], seed: int) -> tuple[NDArray[np.float64] | None, float]:
        """Return what a model sees of some cases, and how many seconds that took."""
        sees = MODELS[model].sees
        if sees is None or sees == "meshes":
            return None, 0.0
        if sees == "WWL":
            distances, seconds = self._transport()
            return distances[:, cases][:, :, cases], seconds
        # Coordinates do not depend on the seed, unless it draws the cases.
        number = -1 if sees == "coordinates" and not self.version.shuffled else seed
        if sees not in self._kept or self._kept[sees][0] != number:
            self._kept[sees] = (number, *self._timed(sees, [self.graphs[i] for i in cases], seed))
        return self._kept[sees][1:]

    def _timed(self, sees: str, graphs: list[Graph], seed: int) -> tuple[NDArray[np.float64], float]:
        start = time.perf_counter()
        progress = self.study.progress(f"{self.version.dataset}, {self.version.meshes}: {sees}, seed {seed}")
        options = dict(self.version.options)
        n_jobs, n_train = self.study.n_jobs, self.version.n_train
        seen = represent(sees, graphs, n_train, seed=seed, n_jobs=n_jobs, options=options, progress=progress)
        return seen, time.perf_counter() - start

    def _transport(self) -> tuple[NDArray[np.float64], float]:
        """Return exact distances between all graphs, from the file that holds them if they were found earlier."""
        name = f"{self.version.dataset}-{self.version.meshes.replace(' ', '-')}"
        path = self.study.work("distances") / f"{name}-{len(self.graphs)}-seed{self.study.seed}.npz"
        if path.exists():
            with np.load(path, allow_pickle=False) as archive:
                return archive["distances"], float(archive["seconds"])
        distances, seconds = self._timed("WWL", self.graphs, 0)
        with atomic_write(path) as file:
            np.savez(file, distances=distances, seconds=seconds)
        return distances, seconds
