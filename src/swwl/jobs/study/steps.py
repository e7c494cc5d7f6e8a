"""From batch to batch: simulate what is chosen, fit, choose again, until the budget is used up or nothing is gained.

All there is to know stands in files: whoever reads ``cases.csv`` and the file of the study goes on where another was
killed. Batches are simulated wholly before the next is chosen, so that choices depend on answers alone, not on which
run ended first.
"""

from __future__ import annotations

import csv
import importlib
import io
import math
import os
import shutil
import socket
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from swwl.design.acquire import suggest
from swwl.design.space import as_many
from swwl.errors import InputError
from swwl.evaluation.scores import left_out_of
from swwl.formatting import Record, number
from swwl.jobs.embed import cluster_client
from swwl.jobs.fit import FitJob, FitRequest
from swwl.jobs.plan import HoldOut
from swwl.jobs.predict import load_regressor
from swwl.jobs.study.candidates import Candidates, Parameters, StudyCase, best_cases, is_feasible, near_failures
from swwl.jobs.study.page import study_page
from swwl.jobs.study.runs import FINAL, RunOutcome, RunTask, check_valid, end_runs, plain_values, simulate
from swwl.jobs.study.study import Study
from swwl.jobs.table import CACHE_FOLDER
from swwl.regression.estimator import RobustGPRegressor
from swwl.storage.atomic import atomic_write
from swwl.storage.memory import Memory

TaskLike = TypeVar("TaskLike")
Found = TypeVar("Found")
# How the reason of a case begins whose answer the model takes for an outlier.
DOUBTFUL = "doubtful"
# Models are fitted to so many cases and more, with so many different answers; until then, cases are spread out.
_FEWEST, _FEWEST_ANSWERS = 6, 3


class Batch(NamedTuple):
    """What a fit after a batch told: the error of left-out cases as a share of their spread, and the largest score."""

    batch: int
    cases: int
    error: float
    expected: float


class Loop:
    """A study at work.

    Parameters
    ----------
    study : Study
    scheduler : str, optional
        Address of a Dask scheduler, whose workers see the same folders.
    watch : callable, optional
        Called with the loop whenever something has changed.

    Attributes
    ----------
    cases : list of StudyCase
        By number.
    batches : list of Batch
    doing : str
        What is going on, in words.
    stopped : str
        Why it is over; empty until then.
    """

    def __init__(self, study: Study, scheduler: str | None = None, watch: Callable[[Loop], None] | None = None):
        self.study, self.folder = study, study.folder
        if self.folder.exists() and not (self.folder / "lock").exists() and any(self.folder.iterdir()):
            raise InputError(
                f"{self.folder}: is the study's folder, but contains other files; rename it or {study.path}."
            )
        self._scheduler, self._watch = scheduler, watch
        self.memory = Memory(self.folder / CACHE_FOLDER)
        self.source = Parameters(study, self.memory, self._each) if study.parameters else Candidates(study, self.memory)
        self.cases, self.batches = self._read_cases(), self._read_batches()
        self.doing, self.stopped = "", ""
        self._none_left = False  # of the candidates that a model can tell from its cases

    def example(self) -> list[list[str]]:
        """Return the commands of a first case, as words; refuse places and (of this machine) programs that are not."""
        case, study, programs = self.source.example(), self.study, self._scheduler is None
        found = []
        if study.make_command is not None:
            mesh = str(self.folder / case.meshes["mesh"])
            values = plain_values(case.inputs) | {"mesh": mesh, "parameters": "inputs.json"}
            found.append(study.make_command.check(values, programs))
        task = self._task(case)
        values = task.values | {"out": str(task.folder), "parameters": str(task.folder / "inputs.json")}
        return [*found, study.command.check(values, programs)]

    def run(self, until: int | None = None) -> None:
        """Go on until the study is over, or until so many cases are simulated."""
        self.folder.mkdir(exist_ok=True)
        with locked(self.folder / "lock"):
            end_runs(self.folder)  # of a loop that was killed
            for part in self.folder.glob(".*.part"):
                part.unlink()
            for left in [*self.folder.glob("runs/*.part-*"), *self.folder.glob("meshes/*.part-*")]:
                shutil.rmtree(left, ignore_errors=True)
            self.cases, self.batches = self._read_cases(), self._read_batches()
            try:
                while not self._over(until):
                    if any(case.status not in FINAL for case in self.cases):
                        self._simulate(until)
                    else:
                        self._choose()
            finally:
                end_runs(self.folder)
            self._changed("")

    def _over(self, until: int | None) -> bool:
        """Whether to stop, and why: ``stopped`` is set."""
        left = [case for case in self.cases if case.status not in FINAL]
        if until is not None and len(self.cases) - len(left) >= until:
            self.stopped = f"{until} cases are simulated (--until)"
        elif not left and self.cases and self._reason() and self._is_fitted():
            self.stopped = self._reason()
        return bool(self.stopped)

    def _reason(self) -> str:
        """Say why no more cases are chosen; nothing where there should be more."""
        budget = self.study.budget
        done = [case for case in self.cases if case.status == "done"]
        if not done:
            one = self.cases[0]
            log = self.folder / "runs" / f"{one.case:04d}" / "stderr.log"
            raise InputError(
                f"all {len(self.cases)} runs failed, case {one.case} with: {one.reason}. See {log}; correct the "
                f"command, remove the folder {self.folder.name}, and start again."
            )
        if len(self.cases) >= budget.runs:
            return f"the budget of {budget.runs} runs is used up"
        last = self.cases[-1].batch
        fitted = {one.batch: one for one in self.batches if one.batch <= last}
        if budget.expected and last in fitted and fitted[last].expected < budget.expected * self._unit():
            return f"the expected improvement is below the share {budget.expected:g}"
        if budget.stop_after is not None and last > budget.stop_after:
            before, now = self._measure(last - budget.stop_after), self._measure(last)
            if math.isfinite(before) and before - now <= budget.improvement * abs(before):
                return f"{budget.stop_after} batches improved by no more than {100 * budget.improvement:g} %"
        none_left = isinstance(self.source, Candidates) and len(self.cases) >= len(self.source.table)
        if none_left or self._none_left:
            return "no candidates are left"
        return ""

    def _unit(self) -> float:
        """Return what scores of choices are shares of: the best answer or, to learn, all variance."""
        best = self.best()
        target = self.study.goal.target
        return abs(best.answers[target]) if best is not None and target is not None else 1.0 if target is None else 0.0

    def _measure(self, batch: int) -> float:
        """Return what was reached with a batch, the less the better: the best answer or, to learn, the error."""
        target = self.study.goal.target
        if target is None:
            return next((one.error for one in self.batches if one.batch == batch), math.nan)
        best = self.best(batch)
        sign = 1.0 if self.study.goal.minimize else -1.0
        return math.nan if best is None else sign * best.answers[target]

    def best(self, batch: int | None = None) -> StudyCase | None:
        """Return the best case that keeps to all bounds, up to a batch."""
        among = [case for case in self.cases if batch is None or case.batch <= batch]
        found = best_cases(among, self.study.goal)
        return found[0] if found and is_feasible(found[0], self.study.goal) else None

    def facts(self) -> Record:
        """Return the state for people and scripts."""
        best, count = self.best(), [case.status for case in self.cases]
        doubts = {case.case: case.reason for case in self.cases if case.reason.startswith(DOUBTFUL)}
        return {
            "study": self.study.path,
            "goal": self.study.goal.said,
            "cases": len(count),
            "done": count.count("done"),
            "failed": count.count("failed") + count.count("timeout"),
            "best": None if best is None else {"case": best.case, **best.inputs, **best.meshes, **best.answers},
            "doubtful": doubts,
            "stopped": self.stopped,
            "table": self.folder / "cases.csv",
            "model": self.folder / "model.swwl",
        }

    # Simulating

    def _task(self, case: StudyCase) -> RunTask:
        own = self.source.values(case)
        files = {name: os.path.normpath(self.folder / path) for name, path in case.meshes.items()}
        values = plain_values(own, case.case) | files | ({"mesh": next(iter(files.values()))} if files else {})
        solver = self.study.solver
        folder = self.folder / "runs" / f"{case.case:04d}"
        return RunTask(
            case.case, folder, self.study.command, values, own, solver.results, self.study.targets, solver.retries,
            self.folder, solver.valid,
        )  # fmt: skip

    def _simulate(self, until: int | None) -> None:
        """Simulate the cases that are not; those that were under way when a loop was killed begin again."""
        left = {case.case: case for case in self.cases if case.status not in FINAL}
        chosen = [one for one in left.values() if until is None or self.cases.index(one) < until]
        for case in left.values():
            case.status = "waiting"
        tasks = [self._task(case) for case in chosen]

        def begun(task: RunTask) -> None:
            left[task.case].status = "running"
            self._write()

        for task, found in self._each(simulate, tasks, _lost, begun):
            case = left[task.case]
            case.status, case.seconds, case.code, case.reason, case.answers = found
            self._write()

    def _each(
        self,
        function: Callable[[TaskLike], Found],
        tasks: Sequence[TaskLike],
        lost: Callable[[str], Found],
        begun: Callable[[TaskLike], None] = lambda task: None,
    ) -> Iterator[tuple[TaskLike, Found]]:
        """Yield tasks with their results as they end; as many are under way as there are workers.

        ``lost`` says what becomes of a task whose worker in a cluster is gone.
        """
        with self._workers() as (executor, width):
            waiting, running = deque(tasks), dict[Future[Found], TaskLike]()
            while waiting or running:
                while waiting and len(running) < width:
                    task = waiting.popleft()
                    begun(task)
                    running[executor.submit(function, task)] = task
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    try:
                        found = future.result()
                    except Exception as error:
                        if not type(error).__module__.startswith("distributed"):
                            raise
                        found = lost(f"the worker is gone ({type(error).__name__})")
                    yield running.pop(future), found

    @contextmanager
    def _workers(self) -> Iterator[tuple[Executor, int]]:
        """Open threads that wait for processes of this machine, or a cluster; whatever happens, no solver stays."""
        if self._scheduler is None:
            width = self.study.solver.jobs
            executor: Executor = ThreadPoolExecutor(width)
            try:
                yield executor, width
            finally:
                end_runs(self.folder)
                executor.shutdown(cancel_futures=True)
            return
        with cluster_client(self._scheduler) as client:
            yield client.get_executor(pure=False), max(1, sum(client.nthreads().values()))

    # Choosing

    def _choose(self) -> None:
        """Choose the next batch, and write it down."""
        budget, cases = self.study.budget, self.cases
        batch = cases[-1].batch + 1 if cases else 1
        n = min(budget.batch, budget.runs - len(cases)) if cases else budget.first
        if not cases:
            self._changed(f"choosing the first {n} cases")
            chosen = self.source.first(n)
        else:
            model = self._fit()
            chosen = [] if self._reason() else self._next(model, batch, n)
            self._none_left = not chosen and not self._reason()
        for k, case in enumerate(chosen):
            case.case, case.batch = (cases[-1].case if cases else 0) + 1 + k, batch
        if chosen:
            self.cases = [*cases, *chosen]
            self._write()
            self.source.forget(self.cases)

    def _next(self, model: RobustGPRegressor | None, batch: int, n: int) -> list[StudyCase]:
        """Choose cases with a model or, where too few runs went well for one, spread out."""
        if model is None:
            self._changed("choosing more cases, since too few answers are known for a model")
            return self.source.spread(n, self.cases, batch)
        self._changed("making candidates")
        table, taken = self.source.next(batch, self.cases)
        self._changed("choosing the next cases")
        failed = np.array([case.status != "done" for case in self.cases])
        beside = near_failures(table, self.source.tried(self.cases), failed, self.memory) & ~taken
        n = min(n, int((~taken).sum()))
        if (~(taken | beside)).sum() < n:
            beside[:] = False
        free = np.flatnonzero(~(taken | beside))
        found = self._suggested(model, table.iloc[free], n)
        if found is None and beside.any():
            beside[:] = False
            free = np.flatnonzero(~taken)
            found = self._suggested(model, table.iloc[free], n)
        if found is None:
            return []
        last = self.batches[-1]
        self.batches[-1] = last._replace(expected=float(found["score"].max()))
        self._write_batches()
        if self._reason():
            return []
        note = f"; {int(beside.sum())} candidates next to failed cases left out" if beside.any() else ""
        pairs = zip(free[found["row"]], found["why"], strict=True)
        return [self.source.chosen(table, int(row), f"{why}{note}") for row, why in pairs]

    def _suggested(self, model: RobustGPRegressor, table: pd.DataFrame, n: int) -> pd.DataFrame | None:
        """Return the n best candidates, or as many as differ from each other and from cases; None where none does."""
        goal, table = self.study.goal, table.reset_index(drop=True)
        own: dict[str, Any] = {"criterion": goal.criterion, "constraints": goal.bounds, "memory": self.memory}
        seed = self.study.study.seed
        return as_many(lambda count: suggest(model, table, count, goal.words, **own, random_state=seed), n)

    def _is_fitted(self) -> bool:
        """Whether the model knows all cases."""
        fresh = any(one.batch == self.cases[-1].batch for one in self.batches) and (self.folder / "model.swwl").exists()
        return fresh or not self._can_be_fitted()

    def _can_be_fitted(self) -> bool:
        done = [case.answers for case in self.cases if case.status == "done"]
        different = [len({answers[name] for answers in done}) for name in self.study.targets]
        return len(done) >= _FEWEST and min(different) >= _FEWEST_ANSWERS

    def _fit(self) -> RobustGPRegressor | None:
        """Fit a model to the cases that were simulated, and keep it; None where they are too few."""
        study = self.study
        done = [case for case in self.cases if case.status == "done"]
        if not self._can_be_fitted():
            return None
        self._changed(f"fitting a model to {len(done)} cases")
        rows = [{**self.source.values(case), **case.meshes, **case.answers} for case in done]
        names = [*self.source.meshes, *self.source.inputs, *study.targets]
        table, output = self.folder / "data.csv", self.folder / "model.swwl"
        with atomic_write(table) as file:
            file.write(pd.DataFrame(rows)[names].to_csv(index=False, lineterminator="\n").encode())
        own = study.model
        request = FitRequest(
            table,
            output,
            targets=study.targets,
            meshes=self.source.meshes,
            inputs=self.source.inputs if own.inputs is None else own.inputs,
            kernel=study.kernel(bool(self.source.meshes)),
            rows=HoldOut(all_rows=True),
            target_scale=own.target_scale,
            outliers=own.outliers,
            scaled=own.scaled,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # swwl fit and swwl report tell them of the model that stays
            job = FitJob(request)
            job.check()
            for _ in job.run():
                pass
        model = load_regressor(output)
        doubts = doubtful(model)
        for place, case in enumerate(done):
            case.reason = doubts.get(place, "")
        self._write()
        batch = self.cases[-1].batch
        kept = [one for one in self.batches if one.batch < batch]
        self.batches = [*kept, Batch(batch, len(self.cases), left_out_error(model), math.nan)]
        self._write_batches()
        return model

    # Files

    def _changed(self, doing: str) -> None:
        self.doing = doing
        with atomic_write(self.folder / "study.html") as file:
            file.write(study_page(self.study, self.cases, self.best(), doing, self.stopped).encode())
        if self._watch is not None:
            self._watch(self)

    def _columns(self) -> list[str]:
        pool = ["row"] if isinstance(self.source, Candidates) else []
        own = [*self.source.meshes, *self.source.inputs, *self.study.targets]
        return ["case", "batch", "status", *pool, *own, "seconds", "exit", "reason", "why"]

    def _write(self) -> None:
        """Write the table of cases."""
        lines = io.StringIO()
        table = csv.DictWriter(lines, self._columns(), lineterminator="\n", extrasaction="ignore")
        table.writeheader()
        for one in self.cases:
            told = {"case": one.case, "batch": one.batch, "status": one.status, "row": one.row, "exit": one.code}
            told |= {"seconds": "" if math.isnan(one.seconds) else f"{one.seconds:.2f}", "reason": one.reason}
            table.writerow(one.inputs | one.meshes | one.answers | told | {"why": one.why})
        with atomic_write(self.folder / "cases.csv") as file:
            file.write(lines.getvalue().encode())
        count = sum(case.status in FINAL for case in self.cases)
        self._changed(f"{count} of {len(self.cases)} chosen cases are simulated")

    def _read_cases(self) -> list[StudyCase]:
        path = self.folder / "cases.csv"
        if not path.exists():
            return []
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if missing := [name for name in self._columns() if name not in (rows.fieldnames or [])]:
                raise InputError(
                    f"{path}: has no column {missing[0]!r}; the study was begun with other columns. Rename the "
                    f"study file to start a new study, or remove the folder."
                )
            return [self._read_case(row, path, line) for line, row in enumerate(rows, start=2)]

    def _read_case(self, row: dict[str, str], path: Path, line: int) -> StudyCase:
        try:
            case = StudyCase(
                int(row["case"]),
                int(row["batch"]),
                row["why"],
                {name: row[name] for name in self.source.meshes},
                {name: float(row[name]) if name in self.source.numeric else row[name] for name in self.source.inputs},
                int(row["row"]) if row.get("row") else None,
                row["status"].strip(),
            )
            if case.status == "done":
                case.answers = {name: float(row[name]) for name in self.study.targets}
                row = self._as_valid(case, row)
            if case.status in FINAL:
                case.seconds = float(row["seconds"] or "nan")
                case.code = int(row["exit"]) if row["exit"] else None
                case.reason = row["reason"]
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}: line {line} is not a case ({error}).") from None
        return case

    def _as_valid(self, case: StudyCase, row: dict[str, str]) -> dict[str, str]:
        """Call a case failed whose answers are not valid, where that was said after it was simulated."""
        try:
            check_valid(case.answers, self.study.solver.valid)
        except InputError as error:
            case.status, case.answers = "failed", {}
            return {**row, "reason": str(error)}
        return row

    def _write_batches(self) -> None:
        lines = [",".join(Batch._fields), *(",".join(map(repr, one)) for one in self.batches)]
        with atomic_write(self.folder / "batches.csv") as file:
            file.write(("\n".join(lines) + "\n").encode())

    def _read_batches(self) -> list[Batch]:
        path = self.folder / "batches.csv"
        lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
        try:
            cells = [line.split(",") for line in lines if line.strip()]
            return [Batch(int(batch), int(cases), float(error), float(score)) for batch, cases, error, score in cells]
        except ValueError:
            return []  # made again by the next fit


def _lost(reason: str) -> RunOutcome:
    return RunOutcome("failed", math.nan, None, reason, {})


def doubtful(model: RobustGPRegressor) -> dict[int, str]:
    """Say of training rows, by place, which of their answers the other rows speak against, in words."""
    found: dict[int, list[str]] = {}
    for row in model.outliers_.to_dict("records"):
        told = f"{row['target']} is {number(row['value'])}, where the other cases tell {number(row['expected'])}"
        found.setdefault(int(row["position"]), []).append(told)
    return {
        place: f"{DOUBTFUL}: {'; '.join(told)}: look at this run, and see [solver] valid"
        for place, told in found.items()
    }


def left_out_error(model: RobustGPRegressor) -> float:
    """Return the root mean square error of left-out training cases over their spread, the mean over targets."""
    found = left_out_of(model)
    if found is None:
        return math.nan
    spread = np.maximum(found.y.std(axis=0), np.finfo(float).tiny)
    mean = np.asarray(found.prediction.mean).reshape(found.y.shape)
    return float((np.sqrt(((mean - found.y) ** 2).mean(axis=0)) / spread).mean())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock as long as this process lives; refuse where another holds it. A kill lets go of it."""
    with path.open("a+b") as file:
        if not _lock(file.fileno()):
            file.seek(0)
            who = file.read(200).decode("utf-8", "replace").strip() or "another process"
            raise InputError(f"{path.parent}: another swwl loop is at work on this study ({who}).")
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        file.flush()
        yield


def _lock(handle: int) -> bool:
    try:
        if os.name == "nt":
            msvcrt = importlib.import_module("msvcrt")
            os.lseek(handle, 1000, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl = importlib.import_module("fcntl")
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
