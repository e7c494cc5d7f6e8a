"""Time and memory at the paper's sizes: embedding, distances and training, each beside a floor and the paper's figure.

Meshes come from the generators of :mod:`swwl.datasets` without their simulations, a batch at a time; making them is
not timed. Embeddings, and the sort that no embedding can do without, are timed in turn on the same batches. Peaks of
memory are those of fresh processes that do nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from swwl.datasets import GENERATORS
from swwl.datasets.generator import Unsolvable, draw, redraw
from swwl.embedding.distances import pairwise_distances
from swwl.embedding.transformer import SWWLEmbedding
from swwl.gp import GPWarning, RobustGP
from swwl.mesh.graph import Graph
from swwl.parallel import one_blas_thread
from swwl_paper import measure
from swwl_paper.measure import best_times, cholesky_and_inverse, projections, seconds
from swwl_paper.papersets import CASES, KERNELS, Case, Inputs
from swwl_paper.rows import RowFile
from swwl_paper.study import Study
from swwl_paper.timetable import STEPS, draw_times, judge, texts

OPTIONS: dict[str, Any] = {"n_iterations": 3, "n_projections": 50, "n_quantiles": 500}
# Of the meshes of a batch, one in so many is sorted for the floor.
FLOOR_SHARE = 4
THREADS = 2


class Counts(NamedTuple):
    """How many meshes are measured.

    Attributes
    ----------
    small_steps, large_steps : int
        Embedded with steps of one and of √n.
    memory : int
        Embedded to find the peak of memory.
    training : int
        Of those embedded with steps of one, how many train a Gaussian process; 0 leaves distances and training out.
    """

    small_steps: int
    large_steps: int
    memory: int
    training: int


SIZES: dict[str, dict[str, Counts]] = {
    "small": {
        "blade": Counts(200, 64, 32, 200),
        "tensile2d": Counts(32, 32, 32, 0),
        "airfoil": Counts(6, 6, 6, 0),
    },
    "medium": {
        "blade": Counts(400, 128, 128, 400),
        "tensile2d": Counts(128, 128, 64, 128),
        "airfoil": Counts(96, 24, 48, 96),
    },
    "full": {
        "blade": Counts(1200, 1200, 192, 1000),
        "tensile2d": Counts(700, 700, 128, 500),
        "airfoil": Counts(1000, 96, 192, 800),
    },
}
# Rounds in which every batch is timed, of which the best counts; many batches make up for few rounds.
ROUNDS = {"small": 2, "medium": 2, "full": 1}


def run(study: Study) -> None:
    """Measure, judge and draw."""
    sets = study.chosen("dataset", list(CASES))
    counts = study.pick(SIZES)
    threads = study.n_jobs if study.n_jobs > 0 else THREADS
    study.note(threads=threads, **OPTIONS)
    rows = study.rows(["set", "kernel", "step"])
    for name in sets:
        _measure(study, rows, CASES[name], counts[name], threads)
    frame = rows.frame()
    frame = frame[frame["set"].isin(sets)]
    study.show(
        f"Time and memory, {threads} threads; the paper had four cores",
        texts(frame),
        "Meshes are like those of Rotor37, Tensile2d and AirfRANS. Embedding: H = 3, P = 50, Q = 500, without making "
        "the meshes; where fewer were measured than the paper has, time is in proportion. The floor of an embedding is "
        "np.sort of the projections in one thread, that of distances one float32 matrix product, that of "
        "training one Cholesky factorization and inverse. Distances and training cost the same for both "
        "kernels; the paper's are shown beside the same number of meshes. MB is the peak of a "
        "process that does this step alone, Python and its libraries included; it holds the embeddings of all meshes "
        "that are measured.",
    )
    study.show("Limits", measure.verdicts(judge(frame)))
    study.figure(draw_times(frame, threads))


def _measure(study: Study, rows: RowFile, case: Case, counts: Counts, threads: int) -> None:
    """Add the rows of one data set that are not there yet."""
    name = case.generator
    wanted = [(kernel, "embedding") for kernel in KERNELS]
    wanted += [(KERNELS[0], step) for step in STEPS[1:] if counts.training]
    missing = [key for key in wanted if not rows.has(set=name, kernel=key[0], step=key[1])]
    if not missing:
        return
    folder = study.work("table5")
    task = _Task(name, counts, study.seed, threads, ROUNDS[study.size], str(folder / f"{name}-{study.size}"))
    stages = study.progress(f"table5, {name}")
    tell = stages if stages is not None else lambda done, total: None

    def add(kernel: str, step: str, measured: int, found: Mapping[str, Any]) -> None:
        whole = found["seconds"] * case.meshes / measured if step == "embedding" else float("nan")
        paper = case.paper[kernel, step]
        key = {"set": name, "kernel": kernel, "step": step}
        if not rows.has(**key):
            sizes = {"nodes": found["nodes"], "meshes": case.meshes, "measured": measured}
            rows.add({**key, **sizes, **found, "seconds_of_all": whole, "paper_seconds": paper})

    tell(0, 5)
    path = Path(task.path + "-rows.npy")
    if any(step == "embedding" for _, step in missing) or not path.exists():
        _save_design(task)
        times = measure.in_child(time_embeddings, task)
        tell(1, 5)
        for number, (kernel, measured) in enumerate(zip(KERNELS, counts[:2], strict=True)):
            if (kernel, "embedding") in missing:
                peak = measure.in_child(embedding_memory, task, number)
                add(kernel, "embedding", measured, {**times[kernel], "peak_mb": peak})
            tell(2 + number, 5)
    nodes = int(np.load(task.path + "-nodes.npy"))
    if counts.training:
        if (KERNELS[0], "distances") in missing or not Path(task.path + "-distances.npy").exists():
            found = measure.in_child(time_distances, task)
            add(KERNELS[0], "distances", counts.small_steps, {"nodes": nodes, **found})
        tell(4, 5)
        found = measure.in_child(time_training, task)
        add(KERNELS[0], "training", counts.training, {"nodes": nodes, **found})
    tell(5, 5)
    for left in folder.glob(f"{name}-{study.size}-*"):
        left.unlink()


# What runs in processes of its own


@dataclass(frozen=True)
class _Task:
    """What a process has to know."""

    case: str
    counts: Counts
    seed: int
    threads: int
    rounds: int
    path: str

    def graph(self, index: int, inputs: Inputs) -> Graph:
        case = CASES[self.case]
        chance = np.random.default_rng([self.seed, index]).random()
        return Graph.from_cells(*case.mesh(inputs, case.nodes, float(chance)))

    def design(self) -> pd.DataFrame:
        return pd.read_csv(self.path + "-design.csv")

    def embedding(self, number: int, nodes: int) -> SWWLEmbedding:
        step = round(np.sqrt(nodes)) if number else 1
        return SWWLEmbedding(**OPTIONS, step=step, n_jobs=self.threads)


def _save_design(task: _Task) -> None:
    """Write the inputs of all meshes, and their targets where they are needed."""
    ranges = GENERATORS[task.case].ranges
    design = draw(ranges, max(task.counts), task.seed)
    if task.counts.training:
        with measure.workers(task.threads) as pool:
            design = list(pool.map(partial(_solvable, task), range(len(design)), design, chunksize=32))
    pd.DataFrame(design).to_csv(task.path + "-design.csv", index=False)


def _solvable(task: _Task, index: int, inputs: Inputs) -> dict[str, float]:
    """Return the inputs with their target; other ones where the model has no solution."""
    attempt = 0
    while True:
        try:
            return {**inputs, "target": float(CASES[task.case].target(inputs))}
        except Unsolvable:
            attempt += 1
            inputs = redraw(GENERATORS[task.case].ranges, task.seed, index, attempt)


def time_embeddings(task: _Task) -> dict[str, dict[str, float]]:
    """Time both embeddings and the sort on the same batches, in turn; keep the rows of SWWL(1) in a file."""
    case, counts = CASES[task.case], task.counts
    inputs = task.design().to_dict("records")
    most = max(counts[:2])
    kept: list[NDArray[np.float32]] = []
    taken: dict[str, list[tuple[int, float]]] = {"floor": [], **{kernel: [] for kernel in KERNELS}}
    nodes: list[int] = []
    embeddings: list[SWWLEmbedding] = []
    with measure.workers(task.threads) as pool:
        for start in range(0, most, case.batch):
            numbers = range(start, min(start + case.batch, most))
            graphs = list(pool.map(task.graph, numbers, [inputs[index] for index in numbers]))
            nodes += [graph.n_nodes for graph in graphs]
            if not embeddings:
                embeddings = [task.embedding(k, round(np.mean(nodes))).fit(graphs) for k in range(len(KERNELS))]
            batches = [graphs[: max(0, count - start)] for count in counts[:2]]
            sorted_ones = [projections(graph, embeddings[0]) for graph in graphs[::FLOOR_SHARE]]
            timed: dict[str, tuple[int, Callable[[], Any]]] = {"floor": (len(sorted_ones), partial(_sort, sorted_ones))}
            made: dict[str, list[NDArray[np.float32]]] = {kernel: [] for kernel in KERNELS}
            for kernel, embedding, batch in zip(KERNELS, embeddings, batches, strict=True):
                if batch:
                    timed[kernel] = len(batch), partial(_embed, embedding, batch, made[kernel])
            best = dict.fromkeys(timed, np.inf)
            for _ in range(task.rounds):
                for name, (_, function) in timed.items():
                    best[name] = min(best[name], seconds(function))
            for name, (number, _) in timed.items():
                taken[name].append((number, best[name]))
            kept += made[KERNELS[0]]
    np.save(task.path + "-rows.npy", np.concatenate(kept))
    np.save(task.path + "-nodes.npy", round(np.mean(nodes)))
    return {kernel: {"nodes": round(np.mean(nodes)), **_beside_floor(taken, kernel)} for kernel in KERNELS}


def _embed(embedding: SWWLEmbedding, graphs: list[Graph], made: list[NDArray[np.float32]]) -> None:
    made[:] = [embedding.transform(graphs)]


def _sort(matrices: list[NDArray[np.float32]]) -> None:
    with one_blas_thread():
        for matrix in matrices:
            np.sort(matrix, axis=1)


def _beside_floor(taken: Mapping[str, list[tuple[int, float]]], kernel: str) -> dict[str, Any]:
    """Return the seconds of all batches, and the median over batches of the ratios to the floor and to SWWL(1)."""
    number, spent = np.array(taken[kernel]).T
    per_mesh = spent / number
    floor, first = (
        np.array([t / n for n, t in taken[name][: len(per_mesh)]] + [np.nan] * (len(per_mesh) - len(taken[name])))
        for name in ("floor", KERNELS[0])
    )
    return {
        "seconds": spent.sum(),
        "floor": "sort",
        "floor_seconds": float(np.nansum(floor * number)),
        "ratio": float(np.nanmedian(per_mesh / floor)),
        "to_first": float(np.nanmedian(per_mesh / first)),
    }


class _Meshes:
    """Meshes that are made when they are needed."""

    def __init__(self, task: _Task, number: int):
        self.task, self.number = task, number
        self.inputs = task.design().to_dict("records")

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[Graph]:
        # A few at a time in other processes, whose memory is theirs.
        with measure.workers(self.task.threads) as pool:
            for start in range(0, self.number, self.task.threads):
                numbers = range(start, min(start + self.task.threads, self.number))
                yield from pool.map(self.task.graph, numbers, [self.inputs[index] for index in numbers])


def embedding_memory(task: _Task, number: int) -> float:
    """Return the peak of a process that embeds meshes as they come and holds the rows of all that the paper has."""
    case = CASES[task.case]
    count = min(task.counts.memory, task.counts[number])
    width = OPTIONS["n_projections"] * OPTIONS["n_quantiles"]
    # Pages count once they are written to.
    others = np.ones((max(0, task.counts[0] - count), width), np.float32)
    rows = task.embedding(number, case.nodes).fit_transform(_Meshes(task, count))
    peak = measure.peak_memory()
    assert len(rows) + len(others) >= count
    return peak


def time_distances(task: _Task) -> dict[str, Any]:
    """Time all distances, and one product of the rows with themselves."""
    rows = np.load(task.path + "-rows.npy")
    distances = pairwise_distances(rows)
    peak = measure.peak_memory()
    np.save(task.path + "-distances.npy", distances)
    others = rows.copy()  # of a matrix with its own transpose, NumPy computes half
    ours, product = best_times(lambda: pairwise_distances(rows), lambda: rows @ others.T, repeats=2 + task.rounds)
    return {"seconds": ours, "floor": "product", "floor_seconds": product, "ratio": ours / product, "peak_mb": peak}


def time_training(task: _Task) -> dict[str, Any]:
    """Time the fit of a Gaussian process on the mesh and all scalars, and one factorization and inverse."""
    n = task.counts.training
    design = task.design()[:n]
    items = [np.load(task.path + "-distances.npy")[:n, :n]]
    for name in GENERATORS[task.case].scalars:
        column = design[name].to_numpy() / design[name].std()
        items.append(np.abs(column[:, None] - column))
    gp = RobustGP(["gaussian"] + ["matern52"] * (len(items) - 1))

    def fit() -> None:
        gp.fit(items, design["target"].to_numpy())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPWarning)
        fits = [seconds(fit)]
        peak = measure.peak_memory()
        floors = best_times(cholesky_and_inverse(n), repeats=5)
        for _ in range(task.rounds):
            fits.append(seconds(fit))
            floors += best_times(cholesky_and_inverse(n), repeats=5)
    ours, floor = min(fits), min(floors)
    found = {"seconds": ours, "floor": "Cholesky + inverse", "floor_seconds": floor, "ratio": ours / floor}
    return {**found, "peak_mb": peak, "evaluations": gp.n_evaluations_}
