"""A page about a study: what was simulated, what failed and why, and the best so far. One file, written again and again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from swwl.formatting import number
from swwl.jobs.study.candidates import Case, best_cases, is_feasible
from swwl.jobs.study.study import Study
from swwl.plots.style import BLUE, GRAY, VERMILLION, new_figure, style
from swwl.report.page import Picture, picture, render


def study_page(study: Study, cases: Sequence[Case], best: Case | None, doing: str, stopped: str) -> str:
    """Return the page, as HTML."""
    status = [case.status for case in cases]
    counts = [(str(status.count("done")), "done"), (str(status.count("failed")), "failed")]
    counts += [(str(status.count("timeout")), "took too long"), (str(status.count("running")), "running")]
    counts += [(f"{len(cases)} / {study.budget.runs}", "chosen, of the budget")]
    pictures = [] if study.goal.target is None or "done" not in status else [progress_picture(study, cases)]
    sections = ({"best": "The best so far"} if best else {}) | ({"progress": "Progress"} if pictures else {})
    inputs = list(cases[0].inputs) if cases else []
    values = {} if best is None else {"case": best.case} | best.answers | best.inputs | best.meshes
    return render(
        "study",
        f"Study {study.path.stem}",
        goal=study.goal.said.capitalize(),
        doing=doing or "waiting",
        stopped=stopped,
        counts=counts,
        best=[(name, _cell(value)) for name, value in values.items()],
        pictures=pictures,
        sections=sections | {"cases": "Cases"},
        columns=["case", "batch", "status", *study.targets, *inputs, "seconds", "why"],
        rows=[_row(case, study) for case in reversed(cases)],
    )


def _row(case: Case, study: Study) -> list[str]:
    answers = [_cell(case.answers.get(name)) for name in study.targets]
    kept = case.status != "done" or is_feasible(case, study.goal)
    status = case.status if kept else "done, out of bounds"
    seconds = "" if math.isnan(case.seconds) else f"{case.seconds:.1f}"
    inputs = [_cell(value) for value in case.inputs.values()]
    return [str(case.case), str(case.batch), status, *answers, *inputs, seconds, case.reason or case.why]


def _cell(value: float | str | None) -> str:
    return value if isinstance(value, str) else number(value)


def progress_picture(study: Study, cases: Sequence[Case]) -> Picture:
    """Draw answers by case, in bounds or not, and the best so far."""
    goal = study.goal
    target = str(goal.target)
    done = [case for case in cases if case.status == "done"]
    kept = [case for case in done if is_feasible(case, goal)]
    others = [case for case in done if not is_feasible(case, goal)]
    found = [(case.case, best_cases(kept[: k + 1], goal)[0].answers[target]) for k, case in enumerate(kept)]
    with style():
        drawing = new_figure(7.2, 3.2)
        ax = drawing.subplots()
        for own, color, label in ((others, GRAY, "out of bounds"), (kept, BLUE, "in bounds" if goal.bounds else "cases")):
            if own:
                ax.plot([one.case for one in own], [one.answers[target] for one in own], "o", ms=4, color=color, label=label)
        if found:
            ax.step(*zip(*found, strict=True), where="post", color=VERMILLION, label="best so far")
        first = sum(case.batch == 1 for case in cases)
        ax.axvline(first + 0.5, color=GRAY, lw=0.8, ls=":")
        ax.set(xlabel="case", ylabel=target)
        ax.legend()
        return picture(drawing, f"{target} by case, and the best so far", "Left of the dotted line: the first batch.")
