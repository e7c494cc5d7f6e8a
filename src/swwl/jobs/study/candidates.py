"""Where the cases of a study come from: a table of candidates, or ranges of parameters of which meshes are made."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import qmc

from swwl.design.space import as_many, design_rows
from swwl.design.subsets import select
from swwl.errors import InputError
from swwl.jobs.plan import HoldOut, plan_fit
from swwl.jobs.study.runs import MakeTask, make_mesh
from swwl.jobs.study.study import OWN, Goal, Study
from swwl.jobs.table import read_table
from swwl.storage.memory import Memory
from swwl.tables.columns import mesh_columns
from swwl.tables.places import rows_named

Array = NDArray[np.float64]
Inputs = dict[str, float | str]
# Runs a function on every task, several at a time; yields tasks with what came of them, in the order of their ends. The
# last function says what becomes of a task whose worker is lost.
Each = Callable[[Callable[[MakeTask], str], Sequence[MakeTask], Callable[[str], str]], Iterable[tuple[MakeTask, str]]]

# Candidates of a batch where no meshes are made, which costs nothing.
_N_NUMBERS = 1000
# How many times as many points as first cases are drawn, for those of which no mesh can be made.
_SPARE = 4
# Steps away from the best cases, as shares of ranges, and how many of the best are looked at.
_STEPS, _BEST = (0.02, 0.2), 5
# Names of meshes that are made: batch and number.
_MADE = re.compile(r"\d{3,}-\d{4,}\.")
# A candidate is left out where most of so many cases next to it failed.
_NEIGHBORS = 3


@dataclass
class StudyCase:
    """A case of a study, and what became of it; meshes are paths relative to the study's folder."""

    case: int
    batch: int
    why: str
    meshes: dict[str, str]
    inputs: Inputs
    row: int | None = None
    status: str = "waiting"
    seconds: float = math.nan
    code: int | None = None
    reason: str = ""
    answers: dict[str, float] = field(default_factory=dict)


def is_feasible(case: StudyCase, goal: Goal) -> bool:
    """Whether a case was simulated, and its answers keep to all bounds."""
    return case.status == "done" and violation(case, goal) <= 0


def violation(case: StudyCase, goal: Goal) -> float:
    """Return by which share of a bound the answers of a case exceed it at most; negative where they keep to all."""
    over = [(case.answers[name] - bound) / max(abs(bound), 1e-300) for name, bound in goal.at_most.items()]
    over += [(bound - case.answers[name]) / max(abs(bound), 1e-300) for name, bound in goal.at_least.items()]
    return max(over, default=-1.0)


def best_cases(cases: Iterable[StudyCase], goal: Goal) -> list[StudyCase]:
    """Return the simulated cases, the best first: within bounds by the goal, then the nearest to them."""
    if goal.target is None:
        return []
    name, sign = goal.target, 1.0 if goal.minimize else -1.0
    done = [case for case in cases if case.status == "done"]
    kept = sorted((one for one in done if is_feasible(one, goal)), key=lambda one: (sign * one.answers[name], one.case))
    others = sorted(
        (one for one in done if not is_feasible(one, goal)), key=lambda one: (violation(one, goal), one.case)
    )
    return kept + others


class Candidates:
    """The pool of a study: a table, its columns, and which of its rows are which cases."""

    def __init__(self, study: Study, memory: Memory):
        assert study.study.pool is not None
        self.study, self.memory = study, memory
        path = study.here / study.study.pool
        frame = read_table(path)
        names = study.study.meshes or mesh_columns(frame)
        kernel = "principal" if names else "scalars"
        known = [name for name in study.targets if name in frame.columns]
        rows = HoldOut(all_rows=True)
        self.plan = plan_fit(path, [], names, study.model.inputs, kernel=kernel, rows=rows, results=known)
        self.meshes, self.inputs = self.plan.meshes, [*self.plan.inputs, *self.plan.categories]
        self.numeric = [name for name in self.inputs if frame[name].dtype.kind in "biuf"]
        for name in [*self.meshes, *self.inputs]:
            if name in OWN:
                raise InputError(
                    f"{path}: column {name!r} is one of the table of cases; rename it, or name [model] inputs."
                )
        if len(frame) < study.budget.first:
            raise InputError(f"{path}: has {len(frame)} rows, but [budget] first is {study.budget.first}.")
        self.table = self.plan.table()

    def example(self) -> StudyCase:
        """Return what the first row would be as a case."""
        return self._case(0, "")

    def first(self, n: int) -> list[StudyCase]:
        """Choose the cases to begin with."""
        return self.spread(n, [])

    def spread(self, n: int, cases: Sequence[StudyCase], batch: int = 1) -> list[StudyCase]:
        """Choose cases that stand for all others, beside those that were chosen before; fewer where fewer are left."""
        options: dict[str, Any] = {"random_state": self.study.study.seed, "memory": self.memory}
        taken = [case.row for case in cases] or None
        with rows_named(self.plan.frame, self.plan.path, range(len(self.table))):
            found = as_many(lambda count: select(self.table, count, have=taken, **options), n)
        if found is None:
            return []
        pairs = zip(found["row"], found["why"], strict=True)
        return [self._case(int(row), str(why)) for row, why in pairs]

    def next(self, batch: int, cases: Sequence[StudyCase]) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
        """Return all candidates, and which of them are cases already."""
        taken = np.zeros(len(self.table), dtype=bool)
        taken[[case.row for case in cases if case.row is not None]] = True
        return self.table, taken

    def chosen(self, table: pd.DataFrame, row: int, why: str) -> StudyCase:
        """Return a candidate as a case."""
        return self._case(row, why)

    def tried(self, cases: Sequence[StudyCase]) -> pd.DataFrame:
        """Return cases as rows of a table as the candidates'."""
        return self.table.iloc[[case.row for case in cases]]

    def _case(self, row: int, why: str) -> StudyCase:
        own = self.table.iloc[row]
        meshes = {name: os.path.relpath(own[name], self.study.folder) for name in self.meshes}
        inputs = {name: _plain(own[name]) for name in self.inputs}
        return StudyCase(0, 0, why, meshes, inputs, row)

    def values(self, case: StudyCase) -> Inputs:
        """Return all that the table says of a case but its meshes, for commands."""
        row = self.plan.frame.iloc[case.row or 0]
        return {str(name): _plain(row[name]) for name in self.plan.frame.columns if name not in self.meshes}

    def forget(self, cases: Sequence[StudyCase]) -> None:
        """Nothing is made, so nothing is left over."""


class Parameters:
    """Candidates drawn from ranges, with meshes made of them."""

    def __init__(self, study: Study, memory: Memory, each: Each):
        self.study, self.memory, self._each = study, memory, each
        self.inputs = self.numeric = list(study.parameters)
        self.meshes = ["mesh"] if study.make is not None else []
        self.folder = study.folder / "meshes"
        for name in study.model.inputs or []:
            if name not in self.inputs:
                raise InputError(f"[model] inputs names {name!r}, but [parameters] has: {', '.join(self.inputs)}.")

    def example(self) -> StudyCase:
        """Return the case in the middle of all ranges."""
        return self._case(self._frame(1, 0, np.full((1, len(self.inputs)), 0.5)).iloc[0], "")

    def first(self, n: int) -> list[StudyCase]:
        """Return cases spread over the ranges."""
        return self.spread(n, [])

    def spread(self, n: int, cases: Sequence[StudyCase], batch: int = 1) -> list[StudyCase]:
        """Return cases spread over the ranges; of another batch, others."""
        points = sobol_points(len(self.inputs), _SPARE * n, [self.study.study.seed, batch])
        found: list[StudyCase] = []
        begun, reason = 0, ""
        while len(found) < n and begun < len(points):
            few = points[begun : begun + n - len(found)]
            frame, reason = self._made(batch, begun, few)
            found += [self._case(row, "spread over the ranges") for _, row in frame.iterrows()]
            begun += len(few)
        if not found:
            raise InputError(f"[make] run made no mesh of {begun} tries; the last: {reason}")
        return found

    def next(self, batch: int, cases: Sequence[StudyCase]) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
        """Return new candidates: spread over the ranges and, where there is a best case, half of them near the best."""
        n = self.study.make.candidates if self.study.make is not None else _N_NUMBERS
        seeds = [self.study.study.seed, batch]
        near = best_cases(cases, self.study.goal)[:_BEST]
        fresh = sobol_points(len(self.inputs), n - n // 2 if near else n, seeds)
        points = np.vstack([fresh, points_near(self._unit(near), n // 2, seeds)]) if near else fresh
        frame, reason = self._made(batch, 0, points)
        if not len(frame):
            raise InputError(f"[make] run made none of the {n} meshes of batch {batch}; the last: {reason}")
        return frame, np.zeros(len(frame), dtype=bool)

    def chosen(self, table: pd.DataFrame, row: int, why: str) -> StudyCase:
        """Return a candidate as a case."""
        return self._case(table.iloc[row], why)

    def tried(self, cases: Sequence[StudyCase]) -> pd.DataFrame:
        """Return cases as rows of a table as the candidates'."""
        return pd.DataFrame([
            case.inputs | {name: self.study.folder / own for name, own in case.meshes.items()} for case in cases
        ])  # fmt: skip

    def values(self, case: StudyCase) -> Inputs:
        """Return the parameters of a case, for commands."""
        return case.inputs

    def forget(self, cases: Sequence[StudyCase]) -> None:
        """Remove meshes of candidates that were not chosen."""
        kept = {self.study.folder / own for case in cases for own in case.meshes.values()}
        for file in self.folder.glob("*") if self.meshes else ():
            if _MADE.match(file.name) and file not in kept and file.is_file():
                file.unlink()

    def _unit(self, cases: Sequence[StudyCase]) -> Array:
        """Return the parameters of cases as shares of their ranges."""
        low, high = np.array(list(self.study.parameters.values())).T
        return (np.array([[float(case.inputs[name]) for name in self.inputs] for case in cases]) - low) / (high - low)

    def _frame(self, batch: int, begun: int, points: Array) -> pd.DataFrame:
        low, high = np.array(list(self.study.parameters.values()), dtype=float).T
        frame = pd.DataFrame(low + points * (high - low), columns=self.inputs)
        for name in self.meshes:
            ending = self.study.make.ending if self.study.make is not None else ""
            frame[name] = [self.folder / f"{batch:03d}-{begun + k:04d}{ending}" for k in range(len(points))]
        return frame

    def _made(self, batch: int, begun: int, points: Array) -> tuple[pd.DataFrame, str]:
        """Return those of the points of which meshes were made, and why another was not."""
        frame, command = self._frame(batch, begun, points), self.study.make_command
        if command is None:
            return frame, ""
        self.folder.mkdir(parents=True, exist_ok=True)
        tasks = [
            MakeTask(row["mesh"], command, {name: float(row[name]) for name in self.inputs}, self.study.folder)
            for _, row in frame.iterrows()
        ]
        failed = {task.mesh: reason for task, reason in self._each(make_mesh, tasks, str) if reason}
        last = failed.get(next((task.mesh for task in reversed(tasks) if task.mesh in failed), Path()), "")
        return frame[[mesh not in failed for mesh in frame["mesh"]]].reset_index(drop=True), last

    def _case(self, row: pd.Series, why: str) -> StudyCase:
        meshes = {name: Path(row[name]).relative_to(self.study.folder).as_posix() for name in self.meshes}
        return StudyCase(0, 0, why, meshes, {name: float(row[name]) for name in self.inputs})


def sobol_points(d: int, n: int, seeds: Sequence[int]) -> Array:
    """Return points (n, d) spread over the unit cube: Sobol's, scrambled.

    Examples
    --------
    >>> points = sobol_points(2, 3, [0])
    >>> points.shape, bool((points == sobol_points(2, 5, [0])[:3]).all())
    ((3, 2), True)
    """
    drawn = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(list(seeds)))
    return np.asarray(drawn.random_base2(max(1, math.ceil(math.log2(max(n, 2)))))[:n])


def points_near(centers: Array, n: int, seeds: Sequence[int]) -> Array:
    """Return points (n, d) of the unit cube around centers (c, d), in turn; each moves in some of its coordinates."""
    rng = np.random.default_rng([*seeds, 1])
    start = centers[np.arange(n) % len(centers)]
    moved = rng.random(start.shape) < 0.5
    moved[np.arange(n), rng.integers(start.shape[1], size=n)] = True
    low, high = _STEPS
    sizes = low * (high / low) ** rng.random((n, 1))
    return np.clip(start + moved * sizes * rng.standard_normal(start.shape), 0.0, 1.0)


def near_failures(
    candidates: pd.DataFrame, tried: pd.DataFrame, failed: NDArray[np.bool_], memory: Memory
) -> NDArray[np.bool_]:
    """Return for which candidates (M,) most of the nearest cases failed, (N,) truth values.

    Near is what :func:`swwl.design.select` takes for near.
    """
    if len(failed) < _NEIGHBORS or failed.sum() < _NEIGHBORS / 2:
        return np.zeros(len(candidates), dtype=bool)
    points, known = design_rows(candidates, tried, memory=memory)
    _, nearest = cKDTree(known).query(points, k=_NEIGHBORS)
    return np.asarray(failed[nearest].mean(axis=1) > 0.5)


def _plain(value: object) -> float | str:
    return float(value) if isinstance(value, (int, float, np.integer, np.floating, np.bool_)) else str(value)
