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

from swwl.embedding.distances import pairwise_distances
from swwl.embedding.transformer import SWWLEmbedding
from swwl.gp import GPWarning, RobustGP
from swwl.mesh.graph import Graph
from swwl.parallel import one_blas_thread
from swwl.storage.atomic import atomic_write
from swwl_paper.measure import best_times, seconds, verdicts
from swwl_paper.rows import RowFile
from swwl_paper.shapes import plate, surface
from swwl_paper.slopes import KERNELS, N_GRAPHS, PEERS, draw_costs, judge, practical, rounded, slopes
from swwl_paper.study import Study, machine


class SweepRanges(NamedTuple):
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
_SMALL = SweepRanges(
    nodes=(3000, 10_000, 30_000, 100_000, 300_000),
    large_step_nodes=(3000, 10_000, 30_000, 100_000),
    base_nodes=30_000,
    projections=(12, 25, 50, 100, 200),
    quantiles=(50, 150, 500, 1500, 5000),
    iterations=(1, 3, 8, 20, 50),
    graphs=(8, 16, 32, 64),
    rows=(250, 500, 1000, 2000),
    widths=(1000, 2500, 5000, 12_500, 25_000),
    fixed=(1000, 5000),
    train_nodes=(1000, 3000, 10_000, 30_000, 100_000),
    train_graphs=(125, 250, 500, 1000, 2000),
    graph_nodes=_GRAPH_NODES,
    budget=2.0,
    repeats=5,
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
        graphs=(8, 16, 32, 64, 128),
        rows=(250, 500, 1000, 2000, 4000),
        train_nodes=(1000, 3000, 10_000, 30_000, 100_000, 300_000),
        train_graphs=(125, 250, 500, 1000, 2000, 4000),
        budget=60.0,
        repeats=9,
    ),
}


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
    with atomic_write(study.path("-practical.csv")) as file:
        file.write(limits.to_csv(index=False, lineterminator="\n").encode())
    study.show(
        f"Largest graphs that are practical here: one matrix of {N_GRAPHS} graphs in an hour of one core",
        pd.DataFrame(
            {
                "kernel": limits["kernel"],
                "nodes": limits["nodes"].map(rounded),
                "limit": limits["limit"],
                "by time": limits["by_time"].map(rounded),
                "by memory": limits["by_memory"].map(rounded),
                "measured to": limits["measured_to"].map(rounded),
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
    rows: RowFile,
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


def _sweep_embedding(study: Study, rows: RowFile, size: SweepRanges) -> None:
    base = [surface(size.base_nodes, seed) for seed in range(2)]

    def embed(graphs: Sequence[Graph], **options: Any) -> Callable[[], object]:
        embedding = SWWLEmbedding(n_jobs=1, **options).fit(graphs)
        return lambda: embedding.transform(graphs)

    def meshes(value: int) -> list[Graph]:
        # Plates do not share their topology, so that each pays for its own; several hide the cost of a call.
        return [plate(value, seed) for seed in range(4 if value <= 300_000 else 2)]

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


def _sweep_distances(study: Study, rows: RowFile, size: SweepRanges) -> None:
    rng = np.random.default_rng(study.seed)

    def distances(n: int, width: int) -> tuple[Callable[[], object], int]:
        embeddings = rng.standard_normal((n, width), np.float32)
        return lambda: pairwise_distances(embeddings), 1

    n, width = size.fixed
    _sweep(study, rows, ("distances", "SWWL(1)", "N"), size.rows, lambda v: distances(v, width), size.repeats)
    _sweep(study, rows, ("distances", "SWWL(1)", "PQ"), size.widths, lambda v: distances(n, v), size.repeats)


def _sweep_predictions(study: Study, rows: RowFile, size: SweepRanges) -> None:
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


def _sweep_matrix(study: Study, rows: RowFile, size: SweepRanges, name: str) -> None:
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
