"""The embedding beside the sort it cannot do without, and beside PyTorch Geometric; distances beside one product."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from time import process_time
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.measure import Line, best_times, peak_memory
from benchmarks.shapes import patch, shell
from swwl import Graph, SWWLEmbedding, pairwise_distances
from swwl.embedding.selection import Kernel, kernel

N_NODES = 30_000


def run() -> Iterator[Line]:
    """Measure everything; H = 3, P = 50, Q = 500."""
    with quantiles_by(None):
        yield from sort_floor()
        yield from large_steps()
        yield from distances()
        yield from pytorch_geometric()
    yield from selection()
    yield from memory()


def quantiles_by(select: Kernel | None) -> AbstractContextManager[object]:
    """Return a context in which all quantiles are selected, or sorted for; by default large runs select."""
    return mock.patch("swwl.embedding.sliced.kernel_for", lambda *_: select)


def sort_floor() -> Iterator[Line]:
    """Compare embedding with sorting the projected matrix, one thread each, and with two threads."""
    graphs = [shell(N_NODES, seed) for seed in range(24)]
    one, two = SWWLEmbedding(n_jobs=1).fit(graphs), SWWLEmbedding(n_jobs=2).fit(graphs)
    # The largest part of the embedding that no cleverness removes: the P projections of each graph, sorted.
    projected = [np.ascontiguousarray(projections(graph, one).T, np.float32) for graph in graphs]

    def floor():
        for matrix in projected:
            np.sort(matrix, axis=1)

    with threadpool_limits(1):
        # Of one thread the processor time, which others on the machine do not lengthen.
        sort, single = best_times(floor, lambda: one.transform(graphs), timer=process_time)
        wall, double = best_times(floor, lambda: two.transform(graphs))
    error = _error(graphs[0], one)
    per_graph = f"{1e3 * single / len(graphs):.1f} ms a mesh, error {error:.0e}"
    yield Line("embedding, 1 thread / np.sort of the projections", single / sort, 1.4, note=per_graph)
    yield Line("embedding, 2 threads / np.sort of the projections, 1 thread", double / wall, 0.85)


def selection() -> Iterator[Line]:
    """Compare embeddings by numba with those that sort, by processor time."""
    select = kernel()
    for n_nodes, count, n_quantiles in ((N_NODES, 24, 100), (N_NODES, 24, 500), (180_000, 6, 100), (180_000, 6, 500)):
        name = f"embedding with numba / without, {n_nodes} nodes, Q = {n_quantiles}"
        if select is None:
            yield Line(f"{name} (not installed)", float("nan"))
            continue
        graphs = [patch(n_nodes, seed) for seed in range(count)]
        embedding = SWWLEmbedding(n_quantiles=n_quantiles, n_jobs=1).fit(graphs)
        with threadpool_limits(1):
            plain, quick = best_times(
                partial(_rows, embedding, graphs, None), partial(_rows, embedding, graphs, select), timer=process_time
            )
        same = np.array_equal(_rows(embedding, graphs, None), _rows(embedding, graphs, select))
        note = f"{1e3 * quick / count:.1f} ms a mesh, {'the same' if same else 'OTHER'} rows"
        yield Line(name, quick / plain, 1, note=note)


def _rows(embedding: SWWLEmbedding, graphs: list[Graph], select: Kernel | None) -> NDArray[np.float32]:
    with quantiles_by(select):
        return embedding.transform(graphs)


def projections(graph: Graph, embedding: SWWLEmbedding) -> NDArray[np.float64]:
    """Return what the embedding has to sort for a graph, (n, P), by the definition and in double precision."""
    u, v = graph.edges.T
    ones = np.ones(2 * len(u))
    adjacency = sparse.csr_array((ones, (np.r_[u, v], np.r_[v, u])), shape=(graph.n_nodes,) * 2)
    kept = [graph.features]
    for _ in range(embedding.n_iterations):
        # Half a node's own value, half the mean of its neighbors'.
        kept.append(0.5 * (kept[-1] + adjacency @ kept[-1] / adjacency.sum(axis=1)[:, None]))
    return (np.hstack(kept) - embedding.center_) @ embedding.directions_


def _error(graph: Graph, embedding: SWWLEmbedding) -> float:
    """Return the largest error of a row against double precision and np.quantile, relative to its spread."""
    levels = np.linspace(0, 1, embedding.n_quantiles)
    exact = np.quantile(projections(graph, embedding), levels, axis=0).ravel()
    row = embedding.transform([graph])[0] * np.sqrt(len(exact))
    return float(np.abs(row - exact).max() / np.ptp(exact))


def large_steps() -> Iterator[Line]:
    """Compare steps of sqrt(n) with steps of one, for meshes with their own topology and with a shared one."""
    for name, graphs, limit in (
        ("own topologies", [patch(N_NODES, seed) for seed in range(6)], 4.5),
        ("shared topology", [shell(N_NODES, seed) for seed in range(16)], 2.3),
    ):
        small, large = SWWLEmbedding().fit(graphs), SWWLEmbedding(step="sqrt").fit(graphs)
        first, second = best_times(
            lambda e=small, g=graphs: e.transform(g),
            lambda e=large, g=graphs: e.transform(g),
            repeats=4,
            timer=process_time,
        )
        exact = SWWLEmbedding(step=large.step_, tolerance=0).fit(graphs).transform(graphs[:1])
        rows = large.transform(graphs[:1])
        error = np.abs(rows - exact).max() / np.ptp(exact)
        note = f"error {error:.0e} against {3 * large.step_} plain iterations (the paper: 54 x)"
        yield Line(f'step="sqrt" / step=1, {name}', second / first, limit, note=note)


def distances() -> Iterator[Line]:
    """Compare all distances of 1000 rows of 25 000 with one single-precision matrix product of that size."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1000, 25_000)).astype(np.float32)
    others = rows.copy()
    product, ours = best_times(lambda: rows @ others.T, lambda: pairwise_distances(rows), repeats=4)
    exact = np.linalg.norm(rows[0].astype(float) - rows[1])
    error = abs(pairwise_distances(rows[:2])[0, 1] / exact - 1)
    yield Line("distances of 1000 rows of 25 000 / one float32 product", ours / product, 2, note=f"error {error:.0e}")


def pytorch_geometric() -> Iterator[Line]:
    """Compare with the route of the paper's authors: WLConvContinuous, then torch.quantile. One thread each."""
    try:
        import torch
        from torch_geometric.nn import WLConvContinuous
    except ImportError:
        yield Line("PyTorch Geometric + torch.quantile (not installed)", float("nan"))
        return
    torch.set_num_threads(1)
    graphs = [shell(N_NODES, seed) for seed in range(3)]
    embedding = SWWLEmbedding().fit(graphs)
    theta = torch.tensor(embedding.directions_, dtype=torch.float32)
    levels = torch.linspace(0, 1, 500)
    both_ways = [torch.tensor(np.vstack([g.edges, g.edges[:, ::-1]]).T.astype(np.int64)) for g in graphs]
    features = [torch.tensor(g.features, dtype=torch.float32) for g in graphs]
    convolve = WLConvContinuous()

    def theirs():
        rows = []
        with torch.no_grad():
            for x, edges in zip(features, both_ways, strict=True):
                kept = [x]
                for _ in range(3):
                    kept.append(convolve(kept[-1], edges))
                rows.append(torch.quantile(torch.cat(kept, 1) @ theta, levels, dim=0).ravel() / np.sqrt(25_000))
        return torch.stack(rows).numpy()

    with threadpool_limits(1):
        slow, quick = best_times(theirs, lambda: embedding.transform(graphs), repeats=3)
    gap = np.abs(pairwise_distances(theirs()) - pairwise_distances(embedding.transform(graphs))).max()
    yield Line("PyTorch Geometric + torch.quantile / ours", slow / quick, note=f"distances differ by {gap:.0e}")


def memory() -> Iterator[Line]:
    """Embed meshes of 180 000 nodes from a generator in a process of its own; the peak must not grow with them."""
    peaks = []
    for number in (20, 200):
        command = [sys.executable, "-m", "benchmarks.embedding", str(number)]
        peaks.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    note = f"{peaks[0]:.0f} MB for 20 of them"
    yield Line("peak memory, 200 meshes of 180 000 nodes from a generator", peaks[1], 1500, "MB", note)


if __name__ == "__main__":
    meshes = (shell(180_000, seed) for seed in range(int(sys.argv[1])))
    SWWLEmbedding(n_jobs=2).fit_transform(meshes)
    print(peak_memory())
