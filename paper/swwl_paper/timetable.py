"""How table 5 is shown: the printed table, the lines with limits, the figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from swwl.plots.style import BLUE, GRAY, ORANGE, VERMILLION, new_figure, style
from swwl_paper.measure import Line
from swwl_paper.papersets import CASES, KERNELS

STEPS = ("embedding", "distances", "training")


def judge(frame: pd.DataFrame) -> list[Line]:
    """Return the lines that say whether the limits are kept, for what has been measured."""
    small, large = KERNELS
    lines = []
    for row in frame.itertuples():
        if row.step == "embedding" and row.set == "blade" and row.kernel == small:
            note = f"{row.measured} meshes of {row.nodes} nodes, {1e3 * row.seconds / row.measured:.1f} ms each"
            lines.append(Line("blade, SWWL(1) embedding / np.sort in one thread", row.ratio, 1.0, note=note))
        if row.step == "embedding" and row.kernel == large and row.set in ("blade", "airfoil"):
            shared = row.set == "blade"
            name = f"{row.set}, SWWL(√n) / SWWL(1), {'shared topology' if shared else 'own topologies'}"
            lines.append(Line(name, row.to_first, 3.0 if shared else 6.0, note=f"{row.measured} meshes"))
        if row.step == "training":
            # On small matrices LAPACK is all but free, and what goes with it is not.
            limit = 500.0 if row.measured == 1000 else None
            name = f"{row.set}, training / (Cholesky + inverse), N = {row.measured}"
            note = f"{row.evaluations:.0f} evaluations" + ("" if limit else "; the limit is for N = 1000")
            lines.append(Line(name, row.ratio, limit, note=note))
    return lines


def texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table as it is printed."""
    table = []
    for row in frame.sort_values(["set", "step", "kernel"], key=_order).itertuples():
        whole = row.seconds_of_all if np.isfinite(row.seconds_of_all) else row.seconds
        wanted = row.meshes if row.step == "embedding" else row.measured
        table.append(
            {
                "": _label(row),
                "nodes": f"{row.nodes}",
                "measured": f"{row.measured}" + ("" if row.measured >= wanted else f" of {wanted}"),
                "time": duration(whole),
                "paper": duration(row.paper_seconds) if _comparable(row) else "–",
                "/ floor": _three_digits(row.ratio),
                "MB": f"{row.peak_mb:.0f}",
            }
        )
    return pd.DataFrame(table)


def _three_digits(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _label(row: Any) -> str:
    return f"{row.set} {row.kernel if row.step == 'embedding' else row.step}"


def _comparable(row: Any) -> bool:
    """Whether the paper's time is for as much as ours: only that of embeddings is extrapolated."""
    case = CASES[row.set]
    wanted = {"distances": case.meshes, "training": case.training}
    return row.measured == wanted.get(row.step, row.measured)


def _order(column: pd.Series) -> pd.Series:
    known = [*CASES, *STEPS, *KERNELS]
    return column.map(known.index)


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> duration(0.0321), duration(4.26), duration(75), duration(13920)
    ('32 ms', '4.3 s', '1 min 15 s', '3 h 52 min')
    """
    if seconds < 1:
        return f"{1e3 * seconds:.0f} ms"
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < 10 else "")
    return f"{minutes // 60} h {minutes % 60} min"


def draw_times(frame: pd.DataFrame, threads: int) -> Any:
    """Draw the times beside the paper's, the ratios to the floors, and the peaks of memory."""
    rows = list(frame.sort_values(["set", "step", "kernel"], key=_order).itertuples())
    labels = [_label(row) for row in rows]
    place = -np.arange(len(rows), dtype=float)
    figure = new_figure(9.6, 1.6 + 0.27 * len(rows))
    figure.get_layout_engine().set(rect=(0, 0.03, 1, 0.97))
    with style():
        times, ratios, memory = figure.subplots(1, 3, sharey=True, width_ratios=(1.7, 1, 1))
        ours = [row.seconds_of_all if np.isfinite(row.seconds_of_all) else row.seconds for row in rows]
        theirs = [row.paper_seconds if _comparable(row) else np.nan for row in rows]
        times.hlines(place, ours, theirs, color="#CCCCCC", linewidth=2, zorder=1)
        times.scatter(theirs, place, color=GRAY, marker="s", s=30, label="paper, 4 cores", zorder=2)
        times.scatter(ours, place, color=BLUE, s=36, label=f"here, {threads} threads", zorder=3)
        times.set(xscale="log", title="Time [s]")
        times.legend(loc="lower center", bbox_to_anchor=(0.5, -0.02 - 1.6 / (1 + len(rows))), ncols=2)
        times.set_yticks(place, labels)
        values = [row.ratio for row in rows]
        ratios.hlines(place, 1, values, color=ORANGE, linewidth=2)
        ratios.scatter(values, place, color=ORANGE, s=36, zorder=3)
        ratios.set(xscale="log", title="Ratio to floor", xlim=(min(0.1, *values), 10 * max(values)))
        ratios.axvline(1, color=VERMILLION, linewidth=1)
        memory.barh(place, [row.peak_mb / 1024 for row in rows], 0.55, color=BLUE)
        memory.set(title="Peak memory [GiB]")
        for row, y in zip(rows, place, strict=True):
            text = _three_digits(row.ratio)
            ratios.annotate(text, (max(row.ratio, 1), y), (7, 0), textcoords="offset points", va="center", fontsize=7)
            memory.text(row.peak_mb / 1024, y, f" {row.peak_mb / 1024:.2f}", va="center", fontsize=7)
        memory.set_xlim(0, 1.3 * max(row.peak_mb / 1024 for row in rows))
    return figure
