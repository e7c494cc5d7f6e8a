"""How measured costs are shown: slopes beside the theory, limits, the largest practical graphs, the figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.classification.baselines import FGW, RPW, WWL, Baseline, GraphHopper, Propagation
from swwl.plots.style import CYCLE, GRAY, MARKERS, new_figure, style
from swwl_paper.measure import Line, PowerLaw, fit_power_law

N_GRAPHS = 100  # of the matrix whose practical size is asked for
HOUR = 3600.0
FEATURES = 2  # of a node of a plate

# What is measured: (quantity, kernel, variable), the complexity that is known, and the least and most slope, if judged.
SWEEPS: dict[tuple[str, str, str], tuple[str, tuple[float, float] | None]] = {
    ("embedding", "SWWL(1)", "n"): ("n log n", (0.95, 1.15)),
    ("embedding", "SWWL(√n)", "n"): ("n^1.5 (ours n^1.25)", None),
    ("embedding", "SWWL(1)", "N"): ("N", (0.85, 1.15)),
    ("embedding", "SWWL(1)", "P"): ("P", None),
    ("embedding", "SWWL(1)", "Q"): ("none", None),
    ("embedding", "SWWL(1)", "H"): ("H", None),
    ("distances", "SWWL(1)", "N"): ("N²", (1.7, 2.2)),
    ("distances", "SWWL(1)", "PQ"): ("P Q", (0.85, 1.15)),
    ("prediction", "SWWL(1)", "n of training"): ("none", (-0.1, 0.1)),
    ("prediction", "SWWL(1)", "N"): ("N P Q + N²", None),
}


class Peer(NamedTuple):
    """Another kernel, and what its matrix of N graphs costs.

    Attributes
    ----------
    factor : Baseline
    complexity : str
        For one matrix, in n alone.
    per_pair : bool
        Whether its matrix is made pair by pair; otherwise graph by graph, the pairs being all but free.
    dense : str
        What it holds of size n², for the memory; empty for nothing.
    squares : int
        How many times n² numbers that are, for :data:`N_GRAPHS` graphs. On plates the squared diameter is about 2 n.
    """

    factor: Baseline
    complexity: str
    per_pair: bool
    dense: str
    squares: int


PEERS = {
    "WWL": Peer(WWL(n_iterations=3, n_jobs=1), "n³ log n", True, "the costs of a pair", 2),
    "FGW": Peer(FGW(n_jobs=1), "n³", True, "path lengths of all graphs, costs of a pair", N_GRAPHS + 5),
    "PK": Peer(Propagation(n_jobs=1), "n²", False, "adjacencies of all graphs", N_GRAPHS),
    "GH": Peer(GraphHopper(n_jobs=1), "n⁴", True, "path counts of all graphs", 2 * N_GRAPHS),
    "RPW": Peer(RPW(weights=np.eye(FEATURES, 5), n_jobs=1), "n log n", True, "", 0),
}
KERNELS = ("SWWL", *PEERS)


def series(
    frame: pd.DataFrame, quantity: str, kernel: str, variable: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sizes and seconds of one sweep, by size."""
    part = frame[(frame["quantity"] == quantity) & (frame["kernel"] == kernel) & (frame["variable"] == variable)]
    part = part.sort_values("value")
    return part["value"].to_numpy(float), part["seconds"].to_numpy(float)


def largest(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of some ascending sizes lie within a factor of ten of the largest; the last three in any case.

    Examples
    --------
    >>> largest(np.array([1.0, 10.0, 100.0, 500.0, 1000.0])).tolist()
    [False, False, True, True, True]
    """
    kept = x >= x[-1] / 10.5
    kept[-3:] = True
    return kept


def asymptotic_law(x: NDArray[np.float64], y: NDArray[np.float64]) -> PowerLaw:
    """Fit a power law to the largest sizes, where overheads matter least.

    Examples
    --------
    >>> x = np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])
    >>> round(asymptotic_law(x, 1e-6 * x**1.5).slope, 9)
    1.5
    """
    kept = largest(x)
    return fit_power_law(x[kept], y[kept])


def slopes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the slope of every sweep that has three points or more, beside what is known of it."""
    found = []
    wanted = {key: complexity for key, (complexity, _) in SWEEPS.items()}
    wanted |= {("matrix", name, "n"): peer.complexity for name, peer in PEERS.items()}
    for (quantity, kernel, variable), complexity in {**wanted, ("matrix", "SWWL", "n"): "n log n"}.items():
        x, y = series(frame, quantity, kernel, variable)
        if len(x) < 3:
            continue
        law, _ = _law(quantity, variable, x, y)
        found.append(
            {
                "quantity": quantity,
                "kernel": kernel,
                "variable": variable,
                "range": f"{x[0]:.0f} to {x[-1]:.0f}",
                "slope": law.slope,
                "theory": complexity,
            }
        )
    return pd.DataFrame(found, columns=["quantity", "kernel", "variable", "range", "slope", "theory"])


def judge(table: pd.DataFrame) -> list[Line]:
    """Return the lines that say whether slopes are as expected."""
    lines = []
    for row in table.itertuples():
        _, bounds = SWEEPS.get((row.quantity, row.kernel, row.variable), ("", None))
        if bounds is not None:
            name = f"slope of {row.quantity} in {row.variable}, {row.kernel}"
            lines.append(Line(name, row.slope, bounds[1], "", f"{row.range}; theory: {row.theory}", bounds[0]))
    return lines


def practical(frame: pd.DataFrame, memory_gib: float) -> pd.DataFrame:
    """Return the largest n per kernel: by time, by memory, and which of them limits.

    Parameters
    ----------
    frame : DataFrame
        Of the rows measured.
    memory_gib : float
        Of this machine.
    """
    found = []
    for name in KERNELS:
        x, y = series(frame, "matrix", name, "n")
        if len(x) < 3:
            continue
        by_time = asymptotic_law(x, y).inverse(HOUR)
        squares = PEERS[name].squares if name in PEERS else 0
        by_memory = np.sqrt(memory_gib * 2**30 / (8 * squares)) if squares and memory_gib else np.inf
        found.append(
            {
                "kernel": name,
                "nodes": min(by_time, by_memory),
                "limit": "time" if by_time <= by_memory else "memory",
                "by_time": by_time,
                "by_memory": by_memory,
                "measured_to": int(x[-1]),
            }
        )
    return pd.DataFrame(found, columns=["kernel", "nodes", "limit", "by_time", "by_memory", "measured_to"])


def rounded(value: float) -> str:
    """Return a number with two digits that count.

    >>> rounded(1234.0), rounded(86.2), rounded(float("inf")), rounded(31_400_000.0)
    ('1 200', '86', '–', '31 000 000')
    """
    if not np.isfinite(value):
        return "–"
    digits = 10 ** max(0, int(np.floor(np.log10(value))) - 1)
    return f"{round(value / digits) * digits:,}".replace(",", " ")


def draw_costs(frame: pd.DataFrame) -> Any:
    """Draw five panels: embedding against n, and against P, Q, H and N; distances; predictions; all kernels."""
    figure = new_figure(10.0, 6.6)
    figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.98))
    panels = [
        ("Embedding one mesh", "nodes n", [("embedding", "SWWL(1)", "n"), ("embedding", "SWWL(√n)", "n")]),
        ("Embedding", "value of N, P, Q or H", [("embedding", "SWWL(1)", v) for v in "NPQH"]),
        ("Distances", "value of N or PQ", [("distances", "SWWL(1)", v) for v in ("N", "PQ")]),
        ("Predicting one mesh", "n or N of training", [("prediction", "SWWL(1)", v) for v in ("n of training", "N")]),
        (f"Matrix of {N_GRAPHS} graphs, slopes in n", "nodes n", [("matrix", name, "n") for name in KERNELS]),
    ]
    with style():
        grid = figure.add_gridspec(2, 6)
        places = [grid[0, :2], grid[0, 2:4], grid[0, 4:], grid[1, :2], grid[1, 2:]]
        for (title, label, sweeps), place in zip(panels, places, strict=True):
            axis = figure.add_subplot(place, xscale="log", yscale="log", title=title, xlabel=label, ylabel="seconds")
            _draw_sweeps(axis, [(sweep, *series(frame, *sweep)) for sweep in sweeps])
    return figure


def _draw_sweeps(
    axis: Any, sweeps: Sequence[tuple[tuple[str, str, str], NDArray[np.float64], NDArray[np.float64]]]
) -> None:
    drawn = [y for _, _, ys in sweeps for y in ys]
    if not drawn:
        return
    low, high = min(drawn), max(drawn)
    if high < 30 * low:  # a flat line shall look flat
        low, high = np.sqrt(low * high) / 6, np.sqrt(low * high) * 6
    kernels = sweeps[0][0][0] == "matrix"
    # Room for the legend above.
    axis.set_ylim(low / 2, 3 * max(high, HOUR) if kernels else 2 * high * (high / low) ** 0.35)
    for k, ((quantity, kernel, variable), x, y) in enumerate(sweeps):
        if not len(x):
            continue
        name = kernel if variable == "n" else variable
        if len(x) >= 3:
            law, kept = _law(quantity, variable, x, y)
            axis.plot(x[kept], law(x[kept]), color=CYCLE[k], alpha=0.55, linewidth=1.2)
            name += f": slope {law.slope:.2f}"
        axis.plot(x, y, MARKERS[k], color=CYCLE[k], markersize=4.5, label=name)
        if kernels:
            left = kernel in ("FGW", "GH", "PK")  # they end with free space to their left
            where = {"xytext": (-7 if left else 7, 0), "textcoords": "offset points", "ha": "right" if left else "left"}
            axis.annotate(name.replace(": slope", ""), (x[-1], y[-1]), va="center", color=CYCLE[k], **where)
    if not kernels:
        axis.legend(loc="upper left", ncols=2 if len(sweeps) > 2 else 1, columnspacing=1.0, handletextpad=0.2)
        return
    sizes = np.concatenate([x for _, x, _ in sweeps])
    axis.set_xlim(sizes.min() / 3, 7 * sizes.max())
    axis.axhline(HOUR, color=GRAY, linestyle="--", linewidth=1)
    axis.annotate("one hour", (sizes.max(), HOUR), (0, 3), textcoords="offset points", fontsize=8, color=GRAY)


def _law(
    quantity: str, variable: str, x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[PowerLaw, NDArray[np.bool_]]:
    """Return the power law of a sweep, and which points it was fitted to."""
    # All points where little is seen of a trend: else noise at the ends would decide.
    kept = np.full(len(x), True) if quantity == "prediction" or variable == "Q" else largest(x)
    return fit_power_law(x[kept], y[kept]), kept
