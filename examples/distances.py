"""Embed plates of three lengths, each meshed twice, and print how far they are from each other.

Two meshes of one plate have different nodes and different edges, and yet nearly the same embedding: distances see
the shape. Run it with ``python examples/distances.py``.
"""

import time

import numpy as np
from scipy.spatial import Delaunay

from swwl import Graph, SWWLEmbedding, pairwise_distances


def plate(length: float, n_nodes: int, seed: int) -> Graph:
    """Mesh a plate of the given length and of height 1 with triangles, weighed by the area around each node."""
    points = np.random.default_rng(seed).random((n_nodes, 2))
    edge = np.linspace(0, 1, int(np.sqrt(n_nodes)))
    sides = [np.c_[edge, 0 * edge], np.c_[edge, 1 + 0 * edge], np.c_[0 * edge, edge], np.c_[1 + 0 * edge, edge]]
    points = np.unique(np.vstack([points, *sides]), axis=0) * [length, 1]
    return Graph.from_cells(points, Delaunay(points).simplices, node_weights="area")


def main() -> np.ndarray:
    """Print the meshes, the time to embed them and their distances; return the distances."""
    kinds = [(length, n_nodes) for length in (1.0, 1.2, 2.0) for n_nodes in (2_000, 30_000)]
    graphs = [plate(length, n_nodes, seed) for seed, (length, n_nodes) in enumerate(kinds)]

    start = time.perf_counter()
    embedding = SWWLEmbedding(n_iterations=3, n_projections=50, n_quantiles=500)
    phi = embedding.fit_transform(graphs)
    seconds = time.perf_counter() - start
    distances = pairwise_distances(phi)

    total = sum(graph.n_nodes for graph in graphs)
    print(f"{len(graphs)} meshes, {total} nodes in all, embedded as rows of {phi.shape[1]} in {1e3 * seconds:.0f} ms\n")
    print("sliced Wasserstein distance between plates of several lengths and numbers of nodes")
    names = [f"{length:g} ({graph.n_nodes})" for (length, _), graph in zip(kinds, graphs, strict=True)]
    print(" " * 12 + "".join(f"{name:>12}" for name in names))
    for name, row in zip(names, distances, strict=True):
        print(f"{name:>12}" + "".join(f"{d:12.4f}" for d in row))
    print("\nThe same plate, meshed twice, is close to itself; a longer one is far from both.")
    return distances


if __name__ == "__main__":
    main()
