"""``swwl loop``: choose, simulate, fit and choose again, with the user's own solver."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swwl.cli.console import AsJson, Output, Quiet
from swwl.formatting import number

if TYPE_CHECKING:
    from rich.console import Group

    from swwl.jobs.study.candidates import StudyCase
    from swwl.jobs.study.steps import Loop

_SHOWN = 12


def loop(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study: candidates, solver, goal, budget.")],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check everything, show the commands of the first case, but run nothing."),
    ] = False,
    until: Annotated[int | None, typer.Option(min=1, help="Stop when this many cases are simulated.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers run the solver: tcp://host:8786.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a study: choose cases, simulate, learn, choose again.

    Everything is kept beside STUDY.toml, in the folder STUDY: cases.csv is the table of cases, runs/ holds what the
    solver wrote, study.html shows the study, model.swwl is the latest model. However it ends, the same command resumes.

    \b
    Example:
      swwl loop bracket.toml --dry-run

    \b
    bracket.toml:
      [parameters]
      foot = [3, 10]
      [make]
      run = "python bracket.py {parameters} {mesh}"
      ending = ".inp"
      [solver]
      run = "./simulate.sh {mesh} {out}"        # writes {out}/results.csv
      timeout = "10 min"
      [goal]
      minimize = "mass"
      at_most = {stress = 250}
      [budget]
      first = 40
      runs = 70
    """
    from swwl.jobs.study.steps import Loop
    from swwl.jobs.study.study import read_study

    out = Output(quiet, as_json)
    own = read_study(study)
    with Shown(out) as shown, _ended_politely():
        work = Loop(own, scheduler, shown.watch)
        shown.known(work)
        commands = work.example()
        if not dry_run:
            work.run(until)
    facts = work.facts()
    if dry_run:
        for said in plan_lines(work):
            out.say(said)
        for words in commands:
            out.say(f"command   {shlex.join(words)}")
        out.say("\nnothing was run" + ("; all programs were found" if scheduler is None else ""))
        out.result(facts | {"commands": commands})
        return
    best = facts["best"]
    out.say(f"\n{facts['done']} cases done, {facts['failed']} failed; {facts['stopped']}")
    if own.goal.target is not None:
        said = "none satisfies all bounds" if best is None else f"case {best['case']}: " + _pairs(best, own.targets)
        out.say(f"best      {said}")
    for case, why in facts["doubtful"].items():
        out.note(f"case {case}{' (the best)' if best is not None and best['case'] == case else ''} is {why}")
    out.say(f"table     {facts['table']}\nmodel     {facts['model']}\npage      {work.folder / 'study.html'}")
    out.result(facts)


def plan_lines(work: Loop) -> list[str]:
    """Say what a study will do."""
    own = work.study
    budget, source = own.budget, own.study.pool or f"ranges of {', '.join(own.parameters)}"
    known = f", {len(work.cases)} chosen already" if work.cases else ""
    limit = own.command.timeout
    lines = [f"goal      {own.goal.said}; reads {', '.join(own.targets)} from {own.solver.results}"]
    lines += [f"cases     {source}"]
    lines += [f"budget    {budget.first} first, then {budget.batch} at a time, {budget.runs} in all{known}"]
    time = f"{limit:g} s each" if limit else "no timeout: a run that hangs stops the study"
    return [*lines, f"solver    {own.solver.jobs} at a time, {time}", f"folder    {work.folder}"]


class Shown:
    """What is going on: a table that changes in a terminal, elsewhere a line per case."""

    def __init__(self, out: Output):
        from rich.console import Console
        from rich.live import Live

        self._out, self._told = out, set[int]()
        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        alive = console.is_terminal and not (out.quiet or out.as_json)
        self._live = Live(console=console, refresh_per_second=4, transient=True) if alive else None
        self._doing = ""

    def __enter__(self) -> Shown:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def known(self, work: Loop) -> None:
        """Take what ended before for told."""
        self._told = {case.case for case in work.cases if _has_ended(case)}

    def watch(self, work: Loop) -> None:
        """Show what has changed."""
        if self._live is not None:
            self._live.update(live_table(work))
        for case in work.cases:
            if _has_ended(case) and case.case not in self._told:
                self._told.add(case.case)
                said = _pairs(case.answers, list(case.answers)) or case.reason
                self._line(f"case {case.case} {case.status}: {said}")
        if work.doing and work.doing != self._doing and not work.doing[0].isdigit():
            self._line(work.doing)
        self._doing = work.doing

    def _line(self, text: str) -> None:
        if self._live is None:
            self._out.say(text)


def _has_ended(case: StudyCase) -> bool:
    return case.status not in ("waiting", "running")


def live_table(work: Loop) -> Group:
    """Return the latest cases, and what is going on, for a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    for name in ("case", "status", *work.study.targets, "seconds"):
        table.add_column(name, no_wrap=True)
    table.add_column("why", no_wrap=True, overflow="ellipsis", ratio=1)  # what room the others leave
    for case in [one for one in work.cases if one.status != "waiting"][-_SHOWN:]:
        answers = [number(case.answers.get(name)) for name in work.study.targets]
        seconds = "" if case.seconds != case.seconds else f"{case.seconds:.1f}"
        cells = [str(case.case), case.status, *answers, seconds, case.reason or case.why]
        table.add_row(*(Text(cell) for cell in cells))
    best = work.best()
    told = "" if best is None else f"; best: case {best.case}, {_pairs(best.answers, work.study.targets)}"
    return Group(Text(f"{work.study.goal.said}{told}"), table, Text(work.doing, style="dim"))


def _pairs(values: dict[str, float], names: list[str]) -> str:
    return ", ".join(f"{name} {number(values[name])}" for name in names)


@contextmanager
def _ended_politely() -> Iterator[None]:
    """Let a request to end (SIGTERM, as batch systems send) end solvers too, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
