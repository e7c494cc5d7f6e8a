"""
Distances between meshes
========================

Plates of three lengths, each meshed twice. Two meshes of one plate have different nodes and different edges, and
yet nearly the same embedding: distances see the shape.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import Delaunay

from swwl import Graph, SWWLEmbedding, pairwise_distances

# %%
# Nodes weigh as much as the area around them, so that a mesh which is finer somewhere is not another shape.


def plate(length: float, n_nodes: int, seed: int) -> Graph:
    """Mesh a plate of the given length and of height 1 with triangles, weighed by the area around each node."""
    points = np.random.default_rng(seed).random((n_nodes, 2))
    edge = np.linspace(0, 1, int(np.sqrt(n_nodes)))
    sides = [np.c_[edge, 0 * edge], np.c_[edge, 1 + 0 * edge], np.c_[0 * edge, edge], np.c_[1 + 0 * edge, edge]]
    points = np.unique(np.vstack([points, *sides]), axis=0) * [length, 1]
    return Graph.from_cells(points, Delaunay(points).simplices, node_weights="area")


kinds = [(length, n_nodes) for length in (1.0, 1.2, 2.0) for n_nodes in (500, 5_000)]
graphs = [plate(length, n_nodes, seed) for seed, (length, n_nodes) in enumerate(kinds)]

# %%
# One row per mesh, whatever its size. The Euclidean distance between rows is the sliced Wasserstein distance between
# meshes.

embedding = SWWLEmbedding(n_iterations=3, n_projections=50, n_quantiles=500)
phi = embedding.fit_transform(graphs)
distances = pairwise_distances(phi)
total = sum(graph.n_nodes for graph in graphs)
print(f"{len(graphs)} meshes, {total} nodes in all, embedded as rows of {phi.shape[1]}")

# %%
names = [f"{length:g} ({graph.n_nodes})" for (length, _), graph in zip(kinds, graphs, strict=True)]
figure, ax = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
picture = ax.imshow(distances, cmap="Blues")
ax.set_xticks(range(6), names, rotation=45, ha="right")
ax.set_yticks(range(6), names)
for i, j in np.ndindex(6, 6):
    ax.text(j, i, f"{distances[i, j]:.3f}", ha="center", va="center", fontsize=8,
            color="white" if distances[i, j] > distances.max() / 2 else "black")  # fmt: skip
figure.colorbar(picture, label="distance")
ax.set_title("length (nodes)")
plt.show()
