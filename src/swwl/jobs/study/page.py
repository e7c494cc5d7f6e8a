"""A page about a study, written again after every case: what was simulated, what failed and why, the best so far."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib.ticker import MaxNLocator

from swwl.formatting import number
from swwl.jobs.study.candidates import Inputs, StudyCase, best_cases, is_feasible
from swwl.jobs.study.study import Study
from swwl.plots.style import BLUE, GRAY, VERMILLION
from swwl.report.page import Picture, render

_WIDTH, _HEIGHT, _LEFT = 760, 300, 60


def study_page(study: Study, cases: Sequence[StudyCase], best: StudyCase | None, doing: str, stopped: str) -> str:
    """Return the page, as HTML."""
    status = [case.status for case in cases]
    counts = [(str(status.count("done")), "done"), (str(status.count("failed")), "failed")]
    counts += [(str(status.count("timeout")), "took too long"), (str(status.count("running")), "running")]
    counts += [(f"{len(cases)} / {study.budget.runs}", "chosen, of the budget")]
    pictures = [] if study.goal.target is None or "done" not in status else [progress_picture(study, cases)]
    sections = ({"best": "The best so far"} if best else {}) | ({"progress": "Progress"} if pictures else {})
    inputs = list(cases[0].inputs) if cases else []
    values: Inputs = {} if best is None else {"case": best.case, **best.answers, **best.inputs, **best.meshes}
    if best is not None and best.reason:
        values["warning"] = best.reason
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


def _row(case: StudyCase, study: Study) -> list[str]:
    answers = [_cell(case.answers.get(name)) for name in study.targets]
    kept = case.status != "done" or is_feasible(case, study.goal)
    status = case.status if kept else "done, out of bounds"
    status += ", doubtful" * (case.status == "done" and bool(case.reason))
    seconds = "" if math.isnan(case.seconds) else f"{case.seconds:.1f}"
    inputs = [_cell(value) for value in case.inputs.values()]
    return [str(case.case), str(case.batch), status, *answers, *inputs, seconds, case.reason or case.why]


def _cell(value: float | str | None) -> str:
    return value if isinstance(value, str) else number(value)


def progress_picture(study: Study, cases: Sequence[StudyCase]) -> Picture:
    """Draw answers by case, in bounds or not, and the best so far.

    By hand, in SVG: the page is written after every case, and matplotlib would take a large part of a second.
    """
    goal = study.goal
    target = str(goal.target)
    done = [case for case in cases if case.status == "done"]
    kept = [case for case in done if is_feasible(case, goal)]
    values = np.array([case.answers[target] for case in done])
    ticks = MaxNLocator(5).tick_values(values.min(), values.max())
    low, high, last = float(ticks[0]), float(ticks[-1]), max(case.case for case in cases)

    def x(case: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 10) * case / (last + 1)

    def y(value: float) -> float:
        return 10 + (_HEIGHT - 50) * (high - value) / (high - low)

    parts = [f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>']
    for tick in ticks:
        parts.append(f'<path d="M{_LEFT} {y(tick):.1f}H{_WIDTH - 10}" stroke="#e6e6e6"/>')
        parts.append(_text(_LEFT - 6, y(tick) + 4, number(float(tick)), "end"))
    for tick in MaxNLocator(8, integer=True).tick_values(1, last):
        if 0 < tick <= last:
            parts.append(_text(x(tick), _HEIGHT - 24, number(int(tick)), "middle"))
    first = max(case.case for case in cases if case.batch == 1) + 0.5
    parts.append(f'<path d="M{x(first):.1f} 10V{_HEIGHT - 40}" stroke="{GRAY}" stroke-dasharray="2 3"/>')
    for case in done:
        color = BLUE if is_feasible(case, goal) else GRAY
        parts.append(f'<circle cx="{x(case.case):.1f}" cy="{y(case.answers[target]):.1f}" r="3" fill="{color}"/>')
    found = [(case.case, best_cases(kept[: k + 1], goal)[0].answers[target]) for k, case in enumerate(kept)]
    if found:
        steps = "".join(f"H{x(at):.1f}V{y(value):.1f}" for at, value in found) + f"H{x(last):.1f}"
        start = f"M{x(found[0][0]):.1f} {y(found[0][1]):.1f}"
        parts.append(f'<path d="{start}{steps}" fill="none" stroke="{VERMILLION}" stroke-width="2"/>')
    parts.append(_text(_LEFT, _HEIGHT - 6, f"{target} by case", "start"))
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}">{"".join(parts)}</svg>'
    bounds = "Blue: within all bounds. Gray: not. " if goal.bounds else ""
    return Picture(
        f"data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode()}",
        f"{target} by case, and the best so far",
        f"{bounds}Red: the best so far. Left of the dotted line: the first batch.",
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    look = f'font-family="sans-serif" font-size="12" fill="#444" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(text)}</text>'
