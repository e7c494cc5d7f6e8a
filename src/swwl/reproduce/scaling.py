"""Cost against nodes n, graphs N, projections P, quantiles Q and iterations H, with the slopes on log-log axes.

The paper proves O(N (H δ n + P n (log n + H))) for embeddings and O(N² P Q) for distances. The other kernels are timed
on the same axis of n as far as a budget of seconds carries them. All of it in one thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.distances import pairwise_distances
from swwl.embedding import SWWLEmbedding
from swwl.gp import GPWarning, RobustGP
from swwl.graph import Graph
from swwl.kernels.baselines import FGW, RPW, WWL, Baseline, GraphHopper, Propagation
from swwl.plots.style import CYCLE, GREY, MARKERS, new_figure, style
from swwl.reproduce.measure import Line, PowerLaw, best_times, fit_power_law, seconds, verdicts
from swwl.reproduce.rows import Rows
from swwl.reproduce.shapes import plate, surface
from swwl.reproduce.study import Study, machine
from swwl.threads import one_blas_thread

N_GRAPHS = 100  # of the matrix whose practical size is asked for
HOUR = 3600.0
FEATURES = 2  # of a node of a plate


class Size(NamedTuple):
    """Ranges of the sweeps.

    Attributes
    ----------
    nodes : tuple of int
        For embeddings and, as far as they go, the other kernels from ``graph_nodes`` on.
    large_step_nodes : tuple of int
        For embeddings with steps of √n.
    base_nodes : int
        Nodes of the meshes on which P, Q and H are varied.
    projections, quantiles, iterations, graphs : tuple of int
    rows, widths : tuple of int
        N and P Q of distances; each is varied with the first of ``fixed`` rows, columns for the other.
    fixed : (int, int)
        N for the sweep of P Q, and P Q for the sweep of N.
    train_nodes, train_graphs : tuple of int
        n and N of the training meshes of predictions.
    graph_nodes : tuple of int
        n for the other kernels.
    budget : float
        Seconds that one measurement of another kernel may take.
    repeats : int
        Of which the best counts.
    """

    nodes: tuple[int, ...]
    large_step_nodes: tuple[int, ...]
    base_nodes: int
    projections: tuple[int, ...]
    quantiles: tuple[int, ...]
    iterations: tuple[int, ...]
    graphs: tuple[int, ...]
    rows: tuple[int, ...]
    widths: tuple[int, ...]
    fixed: tuple[int, int]
    train_nodes: tuple[int, ...]
    train_graphs: tuple[int, ...]
    graph_nodes: tuple[int, ...]
    budget: float
    repeats: int


_GRAPH_NODES = (12, 20, 30, 50, 80, 120, 200, 320, 500, 800, 1250, 2000, 3200, 5000, 8000, 12_500, 20_000)
_SMALL = Size(
    nodes=(3000, 10_000, 30_000, 100_000, 300_000),
    large_step_nodes=(3000, 10_000, 30_000, 100_000),
    base_nodes=30_000,
    projections=(12, 25, 50, 100, 200),
    quantiles=(50, 150, 500, 1500, 5000),
    iterations=(1, 3, 8, 20, 50),
    graphs=(2, 4, 8, 16),
    rows=(250, 500, 1000, 2000),
    widths=(1000, 2500, 5000, 12_500, 25_000),
    fixed=(1000, 5000),
    train_nodes=(1000, 3000, 10_000, 30_000, 100_000),
    train_graphs=(125, 250, 500, 1000, 2000),
    graph_nodes=_GRAPH_NODES,
    budget=2.0,
    repeats=3,
)
SIZES = {
    "small": _SMALL,
    "medium": _SMALL._replace(
        nodes=(3000, 5500, 10_000, 17_000, 30_000, 55_000, 100_000, 170_000, 300_000),
        large_step_nodes=(3000, 10_000, 30_000, 100_000, 300_000),
        rows=(250, 500, 1000, 2000, 4000),
        train_graphs=(125, 250, 500, 1000, 2000, 4000),
        budget=10.0,
        repeats=5,
    ),
    "full": _SMALL._replace(
        nodes=(3000, 5500, 10_000, 17_000, 30_000, 55_000, 100_000, 170_000, 300_000, 550_000, 1_000_000),
        large_step_nodes=(3000, 5500, 10_000, 17_000, 30_000, 55_000, 100_000, 170_000, 300_000),
        graphs=(2, 4, 8, 16, 32),
        rows=(250, 500, 1000, 2000, 4000),
        train_nodes=(1000, 3000, 10_000, 30_000, 100_000, 300_000),
        train_graphs=(125, 250, 500, 1000, 2000, 4000),
        budget=60.0,
        repeats=9,
    ),
}

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


def run(study: Study) -> None:
    """Measure all sweeps and the other kernels, fit the slopes, and draw."""
    size = study.pick(SIZES)
    rows = study.rows(["quantity", "kernel", "variable", "value"])
    kernels = study.chosen("kernel", KERNELS)
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)
        if "SWWL" in kernels:
            _sweep_embedding(study, rows, size)
            _sweep_distances(study, rows, size)
            _sweep_predictions(study, rows, size)
        for name in kernels:
            _sweep_matrix(study, rows, size, name)
    frame = rows.frame()
    table = slopes(frame)
    study.show(
        "Slopes on log-log axes, one thread",
        pd.DataFrame(
            {
                "": [f"{row.quantity} in {row.variable}, {row.kernel}" for row in table.itertuples()],
                "range": table["range"],
                "slope": [f"{slope:.2f}" for slope in table["slope"]],
                "theory": table["theory"],
            }
        ),
        "Fitted to sizes within a factor of ten of the largest; of predictions and in Q, to all. A matrix is that of "
        f"all distances (or kernel values) of {N_GRAPHS} graphs, put together from the time per graph and per pair.",
    )
    study.show("Limits", verdicts(judge(table)))
    limits = practical(frame, float(machine()["memory_gib"]))
    limits.to_csv(study.path("-practical.csv"), index=False, lineterminator="\n")
    study.show(
        f"Largest graphs that are practical here: one matrix of {N_GRAPHS} graphs in an hour of one core",
        pd.DataFrame(
            {
                "kernel": limits["kernel"],
                "nodes": limits["nodes"].map(_round),
                "limit": limits["limit"],
                "by time": limits["by_time"].map(_round),
                "by memory": limits["by_memory"].map(_round),
                "measured to": limits["measured_to"].map(_round),
            }
        ),
        "Extrapolated by the power law of the largest sizes that were measured; memory from the dense matrices of the "
        f"method and the {machine()['memory_gib']} GiB of this machine: "
        + "; ".join(f"{name}, {peer.dense}" for name, peer in PEERS.items() if peer.dense)
        + ".",
    )
    study.figure(draw_costs(frame))


# Sweeps


def _sweep(
    study: Study,
    rows: Rows,
    sweep: tuple[str, str, str],
    values: Sequence[int],
    prepare: Callable[[int], tuple[Callable[[], object], int]],
    repeats: int,
) -> None:
    """Time the function that ``prepare(value)`` returns, divided by the number beside it, for all values not done."""
    quantity, kernel, variable = sweep
    progress = study.progress(f"{quantity} against {variable}, {kernel}")
    for done, value in enumerate(values, 1):
        key = {"quantity": quantity, "kernel": kernel, "variable": variable, "value": value}
        if not rows.has(**key):
            function, number = prepare(value)
            (best,) = best_times(function, repeats=repeats)
            rows.add({**key, "seconds": best / number})
        if progress is not None:
            progress(done, len(values))


def _sweep_embedding(study: Study, rows: Rows, size: Size) -> None:
    base = [surface(size.base_nodes, seed) for seed in range(2)]

    def embed(graphs: Sequence[Graph], **options: Any) -> Callable[[], object]:
        embedding = SWWLEmbedding(n_jobs=1, **options).fit(graphs)
        return lambda: embedding.transform(graphs)

    def meshes(value: int) -> list[Graph]:
        # Plates do not share their topology, so that every mesh pays for its own.
        return [plate(value, seed) for seed in range(max(1, min(4, 30_000 // value)))]

    def against_nodes(value: int, step: int | str) -> tuple[Callable[[], object], int]:
        graphs = meshes(value)
        return embed(graphs, step=step), len(graphs)

    sweeps: list[tuple[str, str, Sequence[int], Callable[[int], tuple[Callable[[], object], int]]]] = [
        ("SWWL(1)", "n", size.nodes, lambda value: against_nodes(value, 1)),
        ("SWWL(√n)", "n", size.large_step_nodes, lambda value: against_nodes(value, "sqrt")),
        ("SWWL(1)", "N", size.graphs, lambda value: (embed([plate(size.base_nodes // 3, s) for s in range(value)]), 1)),
        ("SWWL(1)", "P", size.projections, lambda value: (embed(base, n_projections=value), len(base))),
        ("SWWL(1)", "Q", size.quantiles, lambda value: (embed(base, n_quantiles=value), len(base))),
        ("SWWL(1)", "H", size.iterations, lambda value: (embed(base, n_iterations=value), len(base))),
    ]
    for kernel, variable, values, prepare in sweeps:
        _sweep(study, rows, ("embedding", kernel, variable), values, prepare, size.repeats)


def _sweep_distances(study: Study, rows: Rows, size: Size) -> None:
    rng = np.random.default_rng(study.seed)

    def distances(n: int, width: int) -> tuple[Callable[[], object], int]:
        embeddings = rng.standard_normal((n, width), np.float32)
        return lambda: pairwise_distances(embeddings), 1

    n, width = size.fixed
    _sweep(study, rows, ("distances", "SWWL(1)", "N"), size.rows, lambda v: distances(v, width), size.repeats)
    _sweep(study, rows, ("distances", "SWWL(1)", "PQ"), size.widths, lambda v: distances(n, v), size.repeats)


def _sweep_predictions(study: Study, rows: Rows, size: Size) -> None:
    """Time mean and standard deviation for one new mesh, from the graph on."""
    new = surface(size.base_nodes // 3, 10**6)

    def predict(training: Iterable[Graph]) -> tuple[Callable[[], object], int]:
        embedding = SWWLEmbedding(n_jobs=1)
        embeddings = embedding.fit_transform(training)
        distances = pairwise_distances(embeddings)
        y = embeddings @ np.linspace(-1, 1, embeddings.shape[1], dtype=np.float32)
        gp = RobustGP(["gaussian"], beta=1 / np.median(distances), nugget=1e-4).fit([distances], y)

        def function() -> None:
            cross = pairwise_distances(embedding.transform([new]), embeddings)
            gp.predict([cross], return_std=True)

        return function, 1

    def of_nodes(n: int) -> tuple[Callable[[], object], int]:
        return predict(surface(n, seed) for seed in range(20))

    def of_graphs(number: int) -> tuple[Callable[[], object], int]:
        return predict(surface(500, seed) for seed in range(number))

    repeats = 3 * size.repeats
    _sweep(study, rows, ("prediction", "SWWL(1)", "n of training"), size.train_nodes, of_nodes, repeats)
    _sweep(study, rows, ("prediction", "SWWL(1)", "N"), size.train_graphs, of_graphs, repeats)


def _sweep_matrix(study: Study, rows: Rows, size: Size, name: str) -> None:
    """Time the parts of one kernel's matrix against n, until the next n would take more than the budget."""
    progress = study.progress(f"matrix of {N_GRAPHS} graphs, {name}")
    # Meshes that are too large for the others serve SWWL alone.
    values = list(size.graph_nodes)
    if name == "SWWL":
        values = [*(value for value in values if value < size.nodes[0]), *size.nodes]
    spent: list[tuple[int, float]] = []
    for done, value in enumerate(values, 1):
        key = {"quantity": "matrix", "kernel": name, "variable": "n", "value": value}
        frame = rows.frame()
        if rows.has(**key):
            known = frame[(frame["quantity"] == "matrix") & (frame["kernel"] == name) & (frame["value"] == value)]
            spent.append((value, float(known["spent"].iloc[0])))
            continue
        # A slope needs three sizes; a noisy moment among the first two must not end it.
        enough = size.budget if len(spent) >= 3 else 5 * size.budget
        if name != "SWWL" and len(spent) >= 2 and _next(spent, value) > enough:
            break
        try:
            if not spent and name in PEERS:
                # The first call brings in the library.
                PEERS[name].factor.fit([plate(10, 0), plate(10, 1)])
            whole, took = _matrix_seconds(name, value, size.budget)
        except ImportError as error:
            study.say(f"{name} was left out: {error}")
            return
        except OSError as error:
            study.say(f"{name} was left out, its library cannot be loaded: {error}")
            return
        spent.append((value, took))
        rows.add({**key, "seconds": whole, "spent": took})
        if progress is not None:
            progress(done, len(values))
    if progress is not None and spent:
        progress(len(values), len(values))


def _next(spent: Sequence[tuple[int, float]], value: int) -> float:
    """Return how long the next measurement would take, by the last two."""
    (n, before), (m, after) = spent[-2:]
    slope = np.log(after / before) / np.log(m / n)
    return after * (value / m) ** max(slope, 1.0)


def _matrix_seconds(name: str, n: int, budget: float) -> tuple[float, float]:
    """Return the seconds that the matrix would take, and those that went into measuring."""
    pairs = N_GRAPHS * (N_GRAPHS - 1) / 2
    if name == "SWWL":
        graphs = [plate(n, seed) for seed in range(3 if n <= 30_000 else 1)]
        embedding = SWWLEmbedding(n_jobs=1).fit(graphs)
        embeddings = np.resize(embedding.transform(graphs), (N_GRAPHS, 25_000))
        each, rest = best_times(lambda: embedding.transform(graphs), lambda: pairwise_distances(embeddings), repeats=2)
        return each / len(graphs) * N_GRAPHS + rest, each + rest
    graphs = [plate(n, seed) for seed in range(3)]
    peer = PEERS[name]
    prepared: list[Any] = []

    def prepare() -> None:
        prepared[:] = peer.factor.fit(graphs)

    def compare() -> None:
        peer.factor.items(prepared)

    first, second = seconds(prepare), seconds(compare)
    took = first + second
    # What is over in a moment is repeated: the smallest graphs are otherwise all noise.
    for _ in range(2 if took < budget / 10 else 0):
        first, second = min(first, seconds(prepare)), min(second, seconds(compare))
    if peer.per_pair:
        return first / 3 * N_GRAPHS + second / 3 * pairs, took
    return (first + second) / 3 * N_GRAPHS, took


# What is shown


def _series(frame: pd.DataFrame, quantity: str, kernel: str, variable: str) -> tuple[NDArray, NDArray]:
    part = frame[(frame["quantity"] == quantity) & (frame["kernel"] == kernel) & (frame["variable"] == variable)]
    part = part.sort_values("value")
    return part["value"].to_numpy(float), part["seconds"].to_numpy(float)


def largest(x: NDArray) -> NDArray[np.bool_]:
    """Return which of some ascending sizes lie within a factor of ten of the largest; the last three in any case.

    Examples
    --------
    >>> largest(np.array([1.0, 10.0, 100.0, 500.0, 1000.0])).tolist()
    [False, False, True, True, True]
    """
    kept = x >= x[-1] / 10.5
    kept[-3:] = True
    return kept


def asymptotic_law(x: NDArray, y: NDArray) -> PowerLaw:
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
        x, y = _series(frame, quantity, kernel, variable)
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
        x, y = _series(frame, "matrix", name, "n")
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


def _round(value: float) -> str:
    """Return a number with two digits that count.

    >>> _round(1234.0), _round(86.2), _round(float("inf")), _round(31_400_000.0)
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
            _draw_sweeps(axis, [(sweep, *_series(frame, *sweep)) for sweep in sweeps])
    return figure


def _draw_sweeps(axis: Any, sweeps: Sequence[tuple[tuple[str, str, str], NDArray, NDArray]]) -> None:
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
            left = kernel in ("FGW", "GH")  # they end first, with free space to their left
            where = {"xytext": (-7 if left else 7, 0), "textcoords": "offset points", "ha": "right" if left else "left"}
            axis.annotate(name.replace(": slope", ""), (x[-1], y[-1]), va="center", color=CYCLE[k], **where)
    if not kernels:
        axis.legend(loc="upper left", ncols=2 if len(sweeps) > 2 else 1, columnspacing=1.0, handletextpad=0.2)
        return
    sizes = np.concatenate([x for _, x, _ in sweeps])
    axis.set_xlim(sizes.min() / 3, 7 * sizes.max())
    axis.axhline(HOUR, color=GREY, linestyle="--", linewidth=1)
    axis.annotate("one hour", (sizes.max(), HOUR), (0, 3), textcoords="offset points", fontsize=8, color=GREY)


def _law(quantity: str, variable: str, x: NDArray, y: NDArray) -> tuple[PowerLaw, NDArray[np.bool_]]:
    """Return the power law of a sweep, and which points it was fitted to."""
    # All points where little is seen of a trend: else noise at the ends would decide.
    kept = np.full(len(x), True) if quantity == "prediction" or variable == "Q" else largest(x)
    return fit_power_law(x[kept], y[kept]), kept
